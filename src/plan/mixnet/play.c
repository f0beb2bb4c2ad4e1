// SPDX-License-Identifier: Apache-2.0
// All-to-alls one after the other in an engine, over circuits that change between them, to hold the
// formula against.
//
// Servers are joined by their circuits and by one switch with the packet ports of each. Every
// pair's bytes are divided over its circuits, the switch and two-hop relays as the formula divides
// them; what comes together on one hop is one message, so that the hops of a relay go on side by
// side, as a stream of chunks does. The task graph has, for each all-to-all, the computation before
// it, its messages and a barrier behind them, of which the controller hears.
//
// Max-min rates, or senders that share ports by their congestion control, do not know that some
// flows have to hurry, so that an all-to-all takes the formula's time or longer. What waits for a
// new circuit is its pairs alone, where the formula has all wait. O(turns n^2) messages.

#include "plan/mixnet/mixnet.h"

#include <math.h>
#include <string.h>

struct player {
    const struct weft_mixnet_sequence *sequence;
    uint32_t n;
    struct weft_network network;
    double divisor;
    double bytes;     // of all messages
    double *carried;  // [turn][n^2]: over circuits
    double *switched; // [turn][n^2]: over packets
    struct weft_taskgraph graph;
    uint32_t *done; // per turn: the barrier behind its messages
    // The controller.
    uint32_t next;                    // turn
    uint32_t standing;                // turn whose circuits stand; WEFT_NONE: the first ones
    uint32_t commanded;               // ... are commanded
    uint64_t turns_ps;                // then the switch turns; WEFT_NEVER: it does not
    uint64_t dark_ps;                 // of links that the last command makes, from then on
    double *rate_Bps, *meanwhile_Bps; // per link
    uint32_t *next_link;
    double *packet_share;
    uint32_t changes;
};

static const uint32_t *circuits_of(const struct player *self, uint32_t turn)
{
    return turn == WEFT_NONE ? self->sequence->first : self->sequence->turns[turn].circuits;
}

// ---- what goes where ----

static void add_relay(double *carried, double *switched, const struct weft_relay *relay, uint32_t n)
{
    size_t first = (size_t)relay->from * n + relay->via;
    size_t second = (size_t)relay->via * n + relay->to;
    (relay->kind == WEFT_RELAY_PACKETS_FIRST ? switched : carried)[first] += relay->bytes;
    (relay->kind == WEFT_RELAY_PACKETS_LAST ? switched : carried)[second] += relay->bytes;
}

// Every pair's bytes over its circuits, then relays, and what is left over the switch.
static void divide(struct player *self, uint32_t turn, struct weft_arena scratch)
{
    uint32_t n = self->n;
    size_t cells = (size_t)n * n;
    const struct weft_mixnet_turn *own = &self->sequence->turns[turn];
    double *carried = self->carried + turn * cells;
    double *switched = self->switched + turn * cells;
    struct weft_arena found = weft_arena_split(&scratch);
    struct weft_relay_plan plan;
    weft_circuit_relay(&plan, own->circuits, own->bytes, n, &self->sequence->ports, &found,
                       scratch);
    double *left = WEFT_NEW(&scratch, double, cells);
    for (size_t at = 0; at < cells; at++) {
        bool other = at / n != at % n;
        carried[at] = other ? fmin(own->bytes[at], own->circuits[at] * plan.time) : 0;
        left[at] = other ? own->bytes[at] - carried[at] : 0;
    }
    for (uint32_t r = 0; r < plan.relay_count; r++) {
        left[(size_t)plan.relays[r].from * n + plan.relays[r].to] -= plan.relays[r].bytes;
        add_relay(carried, switched, &plan.relays[r], n);
    }
    for (size_t at = 0; at < cells; at++) {
        switched[at] += left[at] > 1e-9 * plan.time ? left[at] : 0;
        self->bytes += carried[at] + switched[at];
    }
}

static double packets_of(const struct player *self, uint32_t node)
{
    const struct weft_split_options *ports = &self->sequence->ports;
    return ports->node_packets != NULL ? ports->node_packets[node] : ports->packet_ports;
}

// A link for every circuit that there ever is, and both ways to the switch.
static bool build_network(struct player *self, struct weft_arena *arena, struct weft_arena scratch,
                          struct weft_error *error)
{
    const struct weft_mixnet_sequence *sequence = self->sequence;
    uint32_t n = self->n;
    double port_Bps = sequence->rate_Bps / self->divisor;
    struct weft_link *links = WEFT_NEW(&scratch, struct weft_link, (size_t)n * n + 2 * (size_t)n);
    uint32_t count = 0;
    for (size_t at = 0; at < (size_t)n * n; at++) {
        uint32_t most = sequence->first[at];
        for (uint32_t t = 0; t < sequence->turn_count; t++) {
            uint32_t width = sequence->turns[t].circuits[at];
            most = width > most ? width : most;
        }
        if (most > 0) {
            links[count++] = (struct weft_link){.from = (uint32_t)(at / n),
                                                .to = (uint32_t)(at % n),
                                                .rate_Bps = most * port_Bps,
                                                .width = 1};
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        double rate_Bps = packets_of(self, i) * port_Bps;
        if (rate_Bps > 0) {
            links[count++] =
                (struct weft_link){.from = i, .to = n, .rate_Bps = rate_Bps, .width = 1};
            links[count++] =
                (struct weft_link){.from = n, .to = i, .rate_Bps = rate_Bps, .width = 1};
        }
    }
    const struct weft_fabric_links input = {"mixnet", n, n + 1, links, count};
    return weft_fabric_build(&self->network.fabric, &input, arena, error) &&
           weft_routes_build_shortest(&self->network.routes, &self->network.fabric, arena, scratch,
                                      error);
}

// ---- the task graph ----

struct builder {
    struct weft_task *tasks;
    uint32_t *before, *after;
    uint32_t task_count;
    size_t edge_count;
};

static uint32_t add(struct builder *builder, struct weft_task task)
{
    builder->tasks[builder->task_count] = task;
    return builder->task_count++;
}

static void edge(struct builder *builder, uint32_t from, uint32_t to)
{
    builder->before[builder->edge_count] = from;
    builder->after[builder->edge_count++] = to;
}

static void add_turn(struct player *self, struct builder *builder, uint32_t turn)
{
    size_t cells = (size_t)self->n * self->n;
    const struct weft_mixnet_turn *own = &self->sequence->turns[turn];
    uint32_t compute =
        add(builder, (struct weft_task){.kind = WEFT_TASK_FORWARD,
                                        .runtime_ps = weft_picoseconds(own->compute_s)});
    uint32_t done = add(builder, (struct weft_task){.kind = WEFT_TASK_BARRIER});
    if (turn > 0) {
        edge(builder, self->done[turn - 1], compute);
    }
    edge(builder, compute, done);
    for (size_t at = 0; at < cells; at++) {
        double bytes = ceil((self->carried[turn * cells + at] + self->switched[turn * cells + at]) /
                            self->divisor);
        if (bytes > 0) {
            uint32_t message = add(builder, (struct weft_task){.kind = WEFT_TASK_TRANSFER,
                                                               .size_bytes = (uint64_t)bytes,
                                                               .from = (uint32_t)(at / self->n),
                                                               .to = (uint32_t)(at % self->n)});
            edge(builder, compute, message);
            edge(builder, message, done);
        }
    }
    self->done[turn] = done;
}

static bool build_graph(struct player *self, struct weft_arena *arena, struct weft_arena scratch,
                        struct weft_error *error)
{
    uint32_t turns = self->sequence->turn_count;
    size_t most = (size_t)turns * (2 + (size_t)self->n * self->n);
    static const uint32_t device_server[1] = {0};
    struct builder builder = {.tasks = WEFT_NEW(&scratch, struct weft_task, most),
                              .before = WEFT_NEW(&scratch, uint32_t, 2 * most),
                              .after = WEFT_NEW(&scratch, uint32_t, 2 * most)};
    self->done = WEFT_NEW(arena, uint32_t, turns);
    for (uint32_t t = 0; t < turns; t++) {
        add_turn(self, &builder, t);
    }
    weft_task_connect(builder.tasks, builder.task_count, builder.before, builder.after,
                      builder.edge_count, &scratch);
    const struct weft_taskgraph_draft draft = {self->n, 1, device_server, builder.task_count,
                                               builder.tasks};
    return weft_taskgraph_build(&self->graph, &draft, arena, scratch, error);
}

// ---- the controller ----

// What links carry, and what they do until light is there. From the command on there are the links
// that a change makes or makes wider, dark or as wide as before, so that what needs them waits;
// what it takes away goes when the switch turns.
static void set_links(struct player *self, bool turns)
{
    const struct weft_fabric *fabric = &self->network.fabric;
    const uint32_t *before = circuits_of(self, self->standing);
    const uint32_t *after = circuits_of(self, self->commanded);
    double port_Bps = self->sequence->rate_Bps / self->divisor;
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        const struct weft_link *link = &fabric->links[l];
        if (link->from >= self->n || link->to >= self->n) {
            continue;
        }
        size_t at = (size_t)link->from * self->n + link->to;
        uint32_t width = before[at] > after[at] ? before[at] : after[at];
        self->rate_Bps[l] = width * port_Bps;
        self->meanwhile_Bps[l] =
            fmin(self->rate_Bps[l], turns ? self->meanwhile_Bps[l] : before[at] * port_Bps);
        self->next_link[at] = width > 0 ? l : WEFT_NONE;
    }
}

static void turn_switch(struct player *self)
{
    self->standing = self->commanded;
    self->turns_ps = WEFT_NEVER;
    set_links(self, true);
}

// The turn before has ended: the next one's pairs are divided as it has them, and its circuits are
// commanded `lead_s` before it is ready.
static void prepare(struct player *self, uint64_t now_ps)
{
    const struct weft_mixnet_turn *own = &self->sequence->turns[self->next];
    const struct weft_circuit_delays *delays = &self->sequence->delays;
    size_t cells = (size_t)self->n * self->n;
    for (size_t at = 0; at < cells; at++) {
        double by_packets = self->switched[self->next * cells + at];
        double all = by_packets + self->carried[self->next * cells + at];
        self->packet_share[at] = all > 0 ? by_packets / all : 0;
    }
    if (memcmp(circuits_of(self, self->commanded), own->circuits, cells * sizeof *own->circuits) ==
        0) {
        return;
    }
    turn_switch(self); // what was commanded before
    uint64_t waits_ps = weft_picoseconds(own->compute_s - own->lead_s);
    self->commanded = self->next;
    self->turns_ps = now_ps + waits_ps + delays->command_ps;
    self->dark_ps = self->turns_ps - now_ps + delays->dark_ps + delays->retrain_ps;
    self->changes++;
    set_links(self, false);
}

static bool decide(void *state, struct weft_circuit_answer *answer,
                   const struct weft_circuit_demand *demand, struct weft_arena scratch,
                   struct weft_error *error)
{
    (void)scratch;
    (void)error;
    struct player *self = state;
    // A link that is dark stays so for its time; one that is lit is not to be dark again.
    memcpy(self->meanwhile_Bps, self->rate_Bps,
           self->network.fabric.link_count * sizeof *self->rate_Bps);
    if (demand->now_ps == 0 && self->next == 0) {
        prepare(self, 0);
    }
    for (uint32_t b = 0; b < demand->barrier_count; b++) {
        uint32_t turns = self->sequence->turn_count;
        if (self->next < turns && demand->barriers[b] == self->done[self->next] &&
            ++self->next < turns) {
            prepare(self, demand->now_ps);
        }
    }
    if (self->turns_ps <= demand->now_ps) {
        turn_switch(self);
    }
    *answer = (struct weft_circuit_answer){
        .rate_Bps = self->rate_Bps,
        .next_link = self->next_link,
        .dark_ps = self->dark_ps,
        .meanwhile_Bps = self->meanwhile_Bps,
        .first_ps = self->sequence->delays.first_ps,
        .packet_share = self->packet_share,
        .until_ps = self->turns_ps,
    };
    return true;
}

// ---- the run ----

static void lay_out(struct player *self, struct weft_arena *arena)
{
    size_t cells = (size_t)self->n * self->n;
    uint32_t links = self->network.fabric.link_count;
    self->rate_Bps = WEFT_NEW(arena, double, links);
    self->meanwhile_Bps = WEFT_NEW(arena, double, links);
    self->next_link = WEFT_NEW_RAW(arena, uint32_t, cells);
    self->packet_share = WEFT_NEW(arena, double, cells);
    memset(self->next_link, 0xff, cells * sizeof *self->next_link); // WEFT_NONE
    self->standing = WEFT_NONE;
    self->commanded = WEFT_NONE;
    self->turns_ps = WEFT_NEVER;
    set_links(self, false);
}

static bool simulate(struct weft_sim_result *result, struct player *self,
                     const struct weft_sim_options *sim, const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    const struct weft_circuit_controller controller = {
        .state = self, .decide = decide, .at_barriers = true};
    struct weft_sim_options options = *sim;
    options.circuits = &controller;
    const struct weft_sim_job job = {.graph = &self->graph};
    const struct weft_environment inner = {.arena = environment->arena,
                                           .scratch = scratch,
                                           .seed = environment->seed,
                                           .threads = 1,
                                           .error = environment->error};
    return weft_sim_run_jobs(result, &self->network, &job, 1, &options, &inner);
}

bool weft_mixnet_play(struct weft_mixnet_played *played,
                      const struct weft_mixnet_sequence *sequence,
                      const struct weft_sim_options *sim,
                      const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    struct weft_arena own = weft_arena_split(&scratch);
    struct weft_error *error = environment->error;
    size_t cells = (size_t)sequence->turn_count * sequence->node_count * sequence->node_count;
    struct player player = {.sequence = sequence, .n = sequence->node_count, .divisor = 1};
    player.carried = WEFT_NEW(&own, double, cells);
    player.switched = WEFT_NEW(&own, double, cells);
    double formula_s = 0;
    double compute_s = 0;
    for (uint32_t t = 0; t < sequence->turn_count; t++) {
        const struct weft_mixnet_turn *turn = &sequence->turns[t];
        formula_s += turn->compute_s + turn->wait_s + turn->time_s;
        compute_s += turn->compute_s;
        divide(&player, t, scratch);
    }
    if (sim->engine == WEFT_ENGINE_PACKET && sequence->packets_max > 0) {
        double packets = player.bytes / (sim->packet_bytes - sim->header_bytes);
        player.divisor = fmax(1, ceil(packets / sequence->packets_max));
    }
    if (!build_network(&player, &own, scratch, error) ||
        !build_graph(&player, &own, scratch, error)) {
        return false;
    }
    lay_out(&player, &own);
    const struct weft_environment inner = {
        .arena = &own, .scratch = scratch, .seed = environment->seed, .error = error};
    struct weft_sim_result result;
    if (!simulate(&result, &player, sim, &inner)) {
        return false;
    }
    *played = (struct weft_mixnet_played){
        .seconds = weft_seconds(result.end_ps),
        .formula_s = formula_s,
        .compute_s = compute_s,
        .changes = player.changes,
        .divisor = player.divisor,
        .packet_count = result.packets.packets,
    };
    return true;
}
