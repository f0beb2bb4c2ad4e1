// SPDX-License-Identifier: Apache-2.0
// weft diff: what two plans have differently, one line each, numbers with their change. The exit
// code is that of diff: 0 where nothing differs, 1 where something does.

#include "weft/request/diff.h"
#include "cli/cli.h"
#include "weft/report.h"

// What the options say.
struct diff_input {
    struct cli *cli;
    struct weft_diff_request request;
};

static const char doc[] =
    "Compares two plans: cluster, fabric, links, rings, strategy, times, loads and bill. Prints "
    "what "
    "differs, and exits 1 where something does, 0 where nothing does.\v"
    "Links are compared as sets: links_of_its_own counts those that the other plan lacks. The same "
    "of rings; placed_otherwise counts operators. change is B over A, less 1.\n"
    "\n"
    "Examples:\n"
    "  $ weft diff plan.json other.json\n"
    "  $ weft diff plan.json other.json --json\n"
    "  $ weft diff plan.json other.json --csv\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct diff_input *input = state->input;
    const char **paths = input->request.paths;
    switch (key) {
    case ARGP_KEY_ARG:
        return cli_take(input->cli, paths[0] == NULL ? &paths[0] : &paths[1], argument,
                        "pair of plans");
    case ARGP_KEY_END:
        return paths[1] != NULL ? 0
                                : cli_usage(input->cli,
                                            "which two plans? write %s PLAN.json "
                                            "OTHER.json",
                                            input->cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print(struct cli *cli, const struct weft_diff_result *result)
{
    static const struct weft_table_column columns[] = {
        {"part", WEFT_ALIGN_LEFT}, {"what", WEFT_ALIGN_LEFT},    {"A", WEFT_ALIGN_RIGHT},
        {"B", WEFT_ALIGN_RIGHT},   {"change", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct weft_arena *arena = &cli->arena;
    struct weft_table_cell *cells =
        WEFT_NEW(arena, struct weft_table_cell, (size_t)result->row_count * COLUMNS + 1);
    for (uint32_t i = 0; i < result->row_count; i++) {
        const struct weft_diff_row *row = &result->rows[i];
        struct weft_table_cell *cell = cells + (size_t)i * COLUMNS;
        bool grows = row->is_number && row->values[0] != 0;
        cell[0].text = row->part;
        cell[1].text = row->name;
        for (uint32_t plan = 0; plan < 2; plan++) {
            cell[2 + plan] = row->is_number
                                 ? weft_cell_figure(row->texts[plan], "", row->values[plan])
                                 : (struct weft_table_cell){.text = row->texts[plan]};
        }
        if (grows) {
            cell[4] = weft_cell_change(arena, 2, row->values[1] / row->values[0] - 1);
        }
    }
    cli_table(cli, columns, COLUMNS, cells, result->row_count);
}

static bool run(const struct diff_input *input)
{
    struct cli *cli = input->cli;
    struct weft_diff_result result;
    if (!weft_request_diff(&result, &input->request, cli_environment(cli, NULL))) {
        return false;
    }
    cli->exit_code = result.row_count == 0 ? CLI_EXIT_YES : CLI_EXIT_NO;
    if (cli->json) {
        cli_say(cli, "%s", weft_request_diff_json(&result, &input->request, &cli->arena));
    } else if (result.row_count > 0 || cli->form != CLI_TEXT) {
        print(cli, &result);
    } else {
        cli_say(cli, "the plans are the same\n");
    }
    return true;
}

int cli_diff(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft diff",
        .arguments = "PLAN.json OTHER.json",
        .doc = doc,
        .parser = parse,
        .groups = CLI_TABLES,
    };
    struct cli cli;
    struct diff_input input = {.cli = &cli};
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) && run(&input);
    return cli_finish(&cli, fine);
}
