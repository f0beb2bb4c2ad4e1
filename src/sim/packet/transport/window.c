// SPDX-License-Identifier: Apache-2.0
// Transports that keep a window: Reno (RFC 5681; marks as RFC 3168) and DCTCP (RFC 8257).

#include "sim/packet/engine/engine.h"

#include <math.h>

static void open_plain(struct packet_engine *engine, struct packet_flow *flow)
{
    (void)engine;
    (void)flow;
}

void packet_grow(struct packet_flow *flow, uint32_t newly)
{
    if (flow->window < flow->threshold) {
        flow->window = fmin(flow->window + newly, fmax(flow->threshold, flow->window));
    } else {
        flow->window += flow->gain_ratio * newly / flow->window;
    }
}

static void halve(struct packet_flow *flow)
{
    flow->threshold = fmax(flow->window / 2, 2);
    flow->window = flow->threshold;
}

static void reno_acknowledged(struct packet_engine *engine, struct packet_flow *flow,
                              const struct packet_ack *ack)
{
    (void)engine;
    if (ack->marked && flow->acknowledged.low >= flow->recover) {
        flow->recover = flow->next;
        flow->in_recovery = true;
        halve(flow);
    }
    if (!flow->in_recovery) {
        packet_grow(flow, ack->newly);
    }
}

static void reno_lost(struct packet_engine *engine, struct packet_flow *flow)
{
    (void)engine;
    halve(flow);
}

static void reno_timed_out(struct packet_engine *engine, struct packet_flow *flow)
{
    (void)engine;
    halve(flow);
    flow->window = 1;
}

struct packet_transport packet_reno(void)
{
    return (struct packet_transport){.name = "reno",
                                     .open = open_plain,
                                     .acknowledged = reno_acknowledged,
                                     .lost = reno_lost,
                                     .timed_out = reno_timed_out};
}

// ---- DCTCP ----

static void open_dctcp(struct packet_engine *engine, struct packet_flow *flow)
{
    flow->cc.dctcp.marked_ratio = engine->dctcp->begins_marked ? 1 : 0;
    flow->cc.dctcp.turn_packets = 2;
}

static void cut_dctcp(struct packet_flow *flow)
{
    flow->window = fmax(1, flow->window * (1 - flow->cc.dctcp.marked_ratio / 2));
    flow->threshold = fmin(flow->threshold, flow->window);
}

// The share of marked packets of a turn goes into the average (3.3), which cuts the window: then,
// or as the RFC has it at the first mark of a window.
static void end_turn(const struct packet_engine *engine, struct packet_flow *flow)
{
    const struct weft_dctcp_options *options = engine->dctcp;
    double share = (double)flow->cc.dctcp.marked / flow->cc.dctcp.seen;
    flow->cc.dctcp.marked_ratio += options->gain * (share - flow->cc.dctcp.marked_ratio);
    if (flow->cc.dctcp.marked > 0 && !options->cuts_at_once) {
        cut_dctcp(flow);
    }
    flow->cc.dctcp.seen = 0;
    flow->cc.dctcp.marked = 0;
    flow->cc.dctcp.turn_end = flow->next;
}

// counts_turns of the options.
static void count_turns(const struct packet_engine *engine, struct packet_flow *flow, bool marked)
{
    flow->cc.dctcp.seen++;
    if (marked) {
        flow->cc.dctcp.marked++;
        flow->threshold = fmin(flow->threshold, flow->window);
    }
    if (flow->cc.dctcp.seen >= flow->cc.dctcp.turn_packets) {
        double share = (double)flow->cc.dctcp.marked / flow->cc.dctcp.seen;
        flow->cc.dctcp.marked_ratio += engine->dctcp->gain * (share - flow->cc.dctcp.marked_ratio);
        if (flow->cc.dctcp.marked_ratio > 0) {
            cut_dctcp(flow);
        }
        flow->cc.dctcp.turn_packets = flow->window;
        flow->cc.dctcp.seen = 0;
        flow->cc.dctcp.marked = 0;
    }
    double room = fmin(1, flow->acknowledged.low + flow->window - flow->next);
    if (flow->in_recovery || room <= 0) {
        return;
    }
    if (flow->window < flow->threshold) {
        flow->window += fmin(room, flow->threshold - flow->window);
    } else {
        flow->window += flow->gain_ratio * room / flow->window;
    }
}

static void dctcp_connected(struct packet_engine *engine, struct packet_flow *flow, bool marked)
{
    if (engine->dctcp->counts_turns) {
        count_turns(engine, flow, marked);
    }
}

static void dctcp_acknowledged(struct packet_engine *engine, struct packet_flow *flow,
                               const struct packet_ack *ack)
{
    if (engine->dctcp->counts_turns) {
        count_turns(engine, flow, ack->marked);
        return;
    }
    flow->cc.dctcp.seen += ack->newly;
    flow->cc.dctcp.marked += ack->marked ? ack->newly : 0;
    if (ack->marked && engine->dctcp->cuts_at_once &&
        flow->acknowledged.low >= flow->cc.dctcp.cut_end) {
        flow->cc.dctcp.cut_end = flow->next;
        cut_dctcp(flow);
    }
    if (flow->acknowledged.low > flow->cc.dctcp.turn_end) {
        end_turn(engine, flow);
    }
    if (!flow->in_recovery) {
        packet_grow(flow, ack->newly);
    }
}

struct packet_transport packet_dctcp(void)
{
    return (struct packet_transport){.name = "dctcp",
                                     .open = open_dctcp,
                                     .connected = dctcp_connected,
                                     .acknowledged = dctcp_acknowledged,
                                     .lost = reno_lost,
                                     .timed_out = reno_timed_out};
}
