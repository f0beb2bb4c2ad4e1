// SPDX-License-Identifier: Apache-2.0
// The responder and the reader of answers: any payloads, from any sources, at any times. Each ends
// in one counter, whatever is computed is a request that fits its model, and what is answered reads
// back as the answer to it.
//
// The input is a row of payloads: source u8, time u8 in steps of 10 ms, length u8, bytes.

#include "fuzz.h"

#include "../photonic_models.h"

static void check_answer(const struct weft_photonic_job *job, const struct test_sums *sums)
{
    struct weft_photonic_answer answer;
    WEFT_ASSERT(job->answer_bytes == weft_photonic_answer_bytes(job->model));
    WEFT_ASSERT(weft_photonic_answer_read(&answer, job->answer, job->answer_bytes));
    WEFT_ASSERT(answer.head.request == job->head.request && answer.head.model == job->model->id);
    WEFT_ASSERT(answer.sum_count == job->model->output_count);
    for (uint32_t i = 0; i < answer.sum_count; i++) {
        WEFT_ASSERT(weft_photonic_answer_sum(&answer, i) == sums->sums[i]);
    }
}

static void take(struct weft_photonic_responder *responder, uint64_t now_ns, uint32_t source,
                 const uint8_t *payload, size_t size)
{
    struct weft_photonic_job job;
    struct test_sums sums;
    const enum weft_photonic_step step =
        weft_photonic_responder_take(&job, responder, source, payload, size, now_ns);
    if (step == WEFT_PHOTONIC_COMPUTE) {
        WEFT_ASSERT(job.head.layers == job.model->program.row_count);
        test_compute(&sums, job.model, job.input);
        weft_photonic_responder_finish(&job, responder, source == 255 ? NULL : &sums.outcome);
    }
    if (step == WEFT_PHOTONIC_ANSWERED && job.answer_bytes == WEFT_PHOTONIC_HEAD_BYTES) {
        WEFT_ASSERT(job.answer[3] == (WEFT_PHOTONIC_ANSWER | WEFT_PHOTONIC_DESCRIBE));
    } else if (step == WEFT_PHOTONIC_ANSWERED || (step == WEFT_PHOTONIC_COMPUTE && source != 255)) {
        test_compute(&sums, job.model, job.input);
        check_answer(&job, &sums);
    }
    WEFT_ASSERT(test_conserved(responder));
}

// Models are built once; a responder in what is left of the arena, anew for every input.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fuzz_desk desk;
    static struct weft_photonic_models models;
    struct weft_photonic_answer answer;
    if (models.count == 0) {
        fuzz_open(&desk);
        models = test_models(&desk.arena);
    }
    struct weft_arena arena = desk.arena;
    const struct weft_photonic_responder_options options = {
        .assemblies = 4, .timeout_ns = 100000000, .answers = 4};
    struct weft_photonic_responder *responder =
        weft_photonic_responder_build(&models, &options, &arena);
    uint64_t now_ns = 0;
    if (weft_photonic_answer_read(&answer, data, size)) {
        WEFT_ASSERT(answer.class_index < answer.sum_count);
    }
    for (size_t at = 0; size - at >= 3;) {
        const size_t bytes = data[at + 2] < size - at - 3 ? data[at + 2] : size - at - 3;
        now_ns += (uint64_t)data[at + 1] * 10000000;
        take(responder, now_ns, data[at], data + at + 3, bytes);
        at += 3 + bytes;
    }
    weft_photonic_responder_expire(responder, now_ns + options.timeout_ns);
    WEFT_ASSERT(weft_photonic_responder_held(responder) == 0 && test_conserved(responder));
    return 0;
}
