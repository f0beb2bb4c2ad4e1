// SPDX-License-Identifier: Apache-2.0
// Cross-connects of a switch's ports in three ways, as root: bench_cross_connects [FRAMES].
// Prints the tables of docs/lab.md: what a batch takes until the command ends and until a frame has
// gone each new way, and what a frame takes to pass. A switch of 128 ports in one namespace, their
// far ends in another; both are taken away at the end.

#include "runtime/netlink/message.h"
#include "runtime/ocs/ocs.h"

#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/pkt_cls.h>
#include <linux/tc_act/tc_mirred.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PORTS = 128, NEAR = 1000, FAR = 2000, BRIDGES = 3000, ACTIONS_A_MESSAGE = 32 };
enum { FRAME_TYPE = 0x88b5, FRAME_BYTES = 100, TRIES = 21 };
enum way { EBPF, ACTIONS, ENSLAVE, WAY_COUNT };
static const char *const way_names[WAY_COUNT] = {
    "eBPF: stores to the switch's table",
    "rtnetlink: targets of `mirred` actions",
    "rtnetlink: both ports into a bridge",
};

static char netns[2][WEFT_NETNS_NAME_MAX]; // the switch, the far ends
static struct weft_netlink links[2];
static struct weft_arena arena;
static struct weft_arena scratch;
static struct weft_ocs ocs;
static int sockets[PORTS]; // at the far ends
static pid_t owner;

static void require(bool fine, const struct weft_error *error)
{
    if (!fine) {
        fprintf(stderr, "bench_cross_connects: %s\n", error->message);
        exit(1);
    }
}

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// ---- rtnetlink ----

static void put_mirred(struct nlmsghdr *header, uint16_t order, uint32_t action, uint32_t output)
{
    const struct tc_mirred parameters = {
        .index = action,
        .action = TC_ACT_STOLEN,
        .eaction = TCA_EGRESS_REDIR,
        .ifindex = NEAR + output,
    };
    struct nlattr *nest = mnl_attr_nest_start(header, order);
    mnl_attr_put_strz(header, TCA_ACT_KIND, "mirred");
    struct nlattr *options = mnl_attr_nest_start(header, TCA_ACT_OPTIONS);
    mnl_attr_put(header, TCA_MIRRED_PARMS, sizeof parameters, &parameters);
    mnl_attr_nest_end(header, options);
    mnl_attr_nest_end(header, nest);
}

// All that enters the port meets its action.
static void add_filter(uint32_t port, uint32_t output)
{
    struct request request;
    struct weft_error error;
    // One key that any frame has: no bits of its first word.
    _Alignas(struct tc_u32_sel) char all[sizeof(struct tc_u32_sel) + sizeof(struct tc_u32_key)] = {
        0};
    *(struct tc_u32_sel *)(void *)all = (struct tc_u32_sel){.flags = TC_U32_TERMINAL, .nkeys = 1};
    struct tcmsg *body = weft_request_begin(
        &request, &links[0], (struct request_head){RTM_NEWTFILTER, NLM_F_CREATE, sizeof *body},
        "filter of port %u", port);
    body->tcm_ifindex = (int)(NEAR + port);
    body->tcm_parent = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS);
    body->tcm_info = TC_H_MAKE(1u << 16, 0x0300u); // ETH_P_ALL in network order
    mnl_attr_put_strz(request.header, TCA_KIND, "u32");
    struct nlattr *nest = mnl_attr_nest_start(request.header, TCA_OPTIONS);
    mnl_attr_put(request.header, TCA_U32_SEL, sizeof all, all);
    struct nlattr *actions = mnl_attr_nest_start(request.header, TCA_U32_ACT);
    put_mirred(request.header, 1, port + 1, output);
    mnl_attr_nest_end(request.header, actions);
    mnl_attr_nest_end(request.header, nest);
    require(weft_request_send(&request, NULL, NULL, &error), &error);
}

static void change_actions(const struct weft_ocs_circuit *changes, uint32_t count)
{
    for (uint32_t first = 0; first < count; first += ACTIONS_A_MESSAGE) {
        struct request request;
        struct weft_error error;
        struct tcamsg *body = weft_request_begin(
            &request, &links[0],
            (struct request_head){RTM_NEWACTION, NLM_F_CREATE | NLM_F_REPLACE, sizeof *body},
            "actions of ports");
        struct nlattr *table = mnl_attr_nest_start(request.header, TCA_ACT_TAB);
        for (uint32_t i = 0; i < ACTIONS_A_MESSAGE && first + i < count; i++) {
            const struct weft_ocs_circuit *change = &changes[first + i];
            put_mirred(request.header, (uint16_t)(i + 1), change->input + 1, change->output);
        }
        mnl_attr_nest_end(request.header, table);
        require(weft_request_send(&request, NULL, NULL, &error), &error);
    }
}

// A bridge joins both ways; one stands for each input of the first half.
static void change_bridges(const struct weft_ocs_circuit *changes, uint32_t count)
{
    struct weft_error error;
    for (uint32_t i = 0; i < count; i++) {
        if (changes[i].input < PORTS / 2) {
            require(weft_link_set_master(&links[0], NEAR + changes[i].output,
                                         BRIDGES + changes[i].input, &error),
                    &error);
        }
    }
}

static void change(enum way way, const struct weft_ocs_circuit *changes, uint32_t count)
{
    struct weft_error error;
    struct weft_ocs_change changed;
    if (way == EBPF) {
        require(weft_ocs_connect(&changed, &ocs, changes, count, scratch, &error), &error);
    } else if (way == ACTIONS) {
        change_actions(changes, count);
    } else {
        change_bridges(changes, count);
    }
}

// ---- frames ----

struct frame {
    struct ethhdr head;
    uint16_t number;
    uint8_t rest[FRAME_BYTES - sizeof(struct ethhdr) - 2];
};

static void send_frame(uint32_t port, uint16_t number)
{
    struct frame frame = {.number = number};
    memset(frame.head.h_dest, 0xff, ETH_ALEN);
    frame.head.h_source[0] = 2;
    frame.head.h_source[5] = (uint8_t)port;
    frame.head.h_proto = (uint16_t)((FRAME_TYPE >> 8) | ((FRAME_TYPE & 0xff) << 8));
    if (send(sockets[port], &frame, sizeof frame, 0) != sizeof frame) {
        fprintf(stderr, "bench_cross_connects: send: %s\n", strerror(errno));
        exit(1);
    }
}

static bool take_frame(uint32_t port, uint16_t number)
{
    struct frame frame;
    struct sockaddr_ll from;
    socklen_t size = sizeof from;
    while (recvfrom(sockets[port], &frame, sizeof frame, MSG_DONTWAIT, (struct sockaddr *)&from,
                    &size) == (ssize_t)sizeof frame) {
        if (from.sll_pkttype != PACKET_OUTGOING && frame.number == number) {
            return true;
        }
    }
    return false;
}

// Until a frame that was sent into each input has come out of its output.
static bool await_light(const struct weft_ocs_circuit *changes, uint32_t count, uint16_t number)
{
    uint64_t end_ns = now_ns(CLOCK_MONOTONIC) + 2000000000u;
    for (uint32_t i = 0; i < count; i++) {
        send_frame(changes[i].input, number);
    }
    for (uint32_t i = 0; i < count;) {
        if (take_frame(changes[i].output, number)) {
            i++;
        } else if (now_ns(CLOCK_MONOTONIC) > end_ns) {
            return false;
        }
    }
    return true;
}

// ---- measuring ----

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, TRIES, sizeof values[0], by_value);
    return values[TRIES / 2];
}

// Circuits both ways between the first `pairs` ports of either half, shifted. No pairs: one circuit
// alone, to another output or, where that moves (a bridge), from another input.
static uint32_t choose(struct weft_ocs_circuit *changes, enum way way, uint32_t pairs,
                       uint32_t shift)
{
    uint32_t half = PORTS / 2;
    if (pairs == 0) {
        uint32_t other = shift % 2;
        changes[0] = way == ENSLAVE ? (struct weft_ocs_circuit){other, half}
                                    : (struct weft_ocs_circuit){0, half + other};
        return 1;
    }
    for (uint32_t i = 0; i < pairs; i++) {
        uint32_t far = half + (i + shift) % pairs;
        changes[2 * i] = (struct weft_ocs_circuit){i, far};
        changes[2 * i + 1] = (struct weft_ocs_circuit){far, i};
    }
    return 2 * pairs;
}

static void measure_batch(enum way way, uint32_t pairs)
{
    double command_s[TRIES];
    double light_s[TRIES];
    struct weft_ocs_circuit changes[PORTS];
    uint32_t count = 0;
    static uint16_t number;
    for (uint32_t t = 0; t < TRIES; t++) {
        count = choose(changes, way, pairs, t % 2 + 1);
        uint64_t begin_ns = now_ns(CLOCK_MONOTONIC);
        change(way, changes, count);
        command_s[t] = 1e-9 * (double)(now_ns(CLOCK_MONOTONIC) - begin_ns);
        number++;
        if (!await_light(changes, count, number)) {
            printf("| %s | %u | a frame was lost |\n", way_names[way], count);
            return;
        }
        light_s[t] = 1e-9 * (double)(now_ns(CLOCK_MONOTONIC) - begin_ns);
    }
    double command = median(command_s);
    printf("| %s | %u | %.1f us | %.2f us | %.0f us |\n", way_names[way], count, 1e6 * command,
           1e6 * command / count, 1e6 * median(light_s));
}

// Processor time of a frame from a far end to its output's far end, in the sender's own context.
static double frame_ns(uint32_t port, uint32_t frames, uint64_t *passed, uint32_t output)
{
    struct weft_error error;
    struct weft_link_counters before;
    struct weft_link_counters after;
    require(weft_link_counters(&before, &links[1], FAR + output, &error), &error);
    uint64_t begin_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (uint32_t i = 0; i < frames; i++) {
        send_frame(port, 0);
    }
    double spent = (double)(now_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns) / frames;
    usleep(100000);
    require(weft_link_counters(&after, &links[1], FAR + output, &error), &error);
    *passed = after.received_packets - before.received_packets;
    return spent;
}

static void measure_frames(enum way way, uint32_t frames)
{
    double spent[TRIES];
    uint64_t passed = 0;
    struct weft_ocs_circuit changes[PORTS];
    change(way, changes, choose(changes, way, PORTS / 2, 0));
    close(sockets[PORTS / 2]); // nobody takes what comes
    for (uint32_t t = 0; t < TRIES; t++) {
        uint64_t now_passed = 0;
        spent[t] = frame_ns(0, frames / TRIES, &now_passed, PORTS / 2);
        passed += now_passed;
    }
    printf("| %s | %.0f ns | %.1f %% |\n", way_names[way], median(spent),
           100.0 * (double)passed / (double)(frames / TRIES * TRIES));
}

// ---- the stage ----

static void open_sockets(void)
{
    for (uint32_t p = 0; p < PORTS; p++) {
        struct weft_error error;
        int room = 1 << 20;
        const struct sockaddr_ll own = {
            .sll_family = AF_PACKET,
            .sll_protocol = (uint16_t)((FRAME_TYPE >> 8) | ((FRAME_TYPE & 0xff) << 8)),
            .sll_ifindex = (int)(FAR + p),
        };
        require(weft_netns_socket(&sockets[p], netns[1], AF_PACKET, SOCK_RAW, 0, &error), &error);
        setsockopt(sockets[p], SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
        if (bind(sockets[p], (const struct sockaddr *)&own, sizeof own) != 0) {
            fprintf(stderr, "bench_cross_connects: bind: %s\n", strerror(errno));
            exit(1);
        }
    }
}

static void raise_stage(enum way way)
{
    struct weft_error error;
    for (uint32_t i = 0; i < 2; i++) {
        require(
            weft_netns_create(netns[i], &error) &&
                weft_netns_sysctl(netns[i], "net/ipv6/conf/default/disable_ipv6", "1", &error) &&
                weft_netlink_open(&links[i], netns[i], &error),
            &error);
    }
    struct weft_ocs_kernel kernel = {.port_count = PORTS, .first_index = NEAR};
    if (way == EBPF) {
        require(weft_bpf_ocs_load(&kernel.program, PORTS, NEAR, &error) &&
                    weft_ocs_open_kernel(&ocs, &kernel, &arena, &error),
                &error);
    }
    for (uint32_t p = 0; p < PORTS; p++) {
        char names[2][16];
        snprintf(names[0], sizeof names[0], "p%u", p);
        snprintf(names[1], sizeof names[1], "f%u", p);
        const struct weft_veth_end near = {.name = names[0], .index = NEAR + p};
        const struct weft_veth_end far = {.name = names[1], .netns = netns[1], .index = FAR + p};
        require(weft_link_veth(&links[0], &near, &far, 9000, &error) &&
                    weft_qdisc_clsact(&links[0], NEAR + p, &error) &&
                    weft_link_set_up(&links[0], NEAR + p, true, &error) &&
                    weft_link_set_up(&links[1], FAR + p, true, &error),
                &error);
        if (way == EBPF) {
            require(weft_filter_bpf(
                        &links[0], NEAR + p,
                        &(struct weft_filter){false, 1, kernel.program.program_fd, "weft-ocs"},
                        &error),
                    &error);
        }
    }
    for (uint32_t p = 0; p < PORTS && way != EBPF; p++) {
        uint32_t output = (p + PORTS / 2) % PORTS;
        char name[16];
        snprintf(name, sizeof name, "b%u", p);
        if (way == ACTIONS) {
            add_filter(p, output);
        } else if (p < PORTS / 2) {
            require(weft_link_bridge(&links[0], name, BRIDGES + p, 9000, &error) &&
                        weft_link_set_up(&links[0], BRIDGES + p, true, &error) &&
                        weft_link_set_master(&links[0], NEAR + p, BRIDGES + p, &error) &&
                        weft_link_set_master(&links[0], NEAR + output, BRIDGES + p, &error),
                    &error);
        }
    }
    for (uint32_t p = 0; p < PORTS; p++) {
        require(weft_link_await(&links[1], FAR + p, &error), &error);
    }
    open_sockets();
}

static void take_away(void)
{
    struct weft_error ignored;
    for (uint32_t i = 0; i < 2 && getpid() == owner; i++) {
        if (!weft_netns_delete(netns[i], &ignored)) {
            fprintf(stderr, "bench_cross_connects: %s\n", ignored.message);
        }
    }
}

static void strike_stage(enum way way)
{
    for (uint32_t p = 0; p < PORTS; p++) {
        close(sockets[p]);
    }
    if (way == EBPF) {
        weft_ocs_close(&ocs);
    }
    for (uint32_t i = 0; i < 2; i++) {
        weft_netlink_close(&links[i]);
    }
    take_away();
}

int main(int argc, char **argv)
{
    static const uint32_t pairs[] = {0, 8, 32, 64};
    uint32_t frames = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 210000;
    struct weft_error error;
    require(weft_arena_init(&arena, 0, &error) && weft_arena_init(&scratch, 0, &error), &error);
    owner = getpid();
    atexit(take_away);
    for (uint32_t pass = 0; pass < 2; pass++) {
        printf(pass == 0 ? "| by | circuits | command | a circuit | light in all |\n"
                           "|---|---|---|---|---|\n"
                         : "\n| by | CPU a frame | passed |\n|---|---|---|\n");
        for (uint32_t way = 0; way < WAY_COUNT; way++) {
            for (uint32_t i = 0; i < 2; i++) {
                snprintf(netns[i], sizeof netns[i], "weft-xc%d-%u%u", owner, 2 * pass + i, way);
            }
            raise_stage((enum way)way);
            for (size_t i = 0; i < sizeof pairs / sizeof pairs[0] && pass == 0; i++) {
                measure_batch((enum way)way, pairs[i]);
            }
            if (pass == 1) {
                measure_frames((enum way)way, frames);
            }
            strike_stage((enum way)way);
            fflush(stdout);
        }
    }
    return 0;
}
