// SPDX-License-Identifier: Apache-2.0
// DCTCP with observation windows of counted acknowledgements, as the recorded simulations have
// them, against timelines worked out by hand. The links are so long that a trip takes 2 ms and all
// packets of one window less than 50 us: an iteration's trips can be counted.
//
// Mutations that made this test fail (each was run): windows that never open; windows that open
// although nothing waits for them; marks that cut nothing; a cut by all of alpha; marks by the
// servers' own queues; connections that need no trip; packets that overtake the one on the link;
// starts that wrap around the end of time.

#include "../fresh_arenas.h"
#include "weft/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define RATE_BPS 50e9 // 20 ps a byte
#define LATENCY_PS 1000000000u
#define TRIP_PS (2.0 * LATENCY_PS)
#define PACKET_BYTES 1000u
#define HEADER_BYTES 100u
#define PAYLOAD_BYTES (PACKET_BYTES - HEADER_BYTES)

static struct weft_network network; // stays where it is: its routes point to its fabric
static struct weft_sim_options options;
static struct weft_packet_options packet;

static int begin(void **state)
{
    struct weft_error error;
    if (open_arenas(state) != 0) {
        return -1;
    }
    struct weft_cluster cluster;
    struct weft_fabric_options shape = {0};
    if (!weft_cluster_build(&cluster, 4, 1, RATE_BPS, &error)) {
        return -1;
    }
    cluster.latency_ps = LATENCY_PS;
    if (!weft_fabric_build_ideal(&network, &cluster, &shape, &arena, &error)) {
        return -1;
    }
    options = (struct weft_sim_options){.packet_bytes = PACKET_BYTES,
                                        .header_bytes = HEADER_BYTES,
                                        .engine = WEFT_ENGINE_PACKET,
                                        .transport = WEFT_TRANSPORT_DCTCP,
                                        .packet = &packet,
                                        .dctcp = WEFT_DCTCP_HTSIM};
    packet = WEFT_PACKET_TOPOOPT;
    packet.window.slow_start = false;
    packet.mark_bytes = 50 * PACKET_BYTES;
    return 0;
}

// Transfers of so many packets to server 0, the i-th from server i + 1, all at once.
static double play_ps(const uint32_t *packets, uint32_t count)
{
    struct weft_task tasks[4] = {0};
    struct weft_taskgraph graph;
    struct weft_sim_result result;
    struct weft_error error;
    for (uint32_t i = 0; i < count; i++) {
        tasks[i] = (struct weft_task){.kind = WEFT_TASK_TRANSFER,
                                      .from = i + 1,
                                      .to = 0,
                                      .size_bytes = (uint64_t)packets[i] * PAYLOAD_BYTES};
    }
    if (!weft_taskgraph_build(
            &graph,
            &(struct weft_taskgraph_draft){.server_count = 4, .task_count = count, .tasks = tasks},
            &arena, scratch_kept, &error)) {
        fail_msg("%s", error.message);
    }
    struct weft_sim_job job = {.graph = &graph};
    if (!weft_sim_run_jobs(&result, &network, &job, 1, &options,
                           &(struct weft_environment){
                               .arena = &arena, .scratch = scratch_kept, .error = &error})) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(result.flow_count, count);
    return (double)result.iteration_ps[0];
}

// Trips of one message, its connection's included.
static uint32_t trips_of(uint32_t packets)
{
    double trips = play_ps(&packets, 1) / TRIP_PS;
    uint32_t whole = (uint32_t)trips;
    assert_true(trips - whole < 0.025); // 50 us
    return whole;
}

// A window of one packet is two when the connection stands, then grows by 1/window a packet:
// 2, 2.5, 2.9, 3.2 and 3.6 after each, so that 2, 4, 7 packets have arrived after 2, 3, 4 trips.
static void a_window_opens_by_one_packet_a_turn(void **state)
{
    (void)state;
    packet.window.initial_packets = 1;
    assert_int_equal(trips_of(2), 2);
    assert_int_equal(trips_of(3), 3);
    assert_int_equal(trips_of(4), 3);
    assert_int_equal(trips_of(5), 4);
    assert_int_equal(trips_of(7), 4);
    assert_int_equal(trips_of(8), 5);
}

// Four packets leave; every packet is marked and counts in full. The cuts leave windows of 2.13
// after the first arrival, 1.32 after the fourth and 1.10 after the sixth, so that packet 5 leaves
// in the second trip, 6 and 7 in the third, 8 in the fourth. Without marks 8 go in two.
static void marks_cut_the_window(void **state)
{
    (void)state;
    packet.window.initial_packets = 4;
    packet.mark_bytes = 1000 * PACKET_BYTES;
    options.dctcp.gain = 1;
    assert_int_equal(trips_of(8), 3);
    packet.mark_bytes = 0;
    assert_int_equal(trips_of(4), 2);
    assert_int_equal(trips_of(5), 3);
    assert_int_equal(trips_of(7), 4);
    assert_int_equal(trips_of(8), 5);
}

// One message's packets follow each other at the link's rate, so they wait in the server's queue
// and the switch's holds a second one for no time: no marks above two, however many wait there.
static void the_queue_in_a_server_marks_nothing(void **state)
{
    (void)state;
    packet.window.initial_packets = 60;
    packet.mark_bytes = 2 * PACKET_BYTES;
    options.dctcp.gain = 1;
    assert_int_equal(trips_of(120), 3);
}

// Connection, store and forward, and then the receiver's port without a gap: of one message, of two
// that share it evenly, of three of which the longest takes what the others leave.
static void the_port_is_never_idle_while_windows_last(void **state)
{
    (void)state;
    const uint32_t packets[] = {50, 20, 30};
    uint32_t total = 0;
    for (uint32_t count = 1; count <= 3; count++) {
        total += packets[count - 1];
        double packet_ps = PACKET_BYTES * 20.0;
        // The headers of the connections come one after the other.
        double open_ps = TRIP_PS + 2 * HEADER_BYTES * 20.0;
        double end_ps = play_ps(packets, count);
        double expected_ps = open_ps + TRIP_PS + packet_ps * (1 + total);
        // Sure of the first; a later one may begin a header's time later, and end with it.
        assert_true(end_ps >= expected_ps - 1);
        assert_true(end_ps <= expected_ps + (count - 1) * HEADER_BYTES * 20.0 + 1);
    }
}

static void what_it_cannot_play_is_refused(void **state)
{
    (void)state;
    struct weft_taskgraph graph = {0};
    struct weft_sim_job job = {.graph = &graph};
    struct weft_sim_result result;
    struct weft_error error;
    struct weft_sim_options good = options;
    for (uint32_t i = 0; i < 4; i++) {
        options = good;
        options.packet_bytes = i == 0 ? 0 : options.packet_bytes;
        options.header_bytes = i == 0 ? 0 : options.header_bytes;
        packet.window.initial_packets = i == 1 ? 0 : 100;
        options.dctcp.gain = i == 2 ? 0 : i == 3 ? 1.5 : 1;
        assert_false(weft_sim_run_jobs(
            &result, &network, &job, 1, &options,
            &(struct weft_environment){.arena = &arena, .scratch = scratch_kept, .error = &error}));
        assert_int_equal(error.code, WEFT_INPUT);
    }
    // The flow engine has no windows.
    struct weft_flow_list flows = {0};
    good.engine = WEFT_ENGINE_FLOW;
    assert_false(weft_sim_run_jobs(
        &result, &network, &job, 1, &good,
        &(struct weft_environment){.arena = &arena, .scratch = scratch_kept, .error = &error}));
    assert_int_equal(error.code, WEFT_INPUT);
    assert_false(weft_sim_run_flows(
        &result, NULL, &network, &flows, &good,
        &(struct weft_environment){.arena = &arena, .scratch = scratch_kept, .error = &error}));
    assert_int_equal(error.code, WEFT_INPUT);
}

static void expect_refused(const struct weft_flow_list *flows, const char *words)
{
    struct weft_sim_result result;
    struct weft_error error;
    assert_false(weft_sim_run_flows(
        &result, NULL, &network, flows, &options,
        &(struct weft_environment){.arena = &arena, .scratch = scratch_kept, .error = &error}));
    assert_int_equal(error.code, WEFT_INPUT);
    if (strstr(error.message, words) == NULL) {
        fail_msg("'%s' lacks '%s'", error.message, words);
    }
    assert_null(strchr(error.message, '\n'));
}

static void flows_that_cannot_be_are_refused(void **state)
{
    (void)state;
    uint32_t from = 0, to = 1;
    uint64_t size_bytes = 5000, start_ps = 0;
    const struct weft_flow_list flow = {1, &from, &to, &size_bytes, &start_ps};
    for (unsigned bit = 62; bit <= 64; bit++) {
        start_ps = bit == 64 ? UINT64_MAX : (uint64_t)1 << bit;
        expect_refused(&flow, "simulated time");
    }
    start_ps = 0;
    size_bytes = (uint64_t)1 << 62;
    expect_refused(&flow, "split it");
    size_bytes = 5000;
    to = 4;
    expect_refused(&flow, "flow 0: server 4 does not exist");
    to = 1;
    packet.buffer_bytes = 0;
    expect_refused(&flow, "a buffer of 0 bytes");
}

static void pairs_without_a_way_are_refused(void **state)
{
    (void)state;
    struct weft_error error;
    const struct weft_link links[] = {{0, 1, RATE_BPS, 1000, 1},
                                      {1, 0, RATE_BPS, 1000, 1},
                                      {2, 3, RATE_BPS, 1000, 1},
                                      {3, 2, RATE_BPS, 1000, 1}};
    memset(&network, 0, sizeof(network));
    assert_true(weft_fabric_build(
        &network.fabric, &(struct weft_fabric_links){"pairs", 4, 4, links, 4}, &arena, &error));
    assert_false(
        weft_routes_build_shortest(&network.routes, &network.fabric, &arena, scratch_kept, &error));
    assert_int_equal(error.code, WEFT_INFEASIBLE);
    assert_non_null(strstr(error.message, "server"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_window_opens_by_one_packet_a_turn, begin, tear_down),
        cmocka_unit_test_setup_teardown(marks_cut_the_window, begin, tear_down),
        cmocka_unit_test_setup_teardown(the_queue_in_a_server_marks_nothing, begin, tear_down),
        cmocka_unit_test_setup_teardown(the_port_is_never_idle_while_windows_last, begin,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_it_cannot_play_is_refused, begin, tear_down),
        cmocka_unit_test_setup_teardown(flows_that_cannot_be_are_refused, begin, tear_down),
        cmocka_unit_test_setup_teardown(pairs_without_a_way_are_refused, begin, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
