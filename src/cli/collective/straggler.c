// SPDX-License-Identifier: Apache-2.0
// weft collective straggler: what StragglAR gains over a ring that waits for the late rank. The
// options become a weft_straggler_request; the costs are those of the alpha-beta model
// (docs/stragglar.md), and the plot samples them over delays.

#include "collective.h"
#include "weft/format.h"
#include "weft/report.h"

#include <math.h>
#include <string.h>

static const char intent[] =
    "What an AllReduce with one late rank costs, in the alpha-beta model: StragglAR (the others "
    "reduce-scatter while they wait, then the late rank meets one of them a round) against a ring "
    "that waits.\v"
    "Delays count from the moment when the others could begin, times too. Rounds count from the "
    "late rank's arrival; the bound is what any order of exchanges needs. A sub-chunk factor cuts "
    "each of the n - 1 chunks further; the best up to --chunks is taken. Below the break-even "
    "delay a ring is quicker.\n"
    "\n"
    "Examples:\n"
    "  $ weft collective straggler --ranks 8 --rate 450GiB/s --latency 3us --size 1GiB\n"
    "  $ weft collective straggler --ranks 24 --rate 400Gbps --latency 5us --size 256MiB "
    "--delay 4ms\n"
    "  $ weft collective straggler --ranks 8 --rate 450GiB/s --latency 3us --size 1GiB --plot "
    "late.svg\n";

enum { RANKS = 256, RATE, LATENCY, SIZE, DELAY, CHUNKS, PLOT };

static const struct argp_option options[] = {
    {"ranks", RANKS, "N", 0, "number of ranks with the late one; at least 3", 0},
    {"rate", RATE, "RATE", 0, "rate at which a rank sends and receives at once (450GiB/s, 400Gbps)",
     0},
    {"latency", LATENCY, "TIME", 0, "latency of a message, whatever its size (3us)", 0},
    {"size", SIZE, "BYTES", 0, "size of the AllReduce (1GiB)", 0},
    {"delay", DELAY, "TIME", 0, "how late the rank is; adds a row for it", 0},
    {"chunks", CHUNKS, "N", 0, "largest sub-chunk factor (64)", 0},
    {"plot", PLOT, "FILE.svg", 0, "draw times over delays into a file, too", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

#define RANKS_MAX 16384u
#define FACTOR_MAX 4096u

// What the options say.
struct straggler_input {
    struct cli *cli;
    struct weft_straggler_request request;
    bool latency_given;
    const char *plot_path;
};

// Takes the options; that --latency was given is remembered, since 0 is a latency, too.
static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct straggler_input *input = state->input;
    struct cli *cli = input->cli;
    struct weft_straggler_request *request = &input->request;
    switch (key) {
    case RANKS:
        return cli_count(cli, &request->rank_count, "ranks", argument, 1, RANKS_MAX);
    case RATE:
        return cli_value(cli, weft_parse_rate(&request->rate_Bps, argument, &cli->error), "rate");
    case LATENCY:
        input->latency_given = true;
        return cli_value(cli, weft_parse_time(&request->latency_ps, argument, &cli->error),
                         "latency");
    case SIZE:
        return cli_value(cli, weft_parse_bytes(&request->size_bytes, argument, &cli->error),
                         "size");
    case DELAY:
        request->delay_given = true;
        return cli_value(cli, weft_parse_time(&request->delay_ps, argument, &cli->error), "delay");
    case CHUNKS:
        return cli_count(cli, &request->chunk_factor_max, "chunks", argument, 1, FACTOR_MAX);
    case PLOT:
        input->plot_path = argument;
        return 0;
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

static void print_table(struct cli *cli, const struct weft_straggler_result *result)
{
    static const struct weft_table_column columns[] = {
        {"delay", WEFT_ALIGN_RIGHT},      {"stragglar", WEFT_ALIGN_RIGHT},
        {"ring", WEFT_ALIGN_RIGHT},       {"ring over it", WEFT_ALIGN_RIGHT},
        {"not hidden", WEFT_ALIGN_RIGHT}, {"take", WEFT_ALIGN_LEFT},
    };
    const uint32_t column_count = sizeof columns / sizeof columns[0];
    struct weft_arena *arena = &cli->arena;
    struct weft_table_cell *cells =
        WEFT_NEW(arena, struct weft_table_cell, (size_t)column_count * WEFT_STRAGGLER_ROWS_MAX);
    for (uint32_t i = 0; i < result->row_count; i++) {
        const struct weft_straggler_cost *cost = &result->rows[i];
        struct weft_table_cell *row = cells + (size_t)i * column_count;
        row[0] = weft_cell_time(arena, result->delays_s[i]);
        row[1] = weft_cell_time(arena, cost->stragglar_s);
        row[2] = weft_cell_time(arena, cost->ring_s);
        double ratio = cost->ring_s / cost->stragglar_s;
        row[3] = weft_cell_figure(weft_arena_format(arena, "%.3fx", ratio), "ratio", ratio);
        row[4] = weft_cell_time(arena, cost->partial_s);
        row[5].text = weft_straggler_quicker(cost);
    }
    cli_say(cli, "\n");
    cli_table(cli, columns, column_count, cells, result->row_count);
}

// The schedule, its time against a ring's, the delay from which it pays, and what to do where the
// delay is not known: the choice whose regret is smaller at most.
static void print(struct cli *cli, const struct weft_straggler_result *result,
                  const struct weft_straggler_request *request)
{
    const struct weft_straggler_cost *cost = &result->cost;
    char size[WEFT_UNIT_TEXT];
    char rate[WEFT_UNIT_TEXT];
    cli_say(cli, "AllReduce of %s on %u ranks at %s, %s a message, one rank late\n",
            weft_show_bytes(size, (double)request->size_bytes), request->rank_count,
            weft_show_rate(rate, request->rate_Bps), show(cli, result->model.alpha_s));
    cli_say(cli, "rounds       %u after the late rank's arrival (bound %u)\n", result->round_count,
            cost->round_count);
    cli_say(cli, "chunks       %u for each of %u ranks\n", cost->chunk_factor,
            request->rank_count - 1);
    cli_say(cli, "time         %s after its arrival, a ring %s: %.3fx (%.3fx without sub-chunks)\n",
            show(cli, cost->finish_s), show(cli, result->ring_s), result->speedup,
            result->plain_speedup);
    cli_say(cli, "hidden       %s of reduce-scatter while it is late\n", show(cli, cost->reduce_s));
    if (isinf(cost->break_even_delay_s)) {
        cli_say(cli, "break-even   none: a ring is quicker however late the rank\n");
    } else {
        cli_say(cli, "break-even   %s of delay; below it take a ring\n",
                show(cli, cost->break_even_delay_s));
        cli_say(cli,
                "delay not known   %s: beginning at once loses %s to a ring at most and gains up "
                "to %s\n",
                weft_straggler_begins_at_once(result) ? "begin" : "take a ring",
                show(cli, cost->break_even_delay_s), show(cli, result->ring_s - cost->finish_s));
    }
    print_table(cli, result);
}

// Samples both times over delays and draws them.
static bool plot(const struct straggler_input *input, const struct weft_straggler_result *result)
{
    struct cli *cli = input->cli;
    const struct weft_straggler_request *request = &input->request;
    enum { POINTS = 121 };
    const struct weft_straggler_cost *cost = &result->cost;
    double *values = WEFT_NEW(&cli->arena, double, (size_t)3 * POINTS);
    double high_s = fmax(1.5 * cost->reduce_s, 1.1 * weft_seconds(request->delay_ps));
    for (uint32_t i = 0; i < POINTS; i++) {
        double delay_s = high_s * i / (POINTS - 1);
        struct weft_straggler_cost at = weft_request_straggler_at(result, request, delay_s);
        values[i] = delay_s;
        values[POINTS + i] = at.stragglar_s;
        values[2 * POINTS + i] = at.ring_s;
    }
    const struct weft_delay_curve curve = {
        .rank_count = request->rank_count,
        .count = POINTS,
        .delay_s = values,
        .stragglar_s = values + POINTS,
        .ring_s = values + (size_t)2 * POINTS,
        .break_even_s = cost->break_even_delay_s,
        .hidden_s = cost->reduce_s,
    };
    const char *svg = weft_report_svg_delays(&curve, &cli->arena);
    return weft_file_save(input->plot_path, svg, strlen(svg), &cli->error);
}

// What has to be given is checked here, by the names of the options, before the request runs.
static bool run(struct straggler_input *input)
{
    struct cli *cli = input->cli;
    const struct weft_straggler_request *request = &input->request;
    const char *missing = request->rank_count == 0   ? "--ranks"
                          : request->rate_Bps <= 0   ? "--rate"
                          : !input->latency_given    ? "--latency"
                          : request->size_bytes == 0 ? "--size"
                                                     : NULL;
    if (missing != NULL) {
        return cli_misuse(cli, "%s is missing or 0; see %s --help", missing, cli->program);
    }
    if (!cli_can_write(cli, input->plot_path)) {
        return false;
    }
    struct weft_straggler_result result;
    if (!weft_request_straggler(&result, request, cli_environment(cli, NULL))) {
        return false;
    }
    result.wall_s = cli_elapsed_s(cli);
    if (cli->json) {
        cli_say(cli, "%s", weft_request_straggler_json(&result, request, &cli->arena));
    } else {
        print(cli, &result, request);
    }
    return input->plot_path == NULL || plot(input, &result);
}

int collective_straggler(int argc, char **argv)
{
    const struct cli_verb verb = {
        .name = "weft collective straggler",
        .arguments = "",
        .doc = intent,
        .options = options,
        .parser = parse,
        .groups = CLI_TABLES,
    };
    struct cli cli;
    struct straggler_input input = {.cli = &cli, .request = {.chunk_factor_max = 64}};
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) && run(&input);
    return cli_finish(&cli, fine);
}
