// SPDX-License-Identifier: Apache-2.0
// Wavelengths on rings: the first coloring, and the order of the steps.

#include "circuit/ring.h"

#include <stdlib.h>
#include <string.h>

// Segments of a ring, a bit each.
static uint64_t *row(uint64_t *masks, uint32_t words, uint32_t color)
{
    return masks + (size_t)color * words;
}

static bool is_free(const uint64_t *mask, const struct weft_ring_arc *arc, uint32_t ring)
{
    for (uint32_t i = 0; i < arc->hops; i++) {
        uint32_t segment = (arc->start + i) % ring;
        if ((mask[segment / 64] >> segment % 64 & 1) != 0) {
            return false;
        }
    }
    return true;
}

static void take(uint64_t *mask, const struct weft_ring_arc *arc, uint32_t ring)
{
    for (uint32_t i = 0; i < arc->hops; i++) {
        uint32_t segment = (arc->start + i) % ring;
        mask[segment / 64] |= 1ull << segment % 64;
    }
}

// An arc in the order of coloring: behind the cut, how far from it.
struct place {
    uint32_t from_cut; // 0 where it lies across
    uint32_t arc;
};

static int by_place(const void *a, const void *b)
{
    const struct place *x = a;
    const struct place *y = b;
    return x->from_cut != y->from_cut ? (x->from_cut > y->from_cut) - (x->from_cut < y->from_cut)
                                      : (x->arc > y->arc) - (x->arc < y->arc);
}

// The node at which the fewest arcs pass on, and the arcs of the fiber in the order from there.
static uint32_t order_arcs(struct place *places, const struct ring_work *work, uint32_t fiber,
                           struct weft_arena scratch)
{
    const struct weft_ring_arc *arcs = work->ways[fiber];
    uint32_t *passing = WEFT_NEW(&scratch, uint32_t, work->ring);
    uint32_t cut = 0;
    uint32_t count = 0;
    WEFT_ASSERT(work->ring > 0);
    for (uint32_t a = 0; a < work->arc_count; a++) {
        for (uint32_t i = 1; work->colors[a] == fiber && i < arcs[a].hops; i++) {
            passing[(arcs[a].start + i) % work->ring]++;
        }
    }
    for (uint32_t v = 0; v < work->ring; v++) {
        cut = passing[v] < passing[cut] ? v : cut;
    }
    for (uint32_t a = 0; a < work->arc_count; a++) {
        if (work->colors[a] == fiber) {
            uint32_t from = (arcs[a].start + work->ring - cut) % work->ring;
            places[count++] = (struct place){from + arcs[a].hops > work->ring ? 0 : from + 1, a};
        }
    }
    qsort(places, count, sizeof places[0], by_place);
    return count;
}

// Colors one fiber; work->colors has the fiber of each arc, `found` gets wavelengths. Returns how
// many.
static uint32_t cut_fiber(uint32_t *found, const struct ring_work *work, uint32_t fiber,
                          struct weft_arena scratch)
{
    struct place *places = WEFT_NEW(&scratch, struct place, work->arc_count);
    uint32_t count = order_arcs(places, work, fiber, scratch);
    uint32_t words = (work->ring + 63) / 64;
    uint64_t *masks = WEFT_NEW(&scratch, uint64_t, (size_t)count * words);
    uint32_t used = 0;
    for (uint32_t p = 0; p < count; p++) {
        const struct weft_ring_arc *arc = &work->ways[fiber][places[p].arc];
        uint32_t color = 0;
        while (color < used && !is_free(row(masks, words, color), arc, work->ring)) {
            color++;
        }
        used += color == used;
        take(row(masks, words, color), arc, work->ring);
        found[places[p].arc] = color;
    }
    return used;
}

void ring_cut(struct ring_work *work, struct weft_arena scratch)
{
    uint32_t *found = WEFT_NEW(&scratch, uint32_t, work->arc_count);
    work->wavelengths = 0;
    for (uint32_t f = 0; f < work->fiber_count; f++) {
        uint32_t used = cut_fiber(found, work, f, scratch);
        work->wavelengths = used > work->wavelengths ? used : work->wavelengths;
    }
    for (uint32_t a = 0; a < work->arc_count; a++) {
        work->colors[a] = work->colors[a] * work->wavelengths + found[a];
    }
}

void weft_circuit_color_ring(struct weft_ring_coloring *coloring, const struct weft_ring_arc *arcs,
                             uint32_t arc_count, uint32_t ring,
                             const struct weft_ring_options *options, struct weft_arena *arena,
                             struct weft_arena scratch)
{
    struct weft_ring_arc *turned = WEFT_NEW(&scratch, struct weft_ring_arc, arc_count);
    for (uint32_t a = 0; a < arc_count; a++) {
        WEFT_ASSERT(arcs[a].start < ring && arcs[a].hops >= 1 && arcs[a].hops < ring);
        turned[a] =
            (struct weft_ring_arc){(arcs[a].start + arcs[a].hops) % ring, ring - arcs[a].hops};
    }
    struct ring_work work = {
        .ring = ring,
        .arc_count = arc_count,
        .fiber_count = options->both_ways ? 2 : 1,
        .ways = {arcs, turned},
        .colors = WEFT_NEW(arena, uint32_t, arc_count),
        .options = options,
    };
    weft_rng_init(&work.rng, options->seed);
    uint32_t bound = options->both_ways ? ring_balance(&work, scratch) : 0;
    ring_cut(&work, scratch);
    bound = options->both_ways ? bound : ring_bound(&work, scratch);
    ring_give_up(&work, bound, scratch);
    bool closed = false;
    while (work.wavelengths > bound && ring_prove(&work, &closed, scratch)) {
    }
    *coloring = (struct weft_ring_coloring){
        .wavelengths = work.wavelengths,
        .load = ring_load(&work, scratch),
        .bound = closed ? work.wavelengths : bound,
        .colors = work.colors,
        .turned = WEFT_NEW(arena, bool, arc_count),
    };
    for (uint32_t a = 0; a < arc_count; a++) {
        coloring->turned[a] = work.colors[a] >= work.wavelengths;
        work.colors[a] %= work.wavelengths;
    }
}
