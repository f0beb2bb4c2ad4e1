// SPDX-License-Identifier: Apache-2.0
// Meshes of interferometers: every setting joins the ports two by two; random matchings are routed
// or refused, on meshes of 5 x 5 to 13 x 13 with and without stuck cells; what no route passes
// keeps its state; rounds in order toggle no more than as they came.
//
// Mutations that made this test fail (each was run): a route that is laid over another's wires does
// not eject every owner (an assertion stops it); stuck cells are forgotten where routes become a
// setting; cells of no route are set to bar.

#include "../fresh_arenas.h"
#include "weft/photonics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { SEED = 20 };

static struct weft_mesh build(uint32_t rows, uint32_t columns, struct weft_arena *inner)
{
    struct weft_mesh mesh;
    struct weft_error error;
    assert_true(weft_mesh_build(&mesh, rows, columns, inner, &error));
    return mesh;
}

static void random_settings_join_all_ports_two_by_two(void **state)
{
    (void)state;
    struct weft_rng rng;
    weft_rng_init(&rng, SEED);
    for (uint32_t c = 0; c < 300; c++) {
        struct weft_arena inner = weft_arena_split(&scratch);
        struct weft_mesh mesh =
            build(1 + weft_rng_below(&rng, 13), 1 + weft_rng_below(&rng, 13), &inner);
        uint8_t *cells = WEFT_NEW(&inner, uint8_t, mesh.cell_count);
        for (uint32_t e = 0; e < mesh.cell_count; e++) {
            cells[e] = (uint8_t)weft_rng_below(&rng, 2);
        }
        uint32_t *peers = WEFT_NEW(&inner, uint32_t, mesh.port_count);
        uint32_t *lengths = WEFT_NEW(&inner, uint32_t, mesh.port_count);
        weft_mesh_trace(peers, lengths, &mesh, cells);
        for (uint32_t p = 0; p < mesh.port_count; p++) {
            assert_true(peers[p] != p && peers[peers[p]] == p);
            assert_int_equal(lengths[p], lengths[peers[p]]);
        }
    }
}

// Pairs of random ports.
static void draw_pairs(struct weft_mesh_pair *pairs, uint32_t count, const struct weft_mesh *mesh,
                       struct weft_rng *rng, struct weft_arena inner)
{
    uint32_t *order = WEFT_NEW(&inner, uint32_t, mesh->port_count);
    for (uint32_t p = 0; p < mesh->port_count; p++) {
        order[p] = p;
    }
    weft_rng_shuffle(rng, order, mesh->port_count);
    for (uint32_t i = 0; i < count; i++) {
        pairs[i] = (struct weft_mesh_pair){order[2 * i], order[2 * i + 1]};
    }
}

static void check_routed(const struct weft_mesh_setting *setting, const struct weft_mesh *mesh,
                         const struct weft_mesh_pair *pairs, uint32_t count,
                         const struct weft_mesh_options *options, struct weft_arena inner)
{
    uint32_t *peers = WEFT_NEW(&inner, uint32_t, mesh->port_count);
    uint32_t *lengths = WEFT_NEW(&inner, uint32_t, mesh->port_count);
    bool *passed = WEFT_NEW(&inner, bool, mesh->cell_count);
    bool *wires = WEFT_NEW(&inner, bool, mesh->wire_count);
    weft_mesh_trace(peers, lengths, mesh, setting->cells);
    uint32_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_mesh_route *route = &setting->routes[i];
        assert_int_equal(route->from, pairs[i].from);
        assert_int_equal(peers[pairs[i].from], pairs[i].to);
        assert_int_equal(lengths[pairs[i].from], route->length);
        total += route->length;
        for (uint32_t s = 0; s < route->length; s++) {
            uint32_t wire = mesh->stub_wires[route->stubs[s]];
            assert_false(wires[wire]);
            wires[wire] = true;
            passed[route->stubs[s] / 4] = true;
        }
    }
    assert_int_equal(total, setting->total);
    for (uint32_t e = 0; e < mesh->cell_count; e++) {
        uint8_t stuck = options->stuck == NULL ? WEFT_MESH_FREE : options->stuck[e];
        if (stuck != WEFT_MESH_FREE) {
            assert_int_equal(setting->cells[e], stuck == WEFT_MESH_CROSS);
        } else if (!passed[e] && options->former != NULL) {
            assert_int_equal(setting->cells[e], options->former[e]);
        }
    }
}

// The pairs that leave a run of ports, counted port by port.
static void check_cut(const struct weft_mesh_cut *cut, const struct weft_mesh *mesh,
                      const struct weft_mesh_pair *pairs, uint32_t count)
{
    uint32_t run = (cut->last + mesh->port_count - cut->first) % mesh->port_count;
    uint32_t crossing = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t from = (pairs[i].from + mesh->port_count - cut->first) % mesh->port_count;
        uint32_t to = (pairs[i].to + mesh->port_count - cut->first) % mesh->port_count;
        crossing += (from <= run) != (to <= run);
    }
    assert_int_equal(crossing, cut->crossing);
    assert_true(cut->corner ? crossing >= cut->wires : crossing > cut->wires);
}

static void random_matchings_are_routed_or_refused(void **state)
{
    (void)state;
    enum { CASES = 1000 };
    struct weft_rng rng;
    struct weft_error error;
    weft_rng_init(&rng, SEED);
    uint32_t answers[5] = {0};
    uint32_t solved = 0;
    for (uint32_t c = 0; c < CASES; c++) {
        struct weft_arena inner = weft_arena_split(&scratch);
        struct weft_mesh mesh =
            build(5 + weft_rng_below(&rng, 9), 5 + weft_rng_below(&rng, 9), &inner);
        uint32_t count = 1 + weft_rng_below(&rng, (mesh.rows + mesh.columns) / 2);
        struct weft_mesh_pair *pairs = WEFT_NEW(&inner, struct weft_mesh_pair, count);
        draw_pairs(pairs, count, &mesh, &rng, inner);
        uint8_t *stuck = WEFT_NEW(&inner, uint8_t, mesh.cell_count);
        uint8_t *former = WEFT_NEW(&inner, uint8_t, mesh.cell_count);
        for (uint32_t e = 0; e < mesh.cell_count; e++) {
            former[e] = (uint8_t)weft_rng_below(&rng, 2);
        }
        for (uint32_t s = weft_rng_below(&rng, 6); s > 0; s--) {
            stuck[weft_rng_below(&rng, mesh.cell_count)] =
                weft_rng_below(&rng, 2) == 0 ? WEFT_MESH_BAR : WEFT_MESH_CROSS;
        }
        struct weft_environment environment = {
            .arena = &inner, .scratch = arena, .seed = c, .error = &error};
        struct weft_mesh_router *router = weft_mesh_router_open(&mesh, &inner);
        struct weft_mesh_options options = {.stuck = stuck, .former = former, .effort = 50};
        struct weft_mesh_setting setting;
        assert_true(weft_mesh_route(&setting, router, pairs, count, &options, &environment));
        answers[setting.answer]++;
        solved += setting.solved && setting.answer == WEFT_MESH_ROUTED;
        if (setting.answer == WEFT_MESH_ROUTED) {
            check_routed(&setting, &mesh, pairs, count, &options, inner);
        } else if (setting.answer == WEFT_MESH_CUT) {
            check_cut(&setting.cut, &mesh, pairs, count);
        }
    }
    print_message(
        "seed %u: %u routed, %u of them by the solver; %u refused by cuts, %u blocked, %u "
        "refused by the solver\n",
        SEED, answers[WEFT_MESH_ROUTED], solved, answers[WEFT_MESH_CUT], answers[WEFT_MESH_BLOCKED],
        answers[WEFT_MESH_REFUTED]);
    assert_true(answers[WEFT_MESH_ROUTED] > CASES / 3);
    assert_true(solved < CASES / 50);
    assert_int_equal(answers[WEFT_MESH_UNANSWERED], 0);
}

static void rounds_in_order_toggle_no_more(void **state)
{
    (void)state;
    enum { PORTS = 12 };
    struct weft_error error;
    struct weft_mesh mesh = build(5, 5, &arena);
    struct weft_environment environment = {
        .arena = &arena, .scratch = scratch, .seed = SEED, .error = &error};
    uint32_t ports[PORTS];
    struct weft_mesh_pair pairs[PORTS * (PORTS - 1) / 2];
    assert_true(weft_mesh_choose_ports(ports, PORTS, &mesh, &environment));
    weft_mesh_round_robin(pairs, PORTS);
    struct weft_mesh_setting settings[PORTS - 1];
    struct weft_mesh_router *router = weft_mesh_router_open(&mesh, &arena);
    const struct weft_mesh_options options = {0};
    for (uint32_t r = 0; r < PORTS - 1; r++) {
        struct weft_mesh_pair *round = &pairs[r * PORTS / 2];
        for (uint32_t i = 0; i < PORTS / 2; i++) {
            round[i] = (struct weft_mesh_pair){ports[round[i].from], ports[round[i].to]};
        }
        assert_true(
            weft_mesh_route(&settings[r], router, round, PORTS / 2, &options, &environment));
        assert_int_equal(settings[r].answer, WEFT_MESH_ROUTED);
    }
    uint32_t order[PORTS - 1];
    uint32_t sums[2] = {0};
    for (uint32_t keep = 0; keep < 2; keep++) {
        uint32_t toggled[PORTS - 1];
        const struct weft_mesh_order how = {.keep = keep == 0};
        struct weft_mesh_setting set[PORTS - 1];
        memcpy(set, settings, sizeof set);
        weft_mesh_order_rounds(order, toggled, set, PORTS - 1, &mesh, &how, &arena, scratch);
        for (uint32_t i = 0; i < PORTS - 1; i++) {
            check_routed(&set[order[i]], &mesh, &pairs[order[i] * PORTS / 2], PORTS / 2, &options,
                         scratch);
            uint32_t changed = 0;
            for (uint32_t e = 0; e < mesh.cell_count && i > 0; e++) {
                changed += set[order[i]].cells[e] != set[order[i - 1]].cells[e];
            }
            assert_int_equal(toggled[order[i]], changed);
            sums[keep] += toggled[order[i]];
        }
    }
    print_message("cells toggled in %u rounds: %u as they come, %u in order\n", PORTS - 1, sums[0],
                  sums[1]);
    assert_true(sums[1] <= sums[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_settings_join_all_ports_two_by_two, open_arenas,
                                        tear_down),
        cmocka_unit_test_setup_teardown(random_matchings_are_routed_or_refused, open_arenas,
                                        tear_down),
        cmocka_unit_test_setup_teardown(rounds_in_order_toggle_no_more, open_arenas, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
