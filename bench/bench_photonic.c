// SPDX-License-Identifier: Apache-2.0
// How fast the twin of the photonic datapath is on one core: bench_photonic [RUNS]. Nets of random
// weights; multiply-accumulates a second of this thread's processor time.

#include "weft/photonics.h"

#include <stdlib.h>
#include <time.h>

struct load {
    const char *name;
    uint32_t runs; // times RUNS
    uint32_t layer_count;
    struct weft_photonic_layer layers[4];
};

static double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static const float *random_weights(uint64_t count, struct weft_rng *rng, struct weft_arena *arena)
{
    float *weights = WEFT_NEW_RAW(arena, float, count);
    for (uint64_t i = 0; i < count; i++) {
        weights[i] = (float)(2 * weft_rng_unit(rng) - 1);
    }
    return weights;
}

static bool measure(struct load *load, uint32_t runs, struct weft_arena *arena,
                    struct weft_arena scratch, struct weft_error *error)
{
    struct weft_rng rng;
    weft_rng_init(&rng, 1);
    for (uint32_t i = 0; i < load->layer_count; i++) {
        struct weft_photonic_layer *layer = &load->layers[i];
        layer->activation = i + 1 < load->layer_count ? WEFT_PHOTONIC_RELU : WEFT_PHOTONIC_LINEAR;
        uint64_t count = layer->kind == WEFT_PHOTONIC_DENSE
                             ? (uint64_t)layer->inputs * layer->outputs
                             : (uint64_t)layer->kernel * layer->kernel * layer->channels_in *
                                   layer->channels_out;
        layer->weights = random_weights(count, &rng, arena);
    }
    struct weft_photonic_net net = {.layer_count = load->layer_count, .layers = load->layers};
    struct weft_photonic_compile_options options = {0};
    struct weft_photonic_program program;
    if (!weft_photonic_compile(&program, &net, &options, arena, scratch, error)) {
        return false;
    }
    struct weft_photonic_twin *twin = weft_photonic_twin_build(&program, 163, arena);
    uint64_t macs = 0;
    for (uint32_t i = 0; i < program.row_count; i++) {
        const struct weft_photonic_row *row = &program.rows[i];
        macs += (uint64_t)row->sums * row->kernel * row->run_bytes;
    }
    uint8_t *input = WEFT_NEW_RAW(arena, uint8_t, program.rows[0].inputs);
    for (uint32_t i = 0; i < program.rows[0].inputs; i++) {
        input[i] = (uint8_t)weft_rng_below(&rng, 256);
    }
    uint32_t count = runs * load->runs;
    struct weft_photonic_result result;
    double begin = now_s();
    for (uint32_t i = 0; i < count; i++) {
        weft_photonic_twin_run(&result, twin, input, NULL, NULL);
    }
    double seconds = now_s() - begin;
    printf("%-24s %9llu macs  %8.2f us  %7.0f million macs/s  class %u\n", load->name,
           (unsigned long long)macs, 1e6 * seconds / count, 1e-6 * (double)macs * count / seconds,
           result.class_index);
    return true;
}

int main(int argc, char **argv)
{
    static struct load loads[] = {
        {"dense 784-300-100-10",
         100,
         3,
         {{.inputs = 784, .outputs = 300},
          {.inputs = 300, .outputs = 100},
          {.inputs = 100, .outputs = 10}}},
        {"conv 3x3 64-64 on 32x32",
         1,
         1,
         {{.kind = WEFT_PHOTONIC_CONV,
           .channels_in = 64,
           .channels_out = 64,
           .kernel = 3,
           .stride = 1,
           .padding = 1,
           .height = 32,
           .width = 32}}},
    };
    uint64_t runs = 10;
    struct weft_arena arena, scratch;
    struct weft_error error;
    if (!weft_arena_init(&arena, 0, &error) || !weft_arena_init(&scratch, 0, &error) ||
        (argc > 1 && !weft_parse_count(&runs, argv[1], 1, 1000000, &error))) {
        (void)fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        if (!measure(&loads[i], (uint32_t)runs, &arena, scratch, &error)) {
            (void)fprintf(stderr, "%s\n", error.message);
            return 1;
        }
    }
    weft_arena_release(&arena);
    weft_arena_release(&scratch);
    return 0;
}
