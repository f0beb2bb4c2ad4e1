// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TESTS_LAB_THREE_NODES_H
#define WEFT_TESTS_LAB_THREE_NODES_H

// A source, a node that forwards and a sink, each a namespace, and messages of MLT that go from the
// first to the last. A port of the middle is one of a switch, the source's one of a host.

#include "lab_test.h"

#include "weft/mlt.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

enum {
    PACKET_BYTES = 1000, // of the payload
    FRAME_BYTES = PACKET_BYTES + 42,
    SOURCE_PORT = 7, // interfaces
    IN_PORT = 8,
    OUT_PORT = 9,
    SINK_PORT = 10,
    TEXT_KIND = WEFT_MLT_KINDS, // what no message of MLT is
};
#define SOURCE_IP 0x0a000001u
#define SINK_IP 0x0a000002u

static char names[3][WEFT_NETNS_NAME_MAX];
static struct weft_netlink source;
static struct weft_netlink middle;
static struct weft_netlink sink;
static int sender = -1;
static int receiver = -1;

// ---- the three nodes ----

static inline int open_socket(const char *netns)
{
    struct weft_error error;
    int fd = -1;
    int room = 64 << 20;
    int yes = 1;
    must(weft_netns_socket(&fd, netns, AF_INET, SOCK_DGRAM, 0, &error), &error);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room), 0);
    assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_RECVTOS, &yes, sizeof yes), 0);
    return fd;
}

static inline void join(struct weft_netlink *near, uint32_t near_index, struct weft_netlink *far,
                        uint32_t far_index, const char *far_netns)
{
    struct weft_error error;
    char near_name[16];
    char far_name[16];
    const uint8_t near_mac[6] = {2, 0x57, 0, 0, 0, (uint8_t)near_index};
    const uint8_t far_mac[6] = {2, 0x57, 0, 0, 0, (uint8_t)far_index};
    snprintf(near_name, sizeof near_name, "port%u", near_index);
    snprintf(far_name, sizeof far_name, "port%u", far_index);
    const struct weft_veth_end ends[2] = {
        {.name = near_name, .index = near_index, .mac = near_mac},
        {.name = far_name, .netns = far_netns, .index = far_index, .mac = far_mac},
    };
    must(weft_link_veth(near, &ends[0], &ends[1], 1500, &error), &error);
    must(weft_link_set_offloads(near, near_name, false, &error), &error);
    must(weft_link_set_offloads(far, far_name, false, &error), &error);
    must(weft_link_set_up(near, near_index, true, &error), &error);
    must(weft_link_set_up(far, far_index, true, &error), &error);
    must(weft_link_await(near, near_index, &error), &error);
    must(weft_neighbor_set(near, near_index, SINK_IP, far_mac, &error), &error);
    const struct weft_next_hop hop = {.index = near_index, .weight = 1};
    must(weft_route_set(near, &(struct weft_route){SINK_IP, 32, 0, 0, 0, 1, &hop}, &error), &error);
}

static inline int set_up(void **state)
{
    (void)state;
    static const char *const files[][2] = {
        {"net/ipv4/ip_forward", "1"},
        {"net/ipv4/conf/all/rp_filter", "0"},
        {"net/ipv4/conf/default/rp_filter", "0"},
        {"net/ipv6/conf/all/disable_ipv6", "1"}, // its multicasts would be counted
        {"net/ipv6/conf/default/disable_ipv6", "1"},
    };
    struct weft_error error;
    for (int i = 0; i < 3; i++) {
        own_name(names[i], i == 0 ? "source" : i == 1 ? "middle" : "sink");
        must(weft_netns_create(names[i], &error), &error);
        for (unsigned f = 0; f < sizeof files / sizeof files[0]; f++) {
            must(weft_netns_sysctl(names[i], files[f][0], files[f][1], &error), &error);
        }
    }
    must(weft_netlink_open(&source, names[0], &error), &error);
    must(weft_netlink_open(&middle, names[1], &error), &error);
    must(weft_netlink_open(&sink, names[2], &error), &error);
    join(&source, SOURCE_PORT, &middle, IN_PORT, names[1]);
    join(&middle, OUT_PORT, &sink, SINK_PORT, names[2]);
    must(weft_address_add(&source, SOURCE_PORT, SOURCE_IP, 32, &error), &error);
    must(weft_address_add(&sink, SINK_PORT, SINK_IP, 32, &error), &error);
    sender = open_socket(names[0]);
    receiver = open_socket(names[2]);
    const struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(4000)};
    assert_int_equal(bind(receiver, (const struct sockaddr *)&to, sizeof to), 0);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    struct weft_error error;
    close(sender);
    close(receiver);
    weft_netlink_close(&source);
    weft_netlink_close(&middle);
    weft_netlink_close(&sink);
    for (int i = 0; i < 3; i++) {
        must(weft_netns_delete(names[i], &error), &error);
    }
    return 0;
}

// ---- packets ----

struct packet {
    uint32_t number;
    uint16_t layer;
    uint8_t kind;
    bool important;
    uint8_t ecn; // as sent, or as it came
};

static inline size_t write_packet(uint8_t *bytes, const struct packet *packet)
{
    static const uint8_t nothing[PACKET_BYTES];
    struct weft_mlt_message message = {
        .kind = (enum weft_mlt_kind)(packet->kind == TEXT_KIND ? WEFT_MLT_DATA : packet->kind),
        .epoch = packet->number,
    };
    if (message.kind == WEFT_MLT_DATA) {
        message.layer = packet->layer;
        message.important = packet->important;
        message.data_bytes = PACKET_BYTES - WEFT_MLT_DATA_HEAD_BYTES;
        message.data = nothing;
        size_t size = weft_mlt_message_write(bytes, &message, NULL);
        bytes[2] = packet->kind == TEXT_KIND ? 99 : bytes[2]; // of no version that there is
        return size;
    }
    // The classifier believes a head without its MAC, which is the ends' business.
    memset(bytes, 0, 40);
    const uint8_t head[] = {0x57, 0x4d, WEFT_MLT_VERSION, packet->kind};
    memcpy(bytes, head, sizeof head);
    memcpy(bytes + 4, &packet->number, 4);
    return 40;
}

static inline void send_packets(const struct packet *packets, unsigned count)
{
    enum { BATCH = 128 };
    static uint8_t bytes[BATCH][PACKET_BYTES];
    static struct mmsghdr messages[BATCH];
    static struct iovec parts[BATCH];
    static _Alignas(8) char controls[BATCH][CMSG_SPACE(sizeof(int))];
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(4000), .sin_addr.s_addr = htonl(SINK_IP)};
    for (unsigned first = 0; first < count; first += BATCH) {
        unsigned batch = count - first < BATCH ? count - first : BATCH;
        for (unsigned i = 0; i < batch; i++) {
            parts[i] = (struct iovec){bytes[i], write_packet(bytes[i], &packets[first + i])};
            struct msghdr *header = &messages[i].msg_hdr;
            *header = (struct msghdr){.msg_name = &to,
                                      .msg_namelen = sizeof to,
                                      .msg_iov = &parts[i],
                                      .msg_iovlen = 1,
                                      .msg_control = controls[i],
                                      .msg_controllen = sizeof controls[i]};
            struct cmsghdr *control = CMSG_FIRSTHDR(header);
            control->cmsg_len = CMSG_LEN(sizeof(int));
            control->cmsg_level = IPPROTO_IP;
            control->cmsg_type = IP_TOS;
            int tos = packets[first + i].ecn;
            memcpy(CMSG_DATA(control), &tos, sizeof tos);
        }
        assert_int_equal(sendmmsg(sender, messages, batch, 0), batch);
    }
}

// What comes until nothing has come for so long; their number.
static inline unsigned receive_packets(struct packet *packets, unsigned room, int patience_ms)
{
    unsigned count = 0;
    struct pollfd wait = {receiver, POLLIN, 0};
    while (poll(&wait, 1, patience_ms) == 1) {
        uint8_t bytes[PACKET_BYTES + 1];
        char control[128];
        struct iovec part = {bytes, sizeof bytes};
        struct msghdr header = {.msg_iov = &part,
                                .msg_iovlen = 1,
                                .msg_control = control,
                                .msg_controllen = sizeof control};
        ssize_t size = recvmsg(receiver, &header, 0);
        assert_true(size >= 40 && count < room);
        struct packet *packet = &packets[count++];
        *packet = (struct packet){.kind = bytes[2] == 99 ? TEXT_KIND : bytes[3]};
        memcpy(&packet->number, bytes + 4, 4);
        if (packet->kind == WEFT_MLT_DATA) {
            packet->layer = (uint16_t)(bytes[24] | bytes[25] << 8);
            packet->important = bytes[26] == 1;
        }
        for (struct cmsghdr *each = CMSG_FIRSTHDR(&header); each != NULL;
             each = CMSG_NXTHDR(&header, each)) {
            if (each->cmsg_level == IPPROTO_IP && each->cmsg_type == IP_TOS) {
                packet->ecn = *CMSG_DATA(each) & IPTOS_ECN_MASK;
            }
        }
    }
    return count;
}

#endif
