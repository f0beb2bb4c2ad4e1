// SPDX-License-Identifier: Apache-2.0
// "weft.optics-mesh-route/1" and "weft.optics-mesh-trace/1". docs/photonic-mesh.md says what each
// key means.

#include "request/json/json.h"
#include "weft/request/mesh.h"

static void set_mesh(json_t *object, const struct weft_mesh *mesh)
{
    weft_set_count(object, "rows", mesh->rows);
    weft_set_count(object, "columns", mesh->columns);
    weft_set_count(object, "cells", mesh->cell_count);
    weft_set_count(object, "ports", mesh->port_count);
}

const char *weft_request_mesh_trace_json(const struct weft_mesh_trace_result *result,
                                         struct weft_arena *arena)
{
    json_t *object = weft_set_object("weft.optics-mesh-trace/1");
    set_mesh(object, &result->mesh);
    weft_set_count(object, "cross", result->cross_count);
    weft_set_count(object, "loops", result->loop_count);
    json_t *pairs = weft_set_list(object, "pairs");
    json_t *lengths = weft_set_list(object, "lengths");
    for (uint32_t p = 0; p < result->mesh.port_count; p++) {
        if (p < result->peers[p]) {
            json_array_append_new(pairs, weft_counts((uint32_t[]){p, result->peers[p]}, 2));
            json_array_append_new(lengths, json_integer(result->lengths[p]));
        }
    }
    return weft_set_finish(object, arena);
}

static void set_round(json_t *rounds, const struct weft_mesh_route_result *result,
                      const struct weft_mesh_route_request *request,
                      const struct weft_mesh_round *round, struct weft_arena *arena)
{
    const struct weft_mesh_setting *setting = &round->setting;
    json_t *item = json_object();
    weft_set_count(item, "round", round->index);
    weft_set_text(item, "cells", weft_mesh_show(&result->mesh, setting->cells, arena));
    weft_set_count(item, "worst", setting->worst);
    weft_set_real(item, "mean", (double)setting->total / setting->route_count);
    weft_set_count(item, "toggled", round->toggled);
    weft_set_count(item, "kept", round->change.kept);
    weft_set_count(item, "disturbed", round->change.disturbed);
    weft_set_text(item, "by", setting->solved ? "solver" : "router");
    if (request->budget_db > 0) {
        weft_set_count(item, "over_budget", round->over);
    }
    json_t *routes = weft_set_list(item, "routes");
    for (uint32_t i = 0; i < setting->route_count; i++) {
        const struct weft_mesh_route *route = &setting->routes[i];
        json_t *entry = json_object();
        weft_set_count(entry, "from", route->from);
        weft_set_count(entry, "to", route->to);
        weft_set_count(entry, "length", route->length);
        weft_set_real(entry, "loss_db", round->loss_db[i]);
        if (request->light.crosstalk_db > 0) {
            weft_set_real(entry, "signal_to_crosstalk_db", round->crosstalk_db[i]);
        }
        json_array_append_new(routes, entry);
    }
    json_array_append_new(rounds, item);
}

const char *weft_request_mesh_route_json(const struct weft_mesh_route_result *result,
                                         const struct weft_mesh_route_request *request,
                                         struct weft_arena *arena)
{
    json_t *object = weft_set_object("weft.optics-mesh-route/1");
    weft_set_count(object, "rows", result->mesh.rows);
    weft_set_count(object, "columns", result->mesh.columns);
    weft_set_count(object, "cells", result->mesh.cell_count);
    weft_set_counts(object, "ports", result->ports, result->port_count);
    weft_set_truth(object, "chosen", result->chosen);
    weft_set_count(object, "round_count", result->round_count);
    weft_set_count(object, "worst", result->worst);
    weft_set_real(object, "mean", result->mean);
    weft_set_count(object, "solved", result->solved);
    weft_set_real(object, "dark_s", weft_seconds(request->change_ps));
    if (request->budget_db > 0) {
        weft_set_real(object, "budget_db", request->budget_db);
        weft_set_count(object, "over_budget", result->over);
    }
    json_t *rounds = weft_set_list(object, "rounds");
    for (uint32_t r = 0; r < result->round_count; r++) {
        set_round(rounds, result, request, &result->rounds[r], arena);
    }
    return weft_set_finish(object, arena);
}
