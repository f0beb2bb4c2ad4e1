// SPDX-License-Identifier: Apache-2.0
// weft optics rails-cost: photonic rails against electrical ones and a Fat-tree, in dollars and
// watts.

#include "optics.h"
#include "weft/request/rails.h"

enum { KEY_SERVERS = 1, KEY_PRICES };

static const struct argp_option options[] = {
    {"servers", KEY_SERVERS, "N", 0, "how many", 0},
    {"prices", KEY_PRICES, "NAME", 0,
     "h200 (8 accelerators a server, every packet port with a transceiver) or gb200 (72, switches "
     "joined by copper); h200",
     0},
    {0},
};

static const char doc[] =
    "Counts and prices the network of a cluster as photonic rails, as electrical rails and as a "
    "Fat-tree, by the formulas and prices of Opus (arXiv 2507.08119).\v"
    "Examples:\n"
    "  $ weft optics rails-cost --servers 16\n"
    "  $ weft optics rails-cost --servers 4 --prices gb200 --json\n";

struct cost_input {
    struct cli *cli;
    struct weft_rails_cost_request request;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct cost_input *input = state->input;
    switch (key) {
    case KEY_SERVERS:
        return cli_count(input->cli, &input->request.servers, "servers", argument, 2, 65536);
    case KEY_PRICES:
        input->request.prices = argument;
        return 0;
    case ARGP_KEY_END:
        return input->request.servers > 0
                   ? 0
                   : cli_usage(input->cli, "how many servers? write --servers N");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print(struct cli *cli, const struct weft_rails_cost_result *result)
{
    static const struct weft_table_column columns[] = {
        {"network", WEFT_ALIGN_LEFT}, {"ports", WEFT_ALIGN_RIGHT},
        {"cost", WEFT_ALIGN_RIGHT},   {"of photonic", WEFT_ALIGN_RIGHT},
        {"power", WEFT_ALIGN_RIGHT},  {"of photonic", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    const struct weft_rail_bills *bills = &result->bills;
    const struct {
        const char *name;
        const struct weft_rail_bill *bill;
    } rows[] = {{"Fat-tree", &bills->fat_tree},
                {"electrical rails", &bills->rail},
                {"photonic rails", &bills->photonic}};
    struct weft_table_cell cells[3 * COLUMNS] = {0};
    cli_say(cli, "%u servers of %u accelerators, prices of %s\n\n", result->servers,
            result->prices->accelerators, result->prices->name);
    for (uint32_t r = 0; r < 3; r++) {
        const struct weft_cost *cost = &rows[r].bill->cost;
        struct weft_table_cell *row = cells + (size_t)r * COLUMNS;
        row[0].text = rows[r].name;
        row[1] = weft_cell_count(&cli->arena, rows[r].bill->ports);
        row[2] = weft_cell_usd(&cli->arena, cost->total_usd);
        row[3] = weft_cell_number(&cli->arena, 2, cost->total_usd / bills->photonic.cost.total_usd);
        row[4] = weft_cell_power(&cli->arena, cost->power_watts);
        row[5] =
            weft_cell_number(&cli->arena, 1, cost->power_watts / bills->photonic.cost.power_watts);
    }
    cli_table(cli, columns, COLUMNS, cells, 3);
}

int optics_rails_cost(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft optics rails-cost",
        .arguments = "",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_TABLES,
    };
    struct cli cli;
    struct cost_input input = {.cli = &cli, .request = {.prices = "h200"}};
    struct weft_rails_cost_result result;
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) &&
                weft_request_rails_cost(&result, &input.request, cli_environment(&cli, NULL));
    if (fine && cli.json) {
        cli_say(&cli, "%s", weft_request_rails_cost_json(&result, &cli.arena));
    } else if (fine) {
        print(&cli, &result);
    }
    return cli_finish(&cli, fine);
}
