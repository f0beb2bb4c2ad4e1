// SPDX-License-Identifier: Apache-2.0
// weft collective best: the quickest algorithm by size. The options become a weft_best_request,
// whose result is printed as a table, JSON, a plot over sizes, or rows for NCCL's tuner plugin.
// Closed forms take milliseconds; schedules that an engine plays take up to minutes.

#include "collective.h"
#include "weft/format.h"
#include "weft/report.h"

#include <string.h>

// What the options say.
struct best_input {
    struct cli *cli;
    struct weft_best_request request;
    const char *plot_path;
    bool tuner;
};

static const char doc[] =
    "Ranks the algorithms of a collective by what they take, for sizes that double (that "
    "quadruple, where they are played). Sub-chunk factors are tried where they change the time.\v"
    "--rate and --latency are a rank's, of a message, as in the alpha-beta model: closed forms "
    "(--engine closed, the default), or schedules played on one switch with just these (flow, "
    "packet). With --fabric, --rate and --latency are those of links, and schedules are played "
    "(flow, the default, or packet): a transfer begins when what it sends is there; synthesize "
    "takes part; multi-ring takes the rings of a plan. The packet engine has packets of 9000 "
    "bytes, windows that are never full and buffers without end.\n"
    "\n"
    "Fabrics: torus:AxB, torus:AxBxC, mesh:AxB, ring:N, hypercube:D, full-mesh:N, ideal:N, any of "
    "weft fabrics, or a plan's file.\n"
    "\n"
    "Nobody is late in stragglar's times; see weft collective straggler.\n"
    "\n"
    "Examples:\n"
    "  $ weft collective best --ranks 64 --rate 400Gbps --latency 5us\n"
    "  $ weft collective best --ranks 64 --rate 400Gbps --latency 5us --kind allgather "
    "--size 1KiB..1GiB --json\n"
    "  $ weft collective best --fabric torus:4x4 --rate 100Gbps --size 64KiB..64MiB "
    "--plot best.svg\n"
    "  $ weft collective best --fabric plan.json --engine packet --size 1MiB\n"
    "  $ weft collective best --ranks 64 --rate 400Gbps --latency 5us --format nccl-tuner "
    "-o tuner.csv\n";

enum {
    KEY_KIND = 1,
    KEY_RANKS,
    KEY_SIZE,
    KEY_FABRIC,
    KEY_ENGINE,
    KEY_CHUNKS,
    KEY_PLOT,
    KEY_FORMAT,
    KEY_ROOT
};

static const struct argp_option options[] = {
    {"kind", KEY_KIND, "K", 0,
     "allreduce (default), reduce-scatter, allgather, broadcast, reduce, alltoall", 0},
    {"ranks", KEY_RANKS, "N", 0, "number of ranks, where --fabric does not say it", 0},
    {"size", KEY_SIZE, "S|LOW..HIGH", 0, "size of the collective, or a range of sizes (1KiB..4GiB)",
     0},
    {"fabric", KEY_FABRIC, "F", 0, "fabric to play the schedules on", 0},
    {"engine", KEY_ENGINE, "E", 0, "closed (forms of the alpha-beta model), flow or packet", 0},
    {"chunks", KEY_CHUNKS, "K", 0, "largest sub-chunk factor (1024; played: 64)", 0},
    {"root", KEY_ROOT, "R", 0, "root of broadcast and reduce (0)", 0},
    {"plot", KEY_PLOT, "FILE.svg", 0, "draw times over sizes into a file, too", 0},
    {"format", KEY_FORMAT, "nccl-tuner", 0,
     "rows for NCCL's example tuner plugin: ring or tree, whichever is quicker", 0},
    {0},
};

#define RANKS_MAX (1u << 16)

static error_t take_engine(struct best_input *input, const char *argument)
{
    struct weft_best_request *request = &input->request;
    request->engine_given = true;
    for (request->engine = 0; request->engine < WEFT_BEST_ENGINE_COUNT; request->engine++) {
        if (strcmp(argument, weft_best_engine_name(request->engine)) == 0) {
            return 0;
        }
    }
    return cli_usage(input->cli, "--engine: '%.40s' is none; write closed, flow or packet",
                     argument);
}

// Takes the options straight into the request.
static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct best_input *input = state->input;
    struct cli *cli = input->cli;
    struct weft_best_request *request = &input->request;
    struct weft_algorithm_options *algorithm = &request->options;
    switch (key) {
    case KEY_KIND:
        return collective_take_kind(cli, &algorithm->kind, argument);
    case KEY_RANKS:
        return cli_count(cli, &algorithm->rank_count, "ranks", argument, 1, RANKS_MAX);
    case KEY_SIZE:
        return collective_take_sizes(cli, &request->size_low_bytes, &request->size_high_bytes,
                                     argument);
    case KEY_FABRIC:
        return cli_take(cli, &request->fabric, argument, "fabric");
    case KEY_ENGINE:
        return take_engine(input, argument);
    case KEY_CHUNKS:
        return cli_count(cli, &request->chunk_factor_max, "chunks", argument, 1, 4096);
    case KEY_ROOT:
        return cli_count(cli, &algorithm->root, "root", argument, 0, RANKS_MAX);
    case KEY_PLOT:
        return cli_take(cli, &input->plot_path, argument, "plot");
    case KEY_FORMAT:
        input->tuner = strcmp(argument, "nccl-tuner") == 0;
        return input->tuner
                   ? 0
                   : cli_usage(cli, "--format: '%.40s' is none; write nccl-tuner", argument);
    case ARGP_KEY_ARG:
        return cli_usage(cli, "'%.100s' has no place here; see %s --help", argument, cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char *show(struct cli *cli, double seconds)
{
    char *buffer = WEFT_NEW(&cli->arena, char, WEFT_UNIT_TEXT);
    return weft_show_time(buffer, weft_picoseconds(seconds));
}

static void fill_row(struct weft_table_cell *row, struct cli *cli,
                     const struct weft_collective_ranking *ranking)
{
    row[0] = collective_size_cell(cli, ranking->size_bytes);
    row[5] = weft_cell_time(&cli->arena, ranking->bound_s);
    if (ranking->best == WEFT_ALGORITHM_COUNT) {
        row[1].text = "none can";
        return;
    }
    const struct weft_collective_time *time = &ranking->times[ranking->best];
    row[1].text = weft_algorithm_name(ranking->best);
    row[2] = weft_cell_count(&cli->arena, time->chunk_factor);
    row[3] = weft_cell_time(&cli->arena, time->seconds);
    row[4] = weft_cell_percent(&cli->arena, 1, time->seconds / ranking->bound_s - 1);
    if (ranking->second < WEFT_ALGORITHM_COUNT) {
        const struct weft_collective_time *second = &ranking->times[ranking->second];
        row[6].text = weft_algorithm_name(ranking->second);
        double more_ratio = second->seconds / time->seconds - 1;
        row[7] = weft_cell_change(&cli->arena, 1, more_ratio);
    }
}

static void print(struct cli *cli, const struct weft_best_result *result, const char *fabric)
{
    static const struct weft_table_column columns[] = {
        {"size", WEFT_ALIGN_RIGHT},  {"quickest", WEFT_ALIGN_LEFT}, {"chunks", WEFT_ALIGN_RIGHT},
        {"time", WEFT_ALIGN_RIGHT},  {"above", WEFT_ALIGN_RIGHT},   {"bound", WEFT_ALIGN_RIGHT},
        {"second", WEFT_ALIGN_LEFT}, {"takes", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    const struct weft_collective_question *question = &result->question;
    char rate[WEFT_UNIT_TEXT];
    cli_say(cli, "%s of %u ranks%s%s, %s a rank, %s a message, %s\n",
            weft_collective_name(question->options.kind), question->options.rank_count,
            fabric == NULL ? "" : " on ", fabric == NULL ? "" : fabric,
            weft_show_rate(rate, 1 / question->model.beta_s_per_byte),
            show(cli, question->model.alpha_s),
            result->engine == WEFT_BEST_CLOSED ? "closed forms"
            : result->engine == WEFT_BEST_FLOW ? "flow engine"
                                               : "packet engine");
    struct weft_table_cell *cells =
        WEFT_NEW(&cli->arena, struct weft_table_cell, (size_t)result->count * COLUMNS);
    for (uint32_t i = 0; i < result->count; i++) {
        fill_row(cells + (size_t)i * COLUMNS, cli, &result->rankings[i]);
    }
    cli_table(cli, columns, COLUMNS, cells, result->count);
}

static bool plot(const struct best_input *input, const struct weft_best_result *result)
{
    struct cli *cli = input->cli;
    const char *fabric = input->request.fabric;
    const struct weft_collective_question *question = &result->question;
    const char *title =
        weft_arena_format(&cli->arena, "%s of %u ranks%s%s: time by size (%s)",
                          weft_collective_name(question->options.kind),
                          question->options.rank_count, fabric == NULL ? "" : " on ",
                          fabric == NULL ? "" : fabric, weft_best_engine_name(result->engine));
    const char *svg = weft_report_svg_ranking(result->rankings, result->count, title, &cli->arena);
    return weft_file_save(input->plot_path, svg, strlen(svg), &cli->error);
}

// What a user of the command line must say without a fabric.
static const char *find_missing(const struct best_input *input)
{
    const struct weft_request_hardware *hardware = &input->request.hardware;
    return input->request.fabric != NULL            ? NULL
           : input->request.options.rank_count == 0 ? "how many ranks? write --ranks 64"
           : !(hardware->rate_given && hardware->rate_Bps > 0)
               ? "how fast is a port? write --rate 100Gbps"
           : !hardware->latency_given ? "how long is a link? write --latency 1us"
                                      : NULL;
}

// What the options contradict is checked first; the plot's file is tried before the ranking, which
// takes minutes where schedules are played on a large fabric.
static bool run(struct best_input *input)
{
    struct cli *cli = input->cli;
    struct weft_best_request *request = &input->request;
    if (input->tuner && cli->json) {
        return cli_misuse(cli, "--format nccl-tuner is no JSON; leave out one of the two");
    }
    if (input->plot_path != NULL && request->size_low_bytes == request->size_high_bytes) {
        return cli_misuse(cli, "--plot takes a range of sizes: write --size 1KiB..4GiB");
    }
    if (input->tuner && request->options.kind == WEFT_COLLECTIVE_ALLTOALL) {
        return cli_misuse(cli, "NCCL has no all-to-all of its own to tune");
    }
    if (!cli_can_write(cli, input->plot_path)) {
        return false;
    }
    request->hardware = cli->given.hardware;
    const char *missing = find_missing(input);
    if (missing != NULL) {
        return cli_misuse(cli, "%s", missing);
    }
    struct weft_best_result result;
    bool ranked = weft_request_best(&result, request, cli_environment(cli, cli_clock_watch(cli)));
    cli_clock_stop(cli);
    if (!ranked) {
        return false;
    }
    result.wall_s = cli_elapsed_s(cli);
    if (input->tuner) {
        cli_say(cli, "%s", weft_request_best_tuner(&result, &cli->arena));
    } else if (cli->json) {
        cli_say(cli, "%s", weft_request_best_json(&result, request, &cli->arena));
    } else {
        print(cli, &result, request->fabric);
    }
    return input->plot_path == NULL || plot(input, &result);
}

int collective_best(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft collective best",
        .arguments = "",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_HARDWARE | CLI_TABLES,
    };
    struct cli cli;
    struct best_input input = {
        .cli = &cli, .request = {.size_low_bytes = 1u << 10, .size_high_bytes = 4ull << 30}};
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) && run(&input);
    return cli_finish(&cli, fine);
}
