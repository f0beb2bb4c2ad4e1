// SPDX-License-Identifier: Apache-2.0
// A schedule by its specification: an algorithm's name with ranks and shape, which a fabric may
// give, or the file of a program of MSCCL or MSCCL++. All requests about single schedules begin
// here, so that the same words mean the same schedule everywhere.

#include "weft/format.h"
#include "weft/request/collective.h"
#include "weft/request/parameter.h"

#include <inttypes.h>
#include <string.h>

// Where a fabric is named without a rate: which links there are does not hang on how fast they are.
#define RATE_DEFAULT_BPS 12.5e9
#define SIZE_DEFAULT_BYTES 100000000u
// What is executed: some seconds and, at the worst, 4 GiB for slots.
#define TRANSFERS_MAX ((uint64_t)1 << 28)
#define SLOTS_MAX ((uint64_t)1 << 28)

bool weft_request_kind(enum weft_collective_kind *kind, const char *name, struct weft_error *error)
{
    *kind = weft_collective_find(name);
    if (*kind < WEFT_COLLECTIVE_KIND_COUNT) {
        return true;
    }
    const char *names[WEFT_COLLECTIVE_KIND_COUNT];
    for (uint32_t i = 0; i < WEFT_COLLECTIVE_KIND_COUNT; i++) {
        names[i] = weft_collective_name((enum weft_collective_kind)i);
    }
    return weft_fail_word(error, "collective", name, names, WEFT_COLLECTIVE_KIND_COUNT);
}

bool weft_request_algorithm(enum weft_algorithm *algorithm, const char *name,
                            struct weft_error *error)
{
    *algorithm = weft_algorithm_find(name);
    if (*algorithm < WEFT_ALGORITHM_COUNT) {
        return true;
    }
    const char *names[WEFT_ALGORITHM_COUNT];
    for (uint32_t i = 0; i < WEFT_ALGORITHM_COUNT; i++) {
        names[i] = weft_algorithm_name((enum weft_algorithm)i);
    }
    weft_fail_word(error, "algorithm", name, names, WEFT_ALGORITHM_COUNT);
    return weft_file_kind(name) != WEFT_FILE_UNKNOWN &&
           weft_file_mistaken(error, name, WEFT_FILE_MSCCL);
}

bool weft_request_refuse_root(enum weft_collective_kind kind, uint32_t root,
                              struct weft_error *error)
{
    return root == 0 || kind == WEFT_COLLECTIVE_BROADCAST || kind == WEFT_COLLECTIVE_REDUCE ||
           weft_fail(error, WEFT_USAGE, "{root}: %s has none; leave it out",
                     weft_collective_name(kind));
}

bool weft_collective_is_file(const char *source)
{
    size_t length = strlen(source);
    return strchr(source, '/') != NULL ||
           (length > 4 && strcmp(source + length - 4, ".xml") == 0) ||
           (length > 5 && strcmp(source + length - 5, ".json") == 0);
}

// Ranks and shape from the fabric and {servers}, where they say them.
static bool read_fabric(struct weft_collective_source *source,
                        const struct weft_collective_request *request,
                        struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_algorithm_options *options = &source->options;
    struct weft_request_hardware hardware = request->hardware;
    uint32_t servers = hardware.server_count;
    if (request->fabric == NULL &&
        (hardware.cluster_path != NULL || hardware.degree > 0 || hardware.rate_given ||
         hardware.latency_given || hardware.host_given || hardware.balance_given)) {
        return weft_fail(base->error, WEFT_USAGE,
                         "{cluster}, {degree}, {rate}, {latency}, {host-rate} and {balance} are of "
                         "a {fabric}, which an algorithm does not need; leave them out");
    }
    if (request->fabric != NULL) {
        if (!hardware.rate_given && hardware.cluster_path == NULL &&
            !weft_request_names_plan(request->fabric)) {
            hardware.rate_given = true;
            hardware.rate_Bps = RATE_DEFAULT_BPS;
        }
        const struct weft_request_fabric wanted = {.specification = request->fabric,
                                                   .hardware = &hardware,
                                                   .server_count = options->rank_count,
                                                   .shape = {.seed = base->seed}};
        if (!weft_request_links(&source->fabric, &wanted, environment)) {
            return false;
        }
        servers = source->fabric->server_count;
    }
    if (options->rank_count == 0) {
        options->rank_count = servers;
    }
    if (servers > 0 && servers != options->rank_count) {
        return weft_fail(base->error, WEFT_INPUT,
                         "{ranks}: the fabric has %u servers, not %u; give one of the two", servers,
                         options->rank_count);
    }
    bool torus = request->fabric != NULL && strncmp(request->fabric, "torus", 5) == 0;
    struct weft_fabric_specification named;
    if (torus && source->algorithm == WEFT_ALGORITHM_TORUS && options->shape[0] == 0) {
        if (!weft_fabric_specification_parse(&named, request->fabric, base->arena, base->error)) {
            return false;
        }
        memcpy(options->shape, named.sides, sizeof options->shape);
    }
    return true;
}

// What a file brings itself.
static bool refuse_beside_file(const struct weft_collective_request *request,
                               struct weft_error *error)
{
    const struct weft_request_hardware *hardware = &request->hardware;
    const struct weft_algorithm_options *options = &request->options;
    const struct weft_stated rows[] = {
        {options->rank_count > 0, "ranks"},
        {request->kind_given, "kind"},
        {options->chunk_factor > 1, "chunks"},
        {options->root > 0, "root"},
        {options->straggler > 0, "straggler"},
        {options->shape[0] > 0, "shape"},
        {options->radix > 0, "radix"},
        {request->fabric != NULL, "fabric"},
        {request->size_bytes > 0, "size"},
        {request->buffer_words > 0, "words"},
        {hardware->cluster_path != NULL, "cluster"},
        {hardware->server_count > 0, "servers"},
        {hardware->degree > 0, "degree"},
        {hardware->rate_given, "rate"},
        {hardware->latency_given, "latency"},
        {hardware->balance_given, "balance"},
        {hardware->host_given, "host-rate"},
        {NULL},
    };
    return weft_refuse_stated(rows, error,
                              "is nothing beside a file, which says its ranks and is proved, not "
                              "timed; leave it out");
}

// What the algorithm has no use for. Only what is made for a fabric's links asks of them more than
// their number.
static bool refuse_for_algorithm(const struct weft_collective_source *source,
                                 const struct weft_collective_request *request,
                                 struct weft_error *error)
{
    enum weft_algorithm algorithm = source->algorithm;
    const struct weft_request_hardware *hardware = &request->hardware;
    bool shaped = algorithm == WEFT_ALGORITHM_TORUS || algorithm == WEFT_ALGORITHM_HIERARCHICAL ||
                  algorithm == WEFT_ALGORITHM_STAGED;
    bool made = weft_algorithm_needs_fabric(algorithm);
    const struct weft_stated rows[] = {
        {algorithm != WEFT_ALGORITHM_STRAGGLAR && request->options.straggler > 0, "straggler"},
        {!shaped && request->options.shape[0] > 0, "shape"},
        {algorithm != WEFT_ALGORITHM_RECURSIVE_EXCHANGE && request->options.radix > 0, "radix"},
        {algorithm != WEFT_ALGORITHM_SYNTHESIZE && request->size_bytes > 0, "size"},
        {!made && hardware->rate_given, "rate"},
        {!made && hardware->latency_given, "latency"},
        {!made && hardware->host_given, "host-rate"},
        {!made && hardware->balance_given, "balance"},
        {NULL},
    };
    return weft_refuse_stated(rows, error, "is nothing that %s has; leave it out",
                              weft_algorithm_name(algorithm));
}

bool weft_request_collective_source(struct weft_collective_source *source,
                                    const struct weft_collective_request *request,
                                    struct weft_request_environment *environment)
{
    struct weft_error *error = environment->base.error;
    struct weft_collective_source found = {.options = request->options};
    if (weft_collective_is_file(request->source)) {
        found.algorithm = WEFT_ALGORITHM_COUNT;
        *source = found;
        return refuse_beside_file(request, error);
    }
    if (!weft_request_algorithm(&found.algorithm, request->source, error) ||
        !refuse_for_algorithm(&found, request, error) ||
        !read_fabric(&found, request, environment)) {
        return false;
    }
    if (found.algorithm < WEFT_ALGORITHM_COUNT && weft_algorithm_needs_fabric(found.algorithm) &&
        request->fabric == NULL) {
        return weft_fail(error, WEFT_USAGE, "for which fabric? write {fabric=torus:8x8}");
    }
    if (found.options.rank_count == 0) {
        return weft_fail(error, WEFT_USAGE, "how many ranks? write {ranks=8}");
    }
    while (!request->kind_given && !weft_algorithm_supports(found.algorithm, found.options.kind)) {
        found.options.kind++;
    }
    *source = found;
    return weft_request_refuse_root(found.options.kind, found.options.root, error);
}

bool weft_request_collective_build(struct weft_schedule *schedule,
                                   const struct weft_collective_source *source, uint64_t size_bytes,
                                   const struct weft_environment *environment)
{
    if (source->algorithm == WEFT_ALGORITHM_SYNTHESIZE) {
        const struct weft_synthesis_options synthesis = {
            .kind = source->options.kind,
            .size_bytes = size_bytes > 0 ? size_bytes : SIZE_DEFAULT_BYTES,
            .chunk_factor = source->options.chunk_factor,
            .root = source->options.root,
            .seed = environment->seed,
        };
        struct weft_synthesis made;
        if (!weft_synthesize(&made, source->fabric, &synthesis, environment->arena,
                             environment->scratch, environment->error)) {
            return false;
        }
        *schedule = made.schedule;
        return true;
    }
    if (source->algorithm == WEFT_ALGORITHM_PACKED_TREES) {
        const struct weft_packing_options packing = {.chunk_count = source->options.chunk_factor};
        return weft_pack_trees(schedule, source->fabric, &packing, environment);
    }
    return weft_algorithm_build(schedule, source->algorithm, &source->options, environment->arena,
                                environment->scratch, environment->error);
}

bool weft_collective_is_executable(const struct weft_schedule *schedule, struct weft_error *error)
{
    uint64_t transfers = weft_schedule_transfer_count(schedule);
    uint64_t slots = (uint64_t)schedule->slot_count * schedule->rank_count;
    return (transfers <= TRANSFERS_MAX && slots <= SLOTS_MAX) ||
           weft_fail(error, WEFT_UNSUPPORTED,
                     "schedule '%s': %" PRIu64 " transfers between %" PRIu64
                     " slots, at most %" PRIu64 " of each are executed; take fewer ranks or chunks",
                     schedule->name, transfers, slots, TRANSFERS_MAX);
}
