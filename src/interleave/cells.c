// SPDX-License-Identifier: Apache-2.0
// Circles partitioned into cells on which every demand is constant (cells.h), what a set of
// rotations exceeds on them, and the prices of all rotations of one job.
//
// Prices are the inner loop of every search. Excess is convex and piecewise linear in the load, so
// what a load R adds to each cell is summed along the circle once; a phase at any rotation is then
// a difference of two sums: O(cells * loads + rotations * phases) instead of O(cells * rotations).

#include "cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Cells of a circle, beyond which offsets are rounded to a coarser grain (8 MiB of loads); and
// cells an angle where only the heuristic looks (docs/interleave.md, "Search"). Not measured.
#define CELLS_MAX ((uint32_t)1 << 20)
#define CUTS_MAX_COARSE 2u

static int by_tick(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t rounded(uint64_t tick, uint64_t grain)
{
    return (tick + grain / 2) / grain * grain;
}

// The offsets of all boundaries within an angle, ascending, 0 first.
static uint32_t find_offsets(uint64_t *offsets, const struct circle *circle, uint64_t grain)
{
    size_t count = 1;
    offsets[0] = 0;
    for (uint32_t j = 0; j < circle->job_count; j++) {
        for (uint32_t a = 0; a < circle->jobs[j].arc_count; a++) {
            const struct arc *arc = &circle->jobs[j].arcs[a];
            offsets[count++] = rounded(arc->from, grain) % TICKS_PER_ANGLE;
            offsets[count++] = rounded(arc->to, grain) % TICKS_PER_ANGLE;
        }
    }
    qsort(offsets, count, sizeof offsets[0], by_tick);
    uint32_t kept = 1;
    for (size_t i = 1; i < count; i++) {
        if (offsets[i] != offsets[kept - 1]) {
            offsets[kept++] = offsets[i];
        }
    }
    return kept;
}

struct cutting {
    const struct circle *circle;
    const uint64_t *offsets;
    uint32_t cuts;
    uint64_t grain;
};

static uint32_t cell_of(const struct cutting *cutting, uint64_t tick)
{
    uint64_t at = rounded(tick, cutting->grain);
    uint64_t offset = at % TICKS_PER_ANGLE;
    const uint64_t *found =
        bsearch(&offset, cutting->offsets, cutting->cuts, sizeof offset, by_tick);
    WEFT_ASSERT(found != NULL);
    return (uint32_t)(at / TICKS_PER_ANGLE) * cutting->cuts + (uint32_t)(found - cutting->offsets);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

// The job's phases on one circle as runs of cells of one iteration, grouped by load, since prices
// are summed load by load. `area` is what the job demands of each offset; no rotation changes it,
// which is what the proof's area bound rests on.
static void cut_place(struct cell_place *place, const struct cutting *cutting,
                      const struct circle_job *job, struct weft_arena *arena)
{
    double *loads = WEFT_NEW(arena, double, job->arc_count);
    for (uint32_t a = 0; a < job->arc_count; a++) {
        loads[a] = job->arcs[a].load;
    }
    qsort(loads, job->arc_count, sizeof loads[0], by_value);
    uint32_t load_count = 0;
    for (uint32_t a = 0; a < job->arc_count; a++) {
        if (load_count == 0 || loads[a] != loads[load_count - 1]) {
            loads[load_count++] = loads[a];
        }
    }
    uint32_t *first = WEFT_NEW(arena, uint32_t, (size_t)load_count + 1);
    struct cell_arc *arcs = WEFT_NEW(arena, struct cell_arc, job->arc_count);
    double *area = WEFT_NEW(arena, double, cutting->cuts);
    uint32_t repeats = cutting->circle->angle_count / job->angles;
    uint32_t count = 0;
    for (uint32_t i = 0; i < load_count; i++) {
        for (uint32_t a = 0; a < job->arc_count; a++) {
            struct cell_arc arc = {cell_of(cutting, job->arcs[a].from),
                                   cell_of(cutting, job->arcs[a].to)};
            if (job->arcs[a].load != loads[i] || arc.from == arc.to) {
                continue;
            }
            for (uint32_t c = arc.from; c < arc.to; c++) {
                area[c % cutting->cuts] += loads[i] * repeats;
            }
            arcs[count++] = arc;
        }
        first[i + 1] = count;
    }
    *place = (struct cell_place){
        .repeats = repeats,
        .folded = job->angles * cutting->cuts,
        .load_count = load_count,
        .loads = loads,
        .load_first = first,
        .arcs = arcs,
        .area = area,
        .top_load = load_count == 0 ? 0 : loads[load_count - 1],
    };
}

// What cutting a group's circles fills.
struct cell_lists {
    struct cells *cells;
    struct cell_circle *circles;
    struct cell_piece *pieces;
    struct cell_place **places; // per piece
    bool fine;
};

// Cuts a circle, the c-th; its places are appended to those of their pieces.
static void cut_circle(const struct cell_lists *lists, uint32_t c, const struct circle *circle,
                       struct weft_arena *arena, struct weft_arena scratch)
{
    struct cell_circle *cut = &lists->circles[c];
    size_t boundaries = 1;
    for (uint32_t j = 0; j < circle->job_count; j++) {
        boundaries += (size_t)2 * circle->jobs[j].arc_count;
    }
    uint64_t *offsets = WEFT_NEW(&scratch, uint64_t, boundaries);
    struct cutting cutting = {.circle = circle, .offsets = offsets, .grain = 1};
    cutting.cuts = find_offsets(offsets, circle, 1);
    uint32_t cuts_max = lists->fine ? CELLS_MAX / circle->angle_count : CUTS_MAX_COARSE;
    while (cutting.cuts > cuts_max && cutting.grain < TICKS_PER_ANGLE) {
        lists->cells->rounded = true;
        cutting.grain *= 2;
        cutting.cuts = find_offsets(offsets, circle, cutting.grain);
    }
    double *weights = WEFT_NEW_RAW(arena, double, (size_t)circle->angle_count *cutting.cuts);
    cut->cuts = cutting.cuts;
    cut->cell_count = circle->angle_count * cutting.cuts;
    for (uint32_t cell = 0; cell < cut->cell_count; cell++) {
        uint32_t i = cell % cutting.cuts;
        uint64_t end = i + 1 < cutting.cuts ? offsets[i + 1] : TICKS_PER_ANGLE;
        weights[cell] = (double)(end - offsets[i]) / (double)TICKS_PER_ANGLE / circle->angle_count;
    }
    cut->weights = weights;
    for (uint32_t j = 0; j < circle->job_count; j++) {
        struct cell_piece *piece = &lists->pieces[circle->jobs[j].piece];
        struct cell_place *place = &lists->places[circle->jobs[j].piece][piece->place_count++];
        cut_place(place, &cutting, &circle->jobs[j], arena);
        place->circle = c;
    }
}

static bool same_place(const struct cell_place *a, const struct cell_place *b)
{
    return a->circle == b->circle && a->folded == b->folded && a->load_count == b->load_count &&
           memcmp(a->loads, b->loads, a->load_count * sizeof a->loads[0]) == 0 &&
           memcmp(a->load_first, b->load_first, (a->load_count + 1) * sizeof(uint32_t)) == 0 &&
           memcmp(a->arcs, b->arcs, a->load_first[a->load_count] * sizeof a->arcs[0]) == 0;
}

static bool same_piece(const struct cell_piece *a, const struct cell_piece *b)
{
    bool same = a->angles == b->angles && a->place_count == b->place_count;
    for (uint32_t i = 0; same && i < a->place_count; i++) {
        same = same_place(&a->places[i], &b->places[i]);
    }
    return same;
}

void interleave_cells_build(struct cells *cells, const struct group *group, bool fine,
                            struct weft_arena *arena, struct weft_arena scratch)
{
    struct cell_piece *pieces = WEFT_NEW(arena, struct cell_piece, group->job_count);
    struct cell_circle *circles = WEFT_NEW(arena, struct cell_circle, group->circle_count);
    struct cell_place **places = WEFT_NEW(arena, struct cell_place *, group->job_count);
    uint32_t *place_count = WEFT_NEW(&scratch, uint32_t, group->job_count);
    for (uint32_t c = 0; c < group->circle_count; c++) {
        for (uint32_t j = 0; j < group->circles[c].job_count; j++) {
            place_count[group->circles[c].jobs[j].piece]++;
        }
    }
    for (uint32_t p = 0; p < group->job_count; p++) {
        places[p] = WEFT_NEW(arena, struct cell_place, place_count[p]);
        pieces[p] =
            (struct cell_piece){.angles = group->angles[p], .twin = WEFT_NONE, .places = places[p]};
    }
    *cells = (struct cells){
        .piece_count = group->job_count,
        .pieces = pieces,
        .circle_count = group->circle_count,
        .circles = circles,
    };
    const struct cell_lists lists = {cells, circles, pieces, places, fine};
    for (uint32_t c = 0; c < group->circle_count; c++) {
        cut_circle(&lists, c, &group->circles[c], arena, scratch);
    }
    for (uint32_t p = 0; fine && p < group->job_count; p++) {
        for (uint32_t before = p; before-- > 0 && pieces[p].twin == WEFT_NONE;) {
            pieces[p].twin = same_piece(&pieces[before], &pieces[p]) ? before : WEFT_NONE;
        }
    }
}

void interleave_cells_add(double *loads, const struct cells *cells, const struct cell_place *place,
                          uint32_t rotation, double sign)
{
    const struct cell_circle *circle = &cells->circles[place->circle];
    uint32_t late = rotation * circle->cuts;
    for (uint32_t i = 0; i < place->load_count; i++) {
        double load = sign * place->loads[i];
        for (uint32_t a = place->load_first[i]; a < place->load_first[i + 1]; a++) {
            uint32_t length = place->arcs[a].to - place->arcs[a].from;
            for (uint32_t repeat = 0; repeat < place->repeats; repeat++) {
                uint32_t from = place->arcs[a].from + late + repeat * place->folded;
                from -= from >= circle->cell_count ? circle->cell_count : 0;
                uint32_t room = circle->cell_count - from;
                uint32_t straight = length < room ? length : room;
                for (uint32_t c = 0; c < straight; c++) {
                    loads[from + c] += load;
                }
                for (uint32_t c = 0; c < length - straight; c++) {
                    loads[c] += load;
                }
            }
        }
    }
}

void interleave_cells_mark(uint32_t *codes, const struct cells *cells,
                           const struct cell_place *place, uint32_t rotation, uint32_t stride)
{
    const struct cell_circle *circle = &cells->circles[place->circle];
    for (uint32_t cell = 0; cell < circle->cell_count; cell++) {
        codes[cell] -= (place->load_count + 1) * stride;
    }
    for (uint32_t i = 0; i < place->load_count; i++) {
        for (uint32_t a = place->load_first[i]; a < place->load_first[i + 1]; a++) {
            for (uint32_t repeat = 0; repeat < place->repeats; repeat++) {
                uint32_t at =
                    place->arcs[a].from + rotation * circle->cuts + repeat * place->folded;
                for (uint32_t c = place->arcs[a].from; c < place->arcs[a].to; c++, at++) {
                    uint32_t cell = at < circle->cell_count ? at : at - circle->cell_count;
                    codes[cell] += (i + 1) * stride;
                }
            }
        }
    }
}

// The larger of x and 0, exactly, and without a branch, so that loops work on several at once.
static inline double positive(double x)
{
    return 0.5 * (x + fabs(x));
}

// until[c] = values[0] + ... + values[c - 1]. A sum waits for the one before, so four parts are
// summed side by side, each then raised by what is before it.
static void sum_up(double *until, const double *values, uint32_t count)
{
    const uint32_t part = count / 4;
    double sum[4] = {0, 0, 0, 0};
    for (uint32_t c = 0; c < part; c++) {
        for (uint32_t i = 0; i < 4; i++) {
            sum[i] += values[i * part + c];
            until[i * part + c + 1] = sum[i];
        }
    }
    until[0] = 0;
    for (uint32_t i = 1; i < 4; i++) {
        const double before = until[i * part];
        for (uint32_t c = 1; c <= part; c++) {
            until[i * part + c] += before;
        }
    }
    for (uint32_t c = 4 * part; c < count; c++) {
        until[c + 1] = until[c] + values[c];
    }
}

// price[r] += to[r * stride] - from[r * stride]. Strides that a heuristic has are known to the
// compiler.
static void add_differences(double *price, const double *from, const double *to, uint32_t count,
                            uint32_t stride)
{
    if (stride == 1) {
        for (uint32_t r = 0; r < count; r++) {
            price[r] += to[r] - from[r];
        }
    } else if (stride == 2) {
        for (size_t r = 0; r < count; r++) {
            price[r] += to[2 * r] - from[2 * r];
        }
    } else {
        for (uint32_t r = 0; r < count; r++) {
            price[r] += to[r * stride] - from[r * stride];
        }
    }
}

uint64_t interleave_cells_price(double *price, const struct cells *cells,
                                const struct cell_place *place, uint32_t angles,
                                const double *loads, struct weft_arena scratch)
{
    const struct cell_circle *circle = &cells->circles[place->circle];
    const uint32_t folded = place->folded;
    double *until = WEFT_NEW_RAW(&scratch, double, (size_t)2 * folded + 1);
    double *more = WEFT_NEW_RAW(&scratch, double, folded);
    memset(price, 0, angles * sizeof price[0]);
    for (uint32_t i = 0; i < place->load_count; i++) {
        double load = place->loads[i];
        memset(more, 0, folded * sizeof more[0]);
        for (uint32_t repeat = 0; repeat < place->repeats; repeat++) {
            const double *there = &loads[repeat * folded];
            for (uint32_t c = 0; c < folded; c++) {
                more[c] += positive(load - positive(1 - there[c]));
            }
        }
        for (uint32_t c = 0; c < folded; c++) {
            more[c] *= circle->weights[c];
        }
        sum_up(until, more, folded);
        for (uint32_t c = 1; c <= folded; c++) {
            until[folded + c] = until[folded] + until[c];
        }
        for (uint32_t a = place->load_first[i]; a < place->load_first[i + 1]; a++) {
            add_differences(price, &until[place->arcs[a].from], &until[place->arcs[a].to], angles,
                            circle->cuts);
        }
    }
    return (uint64_t)place->load_count * circle->cell_count;
}

double interleave_cells_excess(const struct cells *cells, uint32_t circle, const double *loads)
{
    const struct cell_circle *at = &cells->circles[circle];
    double excess = 0;
    for (uint32_t c = 0; c < at->cell_count; c++) {
        excess += positive(loads[c] - 1) * at->weights[c];
    }
    return excess;
}
