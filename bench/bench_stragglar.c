// SPDX-License-Identifier: Apache-2.0
// What StragglAR schedules cost to build and to check: bench_stragglar. User CPU seconds, rounds of
// the straggler's part and their bound.

#include "weft/collective.h"

#include <time.h>

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool show(uint32_t n, uint32_t factor, struct weft_arena arena, struct weft_arena scratch,
                 struct weft_error *error)
{
    const struct weft_algorithm_options options = {
        .rank_count = n, .chunk_factor = factor, .straggler = n / 2};
    struct weft_schedule schedule;
    struct weft_schedule_report report;
    double start_s = cpu_seconds();
    if (!weft_algorithm_build(&schedule, WEFT_ALGORITHM_STRAGGLAR, &options, &arena, scratch,
                              error)) {
        return false;
    }
    double built_s = cpu_seconds();
    if (!weft_schedule_check(&report, &schedule, scratch, error)) {
        return false;
    }
    double checked_s = cpu_seconds();
    WEFT_ASSERT(report.valid);
    uint32_t levels = 0;
    while ((1ull << levels) < n) {
        levels++;
    }
    printf("%6u %7u %7u %7u %8u %10.2f %10.2f\n", n, factor, schedule.round_count - (n - 2),
           (n - 1) * factor - 1 + levels, schedule.step_count, 1e3 * (built_s - start_s),
           1e3 * (checked_s - built_s));
    return true;
}

int main(void)
{
    static const uint32_t counts[][2] = {{8, 1},   {8, 7},   {24, 1},   {48, 1},   {96, 1},
                                         {192, 1}, {256, 1}, {257, 1},  {257, 4},  {511, 1},
                                         {828, 1}, {963, 1}, {1023, 1}, {1024, 1}, {1025, 1}};
    struct weft_error error;
    struct weft_arena arena;
    struct weft_arena scratch;
    if (!weft_arena_init(&arena, 0, &error) || !weft_arena_init(&scratch, 0, &error)) {
        fprintf(stderr, "bench_stragglar: %s\n", error.message);
        return (int)error.code;
    }
    printf("%6s %7s %7s %7s %8s %10s %10s\n", "ranks", "factor", "rounds", "bound", "steps",
           "build ms", "check ms");
    for (uint32_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (!show(counts[i][0], counts[i][1], arena, scratch, &error)) {
            fprintf(stderr, "bench_stragglar: %s\n", error.message);
            return (int)error.code;
        }
    }
    return 0;
}
