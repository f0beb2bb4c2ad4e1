// SPDX-License-Identifier: Apache-2.0
// The packet engine where a formula gives the time, to the picosecond, and where other simulators
// have been seen to err (docs/packet-engine.md, "Peers").
//
// Mutations that made these tests fail (each was run): hosts that send all their messages at once;
// switches that store each packet twice; messages cut to 2^31 bytes; a connection for each message;
// parallel links of which one counts.

#include "weft/sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define RATE_BPS 50e9
#define PS_PER_BYTE 20u
#define LATENCY_PS 500000u
#define PACKET_BYTES 4096u
#define PACKET_PS ((uint64_t)PACKET_BYTES * PS_PER_BYTE)
#define FLOWS_MAX 4096u

static struct weft_arena arena_kept, scratch_kept;
static struct weft_network network; // stays where it is: its routes point to its fabric
static uint64_t latency_ps;
static struct weft_packet_options packet;
static struct weft_sim_options options;

// Windows and ports that never fill: what is left is serial time, stores and latency.
static int set_up(void **state)
{
    (void)state;
    struct weft_error error;
    latency_ps = LATENCY_PS;
    packet = WEFT_PACKET_DEFAULTS;
    packet.ack_at_once = true;
    packet.window.initial_packets = 1 << 20;
    packet.window.limit_packets = 1 << 20;
    packet.buffer_bytes = 1ull << 50;
    packet.mark_bytes = 1ull << 50;
    packet.loss.timeout_first_ps = WEFT_PS_PER_S;
    packet.loss.timeout_min_ps = WEFT_PS_PER_S;
    options = (struct weft_sim_options){.packet_bytes = PACKET_BYTES,
                                        .engine = WEFT_ENGINE_PACKET,
                                        .transport = WEFT_TRANSPORT_RENO,
                                        .dctcp = WEFT_DCTCP_DEFAULTS,
                                        .packet = &packet};
    return weft_arena_init(&arena_kept, 0, &error) && weft_arena_init(&scratch_kept, 0, &error)
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    (void)state;
    weft_arena_release(&arena_kept);
    weft_arena_release(&scratch_kept);
    return 0;
}

static void build(const char *name, uint32_t servers, uint32_t degree, struct weft_arena *arena)
{
    struct weft_cluster cluster;
    struct weft_error error;
    struct weft_fabric_options shape = {.port_rate_Bps = RATE_BPS,
                                        .radix = strcmp(name, "leaf-spine") == 0 ? 32 : 0};
    bool built = weft_cluster_build(&cluster, servers, degree, RATE_BPS, &error);
    cluster.latency_ps = latency_ps;
    if (!built ||
        !weft_fabric_build_named(
            &network, name, &cluster, &shape,
            &(struct weft_environment){.arena = arena, .scratch = scratch_kept, .error = &error})) {
        fail_msg("%s: %s", name, error.message);
    }
}

static struct weft_sim_result play_tasks(const struct weft_task *tasks, uint32_t count,
                                         uint32_t servers, struct weft_arena *arena)
{
    struct weft_taskgraph graph;
    struct weft_sim_result result = {0};
    struct weft_error error;
    struct weft_sim_job job = {.graph = &graph};
    if (!weft_taskgraph_build(&graph,
                              &(struct weft_taskgraph_draft){
                                  .server_count = servers, .task_count = count, .tasks = tasks},
                              arena, scratch_kept, &error) ||
        !weft_sim_run_jobs(
            &result, &network, &job, 1, &options,
            &(struct weft_environment){.arena = arena, .scratch = scratch_kept, .error = &error})) {
        fail_msg("%s", error.message);
    }
    return result;
}

static struct weft_sim_result allreduce(uint32_t servers, uint64_t size_bytes,
                                        struct weft_arena *arena)
{
    uint32_t *members = WEFT_NEW_RAW(arena, uint32_t, servers);
    for (uint32_t i = 0; i < servers; i++) {
        members[i] = i;
    }
    struct weft_task task = {.kind = WEFT_TASK_ALLREDUCE,
                             .members = members,
                             .member_count = servers,
                             .size_bytes = size_bytes};
    return play_tasks(&task, 1, servers, arena);
}

struct flows {
    uint32_t from[FLOWS_MAX];
    uint32_t to[FLOWS_MAX];
    uint64_t size_bytes[FLOWS_MAX];
    uint64_t start_ps[FLOWS_MAX];
    uint64_t end_ps[FLOWS_MAX];
    uint32_t count;
};

static void add_flow(struct flows *flows, uint32_t from, uint32_t to, uint64_t size_bytes,
                     uint64_t start_ps)
{
    assert_true(flows->count < FLOWS_MAX);
    flows->from[flows->count] = from;
    flows->to[flows->count] = to;
    flows->size_bytes[flows->count] = size_bytes;
    flows->start_ps[flows->count++] = start_ps;
}

static uint64_t play_flows(struct flows *flows, struct weft_arena arena)
{
    struct weft_flow_list list = {flows->count, flows->from, flows->to, flows->size_bytes,
                                  flows->start_ps};
    struct weft_sim_result result;
    struct weft_error error;
    if (!weft_sim_run_flows(&result, flows->end_ps, &network, &list, &options,
                            &(struct weft_environment){
                                .arena = &arena, .scratch = scratch_kept, .error = &error})) {
        fail_msg("%s", error.message);
    }
    return result.end_ps;
}

// ---- closed forms ----

// 2(n-1) rounds of S/n and a latency on a ring of links. On a switch two latencies and one packet
// stored: not the whole message, which would be 1.9 times as long.
static void rings_take_their_closed_forms(void **state)
{
    (void)state;
    static const struct {
        uint32_t servers;
        double published_us; // rounded to 0.1 us
    } cases[] = {{16, 3765}, {64, 4000.5}, {128, 4095.8}};
    for (size_t i = 0; i < 3; i++) {
        struct weft_arena arena = arena_kept;
        uint32_t n = cases[i].servers;
        uint64_t serial_ps = 100000000 / n * PS_PER_BYTE;
        build("ring", n, 2, &arena);
        uint64_t ring_ps = allreduce(n, 100000000, &arena).end_ps;
        assert_int_equal(ring_ps, 2 * (n - 1) * (serial_ps + LATENCY_PS));
        assert_true(fabs((double)ring_ps / 1e6 - cases[i].published_us) < 0.1);
        if (n <= 64) {
            build("ideal", n, 1, &arena);
            struct weft_sim_result result = allreduce(n, 100000000, &arena);
            assert_int_equal(result.end_ps, 2 * (n - 1) * (serial_ps + PACKET_PS + 2 * LATENCY_PS));
            assert_int_equal(result.flow_count, 2 * (n - 1) * n); // switches take no part
        }
    }
}

// Each server to its next, then to the one after, and so on: a port is busy with one at a time, and
// a server's own sends stand in line.
static void an_all_to_all_takes_its_closed_form(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    const uint32_t n = 64;
    build("ideal", n, 1, &arena);
    struct flows *flows = WEFT_NEW(&arena, struct flows, 1);
    for (uint32_t step = 1; step < n; step++) {
        for (uint32_t server = 0; server < n; server++) {
            add_flow(flows, server, (server + step) % n, 1000000, 0);
        }
    }
    uint64_t serial_ps = (uint64_t)(n - 1) * 1000000 * PS_PER_BYTE;
    assert_int_equal(play_flows(flows, arena), serial_ps + PACKET_PS + 2 * LATENCY_PS);
    // In whatever order, nobody sends faster than its port.
    struct flows *other = WEFT_NEW(&arena, struct flows, 1);
    for (uint32_t pair = 0; pair < n * n; pair++) {
        if (pair / n != pair % n) {
            add_flow(other, pair / n, pair % n, 1000000, 0);
        }
    }
    assert_true(play_flows(other, arena) >= serial_ps + PACKET_PS + 2 * LATENCY_PS);
}

static void permutations_take_their_closed_forms(void **state)
{
    (void)state;
    static const uint32_t server_counts[] = {128, 1024};
    for (size_t i = 0; i < 2; i++) {
        struct weft_arena arena = arena_kept;
        uint32_t n = server_counts[i];
        struct flows *flows = WEFT_NEW(&arena, struct flows, 1);
        uint64_t size_bytes = i == 0 ? 10000000 : 1000000;
        for (uint32_t server = 0; server < n; server++) {
            add_flow(flows, server, server ^ 1, size_bytes, 0);
        }
        build(i == 0 ? "ideal" : "fat-tree", n, 1, &arena);
        uint64_t end_ps = play_flows(flows, arena);
        assert_int_equal(end_ps, size_bytes * PS_PER_BYTE + PACKET_PS + 2 * LATENCY_PS);
        for (uint32_t flow = 0; flow < n; flow++) {
            assert_int_equal(flows->end_ps[flow], end_ps);
        }
    }
}

// ---- what others get wrong ----

// Steps that wait for one another take as many times one, under a real transport too.
static void steps_behind_each_other_take_their_sum(void **state)
{
    (void)state;
    const struct weft_packet_options exact = packet;
    for (int real = 0; real < 2; real++) {
        packet = real ? WEFT_PACKET_DEFAULTS : exact;
        struct weft_arena arena = arena_kept;
        build("ideal", 4, 1, &arena);
        struct weft_task tasks[20];
        uint32_t next[20];
        for (uint32_t i = 0; i < 20; i++) {
            next[i] = i + 1;
            tasks[i] = (struct weft_task){.kind = WEFT_TASK_TRANSFER,
                                          .from = i % 4,
                                          .to = (i + 1) % 4,
                                          .size_bytes = 6250000,
                                          .next = &next[i],
                                          .next_count = i < 19};
        }
        uint64_t many_ps = play_tasks(tasks, 20, 4, &arena).end_ps;
        tasks[0].next_count = 0;
        uint64_t one_ps = play_tasks(tasks, 1, 4, &arena).end_ps;
        assert_int_equal(many_ps, 20 * one_ps);
        assert_true(many_ps > 1000ull * 1000000); // no end after 1000 us
        if (!real) {
            assert_int_equal(one_ps, 6250000 * PS_PER_BYTE + PACKET_PS + 2 * LATENCY_PS);
        }
    }
}

// 400 Gbps are 50e9 bytes a second, and a message may have more than 2^31 bytes.
static void sizes_and_rates_are_what_they_say(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct weft_error error;
    double rate_Bps = 0;
    assert_true(weft_parse_rate(&rate_Bps, "400Gbps", &error));
    assert_true(rate_Bps == RATE_BPS);
    build("ideal", 2, 1, &arena);
    options.packet_bytes = 64000;
    uint64_t size_bytes = (1ull << 31) + 123456789;
    struct flows *flows = WEFT_NEW(&arena, struct flows, 1);
    add_flow(flows, 0, 1, size_bytes, 0);
    assert_int_equal(play_flows(flows, arena), (size_bytes + 64000) * PS_PER_BYTE + 2 * LATENCY_PS);
}

// Two links between a pair carry twice as much.
static void parallel_links_add_up(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct weft_error error;
    const struct weft_link links[] = {
        {.from = 0, .to = 1, .rate_Bps = RATE_BPS, .latency_ps = LATENCY_PS, .width = 1},
        {.from = 0, .to = 1, .rate_Bps = RATE_BPS, .latency_ps = LATENCY_PS, .width = 1},
        {.from = 1, .to = 0, .rate_Bps = RATE_BPS, .latency_ps = LATENCY_PS, .width = 1},
    };
    memset(&network, 0, sizeof(network));
    if (!weft_fabric_build(&network.fabric, &(struct weft_fabric_links){"pair", 2, 2, links, 3},
                           &arena, &error) ||
        !weft_routes_build_shortest(&network.routes, &network.fabric, &arena, scratch_kept,
                                    &error)) {
        fail_msg("%s", error.message);
    }
    struct flows *flows = WEFT_NEW(&arena, struct flows, 1);
    add_flow(flows, 0, 1, 1000000, 0);
    add_flow(flows, 1, 0, 1000000, 0);
    play_flows(flows, arena);
    assert_int_equal(flows->end_ps[0], 1000000 * PS_PER_BYTE / 2 + LATENCY_PS);
    assert_int_equal(flows->end_ps[1], 1000000 * PS_PER_BYTE + LATENCY_PS);
}

// Arrivals slow down what runs already: both share the port until one has sent all.
static void arrivals_slow_what_runs(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    build("ideal", 3, 1, &arena);
    struct flows *flows = WEFT_NEW(&arena, struct flows, 1);
    const uint64_t size_bytes = 1000ull * PACKET_BYTES;
    add_flow(flows, 0, 2, size_bytes, 0);
    add_flow(flows, 1, 2, size_bytes, 500 * PACKET_PS);
    uint64_t end_ps = play_flows(flows, arena);
    assert_int_equal(end_ps, 2001 * PACKET_PS + 2 * LATENCY_PS);
    uint64_t alone_ps = 1001 * PACKET_PS + 2 * LATENCY_PS;
    // 500 packets alone, 500 in turn with the other's.
    assert_true(flows->end_ps[0] >= alone_ps + 499 * PACKET_PS);
    assert_true(flows->end_ps[0] <= alone_ps + 501 * PACKET_PS);
}

// A real transport: acknowledgements through the network, 64 bytes of header, windows from 10 on.
static void transports_come_near_the_closed_forms(void **state)
{
    (void)state;
    static const enum weft_sim_transport transports[] = {WEFT_TRANSPORT_DCTCP, WEFT_TRANSPORT_RENO};
    for (size_t i = 0; i < 2; i++) {
        struct weft_arena arena = arena_kept;
        packet = WEFT_PACKET_DEFAULTS;
        options.packet_bytes = PACKET_BYTES + 64;
        options.header_bytes = 64;
        options.transport = transports[i];
        build("ideal", 16, 1, &arena);
        double bound_us = 3750 * (PACKET_BYTES + 64.0) / PACKET_BYTES;
        double ring_us = (double)allreduce(16, 100000000, &arena).end_ps / 1e6;
        assert_true(ring_us > bound_us);
        assert_true(ring_us < 1.1 * bound_us);
    }
}

// ASTRA-sim over htsim's TCP on two tiers of switches, 1 us a link: 4063 and 4610 us. Its first
// window is not recorded; 400 packets is the one free value of both rows.
static void rings_over_tcp_take_what_htsim_says(void **state)
{
    (void)state;
    static const struct {
        uint32_t servers;
        double htsim_us;
    } cases[] = {{16, 4063}, {64, 4610}};
    for (size_t i = 0; i < 2; i++) {
        struct weft_arena arena = arena_kept;
        packet = WEFT_PACKET_DEFAULTS;
        packet.window.initial_packets = 400;
        packet.own_at_once = true; // its TCP sends windows into one queue of the host
        packet.buffer_bytes = 4000000;
        options.packet_bytes = PACKET_BYTES + 64;
        options.header_bytes = 64;
        latency_ps = 1000000;
        build("leaf-spine", cases[i].servers, 1, &arena);
        double ring_us = (double)allreduce(cases[i].servers, 100000000, &arena).end_ps / 1e6;
        assert_true(fabs(ring_us / cases[i].htsim_us - 1) < 0.03);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rings_take_their_closed_forms),
        TEST(an_all_to_all_takes_its_closed_form),
        TEST(permutations_take_their_closed_forms),
        TEST(steps_behind_each_other_take_their_sum),
        TEST(sizes_and_rates_are_what_they_say),
        TEST(parallel_links_add_up),
        TEST(arrivals_slow_what_runs),
        TEST(transports_come_near_the_closed_forms),
        TEST(rings_over_tcp_take_what_htsim_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
