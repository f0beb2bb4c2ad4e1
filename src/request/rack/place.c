// SPDX-License-Identifier: Apache-2.0
// Requests for slices, decided in the order of their file, and spares for chips that fail.

#include "weft/request/rack.h"

#include <string.h>

// One run over a file of requests.
struct run {
    struct weft_rack_place_result *result;
    struct weft_rack_state *state;
    struct weft_rack_slice *slices; // by request
    uint32_t *tenants;              // of a request; WEFT_NONE = it holds nothing
    struct weft_arena *arena;
    struct weft_arena scratch;
};

static void release(struct run *run, uint32_t request)
{
    if (run->tenants[request] != WEFT_NONE) {
        weft_rack_release(run->state, run->tenants[request]);
        run->tenants[request] = WEFT_NONE;
    }
}

// Those whose life has ended when a request arrives.
static void release_ended(struct run *run, uint32_t arriving)
{
    const struct weft_rack_request *requests = run->result->requests.requests;
    for (uint32_t r = 0; r < arriving; r++) {
        if (requests[r].lifetime_s > 0 &&
            requests[r].arrival_s + requests[r].lifetime_s <= requests[arriving].arrival_s) {
            release(run, r);
        }
    }
}

static void decide(struct run *run, uint32_t r)
{
    struct weft_rack_place_result *result = run->result;
    const struct weft_rack *rack = &result->rack;
    struct weft_rack_slice slice;
    bool placed = weft_rack_place(&slice, run->state, &result->requests.requests[r],
                                  &result->options, run->scratch);
    weft_rack_slice_copy(&run->slices[r], &slice, run->arena);
    run->tenants[r] = slice.tenant;
    result->reasons[slice.reason]++;
    if (!placed) {
        return;
    }
    uint32_t bound = (slice.bound_load + rack->wavelengths - 1) / rack->wavelengths;
    result->placed_count++;
    result->proved = result->proved && slice.proved;
    result->bound = bound > result->bound ? bound : result->bound;
    result->fiber_load_max = slice.fiber_load_max > result->fiber_load_max ? slice.fiber_load_max
                                                                           : result->fiber_load_max;
    result->route_load_max = slice.route_load_max > result->route_load_max ? slice.route_load_max
                                                                           : result->route_load_max;
    for (uint32_t m = 0; m < slice.moved_count; m++) {
        for (uint32_t before = 0; before < r; before++) {
            if (run->tenants[before] == slice.moved[m]) {
                weft_rack_slice_copy(&run->slices[before],
                                     weft_rack_tenant(run->state, slice.moved[m]), run->arena);
            }
        }
    }
}

static struct weft_rack_view look(const struct run *run)
{
    const struct weft_rack *rack = &run->result->rack;
    uint32_t chips = rack->server_count * rack->chips_per_server;
    uint32_t count = run->result->requests.count;
    uint32_t *holders = WEFT_NEW(run->arena, uint32_t, chips);
    bool *lost = WEFT_NEW(run->arena, bool, chips);
    uint32_t *fibers = WEFT_NEW(run->arena, uint32_t, (size_t)rack->link_count + 1);
    struct weft_rack_slice *slices = WEFT_NEW(run->arena, struct weft_rack_slice, count);
    for (uint32_t c = 0; c < chips; c++) {
        uint32_t tenant = weft_rack_holder(run->state, c, &lost[c]);
        holders[c] = WEFT_NONE;
        for (uint32_t r = 0; r < count && tenant != WEFT_NONE; r++) {
            holders[c] = run->tenants[r] == tenant ? r : holders[c];
        }
    }
    for (uint32_t l = 0; l < rack->link_count; l++) {
        fibers[l] = weft_rack_fiber_load(run->state, rack->links[l].a, rack->links[l].b);
    }
    for (uint32_t r = 0; r < count; r++) {
        slices[r].tenant = WEFT_NONE;
        if (run->tenants[r] != WEFT_NONE) {
            weft_rack_slice_copy(&slices[r], weft_rack_tenant(run->state, run->tenants[r]),
                                 run->arena);
        }
    }
    return (struct weft_rack_view){holders, lost, fibers, slices};
}

// The chips that fail: "5,6", "server:0".
static bool read_lost(bool *lost, const char *text, const struct weft_rack *rack,
                      struct weft_arena scratch, struct weft_error *error)
{
    static const char prefix[] = "server:";
    const char *const *words = NULL;
    uint32_t count = 0;
    uint32_t chips = rack->server_count * rack->chips_per_server;
    if (!weft_split_list(&words, &count, text, &scratch, error)) {
        return weft_wrap(error, "{lose}");
    }
    for (uint32_t i = 0; i < count; i++) {
        bool server = strncmp(words[i], prefix, sizeof prefix - 1) == 0;
        uint64_t value = 0;
        if (!weft_parse_count(&value, words[i] + (server ? sizeof prefix - 1 : 0), 0,
                              (server ? rack->server_count : chips) - 1, error)) {
            return weft_wrap(error, "{lose}");
        }
        uint32_t first = (uint32_t)value * (server ? rack->chips_per_server : 1);
        uint32_t end = first + (server ? rack->chips_per_server : 1);
        for (uint32_t c = first; c < end; c++) {
            lost[c] = true;
        }
    }
    return true;
}

static void repair(struct run *run, const bool *lost)
{
    struct weft_rack_place_result *result = run->result;
    const struct weft_rack *rack = &result->rack;
    uint32_t chips = rack->server_count * rack->chips_per_server;
    uint32_t count = result->requests.count;
    struct weft_rack_repair *repairs = WEFT_NEW(run->arena, struct weft_rack_repair, count);
    for (uint32_t c = 0; c < chips; c++) {
        if (lost[c]) {
            weft_rack_lose(run->state, c);
            result->lost_count++;
        }
    }
    for (uint32_t r = 0; r < count; r++) {
        const struct weft_rack_slice *slice = weft_rack_tenant(run->state, run->tenants[r]);
        struct weft_arena scratch = run->scratch;
        uint32_t *logical = WEFT_NEW(&scratch, uint32_t, chips);
        uint32_t gone = 0;
        for (uint32_t c = 0; slice != NULL && c < slice->chip_count; c++) {
            if (lost[slice->chips[c]]) {
                logical[gone++] = c;
            }
        }
        if (gone == 0) {
            continue;
        }
        struct weft_rack_repair *repaired = &repairs[result->repair_count++];
        struct weft_rack_slice after;
        repaired->request = r;
        repaired->lost_count = gone;
        repaired->replaced = weft_rack_replace(&after, run->state, run->tenants[r], logical, gone,
                                               &result->options, scratch);
        weft_rack_slice_copy(&repaired->slice, &after, run->arena);
    }
    result->repairs = repairs;
}

bool weft_request_rack_place(struct weft_rack_place_result *result,
                             const struct weft_rack_place_request *request,
                             struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_rack_place_result found = {.options = request->options, .proved = true};
    found.options.stop = base->stop;
    if (!weft_rack_load_file(&found.rack, request->rack, base->arena, base->scratch, base->error) ||
        !weft_rack_requests_load(&found.requests, request->requests, base->arena, base->scratch,
                                 base->error)) {
        return false;
    }
    bool *lost =
        WEFT_NEW(base->arena, bool, (size_t)found.rack.server_count *found.rack.chips_per_server);
    if (request->lose != NULL &&
        !read_lost(lost, request->lose, &found.rack, base->scratch, base->error)) {
        return false;
    }
    struct run run = {
        .result = &found,
        .state = weft_rack_open(&found.rack, base->arena),
        .slices = WEFT_NEW(base->arena, struct weft_rack_slice, found.requests.count),
        .tenants = WEFT_NEW(base->arena, uint32_t, found.requests.count),
        .arena = base->arena,
        .scratch = base->scratch,
    };
    for (uint32_t e = 0; e < found.requests.event_count; e++) {
        const struct weft_rack_event *event = &found.requests.events[e];
        if (weft_stopped(base->stop)) {
            return weft_fail(base->error, WEFT_STOPPED, "stopped after %u of %u lines", e,
                             found.requests.event_count);
        }
        if (event->releases) {
            release(&run, event->request);
        } else {
            release_ended(&run, event->request);
            decide(&run, event->request);
        }
    }
    found.slices = run.slices;
    found.before = look(&run);
    found.after = found.before;
    if (request->lose != NULL) {
        repair(&run, lost);
        found.after = look(&run);
    }
    *result = found;
    return true;
}
