// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_PHOTONIC_NET_H
#define WEFT_REQUEST_PHOTONIC_NET_H

// Nets on the datapath of light: compiled to a folder, and run from one.

#include "weft/format/photonics.h"
#include "weft/photonics/execute.h"
#include "weft/request.h"

WEFT_API_BEGIN

// ---- compile ----

struct weft_photonic_compile_request {
    const char *model;   // {model}: a layer list (.json), or a model of the zoo, which is counted
    const char *weights; // {weights}: the folder of a list's files; NULL = beside the list
    struct weft_photonic_compile_options options;
    const char *output; // the folder to write; NULL = none
};
struct weft_photonic_compile_result {
    struct weft_photonic_program program;
    uint32_t path_samples;
    const struct weft_photonic_layer_cycles *layers; // a row
    uint64_t total_cycles;
    bool runs; // it has weights and all of it is computed by light
    uint32_t left_count;
    const struct weft_photonic_left *left; // of a model: what is left to a host
    const char *output;                    // as asked; NULL = nothing was written
    uint32_t file_count;
    const struct weft_file *files; // that were written
};
// Fails with USAGE where there is nothing to write into {output}, else as what it calls.
bool weft_request_photonic_compile(struct weft_photonic_compile_result *result,
                                   const struct weft_photonic_compile_request *request,
                                   struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.photonic-compile/1"
const char *weft_request_photonic_compile_json(const struct weft_photonic_compile_result *result,
                                               struct weft_arena *arena);

// ---- run ----

// More than five sigma of 3 steps, the most noise in docs/lightning.md: of 20 million dark products
// noise of one is cut. A larger code takes as much off the top of the scale.
#define WEFT_PHOTONIC_DARK_CODE 16u
#define WEFT_PHOTONIC_DARK_CODE_MAX 128u

struct weft_photonic_run_request {
    const char *folder;              // of a compiled program
    const char *input;               // {input}: bytes, image after image
    const char *labels;              // {labels}: a byte an image, its class; NULL = none
    uint32_t count;                  // {count}: of images; 0 = all
    uint32_t bench;                  // {bench}: images that the Verilog bench is to run; 0 = none
    struct weft_photonic_core light; // {noise-product}, {noise-sum}; all 0 = exact
    // Beside the twin the folder's count-action modules run, which are to leave what it does.
    bool cycle_by_cycle; // {cycle-by-cycle}: all images
    bool timeline;       // {timeline}: the first one, at least, with a trace of its signals
    uint32_t stall;      // {stall}: seed of memories that make both wait by chance; 0: none
    // {dark-code}: of light; not given: WEFT_PHOTONIC_DARK_CODE where products have noise, else 0.
    struct weft_given_count dark_code;
};
// Images that ran cycle by cycle.
struct weft_photonic_run_executor {
    uint32_t image_count;
    uint64_t cycles;                  // of the longest
    uint64_t stalls;                  // bubbles, of all
    struct weft_photonic_trace trace; // of the first; without spans unless asked for
};
struct weft_photonic_run_result {
    struct weft_photonic_program program;
    uint32_t image_count;
    const uint32_t *classes; // an image
    uint32_t sum_count;
    const int32_t *sums;              // [image_count * sum_count]
    const int32_t *log_probabilities; // the same; NULL without softmax
    uint64_t cycles;                  // of an image
    bool has_labels;
    uint32_t right_count;
    uint32_t file_count;
    const char *const *files; // that {bench} has written into the folder
    struct weft_photonic_run_executor executor;
};
// Fails with INFEASIBLE where modules leave another class, sum or number of cycles than the twin.
// Noise of an image follows from the environment's seed and its number, not from other images.
bool weft_request_photonic_run(struct weft_photonic_run_result *result,
                               const struct weft_photonic_run_request *request,
                               struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.photonic-run/1"
const char *weft_request_photonic_run_json(const struct weft_photonic_run_result *result,
                                           struct weft_arena *arena);

WEFT_API_END

#endif
