// SPDX-License-Identifier: Apache-2.0
// weft plan MODEL CLUSTER: strategy and fabric of a model together.

#include "plan.h"

#include "weft/format.h"

#include <string.h>

error_t plan_take_path(struct plan_request *request, const char *path)
{
    if (request->path_count == 2) {
        return cli_usage(request->cli, "'%.100s' is one argument too many; see %s --help", path,
                         request->cli->program);
    }
    request->paths[request->path_count++] = path;
    return 0;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);
    size_t end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

bool plan_begins_with_model(const struct plan_request *request)
{
    const char *first = request->paths[0];
    bool named = strpbrk(first, "./-") == NULL || ends_with(first, ".yaml") ||
                 ends_with(first, ".yml") || weft_request_in_zoo(first);
    return request->cli->job.model != NULL || request->path_count == 2 || named;
}

bool plan_place_arguments(struct cli *cli, const char *const *paths, uint32_t path_count)
{
    uint32_t at = 0;
    if (cli->job.model == NULL && at < path_count) {
        cli->job.model = paths[at++];
    }
    if (cli->job.model == NULL) {
        return cli_misuse(cli, "which model? write %s MODEL CLUSTER.yaml; weft models lists them",
                          cli->program);
    }
    if (at < path_count) {
        if (cli->hardware.cluster_path != NULL) {
            return cli_misuse(cli, "one cluster only, not '%.100s' and --cluster", paths[at]);
        }
        cli->hardware.cluster_path = paths[at++];
    }
    if (at < path_count) {
        return cli_misuse(cli, "'%.100s' is one argument too many; see %s --help", paths[at],
                          cli->program);
    }
    if (cli->hardware.cluster_path == NULL) {
        return cli_misuse(cli, "on which cluster? write %s %s CLUSTER.yaml", cli->program,
                          cli->job.model);
    }
    return true;
}

// What cannot be simulated is answered as weft strategy does, on a full mesh: without a fabric.
static bool answer_by_estimate(const struct plan_request *request, const struct weft_model *model,
                               const struct weft_cluster *cluster,
                               const struct weft_strategy_setting *setting)
{
    struct cli *cli = request->cli;
    cli_note(cli, "%s; this is an estimate of the strategy, without a fabric", cli->error.message);
    cli->error = (struct weft_error){.code = WEFT_OK};
    struct strategy_request strategy = {.cli = cli,
                                        .words = request->words,
                                        .model = *model,
                                        .cluster = *cluster,
                                        .setting = *setting};
    return strategy_run(&strategy);
}

bool plan_model(const struct plan_request *request)
{
    struct cli *cli = request->cli;
    struct weft_model model;
    struct weft_cluster cluster;
    struct weft_strategy_setting setting;
    if (!plan_place_arguments(cli, request->paths, request->path_count) ||
        !cli_job_model(&model, cli) || !cli_cluster(&cluster, cli, 1, 0, false) ||
        !cli_setting(&setting, cli, &model, &cluster)) {
        return false;
    }
    cli_note_search(cli, &model, &setting);
    cli_note_batch(cli, &model, &cluster, &setting);
    struct weft_strategy given;
    if (request->words != NULL &&
        !strategy_from_words(&given, cli, &model, &cluster, request->words)) {
        return false;
    }
    uint32_t plans = request->all_variants ? WEFT_COPLAN_VARIANT_COUNT : 1;
    weft_stop stop = cli_clock_start(cli, "planning", plans * cli_deadline_s(cli));
    const struct weft_coplan_options options = {
        .variant = request->variant,
        .all_variants = request->all_variants,
        .rounds = request->rounds,
        .given = request->words != NULL ? &given : NULL,
        .seconds = cli->search.seconds,
        .search = {.method = cli->job.method,
                   .evaluations = cli->job.budget,
                   .seed = cli->seed,
                   .threads = cli->threads,
                   .stop = stop},
        .plan = {.topology = cli_topology_options(cli, stop),
                 .sim = weft_request_task_packets(cli->seed),
                 .collectives = request->collectives},
        .best_ps = &cli->environment.progress.best_ps,
        .bound_ps = &cli->environment.progress.bound_ps,
    };
    struct weft_plan *plan = WEFT_NEW(&cli->arena, struct weft_plan, 1);
    bool planned = weft_coplan_build(plan, &model, &cluster, &setting, &options, &cli->arena,
                                     cli->scratch, &cli->error);
    cli_clock_stop(cli);
    cli->environment.progress.best_ps = WEFT_NEVER;
    if (!planned && cli->error.code == WEFT_UNSUPPORTED && model.transformer != NULL) {
        return answer_by_estimate(request, &model, &cluster, &setting);
    }
    if (!planned) {
        return false;
    }
    if (request->report_path != NULL &&
        !plan_save_report(request, plan, &plan->job->graph, &model, &setting)) {
        return false;
    }
    return plan_publish(request, plan);
}
