// SPDX-License-Identifier: Apache-2.0
// The fabric of a simulation: a reference fabric, or a topology that another program describes; a
// Fat-tree by its tiers as htsim has it loses the cables that a traffic matrix breaks. What a
// file brings may not be said again by the request, because one of the two would be ignored.

#include "request/simulate/simulation.h"
#include "weft/format.h"
#include "weft/request/parameter.h"

bool simulation_load_topology(struct simulation *simulation, struct weft_simulate_request *request)
{
    struct weft_request_environment *environment = simulation->environment;
    struct weft_error *error = environment->base.error;
    struct weft_topology_file *topology =
        WEFT_NEW(environment->base.arena, struct weft_topology_file, 1);
    const char *path = request->topology_path;
    const struct weft_stated rows[] = {
        {request->fabric != NULL, "fabric"},
        {request->plan_path != NULL, "plan"},
        {request->shape.radix != 0, "radix"},
        {request->shape.oversubscription > 0, "oversubscription"},
        {request->scale_up.accelerators > 1, "accelerators"},
        {NULL},
    };
    if (path == NULL) {
        return true;
    }
    if (!weft_refuse_stated(rows, error,
                            "stands beside {topology}, which brings the fabric; leave it out") ||
        !weft_request_topology_file(topology, path, &request->hardware, true, environment)) {
        return false;
    }
    request->scale_up.accelerators = topology->accelerators > 1 ? topology->accelerators : 0;
    request->trace.rank_default = topology->server_count;
    simulation->topology = topology;
    return true;
}

// What a server sends at, and by how many NICs, of the first one: what collectives are laid out
// for.
static void describe_cluster(struct simulation *simulation, uint32_t accelerators)
{
    const struct weft_fabric *fabric = &simulation->network->fabric;
    double rate_Bps = 0;
    uint64_t latency_ps = 0;
    uint32_t ports = 0;
    for (uint32_t i = fabric->first[0]; i < fabric->first[1]; i++) {
        const struct weft_link *link = &fabric->links[i];
        if (accelerators < 2 || link->to != fabric->server_count) { // not the switch inside
            rate_Bps += link->rate_Bps;
            ports += link->width;
            latency_ps = link->latency_ps;
        }
    }
    ports = accelerators < 2 ? ports : accelerators;
    simulation->cluster = (struct weft_cluster){
        .server_count = fabric->server_count / accelerators,
        .degree = ports > 0 ? ports : 1,
        .rate_Bps = accelerators < 2 && ports > 0 ? rate_Bps / ports : rate_Bps,
        .latency_ps = latency_ps,
        .balance = simulation->network->routes.spread == WEFT_SPREAD_SPLIT ? WEFT_BALANCE_EVEN
                                                                           : WEFT_BALANCE_HASH,
    };
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

// Builds the fabric of {topology}, without the cables that a matrix breaks.
static bool build_topology(struct simulation *simulation, uint32_t server_count)
{
    const struct weft_environment *base = &simulation->environment->base;
    const char *path = simulation->request->topology_path;
    const struct weft_topology_file *topology = simulation->topology;
    uint32_t servers = topology->server_count / topology->accelerators;
    uint32_t asked = simulation->request->hardware.server_count;
    if (server_count > servers || (asked > 0 && asked != servers)) {
        return weft_fail(base->error, WEFT_INPUT,
                         "%s: has %u servers, not %u; choose a topology of that many", path,
                         servers, server_count > servers ? server_count : asked);
    }
    simulation->fabric = "topology";
    if (topology->kind != WEFT_FILE_TIERS) {
        if (simulation->matrix.failure_count > 0) {
            return weft_fail(base->error, WEFT_USAGE,
                             "the matrix breaks cables of a Fat-tree by its tiers; %s is %s", path,
                             weft_file_kind_name(topology->kind));
        }
        if (!weft_request_topology_build(simulation->network, topology,
                                         &simulation->request->hardware, path, base)) {
            return false;
        }
        describe_cluster(simulation, topology->accelerators);
        return check_balance(simulation);
    }
    struct weft_tiers tiers = topology->tiers;
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
    describe_cluster(simulation, 1);
    return true;
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
    if (simulation->topology != NULL) {
        return build_topology(simulation, server_count);
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
