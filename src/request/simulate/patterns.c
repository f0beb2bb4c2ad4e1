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

// Accelerators give those beside them what is for the others of their rail, from all servers'
// parts; theirs is among it.
static uint32_t fill_inside(struct lists *lists, const struct weft_flows_spec *spec,
                            const struct patterns_ranks *ranks)
{
    uint32_t a = ranks->accelerators;
    uint32_t flow = 0;
    for (uint32_t i = 0; i < ranks->servers * a; i++) {
        for (uint32_t step = 1; step < a; step++) {
            lists->from[flow] = i;
            lists->to[flow] = i / a * a + (i + step) % a;
            lists->size_bytes[flow] = spec->size_bytes * ranks->servers;
            flow++;
        }
    }
    return flow;
}

// Every accelerator sends to the others of its rail what its whole server has for them.
static void fill_rails(struct lists *lists, uint32_t flow, const struct weft_flows_spec *spec,
                       const struct patterns_ranks *ranks, uint64_t inside_ps)
{
    uint32_t a = ranks->accelerators;
    for (uint32_t i = 0; i < ranks->servers * a; i++) {
        for (uint32_t step = 1; step < ranks->servers; step++) {
            lists->from[flow] = i;
            lists->to[flow] = (i + step * a) % (ranks->servers * a);
            lists->size_bytes[flow] = spec->size_bytes * a;
            lists->start_ps[flow] = inside_ps;
            flow++;
        }
    }
}

static struct weft_flow_list as_flows(const struct lists *lists, uint64_t count)
{
    return (struct weft_flow_list){
        .count = (uint32_t)count,
        .from = lists->from,
        .to = lists->to,
        .size_bytes = lists->size_bytes,
        .start_ps = lists->start_ps,
    };
}

static bool check_count(uint64_t count, struct weft_error *error)
{
    return count <= flows_max ||
           weft_fail(error, WEFT_INPUT, "%llu flows are more than %llu; use fewer servers",
                     (unsigned long long)count, (unsigned long long)flows_max);
}

static bool is_by_rails(const struct weft_flows_spec *spec, const struct patterns_ranks *ranks)
{
    return spec->kind == WEFT_FLOWS_ALLTOALL && ranks->accelerators > 1;
}

bool patterns_have_inside(const struct weft_flows_spec *spec, const struct patterns_ranks *ranks)
{
    return is_by_rails(spec, ranks) && ranks->servers > 1;
}

bool patterns_build_inside(struct weft_flow_list *flows, const struct weft_flows_spec *spec,
                           const struct patterns_ranks *ranks, struct weft_arena *arena,
                           struct weft_error *error)
{
    WEFT_ASSERT(patterns_have_inside(spec, ranks));
    uint64_t count = (uint64_t)ranks->servers * ranks->accelerators * (ranks->accelerators - 1);
    if (!check_count(count, error)) {
        return false;
    }
    struct lists lists = new_lists((uint32_t)count, arena);
    fill_inside(&lists, spec, ranks);
    *flows = as_flows(&lists, count);
    return true;
}

bool patterns_build(struct weft_flow_list *flows, const struct weft_flows_spec *spec,
                    const struct patterns_ranks *ranks, uint64_t inside_ps,
                    struct weft_arena *arena, struct weft_error *error)
{
    uint64_t n = (uint64_t)ranks->servers * ranks->accelerators;
    WEFT_ASSERT(n >= 2 && !weft_flows_reduce(spec->kind));
    bool by_rails = is_by_rails(spec, ranks);
    uint64_t peers = by_rails ? ranks->servers - 1 + ranks->accelerators - 1 : n - 1;
    uint64_t count = spec->kind == WEFT_FLOWS_PERMUTATION ? n
                     : spec->kind == WEFT_FLOWS_ALLTOALL  ? n * peers
                                                          : spec->count;
    if (!check_count(count, error)) {
        return false;
    }
    struct lists lists = new_lists((uint32_t)count, arena);
    if (by_rails) {
        uint32_t flow = fill_inside(&lists, spec, ranks);
        fill_rails(&lists, flow, spec, ranks, inside_ps);
    } else if (spec->kind == WEFT_FLOWS_PERMUTATION) {
        fill_permutation(&lists, spec, (uint32_t)n);
    } else if (spec->kind == WEFT_FLOWS_ALLTOALL) {
        fill_alltoall(&lists, spec, (uint32_t)n);
    } else if (!fill_poisson(&lists, spec, (uint32_t)n,
                             ranks->server_rate_Bps / ranks->accelerators, error)) {
        return false;
    }
    *flows = as_flows(&lists, count);
    return true;
}
