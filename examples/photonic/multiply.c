// SPDX-License-Identifier: Apache-2.0
// A multiplication by light in five lines: two converters get a value each, the detector's samples
// are acquired, drawn, and decoded.
//
//   cc multiply.c $(pkg-config --cflags --libs weft) -o multiply && ./multiply 100 50 wave.svg
//
// The file is C and C++ at the same time. The light is the model of Weft's library: modulators that
// are skewed by 35 samples, a delay line that undoes it, noise of 0.65 % of full scale.

#include <weft/weft.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bench {
    const char *words[3]; // of the command line: both values, and where the picture goes
    uint8_t dac_0;
    int16_t dac_1;
    struct weft_photonic_dot light;
    struct weft_rng rng; // of the noise
    struct weft_arena arena;
    struct weft_error *error;
};

static bool set_converters(struct bench *bench)
{
    uint64_t activation, weight;
    if (!weft_parse_count(&activation, bench->words[0], 0, 255, bench->error) ||
        !weft_parse_count(&weight, bench->words[1], 0, 255, bench->error)) {
        return false;
    }
    bench->dac_0 = (uint8_t)activation;
    bench->dac_1 = (int16_t)weight;
    return true;
}

static bool acquire(struct bench *bench)
{
    struct weft_photonic_dot_input input;
    memset(&input, 0, sizeof input);
    input.activations = &bench->dac_0;
    input.weights = &bench->dac_1;
    input.count = 1;
    input.path = weft_photonic_path_default;
    input.core.product_sigma = 1.6569279;
    return weft_photonic_dot_run(&bench->light, &input, &bench->rng, &bench->arena, bench->error);
}

static bool plot(struct bench *bench)
{
    const char *svg = weft_report_svg_waveform(&bench->light, "a product by light", &bench->arena);
    return bench->words[2] == NULL ||
           weft_file_save(bench->words[2], svg, strlen(svg), bench->error);
}

static bool decode(struct bench *bench)
{
    if (!bench->light.found) {
        return weft_fail(bench->error, WEFT_INFEASIBLE, "no preamble among %u samples",
                         bench->light.streams.samples);
    }
    printf("preamble found, rotation %u; %u * %d / 256 = %u, %d without noise\n",
           bench->light.rotation, bench->dac_0, bench->dac_1, bench->light.products[0],
           bench->light.exact);
    return true;
}

static bool multiply(void *context)
{
    struct bench *bench = (struct bench *)context;
    return set_converters(bench) && acquire(bench) && plot(bench) && decode(bench);
}

int main(int argc, char **argv)
{
    struct weft_error error;
    struct bench bench;
    memset(&bench, 0, sizeof bench);
    bench.error = &error;
    bench.words[0] = argc > 1 ? argv[1] : "100";
    bench.words[1] = argc > 2 ? argv[2] : "50";
    bench.words[2] = argc > 3 ? argv[3] : NULL;
    weft_rng_init(&bench.rng, 1);
    bool fine = weft_arena_init(&bench.arena, 0, &error);
    if (fine) {
        struct weft_arena arena = bench.arena; // as it began, for its release
        fine = weft_guard(multiply, &bench, &error);
        weft_arena_release(&arena);
    }
    if (!fine) {
        fprintf(stderr, "multiply: %s\n", error.message);
        return weft_exit_code(error.code);
    }
    return EXIT_SUCCESS;
}
