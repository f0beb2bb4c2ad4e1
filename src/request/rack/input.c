// SPDX-License-Identifier: Apache-2.0
// What tenants of racks are played on: the rack that is built in.

#include "tenants.h"

#include <string.h>

// The built-in rack: the published block of 4 x 4 x 4 chips on 2 x 2 x 4 servers (Morphlux, arXiv
// 2508.03674). A chip sends 300 GB/s in six wavelengths, as oracles of LUMORPH have it, so that a
// ring of a box of three dimensions takes one each way; a pair of servers has the four fibers that
// the four rings between two servers above each other take.
#define BUILT_IN_FIBERS 4u
#define BUILT_IN_WAVELENGTH_BPS 50e9
#define BUILT_IN_CHANGE_PS 3700000u // 3.7 us (LIGHTPATH, HotNets 2024)

static struct weft_rack *built_in(struct weft_arena *arena)
{
    static const uint32_t sides[3] = {2, 2, 4};
    struct weft_rack *rack = WEFT_NEW(arena, struct weft_rack, 1);
    struct weft_rack_link *links = WEFT_NEW(arena, struct weft_rack_link, 3 * 16);
    *rack = (struct weft_rack){
        .name = "built-in",
        .server_count = 16,
        .chips_per_server = 4,
        .sides = {2, 2, 4},
        .block = {2, 2, 1},
        .link_count = weft_rack_torus_links(links, sides, BUILT_IN_FIBERS),
        .links = links,
        .wavelengths = 1,
        .chip_wavelengths = 6,
        .wavelength_Bps = BUILT_IN_WAVELENGTH_BPS,
        .change_ps = BUILT_IN_CHANGE_PS,
    };
    return rack;
}

// The fibers and wavelengths that are asked for in place of the rack's own.
static void set_fibers(struct weft_rack *rack, const struct weft_rack_tenants_request *request,
                       struct weft_arena *arena)
{
    if (request->wavelengths.given) {
        rack->wavelengths = request->wavelengths.value;
    }
    if (request->fibers.given) {
        uint32_t fibers = request->fibers.value > 0 ? request->fibers.value : WEFT_RACK_FIBERS_MAX;
        struct weft_rack_link *links = WEFT_NEW(arena, struct weft_rack_link, rack->link_count);
        memcpy(links, rack->links, rack->link_count * sizeof *links);
        for (uint32_t l = 0; l < rack->link_count; l++) {
            links[l].fibers = fibers;
        }
        rack->links = links;
    }
}

const struct weft_rack *tenants_rack(const struct weft_rack_tenants_request *request,
                                     struct weft_arena *arena)
{
    struct weft_rack *rack = built_in(arena);
    set_fibers(rack, request, arena);
    return rack;
}
