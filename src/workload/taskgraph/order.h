// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_WORKLOAD_TASKGRAPH_ORDER_H
#define WEFT_WORKLOAD_TASKGRAPH_ORDER_H

// Topological order inside the room, where a graph may still turn out to be cyclic.
//
// weft_taskgraph_order is the public form, for graphs that were built and so have no cycle.

#include "weft/workload.h"

// Places every task that no cycle holds back into order[] and returns their number; waiting[t] is
// left at the number of predecessors of t that were not placed. O(tasks + edges).
uint32_t weft_taskgraph_kahn(const struct weft_taskgraph *graph, uint32_t *order,
                             uint32_t *waiting);

#endif
