// SPDX-License-Identifier: Apache-2.0
// The management network: a bridge, a cable a server, routes (management.h).

#include "management.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// TCP's shortest timeout, so that bytes that were lost in the dark are not missed for 200 ms.
#define RTO_MIN_MS 40u

static void bridge_netns(char netns[WEFT_NETNS_NAME_MAX], const struct weft_lab *lab)
{
    struct weft_lab plain = *lab;
    plain.ocs_count = 0;
    weft_lab_switch_netns(netns, &plain, 0);
}

static uint32_t bridge_address(const struct weft_lab *lab)
{
    return weft_lab_server_address(lab->server_count);
}

// The rail's ports come first.
static uint32_t own_port(const struct weft_lab *lab)
{
    return lab->port_count;
}

static bool set_route(struct weft_netlink *netlink, uint32_t target, uint32_t port, uint32_t server,
                      struct weft_error *error)
{
    const struct weft_next_hop hop = {weft_lab_port_index(port), 0, 1};
    const struct weft_route route = {.target = target,
                                     .prefix_bits = 32,
                                     .source = weft_lab_server_address(server),
                                     .hop_count = 1,
                                     .hops = &hop};
    return weft_route_set(netlink, &route, error);
}

static bool set_neighbors(struct weft_netlink *netlink, const struct weft_lab *lab, uint32_t server,
                          struct weft_error *error)
{
    for (uint32_t t = 0; t < lab->server_count; t++) {
        uint8_t mac[6];
        weft_lab_port_mac(mac, t, own_port(lab));
        if (t == server) {
            continue;
        }
        if (!weft_neighbor_set(netlink, weft_lab_port_index(own_port(lab)),
                               weft_lab_server_address(t), mac, error) ||
            !set_route(netlink, weft_lab_server_address(t), own_port(lab), server, error)) {
            return false;
        }
        for (uint32_t p = 0; p < lab->port_count; p++) {
            weft_lab_port_mac(mac, t, p);
            if (!weft_neighbor_set(netlink, weft_lab_port_index(p), weft_lab_port_address(t, p),
                                   mac, error) ||
                !lab_management_route(netlink, t, p, own_port(lab), error)) {
                return false;
            }
        }
    }
    return true;
}

bool lab_management_route(struct weft_netlink *netlink, uint32_t server, uint32_t port,
                          uint32_t way, struct weft_error *error)
{
    const struct weft_next_hop hop = {weft_lab_port_index(way),
                                      way == port ? 0 : weft_lab_server_address(server), 1};
    const struct weft_route route = {.target = weft_lab_port_address(server, port),
                                     .prefix_bits = 32,
                                     .rto_min_ms = RTO_MIN_MS,
                                     .hop_count = 1,
                                     .hops = &hop};
    return weft_route_set(netlink, &route, error);
}

// One server's cable to the bridge, shaped at both ends like a port of the rail.
static bool add_cable(struct weft_netlink *bridge, const struct weft_lab *lab, uint32_t master,
                      uint32_t server, struct weft_error *error)
{
    char netns[WEFT_NETNS_NAME_MAX];
    char far[WEFT_NETNS_NAME_MAX];
    char name[2][16];
    uint8_t mac[6];
    uint32_t index = weft_lab_port_index(own_port(lab));
    struct weft_netlink netlink;
    const struct weft_shaper shape = {lab->rate_Bps, lab->burst_bytes, lab->buffer_bytes};
    snprintf(name[0], sizeof name[0], "port%u", own_port(lab));
    snprintf(name[1], sizeof name[1], "p%u", server);
    bridge_netns(far, lab);
    weft_lab_port_mac(mac, server, own_port(lab));
    const struct weft_veth_end ends[2] = {
        {.name = name[0], .index = index, .mac = mac},
        {.name = name[1], .netns = far, .index = weft_lab_cable_index(server)},
    };
    weft_lab_server_netns(netns, lab->name, server);
    if (!weft_netns_sysctl(netns, "net/ipv4/ip_forward", "0", error) ||
        !weft_netns_sysctl(netns, "net/ipv4/tcp_slow_start_after_idle", "0", error) ||
        !weft_netlink_open(&netlink, netns, error)) {
        return false;
    }
    bool fine = weft_link_veth(&netlink, &ends[0], &ends[1], lab->mtu_bytes, error) &&
                weft_link_set_offloads(&netlink, name[0], false, error) &&
                weft_link_set_offloads(bridge, name[1], false, error) &&
                weft_qdisc_tbf(&netlink, index, &shape, error) &&
                weft_qdisc_tbf(bridge, weft_lab_cable_index(server), &shape, error) &&
                weft_link_set_up(&netlink, index, true, error) &&
                weft_link_set_master(bridge, weft_lab_cable_index(server), master, error) &&
                weft_link_set_up(bridge, weft_lab_cable_index(server), true, error) &&
                set_neighbors(&netlink, lab, server, error) &&
                weft_link_await(&netlink, index, error);
    weft_netlink_close(&netlink);
    return fine;
}

// A cable to the controller alone, of no set rate: its messages may not wait behind the job's
// bytes.
static bool add_line(struct weft_netlink *bridge, const struct weft_lab *lab, uint32_t server,
                     struct weft_error *error)
{
    char netns[WEFT_NETNS_NAME_MAX];
    char far[WEFT_NETNS_NAME_MAX];
    char name[16];
    uint32_t indexes[2] = {weft_lab_port_index(own_port(lab) + 1),
                           weft_lab_cable_index(WEFT_LAB_SERVERS_MAX + 1 + server)};
    struct weft_netlink netlink;
    snprintf(name, sizeof name, "c%u", server);
    bridge_netns(far, lab);
    const struct weft_veth_end ends[2] = {{.name = "control", .index = indexes[0]},
                                          {.name = name, .netns = far, .index = indexes[1]}};
    const struct weft_next_hop hop = {indexes[1], 0, 1};
    const struct weft_route route = {.target = weft_lab_server_address(server),
                                     .prefix_bits = 32,
                                     .source = bridge_address(lab),
                                     .hop_count = 1,
                                     .hops = &hop};
    weft_lab_server_netns(netns, lab->name, server);
    if (!weft_netlink_open(&netlink, netns, error)) {
        return false;
    }
    bool fine = weft_link_veth(&netlink, &ends[0], &ends[1], lab->mtu_bytes, error) &&
                weft_link_set_up(&netlink, indexes[0], true, error) &&
                weft_link_set_up(bridge, indexes[1], true, error) &&
                set_route(&netlink, bridge_address(lab), own_port(lab) + 1, server, error) &&
                weft_route_set(bridge, &route, error) &&
                weft_link_await(&netlink, indexes[0], error);
    weft_netlink_close(&netlink);
    return fine;
}

bool lab_management_up(const struct weft_lab *lab, struct weft_error *error)
{
    char netns[WEFT_NETNS_NAME_MAX];
    struct weft_netlink bridge;
    uint32_t index = weft_lab_cable_index(WEFT_LAB_SERVERS_MAX);
    bridge_netns(netns, lab);
    if (!weft_netns_create(netns, error) || !weft_netlink_open(&bridge, netns, error)) {
        return false;
    }
    bool fine = weft_link_bridge(&bridge, "switch", index, lab->mtu_bytes, error) &&
                weft_link_set_up(&bridge, index, true, error) &&
                weft_address_add(&bridge, index, bridge_address(lab), 32, error);
    for (uint32_t s = 0; s < lab->server_count && fine; s++) {
        fine = add_cable(&bridge, lab, index, s, error) && add_line(&bridge, lab, s, error);
    }
    weft_netlink_close(&bridge);
    return fine || weft_wrap(error, "the management network");
}

bool lab_management_listen(int *listener, uint32_t *address, uint16_t *port,
                           const struct weft_lab *lab, struct weft_error *error)
{
    char netns[WEFT_NETNS_NAME_MAX];
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(bridge_address(lab))};
    socklen_t length = sizeof at;
    bridge_netns(netns, lab);
    if (!weft_netns_socket(listener, netns, AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
                           error)) {
        return false;
    }
    if (bind(*listener, (const struct sockaddr *)&at, sizeof at) != 0 ||
        listen(*listener, 64) != 0 ||
        getsockname(*listener, (struct sockaddr *)&at, &length) != 0) {
        close(*listener);
        return weft_fail(error, WEFT_IO, "the controller cannot listen: %s",
                         strerrordesc_np(errno));
    }
    *address = bridge_address(lab);
    *port = ntohs(at.sin_port);
    return true;
}
