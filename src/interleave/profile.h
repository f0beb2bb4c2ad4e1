// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SRC_INTERLEAVE_PROFILE_H
#define WEFT_SRC_INTERLEAVE_PROFILE_H

// The load of a link around its circle, for shifts by any time instead of whole angles.
//
// Demands are constant but for jumps, so the load of some jobs is a list of steps, and what one
// more job adds at a shift is a difference of sums along them. Positions are ticks (circle.h),
// whole numbers, so that two boundaries that meet are equal.

#include "bound.h"

enum { JUMP_UP = 1, JUMP_DOWN = 2 };

struct jump {
    uint64_t at; // tick of the iteration
    uint8_t direction;
};

// One job on the circle.
struct shape {
    uint64_t period; // ticks
    uint32_t repeats;
    uint32_t stride; // of its digit in a cell's code (bound.h); 0 where there is no table
    uint32_t twin;   // an earlier shape with the same demand, or WEFT_NONE
    uint32_t arc_count;
    const struct arc *arcs;
    const uint32_t *arc_load; // per arc: which of the loads
    uint32_t load_count;
    const double *loads; // different ones, ascending
    uint32_t jump_count;
    const struct jump *jumps;
};

struct profile {
    uint64_t perimeter; // ticks
    uint32_t count;
    const uint64_t *at;   // count + 1 of them: the first is 0, the last the perimeter
    const double *load;   // of the link's capacity, from at[i] to at[i + 1]
    const uint32_t *code; // likewise
    const uint8_t *jumps; // which way some job's demand jumps at at[i]
    double excess;        // part of the circle's area above capacity
};

void profile_shape(struct shape *shape, const struct circle_job *job, uint32_t angle_count,
                   struct weft_arena *arena);
bool profile_same_shape(const struct shape *a, const struct shape *b);
// A circle without jobs; `code` is that of a cell of which nothing is known.
void profile_empty(struct profile *profile, uint64_t perimeter, uint32_t code,
                   struct weft_arena *arena);
// The profile with one more job, `shift` ticks late, whose open digit becomes that of its load.
// O(steps + jumps).
void profile_add(struct profile *sum, const struct profile *profile, const struct shape *shape,
                 uint64_t shift, struct weft_arena *arena);
// What each load of the shape adds to the excess, summed up along the profile: per load count + 1
// sums. O(steps * loads).
double *profile_sums(const struct profile *profile, const struct shape *shape,
                     struct weft_arena *arena);
// What the shape adds to the excess at a shift. O(arcs * repeats * log steps).
double profile_price(const struct profile *profile, const double *sums, const struct shape *shape,
                     uint64_t shift);
// The bound of bound.h on the excess, whatever the jobs do whose digits are open.
double profile_least(const struct profile *profile, const struct rest_table *table);

#endif
