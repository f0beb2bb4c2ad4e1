// SPDX-License-Identifier: Apache-2.0
// The options of job timing: how jobs repeat themselves and share links. Names and help.
//
// Their values are read by the rows of weft_timing_parameters; most are lists with one value for
// all jobs or one for each.

#include "cli/cli.h"

enum { KEY_FIRST = 6000 };

static const struct argp_option options[] = {
    {"iterations", KEY_FIRST, "N", 0,
     "iterations of each job, one when the one before has ended (1); the result has their mean and "
     "99th percentile",
     0},
    {"start", KEY_FIRST + 1, "TIME,...", 0,
     "when jobs begin (0): one time for all, or one for each", 0},
    {"jitter", KEY_FIRST + 2, "RATIO,...", 0,
     "standard deviation of the compute times of an iteration, which vary by one factor (0): one "
     "for all jobs or one for each; of the jobs of a snapshot also a time",
     0},
    {"weight", KEY_FIRST + 3, "W,...", 0,
     "weight of the flows of a job on links, or of the growth of its windows or rates (packets), "
     "around 1: one for all jobs or one for each",
     0},
    {"priority", KEY_FIRST + 4, "P,...", 0,
     "queue of a job at each port, 0 the most urgent, at most 6 (packets): one for all jobs or one "
     "for each; of flows that patterns name, in turn",
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
