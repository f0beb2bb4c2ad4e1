// SPDX-License-Identifier: Apache-2.0
// Matchings of a mesh's ports: read, routed round by round, put in order, and what light loses.

#include "weft/request/mesh.h"
#include "words.h"

#include <string.h>

const char *const weft_mesh_solver_names[] = {"last", "never", "alone", NULL};
const char *const weft_mesh_goal_names[] = {"total", "worst", NULL};

struct job {
    const struct weft_mesh_route_request *request;
    struct weft_request_environment *environment;
    struct weft_mesh_route_result made;
    struct mesh_matchings matchings;
    const uint8_t *former;
    uint64_t seed;     // of the choice of ports
    bool more_choices; // another one is cheaper than the solver
};

enum { CHOICES = 8 }; // of ports, where rounds of the first are refused

static bool read_mesh(struct job *job)
{
    const struct weft_mesh_route_request *request = job->request;
    struct weft_arena *arena = job->environment->base.arena;
    struct weft_error *error = job->environment->base.error;
    if (request->rows == 0 || request->columns == 0 || request->matching == NULL) {
        return weft_fail(error, WEFT_USAGE,
                         "which mesh, which pairs? give {rows}, {columns} and {matching}");
    }
    struct weft_mesh *mesh = &job->made.mesh;
    if (!weft_mesh_build(mesh, request->rows, request->columns, arena, error)) {
        return false;
    }
    if (request->stuck != NULL) {
        uint8_t *stuck = WEFT_NEW(arena, uint8_t, mesh->cell_count);
        job->made.stuck = stuck;
        if (!mesh_read_stuck(stuck, request->stuck, mesh, error)) {
            return weft_wrap(error, "{stuck}");
        }
    }
    if (request->former != NULL) {
        uint8_t *former = WEFT_NEW(arena, uint8_t, mesh->cell_count);
        job->former = former;
        if (!weft_mesh_read(former, mesh, request->former, error)) {
            return weft_wrap(error, "{former}");
        }
    }
    return true;
}

static bool round_robin(struct job *job, const struct mesh_ports *given)
{
    struct weft_environment own = job->environment->base;
    const struct weft_environment *base = &own;
    own.seed = job->seed;
    uint32_t n = given->count;
    if (n < 2 || n % 2 != 0) {
        return weft_fail(base->error, WEFT_INPUT,
                         "{ports}: a round robin of %u; take an even number of ports", n);
    }
    uint32_t *ports = WEFT_NEW(base->arena, uint32_t, n);
    if (given->ports != NULL) {
        memcpy(ports, given->ports, n * sizeof *ports);
    } else if (!weft_mesh_choose_ports(ports, n, &job->made.mesh, base)) {
        return false;
    }
    struct weft_mesh_pair *pairs = WEFT_NEW(base->arena, struct weft_mesh_pair, n * (n - 1) / 2);
    weft_mesh_round_robin(pairs, n);
    uint32_t *first = WEFT_NEW(base->arena, uint32_t, n);
    for (uint32_t i = 0; i < n * (n - 1) / 2; i++) {
        pairs[i] = (struct weft_mesh_pair){ports[pairs[i].from], ports[pairs[i].to]};
    }
    for (uint32_t r = 0; r < n; r++) {
        first[r] = r * (n / 2);
    }
    job->matchings = (struct mesh_matchings){n - 1, first, pairs};
    job->made.ports = ports;
    job->made.port_count = n;
    job->made.chosen = given->ports == NULL;
    return true;
}

// The ports of the pairs, in their order; those that were named have to hold them.
static bool take_ports(struct job *job, const struct mesh_ports *given)
{
    const struct mesh_matchings *matchings = &job->matchings;
    const struct weft_environment *base = &job->environment->base;
    uint32_t all = job->made.mesh.port_count;
    bool *named = WEFT_NEW(base->arena, bool, all);
    uint32_t *ports = WEFT_NEW(base->arena, uint32_t, all);
    for (uint32_t i = 0; given->ports != NULL && i < given->count; i++) {
        named[given->ports[i]] = true;
        ports[job->made.port_count++] = given->ports[i];
    }
    for (uint32_t i = 0; i < 2 * matchings->first[matchings->round_count]; i++) {
        const struct weft_mesh_pair *pair = &matchings->pairs[i / 2];
        uint32_t port = i % 2 == 0 ? pair->from : pair->to;
        if (!named[port] && given->ports != NULL) {
            return weft_fail(base->error, WEFT_INPUT,
                             "{matching}: pair %u-%u: port %u is none of {ports}", pair->from,
                             pair->to, port);
        }
        if (!named[port]) {
            named[port] = true;
            ports[job->made.port_count++] = port;
        }
    }
    if (given->ports == NULL && given->count > 0 && job->made.port_count > given->count) {
        return weft_fail(base->error, WEFT_INPUT, "{matching} names %u ports, {ports} says %u",
                         job->made.port_count, given->count);
    }
    job->made.ports = ports;
    return true;
}

static bool read_matchings(struct job *job)
{
    const struct weft_mesh_route_request *request = job->request;
    const struct weft_environment *base = &job->environment->base;
    struct mesh_ports given = {0};
    if (request->ports != NULL &&
        !mesh_read_ports(&given, request->ports, &job->made.mesh, base->arena, base->error)) {
        return weft_wrap(base->error, "{ports}");
    }
    if (strcmp(request->matching, "round-robin") == 0) {
        return request->ports != NULL
                   ? round_robin(job, &given)
                   : weft_fail(base->error, WEFT_USAGE, "a round robin of which {ports}?");
    }
    if (!mesh_read_matchings(&job->matchings, request->matching, &job->made.mesh, base->arena,
                             base->error)) {
        return weft_wrap(base->error, "{matching}");
    }
    return take_ports(job, &given);
}

static bool refuse(const struct job *job, uint32_t round, const struct weft_mesh_setting *setting)
{
    struct weft_error *error = job->environment->base.error;
    const struct weft_mesh_cut *cut = &setting->cut;
    switch (setting->answer) {
    case WEFT_MESH_CUT:
        return cut->corner
                   ? weft_fail(error, WEFT_INFEASIBLE,
                               "round %u: ports %u to %u are a corner with 2 wires to the rest of "
                               "the mesh, which joins two of them; use one, or two neighbors",
                               round, cut->first, cut->last)
                   : weft_fail(error, WEFT_INFEASIBLE,
                               "round %u: ports %u to %u have %u wires to the rest of the mesh, %u "
                               "pairs have to leave; take other ports or a larger mesh",
                               round, cut->first, cut->last, cut->wires, cut->crossing);
    case WEFT_MESH_REFUTED:
        return weft_fail(error, WEFT_INFEASIBLE,
                         "round %u: no setting joins these pairs (proved by the solver); take "
                         "other ports or a larger mesh",
                         round);
    case WEFT_MESH_BLOCKED:
        return weft_fail(error, WEFT_INFEASIBLE,
                         "round %u: pair %u-%u has no way past the {stuck} cells, even alone; take "
                         "other ports",
                         round, setting->pair.from, setting->pair.to);
    case WEFT_MESH_UNANSWERED:
    case WEFT_MESH_ROUTED:
        break;
    }
    return weft_fail(error, WEFT_INFEASIBLE,
                     "round %u: no setting was found, and none is refuted%s", round,
                     job->request->solver == WEFT_MESH_SOLVER_NEVER ? "; take {solver=last}" : "");
}

// Cells that a route may pass within the budget; 0 = any number.
static uint32_t length_max(const struct weft_mesh_route_request *request)
{
    const struct weft_mesh_light *light = &request->light;
    if (request->budget_db <= 0 || light->cell_db <= 0) {
        return 0;
    }
    double cells = (request->budget_db * (1 + 1e-12) - 2 * light->port_db) / light->cell_db;
    return cells >= 1e6 ? 0 : cells < 1 ? 1 : (uint32_t)cells;
}

static bool route_rounds(struct job *job, struct weft_mesh_setting *settings)
{
    const struct weft_mesh_route_request *request = job->request;
    const struct weft_environment *base = &job->environment->base;
    struct weft_mesh_options options = {
        .stuck = job->made.stuck,
        .former = job->former,
        .goal = request->goal,
        .toggle_cells = request->toggle_cells,
        .length_max = length_max(request),
        .no_solver = request->solver == WEFT_MESH_SOLVER_NEVER || job->more_choices,
        .solver_alone = request->solver == WEFT_MESH_SOLVER_ALONE,
    };
    struct weft_environment inner = *base;
    struct weft_mesh_router *router = weft_mesh_router_open(&job->made.mesh, base->arena);
    const struct mesh_matchings *matchings = &job->matchings;
    bool fine = true;
    weft_request_step_begin(job->environment, "routing", "rounds");
    weft_tally_begin(&job->environment->progress.tally, matchings->round_count);
    for (uint32_t r = 0; r < matchings->round_count && fine; r++) {
        uint32_t count = matchings->first[r + 1] - matchings->first[r];
        options.effort = request->effort * count;
        inner.seed = weft_hash(base->seed + r);
        fine = weft_mesh_route(&settings[r], router, &matchings->pairs[matchings->first[r]], count,
                               &options, &inner) &&
               (settings[r].answer == WEFT_MESH_ROUTED || refuse(job, r, &settings[r]));
        options.former = fine && request->toggle_cells > 0 ? settings[r].cells : job->former;
        weft_tally_add(&job->environment->progress.tally, 1);
    }
    weft_request_step_end(job->environment);
    return fine;
}

static void measure_light(struct job *job, struct weft_mesh_round *round)
{
    const struct weft_environment *base = &job->environment->base;
    const struct weft_mesh_setting *setting = &round->setting;
    double *loss = WEFT_NEW(base->arena, double, setting->route_count);
    double *crosstalk = WEFT_NEW(base->arena, double, setting->route_count);
    for (uint32_t i = 0; i < setting->route_count; i++) {
        loss[i] = weft_mesh_loss_db(&job->request->light, setting->routes[i].length);
        double budget = job->request->budget_db;
        round->over += budget > 0 && loss[i] > budget * (1 + 1e-12);
    }
    weft_mesh_crosstalk(crosstalk, &job->made.mesh, setting->routes, setting->route_count,
                        &job->request->light, base->scratch);
    round->loss_db = loss;
    round->crosstalk_db = crosstalk;
}

static void finish(struct job *job, struct weft_mesh_setting *settings)
{
    const struct weft_environment *base = &job->environment->base;
    struct weft_mesh_route_result *made = &job->made;
    uint32_t rounds = job->matchings.round_count;
    uint32_t *order = WEFT_NEW(base->arena, uint32_t, rounds);
    uint32_t *toggled = WEFT_NEW(base->arena, uint32_t, rounds);
    const struct weft_mesh_order options = {
        .former = job->former, .stuck = made->stuck, .keep = !job->request->reorder};
    weft_mesh_order_rounds(order, toggled, settings, rounds, &made->mesh, &options, base->arena,
                           base->scratch);
    struct weft_mesh_round *list = WEFT_NEW(base->arena, struct weft_mesh_round, rounds);
    uint64_t total = 0;
    for (uint32_t i = 0; i < rounds; i++) {
        uint32_t r = order[i];
        list[i] = (struct weft_mesh_round){
            .index = r,
            .pairs = &job->matchings.pairs[job->matchings.first[r]],
            .setting = settings[r],
            .toggled = toggled[r],
        };
        measure_light(job, &list[i]);
        if (i > 0) {
            weft_mesh_compare(&list[i].change, &made->mesh, &list[i - 1].setting, &list[i].setting);
            WEFT_ASSERT(list[i].change.toggled == list[i].toggled);
        }
        made->over += list[i].over;
        made->solved += settings[r].solved;
        made->worst = settings[r].worst > made->worst ? settings[r].worst : made->worst;
        total += settings[r].total;
    }
    made->mean = (double)total / job->matchings.first[rounds];
    made->rounds = list;
    made->round_count = rounds;
}

bool weft_request_mesh_route(struct weft_mesh_route_result *result,
                             const struct weft_mesh_route_request *request,
                             struct weft_request_environment *environment)
{
    struct job job = {.request = request, .environment = environment};
    if (!read_mesh(&job)) {
        return false;
    }
    struct weft_mesh_setting *settings = NULL;
    bool fine = false;
    // Another choice is made only where ports are Weft's to choose and a round cannot be.
    for (uint32_t choice = 0; choice < CHOICES && !fine; choice++) {
        job.seed =
            choice == 0 ? environment->base.seed : weft_hash(environment->base.seed + choice);
        if (!read_matchings(&job)) {
            return false;
        }
        settings =
            WEFT_NEW(environment->base.arena, struct weft_mesh_setting, job.matchings.round_count);
        job.more_choices =
            job.made.chosen && choice + 1 < CHOICES && request->solver == WEFT_MESH_SOLVER_LAST;
        fine = route_rounds(&job, settings);
        if (!fine && (!job.made.chosen || environment->base.error->code != WEFT_INFEASIBLE ||
                      weft_stopped(environment->base.stop))) {
            return false;
        }
    }
    if (!fine) {
        return weft_wrap(environment->base.error, "the last of %d choices of %u ports", CHOICES,
                         job.made.port_count);
    }
    finish(&job, settings);
    *result = job.made;
    return true;
}
