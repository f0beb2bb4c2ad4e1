// SPDX-License-Identifier: Apache-2.0
// Appliances by place, at least cost: a facility location with capacities, solved exactly.
//
// Places that may take the same demands by the same kinds form a class. y[k, c], a whole number,
// is how many of kind k stand in class c; x[j, k, c] is the share of demand j that goes there:
//
//   sum over k, c of x[j, k, c] = 1                                  every demand is served
//   sum over j of x[j, k, c] requests_j / rate[k, j] <= rho y[k, c]  within the load
//   sum over k of y[k, c] <= places of c
//
// minimize the dollars of all y. Watts weigh so little that all of them together are below a cent.
// Every node of the search is a linear program (CLP) whose optimum bounds what follows; its y,
// rounded up, is a placement where it fits.

#include "weft/serving/place.h"

#include <coin/Clp_C_Interface.h>
#include <float.h>
#include <math.h>
#include <string.h>

#define NODES_MAX 20000u
#define WHOLE 1e-6 // a number so near to a whole one is that

struct search {
    const struct weft_serving_place_problem *problem;
    uint32_t class_count;
    uint32_t *class_of;   // per place
    uint32_t *class_size; // per class
    uint32_t *first;      // a place of each class
    uint32_t y_count;
    double *cost; // per y
    uint32_t x_count;
    uint32_t *x_y, *x_demand; // per column of x
    Clp_Simplex *lp;
    uint64_t nodes;
    double best_cost;
    bool found;
    double *best_y, *best_x;
    double open_bound; // of nodes that were left where the search ended early
};

double weft_serving_shared_ns(const struct weft_serving_appliance *kind, uint32_t net, double rho)
{
    double work_ns = 1e9 / kind->rate[net];
    return kind->isolated_ns[net] - work_ns + work_ns / (1 - rho);
}

// From its server and back, at the largest load.
static double latency_ns(const struct weft_serving_place_problem *problem, uint32_t demand,
                         uint32_t kind, uint32_t place, double rho)
{
    const struct weft_serving_demand *of = &problem->demands[demand];
    if (!(problem->kinds[kind].rate[of->net] > 0)) {
        return (double)INFINITY;
    }
    return problem->network_ns[(size_t)demand * problem->place_count + place] +
           weft_serving_shared_ns(&problem->kinds[kind], of->net, rho);
}

static bool may_take(const struct weft_serving_place_problem *problem, uint32_t demand,
                     uint32_t kind, uint32_t place)
{
    return latency_ns(problem, demand, kind, place, problem->rho_max) <=
           problem->demands[demand].objective_ns;
}

static bool same_class(const struct weft_serving_place_problem *problem, uint32_t a, uint32_t b)
{
    for (uint32_t j = 0; j < problem->demand_count; j++) {
        for (uint32_t k = 0; k < problem->kind_count; k++) {
            if (may_take(problem, j, k, a) != may_take(problem, j, k, b)) {
                return false;
            }
        }
    }
    return true;
}

static void find_classes(struct search *search, struct weft_arena *arena)
{
    const struct weft_serving_place_problem *problem = search->problem;
    search->class_of = WEFT_NEW(arena, uint32_t, problem->place_count);
    search->class_size = WEFT_NEW(arena, uint32_t, problem->place_count);
    search->first = WEFT_NEW(arena, uint32_t, problem->place_count);
    for (uint32_t p = 0; p < problem->place_count; p++) {
        uint32_t c = 0;
        while (c < search->class_count && !same_class(problem, search->first[c], p)) {
            c++;
        }
        if (c == search->class_count) {
            search->first[search->class_count++] = p;
        }
        search->class_of[p] = c;
        search->class_size[c]++;
    }
}

// Each demand must be served somewhere in time.
static bool check_demands(const struct weft_serving_place_problem *problem,
                          struct weft_error *error)
{
    for (uint32_t j = 0; j < problem->demand_count; j++) {
        double least = (double)INFINITY;
        uint32_t nearest = 0;
        for (uint32_t k = 0; k < problem->kind_count; k++) {
            for (uint32_t p = 0; p < problem->place_count; p++) {
                double ns = latency_ns(problem, j, k, p, problem->rho_max);
                nearest = ns < least ? k : nearest;
                least = fmin(least, ns);
            }
        }
        const struct weft_serving_demand *demand = &problem->demands[j];
        if (isinf(least)) {
            return weft_fail(error, WEFT_INFEASIBLE, "%s: no appliance serves its model",
                             demand->name);
        }
        if (least > demand->objective_ns) {
            return weft_fail(error, WEFT_INFEASIBLE,
                             "%s: %s comes nearest with %.4g ms at load %.2g, above its objective "
                             "of %.4g ms",
                             demand->name, problem->kinds[nearest].name, least * 1e-6,
                             problem->rho_max, demand->objective_ns * 1e-6);
        }
    }
    return true;
}

// ---- the linear program ----

static void set_columns(struct search *search, struct weft_arena *arena)
{
    const struct weft_serving_place_problem *problem = search->problem;
    uint32_t kinds = problem->kind_count;
    search->y_count = search->class_count * kinds;
    search->cost = WEFT_NEW(arena, double, search->y_count);
    size_t most = (size_t)search->y_count * problem->demand_count;
    search->x_y = WEFT_NEW(arena, uint32_t, most);
    search->x_demand = WEFT_NEW(arena, uint32_t, most);
    double watts = 1;
    for (uint32_t k = 0; k < kinds; k++) {
        watts += problem->kinds[k].watts * problem->place_count;
    }
    for (uint32_t y = 0; y < search->y_count; y++) {
        const struct weft_serving_appliance *kind = &problem->kinds[y % kinds];
        search->cost[y] = kind->usd + 0.01 * kind->watts / watts;
        for (uint32_t j = 0; j < problem->demand_count; j++) {
            if (may_take(problem, j, y % kinds, search->first[y / kinds])) {
                search->x_y[search->x_count] = y;
                search->x_demand[search->x_count++] = j;
            }
        }
    }
}

// Columns: y, then x. Rows: a demand each, a y each (its load), a class each.
static void build_lp(struct search *search, struct weft_arena scratch)
{
    const struct weft_serving_place_problem *problem = search->problem;
    uint32_t kinds = problem->kind_count;
    uint32_t columns = search->y_count + search->x_count;
    uint32_t rows = problem->demand_count + search->y_count + search->class_count;
    CoinBigIndex *start = WEFT_NEW(&scratch, CoinBigIndex, columns + 1);
    int *index = WEFT_NEW(&scratch, int, 2 * (size_t)columns);
    double *value = WEFT_NEW(&scratch, double, 2 * (size_t)columns);
    double *objective = WEFT_NEW(&scratch, double, columns);
    double *upper = WEFT_NEW(&scratch, double, columns);
    double *row_low = WEFT_NEW(&scratch, double, rows);
    double *row_high = WEFT_NEW(&scratch, double, rows);
    for (uint32_t i = 0; i < columns; i++) {
        uint32_t x = i - search->y_count;
        bool is_y = i < search->y_count;
        uint32_t y = is_y ? i : search->x_y[x];
        const struct weft_serving_demand *demand =
            is_y ? NULL : &problem->demands[search->x_demand[x]];
        start[i] = (CoinBigIndex)(2 * i);
        index[(size_t)2 * i] = (int)(problem->demand_count + y);
        value[(size_t)2 * i] =
            is_y ? -problem->rho_max
                 : demand->requests_per_s / problem->kinds[y % kinds].rate[demand->net];
        index[(size_t)2 * i + 1] = is_y ? (int)(problem->demand_count + search->y_count + y / kinds)
                                        : (int)search->x_demand[x];
        value[(size_t)2 * i + 1] = 1;
        objective[i] = is_y ? search->cost[y] : 0;
        upper[i] = is_y ? search->class_size[y / kinds] : 1;
    }
    start[columns] = (CoinBigIndex)(2 * columns);
    for (uint32_t r = 0; r < rows; r++) {
        bool served = r < problem->demand_count;
        bool load = !served && r < problem->demand_count + search->y_count;
        row_low[r] = served ? 1 : -DBL_MAX;
        row_high[r] = served ? 1
                      : load ? 0
                             : search->class_size[r - problem->demand_count - search->y_count];
    }
    search->lp = Clp_newModel();
    Clp_setLogLevel(search->lp, 0);
    Clp_loadProblem(search->lp, (int)columns, (int)rows, start, index, value, NULL, upper,
                    objective, row_low, row_high);
}

// ---- branch and bound ----

// The program's y, rounded up, as a placement if its classes hold it.
static void try_rounded(struct search *search, const double *solution)
{
    uint32_t kinds = search->problem->kind_count;
    double cost = 0;
    for (uint32_t c = 0; c < search->class_count; c++) {
        double sum = 0;
        for (uint32_t k = 0; k < kinds; k++) {
            double whole = ceil(solution[c * kinds + k] - WHOLE);
            sum += whole;
            cost += whole * search->cost[c * kinds + k];
        }
        if (sum > search->class_size[c] + WHOLE) {
            return;
        }
    }
    if (search->found && cost >= search->best_cost - 1e-9) {
        return;
    }
    search->found = true;
    search->best_cost = cost;
    for (uint32_t y = 0; y < search->y_count; y++) {
        search->best_y[y] = ceil(solution[y] - WHOLE);
    }
    memcpy(search->best_x, solution + search->y_count, search->x_count * sizeof(double));
}

static uint32_t most_fractional(const struct search *search, const double *solution)
{
    uint32_t at = WEFT_NONE;
    double most = WHOLE;
    for (uint32_t y = 0; y < search->y_count; y++) {
        double away = fabs(solution[y] - round(solution[y]));
        if (away > most) {
            most = away;
            at = y;
        }
    }
    return at;
}

// The node whose bounds stand in the program, and all below it. Depth is at most the sum of the
// sizes of classes, once a kind: each branch narrows a bound by one at least.
static void explore(struct search *search, double above)
{
    weft_poll();
    if (search->nodes == NODES_MAX) {
        search->open_bound = fmin(search->open_bound, above);
        return;
    }
    search->nodes++;
    Clp_dual(search->lp, 0);
    double bound = Clp_objectiveValue(search->lp);
    if (Clp_status(search->lp) != 0 || (search->found && bound >= search->best_cost - 1e-7)) {
        return;
    }
    const double *solution = Clp_primalColumnSolution(search->lp);
    try_rounded(search, solution);
    uint32_t y = most_fractional(search, solution);
    if (y == WEFT_NONE) {
        return;
    }
    double middle = floor(solution[y]);
    double *low = Clp_columnLower(search->lp);
    double *high = Clp_columnUpper(search->lp);
    double old_low = low[y];
    double old_high = high[y];
    low[y] = middle + 1;
    explore(search, bound);
    Clp_columnLower(search->lp)[y] = old_low;
    Clp_columnUpper(search->lp)[y] = middle;
    explore(search, bound);
    Clp_columnUpper(search->lp)[y] = old_high;
}

// ---- the answer ----

static void publish(struct weft_serving_placement *placement, const struct search *search,
                    struct weft_arena *arena)
{
    const struct weft_serving_place_problem *problem = search->problem;
    uint32_t places = problem->place_count;
    uint32_t kinds = problem->kind_count;
    uint32_t *kind_of = WEFT_NEW(arena, uint32_t, places);
    double *shares = WEFT_NEW(arena, double, (size_t)places * problem->demand_count);
    double *rhos = WEFT_NEW(arena, double, places);
    double *latencies = WEFT_NEW(arena, double, problem->demand_count);
    double *left = WEFT_NEW(arena, double, search->y_count);
    memcpy(left, search->best_y, search->y_count * sizeof *left);
    struct weft_serving_placement made = {.nodes = search->nodes};
    for (uint32_t p = 0; p < places; p++) {
        uint32_t y = search->class_of[p] * kinds;
        uint32_t k = 0;
        while (k < kinds && left[y + k] < 0.5) {
            k++;
        }
        kind_of[p] = k < kinds ? k : WEFT_NONE;
        if (k < kinds) {
            left[y + k]--;
            made.usd += problem->kinds[k].usd;
            made.watts += problem->kinds[k].watts;
        }
    }
    for (uint32_t i = 0; i < search->x_count; i++) {
        uint32_t y = search->x_y[i];
        uint32_t j = search->x_demand[i];
        WEFT_ASSERT(kinds > 0);
        const struct weft_serving_demand *demand = &problem->demands[j];
        for (uint32_t p = 0; p < places && search->best_x[i] > 1e-9; p++) {
            if (kind_of[p] == y % kinds && search->class_of[p] == y / kinds) {
                double share = search->best_x[i] / search->best_y[y];
                shares[(size_t)j * places + p] = share;
                rhos[p] +=
                    share * demand->requests_per_s / problem->kinds[y % kinds].rate[demand->net];
            }
        }
    }
    for (uint32_t j = 0; j < problem->demand_count; j++) {
        for (uint32_t p = 0; p < places; p++) {
            if (shares[(size_t)j * places + p] > 0) {
                latencies[j] = fmax(latencies[j], latency_ns(problem, j, kind_of[p], p, rhos[p]));
            }
        }
    }
    made.proved = !(search->open_bound < search->best_cost - 1e-7);
    made.bound_usd = made.proved ? made.usd : fmax(0, search->open_bound - 0.01);
    made.kinds = kind_of;
    made.shares = shares;
    made.rhos = rhos;
    made.latencies_ns = latencies;
    *placement = made;
}

struct guarded {
    struct search *search;
};
static bool run_search(void *context)
{
    explore(((struct guarded *)context)->search, 0);
    return true;
}

bool weft_serving_place(struct weft_serving_placement *placement,
                        const struct weft_serving_place_problem *problem, struct weft_arena *arena,
                        struct weft_arena scratch, struct weft_error *error)
{
    WEFT_ASSERT(problem->kind_count > 0 && problem->demand_count > 0 && problem->place_count > 0);
    WEFT_ASSERT(problem->rho_max > 0 && problem->rho_max < 1);
    if (!check_demands(problem, error)) {
        return false;
    }
    struct search search = {.problem = problem, .open_bound = (double)INFINITY};
    find_classes(&search, &scratch);
    set_columns(&search, &scratch);
    search.best_y = WEFT_NEW(&scratch, double, search.y_count);
    search.best_x = WEFT_NEW(&scratch, double, search.x_count + 1);
    build_lp(&search, scratch);
    // The program is not of an arena: whoever asks to stop leaves through here.
    struct guarded guarded = {&search};
    bool ran = weft_guard_until(run_search, &guarded, weft_guard_stop(), error);
    Clp_deleteModel(search.lp);
    if (!ran) {
        return false;
    }
    if (!search.found) {
        return weft_fail(error, WEFT_INFEASIBLE,
                         "%u places do not suffice for %u demands at load %.2g: free more places, "
                         "or raise rho",
                         problem->place_count, problem->demand_count, problem->rho_max);
    }
    publish(placement, &search, arena);
    return true;
}
