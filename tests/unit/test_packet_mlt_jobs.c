// SPDX-License-Identifier: Apache-2.0
// MLT for the messages of jobs: halves of collectives that lose nothing, budgets of a receiver,
// queues by layer, and the order of what goes again.
//
// Each test names the mutation that made it fail; each was run.

#include "../arenas.h"
#include "weft/mlt.h"
#include "weft/sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define SERVERS 4u
#define RATE_BPS 1e9
#define PACKET_BYTES 1500u
#define PAYLOAD_BYTES 1400u
#define PACKET_PS 1500000u // at RATE_BPS

static struct weft_network network;

static void build_star(void)
{
    struct weft_cluster cluster;
    struct weft_error error;
    bool built = weft_cluster_build(&cluster, SERVERS, 1, RATE_BPS, &error);
    cluster.latency_ps = 1000000;
    if (!built || !weft_fabric_build_ideal(&network, &cluster, NULL, &arena_kept, &error)) {
        fail_msg("%s", error.message);
    }
}

// Ports that lose nothing of their own accord.
static struct weft_packet_options ample_ports(double loss_bound)
{
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    packet.port.control_first = true;
    packet.port.loss_link = WEFT_NONE;
    packet.buffer_bytes = 1 << 30;
    packet.mark_bytes = 1 << 30;
    packet.mlt.loss_bound = loss_bound;
    return packet;
}

static struct weft_sim_options options_with(const struct weft_packet_options *packet)
{
    return (struct weft_sim_options){.packet_bytes = PACKET_BYTES,
                                     .header_bytes = PACKET_BYTES - PAYLOAD_BYTES,
                                     .seed = 3,
                                     .engine = WEFT_ENGINE_PACKET,
                                     .transport = WEFT_TRANSPORT_MLT,
                                     .timeline = true,
                                     .records = {.flow_limit = 64},
                                     .packet = packet};
}

static void play_job(struct weft_sim_result *result, const struct weft_task *tasks, uint32_t count,
                     const struct weft_packet_options *packet)
{
    struct weft_taskgraph graph;
    struct weft_error error;
    const struct weft_taskgraph_draft draft = {
        .server_count = SERVERS, .task_count = count, .tasks = tasks};
    const struct weft_sim_job job = {.graph = &graph};
    const struct weft_sim_options options = options_with(packet);
    const struct weft_environment environment = {
        .arena = &arena_kept, .scratch = scratch_kept, .error = &error};
    if (!weft_taskgraph_build(&graph, &draft, &arena_kept, scratch_kept, &error) ||
        !weft_sim_run_jobs(result, &network, &job, 1, &options, &environment)) {
        fail_msg("%s", error.message);
    }
}

// Messages of 1,000 packets of which a fifth may be missing: those of a reduce-scatter end with the
// 800th, those of an all-gather have all, and an AllReduce is half of each. So it is over links
// that lose one packet in 100. Mutations: all halves may lose; none; the first half is the
// protected one (which the middle of the AllReduce tells).
static void what_is_gathered_loses_nothing(void **state)
{
    (void)state;
    static const uint32_t members[] = {0, 1, 2, 3};
    static const struct {
        enum weft_task_kind kind;
        double delivered;
        double least;
    } rows[] = {{WEFT_TASK_REDUCE_SCATTER, 0.8, 0.8},
                {WEFT_TASK_ALL_GATHER, 1, 1},
                {WEFT_TASK_ALLREDUCE, 0.9, 0.8}};
    build_star();
    for (uint32_t i = 0; i < 6; i++) {
        struct weft_packet_options packet = ample_ports(0.2);
        packet.port.loss_ratio = i < 3 ? 0 : 0.01;
        const struct weft_task task = {.kind = rows[i % 3].kind,
                                       .members = members,
                                       .member_count = SERVERS,
                                       .size_bytes = SERVERS * 1000 * PAYLOAD_BYTES};
        struct weft_sim_result result;
        play_job(&result, &task, 1, &packet);
        double delivered = result.packets.delivered.bytes / result.packets.delivered.of_bytes;
        assert_true(fabs(delivered - rows[i % 3].delivered) < 1e-9);
        assert_true(fabs(result.packets.delivered.min_ratio - rows[i % 3].least) < 1e-9);
        // Three rounds of four messages that may lose come before three that may not.
        for (uint32_t m = 0; i == 2 && m < result.records.flow_count; m++) {
            const struct weft_flow_record *flow = &result.records.flows[m];
            double packets = (double)(flow->end_ps - flow->start_ps) / PACKET_PS;
            assert_true(fabs(packets - (m < 12 ? 800 : 1000)) < 25);
        }
    }
}

// Three messages of 100 packets to each of two servers; half of a message may be missing, a tenth
// of what a server receives. The first to come takes all that its server may miss and ends with 70
// packets, the others have every packet. Mutations: budgets are all servers'; a budget is not
// spent; it counts the first message alone.
static void a_receiver_misses_no_more_than_its_budget(void **state)
{
    (void)state;
    enum { FLOWS = 6 };
    static const uint32_t from[FLOWS] = {1, 2, 3, 0, 2, 3};
    static const uint32_t to[FLOWS] = {0, 0, 0, 1, 1, 1};
    const uint64_t bytes = 100 * PAYLOAD_BYTES;
    const uint64_t sizes[FLOWS] = {bytes, bytes, bytes, bytes, bytes, bytes};
    const uint64_t starts[FLOWS] = {0};
    const struct weft_flow_list list = {FLOWS, from, to, sizes, starts};
    struct weft_sim_result result;
    uint64_t ends[FLOWS];
    struct weft_error error;
    build_star();
    for (uint32_t i = 0; i < 2; i++) {
        struct weft_packet_options packet = ample_ports(0.5);
        packet.mlt.budget_ratio = i == 0 ? 0.1 : 1;
        const struct weft_sim_options options = options_with(&packet);
        const struct weft_environment environment = {
            .arena = &arena_kept, .scratch = scratch_kept, .error = &error};
        if (!weft_sim_run_flows(&result, ends, &network, &list, &options, &environment)) {
            fail_msg("%s", error.message);
        }
        double delivered = result.packets.delivered.bytes / result.packets.delivered.of_bytes;
        // 30 packets of 300 for each server, or half of everything.
        assert_true(fabs(delivered - (i == 0 ? 0.9 : 0.5)) < 1e-9);
        assert_true(fabs(result.packets.delivered.min_ratio - (i == 0 ? 0.7 : 0.5)) < 1e-9);
    }
}

// Two transfers to one server, 400 packets and 40, begin together. With queues by layer the one
// that is last in the order of the job is of the front layer and passes the other, whichever that
// is; without, they share the port. Mutations: the first of the job is of the front layer; layers
// choose no queue.
static void the_last_transfers_of_a_job_go_first(void **state)
{
    (void)state;
    build_star();
    for (uint32_t i = 0; i < 4; i++) {
        bool by_layer = i % 2 == 1;
        uint32_t small = i / 2; // its place in the order
        struct weft_packet_options packet = ample_ports(0);
        packet.mlt.queue_count = by_layer ? 2 : 0;
        packet.port.priority_count = packet.mlt.queue_count;
        struct weft_task tasks[2] = {
            {.kind = WEFT_TASK_TRANSFER, .from = 1, .to = 0, .size_bytes = 400 * PAYLOAD_BYTES},
            {.kind = WEFT_TASK_TRANSFER, .from = 2, .to = 0, .size_bytes = 400 * PAYLOAD_BYTES}};
        tasks[small].size_bytes = 40 * PAYLOAD_BYTES;
        struct weft_sim_result result;
        play_job(&result, tasks, 2, &packet);
        double packets = (double)result.task_end_ps[0][small] / PACKET_PS;
        if (!by_layer) {
            assert_true(packets > 75 && packets < 90);
        } else if (small == 1) {
            assert_true(packets < 48);
        } else {
            assert_true(packets > 400);
        }
    }
}

// All 100 segments of a first pass are missing; then important ones go first, in either class as
// passes do. Mutation: the order is as before.
static void important_segments_go_again_first(void **state)
{
    (void)state;
    uint8_t pending[13];
    uint8_t important[13];
    const uint8_t have[13] = {0};
    struct weft_mlt_message message;
    struct weft_error error;
    struct weft_mlt_sender sender;
    const struct weft_mlt_tensor tensor = weft_mlt_tensor_of(0, 0, 100 * 100, 100, 0.1);
    const struct weft_mlt_step step = {
        .limits = {
            .probe_ps = 1, .probe_max_ps = 1, .patience_ps = WEFT_PS_PER_S, .bitmap_bytes = 13}};
    for (uint32_t i = 0; i < 13; i++) {
        important[i] = 0x15; // three in eight
    }
    weft_mlt_sender_open(&sender, &step, &tensor, NULL, pending);
    do {
        assert_true(weft_mlt_sender_next(&message, &sender, 0, &error));
    } while (message.kind == WEFT_MLT_DATA);
    assert_int_equal(message.kind, WEFT_MLT_PROBE);
    const struct weft_mlt_message bitmap = {.kind = WEFT_MLT_BITMAP,
                                            .round = message.round,
                                            .count = 100,
                                            .data_bytes = 13,
                                            .data = have};
    assert_int_equal(weft_mlt_sender_take(&sender, &bitmap, 0), WEFT_MLT_NEW);
    weft_mlt_sender_order(&sender, important);
    for (uint32_t i = 0; i < 100; i++) {
        assert_true(weft_mlt_sender_next(&message, &sender, 0, &error));
        assert_int_equal(message.kind, WEFT_MLT_DATA);
        assert_int_equal(message.important, weft_mlt_bit(important, message.segment));
        assert_int_equal(message.important, i < 12 * 3 + 2); // of the last byte four bits count
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_gathered_loses_nothing),
        cmocka_unit_test(a_receiver_misses_no_more_than_its_budget),
        cmocka_unit_test(the_last_transfers_of_a_job_go_first),
        cmocka_unit_test(important_segments_go_again_first),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
