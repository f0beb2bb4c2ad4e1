// SPDX-License-Identifier: Apache-2.0
// The paper's routes: coin change over the AllReduce part, k shortest paths for the transfers.
//
// Between members of a group whose rings are circulants, the fewest jumps that add to the distance
// are a shortest path, and one breadth-first search over residues finds them for all pairs
// (CoinChangeMod, TopoOpt, appendix). All other pairs take shortest paths of the fabric (Yen).
// O(n d) for a fabric that is circulant, else O(n^2) paths in a table.

#include "topology/internal.h"
#include "weft/routing.h"

#include <string.h>

// The jumps of the rings of one group, over its sorted members.
struct coins {
    uint32_t group;
    uint32_t member_count;
    const uint32_t *members; // ascending
    uint32_t *coin;          // member_count: first jump towards a residue, 0 = none
};

static int place_of(const uint32_t *members, uint32_t count, uint32_t server)
{
    uint32_t low = 0;
    uint32_t high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (members[middle] < server) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count && members[low] == server ? (int)low : -1;
}

// Fewest jumps for every residue, by breadth-first search over residues (CoinChangeMod).
static void change_coins(uint32_t *coin, uint32_t m, const uint32_t *jumps, uint32_t jump_count,
                         struct weft_arena scratch)
{
    uint32_t *queue = WEFT_NEW_RAW(&scratch, uint32_t, m);
    queue[0] = 0;
    uint32_t filled = 1;
    for (uint32_t i = 0; i < filled; i++) {
        for (uint32_t j = 0; j < jump_count; j++) {
            uint32_t residue = (uint32_t)(((uint64_t)queue[i] + jumps[j]) % m);
            if (residue != 0 && coin[residue] == 0) {
                coin[residue] = jumps[j];
                queue[filled++] = residue;
            }
        }
    }
}

// The jump by which a ring goes round its group's sorted members, 0 when it is no fixed one.
static uint32_t fixed_jump(const struct weft_ring *ring, const uint32_t *members)
{
    uint32_t m = ring->member_count;
    uint32_t jump = 0;
    for (uint32_t i = 0; i < m; i++) {
        int from = place_of(members, m, ring->members[i]);
        int to = place_of(members, m, ring->members[(i + 1) % m]);
        WEFT_ASSERT(from >= 0 && to >= 0);
        uint32_t step = ((uint32_t)to + m - (uint32_t)from) % m;
        if (i > 0 && step != jump) {
            return 0;
        }
        jump = step;
    }
    return jump;
}

// One entry for each group with rings that go round its sorted members by a fixed jump.
static uint32_t list_coins(struct coins *list, const struct weft_topology *topology,
                           const struct weft_traffic *traffic, struct weft_arena *arena,
                           struct weft_arena scratch)
{
    uint32_t count = 0;
    uint32_t *jumps = WEFT_NEW_RAW(&scratch, uint32_t, topology->degree);
    for (uint32_t r = 0; r < topology->rings.ring_count;) {
        uint32_t g = topology->rings.rings[r].group;
        const struct weft_traffic_group *group = &traffic->groups[g];
        uint32_t m = group->member_count;
        uint32_t jump_count = 0;
        for (; r < topology->rings.ring_count && topology->rings.rings[r].group == g; r++) {
            uint32_t jump = fixed_jump(&topology->rings.rings[r], group->members);
            WEFT_ASSERT(jump_count < topology->degree);
            if (jump != 0) {
                jumps[jump_count++] = jump;
            }
        }
        if (jump_count == 0) {
            continue;
        }
        list[count] = (struct coins){g, m, group->members, WEFT_NEW(arena, uint32_t, m)};
        change_coins(list[count].coin, m, jumps, jump_count, scratch);
        count++;
    }
    return count;
}

// Writes the nodes of the coin path from `from` to `to` inside the first group that holds both, or
// nothing. Returns their number.
static uint32_t coin_path(uint32_t *nodes, const struct coins *list, uint32_t count, uint32_t from,
                          uint32_t to)
{
    for (uint32_t c = 0; c < count; c++) {
        uint32_t m = list[c].member_count;
        int at = place_of(list[c].members, m, from);
        int end = place_of(list[c].members, m, to);
        if (at < 0 || end < 0) {
            continue;
        }
        uint32_t length = 1;
        nodes[0] = from;
        for (uint32_t place = (uint32_t)at; place != (uint32_t)end; length++) {
            uint32_t jump = list[c].coin[((uint32_t)end + m - place) % m];
            WEFT_ASSERT(jump != 0); // a ring reaches all its members
            place = (place + jump) % m;
            nodes[length] = list[c].members[place];
        }
        return length;
    }
    return 0;
}

// Paths that are gathered for a table. With nodes == NULL they are only counted.
struct table {
    size_t path_count;
    size_t node_count;
    uint32_t *first;
    uint32_t *nodes;
};

static void end_path(struct table *table, uint32_t length)
{
    table->path_count++;
    table->node_count += length;
    if (table->nodes != NULL) {
        table->first[table->path_count] = (uint32_t)table->node_count;
    }
}

struct sources {
    const struct weft_routes *shortest; // k paths for pairs with demand, else one
    const double *demand;
    const struct coins *coins;
    uint32_t coin_count;
    bool all_pairs;  // else those with demand
    uint32_t *nodes; // room for the nodes of a path
    uint32_t *links;
};

// Adds the paths of one pair: coin change where it has no transfers and a ring holds both ends,
// else all of its shortest paths.
static void add_pair(struct table *table, const struct sources *sources, uint32_t s, uint32_t t)
{
    const struct weft_routes *shortest = sources->shortest;
    uint32_t n = shortest->fabric->server_count;
    uint32_t length = 0;
    if (sources->demand[(size_t)s * n + t] <= 0) {
        length = coin_path(sources->nodes, sources->coins, sources->coin_count, s, t);
    }
    if (length > 0) {
        if (table->nodes != NULL) {
            memcpy(table->nodes + table->node_count, sources->nodes,
                   length * sizeof *sources->nodes);
        }
        end_path(table, length);
        return;
    }
    uint32_t count = weft_routes_path_count(shortest, s, t);
    for (uint32_t p = 0; p < count; p++) {
        uint32_t hops = weft_routes_path(shortest, s, t, p, sources->links, NULL);
        if (table->nodes != NULL) {
            table->nodes[table->node_count] = s;
            for (uint32_t i = 0; i < hops; i++) {
                table->nodes[table->node_count + 1 + i] =
                    shortest->fabric->links[sources->links[i]].to;
            }
        }
        end_path(table, hops + 1);
    }
}

static void add_all(struct table *table, const struct sources *sources)
{
    uint32_t n = sources->shortest->fabric->server_count;
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t t = 0; t < n; t++) {
            if (s != t && (sources->all_pairs || sources->demand[(size_t)s * n + t] > 0)) {
                add_pair(table, sources, s, t);
            }
        }
    }
}

static bool route_circulant(struct weft_routes *routes, const struct weft_topology *topology,
                            const struct weft_fabric *fabric, struct weft_arena *arena,
                            struct weft_arena scratch, struct weft_error *error)
{
    uint32_t *jumps = WEFT_NEW_RAW(&scratch, uint32_t, topology->degree);
    uint32_t jump_count = 0;
    for (uint32_t p = 0; p < topology->degree; p++) {
        uint32_t jump = topology->planes[(size_t)p * topology->server_count];
        if (jump != 0) {
            jumps[jump_count++] = jump;
        }
    }
    return weft_routing_coin_change(
        routes, fabric, jumps, jump_count,
        &(struct weft_environment){.arena = arena, .scratch = scratch, .error = error});
}

bool weft_topology_routes(struct weft_routes *routes, const struct weft_topology *topology,
                          const struct weft_fabric *fabric, const struct weft_traffic *traffic,
                          uint32_t path_count, const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_arena scratch = environment->scratch;
    struct weft_error *error = environment->error;
    uint32_t n = topology->server_count;
    bool transfers = traffic != NULL && traffic->transfer_total_bytes > 0;
    if (topology->generator_count > 0 && (!transfers || path_count == 1)) {
        return route_circulant(routes, topology, fabric, arena, scratch, error);
    }
    double *none = traffic == NULL ? WEFT_NEW(&scratch, double, (size_t)n *n) : NULL;
    struct weft_routes shortest;
    struct sources sources = {.shortest = &shortest,
                              .demand = traffic == NULL ? none : traffic->transfer_bytes,
                              .all_pairs = n <= WEFT_ROUTING_ALL_PAIRS_SERVERS_MAX};
    // What is kept grows in `scratch`; callees have `work` for what is not.
    struct weft_arena work = weft_arena_split(&scratch);
    if (!weft_routing_k_shortest(
            &shortest, fabric, path_count, sources.demand,
            &(struct weft_environment){.arena = &scratch, .scratch = work, .error = error})) {
        return false;
    }
    if (traffic != NULL) {
        struct coins *coins = WEFT_NEW(&scratch, struct coins, topology->rings.ring_count);
        sources.coin_count = list_coins(coins, topology, traffic, &scratch, work);
        sources.coins = coins;
    }
    sources.nodes = WEFT_NEW_RAW(&scratch, uint32_t, n);
    sources.links = WEFT_NEW_RAW(&scratch, uint32_t, shortest.hop_max);
    struct table table = {0};
    add_all(&table, &sources);
    if (table.node_count > UINT32_MAX) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "the routes of %u servers have %zu hops; ask for fewer paths a pair", n,
                         table.node_count);
    }
    uint32_t *first = WEFT_NEW(&scratch, uint32_t, table.path_count + 1);
    uint32_t *nodes = WEFT_NEW_RAW(&scratch, uint32_t, table.node_count + 1);
    table = (struct table){.first = first, .nodes = nodes};
    add_all(&table, &sources);
    return weft_routes_build_table(routes, fabric,
                                   &(struct weft_route_table){(uint32_t)table.path_count, first,
                                                              nodes, NULL, !sources.all_pairs},
                                   arena, work, error);
}
