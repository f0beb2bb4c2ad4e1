// SPDX-License-Identifier: Apache-2.0
// Playing task graphs: ready tasks start, devices serve in order of arrival, flows and rounds end.

#include "executor.h"

#include <math.h>
#include <string.h>

// ---- tasks ----

static void run_on_device(struct machine *machine, uint32_t task, uint32_t device, double now_ps)
{
    uint32_t local;
    const struct weft_taskgraph *graph = machine_graph(machine, task, &local);
    machine->is_busy[device] = true;
    if (machine->start_ps != NULL) {
        machine->start_ps[task] = now_ps;
    }
    double ratio = machine->compute_ratio[machine->task_job[task]];
    machine_push(machine, now_ps + ratio * (double)graph->runtime_ps[local], MACHINE_TASK_END,
                 task);
}

static void start_transfer(struct machine *machine, uint32_t task, double now_ps)
{
    uint32_t local;
    const struct weft_taskgraph *graph = machine_graph(machine, task, &local);
    const struct weft_sim_job *job = &machine->jobs[machine->task_job[task]];
    struct weft_simnet *net = &machine->net;
    uint32_t from = machine_server(job, graph->from[local]);
    uint32_t to = machine_server(job, graph->to[local]);
    machine->part_end_ps[task] = now_ps;
    if (from == to) {
        machine->parts_left[task] = 1;
        machine_part_ended(machine, task, now_ps);
        return;
    }
    double wire_bytes = weft_simnet_wire_bytes(net, (double)graph->size_bytes[local]);
    uint64_t hash = weft_hash(net->options->seed ^ weft_hash(~(uint64_t)task));
    uint32_t count = weft_simnet_way_count(net, from, to);
    uint32_t job_id = machine->task_job[task];
    machine->parts_left[task] = count;
    for (uint32_t i = 0; i < count; i++) {
        struct weft_simnet_way way = weft_simnet_open_way(net, from, to, i, hash, job_id);
        if (wire_bytes > 0) {
            weft_simnet_start(net, way.class_id, wire_bytes * way.share_ratio, task, job_id);
        } else {
            machine_part_ended(machine, task, now_ps + weft_simnet_empty_ps(net, way));
        }
        weft_simnet_close_way(net, way);
    }
}

static void start_task(struct machine *machine, uint32_t task, double now_ps)
{
    uint32_t local;
    const struct weft_taskgraph *graph = machine_graph(machine, task, &local);
    if (graph->device[local] != WEFT_NONE) {
        uint32_t device = machine->first_device[machine->task_job[task]] + graph->device[local];
        if (machine->is_busy[device]) {
            machine_append(machine, &machine->line_head[device], &machine->line_tail[device], task);
        } else {
            run_on_device(machine, task, device, now_ps);
        }
        return;
    }
    if (machine->start_ps != NULL) {
        machine->start_ps[task] = now_ps;
    }
    bool collective = weft_task_is_collective(graph, local);
    if (graph->kind[local] == WEFT_TASK_TRANSFER) {
        start_transfer(machine, task, now_ps);
    } else if (collective && graph->runtime_ps[local] == 0) {
        machine_collective_start(machine, task, now_ps);
    } else if (collective) {
        machine_push(machine, now_ps + (double)graph->runtime_ps[local], MACHINE_COLLECTIVE_START,
                     task);
    } else {
        machine_push(machine, now_ps, MACHINE_TASK_END, task);
    }
}

static void start_ready(struct machine *machine, double now_ps)
{
    while (machine->ready_head != WEFT_NONE) {
        start_task(machine, machine_take_first(machine, &machine->ready_head), now_ps);
    }
}

static void end_task(struct machine *machine, uint32_t task, double now_ps)
{
    uint32_t local;
    const struct weft_taskgraph *graph = machine_graph(machine, task, &local);
    uint32_t job = machine->task_job[task];
    if (machine->end_ps != NULL) {
        machine->end_ps[task] = now_ps;
    }
    if (graph->device[local] != WEFT_NONE) {
        uint32_t device = machine->first_device[job] + graph->device[local];
        machine->is_busy[device] = false;
        if (machine->line_head[device] != WEFT_NONE) {
            run_on_device(machine, machine_take_first(machine, &machine->line_head[device]), device,
                          now_ps);
        }
    }
    for (uint32_t i = graph->next_first[local]; i < graph->next_first[local + 1]; i++) {
        uint32_t next = machine->first_task[job] + graph->next[i];
        // What needs only some of its predecessors (weft_taskgraph.need) is under way at the
        // others.
        if (machine->waits_for[next] > 0 && --machine->waits_for[next] == 0) {
            machine_make_ready(machine, next);
        }
    }
    machine_count_task(machine, job, now_ps);
}

// ---- time ----

static void flow_ended(struct machine *machine, const struct weft_wire_end *end)
{
    struct weft_simnet *net = &machine->net;
    if (end->owner & MACHINE_RUN_OWNER) {
        uint32_t run = end->owner & ~MACHINE_RUN_OWNER;
        double latency_ps = weft_simnet_tail_ps(net, end->class_id, machine->runs[run].wire_bytes);
        machine_round_flow_ended(machine, run, end->end_ps + latency_ps);
        return;
    }
    uint32_t local;
    const struct weft_taskgraph *graph = machine_graph(machine, end->owner, &local);
    double wire_bytes = weft_simnet_wire_bytes(net, (double)graph->size_bytes[local]);
    double latency_ps = weft_simnet_tail_ps(net, end->class_id, wire_bytes);
    machine_part_ended(machine, end->owner, end->end_ps + latency_ps);
}

static void handle(struct machine *machine, const struct machine_event *event)
{
    machine->event_count++;
    if (event->kind == MACHINE_TASK_END) {
        end_task(machine, event->id, event->time_ps);
    } else if (event->kind == MACHINE_COLLECTIVE_START) {
        machine_collective_start(machine, event->id, event->time_ps);
    } else if (event->kind == MACHINE_ROUND_START) {
        machine_round_start(machine, event->id, event->time_ps);
    } else {
        machine_begin_iteration(machine, event->id, event->time_ps);
    }
    start_ready(machine, event->time_ps);
}

static void settle(struct machine *machine)
{
    weft_wire_settle(&machine->net.wire);
    if (machine->net.shares.learns) {
        sim_shares_settle(&machine->net.shares, &machine->net.wire);
    }
}

static void play(struct machine *machine)
{
    struct weft_wire *wire = &machine->net.wire;
    struct sim_shares *shares = &machine->net.shares;
    if (!sim_circuits_step(&machine->net, 0)) {
        return;
    }
    start_ready(machine, 0);
    settle(machine);
    for (;;) {
        double next_ps = fmin(weft_wire_next_ps(wire), sim_shares_next_ps(shares));
        next_ps = fmin(next_ps, sim_circuits_next_ps(&machine->net, machine->events.count > 0));
        if (machine->events.count > 0) {
            next_ps = fmin(next_ps, machine->events.entries[0].time_ps);
        }
        if (isinf(next_ps) ||
            !sim_watch_fluid(&machine->watch, wire, next_ps, machine->event_count)) {
            return;
        }
        wire->now_ps = next_ps;
        double until_ps = weft_wire_window_ps(wire);
        struct weft_wire_end end;
        while (weft_wire_take(wire, until_ps, &end)) {
            flow_ended(machine, &end);
        }
        while (machine->events.count > 0 && machine->events.entries[0].time_ps <= until_ps) {
            struct machine_event event = machine_pop(machine);
            handle(machine, &event);
        }
        sim_shares_step(shares, wire, until_ps);
        settle(machine);
        if (!sim_circuits_step(&machine->net, until_ps)) {
            return;
        }
    }
}

static void record(struct machine *machine, const struct packet_end *end, double end_ps)
{
    bool is_run = (end->owner & MACHINE_RUN_OWNER) != 0;
    uint32_t task = is_run ? machine->runs[end->owner & ~MACHINE_RUN_OWNER].task : end->owner;
    uint32_t job = machine->task_job[task];
    end_ps += weft_simnet_tail_ps(&machine->net, end->path_id, 0);
    sim_watch_record(&machine->watch, &machine->net, end, end_ps, job,
                     task - machine->first_task[job]);
}

// The same with the packet engine: what packets do at an instant comes before the tasks.
static void play_packets(struct machine *machine)
{
    struct weft_wire *wire = &machine->net.wire;
    struct packet_engine *packets = &machine->net.packets;
    if (!sim_circuits_step(&machine->net, 0)) {
        return;
    }
    start_ready(machine, 0);
    for (;;) {
        bool pending = machine->events.count > 0;
        double event_ps = pending ? machine->events.entries[0].time_ps : (double)INFINITY;
        double circuit_ps = sim_circuits_next_ps(&machine->net, pending);
        double next_ps = fmin(fmin(event_ps, circuit_ps), (double)CLOCK_END_PS);
        bool more = pending || !isinf(circuit_ps);
        uint64_t until_ps = more ? (uint64_t)ceil(next_ps) : WEFT_NEVER;
        struct packet_end end;
        if (sim_watch_run(&machine->watch, packets, until_ps, &end)) {
            struct weft_wire_end ended = {end.owner, end.path_id, (double)packets->clock.now_ps};
            record(machine, &end, ended.end_ps);
            flow_ended(machine, &ended);
            weft_wire_close(wire, end.path_id);
            sim_circuits_ended(&machine->net);
        } else if (!more || machine->watch.is_over) {
            break;
        } else if (circuit_ps < event_ps) {
            packets->clock.now_ps = until_ps;
            if (!sim_circuits_step(&machine->net, ceil(circuit_ps))) {
                break;
            }
        } else {
            struct machine_event event = machine_pop(machine);
            packets->clock.now_ps = until_ps;
            handle(machine, &event);
        }
    }
    for (uint32_t link = 0; link < machine->net.fabric->link_count; link++) {
        wire->link_bytes[link] = (double)packets->links[link].bytes;
    }
    machine->event_count += packets->counts.events;
}

static void name_task(char *text, size_t room, const void *input, uint32_t owner)
{
    const struct machine *machine = input;
    bool is_run = (owner & MACHINE_RUN_OWNER) != 0;
    uint32_t task = is_run ? machine->runs[owner & ~MACHINE_RUN_OWNER].task : owner;
    uint32_t local;
    const struct weft_taskgraph *graph = machine_graph(machine, task, &local);
    snprintf(text, room, "task %u (%s) of job %u", local, weft_task_facts[graph->kind[local]].name,
             machine->task_job[task]);
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

static bool round_timeline(const uint64_t *const **out, const struct machine *machine,
                           const double *values_ps, struct weft_arena *arena,
                           struct weft_error *error)
{
    const uint64_t **lines = WEFT_NEW(arena, const uint64_t *, machine->job_count);
    for (uint32_t job = 0; job < machine->job_count; job++) {
        uint32_t first = machine->first_task[job];
        if (!round_all(&lines[job], &values_ps[first], machine->first_task[job + 1] - first, arena,
                       error)) {
            return weft_wrap(error, "job %u", job);
        }
    }
    *out = lines;
    return true;
}

bool weft_sim_run_jobs(struct weft_sim_result *result, const struct weft_fabric *fabric,
                       const struct weft_routes *routes, const struct weft_sim_job *jobs,
                       uint32_t job_count, const struct weft_sim_options *options,
                       struct weft_arena *arena, struct weft_arena scratch,
                       struct weft_error *error)
{
    struct machine machine;
    const struct weft_packet_options defaults = WEFT_PACKET_DEFAULTS;
    struct weft_sim_options filled = *options;
    filled.packet = filled.packet == NULL ? &defaults : filled.packet;
    options = &filled;
    if (!machine_build(&machine, fabric, routes, jobs, job_count, options, &scratch, error)) {
        return false;
    }
    sim_watch_init(&machine.watch, fabric, options, arena);
    if (options->engine == WEFT_ENGINE_PACKET) {
        play_packets(&machine);
        if (!packet_engine_check(&machine.net.packets, error)) {
            return false;
        }
    } else {
        play(&machine);
    }
    if (!sim_circuits_finish(&machine.net, error)) {
        return false;
    }
    if (!sim_watch_check(&machine.watch, &machine.net, name_task, &machine, error)) {
        return false;
    }
    struct weft_sim_result r = {.records = sim_watch_records(&machine.watch)};
    if (!machine_iterations(&r, &machine, arena, error)) {
        return false;
    }
    if (options->timeline &&
        (!round_timeline(&r.task_start_ps, &machine, machine.start_ps, arena, error) ||
         !round_timeline(&r.task_end_ps, &machine, machine.end_ps, arena, error))) {
        return false;
    }
    const struct weft_wire *wire = &machine.net.wire;
    double *link_bytes = WEFT_NEW_RAW(arena, double, fabric->link_count);
    memcpy(link_bytes, wire->link_bytes, fabric->link_count * sizeof(double));
    r.link_bytes = link_bytes;
    r.packets = machine.net.packets.counts;
    if (options->engine == WEFT_ENGINE_PACKET) {
        r.ports = packet_engine_ports(&machine.net.packets, arena);
    }
    r.circuits = sim_circuits_counts(&machine.net);
    r.part_count = 1;
    r.flow_count = wire->started_count;
    r.event_count = machine.event_count + wire->started_count;
    r.solve_count = wire->maxmin.solve_count;
    r.work_count = wire->maxmin.work_count;
    r.share_count = machine.net.shares.step_count;
    *result = r;
    return true;
}
