// SPDX-License-Identifier: Apache-2.0
// The max-min solver on small networks whose rates are known.

#include "../fresh_arenas.h"
#include "sim/flow/maxmin.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct weft_maxmin solver(const double *capacity_Bps, uint32_t link_count)
{
    struct weft_maxmin maxmin;
    weft_maxmin_init(&maxmin, capacity_Bps, link_count, 16, 4, &arena);
    return maxmin;
}

static uint32_t enter(struct weft_maxmin *maxmin, uint32_t a, uint32_t b)
{
    uint32_t path[2] = {a, b};
    uint32_t id = weft_maxmin_open(maxmin, path, b == WEFT_NONE ? 1 : 2);
    weft_maxmin_join(maxmin, id);
    return id;
}

static double rate(const struct weft_maxmin *maxmin, uint32_t id)
{
    return weft_maxmin_class_at(maxmin, id)->rate_Bps;
}

static void settle(struct weft_maxmin *maxmin)
{
    weft_maxmin_solve(maxmin);
    maxmin->touched_count = 0;
}

static void one_flow_takes_the_slowest_link(void **state)
{
    (void)state;
    struct weft_maxmin maxmin = solver((double[]){10, 4}, 2);
    uint32_t id = enter(&maxmin, 0, 1);
    settle(&maxmin);
    assert_true(rate(&maxmin, id) == 4);
}

// Bertsekas and Gallager, Data Networks, section 6.5.2: what one flow leaves goes to the other.
static void what_a_held_flow_leaves_goes_to_the_rest(void **state)
{
    (void)state;
    struct weft_maxmin maxmin = solver((double[]){10, 4}, 2);
    uint32_t both = enter(&maxmin, 0, 1);
    uint32_t first = enter(&maxmin, 0, WEFT_NONE);
    uint32_t second = enter(&maxmin, 1, WEFT_NONE);
    settle(&maxmin);
    assert_true(rate(&maxmin, both) == 2);
    assert_true(rate(&maxmin, second) == 2);
    assert_true(rate(&maxmin, first) == 8);

    weft_maxmin_leave(&maxmin, second);
    settle(&maxmin);
    assert_true(rate(&maxmin, both) == 4);
    assert_true(rate(&maxmin, first) == 6);
}

static void flows_of_a_class_count_by_weight(void **state)
{
    (void)state;
    struct weft_maxmin maxmin = solver((double[]){12}, 1);
    uint32_t three = enter(&maxmin, 0, WEFT_NONE);
    weft_maxmin_join(&maxmin, three);
    weft_maxmin_join(&maxmin, three);
    uint32_t one = enter(&maxmin, 0, WEFT_NONE);
    settle(&maxmin);
    assert_true(rate(&maxmin, three) == 3);
    assert_true(rate(&maxmin, one) == 3);
}

static void shares_divide_a_link_in_their_ratio(void **state)
{
    (void)state;
    struct weft_maxmin maxmin = solver((double[]){12, 4}, 2);
    weft_maxmin_use_shares(&maxmin);
    uint32_t two = enter(&maxmin, 0, WEFT_NONE);
    weft_maxmin_set_share(&maxmin, two, 2);
    uint32_t one = enter(&maxmin, 0, WEFT_NONE);
    uint32_t held = enter(&maxmin, 0, 1);
    weft_maxmin_set_share(&maxmin, held, 3);
    settle(&maxmin);
    assert_true(fabs(2 * rate(&maxmin, two) - 16.0 / 3) < 1e-12);
    assert_true(fabs(rate(&maxmin, one) - 8.0 / 3) < 1e-12);
    assert_true(fabs(3 * rate(&maxmin, held) - 4) < 1e-12);

    // What has the link for itself goes as fast with any share, and is not reported.
    weft_maxmin_set_share(&maxmin, held, 9);
    weft_maxmin_solve(&maxmin);
    assert_int_equal(maxmin.touched_count, 0);
    assert_true(fabs(9 * rate(&maxmin, held) - 4) < 1e-12);
}

static void only_changed_rates_are_reported(void **state)
{
    (void)state;
    struct weft_maxmin maxmin = solver((double[]){6, 9}, 2);
    uint32_t a = enter(&maxmin, 0, WEFT_NONE);
    settle(&maxmin);
    uint32_t b = enter(&maxmin, 1, WEFT_NONE);
    weft_maxmin_solve(&maxmin);
    assert_int_equal(maxmin.touched_count, 1);
    assert_int_equal(maxmin.touched[0], b);
    assert_true(maxmin.before_Bps[b] == 0);
    maxmin.touched_count = 0;
    weft_maxmin_join(&maxmin, a);
    weft_maxmin_solve(&maxmin);
    assert_int_equal(maxmin.touched_count, 1);
    assert_int_equal(maxmin.touched[0], a);
    assert_true(maxmin.before_Bps[a] == 6);
}

static void a_change_that_concerns_nobody_costs_nothing(void **state)
{
    (void)state;
    struct weft_maxmin maxmin = solver((double[]){6, 100}, 2);
    enter(&maxmin, 0, 1);
    settle(&maxmin);
    uint64_t before = maxmin.counts.evaluations;
    weft_maxmin_close(&maxmin, weft_maxmin_open(&maxmin, (uint32_t[]){1}, 1));
    settle(&maxmin);
    assert_int_equal(maxmin.counts.evaluations, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_flow_takes_the_slowest_link, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(what_a_held_flow_leaves_goes_to_the_rest, open_arenas,
                                        tear_down),
        cmocka_unit_test_setup_teardown(flows_of_a_class_count_by_weight, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(shares_divide_a_link_in_their_ratio, open_arenas,
                                        tear_down),
        cmocka_unit_test_setup_teardown(only_changed_rates_are_reported, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(a_change_that_concerns_nobody_costs_nothing, open_arenas,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
