// SPDX-License-Identifier: Apache-2.0
// An experiment before it runs: the scaled job, its phases, and what both engines say of it.
//
// The lab is slower than the cluster it stands for, so that rates, bytes and times are scaled
// together (experiment.h), and the engines get the scaled job on the scaled fabric, with the
// kernel's packet sizes, queues and timeouts. A phase takes the length of the union of its tasks'
// times, by the engines' timelines and by the workers' clocks alike.

#include "experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// From a port to the next between namespaces: assumed, not measured.
static const uint64_t link_latency_ps = 20000000;
// Ethernet, IP, TCP with timestamps.
static const uint32_t ethernet_bytes = 14;
static const uint32_t header_bytes = 66;
// The packet engine plays so many iterations, whose mean is told: the first begins with closed
// windows. Not measured.
static const uint32_t predicted_iterations = 3;
static const uint32_t window_limit_packets = 64;

// ---- scale ----

void lab_scale_graph(struct weft_taskgraph *scaled, const struct weft_taskgraph *graph,
                     double bytes_ratio, double time_ratio, struct weft_arena *arena)
{
    uint64_t *runtime_ps = WEFT_NEW(arena, uint64_t, (size_t)graph->task_count + 1);
    uint64_t *size_bytes = WEFT_NEW(arena, uint64_t, (size_t)graph->task_count + 1);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        uint64_t bytes = graph->size_bytes[t];
        runtime_ps[t] = (uint64_t)((double)graph->runtime_ps[t] * time_ratio + 0.5);
        size_bytes[t] = bytes == 0 ? 0 : (uint64_t)fmax(1, (double)bytes * bytes_ratio + 0.5);
    }
    *scaled = *graph;
    scaled->runtime_ps = runtime_ps;
    scaled->size_bytes = size_bytes;
}

// The fabric at the lab's rates and latencies, in place of the plan's.
static void scale_network(struct weft_network *scaled, const struct lab_experiment_options *options,
                          double rate_ratio, struct weft_arena *arena)
{
    const struct weft_fabric *fabric = &options->network->fabric;
    struct weft_link *links = WEFT_NEW(arena, struct weft_link, (size_t)fabric->link_count + 1);
    memcpy(links, fabric->links, fabric->link_count * sizeof *links);
    for (uint32_t i = 0; i < fabric->link_count; i++) {
        links[i].rate_Bps /= rate_ratio;
        links[i].latency_ps = link_latency_ps;
    }
    scaled->fabric = *fabric;
    scaled->fabric.links = links;
    scaled->routes = options->network->routes;
    scaled->routes.fabric = &scaled->fabric;
    scaled->rings = options->network->rings;
}

// ---- phases ----

static uint32_t find_phase(struct lab_experiment *experiment, const char *name)
{
    uint32_t i = 0;
    while (i < experiment->phase_count && strcmp(experiment->phases[i].name, name) != 0) {
        i++;
    }
    if (i == experiment->phase_count) {
        // The last is kept for the iteration, the one before for what has no place of its own.
        if (i == LAB_PHASES_MAX - 2) {
            return i - 1;
        }
        snprintf(experiment->phases[i].name, LAB_PHASE_NAME, "%s", name);
        experiment->phase_count++;
    }
    return i;
}

void lab_phases_name(struct lab_experiment *experiment, uint8_t *phase,
                     const struct weft_taskgraph *graph)
{
    experiment->phase_count = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        enum weft_task_kind kind = (enum weft_task_kind)graph->kind[t];
        char name[LAB_PHASE_NAME] = "";
        if (weft_task_facts[kind].on_device) {
            snprintf(name, sizeof name, "compute");
        } else if (kind == WEFT_TASK_TRANSFER) {
            snprintf(name, sizeof name, "transfers");
        } else if (kind != WEFT_TASK_BARRIER) {
            snprintf(name, sizeof name, "%s of %u servers", weft_task_facts[kind].name,
                     weft_task_member_count(graph, t));
        }
        phase[t] = UINT8_MAX;
        if (name[0] != '\0' &&
            (!weft_task_is_collective(graph, t) ||
             (weft_task_member_count(graph, t) > 1 && graph->size_bytes[t] > 0))) {
            phase[t] = (uint8_t)find_phase(experiment, name);
            experiment->phases[phase[t]].task_count++;
        }
    }
    struct lab_phase *last = &experiment->phases[experiment->phase_count++];
    snprintf(last->name, LAB_PHASE_NAME, "iteration");
    last->task_count = graph->task_count;
}

struct interval {
    double start_s;
    double end_s;
};

static int by_start(const void *a, const void *b)
{
    double x = ((const struct interval *)a)->start_s;
    double y = ((const struct interval *)b)->start_s;
    return (x > y) - (x < y);
}

// Length of the union. Sorts them.
static double cover(struct interval *intervals, uint32_t count)
{
    double sum_s = 0;
    double end_s = 0;
    qsort(intervals, count, sizeof *intervals, by_start);
    for (uint32_t i = 0; i < count; i++) {
        double start_s = i == 0 ? intervals[i].start_s : fmax(end_s, intervals[i].start_s);
        sum_s += fmax(0, intervals[i].end_s - start_s);
        end_s = i == 0 ? intervals[i].end_s : fmax(end_s, intervals[i].end_s);
    }
    return sum_s;
}

void lab_phases_measure(double *seconds, const struct lab_experiment *experiment,
                        const struct lab_task_times *times, struct weft_arena scratch)
{
    const double *start_s = times->start_s;
    const double *end_s = times->end_s;
    struct interval *intervals = WEFT_NEW(&scratch, struct interval, (size_t)times->task_count + 1);
    for (uint32_t p = 0; p + 1 < experiment->phase_count; p++) {
        uint32_t count = 0;
        for (uint32_t t = 0; t < times->task_count; t++) {
            if (times->phase[t] == p && end_s[t] > 0) {
                intervals[count++] = (struct interval){start_s[t], end_s[t]};
            }
        }
        seconds[p] = cover(intervals, count);
    }
    double first_s = (double)INFINITY;
    double last_s = 0;
    for (uint32_t t = 0; t < times->task_count; t++) {
        if (end_s[t] > 0) {
            first_s = fmin(first_s, start_s[t]);
            last_s = fmax(last_s, end_s[t]);
        }
    }
    seconds[experiment->phase_count - 1] = last_s > 0 ? last_s - first_s : 0;
}

// ---- prediction ----

// The engine's name for a congestion control of the kernel; CUBIC, Linux' default, for others.
static enum weft_sim_transport transport_of(const char *congestion)
{
    static const struct {
        const char *name;
        enum weft_sim_transport transport;
    } names[] = {
        {"reno", WEFT_TRANSPORT_RENO},
        {"cubic", WEFT_TRANSPORT_CUBIC},
        {"dctcp", WEFT_TRANSPORT_DCTCP},
        {"mltcp", WEFT_TRANSPORT_MLTCP_RENO},
        {"mltcp_cubic", WEFT_TRANSPORT_MLTCP_CUBIC},
    };
    for (size_t i = 0; congestion != NULL && i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i].name, congestion) == 0) {
            return names[i].transport;
        }
    }
    return WEFT_TRANSPORT_CUBIC;
}

// The packet engine as the lab's kernel is: Linux' first window and timeouts, the lab's queues.
static struct weft_packet_options packets_of(const struct weft_lab *lab)
{
    struct weft_packet_options packets = WEFT_PACKET_DEFAULTS;
    packets.ack_bytes = header_bytes;
    packets.buffer_bytes = lab->buffer_bytes;
    packets.mark_bytes = lab->mark_packets > 0
                             ? (uint64_t)lab->mark_packets * (lab->mtu_bytes + ethernet_bytes)
                             : lab->buffer_bytes;
    packets.loss.timeout_min_ps = 200000000000;    // Linux: TCP_RTO_MIN
    packets.loss.timeout_first_ps = 1000000000000; // RFC 6298, 2.1
    packets.window.idle_restart = true;
    // Assumed: a receiver's buffer and TCP's small queues hold Linux' flows near this.
    packets.window.limit_packets = window_limit_packets;
    return packets;
}

// Seconds of each phase by one engine, on the scaled fabric.
static bool predict(double *seconds, const struct lab_prepared *prepared,
                    const struct weft_network *network, const struct weft_sim_options *sim,
                    struct weft_arena scratch, struct weft_error *error)
{
    struct lab_experiment *experiment = prepared->experiment;
    const struct weft_taskgraph *graph = &prepared->graph;
    struct weft_arena arena = weft_arena_split(&scratch);
    const struct weft_sim_job job = {.graph = graph, .rings = network->rings};
    struct weft_sim_result result;
    if (!weft_sim_run_jobs(
            &result, network, &job, 1, sim,
            &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = error})) {
        return false;
    }
    const struct lab_task_times times = {
        .task_count = graph->task_count,
        .phase = prepared->times.phase,
        .start_s = WEFT_NEW(&arena, double, (size_t)graph->task_count + 1),
        .end_s = WEFT_NEW(&arena, double, (size_t)graph->task_count + 1),
    };
    for (uint32_t t = 0; t < graph->task_count; t++) {
        bool ran = result.task_end_ps[0][t] != WEFT_NEVER;
        times.start_s[t] = ran ? weft_seconds(result.task_start_ps[0][t]) : 0;
        times.end_s[t] = ran ? weft_seconds(result.task_end_ps[0][t]) : 0;
    }
    lab_phases_measure(seconds, experiment, &times, arena);
    if (sim->engine == WEFT_ENGINE_PACKET) {
        experiment->predicted = result.packets;
        experiment->predicted.drops /= sim->iterations;
        experiment->predicted.retransmits /= sim->iterations;
        experiment->predicted.packets /= sim->iterations;
        experiment->predicted.ecn_marks /= sim->iterations;
    }
    return true;
}

bool lab_prepared_predict(const struct lab_prepared *prepared, struct weft_arena *arena,
                          struct weft_arena scratch, struct weft_error *error)
{
    const struct lab_experiment_options *options = prepared->options;
    struct lab_experiment *experiment = prepared->experiment;
    struct weft_network *network = WEFT_NEW(arena, struct weft_network, 1);
    const struct weft_packet_options packets = packets_of(options->lab);
    struct weft_sim_options sim = {
        .packet_bytes = options->lab->mtu_bytes + ethernet_bytes,
        .header_bytes = header_bytes,
        .seed = options->seed,
        .timeline = true,
        .small_in_one_round = options->small_in_one_round,
        .iterations = 1,
        .stop = options->stop,
    };
    double seconds[LAB_PHASES_MAX];
    scale_network(network, options, experiment->rate_ratio, arena);
    if (!predict(seconds, prepared, network, &sim, scratch, error)) {
        return weft_wrap(error, "flow engine");
    }
    for (uint32_t p = 0; p < experiment->phase_count; p++) {
        experiment->phases[p].predicted_flow_s = seconds[p];
    }
    sim.engine = WEFT_ENGINE_PACKET;
    sim.transport = transport_of(options->congestion);
    sim.dctcp = WEFT_DCTCP_DEFAULTS;
    sim.packet = &packets;
    sim.persistent = true;
    sim.iterations = predicted_iterations;
    if (!predict(seconds, prepared, network, &sim, scratch, error)) {
        return weft_wrap(error, "packet engine");
    }
    for (uint32_t p = 0; p < experiment->phase_count; p++) {
        experiment->phases[p].predicted_packet_s = seconds[p];
    }
    return true;
}
