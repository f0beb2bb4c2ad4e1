// SPDX-License-Identifier: Apache-2.0
// Bills of fabrics as text: for each fabric a table of what is bought, with what is assumed below;
// or as CSV, a part a line. Figures are those of the JSON, in units for reading; a fabric that
// cannot be built has its reason in place of a bill.

#include "fabrics.h"
#include "weft/report.h"

#define COLUMNS 6u

// One fabric's table: parts, then the sums.
static void print_bill(struct cli *cli, const struct weft_fabrics_row *row)
{
    static const struct weft_table_column columns[COLUMNS] = {
        {"part", WEFT_ALIGN_LEFT}, {"count", WEFT_ALIGN_RIGHT},      {"price", WEFT_ALIGN_RIGHT},
        {"kW", WEFT_ALIGN_RIGHT},  {"ports used", WEFT_ALIGN_RIGHT}, {"free", WEFT_ALIGN_RIGHT},
    };
    const struct weft_bill *bill = &row->bill;
    struct weft_arena *arena = &cli->arena;
    struct weft_table_cell *cells =
        WEFT_NEW(arena, struct weft_table_cell, (size_t)(bill->row_count + 1) * COLUMNS);
    struct weft_table_cell *cell = cells;
    for (uint32_t i = 0; i < bill->row_count; i++, cell += COLUMNS) {
        const struct weft_bill_row *part = &bill->rows[i];
        cell[0].text = part->part;
        cell[1] = weft_cell_count(arena, part->count);
        if (part->usd > 0) {
            cell[2] = weft_cell_usd(arena, part->usd);
        }
        if (part->watts > 0) {
            cell[3] = weft_cell_number(arena, 1, part->watts / 1000);
        }
        if (part->model != NULL) {
            cell[4] = weft_cell_count(arena, part->ports_used);
            cell[5] = weft_cell_count(arena, part->ports_free);
        }
    }
    cell[0].text = "all";
    cell[2] = weft_cell_usd(arena, bill->usd);
    cell[3] = weft_cell_number(arena, 1, bill->watts / 1000);
    cli_say(cli, "\n%s\n", row->name);
    cli_table(cli, columns, COLUMNS, cells, bill->row_count + 1);
}

void fabrics_print_bills(struct cli *cli, const struct weft_fabrics_result *result,
                         const struct weft_bill_options *options)
{
    const struct weft_cluster *cluster = &result->cluster;
    char rate[WEFT_UNIT_TEXT];
    cli_say(cli, "%u servers, %u port%s of %s each\n", cluster->server_count, cluster->degree,
            cluster->degree == 1 ? "" : "s", weft_show_rate(rate, cluster->rate_Bps));
    for (uint32_t i = 0; i < result->row_count; i++) {
        if (result->rows[i].refusal == NULL) {
            print_bill(cli, &result->rows[i]);
        }
    }
    const char *gap = "\n";
    for (uint32_t i = 0; i < result->row_count; i++) {
        if (result->rows[i].refusal != NULL) {
            cli_say(cli, "%s%s\n", gap, result->rows[i].refusal);
            gap = "";
        }
    }
    cli_say(cli,
            "\nPrices: %s.\nA switch without a price of its own costs its ports by them; fibre is "
            "not priced.\nLengths are assumed: %s, %s.\n",
            cluster->prices.source,
            options->rack_servers > 0
                ? weft_arena_format(&cli->arena, "%u servers a rack", options->rack_servers)
                : "32 accelerators a rack (4 servers where none are stated)",
            options->row_racks > 0
                ? weft_arena_format(&cli->arena, "%u racks a row", options->row_racks)
                : "8 racks a row");
    if (cluster->switches.model_count > 1 && options->switch_name == NULL) {
        cli_say(cli,
                "Each switch is the smallest of the cluster's that takes its cables, not the "
                "cheapest; --switch %s builds it of that alone.\n",
                cluster->switches.models[0].name);
    }
}

void fabrics_print_csv(struct cli *cli, const struct weft_fabrics_result *result)
{
    static const struct weft_table_column columns[] = {
        {"fabric", WEFT_ALIGN_LEFT},      {"part", WEFT_ALIGN_LEFT},
        {"count", WEFT_ALIGN_RIGHT},      {"usd", WEFT_ALIGN_RIGHT},
        {"watts", WEFT_ALIGN_RIGHT},      {"ports_used", WEFT_ALIGN_RIGHT},
        {"ports_free", WEFT_ALIGN_RIGHT}, {"source", WEFT_ALIGN_LEFT},
    };
    enum { FIELDS = sizeof columns / sizeof columns[0] };
    struct weft_arena *arena = &cli->arena;
    uint32_t count = 0;
    for (uint32_t i = 0; i < result->row_count; i++) {
        count += result->rows[i].refusal == NULL ? result->rows[i].bill.row_count : 0;
    }
    struct weft_table_cell *cells =
        WEFT_NEW(arena, struct weft_table_cell, (size_t)count * FIELDS + 1);
    struct weft_table_cell *cell = cells;
    for (uint32_t i = 0; i < result->row_count; i++) {
        const struct weft_fabrics_row *row = &result->rows[i];
        for (uint32_t p = 0; row->refusal == NULL && p < row->bill.row_count; p++) {
            const struct weft_bill_row *part = &row->bill.rows[p];
            cell[0].text = row->name;
            cell[1].text = part->part;
            cell[2] = weft_cell_count(arena, part->count);
            cell[3] = weft_cell_number(arena, 2, part->usd);
            cell[4] = weft_cell_number(arena, 1, part->watts);
            cell[5] = weft_cell_count(arena, part->ports_used);
            cell[6] = weft_cell_count(arena, part->ports_free);
            cell[7].text = part->source;
            cell += FIELDS;
        }
    }
    cli_table(cli, columns, FIELDS, cells, count);
}
