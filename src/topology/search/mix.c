// SPDX-License-Identifier: Apache-2.0
// Mixed designs: families of groups, splits of the degree, states.
//
// The number of ports that rings and matchings get is the one choice that no move of a part can
// change, so that it is enumerated: all splits of the degree between the families and the rest, as
// many as the effort affords. Families are found greedily, from the group with most bytes on.
// Splits: O(product of (d / ring width + 1) over families).

#include "mix.h"

#include <math.h>
#include <string.h>

// Groups below this share of all bytes get a ring in the end but no say in the search. Not
// measured: each group that matters costs rings to charge at every step.
#define GROUP_SHARE_MIN 0.003
// A ring's share of its group's bytes moves in steps of 1/4 of the mean share.
#define RING_UNITS 4u

static bool overlap(const struct weft_traffic_group *a, const struct weft_traffic_group *b)
{
    uint32_t i = 0;
    uint32_t j = 0;
    while (i < a->member_count && j < b->member_count) {
        if (a->members[i] == b->members[j]) {
            return true;
        }
        if (a->members[i] < b->members[j]) {
            i++;
        } else {
            j++;
        }
    }
    return false;
}

// Collects the groups that match the first one in size and share no server with each other.
static void collect_family(struct weft_mix_space *space, uint32_t first, bool *taken,
                           const bool *matters, struct weft_arena *arena)
{
    const struct weft_traffic *traffic = space->traffic;
    uint32_t *groups = WEFT_NEW(arena, uint32_t, traffic->group_count);
    uint32_t count = 0;
    for (uint32_t g = first; g < traffic->group_count; g++) {
        bool fits = !taken[g] && matters[g] &&
                    traffic->groups[g].member_count == traffic->groups[first].member_count;
        for (uint32_t i = 0; i < count && fits; i++) {
            fits = !overlap(&traffic->groups[g], &traffic->groups[groups[i]]);
        }
        if (fits) {
            groups[count++] = g;
            taken[g] = true;
        }
    }
    uint32_t lane = space->family_count + 1;
    for (uint32_t i = 0; i < count; i++) {
        space->group_lane[groups[i]] = lane;
    }
    space->families[space->family_count++] =
        (struct weft_mix_family){count, groups, traffic->groups[first].member_count};
}

// Families come from the groups that matter, in the traffic's order, which is by falling bytes;
// what finds no family shares the last lane.
void weft_mix_space_init(struct weft_mix_space *space, const struct weft_traffic *traffic,
                         uint32_t degree, bool simplex, struct weft_arena *arena)
{
    uint32_t rings = simplex ? degree : degree / 2;
    *space = (struct weft_mix_space){
        .traffic = traffic,
        .n = traffic->server_count,
        .degree = degree,
        .simplex = simplex,
        .group_lane = WEFT_NEW(arena, uint32_t, traffic->group_count),
        .rings_a_group = rings > 0 ? rings : 1,
        .ring_units = RING_UNITS,
    };
    bool *taken = WEFT_NEW(arena, bool, traffic->group_count);
    bool *matters = WEFT_NEW(arena, bool, traffic->group_count);
    double total = traffic->transfer_total_bytes + traffic->allreduce_wire_bytes;
    for (uint32_t g = 0; g < traffic->group_count; g++) {
        matters[g] = traffic->groups[g].wire_bytes >= GROUP_SHARE_MIN * total;
        space->ring_count += matters[g] ? space->rings_a_group : 0;
        space->group_lane[g] = matters[g] ? WEFT_LOAD_LANES - 1 : 0;
    }
    for (uint32_t g = 0; g < traffic->group_count; g++) {
        if (matters[g] && !taken[g] && space->family_count < WEFT_MIX_FAMILY_MAX) {
            collect_family(space, g, taken, matters, arena);
        }
    }
}

// Ports of one dedicated ring: a pair of servers needs one cable.
static uint32_t ring_width(const struct weft_mix_space *space, uint32_t family)
{
    return space->simplex || space->families[family].member_count == 2 ? 1 : 2;
}

// Whether a split fits the degree and can connect everybody.
static bool is_possible(const struct weft_mix_space *space, const struct weft_mix_split *split)
{
    uint32_t used = 0;
    bool spans = space->n == 2;
    for (uint32_t f = 0; f < space->family_count; f++) {
        used += split->rings[f] * ring_width(space, f);
        spans = spans || (split->rings[f] > 0 && space->families[f].member_count == space->n);
    }
    if (used > space->degree) {
        return false;
    }
    uint32_t left = space->degree - used;
    if (split->cycles) {
        return space->n > 2 && left >= (space->simplex ? 1 : 2);
    }
    // Two matchings alone are short cycles that seldom join everybody.
    return spans || left > 2;
}

// The first split: every port to the largest groups.
static struct weft_mix_split first_split(const struct weft_mix_space *space)
{
    struct weft_mix_split split = {.cycles = false};
    if (space->family_count > 0) {
        split.rings[0] = space->degree / ring_width(space, 0);
    }
    return split;
}

// The next split: fewer and fewer rings of the first family, more and more of the others; false
// after the last.
static bool advance(const struct weft_mix_space *space, struct weft_mix_split *split)
{
    split->cycles = !split->cycles;
    if (split->cycles) {
        return true;
    }
    for (uint32_t f = space->family_count; f > 1; f--) {
        if (++split->rings[f - 1] * ring_width(space, f - 1) <= space->degree) {
            return true;
        }
        split->rings[f - 1] = 0;
    }
    if (split->rings[0] == 0) {
        return false;
    }
    split->rings[0]--;
    return true;
}

uint32_t weft_mix_list_splits(struct weft_mix_split *splits, uint32_t split_max,
                              const struct weft_mix_space *space)
{
    WEFT_ASSERT(split_max > 0);
    uint32_t total = 0;
    struct weft_mix_split split = first_split(space);
    do {
        total += is_possible(space, &split);
    } while (advance(space, &split));
    WEFT_ASSERT(total > 0);
    uint32_t kept = total < split_max ? total : split_max;
    uint32_t seen = 0;
    uint32_t count = 0;
    split = first_split(space);
    do {
        if (!is_possible(space, &split)) {
            continue;
        }
        // The i-th kept one is number i * total / kept.
        if (count < kept && seen == (uint64_t)count * total / kept) {
            splits[count++] = split;
        }
        seen++;
    } while (advance(space, &split));
    WEFT_ASSERT(count == kept);
    return count;
}

double weft_mix_unit_bytes(const struct weft_mix_space *space, uint32_t group)
{
    const struct weft_traffic_group *source = &space->traffic->groups[group];
    double units = (double)space->rings_a_group * space->ring_units;
    double directions = space->simplex ? 1 : 2;
    return floor(source->wire_bytes / source->member_count / units / directions);
}

// ---- states ----

struct builder {
    const struct weft_mix_space *space;
    struct weft_design *design;
    uint32_t slot;
    struct weft_arena *arena;
};

// Servers outside a family are matched among each other on its slots, which would stay dark.
static void fill_slots(struct builder *builder, const struct weft_mix_family *family,
                       uint32_t width)
{
    const struct weft_mix_space *space = builder->space;
    bool *inside = WEFT_NEW(builder->arena, bool, space->n);
    for (uint32_t i = 0; i < family->group_count; i++) {
        const struct weft_traffic_group *group = &space->traffic->groups[family->groups[i]];
        for (uint32_t j = 0; j < group->member_count; j++) {
            inside[group->members[j]] = true;
        }
    }
    uint32_t *outside = WEFT_NEW(builder->arena, uint32_t, space->n);
    uint32_t count = 0;
    for (uint32_t v = 0; v < space->n; v++) {
        if (!inside[v]) {
            outside[count++] = v;
        }
    }
    for (uint32_t p = 0; p < width && count >= 2; p++) {
        weft_design_add(builder->design, WEFT_PART_MATCHING, builder->slot + p, outside, count,
                        builder->arena);
    }
}

// The dedicated rings of a family, and the groups' rings that follow them.
static void add_family(struct builder *builder, struct weft_mix_state *state, uint32_t f,
                       uint32_t ring_count)
{
    const struct weft_mix_space *space = builder->space;
    const struct weft_mix_family *family = &space->families[f];
    uint32_t width = ring_width(space, f);
    enum weft_part_kind kind = space->simplex ? WEFT_PART_RING : WEFT_PART_CYCLE;
    kind = family->member_count == 2 ? WEFT_PART_MATCHING : kind;
    for (uint32_t r = 0; r < ring_count; r++) {
        for (uint32_t i = 0; i < family->group_count; i++) {
            const struct weft_traffic_group *group = &space->traffic->groups[family->groups[i]];
            uint32_t part = builder->design->part_count;
            weft_design_add(builder->design, kind, builder->slot, group->members,
                            group->member_count, builder->arena);
            for (uint32_t k = 0, nth = 0; k < space->ring_count; k++) {
                if (state->rings[k].group == family->groups[i] && nth++ == r) {
                    state->rings[k].part = part;
                }
            }
        }
        fill_slots(builder, family, width);
        builder->slot += width;
    }
}

// Every group's share goes to its dedicated rings, or evenly to its soft ones if it has none.
static void share_evenly(struct weft_mix_state *state, const struct weft_mix_space *space)
{
    uint32_t width = space->rings_a_group;
    for (uint32_t first = 0; first < space->ring_count; first += width) {
        uint32_t own = 0;
        for (uint32_t i = 0; i < width; i++) {
            own += state->rings[first + i].part != WEFT_NONE;
        }
        uint32_t takers = own > 0 ? own : width;
        uint32_t units = width * space->ring_units;
        uint32_t given = 0;
        for (uint32_t i = 0; i < takers; i++) { // dedicated rings stand first
            uint32_t upto = units * (i + 1) / takers;
            state->rings[first + i].units = upto - given;
            given = upto;
        }
    }
}

// A ring entry for each ring of every group that matters, all soft.
static void list_soft_rings(struct weft_mix_state *state, const struct weft_mix_space *space,
                            struct weft_arena *arena)
{
    const struct weft_traffic *traffic = space->traffic;
    state->rings = WEFT_NEW(arena, struct weft_mix_ring, space->ring_count);
    uint32_t count = 0;
    for (uint32_t g = 0; g < traffic->group_count; g++) {
        const struct weft_traffic_group *group = &traffic->groups[g];
        for (uint32_t i = 0; i < space->rings_a_group && space->group_lane[g] > 0; i++) {
            uint32_t *order = WEFT_NEW_RAW(arena, uint32_t, group->member_count);
            memcpy(order, group->members, group->member_count * sizeof *order);
            state->rings[count++] = (struct weft_mix_ring){.group = g,
                                                           .lane = space->group_lane[g],
                                                           .size = group->member_count,
                                                           .part = WEFT_NONE,
                                                           .order = order};
        }
    }
    WEFT_ASSERT(count == space->ring_count);
}

// The design of a split, its parts still in the order of their members: dedicated rings first, then
// cycles of no group if the split has them, and matchings on the planes left.
void weft_mix_state_init(struct weft_mix_state *state, const struct weft_mix_space *space,
                         const struct weft_mix_split *split, struct weft_arena *arena)
{
    state->design =
        weft_design_open(space->n, space->degree, 1, space->degree * (space->n + 1), arena);
    state->design.simplex = space->simplex;
    struct builder builder = {.space = space, .design = &state->design, .arena = arena};
    list_soft_rings(state, space, arena);
    for (uint32_t f = 0; f < space->family_count; f++) {
        add_family(&builder, state, f, split->rings[f]);
    }
    uint32_t ring_slots = builder.slot;
    enum weft_part_kind cycle = space->simplex ? WEFT_PART_RING : WEFT_PART_CYCLE;
    uint32_t width = weft_part_planes(cycle);
    while (split->cycles && builder.slot + width <= space->degree) {
        weft_design_add(&state->design, cycle, builder.slot, NULL, space->n, arena);
        builder.slot += width;
    }
    while (builder.slot < space->degree) {
        weft_design_add(&state->design, WEFT_PART_MATCHING, builder.slot++, NULL, space->n, arena);
    }
    share_evenly(state, space);
    state->ring_slots = ring_slots;
    weft_design_light(&state->design, arena);
    state->score = HUGE_VAL;
}

void weft_mix_tour(uint32_t *order, uint32_t size, const uint16_t *distance, uint32_t n,
                   struct weft_rng *rng)
{
    uint32_t start = rng == NULL ? 0 : weft_rng_below(rng, size);
    uint32_t swap = order[0];
    order[0] = order[start];
    order[start] = swap;
    for (uint32_t i = 1; i < size; i++) {
        const uint16_t *row = distance + (size_t)order[i - 1] * n;
        uint32_t best = i;
        uint32_t ties = 1;
        for (uint32_t j = i + 1; j < size; j++) {
            uint16_t here = row[order[j]];
            uint16_t least = row[order[best]];
            bool tie = here == least && rng != NULL && weft_rng_below(rng, ++ties) == 0;
            best = here < least || tie ? j : best;
            ties = here < least ? 1 : ties;
        }
        swap = order[i];
        order[i] = order[best];
        order[best] = swap;
    }
}

void weft_mix_state_clone(struct weft_mix_state *to, const struct weft_mix_state *from,
                          const struct weft_mix_space *space, struct weft_arena *arena)
{
    to->design = weft_design_copy(&from->design, arena);
    to->rings = WEFT_NEW_RAW(arena, struct weft_mix_ring, space->ring_count);
    to->ring_slots = from->ring_slots;
    to->score = from->score;
    for (uint32_t i = 0; i < space->ring_count; i++) {
        const struct weft_mix_ring *source = &from->rings[i];
        to->rings[i] = *source;
        to->rings[i].order = WEFT_NEW_RAW(arena, uint32_t, source->size);
        memcpy(to->rings[i].order, source->order, source->size * sizeof *source->order);
    }
}

void weft_mix_state_copy(struct weft_mix_state *to, const struct weft_mix_state *from,
                         const struct weft_mix_space *space)
{
    weft_design_assign(&to->design, &from->design);
    for (uint32_t i = 0; i < space->ring_count; i++) {
        to->rings[i].units = from->rings[i].units;
        memcpy(to->rings[i].order, from->rings[i].order,
               from->rings[i].size * sizeof *from->rings[i].order);
    }
    to->score = from->score;
}
