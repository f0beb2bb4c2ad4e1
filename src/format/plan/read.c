// SPDX-License-Identifier: Apache-2.0
// Plans in, schema weft.plan/2: metrics, certificate and topology.
//
// The reader refuses what no plan can hold (missing keys, indices out of range). What a plan can
// hold although it is wrong is left to the checker (src/verify), so that it can say all that is
// wrong.

#include "read.h"

#include <stdlib.h>
#include <string.h>

#define LARGE 1e30
#define CHOICES_MAX 65536u
#define CHUNK_FACTOR_MAX 4096u

// The place of an object's text among `words`, of which NULL is the last; what does not stand there
// is refused with all that could.
static bool read_choice(uint32_t *value, const json_t *object, const char *key,
                        const char *const *words, struct weft_error *error)
{
    const json_t *found = json_object_get(object, key);
    const char *word = json_is_string(found) ? json_string_value(found) : "";
    for (uint32_t i = 0; words[i] != NULL; i++) {
        if (strcmp(word, words[i]) == 0) {
            *value = i;
            return true;
        }
    }
    return weft_fail(error, WEFT_INPUT, "%s: '%.32s' is not %s%s%s%s%s", key, word, words[0],
                     words[2] != NULL ? ", " : " or ", words[1], words[2] != NULL ? " or " : "",
                     words[2] != NULL ? words[2] : "");
}

// The price of a byte on each link; how many there must be is known only behind the links.
static bool read_bound_prices(struct weft_bound *bound, uint32_t *price_count, const json_t *object,
                              struct weft_arena *arena, struct weft_error *error)
{
    const json_t *items = json_object_get(object, "prices");
    if (items == NULL) {
        return true;
    }
    if (!json_is_array(items)) {
        return weft_fail(error, WEFT_INPUT, "prices: not an array");
    }
    size_t count = json_array_size(items);
    double *prices = WEFT_NEW(arena, double, count + 1);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(items, i);
        prices[i] = json_is_number(item) ? json_number_value(item) : -1;
        if (!(prices[i] >= 0 && prices[i] <= LARGE)) {
            return weft_fail(error, WEFT_INPUT, "prices: [%zu]: not between 0 and %g", i, LARGE);
        }
    }
    bound->prices = prices;
    *price_count = (uint32_t)count;
    return true;
}

// Reads one bound with what it holds for: its scope, and whether collectives and strategy may be
// any. Whether a bound of that name may say so, and may bind, is the checker's to judge.
static bool read_bound(struct weft_bound *bound, bool *binds, const json_t *object,
                       struct weft_arena *arena, struct weft_error *error)
{
    static const char *const scopes[] = {
        [WEFT_BOUND_THIS_FABRIC] = "this-fabric",
        [WEFT_BOUND_DIRECT_FABRIC] = "direct-fabric",
        [WEFT_BOUND_ANY_FABRIC] = "any-fabric",
        NULL,
    };
    static const char *const collectives[] = {"balanced", "any", NULL};
    static const char *const strategies[] = {"this", "any", NULL};
    uint32_t scope = 0;
    uint32_t any_collectives = 0;
    uint32_t any_strategy = 0;
    if (!weft_json_text(&bound->name, object, "name", arena, error) ||
        !weft_json_real(&bound->seconds, object, "seconds", 0, LARGE, error) ||
        !read_choice(&scope, object, "scope", scopes, error) ||
        !read_choice(&any_collectives, object, "collectives", collectives, error) ||
        !read_choice(&any_strategy, object, "strategy", strategies, error) ||
        !weft_json_bool(binds, object, "binding", error) ||
        !weft_json_real(&bound->gap_ratio, object, "gap_ratio", -LARGE, LARGE, error) ||
        !weft_json_bool(&bound->headline, object, "headline", error) ||
        !weft_json_text(&bound->reason, object, "reason", arena, error)) {
        return false;
    }
    bound->scope = (enum weft_bound_scope)scope;
    bound->any_collectives = any_collectives != 0;
    bound->any_strategy = any_strategy != 0;
    return true;
}

// Reads the lower bounds. The binding one is an index into them, so that they are counted first.
static bool read_certificate_keys(struct weft_certificate *certificate, const json_t *object,
                                  uint32_t link_count, struct weft_arena *arena,
                                  struct weft_error *error)
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
    struct weft_bound *bounds = WEFT_NEW(arena, struct weft_bound, count);
    uint32_t binding_count = 0;
    for (size_t i = 0; i < count; i++) {
        bool binds = false;
        const json_t *item = json_array_get(items, i);
        uint32_t price_count = link_count;
        if (!read_bound(&bounds[i], &binds, item, arena, error) ||
            !read_bound_prices(&bounds[i], &price_count, item, arena, error)) {
            return weft_wrap(error, "bounds[%zu]", i);
        }
        if (price_count != link_count) {
            return weft_fail(error, WEFT_INPUT,
                             "bounds[%zu]: prices: %u of them for %u links; write one a link", i,
                             price_count, link_count);
        }
        certificate->binding = binds ? (uint32_t)i : certificate->binding;
        binding_count += binds ? 1 : 0;
    }
    if (binding_count != 1) {
        return weft_fail(error, WEFT_INPUT,
                         "bounds: binding is true for %u of them; the gap is to one",
                         binding_count);
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
    uint32_t link_count = (uint32_t)json_array_size(json_object_get(source->root, "links"));
    return read_certificate_keys(&plan->certificate, object, link_count, source->arena,
                                 source->error) ||
           weft_wrap(source->error, "certificate");
}

// Who evaluated the plan: the flow engine where the key is missing, else packets as recorded.
static bool read_finals(struct weft_plan *plan, const json_t *object,
                        const struct weft_plan_source *source)
{
    struct weft_error *error = source->error;
    const char *engine = NULL;
    if (json_object_get(object, "engine") == NULL) {
        return true;
    }
    if (!weft_json_text(&engine, object, "engine", source->arena, error)) {
        return false;
    }
    if (strcmp(engine, "packet") != 0) {
        return weft_fail(error, WEFT_INPUT,
                         "engine: '%.32s' is not packet; leave the key out where "
                         "the flow engine decides",
                         engine);
    }
    weft_sim_as_recorded(&plan->sim, WEFT_NEW(source->arena, struct weft_packet_options, 1));
    return weft_json_u32(&plan->finals.count, object, "candidates", 1, UINT32_MAX, error) &&
           weft_json_real(&plan->finals.flow_s, object, "flow_s", 0, LARGE, error);
}

// Reads how the plan's time was simulated: the engine, its packets and the candidates that they
// judged. The checker plays the plan by these options, so what no engine could play is refused
// here.
static bool read_simulation(struct weft_plan *plan, const struct weft_plan_source *source)
{
    const json_t *object = NULL;
    if (!weft_json_object(&object, source->root, "simulation", source->error)) {
        return false;
    }
    struct weft_sim_options *sim = &plan->sim;
    if (!read_finals(plan, object, source) ||
        !weft_json_u32(&sim->packet_bytes, object, "packet_bytes", 0, 1u << 30, source->error) ||
        !weft_json_u32(&sim->header_bytes, object, "header_bytes", 0, 1u << 30, source->error) ||
        !weft_json_bool(&sim->acknowledged, object, "acknowledged", source->error) ||
        !weft_json_bool(&sim->small_in_one_round, object, "small_in_one_round", source->error) ||
        !weft_json_u64(&sim->seed, object, "seed", source->error)) {
        return weft_wrap(source->error, "simulation");
    }
    if (sim->engine == WEFT_ENGINE_PACKET && sim->packet_bytes == 0) {
        return weft_fail(source->error, WEFT_INPUT,
                         "simulation: packet_bytes: 0 is a fluid, which has no packets");
    }
    if (sim->header_bytes > 0 && sim->header_bytes >= sim->packet_bytes) {
        return weft_fail(source->error, WEFT_INPUT,
                         "simulation: header_bytes: %u leave no room in packets of %u bytes",
                         sim->header_bytes, sim->packet_bytes);
    }
    return true;
}

// Reads what stands at the top of the plan; that it follows from the rest is checked by
// the checker.
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

// Plans whose tasks met nowhere at one instant do not have them.
static bool read_ties(struct weft_plan *plan, const struct weft_plan_source *source)
{
    const json_t *items = NULL;
    struct weft_error *error = source->error;
    if (json_object_get(source->root, "ties") == NULL) {
        return true;
    }
    if (!weft_json_array(&items, source->root, "ties", error)) {
        return false;
    }
    size_t count = json_array_size(items);
    size_t room = 0;
    for (size_t i = 0; i < count; i++) {
        room += json_array_size(json_array_get(items, i));
    }
    uint32_t *first = WEFT_NEW(source->arena, uint32_t, count + 1);
    uint32_t *tasks = WEFT_NEW(source->arena, uint32_t, room + 1);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(items, i);
        if (!json_is_array(item) || json_array_size(item) < 2) {
            return weft_fail(error, WEFT_INPUT, "ties[%zu]: not a list of tasks that met", i);
        }
        if (!weft_json_indices(tasks + first[i], item, UINT32_MAX, error)) {
            return weft_wrap(error, "ties[%zu]", i);
        }
        first[i + 1] = first[i] + (uint32_t)json_array_size(item);
    }
    plan->ties.count = (uint32_t)count;
    plan->ties.first = first;
    plan->ties.tasks = tasks;
    return true;
}

// Whether this is a plan, and one that can be read. What an older plan states cannot be checked:
// its bounds do not say what they hold for.
static bool read_schema(const struct weft_plan_source *source)
{
    const json_t *found = json_object_get(source->root, "schema");
    const char *schema = json_is_string(found) ? json_string_value(found) : "";
    if (strcmp(schema, "weft.plan/2") == 0) {
        return true;
    }
    if (strcmp(schema, "weft.plan/1") == 0) {
        return weft_fail(source->error, WEFT_INPUT,
                         "schema: weft.plan/1 is of an older version, whose bounds do not say what "
                         "they hold for; plan again with weft plan, which writes weft.plan/2");
    }
    if (strncmp(schema, "weft.", 5) == 0) {
        return weft_fail(source->error, WEFT_INPUT,
                         "schema: '%.40s' is no plan; name a file that weft plan -o wrote "
                         "(weft.plan/2)",
                         schema);
    }
    return weft_fail(source->error, WEFT_INPUT,
                     "schema: '%.40s' is not weft.plan/2, the plans this version reads", schema);
}

// The hash of all else that the writer put into the file.
static bool read_digest(uint64_t *digest, const struct weft_plan_source *source)
{
    const char *text = NULL;
    if (!weft_json_text(&text, source->root, "digest", source->arena, source->error)) {
        return false;
    }
    char *end = NULL;
    *digest = strtoull(text, &end, 16);
    return (strlen(text) == 16 && *end == '\0') ||
           weft_fail(source->error, WEFT_INPUT, "digest: '%.32s' is not 16 hexadecimal digits",
                     text);
}

static bool read_root(struct weft_plan *plan, struct weft_arena scratch,
                      struct weft_plan_source *source)
{
    if (!read_schema(source)) {
        return false;
    }
    if (!read_metrics(plan, source) || !read_simulation(plan, source) ||
        !weft_plan_read_search(&plan->cut, source) ||
        !weft_plan_read_cluster(&plan->cluster, source) || !read_certificate(plan, source)) {
        return false;
    }
    plan->topology.server_count = plan->cluster.server_count;
    plan->topology.degree = plan->cluster.degree;
    return read_planes(&plan->topology, source) &&
           read_circuits(&plan->topology, scratch, source) &&
           weft_plan_read_network(plan, scratch, source) && read_topology(plan, source) &&
           read_collectives(plan, source) && read_ties(plan, source) &&
           weft_plan_read_job(plan, scratch, source) && read_digest(&plan->digest, source);
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
           weft_file_mistaken(error, path, WEFT_FILE_PLAN);
}
