// SPDX-License-Identifier: Apache-2.0
// CUBIC (RFC 9438), without HyStart. Marks cut as losses do (4.6).

#include "sim/packet/engine/engine.h"

#include <math.h>

static void open_cubic(struct packet_engine *engine, struct packet_flow *flow)
{
    (void)engine;
    flow->cc.cubic.peak = 0;
    flow->cc.cubic.began_ps = WEFT_NEVER;
}

double packet_cubic_period_s(const struct weft_cubic_options *options, double peak, double from)
{
    return peak > from ? cbrt((peak - from) / options->growth) : 0;
}

static void begin_epoch(const struct packet_engine *engine, struct packet_flow *flow)
{
    flow->cc.cubic.began_ps = engine->clock.now_ps;
    flow->cc.cubic.reno_window = flow->window;
    flow->cc.cubic.peak = fmax(flow->cc.cubic.peak, flow->window);
    flow->cc.cubic.period_s =
        packet_cubic_period_s(&engine->options->cubic, flow->cc.cubic.peak, flow->window);
}

// 4.2 to 4.5.
static void grow_cubic(const struct packet_engine *engine, struct packet_flow *flow, uint32_t newly)
{
    const struct weft_cubic_options *options = &engine->options->cubic;
    if (flow->cc.cubic.began_ps == WEFT_NEVER) {
        begin_epoch(engine, flow);
    }
    double t_s = weft_seconds(engine->clock.now_ps - flow->cc.cubic.began_ps);
    double ahead_s = t_s + weft_seconds(flow->smooth_ps) - flow->cc.cubic.period_s;
    double target = flow->cc.cubic.peak + options->growth * ahead_s * ahead_s * ahead_s;
    target = fmin(fmax(target, flow->window), 1.5 * flow->window);
    double beta = options->decrease_ratio;
    double alpha =
        flow->cc.cubic.reno_window < flow->cc.cubic.before ? 3 * (1 - beta) / (1 + beta) : 1;
    flow->cc.cubic.reno_window += flow->gain_ratio * alpha * newly / flow->window;
    double past_s = t_s - flow->cc.cubic.period_s;
    double cube = flow->cc.cubic.peak + options->growth * past_s * past_s * past_s;
    if (options->reno_friendly && cube < flow->cc.cubic.reno_window) {
        flow->window = fmax(flow->window, flow->cc.cubic.reno_window);
    } else {
        flow->window += flow->gain_ratio * newly * (target - flow->window) / flow->window;
    }
}

// 4.6 and 4.7.
static void cut_cubic(struct packet_engine *engine, struct packet_flow *flow)
{
    const struct weft_cubic_options *options = &engine->options->cubic;
    double beta = options->decrease_ratio;
    bool shrinks = options->fast_convergence && flow->window < flow->cc.cubic.peak;
    flow->cc.cubic.before = flow->window;
    flow->cc.cubic.peak = shrinks ? flow->window * (1 + beta) / 2 : flow->window;
    flow->threshold = fmax(flow->window * beta, 2);
    flow->window = flow->threshold;
    flow->cc.cubic.began_ps = WEFT_NEVER;
}

static void cubic_acknowledged(struct packet_engine *engine, struct packet_flow *flow,
                               const struct packet_ack *ack)
{
    if (ack->marked && flow->acknowledged.low >= flow->recover) {
        flow->recover = flow->next;
        flow->in_recovery = true;
        cut_cubic(engine, flow);
    }
    if (flow->in_recovery) {
        return;
    }
    if (flow->window < flow->threshold) {
        packet_grow(flow, ack->newly);
    } else {
        grow_cubic(engine, flow, ack->newly);
    }
}

// 4.8: the first epoch after a timeout begins at its peak.
static void cubic_timed_out(struct packet_engine *engine, struct packet_flow *flow)
{
    cut_cubic(engine, flow);
    flow->window = 1;
    flow->cc.cubic.peak = 0;
}

// Time without anything to send does not count (5.8).
static void cubic_resumed(struct packet_engine *engine, struct packet_flow *flow, uint64_t idle_ps,
                          bool restarted)
{
    if (restarted) {
        open_cubic(engine, flow);
    } else if (flow->cc.cubic.began_ps != WEFT_NEVER) {
        flow->cc.cubic.began_ps += idle_ps;
    }
}

struct packet_transport packet_cubic(void)
{
    return (struct packet_transport){.name = "cubic",
                                     .open = open_cubic,
                                     .acknowledged = cubic_acknowledged,
                                     .lost = cut_cubic,
                                     .timed_out = cubic_timed_out,
                                     .resumed = cubic_resumed};
}
