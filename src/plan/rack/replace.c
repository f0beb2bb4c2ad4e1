// SPDX-License-Identifier: Apache-2.0
// Spares in the place of lost chips (LUMION, arXiv 2505.23105, step 3).
//
// The lost chips of one server move together where some server has as many free, else one by one.
// Their own server is taken where it has room: nothing changes for light then. Else every server
// with room is tried. The links of the lost chips to others are routed anew, bundled by the
// servers at their other ends; what the slice's other links have stays as it is. For each spare
// server the router gives the routes with the fewest hops at the least limit of the load, as
// exact.c does, and the best server is kept: least load, then hops, then the lowest. Chips of
// several servers are replaced one server after the other; their optimum together is not proved.

#include "rack.h"

#include <string.h>

// Chips of a slice that leave their server together; the slice is lifted.
struct group {
    struct weft_rack_state *state;
    const struct weft_rack_slice *slice;
    bool converts;
    struct rack_effort *effort;
    const uint32_t *chips; // logical
    uint32_t count;
    uint32_t server;    // that they leave
    uint32_t *free;     // of a server: chips for spares
    uint32_t *circuits; // by server: to the slice's other chips there
    uint32_t (*ends)[2];
    struct weft_rack_route *kept; // what other links have
    uint32_t kept_count;
    uint32_t kept_load; // largest over the links of kept routes
    bool color_failed;
    bool cut;
};

// The best spare server so far, and its routes: paths[i] of demands[i].
struct spare {
    uint32_t server;
    uint32_t load;
    uint32_t hops;
    uint32_t count;
    struct rack_demand demands[WEFT_RACK_SERVERS_MAX];
    struct rack_path paths[WEFT_RACK_SERVERS_MAX];
    const struct group *group;
};

static bool contains(const struct group *group, uint32_t chip)
{
    for (uint32_t i = 0; i < group->count; i++) {
        if (group->chips[i] == chip) {
            return true;
        }
    }
    return false;
}

static uint32_t server_of(const struct group *group, uint32_t logical)
{
    return group->slice->chips[logical] / group->state->rack->chips_per_server;
}

// The neighbor of a logical chip along a side; WEFT_NONE where there is no link of its own.
static uint32_t neighbor(const struct weft_rack_slice *slice, uint32_t chip, uint32_t side,
                         bool forward)
{
    uint32_t stride = side == 0   ? 1
                      : side == 1 ? slice->sides[0]
                                  : slice->sides[0] * slice->sides[1];
    uint32_t n = slice->sides[side];
    uint32_t at = chip / stride % n;
    if (n == 1 || (n == 2 && forward != (at == 0))) {
        return WEFT_NONE;
    }
    uint32_t to = forward ? (at + 1) % n : (at + n - 1) % n;
    return chip - at * stride + to * stride;
}

// Circuits between the group and the slice's other chips, by their server.
static void count_links(struct group *group)
{
    for (uint32_t i = 0; i < group->count; i++) {
        for (uint32_t k = 0; k < 6; k++) {
            uint32_t other = neighbor(group->slice, group->chips[i], k / 2, k % 2 == 0);
            if (other == WEFT_NONE || contains(group, other)) {
                continue;
            }
            uint32_t server = server_of(group, other);
            if (group->circuits[server] == 0) {
                group->ends[server][0] = group->chips[i];
                group->ends[server][1] = other;
            }
            group->circuits[server] += group->slice->lanes;
        }
    }
}

// Chips for spares: those that are free while the slice is lifted, but for its own.
static void count_free(struct group *group)
{
    const struct weft_rack_state *state = group->state;
    memcpy(group->free, state->free_chips, state->tables.server_count * sizeof *group->free);
    for (uint32_t c = 0; c < group->slice->chip_count; c++) {
        if (!state->is_lost[group->slice->chips[c]]) {
            group->free[server_of(group, c)]--;
        }
    }
}

// A route with some circuits less: the last ones go.
static struct weft_rack_route reduce(const struct weft_rack_route *route, uint32_t circuits,
                                     struct weft_arena *arena)
{
    struct weft_rack_route reduced = *route;
    uint32_t *fibers = WEFT_NEW(arena, uint32_t, (size_t)route->hops * circuits);
    uint32_t *wavelengths = WEFT_NEW(arena, uint32_t, (size_t)route->hops * circuits);
    for (uint32_t h = 0; h < route->hops; h++) {
        for (uint32_t c = 0; c < circuits; c++) {
            fibers[h * circuits + c] = route->fibers[h * route->circuits + c];
            wavelengths[h * circuits + c] = route->wavelengths[h * route->circuits + c];
        }
    }
    reduced.circuits = circuits;
    reduced.fibers = fibers;
    reduced.wavelengths = wavelengths;
    return reduced;
}

// A pair of neighbors outside the group whose servers a kept route joins.
static void name_ends(struct weft_rack_route *route, const struct group *group)
{
    uint32_t first = route->servers[0];
    uint32_t last = route->servers[route->hops];
    for (uint32_t c = 0; c < group->slice->chip_count; c++) {
        for (uint32_t k = 0; k < 6; k++) {
            uint32_t other = neighbor(group->slice, c, k / 2, k % 2 == 0);
            if (other != WEFT_NONE && !contains(group, c) && !contains(group, other) &&
                server_of(group, c) == first && server_of(group, other) == last) {
                route->from = c;
                route->to = other;
                return;
            }
        }
    }
    WEFT_ASSERT(false);
}

// What the slice's routes carry for links outside the group: of the routes between the group's
// server and another, the circuits of the group's links go.
static void keep_routes(struct group *group, struct weft_arena *arena)
{
    const struct weft_rack_slice *slice = group->slice;
    uint32_t drop[WEFT_RACK_SERVERS_MAX];
    memcpy(drop, group->circuits, group->state->tables.server_count * sizeof *drop);
    group->kept = WEFT_NEW(arena, struct weft_rack_route, (size_t)slice->route_count + 1);
    for (uint32_t r = 0; r < slice->route_count; r++) {
        const struct weft_rack_route *route = &slice->routes[r];
        uint32_t first = route->servers[0];
        uint32_t last = route->servers[route->hops];
        uint32_t other = first == group->server ? last : first;
        uint32_t dropped = 0;
        if (first == group->server || last == group->server) {
            dropped = drop[other] < route->circuits ? drop[other] : route->circuits;
            drop[other] -= dropped;
        }
        if (dropped == route->circuits) {
            continue;
        }
        struct weft_rack_route *kept = &group->kept[group->kept_count++];
        *kept = dropped == 0 ? *route : reduce(route, route->circuits - dropped, arena);
        if (contains(group, kept->from) || contains(group, kept->to)) {
            name_ends(kept, group);
        }
    }
}

static void mark_kept(struct group *group, bool taken)
{
    struct weft_rack_state *state = group->state;
    for (uint32_t r = 0; r < group->kept_count; r++) {
        rack_mark_route(state, &group->kept[r], taken);
    }
    group->kept_load = 0;
    for (uint32_t r = 0; r < group->kept_count; r++) {
        const struct weft_rack_route *route = &group->kept[r];
        for (uint32_t h = 0; h < route->hops; h++) {
            uint32_t l = rack_link(&state->tables, route->servers[h], route->servers[h + 1]);
            group->kept_load =
                state->load[l] > group->kept_load ? state->load[l] : group->kept_load;
        }
    }
}

// What the search for wavelengths needs beside the spare.
struct acceptance {
    struct spare *spare;
    bool color_failed;
    bool cut;
    struct weft_arena scratch;
};

static enum rack_answer accept_colors(void *context)
{
    struct acceptance *acceptance = context;
    const struct spare *spare = acceptance->spare;
    const struct weft_rack_state *state = spare->group->state;
    struct weft_arena scratch = acceptance->scratch;
    struct rack_bundle bundles[WEFT_RACK_SERVERS_MAX];
    uint32_t circuits = 0;
    if (spare->group->converts || state->tables.wavelengths == 1) {
        return RACK_FOUND;
    }
    for (uint32_t d = 0; d < spare->count; d++) {
        bundles[d] = (struct rack_bundle){&spare->paths[d], spare->demands[d].circuits};
        circuits += spare->demands[d].circuits;
    }
    uint32_t *colors = WEFT_NEW(&scratch, uint32_t, (size_t)circuits + 1);
    enum rack_answer answer =
        rack_color(colors, state, bundles, spare->count, spare->group->effort, scratch);
    acceptance->color_failed = acceptance->color_failed || answer != RACK_FOUND;
    acceptance->cut = acceptance->cut || answer == RACK_CUT;
    return answer == RACK_FOUND ? RACK_FOUND : RACK_NONE;
}

// Routes with the fewest hops where no link has more than `load` circuits. `left` is for links.
static enum rack_answer route_within(struct spare *spare, uint32_t load, uint32_t *left,
                                     struct acceptance *acceptance, struct weft_arena scratch)
{
    const struct group *group = spare->group;
    const struct rack_tables *tables = &group->state->tables;
    uint32_t least = WEFT_NONE;
    for (uint32_t d = 0; d < spare->count; d++) {
        least = spare->demands[d].circuits < least ? spare->demands[d].circuits : least;
    }
    for (uint32_t l = 0; l < tables->link_count; l++) {
        uint32_t free = tables->channels[l] - group->state->load[l];
        uint32_t allowed = load > group->state->load[l] ? load - group->state->load[l] : 0;
        left[l] = free < allowed ? free : allowed;
    }
    struct rack_router router = {
        .tables = tables,
        .left = left,
        .circuits_least = least,
        .bounds_hops = true,
        .effort = group->effort,
        .paths = spare->paths,
        .accept = accept_colors,
        .context = acceptance,
    };
    enum rack_answer answer = RACK_NONE;
    uint32_t hops = 0;
    do {
        router.hops_max = hops;
        router.next_hops = WEFT_NONE;
        answer = rack_route(&router, spare->demands, spare->count, 0, scratch);
        spare->hops = hops;
        hops = router.next_hops;
    } while (answer == RACK_NONE && hops != WEFT_NONE);
    spare->load = load;
    return answer;
}

// The least limit above `load` at which some link takes more.
static uint32_t next_limit(const struct weft_rack_state *state, uint32_t load)
{
    uint32_t next = WEFT_NONE;
    for (uint32_t l = 0; l < state->tables.link_count; l++) {
        uint32_t limit = state->load[l] > load ? state->load[l] + 1 : load + 1;
        next = limit <= state->tables.channels[l] && limit < next ? limit : next;
    }
    return next;
}

// The routes of a spare on that server, no worse than `best`; false where there are none.
static bool try_server(struct spare *spare, struct group *group, uint32_t server,
                       const struct spare *best, struct weft_arena scratch)
{
    const struct weft_rack_state *state = group->state;
    struct acceptance acceptance = {.spare = spare, .scratch = weft_arena_split(&scratch)};
    uint32_t *left = WEFT_NEW(&scratch, uint32_t, (size_t)state->tables.link_count + 1);
    *spare = (struct spare){.server = server, .group = group, .load = group->kept_load};
    for (uint32_t t = 0; t < state->tables.server_count; t++) {
        if (t != server && group->circuits[t] > 0) {
            spare->demands[spare->count] =
                (struct rack_demand){spare->count, server, t, group->circuits[t]};
            spare->count++;
        }
    }
    if (spare->count == 0) {
        return true;
    }
    enum rack_answer answer = RACK_NONE;
    uint32_t load = group->kept_load > 0 ? group->kept_load : next_limit(state, 0);
    while (answer == RACK_NONE && load != WEFT_NONE && load <= best->load) {
        answer = route_within(spare, load, left, &acceptance, scratch);
        load = next_limit(state, load);
    }
    group->color_failed = group->color_failed || acceptance.color_failed;
    group->cut = group->cut || acceptance.cut || answer == RACK_CUT;
    return answer == RACK_FOUND;
}

static bool choose_server(struct spare *best, struct group *group, struct weft_arena scratch)
{
    struct spare *spare = WEFT_NEW(&scratch, struct spare, 1);
    *best = (struct spare){.server = WEFT_NONE, .load = WEFT_NONE - 1, .hops = WEFT_NONE};
    for (uint32_t s = 0; s < group->state->tables.server_count; s++) {
        if (group->free[s] >= group->count && try_server(spare, group, s, best, scratch) &&
            (spare->load < best->load || (spare->load == best->load && spare->hops < best->hops))) {
            *best = *spare;
        }
    }
    return best->server != WEFT_NONE;
}

// The group on a server, as a new tenant.
static bool commit_spare(struct weft_rack_slice *after, struct group *group,
                         const struct spare *spare, struct weft_arena scratch)
{
    const struct weft_rack_slice *slice = group->slice;
    struct weft_rack_state *state = group->state;
    uint32_t per_server = state->rack->chips_per_server;
    uint32_t *chips = WEFT_NEW(&scratch, uint32_t, slice->chip_count);
    bool *own = WEFT_NEW(&scratch, bool, state->tables.server_count *per_server);
    memcpy(chips, slice->chips, slice->chip_count * sizeof *chips);
    for (uint32_t c = 0; c < slice->chip_count; c++) {
        own[chips[c]] = true;
    }
    uint32_t chip = spare->server * per_server;
    for (uint32_t i = 0; i < group->count; i++, chip++) {
        while (own[chip] || state->is_lost[chip] || state->holder[chip] != WEFT_NONE) {
            chip++;
        }
        WEFT_ASSERT(chip / per_server == spare->server);
        chips[group->chips[i]] = chip;
    }
    uint32_t count = group->kept_count + spare->count;
    struct rack_route_draft *routes = WEFT_NEW(&scratch, struct rack_route_draft, count + 1);
    for (uint32_t r = 0; r < group->kept_count; r++) {
        const struct weft_rack_route *kept = &group->kept[r];
        routes[r] = (struct rack_route_draft){
            .from = kept->from, .to = kept->to, .circuits = kept->circuits, .kept = kept};
        routes[r].path.hops = kept->hops;
        for (uint32_t h = 0; h <= kept->hops; h++) {
            routes[r].path.servers[h] = (uint8_t)kept->servers[h];
        }
    }
    for (uint32_t d = 0; d < spare->count; d++) {
        const struct rack_demand *demand = &spare->demands[d];
        routes[group->kept_count + d] = (struct rack_route_draft){
            .path = spare->paths[d],
            .from = group->ends[demand->to][0],
            .to = group->ends[demand->to][1],
            .circuits = demand->circuits,
        };
    }
    *after = *slice;
    after->chips = chips;
    after->contiguous = false;
    return rack_commit_routes(after, state, routes, count, group->converts, scratch);
}

// Moves chips that a lifted slice lost on one server. True: `after` is a tenant.
static bool replace_group(struct weft_rack_slice *after, struct group *group,
                          struct weft_arena scratch)
{
    struct weft_rack_state *state = group->state;
    uint32_t n = state->tables.server_count;
    struct spare *best = WEFT_NEW(&scratch, struct spare, 1);
    group->server = server_of(group, group->chips[0]);
    group->free = WEFT_NEW(&scratch, uint32_t, n);
    group->circuits = WEFT_NEW(&scratch, uint32_t, n);
    group->ends = weft_arena_alloc(&scratch, n, sizeof *group->ends);
    count_free(group);
    if (group->free[group->server] >= group->count) {
        group->kept = WEFT_NEW(&scratch, struct weft_rack_route, group->slice->route_count + 1);
        memcpy(group->kept, group->slice->routes, group->slice->route_count * sizeof *group->kept);
        group->kept_count = group->slice->route_count;
        *best = (struct spare){.server = group->server, .group = group};
        return commit_spare(after, group, best, scratch);
    }
    count_links(group);
    keep_routes(group, &scratch);
    mark_kept(group, true);
    bool found = choose_server(best, group, scratch);
    mark_kept(group, false);
    return found && commit_spare(after, group, best, scratch);
}

// The lost chips of the server of the first, in `group`; the others stay in `lost`. With `alone`
// the first by itself.
static uint32_t take_group(uint32_t *group, uint32_t *lost, uint32_t *lost_count,
                           const struct weft_rack_slice *slice, uint32_t per_server, bool alone)
{
    uint32_t count = 0;
    uint32_t kept = 0;
    uint32_t server = slice->chips[lost[0]] / per_server;
    for (uint32_t i = 0; i < *lost_count; i++) {
        bool goes = slice->chips[lost[i]] / per_server == server && !(alone && count > 0);
        if (goes) {
            group[count++] = lost[i];
        } else {
            lost[kept++] = lost[i];
        }
    }
    *lost_count = kept;
    return count;
}

// How many of the lost chips were on the server of the first.
static uint32_t count_beside(const uint32_t *lost, uint32_t lost_count,
                             const struct weft_rack_slice *slice, uint32_t per_server)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < lost_count; i++) {
        count += slice->chips[lost[i]] / per_server == slice->chips[lost[0]] / per_server;
    }
    return count;
}

// Whether some server has spares for `count` chips of a lifted slice.
static bool has_room(const struct weft_rack_state *state, const struct weft_rack_slice *slice,
                     uint32_t count, struct weft_arena scratch)
{
    struct group group = {.state = (struct weft_rack_state *)(uintptr_t)state, .slice = slice};
    group.free = WEFT_NEW(&scratch, uint32_t, state->tables.server_count);
    count_free(&group);
    for (uint32_t s = 0; s < state->tables.server_count; s++) {
        if (group.free[s] >= count) {
            return true;
        }
    }
    return false;
}

// Gives up a slice that was lifted, with its memory.
static void drop_lifted(struct weft_rack_state *state, uint32_t tenant)
{
    rack_block_give(state, (void *)(uintptr_t)state->slices[tenant].chips, state->blocks[tenant]);
    state->slices[tenant].tenant = WEFT_NONE;
}

bool weft_rack_replace(struct weft_rack_slice *after, struct weft_rack_state *state,
                       uint32_t tenant, const uint32_t *lost, uint32_t lost_count,
                       const struct weft_rack_options *options, struct weft_arena scratch)
{
    uint32_t per_server = state->rack->chips_per_server;
    const struct weft_rack_slice *before = &state->slices[tenant];
    uint32_t *rest = WEFT_NEW(&scratch, uint32_t, (size_t)lost_count + 1);
    uint32_t *chosen = WEFT_NEW(&scratch, uint32_t, (size_t)lost_count + 1);
    struct rack_effort effort = {
        .limit = options->steps_max > 0 ? options->steps_max : RACK_STEPS_MAX,
        .stop = options->stop,
    };
    WEFT_ASSERT(tenant < state->tenant_count && before->tenant == tenant && lost_count > 0);
    memcpy(rest, lost, lost_count * sizeof *rest);
    for (uint32_t i = 0; i < lost_count; i++) {
        weft_rack_lose(state, before->chips[lost[i]]);
    }
    uint32_t now = tenant; // the slice as far as it is repaired
    uint32_t groups = 0;
    bool cut = false;
    bool color_failed = false;
    bool fine = true;
    for (uint32_t left = lost_count; left > 0 && fine; groups++) {
        const struct weft_rack_slice *slice = &state->slices[now];
        rack_lift(state, slice);
        uint32_t together = count_beside(rest, left, slice, per_server);
        bool alone = !has_room(state, slice, together, scratch);
        uint32_t count = take_group(chosen, rest, &left, slice, per_server, alone);
        struct group group = {.state = state,
                              .slice = slice,
                              .converts = options->converts,
                              .effort = &effort,
                              .chips = chosen,
                              .count = count};
        fine = replace_group(after, &group, scratch);
        cut = cut || group.cut;
        color_failed = color_failed || group.color_failed;
        if (now != tenant) {
            drop_lifted(state, now);
        }
        now = fine ? after->tenant : now;
    }
    if (!fine) {
        rack_lay(state, before);
        *after = *before;
        after->proved = !cut && groups == 1;
        after->reason = weft_rack_free_chips(state) < lost_count ? WEFT_RACK_CAPACITY
                        : color_failed                           ? WEFT_RACK_WAVELENGTHS
                                                                 : WEFT_RACK_FIBERS;
        return false;
    }
    rack_take_over(state, tenant, now);
    struct weft_rack_slice *slice = &state->slices[tenant];
    slice->bound_load = slice->load_max;
    slice->bound_hops = slice->hops;
    slice->proved = !cut && groups == 1;
    slice->steps = effort.steps;
    *after = *slice;
    return true;
}
