// SPDX-License-Identifier: Apache-2.0
// A design as planes, fabric and rings.

#include "design.h"

#include "weft/graph.h"

#include <string.h>

static void light(uint32_t *plane, uint32_t from, uint32_t to)
{
    WEFT_ASSERT(plane[from] == from);
    plane[from] = to;
}

void design_planes(uint32_t *planes, const struct design *design)
{
    uint32_t n = design->server_count;
    for (uint32_t p = 0; p < design->degree; p++) {
        for (uint32_t s = 0; s < n; s++) {
            planes[(size_t)p * n + s] = s;
        }
    }
    for (uint32_t i = 0; i < design->part_count; i++) {
        const struct part *part = &design->parts[i];
        uint32_t *plane = planes + (size_t)part->slot * n;
        if (part->is_cycle) {
            for (uint32_t m = 0; m < part->size; m++) {
                uint32_t from = part->order[m];
                uint32_t to = part->order[(m + 1) % part->size];
                light(plane, from, to);
                if (!design->simplex) {
                    light(plane + n, to, from);
                }
            }
        } else {
            for (uint32_t m = 0; m + 1 < part->size; m += 2) {
                light(plane, part->order[m], part->order[m + 1]);
                light(plane, part->order[m + 1], part->order[m]);
            }
        }
    }
}

bool design_fabric(struct weft_fabric *fabric, const struct design *design,
                   const struct weft_cluster *cluster, struct weft_arena *arena,
                   struct weft_arena scratch, struct weft_error *error)
{
    uint32_t *planes =
        WEFT_NEW_RAW(&scratch, uint32_t, (size_t)design->degree * design->server_count);
    design_planes(planes, design);
    struct weft_topology topology = {.server_count = design->server_count,
                                     .degree = design->degree,
                                     .simplex = design->simplex,
                                     .planes = planes};
    return weft_topology_fabric(fabric, &topology, cluster, arena, scratch, error);
}

// ---- rings ----

// The members of a group along a cycle, in `order`; their number.
static uint32_t along(uint32_t *order, const struct part *part, const bool *member)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < part->size; i++) {
        if (member[part->order[i]]) {
            order[count++] = part->order[i];
        }
    }
    return count;
}

// The order in which a group without cycles of its own goes round: along the smallest cycle that
// holds all of it, else ascending.
static void lend_order(uint32_t *order, const struct design *design,
                       const struct weft_traffic_group *group, struct weft_arena scratch)
{
    bool *member = WEFT_NEW(&scratch, bool, design->server_count);
    for (uint32_t i = 0; i < group->member_count; i++) {
        member[group->members[i]] = true;
    }
    memcpy(order, group->members, group->member_count * sizeof *order);
    uint32_t smallest = WEFT_NONE;
    for (uint32_t p = 0; p < design->part_count; p++) {
        const struct part *part = &design->parts[p];
        uint32_t held = 0;
        for (uint32_t i = 0; i < part->size && part->is_cycle; i++) {
            held += member[part->order[i]] ? 1 : 0;
        }
        if (held == group->member_count && part->size < smallest) {
            smallest = part->size;
            along(order, part, member);
        }
    }
}

static uint32_t *turned(const uint32_t *order, uint32_t count, struct weft_arena *arena)
{
    uint32_t *back = WEFT_NEW_RAW(arena, uint32_t, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) {
        back[i] = order[count - 1 - i];
    }
    return back;
}

// The fabric as a graph whose arcs are its links.
static struct weft_graph link_graph(const struct weft_fabric *fabric, struct weft_arena *arena)
{
    uint32_t *heads = WEFT_NEW_RAW(arena, uint32_t, (size_t)fabric->link_count + 1);
    for (uint32_t e = 0; e < fabric->link_count; e++) {
        heads[e] = fabric->links[e].to;
    }
    return (struct weft_graph){fabric->node_count, fabric->link_count, fabric->first, heads};
}

// Binds every hop of a ring to a link, or to a path of fewest hops. Ways that more of the rings
// bound before have taken cost a little more.
static void bind_hops(struct weft_ring *ring, const struct weft_fabric *fabric, double *costs,
                      struct weft_arena *arena, struct weft_arena scratch)
{
    uint32_t k = ring->member_count;
    uint32_t n = fabric->node_count;
    struct weft_graph graph = link_graph(fabric, &scratch);
    double *distance = WEFT_NEW_RAW(&scratch, double, n);
    uint32_t *last_arc = WEFT_NEW_RAW(&scratch, uint32_t, n);
    uint32_t *path = WEFT_NEW_RAW(&scratch, uint32_t, n);
    uint32_t *hop_first = WEFT_NEW(arena, uint32_t, (size_t)k + 1);
    uint32_t *hop_links = WEFT_NEW_RAW(arena, uint32_t, (size_t)k * n);
    uint32_t count = 0;
    for (uint32_t i = 0; i < k; i++) {
        uint32_t from = ring->members[i];
        uint32_t to = ring->members[(i + 1) % k];
        uint32_t direct = weft_fabric_find_link(fabric, from, to);
        uint32_t length = 0;
        if (direct != WEFT_NONE) {
            path[length++] = direct;
        } else {
            weft_graph_dijkstra(distance, last_arc, &graph, costs, from, scratch);
            for (uint32_t at = to; at != from; at = fabric->links[last_arc[at]].from) {
                WEFT_ASSERT(last_arc[at] != WEFT_NONE);
                path[length++] = last_arc[at];
            }
        }
        while (length > 0) {
            length--;
            costs[path[length]] += 1e-4;
            hop_links[count++] = path[length];
        }
        hop_first[i + 1] = count;
    }
    arena->next = (char *)(hop_links + count); // give back what was not needed
    ring->hop_first = hop_first;
    ring->hop_links = hop_links;
}

// Rings in the making.
struct rings_making {
    const struct weft_fabric *fabric;
    struct weft_ring *rings;
    uint32_t count;
    double *costs;
    struct weft_arena *arena;
};

static void add_ring(struct rings_making *making, uint32_t group, const uint32_t *order,
                     uint32_t count, double share, struct weft_arena scratch)
{
    uint32_t *members = WEFT_NEW_RAW(making->arena, uint32_t, (size_t)count + 1);
    memcpy(members, order, count * sizeof *members);
    struct weft_ring *ring = &making->rings[making->count++];
    *ring = (struct weft_ring){group, count, members, share, NULL, NULL};
    bind_hops(ring, making->fabric, making->costs, making->arena, scratch);
}

// The rings that cycles of others lend to a group. Returns the sum of their shares.
static double add_lent(struct rings_making *making, const struct design *design, uint32_t group,
                       const struct weft_traffic_group *wanted, struct weft_arena scratch)
{
    uint32_t k = wanted->member_count;
    bool *member = WEFT_NEW(&scratch, bool, design->server_count);
    for (uint32_t i = 0; i < k; i++) {
        member[wanted->members[i]] = true;
    }
    uint32_t *order = WEFT_NEW_RAW(&scratch, uint32_t, design->server_count);
    double sum = 0;
    for (uint32_t p = 0; p < design->part_count && k > 2; p++) {
        const struct part *part = &design->parts[p];
        bool lends = part->is_cycle && part->lend > 0 && part->group != group;
        if (!lends || along(order, part, member) < k) {
            continue;
        }
        add_ring(making, group, order, k, part->lend, scratch);
        sum += part->lend;
        if (!design->simplex) {
            add_ring(making, group, turned(order, k, &scratch), k, part->lend, scratch);
            sum += part->lend;
        }
    }
    return sum;
}

static void add_group(struct rings_making *making, const struct design *design, uint32_t group,
                      const struct weft_traffic *traffic, struct weft_arena scratch)
{
    uint32_t first = making->count;
    double sum = 0;
    for (uint32_t p = 0; p < design->part_count; p++) {
        const struct part *part = &design->parts[p];
        for (uint32_t way = 0; way < (design->simplex ? 1u : 2u) && part->group == group; way++) {
            const uint32_t *order =
                way == 0 ? part->order : turned(part->order, part->size, &scratch);
            add_ring(making, group, order, part->size, part->share[way], scratch);
            sum += part->share[way];
        }
    }
    const struct weft_traffic_group *wanted = &traffic->groups[group];
    sum += add_lent(making, design, group, wanted, scratch);
    if (making->count == first) {
        uint32_t k = wanted->member_count;
        uint32_t *order = WEFT_NEW_RAW(&scratch, uint32_t, (size_t)k + 1);
        lend_order(order, design, wanted, scratch);
        add_ring(making, group, order, k, 1, scratch);
        sum = 1;
        if (k > 2) {
            add_ring(making, group, turned(order, k, &scratch), k, 1, scratch);
            sum = 2;
        }
    }
    for (uint32_t r = first; r < making->count; r++) {
        making->rings[r].share_ratio /= sum;
    }
}

struct weft_ring_set design_rings(const struct design *design, const struct weft_traffic *traffic,
                                  const struct weft_fabric *fabric, struct weft_arena *arena,
                                  struct weft_arena scratch)
{
    size_t lenders = 0;
    for (uint32_t p = 0; p < design->part_count; p++) {
        lenders += design->parts[p].lend > 0 ? 1 : 0;
    }
    size_t most = 2 * (design->part_count + (1 + lenders) * traffic->group_count) + 1;
    struct rings_making making = {
        .fabric = fabric,
        .rings = WEFT_NEW(arena, struct weft_ring, most),
        .costs = WEFT_NEW_RAW(&scratch, double, (size_t)fabric->link_count + 1),
        .arena = arena};
    for (uint32_t e = 0; e < fabric->link_count; e++) {
        making.costs[e] = 1;
    }
    for (uint32_t g = 0; g < traffic->group_count; g++) {
        add_group(&making, design, g, traffic, scratch);
    }
    WEFT_ASSERT(making.count <= most);
    return (struct weft_ring_set){making.count, making.rings};
}
