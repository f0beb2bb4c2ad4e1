// SPDX-License-Identifier: Apache-2.0
// The links of a topology's fabric, without a fabric, and how a ring gets from one member to the
// next over them.
//
// A search asks for these thousands of times, so that it does not build a fabric (names, latencies,
// parts) for each: the same links under the same numbers, O(n d^2).

#include "internal.h"

#include <string.h>

void weft_topology_list_links(struct weft_topology_links *links, const uint32_t *planes,
                              uint32_t server_count, uint32_t degree, struct weft_arena *arena)
{
    size_t room = (size_t)server_count * degree;
    uint32_t *first = WEFT_NEW_RAW(arena, uint32_t, (size_t)server_count + 1);
    uint32_t *from = WEFT_NEW_RAW(arena, uint32_t, room);
    uint32_t *to = WEFT_NEW_RAW(arena, uint32_t, room);
    uint32_t *width = WEFT_NEW_RAW(arena, uint32_t, room);
    uint32_t count = 0;
    for (uint32_t v = 0; v < server_count; v++) {
        first[v] = count;
        for (uint32_t p = 0; p < degree; p++) {
            uint32_t head = planes[(size_t)p * server_count + v];
            uint32_t at = count;
            while (at > first[v] && to[at - 1] >= head) {
                at--;
            }
            if (head == v) {
                continue;
            }
            if (at < count && to[at] == head) {
                width[at]++;
                continue;
            }
            memmove(to + at + 1, to + at, (count - at) * sizeof *to);
            memmove(width + at + 1, width + at, (count - at) * sizeof *width);
            to[at] = head;
            width[at] = 1;
            from[count++] = v;
        }
    }
    first[server_count] = count;
    *links = (struct weft_topology_links){server_count, count, first, from, to, width};
}

uint32_t weft_topology_find_link(const struct weft_topology_links *links, uint32_t from,
                                 uint32_t to)
{
    for (uint32_t l = links->first[from]; l < links->first[from + 1]; l++) {
        if (links->to[l] == to) {
            return l;
        }
    }
    return WEFT_NONE;
}

uint32_t weft_topology_hop_path(uint32_t *path, const struct weft_priced_links *links,
                                uint32_t from, uint32_t to, struct weft_arena scratch)
{
    const struct weft_graph *graph = &links->graph;
    for (uint32_t l = graph->first[from]; l < graph->first[from + 1]; l++) {
        if (graph->heads[l] == to) {
            path[0] = l;
            return 1;
        }
    }
    double *distance = WEFT_NEW_RAW(&scratch, double, graph->node_count);
    uint32_t *last = WEFT_NEW_RAW(&scratch, uint32_t, graph->node_count);
    weft_graph_dijkstra(distance, last, graph, links->prices, from, scratch);
    uint32_t count = 0;
    for (uint32_t v = to; v != from; v = links->from[last[v]]) {
        WEFT_ASSERT(last[v] != WEFT_NONE && count < graph->node_count);
        path[count++] = last[v];
    }
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t link = path[i];
        path[i] = path[count - 1 - i];
        path[count - 1 - i] = link;
    }
    return count;
}
