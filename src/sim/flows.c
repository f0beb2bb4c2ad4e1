// SPDX-License-Identifier: Apache-2.0
// Plays a list of flows, in the order of their starts, over either engine.
//
// Time goes from event to event: the next start, the next end, the next change of circuits. The
// flow engine solves the rates again at each such instant (flow/maxmin.c), and the packet engine
// plays its own events in between, and their number is what it costs.

#include "flows.h"

#include <math.h>
#include <string.h>

// Whether the packet engine can play these flows.
static bool check_packets(const struct weft_flow_list *flows, const struct weft_fabric *fabric,
                          const struct weft_sim_options *options, struct weft_error *error)
{
    if (!packet_check_fabric(fabric, options, error) ||
        !packet_ports_check_priorities(options, flows->count, error)) {
        return false;
    }
    double factor = options->packet_bytes / (double)(options->packet_bytes - options->header_bytes);
    for (uint32_t i = 0; i < flows->count; i++) {
        if (!packet_check_message((double)flows->size_bytes[i] * factor, options, error)) {
            return weft_wrap(error, "flow %u", i);
        }
    }
    return true;
}

// Everything that a list can be wrong in, before anything is reserved. *path_total is the number of
// paths that its flows take at most, plus one: so many messages can be open at once.
static bool check_flows(const struct weft_flow_list *flows, const struct weft_routes *routes,
                        const struct weft_sim_options *options, uint32_t *path_total,
                        struct weft_error *error)
{
    const struct weft_fabric *fabric = routes->fabric;
    uint64_t total = 1;
    uint64_t start_ps = 0;
    for (uint32_t i = 0; i < flows->count; i++) {
        uint32_t from = flows->from[i];
        uint32_t to = flows->to[i];
        if (from >= fabric->server_count || to >= fabric->server_count) {
            return weft_fail(error, WEFT_INPUT,
                             "flow %u: server %u does not exist; the fabric has %u", i,
                             from >= fabric->server_count ? from : to, fabric->server_count);
        }
        if (flows->start_ps[i] < start_ps) {
            return weft_fail(error, WEFT_INPUT,
                             "flow %u: starts before the flow above it; sort by start", i);
        }
        start_ps = flows->start_ps[i];
        uint32_t count = from == to ? 1 : weft_routes_path_count(routes, from, to);
        if (count == 0) {
            return weft_fail(error, WEFT_INPUT,
                             "flow %u: no route from server %u to server %u; join them by links", i,
                             from, to);
        }
        total += from == to ? 1
                            : sim_circuits_part_max(fabric, options,
                                                    weft_routes_part_count(routes, from, to));
    }
    if (total * routes->hop_max > UINT32_MAX / 2) {
        return weft_fail(error, WEFT_INPUT, "%u flows are more than one run holds; split the list",
                         flows->count);
    }
    *path_total = (uint32_t)total;
    return true;
}

// The flow engine's loop. All ends within a window of active->now_ps count as one instant
// (weft_active_window_ps), so that flows that end together cost one solve.
static void play(struct flows_player *player)
{
    const struct weft_flow_list *flows = player->flows;
    struct weft_active_flows *active = &player->net.active;
    if (!sim_circuits_step(&player->net, 0)) {
        return;
    }
    for (;;) {
        double next_ps = weft_active_next_ps(active);
        next_ps = fmin(next_ps, sim_circuits_next_ps(&player->net, player->next < flows->count));
        if (player->next < flows->count) {
            next_ps = fmin(next_ps, (double)flows->start_ps[player->next]);
        }
        if (isinf(next_ps) ||
            !sim_watch_fluid(&player->watch, active, next_ps, player->event_count)) {
            return;
        }
        player->event_count++;
        active->now_ps = next_ps;
        double until_ps = weft_active_window_ps(active);
        struct weft_active_end end;
        while (weft_active_take(active, until_ps, &end)) {
            sim_circuits_ended(&player->net, end.class_id);
            double wire_bytes =
                weft_simnet_wire_bytes(&player->net, (double)flows->size_bytes[end.owner]);
            double latency_ps = weft_simnet_latency_ps(&player->net, end.class_id, wire_bytes);
            player->end_ps[end.owner] = fmax(player->end_ps[end.owner], end.end_ps + latency_ps);
        }
        while (player->next < flows->count && (double)flows->start_ps[player->next] <= until_ps) {
            flows_start(player, player->next++);
        }
        weft_active_settle(active);
        if (!sim_circuits_step(&player->net, until_ps)) {
            return;
        }
    }
}

// The packet engine's loop: it runs until a message ends, the next flow starts or the circuits
// change. Simulated time is whole picoseconds here, so that a change of circuits is rounded up.
static void play_packets(struct flows_player *player)
{
    const struct weft_flow_list *flows = player->flows;
    struct packet_engine *packets = &player->net.packets;
    if (!sim_circuits_step(&player->net, 0)) {
        return;
    }
    for (;;) {
        bool begins = player->next < flows->count;
        uint64_t until_ps = begins ? flows->start_ps[player->next] : WEFT_NEVER;
        double circuit_ps = sim_circuits_next_ps(&player->net, begins);
        bool changes = ceil(circuit_ps) < (double)until_ps;
        bool more = begins || changes;
        until_ps = changes ? (uint64_t)ceil(circuit_ps) : until_ps;
        if (more && until_ps > CLOCK_END_PS) {
            until_ps = CLOCK_END_PS; // its first packet will be beyond
        }
        struct packet_end end;
        if (sim_watch_run(&player->watch, packets, until_ps, &end)) {
            double end_ps = (double)packets->clock.now_ps;
            sim_circuits_ended(&player->net, end.path_id);
            end_ps += weft_simnet_tail_ps(&player->net, end.path_id, 0);
            player->end_ps[end.owner] = fmax(player->end_ps[end.owner], end_ps);
            sim_watch_record(&player->watch, &player->net, &end, end_ps, 0, end.owner);
            weft_active_close(&player->net.active, end.path_id);
        } else if (!more || player->watch.is_over) {
            break;
        } else {
            packets->clock.now_ps = until_ps;
            if (!changes) {
                flows_start(player, player->next++);
            } else if (!sim_circuits_step(&player->net, ceil(circuit_ps))) {
                break;
            }
        }
    }
}

static void name_flow(char *text, size_t room, const void *input, uint32_t owner)
{
    (void)input;
    snprintf(text, room, "flow %u", owner);
}

// Plays the flows with packets, in partitions where that is asked for and can be.
static bool run_packets(struct flows_player *player, struct weft_sim_result *result,
                        struct weft_arena scratch, struct weft_error *error)
{
    struct packet_partitioning partitioning;
    struct weft_arena beside = weft_arena_split(&scratch);
    if (flows_divide(&partitioning, player, &beside, scratch)) {
        if (!flows_play_partitions(player, &partitioning, result, &beside, error)) {
            return false;
        }
    } else {
        play_packets(player);
    }
    const struct packet_engine *packets = &player->net.packets;
    player->event_count = packets->counts.events;
    for (uint32_t link = 0; link < player->net.fabric->link_count; link++) {
        player->net.active.link_bytes[link] = (double)packets->links[link].bytes;
    }
    return packet_engine_check(packets, error);
}

// Each flow's end in whole picoseconds, and the last one.
static bool round_ends(struct weft_sim_result *result, uint64_t *completion_ps,
                       const struct flows_player *player, struct weft_error *error)
{
    for (uint32_t i = 0; i < player->flows->count; i++) {
        uint64_t end_ps;
        if (!weft_simnet_round_ps(&end_ps, player->end_ps[i], error)) {
            return weft_wrap(error, "flow %u", i);
        }
        result->end_ps = end_ps > result->end_ps ? end_ps : result->end_ps;
        if (completion_ps != NULL) {
            completion_ps[i] = end_ps;
        }
    }
    return true;
}

// What the flows, or the classes that are played for them, count for (sim_watch_work).
static double expected_work(const struct flows_player *player)
{
    const struct weft_flow_list *flows = player->flows;
    double work = player->fold != NULL ? flows->count : 0;
    for (uint32_t i = 0; player->fold == NULL && i < flows->count; i++) {
        uint32_t parts = flows->from[i] == flows->to[i] || flows->size_bytes[i] == 0
                             ? 0
                             : weft_simnet_path_count(&player->net, flows->from[i], flows->to[i]);
        double wire_bytes = weft_simnet_wire_bytes(&player->net, (double)flows->size_bytes[i]);
        work += parts > 0 ? sim_watch_work(&player->watch, parts, wire_bytes / parts) : 0;
    }
    return work;
}

bool weft_sim_run_flows(struct weft_sim_result *result, uint64_t *completion_ps,
                        const struct weft_network *network, const struct weft_flow_list *flows,
                        const struct weft_sim_options *options,
                        const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_arena scratch = environment->scratch;
    struct weft_error *error = environment->error;
    const struct weft_fabric *fabric = &network->fabric;
    const struct weft_routes *routes = &network->routes;
    uint32_t path_total = 0;
    WEFT_ASSERT(routes->fabric == fabric);
    bool packets = options->engine == WEFT_ENGINE_PACKET;
    if (options->transport != WEFT_TRANSPORT_IDEAL && !packets) {
        return weft_fail(error, WEFT_INPUT,
                         "lists of flows take a transport in the packet engine only");
    }
    const struct weft_packet_options defaults = WEFT_PACKET_DEFAULTS;
    struct weft_sim_options filled = *options;
    filled.packet = filled.packet == NULL ? &defaults : filled.packet;
    options = &filled;
    if (!weft_simnet_check_options(options, error) || !sim_circuits_check(fabric, options, error) ||
        !check_flows(flows, routes, options, &path_total, error) ||
        (packets && (!check_packets(flows, fabric, options, error) ||
                     !packet_ports_check_flows(options, path_total, routes->hop_max, error)))) {
        return false;
    }
    uint32_t hop_max = routes->hop_max > 0 ? routes->hop_max : 1;
    struct flows_player player = {.flows = flows};
    player.net = (struct weft_simnet){.fabric = fabric, .routes = routes, .options = options};
    sim_watch_init(&player.watch, fabric, options, arena);
    struct weft_sim_result outcome = {.partitions.count = 1};
    struct flows_fold fold;
    struct weft_arena beside = weft_arena_split(&scratch);
    bool folded = !packets && flows_fold(&fold, &player, path_total - 1, &beside, scratch);
    outcome.folded = folded;
    if (folded) {
        flows_take_classes(&player, &fold, &scratch);
    } else {
        const struct weft_active_room room = {path_total, path_total, hop_max};
        weft_simnet_init(&player.net, fabric, routes, options, &room, &scratch);
        player.end_ps = WEFT_NEW_RAW(&scratch, double, flows->count);
    }
    sim_watch_expect(&player.watch, expected_work(&player));
    if (!packets) {
        play(&player);
    } else if (!run_packets(&player, &outcome, scratch, error)) {
        return false;
    }
    if (!sim_watch_check(&player.watch, &player.net, name_flow, NULL, error) ||
        !sim_circuits_finish(&player.net, error) ||
        !(folded ? flows_round_classes(&outcome, completion_ps, &player, flows, scratch, error)
                 : round_ends(&outcome, completion_ps, &player, error))) {
        return false;
    }
    const struct weft_active_flows *active = &player.net.active;
    const double *from_bytes = folded ? fold.link_bytes : active->link_bytes;
    double *link_bytes = WEFT_NEW_RAW(arena, double, fabric->link_count);
    memcpy(link_bytes, from_bytes, fabric->link_count * sizeof(*link_bytes));
    outcome.circuits = sim_circuits_counts(&player.net);
    outcome.flow_count = outcome.folded ? outcome.flow_count : active->started_count;
    outcome.event_count = player.event_count;
    outcome.solve_count = active->maxmin.counts.solves;
    outcome.work_count = active->maxmin.counts.work;
    outcome.link_bytes = link_bytes;
    outcome.packets = player.net.packets.counts;
    outcome.skips = packet_skip_counts(&player.net.packets);
    outcome.step = packet_step_trace(&player.net.packets, arena);
    outcome.records = sim_watch_take_records(&player.watch);
    outcome.ports = packets ? packet_engine_ports(&player.net.packets, arena) : NULL;
    *result = outcome;
    return true;
}
