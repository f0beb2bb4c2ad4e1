// SPDX-License-Identifier: Apache-2.0
// The core of circuits, asked directly: a file of numbers, the function of weft/circuit.h.

#include "weft/request/optics.h"
#include "weft/format.h"

#include <math.h>

bool weft_request_maxmin(struct weft_maxmin_result *result,
                         const struct weft_maxmin_request *request,
                         struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_numbers matrix;
    if (!weft_numbers_load(&matrix, request->path, 0, base->arena, base->scratch, base->error)) {
        return false;
    }
    uint32_t n = matrix.rows;
    uint32_t *circuits = WEFT_NEW(base->arena, uint32_t, (size_t)n * n);
    uint32_t *permutations = WEFT_NEW(base->arena, uint32_t, (size_t)request->ports * n);
    double ratio = 0;
    if (!weft_circuit_maxmin(circuits, &ratio, matrix.values, n, request->ports, base->scratch,
                             base->error)) {
        return weft_wrap(base->error, "%s", request->path);
    }
    weft_circuit_decompose(permutations, circuits, n, request->ports, base->scratch);
    *result = (struct weft_maxmin_result){n,     request->ports, matrix.values,
                                          ratio, circuits,       permutations};
    return true;
}

// Arcs are whole numbers: a start on the ring and hops that do not come back to it.
static bool read_arcs(struct weft_ring_arc *arcs, const struct weft_numbers *table,
                      const struct weft_color_request *request, struct weft_error *error)
{
    for (uint32_t a = 0; a < table->rows; a++) {
        double start = table->values[2 * (size_t)a];
        double hops = table->values[2 * (size_t)a + 1];
        if (!(start < request->ring) || hops < 1 || !(hops < request->ring) ||
            start != (uint32_t)start || hops != (uint32_t)hops) {
            weft_fail(error, WEFT_INPUT,
                      "%s: arc %u (%g %g): start is a node below %u, hops are 1 to %u of the ring",
                      request->path, a, start, hops, request->ring, request->ring - 1);
            return weft_remedy(error, "ring", "N");
        }
        arcs[a] = (struct weft_ring_arc){(uint32_t)start, (uint32_t)hops};
    }
    return true;
}

bool weft_request_color(struct weft_color_result *result, const struct weft_color_request *request,
                        struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_numbers table;
    if (!weft_numbers_load(&table, request->path, 2, base->arena, base->scratch, base->error)) {
        return false;
    }
    struct weft_ring_arc *arcs = WEFT_NEW(base->arena, struct weft_ring_arc, table.rows);
    if (!read_arcs(arcs, &table, request, base->error)) {
        return false;
    }
    struct weft_ring_options options = request->options;
    options.seed = base->seed;
    options.stop = base->stop;
    *result = (struct weft_color_result){
        .ring = request->ring,
        .arc_count = table.rows,
        .arcs = arcs,
        .both_ways = options.both_ways,
    };
    weft_circuit_color_ring(&result->coloring, arcs, table.rows, request->ring, &options,
                            base->arena, base->scratch);
    return true;
}

bool weft_request_moe(struct weft_moe_result *result, const struct weft_moe_request *request,
                      struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_numbers matrix;
    if (!weft_numbers_load(&matrix, request->path, 0, base->arena, base->scratch, base->error)) {
        return false;
    }
    uint32_t n = matrix.rows;
    uint32_t *circuits = WEFT_NEW(base->arena, uint32_t, (size_t)n * n);
    struct weft_split_options options = request->options;
    options.seed = base->seed;
    *result =
        (struct weft_moe_result){.node_count = n, .bytes = matrix.values, .circuits = circuits};
    weft_circuit_split(circuits, &result->split, matrix.values, n, &options, base->scratch);
    if (result->split.time == (double)INFINITY) {
        weft_fail(base->error, WEFT_INFEASIBLE,
                  "%s: a node has more peers than circuits, and there are no packet ports",
                  request->path);
        return weft_remedy(base->error, "eps", "N");
    }
    return true;
}

bool weft_request_rewired(struct weft_rewired_result *result,
                          const struct weft_rewired_request *request,
                          struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    const char *missing = request->options.rank_count < 2    ? "ranks"
                          : request->options.size_bytes <= 0 ? "size"
                          : request->rate_count == 0         ? "rate"
                          : request->change_count == 0       ? "dark-time"
                                                             : NULL;
    if (missing != NULL) {
        return weft_fail(base->error, WEFT_USAGE, "{%s} is missing or 0", missing);
    }
    struct weft_rewired_case *cases = WEFT_NEW(base->arena, struct weft_rewired_case,
                                               (size_t)request->rate_count * request->change_count);
    uint32_t count = 0;
    for (uint32_t r = 0; r < request->rate_count; r++) {
        struct weft_rewired_options options = request->options;
        double crossover_s = 0;
        options.rate_Bps = request->rates_Bps[r];
        options.stop = base->stop;
        if (options.rate_Bps <= 0) {
            return weft_fail(base->error, WEFT_USAGE, "{rate} is 0; write for example 800Gbps");
        }
        if (weft_stopped(base->stop)) {
            break;
        }
        if (!weft_rewired_crossover(&crossover_s, &options, base->scratch, base->error)) {
            return false;
        }
        for (uint32_t c = 0; c < request->change_count && !weft_stopped(base->stop); c++) {
            options.change_s = weft_seconds(request->changes_ps[c]);
            struct weft_rewired_case *one = &cases[count++];
            *one = (struct weft_rewired_case){.rate_Bps = options.rate_Bps,
                                              .change_s = options.change_s,
                                              .crossover_s = crossover_s};
            if (!weft_rewired_build(&one->rewired, &options, base->scratch, base->error)) {
                return false;
            }
        }
    }
    *result = (struct weft_rewired_result){count, cases};
    return count > 0 || weft_fail(base->error, WEFT_STOPPED, "stopped before the first answer");
}
