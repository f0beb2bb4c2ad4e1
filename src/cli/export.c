// SPDX-License-Identifier: Apache-2.0
// weft export: a plan in the files that make it real. The options become a request of
// weft/request/export.h; its result is a document, a script for each server or a trace of several
// files, and this file decides where each goes.

#include "weft/request/export.h"
#include "cli.h"
#include "weft/format.h"

#include <string.h>
#include <unistd.h>

#define KINDS                                                                                      \
    "dot, svg, circuits-csv, circuits-json, ip-routes, fbuf, chakra, goal, slurm-topology, "       \
    "topology-conf, infragraph, prometheus or mscclpp"

// What the options say.
struct export_input {
    struct cli *cli;
    struct weft_export_request request;
};

enum { KEY_FORMAT = 1, KEY_SERVER, KEY_JOB, KEY_NODES, KEY_BLOCK, KEY_STRICT };

static const struct argp_option options[] = {
    {"format", KEY_FORMAT, "KIND", 0, KINDS, 0},
    {"as", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0},
    {"server", KEY_SERVER, "I", 0, "ip-routes: the script of server I alone", 0},
    {"job", KEY_JOB, "FILE.fbuf", 0, "fbuf, chakra, goal: the job that was planned", 0},
    {"strict", KEY_STRICT, NULL, 0,
     "fbuf: only what TopoOpt's simulator reads, and the time that it will see", 0},
    {"nodes", KEY_NODES, "NAME", 0,
     "slurm-topology, topology-conf: server 0 as Slurm calls it; others count on (node0)", 0},
    {"block", KEY_BLOCK, "N", 0, "the same: servers of a block, where servers forward", 0},
    {0},
};

static const char doc[] =
    "Writes a plan in the form that other tools take.\v"
    "Kinds:\n"
    "  dot            the links as a Graphviz digraph\n"
    "  svg            the fabric drawn, rings colored\n"
    "  circuits-csv   optical cross-connects: plane,input_port,output_port,from,to\n"
    "  circuits-json  the same as JSON\n"
    "  ip-routes      a script of `ip route` commands for each server; -o names a folder\n"
    "  fbuf           the job's task graph with topology, routes and rings inside\n"
    "  chakra         the job as a Chakra trace: -o names a folder, or a prefix for\n"
    "                 PREFIX.<rank>.et and PREFIX.json, its process groups\n"
    "  goal           the job as a GOAL schedule; collectives become the sends of rings\n"
    "  slurm-topology topology.yaml of Slurm 25.05: switches as a tree; servers that forward as\n"
    "                 blocks of near ones. A fabric may stand here instead of a plan, or a file\n"
    "                 that weft simulate --topology takes\n"
    "  topology-conf  the same as topology.conf\n"
    "  infragraph     the fabric as an InfraGraph; likewise of a fabric or of such a file\n"
    "  prometheus     the plan's figures as metrics, to compare with what is measured\n"
    "  mscclpp        AllReduce along the plan's rings, for MSCCL++; weft collective export has\n"
    "                 other collectives and programs\n"
    "\n"
    "Examples:\n"
    "  $ weft export plan.json --format dot | dot -Tsvg -o plan.svg\n"
    "  $ weft export plan.json --format circuits-csv -o circuits.csv\n"
    "  $ weft export plan.json --format ip-routes --server 3\n"
    "  $ weft export plan.json --format ip-routes -o routes\n"
    "  $ weft export plan.json --format fbuf --job job.fbuf -o planned.fbuf\n"
    "  $ weft export plan.json --format chakra --job job.fbuf -o traces/job\n"
    "  $ weft export plan.json --format slurm-topology --nodes gpu001 -o topology.yaml\n"
    "  $ weft export fat-tree:64 --format slurm-topology\n"
    "  $ weft export topology.yaml --format topology-conf -o topology.conf\n";

static error_t parse_kind(struct export_input *input, const char *text)
{
    const char *names[WEFT_EXPORT_KIND_COUNT];
    for (enum weft_export_kind kind = 0; kind < WEFT_EXPORT_KIND_COUNT; kind++) {
        names[kind] = weft_export_kind_name(kind);
        if (strcmp(text, names[kind]) == 0) {
            input->request.kind = kind;
            return 0;
        }
    }
    const char *near = weft_nearest_word(text, names, WEFT_EXPORT_KIND_COUNT);
    return near != NULL
               ? cli_usage(input->cli, "--format: '%.40s' is no format; do you mean %s?", text,
                           near)
               : cli_usage(input->cli, "--format: '%.40s' is no format; write " KINDS, text);
}

static bool is_kind(const char *text)
{
    bool found = false;
    for (enum weft_export_kind kind = 0; kind < WEFT_EXPORT_KIND_COUNT; kind++) {
        found = found || strcmp(text, weft_export_kind_name(kind)) == 0;
    }
    return found;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct export_input *input = state->input;
    switch (key) {
    case KEY_FORMAT:
        return parse_kind(input, argument);
    case KEY_SERVER:
        return cli_count(input->cli, &input->request.server, "server", argument, 0, WEFT_NONE - 1);
    case KEY_JOB:
        return cli_take(input->cli, &input->request.job_path, argument, "--job");
    case KEY_STRICT:
        input->request.strict = true;
        return 0;
    case KEY_NODES:
        input->request.first_node = argument;
        return 0;
    case KEY_BLOCK:
        return cli_count(input->cli, &input->request.block, "block", argument, 1, 1u << 16);
    case ARGP_KEY_ARG:
        if (is_kind(argument) && access(argument, F_OK) != 0) {
            return cli_usage(input->cli, "%s is a format; write --format %s", argument, argument);
        }
        return cli_take(input->cli, &input->request.path, argument, "plan");
    case ARGP_KEY_NO_ARGS:
        return cli_usage(input->cli,
                         "which plan? write %s PLAN.json --format KIND, or for Slurm and "
                         "InfraGraph a fabric: leaf-spine --cluster FILE",
                         input->cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// One script a server in the folder of --output.
static bool save_scripts(struct cli *cli, const char *const *scripts, uint32_t count)
{
    struct weft_arena arena = cli->arena;
    const char *folder = cli->output_path;
    const char *beyond = weft_arena_format(&arena, "%s/server-%u.sh", folder, count);
    if (access(beyond, F_OK) == 0) {
        return weft_fail(&cli->error, WEFT_IO,
                         "%s is there, of a larger plan; remove that or choose another folder",
                         beyond);
    }
    struct weft_file *files = WEFT_NEW(&arena, struct weft_file, count);
    for (uint32_t server = 0; server < count; server++) {
        const char *name = weft_arena_format(&arena, "server-%u.sh", server);
        files[server] = (struct weft_file){name, scripts[server], strlen(scripts[server])};
    }
    return weft_files_save(folder, files, count, cli->scratch, &cli->error);
}

// The result goes to --output, whole, or to stdout where it is text.
static bool publish(struct cli *cli, const struct weft_export_result *result,
                    enum weft_export_kind kind)
{
    bool job = kind == WEFT_EXPORT_FBUF || kind == WEFT_EXPORT_CHAKRA || kind == WEFT_EXPORT_GOAL;
    if (cli->output_path == NULL && job) {
        return cli_misuse(cli, "a job goes to a file; write -o PATH");
    }
    if (cli->output_path == NULL && result->scripts != NULL) {
        return cli_misuse(cli, "which server? write --server 0, or -o FOLDER for all of them");
    }
    if (result->scripts != NULL) {
        return save_scripts(cli, result->scripts, result->script_count);
    }
    if (result->trace != NULL) {
        return weft_chakra_save(cli->output_path, result->trace, cli->scratch, &cli->error);
    }
    if (cli->output_path != NULL) {
        return weft_file_save(cli->output_path, result->data, result->length, &cli->error);
    }
    cli_say(cli, "%s", result->data);
    return true;
}

// With --json, what was written where.
static bool run(struct export_input *input)
{
    struct cli *cli = input->cli;
    struct weft_export_result result;
    if (cli->json && cli->output_path == NULL) {
        return cli_misuse(cli, "--json tells what was written where; write -o FILE, too");
    }
    if (input->request.kind == WEFT_EXPORT_KIND_COUNT) {
        return cli_misuse(cli, "as what? write --format " KINDS);
    }
    // A trace is a prefix or a folder; scripts of all servers stand in one, which is made.
    bool folder =
        input->request.kind == WEFT_EXPORT_CHAKRA ||
        (input->request.kind == WEFT_EXPORT_IP_ROUTES && input->request.server == WEFT_NONE);
    if (!folder && !cli_can_write(cli, cli->output_path)) {
        return false;
    }
    input->request.hardware = cli->given.hardware;
    if (!weft_request_export(&result, &input->request, cli_environment(cli, NULL)) ||
        !publish(cli, &result, input->request.kind)) {
        return false;
    }
    if (cli->json) {
        cli_say(cli, "%s",
                weft_request_export_json(&input->request, cli->output_path, &cli->arena));
        cli->output_path = NULL; // is written; the object goes to stdout
    }
    return true;
}

int cli_export(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft export",
        .arguments =
            "PLAN.json --format KIND\nFABRIC --format slurm-topology|topology-conf|infragraph",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_HARDWARE | CLI_OUTPUT_FOLDER,
    };
    struct cli cli;
    struct export_input input = {
        .cli = &cli,
        .request = {.kind = WEFT_EXPORT_KIND_COUNT, .server = WEFT_NONE},
    };
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) && run(&input);
    return cli_finish(&cli, fine);
}
