// SPDX-License-Identifier: Apache-2.0
// What no circuits and no wavelengths can be quicker than.
//
// The bounds of weft_certificate_build for any fabric that gives every accelerator its port, on the
// fold; those for any algorithm of a collective are left out, because the fold's collectives carry
// what a ring does among all replicas. On rings: what leaves a run of neighbors leaves it on one
// of two fibers, with W/2 wavelengths each, however it is routed and colored.

#include "sip.h"

#include <math.h>
#include <string.h>

#define ROUNDING_RATIO 1e-11

// The most bytes that leave `length` neighbors from `first` on, over what two fibers carry.
static double run_bytes(const double *bytes, uint32_t n, uint32_t first, uint32_t length)
{
    double leaving = 0;
    for (uint32_t i = 0; i < length; i++) {
        for (uint32_t j = length; j < n; j++) {
            leaving += bytes[(size_t)((first + i) % n) * n + (first + j) % n];
        }
    }
    return leaving;
}

static struct weft_bound ring_bound(const struct sip_fold *fold, const struct weft_sip_options *sip,
                                    struct weft_arena *arena, struct weft_arena scratch)
{
    uint32_t n = fold->node_count;
    size_t pairs = (size_t)n * n;
    double *bytes = WEFT_NEW_RAW(&scratch, double, pairs);
    for (size_t pair = 0; pair < pairs; pair++) {
        size_t back = pair % n * n + pair / n;
        bytes[pair] =
            fold->transfer_bytes[pair] + fold->ring_bytes[pair] / 2 + fold->ring_bytes[back] / 2;
    }
    double most = 0;
    uint32_t at = 0;
    uint32_t long_run = 1;
    for (uint32_t length = 1; length <= fold->choice.mp && length < n; length++) {
        for (uint32_t first = 0; first < n; first++) {
            double leaving = run_bytes(bytes, n, first, length);
            if (leaving > most) {
                most = leaving;
                at = first;
                long_run = length;
            }
        }
    }
    struct weft_bound bound = weft_bound_named("ring-cut");
    char text[WEFT_UNIT_TEXT];
    uint32_t each_way = sip->wavelengths / 2;
    bound.seconds = most / (2.0 * each_way * sip->wave_Bps) * (1 - ROUNDING_RATIO);
    bound.reason = weft_arena_format(
        arena,
        "accelerators %u to %u send %s to the others, over one segment of each fiber with "
        "%u wavelengths",
        at, (at + long_run - 1) % n, weft_show_bytes(text, most), sip->wavelengths / 2);
    return bound;
}

// Without what rounds of rings wait for the light, which other algorithms need not.
static struct weft_taskgraph without_rounds(const struct weft_taskgraph *graph,
                                            struct weft_arena *arena)
{
    struct weft_taskgraph bare = *graph;
    uint64_t *runtime_ps = WEFT_NEW_RAW(arena, uint64_t, graph->task_count);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        runtime_ps[t] = weft_task_is_collective(graph, t) ? 0 : graph->runtime_ps[t];
    }
    bare.runtime_ps = runtime_ps;
    return bare;
}

bool sip_certify(struct weft_certificate *certificate, const struct sip_fold *fold,
                 enum weft_moving_fabric fabric, const struct weft_sip_options *sip,
                 double iteration_s, const struct weft_environment *environment)
{
    struct weft_environment inner = *environment;
    struct weft_taskgraph bare = without_rounds(&fold->graph, &inner.scratch);
    struct weft_certificate all;
    if (!weft_certificate_build(&all, &bare, &fold->cluster, NULL, iteration_s, &inner)) {
        return false;
    }
    struct weft_bound *bounds =
        WEFT_NEW(environment->arena, struct weft_bound, (size_t)all.bound_count + 1);
    uint32_t count = 0;
    for (uint32_t b = 0; b < all.bound_count; b++) {
        const struct weft_bound *bound = &all.bounds[b];
        bool of_network = bound->any_collectives &&
                          strcmp(bound->name, "compute-critical-path") != 0 &&
                          strcmp(bound->name, "device-load") != 0;
        if (bound->scope == WEFT_BOUND_ANY_FABRIC && !of_network) {
            bounds[count++] = *bound;
        }
    }
    if (fabric == WEFT_MOVING_SIP_RING && fold->node_count > 1) {
        bounds[count++] = ring_bound(fold, sip, environment->arena, inner.scratch);
    }
    weft_certificate_conclude(certificate, bounds, count, iteration_s);
    // A bound for this ring is one for this plan.
    for (uint32_t b = 0; b < count; b++) {
        if (bounds[b].seconds > certificate->lower_bound_s) {
            certificate->binding = b;
            certificate->lower_bound_s = bounds[b].seconds;
            certificate->gap_ratio = bounds[b].gap_ratio;
        }
    }
    return true;
}
