// SPDX-License-Identifier: Apache-2.0
// Circuits that change. In the flow engine, at each answer of the controller all flows are taken
// out as they are, and put on the paths of the answer, or held. In the packet engine messages that
// have begun stay there, and their packets follow the answer (packet/engine/circuits.c); those that
// have no path yet are held.
//
// Each link has its own state: the rate of the last answer, what it carries meanwhile, and when its
// dark time ends. Rates come from the one max-min solver (flow/maxmin.h); a dark link needs no rate
// of zero there, since what would cross it is held. An answer costs O(flows * hops + links +
// servers^2), a link that is there again O(what is held + dark links), the time between what it
// always does.

#include "circuits.h"
#include "packet_part.h"

#include <math.h>
#include <string.h>

// A message that waits for its path. Its part is its pair, and a bit that says whether it takes the
// packet part.
struct held {
    uint32_t part;
    uint32_t owner;
    uint32_t job;
    double left_bytes;
};

struct link_state {
    double rate_Bps; // of the present answer
    double meanwhile_Bps;
    double lit_ps;  // the dark time ends; INFINITY: there is none
    double wait_ps; // flow engine: the wait of the first packet ends; likewise
    bool is_fresh;  // it was dark: the first to cross it waits
    bool is_listed; // in `dark`
};

struct sim_circuits {
    const struct weft_circuit_controller *controller;
    struct weft_circuit_answer answer;
    uint32_t server_count;
    double asked_ps; // the controller is asked again by time
    double event_ps; // ... since something happened
    struct link_state *links;
    uint32_t *dark; // links with a time to come
    uint32_t dark_count;
    double dark_next_ps;
    double *drained_ps;          // per server: its links out; then in
    const uint32_t *packet_link; // [node * servers + to]; NULL: there is no packet part
    uint32_t active_count;       // messages in the packet engine
    uint32_t *open_count;        // per pair: messages
    uint32_t *class_part;        // per class of paths
    uint32_t *back;              // room for one
    uint32_t *path;              // room for one
    double *unserved_bytes;
    struct weft_circuit_event *events;
    uint32_t event_count;
    uint32_t *barriers;
    uint32_t barrier_count, barrier_room;
    struct held *held;
    uint32_t held_count;
    struct weft_active_withdrawn *withdrawn;
    uint32_t room; // of `held` and `withdrawn`
    struct weft_circuit_counts counts;
    struct weft_error error;
    bool has_failed;
    struct weft_arena *arena;
};

void sim_circuits_init(struct weft_simnet *net, const struct weft_active_room *room,
                       struct weft_arena *arena)
{
    const struct weft_fabric *fabric = net->fabric;
    struct sim_circuits *circuits = WEFT_NEW(arena, struct sim_circuits, 1);
    size_t servers = fabric->server_count;
    circuits->controller = net->options->circuits;
    circuits->server_count = fabric->server_count;
    circuits->event_ps = (double)INFINITY;
    circuits->dark_next_ps = (double)INFINITY;
    circuits->links = WEFT_NEW(arena, struct link_state, fabric->link_count);
    circuits->dark = WEFT_NEW_RAW(arena, uint32_t, fabric->link_count);
    circuits->drained_ps = WEFT_NEW_RAW(arena, double, 2 * servers);
    circuits->path = WEFT_NEW_RAW(arena, uint32_t, (size_t)fabric->node_count + 1);
    circuits->back = WEFT_NEW_RAW(arena, uint32_t, (size_t)fabric->node_count + 1);
    circuits->open_count = WEFT_NEW(arena, uint32_t, servers * servers);
    circuits->class_part = WEFT_NEW_RAW(arena, uint32_t, room->class_capacity);
    circuits->unserved_bytes = WEFT_NEW(arena, double, servers *servers);
    circuits->held = WEFT_NEW_RAW(arena, struct held, room->flow_capacity);
    circuits->withdrawn = WEFT_NEW_RAW(arena, struct weft_active_withdrawn, room->flow_capacity);
    // Each flow begins and ends at most once at an instant.
    circuits->events =
        WEFT_NEW_RAW(arena, struct weft_circuit_event, 2 * (size_t)room->flow_capacity);
    circuits->room = room->flow_capacity;
    circuits->barrier_room = 64;
    circuits->barriers = WEFT_NEW_RAW(arena, uint32_t, circuits->barrier_room);
    circuits->packet_link = sim_packet_part_build(fabric, arena);
    circuits->arena = arena;
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        circuits->links[l].lit_ps = (double)INFINITY;
        circuits->links[l].wait_ps = (double)INFINITY;
        circuits->links[l].rate_Bps = sim_is_circuit(fabric, l) ? 0 : fabric->links[l].rate_Bps;
    }
    net->circuits = circuits;
    if (weft_simnet_is_packet(net)) {
        packet_circuits_init(&net->packets, fabric, circuits->packet_link, arena);
    }
}

// ---- links ----

// What a link carries now; 0: it is dark, or no circuit makes it.
static double now_Bps(const struct link_state *link)
{
    return !isinf(link->wait_ps) ? 0 : !isinf(link->lit_ps) ? link->meanwhile_Bps : link->rate_Bps;
}

static void list_dark(struct sim_circuits *circuits, uint32_t l)
{
    struct link_state *link = &circuits->links[l];
    if (!link->is_listed) {
        link->is_listed = true;
        circuits->dark[circuits->dark_count++] = l;
    }
    circuits->dark_next_ps = fmin(circuits->dark_next_ps, fmin(link->lit_ps, link->wait_ps));
}

// Has an engine do what a link's new state asks for. Returns when the link has drained, if it
// closes; else 0.
static double apply_rate(struct weft_simnet *net, uint32_t l, double before_Bps)
{
    struct link_state *link = &net->circuits->links[l];
    double rate_Bps = now_Bps(link);
    double drained_ps = 0;
    if (!weft_simnet_is_packet(net)) {
        if (rate_Bps > 0 && rate_Bps != before_Bps) {
            weft_maxmin_set_capacity(&net->active.maxmin, l, rate_Bps);
        }
        return 0;
    }
    if (rate_Bps > 0) {
        packet_set_rate(&net->packets, l, rate_Bps, net->fabric, net->options);
    } else if (before_Bps > 0) {
        drained_ps = (double)packet_circuits_close(&net->packets, l);
    }
    if (rate_Bps > 0 && before_Bps == 0) {
        packet_circuits_open(&net->packets, l, link->is_fresh);
    }
    return drained_ps;
}

// Links whose dark time, or the wait of whose first packet, is over.
static void light(struct weft_simnet *net, double until_ps)
{
    struct sim_circuits *circuits = net->circuits;
    uint32_t count = circuits->dark_count;
    circuits->dark_count = 0;
    circuits->dark_next_ps = (double)INFINITY;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t l = circuits->dark[i];
        struct link_state *link = &circuits->links[l];
        double before_Bps = now_Bps(link);
        link->is_listed = false;
        if (link->lit_ps <= until_ps) {
            link->lit_ps = (double)INFINITY;
            link->is_fresh |= before_Bps == 0 && isinf(link->wait_ps);
        }
        link->wait_ps = link->wait_ps <= until_ps ? (double)INFINITY : link->wait_ps;
        if (now_Bps(link) != before_Bps) {
            apply_rate(net, l, before_Bps);
        }
        if (!isinf(link->lit_ps) || !isinf(link->wait_ps)) {
            list_dark(circuits, l);
        }
    }
}

// ---- messages ----

static uint32_t pair_of(const struct sim_circuits *circuits, uint32_t part)
{
    return part % (circuits->server_count * circuits->server_count);
}

static bool is_by_packets(const struct sim_circuits *circuits, uint32_t part)
{
    return part >= circuits->server_count * circuits->server_count;
}

static double packet_share(const struct sim_circuits *circuits, uint32_t pair)
{
    const double *share = circuits->answer.packet_share;
    return share == NULL || circuits->packet_link == NULL ? 0 : share[pair];
}

uint32_t sim_circuits_part_count(const struct weft_simnet *net, uint32_t from, uint32_t to)
{
    if (from == to) {
        return 0;
    }
    double share = packet_share(net->circuits, from * net->circuits->server_count + to);
    return share > 0 && share < 1 ? 2 : 1;
}

struct weft_simnet_path sim_circuits_part(const struct weft_simnet *net, uint32_t from, uint32_t to,
                                          uint32_t index)
{
    const struct sim_circuits *circuits = net->circuits;
    uint32_t pair = from * circuits->server_count + to;
    double share = packet_share(circuits, pair);
    bool by_packets = share >= 1 || index == 1;
    uint32_t pairs = circuits->server_count * circuits->server_count;
    return (struct weft_simnet_path){by_packets ? pair + pairs : pair, share <= 0 || share >= 1 ? 1
                                                                       : by_packets ? share
                                                                                    : 1 - share};
}

// The link that a part takes next from a node, by the circuits' table or by the packet part.
static uint32_t next_link(const struct sim_circuits *circuits, uint32_t at, uint32_t to,
                          bool by_packets)
{
    size_t entry = (size_t)at * circuits->server_count + to;
    uint32_t link = WEFT_NONE;
    if (at < circuits->server_count && !by_packets) {
        link = circuits->answer.next_link[entry];
    }
    return link != WEFT_NONE || circuits->packet_link == NULL ? link : circuits->packet_link[entry];
}

// In the flow engine the first to cross a link that was dark waits.
static bool must_wait(struct weft_simnet *net, uint32_t l)
{
    struct sim_circuits *circuits = net->circuits;
    struct link_state *link = &circuits->links[l];
    if (weft_simnet_is_packet(net) || !link->is_fresh) {
        return false;
    }
    link->is_fresh = false;
    if (circuits->answer.first_ps == 0) {
        return false;
    }
    link->wait_ps = net->active.now_ps + (double)circuits->answer.first_ps;
    list_dark(circuits, l);
    return true;
}

// The present path of a part, whose length is returned; 0: it has none, or crosses a dark link.
static uint32_t find_path(struct weft_simnet *net, uint32_t part, uint32_t *path)
{
    struct sim_circuits *circuits = net->circuits;
    uint32_t pair = pair_of(circuits, part);
    uint32_t to = pair % circuits->server_count;
    uint32_t count = 0;
    for (uint32_t at = pair / circuits->server_count; at != to;) {
        uint32_t link = next_link(circuits, at, to, is_by_packets(circuits, part));
        if (link == WEFT_NONE || count == net->fabric->node_count) {
            return 0;
        }
        WEFT_ASSERT(net->fabric->links[link].from == at && circuits->links[link].rate_Bps > 0);
        if (now_Bps(&circuits->links[link]) == 0 || must_wait(net, link)) {
            return 0;
        }
        path[count++] = link;
        at = net->fabric->links[link].to;
    }
    return count;
}

// Whether the table has nothing for a pair.
static bool lacks_circuit(const struct sim_circuits *circuits, uint32_t pair)
{
    return circuits->answer.next_link[pair] == WEFT_NONE;
}

static void note_event(struct weft_simnet *net, uint32_t pair, bool is_carried)
{
    struct sim_circuits *circuits = net->circuits;
    WEFT_ASSERT(circuits->event_count < 2 * circuits->room);
    circuits->events[circuits->event_count++] = (struct weft_circuit_event){
        pair / circuits->server_count, pair % circuits->server_count, is_carried};
    circuits->event_ps =
        weft_simnet_is_packet(net) ? (double)net->packets.clock.now_ps : net->active.now_ps;
}

static void start_packets(struct weft_simnet *net, const struct held *message, uint32_t class_id,
                          uint32_t hop_count)
{
    struct sim_circuits *circuits = net->circuits;
    uint32_t n = circuits->server_count;
    uint32_t pair = pair_of(circuits, message->part);
    uint32_t back = pair % n * n + pair / n + (message->part - pair);
    const struct packet_route route = {circuits->path, hop_count, circuits->back,
                                       find_path(net, back, circuits->back),
                                       is_by_packets(circuits, message->part)};
    circuits->active_count++;
    net->active.started_count++;
    packet_engine_start(&net->packets, &route, message->left_bytes,
                        (struct packet_end){message->owner, class_id, message->job});
}

// Puts a message on the path that the present circuits give its pair; without one it is held until
// they change. Its acknowledgements go back by the circuits of this instant, too.
static void place(struct weft_simnet *net, struct held message)
{
    struct sim_circuits *circuits = net->circuits;
    uint32_t pair = pair_of(circuits, message.part);
    if (lacks_circuit(circuits, pair) && circuits->packet_link != NULL) {
        message.part = pair + circuits->server_count * circuits->server_count;
    }
    uint32_t hop_count = find_path(net, message.part, circuits->path);
    if (hop_count == 0) {
        WEFT_ASSERT(circuits->held_count < circuits->room);
        circuits->held[circuits->held_count++] = message;
        return;
    }
    if (hop_count > circuits->counts.hop_max) {
        circuits->counts.hop_max = hop_count;
    }
    uint32_t class_id = weft_simnet_open(net, circuits->path, hop_count, message.job);
    circuits->class_part[class_id] = message.part;
    if (weft_simnet_is_packet(net)) { // the class is closed when the message ends
        start_packets(net, &message, class_id, hop_count);
        return;
    }
    weft_active_start(&net->active, class_id, message.left_bytes, message.owner);
    weft_active_close(&net->active, class_id);
}

void sim_circuits_start(struct weft_simnet *net, uint32_t part, double wire_bytes, uint32_t owner,
                        uint32_t job)
{
    struct sim_circuits *circuits = net->circuits;
    uint32_t pair = pair_of(circuits, part);
    circuits->open_count[pair]++;
    if (circuits->controller->at_begin && !is_by_packets(circuits, part) &&
        lacks_circuit(circuits, pair)) {
        note_event(net, pair, false);
    }
    place(net, (struct held){part, owner, job, wire_bytes});
}

void sim_circuits_ended(struct weft_simnet *net, uint32_t class_id)
{
    struct sim_circuits *circuits = net->circuits;
    if (circuits == NULL) {
        return;
    }
    uint32_t pair = pair_of(circuits, circuits->class_part[class_id]);
    WEFT_ASSERT(circuits->open_count[pair] > 0);
    circuits->active_count -= weft_simnet_is_packet(net);
    if (--circuits->open_count[pair] == 0 && circuits->controller->at_end) {
        note_event(net, pair, true);
    }
}

// Barriers take no room of their own among tasks, so that theirs grows with how many end at once.
void sim_circuits_barrier_ended(struct weft_simnet *net, uint32_t task)
{
    struct sim_circuits *circuits = net->circuits;
    if (circuits == NULL || !circuits->controller->at_barriers) {
        return;
    }
    if (circuits->barrier_count == circuits->barrier_room) {
        circuits->barrier_room *= 2;
        uint32_t *larger = WEFT_NEW_RAW(circuits->arena, uint32_t, circuits->barrier_room);
        memcpy(larger, circuits->barriers, circuits->barrier_count * sizeof *larger);
        circuits->barriers = larger;
    }
    circuits->barriers[circuits->barrier_count++] = task;
    circuits->event_ps =
        weft_simnet_is_packet(net) ? (double)net->packets.clock.now_ps : net->active.now_ps;
}

// ---- changes ----

// Puts what is held on its path, where there is one now.
static void release_held(struct weft_simnet *net)
{
    struct sim_circuits *circuits = net->circuits;
    uint32_t count = circuits->held_count;
    circuits->held_count = 0; // what stays held goes back behind what was looked at
    for (uint32_t i = 0; i < count; i++) {
        place(net, circuits->held[i]);
    }
    if (weft_simnet_is_packet(net)) {
        packet_circuits_release(&net->packets);
    }
}

static void hold_all(struct weft_simnet *net)
{
    struct sim_circuits *circuits = net->circuits;
    if (weft_simnet_is_packet(net)) {
        return;
    }
    uint64_t started = net->active.started_count;
    uint32_t count = weft_active_withdraw(&net->active, circuits->withdrawn);
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_active_withdrawn *flow = &circuits->withdrawn[i];
        uint32_t n = circuits->server_count;
        uint32_t part =
            net->fabric->links[flow->first_link].from * n + net->fabric->links[flow->last_link].to;
        part += sim_is_circuit(net->fabric, flow->first_link) ? 0 : n * n;
        WEFT_ASSERT(circuits->held_count < circuits->room);
        circuits->held[circuits->held_count++] =
            (struct held){part, flow->owner, flow->job, flow->left_bytes};
    }
    net->active.started_count = started - count; // they start again
}

static void sum_demand(const struct weft_simnet *net)
{
    struct sim_circuits *circuits = net->circuits;
    size_t pairs = (size_t)circuits->server_count * circuits->server_count;
    memset(circuits->unserved_bytes, 0, pairs * sizeof(double));
    for (uint32_t i = 0; i < circuits->held_count; i++) {
        circuits->unserved_bytes[pair_of(circuits, circuits->held[i].part)] +=
            circuits->held[i].left_bytes;
    }
    if (weft_simnet_is_packet(net)) {
        packet_circuits_demand(&net->packets, circuits->unserved_bytes);
    }
}

// A link's state after an answer; its dark time, if one begins, is without an end yet. Returns
// whether one begins. One that goes on keeps its time, and what was answered for the time until
// then may only grow.
static bool take_answer(struct sim_circuits *circuits, uint32_t l)
{
    const struct weft_circuit_answer *answer = &circuits->answer;
    struct link_state *link = &circuits->links[l];
    double rate_Bps = answer->rate_Bps[l];
    bool stops = answer->stops_all && answer->dark_ps > 0;
    bool is_told = answer->meanwhile_Bps != NULL && !stops;
    double meanwhile_Bps = is_told ? answer->meanwhile_Bps[l] : 0;
    bool goes_on = !isinf(link->lit_ps);
    double least_Bps = goes_on ? link->meanwhile_Bps : rate_Bps;
    WEFT_ASSERT(meanwhile_Bps <= rate_Bps);
    if (rate_Bps == link->rate_Bps && !stops && !(is_told && meanwhile_Bps < least_Bps)) {
        bool grows = is_told && meanwhile_Bps < rate_Bps;
        link->is_fresh |= goes_on && grows && link->meanwhile_Bps == 0;
        link->meanwhile_Bps = grows ? meanwhile_Bps : link->meanwhile_Bps;
        return false;
    }
    bool is_dark = answer->dark_ps > 0 && rate_Bps > meanwhile_Bps;
    if (rate_Bps == 0 || (is_dark && meanwhile_Bps == 0)) {
        link->wait_ps = (double)INFINITY;
        link->is_fresh = false;
    }
    link->rate_Bps = rate_Bps;
    link->meanwhile_Bps = meanwhile_Bps;
    link->lit_ps = is_dark ? (double)answer->dark_ps : (double)INFINITY;
    return is_dark;
}

// What all links carry from now on, and when those that change carry what was answered. Packets
// first drain from the links that close: a switch that turns as a whole waits for all of them, a
// port for the others that change at its servers.
static void apply_answer(struct weft_simnet *net, double now_ps)
{
    struct sim_circuits *circuits = net->circuits;
    const struct weft_link *links = net->fabric->links;
    double *out_ps = circuits->drained_ps;
    double *in_ps = circuits->drained_ps + circuits->server_count;
    double all_ps = now_ps;
    struct weft_arena scratch = *circuits->arena;
    uint32_t *begun = WEFT_NEW_RAW(&scratch, uint32_t, net->fabric->link_count);
    uint32_t begun_count = 0;
    for (uint32_t s = 0; s < circuits->server_count; s++) {
        out_ps[s] = now_ps;
        in_ps[s] = now_ps;
    }
    for (uint32_t l = 0; l < net->fabric->link_count; l++) {
        if (!sim_is_circuit(net->fabric, l)) {
            continue;
        }
        double before_Bps = now_Bps(&circuits->links[l]);
        if (take_answer(circuits, l)) {
            begun[begun_count++] = l;
        }
        if (now_Bps(&circuits->links[l]) != before_Bps) {
            double drained_ps = apply_rate(net, l, before_Bps);
            out_ps[links[l].from] = fmax(out_ps[links[l].from], drained_ps);
            in_ps[links[l].to] = fmax(in_ps[links[l].to], drained_ps);
            all_ps = fmax(all_ps, drained_ps);
        }
    }
    for (uint32_t i = 0; i < begun_count; i++) {
        uint32_t l = begun[i];
        double drained_ps = fmax(out_ps[links[l].from], in_ps[links[l].to]);
        circuits->links[l].lit_ps =
            (circuits->answer.stops_all ? all_ps : drained_ps) + (double)circuits->answer.dark_ps;
        list_dark(circuits, l);
    }
}

// A pair may have gone on at the same instant.
static void drop_events(struct sim_circuits *circuits)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < circuits->event_count; i++) {
        const struct weft_circuit_event event = circuits->events[i];
        uint32_t pair = event.from * circuits->server_count + event.to;
        if (!event.is_carried || circuits->open_count[pair] == 0) {
            circuits->events[kept++] = event;
        }
    }
    circuits->event_count = kept;
}

static bool ask(struct weft_simnet *net, double now_ps)
{
    struct sim_circuits *circuits = net->circuits;
    sum_demand(net);
    drop_events(circuits);
    const struct weft_circuit_demand demand = {.now_ps = (uint64_t)(now_ps + 0.5),
                                               .server_count = circuits->server_count,
                                               .unserved_bytes = circuits->unserved_bytes,
                                               .events = circuits->events,
                                               .event_count = circuits->event_count,
                                               .barriers = circuits->barriers,
                                               .barrier_count = circuits->barrier_count};
    circuits->counts.answer_count++;
    if (!circuits->controller->decide(circuits->controller->state, &circuits->answer, &demand,
                                      *circuits->arena, &circuits->error)) {
        circuits->has_failed = true;
        return false;
    }
    const struct weft_circuit_answer *answer = &circuits->answer;
    WEFT_ASSERT(answer->until_ps > demand.now_ps);
    circuits->event_count = 0;
    circuits->barrier_count = 0;
    circuits->event_ps = (double)INFINITY;
    circuits->asked_ps =
        answer->until_ps == WEFT_NEVER ? (double)INFINITY : (double)answer->until_ps;
    circuits->counts.dark_ps += answer->dark_ps;
    if (weft_simnet_is_packet(net)) {
        net->packets.circuits->next_link = answer->next_link;
        net->packets.circuits->first_ps = answer->first_ps;
    }
    apply_answer(net, now_ps);
    return true;
}

static double due_ps(const struct sim_circuits *circuits)
{
    return fmin(fmin(circuits->asked_ps, circuits->event_ps), circuits->dark_next_ps);
}

double sim_circuits_next_ps(const struct weft_simnet *net, bool more)
{
    const struct sim_circuits *circuits = net->circuits;
    if (circuits == NULL || (!more && circuits->held_count == 0 && circuits->active_count == 0 &&
                             isinf(weft_active_next_ps(&net->active)))) {
        return (double)INFINITY;
    }
    return due_ps(circuits);
}

bool sim_circuits_step(struct weft_simnet *net, double until_ps)
{
    struct sim_circuits *circuits = net->circuits;
    if (circuits == NULL || due_ps(circuits) > until_ps) {
        return true;
    }
    double now_ps = due_ps(circuits);
    hold_all(net);
    light(net, until_ps);
    if (fmin(circuits->asked_ps, circuits->event_ps) <= until_ps && !ask(net, now_ps)) {
        return false;
    }
    release_held(net);
    weft_active_settle(&net->active);
    return true;
}

bool sim_circuits_finish(const struct weft_simnet *net, struct weft_error *error)
{
    const struct sim_circuits *circuits = net->circuits;
    if (circuits == NULL) {
        return true;
    }
    if (circuits->has_failed) {
        *error = circuits->error;
        return false;
    }
    if (circuits->held_count > 0) {
        uint32_t pair = pair_of(circuits, circuits->held[0].part);
        return weft_fail(error, WEFT_INFEASIBLE,
                         "%u messages wait for circuits that never come, the first from server %u "
                         "to server %u; join them, or give the fabric a packet part",
                         circuits->held_count, pair / circuits->server_count,
                         pair % circuits->server_count);
    }
    return true;
}

struct weft_circuit_counts sim_circuits_counts(const struct weft_simnet *net)
{
    return net->circuits == NULL ? (struct weft_circuit_counts){0} : net->circuits->counts;
}
