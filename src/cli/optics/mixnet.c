// SPDX-License-Identifier: Apache-2.0
// weft optics mixnet: a model with experts on circuits beside packets, against Fat-trees of the
// same ports at several rates.

#include "weft/request/mixnet.h"
#include "optics.h"
#include "weft/report.h"

#include <string.h>

#define PORTS_MAX 64u
#define STEPS_MAX 64u

enum {
    KEY_RATE = 256,
    KEY_SERVERS,
    KEY_BATCH,
    KEY_STRATEGY,
    KEY_CIRCUITS,
    KEY_DARK,
    KEY_DELAYS,
    KEY_SKEW,
    KEY_DRIFT,
    KEY_STEPS,
    KEY_TRACE,
    KEY_SAVE_TRACE,
    KEY_FIRST,
    KEY_ALL_FIRST,
    KEY_FAULTS,
    KEY_ENGINE,
};

static const struct argp_option options[] = {
    {"rate", KEY_RATE, "RATES", 0, "rates of a NIC (100Gbps,200Gbps,400Gbps,800Gbps)", 0},
    {"servers", KEY_SERVERS, "N", 0, "servers (those of CLUSTER; without one 128)", 0},
    {"batch", KEY_BATCH, "N", 0, "samples of an iteration (the model's)", 0},
    {"strategy", KEY_STRATEGY, "DEGREES", 0,
     "degrees of parallelism, as tp=4,ep=16,micro=8 (of the paper's models its own; else searched)",
     0},
    {"circuits", KEY_CIRCUITS, "A", 0, "NICs of a server on circuits (6)", 0},
    {"dark-time", KEY_DARK, "TIME", 0, "how long the switch turns (25ms)", 0},
    {"delays", KEY_DELAYS, "ideal|commodity", 0,
     "what else a change takes: 0.1 ms of command, or 16 ms and 5.67 s until NICs are back (ideal)",
     0},
    {"skew", KEY_SKEW, "S", 0, "exponent of Zipf's law of the loads (1.2)", 0},
    {"drift", KEY_DRIFT, "D", 0, "share of the loads' places that change each step (0.1)", 0},
    {"steps", KEY_STEPS, "N", 0, "micro-batches that are looked at; half of them are played (4)",
     0},
    {"trace", KEY_TRACE, "FILE", 0, "loads of experts from a file", 0},
    {"save-trace", KEY_SAVE_TRACE, "FILE", 0, "write the loads that are generated", 0},
    {"first", KEY_FIRST, "WAY", 0,
     "circuits of a layer's first all-to-all: predict, keep, random, block (predict)", 0},
    {"all-first", KEY_ALL_FIRST, NULL, 0, "compare these four at the last rate, too", 0},
    {"faults", KEY_FAULTS, NULL, 0, "what a fault costs at the last rate, too", 0},
    {"engine", KEY_ENGINE, "flow|packet", 0,
     "play the all-to-alls of a micro-batch's way through the first stage at the last rate in this "
     "engine, too",
     0},
    {0},
};

static const char doc[] =
    "A model with experts whose servers have most of their NICs on an optical switch of their "
    "region, re-wired while it trains (MixNet), against a Fat-tree of as many NICs.\v"
    "Times are estimates of the hybrid space with what a region's all-to-alls take, layer by "
    "layer, with their waits for the switch. still: were changes to take no time. greedy: the "
    "published choice of circuits, whole pairs, gradients over packets. rails: a leaf-spine of "
    "rails with its routes. published is what the paper's project site shows for 1,024 GPUs. "
    "Without CLUSTER servers have 8 H800 and 8 NICs, no limit by PCIe.\n"
    "\n"
    "Examples:\n"
    "  $ weft optics mixnet llama-moe\n"
    "  $ weft optics mixnet mixtral-8x7b cluster.yaml --rate 400Gbps --dark-time 10ms --json\n"
    "  $ weft optics mixnet qwen-moe --rate 400Gbps --skew 1.6 --all-first --faults\n";

struct mixnet_input {
    struct cli *cli;
    struct weft_mixnet_request request;
    bool commodity, dark_given;
    uint64_t dark_ps;
};

// Rates between commas.
static error_t take_rates(struct mixnet_input *input, const char *argument)
{
    struct cli *cli = input->cli;
    struct weft_mixnet_request *request = &input->request;
    char *words = weft_arena_text(&cli->arena, argument, strlen(argument));
    request->rate_count = 0;
    for (char *word = words, *next = NULL; word != NULL; word = next) {
        next = strchr(word, ',');
        if (next != NULL) {
            *next++ = '\0';
        }
        if (request->rate_count == WEFT_MIXNET_RATES_MAX) {
            return cli_usage(cli, "--rate: more than %u rates", WEFT_MIXNET_RATES_MAX);
        }
        double *rate_Bps = &request->rates_Bps[request->rate_count++];
        error_t failed = cli_value(cli, weft_parse_rate(rate_Bps, word, &cli->error), "rate");
        if (failed != 0) {
            return failed;
        }
        if (!(*rate_Bps >= 125)) {
            return cli_usage(cli, "--rate: %s is no rate of a NIC; write 400Gbps", word);
        }
    }
    return 0;
}

static error_t take_delays(struct mixnet_input *input, const char *argument)
{
    input->commodity = strcmp(argument, "commodity") == 0;
    return input->commodity || strcmp(argument, "ideal") == 0
               ? 0
               : cli_usage(input->cli, "--delays: '%.40s' is neither ideal nor commodity",
                           argument);
}

static error_t take_engine(struct mixnet_input *input, const char *argument)
{
    static const char *const engines[] = {"flow", "packet"};
    uint32_t choice = 0;
    if (cli_choose(input->cli, &choice, "engine", argument, engines, 2) != 0) {
        return EINVAL;
    }
    input->request.plays = true;
    input->request.engine = choice == 1 ? WEFT_ENGINE_PACKET : WEFT_ENGINE_FLOW;
    return 0;
}

static error_t parse_loads(int key, char *argument, struct mixnet_input *input)
{
    struct cli *cli = input->cli;
    struct weft_mixnet_options *chosen = &input->request.options;
    switch (key) {
    case KEY_SKEW:
        return cli_value(cli, weft_parse_number(&chosen->skew, argument, 0, 10, &cli->error),
                         "skew");
    case KEY_DRIFT:
        return cli_value(cli, weft_parse_number(&chosen->drift, argument, 0, 1, &cli->error),
                         "drift");
    case KEY_STEPS:
        return cli_count(cli, &chosen->steps, "steps", argument, 2, STEPS_MAX);
    case KEY_TRACE:
        return cli_take(cli, &input->request.trace_path, argument, "trace");
    case KEY_SAVE_TRACE:
        return cli_take(cli, &input->request.save_path, argument, "save-trace");
    case KEY_FIRST:
        return cli_value(cli, weft_mixnet_first_named(&chosen->first, argument, &cli->error),
                         "first");
    case KEY_ALL_FIRST:
        input->request.all_first = true;
        return 0;
    case KEY_FAULTS:
        input->request.faults = true;
        return 0;
    case KEY_ENGINE:
        return take_engine(input, argument);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_argument(struct mixnet_input *input, const char *argument)
{
    if (input->request.model == NULL) {
        return cli_take(input->cli, &input->request.model, argument, "model");
    }
    return cli_take(input->cli, &input->request.cluster_path, argument, "cluster");
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct mixnet_input *input = state->input;
    struct cli *cli = input->cli;
    struct weft_mixnet_request *request = &input->request;
    switch (key) {
    case KEY_RATE:
        return take_rates(input, argument);
    case KEY_SERVERS:
        return cli_count(cli, &request->server_count, "servers", argument, 1,
                         WEFT_CLUSTER_SERVERS_MAX);
    case KEY_BATCH:
        return cli_value(
            cli, weft_parse_count(&request->batch, argument, 1, 1ull << 40, &cli->error), "batch");
    case KEY_STRATEGY:
        return cli_take(cli, &request->strategy, argument, "strategy");
    case KEY_CIRCUITS:
        return cli_count(cli, &request->options.circuit_ports, "circuits", argument, 1, PORTS_MAX);
    case KEY_DARK:
        input->dark_given = true;
        return cli_value(cli, weft_parse_time(&input->dark_ps, argument, &cli->error), "dark-time");
    case KEY_DELAYS:
        return take_delays(input, argument);
    case ARGP_KEY_ARG:
        return parse_argument(input, argument);
    case ARGP_KEY_END:
        if (request->trace_path != NULL && request->save_path != NULL) {
            return cli_usage(cli, "--trace and --save-trace; the file is there already");
        }
        return request->model != NULL ? 0
                                      : cli_usage(cli, "which model? write %s MODEL", cli->program);
    default:
        return parse_loads(key, argument, input);
    }
}

static struct weft_table_cell times(struct cli *cli, double ratio)
{
    return weft_cell_figure(weft_arena_format(&cli->arena, "%.3f", ratio), "ratio", ratio);
}

static struct weft_table_cell seconds(struct cli *cli, double value)
{
    return weft_cell_figure(weft_arena_format(&cli->arena, "%.4g", value), "s", value);
}

static void print_rates(struct cli *cli, const struct weft_mixnet_result *result)
{
    static const struct weft_table_column columns[] = {
        {"rate", WEFT_ALIGN_RIGHT},          {"fat-tree s", WEFT_ALIGN_RIGHT},
        {"mixnet", WEFT_ALIGN_RIGHT},        {"published", WEFT_ALIGN_RIGHT},
        {"still", WEFT_ALIGN_RIGHT},         {"greedy", WEFT_ALIGN_RIGHT},
        {"rails", WEFT_ALIGN_RIGHT},         {"rails publ.", WEFT_ALIGN_RIGHT},
        {"TopoOpt publ.", WEFT_ALIGN_RIGHT}, {"all-to-all/ideal", WEFT_ALIGN_RIGHT},
        {"price", WEFT_ALIGN_RIGHT},         {"perf/$", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct weft_table_cell cells[WEFT_MIXNET_RATES_MAX * COLUMNS] = {0};
    const struct weft_table_cell none = {.text = "-"};
    for (uint32_t r = 0; r < result->row_count; r++) {
        const struct weft_mixnet_row *row = &result->rows[r];
        const struct weft_mixnet_published *told = row->published;
        const struct weft_mixnet_replay *replay = &row->weft.replay;
        double fat_s = row->weft.fat_s;
        struct weft_table_cell *cell = cells + (size_t)r * COLUMNS;
        cell[0].text = weft_arena_format(&cli->arena, "%gG", row->rate_Bps / 125e6);
        cell[1] = seconds(cli, fat_s);
        cell[2] = times(cli, row->weft.iteration_s / fat_s);
        cell[3] = told != NULL ? times(cli, told->mixnet / told->fat) : none;
        cell[4] = times(cli, row->weft.still_s / fat_s);
        cell[5] = times(cli, row->greedy.iteration_s / fat_s);
        cell[6] = times(cli, row->rail_s / fat_s);
        cell[7] = told != NULL ? times(cli, told->rail / told->fat) : none;
        cell[8] = told != NULL ? times(cli, told->topoopt / told->fat) : none;
        cell[9] = replay->ideal_s > 0 ? times(cli, replay->still_s / replay->ideal_s) : none;
        cell[10] = times(cli, row->price_ratio);
        cell[11] = times(cli, row->value_ratio);
    }
    cli_say(cli, "\n");
    cli_table(cli, columns, COLUMNS, cells, result->row_count);
}

// How much longer iterations are than the first of them, or than `base_s`.
static void print_variants(struct cli *cli, const char *title,
                           const struct weft_mixnet_iteration *iterations, uint32_t count,
                           const char *const *names)
{
    const struct weft_table_column columns[] = {{title, WEFT_ALIGN_LEFT},
                                                {"iteration s", WEFT_ALIGN_RIGHT},
                                                {"longer", WEFT_ALIGN_RIGHT},
                                                {"fat-trees", WEFT_ALIGN_RIGHT}};
    enum { COLUMNS = sizeof columns / sizeof columns[0], ROWS = 8 };
    struct weft_table_cell cells[ROWS * COLUMNS] = {0};
    for (uint32_t v = 0; v < count; v++) {
        struct weft_table_cell *cell = cells + (size_t)v * COLUMNS;
        cell[0].text = names[v];
        cell[1] = seconds(cli, iterations[v].iteration_s);
        cell[2] = weft_cell_percent(&cli->arena, 1,
                                    iterations[v].iteration_s / iterations[0].iteration_s - 1);
        cell[3] = times(cli, iterations[v].iteration_s / iterations[0].fat_s);
    }
    cli_say(cli, "\n");
    cli_table(cli, columns, COLUMNS, cells, count);
}

// What an engine makes of the all-to-alls.
static void print_played(struct cli *cli, const struct weft_mixnet_result *result)
{
    const struct weft_mixnet_played *played = result->played;
    const struct weft_mixnet_row *last = &result->rows[result->row_count - 1];
    bool packets = result->engine == WEFT_ENGINE_PACKET;
    double exchanges_s = played->formula_s - played->compute_s;
    cli_say(cli,
            "\nsimulated in the %s engine: %u all-to-alls of a micro-batch there and back through "
            "the first stage, %u change%s of circuits between them: %.4g s, %+.2f %% against the "
            "formula; all-to-alls and waits alone %+.2f %%",
            packets ? "packet" : "flow", last->weft.replay.turn_count, played->changes,
            played->changes == 1 ? "" : "s", played->seconds,
            100 * (played->seconds / played->formula_s - 1),
            100 * ((played->seconds - played->compute_s) / exchanges_s - 1));
    if (packets) {
        cli_say(cli, "; %.3g million packets", 1e-6 * (double)played->packet_count);
    }
    if (played->divisor > 1) {
        cli_say(cli, ", bytes and rates divided by %g to play no more (--yes: all)",
                played->divisor);
    }
    cli_say(cli, "\n");
}

static void print(struct cli *cli, const struct weft_mixnet_result *result)
{
    const struct weft_mixnet_row *last = &result->rows[result->row_count - 1];
    cli_say(cli, "%s, batch %llu, %u servers of %u %s: %s\n", result->model,
            (unsigned long long)result->batch, result->server_count, result->accelerators,
            result->accelerator, weft_hybrid_format(&result->hybrid, &cli->arena));
    cli_say(cli,
            "regions of %u server%s; at %gG %.0f changes an iteration, ports dark %.2f %% of the "
            "time; %.1f GB of memory; gradients over %s\n",
            last->weft.region, last->weft.region == 1 ? "" : "s", last->rate_Bps / 125e6,
            last->weft.changes, 100 * last->weft.dark_share, result->memory.total_bytes / 1e9,
            weft_mixnet_gradients_name(last->weft.gradients));
    print_rates(cli, result);
    cli_say(cli, "\nmultiples of the Fat-tree's iteration, all estimated; published for 1,024 "
                 "GPUs; price: Fat-tree over this\n");
    const char *names[WEFT_FIRST_COUNT + WEFT_FAULT_COUNT];
    for (uint32_t f = 0; f < WEFT_FIRST_COUNT && result->firsts != NULL; f++) {
        names[f] = weft_mixnet_first_name((enum weft_mixnet_first)f);
    }
    if (result->firsts != NULL) {
        print_variants(cli, "first all-to-all", result->firsts, WEFT_FIRST_COUNT, names);
    }
    for (uint32_t f = 0; f < WEFT_FAULT_COUNT && result->faults != NULL; f++) {
        names[f] = weft_mixnet_fault_name((enum weft_mixnet_fault)f);
    }
    if (result->faults != NULL) {
        print_variants(cli, "fault", result->faults, WEFT_FAULT_COUNT, names);
    }
    if (result->played != NULL) {
        print_played(cli, result);
    }
}

int optics_mixnet(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft optics mixnet",
        .arguments = "MODEL [CLUSTER]",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_TABLES,
    };
    struct cli cli;
    struct mixnet_input input = {
        .cli = &cli, .request = {.options = WEFT_MIXNET_DEFAULTS}, .dark_ps = 25000000000ull};
    struct weft_mixnet_result result;
    if (!cli_parse(&cli, &verb, argc, argv, &input) ||
        !cli_can_write(&cli, input.request.save_path)) {
        return cli_finish(&cli, false);
    }
    input.request.delays = WEFT_CIRCUIT_IDEAL(input.dark_ps);
    if (input.commodity) {
        input.request.delays = WEFT_CIRCUIT_COMMODITY;
        input.request.delays.dark_ps =
            input.dark_given ? input.dark_ps : input.request.delays.dark_ps;
    }
    bool fine =
        weft_request_mixnet(&result, &input.request, cli_environment(&cli, cli_clock_watch(&cli)));
    cli_clock_stop(&cli);
    if (fine && cli.json) {
        cli_say(&cli, "%s", weft_request_mixnet_json(&result, &cli.arena));
    } else if (fine) {
        print(&cli, &result);
    }
    return cli_finish(&cli, fine);
}
