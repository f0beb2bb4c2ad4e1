// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TEST_SCHEDULE_CASES_H
#define WEFT_TEST_SCHEDULE_CASES_H

// Schedules written by hand for tests, a step a transfer or a ring in two steps.

#include "../fresh_arenas.h"
#include "weft/collective.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct weft_error error;

// "round: from.slot -> to.slot", added or copied.
struct line {
    uint32_t round;
    uint32_t from;
    uint32_t from_slot;
    uint32_t to;
    uint32_t to_slot;
    enum weft_step_op op;
};

static inline struct weft_step line_step(struct line line)
{
    return (struct weft_step){
        .op = line.op,
        .first_round = line.round,
        .round_count = 1,
        .item_count = 1,
        .slot_count = 1,
        .label = WEFT_NONE,
        .from = weft_index_fixed(line.from),
        .to = weft_index_fixed(line.to),
        .from_slot = weft_index_fixed(line.from_slot),
        .to_slot = weft_index_fixed(line.to_slot),
    };
}

// A schedule of these lines, which stand in order of rounds; everything else is for the caller.
static inline struct weft_schedule from_lines(enum weft_collective_kind kind, uint32_t rank_count,
                                              uint32_t chunk_count, uint32_t slot_count,
                                              const struct line *lines, uint32_t line_count)
{
    struct weft_step *steps = WEFT_NEW(&arena, struct weft_step, line_count);
    uint32_t round_count = 0;
    for (uint32_t i = 0; i < line_count; i++) {
        steps[i] = line_step(lines[i]);
        round_count = lines[i].round + 1;
    }
    return (struct weft_schedule){
        .name = "by hand",
        .kind = kind,
        .rank_count = rank_count,
        .chunk_count = chunk_count,
        .slot_count = slot_count,
        .round_count = round_count,
        .step_count = line_count,
        .steps = steps,
    };
}

// The ring AllReduce of n chunks in place: n - 1 rounds that add, n - 1 that copy.
static inline struct weft_schedule ring_by_hand(uint32_t n)
{
    struct weft_step *steps = WEFT_NEW(&arena, struct weft_step, 2);
    for (uint32_t phase = 0; phase < 2; phase++) {
        struct weft_index slot = weft_index_walk(phase, 1, n - 1, n);
        steps[phase] = (struct weft_step){
            .op = phase == 0 ? WEFT_STEP_REDUCE : WEFT_STEP_COPY,
            .first_round = phase * (n - 1),
            .round_count = n - 1,
            .item_count = n,
            .slot_count = 1,
            .label = WEFT_NONE,
            .from = weft_index_walk(0, 1, 0, n),
            .to = weft_index_walk(1, 1, 0, n),
            .from_slot = slot,
            .to_slot = slot,
        };
    }
    return (struct weft_schedule){
        .name = "ring by hand",
        .kind = WEFT_COLLECTIVE_ALLREDUCE,
        .rank_count = n,
        .chunk_count = n,
        .slot_count = n,
        .port_count = 1,
        .round_count = 2 * (n - 1),
        .step_count = 2,
        .steps = steps,
    };
}

#endif
