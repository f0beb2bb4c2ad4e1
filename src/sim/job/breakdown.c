// SPDX-License-Identifier: Apache-2.0
// Where the time of an iteration goes: by server, and along the chain that it waited for.
//
// Each device's and each server's stretches of work, transfers and collectives are sorted and
// merged; what one use covers is taken away before the next is counted, so that the uses of a
// device add up to the iteration. The chain is followed backwards from the task that ended last, to
// the predecessor that ended last each time. O((tasks + edges + members of collectives) log).

#include "weft/sim.h"

#include <stdlib.h>

// A stretch of time of one owner (a device, or a server's network).
struct span {
    uint32_t owner;
    uint32_t task;
    uint32_t rank; // of the task in topological order: decides ties
    uint64_t start_ps;
    uint64_t end_ps;
};

struct spans {
    struct span *items;
    uint32_t count;
    const uint32_t *first; // CSR by owner
};

struct times {
    const struct weft_taskgraph *graph;
    const uint64_t *start_ps;
    const uint64_t *end_ps;
    uint64_t iteration_ps;
};

const char *weft_time_use_name(enum weft_time_use use)
{
    static const char *const names[] = {"compute", "transfer", "collective", "idle"};
    WEFT_ASSERT(use < WEFT_TIME_USE_COUNT);
    return names[use];
}

static bool ran(const struct times *times, uint32_t task)
{
    return times->start_ps[task] != WEFT_NEVER && times->end_ps[task] != WEFT_NEVER &&
           times->end_ps[task] >= times->start_ps[task];
}

static int by_owner_and_start(const void *a, const void *b)
{
    const struct span *x = a;
    const struct span *y = b;
    if (x->owner != y->owner) {
        return x->owner < y->owner ? -1 : 1;
    }
    if (x->start_ps != y->start_ps) {
        return x->start_ps < y->start_ps ? -1 : 1;
    }
    if (x->end_ps != y->end_ps) {
        return x->end_ps < y->end_ps ? -1 : 1;
    }
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void sort_spans(struct spans *spans, uint32_t owner_count, struct weft_arena *arena)
{
    uint32_t *first = WEFT_NEW(arena, uint32_t, (size_t)owner_count + 1);
    if (spans->count > 0) {
        qsort(spans->items, spans->count, sizeof *spans->items, by_owner_and_start);
    }
    for (uint32_t i = 0; i < spans->count; i++) {
        first[spans->items[i].owner + 1]++;
    }
    for (uint32_t o = 0; o < owner_count; o++) {
        first[o + 1] += first[o];
    }
    spans->first = first;
}

static struct spans compute_spans(const struct times *times, struct weft_arena *arena)
{
    const struct weft_taskgraph *graph = times->graph;
    uint32_t *order = WEFT_NEW_RAW(arena, uint32_t, (size_t)graph->task_count + 1);
    weft_taskgraph_order(graph, order, *arena);
    struct spans spans = {.items = WEFT_NEW_RAW(arena, struct span, (size_t)graph->task_count + 1)};
    for (uint32_t rank = 0; rank < graph->task_count; rank++) {
        uint32_t t = order[rank];
        if (graph->device[t] != WEFT_NONE && ran(times, t)) {
            spans.items[spans.count++] =
                (struct span){graph->device[t], t, rank, times->start_ps[t], times->end_ps[t]};
        }
    }
    sort_spans(&spans, graph->device_count, arena);
    return spans;
}

static bool of_use(const struct weft_taskgraph *graph, uint32_t task, enum weft_time_use use)
{
    return use == WEFT_TIME_TRANSFER ? graph->kind[task] == WEFT_TASK_TRANSFER
                                     : weft_task_is_collective(graph, task);
}

// What each server's network does for it: transfers that come in, or collectives that it is in.
static struct spans network_spans(const struct times *times, enum weft_time_use use,
                                  struct weft_arena *arena)
{
    const struct weft_taskgraph *graph = times->graph;
    size_t room = 1;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (of_use(graph, t, use)) {
            room += use == WEFT_TIME_TRANSFER ? 1 : weft_task_member_count(graph, t);
        }
    }
    struct spans spans = {.items = WEFT_NEW_RAW(arena, struct span, room)};
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (!of_use(graph, t, use) || !ran(times, t)) {
            continue;
        }
        struct span span = {graph->to[t], t, t, times->start_ps[t], times->end_ps[t]};
        if (use == WEFT_TIME_TRANSFER) {
            spans.items[spans.count++] = span;
            continue;
        }
        uint32_t group = graph->group[t];
        for (uint32_t i = graph->group_first[group]; i < graph->group_first[group + 1]; i++) {
            span.owner = graph->group_members[i];
            spans.items[spans.count++] = span;
        }
    }
    WEFT_ASSERT(spans.count < room);
    sort_spans(&spans, graph->server_count, arena);
    return spans;
}

// Writes those parts of the stretches that no span covers to `rest`, and returns how much time
// spans do cover. `rest` has room for as many as there are spans and stretches, and two more.
static uint64_t cover(struct span *rest, uint32_t *rest_count, const struct span *stretches,
                      uint32_t stretch_count, const struct span *spans, uint32_t span_count)
{
    uint64_t covered_ps = 0;
    uint32_t count = 0;
    uint32_t s = 0;
    uint64_t reach_ps = 0; // the latest end of the spans passed so far
    for (uint32_t i = 0; i < stretch_count; i++) {
        uint64_t at_ps = stretches[i].start_ps;
        uint64_t end_ps = stretches[i].end_ps;
        while (at_ps < end_ps) {
            while (s < span_count && spans[s].start_ps <= at_ps) {
                reach_ps = spans[s].end_ps > reach_ps ? spans[s].end_ps : reach_ps;
                s++;
            }
            uint64_t next_ps =
                s < span_count && spans[s].start_ps < end_ps ? spans[s].start_ps : end_ps;
            if (reach_ps > at_ps) {
                uint64_t stop_ps = reach_ps < next_ps ? reach_ps : next_ps;
                covered_ps += stop_ps - at_ps;
                at_ps = stop_ps;
            } else {
                rest[count++] = (struct span){.start_ps = at_ps, .end_ps = next_ps};
                at_ps = next_ps;
            }
        }
    }
    *rest_count = count;
    return covered_ps;
}

// Adds what one device's time went to.
// `covers` are the spans of each use before WEFT_TIME_IDLE: those of computation by device, the
// others by server.
static void add_device(uint64_t *use_ps, const struct times *times, uint32_t device,
                       const struct spans *const covers[WEFT_TIME_IDLE], struct weft_arena scratch)
{
    uint32_t server = times->graph->device_server[device];
    struct span whole = {.start_ps = 0, .end_ps = times->iteration_ps};
    const struct span *rest = &whole;
    uint32_t rest_count = 1;
    uint64_t left_ps = times->iteration_ps;
    for (uint32_t use = WEFT_TIME_COMPUTE; use < WEFT_TIME_IDLE; use++) {
        uint32_t owner = use == WEFT_TIME_COMPUTE ? device : server;
        uint32_t from = covers[use]->first[owner];
        uint32_t count = covers[use]->first[owner + 1] - from;
        struct span *next = WEFT_NEW_RAW(&scratch, struct span, (size_t)rest_count + count + 1);
        uint64_t covered_ps =
            cover(next, &rest_count, rest, rest_count, covers[use]->items + from, count);
        use_ps[use] += covered_ps;
        left_ps -= covered_ps;
        rest = next;
    }
    use_ps[WEFT_TIME_IDLE] += left_ps;
}

// What every server does with its time, as the mean of its devices.
static const uint64_t *find_uses(const struct times *times, const struct spans *compute,
                                 struct weft_arena *arena, struct weft_arena scratch)
{
    const struct weft_taskgraph *graph = times->graph;
    struct spans transfers = network_spans(times, WEFT_TIME_TRANSFER, &scratch);
    struct spans collectives = network_spans(times, WEFT_TIME_COLLECTIVE, &scratch);
    const struct spans *const covers[] = {compute, &transfers, &collectives};
    uint64_t *use_ps = WEFT_NEW(arena, uint64_t, (size_t)graph->server_count * WEFT_TIME_USE_COUNT);
    uint32_t *device_counts = WEFT_NEW(&scratch, uint32_t, graph->server_count);
    for (uint32_t d = 0; d < graph->device_count; d++) {
        uint32_t server = graph->device_server[d];
        device_counts[server]++;
        add_device(use_ps + (size_t)server * WEFT_TIME_USE_COUNT, times, d, covers, scratch);
    }
    for (uint32_t s = 0; s < graph->server_count; s++) {
        uint64_t *uses = use_ps + (size_t)s * WEFT_TIME_USE_COUNT;
        if (device_counts[s] == 0) {
            uses[WEFT_TIME_IDLE] = times->iteration_ps;
            continue;
        }
        for (uint32_t use = 0; use < WEFT_TIME_USE_COUNT; use++) {
            uses[use] /= device_counts[s];
        }
    }
    return use_ps;
}

// The task that ended last of those that each task waited for; WEFT_NONE where there is none.
static uint32_t *find_causes(const struct times *times, const struct spans *compute,
                             struct weft_arena *arena)
{
    const struct weft_taskgraph *graph = times->graph;
    uint32_t *causes = WEFT_NEW_RAW(arena, uint32_t, (size_t)graph->task_count + 1);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        causes[t] = WEFT_NONE;
    }
    for (uint32_t i = 1; i < compute->count; i++) {
        if (compute->items[i].owner == compute->items[i - 1].owner) {
            causes[compute->items[i].task] = compute->items[i - 1].task;
        }
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (!ran(times, t)) {
            continue;
        }
        for (uint32_t i = graph->next_first[t]; i < graph->next_first[t + 1]; i++) {
            uint32_t next = graph->next[i];
            // A tie goes to the predecessor in the graph, not to the one in the device's queue.
            if (causes[next] == WEFT_NONE || times->end_ps[t] >= times->end_ps[causes[next]]) {
                causes[next] = t;
            }
        }
    }
    return causes;
}

// Follows the chain of causes from the task that ended last back to the start. The
// times go into the breakdown by kind of task, and the gaps in between beside them.
static void find_path(struct weft_breakdown *breakdown, const struct times *times,
                      const struct spans *compute, struct weft_arena scratch)
{
    const struct weft_taskgraph *graph = times->graph;
    uint32_t *causes = find_causes(times, compute, &scratch);
    uint32_t last = WEFT_NONE;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (ran(times, t) && (last == WEFT_NONE || times->end_ps[t] > times->end_ps[last])) {
            last = t;
        }
    }
    uint64_t at_ps = times->iteration_ps;
    // Causes come before their effects by (start, end, rank); the count only guards against times
    // that no simulation gives.
    uint32_t t = last;
    while (t != WEFT_NONE && breakdown->path_length < graph->task_count) {
        // Tasks of a foreign timeline may overlap; each stretch of time counts once.
        uint64_t end_ps = times->end_ps[t] < at_ps ? times->end_ps[t] : at_ps;
        uint64_t start_ps = times->start_ps[t] < end_ps ? times->start_ps[t] : end_ps;
        breakdown->path_gap_ps += at_ps - end_ps;
        breakdown->path_ps[graph->kind[t]] += end_ps - start_ps;
        breakdown->path_length++;
        at_ps = start_ps;
        t = causes[t];
    }
    breakdown->path_gap_ps += at_ps;
}

void weft_sim_breakdown(struct weft_breakdown *breakdown, const struct weft_taskgraph *graph,
                        const struct weft_task_times *tasks, struct weft_arena *arena,
                        struct weft_arena scratch)
{
    const struct times times = {graph, tasks->start_ps, tasks->end_ps, tasks->iteration_ps};
    struct spans compute = compute_spans(&times, &scratch);
    *breakdown = (struct weft_breakdown){.use_ps = find_uses(&times, &compute, arena, scratch)};
    find_path(breakdown, &times, &compute, scratch);
}
