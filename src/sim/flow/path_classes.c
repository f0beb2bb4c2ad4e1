// SPDX-License-Identifier: Apache-2.0
// Paths as classes of the flow engine, each with the time that a message needs besides its
// transmission at the slowest link: propagation, and storing and forwarding on the others. A fluid
// knows bytes and rates only; this is what packets add to it (docs/flow-engine.md). Both sums are
// made when a path is opened, O(hops), so that the end of a flow costs O(1).

#include "path_classes.h"

#include <math.h>

uint32_t weft_simnet_open(struct weft_simnet *net, const uint32_t *links, uint32_t hop_count,
                          uint32_t job)
{
    uint32_t id = weft_active_open(&net->active, links, hop_count, job);
    if (net->active.classes[id].users > 1 || net->active.classes[id].first_flow != WEFT_NONE) {
        return id; // open already
    }
    net->delays[id] = weft_fabric_path_delay(net->fabric, links, hop_count);
    if (net->active.job != NULL) {
        sim_shares_open(&net->shares, &net->active, id);
    }
    return id;
}

uint32_t weft_simnet_open_joined(struct weft_simnet *net, const uint32_t *links, uint32_t hop_count,
                                 const uint32_t *joined, uint32_t job)
{
    for (uint32_t hop = 0; hop < hop_count; hop++) {
        net->joined[hop] = joined[links[hop]];
    }
    uint32_t id = weft_active_open(&net->active, net->joined, hop_count, job);
    net->delays[id] = weft_fabric_path_delay(net->fabric, links, hop_count);
    return id;
}

double weft_simnet_wire_bytes(const struct weft_simnet *net, double size_bytes)
{
    const struct weft_sim_options *options = net->options;
    if (options->packet_bytes == 0) {
        return size_bytes;
    }
    double payload_bytes = (double)options->packet_bytes - (double)options->header_bytes;
    return size_bytes + ceil(size_bytes / payload_bytes) * (double)options->header_bytes;
}

// A header's trip back.
static double acknowledgement_ps(const struct weft_simnet *net, const struct weft_path_delay *delay)
{
    return delay->propagation_ps + net->options->header_bytes * delay->store_ps_per_byte;
}

double weft_simnet_delay_ps(const struct weft_simnet *net, const struct weft_path_delay *delay,
                            double wire_bytes)
{
    const struct weft_sim_options *options = net->options;
    double packet_bytes = fmin(options->packet_bytes, wire_bytes);
    double latency_ps = delay->propagation_ps + packet_bytes * delay->store_ps_per_byte;
    if (options->acknowledged) {
        latency_ps += acknowledgement_ps(net, delay);
    }
    return latency_ps;
}

double weft_simnet_latency_ps(const struct weft_simnet *net, uint32_t class_id, double wire_bytes)
{
    return weft_simnet_delay_ps(net, &net->delays[class_id], wire_bytes);
}

double weft_simnet_tail_ps(const struct weft_simnet *net, uint32_t class_id, double wire_bytes)
{
    const struct weft_sim_options *options = net->options;
    if (options->engine == WEFT_ENGINE_FLOW) {
        return weft_simnet_latency_ps(net, class_id, wire_bytes);
    }
    return options->acknowledged ? acknowledgement_ps(net, &net->delays[class_id]) : 0;
}

bool weft_simnet_round_ps(uint64_t *time_ps, double end_ps, struct weft_error *error)
{
    if (!(end_ps < 0x1p63)) {
        return weft_fail(error, WEFT_INPUT,
                         "the simulated time passes 106 days; use smaller sizes or faster links");
    }
    *time_ps = (uint64_t)(end_ps + 0.5);
    return true;
}
