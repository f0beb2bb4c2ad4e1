// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TOPOLOGY_SEARCH_MIX_H
#define WEFT_TOPOLOGY_SEARCH_MIX_H

// Mixed designs: how many ports go to rings of which groups, how many to matchings, and the rings
// that use them. Private to the topology room; docs/weft-topology.md, "Mixed designs".
//
//   mix.c ─► mix_anneal.c ─► mix_search.c ─► mix_publish.c
//   space, splits, states    one chain       rounds of chains    topology and rings
//
// Groups that share no server and have one size form a family (the even and the odd servers, say).
// A split gives each family some dedicated rings and the rest to matchings; a group beyond its
// dedicated rings, or without, has soft rings: orders of its members whose hops take any path.

#include "load.h"
#include "topology/internal.h"
#include "weft/base.h"
#include "weft/topology.h"

#define WEFT_MIX_FAMILY_MAX 3u // with dedicated rings; lane 0 is the transfers'

struct weft_mix_family {
    uint32_t group_count;
    const uint32_t *groups; // traffic groups
    uint32_t member_count;
};

// A ring of a group in a state.
struct weft_mix_ring {
    uint32_t group;
    uint32_t lane;
    uint32_t size;
    uint32_t part;   // whose order it follows; WEFT_NONE = soft
    uint32_t units;  // its share, in units of the group's
    uint32_t *order; // members in ring order (soft)
};

// What is searched: the families of a traffic, and how their rings are counted.
struct weft_mix_space {
    const struct weft_traffic *traffic;
    uint32_t n;
    uint32_t degree;
    bool simplex;
    uint32_t family_count;
    struct weft_mix_family families[WEFT_MIX_FAMILY_MAX];
    uint32_t *group_lane;   // of every traffic group, 1 .. LANES-1; 0 = too small to matter
    uint32_t ring_count;    // of all groups that matter
    uint32_t rings_a_group; // each of them has this many
    uint32_t ring_units;    // shares of a group add to rings_a_group * ring_units
};

// Dedicated rings of each family. The ports left go to matchings, or to cycles through all
// servers that belong to no group.
struct weft_mix_split {
    uint32_t rings[WEFT_MIX_FAMILY_MAX];
    bool cycles;
};

struct weft_mix_state {
    struct weft_design design;
    struct weft_mix_ring *rings; // ring_count, those of a group together
    uint32_t ring_slots;         // ports of dedicated rings
    double score;
};

void weft_mix_space_init(struct weft_mix_space *space, const struct weft_traffic *traffic,
                         uint32_t degree, bool simplex, struct weft_arena *arena);
// Lists ways to split the degree that can connect all servers, at most split_max of them, evenly
// spread over all; returns their number, at least 1.
uint32_t weft_mix_list_splits(struct weft_mix_split *splits, uint32_t split_max,
                              const struct weft_mix_space *space);
void weft_mix_state_init(struct weft_mix_state *state, const struct weft_mix_space *space,
                         const struct weft_mix_split *split, struct weft_arena *arena);
void weft_mix_state_clone(struct weft_mix_state *to, const struct weft_mix_state *from,
                          const struct weft_mix_space *space, struct weft_arena *arena);
void weft_mix_state_copy(struct weft_mix_state *to, const struct weft_mix_state *from,
                         const struct weft_mix_space *space);
// The order a ring follows: its own or its part's.
static inline const uint32_t *weft_mix_order(const struct weft_mix_state *state,
                                             const struct weft_mix_ring *ring)
{
    return ring->part == WEFT_NONE ? ring->order : state->design.parts[ring->part].order;
}
// Bytes that one unit of a group's share puts on each hop, one way.
double weft_mix_unit_bytes(const struct weft_mix_space *space, uint32_t group);

// Orders members so that each is the nearest left of the one before, from order[0] on (rng: from a
// random one, ties at random). distance is n*n.
void weft_mix_tour(uint32_t *order, uint32_t size, const uint16_t *distance, uint32_t n,
                   struct weft_rng *rng);

struct weft_mix_chain {
    const struct weft_mix_space *space;
    struct weft_mix_state *state; // starts here, and ends at the best found
    bool fresh;                   // start from a random state, not from the given one
    double work_units;
    uint32_t steps_max;
    weft_stop stop;
    uint64_t steps; // answers
    bool stopped;
};
// Anneals one state by the score of its loads.
void weft_mix_anneal(struct weft_mix_chain *chain, struct weft_rng *rng, struct weft_arena scratch);

// The best states of a search, by rising score.
struct weft_mix_found {
    uint32_t count;
    struct weft_mix_state *states;
    uint64_t steps;
    bool stopped;
};
// Anneals every split and then the best ones longer, and keeps up to best_max states in the
// environment's arena. Effort is in work units, for all chains together.
void weft_mix_search(struct weft_mix_found *found, uint32_t best_max,
                     const struct weft_mix_space *space, double work_units,
                     const struct weft_environment *environment);

// ---- what comes out ----

// Planes, rings with their hops as links of the topology's fabric, metrics. busiest_bytes is the
// load of the busiest port when transfers spread over all shortest paths. False if the servers
// are not connected.
bool weft_mix_publish(struct weft_topology_candidate *candidate, const struct weft_mix_space *space,
                      const struct weft_mix_state *state, struct weft_arena *arena,
                      struct weft_arena scratch);

#endif
