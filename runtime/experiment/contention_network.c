// SPDX-License-Identifier: Apache-2.0
// The network of a contention experiment: one namespace for each sender and for the receiver, a
// bridge between them, and the bottleneck with its shaper and marker.
//
// The bottleneck is the bridge's port to the receiver, shaped by a token bucket (TBF). Offloads are
// off, so that queues hold single packets, and neighbors are permanent, so that nothing but the
// jobs' traffic is sent.

#include "contention_private.h"

#include "runtime/netlink/netlink.h"

#include <string.h>

#define BRIDGE_NETNS "contention-bridge"
#define LINK_NAME "eth0"
// Enough for a few packets back to back.
#define BURST_PACKETS 4u

uint32_t contention_address(uint32_t job)
{
    return job == CONTENTION_RECEIVER ? 0x0a570001u : 0x0a570101u + job;
}

const char *contention_netns(char name[32], uint32_t job)
{
    if (job == CONTENTION_RECEIVER) {
        snprintf(name, 32, "contention-sink");
    } else {
        snprintf(name, 32, "contention-%u", job);
    }
    return name;
}

// Locally administered, from the address, so that neighbors can be set without asking.
static void fill_mac(uint8_t mac[6], uint32_t job)
{
    uint32_t address = contention_address(job);
    const uint8_t bytes[6] = {2,
                              0x57,
                              (uint8_t)(address >> 24),
                              (uint8_t)(address >> 16),
                              (uint8_t)(address >> 8),
                              (uint8_t)address};
    memcpy(mac, bytes, sizeof bytes);
}

// A host's TCP as the experiment wants it: ECN where marks are, no memory of earlier connections,
// buffers larger than any burst.
static bool tune_host(const char *netns, const struct weft_contention_options *options,
                      struct weft_error *error)
{
    const char *idle = options->idle_restart ? "1" : "0";
    const char *ecn = options->mark_packets > 0 ? "1" : "0";
    struct weft_error ignored; // a kernel without IPv6 has nothing to turn off
    if (!weft_netns_sysctl(netns, "net/ipv6/conf/all/disable_ipv6", "1", &ignored)) {
        ignored.code = WEFT_OK;
    }
    return weft_netns_sysctl(netns, "net/ipv4/tcp_slow_start_after_idle", idle, error) &&
           weft_netns_sysctl(netns, "net/ipv4/tcp_ecn", ecn, error) &&
           weft_netns_sysctl(netns, "net/ipv4/tcp_no_metrics_save", "1", error) &&
           weft_netns_sysctl(netns, "net/ipv4/tcp_rmem", "4096 1048576 67108864", error) &&
           weft_netns_sysctl(netns, "net/ipv4/tcp_wmem", "4096 1048576 67108864", error);
}

// A host with one link to the bridge: *port is the interface there.
static bool add_host(uint32_t *port, struct weft_netlink *switches, uint32_t bridge, uint32_t job,
                     const struct weft_contention_options *options, struct weft_error *error)
{
    char netns[32];
    char name[16];
    uint8_t mac[6];
    struct weft_netlink host;
    fill_mac(mac, job);
    snprintf(name, sizeof name, job == CONTENTION_RECEIVER ? "sink" : "job%u", job);
    if (!weft_netns_create(contention_netns(netns, job), error) ||
        !tune_host(netns, options, error) || !weft_netlink_open(&host, netns, error)) {
        return false;
    }
    const struct weft_veth_end near = {.name = name};
    const struct weft_veth_end far = {.name = LINK_NAME, .netns = netns, .mac = mac};
    uint32_t index = 0;
    bool fine = weft_link_veth(switches, &near, &far, options->mtu_bytes, error) &&
                weft_link_find(port, switches, name, error) &&
                weft_link_set_master(switches, *port, bridge, error) &&
                weft_link_set_offloads(switches, name, false, error) &&
                weft_link_set_up(switches, *port, true, error) &&
                weft_link_find(&index, &host, LINK_NAME, error) &&
                weft_link_set_offloads(&host, LINK_NAME, false, error) &&
                weft_address_add(&host, index, contention_address(job), 16, error) &&
                weft_link_set_up(&host, index, true, error);
    uint32_t first = job == CONTENTION_RECEIVER ? 0 : CONTENTION_RECEIVER;
    uint32_t count = job == CONTENTION_RECEIVER ? options->job_count : 1;
    for (uint32_t i = 0; fine && i < count; i++) {
        uint32_t other = first == CONTENTION_RECEIVER ? CONTENTION_RECEIVER : i;
        fill_mac(mac, other);
        fine = weft_neighbor_set(&host, index, contention_address(other), mac, error);
    }
    weft_netlink_close(&host);
    return fine;
}

// Makes the port to the receiver the bottleneck: rate, queue and marks.
static bool narrow(struct contention_network *network, struct weft_netlink *switches,
                   const struct weft_contention_options *options, struct weft_error *error)
{
    uint32_t frame_bytes = options->mtu_bytes + CONTENTION_ETHERNET_BYTES;
    const struct weft_shaper shape = {
        .rate_Bps = options->rate_Bps,
        .burst_bytes = BURST_PACKETS * frame_bytes,
        .limit_bytes = options->queue_packets * frame_bytes,
    };
    if (!weft_qdisc_tbf(switches, network->bottleneck, &shape, error)) {
        return false;
    }
    return options->mark_packets == 0 ||
           (weft_marker_load(&network->marker, options->mark_packets, error) &&
            weft_qdisc_clsact(switches, network->bottleneck, error) &&
            weft_filter_bpf(switches, network->bottleneck,
                            &(struct weft_filter){true, 1, network->marker.program_fd, "weft_mark"},
                            error));
}

bool contention_network_build(struct contention_network *network,
                              const struct weft_contention_options *options,
                              struct weft_error *error)
{
    *network = (struct contention_network){.bottleneck = 0};
    struct weft_netlink switches;
    uint32_t bridge = 0;
    if (!weft_netns_create(BRIDGE_NETNS, error) ||
        !weft_netlink_open(&switches, BRIDGE_NETNS, error)) {
        return false;
    }
    bool fine =
        weft_link_bridge(&switches, "bridge", 0, options->mtu_bytes, error) &&
        weft_link_find(&bridge, &switches, "bridge", error) &&
        weft_link_set_up(&switches, bridge, true, error) &&
        add_host(&network->bottleneck, &switches, bridge, CONTENTION_RECEIVER, options, error);
    for (uint32_t job = 0; fine && job < options->job_count; job++) {
        uint32_t port = 0;
        fine = add_host(&port, &switches, bridge, job, options, error);
    }
    fine = fine && narrow(network, &switches, options, error);
    weft_netlink_close(&switches);
    return fine;
}

bool contention_network_count(struct weft_contention_result *result,
                              const struct contention_network *network,
                              const struct weft_contention_options *options,
                              struct weft_error *error)
{
    struct weft_netlink switches;
    struct weft_qdisc_counters counters = {0};
    if (!weft_netlink_open(&switches, BRIDGE_NETNS, error)) {
        return false;
    }
    bool fine = weft_qdisc_counters(&counters, &switches, network->bottleneck, error);
    weft_netlink_close(&switches);
    uint64_t counts[4] = {0};
    if (fine && options->mark_packets > 0 && !weft_marker_counts(counts, &network->marker)) {
        return weft_fail(error, WEFT_IO, "the counts of marks are gone");
    }
    result->drops = counters.dropped_packets;
    result->ecn_marks = counts[1];
    result->longest_queue = counts[3];
    return fine;
}
