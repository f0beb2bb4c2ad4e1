// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SRC_INTERLEAVE_BOUND_H
#define WEFT_SRC_INTERLEAVE_BOUND_H

// A bound on the excess of one circle from which loads can come together.
//
// With a worth mu for each load of each job, and any set K of loads at one cell (one a job at
// most), let nu = max over K of (sum of mu over K - excess of K). A load that fills a share m of
// the circle brings m * mu, and no cell takes more than nu beyond its excess, so that
//
//     excess = least + sum over cells of rest(K),   least = sum m * mu - nu,
//     rest(K) = excess of K - sum of mu over K + nu  >=  0 .
//
// mu comes from the linear program that makes `least` largest. Where it is open whether a job
// comes to a cell, rest is the smallest over what may come. `least` holds for any shifts, by whole
// angles or not: none changes what share of the circle a load fills. What is known of a cell is a
// number, its code: one digit a job, 0 for absent, i + 1 for its load i, the largest for open.

#include "cells.h"

struct rest_table {
    uint32_t *stride; // per piece: of its digit; 0 = not on the circle
    double least;
    const double *cut_least; // per cut: its part of `least`, per weight of a cell of it
    const double *rest;      // by code
    uint32_t code_count;
};

// Of each circle of a group: its table, or NULL where all of them together would be too large.
const struct rest_table **rest_tables_build(const struct cells *cells, struct weft_arena *arena,
                                            struct weft_arena scratch);
// The code of a cell of which nothing is known.
uint32_t rest_table_open(const struct rest_table *table, const struct cells *cells,
                         uint32_t circle);

// ---- searches that use it ----

// The least excess of one circle, along its angles; sets bound and proved, and value and rotations
// where they are better. For few jobs of one iteration time with short bursts.
void interleave_sweep(struct found *found, const struct cells *cells,
                      const struct rest_table *const *tables, const struct search_limits *limits,
                      struct weft_arena scratch);
// Branch and bound from what `found` holds.
void interleave_prove(struct found *found, const struct cells *cells,
                      const struct rest_table *const *tables, const struct search_limits *limits,
                      struct weft_arena scratch);

#endif
