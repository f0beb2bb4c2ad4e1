// SPDX-License-Identifier: Apache-2.0
// Times of a connection: its retransmission timer by RFC 6298, and what its path takes full and
// empty.

#include "engine.h"

uint64_t packet_longest_trip_ps(const struct packet_engine *engine, const struct packet_flow *flow)
{
    const uint32_t ways[] = {flow->data_hop, flow->ack_hop};
    uint64_t sum_ps = 0;
    for (uint32_t w = 0; w < 2 && ways[w] != WEFT_NONE; w++) {
        for (uint32_t hop = ways[w]; engine->hops[hop] != WEFT_NONE; hop++) {
            const struct packet_link *link = &engine->links[engine->hops[hop]];
            bool is_own = hop == ways[w];
            sum_ps += link->latency_ps + (is_own ? 0 : link->limit_ps) +
                      (uint64_t)(engine->setting.packet_bytes * link->ps_per_byte);
            sum_ps = sum_ps < WEFT_PS_PER_S ? sum_ps : WEFT_PS_PER_S; // RFC 6298, 2.1
        }
    }
    return sum_ps;
}

uint64_t packet_timeout_ps(const struct packet_engine *engine, const struct packet_flow *flow)
{
    uint64_t timeout = engine->options->timeout_first_ps;
    if (flow->view.srtt_ps > 0) {
        timeout = flow->view.srtt_ps + 4 * flow->view.rttvar_ps;
    } else if (timeout == 0) {
        timeout = packet_longest_trip_ps(engine, flow);
    }
    if (timeout < engine->options->timeout_min_ps) {
        timeout = engine->options->timeout_min_ps;
    }
    return timeout << flow->backoff;
}

void packet_set_timer(struct packet_engine *engine, uint32_t id)
{
    struct packet_flow *flow = &engine->flows[id];
    flow->deadline_ps = engine->clock.now_ps + packet_timeout_ps(engine, flow);
    if (!flow->timer_filed) {
        flow->timer_filed = true;
        clock_file(&engine->clock, (uint32_t)PACKET_EVENT_RETRANSMIT << CLOCK_KIND_SHIFT | id,
                   flow->deadline_ps);
    }
}

void packet_measure_rtt(struct packet_connection_view *view, uint64_t rtt_ps)
{
    if (view->srtt_ps == 0) {
        view->srtt_ps = rtt_ps;
        view->rttvar_ps = rtt_ps / 2;
        return;
    }
    uint64_t off = rtt_ps > view->srtt_ps ? rtt_ps - view->srtt_ps : view->srtt_ps - rtt_ps;
    view->rttvar_ps = (3 * view->rttvar_ps + off) / 4;
    view->srtt_ps = (7 * view->srtt_ps + rtt_ps) / 8;
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
