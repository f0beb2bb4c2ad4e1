// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_PLAN_H
#define WEFT_CLI_PLAN_H

// weft plan and weft strategy: what their files share. plan.c parses and says plans, plan_model.c
// begins with a model, strategy.c searches strategies alone, strategy_tell.c says them.

#include "cli/cli.h"
#include "weft/plan.h"

struct plan_request {
    struct cli *cli;
    const char *paths[2]; // a task graph; or a model and a cluster
    uint32_t path_count;
    const char *report_path;
    enum weft_plan_collectives collectives;
    // From a model only.
    enum weft_coplan_variant variant;
    bool all_variants;
    bool model_option_given;
    uint32_t rounds;
    const char *words; // one hybrid strategy instead of a search
};

// One more argument.
error_t plan_take_path(struct plan_request *request, const char *path);
// Whether the arguments name a model and not a task graph.
bool plan_begins_with_model(const struct plan_request *request);
// Sorts the arguments of a model and its cluster into the options that say the same.
bool plan_place_arguments(struct cli *cli, const char *const *paths, uint32_t path_count)
    WEFT_MUST_USE;
bool plan_model(const struct plan_request *request) WEFT_MUST_USE;

// The page of a plan; `model` and `setting` are NULL for a plan of a task graph.
bool plan_save_report(const struct plan_request *request, const struct weft_plan *plan,
                      const struct weft_taskgraph *graph, const struct weft_model *model,
                      const struct weft_strategy_setting *setting) WEFT_MUST_USE;
// Writes the plan file, then says the plan.
bool plan_publish(const struct plan_request *request, const struct weft_plan *plan) WEFT_MUST_USE;

// A search of strategies alone.
struct strategy_request {
    struct cli *cli;
    const char *paths[2];
    uint32_t path_count;
    const char *fabric; // NULL = full mesh
    const char *words;  // one hybrid strategy instead of a search
    uint32_t keep;      // 0 = the default
    struct weft_model model;
    struct weft_cluster cluster;
    struct weft_strategy_setting setting;
    // What follows.
    bool hybrid;
    struct weft_network *network; // NULL = full mesh
    struct weft_search_result found;
    uint64_t *simulated_ps; // per candidate; 0 = not simulated
};
// Searches and says what was found; model, cluster and setting are filled.
bool strategy_run(struct strategy_request *request) WEFT_MUST_USE;
void strategy_tell(const struct strategy_request *request);
void strategy_tell_json(const struct strategy_request *request);
// A hybrid strategy as --strategy spells it.
bool strategy_from_words(struct weft_strategy *strategy, struct cli *cli,
                         const struct weft_model *model, const struct weft_cluster *cluster,
                         const char *words) WEFT_MUST_USE;

// The strategy of a plan, its memory, and what the loop did.
void strategy_tell_job(struct cli *cli, const struct weft_plan_job *job);
// A line of memory: the fullest accelerator and what it holds.
void strategy_tell_memory(struct cli *cli, const struct weft_strategy *strategy,
                          double memory_limit_bytes);
// A table of operators, those that are placed alike joined.
void strategy_tell_operators(struct cli *cli, const struct weft_strategy *strategy,
                             const char *const *names, uint32_t operator_count);

extern const struct cli_runner plan_runner;

#endif
