// SPDX-License-Identifier: Apache-2.0
// A request decided: by its allocator, else with tenants moved, else why not and what would fit.

#include "rack.h"

#include <string.h>

#define PROBE_SHARE 8u // of the steps of a search that asks what would fit

static bool dispatch(struct weft_rack_slice *slice, struct weft_rack_state *state,
                     const struct weft_rack_request *request,
                     const struct weft_rack_options *options, struct rack_outcome *outcome,
                     struct weft_arena scratch)
{
    switch (options->allocator) {
    case WEFT_RACK_CONTIGUOUS:
        return rack_contiguous(slice, state, request, options, outcome, scratch);
    case WEFT_RACK_PUBLISHED:
        return rack_contiguous(slice, state, request, options, outcome, scratch) ||
               rack_published(slice, state, request, options, outcome, scratch);
    case WEFT_RACK_EXACT:
        return rack_exact(slice, state, request, options, outcome, scratch);
    case WEFT_RACK_ALLOCATOR_COUNT:
        break;
    }
    WEFT_ASSERT(false);
    return false;
}

// Decides a request by its allocator alone.
static bool place_alone(struct weft_rack_slice *slice, struct weft_rack_state *state,
                        const struct weft_rack_request *request,
                        const struct weft_rack_options *options, struct weft_arena scratch)
{
    *slice = (struct weft_rack_slice){.name = request->name, .tenant = WEFT_NONE, .proved = true};
    memcpy(slice->sides, request->sides, sizeof slice->sides);
    uint64_t chips = 1;
    for (uint32_t d = 0; d < 3; d++) {
        WEFT_ASSERT(request->sides[d] >= 1);
        chips = chips > WEFT_RACK_CHIPS_MAX ? chips : chips * request->sides[d];
    }
    if (chips > weft_rack_free_chips(state)) {
        slice->reason = WEFT_RACK_CAPACITY;
        return false;
    }
    struct rack_outcome outcome = {.reason = WEFT_RACK_PLACED};
    struct weft_rack_slice placed = *slice;
    if (!dispatch(&placed, state, request, options, &outcome, scratch)) {
        slice->reason = outcome.reason;
        slice->proved = outcome.proved;
        slice->steps = outcome.steps;
        return false;
    }
    placed.contiguous = outcome.contiguous;
    placed.bound_load = outcome.bound_load < placed.load_max ? outcome.bound_load : placed.load_max;
    placed.bound_hops = outcome.bound_hops < placed.hops ? outcome.bound_hops : placed.hops;
    placed.proved = outcome.proved;
    placed.steps = outcome.steps;
    state->slices[placed.tenant] = placed;
    *slice = placed;
    return true;
}

// Chips of the largest slice, of sides that divide those of the request, that would fit.
static uint32_t find_largest(struct weft_rack_state *state, const struct weft_rack_request *request,
                             const struct weft_rack_options *options, struct weft_arena scratch)
{
    struct weft_rack_options probe = *options;
    uint32_t free = weft_rack_free_chips(state);
    probe.steps_max = (options->steps_max > 0 ? options->steps_max : RACK_STEPS_MAX) / PROBE_SHARE;
    for (uint32_t chips = free; chips > 0; chips--) {
        for (uint32_t z = 1; z <= request->sides[2]; z++) {
            for (uint32_t y = 1; y <= request->sides[1]; y++) {
                uint32_t x = chips / y / z;
                struct weft_rack_slice slice;
                struct weft_rack_request part = {request->name, {x, y, z}, 0, 0};
                if (request->sides[2] % z != 0 || request->sides[1] % y != 0 ||
                    x * y * z != chips || request->sides[0] % x != 0) {
                    continue;
                }
                if (place_alone(&slice, state, &part, &probe, scratch)) {
                    weft_rack_release(state, slice.tenant);
                    return chips;
                }
            }
        }
    }
    return 0;
}

bool weft_rack_place(struct weft_rack_slice *slice, struct weft_rack_state *state,
                     const struct weft_rack_request *request,
                     const struct weft_rack_options *options, struct weft_arena scratch)
{
    if (place_alone(slice, state, request, options, scratch)) {
        return true;
    }
    // Moving tenants makes no chip free.
    if (slice->reason != WEFT_RACK_CAPACITY && options->migrate_chips > 0 &&
        rack_migrate(slice, state, request, options, place_alone, scratch)) {
        return true;
    }
    if (!options->brief) {
        slice->largest = find_largest(state, request, options, scratch);
    }
    return false;
}
