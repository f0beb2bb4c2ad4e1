// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_RESPONDER_H
#define WEFT_PHOTONICS_RESPONDER_H

// The responder: what stands between payloads and the engine that computes. It drops what is no
// request, puts fragments together, answers a request that comes again as it did before, and counts
// all of it. It has neither clock nor socket: both stand around it.
//
//   payload, source, time ──take──► dropped, held, answer ready, or a job for the engine
//                                                                   │
//   answer ◄──────────────────────finish──────────────── outcome ◄──┘
//
// Memory is bounded: `assemblies` requests in fragments and `answers` given answers, whatever comes
// in. Every payload ends in one counter: received = answered + described + repeated fragments +
// drops + fragments that are held or were used by an answer (`joined`).

#include "weft/photonics/packet.h"

WEFT_API_BEGIN

struct weft_photonic_responder_options {
    uint32_t assemblies; // requests in fragments at once; 0 = 64
    uint64_t timeout_ns; // of such a request, from its first fragment; 0 = 1 s
    uint32_t answers;    // given answers that are kept; 0 = 256
};
struct weft_photonic_counts {
    uint64_t received;
    uint64_t answered;  // the repeated ones, too
    uint64_t described; // requests to describe a model, answered
    uint64_t repeated;  // answers given again from memory
    uint64_t fragments_repeated;
    uint64_t fragments_joined; // beyond the last of each request that was answered or dropped
    uint64_t drops[WEFT_PHOTONIC_DROPS];
    uint64_t models[WEFT_PHOTONIC_MODELS_MAX]; // answered, by place in the table
};

struct weft_photonic_responder;
// O(memory); lives in the arena. `models` must outlive it.
struct weft_photonic_responder *
weft_photonic_responder_build(const struct weft_photonic_models *models,
                              const struct weft_photonic_responder_options *options,
                              struct weft_arena *arena);

enum weft_photonic_step {
    WEFT_PHOTONIC_DROPPED,  // counted
    WEFT_PHOTONIC_HELD,     // a fragment of a request that is not complete
    WEFT_PHOTONIC_ANSWERED, // the answer is in the job
    WEFT_PHOTONIC_COMPUTE,  // the job is for the engine, then for finish
};
// A whole request. What it points to holds until the next take.
struct weft_photonic_job {
    uint64_t source;
    struct weft_photonic_head head;
    const struct weft_photonic_model *model;
    const uint8_t *input;
    const uint8_t *answer; // ANSWERED
    size_t answer_bytes;
    enum weft_photonic_drop drop; // DROPPED
};
// `source` tells clients apart: address and port. Times never fall. O(bytes).
enum weft_photonic_step weft_photonic_responder_take(struct weft_photonic_job *job,
                                                     struct weft_photonic_responder *responder,
                                                     uint64_t source, const uint8_t *payload,
                                                     size_t size, uint64_t now_ns);
// The answer of a job of COMPUTE, kept for repetitions; outcome NULL: the engine failed, and there
// is none. Holds until the next take.
void weft_photonic_responder_finish(struct weft_photonic_job *job,
                                    struct weft_photonic_responder *responder,
                                    const struct weft_photonic_outcome *outcome);
// Drops fragments whose request took too long. O(assemblies).
void weft_photonic_responder_expire(struct weft_photonic_responder *responder, uint64_t now_ns);
const struct weft_photonic_counts *
weft_photonic_responder_counts(const struct weft_photonic_responder *responder);
// Fragments of requests that are not complete.
uint64_t weft_photonic_responder_held(const struct weft_photonic_responder *responder);

WEFT_API_END

#endif
