// SPDX-License-Identifier: Apache-2.0
// "weft.optics-rack-place/1": docs/photonic-rack.md says what each key means.

#include "request/json/json.h"
#include "weft/request/rack.h"

static json_t *route_json(const struct weft_rack_route *route)
{
    json_t *row = json_object();
    weft_set_count(row, "from", route->from);
    weft_set_count(row, "to", route->to);
    weft_set_count(row, "circuits", route->circuits);
    weft_set_counts(row, "servers", route->servers, route->hops + 1);
    json_t *fibers = weft_set_list(row, "fibres");
    json_t *wavelengths = weft_set_list(row, "wavelengths");
    for (uint32_t h = 0; h < route->hops; h++) {
        size_t at = (size_t)h * route->circuits;
        json_array_append_new(fibers, weft_counts(route->fibers + at, route->circuits));
        json_array_append_new(wavelengths, weft_counts(route->wavelengths + at, route->circuits));
    }
    return row;
}

static json_t *slice_json(const struct weft_rack_slice *slice, const struct weft_rack *rack)
{
    json_t *row = json_object();
    double rates_Bps[3];
    double fixed_Bps[3];
    weft_set_text(row, "name", slice->name);
    weft_set_counts(row, "sides", slice->sides, 3);
    weft_set_counts(row, "chips", slice->chips, slice->chip_count);
    weft_set_truth(row, "contiguous", slice->contiguous);
    weft_set_counts(row, "unit", slice->unit, 3);
    weft_set_count(row, "lanes", slice->lanes);
    weft_set_count(row, "hops", slice->hops);
    weft_set_count(row, "route_load_max", slice->route_load_max);
    weft_set_count(row, "circuit_load_max", slice->load_max);
    weft_set_count(row, "fibre_load_max", slice->fiber_load_max);
    weft_set_count(row, "pieces", slice->pieces);
    json_t *bound = json_object();
    weft_set_count(bound, "circuit_load", slice->bound_load);
    weft_set_count(bound, "hops", slice->bound_hops);
    weft_set(row, "bound", bound);
    weft_set_truth(row, "proved", slice->proved);
    weft_set_count(row, "steps", slice->steps);
    weft_set_count(row, "moved_tenants", slice->moved_count);
    weft_set_count(row, "moved_chips", slice->moved_chips);
    weft_rack_slice_rates(rates_Bps, rack, slice, false);
    weft_rack_slice_rates(fixed_Bps, rack, slice, true);
    json_t *redirected = weft_set_list(row, "ring_rates_Bps");
    json_t *fixed = weft_set_list(row, "fixed_rates_Bps");
    for (uint32_t d = 0; d < 3; d++) {
        json_array_append_new(redirected, json_real(rates_Bps[d]));
        json_array_append_new(fixed, json_real(fixed_Bps[d]));
    }
    json_t *routes = weft_set_list(row, "routes");
    for (uint32_t r = 0; r < slice->route_count; r++) {
        json_array_append_new(routes, route_json(&slice->routes[r]));
    }
    return row;
}

static void set_requests(json_t *object, const struct weft_rack_place_result *result)
{
    json_t *slices = weft_set_list(object, "slices");
    json_t *rejected = weft_set_list(object, "rejected");
    for (uint32_t r = 0; r < result->requests.count; r++) {
        const struct weft_rack_slice *slice = &result->slices[r];
        if (slice->tenant != WEFT_NONE) {
            json_t *row = slice_json(slice, &result->rack);
            weft_set_truth(row, "holds", result->before.slices[r].tenant != WEFT_NONE);
            json_array_append_new(slices, row);
            continue;
        }
        json_t *row = json_object();
        weft_set_text(row, "name", slice->name);
        weft_set_counts(row, "sides", slice->sides, 3);
        weft_set_text(row, "reason", weft_rack_reason_name(slice->reason));
        weft_set_count(row, "largest", slice->largest);
        weft_set_truth(row, "proved", slice->proved);
        json_array_append_new(rejected, row);
    }
}

static void set_links(json_t *object, const struct weft_rack_place_result *result)
{
    json_t *links = weft_set_list(object, "links");
    for (uint32_t l = 0; l < result->rack.link_count; l++) {
        const struct weft_rack_link *link = &result->rack.links[l];
        if (result->after.fibers[l] > 0) {
            json_t *row = json_object();
            weft_set_count(row, "a", link->a);
            weft_set_count(row, "b", link->b);
            weft_set_count(row, "fibres", link->fibers);
            weft_set_count(row, "lit", result->after.fibers[l]);
            json_array_append_new(links, row);
        }
    }
}

static void set_repairs(json_t *object, const struct weft_rack_place_result *result)
{
    json_t *list = weft_set_list(object, "replaced");
    for (uint32_t i = 0; i < result->repair_count; i++) {
        const struct weft_rack_repair *repair = &result->repairs[i];
        json_t *row = slice_json(&repair->slice, &result->rack);
        weft_set_count(row, "lost", repair->lost_count);
        weft_set_text(row, "reason",
                      repair->replaced ? NULL : weft_rack_reason_name(repair->slice.reason));
        json_array_append_new(list, row);
    }
}

const char *weft_request_rack_place_json(const struct weft_rack_place_result *result,
                                         struct weft_arena *arena)
{
    const struct weft_rack *rack = &result->rack;
    json_t *object = weft_set_object("weft.optics-rack-place/1");
    weft_set_text(object, "rack", rack->name);
    weft_set_count(object, "servers", rack->server_count);
    weft_set_count(object, "chips", (uint64_t)rack->server_count * rack->chips_per_server);
    weft_set_text(object, "allocator", weft_rack_allocator_name(result->options.allocator));
    weft_set_count(object, "fibre_load_max", result->fiber_load_max);
    weft_set_count(object, "route_load_max", result->route_load_max);
    weft_set_count(object, "bound", result->bound);
    weft_set_truth(object, "proved", result->proved);
    set_requests(object, result);
    set_links(object, result);
    if (result->lost_count > 0) {
        weft_set_count(object, "lost", result->lost_count);
        set_repairs(object, result);
    }
    return weft_set_finish(object, arena);
}
