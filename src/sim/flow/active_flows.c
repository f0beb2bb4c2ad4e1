// SPDX-License-Identifier: Apache-2.0
// The flows in flight: shared service totals, and a heap of projected ends.

#include "active_flows.h"

#include "weft/base/heap.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define BUCKETS_MAX (1u << 18)

void weft_wire_init(struct weft_wire *wire, const double *capacity_Bps, uint32_t link_count,
                    uint32_t class_capacity, uint32_t flow_capacity, uint32_t hop_max,
                    struct weft_arena *arena)
{
    struct weft_wire w = {.flow_capacity = flow_capacity};
    weft_maxmin_init(&w.maxmin, capacity_Bps, link_count, class_capacity, hop_max, arena);
    w.classes = WEFT_NEW_RAW(arena, struct weft_wire_class, class_capacity);
    w.path_hash = WEFT_NEW_RAW(arena, uint64_t, class_capacity);
    w.next_in_bucket = WEFT_NEW_RAW(arena, uint32_t, class_capacity);
    w.dirty_classes = WEFT_NEW_RAW(arena, uint32_t, class_capacity);
    w.ends = (struct weft_wire_heap){
        .entries = WEFT_NEW_RAW(arena, struct weft_wire_entry, class_capacity),
        .classes = w.classes};
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

void weft_wire_use_shares(struct weft_wire *wire, bool follow, struct weft_arena *arena)
{
    uint32_t room = wire->maxmin.class_capacity;
    weft_maxmin_use_shares(&wire->maxmin);
    wire->job = WEFT_NEW_RAW(arena, uint32_t, room);
    if (follow) {
        wire->changed = WEFT_NEW_RAW(arena, uint32_t, room);
        wire->is_changed = WEFT_NEW(arena, bool, room);
    }
}

static void note_change(struct weft_wire *wire, uint32_t id)
{
    if (wire->is_changed != NULL && !wire->is_changed[id]) {
        wire->is_changed[id] = true;
        wire->changed[wire->changed_count++] = id;
    }
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

uint32_t weft_wire_open(struct weft_wire *wire, const uint32_t *links, uint32_t hop_count,
                        uint32_t job)
{
    uint64_t hash = hash_path(links, hop_count);
    if (wire->job != NULL) {
        hash ^= weft_hash(job);
    }
    uint32_t *bucket = &wire->buckets[hash & wire->bucket_mask];
    for (uint32_t id = *bucket; id != WEFT_NONE; id = wire->next_in_bucket[id]) {
        const struct weft_maxmin_class *class = weft_maxmin_class_at(&wire->maxmin, id);
        if (wire->path_hash[id] == hash && class->hop_count == hop_count &&
            memcmp(class->path, links, hop_count * sizeof(*links)) == 0 &&
            (wire->job == NULL || wire->job[id] == job)) {
            wire->classes[id].users++;
            return id;
        }
    }
    uint32_t id = weft_maxmin_open(&wire->maxmin, links, hop_count);
    wire->classes[id] =
        (struct weft_wire_class){.first_flow = WEFT_NONE, .heap_place = WEFT_NONE, .users = 1};
    wire->path_hash[id] = hash;
    if (wire->job != NULL) {
        wire->job[id] = job;
    }
    wire->next_in_bucket[id] = *bucket;
    *bucket = id;
    return id;
}

// Forgets a class that neither flows nor holders use. One that still awaits settling is left to it.
static void forget_unused(struct weft_wire *wire, uint32_t id)
{
    const struct weft_wire_class *class = &wire->classes[id];
    if (class->users > 0 || class->first_flow != WEFT_NONE || class->is_dirty) {
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
    WEFT_ASSERT(wire->classes[class_id].users > 0);
    wire->classes[class_id].users--;
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

static inline bool ends_before(const struct weft_wire_entry *a, const struct weft_wire_entry *b)
{
    return a->key_ps < b->key_ps;
}

static inline void note_place(struct weft_wire_heap *heap, uint32_t place)
{
    heap->classes[heap->entries[place].class_id].heap_place = place;
}

// Four children a node: a class that comes to the top too early sinks, and nothing rises as often.
WEFT_HEAP(ends, struct weft_wire_heap, struct weft_wire_entry, 4, ends_before, note_place)

// Files the classes at the top under their ends until the top one stands right.
static void clean_top(struct weft_wire *wire)
{
    while (wire->ends.count > 0) {
        struct weft_wire_entry top = wire->ends.entries[0];
        double end_ps = wire->classes[top.class_id].end_ps;
        if (top.key_ps >= end_ps) {
            return;
        }
        top.key_ps = end_ps;
        ends_sink(&wire->ends, 0, top);
    }
}

// Projects the end of the class's first flow and files the class under it.
static void project(struct weft_wire *wire, uint32_t id)
{
    struct weft_wire_class *class = &wire->classes[id];
    WEFT_ASSERT(class->first_flow != WEFT_NONE);
    double left_bytes = class->target_bytes - class->served_bytes;
    double time_ps = left_bytes / weft_wire_rate(wire, id) * (double)WEFT_PS_PER_S;
    class->end_ps = class->since_ps + (time_ps > 0 ? time_ps : 0);
    struct weft_wire_entry entry = {class->end_ps, id};
    if (class->heap_place == WEFT_NONE) {
        ends_push(&wire->ends, entry);
    } else if (ends_before(&entry, &wire->ends.entries[class->heap_place])) {
        ends_rise(&wire->ends, class->heap_place, entry);
    }
}

static void serve(struct weft_wire *wire, uint32_t id, double rate_Bps)
{
    struct weft_wire_class *class = &wire->classes[id];
    double time_ps = wire->now_ps - class->since_ps;
    class->served_bytes += rate_Bps * (time_ps / (double)WEFT_PS_PER_S);
    class->since_ps = wire->now_ps;
}

// ---- starts, ends, rates ----

static void mark_dirty(struct weft_wire *wire, uint32_t id)
{
    if (!wire->classes[id].is_dirty) {
        wire->classes[id].is_dirty = true;
        wire->dirty_classes[wire->dirty_count++] = id;
    }
}

static uint32_t new_flow(struct weft_wire *wire, double target_bytes, uint32_t owner)
{
    uint32_t flow;
    if (wire->free_flow_count > 0) {
        flow = wire->free_flows[--wire->free_flow_count];
    } else {
        WEFT_ASSERT(wire->flow_count < wire->flow_capacity);
        flow = wire->flow_count++;
    }
    wire->target_bytes[flow] = target_bytes;
    wire->flow_owner[flow] = owner;
    wire->flow_child[flow] = WEFT_NONE;
    wire->flow_sibling[flow] = WEFT_NONE;
    return flow;
}

void weft_wire_start(struct weft_wire *wire, uint32_t class_id, double size_bytes, uint32_t owner)
{
    WEFT_ASSERT(size_bytes > 0 && isfinite(size_bytes));
    const struct weft_maxmin_class *path = weft_maxmin_class_at(&wire->maxmin, class_id);
    struct weft_wire_class *class = &wire->classes[class_id];
    if (class->first_flow == WEFT_NONE) {
        class->served_bytes = 0;
        class->since_ps = wire->now_ps;
    } else {
        serve(wire, class_id, weft_wire_rate(wire, class_id));
    }
    uint32_t flow = new_flow(wire, class->served_bytes + size_bytes, owner);
    class->first_flow = class->first_flow == WEFT_NONE ? flow : meld(wire, class->first_flow, flow);
    class->target_bytes = wire->target_bytes[class->first_flow];
    mark_dirty(wire, class_id);
    note_change(wire, class_id);
    weft_maxmin_join(&wire->maxmin, class_id);
    for (uint32_t hop = 0; hop < path->hop_count; hop++) {
        wire->link_bytes[path->path[hop]] += size_bytes;
    }
    wire->started_count++;
}

void weft_wire_settle(struct weft_wire *wire)
{
    struct weft_maxmin *maxmin = &wire->maxmin;
    weft_maxmin_solve(maxmin);
    for (uint32_t i = 0; i < maxmin->touched_count; i++) {
        uint32_t id = maxmin->touched[i];
        serve(wire, id, maxmin->before_Bps[id] * weft_maxmin_share_of(maxmin, id));
        project(wire, id);
        note_change(wire, id);
        wire->classes[id].is_dirty = false;
    }
    maxmin->touched_count = 0;
    for (uint32_t i = 0; i < wire->dirty_count; i++) {
        uint32_t id = wire->dirty_classes[i];
        if (wire->classes[id].is_dirty) {
            wire->classes[id].is_dirty = false;
            project(wire, id);
        }
    }
    wire->dirty_count = 0;
    clean_top(wire);
}

double weft_wire_next_ps(const struct weft_wire *wire)
{
    return wire->ends.count == 0 ? (double)INFINITY : wire->ends.entries[0].key_ps;
}

double weft_wire_window_ps(const struct weft_wire *wire)
{
    return wire->now_ps * (1 + 1e-14) + 1e-4;
}

bool weft_wire_take(struct weft_wire *wire, double until_ps, struct weft_wire_end *end)
{
    if (weft_wire_next_ps(wire) > until_ps) {
        return false;
    }
    uint32_t id = wire->ends.entries[0].class_id;
    struct weft_wire_class *class = &wire->classes[id];
    uint32_t flow = class->first_flow;
    *end = (struct weft_wire_end){wire->flow_owner[flow], id, class->end_ps};
    wire->free_flows[wire->free_flow_count++] = flow;
    class->first_flow = without_first(wire, flow);
    note_change(wire, id);
    weft_maxmin_leave(&wire->maxmin, id);
    if (class->first_flow != WEFT_NONE) {
        class->target_bytes = wire->target_bytes[class->first_flow];
        project(wire, id); // later than before: stays at the top until cleaned
    } else {
        ends_pop(&wire->ends);
        class->heap_place = WEFT_NONE;
        forget_unused(wire, id);
    }
    clean_top(wire);
    return true;
}

// Takes one flow out of its class before its end.
static struct weft_wire_rest withdraw_first(struct weft_wire *wire, uint32_t id)
{
    struct weft_wire_class *class = &wire->classes[id];
    const struct weft_maxmin_class *path = weft_maxmin_class_at(&wire->maxmin, id);
    uint32_t flow = class->first_flow;
    double left_bytes = fmax(wire->target_bytes[flow] - class->served_bytes, DBL_MIN);
    for (uint32_t hop = 0; hop < path->hop_count; hop++) {
        wire->link_bytes[path->path[hop]] -= left_bytes;
    }
    class->first_flow = without_first(wire, flow);
    wire->free_flows[wire->free_flow_count++] = flow;
    weft_maxmin_leave(&wire->maxmin, id);
    return (struct weft_wire_rest){wire->flow_owner[flow], wire->job == NULL ? 0 : wire->job[id],
                                   path->path[0], path->path[path->hop_count - 1], left_bytes};
}

uint32_t weft_wire_withdraw(struct weft_wire *wire, struct weft_wire_rest *rests)
{
    uint32_t count = 0;
    WEFT_ASSERT(wire->dirty_count == 0 && wire->maxmin.touched_count == 0);
    for (uint32_t id = 0; id < wire->maxmin.class_count; id++) {
        struct weft_wire_class *class = &wire->classes[id];
        if (class->first_flow == WEFT_NONE) {
            continue;
        }
        serve(wire, id, weft_wire_rate(wire, id));
        class->heap_place = WEFT_NONE;
        while (class->first_flow != WEFT_NONE) {
            rests[count++] = withdraw_first(wire, id);
        }
        note_change(wire, id);
        forget_unused(wire, id);
    }
    wire->ends.count = 0;
    return count;
}
