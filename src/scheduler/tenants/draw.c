// SPDX-License-Identifier: Apache-2.0
// Who comes: requests of a trace one after the other, or drawn as they are asked for. Every request
// takes the same four numbers of the generator, so that another load changes the times between
// arrivals and nothing else. O(sizes) a request.

#include "weft/scheduler/tenants.h"

#include <stdlib.h>
#include <string.h>

const struct weft_tenant_size weft_tenant_mix[] = {
    {{2, 2, 1}, 0.25}, {{2, 2, 2}, 0.2}, {{2, 2, 4}, 0.25}, {{2, 4, 4}, 0.2}, {{4, 4, 4}, 0.1},
};
_Static_assert(sizeof weft_tenant_mix / sizeof weft_tenant_mix[0] == WEFT_TENANT_MIX_SIZES,
               "the header counts them");

static uint32_t chips_of(const uint32_t sides[3])
{
    return sides[0] * sides[1] * sides[2];
}

void weft_tenant_draw_init(struct weft_tenant_draw *draw, const struct weft_tenant_source *source,
                           uint32_t chip_count)
{
    double sum = 0;
    double chips = 0;
    for (uint32_t s = 0; s < source->size_count; s++) {
        sum += source->sizes[s].weight;
        chips += source->sizes[s].weight * chips_of(source->sizes[s].sides);
    }
    *draw = (struct weft_tenant_draw){.source = source, .weight_sum = sum};
    if (source->trace_count == 0) {
        // Little's law: load * chips = arrivals a second * mean lifetime * mean chips.
        WEFT_ASSERT(sum > 0 && chips > 0 && source->load > 0);
        draw->gap_s = source->lifetime_s * (chips / sum) / (source->load * chip_count);
    }
    weft_rng_init(&draw->rng, source->seed);
}

static uint32_t size_of(const struct weft_tenant_source *source, const uint32_t sides[3])
{
    uint32_t s = 0;
    while (memcmp(source->sizes[s].sides, sides, sizeof source->sizes[s].sides) != 0) {
        s++;
        WEFT_ASSERT(s < source->size_count);
    }
    return s;
}

bool weft_tenant_draw_next(struct weft_tenant_draw *draw, struct weft_rack_request *request,
                           uint32_t *size)
{
    const struct weft_tenant_source *source = draw->source;
    if (draw->next == (source->trace_count > 0 ? source->trace_count : source->count)) {
        return false;
    }
    if (source->trace_count > 0) {
        *request = source->trace[draw->next++];
        *size = size_of(source, request->sides);
        return true;
    }
    draw->next++;
    double gap_s = weft_rng_exponential(&draw->rng, draw->gap_s);
    draw->clock_s += source->holds ? 0 : gap_s;
    double at = weft_rng_unit(&draw->rng) * draw->weight_sum;
    uint32_t s = 0;
    for (; s + 1 < source->size_count && at >= source->sizes[s].weight; s++) {
        at -= source->sizes[s].weight;
    }
    *request = (struct weft_rack_request){
        .arrival_s = draw->clock_s,
        .lifetime_s = weft_rng_exponential(&draw->rng, source->lifetime_s),
    };
    memcpy(request->sides, source->sizes[s].sides, sizeof request->sides);
    *size = s;
    return true;
}

static int by_chips(const void *a, const void *b)
{
    const struct weft_tenant_size *first = a;
    const struct weft_tenant_size *second = b;
    uint32_t left = chips_of(first->sides);
    uint32_t right = chips_of(second->sides);
    if (left != right) {
        return left < right ? -1 : 1;
    }
    for (uint32_t d = 0; d < 3; d++) {
        if (first->sides[d] != second->sides[d]) {
            return first->sides[d] < second->sides[d] ? -1 : 1;
        }
    }
    return 0;
}

bool weft_tenant_sizes(struct weft_tenant_source *source, struct weft_arena *arena,
                       struct weft_error *error)
{
    struct weft_tenant_size *sizes =
        WEFT_NEW(arena, struct weft_tenant_size, WEFT_TENANT_SIZES_MAX);
    uint32_t count = 0;
    for (uint64_t r = 0; r < source->trace_count; r++) {
        const struct weft_rack_request *request = &source->trace[r];
        if (r > 0 && request->arrival_s < source->trace[r - 1].arrival_s) {
            return weft_fail(error, WEFT_INPUT,
                             "request %llu arrives before the one above it; sort them by arrival",
                             (unsigned long long)r + 1);
        }
        uint32_t s = 0;
        while (s < count && memcmp(sizes[s].sides, request->sides, sizeof request->sides) != 0) {
            s++;
        }
        if (s == WEFT_TENANT_SIZES_MAX) {
            return weft_fail(error, WEFT_INPUT,
                             "more than %u different slices; round their sides up",
                             WEFT_TENANT_SIZES_MAX);
        }
        if (s == count) {
            memcpy(sizes[count].sides, request->sides, sizeof request->sides);
            count++;
        }
        sizes[s].weight += 1;
    }
    qsort(sizes, count, sizeof *sizes, by_chips);
    source->sizes = sizes;
    source->size_count = count;
    return true;
}
