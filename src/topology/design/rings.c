// SPDX-License-Identifier: Apache-2.0
// A design as a network: its fabric, and the rings of every traffic group on its links.
//
// A cycle of a design is a ring of its group as it stands, each way. A group may also run along a
// cycle that holds more servers than it has (a shared ring): its hops then pass the servers
// between, so that one cycle through all servers serves every group. A group with neither goes
// round along the smallest cycle that holds it. Hops between servers that are no neighbors take the
// cheapest path over links that all cost 1 and a little more for each ring that already crosses
// them, so that such rings spread. O(groups * (n + members * hops)).

#include "topology/internal.h"

#include <string.h>

// What a hop adds to the price of each link that it crosses: of paths of equal length the one with
// fewer rings is taken, and no path is longer for it (10,000 rings would have to meet).
#define RING_PRICE 1e-4

bool weft_design_fabric(struct weft_fabric *fabric, const struct weft_design *design,
                        const struct weft_cluster *cluster, struct weft_arena *arena,
                        struct weft_arena scratch, struct weft_error *error)
{
    uint32_t *planes =
        WEFT_NEW_RAW(&scratch, uint32_t, (size_t)design->degree * design->server_count);
    weft_design_planes(planes, design);
    struct weft_topology topology = {.server_count = design->server_count,
                                     .degree = design->degree,
                                     .simplex = design->simplex,
                                     .planes = planes};
    return weft_topology_fabric(fabric, &topology, cluster, arena, scratch, error);
}

// ---- orders ----

// The members of a group along a cycle, in `order`; their number.
static uint32_t order_along(uint32_t *order, const struct weft_part *part, const bool *member)
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
static void choose_order(uint32_t *order, const struct weft_design *design,
                         const struct weft_traffic_group *group, struct weft_arena scratch)
{
    bool *member = WEFT_NEW(&scratch, bool, design->server_count);
    for (uint32_t i = 0; i < group->member_count; i++) {
        member[group->members[i]] = true;
    }
    memcpy(order, group->members, group->member_count * sizeof *order);
    uint32_t smallest = WEFT_NONE;
    for (uint32_t p = 0; p < design->part_count; p++) {
        const struct weft_part *part = &design->parts[p];
        uint32_t held = 0;
        for (uint32_t i = 0; i < part->size && weft_part_is_cycle(part); i++) {
            held += member[part->order[i]] ? 1 : 0;
        }
        if (held == group->member_count && part->size < smallest) {
            smallest = part->size;
            order_along(order, part, member);
        }
    }
}

static uint32_t *reversed(const uint32_t *order, uint32_t count, struct weft_arena *arena)
{
    uint32_t *back = WEFT_NEW_RAW(arena, uint32_t, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) {
        back[i] = order[count - 1 - i];
    }
    return back;
}

// ---- rings on links ----

struct ring_builder {
    const struct weft_design *design;
    struct weft_priced_links links;
    struct weft_ring *rings;
    uint32_t count;
    struct weft_arena *arena;
};

// The links of a fabric, all at a price of 1.
static struct weft_priced_links price_links(const struct weft_fabric *fabric,
                                            struct weft_arena *arena)
{
    uint32_t link_count = fabric->link_count;
    uint32_t *from = WEFT_NEW_RAW(arena, uint32_t, (size_t)link_count + 1);
    uint32_t *heads = WEFT_NEW_RAW(arena, uint32_t, (size_t)link_count + 1);
    double *prices = WEFT_NEW_RAW(arena, double, (size_t)link_count + 1);
    for (uint32_t e = 0; e < link_count; e++) {
        from[e] = fabric->links[e].from;
        heads[e] = fabric->links[e].to;
        prices[e] = 1;
    }
    const struct weft_graph graph = {fabric->node_count, link_count, fabric->first, heads};
    return (struct weft_priced_links){graph, from, prices};
}

// Adds a ring of a group and binds every hop to its links.
static void add_ring(struct ring_builder *builder, uint32_t group, const uint32_t *order,
                     uint32_t count, double share, struct weft_arena scratch)
{
    struct weft_arena *arena = builder->arena;
    uint32_t n = builder->links.graph.node_count;
    uint32_t *members = WEFT_NEW_RAW(arena, uint32_t, (size_t)count + 1);
    memcpy(members, order, count * sizeof *members);
    uint32_t *path = WEFT_NEW_RAW(&scratch, uint32_t, n);
    uint32_t *hop_first = WEFT_NEW(arena, uint32_t, (size_t)count + 1);
    uint32_t *hop_links = WEFT_NEW_RAW(arena, uint32_t, (size_t)count * n);
    uint32_t link_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t to = members[(i + 1) % count];
        uint32_t length = weft_topology_hop_path(path, &builder->links, members[i], to, scratch);
        for (uint32_t l = 0; l < length; l++) {
            builder->links.prices[path[l]] += RING_PRICE;
            hop_links[link_count++] = path[l];
        }
        hop_first[i + 1] = link_count;
    }
    arena->next = (char *)(hop_links + link_count); // give back what was not needed
    builder->rings[builder->count++] =
        (struct weft_ring){group, count, members, share, hop_first, hop_links, NULL};
}

// Adds the rings that a group has along cycles of others. Returns the sum of their shares.
static double add_shared(struct ring_builder *builder, uint32_t group,
                         const struct weft_traffic_group *wanted, struct weft_arena scratch)
{
    const struct weft_design *design = builder->design;
    uint32_t k = wanted->member_count;
    bool *member = WEFT_NEW(&scratch, bool, design->server_count);
    for (uint32_t i = 0; i < k; i++) {
        member[wanted->members[i]] = true;
    }
    uint32_t *order = WEFT_NEW_RAW(&scratch, uint32_t, design->server_count);
    double sum = 0;
    for (uint32_t p = 0; p < design->part_count && k > 2; p++) {
        const struct weft_part *part = &design->parts[p];
        bool shared = weft_part_is_cycle(part) && part->shared_ring > 0 && part->group != group;
        if (!shared || order_along(order, part, member) < k) {
            continue;
        }
        add_ring(builder, group, order, k, part->shared_ring, scratch);
        sum += part->shared_ring;
        if (!design->simplex) {
            add_ring(builder, group, reversed(order, k, &scratch), k, part->shared_ring, scratch);
            sum += part->shared_ring;
        }
    }
    return sum;
}

// Adds all rings of a group, whose shares then add to 1: its own cycles, those that it shares, and
// where there is neither, one order there and back.
static void add_group(struct ring_builder *builder, uint32_t group,
                      const struct weft_traffic_group *wanted, struct weft_arena scratch)
{
    const struct weft_design *design = builder->design;
    uint32_t first = builder->count;
    double sum = 0;
    for (uint32_t p = 0; p < design->part_count; p++) {
        const struct weft_part *part = &design->parts[p];
        uint32_t directions = part->group != group ? 0 : design->simplex ? 1 : 2;
        for (uint32_t back = 0; back < directions; back++) {
            const uint32_t *order =
                back == 0 ? part->order : reversed(part->order, part->size, &scratch);
            add_ring(builder, group, order, part->size, part->share[back], scratch);
            sum += part->share[back];
        }
    }
    sum += add_shared(builder, group, wanted, scratch);
    if (builder->count == first) {
        uint32_t k = wanted->member_count;
        uint32_t *order = WEFT_NEW_RAW(&scratch, uint32_t, (size_t)k + 1);
        choose_order(order, design, wanted, scratch);
        add_ring(builder, group, order, k, 1, scratch);
        sum = 1;
        if (k > 2) {
            add_ring(builder, group, reversed(order, k, &scratch), k, 1, scratch);
            sum = 2;
        }
    }
    for (uint32_t r = first; r < builder->count; r++) {
        builder->rings[r].share_ratio /= sum;
    }
}

struct weft_ring_set weft_design_rings(const struct weft_design *design,
                                       const struct weft_traffic *traffic,
                                       const struct weft_fabric *fabric, struct weft_arena *arena,
                                       struct weft_arena scratch)
{
    size_t shared = 0;
    for (uint32_t p = 0; p < design->part_count; p++) {
        shared += design->parts[p].shared_ring > 0 ? 1 : 0;
    }
    size_t most = 2 * (design->part_count + (1 + shared) * traffic->group_count) + 1;
    struct ring_builder builder = {.design = design,
                                   .links = price_links(fabric, &scratch),
                                   .rings = WEFT_NEW(arena, struct weft_ring, most),
                                   .arena = arena};
    for (uint32_t g = 0; g < traffic->group_count; g++) {
        add_group(&builder, g, &traffic->groups[g], scratch);
    }
    WEFT_ASSERT(builder.count <= most);
    return (struct weft_ring_set){builder.count, builder.rings};
}
