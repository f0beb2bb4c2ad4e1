// SPDX-License-Identifier: Apache-2.0
// What comes out of a mixed search: planes, rings over the links of the fabric, figures.

#include "mix.h"
#include "topology/internal.h"

#include <math.h>
#include <string.h>

struct publisher {
    const struct weft_mix_problem *problem;
    const struct weft_mix_state *state;
    struct weft_topology_links links;
    double *load_bytes; // of the links
    double *costs;      // of the links, for the next path
    double scale_bytes;
    struct weft_ring *rings;
    uint32_t ring_count;
    struct weft_arena *arena;
};

static void load_link(struct publisher *p, uint32_t link, double bytes)
{
    p->load_bytes[link] += bytes;
    double load = p->load_bytes[link] / p->links.width[link] / p->scale_bytes;
    p->costs[link] = 1 + 0.5 * load / (1 + load);
}

// The cheapest path from a member to the next: few hops, and the idler links of those. Writes its
// links into path[n] and returns their number.
static uint32_t find_path(const struct publisher *p, uint32_t from, uint32_t to, uint32_t *path,
                          struct weft_arena scratch)
{
    uint32_t n = p->problem->n;
    struct weft_graph graph = {n, p->links.link_count, p->links.first, p->links.to};
    double *distance = WEFT_NEW_RAW(&scratch, double, n);
    uint32_t *last = WEFT_NEW_RAW(&scratch, uint32_t, n);
    weft_graph_dijkstra(distance, last, &graph, p->costs, from, scratch);
    uint32_t count = 0;
    for (uint32_t v = to; v != from; v = p->links.from[last[v]]) {
        WEFT_ASSERT(last[v] != WEFT_NONE && count < n);
        path[count++] = last[v];
    }
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t swap = path[i];
        path[i] = path[count - 1 - i];
        path[count - 1 - i] = swap;
    }
    return count;
}

// One directed ring; `bytes` go over each of its hops.
static void publish_way(struct publisher *p, uint32_t group, const uint32_t *order, uint32_t size,
                        bool back, double share_ratio, double bytes, struct weft_arena scratch)
{
    uint32_t *members = WEFT_NEW_RAW(p->arena, uint32_t, size);
    for (uint32_t i = 0; i < size; i++) {
        members[i] = order[back ? size - 1 - i : i];
    }
    uint32_t *first = WEFT_NEW_RAW(p->arena, uint32_t, (size_t)size + 1);
    uint32_t *hops = WEFT_NEW_RAW(&scratch, uint32_t, (size_t)size * p->problem->n);
    uint32_t filled = 0;
    for (uint32_t i = 0; i < size; i++) {
        uint32_t to = members[i + 1 == size ? 0 : i + 1];
        uint32_t link = weft_topology_find_link(&p->links, members[i], to);
        uint32_t length = 1;
        first[i] = filled;
        hops[filled] = link;
        if (link == WEFT_NONE) {
            length = find_path(p, members[i], to, hops + filled, scratch);
        }
        for (uint32_t end = filled + length; filled < end; filled++) {
            load_link(p, hops[filled], bytes);
        }
    }
    first[size] = filled;
    uint32_t *links = WEFT_NEW_RAW(p->arena, uint32_t, filled);
    memcpy(links, hops, filled * sizeof *links);
    p->rings[p->ring_count++] = (struct weft_ring){group, size, members, share_ratio, first, links};
}

// A ring of a group: one way, or both ways with half the share each.
static void publish_ring(struct publisher *p, uint32_t group, const uint32_t *order, uint32_t size,
                         double share_ratio, struct weft_arena scratch)
{
    bool both = !p->problem->simplex && size > 2;
    double share = both ? share_ratio / 2 : share_ratio;
    double bytes = share * p->problem->traffic->groups[group].wire_bytes / size;
    publish_way(p, group, order, size, false, share, bytes, scratch);
    if (both) {
        publish_way(p, group, order, size, true, share, bytes, scratch);
    }
}

static void publish_rings(struct publisher *p, struct weft_arena scratch)
{
    const struct weft_mix_problem *problem = p->problem;
    const struct weft_traffic *traffic = problem->traffic;
    uint32_t n = problem->n;
    double units = (double)problem->rings_a_group * problem->ring_units;
    for (uint32_t r = 0; r < problem->ring_count; r++) {
        const struct weft_mix_ring *ring = &p->state->rings[r];
        if (ring->units > 0) {
            publish_ring(p, ring->group, weft_mix_order(p->state, ring), ring->size,
                         ring->units / units, scratch);
        }
    }
    uint16_t *distance = WEFT_NEW_RAW(&scratch, uint16_t, (size_t)n * n);
    struct weft_graph graph = {n, p->links.link_count, p->links.first, p->links.to};
    weft_graph_all_hops(distance, &graph, scratch);
    for (uint32_t g = 0; g < traffic->group_count; g++) {
        if (problem->group_lane[g] > 0) {
            continue;
        }
        struct weft_arena spare = scratch;
        uint32_t size = traffic->groups[g].member_count;
        uint32_t *order = WEFT_NEW_RAW(&spare, uint32_t, size);
        memcpy(order, traffic->groups[g].members, size * sizeof *order);
        weft_mix_tour(order, size, distance, n, NULL);
        publish_ring(p, g, order, size, 1, spare);
    }
}

// The loads of the transfers alone, spread over shortest paths, onto the links.
static void load_transfers(struct publisher *p, struct weft_arena scratch)
{
    const struct weft_mix_problem *problem = p->problem;
    const struct weft_wiring *wiring = &p->state->wiring;
    uint32_t n = problem->n;
    struct weft_load load;
    weft_load_init(&load, n, wiring->slot_count, &scratch);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            double bytes = problem->traffic->transfer_bytes[(size_t)i * n + j];
            weft_load_add(&load, i, j, 0, i == j ? 0 : bytes);
        }
    }
    weft_load_measure(&load, wiring);
    for (uint32_t v = 0; v < n; v++) {
        for (uint32_t s = 0; s < wiring->slot_count; s++) {
            size_t at = (size_t)v * wiring->slot_count + s;
            if (wiring->next[at] != v) {
                uint32_t link = weft_topology_find_link(&p->links, v, wiring->next[at]);
                load_link(p, link, load.link_bytes[at * WEFT_LOAD_LANES]);
            }
        }
    }
}

static void publish_parts(struct weft_topology_candidate *candidate,
                          const struct weft_mix_problem *problem,
                          const struct weft_mix_state *state, struct weft_arena *arena)
{
    static const enum weft_topology_part_kind kinds[] = {
        [WEFT_PART_CYCLE] = WEFT_TOPOLOGY_CYCLE,
        [WEFT_PART_RING] = WEFT_TOPOLOGY_RING,
        [WEFT_PART_MATCHING] = WEFT_TOPOLOGY_MATCHING,
    };
    uint32_t count = state->wiring.part_count;
    struct weft_topology_part *parts = WEFT_NEW_RAW(arena, struct weft_topology_part, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_part *part = &state->wiring.parts[i];
        uint32_t *order = WEFT_NEW_RAW(arena, uint32_t, part->size);
        memcpy(order, part->order, part->size * sizeof *order);
        parts[i] = (struct weft_topology_part){kinds[part->kind], part->slot, part->size, order,
                                               WEFT_NONE};
    }
    for (uint32_t r = 0; r < problem->ring_count; r++) {
        if (state->rings[r].part != WEFT_NONE) {
            parts[state->rings[r].part].group = state->rings[r].group;
        }
    }
    candidate->part_count = count;
    candidate->parts = parts;
}

bool weft_mix_publish(struct weft_topology_candidate *candidate,
                      const struct weft_mix_problem *problem, const struct weft_mix_state *state,
                      struct weft_arena *arena, struct weft_arena scratch)
{
    const struct weft_traffic *traffic = problem->traffic;
    struct weft_topology result = {
        .server_count = problem->n,
        .degree = problem->degree,
        .simplex = problem->simplex,
        .planes = weft_wiring_planes(&state->wiring, arena),
        .allreduce_degree = state->ring_slots,
    };
    if (!weft_topology_measure(&result, arena, scratch)) {
        return false;
    }
    double total = traffic->transfer_total_bytes + traffic->allreduce_wire_bytes;
    struct publisher p = {.problem = problem, .state = state, .arena = arena};
    weft_topology_list_links(&p.links, result.planes, problem->n, problem->degree, &scratch);
    uint32_t count = p.links.link_count;
    p.load_bytes = WEFT_NEW(&scratch, double, count);
    p.scale_bytes = total > 0 ? total / count : 1;
    p.costs = WEFT_NEW(&scratch, double, count);
    p.rings =
        WEFT_NEW(arena, struct weft_ring, 2 * ((size_t)problem->ring_count + traffic->group_count));
    load_transfers(&p, scratch);
    publish_rings(&p, scratch);
    result.rings = (struct weft_ring_set){p.ring_count, p.rings};
    double busiest_bytes = 0;
    for (uint32_t l = 0; l < count; l++) {
        busiest_bytes = fmax(busiest_bytes, p.load_bytes[l] / p.links.width[l]);
    }
    candidate->topology = result;
    candidate->busiest_bytes = busiest_bytes;
    publish_parts(candidate, problem, state, arena);
    return true;
}
