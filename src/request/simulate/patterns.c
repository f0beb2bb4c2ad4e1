// SPDX-License-Identifier: Apache-2.0
// Traffic in words as lists of flows: a random cycle over all servers (Sattolo, "An algorithm to
// generate a random cyclic permutation", 1986), all pairs, or Poisson arrivals with exponential
// sizes between random pairs. One seed gives one list. O(flows).

#include "patterns.h"

#include <math.h>

static const uint64_t flows_max = 100000000;

struct lists {
    uint32_t *from;
    uint32_t *to;
    uint64_t *size_bytes;
    uint64_t *start_ps;
};

static struct lists new_lists(uint32_t count, struct weft_arena *arena)
{
    return (struct lists){
        .from = WEFT_NEW(arena, uint32_t, count),
        .to = WEFT_NEW(arena, uint32_t, count),
        .size_bytes = WEFT_NEW(arena, uint64_t, count),
        .start_ps = WEFT_NEW(arena, uint64_t, count),
    };
}

static void fill_permutation(struct lists *lists, const struct weft_flows_spec *spec, uint32_t n)
{
    struct weft_rng rng;
    weft_rng_init(&rng, spec->seed);
    for (uint32_t i = 0; i < n; i++) {
        lists->from[i] = i;
        lists->to[i] = i;
        lists->size_bytes[i] = spec->size_bytes;
    }
    for (uint32_t i = n - 1; i > 0; i--) {
        uint32_t j = weft_rng_below(&rng, i);
        uint32_t swapped = lists->to[i];
        lists->to[i] = lists->to[j];
        lists->to[j] = swapped;
    }
}

static void fill_alltoall(struct lists *lists, const struct weft_flows_spec *spec, uint32_t n)
{
    uint32_t flow = 0;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t step = 1; step < n; step++) {
            lists->from[flow] = i;
            lists->to[flow] = (i + step) % n;
            lists->size_bytes[flow] = spec->size_bytes;
            flow++;
        }
    }
}

static bool fill_poisson(struct lists *lists, const struct weft_flows_spec *spec, uint32_t n,
                         double host_rate_Bps, struct weft_error *error)
{
    struct weft_rng rng;
    weft_rng_init(&rng, spec->seed);
    double mean_bytes = (double)spec->size_bytes;
    double mean_gap_s = mean_bytes / (spec->load_ratio * n * host_rate_Bps);
    double start_s = 0;
    for (uint32_t i = 0; i < spec->count; i++) {
        start_s += weft_rng_exponential(&rng, mean_gap_s);
        double size_bytes = ceil(weft_rng_exponential(&rng, mean_bytes));
        lists->start_ps[i] = weft_picoseconds(start_s);
        lists->size_bytes[i] = size_bytes > 1 ? (uint64_t)size_bytes : 1;
        lists->from[i] = weft_rng_below(&rng, n);
        lists->to[i] = (lists->from[i] + 1 + weft_rng_below(&rng, n - 1)) % n;
    }
    if (start_s > 0x1p62 / (double)WEFT_PS_PER_S) {
        return weft_fail(error, WEFT_INPUT,
                         "the last flow would start after 53 days; use fewer or "
                         "smaller flows, or a faster host");
    }
    return true;
}

bool patterns_build(struct weft_flow_list *flows, const struct weft_flows_spec *spec,
                    uint32_t server_count, double host_rate_Bps, struct weft_arena *arena,
                    struct weft_error *error)
{
    WEFT_ASSERT(server_count >= 2 && spec->kind != WEFT_FLOWS_ALLREDUCE);
    uint64_t n = server_count;
    uint64_t count = spec->kind == WEFT_FLOWS_PERMUTATION ? n
                     : spec->kind == WEFT_FLOWS_ALLTOALL  ? n * (n - 1)
                                                          : spec->count;
    if (count > flows_max) {
        return weft_fail(error, WEFT_INPUT, "%llu flows are more than %llu; use fewer servers",
                         (unsigned long long)count, (unsigned long long)flows_max);
    }
    struct lists lists = new_lists((uint32_t)count, arena);
    if (spec->kind == WEFT_FLOWS_PERMUTATION) {
        fill_permutation(&lists, spec, server_count);
    } else if (spec->kind == WEFT_FLOWS_ALLTOALL) {
        fill_alltoall(&lists, spec, server_count);
    } else if (!fill_poisson(&lists, spec, server_count, host_rate_Bps, error)) {
        return false;
    }
    *flows = (struct weft_flow_list){
        .count = (uint32_t)count,
        .from = lists.from,
        .to = lists.to,
        .size_bytes = lists.size_bytes,
        .start_ps = lists.start_ps,
    };
    return true;
}

bool patterns_build_allreduce(struct weft_taskgraph *graph, uint64_t size_bytes,
                              uint32_t server_count, struct weft_arena *arena,
                              struct weft_arena scratch, struct weft_error *error)
{
    uint32_t *members = WEFT_NEW(&scratch, uint32_t, server_count);
    for (uint32_t i = 0; i < server_count; i++) {
        members[i] = i;
    }
    const struct weft_task task = {
        .kind = WEFT_TASK_ALLREDUCE,
        .device = WEFT_NONE,
        .size_bytes = size_bytes,
        .from = WEFT_NONE,
        .to = WEFT_NONE,
        .members = members,
        .member_count = server_count,
    };
    return weft_taskgraph_build(graph,
                                &(struct weft_taskgraph_draft){.server_count = server_count,
                                                               .device_count = server_count,
                                                               .device_server = members,
                                                               .task_count = 1,
                                                               .tasks = &task},
                                arena, scratch, error);
}
