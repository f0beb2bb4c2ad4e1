// SPDX-License-Identifier: Apache-2.0
// A plan of a model on circuits beside packets: the strategy, what of each server is bought, and
// what the region's switch does over an iteration.
//
// The switch has a port for each of a server's circuits, so that a port, not a server, is a node of
// the schedule: port a of server i is node i * circuit_ports + a, and the circuits are an
// involution of the ports. From one wiring to the next, pairs of servers keep the ports that they
// still need; those are not disturbed. Micro-batches are laid out evenly over the iteration.

#include "plan/mixnet/mixnet.h"

#include <string.h>

// Strategies of the search that are iterated.
#define CANDIDATES 24u
// Changes that a schedule lists; what is beyond is left out and counted by the plan alone.
#define CHANGES_MAX 65536u

// ---- the schedule ----

// Joins ports so that pairs have as many as `circuits` says; pairs keep what they have of them.
static void join_ports(uint32_t *peers, const uint32_t *circuits, uint32_t n, uint32_t ports,
                       struct weft_arena scratch)
{
    uint32_t *wanted = WEFT_NEW(&scratch, uint32_t, (size_t)n * n);
    memcpy(wanted, circuits, (size_t)n * n * sizeof *wanted);
    for (uint32_t a = 0; a < n * ports; a++) {
        uint32_t i = a / ports;
        uint32_t j = peers[a] / ports;
        if (peers[a] > a && wanted[(size_t)i * n + j] > 0) {
            wanted[(size_t)i * n + j]--;
            wanted[(size_t)j * n + i]--;
        } else if (peers[a] > a) {
            peers[peers[a]] = peers[a];
            peers[a] = a;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = i + 1; j < n; j++) {
            for (uint32_t c = 0; c < wanted[(size_t)i * n + j]; c++) {
                uint32_t a = i * ports;
                uint32_t b = j * ports;
                while (peers[a] != a) {
                    a++;
                }
                while (peers[b] != b) {
                    b++;
                }
                WEFT_ASSERT(a < (i + 1) * ports && b < (j + 1) * ports);
                peers[a] = b;
                peers[b] = a;
            }
        }
    }
}

static struct weft_circuit_schedule schedule_of(const struct weft_mixnet_iteration *iteration,
                                                uint32_t ports,
                                                const struct weft_circuit_delays *delays,
                                                struct weft_arena *arena, struct weft_arena scratch)
{
    const struct weft_mixnet_replay *replay = &iteration->replay;
    uint64_t micro_batches = iteration->exchange.micro_batches;
    uint32_t n = replay->node_count;
    uint32_t *peers = WEFT_NEW(arena, uint32_t, (size_t)n * ports);
    for (uint32_t a = 0; a < n * ports; a++) {
        peers[a] = a;
    }
    struct weft_circuit_schedule schedule = {.node_count = n * ports,
                                             .plane_count = 1,
                                             .first = peers,
                                             .delays = *delays,
                                             .end_ps = weft_picoseconds(iteration->iteration_s)};
    if (replay->wiring_count == 0) {
        return schedule; // nothing leaves a server
    }
    join_ports(peers, replay->wirings[0].circuits, n, ports, scratch);
    uint64_t most = micro_batches * (uint64_t)replay->wiring_count;
    most = most < CHANGES_MAX ? most : CHANGES_MAX;
    struct weft_circuit_change *changes = WEFT_NEW(arena, struct weft_circuit_change, most + 1);
    double step_s = iteration->iteration_s / (double)micro_batches;
    for (uint64_t m = 0; m < micro_batches; m++) {
        // From the second micro-batch on it begins with what the last one left.
        for (uint32_t w = m == 0; w < replay->wiring_count && schedule.change_count < most; w++) {
            uint32_t *next = WEFT_NEW_RAW(arena, uint32_t, (size_t)n * ports);
            memcpy(next, peers, (size_t)n * ports * sizeof *next);
            join_ports(next, replay->wirings[w].circuits, n, ports, scratch);
            if (memcmp(next, peers, (size_t)n * ports * sizeof *next) == 0) {
                continue;
            }
            double at_s = ((double)m + replay->wirings[w].moment) * step_s;
            changes[schedule.change_count++] =
                (struct weft_circuit_change){weft_picoseconds(at_s), 0, next};
            peers = next;
        }
    }
    schedule.changes = changes;
    return schedule;
}

// ---- parts ----

struct weft_parts weft_mixnet_parts(const struct weft_cluster *cluster, uint32_t circuit_ports)
{
    uint64_t servers = cluster->server_count;
    uint64_t packets = cluster->degree - circuit_ports;
    return (struct weft_parts){
        .nics = servers * cluster->degree,
        .transceivers = servers * (6 * packets + circuit_ports),
        .switch_ports = servers * 5 * packets,
        .ocs_ports = servers * circuit_ports,
        .rate_Bps = weft_cluster_nic_rate(cluster),
    };
}

// ---- bounds ----

static struct weft_certificate certify(const struct weft_mixnet_iteration *iteration,
                                       struct weft_arena *arena)
{
    struct weft_bound *bounds = WEFT_NEW(arena, struct weft_bound, 2);
    bounds[0] = weft_bound_named("compute-critical-path");
    bounds[0].seconds = iteration->passes_s;
    bounds[0].reason = "the passes of this strategy on a network that takes no time, by estimate";
    bounds[1] = weft_bound_named("ideal-network-critical-path");
    bounds[1].seconds = iteration->fat_s;
    bounds[1].reason = "the same with one switch for all ports of all servers, which carries any "
                       "all-to-all as its busiest port does, by estimate";
    struct weft_certificate certificate;
    weft_certificate_conclude(&certificate, bounds, 2, iteration->iteration_s);
    return certificate;
}

// ---- the strategy ----

// The best of what the search of the hybrid space finds on a switch.
static bool choose_strategy(struct weft_strategy *strategy, const struct weft_study *study,
                            const struct weft_mixnet_options *mixnet,
                            const struct weft_circuit_delays *delays,
                            const struct weft_environment *environment)
{
    struct weft_study joined = *study;
    joined.network = NULL;
    const struct weft_search_options search = {
        .keep = CANDIDATES, .threads = environment->threads, .stop = environment->stop};
    struct weft_search_result found;
    if (!weft_hybrid_search(&found, &joined, &search, environment->arena, environment->scratch,
                            environment->error)) {
        return false;
    }
    double least_s = 0;
    uint32_t best = WEFT_NONE;
    for (uint32_t c = 0; c < found.count; c++) {
        struct weft_mixnet_iteration iteration;
        if (!weft_mixnet_iterate(&iteration, &found.candidates[c].strategy.hybrid, study, mixnet,
                                 delays, environment)) {
            return false;
        }
        if (best == WEFT_NONE || iteration.iteration_s < least_s) {
            best = c;
            least_s = iteration.iteration_s;
        }
    }
    WEFT_ASSERT(best != WEFT_NONE);
    *strategy = found.candidates[best].strategy;
    return true;
}

bool weft_mixnet_plan(struct weft_moving_plan *plan, const struct weft_study *study,
                      const struct weft_mixnet_options *mixnet,
                      const struct weft_moving_options *options,
                      const struct weft_environment *environment)
{
    const struct weft_mixnet_options published = WEFT_MIXNET_DEFAULTS;
    const struct weft_mixnet_options *chosen = mixnet != NULL ? mixnet : &published;
    struct weft_error *error = environment->error;
    struct weft_strategy strategy;
    if (study->model->transformer == NULL || study->model->transformer->experts == 0) {
        return weft_fail(error, WEFT_INPUT,
                         "%s has no experts, whose all-to-alls these circuits are for; take a "
                         "model with experts, such as mixtral-8x7b",
                         study->model->name);
    }
    if (options->given != NULL) {
        strategy = *options->given;
        if (strategy.kind != WEFT_STRATEGY_HYBRID) {
            return weft_fail(error, WEFT_INPUT, "a strategy operator by operator; state degrees");
        }
    } else if (!choose_strategy(&strategy, study, chosen, &options->delays, environment)) {
        return false;
    }
    struct weft_mixnet_iteration iteration;
    if (!weft_strategy_memory(&strategy, study, environment->arena, environment->scratch, error) ||
        !weft_mixnet_iterate(&iteration, &strategy.hybrid, study, chosen, &options->delays,
                             environment)) {
        return false;
    }
    uint32_t ports = chosen->circuit_ports > 0 ? chosen->circuit_ports : 6;
    struct weft_moving_plan result = {
        .fabric = WEFT_MOVING_MIXNET,
        .strategy = strategy,
        .iteration_s = iteration.iteration_s,
        .still_s = iteration.still_s,
        .dark_share = iteration.dark_share,
        .change_count = (uint64_t)(iteration.changes + 0.5),
        .estimate = true,
        .certificate = certify(&iteration, environment->arena),
        .parts = weft_mixnet_parts(study->cluster, ports),
        .schedule = schedule_of(&iteration, ports, &options->delays, environment->arena,
                                environment->scratch),
    };
    result.cost = weft_fabric_cost(&result.parts, &study->cluster->prices);
    struct weft_price_row row =
        weft_cluster_price_at(&study->cluster->prices, result.parts.rate_Bps);
    result.price_note = row.ocs_port_usd > 0 ? NULL : "ports of the optical switch";
    *plan = result;
    return true;
}
