// SPDX-License-Identifier: Apache-2.0
// A plan's rings as NCCL's channels: order of the servers, ports in and out, and what is refused.

#include "../arenas.h"
#include "sample_plan.h"
#include "weft/format/nccl.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void rings_of_a_plan_become_channels(void **state)
{
    (void)state;
    static const uint32_t jumps[] = {1, 3};
    static struct weft_plan plan;
    struct weft_nccl_rings rings;
    struct weft_error error;
    assert_true(sample_plan(&plan, 8, jumps, 2, &arena_kept, &error));
    for (uint32_t ring = 0; ring < 2; ring++) {
        assert_true(weft_nccl_rings(&rings, &plan, ring, 2, &arena_kept, &error));
        assert_int_equal(rings.server_count, 8);
        assert_int_equal(rings.ring_count, 2);
        assert_int_equal(rings.channel_count, 1);
        assert_true(rings.uniform);
        for (uint32_t i = 0; i < 8; i++) {
            assert_int_equal(rings.servers[i], i * jumps[ring] % 8);
        }
        assert_int_equal(rings.graphs.graph_count, 2);
        for (uint32_t g = 0; g < 2; g++) {
            const struct weft_nccl_graph *graph = &rings.graphs.graphs[g];
            assert_int_equal(graph->id, g);
            assert_int_equal(graph->channel_count, 1);
            // Plane 2k carries the ring of jump k: it enters and leaves by that port.
            assert_int_equal(graph->channels[0].net_in, 2 * ring);
            assert_int_equal(graph->channels[0].net_out, 2 * ring);
            assert_int_equal(graph->cross_nic, 0);
        }
    }
    assert_false(weft_nccl_rings(&rings, &plan, 2, 2, &arena_kept, &error));
    assert_int_equal(error.code, WEFT_INPUT);
    assert_false(weft_nccl_rings(&rings, &plan, 0, 8, &arena_kept, &error));
    assert_int_equal(error.code, WEFT_INPUT);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_of_a_plan_become_channels),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
