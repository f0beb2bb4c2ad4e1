// SPDX-License-Identifier: Apache-2.0
// NSCC, the sender's congestion control of Ultra Ethernet (Ultra Ethernet Specification 1.0, 3.6;
// "Ultra Ethernet's Design Principles and Architectural Innovations", arXiv 2508.08906; the laws
// are SMaRTT's, arXiv 2404.01630), with the parameters of uet-htsim.
//
// A packet's mark and its queueing delay, above or below a target, tell one of four cases: grow by
// what is missing to the target, grow evenly, cut, or do nothing and let spraying avoid the way.

#include "sim/packet/engine/engine.h"

#include <math.h>

// What the parameters are for: 100 Gbit/s with a round trip of 12 us.
#define REFERENCE_BYTES 150000.0
#define REFERENCE_PS 12e6
#define SETTLE_PACKETS 8u // growth is added up over so many, or a round trip

// A round trip of the path when nothing waits.
static uint64_t empty_trip_ps(const struct packet_engine *engine, const struct packet_flow *flow)
{
    const uint32_t ways[] = {flow->data_hop, flow->ack_hop};
    const uint32_t bytes[] = {engine->packet_bytes, engine->ack_bytes};
    uint64_t sum_ps = 0;
    for (uint32_t w = 0; w < 2 && ways[w] != WEFT_NONE; w++) {
        for (uint32_t hop = ways[w]; engine->hops[hop] != WEFT_NONE; hop++) {
            const struct packet_link *link = &engine->links[engine->hops[hop]];
            sum_ps += link->latency_ps + (uint64_t)(bytes[w] * link->ps_per_byte + 0.5);
        }
    }
    return sum_ps;
}

// Packets that the first link sends in a time.
static double packets_in(const struct packet_engine *engine, const struct packet_flow *flow,
                         uint64_t time_ps)
{
    const struct packet_link *link = &engine->links[engine->hops[flow->data_hop]];
    return (double)time_ps / (link->ps_per_byte * engine->packet_bytes);
}

static uint64_t target_ps(const struct packet_engine *engine, const struct packet_flow *flow)
{
    const struct weft_nscc_options *options = &engine->options->nscc;
    if (options->target_ps > 0) {
        return options->target_ps;
    }
    double ratio = engine->ports.options->trims ? 0.75 : 1;
    return (uint64_t)(ratio * (double)flow->cc.nscc.network_ps);
}

// What growth is scaled by: the path's bandwidth times delay over the reference's, of which a
// packet's payload counts.
static double scale(const struct packet_engine *engine, const struct packet_flow *flow)
{
    double bdp = packets_in(engine, flow, flow->cc.nscc.network_ps) * engine->packet_bytes;
    return flow->gain_ratio * bdp / REFERENCE_BYTES;
}

static double payload_ratio(const struct packet_engine *engine)
{
    return 1 - (double)engine->header_bytes / engine->packet_bytes;
}

static double window_max(const struct packet_engine *engine, const struct packet_flow *flow)
{
    double most =
        engine->options->nscc.window_ratio * packets_in(engine, flow, flow->cc.nscc.base_ps);
    return fmax(1, fmin(most, engine->options->window_limit_packets));
}

static void bound(const struct packet_engine *engine, struct packet_flow *flow)
{
    flow->window = fmax(1, fmin(flow->window, window_max(engine, flow)));
}

static void nscc_open(struct packet_engine *engine, struct packet_flow *flow)
{
    uint64_t base_ps = engine->options->nscc.base_ps;
    base_ps = base_ps > 0 ? base_ps : empty_trip_ps(engine, flow);
    flow->cc.nscc.network_ps = base_ps;
    flow->cc.nscc.base_ps = base_ps;
    flow->window = window_max(engine, flow);
}

// The moving average. A packet without a mark counts as one that hardly waited: its way is not the
// one where a queue stands.
static void average_delay(const struct packet_engine *engine, struct packet_flow *flow,
                          uint64_t delay_ps, bool marked)
{
    double sample_ps = (double)delay_ps;
    if (!marked && delay_ps > target_ps(engine, flow)) {
        sample_ps = 0.25 * (double)flow->cc.nscc.base_ps;
    }
    flow->cc.nscc.delay_ps +=
        engine->options->nscc.delay_gain * (sample_ps - flow->cc.nscc.delay_ps);
}

// When a target's time and a round trip have brought little, the window becomes what they brought,
// and what was sent before says no more. True: nothing else is done about this packet.
static bool adapt(struct packet_engine *engine, struct packet_flow *flow, bool lost, bool marked,
                  uint64_t delay_ps)
{
    const struct weft_nscc_options *options = &engine->options->nscc;
    uint64_t now_ps = engine->clock.now_ps;
    uint64_t target = target_ps(engine, flow);
    bool done = flow->cc.nscc.ignored < flow->cc.nscc.to_ignore && marked;
    if (!done && now_ps > flow->cc.nscc.adapt_ps) {
        bool bad = lost || flow->cc.nscc.is_alarmed || delay_ps > 4 * target;
        double little = window_max(engine, flow) / options->adapt_divisor;
        if (flow->cc.nscc.adapt_ps != 0 && bad && flow->cc.nscc.achieved < little) {
            flow->window = fmax(1, flow->cc.nscc.achieved);
            flow->cc.nscc.to_ignore = flow->in_flight;
            flow->cc.nscc.ignored = 0;
            flow->cc.nscc.is_alarmed = false;
            done = true;
        }
        flow->cc.nscc.achieved = 0;
        flow->cc.nscc.adapt_ps = now_ps + flow->cc.nscc.base_ps + target;
    }
    if (done) {
        flow->cc.nscc.growth = 0;
        flow->cc.nscc.settled = 0;
    }
    return done;
}

// Below the target: by what is missing to it; at once when a window has found no queue at all.
static void grow_by_missing(struct packet_engine *engine, struct packet_flow *flow,
                            uint64_t delay_ps, uint32_t newly)
{
    const struct weft_nscc_options *options = &engine->options->nscc;
    if (delay_ps < options->empty_ps) {
        flow->cc.nscc.empty_count += newly;
        if (flow->cc.nscc.is_fast || flow->cc.nscc.empty_count > flow->window) {
            flow->cc.nscc.is_fast = true;
            flow->window += options->fast_gain * scale(engine, flow) * newly;
            return;
        }
    } else {
        flow->cc.nscc.empty_count = 0;
    }
    flow->cc.nscc.is_fast = false;
    double missing_ps = (double)(target_ps(engine, flow) - delay_ps);
    flow->cc.nscc.growth += options->missing_gain * scale(engine, flow) * payload_ratio(engine) *
                            newly * missing_ps / REFERENCE_PS;
}

static void cut(struct packet_engine *engine, struct packet_flow *flow)
{
    const struct weft_nscc_options *options = &engine->options->nscc;
    double over_ps = flow->cc.nscc.delay_ps - (double)target_ps(engine, flow);
    flow->cc.nscc.is_fast = false;
    flow->cc.nscc.empty_count = 0;
    if (over_ps > 0 && engine->clock.now_ps - flow->cc.nscc.cut_ps > flow->cc.nscc.base_ps) {
        double share = options->decrease_ratio * over_ps / flow->cc.nscc.delay_ps;
        flow->window *= fmax(1 - share, 1 - options->decrease_max);
        flow->cc.nscc.cut_ps = engine->clock.now_ps;
    }
}

// What growth has added up to, over the window.
static void settle(struct packet_engine *engine, struct packet_flow *flow)
{
    uint64_t now_ps = engine->clock.now_ps;
    bool late = now_ps - flow->cc.nscc.settled_ps >= flow->cc.nscc.network_ps;
    if (flow->cc.nscc.settled <= SETTLE_PACKETS && !late) {
        return;
    }
    flow->window += flow->cc.nscc.growth / flow->window;
    if (late) {
        flow->window +=
            engine->options->nscc.even_step * scale(engine, flow) * payload_ratio(engine);
        flow->cc.nscc.settled_ps = now_ps;
    }
    flow->cc.nscc.growth = 0;
    flow->cc.nscc.settled = 0;
}

static void nscc_acknowledged(struct packet_engine *engine, struct packet_flow *flow,
                              const struct packet_ack *ack)
{
    flow->cc.nscc.achieved += ack->newly;
    flow->cc.nscc.settled += ack->newly;
    flow->cc.nscc.ignored += ack->newly;
    if (ack->trip_ps < flow->cc.nscc.base_ps && ack->trip_ps > 0) {
        flow->cc.nscc.base_ps = ack->trip_ps;
    }
    uint64_t delay_ps = ack->trip_ps > 0 ? ack->trip_ps - flow->cc.nscc.base_ps : 0;
    average_delay(engine, flow, delay_ps, ack->marked);
    if (adapt(engine, flow, false, ack->marked, delay_ps)) {
        return;
    }
    bool above = delay_ps >= target_ps(engine, flow);
    if (above && ack->marked) {
        cut(engine, flow);
    } else if (above) {
        flow->cc.nscc.growth += engine->options->nscc.fair_gain * scale(engine, flow) *
                                payload_ratio(engine) * ack->newly;
    } else if (!ack->marked) {
        grow_by_missing(engine, flow, delay_ps, ack->newly);
    }
    bound(engine, flow);
    settle(engine, flow);
    bound(engine, flow);
}

// A packet was cut to its header, or lost: it waited for about a full queue.
static void nscc_trimmed(struct packet_engine *engine, struct packet_flow *flow)
{
    flow->cc.nscc.ignored++;
    average_delay(engine, flow, flow->cc.nscc.network_ps, true);
    flow->cc.nscc.is_alarmed = true;
    if (!adapt(engine, flow, true, true, 0)) {
        flow->window -= 1;
        bound(engine, flow);
    }
}

static void nscc_timed_out(struct packet_engine *engine, struct packet_flow *flow)
{
    (void)engine;
    flow->window = 1;
}

struct packet_transport packet_nscc(void)
{
    return (struct packet_transport){.name = "nscc",
                                     .open = nscc_open,
                                     .acknowledged = nscc_acknowledged,
                                     .lost = nscc_trimmed,
                                     .trimmed = nscc_trimmed,
                                     .timed_out = nscc_timed_out};
}
