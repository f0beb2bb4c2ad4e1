// SPDX-License-Identifier: Apache-2.0
// weft optics moe: circuits beside packets for one all-to-all.

#include "optics.h"
#include "weft/format/file.h"
#include "weft/report.h"

#include <string.h>

#define PORTS_MAX 1024u
#define NODES_SHOWN 16u

enum { KEY_CIRCUITS = 1, KEY_EPS, KEY_PLOT };

static const struct argp_option options[] = {
    {"circuits", KEY_CIRCUITS, "A", 0, "ports of a node on the optical switch", 0},
    {"eps", KEY_EPS, "E", 0, "ports of a node on the packet fabric (0)", 0},
    {"plot", KEY_PLOT, "FILE.svg", 0, "draw the circuits over the matrix into a file, too", 0},
    {0},
};

static const char doc[] =
    "Joins nodes by duplex circuits of one optical switch so that an all-to-all ends soonest, with "
    "what circuits do not carry in time on a packet fabric beside it (MixNet).\v"
    "MATRIX has n lines of n numbers. The time is in units of the matrix for a port of rate one; "
    "ideal is that of one switch that carries anything by all ports, and lower_bound what no "
    "circuits are quicker than.\n"
    "\n"
    "Examples:\n"
    "  $ weft optics moe experts.txt --circuits 6 --eps 2\n"
    "  $ weft optics moe experts.txt --circuits 6 --eps 2 --plot circuits.svg\n";

struct moe_input {
    struct cli *cli;
    struct weft_moe_request request;
    const char *plot_path; // NULL = none
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct moe_input *input = state->input;
    struct weft_split_options *split = &input->request.options;
    switch (key) {
    case KEY_CIRCUITS:
        return cli_count(input->cli, &split->circuit_ports, "circuits", argument, 1, PORTS_MAX);
    case KEY_EPS:
        return cli_value(
            input->cli,
            weft_parse_number(&split->packet_ports, argument, 0, PORTS_MAX, &input->cli->error),
            "eps");
    case KEY_PLOT:
        return cli_take(input->cli, &input->plot_path, argument, "plot");
    case ARGP_KEY_ARG:
        return cli_take(input->cli, &input->request.path, argument, "matrix");
    case ARGP_KEY_END:
        if (input->request.path == NULL) {
            return cli_usage(input->cli, "which matrix? write %s MATRIX --circuits A --eps E",
                             input->cli->program);
        }
        return split->circuit_ports > 0
                   ? 0
                   : cli_usage(input->cli,
                               "how many ports has a node on the switch? write --circuits A");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print(struct cli *cli, const struct weft_moe_result *result)
{
    const struct weft_split_times *split = &result->split;
    uint32_t n = result->node_count;
    cli_say(cli,
            "%u nodes: all is carried after %.6g, %.4g x an ideal switch; no circuits are "
            "quicker than %.6g\n",
            n, split->time, split->ideal > 0 ? split->time / split->ideal : 1, split->bound);
    if (n > NODES_SHOWN) {
        cli_say(cli, "--json has the circuits\n");
        return;
    }
    cli_say(cli, "\ncircuits, both ways\n");
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            cli_say(cli, "%s%3u", j == 0 ? "" : " ", result->circuits[(size_t)i * n + j]);
        }
        cli_say(cli, "\n");
    }
}

static bool plot(const struct moe_input *input, const struct weft_moe_result *result)
{
    struct cli *cli = input->cli;
    const struct weft_circuit_chart chart = {result->node_count, result->bytes, result->circuits,
                                             result->split.time, result->split.ideal};
    const char *svg = weft_report_svg_circuits(&chart, &cli->arena);
    return weft_file_save(input->plot_path, svg, strlen(svg), &cli->error);
}

int optics_moe(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft optics moe",
        .arguments = "MATRIX",
        .doc = doc,
        .options = options,
        .parser = parse,
    };
    struct cli cli;
    struct moe_input input = {.cli = &cli};
    struct weft_moe_result result;
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) &&
                cli_can_write(&cli, input.plot_path) &&
                weft_request_moe(&result, &input.request, cli_environment(&cli, NULL)) &&
                (input.plot_path == NULL || plot(&input, &result));
    if (fine && cli.json) {
        cli_say(&cli, "%s", weft_request_moe_json(&result, &cli.arena));
    } else if (fine) {
        print(&cli, &result);
    }
    return cli_finish(&cli, fine);
}
