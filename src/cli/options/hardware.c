// SPDX-License-Identifier: Apache-2.0
// The options that say which hardware there is.

#include "cli/cli.h"

enum { KEY_CLUSTER = 1100, KEY_SERVERS, KEY_DEGREE, KEY_RATE, KEY_LATENCY };

static const uint32_t servers_max = 1u << 20;

static const struct argp_option options[] = {
    {"cluster", KEY_CLUSTER, "FILE", 0,
     "the hardware: a cluster with its prices (FILE.yaml), or a server's NCCL topology (FILE.xml); "
     "the options below win",
     0},
    {"servers", KEY_SERVERS, "N", 0, "servers of the cluster", 0},
    {"degree", KEY_DEGREE, "D", 0, "network ports a server", 0},
    {"rate", KEY_RATE, "R", 0, "rate of a port: 100Gbps, 12.5GB/s", 0},
    {"latency", KEY_LATENCY, "T", 0, "propagation of one link: 1us, 500ns", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct cli *cli = state->input;
    struct weft_request_hardware *hardware = &cli->hardware;
    switch (key) {
    case KEY_CLUSTER:
        hardware->cluster_path = argument;
        return 0;
    case KEY_SERVERS:
        return cli_count(cli, &hardware->server_count, "servers", argument, 1, servers_max);
    case KEY_DEGREE:
        return cli_count(cli, &hardware->degree, "degree", argument, 1, servers_max);
    case KEY_RATE:
        hardware->rate_given = true;
        return cli_value(cli, weft_parse_rate(&hardware->rate_Bps, argument, &cli->error), "rate");
    case KEY_LATENCY:
        hardware->latency_given = true;
        return cli_value(cli, weft_parse_time(&hardware->latency_ps, argument, &cli->error),
                         "latency");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp cli_hardware_argp = {.options = options, .parser = parse};
