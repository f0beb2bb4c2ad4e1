// SPDX-License-Identifier: Apache-2.0
// A schedule for any fabric (docs/synthesis.md), with as many chunks as make it quick. More chunks
// keep more links busy at once and cost more time to plan, so that counts are tried upwards until
// the bound is near, the work too large, or the schedule no quicker.

#include "weft/request/collective.h"

// Whether more chunks could save no more than a five-hundredth.
static bool is_close(const struct weft_synthesis *made)
{
    return made->completion_ps - made->bound_ps <= made->bound_ps / 500;
}

static bool is_rooted(enum weft_collective_kind kind)
{
    return kind == WEFT_COLLECTIVE_BROADCAST || kind == WEFT_COLLECTIVE_REDUCE;
}

// Without --chunks: counts for which the time to plan stays short, the fewest of the quickest.
static bool find(struct weft_synthesis *best, struct weft_synthesis_options *options,
                 const struct weft_synthesize_request *request, const struct weft_fabric *fabric,
                 const struct weft_environment *base)
{
    static const uint32_t spread[] = {1, 2, 4, 8};
    static const uint32_t rooted[] = {1, 4, 16, 64, 256, 1024};
    bool one = is_rooted(options->kind);
    const uint32_t *factors = one ? rooted : spread;
    size_t count = one ? sizeof rooted / sizeof rooted[0] : sizeof spread / sizeof spread[0];
    options->chunk_factor = request->chunks > 0 ? request->chunks : 1;
    if (!weft_synthesize(best, fabric, options, base->arena, base->scratch, base->error)) {
        return false;
    }
    uint32_t used = options->chunk_factor;
    for (size_t i = 1; request->chunks == 0 && i < count; i++) {
        struct weft_synthesis made;
        struct weft_error ignored; // more chunks than it can do: the fewer stand
        options->chunk_factor = factors[i];
        uint64_t steps = (uint64_t)best->schedule.step_count / used * factors[i];
        if (is_close(best) || steps > 1u << 19 ||
            !weft_synthesize(&made, fabric, options, base->arena, base->scratch, &ignored)) {
            break;
        }
        if (made.completion_ps < best->completion_ps) {
            *best = made;
            used = factors[i];
        }
    }
    options->chunk_factor = used;
    return true;
}

// Behind switches a path is searched for each transfer of each try: an AllReduce of 250, 500 and
// 1000 servers of a leaf-spine took 3.0, 16 and 65 s; an AllToAll of 1000
// took 2.3 s. One switch needs a single try.
static bool afford(const struct weft_synthesis_options *options, uint32_t chunk_factor,
                   const struct weft_fabric *fabric, struct weft_request_environment *environment)
{
    double ranks = fabric->server_count;
    double phases = options->kind == WEFT_COLLECTIVE_ALLREDUCE ? 2 : 1;
    double chunks = (chunk_factor > 0 ? chunk_factor : 1) * (is_rooted(options->kind) ? 1 : ranks);
    const struct weft_request_cost cost = {
        .things = "transfers, over all {tries}",
        .count = phases * chunks * (ranks - 1) * options->tries,
        .per_s = options->kind == WEFT_COLLECTIVE_ALLTOALL ? 1.7e6 : 1.25e5,
        .remedy = "take fewer ranks, chunks or tries",
    };
    return fabric->node_count <= fabric->server_count + 1 ||
           weft_request_afford(&cost, environment);
}

// Fails with USAGE where the collective, the fabric or the size is missing; what was made is
// executed before it is returned.
bool weft_request_synthesize(struct weft_synthesize_result *result,
                             const struct weft_synthesize_request *request,
                             struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    const struct weft_fabric *fabric = NULL;
    if (request->kind == NULL) {
        return weft_fail(base->error, WEFT_USAGE, "which collective? write for example all-gather");
    }
    if (request->fabric == NULL) {
        return weft_fail(base->error, WEFT_USAGE,
                         "on which fabric? write {fabric=torus:8x8} or {fabric=PLAN}");
    }
    if (request->synthesis.size_bytes == 0) {
        return weft_fail(base->error, WEFT_USAGE, "of how many bytes? write {size=100MB}");
    }
    struct weft_synthesis_options options = request->synthesis;
    const struct weft_request_fabric wanted = {.specification = request->fabric,
                                               .hardware = &request->hardware,
                                               .shape = {.seed = base->seed}};
    if (!weft_request_kind(&options.kind, request->kind, base->error) ||
        !weft_request_refuse_root(options.kind, options.root, base->error) ||
        !weft_request_links(&fabric, &wanted, environment) ||
        !afford(&options, request->chunks, fabric, environment)) {
        return false;
    }
    options.seed = base->seed;
    struct weft_synthesize_result found = {.seed = base->seed};
    if (!find(&found.made, &options, request, fabric, base) ||
        !weft_schedule_check(&found.report, &found.made.schedule, base->scratch, base->error)) {
        return false;
    }
    found.chunks = options.chunk_factor;
    *result = found;
    return true;
}
