// SPDX-License-Identifier: Apache-2.0
// Links by rtnetlink: veth pairs, bridges, their state and counters.
//
// A pair is made with both ends in their namespaces at once (IFLA_NET_NS_FD of each), so that no
// interface ever stands where others see it. Offloads have no rtnetlink message; ethtool's ioctl
// sets them.

#include "message.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/sockios.h>
#include <linux/veth.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

// Name, MTU, MAC and namespace of one end of a pair.
static bool put_end(struct request *request, const struct weft_veth_end *end, uint32_t mtu_bytes,
                    int netns_fd)
{
    mnl_attr_put_strz(request->header, IFLA_IFNAME, end->name);
    mnl_attr_put_u32(request->header, IFLA_MTU, mtu_bytes);
    if (end->mac != NULL) {
        mnl_attr_put(request->header, IFLA_ADDRESS, 6, end->mac);
    }
    if (netns_fd >= 0) {
        mnl_attr_put_u32(request->header, IFLA_NET_NS_FD, (uint32_t)netns_fd);
    }
    return true;
}

bool weft_link_veth(struct weft_netlink *netlink, const struct weft_veth_end *near,
                    const struct weft_veth_end *far, uint32_t mtu_bytes, struct weft_error *error)
{
    int fds[2] = {-1, -1};
    const struct weft_veth_end *ends[2] = {near, far};
    bool fine = true;
    for (int i = 0; i < 2 && fine; i++) {
        WEFT_ASSERT(strlen(ends[i]->name) < IFNAMSIZ);
        fine = ends[i]->netns == NULL || weft_netns_open(&fds[i], ends[i]->netns, error);
    }
    if (fine) {
        struct request request;
        struct ifinfomsg *info = weft_request_begin(
            &request, netlink,
            (struct request_head){RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, sizeof *info}, "link %s",
            near->name);
        info->ifi_index = (int)near->index;
        put_end(&request, near, mtu_bytes, fds[0]);
        struct nlattr *link = mnl_attr_nest_start(request.header, IFLA_LINKINFO);
        mnl_attr_put_strz(request.header, IFLA_INFO_KIND, "veth");
        struct nlattr *data = mnl_attr_nest_start(request.header, IFLA_INFO_DATA);
        struct nlattr *peer = mnl_attr_nest_start(request.header, VETH_INFO_PEER);
        struct ifinfomsg *peer_info = mnl_nlmsg_put_extra_header(request.header, sizeof *info);
        peer_info->ifi_index = (int)far->index;
        put_end(&request, far, mtu_bytes, fds[1]);
        mnl_attr_nest_end(request.header, peer);
        mnl_attr_nest_end(request.header, data);
        mnl_attr_nest_end(request.header, link);
        fine = weft_request_send(&request, NULL, NULL, error);
    }
    for (int i = 0; i < 2; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
    return fine;
}

bool weft_link_bridge(struct weft_netlink *netlink, const char *name, uint32_t index,
                      uint32_t mtu_bytes, struct weft_error *error)
{
    struct request request;
    struct ifinfomsg *info = weft_request_begin(
        &request, netlink,
        (struct request_head){RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, sizeof *info}, "bridge %s",
        name);
    info->ifi_index = (int)index;
    mnl_attr_put_strz(request.header, IFLA_IFNAME, name);
    mnl_attr_put_u32(request.header, IFLA_MTU, mtu_bytes);
    struct nlattr *link = mnl_attr_nest_start(request.header, IFLA_LINKINFO);
    mnl_attr_put_strz(request.header, IFLA_INFO_KIND, "bridge");
    mnl_attr_nest_end(request.header, link);
    return weft_request_send(&request, NULL, NULL, error);
}

bool weft_link_delete(struct weft_netlink *netlink, uint32_t index, struct weft_error *error)
{
    struct request request;
    struct ifinfomsg *info =
        weft_request_begin(&request, netlink, (struct request_head){RTM_DELLINK, 0, sizeof *info},
                           "removing link %u", index);
    info->ifi_index = (int)index;
    return weft_request_send(&request, NULL, NULL, error);
}

static int take_index(const struct nlmsghdr *header, void *context)
{
    const struct ifinfomsg *info = mnl_nlmsg_get_payload(header);
    *(uint32_t *)context = (uint32_t)info->ifi_index;
    return MNL_CB_OK;
}

bool weft_link_find(uint32_t *index, struct weft_netlink *netlink, const char *name,
                    struct weft_error *error)
{
    struct request request;
    weft_request_begin(&request, netlink,
                       (struct request_head){RTM_GETLINK, 0, sizeof(struct ifinfomsg)}, "link %s",
                       name);
    mnl_attr_put_strz(request.header, IFLA_IFNAME, name);
    return weft_request_send(&request, take_index, index, error);
}

// Begins a change of a link; the caller adds what changes.
static struct ifinfomsg *change(struct request *request, struct weft_netlink *netlink,
                                uint32_t index, const char *what)
{
    struct ifinfomsg *info =
        weft_request_begin(request, netlink, (struct request_head){RTM_SETLINK, 0, sizeof *info},
                           "%s of link %u", what, index);
    info->ifi_index = (int)index;
    return info;
}

bool weft_link_set_up(struct weft_netlink *netlink, uint32_t index, bool up,
                      struct weft_error *error)
{
    struct request request;
    struct ifinfomsg *info = change(&request, netlink, index, "state");
    info->ifi_change = IFF_UP;
    info->ifi_flags = up ? IFF_UP : 0;
    return weft_request_send(&request, NULL, NULL, error);
}

bool weft_link_set_mtu(struct weft_netlink *netlink, uint32_t index, uint32_t mtu_bytes,
                       struct weft_error *error)
{
    struct request request;
    change(&request, netlink, index, "MTU");
    mnl_attr_put_u32(request.header, IFLA_MTU, mtu_bytes);
    return weft_request_send(&request, NULL, NULL, error);
}

bool weft_link_set_master(struct weft_netlink *netlink, uint32_t index, uint32_t bridge,
                          struct weft_error *error)
{
    struct request request;
    change(&request, netlink, index, "bridge");
    mnl_attr_put_u32(request.header, IFLA_MASTER, bridge);
    return weft_request_send(&request, NULL, NULL, error);
}

bool weft_link_set_offloads(struct weft_netlink *netlink, const char *name, bool on,
                            struct weft_error *error)
{
    static const uint32_t commands[] = {
        ETHTOOL_STXCSUM, ETHTOOL_SRXCSUM, ETHTOOL_SSG, ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO,
    };
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        struct ethtool_value value = {.cmd = commands[i], .data = on};
        struct ifreq ask = {.ifr_data = (char *)&value};
        snprintf(ask.ifr_name, sizeof ask.ifr_name, "%.15s", name);
        // What the driver lacks is off already.
        if (ioctl(netlink->control_fd, SIOCETHTOOL, &ask) != 0 && errno != EOPNOTSUPP) {
            return weft_netlink_refused(error, errno, NULL, netlink->netns, "offloads");
        }
    }
    return true;
}

static int take_counters(const struct nlmsghdr *header, void *context)
{
    struct weft_link_counters *counters = context;
    const struct ifinfomsg *info = mnl_nlmsg_get_payload(header);
    counters->up = info->ifi_flags & IFF_UP;
    counters->carrier = (info->ifi_flags & IFF_UP) && (info->ifi_flags & IFF_RUNNING);
    const struct nlattr *attribute = NULL;
    WEFT_EACH_ATTRIBUTE(attribute, header, sizeof *info)
    {
        if (mnl_attr_get_type(attribute) == IFLA_STATS64) {
            struct rtnl_link_stats64 stats = {0};
            size_t size = mnl_attr_get_payload_len(attribute);
            memcpy(&stats, mnl_attr_get_payload(attribute),
                   size < sizeof stats ? size : sizeof stats);
            counters->received_packets = stats.rx_packets;
            counters->received_bytes = stats.rx_bytes;
            counters->received_dropped = stats.rx_dropped;
            counters->sent_packets = stats.tx_packets;
            counters->sent_bytes = stats.tx_bytes;
            counters->sent_dropped = stats.tx_dropped;
        }
    }
    return MNL_CB_OK;
}

bool weft_link_counters(struct weft_link_counters *counters, struct weft_netlink *netlink,
                        uint32_t index, struct weft_error *error)
{
    struct request request;
    struct ifinfomsg *info =
        weft_request_begin(&request, netlink, (struct request_head){RTM_GETLINK, 0, sizeof *info},
                           "counters of link %u", index);
    info->ifi_index = (int)index;
    return weft_request_send(&request, take_counters, counters, error);
}

bool weft_link_await(struct weft_netlink *netlink, uint32_t index, struct weft_error *error)
{
    enum { TRIES = 3000 };
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; i < TRIES; i++) {
        struct weft_link_counters counters = {0};
        if (!weft_link_counters(&counters, netlink, index, error)) {
            return false;
        }
        if (counters.carrier) {
            return true;
        }
        nanosleep(&pause, NULL);
    }
    return weft_fail(error, WEFT_IO, "%s: link %u stays without carrier", netlink->netns, index);
}
