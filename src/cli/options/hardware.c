// SPDX-License-Identifier: Apache-2.0
// The options that say which hardware there is: names and help.
//
// Their values are read by the rows of weft_hardware_parameters, which weft sweep reads scenarios
// by, too; a message of the request names a row in braces and the door spells it as the option.

#include "cli/cli.h"

enum { KEY_FIRST = 1100 };

static const struct argp_option options[] = {
    {"cluster", KEY_FIRST, "FILE", 0,
     "the hardware: a cluster with its prices (FILE.yaml), or a server's NCCL topology (FILE.xml); "
     "the options below win",
     0},
    {"servers", KEY_FIRST + 1, "N", 0, "number of servers", 0},
    {"degree", KEY_FIRST + 2, "D", 0, "network ports of a server", 0},
    {"rate", KEY_FIRST + 3, "R", 0, "rate of a port: 100Gbps, 12.5GB/s", 0},
    {"latency", KEY_FIRST + 4, "T", 0, "propagation time of one link: 1us, 500ns", 0},
    {"host-rate", KEY_FIRST + 5, "R", 0,
     "rate from an accelerator to its NICs, each way, which a port's cannot exceed: 64GB/s (the "
     "cluster's, else the accelerator's PCIe; 0: nothing is limited)",
     0},
    {"balance", KEY_FIRST + 6, "HOW", 0,
     "how switches divide a transfer over equal paths: even (all of them alike, the default; "
     "spray is the same) or hash (one path each, as packets do by default, which --spray divides)",
     0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct cli *cli = state->input;
    if (key < KEY_FIRST || key >= KEY_FIRST + WEFT_HARDWARE_PARAMETERS) {
        return ARGP_ERR_UNKNOWN;
    }
    if (key == KEY_FIRST + 1 && cli->verb->servers_max > 0) {
        return cli_count(cli, &cli->given.hardware.server_count, "servers", argument, 2,
                         cli->verb->servers_max);
    }
    const struct cli_parameters parameters = {&cli->given.hardware, weft_hardware_parameters,
                                              WEFT_HARDWARE_PARAMETERS};
    return cli_parameter(cli, &parameters, options[key - KEY_FIRST].name, argument);
}

const struct argp cli_hardware_argp = {.options = options, .parser = parse};
