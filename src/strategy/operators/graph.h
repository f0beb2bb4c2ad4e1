// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_STRATEGY_OPERATORS_GRAPH_H
#define WEFT_STRATEGY_OPERATORS_GRAPH_H

// The task graph and memory of a strategy of the operators space, and what both and the search have
// in common: the checks of a strategy, bytes of shards, time inside the servers. Private to the
// strategy room.

#include "weft/strategy.h"

// Refuses what no task graph can be made of: another number of servers, parts that do not divide
// the batch or the operator, servers that do not exist, more pairs of parts than can be looked at
// (2^28). Names the operator. O(parts).
bool weft_operators_check(const struct weft_strategy *strategy, const struct weft_model *model,
                          const struct weft_cluster *cluster, struct weft_error *error)
    WEFT_MUST_USE;
// weft_strategy_taskgraph of the operators space.
bool weft_operators_taskgraph(struct weft_taskgraph *graph, const struct weft_strategy *strategy,
                              const struct weft_study *study, struct weft_arena *arena,
                              struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// weft_strategy_memory of the operators space.
bool weft_operators_memory(struct weft_strategy *strategy, const struct weft_study *study,
                           struct weft_arena *arena, struct weft_arena scratch,
                           struct weft_error *error) WEFT_MUST_USE;

// Bytes of one shard of a parameter tensor that `parameter_parts` parts share.
uint64_t weft_operators_shard_bytes(const struct weft_operator *op, uint32_t tensor,
                                    uint32_t parameter_parts);
// Time inside the servers before an AllReduce of so many bytes of this operator.
uint64_t weft_operators_inside_ps(const struct weft_operator *op, uint64_t size_bytes,
                                  const struct weft_strategy_setting *setting);

#endif
