// SPDX-License-Identifier: Apache-2.0
// Circuits over time: duplex colorings, few moves and orders of planes against exhaustive search on
// small random instances; the checker of schedules against valid ones and against each kind of
// damage to them; and replays of valid schedules in the flow engine, which end when bursts do.
//
// Mutations that made these tests fail (each was run): Shannon's step left out; a chain turned
// round from its wrong end; potentials that do not fall; no exchange of planes; the dynamic program
// without the new circuits; each of the checker's refusals left out.

#include "../seeds.h"
#include "weft/circuit.h"
#include "weft/sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NODES_MAX 8u
#define PLANES_MAX 24u

static struct weft_arena arena;
static struct weft_arena scratch;
static struct weft_rng rng;
static uint64_t seed;

// ---- duplex circuits ----

static uint32_t draw_duplex(uint32_t *circuits, uint32_t n, uint32_t edges)
{
    uint32_t degree[NODES_MAX] = {0};
    uint32_t most = 0;
    memset(circuits, 0, (size_t)n * n * sizeof *circuits);
    for (uint32_t e = 0; e < edges; e++) {
        uint32_t i = weft_rng_below(&rng, n);
        uint32_t j = (i + 1 + weft_rng_below(&rng, n - 1)) % n;
        circuits[i * n + j]++;
        circuits[j * n + i]++;
        degree[i]++;
        degree[j]++;
    }
    for (uint32_t i = 0; i < n; i++) {
        most = degree[i] > most ? degree[i] : most;
    }
    return most;
}

// Every switch is a matching, and together they are the circuits.
static void check_matchings(const uint32_t *permutations, uint32_t switches,
                            const uint32_t *circuits, uint32_t n)
{
    uint32_t found[NODES_MAX * NODES_MAX] = {0};
    for (uint32_t s = 0; s < switches; s++) {
        const uint32_t *peers = &permutations[s * n];
        for (uint32_t i = 0; i < n; i++) {
            assert_true(peers[i] < n && peers[peers[i]] == i);
            found[i * n + peers[i]] += peers[i] != i;
        }
    }
    assert_memory_equal(found, circuits, (size_t)n * n * sizeof *circuits);
}

// Whether so many colors suffice for the rest of the edges, by trying all.
static bool can_color(const uint32_t (*edges)[2], uint32_t count, uint32_t colors, uint32_t *used)
{
    if (count == 0) {
        return true;
    }
    uint32_t free = ~(used[edges[0][0]] | used[edges[0][1]]);
    for (uint32_t c = 0; c < colors; c++) {
        if ((free >> c & 1) == 0) {
            continue;
        }
        used[edges[0][0]] |= 1u << c;
        used[edges[0][1]] |= 1u << c;
        bool can = can_color(edges + 1, count - 1, colors, used);
        used[edges[0][0]] &= ~(1u << c);
        used[edges[0][1]] &= ~(1u << c);
        if (can) {
            return true;
        }
    }
    return false;
}

static uint32_t fewest_colors(const uint32_t *circuits, uint32_t n)
{
    uint32_t edges[16][2];
    uint32_t used[NODES_MAX] = {0};
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = i + 1; j < n; j++) {
            for (uint32_t c = 0; c < circuits[i * n + j]; c++) {
                edges[count][0] = i;
                edges[count++][1] = j;
            }
        }
    }
    uint32_t colors = 0;
    while (!can_color((const uint32_t(*)[2])edges, count, colors, used)) {
        colors++;
    }
    return colors;
}

static void duplex_circuits_keep_shannons_bound(void **state)
{
    (void)state;
    uint32_t least = 0;
    uint32_t rounds = TEST_SEEDS(400);
    for (uint32_t round = 0; round < rounds; round++) {
        uint32_t n = 2 + weft_rng_below(&rng, 5);
        uint32_t circuits[NODES_MAX * NODES_MAX];
        uint32_t permutations[PLANES_MAX * NODES_MAX];
        uint32_t degree = draw_duplex(circuits, n, 1 + weft_rng_below(&rng, 11));
        uint32_t bound;
        uint32_t switches = weft_circuit_color_duplex(permutations, &bound, circuits, n, scratch);
        uint32_t fewest = fewest_colors(circuits, n);
        check_matchings(permutations, switches, circuits, n);
        assert_true(switches <= degree + degree / 2);
        assert_true(bound <= fewest && fewest <= switches);
        least += switches == fewest;
    }
    print_message("%u of %u colorings have the fewest switches\n", least, rounds);
    assert_true(least >= rounds * 9 / 10);
}

// Larger and denser ones, with triangles of many parallel circuits, where Shannon's bound is tight.
static void dense_duplex_circuits_too(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < TEST_SEEDS(400); round++) {
        uint32_t n = 3 + weft_rng_below(&rng, 5);
        uint32_t circuits[NODES_MAX * NODES_MAX];
        uint32_t permutations[64 * NODES_MAX];
        uint32_t degree = draw_duplex(circuits, n, weft_rng_below(&rng, n == 3 ? 18 : 50));
        uint32_t bound;
        if (degree + degree / 2 > 64) {
            continue;
        }
        uint32_t switches = weft_circuit_color_duplex(permutations, &bound, circuits, n, scratch);
        check_matchings(permutations, switches, circuits, n);
        assert_true(bound <= switches && switches <= degree + degree / 2);
        if (n == 3) {
            assert_int_equal(switches, bound);
        }
    }
    for (uint32_t k = 1; k < 9; k++) { // each two of three nodes k times
        const uint32_t circuits[] = {0, k, k, k, 0, k, k, k, 0};
        uint32_t permutations[24 * 3];
        uint32_t bound;
        assert_int_equal(weft_circuit_color_duplex(permutations, &bound, circuits, 3, scratch),
                         3 * k);
        assert_int_equal(bound, 3 * k);
    }
}

static void two_ports_a_node_take_half_the_switches(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < TEST_SEEDS(300); round++) {
        uint32_t n = 2 + weft_rng_below(&rng, 6);
        uint32_t wanted[NODES_MAX * NODES_MAX];
        uint32_t circuits[NODES_MAX * NODES_MAX];
        uint32_t permutations[64 * NODES_MAX];
        uint32_t degree = draw_duplex(wanted, n, weft_rng_below(&rng, 40));
        memcpy(circuits, wanted, sizeof circuits);
        uint32_t switches = weft_circuit_pair_ports(permutations, circuits, n, scratch);
        uint32_t found[NODES_MAX * NODES_MAX] = {0};
        assert_int_equal(switches, (degree + 1) / 2);
        for (uint32_t s = 0; s < switches; s++) {
            uint32_t taken = 0;
            for (uint32_t i = 0; i < n; i++) {
                uint32_t to = permutations[s * n + i];
                taken |= 1u << to;
                found[i * n + to] += to != i;
                found[to * n + i] += to != i;
            }
            assert_int_equal(taken, (1u << n) - 1);
        }
        for (uint32_t p = 0; p < n * n; p++) {
            assert_int_equal(found[p], circuits[p]);
            assert_true(circuits[p] >= wanted[p]);
        }
    }
}

// ---- few moves ----

static void draw_permutation(uint32_t *peers, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = weft_rng_below(&rng, i + 1);
        peers[i] = peers[j];
        peers[j] = i;
    }
}

// The fewest moves over all permutations of each plane that together have the circuits.
static uint32_t fewest_moves(const uint32_t *circuits, const uint32_t *before, uint32_t n,
                             uint32_t plane_count, int32_t *left, uint32_t plane)
{
    if (plane == plane_count) {
        for (uint32_t p = 0; p < n * n; p++) {
            if (left[p] > 0) {
                return UINT32_MAX;
            }
        }
        return 0;
    }
    uint32_t least = UINT32_MAX;
    uint32_t peers[4];
    for (uint32_t code = 0; code < 256; code++) { // all maps of 4 to 4
        uint32_t taken = 0;
        uint32_t moves = 0;
        for (uint32_t i = 0; i < n; i++) {
            peers[i] = code >> 2 * i & 3;
            taken |= 1u << peers[i];
            moves += peers[i] != before[plane * n + i];
        }
        if (taken != (1u << n) - 1 || code >> 2 * n != 0) {
            continue;
        }
        for (uint32_t i = 0; i < n; i++) {
            left[i * n + peers[i]]--;
        }
        uint32_t rest = fewest_moves(circuits, before, n, plane_count, left, plane + 1);
        least = rest != UINT32_MAX && rest + moves < least ? rest + moves : least;
        for (uint32_t i = 0; i < n; i++) {
            left[i * n + peers[i]]++;
        }
    }
    return least;
}

static void few_ports_move(void **state)
{
    (void)state;
    uint32_t least = 0;
    uint32_t proved = 0;
    uint32_t rounds = TEST_SEEDS(300);
    for (uint32_t round = 0; round < rounds; round++) {
        uint32_t n = 2 + weft_rng_below(&rng, 3);
        uint32_t planes = 1 + weft_rng_below(&rng, n == 4 ? 3 : 4);
        uint32_t before[4 * 4], wanted[16] = {0}, circuits[16], permutations[16];
        int32_t left[16];
        for (uint32_t plane = 0; plane < planes; plane++) {
            uint32_t after[4];
            draw_permutation(&before[plane * n], n);
            draw_permutation(after, n);
            for (uint32_t i = 0; i < n; i++) {
                wanted[i * n + after[i]] += after[i] != i && weft_rng_below(&rng, 4) > 0;
            }
        }
        for (uint32_t p = 0; p < n * n; p++) {
            circuits[p] = wanted[p];
            left[p] = (int32_t)wanted[p];
        }
        struct weft_circuit_moves moves;
        weft_circuit_reassign(permutations, &moves, circuits, before, n, planes, scratch);
        uint32_t fewest = fewest_moves(wanted, before, n, planes, left, 0);
        uint32_t found[16] = {0};
        for (uint32_t port = 0; port < planes * n; port++) {
            found[port % n * n + permutations[port]] += permutations[port] != port % n;
        }
        for (uint32_t p = 0; p < n * n; p++) {
            assert_int_equal(found[p], circuits[p]);
            assert_true(circuits[p] >= wanted[p]);
        }
        assert_int_equal(moves.moved, weft_circuit_difference(before, permutations, planes * n));
        assert_true(moves.bound <= fewest && fewest <= moves.moved);
        least += moves.moved == fewest;
        proved += moves.moved == moves.bound;
    }
    print_message("%u of %u have the fewest moves, %u proved\n", least, rounds, proved);
    assert_true(least >= rounds * 9 / 10);
}

static void matchings_stay_matchings(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < TEST_SEEDS(200); round++) {
        uint32_t n = 2 + weft_rng_below(&rng, 6);
        uint32_t circuits[2][NODES_MAX * NODES_MAX];
        uint32_t planes[2][64 * NODES_MAX];
        uint32_t count[2];
        uint32_t bound;
        for (uint32_t s = 0; s < 2; s++) {
            draw_duplex(circuits[s], n, 1 + weft_rng_below(&rng, 20));
            count[s] = weft_circuit_color_duplex(planes[s], &bound, circuits[s], n, scratch);
        }
        uint32_t all = count[0] > count[1] ? count[0] : count[1];
        for (uint32_t s = 0; s < 2; s++) {
            for (uint32_t p = count[s] * n; p < all * n; p++) {
                planes[s][p] = p % n;
            }
        }
        uint32_t moved = weft_circuit_difference(planes[0], planes[1], all * n);
        weft_circuit_exchange_planes(planes[1], planes[0], n, all, true, scratch);
        check_matchings(planes[1], all, circuits[1], n);
        assert_true(weft_circuit_difference(planes[0], planes[1], all * n) <= moved);
    }
}

// ---- one plane after the other ----

// What an order cuts off, by looking at every pair at every step.
static uint32_t cost_of(const uint32_t *before, const uint32_t *after, uint32_t n, uint32_t planes,
                        const uint32_t *order, uint32_t count)
{
    uint32_t cost = 0;
    for (uint32_t from = 0; from < n; from++) {
        for (uint32_t to = 0; to < n; to++) {
            uint32_t was = 0, is = 0;
            bool is_cut = false;
            for (uint32_t p = 0; p < planes; p++) {
                was += before[p * n + from] == to;
                is += after[p * n + from] == to;
            }
            for (uint32_t step = 0; step < count; step++) {
                uint32_t lit = 0;
                for (uint32_t p = 0; p < planes; p++) {
                    uint32_t at = 0;
                    while (at < count && order[at] != p) {
                        at++;
                    }
                    bool has = before[p * n + from] == to && after[p * n + from] == to;
                    has |= at < step && after[p * n + from] == to;
                    has |= at > step && before[p * n + from] == to;
                    lit += has;
                }
                is_cut |= lit == 0;
            }
            if (from != to && was > 0 && is > 0 && is_cut) {
                cost += was > 1 && is > 1 ? 10000 : 1;
            }
        }
    }
    return cost;
}

static uint32_t least_cost(const uint32_t *before, const uint32_t *after, uint32_t n,
                           uint32_t planes, uint32_t *order, uint32_t count, uint32_t fixed)
{
    if (fixed == count) {
        return cost_of(before, after, n, planes, order, count);
    }
    uint32_t least = UINT32_MAX;
    for (uint32_t i = fixed; i < count; i++) {
        uint32_t swap = order[fixed];
        order[fixed] = order[i];
        order[i] = swap;
        uint32_t cost = least_cost(before, after, n, planes, order, count, fixed + 1);
        least = cost < least ? cost : least;
        order[i] = order[fixed];
        order[fixed] = swap;
    }
    return least;
}

static void planes_change_in_the_best_order(void **state)
{
    (void)state;
    const struct weft_circuit_delays delays = {7, 100, 20, 3};
    for (uint32_t round = 0; round < TEST_SEEDS(150); round++) {
        struct weft_arena own = arena;
        uint32_t n = 2 + weft_rng_below(&rng, 3);
        uint32_t planes = 1 + weft_rng_below(&rng, 6);
        uint32_t before[6 * 4], after[6 * 4], order[6];
        for (uint32_t plane = 0; plane < planes; plane++) {
            draw_permutation(&before[plane * n], n);
            draw_permutation(&after[plane * n], n);
        }
        struct weft_circuit_stagger stagger, at_once;
        weft_circuit_order_planes(&stagger, before, after, n, planes, &delays, true, &own);
        weft_circuit_order_planes(&at_once, before, after, n, planes, &delays, false, &own);
        uint32_t cost = stagger.cut_double * 10000 + stagger.cut_single;
        assert_int_equal(cost_of(before, after, n, planes, stagger.order, stagger.count), cost);
        memcpy(order, stagger.order, stagger.count * sizeof *order);
        assert_int_equal(least_cost(before, after, n, planes, order, stagger.count, 0), cost);
        assert_true(stagger.is_proved);
        assert_true(at_once.cut_double + at_once.cut_single >=
                    stagger.cut_double + stagger.cut_single);
        assert_int_equal(stagger.end_ps, stagger.count == 0 ? 0 : 7 + stagger.count * 123);
        assert_int_equal(at_once.end_ps, stagger.count == 0 ? 0 : 7 + 123);
    }
}

// Many planes, in an order found step by step: what it says of itself is so.
static void many_planes_change_one_by_one(void **state)
{
    (void)state;
    const struct weft_circuit_delays delays = {0, 10, 0, 0};
    for (uint32_t round = 0; round < TEST_SEEDS(40); round++) {
        struct weft_arena own = arena;
        uint32_t n = 3 + weft_rng_below(&rng, 5);
        uint32_t planes = 12 + weft_rng_below(&rng, 12);
        uint32_t before[PLANES_MAX * NODES_MAX], after[PLANES_MAX * NODES_MAX];
        for (uint32_t plane = 0; plane < planes; plane++) {
            draw_permutation(&before[plane * n], n);
            draw_permutation(&after[plane * n], n);
        }
        struct weft_circuit_stagger stagger;
        weft_circuit_order_planes(&stagger, before, after, n, planes, &delays, true, &own);
        assert_int_equal(cost_of(before, after, n, planes, stagger.order, stagger.count),
                         stagger.cut_double * 10000 + stagger.cut_single);
    }
}

// ---- schedules ----

#define CHANGES 6u
#define BURSTS 12u
#define RATE_BPS 1e9

struct instance {
    uint32_t n;
    uint32_t planes;
    uint32_t first[3 * NODES_MAX];
    uint32_t peers[CHANGES][NODES_MAX];
    struct weft_circuit_change changes[CHANGES];
    struct weft_circuit_burst bursts[BURSTS];
    double demand_bytes[NODES_MAX * NODES_MAX];
    double switch_dB[3];
    struct weft_circuit_losses losses;
    struct weft_circuit_schedule schedule;
    struct weft_circuit_traffic traffic;
};

// Puts a burst into each time of a circuit that a change ends, and into some after the last.
static void draw_bursts(struct instance *it, uint64_t *lit_ps, uint32_t *now, uint32_t plane,
                        uint64_t until_ps)
{
    for (uint32_t i = 0; i < it->n; i++) {
        uint32_t port = plane * it->n + i;
        uint32_t count = it->traffic.burst_count;
        if (now[port] == i || count == BURSTS || lit_ps[port] >= until_ps ||
            weft_rng_below(&rng, 2) == 0) {
            continue;
        }
        uint64_t length_ps = until_ps - lit_ps[port];
        uint64_t start_ps = lit_ps[port] + weft_rng_below(&rng, (uint32_t)(length_ps / 2 + 1));
        double bytes = (double)(until_ps - start_ps) * RATE_BPS / 1e12;
        it->bursts[count] =
            (struct weft_circuit_burst){plane, i, now[port], start_ps, until_ps, bytes};
        it->demand_bytes[i * it->n + now[port]] += bytes;
        it->traffic.burst_count++;
    }
}

static int by_start(const void *a, const void *b)
{
    const struct weft_circuit_burst *x = a;
    const struct weft_circuit_burst *y = b;
    return (x->start_ps > y->start_ps) - (x->start_ps < y->start_ps);
}

// Changes come one after the other, each when its plane is lit and has carried something; every
// port that does not change with it carries on.
static void draw_schedule(struct instance *it)
{
    memset(it, 0, sizeof *it);
    it->n = 3 + weft_rng_below(&rng, NODES_MAX - 2);
    it->planes = 1 + weft_rng_below(&rng, 3);
    const struct weft_circuit_delays delays = {
        1000 * (uint64_t)weft_rng_below(&rng, 50), 1000 * (uint64_t)weft_rng_below(&rng, 50) + 1000,
        1000 * (uint64_t)weft_rng_below(&rng, 20), 1000 * (uint64_t)weft_rng_below(&rng, 3)};
    uint64_t lit_ps[3 * NODES_MAX] = {0};
    uint32_t now[3 * NODES_MAX];
    for (uint32_t plane = 0; plane < it->planes; plane++) {
        draw_permutation(&it->first[plane * it->n], it->n);
        it->switch_dB[plane] = 1 + weft_rng_below(&rng, 3);
    }
    memcpy(now, it->first, sizeof now);
    uint64_t at_ps = 0;
    for (uint32_t c = 0; c < CHANGES; c++) {
        uint32_t plane = weft_rng_below(&rng, it->planes);
        uint32_t *peers = it->peers[c];
        for (uint32_t i = 0; i < it->n; i++) {
            uint64_t steady_ps = lit_ps[plane * it->n + i];
            at_ps = steady_ps > at_ps ? steady_ps : at_ps;
        }
        at_ps += 1000 + 1000 * (uint64_t)weft_rng_below(&rng, 100);
        memcpy(peers, &now[plane * it->n], it->n * sizeof *peers);
        uint32_t a = weft_rng_below(&rng, it->n);
        uint32_t b = (a + 1 + weft_rng_below(&rng, it->n - 1)) % it->n;
        uint32_t swap = peers[a];
        peers[a] = peers[b];
        peers[b] = swap;
        uint64_t turns_ps = at_ps + delays.command_ps;
        uint64_t old_lit_ps[3 * NODES_MAX];
        memcpy(old_lit_ps, lit_ps, sizeof lit_ps);
        for (uint32_t i = 0; i < it->n; i++) { // of the two that turn
            old_lit_ps[plane * it->n + i] =
                i == a || i == b ? lit_ps[plane * it->n + i] : WEFT_NEVER;
        }
        draw_bursts(it, old_lit_ps, now, plane, turns_ps);
        memcpy(&now[plane * it->n], peers, it->n * sizeof *peers);
        lit_ps[plane * it->n + a] = turns_ps + delays.dark_ps + delays.retrain_ps + delays.first_ps;
        lit_ps[plane * it->n + b] = lit_ps[plane * it->n + a];
        it->changes[c] = (struct weft_circuit_change){at_ps, plane, peers};
    }
    qsort(it->bursts, it->traffic.burst_count, sizeof *it->bursts, by_start);
    it->losses = (struct weft_circuit_losses){
        .budget_dB = 4.5, .connectors_dB = 1.5, .switch_dB = it->switch_dB};
    it->traffic.rate_Bps = RATE_BPS;
    it->traffic.bursts = it->bursts;
    it->traffic.demand_bytes = it->demand_bytes;
    it->traffic.losses = &it->losses;
    it->schedule = (struct weft_circuit_schedule){it->n,       it->planes, it->first, CHANGES,
                                                  it->changes, delays,     at_ps};
}

// Expects a refusal that says this.
static void refused(struct instance *it, const char *text)
{
    struct weft_error error;
    if (weft_circuit_check_schedule(&it->schedule, &it->traffic, scratch, &error)) {
        fail_msg("seed %llu: damage is not seen: %s", (unsigned long long)seed, text);
    }
    if (strstr(error.message, text) == NULL || strchr(error.message, '\n') != NULL) {
        fail_msg("seed %llu: \"%s\" does not say \"%s\"", (unsigned long long)seed, error.message,
                 text);
    }
}

static void damage_changes(const struct instance *valid, uint32_t c)
{
    struct instance it = *valid;
    struct weft_circuit_change *change = &it.changes[c];
    it.traffic.burst_count = 0;
    it.traffic.demand_bytes = NULL;
    it.traffic.bursts = it.bursts;
    it.schedule.changes = it.changes;
    uint32_t peers[NODES_MAX];
    memcpy(peers, change->peers, it.n * sizeof *peers);
    change->peers = peers;
    uint32_t kept = peers[0];
    peers[0] = peers[1];
    refused(&it, "which another sends to; give a permutation");
    peers[0] = it.n;
    refused(&it, "which does not exist; give a permutation");
    peers[0] = kept;
    change->plane = it.planes;
    refused(&it, "no plane");
    *change = valid->changes[c];
    if (c > 0) {
        change->start_ps = it.changes[c - 1].start_ps - 1;
        refused(&it, "sort by start");
        *change = valid->changes[c];
        // Back to where it was while the ports still turn.
        const struct weft_circuit_change *above = &it.changes[c - 1];
        const uint32_t *before = &it.first[above->plane * it.n];
        for (uint32_t i = 0; i + 1 < c; i++) {
            before = it.changes[i].plane == above->plane ? it.changes[i].peers : before;
        }
        *change = (struct weft_circuit_change){above->start_ps + it.schedule.delays.command_ps +
                                                   it.schedule.delays.dark_ps - 1,
                                               above->plane, before};
        it.schedule.change_count = c + 1;
        refused(&it, "still changes until");
    }
}

static void damage_bursts(const struct instance *valid, uint32_t b)
{
    struct instance it = *valid;
    struct weft_circuit_burst *burst = &it.bursts[b];
    it.traffic.bursts = it.bursts;
    it.traffic.demand_bytes = NULL;
    it.traffic.burst_count = 1;
    it.traffic.bursts = burst;
    struct weft_error error;
    assert_true(weft_circuit_check_schedule(&it.schedule, &it.traffic, scratch, &error));
    burst->end_ps++;
    refused(&it, "with bytes in flight");
    *burst = valid->bursts[b];
    burst->bytes *= 1.001;
    refused(&it, "send less or give it longer");
    *burst = valid->bursts[b];
    burst->bytes = -1;
    refused(&it, "and bytes");
    *burst = valid->bursts[b];
    burst->from = it.n;
    refused(&it, "two ports below");
    *burst = valid->bursts[b];
    uint64_t lit_ps = 0;
    for (uint32_t c = 0; c < it.schedule.change_count; c++) {
        const struct weft_circuit_change *change = &it.changes[c];
        const struct weft_circuit_delays *delays = &it.schedule.delays;
        uint32_t before = it.first[burst->plane * it.n + burst->from];
        for (uint32_t i = 0; i < c; i++) {
            before =
                it.changes[i].plane == burst->plane ? it.changes[i].peers[burst->from] : before;
        }
        bool turns = change->plane == burst->plane && change->peers[burst->from] != before;
        if (turns && change->start_ps < burst->start_ps &&
            change->peers[burst->from] == burst->to) {
            lit_ps = change->start_ps + delays->command_ps + delays->dark_ps + delays->retrain_ps +
                     delays->first_ps;
        }
    }
    if (lit_ps > 0) {
        burst->start_ps = lit_ps - 1;
        refused(&it, "start it then");
    }
}

static void the_checker_sees_every_kind_of_damage(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < TEST_SEEDS(150); round++) {
        seed = round;
        weft_rng_init(&rng, seed);
        static struct instance it;
        struct weft_error error;
        draw_schedule(&it);
        if (!weft_circuit_check_schedule(&it.schedule, &it.traffic, scratch, &error)) {
            fail_msg("seed %u: a valid schedule is refused: %s", round, error.message);
        }
        for (uint32_t c = 0; c < CHANGES; c++) {
            damage_changes(&it, c);
        }
        for (uint32_t b = 0; b < it.traffic.burst_count; b++) {
            damage_bursts(&it, b);
        }
        if (it.traffic.burst_count > 0) {
            const struct weft_circuit_burst *burst = &it.bursts[0];
            it.demand_bytes[burst->from * it.n + burst->to] += 1;
            refused(&it, "add bursts for the rest");
            it.demand_bytes[burst->from * it.n + burst->to] -= 1;
        }
        it.losses.budget_dB = 2;
        refused(&it, "connectors 1.5");
    }
}

// Two bursts of one port share its rate: neither has to be alone, and both must fit.
static void bursts_of_a_port_share_its_rate(void **state)
{
    (void)state;
    const uint32_t first[] = {1, 0};
    struct weft_circuit_burst bursts[] = {{0, 0, 1, 0, 2000000, 1500},
                                          {0, 0, 1, 500000, 1000000, 500}};
    const struct weft_circuit_schedule schedule = {
        .node_count = 2, .plane_count = 1, .first = first};
    const struct weft_circuit_traffic traffic = {RATE_BPS, bursts, 2, NULL, NULL};
    struct weft_error error;
    assert_true(weft_circuit_check_schedule(&schedule, &traffic, scratch, &error));
    bursts[0].bytes = 1501;
    assert_false(weft_circuit_check_schedule(&schedule, &traffic, scratch, &error));
    assert_non_null(strstr(error.message, "burst 0"));
}

// ---- replays ----

static void build_network(struct weft_network *network, uint32_t n, struct weft_arena *own)
{
    struct weft_error error;
    struct weft_link links[NODES_MAX * NODES_MAX];
    uint32_t count = 0;
    for (uint32_t p = 0; p < n * n; p++) {
        if (p / n != p % n) {
            links[count++] = (struct weft_link){p / n, p % n, RATE_BPS, 0, 1};
        }
    }
    const struct weft_fabric_links input = {"circuits", n, n, links, count};
    assert_true(weft_fabric_build(&network->fabric, &input, own, &error));
    assert_true(
        weft_routes_build_shortest(&network->routes, &network->fabric, own, scratch, &error));
}

// The flow engine plays what the checker accepts: each burst is over when it ends. Of one plane,
// since two planes between two nodes are one link there.
static void valid_schedules_play_as_they_say(void **state)
{
    (void)state;
    uint32_t played = 0;
    for (uint32_t round = 0; round < TEST_SEEDS(100); round++) {
        seed = 1000 + round;
        weft_rng_init(&rng, seed);
        static struct instance it;
        draw_schedule(&it);
        if (it.planes > 1) {
            continue;
        }
        it.schedule.delays.first_ps = 0; // bursts begin later than that already
        struct weft_arena own = arena;
        struct weft_network network;
        build_network(&network, it.n, &own);
        uint32_t from[BURSTS], to[BURSTS];
        uint64_t size_bytes[BURSTS], start_ps[BURSTS], end_ps[BURSTS];
        uint32_t count = it.traffic.burst_count;
        for (uint32_t b = 0; b < count; b++) {
            from[b] = it.bursts[b].from;
            to[b] = it.bursts[b].to;
            start_ps[b] = it.bursts[b].start_ps;
            size_bytes[b] = (uint64_t)it.bursts[b].bytes;
        }
        const struct weft_flow_list flows = {count, from, to, size_bytes, start_ps};
        struct weft_circuit_controller controller;
        struct weft_error error;
        struct weft_sim_result result;
        assert_true(
            weft_planes_replay(&controller, &it.schedule, RATE_BPS, &network.fabric, &own, &error));
        const struct weft_sim_options options = {.circuits = &controller};
        if (!weft_sim_run_flows(
                &result, end_ps, &network, &flows, &options,
                &(struct weft_environment){.arena = &own, .scratch = scratch, .error = &error})) {
            fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
        }
        for (uint32_t b = 0; b < count; b++) {
            double expected_ps = (double)start_ps[b] + (double)size_bytes[b] * 1e12 / RATE_BPS;
            if (fabs((double)end_ps[b] - expected_ps) > 1.5) {
                fail_msg("seed %llu: burst %u ends at %llu instead of %.0f",
                         (unsigned long long)seed, b, (unsigned long long)end_ps[b], expected_ps);
            }
            played++;
        }
    }
    print_message("%u bursts played\n", played);
    assert_true(played > 50);
}

int main(void)
{
    struct weft_error error;
    if (!weft_arena_init(&arena, 0, &error) || !weft_arena_init(&scratch, 0, &error)) {
        return 1;
    }
    weft_rng_init(&rng, 20);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(duplex_circuits_keep_shannons_bound),
        cmocka_unit_test(dense_duplex_circuits_too),
        cmocka_unit_test(two_ports_a_node_take_half_the_switches),
        cmocka_unit_test(few_ports_move),
        cmocka_unit_test(matchings_stay_matchings),
        cmocka_unit_test(planes_change_in_the_best_order),
        cmocka_unit_test(many_planes_change_one_by_one),
        cmocka_unit_test(the_checker_sees_every_kind_of_damage),
        cmocka_unit_test(bursts_of_a_port_share_its_rate),
        cmocka_unit_test(valid_schedules_play_as_they_say),
    };
    int failed = cmocka_run_group_tests_name("circuit_schedules", tests, NULL, NULL);
    weft_arena_release(&arena);
    weft_arena_release(&scratch);
    return failed;
}
