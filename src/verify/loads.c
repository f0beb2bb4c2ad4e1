// SPDX-License-Identifier: Apache-2.0
// Messages of tasks, link loads, bandwidth tax and hops.
//
// A transfer is one message between its servers; a collective puts one on every hop of every ring
// of its group. Bytes are followed over the links that a ring names or the paths of the pair by
// weight. What servers send beyond what was asked of them is what they relay: the bandwidth tax.
// O(tasks * messages * paths * hops).

#include "loads.h"
#include "checks.h"
#include "ideal.h"

#include <math.h>

uint32_t *message_rings(const struct weft_plan *plan, const struct weft_taskgraph *graph,
                        struct weft_arena *arena)
{
    const struct weft_ring_set *rings = &plan->network.rings;
    uint32_t *first = WEFT_NEW(arena, uint32_t, (size_t)graph->group_count + 1);
    uint32_t r = 0;
    for (uint32_t g = 0; g <= graph->group_count; g++) {
        while (r < rings->ring_count && rings->rings[r].group < g) {
            r++;
        }
        first[g] = r;
    }
    return first;
}

bool message_get(struct message *message, const struct weft_plan *plan,
                 const struct weft_taskgraph *graph, const uint32_t *first_ring, uint32_t task,
                 uint32_t index)
{
    if (!ideal_is_collective(graph, task)) {
        bool one = graph->kind[task] == WEFT_TASK_TRANSFER && index == 0 &&
                   graph->from[task] != graph->to[task];
        *message = (struct message){.share = 1};
        if (one) {
            message->from = graph->from[task];
            message->to = graph->to[task];
        }
        return one;
    }
    uint32_t group = graph->group[task];
    uint32_t k = ideal_member_count(graph, task);
    uint32_t rings = first_ring[group + 1] - first_ring[group];
    if (k < 2 || index >= k * (rings == 0 ? 1 : rings)) {
        return false;
    }
    uint32_t hop = index % k;
    const uint32_t *members = graph->group_members + graph->group_first[group];
    *message = (struct message){members[hop], members[(hop + 1) % k], 1, index / k, NULL, 0};
    if (rings > 0) {
        const struct weft_ring *ring = &plan->network.rings.rings[first_ring[group] + index / k];
        message->from = ring->members[hop];
        message->to = ring->members[(hop + 1) % k];
        message->share = ring->share_ratio;
        if (ring->hop_first != NULL) {
            message->links = ring->hop_links + ring->hop_first[hop];
            message->link_count = ring->hop_first[hop + 1] - ring->hop_first[hop];
        }
    }
    return true;
}

void hops_from(uint32_t *distance, const struct weft_fabric *fabric, uint32_t from,
               struct weft_arena scratch)
{
    uint32_t *queue = WEFT_NEW_RAW(&scratch, uint32_t, fabric->node_count);
    uint32_t count = 0;
    for (uint32_t v = 0; v < fabric->node_count; v++) {
        distance[v] = WEFT_NONE;
    }
    distance[from] = 0;
    queue[count++] = from;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t e = fabric->first[queue[i]]; e < fabric->first[queue[i] + 1]; e++) {
            uint32_t to = fabric->links[e].to;
            if (distance[to] == WEFT_NONE) {
                distance[to] = distance[queue[i]] + 1;
                queue[count++] = to;
            }
        }
    }
}

// ---- the figures ----

struct sums {
    double *load_bytes; // per link
    double asked_bytes;
};

// Puts the bytes of one message on its links.
static void add_message(struct sums *sums, const struct weft_plan *plan,
                        const struct message *message, double bytes)
{
    sums->asked_bytes += bytes;
    if (message->links != NULL) {
        for (uint32_t l = 0; l < message->link_count; l++) {
            sums->load_bytes[message->links[l]] += bytes;
        }
        return;
    }
    const struct weft_routes *routes = &plan->network.routes;
    size_t pair = (size_t)message->from * plan->cluster.server_count + message->to;
    for (uint32_t p = routes->pair_first[pair]; p < routes->pair_first[pair + 1]; p++) {
        for (uint32_t l = routes->path_first[p]; l < routes->path_first[p + 1]; l++) {
            sums->load_bytes[routes->path_links[l]] += bytes * routes->path_weight[p];
        }
    }
}

// Hops of the transfers by shortest paths, weighted by their bytes; 0 without transfers.
static double weigh_hops(const struct weft_plan *plan, const struct weft_taskgraph *graph,
                         struct weft_arena scratch)
{
    const struct weft_fabric *fabric = &plan->network.fabric;
    uint32_t n = fabric->server_count;
    uint32_t *distance = WEFT_NEW_RAW(&scratch, uint32_t, (size_t)n * fabric->node_count);
    for (uint32_t s = 0; s < n; s++) {
        hops_from(distance + (size_t)s * fabric->node_count, fabric, s, scratch);
    }
    double sum = 0;
    double weight = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (graph->kind[t] != WEFT_TASK_TRANSFER || graph->from[t] == graph->to[t]) {
            continue;
        }
        uint32_t hops = distance[(size_t)graph->from[t] * fabric->node_count + graph->to[t]];
        if (hops != WEFT_NONE) {
            sum += (double)graph->size_bytes[t] * hops;
            weight += (double)graph->size_bytes[t];
        }
    }
    return weight > 0 ? sum / weight : 0;
}

bool check_routed(struct findings *findings, const struct weft_plan *plan,
                  const struct weft_taskgraph *played, struct weft_arena scratch)
{
    const struct weft_routes *routes = &plan->network.routes;
    const uint32_t *first_ring = message_rings(plan, played, &scratch);
    for (uint32_t t = 0; t < played->task_count; t++) {
        struct message message;
        for (uint32_t i = 0; message_get(&message, plan, played, first_ring, t, i); i++) {
            size_t pair = (size_t)message.from * plan->cluster.server_count + message.to;
            if (message.links == NULL && message.from != message.to &&
                routes->pair_first[pair] == routes->pair_first[pair + 1]) {
                findings_add(findings, "no route from server %u to %u, though task %u sends there",
                             message.from, message.to, t);
                return false;
            }
        }
    }
    return true;
}

void check_loads(struct findings *findings, const struct weft_plan *plan,
                 const struct weft_taskgraph *played, struct weft_arena scratch)
{
    const struct weft_fabric *fabric = &plan->network.fabric;
    const uint32_t *first_ring = message_rings(plan, played, &scratch);
    struct sums sums = {WEFT_NEW(&scratch, double, (size_t)fabric->link_count + 1), 0};
    for (uint32_t t = 0; t < played->task_count; t++) {
        double k = ideal_is_collective(played, t) ? ideal_member_count(played, t) : 1;
        double turns = k > 1 ? ideal_passes(played, t) * (k - 1) / k : 1;
        struct message message;
        for (uint32_t i = 0; message_get(&message, plan, played, first_ring, t, i); i++) {
            add_message(&sums, plan, &message,
                        turns * (double)played->size_bytes[t] * message.share);
        }
    }
    double leaving_bytes = 0;
    double most_bytes = 0;
    double all_bytes = 0;
    for (uint32_t e = 0; e < fabric->link_count; e++) {
        leaving_bytes += fabric->links[e].from < fabric->server_count ? sums.load_bytes[e] : 0;
        most_bytes = fmax(most_bytes, sums.load_bytes[e]);
        all_bytes += sums.load_bytes[e];
    }
    findings_compare(findings, "demand_weighted_hops", plan->demand_weighted_hops,
                     weigh_hops(plan, played, scratch));
    findings_compare(findings, "max_link_load_bytes", plan->max_link_load_bytes, most_bytes);
    findings_compare(findings, "mean_link_load_bytes", plan->mean_link_load_bytes,
                     fabric->link_count > 0 ? all_bytes / fabric->link_count : 0);
    findings_compare(findings, "bandwidth_tax_ratio", plan->bandwidth_tax_ratio,
                     sums.asked_bytes > 0 ? leaving_bytes / sums.asked_bytes : 0);
}
