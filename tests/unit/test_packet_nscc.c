// SPDX-License-Identifier: Apache-2.0
// NSCC's four cases, its quick adapt and its start, each by its formula; and an incast's closed
// form.
//
// Mutations that made these tests fail (each was run): one target for all ports; growth settled at
// once, or not over the window; marks that do not heed the target, or cut below it; cuts more often
// than once a round trip, or by more than half; what waited without a mark in the average; quick
// adapt that forgets what was cut, what came, or what was in flight; trims that leave the window.

#include "../oracle/transport_bell.h"
#include "sim/packet/transport/nscc.h"

#define RATE_BPS 12.5e9
#define TRIP_PS 4000000u
#define HEADER_BYTES 60u

static struct bell bell;
static struct weft_arena arena;

static struct nscc *state_of(struct packet_flow *flow)
{
    return packet_congestion_state(&flow->view);
}

// A flow that has begun, before anything has come back; times are of what it sees.
static struct packet_flow *begin(bool trims)
{
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    arena = bell_arena;
    packet.port.trims = trims;
    bell_build(&bell, 1, RATE_BPS, 1, TRIP_PS, WEFT_TRANSPORT_NSCC, &packet, NULL, &arena);
    bell_start(&bell, 0, 100000);
    return &bell.engine.flows[0];
}

// Two links there and back.
static double base_ps(void)
{
    double bytes = 2.0 * BELL_PACKET_BYTES + 2.0 * HEADER_BYTES;
    return TRIP_PS + bytes / RATE_BPS * 1e12;
}

static double window_max(void)
{
    return 1.5 * base_ps() / 1e12 * RATE_BPS / BELL_PACKET_BYTES;
}

// What growth is scaled by.
static double scale(void)
{
    return base_ps() / 1e12 * RATE_BPS / 150000;
}

static void trim(struct packet_flow *flow)
{
    bell.engine.congestion.on_trim(packet_view(&bell.engine, flow));
}

static void hear(struct packet_flow *flow, uint32_t packets, uint64_t delay_ps, bool marked)
{
    const struct packet_ack_sample sample = {.newly_acked = packets,
                                             .is_marked = marked,
                                             .rtt_ps = (uint64_t)(base_ps() + 0.5) + delay_ps};
    bell.engine.congestion.on_ack(packet_view(&bell.engine, flow), &sample);
}

static void assert_near(double value, double expected)
{
    if (fabs(value - expected) > 1e-3 * fabs(expected)) {
        fail_msg("%.9g instead of %.9g", value, expected);
    }
}

static void the_first_window_is_the_largest(void **state)
{
    (void)state;
    struct packet_flow *flow = begin(true);
    assert_near((double)state_of(flow)->base_rtt_ps, base_ps());
    assert_near(flow->view.cwnd, window_max());
}

static void below_the_target_it_grows_by_what_is_missing(void **state)
{
    (void)state;
    for (int trims = 0; trims < 2; trims++) {
        struct packet_flow *flow = begin(trims == 1);
        double target_ps = (trims == 1 ? 0.75 : 1) * base_ps();
        double delay_ps = 0.5 * target_ps;
        flow->view.cwnd = 20;
        hear(flow, 9, (uint64_t)delay_ps, false);
        double payload = 1 - (double)HEADER_BYTES / BELL_PACKET_BYTES;
        double growth = 4 * scale() * payload * 9 * (target_ps - delay_ps) / 12e6;
        assert_near(flow->view.cwnd - 20, growth / 20);
        // Eight packets are too few to settle.
        hear(flow, 8, (uint64_t)delay_ps, false);
        assert_near(flow->view.cwnd - 20, growth / 20);
    }
}

static void above_it_without_marks_it_grows_evenly(void **state)
{
    (void)state;
    struct packet_flow *flow = begin(false);
    flow->view.cwnd = 20;
    hear(flow, 9, (uint64_t)(2 * base_ps()), false);
    double payload = 1 - (double)HEADER_BYTES / BELL_PACKET_BYTES;
    assert_near(flow->view.cwnd - 20, 5 * scale() * payload * 9 / 20);
    // A round trip later comes the even step.
    bell.engine.clock.now_ps = (uint64_t)(1.5 * base_ps());
    double before = flow->view.cwnd;
    hear(flow, 0, 0, true);
    assert_near(flow->view.cwnd - before, 0.15 * scale() * payload);
}

static void below_it_marks_change_nothing(void **state)
{
    (void)state;
    struct packet_flow *flow = begin(false);
    flow->view.cwnd = 20;
    hear(flow, 50, (uint64_t)(0.5 * base_ps()), true);
    assert_near(flow->view.cwnd, 20);
}

static void above_it_marks_cut_by_the_average(void **state)
{
    (void)state;
    struct packet_flow *flow = begin(false);
    bell.engine.clock.now_ps = (uint64_t)(2 * base_ps());
    state_of(flow)->stepped_ps = bell.engine.clock.now_ps;
    state_of(flow)->adapt_ps = WEFT_NEVER;
    flow->view.cwnd = 20;
    state_of(flow)->delay_ps = 1.5 * base_ps();
    hear(flow, 1, (uint64_t)(1.5 * base_ps()), true);
    assert_near(flow->view.cwnd, 20 * (1 - 0.8 * 0.5 / 1.5));
    // Once a round trip.
    bell.engine.clock.now_ps += (uint64_t)(0.5 * base_ps());
    state_of(flow)->stepped_ps = bell.engine.clock.now_ps;
    hear(flow, 1, (uint64_t)(1.5 * base_ps()), true);
    assert_near(flow->view.cwnd, 20 * (1 - 0.8 * 0.5 / 1.5));
    // At most half.
    bell.engine.clock.now_ps += (uint64_t)(0.6 * base_ps());
    state_of(flow)->stepped_ps = bell.engine.clock.now_ps;
    flow->view.cwnd = 20;
    state_of(flow)->delay_ps = 100 * base_ps();
    hear(flow, 1, (uint64_t)(100 * base_ps()), true);
    assert_near(flow->view.cwnd, 10);
}

static void the_average_passes_over_what_was_not_marked(void **state)
{
    (void)state;
    struct packet_flow *flow = begin(false);
    hear(flow, 1, (uint64_t)(3 * base_ps()), true);
    assert_near(state_of(flow)->delay_ps, 0.0125 * 3 * base_ps());
    double before = state_of(flow)->delay_ps;
    hear(flow, 1, (uint64_t)(3 * base_ps()), false);
    assert_near(state_of(flow)->delay_ps, before + 0.0125 * (0.25 * base_ps() - before));
}

static void an_empty_network_is_filled_fast(void **state)
{
    (void)state;
    struct packet_flow *flow = begin(false);
    flow->view.cwnd = 10;
    hear(flow, 10, 0, false); // a window: not more than it
    flow->view.cwnd = 10;
    hear(flow, 4, 0, false);
    assert_near(flow->view.cwnd, 10 + 0.25 * scale() * 4);
    hear(flow, 2, 0, false);
    assert_near(flow->view.cwnd, 10 + 0.25 * scale() * 6);
}

static void little_that_came_is_the_new_window(void **state)
{
    (void)state;
    struct packet_flow *flow = begin(true);
    double target_ps = 0.75 * base_ps();
    bell.engine.clock.now_ps = 1;
    hear(flow, 1, 0, true); // the first period begins
    bell.engine.clock.now_ps = (uint64_t)(base_ps() + target_ps) / 2;
    hear(flow, 3, 0, true);
    flow->view.in_flight = 7;
    trim(flow); // too soon: it is one packet less
    assert_near(flow->view.cwnd, window_max() - 1);
    bell.engine.clock.now_ps = (uint64_t)(base_ps() + target_ps) + 2;
    state_of(flow)->stepped_ps = bell.engine.clock.now_ps;
    trim(flow);
    assert_near(flow->view.cwnd, 3);
    // What was in flight says no more by its marks.
    state_of(flow)->delay_ps = 10 * base_ps();
    hear(flow, 6, (uint64_t)(2 * base_ps()), true);
    assert_near(flow->view.cwnd, 3);
    hear(flow, 1, (uint64_t)(2 * base_ps()), true);
    assert_true(flow->view.cwnd < 2.9);
}

// A packet that was cut is remembered until the period ends.
static void a_cut_packet_counts_at_the_end_of_its_period(void **state)
{
    (void)state;
    for (uint32_t cut = 0; cut < 2; cut++) {
        struct packet_flow *flow = begin(true);
        flow->view.cwnd = 20;
        bell.engine.clock.now_ps = 1;
        hear(flow, 1, 0, true);
        if (cut == 1) {
            trim(flow);
        }
        bell.engine.clock.now_ps = (uint64_t)(1.75 * base_ps()) + 2;
        state_of(flow)->stepped_ps = bell.engine.clock.now_ps;
        hear(flow, 4, 0, true);
        assert_near(flow->view.cwnd, cut == 1 ? 4 : 20);
    }
}

// Ten to one behind ports that trim: the slow link is never idle, and all is there when its bytes
// have passed it.
static void an_incast_keeps_its_link_busy(void **state)
{
    (void)state;
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    arena = bell_arena;
    packet.port.trims = true;
    packet.port.control_weight = 10;
    packet.port.marking = WEFT_MARK_RAMP;
    packet.port.mark_max_ratio = 1;
    packet.mark_bytes = 10 * BELL_PACKET_BYTES;
    packet.port.mark_max_bytes = 40 * BELL_PACKET_BYTES;
    packet.buffer_bytes = 50 * BELL_PACKET_BYTES;
    bell_build(&bell, 10, RATE_BPS, 1, TRIP_PS, WEFT_TRANSPORT_NSCC, &packet, NULL, &arena);
    for (uint32_t i = 0; i < 10; i++) {
        bell_start(&bell, i, 1000);
    }
    struct packet_end end;
    uint32_t ended = 0;
    uint64_t last_ps = 0;
    while (packet_engine_run(&bell.engine, WEFT_NEVER, &end)) {
        ended++;
        last_ps = bell.engine.clock.now_ps;
    }
    assert_int_equal(ended, 10);
    double link_ps = (double)bell.engine.links[bell.slow].bytes / RATE_BPS * 1e12;
    assert_true(bell.engine.counts.trims > 0);
    assert_int_equal(bell.engine.counts.timeouts, 0);
    assert_true(link_ps >= 10000 * (BELL_PACKET_BYTES / RATE_BPS * 1e12));
    assert_true((double)last_ps < 1.02 * link_ps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_window_is_the_largest),
        cmocka_unit_test(below_the_target_it_grows_by_what_is_missing),
        cmocka_unit_test(above_it_without_marks_it_grows_evenly),
        cmocka_unit_test(below_it_marks_change_nothing),
        cmocka_unit_test(above_it_marks_cut_by_the_average),
        cmocka_unit_test(the_average_passes_over_what_was_not_marked),
        cmocka_unit_test(an_empty_network_is_filled_fast),
        cmocka_unit_test(little_that_came_is_the_new_window),
        cmocka_unit_test(a_cut_packet_counts_at_the_end_of_its_period),
        cmocka_unit_test(an_incast_keeps_its_link_busy),
    };
    return cmocka_run_group_tests(tests, bell_set_up, bell_tear_down);
}
