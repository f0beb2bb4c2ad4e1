// SPDX-License-Identifier: Apache-2.0
// Circuits that change. In the flow engine, at each answer of the controller all flows are taken
// out as they are, and put on the paths of the answer, or held. In the packet engine messages that
// have begun stay there, and their packets follow the answer (packet/engine/circuits.c); those that
// have no path yet are held.
//
// Rates come from the one max-min solver (flow/maxmin.h); a dark link needs no rate of zero there,
// since what would cross it is held. An answer costs O(flows * hops + links + servers^2), the time
// between answers what it always does.

#include "circuits.h"

#include <math.h>
#include <string.h>

// A message that waits for its path.
struct held {
    uint32_t pair;
    uint32_t owner;
    uint32_t job;
    double left_bytes;
};

struct sim_circuits {
    const struct weft_circuit_controller *controller;
    struct weft_circuit_answer answer;
    uint32_t server_count;
    double next_ps;        // the controller is asked, or the dark time ends
    double *rate_Bps;      // per link, of the present answer
    bool *is_dark;         // per link
    bool any_dark;         // the next event is the end of the dark time
    uint32_t active_count; // messages in the packet engine
    uint32_t *back;        // room for one
    uint32_t *path;        // room for one
    double *unserved_bytes;
    struct held *held;
    uint32_t held_count;
    struct weft_active_withdrawn *withdrawn;
    uint32_t room; // of `held` and `withdrawn`
    struct weft_circuit_counts counts;
    struct weft_error error;
    bool has_failed;
    struct weft_arena *arena;
};

bool sim_circuits_check(const struct weft_fabric *fabric, const struct weft_sim_options *options,
                        struct weft_error *error)
{
    if (options->circuits == NULL) {
        return true;
    }
    if (fabric->node_count != fabric->server_count) {
        return weft_fail(error, WEFT_INPUT,
                         "circuits that change join servers; the fabric has switches");
    }
    if (options->packet->port.spray_paths > 1 || options->partitions.count > 1) {
        return weft_fail(error, WEFT_INPUT,
                         "circuits that change take one path a pair and one partition");
    }
    const struct weft_port_options *port = &options->packet->port;
    if (port->queued || port->priority_count > 1 || port->control_first || port->trims ||
        port->lossless || port->cut_through_bytes > 0 || options->packet->mark_at_departure) {
        return weft_fail(error, WEFT_INPUT,
                         "circuits that change take ports first come, first served, that store "
                         "and forward and mark on arrival");
    }
    if (options->persistent || options->fluid.learns) {
        return weft_fail(error, WEFT_INPUT,
                         "connections do not persist over circuits that change; let each message "
                         "open its own");
    }
    return true;
}

void sim_circuits_init(struct weft_simnet *net, uint32_t flow_room, struct weft_arena *arena)
{
    struct sim_circuits *circuits = WEFT_NEW(arena, struct sim_circuits, 1);
    size_t servers = net->fabric->server_count;
    circuits->controller = net->options->circuits;
    circuits->server_count = net->fabric->server_count;
    circuits->rate_Bps = WEFT_NEW(arena, double, net->fabric->link_count);
    circuits->is_dark = WEFT_NEW(arena, bool, net->fabric->link_count);
    circuits->path = WEFT_NEW_RAW(arena, uint32_t, servers + 1);
    circuits->back = WEFT_NEW_RAW(arena, uint32_t, servers + 1);
    circuits->unserved_bytes = WEFT_NEW(arena, double, servers *servers);
    circuits->held = WEFT_NEW_RAW(arena, struct held, flow_room);
    circuits->withdrawn = WEFT_NEW_RAW(arena, struct weft_active_withdrawn, flow_room);
    circuits->room = flow_room;
    circuits->arena = arena;
    net->circuits = circuits;
    if (weft_simnet_is_packet(net)) {
        packet_circuits_init(&net->packets, net->fabric, arena);
    }
}

// ---- messages ----

uint32_t sim_circuits_pair(const struct weft_simnet *net, uint32_t from, uint32_t to)
{
    return from * net->circuits->server_count + to;
}

// The present path of a pair, whose length is returned; 0: it has none, or crosses a dark link.
static uint32_t find_path(const struct sim_circuits *circuits, const struct weft_fabric *fabric,
                          uint32_t pair, uint32_t *path)
{
    uint32_t to = pair % circuits->server_count;
    uint32_t count = 0;
    for (uint32_t at = pair / circuits->server_count; at != to;) {
        uint32_t link = circuits->answer.next_link[(size_t)at * circuits->server_count + to];
        if (link == WEFT_NONE || circuits->is_dark[link] || count == circuits->server_count) {
            return 0;
        }
        WEFT_ASSERT(fabric->links[link].from == at && circuits->rate_Bps[link] > 0);
        path[count++] = link;
        at = fabric->links[link].to;
    }
    return count;
}

// A message begins on the path that the present circuits give its pair; without one it is held
// until they change. Its acknowledgements go back by the circuits of this instant, too.
void sim_circuits_start(struct weft_simnet *net, uint32_t pair, double wire_bytes, uint32_t owner,
                        uint32_t job)
{
    struct sim_circuits *circuits = net->circuits;
    uint32_t hop_count = find_path(circuits, net->fabric, pair, circuits->path);
    if (hop_count == 0) {
        WEFT_ASSERT(circuits->held_count < circuits->room);
        circuits->held[circuits->held_count++] = (struct held){pair, owner, job, wire_bytes};
        return;
    }
    if (hop_count > circuits->counts.hop_max) {
        circuits->counts.hop_max = hop_count;
    }
    uint32_t class_id = weft_simnet_open(net, circuits->path, hop_count, job);
    if (weft_simnet_is_packet(net)) { // the class is closed when the message ends
        uint32_t n = circuits->server_count;
        uint32_t back = pair % n * n + pair / n;
        uint32_t back_count = find_path(circuits, net->fabric, back, circuits->back);
        net->active.started_count++;
        circuits->active_count++;
        const struct packet_route route = {circuits->path, hop_count, circuits->back, back_count};
        packet_engine_start(&net->packets, &route, wire_bytes,
                            (struct packet_end){owner, class_id, job});
        return;
    }
    weft_active_start(&net->active, class_id, wire_bytes, owner);
    weft_active_close(&net->active, class_id);
}

// ---- changes ----

// Puts what is held on its path, where there is one now.
static void release_held(struct weft_simnet *net)
{
    struct sim_circuits *circuits = net->circuits;
    uint32_t count = circuits->held_count;
    circuits->held_count = 0; // what stays held goes back behind what was looked at
    for (uint32_t i = 0; i < count; i++) {
        struct held held = circuits->held[i];
        sim_circuits_start(net, held.pair, held.left_bytes, held.owner, held.job);
    }
}

static void hold_all(struct weft_simnet *net)
{
    struct sim_circuits *circuits = net->circuits;
    uint64_t started = net->active.started_count;
    uint32_t count = weft_active_withdraw(&net->active, circuits->withdrawn);
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_active_withdrawn *flow = &circuits->withdrawn[i];
        uint32_t from = net->fabric->links[flow->first_link].from;
        uint32_t to = net->fabric->links[flow->last_link].to;
        WEFT_ASSERT(circuits->held_count < circuits->room);
        circuits->held[circuits->held_count++] = (struct held){
            sim_circuits_pair(net, from, to), flow->owner, flow->job, flow->left_bytes};
    }
    net->active.started_count = started - count; // they start again
}

static void sum_demand(const struct weft_simnet *net)
{
    struct sim_circuits *circuits = net->circuits;
    size_t pairs = (size_t)circuits->server_count * circuits->server_count;
    memset(circuits->unserved_bytes, 0, pairs * sizeof(double));
    for (uint32_t i = 0; i < circuits->held_count; i++) {
        circuits->unserved_bytes[circuits->held[i].pair] += circuits->held[i].left_bytes;
    }
    if (weft_simnet_is_packet(net)) {
        packet_circuits_demand(&net->packets, circuits->unserved_bytes);
    }
}

// Which links are dark from now on, and what all carry when they are not.
static void apply_answer(struct weft_simnet *net)
{
    struct sim_circuits *circuits = net->circuits;
    const struct weft_circuit_answer *answer = &circuits->answer;
    circuits->any_dark = answer->dark_ps > 0;
    for (uint32_t link = 0; link < net->fabric->link_count; link++) {
        double rate_Bps = answer->rate_Bps[link];
        bool changes = rate_Bps != circuits->rate_Bps[link];
        circuits->is_dark[link] = circuits->any_dark && (changes || answer->stops_all);
        if (changes && rate_Bps > 0 && !weft_simnet_is_packet(net)) {
            weft_maxmin_set_capacity(&net->active.maxmin, link, rate_Bps);
        }
        circuits->rate_Bps[link] = rate_Bps;
    }
}

static bool ask(struct weft_simnet *net, double now_ps)
{
    struct sim_circuits *circuits = net->circuits;
    if (!weft_simnet_is_packet(net)) {
        hold_all(net);
    }
    sum_demand(net);
    const struct weft_circuit_demand demand = {.now_ps = (uint64_t)(now_ps + 0.5),
                                               .server_count = circuits->server_count,
                                               .unserved_bytes = circuits->unserved_bytes};
    circuits->counts.answer_count++;
    if (!circuits->controller->decide(circuits->controller->state, &circuits->answer, &demand,
                                      *circuits->arena, &circuits->error)) {
        circuits->has_failed = true;
        return false;
    }
    WEFT_ASSERT(circuits->answer.until_ps > demand.now_ps + circuits->answer.dark_ps);
    circuits->counts.dark_ps += circuits->answer.dark_ps;
    apply_answer(net);
    return true;
}

static double until_ps_of(const struct weft_circuit_answer *answer)
{
    return answer->until_ps == WEFT_NEVER ? (double)INFINITY : (double)answer->until_ps;
}

double sim_circuits_next_ps(const struct weft_simnet *net, bool more)
{
    const struct sim_circuits *circuits = net->circuits;
    if (circuits == NULL || (!more && circuits->held_count == 0 && circuits->active_count == 0 &&
                             isinf(weft_active_next_ps(&net->active)))) {
        return (double)INFINITY;
    }
    return circuits->next_ps;
}

// The dark time is over, or there was none.
static void light(struct weft_simnet *net)
{
    struct sim_circuits *circuits = net->circuits;
    memset(circuits->is_dark, 0, net->fabric->link_count * sizeof(bool));
    circuits->any_dark = false;
    if (weft_simnet_is_packet(net)) {
        packet_circuits_open(&net->packets, circuits->rate_Bps, net->options);
    }
}

// When the dark time that begins now ends. Packets first drain from the links that change.
static double dark_end_ps(struct weft_simnet *net, double now_ps)
{
    struct sim_circuits *circuits = net->circuits;
    double begins_ps = now_ps;
    if (weft_simnet_is_packet(net)) {
        begins_ps = (double)packet_circuits_close(&net->packets, circuits->answer.next_link,
                                                  circuits->is_dark);
    }
    return begins_ps + (double)circuits->answer.dark_ps;
}

bool sim_circuits_step(struct weft_simnet *net, double until_ps)
{
    struct sim_circuits *circuits = net->circuits;
    if (circuits == NULL || circuits->next_ps > until_ps) {
        return true;
    }
    double now_ps = circuits->next_ps;
    if (circuits->any_dark) {
        light(net);
        circuits->next_ps = fmax(until_ps_of(&circuits->answer), now_ps);
    } else if (ask(net, now_ps)) {
        circuits->next_ps = dark_end_ps(net, now_ps);
        if (!circuits->any_dark) {
            light(net);
            circuits->next_ps = until_ps_of(&circuits->answer);
        }
    } else {
        return false;
    }
    release_held(net);
    weft_active_settle(&net->active);
    return true;
}

void sim_circuits_ended(struct weft_simnet *net)
{
    if (net->circuits != NULL) {
        net->circuits->active_count--;
    }
}

bool sim_circuits_finish(const struct weft_simnet *net, struct weft_error *error)
{
    if (net->circuits != NULL && net->circuits->has_failed) {
        *error = net->circuits->error;
        return false;
    }
    return true;
}

struct weft_circuit_counts sim_circuits_counts(const struct weft_simnet *net)
{
    return net->circuits == NULL ? (struct weft_circuit_counts){0} : net->circuits->counts;
}
