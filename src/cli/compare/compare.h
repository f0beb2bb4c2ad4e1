// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SRC_CLI_COMPARE_H
#define WEFT_SRC_CLI_COMPARE_H

// The options of weft compare, and its part for models: both parts parse into one struct, because
// whether the first argument is a task graph or a cluster is known only when --model was seen or
// all arguments are read.

#include "cli/cli.h"
#include "cli/plan/buy.h"
#include "weft/request/compare.h"

struct compare_options {
    struct cli *cli;
    const char *path;    // a task graph; with --model, the cluster; or a model
    const char *cluster; // of a model without --model
    struct cli_buy buy;  // then
    struct weft_compare_models_request models;
    const char *plot_path;
    const char *tax_plot_path;
    uint64_t dark_ps;        // of ocs-reconfig; 0 = its default
    bool model_option_given; // one that only models take
};

// The options of a comparison of models, as argp takes them.
extern const struct argp_option compare_model_options[];
error_t compare_parse_model(int key, char *argument, struct compare_options *input);
// Compares the models of --model.
bool compare_models(struct compare_options *input) WEFT_MUST_USE;
// Answers for a model on fabrics that one buys: MODEL CLUSTER.yaml.
bool compare_bought(struct compare_options *input) WEFT_MUST_USE;

#endif
