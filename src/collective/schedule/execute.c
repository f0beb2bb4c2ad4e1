// SPDX-License-Identifier: Apache-2.0
// Schedules on real buffers, and their outputs against sums computed directly: a second proof
// beside the symbolic checker, which shares no code with it. Words are hashes of rank and position,
// sums are modulo 2^64, and everything that is no input is noise, so that a slot that is read too
// early shows. O(transfers * words of a slot).

#include "weft/collective.h"

#include <inttypes.h>
#include <string.h>

void weft_schedule_execute(const struct weft_schedule *schedule, uint64_t *const *buffers,
                           size_t slot_elements, struct weft_arena scratch)
{
    struct weft_round_walk walk;
    weft_round_walk_begin(&walk, schedule, &scratch);
    while (weft_round_walk_next(&walk)) {
        size_t slots = 0;
        for (uint32_t i = 0; i < walk.transfer_count; i++) {
            slots += walk.transfers[i].slot_count;
        }
        // What is sent is read before anything is written.
        struct weft_arena local = scratch;
        uint64_t *sent = WEFT_NEW_RAW(&local, uint64_t, slots * slot_elements);
        uint64_t *next = sent;
        for (uint32_t i = 0; i < walk.transfer_count; i++) {
            const struct weft_transfer *transfer = &walk.transfers[i];
            size_t count = transfer->slot_count * slot_elements;
            memcpy(next, buffers[transfer->from] + transfer->from_slot * slot_elements,
                   count * sizeof *next);
            next += count;
        }
        next = sent;
        for (uint32_t i = 0; i < walk.transfer_count; i++) {
            const struct weft_transfer *transfer = &walk.transfers[i];
            size_t count = transfer->slot_count * slot_elements;
            uint64_t *to = buffers[transfer->to] + transfer->to_slot * slot_elements;
            for (size_t e = 0; e < count; e++) {
                to[e] = (transfer->op == WEFT_STEP_REDUCE ? to[e] : 0) + next[e];
            }
            next += count;
        }
    }
}

// ---- against sums computed directly ----

struct replay {
    const struct weft_schedule *schedule;
    uint64_t element_count;
    size_t slot_elements;
    uint64_t seed;
    uint64_t **buffers;
    uint64_t *sums; // of all ranks, word by word
};

// What a rank gives as word `element` of its S.
static uint64_t input_word(const struct replay *replay, uint32_t rank, uint64_t element)
{
    return weft_hash(replay->seed + (uint64_t)rank * replay->element_count + element);
}

// The chunk that a rank gives from this slot; WEFT_NONE if none.
static uint32_t given_chunk(const struct weft_schedule *schedule, uint32_t rank, uint32_t slot)
{
    uint32_t share = schedule->chunk_count / schedule->rank_count;
    bool gives = slot < schedule->chunk_count;
    if (schedule->kind == WEFT_COLLECTIVE_BROADCAST) {
        gives = gives && rank == schedule->root;
    } else if (schedule->kind == WEFT_COLLECTIVE_ALLGATHER && schedule->packed) {
        return slot < share ? rank * share + slot : WEFT_NONE;
    } else if (schedule->kind == WEFT_COLLECTIVE_ALLGATHER) {
        gives = gives && slot >= rank * share && slot < (rank + 1) * share;
    }
    return gives ? slot : WEFT_NONE;
}

static void fill_buffers(struct replay *replay, struct weft_arena *arena)
{
    const struct weft_schedule *schedule = replay->schedule;
    size_t words = schedule->slot_count * replay->slot_elements;
    struct weft_rng noise;
    weft_rng_init(&noise, ~replay->seed);
    replay->buffers = WEFT_NEW(arena, uint64_t *, schedule->rank_count);
    for (uint32_t rank = 0; rank < schedule->rank_count; rank++) {
        uint64_t *buffer = WEFT_NEW_RAW(arena, uint64_t, words);
        replay->buffers[rank] = buffer;
        for (uint32_t slot = 0; slot < schedule->slot_count; slot++) {
            uint32_t chunk = given_chunk(schedule, rank, slot);
            for (size_t e = 0; e < replay->slot_elements; e++) {
                uint64_t element = (uint64_t)chunk * replay->slot_elements + e;
                bool input = chunk != WEFT_NONE && element < replay->element_count;
                buffer[slot * replay->slot_elements + e] =
                    input ? input_word(replay, rank, element) : weft_rng_next(&noise);
            }
        }
    }
}

// Chunks in consecutive output slots of a rank, from `slot` and `chunk` on, and what they must
// hold: the input of the rank `source`, or, where that is WEFT_NONE, the sum of all ranks.
struct run {
    uint32_t rank;
    uint32_t slot; // counted from output_first
    uint32_t chunk;
    uint32_t count;
    uint32_t source;
};

// Compares the c-th chunk of a run, word by word.
static bool compare_chunk(const struct replay *replay, const struct run *run, uint32_t c,
                          struct weft_error *error)
{
    uint32_t slot = replay->schedule->output_first + run->slot + c;
    const uint64_t *got = replay->buffers[run->rank] + slot * replay->slot_elements;
    for (size_t e = 0; e < replay->slot_elements; e++) {
        uint64_t element = (uint64_t)(run->chunk + c) * replay->slot_elements + e;
        if (element >= replay->element_count) {
            return true;
        }
        uint64_t wanted = run->source == WEFT_NONE ? replay->sums[element]
                                                   : input_word(replay, run->source, element);
        if (got[e] != wanted) {
            return weft_fail(error, WEFT_INFEASIBLE,
                             "rank %u has %016" PRIx64 " as word %zu of chunk %u in slot %u, not "
                             "%016" PRIx64,
                             run->rank, got[e], e, run->chunk + c, slot, wanted);
        }
    }
    return true;
}

static bool compare_run(const struct replay *replay, const struct run *run,
                        struct weft_error *error)
{
    for (uint32_t c = 0; c < run->count; c++) {
        if (!compare_chunk(replay, run, c, error)) {
            return false;
        }
    }
    return true;
}

// Compares all that the kind of the collective promises to a rank.
static bool compare_rank(const struct replay *replay, uint32_t rank, struct weft_error *error)
{
    const struct weft_schedule *schedule = replay->schedule;
    uint32_t n = schedule->rank_count;
    uint32_t share = schedule->chunk_count / n;
    struct run run = {.rank = rank, .count = schedule->chunk_count, .source = WEFT_NONE};
    switch (schedule->kind) {
    case WEFT_COLLECTIVE_ALLREDUCE:
        return compare_run(replay, &run, error);
    case WEFT_COLLECTIVE_REDUCE:
        return rank != schedule->root || compare_run(replay, &run, error);
    case WEFT_COLLECTIVE_REDUCE_SCATTER:
        run.slot = schedule->packed ? 0 : rank * share;
        run.chunk = rank * share;
        run.count = share;
        return compare_run(replay, &run, error);
    case WEFT_COLLECTIVE_BROADCAST:
        run.source = schedule->root;
        return compare_run(replay, &run, error);
    case WEFT_COLLECTIVE_ALLGATHER:
    case WEFT_COLLECTIVE_ALLTOALL:
        for (run.source = 0; run.source < n; run.source++) {
            bool gather = schedule->kind == WEFT_COLLECTIVE_ALLGATHER;
            run.slot = run.source * share;
            run.chunk = (gather ? run.source : rank) * share;
            run.count = share;
            if (!compare_run(replay, &run, error)) {
                return false;
            }
        }
        return true;
    case WEFT_COLLECTIVE_KIND_COUNT:
        break;
    }
    return true;
}

bool weft_schedule_try(const struct weft_schedule *schedule, uint64_t element_count, uint64_t seed,
                       struct weft_arena scratch, struct weft_error *error)
{
    WEFT_ASSERT(element_count > 0);
    if (!weft_schedule_well_formed(schedule, scratch, error)) {
        return false;
    }
    uint32_t n = schedule->rank_count;
    uint64_t chunk_count = schedule->chunk_count;
    struct replay replay = {
        .schedule = schedule,
        .element_count = element_count,
        .slot_elements = (size_t)((element_count + chunk_count - 1) / chunk_count),
        .seed = seed,
    };
    fill_buffers(&replay, &scratch);
    weft_schedule_execute(schedule, replay.buffers, replay.slot_elements, scratch);
    replay.sums = WEFT_NEW(&scratch, uint64_t, element_count);
    for (uint32_t rank = 0; rank < n; rank++) {
        for (uint64_t e = 0; e < element_count; e++) {
            replay.sums[e] += input_word(&replay, rank, e);
        }
    }
    for (uint32_t rank = 0; rank < n; rank++) {
        if (!compare_rank(&replay, rank, error)) {
            return weft_wrap(error, "schedule '%s' on real buffers", schedule->name);
        }
    }
    return true;
}
