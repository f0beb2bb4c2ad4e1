// SPDX-License-Identifier: Apache-2.0
// Which task of a device ran first where several became ready at one instant.
//
// A device runs tasks in the order in which they became ready. Where transfers end at the same time
// the engine's rounding decides what was first, and an iteration can depend on it by a few percent;
// whoever plays it again (the checker, another simulator) needs to know. Neighbors on a device's
// timeline that were ready at nearly one time are a tie, and ties that are not in the order of
// their numbers are kept.

#include "ties.h"

#include <stdlib.h>
#include <string.h>

// Times in whole picoseconds that are so close are one instant: a picosecond, and a part of the
// time so far for the rounding of others who play it.
#define TIE_PS 1u
#define TIE_DIVISOR 100000000000u

struct turn {
    uint32_t device;
    uint64_t start_ps;
    uint64_t end_ps;
    uint32_t task;
};

static int compare_turns(const void *left, const void *right)
{
    const struct turn *a = left;
    const struct turn *b = right;
    if (a->device != b->device) {
        return a->device < b->device ? -1 : 1;
    }
    if (a->start_ps != b->start_ps) {
        return a->start_ps < b->start_ps ? -1 : 1;
    }
    if (a->end_ps != b->end_ps) {
        return a->end_ps < b->end_ps ? -1 : 1;
    }
    return (a->task > b->task) - (a->task < b->task);
}

// When each task waited for nothing more.
static uint64_t *list_ready(const struct weft_taskgraph *graph, const uint64_t *end_ps,
                            struct weft_arena *arena)
{
    uint64_t *ready_ps = WEFT_NEW(arena, uint64_t, (size_t)graph->task_count + 1);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        for (uint32_t e = graph->next_first[t]; e < graph->next_first[t + 1]; e++) {
            uint32_t next = graph->next[e];
            ready_ps[next] = end_ps[t] > ready_ps[next] ? end_ps[t] : ready_ps[next];
        }
    }
    return ready_ps;
}

// Keeps turns[from] .. turns[to - 1] as a tie where they are not in the order of their numbers.
static void keep_tie(struct weft_plan_ties *ties, const struct turn *turns, uint32_t from,
                     uint32_t to)
{
    bool rising = true;
    for (uint32_t i = from + 1; i < to; i++) {
        rising = rising && turns[i - 1].task < turns[i].task;
    }
    if (rising) {
        return;
    }
    uint32_t *first = (uint32_t *)ties->first;
    uint32_t at = first[ties->count];
    for (uint32_t i = from; i < to; i++) {
        ((uint32_t *)ties->tasks)[at++] = turns[i].task;
    }
    first[++ties->count] = at;
}

void ties_build(struct weft_plan_ties *ties, const struct weft_taskgraph *graph,
                const struct weft_task_times *times, struct weft_arena *arena,
                struct weft_arena scratch)
{
    const uint64_t *ready_ps = list_ready(graph, times->end_ps, &scratch);
    struct turn *turns = WEFT_NEW_RAW(&scratch, struct turn, (size_t)graph->task_count + 1);
    uint32_t count = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (graph->device[t] != WEFT_NONE) {
            turns[count++] =
                (struct turn){graph->device[t], times->start_ps[t], times->end_ps[t], t};
        }
    }
    qsort(turns, count, sizeof *turns, compare_turns);
    *ties = (struct weft_plan_ties){.first = WEFT_NEW(arena, uint32_t, (size_t)count + 1),
                                    .tasks = WEFT_NEW(arena, uint32_t, (size_t)count + 1)};
    for (uint32_t from = 0, to = 0; from < count && graph->need == NULL; from = to) {
        for (to = from + 1; to < count && turns[to].device == turns[from].device; to++) {
            uint64_t a_ps = ready_ps[turns[to - 1].task];
            uint64_t b_ps = ready_ps[turns[to].task];
            uint64_t apart_ps = a_ps > b_ps ? a_ps - b_ps : b_ps - a_ps;
            if (apart_ps > TIE_PS + a_ps / TIE_DIVISOR) {
                break;
            }
        }
        keep_tie(ties, turns, from, to);
    }
}

struct weft_plan_ties ties_copy(const struct weft_plan_ties *ties, struct weft_arena *arena)
{
    uint32_t task_count = ties->first[ties->count];
    uint32_t *first = WEFT_NEW(arena, uint32_t, (size_t)ties->count + 1);
    uint32_t *tasks = WEFT_NEW(arena, uint32_t, (size_t)task_count + 1);
    memcpy(first, ties->first, ((size_t)ties->count + 1) * sizeof *first);
    memcpy(tasks, ties->tasks, task_count * sizeof *tasks);
    return (struct weft_plan_ties){ties->count, first, tasks};
}
