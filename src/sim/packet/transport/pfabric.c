// SPDX-License-Identifier: Apache-2.0
// pFabric (Alizadeh et al., "pFabric: minimal near-optimal datacenter transport", SIGCOMM 2013): a
// sender's half, section 4.3. What ports do is in engine/remaining.c.
//
// A message begins with a window of its path's bandwidth times delay, so that it begins at line
// rate. Packets overtake each other in ports, so that a gap says nothing: only a fixed and short
// timeout does, which sets the window to one packet. After five of them in a row the sender probes
// with a header alone until one comes back, and begins again in slow start. Between timeouts
// windows grow as Reno's, by one packet a round trip, and a timeout sets the threshold of slow
// start to half the window.
//
// The constants are those of two public simulations: that of pHost's authors
// (github.com/NetSys/simulator: first window 12 packets, timeout 45 us, ports of 36,864 bytes,
// which are 24 packets of 1,536), and the ns-2 scripts that pFabric's authors gave on
// (github.com/HKUST-SING/PIAS-NS2: prob_cap_ 5, keep_order_ true). The former holds the window at
// 15 packets at most; here it is bounded by window.limit_packets alone.

#include "sim/packet/engine/engine.h"

#include <math.h>

// The probe's threshold is prob_cap_ above. The timeout, 45 us at 14.6 us of round trip, is about
// three round trips of an empty path.
#define PROBE_TIMEOUTS 5u
#define TIMEOUT_TRIPS 3.0

static void pfabric_init(struct packet_connection_view *view)
{
    double bytes = (double)view->empty_rtt_ps / view->ps_per_byte;
    view->cwnd = fmax(1, ceil(bytes / view->setting->packet_bytes));
    view->ssthresh = view->cwnd;
}

static void pfabric_on_ack(struct packet_connection_view *view,
                           const struct packet_ack_sample *sample)
{
    packet_reno_grow(view, sample->newly_acked);
}

// Everything that is not acknowledged counts as lost; one packet of it goes again, or a probe.
static void time_out(struct packet_engine *engine, uint32_t id)
{
    struct packet_flow *flow = &engine->flows[id];
    if (flow->backoff < PROBE_TIMEOUTS) {
        packet_window_ends.timed_out(engine, id);
        return;
    }
    flow->view.in_flight = 0;
    flow->lost.from = flow->acknowledged.low;
    flow->lost.until = flow->view.snd_next;
    packet_transmit(engine, id, WEFT_NONE, PACKET_RESENT);
}

static void open_window(struct packet_engine *engine, uint32_t id)
{
    packet_window_ends.open(engine, id);
}

static void send_window(struct packet_engine *engine, uint32_t id)
{
    packet_window_ends.send(engine, id);
}

static void deliver_window(struct packet_engine *engine, uint32_t id)
{
    packet_window_ends.deliver(engine, id);
}

static const struct packet_ends_ops pfabric_ends = {
    .open = open_window,
    .send = send_window,
    .deliver = deliver_window,
    .timed_out = time_out,
};

const struct packet_congestion_ops packet_pfabric_ops = {
    .name = "pfabric",
    .init = pfabric_init,
    .on_ack = pfabric_on_ack,
    .on_loss = packet_reno_on_loss,
    .on_timeout = packet_reno_on_timeout,
    .reads_path = true,
    .timeout_trips = TIMEOUT_TRIPS,
    .ends = &pfabric_ends,
};
