// SPDX-License-Identifier: Apache-2.0
// Tasks of the job executor: those whose predecessors have ended become ready, devices serve theirs
// in order of arrival, transfers and collectives put messages on the network, and a task ends with
// the last of its messages.

#include "executor.h"

#include <math.h>

// ---- tasks ----

static void run_on_device(struct executor *executor, uint32_t task, uint32_t device, double now_ps)
{
    uint32_t local;
    const struct weft_taskgraph *graph = executor_graph(executor, task, &local);
    executor->devices.is_busy[device] = true;
    if (executor->tasks.start_ps != NULL) {
        executor->tasks.start_ps[task] = now_ps;
    }
    double ratio = executor->iterations.compute_ratio[executor->tasks.job[task]];
    executor_push(executor, now_ps + ratio * (double)graph->runtime_ps[local], EXECUTOR_TASK_END,
                  task);
}

// Puts a transfer on the network: one message on each path that its pair takes, with the path's
// share of the bytes. One from a server to itself needs no network, and one of no bytes no message:
// it takes its path's latency. The path is chosen by a hash of the task and the seed, so that it is
// the same in every iteration.
static void start_transfer(struct executor *executor, uint32_t task, double now_ps)
{
    uint32_t local;
    const struct weft_taskgraph *graph = executor_graph(executor, task, &local);
    const struct weft_sim_job *job = &executor->jobs[executor->tasks.job[task]];
    struct weft_simnet *net = &executor->net;
    uint32_t from = executor_server(job, graph->from[local]);
    uint32_t to = executor_server(job, graph->to[local]);
    executor->tasks.part_end_ps[task] = now_ps;
    if (from == to) {
        executor->tasks.parts_left[task] = 1;
        executor_part_ended(executor, task, now_ps);
        return;
    }
    double wire_bytes = weft_simnet_wire_bytes(net, (double)graph->size_bytes[local]);
    uint64_t hash = weft_hash(net->options->seed ^ weft_hash(~(uint64_t)task));
    uint32_t count = weft_simnet_path_count(net, from, to);
    uint32_t job_id = executor->tasks.job[task];
    executor->tasks.parts_left[task] = count;
    executor_set_traits(executor, task, false);
    for (uint32_t i = 0; i < count; i++) {
        struct weft_simnet_path path = weft_simnet_open_path(net, from, to, i, hash, job_id);
        if (wire_bytes > 0) {
            weft_simnet_start(net, path.class_id, wire_bytes * path.share_ratio, task, job_id);
        } else {
            executor_part_ended(executor, task, now_ps + weft_simnet_empty_ps(net, path));
        }
        weft_simnet_close_path(net, path);
    }
}

// Starts a task whose predecessors have ended. What needs a device waits until that is free; a
// collective first takes the time that its part inside the servers needs (runtime_ps); any other
// task without a device takes no time. Even that goes through the heap, so that tasks of one
// instant end in the order in which they became ready.
static void start_task(struct executor *executor, uint32_t task, double now_ps)
{
    uint32_t local;
    const struct weft_taskgraph *graph = executor_graph(executor, task, &local);
    if (graph->device[local] != WEFT_NONE) {
        uint32_t device = executor->first_device[executor->tasks.job[task]] + graph->device[local];
        if (executor->devices.is_busy[device]) {
            executor_append(executor, &executor->devices.queues[device], task);
        } else {
            run_on_device(executor, task, device, now_ps);
        }
        return;
    }
    if (executor->tasks.start_ps != NULL) {
        executor->tasks.start_ps[task] = now_ps;
    }
    bool collective = weft_task_is_collective(graph, local);
    if (graph->kind[local] == WEFT_TASK_TRANSFER) {
        start_transfer(executor, task, now_ps);
    } else if (collective && graph->runtime_ps[local] == 0) {
        executor_collective_start(executor, task, now_ps);
    } else if (collective) {
        executor_push(executor, now_ps + (double)graph->runtime_ps[local],
                      EXECUTOR_COLLECTIVE_START, task);
    } else {
        executor_push(executor, now_ps, EXECUTOR_TASK_END, task);
    }
}

void executor_start_ready(struct executor *executor, double now_ps)
{
    while (executor->ready.head != WEFT_NONE) {
        start_task(executor, executor_take_first(executor, &executor->ready), now_ps);
    }
}

// Ends a task: its device takes the next one, its successors wait for one task less, and its
// iteration is over if it was the last. The device goes first, so that a task that waited for it is
// before those that become ready now.
static void end_task(struct executor *executor, uint32_t task, double now_ps)
{
    uint32_t local;
    const struct weft_taskgraph *graph = executor_graph(executor, task, &local);
    uint32_t job = executor->tasks.job[task];
    if (executor->tasks.end_ps != NULL) {
        executor->tasks.end_ps[task] = now_ps;
    }
    if (graph->kind[local] == WEFT_TASK_BARRIER) {
        sim_circuits_barrier_ended(&executor->net, task);
    }
    if (graph->device[local] != WEFT_NONE) {
        uint32_t device = executor->first_device[job] + graph->device[local];
        executor->devices.is_busy[device] = false;
        struct executor_queue *queue = &executor->devices.queues[device];
        if (queue->head != WEFT_NONE) {
            run_on_device(executor, executor_take_first(executor, queue), device, now_ps);
        }
    }
    for (uint32_t i = graph->next_first[local]; i < graph->next_first[local + 1]; i++) {
        uint32_t next = executor->first_task[job] + graph->next[i];
        // What needs only some of its predecessors (weft_taskgraph.need) is under way when the
        // others end.
        if (executor->tasks.waits_for[next] > 0 && --executor->tasks.waits_for[next] == 0) {
            executor_make_ready(executor, next);
        }
    }
    executor_count_task(executor, job, now_ps);
}

// ---- what has happened ----

void executor_flow_ended(struct executor *executor, const struct weft_active_end *end)
{
    struct weft_simnet *net = &executor->net;
    if (end->owner & EXECUTOR_RUN_OWNER) {
        uint32_t run = end->owner & ~EXECUTOR_RUN_OWNER;
        executor_round_flow_ended(executor, run, end->class_id, end->end_ps);
        return;
    }
    uint32_t local;
    const struct weft_taskgraph *graph = executor_graph(executor, end->owner, &local);
    double wire_bytes = weft_simnet_wire_bytes(net, (double)graph->size_bytes[local]);
    double latency_ps = weft_simnet_tail_ps(net, end->class_id, wire_bytes);
    executor_part_ended(executor, end->owner, end->end_ps + latency_ps);
}

void executor_take_event(struct executor *executor)
{
    const struct executor_event taken = executor_pop(executor);
    const struct executor_event *event = &taken;
    executor->event_count++;
    if (event->kind == EXECUTOR_TASK_END) {
        end_task(executor, event->id, event->time_ps);
    } else if (event->kind == EXECUTOR_COLLECTIVE_START) {
        executor_collective_start(executor, event->id, event->time_ps);
    } else if (event->kind == EXECUTOR_ROUND_START) {
        executor_round_start(executor, event->id, event->time_ps);
    } else {
        executor_begin_iteration(executor, event->id, event->time_ps);
    }
    executor_start_ready(executor, event->time_ps);
}

uint32_t executor_owner_task(const struct executor *executor, uint32_t owner, uint32_t *job)
{
    bool is_run = (owner & EXECUTOR_RUN_OWNER) != 0;
    uint32_t task = is_run ? executor->rings.runs[owner & ~EXECUTOR_RUN_OWNER].task : owner;
    *job = executor->tasks.job[task];
    return task - executor->first_task[*job];
}
