// SPDX-License-Identifier: Apache-2.0
// weft photonic multiply and weft photonic calibrate: the photonic core on a bench.

#include "weft/request/photonic_core.h"

#define FIELD(path) offsetof(struct weft_photonic_multiply_request, path)
const struct weft_parameter weft_photonic_multiply_parameters[] = {
    {"wavelengths", weft_read_count, FIELD(wavelengths), 1, WEFT_PHOTONIC_LAB_WAVELENGTHS, NULL},
    {"preamble", weft_read_count, FIELD(preamble), 2, 1024, NULL},
    {"latency", weft_read_count, FIELD(latency), 1, 4096, NULL},
    {"skew", weft_read_given_count, FIELD(skew), 0, 1024, NULL},
    {"delay", weft_read_given_count, FIELD(delay), 0, 1024, NULL},
    {"noise", weft_read_number, FIELD(core.product_sigma), 0, 128, NULL},
    {"crosstalk", weft_read_number, FIELD(core.crosstalk_ratio), 0, 1, NULL},
    {"modulator-bits", weft_read_count, FIELD(core.modulator_bits), 1, 8, NULL},
    {"detector-bits", weft_read_count, FIELD(core.detector_bits), 1, 8, NULL},
    {"loss", weft_read_number, FIELD(core.loss_db), 0, 40, NULL},
    {"gain", weft_read_number, FIELD(core.gain_db), 0, 20, NULL},
};
const uint32_t weft_photonic_multiply_parameter_count =
    sizeof weft_photonic_multiply_parameters / sizeof weft_photonic_multiply_parameters[0];

// "100,-3": values of one converter, each of up to 255 steps.
static bool read_values(int16_t **values, uint32_t *count, const char *text, bool is_signed,
                        struct weft_arena *arena, struct weft_error *error)
{
    const char *const *words = NULL;
    if (!weft_split_list(&words, count, text, arena, error)) {
        return false;
    }
    if (*count > WEFT_PHOTONIC_LAB_PAIRS) {
        return weft_fail(error, WEFT_INPUT, "%u values are more than the %u of one dot product",
                         *count, WEFT_PHOTONIC_LAB_PAIRS);
    }
    *values = WEFT_NEW(arena, int16_t, *count);
    for (uint32_t i = 0; i < *count; i++) {
        bool negative = is_signed && words[i][0] == '-';
        uint64_t magnitude;
        if (!weft_parse_count(&magnitude, words[i] + negative, 0, 255, error)) {
            return weft_wrap(error, "value %u", i + 1);
        }
        (*values)[i] = (int16_t)(negative ? -(int16_t)magnitude : (int16_t)magnitude);
    }
    return true;
}

bool weft_request_photonic_multiply(struct weft_photonic_multiply_result *result,
                                    const struct weft_photonic_multiply_request *request,
                                    struct weft_request_environment *environment)
{
    struct weft_arena *arena = environment->base.arena;
    struct weft_error *error = environment->base.error;
    int16_t *activations = NULL, *weights = NULL;
    uint32_t count = 0, weight_count = 0;
    if (!read_values(&activations, &count, request->activations, false, arena, error)) {
        return weft_wrap(error, "activations (0 to 255)");
    }
    if (!read_values(&weights, &weight_count, request->weights, true, arena, error)) {
        return weft_wrap(error, "weights (-255 to 255)");
    }
    if (count != weight_count) {
        return weft_fail(error, WEFT_INPUT,
                         "%u activations and %u weights: a dot product needs as many of each",
                         count, weight_count);
    }
    WEFT_ASSERT(activations != NULL && weights != NULL);
    uint8_t *bytes = WEFT_NEW(arena, uint8_t, count);
    for (uint32_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)activations[i];
    }
    uint32_t skew =
        request->skew.given ? request->skew.value : weft_photonic_path_default.skew_activation;
    const struct weft_photonic_dot_input input = {
        .activations = bytes,
        .weights = weights,
        .count = count,
        .wavelengths = request->wavelengths,
        .preamble = request->preamble,
        .path =
            {
                .latency = request->latency,
                .skew_activation = skew,
                .delay_weight = request->delay.given ? request->delay.value : skew,
            },
        .core = request->core,
    };
    struct weft_rng rng;
    weft_rng_init(&rng, environment->base.seed);
    *result = (struct weft_photonic_multiply_result){
        .count = count, .activations = bytes, .weights = weights};
    return weft_photonic_dot_run(&result->dot, &input, &rng, arena, error) ||
           weft_wrap(error, "{skew}, {delay}");
}

bool weft_request_photonic_calibrate(struct weft_photonic_calibrate_result *result,
                                     const struct weft_photonic_calibrate_request *request,
                                     struct weft_request_environment *environment)
{
    uint32_t wavelengths = request->wavelengths == 0 ? 1 : request->wavelengths;
    struct weft_photonic_bench *bench =
        weft_photonic_bench_build(environment->base.seed, wavelengths, environment->base.arena);
    *result = (struct weft_photonic_calibrate_result){.seed = environment->base.seed,
                                                      .wavelengths = wavelengths};
    weft_photonic_bench_truth(&result->path, &result->core, bench);
    return weft_photonic_calibrate(&result->found, bench, wavelengths, environment->base.scratch,
                                   environment->base.error);
}
