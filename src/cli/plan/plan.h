// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_PLAN_PLAN_H
#define WEFT_CLI_PLAN_PLAN_H

// weft plan and weft strategy: what they share. Both begin with a model and a cluster, which may
// stand as arguments or as options, and both print strategies. The functions that print are in
// strategy.c.

#include "cli/cli.h"
#include "weft/request/plan.h"

// Sorts the arguments of a model and its cluster into the options that say the same.
bool cli_place_arguments(struct cli *cli, const char *const *paths, uint32_t path_count)
    WEFT_MUST_USE;

// Strategies that were searched, as a table for transformers, else one after the other.
void cli_print_strategies(struct cli *cli, const struct weft_strategy_result *result);
// A line of memory: the fullest accelerator and what it holds.
void cli_print_memory(struct cli *cli, const struct weft_strategy *strategy,
                      double memory_limit_bytes);
// A table of operators; those that are placed alike are one row.
void cli_print_operators(struct cli *cli, const struct weft_strategy *strategy,
                         const char *const *names, uint32_t operator_count);

extern const struct cli_runner plan_runner;

#endif
