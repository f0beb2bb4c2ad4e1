// SPDX-License-Identifier: Apache-2.0
// weft photonic serve-study: requests of seven nets on Lightning and on others, at a stated load.

#include "cli/photonic/photonic.h"
#include "weft/report.h"
#include "weft/request/photonic_serve.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

// Each is the parameter of its name (weft_serve_study_parameters), but for the first two.
enum {
    KEY_ARRIVALS = 1000,
    KEY_PLOT,
    KEY_RATE,
    KEY_REQUESTS,
    KEY_TRACES,
    KEY_UNTIL,
    KEY_COUNT,
    KEY_PROCESSORS,
    KEY_CORES,
    KEY_CLOCK,
    KEY_DATAPATH,
    KEY_OBJECTIVE,
    KEY_IDLE_POWER,
    KEY_GRANULARITY,
    KEY_LOADS,
};
#define LOADS_DEFAULT                                                                              \
    "2Mbps,5Mbps,10Mbps,15Mbps,20Mbps,25Mbps,30Mbps,40Mbps,50Mbps,60Mbps,80Mbps,100Mbps"

static const struct argp_option options[] = {
    {"rate", KEY_RATE, "RATE", 0, "requests' inputs arrive at (0.06Gbps; of files: as they say)",
     0},
    {"arrivals", KEY_ARRIVALS, "FILE", 0, "a trace; more may follow as arguments (drawn)", 0},
    {"requests", KEY_REQUESTS, "N", 0, "first of each trace (all; of drawn ones 200)", 0},
    {"traces", KEY_TRACES, "N", 0, "that are drawn (10)", 0},
    {"until", KEY_UNTIL, "N", 0, "a run ends when its first N requests have (when all have)", 0},
    {"count", KEY_COUNT, "WHICH", 0,
     "then: all that have ended, or the first N: ended or first (ended)", 0},
    {"processors", KEY_PROCESSORS, "NAMES", 0,
     "of Lightning, A100, A100X, P4, Brainwave; the first is the reference (all but P4)", 0},
    {"cores", KEY_CORES, "N", 0, "Lightning's (576)", 0},
    {"clock", KEY_CLOCK, "GHZ", 0, "Lightning's (97)", 0},
    {"datapath", KEY_DATAPATH, "TIME", 0, "Lightning's, a layer (115ns)", 0},
    {"objective", KEY_OBJECTIVE, "TIME", 0, "of a request's latency (100ms)", 0},
    {"idle-power", KEY_IDLE_POWER, "SHARE", 0, "of its watts that an idle processor draws (1)", 0},
    {"granularity", KEY_GRANULARITY, "N", 0, "multiply-accumulates of a task at least (2048)", 0},
    {"loads", KEY_LOADS, "RATE,...", 0, "also drawn and played at each of these", 0},
    {"plot", KEY_PLOT, "FILE.svg", 0, "latency over load as a picture (loads of 2Mbps to 100Mbps)",
     0},
    {0},
};

static const char doc[] =
    "Plays requests of AlexNet, ResNet-18, VGG-16, VGG-19, BERT-large, GPT-2 XL and DLRM on "
    "Lightning, A100, A100X and Brainwave with the simulator that was published with Lightning, "
    "and says what its speed-ups hide: the load of each processor, confidence intervals, the ratio "
    "of means beside the mean of ratios, the ratio of capacities, energy busy and idle.\v"
    "rho is the work that arrives in a second over what all cores do in one. At 1 or more there is "
    "no mean latency: it grows with the number of requests counted, and any speed-up can be had. "
    "Intervals of 95 % are over traces (over ten batches of one trace alone). A trace is CSV, "
    "arrival_ns,model.\n"
    "\n"
    "Examples:\n"
    "  $ weft photonic serve-study --rate 0.01Gbps\n"
    "  $ weft photonic serve-study --rate 0.06Gbps --until 100 \\\n"
    "      --arrivals examples/photonic/traces/arrivals_0.06_*.csv\n"
    "  $ weft photonic serve-study --rate 0.01Gbps --plot load.svg\n";

struct serve_input {
    struct cli *cli;
    struct weft_serve_study_request request;
    const char **arrivals;
    const char *plot_path;
};

static int by_version(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

static error_t take_path(struct serve_input *input, const char *path)
{
    uint32_t count = input->request.arrival_count;
    if (count == 1000) {
        return cli_usage(input->cli, "more than 1000 traces");
    }
    if (input->arrivals == NULL) {
        input->arrivals = WEFT_NEW(&input->cli->arena, const char *, 1000);
        input->request.arrivals = input->arrivals;
    }
    input->arrivals[input->request.arrival_count++] = path;
    return 0;
}

// All files of a pattern, in order of their names with numbers by value: what a shell expands of an
// argument, also behind --arrivals and where no shell is asked.
static error_t take_pattern(struct serve_input *input, const char *pattern)
{
    glob_t found;
    // No other thread. NOLINTNEXTLINE(concurrency-mt-unsafe)
    if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0) {
        return cli_usage(input->cli, "%.200s: no file has such a name", pattern);
    }
    error_t failed = 0;
    qsort(found.gl_pathv, found.gl_pathc, sizeof *found.gl_pathv, by_version);
    for (size_t i = 0; i < found.gl_pathc && failed == 0; i++) {
        const char *path = found.gl_pathv[i];
        failed = take_path(input, weft_arena_text(&input->cli->arena, path, strlen(path)));
    }
    globfree(&found);
    return failed;
}

static error_t take_trace(struct serve_input *input, const char *path)
{
    return strchr(path, '*') != NULL ? take_pattern(input, path) : take_path(input, path);
}

static error_t end(struct serve_input *input)
{
    if (input->plot_path != NULL && input->request.loads == NULL) {
        input->request.loads = LOADS_DEFAULT;
    }
    return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct serve_input *input = state->input;
    const struct weft_parameter_group *group = weft_serve_study_parameters;
    const struct cli_parameters parameters = {&input->request, group->rows, group->count};
    for (uint32_t o = 0; key >= KEY_RATE && options[o].name != NULL; o++) {
        if (options[o].key == key) {
            return cli_parameter(input->cli, &parameters, options[o].name, argument);
        }
    }
    switch (key) {
    case KEY_ARRIVALS:
    case ARGP_KEY_ARG:
        return take_trace(input, argument);
    case KEY_PLOT:
        return cli_take(input->cli, &input->plot_path, argument, "picture");
    case ARGP_KEY_END:
        return end(input);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// ---- what people read ----

static struct weft_table_cell interval_of(const struct weft_serving_estimate *estimate, int digits,
                                          double factor, struct weft_arena *arena)
{
    if (estimate->low > estimate->high) {
        return (struct weft_table_cell){.text = "-"};
    }
    return (struct weft_table_cell){.text = weft_arena_format(arena, "%.*f to %.*f", digits,
                                                              estimate->low * factor, digits,
                                                              estimate->high * factor)};
}

static void print_latencies(struct cli *cli, const struct weft_serving_study *study)
{
    static const struct weft_table_column columns[] = {
        {"processor", WEFT_ALIGN_LEFT},  {"rho", WEFT_ALIGN_RIGHT},
        {"mean", WEFT_ALIGN_RIGHT},      {"p50", WEFT_ALIGN_RIGHT},
        {"p99", WEFT_ALIGN_RIGHT},       {"in objective", WEFT_ALIGN_RIGHT},
        {"of means", WEFT_ALIGN_RIGHT},  {"95 %", WEFT_ALIGN_RIGHT},
        {"of ratios", WEFT_ALIGN_RIGHT}, {"capacity", WEFT_ALIGN_RIGHT},
        {"published", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct weft_arena *arena = &cli->arena;
    struct weft_table_cell *cells =
        WEFT_NEW(arena, struct weft_table_cell, (size_t)study->row_count * COLUMNS);
    // What is published is over Lightning.
    bool over_lightning = strcmp(study->rows[0].processor->name, "Lightning") == 0;
    for (uint32_t p = 0; p < study->row_count; p++) {
        const struct weft_serving_row *row = &study->rows[p];
        struct weft_table_cell *at = &cells[(size_t)p * COLUMNS];
        at[0].text = row->processor->name;
        at[1] = weft_cell_number(arena, 2, row->rho);
        at[2] = weft_cell_time(arena, row->mean_ns.value * 1e-9);
        if (row->rho >= 1) {
            at[2].text = weft_arena_format(arena, "(%s)", at[2].text);
        }
        at[3] = weft_cell_time(arena, row->p50_ns * 1e-9);
        at[4] = weft_cell_time(arena, row->p99_ns * 1e-9);
        at[5] = weft_cell_percent(arena, 1, row->within_share);
        at[6] = weft_cell_number(arena, 2, row->ratio_of_means.value);
        at[7] = p == 0 ? (struct weft_table_cell){.text = "-"}
                       : interval_of(&row->ratio_of_means, 2, 1, arena);
        at[8] = weft_cell_number(arena, 1, row->mean_of_ratios);
        at[9] = weft_cell_number(arena, 2, row->capacity_ratio);
        at[10] = row->processor->published_time > 0 && over_lightning
                     ? weft_cell_number(arena, 0, row->processor->published_time)
                     : (struct weft_table_cell){.text = "-"};
    }
    cli_table(cli, columns, COLUMNS, cells, study->row_count);
}

static void print_energy(struct cli *cli, const struct weft_serving_study *study)
{
    static const struct weft_table_column columns[] = {
        {"processor", WEFT_ALIGN_LEFT},   {"power", WEFT_ALIGN_RIGHT},
        {"busy", WEFT_ALIGN_RIGHT},       {"J busy", WEFT_ALIGN_RIGHT},
        {"J idle", WEFT_ALIGN_RIGHT},     {"of J busy", WEFT_ALIGN_RIGHT},
        {"pJ/MAC", WEFT_ALIGN_RIGHT},     {"formula", WEFT_ALIGN_RIGHT},
        {"of formula", WEFT_ALIGN_RIGHT}, {"published", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct weft_arena *arena = &cli->arena;
    struct weft_table_cell *cells =
        WEFT_NEW(arena, struct weft_table_cell, (size_t)study->row_count * COLUMNS);
    const struct weft_serving_row *first = &study->rows[0];
    // What is published is over Lightning.
    bool over_lightning = strcmp(study->rows[0].processor->name, "Lightning") == 0;
    for (uint32_t p = 0; p < study->row_count; p++) {
        const struct weft_serving_row *row = &study->rows[p];
        struct weft_table_cell *at = &cells[(size_t)p * COLUMNS];
        at[0].text = row->processor->name;
        at[1] = weft_cell_figure(weft_arena_format(arena, "%.4g W", row->processor->watts), "W",
                                 row->processor->watts);
        at[2] = weft_cell_percent(arena, 1, row->busy_share);
        at[3] = weft_cell_number(arena, 3, row->busy_joules);
        at[4] = weft_cell_number(arena, 3, row->idle_joules);
        at[5] = weft_cell_number(arena, 2, row->busy_joules / first->busy_joules);
        at[6] = weft_cell_number(arena, 3, row->macs_picojoules);
        at[7] = weft_cell_number(arena, 3, row->published_picojoules);
        at[8] = weft_cell_number(arena, 1, row->published_picojoules / first->published_picojoules);
        at[9] = row->processor->published_energy > 0 && over_lightning
                    ? weft_cell_number(arena, 0, row->processor->published_energy)
                    : (struct weft_table_cell){.text = "-"};
    }
    cli_table(cli, columns, COLUMNS, cells, study->row_count);
}

static void print_loads(struct cli *cli, const struct weft_serve_study_result *result)
{
    uint32_t processors = result->study.row_count;
    uint32_t count = 1 + 2 * processors;
    struct weft_arena *arena = &cli->arena;
    struct weft_table_column *columns = WEFT_NEW(arena, struct weft_table_column, count);
    struct weft_table_cell *cells =
        WEFT_NEW(arena, struct weft_table_cell, (size_t)result->load_count * count);
    columns[0] = (struct weft_table_column){"load", WEFT_ALIGN_RIGHT};
    for (uint32_t p = 0; p < processors; p++) {
        const char *name = result->study.rows[p].processor->name;
        columns[1 + 2 * p] = (struct weft_table_column){name, WEFT_ALIGN_RIGHT};
        columns[2 + 2 * p] =
            (struct weft_table_column){weft_arena_format(arena, "rho"), WEFT_ALIGN_RIGHT};
    }
    for (uint32_t l = 0; l < result->load_count; l++) {
        struct weft_table_cell *at = &cells[(size_t)l * count];
        at[0] = weft_cell_rate(arena, result->loads[l].rate_Bps);
        for (uint32_t p = 0; p < processors; p++) {
            const struct weft_serving_row *row = &result->loads[l].study.rows[p];
            at[1 + 2 * p] = weft_cell_time(arena, row->mean_ns.value * 1e-9);
            if (row->rho >= 1) {
                at[1 + 2 * p].text = weft_arena_format(arena, "(%s)", at[1 + 2 * p].text);
            }
            at[2 + 2 * p] = weft_cell_number(arena, 2, row->rho);
        }
    }
    cli_table(cli, columns, count, cells, result->load_count);
}

static void print(struct cli *cli, const struct weft_serve_study_result *result)
{
    char rate[WEFT_UNIT_TEXT];
    char objective[WEFT_UNIT_TEXT];
    const struct weft_serving_study *study = &result->study;
    cli_say(cli, "%u %s with %u requests%s%s; objective %s; ratios over %s\n\n",
            result->trace_count, result->trace_count == 1 ? "trace" : "traces",
            result->request_count, result->rate_Bps > 0 ? " at " : "",
            result->rate_Bps > 0 ? weft_show_rate(rate, result->rate_Bps) : "",
            weft_show_time(objective, result->objective_ps), study->rows[0].processor->name);
    print_latencies(cli, study);
    cli_say(cli, "\nA mean in parentheses is none: it grows with the number of requests counted.\n"
                 "\nJoules a request, busy with all cores and idle at its share of the power:\n\n");
    print_energy(cli, study);
    if (result->load_count > 0) {
        cli_say(cli, "\nMeans over load:\n\n");
        print_loads(cli, result);
    }
}

static bool plot(struct cli *cli, const char *path, const struct weft_serve_study_result *result)
{
    uint32_t lines = result->study.row_count;
    size_t count = (size_t)result->load_count * lines;
    struct weft_arena *arena = &cli->arena;
    const char **names = WEFT_NEW(arena, const char *, lines);
    double *loads_Bps = WEFT_NEW(arena, double, result->load_count);
    double *means_s = WEFT_NEW(arena, double, count);
    double *rhos = WEFT_NEW(arena, double, count);
    for (uint32_t p = 0; p < result->load_count; p++) {
        loads_Bps[p] = result->loads[p].rate_Bps;
        for (uint32_t l = 0; l < lines; l++) {
            const struct weft_serving_row *row = &result->loads[p].study.rows[l];
            names[l] = row->processor->name;
            means_s[p * lines + l] = row->mean_ns.value * 1e-9;
            rhos[p * lines + l] = row->rho;
        }
    }
    const struct weft_serving_chart chart = {
        .title = "Mean latency of a request over load",
        .line_count = lines,
        .names = names,
        .point_count = result->load_count,
        .load_Bps = loads_Bps,
        .mean_s = means_s,
        .rho = rhos,
        .objective_s = weft_seconds(result->objective_ps),
    };
    const char *svg = weft_report_svg_serving(&chart, arena);
    return weft_file_save(path, svg, strlen(svg), &cli->error);
}

int photonic_serve_study(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft photonic serve-study",
        .arguments = "[TRACE.csv...]",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_TABLES,
    };
    struct cli cli;
    struct serve_input input = {.cli = &cli};
    struct weft_serve_study_result result;
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) &&
                (input.plot_path == NULL || cli_can_write(&cli, input.plot_path));
    if (fine) {
        fine = weft_request_serve_study(&result, &input.request,
                                        cli_environment(&cli, cli_clock_watch(&cli)));
        cli_clock_stop(&cli);
    }
    fine = fine && (input.plot_path == NULL || plot(&cli, input.plot_path, &result));
    if (fine && cli.json) {
        cli_say(&cli, "%s", weft_request_serve_study_json(&result, &cli.arena));
    } else if (fine) {
        print(&cli, &result);
    }
    return cli_finish(&cli, fine);
}
