// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_COMPARE_COMPARE_H
#define WEFT_PLAN_COMPARE_COMPARE_H

// One job on every fabric that one could buy. Private to the plan room; docs/compare.md.
//
//   compare.c   a task graph: each fabric plays it
//   model.c ─► methods.c ─► fabrics.c ─► ranking.c, pool.c   a model: each fabric with the best
//   strategy for it
//
// A row is one fabric; what both sorts of comparison share is the table of rows.

#include "plan/joint/joint.h"

#define COMPARE_ROWS_MAX WEFT_COMPARISON_ROWS_MAX

struct table {
    const struct weft_taskgraph *graph;
    const struct weft_cluster *cluster;
    const struct weft_plan_options *options;
    struct weft_comparison *rows; // COMPARE_ROWS_MAX
    uint32_t count;
    const struct weft_environment *environment;
    struct weft_arena *arena; // what outlives the comparison
};

struct weft_comparison *compare_add_row(struct table *table, const char *name);
// The row's fabric cannot be had, for this reason.
void compare_refuse(struct table *table, struct weft_comparison *row,
                    const struct weft_error *error);
// Plays the table's graph on a network with its rings and fills the row.
void compare_measure(struct table *table, struct weft_comparison *row,
                     const struct weft_network *network, struct weft_arena scratch);
// The same for a plan's own job: what the plan says, digit for digit.
void compare_measure_plan(struct table *table, struct weft_comparison *row,
                          const struct weft_plan *plan, struct weft_arena scratch);
// A fabric rewired after its demand: optical switch ports for every server port.
void compare_reconfig(struct table *table, struct weft_comparison *row, struct weft_arena scratch);
// Runs `fill`, which fills rows; false when it was stopped. Rows that it has not come to say so
// then.
bool compare_until(bool (*fill)(void *context), void *context, struct table *table);
// Shows a row that is filled to whoever watches.
void compare_tell(const struct table *table, const struct weft_comparison *row);
// Fills every row's ratio to the ideal switch, where that has a row.
void compare_ratios(struct table *table);

// ---- a model: strategies in a pool, every one tried on every fabric ----

#define ENTRIES_MAX 80u
// Beyond so many servers a simulation takes so long that fewer strategies are tried.
#define COMPARE_MANY_SERVERS 64u

// A strategy in the pool with its task graph.
struct entry {
    struct weft_strategy strategy;
    const char *found_for; // the fabric whose search found it
    uint64_t key;
    struct weft_taskgraph graph;
};
// A reference fabric that wants its best strategy.
struct fabric_row {
    struct weft_comparison *row;
    struct weft_network *network;
    bool tours;    // its rings are tours of each graph's groups (weft_routing_tours)
    uint64_t best; // key of the best strategy of its own search; 0 = it found none
    double quick_s[ENTRIES_MAX];
    uint32_t evaluated; // entries before this one have their quick_s
};
// A comparison of one model.
struct comparison {
    struct table table;
    struct weft_study study; // without a network
    const struct weft_coplan_options *options;
    bool hybrid;
    struct entry *entries[ENTRIES_MAX];
    uint32_t entry_count;
    struct fabric_row *fabrics[COMPARE_ROWS_MAX];
    uint32_t fabric_count;
    struct weft_arena *kept; // until the comparison is done
};

// Adds a strategy unless the pool has it or its task graph cannot be built.
void compare_add_entry(struct comparison *run, const struct weft_strategy *strategy,
                       const char *found_for, struct weft_arena scratch);
void compare_add_data_parallel(struct comparison *run, struct weft_arena scratch);
// The strategy of a full mesh, as the paper's loop begins.
void compare_add_full_mesh(struct comparison *run, struct weft_arena scratch);

// Opens the row of a reference fabric; one that cannot be built says why.
void compare_add_fabric(struct comparison *run, const char *name, double budget_usd,
                        struct weft_arena scratch);
// The search of one fabric, which weft strategy makes alike: its best join the pool.
void compare_search_fabric(struct comparison *run, struct fabric_row *fabric,
                           struct weft_arena scratch);
// Small changes of the strategies of others that are best on a fabric, evaluated on it.
void compare_descend_fabric(struct comparison *run, struct fabric_row *fabric,
                            struct weft_arena scratch);
// Plays the finalists in full; the row is the best one's.
void compare_fill_row(struct comparison *run, struct fabric_row *fabric, struct weft_arena scratch);

// The rewired fabric's row.
void compare_fill_reconfig_row(struct comparison *run, struct weft_arena scratch);
// The paper's topology for the strategies that promise most.
void compare_fill_paper_row(struct comparison *run, struct weft_arena scratch);
// Weft's plan as it is, so that weft plan and weft compare give one answer.
void compare_fill_plan_row(struct comparison *run, const struct weft_plan *plan,
                           struct weft_arena scratch);

// What all entries take on one fabric by quick evaluation, and whether servers forward there.
struct compare_promise {
    const double *quick_s;
    bool direct;
};
#define COMPARE_CHOICES_MAX 6u
// Which entries the paper's method plans for: the first three (Weft's, those of a full mesh and of
// data parallelism), the two that promise most on any fabric, and the one that does on direct
// fabrics, which are like those planned. Returns how many.
uint32_t compare_choose(uint32_t *chosen, const struct compare_promise *promises,
                        uint32_t fabric_count, uint32_t entry_count);

// What strategies descend on: a network that stands, whose rings, with `tours`, are tours of each
// strategy's groups.
struct compare_ground {
    const struct weft_study *study; // without a network
    const struct weft_sim_options *sim;
    const struct weft_environment *environment;
    struct weft_network *network;
    bool tours;
};
// Descends (plan/joint/descent.h) from *strategy, whose end takes its place, in `arena`;
// *iteration_s is what it takes, HUGE_VAL where it cannot be evaluated. Returns the work units.
double compare_descend(struct weft_strategy *strategy, double *iteration_s,
                       const struct compare_ground *ground, double work_units,
                       struct weft_arena *arena, struct weft_arena scratch);

#endif
