// SPDX-License-Identifier: Apache-2.0
// Sets of ranks whose addends a slot holds, with reference counts. A copy shares the set, a sum
// extends it in place when nobody else refers to it, and a set that nobody refers to is reused, so
// that a ring's n^2 partial sums need memory for n sets at a time. Single ranks and the set of all
// take no memory. Adding is O(n / 64).

#include "holding.h"

#include <string.h>

enum {
    WORDS_A_LINE = 8, // a set begins at a cache line
    SETS_ADDED = 64,  // when the pool is full
};

void rank_sets_begin(struct rank_sets *sets, uint32_t rank_count, struct weft_arena arena)
{
    uint32_t word_count = (rank_count + 63) / 64;
    uint32_t stride = (word_count + 1 + WORDS_A_LINE - 1) / WORDS_A_LINE * WORDS_A_LINE;
    *sets = (struct rank_sets){
        .rank_count = rank_count,
        .word_count = word_count,
        .stride = stride,
        .free = WEFT_NONE,
        .arena = arena,
    };
    sets->pool = WEFT_NEW_RAW(&sets->arena, uint64_t, 0);
}

void rank_sets_clear(struct rank_sets *sets)
{
    sets->used = 0;
    sets->free = WEFT_NONE;
}

static uint64_t *pooled(const struct rank_sets *sets, uint32_t set)
{
    return sets->pool + (size_t)(set - sets->rank_count - 1) * sets->stride;
}

static bool is_pooled(const struct rank_sets *sets, uint32_t set)
{
    return set > sets->rank_count;
}

// The first word of a pooled set: members in the upper half, references in the lower.
static uint32_t member_count(const struct rank_sets *sets, uint32_t set)
{
    if (is_pooled(sets, set)) {
        return (uint32_t)(pooled(sets, set)[0] >> 32);
    }
    return set == sets->rank_count ? sets->rank_count : 1;
}

static uint32_t take(struct rank_sets *sets)
{
    uint32_t set = sets->free;
    if (set != WEFT_NONE) {
        sets->free = (uint32_t)pooled(sets, set)[0];
        return set;
    }
    if (sets->used == sets->capacity) {
        size_t set_bytes = sets->stride * sizeof *sets->pool;
        sets->pool = weft_arena_grow(&sets->arena, sets->pool, sets->capacity * set_bytes,
                                     (sets->capacity + SETS_ADDED) * set_bytes);
        sets->capacity += SETS_ADDED;
    }
    WEFT_ASSERT(sets->used < WEFT_NONE - sets->rank_count - 2);
    return sets->rank_count + 1 + sets->used++;
}

void rank_sets_share(struct rank_sets *sets, uint32_t set)
{
    if (is_pooled(sets, set)) {
        pooled(sets, set)[0]++;
    }
}

void rank_sets_drop(struct rank_sets *sets, uint32_t set)
{
    if (is_pooled(sets, set)) {
        uint64_t *words = pooled(sets, set);
        WEFT_ASSERT((uint32_t)words[0] > 0);
        if ((uint32_t)--words[0] == 0) {
            words[0] = sets->free;
            sets->free = set;
        }
    }
}

bool rank_sets_has(const struct rank_sets *sets, uint32_t set, uint32_t rank)
{
    if (is_pooled(sets, set)) {
        return (pooled(sets, set)[1 + rank / 64] >> (rank % 64) & 1) != 0;
    }
    return set == sets->rank_count || set == rank;
}

uint32_t rank_sets_lacks(const struct rank_sets *sets, uint32_t set)
{
    for (uint32_t rank = 0; rank < sets->rank_count; rank++) {
        if (!rank_sets_has(sets, set, rank)) {
            return rank;
        }
    }
    return WEFT_NONE;
}

// A member of both; WEFT_NONE if none.
static uint32_t shared_member(const struct rank_sets *sets, uint32_t a, uint32_t b)
{
    uint32_t n = sets->rank_count;
    if (a < n || b < n) {
        uint32_t one = a < n ? a : b;
        return rank_sets_has(sets, one == a ? b : a, one) ? one : WEFT_NONE;
    }
    if (a == n || b == n) {
        uint32_t other = a == n ? b : a;
        uint32_t rank = 0;
        while (!rank_sets_has(sets, other, rank)) {
            rank++;
        }
        return rank;
    }
    const uint64_t *bits_a = pooled(sets, a) + 1;
    const uint64_t *bits_b = pooled(sets, b) + 1;
    for (uint32_t w = 0; w < sets->word_count; w++) {
        uint64_t both = bits_a[w] & bits_b[w];
        if (both != 0) {
            return w * 64 + (uint32_t)__builtin_ctzll(both);
        }
    }
    return WEFT_NONE;
}

static void join(const struct rank_sets *sets, uint64_t *bits, uint32_t other)
{
    if (!is_pooled(sets, other)) {
        bits[other / 64] |= 1ull << (other % 64);
        return;
    }
    const uint64_t *more = pooled(sets, other) + 1;
    for (uint32_t w = 0; w < sets->word_count; w++) {
        bits[w] |= more[w];
    }
}

uint32_t rank_sets_add(struct rank_sets *sets, uint32_t set, uint32_t other, uint32_t *twice)
{
    *twice = shared_member(sets, set, other);
    if (*twice != WEFT_NONE) {
        return WEFT_NONE;
    }
    uint32_t members = member_count(sets, set) + member_count(sets, other);
    if (members == sets->rank_count) {
        rank_sets_drop(sets, set);
        return sets->rank_count;
    }
    bool alone = is_pooled(sets, set) && (uint32_t)pooled(sets, set)[0] == 1;
    uint32_t sum = alone ? set : take(sets);
    uint64_t *words = pooled(sets, sum);
    if (!alone) {
        memset(words + 1, 0, (size_t)sets->word_count * sizeof *words);
        join(sets, words + 1, set);
        rank_sets_drop(sets, set);
    }
    join(sets, words + 1, other);
    words[0] = (uint64_t)members << 32 | 1;
    return sum;
}
