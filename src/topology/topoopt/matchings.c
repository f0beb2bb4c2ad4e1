// SPDX-License-Identifier: Apache-2.0
// Matching rounds for the transfers, and pairs for ports that would stay dark.
//
// Each round joins the pairs of a maximum-weight matching of the demand left (Edmonds' blossom, in
// weft/graph.h, O(n^3)) and halves what they have left, so that heavy pairs may be joined again
// (TopoOpt, algorithm 1, step 3). Ports that no ring and no matching took would be wasted: they are
// matched by the hops that joining them saves.

#include "topology/internal.h"

#include <math.h>
#include <string.h>

// Integer weights keep this many bits of the heaviest demand, so that sums of n/2 stay below 2^60.
#define WEIGHT_BITS 44
// Beyond this many dark servers on a plane they are paired without a matching, in O(n) instead of
// O(n^3).
#define DARK_MATCH_MAX 512u

uint32_t weft_topology_match_rounds(uint32_t *planes, const double *transfer_bytes,
                                    uint32_t server_count, uint32_t first_plane,
                                    uint32_t round_count, struct weft_arena scratch)
{
    uint32_t n = server_count;
    double *demand = WEFT_NEW_RAW(&scratch, double, (size_t)n *n);
    int64_t *weights = WEFT_NEW_RAW(&scratch, int64_t, (size_t)n * n);
    uint32_t *mate = WEFT_NEW_RAW(&scratch, uint32_t, n);
    double heaviest = 0;
    for (uint32_t u = 0; u < n; u++) {
        for (uint32_t v = 0; v < n; v++) {
            double both = transfer_bytes[(size_t)u * n + v] + transfer_bytes[(size_t)v * n + u];
            demand[(size_t)u * n + v] = u == v ? 0 : both;
            heaviest = fmax(heaviest, demand[(size_t)u * n + v]);
        }
    }
    double scale = heaviest > 0 ? ldexp(1, WEIGHT_BITS) / heaviest : 0;
    for (uint32_t round = 0; round < round_count; round++) {
        for (size_t i = 0; i < (size_t)n * n; i++) {
            weights[i] = (int64_t)llround(demand[i] * scale);
        }
        if (weft_graph_match(mate, n, weights, scratch) == 0) {
            return round;
        }
        memcpy(planes + (size_t)(first_plane + round) * n, mate, n * sizeof *mate);
        for (uint32_t v = 0; v < n; v++) {
            demand[(size_t)v * n + mate[v]] /= 2;
        }
    }
    return round_count;
}

// What joining u and v is worth: the hops it saves both ways; a cable beside another still counts.
static int64_t saving(const uint16_t *distance, uint32_t n, uint32_t u, uint32_t v)
{
    uint32_t there = distance[(size_t)u * n + v];
    uint32_t back = distance[(size_t)v * n + u];
    there = there == WEFT_GRAPH_UNREACHED ? n : there;
    back = back == WEFT_GRAPH_UNREACHED ? n : back;
    return 1 + (int64_t)n * (there + back - 2);
}

static void match_dark(uint32_t *plane, const uint32_t *dark, uint32_t dark_count,
                       const uint16_t *distance, uint32_t n, struct weft_arena scratch)
{
    int64_t *weights = WEFT_NEW(&scratch, int64_t, (size_t)dark_count * dark_count);
    uint32_t *mate = WEFT_NEW_RAW(&scratch, uint32_t, dark_count);
    for (uint32_t i = 0; i < dark_count; i++) {
        for (uint32_t j = 0; j < dark_count; j++) {
            if (i != j) {
                weights[(size_t)i * dark_count + j] = saving(distance, n, dark[i], dark[j]);
            }
        }
    }
    weft_graph_match(mate, dark_count, weights, scratch);
    for (uint32_t i = 0; i < dark_count; i++) {
        plane[dark[i]] = dark[mate[i]];
    }
}

void weft_topology_light_dark(uint32_t *planes, uint32_t server_count, uint32_t degree,
                              struct weft_arena scratch)
{
    uint32_t n = server_count;
    uint32_t *dark = WEFT_NEW_RAW(&scratch, uint32_t, n);
    for (uint32_t p = 0; p < degree; p++) {
        uint32_t *plane = planes + (size_t)p * n;
        uint32_t dark_count = 0;
        for (uint32_t v = 0; v < n; v++) {
            if (plane[v] == v) {
                dark[dark_count++] = v;
            }
        }
        if (dark_count < 2) {
            continue;
        }
        if (dark_count > DARK_MATCH_MAX) {
            for (uint32_t i = 0; i < dark_count / 2; i++) {
                plane[dark[i]] = dark[i + dark_count / 2];
                plane[dark[i + dark_count / 2]] = dark[i];
            }
            continue;
        }
        struct weft_arena work = scratch;
        uint16_t *distance = WEFT_NEW_RAW(&work, uint16_t, (size_t)n * n);
        struct weft_graph graph;
        weft_topology_graph(&graph, planes, n, degree, &work);
        weft_graph_all_hops(distance, &graph, work);
        match_dark(plane, dark, dark_count, distance, n, work);
    }
}
