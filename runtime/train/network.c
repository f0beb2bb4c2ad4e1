// SPDX-License-Identifier: Apache-2.0
// The network of a training run, from the lab's own leaf-spine: which servers are workers and
// which are hosts, which link may lose packets, and what ports counted. O(servers * cables).

#include "network.h"

static uint32_t leaf_of(const struct weft_lab_wiring *wiring, uint32_t server)
{
    for (uint32_t c = 0; c < wiring->cable_count; c++) {
        if (wiring->cables[c].nodes[0] == server) {
            return wiring->cables[c].nodes[1];
        }
    }
    WEFT_ASSERT(!"every server has a cable");
    return 0;
}

// Takes a server of this leaf, or of the next one that has any left.
static uint32_t take(bool *taken, const struct weft_lab_wiring *wiring, uint32_t leaf,
                     uint32_t leaf_count)
{
    for (uint32_t i = 0; i < leaf_count; i++) {
        for (uint32_t s = 0; s < wiring->server_count; s++) {
            uint32_t own = leaf_of(wiring, s) - wiring->server_count;
            if (!taken[s] && own == (leaf + i) % leaf_count) {
                taken[s] = true;
                return s;
            }
        }
    }
    WEFT_ASSERT(!"there are as many servers as workers and hosts");
    return 0;
}

bool lab_train_network_build(struct lab_train_network *network, uint32_t worker_count,
                             uint32_t host_count, uint32_t radix, struct weft_arena *arena,
                             struct weft_arena scratch, struct weft_error *error)
{
    const struct weft_lab_fabric fabric = {
        .name = LAB_TRAIN_FABRIC,
        .server_count = worker_count + host_count,
        .degree = 1,
        .radix = radix,
    };
    struct lab_train_network made = {.worker_count = worker_count, .host_count = host_count};
    const struct weft_lab_wiring *wiring = &made.wiring;
    if (!weft_lab_wire_fabric(&made.wiring, &fabric, arena, scratch, error)) {
        return false;
    }
    // Leaves are numbered before spines, and each has a server.
    for (uint32_t s = 0; s < wiring->server_count; s++) {
        uint32_t leaf = leaf_of(wiring, s) - wiring->server_count;
        made.leaf_count = leaf + 1 > made.leaf_count ? leaf + 1 : made.leaf_count;
    }
    made.spine_count = wiring->switch_count - made.leaf_count;
    bool *taken = WEFT_NEW(&scratch, bool, wiring->server_count);
    uint32_t *workers = WEFT_NEW(arena, uint32_t, worker_count);
    uint32_t *hosts = WEFT_NEW(arena, uint32_t, host_count + 1);
    for (uint32_t w = 0; w < worker_count; w++) {
        uint32_t leaf = (uint32_t)((uint64_t)w * made.leaf_count / worker_count);
        workers[w] = take(taken, wiring, leaf, made.leaf_count);
    }
    for (uint32_t h = 0; h < host_count; h++) {
        hosts[h] = take(taken, wiring, h % made.leaf_count, made.leaf_count);
    }
    made.workers = workers;
    made.hosts = hosts;
    for (uint32_t c = wiring->cable_count; c-- > 0;) {
        const struct weft_lab_cable *cable = &wiring->cables[c];
        if (cable->nodes[0] == leaf_of(wiring, workers[0])) {
            made.gray = *cable; // at last the one to the first spine
        }
    }
    *network = made;
    return true;
}

static bool count_port(struct lab_train_ports *ports, struct weft_netlink *netlink, uint32_t port,
                       bool is_worker, struct weft_error *error)
{
    struct weft_qdisc_counters counters;
    uint32_t index = weft_lab_port_index(port);
    if (!weft_qdisc_counters(&counters, netlink, index, error)) {
        return false;
    }
    ports->dropped += counters.dropped_packets;
    ports->worker_bytes += is_worker ? counters.sent_bytes : 0;
    ports->worker_packets += is_worker ? counters.sent_packets : 0;
    return true;
}

bool lab_train_ports_count(struct lab_train_ports *ports, const struct lab_train_network *network,
                           const struct weft_lab *lab, struct weft_error *error)
{
    const struct weft_lab_wiring *wiring = &network->wiring;
    struct lab_train_ports sum = {0};
    uint32_t nodes = wiring->server_count + wiring->switch_count;
    for (uint32_t node = 0; node < nodes; node++) {
        char netns[WEFT_NETNS_NAME_MAX];
        struct weft_netlink netlink;
        bool is_worker = false;
        for (uint32_t w = 0; w < network->worker_count; w++) {
            is_worker = is_worker || network->workers[w] == node;
        }
        if (!weft_netlink_open(&netlink, weft_lab_node_netns(netns, lab, node), error)) {
            return false;
        }
        bool fine = true;
        for (uint32_t c = 0; c < wiring->cable_count && fine; c++) {
            const struct weft_lab_cable *cable = &wiring->cables[c];
            for (uint32_t i = 0; i < 2 && fine; i++) {
                fine = cable->nodes[i] != node ||
                       count_port(&sum, &netlink, cable->ports[i], is_worker, error);
            }
        }
        weft_netlink_close(&netlink);
        if (!fine) {
            return weft_wrap(error, "%s", netns);
        }
    }
    *ports = sum;
    return true;
}
