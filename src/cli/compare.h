// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SRC_CLI_COMPARE_H
#define WEFT_SRC_CLI_COMPARE_H

// What weft compare is asked, and its part for models.

#include "cli.h"
#include "weft/plan.h"

#define COMPARE_LIST_MAX 16u

struct compare_request {
    struct cli *cli;
    const char *path; // a task graph; with --model, the cluster
    // Lists; count 0 = what the cluster or the model says.
    uint32_t degree_count;
    uint32_t degrees[COMPARE_LIST_MAX];
    uint32_t rate_count;
    double rates_Bps[COMPARE_LIST_MAX];
    uint32_t batch_count;
    uint64_t batches[COMPARE_LIST_MAX];
    uint32_t fabric_count;
    const char *fabrics[COMPARE_LIST_MAX];
    bool variants;
    const char *profiles_path; // a folder
    const char *plot_path;
    const char *tax_plot_path;
    const char *resume_path;
    bool model_option_given; // one of those above
};

// The options of a comparison of models, as argp takes them.
extern const struct argp_option compare_model_options[];
error_t compare_parse_model(int key, char *argument, struct compare_request *request);
// Compares the models of --model.
bool compare_models(struct compare_request *request) WEFT_MUST_USE;

// Picks from a folder the first profile, by name, that measured every operator of the model with
// its batch, for so many servers. NULL where none did: *path is then NULL, too.
bool compare_find_profile(const struct weft_profile **profile, const char *folder,
                          const struct weft_model *model, uint32_t server_count, struct cli *cli)
    WEFT_MUST_USE;

#endif
