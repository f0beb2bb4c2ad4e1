// SPDX-License-Identifier: Apache-2.0
// weft optics rack spares: the number of spares, and what they cost.

#include "weft/request/rack_spares.h"

#define RATE_DEFAULT_BPS 50e9 // 400 Gbps

// One chip kept free: the accelerator, and the port that joins it to the optical fabric.
static bool set_price(struct weft_spare_price *price,
                      const struct weft_rack_spares_request *request, struct weft_error *error)
{
    double rate_Bps = request->rate_Bps > 0 ? request->rate_Bps : RATE_DEFAULT_BPS;
    struct weft_price_row row = weft_cluster_price_at(weft_cluster_default_prices(), rate_Bps);
    *price = (struct weft_spare_price){
        .chip_usd = request->chip_usd,
        .port_usd = row.nic_usd + row.transceiver_usd + row.ocs_port_usd,
        .port_watts = row.nic_watts + row.transceiver_watts + row.ocs_port_watts,
        .rate_Bps = rate_Bps,
    };
    if (request->accelerator != NULL) {
        const struct weft_accelerator *accelerator = NULL;
        if (!weft_accelerator_named(&accelerator, request->accelerator, error)) {
            return weft_wrap(error, "{accelerator}");
        }
        price->accelerator = accelerator->name;
        price->chip_watts = accelerator->watts;
    }
    return true;
}

bool weft_request_rack_spares(struct weft_rack_spares_result *result,
                              const struct weft_rack_spares_request *request,
                              struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_rack_spares_result found = {
        .asked = request->spares,
        .rack_count = request->rack_count > 0 ? request->rack_count : 1,
    };
    if (!weft_rack_spares(&found.spares, &request->spares, base->arena, base->scratch,
                          base->error) ||
        !set_price(&found.price, request, base->error)) {
        return false;
    }
    uint32_t chips = request->spares.chip_count;
    found.reserve_racks = weft_rack_reserve(found.rack_count, found.spares.probability[0],
                                            request->spares.target, base->scratch);
    found.spare_share = (double)found.spares.spares / chips;
    found.reserve_share = (double)found.reserve_racks / found.rack_count;
    *result = found;
    return true;
}
