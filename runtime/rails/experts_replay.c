// SPDX-License-Identifier: Apache-2.0
// What an iteration of experts takes by the lab's own rules, in the flow engine (experts.h).
//
// The formula of the split has all servers begin an all-to-all together, and packets take turns by
// who is in a hurry. In the lab servers begin by themselves, and TCP shares ports. So the job's
// tasks are played with max-min rates of flows: each port of a server is a node of its own on one
// switch, which is what circuits are as long as a port has one at a time, and each change a task of
// the one controller. What it waits for is what ranks announce.

#include "experts.h"

#include "weft/fabric.h"
#include "weft/sim.h"

// Packets of a connection's first window (RFC 6928), which grows with what it carries: connections
// that carry more take a larger share of a port. Each begun window is a flow here.
#define WINDOW_PACKETS 10u
#define FLOWS_MAX 64u

struct replay {
    const struct lab_rail *rail;
    const struct lab_experts *experts;
    uint32_t n, task_count;
    struct weft_task *tasks; // of the lab, then a change for each phase
    uint32_t *begin;         // by transfer: what it waits for
    uint32_t *before, *after;
    size_t edge_count;
};

static void add_edge(struct replay *self, uint32_t before, uint32_t after)
{
    self->before[self->edge_count] = before;
    self->after[self->edge_count++] = after;
}

static uint32_t flows_of(const struct replay *self, uint64_t bytes)
{
    uint64_t window_bytes = (uint64_t)WINDOW_PACKETS * self->rail->options->mtu_bytes;
    uint64_t flows = (bytes + window_bytes - 1) / window_bytes;
    return flows < FLOWS_MAX ? (uint32_t)flows : FLOWS_MAX;
}

// Which of the nodes a connection leads to: those of its port.
static uint32_t node_of(const struct replay *self, uint32_t server, uint32_t to_ip, uint32_t to)
{
    uint32_t planes = self->experts->job->circuits;
    uint32_t p = 0;
    while (p < planes && to_ip != weft_lab_port_address(to, p)) {
        p++;
    }
    return p == planes ? server : (p + 1) * self->n + server;
}

// A transfer between the nodes of its ports. Packets share theirs with acknowledgments, and go as
// several flows.
static void place_transfer(struct replay *self, uint32_t task)
{
    const struct lab_program *program = &self->rail->program;
    const struct lab_operation *send = &program->operations[program->task_operation[task]];
    const struct lab_chunk *chunk = &program->chunks[send->chunk_first];
    const struct lab_stream *stream = &program->streams[chunk->stream];
    struct weft_task *moved = &self->tasks[task];
    moved->from = node_of(self, stream->from, stream->to_ip, stream->to);
    moved->to = node_of(self, stream->to, stream->to_ip, stream->to);
    if (moved->from >= self->n) {
        return;
    }
    uint32_t flows = flows_of(self, chunk->bytes);
    double bytes = (double)chunk->bytes / self->experts->packet_ports / flows;
    uint32_t after = self->rail->graph.next[self->rail->graph.next_first[task]];
    moved->size_bytes = (uint64_t)(bytes + 0.5);
    for (uint32_t f = 1; f < flows; f++) {
        uint32_t flow = self->task_count++;
        self->tasks[flow] = *moved;
        add_edge(self, self->begin[task], flow);
        add_edge(self, flow, after);
    }
}

// A change waits for what its members announce it by, and the gates of ports that turn wait for it.
static void add_changes(struct replay *self)
{
    const struct lab_rail_schedule *schedule = &self->rail->schedule;
    const struct lab_experts *experts = self->experts;
    bool ahead = self->rail->options->mode == WEFT_RAIL_PROVISION;
    uint32_t planes = experts->job->circuits;
    for (uint32_t s = 0; s < self->n; s++) {
        const struct lab_turns *turns = &schedule->ranks[s];
        for (uint32_t t = 0; t < turns->count; t++) {
            const struct lab_turn *turn = &turns->turns[t];
            uint32_t e = t / planes;
            if (turn->phase == WEFT_NONE) {
                continue;
            }
            uint32_t change = self->rail->graph.task_count + turn->phase;
            if (!ahead) {
                add_edge(self, experts->compute[e * self->n + s], change);
            } else if (e > 0) {
                add_edge(self, experts->end[(e - 1) * self->n + s], change);
            }
            add_edge(self, change, self->rail->program.operations[turn->operation].task);
        }
    }
}

// Tasks of the lab with their edges, then changes; flows of packets follow.
static void copy(struct replay *self)
{
    const struct weft_taskgraph *lab = &self->rail->graph;
    uint64_t dark_ps = self->rail->options->dark_ps;
    for (uint32_t t = 0; t < lab->task_count; t++) {
        self->tasks[t] = weft_taskgraph_task(lab, t);
        for (uint32_t i = 0; i < self->tasks[t].next_count; i++) {
            self->begin[self->tasks[t].next[i]] = t;
            add_edge(self, t, self->tasks[t].next[i]);
        }
        self->tasks[t].next_count = 0;
        if (self->tasks[t].runtime_ps > 0) {
            self->tasks[t].runtime_ps += LAB_EXPERTS_OVERHEAD_PS;
        }
    }
    for (uint32_t p = 0; p < self->rail->schedule.phase_count; p++) {
        self->tasks[lab->task_count + p] =
            (struct weft_task){.kind = WEFT_TASK_FORWARD,
                               .device = self->n,
                               .runtime_ps = (self->experts->turned[p] > 0 ? dark_ps : 0) +
                                             dark_ps / LAB_RAIL_GATHER_PART};
    }
    self->task_count = lab->task_count + self->rail->schedule.phase_count;
}

static bool build(struct weft_taskgraph *graph, struct replay *self,
                  const struct weft_environment *environment)
{
    const struct weft_taskgraph *lab = &self->rail->graph;
    struct weft_arena *arena = environment->arena;
    uint32_t planes = self->experts->job->circuits;
    size_t most = lab->task_count + self->rail->schedule.phase_count;
    for (uint32_t i = 0; i < self->rail->program.operation_count; i++) {
        const struct lab_operation *send = &self->rail->program.operations[i];
        if (send->kind == LAB_OPERATION_SEND) {
            most += flows_of(self, self->rail->program.chunks[send->chunk_first].bytes);
        }
    }
    size_t edges = lab->next_first[lab->task_count] + 2 * most +
                   2 * (size_t)self->experts->schedule.exchange_count * self->n * planes;
    uint32_t *servers = WEFT_NEW(arena, uint32_t, (size_t)self->n + 1);
    self->tasks = WEFT_NEW(arena, struct weft_task, most);
    self->begin = WEFT_NEW(arena, uint32_t, lab->task_count);
    self->before = WEFT_NEW(arena, uint32_t, edges);
    self->after = WEFT_NEW(arena, uint32_t, edges);
    copy(self);
    for (uint32_t t = 0; t < lab->task_count; t++) {
        if (lab->kind[t] == WEFT_TASK_TRANSFER) {
            place_transfer(self, t);
        }
    }
    add_changes(self);
    weft_task_connect(self->tasks, self->task_count, self->before, self->after, self->edge_count,
                      arena);
    for (uint32_t s = 0; s < self->n; s++) {
        servers[s] = s;
    }
    const struct weft_taskgraph_draft draft = {.server_count = self->n * (planes + 1),
                                               .device_count = self->n + 1,
                                               .device_server = servers,
                                               .task_count = self->task_count,
                                               .tasks = self->tasks};
    return weft_taskgraph_build(graph, &draft, arena, environment->scratch, environment->error);
}

bool lab_experts_replay(double *ends_s, const struct lab_rail *rail,
                        const struct lab_experts *experts,
                        const struct weft_environment *environment)
{
    struct replay self = {.rail = rail, .experts = experts, .n = experts->job->servers};
    struct weft_arena scratch = environment->scratch;
    struct weft_environment inner = *environment;
    inner.arena = &scratch;
    inner.scratch = weft_arena_split(&scratch);
    struct weft_taskgraph graph;
    struct weft_cluster cluster;
    struct weft_network *network = WEFT_NEW(&scratch, struct weft_network, 1);
    struct weft_sim_result result;
    if (!build(&graph, &self, &inner) ||
        !weft_cluster_build(&cluster, graph.server_count, 1, experts->circuit_Bps, inner.error) ||
        !weft_fabric_build_ideal(network, &cluster, NULL, &scratch, inner.error)) {
        return false;
    }
    const struct weft_sim_options options = {.timeline = true};
    const struct weft_sim_job job = {.graph = &graph};
    if (!weft_sim_run_jobs(&result, network, &job, 1, &options, &inner)) {
        return false;
    }
    for (uint32_t e = 0; e < experts->schedule.exchange_count; e++) {
        uint64_t last_ps = 0;
        for (uint32_t s = 0; s < self.n; s++) {
            uint64_t end_ps = result.task_end_ps[0][experts->end[e * self.n + s]];
            last_ps = end_ps > last_ps ? end_ps : last_ps;
        }
        ends_s[e] = weft_seconds(last_ps);
    }
    return true;
}
