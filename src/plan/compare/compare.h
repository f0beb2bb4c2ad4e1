// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_COMPARE_COMPARE_H
#define WEFT_PLAN_COMPARE_COMPARE_H

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

// What all entries take on one fabric by quick judgement, and whether servers forward there.
struct compare_promise {
    const double *quick_s;
    bool direct;
};

#define COMPARE_TRIALS_MAX 6u
// Which entries both methods plan for: the first three (Weft's, those of a full mesh and of data
// parallelism), the two that promise most on any fabric, and the one that does on direct fabrics,
// which are like those planned. Returns how many.
uint32_t compare_trials(uint32_t *trials, const struct compare_promise *promises,
                        uint32_t field_count, uint32_t entry_count);

// What strategies descend on: a network that stands, whose rings, with `tours`, are tours of each
// strategy's groups.
struct compare_ground {
    const struct weft_model *model;
    const struct weft_cluster *cluster;
    const struct weft_strategy_setting *setting;
    const struct weft_coplan_options *options;
    struct weft_network *network;
    bool tours;
};
// Descends (descent.h) from *strategy, whose end takes its place, in `arena`; *iteration_s is what
// it takes, HUGE_VAL where it cannot be judged. Returns the work units.
double compare_descend(struct weft_strategy *strategy, double *iteration_s,
                       const struct compare_ground *ground, double work_units,
                       struct weft_arena *arena, struct weft_arena scratch);

#endif
