// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SRC_INTERLEAVE_BOUND_H
#define WEFT_SRC_INTERLEAVE_BOUND_H

// A bound on the excess of one circle from which loads can come together.
//
// With a worth mu for each load of each job, and any set K of loads at one cell (one a job at
// most), let nu = max over K of (sum of mu over K - excess of K). A load that fills m cells brings
// m * mu, and no cell takes more than nu beyond its excess: the excess is at least
// sum m * mu - nu * cells. mu comes from the linear program that makes this largest for the whole
// circle; where some jobs are placed, nu of a cell is over sets that hold what is placed there.
// A cell's set is a number, its code: digits are the loads of jobs in the order of placement.

#include "cells.h"

struct load_bound {
    bool usable;
    uint32_t *stride;     // per piece: of its digit; 0 = not on the circle
    const double **mu;    // per piece: of its loads
    const double **worth; // per depth: nu by the code of what is placed
    const double **asks;  // per depth, per cut: sum of m * mu over pieces from there on
};

// For pieces placed in this order. Not usable where there are more than 4096 sets.
void load_bound_build(struct load_bound *bound, const struct cells *cells, uint32_t circle,
                      const uint32_t *order, struct weft_arena *arena, struct weft_arena scratch);

#endif
