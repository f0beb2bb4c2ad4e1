// SPDX-License-Identifier: Apache-2.0
// Running tenants that move so that a request fits, within a number of chips.
//
// Sets of one to three tenants are tried in rising order of their chips, which bounds how many can
// move; then of their number; then of their ids. Of a set all are lifted, the request is placed,
// and they are placed again, the largest first. The first set that works is taken, so that no set
// that was tried has fewer chips. The tenants keep their ids; what did not work leaves no trace.
// TRIES_MAX sets are tried at most, with a share of the steps of a search each.

#include "rack.h"

#include <string.h>

#define TRIES_MAX 64u
#define STEPS_SHARE 8u

struct set {
    uint32_t chips;
    uint32_t count;
    uint32_t tenants[RACK_MOVED_MAX];
};

struct migration {
    struct weft_rack_state *state;
    const struct weft_rack_request *request;
    struct weft_rack_options options; // with fewer steps
    rack_placer place;
};

static bool precedes(const struct set *a, const struct set *b)
{
    if (a->chips != b->chips) {
        return a->chips < b->chips;
    }
    if (a->count != b->count) {
        return a->count < b->count;
    }
    return memcmp(a->tenants, b->tenants, sizeof a->tenants) < 0;
}

// Keeps the TRIES_MAX sets that come first, in order.
static void add_set(struct set *sets, uint32_t *count, const struct set *set)
{
    if (*count == TRIES_MAX && !precedes(set, &sets[TRIES_MAX - 1])) {
        return;
    }
    uint32_t at = *count < TRIES_MAX ? (*count)++ : TRIES_MAX - 1;
    for (; at > 0 && precedes(set, &sets[at - 1]); at--) {
        sets[at] = sets[at - 1];
    }
    sets[at] = *set;
}

static void extend_sets(struct set *sets, uint32_t *count, const struct weft_rack_state *state,
                        const struct set *set, uint32_t chips_max)
{
    uint32_t first = set->count == 0 ? 0 : set->tenants[set->count - 1] + 1;
    for (uint32_t t = first; t < state->tenant_count; t++) {
        const struct weft_rack_slice *slice = weft_rack_tenant(state, t);
        if (slice == NULL || set->chips + slice->chip_count > chips_max) {
            continue;
        }
        struct set more = *set;
        more.tenants[more.count++] = t;
        more.chips += slice->chip_count;
        add_set(sets, count, &more);
        if (more.count < RACK_MOVED_MAX) {
            extend_sets(sets, count, state, &more, chips_max);
        }
    }
}

// The tenants of a set again, where they now fit; false: not all, and none of them is placed.
static bool place_again(uint32_t *placed, const struct migration *migration, const struct set *set,
                        struct weft_arena scratch)
{
    struct weft_rack_state *state = migration->state;
    for (uint32_t i = 0; i < set->count; i++) {
        placed[i] = WEFT_NONE;
    }
    for (uint32_t n = 0; n < set->count; n++) {
        uint32_t largest = WEFT_NONE;
        for (uint32_t i = 0; i < set->count; i++) {
            uint32_t chips = state->slices[set->tenants[i]].chip_count;
            if (placed[i] == WEFT_NONE &&
                (largest == WEFT_NONE || chips > state->slices[set->tenants[largest]].chip_count)) {
                largest = i;
            }
        }
        const struct weft_rack_slice *old = &state->slices[set->tenants[largest]];
        struct weft_rack_request request = {
            old->name, {old->sides[0], old->sides[1], old->sides[2]}, 0, 0};
        struct weft_rack_slice slice;
        if (!migration->place(&slice, state, &request, &migration->options, scratch)) {
            for (uint32_t i = 0; i < set->count; i++) {
                if (placed[i] != WEFT_NONE) {
                    weft_rack_release(state, placed[i]);
                }
            }
            return false;
        }
        placed[largest] = slice.tenant;
    }
    return true;
}

static bool try_set(struct weft_rack_slice *slice, const struct migration *migration,
                    const struct set *set, struct weft_arena scratch)
{
    struct weft_rack_state *state = migration->state;
    uint32_t placed[RACK_MOVED_MAX];
    for (uint32_t i = 0; i < set->count; i++) {
        rack_lift(state, &state->slices[set->tenants[i]]);
    }
    struct weft_rack_slice found;
    bool fits = migration->place(&found, state, migration->request, &migration->options, scratch);
    if (fits && !place_again(placed, migration, set, scratch)) {
        weft_rack_release(state, found.tenant);
        fits = false;
    }
    if (!fits) {
        for (uint32_t i = 0; i < set->count; i++) {
            rack_lay(state, &state->slices[set->tenants[i]]);
        }
        return false;
    }
    struct weft_rack_slice *kept = &state->slices[found.tenant];
    uint32_t *moved = (uint32_t *)(uintptr_t)kept->moved; // the room that its block has for them
    for (uint32_t i = 0; i < set->count; i++) {
        kept->moved_chips += rack_take_over(state, set->tenants[i], placed[i]);
        moved[i] = set->tenants[i];
    }
    kept->moved_count = set->count;
    *slice = *kept;
    return true;
}

bool rack_migrate(struct weft_rack_slice *slice, struct weft_rack_state *state,
                  const struct weft_rack_request *request, const struct weft_rack_options *options,
                  rack_placer place, struct weft_arena scratch)
{
    struct set *sets = WEFT_NEW(&scratch, struct set, TRIES_MAX);
    uint32_t count = 0;
    struct migration migration = {state, request, *options, place};
    migration.options.steps_max =
        (options->steps_max > 0 ? options->steps_max : RACK_STEPS_MAX) / STEPS_SHARE;
    extend_sets(sets, &count, state, &(struct set){0}, options->migrate_chips);
    for (uint32_t i = 0; i < count && !weft_stopped(options->stop); i++) {
        if (try_set(slice, &migration, &sets[i], scratch)) {
            return true;
        }
    }
    return false;
}
