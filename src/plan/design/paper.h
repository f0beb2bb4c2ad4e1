// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_DESIGN_PAPER_H
#define WEFT_PLAN_DESIGN_PAPER_H

// The paper's topology with its own rings and routes, as a network. Private to the plan room.
//
// "The paper" is TopoOpt (NSDI 2023); its TopologyFinder is in src/topology/topoopt.

#include "search.h"

// Path counts tried for its transfers while the effort lasts (docs/plan.md, "The paper's method").
#define PAPER_PATH_COUNTS 4u
static const uint32_t paper_path_counts[PAPER_PATH_COUNTS] = {1, 2, 4, 8};

// Whether the i-th of them is tried when those before took `spent` of `most` work units: each costs
// about as much more as the ones before it.
static inline bool paper_affords(uint32_t i, double spent, double most)
{
    return i == 0 || spent * (i + 2) / i <= most;
}

// The TopologyFinder's planes for the search's traffic. Fails as weft_topology_find does.
bool paper_topology(struct weft_topology *topology, const struct search *search,
                    struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
// Fabric and rings of that topology; routes come apart, as more than one sort is tried.
bool paper_fabric(struct weft_network *network, const struct weft_topology *topology,
                  const struct search *search, struct weft_arena *arena, struct weft_arena scratch,
                  struct weft_error *error) WEFT_MUST_USE;
// Its routes, with up to `paths` paths a pair. Fails as weft_topology_routes does.
bool paper_routes(struct weft_network *network, const struct weft_topology *topology,
                  const struct search *search, uint32_t paths,
                  const struct weft_environment *environment) WEFT_MUST_USE;
// All of it, with up to `paths` paths a pair. False where there is none.
bool paper_network(struct weft_network *network, struct weft_topology *topology,
                   const struct search *search, uint32_t paths, struct weft_arena *arena,
                   struct weft_arena scratch);

#endif
