// SPDX-License-Identifier: Apache-2.0
// Chakra traces as an independent reader (tests/oracle/read_et.py) understands them: those that
// Weft writes of the example jobs, with the types that ASTRA-sim asks for, and, when present, the
// real traces of WEFT_SHARED. Two of them have a closed form of their time. Skips (77) where
// python3 is absent.
//
// Mutations that made this fail: comm_size as uint64; an all-gather's bytes not times its members;
// a receive that holds up its message; the sizes of an all-to-all not divided by its members;
// collectives in an order that transfers are not part of.

#include "weft/format.h"
#include "weft/sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct weft_arena whole;
static struct weft_arena whole_scratch;
static char inputs[2048];

// What read_et.py tells of a trace.
struct summary {
    unsigned long long ranks, nodes, compute, micros, messages, message_bytes;
    unsigned long long count[10]; // collectives by type
    double wire_bytes[10];
};

static void take_line(struct summary *summary, const char *line)
{
    unsigned long long numbers[8] = {0};
    size_t count = 0;
    for (const char *c = line; *c != '\0' && count < 8; c++) {
        if (*c >= '0' && *c <= '9') {
            char *end;
            numbers[count++] = strtoull(c, &end, 10);
            c = end - 1;
        }
    }
    if (strncmp(line, "ranks", 5) == 0) {
        summary->ranks = numbers[0];
        summary->nodes = numbers[1];
        summary->compute = numbers[3];
        summary->micros = numbers[4];
    } else if (strncmp(line, "messages", 8) == 0) {
        summary->messages = numbers[0];
        summary->message_bytes = numbers[1];
    } else {
        assert_true(strncmp(line, "collective", 10) == 0 && numbers[0] < 10);
        summary->count[numbers[0]] = numbers[1];
        summary->wire_bytes[numbers[0]] = (double)numbers[2];
    }
}

static struct summary summarize(const char *prefix, const char *how)
{
    char command[4096];
    snprintf(command, sizeof command, "%s/tests/oracle/read_et.py '%s' %s", SOURCE_ROOT, prefix,
             how);
    struct summary summary = {0};
    FILE *theirs = popen(command, "r");
    assert_non_null(theirs);
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, theirs) > 0) {
        take_line(&summary, line);
    }
    free(line);
    if (pclose(theirs) != 0) {
        fail_msg("%s: read_et.py refuses it", prefix);
    }
    assert_true(summary.ranks > 0);
    return summary;
}

// What a task graph puts on the wire.
struct totals {
    uint64_t transfers, transfer_bytes, reductions;
    double reduction_wire_bytes;
    uint64_t timed; // on devices
};

static struct totals total(const struct weft_taskgraph *graph)
{
    struct totals totals = {0};
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (graph->kind[t] == WEFT_TASK_TRANSFER) {
            totals.transfers++;
            totals.transfer_bytes += graph->size_bytes[t];
        } else if (weft_task_is_collective(graph, t)) {
            totals.reductions += weft_task_member_count(graph, t) > 1;
            totals.reduction_wire_bytes += weft_task_wire_bytes(graph, t);
        }
        totals.timed += graph->device[t] != WEFT_NONE;
    }
    return totals;
}

static uint32_t kind_count(const struct weft_taskgraph *graph, enum weft_task_kind kind)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        count += graph->kind[t] == kind;
    }
    return count;
}

static void check_near(const char *name, double ours, double theirs)
{
    if (fabs(ours - theirs) > 1e-9 * theirs + 0.5) {
        fail_msg("%s: ours %.0f, theirs %.0f", name, ours, theirs);
    }
}

// ---- what Weft writes ----

static void check_written(const char *name, const struct weft_taskgraph *graph, const char *folder,
                          struct weft_arena arena)
{
    struct weft_chakra_files trace;
    struct weft_error error;
    const char *prefix = weft_arena_format(&arena, "%s/%s", folder, name);
    if (!weft_chakra_write(&trace, graph, &arena, whole_scratch, &error) ||
        !weft_chakra_save(prefix, &trace, whole_scratch, &error)) {
        fail_msg("%s", error.message);
    }
    struct summary theirs = summarize(prefix, "--strict");
    for (uint32_t r = 0; r < trace.rank_count; r++) {
        unlink(weft_arena_format(&arena, "%s.%u.et", prefix, r));
    }
    unlink(weft_arena_format(&arena, "%s.json", prefix));
    struct totals ours = total(graph);
    assert_int_equal(theirs.ranks, graph->server_count);
    assert_int_equal(theirs.messages, ours.transfers + trace.signal_count);
    assert_int_equal(theirs.message_bytes, ours.transfer_bytes + trace.signal_count);
    assert_int_equal(theirs.count[0] + theirs.count[2] + theirs.count[7], ours.reductions);
    assert_int_equal(theirs.count[2], kind_count(graph, WEFT_TASK_ALL_GATHER));
    assert_int_equal(theirs.count[7], kind_count(graph, WEFT_TASK_REDUCE_SCATTER));
    check_near(name, ours.reduction_wire_bytes,
               theirs.wire_bytes[0] + theirs.wire_bytes[2] + theirs.wire_bytes[7]);
    double runtime_micros = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        double members = 1; // the time inside servers stands on every member's rank
        if (weft_task_is_collective(graph, t)) {
            members = weft_task_member_count(graph, t);
        }
        runtime_micros += members * (double)graph->runtime_ps[t] / 1e6;
    }
    // Each node's duration is rounded to a whole microsecond.
    assert_true(fabs(runtime_micros - (double)theirs.micros) <= 0.5 * (double)theirs.compute);
}

// A ReduceScatter and an AllGather of bytes that five divides, with time inside the servers.
static void check_halves(const char *folder)
{
    static const uint32_t members[] = {4, 0, 3, 1, 2};
    static const uint32_t next[] = {1};
    const struct weft_task tasks[] = {
        {.kind = WEFT_TASK_REDUCE_SCATTER,
         .size_bytes = 5000,
         .runtime_ps = 3000000,
         .members = members,
         .member_count = 5,
         .next = next,
         .next_count = 1},
        {.kind = WEFT_TASK_ALL_GATHER, .size_bytes = 35000, .members = members, .member_count = 5}};
    struct weft_arena arena = whole;
    struct weft_taskgraph graph;
    struct weft_error error;
    assert_true(weft_taskgraph_build(
        &graph, &(struct weft_taskgraph_draft){.server_count = 5, .task_count = 2, .tasks = tasks},
        &arena, whole_scratch, &error));
    check_written("halves", &graph, folder, arena);
}

// Work on rank 1 that rank 0 waits for, then an AllReduce of both: rank 1 must not begin its part
// before the signal is out.
static void check_signal(const char *folder)
{
    static const uint32_t members[] = {0, 1};
    static const uint32_t devices[] = {0, 1};
    static const uint32_t next[] = {1, 2};
    const struct weft_task tasks[] = {
        {.kind = WEFT_TASK_FORWARD,
         .device = 1,
         .runtime_ps = 5000000,
         .next = next,
         .next_count = 1},
        {.kind = WEFT_TASK_FORWARD,
         .device = 0,
         .runtime_ps = 3000000,
         .next = next + 1,
         .next_count = 1},
        {.kind = WEFT_TASK_ALLREDUCE, .size_bytes = 4000, .members = members, .member_count = 2}};
    struct weft_arena arena = whole;
    struct weft_taskgraph graph;
    struct weft_error error;
    assert_true(weft_taskgraph_build(&graph,
                                     &(struct weft_taskgraph_draft){.server_count = 2,
                                                                    .device_count = 2,
                                                                    .device_server = devices,
                                                                    .task_count = 3,
                                                                    .tasks = tasks},
                                     &arena, whole_scratch, &error));
    check_written("signal", &graph, folder, arena);
}

static void traces_of_the_examples_hold(void **state)
{
    (void)state;
    static const char *const jobs[] = {"dlrm_16", "gpt_16", "moe_16", "vgg16_16", "resnet50_128"};
    char folder[] = "/tmp/weft-et-XXXXXX";
    assert_non_null(mkdtemp(folder));
    for (size_t j = 0; j < sizeof jobs / sizeof jobs[0]; j++) {
        struct weft_arena arena = whole;
        struct weft_fbuf job;
        struct weft_error error;
        const char *path = weft_arena_format(&arena, SOURCE_ROOT "/examples/jobs/%s.fbuf", jobs[j]);
        if (!weft_fbuf_load(&job, path, &arena, whole_scratch, &error)) {
            fail_msg("%s", error.message);
        }
        check_written(jobs[j], &job.graph, folder, arena);
    }
    check_halves(folder);
    check_signal(folder);
    assert_int_equal(rmdir(folder), 0);
}

// ---- real traces ----

static struct weft_chakra_job load_real(const char *name, struct weft_arena *arena)
{
    struct weft_chakra_job chakra = {0};
    struct weft_error error;
    const struct weft_chakra_roofline roofline = {.flops_per_s = 400e12, .memory_Bps = 3e12};
    struct weft_arena scratch = whole_scratch;
    struct weft_chakra_trace trace;
    if (access(inputs, F_OK) != 0) {
        print_message("skipped: no %s; set WEFT_SHARED\n", inputs);
        skip();
    }
    const char *path = weft_arena_format(arena, "%s/%s", inputs, name);
    if (!weft_chakra_load(&trace, path, NULL, false, &scratch, &error) ||
        !weft_chakra_lower(&chakra, &trace, &roofline, arena, scratch, &error)) {
        fail_msg("%s", error.message);
    }
    return chakra;
}

static void check_real(const char *name)
{
    struct weft_arena arena = whole;
    struct weft_chakra_job chakra = load_real(name, &arena);
    struct summary theirs = summarize(weft_arena_format(&arena, "%s/%s", inputs, name), "");
    struct totals ours = total(&chakra.graph);
    assert_int_equal(theirs.ranks, chakra.graph.server_count);
    assert_int_equal(theirs.nodes, chakra.node_count);
    assert_int_equal(theirs.compute, ours.timed);
    assert_int_equal(chakra.untimed_count + chakra.skipped_count, 0);
    assert_int_equal(chakra.approximated_count, 0);
    assert_int_equal(kind_count(&chakra.graph, WEFT_TASK_ALLREDUCE), theirs.count[0]);
    assert_int_equal(kind_count(&chakra.graph, WEFT_TASK_ALL_GATHER), theirs.count[2]);
    assert_int_equal(kind_count(&chakra.graph, WEFT_TASK_REDUCE_SCATTER), theirs.count[7]);
    assert_int_equal(ours.reductions, theirs.count[0] + theirs.count[2] + theirs.count[7]);
    check_near(name, ours.reduction_wire_bytes,
               theirs.wire_bytes[0] + theirs.wire_bytes[2] + theirs.wire_bytes[7]);
    check_near(name, (double)ours.transfer_bytes,
               (double)theirs.message_bytes + theirs.wire_bytes[6]);
}

static void real_traces_mean_the_same_to_both_readers(void **state)
{
    (void)state;
    static const char *const names[] = {
        "astra_micro_all_gather_16/all_gather",
        "astra_micro_all_reduce_16/all_reduce",
        "astra_micro_all_to_all_16/all_to_all",
        "astra_micro_reduce_scatter_16/reduce_scatter",
        "astra_custom_ring_ar_8/custom_allreduce",
        "stage_llama8/w",
        "stage_moe32/w",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        check_real(names[i]);
    }
}

static double ideal_s(const struct weft_taskgraph *graph, struct weft_arena *arena)
{
    struct weft_cluster cluster;
    struct weft_network network;
    struct weft_sim_result result = {0};
    struct weft_error error;
    const struct weft_fabric_options shape = {.seed = 1};
    const struct weft_sim_job job = {.graph = graph};
    const struct weft_sim_options fluid = {.seed = 1};
    if (!weft_cluster_build(&cluster, graph->server_count, 1, 50e9, &error) ||
        !weft_fabric_build_named(&network, "ideal", &cluster, &shape,
                                 &(struct weft_environment){
                                     .arena = arena, .scratch = whole_scratch, .error = &error}) ||
        !weft_sim_run_jobs(&result, &network, &job, 1, &fluid,
                           &(struct weft_environment){
                               .arena = arena, .scratch = whole_scratch, .error = &error})) {
        fail_msg("%s", error.message);
    }
    return weft_seconds(result.end_ps);
}

static void closed_forms_hold(void **state)
{
    (void)state;
    const double latency_s = 2e-6; // two links of 1 us
    struct weft_arena arena = whole;
    // 14 rounds of 131072 bytes, and 7 us of computing behind each of the first 7.
    struct weft_chakra_job ring = load_real("astra_custom_ring_ar_8", &arena);
    double expected_s = 14 * (131072 / 50e9 + latency_s) + 7 * 7e-6;
    assert_true(fabs(ideal_s(&ring.graph, &arena) - expected_s) < 1e-9);
    // 2 * 15 rounds of 1 MiB / 16.
    struct weft_chakra_job reduce = load_real("astra_micro_all_reduce_16", &arena);
    expected_s = 30 * (65536 / 50e9 + latency_s);
    assert_true(fabs(ideal_s(&reduce.graph, &arena) - expected_s) < 1e-9);
    // Half of that: 15 rounds of the same, and of a whole shard of 1 MiB.
    struct weft_chakra_job scatter = load_real("astra_micro_reduce_scatter_16", &arena);
    expected_s = 15 * (65536 / 50e9 + latency_s);
    assert_true(fabs(ideal_s(&scatter.graph, &arena) - expected_s) < 1e-9);
    struct weft_chakra_job gather = load_real("astra_micro_all_gather_16", &arena);
    expected_s = 15 * (1048576 / 50e9 + latency_s);
    assert_true(fabs(ideal_s(&gather.graph, &arena) - expected_s) < 1e-9);
    // 15 sixteenths of 1 MiB leave each port, all at once.
    struct weft_chakra_job all = load_real("astra_micro_all_to_all_16", &arena);
    expected_s = 15 * 65536 / 50e9 + latency_s;
    assert_true(fabs(ideal_s(&all.graph, &arena) - expected_s) < 1e-9);
}

int main(void)
{
    struct weft_error error;
    if (access("/usr/bin/python3", X_OK) != 0) {
        fprintf(stderr, "skipped: python3 is not installed\n");
        return 77;
    }
    if (!weft_arena_init(&whole, 0, &error) || !weft_arena_init(&whole_scratch, 0, &error)) {
        fprintf(stderr, "skipped: %s\n", error.message);
        return 77;
    }
    const char *shared = getenv("WEFT_SHARED");
    snprintf(inputs, sizeof inputs, "%s/inputs/chakra",
             shared != NULL ? shared : SOURCE_ROOT "/../shared");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traces_of_the_examples_hold),
        cmocka_unit_test(real_traces_mean_the_same_to_both_readers),
        cmocka_unit_test(closed_forms_hold),
    };
    return cmocka_run_group_tests_name("chakra-oracle", tests, NULL, NULL);
}
