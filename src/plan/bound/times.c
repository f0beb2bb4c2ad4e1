// SPDX-License-Identifier: Apache-2.0
// Earliest starts (heads) and least remaining times (tails) of every task on the best network there
// could be.
//
// Both are longest paths over the task graph, tightened by meetings: of the tasks that must be over
// before another, those of one device, one sender or one receiver run there one after the other.
// Tails are heads of the reversed graph. By induction in topological order no schedule starts a
// task before its head (docs/certificate.md, "Heads and tails"). O(edges log edges), and O(tasks^2
// / 64) for the closure where the graph is small enough.

#include "bounds.h"
#include "closure.h"

#include <math.h>
#include <stdlib.h>

// Of a transfer, or 0 where a task is none.
static double transfer_bytes(const struct weft_taskgraph *graph, uint32_t task)
{
    bool crosses = graph->kind[task] == WEFT_TASK_TRANSFER && graph->from[task] != graph->to[task];
    return crosses ? (double)graph->size_bytes[task] : 0;
}

double bound_port_bytes(const struct bound_model *model, uint32_t task, bool receive)
{
    const struct weft_taskgraph *graph = model->graph;
    if (!weft_task_is_collective(graph, task)) {
        return transfer_bytes(graph, task);
    }
    return model->balanced ? weft_task_ring_bytes(graph, task)
                           : weft_task_least_bytes(graph, task, receive);
}

double bound_wire_bytes(const struct weft_taskgraph *graph, uint32_t task)
{
    return weft_task_is_collective(graph, task) ? weft_task_wire_bytes(graph, task)
                                                : transfer_bytes(graph, task);
}

// Least seconds on the network, alone on it.
static double network_seconds(const struct bound_model *model, uint32_t task)
{
    double bytes = model->network ? fmax(bound_port_bytes(model, task, false),
                                         bound_port_bytes(model, task, true))
                                  : 0;
    return bytes > 0 ? bytes / model->port_Bps + model->latency_s : 0;
}

// Of a collective: the least time from its start to its end. Where any algorithm may carry it out
// that may send what it has reduced inside a server while it still reduces the rest, the longer of
// the two is all that is sure; the engines, and with them balanced collectives, take both in turn.
static double least_seconds(const struct bound_model *model, double inside_s, double network_s)
{
    return model->balanced ? inside_s + network_s : fmax(inside_s, network_s);
}

static double inside_seconds(const struct weft_taskgraph *graph, uint32_t task)
{
    return graph->kind[task] == WEFT_TASK_TRANSFER ? 0 : weft_seconds(graph->runtime_ps[task]);
}

double bound_network_head(const struct bound_model *model, const struct bound_times *times,
                          uint32_t task)
{
    return times->head_s[task] + (model->balanced ? inside_seconds(model->graph, task) : 0);
}

// ---- what meets at one machine ----

// A neighbor of the task at hand: `ready_s` from which (or until which, seen backwards) it uses
// the machine `key` for `body_s`.
struct neighbor {
    uint32_t key;
    uint32_t task;
    double ready_s;
    double body_s;
};

static int compare_neighbors(const void *left, const void *right)
{
    const struct neighbor *a = left;
    const struct neighbor *b = right;
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    if (a->ready_s != b->ready_s) {
        return a->ready_s < b->ready_s ? -1 : 1;
    }
    return (a->task > b->task) - (a->task < b->task);
}

// All the neighbors of one machine, one after the other in order of readiness, is the soonest that
// the last of them can end: the makespan of one machine with release times.
static double meet(struct neighbor *found, uint32_t count, double after_s)
{
    qsort(found, count, sizeof *found, compare_neighbors);
    double latest_s = 0;
    double end_s = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0 && found[i].task == found[i - 1].task) {
            continue; // two edges between the same tasks
        }
        bool first = i == 0 || found[i].key != found[i - 1].key;
        end_s = fmax(first ? 0 : end_s, found[i].ready_s) + found[i].body_s;
        latest_s = fmax(latest_s, end_s + after_s);
    }
    return latest_s;
}

// The soonest that `tasks` (all predecessors, or all successors, of one task) can all be over;
// ready_s[t] is the head, or seen backwards the tail, of task t.
static double meet_all(const struct bound_model *model, const uint32_t *tasks, uint32_t count,
                       const double *ready_s, const double *duration_s, struct neighbor *found)
{
    double latest_s = 0;
    weft_poll();
    for (uint32_t i = 0; i < count; i++) {
        latest_s = fmax(latest_s, ready_s[tasks[i]] + duration_s[tasks[i]]);
    }
    for (enum meeting meeting = MEET_DEVICE; meeting < MEET_COUNT && count > 1; meeting++) {
        double after_s = meeting == MEET_DEVICE || !model->network ? 0 : model->latency_s;
        uint32_t found_count = 0;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t task = tasks[i];
            if (meeting_uses(model->graph, task, meeting) && duration_s[task] > 0) {
                found[found_count++] =
                    (struct neighbor){meeting_key(model->graph, task, meeting), task, ready_s[task],
                                      duration_s[task] - after_s};
            }
        }
        latest_s = fmax(latest_s, meet(found, found_count, after_s));
    }
    return latest_s;
}

// Predecessors as CSR: prev[first[t]] .. prev[first[t+1]-1].
static const uint32_t *list_predecessors(const uint32_t **first, const struct weft_taskgraph *graph,
                                         struct weft_arena *arena)
{
    uint32_t count = graph->task_count;
    uint32_t *prev_first = WEFT_NEW(arena, uint32_t, (size_t)count + 1);
    for (uint32_t t = 0; t < count; t++) {
        prev_first[t + 1] = prev_first[t] + graph->prev_count[t];
    }
    WEFT_ASSERT(prev_first[count] == graph->next_first[count]);
    uint32_t *prev = WEFT_NEW(arena, uint32_t, (size_t)prev_first[count] + 1);
    uint32_t *fill = WEFT_NEW(arena, uint32_t, (size_t)count + 1);
    for (uint32_t t = 0; t < count; t++) {
        for (uint32_t e = graph->next_first[t]; e < graph->next_first[t + 1]; e++) {
            uint32_t to = graph->next[e];
            prev[prev_first[to] + fill[to]++] = t;
        }
    }
    *first = prev_first;
    return prev;
}

static uint32_t most_neighbors(const struct weft_taskgraph *graph)
{
    uint32_t most = 1;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        uint32_t next_count = graph->next_first[t + 1] - graph->next_first[t];
        most = next_count > most ? next_count : most;
        most = graph->prev_count[t] > most ? graph->prev_count[t] : most;
    }
    return most;
}

// Heads in topological order, tails against it; the longest path is the largest sum of head,
// duration and tail.
struct bound_times bound_times_build(const struct bound_model *model, struct weft_arena *arena)
{
    const struct weft_taskgraph *graph = model->graph;
    uint32_t count = graph->task_count;
    double *head_s = WEFT_NEW(arena, double, (size_t)count + 1);
    double *tail_s = WEFT_NEW(arena, double, (size_t)count + 1);
    double *duration_s = WEFT_NEW(arena, double, (size_t)count + 1);
    uint32_t *order = WEFT_NEW(arena, uint32_t, (size_t)count + 1);
    weft_taskgraph_order(graph, order, *arena);
    const uint32_t *prev_first;
    const uint32_t *prev = list_predecessors(&prev_first, graph, arena);
    struct neighbor *found = WEFT_NEW(arena, struct neighbor, most_neighbors(graph));

    for (uint32_t t = 0; t < count; t++) {
        duration_s[t] = least_seconds(model, inside_seconds(graph, t), network_seconds(model, t));
    }
    bool closed = count <= CLOSURE_TASKS_MAX;
    struct closure closure;
    if (closed) {
        closure_init(&closure, model, head_s, duration_s, arena);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t t = order[i];
        const uint32_t *before = prev + prev_first[t];
        uint32_t before_count = prev_first[t + 1] - prev_first[t];
        head_s[t] = meet_all(model, before, before_count, head_s, duration_s, found);
        if (closed) {
            head_s[t] = fmax(head_s[t], closure_ready(&closure, t, before, before_count));
            closure_add(&closure, t);
        }
    }
    if (closed) {
        closure_init(&closure, model, tail_s, duration_s, arena);
    }
    double longest_s = 0;
    for (uint32_t i = count; i-- > 0;) {
        uint32_t t = order[i];
        const uint32_t *after = graph->next + graph->next_first[t];
        uint32_t after_count = graph->next_first[t + 1] - graph->next_first[t];
        tail_s[t] = meet_all(model, after, after_count, tail_s, duration_s, found);
        if (closed) {
            tail_s[t] = fmax(tail_s[t], closure_ready(&closure, t, after, after_count));
            closure_add(&closure, t);
        }
        longest_s = fmax(longest_s, head_s[t] + duration_s[t] + tail_s[t]);
    }
    WEFT_ASSERT(isfinite(longest_s));
    return (struct bound_times){head_s, tail_s, longest_s};
}
