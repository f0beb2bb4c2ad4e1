// SPDX-License-Identifier: Apache-2.0
// Which order of servers lets the rings of a collective library leave their leaves and pods as
// seldom as can be. Rings go rail by rail, from NIC k of a server to NIC k of the next, so nearness
// is that of the NICs of one number, whatever a server's other NICs share.
//
// Each rail's NICs nest in sets (nearness.h). A closed ring leaves every set that it visits at
// least once where it visits several, and an order by sets within sets leaves each exactly once: so
// that order is the best for all tiers at once, and the bound is the number of sets. O(levels *
// links).

#include "nearness.h"
#include "routes_kinds.h"

#include <string.h>

// Of trees from below, and of dragonflies, whose routers have servers all.
static const char *const tree_names[WEFT_RAIL_TIERS_MAX] = {"leaf", "pod"};
static const char *const dragonfly_names[WEFT_RAIL_TIERS_MAX] = {"router", "group"};

// Where NIC k of each server is an end of its plane: the routes of accelerators know, else servers
// are ends themselves.
struct ends {
    const struct weft_routes *planes;
    uint32_t plane_count;
    const uint32_t *end_of; // [server * nic_count + NIC]; NULL = the server
    uint32_t nic_count;
};

static uint32_t find_end(const struct ends *ends, uint32_t server, uint32_t nic)
{
    return ends->end_of == NULL ? server : ends->end_of[server * ends->nic_count + nic];
}

// Copies a set of each end to the NICs that are such ends.
static void take_sets(uint32_t *set_of, const struct ends *ends, uint32_t plane,
                      uint32_t server_count, const uint32_t *set_of_end)
{
    uint32_t nics = ends->nic_count;
    for (uint32_t i = 0; i < server_count * nics; i++) {
        if (ends->plane_count == 1 || i % nics == plane) {
            set_of[i] = set_of_end[find_end(ends, i / nics, i % nics)];
        }
    }
}

// Sets of the ends by level: those of the nest but the last, which is all of them; of a dragonfly
// its routers, and above them its groups, which are no switch's.
static uint32_t find_levels(const uint32_t *set_of_end[WEFT_RAIL_TIERS_MAX],
                            const struct weft_routes *routes, struct weft_arena *arena)
{
    uint32_t n = routes->fabric->server_count;
    struct weft_nest nest;
    struct weft_arena scratch = weft_arena_split(arena);
    nest_build(&nest, routes->fabric, arena, scratch);
    uint32_t levels = nest.level_count - 1;
    WEFT_ASSERT(levels <= WEFT_RAIL_TIERS_MAX);
    for (uint32_t l = 0; l < levels; l++) {
        uint32_t *sets = WEFT_NEW_RAW(arena, uint32_t, n);
        for (uint32_t e = 0; e < n; e++) {
            sets[e] = nest.set_of[l][l == 0 ? e : set_of_end[l - 1][e]];
        }
        set_of_end[l] = sets;
    }
    if (routes->kind == WEFT_ROUTES_DRAGONFLY && routes->shape[DRAGONFLY_GROUPS] > 1) {
        WEFT_ASSERT(levels < WEFT_RAIL_TIERS_MAX);
        uint32_t *groups = WEFT_NEW_RAW(arena, uint32_t, n);
        uint32_t rails = routes->shape[DRAGONFLY_RAILS];
        for (uint32_t e = 0; e < n; e++) {
            groups[e] =
                e / routes->shape[DRAGONFLY_SIZE] * rails / routes->shape[DRAGONFLY_ROUTERS];
        }
        set_of_end[levels++] = groups;
    }
    return levels;
}

void weft_fabric_rails(struct weft_rails *rails, const struct weft_network *network,
                       uint32_t nic_count, struct weft_arena *arena, struct weft_arena scratch)
{
    const struct weft_scale_up_routes *inside = network->routes.scale_up;
    struct ends ends = {.planes = &network->routes, .plane_count = 1, .nic_count = nic_count};
    uint32_t n = network->fabric.server_count;
    if (network->routes.kind == WEFT_ROUTES_SCALE_UP) {
        WEFT_ASSERT(inside->nics == nic_count);
        n /= inside->accelerators;
        ends = (struct ends){inside->planes, inside->plane_count, inside->ends, nic_count};
    }
    struct weft_rails found = {.server_count = n, .nic_count = nic_count};
    uint32_t *sets[WEFT_RAIL_TIERS_MAX] = {NULL};
    for (uint32_t plane = 0; plane < ends.plane_count; plane++) {
        struct weft_arena own = scratch;
        const uint32_t *set_of_end[WEFT_RAIL_TIERS_MAX] = {NULL};
        uint32_t levels = find_levels(set_of_end, &ends.planes[plane], &own);
        WEFT_ASSERT(plane == 0 || levels == found.tier_count); // planes are alike
        found.tier_count = levels;
        for (uint32_t t = 0; t < levels; t++) {
            if (plane == 0) {
                sets[t] = WEFT_NEW(arena, uint32_t, (size_t)n * nic_count);
            }
            take_sets(sets[t], &ends, plane, n, set_of_end[t]);
        }
    }
    WEFT_ASSERT(found.tier_count <= WEFT_RAIL_TIERS_MAX);
    bool dragonfly = ends.planes->kind == WEFT_ROUTES_DRAGONFLY;
    for (uint32_t t = 0; t < found.tier_count; t++) {
        found.set_of[t] = sets[t];
        found.names[t] = dragonfly ? dragonfly_names[t] : tree_names[t];
    }
    *rails = found;
}

// One more than the highest number of the sets of a tier.
static uint32_t count_sets(const struct weft_rails *rails, uint32_t tier)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < rails->server_count * rails->nic_count; i++) {
        uint32_t set = rails->set_of[tier][i];
        count = set >= count ? set + 1 : count;
    }
    return count;
}

// Sorts servers by a set of rail 0, stable.
static void sort_by(uint32_t *servers, uint32_t count, const struct weft_rails *rails,
                    uint32_t tier, struct weft_arena scratch)
{
    uint32_t nics = rails->nic_count;
    uint32_t sets = count_sets(rails, tier);
    uint32_t *first = WEFT_NEW(&scratch, uint32_t, (size_t)sets + 1);
    uint32_t *sorted = WEFT_NEW_RAW(&scratch, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) {
        first[rails->set_of[tier][(size_t)servers[i] * nics] + 1]++;
    }
    for (uint32_t set = 0; set < sets; set++) {
        first[set + 1] += first[set];
    }
    for (uint32_t i = 0; i < count; i++) {
        sorted[first[rails->set_of[tier][(size_t)servers[i] * nics]]++] = servers[i];
    }
    memcpy(servers, sorted, count * sizeof sorted[0]);
}

void weft_fabric_order_rails(uint32_t *servers, uint32_t count, const struct weft_rails *rails,
                             struct weft_arena scratch)
{
    bool *asked = WEFT_NEW(&scratch, bool, rails->server_count);
    for (uint32_t i = 0; i < count; i++) {
        WEFT_ASSERT(servers[i] < rails->server_count && !asked[servers[i]]);
        asked[servers[i]] = true;
    }
    uint32_t found = 0;
    for (uint32_t s = 0; s < rails->server_count; s++) {
        if (asked[s]) {
            servers[found++] = s;
        }
    }
    WEFT_ASSERT(found == count);
    for (uint32_t t = 0; t < rails->tier_count; t++) { // the highest last, as it counts most
        sort_by(servers, count, rails, t, scratch);
    }
}

void weft_fabric_cross_rails(struct weft_rail_crossings *crossings, const uint32_t *servers,
                             uint32_t count, const struct weft_rails *rails,
                             struct weft_arena scratch)
{
    uint32_t nics = rails->nic_count;
    struct weft_rail_crossings found = {.hop_count = (uint64_t)count * nics};
    for (uint32_t t = 0; t < rails->tier_count; t++) {
        struct weft_arena own = scratch;
        const uint32_t *set_of = rails->set_of[t];
        uint32_t *mark = WEFT_NEW(&own, uint32_t, count_sets(rails, t)); // rail + 1 that visits it
        for (uint32_t k = 0; k < nics; k++) {
            uint32_t visited = 0;
            for (uint32_t i = 0; i < count; i++) {
                uint32_t set = set_of[servers[i] * nics + k];
                uint32_t next = set_of[servers[(i + 1) % count] * nics + k];
                found.crossings[t] += set != next;
                visited += mark[set] != k + 1;
                mark[set] = k + 1;
            }
            found.least[t] += visited > 1 ? visited : 0;
        }
    }
    *crossings = found;
}
