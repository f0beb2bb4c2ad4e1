// SPDX-License-Identifier: Apache-2.0
// A mixture of experts (Lepikhin et al. 2021; Fedus et al. 2022): every third layer's feed-forward
// part is 64 experts, one an accelerator, top-2 routing. Tokens travel to their experts and back,
// forward and backward: four all-to-alls a layer. All else is data parallel.
//
// 12 layers, hidden 2048, feed-forward 8192, sequence 1024, vocabulary 51200. Experts are not
// equally liked: a server's share of the tokens differs by up to half, by a hash of layer and
// server, as measured routing is skewed too.

#include "job.h"

#define LAYERS 12u
#define EXPERT_EVERY 3u
#define HIDDEN 2048.0
#define INNER 8192.0
#define SEQUENCE 1024.0
#define VOCABULARY 51200.0
#define TOKENS_PER_SERVER (4 * 8 * SEQUENCE) // 8 sequences an accelerator
#define CHOICES 2.0                          // experts a token goes to
#define BYTES 2.0
#define LAYERS_MAX 16u

struct mixture {
    struct job *job;
    uint32_t *last;                      // of each server
    uint32_t *marks[LAYERS_MAX];         // each server's backward task of the dense part of a layer
    double share_ratio[LAYERS_MAX][128]; // of the tokens that go to each server; they add to 1
};

static bool has_experts(uint32_t layer)
{
    return layer % EXPERT_EVERY == EXPERT_EVERY - 1;
}

static void fill_shares(struct mixture *mixture)
{
    uint32_t n = mixture->job->server_count;
    for (uint32_t layer = 0; layer < LAYERS; layer++) {
        double sum = 0;
        for (uint32_t s = 0; s < n; s++) {
            uint64_t hash = weft_hash((uint64_t)layer << 32 | s);
            mixture->share_ratio[layer][s] = 0.5 + (double)(hash >> 11) * 0x1p-53;
            sum += mixture->share_ratio[layer][s];
        }
        for (uint32_t s = 0; s < n; s++) {
            mixture->share_ratio[layer][s] /= sum;
        }
    }
}

static void follow(struct mixture *mixture, uint32_t server, enum weft_task_kind kind, double flops)
{
    uint32_t task = job_compute(mixture->job, kind, server, gemm_seconds(flops));
    if (mixture->last[server] != WEFT_NONE) {
        job_link(mixture->job, mixture->last[server], task);
    }
    mixture->last[server] = task;
}

// An all-to-all, and on each server a task that waits for all of its part. Tokens of one server
// spread over the others by their shares; on the way back the same bytes go home.
static void add_exchange(struct mixture *mixture, uint32_t layer, bool home,
                         enum weft_task_kind kind, double tokens_flops)
{
    struct job *job = mixture->job;
    uint32_t n = job->server_count;
    uint32_t *before = WEFT_NEW_RAW(job->arena, uint32_t, n);
    uint32_t *after = WEFT_NEW_RAW(job->arena, uint32_t, n);
    for (uint32_t s = 0; s < n; s++) {
        double tokens = home ? TOKENS_PER_SERVER
                             : TOKENS_PER_SERVER * n * CHOICES * mixture->share_ratio[layer][s];
        before[s] = mixture->last[s];
        follow(mixture, s, kind, tokens * tokens_flops);
        after[s] = mixture->last[s];
    }
    for (uint32_t from = 0; from < n; from++) {
        for (uint32_t step = 1; step < n; step++) {
            uint32_t to = (from + step) % n;
            double tokens =
                TOKENS_PER_SERVER * CHOICES * mixture->share_ratio[layer][home ? from : to];
            uint32_t task = job_transfer(job, from, to, tokens * HIDDEN * BYTES);
            job_link(job, before[from], task);
            job_link(job, task, after[to]);
        }
    }
}

static double attention_parameters(void)
{
    return 4 * HIDDEN * HIDDEN;
}

static double feed_forward_parameters(void)
{
    return 2 * HIDDEN * INNER;
}

// The dense part of a layer, for one token, forward.
static double dense_flops(uint32_t layer)
{
    double flops = 2 * attention_parameters() + 4 * SEQUENCE * HIDDEN;
    return has_experts(layer) ? flops : flops + 2 * feed_forward_parameters();
}

static void add_forward(struct mixture *mixture, uint32_t layer)
{
    for (uint32_t s = 0; s < mixture->job->server_count; s++) {
        follow(mixture, s, WEFT_TASK_FORWARD, dense_flops(layer) * TOKENS_PER_SERVER);
    }
    if (has_experts(layer)) {
        // To the experts, who work; and home, where the two answers are added.
        add_exchange(mixture, layer, false, WEFT_TASK_FORWARD, 2 * feed_forward_parameters());
        add_exchange(mixture, layer, true, WEFT_TASK_FORWARD, 2 * CHOICES * HIDDEN);
    }
}

static void add_backward(struct mixture *mixture, uint32_t layer)
{
    if (has_experts(layer)) {
        add_exchange(mixture, layer, false, WEFT_TASK_BACKWARD, 4 * feed_forward_parameters());
        add_exchange(mixture, layer, true, WEFT_TASK_BACKWARD, 4 * CHOICES * HIDDEN);
    }
    uint32_t n = mixture->job->server_count;
    mixture->marks[layer] = WEFT_NEW_RAW(mixture->job->arena, uint32_t, n);
    for (uint32_t s = 0; s < n; s++) {
        follow(mixture, s, WEFT_TASK_BACKWARD, 2 * dense_flops(layer) * TOKENS_PER_SERVER);
        mixture->marks[layer][s] = mixture->last[s];
    }
}

static void add_sum(struct mixture *mixture, double parameters, const uint32_t *marks)
{
    struct job *job = mixture->job;
    uint32_t n = job->server_count;
    double size_bytes = parameters * BYTES;
    uint32_t sum = job_allreduce(job, job_members(job, 0, 1, n), n, size_bytes,
                                 local_allreduce_seconds(size_bytes));
    for (uint32_t s = 0; s < n; s++) {
        job_link(job, marks[s], sum);
    }
}

void job_add_moe(struct job *job)
{
    uint32_t n = job->server_count;
    WEFT_ASSERT(n <= 128);
    struct mixture *mixture = WEFT_NEW(job->arena, struct mixture, 1);
    mixture->job = job;
    mixture->last = WEFT_NEW_RAW(job->arena, uint32_t, n);
    for (uint32_t s = 0; s < n; s++) {
        mixture->last[s] = WEFT_NONE;
    }
    fill_shares(mixture);
    for (uint32_t layer = 0; layer < LAYERS; layer++) {
        add_forward(mixture, layer);
    }
    for (uint32_t s = 0; s < n; s++) { // the head, both ways
        follow(mixture, s, WEFT_TASK_BACKWARD, 6 * HIDDEN * VOCABULARY * TOKENS_PER_SERVER);
    }
    for (uint32_t layer = LAYERS; layer-- > 0;) {
        add_backward(mixture, layer);
        double parameters = attention_parameters();
        parameters += has_experts(layer) ? 0 : feed_forward_parameters();
        add_sum(mixture, parameters, mixture->marks[layer]);
    }
    add_sum(mixture, VOCABULARY * HIDDEN, mixture->last);
}
