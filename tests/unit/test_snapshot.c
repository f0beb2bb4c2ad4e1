// SPDX-License-Identifier: Apache-2.0
// Snapshots made of what was measured, several as one, and one whose jobs share many links.

#include "../fresh_arenas.h"
#include "weft/interleave.h"

#include <math.h>
#include <setjmp.h> // cmocka wants it
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define MS_PS 1000000000ull

static struct weft_error error;

// Levels 2, 1, 0 and 3 MB/s of 25 ms each: runs of half the largest rate would miss a third of it.
// Mutations seen to fail: SHAPE_ERROR = 1 (runs alone); neighbours whose union changes most.
static void levels_become_pieces(void **state)
{
    (void)state;
    static const double levels[] = {2, 1, 0, 3};
    double bytes[100];
    for (uint32_t i = 0; i < 100; i++) {
        bytes[i] = 1000 * levels[i / 25];
    }
    const struct weft_series series = {MS_PS, 100, bytes};
    struct weft_measured_demand found;
    assert_true(weft_demand_measure(
        &found, &series, 1, 100 * MS_PS,
        &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error}));
    const struct weft_demand *demand = &found.link_demands[0];
    double sum = 0;
    for (uint32_t p = 0; p < demand->phase_count; p++) {
        const struct weft_demand_phase *phase = &demand->phases[p];
        uint64_t level = phase->start_ps / (25 * MS_PS);
        assert_true(phase->start_ps + phase->duration_ps <= (level + 1) * 25 * MS_PS);
        assert_true(fabs(phase->rate_Bps - 1e6 * levels[level]) < 1);
        sum += phase->rate_Bps * weft_seconds(phase->duration_ps);
    }
    assert_true(fabs(sum - 150000) < 1);
    assert_int_equal(demand->phase_count, 3);
    assert_true(found.shape_error_ratio < 1e-9);
}

static struct weft_series_set one_link(const struct weft_series *series, const char *const *name,
                                       const double *capacity_Bps)
{
    return (struct weft_series_set){1, series, name, capacity_Bps};
}

// Mutation seen to fail: rates above the capacity kept, by however little.
static void rates_above_a_stated_capacity_are_refused(void **state)
{
    (void)state;
    const char *name = "";
    const double bytes[] = {1000, 1000, 0, 0};
    const struct weft_series series = {MS_PS, 4, bytes};
    static const struct {
        double asked_Bps;
        double file_Bps;
        double capacity_Bps; // 0 = refused
    } cases[] = {{0, 0, 1e6},           {2e6, 0, 2e6},  {0, 3e6, 3e6}, {2e6, 3e6, 2e6},
                 {0.995e6, 0, 0.995e6}, {0.98e6, 0, 0}, {0, 0.5e6, 0}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const struct weft_series_set set = one_link(&series, &name, &cases[c].file_Bps);
        struct weft_measured_demand found;
        struct weft_job_set job;
        assert_true(weft_demand_measure(
            &found, &series, 1, 4 * MS_PS,
            &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error}));
        bool fine =
            weft_snapshot_of_series(&job, &set, &found, "a", cases[c].asked_Bps,
                                    &(struct weft_environment){.arena = &arena, .error = &error});
        assert_int_equal(fine, cases[c].capacity_Bps > 0);
        if (fine) {
            const struct weft_demand *demand = &job.snapshot.jobs[0].demand;
            assert_string_equal(job.snapshot.links[0].name, "link");
            assert_true(job.snapshot.links[0].capacity_Bps == cases[c].capacity_Bps);
            assert_true(demand->phases[0].rate_Bps <= cases[c].capacity_Bps);
        } else {
            assert_int_equal(error.code, WEFT_INPUT);
            assert_non_null(strstr(error.message, "link"));
        }
    }
}

// ---- several as one ----

static const struct weft_demand_phase half[] = {{0, 50 * MS_PS, 1e9}};
static const struct weft_demand demand = {100 * MS_PS, half, 1};

// Job a is on links x and y, job b, in a snapshot of its own with the links the other way round, on
// y with another demand and on z. Mutations seen to fail: links of the second part not moved by
// those of the first; demands of links left in their old order.
static void links_of_one_name_are_one(void **state)
{
    (void)state;
    static const struct weft_demand_phase late[] = {{50 * MS_PS, 50 * MS_PS, 5e8}};
    static const struct weft_demand demands[] = {{100 * MS_PS, half, 1}, {100 * MS_PS, late, 1}};
    const struct weft_shared_link first[] = {{"x", 1e9}, {"y", 2e9}};
    const struct weft_shared_link second[] = {{"z", 3e9}, {"y", 2e9}};
    const uint32_t links[] = {0, 1};
    const struct weft_sharing_job a = {"a", demand, links, 2, NULL};
    const struct weft_sharing_job b = {"b", demand, links, 2, demands};
    const struct weft_job_set parts[] = {{{first, 2, &a, 1}, NULL}, {{second, 2, &b, 1}, NULL}};
    struct weft_job_set whole;
    assert_true(weft_snapshot_join(&whole, parts, 2, &arena, scratch, &error));
    assert_true(weft_snapshot_check(&whole.snapshot, &error));
    assert_int_equal(whole.snapshot.link_count, 3);
    assert_string_equal(whole.snapshot.links[1].name, "y");
    assert_string_equal(whole.snapshot.links[2].name, "z");
    const struct weft_sharing_job *joined = &whole.snapshot.jobs[1];
    assert_string_equal(joined->name, "b");
    assert_int_equal(joined->links[0], 1); // y, then z
    assert_int_equal(joined->links[1], 2);
    assert_int_equal(joined->link_demands[0].phases[0].start_ps, 50 * MS_PS);
    assert_int_equal(joined->link_demands[1].phases[0].start_ps, 0);
    assert_true(whole.plays[1].weight == 1);
}

static void snapshots_that_disagree_are_refused(void **state)
{
    (void)state;
    const uint32_t link = 0;
    const struct weft_shared_link one = {"x", 1e9};
    const struct weft_shared_link other = {"x", 2e9};
    const struct weft_sharing_job a = {"a", demand, &link, 1, NULL};
    const struct weft_sharing_job b = {"b", demand, &link, 1, NULL};
    const struct weft_job_set rates[] = {{{&one, 1, &a, 1}, NULL}, {{&other, 1, &b, 1}, NULL}};
    const struct weft_job_set twice[] = {{{&one, 1, &a, 1}, NULL}, {{&one, 1, &a, 1}, NULL}};
    struct weft_job_set whole;
    assert_false(weft_snapshot_join(&whole, rates, 2, &arena, scratch, &error));
    assert_non_null(strstr(error.message, "link x"));
    assert_false(weft_snapshot_join(&whole, twice, 2, &arena, scratch, &error));
    assert_non_null(strstr(error.message, "job a"));
}

// ---- loops ----

// Two jobs over the same 64 links: one loop, all of them bounded, none to be thrown away. Failed
// (out of memory) while each link of a loop took half of what room the one before had left.
static void many_links_in_a_loop_are_solved(void **state)
{
    (void)state;
    enum { LINKS = 64 };
    struct weft_shared_link links[LINKS];
    uint32_t indices[LINKS];
    for (uint32_t l = 0; l < LINKS; l++) {
        links[l] = (struct weft_shared_link){"link", 1e9};
        indices[l] = l;
    }
    const struct weft_sharing_job jobs[] = {{"a", demand, indices, LINKS, NULL},
                                            {"b", demand, indices, LINKS, NULL}};
    const struct weft_snapshot snapshot = {links, LINKS, jobs, 2};
    const struct weft_interleave_options options = {.seed = 1};
    struct weft_interleaving found;
    assert_true(weft_interleave(&found, &snapshot, &options, &arena, scratch, &error));
    assert_true(found.exact && found.score == 1);
    assert_int_equal(found.loop_count, 1);
    assert_int_equal(found.time_shift_ps[1], 50 * MS_PS);
}

// Two links that job b joins: its shift is the same on both, and the score is that of the shifts in
// seconds. On y an angle is half of one on x, as c's iteration is half as long. Mutations seen to
// fail: the sign of a group's turn; of a job's shift in seconds; b's shift in angles of x on y.
static void shifts_along_a_tree_agree(void **state)
{
    (void)state;
    const uint64_t eighth_ps = 100 * MS_PS / 8;
    const struct weft_demand_phase of_a[] = {{eighth_ps, 2 * eighth_ps, 1e9}};
    const struct weft_demand_phase of_b_on_x[] = {{2 * eighth_ps, 6 * eighth_ps, 1e9}};
    const struct weft_demand_phase of_b_on_y[] = {{2 * eighth_ps, 2 * eighth_ps, 1e9},
                                                  {6 * eighth_ps, 2 * eighth_ps, 1e9}};
    const struct weft_demand_phase of_c[] = {{2 * eighth_ps, 2 * eighth_ps, 1e9}};
    const struct weft_demand of_b[] = {{100 * MS_PS, of_b_on_x, 1}, {100 * MS_PS, of_b_on_y, 2}};
    const struct weft_shared_link links[] = {{"x", 1e9}, {"y", 1e9}};
    const uint32_t both[] = {0, 1};
    const struct weft_sharing_job jobs[] = {{"a", {100 * MS_PS, of_a, 1}, both, 1, NULL},
                                            {"b", {100 * MS_PS, NULL, 0}, both, 2, of_b},
                                            {"c", {50 * MS_PS, of_c, 1}, both + 1, 1, NULL}};
    const struct weft_snapshot snapshot = {links, 2, jobs, 3};
    const struct weft_interleave_options options = {.seed = 1};
    struct weft_interleaving found;
    assert_true(weft_interleave(&found, &snapshot, &options, &arena, scratch, &error));
    assert_int_equal(found.group_count, 2);
    assert_int_equal(found.loop_count, 0);
    assert_int_equal(found.links[1].angle_count, 2 * found.links[0].angle_count);
    assert_int_equal(found.time_shift_ps[0], 0);
    assert_int_equal(found.time_shift_ps[1], eighth_ps);
    assert_int_equal(found.time_shift_ps[2], 3 * eighth_ps);
    assert_true(found.exact && found.score == 1);
}

// ---- rounded iteration times ----

static uint64_t multiple(uint64_t a, uint64_t b)
{
    uint64_t common = a;
    while (common % b != 0) {
        common += a;
    }
    return common;
}

// The least change of the longer time, by trying all: the shorter one is `parts` quanta.
static double least_change(double shorter_ps, double longer_ps, uint32_t limit)
{
    double least = 1;
    for (uint32_t parts = 1; parts <= 240; parts++) {
        double whole = nearbyint(longer_ps / shorter_ps * parts);
        uint64_t common = multiple(parts, (uint64_t)whole);
        if (common / parts <= limit && common <= 32768) {
            least = fmin(least, fabs(whole * shorter_ps / parts - longer_ps) / longer_ps);
        }
    }
    return least;
}

// Times without a small common multiple are changed as little as the limit allows, and the circle
// holds whole iterations of both. Mutations seen to fail: quanta that fit taken without comparing;
// times rounded down; the largest multiple for the least common one; a change that is not stated.
static void times_are_rounded_as_little_as_can_be(void **state)
{
    (void)state;
    const struct weft_shared_link link = {"x", 1e9};
    const uint32_t on = 0;
    struct weft_rng rng;
    weft_rng_init(&rng, 5);
    for (uint32_t round = 0; round < 200; round++) {
        uint64_t shorter_ps = 100 * MS_PS + weft_rng_below(&rng, 1u << 30);
        uint64_t longer_ps = shorter_ps + 1 + (uint64_t)weft_rng_below(&rng, 1u << 31) * 200;
        const struct weft_sharing_job jobs[] = {{"a", {longer_ps, half, 1}, &on, 1, NULL},
                                                {"b", {shorter_ps, half, 1}, &on, 1, NULL}};
        const struct weft_snapshot snapshot = {&link, 1, jobs, 2};
        const uint64_t shifts[2] = {0, 0};
        const struct weft_interleave_options options = {.perimeter_limit = 20 + round % 3 * 50};
        struct weft_interleaving found;
        assert_true(weft_interleave_score(
            &found, &snapshot, shifts, &options,
            &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error}));
        const struct weft_link_score *score = &found.links[0];
        double least = least_change((double)shorter_ps, (double)longer_ps, options.perimeter_limit);
        assert_true(fabs(score->period_error_ratio - least) < 1e-11);
        double turns[2] = {(double)score->perimeter_ps / (double)shorter_ps,
                           (double)score->perimeter_ps / (double)longer_ps};
        assert_true(nearbyint(turns[0]) <= options.perimeter_limit);
        for (uint32_t i = 0; i < 2; i++) {
            assert_true(fabs(turns[i] - nearbyint(turns[i])) <= turns[i] * (1.1 * least + 1e-9));
            assert_int_equal(score->angle_count % (uint32_t)nearbyint(turns[i]), 0);
        }
    }
}

static int begin(void **state)
{
    error = (struct weft_error){.code = WEFT_OK};
    return open_arenas(state);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(levels_become_pieces),
        CASE(rates_above_a_stated_capacity_are_refused),
        CASE(links_of_one_name_are_one),
        CASE(snapshots_that_disagree_are_refused),
        CASE(many_links_in_a_loop_are_solved),
        CASE(shifts_along_a_tree_agree),
        CASE(times_are_rounded_as_little_as_can_be),
    };
    return cmocka_run_group_tests_name("snapshot", tests, NULL, NULL);
}
