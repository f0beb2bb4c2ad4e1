// SPDX-License-Identifier: Apache-2.0
// Meshes of interferometers beside their routes: round robin, corners, a library that repairs, the
// triangle and Benes, light, and the mesh under circuits.
//
// Mutations that made these tests fail (each was run): see the tests.

#include "../fresh_arenas.h"
#include "weft/photonics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct weft_error error;

static struct weft_mesh build(uint32_t rows, uint32_t columns)
{
    struct weft_mesh mesh;
    assert_true(weft_mesh_build(&mesh, rows, columns, &arena, &error));
    return mesh;
}

static struct weft_environment environment(void)
{
    return (struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error};
}

static void rounds_join_every_two_once(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 32; n += 2) {
        struct weft_mesh_pair *pairs = WEFT_NEW(&arena, struct weft_mesh_pair, n * (n - 1) / 2);
        bool *met = WEFT_NEW(&arena, bool, n *n);
        weft_mesh_round_robin(pairs, n);
        for (uint32_t r = 0; r + 1 < n; r++) {
            bool *busy = WEFT_NEW(&arena, bool, n);
            for (uint32_t i = 0; i < n / 2; i++) {
                struct weft_mesh_pair pair = pairs[r * (n / 2) + i];
                assert_true(pair.from < pair.to && pair.to < n);
                assert_false(busy[pair.from] || busy[pair.to] || met[pair.from * n + pair.to]);
                busy[pair.from] = busy[pair.to] = met[pair.from * n + pair.to] = true;
            }
        }
    }
}

// Seen to fail when the carry began a line too late.
static void the_triangle_realizes_every_matching(void **state)
{
    (void)state;
    struct weft_rng rng;
    weft_rng_init(&rng, 3);
    assert_int_equal(weft_triangle_cells(32), 240);
    for (uint32_t c = 0; c < 2000; c++) {
        uint32_t n = 2 + 2 * weft_rng_below(&rng, 16);
        uint32_t order[32];
        uint32_t peers[32];
        uint32_t traced[32];
        uint32_t lengths[32];
        uint8_t cells[240];
        for (uint32_t i = 0; i < n; i++) {
            order[i] = i;
        }
        weft_rng_shuffle(&rng, order, n);
        for (uint32_t i = 0; i < n; i++) {
            peers[order[i]] = order[i ^ 1u];
        }
        weft_triangle_set(cells, peers, n, scratch);
        weft_triangle_trace(traced, lengths, cells, n, scratch);
        assert_memory_equal(traced, peers, n * sizeof *peers);
    }
}

// Seen to fail when the cycle was left at the output's neighbor instead of its input's.
static void benes_realizes_every_permutation(void **state)
{
    (void)state;
    struct weft_rng rng;
    weft_rng_init(&rng, 4);
    assert_int_equal(weft_benes_cells(32), 144);
    for (uint32_t c = 0; c < 500; c++) {
        uint32_t n = 2u << weft_rng_below(&rng, 7);
        uint32_t to[128];
        uint8_t cells[1024];
        assert_true(weft_benes_cells(n) <= sizeof cells);
        for (uint32_t i = 0; i < n; i++) {
            to[i] = i;
        }
        weft_rng_shuffle(&rng, to, n);
        weft_benes_set(cells, to, n, scratch);
        for (uint32_t i = 0; i < n; i++) {
            assert_int_equal(weft_benes_trace(cells, n, i), to[i]);
        }
    }
}

static void corners_hold_two_neighbors_at_most(void **state)
{
    (void)state;
    struct weft_mesh mesh = build(9, 9);
    uint16_t *capacity = WEFT_NEW(&arena, uint16_t, 76 * 76);
    weft_mesh_capacities(capacity, &mesh, scratch);
    assert_int_equal(capacity[74 * 76 + 5], 4); // ports 74 to 3: six ports behind four wires
    for (uint32_t p = 0; p < 76; p++) {
        assert_int_equal(capacity[p * 76], 1);
        assert_int_equal(capacity[p * 76 + 30], capacity[(p + 31) % 76 * 76 + 44]);
    }
    static const struct {
        struct weft_mesh_pair pairs[2];
        bool refused;
    } cases[] = {
        {{{75, 20}, {1, 30}}, true},  {{{75, 20}, {2, 30}}, true},  {{{0, 20}, {2, 30}}, true},
        {{{75, 20}, {0, 30}}, false}, {{{0, 20}, {1, 30}}, false},  {{{1, 20}, {2, 30}}, false},
        {{{75, 1}, {0, 30}}, false},  {{{37, 20}, {39, 30}}, true}, {{{38, 20}, {39, 30}}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_mesh_cut cut;
        assert_int_equal(weft_mesh_find_cut(&cut, &mesh, capacity, cases[i].pairs, 2, scratch),
                         cases[i].refused);
    }
}

// Wires of a run are the least, over all sets of cells, that leave the set or are ports on the
// wrong side of it (max-flow is min-cut). Seen to fail when a port that came into the run kept its
// flow.
static void wires_of_runs_are_least_cuts(void **state)
{
    (void)state;
    struct weft_mesh mesh = build(1, 2);
    uint32_t n = mesh.port_count;
    uint16_t *capacity = WEFT_NEW(&arena, uint16_t, n * n);
    weft_mesh_capacities(capacity, &mesh, scratch);
    for (uint32_t run = 0; run < n * n; run++) {
        uint32_t least = UINT32_MAX;
        for (uint32_t set = 0; set < 1u << mesh.cell_count; set++) {
            uint32_t wires = 0;
            for (uint32_t s = 0; s < 4 * mesh.cell_count; s++) {
                uint32_t mate = mesh.stub_mates[s];
                bool inside = mate == WEFT_NONE ? (mesh.stub_wires[s] + n - run / n) % n <= run % n
                                                : (set >> mate / 4 & 1) != 0;
                wires += (set >> s / 4 & 1) != 0 && !inside;
                wires += mate == WEFT_NONE && (set >> s / 4 & 1) == 0 && inside;
            }
            least = wires < least ? wires : least;
        }
        assert_int_equal(capacity[run], least);
    }
}

// Cuts found are those of all runs counted one by one. Seen to fail when pairs inside a run counted
// as leaving it.
static void cuts_are_those_that_lack_most(void **state)
{
    (void)state;
    enum { PAIRS = 8 };
    struct weft_mesh mesh = build(1, 6);
    uint32_t n = mesh.port_count;
    uint16_t *capacity = WEFT_NEW(&arena, uint16_t, n * n);
    weft_mesh_capacities(capacity, &mesh, scratch);
    struct weft_rng rng;
    weft_rng_init(&rng, 6);
    uint32_t cuts = 0;
    for (uint32_t c = 0; c < 500; c++) {
        uint32_t order[32];
        uint32_t count = 0;
        for (uint32_t p = 0; p < n; p++) {
            if ((p + 1) % n > 3 && (p + 1) % n != 16 && (p + n - 14) % n > 4) { // no corners
                order[count++] = p;
            }
        }
        weft_rng_shuffle(&rng, order, count);
        struct weft_mesh_pair pairs[PAIRS];
        uint32_t used = 1 + weft_rng_below(&rng, PAIRS);
        for (uint32_t i = 0; i < used; i++) {
            pairs[i] = (struct weft_mesh_pair){order[2 * i], order[2 * i + 1]};
        }
        uint32_t most = 0;
        for (uint32_t run = 0; run < n * n; run++) {
            uint32_t crossing = 0;
            for (uint32_t i = 0; i < used; i++) {
                crossing += ((pairs[i].from + n - run / n) % n <= run % n) !=
                            ((pairs[i].to + n - run / n) % n <= run % n);
            }
            uint32_t lack = crossing > capacity[run] ? crossing - capacity[run] : 0;
            most = lack > most ? lack : most;
        }
        struct weft_mesh_cut cut;
        bool found = weft_mesh_find_cut(&cut, &mesh, capacity, pairs, used, scratch);
        assert_int_equal(found, most > 0);
        assert_true(!found || (!cut.corner && cut.crossing - cut.wires == most));
        cuts += found;
    }
    assert_true(cuts > 50 && cuts < 450);
}

// A matching with one pair of ports exchanged keeps the routes of the others. Seen to fail when the
// nearest setting was the one with the fewest pairs in common.
static void a_library_moves_what_has_changed(void **state)
{
    (void)state;
    struct weft_mesh mesh = build(7, 7);
    struct weft_environment base = environment();
    struct weft_mesh_pair pairs[] = {{4, 30}, {8, 40}, {12, 50}, {20, 44}, {24, 34}};
    struct weft_mesh_router *router = weft_mesh_router_open(&mesh, &arena);
    struct weft_mesh_library *library = weft_mesh_library_open(&mesh, 2, &arena);
    const struct weft_mesh_options options = {.effort = 50};
    struct weft_mesh_setting setting;
    struct weft_mesh_setting repaired;
    uint32_t moved;
    assert_true(weft_mesh_library_route(&setting, &moved, library, pairs, 5, &options, &base));
    assert_int_equal(moved, 5); // an empty library routes anew
    const struct weft_mesh_pair others[] = {{4, 8}, {30, 40}};
    assert_true(weft_mesh_route(&repaired, router, others, 2, &options, &base));
    weft_mesh_library_add(library, others, 2, repaired.cells);
    weft_mesh_library_add(library, pairs, 5, setting.cells);
    assert_true(weft_mesh_library_route(&repaired, &moved, library, pairs, 5, &options, &base));
    assert_int_equal(moved, 0);
    pairs[3].to = 34;
    pairs[4].to = 44;
    assert_true(weft_mesh_library_route(&repaired, &moved, library, pairs, 5, &options, &base));
    assert_int_equal(repaired.answer, WEFT_MESH_ROUTED);
    assert_true(moved >= 2 && moved <= 4);
    uint8_t *stuck = WEFT_NEW(&arena, uint8_t, mesh.cell_count);
    uint32_t cell = repaired.routes[0].stubs[2] / 4;
    stuck[cell] = repaired.cells[cell] != 0 ? WEFT_MESH_BAR : WEFT_MESH_CROSS;
    const struct weft_mesh_options broken = {.effort = 50, .stuck = stuck};
    weft_mesh_library_add(library, pairs, 5, repaired.cells);
    assert_true(weft_mesh_library_route(&setting, &moved, library, pairs, 5, &broken, &base));
    assert_int_equal(setting.answer, WEFT_MESH_ROUTED);
    assert_true(moved >= 1 && moved < 5);
    assert_int_equal(setting.cells[cell], stuck[cell] == WEFT_MESH_CROSS);
}

// A hexagon whose first cell alone is cross: light of port 1 passes it, goes around and passes it
// again. What leaks there is its own, once from what has 6 cells more behind it and once from what
// has 6 less. Seen to fail when loss counted in the wrong direction.
static void light_fades_and_leaks(void **state)
{
    (void)state;
    struct weft_mesh mesh = build(1, 1);
    const uint8_t cells[6] = {1};
    struct weft_mesh_route route;
    weft_mesh_follow(&route, &mesh, cells, 1, &arena);
    assert_int_equal(route.to, 2);
    assert_int_equal(route.length, 7);
    const struct weft_mesh_light light = {.cell_db = 0.5, .port_db = 1, .crosstalk_db = 30};
    assert_true(fabs(weft_mesh_loss_db(&light, route.length) - 5.5) < 1e-12);
    double signal;
    weft_mesh_crosstalk(&signal, &mesh, &route, 1, &light, scratch);
    assert_true(fabs(signal + 10 * log10(pow(10, -3.3) + pow(10, -2.7))) < 1e-9);
    const struct weft_mesh_light tight = {.cell_db = 0.5};
    weft_mesh_crosstalk(&signal, &mesh, &route, 1, &tight, scratch);
    assert_true(isinf(signal));
}

// Seen to fail when the budget was held against the first route alone.
static void a_mesh_is_a_switch_under_circuits(void **state)
{
    (void)state;
    struct weft_mesh mesh = build(2, 2);
    static const char *const texts[] = {"7f85f", "59c3c"};
    static const struct weft_mesh_pair pairs[2][3] = {{{7, 17}, {11, 14}, {4, 18}},
                                                      {{4, 7}, {11, 17}, {14, 18}}};
    struct weft_mesh_setting settings[2];
    for (uint32_t r = 0; r < 2; r++) {
        uint8_t *cells = WEFT_NEW(&arena, uint8_t, mesh.cell_count);
        struct weft_mesh_route *routes = WEFT_NEW(&arena, struct weft_mesh_route, 3);
        assert_true(weft_mesh_read(cells, &mesh, texts[r], &error));
        for (uint32_t i = 0; i < 3; i++) {
            weft_mesh_follow(&routes[i], &mesh, cells, pairs[r][i].from, &arena);
        }
        settings[r] = (struct weft_mesh_setting){
            .answer = WEFT_MESH_ROUTED, .cells = cells, .route_count = 3, .routes = routes};
    }
    const struct weft_mesh_light light = {.cell_db = 0.2};
    const struct weft_circuit_losses losses = {.budget_db = 2, .connectors_db = 0.5};
    double switch_db[3];
    assert_true(weft_mesh_check_losses(switch_db, &settings[0], &light, &losses, &error));
    assert_true(fabs(switch_db[0] - 1.0) < 1e-12 && fabs(switch_db[1] - 0.6) < 1e-12);
    assert_false(weft_mesh_check_losses(switch_db, &settings[1], &light, &losses, &error));
    assert_non_null(strstr(error.message, "from port 11 to port 17 loses 2.9 dB of 2"));
    struct weft_mesh_change change;
    weft_mesh_compare(&change, &mesh, &settings[0], &settings[1]);
    assert_int_equal(change.toggled, (uint32_t)__builtin_popcount(0x7f85f ^ 0x59c3c));
    assert_int_equal(change.made, 3);
    weft_mesh_compare(&change, &mesh, &settings[0], &settings[0]);
    assert_int_equal(change.kept, 3);
    static const uint32_t ports[] = {4, 7, 11, 14, 17, 18};
    const struct weft_circuit_delays delays = WEFT_CIRCUIT_IDEAL(10000000);
    struct weft_circuit_schedule schedule;
    weft_mesh_schedule(&schedule, ports, 6, settings, 2, 1000000000, &delays, &arena);
    assert_int_equal(schedule.first[1], 4); // 7-17
    assert_int_equal(schedule.changes[0].peers[1], 0);
    const struct weft_circuit_traffic traffic = {.rate_Bps = 1e9};
    assert_true(weft_circuit_check_schedule(&schedule, &traffic, scratch, &error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rounds_join_every_two_once, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(the_triangle_realizes_every_matching, open_arenas,
                                        tear_down),
        cmocka_unit_test_setup_teardown(benes_realizes_every_permutation, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(corners_hold_two_neighbors_at_most, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(wires_of_runs_are_least_cuts, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(cuts_are_those_that_lack_most, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(a_library_moves_what_has_changed, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(light_fades_and_leaks, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(a_mesh_is_a_switch_under_circuits, open_arenas, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
