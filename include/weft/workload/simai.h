// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_WORKLOAD_SIMAI_H
#define WEFT_WORKLOAD_SIMAI_H

// Workloads of SimAI and of ASTRA-sim's first version (aliyun/SimAI,
// astra-sim-alibabacloud/astra-sim/workload/Workload.cc): what one rank computes and communicates,
// layer by layer, the same for all ranks.
//
//   weft/format/simai.h ──► [workload ──► task graph] ──► sim

#include "weft/workload.h"

WEFT_API_BEGIN

enum weft_simai_policy {
    WEFT_SIMAI_TRANSFORMER, // forward, then per layer input gradient, weight gradient
    WEFT_SIMAI_DATA,        // forward, then per layer weight gradient, input gradient
    WEFT_SIMAI_MICRO,       // the collectives of the lines, one after another, over all ranks
};

enum weft_simai_collective {
    WEFT_SIMAI_NONE,
    WEFT_SIMAI_ALLREDUCE,
    WEFT_SIMAI_ALL_GATHER,
    WEFT_SIMAI_REDUCE_SCATTER,
    WEFT_SIMAI_ALL_TO_ALL, // size_bytes of each rank, a share of them to each other
    WEFT_SIMAI_BROADCAST,
};

// Who takes part, by rank r of n with tp, pp, ep as below and t = r / tp.
enum weft_simai_group {
    WEFT_SIMAI_TP,    // the tp ranks with the same t
    WEFT_SIMAI_DP,    // those with the same r mod tp * pp
    WEFT_SIMAI_EP,    // of ep neighbors t the same place in each
    WEFT_SIMAI_DP_EP, // the same places of such neighborhoods
    WEFT_SIMAI_GROUP_COUNT,
};

struct weft_simai_step {
    uint64_t compute_ns;
    enum weft_simai_collective collective; // behind it
    enum weft_simai_group group;
    uint64_t size_bytes;
};

enum { WEFT_SIMAI_FORWARD, WEFT_SIMAI_INPUT, WEFT_SIMAI_WEIGHT, WEFT_SIMAI_STEPS };
struct weft_simai_layer {
    struct weft_simai_step steps[WEFT_SIMAI_STEPS];
    uint64_t update_ns; // behind each of its collectives
};

struct weft_simai {
    enum weft_simai_policy policy;
    uint32_t tp;
    uint32_t ep;
    uint32_t pp;
    uint32_t rank_count;      // 0 = the file does not say
    uint32_t layer_count;     // at least 1
    uint32_t broadcast_count; // steps that are BROADCAST
    const struct weft_simai_layer *layers;
};

// A task graph of rank_count servers, one for each rank: every rank plays all layers, waits for the
// collectives of forward and input gradients, and not for those of weights. A broadcast is an
// AllReduce of half its bytes, as many on the wire. As in SimAI nothing is sent between pipeline
// stages. Fails with INPUT where tp * pp * ep do not divide the ranks, or tasks are more than 2^24.
// O(ranks * layers + edges).
bool weft_simai_lower(struct weft_taskgraph *graph, const struct weft_simai *workload,
                      uint32_t rank_count, struct weft_arena *arena, struct weft_arena scratch,
                      struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
