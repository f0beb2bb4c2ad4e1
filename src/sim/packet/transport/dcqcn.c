// SPDX-License-Identifier: Apache-2.0
// DCQCN (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, 3 and 5):
// the receiver turns marks into notices, a notice cuts the rate, time and bytes raise it.
//
// Timers are caught up with when a packet goes or a notice comes: nothing else reads the rate.
// A notice travels with the acknowledgement of the packet that caused it. Losses do not cut.

#include "sim/packet/engine/engine.h"

#include <math.h>

static double line_rate_Bps(const struct packet_engine *engine, const struct packet_flow *flow)
{
    const struct packet_link *link = &engine->links[engine->hops[flow->data_hop]];
    return (double)WEFT_PS_PER_S / link->ps_per_byte;
}

static uint64_t timer_ps(const struct packet_engine *engine, const struct packet_flow *flow)
{
    uint64_t own_ps = engine->jobs[flow->job].dcqcn_timer_ps;
    return own_ps > 0 ? own_ps : engine->options->dcqcn.timer_ps;
}

static void begin_period(struct packet_engine *engine, struct packet_flow *flow)
{
    const struct weft_dcqcn_options *options = &engine->options->dcqcn;
    flow->cc.dcqcn.alpha_ps = engine->clock.now_ps + options->alpha_ps;
    flow->cc.dcqcn.grow_ps = engine->clock.now_ps + timer_ps(engine, flow);
    flow->cc.dcqcn.bytes_left = (double)options->bytes;
    flow->cc.dcqcn.timer_count = 0;
    flow->cc.dcqcn.byte_count = 0;
}

static void open_dcqcn(struct packet_engine *engine, struct packet_flow *flow)
{
    uint32_t window = engine->options->dcqcn.window_packets;
    flow->window = window > 0 ? window : engine->options->window_limit_packets;
    flow->cc.dcqcn.rate_Bps = line_rate_Bps(engine, flow);
    flow->cc.dcqcn.target_Bps = flow->cc.dcqcn.rate_Bps;
    flow->cc.dcqcn.alpha = 1;
    begin_period(engine, flow);
}

// Fast recovery, additive or hyper increase, by what the two counters say.
static void raise_rate(const struct packet_engine *engine, struct packet_flow *flow)
{
    const struct weft_dcqcn_options *options = &engine->options->dcqcn;
    uint32_t most = flow->cc.dcqcn.timer_count;
    uint32_t least = flow->cc.dcqcn.byte_count;
    if (most < least) {
        uint32_t swap = most;
        most = least;
        least = swap;
    }
    double line_Bps = line_rate_Bps(engine, flow);
    if (least > options->recovery_count) {
        flow->cc.dcqcn.target_Bps +=
            flow->gain_ratio * (least - options->recovery_count) * options->hyper_step_Bps;
    } else if (most >= options->recovery_count) {
        flow->cc.dcqcn.target_Bps += flow->gain_ratio * options->step_Bps;
    }
    flow->cc.dcqcn.target_Bps = fmin(flow->cc.dcqcn.target_Bps, line_Bps);
    flow->cc.dcqcn.rate_Bps = (flow->cc.dcqcn.rate_Bps + flow->cc.dcqcn.target_Bps) / 2;
}

// The timers that have ended by now, in order.
static void catch_up(const struct packet_engine *engine, struct packet_flow *flow)
{
    const struct weft_dcqcn_options *options = &engine->options->dcqcn;
    uint64_t now_ps = engine->clock.now_ps;
    while (flow->cc.dcqcn.alpha_ps <= now_ps || flow->cc.dcqcn.grow_ps <= now_ps) {
        if (flow->cc.dcqcn.alpha_ps < flow->cc.dcqcn.grow_ps) {
            flow->cc.dcqcn.alpha *= 1 - options->gain;
            flow->cc.dcqcn.alpha_ps += options->alpha_ps;
        } else {
            flow->cc.dcqcn.timer_count++;
            raise_rate(engine, flow);
            flow->cc.dcqcn.grow_ps += timer_ps(engine, flow);
        }
    }
}

static void dcqcn_sent(struct packet_engine *engine, struct packet_flow *flow, uint32_t bytes)
{
    catch_up(engine, flow);
    flow->cc.dcqcn.bytes_left -= bytes;
    if (flow->cc.dcqcn.bytes_left <= 0) {
        flow->cc.dcqcn.bytes_left += (double)engine->options->dcqcn.bytes;
        flow->cc.dcqcn.byte_count++;
        raise_rate(engine, flow);
    }
    double gap_ps = bytes * (double)WEFT_PS_PER_S / flow->cc.dcqcn.rate_Bps;
    uint64_t now_ps = engine->clock.now_ps;
    uint64_t from_ps = flow->pace_ps > now_ps ? flow->pace_ps : now_ps;
    flow->pace_ps = from_ps + (uint64_t)(gap_ps + 0.5);
}

static void dcqcn_acknowledged(struct packet_engine *engine, struct packet_flow *flow,
                               const struct packet_ack *ack)
{
    if (!ack->noticed) {
        return;
    }
    const struct weft_dcqcn_options *options = &engine->options->dcqcn;
    catch_up(engine, flow);
    flow->cc.dcqcn.target_Bps = flow->cc.dcqcn.rate_Bps;
    flow->cc.dcqcn.rate_Bps = fmax(flow->cc.dcqcn.rate_Bps * (1 - flow->cc.dcqcn.alpha / 2),
                                   fmin(options->rate_min_Bps, line_rate_Bps(engine, flow)));
    flow->cc.dcqcn.alpha = (1 - options->gain) * flow->cc.dcqcn.alpha + options->gain;
    begin_period(engine, flow);
}

static void keep_rate(struct packet_engine *engine, struct packet_flow *flow)
{
    (void)engine;
    (void)flow;
}

struct packet_transport packet_dcqcn(void)
{
    return (struct packet_transport){.name = "dcqcn",
                                     .open = open_dcqcn,
                                     .acknowledged = dcqcn_acknowledged,
                                     .lost = keep_rate,
                                     .timed_out = keep_rate,
                                     .sent = dcqcn_sent,
                                     .notices = true};
}
