// SPDX-License-Identifier: Apache-2.0
// A list of flows that folds (flows_fold.c) is played by its classes: each is one flow of the
// weight and the bytes of all of its flows, on links that are joined with their equals. A flow then
// ends with the last of the classes that its paths are in. O(flows) beside what the classes take.

#include "flows.h"

void flows_take_classes(struct flows_player *player, const struct flows_fold *fold,
                        struct weft_arena *arena)
{
    const struct weft_flow_list *flows = player->flows;
    uint32_t count = fold->class_count;
    uint32_t *from = WEFT_NEW_RAW(arena, uint32_t, count);
    uint32_t *to = WEFT_NEW_RAW(arena, uint32_t, count);
    uint64_t *size_bytes = WEFT_NEW_RAW(arena, uint64_t, count);
    uint64_t *start_ps = WEFT_NEW_RAW(arena, uint64_t, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t flow = fold->classes[i].flow;
        from[i] = flows->from[flow];
        to[i] = flows->to[flow];
        size_bytes[i] = flows->size_bytes[flow];
        start_ps[i] = flows->start_ps[flow];
    }
    struct weft_flow_list *classes = WEFT_NEW(arena, struct weft_flow_list, 1);
    *classes = (struct weft_flow_list){count, from, to, size_bytes, start_ps};
    player->flows = classes;
    player->fold = fold;
    player->end_ps = WEFT_NEW_RAW(arena, double, count);
    uint32_t hop_max = player->net.routes->hop_max;
    const struct weft_active_room room = {count + 1, count + 1, hop_max > 0 ? hop_max : 1};
    weft_simnet_init_joined(&player->net, fold->capacity_Bps, fold->joined_count, &room, arena);
}

bool flows_round_classes(struct weft_sim_result *result, uint64_t *completion_ps,
                         const struct flows_player *player, const struct weft_flow_list *flows,
                         struct weft_arena scratch, struct weft_error *error)
{
    const struct flows_fold *fold = player->fold;
    const struct weft_routes *routes = player->net.routes;
    uint64_t *class_end_ps = WEFT_NEW_RAW(&scratch, uint64_t, fold->class_count);
    for (uint32_t id = 0; id < fold->class_count; id++) {
        if (!weft_simnet_round_ps(&class_end_ps[id], player->end_ps[id], error)) {
            return weft_wrap(error, "flow %u", fold->classes[id].flow);
        }
        result->flow_count +=
            flows->size_bytes[fold->classes[id].flow] > 0 ? fold->classes[id].count : 0;
    }
    bool pick = routes->spread == WEFT_SPREAD_PICK;
    uint64_t part = 0;
    for (uint32_t i = 0; i < flows->count; i++) {
        uint64_t end_ps = flows->start_ps[i];
        if (flows->from[i] != flows->to[i]) {
            uint32_t count =
                pick ? 1 : weft_routes_path_count(routes, flows->from[i], flows->to[i]);
            for (uint64_t last = part + count; part < last; part++) {
                uint64_t part_end_ps = class_end_ps[fold->class_of[part]];
                end_ps = part_end_ps > end_ps ? part_end_ps : end_ps;
            }
        }
        result->end_ps = end_ps > result->end_ps ? end_ps : result->end_ps;
        if (completion_ps != NULL) {
            completion_ps[i] = end_ps;
        }
    }
    return true;
}
