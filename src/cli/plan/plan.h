// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_PLAN_PLAN_H
#define WEFT_CLI_PLAN_PLAN_H

// weft plan and weft strategy: what they share. Both begin with a model and a cluster, which may
// stand as arguments or as options, and both print strategies. The functions that print are in
// strategy.c.

#include "cli/cli.h"
#include "weft/request/plan.h"

// Arguments that stand alone on a command line of that program.
struct cli_named {
    const char *const *names;
    uint32_t count;
    const char *program; // for messages
};
// A model and its cluster, where options do not name them already.
bool cli_name_model(struct weft_request_job *job, struct weft_request_hardware *hardware,
                    const struct cli_named *named, struct weft_error *error) WEFT_MUST_USE;
// What a plan is for: a model and its cluster, or the file of a job.
bool cli_plan_name(struct weft_plan_request *request, const char *const *names, uint32_t count,
                   struct weft_error *error) WEFT_MUST_USE;

// Strategies that were searched, as a table for transformers, else one after the other.
void cli_print_strategies(struct cli *cli, const struct weft_strategy_result *result);
// A line of memory: the fullest accelerator and what it holds.
void cli_print_memory(struct cli *cli, const struct weft_strategy *strategy,
                      double memory_limit_bytes);
// A table of operators; those that are placed alike are one row.
void cli_print_operators(struct cli *cli, const struct weft_strategy *strategy,
                         const char *const *names, uint32_t operator_count);

#endif
