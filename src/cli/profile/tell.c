// SPDX-License-Identifier: Apache-2.0
// weft profile, told: operators of equal cost in one row, and how far rooflines are from
// measurements.

#include "profile.h"
#include "weft/report.h"

#include <math.h>
#include <string.h>

// One split of an operator.
struct split_cost {
    struct weft_split split;
    struct weft_operator_cost cost;     // measured where it is
    struct weft_operator_cost roofline; // in any case
    double forward_flops_per_s;         // of one accelerator
    double backward_flops_per_s;
};

// Operators that cost the same.
struct row {
    uint32_t op; // the first of them
    uint32_t count;
    const char *profile_name;
    bool first_of_name; // the one that a profile of the artifact measured
    uint32_t split_count;
    const struct split_cost *splits;
    const struct split_cost *shown; // data parallelism: most sample parts, parameters whole
};

// How far rooflines are from measurements, in logarithms.
struct accuracy {
    uint32_t count;
    double sum[2], low[2], high[2]; // forward, backward
};

// ---- rows ----

static double rate(double flops, uint64_t time_ps)
{
    return time_ps > 0 ? flops / weft_seconds(time_ps) : 0;
}

static bool fill_split(struct split_cost *cost, const struct profile_request *request, uint32_t op,
                       struct weft_split split)
{
    const struct weft_model *model = &request->model;
    const struct weft_cost_options *costs = &request->costs;
    struct weft_error *error = &request->cli->error;
    const struct weft_operator *one = &model->operators[op];
    // A table is measured whole on one accelerator; compare it with that.
    struct weft_cost_options alone = *costs;
    alone.accelerators_per_server = 1;
    struct weft_error missing;
    *cost = (struct split_cost){.split = split};
    bool measured = costs->profile != NULL &&
                    weft_operator_time(&cost->cost, model, op, split, costs, &missing);
    bool table = one->spec.kind == WEFT_OP_EMBEDDING;
    if (!weft_operator_roofline(&cost->roofline, model, op, split,
                                measured && table ? &alone : costs, error)) {
        return false;
    }
    cost->cost = measured ? cost->cost : cost->roofline;
    double share = (double)model->batch / split.sample_parts / split.parameter_parts /
                   costs->accelerators_per_server;
    cost->forward_flops_per_s = rate(one->forward_flops * share, cost->cost.forward_ps);
    cost->backward_flops_per_s = rate(one->backward_flops * share, cost->cost.backward_ps);
    return true;
}

static bool fill_row(struct row *row, const struct profile_request *request, uint32_t op)
{
    struct cli *cli = request->cli;
    struct weft_cost_options full = request->costs;
    full.profile = &request->full;
    struct weft_split_list list;
    if (!weft_operator_splits(
            &list, &request->model, op, request->server_count, &full,
            &(struct weft_environment){.arena = &cli->arena, .error = &cli->error})) {
        return false;
    }
    const struct weft_split *splits = list.splits;
    uint32_t count = list.count;
    struct split_cost *all = WEFT_NEW(&cli->arena, struct split_cost, count);
    uint32_t shown = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!fill_split(&all[i], request, op, splits[i])) {
            return false;
        }
        // Tables are dealt out whole, as data parallelism does with them.
        bool table = request->model.operators[op].spec.kind == WEFT_OP_EMBEDDING;
        bool whole = splits[i].parameter_parts == 1;
        shown = whole && !table ? i : shown;
    }
    *row = (struct row){
        .op = op,
        .count = 1,
        .profile_name = weft_profile_name(&request->model, op, &cli->arena),
        .first_of_name = true,
        .split_count = count,
        .splits = all,
        .shown = &all[shown],
    };
    return true;
}

static bool same_cost(const struct row *a, const struct row *b)
{
    if (a->split_count != b->split_count) {
        return false;
    }
    for (uint32_t i = 0; i < a->split_count; i++) {
        const struct split_cost *x = &a->splits[i];
        const struct split_cost *y = &b->splits[i];
        if (x->cost.forward_ps != y->cost.forward_ps ||
            x->cost.backward_ps != y->cost.backward_ps ||
            x->roofline.forward_ps != y->roofline.forward_ps ||
            x->roofline.backward_ps != y->roofline.backward_ps) {
            return false;
        }
    }
    return true;
}

// Counts a row's operator to one that is there, or keeps the row.
static void merge_row(struct row *rows, uint32_t *count, const struct row *row)
{
    bool first_of_name = true;
    for (uint32_t i = 0; i < *count; i++) {
        if (strcmp(rows[i].profile_name, row->profile_name) != 0) {
            continue;
        }
        first_of_name = false;
        if (same_cost(&rows[i], row)) {
            rows[i].count++;
            return;
        }
    }
    rows[*count] = *row;
    rows[(*count)++].first_of_name = first_of_name;
}

static bool fill_rows(struct row **rows, uint32_t *count, const struct profile_request *request)
{
    const struct weft_model *model = &request->model;
    *rows = WEFT_NEW(&request->cli->arena, struct row, model->operator_count);
    *count = 0;
    for (uint32_t op = 0; op < model->operator_count; op++) {
        struct row row;
        if (model->operators[op].spec.kind == WEFT_OP_INPUT) {
            continue;
        }
        if (!fill_row(&row, request, op)) {
            return false;
        }
        merge_row(*rows, count, &row);
    }
    return true;
}

// ---- accuracy ----

static void add_ratios(struct accuracy *accuracy, const struct split_cost *cost)
{
    const struct weft_operator_cost *measured = &cost->cost;
    const struct weft_operator_cost *roofline = &cost->roofline;
    if (measured->source != WEFT_COST_MEASURED || measured->forward_ps == 0 ||
        measured->backward_ps == 0 || roofline->backward_ps == 0) {
        return;
    }
    const double ratios[] = {
        log((double)roofline->forward_ps / (double)measured->forward_ps),
        log((double)roofline->backward_ps / (double)measured->backward_ps),
    };
    for (uint32_t i = 0; i < 2; i++) {
        accuracy->sum[i] += ratios[i];
        accuracy->low[i] = accuracy->count > 0 ? fmin(accuracy->low[i], ratios[i]) : ratios[i];
        accuracy->high[i] = accuracy->count > 0 ? fmax(accuracy->high[i], ratios[i]) : ratios[i];
    }
    accuracy->count++;
}

// By kind; only the first operator of a profile name: it is the one that was measured.
static void fill_accuracy(struct accuracy *by_kind, const struct row *rows, uint32_t count,
                          const struct weft_model *model)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!rows[i].first_of_name) {
            continue;
        }
        struct accuracy *accuracy = &by_kind[model->operators[rows[i].op].spec.kind];
        for (uint32_t j = 0; j < rows[i].split_count; j++) {
            add_ratios(accuracy, &rows[i].splits[j]);
        }
    }
}

// ---- JSON ----

static json_t *split_json(const struct split_cost *cost)
{
    json_t *object = json_object();
    cli_set_count(object, "sample_parts", cost->split.sample_parts);
    cli_set_count(object, "parameter_parts", cost->split.parameter_parts);
    cli_set_text(object, "source", weft_cost_source_name(cost->cost.source));
    cli_set_real(object, "forward_s", weft_seconds(cost->cost.forward_ps));
    cli_set_real(object, "backward_s", weft_seconds(cost->cost.backward_ps));
    cli_set_real(object, "forward_flops_per_s", cost->forward_flops_per_s);
    cli_set_real(object, "backward_flops_per_s", cost->backward_flops_per_s);
    cli_set_real(object, "roofline_forward_s", weft_seconds(cost->roofline.forward_ps));
    cli_set_real(object, "roofline_backward_s", weft_seconds(cost->roofline.backward_ps));
    cli_set_text(object, "forward_limit", weft_cost_limit_name(cost->roofline.forward_limit));
    cli_set_text(object, "backward_limit", weft_cost_limit_name(cost->roofline.backward_limit));
    return object;
}

static json_t *row_json(const struct row *row, const struct weft_model *model)
{
    const struct weft_operator *op = &model->operators[row->op];
    json_t *object = json_object();
    cli_set_text(object, "name", op->spec.name);
    cli_set_count(object, "count", row->count);
    cli_set_text(object, "profile_name", row->profile_name);
    cli_set_text(object, "kind", weft_operator_kind_name(op->spec.kind));
    cli_set_text(object, "dtype", weft_dtype_name(op->spec.dtype));
    json_t *splits = json_array();
    for (uint32_t i = 0; i < row->split_count; i++) {
        json_array_append_new(splits, split_json(&row->splits[i]));
    }
    cli_set(object, "splits", splits);
    return object;
}

static json_t *accuracy_json(const struct accuracy *accuracy, enum weft_operator_kind kind)
{
    static const char *const passes[] = {"forward", "backward"};
    json_t *object = json_object();
    cli_set_text(object, "kind", weft_operator_kind_name(kind));
    cli_set_count(object, "splits", accuracy->count);
    for (uint32_t i = 0; i < 2; i++) {
        json_t *pass = json_object();
        cli_set_real(pass, "mean_ratio", exp(accuracy->sum[i] / accuracy->count));
        cli_set_real(pass, "min_ratio", exp(accuracy->low[i]));
        cli_set_real(pass, "max_ratio", exp(accuracy->high[i]));
        cli_set(object, passes[i], pass);
    }
    return object;
}

// What an average server runs: each operator in the split that the table shows.
static void sum_up(double seconds[2], const struct row *rows, uint32_t count, uint32_t server_count)
{
    seconds[0] = 0;
    seconds[1] = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct split_cost *shown = rows[i].shown;
        double parts = (double)shown->split.sample_parts * shown->split.parameter_parts;
        double times = rows[i].count * parts / server_count;
        seconds[0] += times * weft_seconds(shown->cost.forward_ps);
        seconds[1] += times * weft_seconds(shown->cost.backward_ps);
    }
}

static void tell_json(const struct profile_request *request, const struct row *rows, uint32_t count,
                      const struct accuracy *by_kind)
{
    const struct weft_model *model = &request->model;
    json_t *object = cli_object("weft.profile/1");
    cli_set_text(object, "model", model->name);
    cli_set_count(object, "batch", model->batch);
    cli_set_count(object, "servers", request->server_count);
    cli_set_text(object, "accelerator", request->costs.accelerator->name);
    cli_set_count(object, "accelerators_per_server", request->costs.accelerators_per_server);
    if (request->profile_path != NULL) {
        cli_set_text(object, "profile", request->profile_path);
    }
    double seconds[2];
    sum_up(seconds, rows, count, request->server_count);
    cli_set_real(object, "forward_s", seconds[0]);
    cli_set_real(object, "backward_s", seconds[1]);
    json_t *operators = json_array();
    for (uint32_t i = 0; i < count; i++) {
        json_array_append_new(operators, row_json(&rows[i], model));
    }
    cli_set(object, "operators", operators);
    json_t *accuracy = json_array();
    for (uint32_t kind = 0; kind < WEFT_OP_KIND_COUNT; kind++) {
        if (by_kind[kind].count > 0) {
            json_array_append_new(accuracy, accuracy_json(&by_kind[kind], kind));
        }
    }
    cli_set(object, "accuracy", accuracy);
    cli_json(request->cli, object);
}

// ---- tables ----

#define COLUMNS 9

static void fill_cells(const char **cells, const struct row *row, const struct weft_model *model,
                       struct weft_arena *arena)
{
    char unit[WEFT_UNIT_TEXT];
    const struct split_cost *shown = row->shown;
    const struct weft_operator_cost *cost = &shown->cost;
    const char *plural = row->count > 1 ? " ..." : "";
    cells[0] = weft_arena_format(arena, "%.40s%s", model->operators[row->op].spec.name, plural);
    cells[1] = weft_arena_format(arena, "%u", row->count);
    cells[2] = row->profile_name;
    cells[3] =
        weft_arena_format(arena, "%ux%u", shown->split.sample_parts, shown->split.parameter_parts);
    cells[4] = weft_arena_format(arena, "%s", weft_show_time(unit, cost->forward_ps));
    cells[5] = weft_arena_format(arena, "%s", weft_show_time(unit, cost->backward_ps));
    cells[6] = shown->forward_flops_per_s > 0
                   ? weft_arena_format(arena, "%.3g %.3g", shown->forward_flops_per_s / 1e12,
                                       shown->backward_flops_per_s / 1e12)
                   : "";
    cells[7] =
        weft_arena_format(arena, "%s %s", weft_cost_limit_name(shown->roofline.forward_limit),
                          weft_cost_limit_name(shown->roofline.backward_limit));
    cells[8] = weft_cost_source_name(cost->source);
    if (cost->source == WEFT_COST_MEASURED && cost->forward_ps > 0 && cost->backward_ps > 0) {
        cells[8] =
            weft_arena_format(arena, "measured (%.2f %.2f)",
                              (double)shown->roofline.forward_ps / (double)cost->forward_ps,
                              (double)shown->roofline.backward_ps / (double)cost->backward_ps);
    }
}

static void tell_accuracy(struct cli *cli, const struct accuracy *by_kind)
{
    static const struct weft_table_column columns[] = {
        {"roofline/measured", WEFT_ALIGN_LEFT}, {"splits", WEFT_ALIGN_RIGHT},
        {"forward", WEFT_ALIGN_RIGHT},          {"range", WEFT_ALIGN_RIGHT},
        {"backward", WEFT_ALIGN_RIGHT},         {"range", WEFT_ALIGN_RIGHT},
    };
    enum { ACCURACY_COLUMNS = sizeof columns / sizeof columns[0] };
    const char *cells[WEFT_OP_KIND_COUNT * ACCURACY_COLUMNS];
    uint32_t count = 0;
    for (uint32_t kind = 0; kind < WEFT_OP_KIND_COUNT; kind++) {
        const struct accuracy *accuracy = &by_kind[kind];
        if (accuracy->count == 0) {
            continue;
        }
        const char **row = cells + (size_t)count++ * ACCURACY_COLUMNS;
        row[0] = weft_operator_kind_name(kind);
        row[1] = weft_arena_format(&cli->arena, "%u", accuracy->count);
        for (uint32_t i = 0; i < 2; i++) {
            row[2 + 2 * i] =
                weft_arena_format(&cli->arena, "%.2f", exp(accuracy->sum[i] / accuracy->count));
            row[3 + 2 * i] = weft_arena_format(&cli->arena, "%.2f-%.2f", exp(accuracy->low[i]),
                                               exp(accuracy->high[i]));
        }
    }
    if (count > 0) {
        cli_say(cli, "\n%s",
                weft_report_table(columns, ACCURACY_COLUMNS, cells, count, &cli->arena));
    }
}

static void tell(const struct profile_request *request, const struct row *rows, uint32_t count,
                 const struct accuracy *by_kind)
{
    static const struct weft_table_column columns[COLUMNS] = {
        {"operator", WEFT_ALIGN_LEFT}, {"x", WEFT_ALIGN_RIGHT},
        {"profile", WEFT_ALIGN_LEFT},  {"parts", WEFT_ALIGN_RIGHT},
        {"forward", WEFT_ALIGN_RIGHT}, {"backward", WEFT_ALIGN_RIGHT},
        {"TFLOP/s", WEFT_ALIGN_RIGHT}, {"limit", WEFT_ALIGN_LEFT},
        {"source", WEFT_ALIGN_LEFT},
    };
    struct cli *cli = request->cli;
    const struct weft_model *model = &request->model;
    cli_say(cli, "%s, batch %llu, %u servers of %u %s\n\n", model->name,
            (unsigned long long)model->batch, request->server_count,
            request->costs.accelerators_per_server, request->costs.accelerator->name);
    const char **cells = WEFT_NEW(&cli->arena, const char *, (size_t)count *COLUMNS + 1);
    for (uint32_t i = 0; i < count; i++) {
        fill_cells(cells + (size_t)i * COLUMNS, &rows[i], model, &cli->arena);
    }
    cli_say(cli, "%s", weft_report_table(columns, COLUMNS, cells, count, &cli->arena));
    double seconds[2];
    char forward[WEFT_UNIT_TEXT];
    char backward[WEFT_UNIT_TEXT];
    sum_up(seconds, rows, count, request->server_count);
    cli_say(cli, "\nan average server: forward %s, backward %s\n",
            weft_show_time(forward, weft_picoseconds(seconds[0])),
            weft_show_time(backward, weft_picoseconds(seconds[1])));
    tell_accuracy(cli, by_kind);
}

bool profile_tell(const struct profile_request *request)
{
    struct row *rows = NULL;
    uint32_t count = 0;
    if (!fill_rows(&rows, &count, request)) {
        return false;
    }
    struct accuracy by_kind[WEFT_OP_KIND_COUNT] = {0};
    fill_accuracy(by_kind, rows, count, &request->model);
    if (request->cli->json) {
        tell_json(request, rows, count, by_kind);
    } else {
        tell(request, rows, count, by_kind);
    }
    return true;
}
