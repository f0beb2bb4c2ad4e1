// SPDX-License-Identifier: Apache-2.0
// weft compare --model: models over fabrics, degrees, rates and batches.

#include "compare.h"
#include "weft/format.h"
#include "weft/report.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#define MODELS_MAX 16u
#define COMPARISONS_MAX 4096u

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

static error_t take_item(int key, const char *word, struct compare_request *request)
{
    struct cli *cli = request->cli;
    struct weft_error *error = &cli->error;
    uint64_t count = 0;
    error_t failed = 0;
    switch (key) {
    case KEY_DEGREES:
        failed = cli_count(cli, &request->degrees[request->degree_count++], "degrees", word, 1,
                           WEFT_CLUSTER_SERVERS_MAX);
        break;
    case KEY_RATES:
        failed = cli_value(
            cli, weft_parse_rate(&request->rates_Bps[request->rate_count++], word, error), "rates");
        break;
    case KEY_BATCHES:
        failed = cli_value(cli, weft_parse_count(&count, word, 1, 1ull << 40, error), "batches");
        request->batches[request->batch_count++] = count;
        break;
    default:
        request->fabrics[request->fabric_count++] = word;
        break;
    }
    return failed;
}

static error_t take_list(int key, const char *list, struct compare_request *request)
{
    struct cli *cli = request->cli;
    const char *word;
    uint32_t count = 0;
    while (next_word(&word, &list, &cli->arena)) {
        if (count++ == COMPARE_LIST_MAX) {
            return cli_usage(cli, "at most %u values in a list", COMPARE_LIST_MAX);
        }
        error_t failed = take_item(key, word, request);
        if (failed != 0) {
            return failed;
        }
    }
    return 0;
}

error_t compare_parse_model(int key, char *argument, struct compare_request *request)
{
    struct cli *cli = request->cli;
    request->model_option_given |= key >= KEY_DEGREES && key <= KEY_RESUME;
    switch (key) {
    case KEY_DEGREES:
        request->degree_count = 0;
        return take_list(key, argument, request);
    case KEY_RATES:
        request->rate_count = 0;
        return take_list(key, argument, request);
    case KEY_BATCHES:
        request->batch_count = 0;
        return take_list(key, argument, request);
    case KEY_FABRICS:
        request->fabric_count = 0;
        return take_list(key, argument, request);
    case KEY_VARIANTS:
        request->variants = true;
        return 0;
    case KEY_PROFILES:
        return cli_take(cli, &request->profiles_path, argument, "folder of profiles");
    case KEY_PLOT:
        return cli_take(cli, &request->plot_path, argument, "plot");
    case KEY_TAX_PLOT:
        return cli_take(cli, &request->tax_plot_path, argument, "plot of taxes");
    case KEY_RESUME:
        return cli_take(cli, &request->resume_path, argument, "file to resume");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// ---- one comparison after the other ----

struct run {
    struct compare_request *request;
    const struct weft_cluster *cluster; // as its file has it
    // All that is known, those kept from before first; and which of them were asked for, in order.
    struct weft_model_comparison *known;
    uint32_t known_count;
    struct weft_model_comparison *asked;
    uint32_t asked_count;
    double effort_s;
};

static bool has_rows(const struct compare_request *request,
                     const struct weft_model_comparison *kept)
{
    uint32_t count = 0;
    weft_fabric_references(&count);
    bool has = request->fabric_count > 0 || kept->row_count == count + 3;
    for (uint32_t f = 0; f < request->fabric_count; f++) {
        bool found = false;
        for (uint32_t r = 0; r < kept->row_count; r++) {
            found = found || strcmp(kept->rows[r].name, request->fabrics[f]) == 0;
        }
        has = has && found;
    }
    return has;
}

// Whether a kept comparison answers what is asked. Memory limits and the like are not looked at.
static bool is_kept(const struct run *run, const struct weft_model_comparison *kept,
                    const struct weft_model *model, const struct weft_cluster *cluster,
                    bool measured)
{
    // One side alone may be left out, as data parallelism that does not fit.
    bool variants = kept->variant_s[WEFT_COPLAN_BOTH] > 0;
    return strcmp(kept->model, model->name) == 0 && kept->batch == model->batch &&
           kept->server_count == cluster->server_count && kept->degree == cluster->degree &&
           fabs(kept->rate_Bps - cluster->rate_Bps) < 1 && kept->seed == run->request->cli->seed &&
           fabs(kept->effort_s - run->effort_s) < 1e-9 && (variants || !run->request->variants) &&
           (strcmp(kept->costs, "profile") == 0) == measured && has_rows(run->request, kept);
}

// Adds what is new to the kept file, so that nothing is lost when a later comparison is stopped.
static bool keep(const struct run *run)
{
    struct cli *cli = run->request->cli;
    if (run->request->resume_path == NULL) {
        return true;
    }
    struct weft_arena scratch = cli->scratch;
    const char *text = weft_comparisons_write(run->known, run->known_count, &scratch);
    return weft_file_save(run->request->resume_path, text, strlen(text), &cli->error);
}

static bool load_kept(struct run *run)
{
    struct cli *cli = run->request->cli;
    const char *path = run->request->resume_path;
    const char *data = NULL;
    size_t length = 0;
    struct weft_model_comparison *kept = NULL;
    uint32_t count = 0;
    if (path == NULL || access(path, F_OK) != 0) {
        return true;
    }
    if (!weft_file_load(&data, &length, path, (size_t)1 << 30, &cli->arena, &cli->error)) {
        return false;
    }
    if (!weft_comparisons_read(&kept, &count, data, length, &cli->arena, &cli->error)) {
        return weft_wrap(&cli->error, "%s", path);
    }
    count = count < COMPARISONS_MAX ? count : COMPARISONS_MAX;
    memcpy(run->known, kept, count * sizeof *kept);
    run->known_count = count;
    return true;
}

static bool find_costs(struct weft_strategy_setting *setting, const struct run *run,
                       const struct weft_model *model, const struct weft_cluster *cluster)
{
    struct cli *cli = run->request->cli;
    if (!cli_setting(setting, cli, model, cluster)) {
        return false;
    }
    if (run->request->profiles_path == NULL) {
        return true;
    }
    const struct weft_profile *profile = NULL;
    if (!compare_find_profile(&profile, run->request->profiles_path, model, cluster->server_count,
                              cli)) {
        return false;
    }
    if (profile == NULL) {
        cli_note(cli, "%s: no profile in %s has its operators and a batch of %llu; roofline",
                 model->name, run->request->profiles_path, (unsigned long long)model->batch);
        return true;
    }
    setting->cost.profile = profile;
    setting->inside_Bps = cli->job.inside_given ? cli->job.inside_Bps : CLI_PROFILE_INSIDE_BPS;
    return true;
}

// A model that does not fit is an answer, too: those before and after it keep theirs. It is not
// kept for --resume, where other memory may be asked for.
static void refuse(struct run *run, const struct weft_model *model,
                   const struct weft_cluster *cluster, const struct weft_strategy_setting *setting)
{
    struct cli *cli = run->request->cli;
    const struct weft_cost_options *costs = &setting->cost;
    run->asked[run->asked_count++] = (struct weft_model_comparison){
        .model = model->name,
        .batch = model->batch,
        .server_count = cluster->server_count,
        .degree = cluster->degree,
        .rate_Bps = cluster->rate_Bps,
        .costs = costs->profile != NULL
                     ? "profile"
                     : weft_arena_format(&cli->arena, "roofline %s", costs->accelerator->name),
        .why_not = weft_arena_text(&cli->arena, cli->error.message, strlen(cli->error.message)),
        .seed = cli->seed,
        .effort_s = run->effort_s,
    };
    cli->error = (struct weft_error){.code = WEFT_OK};
}

static bool compare_one(struct run *run, const struct weft_model *model,
                        const struct weft_cluster *cluster)
{
    struct compare_request *request = run->request;
    struct cli *cli = request->cli;
    WEFT_ASSERT(run->asked_count < COMPARISONS_MAX);
    struct weft_strategy_setting setting;
    if (!find_costs(&setting, run, model, cluster)) {
        return false;
    }
    cli_note_batch(cli, model, cluster, &setting);
    for (uint32_t i = 0; i < run->known_count; i++) {
        if (is_kept(run, &run->known[i], model, cluster, setting.cost.profile != NULL)) {
            run->asked[run->asked_count++] = run->known[i];
            return true;
        }
    }
    char rate[WEFT_UNIT_TEXT];
    const char *what = weft_arena_format(&cli->arena, "%s, batch %llu, d %u, %s", model->name,
                                         (unsigned long long)model->batch, cluster->degree,
                                         weft_show_rate(rate, cluster->rate_Bps));
    weft_stop stop = cli_clock_start(cli, what, 0);
    const struct weft_compare_options options = {
        .coplan = {.all_variants = request->variants,
                   .seconds = cli->search.seconds,
                   .search = {.method = cli->job.method,
                              .evaluations = cli->job.budget,
                              .seed = cli->seed,
                              .threads = cli->threads,
                              .stop = stop},
                   .plan = {.topology = cli_topology_options(cli, stop),
                            .sim = cli_task_packets(cli)},
                   .best_ps = &cli->best_ps,
                   .bound_ps = &cli->bound_ps},
        .fabrics = request->fabrics,
        .fabric_count = request->fabric_count,
    };
    struct weft_model_comparison comparison;
    bool compared = weft_plan_compare_model(&comparison, model, cluster, &setting, &options,
                                            &cli->arena, cli->scratch, &cli->error);
    cli_clock_stop(cli);
    cli->best_ps = 0;
    cli->bound_ps = 0;
    bool answer = cli->error.code == WEFT_INFEASIBLE || cli->error.code == WEFT_UNSUPPORTED;
    if (!compared && answer && !weft_stopped(stop)) {
        refuse(run, model, cluster, &setting);
        return true;
    }
    if (!compared) {
        return weft_wrap(&cli->error, "%s", what);
    }
    if (weft_stopped(stop)) {
        return weft_fail(&cli->error, WEFT_STOPPED, "%s: stopped before it was done", what);
    }
    run->asked[run->asked_count++] = comparison;
    if (run->known_count < COMPARISONS_MAX) {
        run->known[run->known_count++] = comparison;
    }
    return keep(run);
}

// All degrees, rates and batches of one model; or only whether there are such a model and clusters.
static bool compare_model(struct run *run, const char *name, bool only_look)
{
    struct compare_request *request = run->request;
    struct cli *cli = request->cli;
    uint32_t degrees = request->degree_count > 0 ? request->degree_count : 1;
    uint32_t rates = request->rate_count > 0 ? request->rate_count : 1;
    uint32_t batches = request->batch_count > 0 ? request->batch_count : 1;
    cli->job.model = name;
    for (uint32_t i = 0; i < degrees * rates * batches; i++) {
        struct weft_cluster cluster = *run->cluster;
        struct weft_model model;
        if (request->degree_count > 0) {
            cluster.degree = request->degrees[i / (rates * batches)];
        }
        if (request->rate_count > 0) {
            cluster.rate_Bps = request->rates_Bps[i / batches % rates];
        }
        if (request->batch_count > 0) {
            cli->job.batch = request->batches[i % batches];
        }
        if (!cli_job_model(&model, cli)) {
            return false;
        }
        if (!weft_cluster_check(&cluster, &cli->error)) {
            return weft_wrap(&cli->error, "%s with %u ports of %g Gbps", request->path,
                             cluster.degree, cluster.rate_Bps * 8 / 1e9);
        }
        if (!only_look && !compare_one(run, &model, &cluster)) {
            return false;
        }
    }
    return true;
}

// A mistake in the last model is told before the first one is searched.
static bool compare_listed(struct run *run, const char *models)
{
    for (uint32_t pass = 0; pass < 2; pass++) {
        const char *list = models;
        const char *name;
        while (next_word(&name, &list, &run->request->cli->arena)) {
            if (!compare_model(run, name, pass == 0)) {
                return false;
            }
        }
    }
    return true;
}

// ---- telling ----

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

// How Weft's plan stands against one fabric, in words.
static void tell_against(struct cli *cli, const struct weft_comparison *weft,
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

static void tell_variants(struct cli *cli, const struct weft_model_comparison *comparison)
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

static void tell_rows(struct cli *cli, const struct weft_model_comparison *comparison)
{
    static const struct weft_table_column columns[] = {
        {"fabric", WEFT_ALIGN_LEFT},      {"iteration", WEFT_ALIGN_RIGHT},
        {"to weft", WEFT_ALIGN_RIGHT},    {"cost", WEFT_ALIGN_RIGHT},
        {"power", WEFT_ALIGN_RIGHT},      {"tax", WEFT_ALIGN_RIGHT},
        {"strategy of", WEFT_ALIGN_LEFT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct weft_arena *arena = &cli->arena;
    const char **cells = WEFT_NEW(arena, const char *, (size_t)comparison->row_count *COLUMNS + 1);
    const struct weft_comparison *weft = find_row(comparison, "weft");
    char unit[WEFT_UNIT_TEXT];
    uint32_t shown = 0;
    for (uint32_t r = 0; r < comparison->row_count; r++) {
        const struct weft_comparison *row = &comparison->rows[r];
        if (row->why_not != NULL) {
            continue;
        }
        const char **cell = cells + (size_t)shown++ * COLUMNS;
        cell[0] = row->name;
        cell[1] = weft_arena_format(arena, "%s",
                                    weft_show_time(unit, weft_picoseconds(row->iteration_s)));
        cell[2] = weft != NULL
                      ? weft_arena_format(arena, "%.3f", row->iteration_s / weft->iteration_s)
                      : NULL;
        cell[3] = weft_arena_format(arena, "%s", weft_show_usd(unit, row->cost_usd));
        cell[4] = weft_arena_format(arena, "%.1f kW", row->power_watts / 1e3);
        cell[5] = weft_arena_format(arena, "%.2f", row->bandwidth_tax_ratio);
        cell[6] = row->found_for;
    }
    cli_say(cli, "%s", weft_report_table(columns, COLUMNS, cells, shown, arena));
    for (uint32_t r = 0; r < comparison->row_count; r++) {
        if (comparison->rows[r].why_not != NULL) {
            cli_say(cli, "%s: %s\n", comparison->rows[r].name, comparison->rows[r].why_not);
        }
    }
    tell_against(cli, weft, find_row(comparison, "fat-tree"));
    tell_against(cli, weft, find_row(comparison, "cost-equivalent"));
    tell_variants(cli, comparison);
}

static void tell(struct cli *cli, const struct run *run)
{
    char rate[WEFT_UNIT_TEXT];
    for (uint32_t i = 0; i < run->asked_count; i++) {
        const struct weft_model_comparison *comparison = &run->asked[i];
        cli_say(cli, "%s%s: %llu samples on %u servers, %u ports of %s each; costs by %s\n\n",
                i == 0 ? "" : "\n", comparison->model, (unsigned long long)comparison->batch,
                comparison->server_count, comparison->degree,
                weft_show_rate(rate, comparison->rate_Bps), comparison->costs);
        if (comparison->why_not != NULL) {
            cli_say(cli, "not compared: %s\n", comparison->why_not);
            continue;
        }
        tell_rows(cli, comparison);
    }
}

static bool save_plot(const struct run *run, const char *path, enum weft_sweep_figure figure)
{
    struct cli *cli = run->request->cli;
    struct weft_model_comparison *shown =
        WEFT_NEW(&cli->arena, struct weft_model_comparison, (size_t)run->asked_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < run->asked_count; i++) {
        if (run->asked[i].why_not == NULL) {
            shown[count++] = run->asked[i];
        }
    }
    if (path == NULL || count == 0) {
        return true;
    }
    enum weft_sweep_axis axis = run->request->batch_count > 1 ? WEFT_SWEEP_BATCH : WEFT_SWEEP_RATE;
    const char *svg = weft_report_svg_sweep(shown, count, axis, figure, &cli->arena, cli->scratch);
    return weft_file_save(path, svg, strlen(svg), &cli->error);
}

static bool any_compared(const struct run *run)
{
    for (uint32_t i = 0; i < run->asked_count; i++) {
        if (run->asked[i].why_not == NULL) {
            return true;
        }
    }
    return false;
}

static bool check_fabrics(const struct compare_request *request)
{
    uint32_t count = 0;
    const struct weft_fabric_reference *references = weft_fabric_references(&count);
    for (uint32_t f = 0; f < request->fabric_count; f++) {
        const char *name = request->fabrics[f];
        bool found = strcmp(name, "topoopt") == 0 || strcmp(name, "ocs-reconfig") == 0;
        for (uint32_t i = 0; i < count; i++) {
            found = found || strcmp(name, references[i].name) == 0;
        }
        if (!found) {
            return cli_misuse(request->cli,
                              "--fabrics: '%.40s' is none; weft fabrics lists them, and there are "
                              "topoopt and ocs-reconfig",
                              name);
        }
    }
    return true;
}

bool compare_models(struct compare_request *request)
{
    struct cli *cli = request->cli;
    struct weft_cluster cluster;
    if (request->path != NULL) {
        if (cli->hardware.cluster_path != NULL) {
            return cli_misuse(cli, "one cluster only, not '%.100s' and --cluster", request->path);
        }
        cli->hardware.cluster_path = request->path;
    }
    if (cli->job.profile_path != NULL && request->profiles_path != NULL) {
        return cli_misuse(cli, "--profile names a file, --profiles a folder; write one of them");
    }
    if (!check_fabrics(request) || !cli_cluster(&cluster, cli, 1, 0, false)) {
        return false;
    }
    struct run run = {
        .request = request,
        .cluster = &cluster,
        .known = WEFT_NEW(&cli->arena, struct weft_model_comparison, COMPARISONS_MAX),
        .asked = WEFT_NEW(&cli->arena, struct weft_model_comparison, COMPARISONS_MAX),
        .effort_s = cli->search.seconds > 0 ? cli->search.seconds : WEFT_COPLAN_SECONDS,
    };
    if (!load_kept(&run)) {
        return false;
    }
    if (!compare_listed(&run, cli->job.model)) {
        return false;
    }
    if (!save_plot(&run, request->plot_path, WEFT_SWEEP_TIME) ||
        !save_plot(&run, request->tax_plot_path, WEFT_SWEEP_TAX)) {
        return false;
    }
    cli->exit_code = any_compared(&run) ? CLI_EXIT_YES : CLI_EXIT_NO;
    if (cli->json) {
        cli_say(cli, "%s", weft_comparisons_write(run.asked, run.asked_count, &cli->arena));
    } else {
        tell(cli, &run);
    }
    return true;
}
