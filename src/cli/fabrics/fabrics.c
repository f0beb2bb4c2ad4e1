// SPDX-License-Identifier: Apache-2.0
// weft fabrics: the reference fabrics of a cluster, counted and priced, without a job. This is the
// smallest verb that is a request, and the example to follow for a new one (docs/house.md): options
// in, cli_environment, the request, and its result as a table or as JSON. Its sub-verb is in
// ecmp.c.

#include "fabrics.h"
#include "weft/report.h"

#define ECMP_SUMMARY "what flows lose that a switch spreads over its uplinks by hash"

static const char doc[] =
    "Builds every reference fabric for a cluster and says what it is made of: nodes and links, the "
    "links between two servers, ports, price and power. A fabric that the cluster cannot carry "
    "says why.\v"
    "The last row is a direct fabric of all ports on a patch panel, as weft plan makes them: its "
    "hops are the Moore bound, which no such fabric can be below. The ideal switch is priced as "
    "the Fat-tree of its rate.\n"
    "\n"
    "Sub-verbs, each with its own --help:\n"
    "  ecmp " ECMP_SUMMARY "\n"
    "\n"
    "Examples:\n"
    "  $ weft fabrics --servers 128 --degree 4 --rate 100Gbps\n"
    "  $ weft fabrics --cluster cluster.yaml --json\n"
    "  $ weft fabrics ecmp --uplinks 32 --flows 32 --split 2\n";

#define COLUMNS 10

static const struct cli_entry subs[] = {
    {"ecmp", ECMP_SUMMARY, fabrics_ecmp},
    {NULL, NULL, NULL},
};

static void fill_cells(const char **cells, const struct weft_fabrics_row *row,
                       struct weft_arena *arena)
{
    char rate[WEFT_UNIT_TEXT];
    char usd[WEFT_UNIT_TEXT];
    cells[0] = row->name;
    if (row->refusal != NULL) {
        cells[1] = "no";
        return;
    }
    const struct weft_parts *parts = &row->parts;
    cells[1] = weft_arena_format(arena, "%u", row->link_count);
    cells[2] = weft_arena_format(arena, "%.3f", row->mean_hops);
    cells[3] = weft_arena_format(arena, "%u", row->hops_max);
    cells[4] = weft_arena_format(arena, "%llu", (unsigned long long)parts->nics);
    cells[5] = weft_arena_format(arena, "%s", weft_show_rate(rate, parts->rate_Bps));
    cells[6] = weft_arena_format(arena, "%llu", (unsigned long long)parts->transceivers);
    cells[7] = weft_arena_format(arena, "%llu", (unsigned long long)parts->switch_ports);
    cells[8] = weft_arena_format(arena, "%s", weft_show_usd(usd, row->cost.total_usd));
    cells[9] = weft_arena_format(arena, "%.1f", row->cost.power_watts / 1000);
}

// A row for each fabric, and below the table why a fabric cannot be built.
static void print(struct cli *cli, const struct weft_fabrics_result *result)
{
    const struct weft_cluster *cluster = &result->cluster;
    const struct weft_fabrics_row *rows = result->rows;
    uint32_t count = result->row_count;
    static const struct weft_table_column columns[COLUMNS] = {
        {"fabric", WEFT_ALIGN_LEFT},        {"links", WEFT_ALIGN_RIGHT},
        {"mean hops", WEFT_ALIGN_RIGHT},    {"max", WEFT_ALIGN_RIGHT},
        {"NICs", WEFT_ALIGN_RIGHT},         {"rate", WEFT_ALIGN_RIGHT},
        {"transceivers", WEFT_ALIGN_RIGHT}, {"switch ports", WEFT_ALIGN_RIGHT},
        {"price", WEFT_ALIGN_RIGHT},        {"kW", WEFT_ALIGN_RIGHT},
    };
    char rate[WEFT_UNIT_TEXT];
    cli_say(cli, "%u servers, %u port%s of %s each\n\n", cluster->server_count, cluster->degree,
            cluster->degree == 1 ? "" : "s", weft_show_rate(rate, cluster->rate_Bps));
    const char **cells = WEFT_NEW(&cli->arena, const char *, (size_t)count *COLUMNS);
    for (uint32_t i = 0; i < count; i++) {
        fill_cells(cells + (size_t)i * COLUMNS, &rows[i], &cli->arena);
    }
    cli_say(cli, "%s", weft_report_table(columns, COLUMNS, cells, count, &cli->arena));
    const char *gap = "\n";
    for (uint32_t i = 0; i < count; i++) {
        if (rows[i].refusal != NULL) {
            cli_say(cli, "%s%s\n", gap, rows[i].refusal);
            gap = "";
        }
    }
}

static int list(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft fabrics", .arguments = "", .doc = doc, .groups = CLI_HARDWARE};
    struct cli cli;
    if (!cli_parse(&cli, &verb, argc, argv, NULL)) {
        return cli_finish(&cli, false);
    }
    struct weft_request_environment *environment = cli_environment(&cli, NULL);
    const struct weft_fabrics_request request = {.hardware = cli.given.hardware};
    struct weft_fabrics_result result;
    if (!weft_request_fabrics(&result, &request, environment)) {
        return cli_finish(&cli, false);
    }
    if (cli.json) {
        cli_say(&cli, "%s", weft_request_fabrics_json(&result, &cli.arena));
    } else {
        print(&cli, &result);
    }
    return cli_finish(&cli, true);
}

int cli_fabrics(int argc, char **argv)
{
    static const struct cli_family family = {.name = "weft fabrics", .subs = subs, .alone = list};
    return cli_family(&family, argc, argv);
}
