// SPDX-License-Identifier: Apache-2.0
// Fabrics by their specification: reference fabrics ("torus:16x8", "ring:64", "ideal"), shapes of
// links ("mesh:8x8", "hypercube:6", "full-mesh:8"), the fabric of a plan's file or of a topology's.
// A specification with a dot or a slash is a file: no fabric's name has one.

#include "weft/format.h"
#include "weft/plan.h"
#include "weft/request.h"
#include "weft/request/parameter.h"

#include <stdio.h>
#include <string.h>

bool weft_parse_sides(uint32_t sides[3], const char *text)
{
    uint32_t found[3] = {0};
    for (uint32_t i = 0; i < 3; i++) {
        char digits[12];
        size_t length = strcspn(text, "x");
        uint64_t value = 0;
        struct weft_error error;
        if (length >= sizeof digits) {
            return false;
        }
        memcpy(digits, text, length);
        digits[length] = '\0';
        if (!weft_parse_count(&value, digits, 1, 1u << 20, &error)) {
            return false;
        }
        found[i] = (uint32_t)value;
        text += length;
        if (*text == '\0') {
            memcpy(sides, found, sizeof found);
            return true;
        }
        text++;
    }
    return false;
}

bool weft_fabric_specification_known(const char *text, struct weft_error *error)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ":"), text);
    return strcmp(name, "torus") == 0 || weft_fabric_reference_named(name, error) != NULL ||
           weft_wrap(error, "{fabric}");
}

bool weft_fabric_specification_parse(struct weft_fabric_specification *specification,
                                     const char *text, struct weft_arena *arena,
                                     struct weft_error *error)
{
    static const char torus[] = "torus";
    size_t length = strcspn(text, ":");
    const char *name = weft_arena_text(arena, text, length);
    *specification = (struct weft_fabric_specification){.name = name};
    bool is_torus = strncmp(name, torus, sizeof torus - 1) == 0;
    bool is_dragonfly = strcmp(name, "dragonfly") == 0;
    if (strcmp(name, torus) == 0) {
        specification->name = "torus-2d";
    }
    if (text[length] == '\0') {
        return true;
    }
    uint32_t sides[3];
    if (!weft_parse_sides(sides, text + length + 1) ||
        (sides[1] != 0 && !is_torus && !(is_dragonfly && sides[2] != 0))) {
        return weft_fail(error, WEFT_INPUT,
                         "{fabric}: '%.60s': behind the colon stand a torus' sides, a dragonfly's "
                         "servers, routers and global ports, or a number of servers; write "
                         "torus:16x8, dragonfly:4x8x4 or ring:64",
                         text);
    }
    if (is_dragonfly && sides[1] != 0) {
        memcpy(specification->sides, sides, sizeof sides);
        return true;
    }
    uint64_t servers = sides[0];
    if (sides[1] != 0) {
        servers *= (uint64_t)sides[1] * (sides[2] != 0 ? sides[2] : 1);
        specification->name = sides[2] != 0 ? "torus-3d" : "torus-2d";
        memcpy(specification->sides, sides, sizeof sides);
    }
    if (servers > 1u << 20) {
        return weft_fail(error, WEFT_INPUT, "{fabric}: '%.60s': more than %u servers", text,
                         1u << 20);
    }
    specification->server_count = (uint32_t)servers;
    return true;
}

// Ports a server has on a fabric where nothing says.
static uint32_t degree_of(const struct weft_fabric_specification *specification,
                          uint32_t server_count)
{
    static const struct {
        const char *name;
        uint32_t degree;
    } direct[] = {{"ring", 2}, {"torus-2d", 4}, {"torus-3d", 6}, {"expander", 4}};
    uint32_t by_sides = 0;
    bool is_torus = strncmp(specification->name, "torus", 5) == 0;
    for (uint32_t i = 0; is_torus && i < 3 && specification->sides[i] != 0; i++) {
        by_sides += specification->sides[i] > 2 ? 2 : specification->sides[i] - 1;
    }
    if (by_sides > 0) {
        return by_sides;
    }
    for (size_t i = 0; i < sizeof direct / sizeof direct[0]; i++) {
        if (strcmp(specification->name, direct[i].name) == 0 && server_count > 1) {
            return direct[i].degree < server_count ? direct[i].degree : server_count - 1;
        }
    }
    return 1;
}

// Builds the fabric of a cluster's accelerators.
static bool build_scale_up(struct weft_network *network, const char *name,
                           const struct weft_cluster *cluster,
                           const struct weft_request_scale_up *asked,
                           const struct weft_fabric_options *shape,
                           const struct weft_environment *base)
{
    double rate_Bps = asked->rate.Bps;
    if (!asked->rate.given) {
        const struct weft_accelerator *accelerator = NULL;
        struct weft_error unknown;
        if (cluster->accelerator == NULL ||
            !weft_request_accelerator(&accelerator, cluster, &unknown) ||
            !(accelerator->link_Bps > 0)) {
            return weft_fail(base->error, WEFT_USAGE,
                             "how fast is an accelerator's link inside its server? write "
                             "{scale-up-rate=450GB/s}, or name the kind in {cluster}");
        }
        rate_Bps = accelerator->link_Bps;
    }
    const struct weft_scale_up scale_up = {
        .accelerators = asked->accelerators,
        .rate_Bps = rate_Bps,
        .latency_ps = asked->latency.given ? asked->latency.ps : cluster->latency_ps,
    };
    return weft_fabric_build_scale_up(network, name, cluster, &scale_up, shape, base) ||
           weft_wrap(base->error, "{fabric}");
}

// A radix where no switch is chosen, a balance where every pair has one path.
bool weft_request_refuse_shape(const struct weft_request_fabric *request, const char *name,
                               struct weft_error *error)
{
    const struct weft_fabric_reference *found = weft_fabric_reference_named(name, NULL);
    const struct weft_fabric_reference none = {.name = name};
    const struct weft_fabric_reference *has = found != NULL ? found : &none;
    const struct weft_stated rows[] = {
        {!has->has_radix && request->shape.radix > 0, "radix"},
        {!has->has_ratio && request->shape.oversubscription > 0, "oversubscription"},
        {!has->has_planes && request->shape.planes > 0, "planes"},
        {!has->has_paths && request->hardware->balance_given, "balance"},
        {NULL},
    };
    return weft_refuse_stated(rows, error, "is nothing that fabric %.40s has; leave it out", name);
}

bool weft_request_reference(struct weft_network *network, struct weft_cluster *cluster,
                            const struct weft_request_fabric *request,
                            struct weft_request_environment *environment)
{
    struct weft_error *error = environment->base.error;
    const struct weft_request_hardware *hardware = request->hardware;
    uint32_t server_count = request->server_count;
    struct weft_fabric_specification specification;
    if (!weft_fabric_specification_parse(&specification, request->specification,
                                         environment->base.arena, error)) {
        return false;
    }
    if (!weft_request_refuse_shape(request, specification.name, error)) {
        return false;
    }
    uint32_t said = specification.server_count;
    uint32_t requested = hardware->server_count;
    if (said > 0 && ((requested > 0 && requested != said) || said < server_count ||
                     (request->exact && server_count > 0 && said != server_count))) {
        return weft_fail(error, WEFT_INPUT, "{fabric}: '%.60s' has %u servers, not %u",
                         request->specification, said, requested > 0 ? requested : server_count);
    }
    uint32_t count = said > 0 ? said : server_count > 0 ? server_count : requested;
    if (count == 0 && hardware->cluster_path == NULL) {
        return weft_fail(error, WEFT_USAGE,
                         "how many servers has '%.40s'? write %.40s:64 or {servers=64}",
                         specification.name, specification.name);
    }
    const struct weft_request_scale_up *scale_up = request->scale_up;
    uint32_t degree = degree_of(&specification, count);
    const struct weft_request_cluster_need need = {
        .server_count = count,
        .degree_default = scale_up != NULL && degree == 1 ? scale_up->accelerators : degree,
        .shard = count > 0 && (request->exact || said > 0),
        .one_path = request->one_path,
        .accelerators = scale_up != NULL ? scale_up->accelerators : 0,
    };
    if (!weft_request_cluster(cluster, hardware, &need, environment)) {
        return false;
    }
    struct weft_fabric_options shape = request->shape;
    memcpy(shape.sides, specification.sides, sizeof shape.sides);
    if (scale_up != NULL) {
        return build_scale_up(network, specification.name, cluster, scale_up, &shape,
                              &environment->base);
    }
    return weft_fabric_build_named(network, specification.name, cluster, &shape,
                                   &(struct weft_environment){.arena = environment->base.arena,
                                                              .scratch = environment->base.scratch,
                                                              .error = error}) ||
           weft_wrap(error, "{fabric}");
}

// "mesh:8x8" -> true in *matches, with its shape.
static bool read_shape(struct weft_shape *shape, bool *matches, const char *text,
                       struct weft_error *error)
{
    static const struct {
        const char *name;
        enum weft_shape_kind kind;
        uint32_t sides_max;
    } shapes[] = {{"mesh:", WEFT_SHAPE_MESH, 3},
                  {"hypercube:", WEFT_SHAPE_TORUS, 1},
                  {"full-mesh:", WEFT_SHAPE_FULL, 1}};
    *matches = false;
    for (size_t w = 0; w < sizeof shapes / sizeof shapes[0]; w++) {
        size_t length = strlen(shapes[w].name);
        if (strncmp(text, shapes[w].name, length) != 0) {
            continue;
        }
        *matches = true;
        *shape = (struct weft_shape){.kind = shapes[w].kind};
        uint32_t sides[3];
        if (!weft_parse_sides(sides, text + length) ||
            (shapes[w].sides_max == 1 && sides[1] != 0)) {
            return weft_fail(error, WEFT_INPUT,
                             "'%.60s': write mesh:8x8, hypercube:6 or full-mesh:8", text);
        }
        if (shape->kind != WEFT_SHAPE_TORUS) {
            memcpy(shape->sides, sides, sizeof sides);
            shape->side_count = sides[1] == 0 ? 1 : sides[2] == 0 ? 2 : 3;
            return true;
        }
        if (sides[0] > WEFT_SHAPE_SIDES) {
            return weft_fail(error, WEFT_INPUT, "'%.60s': at most %u dimensions", text,
                             WEFT_SHAPE_SIDES);
        }
        shape->side_count = sides[0];
        for (uint32_t i = 0; i < sides[0]; i++) {
            shape->sides[i] = 2;
        }
    }
    return true;
}

// Whether a specification names a plan: no fabric's name has a dot or a slash.
static bool is_file(const char *text)
{
    return strchr(text, '/') != NULL || strchr(text, '.') != NULL || strcmp(text, "-") == 0;
}

bool weft_request_names_plan(const char *specification)
{
    return is_file(specification);
}

// What would be ignored where the links come from a file or a shape.
static bool refuse_hardware(const struct weft_request_fabric *request, bool shape,
                            struct weft_error *error)
{
    const struct weft_request_hardware *hardware = request->hardware;
    const char *name = request->specification;
    bool given = hardware->cluster_path != NULL || hardware->server_count > 0 ||
                 hardware->degree > 0 || hardware->host_given || hardware->balance_given;
    if (shape) {
        return !given || weft_fail(error, WEFT_USAGE,
                                   "{fabric}: '%.60s' has links of one {rate} and {latency}; leave "
                                   "out {cluster}, {servers}, {degree}, {host-rate} and {balance}",
                                   name);
    }
    return !(given || hardware->rate_given || hardware->latency_given) ||
           weft_fail(error, WEFT_USAGE,
                     "{fabric}: '%.60s' is a plan, which brings its links; leave out {cluster}, "
                     "{servers}, {degree}, {rate}, {latency}, {host-rate} and {balance}",
                     name);
}

// The network of a file: a topology of another program, or a plan, whose flaws matter only where it
// is `played`.
static bool load_network(const struct weft_network **network,
                         const struct weft_request_fabric *request, bool played,
                         struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    const char *path = request->specification;
    if (weft_file_is_topology(weft_file_kind(path))) {
        struct weft_topology_file topology;
        struct weft_network *built = WEFT_NEW(base->arena, struct weft_network, 1);
        *network = built;
        return weft_request_topology_file(&topology, path, request->hardware, true, environment) &&
               weft_request_topology_build(built, &topology, request->hardware, path, base);
    }
    struct weft_plan *plan = WEFT_NEW(base->arena, struct weft_plan, 1);
    *network = &plan->network;
    if (!refuse_hardware(request, false, base->error) ||
        !weft_plan_load(plan, path, base->arena, base->scratch, base->error)) {
        return false;
    }
    return !played || plan->flaws.count == 0 ||
           weft_fail(base->error, WEFT_INPUT, "%s: %s; see weft check", path,
                     plan->flaws.items[0].text);
}

// A shape of links, or else a reference fabric. Only a shape's routes have to be searched, and only
// where they are `routed`.
static bool build_network(struct weft_network *network, const struct weft_request_fabric *request,
                          bool routed, struct weft_request_environment *environment)
{
    struct weft_arena *arena = environment->base.arena;
    struct weft_arena scratch = environment->base.scratch;
    struct weft_error *error = environment->base.error;
    const struct weft_request_hardware *hardware = request->hardware;
    struct weft_shape shape;
    bool matches = false;
    if (!read_shape(&shape, &matches, request->specification, error)) {
        return weft_wrap(error, "{fabric}");
    }
    if (!matches) {
        struct weft_cluster cluster;
        struct weft_request_fabric reference = *request;
        reference.exact = true;
        reference.shape = (struct weft_fabric_options){.seed = request->shape.seed};
        return weft_request_reference(network, &cluster, &reference, environment);
    }
    if (!refuse_hardware(request, true, error)) {
        return false;
    }
    if (!hardware->rate_given) {
        return weft_fail(error, WEFT_USAGE, "how fast is a link? write {rate=100Gbps}");
    }
    uint64_t latency_ps = hardware->latency_given ? hardware->latency_ps : 1000000;
    return (weft_fabric_build_shape(
                &network->fabric, &shape, hardware->rate_Bps, latency_ps,
                &(struct weft_environment){.arena = arena, .scratch = scratch, .error = error}) &&
            (!routed || weft_routes_build_shortest(&network->routes, &network->fabric, arena,
                                                   scratch, error))) ||
           weft_wrap(error, "{fabric}");
}

bool weft_request_network(const struct weft_network **network,
                          const struct weft_request_fabric *request,
                          struct weft_request_environment *environment)
{
    if (is_file(request->specification)) {
        return load_network(network, request, true, environment);
    }
    struct weft_network *made = WEFT_NEW(environment->base.arena, struct weft_network, 1);
    *network = made;
    return build_network(made, request, true, environment);
}

bool weft_request_links(const struct weft_fabric **fabric,
                        const struct weft_request_fabric *request,
                        struct weft_request_environment *environment)
{
    if (is_file(request->specification)) {
        const struct weft_network *network = NULL;
        bool loaded = load_network(&network, request, false, environment);
        *fabric = loaded ? &network->fabric : NULL;
        return loaded;
    }
    struct weft_network *made = WEFT_NEW(environment->base.arena, struct weft_network, 1);
    *fabric = &made->fabric;
    struct weft_request_fabric apart = *request;
    apart.one_path = true; // equal links are not joined
    return build_network(made, &apart, false, environment);
}
