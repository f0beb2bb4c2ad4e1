// SPDX-License-Identifier: Apache-2.0
// What all labs are made of: namespaces whose kernels forward, and ports at a rate. Labs of plans
// and rings are servers alone; those of packet switches have namespaces for switches, too, which
// forward by routes of several next hops. O(1) each.

#include "testbed_private.h"

#include <math.h>
#include <string.h>

static const struct setting {
    const char *file;
    const char *value;
    bool needed;
} server_settings[] = {
    {"net/ipv4/ip_forward", "1", true},
    // Return paths differ from forward paths.
    {"net/ipv4/conf/all/rp_filter", "0", true},
    {"net/ipv4/conf/default/rp_filter", "0", true},
    {"net/ipv4/conf/all/send_redirects", "0", true},
    {"net/ipv4/conf/default/send_redirects", "0", true},
    // A cut cable takes its next hops out of the routes at once.
    {"net/ipv4/conf/all/ignore_routes_with_linkdown", "1", true},
    {"net/ipv4/conf/default/ignore_routes_with_linkdown", "1", true},
    {"net/ipv4/fib_multipath_hash_policy", "1", true},
    // The check of routes asks for more than a thousand answers a second.
    {"net/ipv4/icmp_ratemask", "0", true},
};
// Where ports mark, hosts ask for it.
static const struct setting mark_settings[] = {{"net/ipv4/tcp_ecn", "1", true}};
static const struct setting all_settings[] = {
    // Nothing but what is sent: no neighbor discovery, no router solicitations.
    {"net/ipv6/conf/all/disable_ipv6", "1", false},
    {"net/ipv6/conf/default/disable_ipv6", "1", false},
};

static bool set_all(const char *netns, const struct setting *settings, size_t count,
                    struct weft_error *error)
{
    for (size_t i = 0; i < count; i++) {
        if (!weft_netns_sysctl(netns, settings[i].file, settings[i].value, error) &&
            (settings[i].needed || error->code != WEFT_UNSUPPORTED)) {
            return false;
        }
    }
    return true;
}
#define SET_ALL(netns, settings, error)                                                            \
    set_all((netns), (settings), sizeof(settings) / sizeof((settings)[0]), (error))

bool weft_lab_silence(const char *netns, struct weft_error *error)
{
    return SET_ALL(netns, all_settings, error);
}

bool weft_lab_raise_node(struct weft_netlink *netlink, const struct weft_lab *lab, uint32_t node,
                         struct weft_error *error)
{
    char netns[WEFT_NETNS_NAME_MAX];
    char seed[16];
    weft_lab_node_netns(netns, lab, node);
    // Each node hashes flows in its own way, else all would part them alike.
    snprintf(seed, sizeof seed, "%u", node + 1);
    const struct setting own = {"net/ipv4/fib_multipath_hash_seed", seed, false};
    if (!weft_netns_create(netns, error) || !SET_ALL(netns, all_settings, error) ||
        !SET_ALL(netns, server_settings, error) || !set_all(netns, &own, 1, error) ||
        (lab->mark_packets > 0 && !SET_ALL(netns, mark_settings, error)) ||
        !weft_netlink_open(netlink, netns, error)) {
        return false;
    }
    if (!weft_address_add(netlink, 1, weft_lab_server_address(node), 32, error)) {
        weft_netlink_close(netlink);
        return false;
    }
    return true;
}

bool weft_lab_shape(const struct weft_lab *lab, const struct weft_filter *leaving,
                    struct weft_netlink *netlink, uint32_t index, uint32_t width,
                    struct weft_error *error)
{
    double burst = fmin((double)lab->burst_bytes * width, 1 << 30);
    const struct weft_shaper shape = {lab->rate_Bps * width, (uint32_t)burst, lab->buffer_bytes};
    bool shaped = lab->classes.queues > 0
                      ? weft_qdisc_queues(netlink, index, &shape, lab->classes.queues + 1, error)
                  : lab->htb ? weft_qdisc_htb(netlink, index, &shape, error)
                             : weft_qdisc_tbf(netlink, index, &shape, error);
    return shaped && (leaving->program_fd < 0 || (weft_qdisc_clsact(netlink, index, error) &&
                                                  weft_filter_bpf(netlink, index, leaving, error)));
}
