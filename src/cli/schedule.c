// SPDX-License-Identifier: Apache-2.0
// weft schedule: many jobs on one cluster over time. The options become a request of
// weft/request/schedule.h, its result tables, JSON and a Gantt chart (docs/scheduler.md). The
// tables show means and the first jobs; JSON has every job and every span of servers.

#include "weft/request/schedule.h"
#include "cli.h"
#include "weft/format.h"
#include "weft/report.h"

#include <string.h>

#define JOBS_SHOWN 20u

// What the options say.
struct schedule_input {
    struct cli *cli;
    struct weft_schedule_request request;
    const char *gantt_path;    // NULL = none
    const char *snapshot_path; // the same
    bool all_jobs;
};

enum {
    KEY_POLICY = 1,
    KEY_INTERLEAVE,
    KEY_CANDIDATES,
    KEY_ENGINE,
    KEY_FABRIC,
    KEY_RADIX,
    KEY_OVERSUBSCRIPTION,
    KEY_WINDOW,
    KEY_WARM_UP,
    KEY_LEASE,
    KEY_UNTIL,
    KEY_SNAPSHOT,
    KEY_GANTT,
    KEY_ALL,
};

static const struct argp_option options[] = {
    {"policy", KEY_POLICY, "P", 0,
     "policy: consolidated (default), random, rack-aware, themis or pollux", 0},
    {"interleave", KEY_INTERLEAVE, NULL, 0,
     "rank placements by how jobs' bursts fit together, and shift their starts", 0},
    {"candidates", KEY_CANDIDATES, "K", 0, "number of placements to rank for a job (10)", 0},
    {"engine", KEY_ENGINE, "E", 0,
     "how jobs that share links are played: by a model (default), or all in the flow or packet "
     "engine",
     0},
    {"fabric", KEY_FABRIC, "F", 0,
     "a reference fabric, or shards: servers and a topology of its own for each job", 0},
    {"radix", KEY_RADIX, "K", 0, "ports of a switch, instead of the trace's", 0},
    {"oversubscription", KEY_OVERSUBSCRIPTION, "X", 0,
     "ports down for each port up at a leaf, instead of the trace's", 0},
    {"window", KEY_WINDOW, "N", 0,
     "iterations of the slowest job over which a steady state is measured (40)", 0},
    {"warm-up", KEY_WARM_UP, "N", 0, "iterations before those that are measured (10)", 0},
    {"lease", KEY_LEASE, "TIME", 0, "themis, pollux: time between renewals (10min)", 0},
    {"until", KEY_UNTIL, "TIME", 0, "end the trace there, whether jobs are done or not", 0},
    {"snapshot", KEY_SNAPSHOT, "FILE.json", 0,
     "with --until: write the jobs that run then, and what they ask of the links that they could "
     "fill together, for weft interleave",
     0},
    {"gantt", KEY_GANTT, "FILE.svg", 0, "draw who had which servers when", 0},
    {"all", KEY_ALL, NULL, 0, "show all jobs, not the first 20", 0},
    {0},
};

static const char doc[] =
    "Plays a trace of training jobs on one cluster: when each begins, on which servers, how its "
    "iterations fare beside the others, what failures cost.\v"
    "A trace is a YAML file with a cluster (its keys, or the name of its file; options win), a "
    "fabric, classes of jobs (by their phases, or by the "
    "files of a task graph or a plan), jobs that are listed or arrive by chance (poisson), and "
    "failures. docs/scheduler.md states the form, the policies and the model, and how far it is "
    "from the flow engine.\n"
    "\n"
    "Examples:\n"
    "  $ weft schedule examples/traces/six-racks.yaml --policy rack-aware --interleave\n"
    "  $ weft schedule day.yaml --policy themis --interleave --gantt day.svg --json -o day.json\n"
    "  $ weft schedule day.yaml --fabric shards\n"
    "  $ weft schedule day.yaml --policy random --until 6h --snapshot jobs.json\n"
    "  $ weft interleave jobs.json\n"
    "  $ weft schedule day.yaml --cluster examples/clusters/432x8-400g.yaml --fabric rail-only \\\n"
    "      --radix 64\n";

static const char *const engine_names[] = {
    [WEFT_STEADY_MODEL] = "model", [WEFT_STEADY_FLOW] = "flow", [WEFT_STEADY_PACKET] = "packet"};

static error_t take_policy(struct schedule_input *input, const char *argument)
{
    struct cli *cli = input->cli;
    return cli_value(cli, weft_policy_find(&input->request.options.policy, argument, &cli->error),
                     "policy");
}

static error_t take_engine(struct schedule_input *input, const char *argument)
{
    for (int engine = WEFT_STEADY_MODEL; engine <= WEFT_STEADY_PACKET; engine++) {
        if (strcmp(argument, engine_names[engine]) == 0) {
            input->request.options.engine = (enum weft_steady_engine)engine;
            return 0;
        }
    }
    return cli_usage(input->cli, "--engine: '%.40s'; write model, flow or packet", argument);
}

// Takes the options straight into the scheduler's own, which are part of the request.
static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct schedule_input *input = state->input;
    struct cli *cli = input->cli;
    struct weft_scheduler_options *own = &input->request.options;
    switch (key) {
    case KEY_POLICY:
        return take_policy(input, argument);
    case KEY_INTERLEAVE:
        own->interleave = true;
        return 0;
    case KEY_CANDIDATES:
        return cli_count(cli, &own->candidates, "candidates", argument, 1, 1000);
    case KEY_ENGINE:
        return take_engine(input, argument);
    case KEY_FABRIC:
        input->request.fabric = argument;
        return 0;
    case KEY_RADIX:
        return cli_radix(cli, &input->request.shape, argument);
    case KEY_OVERSUBSCRIPTION:
        return cli_oversubscription(cli, &input->request.shape, argument);
    case KEY_WINDOW:
        return cli_count(cli, &own->window, "window", argument, 1, 100000);
    case KEY_WARM_UP:
        return cli_count(cli, &own->warm_up, "warm-up", argument, 1, 100000);
    case KEY_LEASE:
        return cli_value(cli, weft_parse_time(&own->lease_ps, argument, &cli->error), "lease");
    case KEY_UNTIL:
        return cli_value(cli, weft_parse_time(&own->until_ps, argument, &cli->error), "until");
    case KEY_SNAPSHOT:
        own->snapshot = true;
        return cli_take(cli, &input->snapshot_path, argument, "--snapshot");
    case KEY_GANTT:
        input->gantt_path = argument;
        return 0;
    case KEY_ALL:
        input->all_jobs = true;
        return 0;
    case ARGP_KEY_ARG:
        return cli_take(cli, &input->request.path, argument, "trace");
    case ARGP_KEY_NO_ARGS:
        return cli_usage(cli, "which trace? write %s TRACE.yaml", cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// Seconds as people say them: 1.5 h, 12.3 min, 4.2 s, 61 ms.
static const char *show_s(struct cli *cli, double seconds)
{
    char text[WEFT_UNIT_TEXT];
    if (seconds >= 5400) {
        return weft_arena_format(&cli->arena, "%.2f h", seconds / 3600);
    }
    if (seconds >= 120) {
        return weft_arena_format(&cli->arena, "%.1f min", seconds / 60);
    }
    return weft_arena_format(&cli->arena, "%s", weft_show_time(text, weft_picoseconds(seconds)));
}

static struct weft_table_cell time_cell(struct cli *cli, double seconds)
{
    return weft_cell_figure(show_s(cli, seconds), "s", seconds);
}

// A row for each job, in the order of arrival: the first 20 unless --all is given.
static void print_jobs(const struct schedule_input *input,
                       const struct weft_schedule_result *result)
{
    static const struct weft_table_column columns[] = {
        {"job", WEFT_ALIGN_LEFT},      {"class", WEFT_ALIGN_LEFT},
        {"arrives", WEFT_ALIGN_RIGHT}, {"waits", WEFT_ALIGN_RIGHT},
        {"takes", WEFT_ALIGN_RIGHT},   {"iteration", WEFT_ALIGN_RIGHT},
        {"p99", WEFT_ALIGN_RIGHT},     {"slowdown", WEFT_ALIGN_RIGHT},
        {"score", WEFT_ALIGN_RIGHT},   {"placed", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct cli *cli = input->cli;
    const struct weft_timetable *timetable = &result->timetable;
    bool all = input->all_jobs || cli->form == CLI_CSV || timetable->job_count <= JOBS_SHOWN;
    uint32_t shown = all ? timetable->job_count : JOBS_SHOWN;
    struct weft_table_cell *cells =
        WEFT_NEW(&cli->arena, struct weft_table_cell, (size_t)shown * COLUMNS);
    for (uint32_t j = 0; j < shown; j++) {
        const struct weft_job_record *record = &timetable->jobs[j];
        struct weft_table_cell *row = cells + (size_t)j * COLUMNS;
        double completion_s = weft_seconds(record->end_ps - record->arrival_ps);
        double held_s = weft_seconds(record->held_ps);
        row[0].text = record->name;
        row[1].text = result->trace.classes[record->class_id].name;
        row[2] = time_cell(cli, weft_seconds(record->arrival_ps));
        row[3] = time_cell(cli, completion_s - held_s);
        row[4] = time_cell(cli, held_s);
        row[5] = time_cell(cli, record->iteration_mean_s);
        row[6] = time_cell(cli, record->iteration_p99_s);
        row[7] = weft_cell_number(&cli->arena, 3, record->iteration_mean_s / record->alone_s);
        row[8] = weft_cell_number(&cli->arena, 3, record->score);
        row[9] = weft_cell_count(&cli->arena, record->placements);
    }
    cli_say(cli, "\n");
    cli_table(cli, columns, COLUMNS, cells, shown);
    if (shown < timetable->job_count) {
        cli_say(cli, "and %u more jobs; --all shows them\n", timetable->job_count - shown);
    }
}

// Means and 99th percentiles over the jobs, and what the cluster did.
static void print_totals(const struct schedule_input *input,
                         const struct weft_schedule_result *result)
{
    struct cli *cli = input->cli;
    const struct weft_timetable *timetable = &result->timetable;
    cli_say(cli, "%u jobs on %u servers (%s), %s%s, done after %s\n", timetable->job_count,
            result->trace.cluster.server_count, result->trace.fabric,
            weft_policies[input->request.options.policy].name,
            input->request.options.interleave ? " with interleaving" : "",
            show_s(cli, weft_seconds(timetable->end_ps)));
    uint32_t cut_count = 0;
    for (uint32_t j = 0; j < timetable->job_count; j++) {
        cut_count += timetable->jobs[j].cut_off;
    }
    if (cut_count + timetable->later_count > 0) {
        cli_say(cli, "until then: %u jobs are cut off, %u come later\n", cut_count,
                timetable->later_count);
    }
    cli_say(cli, "\n");
    cli_say(cli, "%-12s %12s %12s\n", "", "mean", "p99");
    cli_say(cli, "%-12s %12s %12s\n", "iteration", show_s(cli, timetable->iteration_mean_s),
            show_s(cli, timetable->iteration_p99_s));
    cli_say(cli, "%-12s %12.3f %12.3f\n", "slowdown", timetable->slowdown_mean,
            timetable->slowdown_p99);
    cli_say(cli, "%-12s %12s %12s\n", "completion", show_s(cli, timetable->completion_mean_s),
            show_s(cli, timetable->completion_p99_s));
    cli_say(cli, "%-12s %12s %12s\n", "queueing", show_s(cli, timetable->queueing_mean_s),
            show_s(cli, timetable->queueing_p99_s));
    cli_say(cli, "\nservers      %.1f %% held, %.1f %% at work as if alone\n",
            100 * timetable->utilization, 100 * timetable->useful_utilization);
    cli_say(cli, "sharing      %u steady states with full links", timetable->shared_count);
    if (input->request.options.interleave) {
        cli_say(cli, ", time-shifts kept in %u", timetable->interleaved_count);
    }
    const char *source =
        input->request.options.engine == WEFT_STEADY_PACKET ? "packet engine" : "estimate";
    cli_say(cli, "\nECN marks    %.3g (%s)\n", timetable->ecn_marks, source);
    if (timetable->failure_count > 0) {
        cli_say(cli, "failures     %u, %s of servers' time lost\n", timetable->failure_count,
                show_s(cli, timetable->lost_server_s));
    }
}

static bool save_gantt(const struct schedule_input *input,
                       const struct weft_schedule_result *result)
{
    struct cli *cli = input->cli;
    if (input->gantt_path == NULL) {
        return true;
    }
    const char *svg =
        weft_report_svg_gantt(&result->timetable, &result->full, result->trace.name, &cli->arena);
    return weft_file_save(input->gantt_path, svg, strlen(svg), &cli->error);
}

static bool save_snapshot(const struct schedule_input *input,
                          const struct weft_schedule_result *result)
{
    struct cli *cli = input->cli;
    if (input->snapshot_path == NULL) {
        return true;
    }
    const struct weft_job_set set = {.snapshot = result->timetable.snapshot};
    const char *text = weft_snapshot_write(&set, &cli->arena);
    return weft_file_save(input->snapshot_path, text, strlen(text), &cli->error);
}

static bool run(struct schedule_input *input)
{
    struct cli *cli = input->cli;
    if ((input->gantt_path != NULL && !cli_can_write(cli, input->gantt_path)) ||
        (input->snapshot_path != NULL && !cli_can_write(cli, input->snapshot_path))) {
        return false;
    }
    struct weft_schedule_result result;
    input->request.hardware = cli->given.hardware;
    bool played =
        weft_request_schedule(&result, &input->request, cli_environment(cli, cli_clock_watch(cli)));
    cli_clock_stop(cli);
    if (!played || !save_gantt(input, &result) || !save_snapshot(input, &result)) {
        return false;
    }
    result.wall_s = cli_elapsed_s(cli);
    if (cli->json) {
        cli_say(cli, "%s", weft_request_schedule_json(&result, &input->request, &cli->arena));
    } else {
        print_totals(input, &result);
        print_jobs(input, &result);
    }
    return true;
}

int cli_schedule(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft schedule",
        .arguments = "TRACE.yaml [CLUSTER.yaml]",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_HARDWARE | CLI_TABLES,
    };
    struct cli cli;
    struct schedule_input input = {.cli = &cli};
    if (!cli_parse(&cli, &verb, argc, argv, &input)) {
        return cli_finish(&cli, false);
    }
    return cli_finish(&cli, run(&input));
}
