// SPDX-License-Identifier: Apache-2.0
// weft strategy: the strategies of a model on a given fabric, by the searches' own estimate.

#include "plan.h"

#include "weft/format.h"

#include <math.h>
#include <string.h>

#define KEEP_OPERATORS 1u
#define KEEP_HYBRID 8u
#define KEEP_MAX 1000u
#define SECONDS_DEFAULT 5.0
#define SECONDS_LEAST 1e-9
// Larger clusters are not simulated.
#define SIMULATED_SERVERS_MAX 128u

enum { KEY_FABRIC = 1, KEY_KEEP, KEY_STRATEGY };

static const struct argp_option options[] = {
    {"fabric", KEY_FABRIC, "F", 0,
     "the fabric (full-mesh: every pair joined); weft simulate --fabrics lists the others", 0},
    {"keep", KEY_KEEP, "K", 0, "tell the K best (1; transformers: 8)", 0},
    {"strategy", KEY_STRATEGY, "WORDS", 0,
     "of a transformer: not a search but this one, as tp=8,pp=4,micro=2,recompute=selective", 0},
    {"seconds", KEY_STRATEGY + 1, "S", 0, "effort of the search, counted in work (5)", 0},
    {0},
};

static const char doc[] =
    "Searches how the operators of a model are split and placed on the servers of a cluster, or of "
    "a transformer, the degrees of data, tensor, pipeline, expert and context parallelism; on one "
    "fabric that stays as it is. weft plan chooses the fabric together with the strategy.\v"
    "Times are estimates of the search's own model of the network; on a fabric of --fabric, up to "
    "128 servers, the flow engine's time stands beside. What does not fit into memory is never "
    "told. Of transformers the columns say where the time goes.\n"
    "\n"
    "Examples:\n"
    "  $ weft strategy dlrm-16 examples/clusters/16x4-100g.yaml\n"
    "  $ weft strategy candle-16 cluster.yaml --profile candle16.json --fabric ideal --json\n"
    "  $ weft strategy gpt-18.4b cluster.yaml --keep 20\n"
    "  $ weft strategy gpt-18.4b cluster.yaml --strategy tp=8,pp=1,micro=4\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct strategy_request *request = state->input;
    struct cli *cli = request->cli;
    error_t failed;
    switch (key) {
    case KEY_FABRIC:
        request->fabric = argument;
        return 0;
    case KEY_KEEP:
        return cli_count(cli, &request->keep, "keep", argument, 1, KEEP_MAX);
    case KEY_STRATEGY:
        return cli_take(cli, &request->words, argument, "strategy");
    case KEY_STRATEGY + 1:
        failed = cli_value(
            cli, weft_parse_number(&cli->search.seconds, argument, 0, 1e6, &cli->error), "seconds");
        // 0 is the shortest search, not the default.
        cli->search.seconds = fmax(cli->search.seconds, SECONDS_LEAST);
        return failed;
    case ARGP_KEY_ARG:
        if (request->path_count == 2) {
            return cli_usage(cli, "'%.100s' is one argument too many; see %s --help", argument,
                             cli->program);
        }
        request->paths[request->path_count++] = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// ---- finding ----

// The fabric of --fabric; NULL for a full mesh, which the searches stand in for.
static bool build_network(struct strategy_request *request)
{
    struct cli *cli = request->cli;
    if (request->fabric == NULL || strcmp(request->fabric, "full-mesh") == 0) {
        request->fabric = "full-mesh";
        return true;
    }
    struct weft_fabric_options shape = {.seed = cli->seed};
    request->network = WEFT_NEW(&cli->arena, struct weft_network, 1);
    return weft_fabric_build_named(request->network, request->fabric, &request->cluster, &shape,
                                   &cli->arena, cli->scratch, &cli->error) ||
           weft_wrap(&cli->error, "--fabric");
}

bool strategy_from_words(struct weft_strategy *strategy, struct cli *cli,
                         const struct weft_model *model, const struct weft_cluster *cluster,
                         const char *words)
{
    if (model->transformer == NULL) {
        return cli_misuse(cli, "--strategy is for transformers; %s has operators of its own",
                          model->name);
    }
    *strategy =
        (struct weft_strategy){.kind = WEFT_STRATEGY_HYBRID, .server_count = cluster->server_count};
    uint32_t accelerators = cluster->server_count * cluster->accelerators_per_server;
    const struct weft_hybrid *hybrid = &strategy->hybrid;
    if (!weft_hybrid_parse(&strategy->hybrid, words, accelerators, &cli->error)) {
        return weft_wrap(&cli->error, "--strategy");
    }
    // Degrees are at most 2^10, dp at most 2^24: no overflow. More than there are is found later.
    uint64_t used = (uint64_t)hybrid->dp * hybrid->tp * hybrid->pp * hybrid->cp;
    return used >= accelerators ||
           weft_fail(&cli->error, WEFT_INPUT,
                     "--strategy: dp: dp * tp * pp * cp = %llu leave some of the %u accelerators "
                     "idle; leave dp out, or use fewer --servers",
                     (unsigned long long)used, accelerators);
}

static bool take_words(struct strategy_request *request)
{
    struct cli *cli = request->cli;
    struct weft_candidate *candidate = WEFT_NEW(&cli->arena, struct weft_candidate, 1);
    struct weft_hybrid_estimate estimate;
    if (!strategy_from_words(&candidate->strategy, cli, &request->model, &request->cluster,
                             request->words) ||
        !weft_strategy_memory(&candidate->strategy,
                              &(struct weft_study){.model = &request->model,
                                                   .cluster = &request->cluster,
                                                   .setting = &request->setting},
                              &cli->arena, cli->scratch, &cli->error) ||
        !weft_hybrid_estimate(&estimate, &candidate->strategy.hybrid,
                              &(struct weft_study){.model = &request->model,
                                                   .cluster = &request->cluster,
                                                   .network = request->network,
                                                   .setting = &request->setting},
                              cli->scratch, &cli->error)) {
        return false;
    }
    candidate->estimate_ps = estimate.iteration_ps;
    request->found = (struct weft_search_result){1, candidate, 1};
    return true;
}

static bool search(struct strategy_request *request)
{
    struct cli *cli = request->cli;
    uint32_t usual = request->hybrid ? KEEP_HYBRID : KEEP_OPERATORS;
    weft_stop stop = cli_clock_start(cli, "searching", 0);
    const struct weft_search_options wanted = {
        .method = cli->job.method,
        .seconds = cli->search.seconds > 0 ? cli->search.seconds : SECONDS_DEFAULT,
        .evaluations = cli->job.budget,
        .seed = cli->seed,
        .threads = cli->threads,
        .keep = request->keep > 0 ? request->keep : usual,
        .stop = stop,
        .progress_ps = &cli->environment.progress.best_ps,
    };
    bool found = request->hybrid
                     ? weft_hybrid_search(&request->found,
                                          &(struct weft_study){.model = &request->model,
                                                               .cluster = &request->cluster,
                                                               .network = request->network,
                                                               .setting = &request->setting},
                                          &wanted, &cli->arena, cli->scratch, &cli->error)
                     : weft_strategy_search(&request->found,
                                            &(struct weft_study){.model = &request->model,
                                                                 .cluster = &request->cluster,
                                                                 .network = request->network,
                                                                 .setting = &request->setting},
                                            &wanted, &cli->arena, cli->scratch, &cli->error);
    cli_clock_stop(cli);
    return found;
}

// What the flow engine says on the fabric asked for; 0 where it was not asked.
static void simulate(struct strategy_request *request)
{
    struct cli *cli = request->cli;
    request->simulated_ps = WEFT_NEW(&cli->arena, uint64_t, (size_t)request->found.count + 1);
    if (request->network == NULL || request->cluster.server_count > SIMULATED_SERVERS_MAX) {
        return;
    }
    const struct weft_sim_options packets = weft_request_task_packets(cli->seed);
    for (uint32_t i = 0; i < request->found.count; i++) {
        struct weft_arena arena = cli->arena; // of one simulation
        struct weft_taskgraph graph;
        struct weft_sim_result result;
        struct weft_error error; // then the estimate has to do
        if (weft_strategy_taskgraph(&graph, &request->found.candidates[i].strategy,
                                    &(struct weft_study){.model = &request->model,
                                                         .cluster = &request->cluster,
                                                         .setting = &request->setting},
                                    &arena, cli->scratch, &error)) {
            const struct weft_sim_job job = {.graph = &graph};
            request->simulated_ps[i] =
                weft_sim_run_jobs(&result, &request->network->fabric, &request->network->routes,
                                  &job, 1, &packets, &arena, cli->scratch, &error)
                    ? result.iteration_ps[0]
                    : 0;
        }
    }
}

bool strategy_run(struct strategy_request *request)
{
    request->hybrid = request->model.transformer != NULL && request->setting.cost.profile == NULL;
    if (!build_network(request) ||
        !(request->words != NULL ? take_words(request) : search(request))) {
        return false;
    }
    simulate(request);
    if (request->cli->json) {
        strategy_tell_json(request);
    } else {
        strategy_tell(request);
    }
    return true;
}

static bool run(struct strategy_request *request)
{
    struct cli *cli = request->cli;
    if (!cli_can_write(cli, cli->output_path) ||
        !plan_place_arguments(cli, request->paths, request->path_count) ||
        !cli_job_model(&request->model, cli) || !cli_cluster(&request->cluster, cli, 1, 0, false) ||
        !cli_setting(&request->setting, cli, &request->model, &request->cluster)) {
        return false;
    }
    cli_note_search(cli, &request->model, &request->setting);
    cli_note_batch(cli, &request->model, &request->cluster, &request->setting);
    return strategy_run(request);
}

int cli_strategy(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft strategy",
        .arguments = "MODEL CLUSTER.yaml",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_JOB | CLI_HARDWARE,
    };
    struct cli cli;
    struct strategy_request request = {.cli = &cli};
    bool fine = cli_parse(&cli, &verb, argc, argv, &request) && run(&request);
    return cli_finish(&cli, fine);
}
