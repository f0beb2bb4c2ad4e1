// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_SIMULATE_PATTERNS_H
#define WEFT_REQUEST_SIMULATE_PATTERNS_H

// Patterns of traffic ("permutation:10MB:1") as lists of flows.
//
// Networks are compared under synthetic traffic before there is a job: permutations, all-to-all,
// incast and Poisson arrivals are those of the datacenter literature (htsim, pFabric, NDP). Each is
// a function of its text and seed alone, so that two programs can play the same flows.

#include "weft/format.h"
#include "weft/sim.h"

// Who takes part: servers, or the accelerators of each, which are ranks then: rank i of server s is
// s * accelerators + i.
struct patterns_ranks {
    uint32_t servers;
    uint32_t accelerators; // 1: a rank is a server
    double server_rate_Bps;
    // The grid in which servers stand, the first side the fastest: of a torus; else one side. With
    // two ways round a side, collectives go both.
    uint32_t dimensions;
    uint32_t sides[3];
    uint32_t ways;
    // Orders of the servers in which neighbors are joined by links of their own, one behind the
    // other; lanes go along them in turn. 0: in the order of the grid.
    uint32_t cycle_count;
    const uint32_t *cycles;
};

// The flows of kinds that are no collective of task graphs, in order of start. ALLTOALL of
// accelerators goes by rails: first each gives those beside it what is for their rail, then, from
// inside_ps on, each sends to the others of its rail.
// PERMUTATION: a random cycle over all servers (Sattolo 1986), so that nobody sends
// to itself. POISSON: exponential gaps such that hosts together start load * n * rate bytes a
// second; exponential sizes of at least one byte; ordered pairs at random. Fails with INPUT when
// the flows are too many to count or the last would start after the longest time. O(flows).
bool patterns_build(struct weft_flow_list *flows, const struct weft_flows_spec *spec,
                    const struct patterns_ranks *ranks, uint64_t inside_ps,
                    struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// Whether such flows have a part inside servers, whose end decides when the rest begins.
bool patterns_have_inside(const struct weft_flows_spec *spec, const struct patterns_ranks *ranks);
// That part alone.
bool patterns_build_inside(struct weft_flow_list *flows, const struct weft_flows_spec *spec,
                           const struct patterns_ranks *ranks, struct weft_arena *arena,
                           struct weft_error *error) WEFT_MUST_USE;

#endif
