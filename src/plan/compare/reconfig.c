// SPDX-License-Identifier: Apache-2.0
// The OCS-reconfig baseline (TopoOpt, NSDI 2023, section 5): an iteration on servers whose ports
// are rewired after the demand that they see, again and again.
//
// It is a circuit controller of the simulator (weft/sim.h) and nothing more: the flow engine plays
// the iteration on the complete fabric of the circuits that there may be, and at the end of every
// period asks for the next ones. A link of several circuits between two servers carries as much as
// they together.

#include "reconfig.h"

#include <math.h>

// The rewirings of an iteration: up to a million, fewer where each takes long. A rewiring of n
// servers with d ports takes about n^2 d / 4e7 seconds (128 servers of 4 ports: 1.6 ms), so that
// all of them take about half a minute.
#define EPOCHS_MAX 1000000u
#define EPOCHS_MIN 1000u
#define EPOCH_WORK_MAX ((uint64_t)1 << 30)
// The topology lives this many times as long as the switch takes (TopoOpt's baseline: 10 ms of
// reconfiguration, 40 ms of light).
#define LIFE_RATIO 4u

struct policy {
    const struct weft_cluster *cluster;
    uint64_t switch_ps;
    struct weft_rng rng;
    uint32_t epoch_count;
    uint32_t epoch_max;
    struct reconfig_fabric fabric;
    uint8_t *width;
    const uint32_t *link_of; // [from * n + to]
    double *rate_Bps;        // per link
    uint32_t *next_link;     // [at * n + to]
};

// New links after the demand not yet served. The first ones are there at once; for the others all
// traffic stops while the switch turns.
static bool decide(void *state, struct weft_circuit_answer *answer,
                   const struct weft_circuit_demand *demand, struct weft_arena scratch,
                   struct weft_error *error)
{
    struct policy *policy = state;
    uint32_t n = demand->server_count;
    if (policy->epoch_count == policy->epoch_max) {
        return weft_fail(error, WEFT_INFEASIBLE,
                         "no end after %u rewirings, the most that are played; give the switch a "
                         "longer time",
                         policy->epoch_max);
    }
    policy->epoch_count++;
    reconfig_links(policy->width, demand->unserved_bytes, n, policy->cluster->degree, &policy->rng,
                   scratch);
    reconfig_route(&policy->fabric, weft_rng_next(&policy->rng), scratch);
    for (size_t pair = 0; pair < (size_t)n * n; pair++) {
        uint32_t from = (uint32_t)(pair / n);
        uint32_t hop = policy->fabric.next_hop[pair];
        if (policy->link_of[pair] != WEFT_NONE) {
            policy->rate_Bps[policy->link_of[pair]] =
                policy->width[pair] * policy->cluster->rate_Bps;
        }
        policy->next_link[pair] =
            hop == WEFT_NONE ? WEFT_NONE : policy->link_of[(size_t)from * n + hop];
    }
    uint64_t dark_ps = policy->epoch_count > 1 ? policy->switch_ps : 0;
    *answer = (struct weft_circuit_answer){
        .rate_Bps = policy->rate_Bps,
        .next_link = policy->next_link,
        .dark_ps = dark_ps,
        .stops_all = true,
        .until_ps = demand->now_ps + dark_ps + LIFE_RATIO * policy->switch_ps,
    };
    return true;
}

// Every circuit that there may be, and its number.
static bool build_fabric(struct weft_fabric *fabric, uint32_t **link_of,
                         const struct weft_cluster *cluster, struct weft_arena *arena,
                         struct weft_error *error)
{
    uint32_t n = cluster->server_count;
    struct weft_link *links = WEFT_NEW_RAW(arena, struct weft_link, (size_t)n * n);
    uint32_t *numbers = WEFT_NEW_RAW(arena, uint32_t, (size_t)n * n);
    uint32_t count = 0;
    for (uint32_t from = 0; from < n; from++) {
        for (uint32_t to = 0; to < n; to++) {
            if (from != to) {
                links[count++] =
                    (struct weft_link){from, to, cluster->rate_Bps, cluster->latency_ps, 1};
            }
        }
    }
    if (!weft_fabric_build(fabric, &(struct weft_fabric_links){"circuits", n, n, links, count},
                           arena, error)) {
        return false;
    }
    for (uint32_t from = 0; from < n; from++) {
        for (uint32_t to = 0; to < n; to++) {
            numbers[(size_t)from * n + to] =
                from == to ? WEFT_NONE : weft_fabric_find_link(fabric, from, to);
        }
    }
    *link_of = numbers;
    return true;
}

static double wire_bytes(const struct weft_sim_options *sim, double size_bytes)
{
    if (sim->packet_bytes == 0) {
        return size_bytes;
    }
    double payload_bytes = (double)sim->packet_bytes - (double)sim->header_bytes;
    return size_bytes + ceil(size_bytes / payload_bytes) * (double)sim->header_bytes;
}

// What the iteration asks of the network, were every pair joined.
static double asked_bytes(const struct weft_taskgraph *graph, const struct weft_sim_options *sim)
{
    double asked = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (weft_task_is_collective(graph, t)) {
            uint32_t members = weft_task_member_count(graph, t);
            double bytes = weft_task_ring_bytes(graph, t);
            asked += members > 1 && bytes > 0 ? members * wire_bytes(sim, bytes) : 0;
        } else if (graph->kind[t] == WEFT_TASK_TRANSFER && graph->from[t] != graph->to[t]) {
            asked += wire_bytes(sim, (double)graph->size_bytes[t]);
        }
    }
    return asked;
}

static uint32_t epochs_max(const struct weft_cluster *cluster)
{
    uint64_t servers = cluster->server_count;
    uint64_t affordable = EPOCH_WORK_MAX / (servers * servers * cluster->degree);
    return affordable < EPOCHS_MIN   ? EPOCHS_MIN
           : affordable > EPOCHS_MAX ? EPOCHS_MAX
                                     : (uint32_t)affordable;
}

// Refuses at once what all ports together cannot carry within the rewirings that are played.
static bool check_length(double asked, const struct weft_cluster *cluster, uint64_t switch_ps,
                         struct weft_error *error)
{
    double ports = (double)cluster->server_count * cluster->degree;
    double life_s = LIFE_RATIO * weft_seconds(switch_ps);
    double least = asked / (ports * cluster->rate_Bps) / life_s;
    uint32_t most = epochs_max(cluster);
    return least <= most ||
           weft_fail(error, WEFT_INFEASIBLE,
                     "it takes %.3g rewirings at least, and %u are played; give the switch a "
                     "longer time",
                     least, most);
}

static struct weft_reconfig summarize(const struct weft_sim_result *played, uint32_t link_count,
                                      const struct weft_cluster *cluster, double asked)
{
    double largest = 0;
    double moved = 0;
    for (uint32_t l = 0; l < link_count; l++) {
        largest = fmax(largest, played->link_bytes[l]);
        moved += played->link_bytes[l];
    }
    double ports = (double)cluster->server_count * cluster->degree;
    return (struct weft_reconfig){.iteration_s = weft_seconds(played->end_ps),
                                  .epoch_count = (uint32_t)played->circuits.answer_count,
                                  .bandwidth_tax_ratio = asked > 0 ? moved / asked : 0,
                                  .max_hops = played->circuits.hop_max,
                                  .max_link_load_bytes = largest,
                                  .mean_link_load_bytes = moved / ports};
}

bool weft_plan_reconfigure(struct weft_reconfig *result, const struct weft_taskgraph *graph,
                           const struct weft_cluster *cluster, uint64_t switch_ps,
                           const struct weft_sim_options *sim,
                           const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    struct weft_error *error = environment->error;
    uint32_t n = cluster->server_count;
    if (graph->server_count > n) {
        return weft_fail(error, WEFT_INPUT,
                         "the graph has %u servers, the cluster %u; use a larger cluster",
                         graph->server_count, n);
    }
    if (switch_ps == 0) {
        return weft_fail(error, WEFT_INPUT, "a switch that takes no time; give 1us or so");
    }
    double asked = asked_bytes(graph, sim);
    if (!check_length(asked, cluster, switch_ps, error)) {
        return false;
    }
    struct weft_network network = {0};
    uint32_t *link_of;
    struct weft_arena kept = weft_arena_split(&scratch);
    if (!build_fabric(&network.fabric, &link_of, cluster, &kept, error) ||
        !weft_routes_build_shortest(&network.routes, &network.fabric, &kept, scratch, error)) {
        return false;
    }
    uint8_t *width = WEFT_NEW(&kept, uint8_t, (size_t)n * n);
    struct policy policy = {
        .cluster = cluster,
        .switch_ps = switch_ps,
        .epoch_max = epochs_max(cluster),
        .width = width,
        .fabric = {n, width, WEFT_NEW(&kept, uint32_t, (size_t)n * n)},
        .link_of = link_of,
        .rate_Bps = WEFT_NEW(&kept, double, network.fabric.link_count),
        .next_link = WEFT_NEW_RAW(&kept, uint32_t, (size_t)n * n),
    };
    weft_rng_init(&policy.rng, sim->seed);
    const struct weft_circuit_controller controller = {.state = &policy, .decide = decide};
    const struct weft_sim_options options = {.packet_bytes = sim->packet_bytes,
                                             .header_bytes = sim->header_bytes,
                                             .seed = sim->seed,
                                             .one_round = true,
                                             .circuits = &controller,
                                             .stop = sim->stop};
    const struct weft_sim_job job = {.graph = graph};
    struct weft_sim_result played;
    if (!weft_sim_run_jobs(
            &played, &network, &job, 1, &options,
            &(struct weft_environment){.arena = &kept, .scratch = scratch, .error = error})) {
        return false;
    }
    *result = summarize(&played, network.fabric.link_count, cluster, asked);
    return true;
}
