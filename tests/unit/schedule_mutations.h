// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TEST_SCHEDULE_MUTATIONS_H
#define WEFT_TEST_SCHEDULE_MUTATIONS_H

// All single mutations of a schedule: a transfer dropped, turned around, copied instead of added,
// redirected to another rank or slot at either end, or exchanged in time with another one.

#include "schedule_cases.h"

// Every transfer as a step of its own, in order of rounds.
static inline struct weft_schedule expand(const struct weft_schedule *schedule)
{
    uint64_t count = weft_schedule_transfer_count(schedule);
    struct weft_step *steps = WEFT_NEW(&arena, struct weft_step, count);
    struct weft_arena local = scratch;
    struct weft_round_walk walk;
    weft_round_walk_begin(&walk, schedule, &local);
    uint32_t made = 0;
    while (weft_round_walk_next(&walk)) {
        for (uint32_t i = 0; i < walk.transfer_count; i++) {
            const struct weft_transfer *transfer = &walk.transfers[i];
            steps[made] = line_step((struct line){walk.round, transfer->from, transfer->from_slot,
                                                  transfer->to, transfer->to_slot, transfer->op});
            steps[made++].slot_count = transfer->slot_count;
        }
    }
    struct weft_schedule expanded = *schedule;
    expanded.step_count = made;
    expanded.steps = steps;
    expanded.label_count = 0;
    expanded.labels = NULL;
    expanded.start_ps = NULL;
    expanded.port_count = 0;
    return expanded;
}

// A mutation: what, of which step, and with which value (a rank, slot or step).
enum change {
    CHANGE_DROP,
    CHANGE_TURN,
    CHANGE_OP,
    CHANGE_FROM,
    CHANGE_TO,
    CHANGE_FROM_SLOT,
    CHANGE_TO_SLOT,
    CHANGE_EXCHANGE,
    CHANGE_COUNT,
};
static const char *const change_names[CHANGE_COUNT] = {
    "drop", "turn", "op", "from", "to", "from slot", "to slot", "exchange",
};

// How many values a change of step `s` has.
static inline uint32_t change_values(const struct weft_schedule *schedule, enum change change,
                                     uint32_t s)
{
    switch (change) {
    case CHANGE_DROP:
    case CHANGE_TURN:
    case CHANGE_OP:
        return 1;
    case CHANGE_FROM:
    case CHANGE_TO:
        return schedule->rank_count;
    case CHANGE_FROM_SLOT:
    case CHANGE_TO_SLOT:
        return schedule->slot_count - schedule->steps[s].slot_count + 1;
    case CHANGE_EXCHANGE:
        return s;
    case CHANGE_COUNT:
        break;
    }
    return 0;
}

static inline bool set_index(struct weft_index *index, uint32_t value)
{
    bool differs = index->base != value;
    *index = weft_index_fixed(value);
    return differs;
}

// `mutated` gets the change; its steps lie in `steps`, which has room for all. False: it changes
// nothing.
static inline bool mutate(struct weft_schedule *mutated, struct weft_step *steps,
                          const struct weft_schedule *schedule, enum change change, uint32_t s,
                          uint32_t value)
{
    *mutated = *schedule;
    memcpy(steps, schedule->steps, schedule->step_count * sizeof *steps);
    mutated->steps = steps;
    struct weft_step *step = &steps[s];
    switch (change) {
    case CHANGE_DROP:
        memmove(step, step + 1, (schedule->step_count - s - 1) * sizeof *step);
        mutated->step_count--;
        return true;
    case CHANGE_TURN: {
        struct weft_index from = step->from;
        step->from = step->to;
        step->to = from;
        from = step->from_slot;
        step->from_slot = step->to_slot;
        step->to_slot = from;
        return true;
    }
    case CHANGE_OP:
        step->op = step->op == WEFT_STEP_COPY ? WEFT_STEP_REDUCE : WEFT_STEP_COPY;
        return true;
    case CHANGE_FROM:
        return set_index(&step->from, value);
    case CHANGE_TO:
        return set_index(&step->to, value);
    case CHANGE_FROM_SLOT:
        return set_index(&step->from_slot, value);
    case CHANGE_TO_SLOT:
        return set_index(&step->to_slot, value);
    case CHANGE_EXCHANGE: {
        uint32_t round = step->first_round;
        struct weft_step other = steps[value];
        if (other.first_round == round) {
            return false;
        }
        steps[value] = *step;
        steps[value].first_round = other.first_round;
        *step = other;
        step->first_round = round;
        return true;
    }
    case CHANGE_COUNT:
        break;
    }
    return false;
}

#endif
