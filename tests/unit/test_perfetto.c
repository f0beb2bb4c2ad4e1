// SPDX-License-Identifier: Apache-2.0
// Perfetto traces: one job's timeline as protobuf, read back packet by packet.

#include "../fresh_arenas.h"
#include "weft/format/perfetto.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

// Two servers compute for 3 and 5 us, one of them sends 1 MB when it has ended.
static void play(struct weft_trace *trace)
{
    static const uint32_t devices[] = {0, 1};
    static const uint32_t last[] = {2};
    static const struct weft_task tasks[] = {
        {.kind = WEFT_TASK_FORWARD,
         .device = 0,
         .runtime_ps = 3000000,
         .next = last,
         .next_count = 1},
        {.kind = WEFT_TASK_FORWARD, .device = 1, .runtime_ps = 5000000},
        {.kind = WEFT_TASK_TRANSFER,
         .device = WEFT_NONE,
         .size_bytes = 1000000,
         .from = 0,
         .to = 1},
    };
    const struct weft_taskgraph_draft draft = {2, 2, devices, 3, tasks};
    static struct weft_network network;
    static struct weft_taskgraph graph;
    static struct weft_sim_result result;
    static struct weft_sim_job job;
    struct weft_cluster cluster;
    struct weft_error error;
    assert_true(weft_cluster_build(&cluster, 2, 1, 12.5e9, &error));
    assert_true(weft_fabric_build_ideal(&network, &cluster, NULL, &arena, &error));
    assert_true(weft_taskgraph_build(&graph, &draft, &arena, scratch, &error));
    job = (struct weft_sim_job){.graph = &graph};
    struct weft_sim_options options = {.timeline = true};
    assert_true(weft_sim_run_jobs(
        &result, &network, &job, 1, &options,
        &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error}));
    *trace = (struct weft_trace){.fabric = &network.fabric,
                                 .jobs = &job,
                                 .job_count = 1,
                                 .task_start_ps = result.task_start_ps,
                                 .task_end_ps = result.task_end_ps,
                                 .slice_limit = 1000};
}

// A base-128 varint (protobuf's wire format); moves *at behind it.
static uint64_t varint(const unsigned char **at, const unsigned char *end)
{
    uint64_t value = 0;
    for (uint32_t shift = 0;; shift += 7) {
        assert_true(*at < end && shift < 64);
        value |= (uint64_t)(**at & 0x7f) << shift;
        if ((*(*at)++ & 0x80) == 0) {
            return value;
        }
    }
}

// A trace is a sequence of field 1 (packet), each of which states its length.
static uint32_t count_packets(const unsigned char *data, size_t length)
{
    const unsigned char *at = data;
    uint32_t count = 0;
    for (; at < data + length; count++) {
        assert_int_equal(varint(&at, data + length), 1 << 3 | 2);
        uint64_t bytes = varint(&at, data + length);
        assert_true(bytes <= (uint64_t)(data + length - at));
        at += bytes;
    }
    return count;
}

static void a_timeline_has_a_beginning_and_an_end_for_each_slice(void **state)
{
    (void)state;
    struct weft_trace trace;
    struct weft_error error;
    const void *data = NULL;
    const void *again = NULL;
    size_t length = 0;
    size_t length_again = 0;
    uint64_t left_out = 7;
    play(&trace);
    assert_true(weft_perfetto_write(&data, &length, &left_out, &trace, &arena, &error));
    assert_int_equal(left_out, 0);
    uint32_t packets = count_packets(data, length);
    assert_true(weft_perfetto_write(&again, &length_again, &left_out, &trace, &arena, &error));
    assert_int_equal(length, length_again);
    assert_memory_equal(data, again, length);
    // One slice instead of three or more takes a beginning and an end away for each left out.
    trace.slice_limit = 1;
    assert_true(weft_perfetto_write(&again, &length_again, &left_out, &trace, &arena, &error));
    assert_true(left_out >= 2);
    assert_true(count_packets(again, length_again) + 2 * left_out <= packets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_timeline_has_a_beginning_and_an_end_for_each_slice),
    };
    return cmocka_run_group_tests(tests, open_arenas, tear_down);
}
