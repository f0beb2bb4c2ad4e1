// SPDX-License-Identifier: Apache-2.0
// weft optics sip: SiP-ML planned for every number of accelerators, wavelengths and dark times that
// is asked for, and the electrical fabrics that it is held against once for each number of
// accelerators.

#include "weft/request/sip.h"
#include "weft/request/parameter.h"

#include <string.h>

#define GPUS_DEFAULT 64u
#define CAP_BPS 50e9         // 400 Gbps, the larger of the released scripts'
#define LATENCY_PS 100000ull // 20 m of fiber
#define DARK_PS 20000000ull  // as the released code has it
#define FIRST_RATE_BPS 16e9  // 128 Gbps, doubled up to 8192 Gbps
#define RATES_DEFAULT 7u
#define FABRICS_MAX 2u

#define FIELD(path) offsetof(struct weft_sip_request, path)
_Static_assert(sizeof(enum weft_sip_shots) == sizeof(uint32_t), "weft_read_word writes it");
static const char *const shots_words[] = {"best", "single", "together", "staggered", NULL};
const struct weft_parameter weft_sip_parameters[] = {
    {"gpus", weft_read_counts, FIELD(gpus), 2, WEFT_SIP_ACCELERATORS_MAX, NULL},
    {"wavelengths", weft_read_counts, FIELD(wavelengths), 1, 4096, NULL},
    {"fabric", weft_read_text, FIELD(fabrics), 0, 0, NULL},
    {"dark-time", weft_read_times, FIELD(dark_times), 0, 0, NULL},
    {"electrical", weft_read_text, FIELD(electrical), 0, 0, NULL},
    {"cap", weft_read_given_rate, FIELD(cap), 0, 0, NULL},
    {"latency", weft_read_given_time, FIELD(latency), 0, 0, NULL},
    {"batches", weft_read_text, FIELD(batches), 0, 0, NULL},
    {"weights", weft_read_given_bytes, FIELD(weights), 0, 0, NULL},
    {"switches", weft_read_count, FIELD(switches), 1, 4096, NULL},
    {"reach", weft_read_count, FIELD(reach), 1, 4096, NULL},
    {"dp", weft_read_count, FIELD(dp), 1, WEFT_SIP_ACCELERATORS_MAX, NULL},
    {"shots", weft_read_word, FIELD(shots), 0, 0, shots_words},
    {"commodity", NULL, FIELD(commodity), 0, 0, NULL},
};
const uint32_t weft_sip_parameter_count =
    sizeof weft_sip_parameters / sizeof weft_sip_parameters[0];

// What all combinations share.
struct sweep {
    const struct weft_sip_request *request;
    struct weft_cluster cluster; // of accelerators
    struct weft_strategy_setting setting;
    struct weft_sip_options sip;
    enum weft_moving_fabric fabrics[FABRICS_MAX];
    uint32_t fabric_count;
    struct weft_count_list gpus, wavelengths;
    struct weft_time_list dark_times;
    struct weft_sip_study *result;
    struct weft_sip_row *rows;
};

// ---- what is asked ----

static bool read_fabrics(struct sweep *sweep, struct weft_arena *arena, struct weft_error *error)
{
    static const enum weft_moving_fabric both[] = {WEFT_MOVING_SIP_OCS, WEFT_MOVING_SIP_RING};
    const char *names[FABRICS_MAX] = {weft_moving_name(both[0]), weft_moving_name(both[1])};
    const char *const *words = names;
    uint32_t count = FABRICS_MAX;
    if (sweep->request->fabrics != NULL &&
        !weft_split_list(&words, &count, sweep->request->fabrics, arena, error)) {
        return weft_wrap(error, "{fabric}");
    }
    for (uint32_t w = 0; w < count; w++) {
        uint32_t at = strcmp(words[w], names[0]) == 0 ? 0 : strcmp(words[w], names[1]) == 0;
        if (strcmp(words[w], names[at]) != 0) {
            return weft_fail_word(error, "fabric of SiP-ML", words[w], names, FABRICS_MAX);
        }
        if (sweep->fabric_count == FABRICS_MAX) {
            return weft_fail(error, WEFT_USAGE, "{fabric}: %s stands twice", words[w]);
        }
        sweep->fabrics[sweep->fabric_count++] = both[at];
    }
    return true;
}

static bool read_rates(struct sweep *sweep, struct weft_arena *arena, struct weft_error *error)
{
    const char *const *words = NULL;
    uint32_t count = RATES_DEFAULT;
    if (sweep->request->electrical != NULL &&
        !weft_split_list(&words, &count, sweep->request->electrical, arena, error)) {
        return weft_wrap(error, "{electrical}");
    }
    double *rates_Bps = WEFT_NEW(arena, double, count);
    for (uint32_t r = 0; r < count; r++) {
        rates_Bps[r] = FIRST_RATE_BPS * (double)(1u << (words == NULL ? r : 0));
        if (words != NULL && (!weft_parse_rate(&rates_Bps[r], words[r], error) ||
                              (rates_Bps[r] <= 0 && !weft_fail(error, WEFT_INPUT, "no rate")))) {
            return weft_wrap(error, "{electrical}");
        }
    }
    sweep->result->rate_count = count;
    sweep->result->rates_Bps = rates_Bps;
    sweep->result->cap_Bps = sweep->request->cap.given ? sweep->request->cap.Bps : CAP_BPS;
    return true;
}

// "1024:8192": samples, and iterations of them to accuracy.
static bool read_batches(struct sweep *sweep, struct weft_arena *arena, struct weft_error *error)
{
    const char *const *words = NULL;
    uint32_t count = 0;
    if (sweep->request->batches == NULL) {
        return true;
    }
    if (!weft_split_list(&words, &count, sweep->request->batches, arena, error)) {
        return weft_wrap(error, "{batches}");
    }
    struct weft_sip_batch *batches = WEFT_NEW(arena, struct weft_sip_batch, count);
    for (uint32_t b = 0; b < count; b++) {
        const char *colon = strchr(words[b], ':');
        if (colon == NULL) {
            return weft_fail(error, WEFT_INPUT,
                             "{batches}: '%s' says no iterations; write 1024:8192", words[b]);
        }
        const char *samples = weft_arena_text(arena, words[b], (size_t)(colon - words[b]));
        if (!weft_parse_count(&batches[b].samples, samples, 1, (uint64_t)1 << 40, error) ||
            !weft_parse_number(&batches[b].iterations, colon + 1, 1, 1e12, error)) {
            return weft_wrap(error, "{batches}");
        }
    }
    sweep->sip.batches = batches;
    sweep->sip.batch_count = count;
    return true;
}

// Accelerators as servers of one each: what is around them is not looked at.
static bool find_cluster(struct sweep *sweep, struct weft_request_environment *environment)
{
    const struct weft_sip_request *request = sweep->request;
    struct weft_error *error = environment->base.error;
    uint32_t gpus = GPUS_DEFAULT;
    if (request->cluster_path == NULL) {
        if (!weft_cluster_build(&sweep->cluster, gpus, 1, FIRST_RATE_BPS, error)) {
            return false;
        }
        sweep->cluster.accelerator = "A100-80GB";
        sweep->cluster.accelerator_memory_bytes = 80e9;
        sweep->cluster.latency_ps = LATENCY_PS;
    } else {
        const struct weft_request_hardware hardware = {.cluster_path = request->cluster_path};
        const struct weft_request_cluster_need need = {.degree_default = 1};
        if (!weft_request_cluster(&sweep->cluster, &hardware, &need, environment)) {
            return false;
        }
        uint64_t all =
            (uint64_t)sweep->cluster.server_count * sweep->cluster.accelerators_per_server;
        gpus = all < WEFT_SIP_ACCELERATORS_MAX ? (uint32_t)all : WEFT_SIP_ACCELERATORS_MAX;
    }
    sweep->cluster.accelerators_per_server = 1;
    sweep->cluster.latency_ps =
        request->latency.given ? request->latency.ps : sweep->cluster.latency_ps;
    if (sweep->gpus.count == 0) {
        uint32_t *own = WEFT_NEW(environment->base.arena, uint32_t, 1);
        *own = gpus;
        sweep->gpus = (struct weft_count_list){1, own};
    }
    return true;
}

static bool prepare(struct sweep *sweep, struct weft_request_environment *environment)
{
    static const uint32_t waves = WEFT_SIP_WAVELENGTHS;
    static const uint64_t dark_ps = DARK_PS;
    const struct weft_sip_request *request = sweep->request;
    struct weft_arena *arena = environment->base.arena;
    struct weft_error *error = environment->base.error;
    sweep->gpus = request->gpus;
    sweep->wavelengths =
        request->wavelengths.count > 0 ? request->wavelengths : (struct weft_count_list){1, &waves};
    sweep->dark_times =
        request->dark_times.count > 0 ? request->dark_times : (struct weft_time_list){1, &dark_ps};
    sweep->sip = (struct weft_sip_options){
        .switches = request->switches,
        .reach = request->reach,
        .dp = request->dp,
        .shots = request->shots,
        .gradient_bytes = request->weights.given ? (double)request->weights.value : 0,
    };
    return weft_request_job_model(&sweep->result->model, &request->job, environment) &&
           read_fabrics(sweep, arena, error) && read_rates(sweep, arena, error) &&
           read_batches(sweep, arena, error) && find_cluster(sweep, environment) &&
           weft_request_setting(&sweep->setting, &request->job, &sweep->result->model,
                                &sweep->cluster, request->cluster_path, environment);
}

// ---- rows ----

static bool find_baselines(struct sweep *sweep, struct weft_request_environment *environment)
{
    struct weft_sip_study *result = sweep->result;
    struct weft_sip_baseline *baselines =
        WEFT_NEW(environment->base.arena, struct weft_sip_baseline, sweep->gpus.count);
    for (uint32_t g = 0; g < sweep->gpus.count; g++) {
        struct weft_sip_switched *switched =
            WEFT_NEW(environment->base.arena, struct weft_sip_switched, result->rate_count);
        struct weft_cluster cluster = sweep->cluster;
        cluster.server_count = sweep->gpus.values[g];
        const struct weft_study study = {&result->model, &cluster, NULL, &sweep->setting};
        for (uint32_t r = 0; r < result->rate_count; r++) {
            const struct weft_sip_electrical electrical = {result->rates_Bps[r], result->cap_Bps};
            if (!weft_sip_switch(&switched[r], &study, &electrical, &sweep->sip,
                                 &environment->base)) {
                return false;
            }
        }
        baselines[g] = (struct weft_sip_baseline){cluster.server_count, switched};
    }
    result->baselines = baselines;
    result->baseline_count = sweep->gpus.count;
    return true;
}

// One combination. False: it failed for another reason than that it cannot be.
static bool find_row(struct sweep *sweep, const struct weft_sip_row *asked,
                     enum weft_moving_fabric fabric, const struct weft_sip_baseline *baseline,
                     struct weft_request_environment *environment)
{
    struct weft_sip_study *result = sweep->result;
    struct weft_sip_row *row = &sweep->rows[result->row_count++];
    *row = *asked;
    struct weft_cluster cluster = sweep->cluster;
    cluster.server_count = row->accelerators;
    const struct weft_study study = {&result->model, &cluster, NULL, &sweep->setting};
    struct weft_sip_options sip = sweep->sip;
    sip.wavelengths = row->wavelengths;
    struct weft_moving_options options = {.delays = {.dark_ps = row->dark_ps}};
    if (sweep->request->commodity) {
        options.delays = WEFT_CIRCUIT_COMMODITY;
        options.delays.dark_ps = row->dark_ps;
    }
    struct weft_error error = {0};
    struct weft_environment inner = environment->base;
    inner.error = &error;
    if (!weft_sip_search(&row->found, &study, fabric, &sip, &options, &inner)) {
        row->found = (struct weft_sip_result){.plan = {.fabric = fabric}};
        row->why_not = weft_arena_format(environment->base.arena, "%s", error.message);
        *environment->base.error = error;
        return error.code == WEFT_INFEASIBLE;
    }
    double *speedups = WEFT_NEW(environment->base.arena, double, result->rate_count);
    for (uint32_t r = 0; r < result->rate_count; r++) {
        const struct weft_sip_switched *other = &baseline->switched[r];
        speedups[r] = other->iteration_s * other->iterations /
                      (row->found.plan.iteration_s * row->found.iterations);
    }
    row->speedups = speedups;
    return true;
}

static bool find_rows(struct sweep *sweep, struct weft_request_environment *environment)
{
    for (uint32_t g = 0; g < sweep->gpus.count; g++) {
        for (uint32_t f = 0; f < sweep->fabric_count; f++) {
            bool moves = sweep->fabrics[f] == WEFT_MOVING_SIP_OCS;
            uint32_t times = moves ? sweep->dark_times.count : 1;
            for (uint32_t i = 0; i < sweep->wavelengths.count * times; i++) {
                const struct weft_sip_row row = {
                    .accelerators = sweep->gpus.values[g],
                    .wavelengths = sweep->wavelengths.values[i / times],
                    .dark_ps = moves ? sweep->dark_times.ps[i % times] : 0,
                };
                if (!find_row(sweep, &row, sweep->fabrics[f], &sweep->result->baselines[g],
                              environment)) {
                    return false;
                }
            }
        }
    }
    bool none = true;
    for (uint32_t r = 0; r < sweep->result->row_count; r++) {
        none &= sweep->rows[r].why_not != NULL;
    }
    return !none;
}

bool weft_request_sip(struct weft_sip_study *result, const struct weft_sip_request *request,
                      struct weft_request_environment *environment)
{
    struct weft_sip_study found = {0};
    struct sweep sweep = {.request = request, .result = &found};
    struct weft_error *error = environment->base.error;
    if (!prepare(&sweep, environment)) {
        return false;
    }
    uint64_t rows =
        (uint64_t)sweep.gpus.count * sweep.wavelengths.count * (sweep.dark_times.count + 1);
    if (rows > WEFT_SIP_ROWS_MAX) {
        return weft_fail(error, WEFT_USAGE, "%llu combinations; ask for at most %u",
                         (unsigned long long)rows, WEFT_SIP_ROWS_MAX);
    }
    found.accelerator = sweep.cluster.accelerator;
    sweep.rows = WEFT_NEW(environment->base.arena, struct weft_sip_row, rows);
    found.rows = sweep.rows;
    if (!find_baselines(&sweep, environment) || !find_rows(&sweep, environment)) {
        return false;
    }
    *result = found;
    return true;
}
