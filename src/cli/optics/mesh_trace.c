// SPDX-License-Identifier: Apache-2.0
// weft optics mesh trace: where light from each port of a set mesh comes out.

#include "optics.h"
#include "weft/request/mesh.h"

enum { KEY_ROWS = 1, KEY_COLUMNS, KEY_CELLS };

static const struct argp_option options[] = {
    {"rows", KEY_ROWS, "R", 0, "of hexagons", 0},
    {"columns", KEY_COLUMNS, "C", 0, "of hexagons", 0},
    {"cells", KEY_CELLS, "HEX", 0, "the setting: bit e is one where cell e is cross", 0},
    {0},
};

static const char doc[] = "Follows light from every port of a mesh through its cells to where it "
                          "comes out. Every setting "
                          "joins all ports two by two.\v"
                          "Cells are numbered chain by chain, then the cells between chains; ports "
                          "along the rim from the "
                          "first vertex on (docs/photonic-mesh.md has a picture).\n"
                          "\n"
                          "Examples:\n"
                          "  $ weft optics mesh trace --rows 1 --columns 1 --cells 3f\n"
                          "  $ weft optics mesh trace --rows 2 --columns 2 --cells 7f85f --json\n";

struct trace_input {
    struct cli *cli;
    struct weft_mesh_trace_request request;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct trace_input *input = state->input;
    struct weft_mesh_trace_request *request = &input->request;
    switch (key) {
    case KEY_ROWS:
        return cli_count(input->cli, &request->rows, "rows", argument, 1, WEFT_MESH_SIDE_MAX);
    case KEY_COLUMNS:
        return cli_count(input->cli, &request->columns, "columns", argument, 1, WEFT_MESH_SIDE_MAX);
    case KEY_CELLS:
        return cli_take(input->cli, &request->cells, argument, "setting");
    case ARGP_KEY_ARG:
        return cli_usage(input->cli, "'%.40s' is no option; write --cells HEX", argument);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print(struct cli *cli, const struct weft_mesh_trace_result *result)
{
    static const struct weft_table_column columns[] = {
        {"port", WEFT_ALIGN_RIGHT}, {"port", WEFT_ALIGN_RIGHT}, {"cells", WEFT_ALIGN_RIGHT}};
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    const struct weft_mesh *mesh = &result->mesh;
    cli_say(cli, "%u of %u cells are cross; %u ports, %u loop%s\n\n", result->cross_count,
            mesh->cell_count, mesh->port_count, result->loop_count,
            result->loop_count == 1 ? "" : "s");
    struct weft_table_cell *cells =
        WEFT_NEW(&cli->arena, struct weft_table_cell, (size_t)mesh->port_count * COLUMNS);
    uint32_t rows = 0;
    for (uint32_t p = 0; p < mesh->port_count; p++) {
        if (p < result->peers[p]) {
            struct weft_table_cell *row = &cells[(size_t)rows++ * COLUMNS];
            row[0] = weft_cell_count(&cli->arena, p);
            row[1] = weft_cell_count(&cli->arena, result->peers[p]);
            row[2] = weft_cell_count(&cli->arena, result->lengths[p]);
        }
    }
    cli_table(cli, columns, COLUMNS, cells, rows);
}

int optics_mesh_trace(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft optics mesh trace",
        .arguments = "",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_TABLES,
    };
    struct cli cli;
    struct trace_input input = {.cli = &cli};
    struct weft_mesh_trace_result result;
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) &&
                weft_request_mesh_trace(&result, &input.request, cli_environment(&cli, NULL));
    if (fine && cli.json) {
        cli_say(&cli, "%s", weft_request_mesh_trace_json(&result, &cli.arena));
    } else if (fine) {
        print(&cli, &result);
    }
    return cli_finish(&cli, fine);
}
