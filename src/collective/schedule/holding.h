// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_COLLECTIVE_SCHEDULE_HOLDING_H
#define WEFT_COLLECTIVE_SCHEDULE_HOLDING_H

// The sets of contributions that the checker of schedules executes on. A set is an id: below
// rank_count that rank alone, rank_count all ranks, above it a bit set of the pool. Exact: bits and
// counts, never hashes.

#include "weft/collective.h"

// Sets of ranks by number: below n the set of one rank, n all ranks, above n one of the pool.
struct rank_sets {
    uint32_t rank_count;
    uint32_t word_count; // 64-bit words of bits
    uint32_t stride;     // words a pooled set: one of references and members, then its bits
    uint32_t used;
    uint32_t capacity;
    uint32_t free; // the first free one; WEFT_NONE
    uint64_t *pool;
    struct weft_arena arena; // grows at its end; nothing else may take from it
};

void rank_sets_begin(struct rank_sets *sets, uint32_t rank_count, struct weft_arena arena);
// Forgets all sets at once.
void rank_sets_clear(struct rank_sets *sets);
void rank_sets_share(struct rank_sets *sets, uint32_t set);
void rank_sets_drop(struct rank_sets *sets, uint32_t set);
// `set` (given up) with the members of `other`. WEFT_NONE where they share a member, which is then
// *twice.
uint32_t rank_sets_add(struct rank_sets *sets, uint32_t set, uint32_t other, uint32_t *twice);
// A rank that the set lacks; WEFT_NONE if none.
uint32_t rank_sets_lacks(const struct rank_sets *sets, uint32_t set);
bool rank_sets_has(const struct rank_sets *sets, uint32_t set, uint32_t rank);

#endif
