// SPDX-License-Identifier: Apache-2.0
// Jobs that repeat themselves, and connections that outlive their messages.
//
// Mutations that made these tests fail (each was run): predecessors counted down once only; runs of
// a collective that take new places in every iteration; jitter that draws anew for each task; of
// messages of a stream that come at once only the first told of; a window that a restart leaves as
// it was.

#include "../arenas.h"
#include "weft/sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define RATE_BPS 12.5e9
#define LATENCY_PS 1000000u
#define PACKET_BYTES 1500u
#define HEADER_BYTES 100u
#define MS_PS 1000000000ull

static struct weft_network network;

static struct weft_sim_options packets(const struct weft_packet_options *packet)
{
    return (struct weft_sim_options){.packet_bytes = PACKET_BYTES,
                                     .header_bytes = HEADER_BYTES,
                                     .engine = WEFT_ENGINE_PACKET,
                                     .transport = WEFT_TRANSPORT_RENO,
                                     .dctcp = WEFT_DCTCP_DEFAULTS,
                                     .packet = packet};
}

static bool run(struct weft_sim_result *result, const struct weft_task *tasks, uint32_t task_count,
                uint32_t job_count, const struct weft_sim_options *options,
                struct weft_arena *arena, struct weft_error *error)
{
    static const uint32_t device_server[] = {0, 1, 2, 3};
    struct weft_cluster cluster;
    struct weft_taskgraph graph;
    struct weft_sim_job jobs[4];
    for (uint32_t job = 0; job < job_count; job++) {
        jobs[job] = (struct weft_sim_job){.graph = &graph};
    }
    bool built = weft_cluster_build(&cluster, 4, 1, RATE_BPS, error);
    cluster.latency_ps = LATENCY_PS;
    return built && weft_fabric_build_ideal(&network, &cluster, NULL, arena, error) &&
           weft_taskgraph_build(&graph,
                                &(struct weft_taskgraph_draft){.server_count = 4,
                                                               .device_count = 4,
                                                               .device_server = device_server,
                                                               .task_count = task_count,
                                                               .tasks = tasks},
                                arena, scratch_kept, error) &&
           weft_sim_run_jobs(
               result, &network, jobs, job_count, options,
               &(struct weft_environment){.arena = arena, .scratch = scratch_kept, .error = error});
}

static struct weft_sim_result play(const struct weft_task *tasks, uint32_t task_count,
                                   uint32_t job_count, const struct weft_sim_options *options,
                                   struct weft_arena *arena)
{
    struct weft_sim_result result = {0};
    struct weft_error error;
    if (!run(&result, tasks, task_count, job_count, options, arena, &error)) {
        fail_msg("%s", error.message);
    }
    return result;
}

static void refuse(const struct weft_sim_options *options, const char *part)
{
    const struct weft_task task = {.kind = WEFT_TASK_FORWARD, .device = 0, .runtime_ps = 1};
    struct weft_arena arena = arena_kept;
    struct weft_sim_result result;
    struct weft_error error;
    assert_false(run(&result, &task, 1, 1, options, &arena, &error));
    assert_int_equal(error.code, WEFT_INPUT);
    assert_non_null(strstr(error.message, part));
    assert_null(strchr(error.message, '\n'));
}

static const uint32_t first_next[] = {1};
static const uint32_t members[] = {0, 1, 2, 3};
static const struct weft_task compute_and_reduce[] = {
    {.kind = WEFT_TASK_FORWARD,
     .device = 0,
     .runtime_ps = MS_PS,
     .next = first_next,
     .next_count = 1},
    {.kind = WEFT_TASK_ALLREDUCE, .members = members, .member_count = 4, .size_bytes = 1 << 20},
};
static const struct weft_task compute_and_send[] = {
    {.kind = WEFT_TASK_FORWARD,
     .device = 0,
     .runtime_ps = MS_PS,
     .next = first_next,
     .next_count = 1},
    {.kind = WEFT_TASK_TRANSFER, .from = 0, .to = 1, .size_bytes = 1400ull * 300 + 700},
};

static void iterations_follow_each_other(void **state)
{
    (void)state;
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    for (uint32_t engine = 0; engine < 2; engine++) {
        for (uint32_t c = 0; c < 2; c++) {
            const struct weft_task *tasks = c == 0 ? compute_and_reduce : compute_and_send;
            struct weft_arena arena = arena_kept;
            struct weft_sim_options options = packets(&packet);
            if (engine == 0) {
                options.engine = WEFT_ENGINE_FLOW;
                options.transport = WEFT_TRANSPORT_IDEAL;
            }
            uint64_t once_ps = play(tasks, 2, 1, &options, &arena).iteration_ps[0];
            options.iterations = 5;
            struct weft_sim_result result = play(tasks, 2, 1, &options, &arena);
            assert_true(once_ps > MS_PS);
            for (uint32_t i = 0; i < 5; i++) {
                assert_in_range(result.iteration_end_ps[0][i], (i + 1) * once_ps - 5,
                                (i + 1) * once_ps + 5);
            }
            assert_in_range(result.iteration_ps[0], once_ps - 1, once_ps + 1);
            assert_int_equal(result.end_ps, result.iteration_end_ps[0][4]);
        }
    }
}

static void jobs_begin_at_their_starts(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct weft_job_timing timings[3] = {{0}, {.start_ps = 5 * MS_PS}, {.start_ps = 40 * MS_PS}};
    struct weft_sim_options options = {.iterations = 2, .timings = timings};
    struct weft_sim_result result = play(compute_and_send, 2, 3, &options, &arena);
    for (uint32_t job = 0; job < 3; job++) { // never at once
        assert_in_range(result.iteration_ps[job], result.iteration_ps[0] - 2,
                        result.iteration_ps[0] + 2);
        assert_in_range(result.iteration_end_ps[job][1],
                        timings[job].start_ps + 2 * result.iteration_ps[0] - 2,
                        timings[job].start_ps + 2 * result.iteration_ps[0] + 2);
    }
}

// Two tasks of one iteration are drawn out alike; iterations differ, by the deviation asked for.
static void jitter_has_its_deviation(void **state)
{
    (void)state;
    const struct weft_task tasks[] = {
        {.kind = WEFT_TASK_FORWARD,
         .device = 0,
         .runtime_ps = MS_PS,
         .next = first_next,
         .next_count = 1},
        {.kind = WEFT_TASK_BACKWARD, .device = 0, .runtime_ps = MS_PS}};
    struct weft_arena arena = arena_kept;
    struct weft_job_timing timing = {.jitter_ratio = 0.05};
    struct weft_sim_options options = {.iterations = 2000, .timings = &timing, .timeline = true};
    struct weft_sim_result result = play(tasks, 2, 1, &options, &arena);
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < 2000; i++) {
        uint64_t before_ps = i == 0 ? 0 : result.iteration_end_ps[0][i - 1];
        double ratio = (double)(result.iteration_end_ps[0][i] - before_ps) / (2.0 * MS_PS);
        sum += ratio;
        squares += ratio * ratio;
    }
    double mean = sum / 2000;
    double deviation = sqrt(squares / 2000 - mean * mean);
    assert_true(fabs(mean - 1) < 0.005);
    assert_true(fabs(deviation - 0.05) < 0.005);
    const uint64_t *start_ps = result.task_start_ps[0];
    uint64_t first_ps = result.task_end_ps[0][0] - start_ps[0];
    uint64_t second_ps = result.task_end_ps[0][1] - start_ps[1];
    assert_in_range(first_ps, second_ps - 2, second_ps + 2);
    options.seed = 1;
    assert_true(play(tasks, 2, 1, &options, &arena).end_ps != result.end_ps);
}

// ---- persistent connections ----

static void a_stream_keeps_its_window(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    packet.window.initial_packets = 1;
    struct weft_sim_options options = packets(&packet);
    options.iterations = 4;
    uint64_t anew_ps = play(compute_and_send, 2, 1, &options, &arena).end_ps;
    options.persistent = true;
    struct weft_sim_result result = play(compute_and_send, 2, 1, &options, &arena);
    const uint64_t *ends = result.iteration_end_ps[0];
    // Slow start from one packet, then all packets back to back: the closed form of a lone message.
    uint64_t first_ps = ends[0];
    uint64_t packet_ps = (uint64_t)(PACKET_BYTES * 1e12 / RATE_BPS);
    uint64_t last_ps = (uint64_t)((700 + HEADER_BYTES) * 1e12 / RATE_BPS);
    uint64_t full_ps = MS_PS + 300 * packet_ps + 2 * last_ps + 2 * LATENCY_PS;
    assert_true(first_ps > full_ps + 10 * LATENCY_PS);
    for (uint32_t i = 1; i < 4; i++) {
        // The window may be spent before the first acknowledgement is back; not twice.
        assert_in_range(ends[i] - ends[i - 1], full_ps - last_ps, full_ps + 6 * LATENCY_PS);
    }
    assert_true(result.end_ps < anew_ps);
    assert_int_equal(result.packets.packets, 4 * 301);
    assert_int_equal(result.flow_count, 4);

    packet.window.idle_restart = true; // a pause of 1 ms is no timeout; one of 0.9 timeouts neither
    packet.loss.timeout_min_ps = 2 * MS_PS;
    assert_int_equal(play(compute_and_send, 2, 1, &options, &arena).end_ps, result.end_ps);
    packet.loss.timeout_min_ps = MS_PS / 2;
    ends = play(compute_and_send, 2, 1, &options, &arena).iteration_end_ps[0];
    assert_in_range(ends[3] - ends[2], first_ps - LATENCY_PS, first_ps + LATENCY_PS);

    packet.window.idle_restart = false;
    packet.mltcp.restart_packets = 1;
    ends = play(compute_and_send, 2, 1, &options, &arena).iteration_end_ps[0];
    assert_true(ends[3] - ends[2] > first_ps); // no slow start from a threshold of 1
}

// Messages on one connection end one after the other, in their order; on several at once, together.
static void messages_of_a_stream_come_in_order(void **state)
{
    (void)state;
    struct weft_task tasks[4];
    for (uint32_t i = 0; i < 4; i++) {
        tasks[i] = (struct weft_task){
            .kind = WEFT_TASK_TRANSFER, .from = 0, .to = 1, .size_bytes = 1400ull * 100 + 1};
    }
    struct weft_arena arena = arena_kept;
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    struct weft_sim_options options = packets(&packet);
    options.persistent = true;
    options.timeline = true;
    options.iterations = 3;
    struct weft_sim_result result = play(tasks, 4, 1, &options, &arena);
    const uint64_t *one = result.task_end_ps[0];
    uint64_t message_ps = (uint64_t)(100 * PACKET_BYTES * 1e12 / RATE_BPS);
    for (uint32_t i = 1; i < 4; i++) {
        assert_true(one[i] >= one[i - 1] + message_ps);
    }
    assert_int_equal(result.packets.packets, 3 * 4 * 101);
    double bytes = 3 * 4 * (100.0 * PACKET_BYTES + HEADER_BYTES + 1);
    uint32_t link = weft_fabric_find_link(&network.fabric, 0, 4);
    assert_true(fabs(result.link_bytes[link] - bytes) < 0.5);
    packet.connection_count = 4;
    packet.window.slow_start = false; // else windows come to hold whole messages
    options.iterations = 1;
    const uint64_t *four = play(tasks, 4, 1, &options, &arena).task_end_ps[0];
    assert_true(four[3] - four[0] < message_ps / 2);
}

static void streams_survive_losses(void **state)
{
    (void)state;
    const enum weft_sim_transport transports[] = {WEFT_TRANSPORT_RENO, WEFT_TRANSPORT_CUBIC,
                                                  WEFT_TRANSPORT_DCTCP, WEFT_TRANSPORT_DCQCN,
                                                  WEFT_TRANSPORT_SWIFT};
    struct weft_task tasks[12];
    for (uint32_t i = 0; i < 12; i++) {
        tasks[i] = (struct weft_task){.kind = WEFT_TASK_TRANSFER,
                                      .from = i % 3,
                                      .to = 3,
                                      .size_bytes = 1400ull * (50 + 37 * i) + i};
    }
    for (size_t t = 0; t < sizeof transports / sizeof transports[0]; t++) {
        for (uint32_t count = 1; count <= 3; count++) {
            struct weft_arena arena = arena_kept;
            struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
            packet.buffer_bytes = 8 * PACKET_BYTES;
            packet.mark_bytes = 1 << 30;
            packet.connection_count = count;
            struct weft_sim_options options = packets(&packet);
            options.transport = transports[t];
            options.persistent = true;
            options.iterations = 20;
            struct weft_sim_result result = play(tasks, 12, 2, &options, &arena);
            struct weft_sim_result again = play(tasks, 12, 2, &options, &arena);
            assert_true(result.packets.drops > 0);
            assert_int_equal(result.flow_count, 20 * 12 * 2);
            assert_int_equal(result.end_ps, again.end_ps);
            assert_memory_equal(&result.packets, &again.packets, sizeof result.packets);
        }
    }
}

static void bad_options_are_refused(void **state)
{
    (void)state;
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    struct weft_sim_options options = packets(&packet);
    options.persistent = true;
    packet.connection_count = 0;
    refuse(&options, "connections");
    packet = WEFT_PACKET_DEFAULTS;
    packet.cubic.decrease_ratio = 1;
    options.transport = WEFT_TRANSPORT_MLTCP_CUBIC;
    refuse(&options, "beta");
    packet = WEFT_PACKET_DEFAULTS;
    packet.dcqcn.gain = NAN;
    options.transport = WEFT_TRANSPORT_DCQCN;
    refuse(&options, "gain");
    packet = WEFT_PACKET_DEFAULTS;
    packet.dcqcn.timer_ps = 0;
    refuse(&options, "timers");
    packet = WEFT_PACKET_DEFAULTS;
    packet.dcqcn.rate_min_Bps = 0;
    refuse(&options, "rate");
    packet = WEFT_PACKET_DEFAULTS;
    packet.swift.flow_window_max = packet.swift.flow_window_min;
    options.transport = WEFT_TRANSPORT_SWIFT;
    refuse(&options, "swift");
    packet = WEFT_PACKET_DEFAULTS;
    packet.swift.decrease_max = 1;
    refuse(&options, "decrease");
    packet = WEFT_PACKET_DEFAULTS;
    packet.mltcp.intercept = 0;
    options.transport = WEFT_TRANSPORT_MLTCP_RENO;
    refuse(&options, "intercept");
    packet = WEFT_PACKET_DEFAULTS;
    struct weft_job_timing timing = {.jitter_ratio = -1};
    options.timings = &timing;
    refuse(&options, "jitter");
    timing = (struct weft_job_timing){.weight_ratio = NAN};
    refuse(&options, "weight");
    timing = (struct weft_job_timing){.stray_ratio = 0.05};
    refuse(&(struct weft_sim_options){.timings = &timing}, "period");
    options.timings = NULL;
    options.fluid.learns = true;
    refuse(&options, "flow engine");
    struct weft_fluid_options fluid = {.learns = true, .mltcp = WEFT_MLTCP_DEFAULTS};
    fluid.mltcp.slope = -1;
    refuse(&(struct weft_sim_options){.fluid = fluid}, "slope");
    fluid.mltcp = WEFT_MLTCP_DEFAULTS;
    fluid.steps = UINT32_MAX;
    refuse(&(struct weft_sim_options){.fluid = fluid}, "steps");
    refuse(&(struct weft_sim_options){.transport = WEFT_TRANSPORT_SWIFT}, "packet engine");
    refuse(&(struct weft_sim_options){.iterations = UINT32_MAX}, "iterations");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iterations_follow_each_other),
        cmocka_unit_test(jobs_begin_at_their_starts),
        cmocka_unit_test(jitter_has_its_deviation),
        cmocka_unit_test(a_stream_keeps_its_window),
        cmocka_unit_test(messages_of_a_stream_come_in_order),
        cmocka_unit_test(streams_survive_losses),
        cmocka_unit_test(bad_options_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
