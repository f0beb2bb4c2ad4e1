// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_MODELS_H
#define WEFT_PHOTONICS_MODELS_H

// The models that are resident at once: programs of one datapath, in one memory each for rows,
// weights and biases.
//
//   programs, numbers ──build──► [models] ──► responder, twin, memory images
//
// Rows stand one program after the other, with addresses of the joint memories, so that hardware
// runs a model by beginning at its first row: no pointer is changed from one request to the next.

#include "weft/photonics/program.h"

WEFT_API_BEGIN

enum { WEFT_PHOTONIC_MODELS_MAX = 64 };

struct weft_photonic_model {
    uint32_t id; // of requests, at most 65535
    uint32_t row_first;
    uint32_t input_bytes;
    uint32_t output_count;
    bool has_biases;
    // The model alone: rows and images point into the joint memories.
    struct weft_photonic_program program;
};
struct weft_photonic_models {
    uint32_t count;
    const struct weft_photonic_model *models; // in the order they were given
    struct weft_photonic_program joint;       // the memories; its rows are those of all models
    uint32_t input_bytes_max;
    uint32_t answer_bytes_max; // of UDP payload
};

// A program that is to be resident under a number.
struct weft_photonic_resident {
    uint32_t id;
    const struct weft_photonic_program *program;
};
struct weft_photonic_room {
    uint64_t weight_bytes;  // of all models, signs apart; 0 = 64 MiB
    uint32_t row_count;     // 0 = 1024
    uint32_t payload_bytes; // of an answer in one packet; 0 = 1472
};
// Puts programs beside each other. Fails with INPUT or INFEASIBLE naming the model that does not
// fit, and why: a number twice, another width of the datapath or another preamble than the first
// model has, no images, no more room, an input or an answer that no packet can carry.
// O(weights of all).
bool weft_photonic_models_build(struct weft_photonic_models *models,
                                const struct weft_photonic_resident *residents, uint32_t count,
                                const struct weft_photonic_room *room, struct weft_arena *arena,
                                struct weft_error *error) WEFT_MUST_USE;
// NULL: none of that number. O(models).
const struct weft_photonic_model *
weft_photonic_models_find(const struct weft_photonic_models *models, uint32_t id);
// Bytes of UDP payload that an answer of the model has.
size_t weft_photonic_answer_bytes(const struct weft_photonic_model *model);

WEFT_API_END

#endif
