// SPDX-License-Identifier: Apache-2.0
// What comes out of a mixed search: planes, rings over the links of the fabric, metrics.
//
// A ring whose members are not neighbors has to pass relays. Its hops take the cheapest paths over
// links whose price grows with what they already carry (the transfers first, then ring by ring), so
// that the rings spread. O(rings * members * n d log n).

#include "mix.h"
#include "topology/internal.h"

#include <math.h>
#include <string.h>

struct publisher {
    const struct weft_mix_space *space;
    const struct weft_mix_state *state;
    struct weft_topology_links links;
    struct weft_priced_links priced; // the same links, for the next path
    double *load_bytes;              // of the links
    double scale_bytes;
    struct weft_ring *rings;
    uint32_t ring_count;
    struct weft_arena *arena;
};

// A link that carries much costs up to half a hop more than one that is idle: never a hop.
static void load_link(struct publisher *p, uint32_t link, double bytes)
{
    p->load_bytes[link] += bytes;
    double load = p->load_bytes[link] / p->links.width[link] / p->scale_bytes;
    p->priced.prices[link] = 1 + 0.5 * load / (1 + load);
}

// A ring of a group in one direction.
struct directed_ring {
    uint32_t group;
    const uint32_t *order;
    uint32_t size;
    bool back;
    double share_ratio;
};

// Binds every hop of a ring to its links, which then carry its bytes.
static void publish_directed(struct publisher *p, const struct directed_ring *ring,
                             struct weft_arena scratch)
{
    uint32_t size = ring->size;
    double bytes = ring->share_ratio * p->space->traffic->groups[ring->group].wire_bytes / size;
    uint32_t *members = WEFT_NEW_RAW(p->arena, uint32_t, size);
    for (uint32_t i = 0; i < size; i++) {
        members[i] = ring->order[ring->back ? size - 1 - i : i];
    }
    uint32_t *first = WEFT_NEW_RAW(p->arena, uint32_t, (size_t)size + 1);
    uint32_t *hops = WEFT_NEW_RAW(&scratch, uint32_t, (size_t)size * p->space->n);
    uint32_t filled = 0;
    for (uint32_t i = 0; i < size; i++) {
        uint32_t to = members[i + 1 == size ? 0 : i + 1];
        first[i] = filled;
        uint32_t length =
            weft_topology_hop_path(hops + filled, &p->priced, members[i], to, scratch);
        for (uint32_t end = filled + length; filled < end; filled++) {
            load_link(p, hops[filled], bytes);
        }
    }
    first[size] = filled;
    uint32_t *links = WEFT_NEW_RAW(p->arena, uint32_t, filled);
    memcpy(links, hops, filled * sizeof *links);
    p->rings[p->ring_count++] =
        (struct weft_ring){ring->group, size, members, ring->share_ratio, first, links, NULL};
}

// A ring of a group: one way, or both ways with half the share each.
static void publish_ring(struct publisher *p, uint32_t group, const uint32_t *order, uint32_t size,
                         double share_ratio, struct weft_arena scratch)
{
    bool both = !p->space->simplex && size > 2;
    double share = both ? share_ratio / 2 : share_ratio;
    publish_directed(p, &(struct directed_ring){group, order, size, false, share}, scratch);
    if (both) {
        publish_directed(p, &(struct directed_ring){group, order, size, true, share}, scratch);
    }
}

// The rings of the search, and one along a short tour for each group that had no say in it.
static void publish_rings(struct publisher *p, struct weft_arena scratch)
{
    const struct weft_mix_space *space = p->space;
    const struct weft_traffic *traffic = space->traffic;
    uint32_t n = space->n;
    double units = (double)space->rings_a_group * space->ring_units;
    for (uint32_t r = 0; r < space->ring_count; r++) {
        const struct weft_mix_ring *ring = &p->state->rings[r];
        if (ring->units > 0) {
            publish_ring(p, ring->group, weft_mix_order(p->state, ring), ring->size,
                         ring->units / units, scratch);
        }
    }
    uint16_t *distance = WEFT_NEW_RAW(&scratch, uint16_t, (size_t)n * n);
    weft_graph_all_hops(distance, &p->priced.graph, scratch);
    for (uint32_t g = 0; g < traffic->group_count; g++) {
        if (space->group_lane[g] > 0) {
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
    const struct weft_mix_space *space = p->space;
    const struct weft_design *design = &p->state->design;
    uint32_t n = space->n;
    struct weft_load load;
    weft_load_init(&load, n, design->degree, &scratch);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            double bytes = space->traffic->transfer_bytes[(size_t)i * n + j];
            weft_load_add(&load, i, j, 0, i == j ? 0 : bytes);
        }
    }
    weft_load_measure(&load, design);
    for (uint32_t v = 0; v < n; v++) {
        for (uint32_t s = 0; s < design->degree; s++) {
            size_t at = (size_t)v * design->degree + s;
            if (design->next[at] != v) {
                uint32_t link = weft_topology_find_link(&p->links, v, design->next[at]);
                load_link(p, link, load.link_bytes[at * WEFT_LOAD_LANES]);
            }
        }
    }
}

// The design of a state, its dedicated rings marked with their groups.
static struct weft_design publish_design(const struct weft_mix_space *space,
                                         const struct weft_mix_state *state,
                                         struct weft_arena *arena)
{
    struct weft_design design = state->design;
    design.next = NULL; // of use to the search alone
    design = weft_design_copy(&design, arena);
    for (uint32_t r = 0; r < space->ring_count; r++) {
        if (state->rings[r].part != WEFT_NONE) {
            design.parts[state->rings[r].part].group = state->rings[r].group;
        }
    }
    return design;
}

bool weft_mix_publish(struct weft_topology_candidate *candidate, const struct weft_mix_space *space,
                      const struct weft_mix_state *state, struct weft_arena *arena,
                      struct weft_arena scratch)
{
    const struct weft_traffic *traffic = space->traffic;
    uint32_t *planes = WEFT_NEW_RAW(arena, uint32_t, (size_t)space->n * space->degree);
    weft_design_planes(planes, &state->design);
    struct weft_topology result = {
        .server_count = space->n,
        .degree = space->degree,
        .simplex = space->simplex,
        .planes = planes,
        .allreduce_degree = state->ring_slots,
    };
    if (!weft_topology_measure(&result, arena, scratch)) {
        return false;
    }
    double total = traffic->transfer_total_bytes + traffic->allreduce_wire_bytes;
    struct publisher p = {.space = space, .state = state, .arena = arena};
    weft_topology_list_links(&p.links, result.planes, space->n, space->degree, &scratch);
    uint32_t count = p.links.link_count;
    p.load_bytes = WEFT_NEW(&scratch, double, count);
    p.scale_bytes = total > 0 ? total / count : 1;
    p.priced = (struct weft_priced_links){{space->n, count, p.links.first, p.links.to},
                                          p.links.from,
                                          WEFT_NEW(&scratch, double, count)};
    p.rings =
        WEFT_NEW(arena, struct weft_ring, 2 * ((size_t)space->ring_count + traffic->group_count));
    load_transfers(&p, scratch);
    publish_rings(&p, scratch);
    result.rings = (struct weft_ring_set){p.ring_count, p.rings};
    double busiest_bytes = 0;
    for (uint32_t l = 0; l < count; l++) {
        busiest_bytes = fmax(busiest_bytes, p.load_bytes[l] / p.links.width[l]);
    }
    candidate->topology = result;
    candidate->busiest_bytes = busiest_bytes;
    candidate->design = publish_design(space, state, arena);
    return true;
}
