// SPDX-License-Identifier: Apache-2.0
// A group of messages taken out of time, and put back later as if it had gone on in between.
//
// In a steady state the network at two instants differs in when things happen and in which packets
// of the messages are on their way, and in nothing else. So a thaw after a time d adds d to every
// instant of the group (its pending events, its ports, its timers, what its congestion controls
// remember) and to every sequence number of a message the packets that it sends in d. What is in
// flight, in queues and in windows stays as it was. How many packets those are is the message's
// measured rate times d; the part of a packet that is left over counts in the next thaw.

#include "sim/packet/engine/sequence.h"
#include "skip.h"

#define EVENT_KIND(id) ((enum packet_event)((id) >> CLOCK_KIND_SHIFT))
#define PARKED_MAX ((uint32_t)1 << 26)

// The group whose event this is; WEFT_NONE: packets of messages that are over, and ticks.
static uint32_t group_of(const struct packet_engine *engine, uint32_t event)
{
    uint32_t index = event & CLOCK_INDEX_MASK;
    switch (EVENT_KIND(event)) {
    case PACKET_EVENT_ARRIVAL: {
        const struct packet *packet = &engine->packets[index];
        bool lives = engine->flows[packet->flow].generation == packet->generation;
        return lives ? engine->skip->flows[packet->flow].group : WEFT_NONE;
    }
    case PACKET_EVENT_RETRANSMIT:
    case PACKET_EVENT_PACE:
        return engine->skip->flows[index].group;
    case PACKET_EVENT_PULL:
    case PACKET_EVENT_PORT:
    case PACKET_EVENT_SKIP:
    case PACKET_EVENT_CIRCUIT:
        break;
    }
    return WEFT_NONE;
}

static void park(struct packet_skip *skip, struct packet_skip_group *group,
                 const struct clock_due *event)
{
    uint32_t id = skip->parked_free;
    if (id != WEFT_NONE) {
        skip->parked_free = skip->parked[id].next;
    } else {
        WEFT_ASSERT(skip->parked_count < PARKED_MAX);
        id = skip->parked_count++;
    }
    skip->parked[id] = (struct packet_skip_parked){event->time_ps, event->id, WEFT_NONE};
    if (group->parked_first == WEFT_NONE) {
        group->parked_first = id;
    } else {
        skip->parked[group->parked_last].next = id;
    }
    group->parked_last = id;
}

void packet_skip_freeze(struct packet_engine *engine, uint32_t id)
{
    struct packet_skip *skip = engine->skip;
    struct packet_skip_group *group = &skip->groups[id];
    WEFT_ASSERT(group->state == SKIP_PLAYED && group->parked_first == WEFT_NONE);
    struct weft_arena scratch = skip->scratch;
    struct clock_due *events;
    uint32_t count = clock_drain(&engine->clock, &events, &scratch);
    for (uint32_t i = 0; i < count; i++) {
        if (group_of(engine, events[i].id) == id) {
            park(skip, group, &events[i]);
        } else {
            clock_file(&engine->clock, events[i].id, events[i].time_ps);
        }
    }
    for (uint32_t flow = group->first; flow != WEFT_NONE; flow = skip->flows[flow].next) {
        struct packet_skip_walk walk = packet_skip_walk(engine, flow);
        for (; walk.link != WEFT_NONE; packet_skip_next(engine, flow, &walk)) {
            skip->links[walk.link].free_ps = engine->links[walk.link].free_ps;
        }
    }
    group->state = SKIP_FROZEN;
    group->frozen_ps = engine->clock.now_ps;
    skip->counts.spans++;
}

// ---- a message moves on ----

// The window holds the same packets, each by so many higher.
static void shift_window(struct packet_engine *engine, struct packet_window *window, uint32_t by)
{
    uint32_t limit = engine->options->window.limit_packets;
    uint32_t low = window->low;
    struct packet_window moved = {.low = low + by};
    if (window->bits != NULL) {
        for (uint32_t sequence = low; sequence < low + limit; sequence++) {
            if (packet_has_come(engine, window, sequence)) {
                packet_put(engine, &moved, sequence + by);
            }
        }
        packet_release_bits(engine, window);
    }
    *window = moved;
}

static uint64_t later(uint64_t time_ps, uint64_t by_ps)
{
    return time_ps == 0 || time_ps == WEFT_NEVER ? time_ps : time_ps + by_ps;
}

static void shift_flow(struct packet_engine *engine, uint32_t id, uint32_t by, uint64_t by_ps)
{
    struct packet_flow *flow = &engine->flows[id];
    shift_window(engine, &flow->acknowledged, by);
    shift_window(engine, &flow->received, by);
    flow->highest += by;
    flow->lost.from += by;
    flow->lost.until += by;
    flow->view.snd_next += by;
    flow->view.recover += by;
    flow->deadline_ps = later(flow->deadline_ps, by_ps);
    flow->left_ps = later(flow->left_ps, by_ps);
    flow->slot_ps = later(flow->slot_ps, by_ps);
    flow->heard_ps = later(flow->heard_ps, by_ps);
    flow->notice_ps = later(flow->notice_ps, by_ps);
    flow->view.next_send_ps = later(flow->view.next_send_ps, by_ps);
    if (engine->congestion.on_skip != NULL) {
        engine->congestion.on_skip(packet_view(engine, flow), by, by_ps);
    }
    WEFT_ASSERT(flow->view.snd_next < flow->total);
}

// Links carry what a message has sent meanwhile, and are free as much later.
static void shift_links(struct packet_engine *engine, uint32_t id, uint32_t packets, uint64_t by_ps)
{
    const uint32_t bytes[] = {engine->setting.packet_bytes, engine->setting.ack_bytes};
    struct packet_skip_walk walk = packet_skip_walk(engine, id);
    for (; walk.link != WEFT_NONE; packet_skip_next(engine, id, &walk)) {
        struct packet_link *link = &engine->links[walk.link];
        uint64_t free_ps = engine->skip->links[walk.link].free_ps + by_ps;
        link->bytes += (uint64_t)packets * bytes[walk.is_back];
        link->free_ps = link->free_ps > free_ps ? link->free_ps : free_ps;
    }
}

static void shift_packet(struct packet_engine *engine, uint32_t id, uint64_t by_ps)
{
    struct packet *packet = &engine->packets[id];
    uint32_t by = engine->skip->flows[packet->flow].advance;
    packet->sent_ps += by_ps;
    packet->entered_ps += by_ps;
    packet->tail_ps += by_ps;
    packet->sequence += by;
    packet->cumulative += by;
}

// How many packets a message sends in a time; it stays short of its last one.
static uint32_t advance_of(const struct packet_flow *flow, struct packet_skip_flow *part,
                           uint64_t by_ps)
{
    double packets = part->rate * (double)by_ps + part->carry;
    uint32_t room = flow->total - 1 - flow->view.snd_next;
    uint32_t advance = packets < room ? (uint32_t)packets : room;
    part->carry = packets - advance < 1 ? packets - advance : 0;
    return advance;
}

void packet_skip_thaw(struct packet_engine *engine, uint32_t id)
{
    struct packet_skip *skip = engine->skip;
    struct packet_skip_group *group = &skip->groups[id];
    WEFT_ASSERT(group->state == SKIP_FROZEN);
    uint64_t by_ps = engine->clock.now_ps - group->frozen_ps;
    for (uint32_t flow = group->first; flow != WEFT_NONE; flow = skip->flows[flow].next) {
        struct packet_skip_flow *part = &skip->flows[flow];
        part->advance = advance_of(&engine->flows[flow], part, by_ps);
        part->base += part->advance;
        shift_flow(engine, flow, part->advance, by_ps);
        shift_links(engine, flow, part->advance, by_ps);
        part->mark = engine->flows[flow].received.low;
        engine->counts.packets += part->advance;
        skip->counts.bytes += (double)part->advance * engine->setting.packet_bytes;
    }
    for (uint32_t i = group->parked_first; i != WEFT_NONE;) {
        struct packet_skip_parked *parked = &skip->parked[i];
        if (EVENT_KIND(parked->id) == PACKET_EVENT_ARRIVAL) {
            shift_packet(engine, parked->id & CLOCK_INDEX_MASK, by_ps);
        }
        clock_file(&engine->clock, parked->id, parked->time_ps + by_ps);
        uint32_t next = parked->next;
        parked->next = skip->parked_free;
        skip->parked_free = i;
        i = next;
    }
    group->parked_first = WEFT_NONE;
    group->parked_last = WEFT_NONE;
    group->state = SKIP_PLAYED;
    group->base_ps += by_ps;
    group->window_from_ps = engine->clock.now_ps;
}
