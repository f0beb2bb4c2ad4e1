// SPDX-License-Identifier: Apache-2.0
// Ports of the packet engine on random networks: queues with one priority give exactly what ports
// first come, first served give; lossless ports lose nothing; everything arrives.
//
// Latencies and rates are drawn to the picosecond, so that no two packets come at one instant:
// the order of equals is the order in which their events were made, which differs.
//
// Mutations that made these tests fail (each was run): a backlog without the packet that leaves; a
// pause without its latency's head-room; a resume that is never sent; a slot of flows that does not
// know whose packets it has.

#include "../arenas.h"
#include "../seeds.h"
#include "weft/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define SERVERS 12u
#define SWITCHES 7u
#define FLOWS 40u
#define SEEDS TEST_SEEDS(40u)

static struct weft_network network;

static uint32_t join(struct weft_link *links, uint32_t count, uint32_t a, uint32_t b,
                     struct weft_rng *rng)
{
    for (uint32_t way = 0; way < 2; way++) {
        links[count++] = (struct weft_link){.from = way == 0 ? a : b,
                                            .to = way == 0 ? b : a,
                                            .rate_Bps = 1e8 * (1 + 9 * weft_rng_unit(rng)),
                                            .latency_ps = 100000 + weft_rng_below(rng, 2000000),
                                            .width = 1};
    }
    return count;
}

// A random tree of switches, so that routes have no circles, with servers at its switches; with
// `extra` links besides, packets have several ways.
static void build(uint64_t seed, bool extra, struct weft_arena *arena)
{
    struct weft_rng rng;
    struct weft_link links[128];
    struct weft_error error;
    uint32_t count = 0;
    weft_rng_init(&rng, seed);
    for (uint32_t i = 1; i < SWITCHES; i++) {
        count = join(links, count, SERVERS + i, SERVERS + weft_rng_below(&rng, i), &rng);
    }
    for (uint32_t i = 0; extra && i < 4; i++) {
        uint32_t a = weft_rng_below(&rng, SWITCHES - 1);
        uint32_t b = a + 1 + weft_rng_below(&rng, SWITCHES - 1 - a);
        count = join(links, count, SERVERS + a, SERVERS + b, &rng);
    }
    for (uint32_t i = 0; i < SERVERS; i++) {
        count = join(links, count, i, SERVERS + weft_rng_below(&rng, SWITCHES), &rng);
    }
    if (!weft_fabric_build(
            &network.fabric,
            &(struct weft_fabric_links){"random", SERVERS, SERVERS + SWITCHES, links, count}, arena,
            &error) ||
        !weft_routes_build_shortest(&network.routes, &network.fabric, arena, scratch_kept,
                                    &error)) {
        fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
    }
}

struct played {
    uint64_t end_ps[FLOWS];
    struct weft_sim_result result;
};

static void play(struct played *played, uint64_t seed, const struct weft_packet_options *packet,
                 enum weft_sim_transport transport, struct weft_arena *arena)
{
    struct weft_rng rng;
    uint32_t from[FLOWS], to[FLOWS];
    uint64_t sizes[FLOWS], starts[FLOWS];
    uint64_t now_ps = 0;
    struct weft_error error;
    weft_rng_init(&rng, seed + 1000);
    for (uint32_t i = 0; i < FLOWS; i++) {
        now_ps += weft_rng_below(&rng, 20000000);
        from[i] = weft_rng_below(&rng, SERVERS);
        to[i] = weft_rng_below(&rng, 3) == 0 ? 0 : weft_rng_below(&rng, SERVERS); // many to one
        sizes[i] = 1 + weft_rng_below(&rng, 300000);
        starts[i] = now_ps;
    }
    struct weft_flow_list flows = {FLOWS, from, to, sizes, starts};
    struct weft_sim_options options = {.packet_bytes = 1500,
                                       .header_bytes = 64,
                                       .seed = seed,
                                       .engine = WEFT_ENGINE_PACKET,
                                       .transport = transport,
                                       .dctcp = WEFT_DCTCP_DEFAULTS,
                                       .packet = packet};
    if (!weft_sim_run_flows(
            &played->result, played->end_ps, &network, &flows, &options,
            &(struct weft_environment){.arena = arena, .scratch = scratch_kept, .error = &error})) {
        fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
    }
}

static void random_options(struct weft_packet_options *packet, uint64_t seed)
{
    struct weft_rng rng;
    weft_rng_init(&rng, seed + 2000);
    *packet = WEFT_PACKET_DEFAULTS;
    packet->buffer_bytes = 1500 * (4 + weft_rng_below(&rng, 60));
    packet->mark_bytes = 1500 * (1 + weft_rng_below(&rng, 20));
    packet->window.initial_packets = 1 + weft_rng_below(&rng, 30);
    packet->mark_at_departure = weft_rng_below(&rng, 2) == 1;
    if (weft_rng_below(&rng, 3) == 0) {
        packet->port.marking = WEFT_MARK_RAMP;
        packet->port.mark_max_bytes = packet->mark_bytes + 1500 * (1 + weft_rng_below(&rng, 20));
        packet->port.mark_max_ratio = 0.05 + 0.9 * weft_rng_unit(&rng);
    } else if (!packet->mark_at_departure && weft_rng_below(&rng, 2) == 0) {
        packet->port.marking = WEFT_MARK_RED;
        packet->port.mark_max_bytes = packet->mark_bytes + 1500 * (1 + weft_rng_below(&rng, 20));
        packet->port.mark_max_ratio = 0.1;
        packet->port.average_weight = 0.05;
        packet->port.early_drops = weft_rng_below(&rng, 2) == 0;
    }
}

static void queues_of_one_priority_are_first_come_first_served(void **state)
{
    (void)state;
    uint64_t drops = 0;
    uint64_t marks = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct weft_arena arena = arena_kept;
        struct weft_packet_options packet;
        struct played plain, queued;
        random_options(&packet, seed);
        enum weft_sim_transport transport =
            seed % 2 == 0 ? WEFT_TRANSPORT_DCTCP : WEFT_TRANSPORT_RENO;
        build(seed, true, &arena);
        play(&plain, seed, &packet, transport, &arena);
        packet.port.queued = true;
        play(&queued, seed, &packet, transport, &arena);
        if (memcmp(plain.end_ps, queued.end_ps, sizeof plain.end_ps) != 0) {
            fail_msg("seed %llu: ends differ", (unsigned long long)seed);
        }
        for (uint32_t l = 0; l < network.fabric.link_count; l++) {
            const struct weft_port_counts *a = &plain.result.ports[l];
            const struct weft_port_counts *b = &queued.result.ports[l];
            if (a->drops != b->drops || a->marks != b->marks ||
                a->backlog_max_bytes != b->backlog_max_bytes ||
                plain.result.link_bytes[l] != queued.result.link_bytes[l]) {
                fail_msg("seed %llu: port %u differs", (unsigned long long)seed, l);
            }
        }
        drops += plain.result.packets.drops;
        marks += plain.result.packets.ecn_marks;
    }
    assert_true(drops > 1000 / TEST_SEEDS_SHARE &&
                marks > 1000 / TEST_SEEDS_SHARE); // else it was no test
}

// A head alone is enough for a switch; the instants stay the same with queues.
static void cut_through_is_the_same_with_queues_and_not_slower(void **state)
{
    (void)state;
    double sum_stored = 0;
    double sum_cut = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct weft_arena arena = arena_kept;
        struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
        struct played stored, cut, queued;
        packet.buffer_bytes = 1 << 30;
        packet.mark_bytes = 1 << 30;
        packet.window.initial_packets = 400; // nothing waits for an acknowledgement
        build(seed, true, &arena);
        play(&stored, seed, &packet, WEFT_TRANSPORT_RENO, &arena);
        packet.port.cut_through_bytes = 64;
        play(&cut, seed, &packet, WEFT_TRANSPORT_RENO, &arena);
        packet.port.queued = true;
        play(&queued, seed, &packet, WEFT_TRANSPORT_RENO, &arena);
        if (memcmp(cut.end_ps, queued.end_ps, sizeof cut.end_ps) != 0) {
            fail_msg("seed %llu: ends differ", (unsigned long long)seed);
        }
        for (uint32_t i = 0; i < FLOWS; i++) {
            sum_stored += (double)stored.end_ps[i];
            sum_cut += (double)cut.end_ps[i];
        }
    }
    assert_true(sum_cut < sum_stored);
}

static void lossless_ports_lose_nothing(void **state)
{
    (void)state;
    uint64_t pauses = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct weft_arena arena = arena_kept;
        struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
        struct played played;
        struct weft_rng rng;
        uint8_t priority[FLOWS];
        weft_rng_init(&rng, seed + 3000);
        packet.port.priority_count = 1 + weft_rng_below(&rng, 4);
        for (uint32_t i = 0; i < FLOWS; i++) {
            priority[i] = (uint8_t)weft_rng_below(&rng, packet.port.priority_count);
        }
        packet.port.priority = priority;
        packet.port.control_first = weft_rng_below(&rng, 2) == 1;
        packet.port.cut_through_bytes = weft_rng_below(&rng, 2) == 1 ? 64 : 0;
        packet.port.lossless = true;
        packet.port.xoff_bytes = 1500 * (1 + weft_rng_below(&rng, 8));
        packet.port.xon_bytes = packet.port.xoff_bytes / 2;
        packet.window.initial_packets = 200;
        packet.loss.timeout_min_ps = WEFT_PS_PER_S;
        packet.loss.timeout_first_ps = WEFT_PS_PER_S;
        build(seed, false, &arena);
        play(&played, seed, &packet, WEFT_TRANSPORT_RENO, &arena);
        const struct weft_packet_counts *counts = &played.result.packets;
        if (counts->drops != 0 || counts->retransmits != 0 ||
            played.result.end_ps > WEFT_PS_PER_S) {
            fail_msg("seed %llu: %llu drops, %llu sent again", (unsigned long long)seed,
                     (unsigned long long)counts->drops, (unsigned long long)counts->retransmits);
        }
        uint64_t ports = 0;
        for (uint32_t l = 0; l < network.fabric.link_count; l++) {
            ports += played.result.ports[l].pauses;
        }
        assert_int_equal(ports, counts->pauses);
        pauses += counts->pauses;
    }
    assert_true(pauses > 1000 / TEST_SEEDS_SHARE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queues_of_one_priority_are_first_come_first_served),
        cmocka_unit_test(cut_through_is_the_same_with_queues_and_not_slower),
        cmocka_unit_test(lossless_ports_lose_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
