// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_EXPORT_H
#define WEFT_FORMAT_EXPORT_H

// Exports of a plan for other programs: graphviz, optical switches, `ip`, Slurm, TopoOpt's tools
// (docs/exports.md).

#include "weft/base.h"
#include "weft/fabric.h"
#include "weft/format/fbuf.h"
#include "weft/plan.h"
#include "weft/topology.h"
#include "weft/workload.h"

WEFT_API_BEGIN

// The fabric for graphviz: servers on a circle, a color for each ring, other links dashed.
const char *weft_export_dot(const struct weft_plan *plan, struct weft_arena *arena);
// OCS cross-connects: plane,input_port,output_port,from,to a line; or JSON (weft.circuits/1).
const char *weft_export_circuits_csv(const struct weft_plan *plan, struct weft_arena *arena);
const char *weft_export_circuits_json(const struct weft_plan *plan, struct weft_arena *arena);
// scripts[s] is the `ip` script of server s: addresses, fixed neighbors, and weighted next hops
// for its own traffic and for what passes (weft_routing_next_hops). Fails with UNSUPPORTED beyond
// 65536 servers or 128 ports, and as weft_routing_next_hops does.
bool weft_export_ip_routes(const char *const **scripts, const struct weft_plan *plan,
                           struct weft_arena *arena, struct weft_arena scratch,
                           struct weft_error *error) WEFT_MUST_USE;
// topology.yaml of Slurm 25.05 and later: sets as a tree of switches, or without a nest the blocks.
// Servers count on from first_node, "node001" (or "node": node0). INPUT where that is no name.
bool weft_export_slurm(const char **text, const struct weft_nest *nest,
                       const struct weft_blocks *blocks, const char *first_node,
                       const struct weft_environment *environment) WEFT_MUST_USE;
// The task graph with the plan's topology, routes and rings inside. The format has one set of jumps
// for each ring size: where a group's rings are not circulant with equal shares, or differ from
// those of another group of its size, that size is left out and counted in *sizes_left_out; then,
// and where flows divide over paths, all rings stand in ring_words, so that weft_fbuf_network gives
// the plan's network. Fails with INPUT when graph and plan differ in servers or links in rate.
bool weft_export_fbuf(struct weft_fbuf *fbuf, uint32_t *sizes_left_out,
                      const struct weft_plan *plan, const struct weft_taskgraph *graph,
                      const struct weft_environment *environment) WEFT_MUST_USE;

WEFT_API_END

#endif
