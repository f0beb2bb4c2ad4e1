// SPDX-License-Identifier: Apache-2.0
// weft collective export: algorithms and plans in the files of NCCL and MSCCL. The options become a
// weft_collective_export_request; every kind is one text, which goes to --output or stdout
// (docs/nccl.md, docs/msccl.md).

#include "collective.h"
#include "weft/format.h"

#include <string.h>

#define KINDS "msccl, nccl-graph, nccl-topo or nccl-tuner"

// What the options say.
struct export_input {
    struct cli *cli;
    struct weft_collective_export_request request;
};

enum {
    KEY_FORMAT = 1,
    KEY_RANKS,
    KEY_COLLECTIVE,
    KEY_CHUNKS,
    KEY_ROOT,
    KEY_PROTOCOL,
    KEY_IN_PLACE,
    KEY_RING,
    KEY_SERVER,
};

static const struct argp_option options[] = {
    {"format", KEY_FORMAT, "KIND", 0, KINDS, 0},
    {"ranks", KEY_RANKS, "N", 0, "number of ranks, where an algorithm is named", 0},
    {"kind", KEY_COLLECTIVE, "K", 0, "collective: allreduce (default), allgather, ...", 0},
    {"chunks", KEY_CHUNKS, "K", 0, "msccl: multiple of the chunks that the algorithm needs", 0},
    {"root", KEY_ROOT, "R", 0, "msccl: root of a broadcast or reduce", 0},
    {"protocol", KEY_PROTOCOL, "P", 0, "protocol of NCCL: Simple (default), LL or LL128", 0},
    {"in-place", KEY_IN_PLACE, NULL, 0, "msccl: a program for calls in place alone, without copies",
     0},
    {"ring", KEY_RING, "I", 0, "nccl-graph: in the order of the plan's ring I", 0},
    {"server", KEY_SERVER, "S", 0, "nccl-graph: the file of server S", 0},
    {0},
};

static const char doc[] =
    "Writes a collective in the files that make it real in NCCL and MSCCL.\v"
    "Kinds:\n"
    "  msccl       a program for MSCCL (MSCCL_XML_FILES), proved before it is written\n"
    "  nccl-graph  a plan's rings as channels (NCCL_GRAPH_FILE)\n"
    "  nccl-topo   a plan's server as topology (NCCL_TOPO_FILE)\n"
    "  nccl-tuner  a row for NCCL's example tuner plugin (NCCL_TUNER_CONFIG_FILE)\n"
    "\n"
    "Examples:\n"
    "  $ weft collective export ring --ranks 8 --format msccl -o ring.xml\n"
    "  $ weft collective export plan.json --format nccl-graph -o graph.xml\n"
    "  $ weft collective export plan.json --format nccl-topo -o topo.xml\n"
    "  $ weft collective export ring --ranks 64 --format nccl-tuner\n";

static error_t parse_kind(struct export_input *input, const char *text)
{
    for (enum weft_collective_export_kind kind = 0; kind < WEFT_COLLECTIVE_EXPORT_COUNT; kind++) {
        if (strcmp(text, weft_collective_export_name(kind)) == 0) {
            input->request.kind = kind;
            return 0;
        }
    }
    return cli_usage(input->cli, "--format: '%.40s' is no format; write " KINDS, text);
}

static error_t parse_protocol(struct export_input *input, const char *text)
{
    if (strcmp(text, "Simple") != 0 && strcmp(text, "LL") != 0 && strcmp(text, "LL128") != 0) {
        return cli_usage(input->cli, "--protocol: '%.40s' is none; write Simple, LL or LL128",
                         text);
    }
    input->request.protocol = text;
    return 0;
}

// Takes the options straight into the request; whether they fit the kind is the request's to say.
static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct export_input *input = state->input;
    struct cli *cli = input->cli;
    struct weft_collective_export_request *request = &input->request;
    switch (key) {
    case KEY_FORMAT:
        return parse_kind(input, argument);
    case KEY_RANKS:
        return cli_count(cli, &request->ranks, "ranks", argument, 2, 4096);
    case KEY_COLLECTIVE:
        return cli_take(cli, &request->collective, argument, "--kind");
    case KEY_CHUNKS:
        return cli_count(cli, &request->chunks, "chunks", argument, 1, 4096);
    case KEY_ROOT:
        return cli_count(cli, &request->root, "root", argument, 0, 4095);
    case KEY_PROTOCOL:
        return parse_protocol(input, argument);
    case KEY_IN_PLACE:
        request->in_place = true;
        return 0;
    case KEY_RING:
        return cli_count(cli, &request->ring, "ring", argument, 0, WEFT_NONE - 1);
    case KEY_SERVER:
        return cli_count(cli, &request->server, "server", argument, 0, WEFT_NONE - 1);
    case ARGP_KEY_ARG:
        return cli_take(cli, &request->source, argument, "algorithm or plan");
    case ARGP_KEY_NO_ARGS:
        return cli_usage(cli, "what? write %s ring --ranks 8 --format msccl", cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// With --json, what was written where.
static bool run(struct export_input *input)
{
    struct cli *cli = input->cli;
    const char *text = NULL;
    if (cli->json && cli->output_path == NULL) {
        return cli_misuse(cli, "--json tells what was written where; write -o FILE, too");
    }
    if (input->request.kind == WEFT_COLLECTIVE_EXPORT_COUNT) {
        return cli_misuse(cli, "as what? write --format " KINDS);
    }
    if (!weft_request_collective_export(&text, &input->request, cli_environment(cli, NULL))) {
        return false;
    }
    if (!cli->json) {
        cli_say(cli, "%s", text);
        return true;
    }
    if (!weft_file_save(cli->output_path, text, strlen(text), &cli->error)) {
        return false;
    }
    cli_say(cli, "%s",
            weft_request_collective_export_json(&input->request, cli->output_path, &cli->arena));
    cli->output_path = NULL; // is written; the object goes to stdout
    return true;
}

int collective_export(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft collective export",
        .arguments = "ALGORITHM|PLAN.json --format KIND",
        .doc = doc,
        .options = options,
        .parser = parse,
    };
    struct cli cli;
    struct export_input input = {
        .cli = &cli, .request = {.kind = WEFT_COLLECTIVE_EXPORT_COUNT, .server = WEFT_NONE}};
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) && run(&input);
    return cli_finish(&cli, fine);
}
