// SPDX-License-Identifier: Apache-2.0
// Packets on several paths, and NDP: receivers that pull, ports that trim.
//
// Mutations that made these tests fail (each was run): losses told by reorder_packets though
// packets overtake; a window for reordering of 0; paths taken without round robin; a header that is
// not answered; pulls that do not count what was trimmed; paths used again newest first, though
// marked, more than the ring holds, or never.

#include "../arenas.h"
#include "sim/packet/engine/engine.h"
#include "weft/sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define RATE_BPS 12.5e9
#define LATENCY_PS 500000u
#define PACKET_BYTES 4160u
#define HEADER_BYTES 64u
#define FLOWS_MAX 128u

static struct weft_network network;

struct flows {
    uint32_t count;
    uint32_t from[FLOWS_MAX];
    uint32_t to[FLOWS_MAX];
    uint64_t packets; // of each
    struct weft_sim_result result;
    struct weft_error error;
};

static bool play(struct flows *flows, const struct weft_packet_options *packet,
                 enum weft_sim_transport transport, struct weft_arena *arena)
{
    uint64_t sizes[FLOWS_MAX];
    uint64_t starts[FLOWS_MAX] = {0};
    for (uint32_t i = 0; i < flows->count; i++) {
        sizes[i] = flows->packets * (PACKET_BYTES - HEADER_BYTES);
    }
    struct weft_flow_list list = {flows->count, flows->from, flows->to, sizes, starts};
    struct weft_sim_options options = {.packet_bytes = PACKET_BYTES,
                                       .header_bytes = HEADER_BYTES,
                                       .seed = 7,
                                       .engine = WEFT_ENGINE_PACKET,
                                       .transport = transport,
                                       .dctcp = WEFT_DCTCP_DEFAULTS,
                                       .packet = packet};
    return weft_sim_run_flows(&flows->result, NULL, &network, &list, &options,
                              &(struct weft_environment){
                                  .arena = arena, .scratch = scratch_kept, .error = &flows->error});
}

static void must(bool played, const struct flows *flows)
{
    if (!played) {
        fail_msg("%s", flows->error.message);
    }
}

static void build(bool tiers, uint32_t servers, struct weft_arena *arena)
{
    struct weft_cluster cluster;
    struct weft_error error;
    bool built = weft_cluster_build(&cluster, servers, 1, RATE_BPS, &error);
    cluster.latency_ps = LATENCY_PS;
    built = built && (tiers ? weft_fabric_build_fat_tree(&network, &cluster, NULL, arena, &error)
                            : weft_fabric_build_ideal(&network, &cluster, NULL, arena, &error));
    if (!built) {
        fail_msg("%s", error.message);
    }
}

static double packet_ps(void)
{
    return PACKET_BYTES / RATE_BPS * 1e12;
}

// As the paper has it: ports of 8 packets that cut what is more.
static struct weft_packet_options ndp_options(void)
{
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    packet.window.initial_packets = 30;
    packet.buffer_bytes = 8 * PACKET_BYTES;
    packet.mark_bytes = 1 << 30;
    packet.port.trims = true;
    packet.port.control_weight = 10;
    return packet;
}

static void shift(struct flows *flows, uint32_t by)
{
    for (uint32_t i = 0; i < flows->count; i++) {
        flows->from[i] = i;
        flows->to[i] = (i + by) % flows->count;
    }
}

// ---- spraying ----

// One flow between two pods: every core carries the same, and what overtakes is not lost.
static void packets_take_all_paths_by_round_robin(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct flows flows = {.count = 1, .from = {0}, .to = {15}, .packets = 400};
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    build(true, 16, &arena);
    uint32_t paths = weft_routes_path_count(&network.routes, 0, 15);
    assert_int_equal(paths, 4);
    for (uint32_t spray_paths = 2; spray_paths <= 4; spray_paths += 2) {
        packet.port.spray_paths = spray_paths;
        must(play(&flows, &packet, WEFT_TRANSPORT_DCTCP, &arena), &flows);
        uint32_t used[64] = {0};
        for (uint32_t path = 0; path < paths; path++) {
            uint32_t links[8];
            uint32_t hops = weft_routes_path(&network.routes, 0, 15, path, links, NULL);
            // Up to the core and down from it: no other path has that link.
            used[path] = (uint32_t)(flows.result.link_bytes[links[hops / 2]] / PACKET_BYTES);
        }
        uint32_t taken = 0;
        for (uint32_t path = 0; path < paths; path++) {
            taken += used[path] > 0;
            assert_true(used[path] == 0 || used[path] == 400 / spray_paths);
        }
        assert_int_equal(taken, spray_paths);
        assert_int_equal(flows.result.packets.retransmits, 0);
    }
}

// An answer to a packet that took this path is at the sender.
static void hear_of(struct packet_engine *engine, uint32_t path, uint32_t flags)
{
    struct packet packet = {.path = path, .flags = (uint16_t)(PACKET_ACK | flags)};
    packet_spray_feedback(engine, 0, &packet);
}

// Paths 2 and 0 brought packets unmarked, 1 a marked and 3 a trimmed one: 2 and 0 go again, each
// once; then all one after the other, but 1 in no first round, and 3 in none of four. More than the
// ring holds are not kept.
static void paths_without_marks_go_again(void **state)
{
    (void)state;
    struct weft_packet_options options = WEFT_PACKET_DEFAULTS;
    struct packet_spray spray = {.path_count = 4, .back_count = 4};
    uint8_t skips[4] = {0};
    static uint8_t recycled[SPRAY_RECYCLED_MAX];
    struct packet_engine engine = {
        .options = &options,
        .sprays = {.flows = &spray, .path_room = 4, .skips = skips, .recycled = recycled}};
    options.port.spray_by = WEFT_SPRAY_REUSE;
    hear_of(&engine, 2, 0);
    hear_of(&engine, 1, PACKET_MARKED);
    hear_of(&engine, 3, PACKET_TRIMMED);
    hear_of(&engine, 0, 0);
    assert_int_equal(packet_spray_path(&engine, 0), 2);
    assert_int_equal(packet_spray_path(&engine, 0), 0);
    uint32_t taken[4] = {0};
    for (uint32_t i = 0; i < 2 + 3 + 3 + 3; i++) {
        taken[packet_spray_path(&engine, 0)]++;
    }
    assert_int_equal(taken[0], 4);
    assert_int_equal(taken[1], 3);
    assert_int_equal(taken[2], 4);
    assert_int_equal(taken[3], 0);
    for (uint32_t i = 0; i < 4; i++) {
        taken[packet_spray_path(&engine, 0)]++;
    }
    assert_int_equal(taken[3], 1);
    for (uint32_t i = 0; i < SPRAY_RECYCLED_MAX + 50; i++) {
        hear_of(&engine, i < SPRAY_RECYCLED_MAX ? 1 : 2, 0);
    }
    for (uint32_t i = 0; i < SPRAY_RECYCLED_MAX; i++) {
        assert_int_equal(packet_spray_path(&engine, 0), 1);
    }
    assert_int_equal(spray.recycled_count, 0);
}

// Where switches draw paths by hash, paths that are used again without marks find those that are
// free: a permutation is marked less, and sooner over.
static void paths_used_again_find_free_links(void **state)
{
    (void)state;
    struct weft_packet_options packet = ndp_options();
    struct weft_sim_result results[2];
    packet.port.spray_paths = 16;
    packet.port.spray_hashed = true;
    packet.buffer_bytes = 100 * PACKET_BYTES;
    packet.mark_bytes = 20 * PACKET_BYTES;
    packet.port.marking = WEFT_MARK_RAMP;
    packet.port.mark_max_bytes = 80 * PACKET_BYTES;
    packet.port.mark_max_ratio = 1;
    packet.port.control_weight = 0;
    for (uint32_t i = 0; i < 2; i++) {
        struct weft_arena arena = arena_kept;
        struct flows flows = {.count = 54, .packets = 1000};
        packet.port.spray_by = i == 0 ? WEFT_SPRAY_MARKS : WEFT_SPRAY_REUSE;
        build(true, 54, &arena);
        shift(&flows, 20);
        must(play(&flows, &packet, WEFT_TRANSPORT_NSCC, &arena), &flows);
        results[i] = flows.result;
    }
    assert_true(results[1].packets.ecn_marks < results[0].packets.ecn_marks / 10);
    assert_true((double)results[1].end_ps < 0.95 * (double)results[0].end_ps);
}

// Many flows at once: queues differ, packets overtake, nobody takes that for a loss.
static void what_overtakes_is_not_lost(void **state)
{
    (void)state;
    for (uint32_t by_chance = 0; by_chance < 2; by_chance++) {
        struct weft_arena arena = arena_kept;
        struct flows flows = {.count = 54, .packets = 500};
        struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
        packet.buffer_bytes = 1 << 24;
        packet.port.spray_paths = 9;
        packet.port.spray_by = by_chance == 1 ? WEFT_SPRAY_CHANCE : WEFT_SPRAY_ROUND_ROBIN;
        build(true, 54, &arena);
        shift(&flows, 20);
        must(play(&flows, &packet, WEFT_TRANSPORT_DCTCP, &arena), &flows);
        assert_int_equal(flows.result.packets.drops, 0);
        assert_int_equal(flows.result.packets.retransmits, 0);
        double sprayed_ps = (double)flows.result.end_ps;
        packet.port.spray_paths = 1;
        must(play(&flows, &packet, WEFT_TRANSPORT_DCTCP, &arena), &flows);
        assert_true(sprayed_ps < 0.8 * (double)flows.result.end_ps); // no two flows on one link
    }
}

// With small buffers packets are lost, and found by time.
static void lost_packets_are_found_by_time(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct flows flows = {.count = 24, .packets = 400};
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    packet.buffer_bytes = 12 * PACKET_BYTES;
    packet.mark_bytes = 1 << 30;
    packet.port.spray_paths = 9;
    build(true, 54, &arena);
    for (uint32_t i = 0; i < flows.count; i++) { // six into each of four
        flows.from[i] = i;
        flows.to[i] = 30 + i / 6;
    }
    must(play(&flows, &packet, WEFT_TRANSPORT_RENO, &arena), &flows);
    const struct weft_packet_counts *counts = &flows.result.packets;
    assert_true(counts->drops > 100);
    assert_true(counts->retransmits >= counts->drops * 9 / 10);
    assert_true(counts->retransmits < counts->drops * 2);
    assert_true(counts->timeouts < 100);
}

// ---- NDP ----

static void pulls_keep_a_lone_message_at_line_rate(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct flows flows = {.count = 1, .from = {0}, .to = {1}, .packets = 1000};
    struct weft_packet_options packet = ndp_options();
    build(false, 2, &arena);
    must(play(&flows, &packet, WEFT_TRANSPORT_NDP, &arena), &flows);
    assert_true(fabs((double)flows.result.end_ps - 1001 * packet_ps() - 2.0 * LATENCY_PS) < 1e6);
    assert_int_equal(flows.result.packets.packets, 1000);
    // A window below the bandwidth-delay product: as many packets a round trip.
    packet.window.initial_packets = 2;
    must(play(&flows, &packet, WEFT_TRANSPORT_NDP, &arena), &flows);
    double header_ps = HEADER_BYTES / RATE_BPS * 1e12;
    double trip_ps = 2 * packet_ps() + 2 * header_ps + 4.0 * LATENCY_PS;
    double rounds = (double)flows.result.end_ps / trip_ps;
    assert_true(fabs(rounds - 500) < 2);
}

// N senders to one: their bytes at the receiver's rate and a round trip, no timeout.
static void incast_takes_its_bytes_and_a_trip(void **state)
{
    (void)state;
    for (uint32_t senders = 2; senders <= 96; senders = senders * 7 / 2) {
        struct weft_arena arena = arena_kept;
        struct flows flows = {.count = senders, .packets = 200};
        struct weft_packet_options packet = ndp_options();
        packet.port.control_bytes = 1 << 20;
        build(false, senders + 1, &arena);
        for (uint32_t i = 0; i < senders; i++) {
            flows.from[i] = i;
            flows.to[i] = senders;
        }
        must(play(&flows, &packet, WEFT_TRANSPORT_NDP, &arena), &flows);
        const struct weft_packet_counts *counts = &flows.result.packets;
        double bytes_ps = senders * 200 * packet_ps();
        double trip_ps = 4.0 * LATENCY_PS + 2 * packet_ps();
        double headers_ps = (double)counts->trims * HEADER_BYTES / RATE_BPS * 1e12;
        assert_true((double)flows.result.end_ps > bytes_ps);
        if ((double)flows.result.end_ps > 1.01 * (bytes_ps + trip_ps + headers_ps)) {
            fail_msg("%u senders: %.4f of the closed form", senders,
                     (double)flows.result.end_ps / (bytes_ps + trip_ps));
        }
        assert_int_equal(counts->timeouts, 0);
        assert_int_equal(counts->drops, 0);
        assert_int_equal(counts->retransmits, counts->trims);
        assert_true(counts->trims > 0);
    }
}

// A permutation, sprayed: nearly the line rate for all (the paper reports above 90 %).
static void a_sprayed_permutation_fills_its_links(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct flows flows = {.count = 54, .packets = 1000};
    struct weft_packet_options packet = ndp_options();
    packet.port.spray_paths = 9;
    packet.window.initial_packets = 60; // the trip takes 25 packets' time without queues
    build(true, 54, &arena);
    shift(&flows, 20);
    must(play(&flows, &packet, WEFT_TRANSPORT_NDP, &arena), &flows);
    assert_true((double)flows.result.end_ps < 1.08 * 1000 * packet_ps());
    assert_int_equal(flows.result.packets.timeouts, 0);
}

// So few bytes for headers that they are lost, too: timers mend it.
static void lost_headers_are_mended_by_timers(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct flows flows = {.count = 100, .packets = 60};
    struct weft_packet_options packet = ndp_options();
    packet.window.initial_packets = 60;
    packet.buffer_bytes = PACKET_BYTES;
    build(false, 101, &arena);
    for (uint32_t i = 0; i < flows.count; i++) {
        flows.from[i] = i;
        flows.to[i] = 100;
    }
    must(play(&flows, &packet, WEFT_TRANSPORT_NDP, &arena), &flows);
    assert_true(flows.result.packets.drops > 0);
    assert_true(flows.result.packets.timeouts > 0);
}

// ---- what is trimmed, of other transports ----

// Headers tell what was cut: it goes again once, without a timer.
static void windows_send_again_what_was_cut(void **state)
{
    (void)state;
    static const enum weft_sim_transport transports[] = {WEFT_TRANSPORT_RENO, WEFT_TRANSPORT_DCTCP,
                                                         WEFT_TRANSPORT_SWIFT, WEFT_TRANSPORT_NSCC};
    for (size_t i = 0; i < sizeof transports / sizeof transports[0]; i++) {
        struct weft_arena arena = arena_kept;
        struct flows flows = {.count = 12, .packets = 200};
        struct weft_packet_options packet = ndp_options();
        packet.port.control_bytes = 1 << 20;
        build(false, 13, &arena);
        for (uint32_t f = 0; f < flows.count; f++) {
            flows.from[f] = f;
            flows.to[f] = 12;
        }
        must(play(&flows, &packet, transports[i], &arena), &flows);
        const struct weft_packet_counts *counts = &flows.result.packets;
        assert_true(counts->trims > 0);
        assert_int_equal(counts->drops, 0);
        assert_int_equal(counts->timeouts, 0);
        assert_int_equal(counts->retransmits, counts->trims);
        assert_int_equal(counts->packets, 12 * 200 + counts->trims);
    }
}

static void options_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct flows flows = {.count = 1, .from = {0}, .to = {1}, .packets = 1};
    struct weft_packet_options packet = ndp_options();
    build(false, 2, &arena);
    packet.handshake = true;
    assert_false(play(&flows, &packet, WEFT_TRANSPORT_NDP, &arena));
    assert_non_null(strstr(flows.error.message, "handshake"));
    packet = ndp_options();
    packet.port.spray_paths = 257;
    assert_false(play(&flows, &packet, WEFT_TRANSPORT_NDP, &arena));
    assert_non_null(strstr(flows.error.message, "at most 256"));
    assert_int_equal(flows.error.code, WEFT_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_take_all_paths_by_round_robin),
        cmocka_unit_test(paths_without_marks_go_again),
        cmocka_unit_test(paths_used_again_find_free_links),
        cmocka_unit_test(what_overtakes_is_not_lost),
        cmocka_unit_test(lost_packets_are_found_by_time),
        cmocka_unit_test(pulls_keep_a_lone_message_at_line_rate),
        cmocka_unit_test(incast_takes_its_bytes_and_a_trip),
        cmocka_unit_test(a_sprayed_permutation_fills_its_links),
        cmocka_unit_test(lost_headers_are_mended_by_timers),
        cmocka_unit_test(windows_send_again_what_was_cut),
        cmocka_unit_test(options_that_make_no_sense_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
