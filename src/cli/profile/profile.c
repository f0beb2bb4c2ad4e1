// SPDX-License-Identifier: Apache-2.0
// weft profile: what each operator of a model costs, and how that is known.

#include "profile.h"
#include "cli/cli.h"
#include "weft/format.h"

#include <string.h>

enum { KEY_ACCELERATOR = 1, KEY_ACCELERATORS, KEY_BATCH, KEY_CLUSTER, KEY_PROFILE, KEY_SERVERS };

static const struct argp_option options[] = {
    {"cluster", KEY_CLUSTER, "FILE.yaml", 0, "servers and accelerators from a cluster file", 0},
    {"servers", KEY_SERVERS, "N", 0, "servers that share the job", 0},
    {"accelerator", KEY_ACCELERATOR, "NAME", 0,
     "V100, A100-40GB, A100 (80 GB), H100, H200 or B200; default A100", 0},
    {"accelerators", KEY_ACCELERATORS, "N", 0, "accelerators a server; default 4", 0},
    {"batch", KEY_BATCH, "N", 0, "samples of one iteration, all servers together", 0},
    {"profile", KEY_PROFILE, "FILE.json", 0, "measured times, which win over the roofline", 0},
    {0},
};

static const char doc[] =
    "Says what each operator of a model costs on one server, and where the figure comes from: "
    "measured (--profile) or the roofline of the accelerator. -o writes a profile of every "
    "operator in every split: put your own measurements into it and hand it back with --profile.\v"
    "A split is sample parts x parameter parts; a server's accelerators share a part by samples, "
    "tables by columns. The table shows data parallelism, the JSON every split. limit is what the "
    "roofline is made of most: flops, memory or launch (of kernels). TFLOP/s is what one "
    "accelerator reaches forward and backward. With --profile, roofline/measured says how far the "
    "roofline is from the measurement, forward and backward: 1 is right, 0.5 promises half of the "
    "time. docs/costs.md has the method and its accuracy.\n"
    "\n"
    "Examples:\n"
    "  $ weft profile dlrm-16 --servers 16\n"
    "  $ weft profile vgg16-16 --cluster cluster.yaml -o profile.json\n"
    "  $ weft profile vgg16-16 --cluster cluster.yaml --profile profile.json --json\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct profile_request *request = state->input;
    struct cli *cli = request->cli;
    switch (key) {
    case KEY_CLUSTER:
        return cli_take(cli, &request->cluster_path, argument, "cluster");
    case KEY_SERVERS:
        return cli_count(cli, &request->server_count, "servers", argument, 1,
                         WEFT_CLUSTER_SERVERS_MAX);
    case KEY_ACCELERATOR:
        return cli_value(cli,
                         weft_accelerator_named(&request->costs.accelerator, argument, &cli->error),
                         "accelerator");
    case KEY_ACCELERATORS:
        return cli_count(cli, &request->costs.accelerators_per_server, "accelerators", argument, 1,
                         4096);
    case KEY_BATCH:
        return cli_value(
            cli, weft_parse_count(&request->batch, argument, 1, (uint64_t)1 << 40, &cli->error),
            "batch");
    case KEY_PROFILE:
        return cli_take(cli, &request->profile_path, argument, "profile");
    case ARGP_KEY_ARG:
        return cli_take(cli, &request->model_name, argument, "model");
    case ARGP_KEY_NO_ARGS:
        return cli_usage(cli, "which model? write %s dlrm-16 --servers 16; weft models lists them",
                         cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// ---- what is asked about ----

static bool load_cluster(struct profile_request *request)
{
    struct cli *cli = request->cli;
    struct weft_cluster cluster = {.accelerator = ""};
    if (request->cluster_path != NULL &&
        !weft_cluster_load(&cluster, request->cluster_path, &cli->arena, &cli->error)) {
        return false;
    }
    struct weft_cost_options *costs = &request->costs;
    if (request->server_count == 0) {
        request->server_count = cluster.server_count;
    }
    if (costs->accelerators_per_server == 0) {
        costs->accelerators_per_server = cluster.accelerators_per_server;
    }
    if (costs->accelerators_per_server == 0) {
        costs->accelerators_per_server = 4;
    }
    if (costs->accelerator != NULL) {
        return true;
    }
    const char *name = cluster.accelerator[0] != '\0' ? cluster.accelerator : "A100";
    return weft_accelerator_named(&costs->accelerator, name, &cli->error) ||
           weft_wrap(&cli->error, "%s: accelerators: kind (or choose by --accelerator)",
                     request->cluster_path);
}

static bool load(struct profile_request *request)
{
    struct cli *cli = request->cli;
    if (!cli_model(&request->model, cli, request->model_name) ||
        (request->batch > 0 &&
         !weft_model_set_batch(&request->model, request->batch, &cli->error)) ||
        !load_cluster(request)) {
        return false;
    }
    if (request->profile_path != NULL) {
        if (!weft_profile_load(&request->given, request->profile_path, &cli->arena, &cli->error)) {
            return false;
        }
        cli_note_profile(cli, request->profile_path, request->costs.accelerators_per_server);
        request->costs.profile = &request->given;
        if (request->server_count == 0) {
            request->server_count = request->given.server_count;
        }
    }
    if (request->server_count == 0) {
        return cli_misuse(cli, "how many servers? write --servers 16 or --cluster FILE");
    }
    return weft_profile_build(
               &request->full, &request->model, request->server_count, &request->costs,
               &(struct weft_environment){
                   .arena = &cli->arena, .scratch = cli->scratch, .error = &cli->error}) ||
           (request->profile_path != NULL && weft_wrap(&cli->error, "%s", request->profile_path));
}

static bool run(struct profile_request *request)
{
    struct cli *cli = request->cli;
    if (!load(request)) {
        return false;
    }
    if (cli->output_path != NULL) {
        const char *text = weft_profile_write(&request->full, &cli->arena);
        if (!weft_file_save(cli->output_path, text, strlen(text), &cli->error)) {
            return false;
        }
        cli->output_path = NULL; // is written; what follows goes to stdout
    }
    return profile_tell(request);
}

int cli_profile(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft profile",
        .arguments = "MODEL --servers N\nMODEL --cluster FILE.yaml",
        .doc = doc,
        .options = options,
        .parser = parse,
    };
    struct cli cli;
    struct profile_request request = {.cli = &cli};
    bool fine = cli_parse(&cli, &verb, argc, argv, &request) && run(&request);
    return cli_finish(&cli, fine);
}
