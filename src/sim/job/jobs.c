// SPDX-License-Identifier: Apache-2.0
// The one executor of task graphs: it plays whole jobs over either engine, from instant to instant,
// and rounds what came out. What happens to tasks at an instant is in tasks.c; in which order
// messages, tasks and circuits have their turn at one is decided here, once for each engine. A run
// costs what its instants do: a solve of the rates each, or the packets in between.

#include "executor.h"

#include <math.h>
#include <string.h>

// ---- time ----

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
    executor_start_ready(executor, 0);
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
            sim_circuits_ended(&executor->net, end.class_id);
            executor_flow_ended(executor, &end);
        }
        while (executor->events.count > 0 && executor->events.entries[0].time_ps <= until_ps) {
            executor_take_event(executor);
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
    uint32_t job;
    uint32_t task = executor_owner_task(executor, end->owner, &job);
    end_ps += weft_simnet_tail_ps(&executor->net, end->path_id, 0);
    sim_watch_record(&executor->watch, &executor->net, end, end_ps, job, task);
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
    executor_start_ready(executor, 0);
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
            sim_circuits_ended(&executor->net, end.path_id);
            executor_flow_ended(executor, &ended);
            weft_active_close(active, end.path_id);
        } else if (!more || executor->watch.is_over) {
            break;
        } else if (circuit_ps < event_ps) {
            packets->clock.now_ps = until_ps;
            if (!sim_circuits_step(&executor->net, ceil(circuit_ps))) {
                break;
            }
        } else {
            packets->clock.now_ps = until_ps;
            executor_take_event(executor);
        }
    }
}

static bool run_packets(struct executor *executor, struct weft_sim_result *result,
                        struct weft_arena scratch, struct weft_error *error)
{
    const struct packet_engine *packets = &executor->net.packets;
    bool in_partitions = false;
    if (!executor_play_partitions(executor, result, &in_partitions, scratch, error)) {
        return false;
    }
    if (!in_partitions) {
        play_packets(executor);
    }
    for (uint32_t link = 0; link < executor->net.fabric->link_count; link++) {
        executor->net.active.link_bytes[link] = (double)packets->links[link].bytes;
    }
    executor->event_count += packets->counts.events;
    return packet_engine_check(packets, error);
}

static void name_task(char *text, size_t room, const void *input, uint32_t owner)
{
    const struct executor *executor = input;
    uint32_t job;
    uint32_t task = executor_owner_task(executor, owner, &job);
    const struct weft_taskgraph *graph = executor->jobs[job].graph;
    snprintf(text, room, "task %u (%s) of job %u", task, weft_task_facts[graph->kind[task]].name,
             job);
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
    const struct weft_environment building = {
        .arena = &scratch, .scratch = weft_arena_split(&scratch), .error = error};
    if (!executor_build(&executor, network, jobs, job_count, options, &building)) {
        return false;
    }
    sim_watch_init(&executor.watch, fabric, options, arena);
    if (options->progress != NULL) {
        sim_watch_expect(&executor.watch, executor_expected_work(&executor));
    }
    struct weft_sim_result r = {.partitions.count = 1};
    if (options->engine != WEFT_ENGINE_PACKET) {
        play(&executor);
    } else if (!run_packets(&executor, &r, scratch, error)) {
        return false;
    }
    if (!sim_watch_check(&executor.watch, &executor.net, name_task, &executor, error) ||
        !sim_circuits_finish(&executor.net, error)) {
        return false;
    }
    r.records = sim_watch_take_records(&executor.watch);
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
    r.step = packet_step_trace(&executor.net.packets, arena);
    if (options->engine == WEFT_ENGINE_PACKET) {
        r.ports = packet_engine_ports(&executor.net.packets, arena);
    }
    r.circuits = sim_circuits_counts(&executor.net);
    r.folded = executor.steady.has_skipped || executor.is_folded;
    r.flow_count = active->started_count + executor.hidden_count;
    r.event_count = executor.event_count + active->started_count;
    r.solve_count = active->maxmin.counts.solves;
    r.work_count = active->maxmin.counts.work;
    r.share_count = executor.net.shares.step_count;
    *result = r;
    return true;
}
