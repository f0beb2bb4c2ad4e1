// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_BASE_SETS_H
#define WEFT_BASE_SETS_H

// The one union-find: numbers 0 .. count-1 in disjoint sets that are joined two at a time.
//
// Paths are halved on the way up (Tarjan and van Leeuwen, "Worst-case analysis of set union
// algorithms", JACM 1984). A set's root is always its least member, so that sets are numbered alike
// in whatever order they were joined; linking so, m operations cost O(m log count) at most, and in
// practice little more than one step each.

#include "weft/base.h"

WEFT_API_BEGIN

struct weft_sets {
    uint32_t *parent; // per number; a root is its own
    uint32_t count;   // of numbers
    uint32_t set_count;
};

// Makes every number a set of its own, in sets that were built before.
static inline void weft_sets_reset(struct weft_sets *sets)
{
    for (uint32_t i = 0; i < sets->count; i++) {
        sets->parent[i] = i;
    }
    sets->set_count = sets->count;
}

// `count` sets of one number each. O(count).
static inline struct weft_sets weft_sets_build(uint32_t count, struct weft_arena *arena)
{
    struct weft_sets sets = {WEFT_NEW_RAW(arena, uint32_t, count), count, count};
    weft_sets_reset(&sets);
    return sets;
}

// The least number of the set that `number` is in.
static inline uint32_t weft_sets_find(struct weft_sets *sets, uint32_t number)
{
    uint32_t *parent = sets->parent;
    while (parent[number] != number) {
        parent[number] = parent[parent[number]];
        number = parent[number];
    }
    return number;
}

// Joins the sets of two numbers; false if they are one already.
static inline bool weft_sets_join(struct weft_sets *sets, uint32_t a, uint32_t b)
{
    a = weft_sets_find(sets, a);
    b = weft_sets_find(sets, b);
    if (a == b) {
        return false;
    }
    sets->parent[a < b ? b : a] = a < b ? a : b;
    sets->set_count--;
    return true;
}

WEFT_API_END

#endif
