// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_COMPARE_H
#define WEFT_PLAN_COMPARE_H

// Rows of a comparison: what that of a task graph and that of a model share. Private to the plan
// room.

#include "weft/plan.h"

#define COMPARE_ROWS_MAX 32u

struct table {
    const struct weft_taskgraph *graph;
    const struct weft_cluster *cluster;
    const struct weft_plan_options *options;
    struct weft_comparison *rows; // COMPARE_ROWS_MAX
    uint32_t count;
    struct weft_arena *arena;
};

struct weft_comparison *compare_add_row(struct table *table, const char *name);
// The row's fabric cannot be had, for this reason.
void compare_refuse(struct table *table, struct weft_comparison *row,
                    const struct weft_error *error);
// Plays the table's graph on a network with its rings and fills the row.
void compare_measure(struct table *table, struct weft_comparison *row,
                     const struct weft_network *network, struct weft_arena scratch);
// A fabric rewired after its demand: optical switch ports for every server port.
void compare_reconfig(struct table *table, struct weft_comparison *row, struct weft_arena scratch);
// Fills every row's ratio to the ideal switch, where that has a row.
void compare_ratios(struct table *table);

#endif
