// SPDX-License-Identifier: Apache-2.0
// A model on fabrics that one buys: strategy, time and price of each, and which to take.
//
// Of each fabric and batch the strategy is that of weft_request_strategy_of, so that weft strategy
// gives the same answer about the same fabric; a fabric that cannot be built, or that the model
// does not fit on, says why and leaves the others. The advice is a rule that anybody can redo: of
// the fabrics that are sold and within 1 % of the fastest of them the one whose parts cost least.
// O(fabrics * batches) searches.

#include "request/buy/buy.h"
#include "weft/plan.h"

#include <math.h>
#include <string.h>

// Fabrics this near to the fastest are as fast: less than what any estimate is off by.
#define HOURS_A_DAY 24.0
#define SECONDS_AN_HOUR 3600.0
#define TOKENS_MAX 1e18
#define TOKENS_MIN 1e6 // less is a forgotten unit
#define BATCH_MAX UINT32_MAX

// ---- parameters ----

// "all", or names in a list.
static bool read_fabrics(void *field, const struct weft_parameter *parameter, const char *text,
                         struct weft_arena *arena, struct weft_error *error)
{
    (void)parameter;
    struct weft_buy_fabrics *fabrics = field;
    *fabrics = (struct weft_buy_fabrics){.count = 0};
    return strcmp(text, "all") == 0 ||
           weft_split_list(&fabrics->names, &fabrics->count, text, arena, error);
}

// "15T", "300G", "300B" (1e9, too), "500M" or a bare number.
static bool read_tokens(void *field, const struct weft_parameter *parameter, const char *text,
                        struct weft_arena *arena, struct weft_error *error)
{
    static const struct {
        char letter;
        double factor;
    } units[] = {{'K', 1e3}, {'M', 1e6}, {'G', 1e9}, {'B', 1e9}, {'T', 1e12}};
    (void)parameter;
    size_t length = strlen(text);
    double factor = 1;
    for (size_t i = 0; i < sizeof units / sizeof units[0] && length > 0; i++) {
        factor = text[length - 1] == units[i].letter ? units[i].factor : factor;
    }
    double value = 0;
    const char *digits = weft_arena_text(arena, text, length - (factor > 1 ? 1 : 0));
    if (!weft_parse_number(&value, digits, 0, TOKENS_MAX, error) || value * factor < TOKENS_MIN ||
        value * factor > TOKENS_MAX) {
        return weft_fail(error, WEFT_INPUT,
                         "'%.40s' is no number of tokens from 1M to 1e18; write 300G, 15T or "
                         "300000000000",
                         text);
    }
    *(double *)field = value * factor;
    return true;
}

#define FIELD(path) offsetof(struct weft_buy_request, path)
const struct weft_parameter weft_buy_parameters[WEFT_BUY_PARAMETERS] = {
    {"fabric", read_fabrics, FIELD(fabrics), 0, 0, NULL},
    {"radix", weft_read_count, FIELD(shape.radix), 2, 4096, NULL},
    {"oversubscription", weft_read_number, FIELD(shape.oversubscription), 1, 1000, NULL},
    {"switch", weft_read_text, FIELD(switch_name), 0, 0, NULL},
    {"strategy", weft_read_text, FIELD(strategy), 0, 0, NULL},
    {"batches", weft_read_counts, FIELD(batches), 1, BATCH_MAX, NULL},
    {"tokens", read_tokens, FIELD(tokens), 0, 0, NULL},
    {"dark-time", weft_read_times, FIELD(dark_times), 0, 0, NULL},
    {"delays", weft_read_word, FIELD(delays), 0, WEFT_DELAYS_COUNT, weft_delays_words},
};
const char *const weft_delays_words[] = {
    [WEFT_DELAYS_IDEAL] = "ideal",
    [WEFT_DELAYS_COMMODITY] = "commodity",
    [WEFT_DELAYS_COUNT] = NULL,
};

// ---- one row ----

struct run {
    const struct weft_buy_request *request;
    const struct weft_buy_result *result; // its cluster and setting
    struct weft_request_environment *environment;
};

// The time of the row's best strategy, and what follows from it.
static void fill_times(struct weft_buy_row *row, const struct weft_model *model)
{
    const struct weft_strategy_result *found = &row->found;
    row->iteration_s = weft_seconds(weft_request_strategy_ps(found, 0));
    row->estimate_s = found->hybrid ? weft_seconds(found->estimates[0].iteration_ps)
                                    : weft_seconds(found->found.candidates[0].estimate_ps);
    row->estimate = found->simulated_ps[0] == 0;
    row->mfu = weft_request_strategy_mfu(found, 0);
    row->samples_per_s = (double)model->batch / row->iteration_s;
    bool tokens = model->transformer != NULL && model->transformer->vocabulary > 0;
    row->tokens_per_s = tokens ? row->samples_per_s * (double)model->transformer->sequence : 0;
}

static void fill_training(struct weft_buy_row *row, const struct weft_buy_result *result)
{
    if (!(result->tokens > 0) || !(row->tokens_per_s > 0)) {
        return;
    }
    const struct weft_accelerator *accelerator = result->setting.cost.accelerator;
    double accelerators =
        (double)result->cluster.server_count * result->cluster.accelerators_per_server;
    double hours = result->tokens / row->tokens_per_s / SECONDS_AN_HOUR;
    double watts = accelerator != NULL ? accelerator->watts : 0;
    row->training = (struct weft_buy_training){
        .days = hours / HOURS_A_DAY,
        .accelerator_hours = hours * accelerators,
        .kwh = watts > 0 ? hours * (accelerators * watts + row->bill.watts) / 1e3 : 0,
    };
}

// Whether the exchanges of the row's strategy keep to their rails. Where these do not meet, or are
// no switches at all, NCCL has to know: its device API wants each NIC to reach every other.
static bool fill_rails(struct weft_buy_row *row, bool own, const struct weft_environment *base)
{
    const struct weft_study study = {
        .model = &row->found.model, .cluster = &row->found.cluster, .setting = &row->found.setting};
    if (!row->found.hybrid) {
        return true;
    }
    // Each rail has leaves and spines of its own.
    bool apart = strcmp(row->fabric, "rail-only") == 0 || strcmp(row->fabric, "leaf-spine") == 0;
    if (own || (apart && row->found.cluster.degree > 1)) {
        row->rails_note = "not every NIC reaches every other: set NCCL_CROSS_NIC=0 and leave PXN "
                          "on; NCCL's device API (GIN) needs all of them joined and refuses that";
    }
    return weft_hybrid_survey_rails(&row->rails, &row->found.found.candidates[0].strategy.hybrid,
                                    &study, base->scratch, base->error);
}

// Whether the reason concerns this row alone, so that others may have an answer.
static bool of_this_row(enum weft_error_code code)
{
    return code == WEFT_INPUT || code == WEFT_INFEASIBLE || code == WEFT_UNSUPPORTED ||
           code == WEFT_STOPPED;
}

// The row of one fabric. Where there is none of it, says why and goes on if there are others.
static bool fill_row(struct weft_buy_row *row, const struct run *run,
                     const struct weft_model *model, const char *step)
{
    const struct weft_environment *base = &run->environment->base;
    struct weft_strategy_request wanted = {
        .job = run->request->job,
        .hardware = run->request->hardware,
        .fabric = row->fabric,
        .shape = run->request->shape,
        .strategy = run->request->strategy,
        .seconds = run->request->seconds,
        .step = step,
    };
    // Of several fabrics not all have several paths, a radix or an oversubscription.
    struct weft_error lacks;
    bool several = run->request->fabrics.count != 1;
    const struct weft_request_fabric asked = {.hardware = &wanted.hardware, .shape = wanted.shape};
    wanted.hardware.balance_given &= !several;
    if (several && !weft_request_refuse_shape(&asked, row->fabric, &lacks)) {
        wanted.shape = (struct weft_fabric_options){.seed = base->seed};
    }
    row->shape = wanted.shape;
    bool own = weft_buy_is_planned(row->fabric);
    bool moves = weft_moving_named(row->fabric) < WEFT_MOVING_COUNT;
    bool counted = own || moves || weft_buy_fill_parts(row, &run->result->cluster, base);
    wanted.shape.radix = row->radix;
    row->found.model = *model;
    row->found.cluster = run->result->cluster;
    row->found.setting = run->result->setting;
    const struct weft_time_list *dark = &run->request->dark_times;
    uint64_t dark_ps = dark->count > 0 ? dark->ps[0] : WEFT_NEVER;
    if (counted && (own     ? weft_buy_plan_own(row, run->request, run->environment)
                    : moves ? weft_buy_plan_moving(row, run->request, dark_ps, run->environment)
                            : weft_request_strategy_of(&row->found, &wanted, run->environment))) {
        weft_buy_add_storage(row, &run->result->storage.bill, base->arena);
        fill_times(row, model);
        fill_training(row, run->result);
        row->launch = weft_export_launch(&row->found.found.candidates[0].strategy, model,
                                         &run->result->cluster, base->arena);
        return fill_rails(row, own, base);
    }
    static const char prefix[] = "{fabric}: ";
    const char *message = base->error->message;
    message += strncmp(message, prefix, strlen(prefix)) == 0 ? strlen(prefix) : 0;
    row->why_not = weft_arena_text(base->arena, message, strlen(message));
    return of_this_row(base->error->code);
}

// ---- all rows ----

// Which rows count: those that are sold; those that are planned for the model, direct ones and
// those whose circuits move, too.
struct among {
    bool sold, planned;
};

static bool counts_among(const struct weft_buy_row *row, struct among among)
{
    return row->why_not == NULL && (row->sold || !among.sold) &&
           (among.planned || (!weft_buy_is_planned(row->fabric) && row->moving == NULL));
}

static uint32_t advise_among(const struct weft_buy_row *rows, uint32_t count, struct among among)
{
    double fastest_s = HUGE_VAL;
    for (uint32_t i = 0; i < count; i++) {
        bool counts = counts_among(&rows[i], among);
        fastest_s = counts ? fmin(fastest_s, rows[i].iteration_s) : fastest_s;
    }
    uint32_t best = WEFT_NONE;
    for (uint32_t i = 0; i < count; i++) {
        if (counts_among(&rows[i], among) && rows[i].iteration_s <= fastest_s * AS_FAST_RATIO &&
            (best == WEFT_NONE || rows[i].bill.usd < rows[best].bill.usd)) {
            best = i;
        }
    }
    return best;
}

static uint32_t advise(const struct weft_buy_row *rows, uint32_t count, bool planned)
{
    uint32_t sold = advise_among(rows, count, (struct among){true, planned});
    return sold != WEFT_NONE ? sold : advise_among(rows, count, (struct among){false, planned});
}

// All fabrics of one batch. Keeps the first reason why there was none in *why_not.
static bool fill_batch(struct weft_buy_batch *batch, const struct run *run,
                       const struct weft_model *model, struct weft_error *why_not)
{
    struct weft_error *error = run->environment->base.error;
    uint32_t count = 0;
    const struct weft_buy_fabrics *named = &run->request->fabrics;
    const struct weft_fabric_reference *references = weft_fabric_references(&count);
    while (count > 0 && !references[count - 1].compared) {
        count--; // these are for who names them
    }
    uint32_t bought = named->count > 0 ? named->count : count;
    bool own =
        run->request->own && run->result->cluster.server_count <= WEFT_BUY_PLANNED_SERVERS_MAX;
    count = bought + (own ? 1 : 0);
    struct weft_buy_row *rows =
        WEFT_NEW(run->environment->base.arena, struct weft_buy_row, (size_t)count);
    for (uint32_t i = 0; i < count; i++) {
        rows[i].fabric = i == bought        ? WEFT_BUY_OWN
                         : named->count > 0 ? named->names[i]
                                            : references[i].name;
        const char *step = weft_arena_format(run->environment->base.arena, "%s, fabric %u of %u",
                                             rows[i].fabric, i + 1, count);
        if (!fill_row(&rows[i], run, model, step)) {
            return false;
        }
        if (rows[i].one_tier && rows[i].shape.oversubscription > 1) {
            weft_request_note(
                run->environment,
                "{oversubscription}: %s has one tier of switches here, and no uplinks "
                "to oversubscribe; a smaller {radix} makes some",
                rows[i].fabric);
        }
        if (rows[i].why_not != NULL && why_not->code == WEFT_OK) {
            *why_not = *error;
        }
        *error = (struct weft_error){.code = WEFT_OK};
    }
    *batch = (struct weft_buy_batch){.batch = model->batch,
                                     .row_count = count,
                                     .rows = rows,
                                     .advised = advise(rows, count, true),
                                     .bought = advise(rows, count, false)};
    return true;
}

// How far off the estimates were of runs that others published and that nothing was fitted to
// (docs/published-runs.md, "What came out", which says which).
static const char *say_sureness(const struct weft_buy_result *result)
{
    const struct weft_stack *stack = result->setting.stack;
    if (result->model.transformer == NULL || result->setting.cost.profile != NULL) {
        return "nothing was held against published runs of such models";
    }
    if (stack == NULL || strcmp(stack->name, "none") == 0) {
        return "no software stack is stated: this is what kernels reach back to back, and real "
               "runs take longer; state one (stack megatron-core)";
    }
    return result->model.transformer->experts > 0
               ? "15 published runs of mixtures of experts, held out of every fit, were off by "
                 "15.2 % on average; 10 of them within 15 %"
               : "40 published runs of dense models, held out of every fit, were off by 4.0 % on "
                 "average; 39 of them within 10 %";
}

const struct weft_buy_row *weft_buy_answer(const struct weft_buy_result *result)
{
    const struct weft_buy_batch *first = &result->batches[0];
    return first->advised == WEFT_NONE ? NULL : &first->rows[first->advised];
}

// All rows of all batches. A fabric without an answer says why in its row; where none has one, the
// first reason is the request's.
static bool answer(struct weft_buy_result *result, const struct weft_buy_request *request,
                   struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    const struct run run = {.request = request, .result = result, .environment = environment};
    uint32_t count = request->batches.count > 0 ? request->batches.count : 1;
    struct weft_buy_batch *batches = WEFT_NEW(base->arena, struct weft_buy_batch, count);
    struct weft_error why_not = {.code = WEFT_OK};
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        struct weft_model model = result->model;
        if (request->batches.count > 0 &&
            !weft_model_set_batch(&model, request->batches.values[i], base->error)) {
            return false;
        }
        result->model = i == 0 ? model : result->model;
        weft_request_note_batch(&model, &result->cluster, &result->setting, environment);
        if (!fill_batch(&batches[i], &run, &model, &why_not)) {
            return false;
        }
        any = any || batches[i].advised != WEFT_NONE;
    }
    if (!any) {
        *base->error = why_not;
        return false;
    }
    result->batches = batches;
    result->batch_count = count;
    result->stopped = weft_stopped(base->stop);
    return true;
}

// Before fabrics are searched for minutes: whether all names are fabrics, and options are of them.
static bool check_fabrics(const struct weft_buy_request *request, struct weft_error *error)
{
    bool any_moves = false;
    bool all_shaped = request->fabrics.count > 0;
    for (uint32_t i = 0; i < request->fabrics.count; i++) {
        bool moves = weft_moving_named(request->fabrics.names[i]) < WEFT_MOVING_COUNT;
        bool planned = strcmp(request->fabrics.names[i], WEFT_BUY_PAPER) == 0;
        any_moves = any_moves || moves;
        all_shaped = all_shaped && (moves || planned);
        if (!moves && !planned &&
            weft_fabric_reference_named(request->fabrics.names[i], error) == NULL) {
            const struct weft_error unknown = *error;
            return strstr(unknown.message, "choose one of") == NULL
                       ? false // it names the nearest
                       : weft_fail(error, unknown.code,
                                   "%s; or topoopt, photonic-rails, mixnet, sip-ocs, sip-ring",
                                   unknown.message);
        }
    }
    const struct weft_time_list *dark = &request->dark_times;
    for (uint32_t i = 0; dark->count > 1 && i < dark->count; i++) {
        if (dark->ps[i] <= (i > 0 ? dark->ps[i - 1] : 0)) {
            return weft_fail(error, WEFT_USAGE,
                             "{dark-time}: several times rise, from above 0; write 1us,1ms");
        }
    }
    const struct weft_stated moving[] = {
        {!any_moves && request->dark_times.count > 0, "dark-time"},
        {!any_moves && request->delays != WEFT_DELAYS_IDEAL, "delays"},
        {NULL},
    };
    const struct weft_stated packets[] = {
        {all_shaped && request->shape.radix > 0, "radix"},
        {all_shaped && request->shape.oversubscription > 1, "oversubscription"},
        {all_shaped && request->switch_name != NULL, "switch"},
        {all_shaped && request->hardware.balance_given, "balance"},
        {NULL},
    };
    return weft_refuse_stated(moving, error,
                              "is of fabrics whose circuits move; name one, photonic-rails for "
                              "example, or leave it out") &&
           weft_refuse_stated(packets, error, "is of fabrics of packet switches; leave it out");
}

bool weft_request_buy(struct weft_buy_result *result, const struct weft_buy_request *request,
                      struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    const struct weft_request_cluster_need need = {.server_count = 1};
    struct weft_buy_result found = {.tokens = request->tokens};
    if (request->batches.count > 0 && request->job.batch > 0) {
        return weft_fail(base->error, WEFT_USAGE, "{batch} is one of {batches}; write one of them");
    }
    if (!check_fabrics(request, base->error)) {
        return false;
    }
    if (!weft_request_job_model(&found.model, &request->job, environment) ||
        !weft_request_cluster(&found.cluster, &request->hardware, &need, environment) ||
        !weft_request_setting(&found.setting, &request->job, &found.model, &found.cluster,
                              request->hardware.cluster_path, environment) ||
        !weft_request_refuse_search(&request->job, &found.model, &found.setting, base->error)) {
        return false;
    }
    if (request->switch_name != NULL) {
        struct weft_switch_catalogue *only = &found.cluster.switches;
        if (!weft_cluster_find_switch(&only->models, &found.cluster, request->switch_name,
                                      base->error)) {
            return weft_wrap(base->error, "{switch}");
        }
        only->model_count = 1;
    }
    bool tokens = found.model.transformer != NULL && found.model.transformer->vocabulary > 0;
    if (request->tokens > 0 && !tokens) {
        return weft_fail(base->error, WEFT_USAGE,
                         "{tokens} are of models of text; the samples of %s are none: leave it out",
                         found.model.name);
    }
    if (!weft_buy_fill_storage(&found, base) || !answer(&found, request, environment) ||
        !weft_buy_fill_moved(&found, request, environment)) {
        return false;
    }
    found.sureness = say_sureness(&found);
    const struct weft_buy_row *row = weft_buy_answer(&found);
    if (row->moving == NULL) { // else each change is a plan of its own
        weft_buy_fill_changes(&found, row, request->strategy != NULL, base);
    }
    found.page = request->report ? weft_buy_draw(&found, row, &request->origin, base) : NULL;
    *result = found;
    return true;
}
