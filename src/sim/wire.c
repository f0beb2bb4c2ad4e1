// SPDX-License-Identifier: Apache-2.0
// The flows in flight: shared service totals, and a heap of projected ends.

#include "wire.h"

#include <math.h>
#include <string.h>

#define BUCKETS_MAX (1u << 18)
#define HEAP_ARITY 4u

void weft_wire_init(struct weft_wire *wire, const double *capacity_Bps, uint32_t link_count,
                    uint32_t class_capacity, uint32_t flow_capacity, uint32_t hop_max,
                    struct weft_arena *arena)
{
    struct weft_wire w = {.flow_capacity = flow_capacity};
    weft_maxmin_init(&w.maxmin, capacity_Bps, link_count, class_capacity, hop_max, arena);
    w.served_bytes = WEFT_NEW_RAW(arena, double, class_capacity);
    w.since_ps = WEFT_NEW_RAW(arena, double, class_capacity);
    w.end_ps = WEFT_NEW_RAW(arena, double, class_capacity);
    w.first_flow = WEFT_NEW_RAW(arena, uint32_t, class_capacity);
    w.users = WEFT_NEW_RAW(arena, uint32_t, class_capacity);
    w.is_dirty = WEFT_NEW_RAW(arena, bool, class_capacity);
    w.path_hash = WEFT_NEW_RAW(arena, uint64_t, class_capacity);
    w.next_in_bucket = WEFT_NEW_RAW(arena, uint32_t, class_capacity);
    w.dirty_classes = WEFT_NEW_RAW(arena, uint32_t, class_capacity);
    w.heap = WEFT_NEW_RAW(arena, uint32_t, class_capacity);
    w.heap_place = WEFT_NEW_RAW(arena, uint32_t, class_capacity);
    w.target_bytes = WEFT_NEW_RAW(arena, double, flow_capacity);
    w.flow_owner = WEFT_NEW_RAW(arena, uint32_t, flow_capacity);
    w.flow_child = WEFT_NEW_RAW(arena, uint32_t, flow_capacity);
    w.flow_sibling = WEFT_NEW_RAW(arena, uint32_t, flow_capacity);
    w.free_flows = WEFT_NEW_RAW(arena, uint32_t, flow_capacity);
    w.link_bytes = WEFT_NEW(arena, double, link_count);
    uint32_t bucket_count = 64;
    while (bucket_count < class_capacity && bucket_count < BUCKETS_MAX) {
        bucket_count *= 2;
    }
    w.bucket_mask = bucket_count - 1;
    w.buckets = WEFT_NEW_RAW(arena, uint32_t, bucket_count);
    memset(w.buckets, 0xff, bucket_count * sizeof(uint32_t)); // WEFT_NONE
    *wire = w;
}

// ---- classes by path ----

static uint64_t hash_path(const uint32_t *links, uint32_t hop_count)
{
    uint64_t hash = hop_count;
    for (uint32_t hop = 0; hop < hop_count; hop++) {
        hash = (hash ^ links[hop]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

uint32_t weft_wire_open(struct weft_wire *wire, const uint32_t *links, uint32_t hop_count)
{
    uint64_t hash = hash_path(links, hop_count);
    uint32_t *bucket = &wire->buckets[hash & wire->bucket_mask];
    for (uint32_t id = *bucket; id != WEFT_NONE; id = wire->next_in_bucket[id]) {
        const struct weft_maxmin_class *class = weft_maxmin_class_at(&wire->maxmin, id);
        if (wire->path_hash[id] == hash && class->hop_count == hop_count &&
            memcmp(class->path, links, hop_count * sizeof(*links)) == 0) {
            wire->users[id]++;
            return id;
        }
    }
    uint32_t id = weft_maxmin_open(&wire->maxmin, links, hop_count);
    wire->served_bytes[id] = 0;
    wire->since_ps[id] = wire->now_ps;
    wire->first_flow[id] = WEFT_NONE;
    wire->heap_place[id] = WEFT_NONE;
    wire->is_dirty[id] = false;
    wire->users[id] = 1;
    wire->path_hash[id] = hash;
    wire->next_in_bucket[id] = *bucket;
    *bucket = id;
    return id;
}

// Forgets a class that neither flows nor holders use. One that still awaits settling is left to it.
static void forget_unused(struct weft_wire *wire, uint32_t id)
{
    if (wire->users[id] > 0 || wire->first_flow[id] != WEFT_NONE || wire->is_dirty[id]) {
        return;
    }
    uint32_t *link = &wire->buckets[wire->path_hash[id] & wire->bucket_mask];
    while (*link != id) {
        link = &wire->next_in_bucket[*link];
    }
    *link = wire->next_in_bucket[id];
    weft_maxmin_close(&wire->maxmin, id);
}

void weft_wire_close(struct weft_wire *wire, uint32_t class_id)
{
    WEFT_ASSERT(wire->users[class_id] > 0);
    wire->users[class_id]--;
    forget_unused(wire, class_id);
}

// ---- the flows of a class: a pairing heap (Fredman et al., Algorithmica 1986) ----

static uint32_t meld(struct weft_wire *wire, uint32_t a, uint32_t b)
{
    if (wire->target_bytes[b] < wire->target_bytes[a]) {
        uint32_t swap = a;
        a = b;
        b = swap;
    }
    wire->flow_sibling[b] = wire->flow_child[a];
    wire->flow_child[a] = b;
    return a;
}

// The heap of `flow` without it.
static uint32_t without_first(struct weft_wire *wire, uint32_t flow)
{
    uint32_t pairs = WEFT_NONE;
    for (uint32_t at = wire->flow_child[flow]; at != WEFT_NONE;) {
        uint32_t second = wire->flow_sibling[at];
        uint32_t rest = second == WEFT_NONE ? WEFT_NONE : wire->flow_sibling[second];
        uint32_t pair = second == WEFT_NONE ? at : meld(wire, at, second);
        wire->flow_sibling[pair] = pairs;
        pairs = pair;
        at = rest;
    }
    uint32_t root = pairs;
    if (root != WEFT_NONE) {
        for (uint32_t at = wire->flow_sibling[root]; at != WEFT_NONE;) {
            uint32_t rest = wire->flow_sibling[at];
            root = meld(wire, root, at);
            at = rest;
        }
        wire->flow_sibling[root] = WEFT_NONE;
    }
    return root;
}

// ---- the classes by end ----

static void place_class(struct weft_wire *wire, uint32_t place, uint32_t id)
{
    wire->heap[place] = id;
    wire->heap_place[id] = place;
}

static void sift(struct weft_wire *wire, uint32_t place, uint32_t id)
{
    const double *key = wire->end_ps;
    uint32_t *heap = wire->heap;
    while (place > 0 && key[heap[(place - 1) / HEAP_ARITY]] > key[id]) {
        place_class(wire, place, heap[(place - 1) / HEAP_ARITY]);
        place = (place - 1) / HEAP_ARITY;
    }
    for (uint32_t child; (child = HEAP_ARITY * place + 1) < wire->heap_count;) {
        uint32_t end =
            child + HEAP_ARITY < wire->heap_count ? child + HEAP_ARITY : wire->heap_count;
        uint32_t least = child;
        while (++child < end) {
            if (key[heap[child]] < key[heap[least]]) {
                least = child;
            }
        }
        if (key[heap[least]] >= key[id]) {
            break;
        }
        place_class(wire, place, heap[least]);
        place = least;
    }
    place_class(wire, place, id);
}

static void remove_class(struct weft_wire *wire, uint32_t id)
{
    uint32_t place = wire->heap_place[id];
    wire->heap_place[id] = WEFT_NONE;
    uint32_t last = wire->heap[--wire->heap_count];
    if (last != id) {
        sift(wire, place, last);
    }
}

// Projects the end of the class's first flow and files the class under it.
static void project(struct weft_wire *wire, uint32_t id)
{
    double left_bytes = wire->target_bytes[wire->first_flow[id]] - wire->served_bytes[id];
    double time_ps =
        left_bytes / weft_maxmin_class_at(&wire->maxmin, id)->rate_Bps * (double)WEFT_PS_PER_S;
    wire->end_ps[id] = wire->since_ps[id] + (time_ps > 0 ? time_ps : 0);
    uint32_t place = wire->heap_place[id];
    sift(wire, place == WEFT_NONE ? wire->heap_count++ : place, id);
}

static void serve(struct weft_wire *wire, uint32_t id, double rate_Bps)
{
    double time_ps = wire->now_ps - wire->since_ps[id];
    wire->served_bytes[id] += rate_Bps * (time_ps / (double)WEFT_PS_PER_S);
    wire->since_ps[id] = wire->now_ps;
}

// ---- starts, ends, rates ----

static void mark_dirty(struct weft_wire *wire, uint32_t id)
{
    if (!wire->is_dirty[id]) {
        wire->is_dirty[id] = true;
        wire->dirty_classes[wire->dirty_count++] = id;
    }
}

void weft_wire_start(struct weft_wire *wire, uint32_t class_id, double size_bytes, uint32_t owner)
{
    WEFT_ASSERT(size_bytes > 0 && isfinite(size_bytes));
    uint32_t flow;
    if (wire->free_flow_count > 0) {
        flow = wire->free_flows[--wire->free_flow_count];
    } else {
        WEFT_ASSERT(wire->flow_count < wire->flow_capacity);
        flow = wire->flow_count++;
    }
    const struct weft_maxmin_class *class = weft_maxmin_class_at(&wire->maxmin, class_id);
    uint32_t root = wire->first_flow[class_id];
    if (root == WEFT_NONE) {
        wire->served_bytes[class_id] = 0;
        wire->since_ps[class_id] = wire->now_ps;
    } else {
        serve(wire, class_id, class->rate_Bps);
    }
    wire->target_bytes[flow] = wire->served_bytes[class_id] + size_bytes;
    wire->flow_owner[flow] = owner;
    wire->flow_child[flow] = WEFT_NONE;
    wire->flow_sibling[flow] = WEFT_NONE;
    wire->first_flow[class_id] = root == WEFT_NONE ? flow : meld(wire, root, flow);
    mark_dirty(wire, class_id);
    weft_maxmin_join(&wire->maxmin, class_id);
    for (uint32_t hop = 0; hop < class->hop_count; hop++) {
        wire->link_bytes[class->path[hop]] += size_bytes;
    }
    wire->started_count++;
}

void weft_wire_settle(struct weft_wire *wire)
{
    struct weft_maxmin *maxmin = &wire->maxmin;
    weft_maxmin_solve(maxmin);
    for (uint32_t i = 0; i < maxmin->touched_count; i++) {
        uint32_t id = maxmin->touched[i];
        serve(wire, id, maxmin->before_Bps[id]);
        project(wire, id);
        wire->is_dirty[id] = false;
    }
    maxmin->touched_count = 0;
    for (uint32_t i = 0; i < wire->dirty_count; i++) {
        uint32_t id = wire->dirty_classes[i];
        if (!wire->is_dirty[id]) {
            continue;
        }
        wire->is_dirty[id] = false;
        if (wire->first_flow[id] != WEFT_NONE) {
            project(wire, id);
        } else {
            forget_unused(wire, id);
        }
    }
    wire->dirty_count = 0;
}

double weft_wire_next_ps(const struct weft_wire *wire)
{
    return wire->heap_count == 0 ? (double)INFINITY : wire->end_ps[wire->heap[0]];
}

double weft_wire_window_ps(const struct weft_wire *wire)
{
    return wire->now_ps * (1 + 1e-14) + 1e-4;
}

bool weft_wire_take(struct weft_wire *wire, double until_ps, struct weft_wire_end *end)
{
    if (wire->heap_count == 0 || wire->end_ps[wire->heap[0]] > until_ps) {
        return false;
    }
    uint32_t id = wire->heap[0];
    uint32_t flow = wire->first_flow[id];
    *end = (struct weft_wire_end){wire->flow_owner[flow], id, wire->end_ps[id]};
    wire->free_flows[wire->free_flow_count++] = flow;
    uint32_t next = without_first(wire, flow);
    wire->first_flow[id] = next;
    weft_maxmin_leave(&wire->maxmin, id);
    if (next != WEFT_NONE) {
        project(wire, id);
    } else {
        remove_class(wire, id);
        forget_unused(wire, id);
    }
    return true;
}
