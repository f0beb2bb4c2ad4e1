// SPDX-License-Identifier: Apache-2.0
// One all-to-all over circuits and packets in an engine, to hold the formula against: servers
// joined by their circuits and by one switch with the packet ports of each; every pair's bytes are
// divided over its circuits, the switch, and two-hop relays as the formula divides them. Max-min
// rates, or senders that share ports by their congestion control, do not know that some flows have
// to hurry, so that the time is the formula's or longer. O(relays + n^2) flows.

#include "plan/mixnet/mixnet.h"
#include "weft/sim.h"

#include <math.h>

static double packets_of(const struct weft_mixnet_exchange *self, uint32_t node)
{
    return self->ports.node_packets != NULL ? self->ports.node_packets[node]
                                            : self->ports.packet_ports;
}

static bool build_fabric(struct weft_fabric *fabric, const struct weft_mixnet_exchange *self,
                         struct weft_arena *arena, struct weft_error *error)
{
    uint32_t n = self->node_count;
    struct weft_link *links = WEFT_NEW(arena, struct weft_link, (size_t)n * n + 2 * (size_t)n);
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            uint32_t width = self->circuits[(size_t)i * n + j];
            if (width > 0) {
                links[count++] = (struct weft_link){
                    .from = i, .to = j, .rate_Bps = width * self->rate_Bps, .width = 1};
            }
        }
        double rate_Bps = packets_of(self, i) * self->rate_Bps;
        links[count++] = (struct weft_link){.from = i, .to = n, .rate_Bps = rate_Bps, .width = 1};
        links[count++] = (struct weft_link){.from = n, .to = i, .rate_Bps = rate_Bps, .width = 1};
    }
    const struct weft_fabric_links input = {"mixnet", n, n + 1, links, count};
    if (!weft_fabric_build(fabric, &input, arena, error)) {
        return false;
    }
    fabric->forwards = true; // relays
    return true;
}

// Paths as a table, each with its bytes as weight.
struct paths {
    uint32_t *node_first;
    uint32_t *nodes;
    double *weights;
    uint32_t count, node_count;
};

static void add_path(struct paths *paths, const uint32_t *nodes, uint32_t count, double bytes)
{
    if (bytes <= 0) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        paths->nodes[paths->node_count++] = nodes[i];
    }
    paths->weights[paths->count++] = bytes;
    paths->node_first[paths->count] = paths->node_count;
}

static void add_relay(struct paths *paths, const struct weft_relay *relay, uint32_t hub)
{
    const uint32_t straight[] = {relay->from, relay->via, relay->to};
    const uint32_t first[] = {relay->from, hub, relay->via, relay->to};
    const uint32_t last[] = {relay->from, relay->via, hub, relay->to};
    if (relay->kind == WEFT_RELAY_CIRCUITS) {
        add_path(paths, straight, 3, relay->bytes);
    } else {
        add_path(paths, relay->kind == WEFT_RELAY_PACKETS_FIRST ? first : last, 4, relay->bytes);
    }
}

// Every pair's bytes over its circuits, then relays, and what is left over the switch.
static void list_paths(struct paths *paths, const struct weft_mixnet_exchange *self,
                       const struct weft_relay_plan *plan, struct weft_arena scratch)
{
    uint32_t n = self->node_count;
    double *left = WEFT_NEW(&scratch, double, (size_t)n *n);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            size_t at = (size_t)i * n + j;
            const uint32_t direct[] = {i, j};
            double carried = i == j ? 0 : fmin(self->bytes[at], self->circuits[at] * plan->time);
            left[at] = i == j ? 0 : self->bytes[at] - carried;
            add_path(paths, direct, 2, carried);
        }
    }
    for (uint32_t r = 0; r < plan->relay_count; r++) {
        const struct weft_relay *relay = &plan->relays[r];
        left[(size_t)relay->from * n + relay->to] -= relay->bytes;
        add_relay(paths, relay, n);
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            const uint32_t hub[] = {i, n, j};
            double rest = left[(size_t)i * n + j];
            add_path(paths, hub, 3, rest > 1e-9 * plan->time ? rest : 0);
        }
    }
}

static bool play(double *seconds, const struct weft_network *network,
                 const struct weft_mixnet_exchange *self, const struct weft_sim_options *sim,
                 const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    uint32_t n = self->node_count;
    uint32_t *from = WEFT_NEW(&scratch, uint32_t, (size_t)n * n);
    uint32_t *to = WEFT_NEW(&scratch, uint32_t, (size_t)n * n);
    uint64_t *size = WEFT_NEW(&scratch, uint64_t, (size_t)n * n);
    uint64_t *start = WEFT_NEW(&scratch, uint64_t, (size_t)n * n);
    struct weft_flow_list flows = {0, from, to, size, start};
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            double bytes = i == j ? 0 : ceil(self->bytes[(size_t)i * n + j]);
            if (bytes > 0) {
                from[flows.count] = i;
                to[flows.count] = j;
                size[flows.count++] = (uint64_t)bytes;
            }
        }
    }
    const struct weft_environment inner = {.arena = &scratch,
                                           .scratch = weft_arena_split(&scratch),
                                           .seed = environment->seed,
                                           .threads = 1,
                                           .error = environment->error};
    struct weft_sim_result result;
    if (!weft_sim_run_flows(&result, NULL, network, &flows, sim, &inner)) {
        return false;
    }
    *seconds = weft_seconds(result.end_ps);
    return true;
}

bool weft_mixnet_play(double *seconds, const struct weft_mixnet_exchange *exchange,
                      const struct weft_sim_options *sim,
                      const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    struct weft_arena found = weft_arena_split(&scratch);
    uint32_t n = exchange->node_count;
    struct weft_relay_plan plan;
    weft_circuit_relay(&plan, exchange->circuits, exchange->bytes, n, &exchange->ports, &found,
                       scratch);
    size_t most = 2 * (size_t)n * n + plan.relay_count;
    struct paths paths = {WEFT_NEW(&found, uint32_t, most + 1),
                          WEFT_NEW(&found, uint32_t, 4 * most), WEFT_NEW(&found, double, most), 0,
                          0};
    list_paths(&paths, exchange, &plan, scratch);
    const struct weft_route_table table = {
        .path_count = paths.count,
        .node_first = paths.node_first,
        .path_nodes = paths.nodes,
        .weights = paths.weights,
        .partial = true,
    };
    struct weft_network network = {0};
    if (!build_fabric(&network.fabric, exchange, &found, environment->error) ||
        !weft_routes_build_table(&network.routes, &network.fabric, &table, &found, scratch,
                                 environment->error)) {
        return false;
    }
    network.routes.spread = WEFT_SPREAD_SPLIT;
    const struct weft_environment inner = {
        .scratch = scratch, .seed = environment->seed, .error = environment->error};
    return play(seconds, &network, exchange, sim, &inner);
}
