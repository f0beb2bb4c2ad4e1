// SPDX-License-Identifier: Apache-2.0
// The one executor of task graphs: tasks whose predecessors have ended become ready, devices serve
// theirs in order of arrival, transfers and collectives put messages on the network, and a task
// ends with the last of its messages. It plays whole jobs over either engine, instant by instant.

#include "executor.h"

#include <math.h>
#include <string.h>

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

static void start_ready(struct executor *executor, double now_ps)
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

// ---- time ----

static void flow_ended(struct executor *executor, const struct weft_active_end *end)
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

static void handle(struct executor *executor, const struct executor_event *event)
{
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
    start_ready(executor, event->time_ps);
}

static void settle(struct executor *executor)
{
    weft_active_settle(&executor->net.active);
    if (executor->net.shares.learns) {
        sim_shares_settle(&executor->net.shares, &executor->net.active);
    }
}

// The flow engine's loop, from instant to instant: the next end of a flow, change of a share,
// change of circuits or event. All within a window of that instant counts as simultaneous
// (weft_active_window_ps), and rates are solved once after it, so that a round of a ring whose hops
// end together costs one solve.
static void play(struct executor *executor)
{
    struct weft_active_flows *active = &executor->net.active;
    struct sim_shares *shares = &executor->net.shares;
    if (!sim_circuits_step(&executor->net, 0)) {
        return;
    }
    start_ready(executor, 0);
    settle(executor);
    for (;;) {
        double next_ps = fmin(weft_active_next_ps(active), sim_shares_next_ps(shares));
        next_ps = fmin(next_ps, sim_circuits_next_ps(&executor->net, executor->events.count > 0));
        if (executor->events.count > 0) {
            next_ps = fmin(next_ps, executor->events.entries[0].time_ps);
        }
        if (isinf(next_ps) ||
            !sim_watch_fluid(&executor->watch, active, next_ps, executor->event_count)) {
            return;
        }
        if (executor_skip_rounds(executor, next_ps)) {
            continue;
        }
        active->now_ps = next_ps;
        double until_ps = weft_active_window_ps(active);
        struct weft_active_end end;
        while (weft_active_take(active, until_ps, &end)) {
            flow_ended(executor, &end);
        }
        while (executor->events.count > 0 && executor->events.entries[0].time_ps <= until_ps) {
            struct executor_event event = executor_pop(executor);
            handle(executor, &event);
        }
        sim_shares_step(shares, active, until_ps);
        settle(executor);
        if (!sim_circuits_step(&executor->net, until_ps)) {
            return;
        }
    }
}

static void record(struct executor *executor, const struct packet_end *end, double end_ps)
{
    bool is_run = (end->owner & EXECUTOR_RUN_OWNER) != 0;
    uint32_t task =
        is_run ? executor->rings.runs[end->owner & ~EXECUTOR_RUN_OWNER].task : end->owner;
    uint32_t job = executor->tasks.job[task];
    end_ps += weft_simnet_tail_ps(&executor->net, end->path_id, 0);
    sim_watch_record(&executor->watch, &executor->net, end, end_ps, job,
                     task - executor->first_task[job]);
}

// The packet engine's loop: packets move until a message ends or an event or a change of circuits
// is due. What packets do at an instant comes before the tasks.
static void play_packets(struct executor *executor)
{
    struct weft_active_flows *active = &executor->net.active;
    struct packet_engine *packets = &executor->net.packets;
    if (!sim_circuits_step(&executor->net, 0)) {
        return;
    }
    start_ready(executor, 0);
    for (;;) {
        bool pending = executor->events.count > 0;
        double event_ps = pending ? executor->events.entries[0].time_ps : (double)INFINITY;
        double circuit_ps = sim_circuits_next_ps(&executor->net, pending);
        double next_ps = fmin(fmin(event_ps, circuit_ps), (double)CLOCK_END_PS);
        bool more = pending || !isinf(circuit_ps);
        uint64_t until_ps = more ? (uint64_t)ceil(next_ps) : WEFT_NEVER;
        struct packet_end end;
        if (sim_watch_run(&executor->watch, packets, until_ps, &end)) {
            struct weft_active_end ended = {end.owner, end.path_id, (double)packets->clock.now_ps};
            record(executor, &end, ended.end_ps);
            flow_ended(executor, &ended);
            weft_active_close(active, end.path_id);
            sim_circuits_ended(&executor->net);
        } else if (!more || executor->watch.is_over) {
            break;
        } else if (circuit_ps < event_ps) {
            packets->clock.now_ps = until_ps;
            if (!sim_circuits_step(&executor->net, ceil(circuit_ps))) {
                break;
            }
        } else {
            struct executor_event event = executor_pop(executor);
            packets->clock.now_ps = until_ps;
            handle(executor, &event);
        }
    }
    for (uint32_t link = 0; link < executor->net.fabric->link_count; link++) {
        active->link_bytes[link] = (double)packets->links[link].bytes;
    }
    executor->event_count += packets->counts.events;
}

static void name_task(char *text, size_t room, const void *input, uint32_t owner)
{
    const struct executor *executor = input;
    bool is_run = (owner & EXECUTOR_RUN_OWNER) != 0;
    uint32_t task = is_run ? executor->rings.runs[owner & ~EXECUTOR_RUN_OWNER].task : owner;
    uint32_t local;
    const struct weft_taskgraph *graph = executor_graph(executor, task, &local);
    snprintf(text, room, "task %u (%s) of job %u", local, weft_task_facts[graph->kind[local]].name,
             executor->tasks.job[task]);
}

// ---- results ----

static bool round_all(const uint64_t **out, const double *values_ps, uint32_t count,
                      struct weft_arena *arena, struct weft_error *error)
{
    uint64_t *rounded = WEFT_NEW_RAW(arena, uint64_t, count);
    for (uint32_t i = 0; i < count; i++) {
        if (!weft_simnet_round_ps(&rounded[i], values_ps[i], error)) {
            return false;
        }
    }
    *out = rounded;
    return true;
}

static bool round_timeline(const uint64_t *const **out, const struct executor *executor,
                           const double *values_ps, struct weft_arena *arena,
                           struct weft_error *error)
{
    const uint64_t **lines = WEFT_NEW(arena, const uint64_t *, executor->job_count);
    for (uint32_t job = 0; job < executor->job_count; job++) {
        uint32_t first = executor->first_task[job];
        if (!round_all(&lines[job], &values_ps[first], executor->first_task[job + 1] - first, arena,
                       error)) {
            return weft_wrap(error, "job %u", job);
        }
    }
    *out = lines;
    return true;
}

bool weft_sim_run_jobs(struct weft_sim_result *result, const struct weft_network *network,
                       const struct weft_sim_job *jobs, uint32_t job_count,
                       const struct weft_sim_options *options,
                       const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_arena scratch = environment->scratch;
    struct weft_error *error = environment->error;
    const struct weft_fabric *fabric = &network->fabric;
    struct executor executor;
    const struct weft_packet_options defaults = WEFT_PACKET_DEFAULTS;
    struct weft_sim_options filled = *options;
    filled.packet = filled.packet == NULL ? &defaults : filled.packet;
    options = &filled;
    const struct weft_environment building = {.arena = &scratch, .error = error};
    if (!executor_build(&executor, network, jobs, job_count, options, &building)) {
        return false;
    }
    sim_watch_init(&executor.watch, fabric, options, arena);
    if (options->engine == WEFT_ENGINE_PACKET) {
        play_packets(&executor);
        if (!packet_engine_check(&executor.net.packets, error)) {
            return false;
        }
    } else {
        play(&executor);
    }
    if (!sim_circuits_finish(&executor.net, error)) {
        return false;
    }
    if (!sim_watch_check(&executor.watch, &executor.net, name_task, &executor, error)) {
        return false;
    }
    struct weft_sim_result r = {.records = sim_watch_take_records(&executor.watch)};
    if (!executor_iterations(&r, &executor, arena, error)) {
        return false;
    }
    if (options->timeline &&
        (!round_timeline(&r.task_start_ps, &executor, executor.tasks.start_ps, arena, error) ||
         !round_timeline(&r.task_end_ps, &executor, executor.tasks.end_ps, arena, error))) {
        return false;
    }
    const struct weft_active_flows *active = &executor.net.active;
    double *link_bytes = WEFT_NEW_RAW(arena, double, fabric->link_count);
    memcpy(link_bytes, active->link_bytes, fabric->link_count * sizeof(double));
    r.link_bytes = link_bytes;
    r.packets = executor.net.packets.counts;
    r.skips = packet_skip_counts(&executor.net.packets);
    if (options->engine == WEFT_ENGINE_PACKET) {
        r.ports = packet_engine_ports(&executor.net.packets, arena);
    }
    r.circuits = sim_circuits_counts(&executor.net);
    r.partitions.count = 1;
    r.folded = executor.steady.has_skipped;
    r.flow_count = active->started_count;
    r.event_count = executor.event_count + active->started_count;
    r.solve_count = active->maxmin.counts.solves;
    r.work_count = active->maxmin.counts.work;
    r.share_count = executor.net.shares.step_count;
    *result = r;
    return true;
}
