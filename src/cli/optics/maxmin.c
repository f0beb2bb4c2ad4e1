// SPDX-License-Identifier: Apache-2.0
// weft optics maxmin: circuits for a matrix of demand, and the permutation of each switch.

#include "optics.h"

#include <string.h>

#define PORTS_MAX 4096u
// Nodes whose matrices the text shows; --json has all.
#define NODES_SHOWN 16u

enum { KEY_PORTS = 1 };

static const struct argp_option options[] = {
    {"ports", KEY_PORTS, "Q", 0, "of every node, one on each of Q switches", 0},
    {0},
};

static const char doc[] =
    "Gives pairs parallel circuits so that the pair with the fewest for its demand has as many as "
    "can be: the ratio, circuits over demand, is proved to be the largest. Ports that are left "
    "over "
    "go to the pair with the least. Then circuits become permutations, one a switch.\v"
    "MATRIX has n lines of n numbers; every pair that asks for anything needs a circuit, so that a "
    "node has at most Q peers. Every circuit carries 1 in a unit of time: the demand is carried "
    "after 1 / ratio.\n"
    "\n"
    "Examples:\n"
    "  $ weft optics maxmin demand.txt --ports 4\n"
    "  $ weft optics maxmin demand.txt --ports 20 --json\n";

struct maxmin_input {
    struct cli *cli;
    struct weft_maxmin_request request;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct maxmin_input *input = state->input;
    switch (key) {
    case KEY_PORTS:
        return cli_count(input->cli, &input->request.ports, "ports", argument, 1, PORTS_MAX);
    case ARGP_KEY_ARG:
        return cli_take(input->cli, &input->request.path, argument, "matrix");
    case ARGP_KEY_END:
        if (input->request.path == NULL) {
            return cli_usage(input->cli, "which matrix? write %s MATRIX --ports Q",
                             input->cli->program);
        }
        return input->request.ports > 0
                   ? 0
                   : cli_usage(input->cli, "how many ports has a node? write --ports Q");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print(struct cli *cli, const struct weft_maxmin_result *result)
{
    uint32_t n = result->node_count;
    cli_say(
        cli,
        "%u nodes of %u ports: at least %.6g circuits a unit of demand (proved largest); all is "
        "carried after %.6g\n",
        n, result->port_count, result->ratio, 1 / result->ratio);
    if (n > NODES_SHOWN) {
        cli_say(cli, "--json has circuits and permutations\n");
        return;
    }
    cli_say(cli, "\ncircuits, row to column\n");
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            cli_say(cli, "%s%3u", j == 0 ? "" : " ", result->circuits[(size_t)i * n + j]);
        }
        cli_say(cli, "\n");
    }
    cli_say(cli, "\nswitch: where inputs 0 to %u go, - idle\n", n - 1);
    for (uint32_t s = 0; s < result->port_count; s++) {
        cli_say(cli, "%6u:", s);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t to = result->permutations[(size_t)s * n + i];
            if (to == i) {
                cli_say(cli, "   -");
            } else {
                cli_say(cli, " %3u", to);
            }
        }
        cli_say(cli, "\n");
    }
}

int optics_maxmin(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft optics maxmin",
        .arguments = "MATRIX",
        .doc = doc,
        .options = options,
        .parser = parse,
    };
    struct cli cli;
    struct maxmin_input input = {.cli = &cli};
    struct weft_maxmin_result result;
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) &&
                weft_request_maxmin(&result, &input.request, cli_environment(&cli, NULL));
    if (fine && cli.json) {
        cli_say(&cli, "%s", weft_request_maxmin_json(&result, &cli.arena));
    } else if (fine) {
        print(&cli, &result);
    }
    return cli_finish(&cli, fine);
}
