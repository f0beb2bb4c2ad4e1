// SPDX-License-Identifier: Apache-2.0
// The options that say what a Chakra trace needs beside it, its process groups and the accelerator
// that computes nodes without a duration, and what a workload of SimAI needs, its ranks. A file of
// groups may be named once; the others are read by their rows of weft_trace_parameters.

#include "cli/cli.h"

enum { KEY_GROUPS = 3000, KEY_ACCELERATOR, KEY_LENIENT, KEY_RANKS };

static const struct argp_option options[] = {
    {"groups", KEY_GROUPS, "FILE.json", 0, "process groups of the trace (PREFIX.json)", 0},
    {"accelerator", KEY_ACCELERATOR, "NAME", 0,
     "accelerator that prices the nodes of a trace which state operations but no duration", 0},
    {"lenient", KEY_LENIENT, NULL, 0,
     "take dependencies on nodes that the trace lacks for done, and PyTorch's kernels without "
     "call or description as they were recorded; count them",
     0},
    {"ranks", KEY_RANKS, "N", 0, "ranks of a SimAI workload without all_gpus", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct cli *cli = state->input;
    const struct cli_parameters parameters = {&cli->given.trace, weft_trace_parameters,
                                              WEFT_TRACE_PARAMETERS};
    switch (key) {
    case KEY_GROUPS:
        return cli_take(cli, &cli->given.trace.groups_path, argument, "--groups");
    case KEY_ACCELERATOR:
        return cli_parameter(cli, &parameters, "accelerator", argument);
    case KEY_LENIENT:
        return cli_parameter(cli, &parameters, "lenient", argument);
    case KEY_RANKS:
        return cli_parameter(cli, &parameters, "ranks", argument);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp cli_trace_argp = {.options = options, .parser = parse};
