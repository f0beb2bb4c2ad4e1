// SPDX-License-Identifier: Apache-2.0
// Slices of photonic racks by hand: the fragmented block of 64 accelerators that is known to have
// an answer of 15 hops, its repair, fibers, wavelengths, loss, migration and redirected bandwidth.

#include "../fresh_arenas.h"
#include "../rack_check.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct weft_rack_link links[64];

// 16 servers of 2x2x1 chips on a torus of 2x2x4 servers.
static struct weft_rack block(uint32_t fibers, uint32_t wavelengths)
{
    struct weft_rack rack = {.name = "block",
                             .server_count = 16,
                             .chips_per_server = 4,
                             .sides = {2, 2, 4},
                             .block = {2, 2, 1},
                             .links = links,
                             .wavelengths = wavelengths,
                             .chip_wavelengths = 6,
                             .wavelength_Bps = 1};
    struct weft_error error;
    rack.link_count = weft_rack_torus_links(links, rack.sides, fibers);
    assert_true(weft_rack_check(&rack, scratch, &error));
    return rack;
}

static bool place(struct weft_rack_slice *slice, struct weft_rack_state *state,
                  const uint32_t sides[3], const struct weft_rack_options *options)
{
    const struct weft_rack_request request = {"slice", {sides[0], sides[1], sides[2]}, 0, 0};
    return weft_rack_place(slice, state, &request, options, scratch);
}

static const uint32_t server_sides[3] = {2, 2, 1};
static const uint32_t half_sides[3] = {2, 4, 4};

// Jobs of four chips on (0,0,0) and (1,1,2), the opposite corners of the 4-cube.
static struct weft_rack_state *fragmented(const struct weft_rack *rack)
{
    struct weft_rack_state *state = weft_rack_open(rack, &arena);
    const struct weft_rack_options options = {.allocator = WEFT_RACK_CONTIGUOUS};
    struct weft_rack_slice slice;
    for (uint32_t s = 0; s < 16; s++) {
        assert_true(place(&slice, state, server_sides, &options));
        assert_int_equal(slice.chips[0], 4 * s);
        assert_true(slice.contiguous && slice.proved && slice.hops == 0);
    }
    for (uint32_t s = 0; s < 16; s++) {
        if (s != 0 && s != 11) {
            weft_rack_release(state, s);
        }
    }
    assert_int_equal(weft_rack_free_chips(state), 56);
    return state;
}

static void a_torus_allocator_refuses_what_is_fragmented(void **unused)
{
    (void)unused;
    struct weft_rack rack = block(4, 1);
    struct weft_rack_state *state = fragmented(&rack);
    const struct weft_rack_options options = {.allocator = WEFT_RACK_CONTIGUOUS};
    struct weft_rack_slice slice;
    assert_false(place(&slice, state, half_sides, &options));
    assert_int_equal(slice.reason, WEFT_RACK_FRAGMENTATION);
    assert_int_equal(slice.largest, 16);
    assert_true(slice.proved);
}

static void fifteen_hops_with_one_route_a_pair_are_found_and_proved(void **unused)
{
    (void)unused;
    for (uint32_t fibers = 4; fibers <= 8; fibers += 4) {
        struct weft_rack rack = block(fibers, 1);
        struct weft_rack_state *state = fragmented(&rack);
        const struct weft_rack_options options = {.allocator = WEFT_RACK_EXACT};
        struct weft_rack_slice slice;
        assert_true(place(&slice, state, half_sides, &options));
        assert_int_equal(slice.hops, 15);
        assert_int_equal(slice.route_load_max, 1);
        assert_int_equal(slice.load_max, 4);
        assert_int_equal(slice.fiber_load_max, 4);
        assert_int_equal(slice.bound_hops, 15);
        assert_int_equal(slice.bound_load, 4);
        assert_true(slice.proved);
        assert_true(rack_holds(&rack, state, false));
    }
}

// The columns (0,1,*) and (1,0,*) alone are free: their rings are direct, and light joins them at
// each z through a busy server, two hops at a time.
static void light_passes_through_busy_servers(void **unused)
{
    (void)unused;
    struct weft_rack rack = block(4, 1);
    struct weft_rack_state *state = weft_rack_open(&rack, &arena);
    const struct weft_rack_options options = {.allocator = WEFT_RACK_EXACT};
    struct weft_rack_slice slice;
    for (uint32_t s = 0; s < 16; s++) {
        const struct weft_rack_options fill = {.allocator = WEFT_RACK_CONTIGUOUS};
        assert_true(place(&slice, state, server_sides, &fill));
    }
    for (uint32_t s = 0; s < 16; s++) {
        if (s % 4 == 1 || s % 4 == 2) {
            weft_rack_release(state, s);
        }
    }
    assert_true(place(&slice, state, half_sides, &options));
    assert_int_equal(slice.hops, 16);
    assert_int_equal(slice.route_load_max, 1);
    assert_int_equal(slice.load_max, 4);
    assert_true(slice.proved);
    uint32_t through = 0;
    for (uint32_t r = 0; r < slice.route_count; r++) {
        const struct weft_rack_route *route = &slice.routes[r];
        bool busy = route->servers[1] % 4 == 0 || route->servers[1] % 4 == 3;
        assert_int_equal(route->hops, busy ? 2 : 1);
        through += busy;
    }
    assert_int_equal(through, 4);
    assert_true(rack_holds(&rack, state, false));
}

static void the_published_program_has_the_same_largest_load(void **unused)
{
    (void)unused;
    struct weft_rack rack = block(4, 1);
    struct weft_rack_state *state = fragmented(&rack);
    const struct weft_rack_options options = {.allocator = WEFT_RACK_PUBLISHED};
    struct weft_rack_slice slice;
    assert_true(place(&slice, state, half_sides, &options));
    assert_int_equal(slice.load_max, 4);
    assert_true(slice.hops >= 15);
    assert_true(rack_holds(&rack, state, false));
}

static void a_failed_server_is_replaced_over_fifteen_hops(void **unused)
{
    (void)unused;
    struct weft_rack rack = block(4, 1);
    struct weft_rack_state *state = weft_rack_open(&rack, &arena);
    const struct weft_rack_options options = {.allocator = WEFT_RACK_CONTIGUOUS};
    struct weft_rack_slice slice;
    struct weft_rack_slice after;
    uint32_t lost[4];
    uint32_t count = 0;
    assert_true(place(&slice, state, half_sides, &options)); // x = 0
    assert_int_equal(slice.hops, 12);
    for (uint32_t c = 0; c < slice.chip_count; c++) {
        if (slice.chips[c] < 4) {
            lost[count++] = c;
        }
    }
    assert_int_equal(count, 4);
    assert_true(weft_rack_replace(&after, state, slice.tenant, lost, 4, &options, scratch));
    assert_int_equal(after.hops, 15);
    assert_int_equal(after.route_load_max, 1);
    assert_int_equal(after.chips[lost[0]] / 4, 1); // (1,0,0)
    assert_int_equal(after.tenant, slice.tenant);
    assert_true(after.proved);
    assert_true(rack_holds(&rack, state, false));
    weft_rack_release(state, after.tenant);
    assert_int_equal(weft_rack_free_chips(state), 60);
    assert_true(rack_holds(&rack, state, false));
}

static void a_spare_of_the_same_server_changes_no_route(void **unused)
{
    (void)unused;
    struct weft_rack rack = block(4, 1);
    struct weft_rack_state *state = weft_rack_open(&rack, &arena);
    const struct weft_rack_options options = {.allocator = WEFT_RACK_EXACT, .fixed = true};
    const uint32_t ring[3] = {6, 1, 1};
    const uint32_t lost = 0;
    struct weft_rack_slice slice;
    struct weft_rack_slice after;
    assert_true(place(&slice, state, ring, &options)); // two servers, three chips each
    assert_int_equal(slice.unit[0], 3);
    assert_true(weft_rack_replace(&after, state, slice.tenant, &lost, 1, &options, scratch));
    assert_int_equal(after.chips[0] / 4, slice.chips[0] / 4);
    assert_int_equal(after.hops, slice.hops);
    assert_true(rack_holds(&rack, state, false));
}

static void fibers_are_a_hard_limit(void **unused)
{
    (void)unused;
    struct weft_rack rack = block(3, 1); // a side of two chips by two needs four
    struct weft_rack_state *state = weft_rack_open(&rack, &arena);
    struct weft_rack_options options = {.allocator = WEFT_RACK_CONTIGUOUS};
    const uint32_t two[3] = {2, 2, 2};
    struct weft_rack_slice slice;
    assert_false(place(&slice, state, two, &options));
    assert_int_equal(slice.reason, WEFT_RACK_FIBERS);
    assert_int_equal(slice.largest, 4);
    options.allocator = WEFT_RACK_EXACT; // thinner bundles fit
    assert_true(place(&slice, state, two, &options));
    assert_true(slice.load_max <= 3);
    assert_true(rack_holds(&rack, state, false));
}

// Four servers in a row, a chip each: light from 0 to 3 crosses all pairs.
static void wavelengths_are_kept_or_converted(void **unused)
{
    (void)unused;
    struct weft_rack rack = {.name = "row",
                             .server_count = 4,
                             .chips_per_server = 1,
                             .block = {1, 1, 1},
                             .link_count = 3,
                             .links =
                                 (const struct weft_rack_link[]){{0, 1, 1}, {1, 2, 1}, {2, 3, 1}},
                             .wavelengths = 2,
                             .chip_wavelengths = 2,
                             .wavelength_Bps = 1};
    struct weft_rack_state *state = weft_rack_open(&rack, &arena);
    const struct weft_rack_options options = {.allocator = WEFT_RACK_EXACT, .fixed = true};
    const uint32_t ring[3] = {4, 1, 1};
    struct weft_rack_slice slice;
    assert_true(place(&slice, state, ring, &options)); // 0-1-3-2-0 or 0-1-2-3-0
    assert_int_equal(slice.load_max, 2);
    assert_int_equal(slice.fiber_load_max, 1);
    assert_true(rack_holds(&rack, state, false));
}

enum { SERVERS = 4 }; // of the racks below, three chips each

// Leaves one chip free on each of two servers of three chips, and no other.
static void open_two(struct weft_rack_state *state, uint32_t from, uint32_t to)
{
    for (uint32_t s = 0, open = 0; s < SERVERS; s++, open = 0) {
        for (uint32_t chip = 3 * s; chip < 3 * s + 3; chip++) {
            bool wanted = (s == from || s == to) && open == 0 &&
                          weft_rack_holder(state, chip, NULL) == WEFT_NONE;
            (wanted ? weft_rack_mend : weft_rack_lose)(state, chip);
            open += wanted;
        }
    }
}

// A ring of two chips on two servers.
static bool join(struct weft_rack_slice *slice, struct weft_rack_state *state, uint32_t from,
                 uint32_t to, bool converts)
{
    const struct weft_rack_options options = {
        .allocator = WEFT_RACK_EXACT, .fixed = true, .converts = converts};
    static const uint32_t pair[3] = {2, 1, 1};
    open_two(state, from, to);
    return place(slice, state, pair, &options);
}

// A row of three servers, and one apart. Pairs have a fiber of two wavelengths: the first is taken
// between 0 and 1, the second between 1 and 2. Both fibers have room, and no wavelength is free on
// both.
static void fibers_with_room_may_lack_a_common_wavelength(void **unused)
{
    (void)unused;
    const struct weft_rack rack = {.name = "row",
                                   .server_count = SERVERS,
                                   .chips_per_server = 3,
                                   .block = {3, 1, 1},
                                   .link_count = 2,
                                   .links = (const struct weft_rack_link[]){{0, 1, 1}, {1, 2, 1}},
                                   .wavelengths = 2,
                                   .chip_wavelengths = 2,
                                   .wavelength_Bps = 1};
    struct weft_rack_state *state = weft_rack_open(&rack, &arena);
    struct weft_rack_slice left;
    struct weft_rack_slice slice;
    assert_true(join(&left, state, 0, 1, false));
    assert_true(join(&slice, state, 1, 2, false));
    uint32_t out = slice.tenant;
    assert_true(join(&slice, state, 1, 2, false));
    assert_int_equal(slice.routes[0].wavelengths[0], 1);
    weft_rack_release(state, out);
    assert_false(join(&slice, state, 0, 2, false));
    assert_int_equal(slice.reason, WEFT_RACK_WAVELENGTHS);
    assert_true(join(&slice, state, 0, 2, true));
    assert_int_equal(slice.hops, 2);
    assert_int_equal(slice.routes[0].wavelengths[0], 1);
    assert_int_equal(slice.routes[0].wavelengths[1], 0);
    assert_true(rack_holds(&rack, state, true));
    weft_rack_release(state, slice.tenant);
    weft_rack_release(state, left.tenant);
    assert_true(join(&slice, state, 0, 2, false)); // the first is free on both now
    assert_int_equal(slice.routes[0].wavelengths[0], 0);
    assert_true(rack_holds(&rack, state, false));
}

// Servers in a ring, light between 0 and 2 over 1 or over 3 with as many circuits on either way.
// Over 1 no wavelength is free on both fibers, over 3 the second one is. Mutation that made this
// fail: routes of a spare are taken whatever their wavelengths.
static void a_spare_is_reached_where_a_wavelength_is_free(void **unused)
{
    (void)unused;
    const struct weft_rack rack = {
        .name = "ring",
        .server_count = SERVERS,
        .chips_per_server = 3,
        .block = {3, 1, 1},
        .link_count = 4,
        .links = (const struct weft_rack_link[]){{0, 1, 1}, {0, 3, 1}, {1, 2, 1}, {2, 3, 1}},
        .wavelengths = 2,
        .chip_wavelengths = 2,
        .wavelength_Bps = 1};
    const struct weft_rack_options options = {.allocator = WEFT_RACK_EXACT, .fixed = true};
    struct weft_rack_state *state = weft_rack_open(&rack, &arena);
    struct weft_rack_slice slice;
    struct weft_rack_slice after;
    assert_true(join(&slice, state, 0, 3, false));
    assert_true(join(&slice, state, 1, 2, false));
    uint32_t out = slice.tenant;
    assert_true(join(&slice, state, 1, 2, false));
    weft_rack_release(state, out);
    assert_true(join(&slice, state, 2, 3, false));
    assert_true(join(&slice, state, 0, 1, false));
    assert_true(join(&slice, state, 0, 1, false));
    assert_int_equal(slice.routes[0].wavelengths[0], 1);
    const uint32_t lost = slice.chips[0] / 3 == 1 ? 0 : 1;
    open_two(state, 2, WEFT_NONE);
    assert_true(weft_rack_replace(&after, state, slice.tenant, &lost, 1, &options, scratch));
    assert_int_equal(after.chips[lost] / 3, 2);
    assert_int_equal(after.hops, 2);
    assert_int_equal(after.routes[0].servers[1], 3);
    assert_int_equal(after.routes[0].wavelengths[0], 1);
    assert_true(rack_holds(&rack, state, false));
}

static void loss_limits_the_hops_of_a_circuit(void **unused)
{
    (void)unused;
    struct weft_rack rack = block(4, 1);
    rack.hop_db = 2;
    rack.budget_db = 2;
    struct weft_rack_state *state = fragmented(&rack);
    const struct weft_rack_options options = {.allocator = WEFT_RACK_EXACT, .steps_max = 100000};
    struct weft_rack_slice slice;
    // Direct links alone: no sub-cube of eight servers is free.
    assert_false(place(&slice, state, half_sides, &options));
    assert_int_equal(slice.reason, WEFT_RACK_FIBERS);
    assert_true(slice.largest >= 16);
}

static void tenants_move_within_a_budget(void **unused)
{
    (void)unused;
    struct weft_rack rack = block(4, 1);
    struct weft_rack_state *state = fragmented(&rack);
    struct weft_rack_options options = {.allocator = WEFT_RACK_CONTIGUOUS, .migrate_chips = 3};
    struct weft_rack_slice slice;
    assert_false(place(&slice, state, half_sides, &options));
    options.migrate_chips = 4;
    assert_true(place(&slice, state, half_sides, &options));
    assert_int_equal(slice.moved_count, 1);
    assert_int_equal(slice.moved_chips, 4);
    assert_non_null(weft_rack_tenant(state, slice.moved[0]));
    assert_true(rack_holds(&rack, state, false));
}

static void unused_dimensions_give_their_bandwidth(void **unused)
{
    (void)unused;
    struct weft_rack rack = block(4, 1);
    const uint32_t chips[2] = {0, 1};
    struct weft_rack_ring rings[2] = {{2, chips, 0}, {1, chips, 0}};
    double rates_Bps[3];
    weft_rack_redirect(rates_Bps, &rack, rings, 1, scratch);
    assert_true(rates_Bps[0] == 3);
    weft_rack_redirect(rates_Bps, &rack, rings, 2, scratch);
    assert_true(rates_Bps[0] == 1.5 && rates_Bps[1] == 1.5);
    rings[0].desired = 2;
    rings[1].desired = 1;
    weft_rack_redirect(rates_Bps, &rack, rings, 2, scratch);
    assert_true(rates_Bps[0] == 2 && rates_Bps[1] == 1);
    // Two of three dimensions: 1.5 times a fixed link; one: three times.
    struct weft_rack_state *state = weft_rack_open(&rack, &arena);
    const struct weft_rack_options options = {.allocator = WEFT_RACK_EXACT};
    const uint32_t ring[3] = {8, 1, 1};
    struct weft_rack_slice slice;
    assert_true(place(&slice, state, server_sides, &options));
    weft_rack_slice_rates(rates_Bps, &rack, &slice, false);
    assert_true(rates_Bps[0] == 1.5 && rates_Bps[1] == 1.5 && rates_Bps[2] == 0);
    assert_true(place(&slice, state, ring, &options));
    assert_int_equal(slice.lanes, 3);
    weft_rack_slice_rates(rates_Bps, &rack, &slice, false);
    assert_true(rates_Bps[0] == 3 && rates_Bps[1] == 0);
    weft_rack_slice_rates(rates_Bps, &rack, &slice, true);
    assert_true(rates_Bps[0] == 1);
}

// Arrays of slices that were released serve those that come.
static void memory_does_not_grow_with_requests(void **unused)
{
    (void)unused;
    struct weft_rack rack = block(4, 1);
    struct weft_rack_state *state = weft_rack_open(&rack, &arena);
    const struct weft_rack_options options = {.allocator = WEFT_RACK_EXACT, .brief = true};
    const uint32_t two[3] = {2, 2, 2};
    struct weft_rack_slice slice;
    const uint32_t *first = NULL;
    for (uint32_t i = 0; i < 1000; i++) {
        assert_true(place(&slice, state, two, &options));
        first = i == 0 ? slice.chips : first;
        assert_ptr_equal(slice.chips, first);
        weft_rack_release(state, slice.tenant);
    }
}

static void racks_that_do_not_fit_together_are_refused(void **unused)
{
    (void)unused;
    struct weft_error error;
    struct weft_rack rack = block(4, 1);
    rack.block[2] = 2;
    assert_false(weft_rack_check(&rack, scratch, &error));
    rack = block(4, 1);
    rack.sides[2] = 3;
    assert_false(weft_rack_check(&rack, scratch, &error));
    rack = block(4, 1);
    links[1] = links[0];
    assert_false(weft_rack_check(&rack, scratch, &error));
    rack = block(4, 1);
    links[0].fibers = 0;
    assert_false(weft_rack_check(&rack, scratch, &error));
    rack = block(4, 1);
    rack.wavelength_Bps = 0;
    assert_false(weft_rack_check(&rack, scratch, &error));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_arenas, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_torus_allocator_refuses_what_is_fragmented),
        TEST(fifteen_hops_with_one_route_a_pair_are_found_and_proved),
        TEST(light_passes_through_busy_servers),
        TEST(the_published_program_has_the_same_largest_load),
        TEST(a_failed_server_is_replaced_over_fifteen_hops),
        TEST(a_spare_of_the_same_server_changes_no_route),
        TEST(fibers_are_a_hard_limit),
        TEST(wavelengths_are_kept_or_converted),
        TEST(fibers_with_room_may_lack_a_common_wavelength),
        TEST(a_spare_is_reached_where_a_wavelength_is_free),
        TEST(loss_limits_the_hops_of_a_circuit),
        TEST(tenants_move_within_a_budget),
        TEST(unused_dimensions_give_their_bandwidth),
        TEST(memory_does_not_grow_with_requests),
        TEST(racks_that_do_not_fit_together_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
