// SPDX-License-Identifier: Apache-2.0
// Circuits over time: duplex colorings, few moves and orders of planes against exhaustive search on
// small random instances.
//
// Mutations that made these tests fail (each was run): Shannon's step left out; a chain turned
// round from its wrong end; no shifts; no exchange of planes; the dynamic program
// without the new circuits.

#include "../seeds.h"
#include "weft/circuit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define NODES_MAX 8u
#define PLANES_MAX 24u

static struct weft_arena arena;
static struct weft_arena scratch;
static struct weft_rng rng;

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

// Shannon's step is seldom needed for his bound, and often for fewer: without it 1,085 of these
// graphs take more than their lower bound.
static void few_colorings_are_above_their_bound(void **state)
{
    (void)state;
    uint32_t above = 0;
    weft_rng_init(&rng, 5);
    for (uint32_t round = 0; round < TEST_SEEDS(20000); round++) {
        uint32_t n = 3 + weft_rng_below(&rng, 8);
        uint32_t circuits[100] = {0};
        static uint32_t permutations[300 * 10];
        uint32_t edges = weft_rng_below(&rng, 10 * n);
        uint32_t reach = weft_rng_below(&rng, 2) == 1 ? 2 : n - 1;
        for (uint32_t e = 0; e < edges; e++) {
            uint32_t i = weft_rng_below(&rng, n);
            uint32_t j = (i + 1 + weft_rng_below(&rng, reach)) % n;
            circuits[i * n + j]++;
            circuits[j * n + i]++;
        }
        uint32_t bound;
        above += weft_circuit_color_duplex(permutations, &bound, circuits, n, scratch) > bound;
    }
    print_message("%u of %u above their bound\n", above, TEST_SEEDS(20000));
    assert_true(above <= TEST_SEEDS(960));
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

// Where a twentieth of the ports of many planes have other peers, about these move: a chain that is
// turned moves hundreds.
static void little_changes_move_few_ports(void **state)
{
    (void)state;
    struct weft_arena own = arena;
    const uint32_t n = 512;
    const uint32_t planes = 16;
    uint32_t *before = WEFT_NEW(&own, uint32_t, n * planes);
    uint32_t *after = WEFT_NEW(&own, uint32_t, n * planes);
    uint32_t *circuits = WEFT_NEW(&own, uint32_t, (size_t)n * n);
    struct weft_circuit_moves moves;
    weft_rng_init(&rng, 9);
    for (uint32_t plane = 0; plane < planes; plane++) {
        uint32_t *peers = &after[plane * n];
        draw_permutation(&before[plane * n], n);
        memcpy(peers, &before[plane * n], n * sizeof *peers);
        for (uint32_t k = 0; k < n / 40; k++) {
            uint32_t i = weft_rng_below(&rng, n);
            uint32_t j = weft_rng_below(&rng, n);
            uint32_t swap = peers[i];
            peers[i] = peers[j];
            peers[j] = swap;
        }
        for (uint32_t i = 0; i < n; i++) {
            circuits[i * n + peers[i]] += peers[i] != i;
        }
    }
    weft_circuit_reassign(after, &moves, circuits, before, n, planes, scratch);
    print_message("%u ports move, at least %u\n", moves.moved, moves.bound);
    assert_true(moves.moved < moves.bound + moves.bound / 20);
}

// Matrices with nothing in common, as full as can be: the last circuits need chains.
static void full_planes_are_all_new(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < TEST_SEEDS(20); round++) {
        struct weft_arena own = arena;
        const uint32_t n = 40;
        const uint32_t planes = 12;
        uint32_t *before = WEFT_NEW(&own, uint32_t, n * planes);
        uint32_t *after = WEFT_NEW(&own, uint32_t, n * planes);
        uint32_t *wanted = WEFT_NEW(&own, uint32_t, (size_t)n * n);
        uint32_t *circuits = WEFT_NEW(&own, uint32_t, (size_t)n * n);
        struct weft_circuit_moves moves;
        for (uint32_t plane = 0; plane < planes; plane++) {
            draw_permutation(&before[plane * n], n);
            draw_permutation(&after[plane * n], n);
            for (uint32_t i = 0; i < n; i++) {
                uint32_t to = after[plane * n + i];
                wanted[i * n + to] += to != i;
                circuits[i * n + to] += to != i;
            }
        }
        weft_circuit_reassign(after, &moves, circuits, before, n, planes, scratch);
        for (uint32_t port = 0; port < n * planes; port++) {
            uint32_t to = after[port];
            wanted[port % n * n + to] -= to != port % n && wanted[port % n * n + to] > 0;
            for (uint32_t other = port + 1; other % n != 0; other++) {
                assert_true(after[other] != to);
            }
        }
        for (uint32_t pair = 0; pair < n * n; pair++) {
            assert_int_equal(wanted[pair], 0);
        }
        assert_true(moves.bound <= moves.moved && moves.moved <= n * planes);
    }
}

static void matchings_stay_matchings(void **state)
{
    (void)state;
    uint32_t gained = 0;
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
        weft_circuit_exchange_planes(planes[1], planes[0], n, all, scratch);
        check_matchings(planes[1], all, circuits[1], n);
        assert_true(weft_circuit_difference(planes[0], planes[1], all * n) <= moved);
        gained += moved - weft_circuit_difference(planes[0], planes[1], all * n);
    }
    assert_true(gained > 100); // else nothing was exchanged
}

// ---- one plane after the other ----

static uint32_t place_of(const uint32_t *order, uint32_t count, uint32_t plane)
{
    uint32_t at = 0;
    while (at < count && order[at] != plane) {
        at++;
    }
    return at;
}

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
                    uint32_t at = place_of(order, count, p);
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
        cmocka_unit_test(few_colorings_are_above_their_bound),
        cmocka_unit_test(two_ports_a_node_take_half_the_switches),
        cmocka_unit_test(few_ports_move),
        cmocka_unit_test(little_changes_move_few_ports),
        cmocka_unit_test(full_planes_are_all_new),
        cmocka_unit_test(matchings_stay_matchings),
        cmocka_unit_test(planes_change_in_the_best_order),
        cmocka_unit_test(many_planes_change_one_by_one),
    };
    int failed = cmocka_run_group_tests_name("circuit_schedules", tests, NULL, NULL);
    weft_arena_release(&arena);
    weft_arena_release(&scratch);
    return failed;
}
