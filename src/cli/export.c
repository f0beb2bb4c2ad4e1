// SPDX-License-Identifier: Apache-2.0
// weft export: a plan in the files that make it real.

#include "cli.h"
#include "weft/format.h"
#include "weft/plan.h"
#include "weft/report.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum kind {
    DOT,
    SVG,
    CIRCUITS_CSV,
    CIRCUITS_JSON,
    IP_ROUTES,
    FBUF,
    CHAKRA,
    GOAL,
    SLURM_TOPOLOGY,
    KIND_COUNT
};
#define KINDS                                                                                      \
    "dot, svg, circuits-csv, circuits-json, ip-routes, fbuf, chakra, goal or slurm-topology"
static const char *const kind_names[KIND_COUNT] = {
    [DOT] = "dot",
    [SVG] = "svg",
    [CIRCUITS_CSV] = "circuits-csv",
    [CIRCUITS_JSON] = "circuits-json",
    [IP_ROUTES] = "ip-routes",
    [FBUF] = "fbuf",
    [CHAKRA] = "chakra",
    [GOAL] = "goal",
    [SLURM_TOPOLOGY] = "slurm-topology",
};

struct request {
    struct cli *cli;
    const char *plan_path;
    const char *job_path;
    enum kind kind; // KIND_COUNT = not said
    uint32_t server;
    const char *first_node; // as Slurm calls server 0
    uint32_t block;         // 0 = not said
};

enum { KEY_FORMAT = 1, KEY_SERVER, KEY_JOB, KEY_NODES, KEY_BLOCK };

static const struct argp_option options[] = {
    {"format", KEY_FORMAT, "KIND", 0, KINDS, 0},
    {"as", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0},
    {"server", KEY_SERVER, "I", 0, "ip-routes: the script of server I alone", 0},
    {"job", KEY_JOB, "FILE.fbuf", 0, "fbuf, chakra, goal: the job that was planned", 0},
    {"nodes", KEY_NODES, "NAME", 0,
     "slurm-topology: server 0 as Slurm calls it; others count on (node0)", 0},
    {"block", KEY_BLOCK, "N", 0, "slurm-topology: servers of a block, where servers forward", 0},
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
    "  goal           the job as a GOAL schedule, if it has transfers and no collectives\n"
    "  slurm-topology topology.yaml of Slurm 25.05: switches as a tree; servers that forward as\n"
    "                 blocks of near ones. Instead of a plan also a fabric in words\n"
    "\n"
    "Examples:\n"
    "  $ weft export plan.json --format dot | dot -Tsvg -o plan.svg\n"
    "  $ weft export plan.json --format circuits-csv -o circuits.csv\n"
    "  $ weft export plan.json --format ip-routes --server 3\n"
    "  $ weft export plan.json --format ip-routes -o routes\n"
    "  $ weft export plan.json --format fbuf --job job.fbuf -o planned.fbuf\n"
    "  $ weft export plan.json --format chakra --job job.fbuf -o traces/job\n"
    "  $ weft export plan.json --format slurm-topology --nodes gpu001 -o topology.yaml\n"
    "  $ weft export fat-tree:64 --format slurm-topology --degree 4 --rate 100Gbps\n";

static error_t parse_kind(struct request *request, const char *text)
{
    for (enum kind kind = DOT; kind < KIND_COUNT; kind++) {
        if (strcmp(text, kind_names[kind]) == 0) {
            request->kind = kind;
            return 0;
        }
    }
    return cli_usage(request->cli, "--format: '%.40s' is no format; write " KINDS, text);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct request *request = state->input;
    switch (key) {
    case KEY_FORMAT:
        return parse_kind(request, argument);
    case KEY_SERVER:
        return cli_count(request->cli, &request->server, "server", argument, 0, WEFT_NONE - 1);
    case KEY_JOB:
        return cli_take(request->cli, &request->job_path, argument, "--job");
    case KEY_NODES:
        request->first_node = argument;
        return 0;
    case KEY_BLOCK:
        return cli_count(request->cli, &request->block, "block", argument, 1, 1u << 16);
    case ARGP_KEY_ARG:
        return cli_take(request->cli, &request->plan_path, argument, "plan");
    case ARGP_KEY_NO_ARGS:
        return cli_usage(request->cli, "which plan? write %s PLAN.json --format KIND",
                         request->cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// The export goes to --output, whole, or to stdout.
static bool emit(struct cli *cli, const char *text)
{
    if (cli->output_path != NULL) {
        return weft_file_save(cli->output_path, text, strlen(text), &cli->error);
    }
    cli_say(cli, "%s", text);
    return true;
}

// One script a server in the folder of --output.
static bool save_scripts(struct cli *cli, const char *const *scripts, uint32_t count)
{
    if (mkdir(cli->output_path, 0777) != 0 && errno != EEXIST) {
        return weft_fail(&cli->error, WEFT_IO, "%s: %s", cli->output_path, strerrordesc_np(errno));
    }
    for (uint32_t server = 0; server < count; server++) {
        struct weft_arena arena = cli->arena;
        const char *path = weft_arena_format(&arena, "%s/server-%u.sh", cli->output_path, server);
        if (!weft_file_save(path, scripts[server], strlen(scripts[server]), &cli->error)) {
            return false;
        }
    }
    return true;
}

static bool export_routes(const struct request *request, const struct weft_plan *plan)
{
    struct cli *cli = request->cli;
    const char *const *scripts = NULL;
    uint32_t count = plan->cluster.server_count;
    if (request->server == WEFT_NONE && cli->output_path == NULL) {
        return cli_misuse(cli, "which server? write --server 0, or -o FOLDER for all of them");
    }
    if (request->server != WEFT_NONE && request->server >= count) {
        return weft_fail(&cli->error, WEFT_INPUT, "--server: the plan has servers 0 to %u, not %u",
                         count - 1, request->server);
    }
    if (!weft_export_ip_routes(&scripts, plan, &cli->arena, cli->scratch, &cli->error)) {
        return weft_wrap(&cli->error, "%s", request->plan_path);
    }
    if (request->server == WEFT_NONE) {
        return save_scripts(cli, scripts, count);
    }
    return emit(cli, scripts[request->server]);
}

// The job that was planned: --job, else the one that the plan carries because it began with a
// model.
static bool find_job(const struct weft_taskgraph **graph, const struct request *request,
                     const struct weft_plan *plan)
{
    struct cli *cli = request->cli;
    if (request->job_path == NULL && plan->job == NULL) {
        return cli_misuse(cli, "for which job? write --job FILE.fbuf");
    }
    if (cli->output_path == NULL) {
        return cli_misuse(cli, "a job goes to a file; write -o PATH");
    }
    if (request->job_path == NULL) {
        *graph = &plan->job->graph;
        return true;
    }
    struct weft_fbuf *job = WEFT_NEW(&cli->arena, struct weft_fbuf, 1);
    *graph = &job->graph;
    if (!cli_load_job(job, cli, request->job_path)) {
        return false;
    }
    struct weft_error difference;
    if (plan->job != NULL && !weft_taskgraph_same(*graph, &plan->job->graph, WEFT_TASK_ALL_KINDS,
                                                  cli->scratch, &difference)) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "--job %s: not the job that %s was planned for and holds (%s); leave "
                         "--job out",
                         request->job_path, request->plan_path, difference.message);
    }
    return true;
}

static bool export_fbuf(const struct request *request, const struct weft_plan *plan)
{
    struct cli *cli = request->cli;
    const struct weft_taskgraph *graph = NULL;
    struct weft_fbuf planned;
    uint32_t sizes_left_out = 0;
    if (!find_job(&graph, request, plan)) {
        return false;
    }
    WEFT_ASSERT(graph != NULL);
    if (!weft_export_fbuf(&planned, &sizes_left_out, plan, graph,
                          &(struct weft_environment){.arena = &cli->arena,
                                                     .scratch = cli->scratch,
                                                     .error = &cli->error})) {
        return weft_wrap(&cli->error, "%s", request->plan_path);
    }
    if (planned.ring_word_count > 0) {
        cli_note(cli,
                 "rings that are not circulant (%u group size%s) and flows that divide over "
                 "paths stand in a field that Weft alone reads",
                 sizes_left_out, sizes_left_out == 1 ? "" : "s");
    }
    uint32_t halves = 0;
    uint32_t awaited = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        bool collective = weft_task_is_collective(graph, t);
        halves += collective && graph->kind[t] != WEFT_TASK_ALLREDUCE;
        awaited += collective && graph->next_first[t] < graph->next_first[t + 1];
    }
    if (halves > 0) {
        cli_note(cli,
                 "%u ReduceScatters and AllGathers are AllReduces of half their bytes to all but "
                 "Weft",
                 halves);
    }
    if (awaited > 0) {
        cli_note(cli, "what waits for collectives stands in a field that Weft alone reads; "
                      "others start it too early");
    }
    const char *data = NULL;
    size_t length = 0;
    return weft_fbuf_write(&data, &length, &planned, &cli->arena, cli->scratch, &cli->error) &&
           weft_file_save(cli->output_path, data, length, &cli->error);
}

// The trace is the job's; the plan is asked that it is this job's.
static bool export_chakra(const struct request *request, const struct weft_plan *plan)
{
    struct cli *cli = request->cli;
    const struct weft_taskgraph *graph = NULL;
    struct weft_chakra_files trace;
    if (!find_job(&graph, request, plan)) {
        return false;
    }
    WEFT_ASSERT(graph != NULL);
    if (graph->server_count != plan->cluster.server_count) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "%s: the plan has %u servers, the task graph %u; name the job it is for",
                         request->plan_path, plan->cluster.server_count, graph->server_count);
    }
    if (!weft_chakra_write(&trace, graph, &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    if (trace.signal_count > 0) {
        cli_note(cli, "%u dependencies between ranks became messages of one byte",
                 trace.signal_count);
    }
    return weft_chakra_save(cli->output_path, &trace, cli->scratch, &cli->error);
}

static bool export_goal(const struct request *request, const struct weft_plan *plan)
{
    struct cli *cli = request->cli;
    const struct weft_taskgraph *graph = NULL;
    const char *text = NULL;
    return find_job(&graph, request, plan) &&
           weft_goal_write(&text, graph, &cli->arena, cli->scratch, &cli->error) &&
           weft_file_save(cli->output_path, text, strlen(text), &cli->error);
}

// The blocks that Slurm is told of: a server and as many neighbors as make a power of two.
static uint32_t block_size(const struct weft_fabric *fabric)
{
    uint32_t size = 1;
    while (2 * size <= fabric->first[1] + 1 && 2 * size <= fabric->server_count) {
        size *= 2;
    }
    return size;
}

static bool export_slurm(const struct request *request)
{
    struct cli *cli = request->cli;
    const struct weft_fabric *fabric = NULL;
    struct weft_nest nest;
    struct weft_blocks blocks;
    const char *text = NULL;
    if (!cli_fabric(&fabric, cli, request->plan_path, 0)) {
        return false;
    }
    bool switched = fabric->node_count > fabric->server_count;
    if (switched && request->block != 0) {
        return cli_misuse(cli, "--block: %s has switches, which say what is near; leave it out",
                          request->plan_path);
    }
    uint32_t size = request->block != 0 ? request->block : block_size(fabric);
    if (!(switched ? weft_fabric_nest(&nest, fabric, &cli->arena, cli->scratch, &cli->error)
                   : weft_fabric_blocks(&blocks, fabric, size, &cli->arena, cli->scratch,
                                        &cli->error))) {
        return false;
    }
    if (!weft_export_slurm(&text, switched ? &nest : NULL, &blocks, request->first_node,
                           &(struct weft_environment){.arena = &cli->arena,
                                                      .scratch = cli->scratch,
                                                      .error = &cli->error})) {
        return weft_wrap(&cli->error, "--nodes");
    }
    return emit(cli, text);
}

static bool export_plan(const struct request *request)
{
    struct cli *cli = request->cli;
    struct weft_plan plan;
    if (request->kind == KIND_COUNT) {
        return cli_misuse(cli, "as what? write --format " KINDS);
    }
    if (request->kind == SLURM_TOPOLOGY) {
        return export_slurm(request);
    }
    if (!weft_plan_load(&plan, request->plan_path, &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    switch (request->kind) {
    case DOT:
        return emit(cli, weft_export_dot(&plan, &cli->arena));
    case SVG:
        return emit(cli, weft_report_svg_fabric(&plan, &cli->arena, cli->scratch));
    case CIRCUITS_CSV:
        return emit(cli, weft_export_circuits_csv(&plan, &cli->arena));
    case CIRCUITS_JSON:
        return emit(cli, weft_export_circuits_json(&plan, &cli->arena));
    case IP_ROUTES:
        return export_routes(request, &plan);
    case FBUF:
        return export_fbuf(request, &plan);
    case CHAKRA:
        return export_chakra(request, &plan);
    case GOAL:
        return export_goal(request, &plan);
    case SLURM_TOPOLOGY:
    case KIND_COUNT:
        break;
    }
    WEFT_ASSERT(request->kind < SLURM_TOPOLOGY);
    return false;
}

// With --json, what was written where.
static bool run(const struct request *request)
{
    struct cli *cli = request->cli;
    if (cli->json && cli->output_path == NULL) {
        return cli_misuse(cli, "--json tells what was written where; write -o FILE, too");
    }
    if (!export_plan(request)) {
        return false;
    }
    if (cli->json) {
        WEFT_ASSERT(request->kind < KIND_COUNT);
        json_t *object = cli_object("weft.export/1");
        cli_set_text(object, "file", request->plan_path);
        cli_set_text(object, "kind", kind_names[request->kind]);
        cli_set_text(object, "output", cli->output_path);
        cli_json(cli, object);
        cli->output_path = NULL; // is written; the object goes to stdout
    }
    return true;
}

int cli_export(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft export",
        .arguments = "PLAN.json --format KIND\nFABRIC --format slurm-topology",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_HARDWARE,
    };
    struct cli cli;
    struct request request = {
        .cli = &cli,
        .kind = KIND_COUNT,
        .server = WEFT_NONE,
        .first_node = "node0",
    };
    bool fine = cli_parse(&cli, &verb, argc, argv, &request) && run(&request);
    return cli_finish(&cli, fine);
}
