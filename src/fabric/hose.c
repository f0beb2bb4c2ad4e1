// SPDX-License-Identifier: Apache-2.0
// Links that can hold nobody back: the hose model (Duffield et al., "A flexible model for resource
// management in virtual private networks", SIGCOMM 1999) on switches that are joined as trees.
//
// Taking a link of a tree away parts the NICs. What crosses it is at most what those on one side
// send, and what those on the other receive; a link of that capacity is as good as none. Sums from
// below count what the links below let through, so that above a narrow link there need be no second
// one. Two walks over each tree, O(nodes + links).

#include "weft/fabric.h"

// Capacities of many cables are sums that round.
#define SAME_RATIO 1e-12

struct walk {
    const struct weft_fabric *fabric;
    uint32_t *parent; // per node: of a switch, nearer to the root; WEFT_NONE = a root
    uint32_t *order;  // switches as they were met, parents first
    uint32_t count;
    bool *met;
};

// Servers are ends: each hangs on switches alone.
static bool ends_only(const struct weft_fabric *fabric)
{
    for (uint32_t l = 0; l < fabric->first[fabric->server_count]; l++) {
        if (fabric->links[l].to < fabric->server_count) {
            return false;
        }
    }
    return true;
}

// Walks the tree of `root`; false when its switches are no tree, or some link has none back.
static bool walk_tree(struct walk *walk, uint32_t root)
{
    const struct weft_fabric *fabric = walk->fabric;
    uint32_t at = walk->count;
    walk->met[root] = true;
    walk->parent[root] = WEFT_NONE;
    walk->order[walk->count++] = root;
    for (; at < walk->count; at++) {
        uint32_t node = walk->order[at];
        for (uint32_t l = fabric->first[node]; l < fabric->first[node + 1]; l++) {
            uint32_t to = fabric->links[l].to;
            if (weft_fabric_find_link(fabric, to, node) == WEFT_NONE) {
                return false;
            }
            if (to < fabric->server_count || to == walk->parent[node]) {
                continue;
            }
            if (walk->met[to]) {
                return false;
            }
            walk->met[to] = true;
            walk->parent[to] = node;
            walk->order[walk->count++] = to;
        }
    }
    return true;
}

// Bytes a second that the NICs of one side send and receive at most.
struct side {
    double send_Bps, receive_Bps;
};

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

// What the NICs below every switch send and receive: all of it (`all`), and what of it the links
// below let through (`through`).
static void sum_sides(struct side *all, struct side *through, const struct walk *walk)
{
    const struct weft_fabric *fabric = walk->fabric;
    for (uint32_t i = walk->count; i-- > 0;) {
        uint32_t node = walk->order[i];
        for (uint32_t l = fabric->first[node]; l < fabric->first[node + 1]; l++) {
            uint32_t to = fabric->links[l].to;
            uint32_t back = weft_fabric_find_link(fabric, to, node);
            double down_Bps = fabric->links[l].rate_Bps;
            double up_Bps = fabric->links[back].rate_Bps;
            if (to < fabric->server_count) {
                all[node].send_Bps += up_Bps;
                all[node].receive_Bps += down_Bps;
                through[node].send_Bps += up_Bps;
                through[node].receive_Bps += down_Bps;
            } else if (to != walk->parent[node]) {
                all[node].send_Bps += all[to].send_Bps;
                all[node].receive_Bps += all[to].receive_Bps;
                through[node].send_Bps += lesser(through[to].send_Bps, up_Bps);
                through[node].receive_Bps += lesser(through[to].receive_Bps, down_Bps);
            }
        }
    }
}

bool weft_fabric_hose(struct weft_hose *hose, const struct weft_fabric *fabric,
                      struct weft_arena *arena, struct weft_arena scratch)
{
    uint32_t nodes = fabric->node_count;
    struct walk walk = {.fabric = fabric,
                        .parent = WEFT_NEW_RAW(&scratch, uint32_t, nodes),
                        .order = WEFT_NEW_RAW(&scratch, uint32_t, nodes),
                        .met = WEFT_NEW(&scratch, bool, nodes)};
    uint32_t *root = WEFT_NEW_RAW(&scratch, uint32_t, nodes);
    if (!ends_only(fabric)) {
        return false;
    }
    for (uint32_t node = fabric->server_count; node < nodes; node++) {
        uint32_t begin = walk.count;
        if (!walk.met[node] && !walk_tree(&walk, node)) {
            return false;
        }
        for (uint32_t i = begin; i < walk.count; i++) {
            root[walk.order[i]] = node;
        }
    }
    struct side *all = WEFT_NEW(&scratch, struct side, nodes);
    struct side *through = WEFT_NEW(&scratch, struct side, nodes);
    sum_sides(all, through, &walk);
    bool *binds = WEFT_NEW(arena, bool, fabric->link_count);
    bool *rises = WEFT_NEW(arena, bool, fabric->link_count);
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        const struct weft_link *link = &fabric->links[l];
        bool server = link->from < fabric->server_count || link->to < fabric->server_count;
        rises[l] =
            link->from < fabric->server_count || (!server && walk.parent[link->from] == link->to);
        if (server) {
            binds[l] = true;
            continue;
        }
        const struct side *whole = &all[root[link->from]];
        uint32_t low = rises[l] ? link->from : link->to;
        double below_Bps = rises[l] ? through[low].send_Bps : through[low].receive_Bps;
        double beyond_Bps = rises[l] ? whole->receive_Bps - all[low].receive_Bps
                                     : whole->send_Bps - all[low].send_Bps;
        binds[l] = link->rate_Bps < lesser(below_Bps, beyond_Bps) * (1 - SAME_RATIO);
    }
    *hose = (struct weft_hose){binds, rises};
    return true;
}
