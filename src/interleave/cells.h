// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SRC_INTERLEAVE_CELLS_H
#define WEFT_SRC_INTERLEAVE_CELLS_H

// A group cut into cells on which every demand is constant, for searches over whole angles.
//
// Rotations are whole angles, so a boundary of a phase keeps its offset within an angle. All
// offsets on a link cut each of its angles alike into `cuts` cells; a sum over cells is then the
// exact integral. Loads are in units of the link's capacity, cell weights in units of its circle.

#include "circle.h"

#define VALUE_EQUAL 1e-9

// What is made small: the largest excess of a link, then the sum over links.
struct value {
    double worst;
    double sum;
};
static inline bool value_better(struct value a, struct value b)
{
    return a.worst < b.worst - VALUE_EQUAL ||
           (a.worst <= b.worst + VALUE_EQUAL && a.sum < b.sum - VALUE_EQUAL);
}

struct cell_arc {
    uint32_t from; // cells of the job's iteration
    uint32_t to;
};

// A job on a link.
struct cell_place {
    uint32_t circle;
    uint32_t repeats; // iterations on the circle
    uint32_t folded;  // cells of one iteration
    uint32_t load_count;
    const double *loads;        // different ones
    const uint32_t *load_first; // CSR into arcs
    const struct cell_arc *arcs;
    const double *area; // per cut: what the job asks on the whole circle
    double top_load;
};

struct cell_circle {
    uint32_t cuts;
    uint32_t cell_count;
    const double *weights; // of cells; an angle's, over and over
};

struct cell_piece {
    uint32_t angles;
    uint32_t twin; // an earlier piece with the same demands on the same links, or WEFT_NONE
    uint32_t place_count;
    const struct cell_place *places;
};

struct cells {
    uint32_t piece_count;
    const struct cell_piece *pieces;
    uint32_t circle_count;
    const struct cell_circle *circles;
    bool rounded; // boundaries were moved, by less than an angle, so that cells are not too many
};

// `fine`: offsets are kept as they are while there is room.
void interleave_cells_build(struct cells *cells, const struct group *group, bool fine,
                            struct weft_arena *arena, struct weft_arena scratch);
// Adds the demand of a place, `rotation` angles late, to the loads of its circle's cells.
void interleave_cells_add(double *loads, const struct cells *cells, const struct cell_place *place,
                          uint32_t rotation, double sign);
// Makes the open digit of a place, the largest, that of its load in the cells that it fills, and 0
// in all others of its circle.
void interleave_cells_mark(uint32_t *codes, const struct cells *cells,
                           const struct cell_place *place, uint32_t rotation, uint32_t stride);
// What the place would add to the excess, for each of its rotations. Returns the cells looked at.
uint64_t interleave_cells_price(double *price, const struct cells *cells,
                                const struct cell_place *place, uint32_t angles,
                                const double *loads, struct weft_arena scratch);
double interleave_cells_excess(const struct cells *cells, uint32_t circle, const double *loads);

// ---- searches ----

struct search_limits {
    uint32_t starts; // of the heuristic
    bool pairs;      // it also improves by two jobs at once, up to a sixteenth of the work
    double least;    // no excess of the first circle is less
    uint64_t seed;
    uint64_t work_limit;
    weft_stop stop;
};

struct found {
    uint32_t *rotations; // per piece
    struct value value;
    double bound; // no rotations have a smaller worst excess
    bool proved;  // value is the best, its sum too
    uint64_t work;
};

// Greedy starts, each improved one job at a time until none gains. Sets rotations, value, work.
void interleave_descend(struct found *found, const struct cells *cells,
                        const struct search_limits *limits, struct weft_arena *arena,
                        struct weft_arena scratch);
// Moves each job to the middle of the rotations around its own that cost no link anything, so that
// it may stray either way.
void interleave_center(struct found *found, const struct cells *cells, struct weft_arena scratch);

// Lowers slack_ps of the group's jobs to what they may stray either way, one at a time, before a
// link of the group loses more than `loss` of its score; to half an angle.
void interleave_slack(uint64_t *slack_ps, const struct group *group,
                      const struct weft_snapshot *snapshot, const uint64_t *time_shift_ps,
                      double loss, struct weft_arena scratch);

#endif
