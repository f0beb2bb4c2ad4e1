// SPDX-License-Identifier: Apache-2.0
// The published choice of circuits, for comparison (MixNet, SIGCOMM 2025, algorithm 1): D = E + E',
// the pair with the largest remaining time gets a circuit. Pairs without one count as infinitely
// late, so that distinct pairs come first; what happens where an end has no port free is read in
// three ways. Each pair then goes over its circuits, or over packets where it has none: none is
// divided. O(circuits n^2).

#include "weft/plan/mixnet.h"

#include <math.h>

const char *weft_greedy_name(enum weft_greedy_reading reading)
{
    static const char *const names[] = {"literal", "skips", "released"};
    WEFT_ASSERT(reading < WEFT_GREEDY_COUNT);
    return names[reading];
}

struct greedy {
    uint32_t n;
    bool distinct; // pairs without a circuit come first
    const uint32_t *circuits;
    const double *late;
};

// The pair that is latest. False where nothing is left.
static bool find_latest(uint32_t *i, uint32_t *j, const struct greedy *greedy)
{
    double most = 0;
    bool fresh = false;
    for (uint32_t a = 0; a < greedy->n; a++) {
        for (uint32_t b = a + 1; b < greedy->n; b++) {
            size_t at = (size_t)a * greedy->n + b;
            bool none = greedy->distinct && greedy->circuits[at] == 0 && greedy->late[at] > 0;
            if (none > fresh || (none == fresh && greedy->late[at] > most)) {
                most = greedy->late[at];
                fresh = none;
                *i = a;
                *j = b;
            }
        }
    }
    return most > 0;
}

void weft_mixnet_greedy(uint32_t *circuits, const double *bytes, uint32_t node_count,
                        uint32_t circuit_ports, enum weft_greedy_reading reading,
                        struct weft_arena scratch)
{
    uint32_t n = node_count;
    double *both = WEFT_NEW(&scratch, double, (size_t)n *n);
    double *late = WEFT_NEW(&scratch, double, (size_t)n *n);
    uint32_t *free = WEFT_NEW(&scratch, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        free[i] = circuit_ports;
        for (uint32_t j = 0; j < n; j++) {
            size_t at = (size_t)i * n + j;
            circuits[at] = 0;
            both[at] = i == j ? 0 : bytes[at] + bytes[(size_t)j * n + i];
            late[at] = both[at];
        }
    }
    uint32_t i = 0;
    uint32_t j = 0;
    const struct greedy greedy = {n, reading != WEFT_GREEDY_RELEASED, circuits, late};
    while (find_latest(&i, &j, &greedy)) {
        size_t at = (size_t)i * n + j;
        if (free[i] == 0 || free[j] == 0) {
            if (reading == WEFT_GREEDY_LITERAL) {
                return;
            }
            late[at] = 0;
            continue;
        }
        free[i]--;
        free[j]--;
        circuits[at]++;
        circuits[(size_t)j * n + i]++;
        late[at] = reading == WEFT_GREEDY_RELEASED ? late[at] / (100.0 * circuits[at])
                                                   : both[at] / circuits[at];
    }
}

double weft_mixnet_whole_time(const uint32_t *circuits, const double *bytes, uint32_t node_count,
                              double packet_ports)
{
    uint32_t n = node_count;
    double latest = 0;
    for (uint32_t i = 0; i < n; i++) {
        double out = 0;
        double in = 0;
        for (uint32_t j = 0; j < n; j++) {
            size_t there = (size_t)i * n + j;
            size_t back = (size_t)j * n + i;
            if (i == j) {
                continue;
            }
            if (circuits[there] > 0) {
                latest = fmax(latest, bytes[there] / circuits[there]);
                continue;
            }
            out += bytes[there];
            in += bytes[back];
        }
        double most = fmax(out, in);
        latest = fmax(latest, most > 0 ? most / packet_ports : 0);
    }
    return latest;
}
