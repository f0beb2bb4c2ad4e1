// SPDX-License-Identifier: Apache-2.0
// TCP Reno: slow start, congestion avoidance and a window that is halved once for each window of
// packets that was lost or marked (RFC 5681, 3.1 and 3.2; marks count as losses, RFC 3168, 6.1.2).
//
// It has no state of its own. Which packets are lost, and what is sent again, the sender decides
// (engine/window_ends.c). O(1) for each acknowledgement.

#include "congestion.h"

#include <math.h>

static void reno_init(struct packet_connection_view *view)
{
    (void)view;
}

void packet_reno_grow(struct packet_connection_view *view, uint32_t newly_acked)
{
    if (view->cwnd < view->ssthresh) {
        view->cwnd = fmin(view->cwnd + newly_acked, fmax(view->ssthresh, view->cwnd));
    } else {
        view->cwnd += view->growth_ratio * newly_acked / view->cwnd;
    }
}

void packet_reno_on_loss(struct packet_connection_view *view)
{
    view->ssthresh = fmax(view->cwnd / 2, 2);
    view->cwnd = view->ssthresh;
}

void packet_reno_on_timeout(struct packet_connection_view *view)
{
    packet_reno_on_loss(view);
    view->cwnd = 1;
}

static void reno_on_ack(struct packet_connection_view *view, const struct packet_ack_sample *sample)
{
    if (sample->is_marked && packet_enter_recovery(view)) {
        packet_reno_on_loss(view);
    }
    if (!view->in_recovery) {
        packet_reno_grow(view, sample->newly_acked);
    }
}

const struct packet_congestion_ops packet_reno_ops = {
    .name = "reno",
    .init = reno_init,
    .on_ack = reno_on_ack,
    .on_loss = packet_reno_on_loss,
    .on_timeout = packet_reno_on_timeout,
};
