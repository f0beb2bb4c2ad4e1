// SPDX-License-Identifier: Apache-2.0
// The flows in flight: classes of flows on one path share a rate and a running total of bytes
// served, which is brought up to date only when the rate changes; a heap of projected ends says
// which class ends a flow next. A start or an end costs O(hops + log classes) besides the rates.
//
// The flows of one class wait in a pairing heap, not in an array of weft/base/heap.h. There is a
// heap for every class; most hold one flow at a time, some many, and which is not known beforehand.
// A pairing heap takes two indices a flow out of the room that all flows share, where every array
// would have to grow by itself. A key never changes, so that nothing else of it is needed. Counted
// over `weft simulate 100dlrm_128.fbuf --rate 100Gbps` (5.4 flows a heap when one ends, at most 22)
// it makes 2.5 comparisons a flow; ends alone may take a binary heap 3.2.

#include "active_flows.h"

#include "weft/base/heap.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define BUCKETS_MAX (1u << 20)

void weft_active_init(struct weft_active_flows *active, const double *capacity_Bps,
                      uint32_t link_count, const struct weft_active_room *room,
                      struct weft_arena *arena)
{
    const uint32_t class_capacity = room->class_capacity;
    const uint32_t flow_capacity = room->flow_capacity;
    struct weft_active_flows w = {.flow_capacity = flow_capacity};
    weft_maxmin_init(&w.maxmin, capacity_Bps, link_count, class_capacity, room->hop_max, arena);
    w.classes = WEFT_NEW_RAW(arena, struct weft_active_class, class_capacity);
    w.paths.hash = WEFT_NEW_RAW(arena, uint64_t, class_capacity);
    w.paths.next = WEFT_NEW_RAW(arena, uint32_t, class_capacity);
    w.dirty_classes = WEFT_NEW_RAW(arena, uint32_t, class_capacity);
    w.ends = (struct weft_active_heap){
        .entries = WEFT_NEW_RAW(arena, struct weft_active_entry, class_capacity),
        .place = WEFT_NEW_RAW(arena, uint32_t, class_capacity)};
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
    w.paths.mask = bucket_count - 1;
    w.paths.buckets = WEFT_NEW_RAW(arena, uint32_t, bucket_count);
    memset(w.paths.buckets, 0xff, bucket_count * sizeof(uint32_t)); // WEFT_NONE
    *active = w;
}

void weft_active_use_shares(struct weft_active_flows *active, bool follow, struct weft_arena *arena)
{
    uint32_t room = active->maxmin.class_capacity;
    weft_maxmin_use_shares(&active->maxmin);
    active->job = WEFT_NEW_RAW(arena, uint32_t, room);
    if (follow) {
        active->changed.classes = WEFT_NEW_RAW(arena, uint32_t, room);
        active->changed.is_listed = WEFT_NEW(arena, bool, room);
    }
}

static void note_change(struct weft_active_flows *active, uint32_t id)
{
    if (active->changed.is_listed != NULL && !active->changed.is_listed[id]) {
        active->changed.is_listed[id] = true;
        active->changed.classes[active->changed.count++] = id;
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

uint32_t weft_active_open(struct weft_active_flows *active, const uint32_t *links,
                          uint32_t hop_count, uint32_t job)
{
    uint64_t hash = hash_path(links, hop_count);
    if (active->job != NULL) {
        hash ^= weft_hash(job);
    }
    uint32_t *bucket = &active->paths.buckets[hash & active->paths.mask];
    for (uint32_t id = *bucket; id != WEFT_NONE; id = active->paths.next[id]) {
        const struct weft_maxmin_class *class = weft_maxmin_class_at(&active->maxmin, id);
        if (active->paths.hash[id] == hash && class->hop_count == hop_count &&
            memcmp(class->path, links, hop_count * sizeof(*links)) == 0 &&
            (active->job == NULL || active->job[id] == job)) {
            active->classes[id].users++;
            return id;
        }
    }
    uint32_t id = weft_maxmin_open(&active->maxmin, links, hop_count);
    active->classes[id] = (struct weft_active_class){.first_flow = WEFT_NONE, .users = 1};
    active->ends.place[id] = WEFT_NONE;
    active->paths.hash[id] = hash;
    if (active->job != NULL) {
        active->job[id] = job;
    }
    active->paths.next[id] = *bucket;
    *bucket = id;
    return id;
}

// Forgets a class that neither flows nor holders use. One that stands in dirty_classes is kept: the
// next settle reads it.
static void forget_unused(struct weft_active_flows *active, uint32_t id)
{
    const struct weft_active_class *class = &active->classes[id];
    if (class->users > 0 || class->first_flow != WEFT_NONE || class->is_dirty) {
        return;
    }
    uint32_t *link = &active->paths.buckets[active->paths.hash[id] & active->paths.mask];
    while (*link != id) {
        link = &active->paths.next[*link];
    }
    *link = active->paths.next[id];
    weft_maxmin_close(&active->maxmin, id);
}

void weft_active_close(struct weft_active_flows *active, uint32_t class_id)
{
    WEFT_ASSERT(active->classes[class_id].users > 0);
    active->classes[class_id].users--;
    forget_unused(active, class_id);
}

// ---- the flows of a class: a pairing heap (Fredman et al., Algorithmica 1986) ----

static uint32_t meld(struct weft_active_flows *active, uint32_t a, uint32_t b)
{
    if (active->target_bytes[b] < active->target_bytes[a]) {
        uint32_t swap = a;
        a = b;
        b = swap;
    }
    active->flow_sibling[b] = active->flow_child[a];
    active->flow_child[a] = b;
    return a;
}

// The root of the heap that is left without its root `flow`: the children are melded in pairs, in
// order, and the pairs into one, from the last to the first ("two-pass"). O(log flows) amortized.
static uint32_t without_first(struct weft_active_flows *active, uint32_t flow)
{
    uint32_t pairs = WEFT_NONE;
    for (uint32_t at = active->flow_child[flow]; at != WEFT_NONE;) {
        uint32_t second = active->flow_sibling[at];
        uint32_t rest = second == WEFT_NONE ? WEFT_NONE : active->flow_sibling[second];
        uint32_t pair = second == WEFT_NONE ? at : meld(active, at, second);
        active->flow_sibling[pair] = pairs;
        pairs = pair;
        at = rest;
    }
    uint32_t root = pairs;
    if (root != WEFT_NONE) {
        for (uint32_t at = active->flow_sibling[root]; at != WEFT_NONE;) {
            uint32_t rest = active->flow_sibling[at];
            root = meld(active, root, at);
            at = rest;
        }
        active->flow_sibling[root] = WEFT_NONE;
    }
    return root;
}

// ---- the classes by end ----

static inline bool ends_before(const struct weft_active_entry *a, const struct weft_active_entry *b)
{
    return a->key_ps < b->key_ps;
}

static inline void note_place(struct weft_active_heap *heap, uint32_t place)
{
    heap->place[heap->entries[place].class_id] = place;
}

// Four children a node: a class that comes to the top too early sinks, and nothing rises as often.
WEFT_HEAP(ends, struct weft_active_heap, struct weft_active_entry, 4, ends_before, note_place)

// A class whose end moved out keeps its place until it comes to the top, where its key is too
// early: such classes are filed anew under their ends, until the key of the top one is its end.
static void clean_top(struct weft_active_flows *active)
{
    while (active->ends.count > 0) {
        struct weft_active_entry top = active->ends.entries[0];
        double end_ps = active->classes[top.class_id].end_ps;
        if (top.key_ps >= end_ps) {
            return;
        }
        top.key_ps = end_ps;
        ends_sink(&active->ends, 0, top);
    }
}

// Projects the end of the class's first flow and files the class under it.
static void project(struct weft_active_flows *active, uint32_t id)
{
    struct weft_active_class *class = &active->classes[id];
    WEFT_ASSERT(class->first_flow != WEFT_NONE);
    double left_bytes = class->target_bytes - class->served_bytes;
    double time_ps = left_bytes / weft_active_rate(active, id) * (double)WEFT_PS_PER_S;
    class->end_ps = class->since_ps + (time_ps > 0 ? time_ps : 0);
    struct weft_active_entry entry = {class->end_ps, id};
    uint32_t place = active->ends.place[id];
    if (place == WEFT_NONE) {
        ends_push(&active->ends, entry);
    } else if (ends_before(&entry, &active->ends.entries[place])) {
        ends_rise(&active->ends, place, entry);
    }
}

static void serve(struct weft_active_flows *active, uint32_t id, double rate_Bps)
{
    struct weft_active_class *class = &active->classes[id];
    double time_ps = active->now_ps - class->since_ps;
    class->served_bytes += rate_Bps * (time_ps / (double)WEFT_PS_PER_S);
    class->since_ps = active->now_ps;
}

// ---- starts, ends, rates ----

static void mark_dirty(struct weft_active_flows *active, uint32_t id)
{
    if (!active->classes[id].is_dirty) {
        active->classes[id].is_dirty = true;
        active->dirty_classes[active->dirty_count++] = id;
    }
}

static uint32_t new_flow(struct weft_active_flows *active, double target_bytes, uint32_t owner)
{
    uint32_t flow;
    if (active->free_flow_count > 0) {
        flow = active->free_flows[--active->free_flow_count];
    } else {
        WEFT_ASSERT(active->flow_count < active->flow_capacity);
        flow = active->flow_count++;
    }
    active->target_bytes[flow] = target_bytes;
    active->flow_owner[flow] = owner;
    active->flow_child[flow] = WEFT_NONE;
    active->flow_sibling[flow] = WEFT_NONE;
    return flow;
}

void weft_active_start(struct weft_active_flows *active, uint32_t class_id, double size_bytes,
                       uint32_t owner)
{
    WEFT_ASSERT(size_bytes > 0 && isfinite(size_bytes));
    const struct weft_maxmin_class *path = weft_maxmin_class_at(&active->maxmin, class_id);
    struct weft_active_class *class = &active->classes[class_id];
    if (class->first_flow == WEFT_NONE) {
        class->served_bytes = 0;
        class->since_ps = active->now_ps;
    } else {
        serve(active, class_id, weft_active_rate(active, class_id));
    }
    uint32_t flow = new_flow(active, class->served_bytes + size_bytes, owner);
    class->first_flow =
        class->first_flow == WEFT_NONE ? flow : meld(active, class->first_flow, flow);
    class->target_bytes = active->target_bytes[class->first_flow];
    mark_dirty(active, class_id);
    note_change(active, class_id);
    weft_maxmin_join(&active->maxmin, class_id);
    for (uint32_t hop = 0; hop < path->hop_count; hop++) {
        active->link_bytes[path->path[hop]] += size_bytes;
    }
    active->started_count++;
}

void weft_active_settle(struct weft_active_flows *active)
{
    struct weft_maxmin *maxmin = &active->maxmin;
    weft_maxmin_solve(maxmin);
    for (uint32_t i = 0; i < maxmin->touched_count; i++) {
        uint32_t id = maxmin->touched[i];
        serve(active, id, maxmin->before_Bps[id] * weft_maxmin_share_of(maxmin, id));
        project(active, id);
        note_change(active, id);
        active->classes[id].is_dirty = false;
    }
    maxmin->touched_count = 0;
    for (uint32_t i = 0; i < active->dirty_count; i++) {
        uint32_t id = active->dirty_classes[i];
        if (active->classes[id].is_dirty) {
            active->classes[id].is_dirty = false;
            project(active, id);
        }
    }
    active->dirty_count = 0;
    clean_top(active);
}

double weft_active_next_ps(const struct weft_active_flows *active)
{
    return active->ends.count == 0 ? (double)INFINITY : active->ends.entries[0].key_ps;
}

double weft_active_window_ps(const struct weft_active_flows *active)
{
    return active->now_ps * (1 + 1e-14) + 1e-4;
}

bool weft_active_take(struct weft_active_flows *active, double until_ps,
                      struct weft_active_end *end)
{
    if (weft_active_next_ps(active) > until_ps) {
        return false;
    }
    uint32_t id = active->ends.entries[0].class_id;
    struct weft_active_class *class = &active->classes[id];
    uint32_t flow = class->first_flow;
    *end = (struct weft_active_end){active->flow_owner[flow], id, class->end_ps};
    active->free_flows[active->free_flow_count++] = flow;
    class->first_flow = without_first(active, flow);
    note_change(active, id);
    weft_maxmin_leave(&active->maxmin, id);
    if (class->first_flow != WEFT_NONE) {
        class->target_bytes = active->target_bytes[class->first_flow];
        project(active, id); // a later end: it stays at the top until clean_top
    } else {
        ends_pop(&active->ends);
        active->ends.place[id] = WEFT_NONE;
        forget_unused(active, id);
    }
    clean_top(active);
    return true;
}

// Takes one flow out of its class before its end.
static struct weft_active_withdrawn withdraw_first(struct weft_active_flows *active, uint32_t id)
{
    struct weft_active_class *class = &active->classes[id];
    const struct weft_maxmin_class *path = weft_maxmin_class_at(&active->maxmin, id);
    uint32_t flow = class->first_flow;
    double left_bytes = fmax(active->target_bytes[flow] - class->served_bytes, DBL_MIN);
    for (uint32_t hop = 0; hop < path->hop_count; hop++) {
        active->link_bytes[path->path[hop]] -= left_bytes;
    }
    class->first_flow = without_first(active, flow);
    active->free_flows[active->free_flow_count++] = flow;
    weft_maxmin_leave(&active->maxmin, id);
    return (struct weft_active_withdrawn){active->flow_owner[flow],
                                          active->job == NULL ? 0 : active->job[id], path->path[0],
                                          path->path[path->hop_count - 1], left_bytes};
}

uint32_t weft_active_withdraw(struct weft_active_flows *active, struct weft_active_withdrawn *flows)
{
    uint32_t count = 0;
    WEFT_ASSERT(active->dirty_count == 0 && active->maxmin.touched_count == 0);
    for (uint32_t id = 0; id < active->maxmin.class_count; id++) {
        struct weft_active_class *class = &active->classes[id];
        if (class->first_flow == WEFT_NONE) {
            continue;
        }
        serve(active, id, weft_active_rate(active, id));
        active->ends.place[id] = WEFT_NONE;
        while (class->first_flow != WEFT_NONE) {
            flows[count++] = withdraw_first(active, id);
        }
        note_change(active, id);
        forget_unused(active, id);
    }
    active->ends.count = 0;
    return count;
}
