// SPDX-License-Identifier: Apache-2.0
// Workloads of SimAI as task graphs: who takes part in what, what waits for what.
//
// Seen to fail when data groups had a stride of tp alone, when the weight gradient's collective was
// waited for, and when the update stood on the device that computes.

#include "weft/format.h"

#include "../fresh_arenas.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void lower(struct weft_taskgraph *graph, const char *text, uint32_t ranks)
{
    struct weft_simai workload;
    struct weft_error error;
    assert_true(weft_simai_read(&workload, text, strlen(text), &arena, &error));
    assert_true(weft_simai_lower(graph, &workload, ranks, &arena, scratch, &error));
}

// The members of a collective of the graph, as "0 4 8".
static const char *members(const struct weft_taskgraph *graph, uint32_t group)
{
    struct weft_text text;
    weft_text_init(&text, &arena);
    for (uint32_t i = graph->group_first[group]; i < graph->group_first[group + 1]; i++) {
        weft_text_add(&text, "%s%u", i == graph->group_first[group] ? "" : " ",
                      graph->group_members[i]);
    }
    return text.data;
}

// 32 ranks, tp = 2, pp = 2, ep = 4: tensor groups t = 0 .. 15, data groups of eight.
static void groups_are_those_of_simai(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        uint32_t count;
        const char *first;
        const char *last;
    } cases[] = {
        {"ALLREDUCE_TP", 16, "0 1", "30 31"},
        {"ALLREDUCE_DP", 4, "0 4 8 12 16 20 24 28", "3 7 11 15 19 23 27 31"},
        {"ALLREDUCE_EP", 8, "0 2 4 6", "25 27 29 31"},
        {"ALLREDUCE_DP_EP", 16, "0 8", "23 31"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct weft_taskgraph graph;
        char text[256];
        snprintf(text, sizeof text,
                 "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 4 pp: 2\n1\n"
                 "l -1 1 %s 100 1 NONE 0 1 NONE 0 1\n",
                 cases[c].word);
        lower(&graph, text, 32);
        assert_int_equal(graph.group_count, cases[c].count);
        assert_string_equal(members(&graph, 0), cases[c].first);
        assert_string_equal(members(&graph, graph.group_count - 1), cases[c].last);
    }
}

// A layer of both: forward waits for its AllReduce; what follows the weights' is the update alone,
// on a device of its own.
static void weights_are_not_waited_for(void **state)
{
    (void)state;
    struct weft_taskgraph graph;
    lower(&graph,
          "HYBRID_TRANSFORMER model_parallel_NPU_group: 2\n1\n"
          "l -1 10 ALLREDUCE 100 20 NONE 0 30 ALLREDUCE 200 7\n",
          4);
    // Four ranks: forward, two AllReduces, input and weight gradient, two AllReduces, updates.
    assert_int_equal(graph.task_count, 4 + 2 + 4 + 4 + 2 + 4);
    uint32_t updates = 0;
    for (uint32_t t = 0; t < graph.task_count; t++) {
        bool weights = graph.kind[t] == WEFT_TASK_ALLREDUCE && graph.size_bytes[t] == 200;
        for (uint32_t e = graph.next_first[t]; e < graph.next_first[t + 1] && weights; e++) {
            assert_int_equal(graph.kind[graph.next[e]], WEFT_TASK_UPDATE);
        }
        if (graph.kind[t] == WEFT_TASK_UPDATE) {
            assert_int_equal(graph.runtime_ps[t], 7000);
            assert_int_equal(graph.device[t] % 2, 1);
            updates++;
        }
        // The forward AllReduce's update stands before the input gradient.
        if (graph.kind[t] == WEFT_TASK_BACKWARD) {
            assert_true(graph.runtime_ps[t] == 27000 || graph.runtime_ps[t] == 30000);
        }
    }
    assert_int_equal(updates, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(groups_are_those_of_simai, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(weights_are_not_waited_for, open_arenas, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
