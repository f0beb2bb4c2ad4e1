// SPDX-License-Identifier: Apache-2.0
// NDP's pulls and what the sender makes of them, one by one: the order of what goes, who is pulled,
// and when.
//
// Mutations that made these tests fail (each was run): new packets before cut ones; pulls for a
// message that has come; pulls before the pacer's time; a flow that keeps the head of its line; of
// an order: none, equals without turns, flows that it lacks first, a line whose end is not kept.

#include "../oracle/transport_bell.h"

#define RATE_BPS 12.5e9
#define TRIP_PS 4000000u

static struct bell bell;
static struct weft_arena arena;

static void build_ordered(uint32_t senders, uint32_t window, const uint32_t *order, uint32_t count)
{
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    arena = bell_arena;
    packet.window.initial_packets = window;
    packet.pull.order = order;
    packet.pull.count = count;
    bell_build(&bell, senders, RATE_BPS, 1, TRIP_PS, WEFT_TRANSPORT_NDP, &packet, NULL, &arena);
}

static void build(uint32_t senders, uint32_t window)
{
    build_ordered(senders, window, NULL, 0);
}

// An answer of this sort is at the sender.
static void hear(uint32_t flow, uint32_t sequence, uint32_t flags)
{
    uint32_t id = packet_take(&bell.engine);
    struct packet *packet = &bell.engine.packets[id];
    packet->flow = flow;
    packet->generation = bell.engine.flows[flow].generation;
    packet->sequence = sequence;
    packet->cumulative = 0;
    packet->flags = (uint16_t)(PACKET_ACK | flags);
    bell.engine.ends.deliver(&bell.engine, id);
}

static uint64_t packet_ps(void)
{
    return (uint64_t)(BELL_PACKET_BYTES / RATE_BPS * 1e12 + 0.5);
}

// Of the receiver's link to the switch: acknowledgements and pulls.
static uint64_t answers(void)
{
    uint32_t hub = bell.flow_count + 1;
    uint32_t link = weft_fabric_find_link(&bell.fabric, bell.flow_count, hub);
    return bell.engine.links[link].bytes / 60;
}

// Packets 3 and 5 of eight were cut: the next two pulls bring these, the third a new one.
static void what_was_cut_goes_before_what_is_new(void **state)
{
    (void)state;
    build(1, 8);
    bell_start(&bell, 0, 100);
    bell_play(&bell, 8 * packet_ps());
    const struct packet_flow *flow = &bell.engine.flows[0];
    assert_int_equal(flow->view.snd_next, 8);
    hear(0, 5, PACKET_TRIMMED);
    hear(0, 3, PACKET_TRIMMED);
    assert_int_equal(flow->trimmed.count, 2);
    for (uint32_t pull = 1; pull <= 3; pull++) {
        hear(0, WEFT_NONE, PACKET_PULL);
        bell.engine.clock.now_ps += 2 * packet_ps();
        bell.engine.ends.send(&bell.engine, 0);
        assert_int_equal(bell.engine.counts.retransmits, pull < 3 ? pull : 2);
        assert_int_equal(flow->view.snd_next, pull < 3 ? 8 : 9);
        assert_int_equal(flow->trimmed.from, pull == 1 ? 4 : 6);
    }
}

// The receiver wants a pull that its pacer holds back until the message has come without it: none
// is sent.
static void a_message_that_has_come_is_not_pulled(void **state)
{
    (void)state;
    build(1, 2);
    bell_start(&bell, 0, 2);
    bell.engine.pulls.flows[0].allowed = 0;
    bell.engine.pulls.pacers[bell.slow].next_ps = 50 * TRIP_PS;
    struct packet_end end;
    assert_true(packet_engine_run(&bell.engine, WEFT_NEVER, &end));
    assert_int_equal(answers(), 1); // the first packet's
    bell_play(&bell, 100 * TRIP_PS);
    assert_int_equal(answers(), 1);
}

// Two packets may go at once, the third needs a pull: it leaves when the pacer has time, not
// before.
static void a_pull_waits_for_its_pacer(void **state)
{
    (void)state;
    build(1, 2);
    bell_start(&bell, 0, 3);
    uint64_t pull_ps = 10 * TRIP_PS;
    bell.engine.pulls.pacers[bell.slow].next_ps = pull_ps;
    struct packet_end end;
    assert_true(packet_engine_run(&bell.engine, WEFT_NEVER, &end));
    uint64_t header_ps = (uint64_t)(60 / RATE_BPS * 1e12 + 0.5);
    uint64_t trip_ps = TRIP_PS + 2 * header_ps + 2 * packet_ps();
    assert_int_equal(bell.engine.clock.now_ps, pull_ps + trip_ps);
}

// Their first packets come one behind the other and want a pull each; two more are wanted. The
// pacer has time for them from 5 TRIP_PS on.
static struct packet_pacer *let_flows_wait(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        bell_start(&bell, i, 50);
    }
    struct packet_pacer *pacer = &bell.engine.pulls.pacers[bell.slow];
    pacer->next_ps = 5 * TRIP_PS;
    bell_play(&bell, 5 * TRIP_PS - 1);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(bell.engine.pulls.flows[i].wanted, 1);
        bell.engine.pulls.flows[i].wanted = 3;
    }
    return pacer;
}

// Three flows, three pulls each: they take turns, one a packet's time.
static void flows_are_pulled_in_turn(void **state)
{
    (void)state;
    build(3, 1);
    const struct packet_pacer *pacer = let_flows_wait(3);
    uint32_t first = pacer->first;
    uint32_t second = bell.engine.pulls.flows[first].next;
    uint32_t third = bell.engine.pulls.flows[second].next;
    const uint32_t order[] = {first, second, third};
    for (uint32_t n = 0; n < 6; n++) {
        bell_play(&bell, 5 * TRIP_PS + n * packet_ps());
        for (uint32_t i = 0; i < 3; i++) {
            uint32_t sent = n / 3 + (n % 3 >= i);
            assert_int_equal(bell.engine.pulls.flows[order[i]].wanted, 3 - sent);
        }
    }
}

// The most urgent flow's pulls go first, those of equals in turn, those of flows without a place in
// the order last.
static void urgent_flows_are_pulled_first(void **state)
{
    (void)state;
    static const uint32_t order[] = {7, 7, 2};
    build_ordered(4, 1, order, 3);
    const struct packet_pacer *pacer = let_flows_wait(4);
    bool zero_first = true;
    for (uint32_t flow = pacer->first; flow != 0; flow = bell.engine.pulls.flows[flow].next) {
        zero_first &= flow != 1;
    }
    uint32_t a = zero_first ? 0 : 1;
    const uint32_t pulled[] = {2, 2, 2, a, 1 - a, a, 1 - a, a, 1 - a, 3, 3, 3};
    uint32_t wanted[] = {3, 3, 3, 3};
    for (uint32_t n = 0; n < sizeof pulled / sizeof pulled[0]; n++) {
        bell_play(&bell, 5 * TRIP_PS + n * packet_ps());
        wanted[pulled[n]]--;
        for (uint32_t i = 0; i < 4; i++) {
            assert_int_equal(bell.engine.pulls.flows[i].wanted, wanted[i]);
        }
    }
    assert_int_equal(pacer->first, WEFT_NONE);
    assert_int_equal(pacer->last, WEFT_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_cut_goes_before_what_is_new),
        cmocka_unit_test(a_message_that_has_come_is_not_pulled),
        cmocka_unit_test(a_pull_waits_for_its_pacer),
        cmocka_unit_test(flows_are_pulled_in_turn),
        cmocka_unit_test(urgent_flows_are_pulled_first),
    };
    return cmocka_run_group_tests(tests, bell_set_up, bell_tear_down);
}
