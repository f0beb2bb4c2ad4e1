// SPDX-License-Identifier: Apache-2.0
// A recommendation model (Naumov et al. 2019) in hybrid parallelism: embedding tables lie on single
// servers, the dense layers on all. Every server looks up its tables for the whole batch and sends
// each server the rows of that server's samples; gradients of the rows come back the same way.

#include "job.h"

#define SAMPLES_PER_SERVER 8192.0 // 2048 an accelerator
#define TABLES_PER_SERVER 4.0
#define TABLE_DIM 128.0
#define LOOKUPS_PER_SAMPLE 50.0    // rows of one table that are summed
#define ROW_BYTES (TABLE_DIM * 4)  // kept in fp32
#define WIRE_BYTES (TABLE_DIM * 2) // sent in bf16
#define GRADIENT_BYTES 4.0
#define DENSE_INPUTS 13.0

struct tower {
    uint32_t layer_count;
    const double *widths; // layer_count + 1
};

static const double bottom_widths[] = {DENSE_INPUTS, 1024, 1024, 1024, TABLE_DIM};
static const double top_widths[] = {0, 2048, 2048, 2048, 2048, 2048, 2048, 2048, 1};

static double layer_parameters(double from, double to)
{
    return from * to + to;
}

// The dot products of all pairs of 64 table rows and the bottom's output, and that output.
static double interaction_width(uint32_t server_count)
{
    double vectors = TABLES_PER_SERVER * server_count + 1;
    return vectors * (vectors - 1) / 2 + TABLE_DIM;
}

static double input_width(const struct tower *tower, uint32_t layer, uint32_t server_count)
{
    double width = tower->widths[layer];
    return width > 0 ? width : interaction_width(server_count);
}

// One pass through a tower on one server; backward is twice the work in reverse. The tasks go to
// tasks[layer] and the first of the pass waits for `after`.
static uint32_t add_tower(struct job *job, const struct tower *tower, uint32_t server,
                          uint32_t after, bool backward, uint32_t *tasks)
{
    uint32_t last = after;
    for (uint32_t i = 0; i < tower->layer_count; i++) {
        uint32_t layer = backward ? tower->layer_count - 1 - i : i;
        double from = input_width(tower, layer, job->server_count);
        double flops = 2 * from * tower->widths[layer + 1] * SAMPLES_PER_SERVER;
        uint32_t task = job_compute(job, backward ? WEFT_TASK_BACKWARD : WEFT_TASK_FORWARD, server,
                                    gemm_seconds((backward ? 2 : 1) * flops));
        if (last != WEFT_NONE) {
            job_link(job, last, task);
        }
        tasks[layer] = task;
        last = task;
    }
    return last;
}

// Gradients of a tower's layers are summed over all servers as each layer's backward tasks end.
static void add_sums(struct job *job, const struct tower *tower, uint32_t *const *tasks,
                     const uint32_t *everyone)
{
    for (uint32_t layer = tower->layer_count; layer-- > 0;) {
        double from = input_width(tower, layer, job->server_count);
        double size_bytes = layer_parameters(from, tower->widths[layer + 1]) * GRADIENT_BYTES;
        uint32_t sum = job_allreduce(job, everyone, job->server_count, size_bytes,
                                     local_allreduce_seconds(size_bytes));
        for (uint32_t s = 0; s < job->server_count; s++) {
            job_link(job, tasks[s][layer], sum);
        }
    }
}

// Every server sends every other its part: after[from] first, then before[to] may start.
static void add_exchange(struct job *job, const uint32_t *after, const uint32_t *before)
{
    double pair_bytes = TABLES_PER_SERVER * SAMPLES_PER_SERVER * WIRE_BYTES;
    for (uint32_t from = 0; from < job->server_count; from++) {
        for (uint32_t step = 1; step < job->server_count; step++) {
            uint32_t to = (from + step) % job->server_count;
            uint32_t task = job_transfer(job, from, to, pair_bytes);
            job_link(job, after[from], task);
            job_link(job, task, before[to]);
        }
        job_link(job, after[from], before[from]);
    }
}

void job_add_dlrm(struct job *job)
{
    static const struct tower bottom = {sizeof bottom_widths / sizeof bottom_widths[0] - 1,
                                        bottom_widths};
    static const struct tower top = {sizeof top_widths / sizeof top_widths[0] - 1, top_widths};
    uint32_t n = job->server_count;
    double rows = TABLES_PER_SERVER * SAMPLES_PER_SERVER * n * LOOKUPS_PER_SAMPLE;
    double vectors = TABLES_PER_SERVER * n + 1;
    double dot_flops = vectors * vectors * TABLE_DIM * SAMPLES_PER_SERVER;
    uint32_t *looked_up = WEFT_NEW_RAW(job->arena, uint32_t, n);
    uint32_t *joined = WEFT_NEW_RAW(job->arena, uint32_t, n);
    uint32_t *parted = WEFT_NEW_RAW(job->arena, uint32_t, n);
    uint32_t *updated = WEFT_NEW_RAW(job->arena, uint32_t, n);
    uint32_t **bottom_tasks = WEFT_NEW_RAW(job->arena, uint32_t *, n);
    uint32_t **top_tasks = WEFT_NEW_RAW(job->arena, uint32_t *, n);
    for (uint32_t s = 0; s < n; s++) {
        bottom_tasks[s] = WEFT_NEW_RAW(job->arena, uint32_t, bottom.layer_count);
        top_tasks[s] = WEFT_NEW_RAW(job->arena, uint32_t, top.layer_count);
        looked_up[s] = job_compute(job, WEFT_TASK_FORWARD, s, gather_seconds(rows * ROW_BYTES));
        uint32_t dense = add_tower(job, &bottom, s, WEFT_NONE, false, bottom_tasks[s]);
        joined[s] = job_compute(job, WEFT_TASK_FORWARD, s, gemm_seconds(dot_flops));
        job_link(job, dense, joined[s]);
        uint32_t answer = add_tower(job, &top, s, joined[s], false, top_tasks[s]);
        uint32_t turned = add_tower(job, &top, s, answer, true, top_tasks[s]);
        parted[s] = job_compute(job, WEFT_TASK_BACKWARD, s, gemm_seconds(2 * dot_flops));
        job_link(job, turned, parted[s]);
        add_tower(job, &bottom, s, parted[s], true, bottom_tasks[s]);
        // Each row is read and written back.
        updated[s] = job_compute(job, WEFT_TASK_UPDATE, s, gather_seconds(2 * rows * ROW_BYTES));
    }
    add_exchange(job, looked_up, joined);
    add_exchange(job, parted, updated);
    const uint32_t *everyone = job_members(job, 0, 1, n);
    add_sums(job, &top, top_tasks, everyone);
    add_sums(job, &bottom, bottom_tasks, everyone);
}
