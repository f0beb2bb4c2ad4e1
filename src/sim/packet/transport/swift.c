// SPDX-License-Identifier: Apache-2.0
// Swift (Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the
// Datacenter", SIGCOMM 2020, 3.1 to 3.5 and algorithm 1): windows that hold the round trip at a
// target, and go below one packet by pacing.
//
// The delay is the whole round trip. Hosts take no time here, so the endpoint's part of Swift,
// which watches the host's own delay, would have nothing to measure and is left out.

#include "congestion.h"

#include <math.h>

#define TIMEOUTS_TO_RESET 5u // RETX_RESET_THRESHOLD of algorithm 1

struct swift {
    uint64_t reduced_ps; // when the window last became smaller
    uint32_t timeouts;   // in a row
};

static bool swift_check(const struct weft_sim_options *options, struct weft_error *error)
{
    const struct weft_swift_options *swift = &options->packet->swift;
    if (!(swift->flow_window_min > 0 && swift->flow_window_max > swift->flow_window_min)) {
        return weft_fail(error, WEFT_INPUT,
                         "swift: flow scaling from a window of %g to one of %g; write 0 < first < "
                         "second",
                         swift->flow_window_min, swift->flow_window_max);
    }
    if (!(swift->decrease_ratio > 0) || !(swift->decrease_max > 0 && swift->decrease_max < 1) ||
        !(swift->step_packets > 0)) {
        return weft_fail(error, WEFT_INPUT,
                         "swift: a step of %g and a decrease of %g, at most %g; write positive "
                         "ones, the last below 1",
                         swift->step_packets, swift->decrease_ratio, swift->decrease_max);
    }
    if (swift->base_ps == 0 || !(swift->window_min_packets > 0) ||
        !(swift->window_max_packets >= 1)) {
        return weft_fail(error, WEFT_INPUT,
                         "swift: needs a target above 0, a smallest window above 0 and a largest "
                         "of 1 or more");
    }
    return true;
}

static void swift_init(struct packet_connection_view *view)
{
    struct swift *swift = packet_congestion_state(view);
    *swift = (struct swift){0};
}

// Topology scaling adds a time for each hop, flow scaling (3.5) one that falls with the square root
// of the window, so that many small flows tolerate a longer queue.
uint64_t packet_swift_target_ps(const struct weft_swift_options *options, uint32_t hop_count,
                                double cwnd)
{
    double low = 1 / sqrt(options->flow_window_min);
    double high = 1 / sqrt(options->flow_window_max);
    double slope_ps = (double)options->flow_ps / (low - high);
    double flow_ps = slope_ps * (1 / sqrt(cwnd) - high);
    flow_ps = fmax(0, fmin(flow_ps, (double)options->flow_ps));
    return options->base_ps + hop_count * options->hop_ps + (uint64_t)flow_ps;
}

// One reduction for each round trip.
static bool may_reduce(const struct packet_connection_view *view, const struct swift *swift)
{
    return view->now_ps - swift->reduced_ps >= view->srtt_ps;
}

static void bound_window(struct packet_connection_view *view, struct swift *swift, double before)
{
    const struct weft_packet_options *options = view->setting->options;
    view->cwnd = fmin(fmax(view->cwnd, options->swift.window_min_packets),
                      fmin(options->swift.window_max_packets, options->window.limit_packets));
    if (view->cwnd < before) {
        swift->reduced_ps = view->now_ps;
    }
}

// Algorithm 1: additive increase below the target; above it a decrease by the delay's excess.
static void swift_on_ack(struct packet_connection_view *view,
                         const struct packet_ack_sample *sample)
{
    const struct weft_swift_options *options = &view->setting->options->swift;
    struct swift *swift = packet_congestion_state(view);
    double before = view->cwnd;
    uint64_t target_ps = packet_swift_target_ps(options, view->hop_count, before);
    swift->timeouts = 0;
    if (sample->rtt_ps < target_ps) {
        double step = view->growth_ratio * options->step_packets * sample->newly_acked;
        view->cwnd += before >= 1 ? step / before : step;
    } else if (may_reduce(view, swift)) {
        double over = (double)(sample->rtt_ps - target_ps) / (double)sample->rtt_ps;
        view->cwnd *= fmax(1 - options->decrease_ratio * over, 1 - options->decrease_max);
    }
    bound_window(view, swift, before);
}

static void swift_on_loss(struct packet_connection_view *view)
{
    struct swift *swift = packet_congestion_state(view);
    double before = view->cwnd;
    if (may_reduce(view, swift)) {
        view->cwnd *= 1 - view->setting->options->swift.decrease_max;
    }
    bound_window(view, swift, before);
}

static void swift_on_timeout(struct packet_connection_view *view)
{
    const struct weft_swift_options *options = &view->setting->options->swift;
    struct swift *swift = packet_congestion_state(view);
    double before = view->cwnd;
    if (++swift->timeouts >= TIMEOUTS_TO_RESET) {
        view->cwnd = options->window_min_packets;
    } else if (may_reduce(view, swift)) {
        view->cwnd *= 1 - options->decrease_max;
    }
    bound_window(view, swift, before);
}

// A window below one packet is a gap: one packet leaves every round trip / cwnd.
static void swift_on_send(struct packet_connection_view *view, uint32_t bytes)
{
    (void)bytes;
    view->next_send_ps = 0;
    if (view->cwnd < 1) {
        double gap_ps = (double)view->srtt_ps / view->cwnd;
        view->next_send_ps = view->now_ps + (uint64_t)(gap_ps + 0.5);
    }
}

static void swift_on_skip(struct packet_connection_view *view, uint32_t packets, uint64_t time_ps)
{
    (void)packets;
    struct swift *swift = packet_congestion_state(view);
    swift->reduced_ps += time_ps;
}

const struct packet_congestion_ops packet_swift_ops = {
    .name = "swift",
    .state_bytes = sizeof(struct swift),
    .check = swift_check,
    .init = swift_init,
    .on_ack = swift_on_ack,
    .on_loss = swift_on_loss,
    .on_timeout = swift_on_timeout,
    .on_send = swift_on_send,
    .on_skip = swift_on_skip,
    .reads_path = true,
};
