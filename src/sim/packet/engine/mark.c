// SPDX-License-Identifier: Apache-2.0
// Marks by chance: a ramp over the backlog, and random early detection with its moving average; and
// marks at a packet's departure. The default, a step at one length of the queue, is in forward.c,
// where a packet enters the queue.
//
// Chances come from a hash of the seed, the link and the packet, so that they do not depend on what
// happens elsewhere.

#include "engine.h"

#include <math.h>

double packet_chance(const struct packet_engine *engine, uint32_t link, const struct packet *packet)
{
    uint64_t key = weft_hash((uint64_t)packet->flow << 32 | packet->sequence) ^ packet->sent_ps;
    uint64_t hash = weft_hash(weft_hash(key) ^ (engine->ports.seed + link));
    return (double)(hash >> 11) * 0x1p-53;
}

// The link whose far end a packet has come to loses it, by the chance of loss_ratio. The hash is
// another than that of marks there.
bool packet_corrupts(struct packet_engine *engine, uint32_t id)
{
    const struct weft_port_options *options = engine->ports.options;
    const struct packet *packet = &engine->packets[id];
    uint32_t link = engine->hops[packet->hop - 1];
    if ((options->loss_link != WEFT_NONE && options->loss_link != link) ||
        packet_chance(engine, ~link, packet) >= options->loss_ratio) {
        return false;
    }
    engine->counts.corrupted++;
    if (engine->mlts != NULL) {
        packet_step_lost(engine, id);
    }
    packet_drop(engine, id);
    return true;
}

// Which share of the packets that find this backlog is marked.
static double ramp_ratio(const struct packet_engine *engine, double backlog_bytes)
{
    const struct weft_port_options *options = engine->ports.options;
    double low = (double)engine->options->mark_bytes;
    double high = (double)options->mark_max_bytes;
    if (backlog_bytes <= low) {
        return 0;
    }
    return backlog_bytes > high ? 1
                                : options->mark_max_ratio * (backlog_bytes - low) / (high - low);
}

bool packet_ramp(const struct packet_engine *engine, uint32_t link, const struct packet *packet,
                 double backlog_bytes)
{
    if (engine->ports.options->marking == WEFT_MARK_STEP) {
        return backlog_bytes > (double)engine->options->mark_bytes;
    }
    double ratio = ramp_ratio(engine, backlog_bytes);
    return ratio > 0 && packet_chance(engine, link, packet) < ratio;
}

// Floyd and Jacobson, section IV and figure 2: an idle time t counts as t / (a packet's time)
// packets that found nothing; between marks the chance grows, so that they come evenly.
static bool average_marks(struct packet_engine *engine, uint32_t link_id,
                          const struct packet *packet, double backlog_bytes)
{
    const struct packet_link *link = &engine->links[link_id];
    struct packet_average *average = &engine->ports.averages[link_id];
    double weight = engine->ports.options->average_weight;
    uint64_t now_ps = engine->clock.now_ps;
    if (backlog_bytes > 0 || now_ps <= average->idle_ps) {
        average->bytes += weight * (backlog_bytes - average->bytes);
    } else {
        double idle_packets = (double)(now_ps - average->idle_ps) /
                              (engine->setting.packet_bytes * link->ps_per_byte);
        average->bytes *= pow(1 - weight, idle_packets);
    }
    double ratio = ramp_ratio(engine, average->bytes);
    if (ratio <= 0) {
        average->since = -1;
        return false;
    }
    average->since++;
    double even =
        (double)average->since * ratio < 1 ? ratio / (1 - (double)average->since * ratio) : 1;
    if (ratio < 1 && packet_chance(engine, link_id, packet) >= even) {
        return false;
    }
    average->since = 0;
    return true;
}

static bool is_marked(struct packet_engine *engine, uint32_t link_id, const struct packet *packet,
                      uint64_t backlog_ps)
{
    const struct packet_link *link = &engine->links[link_id];
    enum weft_marking marking = engine->ports.options->marking;
    if (marking == WEFT_MARK_STEP) {
        return backlog_ps > link->mark_ps;
    }
    double backlog_bytes = (double)backlog_ps / link->ps_per_byte;
    if (marking == WEFT_MARK_RAMP) {
        return backlog_ps > link->mark_ps && packet_ramp(engine, link_id, packet, backlog_bytes);
    }
    bool marks = average_marks(engine, link_id, packet, backlog_bytes);
    double serial_ps = engine->setting.packet_bytes * link->ps_per_byte;
    engine->ports.averages[link_id].idle_ps =
        engine->clock.now_ps + backlog_ps + (uint64_t)serial_ps;
    return marks;
}

bool packet_mark_or_lose(struct packet_engine *engine, uint32_t link_id, uint32_t id,
                         uint64_t backlog_ps)
{
    struct packet *packet = &engine->packets[id];
    struct packet_link *link = &engine->links[link_id];
    if (!is_marked(engine, link_id, packet, backlog_ps)) {
        return true;
    }
    if (engine->ports.options->early_drops || (packet->flags & PACKET_DROPPABLE) != 0) {
        packet_lose(engine, link, id);
        return false;
    }
    packet->flags |= PACKET_MARKED;
    link->marks++;
    return true;
}

// ---- marks at departure: what had come before a packet left is looked up when it has arrived ----

void packet_line_join(struct packet_engine *engine, uint32_t line_id, uint32_t id)
{
    struct packet_line *line = &engine->lines[line_id];
    struct packet *packet = &engine->packets[id];
    packet->entered_ps = engine->clock.now_ps;
    packet->behind = WEFT_NONE;
    if (line->last == WEFT_NONE) {
        line->first = id;
    } else {
        engine->packets[line->last].behind = id;
    }
    line->last = id;
}

// A packet is at the far end of its link. What stood behind it when it left, one latency ago,
// decides its mark: `ahead_bytes` counts the packets that had entered by then, and since both
// instants only grow, each packet is added and taken away once.
void packet_line_leave(struct packet_engine *engine, uint32_t id)
{
    struct packet *packet = &engine->packets[id];
    uint32_t link_id = packet->link;
    struct packet_link *link = &engine->links[link_id];
    uint32_t band = engine->ports.queues == NULL ? 0 : packet_band_of(engine, packet);
    struct packet_line *line = &engine->lines[(size_t)link_id * engine->ports.band_count + band];
    WEFT_ASSERT(line->first == id);
    uint64_t left_ps = engine->clock.now_ps - link->latency_ps;
    for (;;) {
        uint32_t next =
            line->ahead_last == WEFT_NONE ? line->first : engine->packets[line->ahead_last].behind;
        if (next == WEFT_NONE || engine->packets[next].entered_ps > left_ps) {
            break;
        }
        line->ahead_bytes += engine->packets[next].bytes;
        line->ahead_last = next;
    }
    if ((packet->flags & engine->spared_flags) == 0 &&
        packet_ramp(engine, link_id, packet, line->ahead_bytes)) {
        packet->flags |= PACKET_MARKED;
        link->marks++;
    }
    line->ahead_bytes -= packet->bytes;
    line->first = packet->behind;
    if (line->ahead_last == id) {
        line->ahead_last = WEFT_NONE;
    }
    if (line->last == id) {
        line->last = WEFT_NONE;
    }
}
