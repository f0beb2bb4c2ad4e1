// SPDX-License-Identifier: Apache-2.0
// Whether packets can be played one by one in the time that people wait.

#include "request/simulate/simulation.h"

double simulation_graph_bytes(const struct weft_taskgraph *graph)
{
    double bytes = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (weft_task_is_collective(graph, t)) {
            bytes += weft_task_member_count(graph, t) * weft_task_ring_bytes(graph, t);
        } else if (graph->kind[t] == WEFT_TASK_TRANSFER && graph->from[t] != graph->to[t]) {
            bytes += (double)graph->size_bytes[t];
        }
    }
    return bytes;
}

bool simulation_afford(const struct simulation *simulation, double bytes)
{
    const struct weft_sim_options *options = &simulation->options;
    if (options->engine != WEFT_ENGINE_PACKET || options->packet_bytes <= options->header_bytes ||
        (options->packet != NULL && options->packet->skip)) {
        return true; // flows cost by their count, and what repeats is skipped
    }
    double iterations = options->iterations > 1 ? options->iterations : 1;
    const struct weft_request_cost cost = {
        .things = "packets",
        .count = iterations * bytes / (options->packet_bytes - options->header_bytes),
        .per_s = weft_request_packets_per_s(simulation->network->fabric.server_count),
        .remedy = "take a larger {mtu}, less traffic or {engine=flow}",
    };
    return weft_request_afford(&cost, simulation->environment);
}
