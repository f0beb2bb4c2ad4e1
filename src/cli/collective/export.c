// SPDX-License-Identifier: Apache-2.0
// weft collective export: algorithms, plans and fabrics in the files of NCCL, MSCCL, MSCCL++ and
// MPI. The
// options become a weft_collective_export_request; every kind is one text, which goes to --output
// or stdout (docs/nccl.md, docs/msccl.md, docs/mscclpp.md).

#include "collective.h"
#include "weft/format.h"

#include <string.h>

#define KINDS "msccl, mscclpp, nccl-graph, nccl-topo, nccl-tuner or hostfile"

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
    KEY_NODES,
    KEY_HOSTS,
    KEY_ACCELERATORS,
    KEY_RADIX,
    KEY_OVERSUBSCRIPTION,
};

static const struct argp_option options[] = {
    {"format", KEY_FORMAT, "KIND", 0, KINDS, 0},
    {"ranks", KEY_RANKS, "N", 0, "number of ranks, where an algorithm is named", 0},
    {"kind", KEY_COLLECTIVE, "K", 0, "collective: allreduce (default), allgather, ...", 0},
    {"chunks", KEY_CHUNKS, "K", 0,
     "msccl, mscclpp: multiple of the chunks that the algorithm needs", 0},
    {"root", KEY_ROOT, "R", 0, "msccl, mscclpp: root of a broadcast or reduce", 0},
    {"protocol", KEY_PROTOCOL, "P", 0, "protocol of NCCL: Simple (default), LL or LL128", 0},
    {"in-place", KEY_IN_PLACE, NULL, 0,
     "msccl, mscclpp: a program for calls in place alone, without copies", 0},
    {"ring", KEY_RING, "I", 0, "nccl-graph, hostfile: in the order of the plan's ring I", 0},
    {"server", KEY_SERVER, "S", 0, "nccl-graph: the file of the plan's server S", 0},
    {"nodes", KEY_NODES, "NAME", 0, "hostfile: name of server 0; others count on from it (node0)",
     0},
    {"hosts", KEY_HOSTS, "FILE", 0,
     "hostfile: the hosts of the job, one a line, where these are not all of the fabric's", 0},
    {"accelerators", KEY_ACCELERATORS, "A", 0,
     "accelerators of a server, where the cluster's file does not say them", 0},
    {"radix", KEY_RADIX, "K", 0, "ports of a switch (the smallest that fits)", 0},
    {"oversubscription", KEY_OVERSUBSCRIPTION, "X", 0, "ports down for each port up at a leaf", 0},
    {0},
};

static const char doc[] =
    "Writes a collective in the files that make it real in NCCL, MSCCL and MSCCL++.\v"
    "Kinds:\n"
    "  msccl       a program for MSCCL (MSCCL_XML_FILES), proved before it is written\n"
    "  mscclpp     an execution plan for MSCCL++'s executor (JSON), proved likewise: algorithms\n"
    "              over memory channels, a plan's rings over ports\n"
    "  nccl-graph  rings and trees as channels (NCCL_GRAPH_FILE): a plan's rings, or of a fabric\n"
    "              with switches one of each for every NIC of a server, its rail\n"
    "  nccl-topo   a plan's server as topology (NCCL_TOPO_FILE)\n"
    "  nccl-tuner  a row for NCCL's example tuner plugin (NCCL_TUNER_CONFIG_FILE)\n"
    "  hostfile    hosts in the order of a plan's ring, or in one whose rings leave their leaves\n"
    "              and pods as seldom as any can (mpirun --hostfile); says how often\n"
    "\n"
    "Examples:\n"
    "  $ weft collective export ring --ranks 8 --format msccl -o ring.xml\n"
    "  $ weft collective export ring --ranks 8 --format mscclpp -o ring.json\n"
    "  $ weft collective export plan.json --format nccl-graph -o graph.xml\n"
    "  $ weft collective export leaf-spine --format nccl-graph --cluster 64x8.yaml -o graph.xml\n"
    "  $ weft collective export leaf-spine --format hostfile --cluster 64x8.yaml --nodes gpu001 "
    "\\\n"
    "      --hosts job.txt -o hosts\n"
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

// Takes what a fabric with switches is made of, and how its hosts are called.
static error_t parse_fabric(int key, char *argument, struct export_input *input)
{
    struct cli *cli = input->cli;
    struct weft_collective_export_request *request = &input->request;
    switch (key) {
    case KEY_NODES:
        request->first_node = argument;
        return 0;
    case KEY_HOSTS:
        return cli_take(cli, &request->hosts_path, argument, "--hosts");
    case KEY_ACCELERATORS:
        return cli_count(cli, &request->accelerators, "accelerators", argument, 1, 1024);
    case KEY_RADIX:
        return cli_radix(cli, &request->shape, argument);
    case KEY_OVERSUBSCRIPTION:
        return cli_oversubscription(cli, &request->shape, argument);
    default:
        return ARGP_ERR_UNKNOWN;
    }
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
        return cli_take(cli, &request->source, argument, "algorithm, plan or fabric");
    case ARGP_KEY_NO_ARGS:
        return cli_usage(cli, "what? write %s ring --ranks 8 --format msccl", cli->program);
    default:
        return parse_fabric(key, argument, input);
    }
}

// With --json, what was written where.
static bool run(struct export_input *input)
{
    struct cli *cli = input->cli;
    struct weft_collective_export_result result;
    if (cli->json && cli->output_path == NULL) {
        return cli_misuse(cli, "--json tells what was written where; write -o FILE, too");
    }
    if (input->request.kind == WEFT_COLLECTIVE_EXPORT_COUNT) {
        return cli_misuse(cli, "as what? write --format " KINDS);
    }
    input->request.hardware = cli->given.hardware;
    if (!weft_request_collective_export(&result, &input->request, cli_environment(cli, NULL))) {
        return false;
    }
    if (!cli->json) {
        cli_say(cli, "%s", result.text);
        return true;
    }
    if (!weft_file_save(cli->output_path, result.text, strlen(result.text), &cli->error)) {
        return false;
    }
    cli_say(cli, "%s",
            weft_request_collective_export_json(&result, &input->request, cli->output_path,
                                                &cli->arena));
    cli->output_path = NULL; // is written; the object goes to stdout
    return true;
}

int collective_export(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft collective export",
        .arguments = "ALGORITHM|PLAN.json|FABRIC --format KIND",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_HARDWARE,
    };
    struct cli cli;
    struct export_input input = {
        .cli = &cli, .request = {.kind = WEFT_COLLECTIVE_EXPORT_COUNT, .server = WEFT_NONE}};
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) && run(&input);
    return cli_finish(&cli, fine);
}
