// SPDX-License-Identifier: Apache-2.0
// Which loads can come together, and what they are worth.

#include "bound.h"

#include <coin/Clp_C_Interface.h>
#include <float.h>
#include <math.h>

#define SETS_MAX 4096u

// A load of a job on the circle: a column of the program.
struct column {
    uint32_t stride;
    uint32_t digit;
    uint32_t radix;
    double load;
    double share; // of the circle's cells, by weight
};

struct columns {
    uint32_t count;
    struct column *all;
    uint32_t set_count;
};

static const struct cell_place *place_on(const struct cell_piece *piece, uint32_t circle)
{
    for (uint32_t i = 0; i < piece->place_count; i++) {
        if (piece->places[i].circle == circle) {
            return &piece->places[i];
        }
    }
    return NULL;
}

// Cells of one cut that load i of a place fills on the whole circle.
static double cells_of(const struct cell_place *place, uint32_t i, uint32_t cuts, uint32_t cut)
{
    double count = 0;
    for (uint32_t a = place->load_first[i]; a < place->load_first[i + 1]; a++) {
        // Numbers from .. to-1 that are `cut` modulo cuts.
        uint32_t until = (place->arcs[a].to + cuts - 1 - cut) / cuts;
        uint32_t before = (place->arcs[a].from + cuts - 1 - cut) / cuts;
        count += until - before;
    }
    return count * place->turns;
}

static bool list_columns(struct columns *columns, struct load_bound *bound,
                         const struct cells *cells, uint32_t circle, const uint32_t *order,
                         struct weft_arena *arena)
{
    const struct cell_circle *cut = &cells->circles[circle];
    columns->count = 0;
    columns->set_count = 1;
    columns->all = WEFT_NEW(arena, struct column, SETS_MAX);
    for (uint32_t d = 0; d < cells->piece_count; d++) {
        const struct cell_place *place = place_on(&cells->pieces[order[d]], circle);
        if (place == NULL) {
            continue;
        }
        uint32_t radix = place->load_count + 1;
        if (radix > SETS_MAX / columns->set_count) {
            return false;
        }
        for (uint32_t i = 0; i < place->load_count; i++) {
            double share = 0;
            for (uint32_t c = 0; c < cut->cuts; c++) {
                share += cells_of(place, i, cut->cuts, c) * cut->weights[c];
            }
            columns->all[columns->count++] =
                (struct column){columns->set_count, i + 1, radix, place->loads[i], share};
        }
        bound->stride[order[d]] = columns->set_count;
        columns->set_count *= radix;
    }
    return true;
}

static double load_of(const struct columns *columns, uint32_t set)
{
    double load = 0;
    for (uint32_t i = 0; i < columns->count; i++) {
        const struct column *column = &columns->all[i];
        load += set / column->stride % column->radix == column->digit ? column->load : 0;
    }
    return load;
}

// max sum share * mu - nu  with  sum of mu over the set - nu <= excess of the set, for all sets.
static void solve(double *mu, const struct columns *columns, struct weft_arena scratch)
{
    const uint32_t rows = columns->set_count;
    const uint32_t count = columns->count;
    size_t entries = (size_t)rows * (count + 1);
    CoinBigIndex *start = WEFT_NEW(&scratch, CoinBigIndex, (size_t)count + 2);
    int *index = WEFT_NEW_RAW(&scratch, int, entries);
    double *value = WEFT_NEW_RAW(&scratch, double, entries);
    double *objective = WEFT_NEW(&scratch, double, (size_t)count + 1);
    double *lower = WEFT_NEW(&scratch, double, rows);
    double *upper = WEFT_NEW(&scratch, double, rows);
    CoinBigIndex filled = 0;
    for (uint32_t i = 0; i <= count; i++) {
        const struct column *column = &columns->all[i];
        start[i] = filled;
        objective[i] = i < count ? -column->share : 1;
        for (uint32_t set = 0; set < rows; set++) {
            if (i == count || set / column->stride % column->radix == column->digit) {
                index[filled] = (int)set;
                value[filled++] = i == count ? -1 : 1;
            }
        }
    }
    start[count + 1] = filled;
    for (uint32_t set = 0; set < rows; set++) {
        lower[set] = -DBL_MAX;
        upper[set] = fmax(0, load_of(columns, set) - 1);
    }
    Clp_Simplex *lp = Clp_newModel();
    Clp_setLogLevel(lp, 0);
    Clp_loadProblem(lp, (int)count + 1, (int)rows, start, index, value, NULL, NULL, objective,
                    lower, upper);
    Clp_setMaximumIterations(lp, 20000);
    Clp_initialSolve(lp);
    // Any mu gives a true bound; nu is found anew from it.
    const double *solution = Clp_primalColumnSolution(lp);
    for (uint32_t i = 0; i < count; i++) {
        mu[i] = isfinite(solution[i]) ? fmax(0, solution[i]) : 0;
    }
    Clp_deleteModel(lp);
}

// nu for all depths: a set's own, then each job's loads chosen where that is worth more.
static void fill_worth(struct load_bound *bound, const struct columns *columns,
                       const struct cells *cells, uint32_t circle, const uint32_t *order,
                       struct weft_arena *arena)
{
    double *worth = WEFT_NEW_RAW(arena, double, columns->set_count);
    for (uint32_t set = 0; set < columns->set_count; set++) {
        worth[set] = -fmax(0, load_of(columns, set) - 1);
    }
    bound->worth[cells->piece_count] = worth;
    for (uint32_t d = cells->piece_count; d-- > 0;) {
        const struct cell_place *place = place_on(&cells->pieces[order[d]], circle);
        bound->worth[d] = worth;
        if (place == NULL) {
            continue;
        }
        uint32_t stride = bound->stride[order[d]];
        double *before = WEFT_NEW_RAW(arena, double, stride);
        for (uint32_t set = 0; set < stride; set++) {
            before[set] = worth[set];
            for (uint32_t i = 0; i < place->load_count; i++) {
                double with = bound->mu[order[d]][i] + worth[set + (i + 1) * stride];
                before[set] = fmax(before[set], with);
            }
        }
        worth = before;
        bound->worth[d] = worth;
    }
}

static void fill_asks(struct load_bound *bound, const struct cells *cells, uint32_t circle,
                      const uint32_t *order, struct weft_arena *arena)
{
    const uint32_t cuts = cells->circles[circle].cuts;
    double *asks = WEFT_NEW(arena, double, cuts);
    bound->asks[cells->piece_count] = asks;
    for (uint32_t d = cells->piece_count; d-- > 0;) {
        const struct cell_place *place = place_on(&cells->pieces[order[d]], circle);
        double *more = WEFT_NEW(arena, double, cuts);
        for (uint32_t c = 0; c < cuts; c++) {
            more[c] = asks[c];
            for (uint32_t i = 0; place != NULL && i < place->load_count; i++) {
                more[c] += bound->mu[order[d]][i] * cells_of(place, i, cuts, c);
            }
        }
        asks = more;
        bound->asks[d] = asks;
    }
}

void load_bound_build(struct load_bound *bound, const struct cells *cells, uint32_t circle,
                      const uint32_t *order, struct weft_arena *arena, struct weft_arena scratch)
{
    const uint32_t pieces = cells->piece_count;
    struct columns columns;
    *bound = (struct load_bound){
        .stride = WEFT_NEW(arena, uint32_t, pieces),
        .mu = WEFT_NEW(arena, const double *, pieces),
        .worth = WEFT_NEW(arena, const double *, (size_t)pieces + 1),
        .asks = WEFT_NEW(arena, const double *, (size_t)pieces + 1),
    };
    if (!list_columns(&columns, bound, cells, circle, order, &scratch)) {
        return;
    }
    double *mu = WEFT_NEW(arena, double, (size_t)columns.count + 1);
    solve(mu, &columns, scratch);
    uint32_t at = 0;
    for (uint32_t d = 0; d < pieces; d++) {
        const struct cell_place *place = place_on(&cells->pieces[order[d]], circle);
        bound->mu[order[d]] = &mu[at];
        at += place == NULL ? 0 : place->load_count;
    }
    fill_worth(bound, &columns, cells, circle, order, arena);
    fill_asks(bound, cells, circle, order, arena);
    bound->usable = true;
}
