// SPDX-License-Identifier: Apache-2.0
// Which ports, so that matchings of them have routes: by the rule of corners, by the wires of every
// run of ports, then by length; and which port is which player of a round robin.
//
// A run of ports of which u of n are used has to let min(u, n - u) pairs out in some matching. What
// it lacks of that counts by its square beside the mean length of the shortest routes. Ports are
// exchanged one by one while the sum falls. Players are ordered by exchanges, too: the cost of an
// order is what runs lack in its rounds.

#include "weft/photonics/mesh.h"

#include <math.h>
#include <string.h>

#define OVER_COST 100.0  // of a wire that is lacking altogether, by its square
#define LACK_CELLS 4.0   // of length that a wire too few of one run is worth, in the mean of pairs
#define SPARE_SHARE 0.85 // of a run's wires that may be used: routes are not straight

struct choice {
    const struct weft_mesh *mesh;
    const uint16_t *capacity;
    const uint16_t *lengths; // ports^2: shortest routes
    uint32_t count;
    bool *used;
    uint32_t *peers; // no port where used, else WEFT_NONE
};

// Cells between a port and all others with the mesh to itself; breadth first.
static void find_lengths(uint16_t *lengths, const struct weft_mesh *mesh, uint32_t port,
                         struct weft_arena scratch)
{
    uint16_t *passed = WEFT_NEW(&scratch, uint16_t, 4 * mesh->cell_count);
    uint32_t *queue = WEFT_NEW(&scratch, uint32_t, 4 * mesh->cell_count);
    uint32_t count = 0;
    uint32_t stub = mesh->port_stubs[port];
    uint16_t so_far = 0;
    for (uint32_t next = 0;; next++) {
        for (uint32_t cross = 0; cross < 2 && stub != WEFT_NONE; cross++) {
            uint32_t out = weft_mesh_through(stub, cross != 0);
            if (passed[out] == 0) {
                passed[out] = (uint16_t)(so_far + 1);
                queue[count++] = out;
            }
        }
        if (next == count) {
            break;
        }
        so_far = passed[queue[next]];
        stub = mesh->stub_mates[queue[next]];
    }
    for (uint32_t p = 0; p < mesh->port_count; p++) {
        lengths[p] = passed[mesh->port_stubs[p]];
    }
}

static bool corners_hold(const struct choice *choice)
{
    for (uint32_t k = 0; k < choice->mesh->port_count / 2; k++) {
        uint32_t corner[4];
        if (!weft_mesh_corner_holds(choice->mesh, k, choice->peers, corner)) {
            return false;
        }
    }
    return true;
}

static void set_used(struct choice *choice, uint32_t port, bool used)
{
    choice->used[port] = used;
    // A peer that is no port: it is outside of every corner.
    choice->peers[port] = used ? choice->mesh->port_count : WEFT_NONE;
}

// What a run of ports lacks that has so many wires for so many pairs.
static double lack_of(uint32_t pairs, uint32_t wires)
{
    double tight = pairs > SPARE_SHARE * wires ? pairs - SPARE_SHARE * wires : 0;
    double over = pairs > wires ? pairs - wires : 0;
    return tight * tight + OVER_COST * over * over;
}

static double cost_of(const struct choice *choice)
{
    uint32_t ports = choice->mesh->port_count;
    double length = 0;
    double lack = 0;
    for (uint32_t first = 0; first < ports; first++) {
        uint32_t inside = 0;
        for (uint32_t count = 1; count <= ports / 2; count++) {
            uint32_t last = (first + count - 1) % ports;
            inside += choice->used[last];
            uint32_t out = inside < choice->count - inside ? inside : choice->count - inside;
            lack += lack_of(out, choice->capacity[(size_t)first * ports + count - 1]);
        }
        for (uint32_t other = first + 1; other < ports && choice->used[first]; other++) {
            length += choice->used[other] ? choice->lengths[(size_t)first * ports + other] : 0;
        }
    }
    double pairs = 0.5 * choice->count * (choice->count - 1);
    return length / pairs + LACK_CELLS * lack / ports;
}

// A random port of those that are (not) used.
static uint32_t draw(const struct choice *choice, bool used, struct weft_rng *rng)
{
    uint32_t port;
    do {
        port = weft_rng_below(rng, choice->mesh->port_count);
    } while (choice->used[port] != used);
    return port;
}

static bool fill(struct choice *choice, struct weft_rng *rng, struct weft_arena scratch)
{
    uint32_t ports = choice->mesh->port_count;
    uint32_t *order = WEFT_NEW(&scratch, uint32_t, ports);
    for (uint32_t p = 0; p < ports; p++) {
        order[p] = p;
        set_used(choice, p, false);
    }
    weft_rng_shuffle(rng, order, ports);
    uint32_t filled = 0;
    for (uint32_t i = 0; i < ports && filled < choice->count; i++) {
        set_used(choice, order[i], true);
        if (corners_hold(choice)) {
            filled++;
        } else {
            set_used(choice, order[i], false);
        }
    }
    return filled == choice->count;
}

// Exchanges of a used port for an idle one, kept while the cost does not rise.
static void exchange(struct choice *choice, uint32_t moves, struct weft_rng *rng)
{
    double now = cost_of(choice);
    for (uint32_t m = 0; m < moves && choice->count < choice->mesh->port_count; m++) {
        uint32_t out = draw(choice, true, rng);
        uint32_t in = draw(choice, false, rng);
        set_used(choice, out, false);
        set_used(choice, in, true);
        double cost = corners_hold(choice) ? cost_of(choice) : HUGE_VAL;
        if (cost <= now) {
            now = cost;
        } else {
            set_used(choice, in, false);
            set_used(choice, out, true);
        }
    }
}

// What runs of ports lack over all rounds of a round robin, by squares.
static double order_cost(const struct choice *choice, const uint32_t *players,
                         const struct weft_mesh_pair *pairs, uint32_t *peers)
{
    uint32_t ports = choice->mesh->port_count;
    double sum = 0;
    for (uint32_t r = 0; r + 1 < choice->count; r++) {
        memset(peers, 0xff, ports * sizeof *peers);
        for (uint32_t i = 0; i < choice->count / 2; i++) {
            const struct weft_mesh_pair *pair = &pairs[r * (choice->count / 2) + i];
            peers[players[pair->from]] = players[pair->to];
            peers[players[pair->to]] = players[pair->from];
        }
        for (uint32_t first = 0; first < ports; first++) {
            uint32_t crossing = 0;
            for (uint32_t count = 1; count <= ports / 2; count++) {
                uint32_t peer = peers[(first + count - 1) % ports];
                if (peer != WEFT_NONE) {
                    bool inside = (peer + ports - first) % ports < count;
                    crossing = inside ? crossing - 1 : crossing + 1;
                }
                sum += lack_of(crossing, choice->capacity[(size_t)first * ports + count - 1]);
            }
        }
    }
    return sum;
}

static void order_players(uint32_t *players, const struct choice *choice, uint32_t moves,
                          struct weft_rng *rng, struct weft_arena scratch)
{
    uint32_t n = choice->count;
    struct weft_mesh_pair *pairs = WEFT_NEW(&scratch, struct weft_mesh_pair, (size_t)n * n / 2);
    uint32_t *peers = WEFT_NEW(&scratch, uint32_t, choice->mesh->port_count);
    weft_mesh_round_robin(pairs, n);
    weft_rng_shuffle(rng, players, n);
    double now = order_cost(choice, players, pairs, peers);
    for (uint32_t m = 0; m < moves && now > 0; m++) {
        uint32_t a = weft_rng_below(rng, n);
        uint32_t b = weft_rng_below(rng, n);
        uint32_t port = players[a];
        players[a] = players[b];
        players[b] = port;
        double cost = order_cost(choice, players, pairs, peers);
        if (cost <= now) {
            now = cost;
        } else {
            players[b] = players[a];
            players[a] = port;
        }
    }
}

bool weft_mesh_choose_ports(uint32_t *ports, uint32_t count, const struct weft_mesh *mesh,
                            const struct weft_environment *environment)
{
    enum { FILLS = 64, EXCHANGES = 2000, ORDERS = 200 };
    struct weft_arena scratch = environment->scratch;
    uint32_t all = mesh->port_count;
    if (count < 2 || count % 2 != 0 || count > all) {
        return weft_fail(environment->error, WEFT_INPUT,
                         "%u {ports}: a mesh of %u x %u has %u; take an even number of them", count,
                         mesh->rows, mesh->columns, all);
    }
    uint16_t *capacity = WEFT_NEW(&scratch, uint16_t, (size_t)all * all);
    uint16_t *lengths = WEFT_NEW(&scratch, uint16_t, (size_t)all * all);
    weft_mesh_capacities(capacity, mesh, scratch);
    for (uint32_t p = 0; p < all; p++) {
        find_lengths(&lengths[(size_t)p * all], mesh, p, scratch);
    }
    struct choice choice = {.mesh = mesh,
                            .capacity = capacity,
                            .lengths = lengths,
                            .count = count,
                            .used = WEFT_NEW(&scratch, bool, all),
                            .peers = WEFT_NEW(&scratch, uint32_t, all)};
    struct weft_rng rng;
    weft_rng_init(&rng, environment->seed);
    uint32_t tries = 0;
    while (!fill(&choice, &rng, scratch)) {
        if (++tries == FILLS) {
            return weft_fail(environment->error, WEFT_INPUT,
                             "%u {ports}: the corners of a mesh of %u x %u with %u ports leave "
                             "fewer; take fewer, or more {rows}",
                             count, mesh->rows, mesh->columns, all);
        }
    }
    exchange(&choice, EXCHANGES, &rng);
    uint32_t filled = 0;
    for (uint32_t p = 0; p < all; p++) {
        if (choice.used[p]) {
            ports[filled++] = p;
        }
    }
    order_players(ports, &choice, ORDERS, &rng, scratch);
    return true;
}
