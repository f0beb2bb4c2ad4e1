// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TRAIN_PRODUCT_H
#define WEFT_TRAIN_PRODUCT_H

// Products of matrices, where all time of training goes.

#include "weft/base.h"

// Columns are taken so many at a time: rows that are read are as long as the next multiple.
#define PRODUCT_COLUMNS 16u

// c[i][j] = start[i] + sum over k of a[i * a_row + k * a_step] * rows[k][j], with k ascending. Rows
// stand anywhere, so that a convolution needs no copy of its windows.
struct product {
    float *c;
    size_t c_row;
    const float *start; // NULL: 0
    const float *a;
    size_t a_row, a_step;
    const float *const *rows;
    uint32_t height, width, depth;
};
void product_run(const struct product *product);

// Sums of products along runs: c[i * c_row] = sum over r and j of a[i][r][j] * b[r][j], j below
// `length`, a multiple of 8. Eight partial sums are added at the end.
struct product_dots {
    float *c;
    size_t c_row;
    const float *a;
    size_t a_row; // from i to i + 1
    size_t a_run; // from r to r + 1
    const float *b;
    size_t b_run;
    uint32_t height, runs, length;
};
void product_dots(const struct product_dots *dots);

#endif
