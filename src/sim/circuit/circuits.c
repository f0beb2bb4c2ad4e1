// SPDX-License-Identifier: Apache-2.0
// Circuits that change, in the flow engine: at each answer of the controller all flows are taken
// out as they are, and put on the paths of the answer, or held.
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
    double next_ps;   // the controller is asked, or the dark time ends
    double *rate_Bps; // per link, of the present answer
    bool *is_dark;    // per link
    bool any_dark;    // the next event is the end of the dark time
    uint32_t *path;   // room for one
    double *unserved_bytes;
    struct held *held;
    uint32_t held_count;
    struct weft_wire_rest *rests;
    uint32_t room; // of `held` and `rests`
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
    if (options->packet->port.spray_paths > 1 || options->parts > 1) {
        return weft_fail(error, WEFT_INPUT,
                         "circuits that change take one path a pair and one partition");
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
    circuits->unserved_bytes = WEFT_NEW(arena, double, servers *servers);
    circuits->held = WEFT_NEW_RAW(arena, struct held, flow_room);
    circuits->rests = WEFT_NEW_RAW(arena, struct weft_wire_rest, flow_room);
    circuits->room = flow_room;
    circuits->arena = arena;
    net->circuits = circuits;
}

// ---- messages ----

uint32_t sim_circuits_pair(const struct weft_simnet *net, uint32_t from, uint32_t to)
{
    return from * net->circuits->server_count + to;
}

// The present path of a pair, whose length is returned; 0: it has none, or crosses a dark link.
static uint32_t find_path(struct sim_circuits *circuits, const struct weft_fabric *fabric,
                          uint32_t pair)
{
    uint32_t to = pair % circuits->server_count;
    uint32_t count = 0;
    for (uint32_t at = pair / circuits->server_count; at != to;) {
        uint32_t link = circuits->answer.next_link[(size_t)at * circuits->server_count + to];
        if (link == WEFT_NONE || circuits->is_dark[link] || count == circuits->server_count) {
            return 0;
        }
        WEFT_ASSERT(fabric->links[link].from == at && circuits->rate_Bps[link] > 0);
        circuits->path[count++] = link;
        at = fabric->links[link].to;
    }
    return count;
}

void sim_circuits_start(struct weft_simnet *net, uint32_t pair, double wire_bytes, uint32_t owner,
                        uint32_t job)
{
    struct sim_circuits *circuits = net->circuits;
    uint32_t hop_count = find_path(circuits, net->fabric, pair);
    if (hop_count == 0) {
        WEFT_ASSERT(circuits->held_count < circuits->room);
        circuits->held[circuits->held_count++] = (struct held){pair, owner, job, wire_bytes};
        return;
    }
    if (hop_count > circuits->counts.hop_max) {
        circuits->counts.hop_max = hop_count;
    }
    uint32_t class_id = weft_simnet_open(net, circuits->path, hop_count, job);
    weft_wire_start(&net->wire, class_id, wire_bytes, owner);
    weft_wire_close(&net->wire, class_id);
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
    uint64_t started = net->wire.started_count;
    uint32_t count = weft_wire_withdraw(&net->wire, circuits->rests);
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_wire_rest *rest = &circuits->rests[i];
        uint32_t from = net->fabric->links[rest->first_link].from;
        uint32_t to = net->fabric->links[rest->last_link].to;
        WEFT_ASSERT(circuits->held_count < circuits->room);
        circuits->held[circuits->held_count++] = (struct held){
            sim_circuits_pair(net, from, to), rest->owner, rest->job, rest->left_bytes};
    }
    net->wire.started_count = started - count; // they start again
}

static void sum_demand(struct sim_circuits *circuits)
{
    size_t pairs = (size_t)circuits->server_count * circuits->server_count;
    memset(circuits->unserved_bytes, 0, pairs * sizeof(double));
    for (uint32_t i = 0; i < circuits->held_count; i++) {
        circuits->unserved_bytes[circuits->held[i].pair] += circuits->held[i].left_bytes;
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
        if (changes && rate_Bps > 0) {
            weft_maxmin_set_capacity(&net->wire.maxmin, link, rate_Bps);
        }
        circuits->rate_Bps[link] = rate_Bps;
    }
}

static bool ask(struct weft_simnet *net, double now_ps)
{
    struct sim_circuits *circuits = net->circuits;
    hold_all(net);
    sum_demand(circuits);
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
    if (circuits == NULL ||
        (!more && circuits->held_count == 0 && isinf(weft_wire_next_ps(&net->wire)))) {
        return (double)INFINITY;
    }
    return circuits->next_ps;
}

bool sim_circuits_step(struct weft_simnet *net, double until_ps)
{
    struct sim_circuits *circuits = net->circuits;
    if (circuits == NULL || circuits->next_ps > until_ps) {
        return true;
    }
    if (circuits->any_dark) {
        memset(circuits->is_dark, 0, net->fabric->link_count * sizeof(bool));
        circuits->any_dark = false;
        circuits->next_ps = until_ps_of(&circuits->answer);
    } else {
        double now_ps = circuits->next_ps;
        if (!ask(net, now_ps)) {
            return false;
        }
        circuits->next_ps = circuits->any_dark ? now_ps + (double)circuits->answer.dark_ps
                                               : until_ps_of(&circuits->answer);
    }
    release_held(net);
    weft_wire_settle(&net->wire);
    return true;
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
