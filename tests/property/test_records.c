// SPDX-License-Identifier: Apache-2.0
// Series of links that a run recorded, written as CSV and read back: the same bytes in the same
// steps, links without a sample left out, capacities from the utilization to its six digits.
//
// Mutations that made this test fail (each was run): the writer leaves out the last row; the
// time is written in microseconds; utilization does not ask for the step.

#include "weft/format.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { LINKS = 6, SAMPLES = 40, SEEDS = 200 };

// bytes[link][sample]; a link without bytes at a sample has no row there.
static struct weft_records make_records(uint64_t bytes[LINKS][SAMPLES], struct weft_rng *rng,
                                        struct weft_arena *arena)
{
    struct weft_link_sample *samples = WEFT_NEW(arena, struct weft_link_sample, LINKS * SAMPLES);
    struct weft_records records = {.samples = samples,
                                   .sample_ps = 1000000 * (1 + weft_rng_below(rng, 100000))};
    for (uint32_t s = 0; s < SAMPLES; s++) {
        for (uint32_t l = 0; l < LINKS; l++) {
            // Link 0 has all samples, so that step and first time are known; the last has none.
            bool has = l == 0 || (l < LINKS - 1 && weft_rng_below(rng, 3) > 0);
            bytes[l][s] = has ? 1 + weft_rng_below(rng, 1u << 30) : 0;
            if (has) {
                samples[records.sample_count++] = (struct weft_link_sample){
                    .time_ps = (s + 1) * records.sample_ps, .bytes = bytes[l][s], .link = l};
            }
        }
    }
    return records;
}

static void round_trip(uint64_t seed, const char *path, struct weft_arena arena,
                       struct weft_arena scratch)
{
    struct weft_rng rng;
    struct weft_error error;
    struct weft_link links[LINKS];
    uint64_t bytes[LINKS][SAMPLES];
    weft_rng_init(&rng, seed);
    for (uint32_t l = 0; l < LINKS; l++) {
        links[l] = (struct weft_link){
            .from = l, .to = l + 1, .rate_Bps = 1e9 * (1 + weft_rng_below(&rng, 400))};
    }
    const struct weft_fabric fabric = {.link_count = LINKS, .links = links};
    const struct weft_records records = make_records(bytes, &rng, &arena);
    struct weft_series_set set;
    assert_true(weft_records_save_series(path, &records, &fabric, scratch, &error));
    assert_true(weft_series_load(&set, path, &arena, scratch, &error));
    bool seen[LINKS] = {false};
    for (uint32_t i = 0; i < set.link_count; i++) {
        uint32_t l = (uint32_t)strtoul(set.names[i], NULL, 10);
        assert_true(l < LINKS && !seen[l]);
        seen[l] = true;
        assert_int_equal(set.series[i].step_ps, records.sample_ps);
        assert_int_equal(set.series[i].count, SAMPLES);
        for (uint32_t s = 0; s < SAMPLES; s++) {
            assert_true(set.series[i].bytes[s] == (double)bytes[l][s]);
        }
        // Six digits of the utilization.
        assert_true(fabs(set.capacity_Bps[i] / links[l].rate_Bps - 1) < 1e-5);
    }
    for (uint32_t l = 0; l < LINKS; l++) {
        bool any = false;
        for (uint32_t s = 0; s < SAMPLES; s++) {
            any = any || bytes[l][s] > 0;
        }
        assert_int_equal(seen[l], any);
    }
}

static void series_are_read_back(void **state)
{
    (void)state;
    struct weft_arena arena;
    struct weft_arena scratch;
    struct weft_error error;
    char path[] = "/tmp/weft-series-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    assert_true(weft_arena_init(&arena, 0, &error) && weft_arena_init(&scratch, 0, &error));
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        print_message("seed %u\n", (unsigned)seed);
        round_trip(seed, path, arena, scratch);
    }
    unlink(path);
    weft_arena_release(&scratch);
    weft_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(series_are_read_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
