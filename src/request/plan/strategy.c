// SPDX-License-Identifier: Apache-2.0
// How a model is split and placed on one fabric.
//
// The searches of the strategy room estimate each strategy by a model of the network of their own
// (docs/strategies.md, docs/hybrid.md). What they return is played by the flow engine and ranked by
// what it took there (weft_plan_rank_strategies); the estimate stands beside it. A full mesh, which
// no engine plays, and clusters too large to play are answered by estimates, and the result says
// so.

#include "request/plan/strategy.h"

#include "weft/plan.h"

#include <string.h>

#define KEEP_OPERATORS 1u
#define KEEP_HYBRID 8u

bool weft_request_hybrid(struct weft_strategy *strategy, const struct weft_study *study,
                         const char *specification, struct weft_error *error)
{
    const struct weft_model *model = study->model;
    const struct weft_cluster *cluster = study->cluster;
    if (model->transformer == NULL) {
        return weft_fail(error, WEFT_USAGE,
                         "{strategy} is for transformers; %s has operators of its own",
                         model->name);
    }
    *strategy =
        (struct weft_strategy){.kind = WEFT_STRATEGY_HYBRID, .server_count = cluster->server_count};
    uint32_t accelerators = cluster->server_count * cluster->accelerators_per_server;
    const struct weft_hybrid *hybrid = &strategy->hybrid;
    if (!weft_hybrid_parse(&strategy->hybrid, specification, accelerators, error)) {
        return weft_wrap(error, "{strategy}");
    }
    if (study->setting->overlap != 0) {
        if (strstr(specification, "overlap=") != NULL) {
            return weft_fail(error, WEFT_USAGE, "{overlap} and overlap= in {strategy}; state one");
        }
        weft_hybrid_set_overlap(&strategy->hybrid, study->setting->overlap);
    }
    // Degrees are at most 2^10, dp at most 2^24: no overflow. More than there are is found later.
    uint64_t used = (uint64_t)hybrid->dp * hybrid->tp * hybrid->pp * hybrid->cp;
    return used >= accelerators ||
           weft_fail(error, WEFT_INPUT,
                     "{strategy}: dp: dp * tp * pp * cp = %llu leave some of the %u accelerators "
                     "idle; leave dp out, or use fewer {servers}",
                     (unsigned long long)used, accelerators);
}

// The network of the reference fabric that is named; NULL for a full mesh, which the searches stand
// in for.
static bool build_network(struct weft_network **network, const char *fabric,
                          const struct weft_strategy_request *request,
                          const struct weft_cluster *cluster,
                          const struct weft_environment *environment)
{
    *network = NULL;
    if (strcmp(fabric, "full-mesh") == 0) {
        return true;
    }
    struct weft_fabric_options shape = request->shape;
    shape.seed = environment->seed;
    *network = WEFT_NEW(environment->arena, struct weft_network, 1);
    return weft_fabric_build_named(*network, fabric, cluster, &shape,
                                   &(struct weft_environment){.arena = environment->arena,
                                                              .scratch = environment->scratch,
                                                              .error = environment->error}) ||
           weft_wrap(environment->error, "{fabric}");
}

// A strategy that is being played, as its guard holds it.
struct playing {
    uint64_t *simulated_ps;
    const struct weft_strategy *strategy;
    const struct weft_study *study;
    const struct weft_environment *environment;
};

static bool play(void *context)
{
    const struct playing *playing = context;
    const struct weft_sim_options packets = weft_request_task_packets(playing->environment->seed);
    weft_plan_play_strategy(playing->simulated_ps, playing->strategy, playing->study, &packets,
                            playing->environment->scratch);
    return true;
}

// The one strategy that is given, checked and estimated.
static bool estimate_given(struct weft_strategy_result *result, const struct weft_study *study,
                           const char *specification, const struct weft_environment *environment)
{
    struct weft_candidate *candidate = WEFT_NEW(environment->arena, struct weft_candidate, 1);
    struct weft_hybrid_estimate estimate;
    if (!weft_request_hybrid(&candidate->strategy, study, specification, environment->error) ||
        !weft_strategy_memory(&candidate->strategy, study, environment->arena, environment->scratch,
                              environment->error) ||
        !weft_hybrid_estimate(&estimate, &candidate->strategy.hybrid, study, environment->scratch,
                              environment->error)) {
        return false;
    }
    candidate->estimate_ps = estimate.iteration_ps;
    result->found = (struct weft_search_result){1, candidate, 1};
    uint64_t *simulated_ps = WEFT_NEW(environment->arena, uint64_t, 1);
    struct playing playing = {simulated_ps, &candidate->strategy, study, environment};
    if (weft_plan_plays(study) &&
        !weft_guard_until(play, &playing, environment->stop, environment->error)) {
        if (environment->error->code != WEFT_STOPPED) {
            return false;
        }
        *environment->error = (struct weft_error){.code = WEFT_OK};
        result->stopped = true; // its estimate stands
    }
    result->simulated_ps = simulated_ps;
    return true;
}

// ---- measured iterations ----

// An iteration of the request's model and degrees that ran; 0: with as many servers or samples.
struct measured_iteration {
    uint64_t iteration_ps, server_count, batch;
};

static bool read_time(uint64_t *time_ps, const char *text, struct weft_error *error)
{
    uint64_t read_ps = 0;
    if (!weft_parse_time(&read_ps, text, error)) {
        return false;
    }
    *time_ps = read_ps;
    return read_ps > 0 ||
           weft_fail(error, WEFT_INPUT, "an iteration of no time; write what was measured, as 6s");
}

// "servers=384": sets the figure of that name once.
static bool read_figure(struct measured_iteration *measured, const char *word,
                        struct weft_error *error)
{
    uint64_t *const figures[] = {&measured->server_count, &measured->batch};
    static const char *const names[] = {"servers=", "batch="};
    static const uint64_t most[] = {WEFT_CLUSTER_SERVERS_MAX, UINT32_MAX};
    for (uint32_t i = 0; i < 2; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(word, names[i], length) != 0) {
            continue;
        }
        if (*figures[i] > 0) {
            return weft_fail(error, WEFT_INPUT, "%s is stated twice; leave one out", names[i]);
        }
        return weft_parse_count(figures[i], word + length, 1, most[i], error) ||
               weft_wrap(error, "%.*s", (int)length - 1, names[i]);
    }
    return weft_fail(error, WEFT_INPUT, "'%.40s' is neither servers=N nor batch=N", word);
}

// "23.66s,servers=384,batch=6144"; what is left out is 0.
static bool read_measured(struct measured_iteration *measured, const char *text,
                          struct weft_arena scratch, struct weft_error *error)
{
    struct measured_iteration found = {0};
    char *words = weft_arena_text(&scratch, text, strlen(text));
    for (char *word = words, *next = NULL; word != NULL; word = next) {
        next = strchr(word, ',');
        if (next != NULL) {
            *next++ = '\0';
        }
        if (!(word == words ? read_time(&found.iteration_ps, word, error)
                            : read_figure(&found, word, error))) {
            return false;
        }
    }
    *measured = found;
    return true;
}

// The stack with the share of the kernels' speed that the request's measured iteration tells.
static bool calibrate(struct weft_strategy_result *result,
                      const struct weft_strategy_request *request,
                      const struct weft_environment *environment)
{
    struct weft_error *error = environment->error;
    struct measured_iteration measured;
    struct weft_cluster cluster = result->cluster;
    struct weft_model model = result->model;
    struct weft_strategy strategy;
    struct weft_network *network = NULL;
    uint32_t stack_count = 0;
    const struct weft_stack *stacks = weft_stacks(&stack_count); // the first is "none"
    struct weft_stack *stack = WEFT_NEW(environment->arena, struct weft_stack, 1);
    *stack = result->setting.stack != NULL ? *result->setting.stack : stacks[0];
    if (!read_measured(&measured, request->calibrate, environment->scratch, error)) {
        return weft_wrap(error, "{calibrate}");
    }
    cluster.server_count =
        measured.server_count > 0 ? (uint32_t)measured.server_count : cluster.server_count;
    const struct weft_study study = {
        .model = &model, .cluster = &cluster, .setting = &result->setting};
    struct weft_study joined = study;
    if ((measured.batch > 0 && !weft_model_set_batch(&model, measured.batch, error)) ||
        !weft_request_hybrid(&strategy, &study, request->strategy, error) ||
        !build_network(&network, result->fabric, request, &cluster, environment)) {
        return weft_wrap(error, "{calibrate}");
    }
    joined.network = network;
    if (!weft_hybrid_calibrate(&stack->compute_efficiency, measured.iteration_ps, &strategy.hybrid,
                               &joined, environment->scratch, error)) {
        return weft_wrap(error, "{calibrate}");
    }
    result->setting.stack = stack;
    result->calibrated = true;
    return true;
}

// What was measured of the strategy that is given.
static bool take_measured(struct weft_strategy_result *result,
                          const struct weft_strategy_request *request,
                          const struct weft_environment *environment)
{
    const char *named = request->calibrate != NULL   ? "{calibrate}"
                        : request->iteration != NULL ? "{iteration}"
                                                     : NULL;
    if (named == NULL) {
        return true;
    }
    if (request->strategy == NULL || !result->hybrid) {
        return weft_fail(environment->error, WEFT_USAGE,
                         "%s is of one strategy of a transformer by rooflines; state it by "
                         "{strategy=tp=8,pp=4}, without {profile}",
                         named);
    }
    if (request->iteration != NULL &&
        !read_time(&result->measured_ps, request->iteration, environment->error)) {
        return weft_wrap(environment->error, "{iteration}");
    }
    return request->calibrate == NULL || calibrate(result, request, environment);
}

// Searches and ranks as a step of the request; the result has the candidates and what they took in
// the simulation, and says whether the search was left before its end.
static bool search(struct weft_strategy_result *result, const struct weft_study *study,
                   const struct weft_strategy_request *request,
                   struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    const struct weft_ranking_options wanted = {
        .method = request->job.method,
        .evaluations = request->job.budget,
        .seconds = request->seconds,
        .keep = request->keep > 0 ? request->keep
                : result->hybrid  ? KEEP_HYBRID
                                  : KEEP_OPERATORS,
        .sim = weft_request_task_packets(base->seed),
        .best_ps = &environment->progress.best_ps,
    };
    struct weft_ranking ranking;
    weft_request_step_begin(environment, request->step != NULL ? request->step : "searching", NULL);
    bool found = weft_plan_rank_strategies(&ranking, study, &wanted, base);
    weft_request_step_end(environment);
    if (found) {
        result->found = ranking.found;
        result->simulated_ps = ranking.simulated_ps;
        result->stopped = ranking.stopped;
    }
    return found;
}

// Why times are estimates; NULL where the engine plays.
static const char *why_estimated(const struct weft_strategy_result *result,
                                 const struct weft_study *study, struct weft_arena *arena)
{
    if (study->network == NULL) {
        return "a full mesh cannot be built, and no engine plays it";
    }
    if (!weft_plan_plays(study)) {
        return weft_arena_format(arena, "%u servers are too many to simulate",
                                 study->cluster->server_count);
    }
    if (result->simulated_ps[0] == 0 && result->stopped) {
        return "stopped before it was";
    }
    return result->simulated_ps[0] > 0 ? NULL : "their task graphs are too large to simulate";
}

// Where the time of every hybrid candidate goes.
static bool estimate(struct weft_strategy_result *result, const struct weft_study *study,
                     const struct weft_environment *environment)
{
    if (!result->hybrid) {
        return true;
    }
    struct weft_hybrid_estimate *estimates =
        WEFT_NEW(environment->arena, struct weft_hybrid_estimate, result->found.count);
    for (uint32_t i = 0; i < result->found.count; i++) {
        if (!weft_hybrid_estimate(&estimates[i], &result->found.candidates[i].strategy.hybrid,
                                  study, environment->scratch, environment->error)) {
            return false;
        }
    }
    result->estimates = estimates;
    return true;
}

static const char *const *operator_names(const struct weft_model *model, struct weft_arena *arena)
{
    const char **names = WEFT_NEW(arena, const char *, (size_t)model->operator_count + 1);
    for (uint32_t op = 0; op < model->operator_count; op++) {
        names[op] = model->operators[op].spec.name;
    }
    return names;
}

uint64_t weft_request_strategy_ps(const struct weft_strategy_result *result, uint32_t candidate)
{
    uint64_t simulated_ps = result->simulated_ps[candidate];
    return simulated_ps > 0 ? simulated_ps : result->found.candidates[candidate].estimate_ps;
}

double weft_request_strategy_tokens_per_s(const struct weft_strategy_result *result,
                                          uint64_t iteration_ps)
{
    return (double)result->model.batch * (double)result->model.transformer->sequence /
           weft_seconds(iteration_ps);
}

double weft_request_strategy_off(const struct weft_strategy_result *result)
{
    return (double)weft_request_strategy_ps(result, 0) / (double)result->measured_ps - 1;
}

double weft_request_strategy_mfu_at(const struct weft_strategy_result *result, uint32_t candidate,
                                    uint64_t iteration_ps)
{
    const struct weft_hybrid_estimate *estimate = &result->estimates[candidate];
    return estimate->model_flops_utilization * (double)estimate->iteration_ps /
           (double)iteration_ps;
}

double weft_request_strategy_mfu(const struct weft_strategy_result *result, uint32_t candidate)
{
    return result->hybrid ? weft_request_strategy_mfu_at(
                                result, candidate, weft_request_strategy_ps(result, candidate))
                          : 0;
}

bool weft_request_strategy_of(struct weft_strategy_result *result,
                              const struct weft_strategy_request *request,
                              struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_strategy_result found = *result;
    struct weft_network *network = NULL;
    found.hybrid = found.model.transformer != NULL && found.setting.cost.profile == NULL;
    found.fabric = request->fabric != NULL ? request->fabric : WEFT_STRATEGY_FABRIC;
    const struct weft_request_fabric named = {.hardware = &request->hardware,
                                              .shape = request->shape};
    if (!weft_request_refuse_shape(&named, found.fabric, base->error) ||
        !build_network(&network, found.fabric, request, &found.cluster, base)) {
        return false;
    }
    const struct weft_study study = {.model = &found.model,
                                     .cluster = &found.cluster,
                                     .network = network,
                                     .setting = &found.setting};
    if (!take_measured(&found, request, base)) {
        return false;
    }
    if (!(request->strategy != NULL ? estimate_given(&found, &study, request->strategy, base)
                                    : search(&found, &study, request, environment)) ||
        !estimate(&found, &study, base)) {
        return false;
    }
    found.why_estimated = why_estimated(&found, &study, base->arena);
    found.operator_names = operator_names(&found.model, base->arena);
    *result = found;
    return true;
}

bool weft_request_strategy(struct weft_strategy_result *result,
                           const struct weft_strategy_request *request,
                           struct weft_request_environment *environment)
{
    const struct weft_request_cluster_need need = {.server_count = 1};
    if (request->strategy != NULL && request->keep > 0) {
        return weft_fail(environment->base.error, WEFT_USAGE,
                         "{keep} is of a search, and {strategy} is given; leave one of them out");
    }
    struct weft_strategy_result found = {.wall_s = 0};
    if (!weft_request_job_model(&found.model, &request->job, environment) ||
        !weft_request_cluster(&found.cluster, &request->hardware, &need, environment) ||
        !weft_request_setting(&found.setting, &request->job, &found.model, &found.cluster,
                              request->hardware.cluster_path, environment) ||
        !weft_request_refuse_search(&request->job, &found.model, &found.setting,
                                    environment->base.error)) {
        return false;
    }
    weft_request_note_batch(&found.model, &found.cluster, &found.setting, environment);
    if (!weft_request_strategy_of(&found, request, environment)) {
        return false;
    }
    *result = found;
    return true;
}
