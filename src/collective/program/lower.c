// SPDX-License-Identifier: Apache-2.0
// Programs of thread blocks as schedules: transfers in rounds, proved by the checker of schedules.
//
// A send and its receive become one transfer, read where the sender stands and written where the
// receiver stands; rounds follow from what each slot is read and written after. Where a sender's
// slot changes in a circle of such needs while the message is on its way, messages go through slots
// of their own at the receiver.

#include "program.h"

#include <stdio.h>
#include <string.h>

// Passes over all needs before rounds count as circular. A pass settles chains that run with the
// order of events; a program of real size needs a few. Not tuned: more passes only delay the answer
// for programs whose messages need slots of their own.
#define RELAX_PASSES 64

uint32_t weft_program_slot(const struct weft_program *program, bool in_place, uint32_t rank,
                           enum weft_block_buffer buffer, uint32_t chunk)
{
    uint32_t own = program->chunk_count / program->rank_count;
    uint32_t input = weft_program_width(program, WEFT_BUFFER_INPUT, rank);
    uint32_t output = weft_program_width(program, WEFT_BUFFER_OUTPUT, rank);
    if (buffer == WEFT_BUFFER_SCRATCH) {
        return (in_place ? program->chunk_count : input + output) + chunk;
    }
    if (!in_place) {
        return buffer == WEFT_BUFFER_INPUT ? chunk : input + chunk;
    }
    uint32_t width = buffer == WEFT_BUFFER_INPUT ? input : output;
    return width == program->chunk_count ? chunk : rank * own + chunk;
}

// ---- transfers and what they need ----

struct event {
    enum weft_step_op op;
    uint32_t from; // rank
    uint32_t to;
    uint32_t from_slot;
    uint32_t to_slot;
    uint32_t count;
    uint32_t sender; // step
    uint32_t receiver;
    uint32_t round;
};

struct need {
    uint32_t before; // events
    uint32_t after;
    uint32_t rounds; // 0: not earlier, 1: later
};

struct reader {
    uint32_t event;
    uint32_t next;
};

struct lowering {
    const struct weft_program_order *order;
    bool in_place;
    bool posted; // messages have slots of their own
    uint32_t slot_count;
    uint32_t event_count;
    struct event *events;
    uint32_t need_count;
    struct need *needs;
    uint32_t reader_count;
    struct reader *readers;
    uint32_t *first_reader; // of each rank's slots
    uint32_t *writer;
    uint32_t *extra;    // of each rank: slots behind its buffers
    uint32_t *carrying; // of a step: the event that it sent
    uint32_t round_count;
};

static void add_need(struct lowering *lowering, uint32_t before, uint32_t after, uint32_t rounds)
{
    if (before != WEFT_NONE && before != after) {
        lowering->needs[lowering->need_count++] = (struct need){before, after, rounds};
    }
}

static void read_slots(struct lowering *lowering, uint32_t e, uint32_t rank, uint32_t slot)
{
    for (uint32_t i = 0; i < lowering->events[e].count; i++) {
        size_t at = (size_t)rank * lowering->slot_count + slot + i;
        add_need(lowering, lowering->writer[at], e, 1);
        lowering->readers[lowering->reader_count] = (struct reader){e, lowering->first_reader[at]};
        lowering->first_reader[at] = lowering->reader_count++;
    }
}

static void write_slots(struct lowering *lowering, uint32_t e, uint32_t rank, uint32_t slot)
{
    for (uint32_t i = 0; i < lowering->events[e].count; i++) {
        size_t at = (size_t)rank * lowering->slot_count + slot + i;
        add_need(lowering, lowering->writer[at], e, 1);
        for (uint32_t r = lowering->first_reader[at]; r != WEFT_NONE;
             r = lowering->readers[r].next) {
            add_need(lowering, lowering->readers[r].event, e, 0);
        }
        lowering->first_reader[at] = WEFT_NONE;
        lowering->writer[at] = e;
    }
}

static uint32_t new_event(struct lowering *lowering, struct event event)
{
    lowering->events[lowering->event_count] = event;
    return lowering->event_count++;
}

// A move inside a rank, or at once between two as one-sided steps do it. One onto itself is left
// out: that is a copy from input to output in place.
static void move(struct lowering *lowering, uint32_t s, enum weft_step_op op, uint32_t from_slot,
                 uint32_t to_slot)
{
    uint32_t from = weft_program_owner(lowering->order, s, false);
    uint32_t to = weft_program_owner(lowering->order, s, true);
    if (op == WEFT_STEP_COPY && from == to && from_slot == to_slot) {
        return;
    }
    uint32_t e =
        new_event(lowering, (struct event){.op = op,
                                           .from = from,
                                           .to = to,
                                           .from_slot = from_slot,
                                           .to_slot = to_slot,
                                           .count = lowering->order->program->steps[s].count,
                                           .sender = s,
                                           .receiver = s});
    read_slots(lowering, e, from, from_slot);
    write_slots(lowering, e, to, to_slot);
}

static uint32_t extra_slots(struct lowering *lowering, uint32_t rank, uint32_t count)
{
    uint32_t base =
        lowering->in_place
            ? lowering->order->program->chunk_count
            : weft_program_width(lowering->order->program, WEFT_BUFFER_INPUT, rank) +
                  weft_program_width(lowering->order->program, WEFT_BUFFER_OUTPUT, rank);
    uint32_t slot = base + lowering->order->program->scratch_counts[rank] + lowering->extra[rank];
    lowering->extra[rank] += count;
    return slot;
}

static void send(struct lowering *lowering, uint32_t s, uint32_t rank, uint32_t from_slot)
{
    const struct weft_program_order *order = lowering->order;
    uint32_t receiver = order->sent_to[s];
    uint32_t peer = order->rank_of[order->block_of[receiver]];
    uint32_t count = order->program->steps[s].count;
    uint32_t e = new_event(lowering, (struct event){.op = WEFT_STEP_COPY,
                                                    .from = rank,
                                                    .to = peer,
                                                    .from_slot = from_slot,
                                                    .count = count,
                                                    .sender = s,
                                                    .receiver = receiver});
    lowering->carrying[s] = e;
    read_slots(lowering, e, rank, from_slot);
    if (lowering->posted) {
        lowering->events[e].to_slot = extra_slots(lowering, peer, count);
        write_slots(lowering, e, peer, lowering->events[e].to_slot);
    }
}

static void receive(struct lowering *lowering, uint32_t s, uint32_t rank, enum weft_step_op op,
                    uint32_t to_slot)
{
    uint32_t e = lowering->carrying[lowering->order->got_from[s]];
    if (lowering->posted) {
        move(lowering, s, op, lowering->events[e].to_slot, to_slot);
        return;
    }
    lowering->events[e].op = op;
    lowering->events[e].to_slot = to_slot;
    write_slots(lowering, e, rank, to_slot);
}

// Adds the events of one step: a transfer is opened by its send and closed by its receive, and what
// a step adds in between (the sum of rrs, which is never stored) goes through slots of its own.
static void add_step(struct lowering *lowering, uint32_t s)
{
    const struct weft_program_order *order = lowering->order;
    const struct weft_program *program = order->program;
    const struct weft_block_step *step = &program->steps[s];
    uint32_t rank = order->rank_of[order->block_of[s]];
    uint32_t from =
        weft_program_slot(program, lowering->in_place, weft_program_owner(order, s, false),
                          step->from_buffer, step->from);
    uint32_t to = weft_program_slot(program, lowering->in_place, weft_program_owner(order, s, true),
                                    step->to_buffer, step->to);
    switch (step->op) {
    case WEFT_BLOCK_SEND:
        send(lowering, s, rank, from);
        break;
    case WEFT_BLOCK_RECEIVE:
        receive(lowering, s, rank, WEFT_STEP_COPY, to);
        break;
    case WEFT_BLOCK_RECEIVE_COPY_SEND:
        receive(lowering, s, rank, WEFT_STEP_COPY, to);
        send(lowering, s, rank, to);
        break;
    case WEFT_BLOCK_RECEIVE_REDUCE_SEND:
        to = extra_slots(lowering, rank, step->count);
        move(lowering, s, WEFT_STEP_COPY, from, to);
        receive(lowering, s, rank, WEFT_STEP_REDUCE, to);
        send(lowering, s, rank, to);
        break;
    case WEFT_BLOCK_RECEIVE_REDUCE_COPY:
        move(lowering, s, WEFT_STEP_COPY, from, to);
        receive(lowering, s, rank, WEFT_STEP_REDUCE, to);
        break;
    case WEFT_BLOCK_RECEIVE_REDUCE_COPY_SEND:
        move(lowering, s, WEFT_STEP_COPY, from, to);
        receive(lowering, s, rank, WEFT_STEP_REDUCE, to);
        send(lowering, s, rank, to);
        break;
    case WEFT_BLOCK_COPY:
    case WEFT_BLOCK_PUT:
    case WEFT_BLOCK_GET:
        move(lowering, s, WEFT_STEP_COPY, from, to);
        break;
    case WEFT_BLOCK_REDUCE:
    case WEFT_BLOCK_GET_REDUCE:
        move(lowering, s, WEFT_STEP_REDUCE, from, to);
        break;
    case WEFT_BLOCK_WAIT:
    case WEFT_BLOCK_SIGNAL:
    case WEFT_BLOCK_AWAIT:
    case WEFT_BLOCK_SYNC:
    case WEFT_BLOCK_OP_COUNT:
        break;
    }
}

// Counts what add_step makes at most: events, and chunks that they read or write.
static void count_most(size_t *events, size_t *chunks, uint32_t *slots,
                       const struct weft_program_order *order, bool in_place,
                       struct weft_arena scratch)
{
    const struct weft_program *program = order->program;
    uint32_t *extra = WEFT_NEW(&scratch, uint32_t, program->rank_count);
    *events = 0;
    *chunks = 0;
    for (uint32_t s = 0; s < program->step_count; s++) {
        const struct weft_block_step *step = &program->steps[s];
        *events += 3;
        *chunks += 6 * (size_t)step->count;
        // What is received may need a slot for the message and one for the sum.
        extra[order->rank_of[order->block_of[s]]] +=
            weft_block_op_receives(step->op) ? 2 * step->count : 0;
    }
    *slots = 0;
    for (uint32_t rank = 0; rank < program->rank_count; rank++) {
        uint32_t end = weft_program_slot(program, in_place, rank, WEFT_BUFFER_SCRATCH,
                                         program->scratch_counts[rank]) +
                       extra[rank];
        *slots = end > *slots ? end : *slots;
    }
}

// Earliest rounds; false where the needs go round in a circle.
static bool set_rounds(struct lowering *lowering)
{
    for (uint32_t e = 0; e < lowering->event_count; e++) {
        lowering->events[e].round = 0;
    }
    bool changed = true;
    for (uint32_t pass = 0; pass < RELAX_PASSES && changed; pass++) {
        changed = false;
        for (uint32_t n = 0; n < lowering->need_count; n++) {
            const struct need *need = &lowering->needs[n];
            uint32_t least = lowering->events[need->before].round + need->rounds;
            if (lowering->events[need->after].round < least) {
                lowering->events[need->after].round = least;
                changed = true;
            }
        }
    }
    lowering->round_count = 0;
    for (uint32_t e = 0; e < lowering->event_count; e++) {
        uint32_t end = lowering->events[e].round + 1;
        lowering->round_count = end > lowering->round_count ? end : lowering->round_count;
    }
    return !changed;
}

static bool lower_all(struct lowering *lowering, struct weft_arena *arena)
{
    const struct weft_program_order *order = lowering->order;
    const struct weft_program *program = order->program;
    size_t event_max;
    size_t chunk_max;
    count_most(&event_max, &chunk_max, &lowering->slot_count, order, lowering->in_place, *arena);
    size_t cells = (size_t)program->rank_count * lowering->slot_count;
    lowering->event_count = lowering->need_count = lowering->reader_count = 0;
    lowering->events = WEFT_NEW_RAW(arena, struct event, event_max);
    lowering->needs = WEFT_NEW_RAW(arena, struct need, 2 * chunk_max);
    lowering->readers = WEFT_NEW_RAW(arena, struct reader, chunk_max);
    lowering->first_reader = WEFT_NEW_RAW(arena, uint32_t, cells);
    lowering->writer = WEFT_NEW_RAW(arena, uint32_t, cells);
    lowering->extra = WEFT_NEW(arena, uint32_t, program->rank_count);
    lowering->carrying = WEFT_NEW_RAW(arena, uint32_t, program->step_count);
    memset(lowering->first_reader, 0xff, cells * sizeof(uint32_t));
    memset(lowering->writer, 0xff, cells * sizeof(uint32_t));
    for (uint32_t i = 0; i < program->step_count; i++) {
        add_step(lowering, order->sequence[i]);
    }
    WEFT_ASSERT(lowering->event_count <= event_max && lowering->need_count <= 2 * chunk_max);
    return set_rounds(lowering);
}

// ---- the schedule ----

// Sorts the events by round (counting sort) and publishes them as steps of one item, each with the
// program's steps that it came from.
static void publish(struct weft_schedule *schedule, const struct weft_program_origin **origins,
                    const struct lowering *lowering, struct weft_arena *arena,
                    struct weft_arena scratch)
{
    const struct weft_program *program = lowering->order->program;
    uint32_t *first = WEFT_NEW(&scratch, uint32_t, (size_t)lowering->round_count + 1);
    for (uint32_t e = 0; e < lowering->event_count; e++) {
        first[lowering->events[e].round + 1]++;
    }
    for (uint32_t round = 0; round < lowering->round_count; round++) {
        first[round + 1] += first[round];
    }
    struct weft_step *steps = WEFT_NEW_RAW(arena, struct weft_step, lowering->event_count);
    struct weft_program_origin *places =
        WEFT_NEW_RAW(arena, struct weft_program_origin, lowering->event_count);
    for (uint32_t e = 0; e < lowering->event_count; e++) {
        const struct event *event = &lowering->events[e];
        uint32_t at = first[event->round]++;
        steps[at] = (struct weft_step){
            .op = event->op,
            .first_round = event->round,
            .round_count = 1,
            .item_count = 1,
            .slot_count = event->count,
            .label = WEFT_NONE,
            .channel = program->blocks[lowering->order->block_of[event->sender]].channel,
            .from = weft_index_fixed(event->from),
            .to = weft_index_fixed(event->to),
            .from_slot = weft_index_fixed(event->from_slot),
            .to_slot = weft_index_fixed(event->to_slot),
        };
        places[at] = (struct weft_program_origin){event->sender, event->receiver};
    }
    uint32_t slots = 0;
    for (uint32_t rank = 0; rank < program->rank_count; rank++) {
        uint32_t end = weft_program_slot(program, lowering->in_place, rank, WEFT_BUFFER_SCRATCH,
                                         program->scratch_counts[rank]) +
                       lowering->extra[rank];
        slots = end > slots ? end : slots;
    }
    *origins = places;
    *schedule = (struct weft_schedule){
        .name = program->name,
        .kind = program->kind,
        .rank_count = program->rank_count,
        .chunk_count = program->chunk_count,
        .slot_count = slots,
        .output_first = lowering->in_place ? 0 : weft_program_width(program, WEFT_BUFFER_INPUT, 0),
        .packed = !lowering->in_place && (program->kind == WEFT_COLLECTIVE_ALLGATHER ||
                                          program->kind == WEFT_COLLECTIVE_REDUCE_SCATTER),
        .root = program->root,
        .round_count = lowering->round_count,
        .step_count = lowering->event_count,
        .steps = steps,
    };
}

void weft_program_transfers(struct weft_schedule *schedule,
                            const struct weft_program_origin **origins,
                            const struct weft_program_order *order, bool in_place,
                            struct weft_arena *arena, struct weft_arena scratch)
{
    struct lowering lowering = {.order = order, .in_place = in_place};
    struct weft_arena local = scratch;
    if (!lower_all(&lowering, &local)) {
        lowering.posted = true;
        local = scratch;
        bool fine = lower_all(&lowering, &local);
        WEFT_ASSERT(fine); // every transfer reads and writes at once, so needs point forward
    }
    publish(schedule, origins, &lowering, arena, local);
}
