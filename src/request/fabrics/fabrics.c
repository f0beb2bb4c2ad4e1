// SPDX-License-Identifier: Apache-2.0
// The reference fabrics of a cluster, counted and priced.
//
// Each fabric is built with its routes in an arena that is gone when its row is filled, so that the
// memory is that of the largest one: O(n^2) routes of n servers.

#include "weft/request/fabrics.h"

static void build_row(struct weft_fabrics_row *row, const struct weft_fabric_reference *reference,
                      const struct weft_cluster *cluster,
                      const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    struct weft_arena arena = weft_arena_split(&scratch); // the fabric is gone with it
    struct weft_fabric_options options = {.seed = environment->seed};
    struct weft_network network;
    struct weft_error error;
    *row = (struct weft_fabrics_row){.name = reference->name, .summary = reference->summary};
    if (!weft_fabric_build_named(
            &network, reference->name, cluster, &options,
            &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error})) {
        row->refusal = weft_arena_format(environment->arena, "%s", error.message);
        return;
    }
    row->node_count = network.fabric.node_count;
    row->link_count = network.fabric.link_count;
    row->parts = network.fabric.parts;
    row->cost = weft_fabric_cost(&row->parts, &cluster->prices);
    weft_routes_hops(&network.routes, NULL, &row->mean_hops, &row->hops_max);
}

// The direct fabric of all ports, whose hops are a bound and no fabric's.
static void bound_row(struct weft_fabrics_row *row, const struct weft_cluster *cluster)
{
    uint64_t ports = (uint64_t)cluster->server_count * cluster->degree;
    *row = (struct weft_fabrics_row){
        .name = "direct",
        .summary = "all ports on a patch panel: what weft plan chooses among; hops at least these",
        .node_count = cluster->server_count,
        .link_count = (uint32_t)ports,
        .parts = {.nics = ports,
                  .transceivers = ports,
                  .patch_panel_ports = ports,
                  .rate_Bps = cluster->rate_Bps},
    };
    row->cost = weft_fabric_cost(&row->parts, &cluster->prices);
    weft_fabric_moore(cluster->server_count, cluster->degree, false, &row->mean_hops,
                      &row->hops_max);
    if (row->hops_max == WEFT_NONE) {
        row->refusal = "direct: 1 port a server joins pairs; give each at least 2";
    }
}

bool weft_request_fabrics(struct weft_fabrics_result *result,
                          const struct weft_fabrics_request *request,
                          struct weft_request_environment *environment)
{
    const struct weft_request_hardware *hardware = &request->hardware;
    const struct weft_request_cluster_need need = {.server_count = 0};
    struct weft_cluster cluster;
    if (hardware->server_count == 0 && hardware->cluster_path == NULL) {
        return weft_fail(environment->base.error, WEFT_USAGE,
                         "how many servers? write {servers=128} or {cluster=FILE}");
    }
    if (hardware->latency_given) {
        return weft_fail(environment->base.error, WEFT_USAGE,
                         "{latency}: fabrics are counted and priced, not played; leave it out");
    }
    if (!weft_request_cluster(&cluster, hardware, &need, environment)) {
        return false;
    }
    uint32_t count = 0;
    const struct weft_fabric_reference *references = weft_fabric_references(&count);
    struct weft_fabrics_row *rows =
        WEFT_NEW(environment->base.arena, struct weft_fabrics_row, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) {
        build_row(&rows[i], &references[i], &cluster, &environment->base);
    }
    bound_row(&rows[count], &cluster);
    *result =
        (struct weft_fabrics_result){.cluster = cluster, .row_count = count + 1, .rows = rows};
    return true;
}
