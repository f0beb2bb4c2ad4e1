// SPDX-License-Identifier: Apache-2.0
// Chakra traces as JSON, and lenient readings: what they become, and what is refused with which
// words.
//
// Seen to fail: a lenient reading that keeps a node's first dependency by its place in the file
// (dep_first not set anew), that does not count; JSON without the second spelling of names, with
// numbers cut to 32 bits.

#include "chakra_fixture.h"

// The second node waits for 1, which is there, behind two that are not.
static void lenient_readings_count_what_is_not_there(void **state)
{
    (void)state;
    craft_node(&trace, 0, 1, "first", 4);
    craft_data_dep(&trace, 0, 77);
    craft_node(&trace, 0, 2, "second", 4);
    craft_data_dep(&trace, 0, 78);
    craft_data_dep(&trace, 0, 1);
    craft_data_dep(&trace, 0, 79);
    craft_node(&trace, 0, 3, "third", 4);
    craft_data_dep(&trace, 0, 2);
    trace.lenient = true;
    struct weft_chakra_job chakra = read_good();
    assert_int_equal(chakra.dangling_count, 3);
    assert_int_equal(chakra.graph.task_count, 3);
    assert_true(has_edge(&chakra.graph, 0, 1) && has_edge(&chakra.graph, 1, 2));
    assert_int_equal(chakra.graph.prev_count[1], 1);
    begin(state);
    trace.lenient = true;
    craft_node(&trace, 0, 1, "me", 4);
    craft_data_dep(&trace, 0, 1);
    expect_refusal("rank 0: node 1 'me': waits for itself", WEFT_INPUT);
}

// ---- JSON ----

// Rank 0 as chakra_jsonizer writes it, rank 1 with names as they stand in the schema.
static void messages_as_json_are_a_trace(void **state)
{
    (void)state;
    trace.json[0] =
        "{\n  \"version\": \"0.0.4\"\n}{\"id\": \"7\", \"name\": \"a\", \"type\": "
        "\"COMP_NODE\", \"durationMicros\": \"3\", \"startTimeMicros\": \"1\"}"
        "{\"id\": \"8\", \"type\": \"COMM_SEND_NODE\", \"dataDeps\": [\"7\"], \"attr\": ["
        "{\"name\": \"comm_size\", \"int64Val\": \"5000000000\"}, {\"name\": "
        "\"comm_dst\", \"int32Val\": 1}, {\"name\": \"is_cpu_op\", \"boolVal\": false},"
        "{\"name\": \"shape\", \"int64List\": {\"values\": [\"4\"]}}]}\n";
    trace.json[1] = "{}{\"id\": 3, \"type\": 6, \"attr\": [{\"name\": \"comm_size\", "
                    "\"uint64_val\": 5000000000}, {\"name\": \"comm_src\", \"sint32_val\": 0}]}"
                    "{\"id\": 4, \"type\": 4, \"duration_micros\": 2, \"ctrl_deps\": [3]}";
    struct weft_chakra_job chakra = read_good();
    assert_int_equal(chakra.graph.task_count, 3); // ids 4, 7, 8
    assert_int_equal(chakra.graph.runtime_ps[1], 3000000);
    assert_int_equal(chakra.graph.runtime_ps[0], 2000000);
    assert_int_equal(chakra.graph.kind[2], WEFT_TASK_TRANSFER);
    assert_int_equal(chakra.graph.size_bytes[2], 5000000000);
    assert_true(has_edge(&chakra.graph, 1, 2) && has_edge(&chakra.graph, 2, 0));
}

static void the_feeders_json_is_a_trace(void **state)
{
    (void)state;
    trace.json[0] = "{\"workload_graph\": [{\"Id\": 1, \"Name\": \"a\", \"NodeType\": 4, "
                    "\"is_cpu_op\": false, \"runtime\": 5, \"data_deps\": []}, {\"Id\": 2, "
                    "\"Name\": \"r\", \"NodeType\": 7, \"is_cpu_op\": false, \"data_deps\": [1], "
                    "\"comm_type\": 0, \"comm_size\": 800, \"pg_name\": \"1\", "
                    "\"involved_dim\": [true], \"tensor_size\": 800}]}";
    trace.json[1] = "{\"workload_graph\": [{\"Id\": 9, \"Name\": \"r\", \"NodeType\": 7, "
                    "\"comm_type\": 0, \"comm_size\": 800, \"pg_name\": \"1\"}]}";
    trace.groups = "{\"1\": [1, 0]}";
    struct weft_chakra_job chakra = read_good();
    assert_int_equal(chakra.graph.task_count, 2);
    assert_int_equal(chakra.graph.runtime_ps[0], 5000000);
    assert_int_equal(chakra.graph.kind[1], WEFT_TASK_ALLREDUCE);
    assert_int_equal(chakra.graph.size_bytes[1], 800);
    assert_true(has_edge(&chakra.graph, 0, 1));
}

static void json_that_is_no_trace_is_refused(void **state)
{
    static const char *const texts[][2] = {
        {"", "rank 1: byte 0: no message begins here; the file is cut or no trace"},
        {"{}\n{\"id\": 1,}", "rank 1: line 2: not JSON: string or '}' expected near '}'"},
        {"{}\n\n{\"id\": \"x\"}",
         "rank 1: line 3: message 1: id: not of the type that the schema has"},
        {"{}{\"type\": 4294967300}",
         "rank 1: line 1: message 1: type: not of the type that the schema has"},
        {"{}{\"name\": 4}", "rank 1: line 1: message 1: name: not of the type that the schema has"},
        {"{}{\"dataDeps\": 4}", "rank 1: line 1: message 1: data_deps: not a list"},
        {"{}{\"data_deps\": [1, true]}",
         "rank 1: line 1: message 1: [1]: data_deps: not of the type that the schema has"},
        {"{}[]", "rank 1: line 1: message 1: Node: not an object"},
        {"{}{\"attr\": [{\"name\": \"comm_size\", \"int64Val\": \"-5\"}]}",
         "rank 1: node 0 '': comm_size is no whole number from 0 to 9223372036854775807"},
        {"{\"workload_graph\": 3}", "rank 1: line 1: workload_graph: not a list of nodes"},
        {"{\"workload_graph\": [{\"Id\": 1}, 4]}", "rank 1: line 1: node 1: no object with an Id"},
        {"{\"nodes\": []}",
         "rank 1: line 1: is PyTorch's trace of the host, which states no times; "
         "put Kineto's beside it, in a folder of both"},
    };
    (void)state;
    trace.json[0] = "{}";
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        trace.json[1] = texts[i][0];
        expect_refusal(texts[i][1], WEFT_INPUT);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, begin)
    const struct CMUnitTest tests[] = {
        TEST(lenient_readings_count_what_is_not_there),
        TEST(messages_as_json_are_a_trace),
        TEST(the_feeders_json_is_a_trace),
        TEST(json_that_is_no_trace_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
