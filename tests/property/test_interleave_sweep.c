// SPDX-License-Identifier: Apache-2.0
// Dynamic programming along the circle, without a good answer to begin with, against all rotations.
//
// Mutations seen to fail: what partial answers cost doubled; jobs that still come to a later angle
// taken for gone.

#include "interleave/affinity.h"
#include "interleave/bound.h"

#include <math.h>
#include <setjmp.h> // cmocka wants it
#include <stdarg.h>

#include <cmocka.h>

#define JOBS 4u
#define ANGLES 12u
#define ANGLE_PS 1000u

static double excess_at(const struct cells *cells, const uint32_t *rotations,
                        struct weft_arena scratch)
{
    double *loads = WEFT_NEW(&scratch, double, cells->circles[0].cell_count);
    for (uint32_t p = 0; p < cells->piece_count; p++) {
        interleave_cells_add(loads, cells, &cells->pieces[p].places[0], rotations[p], 1);
    }
    return interleave_cells_excess(cells, 0, loads);
}

static double least_of_all(const struct cells *cells, struct weft_arena scratch)
{
    double least = (double)INFINITY;
    for (uint32_t code = 0; code < ANGLES * ANGLES * ANGLES; code++) {
        const uint32_t rotations[JOBS] = {0, code % ANGLES, code / ANGLES % ANGLES,
                                          code / ANGLES / ANGLES};
        least = fmin(least, excess_at(cells, rotations, scratch));
    }
    return least;
}

static bool try_one(uint64_t seed, struct weft_arena arena, struct weft_arena scratch)
{
    struct weft_rng rng;
    weft_rng_init(&rng, seed);
    const struct weft_shared_link link = {"link", 1e9};
    static const uint32_t links[] = {0};
    struct weft_demand_phase phases[JOBS];
    struct weft_sharing_job jobs[JOBS];
    for (uint32_t j = 0; j < JOBS; j++) {
        uint32_t busy_ps = 1 + weft_rng_below(&rng, ANGLES * ANGLE_PS / 2);
        uint32_t idle_ps = ANGLES * ANGLE_PS - busy_ps;
        phases[j] = (struct weft_demand_phase){weft_rng_below(&rng, idle_ps + 1), busy_ps,
                                               1e8 * (1 + weft_rng_below(&rng, 10))};
        jobs[j] = (struct weft_sharing_job){.name = "job",
                                            .demand = {ANGLES * ANGLE_PS, &phases[j], 1},
                                            .links = links,
                                            .link_count = 1};
    }
    const struct weft_snapshot snapshot = {&link, 1, jobs, JOBS};
    const struct weft_interleave_options options = {.precision_degrees = 30,
                                                    .quantum_ps = ANGLE_PS};
    struct affinity affinity;
    struct weft_error error;
    interleave_affinity(&affinity, &snapshot, &arena, scratch);
    assert_true(interleave_wind(&affinity.groups[0], &snapshot, &options, &arena, scratch, &error));
    struct cells cells;
    interleave_cells_build(&cells, &affinity.groups[0], true, &arena, scratch);
    uint32_t rotations[JOBS] = {0};
    struct found found = {.rotations = rotations, .value = {JOBS, JOBS}};
    const struct search_limits limits = {.work_limit = 100000000};
    const struct rest_table *const *tables = rest_tables_build(&cells, &arena, scratch);
    interleave_sweep(&found, &cells, tables, &limits, scratch);
    double least = least_of_all(&cells, scratch);
    if (found.bound > least + 1e-9 ||
        (found.proved && (fabs(found.value.worst - least) > 1e-8 ||
                          fabs(excess_at(&cells, rotations, scratch) - least) > 1e-8))) {
        fail_msg("seed %llu: %.9f found, at least %.9f; truly %.9f", (unsigned long long)seed,
                 found.value.worst, found.bound, least);
    }
    return found.proved;
}

static void the_least_excess_is_found_and_proved(void **state)
{
    (void)state;
    struct weft_arena arena;
    struct weft_error error;
    assert_true(weft_arena_init(&arena, 0, &error));
    struct weft_arena all = arena;
    struct weft_arena scratch = weft_arena_split(&arena);
    uint32_t proved = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        proved += try_one(seed, arena, scratch) ? 1 : 0;
    }
    assert_int_equal(proved, 200);
    weft_arena_release(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_excess_is_found_and_proved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
