// SPDX-License-Identifier: Apache-2.0
// Ports with priorities, pauses, ramps and cut-through against their closed forms.
//
// Mutations that made these tests fail (each was run): a switch that sends on before a faster link
// can go through; heads that wait for their tails; the less urgent first; a pause without effect; a
// ramp that begins at 0; an average that is the last backlog.

#include "../arenas.h"
#include "weft/sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define RATE_BPS 1e9
#define LATENCY_PS 1000000u
#define PACKET_BYTES 1500u
#define HEADER_BYTES 100u
#define PACKET_PS 1500000u // at RATE_BPS
#define FLOWS_MAX 16u

static struct weft_network network;

struct flows {
    uint32_t count;
    uint32_t from[FLOWS_MAX];
    uint32_t to[FLOWS_MAX];
    uint64_t packets[FLOWS_MAX]; // each
    uint64_t end_ps[FLOWS_MAX];
    struct weft_sim_result result;
    struct weft_error error;
};

// Everything may be in flight at once, and nothing is lost or marked.
static struct weft_packet_options ample(void)
{
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    packet.window.initial_packets = 8192;
    packet.buffer_bytes = 1 << 30;
    packet.mark_bytes = 1 << 30;
    packet.loss.timeout_first_ps = WEFT_PS_PER_S;
    packet.loss.timeout_min_ps = WEFT_PS_PER_S;
    return packet;
}

// Plays on `network`.
static bool play(struct flows *flows, const struct weft_packet_options *packet,
                 struct weft_arena *arena)
{
    uint64_t sizes[FLOWS_MAX];
    uint64_t starts[FLOWS_MAX] = {0};
    for (uint32_t i = 0; i < flows->count; i++) {
        sizes[i] = flows->packets[i] * (PACKET_BYTES - HEADER_BYTES);
    }
    struct weft_flow_list list = {flows->count, flows->from, flows->to, sizes, starts};
    struct weft_sim_options options = {.packet_bytes = PACKET_BYTES,
                                       .header_bytes = HEADER_BYTES,
                                       .engine = WEFT_ENGINE_PACKET,
                                       .transport = WEFT_TRANSPORT_RENO,
                                       .dctcp = WEFT_DCTCP_DEFAULTS,
                                       .packet = packet};
    return weft_sim_run_flows(&flows->result, flows->end_ps, &network, &list, &options,
                              &(struct weft_environment){
                                  .arena = arena, .scratch = scratch_kept, .error = &flows->error});
}

static void must(bool played, const struct flows *flows)
{
    if (!played) {
        fail_msg("%s", flows->error.message);
    }
}

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

// Server 0, two switches, server 1; both ways alike.
static void build_chain(const double *rates_Bps, struct weft_arena *arena)
{
    const uint32_t nodes[] = {0, 2, 3, 1};
    struct weft_link links[6];
    struct weft_error error;
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t a = nodes[i / 2];
        uint32_t b = nodes[i / 2 + 1];
        links[i] = (struct weft_link){.from = i % 2 == 0 ? a : b,
                                      .to = i % 2 == 0 ? b : a,
                                      .rate_Bps = rates_Bps[i / 2],
                                      .latency_ps = LATENCY_PS,
                                      .width = 1};
    }
    if (!weft_fabric_build(&network.fabric, &(struct weft_fabric_links){"chain", 2, 4, links, 6},
                           arena, &error) ||
        !weft_routes_build_shortest(&network.routes, &network.fabric, arena, scratch_kept,
                                    &error)) {
        fail_msg("%s", error.message);
    }
}

// ---- cut-through ----

// The head is at the next switch when it has passed a link; a faster link waits until the packet
// does not run out on it.
static void cut_through_takes_its_closed_form(void **state)
{
    (void)state;
    static const struct {
        double rates_Bps[3];
        uint64_t lone_ps; // of one packet, without latencies
    } cases[] = {
        {{1e9, 1e9, 1e9}, 1500000 + 2 * 100000},
        {{1e9, 0.5e9, 1e9}, 100000 + 3000000}, // the last link ends with the second
        {{1e9, 2e9, 2e9}, 1500000 + 50000},    // the second ends with the first
        {{2e9, 1e9, 0.5e9}, 50000 + 100000 + 3000000},
        {{0.5e9, 1e9, 2e9}, 3000000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (uint32_t queued = 0; queued < 2; queued++) {
            struct weft_arena arena = arena_kept;
            struct flows flows = {.count = 1, .from = {0}, .to = {1}, .packets = {1}};
            struct weft_packet_options packet = ample();
            packet.port.cut_through_bytes = HEADER_BYTES;
            packet.port.queued = queued == 1;
            build_chain(cases[i].rates_Bps, &arena);
            must(play(&flows, &packet, &arena), &flows);
            assert_int_equal(flows.result.end_ps, cases[i].lone_ps + 3 * LATENCY_PS);
            // A train is as much longer as its packets take on the slowest link.
            flows.packets[0] = 100;
            must(play(&flows, &packet, &arena), &flows);
            double slowest_Bps =
                fmin(fmin(cases[i].rates_Bps[0], cases[i].rates_Bps[1]), cases[i].rates_Bps[2]);
            uint64_t more_ps = (uint64_t)(99 * PACKET_BYTES / slowest_Bps * 1e12 + 0.5);
            assert_int_equal(flows.result.end_ps, cases[i].lone_ps + more_ps + 3 * LATENCY_PS);
        }
    }
}

// ---- priorities ----

static void the_urgent_go_first(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct flows flows = {.count = 2, .from = {0, 1}, .to = {2, 2}, .packets = {100, 50}};
    const uint8_t priority[] = {1, 0};
    struct weft_packet_options packet = ample();
    packet.port.priority_count = 2;
    packet.port.priority = priority;
    build_star(3, &arena);
    must(play(&flows, &packet, &arena), &flows);
    // The first packets come at once; the less urgent one is ahead and is not broken off.
    uint64_t begins_ps = PACKET_PS + 2 * LATENCY_PS;
    assert_int_equal(flows.end_ps[1], begins_ps + 51ull * PACKET_PS);
    assert_int_equal(flows.end_ps[0], begins_ps + 150ull * PACKET_PS);
    // Alike, they share.
    packet.port.priority = NULL;
    must(play(&flows, &packet, &arena), &flows);
    assert_in_range(flows.end_ps[1], begins_ps + 99ull * PACKET_PS, begins_ps + 101ull * PACKET_PS);
}

// Acknowledgements of one flow behind all the data of another, unless they go first.
static void acknowledgements_may_go_first(void **state)
{
    (void)state;
    uint64_t end_ps[2];
    for (uint32_t first = 0; first < 2; first++) {
        struct weft_arena arena = arena_kept;
        struct flows flows = {.count = 2, .from = {0, 1}, .to = {1, 0}, .packets = {400, 400}};
        struct weft_packet_options packet = ample();
        packet.window.initial_packets = 30;
        packet.window.slow_start = false;
        packet.own_at_once = true;
        packet.port.control_first = first == 1;
        build_star(2, &arena);
        must(play(&flows, &packet, &arena), &flows);
        end_ps[first] = flows.result.end_ps;
    }
    assert_true(end_ps[1] < end_ps[0]);
}

// ---- pauses ----

static void pauses_hold_back_without_loss(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct flows flows = {
        .count = 3, .from = {0, 1, 2}, .to = {3, 3, 3}, .packets = {200, 200, 200}};
    struct weft_packet_options packet = ample();
    packet.port.lossless = true;
    packet.port.xoff_bytes = 10 * PACKET_BYTES;
    packet.port.xon_bytes = 8 * PACKET_BYTES;
    build_star(4, &arena);
    must(play(&flows, &packet, &arena), &flows);
    assert_int_equal(flows.result.end_ps, 601ull * PACKET_PS + 2 * LATENCY_PS);
    assert_int_equal(flows.result.packets.drops, 0);
    assert_true(flows.result.packets.pauses > 10);
    uint64_t paused_ps = 0;
    for (uint32_t l = 0; l < network.fabric.link_count; l++) {
        const struct weft_port_counts *port = &flows.result.ports[l];
        bool to_switch = network.fabric.links[l].to == 4;
        assert_true(to_switch || port->pauses == 0);
        paused_ps += port->paused_ps;
        // 10 packets, one more to notice, and what comes until the pause is there.
        assert_true(to_switch || port->backlog_max_bytes <= 3 * (10 + 1 + 4) * PACKET_BYTES);
    }
    // Each sender sends a third of the time.
    assert_true((double)paused_ps > 1.5 * (double)flows.result.end_ps);
    // Without room for what is on its way, packets are lost.
    packet.port.headroom_bytes = 1;
    packet.loss.timeout_first_ps = WEFT_PS_PER_S / 1000;
    packet.loss.timeout_min_ps = WEFT_PS_PER_S / 1000;
    must(play(&flows, &packet, &arena), &flows);
    assert_true(flows.result.packets.drops > 0);
}

// All send two servers on, clockwise, what their windows allow at once, so that what they relay
// waits: each link waits for the next.
static void a_circle_of_pauses_is_named(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    const uint32_t count = 5;
    struct weft_link links[5];
    uint32_t first[6], nodes[15];
    struct weft_error error;
    struct flows flows = {.count = count};
    for (uint32_t i = 0; i < count; i++) {
        links[i] = (struct weft_link){i, (i + 1) % count, RATE_BPS, LATENCY_PS, 1};
        first[i] = 3 * i;
        nodes[3 * i] = i;
        nodes[3 * i + 1] = (i + 1) % count;
        nodes[3 * i + 2] = (i + 2) % count;
        flows.from[i] = i;
        flows.to[i] = (i + 2) % count;
        flows.packets[i] = 2000;
    }
    first[count] = 3 * count;
    if (!weft_fabric_build(&network.fabric,
                           &(struct weft_fabric_links){"circle", count, count, links, count},
                           &arena, &error) ||
        !weft_routes_build_table(&network.routes, &network.fabric,
                                 &(struct weft_route_table){count, first, nodes, NULL, true},
                                 &arena, scratch_kept, &error)) {
        fail_msg("%s", error.message);
    }
    struct weft_packet_options packet = ample();
    packet.own_at_once = true;
    packet.loss.timeout_first_ps = WEFT_PS_PER_S / 100;
    packet.loss.timeout_min_ps = WEFT_PS_PER_S / 100;
    must(play(&flows, &packet, &arena), &flows); // ports that may hold all of it
    packet.port.lossless = true;
    packet.port.xoff_bytes = 3 * PACKET_BYTES;
    packet.port.xon_bytes = PACKET_BYTES;
    assert_false(play(&flows, &packet, &arena));
    assert_int_equal(flows.error.code, WEFT_INFEASIBLE);
    assert_non_null(strstr(flows.error.message, "5 lossless ports wait for each other"));
    assert_non_null(strstr(flows.error.message, "server 0 > server 1 > server 2 > server 3"));
    assert_null(strchr(flows.error.message, '\n'));
    // Room for what each link brings: no circle.
    packet.port.xoff_bytes = 2001 * PACKET_BYTES;
    must(play(&flows, &packet, &arena), &flows);
}

// ---- marks ----

// Two senders fill a port: packets of a pair find i and i + 1 packets there.
static void a_ramp_marks_its_share(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    const uint32_t count = 4000;
    struct flows flows = {.count = 2, .from = {0, 1}, .to = {2, 2}, .packets = {count, count}};
    struct weft_packet_options packet = ample();
    packet.mark_bytes = 1000 * PACKET_BYTES;
    packet.port.marking = WEFT_MARK_RAMP;
    packet.port.mark_max_bytes = 3000 * PACKET_BYTES;
    packet.port.mark_max_ratio = 0.2;
    build_star(3, &arena);
    must(play(&flows, &packet, &arena), &flows);
    double expected = 0;
    double variance = 0;
    for (uint32_t i = 0; i < 2 * count; i++) {
        double found = (double)(i / 2 + i % 2);
        double ratio = fmin(fmax(0, 0.2 * (found - 1000) / 2000), 1);
        ratio = found > 3000 ? 1 : ratio;
        expected += ratio;
        variance += ratio * (1 - ratio);
    }
    double marks = (double)flows.result.packets.ecn_marks;
    assert_true(fabs(marks - expected) < 4 * sqrt(variance));
    assert_true(marks != round(expected)); // by chance, not by count
}

// Floyd and Jacobson: a burst passes unmarked, a queue that stays is marked evenly, at between p
// and 2p of its packets.
static void red_marks_what_stays(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct flows flows = {.count = 2, .from = {0, 1}, .to = {2, 2}, .packets = {30, 30}};
    struct weft_packet_options packet = ample();
    packet.mark_bytes = 5 * PACKET_BYTES;
    packet.port.marking = WEFT_MARK_RED;
    packet.port.mark_max_bytes = 10 * PACKET_BYTES;
    packet.port.mark_max_ratio = 1;
    packet.port.average_weight = 0.002;
    build_star(3, &arena);
    must(play(&flows, &packet, &arena), &flows);
    assert_int_equal(flows.result.packets.ecn_marks, 0);
    packet.port.mark_max_bytes = 5000 * PACKET_BYTES;
    packet.port.mark_max_ratio = 0.02;
    flows.packets[0] = 4000;
    flows.packets[1] = 4000;
    must(play(&flows, &packet, &arena), &flows);
    // The average follows the backlog, i / 2, at a distance of 1 / weight packets.
    double expected = 0;
    double average = 0;
    for (uint32_t i = 0; i < 8000; i++) {
        average += 0.002 * ((double)(i / 2 + i % 2) - average);
        expected += average > 5 ? 0.02 * (average - 5) / 4995 : 0;
    }
    double marks = (double)flows.result.packets.ecn_marks;
    assert_true(marks > 1.3 * expected && marks < 2.7 * expected);
    packet.port.early_drops = true;
    must(play(&flows, &packet, &arena), &flows);
    assert_true(flows.result.packets.drops > 0);
    assert_int_equal(flows.result.packets.ecn_marks, 0);
}

// ---- options ----

static void options_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const uint8_t wrong[] = {3};
    static const struct {
        struct weft_port_options port;
        bool at_departure;
        const char *says;
    } cases[] = {
        {{.priority_count = 8, .control_first = true}, false, "at most 7"},
        {{.priority_count = 9}, false, "at most 8"},
        {{.by_remaining = true}, false, "acknowledgements go first"},
        {{.by_remaining = true, .priority_count = 2}, false, "their priority"},
        {{.by_remaining = true, .control_first = true}, true, "marks at departure out"},
        {{.loss_ratio = 1.1}, false, "from 0 to 1"},
        {{.loss_ratio = 0.1, .loss_link = 1 << 20}, false, "lossy link 1048576"},
        {{.priority_count = 2, .priority = wrong}, false, "priority 3 of 2"},
        {{.control_weight = 3}, false, "do not go first"},
        {{.lossless = true}, false, "above 0"},
        {{.lossless = true, .xoff_bytes = 1, .xon_bytes = 2}, false, "not larger"},
        {{.lossless = true, .xoff_bytes = 1, .trims = true}, false, "nothing to trim"},
        {{.cut_through_bytes = 64}, true, "leave marks at departure out"},
        {{.trims = true}, true, "leave marks at departure out"},
        {{.early_drops = true}, false, "choose a ramp or RED"},
        {{.marking = WEFT_MARK_RAMP, .mark_max_bytes = 5}, false, "larger end"},
        {{.marking = WEFT_MARK_RAMP, .mark_max_bytes = 1 << 30}, false, "chance of 0"},
        {{.marking = WEFT_MARK_RED, .mark_max_bytes = 1 << 30, .mark_max_ratio = 1},
         false,
         "weight 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_arena arena = arena_kept;
        struct flows flows = {.count = 1, .from = {0}, .to = {1}, .packets = {1}};
        struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
        packet.port = cases[i].port;
        packet.mark_at_departure = cases[i].at_departure;
        build_star(2, &arena);
        assert_false(play(&flows, &packet, &arena));
        assert_int_equal(flows.error.code, WEFT_INPUT);
        if (strstr(flows.error.message, cases[i].says) == NULL) {
            fail_msg("case %zu: %s", i, flows.error.message);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_through_takes_its_closed_form),
        cmocka_unit_test(the_urgent_go_first),
        cmocka_unit_test(acknowledgements_may_go_first),
        cmocka_unit_test(pauses_hold_back_without_loss),
        cmocka_unit_test(a_circle_of_pauses_is_named),
        cmocka_unit_test(a_ramp_marks_its_share),
        cmocka_unit_test(red_marks_what_stays),
        cmocka_unit_test(options_that_make_no_sense_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
