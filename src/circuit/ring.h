// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CIRCUIT_RING_H
#define WEFT_CIRCUIT_RING_H

// What the steps of coloring a ring share: arcs as they lie on both fibers, and a coloring of them.
// Color c of 2 * wavelengths is wavelength c of the first fiber, or c - wavelengths of the second;
// with one fiber there are half as many.

#include "weft/circuit.h"

struct ring_work {
    uint32_t ring;
    uint32_t arc_count;
    uint32_t fiber_count;
    const struct weft_ring_arc *ways[2]; // on each fiber, both clockwise
    uint32_t wavelengths;
    uint32_t *colors; // per arc; WEFT_NONE = none yet
    const struct weft_ring_options *options;
    struct weft_rng rng;
};

static inline bool ring_meet(const struct ring_work *work, uint32_t fiber, uint32_t a, uint32_t b)
{
    const struct weft_ring_arc *x = &work->ways[fiber][a];
    const struct weft_ring_arc *y = &work->ways[fiber][b];
    uint32_t ahead = y->start >= x->start ? y->start - x->start : y->start + work->ring - x->start;
    return ahead < x->hops || work->ring - ahead < y->hops;
}

// Where arcs may turn: a way for each, as color 0 or 1, that keeps the load of the busiest segment
// low, and a bound on that load whatever the ways. O(rounds (arcs + ring)).
uint32_t ring_balance(const struct ring_work *work, struct weft_arena scratch);
// Colors by a cut at the node that the fewest arcs pass, those first, then by start; each takes the
// first wavelength that is free. Takes ways, as color 0 or 1, and sets wavelengths. O(arcs
// wavelengths ring / 64).
void ring_cut(struct ring_work *work, struct weft_arena scratch);
// Gives up wavelengths one by one while a search succeeds, down to `bound`.
void ring_give_up(struct ring_work *work, uint32_t bound, struct weft_arena scratch);
// Searches for a coloring with one wavelength fewer; takes it and returns true. *closed: there is
// none.
bool ring_prove(struct ring_work *work, bool *closed, struct weft_arena scratch) WEFT_MUST_USE;

// Most arcs on one segment, as they lie.
uint32_t ring_load(const struct ring_work *work, struct weft_arena scratch);
// No coloring of the first fiber has fewer wavelengths. O(arcs^2 largest clique).
uint32_t ring_bound(const struct ring_work *work, struct weft_arena scratch);

#endif
