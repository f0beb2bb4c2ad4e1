// SPDX-License-Identifier: Apache-2.0
// Heads and tails of tasks, and the one-machine bound, derived as docs/certificate.md states them.
//
// A head is the longest path to a task, or the soonest that one machine (a device, a server's ports
// one way) can be done with all of its ancestors that use it: taken in order of their heads, C =
// max(C, head) + body. One sweep over the tasks placed so far, in that order, serves all machines
// at once. Tails are heads of the reversed graph. The one-machine bound is a maximum over pairs of
// thresholds: tasks are put into a tournament tree over heads by falling tails, where putting one
// in adds its body to all earlier heads, so that the root is the best subset of this least tail.

#include "ideal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Above so many tasks only direct predecessors are looked at, as docs/certificate.md says.
#define CLOSURE_TASKS_MAX 30000u

bool ideal_is_collective(const struct weft_taskgraph *graph, uint32_t task)
{
    return ideal_passes(graph, task) > 0;
}

uint32_t ideal_passes(const struct weft_taskgraph *graph, uint32_t task)
{
    uint8_t kind = graph->kind[task];
    bool half = kind == WEFT_TASK_REDUCE_SCATTER || kind == WEFT_TASK_ALL_GATHER;
    return kind == WEFT_TASK_ALLREDUCE ? 2 : half ? 1 : 0;
}

uint32_t ideal_member_count(const struct weft_taskgraph *graph, uint32_t task)
{
    uint32_t group = graph->group[task];
    return graph->group_first[group + 1] - graph->group_first[group];
}

static bool crosses(const struct weft_taskgraph *graph, uint32_t task)
{
    return graph->kind[task] == WEFT_TASK_TRANSFER && graph->from[task] != graph->to[task];
}

double ideal_bytes(const struct ideal *ideal, uint32_t task, bool receive)
{
    const struct weft_taskgraph *graph = ideal->graph;
    double size_bytes = (double)graph->size_bytes[task];
    if (!ideal_is_collective(graph, task)) {
        return crosses(graph, task) ? size_bytes : 0;
    }
    double k = ideal_member_count(graph, task);
    if (ideal->balanced) {
        return ideal_passes(graph, task) * (k - 1) / k * size_bytes;
    }
    if (k < 2 || graph->kind[task] == WEFT_TASK_ALLREDUCE) {
        return k < 2 ? 0 : size_bytes;
    }
    // A half's member gives away, or gets, its own shard or all others'.
    bool own = (graph->kind[task] == WEFT_TASK_ALL_GATHER) != receive;
    return (own ? 1 : k - 1) / k * size_bytes;
}

double ideal_all_bytes(const struct weft_taskgraph *graph, uint32_t task)
{
    double size_bytes = (double)graph->size_bytes[task];
    if (ideal_is_collective(graph, task)) {
        return ideal_passes(graph, task) * (ideal_member_count(graph, task) - 1.0) * size_bytes;
    }
    return crosses(graph, task) ? size_bytes : 0;
}

// ---- heads ----

// One direction of the graph, and what is known of the tasks that were passed.
struct sweep {
    const struct ideal *ideal;
    const double *duration_s;
    double *ready_s;       // of the tasks passed: the head, or seen backwards the tail
    const uint32_t *first; // who comes directly before a task, as CSR
    const uint32_t *before;
    uint64_t *ancestors; // bits, `words` a task; NULL: too many tasks
    uint32_t words;
    uint32_t *placed; // those that take time, by ready_s
    uint32_t placed_count;
    double *clear_s;    // per machine: when it is done with those seen
    uint32_t *seen_for; // the task that this was computed for
};

// The machine that a task uses, or WEFT_NONE: 0 its device, 1 its sender, 2 its receiver.
static uint32_t machine(const struct weft_taskgraph *graph, uint32_t task, int which)
{
    if (which == 0) {
        return graph->device[task];
    }
    if (!crosses(graph, task)) {
        return WEFT_NONE;
    }
    return which == 1 ? graph->device_count + graph->from[task]
                      : graph->device_count + graph->server_count + graph->to[task];
}

// Puts an earlier task on its machines, behind those that were there before; returns the latest
// end.
static double put(struct sweep *sweep, uint32_t task, uint32_t earlier)
{
    double latest_s = 0;
    for (int which = 0; which < 3; which++) {
        uint32_t m = machine(sweep->ideal->graph, earlier, which);
        if (m == WEFT_NONE) {
            continue;
        }
        double after_s = which > 0 && sweep->ideal->network ? sweep->ideal->latency_s : 0;
        double clear_s = sweep->seen_for[m] == task + 1 ? sweep->clear_s[m] : 0;
        clear_s = fmax(clear_s, sweep->ready_s[earlier]) + sweep->duration_s[earlier] - after_s;
        sweep->clear_s[m] = clear_s;
        sweep->seen_for[m] = task + 1;
        latest_s = fmax(latest_s, clear_s + after_s);
    }
    return latest_s;
}

static void add_ancestors(const struct sweep *sweep, uint32_t task)
{
    uint64_t *bits = sweep->ancestors + (size_t)task * sweep->words;
    for (uint32_t i = sweep->first[task]; i < sweep->first[task + 1]; i++) {
        const uint64_t *more = sweep->ancestors + (size_t)sweep->before[i] * sweep->words;
        for (uint32_t w = 0; w < sweep->words; w++) {
            bits[w] |= more[w];
        }
        bits[sweep->before[i] / 64] |= 1ull << sweep->before[i] % 64;
    }
}

static bool is_before(const struct sweep *sweep, uint32_t task, uint32_t earlier)
{
    size_t word = (size_t)task * sweep->words + earlier / 64;
    return sweep->ancestors == NULL || (sweep->ancestors[word] >> earlier % 64 & 1) != 0;
}

// A task by a time, for sorting.
struct place {
    double at_s;
    uint32_t id;
};

static int compare_rising(const void *left, const void *right)
{
    const struct place *a = left;
    const struct place *b = right;
    return a->at_s != b->at_s ? (a->at_s > b->at_s) - (a->at_s < b->at_s)
                              : (a->id > b->id) - (a->id < b->id);
}

// The direct predecessors that take time in order of ready_s, each once, for graphs without a
// closure.
static uint32_t *sort_direct(const struct sweep *sweep, uint32_t task, uint32_t *count,
                             struct weft_arena *scratch)
{
    uint32_t first = sweep->first[task];
    size_t room = (size_t)sweep->first[task + 1] - first + 1;
    uint32_t *sorted = WEFT_NEW_RAW(scratch, uint32_t, room);
    struct place *places = WEFT_NEW_RAW(scratch, struct place, room);
    uint32_t listed = 0;
    for (uint32_t i = first; i < sweep->first[task + 1]; i++) {
        uint32_t earlier = sweep->before[i];
        places[listed] = (struct place){sweep->ready_s[earlier], earlier};
        listed += sweep->duration_s[earlier] > 0 ? 1 : 0;
    }
    qsort(places, listed, sizeof *places, compare_rising);
    uint32_t filled = 0;
    for (uint32_t i = 0; i < listed; i++) {
        if (i == 0 || places[i].id != places[i - 1].id) {
            sorted[filled++] = places[i].id;
        }
    }
    *count = filled;
    return sorted;
}

// When all that comes before a task can be over at the soonest.
static double pass(struct sweep *sweep, uint32_t task, struct weft_arena scratch)
{
    double ready_s = 0;
    uint32_t direct = sweep->first[task + 1] - sweep->first[task];
    for (uint32_t i = sweep->first[task]; i < sweep->first[task + 1]; i++) {
        uint32_t earlier = sweep->before[i];
        ready_s = fmax(ready_s, sweep->ready_s[earlier] + sweep->duration_s[earlier]);
    }
    uint32_t *candidates = sweep->placed;
    uint32_t count = sweep->placed_count;
    if (sweep->ancestors != NULL) {
        add_ancestors(sweep, task);
    } else if (direct > 1) {
        candidates = sort_direct(sweep, task, &count, &scratch);
    }
    for (uint32_t i = 0; direct > 1 && i < count; i++) {
        if (is_before(sweep, task, candidates[i])) {
            ready_s = fmax(ready_s, put(sweep, task, candidates[i]));
        }
    }
    sweep->ready_s[task] = ready_s;
    if (sweep->ancestors != NULL && sweep->duration_s[task] > 0) {
        uint32_t at = sweep->placed_count++;
        for (; at > 0 && sweep->ready_s[sweep->placed[at - 1]] > ready_s; at--) {
            sweep->placed[at] = sweep->placed[at - 1];
        }
        sweep->placed[at] = task;
    }
    return ready_s;
}

// Turns the edges round: who comes directly before each task.
static void turn(const uint32_t **first, const uint32_t **list, const struct weft_taskgraph *graph,
                 struct weft_arena *arena)
{
    uint32_t count = graph->task_count;
    uint32_t edges = graph->next_first[count];
    uint32_t *before_first = WEFT_NEW(arena, uint32_t, (size_t)count + 2);
    uint32_t *before = WEFT_NEW(arena, uint32_t, (size_t)edges + 1);
    for (uint32_t e = 0; e < edges; e++) {
        before_first[graph->next[e] + 2]++;
    }
    for (uint32_t t = 0; t < count; t++) {
        before_first[t + 2] += before_first[t + 1];
    }
    for (uint32_t t = 0; t < count; t++) {
        for (uint32_t e = graph->next_first[t]; e < graph->next_first[t + 1]; e++) {
            before[before_first[graph->next[e] + 1]++] = t;
        }
    }
    *first = before_first;
    *list = before;
}

// An order in which every task comes behind all that it waits for; the reader saw to it that there
// is one.
static uint32_t *list_order(const struct weft_taskgraph *graph, struct weft_arena *arena)
{
    uint32_t count = graph->task_count;
    uint32_t *order = WEFT_NEW(arena, uint32_t, (size_t)count + 1);
    uint32_t *left = WEFT_NEW(arena, uint32_t, (size_t)count + 1);
    uint32_t listed = 0;
    for (uint32_t e = 0; e < graph->next_first[count]; e++) {
        left[graph->next[e]]++;
    }
    for (uint32_t t = 0; t < count; t++) {
        if (left[t] == 0) {
            order[listed++] = t;
        }
    }
    for (uint32_t i = 0; i < listed; i++) {
        for (uint32_t e = graph->next_first[order[i]]; e < graph->next_first[order[i] + 1]; e++) {
            if (--left[graph->next[e]] == 0) {
                order[listed++] = graph->next[e];
            }
        }
    }
    WEFT_ASSERT(listed == count);
    return order;
}

static void reset(struct sweep *sweep, double *ready_s, const uint32_t *first,
                  const uint32_t *before)
{
    const struct weft_taskgraph *graph = sweep->ideal->graph;
    size_t machines = (size_t)graph->device_count + 2 * (size_t)graph->server_count;
    sweep->ready_s = ready_s;
    sweep->first = first;
    sweep->before = before;
    sweep->placed_count = 0;
    memset(sweep->seen_for, 0, machines * sizeof *sweep->seen_for);
    if (sweep->ancestors != NULL) {
        memset(sweep->ancestors, 0,
               (size_t)graph->task_count * sweep->words * sizeof *sweep->ancestors);
    }
}

struct ideal_times ideal_times(const struct ideal *ideal, struct weft_arena *arena)
{
    const struct weft_taskgraph *graph = ideal->graph;
    uint32_t count = graph->task_count;
    size_t room = (size_t)count + 1;
    size_t machines = (size_t)graph->device_count + 2 * (size_t)graph->server_count + 1;
    struct ideal_times times = {WEFT_NEW(arena, double, room), WEFT_NEW(arena, double, room),
                                WEFT_NEW(arena, double, room), 0};
    struct weft_arena scratch = weft_arena_split(arena);
    double *duration_s = WEFT_NEW(&scratch, double, room);
    for (uint32_t t = 0; t < count; t++) {
        bool timed = graph->kind[t] != WEFT_TASK_TRANSFER;
        double bytes = fmax(ideal_bytes(ideal, t, false), ideal_bytes(ideal, t, true));
        double network_s =
            ideal->network && bytes > 0 ? bytes / ideal->port_Bps + ideal->latency_s : 0;
        double inside_s = timed ? weft_seconds(graph->runtime_ps[t]) : 0;
        duration_s[t] = ideal->balanced ? inside_s + network_s : fmax(inside_s, network_s);
    }
    struct sweep sweep = {.ideal = ideal,
                          .duration_s = duration_s,
                          .words = (count + 63) / 64,
                          .placed = WEFT_NEW(&scratch, uint32_t, room),
                          .clear_s = WEFT_NEW(&scratch, double, machines),
                          .seen_for = WEFT_NEW(&scratch, uint32_t, machines)};
    if (count <= CLOSURE_TASKS_MAX) {
        sweep.ancestors = WEFT_NEW_RAW(&scratch, uint64_t, (size_t)count * sweep.words + 1);
    }
    const uint32_t *order = list_order(graph, &scratch);
    const uint32_t *first;
    const uint32_t *before;
    turn(&first, &before, graph, &scratch);
    reset(&sweep, times.head_s, first, before);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t t = order[i];
        bool inside = ideal->balanced && graph->kind[t] != WEFT_TASK_TRANSFER;
        times.network_s[t] =
            pass(&sweep, t, scratch) + (inside ? weft_seconds(graph->runtime_ps[t]) : 0);
    }
    reset(&sweep, times.tail_s, graph->next_first, graph->next);
    for (uint32_t i = count; i-- > 0;) {
        uint32_t t = order[i];
        double tail_s = pass(&sweep, t, scratch);
        times.longest_s = fmax(times.longest_s, times.head_s[t] + duration_s[t] + tail_s);
    }
    return times;
}

// ---- one machine ----

static int compare_heads(const void *left, const void *right)
{
    const struct ideal_item *a = left;
    const struct ideal_item *b = right;
    return (a->head_s > b->head_s) - (a->head_s < b->head_s);
}

static int compare_tails(const void *left, const void *right)
{
    const struct place *a = left;
    const struct place *b = right;
    return (a->at_s < b->at_s) - (a->at_s > b->at_s);
}

// best[node] is the largest head + bodies put in from there on, over the items that were put in
// below it; add[node] what all below it have got since.
double ideal_machine(struct ideal_item *items, uint32_t count, struct weft_arena scratch)
{
    uint32_t size = 1;
    while (size < count) {
        size *= 2;
    }
    double *best = WEFT_NEW_RAW(&scratch, double, 2 * (size_t)size);
    double *add = WEFT_NEW(&scratch, double, 2 * (size_t)size);
    struct place *places = WEFT_NEW_RAW(&scratch, struct place, (size_t)count + 1);
    qsort(items, count, sizeof *items, compare_heads);
    for (uint32_t i = 0; i < 2 * size; i++) {
        best[i] = -HUGE_VAL;
    }
    for (uint32_t i = 0; i < count; i++) {
        places[i] = (struct place){items[i].tail_s, i};
    }
    qsort(places, count, sizeof *places, compare_tails);
    double end_s = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct ideal_item *item = &items[places[i].id];
        uint32_t node = size + places[i].id;
        add[node] += item->body_s;
        best[node] = item->head_s + add[node];
        for (; node > 1; node /= 2) {
            if (node % 2 == 1) {
                add[node - 1] += item->body_s;
                best[node - 1] += item->body_s;
            }
            best[node / 2] = fmax(best[node & ~1u], best[node | 1u]) + add[node / 2];
        }
        end_s = fmax(end_s, best[1] + places[i].at_s);
    }
    return end_s;
}
