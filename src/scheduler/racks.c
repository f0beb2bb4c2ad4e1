// SPDX-License-Identifier: Apache-2.0
// Racks: servers whose first switch is the same, numbered in the order of their first servers.
// Placement by racks needs no more of a fabric's shape than this, which holds for trees of any
// tiers; servers joined directly to one another are one rack. O(nodes).

#include "state.h"

void sched_find_racks(struct sched *sched)
{
    const struct weft_fabric *fabric = sched->network == NULL ? NULL : &sched->network->fabric;
    uint32_t n = sched->servers.count;
    sched->servers.rack = WEFT_NEW(sched->arena, uint32_t, n);
    sched->servers.rack_count = 1;
    if (fabric == NULL || fabric->node_count == n) {
        return; // servers joined to one another: one rack
    }
    uint32_t switch_count = fabric->node_count - n;
    uint32_t *number = WEFT_NEW(sched->arena, uint32_t, switch_count);
    for (uint32_t i = 0; i < switch_count; i++) {
        number[i] = WEFT_NONE;
    }
    sched->servers.rack_count = 0;
    for (uint32_t v = 0; v < n; v++) {
        uint32_t node = fabric->links[fabric->first[v]].to;
        WEFT_ASSERT(fabric->first[v] < fabric->first[v + 1]);
        uint32_t *slot = &number[node < n ? 0 : node - n];
        if (*slot == WEFT_NONE) {
            *slot = sched->servers.rack_count++;
        }
        sched->servers.rack[v] = *slot;
    }
}
