// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_NUMBERS_H
#define WEFT_FORMAT_NUMBERS_H

// Tables of plain numbers: a row a line, words apart by white space, lines that begin with '#' left
// out. Matrices of demand and arcs of rings are such tables (docs/circuits.md).

#include "weft/base.h"

WEFT_API_BEGIN

struct weft_numbers {
    uint32_t rows;
    uint32_t columns;
    const double *values; // rows * columns, row by row
};

// Reads a table of `columns` columns, or of as many as rows where that is 0 (a square matrix).
// Every number is within [0, 1e15]. Fails with INPUT naming line and column. O(bytes).
bool weft_numbers_read(struct weft_numbers *numbers, const char *data, size_t length,
                       uint32_t columns, struct weft_arena *arena, struct weft_error *error)
    WEFT_MUST_USE;
bool weft_numbers_load(struct weft_numbers *numbers, const char *path, uint32_t columns,
                       struct weft_arena *arena, struct weft_arena scratch,
                       struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
