// SPDX-License-Identifier: Apache-2.0
// The fabric of a simulation: a reference fabric, or a Fat-tree by its tiers as htsim has it, with
// the cables broken that a traffic matrix says. What a file of tiers brings may not be said again
// by the request, because one of the two would be ignored.

#include "request/simulate/simulation.h"
#include "weft/format.h"

// A file of tiers brings its servers, rates and latencies: what says otherwise would be ignored.
static bool check_tiers(const struct simulation *simulation, const struct weft_tiers *tiers,
                        uint32_t server_count)
{
    const struct weft_simulate_request *request = simulation->request;
    const struct weft_request_hardware *hardware = &request->hardware;
    struct weft_error *error = simulation->environment->base.error;
    if (request->fabric != NULL || hardware->cluster_path != NULL || hardware->degree != 0 ||
        hardware->rate_given || hardware->latency_given || hardware->host_given ||
        hardware->balance_given || request->shape.radix != 0 ||
        request->shape.oversubscription > 0 || request->scale_up.accelerators > 1) {
        return weft_fail(
            error, WEFT_USAGE,
            "{topology} brings the fabric; leave out {fabric}, {cluster}, {degree}, "
            "{rate}, {latency}, {host-rate}, {balance}, {radix}, {oversubscription} and "
            "{accelerators}");
    }
    uint32_t asked = hardware->server_count;
    if (server_count > tiers->server_count || (asked > 0 && asked != tiers->server_count)) {
        return weft_fail(error, WEFT_INPUT,
                         "%s: has %u servers, not %u; choose a topology of that many",
                         request->topology_path, tiers->server_count,
                         server_count > tiers->server_count ? server_count : asked);
    }
    return true;
}

// Reads the tiers and builds their fabric, without the cables that a matrix breaks. The cluster
// that results has one port a server, of the lowest tier's rate.
static bool build_tiers(struct simulation *simulation, uint32_t server_count)
{
    const struct weft_environment *base = &simulation->environment->base;
    const char *path = simulation->request->topology_path;
    struct weft_tiers tiers;
    if (!weft_topo_load(&tiers, path, base->scratch, base->error) ||
        !check_tiers(simulation, &tiers, server_count)) {
        return false;
    }
    // A buffer that is asked for wins over what the file says of ports.
    for (uint32_t t = 0; t < tiers.tier_count && simulation->request->packets.port.buffer.given;
         t++) {
        tiers.tiers[t].queue_up_bytes = 0;
        tiers.tiers[t].queue_down_bytes = 0;
    }
    if (!weft_fabric_build_tiers(simulation->network, &tiers, simulation->matrix.failures,
                                 simulation->matrix.failure_count, base)) {
        return weft_wrap(base->error, "%s", path);
    }
    simulation->fabric = "topology";
    simulation->cluster = (struct weft_cluster){
        .server_count = tiers.server_count,
        .degree = 1,
        .rate_Bps = tiers.tiers[0].rate_Bps,
        .latency_ps = tiers.tiers[0].latency_ps,
    };
    return true;
}

// Whether the engine can divide transfers as the balance says.
static bool check_balance(const struct simulation *simulation)
{
    const struct weft_request_hardware *hardware = &simulation->request->hardware;
    bool states = hardware->balance_given || simulation->request->scale_up.accelerators < 2;
    return !weft_request_plays_packets(&simulation->request->packets) || !states ||
           simulation->cluster.balance == WEFT_BALANCE_HASH ||
           weft_fail(simulation->environment->base.error, WEFT_USAGE,
                     "{balance=even} divides a fluid; packets are divided by {spray=16}, with "
                     "{balance=hash}");
}

// Packets of a server with several NICs leave by all of them, as those of a library's channels do,
// unless a balance is stated or every packet draws a path.
static void divide_by_nics(struct simulation *simulation)
{
    const struct weft_simulate_request *request = simulation->request;
    if (weft_request_plays_packets(&request->packets) && !request->one_port &&
        request->scale_up.accelerators < 2 && !simulation->cluster.balance_stated &&
        !request->packets.spray.paths.given) {
        weft_routes_divide_by_nics(&simulation->network->routes);
    }
}

bool simulation_build_network(struct simulation *simulation, uint32_t server_count)
{
    const struct weft_simulate_request *request = simulation->request;
    struct weft_environment *base = &simulation->environment->base;
    simulation->network = WEFT_NEW(base->arena, struct weft_network, 1);
    if (request->topology_path != NULL) {
        return build_tiers(simulation, server_count);
    }
    if (simulation->matrix.failure_count > 0) {
        return weft_fail(base->error, WEFT_USAGE,
                         "the matrix breaks cables of a Fat-tree; write {topology=FILE.topo}");
    }
    struct weft_request_fabric fabric = {.specification = simulation->fabric,
                                         .hardware = &request->hardware,
                                         .server_count = server_count,
                                         .shape = request->shape};
    fabric.shape.seed = base->seed;
    fabric.one_path = request->one_port || (request->scale_up.accelerators < 2 &&
                                            weft_request_plays_packets(&request->packets));
    struct weft_request_scale_up scale_up = request->scale_up;
    if (!scale_up.rate.given && request->trace.accelerator != NULL) { // the kind that is stated
        scale_up.rate.Bps = request->trace.accelerator->link_Bps;
        scale_up.rate.given = scale_up.rate.Bps > 0;
    }
    fabric.scale_up = scale_up.accelerators > 1 ? &scale_up : NULL;
    if (!weft_request_reference(simulation->network, &simulation->cluster, &fabric,
                                simulation->environment)) {
        return false;
    }
    divide_by_nics(simulation);
    return check_balance(simulation);
}
