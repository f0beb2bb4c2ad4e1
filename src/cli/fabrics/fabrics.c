// SPDX-License-Identifier: Apache-2.0
// weft fabrics: the reference fabrics of a cluster, counted and priced, without a job. This is the
// smallest verb that is a request, and the example to follow for a new one (docs/house.md): options
// in, cli_environment, the request, and its result as a table or as JSON. Bills are printed by
// bill.c; its sub-verb is in ecmp.c.

#include "fabrics.h"
#include "weft/format.h"
#include "weft/report.h"

#include <string.h>

#define ECMP_SUMMARY "what flows lose that a switch spreads over its uplinks by hash"

static const char doc[] =
    "Builds every reference fabric for a cluster and says what it is made of: nodes and links, the "
    "links between two servers, ports, price and power. A fabric that the cluster cannot carry "
    "says why.\v"
    "The last row is a direct fabric of all ports on a patch panel, as weft plan makes them: its "
    "hops are the Moore bound, which no such fabric can be below. The ideal switch is priced as "
    "the Fat-tree of its rate.\n"
    "\n"
    "With --fabric a fabric is counted as it is bought: switches by tier and model with the ports "
    "used and free, NICs, transceivers, copper within racks and fibre by length, panels, dollars "
    "and watts. Switches are those of the cluster file, else the built-in catalogue "
    "(docs/clusters.md); --switch builds the fabric from one model, and without it each switch is "
    "the smallest that takes its cables. What cannot be built says what is missing and the nearest "
    "that can. --cabling writes every cable with its racks, devices and ports.\n"
    "\n"
    "Sub-verbs, each with its own --help:\n"
    "  ecmp " ECMP_SUMMARY "\n"
    "\n"
    "Examples:\n"
    "  $ weft fabrics --servers 128 --degree 4 --rate 100Gbps\n"
    "  $ weft fabrics --cluster cluster.yaml --json\n"
    "  $ weft fabrics cluster.yaml --fabric leaf-spine --switch 64x400G --cabling cables.csv\n"
    "  $ weft fabrics --servers 64 --degree 8 --rate 400Gbps --fabric all --csv\n"
    "  $ weft fabrics ecmp --uplinks 32 --flows 32 --split 2\n";

#define COLUMNS 11

static const struct cli_entry subs[] = {
    {"ecmp", ECMP_SUMMARY, fabrics_ecmp},
    {NULL, NULL, NULL},
};

static void fill_cells(struct weft_table_cell *cells, const struct weft_fabrics_row *row,
                       struct weft_arena *arena)
{
    cells[0].text = row->name;
    if (row->refusal != NULL) {
        cells[1].text = "no";
        return;
    }
    const struct weft_parts *parts = &row->parts;
    cells[1] = weft_cell_count(arena, row->link_count);
    cells[2] = weft_cell_number(arena, 3, row->mean_hops);
    cells[3] = weft_cell_count(arena, row->hops_max);
    cells[4] = weft_cell_count(arena, parts->nics);
    cells[5] = weft_cell_rate(arena, parts->rate_Bps);
    cells[6] = weft_cell_count(arena, parts->transceivers);
    cells[7] = weft_cell_count(arena, parts->switch_ports);
    cells[8] = weft_cell_usd(arena, row->cost.total_usd);
    cells[9] = weft_cell_number(arena, 1, row->cost.power_watts / 1000);
    cells[10] = weft_cell_power(arena, row->cost.power_watts);
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
        {"price", WEFT_ALIGN_RIGHT},        {"kW", WEFT_ALIGN_SHOWN},
        {"power", WEFT_ALIGN_SHEET},
    };
    char rate[WEFT_UNIT_TEXT];
    cli_say(cli, "%u servers, %u port%s of %s each\n\n", cluster->server_count, cluster->degree,
            cluster->degree == 1 ? "" : "s", weft_show_rate(rate, cluster->rate_Bps));
    struct weft_table_cell *cells =
        WEFT_NEW(&cli->arena, struct weft_table_cell, (size_t)count * COLUMNS);
    for (uint32_t i = 0; i < count; i++) {
        fill_cells(cells + (size_t)i * COLUMNS, &rows[i], &cli->arena);
    }
    cli_table(cli, columns, COLUMNS, cells, count);
    const char *gap = "\n";
    if (cluster->degree > 1) {
        cli_say(cli, "\nideal to cost-equivalent: a server's ports are one NIC of all their rate; "
                     "clos is the Fat-tree of single ports\n");
        gap = "";
    }
    if (cluster->switches.model_count > 0) {
        cli_say(cli,
                "%sPorts at the price book's prices; the cluster's switches are on the bills: "
                "--fabric all\n",
                gap);
        gap = "";
    }
    for (uint32_t i = 0; i < count; i++) {
        if (rows[i].refusal != NULL) {
            cli_say(cli, "%s%s\n", gap, rows[i].refusal);
            gap = "";
        }
    }
}

enum { FABRIC = 256, SWITCH, OVERSUBSCRIPTION, RACK_SERVERS, ROW_RACKS, CABLING };

static const struct argp_option options[] = {
    {"fabric", FABRIC, "NAMES", 0, "the bills of material of these fabrics, or of all", 0},
    {"switch", SWITCH, "MODEL", 0, "build it from this switch: 64x400G, or one of the cluster file",
     0},
    {"oversubscription", OVERSUBSCRIPTION, "X", 0, "X : 1 at the switches of servers (1)", 0},
    {"rack-servers", RACK_SERVERS, "N", 0, "servers of a rack (32 accelerators, or 4 servers)", 0},
    {"row-racks", ROW_RACKS, "N", 0, "racks of a row (8)", 0},
    {"cabling", CABLING, "FILE.csv", 0, "write every cable of the fabric: racks, devices, ports",
     0},
    {NULL, 0, NULL, 0, NULL, 0},
};

// What the options say.
struct list_input {
    struct cli *cli;
    struct weft_fabrics_request request;
    const char *cluster_path; // as an argument
    const char *cabling_path;
};

// Options of the request; a single argument is the cluster.
static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct list_input *input = state->input;
    struct cli *cli = input->cli;
    struct weft_bill_options *purchase = &input->request.purchase;
    switch (key) {
    case FABRIC:
        input->request.fabric = argument;
        return 0;
    case SWITCH:
        purchase->switch_name = argument;
        return 0;
    case OVERSUBSCRIPTION:
        return cli_oversubscription(cli, &purchase->shape, argument);
    case RACK_SERVERS:
        return cli_count(cli, &purchase->rack_servers, "rack-servers", argument, 1, 1u << 20);
    case ROW_RACKS:
        return cli_count(cli, &purchase->row_racks, "row-racks", argument, 1, 1u << 20);
    case CABLING:
        input->cabling_path = argument;
        input->request.cabling = true;
        return 0;
    case ARGP_KEY_ARG:
        return cli_take(cli, &input->cluster_path, argument, "cluster");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// What the command line alone can say wrong.
static bool check_input(struct cli *cli, struct list_input *input)
{
    struct weft_request_hardware *hardware = &input->request.hardware;
    *hardware = cli->given.hardware;
    if (input->cluster_path != NULL && hardware->cluster_path != NULL) {
        return cli_misuse(cli, "'%.60s' and --cluster: write one of them", input->cluster_path);
    }
    if (input->cluster_path != NULL) {
        hardware->cluster_path = input->cluster_path;
    }
    return input->cabling_path == NULL || cli_can_write(cli, input->cabling_path);
}

static bool save_cabling(struct cli *cli, const struct list_input *input,
                         const struct weft_fabrics_result *result)
{
    const char *text = weft_export_cabling_csv(&result->rows[0].sheet, &cli->arena);
    return weft_file_save(input->cabling_path, text, strlen(text), &cli->error);
}

// weft fabrics without a sub-verb: the table of all reference fabrics, or bills and the cabling of
// those that --fabric names.
static int list(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft fabrics",
        .arguments = "[CLUSTER.yaml]",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_HARDWARE | CLI_TABLES,
    };
    struct cli cli;
    struct list_input input = {.cli = &cli};
    if (!cli_parse(&cli, &verb, argc, argv, &input) || !check_input(&cli, &input)) {
        return cli_finish(&cli, false);
    }
    struct weft_request_environment *environment = cli_environment(&cli, NULL);
    struct weft_fabrics_result result;
    if (!weft_request_fabrics(&result, &input.request, environment) ||
        (input.request.cabling && !save_cabling(&cli, &input, &result))) {
        return cli_finish(&cli, false);
    }
    if (cli.json) {
        cli_say(&cli, "%s", weft_request_fabrics_json(&result, &cli.arena));
    } else if (result.bills && cli.form == CLI_CSV) {
        fabrics_print_csv(&cli, &result);
    } else if (result.bills) {
        fabrics_print_bills(&cli, &result, &input.request.purchase);
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
