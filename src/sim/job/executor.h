// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_JOB_EXECUTOR_H
#define WEFT_SIM_JOB_EXECUTOR_H

// The job executor: it plays task graphs on a network, as a discrete-event simulation.
//
// A task starts when its predecessors have ended and, if it computes, its device is free. Compute
// times are the graph's; transfers and rounds of collectives are messages on the network, and its
// engine says when they end. What else ends or begins at a known time stands in one heap. An event
// costs O(log events), besides what the engine takes for messages.
//
//   fold.c: hops of rings that stand for others
//      └─► setup.c lays out ─► jobs.c plays ─► partitions.c: packets in several partitions
//                                 ├─► steady.c: rounds that repeat are skipped
//                                 └─► tasks.c: they begin and end
//                                        ├─► iterations.c begins jobs anew, and gathers their times
//                                        ├─► collective.c: rings and their rounds
//                                        └─► events.c: the heap, queues of tasks, ends of parts

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
    uint32_t first_path;
    uint32_t path_count;
    uint32_t rounds_left;
    uint32_t gather_rounds;               // the last ones, in which nothing may be missing (MLT)
    uint32_t flows_left;                  // of this round
    const struct weft_path_delay *delays; // per path, of a folded ring; NULL = each path's own
    double wire_bytes;                    // that each member sends in a round
    double round_end_ps;
};

// What a group's rings need, known before the start.
struct executor_group {
    uint32_t ring_count; // 0: one ring in the order of the members
    const struct weft_ring *rings;
    uint32_t path_count; // of all rings
};

// Tasks in the order in which they came, linked by executor_tasks.next_in_queue: a task waits in
// one queue at most.
struct executor_queue {
    uint32_t head; // WEFT_NONE: empty
    uint32_t tail;
};

// Where each job is in its iterations; arrays by job.
struct executor_iterations {
    uint32_t count; // of each job, unless its timing says fewer
    uint32_t *current;
    uint32_t *tasks_left;
    double *compute_ratio; // of this iteration's compute times to the task graph's
    struct weft_rng *rng;
    double *end_ps;      // [job * count + iteration]
    double *late_ps;     // behind start and periods, when its last iteration ended
    uint64_t wait_count; // iterations that began later, to keep in step
};

// Arrays by task, in the numbering of all jobs' tasks.
struct executor_tasks {
    uint32_t *job;
    uint32_t *waits_for;  // predecessors still to end
    uint32_t *first_run;  // of a collective's rings, once it has run
    uint32_t *parts_left; // paths of a transfer, rings of a collective
    double *part_end_ps;  // latest so far
    uint32_t *next_in_queue;
    uint32_t *layer;       // MLT with queues by layer, 0 the front; else NULL
    uint32_t *layer_count; // of each job
    double *start_ps;      // timeline, or NULL
    double *end_ps;
};

// Arrays by device, in the numbering of all jobs' devices.
struct executor_devices {
    struct executor_queue *queues; // tasks that wait for it, first come, first served
    bool *is_busy;
};

// Ring runs and the paths of their hops, in order of start.
struct executor_rings {
    struct executor_run *runs;
    uint32_t run_count;
    struct weft_simnet_path *paths;
    uint32_t path_count;
};

// The last instant at which nothing flowed and rounds of rings began alone, and what had been
// counted by then (steady.c).
struct executor_steady {
    double since_ps;
    uint64_t rings;      // which: the sum of their hashes
    uint32_t ring_count; // 0: there was none
    uint64_t event_count, started_count;
    struct weft_maxmin_counts counts;
    bool has_skipped; // anything, in this run
};

struct executor {
    struct weft_simnet net;
    struct sim_watch watch;
    const struct weft_sim_job *jobs;
    uint32_t job_count;
    // Where each job begins in one numbering of all tasks, devices and groups; job_count + 1.
    uint32_t *first_task;
    uint32_t *first_device;
    uint32_t *first_group;
    struct executor_group *groups;
    struct executor_iterations iterations;
    struct executor_tasks tasks;
    struct executor_devices devices;
    struct executor_queue ready; // tasks to start now
    uint32_t run_room;           // runs of rings at most
    struct executor_rings rings;
    struct executor_steady steady;
    struct executor_event_heap events;
    uint64_t order; // of the next event
    uint64_t event_count;
    uint64_t hidden_count; // messages that are not played (fold.c)
    bool is_folded;
};

static inline const struct weft_taskgraph *executor_graph(const struct executor *executor,
                                                          uint32_t task, uint32_t *local)
{
    uint32_t job = executor->tasks.job[task];
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

// The rings of a job that was checked, with the hops alone that stand for all (fold.c); those of
// which all hops are played are as they were. False where all are: `folded` is not set then. Finds
// nothing where a job is not alone on the network.
bool executor_fold(struct weft_ring_set *folded, const struct weft_network *network,
                   const struct weft_sim_job *job, const struct weft_sim_options *options,
                   struct weft_arena *arena, struct weft_arena scratch) WEFT_MUST_USE;

// How many iterations a job has, and its next one begins (iterations.c).
uint32_t executor_own_iterations(const struct executor *executor, uint32_t job);
void executor_begin_iteration(struct executor *executor, uint32_t job, double now_ps);
// A task of it has ended.
void executor_count_task(struct executor *executor, uint32_t job, double now_ps);
// Lays the iterations out and files the jobs' starts.
bool executor_lay_out_iterations(struct executor *executor, const struct weft_sim_options *options,
                                 struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// Per job: mean iterations and the ends of all.
bool executor_iterations(struct weft_sim_result *result, const struct executor *executor,
                         struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;

// ---- tasks (tasks.c) ----

// Tasks that are ready start.
void executor_start_ready(struct executor *executor, double now_ps);
// The next event happens.
void executor_take_event(struct executor *executor);
// A message has ended.
void executor_flow_ended(struct executor *executor, const struct weft_active_end *end);
// The task that an owner of messages is, or is for, in its job.
uint32_t executor_owner_task(const struct executor *executor, uint32_t owner, uint32_t *job);
// ---- what MLT is told (traits.c) ----

// The layers of all tasks that send something.
void executor_lay_out_layers(struct executor *executor, uint32_t task_count,
                             struct weft_arena *arena, struct weft_arena scratch);
// Messages of a task begin, with MLT's traits: protected, and of the task's layer.
void executor_set_traits(struct executor *executor, uint32_t task, bool is_protected);
// ---- partitions (partitions.c) ----

// Plays the jobs in partitions; *played: whether they can be. Fails with UNSUPPORTED when the OS
// has no address space.
bool executor_play_partitions(struct executor *executor, struct weft_sim_result *result,
                              bool *played, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;

// ---- what waits (events.c) ----

// Files an event, and takes the first one out. O(log events).
void executor_push(struct executor *executor, double time_ps, enum executor_event_kind kind,
                   uint32_t id);
struct executor_event executor_pop(struct executor *executor);
// A task waits behind the others of a queue; the first one leaves it.
void executor_append(struct executor *executor, struct executor_queue *queue, uint32_t task);
uint32_t executor_take_first(struct executor *executor, struct executor_queue *queue);
// A task waits for nothing more.
void executor_make_ready(struct executor *executor, uint32_t task);
// One of a task's parts, a message or a ring, is over at time_ps; the task ends with the last.
void executor_part_ended(struct executor *executor, uint32_t task, double time_ps);

// Collectives (collective.c).
void executor_collective_start(struct executor *executor, uint32_t task, double now_ps);
void executor_round_start(struct executor *executor, uint32_t run, double now_ps);
// Before what is due at now_ps is played: moves the rounds that begin then on, where they repeat
// what has been (steady.c). True: it has, and the next event is another.
bool executor_skip_rounds(struct executor *executor, double now_ps);
// What all messages of all iterations count for (sim_watch_work), those of later hops in a folded
// ring aside. O(messages of a round).
double executor_expected_work(const struct executor *executor);
// A message of a round has left the slowest link of its path.
void executor_round_flow_ended(struct executor *executor, uint32_t run, uint32_t class_id,
                               double end_ps);

#endif
