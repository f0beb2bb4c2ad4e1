// SPDX-License-Identifier: Apache-2.0
// Lists of flows whose ends have closed forms, and lists that are refused.

#include "../fresh_arenas.h"
#include "weft/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define RATE_BPS 50e9
#define FLOWS_MAX 256

struct list {
    struct weft_flow_list flows;
    uint32_t from[FLOWS_MAX];
    uint32_t to[FLOWS_MAX];
    uint64_t size_bytes[FLOWS_MAX];
    uint64_t start_ps[FLOWS_MAX];
    uint64_t end_ps[FLOWS_MAX];
};

static void add(struct list *list, uint32_t from, uint32_t to, uint64_t size_bytes,
                uint64_t start_ps)
{
    uint32_t i = list->flows.count++;
    assert_true(i < FLOWS_MAX);
    list->from[i] = from;
    list->to[i] = to;
    list->size_bytes[i] = size_bytes;
    list->start_ps[i] = start_ps;
    list->flows.from = list->from;
    list->flows.to = list->to;
    list->flows.size_bytes = list->size_bytes;
    list->flows.start_ps = list->start_ps;
}

static struct weft_network network; // stays where it is: its routes point to its fabric

static void star(uint32_t server_count)
{
    struct weft_cluster cluster;
    struct weft_error error;
    assert_true(weft_cluster_build(&cluster, server_count, 1, RATE_BPS, &error));
    struct weft_fabric_options options = {0};
    assert_true(weft_fabric_build_ideal(&network, &cluster, &options, &arena, &error));
}

static bool run(struct weft_sim_result *result, struct list *list,
                const struct weft_sim_options *options, struct weft_error *error)
{
    return weft_sim_run_flows(
        result, list->end_ps, &network, &list->flows, options,
        &(struct weft_environment){.arena = &arena, .scratch = scratch_kept, .error = error});
}

static void run_well(struct weft_sim_result *result, struct list *list,
                     const struct weft_sim_options *options)
{
    struct weft_error error;
    if (!run(result, list, options, &error)) {
        fail_msg("%s", error.message);
    }
}

static void a_lone_flow_takes_size_over_rate_and_latency(void **state)
{
    (void)state;
    star(4);
    struct list list = {0};
    struct weft_sim_result result;
    add(&list, 0, 1, 50000, 7);
    run_well(&result, &list, &(struct weft_sim_options){0});
    assert_int_equal(list.end_ps[0], 7 + 1000000 + 2 * 1000000); // 1 us, 2 links of 1 us
    assert_int_equal(result.end_ps, list.end_ps[0]);
    assert_int_equal(result.flow_count, 1);
}

static void packets_add_headers_and_one_store(void **state)
{
    (void)state;
    star(4);
    struct list list = {0};
    struct weft_sim_result result;
    add(&list, 0, 1, 9000, 0); // 10 packets of 900 + 100
    run_well(&result, &list, &(struct weft_sim_options){.packet_bytes = 1000, .header_bytes = 100});
    assert_int_equal(list.end_ps[0], 10 * 20000 + 20000 + 2 * 1000000);
    double total = 0;
    for (uint32_t i = 0; i < network.fabric.link_count; i++) {
        total += result.link_bytes[i];
    }
    assert_true(total == 2 * 10000);
}

static void an_acknowledgment_adds_a_trip_of_a_header(void **state)
{
    (void)state;
    star(4);
    struct list list = {0};
    struct weft_sim_result result;
    add(&list, 0, 1, 9000, 0);
    run_well(&result, &list,
             &(struct weft_sim_options){
                 .packet_bytes = 1000, .header_bytes = 100, .acknowledged = true});
    assert_int_equal(list.end_ps[0], 10 * 20000 + 20000 + 2 * 1000000 + 2000 + 2 * 1000000);
}

static void two_flows_share_and_the_rest_speeds_up(void **state)
{
    (void)state;
    star(4);
    struct list list = {0};
    struct weft_sim_result result;
    add(&list, 0, 1, 50000, 0);
    add(&list, 0, 2, 100000, 0);
    add(&list, 3, 2, 25000, 5000000); // joins when the others are over
    run_well(&result, &list, &(struct weft_sim_options){0});
    assert_int_equal(list.end_ps[0], 2000000 + 2000000);
    assert_int_equal(list.end_ps[1], 3000000 + 2000000);
    assert_int_equal(list.end_ps[2], 5500000 + 2000000);
}

static void empty_and_local_flows_end(void **state)
{
    (void)state;
    star(4);
    struct list list = {0};
    struct weft_sim_result result;
    add(&list, 0, 1, 0, 10);
    add(&list, 2, 2, 1000, 20);
    run_well(&result, &list, &(struct weft_sim_options){0});
    assert_int_equal(list.end_ps[0], 10 + 2000000);
    assert_int_equal(list.end_ps[1], 20);
    assert_int_equal(result.flow_count, 0);

    list.flows.count = 0;
    run_well(&result, &list, &(struct weft_sim_options){0});
    assert_int_equal(result.end_ps, 0);
}

static void all_to_all_on_a_switch_is_exact(void **state)
{
    (void)state;
    star(16);
    struct list list = {0};
    struct weft_sim_result result;
    for (uint32_t from = 0; from < 16; from++) {
        for (uint32_t to = 0; to < 16; to++) {
            if (from != to) {
                add(&list, from, to, 50000, 0);
            }
        }
    }
    run_well(&result, &list, &(struct weft_sim_options){0});
    for (uint32_t i = 0; i < list.flows.count; i++) {
        assert_int_equal(list.end_ps[i], 15 * 1000000 + 2000000);
    }
    assert_true(result.solve_count <= 2); // all start at once, all end at once
}

static void bad_lists_are_refused(void **state)
{
    (void)state;
    star(4);
    struct weft_sim_result result;
    static const struct {
        uint32_t from, to;
        uint64_t size_bytes, start_ps;
        uint32_t header_bytes;
        const char *says;
    } cases[] = {
        {0, 9, 1, 0, 0, "server 9 does not exist"}, {9, 0, 1, 0, 0, "server 9 does not exist"},
        {0, 1, UINT64_MAX, 0, 0, "simulated time"}, {0, 1, 1, UINT64_MAX, 0, "simulated time"},
        {0, 1, 1, 0, 1000, "fills the packet"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct list list = {0};
        struct weft_error error = {0};
        add(&list, cases[i].from, cases[i].to, cases[i].size_bytes, cases[i].start_ps);
        struct weft_sim_options options = {.packet_bytes = 1000,
                                           .header_bytes = cases[i].header_bytes};
        assert_false(run(&result, &list, &options, &error));
        assert_int_equal(error.code, WEFT_INPUT);
        assert_non_null(strstr(error.message, cases[i].says));
    }
    struct list list = {0};
    struct weft_error error = {0};
    add(&list, 0, 1, 1, 5);
    add(&list, 0, 1, 1, 4);
    assert_false(run(&result, &list, &(struct weft_sim_options){0}, &error));
    assert_non_null(strstr(error.message, "flow 1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_lone_flow_takes_size_over_rate_and_latency, open_arenas,
                                        tear_down),
        cmocka_unit_test_setup_teardown(packets_add_headers_and_one_store, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(an_acknowledgment_adds_a_trip_of_a_header, open_arenas,
                                        tear_down),
        cmocka_unit_test_setup_teardown(two_flows_share_and_the_rest_speeds_up, open_arenas,
                                        tear_down),
        cmocka_unit_test_setup_teardown(empty_and_local_flows_end, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(all_to_all_on_a_switch_is_exact, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(bad_lists_are_refused, open_arenas, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
