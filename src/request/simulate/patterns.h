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

// The flows of every kind but ALLREDUCE, in order of start, on `server_count` >= 2 hosts of
// host_rate_Bps. PERMUTATION: a random cycle over all servers (Sattolo 1986), so that nobody sends
// to itself. POISSON: exponential gaps such that hosts together start load * n * rate bytes a
// second; exponential sizes of at least one byte; ordered pairs at random. Fails with INPUT when
// the flows are too many to count or the last would start after the longest time. O(flows).
bool patterns_build(struct weft_flow_list *flows, const struct weft_flows_spec *spec,
                    uint32_t server_count, double host_rate_Bps, struct weft_arena *arena,
                    struct weft_error *error) WEFT_MUST_USE;
// A task graph of one AllReduce over all servers in ascending order.
bool patterns_build_allreduce(struct weft_taskgraph *graph, uint64_t size_bytes,
                              uint32_t server_count, struct weft_arena *arena,
                              struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

#endif
