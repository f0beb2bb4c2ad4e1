// SPDX-License-Identifier: Apache-2.0
// The responder: payloads to jobs for the engine and answers, and every payload to one counter.
//
// A client that misses an answer sends its request again, and a network may deliver a packet twice.
// Answers that were given are kept, one for each place of a hash of source and request; a request
// is the same only if its source, its head and every byte of its input are, so that a client that
// begins its numbers anew is never given the answer to another input. What was overwritten is
// computed again: the engine is deterministic, and the answer the same.

#include "weft/photonics/responder.h"

#include "assembly.h"

#include <string.h>

// An answer that was given.
struct given {
    uint64_t source;
    struct weft_photonic_head head;
    uint32_t answer_bytes; // 0 = none
    uint8_t *input;        // [head.input_bytes]
    uint8_t *answer;
};

struct weft_photonic_responder {
    const struct weft_photonic_models *models;
    struct weft_photonic_counts counts;
    struct assemblies assemblies;
    uint32_t given_count;
    struct given *given;
    uint8_t head[WEFT_PHOTONIC_HEAD_BYTES]; // of an answer that describes
};

struct weft_photonic_responder *
weft_photonic_responder_build(const struct weft_photonic_models *models,
                              const struct weft_photonic_responder_options *options,
                              struct weft_arena *arena)
{
    struct weft_photonic_responder *responder = WEFT_NEW(arena, struct weft_photonic_responder, 1);
    responder->models = models;
    responder->assemblies = (struct assemblies){
        .input_bytes_max = models->input_bytes_max,
        .timeout_ns = options->timeout_ns > 0 ? options->timeout_ns : 1000000000,
        .counts = &responder->counts,
    };
    assemblies_init(&responder->assemblies, options->assemblies > 0 ? options->assemblies : 64,
                    arena);
    const uint32_t count = options->answers > 0 ? options->answers : 256;
    responder->given_count = count;
    responder->given = WEFT_NEW(arena, struct given, count);
    uint8_t *inputs = WEFT_NEW(arena, uint8_t, (size_t)models->input_bytes_max * count);
    uint8_t *answers = WEFT_NEW(arena, uint8_t, (size_t)models->answer_bytes_max * count);
    for (uint32_t i = 0; i < count; i++) {
        responder->given[i].input = inputs + (size_t)models->input_bytes_max * i;
        responder->given[i].answer = answers + (size_t)models->answer_bytes_max * i;
    }
    return responder;
}

static struct given *place_of(struct weft_photonic_responder *responder,
                              const struct weft_photonic_job *job)
{
    const uint64_t hash = weft_hash(job->source ^ weft_hash(job->head.request));
    return &responder->given[hash % responder->given_count];
}

static bool is_given(const struct given *given, const struct weft_photonic_job *job)
{
    return given->answer_bytes > 0 && given->source == job->source &&
           given->head.request == job->head.request && given->head.model == job->head.model &&
           given->head.exponent == job->head.exponent &&
           memcmp(given->input, job->input, job->head.input_bytes) == 0;
}

static enum weft_photonic_step drop(struct weft_photonic_job *job, enum weft_photonic_drop reason)
{
    job->drop = reason;
    return WEFT_PHOTONIC_DROPPED;
}

static enum weft_photonic_step describe(struct weft_photonic_job *job,
                                        struct weft_photonic_responder *responder)
{
    struct weft_photonic_head head = job->head;
    head.flags = WEFT_PHOTONIC_ANSWER | WEFT_PHOTONIC_DESCRIBE;
    head.layers = job->model->program.row_count;
    head.input_bytes = job->model->input_bytes;
    weft_photonic_head_write(responder->head, &head);
    job->answer = responder->head;
    job->answer_bytes = WEFT_PHOTONIC_HEAD_BYTES;
    responder->counts.described++;
    return WEFT_PHOTONIC_ANSWERED;
}

static void count_answer(struct weft_photonic_responder *responder,
                         const struct weft_photonic_job *job)
{
    responder->counts.answered++;
    responder->counts.models[job->model - responder->models->models]++;
}

enum weft_photonic_step weft_photonic_responder_take(struct weft_photonic_job *job,
                                                     struct weft_photonic_responder *responder,
                                                     uint64_t source, const uint8_t *payload,
                                                     size_t size, uint64_t now_ns)
{
    struct weft_photonic_request request;
    *job = (struct weft_photonic_job){.source = source};
    responder->counts.received++;
    enum weft_photonic_drop reason =
        weft_photonic_request_read(&request, payload, size, responder->models);
    if (reason != WEFT_PHOTONIC_TAKEN) {
        responder->counts.drops[reason]++;
        return drop(job, reason);
    }
    job->head = request.head;
    job->model = request.model;
    job->input = request.data;
    if (request.head.flags == WEFT_PHOTONIC_DESCRIBE) {
        return describe(job, responder);
    }
    if (request.head.flags == WEFT_PHOTONIC_FRAGMENT) {
        reason = assemblies_take(&job->input, &responder->assemblies, &request, source, now_ns);
        if (reason != WEFT_PHOTONIC_TAKEN) {
            return drop(job, reason);
        }
        if (job->input == NULL) {
            return WEFT_PHOTONIC_HELD;
        }
    }
    job->head.flags = 0;
    const struct given *given = place_of(responder, job);
    if (!is_given(given, job)) {
        return WEFT_PHOTONIC_COMPUTE;
    }
    job->answer = given->answer;
    job->answer_bytes = given->answer_bytes;
    responder->counts.repeated++;
    count_answer(responder, job);
    return WEFT_PHOTONIC_ANSWERED;
}

void weft_photonic_responder_finish(struct weft_photonic_job *job,
                                    struct weft_photonic_responder *responder,
                                    const struct weft_photonic_outcome *outcome)
{
    if (outcome == NULL) {
        responder->counts.drops[WEFT_PHOTONIC_DROP_ENGINE]++;
        job->drop = WEFT_PHOTONIC_DROP_ENGINE;
        return;
    }
    WEFT_ASSERT(outcome->sum_count == job->model->output_count);
    struct given *given = place_of(responder, job);
    given->source = job->source;
    given->head = job->head;
    memcpy(given->input, job->input, job->head.input_bytes);
    given->answer_bytes = (uint32_t)weft_photonic_answer_write(given->answer, &job->head, outcome);
    job->answer = given->answer;
    job->answer_bytes = given->answer_bytes;
    count_answer(responder, job);
}

void weft_photonic_responder_expire(struct weft_photonic_responder *responder, uint64_t now_ns)
{
    assemblies_expire(&responder->assemblies, now_ns);
}

const struct weft_photonic_counts *
weft_photonic_responder_counts(const struct weft_photonic_responder *responder)
{
    return &responder->counts;
}

uint64_t weft_photonic_responder_held(const struct weft_photonic_responder *responder)
{
    return assemblies_held(&responder->assemblies);
}
