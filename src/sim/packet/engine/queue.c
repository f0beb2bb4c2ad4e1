// SPDX-License-Identifier: Apache-2.0
// Ports with queues by priority: whether a packet is admitted, trimmed or lost, and which packet
// leaves next. The most urgent band that is not paused goes first; a packet that is being sent is
// not broken off. O(1) for each packet.
//
// With one band a port does what a port first come, first served does (packet_enter), to the
// picosecond: the backlog is what still leaves and what waits.

#include "engine.h"

static uint64_t serial_ps(const struct packet_link *link, uint32_t bytes)
{
    return (uint64_t)(bytes * link->ps_per_byte + 0.5);
}

static struct packet_band *band_at(struct packet_engine *engine, uint32_t link, uint32_t band)
{
    return &engine->ports.bands[(size_t)link * engine->ports.band_count + band];
}

// ---- lists ----

static void push(struct packet_engine *engine, uint32_t link, uint32_t index, uint32_t id)
{
    struct packet *packet = &engine->packets[id];
    struct packet_port *port = &engine->ports.queues[link];
    struct packet_band *band = band_at(engine, link, index);
    uint64_t serial = serial_ps(&engine->links[link], packet->bytes);
    packet->behind = WEFT_NONE;
    packet->next = band->last;
    if (band->last == WEFT_NONE) {
        band->first = id;
        port->waiting |= (uint8_t)(1u << index);
    } else {
        engine->packets[band->last].behind = id;
    }
    band->last = id;
    band->waiting_ps += serial;
    port->waiting_ps += serial;
}

static void take_out(struct packet_engine *engine, uint32_t link, uint32_t index, uint32_t id)
{
    struct packet_port *port = &engine->ports.queues[link];
    struct packet_band *band = band_at(engine, link, index);
    const struct packet *packet = &engine->packets[id];
    uint64_t serial = serial_ps(&engine->links[link], packet->bytes);
    uint32_t before = packet->next;
    uint32_t behind = packet->behind;
    *(before == WEFT_NONE ? &band->first : &engine->packets[before].behind) = behind;
    *(behind == WEFT_NONE ? &band->last : &engine->packets[behind].next) = before;
    if (band->first == WEFT_NONE) {
        port->waiting &= (uint8_t) ~(1u << index);
    }
    band->waiting_ps -= serial;
    port->waiting_ps -= serial;
}

// ---- who leaves ----

static uint32_t choose(const struct packet_engine *engine, struct packet_port *port)
{
    uint32_t ready = port->waiting & ~(uint32_t)port->paused;
    if (ready == 0) {
        return WEFT_NONE;
    }
    uint32_t best = (uint32_t)__builtin_ctz(ready);
    uint32_t weight = engine->ports.options->control_weight;
    if (best != PACKET_CONTROL_BAND || weight == 0 || !packet_has_control(engine)) {
        return best;
    }
    if (ready == 1u << PACKET_CONTROL_BAND || port->control_run < weight) {
        port->control_run++;
        return best;
    }
    port->control_run = 0;
    return (uint32_t)__builtin_ctz(ready & ~(1u << PACKET_CONTROL_BAND));
}

void packet_queue_serve(struct packet_engine *engine, uint32_t link_id)
{
    struct packet_port *port = &engine->ports.queues[link_id];
    struct packet_link *link = &engine->links[link_id];
    uint32_t band = choose(engine, port);
    if (band == WEFT_NONE) {
        return;
    }
    bool by_remaining = engine->ports.options->by_remaining && band != PACKET_CONTROL_BAND;
    const struct packet_band *waiting = band_at(engine, link_id, band);
    uint32_t id = by_remaining ? packet_remaining_next(engine, waiting) : waiting->first;
    take_out(engine, link_id, band, id);
    struct packet *packet = &engine->packets[id];
    uint64_t begins_ps = packet_begins(engine, link, packet, engine->clock.now_ps);
    uint64_t arrives_ps = packet_arrives(engine, link_id, packet, begins_ps);
    port->busy_ps = begins_ps + serial_ps(link, packet->bytes);
    port->leaving_band = (uint8_t)band;
    bool held = engine->ports.holds != NULL && (packet->flags & PACKET_OWN) == 0;
    port->leaving_from = packet->link;
    port->leaving_bytes = held ? packet->bytes : 0;
    packet->link = link_id;
    if ((packet->flags & (PACKET_OWN | PACKET_ACK)) == PACKET_OWN) {
        packet_open_slot(engine, packet);
    }
    if (engine->ports.holds != NULL || port->waiting != 0) {
        port->is_awaited = true;
        clock_file(&engine->clock,
                   (uint32_t)PACKET_EVENT_PORT << CLOCK_KIND_SHIFT | link_id << PORT_EVENT_BITS,
                   port->busy_ps);
    }
    packet_file_arrival(engine, id, link_id, arrives_ps);
}

bool packet_queue_keeps(const struct packet_engine *engine, uint32_t link, uint32_t id)
{
    uint32_t band = packet_band_of(engine, &engine->packets[id]);
    return engine->ports.bands[(size_t)link * engine->ports.band_count + band].last == id;
}

// What of the backlog of a band counts: its packets that wait, and the one that leaves.
static uint64_t band_backlog_ps(struct packet_engine *engine, uint32_t link, uint32_t band)
{
    const struct packet_port *port = &engine->ports.queues[link];
    uint64_t now_ps = engine->clock.now_ps;
    bool leaves = port->busy_ps > now_ps && port->leaving_band == band;
    return band_at(engine, link, band)->waiting_ps + (leaves ? port->busy_ps - now_ps : 0);
}

// What of the backlog decides whether a packet of a band is marked.
static uint64_t marking_backlog_ps(struct packet_engine *engine, uint32_t link, uint32_t band)
{
    const struct packet_port *port = &engine->ports.queues[link];
    if (!engine->ports.options->mark_by_port) {
        return band_backlog_ps(engine, link, band);
    }
    return packet_port_backlog_ps(port, engine->clock.now_ps);
}

// The packet that was being sent has left.
static void departed(struct packet_engine *engine, uint32_t link_id)
{
    struct packet_port *port = &engine->ports.queues[link_id];
    if (port->leaving_bytes > 0) {
        packet_release_bytes(engine, port->leaving_from, port->leaving_band, port->leaving_bytes);
        port->leaving_bytes = 0;
    }
}

void packet_queue_event(struct packet_engine *engine, uint32_t event)
{
    uint32_t link = event >> PORT_EVENT_BITS;
    uint32_t code = event & ((1u << PORT_EVENT_BITS) - 1);
    struct packet_port *port = &engine->ports.queues[link];
    if (code != 0) {
        packet_pause_event(engine, link, code);
    } else {
        port->is_awaited = false;
        departed(engine, link);
    }
    if (!port->is_awaited && port->busy_ps <= engine->clock.now_ps) {
        packet_queue_serve(engine, link);
    }
}

// ---- who enters ----

static void trim(struct packet_engine *engine, uint32_t link, struct packet *packet)
{
    packet->bytes = (uint16_t)engine->setting.header_bytes;
    packet->flags |= PACKET_TRIMMED;
    engine->ports.queues[link].trims++;
    engine->counts.trims++;
}

// Whether a packet fits behind those of its band.
static bool band_fits(struct packet_engine *engine, uint32_t link_id, uint32_t band, uint32_t bytes)
{
    const struct packet_link *link = &engine->links[link_id];
    uint64_t control_bytes = engine->ports.options->control_bytes;
    uint64_t limit_ps = link->limit_ps;
    if (band == PACKET_CONTROL_BAND && control_bytes > 0) {
        limit_ps = (uint64_t)((double)control_bytes * link->ps_per_byte);
    }
    return band_backlog_ps(engine, link_id, band) + serial_ps(link, bytes) <= limit_ps;
}

// Makes room for a packet of data, or trims it: by chance it or the last one that waits, so that no
// flow's packets are always the ones trimmed (Handley et al., 3.1).
static void trim_one(struct packet_engine *engine, uint32_t link_id, uint32_t id)
{
    struct packet *packet = &engine->packets[id];
    struct packet_link *link = &engine->links[link_id];
    uint32_t band = packet_band_of(engine, packet);
    if (band_fits(engine, link_id, band, packet->bytes)) {
        return;
    }
    uint32_t last = band_at(engine, link_id, band)->last;
    bool other = last != WEFT_NONE && packet_chance(engine, link_id, packet) < 0.5 &&
                 (engine->packets[last].flags & PACKET_OWN) == 0 &&
                 engine->packets[last].bytes >= packet->bytes;
    if (!other) {
        trim(engine, link_id, packet);
        return;
    }
    take_out(engine, link_id, band, last);
    link->bytes -= engine->packets[last].bytes - engine->setting.header_bytes;
    trim(engine, link_id, &engine->packets[last]);
    if (band_fits(engine, link_id, PACKET_CONTROL_BAND, engine->setting.header_bytes)) {
        push(engine, link_id, PACKET_CONTROL_BAND, last);
    } else {
        packet_lose(engine, link, last);
    }
}

// Whether a packet fits once those that have more left than it has are lost for its sake.
static bool displace(struct packet_engine *engine, uint32_t link_id, uint32_t id)
{
    const struct packet *packet = &engine->packets[id];
    const struct packet_port *port = &engine->ports.queues[link_id];
    struct packet_link *link = &engine->links[link_id];
    uint32_t data = PACKET_CONTROL_BAND + 1;
    uint64_t now_ps = engine->clock.now_ps;
    while (packet_port_backlog_ps(port, now_ps) + serial_ps(link, packet->bytes) > link->limit_ps) {
        uint32_t worst = packet_remaining_worst(engine, band_at(engine, link_id, data), packet);
        if (worst == WEFT_NONE) {
            return false;
        }
        take_out(engine, link_id, data, worst);
        link->bytes -= engine->packets[worst].bytes;
        packet_lose(engine, link, worst);
    }
    return true;
}

// Whether a packet from elsewhere fits; trims it if that is what the port does.
static bool admit(struct packet_engine *engine, uint32_t link_id, uint32_t id)
{
    const struct packet *packet = &engine->packets[id];
    const struct packet_port *port = &engine->ports.queues[link_id];
    const struct packet_link *link = &engine->links[link_id];
    uint64_t now_ps = engine->clock.now_ps;
    if (engine->ports.holds != NULL) {
        return packet_hold_bytes(engine, packet->link, packet_band_of(engine, packet),
                                 packet->bytes);
    }
    if (engine->ports.options->trims) {
        if ((packet->flags & (PACKET_ACK | PACKET_TRIMMED)) == 0) {
            trim_one(engine, link_id, id);
        }
        return band_fits(engine, link_id, packet_band_of(engine, packet), packet->bytes);
    }
    if (engine->ports.options->by_remaining) {
        return displace(engine, link_id, id);
    }
    uint64_t backlog = packet_port_backlog_ps(port, now_ps);
    return backlog + serial_ps(link, packet->bytes) <= link->limit_ps;
}

// A packet enters a port that has a queue: it is admitted, marked or lost, waits in its band, and
// is sent at once if the port is free. A busy port that nobody waits for yet files the one event at
// which it will be free; all that come until then are served from there on.
void packet_queue_enter(struct packet_engine *engine, uint32_t id)
{
    struct packet *packet = &engine->packets[id];
    uint32_t link_id = engine->hops[packet->hop];
    struct packet_link *link = &engine->links[link_id];
    struct packet_port *port = &engine->ports.queues[link_id];
    uint64_t now_ps = engine->clock.now_ps;
    bool own = (packet->flags & PACKET_OWN) != 0;
    if (!own && !admit(engine, link_id, id)) {
        packet_lose(engine, link, id);
        return;
    }
    uint32_t band = packet_band_of(engine, packet);
    bool may_mark =
        (packet->flags & (PACKET_OWN | PACKET_ACK | PACKET_TRIMMED)) == 0 && engine->lines == NULL;
    if (may_mark &&
        !packet_mark_or_lose(engine, link_id, id, marking_backlog_ps(engine, link_id, band))) {
        return;
    }
    if (own) {
        packet->tail_ps = now_ps;
    }
    packet->hop++;
    link->bytes += packet->bytes;
    push(engine, link_id, band, id);
    if (engine->lines != NULL) {
        packet_line_join(engine, link_id * engine->ports.band_count + band, id);
    }
    uint64_t backlog = packet_port_backlog_ps(port, now_ps);
    link->backlog_max_ps = backlog > link->backlog_max_ps ? backlog : link->backlog_max_ps;
    if (port->is_awaited) {
        return;
    }
    if (port->busy_ps <= now_ps) {
        packet_queue_serve(engine, link_id);
        return;
    }
    port->is_awaited = true;
    clock_file(&engine->clock,
               (uint32_t)PACKET_EVENT_PORT << CLOCK_KIND_SHIFT | link_id << PORT_EVENT_BITS,
               port->busy_ps);
}
