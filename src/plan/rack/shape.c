// SPDX-License-Identifier: Apache-2.0
// Slices in units: a torus of chips as a torus of boxes that stay together on one server each.
//
// Two boxes that are neighbors along a side are joined by the links of the chips on their faces;
// where there are two boxes along a side of more than two chips, the wrap-around joins the same
// two boxes once more. A side of two chips has one link.

#include "rack.h"

#include <string.h>

#define INNER_UNITS_MAX 6u // of which the most edges are counted, not bounded

uint32_t rack_lanes(const struct weft_rack *rack, const uint32_t sides[3], bool fixed)
{
    uint32_t rings = 0;
    for (uint32_t d = 0; d < 3; d++) {
        rings += sides[d] > 1;
    }
    if (fixed || rings == 0) {
        return 1;
    }
    return (rack->chip_wavelengths + 2 * rings - 1) / (2 * rings);
}

// Circuits of one lane between units of a slice.
static uint64_t circuits_between(const uint32_t sides[3], const uint32_t unit[3])
{
    uint64_t sum = 0;
    uint64_t chips = (uint64_t)sides[0] * sides[1] * sides[2];
    for (uint32_t d = 0; d < 3; d++) {
        uint32_t count = sides[d] / unit[d];
        if (count > 1) {
            uint64_t lines = chips / sides[d];
            sum += lines * (sides[d] == 2 ? 1 : count);
        }
    }
    return sum;
}

// Whether the box is the block in some orientation.
static bool is_block(const uint32_t unit[3], const uint32_t block[3])
{
    uint32_t a[3] = {unit[0], unit[1], unit[2]};
    uint32_t b[3] = {block[0], block[1], block[2]};
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t low = a[i] < a[i + 1] ? a[i] : a[i + 1];
            a[i + 1] += a[i] - low;
            a[i] = low;
            low = b[i] < b[i + 1] ? b[i] : b[i + 1];
            b[i + 1] += b[i] - low;
            b[i] = low;
        }
    }
    return memcmp(a, b, sizeof a) == 0;
}

bool rack_unit_choose(uint32_t unit[3], const uint32_t sides[3], uint32_t volume,
                      const uint32_t block[3])
{
    uint64_t best = UINT64_MAX;
    for (uint32_t x = volume; x >= 1; x--) {
        if (volume % x != 0 || sides[0] % x != 0) {
            continue;
        }
        for (uint32_t y = volume / x; y >= 1; y--) {
            uint32_t box[3] = {x, y, volume / x / y};
            if (volume / x % y != 0 || sides[1] % y != 0 || sides[2] % box[2] != 0) {
                continue;
            }
            uint64_t cost = 2 * circuits_between(sides, box) + (is_block(box, block) ? 0 : 1);
            if (cost < best) {
                best = cost;
                memcpy(unit, box, sizeof box);
            }
        }
    }
    return best < UINT64_MAX;
}

static uint32_t chip_at(const uint32_t sides[3], const uint32_t at[3])
{
    return at[0] + sides[0] * (at[1] + sides[1] * at[2]);
}

uint32_t rack_shape_chip(const struct rack_shape *shape, uint32_t unit, uint32_t place)
{
    uint32_t at[3];
    for (uint32_t d = 0; d < 3; d++) {
        at[d] = unit % shape->counts[d] * shape->unit[d] + place % shape->unit[d];
        unit /= shape->counts[d];
        place /= shape->unit[d];
    }
    return chip_at(shape->sides, at);
}

static uint32_t add_edges(struct rack_edge *edges, const struct rack_shape *shape)
{
    uint32_t count = 0;
    for (uint32_t u = 0; u < shape->unit_count; u++) {
        uint32_t stride = 1;
        for (uint32_t d = 0; d < 3; stride *= shape->counts[d], d++) {
            uint32_t n = shape->counts[d];
            uint32_t at = u / stride % n;
            if (n == 1 || (n == 2 && at == 1)) {
                continue;
            }
            uint32_t v = u - at * stride + (at + 1) % n * stride;
            uint32_t face = shape->unit_chips / shape->unit[d];
            uint32_t links = n == 2 && shape->sides[d] > 2 ? 2 * face : face;
            uint32_t last = 1;
            for (uint32_t e = 0; e < d; e++) {
                last *= shape->unit[e];
            }
            edges[count++] = (struct rack_edge){
                .u = u,
                .v = v,
                .circuits = links * shape->lanes,
                .from = rack_shape_chip(shape, u, last * (shape->unit[d] - 1)),
                .to = rack_shape_chip(shape, v, 0),
            };
        }
    }
    return count;
}

void rack_shape_build(struct rack_shape *shape, const uint32_t sides[3], const uint32_t unit[3],
                      uint32_t lanes, struct weft_arena *arena)
{
    struct rack_shape built = {.unit_count = 1, .unit_chips = 1, .chip_count = 1, .lanes = lanes};
    for (uint32_t d = 0; d < 3; d++) {
        WEFT_ASSERT(sides[d] % unit[d] == 0);
        built.sides[d] = sides[d];
        built.unit[d] = unit[d];
        built.counts[d] = sides[d] / unit[d];
        built.unit_count *= built.counts[d];
        built.unit_chips *= unit[d];
        built.chip_count *= sides[d];
    }
    struct rack_edge *edges = WEFT_NEW(arena, struct rack_edge, 3 * (size_t)built.unit_count);
    built.edge_count = add_edges(edges, &built);
    built.edges = edges;
    uint32_t *first = WEFT_NEW(arena, uint32_t, (size_t)built.unit_count + 2);
    uint32_t *incident = WEFT_NEW(arena, uint32_t, 2 * (size_t)built.edge_count + 1);
    for (uint32_t e = 0; e < built.edge_count; e++) {
        first[edges[e].u + 2]++;
        first[edges[e].v + 2]++;
        uint32_t circuits = edges[e].circuits;
        built.circuits_most = circuits > built.circuits_most ? circuits : built.circuits_most;
        built.circuits_least =
            e == 0 || circuits < built.circuits_least ? circuits : built.circuits_least;
    }
    for (uint32_t u = 0; u < built.unit_count; u++) {
        first[u + 2] += first[u + 1];
    }
    for (uint32_t e = 0; e < built.edge_count; e++) {
        incident[first[edges[e].u + 1]++] = e;
        incident[first[edges[e].v + 1]++] = e;
    }
    built.first = first;
    built.incident = incident;
    *shape = built;
}

// ---- symmetries of the graph of units ----

struct stabilizer {
    const struct rack_shape *shape;
    const uint16_t *circuits; // unit_count^2
    const uint8_t *order;     // by breadth, so that each unit has a neighbor before it
    uint8_t *rows;
    uint8_t *image;
    bool *used;
    uint32_t count;
    uint32_t tries; // left
};

static void extend(struct stabilizer *search, uint32_t depth)
{
    uint32_t n = search->shape->unit_count;
    if (depth == n) {
        bool identity = true;
        for (uint32_t u = 0; u < n; u++) {
            identity = identity && search->image[u] == u;
        }
        if (!identity) {
            memcpy(search->rows + (size_t)search->count * n, search->image, n);
            search->count++;
        }
        return;
    }
    uint32_t u = search->order[depth];
    for (uint32_t t = 0; t < n && search->count < RACK_STABILIZER_MAX && search->tries > 0; t++) {
        bool agrees = !search->used[t];
        for (uint32_t i = 0; agrees && i < depth; i++) {
            uint32_t before = search->order[i];
            agrees =
                search->circuits[u * n + before] == search->circuits[t * n + search->image[before]];
        }
        search->tries--;
        if (agrees) {
            search->image[u] = (uint8_t)t;
            search->used[t] = true;
            extend(search, depth + 1);
            search->used[t] = false;
        }
    }
}

uint32_t rack_shape_stabilizer(uint8_t *rows, const struct rack_shape *shape,
                               struct weft_arena scratch)
{
    uint32_t n = shape->unit_count;
    if (n < 3 || n > WEFT_RACK_SERVERS_MAX) {
        return 0; // nothing to gain, or too many to look at
    }
    uint16_t *circuits = WEFT_NEW(&scratch, uint16_t, (size_t)n * n);
    uint8_t *order = WEFT_NEW(&scratch, uint8_t, n);
    bool *seen = WEFT_NEW(&scratch, bool, n);
    for (uint32_t e = 0; e < shape->edge_count; e++) {
        const struct rack_edge *edge = &shape->edges[e];
        circuits[edge->u * n + edge->v] = (uint16_t)edge->circuits;
        circuits[edge->v * n + edge->u] = (uint16_t)edge->circuits;
    }
    uint32_t count = 1;
    seen[0] = true;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t u = 0; u < n; u++) {
            if (!seen[u] && circuits[order[i] * n + u] > 0) {
                seen[u] = true;
                order[count++] = (uint8_t)u;
            }
        }
    }
    WEFT_ASSERT(count == n);
    struct stabilizer search = {
        .shape = shape,
        .circuits = circuits,
        .order = order,
        .rows = rows,
        .image = WEFT_NEW(&scratch, uint8_t, n),
        .used = WEFT_NEW(&scratch, bool, n),
        .tries = 100000,
    };
    search.used[0] = true; // unit 0 stays
    extend(&search, 1);
    return search.count;
}

// ---- edges inside few units ----

struct inner {
    const struct rack_shape *shape;
    uint8_t *state; // of a unit: 0 = free, 1 = chosen, 2 = left out or in the frontier
    uint32_t want;
    uint32_t best;
    uint32_t tries; // left
};

// Connected sets that contain unit 0, each once (a unit that was passed over stays out).
static void grow(struct inner *search, const uint32_t *frontier, uint32_t frontier_count,
                 uint32_t chosen, uint32_t edges)
{
    if (chosen == search->want) {
        search->best = edges > search->best ? edges : search->best;
        return;
    }
    const struct rack_shape *shape = search->shape;
    for (uint32_t i = 0; i < frontier_count && search->tries > 0; i++) {
        uint32_t u = frontier[i];
        uint32_t next[6 * INNER_UNITS_MAX + 6];
        uint32_t added[6];
        uint32_t next_count = 0;
        uint32_t added_count = 0;
        uint32_t more = 0;
        search->tries--;
        for (uint32_t j = i + 1; j < frontier_count; j++) {
            next[next_count++] = frontier[j];
        }
        for (uint32_t k = shape->first[u]; k < shape->first[u + 1]; k++) {
            const struct rack_edge *edge = &shape->edges[shape->incident[k]];
            uint32_t v = edge->u == u ? edge->v : edge->u;
            more += search->state[v] == 1;
            if (search->state[v] == 0) {
                search->state[v] = 2;
                next[next_count++] = v;
                added[added_count++] = v;
            }
        }
        search->state[u] = 1;
        grow(search, next, next_count, chosen + 1, edges + more);
        search->state[u] = 2;
        for (uint32_t k = 0; k < added_count; k++) {
            search->state[added[k]] = 0;
        }
    }
}

uint32_t rack_shape_inner(const struct rack_shape *shape, uint32_t units, struct weft_arena scratch)
{
    if (units <= 1) {
        return 0;
    }
    if (units >= shape->unit_count) {
        return shape->edge_count;
    }
    uint32_t degree = shape->first[1] - shape->first[0];
    uint32_t bound = units * degree / 2;
    bound = bound < units * (units - 1) / 2 ? bound : units * (units - 1) / 2;
    bound = bound < shape->edge_count ? bound : shape->edge_count;
    if (units > INNER_UNITS_MAX) {
        return bound;
    }
    struct inner search = {
        .shape = shape,
        .state = WEFT_NEW(&scratch, uint8_t, shape->unit_count),
        .want = units,
        .tries = 100000,
    };
    const uint32_t start[1] = {0};
    search.state[0] = 2;
    grow(&search, start, 1, 0, 0);
    return search.tries > 0 ? search.best : bound;
}
