// SPDX-License-Identifier: Apache-2.0
// weft collective straggler: what StragglAR gains over a ring that waits for the late rank.

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
    {"ranks", RANKS, "N", 0, "Ranks, the late one too; at least 3", 0},
    {"rate", RATE, "RATE", 0, "What a rank sends and receives at once (450GiB/s, 400Gbps)", 0},
    {"latency", LATENCY, "TIME", 0, "Of a message, whatever its size (3us)", 0},
    {"size", SIZE, "BYTES", 0, "Of the AllReduce (1GiB)", 0},
    {"delay", DELAY, "TIME", 0, "How late the rank is; for a line of its own", 0},
    {"chunks", CHUNKS, "N", 0, "Largest sub-chunk factor (64)", 0},
    {"plot", PLOT, "FILE.svg", 0, "Write times over delays as a picture, too", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

#define RANKS_MAX 16384u
#define FACTOR_MAX 4096u
#define ROW_MAX 10u

struct request {
    struct cli *cli;
    uint32_t rank_count;
    double rate_Bps;
    uint64_t latency_ps;
    bool latency_given;
    uint64_t size_bytes;
    uint64_t delay_ps;
    bool delay_given;
    uint32_t factor_max;
    const char *plot_path;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct request *request = state->input;
    struct cli *cli = request->cli;
    switch (key) {
    case RANKS:
        return cli_count(cli, &request->rank_count, "ranks", argument, 1, RANKS_MAX);
    case RATE:
        return cli_value(cli, weft_parse_rate(&request->rate_Bps, argument, &cli->error), "rate");
    case LATENCY:
        request->latency_given = true;
        return cli_value(cli, weft_parse_time(&request->latency_ps, argument, &cli->error),
                         "latency");
    case SIZE:
        return cli_value(cli, weft_parse_bytes(&request->size_bytes, argument, &cli->error),
                         "size");
    case DELAY:
        request->delay_given = true;
        return cli_value(cli, weft_parse_time(&request->delay_ps, argument, &cli->error), "delay");
    case CHUNKS:
        return cli_count(cli, &request->factor_max, "chunks", argument, 1, FACTOR_MAX);
    case PLOT:
        request->plot_path = argument;
        return 0;
    case ARGP_KEY_ARG:
        return cli_usage(cli, "'%.100s' has no place here; see %s --help", argument, cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// ---- the answer ----

struct answer {
    struct weft_cost_model model;
    struct weft_straggler_cost cost; // at the delay asked for, or when all is hidden
    uint32_t round_count;            // of the schedule that was built
    uint32_t step_count;
    double ring_s; // without the delay
    double speedup;
    double plain_speedup; // without sub-chunks
    uint32_t row_count;
    double delays_s[ROW_MAX];
    struct weft_straggler_cost rows[ROW_MAX];
};

static struct weft_straggler_cost cost_at(const struct request *request,
                                          const struct answer *answer, double delay_s)
{
    struct weft_straggler_cost cost;
    weft_straggler_cost(&cost, request->rank_count, (double)request->size_bytes, delay_s,
                        request->factor_max, &answer->model);
    return cost;
}

static void add_row(struct answer *answer, const struct request *request, double delay_s)
{
    WEFT_ASSERT(answer->row_count < ROW_MAX);
    uint32_t at = answer->row_count++;
    while (at > 0 && answer->delays_s[at - 1] > delay_s) {
        answer->delays_s[at] = answer->delays_s[at - 1];
        answer->rows[at] = answer->rows[at - 1];
        at--;
    }
    answer->delays_s[at] = delay_s;
    answer->rows[at] = cost_at(request, answer, delay_s);
}

static bool find_answer(struct answer *answer, const struct request *request)
{
    struct cli *cli = request->cli;
    uint32_t n = request->rank_count;
    *answer = (struct answer){
        .model = {.alpha_s = weft_seconds(request->latency_ps),
                  .beta_s_per_byte = 1 / request->rate_Bps},
    };
    answer->cost = cost_at(request, answer, weft_seconds(request->delay_ps));
    // The rounds are those of a schedule, not of a formula.
    const struct weft_algorithm_options algorithm = {.kind = WEFT_COLLECTIVE_ALLREDUCE,
                                                     .rank_count = n,
                                                     .chunk_factor = answer->cost.chunk_factor,
                                                     .straggler = n - 1};
    struct weft_schedule schedule;
    if (!weft_algorithm_build(&schedule, WEFT_ALGORITHM_STRAGGLAR, &algorithm, &cli->arena,
                              cli->scratch, &cli->error)) {
        return false;
    }
    answer->round_count = schedule.round_count - (n - 2);
    answer->step_count = schedule.step_count;
    const struct weft_straggler_cost *cost = &answer->cost;
    answer->ring_s = cost_at(request, answer, 0).ring_s;
    answer->speedup = answer->ring_s / cost->finish_s;
    struct weft_straggler_cost plain;
    weft_straggler_cost(&plain, n, (double)request->size_bytes, 0, 1, &answer->model);
    answer->plain_speedup = answer->ring_s / plain.finish_s;
    static const double shares[] = {0, 0.25, 0.5, 0.75, 1, 1.5, 2};
    for (uint32_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        add_row(answer, request, shares[i] * cost->reduce_s);
    }
    if (cost->break_even_delay_s > 0 && isfinite(cost->break_even_delay_s)) {
        add_row(answer, request, cost->break_even_delay_s);
    }
    if (request->delay_given) {
        add_row(answer, request, weft_seconds(request->delay_ps));
    }
    return true;
}

static bool begins_at_once(const struct answer *answer)
{
    return answer->ring_s - answer->cost.finish_s >= answer->cost.break_even_delay_s;
}

static const char *quicker(const struct weft_straggler_cost *cost)
{
    return cost->stragglar_s < cost->ring_s ? "stragglar" : "ring";
}

// ---- telling ----

static json_t *row_object(const struct weft_straggler_cost *cost, double delay_s)
{
    json_t *object = json_object();
    cli_set_real(object, "delay_s", delay_s);
    cli_set_real(object, "stragglar_s", cost->stragglar_s);
    cli_set_real(object, "ring_s", cost->ring_s);
    cli_set_real(object, "partial_s", cost->partial_s);
    cli_set_text(object, "algorithm", quicker(cost));
    return object;
}

static void tell_json(const struct request *request, const struct answer *answer)
{
    const struct weft_straggler_cost *cost = &answer->cost;
    json_t *object = cli_object("weft.straggler/1");
    cli_set_count(object, "ranks", request->rank_count);
    cli_set_count(object, "size_bytes", request->size_bytes);
    cli_set_real(object, "rate_Bps", request->rate_Bps);
    cli_set_real(object, "latency_s", answer->model.alpha_s);
    cli_set_count(object, "rounds", answer->round_count);
    cli_set_count(object, "bound_rounds", cost->round_count);
    cli_set_count(object, "steps", answer->step_count);
    cli_set_count(object, "chunk_factor", cost->chunk_factor);
    cli_set_real(object, "speedup", answer->speedup);
    cli_set_real(object, "plain_speedup", answer->plain_speedup);
    cli_set_real(object, "reduce_s", cost->reduce_s);
    cli_set_real(object, "finish_s", cost->finish_s);
    cli_set_real(object, "ring_s", answer->ring_s);
    cli_set_real(object, "break_even_delay_s", cost->break_even_delay_s);
    cli_set_truth(object, "begin_at_once", begins_at_once(answer));
    if (request->delay_given) {
        cli_set(object, "asked", row_object(cost, weft_seconds(request->delay_ps)));
    }
    json_t *rows = json_array();
    for (uint32_t i = 0; i < answer->row_count; i++) {
        json_array_append_new(rows, row_object(&answer->rows[i], answer->delays_s[i]));
    }
    cli_set(object, "delays", rows);
    cli_set_real(object, "wall_s", cli_elapsed_s(request->cli));
    cli_json(request->cli, object);
}

static const char *show(struct cli *cli, double seconds)
{
    char *buffer = WEFT_NEW(&cli->arena, char, WEFT_UNIT_TEXT);
    return weft_show_time(buffer, weft_picoseconds(seconds));
}

static void tell_table(const struct request *request, const struct answer *answer)
{
    static const struct weft_table_column columns[] = {
        {"delay", WEFT_ALIGN_RIGHT},      {"stragglar", WEFT_ALIGN_RIGHT},
        {"ring", WEFT_ALIGN_RIGHT},       {"ring over it", WEFT_ALIGN_RIGHT},
        {"not hidden", WEFT_ALIGN_RIGHT}, {"take", WEFT_ALIGN_LEFT},
    };
    const uint32_t column_count = sizeof columns / sizeof columns[0];
    struct cli *cli = request->cli;
    const char **cells = WEFT_NEW(&cli->arena, const char *, column_count *ROW_MAX);
    for (uint32_t i = 0; i < answer->row_count; i++) {
        const struct weft_straggler_cost *cost = &answer->rows[i];
        const char **row = cells + i * column_count;
        row[0] = show(cli, answer->delays_s[i]);
        row[1] = show(cli, cost->stragglar_s);
        row[2] = show(cli, cost->ring_s);
        row[3] = weft_arena_format(&cli->arena, "%.3fx", cost->ring_s / cost->stragglar_s);
        row[4] = show(cli, cost->partial_s);
        row[5] = quicker(cost);
    }
    cli_say(cli, "\n%s",
            weft_report_table(columns, column_count, cells, answer->row_count, &cli->arena));
}

static void tell(const struct request *request, const struct answer *answer)
{
    struct cli *cli = request->cli;
    const struct weft_straggler_cost *cost = &answer->cost;
    char size[WEFT_UNIT_TEXT];
    char rate[WEFT_UNIT_TEXT];
    cli_say(cli, "AllReduce of %s on %u ranks at %s, %s a message, one rank late\n",
            weft_show_bytes(size, (double)request->size_bytes), request->rank_count,
            weft_show_rate(rate, request->rate_Bps), show(cli, answer->model.alpha_s));
    cli_say(cli, "rounds       %u after the late rank's arrival (bound %u)\n", answer->round_count,
            cost->round_count);
    cli_say(cli, "chunks       %u for each of %u ranks\n", cost->chunk_factor,
            request->rank_count - 1);
    cli_say(cli, "time         %s after its arrival, a ring %s: %.3fx (%.3fx without sub-chunks)\n",
            show(cli, cost->finish_s), show(cli, answer->ring_s), answer->speedup,
            answer->plain_speedup);
    cli_say(cli, "hidden       %s of reduce-scatter while it is late\n", show(cli, cost->reduce_s));
    if (isinf(cost->break_even_delay_s)) {
        cli_say(cli, "break-even   none: a ring is quicker however late the rank\n");
    } else {
        cli_say(cli, "break-even   %s of delay; below it take a ring\n",
                show(cli, cost->break_even_delay_s));
        cli_say(cli,
                "delay not known   %s: beginning at once loses %s to a ring at most and gains up "
                "to %s\n",
                begins_at_once(answer) ? "begin" : "take a ring",
                show(cli, cost->break_even_delay_s), show(cli, answer->ring_s - cost->finish_s));
    }
    tell_table(request, answer);
}

static bool plot(const struct request *request, const struct answer *answer)
{
    enum { POINTS = 121 };
    struct cli *cli = request->cli;
    const struct weft_straggler_cost *cost = &answer->cost;
    double *values = WEFT_NEW(&cli->arena, double, 3 * POINTS);
    double high_s = fmax(1.5 * cost->reduce_s, 1.1 * weft_seconds(request->delay_ps));
    for (uint32_t i = 0; i < POINTS; i++) {
        double delay_s = high_s * i / (POINTS - 1);
        struct weft_straggler_cost at = cost_at(request, answer, delay_s);
        values[i] = delay_s;
        values[POINTS + i] = at.stragglar_s;
        values[2 * POINTS + i] = at.ring_s;
    }
    const struct weft_delay_curve curve = {
        .rank_count = request->rank_count,
        .count = POINTS,
        .delay_s = values,
        .stragglar_s = values + POINTS,
        .ring_s = values + 2 * POINTS,
        .break_even_s = cost->break_even_delay_s,
        .hidden_s = cost->reduce_s,
    };
    const char *svg = weft_report_svg_delays(&curve, &cli->arena);
    return weft_file_save(request->plot_path, svg, strlen(svg), &cli->error);
}

static bool run(struct request *request)
{
    struct cli *cli = request->cli;
    const char *missing = request->rank_count == 0   ? "--ranks"
                          : request->rate_Bps <= 0   ? "--rate"
                          : !request->latency_given  ? "--latency"
                          : request->size_bytes == 0 ? "--size"
                                                     : NULL;
    if (missing != NULL) {
        return cli_misuse(cli, "%s is missing or 0; see %s --help", missing, cli->program);
    }
    if (!cli_can_write(cli, request->plot_path)) {
        return false;
    }
    struct answer answer;
    if (!find_answer(&answer, request)) {
        return false;
    }
    if (cli->json) {
        tell_json(request, &answer);
    } else {
        tell(request, &answer);
    }
    return request->plot_path == NULL || plot(request, &answer);
}

int collective_straggler(int argc, char **argv)
{
    const struct cli_verb verb = {
        .name = "weft collective straggler",
        .arguments = "",
        .doc = intent,
        .options = options,
        .parser = parse,
    };
    struct cli cli;
    struct request request = {.cli = &cli, .factor_max = 64};
    bool fine = cli_parse(&cli, &verb, argc, argv, &request) && run(&request);
    return cli_finish(&cli, fine);
}
