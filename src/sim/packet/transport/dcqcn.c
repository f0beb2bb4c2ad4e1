// SPDX-License-Identifier: Apache-2.0
// DCQCN (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, sections
// 3 and 5): the receiver turns marks into notices, a notice reduces the sender's rate, and a timer
// and a byte counter raise it again.
//
// The timers have no events of their own: only a leaving packet and a notice read the rate, so both
// first catch up with the timers that have run out since. A notice travels with the
// acknowledgement of the packet that caused it. Losses do not change the rate.

#include "dcqcn.h"
#include "congestion.h"

#include <math.h>

static bool dcqcn_check(const struct weft_sim_options *options, struct weft_error *error)
{
    const struct weft_dcqcn_options *dcqcn = &options->packet->dcqcn;
    if (!(dcqcn->gain > 0 && dcqcn->gain <= 1)) {
        return weft_fail(error, WEFT_INPUT, "dcqcn: a gain of %g; write one in (0, 1]",
                         dcqcn->gain);
    }
    if (dcqcn->alpha_ps == 0 || dcqcn->timer_ps == 0 || dcqcn->bytes == 0) {
        return weft_fail(error, WEFT_INPUT,
                         "dcqcn: its timers and its byte counter take more than 0");
    }
    if (!(dcqcn->rate_min_Bps > 0) || !(dcqcn->step_Bps >= 0) || !(dcqcn->hyper_step_Bps >= 0)) {
        return weft_fail(error, WEFT_INPUT,
                         "dcqcn: a least rate of %g B/s and steps of %g and %g B/s; write a rate "
                         "above 0 and steps of 0 or more",
                         dcqcn->rate_min_Bps, dcqcn->step_Bps, dcqcn->hyper_step_Bps);
    }
    return true;
}

static double line_rate_Bps(const struct packet_connection_view *view)
{
    return (double)WEFT_PS_PER_S / view->ps_per_byte;
}

static uint64_t timer_ps(const struct packet_connection_view *view)
{
    uint64_t own_ps = view->job->dcqcn_timer_ps;
    return own_ps > 0 ? own_ps : view->setting->options->dcqcn.timer_ps;
}

static void begin_period(const struct packet_connection_view *view, struct dcqcn *dcqcn)
{
    const struct weft_dcqcn_options *options = &view->setting->options->dcqcn;
    dcqcn->alpha_due_ps = view->now_ps + options->alpha_ps;
    dcqcn->rate_due_ps = view->now_ps + timer_ps(view);
    dcqcn->bytes_left = (double)options->bytes;
    dcqcn->timer_count = 0;
    dcqcn->byte_count = 0;
}

static void dcqcn_init(struct packet_connection_view *view)
{
    const struct weft_packet_options *options = view->setting->options;
    struct dcqcn *dcqcn = packet_congestion_state(view);
    uint32_t limit = options->dcqcn.window_packets;
    view->cwnd = limit > 0 ? limit : options->window.limit_packets;
    dcqcn->rate_Bps = line_rate_Bps(view);
    dcqcn->target_Bps = dcqcn->rate_Bps;
    dcqcn->alpha = 1;
    begin_period(view, dcqcn);
}

// Fast recovery, additive increase or hyper increase, by how often timer and byte counter have run
// out since the last notice (figure 7).
static void raise_rate(const struct packet_connection_view *view, struct dcqcn *dcqcn)
{
    const struct weft_dcqcn_options *options = &view->setting->options->dcqcn;
    uint32_t most = dcqcn->timer_count;
    uint32_t least = dcqcn->byte_count;
    if (most < least) {
        uint32_t swap = most;
        most = least;
        least = swap;
    }
    if (least > options->recovery_count) {
        dcqcn->target_Bps +=
            view->growth_ratio * (least - options->recovery_count) * options->hyper_step_Bps;
    } else if (most >= options->recovery_count) {
        dcqcn->target_Bps += view->growth_ratio * options->step_Bps;
    }
    dcqcn->target_Bps = fmin(dcqcn->target_Bps, line_rate_Bps(view));
    dcqcn->rate_Bps = (dcqcn->rate_Bps + dcqcn->target_Bps) / 2;
}

// Plays the timers that have run out by now, in order.
static void catch_up(const struct packet_connection_view *view, struct dcqcn *dcqcn)
{
    const struct weft_dcqcn_options *options = &view->setting->options->dcqcn;
    uint64_t now_ps = view->now_ps;
    while (dcqcn->alpha_due_ps <= now_ps || dcqcn->rate_due_ps <= now_ps) {
        if (dcqcn->alpha_due_ps < dcqcn->rate_due_ps) {
            dcqcn->alpha *= 1 - options->gain;
            dcqcn->alpha_due_ps += options->alpha_ps;
        } else {
            dcqcn->timer_count++;
            raise_rate(view, dcqcn);
            dcqcn->rate_due_ps += timer_ps(view);
        }
    }
}

static void dcqcn_on_send(struct packet_connection_view *view, uint32_t bytes)
{
    struct dcqcn *dcqcn = packet_congestion_state(view);
    catch_up(view, dcqcn);
    dcqcn->bytes_left -= bytes;
    if (dcqcn->bytes_left <= 0) {
        dcqcn->bytes_left += (double)view->setting->options->dcqcn.bytes;
        dcqcn->byte_count++;
        raise_rate(view, dcqcn);
    }
    double gap_ps = bytes * (double)WEFT_PS_PER_S / dcqcn->rate_Bps;
    uint64_t from_ps = view->next_send_ps > view->now_ps ? view->next_send_ps : view->now_ps;
    view->next_send_ps = from_ps + (uint64_t)(gap_ps + 0.5);
}

// A notice: the rate before it becomes the target, and the rate is reduced by alpha / 2.
static void dcqcn_on_ack(struct packet_connection_view *view,
                         const struct packet_ack_sample *sample)
{
    if (!sample->is_notice) {
        return;
    }
    const struct weft_dcqcn_options *options = &view->setting->options->dcqcn;
    struct dcqcn *dcqcn = packet_congestion_state(view);
    catch_up(view, dcqcn);
    dcqcn->target_Bps = dcqcn->rate_Bps;
    dcqcn->rate_Bps = fmax(dcqcn->rate_Bps * (1 - dcqcn->alpha / 2),
                           fmin(options->rate_min_Bps, line_rate_Bps(view)));
    dcqcn->alpha = (1 - options->gain) * dcqcn->alpha + options->gain;
    begin_period(view, dcqcn);
}

static void dcqcn_on_skip(struct packet_connection_view *view, uint32_t packets, uint64_t time_ps)
{
    (void)packets;
    struct dcqcn *dcqcn = packet_congestion_state(view);
    dcqcn->alpha_due_ps += time_ps;
    dcqcn->rate_due_ps += time_ps;
}

static void keep_rate(struct packet_connection_view *view)
{
    (void)view;
}

const struct packet_congestion_ops packet_dcqcn_ops = {
    .name = "dcqcn",
    .state_bytes = sizeof(struct dcqcn),
    .check = dcqcn_check,
    .init = dcqcn_init,
    .on_ack = dcqcn_on_ack,
    .on_loss = keep_rate,
    .on_timeout = keep_rate,
    .on_send = dcqcn_on_send,
    .on_skip = dcqcn_on_skip,
    .reads_path = true,
    .wants_notices = true,
};
