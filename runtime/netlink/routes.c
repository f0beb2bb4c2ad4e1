// SPDX-License-Identifier: Apache-2.0
// Addresses, neighbors, routes and rules by rtnetlink.
//
// Next hops are given on link (RTNH_F_ONLINK), because addresses of a lab belong to no subnet;
// several make a multipath route, among which the kernel hashes flows by weight.

#include "message.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/neighbour.h>

// An address as text, for messages.
static const char *show(char text[INET_ADDRSTRLEN], uint32_t address)
{
    snprintf(text, INET_ADDRSTRLEN, "%u.%u.%u.%u", address >> 24, address >> 16 & 255,
             address >> 8 & 255, address & 255);
    return text;
}

bool weft_address_add(struct weft_netlink *netlink, uint32_t index, uint32_t address,
                      uint32_t prefix_bits, struct weft_error *error)
{
    char text[INET_ADDRSTRLEN];
    struct request request;
    struct ifaddrmsg *body = weft_request_begin(
        &request, netlink,
        (struct request_head){RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, sizeof *body},
        "address %s", show(text, address));
    body->ifa_family = AF_INET;
    body->ifa_prefixlen = (uint8_t)prefix_bits;
    body->ifa_index = index;
    mnl_attr_put_u32(request.header, IFA_LOCAL, htonl(address));
    mnl_attr_put_u32(request.header, IFA_ADDRESS, htonl(address));
    return weft_request_send(&request, NULL, NULL, error);
}

bool weft_neighbor_set(struct weft_netlink *netlink, uint32_t index, uint32_t address,
                       const uint8_t mac[6], struct weft_error *error)
{
    char text[INET_ADDRSTRLEN];
    struct request request;
    struct ndmsg *body = weft_request_begin(
        &request, netlink,
        (struct request_head){RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, sizeof *body},
        "neighbor %s", show(text, address));
    body->ndm_family = AF_INET;
    body->ndm_ifindex = (int)index;
    body->ndm_state = NUD_PERMANENT;
    mnl_attr_put_u32(request.header, NDA_DST, htonl(address));
    mnl_attr_put(request.header, NDA_LLADDR, 6, mac);
    return weft_request_send(&request, NULL, NULL, error);
}

static struct rtmsg *begin_route(struct request *request, struct weft_netlink *netlink,
                                 uint16_t type, uint16_t flags, const struct weft_route *route)
{
    char text[INET_ADDRSTRLEN];
    struct rtmsg *body =
        weft_request_begin(request, netlink, (struct request_head){type, flags, sizeof *body},
                           "route to %s", show(text, route->target));
    uint32_t table = route->table == 0 ? (uint32_t)RT_TABLE_MAIN : route->table;
    body->rtm_family = AF_INET;
    body->rtm_dst_len = (uint8_t)route->prefix_bits;
    body->rtm_table = table < 256 ? (uint8_t)table : RT_TABLE_UNSPEC;
    body->rtm_protocol = WEFT_ROUTE_PROTOCOL;
    body->rtm_type = RTN_UNICAST;
    mnl_attr_put_u32(request->header, RTA_TABLE, table);
    mnl_attr_put_u32(request->header, RTA_DST, htonl(route->target));
    return body;
}

static void put_hops(struct nlmsghdr *header, const struct weft_route *route)
{
    struct nlattr *list = mnl_attr_nest_start(header, RTA_MULTIPATH);
    for (uint32_t i = 0; i < route->hop_count; i++) {
        const struct weft_next_hop *hop = &route->hops[i];
        WEFT_ASSERT(hop->weight >= 1 && hop->weight <= 256);
        uint32_t begin = header->nlmsg_len;
        struct rtnexthop *next = mnl_nlmsg_put_extra_header(header, sizeof *next);
        next->rtnh_ifindex = (int)hop->index;
        next->rtnh_hops = (uint8_t)(hop->weight - 1);
        next->rtnh_flags = RTNH_F_ONLINK;
        mnl_attr_put_u32(header, RTA_GATEWAY, htonl(hop->via));
        next->rtnh_len = (uint16_t)(header->nlmsg_len - begin);
    }
    mnl_attr_nest_end(header, list);
}

bool weft_route_set(struct weft_netlink *netlink, const struct weft_route *route,
                    struct weft_error *error)
{
    struct request request;
    WEFT_ASSERT(route->hop_count >= 1 && route->hop_count <= 128);
    struct rtmsg *body =
        begin_route(&request, netlink, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, route);
    if (route->source != 0) {
        mnl_attr_put_u32(request.header, RTA_PREFSRC, htonl(route->source));
    }
    if (route->hop_count == 1) {
        mnl_attr_put_u32(request.header, RTA_OIF, route->hops[0].index);
        if (route->hops[0].via != 0) {
            body->rtm_flags = RTNH_F_ONLINK;
            mnl_attr_put_u32(request.header, RTA_GATEWAY, htonl(route->hops[0].via));
        } else {
            body->rtm_scope = RT_SCOPE_LINK;
        }
    } else {
        put_hops(request.header, route);
    }
    if (route->rto_min_ms > 0) {
        struct nlattr *metrics = mnl_attr_nest_start(request.header, RTA_METRICS);
        mnl_attr_put_u32(request.header, RTAX_RTO_MIN, route->rto_min_ms);
        mnl_attr_nest_end(request.header, metrics);
    }
    return weft_request_send(&request, NULL, NULL, error);
}

bool weft_route_delete(struct weft_netlink *netlink, const struct weft_route *route,
                       struct weft_error *error)
{
    struct request request;
    begin_route(&request, netlink, RTM_DELROUTE, 0, route);
    request.absent = ESRCH;
    return weft_request_send(&request, NULL, NULL, error);
}

static bool change_rule(struct weft_netlink *netlink, bool add, uint32_t source, uint32_t table,
                        uint32_t priority, struct weft_error *error)
{
    char text[INET_ADDRSTRLEN];
    struct request request;
    struct fib_rule_hdr *body =
        weft_request_begin(&request, netlink,
                           (struct request_head){add ? RTM_NEWRULE : RTM_DELRULE,
                                                 add ? NLM_F_CREATE | NLM_F_EXCL : 0, sizeof *body},
                           "rule from %s", show(text, source));
    body->family = AF_INET;
    body->src_len = 32;
    body->action = FR_ACT_TO_TBL;
    mnl_attr_put_u32(request.header, FRA_SRC, htonl(source));
    mnl_attr_put_u32(request.header, FRA_TABLE, table);
    mnl_attr_put_u32(request.header, FRA_PRIORITY, priority);
    request.absent = add ? EEXIST : ENOENT;
    return weft_request_send(&request, NULL, NULL, error);
}

bool weft_rule_add(struct weft_netlink *netlink, uint32_t source, uint32_t table, uint32_t priority,
                   struct weft_error *error)
{
    return change_rule(netlink, true, source, table, priority, error);
}

bool weft_rule_delete(struct weft_netlink *netlink, uint32_t source, uint32_t table,
                      uint32_t priority, struct weft_error *error)
{
    return change_rule(netlink, false, source, table, priority, error);
}
