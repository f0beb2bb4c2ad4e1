// SPDX-License-Identifier: Apache-2.0
// The network inside a TopoOpt task graph: fabric, routes and rings from jumps.

#include "fbuf_fixture.h"

static void rings_follow_the_jumps(void **state)
{
    (void)state;
    struct craft_file file = craft_small();
    file.tasks[4] = (struct craft_task){6, 50, 0, 0, 77, {3, 1}, 2};
    struct weft_fbuf fbuf = read_good(&file);
    struct weft_network network;
    struct weft_error error;
    assert_true(weft_fbuf_network(&network, &fbuf, 0, &arena, scratch_kept, &error));
    assert_true(network.fabric.forwards);
    assert_int_equal(network.fabric.parts.nics, 16);
    assert_true(network.fabric.links[0].rate_Bps == 25e9);
    assert_int_equal(network.rings.ring_count, 4);
    static const struct {
        uint32_t group;
        uint32_t members[4];
    } expected[] = {{0, {0, 1, 2, 3}}, {0, {0, 3, 2, 1}}, {1, {3, 1}}, {1, {3, 1}}};
    for (uint32_t r = 0; r < 4; r++) {
        const struct weft_ring *ring = &network.rings.rings[r];
        assert_int_equal(ring->group, expected[r].group);
        assert_memory_equal(ring->members, expected[r].members,
                            ring->member_count * sizeof(uint32_t));
        assert_true(ring->share_ratio == 0.5);
        for (uint32_t i = 0; i < ring->member_count; i++) { // the links chain to the next member
            uint32_t node = ring->members[i];
            for (uint32_t h = ring->hop_first[i]; h < ring->hop_first[i + 1]; h++) {
                assert_int_equal(network.fabric.links[ring->hop_links[h]].from, node);
                node = network.fabric.links[ring->hop_links[h]].to;
            }
            assert_int_equal(node, ring->members[(i + 1) % ring->member_count]);
        }
    }
    // Over relay 0 in the third ring, over relay 2 in the fourth.
    assert_int_equal(network.fabric.links[network.rings.rings[2].hop_links[0]].to, 0);
    assert_int_equal(network.fabric.links[network.rings.rings[3].hop_links[0]].to, 2);
    assert_true(weft_fbuf_network(&network, &fbuf, 1e9, &arena, scratch_kept, &error));
    assert_true(network.fabric.links[0].rate_Bps == 2e9);
    assert_true(network.fabric.parts.rate_Bps == 1e9);
}

static void expect_no_network(const struct craft_file *file, const char *expected)
{
    struct weft_fbuf fbuf = read_good(file);
    struct weft_network network;
    struct weft_error error = {.code = WEFT_OK};
    if (weft_fbuf_network(&network, &fbuf, 0, &arena, scratch_kept, &error)) {
        fail_msg("taken, though it should fail with '%s'", expected);
    }
    check_message(&error, expected);
}

static void unusable_networks_are_refused(void **state)
{
    (void)state;
    static const struct {
        struct craft_rings rings;
        const char *message;
    } cases[] = {
        {{4, {{2}}, 1},
         "rings 0: descriptor 0: for the group of 4 that begins with server 0: from server 0 it "
         "takes a link that is not there, to server 2"},
        {{4, {{1}, {1, 1}}, 2},
         "descriptor 1: for the group of 4 that begins with server 0: from "
         "server 2 it returns too early to server 0"},
        {{4, {{1, -1}}, 1}, "from server 0 it returns too early to server 0"},
        {{4, {{0}}, 1}, "from server 0 it returns too early to server 0"},
        {{4, {{-2147483647 - 1}}, 1}, "takes a link that is not there, to server 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct craft_file file = craft_small();
        file.rings[0] = cases[i].rings;
        expect_no_network(&file, cases[i].message);
        file.tasks[3].size_bytes = 0; // nothing to send: the ring does not matter
        struct weft_fbuf fbuf = read_good(&file);
        struct weft_network network;
        struct weft_error error;
        assert_true(weft_fbuf_network(&network, &fbuf, 0, &arena, scratch_kept, &error));
        assert_int_equal(network.rings.ring_count, 0);
    }
    struct craft_file file = craft_small();
    file.tasks[4] = (struct craft_task){6, 50, 0, 0, 77, {0, 1}, 2};
    expect_no_network(&file, "from server 0 it lands on no member but server 2");
    file = craft_small();
    file.connection_count = 0;
    expect_no_network(&file, "the file holds no topology; choose a reference fabric instead");
    file = craft_small();
    file.rate = 0;
    expect_no_network(&file, "the file states no network rate; give one");
    file = craft_small();
    file.route_count = 0;
    expect_no_network(&file, "the file holds connections but no routes");
    file = craft_small();
    file.routes[2].paths[0] = (struct craft_path){{0, 2}, 2, 1};
    expect_no_network(&file, "there is no link from node 0 to node 2");
    file = craft_small();
    file.routes[2].paths[0] = (struct craft_path){{0, 1, 0, 1, 2}, 5, 1};
    expect_no_network(&file, "node 0 stands twice; paths may not loop");
}

static void switch_graphs_work_too(void **state)
{
    (void)state;
    struct craft_file file = craft_small();
    file.switches = 1;
    file.devices[0].property = 0 * 5 + 2;
    file.devices[5].property = 3 * 5 + 3;
    file.ring_count = 0;
    for (uint32_t s = 0; s < 4; s++) {
        file.connections[s] = (struct craft_connection){4, s, 1};
    }
    for (uint32_t pair = 0; pair < 16; pair++) {
        if (pair / 4 != pair % 4) {
            file.routes[pair].paths[0] = (struct craft_path){{pair / 4, 4, pair % 4}, 3, 1};
        }
    }
    struct weft_fbuf fbuf = read_good(&file);
    struct weft_network network;
    struct weft_error error;
    assert_true(weft_fbuf_network(&network, &fbuf, 0, &arena, scratch_kept, &error));
    assert_false(network.fabric.forwards);
    assert_int_equal(network.fabric.link_count, 8);
    assert_int_equal(network.rings.ring_count, 0);
    assert_int_equal(network.fabric.parts.nics, 4);
    assert_int_equal(network.fabric.parts.switch_ports, 4);
    assert_int_equal(network.routes.hop_max, 2);
    assert_true(weft_routes_check(&network.routes, scratch_kept, &error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(rings_follow_the_jumps, empty_arena),
        cmocka_unit_test_setup(unusable_networks_are_refused, empty_arena),
        cmocka_unit_test_setup(switch_graphs_work_too, empty_arena),
    };
    return cmocka_run_group_tests_name("fbuf_network", tests, set_up, tear_down);
}
