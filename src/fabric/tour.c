// SPDX-License-Identifier: Apache-2.0
// Short tours by nearest neighbor and 2-opt (Croes, "A method for solving traveling-salesman
// problems", Operations Research 1958): a ring over servers that have links only to some crosses
// fewer of them in such an order than in that of their numbers. O(members^2) a pass.

#include "weft/fabric.h"

// Sweeps of 2-opt at most: it ends as soon as one gains nothing. Not measured.
#define PASSES_MAX 20

// What the tour costs there and back.
static uint32_t both(const uint16_t *hops, uint32_t n, uint32_t a, uint32_t b)
{
    return (uint32_t)hops[(size_t)a * n + b] + hops[(size_t)b * n + a];
}

static void walk_nearest(uint32_t *order, uint32_t count, const uint16_t *hops, uint32_t n)
{
    for (uint32_t i = 1; i < count; i++) {
        uint32_t best = i;
        for (uint32_t j = i + 1; j < count; j++) {
            if (both(hops, n, order[i - 1], order[j]) < both(hops, n, order[i - 1], order[best])) {
                best = j;
            }
        }
        uint32_t swap = order[i];
        order[i] = order[best];
        order[best] = swap;
    }
}

// One sweep over all pairs of edges; whether any exchange made the tour shorter.
static bool exchange_edges(uint32_t *order, uint32_t count, const uint16_t *hops, uint32_t n)
{
    bool shorter = false;
    for (uint32_t i = 0; i + 2 < count; i++) {
        for (uint32_t j = i + 2; j < count && !(i == 0 && j + 1 == count); j++) {
            uint32_t a = order[i];
            uint32_t b = order[i + 1];
            uint32_t c = order[j];
            uint32_t d = order[(j + 1) % count];
            if (both(hops, n, a, c) + both(hops, n, b, d) <
                both(hops, n, a, b) + both(hops, n, c, d)) {
                for (uint32_t x = i + 1, y = j; x < y; x++, y--) {
                    uint32_t swap = order[x];
                    order[x] = order[y];
                    order[y] = swap;
                }
                shorter = true;
            }
        }
    }
    return shorter;
}

void weft_routes_tour(uint32_t *order, uint32_t count, const uint16_t *hops, uint32_t n)
{
    walk_nearest(order, count, hops, n);
    for (int pass = 0; pass < PASSES_MAX && exchange_edges(order, count, hops, n); pass++) {
    }
}
