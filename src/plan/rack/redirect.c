// SPDX-License-Identifier: Apache-2.0
// Bandwidth of sides that a slice does not use, given to those that it does.
//
// A chip divides what it sends over the rings that it is in, and each ring's part over its two
// ways round; a ring is as fast as its slowest chip. (Morphlux' bandwidth allocator, which rounds
// parts down and stops at a fixed link's rate; neither is copied.)

#include "rack.h"

void weft_rack_redirect(double *rates_Bps, const struct weft_rack *rack,
                        const struct weft_rack_ring *rings, uint32_t ring_count,
                        struct weft_arena scratch)
{
    uint32_t chips = rack->server_count * rack->chips_per_server;
    double injection_Bps = rack->chip_wavelengths * rack->wavelength_Bps;
    double *desired = WEFT_NEW(&scratch, double, chips);
    uint32_t *count = WEFT_NEW(&scratch, uint32_t, chips);
    for (uint32_t r = 0; r < ring_count; r++) {
        for (uint32_t c = 0; c < rings[r].chip_count; c++) {
            desired[rings[r].chips[c]] += rings[r].desired;
            count[rings[r].chips[c]]++;
        }
    }
    for (uint32_t r = 0; r < ring_count; r++) {
        rates_Bps[r] = rings[r].chip_count == 0 ? 0 : injection_Bps / 2;
        for (uint32_t c = 0; c < rings[r].chip_count; c++) {
            uint32_t chip = rings[r].chips[c];
            double share = desired[chip] > 0 ? rings[r].desired / desired[chip] : 1.0 / count[chip];
            double rate_Bps = injection_Bps * share / 2;
            rates_Bps[r] = rate_Bps < rates_Bps[r] ? rate_Bps : rates_Bps[r];
        }
    }
}

// Whether a link along side d joins two servers.
static bool leaves_server(const struct weft_rack *rack, const struct weft_rack_slice *slice,
                          uint32_t d)
{
    uint32_t stride = d == 0 ? 1 : d == 1 ? slice->sides[0] : slice->sides[0] * slice->sides[1];
    for (uint32_t c = 0; c < slice->chip_count; c++) {
        uint32_t at = c / stride % slice->sides[d];
        uint32_t next = c - at * stride + (at + 1) % slice->sides[d] * stride;
        if (slice->chips[c] / rack->chips_per_server !=
            slice->chips[next] / rack->chips_per_server) {
            return true;
        }
    }
    return false;
}

void weft_rack_slice_rates(double rates_Bps[3], const struct weft_rack *rack,
                           const struct weft_rack_slice *slice, bool fixed)
{
    uint32_t rings = 0;
    for (uint32_t d = 0; d < 3; d++) {
        rings += slice->sides[d] > 1;
    }
    for (uint32_t d = 0; d < 3; d++) {
        double injection_Bps = rack->chip_wavelengths * rack->wavelength_Bps;
        double rate_Bps = fixed ? injection_Bps / 6 : injection_Bps / (2 * (double)rings);
        double fiber_Bps = slice->lanes * rack->wavelength_Bps;
        if (!fixed && rate_Bps > fiber_Bps && slice->tenant != WEFT_NONE &&
            leaves_server(rack, slice, d)) {
            rate_Bps = fiber_Bps;
        }
        rates_Bps[d] = slice->sides[d] > 1 ? rate_Bps : 0;
    }
}
