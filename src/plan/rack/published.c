// SPDX-License-Identifier: Apache-2.0
// Morphlux' second step, for requests without a free sub-torus: units on any free servers, each
// edge on one of 5 routes of its pair of servers, so that the largest load is least.
//
// The 5 routes are the least loaded (by the largest load on their links, of equals the first) of
// the pair's 50 shortest simple paths (Yen). The authors give this to a solver of integer programs;
// here it is a search of its own over placements and routes, at rising limits of the load, which
// has the same optimum. Not copied: that loads of contiguous and other slices were kept under
// different keys, so that half of them was not seen; that a load of 2 ended the search, which four
// units a route never reach; that slots of the graph and of the list of chips were numbered
// differently. Fibers are a hard limit here. Hops and pieces are no criterion, as published.

#include "search.h"

#include "weft/graph.h"

#include <math.h>
#include <string.h>

#define PATHS_SHORTEST 50u // of a pair (Morphlux' code)
#define PATHS_KEPT 5u

struct rack_pair_paths {
    uint32_t *count; // by a * server_count + b, a < b
    struct rack_path **paths;
};

// ---- the 50 shortest of each pair, once for a rack ----

static void copy_path(struct rack_path *path, const struct weft_graph *graph,
                      const struct weft_graph_paths *found, uint32_t which, uint32_t source)
{
    path->hops = 0;
    path->servers[0] = (uint8_t)source;
    for (uint32_t a = found->first[which]; a < found->first[which + 1]; a++) {
        path->servers[++path->hops] = (uint8_t)graph->heads[found->arcs[a]];
    }
}

static struct rack_pair_paths *find_pair_paths(const struct rack_tables *tables,
                                               struct weft_arena *arena, struct weft_arena scratch)
{
    uint32_t n = tables->server_count;
    uint32_t m = tables->link_count;
    struct rack_pair_paths *pairs = WEFT_NEW(arena, struct rack_pair_paths, 1);
    pairs->count = WEFT_NEW(arena, uint32_t, (size_t)n * n);
    pairs->paths = WEFT_NEW(arena, struct rack_path *, (size_t)n * n);
    uint32_t *tails = WEFT_NEW(&scratch, uint32_t, 2 * (size_t)m + 1);
    uint32_t *heads = WEFT_NEW(&scratch, uint32_t, 2 * (size_t)m + 1);
    for (uint32_t l = 0; l < m; l++) {
        tails[2 * l] = heads[2 * l + 1] = tables->link_a[l];
        heads[2 * l] = tails[2 * l + 1] = tables->link_b[l];
    }
    struct weft_graph graph;
    weft_graph_build(&graph, n, tails, heads, 2 * m, &scratch);
    double *remaining = WEFT_NEW(&scratch, double, n);
    uint32_t *hops = WEFT_NEW(&scratch, uint32_t, n);
    for (uint32_t b = 1; b < n; b++) {
        weft_graph_bfs(hops, &graph, b, scratch); // links go both ways
        for (uint32_t s = 0; s < n; s++) {
            remaining[s] = hops[s] == WEFT_NONE ? (double)INFINITY : hops[s];
        }
        for (uint32_t a = 0; a < b; a++) {
            struct weft_arena found_arena = weft_arena_split(&scratch);
            struct weft_graph_paths found;
            const struct weft_path_query query = {
                .remaining = remaining, .source = a, .target = b, .k = PATHS_SHORTEST};
            if (hops[a] == WEFT_NONE) {
                continue;
            }
            weft_graph_k_shortest(&found, &graph, &query, &found_arena, scratch);
            uint32_t pair = a * n + b;
            pairs->paths[pair] = WEFT_NEW(arena, struct rack_path, found.count);
            for (uint32_t i = 0; i < found.count; i++) {
                struct rack_path *path = &pairs->paths[pair][pairs->count[pair]];
                copy_path(path, &graph, &found, i, a);
                pairs->count[pair] += path->hops <= tables->hops_max;
            }
        }
    }
    return pairs;
}

// ---- the 5 least loaded of them, for a request ----

// Of a pair: which of its paths, the least loaded first.
struct kept_paths {
    uint8_t count;
    uint8_t at[PATHS_KEPT];
};

struct program {
    const struct weft_rack_state *state;
    const struct rack_shape *shape;
    struct rack_search *limits; // for the order of units and the limits of the load
    const struct rack_pair_paths *pairs;
    struct kept_paths *kept; // by pair
    struct rack_effort *effort;
    uint8_t *servers; // of a unit, RACK_FAR = none
    struct rack_path *paths;
};

static uint32_t path_load(const struct weft_rack_state *state, const struct rack_path *path)
{
    uint32_t most = 0;
    for (uint32_t h = 0; h < path->hops; h++) {
        uint32_t l = rack_link(&state->tables, path->servers[h], path->servers[h + 1]);
        most = state->load[l] > most ? state->load[l] : most;
    }
    return most;
}

static void keep_least_loaded(struct program *program)
{
    uint32_t n = program->state->tables.server_count;
    for (uint32_t pair = 0; pair < n * n; pair++) {
        uint32_t loads[PATHS_KEPT];
        uint32_t kept = 0;
        for (uint32_t i = 0; i < program->pairs->count[pair]; i++) {
            uint32_t load = path_load(program->state, &program->pairs->paths[pair][i]);
            uint32_t at = kept < PATHS_KEPT ? kept : PATHS_KEPT - 1;
            if (kept == PATHS_KEPT && loads[at] <= load) {
                continue;
            }
            for (; at > 0 && loads[at - 1] > load; at--) {
                loads[at] = loads[at - 1];
                program->kept[pair].at[at] = program->kept[pair].at[at - 1];
            }
            loads[at] = load;
            program->kept[pair].at[at] = (uint8_t)i;
            kept += kept < PATHS_KEPT;
        }
        program->kept[pair].count = (uint8_t)kept;
    }
}

// ---- placements and routes within a limit ----

static bool use_path(const struct program *program, const struct rack_path *path, uint32_t circuits)
{
    const struct rack_tables *tables = &program->state->tables;
    for (uint32_t h = 0; h < path->hops; h++) {
        uint32_t link = rack_link(tables, path->servers[h], path->servers[h + 1]);
        if (program->limits->left[link] < circuits) {
            return false;
        }
    }
    for (uint32_t h = 0; h < path->hops; h++) {
        program->limits->left[rack_link(tables, path->servers[h], path->servers[h + 1])] -=
            circuits;
    }
    return true;
}

static void free_path(const struct program *program, const struct rack_path *path,
                      uint32_t circuits)
{
    const struct rack_tables *tables = &program->state->tables;
    for (uint32_t h = 0; h < path->hops; h++) {
        program->limits->left[rack_link(tables, path->servers[h], path->servers[h + 1])] +=
            circuits;
    }
}

static enum rack_answer place_next(struct program *program, uint32_t depth);

// Routes for the edges of the unit at `depth` to units before it, from its k-th edge on.
static enum rack_answer route_next(struct program *program, uint32_t depth, uint32_t k)
{
    const struct rack_shape *shape = program->shape;
    uint32_t n = program->state->tables.server_count;
    uint32_t unit = program->limits->order[depth];
    if (shape->first[unit] + k == shape->first[unit + 1]) {
        return place_next(program, depth + 1);
    }
    uint32_t e = shape->incident[shape->first[unit] + k];
    const struct rack_edge *edge = &shape->edges[e];
    uint32_t from = program->servers[edge->u];
    uint32_t to = program->servers[edge->v];
    if (from == RACK_FAR || to == RACK_FAR) {
        return route_next(program, depth, k + 1);
    }
    uint32_t pair = from < to ? from * n + to : to * n + from;
    for (uint32_t i = 0; i < program->kept[pair].count; i++) {
        const struct rack_path *path = &program->pairs->paths[pair][program->kept[pair].at[i]];
        if (!rack_step(program->effort, 1)) {
            return RACK_CUT;
        }
        if (!use_path(program, path, edge->circuits)) {
            continue;
        }
        struct rack_path *taken = &program->paths[e];
        taken->hops = path->hops;
        for (uint32_t h = 0; h <= path->hops; h++) {
            taken->servers[h] = path->servers[from < to ? h : path->hops - h];
        }
        enum rack_answer answer = route_next(program, depth, k + 1);
        free_path(program, path, edge->circuits);
        if (answer != RACK_NONE) {
            return answer;
        }
    }
    return RACK_NONE;
}

static enum rack_answer place_next(struct program *program, uint32_t depth)
{
    if (depth == program->shape->unit_count) {
        return RACK_FOUND;
    }
    uint32_t n = program->state->tables.server_count;
    uint32_t unit = program->limits->order[depth];
    for (uint32_t s = 0; s < n; s++) {
        if (program->limits->room[s] == 0) {
            continue;
        }
        program->servers[unit] = (uint8_t)s;
        program->limits->room[s]--;
        enum rack_answer answer = route_next(program, depth, 0);
        program->limits->room[s]++;
        if (answer != RACK_NONE) {
            return answer;
        }
        program->servers[unit] = RACK_FAR;
    }
    return RACK_NONE;
}

// The least limit with a layout.
static bool solve(struct program *program, struct rack_outcome *outcome)
{
    bool cut = false;
    uint64_t limit = program->effort->limit;
    outcome->bound_load = WEFT_NONE;
    for (uint32_t load = rack_search_next(program->limits, 0); load != WEFT_NONE;
         load = rack_search_next(program->limits, load)) {
        if (rack_search_limit(program->limits, load) == WEFT_NONE) {
            continue;
        }
        memset(program->servers, RACK_FAR, program->shape->unit_count);
        program->effort->limit = program->effort->steps + rack_steps_left(program->effort) / 3 + 1;
        enum rack_answer answer = place_next(program, 0);
        program->effort->limit = limit;
        outcome->bound_load = !cut && answer != RACK_NONE ? load : outcome->bound_load;
        cut = cut || answer == RACK_CUT;
        if (answer == RACK_FOUND) {
            outcome->proved = !cut;
            return true;
        }
    }
    outcome->reason = WEFT_RACK_FIBERS;
    outcome->proved = !cut;
    return false;
}

bool rack_published(struct weft_rack_slice *slice, struct weft_rack_state *state,
                    const struct weft_rack_request *request,
                    const struct weft_rack_options *options, struct rack_outcome *outcome,
                    struct weft_arena scratch)
{
    const struct weft_rack *rack = state->rack;
    const uint32_t *sides = request->sides;
    uint32_t chips = sides[0] * sides[1] * sides[2];
    uint32_t n = rack->server_count;
    uint32_t unit[3];
    uint32_t room = 0;
    uint32_t volume = chips < rack->chips_per_server ? chips : rack->chips_per_server;
    for (uint32_t s = 0; s < n; s++) {
        room += state->free_chips[s] / volume;
    }
    *outcome = (struct rack_outcome){.reason = WEFT_RACK_FRAGMENTATION, .proved = true};
    if (chips % volume != 0 || room < chips / volume ||
        !rack_unit_choose(unit, sides, volume, rack->block)) {
        return false;
    }
    if (state->pair_paths == NULL) {
        state->pair_paths = find_pair_paths(&state->tables, &state->own, scratch);
    }
    struct rack_shape shape;
    struct rack_layout layout;
    struct rack_search limits;
    struct rack_effort effort = {.limit =
                                     options->steps_max > 0 ? options->steps_max : RACK_STEPS_MAX,
                                 .stop = options->stop};
    rack_shape_build(&shape, sides, unit, rack_lanes(rack, sides, options->fixed), &scratch);
    rack_layout_init(&layout, &shape, &scratch);
    struct weft_arena arena = weft_arena_split(&scratch);
    rack_search_open(&limits, state, &shape, options->converts, &arena, scratch);
    struct program program = {
        .state = state,
        .shape = &shape,
        .limits = &limits,
        .pairs = state->pair_paths,
        .kept = WEFT_NEW(&scratch, struct kept_paths, (size_t)n * n),
        .effort = &effort,
        .servers = layout.servers,
        .paths = layout.paths,
    };
    keep_least_loaded(&program);
    if (shape.unit_count > 1 && !solve(&program, outcome)) {
        outcome->steps = effort.steps;
        return false;
    }
    if (shape.unit_count == 1) {
        while (state->free_chips[layout.servers[0]] < volume) {
            layout.servers[0]++;
        }
    }
    outcome->steps = effort.steps;
    const struct rack_draft draft = {&shape, &layout, NULL, options->converts};
    outcome->reason = WEFT_RACK_WAVELENGTHS;
    return rack_commit(slice, state, &draft, scratch);
}
