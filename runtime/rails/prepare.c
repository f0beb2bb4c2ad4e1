// SPDX-License-Identifier: Apache-2.0
// Makes a described job ready for a lab: scaled, predicted, compiled for ranks and controller.

#include "run.h"
#include "runtime/experiment/experiment.h"

#include "weft/fabric.h"

#include <math.h>
#include <string.h>

// What IPv4 and TCP with time stamps add to a packet, and Ethernet to a frame.
#define HEADER_BYTES 52.0
#define FRAME_BYTES 14.0
// Of one hop through a server's port and the switch, in round numbers of a lab on two cores.
static const uint64_t hop_ps = 50000000;

// Bytes go to the address of the peer's port, which one route leads to; all else by the servers'.
static void address(void *context, struct lab_stream *stream, const uint32_t *links,
                    uint32_t link_count, uint32_t lane)
{
    (void)context;
    (void)links;
    (void)link_count;
    (void)lane;
    stream->from_ip = weft_lab_server_address(stream->from);
    stream->to_ip = weft_lab_port_address(stream->to, 0);
}

// Signals get connections of their own, over the management network: they may not wait for light.
static void part_signals(struct lab_program *program, uint32_t server_count,
                         struct weft_arena *arena)
{
    size_t pairs = (size_t)server_count * server_count;
    uint32_t *own = WEFT_NEW(arena, uint32_t, pairs);
    struct lab_stream *streams = WEFT_NEW(arena, struct lab_stream, program->stream_count + pairs);
    struct lab_signal *signals =
        WEFT_NEW(arena, struct lab_signal, (size_t)program->signal_count + 1);
    memset(own, 0xff, pairs * sizeof *own);
    memcpy(streams, program->streams, program->stream_count * sizeof *streams);
    for (uint32_t i = 0; i < program->signal_count; i++) {
        struct lab_stream stream = streams[program->signals[i].stream];
        uint32_t *index = &own[(size_t)stream.from * server_count + stream.to];
        if (*index == WEFT_NONE) {
            stream.to_ip = weft_lab_server_address(stream.to);
            *index = program->stream_count;
            streams[program->stream_count++] = stream;
        }
        signals[i] = (struct lab_signal){program->signals[i].operation, *index};
    }
    program->streams = streams;
    program->signals = signals;
}

static bool check(const struct weft_rail_job *job, struct weft_error *error)
{
    uint32_t servers = job->dp * job->pp;
    if (servers > 64) {
        return weft_fail(error, WEFT_UNSUPPORTED, "dp: %u servers; a rail in the lab has 2 to 64",
                         servers);
    }
    if (job->ep > 1) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "ep: %u; the lab's rails carry data and pipeline parallelism; write ep: 1",
                         job->ep);
    }
    if (job->ports > 1) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "ports: %u; a server of the lab has one port on its rail; write ports: 1",
                         job->ports);
    }
    return true;
}

static bool predict(struct lab_rail *rail, const struct weft_taskgraph *graph,
                    const struct weft_environment *environment)
{
    const struct lab_rail_options *options = rail->options;
    const struct weft_rail_job *job = options->job;
    struct weft_rail_options planned = {
        .mode = options->mode,
        .rate_Bps = job->rate_Bps,
        .ports = 1,
        .switch_ports = job->switch_ports,
        .latency_ps = job->latency_ps,
        .places = 1,
    };
    struct weft_rail_result still;
    if (!weft_rail_run(&still, graph, &planned, environment)) {
        return false;
    }
    rail->rate_ratio = job->rate_Bps / options->rate_Bps;
    rail->bytes_ratio = 1;
    if (options->target_s > 0) {
        double stretched_s = weft_seconds(still.iteration_ps) * rail->rate_ratio;
        rail->bytes_ratio = fmin(1, options->target_s / stretched_s);
    }
    rail->time_ratio = rail->rate_ratio * rail->bytes_ratio;
    lab_scale_graph(&rail->graph, graph, rail->bytes_ratio, rail->time_ratio, environment->arena);
    planned.rate_Bps = options->rate_Bps * (options->mtu_bytes - HEADER_BYTES) /
                       (options->mtu_bytes + FRAME_BYTES);
    planned.delays.dark_ps = options->dark_ps;
    planned.latency_ps = hop_ps;
    return weft_rail_run(&rail->predicted, &rail->graph, &planned, environment);
}

static bool compile(struct lab_rail *rail, const struct weft_environment *environment)
{
    const struct lab_rail_options *options = rail->options;
    uint32_t n = rail->graph.server_count;
    struct weft_cluster cluster;
    struct weft_network *network = WEFT_NEW(environment->arena, struct weft_network, 1);
    if (!weft_cluster_build(&cluster, n, 1, options->rate_Bps, environment->error) ||
        !weft_fabric_build_ideal(network, &cluster, NULL, environment->arena, environment->error)) {
        return false;
    }
    const struct lab_program_options program_options = {
        .network = network,
        .rings = &network->rings,
        .small_in_one_round = true,
        .packet_bytes = options->mtu_bytes + (uint32_t)FRAME_BYTES,
        .address = address,
    };
    if (!lab_program_build(&rail->program, &rail->graph, &program_options, environment->arena,
                           environment->scratch, environment->error)) {
        return false;
    }
    part_signals(&rail->program, n, environment->arena);
    return lab_rail_schedule_build(&rail->schedule, &rail->predicted, &rail->program,
                                   environment->arena, environment->error);
}

bool lab_rail_prepare(struct lab_rail *rail, const struct lab_rail_options *options,
                      const struct weft_environment *environment)
{
    struct weft_taskgraph graph;
    *rail = (struct lab_rail){.options = options};
    if (!check(options->job, environment->error) ||
        !weft_rail_job_taskgraph(&graph, options->job, environment->arena, environment->scratch,
                                 environment->error) ||
        !predict(rail, &graph, environment) || !compile(rail, environment)) {
        return false;
    }
    uint32_t n = rail->graph.server_count;
    uint32_t *planes = WEFT_NEW(environment->arena, uint32_t, n);
    for (uint32_t r = 0; r < n; r++) {
        uint32_t to = rail->schedule.outputs[r];
        planes[r] = to == WEFT_NONE ? r : to;
    }
    rail->wiring = (struct weft_lab_wiring){
        .server_count = n, .port_count = 1, .planes = planes, .rate_Bps = options->job->rate_Bps};
    return true;
}
