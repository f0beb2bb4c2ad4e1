// SPDX-License-Identifier: Apache-2.0
// Times of all tasks for given decisions, in the order of the program: one pass a round.
//
// An iteration begins when the one before has ended, with its ports as that one left them. Rounds
// are played until one is as the one before: the steady state. O(tasks + circuits) a round.

#include "rails.h"

#include <string.h>

// Where no two rounds are alike after so many, the last one stands.
#define ROUNDS_MAX 16u

void rail_times_init(struct rail_times *times, const struct rail_program *program,
                     struct weft_arena *arena)
{
    uint32_t n = program->graph->task_count;
    *times = (struct rail_times){
        .start_ps = WEFT_NEW(arena, uint64_t, n),
        .end_ps = WEFT_NEW(arena, uint64_t, n),
        .ready_ps = WEFT_NEW(arena, uint64_t, n),
        .changes = WEFT_NEW(arena, struct rail_change, program->op_count),
    };
}

static void note(struct rail_times *times, uint32_t task, int64_t ready_ps, int64_t start_ps,
                 int64_t end_ps)
{
    if (times->start_ps != NULL) {
        times->ready_ps[task] = (uint64_t)ready_ps;
        times->start_ps[task] = (uint64_t)start_ps;
        times->end_ps[task] = (uint64_t)end_ps;
    }
}

// One iteration. Returns its length.
static int64_t play(struct rail_clock *clock, struct rail_times *times, int64_t *ready_ps)
{
    const struct rail_program *program = clock->program;
    const struct weft_taskgraph *graph = program->graph;
    int64_t length_ps = 0;
    memset(ready_ps, 0, graph->task_count * sizeof *ready_ps);
    memset(clock->device_free_ps, 0, graph->device_count * sizeof *clock->device_free_ps);
    for (uint32_t i = 0; i < graph->task_count; i++) {
        uint32_t task = program->order[i];
        uint32_t op = program->op_of[task];
        int64_t able_ps = ready_ps[task];
        if (op != WEFT_NONE) {
            able_ps += (int64_t)rail_inside_ps(program, task);
        }
        struct rail_change *change =
            times->changes != NULL && op != WEFT_NONE ? &times->changes[op] : NULL;
        int64_t start_ps = rail_clock_start(clock, task, able_ps, change);
        int64_t end_ps = rail_clock_begin(clock, task, start_ps);
        note(times, task, able_ps, start_ps, end_ps);
        for (uint32_t e = graph->next_first[task]; e < graph->next_first[task + 1]; e++) {
            uint32_t next = graph->next[e];
            ready_ps[next] = ready_ps[next] > end_ps ? ready_ps[next] : end_ps;
        }
        length_ps = length_ps > end_ps ? length_ps : end_ps;
    }
    return length_ps;
}

// Ports as the next iteration sees them. Returns a hash of them.
static uint64_t turn_over(struct rail_clock *clock, int64_t length_ps)
{
    uint64_t hash = 0;
    for (size_t p = 0; p < rail_port_count(clock->program); p++) {
        if (clock->port_op[p] != WEFT_NONE) {
            clock->port_free_ps[p] -= length_ps;
            hash = weft_hash(hash ^ (uint64_t)clock->port_free_ps[p]);
        }
    }
    return hash;
}

void rail_replay(struct rail_times *times, const struct rail_program *program,
                 const uint8_t *decisions, const struct rail_rules *rules,
                 struct weft_arena scratch)
{
    struct rail_clock clock;
    rail_clock_init(&clock, program, decisions, rules, &scratch);
    int64_t *ready_ps = WEFT_NEW(&scratch, int64_t, program->graph->task_count);
    int64_t before_ps = -1;
    uint64_t before = 0;
    for (uint32_t round = 0; round < ROUNDS_MAX; round++) {
        int64_t length_ps = play(&clock, times, ready_ps);
        uint64_t hash = turn_over(&clock, length_ps);
        bool steady = round > 0 && length_ps == before_ps && hash == before;
        before_ps = length_ps;
        before = hash;
        if (steady) {
            break;
        }
    }
    times->iteration_ps = (uint64_t)before_ps;
}
