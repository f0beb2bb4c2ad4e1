// SPDX-License-Identifier: Apache-2.0
// Branch and bound over whole-angle rotations of a group's jobs.
//
// Jobs are placed one after another, the first at 0 (turning all jobs alike changes nothing). What
// jobs not yet placed must still add is bounded for each circle in three ways:
//   - excess is convex in the load, so a job adds at least what it adds to the placed ones alone,
//     at its best rotation: the sum of these minima is a bound;
//   - a cut of all angles (the cells of one offset) holds at most one load a cell, and a rotation
//     keeps what a job asks of each cut: what goes beyond the room left there is excess.
// - which loads can come together bounds what the cells of a cut take (bound.h).
// The larger counts; of the last two for each cut. Jobs with equal demands are kept in order of
// their rotations.

#include "bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct child {
    struct value bound;
    uint32_t rotation;
};

struct level {
    double **loads;   // per circle: of what is placed
    uint32_t **codes; // likewise: what is known of each cell (bound.h)
    double *excess;   // per circle
    double *floor;    // per circle: at least, with all jobs but the one to place
    double *least;    // per circle: at least, with all jobs
    double **area;    // per circle, per cut: of jobs from here on
    double *top;      // per circle: most that jobs from here on ask at once
    double **prices;  // per place of the piece to place
    struct child *children;
};

struct proof {
    const struct cells *cells;
    uint32_t *order;     // pieces
    uint32_t *rotations; // per piece
    struct level *levels;
    struct found *found;
    const struct search_limits *limits;
    const struct rest_table *const *tables; // per circle
    double *room;                           // per cut
    double *taken;                          // per cut
    double *spare;                          // per rotation
    double open; // least worst excess of what was left out when it had to stop
    bool stopped;
};

static bool out_of_work(struct proof *proof)
{
    proof->stopped = proof->stopped || proof->found->work > proof->limits->work_limit ||
                     weft_stopped(proof->limits->stop);
    return proof->stopped;
}

// Excess of each cut, and its room for what is still to come.
static void sum_cuts(struct proof *proof, const struct level *level, uint32_t c)
{
    const struct cell_circle *circle = &proof->cells->circles[c];
    const double *loads = level->loads[c];
    const double top = level->top[c];
    double *room = proof->room;
    double *over = proof->taken;
    memset(room, 0, circle->cuts * sizeof room[0]);
    memset(over, 0, circle->cuts * sizeof over[0]);
    for (uint32_t at = 0; at < circle->cell_count; at += circle->cuts) {
        for (uint32_t cut = 0; cut < circle->cuts; cut++) {
            double free = 1 - loads[at + cut];
            double left = free > 0 ? free : 0;
            over[cut] += left - free;
            room[cut] += left < top ? left : top;
        }
    }
    proof->found->work += circle->cell_count;
}

// Excess of a circle at least, whatever is done with the jobs from this level on.
static double least_excess(struct proof *proof, uint32_t depth, uint32_t c)
{
    const struct level *level = &proof->levels[depth];
    const struct cell_circle *circle = &proof->cells->circles[c];
    double *cut_bound = proof->taken;
    sum_cuts(proof, level, c);
    for (uint32_t cut = 0; cut < circle->cuts; cut++) {
        cut_bound[cut] += fmax(0, level->area[c][cut] - proof->room[cut]);
    }
    if (proof->tables[c] != NULL) {
        const double *rest = proof->tables[c]->rest;
        const uint32_t *codes = level->codes[c];
        double *known = proof->room;
        memcpy(known, proof->tables[c]->cut_least, circle->cuts * sizeof known[0]);
        for (uint32_t at = 0; at < circle->cell_count; at += circle->cuts) {
            for (uint32_t cut = 0; cut < circle->cuts; cut++) {
                known[cut] += rest[codes[at + cut]];
            }
        }
        for (uint32_t cut = 0; cut < circle->cuts; cut++) {
            cut_bound[cut] = fmax(cut_bound[cut], known[cut]);
        }
        proof->found->work += circle->cell_count;
    }
    double bound = 0;
    for (uint32_t cut = 0; cut < circle->cuts; cut++) {
        bound += cut_bound[cut] * circle->weights[cut];
    }
    return bound;
}

// Sets the prices of the piece to place at this level, and the floors of all circles.
static void price_level(struct proof *proof, uint32_t depth, struct weft_arena scratch)
{
    const struct cells *cells = proof->cells;
    struct level *level = &proof->levels[depth];
    memcpy(level->floor, level->excess, cells->circle_count * sizeof(double));
    for (uint32_t d = depth; d < cells->piece_count; d++) {
        const struct cell_piece *piece = &cells->pieces[proof->order[d]];
        for (uint32_t i = 0; i < piece->place_count; i++) {
            const struct cell_place *place = &piece->places[i];
            double *price = d == depth ? level->prices[i] : proof->spare;
            proof->found->work += interleave_cells_price(price, cells, place, piece->angles,
                                                         level->loads[place->circle], scratch);
            if (d == depth) {
                continue;
            }
            double least = (double)INFINITY;
            for (uint32_t r = 0; r < piece->angles; r++) {
                least = price[r] < least ? price[r] : least;
            }
            level->floor[place->circle] += least;
        }
    }
}

static int by_bound(const void *a, const void *b)
{
    const struct child *x = a;
    const struct child *y = b;
    if (x->bound.worst != y->bound.worst) {
        return x->bound.worst < y->bound.worst ? -1 : 1;
    }
    if (x->bound.sum != y->bound.sum) {
        return x->bound.sum < y->bound.sum ? -1 : 1;
    }
    return (x->rotation > y->rotation) - (x->rotation < y->rotation);
}

// The children of a level worth a look, best bound first.
static uint32_t list_children(struct proof *proof, uint32_t depth)
{
    const struct cells *cells = proof->cells;
    const struct level *level = &proof->levels[depth];
    const struct cell_piece *piece = &cells->pieces[proof->order[depth]];
    struct value apart = {0, 0}; // circles this piece is not on
    for (uint32_t c = 0; c < cells->circle_count; c++) {
        proof->room[c] = fmax(level->floor[c], level->least[c]);
    }
    for (uint32_t i = 0; i < piece->place_count; i++) {
        proof->room[piece->places[i].circle] = -1;
    }
    for (uint32_t c = 0; c < cells->circle_count; c++) {
        apart.worst = fmax(apart.worst, proof->room[c]);
        apart.sum += fmax(0, proof->room[c]);
    }
    uint32_t from = piece->twin == WEFT_NONE ? 0 : proof->rotations[piece->twin];
    uint32_t until = depth == 0 ? 1 : piece->angles;
    uint32_t count = 0;
    for (uint32_t r = from; r < until; r++) {
        struct value bound = apart;
        for (uint32_t i = 0; i < piece->place_count; i++) {
            uint32_t c = piece->places[i].circle;
            double excess = fmax(level->floor[c] + level->prices[i][r], level->least[c]);
            bound.worst = fmax(bound.worst, excess);
            bound.sum += excess;
        }
        if (value_better(bound, proof->found->value)) {
            level->children[count++] = (struct child){bound, r};
        }
    }
    qsort(level->children, count, sizeof level->children[0], by_bound);
    return count;
}

// Places the piece of a level; the next level then holds it.
static void place_piece(struct proof *proof, uint32_t depth, uint32_t rotation)
{
    const struct cells *cells = proof->cells;
    const struct level *level = &proof->levels[depth];
    struct level *next = &proof->levels[depth + 1];
    const struct cell_piece *piece = &cells->pieces[proof->order[depth]];
    proof->rotations[proof->order[depth]] = rotation;
    for (uint32_t c = 0; c < cells->circle_count; c++) {
        memcpy(next->loads[c], level->loads[c], cells->circles[c].cell_count * sizeof(double));
        next->excess[c] = level->excess[c];
        if (proof->tables[c] != NULL) {
            memcpy(next->codes[c], level->codes[c],
                   cells->circles[c].cell_count * sizeof(uint32_t));
        }
        proof->found->work += cells->circles[c].cell_count;
    }
    for (uint32_t i = 0; i < piece->place_count; i++) {
        const struct cell_place *place = &piece->places[i];
        interleave_cells_add(next->loads[place->circle], cells, place, rotation, 1);
        if (proof->tables[place->circle] != NULL) {
            uint32_t stride = proof->tables[place->circle]->stride[proof->order[depth]];
            interleave_cells_mark(next->codes[place->circle], cells, place, rotation, stride);
        }
        next->excess[place->circle] += level->prices[i][rotation];
    }
}

static void keep_better(struct proof *proof, uint32_t depth)
{
    const struct cells *cells = proof->cells;
    struct value value = {0, 0};
    for (uint32_t c = 0; c < cells->circle_count; c++) {
        double excess = interleave_cells_excess(cells, c, proof->levels[depth].loads[c]);
        value.worst = fmax(value.worst, excess);
        value.sum += excess;
    }
    if (value_better(value, proof->found->value)) {
        proof->found->value = value;
        memcpy(proof->found->rotations, proof->rotations,
               cells->piece_count * sizeof proof->rotations[0]);
    }
}

static bool worth_a_look(struct proof *proof, uint32_t depth)
{
    struct level *level = &proof->levels[depth];
    struct value least = {0, 0};
    for (uint32_t c = 0; c < proof->cells->circle_count; c++) {
        level->least[c] = least_excess(proof, depth, c);
        least.worst = fmax(least.worst, level->least[c]);
        least.sum += level->least[c];
    }
    return value_better(least, proof->found->value);
}

static void search(struct proof *proof, uint32_t depth, struct weft_arena scratch)
{
    if (depth == proof->cells->piece_count) {
        keep_better(proof, depth);
        return;
    }
    if (!worth_a_look(proof, depth)) {
        return;
    }
    price_level(proof, depth, scratch);
    uint32_t count = list_children(proof, depth);
    const struct child *children = proof->levels[depth].children;
    for (uint32_t i = 0; i < count; i++) {
        if (!value_better(children[i].bound, proof->found->value)) {
            continue;
        }
        if (out_of_work(proof)) {
            proof->open = fmin(proof->open, children[i].bound.worst);
            return;
        }
        place_piece(proof, depth, children[i].rotation);
        search(proof, depth + 1, scratch);
    }
}

// Placed first: what hits hardest, load times time; twins stay in their order.
static void order_pieces(struct proof *proof)
{
    const struct cells *cells = proof->cells;
    double *weight = proof->spare;
    for (uint32_t p = 0; p < cells->piece_count; p++) {
        weight[p] = 0;
        for (uint32_t i = 0; i < cells->pieces[p].place_count; i++) {
            const struct cell_place *place = &cells->pieces[p].places[i];
            const struct cell_circle *circle = &cells->circles[place->circle];
            for (uint32_t c = 0; c < circle->cuts; c++) {
                weight[p] += place->area[c] * circle->weights[c];
            }
        }
        uint32_t at = p;
        for (; at > 0 && weight[proof->order[at - 1]] < weight[p]; at--) {
            proof->order[at] = proof->order[at - 1];
        }
        proof->order[at] = p;
    }
}

static void init_level(struct proof *proof, struct level *level, uint32_t places, uint32_t angles,
                       struct weft_arena *arena)
{
    const uint32_t circles = proof->cells->circle_count;
    *level = (struct level){
        .loads = WEFT_NEW(arena, double *, circles),
        .codes = WEFT_NEW(arena, uint32_t *, circles),
        .excess = WEFT_NEW(arena, double, circles),
        .floor = WEFT_NEW(arena, double, circles),
        .least = WEFT_NEW(arena, double, circles),
        .area = WEFT_NEW(arena, double *, circles),
        .top = WEFT_NEW(arena, double, circles),
        .prices = WEFT_NEW(arena, double *, places),
        .children = WEFT_NEW_RAW(arena, struct child, angles),
    };
    for (uint32_t c = 0; c < circles; c++) {
        level->loads[c] = WEFT_NEW(arena, double, proof->cells->circles[c].cell_count);
        level->codes[c] = WEFT_NEW(arena, uint32_t, proof->cells->circles[c].cell_count);
        level->area[c] = WEFT_NEW(arena, double, proof->cells->circles[c].cuts);
    }
    for (uint32_t i = 0; i < places; i++) {
        level->prices[i] = WEFT_NEW_RAW(arena, double, angles);
    }
}

// What the jobs from each level on ask of each circle.
static void sum_areas(struct proof *proof)
{
    const struct cells *cells = proof->cells;
    for (uint32_t d = cells->piece_count; d-- > 0;) {
        const struct cell_piece *piece = &cells->pieces[proof->order[d]];
        for (uint32_t c = 0; c < cells->circle_count; c++) {
            memcpy(proof->levels[d].area[c], proof->levels[d + 1].area[c],
                   cells->circles[c].cuts * sizeof(double));
            proof->levels[d].top[c] = proof->levels[d + 1].top[c];
        }
        for (uint32_t i = 0; i < piece->place_count; i++) {
            const struct cell_place *place = &piece->places[i];
            for (uint32_t cut = 0; cut < cells->circles[place->circle].cuts; cut++) {
                proof->levels[d].area[place->circle][cut] += place->area[cut];
            }
            proof->levels[d].top[place->circle] += place->top_load;
        }
    }
}

void interleave_prove(struct found *found, const struct cells *cells,
                      const struct rest_table *const *tables, const struct search_limits *limits,
                      struct weft_arena scratch)
{
    uint32_t place_max = 0;
    uint32_t angle_max = cells->piece_count;
    uint32_t cut_max = cells->circle_count;
    for (uint32_t p = 0; p < cells->piece_count; p++) {
        const struct cell_piece *piece = &cells->pieces[p];
        place_max = piece->place_count > place_max ? piece->place_count : place_max;
        angle_max = piece->angles > angle_max ? piece->angles : angle_max;
    }
    for (uint32_t c = 0; c < cells->circle_count; c++) {
        cut_max = cells->circles[c].cuts > cut_max ? cells->circles[c].cuts : cut_max;
    }
    struct proof proof = {
        .cells = cells,
        .order = WEFT_NEW(&scratch, uint32_t, cells->piece_count),
        .rotations = WEFT_NEW(&scratch, uint32_t, cells->piece_count),
        .levels = WEFT_NEW(&scratch, struct level, (size_t)cells->piece_count + 1),
        .found = found,
        .limits = limits,
        .tables = tables,
        .room = WEFT_NEW(&scratch, double, cut_max),
        .taken = WEFT_NEW(&scratch, double, cut_max),
        .spare = WEFT_NEW(&scratch, double, angle_max),
        .open = (double)INFINITY,
    };
    for (uint32_t d = 0; d <= cells->piece_count; d++) {
        init_level(&proof, &proof.levels[d], place_max, angle_max, &scratch);
    }
    order_pieces(&proof);
    sum_areas(&proof);
    for (uint32_t c = 0; c < cells->circle_count; c++) {
        uint32_t open = proof.tables[c] == NULL ? 0 : rest_table_open(proof.tables[c], cells, c);
        for (uint32_t cell = 0; cell < cells->circles[c].cell_count; cell++) {
            proof.levels[0].codes[c][cell] = open;
        }
    }
    search(&proof, 0, scratch);
    found->proved = !proof.stopped;
    found->bound = fmin(found->value.worst, proof.open);
}
