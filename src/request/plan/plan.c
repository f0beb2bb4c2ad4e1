// SPDX-License-Identifier: Apache-2.0
// A fabric for a job: a task graph is planned for by weft_plan_build, a model by weft_coplan_build,
// which searches its strategy together with the fabric.
//
// The page, where one is requested, needs what a plan does not hold: the timeline of a simulation,
// the traffic, and what the other fabrics come to. It is made here, since it takes as long as
// another search, and so that each door can show it.

#include "weft/request/plan.h"
#include "request/plan/bounds.h"
#include "request/plan/strategy.h"
#include "weft/report.h"

#include <string.h>

// Whether the last candidates, and what they are compared with, are played in packets.
static bool in_packets(const struct weft_plan_request *request)
{
    return request->last_engine == WEFT_ENGINE_PACKET;
}

// What the last candidates are played with: the recorded simulator, or NULL.
static const struct weft_sim_options *last_sim(const struct weft_plan_request *request,
                                               const struct weft_environment *base)
{
    if (!in_packets(request)) {
        return NULL;
    }
    struct weft_sim_options *sim = WEFT_NEW(base->arena, struct weft_sim_options, 1);
    *sim = weft_request_task_packets(base->seed);
    weft_sim_as_recorded(sim, WEFT_NEW(base->arena, struct weft_packet_options, 1));
    return sim;
}

// ---- the page ----

// The part of a path after its last slash.
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

// The fabrics that the plan competes with, itself among them: the rows that weft_request_compare
// and weft_request_compare_models have of the same job, effort and seed. A model's strategy is
// searched on each of them; one that was given, or is judged in packets, stands.
static bool fill_comparison(struct weft_report *report, const struct weft_taskgraph *graph,
                            const struct weft_plan_request *request,
                            const struct weft_environment *base)
{
    const struct weft_plan *plan = report->plan;
    const struct weft_sim_options *last = last_sim(request, base);
    if (report->model == NULL || request->model.strategy != NULL || last != NULL) {
        const struct weft_plan_options options = {
            .topology = weft_request_topology_options(&request->search),
            .sim = weft_request_task_packets(base->seed),
            .last_sim = last,
        };
        return weft_plan_compare_plan(&report->comparisons, &report->comparison_count, plan, graph,
                                      &options, base);
    }
    const struct weft_compare_options options = {
        .coplan = {.seconds = request->search.seconds,
                   .search = {.method = request->job.method, .evaluations = request->job.budget},
                   .plan = {.topology = weft_request_topology_options(&request->search),
                            .sim = weft_request_task_packets(base->seed)}},
    };
    const struct weft_study study = {
        .model = report->model, .cluster = &plan->cluster, .setting = report->setting};
    struct weft_model_comparison comparison;
    weft_plan_compare_model_plan(&comparison, plan, &study, &options, base);
    report->comparisons = comparison.rows;
    report->comparison_count = comparison.row_count;
    return true;
}

// What the page shows beside the plan: its timeline, its traffic, the fabrics it competes with.
// `result` and `traffic` must outlive the report.
static bool fill_report(struct weft_report *report, struct weft_sim_result *result,
                        struct weft_traffic *traffic, const struct weft_plan_request *request,
                        const struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    const struct weft_plan *plan = report->plan;
    struct weft_sim_options timed = plan->sim;
    timed.timeline = true;
    // The page shows what is played; what is demanded of the network stays as the job has it.
    struct weft_taskgraph *played = WEFT_NEW(base->arena, struct weft_taskgraph, 1);
    if (!weft_plan_played(played, plan, report->graph, base->arena, base->scratch, base->error)) {
        return false;
    }
    const struct weft_taskgraph *demanded = report->graph;
    report->graph = played;
    const struct weft_sim_job job = {.graph = played, .rings = plan->network.rings};
    weft_traffic_build(traffic, demanded, base->arena, base->scratch);
    report->traffic = traffic;
    report->result = result;
    return weft_sim_run_jobs(result, &plan->network, &job, 1, &timed, base) &&
           fill_comparison(report, demanded, request, base);
}

// What the page says of the rounds between strategy and topology.
static void fill_rounds(struct weft_report *report, const struct weft_plan_job *job,
                        struct weft_arena *arena)
{
    struct weft_report_round *rounds =
        WEFT_NEW(arena, struct weft_report_round, (size_t)job->round_count + 1);
    for (uint32_t r = 0; r < job->round_count; r++) {
        rounds[r] = (struct weft_report_round){job->round_start[r], job->round_s[r]};
    }
    report->rounds = rounds;
    report->round_count = job->round_count;
}

// A page that is being made, as its guard holds it.
struct drawing {
    const char **page;
    struct weft_report *report;
    const struct weft_plan_request *request;
    struct weft_request_environment *environment;
    struct weft_sim_result result;
    struct weft_traffic traffic;
};

static bool fill_page(void *context)
{
    struct drawing *drawing = context;
    const struct weft_environment *base = &drawing->environment->base;
    if (!fill_report(drawing->report, &drawing->result, &drawing->traffic, drawing->request,
                     drawing->environment)) {
        return false;
    }
    drawing->report->origin = drawing->request->origin;
    weft_poll(); // what was left unfinished is no comparison
    *drawing->page = weft_report_html(drawing->report, base->arena, base->scratch);
    return true;
}

// The page of the report, whose title, plan, graph, model and setting are filled.
static bool draw(const char **page, struct weft_report *report,
                 const struct weft_plan_request *request,
                 struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct drawing drawing = {
        .page = page, .report = report, .request = request, .environment = environment};
    weft_request_step_begin(environment, "comparing for the report", NULL);
    bool drawn = weft_guard_until(fill_page, &drawing, base->stop, base->error);
    weft_request_step_end(environment);
    if (!drawn && base->error->code == WEFT_STOPPED) {
        *base->error = (struct weft_error){.code = WEFT_OK};
        *page = NULL;
        weft_request_note(environment, "stopped before {report} was ready; it is not written");
        return true;
    }
    return drawn;
}

// ---- a task graph ----

// Plans a fabric for a task graph from a file. What is for models alone is refused.
static bool plan_taskgraph(struct weft_plan_result *result, const struct weft_plan_request *request,
                           struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_loaded_job job;
    struct weft_cluster cluster;
    if (request->model.given) {
        return weft_fail(base->error, WEFT_USAGE,
                         "'%.100s' is a task graph; {variant}, {rounds} and {strategy} are for "
                         "models",
                         request->path);
    }
    if (!weft_request_refuse_job(&request->job, request->path, base->error)) {
        return false;
    }
    if (!weft_request_load(&job, request->path, &request->trace, environment)) {
        return false;
    }
    const struct weft_taskgraph *graph = &job.fbuf.graph;
    const struct weft_request_cluster_need need = {
        .server_count = graph->server_count, .shard = true, .one_path = in_packets(request)};
    if (!weft_request_cluster(&cluster, &request->hardware, &need, environment) ||
        !weft_request_afford_pairs(graph->server_count, WEFT_REQUEST_PLAN_PAIR_BYTES,
                                   environment)) {
        return false;
    }
    const struct weft_plan_options options = {
        .topology = weft_request_topology_options(&request->search),
        .sim = weft_request_task_packets(base->seed),
        .collectives = request->collectives,
        .last_sim = last_sim(request, base),
        .published_most = request->search.published_most,
        .tally = &environment->progress.tally,
        .best_ps = &environment->progress.best_ps,
    };
    struct weft_plan *plan = WEFT_NEW(base->arena, struct weft_plan, 1);
    weft_request_step_begin(environment, "planning", NULL);
    bool planned = weft_plan_build(plan, graph, &cluster, &options, base);
    weft_request_step_end(environment);
    struct weft_report report = {.title = base_name(request->path), .plan = plan, .graph = graph};
    const char *page = NULL;
    if (!planned) {
        return base->error->code == WEFT_STOPPED &&
               weft_request_bound_graph(result, graph, &cluster, environment);
    }
    if (request->report && !draw(&page, &report, request, environment)) {
        return false;
    }
    *result = (struct weft_plan_result){.plan = plan, .page = page};
    return true;
}

// ---- a model ----

// What cannot be simulated is answered as weft_request_strategy does, on a full mesh: without a
// fabric.
static bool answer_by_estimate(struct weft_plan_result *result,
                               const struct weft_plan_request *request,
                               const struct weft_study *study,
                               struct weft_request_environment *environment)
{
    struct weft_error *error = environment->base.error;
    weft_request_note(environment, "%s; this is an estimate of the strategy, without a fabric",
                      error->message);
    *error = (struct weft_error){.code = WEFT_OK};
    const struct weft_strategy_request wanted = {.job = request->job,
                                                 .hardware = request->hardware,
                                                 .fabric = "full-mesh", // one switch, no fabric
                                                 .strategy = request->model.strategy,
                                                 .seconds = request->search.seconds};
    struct weft_strategy_result *estimate =
        WEFT_NEW(environment->base.arena, struct weft_strategy_result, 1);
    estimate->model = *study->model;
    estimate->cluster = *study->cluster;
    estimate->setting = *study->setting;
    if (!weft_request_strategy_of(estimate, &wanted, environment)) {
        return false;
    }
    *result = (struct weft_plan_result){.estimate = estimate};
    return true;
}

// The joint search, with its progress for the door. `given` is NULL where strategies are searched.
static bool search(struct weft_plan *plan, const struct weft_study *study,
                   const struct weft_plan_request *request, const struct weft_strategy *given,
                   struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    const struct weft_coplan_options options = {
        .variant = request->model.variant,
        .all_variants = request->model.all_variants,
        .rounds = request->model.rounds,
        .given = given,
        .seconds = request->search.seconds,
        .search = {.method = request->job.method, .evaluations = request->job.budget},
        .plan = {.topology = weft_request_topology_options(&request->search),
                 .sim = weft_request_task_packets(base->seed),
                 .collectives = request->collectives,
                 .last_sim = last_sim(request, base),
                 .published_most = request->search.published_most},
        .best_ps = &environment->progress.best_ps,
        .bound_ps = &environment->progress.bound_ps,
        .tally = &environment->progress.tally,
    };
    weft_request_step_begin(environment, "planning", NULL);
    bool planned = weft_coplan_build(plan, study, &options, base);
    weft_request_step_end(environment);
    return planned;
}

// Options that the kind of search has no use for.
static bool check_model(const struct weft_plan_request *request, struct weft_error *error)
{
    enum weft_coplan_variant variant = request->model.variant;
    bool all = request->model.all_variants;
    bool searched = request->job.budget > 0 || request->job.method != 0;
    bool rounds = request->model.rounds > 0;
    if (request->search.method == WEFT_TOPOLOGY_TOPOOPT) {
        return weft_fail(
            error, WEFT_USAGE,
            "{method=topoopt} is for task graphs; of a model write {variant=strategy}, "
            "which takes the paper's topology");
    }
    if (request->model.strategy != NULL && (searched || rounds)) {
        return weft_fail(error, WEFT_USAGE,
                         "{strategy} is given and not searched; leave out {budget}, {search} and "
                         "{rounds}");
    }
    if (!all && (searched || rounds) &&
        (variant == WEFT_COPLAN_TOPOLOGY || variant == WEFT_COPLAN_DATA_PARALLEL)) {
        return weft_fail(error, WEFT_USAGE,
                         "{variant=%s} searches no strategy; leave out {budget}, {search} and "
                         "{rounds}",
                         weft_coplan_variant_name(variant));
    }
    return all || !rounds || variant != WEFT_COPLAN_STRATEGY ||
           weft_fail(error, WEFT_USAGE, "{variant=strategy} has no rounds; leave out {rounds}");
}

// Plans a strategy and a fabric for a model together. Where its task graphs are too large to
// simulate, the answer is strategies by estimate, without a fabric.
static bool plan_model(struct weft_plan_result *result, const struct weft_plan_request *request,
                       struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    const struct weft_request_cluster_need need = {.server_count = 1,
                                                   .one_path = in_packets(request)};
    struct weft_model model;
    struct weft_cluster cluster;
    struct weft_strategy_setting setting;
    if (!check_model(request, base->error) ||
        !weft_request_refuse_trace(&request->trace, base->error) ||
        !weft_request_job_model(&model, &request->job, environment) ||
        !weft_request_cluster(&cluster, &request->hardware, &need, environment) ||
        !weft_request_setting(&setting, &request->job, &model, &cluster,
                              request->hardware.cluster_path, environment) ||
        !weft_request_refuse_search(&request->job, &model, &setting, base->error)) {
        return false;
    }
    cluster.stack = setting.stack != NULL ? setting.stack->name : NULL; // a plan's file says it
    cluster.accelerator_memory_bytes =
        setting.memory_limit_bytes; // {memory} wins, for the file too
    weft_request_note_batch(&model, &cluster, &setting, environment);
    const char *specification = request->model.strategy;
    struct weft_strategy given;
    const struct weft_study study = {.model = &model, .cluster = &cluster, .setting = &setting};
    if (specification != NULL && !weft_request_hybrid(&given, &study, specification, base->error)) {
        return false;
    }
    struct weft_plan *plan = WEFT_NEW(base->arena, struct weft_plan, 1);
    if (!search(plan, &study, request, specification != NULL ? &given : NULL, environment)) {
        if (base->error->code == WEFT_STOPPED) {
            return weft_request_bound_model(result, &study, environment);
        }
        return base->error->code == WEFT_UNSUPPORTED && model.transformer != NULL &&
               answer_by_estimate(result, request, &study, environment);
    }
    struct weft_report report = {.title = model.name,
                                 .plan = plan,
                                 .graph = &plan->job->graph,
                                 .model = &model,
                                 .setting = &setting,
                                 .strategy = &plan->job->strategy};
    fill_rounds(&report, plan->job, base->arena);
    const char *page = NULL;
    if (request->report && !draw(&page, &report, request, environment)) {
        return false;
    }
    *result = (struct weft_plan_result){.plan = plan, .page = page};
    return true;
}

bool weft_request_plan(struct weft_plan_result *result, const struct weft_plan_request *request,
                       struct weft_request_environment *environment)
{
    if (request->hardware.balance_given) {
        return weft_fail(environment->base.error, WEFT_USAGE,
                         "{balance} is of switches, which the fabric of a plan has none of; leave "
                         "it out");
    }
    return request->path != NULL ? plan_taskgraph(result, request, environment)
                                 : plan_model(result, request, environment);
}
