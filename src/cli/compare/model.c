// SPDX-License-Identifier: Apache-2.0
// weft compare --model: models over fabrics, degrees, rates and batches. The lists become one
// request; its comparisons are printed, drawn over the axis that varies, and kept in the file of
// --resume by the request, one by one.

#include "compare.h"
#include "weft/format.h"
#include "weft/report.h"

#include <string.h>

#define MODELS_MAX 16u

enum {
    KEY_DEGREES = 1,
    KEY_RATES,
    KEY_BATCHES,
    KEY_FABRICS,
    KEY_VARIANTS,
    KEY_PROFILES,
    KEY_PLOT,
    KEY_TAX_PLOT,
    KEY_RESUME,
    KEY_DARK,
    KEY_REPORT,
    KEY_SWEEP,
};

const struct argp_option compare_model_options[] = {
    {0, 0, NULL, 0, "Of models:", -1},
    {"degrees", KEY_DEGREES, "D,D", 0, "ports a server, one comparison each", 0},
    {"rates", KEY_RATES, "R,R", 0, "rates of a port, one comparison each", 0},
    {"batches", KEY_BATCHES, "N,N", 0, "samples of an iteration, one comparison each", 0},
    {"fabrics", KEY_FABRICS, "F,F", 0, "only these beside Weft's plan", 0},
    {"variants", KEY_VARIANTS, NULL, 0,
     "measure also what searching strategy or topology alone, or neither, gives", 0},
    {"profiles", KEY_PROFILES, "DIR", 0,
     "measured times: of each model the first file there that has all its operators", 0},
    {"plot", KEY_PLOT, "FILE.svg", 0, "draw iteration times over rates, or over batches", 0},
    {"plot-tax", KEY_TAX_PLOT, "FILE.svg", 0, "draw bandwidth taxes so", 0},
    {"resume", KEY_RESUME, "FILE.json", 0,
     "comparisons that this file has of the same options are not made again; each new one is "
     "added to it",
     0},
    {"dark", KEY_DARK, "T", 0,
     "of a task graph: how long the switch of ocs-reconfig turns, while no traffic flows (10ms)",
     0},
    {0, 0, NULL, 0, "Of a model without --model:", -2},
    CLI_BUY_OPTIONS,
    {"sweep", KEY_SWEEP, "dark-time=T..T", 0,
     "iterations at every power of ten of the dark time between these, with the fabrics whose "
     "circuits move beside the others, unless --fabrics names some",
     0},
    {"report", KEY_REPORT, "FILE.html", 0, "draw the answer on one page that needs no other file",
     0},
    {0},
};

// ---- lists ----

// Cuts the next word off a list "a,b,c"; false at its end. Words are copied.
static bool next_word(const char **word, const char **list, struct weft_arena *arena)
{
    if (**list == '\0') {
        return false;
    }
    size_t length = strcspn(*list, ",");
    *word = weft_arena_text(arena, *list, length);
    *list += length;
    *list += **list == ',';
    return true;
}

// Takes one value of a list; take_list has made sure that there is room.
static error_t take_item(int key, const char *word, struct compare_options *input)
{
    struct cli *cli = input->cli;
    struct weft_error *error = &cli->error;
    uint64_t count = 0;
    error_t failed = 0;
    switch (key) {
    case KEY_DEGREES:
        failed = cli_count(cli, &input->models.degrees[input->models.degree_count++], "degrees",
                           word, 1, WEFT_CLUSTER_SERVERS_MAX);
        break;
    case KEY_RATES:
        failed = cli_value(
            cli, weft_parse_rate(&input->models.rates_Bps[input->models.rate_count++], word, error),
            "rates");
        break;
    case KEY_BATCHES:
        failed = cli_value(cli, weft_parse_count(&count, word, 1, 1ull << 40, error), "batches");
        input->models.batches[input->models.batch_count++] = count;
        break;
    default:
        input->models.fabrics[input->models.fabric_count++] = word;
        break;
    }
    return failed;
}

static error_t take_list(int key, const char *list, struct compare_options *input)
{
    struct cli *cli = input->cli;
    const char *word;
    uint32_t count = 0;
    while (next_word(&word, &list, &cli->arena)) {
        if (count++ == WEFT_COMPARE_LIST_MAX) {
            return cli_usage(cli, "at most %u values in a list", WEFT_COMPARE_LIST_MAX);
        }
        error_t failed = take_item(key, word, input);
        if (failed != 0) {
            return failed;
        }
    }
    return 0;
}

// A switch that takes no time has no epochs, since topologies live four times as long.
static error_t take_dark(const char *argument, struct compare_options *input)
{
    struct cli *cli = input->cli;
    bool parsed = weft_parse_time(&input->dark_ps, argument, &cli->error);
    if (parsed && input->dark_ps == 0) {
        return cli_usage(cli, "--dark: a switch takes some time; write --dark 10us");
    }
    return cli_value(cli, parsed, "dark");
}

// "dark-time=1us..1s" as the list of its powers of ten.
static error_t take_sweep(const char *argument, struct compare_options *input)
{
    static const char form[] = "write --sweep dark-time=1us..1s";
    struct cli *cli = input->cli;
    const char *dots = strstr(argument, "..");
    const char *equals = strchr(argument, '=');
    uint64_t low_ps = 0;
    uint64_t high_ps = 0;
    if (equals == NULL || dots == NULL || dots < equals ||
        strncmp(argument, "dark-time=", strlen("dark-time=")) != 0) {
        return cli_usage(cli, "--sweep: '%.60s' names no range; %s", argument, form);
    }
    const char *low = weft_arena_text(&cli->arena, equals + 1, (size_t)(dots - equals - 1));
    if (!weft_parse_time(&low_ps, low, &cli->error) ||
        !weft_parse_time(&high_ps, dots + 2, &cli->error)) {
        return cli_value(cli, false, "sweep");
    }
    if (low_ps == 0 || low_ps >= high_ps) {
        return cli_usage(cli, "--sweep: '%.60s' does not rise; %s", argument, form);
    }
    uint64_t *list = WEFT_NEW(&cli->arena, uint64_t, 32); // 2^64 has twenty digits
    uint32_t count = 0;
    for (uint64_t ps = low_ps; ps < high_ps; ps *= 10) {
        list[count++] = ps;
        if (ps > UINT64_MAX / 10) {
            break;
        }
    }
    list[count++] = high_ps;
    input->buy.given = true;
    input->buy.last = "sweep";
    input->buy.request.dark_times = (struct weft_time_list){count, list};
    return 0;
}

// Takes the options of models. A list that is given twice replaces the first one.
error_t compare_parse_model(int key, char *argument, struct compare_options *input)
{
    struct cli *cli = input->cli;
    input->model_option_given |= key >= KEY_DEGREES && key <= KEY_RESUME;
    switch (key) {
    case KEY_DEGREES:
        input->models.degree_count = 0;
        return take_list(key, argument, input);
    case KEY_RATES:
        input->models.rate_count = 0;
        return take_list(key, argument, input);
    case KEY_BATCHES:
        input->models.batch_count = 0;
        return take_list(key, argument, input);
    case KEY_FABRICS:
        input->models.fabric_count = 0;
        return take_list(key, argument, input);
    case KEY_VARIANTS:
        input->models.variants = true;
        return 0;
    case KEY_PROFILES:
        return cli_take(cli, &input->models.profiles_path, argument, "folder of profiles");
    case KEY_PLOT:
        return cli_take(cli, &input->plot_path, argument, "plot");
    case KEY_TAX_PLOT:
        return cli_take(cli, &input->tax_plot_path, argument, "plot of taxes");
    case KEY_DARK:
        return take_dark(argument, input);
    case KEY_REPORT:
        input->buy.given = true;
        input->buy.last = "report";
        return cli_take(cli, &input->buy.report_path, argument, "report");
    case KEY_SWEEP:
        return take_sweep(argument, input);
    case KEY_RESUME:
        return cli_take(cli, &input->models.resume_path, argument, "file to resume");
    default:
        return cli_buy_parse(cli, &input->buy, key, argument);
    }
}

static const struct weft_comparison *find_row(const struct weft_model_comparison *comparison,
                                              const char *name)
{
    for (uint32_t r = 0; r < comparison->row_count; r++) {
        const struct weft_comparison *row = &comparison->rows[r];
        if (strcmp(row->name, name) == 0 && row->why_not == NULL && row->iteration_s > 0) {
            return row;
        }
    }
    return NULL;
}

// How Weft's plan stands against one fabric, as a sentence.
static void print_against(struct cli *cli, const struct weft_comparison *weft,
                          const struct weft_comparison *other)
{
    if (weft == NULL || other == NULL) {
        return;
    }
    double ratio = weft->iteration_s / other->iteration_s;
    double cost_ratio = weft->cost_usd > 0 ? other->cost_usd / weft->cost_usd : 0;
    if (ratio > 1.005) {
        cli_say(cli, "Weft loses to %s: %.2f times its iteration (%s costs %.2f times as much)\n",
                other->name, ratio, other->name, cost_ratio);
    } else if (ratio < 0.995) {
        cli_say(cli, "Weft beats %s: %.2f times as fast (%s costs %.2f times as much)\n",
                other->name, 1 / ratio, other->name, cost_ratio);
    } else {
        cli_say(cli, "Weft and %s are within 0.5 %% (%s costs %.2f times as much)\n", other->name,
                other->name, cost_ratio);
    }
}

static void print_variants(struct cli *cli, const struct weft_model_comparison *comparison)
{
    double both_s = comparison->variant_s[WEFT_COPLAN_BOTH];
    bool first = true;
    for (enum weft_coplan_variant v = 0; v < WEFT_COPLAN_VARIANT_COUNT; v++) {
        char time[WEFT_UNIT_TEXT];
        if (comparison->variant_s[v] > 0 && both_s > 0) {
            cli_say(cli, "%s%s %s (%.2f)", first ? "searched: " : ", ", weft_coplan_variant_name(v),
                    weft_show_time(time, weft_picoseconds(comparison->variant_s[v])),
                    comparison->variant_s[v] / both_s);
            first = false;
        }
    }
    cli_say(cli, "%s", first ? "" : "\n");
}

// The table of one comparison, and below it why fabrics are missing and how Weft's plan stands
// against a Fat-tree and the switch of equal cost.
static void print_rows(struct cli *cli, const struct weft_model_comparison *comparison)
{
    static const struct weft_table_column columns[] = {
        {"fabric", WEFT_ALIGN_LEFT},      {"iteration", WEFT_ALIGN_RIGHT},
        {"to weft", WEFT_ALIGN_RIGHT},    {"cost", WEFT_ALIGN_RIGHT},
        {"power", WEFT_ALIGN_RIGHT},      {"tax", WEFT_ALIGN_RIGHT},
        {"strategy of", WEFT_ALIGN_LEFT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct weft_arena *arena = &cli->arena;
    struct weft_table_cell *cells =
        WEFT_NEW(arena, struct weft_table_cell, (size_t)comparison->row_count * COLUMNS + 1);
    const struct weft_comparison *weft = find_row(comparison, "weft");
    uint32_t shown = 0;
    for (uint32_t r = 0; r < comparison->row_count; r++) {
        const struct weft_comparison *row = &comparison->rows[r];
        if (row->why_not != NULL) {
            continue;
        }
        struct weft_table_cell *cell = cells + (size_t)shown++ * COLUMNS;
        cell[0].text = row->name;
        cell[1] = weft_cell_time(arena, row->iteration_s);
        if (weft != NULL) {
            cell[2] = weft_cell_number(arena, 3, row->iteration_s / weft->iteration_s);
        }
        cell[3] = weft_cell_usd(arena, row->cost_usd);
        cell[4] = weft_cell_power(arena, row->power_watts);
        cell[5] = weft_cell_number(arena, 2, row->bandwidth_tax_ratio);
        cell[6].text = row->found_for;
    }
    cli_table(cli, columns, COLUMNS, cells, shown);
    for (uint32_t r = 0; r < comparison->row_count; r++) {
        if (comparison->rows[r].why_not != NULL) {
            cli_say(cli, "%s: %s\n", comparison->rows[r].name, comparison->rows[r].why_not);
        }
    }
    print_against(cli, weft, find_row(comparison, "fat-tree"));
    print_against(cli, weft, find_row(comparison, "cost-equivalent"));
    print_variants(cli, comparison);
}

static void print(struct cli *cli, const struct weft_compare_models_result *result)
{
    char rate[WEFT_UNIT_TEXT];
    for (uint32_t i = 0; i < result->comparison_count; i++) {
        const struct weft_model_comparison *comparison = &result->comparisons[i];
        cli_say(cli, "%s%s: %llu samples on %u servers, %u ports of %s each; costs by %s\n\n",
                i == 0 ? "" : "\n", comparison->model, (unsigned long long)comparison->batch,
                comparison->server_count, comparison->degree,
                weft_show_rate(rate, comparison->rate_Bps), comparison->costs);
        if (comparison->stopped) {
            cli_say(cli, "left unfinished: the rows until then\n\n");
        }
        if (comparison->why_not != NULL) {
            cli_say(cli, "not compared: %s\n", comparison->why_not);
            continue;
        }
        print_rows(cli, comparison);
    }
}

static bool save_plot(const struct compare_options *input,
                      const struct weft_compare_models_result *result, const char *path,
                      enum weft_sweep_metric metric)
{
    struct cli *cli = input->cli;
    struct weft_model_comparison *shown =
        WEFT_NEW(&cli->arena, struct weft_model_comparison, (size_t)result->comparison_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < result->comparison_count; i++) {
        if (result->comparisons[i].why_not == NULL) {
            shown[count++] = result->comparisons[i];
        }
    }
    if (path == NULL || count == 0) {
        return true;
    }
    const struct weft_sweep_view view = {
        .axis = input->models.batch_count > 1 ? WEFT_SWEEP_BATCH : WEFT_SWEEP_RATE,
        .metric = metric,
        .all_fabrics = input->models.fabric_count > 0,
    };
    const char *svg = weft_report_svg_sweep(shown, count, &view, &cli->arena, cli->scratch);
    return weft_file_save(path, svg, strlen(svg), &cli->error);
}

static bool any_compared(const struct weft_compare_models_result *result)
{
    for (uint32_t i = 0; i < result->comparison_count; i++) {
        if (result->comparisons[i].why_not == NULL) {
            return true;
        }
    }
    return false;
}

// The models of a list "a,b,c".
static void list_models(struct weft_compare_models_request *request, struct cli *cli)
{
    const char *list = cli->given.job.model;
    const char **models = WEFT_NEW(&cli->arena, const char *, strlen(list) + 1);
    while (next_word(&models[request->model_count], &list, &cli->arena)) {
        request->model_count++;
    }
    request->models = models;
}

bool compare_models(struct compare_options *input)
{
    struct cli *cli = input->cli;
    struct weft_compare_models_request *request = &input->models;
    if (input->buy.given) {
        return cli_misuse(cli, "--%s is for %s MODEL CLUSTER.yaml, without --model",
                          input->buy.last, cli->program);
    }
    if (input->dark_ps > 0) {
        return cli_misuse(cli, "--dark is for a task graph; leave it out with --model");
    }
    if (cli->given.search.method == WEFT_TOPOLOGY_TOPOOPT) {
        return cli_misuse(cli, "both methods have a row; leave out --method");
    }
    request->hardware = cli->given.hardware;
    request->job = cli->given.job;
    request->trace = cli->given.trace;
    request->search = cli->given.search;
    if (input->path != NULL) {
        if (cli->given.hardware.cluster_path != NULL) {
            return cli_misuse(cli, "one cluster only, not '%.100s' and --cluster", input->path);
        }
        request->hardware.cluster_path = input->path;
    }
    list_models(request, cli);
    struct weft_compare_models_result result;
    bool compared =
        weft_request_compare_models(&result, request, cli_environment(cli, cli_clock_watch(cli)));
    cli_clock_stop(cli);
    if (!compared || !save_plot(input, &result, input->plot_path, WEFT_SWEEP_TIME) ||
        !save_plot(input, &result, input->tax_plot_path, WEFT_SWEEP_TAX)) {
        return false;
    }
    cli->exit_code = any_compared(&result) ? CLI_EXIT_YES : CLI_EXIT_NO;
    if (cli->json) {
        cli_say(cli, "%s", weft_request_compare_models_json(&result, &cli->arena));
    } else {
        print(cli, &result);
    }
    return true;
}
