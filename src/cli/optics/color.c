// SPDX-License-Identifier: Apache-2.0
// weft optics color: wavelengths for the arcs of a ring.

#include "optics.h"
#include "weft/format.h"

#include <string.h>

#define RING_MAX 4096u
// Arcs that the text shows; --json has all.
#define ARCS_SHOWN 32u

enum { KEY_RING = 1, KEY_BOTH_WAYS, KEY_PLOT };

static const struct argp_option options[] = {
    {"ring", KEY_RING, "N", 0, "nodes of the ring", 0},
    {"both-ways", KEY_BOTH_WAYS, NULL, 0,
     "arcs may go the other way round instead, on a second fiber", 0},
    {"plot", KEY_PLOT, "FILE.svg", 0, "draw the ring with its arcs into a file, too", 0},
    {0},
};

static const char doc[] =
    "Gives every arc of a ring one wavelength from end to end, so that no two arcs of a wavelength "
    "share a segment, with as few wavelengths as it finds.\v"
    "ARCS has a line `start hops` for each clockwise arc. The load, the most arcs on one segment, "
    "is not always enough (three arcs of half a ring each can meet pairwise); lower_bound is "
    "proved.\n"
    "\n"
    "Examples:\n"
    "  $ weft optics color arcs.txt --ring 64\n"
    "  $ weft optics color arcs.txt --ring 64 --both-ways --json\n";

struct color_input {
    struct cli *cli;
    const char *plot_path; // NULL = none
    struct weft_color_request request;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct color_input *input = state->input;
    switch (key) {
    case KEY_RING:
        return cli_count(input->cli, &input->request.ring, "ring", argument, 2, RING_MAX);
    case KEY_BOTH_WAYS:
        input->request.options.both_ways = true;
        return 0;
    case KEY_PLOT:
        return cli_take(input->cli, &input->plot_path, argument, "plot");
    case ARGP_KEY_ARG:
        return cli_take(input->cli, &input->request.path, argument, "file of arcs");
    case ARGP_KEY_END:
        if (input->request.path == NULL) {
            return cli_usage(input->cli, "which arcs? write %s ARCS --ring N", input->cli->program);
        }
        return input->request.ring > 0
                   ? 0
                   : cli_usage(input->cli, "how many nodes has the ring? write --ring N");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print(struct cli *cli, const struct weft_color_result *result)
{
    const struct weft_ring_coloring *coloring = &result->coloring;
    static const struct weft_table_column columns[] = {
        {"start", WEFT_ALIGN_RIGHT},
        {"hops", WEFT_ALIGN_RIGHT},
        {"wavelength", WEFT_ALIGN_RIGHT},
        {"way", WEFT_ALIGN_LEFT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    uint32_t shown =
        cli->form == CLI_CSV || result->arc_count < ARCS_SHOWN ? result->arc_count : ARCS_SHOWN;
    struct weft_table_cell *cells =
        WEFT_NEW(&cli->arena, struct weft_table_cell, (size_t)shown * COLUMNS);
    cli_say(cli, "%u wavelength%s%s for %u arcs on a ring of %u; load %u, ", coloring->wavelengths,
            coloring->wavelengths == 1 ? "" : "s", result->both_ways ? " of each fiber" : "",
            result->arc_count, result->ring, coloring->load);
    if (coloring->wavelengths == coloring->bound) {
        cli_say(cli, "proved fewest\n\n");
    } else {
        cli_say(cli, "not fewer than %u: not proved fewest\n\n", coloring->bound);
    }
    for (uint32_t a = 0; a < shown; a++) {
        struct weft_table_cell *row = cells + (size_t)a * COLUMNS;
        row[0] = weft_cell_count(&cli->arena, result->arcs[a].start);
        row[1] = weft_cell_count(&cli->arena, result->arcs[a].hops);
        row[2] = weft_cell_count(&cli->arena, coloring->colors[a]);
        row[3].text = coloring->turned[a] ? "counter-clockwise" : "clockwise";
    }
    cli_table(cli, columns, COLUMNS, cells, shown);
    if (shown < result->arc_count) {
        cli_say(cli, "and %u more arcs; --json lists all\n", result->arc_count - shown);
    }
}

static bool plot(struct cli *cli, const char *path, const struct weft_color_result *result)
{
    const struct weft_ring_picture picture = {result->ring, result->arc_count, result->arcs,
                                              &result->coloring, result->both_ways};
    const char *svg = weft_report_svg_wavelengths(&picture, &cli->arena);
    return weft_file_save(path, svg, strlen(svg), &cli->error);
}

int optics_color(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft optics color",
        .arguments = "ARCS",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_TABLES,
    };
    struct cli cli;
    struct color_input input = {.cli = &cli};
    struct weft_color_result result;
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) &&
                (input.plot_path == NULL || cli_can_write(&cli, input.plot_path)) &&
                weft_request_color(&result, &input.request, cli_environment(&cli, NULL)) &&
                (input.plot_path == NULL || plot(&cli, input.plot_path, &result));
    if (fine && cli.json) {
        cli_say(&cli, "%s", weft_request_color_json(&result, &cli.arena));
    } else if (fine) {
        print(&cli, &result);
    }
    return cli_finish(&cli, fine);
}
