// SPDX-License-Identifier: Apache-2.0
// Which cable of a fabric belongs to which ring, for pictures that color cables by ring.
//
// A link may carry several cables side by side; each ring over it takes one, and the rest
// belong to none. Links with their reverse are drawn as one cable both ways. O(links + hops of
// rings).

#include "cables.h"

// The rings over one link, ascending.
struct takers {
    uint32_t count;
    uint32_t rings[CABLE_LANES_MAX];
};

static void take_link(struct takers *takers, uint32_t link, uint32_t ring)
{
    struct takers *taken = &takers[link];
    bool again = taken->count > 0 && taken->rings[taken->count - 1] == ring;
    if (!again && taken->count < CABLE_LANES_MAX) {
        taken->rings[taken->count++] = ring;
    }
}

// Rings go by the walks of their hops where they have them, else straight.
static void take_ring(struct takers *takers, const struct weft_fabric *fabric,
                      const struct weft_ring *ring, uint32_t number)
{
    for (uint32_t i = 0; ring->hop_first == NULL && i < ring->member_count; i++) {
        uint32_t next = ring->members[(i + 1) % ring->member_count];
        uint32_t link = weft_fabric_find_link(fabric, ring->members[i], next);
        if (link != WEFT_NONE) {
            take_link(takers, link, number);
        }
    }
    uint32_t end = ring->hop_first != NULL ? ring->hop_first[ring->member_count] : 0;
    for (uint32_t h = 0; h < end; h++) {
        take_link(takers, ring->hop_links[h], number);
    }
}

static uint32_t ring_on(const struct takers *takers, uint32_t link, uint32_t lane)
{
    bool taken = link != WEFT_NONE && lane < takers[link].count;
    return taken ? takers[link].rings[lane] : WEFT_NONE;
}

static uint32_t lanes_of(const struct weft_fabric *fabric, uint32_t link)
{
    uint32_t width = link == WEFT_NONE ? 0 : fabric->links[link].width;
    return width < CABLE_LANES_MAX ? width : CABLE_LANES_MAX;
}

// The cables of a link and of its twin the other way, if it has one.
static uint32_t add_cables(struct cable *cables, uint32_t *owner_of,
                           const struct weft_fabric *fabric, const struct takers *takers,
                           uint32_t link, uint32_t twin)
{
    uint32_t there = lanes_of(fabric, link);
    uint32_t back = lanes_of(fabric, twin);
    uint32_t lanes = there > back ? there : back;
    for (uint32_t lane = 0; lane < lanes; lane++) {
        bool forth = lane < there;
        uint32_t ring = forth ? ring_on(takers, link, lane) : WEFT_NONE;
        uint32_t other = lane < back ? ring_on(takers, twin, lane) : WEFT_NONE;
        uint32_t first = ring < other ? ring : other;
        uint32_t second = ring < other ? other : ring;
        if (first != WEFT_NONE) {
            owner_of[first] = first;
        }
        if (second != WEFT_NONE && owner_of[second] == WEFT_NONE) {
            owner_of[second] = first;
        }
        const struct weft_link *ends = &fabric->links[forth ? link : twin];
        cables[lane] =
            (struct cable){ends->from, ends->to, first, lane, lanes, forth && lane < back};
    }
    return lanes;
}

struct cable_list cables_list(const struct weft_plan *plan, struct weft_arena *arena)
{
    const struct weft_fabric *fabric = &plan->network.fabric;
    const struct weft_ring_set *set = &plan->topology.rings;
    struct takers *takers = WEFT_NEW(arena, struct takers, fabric->link_count);
    uint32_t *owner_of = WEFT_NEW(arena, uint32_t, set->ring_count);
    for (uint32_t r = 0; r < set->ring_count; r++) {
        owner_of[r] = WEFT_NONE;
        take_ring(takers, fabric, &set->rings[r], r);
    }
    struct cable *cables =
        WEFT_NEW(arena, struct cable, (size_t)fabric->link_count * CABLE_LANES_MAX);
    struct cable_list list = {.cables = cables, .owner_of = owner_of};
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        const struct weft_link *link = &fabric->links[l];
        uint32_t twin = weft_fabric_find_link(fabric, link->to, link->from);
        bool drawn = twin != WEFT_NONE && link->from > link->to; // with its twin
        if (drawn || link->from >= fabric->server_count || link->to >= fabric->server_count) {
            continue;
        }
        uint32_t back = twin == WEFT_NONE ? 0 : fabric->links[twin].width;
        list.total += link->width > back ? link->width : back;
        list.count += add_cables(cables + list.count, owner_of, fabric, takers, l, twin);
    }
    return list;
}
