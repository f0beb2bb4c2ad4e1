// SPDX-License-Identifier: Apache-2.0
// "weft.fabrics/1": the reference fabrics of a cluster: their parts, prices and hops, or why a
// fabric cannot be built; and "weft.ecmp/1", flows over hashed uplinks. This is the example for the
// JSON of a new request: one function for the object, helpers for its members, and the setters of
// json.h.

#include "weft/request/fabrics.h"
#include "request/json/json.h"

// A fabric as it is bought: its bill with the totals.
static void set_bill(json_t *object, const struct weft_bill *bill)
{
    weft_set_count(object, "switches", bill->switches);
    weft_set_count(object, "nics", bill->nics);
    weft_set_count(object, "transceivers", bill->transceivers);
    weft_set_count(object, "copper_cables", bill->dacs);
    weft_set_count(object, "fibres_row", bill->fibres[WEFT_LENGTH_ROW]);
    weft_set_count(object, "fibres_hall", bill->fibres[WEFT_LENGTH_HALL]);
    weft_set_real(object, "usd", bill->usd);
    weft_set_real(object, "watts", bill->watts);
    weft_set(object, "bill", weft_bill_list(bill));
}

// A fabric with its parts by the table or, bought, with its bill.
static json_t *row_json(const struct weft_fabrics_row *row, bool bought)
{
    json_t *object = json_object();
    weft_set_text(object, "name", row->name);
    if (row->summary != NULL) {
        weft_set_text(object, "summary", row->summary);
    }
    if (row->refusal != NULL) {
        weft_set_text(object, "why_not", row->refusal);
        return object;
    }
    if (bought) {
        set_bill(object, &row->bill);
        return object;
    }
    weft_set_count(object, "nodes", row->node_count);
    weft_set_count(object, "links", row->link_count);
    weft_set_real(object, "mean_hops", row->mean_hops);
    weft_set_count(object, "max_hops", row->hops_max);
    weft_set_real(object, "rate_Bps", row->parts.rate_Bps);
    weft_set_count(object, "nics", row->parts.nics);
    weft_set_count(object, "transceivers", row->parts.transceivers);
    weft_set_count(object, "switch_ports", row->parts.switch_ports);
    weft_set_count(object, "patch_panel_ports", row->parts.patch_panel_ports);
    weft_set_real(object, "cost_usd", row->cost.total_usd);
    weft_set_real(object, "power_watts", row->cost.power_watts);
    return object;
}

const char *weft_request_fabrics_json(const struct weft_fabrics_result *result,
                                      struct weft_arena *arena)
{
    const struct weft_cluster *cluster = &result->cluster;
    json_t *object = weft_set_object("weft.fabrics/1");
    weft_set_count(object, "servers", cluster->server_count);
    weft_set_count(object, "degree", cluster->degree);
    weft_set_real(object, "rate_Bps", cluster->rate_Bps);
    json_t *list = weft_set_list(object, "fabrics");
    for (uint32_t i = 0; i < result->row_count; i++) {
        json_array_append_new(list, row_json(&result->rows[i], result->bills));
    }
    return weft_set_finish(object, arena);
}

// ---- ecmp ----

static void set_mean(json_t *object, const char *key, const struct weft_ecmp_mean *mean)
{
    json_t *member = json_object();
    weft_set_real(member, "mean", mean->mean);
    weft_set_real(member, "standard_error", mean->standard_error);
    weft_set(object, key, member);
}

static void set_row(json_t *object, const struct weft_ecmp_row *row)
{
    weft_set_count(object, "uplinks", row->ecmp.uplink_count);
    weft_set_count(object, "flows", row->ecmp.flow_count);
    weft_set_count(object, "split", row->ecmp.split);
    weft_set_real(object, "delivered_ratio", row->expected.delivered_ratio);
    weft_set_real(object, "conflict_probability", row->expected.conflict_probability);
    weft_set_real(object, "even_delivered_ratio", row->expected.even_delivered_ratio);
}

// The object itself is what was asked; `class` says of its ratios that no sampling is in them.
const char *weft_request_ecmp_json(const struct weft_ecmp_result *result, struct weft_arena *arena)
{
    const struct weft_ecmp_sample *sample = &result->sample;
    json_t *object = weft_set_object("weft.ecmp/1");
    set_row(object, &result->rows[0]);
    weft_set_text(object, "class", "exact");
    json_t *sampled = json_object();
    weft_set_count(sampled, "draws", sample->draw_count);
    weft_set_count(sampled, "seed", result->seed);
    set_mean(sampled, "delivered_ratio", &sample->delivered_ratio);
    set_mean(sampled, "conflict_ratio", &sample->conflict_ratio);
    set_mean(sampled, "slowdown_ratio", &sample->slowdown_ratio);
    weft_set(object, "sampled", sampled);
    json_t *list = weft_set_list(object, "remedies");
    for (uint32_t i = 1; i < result->row_count; i++) {
        json_t *row = json_object();
        weft_set_text(row, "name", result->rows[i].name);
        set_row(row, &result->rows[i]);
        json_array_append_new(list, row);
    }
    return weft_set_finish(object, arena);
}
