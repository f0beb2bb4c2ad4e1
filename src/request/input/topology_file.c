// SPDX-License-Identifier: Apache-2.0
// Topologies of other programs: what a file does not say of rates and latencies comes from the
// request, and what it says may not be said again, because one of the two would be ignored.

#include "weft/format.h"
#include "weft/request.h"
#include "weft/request/parameter.h"

#define LATENCY_DEFAULT_PS 1000000ull // of a cable where nobody says, as everywhere

// Slurm and the like say who is joined, not how fast.
static bool check_rates(const struct weft_topology_file *topology, const char *path,
                        const struct weft_request_hardware *hardware, bool rated,
                        struct weft_error *error)
{
    bool tiers = topology->kind == WEFT_FILE_TIERS;
    if (rated && topology->unrated_count > 0 && !hardware->rate_given) {
        return weft_fail(error, WEFT_USAGE,
                         "%s: %u of its %u links have no rate: how fast is a cable? write "
                         "{rate=400Gbps}",
                         path, topology->unrated_count, topology->link_count);
    }
    const struct weft_stated rows[] = {
        {hardware->rate_given && (tiers || topology->unrated_count == 0), "rate"},
        {hardware->latency_given && (tiers || topology->undelayed_count == 0), "latency"},
        {hardware->cluster_path != NULL, "cluster"},
        {hardware->degree != 0, "degree"},
        {hardware->host_given, "host-rate"},
        {NULL},
    };
    if (hardware->balance_given && (tiers || topology->accelerators > 1)) {
        return weft_fail(error, WEFT_USAGE,
                         "{balance}: transfers in %s keep to one path each, by hash; leave it out",
                         path);
    }
    return weft_refuse_stated(rows, error, "is what %s brings itself; leave it out", path);
}

bool weft_request_topology_file(struct weft_topology_file *topology, const char *path,
                                const struct weft_request_hardware *hardware, bool rated,
                                struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    if (!weft_topology_file_load(topology, path, base->arena, base->scratch, base->error) ||
        !check_rates(topology, path, hardware, rated, base->error)) {
        return false;
    }
    if (hardware->rate_given && !(hardware->rate_Bps > 0)) {
        return weft_fail(base->error, WEFT_INPUT,
                         "{rate}: 0 carries nothing; write for example 100Gbps");
    }
    if (topology->assumes_uplinks && rated) {
        weft_request_note(environment,
                          "%s says who meets below which switch and no cables: a server has one, "
                          "a switch passes on upwards all that is below it",
                          path);
    }
    if (topology->kind == WEFT_FILE_EDGES) {
        uint32_t servers = topology->server_count;
        uint32_t switches = topology->node_count - servers;
        weft_request_note(environment,
                          "%s: by their names %u nodes are servers (%s, ...) and %u "
                          "switches%s%s%s; those are called as leaf0, spine-1, sw2, tor3",
                          path, servers, topology->names[0], switches, switches > 0 ? " (" : "",
                          switches > 0 ? topology->names[servers] : "",
                          switches > 0 ? ", ...)" : "");
    }
    if (topology->both_ways) {
        weft_request_note(environment, "%s: it has every edge in both directions: each is one way",
                          path);
    }
    double rate_Bps = hardware->rate_given ? hardware->rate_Bps : 1;
    weft_topology_file_fill(topology, rate_Bps,
                            hardware->latency_given ? hardware->latency_ps : LATENCY_DEFAULT_PS);
    return true;
}

bool weft_request_topology_build(struct weft_network *network,
                                 const struct weft_topology_file *topology,
                                 const struct weft_request_hardware *hardware, const char *path,
                                 const struct weft_environment *environment)
{
    if (!weft_topology_file_build(network, topology, environment)) {
        return weft_wrap(environment->error, "%s", path);
    }
    if (hardware->balance_given && hardware->balance == WEFT_BALANCE_EVEN) {
        network->routes.spread = WEFT_SPREAD_SPLIT;
    }
    return true;
}
