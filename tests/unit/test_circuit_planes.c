// SPDX-License-Identifier: Apache-2.0
// Planes of optical switches in both engines, against times by hand: changes that overlap, the four
// delays, circuits of several planes between two servers, policies that are asked by events, and a
// packet fabric beside the circuits. The flow engine is exact; packets may add what a window and a
// few headers take.
//
// Mutations that made these tests fail: links that go dark anew with every answer; a command that
// takes effect at once; no wait of the first packet; links of two circuits that go dark with one;
// no event at the end of a pair's messages; a share that is not split; a dark time that does not
// wait for packets; messages that go back to circuits.

#include "weft/sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SERVERS 10u
#define RATE_BPS 1e9 // a kilobyte in a microsecond
#define LATENCY_PS 10000u
#define US 1000000u // picoseconds
#define FLOWS_MAX 8u
#define PACKET_BYTES 1000u
#define HEADER_BYTES 40u

static struct weft_arena whole;
static struct weft_arena scratch;
static struct weft_network direct; // circuits alone
static struct weft_network beside; // and one switch

static void build_network(struct weft_network *network, bool has_switch)
{
    struct weft_error error;
    struct weft_link links[SERVERS * (SERVERS + 1)];
    uint32_t count = 0;
    for (uint32_t from = 0; from < SERVERS; from++) {
        for (uint32_t to = 0; to < SERVERS; to++) {
            if (from != to) {
                links[count++] = (struct weft_link){from, to, RATE_BPS, LATENCY_PS, 1};
            }
        }
        if (has_switch) {
            links[count++] = (struct weft_link){from, SERVERS, RATE_BPS, LATENCY_PS, 1};
            links[count++] = (struct weft_link){SERVERS, from, RATE_BPS, LATENCY_PS, 1};
        }
    }
    const struct weft_fabric_links input = {"circuits", SERVERS, SERVERS + has_switch, links,
                                            count};
    assert_true(weft_fabric_build(&network->fabric, &input, &whole, &error));
    assert_true(
        weft_routes_build_shortest(&network->routes, &network->fabric, &whole, scratch, &error));
}

static int build(void **state)
{
    (void)state;
    struct weft_error error;
    assert_true(weft_arena_init(&whole, 0, &error) && weft_arena_init(&scratch, 0, &error));
    build_network(&direct, false);
    build_network(&beside, true);
    return 0;
}

static int release(void **state)
{
    (void)state;
    weft_arena_release(&whole);
    weft_arena_release(&scratch);
    return 0;
}

// ---- runs ----

struct flow {
    uint32_t from;
    uint32_t to;
    uint64_t wire_bytes; // headers included
    uint64_t start_ps;
    double end_us; // expected
};

struct run {
    const struct weft_network *network;
    struct weft_plane_setting setting;
    const struct weft_circuit_schedule *schedule; // instead of a setting
    struct weft_error error;
    struct weft_sim_result result;
    uint64_t end_ps[FLOWS_MAX];
};

static bool play(struct run *run, enum weft_sim_engine engine, const struct flow *flows,
                 uint32_t count)
{
    uint32_t from[FLOWS_MAX], to[FLOWS_MAX];
    uint64_t size_bytes[FLOWS_MAX], start_ps[FLOWS_MAX];
    struct weft_arena arena = whole;
    bool packets = engine == WEFT_ENGINE_PACKET;
    for (uint32_t i = 0; i < count; i++) {
        from[i] = flows[i].from;
        to[i] = flows[i].to;
        start_ps[i] = flows[i].start_ps;
        size_bytes[i] = flows[i].wire_bytes / PACKET_BYTES * (PACKET_BYTES - HEADER_BYTES);
    }
    const struct weft_flow_list list = {count, from, to, size_bytes, start_ps};
    struct weft_circuit_controller controller;
    const struct weft_network *network = run->network;
    bool built = run->schedule != NULL ? weft_planes_replay(&controller, run->schedule, RATE_BPS,
                                                            &network->fabric, &arena, &run->error)
                                       : weft_planes_build(&controller, &run->setting,
                                                           &network->fabric, &arena, &run->error);
    assert_true(built);
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    packet.window.initial_packets = 16;
    const struct weft_sim_options options = {.packet_bytes = PACKET_BYTES,
                                             .header_bytes = HEADER_BYTES,
                                             .engine = engine,
                                             .transport = packets ? WEFT_TRANSPORT_DCTCP
                                                                  : WEFT_TRANSPORT_IDEAL,
                                             .dctcp = WEFT_DCTCP_DEFAULTS,
                                             .packet = &packet,
                                             .circuits = &controller};
    return weft_sim_run_flows(
        &run->result, run->end_ps, network, &list, &options,
        &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &run->error});
}

// Both engines end the flows when they should; packets at most `slack_us` later, and two packets
// earlier: so many are in the port of a link that closes, and still cross it, and what the fluid
// says of stores is of one packet that is alone.
static void expect(struct run *run, const struct flow *flows, uint32_t count, double slack_us)
{
    for (uint32_t engine = 0; engine < 2; engine++) {
        if (!play(run, (enum weft_sim_engine)engine, flows, count)) {
            fail_msg("engine %u: %s", engine, run->error.message);
        }
        for (uint32_t i = 0; i < count; i++) {
            double late_us = (double)run->end_ps[i] / US - flows[i].end_us;
            bool packets = engine == WEFT_ENGINE_PACKET;
            double early_us = packets ? 2 * PACKET_BYTES / RATE_BPS * 1e6 : 0;
            if (late_us < -early_us - 2e-6 || late_us > (packets ? slack_us : 2e-6)) {
                fail_msg("engine %u, flow %u: ends at %.6f us instead of %.6f", engine, i,
                         (double)run->end_ps[i] / US, flows[i].end_us);
            }
        }
    }
}

#define LATENCY_US (LATENCY_PS / (double)US)

// ---- schedules ----

static void idle(uint32_t *peers)
{
    for (uint32_t i = 0; i < SERVERS; i++) {
        peers[i] = i;
    }
}

static void pair(uint32_t *peers, uint32_t a, uint32_t b)
{
    peers[a] = b;
    peers[b] = a;
}

// Two changes of one plane whose dark times overlap: each pair is dark for its own, and a pair
// that keeps its circuit carries all along.
static void changes_overlap_and_disturb_nobody_else(void **state)
{
    (void)state;
    uint32_t first[SERVERS], second[SERVERS], third[SERVERS];
    idle(first);
    pair(first, 0, 1);
    pair(first, 2, 3);
    pair(first, 4, 5);
    pair(first, 6, 7);
    pair(first, 8, 9);
    memcpy(second, first, sizeof(first));
    pair(second, 0, 2);
    pair(second, 1, 3);
    memcpy(third, second, sizeof(first));
    pair(third, 4, 6);
    pair(third, 5, 7);
    const struct weft_circuit_change changes[] = {{100 * US, 0, second}, {150 * US, 0, third}};
    const struct weft_circuit_schedule schedule = {
        SERVERS, 1, first, 2, changes, {0, 100 * US, 0, 0}, 0};
    struct run run = {.network = &direct, .schedule = &schedule};
    const struct flow flows[] = {
        {0, 2, 50000, 120 * US, 200 + 50 + LATENCY_US}, // waits for its circuit
        {4, 6, 50000, 160 * US, 250 + 50 + LATENCY_US}, // for a later one
        {1, 3, 10000, 210 * US, 210 + 10 + LATENCY_US},
        {8, 9, 100000, 230 * US, 230 + 100 + LATENCY_US},
    };
    expect(&run, flows, 4, 1);
    const struct flow steady[] = {
        {0, 1, 80000, 0, 80 + LATENCY_US},
        {8, 9, 300000, 0, 300 + LATENCY_US},
        {4, 5, 60000, 80 * US, 80 + 60 + LATENCY_US},
    };
    expect(&run, steady, 3, 1);
}

// 10 us of command, in which the old circuit carries on; 20 dark and 30 of re-training; then the
// first packet waits 5 us, when it comes.
static void each_of_the_four_delays_counts(void **state)
{
    (void)state;
    uint32_t first[SERVERS], second[SERVERS], third[SERVERS];
    idle(first);
    pair(first, 0, 1);
    idle(second);
    pair(second, 0, 2);
    idle(third);
    pair(third, 0, 1);
    const struct weft_circuit_change changes[] = {{100 * US, 0, second}, {400 * US, 0, third}};
    const struct weft_circuit_schedule schedule = {
        SERVERS, 1, first, 2, changes, {10 * US, 20 * US, 30 * US, 5 * US}, 0};
    struct run run = {.network = &direct, .schedule = &schedule};
    const struct flow flows[] = {
        // 110 us of light, then again from 460 on, and 5 us of wait.
        {0, 1, 130000, 0, 465 + 20 + LATENCY_US},
        // Lit at 160, but first used at 300.
        {0, 2, 20000, 300 * US, 305 + 20 + LATENCY_US},
        {0, 2, 20000, 350 * US, 350 + 20 + LATENCY_US},
    };
    expect(&run, flows, 3, 2);
}

// Two planes join the pair: it loses half while one of them turns away, and gets it back after the
// dark time, never cut off. The other plane then moves at a time of its own.
static void parallel_circuits_are_never_cut_off(void **state)
{
    (void)state;
    uint32_t first[2 * SERVERS], away[SERVERS], again[SERVERS];
    idle(first);
    idle(first + SERVERS);
    pair(first, 0, 1);
    pair(first + SERVERS, 0, 1);
    idle(away);
    idle(again);
    pair(away, 0, 2);
    pair(again, 0, 1);
    const struct weft_circuit_change changes[] = {{100 * US, 1, away}, {200 * US, 1, again}};
    const struct weft_circuit_schedule schedule = {
        SERVERS, 2, first, 2, changes, {0, 40 * US, 0, 0}, 0};
    struct run run = {.network = &direct, .schedule = &schedule};
    // 200 kB by 100 us, 140 more by 240, the last 60 at two circuits again.
    const struct flow flow = {0, 1, 400000, 0, 270 + LATENCY_US};
    expect(&run, &flow, 1, 4);
}

// A link gets circuits of two planes that are lit at different times: it carries one meanwhile.
static void a_link_grows_circuit_by_circuit(void **state)
{
    (void)state;
    uint32_t first[2 * SERVERS], joined[SERVERS];
    idle(first);
    idle(first + SERVERS);
    idle(joined);
    pair(joined, 0, 1);
    const struct weft_circuit_change changes[] = {{10 * US, 0, joined}, {30 * US, 1, joined}};
    const struct weft_circuit_schedule schedule = {
        SERVERS, 2, first, 2, changes, {0, 40 * US, 0, 0}, 0};
    struct run run = {.network = &direct, .schedule = &schedule};
    const struct flow flow = {0, 1, 120000, 20 * US, 50 + 20 + 50 + LATENCY_US};
    expect(&run, &flow, 1, 3);
}

// ---- policies ----

// Joins a pair when its first message waits, and parts it when all are carried.
struct on_demand {
    uint32_t peers[SERVERS];
    struct weft_circuit_change change;
    uint32_t begun_count;
    uint32_t carried_count;
};

static bool order_on_demand(void *state, struct weft_plane_orders *orders,
                            const struct weft_circuit_demand *demand, struct weft_arena arena,
                            struct weft_error *error)
{
    (void)arena;
    (void)error;
    struct on_demand *policy = state;
    for (uint32_t i = 0; i < demand->event_count; i++) {
        const struct weft_circuit_event *event = &demand->events[i];
        bool parts = event->is_carried;
        policy->peers[event->from] = parts ? event->from : event->to;
        policy->peers[event->to] = parts ? event->to : event->from;
        policy->begun_count += !parts;
        policy->carried_count += parts;
    }
    policy->change = (struct weft_circuit_change){demand->now_ps, 0, policy->peers};
    orders->changes = &policy->change;
    orders->change_count = demand->event_count > 0;
    return true;
}

static void policies_are_asked_when_demand_changes(void **state)
{
    (void)state;
    for (uint32_t engine = 0; engine < 2; engine++) {
        uint32_t first[SERVERS];
        struct on_demand policy = {.begun_count = 0};
        idle(first);
        idle(policy.peers);
        struct run run = {.network = &direct,
                          .setting = {.plane_count = 1,
                                      .first = first,
                                      .rate_Bps = RATE_BPS,
                                      .delays = {5 * US, 20 * US, 0, 0},
                                      .at_begin = true,
                                      .at_end = true,
                                      .state = &policy,
                                      .order = order_on_demand}};
        const struct flow flows[] = {
            {0, 1, 10000, 50 * US, 50 + 25 + 10 + LATENCY_US},
            {2, 3, 10000, 60 * US, 60 + 25 + 10 + LATENCY_US},
            {0, 2, 10000, 200 * US, 200 + 25 + 10 + LATENCY_US},
        };
        assert_true(play(&run, (enum weft_sim_engine)engine, flows, 3));
        for (uint32_t i = 0; i < 3; i++) {
            double late_us = (double)run.end_ps[i] / US - flows[i].end_us;
            assert_true(late_us > -2e-6 && late_us < (engine == 0 ? 2e-6 : 0.5));
        }
        assert_int_equal(policy.begun_count, 3);
        assert_true(policy.carried_count >= 2); // the run may end with the last
    }
}

// ---- beside packets ----

struct split {
    double share[SERVERS * SERVERS];
};

static bool order_split(void *state, struct weft_plane_orders *orders,
                        const struct weft_circuit_demand *demand, struct weft_arena arena,
                        struct weft_error *error)
{
    (void)demand;
    (void)arena;
    (void)error;
    struct split *split = state;
    orders->packet_share = split->share;
    return true;
}

static void what_has_no_circuit_goes_over_packets(void **state)
{
    (void)state;
    uint32_t first[SERVERS];
    struct split split = {.share[0] = 0};
    idle(first);
    pair(first, 0, 1);
    pair(first, 4, 5);
    split.share[0 * SERVERS + 1] = 0.25;
    split.share[4 * SERVERS + 5] = 1;
    struct run run = {.network = &beside,
                      .setting = {.plane_count = 1,
                                  .first = first,
                                  .rate_Bps = RATE_BPS,
                                  .state = &split,
                                  .order = order_split}};
    double store_us = PACKET_BYTES / (RATE_BPS / 1e6); // at the switch
    const struct flow flows[] = {
        {0, 1, 100000, 0, 75 + LATENCY_US},                           // 25 kB over the switch
        {2, 3, 60000, 0, 60 + store_us + 2 * LATENCY_US},             // all of it
        {4, 5, 60000, 0, 60 + store_us + 2 * LATENCY_US},             // though it has a circuit
        {6, 7, 30000, 100 * US, 130 + store_us + 2 * LATENCY_US},     // alone
        {8, 7, 30000, 200 * US, 200 + 60 + store_us + 2 * LATENCY_US} // shares the last link
        ,
        {6, 7, 30000, 200 * US, 200 + 60 + store_us + 2 * LATENCY_US},
    };
    expect(&run, flows, 6, 6);
    uint32_t uplink = weft_fabric_find_link(&beside.fabric, 0, SERVERS);
    uint32_t circuit = weft_fabric_find_link(&beside.fabric, 0, 1);
    assert_true(fabs(run.result.link_bytes[uplink] - 25000) < 2 * PACKET_BYTES);
    assert_true(fabs(run.result.link_bytes[circuit] - 75000) < 2 * PACKET_BYTES);
}

// A circuit that goes away in the middle: what is left goes on over packets, and stays there when
// the circuit comes back.
static void what_loses_its_circuit_goes_on_over_packets(void **state)
{
    (void)state;
    uint32_t first[SERVERS], away[SERVERS];
    idle(first);
    pair(first, 0, 1);
    idle(away);
    pair(away, 0, 2);
    const struct weft_circuit_change changes[] = {{50 * US, 0, away}, {60 * US, 0, first}};
    const struct weft_circuit_schedule schedule = {
        SERVERS, 1, first, 2, changes, {0, 10 * US, 0, 0}, 0};
    struct run run = {.network = &beside, .schedule = &schedule};
    double store_us = PACKET_BYTES / (RATE_BPS / 1e6);
    const struct flow flow = {0, 1, 100000, 0, 100 + store_us + 2 * LATENCY_US};
    uint32_t circuit = weft_fabric_find_link(&beside.fabric, 0, 1);
    expect(&run, &flow, 1, 2);
    assert_true(fabs(run.result.link_bytes[circuit] - 50000) <= 2 * PACKET_BYTES);
}

// A dark time shorter than what is in the port: it begins when the port and the link are empty.
static void packets_drain_before_a_port_turns(void **state)
{
    (void)state;
    uint32_t first[SERVERS], away[SERVERS];
    idle(first);
    pair(first, 0, 1);
    idle(away);
    pair(away, 0, 2);
    const struct weft_circuit_change changes[] = {{50 * US, 0, away}, {200 * US, 0, first}};
    const struct weft_circuit_schedule schedule = {
        SERVERS, 1, first, 2, changes, {0, US / 10, 0, 0}, 0};
    struct run run = {.network = &direct, .schedule = &schedule};
    const struct flow flows[] = {{0, 1, 100000, 0, 0}, {0, 2, 10000, 40 * US, 0}};
    assert_true(play(&run, WEFT_ENGINE_PACKET, flows, 2));
    double end_us = (double)run.end_ps[1] / US;
    assert_true(end_us >= 51 + 0.1 + 10 + 2 * LATENCY_US && end_us <= 52 + 0.1 + 10 + 0.1);
}

static void what_no_circuit_ever_carries_is_named(void **state)
{
    (void)state;
    uint32_t first[SERVERS];
    idle(first);
    pair(first, 0, 1);
    const struct weft_circuit_schedule schedule = {
        .node_count = SERVERS, .plane_count = 1, .first = first};
    struct run run = {.network = &direct, .schedule = &schedule};
    const struct flow flows[] = {{0, 1, 1000, 0, 0}, {2, 3, 1000, 0, 0}};
    for (uint32_t engine = 0; engine < 2; engine++) {
        assert_false(play(&run, (enum weft_sim_engine)engine, flows, 2));
        assert_int_equal(run.error.code, WEFT_INFEASIBLE);
        assert_non_null(strstr(run.error.message, "from server 2 to server 3"));
    }
}

static void bad_planes_are_refused(void **state)
{
    (void)state;
    uint32_t first[SERVERS];
    idle(first);
    first[2] = 4;
    first[3] = 4;
    struct weft_circuit_controller controller;
    struct weft_error error;
    struct weft_arena arena = whole;
    struct weft_circuit_schedule schedule = {
        .node_count = SERVERS, .plane_count = 1, .first = first};
    assert_false(
        weft_planes_replay(&controller, &schedule, RATE_BPS, &direct.fabric, &arena, &error));
    assert_string_equal(error.message,
                        "plane 0: port 3 is joined to 4, which is taken; give a permutation");
    schedule.node_count = 4;
    assert_false(
        weft_planes_replay(&controller, &schedule, RATE_BPS, &direct.fabric, &arena, &error));
    assert_int_equal(error.code, WEFT_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_overlap_and_disturb_nobody_else),
        cmocka_unit_test(each_of_the_four_delays_counts),
        cmocka_unit_test(parallel_circuits_are_never_cut_off),
        cmocka_unit_test(a_link_grows_circuit_by_circuit),
        cmocka_unit_test(policies_are_asked_when_demand_changes),
        cmocka_unit_test(what_has_no_circuit_goes_over_packets),
        cmocka_unit_test(what_loses_its_circuit_goes_on_over_packets),
        cmocka_unit_test(packets_drain_before_a_port_turns),
        cmocka_unit_test(what_no_circuit_ever_carries_is_named),
        cmocka_unit_test(bad_planes_are_refused),
    };
    return cmocka_run_group_tests_name("circuit_planes", tests, build, release);
}
