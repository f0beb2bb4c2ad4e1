// SPDX-License-Identifier: Apache-2.0
// Building a fabric from links, and asking whether its servers reach each other.
//
// Links come in any order and may be parallel: two stable counting sorts (by head, then by tail)
// bring parallel ones together, which then become one wide link, and leave each node's links in a
// row by ascending head, so that a link is found by bisection. O(nodes + links). Connectivity is a
// breadth-first search: where servers forward, one from server 0 along the links and one against
// them decide for all pairs, O(nodes + links); where only switches forward, one from each server,
// O(servers * (nodes + links)).

#include "weft/fabric.h"
#include "weft/graph.h"

#include <string.h>

// So that sums over any cables stay finite, and the time that any bytes take.
#define RATE_MIN_BPS 1e-3
#define RATE_MAX_BPS 1e18

static bool check_link(const struct weft_link *link, uint32_t node_count, struct weft_error *error)
{
    if (link->from >= node_count || link->to >= node_count) {
        uint32_t missing = link->from >= node_count ? link->from : link->to;
        return weft_fail(error, WEFT_INPUT, "node %u does not exist; the fabric has nodes 0 to %u",
                         missing, node_count - 1);
    }
    if (link->from == link->to) {
        return weft_fail(error, WEFT_INPUT,
                         "node %u is joined to itself; a link needs two different ends",
                         link->from);
    }
    if (!(link->rate_Bps >= RATE_MIN_BPS && link->rate_Bps <= RATE_MAX_BPS) || link->width == 0) {
        return weft_fail(error, WEFT_INPUT,
                         "%u -> %u has no capacity: %g bytes a second on %u cables; give it %g to "
                         "%g and at least one cable",
                         link->from, link->to, link->rate_Bps, link->width, RATE_MIN_BPS,
                         RATE_MAX_BPS);
    }
    return true;
}

// Stable counting sort by one end of each link.
static void sort_by_end(struct weft_link *sorted, const struct weft_link *links, uint32_t count,
                        uint32_t node_count, bool by_from, struct weft_arena scratch)
{
    uint32_t *next = WEFT_NEW(&scratch, uint32_t, (size_t)node_count + 1);
    for (uint32_t i = 0; i < count; i++) {
        next[(by_from ? links[i].from : links[i].to) + 1]++;
    }
    for (uint32_t v = 0; v < node_count; v++) {
        next[v + 1] += next[v];
    }
    for (uint32_t i = 0; i < count; i++) {
        sorted[next[by_from ? links[i].from : links[i].to]++] = links[i];
    }
}

// Joins neighbors with equal ends; returns how many links remain. A joined link is as late as its
// latest cable.
static uint32_t join_parallel(struct weft_link *links, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct weft_link *last = kept > 0 ? &links[kept - 1] : NULL;
        if (last == NULL || last->from != links[i].from || last->to != links[i].to) {
            links[kept++] = links[i];
            continue;
        }
        last->rate_Bps += links[i].rate_Bps;
        last->width += links[i].width;
        if (links[i].latency_ps > last->latency_ps) {
            last->latency_ps = links[i].latency_ps;
        }
    }
    return kept;
}

static bool check_shape(const struct weft_fabric_links *input, struct weft_error *error)
{
    uint32_t server_count = input->server_count;
    uint32_t node_count = input->node_count;
    if (server_count == 0 || node_count < server_count || node_count == WEFT_NONE) {
        return weft_fail(error, WEFT_INPUT,
                         "%u servers among %u nodes; a fabric needs at least one server, and its "
                         "nodes include the servers",
                         server_count, node_count);
    }
    uint64_t cable_count = 0;
    for (uint32_t i = 0; i < input->link_count; i++) {
        if (!check_link(&input->links[i], node_count, error)) {
            return weft_wrap(error, "link %u", i);
        }
        cable_count += input->links[i].width;
    }
    if (cable_count > UINT32_MAX) {
        return weft_fail(error, WEFT_INPUT, "%llu cables are more than a fabric can hold",
                         (unsigned long long)cable_count);
    }
    return true;
}

bool weft_fabric_build(struct weft_fabric *fabric, const struct weft_fabric_links *input,
                       struct weft_arena *arena, struct weft_error *error)
{
    uint32_t server_count = input->server_count;
    uint32_t node_count = input->node_count;
    uint32_t link_count = input->link_count;
    if (!check_shape(input, error)) {
        return false;
    }
    struct weft_link *sorted = WEFT_NEW_RAW(arena, struct weft_link, link_count);
    uint32_t *first = WEFT_NEW(arena, uint32_t, (size_t)node_count + 1);
    char *own_name = weft_arena_text(arena, input->name, strlen(input->name));
    struct weft_arena scratch = *arena;
    struct weft_link *by_to = WEFT_NEW_RAW(&scratch, struct weft_link, link_count);
    sort_by_end(by_to, input->links, link_count, node_count, false, scratch);
    sort_by_end(sorted, by_to, link_count, node_count, true, scratch);
    uint32_t kept = join_parallel(sorted, link_count);
    for (uint32_t i = 0; i < kept; i++) {
        first[sorted[i].from + 1]++;
    }
    for (uint32_t v = 0; v < node_count; v++) {
        first[v + 1] += first[v];
    }
    WEFT_ASSERT(first[node_count] == kept);
    *fabric = (struct weft_fabric){
        .name = own_name,
        .server_count = server_count,
        .node_count = node_count,
        .link_count = kept,
        .links = sorted,
        .first = first,
        .forwards = node_count == server_count,
    };
    return true;
}

uint32_t weft_fabric_find_link(const struct weft_fabric *fabric, uint32_t from, uint32_t to)
{
    if (from >= fabric->node_count) {
        return WEFT_NONE;
    }
    uint32_t low = fabric->first[from];
    uint32_t high = fabric->first[from + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (fabric->links[middle].to < to) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low < fabric->first[from + 1] && fabric->links[low].to == to;
    return found ? low : WEFT_NONE;
}

// ---- connectivity ----

// Adjacency to walk: the links themselves, or the same turned round.
struct walk {
    uint32_t *first;
    uint32_t *ends;
};

static struct walk walk_build(const struct weft_fabric *fabric, bool backward,
                              struct weft_arena *arena)
{
    uint32_t n = fabric->node_count;
    struct walk walk = {WEFT_NEW(arena, uint32_t, (size_t)n + 1),
                        WEFT_NEW_RAW(arena, uint32_t, fabric->link_count)};
    struct weft_arena scratch = *arena;
    uint32_t *next = WEFT_NEW_RAW(&scratch, uint32_t, (size_t)n + 1);
    for (uint32_t i = 0; i < fabric->link_count; i++) {
        walk.first[(backward ? fabric->links[i].to : fabric->links[i].from) + 1]++;
    }
    for (uint32_t v = 0; v < n; v++) {
        walk.first[v + 1] += walk.first[v];
    }
    memcpy(next, walk.first, ((size_t)n + 1) * sizeof *next);
    for (uint32_t i = 0; i < fabric->link_count; i++) {
        const struct weft_link *link = &fabric->links[i];
        walk.ends[next[backward ? link->to : link->from]++] = backward ? link->from : link->to;
    }
    return walk;
}

// The lowest server that `root` cannot reach along the walk, or WEFT_NONE. Other servers are passed
// through only where servers forward.
static uint32_t first_unreached(const struct weft_fabric *fabric, const struct walk *walk,
                                uint32_t root, struct weft_arena scratch)
{
    bool *reached = WEFT_NEW(&scratch, bool, fabric->node_count);
    uint32_t *queue = WEFT_NEW_RAW(&scratch, uint32_t, fabric->node_count);
    uint32_t head = 0;
    uint32_t tail = 0;
    queue[tail++] = root;
    reached[root] = true;
    while (head < tail) {
        uint32_t v = queue[head++];
        if (v < fabric->server_count && v != root && !fabric->forwards) {
            continue;
        }
        for (uint32_t i = walk->first[v]; i < walk->first[v + 1]; i++) {
            uint32_t w = walk->ends[i];
            if (!reached[w]) {
                reached[w] = true;
                queue[tail++] = w;
            }
        }
    }
    for (uint32_t s = 0; s < fabric->server_count; s++) {
        if (!reached[s]) {
            return s;
        }
    }
    return WEFT_NONE;
}

static bool fail_unreached(const struct weft_fabric *fabric, uint32_t from, uint32_t to,
                           struct weft_error *error)
{
    return weft_fail(error, WEFT_INFEASIBLE,
                     "fabric '%s' is disconnected: no path from server %u to server %u; add links "
                     "between their parts",
                     fabric->name, from, to);
}

bool weft_fabric_check_connected(const struct weft_fabric *fabric, struct weft_arena scratch,
                                 struct weft_error *error)
{
    struct walk forward = walk_build(fabric, false, &scratch);
    if (fabric->forwards) {
        struct walk backward = walk_build(fabric, true, &scratch);
        uint32_t to = first_unreached(fabric, &forward, 0, scratch);
        if (to != WEFT_NONE) {
            return fail_unreached(fabric, 0, to, error);
        }
        uint32_t from = first_unreached(fabric, &backward, 0, scratch);
        return from == WEFT_NONE || fail_unreached(fabric, from, 0, error);
    }
    for (uint32_t s = 0; s < fabric->server_count; s++) {
        uint32_t to = first_unreached(fabric, &forward, s, scratch);
        if (to != WEFT_NONE) {
            return fail_unreached(fabric, s, to, error);
        }
    }
    return true;
}

double weft_fabric_demand_hops(const struct weft_fabric *fabric, const double *demand,
                               struct weft_arena scratch)
{
    uint32_t n = fabric->server_count;
    uint32_t *heads = WEFT_NEW_RAW(&scratch, uint32_t, fabric->link_count);
    for (uint32_t e = 0; e < fabric->link_count; e++) {
        heads[e] = fabric->links[e].to;
    }
    struct weft_graph graph = {fabric->node_count, fabric->link_count, fabric->first, heads};
    uint32_t *distance = WEFT_NEW_RAW(&scratch, uint32_t, fabric->node_count);
    double sum = 0;
    double weight = 0;
    for (uint32_t s = 0; s < n; s++) {
        weft_graph_bfs(distance, &graph, s, scratch);
        for (uint32_t t = 0; t < n; t++) {
            if (t != s && distance[t] != WEFT_NONE) {
                sum += demand[(size_t)s * n + t] * distance[t];
                weight += demand[(size_t)s * n + t];
            }
        }
    }
    return weight > 0 ? sum / weight : 0;
}

struct weft_path_delay weft_fabric_path_delay(const struct weft_fabric *fabric,
                                              const uint32_t *links, uint32_t hop_count)
{
    struct weft_path_delay delay = {0};
    double slowest_ps_per_byte = 0;
    for (uint32_t hop = 0; hop < hop_count; hop++) {
        const struct weft_link *link = &fabric->links[links[hop]];
        double ps_per_byte = (double)WEFT_PS_PER_S / link->rate_Bps;
        delay.propagation_ps += (double)link->latency_ps;
        delay.store_ps_per_byte += ps_per_byte;
        slowest_ps_per_byte = ps_per_byte > slowest_ps_per_byte ? ps_per_byte : slowest_ps_per_byte;
    }
    delay.store_ps_per_byte = hop_count == 1 ? 0 : delay.store_ps_per_byte - slowest_ps_per_byte;
    return delay;
}
