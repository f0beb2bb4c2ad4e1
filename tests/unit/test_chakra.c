// SPDX-License-Identifier: Apache-2.0
// Chakra traces of hand-written bytes: what they become, and what is refused with which words.

#include "chakra_fixture.h"

static uint32_t kind_count(const struct weft_taskgraph *graph, enum weft_task_kind kind)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        count += graph->kind[t] == kind;
    }
    return count;
}

// ---- what becomes of nodes ----

static void compute_waits_for_compute(void **state)
{
    (void)state;
    craft_node(&trace, 0, 7, "first", 4);
    craft_duration(&trace, 0, 3);
    craft_node(&trace, 0, 9, "second", 4);
    craft_duration(&trace, 0, 5);
    craft_data_dep(&trace, 0, 7);
    craft_field(&trace, 0, 11, 1); // a field that Weft does not know
    craft_node(&trace, 1, 8, "other", 4);
    craft_duration(&trace, 1, 1);
    struct weft_chakra_job chakra = read_good();
    assert_int_equal(chakra.graph.task_count, 3); // ids 7, 8, 9
    assert_int_equal(chakra.graph.runtime_ps[0], 3000000);
    assert_int_equal(chakra.graph.runtime_ps[2], 5000000);
    assert_int_equal(chakra.graph.device[1], 1);
    assert_true(has_edge(&chakra.graph, 0, 2));
    assert_int_equal(chakra.graph.kind[0], WEFT_TASK_FORWARD);
}

static void control_dependencies_count(void **state)
{
    (void)state;
    const uint8_t packed[] = {1, 2};
    craft_node(&trace, 0, 1, "a", 4);
    craft_node(&trace, 0, 2, "b", 4);
    craft_node(&trace, 0, 3, "c", 4);
    struct craft_rank *file = &trace.ranks[0];
    file->node_length += craft_bytes(file->node + file->node_length, 4, packed, sizeof packed);
    craft_data_dep(&trace, 0, 2); // twice the same
    struct weft_chakra_job chakra = read_good();
    assert_true(has_edge(&chakra.graph, 0, 2) && has_edge(&chakra.graph, 1, 2));
    assert_int_equal(chakra.graph.prev_count[2], 2);
}

// ASTRA-sim's custom collectives give sends and receives a comm_type of 5 or 6; there it is no
// collective.
static void messages_become_transfers(void **state)
{
    (void)state;
    craft_send(&trace, 0, 0, 1, 100, 5);
    craft_attr(&trace, 0, "comm_type", 5);
    craft_recv(&trace, 1, 0, 0, 100, 5);
    craft_attr(&trace, 1, "comm_type", 6);
    craft_node(&trace, 1, 1, "uses it", 4);
    craft_data_dep(&trace, 1, 0);
    struct weft_chakra_job chakra = read_good();
    assert_int_equal(chakra.graph.task_count, 2);
    assert_int_equal(chakra.graph.kind[0], WEFT_TASK_TRANSFER);
    assert_int_equal(chakra.graph.size_bytes[0], 100);
    assert_int_equal(chakra.graph.from[0], 0);
    assert_int_equal(chakra.graph.to[0], 1);
    assert_true(has_edge(&chakra.graph, 0, 1));
}

static void equal_tags_match_in_order_of_ids(void **state)
{
    (void)state;
    craft_send(&trace, 0, 8, 1, 800, 0);
    craft_send(&trace, 0, 3, 1, 300, 0);
    craft_recv(&trace, 1, 1, 0, 300, 0);
    craft_recv(&trace, 1, 2, 0, 800, 0);
    craft_node(&trace, 1, 4, "uses the second", 4);
    craft_data_dep(&trace, 1, 2);
    struct weft_chakra_job chakra = read_good();
    assert_int_equal(chakra.graph.task_count, 3); // send 3, compute 4, send 8
    assert_int_equal(chakra.graph.size_bytes[2], 800);
    assert_true(has_edge(&chakra.graph, 2, 1));
}

// Both ranks send before they receive, as in a ring: no cycle.
static void a_receive_does_not_hold_up_its_message(void **state)
{
    (void)state;
    for (uint32_t r = 0; r < 2; r++) {
        craft_send(&trace, r, 0, 1 - r, 64, 0);
        craft_recv(&trace, r, 1, 1 - r, 64, 0);
        craft_data_dep(&trace, r, 0);
        craft_node(&trace, r, 2, "reduce", 4);
        craft_data_dep(&trace, r, 1);
    }
    struct weft_chakra_job chakra = read_good();
    const struct weft_taskgraph *graph = &chakra.graph;
    assert_int_equal(graph->task_count, 6); // two transfers, two joins, two computations
    assert_int_equal(kind_count(graph, WEFT_TASK_BARRIER), 2);
    // tasks 0, 1: sends of rank 0, 1; 2, 3: receives
    assert_true(has_edge(graph, 0, 2) && has_edge(graph, 1, 2));
    assert_true(has_edge(graph, 0, 3) && has_edge(graph, 1, 3));
    assert_true(has_edge(graph, 2, 4) && has_edge(graph, 3, 5));
}

static void numbers_of_every_type_are_read(void **state)
{
    (void)state;
    static const struct {
        uint32_t field;
        uint64_t value;
    } types[] = {{7, 12}, {9, 12}, {11, 12}, {13, 12}, {15, 24}, {17, 24}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        begin(state);
        craft_node(&trace, 0, 1, "send", 5);
        craft_typed(&trace, 0, "comm_size", types[i].field, types[i].value);
        craft_typed(&trace, 0, "comm_dst", 11, 1);
        craft_recv(&trace, 1, 1, 0, 12, 0);
        struct weft_chakra_job chakra = read_good();
        assert_int_equal(chakra.graph.size_bytes[0], 12);
    }
}

static void collectives_match_by_name(void **state)
{
    (void)state;
    // The ranks have them in another order of ids.
    craft_collective(&trace, 0, 1, "first", 0, 1000);
    craft_collective(&trace, 0, 2, "second", 0, 2000);
    craft_collective(&trace, 1, 6, "second", 0, 2000);
    craft_collective(&trace, 1, 7, "first", 0, 1000);
    struct weft_chakra_job chakra = read_good();
    assert_int_equal(chakra.graph.task_count, 2);
    assert_int_equal(chakra.graph.size_bytes[0], 1000);
    assert_int_equal(chakra.graph.size_bytes[1], 2000);
    assert_int_equal(chakra.graph.group_count, 1);
    assert_int_equal(chakra.graph.group_first[1], 2);
    assert_int_equal(chakra.approximated_count, 0);
}

static void collectives_match_by_order_where_names_differ(void **state)
{
    (void)state;
    craft_collective(&trace, 0, 1, "rank 0, a", 0, 1000);
    craft_collective(&trace, 0, 2, "rank 0, b", 0, 2000);
    craft_collective(&trace, 1, 3, "rank 1, a", 0, 1000);
    craft_collective(&trace, 1, 4, "rank 1, b", 0, 2000);
    struct weft_chakra_job chakra = read_good();
    assert_int_equal(chakra.graph.task_count, 2);
    assert_int_equal(chakra.graph.size_bytes[1], 2000);
}

static void groups_come_from_the_json(void **state)
{
    (void)state;
    craft_begin(&trace, 3);
    trace.groups = "{\"4\": [2, 0], \"5\": [1]}";
    craft_collective(&trace, 0, 1, "pair", 0, 64);
    craft_text(&trace, 0, "pg_name", "4");
    craft_collective(&trace, 2, 1, "pair", 0, 64);
    craft_text(&trace, 2, "pg_name", "4");
    craft_collective(&trace, 1, 2, "alone", 0, 32);
    craft_text(&trace, 1, "pg_name", "5");
    struct weft_chakra_job chakra = read_good();
    const struct weft_taskgraph *graph = &chakra.graph;
    assert_int_equal(graph->task_count, 2);
    assert_int_equal(graph->group_first[1], 2);
    assert_int_equal(graph->group_members[0], 2); // as listed
    assert_int_equal(graph->group_members[1], 0);
    assert_int_equal(graph->group_members[2], 1);
}

static void groups_come_from_metadata(void **state)
{
    (void)state;
    static const char values[] =
        "[\"[{\"pg_name\": \"0\", \"ranks\": []}, {\"pg_name\": \"3\", \"ranks\": [0, 2]}]\"]";
    craft_begin(&trace, 3);
    for (uint32_t r = 0; r < 3; r += 2) {
        craft_node(&trace, r, 1, "## process_group:init ##", 1);
        uint8_t inputs[256];
        size_t length = craft_bytes(inputs, 1, values, strlen(values));
        struct craft_rank *file = &trace.ranks[r];
        file->node_length += craft_bytes(file->node + file->node_length, 8, inputs, length);
        craft_collective(&trace, r, 2, "pair", 0, 64);
        craft_text(&trace, r, "pg_name", "3");
    }
    struct weft_chakra_job chakra = read_good();
    assert_int_equal(chakra.graph.task_count, 1); // METADATA that joins nothing is left out
    assert_int_equal(chakra.skipped_count, 2);
    assert_int_equal(chakra.graph.group_first[1], 2);
    assert_int_equal(chakra.graph.group_members[1], 2);
}

static void collectives_keep_their_wire_bytes(void **state)
{
    (void)state;
    // k = 2: an all-gather states a shard. A broadcast of S puts S on the wire, an AllReduce of A
    // 2 A.
    static const struct {
        uint32_t type;
        uint64_t bytes;
        enum weft_task_kind kind;
        uint32_t approximated_count;
    } cases[] = {{0, 1000, WEFT_TASK_ALLREDUCE, 0},      {7, 1000, WEFT_TASK_REDUCE_SCATTER, 0},
                 {8, 1000, WEFT_TASK_REDUCE_SCATTER, 0}, {2, 2000, WEFT_TASK_ALL_GATHER, 0},
                 {5, 500, WEFT_TASK_ALLREDUCE, 1},       {1, 500, WEFT_TASK_ALLREDUCE, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin(state);
        craft_collective(&trace, 0, 1, "c", cases[i].type, 1000);
        craft_collective(&trace, 1, 1, "c", cases[i].type, 1000);
        struct weft_chakra_job chakra = read_good();
        assert_int_equal(chakra.graph.kind[0], cases[i].kind);
        assert_int_equal(chakra.graph.size_bytes[0], cases[i].bytes);
        assert_int_equal(chakra.approximated_count, cases[i].approximated_count);
    }
}

static void an_all_to_all_becomes_transfers(void **state)
{
    (void)state;
    craft_begin(&trace, 3);
    for (uint32_t r = 0; r < 3; r++) {
        craft_node(&trace, r, 1, "before", 4);
        craft_collective(&trace, r, 2, "a2a", 6, 300 * (r + 1)); // each has its own bytes
        craft_data_dep(&trace, r, 1);
        craft_node(&trace, r, 3, "behind", 4);
        craft_data_dep(&trace, r, 2);
    }
    struct weft_chakra_job chakra = read_good();
    const struct weft_taskgraph *graph = &chakra.graph;
    assert_int_equal(kind_count(graph, WEFT_TASK_TRANSFER), 6);
    assert_int_equal(kind_count(graph, WEFT_TASK_BARRIER), 6);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (graph->kind[t] == WEFT_TASK_TRANSFER) {
            assert_int_equal(graph->size_bytes[t], 100 * (graph->from[t] + 1));
            // a transfer waits for its sender's barrier, its receiver's barrier for it
            assert_true(has_edge(graph, 3 + graph->from[t], t));
            assert_true(has_edge(graph, t, 6 + graph->to[t]));
        }
    }
    assert_true(has_edge(graph, 1, 4)); // rank 1: before -> its barrier
}

static void work_without_a_duration_takes_the_roofline(void **state)
{
    (void)state;
    craft_node(&trace, 0, 1, "bound by operations", 4);
    craft_attr(&trace, 0, "num_ops", 2000000);
    craft_typed(&trace, 0, "tensor_size", 13, 1000);
    craft_node(&trace, 0, 2, "bound by memory", 4);
    craft_attr(&trace, 0, "num_ops", 1);
    craft_typed(&trace, 0, "tensor_size", 13, 3000000);
    struct weft_chakra_job chakra = read_good();
    assert_int_equal(chakra.untimed_count, 2);
    assert_int_equal(chakra.graph.runtime_ps[0], 0);
    trace.flops_per_s = 1e12;
    trace.memory_Bps = 1e12;
    chakra = read_good();
    assert_int_equal(chakra.untimed_count, 0);
    assert_int_equal(chakra.graph.runtime_ps[0], 2000000);
    assert_int_equal(chakra.graph.runtime_ps[1], 3000000);
}

static void the_host_is_a_device_of_its_own(void **state)
{
    (void)state;
    craft_node(&trace, 1, 1, "on the CPU", 4);
    craft_typed(&trace, 1, "is_cpu_op", 27, 1);
    craft_duration(&trace, 1, 4);
    craft_node(&trace, 1, 2, "load", 2);
    craft_duration(&trace, 1, 2);
    craft_node(&trace, 1, 3, "on the GPU", 4);
    craft_duration(&trace, 1, 9);
    struct weft_chakra_job chakra = read_good();
    assert_int_equal(chakra.graph.device_count, 3);
    assert_int_equal(chakra.graph.device_server[2], 1);
    assert_int_equal(chakra.graph.device[0], 2);
    assert_int_equal(chakra.graph.device[1], 2);
    assert_int_equal(chakra.graph.device[2], 1);
    assert_int_equal(chakra.graph.kind[0], WEFT_TASK_LOCAL);
}

// A head of Weft's own that states the rank's server: a message of one attribute.
static void state_server(uint32_t rank, uint8_t server)
{
    struct craft_rank *file = &trace.ranks[rank];
    uint8_t attribute[32];
    size_t length = craft_bytes(attribute, 1, "weft_server", 11);
    length += craft_number(attribute + length, 13, server);
    uint8_t head[64];
    size_t size = craft_bytes(head, 2, attribute, length);
    file->data[0] = (uint8_t)size;
    memcpy(file->data + 1, head, size);
    file->length = 1 + size;
}

static void further_ranks_are_devices_of_their_server(void **state)
{
    (void)state;
    craft_begin(&trace, 3);
    for (uint8_t rank = 0; rank < 3; rank++) {
        state_server(rank, rank == 2 ? 1 : rank);
        craft_node(&trace, rank, rank, "work", 4);
        craft_duration(&trace, rank, 1);
    }
    struct weft_chakra_job chakra = read_good();
    assert_int_equal(chakra.graph.server_count, 2);
    assert_int_equal(chakra.graph.device_count, 3);
    assert_int_equal(chakra.graph.device_server[2], 1);
    craft_send(&trace, 2, 7, 0, 10, 0); // leaves from its server
    craft_recv(&trace, 0, 7, 2, 10, 0);
    chakra = read_good();
    assert_int_equal(chakra.graph.from[3], 1);
    state_server(1, 0); // no server 1, then
    trace.ranks[1].open = false;
    expect_refusal("rank 2: weft_server: no server of a rank before this", WEFT_INPUT);
    state_server(2, 2);
    trace.ranks[2].open = false;
    expect_refusal("rank 2: weft_server: a server stands behind further ranks of others",
                   WEFT_INPUT);
}

// ---- what is refused ----

static void bytes_that_are_no_trace_are_refused(void **state)
{
    (void)state;
    struct craft_rank *file = &trace.ranks[1];
    file->length = 0;
    expect_refusal("rank 1: byte 0: no message begins here; the file is cut or no trace",
                   WEFT_INPUT);
    memcpy(file->data, "\x09\x0a\x05", 3);
    file->length = 3;
    expect_refusal("rank 1: byte 0: a message of 9 bytes, but 2 are left; the file is cut or no "
                   "trace",
                   WEFT_INPUT);
    memcpy(file->data, "\x00\x02\xff\xff", 4);
    file->length = 4;
    expect_refusal("rank 1: node 0 in the file: its bytes are no node; the file is damaged",
                   WEFT_INPUT);
}

static void nodes_that_are_not_there_are_named(void **state)
{
    (void)state;
    craft_node(&trace, 0, 3, "late", 4);
    craft_data_dep(&trace, 0, 9);
    expect_refusal("rank 0: node 3 'late': waits for node 9, which the trace of its rank lacks",
                   WEFT_INPUT);
    begin(state);
    craft_node(&trace, 0, 3, "a", 4);
    craft_node(&trace, 0, 3, "b", 4);
    expect_refusal("rank 0: node 3 'b': has the id of 'a'; give each its own", WEFT_INPUT);
}

static void cycles_are_named(void **state)
{
    (void)state;
    craft_node(&trace, 0, 1, "me", 4);
    craft_data_dep(&trace, 0, 1);
    expect_refusal("rank 0: node 1 'me': waits for itself", WEFT_INPUT);
    begin(state);
    for (uint32_t r = 0; r < 2; r++) {
        craft_recv(&trace, r, 1, 1 - r, 8, 0);
        craft_send(&trace, r, 2, 1 - r, 8, 0);
        craft_data_dep(&trace, r, 1);
    }
    expect_refusal("rank 1: node 2 'send': is on a cycle: it waits for node 2 'send' of rank 0, "
                   "which waits for it in turn",
                   WEFT_INPUT);
}

static void messages_without_their_other_end_are_named(void **state)
{
    (void)state;
    craft_send(&trace, 0, 4, 1, 8, 2);
    expect_refusal("rank 0: node 4 'send': sends to rank 1 with tag 2, but nothing there receives "
                   "it",
                   WEFT_INPUT);
    craft_recv(&trace, 1, 5, 0, 8, 3);
    expect_refusal("rank 0: node 4 'send': sends to rank 1 with tag 2, but nothing there receives "
                   "it",
                   WEFT_INPUT);
    begin(state);
    craft_recv(&trace, 1, 5, 0, 8, 3);
    expect_refusal("rank 1: node 5 'recv': receives from rank 0 with tag 3, but nothing there "
                   "sends it",
                   WEFT_INPUT);
    begin(state);
    craft_send(&trace, 0, 4, 1, 8, 2);
    craft_recv(&trace, 1, 5, 0, 9, 2);
    expect_refusal("rank 1: node 5 'recv': receives 9 bytes, but node 4 of rank 0 sends 8",
                   WEFT_INPUT);
    begin(state);
    craft_send(&trace, 0, 4, 2, 8, 2);
    expect_refusal("rank 0: node 4 'send': its comm_dst is rank 2, but ranks are 0 to 1",
                   WEFT_INPUT);
    begin(state);
    craft_node(&trace, 0, 4, "send", 5);
    expect_refusal("rank 0: node 4 'send': it lacks comm_dst", WEFT_INPUT);
    begin(state);
    craft_send(&trace, 0, 4, 1, 8, 2);
    craft_attr(&trace, 0, "comm_src", 1);
    expect_refusal("rank 0: node 4 'send': its comm_src is rank 1; it belongs into the trace of "
                   "that",
                   WEFT_INPUT);
}

static void collectives_that_lack_a_member_are_named(void **state)
{
    (void)state;
    craft_collective(&trace, 0, 1, "c", 0, 8);
    expect_refusal("rank 0: node 1 'c': its rank takes part in 1 collectives of its group, rank 1 "
                   "in 0; each member needs a node for each",
                   WEFT_INPUT);
    craft_collective(&trace, 1, 1, "c", 0, 9);
    expect_refusal("rank 1: node 1 'c': has comm_type 0 and comm_size 9, but node 1 'c' of rank 0, "
                   "the same collective, 0 and 8",
                   WEFT_INPUT);
    begin(state);
    craft_collective(&trace, 0, 1, "c", 0, 8);
    craft_text(&trace, 0, "pg_name", "7");
    expect_refusal("rank 0: node 1 'c': is of process group '7', which is not known; give its "
                   "ranks as {\"7\": [0, 1]} in PREFIX.json or in a file of groups",
                   WEFT_INPUT);
    trace.groups = "{\"7\": [1]}";
    expect_refusal("rank 0: node 1 'c': its rank is no member of its process group '7'",
                   WEFT_INPUT);
}

static void collectives_beyond_words_are_refused(void **state)
{
    (void)state;
    const uint8_t dimensions[] = {8, 1, 8, 0}; // true, false
    craft_collective(&trace, 0, 1, "c", 0, 8);
    craft_blob(&trace, 0, "involved_dim", 28, dimensions, sizeof dimensions);
    expect_refusal("rank 0: node 1 'c': involved_dim leaves out dimension 1 of a topology that the "
                   "trace does not state; name the ranks by pg_name",
                   WEFT_UNSUPPORTED);
    begin(state);
    craft_collective(&trace, 0, 1, "g", 3, 8);
    craft_collective(&trace, 1, 1, "g", 3, 8);
    expect_refusal("rank 0: node 1 'g': is a gather, whose root the trace does not state; write it "
                   "as sends and receives",
                   WEFT_UNSUPPORTED);
    begin(state);
    craft_collective(&trace, 0, 1, "c", 12, 8);
    expect_refusal("rank 0: node 1 'c': its comm_type 12 is none of 0 to 9", WEFT_INPUT);
}

static void values_out_of_range_are_named(void **state)
{
    (void)state;
    craft_node(&trace, 0, 1, "n", 4);
    craft_typed(&trace, 0, "comm_size", 9, UINT64_MAX); // -1
    expect_refusal("rank 0: node 1 'n': comm_size is no whole number from 0 to "
                   "9223372036854775807",
                   WEFT_INPUT);
    begin(state);
    craft_node(&trace, 0, 1, "n", 4);
    craft_text(&trace, 0, "comm_tag", "one");
    expect_refusal("rank 0: node 1 'n': comm_tag is no whole number from 0 to 4294967294",
                   WEFT_INPUT);
    begin(state);
    craft_node(&trace, 0, 1, "n", 4);
    craft_duration(&trace, 0, UINT64_MAX);
    expect_refusal("rank 0: node 1 'n': it lasts 18446744073709551615 us; at most 104 days",
                   WEFT_INPUT);
    begin(state);
    craft_node(&trace, 0, 1, "n", 4);
    craft_text(&trace, 0, "weft_kind", "sideways");
    expect_refusal("rank 0: node 1 'n': weft_kind: 'sideways' is none that Weft writes",
                   WEFT_INPUT);
}

static void bad_groups_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *groups;
        const char *expected;
    } cases[] = {
        {"{\"1\": [0, 2]}", "groups: group '1': [1]: not a whole number below 2"},
        {"{\"1\": [1, 1]}", "groups: group '1': names rank 1 twice"},
        {"{\"1\": 0}", "groups: group '1': is no list of ranks; write [0, 1]"},
        {"[1]", "groups: line 1: not a JSON object; it should start with {"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin(state);
        trace.groups = cases[i].groups;
        expect_refusal(cases[i].expected, WEFT_INPUT);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, begin)
    const struct CMUnitTest tests[] = {
        TEST(compute_waits_for_compute),
        TEST(control_dependencies_count),
        TEST(messages_become_transfers),
        TEST(equal_tags_match_in_order_of_ids),
        TEST(a_receive_does_not_hold_up_its_message),
        TEST(numbers_of_every_type_are_read),
        TEST(collectives_match_by_name),
        TEST(collectives_match_by_order_where_names_differ),
        TEST(groups_come_from_the_json),
        TEST(groups_come_from_metadata),
        TEST(collectives_keep_their_wire_bytes),
        TEST(an_all_to_all_becomes_transfers),
        TEST(work_without_a_duration_takes_the_roofline),
        TEST(the_host_is_a_device_of_its_own),
        TEST(further_ranks_are_devices_of_their_server),
        TEST(bytes_that_are_no_trace_are_refused),
        TEST(nodes_that_are_not_there_are_named),
        TEST(cycles_are_named),
        TEST(messages_without_their_other_end_are_named),
        TEST(collectives_that_lack_a_member_are_named),
        TEST(collectives_beyond_words_are_refused),
        TEST(values_out_of_range_are_named),
        TEST(bad_groups_are_named),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
