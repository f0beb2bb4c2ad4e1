// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_DESIGN_TEMPLATES_H
#define WEFT_PLAN_DESIGN_TEMPLATES_H

// Where the search over designs begins: how the degree is split between the rings of traffic groups
// and matchings, and one design of each split. Private to the plan room.
//
// A design and its moves are weft/topology.h's; what is here is the choice that no move can change.

#include "weft/plan.h"

// The weight of a shared ring: its hops pass about one server each, so that it is half as much to
// each link as a ring of its own.
#define SHARED_RING_WEIGHT 0.5

// A family: traffic groups that share no server, so that one layer (a plane, or two both ways)
// holds a ring of each.
struct family {
    uint32_t group_count;
    const uint32_t *groups;
};
// The last one may hold none: a cycle through all servers that is no group's own, but shared.
#define FAMILIES_MAX 5

// What templates are made of.
struct design_space {
    const struct weft_traffic *traffic;
    uint32_t degree;
    bool simplex;
    uint32_t family_count;
    struct family families[FAMILIES_MAX];
};
// A template: how many cycle layers of each family; matchings fill the other planes.
struct template
{
    uint32_t cycles[FAMILIES_MAX];
};

// The families worth trying: one around each of the traffic's largest groups, filled up greedily,
// and one of no group unless some group holds all servers. O(groups * members).
struct design_space design_space_build(const struct weft_traffic *traffic, uint32_t degree,
                                       bool simplex, struct weft_arena *arena,
                                       struct weft_arena scratch);
// All templates of a space, at most `most`, those of more cycles first. Returns their number.
uint32_t design_templates(struct template *templates, uint32_t most,
                          const struct design_space *space);
// A design of this template: cycles in an order that puts transfers on them, matchings by weight
// with the demand of matched pairs discounted, ties and starts drawn from rng. O(d n^3).
struct weft_design design_build(const struct template *template, const struct design_space *space,
                                struct weft_rng *rng, struct weft_arena *arena,
                                struct weft_arena scratch);

#endif
