// SPDX-License-Identifier: Apache-2.0
// What any placement of a slice's units costs at least, before the search begins.
//
// Edges between servers: all edges but those that units on one server can have among them. With m
// units a server has at most the most edges of any m units; a knapsack over the servers' room gives
// the most of all. Each edge between servers is at least as long as the least distance of two
// servers with room. Where a server has room for one unit alone, its neighbors sit on as many
// different servers, so that it costs the sum of that many least distances; the units take the
// cheapest servers, and each edge is counted at both ends.

#include "bounds.h"

#include <string.h>

// Most edges inside servers, over all ways to fill them with the units; WEFT_NONE = no room.
static uint32_t inner_most(const struct rack_shape *shape, const uint32_t *room,
                           uint32_t server_count, struct weft_arena scratch)
{
    uint32_t n = shape->unit_count;
    uint32_t most = 0;
    for (uint32_t s = 0; s < server_count; s++) {
        most = room[s] > most ? room[s] : most;
    }
    most = most < n ? most : n;
    uint32_t *inner = WEFT_NEW(&scratch, uint32_t, (size_t)most + 1);
    for (uint32_t m = 0; m <= most; m++) {
        inner[m] = rack_shape_inner(shape, m, scratch);
    }
    uint32_t *best = WEFT_NEW(&scratch, uint32_t, (size_t)n + 1); // by units, WEFT_NONE = cannot
    memset(best, 0xff, ((size_t)n + 1) * sizeof *best);
    best[0] = 0;
    for (uint32_t s = 0; s < server_count; s++) {
        for (uint32_t units = n; units >= 1; units--) {
            for (uint32_t m = 1; m <= room[s] && m <= units; m++) {
                uint32_t before = best[units - m];
                if (before != WEFT_NONE &&
                    (best[units] == WEFT_NONE || before + inner[m] > best[units])) {
                    best[units] = before + inner[m];
                }
            }
        }
    }
    return best[n];
}

static void insert(uint32_t *values, uint32_t count, uint32_t value)
{
    uint32_t i = count;
    for (; i > 0 && values[i - 1] > value; i--) {
        values[i] = values[i - 1];
    }
    values[i] = value;
}

// For servers with room for one unit: half the sum over the cheapest servers of their least
// distances to as many others as a unit has edges.
static uint32_t spread_least(const struct rack_shape *shape, const uint32_t *room,
                             const uint8_t *distance, uint32_t server_count)
{
    uint32_t degree = shape->first[1] - shape->first[0];
    uint32_t costs[WEFT_RACK_SERVERS_MAX + 1];
    uint32_t count = 0;
    for (uint32_t s = 0; s < server_count; s++) {
        uint32_t distances[WEFT_RACK_SERVERS_MAX + 1];
        uint32_t others = 0;
        for (uint32_t t = 0; t < server_count; t++) {
            if (room[t] > 1) {
                return 0;
            }
            if (room[s] > 0 && room[t] > 0 && s != t && distance[s * server_count + t] < RACK_FAR) {
                insert(distances, others++, distance[s * server_count + t]);
            }
        }
        if (room[s] > 0 && others >= degree) {
            uint32_t sum = 0;
            for (uint32_t i = 0; i < degree; i++) {
                sum += distances[i];
            }
            insert(costs, count++, sum);
        }
    }
    if (count < shape->unit_count) {
        return WEFT_NONE;
    }
    uint32_t total = 0;
    for (uint32_t u = 0; u < shape->unit_count; u++) {
        total += costs[u];
    }
    return (total + 1) / 2;
}

void rack_bound_hops(uint32_t *hops, uint32_t *least_distance, const struct rack_shape *shape,
                     const uint32_t *room, const uint8_t *distance, uint32_t server_count,
                     struct weft_arena scratch)
{
    uint32_t least = RACK_FAR;
    bool shared = false;
    for (uint32_t s = 0; s < server_count; s++) {
        shared = shared || room[s] > 1;
        for (uint32_t t = 0; t < s; t++) {
            uint32_t d = distance[s * server_count + t];
            least = room[s] > 0 && room[t] > 0 && d < least ? d : least;
        }
    }
    uint32_t inner = inner_most(shape, room, server_count, scratch);
    uint32_t single = spread_least(shape, room, distance, server_count);
    *least_distance = shared ? 0 : least;
    *hops = WEFT_NONE;
    if (inner != WEFT_NONE && single != WEFT_NONE &&
        (least < RACK_FAR || shape->edge_count == inner)) {
        uint32_t crossing = (shape->edge_count - inner) * least;
        *hops = crossing > single ? crossing : single;
    }
}
