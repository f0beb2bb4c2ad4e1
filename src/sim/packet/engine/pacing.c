// SPDX-License-Identifier: Apache-2.0
// When a flow's next packet may enter its sender's port.
//
// A flow has one packet at a time in its own port, so that flows of a server take turns there
// (Linux' small queues and fair queueing; adapters: rounds of their queue pairs), and a rate-based
// congestion control holds packets back (next_send_ps of its view). A flow that is held files one
// event for the instant when it may go on.

#include "engine.h"

void packet_wait_to_send(struct packet_engine *engine, uint32_t id, uint64_t at_ps)
{
    struct packet_flow *flow = &engine->flows[id];
    bool more = flow->lost.from < flow->lost.until || flow->view.snd_next < flow->total ||
                flow->trimmed.count > 0;
    if (!flow->is_paced && more && at_ps != WEFT_NEVER) {
        flow->is_paced = true;
        clock_file(&engine->clock, (uint32_t)PACKET_EVENT_PACE << CLOCK_KIND_SHIFT | id, at_ps);
    }
}

void packet_open_slot(struct packet_engine *engine, const struct packet *packet)
{
    struct packet_flow *flow = &engine->flows[packet->flow];
    if (packet->generation == flow->generation && flow->slot_ps == WEFT_NEVER) {
        flow->slot_ps = engine->clock.now_ps;
        packet_wait_to_send(engine, packet->flow, flow->slot_ps);
    }
}
