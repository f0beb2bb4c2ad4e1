// SPDX-License-Identifier: Apache-2.0
// Plans in, schema weft.plan/1: metrics, cluster, certificate and topology.
//
// The reader refuses what no plan can hold (missing keys, indices out of range). What a plan can
// hold although it is wrong is left to weft_plan_check, so that it can say all that is wrong.

#include "read.h"

#include <math.h>
#include <string.h>

#define SERVERS_MAX 8192u
#define LARGE 1e30
#define PRICE_ROWS_MAX 4096u
#define CHOICES_MAX 65536u
#define CHUNK_FACTOR_MAX 4096u

static bool read_price_row(struct weft_price_row *row, const json_t *object,
                           struct weft_error *error)
{
    const struct {
        const char *key;
        double *value;
    } columns[] = {
        {"rate_Bps", &row->rate_Bps},
        {"transceiver_usd", &row->transceiver_usd},
        {"transceiver_watts", &row->transceiver_watts},
        {"nic_usd", &row->nic_usd},
        {"nic_watts", &row->nic_watts},
        {"switch_port_usd", &row->switch_port_usd},
        {"switch_port_watts", &row->switch_port_watts},
        {"patch_panel_port_usd", &row->patch_panel_port_usd},
        {"ocs_port_usd", &row->ocs_port_usd},
        {"ocs_port_watts", &row->ocs_port_watts},
        {"mechanical_switch_usd", &row->mechanical_switch_usd},
    };
    for (uint32_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        if (!weft_json_real(columns[i].value, object, columns[i].key, 0, LARGE, error)) {
            return false;
        }
    }
    return true;
}

static bool read_prices(struct weft_price_book *book, const json_t *cluster,
                        struct weft_arena *arena, struct weft_error *error)
{
    const json_t *prices = NULL;
    const json_t *items = NULL;
    const char *text = NULL;
    if (!weft_json_object(&prices, cluster, "prices", error)) {
        return false;
    }
    if (!weft_json_array(&items, prices, "rows", error) ||
        !weft_json_text(&text, prices, "source", arena, error)) {
        return weft_wrap(error, "prices");
    }
    size_t count = json_array_size(items);
    if (count > PRICE_ROWS_MAX) {
        return weft_fail(error, WEFT_INPUT, "prices: rows: %zu rows, more than %u", count,
                         PRICE_ROWS_MAX);
    }
    struct weft_price_row *rows = WEFT_NEW(arena, struct weft_price_row, count);
    for (size_t i = 0; i < count; i++) {
        if (!read_price_row(&rows[i], json_array_get(items, i), error)) {
            return weft_wrap(error, "prices: rows[%zu]", i);
        }
    }
    *book = (struct weft_price_book){(uint32_t)count, rows, text};
    return true;
}

static bool read_cluster_keys(struct weft_cluster *cluster, const json_t *object,
                              struct weft_arena *arena, struct weft_error *error)
{
    double latency_s = 0;
    if (!weft_json_text(&cluster->name, object, "name", arena, error) ||
        !weft_json_u32(&cluster->server_count, object, "servers", 2, SERVERS_MAX, error) ||
        !weft_json_u32(&cluster->degree, object, "degree", 1, SERVERS_MAX - 1, error) ||
        !weft_json_real(&cluster->rate_Bps, object, "rate_Bps", 0, LARGE, error) ||
        !weft_json_real(&latency_s, object, "latency_s", 0, 1, error) ||
        !weft_json_u32(&cluster->accelerators_per_server, object, "accelerators_per_server", 0,
                       UINT32_MAX, error) ||
        !weft_json_text(&cluster->accelerator, object, "accelerator", arena, error) ||
        !weft_json_real(&cluster->accelerator_memory_bytes, object, "accelerator_memory_bytes", 0,
                        LARGE, error) ||
        !read_prices(&cluster->prices, object, arena, error)) {
        return false;
    }
    cluster->latency_ps = (uint64_t)llround(latency_s * (double)WEFT_PS_PER_S);
    return weft_cluster_check(cluster, error);
}

static bool read_cluster(struct weft_plan *plan, const struct weft_plan_source *source)
{
    const json_t *object = NULL;
    if (!weft_json_object(&object, source->root, "cluster", source->error)) {
        return false;
    }
    return read_cluster_keys(&plan->cluster, object, source->arena, source->error) ||
           weft_wrap(source->error, "cluster");
}

static bool read_scope(enum weft_bound_scope *scope, const json_t *object, struct weft_error *error)
{
    static const enum weft_bound_scope scopes[] = {WEFT_BOUND_ANY_STRATEGY, WEFT_BOUND_ANY_FABRIC,
                                                   WEFT_BOUND_DIRECT_FABRIC,
                                                   WEFT_BOUND_THIS_FABRIC};
    const json_t *found = json_object_get(object, "scope");
    const char *name = json_is_string(found) ? json_string_value(found) : "";
    for (uint32_t i = 0; i < sizeof scopes / sizeof scopes[0]; i++) {
        if (strcmp(name, weft_bound_scope_name(scopes[i])) == 0) {
            *scope = scopes[i];
            return true;
        }
    }
    return weft_fail(error, WEFT_INPUT,
                     "scope: not any-strategy, any-fabric, direct-fabric or this-fabric");
}

static bool read_bound(struct weft_bound *bound, const json_t *object, struct weft_arena *arena,
                       struct weft_error *error)
{
    return weft_json_text(&bound->name, object, "name", arena, error) &&
           weft_json_real(&bound->seconds, object, "seconds", 0, LARGE, error) &&
           read_scope(&bound->scope, object, error) &&
           weft_json_bool(&bound->any_allreduce, object, "any_allreduce", error) &&
           weft_json_text(&bound->reason, object, "reason", arena, error);
}

static bool read_certificate_keys(struct weft_certificate *certificate, const json_t *object,
                                  struct weft_arena *arena, struct weft_error *error)
{
    const json_t *items = NULL;
    if (!weft_json_real(&certificate->lower_bound_s, object, "lower_bound_s", 0, LARGE, error) ||
        !weft_json_real(&certificate->gap_ratio, object, "gap_ratio", -LARGE, LARGE, error) ||
        !weft_json_array(&items, object, "bounds", error)) {
        return false;
    }
    size_t count = json_array_size(items);
    if (count == 0) {
        return weft_fail(error, WEFT_INPUT, "bounds: none; a certificate has at least one");
    }
    if (!weft_json_u32(&certificate->binding, object, "binding", 0, (uint32_t)count - 1, error)) {
        return false;
    }
    struct weft_bound *bounds = WEFT_NEW(arena, struct weft_bound, count);
    for (size_t i = 0; i < count; i++) {
        if (!read_bound(&bounds[i], json_array_get(items, i), arena, error)) {
            return weft_wrap(error, "bounds[%zu]", i);
        }
    }
    certificate->bound_count = (uint32_t)count;
    certificate->bounds = bounds;
    return true;
}

static bool read_certificate(struct weft_plan *plan, const struct weft_plan_source *source)
{
    const json_t *object = NULL;
    if (!weft_json_object(&object, source->root, "certificate", source->error)) {
        return false;
    }
    return read_certificate_keys(&plan->certificate, object, source->arena, source->error) ||
           weft_wrap(source->error, "certificate");
}

static bool read_simulation(struct weft_plan *plan, const struct weft_plan_source *source)
{
    const json_t *object = NULL;
    if (!weft_json_object(&object, source->root, "simulation", source->error)) {
        return false;
    }
    struct weft_sim_options *sim = &plan->sim;
    if (!weft_json_u32(&sim->packet_bytes, object, "packet_bytes", 0, 1u << 30, source->error) ||
        !weft_json_u32(&sim->header_bytes, object, "header_bytes", 0, 1u << 30, source->error) ||
        !weft_json_bool(&sim->acknowledged, object, "acknowledged", source->error) ||
        !weft_json_bool(&sim->small_in_one_round, object, "small_in_one_round", source->error) ||
        !weft_json_u64(&sim->seed, object, "seed", source->error)) {
        return weft_wrap(source->error, "simulation");
    }
    if (sim->header_bytes > 0 && sim->header_bytes >= sim->packet_bytes) {
        return weft_fail(source->error, WEFT_INPUT,
                         "simulation: header_bytes: %u leave no room in packets of %u bytes",
                         sim->header_bytes, sim->packet_bytes);
    }
    return true;
}

static bool read_metrics(struct weft_plan *plan, const struct weft_plan_source *source)
{
    const json_t *root = source->root;
    struct weft_error *error = source->error;
    const char *method = NULL;
    const json_t *cost = NULL;
    if (!weft_json_text(&method, root, "method", source->arena, error) ||
        !weft_json_u64(&plan->seed, root, "seed", error) ||
        !weft_json_real(&plan->iteration_s, root, "iteration_s", 0, LARGE, error) ||
        !weft_json_real(&plan->demand_weighted_hops, root, "demand_weighted_hops", 0, LARGE,
                        error) ||
        !weft_json_real(&plan->max_link_load_bytes, root, "max_link_load_bytes", 0, LARGE, error) ||
        !weft_json_real(&plan->mean_link_load_bytes, root, "mean_link_load_bytes", 0, LARGE,
                        error) ||
        !weft_json_real(&plan->bandwidth_tax_ratio, root, "bandwidth_tax_ratio", 0, LARGE, error) ||
        !weft_json_object(&cost, root, "cost", error)) {
        return false;
    }
    if (!weft_json_real(&plan->cost.total_usd, cost, "total_usd", 0, LARGE, error) ||
        !weft_json_real(&plan->cost.power_watts, cost, "power_watts", 0, LARGE, error)) {
        return weft_wrap(error, "cost");
    }
    bool weft = strcmp(method, "weft") == 0;
    if (!weft && strcmp(method, "topoopt") != 0) {
        return weft_fail(error, WEFT_INPUT, "method: '%.32s' is not weft or topoopt", method);
    }
    plan->method = weft ? WEFT_TOPOLOGY_WEFT : WEFT_TOPOLOGY_TOPOOPT;
    return true;
}

// Reads the planes: for each port of a server, where it leads. All sizes are held against the
// cluster before anything is taken.
static bool read_planes(struct weft_topology *topology, const struct weft_plan_source *source)
{
    const json_t *items = NULL;
    if (!weft_json_array(&items, source->root, "planes", source->error)) {
        return false;
    }
    uint32_t n = topology->server_count;
    if (json_array_size(items) != topology->degree) {
        return weft_fail(source->error, WEFT_INPUT,
                         "planes: %zu planes for servers of degree %u; write one for each",
                         json_array_size(items), topology->degree);
    }
    for (uint32_t p = 0; p < topology->degree; p++) {
        if (json_array_size(json_array_get(items, p)) != n) {
            return weft_fail(source->error, WEFT_INPUT,
                             "planes[%u]: not an array of %u numbers, one for each server", p, n);
        }
    }
    uint32_t *planes = WEFT_NEW(source->arena, uint32_t, (size_t)topology->degree * n);
    for (uint32_t p = 0; p < topology->degree; p++) {
        if (!weft_json_indices(planes + (size_t)p * n, json_array_get(items, p), n,
                               source->error)) {
            return weft_wrap(source->error, "planes[%u]", p);
        }
    }
    topology->planes = planes;
    return true;
}

// Notes where the circuits of a plane are not what the plane says.
static bool compare_circuits(const struct weft_topology *topology, uint32_t plane_index,
                             const json_t *items, struct weft_arena scratch,
                             struct weft_plan_source *source)
{
    uint32_t n = topology->server_count;
    const uint32_t *plane = topology->planes + (size_t)plane_index * n;
    bool *joined = WEFT_NEW(&scratch, bool, n);
    uint32_t differing = 0;
    for (size_t i = 0; i < json_array_size(items); i++) {
        uint32_t ends[2];
        const json_t *item = json_array_get(items, i);
        if (json_array_size(item) != 2) {
            return weft_fail(source->error, WEFT_INPUT,
                             "[%zu]: not a circuit; write [input port, output port]", i);
        }
        if (!weft_json_indices(ends, item, n, source->error)) {
            return weft_wrap(source->error, "[%zu]", i);
        }
        differing += joined[ends[0]] || ends[0] == ends[1] || plane[ends[0]] != ends[1];
        joined[ends[0]] = true;
    }
    for (uint32_t i = 0; i < n; i++) {
        differing += plane[i] != i && !joined[i];
    }
    if (differing > 0) {
        weft_plan_note_flaw(source, "plane %u: %u of its circuits are not what the plane says",
                            plane_index, differing);
    }
    return true;
}

static bool read_circuits(const struct weft_topology *topology, struct weft_arena scratch,
                          struct weft_plan_source *source)
{
    const json_t *items = NULL;
    if (!weft_json_array(&items, source->root, "circuits", source->error)) {
        return false;
    }
    if (json_array_size(items) != topology->degree) {
        return weft_fail(source->error, WEFT_INPUT,
                         "circuits: %zu planes for servers of degree %u; write one for each",
                         json_array_size(items), topology->degree);
    }
    for (uint32_t p = 0; p < topology->degree; p++) {
        const json_t *plane = json_array_get(items, p);
        if (!json_is_array(plane)) {
            return weft_fail(source->error, WEFT_INPUT, "circuits[%u]: not an array", p);
        }
        if (!compare_circuits(topology, p, plane, scratch, source)) {
            return weft_wrap(source->error, "circuits[%u]", p);
        }
    }
    return true;
}

static bool read_topology_keys(struct weft_topology *topology, const json_t *object,
                               const struct weft_plan_source *source)
{
    struct weft_error *error = source->error;
    const json_t *generators = NULL;
    if (!weft_json_bool(&topology->simplex, object, "simplex", error) ||
        !weft_json_u32(&topology->allreduce_degree, object, "allreduce_degree", 0, topology->degree,
                       error) ||
        !weft_json_real(&topology->mean_hops, object, "mean_hops", 0, LARGE, error) ||
        !weft_json_u32(&topology->diameter, object, "diameter", 0, UINT32_MAX, error) ||
        !weft_json_u64(&topology->steps, object, "steps", error) ||
        !weft_json_bool(&topology->stopped, object, "stopped", error) ||
        !weft_json_array(&generators, object, "generators", error)) {
        return false;
    }
    size_t count = json_array_size(generators);
    uint32_t *jumps = WEFT_NEW(source->arena, uint32_t, count);
    if (!weft_json_indices(jumps, generators, topology->server_count, error)) {
        return weft_wrap(error, "generators");
    }
    topology->generator_count = (uint32_t)count;
    topology->generators = jumps;
    return true;
}

static bool read_topology(struct weft_plan *plan, struct weft_plan_source *source)
{
    const json_t *object = NULL;
    struct weft_topology *topology = &plan->topology;
    topology->server_count = plan->cluster.server_count;
    topology->degree = plan->cluster.degree;
    if (!weft_json_object(&object, source->root, "topology", source->error)) {
        return false;
    }
    if (!read_topology_keys(topology, object, source) ||
        !weft_plan_read_rings(&topology->rings, object, &plan->network.fabric, source)) {
        return weft_wrap(source->error, "topology");
    }
    return true;
}

static bool read_collective(struct weft_collective_choice *choice, const json_t *object,
                            struct weft_arena *arena, struct weft_error *error)
{
    const char *name = NULL;
    if (!weft_json_u32(&choice->group, object, "group", 0, UINT32_MAX - 1, error) ||
        !weft_json_u64(&choice->size_min_bytes, object, "size_min_bytes", error) ||
        !weft_json_u64(&choice->size_max_bytes, object, "size_max_bytes", error) ||
        !weft_json_text(&name, object, "algorithm", arena, error) ||
        !weft_json_u32(&choice->chunk_factor, object, "chunk_factor", 1, CHUNK_FACTOR_MAX, error) ||
        !weft_json_bool(&choice->ring_order, object, "ring_order", error) ||
        !weft_json_real(&choice->seconds, object, "seconds", 0, LARGE, error)) {
        return false;
    }
    choice->algorithm = weft_algorithm_find(name);
    return choice->algorithm < WEFT_ALGORITHM_COUNT ||
           weft_fail(error, WEFT_INPUT, "algorithm: '%.32s' is none; see weft collective check",
                     name);
}

// Plans whose collectives are all rings do not have them.
static bool read_collectives(struct weft_plan *plan, const struct weft_plan_source *source)
{
    if (json_object_get(source->root, "collectives") == NULL) {
        return true;
    }
    const json_t *items = NULL;
    if (!weft_json_array(&items, source->root, "collectives", source->error)) {
        return false;
    }
    size_t count = json_array_size(items);
    if (count > CHOICES_MAX) {
        return weft_fail(source->error, WEFT_INPUT, "collectives: %zu rows, more than %u", count,
                         CHOICES_MAX);
    }
    struct weft_collective_choice *choices =
        WEFT_NEW(source->arena, struct weft_collective_choice, count + 1);
    for (size_t i = 0; i < count; i++) {
        if (!read_collective(&choices[i], json_array_get(items, i), source->arena, source->error)) {
            return weft_wrap(source->error, "collectives[%zu]", i);
        }
    }
    plan->collective_count = (uint32_t)count;
    plan->collectives = choices;
    return true;
}

static bool read_root(struct weft_plan *plan, struct weft_arena scratch,
                      struct weft_plan_source *source)
{
    const json_t *schema = json_object_get(source->root, "schema");
    if (!json_is_string(schema) || strcmp(json_string_value(schema), "weft.plan/1") != 0) {
        return weft_fail(source->error, WEFT_INPUT,
                         "schema: '%.40s' is not weft.plan/1, the plans this version reads",
                         json_is_string(schema) ? json_string_value(schema) : "");
    }
    if (!read_metrics(plan, source) || !read_simulation(plan, source) ||
        !read_cluster(plan, source) || !read_certificate(plan, source)) {
        return false;
    }
    plan->topology.server_count = plan->cluster.server_count;
    plan->topology.degree = plan->cluster.degree;
    return read_planes(&plan->topology, source) &&
           read_circuits(&plan->topology, scratch, source) &&
           weft_plan_read_network(plan, scratch, source) && read_topology(plan, source) &&
           read_collectives(plan, source) && weft_plan_read_job(plan, scratch, source);
}

bool weft_plan_read(struct weft_plan *plan, const char *data, size_t length,
                    struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    json_t *root = NULL;
    if (!weft_json_parse(&root, data, length, error)) {
        return false;
    }
    struct weft_plan_source source = {.root = root, .arena = arena, .error = error};
    weft_plan_flaws_init(&source);
    struct weft_plan read = {.seed = 0};
    bool good = read_root(&read, scratch, &source);
    json_decref(root);
    if (!good) {
        return false;
    }
    weft_plan_flaws_publish(&read, &source);
    *plan = read;
    plan->network.routes.fabric = &plan->network.fabric;
    return true;
}

bool weft_plan_load(struct weft_plan *plan, const char *path, struct weft_arena *arena,
                    struct weft_arena scratch, struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    if (!weft_file_load(&data, &length, path, 0, &scratch, error)) {
        return false;
    }
    return weft_plan_read(plan, data, length, arena, scratch, error) ||
           weft_wrap(error, "%s", path);
}
