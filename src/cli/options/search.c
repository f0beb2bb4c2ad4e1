// SPDX-License-Identifier: Apache-2.0
// The options that say how long and by which method a topology is searched: names and help.
//
// Their values are read by the rows of weft_search_parameters: --seconds lets a clock end the
// search, too, and --effort takes the same steps on every machine.

#include "cli/cli.h"

enum { KEY_METHOD = 1200, KEY_SIMPLEX, KEY_SECONDS, KEY_EFFORT };

static const struct argp_option options[] = {
    {"method", KEY_METHOD, "M", 0,
     "search method: weft (default) or topoopt, the paper's TopologyFinder", 0},
    {"simplex", KEY_SIMPLEX, NULL, 0,
     "a ring takes one port of a server, not one for each direction", 0},
    {"seconds", KEY_SECONDS, "S", 0, "search with the effort S, and end S seconds after the start",
     0},
    {"effort", KEY_EFFORT, "S[:N]", 0,
     "seconds counted in work: the same answer on every machine; N: as a search of a plan that was "
     "left unfinished says it",
     0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct cli *cli = state->input;
    if (key < KEY_METHOD || key > KEY_EFFORT) {
        return ARGP_ERR_UNKNOWN;
    }
    const struct cli_parameters parameters = {&cli->given.search, weft_search_parameters,
                                              WEFT_SEARCH_PARAMETERS};
    return cli_parameter(cli, &parameters, options[key - KEY_METHOD].name, argument);
}

const struct argp cli_search_argp = {.options = options, .parser = parse};
