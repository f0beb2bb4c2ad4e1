// SPDX-License-Identifier: Apache-2.0
// Files for collective libraries on fabrics with switches (docs/nccl.md): NCCL's graph file, whose
// channels keep to a rail each, and a hostfile whose order lets their rings leave leaves and pods
// as seldom as any order can.
//
// The fabric is built with every NIC where it is plugged in, where NICs are accelerators' own or
// shared by them; else all of a server's stand where the server does. Hops of the rings are counted
// on it (weft_fabric_cross_rails), and said in a note and in the file.

#include "rails.h"
#include "weft/format.h"
#include "weft/request/parameter.h"

#include <string.h>

// Of a server: beyond, nearness of every NIC outgrows memory.
#define NICS_MAX 1024u

struct work {
    const struct weft_collective_export_request *request;
    struct weft_request_environment *environment;
    struct weft_fabric_specification specification;
    struct weft_cluster cluster; // with its accelerators
    struct weft_rails rails;
    uint32_t *order; // of count servers
    uint32_t count;
};

// ---- the fabric ----

// The cluster and the fabric that the request names, of switches.
static bool find_cluster(struct work *work)
{
    const struct weft_collective_export_request *request = work->request;
    const struct weft_request_hardware *hardware = &request->hardware;
    struct weft_error *error = work->environment->base.error;
    uint32_t said = work->specification.server_count;
    uint32_t asked = hardware->server_count;
    if (said > 0 && asked > 0 && said != asked) {
        return weft_fail(error, WEFT_INPUT, "'%.60s' has %u servers, not %u", request->source, said,
                         asked);
    }
    uint32_t count = said > 0 ? said : asked;
    if (count == 0 && hardware->cluster_path == NULL) {
        return weft_fail(error, WEFT_USAGE,
                         "how many servers has '%.40s'? write {cluster=FILE} or {servers=64}",
                         request->source);
    }
    const struct weft_request_cluster_need need = {.server_count = count, .shard = count > 0};
    if (!weft_request_cluster(&work->cluster, hardware, &need, work->environment)) {
        return false;
    }
    if (work->cluster.degree > NICS_MAX) {
        return weft_fail(error, WEFT_INPUT,
                         "{degree}: %u NICs a server are rails no more; at most %u",
                         work->cluster.degree, NICS_MAX);
    }
    uint32_t *accelerators = &work->cluster.accelerators_per_server;
    *accelerators = request->accelerators > 0 ? request->accelerators : *accelerators;
    return *accelerators > 0 ||
           weft_fail(error, WEFT_USAGE,
                     "how many accelerators has a server? write {accelerators=8}, or accelerators "
                     "in {cluster=FILE}");
}

// Builds the fabric and finds out who is near whom on it.
static bool find_rails(struct work *work)
{
    const struct weft_collective_export_request *request = work->request;
    const struct weft_environment *base = &work->environment->base;
    const char *name = work->specification.name;
    const struct weft_fabric_reference *reference = weft_fabric_reference_named(name, NULL);
    if (reference != NULL && reference->is_direct) {
        return weft_fail(base->error, WEFT_INPUT,
                         "%s has no switches: its rings are those of a plan; write PLAN.json",
                         name);
    }
    const struct weft_request_fabric fabric = {.hardware = &request->hardware,
                                               .shape = request->shape};
    if (!weft_request_refuse_shape(&fabric, name, base->error) || !find_cluster(work)) {
        return false;
    }
    struct weft_cluster cluster = work->cluster;
    cluster.balance = WEFT_BALANCE_EVEN; // fewer links, the same neighbors
    struct weft_fabric_options shape = request->shape;
    memcpy(shape.sides, work->specification.sides, sizeof shape.sides);
    struct weft_environment once = *base;
    struct weft_arena results = weft_arena_split(&once.scratch);
    once.arena = &results;
    struct weft_network *network = WEFT_NEW(&results, struct weft_network, 1);
    uint32_t accelerators = cluster.accelerators_per_server;
    bool by_nic = accelerators > 1 && accelerators % cluster.degree == 0;
    // Who is joined to whom does not depend on rates.
    const struct weft_scale_up inside = {.accelerators = accelerators,
                                         .rate_Bps = cluster.rate_Bps};
    bool built = by_nic
                     ? weft_fabric_build_scale_up(network, name, &cluster, &inside, &shape, &once)
                     : weft_fabric_build_named(network, name, &cluster, &shape, &once);
    if (built) {
        weft_fabric_rails(&work->rails, network, cluster.degree, base->arena, once.scratch);
    }
    return built || weft_wrap(base->error, "%s", request->source);
}

// ---- the order ----

// The servers of the job as given, and then in the order of the fabric.
static bool find_order(struct weft_rail_report *report, struct work *work)
{
    const struct weft_environment *base = &work->environment->base;
    const struct weft_collective_export_request *request = work->request;
    uint32_t n = work->rails.server_count;
    work->count = n;
    struct weft_hosts hosts = {0};
    if (request->hosts_path != NULL) {
        if (!weft_hosts_load(&hosts, request->hosts_path, base->arena, base->error)) {
            return false;
        }
        work->count = hosts.count;
    }
    work->order = WEFT_NEW(base->arena, uint32_t, work->count);
    for (uint32_t s = 0; s < n && hosts.count == 0; s++) {
        work->order[s] = s;
    }
    if (hosts.count > 0 &&
        !weft_hosts_servers(work->order, &hosts, rails_first_node(request), n, base)) {
        return weft_wrap(base->error, "%s", request->hosts_path);
    }
    struct weft_rail_report found = {.server_count = work->count,
                                     .nic_count = work->rails.nic_count,
                                     .tier_count = work->rails.tier_count};
    const char **tiers = WEFT_NEW(base->arena, const char *, WEFT_RAIL_TIERS_MAX);
    memcpy(tiers, work->rails.names, sizeof work->rails.names);
    found.tiers = tiers;
    weft_fabric_cross_rails(&found.given, work->order, work->count, &work->rails, base->scratch);
    weft_fabric_order_rails(work->order, work->count, &work->rails, base->scratch);
    weft_fabric_cross_rails(&found.crossings, work->order, work->count, &work->rails,
                            base->scratch);
    *report = found;
    return true;
}

// "16 of 512 hops leave their leaf and 2 their pod, the least of any order (as given: 80, 40)".
static const char *describe(const struct weft_rail_report *report, struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    const struct weft_rail_crossings *now = &report->crossings;
    bool least = true;
    bool better = false;
    if (report->tier_count == 0) {
        weft_text_add(&text, "all %llu hops stay on one switch",
                      (unsigned long long)now->hop_count);
        return text.data;
    }
    weft_text_add(&text, "of %llu hops", (unsigned long long)now->hop_count);
    for (uint32_t t = 0; t < report->tier_count; t++) {
        weft_text_add(&text, "%s %llu leave their %s", t == 0 ? "" : ",",
                      (unsigned long long)now->crossings[t], report->tiers[t]);
        least = least && now->crossings[t] == now->least[t];
        better = better || now->crossings[t] != report->given.crossings[t];
    }
    weft_text_add(&text, least ? ", the least of any order" : " (the least of any order:");
    for (uint32_t t = 0; t < report->tier_count && !least; t++) {
        weft_text_add(&text, "%s %llu%s", t == 0 ? "" : ",", (unsigned long long)now->least[t],
                      t + 1 == report->tier_count ? ")" : "");
    }
    for (uint32_t t = 0; t < report->tier_count && better; t++) {
        weft_text_add(&text, "%s %llu%s", t == 0 ? "; in the order given" : ",",
                      (unsigned long long)report->given.crossings[t], "");
    }
    return text.data;
}

// Adds ascending runs as "0-63 70 72-75".
static void add_order(struct weft_text *text, const struct work *work)
{
    for (uint32_t i = 0; i < work->count;) {
        uint32_t last = i;
        while (last + 1 < work->count && work->order[last + 1] == work->order[last] + 1) {
            last++;
        }
        weft_text_add(text, last > i ? " %u-%u" : " %u", work->order[i], work->order[last]);
        i = last + 1;
    }
}

// ---- the files ----

// The GPUs and NICs of the server as NCCL's own file numbers them, in its order, which is that of
// PCI; counted from 0 where there is no such file, or it has others than are asked for.
static bool find_devs(struct weft_nccl_rails *server, const struct work *work)
{
    const struct weft_environment *base = &work->environment->base;
    const char *path = work->request->hardware.cluster_path;
    struct weft_nccl_topology topology;
    if (path == NULL || !weft_request_is_topology(path)) {
        return true;
    }
    if (!weft_nccl_topology_load(&topology, path, base->arena, base->scratch, base->error)) {
        return false;
    }
    if (topology.gpu_count != server->gpu_count || topology.net_count != server->net_count) {
        weft_request_note(work->environment,
                          "%s has %u GPUs and %u NICs, not %u and %u: dev numbers count from 0",
                          path, topology.gpu_count, topology.net_count, server->gpu_count,
                          server->net_count);
        return true;
    }
    uint32_t *gpus = WEFT_NEW(base->arena, uint32_t, topology.gpu_count);
    uint32_t *nets = WEFT_NEW(base->arena, uint32_t, topology.net_count);
    for (uint32_t g = 0; g < topology.gpu_count; g++) {
        gpus[g] = topology.gpus[g].dev;
    }
    for (uint32_t k = 0; k < topology.net_count; k++) {
        nets[k] = topology.nets[k].dev;
    }
    server->gpus = gpus;
    server->nets = nets;
    return true;
}

// The graph file of one server: the same for each, as a rail keeps its number everywhere.
static bool write_graph(const char **text, const struct work *work, const char *crossings)
{
    const struct weft_environment *base = &work->environment->base;
    const struct weft_cluster *cluster = &work->cluster;
    const struct weft_accelerator *accelerator = NULL;
    struct weft_error unknown;
    bool known =
        cluster->accelerator != NULL && weft_request_accelerator(&accelerator, cluster, &unknown);
    struct weft_nccl_rails server = {
        .gpu_count = cluster->accelerators_per_server,
        .net_count = cluster->degree,
        .rate_Bps = cluster->rate_Bps,
        .linked = !known || accelerator->link_Bps > 0,
    };
    struct weft_nccl_graphs graphs;
    if (!find_devs(&server, work)) {
        return false;
    }
    if (!weft_nccl_rails(&graphs, &server, base->arena, base->error)) {
        return weft_wrap(base->error, "%s", work->request->source);
    }
    if (!known && server.gpu_count > 1) {
        weft_request_note(
            work->environment,
            "the kind of accelerator is not stated: NVLink inside servers is assumed");
    }
    struct weft_text comment;
    struct weft_arena scratch = base->scratch;
    weft_text_init(&comment, &scratch);
    weft_text_add(&comment, "ranks in this order of servers:");
    add_order(&comment, work);
    weft_text_add(&comment, "; %s: %s", work->specification.name, crossings);
    *text = weft_nccl_graphs_write(&graphs, comment.data, base->arena);
    return true;
}

static bool write_hosts(const char **text, const struct work *work, const char *crossings)
{
    const struct weft_environment *base = &work->environment->base;
    struct weft_hosts hosts;
    if (!weft_hosts_of(&hosts, work->order, work->count, rails_first_node(work->request), base)) {
        return false;
    }
    *text = weft_hosts_write(
        &hosts, work->cluster.accelerators_per_server,
        weft_arena_format(base->arena, "%s: %s", work->specification.name, crossings), base->arena);
    return true;
}

bool rails_export(struct weft_collective_export_result *result,
                  const struct weft_collective_export_request *request,
                  struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct work work = {.request = request, .environment = environment};
    struct weft_collective_export_result found = {.text = NULL};
    if (!weft_fabric_specification_parse(&work.specification, request->source, base->arena,
                                         base->error) ||
        !find_rails(&work) || !find_order(&found.rails, &work)) {
        return false;
    }
    const char *crossings = describe(&found.rails, base->arena);
    if (!(request->kind == WEFT_EXPORT_HOSTFILE ? write_hosts(&found.text, &work, crossings)
                                                : write_graph(&found.text, &work, crossings))) {
        return false;
    }
    weft_request_note(environment, "rings of %u rail%s over %u servers: %s", found.rails.nic_count,
                      found.rails.nic_count == 1 ? "" : "s", work.count, crossings);
    *result = found;
    return true;
}
