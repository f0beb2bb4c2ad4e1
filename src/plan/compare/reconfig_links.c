// SPDX-License-Identifier: Apache-2.0
// The links of one epoch and their routes.
//
// Links: the heaviest pairs of servers get duplex links, each halving what its pair still counts
// for; ports that no demand wants are joined at random; components are spliced together (TopoOpt,
// NSDI 2023, section 5, the baseline after Helios and c-Through). Routes: breadth-first from every
// server, ties by a hash of the pair.

#include "reconfig.h"

#include <string.h>

// Demands that differ by less are equal: the engine's sums leave equal messages 1e-15 of themselves
// apart, and what differs in truth differs by a byte or more.
#define EQUAL_RATIO (1 + 1e-9)

// ---- links ----

struct wiring {
    uint32_t n;
    uint8_t *width;
    uint32_t *free_ports;
};

static void join(struct wiring *wiring, uint32_t a, uint32_t b)
{
    WEFT_ASSERT(a != b && wiring->free_ports[a] > 0 && wiring->free_ports[b] > 0);
    wiring->width[(size_t)a * wiring->n + b]++;
    wiring->width[(size_t)b * wiring->n + a]++;
    wiring->free_ports[a]--;
    wiring->free_ports[b]--;
}

static void part(struct wiring *wiring, uint32_t a, uint32_t b)
{
    wiring->width[(size_t)a * wiring->n + b]--;
    wiring->width[(size_t)b * wiring->n + a]--;
    wiring->free_ports[a]++;
    wiring->free_ports[b]++;
}

// A pair of servers that wants links, and what it still counts for.
struct wanted {
    uint32_t a;
    uint32_t b;
    double left;
};

// Duplex links for the heaviest pairs, each link halving what its pair still counts for. Among
// equals the first pair wins. O(links * pairs with demand).
static void serve_demand(struct wiring *wiring, const double *demand, struct weft_arena scratch)
{
    uint32_t n = wiring->n;
    struct wanted *pairs = WEFT_NEW_RAW(&scratch, struct wanted, (size_t)n * n);
    uint32_t count = 0;
    for (uint32_t a = 0; a < n; a++) {
        for (uint32_t b = a + 1; b < n; b++) {
            double left = demand[(size_t)a * n + b] + demand[(size_t)b * n + a];
            if (left > 0) {
                pairs[count++] = (struct wanted){a, b, left};
            }
        }
    }
    for (;;) {
        struct wanted *best = NULL;
        uint32_t kept = 0;
        for (uint32_t i = 0; i < count; i++) {
            if (wiring->free_ports[pairs[i].a] > 0 && wiring->free_ports[pairs[i].b] > 0) {
                pairs[kept] = pairs[i];
                bool more = best == NULL || pairs[kept].left > best->left * EQUAL_RATIO;
                best = more ? &pairs[kept] : best;
                kept++;
            }
        }
        count = kept;
        if (best == NULL) {
            return;
        }
        join(wiring, best->a, best->b);
        best->left /= 2;
    }
}

// Joins free ports in random pairs until no two servers have one.
static void join_idle(struct wiring *wiring, struct weft_rng *rng, struct weft_arena scratch)
{
    uint32_t *order = WEFT_NEW_RAW(&scratch, uint32_t, wiring->n);
    for (bool joined = true; joined;) {
        joined = false;
        uint32_t count = 0;
        for (uint32_t s = 0; s < wiring->n; s++) {
            if (wiring->free_ports[s] > 0) {
                order[count++] = s;
            }
        }
        weft_rng_shuffle(rng, order, count);
        for (uint32_t i = 0; i + 1 < count; i += 2) {
            join(wiring, order[i], order[i + 1]);
            joined = true;
        }
    }
}

// Numbers the components; returns how many there are.
static uint32_t number_components(uint32_t *component, const struct wiring *wiring,
                                  struct weft_arena scratch)
{
    uint32_t n = wiring->n;
    uint32_t *queue = WEFT_NEW_RAW(&scratch, uint32_t, n);
    memset(component, 0xff, n * sizeof *component);
    uint32_t count = 0;
    for (uint32_t s = 0; s < n; s++) {
        if (component[s] != WEFT_NONE) {
            continue;
        }
        uint32_t end = 0;
        component[s] = count;
        queue[end++] = s;
        for (uint32_t at = 0; at < end; at++) {
            for (uint32_t t = 0; t < n; t++) {
                if (wiring->width[(size_t)queue[at] * n + t] > 0 && component[t] == WEFT_NONE) {
                    component[t] = count;
                    queue[end++] = t;
                }
            }
        }
        count++;
    }
    return count;
}

// The widest link of a component: the one that can best be spared. False if it has none.
static bool find_spare(uint32_t *a, uint32_t *b, const struct wiring *wiring,
                       const uint32_t *component, uint32_t wanted)
{
    uint32_t n = wiring->n;
    uint8_t widest = 0;
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t t = s + 1; t < n && component[s] == wanted; t++) {
            if (wiring->width[(size_t)s * n + t] > widest) {
                widest = wiring->width[(size_t)s * n + t];
                *a = s;
                *b = t;
            }
        }
    }
    return widest > 0;
}

static uint32_t find_free(const struct wiring *wiring, const uint32_t *component, uint32_t wanted)
{
    for (uint32_t s = 0; s < wiring->n; s++) {
        if (component[s] == wanted && wiring->free_ports[s] > 0) {
            return s;
        }
    }
    return WEFT_NONE;
}

// Turns one link a-b here and one c-d there into a-c and b-d, which joins the two components; a
// free port takes the place of a link's end.
static bool splice_two(struct wiring *wiring, const uint32_t *component, uint32_t here,
                       uint32_t there)
{
    uint32_t a = find_free(wiring, component, here);
    uint32_t c = find_free(wiring, component, there);
    uint32_t b = WEFT_NONE;
    uint32_t d = WEFT_NONE;
    if (a == WEFT_NONE) {
        if (!find_spare(&a, &b, wiring, component, here)) {
            return false;
        }
        part(wiring, a, b);
    }
    if (c == WEFT_NONE) {
        if (!find_spare(&c, &d, wiring, component, there)) {
            return false;
        }
        part(wiring, c, d);
    }
    join(wiring, a, c);
    if (b != WEFT_NONE && d != WEFT_NONE) {
        join(wiring, b, d);
    }
    return true;
}

void reconfig_links(uint8_t *width, const double *demand, uint32_t server_count, uint32_t degree,
                    struct weft_rng *rng, struct weft_arena scratch)
{
    uint32_t n = server_count;
    memset(width, 0, (size_t)n * n);
    struct wiring wiring = {n, width, WEFT_NEW_RAW(&scratch, uint32_t, n)};
    for (uint32_t s = 0; s < n; s++) {
        wiring.free_ports[s] = degree;
    }
    serve_demand(&wiring, demand, scratch);
    join_idle(&wiring, rng, scratch);
    uint32_t *component = WEFT_NEW_RAW(&scratch, uint32_t, n);
    for (uint32_t tries = 0; tries < n; tries++) {
        if (number_components(component, &wiring, scratch) < 2 ||
            !splice_two(&wiring, component, 0, 1)) {
            return;
        }
    }
}

// ---- routes ----

// The neighbors of every server, in order: those of s are at [first[s] .. first[s + 1]).
struct neighbors {
    uint32_t *first;
    uint32_t *server;
};

static struct neighbors list_neighbors(const struct reconfig_fabric *fabric,
                                       struct weft_arena *arena)
{
    uint32_t n = fabric->server_count;
    struct neighbors neighbors = {WEFT_NEW(arena, uint32_t, (size_t)n + 1),
                                  WEFT_NEW_RAW(arena, uint32_t, (size_t)n * n)};
    uint32_t count = 0;
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t t = 0; t < n; t++) {
            if (fabric->width[(size_t)s * n + t] > 0) {
                neighbors.server[count++] = t;
            }
        }
        neighbors.first[s + 1] = count;
    }
    return neighbors;
}

void reconfig_route(struct reconfig_fabric *fabric, uint64_t salt, struct weft_arena scratch)
{
    uint32_t n = fabric->server_count;
    struct neighbors near = list_neighbors(fabric, &scratch);
    uint32_t *distance = WEFT_NEW_RAW(&scratch, uint32_t, n);
    uint32_t *queue = WEFT_NEW_RAW(&scratch, uint32_t, n);
    memset(fabric->next_hop, 0xff, (size_t)n * n * sizeof *fabric->next_hop);
    for (uint32_t t = 0; t < n; t++) {
        memset(distance, 0xff, n * sizeof *distance);
        distance[t] = 0;
        uint32_t end = 0;
        queue[end++] = t;
        for (uint32_t at = 0; at < end; at++) {
            for (uint32_t i = near.first[queue[at]]; i < near.first[queue[at] + 1]; i++) {
                uint32_t s = near.server[i];
                if (distance[s] == WEFT_NONE) {
                    distance[s] = distance[queue[at]] + 1;
                    queue[end++] = s;
                }
            }
        }
        for (uint32_t at = 1; at < end; at++) {
            uint32_t s = queue[at];
            uint64_t best = UINT64_MAX;
            for (uint32_t i = near.first[s]; i < near.first[s + 1]; i++) {
                uint32_t v = near.server[i];
                uint64_t key = weft_hash(salt ^ ((uint64_t)s << 42 | (uint64_t)t << 21 | v));
                if (distance[v] + 1 == distance[s] && key < best) {
                    best = key;
                    fabric->next_hop[(size_t)s * n + t] = v;
                }
            }
        }
    }
}
