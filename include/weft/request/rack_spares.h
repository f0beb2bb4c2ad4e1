// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_RACK_SPARES_H
#define WEFT_REQUEST_RACK_SPARES_H

// How many spares a photonic rack needs, and what they cost beside whole racks that are kept free.

#include "weft/plan/rack_spares.h"
#include "weft/request.h"

WEFT_API_BEGIN

#define WEFT_SPARES_RACKS_MAX 1024u

struct weft_rack_spares_request {
    struct weft_spares_request spares;
    uint32_t rack_count;     // of the cluster; 0 = 1
    const char *accelerator; // whose watts a spare draws at most; NULL = not counted
    double chip_usd;         // of an accelerator; 0 = not counted
    double rate_Bps;         // of its port on the optical fabric; 0 = 400 Gbps
};
// What one chip kept free takes.
struct weft_spare_price {
    double chip_usd, chip_watts;
    double port_usd,
        port_watts; // NIC, transceiver and port of an optical switch, by the price book
    double rate_Bps;
    const char *accelerator; // NULL = its watts are not counted
};
struct weft_rack_spares_result {
    struct weft_spares_request asked;
    uint32_t rack_count;
    struct weft_spares spares;
    struct weft_spare_price price;
    uint32_t reserve_racks; // whole racks that reach the target instead
    double spare_share;     // spares over the chips of a rack
    double reserve_share;   // chips of the reserved racks over those of all racks
};
// Fails as weft_rack_spares does, and with INPUT where no accelerator has that name.
bool weft_request_rack_spares(struct weft_rack_spares_result *result,
                              const struct weft_rack_spares_request *request,
                              struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.optics-rack-spares/1"
const char *weft_request_rack_spares_json(const struct weft_rack_spares_result *result,
                                          struct weft_arena *arena);

WEFT_API_END

#endif
