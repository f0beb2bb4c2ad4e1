// SPDX-License-Identifier: Apache-2.0
// What each operator of a model costs in each split, by the roofline (docs/costs.md) or as
// measured, and how far the two are apart.
//
// Operators of equal cost are one row. The accuracy is that of the roofline against measurements:
// the geometric mean and the range of their ratio over all splits, by kind of operator. A profile
// measures the first operator of a name and stands for the others, so that these do not count
// again.

#include "weft/request/profile.h"
#include "weft/format.h"

#include <math.h>
#include <string.h>

// How far rooflines are from measurements, in logarithms.
struct accuracy {
    uint32_t count;
    double sum[2], low[2], high[2]; // forward, backward
};

// ---- inputs ----

// Fills what the request leaves open from the cluster file, and what that leaves open, too, by
// defaults: four accelerators a server, of kind A100.
static bool load_cluster(struct weft_profile_result *result,
                         const struct weft_profile_request *request,
                         struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_cluster cluster = {.accelerator = ""};
    if (request->cluster_path != NULL &&
        !weft_cluster_load(&cluster, request->cluster_path, base->arena, base->error)) {
        return false;
    }
    struct weft_cost_options *costs = &result->costs;
    if (result->server_count == 0) {
        result->server_count = cluster.server_count;
    }
    if (costs->accelerators_per_server == 0) {
        costs->accelerators_per_server = cluster.accelerators_per_server;
    }
    if (costs->accelerators_per_server == 0) {
        costs->accelerators_per_server = 4;
    }
    if (costs->accelerator != NULL) {
        return true;
    }
    if (cluster.accelerator[0] == '\0') {
        cluster.accelerator = "A100";
    }
    return weft_request_accelerator(&costs->accelerator, &cluster, base->error) ||
           weft_wrap(base->error, "%s: accelerators: kind (or choose by {accelerator})",
                     request->cluster_path);
}

// Reads model, cluster and measurements, and builds the full profile of every operator in every
// split. The number of servers is the request's, else the cluster's, else the profile's.
static bool load(struct weft_profile_result *result, const struct weft_profile_request *request,
                 struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    if (!weft_request_model(&result->model, request->model, environment) ||
        (request->batch > 0 &&
         !weft_model_set_batch(&result->model, request->batch, base->error)) ||
        !load_cluster(result, request, environment)) {
        return false;
    }
    if (request->profile_path != NULL) {
        struct weft_profile *given = WEFT_NEW(base->arena, struct weft_profile, 1);
        if (!weft_profile_load(given, request->profile_path, base->arena, base->error)) {
            return false;
        }
        weft_request_note_profile(request->profile_path, result->costs.accelerators_per_server,
                                  environment);
        result->costs.profile = given;
        if (result->server_count == 0) {
            result->server_count = given->server_count;
        }
    }
    if (result->server_count == 0) {
        return weft_fail(base->error, WEFT_USAGE,
                         "how many servers? write {servers=16} or {cluster=FILE}");
    }
    return weft_profile_build(&result->full, &result->model, result->server_count, &result->costs,
                              base) ||
           (request->profile_path != NULL && weft_wrap(base->error, "%s", request->profile_path));
}

// ---- rows ----

static double rate(double flops, uint64_t time_ps)
{
    return time_ps > 0 ? flops / weft_seconds(time_ps) : 0;
}

static bool fill_split(struct weft_split_cost *cost, const struct weft_profile_result *result,
                       uint32_t op, struct weft_split split, struct weft_error *error)
{
    const struct weft_model *model = &result->model;
    const struct weft_cost_options *costs = &result->costs;
    const struct weft_operator *one = &model->operators[op];
    // A table is measured whole on one accelerator; compare it with that.
    struct weft_cost_options alone = *costs;
    alone.accelerators_per_server = 1;
    struct weft_error missing;
    *cost = (struct weft_split_cost){.split = split};
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

// One operator in every split that a strategy may give it.
static bool fill_row(struct weft_profile_row *row, const struct weft_profile_result *result,
                     uint32_t op, const struct weft_environment *environment)
{
    struct weft_cost_options full = result->costs;
    full.profile = &result->full;
    struct weft_split_list list;
    if (!weft_operator_splits(&list, &result->model, op, result->server_count, &full,
                              environment)) {
        return false;
    }
    const struct weft_split *splits = list.splits;
    uint32_t count = list.count;
    struct weft_split_cost *all = WEFT_NEW(environment->arena, struct weft_split_cost, count);
    uint32_t shown = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!fill_split(&all[i], result, op, splits[i], environment->error)) {
            return false;
        }
        // Tables are dealt out whole, as data parallelism does with them.
        bool table = result->model.operators[op].spec.kind == WEFT_OP_EMBEDDING;
        bool whole = splits[i].parameter_parts == 1;
        shown = whole && !table ? i : shown;
    }
    *row = (struct weft_profile_row){
        .op = op,
        .count = 1,
        .profile_name = weft_profile_name(&result->model, op, environment->arena),
        .first_of_name = true,
        .split_count = count,
        .splits = all,
        .shown = &all[shown],
    };
    return true;
}

static bool same_cost(const struct weft_profile_row *a, const struct weft_profile_row *b)
{
    if (a->split_count != b->split_count) {
        return false;
    }
    for (uint32_t i = 0; i < a->split_count; i++) {
        const struct weft_split_cost *x = &a->splits[i];
        const struct weft_split_cost *y = &b->splits[i];
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
static void merge_row(struct weft_profile_row *rows, uint32_t *count,
                      const struct weft_profile_row *row)
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

static bool fill_rows(struct weft_profile_row **rows, uint32_t *count,
                      const struct weft_profile_result *result,
                      const struct weft_environment *environment)
{
    const struct weft_model *model = &result->model;
    *rows = WEFT_NEW(environment->arena, struct weft_profile_row, model->operator_count);
    *count = 0;
    for (uint32_t op = 0; op < model->operator_count; op++) {
        struct weft_profile_row row;
        if (model->operators[op].spec.kind == WEFT_OP_INPUT) {
            continue;
        }
        if (!fill_row(&row, result, op, environment)) {
            return false;
        }
        merge_row(*rows, count, &row);
    }
    return true;
}

// ---- accuracy ----

static void add_ratios(struct accuracy *accuracy, const struct weft_split_cost *cost)
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
static void fill_accuracy(struct accuracy *by_kind, const struct weft_profile_row *rows,
                          uint32_t count, const struct weft_model *model)
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

// The sums of logarithms as ratios.
static void finish_accuracy(struct weft_profile_accuracy *accuracy, const struct accuracy *sums)
{
    accuracy->count = sums->count;
    for (uint32_t i = 0; i < 2 && sums->count > 0; i++) {
        accuracy->mean[i] = exp(sums->sum[i] / sums->count);
        accuracy->low[i] = exp(sums->low[i]);
        accuracy->high[i] = exp(sums->high[i]);
    }
}

// What an average server runs: each operator in the split that the table shows.
static void sum_up(struct weft_profile_result *result)
{
    for (uint32_t i = 0; i < result->row_count; i++) {
        const struct weft_split_cost *shown = result->rows[i].shown;
        double parts = (double)shown->split.sample_parts * shown->split.parameter_parts;
        double times = result->rows[i].count * parts / result->server_count;
        result->forward_s += times * weft_seconds(shown->cost.forward_ps);
        result->backward_s += times * weft_seconds(shown->cost.backward_ps);
    }
}

bool weft_request_profile(struct weft_profile_result *result,
                          const struct weft_profile_request *request,
                          struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_profile_result found = {.server_count = request->server_count};
    found.costs.accelerator = request->accelerator;
    found.costs.accelerators_per_server = request->accelerators_per_server;
    struct weft_profile_row *rows = NULL;
    if (!load(&found, request, environment) || !fill_rows(&rows, &found.row_count, &found, base)) {
        return false;
    }
    found.rows = rows;
    struct accuracy sums[WEFT_OP_KIND_COUNT] = {0};
    fill_accuracy(sums, rows, found.row_count, &found.model);
    for (uint32_t kind = 0; kind < WEFT_OP_KIND_COUNT; kind++) {
        finish_accuracy(&found.accuracy[kind], &sums[kind]);
    }
    sum_up(&found);
    *result = found;
    return true;
}
