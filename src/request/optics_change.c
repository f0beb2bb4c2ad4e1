// SPDX-License-Identifier: Apache-2.0
// From one matrix of circuits to another: which ports move on which switch, in which order, and how
// long it takes. The schedule that is answered has passed the checker.

#include "weft/format.h"
#include "weft/request/optics.h"

#include <string.h>

static bool load(uint32_t **circuits, uint32_t *node_count, const char *path,
                 const struct weft_change_request *request, const struct weft_environment *base)
{
    struct weft_numbers matrix;
    if (!weft_numbers_load(&matrix, path, 0, base->arena, base->scratch, base->error)) {
        return false;
    }
    size_t n = matrix.rows;
    uint32_t *counts = WEFT_NEW(base->arena, uint32_t, n * n);
    uint64_t *out = WEFT_NEW(base->arena, uint64_t, 2 * n);
    uint64_t *in = out + n;
    for (size_t p = 0; p < n * n; p++) {
        double value = p / n == p % n ? 0 : matrix.values[p];
        if (!(value <= UINT16_MAX) || value != (uint32_t)value) {
            return weft_fail(base->error, WEFT_INPUT,
                             "%s: row %zu, column %zu: %g is no count of circuits; write 0 to %u",
                             path, p / n, p % n, value, UINT16_MAX);
        }
        counts[p] = (uint32_t)value;
        out[p / n] += counts[p];
        in[p % n] += counts[p];
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t most = out[i] > in[i] ? out[i] : in[i];
        if (most > request->ports) {
            weft_fail(base->error, WEFT_INFEASIBLE, "%s: node %zu has %llu circuits, and ports: %u",
                      path, i, (unsigned long long)most, request->ports);
            return weft_remedy(base->error, "ports", "N");
        }
        for (size_t j = 0; j < i && request->duplex; j++) {
            if (counts[i * n + j] != counts[j * n + i]) {
                return weft_fail(base->error, WEFT_INPUT,
                                 "%s: %zu to %zu has %u circuits, back %u; duplex ones are as many",
                                 path, i, j, counts[i * n + j], counts[j * n + i]);
            }
        }
    }
    *circuits = counts;
    *node_count = matrix.rows;
    return true;
}

static bool color(uint32_t *permutations, const uint32_t *circuits, const char *path,
                  const struct weft_change_result *result, const struct weft_environment *base)
{
    uint32_t n = result->node_count;
    struct weft_arena scratch = base->scratch;
    uint32_t room = result->plane_count + result->plane_count / 2;
    uint32_t *found = WEFT_NEW_RAW(&scratch, uint32_t, (size_t)room * n);
    uint32_t bound;
    uint32_t count = weft_circuit_color_duplex(found, &bound, circuits, n, scratch);
    if (count > result->plane_count) {
        weft_fail(base->error, WEFT_INFEASIBLE,
                  "%s: its duplex circuits take %u switches with one port a node (%u at least); "
                  "there are %u",
                  path, count, bound, result->plane_count);
        return weft_remedy(base->error, "ports", "N");
    }
    for (size_t port = 0; port < (size_t)result->plane_count * n; port++) {
        permutations[port] = port < (size_t)count * n ? found[port] : (uint32_t)(port % n);
    }
    return true;
}

static bool divide(struct weft_change_result *result, uint32_t *before, uint32_t *after,
                   uint32_t *const *circuits, const struct weft_change_request *request,
                   const struct weft_environment *base)
{
    uint32_t n = result->node_count;
    uint32_t planes = result->plane_count;
    if (!request->duplex) {
        struct weft_circuit_moves moves;
        weft_circuit_decompose(before, circuits[0], n, planes, base->scratch);
        weft_circuit_reassign(after, &moves, circuits[1], before, n, planes, base->scratch);
        result->moved = moves.moved;
        result->bound = moves.bound;
        return true;
    }
    if (!color(before, circuits[0], request->from, result, base) ||
        !color(after, circuits[1], request->to, result, base)) {
        return false;
    }
    weft_circuit_exchange_planes(after, before, n, planes, base->scratch);
    result->moved = weft_circuit_difference(before, after, planes * n);
    return true;
}

static bool schedule(struct weft_change_result *result, const struct weft_change_request *request,
                     const struct weft_environment *base)
{
    const struct weft_circuit_stagger *stagger = &result->stagger;
    size_t n = result->node_count;
    struct weft_circuit_change *changes =
        WEFT_NEW(base->arena, struct weft_circuit_change, stagger->count);
    for (uint32_t i = 0; i < stagger->count; i++) {
        changes[i] = (struct weft_circuit_change){stagger->start_ps[i], stagger->order[i],
                                                  &result->after[stagger->order[i] * n]};
    }
    result->schedule = (struct weft_circuit_schedule){
        result->node_count, result->plane_count, result->before, stagger->count, changes,
        request->delays,    stagger->end_ps,
    };
    return weft_circuit_check_schedule(&result->schedule, NULL, base->scratch, base->error);
}

bool weft_request_change(struct weft_change_result *result,
                         const struct weft_change_request *request,
                         struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    uint32_t *circuits[2] = {NULL, NULL};
    uint32_t counts[2] = {0, 0};
    if (!load(&circuits[0], &counts[0], request->from, request, base) ||
        !load(&circuits[1], &counts[1], request->to, request, base)) {
        return false;
    }
    if (counts[0] != counts[1]) {
        return weft_fail(base->error, WEFT_INPUT, "%s has %u nodes, %s has %u; give both as many",
                         request->from, counts[0], request->to, counts[1]);
    }
    size_t ports = (size_t)request->ports * counts[0];
    uint32_t *before = WEFT_NEW_RAW(base->arena, uint32_t, ports);
    uint32_t *after = WEFT_NEW_RAW(base->arena, uint32_t, ports);
    struct weft_change_result found = {.node_count = counts[0],
                                       .plane_count = request->ports,
                                       .duplex = request->duplex,
                                       .before = before,
                                       .after = after};
    if (!divide(&found, before, after, circuits, request, base)) {
        return false;
    }
    weft_circuit_order_planes(&found.stagger, before, after, counts[0], request->ports,
                              &request->delays, request->stagger, base->arena);
    if (!schedule(&found, request, base)) {
        return false;
    }
    *result = found;
    return true;
}
