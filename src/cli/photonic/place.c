// SPDX-License-Identifier: Apache-2.0
// weft photonic place: which inference appliances, how many and where on a fabric.

#include "cli/photonic/photonic.h"
#include "weft/report.h"
#include "weft/request/photonic_place.h"

#include <string.h>

enum { KEY_FABRIC = 1000 };

static const struct argp_option options[] = {
    {"fabric", KEY_FABRIC, "FABRIC", 0, "whose servers they are: leaf-spine, fat-tree:16, ...", 0},
    {0},
};

static const char doc[] =
    "Chooses inference appliances (Lightning, A100, or your own), their numbers and their places "
    "among the free ports of a fabric, so that every model's requests are served within their "
    "objective at least cost: dollars, and of equal dollars watts.\v"
    "DEMAND.yaml has appliances (name, price, and like: a processor of weft photonic serve-study, "
    "or power and models with their rate and latency), demands (server, model, requests a second) "
    "and places (servers whose ports are free). An appliance's load stays at or below rho (0.7); "
    "a latency is the network's, there and back, and processor sharing on the appliance at that "
    "load. lower_bound is proved by branch and bound. Exit code 1: no placement does it.\n"
    "\n"
    "Examples:\n"
    "  $ weft photonic place examples/photonic/demand.yaml leaf-spine:16 --rate 100Gbps\n"
    "  $ weft photonic place examples/photonic/demand.yaml examples/clusters/16x4-100g.yaml\n";

struct place_input {
    struct cli *cli;
    const char *demand_path;
    const char *where; // a cluster's file, or a fabric
    const char *fabric;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct place_input *input = state->input;
    switch (key) {
    case KEY_FABRIC:
        return cli_take(input->cli, &input->fabric, argument, "fabric");
    case ARGP_KEY_ARG:
        if (input->demand_path == NULL) {
            input->demand_path = argument;
            return 0;
        }
        return cli_take(input->cli, &input->where, argument, "cluster or fabric");
    case ARGP_KEY_END:
        return input->demand_path != NULL
                   ? 0
                   : cli_usage(input->cli, "which demand? write %s DEMAND.yaml FABRIC",
                               input->cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_places(struct cli *cli, const struct weft_photonic_place_result *result)
{
    static const struct weft_table_column columns[] = {
        {"server", WEFT_ALIGN_RIGHT},
        {"appliance", WEFT_ALIGN_LEFT},
        {"rho", WEFT_ALIGN_RIGHT},
        {"price", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct weft_arena *arena = &cli->arena;
    struct weft_table_cell *cells =
        WEFT_NEW(arena, struct weft_table_cell, (size_t)result->file.place_count * COLUMNS);
    uint32_t rows = 0;
    for (uint32_t p = 0; p < result->file.place_count; p++) {
        uint32_t kind = result->placement.kinds[p];
        if (kind != WEFT_NONE) {
            struct weft_table_cell *at = &cells[(size_t)rows++ * COLUMNS];
            at[0] = weft_cell_count(arena, result->file.places[p]);
            at[1].text = result->problem.kinds[kind].name;
            at[2] = weft_cell_number(arena, 3, result->placement.rhos[p]);
            at[3] = weft_cell_usd(arena, result->problem.kinds[kind].usd);
        }
    }
    cli_table(cli, columns, COLUMNS, cells, rows);
}

static void print_demands(struct cli *cli, const struct weft_photonic_place_result *result)
{
    static const struct weft_table_column columns[] = {
        {"from server", WEFT_ALIGN_RIGHT}, {"model", WEFT_ALIGN_LEFT},
        {"requests/s", WEFT_ALIGN_RIGHT},  {"latency", WEFT_ALIGN_RIGHT},
        {"objective", WEFT_ALIGN_RIGHT},   {"served at", WEFT_ALIGN_LEFT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct weft_arena *arena = &cli->arena;
    uint32_t places = result->file.place_count;
    struct weft_table_cell *cells =
        WEFT_NEW(arena, struct weft_table_cell, (size_t)result->file.demand_count * COLUMNS);
    for (uint32_t d = 0; d < result->file.demand_count; d++) {
        const struct weft_inference_demand *demand = &result->file.demands[d];
        struct weft_table_cell *at = &cells[(size_t)d * COLUMNS];
        at[0] = weft_cell_count(arena, demand->server);
        at[1].text = result->nets[demand->net].name;
        at[2] = weft_cell_number(arena, 0, demand->requests_per_s);
        at[3] = weft_cell_time(arena, result->placement.latencies_ns[d] * 1e-9);
        at[4] = weft_cell_time(arena, weft_seconds(demand->objective_ps));
        const char *list = "";
        for (uint32_t p = 0; p < places; p++) {
            double share = result->placement.shares[(size_t)d * places + p];
            if (share > 0) {
                list = weft_arena_format(arena, "%s%s%u: %.0f %%", list, *list == '\0' ? "" : ", ",
                                         result->file.places[p], 100 * share);
            }
        }
        at[5].text = list;
    }
    cli_table(cli, columns, COLUMNS, cells, result->file.demand_count);
}

static void print(struct cli *cli, const struct weft_photonic_place_result *result)
{
    char usd[WEFT_UNIT_TEXT];
    char bound[WEFT_UNIT_TEXT];
    char watts[WEFT_UNIT_TEXT];
    const struct weft_serving_placement *placement = &result->placement;
    cli_say(cli, "%s, %u servers: %s and %s; no placement costs less than %s (%s)\n\n",
            result->fabric, result->server_count, weft_show_usd(usd, placement->usd),
            weft_show_watts(watts, placement->watts), weft_show_usd(bound, placement->bound_usd),
            placement->proved ? "proved: this one is optimal" : "proved; the search ended early");
    print_places(cli, result);
    cli_say(cli, "\n");
    print_demands(cli, result);
}

static bool names_cluster(const char *where)
{
    size_t length = strlen(where);
    return (length > 5 && strcmp(where + length - 5, ".yaml") == 0) ||
           weft_request_is_topology(where);
}

int photonic_place(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft photonic place",
        .arguments = "DEMAND.yaml [CLUSTER.yaml|FABRIC]",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_TABLES | CLI_HARDWARE,
    };
    struct cli cli;
    struct place_input input = {.cli = &cli};
    struct weft_photonic_place_result result;
    bool fine = cli_parse(&cli, &verb, argc, argv, &input);
    struct weft_photonic_place_request request = {
        .demand_path = input.demand_path, .hardware = cli.given.hardware, .fabric = input.fabric};
    if (fine && input.where != NULL && names_cluster(input.where)) {
        fine = request.hardware.cluster_path == NULL ||
               cli_misuse(&cli, "%s and --cluster name two clusters", input.where);
        request.hardware.cluster_path = input.where;
    } else if (fine && input.where != NULL) {
        fine = request.fabric == NULL ||
               cli_misuse(&cli, "%s and --fabric name two fabrics", input.where);
        request.fabric = input.where;
    }
    fine = fine && weft_request_photonic_place(&result, &request, cli_environment(&cli, NULL));
    if (fine && cli.json) {
        cli_say(&cli, "%s", weft_request_photonic_place_json(&result, &cli.arena));
    } else if (fine) {
        print(&cli, &result);
    }
    return cli_finish(&cli, fine);
}
