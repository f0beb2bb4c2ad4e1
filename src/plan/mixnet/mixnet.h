// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_MIXNET_MIXNET_H
#define WEFT_PLAN_MIXNET_MIXNET_H

// MixNet's planner among its own files; weft/plan/mixnet.h is what others see.
//
//   trace, predict, greedy ◄── faults ◄── replay ◄── iteration ◄── plan

#include "weft/plan/mixnet.h"

// The servers of a region, and a spare one where a GPU failed.
struct weft_mixnet_region {
    const struct weft_hybrid_exchange *exchange;
    const struct weft_expert_trace *trace;
    enum weft_mixnet_fault fault;
    uint32_t node_count;
    uint32_t per_server; // GPUs
};
// What they send each other for the loads of one layer of a step: bytes[node_count^2].
void weft_mixnet_demand(double *bytes, const double *loads, const struct weft_mixnet_region *region,
                        struct weft_arena scratch);
// The ports that they have left; as they are where nothing failed.
void weft_mixnet_set_ports(struct weft_split_options *split,
                           const struct weft_mixnet_region *region, struct weft_arena *arena);
// Ports that have another peer than before.
uint32_t weft_mixnet_moved(const uint32_t *before, const uint32_t *after, uint32_t n);

#endif
