// SPDX-License-Identifier: Apache-2.0
// PIAS, pFabric and MLT at one port against closed forms, and what MLT delivers over links that
// lose packets by chance.
//
// Each test names the mutation that made it fail; each was run.

#include "../arenas.h"
#include "sim/packet/transport/pias.h"
#include "weft/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define RATE_BPS 1e9
#define LATENCY_PS 1000000u
#define PACKET_BYTES 1500u
#define HEADER_BYTES 100u
#define PACKET_PS 1500000u // at RATE_BPS
#define TRIP_PS (2 * (LATENCY_PS + PACKET_PS))
#define FLOWS_MAX 16u

static struct weft_network network;

struct flows {
    uint32_t count;
    uint64_t packets[FLOWS_MAX]; // each, from server i + 1 to server 0
    uint64_t start_ps[FLOWS_MAX];
    uint64_t end_ps[FLOWS_MAX];
    struct weft_sim_result result;
};

static void build_star(uint32_t servers, struct weft_arena *arena)
{
    struct weft_cluster cluster;
    struct weft_error error;
    bool built = weft_cluster_build(&cluster, servers, 1, RATE_BPS, &error);
    cluster.latency_ps = LATENCY_PS;
    if (!built || !weft_fabric_build_ideal(&network, &cluster, NULL, arena, &error)) {
        fail_msg("%s", error.message);
    }
}

static bool run(struct flows *flows, enum weft_sim_transport transport,
                const struct weft_packet_options *packet, uint64_t seed, struct weft_error *error)
{
    uint32_t from[FLOWS_MAX];
    uint32_t to[FLOWS_MAX] = {0};
    uint64_t sizes[FLOWS_MAX];
    for (uint32_t i = 0; i < flows->count; i++) {
        from[i] = i + 1;
        sizes[i] = flows->packets[i] * (PACKET_BYTES - HEADER_BYTES);
    }
    const struct weft_flow_list list = {flows->count, from, to, sizes, flows->start_ps};
    const struct weft_sim_options options = {.packet_bytes = PACKET_BYTES,
                                             .header_bytes = HEADER_BYTES,
                                             .seed = seed,
                                             .engine = WEFT_ENGINE_PACKET,
                                             .transport = transport,
                                             .dctcp = WEFT_DCTCP_DEFAULTS,
                                             .records = {.flow_limit = FLOWS_MAX},
                                             .packet = packet};
    return weft_sim_run_flows(
        &flows->result, flows->end_ps, &network, &list, &options,
        &(struct weft_environment){.arena = &arena_kept, .scratch = scratch_kept, .error = error});
}

static void play(struct flows *flows, enum weft_sim_transport transport,
                 const struct weft_packet_options *packet, uint64_t seed)
{
    struct weft_error error;
    if (!run(flows, transport, packet, seed, &error)) {
        fail_msg("%s", error.message);
    }
}

static uint32_t resent_of(const struct flows *flows, uint32_t flow)
{
    for (uint32_t i = 0; i < flows->result.records.flow_count; i++) {
        if (flows->result.records.flows[i].task == flow) {
            return flows->result.records.flows[i].retransmits;
        }
    }
    return UINT32_MAX;
}

// Brute force: the thresholds that are passed are counted. Mutation: > for >=.
static void pias_counts_the_thresholds_that_are_passed(void **state)
{
    (void)state;
    const struct weft_pias_options options = WEFT_PIAS_DEFAULTS;
    for (uint32_t count = 1; count <= WEFT_PIAS_THRESHOLDS + 1; count++) {
        for (uint64_t sent = 0; sent < 4000000; sent += 730) {
            uint32_t passed = 0;
            for (uint32_t i = 0; i < WEFT_PIAS_THRESHOLDS; i++) {
                passed += sent >= options.threshold_bytes[i];
            }
            assert_int_equal(packet_pias_priority(&options, count, sent),
                             passed < count ? passed : count - 1);
        }
    }
}

// Two long messages fill the port's queue. A short one that begins later waits for the packet that
// is being sent and no other, since both are past their threshold; as DCTCP, for all that waits.
// Mutation: packets are never demoted.
static void pias_lets_short_messages_pass(void **state)
{
    (void)state;
    for (uint32_t pias = 0; pias < 2; pias++) {
        struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
        packet.window.initial_packets = 200;
        packet.mark_bytes = 1 << 30;
        packet.buffer_bytes = 1 << 30;
        packet.port.priority_count = pias ? 2 : 0;
        packet.pias.threshold_bytes[0] = 10 * PACKET_BYTES;
        struct flows flows = {
            .count = 3, .packets = {200, 200, 3}, .start_ps = {0, 0, 100 * (uint64_t)PACKET_PS}};
        build_star(4, &arena_kept);
        play(&flows, pias ? WEFT_TRANSPORT_PIAS : WEFT_TRANSPORT_DCTCP, &packet, 1);
        uint64_t took_ps = flows.end_ps[2] - flows.start_ps[2];
        uint64_t alone_ps = 4 * (uint64_t)PACKET_PS + 2 * LATENCY_PS;
        if (pias) {
            assert_true(took_ps >= alone_ps && took_ps <= alone_ps + PACKET_PS);
        } else {
            assert_true(took_ps > alone_ps + 50 * (uint64_t)PACKET_PS);
        }
    }
}

// Shortest remaining first: messages that begin together end in the order of their sizes, each when
// all shorter ones and it have passed the port. Windows are a trip, 4 packets.
// That a message's packets stay in order decides nothing here.
static void pfabric_serves_the_shortest_remaining_first(void **state)
{
    (void)state;
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    packet.port.by_remaining = true;
    packet.port.control_first = true;
    packet.buffer_bytes = 1 << 30;
    packet.loss.timeout_min_ps = WEFT_PS_PER_S;
    struct flows flows = {.count = 4, .packets = {40, 10, 160, 20}};
    static const uint64_t passed[] = {70, 10, 230, 30};
    build_star(5, &arena_kept);
    play(&flows, WEFT_TRANSPORT_PFABRIC, &packet, 1);
    for (uint32_t i = 0; i < flows.count; i++) {
        uint64_t least_ps = (1 + passed[i]) * (uint64_t)PACKET_PS + 2 * LATENCY_PS;
        // What others had sent before the shorter ones' first packets were there.
        assert_true(flows.end_ps[i] >= least_ps);
        assert_true(flows.end_ps[i] <= least_ps + 8 * (uint64_t)PACKET_PS);
    }
    assert_int_equal(flows.result.packets.drops, 0);
}

// A full port loses packets of the longest messages alone. Mutations: it loses what comes; the
// packet with most left goes first.
static void pfabric_loses_of_the_longest_messages(void **state)
{
    (void)state;
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    packet.port.by_remaining = true;
    packet.port.control_first = true;
    packet.buffer_bytes = 6 * PACKET_BYTES;
    packet.loss.timeout_min_ps = 45000000;
    struct flows flows = {.count = 8, .packets = {400, 400, 400, 12, 400, 400, 400, 400}};
    build_star(9, &arena_kept);
    play(&flows, WEFT_TRANSPORT_PFABRIC, &packet, 1);
    assert_true(flows.result.packets.drops > 0);
    assert_int_equal(resent_of(&flows, 3), 0);
    assert_true(flows.end_ps[3] < 30 * (uint64_t)PACKET_PS);
}

static struct weft_packet_options mlt_ports(void)
{
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    packet.port.control_first = true;
    packet.port.loss_link = WEFT_NONE;
    return packet;
}

// 1,000 packets and a bound of 10 %: the message ends with the 900th, and the rest counts as not
// delivered. Mutation: a bound of 0 whatever was asked for.
static void mlt_ends_at_the_900th_of_1000_packets(void **state)
{
    (void)state;
    struct weft_packet_options packet = mlt_ports();
    struct flows flows = {.count = 1, .packets = {1000}};
    build_star(2, &arena_kept);
    play(&flows, WEFT_TRANSPORT_MLT, &packet, 1);
    assert_int_equal(flows.end_ps[0], 901 * (uint64_t)PACKET_PS + 2 * LATENCY_PS);
    assert_true(flows.result.packets.delivered.min_ratio == 0.9);
    assert_int_equal(flows.result.packets.retransmits, 0);
}

// Wherever packets are lost by chance, no message comes to less than its bound, nothing that is
// protected lacks a byte, and every message ends. Mutation: five times
// the bound may be missing.
static void mlt_delivers_its_bound_over_lossy_links(void **state)
{
    (void)state;
    static const double losses[] = {0.0001, 0.001, 0.01, 0.2};
    static const double bounds[] = {0, 0.01, 0.1};
    build_star(5, &arena_kept);
    uint32_t links = network.fabric.link_count;
    for (uint32_t i = 0; i < 12 * links; i++) {
        struct weft_packet_options packet = mlt_ports();
        packet.port.loss_ratio = losses[i % 4];
        packet.port.loss_link = i / 12;
        packet.mlt.loss_bound = bounds[i / 4 % 3];
        struct flows flows = {.count = 4, .packets = {1, 33, 500, 200}};
        play(&flows, WEFT_TRANSPORT_MLT, &packet, i);
        assert_true(flows.result.packets.delivered.min_ratio >= 1 - packet.mlt.loss_bound);
        assert_int_equal(flows.result.records.flow_count, 4);
        for (uint32_t f = 0; f < 4; f++) {
            assert_true(flows.end_ps[f] > 0);
        }
    }
}

// Eight senders at the rate of one link: 7/8 of what comes is too much. Where more than that is
// unimportant, no important packet is lost, and with none unimportant many are. Mutation: the
// unimportant are marked, too.
static void mlt_loses_unimportant_packets_first(void **state)
{
    (void)state;
    static const double unimportant[] = {0.92, 0};
    build_star(9, &arena_kept);
    for (uint32_t i = 0; i < 2; i++) {
        struct weft_packet_options packet = mlt_ports();
        packet.buffer_bytes = 60 * PACKET_BYTES;
        packet.mark_bytes = 10 * PACKET_BYTES;
        packet.mlt.unimportant_ratio = unimportant[i];
        struct flows flows = {.count = 8};
        for (uint32_t f = 0; f < 8; f++) {
            flows.packets[f] = 300;
        }
        play(&flows, WEFT_TRANSPORT_MLT, &packet, 1);
        assert_true(flows.result.packets.drops > 0);
        assert_int_equal(flows.result.packets.important_lost > 0, unimportant[i] == 0);
        assert_true(flows.result.packets.delivered.min_ratio >= 0.9);
    }
}

// Half of all packets lost on every link, of which a way there and back has four: one PROBE in 16
// is answered, and messages end all the same. Mutation: the watch over the run counts PROBEs in
// vain.
static void mlt_comes_to_an_end_though_half_of_everything_is_lost(void **state)
{
    (void)state;
    build_star(3, &arena_kept);
    for (uint32_t seed = 1; seed <= 20; seed++) {
        struct weft_packet_options packet = mlt_ports();
        packet.port.loss_ratio = 0.5;
        packet.mlt.loss_bound = 0;
        struct flows flows = {.count = 2, .packets = {20, 40}};
        play(&flows, WEFT_TRANSPORT_MLT, &packet, seed);
        assert_true(flows.result.packets.delivered.min_ratio == 1);
    }
}

// A link that loses everything: the sender that needs it, for its data or for their answers, loses
// its patience, and the error names the message, both servers and why. Of transports whose senders
// try for ever the watch over the run says so. Mutations: a sender that has lost its patience goes
// on; the message named is that of the lowest number.
static void mlt_gives_up_over_a_link_that_loses_everything(void **state)
{
    (void)state;
    struct weft_error error;
    build_star(3, &arena_kept);
    for (uint32_t link = 0; link < network.fabric.link_count; link++) {
        struct weft_packet_options packet = mlt_ports();
        packet.port.loss_ratio = 1;
        packet.port.loss_link = link;
        struct flows flows = {.count = 2, .packets = {20, 20}};
        assert_false(run(&flows, WEFT_TRANSPORT_MLT, &packet, 1, &error));
        const struct weft_link *dead = &network.fabric.links[link];
        uint32_t server = dead->from < dead->to ? dead->from : dead->to;
        uint32_t message = server == 0 ? 0 : server - 1;
        char start[160];
        snprintf(start, sizeof(start),
                 "mlt: message %u, from server %u to server 0, is given up after 1000.", message,
                 message + 1);
        assert_int_equal(error.code, WEFT_INFEASIBLE);
        assert_memory_equal(error.message, start, strlen(start));
        assert_non_null(strstr(error.message, "the receiver has not answered for 1000 s"));
    }
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    packet.port.loss_ratio = 1;
    packet.port.loss_link = WEFT_NONE;
    struct flows flows = {.count = 1, .packets = {1}};
    assert_false(run(&flows, WEFT_TRANSPORT_DCTCP, &packet, 1, &error));
    assert_non_null(strstr(error.message, "flow 0 from server 1 to server 0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pias_counts_the_thresholds_that_are_passed),
        cmocka_unit_test(pias_lets_short_messages_pass),
        cmocka_unit_test(pfabric_serves_the_shortest_remaining_first),
        cmocka_unit_test(pfabric_loses_of_the_longest_messages),
        cmocka_unit_test(mlt_ends_at_the_900th_of_1000_packets),
        cmocka_unit_test(mlt_delivers_its_bound_over_lossy_links),
        cmocka_unit_test(mlt_loses_unimportant_packets_first),
        cmocka_unit_test(mlt_comes_to_an_end_though_half_of_everything_is_lost),
        cmocka_unit_test(mlt_gives_up_over_a_link_that_loses_everything),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
