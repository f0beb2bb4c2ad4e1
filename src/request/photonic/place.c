// SPDX-License-Identifier: Apache-2.0
// weft photonic place: appliances by the simulator's figures, places by the fabric's routes.
//
// A request's input goes to the appliance at the rate of the slowest link of its path, and its
// answer of some bytes comes back by the longest of the paths. What else the links carry is not
// looked at: inputs of a study's rates are a small share of them.

#include "weft/request/photonic_place.h"

#include <math.h>
#include <string.h>

#define PATHS_MAX 64u // of a pair that are looked at; those of reference fabrics are alike
#define LINKS_MAX 64u

static void set_kind(struct weft_serving_appliance *kind, const struct weft_inference_kind *stated,
                     const struct weft_serving_net *nets, struct weft_arena scratch)
{
    *kind = (struct weft_serving_appliance){
        .name = stated->name, .usd = stated->usd, .watts = stated->watts};
    for (uint32_t p = 0; stated->like != NULL && p < weft_serving_processor_count; p++) {
        const struct weft_serving_processor *processor = &weft_serving_processors[p];
        if (strcmp(processor->name, stated->like) != 0) {
            continue;
        }
        kind->watts = stated->watts_given ? stated->watts : processor->watts;
        for (uint32_t n = 0; n < WEFT_SERVING_NETS; n++) {
            double ticks = (double)weft_serving_work_ticks(&nets[n], WEFT_SERVING_GRANULARITY);
            kind->rate[n] = processor->cores * processor->clock_ghz * 1e9 / ticks;
            kind->isolated_ns[n] =
                weft_serving_isolated_ns(processor, nets, n, WEFT_SERVING_GRANULARITY, scratch);
        }
    }
    for (uint32_t m = 0; m < stated->model_count; m++) {
        kind->rate[stated->models[m].net] = stated->models[m].rate;
        kind->isolated_ns[stated->models[m].net] = (double)stated->models[m].latency_ps * 1e-3;
    }
}

// The slowest of the paths one way: propagation, and the input's bytes over the slowest link.
static double one_way_ns(const struct weft_routes *routes, uint32_t from, uint32_t to, double bytes)
{
    uint32_t count = weft_routes_path_count(routes, from, to);
    double longest = count > 0 ? 0 : (double)INFINITY;
    for (uint32_t i = 0; i < count && i < PATHS_MAX; i++) {
        uint32_t links[LINKS_MAX];
        uint32_t hops = weft_routes_path(routes, from, to, i, links, NULL);
        double latency_ns = 0;
        double rate_Bps = (double)INFINITY;
        for (uint32_t h = 0; h < hops; h++) {
            const struct weft_link *link = &routes->fabric->links[links[h]];
            latency_ns += (double)link->latency_ps * 1e-3;
            rate_Bps = fmin(rate_Bps, link->rate_Bps);
        }
        longest = fmax(longest, latency_ns + bytes / rate_Bps * 1e9);
    }
    return longest;
}

static bool check_servers(const struct weft_inference_file *file, uint32_t server_count,
                          struct weft_error *error)
{
    for (uint32_t d = 0; d < file->demand_count; d++) {
        if (file->demands[d].server >= server_count) {
            return weft_fail(error, WEFT_INPUT,
                             "demands[%u].server: the fabric has servers 0 to %u", d,
                             server_count - 1);
        }
    }
    for (uint32_t p = 0; p < file->place_count; p++) {
        if (file->places[p] >= server_count) {
            return weft_fail(error, WEFT_INPUT, "places[%u]: the fabric has servers 0 to %u", p,
                             server_count - 1);
        }
    }
    return true;
}

static void set_problem(struct weft_photonic_place_result *result, const struct weft_routes *routes,
                        struct weft_arena *arena, struct weft_arena scratch)
{
    const struct weft_inference_file *file = &result->file;
    struct weft_serving_appliance *kinds =
        WEFT_NEW(arena, struct weft_serving_appliance, file->kind_count);
    struct weft_serving_demand *demands =
        WEFT_NEW(arena, struct weft_serving_demand, file->demand_count);
    double *network_ns = WEFT_NEW(arena, double, (size_t)file->demand_count * file->place_count);
    for (uint32_t k = 0; k < file->kind_count; k++) {
        set_kind(&kinds[k], &file->kinds[k], result->nets, scratch);
    }
    for (uint32_t d = 0; d < file->demand_count; d++) {
        const struct weft_inference_demand *of = &file->demands[d];
        const struct weft_serving_net *net = &result->nets[of->net];
        demands[d] = (struct weft_serving_demand){
            .name = weft_arena_format(arena, "%s at server %u", net->name, of->server),
            .net = of->net,
            .requests_per_s = of->requests_per_s,
            .objective_ns = (double)of->objective_ps * 1e-3};
        for (uint32_t p = 0; p < file->place_count; p++) {
            uint32_t place = file->places[p];
            network_ns[(size_t)d * file->place_count + p] =
                one_way_ns(routes, of->server, place, (double)net->input_bits / 8) +
                one_way_ns(routes, place, of->server, 0);
        }
    }
    result->problem = (struct weft_serving_place_problem){.kind_count = file->kind_count,
                                                          .kinds = kinds,
                                                          .demand_count = file->demand_count,
                                                          .demands = demands,
                                                          .place_count = file->place_count,
                                                          .network_ns = network_ns,
                                                          .rho_max = file->rho};
}

bool weft_request_photonic_place(struct weft_photonic_place_result *result,
                                 const struct weft_photonic_place_request *request,
                                 struct weft_request_environment *environment)
{
    struct weft_arena *arena = environment->base.arena;
    struct weft_error *error = environment->base.error;
    struct weft_photonic_place_result found = {.fabric = request->fabric != NULL ? request->fabric
                                                                                 : "leaf-spine"};
    const struct weft_request_fabric fabric = {.specification = found.fabric,
                                               .hardware = &request->hardware};
    const struct weft_network *network = NULL;
    if (!weft_serving_nets(&found.nets, arena, error) ||
        !weft_inference_load(&found.file, request->demand_path, found.nets, arena, error) ||
        !weft_request_network(&network, &fabric, environment)) {
        return false;
    }
    found.server_count = network->fabric.server_count;
    if (!check_servers(&found.file, found.server_count, error)) {
        return weft_wrap(error, "%s", request->demand_path);
    }
    if (network->routes.hop_max > LINKS_MAX) {
        return weft_fail(error, WEFT_UNSUPPORTED, "{fabric}: paths of %u links; take one of %u",
                         network->routes.hop_max, LINKS_MAX);
    }
    set_problem(&found, &network->routes, arena, environment->base.scratch);
    if (!weft_serving_place(&found.placement, &found.problem, arena, environment->base.scratch,
                            error)) {
        return weft_wrap(error, "%s", request->demand_path);
    }
    *result = found;
    return true;
}
