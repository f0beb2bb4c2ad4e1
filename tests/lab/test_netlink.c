// SPDX-License-Identifier: Apache-2.0
// runtime/netlink on the running kernel: two namespaces, a veth pair between them, real packets.

#include "lab_test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

static char left[WEFT_NETNS_NAME_MAX];
static char right[WEFT_NETNS_NAME_MAX];
static const uint8_t left_mac[6] = {2, 0x57, 0, 0, 0, 1};
static const uint8_t right_mac[6] = {2, 0x57, 0, 0, 0, 2};
#define LEFT_IP 0x0a000001u
#define RIGHT_IP 0x0a000002u

static int set_up(void **state)
{
    (void)state;
    struct weft_error error;
    must(weft_netns_create(own_name(left, "left"), &error), &error);
    must(weft_netns_create(own_name(right, "right"), &error), &error);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    struct weft_error error;
    must(weft_netns_delete(left, &error), &error);
    must(weft_netns_delete(right, &error), &error);
    return 0;
}

// A pair between the two, both up, with addresses and permanent neighbors.
static void join(struct weft_netlink *near, struct weft_netlink *far)
{
    struct weft_error error;
    const struct weft_veth_end ends[2] = {
        {.name = "port0", .index = 7, .mac = left_mac},
        {.name = "port0", .netns = right, .index = 9, .mac = right_mac},
    };
    must(weft_netlink_open(near, left, &error), &error);
    must(weft_netlink_open(far, right, &error), &error);
    must(weft_link_veth(near, &ends[0], &ends[1], 9000, &error), &error);
    must(weft_link_set_up(near, 7, true, &error), &error);
    must(weft_link_set_up(far, 9, true, &error), &error);
    must(weft_link_await(near, 7, &error), &error);
    must(weft_link_await(far, 9, &error), &error);
    must(weft_address_add(near, 7, LEFT_IP, 32, &error), &error);
    must(weft_address_add(far, 9, RIGHT_IP, 32, &error), &error);
    must(weft_neighbor_set(near, 7, RIGHT_IP, right_mac, &error), &error);
    must(weft_neighbor_set(far, 9, LEFT_IP, left_mac, &error), &error);
    const struct weft_next_hop hops[2] = {{.index = 7, .weight = 1}, {.index = 9, .weight = 1}};
    const struct weft_route there = {RIGHT_IP, 32, 0, 0, 0, 1, &hops[0]};
    const struct weft_route back = {LEFT_IP, 32, 0, 0, 0, 1, &hops[1]};
    must(weft_route_set(near, &there, &error), &error);
    must(weft_route_set(far, &back, &error), &error);
}

static void part(struct weft_netlink *near, struct weft_netlink *far)
{
    weft_netlink_close(near);
    weft_netlink_close(far);
}

// Sends `count` datagrams of `size` bytes from left to right; returns how many came and, unless
// NULL, how long that took.
static int send_across(int count, size_t size, double *seconds)
{
    struct weft_error error;
    int sender = -1;
    int receiver = -1;
    static char data[16384];
    int room = 8 << 20;
    struct timeval patience = {.tv_usec = 300000};
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(4000), .sin_addr.s_addr = htonl(RIGHT_IP)};
    must(weft_netns_socket(&sender, left, AF_INET, SOCK_DGRAM, 0, &error), &error);
    must(weft_netns_socket(&receiver, right, AF_INET, SOCK_DGRAM, 0, &error), &error);
    assert_int_equal(setsockopt(receiver, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room), 0);
    assert_int_equal(setsockopt(sender, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room), 0);
    assert_int_equal(setsockopt(receiver, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    assert_int_equal(bind(receiver, (struct sockaddr *)&to, sizeof to), 0);
    struct timespec begun;
    struct timespec ended;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    ended = begun;
    for (int i = 0; i < count; i++) {
        ssize_t sent = sendto(sender, data, size, MSG_DONTWAIT, (struct sockaddr *)&to, sizeof to);
        (void)sent; // what the queue drops may be refused here
    }
    int came = 0;
    while (recv(receiver, data, sizeof data, 0) == (ssize_t)size) {
        came++;
        clock_gettime(CLOCK_MONOTONIC, &ended);
    }
    close(sender);
    close(receiver);
    if (seconds != NULL) {
        *seconds =
            (double)(ended.tv_sec - begun.tv_sec) + 1e-9 * (double)(ended.tv_nsec - begun.tv_nsec);
    }
    return came;
}

static void packets_cross_a_pair_and_are_counted(void **state)
{
    (void)state;
    struct weft_error error;
    struct weft_netlink near;
    struct weft_netlink far;
    join(&near, &far);
    uint32_t index = 0;
    must(weft_link_find(&index, &far, "port0", &error), &error);
    assert_int_equal(index, 9);
    must(weft_link_set_offloads(&near, "port0", false, &error), &error);
    assert_int_equal(send_across(20, 8000, NULL), 20);
    struct weft_link_counters counters = {0};
    must(weft_link_counters(&counters, &far, 9, &error), &error);
    assert_true(counters.up && counters.carrier);
    assert_true(counters.received_packets >= 20);
    assert_true(counters.received_bytes >= 20 * 8000);
    must(weft_link_set_up(&near, 7, false, &error), &error);
    must(weft_link_counters(&counters, &far, 9, &error), &error);
    assert_true(counters.up && !counters.carrier);
    part(&near, &far);
}

// 100 packets of 8042 bytes at 10 Mbit/s behind a burst of two take 0.63 s; without the shaper,
// which is the mutation, they take none.
static void shapers_hold_the_rate(void **state)
{
    (void)state;
    struct weft_error error;
    struct weft_netlink near;
    struct weft_netlink far;
    join(&near, &far);
    must(weft_link_set_offloads(&near, "port0", false, &error), &error);
    for (int htb = 0; htb < 2; htb++) {
        const struct weft_shaper shape = {1.25e6, 18028, 4 << 20};
        must(htb ? weft_qdisc_htb(&near, 7, &shape, &error)
                 : weft_qdisc_tbf(&near, 7, &shape, &error),
             &error);
        double seconds = 0;
        assert_int_equal(send_across(100, 8000, &seconds), 100);
        // The first two go at once; a loaded machine may be late, never early.
        assert_true(seconds > 0.6);
        assert_true(seconds < 1.5);
        struct weft_qdisc_counters counters;
        must(weft_qdisc_counters(&counters, &near, 7, &error), &error);
        assert_true(counters.sent_packets >= 100);
        assert_true(counters.sent_bytes >= 100 * 8042);
        assert_int_equal(counters.dropped_packets, 0);
    }
    // A short queue drops, and says so.
    const struct weft_shaper tight = {1.25e6, 18028, 40000};
    must(weft_qdisc_tbf(&near, 7, &tight, &error), &error);
    int came = send_across(100, 8000, NULL);
    struct weft_qdisc_counters counters;
    must(weft_qdisc_counters(&counters, &near, 7, &error), &error);
    assert_true(came < 50);
    assert_int_equal(counters.dropped_packets, 100 - came);
    part(&near, &far);
}

static void routes_are_set_replaced_and_removed(void **state)
{
    (void)state;
    struct weft_error error;
    struct weft_netlink near;
    struct weft_netlink far;
    join(&near, &far);
    const struct weft_next_hop hops[2] = {
        {.index = 7, .via = RIGHT_IP, .weight = 3},
        {.index = 7, .via = 0x0a000003, .weight = 256},
    };
    struct weft_route route = {0x0a800001, 32, 1000, 0, 50, 2, hops};
    must(weft_route_set(&near, &route, &error), &error);
    route.hop_count = 1;
    must(weft_route_set(&near, &route, &error), &error);
    must(weft_rule_add(&near, LEFT_IP, 1000, 10000, &error), &error);
    must(weft_rule_add(&near, LEFT_IP, 1000, 10000, &error), &error);
    must(weft_rule_delete(&near, LEFT_IP, 1000, 10000, &error), &error);
    must(weft_rule_delete(&near, LEFT_IP, 1000, 10000, &error), &error);
    must(weft_route_delete(&near, &route, &error), &error);
    must(weft_route_delete(&near, &route, &error), &error);
    must(weft_qdisc_clsact(&near, 7, &error), &error);
    must(weft_qdisc_clsact(&near, 7, &error), &error);
    part(&near, &far);
}

static void bridges_carry_between_pairs(void **state)
{
    (void)state;
    struct weft_error error;
    struct weft_netlink near;
    struct weft_netlink far;
    join(&near, &far);
    uint32_t bridge = 0;
    must(weft_link_bridge(&near, "switch", 0, 9000, &error), &error);
    must(weft_link_find(&bridge, &near, "switch", &error), &error);
    must(weft_link_set_master(&near, 7, bridge, &error), &error);
    must(weft_link_set_mtu(&near, 7, 1500, &error), &error);
    must(weft_link_delete(&near, bridge, &error), &error);
    must(weft_link_delete(&near, 7, &error), &error);
    assert_false(weft_link_find(&bridge, &far, "port0", &error));
    part(&near, &far);
}

static void failures_say_what_where_and_the_remedy(void **state)
{
    (void)state;
    struct weft_error error = {0};
    assert_false(weft_netns_create(left, &error));
    assert_int_equal(error.code, WEFT_IO);
    assert_non_null(strstr(error.message, left));
    assert_non_null(strstr(error.message, "weft lab down"));
    assert_false(weft_netns_create("../x", &error));
    assert_int_equal(error.code, WEFT_INPUT);
    assert_false(weft_netns_enter("weft-test-none", &error));
    assert_int_equal(error.code, WEFT_IO);
    assert_false(weft_netns_sysctl(left, "net/ipv4/no_such", "1", &error));
    assert_int_equal(error.code, WEFT_UNSUPPORTED);
    must(weft_netns_sysctl(left, "net/ipv4/ip_forward", "1", &error), &error);
    struct weft_netlink near;
    must(weft_netlink_open(&near, left, &error), &error);
    assert_false(weft_link_set_up(&near, 99, true, &error));
    assert_non_null(strstr(error.message, left));
    weft_netlink_close(&near);
}

static void names_and_processes_of_namespaces_are_found(void **state)
{
    (void)state;
    struct weft_error error;
    struct weft_arena arena;
    must(weft_arena_init(&arena, 0, &error), &error);
    const struct weft_arena all = arena;
    char prefix[WEFT_NETNS_NAME_MAX];
    const char *const *names = NULL;
    uint32_t count = 0;
    must(weft_netns_list(&names, &count, own_name(prefix, ""), &arena, &error), &error);
    assert_int_equal(count, 2);
    assert_string_equal(names[0], left);
    assert_string_equal(names[1], right);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct weft_error own;
        if (weft_netns_enter(right, &own)) {
            pause();
        }
        _exit(1);
    }
    pid_t pids[4] = {0};
    count = 0;
    for (int i = 0; i < 2000 && count == 0; i++) {
        usleep(1000);
        must(weft_netns_processes(&count, pids, 4, right, &error), &error);
    }
    assert_int_equal(pids[0], child);
    must(weft_netns_processes(&count, pids, 4, left, &error), &error);
    assert_int_equal(count, 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    struct weft_arena released = all;
    weft_arena_release(&released);
}

int main(void)
{
    need_namespaces();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(packets_cross_a_pair_and_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shapers_hold_the_rate, set_up, tear_down),
        cmocka_unit_test_setup_teardown(routes_are_set_replaced_and_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bridges_carry_between_pairs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failures_say_what_where_and_the_remedy, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_and_processes_of_namespaces_are_found, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests_name("netlink", tests, NULL, NULL);
}
