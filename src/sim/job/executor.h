// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_JOB_EXECUTOR_H
#define WEFT_SIM_JOB_EXECUTOR_H

// The executor that plays jobs: devices with their queues, tasks that wait for others, collectives
// and a heap of the events that are not ends of flows.

#include "sim/watch.h"

// Owners of flows are tasks, or ring runs with this bit.
#define EXECUTOR_RUN_OWNER 0x80000000u

enum executor_event_kind {
    EXECUTOR_TASK_END,
    EXECUTOR_COLLECTIVE_START, // the part inside the servers is over
    EXECUTOR_ROUND_START,
    EXECUTOR_JOB_START,
};

struct executor_event {
    double time_ps;
    uint64_t order; // of creation: simultaneous events come in that order
    uint32_t kind;
    uint32_t id; // task, ring run or job
};
// A heap by time and order (weft/base/heap.h).
struct executor_event_heap {
    struct executor_event *entries;
    uint32_t count;
};

// One ring of one collective.
struct executor_run {
    uint32_t task;
    uint32_t first_way;
    uint32_t way_count;
    uint32_t rounds_left;
    uint32_t flows_left; // of this round
    double wire_bytes;   // that each member sends in a round
    double round_end_ps;
};

// What a group's rings need, known before the start.
struct executor_group {
    uint32_t ring_count; // 0: one ring in the order of the members
    const struct weft_ring *rings;
    uint32_t way_count; // of all rings
};

struct executor {
    struct weft_simnet net;
    struct sim_watch watch;
    const struct weft_sim_job *jobs;
    uint32_t job_count;
    // Per job.
    uint32_t *first_task; // tasks of all jobs in one numbering; job_count + 1
    uint32_t *first_device;
    uint32_t *first_group;
    uint32_t iterations; // of each job
    uint32_t *iteration; // that it is in
    uint32_t *tasks_left;
    double *compute_ratio; // of this iteration's compute times to the task graph's
    struct weft_rng *rng;
    double *iteration_end_ps; // [job * iterations + iteration]
    double *late_ps;          // behind start and periods, when its last iteration ended
    uint64_t wait_count;
    struct executor_group *groups;
    // Per task.
    uint32_t *task_job;
    uint32_t *waits_for;    // predecessors still to end
    uint32_t *first_run;    // of a collective's rings, once it has run
    uint32_t *parts_left;   // ways of a transfer, rings of a collective
    double *part_end_ps;    // latest so far
    uint32_t *next_in_line; // in `ready` or a device's queue; a task is in one at most
    double *start_ps;       // timeline, or NULL
    double *end_ps;
    // Per device: the tasks that wait for it, first come, first served.
    uint32_t *line_head;
    uint32_t *line_tail;
    bool *is_busy;
    uint32_t ready_head; // tasks to start now
    uint32_t ready_tail;
    // Ring runs and the ways of their hops, in order of start.
    struct executor_run *runs;
    uint32_t run_count;
    struct weft_simnet_way *ways;
    uint32_t way_count;
    struct executor_event_heap events;
    uint64_t order;
    uint64_t event_count;
};

static inline const struct weft_taskgraph *executor_graph(const struct executor *executor,
                                                          uint32_t task, uint32_t *local)
{
    uint32_t job = executor->task_job[task];
    *local = task - executor->first_task[job];
    return executor->jobs[job].graph;
}

// The fabric's server of a job's.
static inline uint32_t executor_server(const struct weft_sim_job *job, uint32_t server)
{
    return job->servers == NULL ? server : job->servers[server];
}

// Checks the jobs and lays the executor out for them in the environment's arena (setup.c).
bool executor_build(struct executor *executor, const struct weft_network *network,
                    const struct weft_sim_job *jobs, uint32_t job_count,
                    const struct weft_sim_options *options,
                    const struct weft_environment *environment) WEFT_MUST_USE;

// A job's next iteration begins (iterations.c).
void executor_begin_iteration(struct executor *executor, uint32_t job, double now_ps);
// A task of it has ended.
void executor_count_task(struct executor *executor, uint32_t job, double now_ps);
// Lays the iterations out and files the jobs' starts.
bool executor_lay_out_iterations(struct executor *executor, const struct weft_sim_options *options,
                                 struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// Per job: mean iterations and the ends of all.
bool executor_iterations(struct weft_sim_result *result, const struct executor *executor,
                         struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;

// ---- what waits (events.c) ----

// Files an event, and takes the first one out. O(log events).
void executor_push(struct executor *executor, double time_ps, enum executor_event_kind kind,
                   uint32_t id);
struct executor_event executor_pop(struct executor *executor);
// A task waits behind the others of a queue; the first one leaves it.
void executor_append(struct executor *executor, uint32_t *head, uint32_t *tail, uint32_t task);
uint32_t executor_take_first(struct executor *executor, uint32_t *head);
// A task waits for nothing more.
void executor_make_ready(struct executor *executor, uint32_t task);
// One of a task's parts is over; after the last the task ends.
void executor_part_ended(struct executor *executor, uint32_t task, double time_ps);

// Collectives (collective.c).
void executor_collective_start(struct executor *executor, uint32_t task, double now_ps);
void executor_round_start(struct executor *executor, uint32_t run, double now_ps);
void executor_round_flow_ended(struct executor *executor, uint32_t run, double time_ps);

#endif
