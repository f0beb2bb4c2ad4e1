// SPDX-License-Identifier: Apache-2.0
// Priority flow control (IEEE 802.1Qbb): a node that holds more than xoff_bytes of what a link
// brings pauses the link's sender, one priority at a time, and lets it go on at xon_bytes. O(1) for
// each packet.
//
// Paused ports can wait for each other in a circle, after which nothing moves. The engine looks for
// one when a retransmission timer runs out, at most once in a smallest timeout.

#include "engine.h"

#include <string.h>

#define FRAME_BYTES 64u // a pause frame is an Ethernet frame of the smallest size

static struct packet_hold *hold_at(struct packet_engine *engine, uint32_t link, uint32_t band)
{
    return &engine->ports.holds[(size_t)link * engine->ports.band_count + band];
}

// Sends a frame that pauses (pause = 1) or resumes a band of the link's sender. The frame takes its
// own time on the link and the link's latency, and passes all packets that wait there.
static void send_pause(struct packet_engine *engine, uint32_t link_id, uint32_t band,
                       uint32_t pause)
{
    const struct packet_link *link = &engine->links[link_id];
    uint64_t frame_ps = (uint64_t)(FRAME_BYTES * link->ps_per_byte + 0.5);
    uint32_t event = link_id << PORT_EVENT_BITS | PORT_EVENT_PAUSE | band << 1 | pause;
    clock_file(&engine->clock, (uint32_t)PACKET_EVENT_PORT << CLOCK_KIND_SHIFT | event,
               engine->clock.now_ps + frame_ps + link->latency_ps);
}

bool packet_hold_bytes(struct packet_engine *engine, uint32_t from, uint32_t band, uint32_t bytes)
{
    struct packet_hold *hold = hold_at(engine, from, band);
    if (hold->bytes + bytes > hold->limit_bytes) {
        return false;
    }
    hold->bytes += bytes;
    if (!hold->is_pausing && hold->bytes > engine->ports.options->xoff_bytes) {
        hold->is_pausing = true;
        send_pause(engine, from, band, 1);
    }
    return true;
}

void packet_release_bytes(struct packet_engine *engine, uint32_t from, uint32_t band,
                          uint32_t bytes)
{
    struct packet_hold *hold = hold_at(engine, from, band);
    WEFT_ASSERT(hold->bytes >= bytes);
    hold->bytes -= bytes;
    if (hold->is_pausing && hold->bytes <= engine->ports.options->xon_bytes) {
        hold->is_pausing = false;
        send_pause(engine, from, band, 0);
    }
}

void packet_pause_event(struct packet_engine *engine, uint32_t link, uint32_t code)
{
    struct packet_port *port = &engine->ports.queues[link];
    uint32_t index = (code & ~PORT_EVENT_PAUSE) >> 1;
    struct packet_band *band =
        &engine->ports.bands[(size_t)link * engine->ports.band_count + index];
    if (code & 1) {
        port->paused |= (uint8_t)(1u << index);
        port->pauses++;
        engine->counts.pauses++;
        band->pause_ps = engine->clock.now_ps;
        return;
    }
    port->paused &= (uint8_t) ~(1u << index);
    port->paused_ps += engine->clock.now_ps - band->pause_ps;
}

// ---- circles ----
//
// A paused port goes on when enough of what its far end holds has left. Ports that may go on are
// taken out until no more can; those left wait for each other for good, and following any packet
// that is held leads around a circle.

// Bytes of the hold (link, band) that wait in ports that never go on.
static uint64_t stuck_bytes(const struct packet_engine *engine, uint32_t link, uint32_t band,
                            const bool *stuck, uint32_t *towards)
{
    const struct packet_ports *ports = &engine->ports;
    const struct weft_fabric *fabric = ports->fabric;
    uint32_t node = fabric->links[link].to;
    uint64_t bytes = 0;
    for (uint32_t out = fabric->first[node]; out < fabric->first[node + 1]; out++) {
        if (!stuck[out]) {
            continue;
        }
        uint32_t id = ports->bands[(size_t)out * ports->band_count + band].first;
        for (; id != WEFT_NONE; id = engine->packets[id].behind) {
            const struct packet *packet = &engine->packets[id];
            if ((packet->flags & PACKET_OWN) == 0 && packet->link == link) {
                bytes += packet->bytes;
                *towards = out;
            }
        }
    }
    return bytes;
}

static bool find_stuck(const struct packet_engine *engine, uint32_t band, bool *stuck)
{
    const struct packet_ports *ports = &engine->ports;
    uint32_t count = ports->fabric->link_count;
    uint32_t left = 0;
    for (uint32_t link = 0; link < count; link++) {
        stuck[link] = (ports->queues[link].paused >> band & 1) != 0 &&
                      ports->holds[(size_t)link * ports->band_count + band].is_pausing;
        left += stuck[link];
    }
    for (bool changed = true; changed && left > 0;) {
        changed = false;
        for (uint32_t link = 0; link < count; link++) {
            uint32_t towards = WEFT_NONE;
            if (stuck[link] &&
                stuck_bytes(engine, link, band, stuck, &towards) <= ports->options->xon_bytes) {
                stuck[link] = false;
                changed = true;
                left--;
            }
        }
    }
    return left > 0;
}

// Writes the links of a circle among those that are stuck.
static void follow(struct packet_engine *engine, uint32_t band, const bool *stuck,
                   struct weft_arena scratch)
{
    struct packet_ports *ports = &engine->ports;
    uint32_t count = ports->fabric->link_count;
    uint32_t *seen = WEFT_NEW(&scratch, uint32_t, count); // the step that came here
    uint32_t at = 0;
    while (!stuck[at]) {
        at++;
    }
    uint32_t steps = 0;
    while (seen[at] == 0) {
        seen[at] = ++steps;
        ports->circle[steps - 1] = at;
        uint32_t towards = WEFT_NONE;
        (void)stuck_bytes(engine, at, band, stuck, &towards);
        WEFT_ASSERT(towards != WEFT_NONE);
        at = towards;
    }
    ports->circle_count = steps - (seen[at] - 1);
    memmove(ports->circle, &ports->circle[seen[at] - 1], ports->circle_count * sizeof(uint32_t));
    ports->circle_band = band;
}

void packet_pause_check(struct packet_engine *engine)
{
    struct packet_ports *ports = &engine->ports;
    uint64_t now_ps = engine->clock.now_ps;
    if (ports->holds == NULL || engine->is_stuck || now_ps < ports->checked_ps) {
        return;
    }
    ports->checked_ps = now_ps + engine->options->loss.timeout_min_ps;
    struct weft_arena scratch = *engine->arena;
    bool *stuck = WEFT_NEW_RAW(&scratch, bool, ports->fabric->link_count);
    for (uint32_t band = 0; band < ports->band_count; band++) {
        if (find_stuck(engine, band, stuck)) {
            follow(engine, band, stuck, scratch);
            engine->is_stuck = true;
            engine->has_ended = true;
            return;
        }
    }
}
