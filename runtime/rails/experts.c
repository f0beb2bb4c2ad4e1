// SPDX-License-Identifier: Apache-2.0
// Makes a job of experts ready for a lab (experts.h): scaled, planned, compiled.
//
// Of every all-to-all each server has a computation, a gate for each port on a switch, which the
// shim holds until its circuit is there, and an end, when all bytes to it have come. Transfers to a
// server over circuits wait for the gate of their port, those over packets for the computation.

#include "experts.h"

#include "weft/fabric.h"

#include <math.h>
#include <string.h>

// What IPv4 and TCP with time stamps add to a packet, and Ethernet to a frame; an acknowledgment,
// of which every second packet gets one.
#define HEADER_BYTES 52.0
#define FRAME_BYTES 14.0
#define ACKNOWLEDGED 2.0

// A share of a pair's bytes.
struct part {
    uint32_t task;
    uint32_t stream;
    uint64_t bytes;
};

struct builder {
    struct lab_experts *experts;
    uint32_t n, planes, exchanges;
    struct weft_task *tasks;
    uint32_t task_count;
    uint32_t *before, *after;
    size_t edge_count;
    struct part *parts;
    uint32_t part_count;
    uint32_t *compute, *gate, *end; // tasks by exchange and server, the gates by plane, too
    // By way (plane, or packets behind them), sender and receiver; WEFT_NONE.
    uint32_t *stream_of;
    struct lab_stream *streams;
    uint32_t stream_count;
    struct weft_arena *arena;
};

static const struct weft_expert_exchange *exchange_at(const struct builder *self, uint32_t e)
{
    return &self->experts->schedule.exchanges[e];
}

static uint32_t *gate_of(const struct builder *self, uint32_t e, uint32_t server, uint32_t plane)
{
    return &self->gate[((size_t)e * self->n + server) * self->planes + plane];
}

// Whom a port's circuit leads to, where the all-to-all asks for it; the server itself otherwise.
// Where planes have more circuits of a pair than are asked for, the first ones count.
static uint32_t peer_of(const struct builder *self, uint32_t e, uint32_t plane, uint32_t server)
{
    const struct weft_expert_exchange *exchange = exchange_at(self, e);
    uint32_t n = self->n;
    uint32_t peer = exchange->peers[(size_t)plane * n + server];
    uint32_t earlier = 0;
    for (uint32_t p = 0; p < plane; p++) {
        earlier += exchange->peers[(size_t)p * n + server] == peer;
    }
    return earlier < exchange->circuits[(size_t)server * n + peer] ? peer : server;
}

// ---- tasks ----

static uint32_t add_task(struct builder *self, const struct weft_task *task)
{
    self->tasks[self->task_count] = *task;
    return self->task_count++;
}

static void add_edge(struct builder *self, uint32_t before, uint32_t after)
{
    self->before[self->edge_count] = before;
    self->after[self->edge_count++] = after;
}

static uint32_t add_moment(struct builder *self, uint32_t server, uint64_t runtime_ps)
{
    return add_task(
        self,
        &(struct weft_task){.kind = WEFT_TASK_FORWARD, .device = server, .runtime_ps = runtime_ps});
}

static uint32_t stream_on(struct builder *self, uint32_t way, uint32_t from, uint32_t to)
{
    uint32_t *index = &self->stream_of[((size_t)way * self->n + from) * self->n + to];
    if (*index == WEFT_NONE) {
        *index = self->stream_count;
        self->streams[self->stream_count++] = (struct lab_stream){
            .from = from,
            .to = to,
            .from_ip = weft_lab_server_address(from),
            .to_ip =
                way < self->planes ? weft_lab_port_address(to, way) : weft_lab_server_address(to),
        };
    }
    return *index;
}

// Bytes of a pair over one way, after a task at the sender and before the receiver's end.
static void add_part(struct builder *self, uint32_t e, const struct lab_stream *pair, uint32_t way,
                     double bytes)
{
    bool packets = way == self->planes;
    if (bytes < 1) {
        return;
    }
    struct part *part = &self->parts[self->part_count++];
    part->bytes = (uint64_t)bytes;
    part->stream = stream_on(self, way, pair->from, pair->to);
    part->task = add_task(self, &(struct weft_task){.kind = WEFT_TASK_TRANSFER,
                                                    .from = pair->from,
                                                    .to = pair->to,
                                                    .size_bytes = part->bytes});
    uint32_t begin =
        packets ? self->compute[e * self->n + pair->from] : *gate_of(self, e, pair->from, way);
    add_edge(self, begin, part->task);
    add_edge(self, part->task, self->end[e * self->n + pair->to]);
}

static void add_pair(struct builder *self, uint32_t e, uint32_t from, uint32_t to)
{
    const struct weft_expert_exchange *exchange = exchange_at(self, e);
    const struct lab_stream pair = {.from = from, .to = to};
    double share =
        weft_expert_circuit_bytes(exchange, self->n, from, to, self->experts->circuit_Bps);
    double left = exchange->bytes[(size_t)from * self->n + to];
    for (uint32_t p = 0; p < self->planes && share > 0; p++) {
        if (peer_of(self, e, p, from) == to) {
            add_part(self, e, &pair, p, share);
            left -= share;
        }
    }
    add_part(self, e, &pair, self->planes, left);
}

static void add_exchange(struct builder *self, uint32_t e)
{
    uint32_t n = self->n;
    for (uint32_t s = 0; s < n; s++) {
        self->compute[e * n + s] = add_moment(self, s, exchange_at(self, e)->compute_ps);
        if (e > 0) {
            add_edge(self, self->end[(e - 1) * n + s], self->compute[e * n + s]);
        }
    }
    for (uint32_t s = 0; s < n; s++) { // the ends stand in a row
        self->end[e * n + s] = add_moment(self, s, 0);
        add_edge(self, self->compute[e * n + s], self->end[e * n + s]);
    }
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t p = 0; p < self->planes; p++) {
            uint32_t gate = add_moment(self, s, 0);
            *gate_of(self, e, s, p) = gate;
            add_edge(self, self->compute[e * n + s], gate);
            add_edge(self, gate, self->end[e * n + s]);
        }
    }
    for (uint32_t from = 0; from < n; from++) {
        for (uint32_t to = 0; to < n; to++) {
            if (from != to) {
                add_pair(self, e, from, to);
            }
        }
    }
}

static bool build_graph(struct weft_taskgraph *graph, struct builder *self,
                        const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    size_t n = self->n;
    size_t ways = self->planes + 1;
    size_t most = self->exchanges * (n * (n + 3 * ways));
    uint32_t *servers = WEFT_NEW(arena, uint32_t, n);
    self->tasks = WEFT_NEW(arena, struct weft_task, most);
    self->before = WEFT_NEW(arena, uint32_t, 3 * most);
    self->after = WEFT_NEW(arena, uint32_t, 3 * most);
    self->parts = WEFT_NEW(arena, struct part, most);
    self->compute = WEFT_NEW(arena, uint32_t, self->exchanges * n);
    self->end = WEFT_NEW(arena, uint32_t, self->exchanges * n);
    self->gate = WEFT_NEW(arena, uint32_t, self->exchanges * n * self->planes);
    self->stream_of = WEFT_NEW(arena, uint32_t, ways * n * n);
    self->streams = WEFT_NEW(arena, struct lab_stream, ways * n * n);
    memset(self->stream_of, 0xff, ways * n * n * sizeof *self->stream_of);
    for (uint32_t s = 0; s < n; s++) {
        servers[s] = s;
    }
    for (uint32_t e = 0; e < self->exchanges; e++) {
        add_exchange(self, e);
    }
    weft_task_connect(self->tasks, self->task_count, self->before, self->after, self->edge_count,
                      arena);
    const struct weft_taskgraph_draft draft = {.server_count = self->n,
                                               .device_count = self->n,
                                               .device_server = servers,
                                               .task_count = self->task_count,
                                               .tasks = self->tasks};
    return weft_taskgraph_build(graph, &draft, arena, environment->scratch, environment->error);
}

// ---- program ----

static void address(void *context, struct lab_stream *stream, const uint32_t *links,
                    uint32_t link_count, uint32_t lane)
{
    (void)context;
    (void)links;
    (void)link_count;
    (void)lane;
    stream->to_ip = weft_lab_server_address(stream->to);
}

// A program whose transfers go over the streams of their parts.
static bool build_program(struct lab_rail *rail, const struct builder *self,
                          const struct weft_environment *environment)
{
    const struct lab_rail_options *options = rail->options;
    struct weft_cluster cluster;
    struct weft_network *network = WEFT_NEW(environment->arena, struct weft_network, 1);
    if (!weft_cluster_build(&cluster, self->n, 1, options->rate_Bps, environment->error) ||
        !weft_fabric_build_ideal(network, &cluster, NULL, environment->arena, environment->error)) {
        return false;
    }
    const struct lab_program_options program_options = {
        .network = network,
        .rings = &network->rings,
        .packet_bytes = options->mtu_bytes + (uint32_t)FRAME_BYTES,
        .address = address,
    };
    if (!lab_program_build(&rail->program, &rail->graph, &program_options, environment->arena,
                           environment->scratch, environment->error)) {
        return false;
    }
    struct lab_chunk *chunks =
        WEFT_NEW(environment->arena, struct lab_chunk, (size_t)self->part_count + 1);
    for (uint32_t i = 0; i < self->part_count; i++) {
        const struct part *part = &self->parts[i];
        const struct lab_operation *send =
            &rail->program.operations[rail->program.task_operation[part->task]];
        WEFT_ASSERT(send->kind == LAB_OPERATION_SEND && send->chunk_count == 1);
        chunks[send->chunk_first] = (struct lab_chunk){part->stream, part->bytes};
    }
    rail->program.chunks = chunks;
    rail->program.streams = self->streams;
    rail->program.stream_count = self->stream_count;
    WEFT_ASSERT(rail->program.signal_count == 0);
    return true;
}

// ---- schedule ----

// The circuits that an all-to-all asks for and that were not asked for before. Returns the number
// of their phase; WEFT_NONE = there are none.
static uint32_t add_phase(struct lab_rail_schedule *schedule, const struct builder *self,
                          uint32_t e)
{
    uint32_t n = self->n;
    uint32_t last = (e + self->exchanges - 1) % self->exchanges;
    struct lab_circuit *circuits =
        WEFT_NEW(self->arena, struct lab_circuit, (size_t)n * self->planes);
    uint32_t count = 0;
    for (uint32_t port = 0; port < n * self->planes; port++) {
        uint32_t peer = peer_of(self, e, port / n, port % n);
        if (peer != port % n && peer != peer_of(self, last, port / n, port % n)) {
            circuits[count++] = (struct lab_circuit){port, port / n * n + peer};
        }
    }
    if (count == 0) {
        return WEFT_NONE;
    }
    const struct weft_expert_exchange *exchange = exchange_at(self, e);
    const char *name = weft_arena_format(self->arena, "step %u layer %u %s", exchange->step + 1,
                                         exchange->layer + 1, exchange->back ? "back" : "out");
    schedule->phases[schedule->phase_count] = (struct lab_phase_plan){name, count, circuits};
    return schedule->phase_count++;
}

// What every server's port of a plane does in an all-to-all.
static void add_turns(struct lab_rail_schedule *schedule, const struct lab_program *program,
                      struct builder *self, uint32_t e, uint32_t plane, uint32_t phase)
{
    uint32_t n = self->n;
    uint32_t last = (e + self->exchanges - 1) % self->exchanges;
    for (uint32_t s = 0; s < n; s++) {
        struct lab_turns *turns = &schedule->ranks[s];
        struct lab_turn *turn = &turns->turns[turns->count++];
        uint32_t peer = peer_of(self, e, plane, s);
        *turn = (struct lab_turn){
            .plane = plane,
            .operation = program->task_operation[*gate_of(self, e, s, plane)],
            .last = program->task_operation[self->end[e * n + s]],
            .phase = WEFT_NONE,
            .send_to = peer != s ? peer : WEFT_NONE,
            .stream = peer != s ? self->stream_of[((size_t)plane * n + s) * n + peer] : WEFT_NONE,
            .send_turns = peer != s && peer != peer_of(self, last, plane, s),
        };
        for (uint32_t from = 0; from < n; from++) {
            if (from != s && peer_of(self, e, plane, from) == s) {
                turn->receives = true;
                turn->receive_turns = peer_of(self, last, plane, from) != s;
            }
        }
        turn->phase = turn->send_turns || turn->receive_turns ? phase : WEFT_NONE;
    }
}

// Counts what turns in each phase once iterations follow each other: a circuit that is asked for
// may still be there from an all-to-all before the last.
static uint32_t *count_turned(const struct lab_rail_schedule *schedule, const struct builder *self)
{
    uint32_t ports = self->planes * self->n;
    uint32_t *turned = WEFT_NEW(self->arena, uint32_t, (size_t)schedule->phase_count + 1);
    uint32_t *outputs = WEFT_NEW(self->arena, uint32_t, ports);
    memcpy(outputs, schedule->outputs, ports * sizeof *outputs);
    for (uint32_t p = 0; p < 2 * schedule->phase_count; p++) {
        const struct lab_phase_plan *phase = &schedule->phases[p % schedule->phase_count];
        uint32_t count = 0;
        for (uint32_t c = 0; c < phase->circuit_count; c++) {
            const struct lab_circuit *circuit = &phase->circuits[c];
            count += outputs[circuit->from] != circuit->to;
            for (uint32_t i = 0; i < ports; i++) {
                outputs[i] = outputs[i] == circuit->to ? WEFT_NONE : outputs[i];
            }
            outputs[circuit->from] = circuit->to;
        }
        turned[p % schedule->phase_count] = count;
    }
    return turned;
}

static bool moves(const struct builder *self, uint32_t plane, uint32_t server)
{
    bool any = false;
    for (uint32_t e = 1; e < self->exchanges; e++) {
        any = any || peer_of(self, e, plane, server) != peer_of(self, e - 1, plane, server);
    }
    return any;
}

static void build_schedule(struct lab_rail *rail, struct builder *self)
{
    uint32_t n = self->n;
    size_t turns = (size_t)self->exchanges * self->planes;
    struct lab_rail_schedule *schedule = &rail->schedule;
    *schedule = (struct lab_rail_schedule){
        .rank_count = n,
        .plane_count = self->planes,
        .ranks = WEFT_NEW(self->arena, struct lab_turns, n),
        .phases = WEFT_NEW(self->arena, struct lab_phase_plan, turns),
        .outputs = WEFT_NEW(self->arena, uint32_t, (size_t)self->planes * n),
    };
    for (uint32_t s = 0; s < n; s++) {
        schedule->ranks[s].turns = WEFT_NEW(self->arena, struct lab_turn, turns);
    }
    for (uint32_t e = 0; e < self->exchanges; e++) {
        uint32_t phase = add_phase(schedule, self, e);
        for (uint32_t p = 0; p < self->planes; p++) {
            add_turns(schedule, &rail->program, self, e, p, phase);
        }
    }
    // Also what no all-to-all asks for: ports keep peers that they happen to have.
    for (uint32_t port = 0; port < self->planes * n; port++) {
        uint32_t peer = exchange_at(self, self->exchanges - 1)->peers[port];
        schedule->outputs[port] = peer != port % n ? port / n * n + peer : WEFT_NONE;
        schedule->moving_ports += moves(self, port / n, port % n);
    }
}

// ---- all ----

static void plan(struct lab_rail *rail, struct lab_experts *experts,
                 const struct weft_environment *environment)
{
    const struct lab_rail_options *options = rail->options;
    const struct weft_expert_job *job = experts->job;
    double frame = options->mtu_bytes + FRAME_BYTES;
    double payload_ratio = (options->mtu_bytes - HEADER_BYTES) / frame;
    double acknowledged = (HEADER_BYTES + FRAME_BYTES) / frame / ACKNOWLEDGED;
    experts->circuit_Bps = options->rate_Bps * payload_ratio;
    // Whatever comes to a server is acknowledged over its packet port.
    experts->packet_ports = 1 - (job->circuits + 1) * acknowledged;
    struct weft_expert_options planned = {.rate_Bps = job->rate_Bps,
                                          .packet_ports = experts->packet_ports,
                                          .bytes_ratio = 1,
                                          .time_ratio = 1,
                                          .ahead = options->mode == WEFT_RAIL_PROVISION};
    struct weft_expert_schedule still;
    weft_expert_schedule(&still, job, &planned, environment->arena, environment->scratch);
    rail->rate_ratio = job->rate_Bps / options->rate_Bps;
    rail->bytes_ratio = 1;
    if (options->target_s > 0) {
        double stretched_s = weft_seconds(still.iteration_ps) * rail->rate_ratio;
        rail->bytes_ratio = fmin(1, options->target_s / stretched_s);
    }
    rail->time_ratio = rail->rate_ratio * rail->bytes_ratio;
    planned.rate_Bps = experts->circuit_Bps;
    planned.bytes_ratio = rail->bytes_ratio;
    planned.time_ratio = rail->time_ratio;
    planned.change_ps = options->dark_ps + options->dark_ps / LAB_RAIL_GATHER_PART;
    planned.overhead_ps = LAB_EXPERTS_OVERHEAD_PS;
    weft_expert_schedule(&experts->schedule, job, &planned, environment->arena,
                         environment->scratch);
}

// What of the time of ports that ever move they are dark.
static double dark_share(const struct lab_rail *rail, const struct lab_experts *experts)
{
    double dark_ps = 0;
    for (uint32_t p = 0; p < rail->schedule.phase_count; p++) {
        dark_ps += (double)experts->turned[p] * (double)rail->options->dark_ps;
    }
    double all_ps = (double)rail->predicted.iteration_ps * rail->schedule.moving_ports;
    return all_ps > 0 ? dark_ps / all_ps : 0;
}

bool lab_experts_prepare(struct lab_rail *rail, struct lab_experts *experts,
                         const struct lab_rail_options *options,
                         const struct weft_environment *environment)
{
    const struct weft_expert_job *job = experts->job;
    *rail = (struct lab_rail){.options = options, .check_transfers = true};
    plan(rail, experts, environment);
    struct builder builder = {
        .experts = experts,
        .n = job->servers,
        .planes = job->circuits,
        .exchanges = experts->schedule.exchange_count,
        .arena = environment->arena,
    };
    if (!build_graph(&rail->graph, &builder, environment) ||
        !build_program(rail, &builder, environment)) {
        return false;
    }
    build_schedule(rail, &builder);
    double *ends_s = WEFT_NEW(environment->arena, double, builder.exchanges);
    experts->compute = builder.compute;
    experts->end = builder.end;
    experts->turned = count_turned(&rail->schedule, &builder);
    experts->ends_s = ends_s;
    if (!lab_experts_replay(ends_s, rail, experts, environment)) {
        return false;
    }
    rail->predicted.iteration_ps = (uint64_t)(ends_s[builder.exchanges - 1] * 1e12);
    for (uint32_t p = 0; p < rail->schedule.phase_count; p++) {
        rail->predicted.boundary_count += experts->turned[p] > 0;
    }
    rail->predicted.dark_share = dark_share(rail, experts);
    uint32_t *marks = WEFT_NEW(environment->arena, uint32_t, builder.exchanges);
    for (uint32_t e = 0; e < builder.exchanges; e++) {
        marks[e] = builder.end[(size_t)e * builder.n];
    }
    rail->mark_count = builder.exchanges;
    rail->marks = marks;
    uint32_t *planes = WEFT_NEW(environment->arena, uint32_t, (size_t)builder.planes * builder.n);
    for (uint32_t port = 0; port < builder.planes * builder.n; port++) {
        uint32_t to = rail->schedule.outputs[port];
        planes[port] = to == WEFT_NONE ? port % builder.n : to % builder.n;
    }
    rail->wiring = (struct weft_lab_wiring){.server_count = builder.n,
                                            .port_count = builder.planes,
                                            .planes = planes,
                                            .rate_Bps = job->rate_Bps};
    return true;
}
