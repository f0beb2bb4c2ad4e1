// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TESTS_RACK_TORUS_H
#define WEFT_TESTS_RACK_TORUS_H

// The published rack of 4 x 4 x 4 chips on 2 x 2 x 4 servers, for tests: each chip sends six units
// of 50 GB/s.

#include "weft/plan/rack.h"

static struct weft_rack_link rack_torus_links[3 * 16];

static inline struct weft_rack rack_torus(uint32_t fibers)
{
    static const uint32_t sides[3] = {2, 2, 4};
    return (struct weft_rack){
        .name = "torus",
        .server_count = 16,
        .chips_per_server = 4,
        .sides = {2, 2, 4},
        .block = {2, 2, 1},
        .link_count = weft_rack_torus_links(rack_torus_links, sides, fibers),
        .links = rack_torus_links,
        .wavelengths = 1,
        .chip_wavelengths = 6,
        .wavelength_Bps = 50e9,
    };
}

#endif
