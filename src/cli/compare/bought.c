// SPDX-License-Identifier: Apache-2.0
// weft compare MODEL CLUSTER.yaml: what to buy for a model. The lists of fabrics and batches that
// --model takes, too, become a request of weft/request/buy.h, which weft plan --fabric asks. What
// that prints is in src/cli/plan/buy.c.

#include "cli/plan/plan.h"
#include "compare.h"

// Batches of the request are as large as those of a list of parameters.
static bool take_batches(struct compare_options *input)
{
    struct cli *cli = input->cli;
    uint32_t count = input->models.batch_count;
    uint32_t *values = WEFT_NEW(&cli->arena, uint32_t, WEFT_COMPARE_LIST_MAX);
    for (uint32_t i = 0; i < count; i++) {
        if (input->models.batches[i] > UINT32_MAX) {
            return cli_misuse(cli, "--batches: at most %u samples", UINT32_MAX);
        }
        values[i] = (uint32_t)input->models.batches[i];
    }
    input->buy.request.batches = (struct weft_count_list){count, values};
    return true;
}

bool compare_bought(struct compare_options *input)
{
    struct cli *cli = input->cli;
    struct cli_given *given = &cli->given;
    const struct weft_compare_models_request *models = &input->models;
    const struct weft_stated listed[] = {
        {models->degree_count > 0, "degrees"},
        {models->rate_count > 0, "rates"},
        {models->variants, "variants"},
        {models->profiles_path != NULL, "profiles"},
        {input->plot_path != NULL && input->buy.request.dark_times.count < 2, "plot"},
        {input->tax_plot_path != NULL, "plot-tax"},
        {models->resume_path != NULL, "resume"},
        {input->dark_ps > 0, "dark"},
        {given->search.method != WEFT_TOPOLOGY_WEFT, "method"},
        {given->search.simplex, "simplex"},
        {NULL},
    };
    if (!weft_refuse_stated(listed, &cli->error,
                            "is of comparisons that --model NAME makes; leave it out, or write "
                            "--model %.60s",
                            input->path) ||
        !weft_request_refuse_trace(&given->trace, &cli->error) ||
        !weft_request_refuse_published(&given->search, &cli->error) || !take_batches(input)) {
        return false;
    }
    if (input->cluster != NULL && given->hardware.cluster_path != NULL) {
        return cli_misuse(cli, "one cluster only, not '%.100s' and --cluster", input->cluster);
    }
    if (input->cluster != NULL) {
        given->hardware.cluster_path = input->cluster;
    }
    const struct cli_named named = {&input->path, 1, cli->program};
    if (!cli_name_model(&given->job, &given->hardware, &named, &cli->error)) {
        return false;
    }
    static const char *const with_moving[] = {"ideal",   "fat-tree",       "rail-only",
                                              "topoopt", "photonic-rails", "mixnet",
                                              "sip-ocs", "sip-ring"};
    struct weft_buy_fabrics *fabrics = &input->buy.request.fabrics;
    *fabrics = (struct weft_buy_fabrics){models->fabric_count, models->fabrics};
    if (fabrics->count == 0 && input->buy.request.dark_times.count > 0) {
        *fabrics =
            (struct weft_buy_fabrics){sizeof with_moving / sizeof with_moving[0], with_moving};
    }
    input->buy.request.own = true;
    input->buy.plot_path = input->plot_path;
    return cli_buy_run(cli, &input->buy);
}
