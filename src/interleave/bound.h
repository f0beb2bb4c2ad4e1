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
// comes to a cell, rest is the smallest over what may come. What is known of a cell is a number,
// its code: one digit a job, 0 for absent, i + 1 for its load i, the largest for open.

#include "cells.h"

struct rest_table {
    uint32_t *stride; // per piece: of its digit; 0 = not on the circle
    double least;
    const double *cut_least; // per cut: its part of `least`, per weight of a cell of it
    const double *rest;      // by code
    uint32_t code_count;
};

// False where there are more than `code_max` codes.
bool rest_table_build(struct rest_table *table, const struct cells *cells, uint32_t circle,
                      uint32_t code_max, struct weft_arena *arena, struct weft_arena scratch);
// The code of a cell of which nothing is known.
uint32_t rest_table_open(const struct rest_table *table, const struct cells *cells,
                         uint32_t circle);

#endif
