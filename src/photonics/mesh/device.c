// SPDX-License-Identifier: Apache-2.0
// A mesh as a switch under circuits: what each circuit loses by its actual route, which circuits a
// change leaves dark, and rounds as a schedule of one plane.

#include "weft/photonics/mesh.h"

bool weft_mesh_check_losses(double *switch_db, const struct weft_mesh_setting *setting,
                            const struct weft_mesh_light *light,
                            const struct weft_circuit_losses *losses, struct weft_error *error)
{
    WEFT_ASSERT(setting->answer == WEFT_MESH_ROUTED);
    for (uint32_t r = 0; r < setting->route_count; r++) {
        switch_db[r] = weft_mesh_loss_db(light, setting->routes[r].length);
    }
    for (uint32_t r = 0; r < setting->route_count && losses != NULL; r++) {
        struct weft_circuit_losses own = *losses;
        own.switch_db = &switch_db[r];
        if (!weft_circuit_check_loss(&own, 0, setting->routes[r].from, setting->routes[r].to,
                                     error)) {
            return false;
        }
    }
    return true;
}

void weft_mesh_compare(struct weft_mesh_change *change, const struct weft_mesh *mesh,
                       const struct weft_mesh_setting *before,
                       const struct weft_mesh_setting *after)
{
    struct weft_mesh_change found = {0};
    for (uint32_t e = 0; e < mesh->cell_count; e++) {
        found.toggled += before->cells[e] != after->cells[e];
    }
    for (uint32_t i = 0; i < after->route_count; i++) {
        const struct weft_mesh_route *route = &after->routes[i];
        bool paired = false;
        for (uint32_t j = 0; j < before->route_count; j++) {
            const struct weft_mesh_route *old = &before->routes[j];
            paired = paired || (old->from == route->from && old->to == route->to) ||
                     (old->from == route->to && old->to == route->from);
        }
        bool still = true;
        for (uint32_t c = 0; c < route->length; c++) {
            uint32_t e = route->stubs[c] / 4;
            still = still && after->cells[e] == before->cells[e];
        }
        found.kept += paired && still;
        found.disturbed += paired && !still;
        found.made += !paired;
    }
    *change = found;
}

void weft_mesh_schedule(struct weft_circuit_schedule *schedule, const uint32_t *ports,
                        uint32_t port_count, const struct weft_mesh_setting *settings,
                        uint32_t round_count, uint64_t hold_ps,
                        const struct weft_circuit_delays *delays, struct weft_arena *arena)
{
    uint32_t all = 0;
    for (uint32_t i = 0; i < port_count; i++) {
        all = ports[i] >= all ? ports[i] + 1 : all;
    }
    uint32_t *nodes = WEFT_NEW(arena, uint32_t, all);
    for (uint32_t i = 0; i < port_count; i++) {
        nodes[ports[i]] = i;
    }
    struct weft_circuit_change *changes = WEFT_NEW(arena, struct weft_circuit_change, round_count);
    uint64_t change_ps = delays->command_ps + delays->dark_ps + delays->retrain_ps;
    for (uint32_t r = 0; r < round_count; r++) {
        uint32_t *peers = WEFT_NEW(arena, uint32_t, port_count);
        for (uint32_t i = 0; i < port_count; i++) {
            peers[i] = i;
        }
        for (uint32_t i = 0; i < settings[r].route_count; i++) {
            uint32_t from = nodes[settings[r].routes[i].from];
            uint32_t to = nodes[settings[r].routes[i].to];
            peers[from] = to;
            peers[to] = from;
        }
        uint64_t start_ps = r == 0 ? 0 : r * (hold_ps + change_ps) - change_ps;
        changes[r] = (struct weft_circuit_change){start_ps, 0, peers};
    }
    *schedule = (struct weft_circuit_schedule){
        .node_count = port_count,
        .plane_count = 1,
        .first = changes[0].peers,
        .change_count = round_count - 1,
        .changes = changes + 1,
        .delays = *delays,
        .end_ps = round_count * (hold_ps + change_ps) - change_ps,
    };
}
