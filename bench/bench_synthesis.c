// SPDX-License-Identifier: Apache-2.0
// Synthesised all-gathers of 100 MB beside TACOS' published-form results: links of 50 GiB/s and
// 0.5 us. `bench_synthesis [chunks [tries]]`.

#include "weft/collective.h"

#include <stdio.h>
#include <time.h>

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

struct row {
    const char *name;
    struct weft_shape shape;
    double tacos_us; // 0 = not known
    double tacos_s;
};

static void measure(const struct row *row, bool holds, uint32_t chunks, uint32_t tries,
                    struct weft_arena arena, struct weft_arena scratch)
{
    struct weft_error error;
    struct weft_fabric fabric;
    if (!weft_fabric_build_shape(
            &fabric, &row->shape, 50.0 * (1 << 30), 500000,
            &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error})) {
        printf("%s: %s\n", row->name, error.message);
        return;
    }
    const struct weft_synthesis_options options = {
        .kind = WEFT_COLLECTIVE_ALLGATHER,
        .size_bytes = 100000000,
        .chunk_factor = chunks,
        .tries = tries,
        .holds_links = holds,
    };
    double start_s = now_s();
    struct weft_synthesis synthesis;
    if (!weft_synthesize(&synthesis, &fabric, &options, &arena, scratch, &error)) {
        printf("%s: %s\n", row->name, error.message);
        return;
    }
    double synthesis_s = now_s() - start_s;
    struct weft_schedule_report report = {0};
    bool small = fabric.server_count <= 256;
    bool valid = !small || (weft_schedule_check(&report, &synthesis.schedule, scratch, &error) &&
                            report.valid);
    printf("%-14s %-5s %9.1f %9.1f %9.1f %9.1f %8.4f %8.4f %7u %8u %s\n", row->name,
           holds ? "held" : "piped", weft_seconds(synthesis.completion_ps) * 1e6,
           weft_seconds(synthesis.chunk_bound_ps) * 1e6, weft_seconds(synthesis.bound_ps) * 1e6,
           row->tacos_us, synthesis_s, row->tacos_s, synthesis.schedule.round_count,
           synthesis.schedule.step_count,
           !small  ? "-"
           : valid ? "valid"
                   : report.why);
}

int main(int argc, char **argv)
{
    static const struct row rows[] = {
        {"torus 4x4", {WEFT_SHAPE_TORUS, 2, {4, 4}}, 584.6, 0.0002},
        {"torus 8x8", {WEFT_SHAPE_TORUS, 2, {8, 8}}, 503.3, 0.06},
        {"torus 16x8", {WEFT_SHAPE_TORUS, 2, {16, 8}}, 496.7, 0.36},
        {"torus 16x16", {WEFT_SHAPE_TORUS, 2, {16, 16}}, 513.2, 0.33},
        {"torus 24x24", {WEFT_SHAPE_TORUS, 2, {24, 24}}, 545, 4.7},
        {"torus 32x32", {WEFT_SHAPE_TORUS, 2, {32, 32}}, 598, 29.6},
        {"torus 4x4x4", {WEFT_SHAPE_TORUS, 3, {4, 4, 4}}, 325.6, 0.06},
        {"torus 8x8x8", {WEFT_SHAPE_TORUS, 3, {8, 8, 8}}, 355.9, 2.2},
        {"mesh 8x8", {WEFT_SHAPE_MESH, 2, {8, 8}}, 947.3, 0.07},
        {"mesh 16x16", {WEFT_SHAPE_MESH, 2, {16, 16}}, 0, 0},
        {"hypercube 8", {WEFT_SHAPE_TORUS, 8, {2, 2, 2, 2, 2, 2, 2, 2}}, 0, 0},
        {"ring 64", {WEFT_SHAPE_TORUS, 1, {64}}, 0, 0},
        {"full-mesh 64", {WEFT_SHAPE_FULL, 1, {64}}, 0, 0},
        {"ideal 64", {WEFT_SHAPE_STAR, 1, {64}}, 0, 0},
    };
    struct weft_error error;
    struct weft_arena arena;
    struct weft_arena scratch;
    if (!weft_arena_init(&arena, 0, &error) || !weft_arena_init(&scratch, 0, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    uint64_t chunks = 1;
    uint64_t tries = 1;
    if ((argc > 1 && !weft_parse_count(&chunks, argv[1], 1, 1024, &error)) ||
        (argc > 2 && !weft_parse_count(&tries, argv[2], 1, 1024, &error))) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    printf("%-14s %-5s %9s %9s %9s %9s %8s %8s %7s %8s\n", "fabric", "model", "us", "chunks us",
           "bound us", "TACOS us", "s", "TACOS s", "rounds", "steps");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        measure(&rows[i], true, (uint32_t)chunks, (uint32_t)tries, arena, scratch);
        measure(&rows[i], false, (uint32_t)chunks, (uint32_t)tries, arena, scratch);
    }
    return 0;
}
