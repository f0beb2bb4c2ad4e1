// SPDX-License-Identifier: Apache-2.0
// weft optics collective: circuits that follow the steps of a collective beside circuits that are
// set once, over times of a change and rates. Where --circuits is given, those of a chip's own
// wavelengths (collective_chips.c).

#include "weft/request/collective.h"
#include "optics.h"

#include <math.h>
#include <string.h>

#define RANKS_MAX 1024u

enum {
    KEY_KIND = 1,
    KEY_RANKS,
    KEY_SIZE,
    KEY_RATE,
    KEY_LATENCY,
    KEY_DARK,
    KEY_PLANES,
    KEY_CIRCUITS,
    KEY_WAVELENGTHS,
    KEY_ENGINE,
};

static const struct argp_option options[] = {
    {"kind", KEY_KIND, "K", 0,
     "allreduce or alltoall; with --circuits allreduce, reduce-scatter or allgather (allreduce)",
     0},
    {"ranks", KEY_RANKS, "N", 0, "number of ranks", 0},
    {"size", KEY_SIZE, "S,S", 0,
     "size of the collective (256MiB); with --circuits one or several (64KiB to 256MiB)", 0},
    {"rate", KEY_RATE, "R,R", 0, "rates of a rank, its planes together (800Gbps)", 0},
    {"latency", KEY_LATENCY, "TIME", 0, "of a hop (1us)", 0},
    {"dark-time", KEY_DARK, "T,T", 0, "how long a plane turns, with all that belongs to it (10us)",
     0},
    {"planes", KEY_PLANES, "P", 0, "switches with a port of each rank, 1 to 4 (2)", 0},
    {"circuits", KEY_CIRCUITS, "N", 0,
     "no planes: a chip's wavelengths go to up to N others at once", 0},
    {"wavelengths", KEY_WAVELENGTHS, "W", 0,
     "with --circuits: wavelengths of a chip, whole ones a circuit (divided at will)", 0},
    {"engine", KEY_ENGINE, "flow|packet", 0,
     "with --circuits: play every row in this engine, too, over circuits that change", 0},
    {0},
};

static const char doc[] =
    "Asks whether optical switches should follow the steps of a collective. Every rank has a port "
    "on each of P planes. For each algorithm the least time of its steps: bytes are divided over "
    "the planes that have a step's circuits and those that are still a ring, while others turn; "
    "beside it circuits that are set once (a ring for an AllReduce, the best jumps for an "
    "all-to-all).\v"
    "Times are by formula: latency for each hop and bytes over the most loaded circuit. `stay` is "
    "the algorithm on a ring, `always` turns all planes at every step, `follow` is the least. "
    "Below the crossover following pays.\n"
    "\n"
    "With --circuits the ranks are chips of a photonic rack, whose wavelengths go to any others: "
    "recursive exchange of radix r has r - 1 circuits a chip in each round, each of 1 / (r - 1) of "
    "its wavelengths, and takes log_r n rounds each way (LUMORPH's recursive r-ing). Rows are the "
    "ring, each radix up to N + 1 of which the chips are a power, with a change before every "
    "round, and the best radices, which may be mixed, keep circuits that the next round needs and "
    "stay on the ring where that is quicker. Below the table: up to which sizes how much of the "
    "ring's time is saved.\n"
    "\n"
    "Examples:\n"
    "  $ weft optics collective --ranks 64 --size 1MiB --rate 100GB/s --dark-time 10us\n"
    "  $ weft optics collective --kind alltoall --ranks 64 --planes 4 --dark-time 1us,100us,10ms\n"
    "  $ weft optics collective --ranks 64 --circuits 3 --rate 300GB/s --dark-time 3.7us\n";

struct rewired_input {
    struct cli *cli;
    struct weft_rewired_request request;
    struct weft_recursive_request chips; // with --circuits: what planes do not have
    bool planes_given;
};

// Takes a list of rates or times; one that is given twice replaces the first.
static error_t take_list(struct rewired_input *input, int key, const char *list)
{
    struct cli *cli = input->cli;
    struct weft_rewired_request *request = &input->request;
    const char *option = key == KEY_RATE ? "rate" : "dark-time";
    uint32_t *count = key == KEY_RATE ? &request->rate_count : &request->change_count;
    *count = 0;
    for (const char *at = list; at != NULL;) {
        size_t length = strcspn(at, ",");
        const char *word = weft_arena_text(&cli->arena, at, length);
        if (*count == WEFT_REWIRED_LIST_MAX) {
            return cli_usage(cli, "--%s: at most %u values", option, WEFT_REWIRED_LIST_MAX);
        }
        bool parsed = key == KEY_RATE
                          ? weft_parse_rate(&request->rates_Bps[*count], word, &cli->error)
                          : weft_parse_time(&request->changes_ps[*count], word, &cli->error);
        if (!parsed) {
            return cli_value(cli, false, option);
        }
        (*count)++;
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    return 0;
}

static error_t take_sizes(struct rewired_input *input, const char *list)
{
    struct cli *cli = input->cli;
    struct weft_recursive_request *chips = &input->chips;
    chips->size_count = 0;
    for (const char *at = list; at != NULL;) {
        size_t length = strcspn(at, ",");
        const char *word = weft_arena_text(&cli->arena, at, length);
        if (chips->size_count == WEFT_RECURSIVE_SIZE_MAX) {
            return cli_usage(cli, "--size: at most %u values", WEFT_RECURSIVE_SIZE_MAX);
        }
        if (!weft_parse_bytes(&chips->sizes_bytes[chips->size_count++], word, &cli->error)) {
            return cli_value(cli, false, "size");
        }
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    input->request.options.size_bytes = (double)chips->sizes_bytes[0];
    return 0;
}

static error_t take_kind(struct rewired_input *input, const char *text)
{
    static const char *const names[] = {"allreduce", "alltoall", "reduce-scatter", "allgather"};
    static const enum weft_collective_kind kinds[] = {
        WEFT_COLLECTIVE_ALLREDUCE, WEFT_COLLECTIVE_ALLTOALL, WEFT_COLLECTIVE_REDUCE_SCATTER,
        WEFT_COLLECTIVE_ALLGATHER};
    uint32_t choice = 0;
    error_t failed = cli_choose(input->cli, &choice, "kind", text, names, 4);
    input->request.options.kind = kinds[choice];
    return failed;
}

static error_t take_engine(struct rewired_input *input, const char *text)
{
    static const char *const names[] = {"flow", "packet"};
    uint32_t choice = 0;
    error_t failed = cli_choose(input->cli, &choice, "engine", text, names, 2);
    input->chips.plays = true;
    input->chips.packets = choice == 1;
    return failed;
}

// What belongs to planes is not given beside --circuits, and the other way round.
static error_t check_together(struct rewired_input *input)
{
    struct cli *cli = input->cli;
    const struct weft_rewired_options *asked = &input->request.options;
    const struct weft_recursive_request *chips = &input->chips;
    bool has_chips = chips->options.circuits_max > 0;
    if (asked->rank_count == 0) {
        return cli_usage(cli, "how many ranks? write %s --ranks N", cli->program);
    }
    if (has_chips && input->planes_given) {
        return cli_usage(cli, "--planes and --circuits are two fabrics; leave one out");
    }
    if (!has_chips && (chips->options.wavelengths > 0 || chips->plays || chips->size_count > 1)) {
        return cli_usage(cli, "--wavelengths, --engine and several sizes are of a chip's own "
                              "circuits; add --circuits 3");
    }
    bool fits = asked->kind == WEFT_COLLECTIVE_ALLREDUCE ||
                has_chips == (asked->kind != WEFT_COLLECTIVE_ALLTOALL);
    return fits ? 0
                : cli_usage(cli, "--kind: %s is for %s", weft_collective_name(asked->kind),
                            has_chips ? "planes; leave --circuits out"
                                      : "a chip's own circuits; add --circuits 3");
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct rewired_input *input = state->input;
    struct cli *cli = input->cli;
    struct weft_rewired_options *asked = &input->request.options;
    struct weft_recursive_options *chips = &input->chips.options;
    uint64_t value = 0;
    error_t failed = 0;
    switch (key) {
    case KEY_KIND:
        return take_kind(input, argument);
    case KEY_RANKS:
        return cli_count(cli, &asked->rank_count, "ranks", argument, 2, RANKS_MAX);
    case KEY_CIRCUITS:
        return cli_count(cli, &chips->circuits_max, "circuits", argument, 1, RANKS_MAX);
    case KEY_WAVELENGTHS:
        return cli_count(cli, &chips->wavelengths, "wavelengths", argument, 1, RANKS_MAX);
    case KEY_ENGINE:
        return take_engine(input, argument);
    case KEY_PLANES:
        input->planes_given = true;
        return cli_count(cli, &asked->plane_count, "planes", argument, 1, WEFT_PLANES_MAX);
    case KEY_SIZE:
        return take_sizes(input, argument);
    case KEY_LATENCY:
        failed = cli_value(cli, weft_parse_time(&value, argument, &cli->error), "latency");
        asked->hop_s = weft_seconds(value);
        return failed;
    case KEY_RATE:
    case KEY_DARK:
        return take_list(input, key, argument);
    case ARGP_KEY_ARG:
        return cli_usage(cli, "'%.100s' has no place here; see %s --help", argument, cli->program);
    case ARGP_KEY_END:
        return check_together(input);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char *show_crossover(struct cli *cli, double crossover_s)
{
    char *text = WEFT_NEW(&cli->arena, char, WEFT_UNIT_TEXT);
    return isinf(crossover_s) ? "any"
           : crossover_s <= 0 ? "none"
                              : weft_show_time(text, weft_picoseconds(crossover_s));
}

// One case: every algorithm.
static void print_algorithms(struct cli *cli, const struct weft_rewired *rewired)
{
    static const struct weft_table_column columns[] = {
        {"algorithm", WEFT_ALIGN_LEFT},       {"steps", WEFT_ALIGN_RIGHT},
        {"stay", WEFT_ALIGN_RIGHT},           {"always", WEFT_ALIGN_RIGHT},
        {"follow", WEFT_ALIGN_RIGHT},         {"turns", WEFT_ALIGN_RIGHT},
        {"times one shot", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct weft_table_cell *cells =
        WEFT_NEW(&cli->arena, struct weft_table_cell, (size_t)rewired->row_count * COLUMNS);
    bool cut = false;
    for (uint32_t r = 0; r < rewired->row_count; r++) {
        const struct weft_rewired_row *row = &rewired->rows[r];
        struct weft_table_cell *cell = cells + (size_t)r * COLUMNS;
        cell[0].text = weft_algorithm_name(row->algorithm);
        cell[1] = weft_cell_count(&cli->arena, row->step_count);
        cell[2] = weft_cell_time(&cli->arena, row->stay_s);
        cell[3] = weft_cell_time(&cli->arena, row->always_s);
        cell[4] = weft_cell_time(&cli->arena, row->seconds);
        cell[5] = weft_cell_count(&cli->arena, row->changes);
        cell[6] = weft_cell_number(&cli->arena, 3, row->seconds / rewired->one_shot.seconds);
        cut |= row->cut;
    }
    cli_table(cli, columns, COLUMNS, cells, rewired->row_count);
    if (cut) {
        cli_say(cli, "states were left out of a search: a better way to follow may be there\n");
    }
}

// Several: the best of each.
static void print_cases(struct cli *cli, const struct weft_rewired_result *result)
{
    static const struct weft_table_column columns[] = {
        {"rate", WEFT_ALIGN_RIGHT},     {"dark", WEFT_ALIGN_RIGHT},
        {"follow", WEFT_ALIGN_RIGHT},   {"algorithm", WEFT_ALIGN_LEFT},
        {"one shot", WEFT_ALIGN_RIGHT}, {"times one shot", WEFT_ALIGN_RIGHT},
        {"bound", WEFT_ALIGN_RIGHT},    {"pays below", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct weft_table_cell *cells =
        WEFT_NEW(&cli->arena, struct weft_table_cell, (size_t)result->case_count * COLUMNS);
    for (uint32_t c = 0; c < result->case_count; c++) {
        const struct weft_rewired_case *one = &result->cases[c];
        const struct weft_rewired *rewired = &one->rewired;
        const struct weft_rewired_row *best = &rewired->rows[rewired->best];
        struct weft_table_cell *cell = cells + (size_t)c * COLUMNS;
        cell[0] = weft_cell_rate(&cli->arena, one->rate_Bps);
        cell[1] = weft_cell_time(&cli->arena, one->change_s);
        cell[2] = weft_cell_time(&cli->arena, best->seconds);
        cell[3].text = weft_algorithm_name(best->algorithm);
        cell[4] = weft_cell_time(&cli->arena, rewired->one_shot.seconds);
        cell[5] = weft_cell_number(&cli->arena, 3, best->seconds / rewired->one_shot.seconds);
        cell[6] = weft_cell_time(&cli->arena, rewired->bound_s);
        cell[7].text = show_crossover(cli, one->crossover_s);
    }
    cli_table(cli, columns, COLUMNS, cells, result->case_count);
}

static void print(struct cli *cli, const struct weft_rewired_request *request,
                  const struct weft_rewired_result *result)
{
    const struct weft_rewired *first = &result->cases[0].rewired;
    char size[WEFT_UNIT_TEXT];
    cli_say(cli, "%s of %s on %u ranks, %u plane%s; times by formula\n",
            weft_collective_name(request->options.kind),
            weft_show_bytes(size, request->options.size_bytes), request->options.rank_count,
            request->options.plane_count, request->options.plane_count == 1 ? "" : "s");
    if (result->case_count > 1) {
        cli_say(cli, "\n");
        print_cases(cli, result);
        return;
    }
    char time[WEFT_UNIT_TEXT];
    char bound[WEFT_UNIT_TEXT];
    cli_say(cli, "set once: %s (no schedule is quicker than %s); following pays below: %s\n\n",
            weft_show_time(time, weft_picoseconds(first->one_shot.seconds)),
            weft_show_time(bound, weft_picoseconds(first->bound_s)),
            show_crossover(cli, result->cases[0].crossover_s));
    print_algorithms(cli, first);
}

int optics_collective(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft optics collective",
        .arguments = "",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_TABLES,
    };
    struct cli cli;
    struct rewired_input input = {
        .cli = &cli,
        .request = {.options = {.kind = WEFT_COLLECTIVE_ALLREDUCE,
                                .plane_count = 2,
                                .size_bytes = 256 << 20,
                                .hop_s = 1e-6},
                    .rate_count = 1,
                    .rates_Bps = {100e9},
                    .change_count = 1,
                    .changes_ps = {10000000}},
    };
    struct weft_rewired_result result;
    bool fine = cli_parse(&cli, &verb, argc, argv, &input);
    if (fine && input.chips.options.circuits_max > 0) {
        return cli_finish(&cli, optics_collective_chips(&cli, &input.chips, &input.request));
    }
    fine = fine && weft_request_rewired(&result, &input.request, cli_environment(&cli, NULL));
    if (fine && cli.json) {
        cli_say(&cli, "%s", weft_request_rewired_json(&result, &input.request, &cli.arena));
    } else if (fine) {
        print(&cli, &input.request, &result);
    }
    return cli_finish(&cli, fine);
}
