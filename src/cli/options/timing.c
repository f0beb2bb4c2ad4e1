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
     "how much of a link a job gets beside others, 0.001 to 1000 (1): in the flow engine a flow of "
     "weight 2 gets twice the rate of one of weight 1; in the packet engine the windows or rates "
     "of "
     "the job grow W times as fast, and the transport decides what share that makes. One for all "
     "jobs or one for each",
     0},
    {"priority", KEY_FIRST + 4, "P,...", 0,
     "packet engine: the queue, 0 to 6, in which a job's packets wait at each port (0); a packet "
     "of "
     "queue 1 is sent only while queue 0 is empty, and so on. One for all jobs or one for each; "
     "for "
     "a pattern of flows the values are given to its flows in turn",
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
