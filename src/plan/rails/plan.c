// SPDX-License-Identifier: Apache-2.0
// A model on photonic rails: hybrid strategies that keep to their rails, each replayed with one
// port and with two ports a NIC, provisioned and split; the quickest of them in the best mode, with
// its certificate.
//
// The search of the strategy room orders the candidates by its estimate, which knows nothing of
// dark time; of those that differ in what they ask of rails the first few are replayed, so that
// the answer is the best of these and not proved best. O(candidates * replays * circuits).

#include "rails.h"

#include <string.h>

// Candidates that the search hands over; tasks of all of them that are replayed, a second of
// effort; candidates that are replayed whatever they cost.
#define HANDED 256u
#define TASKS_A_SECOND 2e5
#define REPLAYED_LEAST 2u
// Larger graphs are not replayed.
#define TASKS_MAX (1u << 20)
// A rail of more tasks is not kept by itself.
#define ALONE_TASKS_MAX 20000u

struct planner {
    const struct weft_study *study;
    const struct weft_moving_options *options;
    const struct weft_environment *environment;
    struct weft_moving_plan *plan;
    uint64_t best_ps;
    uint32_t ports;                    // of the best
    const struct weft_strategy *found; // NULL = none yet
};

// ---- one strategy ----

// Whether the strategy can run on rails. Fails with INFEASIBLE saying why not.
static bool keeps_to_rails(const struct planner *planner, const struct weft_strategy *strategy,
                           struct weft_arena scratch, struct weft_error *error)
{
    const struct weft_hybrid *hybrid = &strategy->hybrid;
    uint32_t per_server = planner->study->cluster->accelerators_per_server;
    struct weft_hybrid_rails rails;
    if (hybrid->tp > per_server) {
        return weft_fail(error, WEFT_INFEASIBLE,
                         "tensor groups of %u accelerators do not fit servers of %u, and rails "
                         "carry no tensor parallelism; choose tp %u or less",
                         hybrid->tp, per_server, per_server);
    }
    if (!weft_hybrid_survey_rails(&rails, hybrid, planner->study, scratch, error)) {
        return false;
    }
    if (rails.crossing > 0) {
        return weft_fail(error, WEFT_INFEASIBLE,
                         "%llu of %llu exchanges leave their rail, %s first, and photonic rails "
                         "join accelerators of one place only; choose a strategy whose groups "
                         "keep to places, tensor groups innermost",
                         (unsigned long long)rails.crossing, (unsigned long long)rails.exchanges,
                         rails.crosses);
    }
    return true;
}

static struct weft_rail_options options_of(const struct planner *planner,
                                           const struct weft_strategy *strategy, uint32_t ports)
{
    const struct weft_cluster *cluster = planner->study->cluster;
    uint32_t places = cluster->accelerators_per_server / strategy->hybrid.tp;
    places = places < cluster->degree ? places : cluster->degree;
    places = places < 64 ? places : 64;
    return (struct weft_rail_options){
        .mode = WEFT_RAIL_BEST,
        .delays = planner->options->delays,
        .rate_Bps = cluster->degree * cluster->rate_Bps / places,
        .ports = ports,
        .latency_ps = cluster->latency_ps,
        .places = places,
    };
}

// Replays a strategy that keeps to its rails. Returns its tasks; what cannot be replayed is passed
// over.
static uint32_t offer(struct planner *planner, const struct weft_strategy *strategy,
                      struct weft_arena scratch)
{
    struct weft_error unused = {.code = WEFT_OK};
    struct weft_arena own = weft_arena_split(&scratch);
    struct weft_taskgraph graph;
    if (!weft_strategy_taskgraph(&graph, strategy, planner->study, &own, scratch, &unused) ||
        graph.task_count > TASKS_MAX) {
        return 0;
    }
    struct weft_environment inner = *planner->environment;
    inner.arena = &own;
    inner.scratch = scratch;
    inner.error = &unused;
    for (uint32_t ports = 1; ports <= 2; ports++) {
        const struct weft_rail_options options = options_of(planner, strategy, ports);
        uint64_t iteration_ps = 0;
        if (rail_sketch(&iteration_ps, &graph, &options, &inner) &&
            iteration_ps < planner->best_ps) {
            planner->best_ps = iteration_ps;
            planner->ports = ports;
            planner->found = strategy;
        }
    }
    return graph.task_count;
}

// ---- candidates ----

static bool same_kind(const struct weft_hybrid *a, const struct weft_hybrid *b)
{
    return a->dp == b->dp && a->tp == b->tp && a->pp == b->pp && a->ep == b->ep && a->cp == b->cp &&
           a->zero_stage == b->zero_stage && a->chunks == b->chunks;
}

static bool seen_before(const struct weft_search_result *found, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++) {
        if (same_kind(&found->candidates[i].strategy.hybrid,
                      &found->candidates[at].strategy.hybrid)) {
            return true;
        }
    }
    return false;
}

static bool search(struct planner *planner, struct weft_arena *arena, struct weft_arena scratch)
{
    const struct weft_environment *environment = planner->environment;
    struct weft_study study = *planner->study;
    study.network = NULL;
    struct weft_search_result found;
    const struct weft_search_options options = {
        .seed = environment->seed,
        .threads = environment->threads,
        .keep = HANDED,
        .stop = environment->stop,
    };
    double seconds = planner->options->seconds > 0 ? planner->options->seconds : 10;
    double left = TASKS_A_SECOND * seconds;
    uint32_t replayed = 0;
    struct weft_error first = {.code = WEFT_OK}; // why the best candidate cannot
    if (!weft_hybrid_search(&found, &study, &options, arena, scratch, environment->error)) {
        return false;
    }
    for (uint32_t c = 0; c < found.count && (left > 0 || replayed < REPLAYED_LEAST); c++) {
        const struct weft_strategy *strategy = &found.candidates[c].strategy;
        struct weft_error why = {.code = WEFT_OK};
        if (seen_before(&found, c)) {
            continue;
        }
        if (!keeps_to_rails(planner, strategy, scratch, &why)) {
            first = first.code == WEFT_OK ? why : first;
            continue;
        }
        uint32_t tasks = offer(planner, strategy, scratch);
        replayed += tasks > 0;
        left -= tasks;
    }
    if (planner->found == NULL) {
        *environment->error = first;
        bool told =
            first.code != WEFT_OK
                ? weft_wrap(environment->error, "no strategy keeps to photonic rails")
                : weft_fail(environment->error, WEFT_INFEASIBLE,
                            "the task graphs of this model are too large to replay on rails");
        WEFT_ASSERT(!told);
        return false;
    }
    return true;
}

// ---- the plan ----

// Of the bounds for any fabric, and the rails' own, which binds where it is larger.
static bool certify(struct weft_moving_plan *plan, const struct weft_taskgraph *graph,
                    const struct weft_rail_result *result, const struct planner *planner,
                    const struct weft_environment *environment)
{
    struct weft_certificate general;
    // A server's ports may be more than its peers, as they are on a switch: bounds for any fabric
    // are of all of them together.
    struct weft_cluster cluster = *planner->study->cluster;
    if (cluster.degree >= cluster.server_count) {
        cluster.rate_Bps *= cluster.degree;
        cluster.degree = 1;
    }
    if (!weft_certificate_build(&general, graph, &cluster, NULL, plan->iteration_s, environment)) {
        return false;
    }
    struct weft_bound *bounds =
        WEFT_NEW(environment->arena, struct weft_bound, general.bound_count + 1);
    uint32_t count = 0;
    for (uint32_t b = 0; b < general.bound_count; b++) {
        if (general.bounds[b].scope == WEFT_BOUND_ANY_FABRIC) {
            bounds[count++] = general.bounds[b];
        }
    }
    bounds[count] = weft_bound_named("rails-critical-path");
    bounds[count].seconds = weft_seconds(result->bound_ps);
    bounds[count].reason =
        "the task graph's critical path over circuits, with the dark time wherever two operations "
        "need a port one after the other for different peers";
    weft_certificate_conclude(&plan->certificate, bounds, count + 1, plan->iteration_s);
    if (bounds[count].seconds > plan->certificate.lower_bound_s) {
        plan->certificate.binding = count;
        plan->certificate.lower_bound_s = bounds[count].seconds;
        plan->certificate.gap_ratio = plan->iteration_s / bounds[count].seconds - 1;
    }
    return true;
}

static void price(struct weft_moving_plan *plan, const struct weft_cluster *cluster, uint32_t ports)
{
    uint64_t nics = (uint64_t)cluster->server_count * cluster->degree;
    plan->parts = (struct weft_parts){
        .nics = nics,
        .transceivers = nics,
        .ocs_ports = nics * ports,
        .rate_Bps = weft_cluster_nic_rate(cluster),
    };
    plan->cost = weft_fabric_cost(&plan->parts, &cluster->prices);
    struct weft_price_row row = weft_cluster_price_at(&cluster->prices, plan->parts.rate_Bps);
    plan->price_note = row.ocs_port_usd > 0 ? NULL : "ports of optical switches have no price";
}

// One of the plan's rails, or why it has none by itself.
static const struct weft_rail_alone *take_rail(const struct weft_taskgraph *graph,
                                               const struct weft_rail_options *options,
                                               const struct weft_environment *environment)
{
    struct weft_error why = {.code = WEFT_OK};
    struct weft_rail_alone *alone = WEFT_NEW(environment->arena, struct weft_rail_alone, 1);
    *alone = (struct weft_rail_alone){
        .rail_count = options->places,
        .port_count = options->ports,
        .rate_Bps = options->rate_Bps,
        .latency_ps = options->latency_ps,
    };
    if (graph->task_count / options->places > ALONE_TASKS_MAX) {
        weft_fail(&why, WEFT_UNSUPPORTED,
                  "a rail has %u tasks, more than the %u that are kept in a plan; plan it for "
                  "fewer servers, larger micro-batches or a smaller batch",
                  graph->task_count / options->places, ALONE_TASKS_MAX);
    } else if (weft_rail_alone(&alone->graph, graph, options->places, environment->arena,
                               environment->scratch, &why)) {
        return alone;
    }
    alone->why_not = weft_arena_text(environment->arena, why.message, strlen(why.message));
    return alone;
}

static bool finish(struct planner *planner, struct weft_arena scratch)
{
    struct weft_environment inner = *planner->environment;
    struct weft_arena own = weft_arena_split(&scratch);
    struct weft_taskgraph graph;
    struct weft_rail_result result;
    inner.scratch = scratch;
    const struct weft_rail_options options = options_of(planner, planner->found, planner->ports);
    struct weft_moving_plan plan = {.fabric = WEFT_MOVING_RAILS, .strategy = *planner->found};
    if (!weft_strategy_taskgraph(&graph, planner->found, planner->study, &own, scratch,
                                 inner.error) ||
        !weft_rail_run(&result, &graph, &options, &inner)) {
        return false;
    }
    plan.iteration_s = weft_seconds(result.iteration_ps);
    plan.still_s = weft_seconds(result.still_ps);
    plan.dark_share = result.dark_share;
    plan.change_count = result.boundary_count;
    plan.schedule = result.schedule;
    plan.alone = take_rail(&graph, &options, &inner);
    price(&plan, planner->study->cluster, planner->ports);
    if (!weft_strategy_memory(&plan.strategy, planner->study, inner.arena, scratch, inner.error) ||
        !certify(&plan, &graph, &result, planner, &inner)) {
        return false;
    }
    *planner->plan = plan;
    return true;
}

bool weft_rails_plan(struct weft_moving_plan *plan, const struct weft_study *study,
                     const struct weft_moving_options *options,
                     const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    struct weft_arena own = weft_arena_split(&scratch);
    struct planner planner = {
        .study = study,
        .options = options,
        .environment = environment,
        .plan = plan,
        .best_ps = WEFT_NEVER,
    };
    if (options->given == NULL) {
        return search(&planner, &own, scratch) && finish(&planner, scratch);
    }
    if (options->given->kind != WEFT_STRATEGY_HYBRID) {
        return weft_fail(environment->error, WEFT_INFEASIBLE,
                         "photonic rails follow the phases of hybrid parallelism, and this "
                         "strategy splits operators one by one");
    }
    if (!keeps_to_rails(&planner, options->given, scratch, environment->error)) {
        return false;
    }
    (void)offer(&planner, options->given, scratch);
    if (planner.found == NULL) {
        planner.found = options->given; // says why it cannot be replayed
        planner.ports = 1;
    }
    return finish(&planner, scratch);
}
