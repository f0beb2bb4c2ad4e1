// SPDX-License-Identifier: Apache-2.0
// weft photonic serve-study: traces read or drawn, played on the processors that are asked for.

#include "weft/format/arrivals.h"
#include "weft/request/parameter.h"
#include "weft/request/photonic_serve.h"

#include <string.h>

#define RATE_BPS 7.5e6               // 0.06 Gbps, the published study's
#define REQUESTS_DRAWN 200u          // of a trace
#define TRACES_DRAWN 10u             // as many as the authors'
#define OBJECTIVE_PS 100000000000ull // 100 ms
#define DATAPATH_NS 115.0            // of Lightning, a layer
// Requests that one core plays in a second: 10 traces of 1,000 that end with their first 100, on
// four processors, two of which get 2.4 times what they can do.
#define REQUESTS_PER_S 700.0
#define PROCESSORS_DEFAULT "Lightning,A100,A100X,Brainwave"

static const char *const count_words[] = {"ended", "first", NULL};
_Static_assert(sizeof(enum weft_serving_count) == sizeof(uint32_t), "weft_read_word writes it");
#define FIELD(path) offsetof(struct weft_serve_study_request, path)
static const struct weft_parameter rows[] = {
    {"rate", weft_read_given_rate, FIELD(rate), 0, 0, NULL},
    {"requests", weft_read_count, FIELD(requests), 1, WEFT_ARRIVALS_MAX, NULL},
    {"traces", weft_read_count, FIELD(traces), 1, 1000, NULL},
    {"until", weft_read_count, FIELD(until), 1, WEFT_ARRIVALS_MAX, NULL},
    {"count", weft_read_word, FIELD(count), 0, 0, count_words},
    {"processors", weft_read_text, FIELD(processors), 0, 0, NULL},
    {"cores", weft_read_count, FIELD(cores), 1, 1u << 20, NULL},
    {"clock", weft_read_given_number, FIELD(clock), 1e-3, 1e4, NULL},
    {"datapath", weft_read_given_time, FIELD(datapath), 0, 0, NULL},
    {"objective", weft_read_given_time, FIELD(objective), 0, 0, NULL},
    {"idle-power", weft_read_given_number, FIELD(idle_power), 0, 1, NULL},
    {"granularity", weft_read_count, FIELD(granularity), 64, 1u << 30, NULL},
    {"loads", weft_read_text, FIELD(loads), 0, 0, NULL},
};
const struct weft_parameter_group weft_serve_study_parameters[] = {
    {rows, sizeof rows / sizeof rows[0], 0},
    {NULL, 0, 0},
};

struct serve {
    const struct weft_serve_study_request *request;
    const struct weft_serving_net *nets;
    struct weft_serving_processor *processors;
    uint32_t processor_count;
    struct weft_serving_trace *traces;
    uint32_t trace_count;
    double rate_Bps;
    struct weft_serving_study_options options;
};

// ---- what is asked ----

// What the request says of Lightning.
static void change_lightning(struct weft_serving_processor *processor,
                             const struct weft_serve_study_request *request)
{
    processor->cores = request->cores > 0 ? request->cores : processor->cores;
    processor->energy_cores = request->cores > 0 ? 0 : processor->energy_cores;
    processor->clock_ghz = request->clock.given ? request->clock.value : processor->clock_ghz;
    for (uint32_t n = 0; request->datapath.given && n < WEFT_SERVING_NETS; n++) {
        double layers = processor->datapath_ns[n] / DATAPATH_NS;
        processor->datapath_ns[n] = layers * (double)request->datapath.ps * 1e-3;
    }
}

static bool read_processors(struct serve *serve, struct weft_arena *arena, struct weft_error *error)
{
    const char *text = serve->request->processors;
    const char *const *words = NULL;
    uint32_t count = 0;
    if (!weft_split_list(&words, &count, text != NULL ? text : PROCESSORS_DEFAULT, arena, error)) {
        return weft_wrap(error, "{processors}");
    }
    const char **names = WEFT_NEW(arena, const char *, weft_serving_processor_count);
    for (uint32_t p = 0; p < weft_serving_processor_count; p++) {
        names[p] = weft_serving_processors[p].name;
    }
    serve->processors = WEFT_NEW(arena, struct weft_serving_processor, count);
    for (uint32_t w = 0; w < count; w++) {
        uint32_t p = 0;
        while (p < weft_serving_processor_count && strcmp(words[w], names[p]) != 0) {
            p++;
        }
        for (uint32_t before = 0; before < w; before++) {
            if (strcmp(words[before], words[w]) == 0) {
                return weft_fail(error, WEFT_USAGE, "{processors}: %s stands twice", words[w]);
            }
        }
        if (p == weft_serving_processor_count) {
            weft_fail_word(error, "processor of the study", words[w], names,
                           weft_serving_processor_count);
            return weft_wrap(error, "{processors}");
        }
        serve->processors[w] = weft_serving_processors[p];
        if (p == 0) {
            change_lightning(&serve->processors[w], serve->request);
        }
    }
    serve->processor_count = count;
    return true;
}

static struct weft_serving_trace *draw(const struct serve *serve, double rate_Bps, uint64_t seed,
                                       struct weft_arena *arena)
{
    const struct weft_serve_study_request *request = serve->request;
    uint32_t traces = request->traces > 0 ? request->traces : TRACES_DRAWN;
    struct weft_serving_trace *drawn = WEFT_NEW(arena, struct weft_serving_trace, traces);
    for (uint32_t t = 0; t < traces; t++) {
        struct weft_rng rng = weft_rng_stream(seed, t);
        weft_serving_draw(&drawn[t], serve->nets,
                          request->requests > 0 ? request->requests : REQUESTS_DRAWN, rate_Bps,
                          &rng, arena);
        drawn[t].name = weft_arena_format(arena, "drawn %u", t + 1);
    }
    return drawn;
}

static bool read_traces(struct serve *serve, struct weft_request_environment *environment)
{
    const struct weft_serve_study_request *request = serve->request;
    struct weft_arena *arena = environment->base.arena;
    struct weft_error *error = environment->base.error;
    bool reads = request->arrival_count > 0;
    const struct weft_stated of_drawn[] = {{reads && request->traces > 0, "traces"}, {false, NULL}};
    if (!weft_refuse_stated(of_drawn, error, "is for traces that are drawn; leave it out")) {
        return false;
    }
    if (request->rate.given && request->rate.Bps <= 0) {
        return weft_fail(error, WEFT_USAGE, "{rate}: no request arrives at 0; write 60Mbps");
    }
    serve->rate_Bps = request->rate.given ? request->rate.Bps : reads ? 0 : RATE_BPS;
    if (!reads) {
        serve->trace_count = request->traces > 0 ? request->traces : TRACES_DRAWN;
        serve->traces = draw(serve, serve->rate_Bps, environment->base.seed, arena);
        return true;
    }
    serve->trace_count = request->arrival_count;
    serve->traces = WEFT_NEW(arena, struct weft_serving_trace, serve->trace_count);
    for (uint32_t t = 0; t < serve->trace_count; t++) {
        struct weft_serving_trace *trace = &serve->traces[t];
        if (!weft_arrivals_load(trace, request->arrivals[t], serve->nets, arena,
                                environment->base.scratch, error)) {
            return false;
        }
        if (request->requests > trace->count) {
            return weft_fail(error, WEFT_USAGE, "{requests}: %s has %u requests alone", trace->name,
                             trace->count);
        }
        trace->count = request->requests > 0 ? request->requests : trace->count;
    }
    return true;
}

static bool afford(const struct serve *serve, uint32_t load_count,
                   struct weft_request_environment *environment)
{
    double requests = 0;
    for (uint32_t t = 0; t < serve->trace_count; t++) {
        requests += serve->traces[t].count;
    }
    const struct weft_request_cost cost = {
        .things = "requests",
        .count = requests * (1 + load_count) * serve->processor_count,
        .per_s = REQUESTS_PER_S,
        .remedy = "take fewer {requests} or {traces}",
    };
    return weft_request_afford(&cost, environment);
}

// ---- the answer ----

static void note_unstable(const struct serve *serve, const struct weft_serving_study *study,
                          struct weft_request_environment *environment)
{
    (void)serve;
    for (uint32_t p = 0; p < study->row_count; p++) {
        const struct weft_serving_row *row = &study->rows[p];
        if (row->rho >= 1) {
            weft_request_note(environment,
                              "%s is asked for %.2f times what it can do: no mean latency, it "
                              "grows with the number of requests counted",
                              row->processor->name, row->rho);
        }
    }
}

static bool read_loads(double **rates_Bps, uint32_t *count, const char *text,
                       struct weft_arena *arena, struct weft_error *error)
{
    const char *const *words = NULL;
    *count = 0;
    if (text == NULL) {
        return true;
    }
    if (!weft_split_list(&words, count, text, arena, error)) {
        return weft_wrap(error, "{loads}");
    }
    if (*count > WEFT_SERVE_LOADS_MAX) {
        return weft_fail(error, WEFT_USAGE, "{loads}: %u rates; ask for at most %u", *count,
                         WEFT_SERVE_LOADS_MAX);
    }
    *rates_Bps = WEFT_NEW(arena, double, *count);
    for (uint32_t l = 0; l < *count; l++) {
        if (!weft_parse_rate(&(*rates_Bps)[l], words[l], error)) {
            return weft_wrap(error, "{loads}");
        }
        if ((*rates_Bps)[l] <= 0) {
            return weft_fail(error, WEFT_USAGE, "{loads}: no request arrives at 0");
        }
        if (l > 0 && (*rates_Bps)[l] <= (*rates_Bps)[l - 1]) {
            return weft_fail(error, WEFT_USAGE, "{loads}: %s is not above the rate before it",
                             words[l]);
        }
    }
    return true;
}

static void set_options(struct serve *serve)
{
    const struct weft_serve_study_request *request = serve->request;
    uint64_t objective_ps = request->objective.given ? request->objective.ps : OBJECTIVE_PS;
    serve->options = (struct weft_serving_study_options){
        .run = {.granularity = request->granularity, .until = request->until},
        .count = request->count,
        .load_Bps = serve->rate_Bps,
        .objective_ns = (double)objective_ps * 1e-3,
        .idle_share = request->idle_power.given ? request->idle_power.value : 1,
    };
}

static void play(struct weft_serving_study *study, const struct serve *serve,
                 const struct weft_serving_trace *traces, uint32_t trace_count, double load_Bps,
                 struct weft_request_environment *environment)
{
    struct weft_serving_study_options options = serve->options;
    options.load_Bps = load_Bps;
    weft_serving_study(study, serve->processors, serve->processor_count, serve->nets, traces,
                       trace_count, &options, &environment->base);
}

bool weft_request_serve_study(struct weft_serve_study_result *result,
                              const struct weft_serve_study_request *request,
                              struct weft_request_environment *environment)
{
    struct weft_arena *arena = environment->base.arena;
    struct weft_error *error = environment->base.error;
    struct serve serve = {.request = request};
    double *loads_Bps = NULL;
    uint32_t load_count = 0;
    if (!weft_serving_nets(&serve.nets, arena, error) || !read_processors(&serve, arena, error) ||
        !read_loads(&loads_Bps, &load_count, request->loads, arena, error) ||
        !read_traces(&serve, environment) || !afford(&serve, load_count, environment)) {
        return false;
    }
    set_options(&serve);
    struct weft_serve_study_result found = {.rate_Bps = serve.rate_Bps,
                                            .trace_count = serve.trace_count,
                                            .until = request->until,
                                            .drawn = request->arrival_count == 0,
                                            .nets = serve.nets,
                                            .load_count = load_count};
    found.objective_ps = request->objective.given ? request->objective.ps : OBJECTIVE_PS;
    for (uint32_t t = 0; t < serve.trace_count; t++) {
        found.request_count += serve.traces[t].count;
    }
    weft_request_step_begin(environment, "serving", "loads");
    weft_tally_begin(&environment->progress.tally, 1 + load_count);
    play(&found.study, &serve, serve.traces, serve.trace_count, serve.rate_Bps, environment);
    struct weft_serve_load *loads = WEFT_NEW(arena, struct weft_serve_load, load_count);
    for (uint32_t l = 0; l < load_count; l++) {
        weft_tally_add(&environment->progress.tally, 1);
        struct weft_arena kept = environment->base.scratch;
        struct weft_arena drawn = weft_arena_split(&environment->base.scratch);
        loads[l].rate_Bps = loads_Bps[l];
        uint32_t traces = request->traces > 0 ? request->traces : TRACES_DRAWN;
        play(&loads[l].study, &serve, draw(&serve, loads_Bps[l], environment->base.seed, &drawn),
             traces, loads_Bps[l], environment);
        environment->base.scratch = kept;
    }
    weft_request_step_end(environment);
    note_unstable(&serve, &found.study, environment);
    found.loads = loads;
    *result = found;
    return true;
}
