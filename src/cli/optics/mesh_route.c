// SPDX-License-Identifier: Apache-2.0
// weft optics mesh route: settings of a mesh that join pairs of ports.

#include "optics.h"
#include "weft/format.h"
#include "weft/request/mesh.h"

#include <string.h>

enum {
    KEY_ROWS = 1,
    KEY_COLUMNS,
    KEY_PORTS,
    KEY_MATCHING,
    KEY_STUCK,
    KEY_FORMER,
    KEY_GOAL,
    KEY_SOLVER,
    KEY_TOGGLE,
    KEY_WORK,
    KEY_REORDER,
    KEY_CELL_DB,
    KEY_PORT_DB,
    KEY_CROSSTALK_DB,
    KEY_BUDGET_DB,
    KEY_SWITCH_TIME,
    KEY_PLOT,
};

static const struct argp_option options[] = {
    {"rows", KEY_ROWS, "R", 0, "of hexagons", 0},
    {"columns", KEY_COLUMNS, "C", 0, "of hexagons", 0},
    {"ports", KEY_PORTS, "N|P,P,...", 0, "which are used: so many, which Weft chooses, or these",
     0},
    {"matching", KEY_MATCHING, "A-B,...[/...]", 0,
     "pairs of ports, rounds with a / between them; or round-robin: every two ports once", 0},
    {"stuck", KEY_STUCK, "E:bar|cross,...", 0, "cells that do not move any more", 0},
    {"former", KEY_FORMER, "HEX", 0, "the setting before the first round", 0},
    {"goal", KEY_GOAL, "total|worst", 0, "what is to be short: all routes, or the longest (total)",
     0},
    {"solver", KEY_SOLVER, "last|never|alone", 0,
     "a SAT solver where the router finds no setting (last), not at all, or instead of it", 0},
    {"toggle", KEY_TOGGLE, "CELLS", 0, "take so much longer routes to spare a cell a change (0)",
     0},
    {"work", KEY_WORK, "N", 0, "searches for each pair that shorten routes", 0},
    {"reorder", KEY_REORDER, NULL, 0, "rounds in the order in which few cells change", 0},
    {"cell-db", KEY_CELL_DB, "DB", 0, "lost in each cell (0)", 0},
    {"port-db", KEY_PORT_DB, "DB", 0, "lost at each port (0)", 0},
    {"crosstalk-db", KEY_CROSSTALK_DB, "DB", 0,
     "what leaks in a cell is so far below the light it leaks from (0: nothing leaks)", 0},
    {"budget-db", KEY_BUDGET_DB, "DB", 0, "what a pair may lose (0: anything)", 0},
    {"switch-time", KEY_SWITCH_TIME, "TIME", 0, "of a cell that changes (0)", 0},
    {"plot", KEY_PLOT, "FILE.svg", 0, "draw the first round's routes into a file, too", 0},
    {0},
};

static const char doc[] =
    "Finds a setting of all cells of a mesh for each matching, so that every pair has a route: by "
    "negotiation on waveguides, then shortened. Each setting is traced before it is shown.\v"
    "Ports are numbered along the rim. A matching that has no setting is refused with the run of "
    "ports whose waveguides are too few, or with the solver's proof.\n"
    "\n"
    "Examples:\n"
    "  $ weft optics mesh route --rows 2 --columns 2 --matching 7-17,11-14,4-18\n"
    "  $ weft optics mesh route --rows 9 --columns 9 --ports 32 --matching round-robin --json\n"
    "  $ weft optics mesh route --rows 5 --columns 5 --matching 3-20,9-31 --stuck 12:bar "
    "--cell-db 0.2 --budget-db 5\n";

struct route_input {
    struct cli *cli;
    const char *plot_path; // NULL = none
    struct weft_mesh_route_request request;
};

static error_t parse_decibels(struct cli *cli, double *value, const char *option, const char *text)
{
    return cli_value(cli, weft_parse_number(value, text, 0, 1000, &cli->error), option);
}

static error_t parse_light(struct route_input *input, int key, const char *argument)
{
    struct weft_mesh_route_request *request = &input->request;
    switch (key) {
    case KEY_CELL_DB:
        return parse_decibels(input->cli, &request->light.cell_db, "cell-db", argument);
    case KEY_PORT_DB:
        return parse_decibels(input->cli, &request->light.port_db, "port-db", argument);
    case KEY_CROSSTALK_DB:
        return parse_decibels(input->cli, &request->light.crosstalk_db, "crosstalk-db", argument);
    case KEY_BUDGET_DB:
        return parse_decibels(input->cli, &request->budget_db, "budget-db", argument);
    case KEY_SWITCH_TIME:
        return cli_value(input->cli,
                         weft_parse_time(&request->change_ps, argument, &input->cli->error),
                         "switch-time");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_search(struct route_input *input, int key, const char *argument)
{
    struct cli *cli = input->cli;
    struct weft_mesh_route_request *request = &input->request;
    uint32_t choice;
    error_t code;
    switch (key) {
    case KEY_GOAL:
        code = cli_choose(cli, &choice, "goal", argument, weft_mesh_goal_names, 2);
        request->goal = code == 0 ? (enum weft_mesh_goal)choice : request->goal;
        return code;
    case KEY_SOLVER:
        code = cli_choose(cli, &choice, "solver", argument, weft_mesh_solver_names, 3);
        request->solver = code == 0 ? (enum weft_mesh_solver)choice : request->solver;
        return code;
    case KEY_TOGGLE:
        return cli_value(cli,
                         weft_parse_number(&request->toggle_cells, argument, 0, 100, &cli->error),
                         "toggle");
    case KEY_WORK:
        code = cli_count(cli, &choice, "work", argument, 1, 1000000);
        request->effort = code == 0 ? choice : request->effort;
        return code;
    case KEY_REORDER:
        request->reorder = true;
        return 0;
    default:
        return parse_light(input, key, argument);
    }
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct route_input *input = state->input;
    struct weft_mesh_route_request *request = &input->request;
    struct cli *cli = input->cli;
    switch (key) {
    case KEY_ROWS:
        return cli_count(cli, &request->rows, "rows", argument, 1, WEFT_MESH_SIDE_MAX);
    case KEY_COLUMNS:
        return cli_count(cli, &request->columns, "columns", argument, 1, WEFT_MESH_SIDE_MAX);
    case KEY_PORTS:
        return cli_take(cli, &request->ports, argument, "choice of ports");
    case KEY_MATCHING:
        return cli_take(cli, &request->matching, argument, "matching");
    case KEY_STUCK:
        return cli_take(cli, &request->stuck, argument, "list of stuck cells");
    case KEY_FORMER:
        return cli_take(cli, &request->former, argument, "former setting");
    case KEY_PLOT:
        return cli_take(cli, &input->plot_path, argument, "plot");
    case ARGP_KEY_ARG:
        return cli_usage(cli, "'%.40s' is no option; write --matching A-B,...", argument);
    default:
        return parse_search(input, key, argument);
    }
}

static void print_round(struct cli *cli, const struct weft_mesh_route_result *result,
                        const struct weft_mesh_round *round)
{
    const struct weft_mesh_setting *setting = &round->setting;
    cli_say(cli, "round %u: %s\n ", round->index,
            weft_mesh_show(&result->mesh, setting->cells, &cli->arena));
    for (uint32_t i = 0; i < setting->route_count; i++) {
        const struct weft_mesh_route *route = &setting->routes[i];
        cli_say(cli, " %u-%u (%u)", route->from, route->to, route->length);
    }
    cli_say(cli, "\n");
}

static void print(struct cli *cli, const struct route_input *input,
                  const struct weft_mesh_route_result *result)
{
    const struct weft_mesh_route_request *request = &input->request;
    uint64_t toggled = 0;
    double worst_db = 0;
    for (uint32_t r = 0; r < result->round_count; r++) {
        const struct weft_mesh_setting *setting = &result->rounds[r].setting;
        toggled += result->rounds[r].toggled;
        for (uint32_t i = 0; i < setting->route_count; i++) {
            double loss_db = result->rounds[r].loss_db[i];
            worst_db = loss_db > worst_db ? loss_db : worst_db;
        }
    }
    cli_say(cli,
            "%u round%s on %u ports of a mesh of %u x %u, %u cells: routes of %.4g cells on "
            "average, %u at most\n",
            result->round_count, result->round_count == 1 ? "" : "s", result->port_count,
            result->mesh.rows, result->mesh.columns, result->mesh.cell_count, result->mean,
            result->worst);
    if (worst_db > 0) {
        cli_say(cli, "the worst route loses %.4g dB", worst_db);
        cli_say(cli, request->budget_db > 0 ? "; %u over the budget of %.4g dB\n" : "\n",
                result->over, request->budget_db);
    }
    if (result->round_count > 1) {
        char time[WEFT_UNIT_TEXT];
        cli_say(cli, "%.4g cells change from round to round",
                (double)toggled / (result->round_count - (request->former == NULL)));
        cli_say(cli, request->change_ps > 0 ? ", dark for %s\n" : "\n",
                weft_show_time(time, request->change_ps));
    }
    if (result->solved > 0) {
        cli_say(cli, "%u by the solver\n", result->solved);
    }
    cli_say(cli, "\na setting, its pairs (cells passed):\n");
    for (uint32_t r = 0; r < result->round_count; r++) {
        print_round(cli, result, &result->rounds[r]);
    }
}

static bool plot(const struct route_input *input, const struct weft_mesh_route_result *result)
{
    struct cli *cli = input->cli;
    const struct weft_mesh_round *round = &result->rounds[0];
    const struct weft_mesh_setting *setting = &round->setting;
    const struct weft_mesh_picture picture = {
        .mesh = &result->mesh,
        .cells = setting->cells,
        .stuck = result->stuck,
        .route_count = setting->route_count,
        .routes = setting->routes,
        .title = weft_arena_format(&cli->arena,
                                   "%u x %u hexagons, round %u: %u pairs, %.4g cells "
                                   "on average, %u at most",
                                   result->mesh.rows, result->mesh.columns, round->index,
                                   setting->route_count,
                                   (double)setting->total / setting->route_count, setting->worst),
    };
    const char *svg = weft_report_svg_mesh(&picture, &cli->arena);
    return weft_file_save(input->plot_path, svg, strlen(svg), &cli->error);
}

int optics_mesh_route(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft optics mesh route",
        .arguments = "",
        .doc = doc,
        .options = options,
        .parser = parse,
    };
    struct cli cli;
    struct route_input input = {.cli = &cli};
    struct weft_mesh_route_result result;
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) &&
                (input.plot_path == NULL || cli_can_write(&cli, input.plot_path));
    if (fine) {
        fine = weft_request_mesh_route(&result, &input.request,
                                       cli_environment(&cli, cli_clock_watch(&cli)));
        cli_clock_stop(&cli);
    }
    fine = fine && (input.plot_path == NULL || plot(&input, &result));
    if (fine && cli.json) {
        cli_say(&cli, "%s", weft_request_mesh_route_json(&result, &input.request, &cli.arena));
    } else if (fine) {
        print(&cli, &input, &result);
    }
    cli.exit_code = fine && result.over > 0 ? CLI_EXIT_NO : cli.exit_code;
    return cli_finish(&cli, fine);
}
