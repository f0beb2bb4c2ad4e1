// SPDX-License-Identifier: Apache-2.0
// weft optics rack tenants: racks, arrivals and fabrics put together, every load on every fabric.

#include "tenants.h"
#include "weft/request/parameter.h"

#include <math.h>
#include <string.h>

#define REQUESTS_DEFAULT 10000u
#define LIFETIME_DEFAULT_S 3600.0
#define SIZE_DEFAULT_BYTES 1048576.0 // oracle of LUMORPH: what 74 % is of
#define MESSAGE_DEFAULT_S 1e-6
#define MODEL_DEFAULT "gpt2-355m"
#define ACCELERATOR_DEFAULT "H100"
// Requests that one core plays in a second: exact placement with four fibers a pair, the slowest
// of the default fabrics, took 0.43 s for 10,000.
#define REQUESTS_PER_S 20000.0
#define GRADIENT_BYTES 2.0 // of a parameter: bf16

static const double default_loads[] = {0.7, 0.85};
static const enum weft_tenant_fabric default_fabrics[] = {WEFT_TENANT_TORUS, WEFT_TENANT_SCATTERED,
                                                          WEFT_TENANT_PHOTONIC};

#define FIELD(path) offsetof(struct weft_rack_tenants_request, path)
static const struct weft_parameter rows[] = {
    {"trace", weft_read_text, FIELD(trace_path), 0, 0, NULL},
    {"requests", weft_read_count, FIELD(requests), 1, 10000000, NULL},
    {"load", weft_read_numbers, FIELD(loads), 0.001, 100, NULL},
    {"lifetime", weft_read_given_time, FIELD(lifetime), 0, 0, NULL},
    {"hold", NULL, FIELD(holds), 0, 0, NULL},
    {"mix", weft_read_text, FIELD(mix), 0, 0, NULL},
    {"racks", weft_read_count, FIELD(racks), 1, 1024, NULL},
    {"fabrics", weft_read_text, FIELD(fabrics), 0, 0, NULL},
    {"order", weft_read_word, FIELD(order), 0, 0, weft_tenant_order_words},
    {"rotate", NULL, FIELD(rotates), 0, 0, NULL},
    {"fibers", weft_read_given_count, FIELD(fibers), 0, WEFT_RACK_FIBERS_MAX, NULL},
    {"wavelengths", weft_read_given_count, FIELD(wavelengths), 1, WEFT_RACK_WAVELENGTHS_MAX, NULL},
    {"size", weft_read_given_bytes, FIELD(size), 0, 0, NULL},
    {"message", weft_read_given_time, FIELD(message), 0, 0, NULL},
    {"follow", NULL, FIELD(follows), 0, 0, NULL},
    {"model", weft_read_text, FIELD(model), 0, 0, NULL},
    {"accelerator", weft_read_text, FIELD(accelerator), 0, 0, NULL},
    {"batch", weft_read_count, FIELD(batch), 1, 1u << 20, NULL},
    {"overlap", NULL, FIELD(overlaps), 0, 0, NULL},
};
const struct weft_parameter_group weft_rack_tenants_parameters[] = {
    {rows, sizeof rows / sizeof rows[0], 0},
    {NULL, 0, 0},
};

// ---- what is asked ----

// "2x2x1:0.25".
static bool read_size(struct weft_tenant_size *size, const char *word, struct weft_arena *arena,
                      struct weft_error *error)
{
    const char *colon = strchr(word, ':');
    size_t length = colon != NULL ? (size_t)(colon - word) : strlen(word);
    uint32_t sides[3];
    if (!weft_parse_sides(sides, weft_arena_text(arena, word, length))) {
        return weft_fail(error, WEFT_INPUT,
                         "{mix}: '%s' is no slice with a weight; write 2x2x1:0.25", word);
    }
    size->weight = 1;
    if (colon != NULL && !weft_parse_number(&size->weight, colon + 1, 1e-6, 1e6, error)) {
        return weft_wrap(error, "{mix}: %s", word);
    }
    for (uint32_t d = 0; d < 3; d++) {
        size->sides[d] = sides[d] > 0 ? sides[d] : 1;
    }
    return true;
}

static bool read_mix(struct weft_tenant_source *source, const char *text, struct weft_arena *arena,
                     struct weft_error *error)
{
    const char *const *words = NULL;
    uint32_t count = 0;
    if (text == NULL) {
        source->sizes = weft_tenant_mix;
        source->size_count = WEFT_TENANT_MIX_SIZES;
        return true;
    }
    if (!weft_split_list(&words, &count, text, arena, error)) {
        return weft_wrap(error, "{mix}");
    }
    if (count > WEFT_TENANT_SIZES_MAX) {
        return weft_fail(error, WEFT_USAGE, "{mix}: at most %u slices", WEFT_TENANT_SIZES_MAX);
    }
    struct weft_tenant_size *sizes = WEFT_NEW(arena, struct weft_tenant_size, count);
    for (uint32_t s = 0; s < count; s++) {
        if (!read_size(&sizes[s], words[s], arena, error)) {
            return false;
        }
        for (uint32_t before = 0; before < s; before++) {
            if (memcmp(sizes[before].sides, sizes[s].sides, sizeof sizes[s].sides) == 0) {
                return weft_fail(error, WEFT_USAGE, "{mix}: %s stands twice", words[s]);
            }
        }
    }
    source->sizes = sizes;
    source->size_count = count;
    return true;
}

static bool read_fabrics(enum weft_tenant_fabric *fabrics, uint32_t *count, const char *text,
                         struct weft_arena *arena, struct weft_error *error)
{
    const char *const *words = NULL;
    if (text == NULL) {
        *count = sizeof default_fabrics / sizeof default_fabrics[0];
        memcpy(fabrics, default_fabrics, sizeof default_fabrics);
        return true;
    }
    if (!weft_split_list(&words, count, text, arena, error)) {
        return weft_wrap(error, "{fabrics}");
    }
    if (*count > WEFT_TENANT_FABRICS) {
        return weft_fail(error, WEFT_USAGE, "{fabrics}: at most %d, each once",
                         WEFT_TENANT_FABRICS);
    }
    for (uint32_t w = 0; w < *count; w++) {
        uint32_t f = 0;
        while (f < WEFT_TENANT_FABRICS && strcmp(words[w], weft_tenant_fabric_words[f]) != 0) {
            f++;
        }
        if (f == WEFT_TENANT_FABRICS) {
            weft_fail_word(error, "fabric of tenants", words[w], weft_tenant_fabric_words,
                           WEFT_TENANT_FABRICS);
            return weft_wrap(error, "{fabrics}");
        }
        fabrics[w] = (enum weft_tenant_fabric)f;
        for (uint32_t before = 0; before < w; before++) {
            if (fabrics[before] == fabrics[w]) {
                return weft_fail(error, WEFT_USAGE, "{fabrics}: %s stands twice", words[w]);
            }
        }
    }
    return true;
}

// The job of every tenant: what a chip computes of it, and the gradients that are summed.
static bool read_job(struct weft_tenant_job *job, struct weft_rack_tenants_result *result,
                     const struct weft_rack_tenants_request *request,
                     struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    const struct weft_accelerator *accelerator = NULL;
    struct weft_model model;
    result->model = request->model != NULL ? request->model : MODEL_DEFAULT;
    const char *name = request->accelerator != NULL ? request->accelerator : ACCELERATOR_DEFAULT;
    if (!weft_request_model(&model, result->model, environment) ||
        !weft_model_set_batch(&model, request->batch > 0 ? request->batch : 1, base->error)) {
        return weft_wrap(base->error, "{model}");
    }
    if (!weft_accelerator_named(&accelerator, name, base->error)) {
        return weft_wrap(base->error, "{accelerator}");
    }
    result->accelerator = accelerator->name;
    const struct weft_cost_options cost = {.accelerator = accelerator,
                                           .accelerators_per_server = 1};
    uint64_t forward_ps = 0;
    uint64_t backward_ps = 0;
    for (uint32_t op = 0; op < model.operator_count; op++) {
        struct weft_operator_cost spent;
        const struct weft_split whole = {1, 1};
        if (!weft_operator_time(&spent, &model, op, whole, &cost, base->error)) {
            return weft_wrap(base->error, "{model}");
        }
        forward_ps += spent.forward_ps;
        backward_ps += spent.backward_ps;
    }
    job->allreduce_bytes = request->size.given ? (double)request->size.value : SIZE_DEFAULT_BYTES;
    job->message_s = request->message.given ? weft_seconds(request->message.ps) : MESSAGE_DEFAULT_S;
    job->follows = request->follows;
    job->change_s = weft_seconds(result->rack->change_ps);
    job->gradient_bytes = GRADIENT_BYTES * (double)model.parameters;
    job->compute_s = weft_seconds(forward_ps + backward_ps);
    job->hidden_s = request->overlaps ? weft_seconds(backward_ps) : 0;
    return true;
}

static bool read_source(struct weft_tenant_source *source,
                        const struct weft_rack_tenants_request *request,
                        struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    *source = (struct weft_tenant_source){
        .count = request->requests > 0 ? request->requests : REQUESTS_DEFAULT,
        .lifetime_s =
            request->lifetime.given ? weft_seconds(request->lifetime.ps) : LIFETIME_DEFAULT_S,
        .holds = request->holds,
        .seed = base->seed,
    };
    if (request->trace_path == NULL) {
        if (source->lifetime_s <= 0) {
            return weft_fail(base->error, WEFT_USAGE, "{lifetime}: tenants stay; write 1h");
        }
        return read_mix(source, request->mix, base->arena, base->error);
    }
    const struct weft_stated drawn[] = {
        {request->requests > 0, "requests"},   {request->loads.count > 0, "load"},
        {request->lifetime.given, "lifetime"}, {request->holds, "hold"},
        {request->mix != NULL, "mix"},         {false, NULL}};
    if (!weft_refuse_stated(drawn, base->error, "is for arrivals that are drawn; leave it out")) {
        return false;
    }
    return tenants_read_trace(source, request->trace_path, base) &&
           (weft_tenant_sizes(source, base->arena, base->error) ||
            weft_wrap(base->error, "%s", request->trace_path));
}

// ---- the runs ----

struct runs {
    struct weft_tenants_case *cases;
    const struct weft_tenant_source *sources; // of each case
    const struct weft_tenants_options *options;
    struct weft_tenant_row **rows; // of each case, for the sizes of its source
    struct weft_error *errors;     // of each case
    bool *fine;
};

// One load on one fabric, on any thread: in the thread's own memory, but for the rows.
static void play_case(void *context, uint32_t index, struct weft_arena scratch)
{
    struct runs *runs = context;
    struct weft_tenants_options options = *runs->options;
    struct weft_tenants_run *run = &runs->cases[index].run;
    struct weft_arena own = weft_arena_split(&scratch);
    options.fabric = runs->cases[index].fabric;
    runs->fine[index] = weft_tenants_play(run, &runs->sources[index], &options, &own, scratch,
                                          &runs->errors[index]);
    if (runs->fine[index]) {
        memcpy(runs->rows[index], run->rows, run->row_count * sizeof *run->rows);
        run->rows = runs->rows[index];
    }
}

static uint64_t refused(const struct weft_tenant_row *row)
{
    return row->asked - row->placed - row->rejected[WEFT_RACK_CAPACITY];
}

// Ratios of a run to the first fabric's.
static struct weft_tenant_gains gains_of(const struct weft_tenants_run *run,
                                         const struct weft_tenants_run *first)
{
    struct weft_tenant_gains gains = {0};
    double weight = 0;
    for (uint32_t s = 0; s < run->row_count; s++) {
        const struct weft_tenant_row *row = &run->rows[s];
        const struct weft_tenant_row *base = &first->rows[s];
        if (row->chips > 1 && row->iteration_s > 0 && base->iteration_s > 0) {
            double asked = (double)row->asked;
            weight += asked;
            gains.bandwidth += asked * row->bandwidth_Bps / base->bandwidth_Bps;
            gains.allreduce += asked * row->allreduce_s / base->allreduce_s;
            gains.training += asked * base->iteration_s / row->iteration_s;
        }
    }
    gains.bandwidth /= weight; // none: not a number, which JSON has as null
    gains.allreduce /= weight;
    gains.training /= weight;
    gains.refused = (double)refused(&run->all) / (double)refused(&first->all);
    gains.fragmented = (double)(refused(&run->all) + run->all.across) /
                       (double)(refused(&first->all) + first->all.across);
    return gains;
}

// Every case on every thread at once: a torus keeps the links that each of its tenants may use.
static bool afford(const struct weft_rack_tenants_result *result, uint64_t requests,
                   struct weft_request_environment *environment)
{
    double chips = (double)result->rack->server_count * result->rack->chips_per_server;
    const struct weft_request_cost cost = {
        .things = "requests",
        .count = (double)requests * result->case_count,
        .per_s = REQUESTS_PER_S,
        .bytes = result->asked.rack_count * chips * chips * 6 * sizeof(uint16_t) *
                 fmin(environment->base.threads, result->case_count),
        .remedy = "take fewer {requests}, {racks} or loads",
    };
    return weft_request_afford(&cost, environment);
}

static bool play_cases(struct weft_rack_tenants_result *result, struct runs *runs,
                       struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    uint32_t count = result->case_count;
    const struct weft_tenant_source *source = &runs->sources[0];
    uint64_t requests = source->trace_count > 0 ? source->trace_count : source->count;
    if (!afford(result, requests, environment)) {
        return false;
    }
    weft_request_step_begin(environment, "playing tenants", "requests");
    weft_tally_begin(&environment->progress.tally, requests * count);
    weft_parallel_for(count, base->threads, play_case, runs);
    weft_request_step_end(environment);
    for (uint32_t c = 0; c < count; c++) {
        if (!runs->fine[c]) {
            *base->error = runs->errors[c];
            return false;
        }
    }
    for (uint32_t c = 0; c < count; c++) {
        uint32_t first = c - c % result->fabric_count;
        runs->cases[c].gains = gains_of(&runs->cases[c].run, &runs->cases[first].run);
    }
    return true;
}

static bool set_cases(struct weft_rack_tenants_result *result, struct runs *runs,
                      struct weft_tenant_source *source,
                      const struct weft_rack_tenants_request *request,
                      const struct weft_environment *base)
{
    enum weft_tenant_fabric fabrics[WEFT_TENANT_FABRICS];
    if (!read_fabrics(fabrics, &result->fabric_count, request->fabrics, base->arena, base->error)) {
        return false;
    }
    const double *loads = request->loads.count > 0 ? request->loads.values : default_loads;
    uint32_t load_count = request->trace_path != NULL ? 1
                          : request->loads.count > 0
                              ? request->loads.count
                              : (uint32_t)(sizeof default_loads / sizeof default_loads[0]);
    if (load_count > WEFT_TENANT_LOADS_MAX) {
        return weft_fail(base->error, WEFT_USAGE, "{load}: at most %u", WEFT_TENANT_LOADS_MAX);
    }
    uint32_t count = load_count * result->fabric_count;
    struct weft_tenant_source *sources = WEFT_NEW(base->arena, struct weft_tenant_source, count);
    runs->cases = WEFT_NEW(base->arena, struct weft_tenants_case, count);
    runs->rows = WEFT_NEW(base->arena, struct weft_tenant_row *, count);
    runs->errors = WEFT_NEW(base->arena, struct weft_error, count);
    runs->fine = WEFT_NEW(base->arena, bool, count);
    for (uint32_t c = 0; c < count; c++) {
        sources[c] = *source;
        if (request->trace_path == NULL) {
            sources[c].load = loads[c / result->fabric_count];
        }
        runs->cases[c].load = sources[c].load;
        runs->cases[c].fabric = fabrics[c % result->fabric_count];
        runs->rows[c] = WEFT_NEW(base->arena, struct weft_tenant_row, source->size_count);
    }
    runs->sources = sources;
    result->source = sources;
    result->case_count = count;
    result->cases = runs->cases;
    return true;
}

bool weft_request_rack_tenants(struct weft_rack_tenants_result *result,
                               const struct weft_rack_tenants_request *request,
                               struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_rack_tenants_result found = {.trace_path = request->trace_path};
    struct weft_tenant_source source;
    struct runs runs = {0};
    if (!tenants_rack(&found.rack, request, base) || !read_source(&source, request, environment)) {
        return false;
    }
    found.asked = (struct weft_tenants_options){
        .rack = found.rack,
        .rack_count = request->racks > 0 ? request->racks : 1,
        .order = (enum weft_tenant_order)request->order,
        .rotates = request->rotates,
        .tally = &environment->progress.tally,
        .stop = base->stop,
    };
    if (!read_job(&found.asked.job, &found, request, environment) ||
        !set_cases(&found, &runs, &source, request, base)) {
        return false;
    }
    runs.options = &found.asked;
    if (!play_cases(&found, &runs, environment)) {
        return false;
    }
    *result = found;
    return true;
}
