// SPDX-License-Identifier: Apache-2.0
// Swift (Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the
// Datacenter", SIGCOMM 2020, 3.1 to 3.5 and algorithm 1). The delay is the round trip: hosts take
// no time here, so that the endpoint's part of Swift has nothing to measure.

#include "sim/packet/engine/engine.h"

#include <math.h>

#define TIMEOUTS_TO_RESET 5u // RETX_RESET_THRESHOLD

static void open_swift(struct packet_engine *engine, struct packet_flow *flow)
{
    const uint32_t *hop = &engine->hops[flow->data_hop];
    uint32_t hop_count = 0;
    while (hop[hop_count] != WEFT_NONE) {
        hop_count++;
    }
    flow->cc.swift.hop_count = hop_count;
    flow->cc.swift.timeouts = 0;
    flow->cc.swift.cut_ps = 0;
}

uint64_t packet_swift_target_ps(const struct weft_swift_options *options, uint32_t hop_count,
                                double window)
{
    double low = 1 / sqrt(options->flow_window_min);
    double high = 1 / sqrt(options->flow_window_max);
    double slope_ps = (double)options->flow_ps / (low - high);
    double flow_ps = slope_ps * (1 / sqrt(window) - high);
    flow_ps = fmax(0, fmin(flow_ps, (double)options->flow_ps));
    return options->base_ps + hop_count * options->hop_ps + (uint64_t)flow_ps;
}

static bool may_cut(const struct packet_engine *engine, const struct packet_flow *flow)
{
    return engine->clock.now_ps - flow->cc.swift.cut_ps >= flow->smooth_ps;
}

static void bound(struct packet_engine *engine, struct packet_flow *flow, double before)
{
    const struct weft_swift_options *options = &engine->options->swift;
    flow->window = fmin(fmax(flow->window, options->window_min_packets),
                        fmin(options->window_max_packets, engine->options->window_limit_packets));
    if (flow->window < before) {
        flow->cc.swift.cut_ps = engine->clock.now_ps;
    }
}

static void swift_acknowledged(struct packet_engine *engine, struct packet_flow *flow,
                               const struct packet_ack *ack)
{
    const struct weft_swift_options *options = &engine->options->swift;
    double before = flow->window;
    uint64_t target_ps = packet_swift_target_ps(options, flow->cc.swift.hop_count, before);
    flow->cc.swift.timeouts = 0;
    if (ack->trip_ps < target_ps) {
        double step = flow->gain_ratio * options->step_packets * ack->newly;
        flow->window += before >= 1 ? step / before : step;
    } else if (may_cut(engine, flow)) {
        double over = (double)(ack->trip_ps - target_ps) / (double)ack->trip_ps;
        flow->window *= fmax(1 - options->decrease_ratio * over, 1 - options->decrease_max);
    }
    bound(engine, flow, before);
}

static void swift_lost(struct packet_engine *engine, struct packet_flow *flow)
{
    double before = flow->window;
    if (may_cut(engine, flow)) {
        flow->window *= 1 - engine->options->swift.decrease_max;
    }
    bound(engine, flow, before);
}

static void swift_timed_out(struct packet_engine *engine, struct packet_flow *flow)
{
    double before = flow->window;
    if (++flow->cc.swift.timeouts >= TIMEOUTS_TO_RESET) {
        flow->window = engine->options->swift.window_min_packets;
    } else if (may_cut(engine, flow)) {
        flow->window *= 1 - engine->options->swift.decrease_max;
    }
    bound(engine, flow, before);
}

// Below one packet a window is a gap: one packet every round trip / window.
static void swift_sent(struct packet_engine *engine, struct packet_flow *flow, uint32_t bytes)
{
    (void)bytes;
    flow->pace_ps = 0;
    if (flow->window < 1) {
        double gap_ps = (double)flow->smooth_ps / flow->window;
        flow->pace_ps = engine->clock.now_ps + (uint64_t)(gap_ps + 0.5);
    }
}

struct packet_transport packet_swift(void)
{
    return (struct packet_transport){.name = "swift",
                                     .open = open_swift,
                                     .acknowledged = swift_acknowledged,
                                     .lost = swift_lost,
                                     .timed_out = swift_timed_out,
                                     .sent = swift_sent};
}
