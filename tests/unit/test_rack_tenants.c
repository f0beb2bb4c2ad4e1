// SPDX-License-Identifier: Apache-2.0
// Tenants of a rack: a trace worked out by hand on every fabric, times of slices, what is refused.

#include "../fresh_arenas.h"
#include "../rack_torus.h"
#include "weft/scheduler/tenants.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define NEAR(a, b) assert_true(fabs((a) - (b)) <= 1e-9 * fabs(b))

// ---- a trace by hand ----

// Sixteen tenants of one server each fill the rack; at 1 s all leave but those on servers (0,0,0)
// and (1,1,2), antipodes of the 4-cube. At 2 s somebody asks for half of the rack: 56 chips are
// free, and every aligned half holds one of the two. At 3 s a column is asked for.
static struct weft_tenant_source trace_by_hand(void)
{
    struct weft_rack_request *trace = WEFT_NEW(&arena, struct weft_rack_request, 18);
    for (uint32_t r = 0; r < 16; r++) {
        trace[r] = (struct weft_rack_request){.sides = {2, 2, 1},
                                              .lifetime_s = r == 0 || r == 11 ? 10 : 1};
    }
    trace[16] = (struct weft_rack_request){.sides = {2, 4, 4}, .arrival_s = 2, .lifetime_s = 4};
    trace[17] = (struct weft_rack_request){.sides = {2, 2, 4}, .arrival_s = 3, .lifetime_s = 2};
    struct weft_tenant_source source = {.trace_count = 18, .trace = trace};
    struct weft_error error;
    assert_true(weft_tenant_sizes(&source, &arena, &error));
    return source;
}

static struct weft_tenants_run play(const struct weft_tenant_source *source,
                                    const struct weft_rack *rack, enum weft_tenant_fabric fabric)
{
    const struct weft_tenants_options options = {
        .rack = rack,
        .rack_count = 1,
        .fabric = fabric,
        .job = {.allreduce_bytes = 1e9, .gradient_bytes = 1e9, .compute_s = 0.01},
    };
    struct weft_tenants_run run;
    struct weft_error error;
    assert_true(weft_tenants_play(&run, source, &options, &arena, scratch, &error));
    return run;
}

static void a_torus_refuses_what_lies_apart(void **state)
{
    (void)state;
    const struct weft_tenant_source source = trace_by_hand();
    const struct weft_rack rack = rack_torus(4);
    const struct weft_tenants_run run = play(&source, &rack, WEFT_TENANT_TORUS);
    assert_int_equal(run.row_count, 3);
    assert_int_equal(run.rows[0].chips, 4);
    assert_int_equal(run.rows[0].placed, 16);
    assert_int_equal(run.rows[1].chips, 16);
    assert_int_equal(run.rows[1].placed, 1);
    assert_int_equal(run.rows[2].chips, 32);
    assert_int_equal(run.rows[2].rejected[WEFT_RACK_FRAGMENTATION], 1);
    assert_int_equal(run.all.rejected[WEFT_RACK_CAPACITY], 0);
    assert_int_equal(run.running_max, 16);
    // 64 chips for a second, 8 for two, of 64 for three.
    NEAR(run.utilization, 80.0 / 192);
    NEAR(run.all.chips_rejected, 32.0 / (64 + 32 + 16));
    // Two sides of two are two links of 50 GB/s; a column has two of them and a ring of both ways.
    NEAR(run.rows[0].bandwidth_Bps, 100e9);
    NEAR(run.rows[1].bandwidth_Bps, 200e9);
    // In a square both halves of a gigabyte move over both links in two phases, there and back:
    // 2 * (1/4 + 1/8) GB over 50 GB/s; a ring of four has (2 * 3/4) GB over 100 GB/s, the same.
    NEAR(run.rows[0].allreduce_s, 0.015);
    NEAR(run.rows[0].iteration_s, 0.025);
}

static void scattered_chips_are_rented(void **state)
{
    (void)state;
    const struct weft_tenant_source source = trace_by_hand();
    const struct weft_rack rack = rack_torus(4);
    const struct weft_tenants_run run = play(&source, &rack, WEFT_TENANT_SCATTERED);
    assert_int_equal(run.all.placed, 18);
    NEAR(run.utilization, (64 + 8 + 40) / 192.0);
    NEAR(run.scattered_share, 2.0 / 18); // the half, and the column, whose boxes it cuts
    // One ring of both ways at most, less where it meets others.
    assert_true(run.rows[2].bandwidth_Bps > 0 && run.rows[2].bandwidth_Bps <= 100e9);
}

// Rack 0 has one chip of each server taken, 48 free, and no server for a box of whole ones; rack 1
// has `squares` servers taken, and three fibers a pair, one fewer than two boxes side by side need.
static void refused_by(enum weft_rack_reason reason, uint32_t squares)
{
    struct weft_rack_request *trace = WEFT_NEW(&arena, struct weft_rack_request, 64 + squares + 1);
    for (uint32_t r = 0; r < 64 + squares; r++) {
        bool stays = r >= 64 || (r % 2 == 0 && r / 4 % 2 == 0);
        uint32_t side = r < 64 ? 1 : 2;
        trace[r] =
            (struct weft_rack_request){.sides = {side, side, 1}, .lifetime_s = stays ? 10 : 1};
    }
    trace[64 + squares] =
        (struct weft_rack_request){.sides = {2, 2, 2}, .arrival_s = 2, .lifetime_s = 1};
    struct weft_tenant_source source = {.trace_count = 64 + squares + 1, .trace = trace};
    const struct weft_rack rack = rack_torus(3);
    const struct weft_tenants_options options = {.rack = &rack,
                                                 .rack_count = 2,
                                                 .fabric = WEFT_TENANT_PUBLISHED,
                                                 .order = WEFT_TENANT_FIRST,
                                                 .job = {.compute_s = 1}};
    struct weft_tenants_run run;
    struct weft_error error;
    assert_true(weft_tenant_sizes(&source, &arena, &error));
    assert_true(weft_tenants_play(&run, &source, &options, &arena, scratch, &error));
    assert_int_equal(run.all.placed, 64 + squares);
    for (uint32_t r = WEFT_RACK_CAPACITY; r < WEFT_RACK_REASON_COUNT; r++) {
        assert_int_equal(run.all.rejected[r], r == (uint32_t)reason);
    }
}

// Mutation that made this fail: the reason of the rack that was tried first.
static void the_rack_with_most_free_chips_says_why(void **state)
{
    (void)state;
    refused_by(WEFT_RACK_FIBERS, 3);        // 48 and 52 are free
    refused_by(WEFT_RACK_FRAGMENTATION, 5); // 48 and 44
}

// ---- times ----

// Oracle 6b: an AllReduce of 64 chips with 300 GB/s and messages of 1 us, one ring and, where
// circuits follow in 3.7 us, by the better of 2 and 4.
static void published_times_are_reached(void **state)
{
    (void)state;
    const struct {
        double bytes, ring_us, follow_us;
    } rows[] = {{65536, 126.4, 28.6},     {1048576, 132.9, 35.1},   {4194304, 153.5, 55.7},
                {16777216, 236.1, 138.3}, {67108864, 566.4, 468.6}, {268435456, 1887.6, 1789.8}};
    const struct weft_slice_rates rates = {.chips = 64, .ring_Bps = 300e9, .direct_Bps = 300e9};
    struct weft_tenant_job job = {.message_s = 1e-6, .change_s = 3.7e-6};
    for (uint32_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        job.follows = false;
        double ring_s = weft_slice_allreduce(&rates, rows[r].bytes, 1, &job);
        job.follows = true;
        double follow_s = weft_slice_allreduce(&rates, rows[r].bytes, 1, &job);
        assert_true(fabs(1e6 * ring_s - rows[r].ring_us) < 0.1);
        assert_true(fabs(1e6 * follow_s - rows[r].follow_us) < 0.1);
    }
}

static void boxes_have_the_links_inside_them(void **state)
{
    (void)state;
    static const uint32_t torus[3] = {4, 4, 4};
    const struct {
        uint32_t sides[3];
        double links[3], ring;
    } cases[] = {
        {{1, 1, 1}, {0, 0, 0}, 0}, // nobody to send to
        {{2, 1, 1}, {1, 0, 0}, 1}, // a pair is one link
        {{3, 1, 1}, {1, 0, 0}, 1}, // a line: out and back
        {{4, 1, 1}, {2, 0, 0}, 2}, // closed
        {{2, 2, 1}, {1, 1, 0}, 2}, // a square is a cycle
        {{3, 3, 1}, {1, 1, 0}, 1}, // nine chips of a grid have none
        {{4, 4, 4}, {2, 2, 2}, 2},
    };
    for (uint32_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct weft_slice_rates rates;
        weft_slice_box(&rates, cases[c].sides, torus, 1);
        for (uint32_t d = 0; d < 3; d++) {
            assert_true(rates.side_Bps[d] == cases[c].links[d]);
        }
        assert_true(rates.ring_Bps == cases[c].ring);
    }
}

// All dimensions busy: a third of a gigabyte in each part, three quarters of it over two links,
// then of a quarter and of a sixteenth of it, there and back; no way to do it is quicker.
static void dimensions_work_side_by_side(void **state)
{
    (void)state;
    static const uint32_t sides[3] = {4, 4, 4};
    const struct weft_tenant_job job = {0};
    struct weft_slice_rates rates;
    weft_slice_box(&rates, sides, sides, 50e9);
    NEAR(weft_slice_allreduce(&rates, 1e9, 1, &job), 2 * 63.0 / 64 * 1e9 / 300e9);
    // Two sides of unlike length: the square's links carry a half, then an eighth of the halves.
    static const uint32_t flat[3] = {2, 4, 1};
    weft_slice_box(&rates, flat, sides, 50e9);
    double first = fmax(0.5 / 2 / 50, 0.5 * 3 / 4 / 100);
    double second = fmax(0.25 * 3 / 4 / 100, 0.125 / 2 / 50);
    NEAR(weft_slice_allreduce(&rates, 1e9, 1, &job), 2 * (first + second));
}

static void computation_hides_the_exchange(void **state)
{
    (void)state;
    const struct weft_slice_rates rates = {.chips = 2, .ring_Bps = 1e9};
    struct weft_tenant_job job = {.gradient_bytes = 1e9, .compute_s = 3, .hidden_s = 0.4};
    NEAR(weft_slice_iteration(&rates, 1, &job), 3.6); // a gigabyte in a second, 0.4 s of it hidden
    NEAR(weft_slice_iteration(&rates, 0.5, &job), 4.6);
    job.hidden_s = 2;
    NEAR(weft_slice_iteration(&rates, 1, &job), 3.0);
}

// ---- what is refused ----

static void bad_runs_are_refused(void **state)
{
    (void)state;
    struct weft_rack rack = rack_torus(4);
    const struct weft_rack_request trace[] = {{.sides = {2, 2, 1}, .arrival_s = 2},
                                              {.sides = {2, 2, 1}, .arrival_s = 1}};
    struct weft_tenant_source source = {.trace_count = 2, .trace = trace};
    struct weft_error error;
    assert_false(weft_tenant_sizes(&source, &arena, &error));
    assert_non_null(strstr(error.message, "request 2 arrives before"));

    const struct weft_tenant_size large = {{8, 4, 4}, 1};
    source = (struct weft_tenant_source){
        .count = 1, .load = 1, .lifetime_s = 1, .size_count = 1, .sizes = &large};
    struct weft_tenants_run run;
    struct weft_tenants_options options = {.rack = &rack, .rack_count = 1};
    assert_false(weft_tenants_play(&run, &source, &options, &arena, scratch, &error));
    assert_non_null(strstr(error.message, "8 x 4 x 4"));

    source.sizes = weft_tenant_mix;
    source.size_count = WEFT_TENANT_MIX_SIZES;
    memset(rack.sides, 0, sizeof rack.sides);
    assert_false(weft_tenants_play(&run, &source, &options, &arena, scratch, &error));
    assert_non_null(strstr(error.message, "no torus"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_torus_refuses_what_lies_apart, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(scattered_chips_are_rented, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(the_rack_with_most_free_chips_says_why, open_arenas,
                                        tear_down),
        cmocka_unit_test_setup_teardown(published_times_are_reached, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(boxes_have_the_links_inside_them, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(dimensions_work_side_by_side, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(computation_hides_the_exchange, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(bad_runs_are_refused, open_arenas, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
