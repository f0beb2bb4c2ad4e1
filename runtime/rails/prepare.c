// SPDX-License-Identifier: Apache-2.0
// Makes a described job or a plan's rail ready for a lab: scaled, predicted, compiled for ranks and
// controller.

#include "run.h"
#include "runtime/experiment/experiment.h"

#include "weft/fabric.h"

#include <math.h>
#include <string.h>

// What IPv4 and TCP with time stamps add to a packet, and Ethernet to a frame.
#define HEADER_BYTES 52.0
#define FRAME_BYTES 14.0
#define LAB_RAIL_SERVERS_MAX 64u
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

// What runs: a described job's graph or that of a plan's rail.
struct source {
    struct weft_taskgraph graph;
    double rate_Bps;
    uint32_t switch_ports; // 0 = enough
    uint64_t latency_ps;
};

static bool check_servers(uint32_t servers, const char *remedy, struct weft_error *error)
{
    return (servers >= 2 && servers <= LAB_RAIL_SERVERS_MAX) ||
           weft_fail(error, WEFT_UNSUPPORTED, "%u servers; a rail in the lab has 2 to %u; %s",
                     servers, LAB_RAIL_SERVERS_MAX, remedy);
}

static bool check_job(const struct weft_rail_job *job, struct weft_error *error)
{
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
    return check_servers(job->dp * job->pp, "write a smaller dp", error) ||
           weft_wrap(error, "dp, pp");
}

static bool find_source(struct source *source, const struct lab_rail_options *options,
                        const struct weft_environment *environment)
{
    const struct weft_rail_job *job = options->job;
    const struct weft_rail_alone *alone = options->alone;
    if (alone != NULL) {
        *source = (struct source){
            .graph = alone->graph, .rate_Bps = alone->rate_Bps, .latency_ps = alone->latency_ps};
        return check_servers(alone->graph.server_count,
                             "plan it for fewer servers (--servers 16), with a smaller dp",
                             environment->error);
    }
    *source = (struct source){.rate_Bps = job->rate_Bps,
                              .switch_ports = job->switch_ports,
                              .latency_ps = job->latency_ps};
    return check_job(job, environment->error) &&
           weft_rail_job_taskgraph(&source->graph, job, environment->arena, environment->scratch,
                                   environment->error);
}

// Whether an operation's ports are those of a step, too.
static bool share_ports(const struct weft_rail_result *rails, const struct weft_rail_step *a,
                        const struct weft_rail_step *b)
{
    for (uint32_t i = 0; i < a->circuit_count; i++) {
        for (uint32_t k = 0; k < b->circuit_count; k++) {
            const struct weft_rail_circuit *x = &rails->circuits[a->circuit_first + i];
            const struct weft_rail_circuit *y = &rails->circuits[b->circuit_first + k];
            if (x->from == y->from || x->to == y->to) {
                return true;
            }
        }
    }
    return false;
}

// Servers of the lab relay nothing, and a rank's turn at its port is one operation: all-to-alls,
// and what the mode BEST forwards over another phase's circuits, are refused by their boundary's
// name.
static bool check_steps(const struct weft_rail_result *rails, const struct weft_taskgraph *graph,
                        struct weft_error *error)
{
    for (uint32_t s = 0; s < rails->step_count; s++) {
        const struct weft_rail_step *step = &rails->steps[s];
        bool exchange = graph->kind[step->task] == WEFT_TASK_BARRIER;
        if (!exchange && step->decision != WEFT_RAIL_FORWARD) {
            continue;
        }
        uint32_t before = s + rails->step_count - 1; // of the iteration before, too
        while (before > s && !share_ports(rails, step, &rails->steps[before % rails->step_count])) {
            before--;
        }
        return weft_fail(
            error, WEFT_UNSUPPORTED,
            "boundary %s to %s at server %u: %s, which the lab's rail does not carry; %s",
            rails->steps[before % rails->step_count].phase, step->phase,
            rails->circuits[step->circuit_first].from,
            exchange ? "an exchange of several servers at once"
                     : "forwarded over circuits of another phase",
            exchange ? "plan with ep and cp inside servers (--strategy)"
                     : "write --mode provision");
    }
    return true;
}

static bool predict(struct lab_rail *rail, const struct source *source,
                    const struct weft_environment *environment)
{
    const struct lab_rail_options *options = rail->options;
    const struct weft_taskgraph *graph = &source->graph;
    struct weft_rail_options planned = {
        .mode = options->mode,
        .rate_Bps = source->rate_Bps,
        .ports = 1,
        .switch_ports = source->switch_ports,
        .latency_ps = source->latency_ps,
        .places = 1,
    };
    struct weft_rail_result still;
    if (!weft_rail_run(&still, graph, &planned, environment)) {
        return false;
    }
    rail->unscaled_ps = still.iteration_ps;
    rail->rate_ratio = source->rate_Bps / options->rate_Bps;
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
    if (still.iteration_ps == 0) {
        return weft_fail(environment->error, WEFT_INPUT,
                         "its iteration takes no time; give its tasks times or bytes");
    }
    return weft_rail_run(&rail->predicted, &rail->graph, &planned, environment) &&
           check_steps(&rail->predicted, &rail->graph, environment->error);
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

// The circuits that the lab is raised with, a permutation: a port whose circuit is dark as the job
// begins leads to its own server, or to one that nobody sends to.
static const uint32_t *wire(const struct lab_rail_schedule *schedule, struct weft_arena *arena)
{
    uint32_t n = schedule->rank_count;
    uint32_t *planes = WEFT_NEW(arena, uint32_t, n);
    bool *taken = WEFT_NEW(arena, bool, n);
    for (uint32_t r = 0; r < n; r++) {
        planes[r] = schedule->outputs[r];
        if (planes[r] != WEFT_NONE) {
            taken[planes[r]] = true;
        }
    }
    for (uint32_t r = 0; r < n; r++) {
        if (planes[r] == WEFT_NONE && !taken[r]) {
            planes[r] = r;
            taken[r] = true;
        }
    }
    for (uint32_t r = 0, free = 0; r < n; r++) {
        while (planes[r] == WEFT_NONE && taken[free]) {
            free++;
        }
        if (planes[r] == WEFT_NONE) {
            planes[r] = free;
            taken[free] = true;
        }
    }
    return planes;
}

bool lab_rail_prepare(struct lab_rail *rail, const struct lab_rail_options *options,
                      const struct weft_environment *environment)
{
    struct source source;
    *rail = (struct lab_rail){.options = options};
    if (!find_source(&source, options, environment) || !predict(rail, &source, environment) ||
        !compile(rail, environment)) {
        return false;
    }
    uint32_t n = rail->graph.server_count;
    rail->wiring = (struct weft_lab_wiring){.server_count = n,
                                            .port_count = 1,
                                            .planes = wire(&rail->schedule, environment->arena),
                                            .rate_Bps = source.rate_Bps};
    return true;
}
