// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REPORT_H
#define WEFT_REPORT_H

// Reports: results as text and pictures for people. Values in, text out; nothing here computes or
// prints.
//
//   plan, sim, traffic ──► [report] ──► cli

#include "weft/base.h"

// ---- tables ----

enum weft_align {
    WEFT_ALIGN_LEFT,  // words
    WEFT_ALIGN_RIGHT, // numbers
};

struct weft_table_column {
    const char *title;
    enum weft_align align;
};

// A table with a line of titles, columns two blanks apart, no line ending in a blank. cells holds
// row_count * column_count texts in rows; NULL is an empty cell. Widths are counted in UTF-8 code
// points. Control bytes become '?', so that a hostile name cannot break the table. O(bytes).
const char *weft_report_table(const struct weft_table_column *columns, uint32_t column_count,
                              const char *const *cells, uint32_t row_count,
                              struct weft_arena *arena);

// An n*n matrix as rows of characters, darker for larger: at most `side` rows and columns, each the
// largest value of the square it stands for. The scale is linear up to the largest value. O(n^2).
const char *weft_report_heat(const double *values, uint32_t count, uint32_t side,
                             struct weft_arena *arena);

#endif
