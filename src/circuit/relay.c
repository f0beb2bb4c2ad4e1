// SPDX-License-Identifier: Apache-2.0
// Two-hop relays for an all-to-all over circuits and packets: what a pair's own circuits and its
// ends' packet ports cannot carry in time goes through a third node whose ports have room.
//
// For a time T the pair (i, j) has circuits for c T bytes; what is left of its bytes burdens the
// packet ports of i and of j, which carry packet_ports T. A node that is burdened with more hands
// the surplus on: over circuits to a third node and from there over circuits, which frees both
// ends, or over circuits and packets, which frees one. The least T is found by bisection between
// the ideal switch and the time without relays. The choice of third nodes is greedy, so the time is
// one that can be had and not always the least.

#include "weft/circuit.h"

#include <math.h>
#include <string.h>

#define HALVINGS 30u
// Of a port's bytes: what rounding may leave over.
#define TOLERANCE 1e-9

struct relays {
    const double *bytes;
    const uint32_t *circuits;
    uint32_t n;
    const struct weft_split_options *options;
    double *slack; // per pair: what its circuits could still carry
    double *left;  // per pair: what packets have to carry
    double *room;  // of packet ports: n ways out, then n ways in; negative: more than they carry
    struct weft_relay *list; // NULL: not asked for
    uint32_t count, limit;
};

static void note(struct relays *self, struct weft_relay relay)
{
    if (self->list != NULL && self->count < self->limit) {
        self->list[self->count] = relay;
    }
    self->count++;
}

static double packets_of(const struct relays *self, uint32_t node)
{
    return self->options->node_packets != NULL ? self->options->node_packets[node]
                                               : self->options->packet_ports;
}

// What circuits carry of each pair by themselves in `time`.
static void lay_direct(struct relays *self, double time)
{
    uint32_t n = self->n;
    self->count = 0;
    for (uint32_t i = 0; i < n; i++) {
        self->room[i] = packets_of(self, i) * time;
        self->room[n + i] = self->room[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            size_t at = (size_t)i * n + j;
            double over = i == j ? 0 : self->bytes[at] - self->circuits[at] * time;
            self->left[at] = fmax(0, over);
            self->slack[at] = fmax(0, -over);
            self->room[i] -= self->left[at];
            self->room[n + j] -= self->left[at];
        }
    }
}

// Over circuits both ways: the packet ports of both ends are freed.
static void relay_by_circuits(struct relays *self, uint32_t i, uint32_t j, double want)
{
    uint32_t n = self->n;
    size_t pair = (size_t)i * n + j;
    want = fmin(want, self->left[pair]);
    for (uint32_t k = 0; k < n && want > 0; k++) {
        size_t first = (size_t)i * n + k;
        size_t second = (size_t)k * n + j;
        double moved = fmin(want, fmin(self->slack[first], self->slack[second]));
        if (k == i || k == j || moved <= 0) {
            continue;
        }
        self->slack[first] -= moved;
        self->slack[second] -= moved;
        self->left[pair] -= moved;
        self->room[i] += moved;
        self->room[n + j] += moved;
        want -= moved;
        note(self, (struct weft_relay){i, k, j, WEFT_RELAY_CIRCUITS, moved});
    }
}

// One hop over circuits, the other over packets: the end with the circuits is freed, and the third
// node's packet ports carry on. `out`: the first hop is the one over circuits.
static void relay_by_packets(struct relays *self, uint32_t i, uint32_t j, bool out)
{
    uint32_t n = self->n;
    size_t pair = (size_t)i * n + j;
    double *end = &self->room[out ? i : n + j];
    for (uint32_t k = 0; k < n && *end < 0 && self->left[pair] > 0; k++) {
        double *slack = &self->slack[out ? (size_t)i * n + k : (size_t)k * n + j];
        double *third = &self->room[out ? k : n + k];
        double moved = fmin(fmin(-*end, self->left[pair]), fmin(*slack, *third));
        if (k == i || k == j || moved <= 0) {
            continue;
        }
        *slack -= moved;
        *third -= moved;
        *end += moved;
        self->left[pair] -= moved;
        note(self, (struct weft_relay){
                       i, k, j, out ? WEFT_RELAY_PACKETS_LAST : WEFT_RELAY_PACKETS_FIRST, moved});
    }
}

// Pairs with both ends overburdened first, since one relay frees both.
static bool fits(struct relays *self, double time)
{
    uint32_t n = self->n;
    lay_direct(self, time);
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < n; i++) {
            for (uint32_t j = 0; j < n; j++) {
                double out = -self->room[i];
                double in = -self->room[n + j];
                double want = pass == 0 ? fmin(out, in) : fmax(out, in);
                if (i != j && want > 0) {
                    relay_by_circuits(self, i, j, want);
                }
            }
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            if (i != j) {
                relay_by_packets(self, i, j, true);
                relay_by_packets(self, i, j, false);
            }
        }
    }
    for (uint32_t v = 0; v < 2 * n; v++) {
        if (self->room[v] < -TOLERANCE * fmax(packets_of(self, v % n), 1) * time) {
            return false;
        }
    }
    return true;
}

void weft_circuit_relay(struct weft_relay_plan *plan, const uint32_t *circuits, const double *bytes,
                        uint32_t node_count, const struct weft_split_options *options,
                        struct weft_arena *arena, struct weft_arena scratch)
{
    uint32_t n = node_count;
    size_t cells = (size_t)n * n;
    struct relays self = {
        .bytes = bytes,
        .circuits = circuits,
        .n = n,
        .options = options,
        .slack = WEFT_NEW(&scratch, double, cells),
        .left = WEFT_NEW(&scratch, double, cells),
        .room = WEFT_NEW(&scratch, double, 2 * (size_t)n),
    };
    double high = weft_circuit_split_time(circuits, bytes, n, options);
    double low = weft_circuit_ideal_time(bytes, n, options);
    WEFT_ASSERT(high < (double)INFINITY);
    if (low > 0 && fits(&self, low)) {
        high = low;
    }
    for (uint32_t step = 0; step < HALVINGS && high > low * (1 + 1e-7); step++) {
        double middle = (low + high) / 2;
        if (fits(&self, middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    *plan = (struct weft_relay_plan){.time = high};
    if (arena != NULL && high > 0) {
        bool fine = fits(&self, high);
        WEFT_ASSERT(fine);
        self.limit = self.count;
        self.list = WEFT_NEW(arena, struct weft_relay, (size_t)self.count + 1);
        fine = fits(&self, high);
        WEFT_ASSERT(fine && self.count == self.limit);
        plan->relay_count = self.count;
        plan->relays = self.list;
    }
}
