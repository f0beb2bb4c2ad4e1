// SPDX-License-Identifier: Apache-2.0
// A decoder-only transformer in three dimensions of parallelism (Narayanan et al., SC 2021): tensor
// parallel over the accelerators of a server, pipeline parallel over `stages` servers with the 1F1B
// schedule, data parallel over the replicas of each stage.
//
// Server r * stages + p holds stage p of replica r. 32 layers, hidden 4096, sequence 2048,
// vocabulary 51200: 6.7 G parameters.

#include "job.h"

#define LAYERS 32u
#define HIDDEN 4096.0
#define SEQUENCE 2048.0
#define VOCABULARY 51200.0
#define MICRO_BATCHES 8u // a replica; each of one sequence
#define BYTES 2.0        // bf16 activations and gradients
#define BUCKET_LAYERS 2u

struct pipeline {
    struct job *job;
    uint32_t stages;
    uint32_t replicas;
    uint32_t layers;   // of a stage
    uint32_t *forward; // last task of [(server * MICRO_BATCHES) + micro batch]
    uint32_t *backward;
    uint32_t *buckets; // backward tasks of the last micro batch: [server * bucket_count + bucket]
    uint32_t bucket_count;
    uint32_t *last; // of each server, in the order of its schedule
};

static double layer_parameters(void)
{
    return 12 * HIDDEN * HIDDEN;
}

// Matrix products and attention of one layer for one sequence, forward.
static double layer_flops(void)
{
    return 2 * layer_parameters() * SEQUENCE + 4 * SEQUENCE * SEQUENCE * HIDDEN;
}

// Two all-reduces of the activations a layer and pass, inside the server.
static double layer_tensor_seconds(void)
{
    return 2 * local_allreduce_seconds(SEQUENCE * HIDDEN * BYTES);
}

// Adds a task that follows the server's last one.
static uint32_t follow(struct pipeline *pipe, uint32_t server, enum weft_task_kind kind,
                       double seconds)
{
    uint32_t task = job_compute(pipe->job, kind, server, seconds);
    if (pipe->last[server] != WEFT_NONE) {
        job_link(pipe->job, pipe->last[server], task);
    }
    pipe->last[server] = task;
    return task;
}

static void hand_over(struct pipeline *pipe, uint32_t from, uint32_t after, uint32_t to,
                      uint32_t before)
{
    uint32_t task = job_transfer(pipe->job, from, to, SEQUENCE * HIDDEN * BYTES);
    job_link(pipe->job, after, task);
    job_link(pipe->job, task, before);
}

static void add_forward(struct pipeline *pipe, uint32_t server, uint32_t batch)
{
    uint32_t stage = server % pipe->stages;
    double flops = pipe->layers * layer_flops();
    if (stage == pipe->stages - 1) {
        flops += 2 * HIDDEN * VOCABULARY * SEQUENCE; // the head
    }
    uint32_t first = follow(pipe, server, WEFT_TASK_FORWARD, gemm_seconds(flops));
    uint32_t index = server * MICRO_BATCHES + batch;
    pipe->forward[index] =
        follow(pipe, server, WEFT_TASK_LOCAL, pipe->layers * layer_tensor_seconds());
    if (stage > 0) {
        hand_over(pipe, server - 1, pipe->forward[index - MICRO_BATCHES], server, first);
    }
}

// The last micro batch goes back in buckets of layers, so that their gradients leave early.
static void add_backward(struct pipeline *pipe, uint32_t server, uint32_t batch)
{
    uint32_t stage = server % pipe->stages;
    bool final = batch == MICRO_BATCHES - 1;
    uint32_t parts = final ? pipe->bucket_count : 1;
    double head_flops = stage == pipe->stages - 1 ? 4 * HIDDEN * VOCABULARY * SEQUENCE : 0;
    double part_layers = (double)pipe->layers / parts;
    uint32_t first = WEFT_NONE;
    for (uint32_t part = 0; part < parts; part++) {
        double flops = 2 * part_layers * layer_flops() + (part == 0 ? head_flops : 0);
        uint32_t task = follow(pipe, server, WEFT_TASK_BACKWARD, gemm_seconds(flops));
        first = part == 0 ? task : first;
        uint32_t end = follow(pipe, server, WEFT_TASK_LOCAL, part_layers * layer_tensor_seconds());
        if (final) {
            pipe->buckets[server * pipe->bucket_count + part] = end;
        }
        pipe->backward[server * MICRO_BATCHES + batch] = end;
    }
    if (stage < pipe->stages - 1) {
        uint32_t after = pipe->backward[(server + 1) * MICRO_BATCHES + batch];
        hand_over(pipe, server + 1, after, server, first);
    }
}

// One pass of the schedule over a replica: adds each stage's next task when what it waits for is
// there. Stage p runs stages - 1 - p forward tasks ahead of its backward ones (1F1B).
static void add_replica(struct pipeline *pipe, uint32_t replica, struct weft_arena scratch)
{
    uint32_t *forwards = WEFT_NEW(&scratch, uint32_t, pipe->stages);
    uint32_t *backwards = WEFT_NEW(&scratch, uint32_t, pipe->stages);
    uint32_t base = replica * pipe->stages;
    while (backwards[0] < MICRO_BATCHES) {
        for (uint32_t p = 0; p < pipe->stages; p++) {
            uint32_t ahead = pipe->stages - p < MICRO_BATCHES ? pipe->stages - p : MICRO_BATCHES;
            uint32_t due = backwards[p] + ahead;
            bool forward_due = forwards[p] < MICRO_BATCHES && forwards[p] < due;
            if (forward_due && (p == 0 || forwards[p - 1] > forwards[p])) {
                add_forward(pipe, base + p, forwards[p]++);
            }
        }
        for (uint32_t p = pipe->stages; p-- > 0;) {
            uint32_t ahead = pipe->stages - p < MICRO_BATCHES ? pipe->stages - p : MICRO_BATCHES;
            bool full = forwards[p] == MICRO_BATCHES || forwards[p] >= backwards[p] + ahead;
            if (full && backwards[p] < MICRO_BATCHES &&
                (p == pipe->stages - 1 || backwards[p + 1] > backwards[p])) {
                add_backward(pipe, base + p, backwards[p]++);
            }
        }
    }
}

// Gradients: each bucket over the replicas of its stage; the embedding, which the first and the
// last stage share, over those two of each replica, and over the replicas.
static void add_sums(struct pipeline *pipe)
{
    struct job *job = pipe->job;
    for (uint32_t p = 0; p < pipe->stages; p++) {
        const uint32_t *members = job_members(job, p, pipe->stages, pipe->replicas);
        for (uint32_t bucket = 0; bucket < pipe->bucket_count; bucket++) {
            double size_bytes = BUCKET_LAYERS * layer_parameters() * BYTES;
            uint32_t sum = job_allreduce(job, members, pipe->replicas, size_bytes, 0);
            for (uint32_t r = 0; r < pipe->replicas; r++) {
                size_t server = (size_t)r * pipe->stages + p;
                job_link(job, pipe->buckets[server * pipe->bucket_count + bucket], sum);
            }
        }
    }
    double embedding_bytes = VOCABULARY * HIDDEN * BYTES;
    for (uint32_t r = 0; r < pipe->replicas; r++) {
        uint32_t first = r * pipe->stages;
        const uint32_t *ends = job_members(job, first, pipe->stages - 1, 2);
        uint32_t sum = job_allreduce(job, ends, 2, embedding_bytes, 0);
        job_link(job, pipe->last[first], sum);
        job_link(job, pipe->last[first + pipe->stages - 1], sum);
    }
    uint32_t total = job_allreduce(job, job_members(job, 0, pipe->stages, pipe->replicas),
                                   pipe->replicas, embedding_bytes, 0);
    for (uint32_t r = 0; r < pipe->replicas; r++) {
        job_link(job, pipe->last[(size_t)r * pipe->stages], total);
    }
}

void job_add_gpt(struct job *job, uint32_t stages)
{
    uint32_t n = job->server_count;
    WEFT_ASSERT(stages >= 2 && n % stages == 0 && LAYERS % (stages * BUCKET_LAYERS) == 0);
    struct pipeline pipe = {
        .job = job,
        .stages = stages,
        .replicas = n / stages,
        .layers = LAYERS / stages,
        .forward = WEFT_NEW_RAW(job->arena, uint32_t, (size_t)n * MICRO_BATCHES),
        .backward = WEFT_NEW_RAW(job->arena, uint32_t, (size_t)n * MICRO_BATCHES),
        .bucket_count = LAYERS / stages / BUCKET_LAYERS,
        .last = WEFT_NEW_RAW(job->arena, uint32_t, n),
    };
    pipe.buckets = WEFT_NEW_RAW(job->arena, uint32_t, (size_t)n * pipe.bucket_count);
    for (uint32_t s = 0; s < n; s++) {
        pipe.last[s] = WEFT_NONE;
    }
    struct weft_arena scratch = *job->arena; // what follows allocates no more from the job's arena
    for (uint32_t r = 0; r < pipe.replicas; r++) {
        add_replica(&pipe, r, scratch);
    }
    add_sums(&pipe);
}
