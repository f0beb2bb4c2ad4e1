// SPDX-License-Identifier: Apache-2.0
// Schedules on real buffers, and their outputs against sums computed directly.

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

// ---- against a reference ----

struct trial {
    const struct weft_schedule *schedule;
    uint64_t element_count;
    size_t slot_elements;
    uint64_t seed;
    uint64_t **buffers;
};

// What a rank gives as word `element` of its S.
static uint64_t input_word(const struct trial *trial, uint32_t rank, uint64_t element)
{
    return weft_hash(trial->seed + (uint64_t)rank * trial->element_count + element);
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

static void fill_buffers(struct trial *trial, struct weft_arena *arena)
{
    const struct weft_schedule *schedule = trial->schedule;
    size_t words = schedule->slot_count * trial->slot_elements;
    struct weft_rng noise;
    weft_rng_init(&noise, ~trial->seed);
    trial->buffers = WEFT_NEW(arena, uint64_t *, schedule->rank_count);
    for (uint32_t rank = 0; rank < schedule->rank_count; rank++) {
        uint64_t *buffer = WEFT_NEW_RAW(arena, uint64_t, words);
        trial->buffers[rank] = buffer;
        for (uint32_t slot = 0; slot < schedule->slot_count; slot++) {
            uint32_t chunk = given_chunk(schedule, rank, slot);
            for (size_t e = 0; e < trial->slot_elements; e++) {
                uint64_t element = (uint64_t)chunk * trial->slot_elements + e;
                bool input = chunk != WEFT_NONE && element < trial->element_count;
                buffer[slot * trial->slot_elements + e] =
                    input ? input_word(trial, rank, element) : weft_rng_next(&noise);
            }
        }
    }
}

// Compares a chunk of a rank in an output slot with the words of `source`'s input, or of the sum of
// all ranks where source is WEFT_NONE (sums[]).
static bool compare_chunk(const struct trial *trial, uint32_t rank, uint32_t slot, uint32_t chunk,
                          uint32_t source, const uint64_t *sums, struct weft_error *error)
{
    const uint64_t *got = trial->buffers[rank] + slot * trial->slot_elements;
    for (size_t e = 0; e < trial->slot_elements; e++) {
        uint64_t element = (uint64_t)chunk * trial->slot_elements + e;
        if (element >= trial->element_count) {
            return true;
        }
        uint64_t wanted = source == WEFT_NONE ? sums[element] : input_word(trial, source, element);
        if (got[e] != wanted) {
            return weft_fail(error, WEFT_INFEASIBLE,
                             "rank %u has %016" PRIx64 " as word %zu of chunk %u in slot %u, not "
                             "%016" PRIx64,
                             rank, got[e], e, chunk, slot, wanted);
        }
    }
    return true;
}

// Output slots [begin, end) from output_first on, of chunks from `chunk` on.
static bool compare_run(const struct trial *trial, uint32_t rank, uint32_t first_slot,
                        uint32_t chunk, uint32_t count, uint32_t source, const uint64_t *sums,
                        struct weft_error *error)
{
    for (uint32_t c = 0; c < count; c++) {
        uint32_t slot = trial->schedule->output_first + first_slot + c;
        if (!compare_chunk(trial, rank, slot, chunk + c, source, sums, error)) {
            return false;
        }
    }
    return true;
}

static bool compare_rank(const struct trial *trial, uint32_t rank, const uint64_t *sums,
                         struct weft_error *error)
{
    const struct weft_schedule *schedule = trial->schedule;
    uint32_t n = schedule->rank_count;
    uint32_t all = schedule->chunk_count;
    uint32_t share = all / n;
    switch (schedule->kind) {
    case WEFT_COLLECTIVE_ALLREDUCE:
        return compare_run(trial, rank, 0, 0, all, WEFT_NONE, sums, error);
    case WEFT_COLLECTIVE_REDUCE:
        return rank != schedule->root ||
               compare_run(trial, rank, 0, 0, all, WEFT_NONE, sums, error);
    case WEFT_COLLECTIVE_REDUCE_SCATTER:
        return compare_run(trial, rank, schedule->packed ? 0 : rank * share, rank * share, share,
                           WEFT_NONE, sums, error);
    case WEFT_COLLECTIVE_BROADCAST:
        return compare_run(trial, rank, 0, 0, all, schedule->root, NULL, error);
    case WEFT_COLLECTIVE_ALLGATHER:
    case WEFT_COLLECTIVE_ALLTOALL:
        for (uint32_t source = 0; source < n; source++) {
            bool gather = schedule->kind == WEFT_COLLECTIVE_ALLGATHER;
            uint32_t chunk = (gather ? source : rank) * share;
            if (!compare_run(trial, rank, source * share, chunk, share, source, NULL, error)) {
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
    struct trial trial = {
        .schedule = schedule,
        .element_count = element_count,
        .slot_elements = (size_t)((element_count + chunk_count - 1) / chunk_count),
        .seed = seed,
    };
    fill_buffers(&trial, &scratch);
    weft_schedule_execute(schedule, trial.buffers, trial.slot_elements, scratch);
    uint64_t *sums = WEFT_NEW(&scratch, uint64_t, element_count);
    for (uint32_t rank = 0; rank < n; rank++) {
        for (uint64_t e = 0; e < element_count; e++) {
            sums[e] += input_word(&trial, rank, e);
        }
    }
    for (uint32_t rank = 0; rank < n; rank++) {
        if (!compare_rank(&trial, rank, sums, error)) {
            return weft_wrap(error, "schedule '%s' on real buffers", schedule->name);
        }
    }
    return true;
}
