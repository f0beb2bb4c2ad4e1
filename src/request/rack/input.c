// SPDX-License-Identifier: Apache-2.0
// What tenants of racks are played from: the rack of a file or the one that is built in, and
// arrivals of a file; and the arrivals of a run as such a file.

#include "tenants.h"
#include "weft/format.h"

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

bool tenants_rack(const struct weft_rack **rack, const struct weft_rack_tenants_request *request,
                  const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_rack *found = built_in(arena);
    if (request->rack_path != NULL &&
        !weft_rack_load_file(found, request->rack_path, arena, environment->scratch,
                             environment->error)) {
        return false;
    }
    set_fibers(found, request, arena);
    if (!weft_rack_check(found, environment->scratch, environment->error)) {
        return false;
    }
    *rack = found;
    return true;
}

bool tenants_read_trace(struct weft_tenant_source *source, const char *path,
                        const struct weft_environment *environment)
{
    struct weft_rack_requests file;
    if (!weft_rack_requests_load(&file, path, environment->arena, environment->scratch,
                                 environment->error)) {
        return false;
    }
    for (uint32_t e = 0; e < file.event_count; e++) {
        if (file.events[e].releases) {
            return weft_fail(
                environment->error, WEFT_INPUT,
                "%s: release %s: tenants leave by their lifetime_s; leave the line out", path,
                file.requests[file.events[e].request].name);
        }
    }
    source->trace = file.requests;
    source->trace_count = file.count;
    return true;
}

const char *weft_request_rack_tenants_trace(const struct weft_rack_tenants_result *result,
                                            struct weft_arena *arena)
{
    const struct weft_rack *rack = result->rack;
    struct weft_tenant_draw draw;
    struct weft_rack_request request;
    struct weft_text text;
    uint32_t size = 0;
    weft_text_init(&text, arena);
    weft_text_add(&text, "name,x,y,z,arrival_s,lifetime_s\n");
    weft_tenant_draw_init(&draw, result->source,
                          result->asked.rack_count * rack->server_count * rack->chips_per_server);
    while (weft_tenant_draw_next(&draw, &request, &size)) {
        weft_text_add(&text, "t%llu,%u,%u,%u,%.17g,%.17g\n", (unsigned long long)draw.next,
                      request.sides[0], request.sides[1], request.sides[2], request.arrival_s,
                      request.lifetime_s);
    }
    return text.data;
}
