// SPDX-License-Identifier: Apache-2.0
// Which loads can come together on a circle, and what they are worth: a lower bound on its excess
// (bound.h has the derivation).
//
// The worths solve a linear program that has one row for each set of loads, far too many to list,
// so rows are generated (Kelley, "The cutting-plane method for solving convex programs", SIAM
// 1960): solve over the rows that are known with CLP, walk all sets by their codes for those the
// solution violates, add those it violates most, repeat. What remains is filled into a table by
// code, with the smallest value over what an open digit may become. O(codes * jobs) a round and for
// the table.

#include "bound.h"

#include <coin/Clp_C_Interface.h>
#include <float.h>
#include <math.h>
#include <string.h>

// Rows added to the program a round, rounds before the bound is taken as it is, and the violation
// below which a row counts as held. Not measured: more rows a round mean fewer but larger programs;
// any number of rounds gives a valid bound.
#define ROWS_A_ROUND 24u
#define ROUNDS_MAX 200u
#define ROW_MISSED 1e-10
#define CODES_MAX ((uint32_t)1 << 20) // of all tables of a group: 8 MiB

// The jobs on a circle and their loads, the program's columns. A set of loads is a code without
// open digits.
struct program {
    uint32_t piece_count;
    const uint32_t *pieces;
    const struct cell_place **places; // per piece
    uint32_t *stride;                 // per piece
    uint32_t *first;                  // per piece: its first column
    uint32_t column_count;
    double *load;  // per column
    double *share; // per column: of the circle's cells, by weight
    double *mu;    // per column
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
    return count * place->repeats;
}

// The next set, in the order of codes; digits and sums follow it. False after the last.
struct set {
    uint32_t *digits; // per piece of the program
    double load;
    double worth;
    uint32_t code;
};

static bool next_set(struct set *set, const struct program *program)
{
    for (uint32_t p = 0; p < program->piece_count; p++) {
        uint32_t loads = program->places[p]->load_count;
        set->digits[p] = set->digits[p] < loads ? set->digits[p] + 1 : 0;
        if (set->digits[p] > 0) {
            break;
        }
    }
    set->load = 0;
    set->worth = 0;
    set->code = 0;
    bool any = false;
    for (uint32_t p = 0; p < program->piece_count; p++) {
        if (set->digits[p] > 0) {
            uint32_t column = program->first[p] + set->digits[p] - 1;
            set->load += program->load[column];
            set->worth += program->mu[column];
            set->code += set->digits[p] * program->stride[p];
            any = true;
        }
    }
    return any;
}

static double excess_of(const struct set *set)
{
    return fmax(0, set->load - 1);
}

struct row {
    double missed;
    double excess;
    uint32_t *digits;
};

// The sets whose rows miss most, at most ROWS_A_ROUND of them.
static uint32_t find_rows(struct row *rows, const struct program *program, double nu,
                          struct weft_arena scratch)
{
    struct set set = {.digits = WEFT_NEW(&scratch, uint32_t, program->piece_count)};
    uint32_t count = 0;
    while (next_set(&set, program)) {
        double missed = set.worth - nu - excess_of(&set);
        if (missed <= ROW_MISSED || (count == ROWS_A_ROUND && missed <= rows[count - 1].missed)) {
            continue;
        }
        uint32_t at = count < ROWS_A_ROUND ? count++ : count - 1;
        uint32_t *digits = rows[at].digits;
        for (; at > 0 && rows[at - 1].missed < missed; at--) {
            rows[at] = rows[at - 1];
        }
        rows[at] = (struct row){missed, excess_of(&set), digits};
        memcpy(digits, set.digits, program->piece_count * sizeof digits[0]);
    }
    return count;
}

static void add_row(Clp_Simplex *lp, const struct program *program, const struct row *row,
                    struct weft_arena scratch)
{
    int *index = WEFT_NEW(&scratch, int, (size_t)program->piece_count + 1);
    double *value = WEFT_NEW(&scratch, double, (size_t)program->piece_count + 1);
    int count = 0;
    for (uint32_t p = 0; p < program->piece_count; p++) {
        if (row->digits[p] > 0) {
            index[count] = (int)(program->first[p] + row->digits[p] - 1);
            value[count++] = 1;
        }
    }
    index[count] = (int)program->column_count;
    value[count++] = -1;
    const CoinBigIndex start[] = {0, count};
    const double lower = -DBL_MAX;
    Clp_addRows(lp, 1, &lower, &row->excess, start, index, value);
}

// max sum share * mu - nu  with  sum of mu over the set - nu <= excess of the set, for all sets;
// rows are added as they are missed. No load is worth more than itself.
static void solve(struct program *program, struct weft_arena scratch)
{
    const uint32_t count = program->column_count;
    double *objective = WEFT_NEW(&scratch, double, (size_t)count + 1);
    double *upper = WEFT_NEW(&scratch, double, (size_t)count + 1);
    CoinBigIndex *start = WEFT_NEW(&scratch, CoinBigIndex, (size_t)count + 2);
    for (uint32_t i = 0; i < count; i++) {
        objective[i] = -program->share[i];
        upper[i] = program->load[i];
        program->mu[i] = program->load[i];
    }
    objective[count] = 1;
    upper[count] = DBL_MAX;
    struct row rows[ROWS_A_ROUND];
    for (uint32_t i = 0; i < ROWS_A_ROUND; i++) {
        rows[i].digits = WEFT_NEW(&scratch, uint32_t, program->piece_count);
    }
    Clp_Simplex *lp = Clp_newModel();
    Clp_setLogLevel(lp, 0);
    Clp_loadProblem(lp, (int)count + 1, 0, start, NULL, NULL, NULL, upper, objective, NULL, NULL);
    double nu = 0;
    for (uint32_t round = 0; round < ROUNDS_MAX; round++) {
        uint32_t missed = find_rows(rows, program, nu, scratch);
        if (missed == 0) {
            break;
        }
        for (uint32_t i = 0; i < missed; i++) {
            add_row(lp, program, &rows[i], scratch);
        }
        Clp_dual(lp, 0);
        const double *solution = Clp_primalColumnSolution(lp);
        for (uint32_t i = 0; i < count; i++) {
            program->mu[i] = isfinite(solution[i]) ? fmax(0, solution[i]) : 0;
        }
        nu = isfinite(solution[count]) ? fmax(0, solution[count]) : 0;
    }
    Clp_deleteModel(lp);
}

// Any mu gives a true bound, with the nu found here.
static void fill_table(struct rest_table *table, const struct program *program,
                       const struct cell_circle *circle, struct weft_arena *arena,
                       struct weft_arena scratch)
{
    double *rest = WEFT_NEW(arena, double, table->code_count);
    struct set set = {.digits = WEFT_NEW(&scratch, uint32_t, program->piece_count)};
    double nu = 0;
    do {
        nu = fmax(nu, set.worth - excess_of(&set));
    } while (next_set(&set, program));
    do {
        rest[set.code] = excess_of(&set) - set.worth + nu;
    } while (next_set(&set, program));
    // An open digit may be any of the smaller ones.
    for (uint32_t p = 0; p < program->piece_count; p++) {
        uint32_t stride = program->stride[p];
        uint32_t open = program->places[p]->load_count + 1;
        uint32_t block = stride * (open + 1);
        for (uint32_t code = 0; code < table->code_count; code++) {
            if (code % block / stride != open) {
                continue;
            }
            double least = (double)INFINITY;
            for (uint32_t digit = 1; digit <= open; digit++) {
                least = fmin(least, rest[code - digit * stride]);
            }
            rest[code] = least;
        }
    }
    table->rest = rest;
    double *cut_least = WEFT_NEW(arena, double, circle->cuts);
    table->least = 0;
    for (uint32_t cut = 0; cut < circle->cuts; cut++) {
        cut_least[cut] = -nu * (circle->cell_count / circle->cuts);
        for (uint32_t p = 0; p < program->piece_count; p++) {
            const struct cell_place *place = program->places[p];
            for (uint32_t i = 0; i < place->load_count; i++) {
                double mu = program->mu[program->first[p] + i];
                cut_least[cut] += mu * cells_of(place, i, circle->cuts, cut);
            }
        }
        table->least += cut_least[cut] * circle->weights[cut];
    }
    table->cut_least = cut_least;
}

// False where there are more than `code_max` codes.
static bool build_table(struct rest_table *table, const struct cells *cells, uint32_t circle,
                        uint32_t code_max, struct weft_arena *arena, struct weft_arena scratch)
{
    const uint32_t pieces = cells->piece_count;
    const struct cell_circle *cut = &cells->circles[circle];
    struct program program = {
        .places = WEFT_NEW(&scratch, const struct cell_place *, pieces),
        .stride = WEFT_NEW(&scratch, uint32_t, pieces),
        .first = WEFT_NEW(&scratch, uint32_t, pieces),
    };
    *table = (struct rest_table){.stride = WEFT_NEW(arena, uint32_t, pieces), .code_count = 1};
    for (uint32_t p = 0; p < pieces; p++) {
        const struct cell_place *place = place_on(&cells->pieces[p], circle);
        if (place == NULL) {
            continue;
        }
        if (place->load_count + 2 > code_max / table->code_count) {
            return false;
        }
        table->stride[p] = program.stride[program.piece_count] = table->code_count;
        program.places[program.piece_count] = place;
        program.first[program.piece_count++] = program.column_count;
        program.column_count += place->load_count;
        table->code_count *= place->load_count + 2;
    }
    program.load = WEFT_NEW(&scratch, double, program.column_count);
    program.share = WEFT_NEW(&scratch, double, program.column_count);
    program.mu = WEFT_NEW(&scratch, double, program.column_count);
    for (uint32_t p = 0; p < program.piece_count; p++) {
        const struct cell_place *place = program.places[p];
        for (uint32_t i = 0; i < place->load_count; i++) {
            uint32_t column = program.first[p] + i;
            program.load[column] = place->loads[i];
            for (uint32_t c = 0; c < cut->cuts; c++) {
                program.share[column] += cells_of(place, i, cut->cuts, c) * cut->weights[c];
            }
        }
    }
    solve(&program, scratch);
    fill_table(table, &program, cut, arena, scratch);
    return true;
}

const struct rest_table **rest_tables_build(const struct cells *cells, struct weft_arena *arena,
                                            struct weft_arena scratch)
{
    struct rest_table *built = WEFT_NEW(arena, struct rest_table, cells->circle_count);
    const struct rest_table **tables =
        WEFT_NEW(arena, const struct rest_table *, cells->circle_count);
    uint32_t codes_left = CODES_MAX;
    for (uint32_t c = 0; c < cells->circle_count; c++) {
        if (build_table(&built[c], cells, c, codes_left, arena, scratch)) {
            codes_left -= built[c].code_count;
            tables[c] = &built[c];
        }
    }
    return tables;
}

uint32_t rest_table_open(const struct rest_table *table, const struct cells *cells, uint32_t circle)
{
    uint32_t code = 0;
    for (uint32_t p = 0; p < cells->piece_count; p++) {
        const struct cell_place *place = place_on(&cells->pieces[p], circle);
        code += place == NULL ? 0 : (place->load_count + 1) * table->stride[p];
    }
    return code;
}
