// SPDX-License-Identifier: Apache-2.0
// What the routing methods share: lists of paths, the fabric as a graph, hops to a target.
//
// Lists grow by doubling in an arena, where the old copy stays behind: at most as much again.
// Hops come from one breadth-first search a target, around servers that do not forward.
// O(links) a target.

#include "internal.h"

#include <string.h>

static void *regrow(struct weft_arena *arena, const void *old, size_t count, size_t room,
                    size_t size)
{
    void *fresh = weft_arena_alloc_raw(arena, room, size);
    if (count > 0) {
        memcpy(fresh, old, count * size);
    }
    return fresh;
}

void path_list_init(struct path_list *list, struct weft_arena *arena)
{
    *list = (struct path_list){.arena = arena, .room = 1024, .node_room = 4096};
    list->first = WEFT_NEW(arena, uint32_t, (size_t)list->room + 1);
    list->weights = WEFT_NEW_RAW(arena, double, list->room);
    list->nodes = WEFT_NEW_RAW(arena, uint32_t, list->node_room);
}

void path_list_node(struct path_list *list, uint32_t node)
{
    uint32_t end = list->first[list->count];
    if (end == list->node_room) {
        WEFT_ASSERT(list->node_room <= UINT32_MAX / 2);
        list->nodes =
            regrow(list->arena, list->nodes, end, (size_t)list->node_room * 2, sizeof *list->nodes);
        list->node_room *= 2;
    }
    list->nodes[end] = node;
    list->first[list->count] = end + 1;
}

void path_list_start(struct path_list *list, uint32_t source, double weight)
{
    if (list->count == list->room) {
        WEFT_ASSERT(list->room <= UINT32_MAX / 2);
        size_t room = (size_t)list->room * 2;
        list->first =
            regrow(list->arena, list->first, list->count + 1, room + 1, sizeof *list->first);
        list->weights =
            regrow(list->arena, list->weights, list->count, room, sizeof *list->weights);
        list->room = (uint32_t)room;
    }
    list->weights[list->count] = weight;
    list->count++;
    list->first[list->count] = list->first[list->count - 1];
    path_list_node(list, source);
}

bool path_list_build(struct weft_routes *routes, const struct path_list *list,
                     const struct weft_fabric *fabric, struct weft_arena *arena,
                     struct weft_arena scratch, struct weft_error *error)
{
    return weft_routes_build_table(routes, fabric,
                                   &(struct weft_route_table){list->count, list->first, list->nodes,
                                                              list->weights,
                                                              !routes_all_pairs(fabric)},
                                   arena, scratch, error);
}

void fabric_graph(struct weft_graph *graph, const struct weft_fabric *fabric,
                  struct weft_arena *arena)
{
    uint32_t *heads = WEFT_NEW_RAW(arena, uint32_t, fabric->link_count);
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        heads[l] = fabric->links[l].to;
    }
    *graph = (struct weft_graph){fabric->node_count, fabric->link_count, fabric->first, heads};
}

bool fabric_no_path(const struct weft_fabric *fabric, uint32_t from, uint32_t to,
                    struct weft_error *error)
{
    return weft_fail(error, WEFT_INFEASIBLE,
                     "no path from server %u to server %u in fabric '%.64s'", from, to,
                     fabric->name);
}

void hops_to_target(uint32_t *hops, const struct weft_fabric *fabric,
                    const struct weft_graph *reverse, uint32_t target, struct weft_arena scratch)
{
    uint32_t n = fabric->node_count;
    uint32_t *queue = WEFT_NEW_RAW(&scratch, uint32_t, n);
    memset(hops, 0xff, n * sizeof *hops);
    hops[target] = 0;
    queue[0] = target;
    uint32_t filled = 1;
    for (uint32_t i = 0; i < filled; i++) {
        uint32_t v = queue[i];
        if (v != target && !fabric_relays(fabric, v)) {
            continue; // it reaches the target, but nothing goes through it
        }
        for (uint32_t a = reverse->first[v]; a < reverse->first[v + 1]; a++) {
            uint32_t before = reverse->heads[a];
            if (hops[before] == WEFT_NONE) {
                hops[before] = hops[v] + 1;
                queue[filled++] = before;
            }
        }
    }
}
