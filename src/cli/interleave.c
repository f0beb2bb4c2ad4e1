// SPDX-License-Identifier: Apache-2.0
// weft interleave: when jobs that share links should start. The options become a request of
// weft/request/interleave.h, its result tables or JSON, and a picture of the circles; with --series
// the verb makes a snapshot from measured links instead (docs/interleave.md).

#include "weft/request/interleave.h"
#include "cli.h"
#include "weft/format.h"
#include "weft/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PATHS_MAX = 1024 };
// Rows that the tables show; --json has all.
enum { LINKS_SHOWN = 20, JOBS_SHOWN = 50 };

// What the options say.
struct interleave_input {
    struct cli *cli;
    const char *paths[PATHS_MAX];
    const char *report_path; // NULL = no picture
    struct weft_interleave_request request;
    struct weft_series_request series; // its path is NULL where snapshots are interleaved
};

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
    {"precision", KEY_PRECISION, "DEGREES", 0,
     "rotations are multiples of at most so many degrees (5)", 0},
    {"quantum", KEY_QUANTUM, "TIME", 0, "round iteration times to multiples of TIME", 0},
    {"perimeter", KEY_PERIMETER, "N", 0,
     "let a link's circle have at most N iterations of its shortest job (120)", 0},
    {"heuristic", KEY_HEURISTIC, NULL, 0,
     "answer for many jobs in little time, without a proof by search", 0},
    {"work", KEY_WORK, "N", 0, "end the search after N million cells (500)", 0},
    {"slack", KEY_SLACK, "SCORE", 0, "loss of score that a job which strays may cost a link (0.01)",
     0},
    {"report", KEY_REPORT, "FILE.svg", 0, "draw the circles before and after", 0},
    {"series", KEY_SERIES, "FILE.csv", 0,
     "instead of interleaving, make the snapshot of a job from what its links carried", 0},
    {"period", KEY_PERIOD, "TIME", 0,
     "with --series: iteration time of the job, where that is known", 0},
    {"capacity", KEY_CAPACITY, "RATE", 0, "with --series: capacity of its links", 0},
    {"name", KEY_NAME, "NAME", 0, "with --series: name of the job", 0},
    {0},
};

static const char doc[] =
    "Finds time-shifts for jobs that share links, so that their bursts meet as little as can be, "
    "and says how compatible they are: the score is 1 where no link is ever asked for more than it "
    "has.\vSNAPSHOT.json says links, jobs, their iterations and phases (docs/interleave.md); - is "
    "stdin; several are joined, links by their names. weft simulate --snapshot writes the snapshot "
    "of a job that is planned or traced, --series here that of one whose links were measured. Each "
    "job should start time_shift_s later; slack_s is how far it may stray before its "
    "shift should be renewed. Two bounds are proved: at most so much by any shifts "
    "(all_shifts_upper_bound), and by shifts of whole angles (upper_bound), the grid that the "
    "search "
    "begins on; one link is then searched off the grid as well, and where the score reaches the "
    "first bound it is the best there is.\n"
    "\n"
    "Examples:\n"
    "  $ weft interleave examples/interleave/dlrm_dlrm.json\n"
    "  $ weft interleave examples/interleave/vgg19_vgg16_resnet50.json --report circles.svg\n"
    "  $ weft interleave - --json --heuristic < snapshot.json\n"
    "  $ weft simulate --plan plan.json --snapshot a.json --job-name a\n"
    "  $ weft interleave --series links.csv --capacity 50Gbps --name b > b.json\n"
    "  $ weft interleave a.json b.json\n";

// Takes the options that have quantities.
static error_t parse_text(struct interleave_input *input, int key, const char *argument)
{
    struct cli *cli = input->cli;
    uint64_t millions = 0;
    switch (key) {
    case KEY_PRECISION:
        return cli_value(cli,
                         weft_parse_number(&input->request.options.precision_degrees, argument,
                                           0.01, 90, &cli->error),
                         "precision");
    case KEY_QUANTUM:
        return cli_value(cli,
                         weft_parse_time(&input->request.options.quantum_ps, argument, &cli->error),
                         "quantum");
    case KEY_PERIMETER:
        return cli_count(cli, &input->request.options.perimeter_limit, "perimeter", argument, 1,
                         1000000);
    case KEY_PERIOD:
        return cli_value(cli, weft_parse_time(&input->series.period_ps, argument, &cli->error),
                         "period");
    case KEY_CAPACITY:
        return cli_value(cli, weft_parse_rate(&input->series.capacity_Bps, argument, &cli->error),
                         "capacity");
    case KEY_WORK:
        if (!weft_parse_count(&millions, argument, 1, 1000000000, &cli->error)) {
            return cli_value(cli, false, "work");
        }
        input->request.options.work_limit = millions * 1000000;
        return 0;
    case KEY_SLACK:
        return cli_value(
            cli,
            weft_parse_number(&input->request.options.slack_loss, argument, 1e-6, 1, &cli->error),
            "slack");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// What is of the other of the two: snapshots that are interleaved, a series that becomes one.
static bool refuse(const struct interleave_input *input)
{
    const struct weft_interleave_options *limits = &input->request.options;
    const struct weft_series_request *series = &input->series;
    bool makes = series->path != NULL;
    const struct weft_stated of_series[] = {
        {!makes && series->period_ps > 0, "period"},
        {!makes && series->capacity_Bps > 0, "capacity"},
        {!makes && series->name != NULL, "name"},
        {NULL},
    };
    const struct weft_stated of_snapshots[] = {
        {makes && limits->precision_degrees > 0, "precision"},
        {makes && limits->quantum_ps > 0, "quantum"},
        {makes && limits->perimeter_limit > 0, "perimeter"},
        {makes && limits->heuristic, "heuristic"},
        {makes && limits->work_limit > 0, "work"},
        {makes && limits->slack_loss > 0, "slack"},
        {makes && input->report_path != NULL, "report"},
        {NULL},
    };
    return weft_refuse_stated(of_series, &input->cli->error,
                              "goes with {series}; write that, too") &&
           weft_refuse_stated(of_snapshots, &input->cli->error,
                              "is for snapshots, of which {series} makes one; leave it out");
}

// Takes the switches, the files, and what follows from all of them together.
static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct interleave_input *input = state->input;
    switch (key) {
    case KEY_HEURISTIC:
        input->request.options.heuristic = true;
        return 0;
    case KEY_REPORT:
        input->report_path = argument;
        return 0;
    case KEY_SERIES:
        input->series.path = argument;
        return 0;
    case KEY_NAME:
        input->series.name = argument;
        return 0;
    case ARGP_KEY_ARG:
        if (input->request.path_count == PATHS_MAX) {
            return cli_usage(input->cli, "more than %u snapshots", PATHS_MAX);
        }
        input->paths[input->request.path_count++] = argument;
        return 0;
    case ARGP_KEY_END:
        if (input->series.path != NULL && input->request.path_count > 0) {
            return cli_usage(input->cli, "--series makes a snapshot; leave out %s",
                             input->paths[0]);
        }
        return refuse(input) ? 0 : EINVAL;
    case ARGP_KEY_NO_ARGS:
        return input->series.path != NULL
                   ? 0
                   : cli_usage(input->cli, "which snapshot? write %s SNAPSHOT.json",
                               input->cli->program);
    default:
        return parse_text(input, key, argument);
    }
}

// A shared link, by its score.
struct row {
    double score;
    uint32_t link;
};

static int by_score(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;
    if (x->score != y->score) {
        return x->score < y->score ? -1 : 1;
    }
    return (x->link > y->link) - (x->link < y->link);
}

// The shared links, worst first, so that what limits the jobs stands at the top of a long list.
// "at most" holds for any shifts; what whole angles reach at most stands beside it.
static void print_links(struct cli *cli, const struct weft_snapshot *snapshot,
                        const struct weft_interleaving *found)
{
    static const struct weft_table_column columns[] = {
        {"link", WEFT_ALIGN_LEFT},       {"jobs", WEFT_ALIGN_RIGHT},
        {"capacity", WEFT_ALIGN_RIGHT},  {"circle", WEFT_ALIGN_RIGHT},
        {"unshifted", WEFT_ALIGN_RIGHT}, {"score", WEFT_ALIGN_RIGHT},
        {"at most", WEFT_ALIGN_RIGHT},   {"whole angles", WEFT_ALIGN_RIGHT},
        {"verdict", WEFT_ALIGN_LEFT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct row *rows = WEFT_NEW(&cli->arena, struct row, snapshot->link_count);
    uint32_t count = 0;
    for (uint32_t l = 0; l < snapshot->link_count; l++) {
        if (found->links[l].group != WEFT_NONE) {
            rows[count++] = (struct row){found->links[l].score, l};
        }
    }
    if (count == 0) {
        return;
    }
    qsort(rows, count, sizeof rows[0], by_score);
    uint32_t shown = cli->form == CLI_CSV || count < LINKS_SHOWN ? count : LINKS_SHOWN;
    struct weft_table_cell *cells =
        WEFT_NEW(&cli->arena, struct weft_table_cell, (size_t)shown * COLUMNS);
    for (uint32_t i = 0; i < shown; i++) {
        const struct weft_link_score *link = &found->links[rows[i].link];
        const struct weft_shared_link *shared = &snapshot->links[rows[i].link];
        struct weft_table_cell *row = cells + (size_t)i * COLUMNS;
        row[0].text = shared->name;
        row[1] = weft_cell_count(&cli->arena, link->job_count);
        row[2] = weft_cell_rate(&cli->arena, shared->capacity_Bps);
        row[3] = weft_cell_time(&cli->arena, weft_seconds(link->perimeter_ps));
        row[4] = weft_cell_number(&cli->arena, 4, link->unshifted);
        row[5] = weft_cell_number(&cli->arena, 4, link->score);
        row[6] = weft_cell_number(&cli->arena, 4, link->all_shifts_bound);
        row[7] = weft_cell_number(&cli->arena, 4, link->upper_bound);
        row[8].text = weft_compatibility_text(link->compatibility);
    }
    cli_say(cli, "\n");
    cli_table(cli, columns, COLUMNS, cells, shown);
    if (shown < count) {
        cli_say(cli, "and %u links that score no worse\n", count - shown);
    }
}

// Share of the time in which a job sends anything on the link where it does most.
static double busy_ratio(const struct weft_sharing_job *job)
{
    double most = 0;
    for (uint32_t i = 0; i == 0 || i < job->link_count; i++) {
        const struct weft_demand *demand =
            job->link_demands == NULL ? &job->demand : &job->link_demands[i];
        uint64_t busy_ps = 0;
        for (uint32_t p = 0; p < demand->phase_count; p++) {
            busy_ps += demand->phases[p].rate_Bps > 0 ? demand->phases[p].duration_ps : 0;
        }
        most = fmax(most, (double)busy_ps / (double)demand->iteration_ps);
    }
    return most;
}

// The time-shift of each job, and how far it may stray before the shift should be renewed.
static void print_jobs(struct cli *cli, const struct weft_snapshot *snapshot,
                       const struct weft_interleaving *found)
{
    static const struct weft_table_column columns[] = {
        {"job", WEFT_ALIGN_LEFT},    {"iteration", WEFT_ALIGN_RIGHT}, {"sends", WEFT_ALIGN_RIGHT},
        {"links", WEFT_ALIGN_RIGHT}, {"shift", WEFT_ALIGN_RIGHT},     {"slack", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    bool all = cli->form == CLI_CSV || snapshot->job_count < JOBS_SHOWN;
    uint32_t shown = all ? snapshot->job_count : JOBS_SHOWN;
    struct weft_table_cell *cells =
        WEFT_NEW(&cli->arena, struct weft_table_cell, (size_t)shown * COLUMNS);
    for (uint32_t j = 0; j < shown; j++) {
        const struct weft_sharing_job *job = &snapshot->jobs[j];
        struct weft_table_cell *row = cells + (size_t)j * COLUMNS;
        row[0].text = job->name;
        row[1] = weft_cell_time(&cli->arena, weft_seconds(job->demand.iteration_ps));
        row[2] = weft_cell_percent(&cli->arena, 0, busy_ratio(job));
        row[3] = weft_cell_count(&cli->arena, job->link_count);
        row[4] = weft_cell_time(&cli->arena, weft_seconds(found->time_shift_ps[j]));
        row[5] = weft_cell_time(&cli->arena, weft_seconds(found->slack_ps[j]));
    }
    cli_say(cli, "\n");
    cli_table(cli, columns, COLUMNS, cells, shown);
    if (shown < snapshot->job_count) {
        cli_say(cli, "and %u more jobs; --json lists all\n", snapshot->job_count - shown);
    }
}

static void print_rounding(struct cli *cli, const struct weft_snapshot *snapshot,
                           const struct weft_interleaving *found)
{
    double error = 0;
    uint32_t worst = 0;
    for (uint32_t l = 0; l < snapshot->link_count; l++) {
        if (found->links[l].period_error_ratio > error) {
            error = found->links[l].period_error_ratio;
            worst = l;
        }
    }
    if (error > 1e-9) {
        cli_say(cli,
                "iteration times are rounded by up to %.3g %% (link %s) to close the circle: score "
                "and bounds are of the rounded times, and the shifts hold until the jobs have "
                "drifted apart by their slack\n",
                100 * error, snapshot->links[worst].name);
    }
}

// The headline says which bound the score reaches: that for all shifts, that for shifts by whole
// angles alone, or neither.
static void print(struct cli *cli, const struct weft_interleave_result *result)
{
    const struct weft_snapshot *snapshot = &result->snapshot;
    const struct weft_interleaving *found = &result->found;
    uint32_t shared = 0;
    enum weft_compatibility worst = WEFT_COMPATIBLE;
    for (uint32_t l = 0; l < snapshot->link_count; l++) {
        shared += found->links[l].group == WEFT_NONE ? 0 : 1;
        worst = found->links[l].compatibility > worst ? found->links[l].compatibility : worst;
    }
    cli_say(cli, "%s: score %.4f, at most %.4f by any shifts", weft_compatibility_text(worst),
            found->score, found->all_shifts_bound);
    if (found->all_shifts_exact) {
        cli_say(cli, ": proved best\n");
    } else if (found->exact) {
        cli_say(cli, ": not proved best, but no whole angles are better\n");
    } else if (found->upper_bound < found->all_shifts_bound) {
        cli_say(cli, ", %.4f by whole angles: not proved best\n", found->upper_bound);
    } else {
        cli_say(cli, ": not proved best\n");
    }
    cli_say(cli, "%u job%s, %u of %u link%s shared%s", snapshot->job_count,
            snapshot->job_count == 1 ? "" : "s", shared, snapshot->link_count,
            snapshot->link_count == 1 ? "" : "s", found->loop_count == 0 ? "\n" : "");
    if (found->loop_count > 0) {
        cli_say(cli, ", %u loop%s solved jointly\n", found->loop_count,
                found->loop_count == 1 ? "" : "s");
    }
    print_rounding(cli, snapshot, found);
    print_links(cli, snapshot, found);
    print_jobs(cli, snapshot, found);
}

// Draws the circles before and after, where --report is given.
static bool draw(const struct interleave_input *input, const struct weft_interleave_result *result)
{
    struct cli *cli = input->cli;
    if (input->report_path == NULL) {
        return true;
    }
    const char *svg =
        weft_report_svg_circles(&result->snapshot, &result->found, &cli->arena, cli->scratch);
    return weft_file_save(input->report_path, svg, strlen(svg), &cli->error);
}

// Makes a snapshot of a series, or interleaves snapshots; the picture comes after the search.
static bool run(struct interleave_input *input)
{
    struct cli *cli = input->cli;
    if (input->series.path != NULL) {
        const char *snapshot = NULL;
        if (!weft_request_series(&snapshot, &input->series, cli_environment(cli, NULL))) {
            return false;
        }
        cli_say(cli, "%s", snapshot);
        return true;
    }
    if (input->report_path != NULL && !cli_can_write(cli, input->report_path)) {
        return false;
    }
    struct weft_interleave_result result;
    bool found = weft_request_interleave(&result, &input->request,
                                         cli_environment(cli, cli_clock_watch(cli)));
    cli_clock_stop(cli);
    if (!found) {
        return false;
    }
    result.wall_s = cli_elapsed_s(cli);
    if (cli->json) {
        cli_say(cli, "%s", weft_request_interleave_json(&result, &cli->arena));
    } else {
        print(cli, &result);
    }
    return draw(input, &result);
}

int cli_interleave(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft interleave",
        .arguments = "SNAPSHOT.json...\n--series FILE.csv",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_TABLES,
    };
    struct cli cli;
    struct interleave_input input = {.cli = &cli};
    input.request.paths = input.paths;
    if (!cli_parse(&cli, &verb, argc, argv, &input)) {
        return cli_finish(&cli, false);
    }
    return cli_finish(&cli, run(&input));
}
