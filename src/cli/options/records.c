// SPDX-License-Identifier: Apache-2.0
// The options that say what a run writes besides its result: records of flows, series of links, a
// timeline, a snapshot for weft interleave. Each names a file, and nothing is recorded that no
// option asks for, since a record costs time and memory for each event.

#include "cli/cli.h"

enum { KEY_FLOWS = 5000, KEY_SERIES, KEY_EVERY, KEY_TRACE, KEY_STEP, KEY_SNAPSHOT, KEY_JOB_NAME };

static const struct argp_option options[] = {
    {"flow-records", KEY_FLOWS, "FILE", 0,
     "write a record of each flow to FILE.csv or FILE.json: size, ends, packets, losses, marks", 0},
    {"flows", KEY_FLOWS, "FILE", OPTION_HIDDEN, NULL, 0}, // kept until 0.3
    {"series", KEY_SERIES, "FILE.csv", 0, "write what links do, sampled at equal intervals", 0},
    {"every", KEY_EVERY, "TIME", 0,
     "interval of the samples (10us); longer where there would be too many", 0},
    {"trace", KEY_TRACE, "FILE.pftrace", 0,
     "write a timeline for ui.perfetto.dev: servers' tasks and flows, links' load and queues", 0},
    {"step", KEY_STEP, "FILE.svg", 0,
     "with --transport mlt: draw what was sent over time, by class", 0},
    {"snapshot", KEY_SNAPSHOT, "FILE.json", 0,
     "write what the job demands of its links in an iteration, for weft interleave", 0},
    {"job-name", KEY_JOB_NAME, "NAME", 0, "name of the job in the snapshot (job)", 0},
    {0},
};

// Takes the names of the files, and how often links are sampled; --flows is the old name of
// --flow-records.
static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct cli *cli = state->input;
    struct cli_records *records = &cli->given.records;
    switch (key) {
    case KEY_FLOWS:
        return cli_take(cli, &records->flows_path, argument, "--flow-records");
    case KEY_SERIES:
        return cli_take(cli, &records->series_path, argument, "--series");
    case KEY_TRACE:
        return cli_take(cli, &records->trace_path, argument, "--trace");
    case KEY_EVERY:
        if (!weft_parse_time(&records->every_ps, argument, &cli->error)) {
            return cli_value(cli, false, "every");
        }
        return records->every_ps > 0 ? 0 : cli_usage(cli, "--every: 0 never ends; write 10us");
    case KEY_STEP:
        return cli_take(cli, &records->step_path, argument, "--step");
    case KEY_SNAPSHOT:
        return cli_take(cli, &records->snapshot_path, argument, "--snapshot");
    case KEY_JOB_NAME:
        records->job_name = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp cli_records_argp = {.options = options, .parser = parse};
