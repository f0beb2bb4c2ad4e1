// SPDX-License-Identifier: Apache-2.0
// The transitive closure of a task graph as bits, and the soonest that all ancestors of a task can
// be over.
//
// Ancestors that use one machine cannot overlap there. With the times from which each is ready, the
// soonest end of all of them is that of the schedule in order of readiness: the makespan of one
// machine with release times, which that order makes least. Bits: O(tasks^2 / 64); each task then
// O(tasks).

#include "closure.h"

#include <math.h>
#include <string.h>

bool meeting_uses(const struct weft_taskgraph *graph, uint32_t task, enum meeting meeting)
{
    if (meeting == MEET_DEVICE) {
        return graph->device[task] != WEFT_NONE;
    }
    return graph->kind[task] == WEFT_TASK_TRANSFER && graph->from[task] != graph->to[task];
}

uint32_t meeting_key(const struct weft_taskgraph *graph, uint32_t task, enum meeting meeting)
{
    if (meeting == MEET_DEVICE) {
        return graph->device[task];
    }
    return meeting == MEET_SENDER ? graph->from[task] : graph->to[task];
}

// Machines in one row: devices, then senders, then receivers.
static uint32_t machine_of(const struct weft_taskgraph *graph, uint32_t task, enum meeting meeting)
{
    uint32_t base = meeting == MEET_DEVICE   ? 0
                    : meeting == MEET_SENDER ? graph->device_count
                                             : graph->device_count + graph->server_count;
    return base + meeting_key(graph, task, meeting);
}

void closure_init(struct closure *closure, const struct bound_model *model, const double *ready_s,
                  const double *duration_s, struct weft_arena *arena)
{
    const struct weft_taskgraph *graph = model->graph;
    uint32_t machine_count = graph->device_count + 2 * graph->server_count;
    uint32_t word_count = (graph->task_count + 63) / 64;
    uint32_t *first = WEFT_NEW(arena, uint32_t, (size_t)machine_count + 1);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        for (enum meeting meeting = MEET_DEVICE; meeting < MEET_COUNT; meeting++) {
            if (meeting_uses(graph, t, meeting)) {
                first[machine_of(graph, t, meeting) + 1]++;
            }
        }
    }
    for (uint32_t m = 0; m < machine_count; m++) {
        first[m + 1] += first[m];
    }
    *closure = (struct closure){
        .graph = graph,
        .word_count = word_count,
        .before = WEFT_NEW(arena, uint64_t, (size_t)graph->task_count * word_count + 1),
        .machine_count = machine_count,
        .first = first,
        .count = WEFT_NEW(arena, uint32_t, (size_t)machine_count + 1),
        .tasks = WEFT_NEW(arena, uint32_t, (size_t)first[machine_count] + 1),
        .ready_s = ready_s,
        .duration_s = duration_s,
        .latency_s = model->network ? model->latency_s : 0};
}

double closure_ready(struct closure *closure, uint32_t task, const uint32_t *previous,
                     uint32_t previous_count)
{
    uint64_t *bits = closure->before + (size_t)task * closure->word_count;
    for (uint32_t i = 0; i < previous_count; i++) {
        const uint64_t *other = closure->before + (size_t)previous[i] * closure->word_count;
        for (uint32_t w = 0; w < closure->word_count; w++) {
            bits[w] |= other[w];
        }
        bits[previous[i] / 64] |= 1ull << previous[i] % 64;
    }
    double latest_s = 0;
    if (previous_count < 2) {
        return 0; // all ancestors of one predecessor are over before it starts
    }
    for (uint32_t m = 0; m < closure->machine_count; m++) {
        double after_s = m < closure->graph->device_count ? 0 : closure->latency_s;
        double end_s = 0;
        const uint32_t *tasks = closure->tasks + closure->first[m];
        for (uint32_t i = 0; i < closure->count[m]; i++) {
            if ((bits[tasks[i] / 64] >> tasks[i] % 64 & 1) != 0) {
                end_s = fmax(end_s, closure->ready_s[tasks[i]]) + closure->duration_s[tasks[i]] -
                        after_s;
            }
        }
        latest_s = fmax(latest_s, end_s > 0 ? end_s + after_s : 0);
    }
    return latest_s;
}

void closure_add(struct closure *closure, uint32_t task)
{
    if (closure->duration_s[task] <= 0) {
        return;
    }
    for (enum meeting meeting = MEET_DEVICE; meeting < MEET_COUNT; meeting++) {
        if (!meeting_uses(closure->graph, task, meeting)) {
            continue;
        }
        uint32_t m = machine_of(closure->graph, task, meeting);
        uint32_t *tasks = closure->tasks + closure->first[m];
        uint32_t at = closure->count[m]++;
        while (at > 0 && closure->ready_s[tasks[at - 1]] > closure->ready_s[task]) {
            tasks[at] = tasks[at - 1];
            at--;
        }
        tasks[at] = task;
    }
}
