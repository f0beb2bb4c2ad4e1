// SPDX-License-Identifier: Apache-2.0
// DCTCP (Alizadeh et al., "Data Center TCP", SIGCOMM 2010; RFC 8257): a moving average of the
// share of marked packets says by how much the window is reduced.
//
// The average takes one sample for each observation window, which is a window of packets
// (RFC 8257, 3.3), or with `counts_acks` of the options a number of acknowledgements, as htsim
// has it (docs/packet-engine.md). Losses and timeouts are Reno's.

#include "congestion.h"

#include <math.h>

struct dctcp {
    double marked_ratio;        // alpha: the moving average
    double observation_packets; // acknowledgements of an observation window, if they are counted
    uint32_t observation_end;   // else: it ends when this packet is acknowledged
    uint32_t acked;             // packets of this observation window
    uint32_t marked;            // those of them that were marked
    uint32_t reduced_until;     // marks of packets below have been answered
};

static bool dctcp_check(const struct weft_sim_options *options, struct weft_error *error)
{
    double gain = options->dctcp.gain;
    if (!(gain > 0 && gain <= 1)) {
        return weft_fail(error, WEFT_INPUT, "dctcp: a gain of %g; write one in (0, 1]", gain);
    }
    return true;
}

static void dctcp_init(struct packet_connection_view *view)
{
    struct dctcp *dctcp = packet_congestion_state(view);
    dctcp->marked_ratio = view->setting->dctcp->begins_marked ? 1 : 0;
    dctcp->observation_packets = 2;
}

// RFC 8257, 3.3, step 9: cwnd = cwnd * (1 - alpha / 2).
static void reduce_window(struct packet_connection_view *view, const struct dctcp *dctcp)
{
    view->cwnd = fmax(1, view->cwnd * (1 - dctcp->marked_ratio / 2));
    view->ssthresh = fmin(view->ssthresh, view->cwnd);
}

static void average_marks(const struct packet_connection_view *view, struct dctcp *dctcp)
{
    double share = (double)dctcp->marked / dctcp->acked;
    dctcp->marked_ratio += view->setting->dctcp->gain * (share - dctcp->marked_ratio);
}

// The share of marked packets of the observation window goes into the average. The average then
// reduces the window, if a packet was marked; with reduces_at_once the first mark has done so.
static void end_observation(struct packet_connection_view *view, struct dctcp *dctcp)
{
    average_marks(view, dctcp);
    if (dctcp->marked > 0 && !view->setting->dctcp->reduces_at_once) {
        reduce_window(view, dctcp);
    }
    dctcp->acked = 0;
    dctcp->marked = 0;
    dctcp->observation_end = view->snd_next;
}

// An acknowledgement as htsim's DCTCP takes it (counts_acks of the options): the average reduces
// the window at the end of each observation window, marked or not, and a window grows only by the
// room that it has left.
static void count_ack(struct packet_connection_view *view, bool is_marked)
{
    struct dctcp *dctcp = packet_congestion_state(view);
    dctcp->acked++;
    if (is_marked) {
        dctcp->marked++;
        view->ssthresh = fmin(view->ssthresh, view->cwnd);
    }
    if (dctcp->acked >= dctcp->observation_packets) {
        average_marks(view, dctcp);
        if (dctcp->marked_ratio > 0) {
            reduce_window(view, dctcp);
        }
        dctcp->observation_packets = view->cwnd;
        dctcp->acked = 0;
        dctcp->marked = 0;
    }
    double room = fmin(1, view->snd_una + view->cwnd - view->snd_next);
    if (view->in_recovery || room <= 0) {
        return;
    }
    if (view->cwnd < view->ssthresh) {
        view->cwnd += fmin(room, view->ssthresh - view->cwnd);
    } else {
        view->cwnd += view->growth_ratio * room / view->cwnd;
    }
}

static void dctcp_on_connected(struct packet_connection_view *view, bool is_marked)
{
    if (view->setting->dctcp->counts_acks) {
        count_ack(view, is_marked);
    }
}

static void dctcp_on_ack(struct packet_connection_view *view,
                         const struct packet_ack_sample *sample)
{
    const struct weft_dctcp_options *options = view->setting->dctcp;
    if (options->counts_acks) {
        count_ack(view, sample->is_marked);
        return;
    }
    struct dctcp *dctcp = packet_congestion_state(view);
    dctcp->acked += sample->newly_acked;
    dctcp->marked += sample->is_marked ? sample->newly_acked : 0;
    if (sample->is_marked && options->reduces_at_once && view->snd_una >= dctcp->reduced_until) {
        dctcp->reduced_until = view->snd_next;
        reduce_window(view, dctcp);
    }
    if (view->snd_una > dctcp->observation_end) {
        end_observation(view, dctcp);
    }
    if (!view->in_recovery) {
        packet_reno_grow(view, sample->newly_acked);
    }
}

static void dctcp_on_skip(struct packet_connection_view *view, uint32_t packets, uint64_t time_ps)
{
    (void)time_ps;
    struct dctcp *dctcp = packet_congestion_state(view);
    dctcp->observation_end += packets;
    dctcp->reduced_until += packets;
}

const struct packet_congestion_ops packet_dctcp_ops = {
    .name = "dctcp",
    .state_bytes = sizeof(struct dctcp),
    .check = dctcp_check,
    .init = dctcp_init,
    .on_connected = dctcp_on_connected,
    .on_ack = dctcp_on_ack,
    .on_loss = packet_reno_on_loss,
    .on_timeout = packet_reno_on_timeout,
    .on_skip = dctcp_on_skip,
};
