// SPDX-License-Identifier: Apache-2.0
// Direct fabrics of a fixed wiring: rings and tori of two or three dimensions, as TPU pods have
// them (Jouppi et al., "TPU v4", ISCA 2023), routed in dimension order (Dally and Seitz,
// "Deadlock-free message routing in multiprocessor interconnection networks", IEEE Transactions on
// Computers 1987).
//
// A side of two joins its servers once. Sides are those that were asked for, or those of the
// smallest sum whose product is the number of servers; spare ports widen the side whose cables
// carry most under uniform traffic. O(servers * dimensions).

#include "cabling.h"

bool weft_fabric_build_ring(struct weft_network *network, const struct weft_cluster *cluster,
                            const struct weft_fabric_options *options, struct weft_arena *arena,
                            struct weft_error *error)
{
    struct weft_fabric_options own = options_or_default(options);
    uint32_t n = cluster->server_count;
    uint32_t width = n == 2 ? cluster->degree : cluster->degree / 2;
    if (width == 0) {
        return weft_fail(error, WEFT_INPUT,
                         "ring: %u port a server does not go both ways; give each at least 2",
                         cluster->degree);
    }
    double rate_Bps = own.port_rate_Bps > 0 ? own.port_rate_Bps : cluster->rate_Bps;
    struct wiring wiring = wiring_start("ring", n, cluster->latency_ps, arena);
    for (uint32_t s = 0; s < (n == 2 ? 1 : n); s++) {
        wiring_join(&wiring, s, s == n - 1 ? 0 : s + 1, width, rate_Bps);
    }
    struct weft_fabric fabric;
    if (!wiring_finish(&fabric, &wiring, n, n, arena, error)) {
        return false;
    }
    fabric.parts = weft_fabric_direct_parts(&fabric, rate_Bps, WEFT_CABLING_FIXED, *arena);
    *network = (struct weft_network){.fabric = fabric};
    return weft_routes_build_ring(&network->routes, &network->fabric, error);
}

// ---- tori ----

// A torus of up to three sides; a missing third side is 1.
struct torus {
    uint32_t sides[3];
    uint32_t widths[3]; // cables of each link
    uint32_t dimensions;
};

// Servers that a server is joined to along a side.
static uint32_t side_links(uint32_t side)
{
    return side > 2 ? 2 : side - 1;
}

// The sides with the smallest sum: as equal as the divisors of n allow. False when a side would
// be 1.
static bool choose_sides(struct torus *torus, uint32_t n, uint32_t dimensions)
{
    uint64_t best = UINT64_MAX;
    for (uint64_t a = dimensions == 3 ? 2 : 1; a * a * a <= n; a++) {
        if (n % a != 0 || (dimensions == 2 && a > 1)) {
            continue;
        }
        uint64_t rest = n / a;
        for (uint64_t b = 2; b * b <= rest; b++) {
            if (rest % b == 0 && a + b + rest / b < best) {
                best = a + b + rest / b;
                torus->sides[0] = (uint32_t)(rest / b);
                torus->sides[1] = (uint32_t)b;
                torus->sides[2] = (uint32_t)a;
            }
        }
    }
    return best != UINT64_MAX;
}

// Cable-hops that uniform traffic puts on each cable along a side of this width, but for a factor
// common to all sides: the mean distance round the side over the cables of a server.
static double side_load(uint32_t side, uint32_t width)
{
    uint32_t half = side / 2;
    double mean_hops = (double)half * (side - half) / side;
    return mean_hops / (side_links(side) * width);
}

// Gives each spare port to the side whose cables carry most. Returns the ports left dark, or
// WEFT_NONE when there are too few for one cable a link.
static uint32_t choose_widths(struct torus *torus, uint32_t degree)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < 3; i++) {
        torus->widths[i] = 1;
        used += side_links(torus->sides[i]);
    }
    if (used > degree) {
        return WEFT_NONE;
    }
    for (;;) {
        uint32_t widest = WEFT_NONE;
        double highest = 0;
        for (uint32_t i = 0; i < torus->dimensions; i++) {
            double load = side_load(torus->sides[i], torus->widths[i]);
            if (used + side_links(torus->sides[i]) <= degree && load > highest * (1 + 1e-12)) {
                highest = load;
                widest = i;
            }
        }
        if (widest == WEFT_NONE) {
            return degree - used;
        }
        torus->widths[widest]++;
        used += side_links(torus->sides[widest]);
    }
}

// The sides asked for, if they make n servers.
static bool take_sides(struct torus *torus, uint32_t n, const uint32_t *sides,
                       struct weft_error *error)
{
    uint64_t product = 1;
    for (uint32_t i = 0; i < torus->dimensions; i++) {
        if (sides[i] < 2 || product > n) {
            product = 0;
            break;
        }
        torus->sides[i] = sides[i];
        product *= sides[i];
    }
    return product == n || weft_fail(error, WEFT_INPUT,
                                     "torus: its sides, each at least 2, do not multiply to the %u "
                                     "servers",
                                     n);
}

// Sides and cable widths of the torus. A ring of side s takes two ports of each server (one where s
// is 2); what is left over widens sides. Fails, naming what would fit, where the servers are no
// product of sides or the ports do not suffice.
static bool plan_torus(struct torus *torus, const struct weft_cluster *cluster, uint32_t dimensions,
                       const uint32_t *sides, struct weft_error *error)
{
    uint32_t n = cluster->server_count;
    if (dimensions != 2 && dimensions != 3) {
        return weft_fail(error, WEFT_INPUT, "torus: %u dimensions are not built; choose 2 or 3",
                         dimensions);
    }
    *torus = (struct torus){.sides = {1, 1, 1}, .dimensions = dimensions};
    if (sides[0] != 0) {
        if (!take_sides(torus, n, sides, error)) {
            return false;
        }
    } else if (!choose_sides(torus, n, dimensions)) {
        return weft_fail(error, WEFT_INPUT,
                         "torus: %u servers are no product of %u sides of at least 2; use another "
                         "number of servers, or a ring",
                         n, dimensions);
    }
    if (choose_widths(torus, cluster->degree) == WEFT_NONE) {
        uint32_t needed = 0;
        for (uint32_t i = 0; i < dimensions; i++) {
            needed += side_links(torus->sides[i]);
        }
        return weft_fail(error, WEFT_INPUT,
                         "torus: %u dimensions of %u servers need %u ports a server, not %u; give "
                         "more ports, fewer dimensions, or use a ring",
                         dimensions, n, needed, cluster->degree);
    }
    return true;
}

// The next server along one side.
static uint32_t step(const struct torus *torus, uint32_t server, uint32_t dimension, bool back)
{
    uint32_t stride = 1;
    for (uint32_t i = 0; i < dimension; i++) {
        stride *= torus->sides[i];
    }
    uint32_t side = torus->sides[dimension];
    WEFT_ASSERT(stride > 0 && side > 1);
    uint32_t place = server / stride % side;
    uint32_t base = server - place * stride;
    uint32_t next = back ? (place + side - 1) % side : (place + 1) % side;
    return base + next * stride;
}

static void wire_torus(struct wiring *wiring, const struct torus *torus, uint32_t n,
                       double rate_Bps)
{
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t i = 0; i < torus->dimensions; i++) {
            uint32_t next = step(torus, s, i, false);
            if (torus->sides[i] > 2 || s < next) {
                wiring_join(wiring, s, next, torus->widths[i], rate_Bps);
            }
        }
    }
}

static const uint32_t *torus_table(const struct torus *torus, const struct weft_fabric *fabric,
                                   struct weft_arena *arena)
{
    uint32_t n = fabric->server_count;
    uint32_t *table = WEFT_NEW(arena, uint32_t, (size_t)n * 6);
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t i = 0; i < torus->dimensions; i++) {
            uint32_t *entry = table + ((size_t)s * 3 + i) * 2;
            entry[0] = weft_fabric_find_link(fabric, s, step(torus, s, i, false));
            entry[1] = weft_fabric_find_link(fabric, s, step(torus, s, i, true));
            WEFT_ASSERT(entry[0] != WEFT_NONE && entry[1] != WEFT_NONE);
        }
    }
    return table;
}

bool weft_fabric_build_torus(struct weft_network *network, const struct weft_cluster *cluster,
                             const struct weft_fabric_options *options, struct weft_arena *arena,
                             struct weft_error *error)
{
    struct weft_fabric_options own = options_or_default(options);
    uint32_t n = cluster->server_count;
    uint32_t dimensions = own.dimensions == 0 ? 2 : own.dimensions;
    double rate_Bps = own.port_rate_Bps > 0 ? own.port_rate_Bps : cluster->rate_Bps;
    struct torus torus = {.dimensions = dimensions};
    if (!plan_torus(&torus, cluster, dimensions, own.sides, error)) {
        return false;
    }
    const char *name = dimensions == 2 ? "torus-2d" : "torus-3d";
    struct wiring wiring = wiring_start(name, (uint64_t)n * dimensions, cluster->latency_ps, arena);
    wire_torus(&wiring, &torus, n, rate_Bps);
    struct weft_fabric fabric;
    if (!wiring_finish(&fabric, &wiring, n, n, arena, error)) {
        return false;
    }
    fabric.parts = weft_fabric_direct_parts(&fabric, rate_Bps, WEFT_CABLING_FIXED, *arena);
    *network = (struct weft_network){.fabric = fabric};
    network->routes = (struct weft_routes){
        .kind = WEFT_ROUTES_TORUS,
        .fabric = &network->fabric,
        .hop_max = torus.sides[0] / 2 + torus.sides[1] / 2 + torus.sides[2] / 2,
        .shape = {torus.sides[0], torus.sides[1], torus.sides[2]},
        .table = torus_table(&torus, &network->fabric, arena),
    };
    return true;
}
