// SPDX-License-Identifier: Apache-2.0
// weft schedule: many jobs on one cluster over time.

#include "schedule.h"
#include "weft/format.h"
#include "weft/report.h"

#include <string.h>

enum {
    KEY_POLICY = 1,
    KEY_INTERLEAVE,
    KEY_CANDIDATES,
    KEY_ENGINE,
    KEY_FABRIC,
    KEY_WINDOW,
    KEY_WARM_UP,
    KEY_LEASE,
    KEY_UNTIL,
    KEY_GANTT,
    KEY_ALL,
};

static const struct argp_option options[] = {
    {"policy", KEY_POLICY, "P", 0, "consolidated (default), random, rack-aware, themis or pollux",
     0},
    {"interleave", KEY_INTERLEAVE, NULL, 0,
     "rank placements by how jobs' bursts fit together, and shift their starts", 0},
    {"candidates", KEY_CANDIDATES, "K", 0, "placements to rank for a job (10)", 0},
    {"engine", KEY_ENGINE, "E", 0,
     "how jobs that share links fare: model (default); flow or packet: all in that engine", 0},
    {"fabric", KEY_FABRIC, "F", 0,
     "a reference fabric, or shards: servers and a topology of its own for each job", 0},
    {"window", KEY_WINDOW, "N", 0,
     "iterations of the slowest job that a steady state is measured over (40)", 0},
    {"warm-up", KEY_WARM_UP, "N", 0, "... and those before them (10)", 0},
    {"lease", KEY_LEASE, "TIME", 0, "themis, pollux: between renewals (10min)", 0},
    {"until", KEY_UNTIL, "TIME", 0, "cut off there what is not done", 0},
    {"gantt", KEY_GANTT, "FILE.svg", 0, "draw who had which servers when", 0},
    {"all", KEY_ALL, NULL, 0, "show all jobs, not the first 20", 0},
    {0},
};

static const char doc[] =
    "Plays a trace of training jobs on one cluster: when each begins, on which servers, how its "
    "iterations fare beside the others, what failures cost.\v"
    "A trace is a YAML file with a cluster, a fabric, classes of jobs (by their phases, or by the "
    "files of a task graph or a plan), jobs that are listed or arrive by chance (poisson), and "
    "failures. docs/scheduler.md tells the form, the policies and the model, and how far it is "
    "from the flow engine.\n"
    "\n"
    "Examples:\n"
    "  $ weft schedule examples/traces/six-racks.yaml --policy rack-aware --interleave\n"
    "  $ weft schedule day.yaml --policy themis --interleave --gantt day.svg --json -o day.json\n"
    "  $ weft schedule day.yaml --fabric shards\n";

const char *const schedule_engines[] = {"model", "flow", "packet"}; // by enum weft_steady_engine

static error_t take_policy(struct schedule *schedule, const char *argument)
{
    struct cli *cli = schedule->cli;
    return cli_value(cli, weft_policy_find(&schedule->options.policy, argument, &cli->error),
                     "policy");
}

static error_t take_engine(struct schedule *schedule, const char *argument)
{
    for (int engine = WEFT_STEADY_MODEL; engine <= WEFT_STEADY_PACKET; engine++) {
        if (strcmp(argument, schedule_engines[engine]) == 0) {
            schedule->options.engine = (enum weft_steady_engine)engine;
            return 0;
        }
    }
    return cli_usage(schedule->cli, "--engine: '%.40s'; write model, flow or packet", argument);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct schedule *schedule = state->input;
    struct cli *cli = schedule->cli;
    struct weft_scheduler_options *own = &schedule->options;
    switch (key) {
    case KEY_POLICY:
        return take_policy(schedule, argument);
    case KEY_INTERLEAVE:
        own->interleave = true;
        return 0;
    case KEY_CANDIDATES:
        return cli_count(cli, &own->candidates, "candidates", argument, 1, 1000);
    case KEY_ENGINE:
        return take_engine(schedule, argument);
    case KEY_FABRIC:
        schedule->fabric = argument;
        return 0;
    case KEY_WINDOW:
        return cli_count(cli, &own->window, "window", argument, 1, 100000);
    case KEY_WARM_UP:
        return cli_count(cli, &own->warm_up, "warm-up", argument, 1, 100000);
    case KEY_LEASE:
        return cli_value(cli, weft_parse_time(&own->lease_ps, argument, &cli->error), "lease");
    case KEY_UNTIL:
        return cli_value(cli, weft_parse_time(&own->until_ps, argument, &cli->error), "until");
    case KEY_GANTT:
        schedule->gantt_path = argument;
        return 0;
    case KEY_ALL:
        schedule->all_jobs = true;
        return 0;
    case ARGP_KEY_ARG:
        return cli_take(cli, &schedule->path, argument, "trace");
    case ARGP_KEY_NO_ARGS:
        return cli_usage(cli, "which trace? write %s TRACE.yaml", cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool save_gantt(const struct schedule *schedule, const struct weft_timetable *result)
{
    struct cli *cli = schedule->cli;
    if (schedule->gantt_path == NULL) {
        return true;
    }
    const char *svg =
        weft_report_svg_gantt(result, &schedule->full, schedule->trace.name, &cli->arena);
    return weft_file_save(schedule->gantt_path, svg, strlen(svg), &cli->error);
}

static bool run(struct schedule *schedule)
{
    struct cli *cli = schedule->cli;
    if (schedule->gantt_path != NULL && !cli_can_write(cli, schedule->gantt_path)) {
        return false;
    }
    if (!schedule_load(schedule)) {
        return false;
    }
    struct weft_timetable result;
    schedule->options.seed = cli->seed;
    schedule->options.sim = weft_request_task_packets(cli->seed);
    schedule->options.sim.seed = cli->seed;
    schedule->options.stop = cli_clock_start(cli, "scheduling", 0);
    bool fine = weft_scheduler_run(&result, &schedule->full,
                                   schedule->trace.shards.dedicated ? NULL : &schedule->network,
                                   &schedule->options, &cli->arena, cli->scratch, &cli->error);
    cli_clock_stop(cli);
    if (!fine) {
        return weft_wrap(&cli->error, "%s", schedule->path);
    }
    if (!save_gantt(schedule, &result)) {
        return false;
    }
    if (cli->json) {
        schedule_tell_json(schedule, &result);
    } else {
        schedule_tell(schedule, &result);
    }
    return true;
}

int cli_schedule(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft schedule",
        .arguments = "TRACE.yaml",
        .doc = doc,
        .options = options,
        .parser = parse,
    };
    struct cli cli;
    struct schedule schedule = {.cli = &cli};
    if (!cli_parse(&cli, &verb, argc, argv, &schedule)) {
        return cli_finish(&cli, false);
    }
    return cli_finish(&cli, run(&schedule));
}
