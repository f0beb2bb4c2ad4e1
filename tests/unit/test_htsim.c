// SPDX-License-Identifier: Apache-2.0
// htsim's traffic matrices and topologies: what they mean, and what is refused.

#include "loads_case.h"

// A matrix and its task graph.
struct load {
    struct weft_matrix matrix;
    struct weft_taskgraph graph;
};

static bool read_matrix(struct load *load, const char *text, struct weft_error *error)
{
    char *copy = exact(text, strlen(text));
    bool good = weft_matrix_read(&load->matrix, copy, strlen(text), &arena, scratch_kept, error) &&
                weft_matrix_lower(&load->graph, &load->matrix, &arena, scratch_kept, error);
    free(copy);
    return good;
}

static struct load need_matrix(const char *text)
{
    struct load load;
    struct weft_error error;
    if (!read_matrix(&load, text, &error)) {
        fail_msg("%s", error.message);
    }
    return load;
}

// Starts are picoseconds, whole or not; sizes may pass 2^31.
static void connections_start_at_their_picosecond(void **state)
{
    (void)state;
    const uint64_t *ends = NULL;
    struct load load = need_matrix("# made up\nNodes 4\nConnections 4\n"
                                   "0->1 start 0 size 1000000\r\n"
                                   "1->0 id 7 start 3000000 size 5000000000 prio 3\n"
                                   "2->3 id 8 start 1.5e6 size 1000\n"
                                   "3->2 size 1000 start 3000000\n\n");
    assert_int_equal(load.matrix.connection_count, 4);
    assert_int_equal(load.matrix.priority_count, 1);
    assert_int_equal(load.matrix.priority[1], 3);
    assert_int_equal(load.matrix.priority[0], WEFT_NONE);
    assert_true(load.graph.size_bytes[1] == 5000000000ull);
    assert_true(load.matrix.connections[2].start_ps == 1500000);
    play(&load.graph, &ends);
    assert_true(ends[0] == message_ps(1000000));
    assert_true(ends[1] == 3000000 + message_ps(5000000000ull));
    assert_true(ends[2] == 1500000 + message_ps(1000));
    assert_true(ends[3] == 3000000 + message_ps(1000));
}

static void triggers_start_what_waits_for_them(void **state)
{
    (void)state;
    const uint64_t *ends = NULL;
    struct load load = need_matrix("Nodes 16\nConnections 6\nTriggers 2\n"
                                   "0->1 id 1 start 0 size 1000000 send_done_trigger 1\n"
                                   "2->3 id 2 start 0 size 2000000 recv_done_trigger 9\n"
                                   "4->5 id 3 trigger 1 size 1000000 recv_done_trigger 9\n"
                                   "6->7 id 4 trigger 1 size 3000000\n"
                                   "8->9 id 5 trigger 9 size 1000\n"
                                   "10->11 id 6 trigger 9 size 1000\n"
                                   "trigger id 1 oneshot\n"
                                   "trigger id 9 barrier count 2\n");
    play(&load.graph, &ends);
    assert_true(ends[2] == 2 * message_ps(1000000));
    assert_true(ends[3] == message_ps(1000000) + message_ps(3000000));
    assert_true(ends[4] == ends[2] + message_ps(1000)); // the later of connections 2 and 3
    assert_true(ends[5] == ends[4]);
}

// Seen to fail when all predecessors were waited for (waits_for from prev_count alone).
static void each_activation_of_a_multishot_starts_the_next(void **state)
{
    (void)state;
    const uint64_t *ends = NULL;
    struct load load = need_matrix("Nodes 16\nConnections 5\nTriggers 1\n"
                                   "0->1 id 1 start 0 size 3000000 send_done_trigger 1\n"
                                   "2->3 id 2 start 0 size 1000000 send_done_trigger 1\n"
                                   "4->5 id 3 start 0 size 2000000 send_done_trigger 1\n"
                                   "6->7 id 4 trigger 1 size 1000\n"
                                   "8->9 id 5 trigger 1 size 1000\n"
                                   "trigger id 1 multishot\n");
    play(&load.graph, &ends);
    assert_true(ends[3] == message_ps(1000000) + message_ps(1000));
    assert_true(ends[4] == message_ps(2000000) + message_ps(1000));
}

static void bad_matrices_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *part;
    } cases[] = {
        {"", "Nodes is missing"},
        {"Connections 1\n0->1 start 0 size 1\n", "line 2: Nodes is missing"},
        {"Nodes 2\nConnections 1\n0->2 start 0 size 1\n", "line 3: '0->2': destination"},
        {"Nodes 2\nConnections 1\n0->x start 0 size 1\n", "line 3: '0->x': destination"},
        {"Nodes 2\nConnections 1\n->1 start 0 size 1\n", "source"},
        {"Nodes 2\nConnections 1\n0->1 start 0 size 0\n", "line 3: size"},
        {"Nodes 2\nConnections 1\n0->1 start 0\n", "lacks its size"},
        {"Nodes 2\nConnections 1\n0->1 size 1\n", "no start"},
        {"Nodes 2\nConnections 1\n0->1 size 1 start\n", "nothing stands behind 'start'"},
        {"Nodes 2\nConnections 1\n0->1 size 1 start 0 start 1\n", "start is given twice"},
        {"Nodes 2\nConnections 1\n0->1 size 1 start -5\n", "start (ps)"},
        {"Nodes 2\nConnections 1\n0->1 size 1 start 0 addon 1\n", "'1' is no word"},
        {"Nodes 2\nConnections 1\n0->1 size 1 start 0 trigger 1\n", "a start and a trigger"},
        {"Nodes 2\nConnections 2\n0->1 start 0 size 1\n", "Connections is 2, but 1 follow"},
        {"Nodes 2\nNodes 2\n", "line 2: Nodes stands here a second time"},
        {"Nodes 2\nConnections 2\n0->1 id 1 start 0 size 1\n1->0 id 1 start 0 size 1\n",
         "id 1 is that of line 3"},
        {"Nodes 2\nConnections 1\n0->1 trigger 4 size 1\n", "trigger 4 is not described"},
        {"Nodes 2\nConnections 1\nTriggers 1\n0->1 trigger 4 size 1\ntrigger id 4 oneshot\n",
         "line 5: trigger 4 is activated by 0 connections"},
        {"Nodes 2\nConnections 2\nTriggers 1\n0->1 start 0 size 1 send_done_trigger 4 "
         "recv_done_trigger 4\n1->0 trigger 4 size 1\ntrigger id 4 oneshot\n",
         "oneshot fires once"},
        {"Nodes 2\nConnections 2\nTriggers 1\n0->1 start 0 size 1 send_done_trigger 4\n"
         "1->0 trigger 4 size 1\ntrigger id 4 barrier count 2\n",
         "its count is another"},
        {"Nodes 2\nConnections 3\nTriggers 1\n0->1 start 0 size 1 send_done_trigger 4\n"
         "1->0 trigger 4 size 1\n1->0 trigger 4 size 1\ntrigger id 4 multishot\n",
         "more connections wait"},
        {"Nodes 2\nTriggers 1\ntrigger id 4 barrier\n", "barriers have a count"},
        {"Nodes 2\nTriggers 1\ntrigger id 4\n", "a trigger needs both"},
        {"Nodes 2\nTriggers 2\ntrigger id 4 oneshot\ntrigger id 4 oneshot\n", "described before"},
        {"Nodes 2\nConnections 2\nTriggers 2\n0->1 trigger 1 size 1 send_done_trigger 2\n"
         "1->0 trigger 2 size 1 send_done_trigger 1\ntrigger id 1 oneshot\ntrigger id 2 oneshot\n",
         "cycle"},
        {"Nodes 2\nFailures 1\nfailure switch_type TOR switch_id 0 link_id 0\n", "AGG only"},
        {"Nodes 2\nFailures 1\nfailure switch_type AGG switch_id 0\n", "write failure"},
        {"Nodes 2\nwhat 1 2\n", "line 2: 'what' begins no line"},
        {"Nodes 2\nConnections 1\n0->1 start 0 size 1\nwhat 1\n", "line 4: 'what' begins no line"},
        {"Nodes 2\nConnections 1\n0->1 start 0 size 1 rate 5\n",
         "'rate' is no word of connections"},
        {"Nodes 2\nConnections 1\n0->1 start 0 size 1 admitted 5\n", "'admitted' is no word"},
        {"Nodes 2\nConnections 2\n0->1 id 1 start 0 size 1 msgid 3\n1->0 msgid 3 id 1 start 0 size "
         "1\n",
         "line 4: id 1 is that of line 3"},
        {"Nodes 2\n0->1 a b c d e f g h i j k l m n o p q r s t u v w x y z\n", "more than 24"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct load load;
        struct weft_error error = {.code = WEFT_OK};
        assert_complaint(read_matrix(&load, cases[i].text, &error), &error, cases[i].part,
                         cases[i].text);
    }
}

// Seen to fail with addon taken for a word with a value, and with ids that forget their msgid.
static void words_of_newer_readers_are_passed_over(void **state)
{
    (void)state;
    struct load load;
    struct weft_error error = {.code = WEFT_OK};
    static const char text[] =
        "Nodes 2\nConnections 3\nMessages 7\n0->1 id 1 addon start 0 size 5 msgid 1\n"
        "0->1 id 1 start 0 msgid 2 size 6 demand 9.5\n1->0 id 2 start 0 size 7 addon\n";
    if (!read_matrix(&load, text, &error)) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(load.matrix.connection_count, 3);
    assert_int_equal(load.matrix.connections[1].size_bytes, 6);
    assert_int_equal(load.matrix.connections[2].size_bytes, 7);
    assert_string_equal(load.matrix.skipped, "Messages, addon, msgid, demand");
}

#define LEAF_SPINE                                                                                 \
    "Nodes 32\nTiers 2\nPodsize 32\n\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 8\n"             \
    "RADIX_up 2\nDownlink_Latency_ns 1000\nOversubscribed 4\n\nTier 1\n# spines\n"                 \
    "downlink_speed_gbps 100\nRadix_Down 4\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 300\n"
#define THREE_TIERS                                                                                \
    "Nodes 96\nTiers 3\nPodsize 24\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 2\n"   \
    "Downlink_Latency_ns 500\nQueue_Up 100\nQueue_Down 200\nTier 1\nDownlink_speed_Gbps 200\n"     \
    "Radix_Down 6\nRadix_Up 6\nDownlink_Latency_ns 700\nSwitch_Latency_ns 200\nTier 2\n"           \
    "Downlink_speed_Gbps 400\nRadix_Down 8\nBundle 2\nDownlink_Latency_ns 900\n"

static bool build_topo(const char *text, const struct weft_tier_failure *failures, uint32_t count,
                       struct weft_error *error)
{
    struct weft_tiers tiers;
    char *copy = exact(text, strlen(text));
    bool good = weft_topo_read(&tiers, copy, strlen(text), error);
    free(copy);
    return good &&
           weft_fabric_build_tiers(&network, &tiers, failures, count,
                                   &(struct weft_environment){
                                       .arena = &arena, .scratch = scratch_kept, .error = error});
}

// `text` with the first `from` replaced by `to`.
static char *edit(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    assert_non_null(at);
    return weft_arena_format(&arena, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

// What a packet waits for from one server to another, propagation and switches.
static uint64_t latency_ps(uint32_t from, uint32_t to, uint32_t index)
{
    uint32_t links[8];
    uint64_t sum_ps = 0;
    uint32_t hops = weft_routes_path(&network.routes, from, to, index, links, NULL);
    for (uint32_t i = 0; i < hops; i++) {
        sum_ps += network.fabric.links[links[i]].latency_ps;
    }
    return sum_ps;
}

static void topologies_become_routed_fabrics(void **state)
{
    (void)state;
    struct weft_error error;
    assert_true(build_topo(LEAF_SPINE, NULL, 0, &error));
    assert_int_equal(network.fabric.node_count, 32 + 4 + 2);
    assert_int_equal(network.fabric.link_count, 2 * (32 + 8));
    assert_true(weft_routes_check(&network.routes, scratch_kept, &error));
    assert_int_equal(weft_routes_path_count(&network.routes, 0, 31), 2);
    assert_true(latency_ps(0, 31, 1) == 4 * 1000000 + 300000);
    assert_true(latency_ps(0, 7, 0) == 2 * 1000000);

    if (!build_topo(THREE_TIERS, NULL, 0, &error)) {
        fail_msg("%s", error.message);
    }
    // 24 ToRs, 4 pods of 2 aggregation switches, 3 cores for each place in a pod.
    assert_int_equal(network.fabric.node_count, 96 + 24 + 8 + 6);
    assert_int_equal(network.fabric.link_count, 2 * (96 + 48 + 24));
    assert_true(weft_routes_check(&network.routes, scratch_kept, &error));
    assert_int_equal(weft_routes_path_count(&network.routes, 0, 95), 6);
    assert_true(latency_ps(0, 95, 5) == 2 * (500000 + 700000 + 900000) + 2 * 200000);
    uint32_t links[8];
    assert_int_equal(weft_routes_path(&network.routes, 0, 95, 3, links, NULL), 6);
    assert_true(network.fabric.links[links[2]].rate_Bps == 2 * 400e9 / 8);
    // A server's port is its own; a ToR's are those of tier 0; the others say nothing.
    static const uint64_t queues[] = {0, 100, 0, 0, 0, 200};
    for (uint32_t hop = 0; hop < 6; hop++) {
        assert_int_equal(network.fabric.buffer_bytes[links[hop]], queues[hop]);
    }
    const char *bundled = edit(THREE_TIERS, "Bundle 2", "Bundle 2\nQueue_Down 300");
    assert_true(build_topo(bundled, NULL, 0, &error));
    weft_routes_path(&network.routes, 0, 95, 3, links, NULL);
    assert_int_equal(network.fabric.buffer_bytes[links[3]], 600); // of two cables
    assert_true(build_topo(LEAF_SPINE, NULL, 0, &error));
    assert_null(network.fabric.buffer_bytes);
}

// Seen to fail when the bundle was not looked up by cable / bundle.
static void failures_take_cables_away(void **state)
{
    (void)state;
    struct weft_error error;
    const struct weft_tier_failure failures[] = {{0, 0}, {0, 1}, {7, 4}, {7, 4}};
    assert_true(build_topo(THREE_TIERS, failures, 3, &error));
    assert_int_equal(network.fabric.link_count, 2 * (96 + 48 + 24 - 1));
    assert_int_equal(weft_routes_path_count(&network.routes, 0, 95), 5);
    assert_true(weft_routes_check(&network.routes, scratch_kept, &error));
    uint32_t halves = 0;
    for (uint32_t i = 0; i < network.fabric.link_count; i++) {
        halves += network.fabric.links[i].rate_Bps == 400e9 / 8;
    }
    assert_int_equal(halves, 2);
    assert_false(build_topo(THREE_TIERS, failures, 4, &error));
    assert_non_null(strstr(error.message, "broken already"));
    const struct weft_tier_failure far = {8, 0};
    assert_false(build_topo(THREE_TIERS, &far, 1, &error));
    assert_non_null(strstr(error.message, "there are 8 such switches with 6 cables"));
    assert_false(build_topo(LEAF_SPINE, failures, 1, &error));
}

static void bad_topologies_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *from;
        const char *to;
        const char *part;
    } cases[] = {
        {"Nodes 96\n", "", "Nodes is missing"},
        {"Nodes 96", "Nodes 1", "line 1: Nodes"},
        {"Nodes 96", "Nodes x", "line 1: Nodes"},
        {"Nodes 96", "Nodes", "nothing stands behind 'Nodes'"},
        {"Nodes 96", "Nodes 96 97", "'97' behind Nodes"},
        {"Nodes 96", "Nodes 100", "do not divide into pods"},
        {"Podsize 24", "Podsize 10", "do not divide into pods"},
        {"Tiers 3", "Tiers 4", "line 2: Tiers"},
        {"Tiers 3", "Tiers 2", "tier 2 is given, but Tiers says 2"},
        {"Tier 2", "Tier 1", "tier 1 stands here a second time"},
        {"Radix_Down 4", "Radix_Down 4\nRadix_Down 4", "tier 0 has Radix_Down already"},
        {"Radix_Down 4", "Radix_Sideways 4", "'Radix_Sideways' is no word"},
        {"Tier 0\n", "Bundle 2\nTier 0\n", "Bundle belongs behind"},
        {"Radix_Down 6", "Radix_Down 7", "7 ports down in bundles of 1 reach 7 ToRs"},
        {"Radix_Down 8", "Radix_Down 6", "6 ports down in bundles of 2 reach 3 pods"},
        {"Radix_Down 8", "Radix_Down 7", "do not divide into bundles"},
        {"Radix_Up 6", "Radix_Up 5", "do not divide into the bundles of 2"},
        {"Radix_Up 6\n", "", "tier 1: Radix_Up is missing"},
        {"Bundle 2", "Radix_Up 2", "tier 2: Radix_Up is given"},
        {"Downlink_Latency_ns 900\n", "", "tier 2: Downlink_Latency_ns is missing"},
        {"Radix_Up 2", "Radix_Up 2\nOversubscribed 2", "are not oversubscribed 2 times"},
        {"Downlink_speed_Gbps 100", "Downlink_speed_Gbps 0", "Downlink_speed_Gbps"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_error error = {.code = WEFT_OK};
        const char *text = edit(THREE_TIERS, cases[i].from, cases[i].to);
        assert_complaint(build_topo(text, NULL, 0, &error), &error, cases[i].part, cases[i].to);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(connections_start_at_their_picosecond, open_arenas,
                                        tear_down),
        cmocka_unit_test_setup_teardown(triggers_start_what_waits_for_them, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(each_activation_of_a_multishot_starts_the_next, open_arenas,
                                        tear_down),
        cmocka_unit_test_setup_teardown(bad_matrices_are_refused, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(words_of_newer_readers_are_passed_over, open_arenas,
                                        tear_down),
        cmocka_unit_test_setup_teardown(topologies_become_routed_fabrics, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(failures_take_cables_away, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(bad_topologies_are_refused, open_arenas, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
