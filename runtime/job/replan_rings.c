// SPDX-License-Identifier: Apache-2.0
// Rings over what a fault leaves: broken hops go round by shortest paths, or the ring is given up,
// or another is sought among circuits that no ring uses.
//
// Seeking a ring is seeking a Hamiltonian cycle, so it is a depth-first search with Warnsdorff's
// order (the member with the fewest free links first) that gives up after search_steps.

#include "replan.h"

#include <string.h>

// Steps of the search for one ring, which bound a replan to milliseconds; Warnsdorff's order finds
// most cycles with hardly a step back. Not measured.
static const uint32_t search_steps = 20000;

struct changing {
    const struct lab_ring_change *change;
    struct weft_arena *arena;
    uint32_t *used; // rings over each link
    struct lab_ring_counts counts;
};

static uint32_t moved(const struct lab_ring_change *change, uint32_t place)
{
    return change->gone != WEFT_NONE && place > change->gone ? place - 1 : place;
}

// ---- rings as they were ----

// The links of an old hop in what is left; 0 where one is missing.
static uint32_t keep_hop(uint32_t *links, const struct lab_ring_change *change,
                         const struct weft_ring *ring, uint32_t hop)
{
    uint32_t count = 0;
    for (uint32_t l = ring->hop_first[hop]; l < ring->hop_first[hop + 1]; l++) {
        const struct weft_link *link = &change->old->fabric.links[ring->hop_links[l]];
        if (link->from == change->gone || link->to == change->gone) {
            return 0;
        }
        links[count] = weft_fabric_find_link(change->fabric, moved(change, link->from),
                                             moved(change, link->to));
        if (links[count++] == WEFT_NONE) {
            return 0;
        }
    }
    return count;
}

// The ring on what is left: hops that are gone take a circuit that joins their ends, or go round.
// Returns how many go round.
static uint32_t carry_ring(struct weft_ring *made, const struct changing *changing,
                           const struct weft_ring *ring)
{
    const struct lab_ring_change *change = changing->change;
    uint32_t size = ring->member_count;
    uint32_t *members = WEFT_NEW(changing->arena, uint32_t, (size_t)size + 1);
    uint32_t *first = WEFT_NEW(changing->arena, uint32_t, (size_t)size + 1);
    uint32_t *links =
        WEFT_NEW(changing->arena, uint32_t, (size_t)size * change->fabric->node_count + 1);
    uint32_t *hops = WEFT_NEW(changing->arena, uint32_t, (size_t)size + 1); // old hop of each
    uint32_t count = 0;
    uint32_t detours = 0;
    for (uint32_t i = 0; i < size; i++) {
        if (ring->members[i] != change->gone) {
            bool whole = ring->members[(i + 1) % size] != change->gone;
            hops[count] = whole ? i : WEFT_NONE;
            members[count++] = moved(change, ring->members[i]);
        }
    }
    *made = *ring;
    made->member_count = count;
    made->members = members;
    for (uint32_t i = 0; i < count && ring->hop_first != NULL; i++) {
        uint32_t to = members[(i + 1) % count];
        uint32_t *next = links + first[i];
        uint32_t taken = hops[i] == WEFT_NONE ? 0 : keep_hop(next, change, ring, hops[i]);
        if (taken == 0) {
            next[0] = count > 1 ? weft_fabric_find_link(change->fabric, members[i], to) : WEFT_NONE;
            taken = next[0] != WEFT_NONE;
        }
        if (taken == 0 && count > 1) {
            taken = weft_routes_path(change->shortest, members[i], to, 0, next, NULL);
            detours++;
        }
        first[i + 1] = first[i] + taken;
    }
    if (ring->hop_first != NULL) {
        made->hop_first = first;
        made->hop_links = links;
    }
    return detours;
}

static void use_ring(const struct changing *changing, const struct weft_ring *ring)
{
    for (uint32_t l = 0; ring->hop_first != NULL && l < ring->hop_first[ring->member_count]; l++) {
        changing->used[ring->hop_links[l]]++;
    }
}

// ---- rings sought anew ----

// A walk through members over links that no ring uses, as far as it has come.
struct walk {
    const struct changing *changing;
    const struct weft_ring *ring; // whose members
    bool *member;                 // by place: not yet on the walk
    uint32_t *order;
    uint32_t steps;
};

static bool is_free(const struct changing *changing, uint32_t link)
{
    return changing->used[link] < changing->change->fabric->links[link].width;
}

// Free links from a place to members that the walk has not reached.
static uint32_t ways_on(const struct walk *walk, uint32_t place)
{
    const struct weft_fabric *fabric = walk->changing->change->fabric;
    uint32_t count = 0;
    for (uint32_t l = fabric->first[place]; l < fabric->first[place + 1]; l++) {
        count += walk->member[fabric->links[l].to] && is_free(walk->changing, l);
    }
    return count;
}

// The next free link from `place`, those first whose ends have the fewest free links on
// (Warnsdorff).
static uint32_t next_link(const struct walk *walk, uint32_t place, uint64_t *tried)
{
    const struct weft_fabric *fabric = walk->changing->change->fabric;
    uint32_t best = WEFT_NONE;
    uint32_t fewest = WEFT_NONE;
    for (uint32_t l = fabric->first[place]; l < fabric->first[place + 1]; l++) {
        uint32_t index = l - fabric->first[place];
        uint32_t to = fabric->links[l].to;
        if (index < 64 && (*tried >> index & 1) == 0 && walk->member[to] &&
            is_free(walk->changing, l) && ways_on(walk, to) < fewest) {
            fewest = ways_on(walk, to);
            best = l;
        }
    }
    if (best != WEFT_NONE) {
        *tried |= 1ull << (best - fabric->first[place]);
    }
    return best;
}

// Depth first through all members and back, within search_steps. O(steps * degree^2).
static bool find_cycle(struct walk *walk, uint64_t *tried)
{
    const struct weft_fabric *fabric = walk->changing->change->fabric;
    uint32_t size = walk->ring->member_count;
    uint32_t depth = 0;
    for (uint32_t i = 0; i < size; i++) {
        walk->member[walk->ring->members[i]] = true;
    }
    walk->order[0] = walk->ring->members[0];
    walk->member[walk->order[0]] = false;
    tried[0] = 0;
    while (walk->steps++ < search_steps) {
        uint32_t here = walk->order[depth];
        if (depth + 1 == size) {
            uint32_t home = weft_fabric_find_link(fabric, here, walk->order[0]);
            if (home != WEFT_NONE && is_free(walk->changing, home)) {
                return true;
            }
        }
        uint32_t link = depth + 1 < size ? next_link(walk, here, &tried[depth]) : WEFT_NONE;
        if (link != WEFT_NONE) {
            walk->order[++depth] = fabric->links[link].to;
            walk->member[walk->order[depth]] = false;
            tried[depth] = 0;
        } else if (depth > 0) {
            walk->member[here] = true;
            depth--;
        } else {
            return false;
        }
    }
    return false;
}

// A ring over the same members in links that no ring uses; false where the search found none.
static bool seek_ring(struct weft_ring *made, const struct changing *changing,
                      const struct weft_ring *ring, struct weft_arena scratch)
{
    const struct weft_fabric *fabric = changing->change->fabric;
    uint32_t size = ring->member_count;
    uint32_t *order = WEFT_NEW(changing->arena, uint32_t, (size_t)size + 1);
    uint32_t *first = WEFT_NEW(changing->arena, uint32_t, (size_t)size + 1);
    uint32_t *links = WEFT_NEW(changing->arena, uint32_t, (size_t)size + 1);
    uint64_t *tried = WEFT_NEW(&scratch, uint64_t, (size_t)size + 1);
    struct walk walk = {
        .changing = changing,
        .ring = ring,
        .member = WEFT_NEW(&scratch, bool, (size_t)fabric->node_count + 1),
        .order = order,
    };
    if (size < 2 || !find_cycle(&walk, tried)) {
        return false;
    }
    for (uint32_t i = 0; i < size; i++) {
        links[i] = weft_fabric_find_link(fabric, order[i], order[(i + 1) % size]);
        first[i + 1] = i + 1;
    }
    *made = *ring;
    made->members = order;
    made->hop_first = first;
    made->hop_links = links;
    return true;
}

// ---- all ----

static uint32_t group_after(const struct lab_ring_change *change, uint32_t group)
{
    return change->group_of == NULL ? group : change->group_of[group];
}

// The rings of old group `old`, as group `group` of what is left; how many they are.
static uint32_t change_group(struct weft_ring *rings, struct changing *changing, uint32_t old,
                             uint32_t group, struct weft_arena scratch)
{
    const struct lab_ring_change *change = changing->change;
    const struct weft_ring_set *set = &change->old->rings;
    uint32_t *detours = WEFT_NEW(&scratch, uint32_t, (size_t)set->ring_count + 1);
    uint32_t count = 0;
    uint32_t whole = 0;
    uint32_t sum = 0;
    for (uint32_t r = 0; r < set->ring_count; r++) {
        if (set->rings[r].group == old) {
            detours[count] = carry_ring(&rings[count], changing, &set->rings[r]);
            rings[count].group = group;
            changing->counts.broken += detours[count] > 0;
            sum += detours[count];
            if (detours[count] == 0) {
                whole++;
                use_ring(changing, &rings[count]);
            }
            count++;
        }
    }
    if (change->choice == LAB_RINGS_AROUND || whole == count) {
        changing->counts.detours += sum;
        return count;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct weft_ring found;
        bool stays = detours[i] == 0;
        if (!stays && change->choice == LAB_RINGS_NEW &&
            seek_ring(&found, changing, &rings[i], scratch)) {
            rings[i] = found;
            use_ring(changing, &found);
            changing->counts.found++;
            stays = true;
        }
        if (stays) {
            rings[kept++] = rings[i];
        }
    }
    changing->counts.detours += kept > 0 ? 0 : sum;
    return kept > 0 ? kept : count; // all go round
}

static void share_alike(struct weft_ring *rings, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += rings[i].share_ratio;
    }
    for (uint32_t i = 0; i < count; i++) {
        rings[i].share_ratio /= sum;
    }
}

// All rings of what is left, sorted by their new groups. Where two groups have become the same, the
// first one's rings serve both.
void lab_change_rings(struct weft_ring_set *rings, struct lab_ring_counts *counts,
                      const struct lab_ring_change *change, struct weft_arena *arena,
                      struct weft_arena scratch)
{
    const struct weft_ring_set *set = &change->old->rings;
    struct changing changing = {
        .change = change,
        .arena = arena,
        .used = WEFT_NEW(&scratch, uint32_t, (size_t)change->fabric->link_count + 1),
    };
    struct weft_ring *made = WEFT_NEW(arena, struct weft_ring, (size_t)set->ring_count + 1);
    uint32_t count = 0;
    uint32_t group_end = 0;
    for (uint32_t r = 0; r < set->ring_count; r++) {
        uint32_t group = group_after(change, set->rings[r].group);
        group_end = group != WEFT_NONE && group >= group_end ? group + 1 : group_end;
    }
    // By their new groups; where two have become the same, the first one's.
    for (uint32_t g = 0; g < group_end; g++) {
        uint32_t r = 0;
        while (r < set->ring_count && group_after(change, set->rings[r].group) != g) {
            r++;
        }
        if (r < set->ring_count) {
            uint32_t size = change_group(made + count, &changing, set->rings[r].group, g, scratch);
            share_alike(made + count, size);
            count += size;
        }
    }
    *rings = (struct weft_ring_set){count, made};
    *counts = changing.counts;
}
