// SPDX-License-Identifier: Apache-2.0
// The exact allocator: the largest units for which there is room, the least load, the fewest hops.
//
// Limits of the load are tried in rising order; each is one more circuit of a link than the one
// before, so that none is left out. At each limit the allowed hops rise from a bound to what the
// pass before refused (iterative deepening, Korf 1985): the first layout that is found is optimal,
// and a pass that refuses nothing for its hops proves that the limit has no layout. A pass that
// takes too many steps is cut; the first layout at that limit is taken then, without proof.
//
// A slice is placed in units of a server's chips where as many servers have them; else in smaller
// ones, down to single chips. The optimum is over placements of these units. Where they are
// refused for fibers or wavelengths, smaller ones are tried with a part of the steps that are left:
// their bundles are thinner, and they fit where fibers are fewer than the links of a server's side.

#include "search.h"

#include <string.h>

#define ANY_STEPS 20000u
#define FINER_SHARE 2u // of the steps that are left, for units smaller than those with room

struct solution {
    struct rack_outcome outcome;
    struct rack_layout layout;
    bool have;
};

static void keep(struct solution *solution, const struct rack_search *search, bool proved)
{
    rack_layout_copy(&solution->layout, &search->best, search->shape);
    solution->have = true;
    solution->outcome.proved = proved;
}

// A layout at the limit that is set, with the fewest hops. NONE: there is none.
static enum rack_answer solve_limit(struct solution *solution, struct rack_search *search,
                                    uint32_t hops, uint64_t steps_max)
{
    struct rack_effort *effort = search->effort;
    uint64_t limit = effort->limit;
    uint64_t end = effort->steps + rack_steps_left(effort) / 3;
    enum rack_answer answer = RACK_CUT;
    bool first = true;
    while (effort->steps < end) {
        effort->limit = end;
        answer = rack_search_run(search, hops, steps_max / 16);
        if (answer != RACK_NONE || search->next_hops == WEFT_NONE) {
            break;
        }
        hops = search->next_hops;
        answer = RACK_CUT;
        if (first && search->shape->unit_count > 2) { // what to fall back on
            effort->limit = effort->steps + steps_max / 64;
            first = rack_search_run(search, WEFT_NONE, 0) != RACK_FOUND;
            if (search->have) {
                keep(solution, search, false);
            }
        }
        if (solution->have && solution->layout.hops <= hops) {
            answer = RACK_FOUND;
            search->have = false;
            solution->outcome.proved = true;
            break;
        }
    }
    effort->limit = limit;
    if (answer == RACK_FOUND && search->have) {
        keep(solution, search, true);
    }
    if (answer == RACK_CUT && !solution->have) {
        effort->limit = effort->steps + rack_steps_left(effort) / 8;
        if (rack_search_run(search, WEFT_NONE, 0) == RACK_FOUND) {
            keep(solution, search, false);
        }
        effort->limit = limit;
    }
    solution->outcome.bound_hops = hops;
    return solution->have ? RACK_FOUND : answer;
}

// The first layout over all channels that are free, whatever the steps so far: with fibers enough
// nothing is refused that has the chips. Symmetries only make the way to a first layout longer.
static void take_any(struct solution *solution, struct rack_search *search)
{
    struct rack_effort *effort = search->effort;
    uint64_t edges = search->shape->edge_count;
    uint64_t limit = effort->limit;
    uint32_t stabilizer_count = search->stabilizer_count;
    search->stabilizer_count = 0;
    effort->limit = effort->steps + ANY_STEPS + 4 * edges * edges; // as many as routing it takes
    solution->outcome.bound_hops = rack_search_limit(search, WEFT_NONE);
    if (solution->outcome.bound_hops != WEFT_NONE &&
        rack_search_run(search, WEFT_NONE, 0) == RACK_FOUND) {
        keep(solution, search, false);
        rack_layout_measure(&solution->layout, search->shape, search->state, search->scratch);
    }
    search->stabilizer_count = stabilizer_count;
    effort->limit = limit;
}

static void solve(struct solution *solution, struct rack_search *search, uint64_t steps_max)
{
    struct rack_outcome *outcome = &solution->outcome;
    bool cut = false;
    outcome->bound_load = WEFT_NONE;
    for (uint32_t load = rack_search_next(search, 0); load != WEFT_NONE;
         load = rack_search_next(search, load)) {
        uint32_t hops = rack_search_limit(search, load);
        if (hops == WEFT_NONE) {
            continue;
        }
        enum rack_answer answer = solve_limit(solution, search, hops, steps_max);
        if (answer == RACK_NONE) {
            continue;
        }
        if (!cut) {
            outcome->bound_load = load;
        }
        if (answer == RACK_FOUND) {
            outcome->proved = outcome->proved && !cut && !search->uncertain;
            break;
        }
        cut = true;
        if (rack_steps_left(search->effort) == 0) {
            break;
        }
    }
    if (cut && !solution->have) {
        take_any(solution, search);
    }
    if (!solution->have) {
        outcome->reason = search->color_failed ? WEFT_RACK_WAVELENGTHS : WEFT_RACK_FIBERS;
        outcome->proved = !cut && !search->uncertain;
    }
}

// One unit: the server that leaves the fewest pieces, of equals the one with least room.
static void solve_single(struct solution *solution, const struct weft_rack_state *state,
                         const struct rack_shape *shape)
{
    uint32_t best = WEFT_NONE;
    uint32_t best_pieces = 0;
    for (uint32_t s = 0; s < state->tables.server_count; s++) {
        uint32_t taken[WEFT_RACK_SERVERS_MAX] = {0};
        if (state->free_chips[s] < shape->unit_chips) {
            continue;
        }
        taken[s] = shape->unit_chips;
        uint32_t pieces = rack_pieces(state, taken);
        if (best == WEFT_NONE || pieces < best_pieces ||
            (pieces == best_pieces && state->free_chips[s] < state->free_chips[best])) {
            best = s;
            best_pieces = pieces;
        }
    }
    WEFT_ASSERT(best != WEFT_NONE);
    solution->layout.servers[0] = (uint8_t)best;
    solution->have = true;
    solution->outcome.proved = true;
}

void rack_root_bounds(struct rack_outcome *outcome, const struct weft_rack_state *state,
                      const struct rack_shape *shape, bool converts, struct weft_arena scratch)
{
    struct rack_search search;
    struct weft_arena arena = weft_arena_split(&scratch);
    outcome->bound_load = 0;
    outcome->bound_hops = 0;
    if (shape->unit_count == 1) {
        return;
    }
    rack_search_open(&search, state, shape, converts, &arena, scratch);
    uint32_t load = rack_search_next(&search, 0);
    while (load != WEFT_NONE && rack_search_limit(&search, load) == WEFT_NONE) {
        load = rack_search_next(&search, load);
    }
    outcome->bound_load = load;
    outcome->bound_hops = rack_search_limit(&search, WEFT_NONE);
}

// What all units of one request have with them.
struct request_search {
    const struct weft_rack_options *options;
    struct rack_effort effort;
    struct rack_outcome *outcome;
};

// The slice in these units, on the servers as they are.
static bool place_units(struct weft_rack_slice *slice, struct weft_rack_state *state,
                        const struct rack_shape *shape, struct request_search *all,
                        struct weft_arena scratch)
{
    struct solution solution = {.outcome = {.reason = WEFT_RACK_PLACED}};
    rack_layout_init(&solution.layout, shape, &scratch);
    if (shape->unit_count == 1) {
        solve_single(&solution, state, shape);
    } else {
        struct rack_search search;
        struct weft_arena arena = weft_arena_split(&scratch);
        rack_search_open(&search, state, shape, all->options->converts, &arena, scratch);
        search.effort = &all->effort;
        solve(&solution, &search, all->effort.limit);
    }
    *all->outcome = solution.outcome;
    const struct rack_draft draft = {shape, &solution.layout, NULL, all->options->converts};
    return solution.have && rack_commit(slice, state, &draft, scratch);
}

bool rack_exact(struct weft_rack_slice *slice, struct weft_rack_state *state,
                const struct weft_rack_request *request, const struct weft_rack_options *options,
                struct rack_outcome *outcome, struct weft_arena scratch)
{
    const struct weft_rack *rack = state->rack;
    const uint32_t *sides = request->sides;
    uint32_t chips = sides[0] * sides[1] * sides[2];
    uint32_t lanes = rack_lanes(rack, sides, options->fixed);
    struct request_search all = {
        .options = options,
        .effort = {.limit = options->steps_max > 0 ? options->steps_max : RACK_STEPS_MAX,
                   .stop = options->stop},
        .outcome = outcome,
    };
    uint64_t limit = all.effort.limit;
    bool tried = false;
    bool proved = true;
    struct rack_outcome refused = {.reason = WEFT_RACK_FRAGMENTATION};
    uint32_t most = chips < rack->chips_per_server ? chips : rack->chips_per_server;
    for (uint32_t volume = most; volume >= 1; volume--) {
        uint32_t unit[3];
        uint32_t room = 0;
        for (uint32_t s = 0; s < rack->server_count; s++) {
            room += state->free_chips[s] / volume;
        }
        if (chips % volume != 0 || room < chips / volume ||
            !rack_unit_choose(unit, sides, volume, rack->block)) {
            continue;
        }
        struct rack_shape shape;
        struct weft_arena arena = weft_arena_split(&scratch);
        rack_shape_build(&shape, sides, unit, lanes, &arena);
        all.effort.limit = limit;
        uint64_t rest = rack_steps_left(&all.effort);
        all.effort.limit = tried ? all.effort.steps + rest / FINER_SHARE : limit;
        bool placed = place_units(slice, state, &shape, &all, scratch);
        outcome->steps = all.effort.steps;
        if (placed) {
            return true;
        }
        proved = proved && outcome->proved;
        refused = tried ? refused : *outcome;
        tried = true;
    }
    refused.steps = outcome->steps;
    refused.proved = proved;
    *outcome = refused;
    return false;
}
