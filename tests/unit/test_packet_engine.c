// SPDX-License-Identifier: Apache-2.0
// The packet engine: a lone message's closed form, losses that mend themselves, counts that add up.
//
// Mutations that made these tests fail (each was run): a queue that forgets its backlog; packets
// lost that nobody sends again; an acknowledgement that counts twice; marks on a host's own queue;
// a first timeout without the ports' buffers; timers that run while a packet waits in its own port;
// ports with queues that do not say when a packet begins to leave; turns that are never waited for.

#include "../arenas.h"
#include "weft/sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define RATE_BPS 12.5e9
#define LATENCY_PS 1000000u
#define PACKET_BYTES 1500u

static struct weft_network network;

// `senders` servers send size_bytes each to the last one, each gap_ps after the one before; or, if
// `out`, it to them.
static struct weft_sim_result play_spread(uint32_t senders, uint64_t size_bytes,
                                          const struct weft_packet_options *packet,
                                          enum weft_sim_transport transport, uint64_t gap_ps,
                                          bool out)
{
    struct weft_arena arena = arena_kept;
    struct weft_cluster cluster;
    struct weft_error error;
    struct weft_sim_result result = {0};
    uint32_t from[64], to[64];
    uint64_t sizes[64], starts[64] = {0};
    for (uint32_t i = 0; i < senders; i++) {
        from[i] = out ? senders : i;
        to[i] = out ? i : senders;
        sizes[i] = size_bytes;
        starts[i] = i * gap_ps;
    }
    struct weft_flow_list flows = {senders, from, to, sizes, starts};
    struct weft_sim_options options = {.packet_bytes = PACKET_BYTES,
                                       .header_bytes = 100,
                                       .engine = WEFT_ENGINE_PACKET,
                                       .transport = transport,
                                       .dctcp = WEFT_DCTCP_DEFAULTS,
                                       .packet = packet};
    bool built = weft_cluster_build(&cluster, senders + 1, 1, RATE_BPS, &error);
    cluster.latency_ps = LATENCY_PS;
    if (!built || !weft_fabric_build_ideal(&network, &cluster, NULL, &arena, &error) ||
        !weft_sim_run_flows(&result, NULL, &network, &flows, &options,
                            &(struct weft_environment){
                                .arena = &arena, .scratch = scratch_kept, .error = &error})) {
        fail_msg("%s", error.message);
    }
    return result;
}

static struct weft_sim_result play(uint32_t senders, uint64_t size_bytes,
                                   const struct weft_packet_options *packet,
                                   enum weft_sim_transport transport)
{
    return play_spread(senders, size_bytes, packet, transport, 0, false);
}

// All packets leave back to back: the bytes' time, one packet's more at the switch, two latencies.
static void a_lone_message_takes_its_closed_form(void **state)
{
    (void)state;
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    packet.window.initial_packets = 4096;
    packet.buffer_bytes = 1 << 30;
    for (uint32_t count = 1; count <= 1000; count += 333) {
        struct weft_sim_result result = play(1, 1400ull * count, &packet, WEFT_TRANSPORT_RENO);
        uint64_t packet_ps = (uint64_t)(PACKET_BYTES * 1e12 / RATE_BPS);
        assert_int_equal(result.end_ps, (count + 1) * packet_ps + 2 * LATENCY_PS);
        assert_int_equal(result.packets.packets, count);
        assert_int_equal(result.packets.drops, 0);
    }
}

// A window of w packets a round trip, where that is less than the link carries.
static void a_window_limits_the_rate(void **state)
{
    (void)state;
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    packet.window.initial_packets = 4;
    packet.window.slow_start = false;
    packet.ack_bytes = 100;
    struct weft_sim_result result = play(1, 1400ull * 8, &packet, WEFT_TRANSPORT_RENO);
    // Packets 0..3, their acknowledgements one by one, packets 4..7; the window grows too late.
    uint64_t packet_ps = (uint64_t)(PACKET_BYTES * 1e12 / RATE_BPS);
    uint64_t ack_ps = (uint64_t)(100 * 1e12 / RATE_BPS);
    uint64_t trip_ps = 2 * (packet_ps + LATENCY_PS) + 2 * (ack_ps + LATENCY_PS);
    uint64_t expected_ps = trip_ps + 3 * packet_ps + 2 * (packet_ps + LATENCY_PS);
    assert_int_equal(result.end_ps, expected_ps);
}

static void lost_packets_are_sent_again(void **state)
{
    (void)state;
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    packet.buffer_bytes = 20 * PACKET_BYTES;
    packet.mark_bytes = 1 << 30;
    for (uint32_t senders = 2; senders <= 32; senders *= 2) {
        uint64_t size_bytes = 1400ull * 500;
        struct weft_sim_result result = play(senders, size_bytes, &packet, WEFT_TRANSPORT_RENO);
        const struct weft_packet_counts *counts = &result.packets;
        assert_true(counts->drops > 0);
        assert_int_equal(counts->packets, 500ull * senders + counts->retransmits);
        assert_true(counts->retransmits >= counts->drops / 2);
        // The last link carries every packet once at least.
        double busy_s = (double)senders * 500 * PACKET_BYTES / RATE_BPS;
        assert_true(weft_seconds(result.end_ps) > busy_s);
        assert_true(weft_seconds(result.end_ps) < 3 * busy_s + 0.05);
    }
}

static void marks_keep_queues_from_losing(void **state)
{
    (void)state;
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    packet.buffer_bytes = 200 * PACKET_BYTES;
    packet.mark_bytes = 20 * PACKET_BYTES;
    struct weft_sim_result result = play(4, 1400ull * 4000, &packet, WEFT_TRANSPORT_DCTCP);
    assert_true(result.packets.ecn_marks > 0);
    assert_int_equal(result.packets.drops, 0);
    double busy_s = 4.0 * 4000 * PACKET_BYTES / RATE_BPS;
    assert_true(weft_seconds(result.end_ps) < 1.05 * busy_s);
    // Alone it is marked nowhere: its own queue holds what it sends too fast.
    packet.window.initial_packets = 1000;
    result = play(1, 1400ull * 4000, &packet, WEFT_TRANSPORT_DCTCP);
    assert_int_equal(result.packets.ecn_marks, 0);
}

// Two packets meet at a port that holds one: the second is lost, and comes again when it could have
// been there and back with every port full.
static void a_first_timeout_is_the_longest_trip(void **state)
{
    (void)state;
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    const uint64_t packet_ps = (uint64_t)(PACKET_BYTES * 1e12 / RATE_BPS);
    packet.buffer_bytes = PACKET_BYTES;
    packet.loss.timeout_min_ps = 1;
    struct weft_sim_result result =
        play_spread(2, 1400, &packet, WEFT_TRANSPORT_RENO, packet_ps / 2, false);
    uint64_t timeout_ps = 4 * (LATENCY_PS + packet_ps) + 2 * packet_ps;
    uint64_t left_ps = packet_ps / 2 + packet_ps;
    assert_int_equal(result.packets.drops, 1);
    assert_int_equal(result.packets.timeouts, 1);
    assert_int_equal(result.end_ps, left_ps + timeout_ps + 2 * (packet_ps + LATENCY_PS));
    packet.loss.timeout_min_ps = WEFT_PS_PER_S;
    result = play_spread(2, 1400, &packet, WEFT_TRANSPORT_RENO, packet_ps / 2, false);
    assert_int_equal(result.end_ps, left_ps + WEFT_PS_PER_S + 2 * (packet_ps + LATENCY_PS));
}

// Server 0 sends `first` packets to 1 and `second` to 2: when the latter have come.
static uint64_t end_of_second(const struct weft_packet_options *packet, uint64_t first,
                              uint64_t second)
{
    struct weft_arena arena = arena_kept;
    struct weft_cluster cluster;
    struct weft_error error;
    struct weft_sim_result result = {0};
    const uint32_t from[] = {0, 0}, to[] = {1, 2};
    const uint64_t sizes[] = {first * (PACKET_BYTES - 100), second * (PACKET_BYTES - 100)};
    const uint64_t starts[] = {0, 0};
    uint64_t ends_ps[2];
    struct weft_flow_list flows = {2, from, to, sizes, starts};
    struct weft_sim_options options = {.packet_bytes = PACKET_BYTES,
                                       .header_bytes = 100,
                                       .engine = WEFT_ENGINE_PACKET,
                                       .transport = WEFT_TRANSPORT_RENO,
                                       .packet = packet};
    bool built = weft_cluster_build(&cluster, 3, 1, RATE_BPS, &error);
    cluster.latency_ps = LATENCY_PS;
    if (!built || !weft_fabric_build_ideal(&network, &cluster, NULL, &arena, &error) ||
        !weft_sim_run_flows(&result, ends_ps, &network, &flows, &options,
                            &(struct weft_environment){
                                .arena = &arena, .scratch = scratch_kept, .error = &error})) {
        fail_msg("%s", error.message);
    }
    return ends_ps[1];
}

// 2.3 ms of packets wait in one server's own port, longer than any timeout: nothing is lost, so
// nothing is sent again.
static void what_waits_at_home_is_not_late(void **state)
{
    (void)state;
    static const enum weft_sim_transport transports[] = {WEFT_TRANSPORT_RENO, WEFT_TRANSPORT_DCQCN,
                                                         WEFT_TRANSPORT_SWIFT};
    for (size_t i = 0; i < 3; i++) {
        for (int queued = 0; queued < 2; queued++) {
            struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
            packet.window.initial_packets = 400;
            packet.port.queued = queued;
            struct weft_sim_result result =
                play_spread(48, 1400ull * 400, &packet, transports[i], 0, true);
            assert_int_equal(result.packets.drops, 0);
            assert_int_equal(result.packets.timeouts, 0);
            assert_int_equal(result.packets.packets, 48 * 400);
        }
    }
}

// Server 0 has two messages for different servers, the second one short. In turns, with one packet
// of the first on its way and one before it, its k-th leaves as number 2k + 1; at once it waits
// behind the whole first window.
static void flows_take_turns_at_their_server(void **state)
{
    (void)state;
    const uint64_t packet_ps = (uint64_t)(PACKET_BYTES / RATE_BPS * 1e12 + 0.5);
    for (uint32_t queued = 0; queued < 2; queued++) {
        for (uint32_t at_once = 0; at_once < 2; at_once++) {
            struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
            packet.window.initial_packets = 500;
            packet.own_at_once = at_once == 1;
            packet.port.queued = queued == 1;
            uint64_t end_ps = end_of_second(&packet, 500, 20);
            uint64_t last = at_once == 1 ? 520 : 41;
            assert_int_equal(end_ps, (last + 1) * packet_ps + 2 * LATENCY_PS);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lone_message_takes_its_closed_form),
        cmocka_unit_test(a_window_limits_the_rate),
        cmocka_unit_test(lost_packets_are_sent_again),
        cmocka_unit_test(marks_keep_queues_from_losing),
        cmocka_unit_test(a_first_timeout_is_the_longest_trip),
        cmocka_unit_test(what_waits_at_home_is_not_late),
        cmocka_unit_test(flows_take_turns_at_their_server),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
