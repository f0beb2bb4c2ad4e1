// SPDX-License-Identifier: Apache-2.0
// Loads of experts by their law, traces, and what a layer's loads tell of the next one's.
//
// Seen to fail: a projection without its threshold, a fit that goes up its slope, a trace with a
// row too few.

#include "weft/format/experts.h"
#include "weft/plan/mixnet.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct weft_arena arena;
static struct weft_arena scratch;
static struct weft_error error;

// ---- loads ----

static struct weft_expert_trace generate(double skew, double drift, uint32_t steps,
                                         struct weft_arena *kept)
{
    const struct weft_expert_law law = {16, 6, 8, steps, skew, drift, 7};
    struct weft_expert_trace trace;
    weft_experts_generate(&trace, &law, kept, scratch);
    return trace;
}

static int compare_falling(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x > y ? -1 : x < y;
}

static void loads_follow_their_law(void **state)
{
    (void)state;
    struct weft_arena kept = arena;
    struct weft_expert_trace trace = generate(1.3, 0.2, 3, &kept);
    size_t rows = (size_t)trace.steps * trace.layers * trace.ranks;
    for (size_t r = 0; r < rows; r++) {
        double row[16];
        memcpy(row, trace.loads + r * 16, sizeof row);
        qsort(row, 16, sizeof *row, compare_falling);
        for (uint32_t e = 0; e < 16; e++) {
            assert_true(fabs(row[e] / row[0] - pow(e + 1, -1.3)) < 1e-12);
        }
    }
    // Without drift every step is the first one again.
    trace = generate(1.3, 0, 3, &kept);
    size_t step = (size_t)trace.layers * trace.ranks * 16;
    assert_memory_equal(trace.loads, trace.loads + 2 * step, step * sizeof *trace.loads);
}

static void demand_keeps_every_copy(void **state)
{
    (void)state;
    struct weft_arena kept = arena;
    struct weft_expert_trace trace = generate(1.2, 0.1, 1, &kept);
    double bytes[16];
    weft_experts_demand(bytes, trace.loads, &trace, 4, 1000);
    for (uint32_t i = 0; i < 4; i++) {
        double sum = 0;
        for (uint32_t j = 0; j < 4; j++) {
            double direct = 0; // by the definition: two ranks and four experts a server
            double all = 0;
            for (uint32_t r = 2 * i; r < 2 * i + 2; r++) {
                for (uint32_t e = 0; e < 16; e++) {
                    all += trace.loads[r * 16 + e];
                    direct += e / 4 == j ? trace.loads[r * 16 + e] : 0;
                }
            }
            assert_true(fabs(bytes[i * 4 + j] - 1000 * direct / all) < 1e-9);
            sum += bytes[i * 4 + j];
        }
        assert_true(fabs(sum - 1000) < 1e-9);
    }
}

static void traces_that_break_their_header_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"experts 2\nlayers 1\nranks 2\nsteps 2\n1 2\n3 4\n5 6\n",
         "3 rows, where the header's 2 steps of 1 layers of 2 ranks are 4; correct the header or "
         "the rows"},
        {"experts 2\nlayers 1\nranks 1\nsteps 1\n1 2 3\n", "line 5: 3 numbers, where a line has 2"},
        {"experts 2\nlayers 1\nsteps 1\n1 2\n", "line 4: the header lacks 'ranks N'; a trace "
                                                "begins with experts, layers, ranks and steps"},
        {"experts 2\nexperts 2\n", "line 2: experts is stated twice; leave one out"},
        {"experts 2\nlayers 1\nranks 1\nsteps 1\n0 0\n",
         "row 1 is nothing but zeros; a rank sends every token somewhere"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        struct weft_arena kept = arena;
        struct weft_expert_trace trace;
        assert_false(
            weft_experts_read(&trace, rows[r].text, strlen(rows[r].text), &kept, scratch, &error));
        assert_int_equal(error.code, WEFT_INPUT);
        assert_string_equal(error.message, rows[r].says);
    }
}

// ---- predictions ----

// Loads that do follow a matrix of shares are predicted by it.
static void a_fit_finds_the_matrix_that_made_the_loads(void **state)
{
    (void)state;
    enum { N = 6, SAMPLES = 60 };
    struct weft_rng rng;
    weft_rng_init(&rng, 11);
    double real[N * N];
    double before[SAMPLES * N];
    double after[SAMPLES * N];
    for (uint32_t e = 0; e < N; e++) {
        double sum = 0;
        for (uint32_t f = 0; f < N; f++) {
            real[f * N + e] = weft_rng_below(&rng, 3) == 0 ? weft_rng_unit(&rng) : 0.01;
            sum += real[f * N + e];
        }
        for (uint32_t f = 0; f < N; f++) {
            real[f * N + e] /= sum;
        }
    }
    for (uint32_t s = 0; s < SAMPLES; s++) {
        double sum = 0;
        for (uint32_t e = 0; e < N; e++) {
            before[s * N + e] = weft_rng_exponential(&rng, 1);
            sum += before[s * N + e];
        }
        for (uint32_t e = 0; e < N; e++) {
            before[s * N + e] /= sum;
        }
        weft_experts_apply(after + s * N, real, before + s * N, N);
    }
    double found[N * N];
    for (uint32_t at = 0; at < N * N; at++) {
        found[at] = 1.0 / N;
    }
    for (uint32_t round = 0; round < 10; round++) {
        weft_experts_fit(found, before, after, SAMPLES, N, scratch);
    }
    for (uint32_t e = 0; e < N; e++) {
        double sum = 0;
        for (uint32_t f = 0; f < N; f++) {
            assert_true(found[f * N + e] >= 0);
            assert_true(fabs(found[f * N + e] - real[f * N + e]) < 0.01);
            sum += found[f * N + e];
        }
        assert_true(fabs(sum - 1) < 1e-9);
    }
}

static double squared_error(const double *matrix, const double *before, const double *after,
                            uint32_t samples, uint32_t n)
{
    double sum = 0;
    double next[16];
    for (uint32_t s = 0; s < samples; s++) {
        weft_experts_apply(next, matrix, before + s * n, n);
        for (uint32_t f = 0; f < n; f++) {
            sum += (next[f] - after[s * n + f]) * (next[f] - after[s * n + f]);
        }
    }
    return sum;
}

// Of loads that follow no matrix, columns are still shares, and no better than those nearby.
static void a_fit_stays_on_shares_and_is_the_best_there(void **state)
{
    (void)state;
    enum { N = 5, SAMPLES = 12 };
    struct weft_rng rng;
    weft_rng_init(&rng, 12);
    double rows[2][SAMPLES * N];
    for (uint32_t s = 0; s < 2 * SAMPLES; s++) {
        double *row = rows[s / SAMPLES] + s % SAMPLES * N;
        double sum = 0;
        for (uint32_t e = 0; e < N; e++) {
            row[e] = weft_rng_exponential(&rng, 1);
            row[e] *= row[e];
            sum += row[e];
        }
        for (uint32_t e = 0; e < N; e++) {
            row[e] /= sum;
        }
    }
    double found[N * N];
    for (uint32_t at = 0; at < N * N; at++) {
        found[at] = 1.0 / N;
    }
    for (uint32_t round = 0; round < 10; round++) {
        weft_experts_fit(found, rows[0], rows[1], SAMPLES, N, scratch);
    }
    double least = squared_error(found, rows[0], rows[1], SAMPLES, N);
    for (uint32_t e = 0; e < N; e++) {
        double sum = 0;
        for (uint32_t f = 0; f < N; f++) {
            assert_true(found[f * N + e] >= 0);
            sum += found[f * N + e];
        }
        assert_true(fabs(sum - 1) < 1e-9);
        for (uint32_t f = 0; f < N; f++) { // a little of each share to another
            double moved = fmin(1e-3, found[f * N + e]);
            uint32_t other = (f + 1 + e) % N;
            found[f * N + e] -= moved;
            found[other * N + e] += moved;
            assert_true(squared_error(found, rows[0], rows[1], SAMPLES, N) >= least - 1e-7);
            found[other * N + e] -= moved;
            found[f * N + e] += moved;
        }
    }
}

int main(void)
{
    if (!weft_arena_init(&arena, (size_t)8 << 30, &error) ||
        !weft_arena_init(&scratch, (size_t)8 << 30, &error)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_follow_their_law),
        cmocka_unit_test(demand_keeps_every_copy),
        cmocka_unit_test(traces_that_break_their_header_are_refused),
        cmocka_unit_test(a_fit_finds_the_matrix_that_made_the_loads),
        cmocka_unit_test(a_fit_stays_on_shares_and_is_the_best_there),
    };
    return cmocka_run_group_tests_name("expert_loads", tests, NULL, NULL);
}
