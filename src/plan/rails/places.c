// SPDX-License-Identifier: Apache-2.0
// Which of a server's rails a task uses.
//
// A place is one of the groups of accelerators in a server with a device of their own. Transfers
// leave from the place of the device before them; a collective has the places of the devices that
// it waits for or, where it waits for none, of those that wait for it. O(tasks + edges).

#include "rails.h"

void rail_places_find(struct rail_places *places, const struct weft_taskgraph *graph,
                      uint32_t count, struct weft_arena *arena, struct weft_arena scratch)
{
    uint32_t *devices = WEFT_NEW(&scratch, uint32_t, graph->server_count);
    uint32_t *place = WEFT_NEW(arena, uint32_t, (size_t)graph->device_count + 1);
    *places = (struct rail_places){
        .count = count,
        .of_device = place,
        .before = WEFT_NEW(arena, uint64_t, (size_t)graph->task_count + 1),
        .behind = WEFT_NEW(arena, uint64_t, (size_t)graph->task_count + 1),
    };
    for (uint32_t d = 0; d < graph->device_count; d++) {
        place[d] = devices[graph->device_server[d]]++;
    }
    for (uint32_t d = 0; d < graph->device_count; d++) {
        uint64_t all = devices[graph->device_server[d]];
        place[d] = (uint32_t)(place[d] * (uint64_t)count / all);
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        uint64_t own = graph->device[t] == WEFT_NONE ? 0 : 1ull << place[graph->device[t]];
        for (uint32_t e = graph->next_first[t]; e < graph->next_first[t + 1]; e++) {
            uint32_t next = graph->next[e];
            places->before[next] |= own;
            if (graph->device[next] != WEFT_NONE) {
                places->behind[t] |= 1ull << place[graph->device[next]];
            }
        }
    }
}

uint64_t rail_places_of(const struct rail_places *places, uint32_t task)
{
    uint64_t some = places->before[task] != 0 ? places->before[task] : places->behind[task];
    uint64_t all = places->count == RAIL_PLACES_MAX ? ~0ull : (1ull << places->count) - 1;
    return some != 0 ? some : all;
}
