// SPDX-License-Identifier: Apache-2.0
// A matching of a mesh's ports: negotiated, else held against cuts, else given to the solver; then
// shortened, traced and handed over.

#include "negotiate.h"
#include "solver.h"

enum {
    RESTARTS = 8,            // random orders of a negotiation
    SEARCHES_A_PAIR = 60,    // of one
    STARTS = 6,              // where the longest route counts
    CONFLICTS_MAX = 1000000, // of the solver: minutes
};

struct weft_mesh_router {
    const struct weft_mesh *mesh;
    bool measured;      // capacities are known
    uint16_t *capacity; // of runs of ports
};

struct weft_mesh_router *weft_mesh_router_open(const struct weft_mesh *mesh,
                                               struct weft_arena *arena)
{
    struct weft_mesh_router *router = WEFT_NEW(arena, struct weft_mesh_router, 1);
    router->mesh = mesh;
    router->capacity = WEFT_NEW(arena, uint16_t, (size_t)mesh->port_count * mesh->port_count);
    return router;
}

bool weft_mesh_check_pairs(const struct weft_mesh *mesh, const struct weft_mesh_pair *pairs,
                           uint32_t pair_count, struct weft_arena scratch, struct weft_error *error)
{
    bool *used = WEFT_NEW(&scratch, bool, mesh->port_count);
    if (pair_count == 0) {
        return weft_fail(error, WEFT_INPUT, "a matching without pairs; name one at least");
    }
    for (uint32_t i = 0; i < pair_count; i++) {
        const uint32_t ends[] = {pairs[i].from, pairs[i].to};
        for (uint32_t end = 0; end < 2; end++) {
            if (ends[end] >= mesh->port_count) {
                return weft_fail(error, WEFT_INPUT,
                                 "pair %u-%u: a mesh of %u x %u has ports 0 to %u", pairs[i].from,
                                 pairs[i].to, mesh->rows, mesh->columns, mesh->port_count - 1);
            }
            if (used[ends[end]]) {
                return weft_fail(error, WEFT_INPUT,
                                 "pair %u-%u: port %u is in a pair already; name it once",
                                 pairs[i].from, pairs[i].to, ends[end]);
            }
            used[ends[end]] = true;
        }
    }
    return true;
}

// Tries to give every net a route, in as many random orders.
static bool negotiate(struct mesh_table *table, uint32_t orders, struct weft_rng *rng,
                      struct weft_arena scratch)
{
    uint32_t *order = WEFT_NEW(&scratch, uint32_t, table->net_count);
    for (uint32_t n = 0; n < table->net_count; n++) {
        order[n] = n;
    }
    for (uint32_t r = 0; r < orders; r++) {
        mesh_table_clear(table);
        table->prices = (struct mesh_prices){.eject = 2 * MESH_UNIT,
                                             .noise = MESH_UNIT / 8 - 1,
                                             .grudge = MESH_UNIT / 2,
                                             .salt = weft_rng_next(rng)};
        weft_rng_shuffle(rng, order, table->net_count);
        for (uint32_t n = 0; n < table->net_count; n++) {
            mesh_table_queue(table, order[n]);
        }
        if (mesh_table_negotiate(table, SEARCHES_A_PAIR * table->net_count)) {
            return true;
        }
    }
    return false;
}

static bool find_cut(struct weft_mesh_cut *cut, struct weft_mesh_router *router,
                     const struct weft_mesh_pair *pairs, uint32_t pair_count,
                     struct weft_arena scratch)
{
    if (!router->measured) {
        weft_mesh_capacities(router->capacity, router->mesh, scratch);
        router->measured = true;
    }
    return weft_mesh_find_cut(cut, router->mesh, router->capacity, pairs, pair_count, scratch);
}

static bool is_shorter(const struct weft_mesh_setting *one, const struct weft_mesh_setting *other,
                       enum weft_mesh_goal goal)
{
    if (goal == WEFT_MESH_WORST && one->worst != other->worst) {
        return one->worst < other->worst;
    }
    return one->total < other->total;
}

// Shortens the table's routes and hands them over. Where the longest route counts, whose length one
// search may not get out of, the effort is shared by several starts.
static void shorten(struct weft_mesh_setting *found, struct mesh_table *table, struct weft_rng *rng,
                    const struct weft_environment *environment, struct weft_arena scratch)
{
    const struct weft_mesh_options *options = table->options;
    uint64_t effort =
        options->effort > 0 ? options->effort : (uint64_t)WEFT_MESH_EFFORT * table->net_count;
    uint32_t starts = options->goal == WEFT_MESH_WORST && !options->solver_alone ? STARTS : 1;
    for (uint32_t s = 0; s < starts; s++) {
        if (s > 0 && !negotiate(table, 1, rng, scratch)) {
            continue;
        }
        if (!options->solver_alone) {
            mesh_shorten(table, effort / starts + 1, rng, environment->stop, scratch);
        }
        struct weft_mesh_setting made = *found;
        mesh_table_give(&made, table, environment->arena);
        if (s == 0 || is_shorter(&made, found, options->goal)) {
            *found = made;
        }
    }
}

bool weft_mesh_route(struct weft_mesh_setting *setting, struct weft_mesh_router *router,
                     const struct weft_mesh_pair *pairs, uint32_t pair_count,
                     const struct weft_mesh_options *options,
                     const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    if (!weft_mesh_check_pairs(router->mesh, pairs, pair_count, scratch, environment->error)) {
        return false;
    }
    struct weft_mesh_setting found = {.answer = WEFT_MESH_UNANSWERED};
    struct weft_rng rng;
    weft_rng_init(&rng, environment->seed);
    struct mesh_table table;
    uint32_t blocked = mesh_table_open(&table, router->mesh, pairs, pair_count, options, &scratch);
    bool negotiates = !options->solver_alone && blocked == WEFT_NONE;
    bool routed = negotiates && negotiate(&table, 1, &rng, scratch);
    bool cut = !routed && !options->solver_alone &&
               find_cut(&found.cut, router, pairs, pair_count, scratch);
    routed = routed || (negotiates && !cut && negotiate(&table, RESTARTS - 1, &rng, scratch));
    if (cut) {
        found.answer = WEFT_MESH_CUT;
    } else if (blocked != WEFT_NONE && !options->solver_alone) {
        found.answer = WEFT_MESH_BLOCKED;
        found.pair = pairs[blocked];
    } else if (!routed && !options->no_solver) {
        uint8_t *cells = WEFT_NEW(&scratch, uint8_t, router->mesh->cell_count);
        found.answer = mesh_solve(cells, router->mesh, pairs, pair_count, options->stuck,
                                  CONFLICTS_MAX, environment->stop, scratch);
        found.solved = true;
        routed = found.answer == WEFT_MESH_ROUTED;
        if (routed) {
            mesh_table_take(&table, cells, scratch);
        }
    }
    if (routed) {
        shorten(&found, &table, &rng, environment, scratch);
    }
    *setting = found;
    return true;
}
