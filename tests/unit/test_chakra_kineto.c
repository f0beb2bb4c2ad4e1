// SPDX-License-Identifier: Apache-2.0
// Kineto's traces and the host's: what they become, what is counted, and what is refused with which
// words. tests/oracle/kineto.py has whole programs; here each rule stands alone.
//
// Seen to fail with gaps from 2 ms on, with a stated wait for what had ended when the event was
// recorded, with the time until the GPU was done counted as the host's work, and without the order
// of a stream.

#include "chakra_fixture.h"

#define TEXT_BYTES 8192

static char texts[4][TEXT_BYTES];
static size_t lengths[4];

// A document of that slot, event by event; times in microseconds.
static void open_trace(uint32_t slot)
{
    lengths[slot] = (size_t)snprintf(texts[slot], TEXT_BYTES, "{\"traceEvents\": [");
}

static void add_event(uint32_t slot, const char *category, const char *name, const char *lane,
                      int begin, int end, const char *args)
{
    bool first = texts[slot][lengths[slot] - 1] == '[';
    int length = snprintf(texts[slot] + lengths[slot], TEXT_BYTES - lengths[slot],
                          "%s{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", %s, \"ts\": %d, "
                          "\"dur\": %d, \"args\": {%s}}",
                          first ? "" : ", ", category, name, lane, begin, end - begin, args);
    lengths[slot] += (size_t)length;
    assert_true(lengths[slot] < TEXT_BYTES);
}

static const char *close_trace(uint32_t slot)
{
    lengths[slot] +=
        (size_t)snprintf(texts[slot] + lengths[slot], TEXT_BYTES - lengths[slot], "]}");
    assert_true(lengths[slot] < TEXT_BYTES);
    return texts[slot];
}

#define MAIN "\"pid\": 9, \"tid\": 1"
#define OTHER "\"pid\": 9, \"tid\": 2"
#define GPU "\"pid\": 0, \"tid\": 7"

// A call of `correlation` and the kernel that it launched on a stream.
static void add_kernel(uint32_t slot, const char *thread, int call, int begin, int end,
                       const char *name, int stream, int correlation, const char *more)
{
    char args[512];
    snprintf(args, sizeof args, "\"correlation\": %d", correlation);
    add_event(slot, "cuda_runtime", "cudaLaunchKernel", thread, call, call + 5, args);
    snprintf(args, sizeof args, "\"correlation\": %d, \"device\": 0, \"stream\": %d%s", correlation,
             stream, more);
    add_event(slot, "kernel", name, GPU, begin, end, args);
}

static void one_rank(void)
{
    craft_begin(&trace, 1);
    open_trace(0);
}

static struct weft_chakra_job read_closed(void)
{
    trace.json[0] = close_trace(0);
    return read_good();
}

#define US 1000000ul

// The first kernel waits for its call, the second for its call and the first.
static void kernels_wait_for_calls_and_streams(void **state)
{
    (void)state;
    one_rank();
    add_kernel(0, MAIN, 10, 20, 120, "a", 7, 1, "");
    add_kernel(0, MAIN, 17, 120, 150, "b", 7, 2, "");
    struct weft_chakra_job chakra = read_closed();
    const struct weft_taskgraph *graph = &chakra.graph;
    assert_int_equal(graph->task_count, 4); // call, call, kernel, kernel: in the order of time
    assert_int_equal(graph->runtime_ps[0], 5 * US);
    assert_int_equal(graph->runtime_ps[1], 7 * US);
    assert_int_equal(graph->runtime_ps[2], 100 * US);
    assert_int_equal(graph->runtime_ps[3], 30 * US);
    assert_int_equal(graph->kind[0], WEFT_TASK_LOCAL);
    assert_int_equal(graph->kind[2], WEFT_TASK_FORWARD);
    assert_true(has_edge(graph, 0, 1) && has_edge(graph, 0, 2) && has_edge(graph, 1, 3));
    assert_true(has_edge(graph, 2, 3) && !has_edge(graph, 1, 2));
    assert_int_equal(graph->device_count, 2);
    assert_int_equal(chakra.joined.kernel_count, 2);
    assert_int_equal(chakra.skipped_count, 0);
}

// Two streams are two devices; no wait of streams, no dependency.
static void streams_run_side_by_side(void **state)
{
    (void)state;
    one_rank();
    add_kernel(0, MAIN, 10, 20, 120, "a", 7, 1, "");
    add_kernel(0, MAIN, 17, 30, 150, "b", 8, 2, "");
    struct weft_chakra_job chakra = read_closed();
    assert_int_equal(chakra.graph.device_count, 3);
    assert_false(has_edge(&chakra.graph, 2, 3));
}

// A call that synchronizes is two tasks: up to it, and when it returns, 3 us behind the kernel.
static void synchronization_waits_for_streams(void **state)
{
    (void)state;
    one_rank();
    add_kernel(0, MAIN, 10, 20, 120, "a", 7, 1, "");
    add_event(0, "cuda_runtime", "cudaDeviceSynchronize", MAIN, 18, 123, "");
    struct weft_chakra_job chakra = read_closed();
    const struct weft_taskgraph *graph = &chakra.graph;
    assert_int_equal(graph->task_count, 4); // call, up to it, its return, kernel: by ids
    assert_int_equal(graph->runtime_ps[1], 3 * US);
    assert_int_equal(graph->runtime_ps[2], 3 * US);
    assert_true(has_edge(graph, 1, 2) && has_edge(graph, 3, 2));
}

// The other thread's first call comes 4 us behind the operator that ended last before it; the main
// thread's pause of 2 ms is what it waited for the other.
static void threads_wait_for_each_other(void **state)
{
    (void)state;
    one_rank();
    add_event(0, "cpu_op", "first", MAIN, 0, 20, "");
    add_kernel(0, OTHER, 24, 40, 50, "a", 7, 1, "");
    add_event(0, "cpu_op", "later", MAIN, 2020, 2030, "");
    struct weft_chakra_job chakra = read_closed();
    const struct weft_taskgraph *graph = &chakra.graph;
    assert_int_equal(graph->task_count, 4); // first, call, kernel, later
    assert_int_equal(graph->runtime_ps[0], 20 * US);
    assert_int_equal(graph->runtime_ps[1], 9 * US);
    assert_int_equal(graph->runtime_ps[3], 2001 * US); // from the call's end on
    assert_true(has_edge(graph, 0, 1) && has_edge(graph, 0, 3) && has_edge(graph, 1, 3));
}

static const char wait_stated[] =
    "\"correlation\": 31, \"device\": 0, \"stream\": 8, \"wait_on_stream\": 7, "
    "\"wait_on_cuda_event_record_corr_id\": 30";

// The event was recorded between the first and the second kernel of the other stream.
static void add_waiting(bool stated)
{
    one_rank();
    add_kernel(0, MAIN, 10, 20, 30, "a", 7, 1, "");
    add_event(0, "cuda_runtime", "cudaEventRecord", MAIN, 16, 17, "\"correlation\": 30");
    add_kernel(0, MAIN, 18, 30, 40, "b", 7, 2, "");
    add_event(0, "cuda_runtime", "cudaStreamWaitEvent", MAIN, 24, 25, "\"correlation\": 31");
    add_kernel(0, MAIN, 26, 45, 60, "c", 8, 3, "");
    if (stated) {
        add_event(0, "cuda_sync", "Stream Wait Event", GPU, 24, 25, wait_stated);
    }
}

static void waits_of_streams_are_stated_or_inferred(void **state)
{
    (void)state;
    add_waiting(true);
    struct weft_chakra_job chakra = read_closed();
    // Calls stand at 10, 18 and 26, kernels at 20, 30 and 45.
    assert_int_equal(chakra.joined.stated_count, 1);
    assert_true(has_edge(&chakra.graph, 2, 5) && !has_edge(&chakra.graph, 4, 5));
    begin(state);
    add_waiting(false);
    chakra = read_closed();
    assert_int_equal(chakra.joined.inferred_count, 1);
    assert_true(has_edge(&chakra.graph, 4, 5) && !has_edge(&chakra.graph, 2, 5));
    begin(state);
    one_rank();
    add_kernel(0, MAIN, 10, 20, 30, "a", 7, 1, "");
    add_event(0, "cuda_runtime", "cudaStreamWaitEvent", MAIN, 16, 17, "");
    chakra = read_closed();
    assert_int_equal(chakra.joined.open_count, 1);
}

// ---- collectives ----

static void add_collective(uint32_t slot, const char *args)
{
    add_kernel(slot, MAIN, 10, 20, 30, "ncclDevKernel_Any", 7, 1, args);
}

// Two ranks with the same arguments of a kernel.
static struct weft_chakra_job read_both(const char *args)
{
    for (uint32_t r = 0; r < 2; r++) {
        open_trace(r);
        add_collective(r, args);
        trace.json[r] = close_trace(r);
    }
    return read_good();
}

static void collectives_have_bytes_and_groups(void **state)
{
    static const struct {
        const char *args;
        enum weft_task_kind kind;
        uint64_t bytes;
        uint32_t approximated;
    } rows[] = {
        {", \"Collective name\": \"allreduce\", \"dtype\": \"BFloat16\", \"In msg nelems\": 100, "
         "\"Group size\": 2, \"Process Group Name\": \"0\"",
         WEFT_TASK_ALLREDUCE, 200, 0},
        {", \"Collective name\": \"_allgather_base\", \"dtype\": \"Long\", \"In msg nelems\": "
         "\"100\", \"Process Group Name\": \"tp\", \"Process Group Ranks\": \"[1, 0]\"",
         WEFT_TASK_ALL_GATHER, 1600, 0},
        {", \"Collective name\": \"_reduce_scatter_base\", \"dtype\": \"Float8_e4m3fn\", "
         "\"In msg nelems\": 100, \"Process Group Name\": \"tp\", \"Process Group Ranks\": [0, 1]",
         WEFT_TASK_REDUCE_SCATTER, 100, 0},
        {", \"Collective name\": \"broadcast\", \"dtype\": \"Int\", \"In msg nelems\": 100, "
         "\"Group size\": 2, \"Process Group Name\": \"0\"",
         WEFT_TASK_ALLREDUCE, 200, 1},
        {", \"Collective name\": \"barrier\", \"Group size\": 2", WEFT_TASK_ALLREDUCE, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin(state);
        struct weft_chakra_job chakra = read_both(rows[i].args);
        uint32_t task = 2; // behind the calls
        assert_int_equal(chakra.graph.task_count, 3);
        assert_int_equal(chakra.graph.kind[task], rows[i].kind);
        assert_int_equal(chakra.graph.size_bytes[task], rows[i].bytes);
        assert_int_equal(chakra.approximated_count, rows[i].approximated);
        assert_int_equal(chakra.joined.message_count, 2);
        assert_int_equal(chakra.graph.device_count, 2); // of the threads alone
    }
}

// One rank sends what the other receives; the host's trace has the sizes.
static void messages_and_the_hosts_words(void **state)
{
    (void)state;
    open_trace(0);
    add_collective(0, ", \"Collective name\": \"send\", \"Dst Rank\": 1, \"External id\": 5");
    add_event(0, "cpu_op", "record_param_comms", MAIN, 8, 18,
              "\"External id\": 5, \"Record function id\": 6");
    trace.json[0] = close_trace(0);
    trace.host[0] = "{\"schema\": \"1.1.1-chakra.0.0.4\", \"pid\": 1, \"nodes\": [{\"id\": 3, "
                    "\"attrs\": [{\"name\": \"rf_id\", \"value\": 6}, {\"name\": "
                    "\"in_msg_nelems\", \"value\": 25}, {\"name\": \"dtype\", \"value\": "
                    "\"Float\"}]}, {\"rf_id\": 77}, {\"rf_id\": 0}]}";
    open_trace(1);
    add_collective(1, ", \"Collective name\": \"recv\", \"Src Rank\": 0, \"dtype\": \"Float\", "
                      "\"Out msg nelems\": 25");
    trace.json[1] = close_trace(1);
    struct weft_chakra_job chakra = read_good();
    uint32_t transfers = 0;
    for (uint32_t t = 0; t < chakra.graph.task_count; t++) {
        transfers += chakra.graph.kind[t] == WEFT_TASK_TRANSFER;
        assert_true(chakra.graph.kind[t] != WEFT_TASK_TRANSFER ||
                    (chakra.graph.from[t] == 0 && chakra.graph.size_bytes[t] == 100));
    }
    assert_int_equal(transfers, 1);
    assert_int_equal(chakra.joined.host_count, 1);
    assert_int_equal(chakra.joined.operator_count, 1);
    assert_int_equal(chakra.joined.lost_count, 1);
}

// ---- bad input ----

static void what_cannot_be_joined_is_refused(void **state)
{
#define KERNEL "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": 1, \"dur\": 2"
#define ENTRY(text) "{\"traceEvents\": [" text "]}"
    static const char *const documents[][2] = {
        {"{\"traceEvents\": 3}", "traceEvents: of another type; write an array"},
        {ENTRY(""), "holds no kernels; record it with ProfilerActivity.CUDA, too"},
        {ENTRY("{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\"}"),
         "event 0 'a': ts: missing; write a number"},
        {ENTRY("7, " KERNEL ", \"args\": {}}"),
         "event 1 'k': no call of the trace launched it, as if it began before the trace"},
        {ENTRY(KERNEL "}, {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": 1e14, "
                      "\"dur\": 2}"),
         "event 1 'k': ends more than 104 days behind the first event"},
        {ENTRY("{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": 1, \"dur\": -2}"),
         "event 0 'k': dur: -2 is not from 0 to 9e+12"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof documents / sizeof documents[0]; i++) {
        char expected[256];
        begin(state);
        craft_begin(&trace, 1);
        trace.json[0] = documents[i][0];
        snprintf(expected, sizeof expected, "rank 0: %s", documents[i][1]);
        expect_refusal(expected, WEFT_INPUT);
    }
}

static void what_a_collective_lacks_is_named(void **state)
{
    static const char *const rows[][2] = {
        {"", "name"},
        {", \"Collective name\": \"coalesced\"", "name"},
        {", \"Collective name\": \"allreduce\", \"dtype\": \"Float\"", "number of elements"},
        {", \"Collective name\": \"allreduce\", \"dtype\": \"QInt8\", \"In msg nelems\": 1",
         "type of elements"},
        {", \"Collective name\": \"allreduce\", \"dtype\": \"Float\", \"In msg nelems\": 1",
         "group"},
        {", \"Collective name\": \"send\", \"dtype\": \"Float\", \"In msg nelems\": 1", "peer"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char expected[256];
        begin(state);
        one_rank();
        add_collective(0, rows[i][0]);
        trace.json[0] = close_trace(0);
        snprintf(expected, sizeof expected,
                 "rank 0: event 1 'ncclDevKernel_Any': communicates, but neither it nor its "
                 "operator, nor that in a trace of the host, states a %s that Weft knows",
                 rows[i][1]);
        expect_refusal(expected, WEFT_INPUT);
        trace.lenient = true;
        struct weft_chakra_job chakra = read_good();
        assert_int_equal(chakra.joined.unsized_count, 1);
        assert_int_equal(chakra.graph.runtime_ps[1], 10 * US); // as it was recorded
    }
}

static void lenient_readings_take_kernels_without_a_call(void **state)
{
    (void)state;
    one_rank();
    trace.lenient = true;
    trace.json[0] = ENTRY(KERNEL ", \"args\": {\"correlation\": 4}}");
    struct weft_chakra_job chakra = read_good();
    assert_int_equal(chakra.joined.unlaunched_count, 1);
    assert_int_equal(chakra.graph.task_count, 1);
}

static void bad_hosts_are_refused(void **state)
{
    static const char *const rows[][2] = {
        {"{", "the host's trace: line 1: not JSON: string or '}' expected near end of file"},
        {"{}", "the host's trace: nodes: missing; write an array"},
        {"{\"nodes\": [{\"rf_id\": 5}, {\"attrs\": [{\"name\": \"rf_id\", \"value\": 6}]}]}",
         "none of the 2 operators of the host's trace is in Kineto's: they are not of one run"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char expected[256];
        begin(state);
        one_rank();
        add_kernel(0, MAIN, 10, 20, 30, "a", 7, 1, "");
        trace.json[0] = close_trace(0);
        trace.host[0] = rows[i][0];
        snprintf(expected, sizeof expected, "rank 0: %s", rows[i][1]);
        expect_refusal(expected, WEFT_INPUT);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, begin)
    const struct CMUnitTest tests[] = {
        TEST(kernels_wait_for_calls_and_streams),
        TEST(streams_run_side_by_side),
        TEST(synchronization_waits_for_streams),
        TEST(threads_wait_for_each_other),
        TEST(waits_of_streams_are_stated_or_inferred),
        TEST(collectives_have_bytes_and_groups),
        TEST(messages_and_the_hosts_words),
        TEST(what_cannot_be_joined_is_refused),
        TEST(what_a_collective_lacks_is_named),
        TEST(lenient_readings_take_kernels_without_a_call),
        TEST(bad_hosts_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
