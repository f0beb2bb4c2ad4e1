// SPDX-License-Identifier: Apache-2.0
// A step of the job that heals, in memory (ring.h).

#include "ring.h"

#include <string.h>

// A mixer of 32 bits with two multiplications (C. Wellons, "hash prospector", 2018).
static inline uint32_t mix(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

static inline uint32_t signal_of(uint32_t state, uint32_t step, uint32_t element)
{
    return mix(state ^ (step * 0x9e3779b9u + element));
}

// Odd and without a pattern, so that no set of ranks weighs as much as another.
static uint32_t weight_of(uint32_t rank)
{
    return (uint32_t)weft_hash(rank + 1) | 1u;
}

static uint32_t weight_of_all(uint32_t count)
{
    uint32_t sum = 0;
    for (uint32_t r = 0; r < count; r++) {
        sum += weight_of(r);
    }
    return sum;
}

static void first_state(uint32_t *state, size_t elements)
{
    for (size_t i = 0; i < elements; i++) {
        state[i] = mix((uint32_t)i);
    }
}

void lab_heal_work_init(struct lab_heal_work *work, uint32_t rank, uint32_t count,
                        uint32_t chunk_elements, struct weft_arena *arena)
{
    WEFT_ASSERT(count >= 2 && count <= LAB_HEAL_RANKS_MAX && chunk_elements > 0);
    *work = (struct lab_heal_work){.rank = rank, .count = count, .chunk_elements = chunk_elements};
    work->state = WEFT_NEW(arena, uint32_t, lab_heal_elements(work));
    work->sums = WEFT_NEW(arena, uint32_t, lab_heal_elements(work));
    work->full = WEFT_NEW(arena, bool, (size_t)LAB_HEAL_LANES *count);
    first_state(work->state, lab_heal_elements(work));
}

void lab_heal_begin(struct lab_heal_work *work)
{
    size_t elements = lab_heal_elements(work);
    uint32_t weight = weight_of(work->rank);
    WEFT_ASSERT(work->rank < work->count);
    for (size_t i = 0; i < elements; i++) {
        work->sums[i] = weight * signal_of(work->state[i], work->step, (uint32_t)i);
    }
    memset(work->full, 0, LAB_HEAL_LANES * work->count * sizeof *work->full);
    memset(work->lanes, 0, sizeof work->lanes);
    work->begun = true;
}

// The chunk that message `number` from `rank` holds, counted over both lanes.
static uint32_t chunk_of(const struct lab_heal_work *work, uint32_t lane, uint32_t rank,
                         uint32_t number)
{
    uint32_t n = work->count;
    uint32_t back = number % n;
    return lane * n + (lane == 0 ? rank + n - back : rank + back) % n;
}

bool lab_heal_next(struct lab_heal_message *message, const struct lab_heal_work *work,
                   uint32_t lane)
{
    const struct lab_heal_lane *at = &work->lanes[lane];
    if (!work->begun || at->sent == lab_heal_messages(work->count) || at->sent > at->received) {
        return false;
    }
    uint32_t chunk = chunk_of(work, lane, work->rank, at->sent);
    WEFT_ASSERT(at->sent >= at->valid || work->full[chunk]);
    *message = (struct lab_heal_message){lane, at->sent, work->full[chunk],
                                         work->sums + (size_t)chunk * work->chunk_elements};
    return true;
}

bool lab_heal_take(struct lab_heal_work *work, const struct lab_heal_message *message)
{
    uint32_t n = work->count;
    struct lab_heal_lane *at = &work->lanes[message->lane];
    if (!work->begun || message->number != at->received ||
        message->number >= lab_heal_messages(n)) {
        return false;
    }
    uint32_t before = message->lane == 0 ? work->rank + n - 1 : work->rank + 1;
    uint32_t chunk = chunk_of(work, message->lane, before % n, message->number);
    uint32_t *own = work->sums + (size_t)chunk * work->chunk_elements;
    at->received++;
    if (work->full[chunk]) {
        return true; // it came when its first receiver had not failed yet
    }
    if (message->full) {
        memcpy(own, message->data, work->chunk_elements * sizeof *own);
    } else {
        for (uint32_t i = 0; i < work->chunk_elements; i++) {
            own[i] += message->data[i];
        }
    }
    work->full[chunk] = message->full || message->number >= n - 2;
    return true;
}

bool lab_heal_complete(const struct lab_heal_work *work)
{
    uint32_t all = lab_heal_messages(work->count);
    return work->begun && work->lanes[0].received == all && work->lanes[1].received == all;
}

uint64_t lab_heal_wrong(const struct lab_heal_work *work)
{
    uint32_t weight = weight_of_all(work->count);
    uint64_t wrong = 0;
    for (size_t i = 0; i < lab_heal_elements(work); i++) {
        uint32_t due = weight * signal_of(work->state[i], work->step, (uint32_t)i);
        wrong += work->sums[i] != due;
    }
    return wrong;
}

void lab_heal_commit(struct lab_heal_work *work)
{
    WEFT_ASSERT(lab_heal_complete(work));
    for (size_t i = 0; i < lab_heal_elements(work); i++) {
        work->state[i] += work->sums[i];
    }
    work->step++;
    work->begun = false;
    memset(work->lanes, 0, sizeof work->lanes);
}

uint64_t lab_heal_digest(const uint32_t *state, size_t elements)
{
    // Two sums of which the second knows places (J. Fletcher, 1982), with an odd factor each.
    uint64_t first = 0;
    uint64_t second = 0;
    for (size_t i = 0; i < elements; i++) {
        first += (uint64_t)state[i] * 0x9e3779b97f4a7c15ull;
        second = (second + (first ^ first >> 32)) * 0xd6e8feb86659fd93ull;
    }
    return weft_hash(second ^ first);
}

uint64_t lab_heal_step_digest(const struct lab_heal_work *work)
{
    size_t elements = lab_heal_elements(work);
    return weft_hash(lab_heal_digest(work->state, elements)) ^
           lab_heal_digest(work->sums, elements);
}

void lab_heal_expected(uint32_t *state, size_t elements, uint32_t count, uint32_t steps)
{
    uint32_t weight = weight_of_all(count);
    first_state(state, elements);
    for (uint32_t step = 0; step < steps; step++) {
        for (size_t i = 0; i < elements; i++) {
            state[i] += weight * signal_of(state[i], step, (uint32_t)i);
        }
    }
}

// One lane, whose next rank of r is r + 1 (lane 0) or r - 1.
static bool resume_lane(struct lab_heal_lane (*lanes)[LAB_HEAL_LANES], const bool *fresh,
                        uint32_t count, uint32_t lane)
{
    uint32_t onward = lane == 0 ? 1 : count - 1;
    uint32_t old = 0;
    while (old < count && fresh[old]) {
        old++;
    }
    if (old == count) {
        return false;
    }
    // Against the lane's direction, from a rank that holds what it had.
    for (uint32_t i = 1; i < count; i++) {
        uint32_t rank = (old + (count - onward) * i) % count;
        struct lab_heal_lane *at = &lanes[rank][lane];
        if (fresh[rank]) {
            uint32_t needed = lanes[(rank + onward) % count][lane].received;
            uint32_t start = needed > 0 ? needed - 1 : 0;
            at->received = start < count - 2 ? start : count - 2;
            at->valid = at->received > 0 ? at->received + 1 : 0;
        }
    }
    for (uint32_t rank = 0; rank < count; rank++) {
        lanes[rank][lane].sent = lanes[(rank + onward) % count][lane].received;
        if (lanes[rank][lane].sent < lanes[rank][lane].valid) {
            return false;
        }
    }
    return true;
}

bool lab_heal_resume(struct lab_heal_lane (*lanes)[LAB_HEAL_LANES], const bool *fresh,
                     uint32_t count)
{
    return resume_lane(lanes, fresh, count, 0) && resume_lane(lanes, fresh, count, 1);
}
