// SPDX-License-Identifier: Apache-2.0
// Lower bounds on the wavelengths of a ring, the cheap ones: no one of them is best everywhere.

#include "circuit/ring.h"

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t over(uint64_t count, uint64_t each)
{
    return (uint32_t)((count + each - 1) / each);
}

// Arcs on each segment of a fiber, those alone that lie on it.
static void count_loads(uint32_t *loads, const struct ring_work *work, uint32_t fiber)
{
    WEFT_ASSERT(work->wavelengths > 0 && work->ring > 0);
    for (uint32_t a = 0; a < work->arc_count; a++) {
        const struct weft_ring_arc *arc = &work->ways[fiber][a];
        for (uint32_t i = 0; work->colors[a] / work->wavelengths == fiber && i < arc->hops; i++) {
            loads[(arc->start + i) % work->ring]++;
        }
    }
}

uint32_t ring_load(const struct ring_work *work, struct weft_arena scratch)
{
    uint32_t most = 0;
    for (uint32_t f = 0; f < work->fiber_count; f++) {
        uint32_t *loads = WEFT_NEW(&scratch, uint32_t, work->ring);
        count_loads(loads, work, f);
        for (uint32_t s = 0; s < work->ring; s++) {
            most = loads[s] > most ? loads[s] : most;
        }
    }
    return most;
}

// Arcs that all meet: each in turn, with whoever meets all of them so far. Of one fiber.
static uint32_t bound_by_clique(const struct ring_work *work, struct weft_arena scratch)
{
    uint32_t most = 0;
    uint32_t *clique = WEFT_NEW(&scratch, uint32_t, work->arc_count);
    for (uint32_t first = 0; first < work->arc_count; first++) {
        uint32_t count = 1;
        clique[0] = first;
        for (uint32_t i = 1; i < work->arc_count; i++) {
            uint32_t a = (first + i) % work->arc_count;
            uint32_t met = 0;
            while (met < count && ring_meet(work, 0, a, clique[met])) {
                met++;
            }
            if (met == count) {
                clique[count++] = a;
            }
        }
        most = larger(most, count);
    }
    return most;
}

// A wavelength has room for ring / h arcs of h hops or more, and for no more arcs than the most
// that are disjoint. Of one fiber.
static uint32_t bound_by_room(const struct ring_work *work, struct weft_arena scratch)
{
    uint32_t n = work->ring;
    uint32_t *longer = WEFT_NEW(&scratch, uint32_t, n + 1);
    uint32_t *nearest = WEFT_NEW(&scratch, uint32_t, n); // hops to the first end of those behind
    uint32_t most = 0;
    uint32_t disjoint = 0;
    for (uint32_t s = 0; s < n; s++) {
        nearest[s] = 2 * n;
    }
    for (uint32_t a = 0; a < work->arc_count; a++) {
        const struct weft_ring_arc *arc = &work->ways[0][a];
        longer[arc->hops]++;
        nearest[arc->start] = arc->hops < nearest[arc->start] ? arc->hops : nearest[arc->start];
    }
    for (uint32_t h = n; h-- > 1;) {
        longer[h] += longer[h + 1];
        most = larger(most, over(longer[h], n / h));
    }
    // Twice round, as the first node needs what the last one has.
    for (uint32_t i = 2 * n; i-- > 0;) {
        uint32_t next = nearest[(i + 1) % n] + 1;
        nearest[i % n] = next < nearest[i % n] ? next : nearest[i % n];
    }
    for (uint32_t s = 0; s < n; s++) {
        uint32_t count = 0;
        for (uint32_t gone = nearest[s]; gone <= n; gone += nearest[(s + gone) % n]) {
            count++;
        }
        disjoint = larger(disjoint, count);
    }
    return disjoint == 0 ? most : larger(most, over(work->arc_count, disjoint));
}

uint32_t ring_bound(const struct ring_work *work, struct weft_arena scratch)
{
    uint32_t bound = ring_load(work, scratch);
    bound = larger(bound, bound_by_clique(work, scratch));
    return larger(bound, bound_by_room(work, scratch));
}
