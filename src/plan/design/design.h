// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_DESIGN_DESIGN_H
#define WEFT_PLAN_DESIGN_DESIGN_H

// Designs: what the planner searches among. Private to the plan room.
//
// A design is a list of parts over n servers: cycles over some servers, and matchings. A cycle
// takes two slots (both ways; simplex: one) and is a ring of its group each way it runs; a matching
// takes one slot. A slot is a plane; parts that share no server may share slots.

#include "weft/plan.h"

// A lent ring's hops pass about one server each: half as much to each link as a ring of its own.
#define DESIGN_LEND 0.5

struct part {
    bool is_cycle;
    uint32_t slot;   // its first plane
    uint32_t size;   // servers it covers
    uint32_t *order; // cycle: in order; matching: 2i with 2i+1, an odd last one stays dark
    uint32_t group;  // cycle: the traffic group whose ring it is, or WEFT_NONE
    double share[2]; // relative weight of its ring forward and back among its group's
    // cycle: the same of a ring that it lends, each way, to every other group that it holds; its
    // hops pass the servers between. 0 = none
    double lend;
};

struct design {
    uint32_t server_count;
    uint32_t degree;
    bool simplex;
    uint32_t part_count;
    struct part *parts;
    uint32_t paths; // that a transfer may be split over; 0 = what the search says
    // > 0: the paper's topology for the search's traffic, with its own rings and up to so many of
    // its paths a pair, of which the parts are the planes. A move makes it a design like any other.
    uint32_t paper_paths;
};

// A family: traffic groups that share no server, so that one slot pair holds a ring of each.
struct family {
    uint32_t group_count;
    const uint32_t *groups;
};
// A template: how many cycle layers of each family; matchings fill the other planes.
// The last one may hold none: a cycle through all servers that is no group's own, but lends.
#define FAMILIES_MAX 5
struct template
{
    uint32_t cycles[FAMILIES_MAX];
};

// The families worth trying: one around each of the traffic's largest groups, filled up greedily,
// and one of no group unless some group holds all servers. At most FAMILIES_MAX. O(groups *
// members).
uint32_t design_families(struct family *families, const struct weft_traffic *traffic,
                         struct weft_arena *arena, struct weft_arena scratch);
// All templates of `degree` planes over the families; at most `most`, those of more cycles first.
uint32_t design_templates(struct template *templates, uint32_t most, uint32_t family_count,
                          uint32_t degree, bool simplex);
// A design of this template: cycles in an order that puts transfers on them, matchings by weight
// with the demand of matched pairs discounted, ties and starts drawn from rng. O(d n^3).
void design_build(struct design *design, const struct template *template,
                  const struct family *families, const struct weft_traffic *traffic,
                  uint32_t degree, bool simplex, struct weft_rng *rng, struct weft_arena *arena,
                  struct weft_arena scratch);
// The same parts in memory of its own.
struct design design_copy(const struct design *design, struct weft_arena *arena);
// Copies between two designs of one shape.
void design_assign(struct design *to, const struct design *from);
// Points each cycle of a design at the group of this traffic that has the same members; the paper's
// topology for another traffic becomes a design like any other.
void design_regroup(struct design *design, const struct weft_traffic *traffic,
                    struct weft_arena scratch);
// A topology as a design: cycles both ways (simplex: one way) and pairs of servers become parts.
// False, and there are none, when a plane holds anything else.
bool design_from_topology(struct design *design, const struct weft_topology *topology,
                          const struct weft_traffic *traffic, struct weft_arena *arena,
                          struct weft_arena scratch);
// Changes a random part a little: a cycle turns round a segment or moves a server, a matching swaps
// partners, a ring gets another share. False when nothing can change.
bool design_move(struct design *design, struct weft_rng *rng);

// planes[degree * n], as in struct weft_topology.
void design_planes(uint32_t *planes, const struct design *design);
// The links of the design as a fabric that forwards, its parts counted. Fails only as
// weft_fabric_build does.
bool design_fabric(struct weft_fabric *fabric, const struct design *design,
                   const struct weft_cluster *cluster, struct weft_arena *arena,
                   struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// The rings of every traffic group, by traffic group: its cycles, bound to their links; a group
// without cycles gets rings along the smallest cycle that holds it (else in ascending order), each
// hop on a shortest path. The fabric must be connected. O(groups * (n + members * hops)).
struct weft_ring_set design_rings(const struct design *design, const struct weft_traffic *traffic,
                                  const struct weft_fabric *fabric, struct weft_arena *arena,
                                  struct weft_arena scratch);

#endif
