// SPDX-License-Identifier: Apache-2.0
// The options of job timing: how jobs repeat themselves and share links. Names and help.
//
// Their values are read by the rows of weft_timing_parameters; most are lists with one value for
// all jobs or one for each.

#include "cli/cli.h"

enum { KEY_FIRST = 6000 };

static const struct argp_option options[] = {
    {"iterations", KEY_FIRST, "N", 0,
     "each job plays so many, one when the one before has ended (1); their mean and 99th "
     "percentile are told",
     0},
    {"start", KEY_FIRST + 1, "TIME,...", 0, "when jobs begin (0): one for all, or one for each", 0},
    {"jitter", KEY_FIRST + 2, "RATIO,...", 0,
     "standard deviation of an iteration's compute times, all by one factor (0), likewise; of a "
     "snapshot's jobs also a time",
     0},
    {"weight", KEY_FIRST + 3, "W,...", 0,
     "of a job's flows on links, or of the growth of its windows or rates (packets), of 1, "
     "likewise",
     0},
    {"priority", KEY_FIRST + 4, "P,...", 0,
     "a job's queue at each port, 0 the most urgent, at most 6 (packets), likewise; of flows in "
     "words in turn",
     0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct cli *cli = state->input;
    if (key < KEY_FIRST || key >= KEY_FIRST + WEFT_TIMING_PARAMETERS) {
        return ARGP_ERR_UNKNOWN;
    }
    const struct cli_parameters parameters = {&cli->given.timing, weft_timing_parameters,
                                              WEFT_TIMING_PARAMETERS};
    return cli_parameter(cli, &parameters, options[key - KEY_FIRST].name, argument);
}

const struct argp cli_timing_argp = {.options = options, .parser = parse};
