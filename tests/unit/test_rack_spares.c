// SPDX-License-Identifier: Apache-2.0
// Spares of a rack: the published figures, what is refused, and ends of the scale.

#include "../fresh_arenas.h"
#include "weft/plan/rack_spares.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct weft_spares solve(const struct weft_spares_request *request)
{
    struct weft_spares spares;
    struct weft_error error;
    assert_true(weft_rack_spares(&spares, request, &arena, scratch, &error));
    return spares;
}

static void holds(const double *sums, uint32_t first, const double *wanted, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        assert_true(fabs(sums[first + k] - wanted[k]) < 1e-4);
    }
}

// Oracle 5a: 64 chips that fail alone, servers that fail whole, and both.
static void published_shares_are_reached(void **state)
{
    (void)state;
    struct weft_spares_request chips = {
        .chip_count = 64, .chip_probability = 0.02, .chips_per_server = 4, .target = 0.95};
    struct weft_spares spares = solve(&chips);
    holds(spares.probability, 0, (const double[]){0.2745, 0.6329, 0.8634, 0.9606, 0.9908, 0.9982},
          6);
    assert_int_equal(spares.spares, 3);
    holds(spares.servers, 3, (const double[]){0.9690}, 1);
    chips.chip_probability = 0.01;
    holds(solve(&chips).probability, 1, (const double[]){0.8654, 0.9735, 0.9961}, 3);

    const struct weft_risk_kind servers = {4, 16, 0.02};
    const struct weft_spares_request whole = {
        .chip_count = 64, .kind_count = 1, .kinds = &servers, .target = 0.95};
    spares = solve(&whole);
    holds(spares.probability, 3, (const double[]){0.7238, 0.9601}, 2);
    holds(spares.probability, 8, (const double[]){0.9963}, 1);

    const struct weft_risk_kind rare = {4, 16, 0.005};
    struct weft_spares_request both = {.chip_count = 64,
                                       .chip_probability = 0.01,
                                       .kind_count = 1,
                                       .kinds = &rare,
                                       .target = 0.95};
    spares = solve(&both);
    holds(spares.probability, 0,
          (const double[]){0.4851, 0.7987, 0.8985, 0.9193, 0.9615, 0.9871, 0.9952}, 7);
    assert_int_equal(spares.spares, 4);
    both.target = 0.995;
    assert_int_equal(solve(&both).spares, 6);
}

static void ends_of_the_scale_are_exact(void **state)
{
    (void)state;
    struct weft_spares_request request = {.chip_count = 8, .chip_probability = 1, .target = 0.5};
    struct weft_spares spares = solve(&request);
    assert_int_equal(spares.spares, 8);
    assert_true(spares.probability[7] == 0 && spares.probability[8] == 1);
    request.chip_probability = 0;
    assert_int_equal(solve(&request).spares, 0);
    // Never short, though sums of shares may round below 1.
    request = (struct weft_spares_request){
        .chip_count = 4096, .chip_probability = 0.3, .target = 0.999999999999};
    assert_true(solve(&request).spares < 4096);
    // Sizes that do not divide each other are no tree: distinct chips are not known.
    const struct weft_risk_kind kinds[] = {{2, 3, 0.1}, {3, 2, 0.1}};
    request = (struct weft_spares_request){
        .chip_count = 8, .kind_count = 2, .kinds = kinds, .target = 0.5};
    assert_null(solve(&request).distinct);
}

static void whole_racks_are_counted(void **state)
{
    (void)state;
    // One of one rack is hit with 0.7255: a whole rack must stand by for 0.95.
    assert_int_equal(weft_rack_reserve(1, 0.2745, 0.95, scratch), 1);
    assert_int_equal(weft_rack_reserve(1, 0.96, 0.95, scratch), 0);
    // Binomial(16, 0.1): P(<= 3) = 0.9316, P(<= 4) = 0.9830.
    assert_int_equal(weft_rack_reserve(16, 0.9, 0.95, scratch), 4);
}

static void bad_requests_are_refused(void **state)
{
    (void)state;
    const struct weft_risk_kind large = {9, 1, 0.1};
    const struct weft_risk_kind many = {4, 3, 0.1};
    const struct weft_risk_kind odd = {4, 1, 1.5};
    const struct {
        struct weft_spares_request request;
        const char *said;
    } cases[] = {
        {{.chip_count = 0, .target = 0.5}, "{chips}"},
        {{.chip_count = WEFT_SPARES_CHIPS_MAX + 1, .target = 0.5}, "{chips}"},
        {{.chip_count = 8, .chip_probability = -0.1, .target = 0.5}, "{failure}"},
        {{.chip_count = 8, .chip_probability = NAN, .target = 0.5}, "{failure}"},
        {{.chip_count = 8, .target = 1}, "{target}"},
        {{.chip_count = 8, .target = 0.5, .chips_per_server = 9}, "{server-chips}"},
        {{.chip_count = 8, .target = 0.5, .kind_count = 1, .kinds = &large}, "{group}"},
        {{.chip_count = 8, .target = 0.5, .kind_count = 1, .kinds = &many}, "{group}"},
        {{.chip_count = 8, .target = 0.5, .kind_count = 1, .kinds = &odd}, "{group}"},
    };
    for (uint32_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct weft_spares spares;
        struct weft_error error;
        assert_false(weft_rack_spares(&spares, &cases[c].request, &arena, scratch, &error));
        assert_int_equal(error.code, WEFT_INPUT);
        assert_non_null(strstr(error.message, cases[c].said));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(published_shares_are_reached, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(ends_of_the_scale_are_exact, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(whole_racks_are_counted, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(bad_requests_are_refused, open_arenas, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
