// SPDX-License-Identifier: Apache-2.0
// Rings over rails: the order that leaves leaves and pods least often against all orders of few
// servers, channels that keep to their NIC, and hostfiles in and out.
//
// Seen to fail: with servers left in the order in which they are given; with a ring that begins
// with the first GPU next to its NIC where that has two.

#include "../arenas.h"
#include "weft/fabric.h"
#include "weft/format/export.h"
#include "weft/format/nccl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define ENVIRONMENT                                                                                \
    (&(struct weft_environment){.arena = &arena_kept, .scratch = scratch_kept, .error = &error})

static void build(struct weft_rails *rails, const char *name, uint32_t servers, uint32_t nics,
                  uint32_t radix)
{
    struct weft_error error;
    struct weft_cluster cluster;
    struct weft_network *network = WEFT_NEW(&arena_kept, struct weft_network, 1);
    assert_true(weft_cluster_build(&cluster, servers, nics, 12.5e9, &error));
    cluster.balance = WEFT_BALANCE_EVEN;
    const struct weft_scale_up inside = {.accelerators = 2 * nics, .rate_Bps = 450e9};
    const struct weft_fabric_options options = {.radix = radix};
    if (!weft_fabric_build_scale_up(network, name, &cluster, &inside, &options, ENVIRONMENT)) {
        fail_msg("%s: %s", name, error.message);
    }
    weft_fabric_rails(rails, network, nics, &arena_kept, scratch_kept);
}

// The least crossings of each tier over all orders of order[fixed..], the rest as it stands.
static void try_all(uint64_t least[], uint32_t *order, uint32_t fixed, uint32_t count,
                    const struct weft_rails *rails)
{
    if (fixed == count) {
        struct weft_rail_crossings found;
        weft_fabric_cross_rails(&found, order, count, rails, scratch_kept);
        for (uint32_t t = 0; t < rails->tier_count; t++) {
            least[t] = found.crossings[t] < least[t] ? found.crossings[t] : least[t];
        }
        return;
    }
    for (uint32_t i = fixed; i < count; i++) {
        uint32_t swapped = order[fixed];
        order[fixed] = order[i];
        order[i] = swapped;
        try_all(least, order, fixed + 1, count, rails);
        order[i] = order[fixed];
        order[fixed] = swapped;
    }
}

static void no_order_crosses_less(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t radix;
        uint32_t tiers;
    } rows[] = {{"leaf-spine", 6, 2}, {"leaf-spine", 16, 1}, {"rail-only", 4, 2},
                {"clos", 6, 2},       {"dual-tor", 6, 1},    {"dragonfly", 7, 2},
                {"ideal", 0, 0},      {"rail-only", 64, 0}};
    static const uint32_t jobs[][6] = {
        {0, 1, 2, 3, 4, 5}, {11, 0, 6, 5, 1, 7}, {2, 9, 3, 8, 10, 4}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        struct weft_rails rails;
        build(&rails, rows[r].name, 12, 2, rows[r].radix);
        assert_int_equal(rails.tier_count, rows[r].tiers);
        for (size_t j = 0; j < sizeof jobs / sizeof jobs[0]; j++) {
            uint32_t order[6];
            uint64_t least[WEFT_RAIL_TIERS_MAX] = {UINT64_MAX, UINT64_MAX};
            struct weft_rail_crossings found;
            memcpy(order, jobs[j], sizeof order);
            try_all(least, order, 1, 6, &rails); // a ring has no first
            weft_fabric_order_rails(order, 6, &rails, scratch_kept);
            weft_fabric_cross_rails(&found, order, 6, &rails, scratch_kept);
            assert_int_equal(found.hop_count, 12);
            for (uint32_t t = 0; t < rails.tier_count; t++) {
                assert_int_equal(found.least[t], least[t]);
                assert_int_equal(found.crossings[t], least[t]);
            }
        }
    }
}

// NICs of a Fat-tree stand by servers on edge switches of three: rails differ, and a hop counts by
// the NICs of its own rail.
static void rails_of_a_fat_tree_are_counted_one_by_one(void **state)
{
    (void)state;
    struct weft_rails rails;
    struct weft_rail_crossings found;
    uint32_t order[12];
    for (uint32_t s = 0; s < 12; s++) {
        order[s] = s;
    }
    build(&rails, "fat-tree", 12, 2, 6);
    weft_fabric_cross_rails(&found, order, 12, &rails, scratch_kept);
    // NIC i is on edge i / 3: NICs 0 and 2 (rail 0 of servers 0 and 1) share one, 1 and 3 do not.
    uint64_t crossings = 0;
    for (uint32_t s = 0; s < 12; s++) {
        for (uint32_t k = 0; k < 2; k++) {
            crossings += (2 * s + k) / 3 != ((s + 1) % 12 * 2 + k) / 3;
        }
    }
    assert_int_equal(found.crossings[0], crossings);
    assert_int_equal(found.least[0], 16);
}

// Which NIC a GPU is next to.
static uint32_t nic_of(const struct weft_nccl_rails *server, uint32_t gpu)
{
    return gpu * server->net_count / server->gpu_count;
}

static void channels_keep_to_their_nic(void **state)
{
    (void)state;
    static const uint32_t shapes[][2] = {{8, 8}, {8, 4}, {8, 2}, {4, 8}, {1, 1}, {1, 4}, {16, 16}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const struct weft_nccl_rails server = {
            .gpu_count = shapes[i][0], .net_count = shapes[i][1], .rate_Bps = 50e9, .linked = true};
        bool shared = server.gpu_count >= 2 * server.net_count;
        struct weft_nccl_graphs graphs;
        struct weft_nccl_graphs again;
        struct weft_error error;
        assert_true(weft_nccl_rails(&graphs, &server, &arena_kept, &error));
        assert_int_equal(graphs.graph_count, 2);
        assert_int_equal(graphs.graphs[0].pattern, 4);
        assert_int_equal(graphs.graphs[1].pattern, shared ? 1 : 3);
        for (uint32_t g = 0; g < 2; g++) {
            const struct weft_nccl_graph *graph = &graphs.graphs[g];
            assert_int_equal(graph->cross_nic, 0);
            assert_int_equal(graph->channel_count, server.net_count);
            for (uint32_t k = 0; k < server.net_count; k++) {
                const struct weft_nccl_channel *channel = &graph->channels[k];
                uint32_t seen = 0;
                assert_int_equal(channel->net_in, k);
                assert_int_equal(channel->net_out, k);
                assert_int_equal(channel->gpu_count, server.gpu_count);
                for (uint32_t p = 0; p < channel->gpu_count; p++) {
                    seen |= 1u << channel->gpus[p];
                }
                assert_int_equal(seen, (1u << server.gpu_count) - 1);
                if (server.gpu_count >= server.net_count) {
                    assert_int_equal(nic_of(&server, channel->gpus[0]), k);
                }
                // The second speaks to the NIC, too: in a ring the last, in a balanced tree the
                // next.
                uint32_t second = g == 0 ? server.gpu_count - 1 : 1;
                if (shared) {
                    assert_int_equal(nic_of(&server, channel->gpus[second]), k);
                }
            }
        }
        const char *text = weft_nccl_graphs_write(&graphs, NULL, &arena_kept);
        assert_true(
            weft_nccl_graphs_read(&again, text, strlen(text), &arena_kept, scratch_kept, &error));
        assert_string_equal(weft_nccl_graphs_write(&again, NULL, &arena_kept), text);
    }
    static const uint32_t refused[][2] = {{72, 18}, {8, 33}};
    for (size_t i = 0; i < 2; i++) {
        const struct weft_nccl_rails server = {.gpu_count = refused[i][0],
                                               .net_count = refused[i][1]};
        struct weft_nccl_graphs graphs;
        struct weft_error error;
        assert_false(weft_nccl_rails(&graphs, &server, &arena_kept, &error));
        assert_int_equal(error.code, WEFT_INPUT);
    }
}

static void hostfiles_are_read_back(void **state)
{
    (void)state;
    struct weft_error error;
    struct weft_hosts hosts;
    struct weft_hosts again;
    static const uint32_t servers[] = {9, 0, 11};
    uint32_t found[3];
    assert_true(weft_hosts_of(&hosts, servers, 3, "gpu098", ENVIRONMENT));
    const char *text = weft_hosts_write(&hosts, 8, "of two\nlines", &arena_kept);
    assert_string_equal(text,
                        "# of two\n# lines\ngpu107 slots=8\ngpu098 slots=8\ngpu109 slots=8\n");
    assert_true(weft_hosts_read(&again, text, strlen(text), &arena_kept, &error));
    assert_int_equal(again.count, 3);
    assert_int_equal(again.hosts[1].slots, 8);
    assert_true(weft_hosts_servers(found, &again, "gpu098", 12, ENVIRONMENT));
    assert_memory_equal(found, servers, sizeof found);
    static const struct {
        const char *text;
        const char *complaint;
    } rows[] = {
        {"gpu098\ngpu110\n", "gpu110 is none"},
        {"gpu98\n", "gpu98 is none"},
        {"cpu099\n", "cpu099 is none"},
        {"gpu0000000000000098\n", "is none"},
        {"gpu099\ngpu099 slots=2\n", "twice"},
        {"gpu099 slots=0\n", "line 1: slots="},
        {"gpu098\n\n# none\ngpu099 8\n", "line 4: '8' behind a host"},
        {"-gpu\n", "line 1: '-gpu' is no name"},
        {"# nobody\n", "no host"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool fine =
            weft_hosts_read(&again, rows[i].text, strlen(rows[i].text), &arena_kept, &error) &&
            weft_hosts_servers(found, &again, "gpu098", 12, ENVIRONMENT);
        assert_false(fine);
        assert_int_equal(error.code, WEFT_INPUT);
        assert_non_null(strstr(error.message, rows[i].complaint));
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_order_crosses_less),
        cmocka_unit_test(rails_of_a_fat_tree_are_counted_one_by_one),
        cmocka_unit_test(channels_keep_to_their_nic),
        cmocka_unit_test(hostfiles_are_read_back),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
