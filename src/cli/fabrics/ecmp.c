// SPDX-License-Identifier: Apache-2.0
// weft fabrics ecmp: what flows lose that a switch spreads over its uplinks by hash. The options
// become a weft_ecmp_request; the text puts the exact expectations beside a sample, says what each
// number means, and what would reduce the conflicts.

#include "fabrics.h"
#include "weft/report.h"

static const char doc[] =
    "What flows lose that a switch spreads over its uplinks by hash (ECMP): how much traffic is "
    "delivered and how many flows are in conflict, as exact expectations and sampled by the hash "
    "that the engines use.\v"
    "Each of --flows would fill an uplink alone. With --split S a flow is S parts of a port each, "
    "hashed one by one, and an uplink carries S parts: --split 2 is an uplink of 400G over host "
    "ports of 200G. Parts of an overloaded uplink share it; nothing else is slow.\n"
    "\n"
    "delivered_ratio is the share of the offered traffic that the uplinks carry, and "
    "conflict_probability the chance that a part's uplink has more parts than it carries. Both are "
    "exact: sums over binomial distributions, without sampling. sampled has the same for --draws "
    "hashes of --seed, with the standard error of each mean, and how much longer than alone the "
    "slowest flow takes, for which a collective waits.\n"
    "\n"
    "Conflicts fall with finer splits, and with fewer flows: what stays below its ToR switch uses "
    "no uplink. Count in --flows only what leaves. Engines avoid them by --balance even, hardware "
    "by spraying packets.\n"
    "\n"
    "Examples:\n"
    "  $ weft fabrics ecmp --uplinks 32 --flows 32\n"
    "  $ weft fabrics ecmp --uplinks 32 --flows 32 --split 2 --json\n"
    "  $ weft fabrics ecmp --uplinks 64 --flows 16 --split 4 --draws 100000 --seed 7\n";

enum { UPLINKS = 256, FLOWS, SPLIT, DRAWS };

static const struct argp_option options[] = {
    {"uplinks", UPLINKS, "N", 0, "equal uplinks of the switch", 0},
    {"flows", FLOWS, "N", 0, "flows that leave by them, each of an uplink's rate; before --split",
     0},
    {"split", SPLIT, "S", 0, "parts of a flow, each hashed alone; an uplink carries S of them (1)",
     0},
    {"draws", DRAWS, "N", 0,
     "hashes that are sampled (10000, fewer where parts and uplinks are more than 6,700)", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

// What the options say.
struct ecmp_input {
    struct cli *cli;
    struct weft_ecmp_request request;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct ecmp_input *input = state->input;
    struct cli *cli = input->cli;
    struct weft_ecmp *ecmp = &input->request.ecmp;
    switch (key) {
    case UPLINKS:
        return cli_count(cli, &ecmp->uplink_count, "uplinks", argument, 1, WEFT_ECMP_UPLINKS_MAX);
    case FLOWS:
        return cli_count(cli, &ecmp->flow_count, "flows", argument, 1, WEFT_ECMP_PARTS_MAX);
    case SPLIT:
        return cli_count(cli, &ecmp->split, "split", argument, 1, WEFT_ECMP_PARTS_MAX);
    case DRAWS:
        return cli_count(cli, &input->request.draw_count, "draws", argument, 2,
                         WEFT_ECMP_DRAWS_MAX);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// Two digits after the point, or the first two that there are.
static struct weft_table_cell percent(struct cli *cli, double ratio)
{
    const bool tiny = ratio > 0 && ratio < 0.5e-4;
    return tiny ? weft_cell_figure(weft_arena_format(&cli->arena, "%.2g %%", 100 * ratio), "ratio",
                                   ratio)
                : weft_cell_percent(&cli->arena, 2, ratio);
}

static struct weft_table_cell times(struct cli *cli, double ratio)
{
    return weft_cell_figure(weft_arena_format(&cli->arena, "%.3fx", ratio), "ratio", ratio);
}

// The exact values beside the sampled ones; of the slowest flow there is a sample alone.
static void print_values(struct cli *cli, const struct weft_ecmp_result *result)
{
    static const struct weft_table_column columns[] = {
        {"", WEFT_ALIGN_LEFT},
        {"exact", WEFT_ALIGN_RIGHT},
        {"sampled", WEFT_ALIGN_RIGHT},
        {"standard error", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0], ROWS = 3 };
    const struct weft_ecmp_expected *expected = &result->rows[0].expected;
    const struct weft_ecmp_sample *sample = &result->sample;
    const struct weft_ecmp_mean *slowdown = &sample->slowdown_ratio;
    struct weft_table_cell cells[ROWS * COLUMNS] = {
        {.text = "delivered"},
        percent(cli, expected->delivered_ratio),
        percent(cli, sample->delivered_ratio.mean),
        percent(cli, sample->delivered_ratio.standard_error),
        {.text = "in conflict"},
        percent(cli, expected->conflict_probability),
        percent(cli, sample->conflict_ratio.mean),
        percent(cli, sample->conflict_ratio.standard_error),
        {.text = "slowest flow"},
        {.text = ""},
        times(cli, slowdown->mean),
        times(cli, slowdown->standard_error),
    };
    cli_say(cli, "\n");
    cli_table(cli, columns, COLUMNS, cells, ROWS);
    cli_say(cli, "\n");
}

// What was asked, and the same with fewer conflicts.
static void print_remedies(struct cli *cli, const struct weft_ecmp_result *result)
{
    static const struct weft_table_column columns[] = {
        {"exact values", WEFT_ALIGN_LEFT}, {"flows", WEFT_ALIGN_RIGHT},
        {"split", WEFT_ALIGN_RIGHT},       {"delivered", WEFT_ALIGN_RIGHT},
        {"in conflict", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct weft_table_cell cells[WEFT_ECMP_ROWS_MAX * COLUMNS] = {0};
    for (uint32_t i = 0; i < result->row_count; i++) {
        const struct weft_ecmp_row *row = &result->rows[i];
        struct weft_table_cell *cell = cells + (size_t)i * COLUMNS;
        cell[0].text = row->summary;
        cell[1] = weft_cell_count(&cli->arena, row->ecmp.flow_count);
        cell[2] = weft_cell_count(&cli->arena, row->ecmp.split);
        cell[3] = percent(cli, row->expected.delivered_ratio);
        cell[4] = percent(cli, row->expected.conflict_probability);
    }
    cli_say(cli, "\n");
    cli_table(cli, columns, COLUMNS, cells, result->row_count);
}

// The question, the values with what they mean, and what would help.
static void print(struct cli *cli, const struct weft_ecmp_result *result)
{
    const struct weft_ecmp *ecmp = &result->rows[0].ecmp;
    cli_say(cli, "%u flow%s of an uplink's rate, %s, hashed over %u uplink%s\n", ecmp->flow_count,
            ecmp->flow_count == 1 ? "" : "s",
            ecmp->split == 1 ? "whole"
                             : weft_arena_format(&cli->arena, "%u parts each", ecmp->split),
            ecmp->uplink_count, ecmp->uplink_count == 1 ? "" : "s");
    print_values(cli, result);
    const char *part = ecmp->split == 1 ? "flow" : "part";
    cli_say(cli, "delivered     of what the flows offer; divided evenly it would be %s\n",
            percent(cli, result->rows[0].expected.even_delivered_ratio).text);
    cli_say(cli, "in conflict   a %s whose uplink has more %ss than the %u it carries\n", part,
            part, ecmp->split);
    cli_say(cli, "slowest flow  its time over that of a flow alone; a collective waits for it\n");
    cli_say(cli, "sampled       %u hashes, seed %llu\n", result->sample.draw_count,
            (unsigned long long)result->seed);
    print_remedies(cli, result);
}

int fabrics_ecmp(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft fabrics ecmp",
        .arguments = "",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_TABLES,
    };
    struct cli cli;
    struct ecmp_input input = {.cli = &cli};
    if (!cli_parse(&cli, &verb, argc, argv, &input)) {
        return cli_finish(&cli, false);
    }
    struct weft_ecmp_result result;
    cli_clock_show(&cli, "sampling", "draws");
    bool sampled = weft_request_ecmp(&result, &input.request, cli_environment(&cli, NULL));
    cli_clock_stop(&cli);
    if (!sampled) {
        return cli_finish(&cli, false);
    }
    if (cli.json) {
        cli_say(&cli, "%s", weft_request_ecmp_json(&result, &cli.arena));
    } else {
        print(&cli, &result);
    }
    return cli_finish(&cli, true);
}
