// SPDX-License-Identifier: Apache-2.0
// Times that a connection knows of its path: the longest trip, with every port full, which is the
// retransmission timeout until a round trip has been measured (RFC 6298, 2.1), and the shortest,
// with every port empty, from which delay-based congestion controls measure. O(links of the path),
// once for each message; what happens for each packet is in line in engine.h.

#include "engine.h"

uint64_t packet_longest_trip_ps(const struct packet_engine *engine, const struct packet_flow *flow)
{
    const uint32_t first_hops[] = {flow->data_hop, flow->ack_hop};
    uint64_t sum_ps = 0;
    for (uint32_t w = 0; w < 2 && first_hops[w] != WEFT_NONE; w++) {
        for (uint32_t hop = first_hops[w]; engine->hops[hop] != WEFT_NONE; hop++) {
            const struct packet_link *link = &engine->links[engine->hops[hop]];
            bool is_own = hop == first_hops[w];
            sum_ps += link->latency_ps + (is_own ? 0 : link->limit_ps) +
                      (uint64_t)(engine->setting.packet_bytes * link->ps_per_byte);
            sum_ps = sum_ps < WEFT_PS_PER_S ? sum_ps : WEFT_PS_PER_S; // RFC 6298, 2.1
        }
    }
    return sum_ps;
}

// timeout_trips of the congestion control.
uint64_t packet_fixed_timeout_ps(const struct packet_engine *engine, const struct packet_flow *flow)
{
    uint64_t fixed_ps =
        (uint64_t)(engine->congestion.timeout_trips * (double)flow->view.empty_rtt_ps);
    uint64_t least_ps = engine->options->loss.timeout_min_ps;
    return fixed_ps > least_ps ? fixed_ps : least_ps;
}

void packet_read_path(const struct packet_engine *engine, struct packet_flow *flow)
{
    const uint32_t first_hops[] = {flow->data_hop, flow->ack_hop};
    const uint32_t bytes[] = {engine->setting.packet_bytes, engine->setting.ack_bytes};
    uint64_t sum_ps = 0;
    for (uint32_t w = 0; w < 2 && first_hops[w] != WEFT_NONE; w++) {
        for (uint32_t hop = first_hops[w]; engine->hops[hop] != WEFT_NONE; hop++) {
            const struct packet_link *link = &engine->links[engine->hops[hop]];
            sum_ps += link->latency_ps + (uint64_t)(bytes[w] * link->ps_per_byte + 0.5);
            flow->view.hop_count += w == 0;
        }
    }
    flow->view.empty_rtt_ps = sum_ps;
    flow->view.ps_per_byte = engine->links[engine->hops[flow->data_hop]].ps_per_byte;
}
