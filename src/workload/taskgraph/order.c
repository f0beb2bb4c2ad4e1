// SPDX-License-Identifier: Apache-2.0
// Topological order: Kahn, "Topological sorting of large networks", CACM 1962.
//
// Tasks without predecessors begin in order of their indices, first in first out, so the order
// is the same everywhere. What a cycle holds back stays unplaced. O(tasks + edges).

#include "order.h"

#include <string.h>

uint32_t weft_taskgraph_kahn(const struct weft_taskgraph *graph, uint32_t *order, uint32_t *waiting)
{
    uint32_t placed = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        waiting[t] = graph->prev_count[t];
        if (waiting[t] == 0) {
            order[placed++] = t;
        }
    }
    for (uint32_t head = 0; head < placed; head++) { // order[] is its own queue
        weft_poll();
        uint32_t task = order[head];
        for (uint32_t e = graph->next_first[task]; e < graph->next_first[task + 1]; e++) {
            uint32_t next = graph->next[e];
            WEFT_ASSERT(waiting[next] > 0);
            if (--waiting[next] == 0) {
                order[placed++] = next;
            }
        }
    }
    return placed;
}

void weft_taskgraph_order(const struct weft_taskgraph *graph, uint32_t *order,
                          struct weft_arena scratch)
{
    uint32_t *waiting = WEFT_NEW_RAW(&scratch, uint32_t, graph->task_count);
    uint32_t placed = weft_taskgraph_kahn(graph, order, waiting);
    WEFT_ASSERT(placed == graph->task_count); // the builder refuses cycles
}
