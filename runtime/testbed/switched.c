// SPDX-License-Identifier: Apache-2.0
// Labs of packet switches: a fabric in words (leaf-spine, Clos, dragonfly, ...) whose switches are
// namespaces that forward, each link a cable.
//
// Routes are all paths of fewest hops that pass no server, which is up and down a tree and minimal
// in a dragonfly; each kernel picks by hash (ECMP). What goes to a server takes the same next hops
// whoever sent it, so that every node has one route a server in its main table. Cables in parallel
// are one of their summed rate. O(servers^2 * links) for the next hops that a check asks for.

#include "testbed_private.h"

#include <string.h>

#define SERVERS_MAX 128u // quadratic tables of next hops
#define PORTS_MAX 127u   // their numbers stand in addresses below the servers'

// ---- the wiring ----

static bool build(struct weft_network *network, const struct weft_lab_fabric *fabric,
                  struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    const struct weft_fabric_reference *reference = weft_fabric_reference_named(fabric->name, NULL);
    struct weft_cluster cluster;
    if (reference != NULL && reference->is_direct) {
        return weft_fail(error, WEFT_INPUT,
                         "%s has no switches; write the lab's own ring, or raise a plan of it",
                         fabric->name);
    }
    if (fabric->server_count > SERVERS_MAX) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "%u servers; a lab of packet switches has at most %u: raise fewer",
                         fabric->server_count, SERVERS_MAX);
    }
    double rate_Bps = fabric->rate_Bps > 0 ? fabric->rate_Bps : 1e9; // ratios alone count
    const struct weft_fabric_options options = {.radix = fabric->radix};
    if (!weft_cluster_build(&cluster, fabric->server_count, fabric->degree, rate_Bps, error)) {
        return false;
    }
    cluster.balance = WEFT_BALANCE_HASH; // every switch by itself
    return weft_fabric_build_named(
        network, fabric->name, &cluster, &options,
        &(struct weft_environment){.arena = arena, .scratch = scratch, .error = error});
}

// Cables, one for the two links of a pair of nodes; ports count each node's links.
static bool lay_cables(struct weft_lab_wiring *made, const struct weft_fabric *fabric,
                       double port_Bps, struct weft_arena *arena, struct weft_error *error)
{
    struct weft_lab_cable *cables =
        WEFT_NEW(arena, struct weft_lab_cable, fabric->link_count / 2 + 1);
    for (uint32_t e = 0; e < fabric->link_count; e++) {
        const struct weft_link *link = &fabric->links[e];
        uint32_t port = e - fabric->first[link->from];
        if (port >= (link->from < fabric->server_count ? WEFT_LAB_PORTS_MAX : PORTS_MAX)) {
            return weft_fail(error, WEFT_UNSUPPORTED,
                             "node %u has more than %u ports; take fewer servers or ports",
                             link->from, port);
        }
        if (link->from > link->to) {
            continue;
        }
        uint32_t back = weft_fabric_find_link(fabric, link->to, link->from);
        double width = link->rate_Bps / port_Bps + 0.5;
        cables[made->cable_count++] = (struct weft_lab_cable){
            .nodes = {link->from, link->to},
            .ports = {port, back - fabric->first[link->to]},
            .width = width < 1 ? 1 : (uint32_t)width,
        };
    }
    made->cables = cables;
    return true;
}

// Hops from each server to each node, [server * node_count + node], through no other server.
static uint32_t *count_hops(const struct weft_fabric *fabric, struct weft_arena *arena,
                            struct weft_arena scratch)
{
    uint32_t n = fabric->server_count;
    uint32_t *hops = WEFT_NEW_RAW(arena, uint32_t, (size_t)n * fabric->node_count);
    uint32_t *queue = WEFT_NEW_RAW(&scratch, uint32_t, fabric->node_count);
    memset(hops, 0xff, (size_t)n * fabric->node_count * sizeof hops[0]);
    for (uint32_t s = 0; s < n; s++) {
        uint32_t *own = hops + (size_t)s * fabric->node_count;
        uint32_t tail = 0;
        own[s] = 0;
        queue[tail++] = s;
        for (uint32_t head = 0; head < tail; head++) {
            uint32_t v = queue[head];
            for (uint32_t e = fabric->first[v]; e < fabric->first[v + 1]; e++) {
                uint32_t to = fabric->links[e].to;
                if ((v >= n || v == s) && own[to] == WEFT_NONE) {
                    own[to] = own[v] + 1;
                    queue[tail++] = to;
                }
            }
        }
    }
    return hops;
}

// Writes the next hops of one pair at one node, which is on a shortest path, or counts them alone
// where `list` is NULL.
static uint32_t list_pair(struct weft_pair_hop *list, const struct weft_fabric *fabric,
                          const uint32_t *to_target, struct weft_pair_hop pair)
{
    uint32_t count = 0;
    uint32_t n = fabric->server_count;
    for (uint32_t e = fabric->first[pair.node]; e < fabric->first[pair.node + 1]; e++) {
        uint32_t next = fabric->links[e].to;
        if ((next >= n || next == pair.target) && to_target[next] + 1 == to_target[pair.node]) {
            if (list != NULL) {
                pair.port = e - fabric->first[pair.node];
                pair.next = next;
                pair.weight = fabric->links[e].width < 256 ? fabric->links[e].width : 256;
                list[count] = pair;
            }
            count++;
        }
    }
    return count;
}

// All next hops in the order of weft_pair_hops; with `list` NULL their number.
static size_t list_hops(struct weft_pair_hop *list, const struct weft_fabric *fabric,
                        const uint32_t *hops)
{
    uint32_t n = fabric->server_count;
    size_t count = 0;
    for (uint32_t v = 0; v < fabric->node_count; v++) {
        for (uint32_t s = v < n ? v : 0; s < (v < n ? v + 1 : n); s++) {
            const uint32_t *from_source = hops + (size_t)s * fabric->node_count;
            for (uint32_t t = 0; t < n; t++) {
                const uint32_t *to_target = hops + (size_t)t * fabric->node_count;
                const struct weft_pair_hop pair = {.node = v, .source = s, .target = t};
                if (s != t && from_source[v] + to_target[v] == to_target[s]) {
                    count += list_pair(list == NULL ? NULL : list + count, fabric, to_target, pair);
                }
            }
        }
    }
    return count;
}

bool weft_lab_wire_fabric(struct weft_lab_wiring *wiring, const struct weft_lab_fabric *fabric,
                          struct weft_arena *arena, struct weft_arena scratch,
                          struct weft_error *error)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_network network;
    if (!build(&network, fabric, &kept, scratch, error)) {
        return false;
    }
    const struct weft_fabric *built = &network.fabric;
    if (built->first[1] - built->first[0] > WEFT_LAB_PORTS_MAX) {
        return weft_fail(error, WEFT_UNSUPPORTED, "%u ports a server; a lab has at most %u",
                         built->first[1] - built->first[0], WEFT_LAB_PORTS_MAX);
    }
    struct weft_lab_wiring made = {
        .server_count = built->server_count,
        .port_count = built->first[1] - built->first[0],
        .rate_Bps = fabric->rate_Bps,
        .switch_count = built->node_count - built->server_count,
    };
    // The slowest cable is a port of the lab.
    double port_Bps = built->links[0].rate_Bps;
    for (uint32_t e = 0; e < built->link_count; e++) {
        port_Bps = built->links[e].rate_Bps < port_Bps ? built->links[e].rate_Bps : port_Bps;
    }
    made.rate_Bps = fabric->rate_Bps > 0 ? port_Bps : 0;
    if (!lay_cables(&made, built, port_Bps, arena, error)) {
        return false;
    }
    const uint32_t *hops = count_hops(built, &kept, scratch);
    made.next_hops.count = list_hops(NULL, built, hops);
    struct weft_pair_hop *list = WEFT_NEW(arena, struct weft_pair_hop, made.next_hops.count);
    list_hops(list, built, hops);
    made.next_hops.hops = list;
    *wiring = made;
    return true;
}

// ---- the lab ----

// Both ends of a cable are made in their namespaces at once, as servers' are.
static bool raise_cable(const struct weft_lab *lab, const struct weft_lab_cable *cable,
                        const struct weft_filter *leaving, struct weft_error *error)
{
    char names[2][16];
    char netns[2][WEFT_NETNS_NAME_MAX];
    uint8_t macs[2][6];
    struct weft_veth_end ends[2];
    struct weft_netlink netlinks[2] = {{0}};
    bool fine = true;
    for (uint32_t i = 0; i < 2; i++) {
        snprintf(names[i], sizeof names[i], "port%u", cable->ports[i]);
        weft_lab_port_mac(macs[i], cable->nodes[i], cable->ports[i]);
        weft_lab_node_netns(netns[i], lab, cable->nodes[i]);
        ends[i] = (struct weft_veth_end){
            .name = names[i], .index = weft_lab_port_index(cable->ports[i]), .mac = macs[i]};
        fine = fine && weft_netlink_open(&netlinks[i], netns[i], error);
    }
    ends[1].netns = netns[1];
    fine = fine && weft_link_veth(&netlinks[0], &ends[0], &ends[1], lab->mtu_bytes, error);
    for (uint32_t i = 0; i < 2 && fine; i++) {
        uint32_t far = cable->nodes[1 - i];
        uint32_t far_port = cable->ports[1 - i];
        fine =
            weft_link_set_offloads(&netlinks[i], names[i], lab->offloads, error) &&
            weft_lab_shape(lab, leaving, &netlinks[i], ends[i].index, cable->width, error) &&
            weft_address_add(&netlinks[i], ends[i].index,
                             weft_lab_port_address(cable->nodes[i], cable->ports[i]), 32, error) &&
            weft_link_set_up(&netlinks[i], ends[i].index, true, error) &&
            weft_neighbor_set(&netlinks[i], ends[i].index, weft_lab_port_address(far, far_port),
                              macs[1 - i], error);
    }
    for (uint32_t i = 0; i < 2; i++) {
        weft_netlink_close(&netlinks[i]);
    }
    return fine;
}

bool weft_lab_raise_cables(const struct weft_lab *lab, const struct weft_lab_wiring *wiring,
                           const struct weft_filter *leaving, struct weft_error *error)
{
    for (uint32_t c = 0; c < wiring->cable_count; c++) {
        if (!raise_cable(lab, &wiring->cables[c], leaving, error)) {
            return false;
        }
    }
    return true;
}

// The port at the far end of a node's port.
static uint32_t far_port(const struct weft_lab_wiring *wiring, uint32_t node, uint32_t port)
{
    for (uint32_t c = 0; c < wiring->cable_count; c++) {
        const struct weft_lab_cable *cable = &wiring->cables[c];
        for (uint32_t i = 0; i < 2; i++) {
            if (cable->nodes[i] == node && cable->ports[i] == port) {
                return cable->ports[1 - i];
            }
        }
    }
    WEFT_ASSERT(!"every port has a cable");
    return 0;
}

// Sets a node's route to each server by the next hops of the first pair that passes it on its way
// there: those of the others are the same. `hops` are the node's, in order.
static bool route_node(const struct weft_lab *lab, const struct weft_lab_wiring *wiring,
                       const struct weft_pair_hop *hops, size_t count, struct weft_error *error)
{
    char netns[WEFT_NETNS_NAME_MAX];
    bool known[SERVERS_MAX] = {false};
    struct weft_next_hop next[PORTS_MAX];
    struct weft_netlink netlink;
    uint32_t node = hops[0].node;
    if (!weft_netlink_open(&netlink, weft_lab_node_netns(netns, lab, node), error)) {
        return false;
    }
    bool fine = true;
    for (size_t i = 0; i < count && fine;) {
        struct weft_route route = {
            .target = weft_lab_server_address(hops[i].target),
            .prefix_bits = 32,
            .source = weft_lab_server_address(node), // a switch answers probes by it
            .hops = next,
        };
        size_t first = i;
        for (; i < count && hops[i].target == hops[first].target &&
               hops[i].source == hops[first].source;
             i++) {
            next[route.hop_count++] = (struct weft_next_hop){
                .index = weft_lab_port_index(hops[i].port),
                .via = weft_lab_port_address(hops[i].next, far_port(wiring, node, hops[i].port)),
                .weight = hops[i].weight,
            };
        }
        fine = known[hops[first].target] || weft_route_set(&netlink, &route, error);
        known[hops[first].target] = true;
    }
    weft_netlink_close(&netlink);
    return fine;
}

bool weft_lab_route_switched(const struct weft_lab *lab, const struct weft_lab_wiring *wiring,
                             struct weft_error *error)
{
    const struct weft_pair_hops *all = &wiring->next_hops;
    for (size_t first = 0; first < all->count;) {
        size_t end = first;
        while (end < all->count && all->hops[end].node == all->hops[first].node) {
            end++;
        }
        if (!route_node(lab, wiring, all->hops + first, end - first, error)) {
            return false;
        }
        first = end;
    }
    return true;
}

bool weft_lab_await_cables(const struct weft_lab *lab, const struct weft_lab_wiring *wiring,
                           struct weft_error *error)
{
    for (uint32_t c = 0; c < wiring->cable_count; c++) {
        for (uint32_t i = 0; i < 2; i++) {
            char netns[WEFT_NETNS_NAME_MAX];
            struct weft_netlink netlink;
            const struct weft_lab_cable *cable = &wiring->cables[c];
            if (!weft_netlink_open(&netlink, weft_lab_node_netns(netns, lab, cable->nodes[i]),
                                   error)) {
                return false;
            }
            bool fine = weft_link_await(&netlink, weft_lab_port_index(cable->ports[i]), error);
            weft_netlink_close(&netlink);
            if (!fine) {
                return false;
            }
        }
    }
    return true;
}
