// SPDX-License-Identifier: Apache-2.0
// "weft.photonic-place/1": appliances by place, demands with their shares, cost and its bound.

#include "request/json/json.h"
#include "weft/request/photonic_place.h"

static json_t *place_of(const struct weft_photonic_place_result *result, uint32_t p)
{
    uint32_t kind = result->placement.kinds[p];
    json_t *object = json_object();
    weft_set_count(object, "server", result->file.places[p]);
    weft_set_text(object, "appliance", kind == WEFT_NONE ? NULL : result->problem.kinds[kind].name);
    weft_set_real(object, "rho", result->placement.rhos[p]);
    return object;
}

static json_t *demand_of(const struct weft_photonic_place_result *result, uint32_t d)
{
    const struct weft_inference_demand *demand = &result->file.demands[d];
    json_t *object = json_object();
    weft_set_count(object, "server", demand->server);
    weft_set_text(object, "model", result->nets[demand->net].name);
    weft_set_real(object, "rate", demand->requests_per_s);
    weft_set_real(object, "objective_s", weft_seconds(demand->objective_ps));
    weft_set_real(object, "latency_s", result->placement.latencies_ns[d] * 1e-9);
    json_t *shares = weft_set_list(object, "shares");
    for (uint32_t p = 0; p < result->file.place_count; p++) {
        double share = result->placement.shares[(size_t)d * result->file.place_count + p];
        if (share > 0) {
            json_t *one = json_object();
            weft_set_count(one, "server", result->file.places[p]);
            weft_set_real(one, "share", share);
            json_array_append_new(shares, one);
        }
    }
    return object;
}

const char *weft_request_photonic_place_json(const struct weft_photonic_place_result *result,
                                             struct weft_arena *arena)
{
    const struct weft_serving_placement *placement = &result->placement;
    json_t *object = weft_set_object("weft.photonic-place/1");
    weft_set_text(object, "fabric", result->fabric);
    weft_set_count(object, "servers", result->server_count);
    weft_set_real(object, "rho_max", result->problem.rho_max);
    weft_set_real(object, "usd", placement->usd);
    weft_set_real(object, "watts", placement->watts);
    weft_set_real(object, "lower_bound_usd", placement->bound_usd);
    weft_set_truth(object, "proved", placement->proved);
    weft_set_count(object, "nodes", placement->nodes);
    json_t *places = weft_set_list(object, "places");
    for (uint32_t p = 0; p < result->file.place_count; p++) {
        json_array_append_new(places, place_of(result, p));
    }
    json_t *demands = weft_set_list(object, "demands");
    for (uint32_t d = 0; d < result->file.demand_count; d++) {
        json_array_append_new(demands, demand_of(result, d));
    }
    return weft_set_finish(object, arena);
}
