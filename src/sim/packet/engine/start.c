// SPDX-License-Identifier: Apache-2.0
// Messages begin: a message takes a slot of the flows, copies its paths there and back behind it in
// `hops`, opens its congestion control, and sends its first packets.
//
// Slots are used again. A slot keeps its generation, which its packets carry, so that packets of an
// earlier message are recognized wherever they arrive. O(links of the paths) for each message.

#include "sim/packet/skip/skip.h"

#include <math.h>
#include <string.h>

static uint32_t take_flow(struct packet_engine *engine)
{
    bool is_full =
        engine->flow_ids.free == WEFT_NONE && engine->flow_ids.count == engine->flow_ids.room;
    if (is_full && engine->ends.retire != NULL) {
        engine->ends.retire(engine);
    }
    uint32_t id = engine->flow_ids.free;
    if (id != WEFT_NONE) {
        engine->flow_ids.free = engine->flows[id].end.owner;
        return id;
    }
    WEFT_ASSERT(engine->flow_ids.count < engine->flow_ids.room);
    id = engine->flow_ids.count++;
    memset(&engine->flows[id], 0, sizeof(struct packet_flow));
    return id;
}

static uint32_t copy_hops(struct packet_engine *engine, uint32_t at, const uint32_t *links,
                          uint32_t count)
{
    memcpy(&engine->hops[at], links, count * sizeof(*links));
    engine->hops[at + count] = WEFT_NONE;
    return at + count + 1;
}

static uint32_t packet_priority(const struct packet_engine *engine, struct packet_end end)
{
    const uint8_t *priority = engine->ports.options->priority;
    if (priority == NULL) {
        return 0;
    }
    return priority[engine->ports.priority_by_job ? end.job : end.owner];
}

static void open_flow(struct packet_engine *engine, struct packet_flow *flow)
{
    const struct weft_packet_options *options = engine->options;
    struct packet_job *job = &engine->jobs[flow->end.job];
    struct packet_connection_view *view = packet_view(engine, flow);
    view->setting = &engine->setting;
    view->job = &job->setting;
    view->cwnd = options->window.initial_packets;
    view->ssthresh = options->window.slow_start ? (double)INFINITY : 0;
    view->growth_ratio = job->setting.weight_ratio;
    job->posted += flow->total;
    if (engine->scales_growth) {
        packet_scale_growth(engine, flow, 0);
    }
    if (engine->congestion.reads_path) {
        packet_read_path(engine, flow);
    }
    engine->ends.open(engine, (uint32_t)(flow - engine->flows));
}

uint32_t packet_lay_out(struct packet_engine *engine, const struct packet_route *route,
                        double wire_bytes, struct packet_end end)
{
    const struct weft_packet_options *options = engine->options;
    uint32_t id = take_flow(engine);
    struct packet_flow *flow = &engine->flows[id];
    uint32_t total = (uint32_t)ceil(wire_bytes / engine->setting.packet_bytes);
    double last_bytes = options->whole_packets
                            ? engine->setting.packet_bytes
                            : wire_bytes - (double)(total - 1) * engine->setting.packet_bytes;
    uint32_t data_hop = id * engine->hop_stride + 1;
    uint32_t ack_hop = copy_hops(engine, data_hop, route->path, route->hop_count);
    bool at_once = options->ack_at_once || route->back_count == 0;
    if (engine->sprays.flows != NULL) {
        ack_hop = data_hop + engine->sprays.path_room * engine->sprays.path_stride;
    }
    if (!at_once) {
        copy_hops(engine, ack_hop, route->back, route->back_count);
    }
    engine->hops[data_hop - 1] = flow->generation;
    *flow = (struct packet_flow){
        .timer_filed = flow->timer_filed,
        .is_paced = flow->is_paced,
        .is_stream = engine->persistent,
        .generation = flow->generation,
        .end = end,
        .total = total,
        .last_bytes = fmax(1, ceil(last_bytes)),
        .data_hop = data_hop,
        .ack_hop = at_once ? WEFT_NONE : ack_hop,
        .priority = packet_priority(engine, end),
    };
    if (engine->sprays.flows != NULL) {
        packet_spray_open(engine, id);
    }
    if (engine->circuits != NULL) {
        const struct weft_link *links = engine->circuits->fabric->links;
        engine->circuits->flow_from[id] = links[route->path[0]].from;
        engine->circuits->flow_to[id] = links[route->path[route->hop_count - 1]].to;
        engine->circuits->by_packets[id] = route->by_packets;
    }
    return id;
}

void packet_begin(struct packet_engine *engine, uint32_t id)
{
    struct packet_flow *flow = &engine->flows[id];
    flow->is_open = true;
    flow->started_ps = engine->clock.now_ps;
    open_flow(engine, flow);
    if (engine->persistent) {
        packet_stream_open(engine, id, flow->end);
    }
    if (engine->options->handshake) {
        packet_transmit(engine, id, WEFT_NONE, 0);
    } else {
        flow->is_connected = true;
        engine->ends.send(engine, id);
    }
    packet_set_timer(engine, id);
}

void packet_engine_start(struct packet_engine *engine, const struct packet_route *route,
                         double wire_bytes, struct packet_end end)
{
    WEFT_ASSERT(wire_bytes > 0 && isfinite(wire_bytes));
    uint32_t id = engine->persistent ? packet_stream_join(engine, end, wire_bytes) : WEFT_NONE;
    if (id == WEFT_NONE) {
        id = packet_lay_out(engine, route, wire_bytes, end);
        engine->laid_out = id;
        if (engine->skip != NULL) {
            packet_skip_start(engine, id);
        } else if (!engine->lays_out_only) {
            packet_begin(engine, id);
        }
    } else if (engine->flows[id].is_connected) {
        engine->ends.send(engine, id);
    }
}
