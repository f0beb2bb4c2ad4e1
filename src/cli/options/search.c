// SPDX-License-Identifier: Apache-2.0
// The options that say how long and by which method a topology is searched.

#include "cli/cli.h"

#include <math.h>
#include <string.h>

enum { KEY_METHOD = 1200, KEY_SIMPLEX, KEY_SECONDS, KEY_EFFORT };

static const double seconds_least = 1e-9;
static const double seconds_max = 1e6;

static const struct argp_option options[] = {
    {"method", KEY_METHOD, "M", 0, "weft (default) or topoopt, the paper's TopologyFinder", 0},
    {"simplex", KEY_SIMPLEX, NULL, 0, "a ring takes one port a server, not one for each way", 0},
    {"seconds", KEY_SECONDS, "S", 0, "search up to S seconds; a clock ends it at twice that", 0},
    {"effort", KEY_EFFORT, "S", 0,
     "as --seconds, without the clock: the same answer on every machine", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct cli *cli = state->input;
    struct weft_request_search *search = &cli->search;
    switch (key) {
    case KEY_METHOD:
        if (strcmp(argument, "weft") == 0) {
            search->method = WEFT_TOPOLOGY_WEFT;
        } else if (strcmp(argument, "topoopt") == 0) {
            search->method = WEFT_TOPOLOGY_TOPOOPT;
        } else {
            return cli_usage(cli, "--method: '%.64s' is none; write weft or topoopt", argument);
        }
        return 0;
    case KEY_SIMPLEX:
        search->simplex = true;
        return 0;
    case KEY_SECONDS:
    case KEY_EFFORT:
        search->timed = key == KEY_SECONDS;
        if (!weft_parse_number(&search->seconds, argument, 0, seconds_max, &cli->error)) {
            return cli_value(cli, false, search->timed ? "seconds" : "effort");
        }
        // To the planner 0 means nothing was asked for; to a user it is the shortest search.
        search->seconds = fmax(search->seconds, seconds_least);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp cli_search_argp = {.options = options, .parser = parse};
