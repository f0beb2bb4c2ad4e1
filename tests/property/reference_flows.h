// SPDX-License-Identifier: Apache-2.0
#ifndef REFERENCE_FLOWS_H
#define REFERENCE_FLOWS_H

// Flows played by the book: at every arrival and departure all rates are computed from scratch and
// every flow's remaining bytes are brought up to date. Times are plain seconds.

#include "reference_maxmin.h"
#include "weft/sim.h"

#define REFERENCE_HOPS 16u

struct reference_run {
    uint32_t part_count; // subflows that are in flight
    uint32_t *flow;
    double *left_bytes;
    uint32_t *path;
    uint32_t *hop_count;
    double *weight; // all 1
    double *rate_Bps;
    double *latency_s;
    uint64_t event_count;
};

static inline void reference_start(struct reference_run *run, double *end_s,
                                   const struct weft_routes *routes,
                                   const struct weft_flow_list *flows, uint32_t flow, uint64_t seed)
{
    uint32_t from = flows->from[flow];
    uint32_t to = flows->to[flow];
    end_s[flow] = weft_seconds(flows->start_ps[flow]);
    if (from == to) {
        return;
    }
    bool split = routes->spread == WEFT_SPREAD_SPLIT;
    uint64_t hash = weft_hash(seed ^ weft_hash(flow));
    uint32_t first = split ? 0 : weft_routes_pick(routes, from, to, hash);
    uint32_t last = split ? weft_routes_path_count(routes, from, to) : first + 1;
    for (uint32_t index = first; index < last; index++) {
        uint32_t i = run->part_count;
        double share;
        uint32_t *path = &run->path[i * REFERENCE_HOPS];
        run->hop_count[i] = weft_routes_path(routes, from, to, index, path, &share);
        run->latency_s[i] = 0;
        for (uint32_t hop = 0; hop < run->hop_count[i]; hop++) {
            run->latency_s[i] += weft_seconds(routes->fabric->links[path[hop]].latency_ps);
        }
        run->flow[i] = flow;
        run->left_bytes[i] = (double)flows->size_bytes[flow] * (split ? share : 1);
        run->weight[i] = 1;
        run->part_count += run->left_bytes[i] > 0;
        if (run->left_bytes[i] <= 0) {
            end_s[flow] =
                fmax(end_s[flow], weft_seconds(flows->start_ps[flow]) + run->latency_s[i]);
        }
    }
}

static inline void reference_drop(struct reference_run *run, uint32_t i)
{
    uint32_t last = --run->part_count;
    run->flow[i] = run->flow[last];
    run->left_bytes[i] = run->left_bytes[last];
    run->rate_Bps[i] = run->rate_Bps[last];
    run->latency_s[i] = run->latency_s[last];
    run->hop_count[i] = run->hop_count[last];
    for (uint32_t hop = 0; hop < REFERENCE_HOPS; hop++) {
        run->path[i * REFERENCE_HOPS + hop] = run->path[last * REFERENCE_HOPS + hop];
    }
}

// end_s[count] gets each flow's end. Fluid: no headers, no store-and-forward. Returns the number of
// instants.
static inline uint64_t reference_play(double *end_s, const struct weft_routes *routes,
                                      const struct weft_flow_list *flows, uint32_t parts_max,
                                      uint64_t seed, struct weft_arena scratch)
{
    const struct weft_fabric *fabric = routes->fabric;
    double *capacity_Bps = WEFT_NEW_RAW(&scratch, double, fabric->link_count);
    for (uint32_t link = 0; link < fabric->link_count; link++) {
        capacity_Bps[link] = fabric->links[link].rate_Bps;
    }
    struct reference_run run = {.flow = WEFT_NEW_RAW(&scratch, uint32_t, parts_max)};
    run.left_bytes = WEFT_NEW_RAW(&scratch, double, parts_max);
    run.path = WEFT_NEW_RAW(&scratch, uint32_t, (size_t)parts_max * REFERENCE_HOPS);
    run.hop_count = WEFT_NEW_RAW(&scratch, uint32_t, parts_max);
    run.weight = WEFT_NEW_RAW(&scratch, double, parts_max);
    run.rate_Bps = WEFT_NEW_RAW(&scratch, double, parts_max);
    run.latency_s = WEFT_NEW_RAW(&scratch, double, parts_max);
    uint32_t next = 0;
    double now_s = 0;
    while (run.part_count > 0 || next < flows->count) {
        double step_s =
            next < flows->count ? weft_seconds(flows->start_ps[next]) - now_s : (double)INFINITY;
        for (uint32_t i = 0; i < run.part_count; i++) {
            step_s = fmin(step_s, run.left_bytes[i] / run.rate_Bps[i]);
        }
        now_s += step_s;
        run.event_count++;
        for (uint32_t i = run.part_count; i-- > 0;) {
            run.left_bytes[i] -= run.rate_Bps[i] * step_s;
            // What a rate carries in a ten-thousandth of a picosecond is rounding.
            if (run.left_bytes[i] <= run.rate_Bps[i] * 1e-16) {
                end_s[run.flow[i]] = fmax(end_s[run.flow[i]], now_s + run.latency_s[i]);
                reference_drop(&run, i);
            }
        }
        while (next < flows->count && weft_seconds(flows->start_ps[next]) <= now_s + 1e-16) {
            reference_start(&run, end_s, routes, flows, next++, seed);
        }
        struct reference reference = {fabric->link_count, capacity_Bps, run.part_count,
                                      REFERENCE_HOPS,     run.path,     run.hop_count,
                                      run.weight};
        reference_solve(run.rate_Bps, &reference, scratch);
    }
    return run.event_count;
}

#endif
