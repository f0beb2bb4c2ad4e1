// SPDX-License-Identifier: Apache-2.0
// Models over fabrics, degrees, rates and batches, one comparison after the other.
//
// A comparison takes minutes, so that what has been made is kept: in a file that a later request is
// resumed from. Everything that can be wrong with a model or a cluster is looked at in a first pass
// over all of them, before the second pass searches.

#include "request/compare/compare.h"
#include "weft/format.h"
#include "weft/request/compare.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#define COMPARISONS_MAX 4096u

// Where a clock ends a comparison, the effort of Weft's plan is this share of the time: the rows of
// all fabrics together take about four times what the plan does (docs/compare.md, "Models").
#define TIMED_SHARE 0.2

struct run {
    const struct weft_compare_models_request *request;
    struct weft_request_environment *environment;
    const struct weft_cluster *cluster; // as its file has it
    // All that is known, those kept from before first; and which of them were requested, in order.
    struct weft_model_comparison *known;
    uint32_t known_count;
    struct weft_model_comparison *requested;
    uint32_t requested_count;
    double effort_s;
};

static bool has_rows(const struct weft_compare_models_request *request,
                     const struct weft_model_comparison *kept)
{
    uint32_t count = 0;
    const struct weft_fabric_reference *references = weft_fabric_references(&count);
    uint32_t rows = 3; // of plans and circuits
    for (uint32_t i = 0; i < count; i++) {
        rows += references[i].compared;
    }
    bool has = request->fabric_count > 0 || kept->row_count == rows;
    for (uint32_t f = 0; f < request->fabric_count; f++) {
        bool found = false;
        for (uint32_t r = 0; r < kept->row_count; r++) {
            found = found || strcmp(kept->rows[r].name, request->fabrics[f]) == 0;
        }
        has = has && found;
    }
    return has;
}

// Whether a kept comparison answers the request. Memory limits and the like are not looked at.
static bool is_kept(const struct run *run, const struct weft_model_comparison *kept,
                    const struct weft_model *model, const struct weft_cluster *cluster,
                    bool measured)
{
    // One side alone may be left out, as data parallelism that does not fit.
    bool variants = kept->variant_s[WEFT_COPLAN_BOTH] > 0;
    return strcmp(kept->model, model->name) == 0 && kept->batch == model->batch &&
           kept->server_count == cluster->server_count && kept->degree == cluster->degree &&
           fabs(kept->rate_Bps - weft_cluster_nic_rate(cluster)) < 1 &&
           kept->seed == run->environment->base.seed &&
           fabs(kept->effort_s - run->effort_s) < 1e-9 && (variants || !run->request->variants) &&
           (strcmp(kept->costs, "profile") == 0) == measured && has_rows(run->request, kept);
}

// Adds what is new to the kept file, so that nothing is lost when a later comparison is stopped.
static bool keep(const struct run *run)
{
    const struct weft_environment *base = &run->environment->base;
    if (run->request->resume_path == NULL) {
        return true;
    }
    struct weft_arena scratch = base->scratch;
    const char *text = weft_comparisons_write(run->known, run->known_count, &scratch);
    return weft_file_save(run->request->resume_path, text, strlen(text), base->error);
}

static bool load_kept(struct run *run)
{
    const struct weft_environment *base = &run->environment->base;
    const char *path = run->request->resume_path;
    const char *data = NULL;
    size_t length = 0;
    struct weft_model_comparison *kept = NULL;
    uint32_t count = 0;
    if (path == NULL || access(path, F_OK) != 0) {
        return true;
    }
    if (!weft_file_load(&data, &length, path, 0, base->arena, base->error)) {
        return false;
    }
    if (!weft_comparisons_read(&kept, &count, data, length, base->arena, base->error)) {
        return weft_wrap(base->error, "%s", path);
    }
    for (uint32_t i = 0; i < count && run->known_count < COMPARISONS_MAX; i++) {
        if (!kept[i].stopped) { // the others are searched again
            run->known[run->known_count++] = kept[i];
        }
    }
    return true;
}

// The setting of a strategy search, with measured times where the folder of profiles has them for
// this model, batch and number of servers; else with the roofline, which is noted.
static bool find_costs(struct weft_strategy_setting *setting, const struct run *run,
                       const struct weft_model *model, const struct weft_cluster *cluster)
{
    const struct weft_environment *base = &run->environment->base;
    if (!weft_request_setting(setting, &run->request->job, model, cluster,
                              run->request->hardware.cluster_path, run->environment)) {
        return false;
    }
    if (run->request->profiles_path == NULL) {
        return true;
    }
    const struct weft_profile *profile = NULL;
    if (!weft_compare_find_profile(&profile, run->request->profiles_path, model,
                                   cluster->server_count, base)) {
        return false;
    }
    if (profile == NULL) {
        weft_request_note(run->environment,
                          "%s: no profile in %s has its operators and a batch of %llu; roofline",
                          model->name, run->request->profiles_path,
                          (unsigned long long)model->batch);
        return true;
    }
    setting->cost.profile = profile;
    setting->inside_Bps =
        run->request->job.inside_given ? run->request->job.inside_Bps : WEFT_PROFILE_INSIDE_BPS;
    return true;
}

// A model that does not fit is an answer, too: those before and after it keep theirs. It is not
// kept for --resume, where other memory may be requested.
static void refuse(struct run *run, const struct weft_model *model,
                   const struct weft_cluster *cluster, const struct weft_strategy_setting *setting)
{
    const struct weft_environment *base = &run->environment->base;
    const struct weft_cost_options *costs = &setting->cost;
    run->requested[run->requested_count++] = (struct weft_model_comparison){
        .model = model->name,
        .batch = model->batch,
        .server_count = cluster->server_count,
        .degree = cluster->degree,
        .rate_Bps = weft_cluster_nic_rate(cluster),
        .costs = costs->profile != NULL
                     ? "profile"
                     : weft_arena_format(base->arena, "roofline %s", costs->accelerator->name),
        .why_not = weft_arena_text(base->arena, base->error->message, strlen(base->error->message)),
        .seed = base->seed,
        .effort_s = run->effort_s,
    };
    *base->error = (struct weft_error){.code = WEFT_OK};
}

// Compares one model on one cluster: takes the comparison that an earlier request kept, else
// searches. A model that fits nowhere is an answer; so are the rows of a search that was stopped,
// but those are not kept for another request.
static bool compare_one(struct run *run, const struct weft_model *model,
                        const struct weft_cluster *cluster)
{
    const struct weft_compare_models_request *request = run->request;
    const struct weft_environment *base = &run->environment->base;
    WEFT_ASSERT(run->requested_count < COMPARISONS_MAX);
    struct weft_strategy_setting setting;
    if (!find_costs(&setting, run, model, cluster) ||
        !weft_request_refuse_search(&request->job, model, &setting, base->error)) {
        return false;
    }
    weft_request_note_batch(model, cluster, &setting, run->environment);
    for (uint32_t i = 0; i < run->known_count; i++) {
        if (is_kept(run, &run->known[i], model, cluster, setting.cost.profile != NULL)) {
            run->requested[run->requested_count++] = run->known[i];
            return true;
        }
    }
    char rate[WEFT_UNIT_TEXT];
    const char *what = weft_arena_format(base->arena, "%s, batch %llu, d %u, %s", model->name,
                                         (unsigned long long)model->batch, cluster->degree,
                                         weft_show_rate(rate, weft_cluster_nic_rate(cluster)));
    weft_request_step_begin(run->environment, what, "fabrics");
    const struct weft_compare_options options = {
        .coplan = {.all_variants = request->variants,
                   .seconds = run->effort_s,
                   .search = {.method = request->job.method, .evaluations = request->job.budget},
                   .plan = {.topology = weft_request_topology_options(&request->search),
                            .sim = weft_request_task_packets(base->seed),
                            .log = &run->environment->progress.last->rows},
                   .best_ps = &run->environment->progress.best_ps,
                   .bound_ps = &run->environment->progress.bound_ps},
        .fabrics = request->fabrics,
        .fabric_count = request->fabric_count,
    };
    struct weft_model_comparison comparison;
    const struct weft_study study = {.model = model, .cluster = cluster, .setting = &setting};
    bool compared = weft_plan_compare_model(&comparison, &study, &options, base);
    weft_request_step_end(run->environment);
    bool answer = base->error->code == WEFT_INFEASIBLE || base->error->code == WEFT_UNSUPPORTED;
    if (!compared && answer && !weft_stopped(base->stop)) {
        refuse(run, model, cluster, &setting);
        return true;
    }
    if (!compared) {
        return weft_wrap(base->error, "%s", what);
    }
    run->requested[run->requested_count++] = comparison;
    if (comparison.stopped) {
        return true;
    }
    if (run->known_count < COMPARISONS_MAX) {
        run->known[run->known_count++] = comparison;
    }
    return keep(run);
}

// All degrees, rates and batches of one model; or only whether there are such a model and clusters.
static bool compare_model(struct run *run, const char *name, bool only_look)
{
    const struct weft_compare_models_request *request = run->request;
    const struct weft_environment *base = &run->environment->base;
    uint32_t degrees = request->degree_count > 0 ? request->degree_count : 1;
    uint32_t rates = request->rate_count > 0 ? request->rate_count : 1;
    uint32_t batches = request->batch_count > 0 ? request->batch_count : 1;
    struct weft_request_job job = request->job;
    job.model = name;
    for (uint32_t i = 0; i < degrees * rates * batches; i++) {
        struct weft_cluster cluster = *run->cluster;
        struct weft_model model;
        if (request->degree_count > 0) {
            cluster.degree = request->degrees[i / (rates * batches)];
        }
        double rate_Bps = weft_cluster_nic_rate(&cluster);
        if (request->rate_count > 0) {
            rate_Bps = request->rates_Bps[i / batches % rates];
        }
        if (!only_look && request->degree_count + request->rate_count > 0) {
            weft_request_set_rate(&cluster, rate_Bps, run->environment);
        } else { // noted already
            weft_cluster_set_nic_rate(&cluster, rate_Bps);
        }
        if (request->batch_count > 0) {
            job.batch = request->batches[i % batches];
        }
        if (!weft_request_job_model(&model, &job, run->environment)) {
            return false;
        }
        if (!weft_cluster_check_direct(&cluster, base->error)) {
            return weft_wrap(base->error, "%s with %u ports of %g Gbps",
                             request->hardware.cluster_path, cluster.degree, rate_Bps * 8 / 1e9);
        }
        if (!only_look && run->requested_count > 0 && weft_stopped(base->stop)) {
            return true; // those before it are the answer
        }
        if (!only_look && !compare_one(run, &model, &cluster)) {
            return false;
        }
    }
    return true;
}

// A mistake in the last model is reported before the first one is searched.
static bool compare_listed(struct run *run)
{
    const struct weft_compare_models_request *request = run->request;
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < request->model_count; i++) {
            if (!compare_model(run, request->models[i], pass == 0)) {
                return false;
            }
        }
    }
    return true;
}

static bool check_fabrics(const struct weft_compare_models_request *request,
                          struct weft_error *error)
{
    for (uint32_t f = 0; f < request->fabric_count; f++) {
        const char *name = request->fabrics[f];
        if (strcmp(name, "topoopt") != 0 && strcmp(name, "ocs-reconfig") != 0 &&
            weft_fabric_reference_named(name, error) == NULL) {
            return weft_wrap(error, "{fabrics}");
        }
    }
    return true;
}

bool weft_request_compare_models(struct weft_compare_models_result *result,
                                 const struct weft_compare_models_request *request,
                                 struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    const struct weft_request_cluster_need need = {.server_count = 1};
    struct weft_cluster cluster;
    if (request->job.profile_path != NULL && request->profiles_path != NULL) {
        return weft_fail(base->error, WEFT_USAGE,
                         "{profile} names a file, {profiles} a folder; write one of them");
    }
    if (!weft_request_refuse_published(&request->search, base->error) ||
        !check_fabrics(request, base->error) ||
        !weft_request_cluster(&cluster, &request->hardware, &need, environment) ||
        !weft_request_refuse_trace(&request->trace, base->error)) {
        return false;
    }
    double seconds = request->search.seconds * (request->search.timed ? TIMED_SHARE : 1);
    struct run run = {
        .request = request,
        .environment = environment,
        .cluster = &cluster,
        .known = WEFT_NEW(base->arena, struct weft_model_comparison, COMPARISONS_MAX),
        .requested = WEFT_NEW(base->arena, struct weft_model_comparison, COMPARISONS_MAX),
        .effort_s = seconds > 0 ? seconds : WEFT_COPLAN_SECONDS,
    };
    if (!load_kept(&run) || !compare_listed(&run)) {
        return false;
    }
    *result = (struct weft_compare_models_result){.comparison_count = run.requested_count,
                                                  .comparisons = run.requested};
    return true;
}
