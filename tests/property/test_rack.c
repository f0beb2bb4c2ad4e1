// SPDX-License-Identifier: Apache-2.0
// Slices on small random racks against every placement and every route; on larger ones, what must
// hold whatever was decided.
//
// Mutations that made these fail: the bound on hops counted each edge at both of its ends (a layout
// with one hop more was proved best; a rack with a layout refused); an edge took a direct link with
// less room than it has circuits; hops equal to the limit were refused; a wavelength's use was
// never given back.

#include "../fresh_arenas.h"
#include "../rack_check.h"
#include "../seeds.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

// ---- all layouts of a few units on a few servers ----

enum { UNITS_MAX = 4, EDGES_MAX = 8, SERVERS_MAX = 5 }; // as the shapes and racks below

struct all_layouts {
    const struct weft_rack *rack;
    const struct weft_rack_state *state;
    uint32_t unit_count, edge_count;
    uint32_t ends[EDGES_MAX][2];
    uint32_t circuits[EDGES_MAX];
    uint32_t fibers[SERVERS_MAX][SERVERS_MAX];
    uint32_t load[SERVERS_MAX][SERVERS_MAX];
    uint32_t room[SERVERS_MAX];
    uint32_t servers[UNITS_MAX];
    uint32_t best_load, best_hops; // WEFT_NONE = none
};

static bool worse(const struct all_layouts *all, uint32_t load, uint32_t hops)
{
    return load > all->best_load || (load == all->best_load && hops >= all->best_hops);
}

static void route(struct all_layouts *all, uint32_t edge, uint32_t load, uint32_t hops);

// Every simple path from `at` to the end of an edge.
static void walk(struct all_layouts *all, uint32_t edge, uint32_t at, uint32_t seen, uint32_t load,
                 uint32_t hops)
{
    uint32_t to = all->servers[all->ends[edge][1]];
    if (at == to) {
        route(all, edge + 1, load, hops);
        return;
    }
    for (uint32_t next = 0; next < all->rack->server_count; next++) {
        uint32_t over = all->load[at][next] + all->circuits[edge];
        uint32_t more = over > load ? over : load;
        if ((seen >> next & 1) != 0 || over > all->fibers[at][next] || worse(all, more, hops + 1)) {
            continue;
        }
        all->load[at][next] += all->circuits[edge];
        all->load[next][at] += all->circuits[edge];
        walk(all, edge, next, seen | 1u << next, more, hops + 1);
        all->load[at][next] -= all->circuits[edge];
        all->load[next][at] -= all->circuits[edge];
    }
}

static void route(struct all_layouts *all, uint32_t edge, uint32_t load, uint32_t hops)
{
    if (edge == all->edge_count) {
        if (!worse(all, load, hops)) {
            all->best_load = load;
            all->best_hops = hops;
        }
        return;
    }
    uint32_t from = all->servers[all->ends[edge][0]];
    walk(all, edge, from, 1u << from, load, hops);
}

// Paths may raise a pair's load after it was looked at: `load` is of the moment, so that the
// largest is the last of each pair's, which is what route sees.
static void place(struct all_layouts *all, uint32_t unit)
{
    if (unit >= all->unit_count || unit == UNITS_MAX) {
        route(all, 0, 0, 0);
        return;
    }
    for (uint32_t s = 0; s < all->rack->server_count; s++) {
        if (all->room[s] > 0) {
            all->room[s]--;
            all->servers[unit] = s;
            place(all, unit + 1);
            all->room[s]++;
        }
    }
}

// Units of a slice, and the circuits between them, by its chips.
static void find_edges(struct all_layouts *all, const uint32_t sides[3], const uint32_t unit[3],
                       uint32_t lanes)
{
    uint32_t between[UNITS_MAX][UNITS_MAX] = {{0}};
    uint32_t chips = sides[0] * sides[1] * sides[2];
    all->unit_count = chips / (unit[0] * unit[1] * unit[2]);
    for (uint32_t c = 0; c < chips; c++) {
        const uint32_t at[3] = {c % sides[0], c / sides[0] % sides[1], c / sides[0] / sides[1]};
        for (uint32_t d = 0; d < 3; d++) {
            uint32_t to[3] = {at[0], at[1], at[2]};
            uint32_t of[2] = {0, 0};
            to[d] = (at[d] + 1) % sides[d];
            if (sides[d] == 1 || (sides[d] == 2 && at[d] == 1)) {
                continue;
            }
            for (uint32_t e = 3; e-- > 0;) {
                of[0] = of[0] * (sides[e] / unit[e]) + at[e] / unit[e];
                of[1] = of[1] * (sides[e] / unit[e]) + to[e] / unit[e];
            }
            between[of[0] < of[1] ? of[0] : of[1]][of[0] < of[1] ? of[1] : of[0]] += lanes;
        }
    }
    all->edge_count = 0;
    for (uint32_t u = 0; u < all->unit_count; u++) {
        for (uint32_t v = u + 1; v < all->unit_count; v++) {
            if (between[u][v] > 0) {
                all->ends[all->edge_count][0] = u;
                all->ends[all->edge_count][1] = v;
                all->circuits[all->edge_count++] = between[u][v];
            }
        }
    }
}

static void search_all(struct all_layouts *all, const struct weft_rack *rack,
                       const struct weft_rack_state *state, uint32_t unit_chips)
{
    all->rack = rack;
    all->best_load = all->best_hops = WEFT_NONE;
    for (uint32_t l = 0; l < rack->link_count; l++) {
        const struct weft_rack_link *link = &rack->links[l];
        uint32_t load = weft_rack_load(state, link->a, link->b);
        all->fibers[link->a][link->b] = all->fibers[link->b][link->a] = link->fibers;
        all->load[link->a][link->b] = all->load[link->b][link->a] = load;
    }
    for (uint32_t s = 0; s < rack->server_count; s++) {
        uint32_t free = 0;
        for (uint32_t c = 0; c < rack->chips_per_server; c++) {
            free += weft_rack_holder(state, s * rack->chips_per_server + c, NULL) == WEFT_NONE;
        }
        all->room[s] = free / unit_chips;
    }
    place(all, 0);
}

static struct weft_rack random_rack(struct weft_rack_link *links, struct weft_rng *rng)
{
    struct weft_rack rack = {.name = "random", .links = links, .wavelengths = 1};
    rack.server_count = 3 + weft_rng_below(rng, 3);
    rack.chips_per_server = 1 + weft_rng_below(rng, 3);
    rack.block[0] = rack.chips_per_server;
    rack.block[1] = rack.block[2] = 1;
    rack.chip_wavelengths = 2 + weft_rng_below(rng, 3);
    rack.wavelength_Bps = 1;
    for (uint32_t a = 0; a < rack.server_count; a++) {
        for (uint32_t b = a + 1; b < rack.server_count; b++) {
            if (weft_rng_below(rng, 3) > 0) {
                links[rack.link_count++] =
                    (struct weft_rack_link){a, b, 1 + weft_rng_below(rng, 4)};
            }
        }
    }
    return rack;
}

static void random_racks_against_all_layouts(void **unused)
{
    (void)unused;
    static const uint32_t shapes[7][3] = {{2, 1, 1}, {3, 1, 1}, {4, 1, 1}, {2, 2, 1},
                                          {1, 4, 1}, {1, 2, 2}, {6, 2, 1}};
    uint32_t placed = 0;
    uint32_t refused = 0;
    for (uint32_t seed = 1; seed <= TEST_SEEDS(600); seed++) {
        struct weft_rng rng;
        struct weft_rack_link links[10];
        struct weft_error error;
        weft_rng_init(&rng, seed);
        struct weft_rack rack = random_rack(links, &rng);
        assert_true(weft_rack_check(&rack, scratch, &error));
        struct weft_rack_state *state = weft_rack_open(&rack, &arena);
        for (uint32_t i = 0; i < 4; i++) {
            struct weft_rack_options options = {.allocator = WEFT_RACK_EXACT, .brief = true};
            const uint32_t *sides = shapes[weft_rng_below(&rng, 7)];
            const struct weft_rack_request request = {
                "slice", {sides[0], sides[1], sides[2]}, 0, 0};
            options.fixed = weft_rng_below(&rng, 2) == 0;
            // The slice as it is placed, and the rack as it was before.
            struct weft_rack_slice slice;
            struct all_layouts all = {0};
            bool fits = weft_rack_place(&slice, state, &request, &options, scratch);
            if (!fits) {
                refused += slice.reason != WEFT_RACK_CAPACITY;
                continue;
            }
            if (slice.chip_count > UNITS_MAX * slice.unit[0] * slice.unit[1] * slice.unit[2]) {
                continue; // too many layouts; 6 x 2 in threes has bundles of two sizes
            }
            struct weft_rack_slice kept;
            weft_rack_slice_copy(&kept, &slice, &arena);
            weft_rack_release(state, slice.tenant);
            find_edges(&all, kept.sides, kept.unit, kept.lanes);
            search_all(&all, &rack, state, kept.unit[0] * kept.unit[1] * kept.unit[2]);
            if (!kept.proved || kept.load_max != all.best_load || kept.hops != all.best_hops) {
                fail_msg("seed %u, request %u: load %u, hops %u, all layouts %u and %u, proved %d",
                         seed, i, kept.load_max, kept.hops, all.best_load, all.best_hops,
                         kept.proved);
            }
            assert_true(weft_rack_place(&slice, state, &request, &options, scratch));
            assert_int_equal(slice.hops, kept.hops);
            assert_true(rack_holds(&rack, state, false));
            placed++;
        }
    }
    printf("%u placed as well as any layout, %u refused\n", placed, refused);
    assert_true(placed > TEST_SEEDS(600) && refused > 0);
}

// Refusals for fibers: no unit of any size has a layout.
static void refusals_have_no_layout(void **unused)
{
    (void)unused;
    uint32_t refused = 0;
    for (uint32_t seed = 1; seed <= TEST_SEEDS(400); seed++) {
        struct weft_rng rng;
        struct weft_rack_link links[10];
        weft_rng_init(&rng, 5000 + seed);
        struct weft_rack rack = random_rack(links, &rng);
        struct weft_rack_state *state = weft_rack_open(&rack, &arena);
        const struct weft_rack_options options = {.allocator = WEFT_RACK_EXACT, .brief = true};
        const struct weft_rack_request request = {"ring", {4, 1, 1}, 0, 0};
        struct weft_rack_slice slice;
        for (uint32_t i = 0; i < 2; i++) {
            bool fits = weft_rack_place(&slice, state, &request, &options, scratch);
            uint32_t lanes = (rack.chip_wavelengths + 1) / 2;
            for (uint32_t v = 1;
                 !fits && slice.proved && slice.reason == WEFT_RACK_FIBERS && v <= 2; v++) {
                struct all_layouts all = {0};
                const uint32_t unit[3] = {v, 1, 1};
                find_edges(&all, request.sides, unit, lanes);
                search_all(&all, &rack, state, v);
                if (v <= rack.chips_per_server && all.best_load != WEFT_NONE) {
                    fail_msg("seed %u: refused, but units of %u fit", seed, v);
                }
                refused++;
            }
        }
    }
    printf("%u refusals without a layout\n", refused);
    assert_true(refused > 0);
}

// ---- tenants that come and go on the block of 64 chips ----

static void come_and_go(uint32_t seed, uint32_t fibers, uint32_t wavelengths,
                        enum weft_rack_allocator allocator)
{
    static const uint32_t shapes[7][3] = {{2, 2, 1}, {2, 2, 2}, {2, 2, 4}, {2, 4, 4},
                                          {6, 1, 1}, {2, 1, 1}, {3, 2, 1}};
    struct weft_rack_link links[64];
    struct weft_rack rack = {.name = "block",
                             .server_count = 16,
                             .chips_per_server = 4,
                             .sides = {2, 2, 4},
                             .block = {2, 2, 1},
                             .links = links,
                             .wavelengths = wavelengths,
                             .chip_wavelengths = 6,
                             .wavelength_Bps = 1};
    rack.link_count = weft_rack_torus_links(links, rack.sides, fibers);
    struct weft_rack_state *state = weft_rack_open(&rack, &arena);
    const struct weft_rack_options options = {
        .allocator = allocator, .steps_max = 20000, .brief = true};
    struct weft_rng rng;
    weft_rng_init(&rng, seed);
    for (uint32_t i = 0; i < 40; i++) {
        const uint32_t *sides = shapes[weft_rng_below(&rng, 7)];
        const struct weft_rack_request request = {"slice", {sides[0], sides[1], sides[2]}, 0, 0};
        struct weft_rack_slice slice;
        uint32_t out = weft_rng_below(&rng, 64);
        uint32_t free = weft_rack_free_chips(state);
        bool fits = weft_rack_place(&slice, state, &request, &options, scratch);
        if (!rack_holds(&rack, state, options.converts)) {
            fail_msg("seed %u, request %u, %s", seed, i, weft_rack_allocator_name(allocator));
        }
        // Fibers without end: the exact allocator refuses for chips alone.
        uint32_t chips = sides[0] * sides[1] * sides[2];
        if (allocator == WEFT_RACK_EXACT && fibers == WEFT_RACK_FIBERS_MAX) {
            assert_int_equal(fits, chips <= free);
        }
        assert_int_equal(weft_rack_free_chips(state), free - (fits ? chips : 0));
        if (fits) {
            assert_true(slice.bound_load <= slice.load_max && slice.bound_hops <= slice.hops);
        }
        if (weft_rack_tenant(state, out) != NULL) {
            const struct weft_rack_slice *held = weft_rack_tenant(state, out);
            const uint32_t lost = weft_rng_below(&rng, held->chip_count);
            struct weft_rack_slice after;
            if (i % 5 == 4) {
                uint32_t chip = held->chips[lost];
                bool replaced = weft_rack_replace(&after, state, out, &lost, 1, &options, scratch);
                assert_true(rack_holds(&rack, state, options.converts));
                assert_true(!replaced || after.chips[lost] != chip);
                weft_rack_release(state, out);
                weft_rack_mend(state, chip);
            } else {
                weft_rack_release(state, out);
            }
        }
    }
}

static void tenants_come_and_go(void **unused)
{
    (void)unused;
    for (uint32_t seed = 1; seed <= TEST_SEEDS(8); seed++) {
        for (uint32_t a = 0; a < WEFT_RACK_ALLOCATOR_COUNT; a++) {
            come_and_go(seed, 4, 1, (enum weft_rack_allocator)a);
            come_and_go(seed, 2, 3, (enum weft_rack_allocator)a);
        }
        come_and_go(seed, WEFT_RACK_FIBERS_MAX, 1, WEFT_RACK_EXACT);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_arenas, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(random_racks_against_all_layouts),
        TEST(refusals_have_no_layout),
        TEST(tenants_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
