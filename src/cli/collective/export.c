// SPDX-License-Identifier: Apache-2.0
// weft collective export: algorithms and plans in the files of NCCL and MSCCL.

#include "collective.h"
#include "weft/format.h"
#include "weft/plan.h"

#include <string.h>

enum kind { MSCCL, NCCL_GRAPH, NCCL_TOPO, NCCL_TUNER, KIND_COUNT };
#define KINDS "msccl, nccl-graph, nccl-topo or nccl-tuner"
static const char *const kind_names[KIND_COUNT] = {
    [MSCCL] = "msccl",
    [NCCL_GRAPH] = "nccl-graph",
    [NCCL_TOPO] = "nccl-topo",
    [NCCL_TUNER] = "nccl-tuner",
};

struct request {
    struct cli *cli;
    const char *source;     // an algorithm's name or a plan
    const char *collective; // NULL = allreduce
    const char *protocol;   // NULL = Simple
    enum kind kind;         // KIND_COUNT = not said
    uint32_t ranks;         // 0 = not said
    uint32_t chunks;
    uint32_t root;
    uint32_t ring;
    uint32_t server; // WEFT_NONE = not said
    bool in_place;
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
    {"ranks", KEY_RANKS, "N", 0, "ranks, where an algorithm is named", 0},
    {"kind", KEY_COLLECTIVE, "K", 0, "allreduce (default), allgather, ...", 0},
    {"chunks", KEY_CHUNKS, "K", 0, "msccl: times as many chunks as the algorithm needs", 0},
    {"root", KEY_ROOT, "R", 0, "msccl: of a broadcast or reduce", 0},
    {"protocol", KEY_PROTOCOL, "P", 0, "Simple (default), LL or LL128", 0},
    {"in-place", KEY_IN_PLACE, NULL, 0, "msccl: for calls in place alone, without copies", 0},
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

static error_t parse_kind(struct request *request, const char *text)
{
    for (enum kind kind = MSCCL; kind < KIND_COUNT; kind++) {
        if (strcmp(text, kind_names[kind]) == 0) {
            request->kind = kind;
            return 0;
        }
    }
    return cli_usage(request->cli, "--format: '%.40s' is no format; write " KINDS, text);
}

static error_t parse_protocol(struct request *request, const char *text)
{
    if (strcmp(text, "Simple") != 0 && strcmp(text, "LL") != 0 && strcmp(text, "LL128") != 0) {
        return cli_usage(request->cli, "--protocol: '%.40s' is none; write Simple, LL or LL128",
                         text);
    }
    request->protocol = text;
    return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct request *request = state->input;
    struct cli *cli = request->cli;
    switch (key) {
    case KEY_FORMAT:
        return parse_kind(request, argument);
    case KEY_RANKS:
        return cli_count(cli, &request->ranks, "ranks", argument, 2, 4096);
    case KEY_COLLECTIVE:
        return cli_take(cli, &request->collective, argument, "--kind");
    case KEY_CHUNKS:
        return cli_count(cli, &request->chunks, "chunks", argument, 1, 4096);
    case KEY_ROOT:
        return cli_count(cli, &request->root, "root", argument, 0, 4095);
    case KEY_PROTOCOL:
        return parse_protocol(request, argument);
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

static bool is_plan(const struct request *request)
{
    size_t length = strlen(request->source);
    return strchr(request->source, '/') != NULL ||
           (length > 5 && strcmp(request->source + length - 5, ".json") == 0);
}

static bool find_kind(enum weft_collective_kind *kind, const struct request *request)
{
    *kind = WEFT_COLLECTIVE_ALLREDUCE;
    return request->collective == NULL || collective_kind(kind, request->cli, request->collective);
}

static bool find_algorithm(enum weft_algorithm *algorithm, const struct request *request)
{
    struct cli *cli = request->cli;
    if (!collective_algorithm(algorithm, cli, request->source)) {
        return false;
    }
    if (request->ranks == 0) {
        return cli_misuse(cli, "for how many ranks? write --ranks 8");
    }
    return true;
}

// The rings of a plan's group of all servers, each with its share of the chunks.
static bool plan_rings(struct weft_algorithm_options *chosen, const struct request *request,
                       struct weft_plan *plan)
{
    struct cli *cli = request->cli;
    if (!weft_plan_load(plan, request->source, &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    const struct weft_ring_set *set = &plan->network.rings;
    uint32_t first = 0;
    while (first < set->ring_count &&
           set->rings[first].member_count != plan->cluster.server_count) {
        first++;
    }
    uint32_t end = first;
    while (end < set->ring_count && set->rings[end].group == set->rings[first].group) {
        end++;
    }
    if (first == end) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "%s: no rings over all servers; plan a job whose AllReduces span them",
                         request->source);
    }
    chosen->rank_count = plan->cluster.server_count;
    chosen->rings = set->rings + first;
    chosen->ring_count = end - first;
    return true;
}

static bool make_schedule(struct weft_schedule *schedule, const struct request *request)
{
    struct cli *cli = request->cli;
    struct weft_algorithm_options chosen = {
        .rank_count = request->ranks, .chunk_factor = request->chunks, .root = request->root};
    enum weft_algorithm algorithm = WEFT_ALGORITHM_MULTI_RING;
    struct weft_plan *plan = WEFT_NEW(&cli->arena, struct weft_plan, 1);
    if (!find_kind(&chosen.kind, request) ||
        (is_plan(request) ? !plan_rings(&chosen, request, plan)
                          : !find_algorithm(&algorithm, request))) {
        return false;
    }
    return weft_algorithm_build(schedule, algorithm, &chosen, &cli->arena, cli->scratch,
                                &cli->error);
}

// What goes beyond MSCCL's interpreter as it is published; it can be built with larger limits.
static void note_limits(struct cli *cli, const struct weft_program_size *size)
{
    if (size->step_max > 256 || size->block_max > 216 || size->peer_max > 32 ||
        size->channel_max > 32) {
        cli_note(cli,
                 "%u steps a thread block, %u thread blocks a rank, %u peers a channel, %u "
                 "channels: MSCCL as published takes 256, 216, 32 and 32",
                 size->step_max, size->block_max, size->peer_max, size->channel_max);
    }
}

static bool export_msccl(const char **text, const struct request *request)
{
    struct cli *cli = request->cli;
    struct weft_schedule schedule;
    struct weft_program program;
    struct weft_program_size size;
    struct weft_program_report report;
    struct weft_program_options made = {.protocol = request->protocol,
                                        .in_place_only = request->in_place};
    if (!make_schedule(&schedule, request)) {
        return false;
    }
    weft_program_build(&program, &size, &schedule, &made, &cli->arena, cli->scratch);
    if (!weft_program_check(&report, &program, cli->scratch, &cli->error)) {
        return false;
    }
    if (!report.valid) {
        return weft_fail(&cli->error, WEFT_INFEASIBLE, "as a program it fails: %s", report.why);
    }
    note_limits(cli, &size);
    *text = weft_msccl_write(&program, &cli->arena);
    return true;
}

static bool export_graph(const char **text, const struct request *request,
                         const struct weft_plan *plan)
{
    struct cli *cli = request->cli;
    struct weft_nccl_rings rings;
    uint32_t server = request->server == WEFT_NONE ? 0 : request->server;
    if (!weft_nccl_rings(&rings, plan, request->ring, server, &cli->arena, &cli->error)) {
        return weft_wrap(&cli->error, "%s", request->source);
    }
    if (rings.channel_count < rings.ring_count) {
        cli_note(cli,
                 "%u of %u rings: NCCL goes round the servers in one order only; --format msccl "
                 "has all of them",
                 rings.channel_count, rings.ring_count);
    }
    if (!rings.uniform && request->server == WEFT_NONE) {
        cli_note(cli, "ports differ from server to server: this is server 0's file, write the "
                      "others with --server");
    }
    struct weft_text order;
    struct weft_arena arena = cli->scratch;
    weft_text_init(&order, &arena);
    weft_text_add(&order, "ranks in this order of servers:");
    for (uint32_t i = 0; i < rings.server_count; i++) {
        weft_text_add(&order, " %u", rings.servers[i]);
    }
    *text = weft_nccl_graphs_write(&rings.graphs, order.data, &cli->arena);
    return true;
}

static bool export_tuner(const char **text, const struct request *request)
{
    struct cli *cli = request->cli;
    enum weft_algorithm algorithm;
    struct weft_nccl_choice choice = {.size_max_bytes = (uint64_t)1 << 40,
                                      .algorithm = "ring",
                                      .protocol = "simple",
                                      .channels = -1,
                                      .node_count = -1,
                                      .pipe_ops = -1,
                                      .registered = -1};
    if (!find_kind(&choice.kind, request) || !find_algorithm(&algorithm, request)) {
        return false;
    }
    bool tree = algorithm == WEFT_ALGORITHM_DOUBLE_TREE && choice.kind == WEFT_COLLECTIVE_ALLREDUCE;
    if ((algorithm != WEFT_ALGORITHM_RING && !tree) || choice.kind == WEFT_COLLECTIVE_ALLTOALL) {
        return weft_fail(&cli->error, WEFT_UNSUPPORTED,
                         "NCCL has no %s for %s; a tuner may choose ring, and double-tree for "
                         "allreduce",
                         weft_algorithm_name(algorithm), weft_collective_name(choice.kind));
    }
    choice.algorithm = tree ? "tree" : "ring";
    choice.rank_count = (int32_t)request->ranks;
    if (request->protocol != NULL) {
        choice.protocol = strcmp(request->protocol, "LL") == 0      ? "ll"
                          : strcmp(request->protocol, "LL128") == 0 ? "ll128"
                                                                    : "simple";
    }
    *text = weft_nccl_tuner_write(&choice, 1, &cli->arena);
    return true;
}

static bool export_text(const char **text, const struct request *request)
{
    struct cli *cli = request->cli;
    if (request->kind == KIND_COUNT) {
        return cli_misuse(cli, "as what? write --format " KINDS);
    }
    if (request->kind == MSCCL) {
        return export_msccl(text, request);
    }
    if (request->kind == NCCL_TUNER) {
        return export_tuner(text, request);
    }
    if (!is_plan(request)) {
        return cli_misuse(cli, "%s takes a plan; write PLAN.json", kind_names[request->kind]);
    }
    struct weft_plan *plan = WEFT_NEW(&cli->arena, struct weft_plan, 1);
    if (!weft_plan_load(plan, request->source, &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    if (request->kind == NCCL_GRAPH) {
        return export_graph(text, request, plan);
    }
    struct weft_nccl_topology topology;
    weft_nccl_server(&topology, &plan->cluster, &cli->arena);
    *text = weft_nccl_topology_write(&topology, &cli->arena);
    return true;
}

// With --json, what was written where.
static bool run(const struct request *request)
{
    struct cli *cli = request->cli;
    const char *text = NULL;
    if (cli->json && cli->output_path == NULL) {
        return cli_misuse(cli, "--json tells what was written where; write -o FILE, too");
    }
    if (!export_text(&text, request)) {
        return false;
    }
    if (!cli->json) {
        cli_say(cli, "%s", text);
        return true;
    }
    if (!weft_file_save(cli->output_path, text, strlen(text), &cli->error)) {
        return false;
    }
    json_t *object = cli_object("weft.collective-export/1");
    cli_set_text(object, "source", request->source);
    cli_set_text(object, "kind", kind_names[request->kind]);
    cli_set_text(object, "output", cli->output_path);
    cli_json(cli, object);
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
    struct request request = {.cli = &cli, .kind = KIND_COUNT, .server = WEFT_NONE};
    bool fine = cli_parse(&cli, &verb, argc, argv, &request) && run(&request);
    return cli_finish(&cli, fine);
}
