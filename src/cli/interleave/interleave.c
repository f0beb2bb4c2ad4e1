// SPDX-License-Identifier: Apache-2.0
// weft interleave: when jobs that share links should start.

#include "interleave.h"
#include "weft/format.h"
#include "weft/report.h"

#include <math.h>
#include <string.h>

enum {
    KEY_PRECISION = 1,
    KEY_QUANTUM,
    KEY_PERIMETER,
    KEY_HEURISTIC,
    KEY_WORK,
    KEY_SLACK,
    KEY_REPORT,
    KEY_SERIES,
    KEY_PERIOD,
    KEY_CAPACITY,
    KEY_NAME,
};

static const struct argp_option options[] = {
    {"precision", KEY_PRECISION, "DEGREES", 0, "rotations are multiples of at most this (5)", 0},
    {"quantum", KEY_QUANTUM, "TIME", 0, "round iteration times to multiples of this", 0},
    {"perimeter", KEY_PERIMETER, "N", 0, "at most N iterations of a link's shortest job (120)", 0},
    {"heuristic", KEY_HEURISTIC, NULL, 0, "many jobs in little time: no proof by search", 0},
    {"work", KEY_WORK, "N", 0, "end the search after N million cells (500)", 0},
    {"slack", KEY_SLACK, "SCORE", 0, "what a stray may cost a link (0.01)", 0},
    {"report", KEY_REPORT, "FILE.svg", 0, "draw the circles before and after", 0},
    {"series", KEY_SERIES, "FILE.csv", 0,
     "no snapshot: make one of a job from what its links carried", 0},
    {"period", KEY_PERIOD, "TIME", 0, "its iteration, where that is known", 0},
    {"capacity", KEY_CAPACITY, "RATE", 0, "of its links", 0},
    {"name", KEY_NAME, "NAME", 0, "of that job", 0},
    {0},
};

static const char doc[] =
    "Finds time-shifts for jobs that share links, so that their bursts meet as little as can be, "
    "and says how compatible they are: the score is 1 where no link is ever asked for more than it "
    "has.\vSNAPSHOT.json says links, jobs, their iterations and phases (docs/interleave.md); - is "
    "stdin; several are joined, links by their names. weft simulate --snapshot writes the snapshot "
    "of a job that is planned or traced, --series here that of one whose links were measured. Each "
    "job should start time_shift_s later; slack_s is how far it may stray before its "
    "shift should be renewed. upper_bound is proved: no shifts do better.\n"
    "\n"
    "Examples:\n"
    "  $ weft interleave examples/interleave/dlrm_dlrm.json\n"
    "  $ weft interleave examples/interleave/vgg19_vgg16_resnet50.json --report circles.svg\n"
    "  $ weft interleave - --json --heuristic < snapshot.json\n"
    "  $ weft simulate --plan plan.json --snapshot a.json --job-name a\n"
    "  $ weft interleave --series links.csv --capacity 50Gbps --name b > b.json\n"
    "  $ weft interleave a.json b.json\n";

static error_t parse_text(struct interleave_request *request, int key, const char *argument)
{
    struct cli *cli = request->cli;
    uint64_t millions = 0;
    switch (key) {
    case KEY_PRECISION:
        return cli_value(
            cli,
            weft_parse_number(&request->options.precision_degrees, argument, 0.01, 90, &cli->error),
            "precision");
    case KEY_QUANTUM:
        return cli_value(cli, weft_parse_time(&request->options.quantum_ps, argument, &cli->error),
                         "quantum");
    case KEY_PERIMETER:
        return cli_count(cli, &request->options.perimeter_limit, "perimeter", argument, 1, 1000000);
    case KEY_PERIOD:
        return cli_value(cli, weft_parse_time(&request->period_ps, argument, &cli->error),
                         "period");
    case KEY_CAPACITY:
        return cli_value(cli, weft_parse_rate(&request->capacity_Bps, argument, &cli->error),
                         "capacity");
    case KEY_WORK:
        if (!weft_parse_count(&millions, argument, 1, 1000000000, &cli->error)) {
            return cli_value(cli, false, "work");
        }
        request->options.work_limit = millions * 1000000;
        return 0;
    case KEY_SLACK:
        return cli_value(
            cli, weft_parse_number(&request->options.slack_loss, argument, 1e-6, 1, &cli->error),
            "slack");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct interleave_request *request = state->input;
    switch (key) {
    case KEY_HEURISTIC:
        request->options.heuristic = true;
        return 0;
    case KEY_REPORT:
        request->report_path = argument;
        return 0;
    case KEY_SERIES:
        request->series_path = argument;
        return 0;
    case KEY_NAME:
        request->name = argument;
        return 0;
    case ARGP_KEY_ARG:
        if (request->path_count == INTERLEAVE_PATHS_MAX) {
            return cli_usage(request->cli, "more than %u snapshots", INTERLEAVE_PATHS_MAX);
        }
        request->paths[request->path_count++] = argument;
        return 0;
    case ARGP_KEY_END:
        if (request->series_path != NULL && request->path_count > 0) {
            return cli_usage(request->cli, "--series makes a snapshot; leave out %s",
                             request->paths[0]);
        }
        return 0;
    case ARGP_KEY_NO_ARGS:
        return request->series_path != NULL
                   ? 0
                   : cli_usage(request->cli, "which snapshot? write %s SNAPSHOT.json",
                               request->cli->program);
    default:
        return parse_text(request, key, argument);
    }
}

// The snapshot, or several as one.
static bool load(struct weft_job_set *set, const struct interleave_request *request)
{
    struct cli *cli = request->cli;
    uint32_t count = request->path_count;
    struct weft_job_set *parts = WEFT_NEW(&cli->arena, struct weft_job_set, count);
    for (uint32_t p = 0; p < count; p++) {
        if (!weft_snapshot_load(&parts[p], request->paths[p], &cli->arena, cli->scratch,
                                &cli->error)) {
            return false;
        }
    }
    *set = parts[0];
    return count == 1 ||
           weft_snapshot_join(set, parts, count, &cli->arena, cli->scratch, &cli->error);
}

static bool run(struct interleave_request *request)
{
    struct cli *cli = request->cli;
    struct weft_job_set set;
    if (request->series_path != NULL) {
        return interleave_series(request);
    }
    if (request->report_path != NULL && !cli_can_write(cli, request->report_path)) {
        return false;
    }
    if (!load(&set, request)) {
        return false;
    }
    struct weft_interleaving found;
    request->options.seed = cli->seed;
    request->options.stop = cli_clock_start(cli, "interleaving", 0);
    bool fine = weft_interleave(&found, &set.snapshot, &request->options, &cli->arena, cli->scratch,
                                &cli->error);
    cli_clock_stop(cli);
    if (!fine) {
        return request->path_count > 1 ? false : weft_wrap(&cli->error, "%s", request->paths[0]);
    }
    interleave_tell(request, &set.snapshot, &found);
    if (request->report_path == NULL) {
        return true;
    }
    const char *svg = weft_report_svg_circles(&set.snapshot, &found, &cli->arena, cli->scratch);
    return weft_file_save(request->report_path, svg, strlen(svg), &cli->error);
}

int cli_interleave(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft interleave",
        .arguments = "SNAPSHOT.json...\n--series FILE.csv",
        .doc = doc,
        .options = options,
        .parser = parse,
    };
    struct cli cli;
    struct interleave_request request = {.cli = &cli};
    if (!cli_parse(&cli, &verb, argc, argv, &request)) {
        return cli_finish(&cli, false);
    }
    return cli_finish(&cli, run(&request));
}
