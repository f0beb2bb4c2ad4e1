// SPDX-License-Identifier: Apache-2.0
// What is seen of a run: records of flows and samples of links that add up to its result and do not
// change it; runs that get nowhere, are stopped or outlast simulated time end in one line.
//
// Mutations that made these tests fail (each was run): a ledger without the packets sent again; a
// sample that forgets what left before; rows of one instant that stand twice after two became one;
// a timeout that counts as news; a clock that files beyond its end; a stream named by its first
// message.

#include "../arenas.h"
#include "weft/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define SENDERS 12u
#define RATE_BPS 12.5e9
#define PACKET_BYTES 1500u
#define HEADER_BYTES 100u

static struct weft_network network;

static uint64_t size_of(uint32_t flow)
{
    return 100000 + 1000 * (uint64_t)flow;
}

// Everybody to one server, into ports that hold little.
static struct weft_packet_options narrow(void)
{
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    packet.buffer_bytes = 40 * PACKET_BYTES;
    packet.mark_bytes = 10 * PACKET_BYTES;
    return packet;
}

static bool play(struct weft_sim_result *result, uint64_t *ends_ps, struct weft_sim_options options,
                 const struct weft_packet_options *packet, uint64_t start_ps,
                 struct weft_arena *arena, struct weft_error *error)
{
    struct weft_cluster cluster;
    uint32_t from[SENDERS], to[SENDERS];
    uint64_t sizes[SENDERS], starts[SENDERS];
    for (uint32_t i = 0; i < SENDERS; i++) {
        from[i] = i;
        to[i] = SENDERS;
        sizes[i] = size_of(i);
        starts[i] = start_ps + 1000 * (uint64_t)i;
    }
    struct weft_flow_list flows = {SENDERS, from, to, sizes, starts};
    options.packet_bytes = PACKET_BYTES;
    options.header_bytes = HEADER_BYTES;
    options.engine = packet == NULL ? WEFT_ENGINE_FLOW : WEFT_ENGINE_PACKET;
    options.transport = packet == NULL ? WEFT_TRANSPORT_IDEAL : WEFT_TRANSPORT_RENO;
    options.packet = packet;
    if (!weft_cluster_build(&cluster, SENDERS + 1, 1, RATE_BPS, error)) {
        return false;
    }
    cluster.latency_ps = 1000000;
    return weft_fabric_build_ideal(&network, &cluster, NULL, arena, error) &&
           weft_sim_run_flows(
               result, ends_ps, &network, &flows, &options,
               &(struct weft_environment){.arena = arena, .scratch = scratch_kept, .error = error});
}

static struct weft_sim_options recording(uint32_t flow_limit, uint64_t sample_ps,
                                         uint32_t sample_limit)
{
    return (struct weft_sim_options){.records = {.flow_limit = flow_limit,
                                                 .sample_limit = sample_limit,
                                                 .sample_ps = sample_ps}};
}

static void records_add_up_to_the_result(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct weft_error error;
    struct weft_sim_result plain, result;
    struct weft_packet_options packet = narrow();
    uint64_t ends_ps[SENDERS];
    assert_true(play(&plain, NULL, recording(0, 0, 0), &packet, 5, &arena, &error));
    assert_int_equal(plain.records.flow_count, 0);
    assert_int_equal(plain.records.sample_count, 0);
    assert_true(
        play(&result, ends_ps, recording(100, 1000000, 1 << 20), &packet, 5, &arena, &error));
    assert_memory_equal(&plain.packets, &result.packets, sizeof(plain.packets));
    assert_int_equal(plain.end_ps, result.end_ps);
    assert_true(result.packets.retransmits > 0 && result.packets.ecn_marks > 0);
    assert_true(result.packets.timeouts > 0);
    const struct weft_records *records = &result.records;
    assert_int_equal(records->flow_count, SENDERS);
    assert_int_equal(records->flows_left_out, 0);
    struct weft_packet_counts sum = {0};
    for (uint32_t i = 0; i < records->flow_count; i++) {
        const struct weft_flow_record *flow = &records->flows[i];
        assert_int_equal(flow->from, flow->task);
        assert_int_equal(flow->to, SENDERS);
        assert_int_equal(flow->size_bytes, size_of(flow->task));
        assert_int_equal(flow->start_ps, 5 + 1000 * flow->task);
        assert_int_equal(flow->end_ps, ends_ps[flow->task]);
        assert_true(i == 0 || flow->end_ps >= flow[-1].end_ps);
        sum.packets += flow->packets;
        sum.retransmits += flow->retransmits;
        sum.ecn_marks += flow->ecn_marks;
        sum.timeouts += flow->timeouts;
    }
    assert_int_equal(sum.packets, result.packets.packets);
    assert_int_equal(sum.retransmits, result.packets.retransmits);
    assert_int_equal(sum.ecn_marks, result.packets.ecn_marks);
    assert_int_equal(sum.timeouts, result.packets.timeouts);
    assert_true(play(&result, NULL, recording(5, 0, 0), &packet, 5, &arena, &error));
    assert_int_equal(result.records.flow_count, 5);
    assert_int_equal(result.records.flows_left_out, SENDERS - 5);
}

// However few rows there may be, each link's bytes are all there.
static void samples_add_up_to_the_links_bytes(void **state)
{
    (void)state;
    const uint32_t limits[] = {1 << 20, 400, 200, 1};
    struct weft_packet_options packet = narrow();
    for (size_t l = 0; l < sizeof(limits) / sizeof(limits[0]); l++) {
        struct weft_arena arena = arena_kept;
        struct weft_error error;
        struct weft_sim_result result;
        assert_true(
            play(&result, NULL, recording(0, 1000000, limits[l]), &packet, 5, &arena, &error));
        const struct weft_records *records = &result.records;
        uint32_t links = network.fabric.link_count;
        assert_true(records->sample_count <= (limits[l] > 4 * links ? limits[l] : 4 * links));
        assert_true(l > 0 || records->sample_ps == 1000000);
        assert_true(records->sample_count > links);
        double *bytes = WEFT_NEW(&arena, double, links);
        uint64_t drops = 0;
        uint64_t backlog_max = 0;
        for (uint32_t i = 0; i < records->sample_count; i++) {
            const struct weft_link_sample *row = &records->samples[i];
            bool ordered = i == 0 || row->time_ps > row[-1].time_ps ||
                           (row->time_ps == row[-1].time_ps && row->link > row[-1].link);
            assert_true(ordered && row->link < links);
            assert_int_equal(row->time_ps % records->sample_ps, 0);
            double most = RATE_BPS * (double)records->sample_ps / 1e12;
            assert_true((double)row->bytes <= most + 2 * PACKET_BYTES);
            bytes[row->link] += (double)row->bytes;
            drops += row->drops;
            backlog_max = row->backlog_bytes > backlog_max ? row->backlog_bytes : backlog_max;
        }
        for (uint32_t link = 0; link < links; link++) {
            assert_int_equal((uint64_t)bytes[link], (uint64_t)result.link_bytes[link]);
        }
        assert_true(backlog_max > 10 * PACKET_BYTES);
        assert_true(drops > 0);
        assert_int_equal(drops, result.packets.drops);
    }
}

static void a_fluids_samples_are_its_rates(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct weft_error error;
    struct weft_sim_result result;
    assert_true(play(&result, NULL, recording(0, 1000000, 1 << 20), NULL, 5, &arena, &error));
    assert_true(result.records.sample_count > 100);
    uint64_t most = 0;
    for (uint32_t i = 0; i < result.records.sample_count; i++) {
        const struct weft_link_sample *row = &result.records.samples[i];
        most = row->bytes > most ? row->bytes : most;
        assert_int_equal(row->backlog_bytes, 0);
    }
    assert_int_equal(most, 12500); // the port of all, busy for 1 us
}

// Acknowledgements that fit no port are lost for ever.
static void a_run_that_gets_nowhere_says_who_waits(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct weft_error error;
    struct weft_sim_result result;
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    packet.buffer_bytes = PACKET_BYTES;
    packet.ack_bytes = PACKET_BYTES + 1;
    assert_false(play(&result, NULL, recording(0, 0, 0), &packet, 0, &arena, &error));
    assert_int_equal(error.code, WEFT_INFEASIBLE);
    assert_non_null(strstr(error.message,
                           "12 flows wait: flow 0 from server 0 to server 12: packet 0 of 72 "
                           "is not acknowledged after "));
    packet.handshake = true;
    assert_false(play(&result, NULL, recording(0, 0, 0), &packet, 0, &arena, &error));
    assert_non_null(strstr(error.message, "the connection is not acknowledged"));
}

static void tasks_that_wait_are_named(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct weft_error error;
    struct weft_sim_result result;
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    struct weft_taskgraph graph;
    const uint32_t members[] = {4, 5, 6};
    const struct weft_task tasks[] = {
        {.kind = WEFT_TASK_TRANSFER, .from = 1, .to = 2, .size_bytes = 0},
        {.kind = WEFT_TASK_TRANSFER, .from = 3, .to = 2, .size_bytes = 100000},
    };
    const struct weft_task ring = {
        .kind = WEFT_TASK_ALLREDUCE, .members = members, .member_count = 3, .size_bytes = 300000};
    const struct weft_sim_job job = {.graph = &graph};
    packet.buffer_bytes = PACKET_BYTES;
    packet.ack_bytes = PACKET_BYTES + 1;
    assert_false(play(&result, NULL, recording(0, 0, 0), &packet, 0, &arena, &error)); // builds
    for (int persistent = 0; persistent < 2; persistent++) {
        const struct weft_sim_options options = {.packet_bytes = PACKET_BYTES,
                                                 .header_bytes = HEADER_BYTES,
                                                 .engine = WEFT_ENGINE_PACKET,
                                                 .transport = WEFT_TRANSPORT_RENO,
                                                 .packet = &packet,
                                                 .persistent = persistent};
        for (int is_ring = 0; is_ring < 2; is_ring++) {
            assert_true(weft_taskgraph_build(
                &graph,
                &(struct weft_taskgraph_draft){.server_count = 13,
                                               .task_count = is_ring ? 1 : 2,
                                               .tasks = is_ring ? &ring : tasks},
                &arena, scratch_kept, &error));
            assert_false(weft_sim_run_jobs(&result, &network, &job, 1, &options,
                                           &(struct weft_environment){.arena = &arena,
                                                                      .scratch = scratch_kept,
                                                                      .error = &error}));
            assert_non_null(
                strstr(error.message, is_ring ? ": task 0 (AllReduce) of job 0 from server 4"
                                              : ": task 1 (transfer) of job 0 from server 3"));
        }
    }
}

// Two messages on one connection: the first has come, though no acknowledgement goes back; the
// second one waits.
static void the_message_of_a_stream_that_waits_is_named(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct weft_error error;
    struct weft_sim_result result;
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    struct weft_taskgraph graph;
    const struct weft_task tasks[] = {
        {.kind = WEFT_TASK_TRANSFER, .from = 3, .to = 2, .size_bytes = 2 * PACKET_BYTES},
        {.kind = WEFT_TASK_TRANSFER, .from = 3, .to = 2, .size_bytes = 100 * PACKET_BYTES},
    };
    const struct weft_sim_job job = {.graph = &graph};
    const struct weft_sim_options options = {.packet_bytes = PACKET_BYTES,
                                             .header_bytes = HEADER_BYTES,
                                             .engine = WEFT_ENGINE_PACKET,
                                             .transport = WEFT_TRANSPORT_RENO,
                                             .packet = &packet,
                                             .persistent = true};
    packet.buffer_bytes = PACKET_BYTES;
    packet.ack_bytes = PACKET_BYTES + 1;
    assert_false(play(&result, NULL, recording(0, 0, 0), &packet, 0, &arena, &error)); // builds
    assert_true(weft_taskgraph_build(
        &graph, &(struct weft_taskgraph_draft){.server_count = 13, .task_count = 2, .tasks = tasks},
        &arena, scratch_kept, &error));
    assert_false(weft_sim_run_jobs(
        &result, &network, &job, 1, &options,
        &(struct weft_environment){.arena = &arena, .scratch = scratch_kept, .error = &error}));
    assert_non_null(
        strstr(error.message, "1 flows wait: task 1 (transfer) of job 0 from server 3"));
}

static void a_run_can_be_stopped(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct weft_error error;
    struct weft_sim_result result;
    struct weft_packet_options packet = narrow();
    atomic_bool stop = true;
    struct weft_sim_progress progress = {0};
    struct weft_sim_options options = {.stop = &stop, .progress = &progress};
    assert_false(play(&result, NULL, options, &packet, 0, &arena, &error));
    assert_int_equal(error.code, WEFT_STOPPED);
    assert_false(play(&result, NULL, options, NULL, 0, &arena, &error));
    assert_int_equal(error.code, WEFT_STOPPED);
    stop = false;
    assert_true(play(&result, NULL, options, &packet, 0, &arena, &error));
    // Timers of messages that have come run out behind the end.
    assert_true(progress.now_ps > 0 &&
                progress.now_ps <= 2 * (result.end_ps + WEFT_PS_PER_S / 1000));
    assert_true(progress.events > 0 && progress.events <= result.packets.events);
}

static void time_that_runs_out_is_told(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct weft_error error;
    struct weft_sim_result result;
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    assert_false(play(&result, NULL, recording(0, 0, 0), &packet, ((uint64_t)1 << 62) - 100000,
                      &arena, &error));
    assert_int_equal(error.code, WEFT_INPUT);
    assert_non_null(strstr(error.message, "simulated time passes"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_add_up_to_the_result),
        cmocka_unit_test(samples_add_up_to_the_links_bytes),
        cmocka_unit_test(a_fluids_samples_are_its_rates),
        cmocka_unit_test(a_run_that_gets_nowhere_says_who_waits),
        cmocka_unit_test(tasks_that_wait_are_named),
        cmocka_unit_test(the_message_of_a_stream_that_waits_is_named),
        cmocka_unit_test(a_run_can_be_stopped),
        cmocka_unit_test(time_that_runs_out_is_told),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
