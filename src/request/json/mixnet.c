// SPDX-License-Identifier: Apache-2.0
// "weft.optics-mixnet/1": iterations with circuits beside packets against Fat-trees, rate by rate.
// docs/mixnet.md says what each key means.

#include "weft/request/mixnet.h"
#include "request/json/json.h"

static void set_row(json_t *list, const struct weft_mixnet_row *row)
{
    json_t *object = json_object();
    const struct weft_mixnet_iteration *weft = &row->weft;
    weft_set_real(object, "rate_Bps", row->rate_Bps);
    weft_set_real(object, "iteration_s", weft->iteration_s);
    weft_set_real(object, "still_s", weft->still_s);
    weft_set_real(object, "fat_tree_s", weft->fat_s);
    weft_set_real(object, "rails_s", row->rail_s);
    weft_set_real(object, "passes_s", weft->passes_s);
    weft_set_real(object, "greedy_s", row->greedy.iteration_s);
    weft_set_real(object, "ratio", weft->iteration_s / weft->fat_s);
    weft_set_real(object, "greedy_ratio", row->greedy.iteration_s / weft->fat_s);
    weft_set_real(object, "exchange_ratio",
                  weft->replay.ideal_s > 0 ? weft->replay.still_s / weft->replay.ideal_s : 1);
    weft_set_real(object, "changes", weft->changes);
    weft_set_real(object, "dark_share", weft->dark_share);
    weft_set_text(object, "gradients", weft_mixnet_gradients_name(weft->gradients));
    weft_set_real(object, "price_ratio", row->price_ratio);
    weft_set_real(object, "value_ratio", row->value_ratio);
    if (row->published != NULL) {
        weft_set_real(object, "published_ratio", row->published->mixnet / row->published->fat);
        weft_set_real(object, "published_rails", row->published->rail / row->published->fat);
        weft_set_real(object, "published_topoopt", row->published->topoopt / row->published->fat);
    }
    json_array_append_new(list, object);
}

static void set_played(json_t *object, const struct weft_mixnet_result *result)
{
    const struct weft_mixnet_played *played = result->played;
    json_t *row = json_object();
    weft_set_text(row, "engine", result->engine == WEFT_ENGINE_PACKET ? "packet" : "flow");
    weft_set_real(row, "engine_s", played->seconds);
    weft_set_real(row, "formula_s", played->formula_s);
    weft_set_real(row, "compute_s", played->compute_s);
    weft_set_real(row, "difference_ratio", played->seconds / played->formula_s - 1);
    weft_set_count(row, "changes", played->changes);
    weft_set_count(row, "packets", played->packet_count);
    weft_set_real(row, "divisor", played->divisor);
    weft_set(object, "played", row);
}

const char *weft_request_mixnet_json(const struct weft_mixnet_result *result,
                                     struct weft_arena *arena)
{
    json_t *object = weft_set_object("weft.optics-mixnet/1");
    weft_set_text(object, "model", result->model);
    weft_set_count(object, "batch", result->batch);
    weft_set_count(object, "servers", result->server_count);
    weft_set_text(object, "strategy", weft_hybrid_format(&result->hybrid, arena));
    weft_set_count(object, "region", result->rows[0].weft.region);
    json_t *rows = weft_set_list(object, "rates");
    for (uint32_t r = 0; r < result->row_count; r++) {
        set_row(rows, &result->rows[r]);
    }
    if (result->firsts != NULL) {
        json_t *firsts = json_object();
        for (uint32_t f = 0; f < WEFT_FIRST_COUNT; f++) {
            weft_set_real(firsts, weft_mixnet_first_name((enum weft_mixnet_first)f),
                          result->firsts[f].iteration_s);
        }
        json_object_set_new(object, "first", firsts);
    }
    if (result->faults != NULL) {
        json_t *faults = json_object();
        for (uint32_t f = 0; f < WEFT_FAULT_COUNT; f++) {
            weft_set_real(faults, weft_mixnet_fault_name((enum weft_mixnet_fault)f),
                          result->faults[f].iteration_s);
        }
        json_object_set_new(object, "faults", faults);
    }
    if (result->played != NULL) {
        set_played(object, result);
    }
    return weft_set_finish(object, arena);
}
