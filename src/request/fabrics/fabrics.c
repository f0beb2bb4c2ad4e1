// SPDX-License-Identifier: Apache-2.0
// The reference fabrics of a cluster, counted and priced: in ports, as the builders count, or as
// they are bought, with their bills and the cables of one.
//
// Each fabric is built with its routes in an arena that is gone when its row is filled, so that the
// memory is that of the largest one: O(n^2) routes of n servers.

#include "weft/request/fabrics.h"
#include "request/buy/buy.h"
#include "weft/request/parameter.h"

#include <string.h>

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

// Builds a fabric as it is bought. It is gone with the scratch arena: what is kept is counted again
// into the result's.
static bool buy_row(struct weft_fabrics_row *row, const struct weft_fabric_reference *reference,
                    const struct weft_cluster *cluster, const struct weft_fabrics_request *request,
                    const struct weft_environment *environment)
{
    struct weft_environment inner = *environment;
    struct weft_arena arena = weft_arena_split(&inner.scratch);
    inner.arena = &arena;
    struct weft_bill_options options = request->purchase;
    options.shape.seed = environment->seed;
    struct weft_network network;
    struct weft_bill bill;
    *row = (struct weft_fabrics_row){.name = reference->name, .summary = reference->summary};
    if (!weft_fabric_buy(&network, &bill, reference->name, cluster, &options, &inner)) {
        return false;
    }
    row->node_count = network.fabric.node_count;
    row->link_count = network.fabric.link_count;
    row->parts = network.fabric.parts;
    row->one_tier = !network.fabric.forwards && !weft_buy_joins_switches(&network.fabric);
    inner.arena = environment->arena;
    options.switch_name = bill.switch_name;
    return weft_fabric_bill(&row->bill, &network, cluster, &options, &inner) &&
           (!request->cabling ||
            weft_fabric_cabling(&row->sheet, &network, cluster, &options, &inner));
}

// A row that is being built or bought: one that memory is too small for is refused alone.
struct row_work {
    struct weft_fabrics_row *row;
    const struct weft_fabric_reference *reference;
    const struct weft_cluster *cluster;
    const struct weft_fabrics_request *request; // NULL = counted in ports
    struct weft_environment environment;
};

static bool fill_row(void *context)
{
    struct row_work *work = context;
    if (work->request != NULL) {
        return buy_row(work->row, work->reference, work->cluster, work->request,
                       &work->environment);
    }
    build_row(work->row, work->reference, work->cluster, &work->environment);
    return true;
}

// Fills a row or refuses it. False: it is asked to stop.
static bool try_row(struct weft_fabrics_row *row, const struct weft_fabric_reference *reference,
                    const struct weft_cluster *cluster, const struct weft_fabrics_request *request,
                    const struct weft_environment *environment)
{
    struct weft_error error;
    struct row_work work = {row, reference, cluster, request, *environment};
    work.environment.error = &error;
    if (weft_guard(fill_row, &work, &error)) {
        return true;
    }
    if (error.code == WEFT_STOPPED) {
        *environment->error = error;
        return false;
    }
    *row = (struct weft_fabrics_row){
        .name = reference->name,
        .summary = reference->summary,
        .refusal = weft_arena_format(environment->arena, "%s", error.message)};
    return true;
}

// The fabrics that {fabric} lists, or all.
static bool list_references(const struct weft_fabric_reference **listed, uint32_t *count,
                            const char *text, const struct weft_environment *environment)
{
    const char *const *words = NULL;
    *listed = weft_fabric_references(count);
    if (strcmp(text, "all") == 0) {
        return true;
    }
    if (!weft_split_list(&words, count, text, environment->arena, environment->error)) {
        return weft_wrap(environment->error, "{fabric}");
    }
    struct weft_fabric_reference *named =
        WEFT_NEW(environment->arena, struct weft_fabric_reference, *count);
    for (uint32_t i = 0; i < *count; i++) {
        const struct weft_fabric_reference *found =
            weft_fabric_reference_named(words[i], environment->error);
        if (found == NULL) {
            return weft_wrap(environment->error, "{fabric}");
        }
        named[i] = *found;
    }
    *listed = named;
    return true;
}

// The rows of one fabric, or of several, of which some may be refused.
static bool buy_rows(struct weft_fabrics_result *result, const struct weft_fabrics_request *request,
                     const struct weft_environment *environment)
{
    uint32_t count = 0;
    const struct weft_fabric_reference *references = NULL;
    const struct weft_switch_model *model = NULL;
    if (!list_references(&references, &count, request->fabric, environment)) {
        return false;
    }
    struct weft_fabrics_row *rows = WEFT_NEW(environment->arena, struct weft_fabrics_row, count);
    const char *switch_name = request->purchase.switch_name;
    if (switch_name != NULL &&
        !weft_cluster_find_switch(&model, &result->cluster, switch_name, environment->error)) {
        return weft_wrap(environment->error, "{switch}");
    }
    result->bills = true;
    result->rows = rows;
    if (count == 1) {
        result->row_count = 1;
        return buy_row(&rows[0], &references[0], &result->cluster, request, environment) ||
               weft_wrap(environment->error, "{fabric}");
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!try_row(&rows[i], &references[i], &result->cluster, request, environment)) {
            return false;
        }
    }
    result->row_count = count;
    return true;
}

// What is of bills alone, and of one fabric alone.
static bool check_purchase(const struct weft_fabrics_request *request, struct weft_error *error)
{
    const struct weft_bill_options *purchase = &request->purchase;
    const struct weft_stated of_bills[] = {
        {purchase->switch_name != NULL, "switch"},
        {purchase->rack_servers > 0, "rack-servers"},
        {purchase->row_racks > 0, "row-racks"},
        {purchase->shape.oversubscription > 0, "oversubscription"},
        {request->cabling, "cabling"},
        {false, NULL},
    };
    if (request->hardware.balance_given) {
        return weft_fail(error, WEFT_USAGE, "{balance} is nothing that is bought; leave it out");
    }
    if (request->fabric == NULL) {
        return weft_refuse_stated(of_bills, error, "is of a bill; write {fabric=leaf-spine}, too");
    }
    if (request->cabling &&
        (strcmp(request->fabric, "all") == 0 || strchr(request->fabric, ',') != NULL)) {
        return weft_fail(error, WEFT_USAGE, "{cabling} is of one fabric; name it by {fabric}");
    }
    return true;
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

// An oversubscription that has no effect.
static void note_uplinks(const struct weft_fabrics_result *result,
                         const struct weft_fabrics_request *request,
                         struct weft_request_environment *environment)
{
    for (uint32_t i = 0; i < result->row_count && request->purchase.shape.oversubscription > 1;
         i++) {
        if (result->rows[i].one_tier) {
            weft_request_note(environment,
                              "{oversubscription}: %s has one tier of switches here, and no "
                              "uplinks to oversubscribe; a smaller {switch} makes some",
                              result->rows[i].name);
        }
    }
}

// Mean hops look from every server along every link: with 8 ports each, 500, 1000, 2000 and 4000
// servers take 0.06, 0.21, 1.1 and 4.4 s for all rows together, with 64 the first three 0.16, 0.6
// and 4.2 s.
static bool afford_hops(const struct weft_cluster *cluster,
                        struct weft_request_environment *environment)
{
    double servers = cluster->server_count;
    const struct weft_request_cost cost = {
        .things = "looks along links",
        .count = servers * servers * (cluster->degree + 10.0),
        .per_s = 8e7,
        .remedy = "take fewer servers, or one fabric by {fabric=leaf-spine}",
    };
    return weft_request_afford(&cost, environment);
}

bool weft_request_fabrics(struct weft_fabrics_result *result,
                          const struct weft_fabrics_request *request,
                          struct weft_request_environment *environment)
{
    const struct weft_request_hardware *hardware = &request->hardware;
    const struct weft_request_cluster_need need = {.bought = true, .one_path = true};
    struct weft_cluster cluster;
    if (hardware->server_count == 0 && hardware->cluster_path == NULL) {
        return weft_fail(environment->base.error, WEFT_USAGE,
                         "how many servers? write {servers=128} or {cluster=FILE}");
    }
    const struct weft_stated of_play[] = {
        {hardware->latency_given, "latency"}, {hardware->host_given, "host-rate"}, {NULL}};
    if (!weft_refuse_stated(of_play, environment->base.error,
                            "is of what is played; fabrics are counted and priced: leave it out")) {
        return false;
    }
    if (!check_purchase(request, environment->base.error) ||
        !weft_request_cluster(&cluster, hardware, &need, environment)) {
        return false;
    }
    if (request->fabric != NULL) {
        *result = (struct weft_fabrics_result){.cluster = cluster};
        if (!buy_rows(result, request, &environment->base)) {
            return false;
        }
        note_uplinks(result, request, environment);
        return true;
    }
    if (!afford_hops(&cluster, environment)) {
        return false;
    }
    uint32_t count = 0;
    const struct weft_fabric_reference *references = weft_fabric_references(&count);
    struct weft_fabrics_row *rows =
        WEFT_NEW(environment->base.arena, struct weft_fabrics_row, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) {
        if (!try_row(&rows[i], &references[i], &cluster, NULL, &environment->base)) {
            return false;
        }
    }
    bound_row(&rows[count], &cluster);
    *result =
        (struct weft_fabrics_result){.cluster = cluster, .row_count = count + 1, .rows = rows};
    return true;
}
