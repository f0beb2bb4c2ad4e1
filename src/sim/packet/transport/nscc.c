// SPDX-License-Identifier: Apache-2.0
// NSCC, the sender's congestion control of Ultra Ethernet (Ultra Ethernet Specification 1.0, 3.6;
// "Ultra Ethernet's Design Principles and Architectural Innovations", arXiv 2508.08906; the laws
// are SMaRTT's, arXiv 2404.01630), with the parameters of uet-htsim.
//
// A packet's mark and its queueing delay, above or below a target, make one of four cases: grow by
// what is missing to the target, grow evenly, reduce, or do nothing and let spraying avoid the
// path. O(1) for each acknowledgement.

#include "nscc.h"
#include "congestion.h"

#include <math.h>

// The network that uet-htsim's parameters are for: 100 Gbit/s with a round trip of 12 us.
#define REFERENCE_BYTES 150000.0
#define REFERENCE_PS 12e6
// Growth is added to the window after more than so many packets, or a round trip (uet-htsim's
// value).
#define GROWTH_PACKETS 8u

static bool nscc_check(const struct weft_sim_options *options, struct weft_error *error)
{
    const struct weft_nscc_options *nscc = &options->packet->nscc;
    bool gain = nscc->delay_gain > 0 && nscc->delay_gain <= 1;
    if (!(nscc->decrease_ratio > 0) || !(nscc->decrease_max > 0 && nscc->decrease_max < 1) ||
        !gain || !(nscc->window_ratio > 0) || !(nscc->adapt_divisor >= 1)) {
        return weft_fail(error, WEFT_INPUT,
                         "nscc: a decrease of %g, at most %g, an average of gain %g, windows of "
                         "%g round trips and quick adapt below 1 / %g of that; write positive "
                         "ones, the second below 1, the third up to 1, the last from 1 on",
                         nscc->decrease_ratio, nscc->decrease_max, nscc->delay_gain,
                         nscc->window_ratio, nscc->adapt_divisor);
    }
    if (!(nscc->missing_gain >= 0) || !(nscc->fair_gain >= 0) || !(nscc->even_step >= 0) ||
        !(nscc->fast_gain >= 0)) {
        return weft_fail(error, WEFT_INPUT, "nscc: its growth is negative; write 0 or more");
    }
    return true;
}

// Packets that the first link sends in a time.
static double packets_in(const struct packet_connection_view *view, uint64_t time_ps)
{
    return (double)time_ps / (view->ps_per_byte * view->setting->packet_bytes);
}

static uint64_t target_ps(const struct packet_connection_view *view, const struct nscc *nscc)
{
    const struct weft_packet_options *options = view->setting->options;
    if (options->nscc.target_ps > 0) {
        return options->nscc.target_ps;
    }
    double ratio = options->port.trims ? 0.75 : 1;
    return (uint64_t)(ratio * (double)nscc->network_ps);
}

// What growth is scaled by: the path's product of bandwidth and delay over the reference's.
static double growth_scale(const struct packet_connection_view *view, const struct nscc *nscc)
{
    double bdp_bytes = packets_in(view, nscc->network_ps) * view->setting->packet_bytes;
    return view->growth_ratio * bdp_bytes / REFERENCE_BYTES;
}

static double payload_ratio(const struct packet_connection_view *view)
{
    return 1 - (double)view->setting->header_bytes / view->setting->packet_bytes;
}

static double window_max(const struct packet_connection_view *view, const struct nscc *nscc)
{
    const struct weft_packet_options *options = view->setting->options;
    double most = options->nscc.window_ratio * packets_in(view, nscc->base_rtt_ps);
    return fmax(1, fmin(most, options->window.limit_packets));
}

static void bound_window(struct packet_connection_view *view, const struct nscc *nscc)
{
    view->cwnd = fmax(1, fmin(view->cwnd, window_max(view, nscc)));
}

static void nscc_init(struct packet_connection_view *view)
{
    struct nscc *nscc = packet_congestion_state(view);
    uint64_t base_ps = view->setting->options->nscc.base_ps;
    base_ps = base_ps > 0 ? base_ps : view->empty_rtt_ps;
    nscc->network_ps = base_ps;
    nscc->base_rtt_ps = base_ps;
    view->cwnd = window_max(view, nscc);
}

// A packet without a mark counts as one that hardly waited: a queue stands elsewhere than on its
// path.
static void average_delay(const struct packet_connection_view *view, struct nscc *nscc,
                          uint64_t delay_ps, bool is_marked)
{
    double sample_ps = (double)delay_ps;
    if (!is_marked && delay_ps > target_ps(view, nscc)) {
        sample_ps = 0.25 * (double)nscc->base_rtt_ps;
    }
    nscc->delay_ps += view->setting->options->nscc.delay_gain * (sample_ps - nscc->delay_ps);
}

// Quick adapt: when a period of a target and a round trip has brought few packets, the window
// becomes what it brought, and acknowledgements of what was sent before say no more. True: nothing
// else is done about this packet.
static bool quick_adapt(struct packet_connection_view *view, struct nscc *nscc, bool is_lost,
                        bool is_marked, uint64_t delay_ps)
{
    uint64_t target = target_ps(view, nscc);
    bool done = nscc->ignored < nscc->to_ignore && is_marked;
    if (!done && view->now_ps > nscc->adapt_ps) {
        bool is_bad = is_lost || nscc->has_trimmed || delay_ps > 4 * target;
        double little = window_max(view, nscc) / view->setting->options->nscc.adapt_divisor;
        if (nscc->adapt_ps != 0 && is_bad && nscc->achieved < little) {
            view->cwnd = fmax(1, nscc->achieved);
            nscc->to_ignore = view->in_flight;
            nscc->ignored = 0;
            nscc->has_trimmed = false;
            done = true;
        }
        nscc->achieved = 0;
        nscc->adapt_ps = view->now_ps + nscc->base_rtt_ps + target;
    }
    if (done) {
        nscc->growth = 0;
        nscc->unadded = 0;
    }
    return done;
}

// Below the target the window grows by what is missing to it; at once, and faster, when a whole
// window has found no queue at all.
static void grow_by_missing(struct packet_connection_view *view, struct nscc *nscc,
                            uint64_t delay_ps, uint32_t newly_acked)
{
    const struct weft_nscc_options *options = &view->setting->options->nscc;
    if (delay_ps < options->empty_ps) {
        nscc->empty_count += newly_acked;
        if (nscc->is_fast || nscc->empty_count > view->cwnd) {
            nscc->is_fast = true;
            view->cwnd += options->fast_gain * growth_scale(view, nscc) * newly_acked;
            return;
        }
    } else {
        nscc->empty_count = 0;
    }
    nscc->is_fast = false;
    double missing_ps = (double)(target_ps(view, nscc) - delay_ps);
    nscc->growth += options->missing_gain * growth_scale(view, nscc) * payload_ratio(view) *
                    newly_acked * missing_ps / REFERENCE_PS;
}

// Above the target with a mark: the window is reduced by the average delay's excess, at most once
// a round trip.
static void reduce_window(struct packet_connection_view *view, struct nscc *nscc)
{
    const struct weft_nscc_options *options = &view->setting->options->nscc;
    double over_ps = nscc->delay_ps - (double)target_ps(view, nscc);
    nscc->is_fast = false;
    nscc->empty_count = 0;
    if (over_ps > 0 && view->now_ps - nscc->reduced_ps > nscc->base_rtt_ps) {
        double share = options->decrease_ratio * over_ps / nscc->delay_ps;
        view->cwnd *= fmax(1 - share, 1 - options->decrease_max);
        nscc->reduced_ps = view->now_ps;
    }
}

// Adds the growth that has come together to the window.
static void add_growth(struct packet_connection_view *view, struct nscc *nscc)
{
    bool is_late = view->now_ps - nscc->stepped_ps >= nscc->network_ps;
    if (nscc->unadded <= GROWTH_PACKETS && !is_late) {
        return;
    }
    view->cwnd += nscc->growth / view->cwnd;
    if (is_late) {
        view->cwnd +=
            view->setting->options->nscc.even_step * growth_scale(view, nscc) * payload_ratio(view);
        nscc->stepped_ps = view->now_ps;
    }
    nscc->growth = 0;
    nscc->unadded = 0;
}

// The four cases: delay above or below the target, with or without a mark.
static void nscc_on_ack(struct packet_connection_view *view, const struct packet_ack_sample *sample)
{
    struct nscc *nscc = packet_congestion_state(view);
    nscc->achieved += sample->newly_acked;
    nscc->unadded += sample->newly_acked;
    nscc->ignored += sample->newly_acked;
    if (sample->rtt_ps < nscc->base_rtt_ps && sample->rtt_ps > 0) {
        nscc->base_rtt_ps = sample->rtt_ps;
    }
    uint64_t delay_ps = sample->rtt_ps > 0 ? sample->rtt_ps - nscc->base_rtt_ps : 0;
    average_delay(view, nscc, delay_ps, sample->is_marked);
    if (quick_adapt(view, nscc, false, sample->is_marked, delay_ps)) {
        return;
    }
    bool is_above = delay_ps >= target_ps(view, nscc);
    if (is_above && sample->is_marked) {
        reduce_window(view, nscc);
    } else if (is_above) {
        nscc->growth += view->setting->options->nscc.fair_gain * growth_scale(view, nscc) *
                        payload_ratio(view) * sample->newly_acked;
    } else if (!sample->is_marked) {
        grow_by_missing(view, nscc, delay_ps, sample->newly_acked);
    }
    bound_window(view, nscc);
    add_growth(view, nscc);
    bound_window(view, nscc);
}

// A packet was trimmed or lost: it met about a full queue.
static void nscc_on_trim(struct packet_connection_view *view)
{
    struct nscc *nscc = packet_congestion_state(view);
    nscc->ignored++;
    average_delay(view, nscc, nscc->network_ps, true);
    nscc->has_trimmed = true;
    if (!quick_adapt(view, nscc, true, true, 0)) {
        view->cwnd -= 1;
        bound_window(view, nscc);
    }
}

static void nscc_on_timeout(struct packet_connection_view *view)
{
    view->cwnd = 1;
}

static void nscc_on_skip(struct packet_connection_view *view, uint32_t packets, uint64_t time_ps)
{
    (void)packets;
    struct nscc *nscc = packet_congestion_state(view);
    nscc->adapt_ps += nscc->adapt_ps != 0 ? time_ps : 0;
    nscc->reduced_ps += time_ps;
    nscc->stepped_ps += time_ps;
}

const struct packet_congestion_ops packet_nscc_ops = {
    .name = "nscc",
    .state_bytes = sizeof(struct nscc),
    .check = nscc_check,
    .init = nscc_init,
    .on_ack = nscc_on_ack,
    .on_loss = nscc_on_trim,
    .on_timeout = nscc_on_timeout,
    .on_trim = nscc_on_trim,
    .on_skip = nscc_on_skip,
    .reads_path = true,
};
