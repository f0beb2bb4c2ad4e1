// SPDX-License-Identifier: Apache-2.0
// "weft.optics-rack-spares/1": docs/photonic-rack.md says what each key means.

#include "request/json/json.h"
#include "weft/request/rack_spares.h"

static void set_reals(json_t *object, const char *key, const double *values, uint32_t count)
{
    json_t *list = weft_set_list(object, key);
    for (uint32_t i = 0; i < count; i++) {
        json_array_append_new(list, json_real(values[i]));
    }
}

// Many chips kept free, in dollars and watts.
static json_t *bill_of(const struct weft_spare_price *price, double chips)
{
    json_t *bill = json_object();
    weft_set_real(bill, "chips", chips);
    weft_set_real(bill, "usd", chips * (price->chip_usd + price->port_usd));
    weft_set_real(bill, "watts", chips * (price->chip_watts + price->port_watts));
    return bill;
}

const char *weft_request_rack_spares_json(const struct weft_rack_spares_result *result,
                                          struct weft_arena *arena)
{
    const struct weft_spares *spares = &result->spares;
    const struct weft_spares_request *asked = &result->asked;
    json_t *object = weft_set_object("weft.optics-rack-spares/1");
    weft_set_count(object, "chips", asked->chip_count);
    weft_set_real(object, "failure", asked->chip_probability);
    json_t *groups = weft_set_list(object, "groups");
    for (uint32_t g = 0; g < asked->kind_count; g++) {
        json_t *group = json_object();
        weft_set_count(group, "size", asked->kinds[g].size);
        weft_set_count(group, "count", asked->kinds[g].count);
        weft_set_real(group, "probability", asked->kinds[g].probability);
        json_array_append_new(groups, group);
    }
    weft_set_real(object, "target", asked->target);
    weft_set_count(object, "spares", spares->spares);
    weft_set_real(object, "mean", spares->mean);
    set_reals(object, "probability", spares->probability, spares->probability_count);
    if (spares->distinct != NULL) {
        weft_set_count(object, "distinct_spares", spares->distinct_spares);
        set_reals(object, "distinct", spares->distinct, spares->distinct_count);
    }
    if (spares->servers != NULL) {
        set_reals(object, "servers", spares->servers, spares->server_count + 1);
    }
    weft_set_count(object, "racks", result->rack_count);
    weft_set_count(object, "reserve_racks", result->reserve_racks);
    weft_set_real(object, "spare_share", result->spare_share);
    weft_set_real(object, "reserve_share", result->reserve_share);
    weft_set_real(object, "port_rate_Bps", result->price.rate_Bps);
    weft_set_text(object, "accelerator", result->price.accelerator);
    double racks = result->rack_count;
    weft_set(object, "spare_bill", bill_of(&result->price, racks * spares->spares));
    weft_set(object, "reserve_bill",
             bill_of(&result->price, (double)result->reserve_racks * asked->chip_count));
    weft_set(object, "bill_of_one", bill_of(&result->price, 1));
    return weft_set_finish(object, arena);
}
