// SPDX-License-Identifier: Apache-2.0
// The links of one epoch, their routes and their max-min rates.

#include "reconfig.h"

#include <math.h>
#include <string.h>

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

// Duplex links for the heaviest pairs, each link halving what its pair still counts for.
static void serve_demand(struct wiring *wiring, const double *demand, struct weft_arena scratch)
{
    uint32_t n = wiring->n;
    double *left = WEFT_NEW(&scratch, double, (size_t)n *n);
    for (uint32_t a = 0; a < n; a++) {
        for (uint32_t b = a + 1; b < n; b++) {
            left[(size_t)a * n + b] = demand[(size_t)a * n + b] + demand[(size_t)b * n + a];
        }
    }
    for (;;) {
        size_t best = 0;
        for (size_t i = 0; i < (size_t)n * n; i++) {
            // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): i < n * n
            bool ports = wiring->free_ports[i / n] > 0 && wiring->free_ports[i % n] > 0;
            best = ports && left[i] > left[best] ? i : best;
            left[i] = ports ? left[i] : 0;
        }
        if (left[best] <= 0) {
            return;
        }
        join(wiring, (uint32_t)(best / n), (uint32_t)(best % n));
        left[best] /= 2;
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

void reconfig_route(struct reconfig_fabric *fabric, uint64_t salt, struct weft_arena scratch)
{
    uint32_t n = fabric->server_count;
    uint32_t *distance = WEFT_NEW_RAW(&scratch, uint32_t, n);
    uint32_t *queue = WEFT_NEW_RAW(&scratch, uint32_t, n);
    memset(fabric->next_hop, 0xff, (size_t)n * n * sizeof *fabric->next_hop);
    for (uint32_t t = 0; t < n; t++) {
        memset(distance, 0xff, n * sizeof *distance);
        distance[t] = 0;
        uint32_t end = 0;
        queue[end++] = t;
        for (uint32_t at = 0; at < end; at++) {
            for (uint32_t s = 0; s < n; s++) {
                if (fabric->width[(size_t)queue[at] * n + s] > 0 && distance[s] == WEFT_NONE) {
                    distance[s] = distance[queue[at]] + 1;
                    queue[end++] = s;
                }
            }
        }
        for (uint32_t s = 0; s < n; s++) {
            uint64_t best = UINT64_MAX;
            for (uint32_t v = 0; v < n && s != t && distance[s] != WEFT_NONE; v++) {
                uint64_t key = weft_hash(salt ^ ((uint64_t)s << 42 | (uint64_t)t << 21 | v));
                if (fabric->width[(size_t)s * n + v] > 0 && distance[v] + 1 == distance[s] &&
                    key < best) {
                    best = key;
                    fabric->next_hop[(size_t)s * n + t] = v;
                }
            }
        }
    }
}

// ---- rates ----

// What each link (from * n + to) has left, and how many unfrozen flows want it.
struct filling {
    const struct reconfig_fabric *fabric;
    double *left_Bps;
    uint32_t *wanted;
};

static void spend(struct filling *filling, uint32_t from, uint32_t to, uint32_t weight,
                  double rate_Bps)
{
    uint32_t n = filling->fabric->server_count;
    for (uint32_t at = from; at != to;) {
        uint32_t hop = filling->fabric->next_hop[(size_t)at * n + to];
        filling->left_Bps[(size_t)at * n + hop] -= weight * rate_Bps;
        filling->wanted[(size_t)at * n + hop] -= weight;
        at = hop;
    }
}

static bool crosses(const struct reconfig_fabric *fabric, uint32_t from, uint32_t to, size_t link)
{
    uint32_t n = fabric->server_count;
    for (uint32_t at = from; at != to;) {
        uint32_t hop = fabric->next_hop[(size_t)at * n + to];
        if ((size_t)at * n + hop == link) {
            return true;
        }
        at = hop;
    }
    return false;
}

void reconfig_rates(double *rate_Bps, const struct reconfig_fabric *fabric,
                    const uint32_t *pair_from, const uint32_t *pair_to, const uint32_t *weight,
                    uint32_t pair_count, struct weft_arena scratch)
{
    uint32_t n = fabric->server_count;
    size_t link_count = (size_t)n * n;
    struct filling filling = {fabric, WEFT_NEW_RAW(&scratch, double, link_count),
                              WEFT_NEW(&scratch, uint32_t, link_count)};
    bool *frozen = WEFT_NEW(&scratch, bool, (size_t)pair_count + 1);
    for (size_t l = 0; l < link_count; l++) {
        filling.left_Bps[l] = fabric->width[l] * fabric->rate_Bps;
    }
    for (uint32_t i = 0; i < pair_count; i++) {
        rate_Bps[i] = 0;
        frozen[i] = fabric->next_hop[(size_t)pair_from[i] * n + pair_to[i]] == WEFT_NONE;
        for (uint32_t at = pair_from[i]; at != pair_to[i] && !frozen[i];) {
            uint32_t hop = fabric->next_hop[(size_t)at * n + pair_to[i]];
            filling.wanted[(size_t)at * n + hop] += weight[i];
            at = hop;
        }
    }
    for (;;) {
        size_t tightest = 0;
        double level_Bps = HUGE_VAL;
        for (size_t l = 0; l < link_count; l++) {
            if (filling.wanted[l] > 0 && filling.left_Bps[l] / filling.wanted[l] < level_Bps) {
                level_Bps = filling.left_Bps[l] / filling.wanted[l];
                tightest = l;
            }
        }
        if (level_Bps == HUGE_VAL) {
            return;
        }
        level_Bps = fmax(level_Bps, 0);
        for (uint32_t i = 0; i < pair_count; i++) {
            if (!frozen[i] && crosses(fabric, pair_from[i], pair_to[i], tightest)) {
                frozen[i] = true;
                rate_Bps[i] = level_Bps;
                spend(&filling, pair_from[i], pair_to[i], weight[i], level_Bps);
            }
        }
    }
}
