// SPDX-License-Identifier: Apache-2.0
// "weft.comparison/1": one task graph on every fabric. The result of a comparison of models,
// "weft.comparisons/1", is also the file that such a comparison is resumed from, so that the format
// room writes it.

#include "weft/request/compare.h"
#include "request/json/json.h"
#include "weft/format.h"

static json_t *row_object(const struct weft_comparison *row)
{
    json_t *object = json_object();
    weft_set_text(object, "name", row->name);
    if (row->why_not != NULL) {
        weft_set_text(object, "why_not", row->why_not);
        return object;
    }
    weft_set_real(object, "iteration_s", row->iteration_s);
    weft_set_real(object, "ratio_to_ideal", row->ratio_to_ideal);
    weft_set_real(object, "cost_usd", row->cost_usd);
    weft_set_real(object, "power_watts", row->power_watts);
    weft_set_real(object, "bandwidth_tax", row->bandwidth_tax_ratio);
    weft_set_real(object, "mean_hops", row->mean_hops);
    weft_set_count(object, "max_hops", row->max_hops);
    weft_set_real(object, "max_link_load_bytes", row->max_link_load_bytes);
    weft_set_real(object, "mean_link_load_bytes", row->mean_link_load_bytes);
    weft_set_real(object, "port_rate_Bps", row->port_rate_Bps);
    return object;
}

const char *weft_request_compare_json(const struct weft_compare_result *result,
                                      const struct weft_compare_request *request,
                                      struct weft_arena *arena)
{
    const struct weft_cluster *cluster = &result->cluster;
    json_t *object = weft_set_object("weft.comparison/1");
    weft_set_text(object, "file", request->path);
    weft_set_count(object, "servers", cluster->server_count);
    weft_set_count(object, "degree", cluster->degree);
    weft_set_real(object, "rate_Bps", cluster->rate_Bps);
    weft_set_text(object, "prices", cluster->prices.source != NULL ? cluster->prices.source : "");
    if (result->stopped) {
        weft_set_truth(object, "finished", false);
    }
    json_t *fabrics = weft_set_list(object, "fabrics");
    for (uint32_t i = 0; i < result->row_count; i++) {
        json_array_append_new(fabrics, row_object(&result->rows[i]));
    }
    weft_set_real(object, "wall_s", result->wall_s);
    return weft_set_finish(object, arena);
}

const char *weft_request_compare_models_json(const struct weft_compare_models_result *result,
                                             struct weft_arena *arena)
{
    return weft_comparisons_write(result->comparisons, result->comparison_count, arena);
}
