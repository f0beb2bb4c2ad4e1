// SPDX-License-Identifier: Apache-2.0
// The plan of a task graph: its network by the paper's method or by search, what its collectives
// run as, its metrics and its certificate.
//
// Both methods are measured by the simulated iteration and end as the same value: a network, an
// iteration time and what follows from them (collectives_finish, which ends the joint search of a
// model's plan as well). docs/plan.md describes the whole.

#include "plan/build.h"

#include "plan/collectives/collectives.h"
#include "plan/design/method.h"
#include "plan/design/packets.h"
#include "plan/design/paper.h"

#include <math.h>
#include <string.h>

// The effort where none is asked for.
#define SECONDS_DEFAULT 2.0

// Beyond these, packed trees have more transfers than a choice may, or few chunks. And an iteration
// this near to its bound is as good as any (as in design/method.c).
#define TREES_SERVERS_MAX 64u
#define GOOD_RATIO 1e-4

// ---- the weft method ----

// The effort of a search, in seconds: of the flow engine, and for packets at its end.
struct effort {
    double flow_s;
    double packet_s;           // 0: the flow engine decides
    const struct search *last; // what is simulated then
};

// Puts what packets say of the designs that the search ended with into the plan, and the best into
// its place; `ends` has at least one.
static void evaluate_ends(struct weft_plan *plan, struct scored_design *best,
                          const struct design_ends *ends, const struct effort *effort,
                          struct weft_arena scratch)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    struct finalist *finalists = WEFT_NEW(&kept, struct finalist, DESIGN_ENDS_MAX);
    for (uint32_t i = 0; i < ends->count; i++) {
        finalists[i] = (struct finalist){
            .search = *effort->last,
            .design = ends->list[i].design,
            .flow = ends->list[i].score,
        };
        if (effort->last->incumbent != NULL) {
            finalists[i].now = effort->last->incumbent->now;
        }
    }
    uint32_t chosen = packets_evaluate(finalists, ends->count, effort->packet_s * WORK_UNITS_PER_S,
                                       &plan->finals.count);
    if (chosen == WEFT_NONE) { // stopped: the flow engine has decided
        plan->finals.count = 0;
        return;
    }
    plan->finals.flow_s = finalists[chosen].flow.iteration_s;
    plan->sim = effort->last->sim;
    *best = (struct scored_design){ends->list[chosen].design, finalists[chosen].score};
}

static bool plan_weft(struct weft_plan *plan, const struct search *search,
                      const struct effort *effort, struct weft_arena *arena,
                      struct weft_arena scratch, struct weft_error *error)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    struct scored_design best;
    struct design_ends *ends = WEFT_NEW(&kept, struct design_ends, 1);
    struct search own = *search;
    own.ends = effort->packet_s > 0 ? ends : NULL;
    bool found = method_search(&best, &own, effort->flow_s, NULL, &kept, scratch);
    if (found && ends->count > 0) {
        evaluate_ends(plan, &best, ends, effort, scratch);
    }
    if (!found || !method_publish(plan, search, &best.design, arena, scratch)) {
        return weft_fail(error, WEFT_INFEASIBLE, "no fabric of %u %s a server connects %u servers",
                         search->cluster->degree, search->cluster->degree == 1 ? "port" : "ports",
                         search->cluster->server_count);
    }
    plan->iteration_s = best.score.iteration_s;
    return true;
}

// ---- the paper's method ----

// Offers the paper's topology with so many paths a pair.
static void offer_paper(const struct search *search, uint32_t paths, const struct offer *offer,
                        struct weft_arena scratch)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_design design;
    if (search->incumbent != NULL && offer->score.iteration_s < HUGE_VAL &&
        method_paper_design(&design, search, &kept, scratch) > 0) {
        design.finder_paths = paths;
        incumbent_offer(search->incumbent, &design, offer);
    }
}

// The topology as it is, with the number of paths a pair that takes least: 1, 2, 4 and 8 are tried
// while the effort affords it. Few as they are, packets play them all where they decide.
static bool plan_topoopt(struct weft_plan *plan, const struct search *search,
                         const struct effort *effort, struct weft_arena *arena,
                         struct weft_arena scratch, struct weft_error *error)
{
    double most = (effort->flow_s + effort->packet_s) * WORK_UNITS_PER_S;
    bool by_packets = effort->packet_s > 0;

    if (!paper_topology(&plan->topology, search, arena, scratch, error) ||
        !paper_fabric(&plan->network, &plan->topology, search, arena, scratch, error)) {
        return false;
    }
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_routes best = {.kind = WEFT_ROUTES_TABLE};
    double best_s = HUGE_VAL;
    double spent = 0;
    for (uint32_t i = 0; i < PAPER_PATH_COUNTS; i++) {
        if (!paper_affords(i, spent, most) || (i > 0 && weft_stopped(search->stop))) {
            break;
        }
        struct weft_network *network = &plan->network;
        const struct weft_environment environment =
            search_environment(search, arena, scratch, error);
        if (!paper_routes(network, &plan->topology, search, paper_path_counts[i], &environment)) {
            return false;
        }
        struct offer offer = {.score = {HUGE_VAL, 0}};
        struct score score = search_simulate_ties(&offer.ties, search, network, &kept, scratch);
        double flow_s = score.iteration_s;
        spent += score.work_units;
        incumbent_work(search->incumbent, score.work_units);
        offer.score = score;
        offer_paper(search, paper_path_counts[i], &offer, scratch);
        if (by_packets) {
            offer.flow_units = score.work_units;
            score = search_simulate(effort->last, network, false, scratch);
            spent += score.work_units;
            plan->finals.count++;
            plan->sim = effort->last->sim;
            incumbent_work(search->incumbent, score.work_units);
            offer = (struct offer){.score = score,
                                   .finals = {.count = plan->finals.count, .flow_s = flow_s},
                                   .flow_units = offer.flow_units};
            offer_paper(search, paper_path_counts[i], &offer, scratch);
        }
        if (i == 0 || score.iteration_s < best_s) {
            best_s = score.iteration_s;
            best = network->routes;
            plan->finals.flow_s = by_packets ? flow_s : 0;
        }
    }
    plan->network.routes = best;
    plan->iteration_s = best_s;
    if (best_s == HUGE_VAL) {
        return weft_fail(error, WEFT_INFEASIBLE, "the paper's topology does not connect all pairs");
    }
    return true;
}

// ---- both ----

static bool check_inputs(const struct weft_taskgraph *graph, const struct weft_cluster *cluster,
                         struct weft_error *error)
{
    if (!weft_cluster_check_direct(cluster, error)) {
        return false;
    }
    if (graph->server_count != cluster->server_count) {
        return weft_fail(error, WEFT_INPUT,
                         "the task graph is for %u servers, but the cluster has %u; plan for a "
                         "cluster of %u",
                         graph->server_count, cluster->server_count, graph->server_count);
    }
    if (graph->task_count == 0) {
        return weft_fail(error, WEFT_INPUT, "the task graph has no tasks; there is no iteration");
    }
    return true;
}

// The largest bound for any collectives: an iteration this short cannot be beaten by another choice
// of them.
static double least_iteration(const struct weft_certificate *certificate)
{
    double least_s = 0;
    for (uint32_t i = 0; i < certificate->bound_count; i++) {
        const struct weft_bound *bound = &certificate->bounds[i];
        bool holds = weft_bound_may_bind(bound) && bound->any_collectives;
        least_s = holds ? fmax(least_s, bound->seconds) : least_s;
    }
    return least_s;
}

// Plans once more for AllReduces along packed trees, which the network that is best for rings may
// not suit: a member that has much to send besides is a leaf there, and rings make no leaves. Takes
// the new plan if it is shorter. The same effort again; of many servers nothing, since only trees
// of few transfers are played.
static void plan_for_trees(struct weft_plan *plan, const struct search *search, double seconds,
                           struct weft_arena *arena, struct weft_arena scratch)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_collective_choice *choices = NULL;
    struct weft_certificate certificate;
    struct weft_error error; // then the first plan stays
    struct search own = *search;
    const struct weft_environment inner = search_environment(search, &kept, scratch, &error);
    own.incumbent = NULL; // whoever leaves the search now gets the first plan
    own.choice_count = collectives_pack(&choices, search, &kept);
    own.choices = choices;
    if (own.choice_count == 0 || search->cluster->server_count > TREES_SERVERS_MAX ||
        !weft_certificate_build(&certificate, search->graph, search->cluster, NULL, 0, &inner)) {
        return;
    }
    own.good_enough_s = least_iteration(&certificate) * (1 + GOOD_RATIO);
    struct weft_plan other = *plan;
    struct scored_design best;
    if (plan->iteration_s <= own.good_enough_s ||
        !method_search(&best, &own, seconds, NULL, &kept, scratch) ||
        best.score.iteration_s >= plan->iteration_s ||
        !method_publish(&other, &own, &best.design, arena, scratch)) {
        return;
    }
    other.iteration_s = search_simulate(search, &other.network, false, scratch).iteration_s;
    collectives_choose(&other, search, seconds * WORK_UNITS_PER_S, arena, scratch);
    if (other.iteration_s < plan->iteration_s) {
        plan_move(plan, &other);
    }
}

bool plan_build(struct weft_plan *plan, const struct weft_taskgraph *graph,
                const struct weft_cluster *cluster, const struct weft_plan_options *options,
                struct incumbent *incumbent, const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_arena scratch = environment->scratch;
    struct weft_error *error = environment->error;
    if (!check_inputs(graph, cluster, error)) {
        return false;
    }
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_traffic traffic;
    weft_traffic_build(&traffic, graph, &kept, scratch);
    const struct weft_topology_options *wanted = &options->topology;
    struct search search = method_open(graph, &traffic, cluster, options, environment);
    search.incumbent = incumbent;
    if (wanted->method == WEFT_TOPOLOGY_WEFT) { // the other one offers what it tries, at once
        method_offer_first(&search, scratch);
        if (!method_bound(&search, scratch, error)) {
            return false;
        }
    }
    double seconds = wanted->seconds > 0 ? wanted->seconds : SECONDS_DEFAULT;
    double share = packets_share(options);
    const struct search last = share > 0 ? packets_open(&search, options) : search;
    const struct effort effort = {seconds * (1 - share), seconds * share, &last};
    *plan = (struct weft_plan){.cluster = *cluster,
                               .method = wanted->method,
                               .seed = environment->seed,
                               .sim = search.sim};
    bool found = wanted->method == WEFT_TOPOLOGY_TOPOOPT
                     ? plan_topoopt(plan, &search, &effort, arena, scratch, error)
                     : plan_weft(plan, &search, &effort, arena, scratch, error);
    if (found && options->collectives == WEFT_PLAN_BEST) {
        bool by_packets = plan->finals.count > 0;
        collectives_choose(plan, by_packets ? &last : &search, seconds * WORK_UNITS_PER_S, arena,
                           scratch);
        if (wanted->method == WEFT_TOPOLOGY_WEFT && !by_packets) {
            plan_for_trees(plan, &search, seconds, arena, scratch);
        }
    }
    return found && collectives_finish(plan, &search, arena, scratch, error);
}

// ---- searches that are left ----

bool plan_fill(struct weft_plan *plan, const struct plan_subject *subject,
               const struct finding *finding, const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_traffic traffic;
    weft_traffic_build(&traffic, subject->graph, &kept, scratch);
    const struct search search =
        method_open(subject->graph, &traffic, subject->cluster, subject->options, environment);
    const struct offer *offer = &finding->offer;
    bool judged = offer->finals.count > 0;
    *plan =
        (struct weft_plan){.cluster = *subject->cluster,
                           .method = subject->method,
                           .seed = environment->seed,
                           .sim = judged ? packets_open(&search, subject->options).sim : search.sim,
                           .iteration_s = offer->score.iteration_s,
                           .finals = offer->finals,
                           .ties = offer->ties};
    bool published = method_publish(plan, &search, &finding->design, environment->arena, scratch);
    WEFT_ASSERT(published); // it was simulated
    return collectives_finish(plan, &search, environment->arena, scratch, environment->error);
}

// A plan that is being searched for, as its guard holds it.
struct undertaking {
    struct weft_plan *plan;
    const struct plan_subject *subject;
    const struct weft_environment *environment;
    struct incumbent incumbent;
};

static bool undertake(void *context)
{
    struct undertaking *own = context;
    return plan_build(own->plan, own->subject->graph, own->subject->cluster, own->subject->options,
                      &own->incumbent, own->environment);
}

// Nothing stops this; it is done when the search was stopped.
static bool finish(struct weft_plan *plan, const struct incumbent *incumbent,
                   const struct finding *finding, struct weft_arena *arena,
                   struct weft_error *error)
{
    const struct undertaking *own = incumbent->context;
    struct weft_environment inner = *own->environment;
    inner.arena = arena;
    inner.scratch = incumbent->scratch;
    inner.stop = NULL;
    inner.error = error;
    return plan_fill(plan, own->subject, finding, &inner);
}

bool weft_plan_build(struct weft_plan *plan, const struct weft_taskgraph *graph,
                     const struct weft_cluster *cluster, const struct weft_plan_options *options,
                     const struct weft_environment *environment)
{
    const struct plan_subject subject = {graph, cluster, options, options->topology.method};
    struct weft_environment inner = *environment;
    struct weft_arena kept = weft_arena_split(&inner.scratch);
    double seconds = options->topology.seconds;
    struct undertaking own = {.plan = plan, .subject = &subject, .environment = &inner};
    own.incumbent = incumbent_open(options, seconds > 0 ? seconds : SECONDS_DEFAULT, inner.stop,
                                   inner.arena, &kept);
    own.incumbent.finish = finish;
    own.incumbent.context = &own;
    return incumbent_run(plan, &own.incumbent, undertake, &own, inner.error);
}
