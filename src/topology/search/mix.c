// SPDX-License-Identifier: Apache-2.0
// Mixed wirings: families of groups, splits of the degree, states.

#include "mix.h"

#include <math.h>
#include <string.h>

// Groups below this share of the wire bytes get a ring in the end but no say in the search.
#define GROUP_SHARE_MIN 0.003
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
static void collect_family(struct weft_mix_problem *problem, uint32_t first, bool *taken,
                           const bool *matters, struct weft_arena *arena)
{
    const struct weft_traffic *traffic = problem->traffic;
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
    uint32_t lane = problem->family_count + 1;
    for (uint32_t i = 0; i < count; i++) {
        problem->group_lane[groups[i]] = lane;
    }
    problem->families[problem->family_count++] =
        (struct weft_mix_family){count, groups, traffic->groups[first].member_count};
}

void weft_mix_problem_init(struct weft_mix_problem *problem, const struct weft_traffic *traffic,
                           uint32_t degree, bool simplex, struct weft_arena *arena)
{
    uint32_t rings = simplex ? degree : degree / 2;
    *problem = (struct weft_mix_problem){
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
        problem->ring_count += matters[g] ? problem->rings_a_group : 0;
        problem->group_lane[g] = matters[g] ? WEFT_LOAD_LANES - 1 : 0;
    }
    for (uint32_t g = 0; g < traffic->group_count; g++) {
        if (matters[g] && !taken[g] && problem->family_count < WEFT_MIX_FAMILY_MAX) {
            collect_family(problem, g, taken, matters, arena);
        }
    }
}

// Interfaces of one dedicated ring: a pair of servers needs one cable.
static uint32_t ring_width(const struct weft_mix_problem *problem, uint32_t family)
{
    return problem->simplex || problem->families[family].member_count == 2 ? 1 : 2;
}

// Whether a split fits the degree and can connect everybody.
static bool is_possible(const struct weft_mix_problem *problem, const struct weft_mix_split *split)
{
    uint32_t used = 0;
    bool spans = problem->n == 2;
    for (uint32_t f = 0; f < problem->family_count; f++) {
        used += split->rings[f] * ring_width(problem, f);
        spans = spans || (split->rings[f] > 0 && problem->families[f].member_count == problem->n);
    }
    if (used > problem->degree) {
        return false;
    }
    uint32_t left = problem->degree - used;
    if (split->cycles) {
        return problem->n > 2 && left >= (problem->simplex ? 1 : 2);
    }
    // Two matchings alone are short cycles that seldom join everybody.
    return spans || left > 2;
}

// The first split: every interface to the largest groups.
static struct weft_mix_split first_split(const struct weft_mix_problem *problem)
{
    struct weft_mix_split split = {.cycles = false};
    if (problem->family_count > 0) {
        split.rings[0] = problem->degree / ring_width(problem, 0);
    }
    return split;
}

// The next split: fewer and fewer rings of the first family, more and more of the others; false
// after the last.
static bool advance(const struct weft_mix_problem *problem, struct weft_mix_split *split)
{
    split->cycles = !split->cycles;
    if (split->cycles) {
        return true;
    }
    for (uint32_t f = problem->family_count; f > 1; f--) {
        if (++split->rings[f - 1] * ring_width(problem, f - 1) <= problem->degree) {
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
                              const struct weft_mix_problem *problem)
{
    WEFT_ASSERT(split_max > 0);
    uint32_t total = 0;
    struct weft_mix_split split = first_split(problem);
    do {
        total += is_possible(problem, &split);
    } while (advance(problem, &split));
    WEFT_ASSERT(total > 0);
    uint32_t kept = total < split_max ? total : split_max;
    uint32_t seen = 0;
    uint32_t count = 0;
    split = first_split(problem);
    do {
        if (!is_possible(problem, &split)) {
            continue;
        }
        // The i-th kept one is number i * total / kept.
        if (count < kept && seen == (uint64_t)count * total / kept) {
            splits[count++] = split;
        }
        seen++;
    } while (advance(problem, &split));
    WEFT_ASSERT(count == kept);
    return count;
}

double weft_mix_unit_bytes(const struct weft_mix_problem *problem, uint32_t group)
{
    const struct weft_traffic_group *source = &problem->traffic->groups[group];
    double units = (double)problem->rings_a_group * problem->ring_units;
    double ways = problem->simplex ? 1 : 2;
    return floor(source->wire_bytes / source->member_count / units / ways);
}

// ---- states ----

struct builder {
    const struct weft_mix_problem *problem;
    struct weft_part *parts;
    uint32_t part_count;
    uint32_t slot;
    struct weft_arena *arena;
};

static uint32_t add_part(struct builder *builder, enum weft_part_kind kind, uint32_t slot,
                         const uint32_t *members, uint32_t size)
{
    uint32_t *order = WEFT_NEW_RAW(builder->arena, uint32_t, size);
    for (uint32_t i = 0; i < size; i++) {
        order[i] = members == NULL ? i : members[i];
    }
    builder->parts[builder->part_count] =
        (struct weft_part){.kind = kind, .size = size, .order = order, .slot = slot};
    return builder->part_count++;
}

// Servers outside a family are matched among each other on its slots, which would stay dark.
static void fill_slots(struct builder *builder, const struct weft_mix_family *family,
                       uint32_t width)
{
    const struct weft_mix_problem *problem = builder->problem;
    bool *inside = WEFT_NEW(builder->arena, bool, problem->n);
    for (uint32_t i = 0; i < family->group_count; i++) {
        const struct weft_traffic_group *group = &problem->traffic->groups[family->groups[i]];
        for (uint32_t j = 0; j < group->member_count; j++) {
            inside[group->members[j]] = true;
        }
    }
    uint32_t *outside = WEFT_NEW(builder->arena, uint32_t, problem->n);
    uint32_t count = 0;
    for (uint32_t v = 0; v < problem->n; v++) {
        if (!inside[v]) {
            outside[count++] = v;
        }
    }
    for (uint32_t p = 0; p < width && count >= 2; p++) {
        add_part(builder, WEFT_PART_MATCHING, builder->slot + p, outside, count);
    }
}

// The dedicated rings of a family, and the groups' rings that follow them.
static void add_family(struct builder *builder, struct weft_mix_state *state, uint32_t f,
                       uint32_t ring_count)
{
    const struct weft_mix_problem *problem = builder->problem;
    const struct weft_mix_family *family = &problem->families[f];
    uint32_t width = ring_width(problem, f);
    enum weft_part_kind kind = problem->simplex ? WEFT_PART_RING : WEFT_PART_CYCLE;
    kind = family->member_count == 2 ? WEFT_PART_MATCHING : kind;
    for (uint32_t r = 0; r < ring_count; r++) {
        for (uint32_t i = 0; i < family->group_count; i++) {
            const struct weft_traffic_group *group = &problem->traffic->groups[family->groups[i]];
            uint32_t part =
                add_part(builder, kind, builder->slot, group->members, group->member_count);
            for (uint32_t k = 0, nth = 0; k < problem->ring_count; k++) {
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
static void share_evenly(struct weft_mix_state *state, const struct weft_mix_problem *problem)
{
    uint32_t width = problem->rings_a_group;
    for (uint32_t first = 0; first < problem->ring_count; first += width) {
        uint32_t own = 0;
        for (uint32_t i = 0; i < width; i++) {
            own += state->rings[first + i].part != WEFT_NONE;
        }
        uint32_t takers = own > 0 ? own : width;
        uint32_t units = width * problem->ring_units;
        uint32_t given = 0;
        for (uint32_t i = 0; i < takers; i++) { // dedicated rings stand first
            uint32_t upto = units * (i + 1) / takers;
            state->rings[first + i].units = upto - given;
            given = upto;
        }
    }
}

void weft_mix_state_init(struct weft_mix_state *state, const struct weft_mix_problem *problem,
                         const struct weft_mix_split *split, struct weft_arena *arena)
{
    const struct weft_traffic *traffic = problem->traffic;
    uint32_t room = problem->degree * (problem->n + 1);
    struct builder builder = {.problem = problem, .arena = arena};
    builder.parts = WEFT_NEW(arena, struct weft_part, room);
    state->rings = WEFT_NEW(arena, struct weft_mix_ring, problem->ring_count);
    uint32_t count = 0;
    for (uint32_t g = 0; g < traffic->group_count; g++) {
        const struct weft_traffic_group *group = &traffic->groups[g];
        for (uint32_t i = 0; i < problem->rings_a_group && problem->group_lane[g] > 0; i++) {
            uint32_t *order = WEFT_NEW_RAW(arena, uint32_t, group->member_count);
            memcpy(order, group->members, group->member_count * sizeof *order);
            state->rings[count++] = (struct weft_mix_ring){.group = g,
                                                           .lane = problem->group_lane[g],
                                                           .size = group->member_count,
                                                           .part = WEFT_NONE,
                                                           .order = order};
        }
    }
    WEFT_ASSERT(count == problem->ring_count);
    for (uint32_t f = 0; f < problem->family_count; f++) {
        add_family(&builder, state, f, split->rings[f]);
    }
    uint32_t ring_slots = builder.slot;
    enum weft_part_kind cycle = problem->simplex ? WEFT_PART_RING : WEFT_PART_CYCLE;
    uint32_t width = weft_part_slots(cycle);
    while (split->cycles && builder.slot + width <= problem->degree) {
        add_part(&builder, cycle, builder.slot, NULL, problem->n);
        builder.slot += width;
    }
    while (builder.slot < problem->degree) {
        add_part(&builder, WEFT_PART_MATCHING, builder.slot++, NULL, problem->n);
    }
    share_evenly(state, problem);
    state->ring_slots = ring_slots;
    weft_wiring_init(&state->wiring, problem->n, 1, builder.parts, builder.part_count, arena);
    WEFT_ASSERT(state->wiring.slot_count == problem->degree);
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
                          const struct weft_mix_problem *problem, struct weft_arena *arena)
{
    weft_wiring_clone(&to->wiring, &from->wiring, arena);
    to->rings = WEFT_NEW_RAW(arena, struct weft_mix_ring, problem->ring_count);
    to->ring_slots = from->ring_slots;
    to->score = from->score;
    for (uint32_t i = 0; i < problem->ring_count; i++) {
        const struct weft_mix_ring *source = &from->rings[i];
        to->rings[i] = *source;
        to->rings[i].order = WEFT_NEW_RAW(arena, uint32_t, source->size);
        memcpy(to->rings[i].order, source->order, source->size * sizeof *source->order);
    }
}

void weft_mix_state_copy(struct weft_mix_state *to, const struct weft_mix_state *from,
                         const struct weft_mix_problem *problem)
{
    weft_wiring_copy(&to->wiring, &from->wiring);
    for (uint32_t i = 0; i < problem->ring_count; i++) {
        to->rings[i].units = from->rings[i].units;
        memcpy(to->rings[i].order, from->rings[i].order,
               from->rings[i].size * sizeof *from->rings[i].order);
    }
    to->score = from->score;
}
