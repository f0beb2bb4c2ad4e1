// SPDX-License-Identifier: Apache-2.0
// Ports by remaining bytes (Alizadeh et al., "pFabric", SIGCOMM 2013, section 4.1): a packet says
// how much of its message was left when it was sent. A full port loses the waiting packet with the
// most left; the message of the packet with the least left goes next, and of its packets the one
// that came first, so that no packet of a message waits for those behind it.
//
// The paper's buffers hold some twenty packets, so that the queue is a list in the order of arrival
// and both choices walk it: O(packets that wait) for each.

#include "engine.h"

static bool is_control(const struct packet *packet)
{
    return (packet->flags & PACKET_ACK) != 0;
}

uint32_t packet_remaining_take(struct packet_engine *engine, uint32_t link_id, uint32_t index)
{
    const struct packet_band *band =
        &engine->ports.bands[(size_t)link_id * engine->ports.band_count + index];
    uint32_t best = band->first;
    for (uint32_t id = best; id != WEFT_NONE; id = engine->packets[id].behind) {
        if (engine->packets[id].cumulative < engine->packets[best].cumulative) {
            best = id;
        }
    }
    uint32_t first = band->first;
    while (engine->packets[first].flow != engine->packets[best].flow) {
        first = engine->packets[first].behind;
    }
    return packet_queue_unlink(engine, link_id, index, first);
}

// The packet of data with the most left, of equal ones the one that came last; WEFT_NONE: none may
// be lost for another's sake, since a host's own packets wait without limit.
static uint32_t worst_of(const struct packet_engine *engine, const struct packet_band *band)
{
    uint32_t worst = WEFT_NONE;
    for (uint32_t id = band->first; id != WEFT_NONE; id = engine->packets[id].behind) {
        const struct packet *packet = &engine->packets[id];
        if ((packet->flags & PACKET_OWN) == 0 &&
            (worst == WEFT_NONE || packet->cumulative >= engine->packets[worst].cumulative)) {
            worst = id;
        }
    }
    return worst;
}

bool packet_remaining_admit(struct packet_engine *engine, uint32_t link_id, uint32_t id)
{
    const struct packet *packet = &engine->packets[id];
    const struct packet_port *port = &engine->ports.queues[link_id];
    struct packet_link *link = &engine->links[link_id];
    uint32_t data = PACKET_CONTROL_BAND + 1;
    const struct packet_band *band =
        &engine->ports.bands[(size_t)link_id * engine->ports.band_count + data];
    uint64_t now_ps = engine->clock.now_ps;
    uint64_t serial_ps = (uint64_t)(packet->bytes * link->ps_per_byte + 0.5);
    while (packet_port_backlog_ps(port, now_ps) + serial_ps > link->limit_ps) {
        uint32_t worst = worst_of(engine, band);
        if (worst == WEFT_NONE ||
            (!is_control(packet) && packet->cumulative >= engine->packets[worst].cumulative)) {
            return false;
        }
        packet_queue_unlink(engine, link_id, data, worst);
        link->bytes -= engine->packets[worst].bytes;
        packet_lose(engine, link, worst);
    }
    return true;
}
