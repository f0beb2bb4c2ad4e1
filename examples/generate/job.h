// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_EXAMPLES_JOB_H
#define WEFT_EXAMPLES_JOB_H

// Jobs being written: tasks and dependencies in any order, and the hardware that times them.
//
// A server is one device: four accelerators behind it work as one, as in TopoOpt's own graphs.
// docs/taskgraphs.md states the assumptions below.

#include "weft/base.h"
#include "weft/workload.h"

#define GPUS_PER_SERVER 4.0
// NVIDIA A100 80 GB SXM, data sheet: dense bf16, HBM2e, NVLink 3 in one direction.
#define GPU_PEAK_FLOPS 312e12
#define GPU_MEMORY_BPS 2.0e12
#define GPU_NVLINK_BPS 300e9
// What of the peaks is reached.
#define GEMM_RATIO 0.40   // large matrix products
#define CONV_RATIO 0.20   // convolutional networks, batch norms and input included
#define GATHER_RATIO 0.50 // embedding rows of a few hundred bytes
#define NVLINK_RATIO 0.80

struct job_edge {
    uint32_t from;
    uint32_t to;
};

struct job {
    struct weft_arena *arena;
    uint32_t server_count;
    uint32_t task_count;
    uint32_t edge_count;
    struct weft_task *tasks;
    struct job_edge *edges;
};

// What a job may hold; its arrays are touched only as far as they are used.
#define JOB_TASKS_MAX (1u << 18)
#define JOB_EDGES_MAX (1u << 20)

struct job job_init(uint32_t server_count, struct weft_arena *arena);
// Each adds one task and returns its index.
uint32_t job_compute(struct job *job, enum weft_task_kind kind, uint32_t server, double seconds);
uint32_t job_transfer(struct job *job, uint32_t from, uint32_t to, double size_bytes);
// `members` must outlive the job; local_seconds is spent inside the servers first.
uint32_t job_allreduce(struct job *job, const uint32_t *members, uint32_t member_count,
                       double size_bytes, double local_seconds);
// `to` waits for `from`.
void job_link(struct job *job, uint32_t from, uint32_t to);
// Servers first, first + step, ...: `count` of them.
const uint32_t *job_members(struct job *job, uint32_t first, uint32_t step, uint32_t count);
// The bytes of the job's file, its network's rate stated as 100 Gbps.
bool job_write(const char **data, size_t *length, struct job *job, struct weft_arena scratch,
               struct weft_error *error) WEFT_MUST_USE;

// Seconds that a server takes.
static inline double gemm_seconds(double flops)
{
    return flops / (GPUS_PER_SERVER * GPU_PEAK_FLOPS * GEMM_RATIO);
}
static inline double conv_seconds(double flops)
{
    return flops / (GPUS_PER_SERVER * GPU_PEAK_FLOPS * CONV_RATIO);
}
static inline double gather_seconds(double size_bytes)
{
    return size_bytes / (GPUS_PER_SERVER * GPU_MEMORY_BPS * GATHER_RATIO);
}
// A ring all-reduce of size_bytes on each of the server's accelerators: 2 (g-1)/g S / B.
static inline double local_allreduce_seconds(double size_bytes)
{
    double steps = 2 * (GPUS_PER_SERVER - 1) / GPUS_PER_SERVER;
    return steps * size_bytes / (GPU_NVLINK_BPS * NVLINK_RATIO);
}

// ---- the families ----

void job_add_cnn_vgg16(struct job *job);
void job_add_cnn_resnet50(struct job *job);
void job_add_dlrm(struct job *job);
// Stages of a pipeline; server_count / stages replicas.
void job_add_gpt(struct job *job, uint32_t stages);
void job_add_moe(struct job *job);
// One AllReduce, and sends of its first member.
void job_add_sends(struct job *job);

#endif
