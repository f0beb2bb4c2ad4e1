// SPDX-License-Identifier: Apache-2.0
// Jobs being written.

#include "job.h"

#include "weft/format.h"

struct job job_init(uint32_t server_count, struct weft_arena *arena)
{
    return (struct job){
        .arena = arena,
        .server_count = server_count,
        .tasks = WEFT_NEW_RAW(arena, struct weft_task, JOB_TASKS_MAX),
        .edges = WEFT_NEW_RAW(arena, struct job_edge, JOB_EDGES_MAX),
    };
}

static uint32_t add(struct job *job, const struct weft_task *task)
{
    WEFT_ASSERT(job->task_count < JOB_TASKS_MAX);
    job->tasks[job->task_count] = *task;
    return job->task_count++;
}

uint32_t job_compute(struct job *job, enum weft_task_kind kind, uint32_t server, double seconds)
{
    return add(job, &(struct weft_task){
                        .kind = kind, .device = server, .runtime_ps = weft_picoseconds(seconds)});
}

uint32_t job_transfer(struct job *job, uint32_t from, uint32_t to, double size_bytes)
{
    return add(job, &(struct weft_task){.kind = WEFT_TASK_TRANSFER,
                                        .from = from,
                                        .to = to,
                                        .size_bytes = (uint64_t)size_bytes});
}

uint32_t job_allreduce(struct job *job, const uint32_t *members, uint32_t member_count,
                       double size_bytes, double local_seconds)
{
    return add(job, &(struct weft_task){.kind = WEFT_TASK_ALLREDUCE,
                                        .members = members,
                                        .member_count = member_count,
                                        .size_bytes = (uint64_t)size_bytes,
                                        .runtime_ps = weft_picoseconds(local_seconds)});
}

void job_link(struct job *job, uint32_t from, uint32_t to)
{
    WEFT_ASSERT(job->edge_count < JOB_EDGES_MAX && from < job->task_count && to < job->task_count);
    job->edges[job->edge_count++] = (struct job_edge){from, to};
}

const uint32_t *job_members(struct job *job, uint32_t first, uint32_t step, uint32_t count)
{
    uint32_t *members = WEFT_NEW_RAW(job->arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) {
        members[i] = first + i * step;
    }
    return members;
}

// Gives every task its successors, in the order in which they were linked.
static void attach_edges(struct job *job, struct weft_arena *scratch)
{
    uint32_t *next = WEFT_NEW_RAW(scratch, uint32_t, job->edge_count);
    uint32_t *first = WEFT_NEW(scratch, uint32_t, (size_t)job->task_count + 1);
    for (uint32_t e = 0; e < job->edge_count; e++) {
        first[job->edges[e].from + 1]++;
    }
    for (uint32_t t = 0; t < job->task_count; t++) {
        first[t + 1] += first[t];
        job->tasks[t].next = next + first[t];
        job->tasks[t].next_count = 0;
    }
    for (uint32_t e = 0; e < job->edge_count; e++) {
        struct weft_task *task = &job->tasks[job->edges[e].from];
        next[first[job->edges[e].from] + task->next_count++] = job->edges[e].to;
    }
}

bool job_write(const char **data, size_t *length, struct job *job, struct weft_arena scratch,
               struct weft_error *error)
{
    const uint32_t *device_server = job_members(job, 0, 1, job->server_count);
    attach_edges(job, &scratch);
    struct weft_fbuf fbuf = {
        .gpus_per_server = 1, // four that work as one device
        .node_count = job->server_count,
        .rate_Bps = 12.5e9,
        .inter_gpu_Bps = GPU_NVLINK_BPS * NVLINK_RATIO,
        .dram_Bps = 0,
    };
    return weft_taskgraph_build(&fbuf.graph,
                                &(struct weft_taskgraph_draft){.server_count = job->server_count,
                                                               .device_count = job->server_count,
                                                               .device_server = device_server,
                                                               .task_count = job->task_count,
                                                               .tasks = job->tasks},
                                job->arena, scratch, error) &&
           weft_fbuf_write(data, length, &fbuf, job->arena, scratch, error);
}
