// SPDX-License-Identifier: Apache-2.0
// CUBIC (RFC 9438), without HyStart: after a reduction the window follows a cubic function of time
// whose plateau is the window that was too large.
//
// Marks reduce the window as losses do (RFC 9438, 4.6). O(1) for each acknowledgement.

#include "congestion.h"

#include <math.h>

struct cubic {
    double peak;        // W_max: the window before the last reduction
    double before;      // cwnd_prior
    double reno_window; // W_est: what Reno's window would be by now
    double period_s;    // K: the time from the epoch's begin to its plateau
    uint64_t began_ps;  // this epoch; WEFT_NEVER: none has begun
};

double packet_cubic_period_s(const struct weft_cubic_options *options, double peak, double from)
{
    return peak > from ? cbrt((peak - from) / options->growth) : 0;
}

static bool cubic_check(const struct weft_sim_options *options, struct weft_error *error)
{
    const struct weft_cubic_options *cubic = &options->packet->cubic;
    if (!(cubic->growth > 0) || !(cubic->decrease_ratio > 0 && cubic->decrease_ratio < 1)) {
        return weft_fail(error, WEFT_INPUT,
                         "cubic: C = %g and beta = %g; write C above 0 and beta in (0, 1)",
                         cubic->growth, cubic->decrease_ratio);
    }
    return true;
}

static void cubic_init(struct packet_connection_view *view)
{
    struct cubic *cubic = packet_congestion_state(view);
    cubic->peak = 0;
    cubic->began_ps = WEFT_NEVER;
}

static void begin_epoch(const struct packet_connection_view *view, struct cubic *cubic)
{
    cubic->began_ps = view->now_ps;
    cubic->reno_window = view->cwnd;
    cubic->peak = fmax(cubic->peak, view->cwnd);
    cubic->period_s =
        packet_cubic_period_s(&view->setting->options->cubic, cubic->peak, view->cwnd);
}

// Congestion avoidance (4.2 to 4.5): the window moves towards the cubic function's value a round
// trip ahead, or follows Reno's estimate where that is larger.
static void grow_cubic(struct packet_connection_view *view, uint32_t newly_acked)
{
    const struct weft_cubic_options *options = &view->setting->options->cubic;
    struct cubic *cubic = packet_congestion_state(view);
    if (cubic->began_ps == WEFT_NEVER) {
        begin_epoch(view, cubic);
    }
    double t_s = weft_seconds(view->now_ps - cubic->began_ps);
    double ahead_s = t_s + weft_seconds(view->srtt_ps) - cubic->period_s;
    double target = cubic->peak + options->growth * ahead_s * ahead_s * ahead_s;
    target = fmin(fmax(target, view->cwnd), 1.5 * view->cwnd);
    double beta = options->decrease_ratio;
    double alpha = cubic->reno_window < cubic->before ? 3 * (1 - beta) / (1 + beta) : 1;
    cubic->reno_window += view->growth_ratio * alpha * newly_acked / view->cwnd;
    double past_s = t_s - cubic->period_s;
    double cube = cubic->peak + options->growth * past_s * past_s * past_s;
    if (options->reno_friendly && cube < cubic->reno_window) {
        view->cwnd = fmax(view->cwnd, cubic->reno_window);
    } else {
        view->cwnd += view->growth_ratio * newly_acked * (target - view->cwnd) / view->cwnd;
    }
}

// 4.6, with fast convergence (4.7): a window reduced before it has come back to its last peak
// gives room to others by remembering a lower one.
static void cubic_on_loss(struct packet_connection_view *view)
{
    const struct weft_cubic_options *options = &view->setting->options->cubic;
    struct cubic *cubic = packet_congestion_state(view);
    double beta = options->decrease_ratio;
    bool is_shrinking = options->fast_convergence && view->cwnd < cubic->peak;
    cubic->before = view->cwnd;
    cubic->peak = is_shrinking ? view->cwnd * (1 + beta) / 2 : view->cwnd;
    view->ssthresh = fmax(view->cwnd * beta, 2);
    view->cwnd = view->ssthresh;
    cubic->began_ps = WEFT_NEVER;
}

static void cubic_on_ack(struct packet_connection_view *view,
                         const struct packet_ack_sample *sample)
{
    if (sample->is_marked && packet_enter_recovery(view)) {
        cubic_on_loss(view);
    }
    if (view->in_recovery) {
        return;
    }
    if (view->cwnd < view->ssthresh) {
        packet_reno_grow(view, sample->newly_acked);
    } else {
        grow_cubic(view, sample->newly_acked);
    }
}

// 4.8: the first epoch after a timeout begins at its peak.
static void cubic_on_timeout(struct packet_connection_view *view)
{
    struct cubic *cubic = packet_congestion_state(view);
    cubic_on_loss(view);
    view->cwnd = 1;
    cubic->peak = 0;
}

// 5.8: the time in which there was nothing to send does not count.
static void cubic_on_resume(struct packet_connection_view *view, uint64_t idle_ps,
                            bool is_restarted)
{
    struct cubic *cubic = packet_congestion_state(view);
    if (is_restarted) {
        cubic_init(view);
    } else if (cubic->began_ps != WEFT_NEVER) {
        cubic->began_ps += idle_ps;
    }
}

// What was not played does not count either: the window goes on where it was.
static void cubic_on_skip(struct packet_connection_view *view, uint32_t packets, uint64_t time_ps)
{
    (void)packets;
    cubic_on_resume(view, time_ps, false);
}

const struct packet_congestion_ops packet_cubic_ops = {
    .name = "cubic",
    .state_bytes = sizeof(struct cubic),
    .check = cubic_check,
    .init = cubic_init,
    .on_ack = cubic_on_ack,
    .on_loss = cubic_on_loss,
    .on_timeout = cubic_on_timeout,
    .on_resume = cubic_on_resume,
    .on_skip = cubic_on_skip,
};
