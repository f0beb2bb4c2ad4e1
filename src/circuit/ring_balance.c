// SPDX-License-Identifier: Apache-2.0
// Which way round each arc of a ring goes, by prices of segments.
//
// Whatever the ways, an arc pays at least the cheaper of its two ways, and with prices that sum to
// 1 all arcs together pay at most the load of the busiest segment: the dual of the fractional
// problem, which holds for any prices. A wavelength has room for one arc over half the ring and for
// two over a third, too: a further "segment" each, which such arcs load by 1 and 1/2. Prices follow
// loads (Garg and Koenemann, "Faster and simpler algorithms for multicommodity flow", SIAM J.
// Comput. 2007).

#include "circuit/ring.h"

#include <math.h>
#include <string.h>

// Measured on 300 rings of 64 nodes and 200 arcs: ten times the rounds raise the bound by 0.2 %.
#define ROUNDS 2000u
#define STEEPNESS 200.0
// By how much a segment with one arc more weighs more, when ways are chosen for good.
#define WEIGHT 2.0

// Rooms for long arcs behind the segments of a fiber.
enum { ROOMS = 2 };

struct balance {
    const struct ring_work *work;
    double *load[2];  // of each segment and room, summed over rounds
    double *price[2]; // before the segment: prefix sums twice round, ring * 2 + 1
    double room_price[2][ROOMS];
};

// What an arc loads a room by: one over 1/2 of the ring the first by 1, one over 1/3 the second by
// 1/2.
static double room_share(uint32_t hops, uint32_t ring, uint32_t room)
{
    return (uint64_t)hops * (room + 2) > ring ? 1.0 / (room + 1) : 0;
}

static double price_of(const struct balance *self, uint32_t fiber, uint32_t arc)
{
    const struct weft_ring_arc *way = &self->work->ways[fiber][arc];
    double price = self->price[fiber][way->start + way->hops] - self->price[fiber][way->start];
    for (uint32_t r = 0; r < ROOMS; r++) {
        price += self->room_price[fiber][r] * room_share(way->hops, self->work->ring, r);
    }
    return price;
}

static void add(double *load, const struct weft_ring_arc *way, uint32_t ring, double by)
{
    for (uint32_t i = 0; i < way->hops; i++) {
        load[(way->start + i) % ring] += by;
    }
    for (uint32_t r = 0; r < ROOMS; r++) {
        load[ring + r] += by * room_share(way->hops, ring, r);
    }
}

// Prices by exp(STEEPNESS * load / largest load), or by WEIGHT^load; they sum to the returned
// value.
static double set_prices(struct balance *self, double most, double steepness)
{
    uint32_t ring = self->work->ring;
    double sum = 0;
    WEFT_ASSERT(ring > 0);
    for (uint32_t f = 0; f < 2; f++) {
        for (uint32_t s = 0; s < 2 * ring; s++) {
            double price = exp(steepness * (self->load[f][s % ring] - most));
            self->price[f][s + 1] = self->price[f][s] + price;
            sum += s < ring ? price : 0;
        }
        for (uint32_t r = 0; r < ROOMS; r++) {
            self->room_price[f][r] = exp(steepness * (self->load[f][ring + r] - most));
            sum += self->room_price[f][r];
        }
    }
    return sum;
}

static double largest(const struct balance *self)
{
    double most = 0;
    for (uint32_t s = 0; s < self->work->ring + ROOMS; s++) {
        most = fmax(most, fmax(self->load[0][s], self->load[1][s]));
    }
    return most;
}

// Arcs turn while that makes all segments together lighter.
static void improve(struct balance *self)
{
    const struct ring_work *work = self->work;
    for (bool better = true; better && !weft_stopped(work->options->stop);) {
        better = false;
        for (uint32_t a = 0; a < work->arc_count; a++) {
            uint32_t way = work->colors[a];
            set_prices(self, largest(self), log(WEIGHT));
            // One arc fewer takes half of a segment's weight away; one more doubles it.
            if (price_of(self, 1 - way, a) * (WEIGHT - 1) <
                price_of(self, way, a) * (1 - 1 / WEIGHT) * (1 - 1e-9)) {
                add(self->load[way], &work->ways[way][a], work->ring, -1);
                add(self->load[1 - way], &work->ways[1 - way][a], work->ring, 1);
                work->colors[a] = 1 - way;
                better = true;
            }
        }
    }
}

uint32_t ring_balance(const struct ring_work *work, struct weft_arena scratch)
{
    struct balance self = {.work = work};
    uint32_t *turns = WEFT_NEW(&scratch, uint32_t, work->arc_count);
    double bound = 0;
    double most = 0;
    for (uint32_t f = 0; f < 2; f++) {
        self.load[f] = WEFT_NEW(&scratch, double, (size_t)work->ring + ROOMS);
        self.price[f] = WEFT_NEW(&scratch, double, 2 * (size_t)work->ring + 1);
    }
    for (uint32_t round = 0; round < ROUNDS && !weft_stopped(work->options->stop); round++) {
        double paid = 0;
        double sum = set_prices(&self, most, most > 0 ? STEEPNESS / most : 0);
        for (uint32_t a = 0; a < work->arc_count; a++) {
            uint32_t way = price_of(&self, 1, a) < price_of(&self, 0, a);
            paid += price_of(&self, way, a);
            add(self.load[way], &work->ways[way][a], work->ring, 1);
            turns[a] += way;
        }
        bound = fmax(bound, paid / sum);
        most = largest(&self);
    }
    memset(self.load[0], 0, (work->ring + ROOMS) * sizeof(double));
    memset(self.load[1], 0, (work->ring + ROOMS) * sizeof(double));
    for (uint32_t a = 0; a < work->arc_count; a++) {
        work->colors[a] = 2 * turns[a] > ROUNDS;
        add(self.load[work->colors[a]], &work->ways[work->colors[a]][a], work->ring, 1);
    }
    improve(&self);
    return (uint32_t)ceil(bound * (1 - 1e-9));
}
