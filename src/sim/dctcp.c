// SPDX-License-Identifier: Apache-2.0
// DCTCP on queues without loss: packets move from link to link, windows open and are cut.

#include "dctcp.h"

#include <math.h>
#include <string.h>

#define QUEUE_ROOM_MIN 64u

void weft_dctcp_init(struct weft_dctcp *dctcp, const struct weft_fabric *fabric,
                     const struct weft_sim_options *options, uint32_t flow_capacity,
                     struct weft_arena *arena)
{
    struct weft_dctcp d = {.options = options, .flow_capacity = flow_capacity, .arena = arena};
    d.links = WEFT_NEW(arena, struct weft_dctcp_link, fabric->link_count);
    for (uint32_t i = 0; i < fabric->link_count; i++) {
        const struct weft_link *link = &fabric->links[i];
        d.links[i].ps_per_byte = (double)WEFT_PS_PER_S / link->rate_Bps;
        d.links[i].latency_ps = (double)link->latency_ps;
        d.links[i].can_mark = link->from >= fabric->server_count;
    }
    d.flows = WEFT_NEW_RAW(arena, struct weft_dctcp_flow, flow_capacity);
    d.free_flows = WEFT_NEW_RAW(arena, uint32_t, flow_capacity);
    d.heap = WEFT_NEW_RAW(arena, struct weft_dctcp_entry, fabric->link_count);
    *dctcp = d;
}

// ---- links by the arrival of their first packet: a binary heap ----

static bool comes_before(const struct weft_dctcp_entry *a, const struct weft_dctcp_entry *b)
{
    return a->time_ps < b->time_ps || (a->time_ps == b->time_ps && a->order < b->order);
}

static struct weft_dctcp_entry entry_of(struct weft_dctcp *dctcp, uint32_t id)
{
    const struct weft_dctcp_link *link = &dctcp->links[id];
    return (struct weft_dctcp_entry){link->packets[link->first].leaves_ps + link->latency_ps,
                                     dctcp->order++, id};
}

static void file_link(struct weft_dctcp *dctcp, uint32_t id)
{
    struct weft_dctcp_entry entry = entry_of(dctcp, id);
    struct weft_dctcp_entry *heap = dctcp->heap;
    uint32_t place = dctcp->heap_count++;
    while (place > 0 && comes_before(&entry, &heap[(place - 1) / 2])) {
        heap[place] = heap[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    heap[place] = entry;
}

// Files the top link under its new first packet, or takes it out when it has none.
static void refile_top(struct weft_dctcp *dctcp)
{
    struct weft_dctcp_entry *heap = dctcp->heap;
    uint32_t id = heap[0].link;
    struct weft_dctcp_entry entry =
        dctcp->links[id].count > 0 ? entry_of(dctcp, id) : heap[--dctcp->heap_count];
    uint32_t place = 0;
    for (uint32_t child; (child = 2 * place + 1) < dctcp->heap_count;) {
        if (child + 1 < dctcp->heap_count && comes_before(&heap[child + 1], &heap[child])) {
            child++;
        }
        if (!comes_before(&heap[child], &entry)) {
            break;
        }
        heap[place] = heap[child];
        place = child;
    }
    heap[place] = entry;
}

// ---- queues ----

static void widen(struct weft_dctcp_link *link, struct weft_arena *arena)
{
    uint32_t room = link->room == 0 ? QUEUE_ROOM_MIN : 2 * link->room;
    struct weft_dctcp_packet *packets = WEFT_NEW_RAW(arena, struct weft_dctcp_packet, room);
    for (uint32_t i = 0; i < link->count; i++) {
        packets[i] = link->packets[(link->first + i) & (link->room - 1)];
    }
    link->packets = packets;
    link->room = room;
    link->first = 0;
}

static void enter(struct weft_dctcp *dctcp, double now_ps, uint32_t id,
                  struct weft_dctcp_packet packet)
{
    struct weft_dctcp_link *link = &dctcp->links[id];
    if (link->count == link->room) {
        widen(link, dctcp->arena);
    }
    packet.entered_ps = now_ps;
    packet.leaves_ps = fmax(packet.entered_ps, link->free_ps) + packet.bytes * link->ps_per_byte;
    link->free_ps = packet.leaves_ps;
    link->packets[(link->first + link->count) & (link->room - 1)] = packet;
    if (link->count++ == 0) {
        file_link(dctcp, id);
    }
}

// Takes out the first packet, marked if the queue that it left behind, itself included, was long.
static struct weft_dctcp_packet leave(struct weft_dctcp_link *link, double mark_bytes)
{
    struct weft_dctcp_packet packet = link->packets[link->first];
    while (link->entered_count < link->count) {
        const struct weft_dctcp_packet *next =
            &link->packets[(link->first + link->entered_count) & (link->room - 1)];
        if (next->entered_ps > packet.leaves_ps) {
            break;
        }
        link->entered_bytes += next->bytes;
        link->entered_count++;
    }
    if (link->can_mark && link->entered_bytes > mark_bytes) {
        packet.is_marked = 1;
    }
    link->first = (link->first + 1) & (link->room - 1);
    link->count--;
    // An empty queue forgets what rounding left.
    link->entered_bytes = --link->entered_count == 0 ? 0 : link->entered_bytes - packet.bytes;
    return packet;
}

// ---- windows ----

static void send(struct weft_dctcp *dctcp, const struct weft_wire *wire, uint32_t id)
{
    struct weft_dctcp_flow *flow = &dctcp->flows[id];
    uint32_t first = weft_maxmin_class_at(&wire->maxmin, flow->class_id)->path[0];
    while (flow->sent < flow->total &&
           (double)flow->arrived + flow->window_packets >= (double)flow->sent + 1) {
        flow->sent++;
        double bytes =
            flow->sent == flow->total ? flow->last_bytes : (double)dctcp->options->packet_bytes;
        enter(dctcp, wire->now_ps, first, (struct weft_dctcp_packet){.bytes = bytes, .flow = id});
    }
}

void weft_dctcp_start(struct weft_dctcp *dctcp, struct weft_wire *wire, uint32_t class_id,
                      double wire_bytes, uint32_t owner)
{
    const struct weft_sim_options *options = dctcp->options;
    WEFT_ASSERT(wire_bytes > 0 && isfinite(wire_bytes));
    uint32_t id;
    if (dctcp->free_count > 0) {
        id = dctcp->free_flows[--dctcp->free_count];
    } else {
        WEFT_ASSERT(dctcp->flow_count < dctcp->flow_capacity);
        id = dctcp->flow_count++;
    }
    uint64_t total = (uint64_t)ceil(wire_bytes / options->packet_bytes);
    dctcp->flows[id] = (struct weft_dctcp_flow){
        .window_packets = options->dctcp.initial_window_packets,
        .turn_packets = 2,
        .owner = owner,
        .class_id = class_id,
        .total = total,
        .last_bytes = wire_bytes - (double)(total - 1) * options->packet_bytes,
    };
    wire->classes[class_id].users++;
    wire->started_count++;
    const struct weft_maxmin_class *path = weft_maxmin_class_at(&wire->maxmin, class_id);
    for (uint32_t hop = 0; hop < path->hop_count; hop++) {
        wire->link_bytes[path->path[hop]] += wire_bytes + options->header_bytes;
    }
    enter(dctcp, wire->now_ps, path->path[0],
          (struct weft_dctcp_packet){.bytes = options->header_bytes, .flow = id});
}

// A packet's acknowledgement, at the sender at once: cuts the window after each turn of which some
// packets were marked, lately, and opens it by one packet a turn.
static void adapt(struct weft_dctcp_flow *flow, const struct weft_dctcp_packet *packet, double gain)
{
    flow->turn_seen++;
    flow->turn_marked += packet->is_marked;
    if (flow->turn_seen >= flow->turn_packets) {
        double share = (double)flow->turn_marked / flow->turn_seen;
        flow->marked_ratio += gain * (share - flow->marked_ratio);
        flow->window_packets = fmax(1, flow->window_packets * (1 - flow->marked_ratio / 2));
        flow->turn_packets = flow->window_packets;
        flow->turn_seen = 0;
        flow->turn_marked = 0;
    }
    flow->arrived += flow->is_open;
    flow->is_open = true;
    double unused = (double)flow->arrived + flow->window_packets - (double)flow->sent;
    if (unused > 0) {
        flow->window_packets += fmin(1, unused) / flow->window_packets;
    }
}

double weft_dctcp_next_ps(const struct weft_dctcp *dctcp)
{
    return dctcp->heap_count == 0 ? (double)INFINITY : dctcp->heap[0].time_ps;
}

bool weft_dctcp_step(struct weft_dctcp *dctcp, struct weft_wire *wire, struct weft_wire_end *end)
{
    const struct weft_dctcp_options *options = &dctcp->options->dctcp;
    WEFT_ASSERT(dctcp->heap_count > 0);
    wire->now_ps = dctcp->heap[0].time_ps;
    dctcp->event_count++;
    struct weft_dctcp_packet packet =
        leave(&dctcp->links[dctcp->heap[0].link],
              (double)options->mark_packets * dctcp->options->packet_bytes);
    refile_top(dctcp);
    struct weft_dctcp_flow *flow = &dctcp->flows[packet.flow];
    const struct weft_maxmin_class *path = weft_maxmin_class_at(&wire->maxmin, flow->class_id);
    packet.hop++;
    if (packet.hop < path->hop_count) {
        enter(dctcp, wire->now_ps, path->path[packet.hop], packet);
        return false;
    }
    adapt(flow, &packet, options->gain);
    if (flow->arrived < flow->total) {
        send(dctcp, wire, packet.flow);
        return false;
    }
    *end = (struct weft_wire_end){flow->owner, flow->class_id, wire->now_ps};
    dctcp->free_flows[dctcp->free_count++] = packet.flow;
    weft_wire_close(wire, flow->class_id);
    return true;
}
