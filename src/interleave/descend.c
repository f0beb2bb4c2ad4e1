// SPDX-License-Identifier: Apache-2.0
// The fast search for rotations: greedy starts, large demands first, each improved by coordinate
// descent, one job at a time, until none gains; on one link also by two jobs at a time.
//
// Only jobs on whose links something has moved are looked at again. Starts after the first place
// jobs in random order, those after the second from random rotations; the best of all is what the
// proof (prove.c) starts from and what the heuristic answers. A visit costs O(cells + rotations) on
// each link of the job, a pair O(rotations) times that.

#include "cells.h"

#include <math.h>
#include <string.h>

// Passes over all jobs, which end much earlier as a rule; passes that move jobs to the middle of
// their slack; and the part of the work, 1/16, that pairs of jobs may take. bench_interleave 10
// (docs/interleave.md, "Measured") shows what they reach; other values are not on record. They
// trade time against the last gains.
#define SWEEPS_MAX 50u
#define CENTER_SWEEPS 3u
#define PAIRS_SHARE 16u

struct descent {
    const struct cells *cells;
    double **loads;  // per circle, per cell
    double *excess;  // per circle
    double **prices; // per place of the piece at hand, per rotation
    uint32_t *rotations;
    uint32_t *changed; // per circle: when a piece on it last moved
    uint32_t *visited; // per piece: when it was last put where it costs least
    uint32_t now;
    uint64_t work;
};

// Allocates for the largest job: prices are kept for one job at a time.
static void descent_init(struct descent *descent, const struct cells *cells,
                         struct weft_arena *arena)
{
    uint32_t place_max = 0;
    uint32_t angle_max = 0;
    for (uint32_t p = 0; p < cells->piece_count; p++) {
        const struct cell_piece *piece = &cells->pieces[p];
        place_max = piece->place_count > place_max ? piece->place_count : place_max;
        angle_max = piece->angles > angle_max ? piece->angles : angle_max;
    }
    *descent = (struct descent){
        .cells = cells,
        .loads = WEFT_NEW(arena, double *, cells->circle_count),
        .excess = WEFT_NEW(arena, double, cells->circle_count),
        .prices = WEFT_NEW(arena, double *, place_max),
        .rotations = WEFT_NEW(arena, uint32_t, cells->piece_count),
        .changed = WEFT_NEW(arena, uint32_t, cells->circle_count),
        .visited = WEFT_NEW(arena, uint32_t, cells->piece_count),
    };
    for (uint32_t c = 0; c < cells->circle_count; c++) {
        descent->loads[c] = WEFT_NEW(arena, double, cells->circles[c].cell_count);
    }
    for (uint32_t i = 0; i < place_max; i++) {
        descent->prices[i] = WEFT_NEW_RAW(arena, double, angle_max);
    }
}

static void descent_clear(struct descent *descent)
{
    const struct cells *cells = descent->cells;
    for (uint32_t c = 0; c < cells->circle_count; c++) {
        memset(descent->loads[c], 0, cells->circles[c].cell_count * sizeof(double));
        descent->excess[c] = 0;
    }
}

static void put(struct descent *descent, uint32_t p, double sign)
{
    const struct cell_piece *piece = &descent->cells->pieces[p];
    for (uint32_t i = 0; i < piece->place_count; i++) {
        const struct cell_place *place = &piece->places[i];
        interleave_cells_add(descent->loads[place->circle], descent->cells, place,
                             descent->rotations[p], sign);
        descent->work += place->folded;
    }
}

// With the piece at rotation r, on the circles it is on; excess holds those without it.
static struct value value_at(const struct descent *descent, const struct cell_piece *piece,
                             uint32_t r)
{
    struct value value = {0, 0};
    for (uint32_t i = 0; i < piece->place_count; i++) {
        double excess = descent->excess[piece->places[i].circle] + descent->prices[i][r];
        value.worst = excess > value.worst ? excess : value.worst;
        value.sum += excess;
    }
    return value;
}

// What the piece would add to the circles that it is on and was taken from.
static void price(struct descent *descent, const struct cell_piece *piece,
                  struct weft_arena scratch)
{
    for (uint32_t i = 0; i < piece->place_count; i++) {
        const struct cell_place *place = &piece->places[i];
        descent->work +=
            interleave_cells_price(descent->prices[i], descent->cells, place, piece->angles,
                                   descent->loads[place->circle], scratch);
    }
}

// Puts the piece, whose prices are known, where it costs least, where it was if nothing is better.
// True if that changed.
static bool place_best(struct descent *descent, uint32_t p)
{
    const struct cell_piece *piece = &descent->cells->pieces[p];
    uint32_t old = descent->rotations[p];
    uint32_t best = old;
    struct value value = value_at(descent, piece, old);
    for (uint32_t r = 0; r < piece->angles; r++) {
        struct value other = value_at(descent, piece, r);
        if (value_better(other, value)) {
            value = other;
            best = r;
        }
    }
    for (uint32_t i = 0; i < piece->place_count; i++) {
        descent->excess[piece->places[i].circle] += descent->prices[i][best];
    }
    descent->rotations[p] = best;
    put(descent, p, 1);
    return best != old;
}

static struct value value_of(const struct descent *descent)
{
    struct value value = {0, 0};
    for (uint32_t c = 0; c < descent->cells->circle_count; c++) {
        double excess = interleave_cells_excess(descent->cells, c, descent->loads[c]);
        value.worst = fmax(value.worst, excess);
        value.sum += excess;
    }
    return value;
}

// Nothing on the links of a piece has moved since it was put where it costs least.
static bool is_current(const struct descent *descent, uint32_t p)
{
    const struct cell_piece *piece = &descent->cells->pieces[p];
    for (uint32_t i = 0; i < piece->place_count; i++) {
        if (descent->changed[piece->places[i].circle] > descent->visited[p]) {
            return false;
        }
    }
    return true;
}

static bool visit(struct descent *descent, uint32_t p, struct weft_arena scratch)
{
    const struct cell_piece *piece = &descent->cells->pieces[p];
    put(descent, p, -1);
    price(descent, piece, scratch);
    for (uint32_t i = 0; i < piece->place_count; i++) {
        // What it costs where it was is what it had added there.
        descent->excess[piece->places[i].circle] -= descent->prices[i][descent->rotations[p]];
    }
    bool moved = place_best(descent, p);
    descent->now++;
    for (uint32_t i = 0; moved && i < piece->place_count; i++) {
        descent->changed[piece->places[i].circle] = descent->now;
    }
    descent->visited[p] = descent->now;
    return moved;
}

static struct value descend_from(struct descent *descent, const uint32_t *order,
                                 const struct search_limits *limits, struct weft_arena scratch)
{
    const uint32_t count = descent->cells->piece_count;
    descent_clear(descent);
    for (uint32_t i = 0; i < count; i++) {
        price(descent, &descent->cells->pieces[order[i]], scratch);
        place_best(descent, order[i]);
    }
    descent->now++;
    for (uint32_t c = 0; c < descent->cells->circle_count; c++) {
        descent->changed[c] = descent->now;
    }
    bool gained = true;
    for (uint32_t sweep = 0; gained && sweep < SWEEPS_MAX && !weft_stopped(limits->stop); sweep++) {
        gained = false;
        for (uint32_t i = 0; i < count; i++) {
            if (!is_current(descent, order[i])) {
                gained = visit(descent, order[i], scratch) || gained;
            }
        }
    }
    return value_of(descent);
}

// Large demands first.
static void order_by_size(uint32_t *order, const struct cells *cells, struct weft_arena scratch)
{
    double *size = WEFT_NEW(&scratch, double, cells->piece_count);
    for (uint32_t p = 0; p < cells->piece_count; p++) {
        for (uint32_t i = 0; i < cells->pieces[p].place_count; i++) {
            const struct cell_place *place = &cells->pieces[p].places[i];
            const struct cell_circle *circle = &cells->circles[place->circle];
            for (uint32_t c = 0; c < circle->cuts; c++) {
                size[p] += place->area[c] * circle->weights[c];
            }
        }
        uint32_t at = p;
        for (; at > 0 && size[order[at - 1]] < size[p]; at--) {
            order[at] = order[at - 1];
        }
        order[at] = p;
    }
}

// Two pieces at once: every rotation of one with the best of the other. True if that gained.
static bool place_pair(struct descent *descent, uint32_t p, uint32_t q, struct value *value,
                       struct weft_arena scratch)
{
    const struct cells *cells = descent->cells;
    const struct cell_piece *first = &cells->pieces[p];
    const struct cell_piece *second = &cells->pieces[q];
    const uint32_t old[2] = {descent->rotations[p], descent->rotations[q]};
    uint32_t best[2] = {old[0], old[1]};
    put(descent, q, -1);
    put(descent, p, -1);
    for (uint32_t r = 0; r < first->angles; r++) {
        descent->rotations[p] = r;
        put(descent, p, 1);
        for (uint32_t c = 0; c < cells->circle_count; c++) {
            descent->excess[c] = interleave_cells_excess(cells, c, descent->loads[c]);
        }
        price(descent, second, scratch);
        for (uint32_t other = 0; other < second->angles; other++) {
            struct value there = value_at(descent, second, other);
            if (value_better(there, *value)) {
                *value = there;
                best[0] = r;
                best[1] = other;
            }
        }
        put(descent, p, -1);
    }
    descent->rotations[p] = best[0];
    descent->rotations[q] = best[1];
    put(descent, p, 1);
    put(descent, q, 1);
    return best[0] != old[0] || best[1] != old[1];
}

// Until no two pieces gain, or the work is done.
static struct value descend_pairs(struct descent *descent, struct value value, uint64_t work_limit,
                                  struct weft_arena scratch)
{
    const uint32_t count = descent->cells->piece_count;
    const uint32_t pairs = count * (count - 1) / 2;
    uint32_t idle = 0;
    while (idle < pairs) {
        for (uint32_t p = 0; p < count; p++) {
            for (uint32_t q = p + 1; q < count; q++) {
                if (idle == pairs || descent->work > work_limit) {
                    return value;
                }
                idle = place_pair(descent, p, q, &value, scratch) ? 0 : idle + 1;
            }
        }
    }
    return value;
}

void interleave_descend(struct found *found, const struct cells *cells,
                        const struct search_limits *limits, struct weft_arena *arena,
                        struct weft_arena scratch)
{
    const uint32_t count = cells->piece_count;
    struct descent descent;
    descent_init(&descent, cells, &scratch);
    uint32_t *order = WEFT_NEW(&scratch, uint32_t, count);
    order_by_size(order, cells, scratch);
    struct weft_rng rng;
    weft_rng_init(&rng, limits->seed);
    *found = (struct found){.rotations = WEFT_NEW(arena, uint32_t, count),
                            .value = {(double)INFINITY, (double)INFINITY}};
    for (uint32_t start = 0; start < limits->starts; start++) {
        // The second start leaves every job where it would be without shifts, as far as that goes.
        memset(descent.rotations, 0, count * sizeof descent.rotations[0]);
        for (uint32_t p = 0; start > 1 && p < count; p++) {
            descent.rotations[p] = weft_rng_below(&rng, cells->pieces[p].angles);
        }
        if (start > 0) {
            weft_rng_shuffle(&rng, order, count);
        }
        struct value value = descend_from(&descent, order, limits, scratch);
        bool best = value.sum <= VALUE_EQUAL ||
                    (cells->circle_count == 1 && value.worst <= limits->least + VALUE_EQUAL);
        if (limits->pairs && !best) {
            value = descend_pairs(&descent, value, limits->work_limit / PAIRS_SHARE, scratch);
        }
        if (value_better(value, found->value)) {
            found->value = value;
            memcpy(found->rotations, descent.rotations, count * sizeof descent.rotations[0]);
        }
        if (best || weft_stopped(limits->stop) || descent.work > limits->work_limit) {
            break;
        }
    }
    found->work = descent.work;
}

// Rotations from here, one way, that leave every link of the piece as it is.
static uint32_t run_of(const struct descent *descent, const struct cell_piece *piece, uint32_t from,
                       bool late)
{
    uint32_t length = 0;
    for (; length + 1 < piece->angles; length++) {
        uint32_t step = length + 1;
        uint32_t r = (from + (late ? step : piece->angles - step)) % piece->angles;
        for (uint32_t i = 0; i < piece->place_count; i++) {
            if (descent->prices[i][r] > descent->prices[i][from] + VALUE_EQUAL) {
                return length;
            }
        }
    }
    return length;
}

void interleave_center(struct found *found, const struct cells *cells, struct weft_arena scratch)
{
    struct descent descent;
    descent_init(&descent, cells, &scratch);
    memcpy(descent.rotations, found->rotations, cells->piece_count * sizeof(uint32_t));
    for (uint32_t p = 0; p < cells->piece_count; p++) {
        put(&descent, p, 1);
    }
    for (uint32_t step = 0; step < CENTER_SWEEPS * cells->piece_count; step++) {
        uint32_t p = step % cells->piece_count;
        const struct cell_piece *piece = &cells->pieces[p];
        put(&descent, p, -1);
        price(&descent, piece, scratch);
        uint32_t here = descent.rotations[p];
        uint32_t late = run_of(&descent, piece, here, true);
        uint32_t early = run_of(&descent, piece, here, false);
        if (late + early + 1 < piece->angles) {
            uint32_t first = here + piece->angles - early;
            descent.rotations[p] = (first + (late + early) / 2) % piece->angles;
        }
        put(&descent, p, 1);
    }
    memcpy(found->rotations, descent.rotations, cells->piece_count * sizeof(uint32_t));
    found->work += descent.work;
}
