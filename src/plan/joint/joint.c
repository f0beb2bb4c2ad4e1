// SPDX-License-Identifier: Apache-2.0
// Strategy and topology together: one side alone, both, and the plan at the end.
//
// The best topology depends on the strategy and the best strategy on the topology. Both are
// searched in rounds that hand the best network back to the search of strategies (as TopoOpt
// alternates, NSDI 2023, section 4.1), then changed together in small steps by the simulated
// iteration, and at last the best known gets what effort is left for its topology.
// docs/co-optimisation.md.

#include "joint.h"

#include "plan/build.h"
#include "plan/collectives/collectives.h"
#include "plan/design/packets.h"
#include "plan/design/paper.h"

#include <math.h>
#include <string.h>

// The share of what is left after the rounds that small changes of both get; the rest is for the
// topology of the best.
#define REFINE_SHARE 0.92
// Beyond so many servers, the best strategies get their topologies searched anew at the end, each
// with so much of the effort on top.
#define MANY_SERVERS 64u
#define FINALISTS_MANY 2u
#define FINALIST_SHARE 1.25
// Strategies that the paper's topology is found for where that takes long: of transformers, and of
// many servers.
#define CHOSEN_FEW 4u

// ---- one side alone ----

static bool take_data_parallel(struct weft_strategy *strategy, struct coplan *coplan,
                               struct weft_arena scratch, struct weft_error *error)
{
    coplan->evaluations++;
    if (coplan->hybrid) {
        return weft_hybrid_data_parallel(strategy, &coplan->study, coplan->arena, scratch, error);
    }
    return weft_strategy_data_parallel(strategy, &coplan->study, coplan->arena, error) &&
           weft_strategy_memory(strategy, &coplan->study, coplan->arena, scratch, error);
}

struct weft_plan_options coplan_one_side(const struct coplan *coplan)
{
    const struct weft_coplan_options *options = coplan->options;
    struct weft_plan_options plain = options->plan;
    bool searched = options->variant == WEFT_COPLAN_TOPOLOGY;
    plain.topology.method = searched ? WEFT_TOPOLOGY_WEFT : WEFT_TOPOLOGY_TOPOOPT;
    plain.topology.seconds = searched ? options->seconds : options->seconds / 2;
    return plain;
}

// What a strategy takes on the paper's topology; HUGE_VAL where it has none.
static double measure_paper(struct coplan *coplan, const struct weft_strategy *strategy,
                            double seconds, struct weft_arena scratch)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_plan_options plain = coplan_one_side(coplan);
    plain.topology.seconds = seconds;
    plain.collectives = WEFT_PLAN_RINGS;
    plain.last_sim = NULL;
    struct weft_plan *plan = WEFT_NEW(&kept, struct weft_plan, 1);
    struct weft_taskgraph graph;
    coplan->evaluations++;
    struct weft_environment inner = *coplan->environment;
    inner.arena = &kept;
    inner.scratch = scratch;
    inner.error = &coplan->why_not;
    coplan_turn_to(coplan, strategy);
    // Of both sides, this topology is offered when the best such strategy is known.
    struct incumbent *incumbent =
        coplan->options->variant == WEFT_COPLAN_STRATEGY ? coplan->incumbent : NULL;
    bool built = weft_strategy_taskgraph(&graph, strategy, &coplan->study, &kept, scratch,
                                         &coplan->why_not) &&
                 plan_build(plan, &graph, coplan->study.cluster, &plain, incumbent, &inner);
    return built ? plan->iteration_s : HUGE_VAL;
}

// The strategy of a search on a full mesh that takes least on the paper's topology, data
// parallelism among them. The estimate alone cannot tell: of CANDLE-16's strategies that it takes
// for equals, the paper's topology makes anything between 140 and 350 ms.
static bool search_strategy(struct weft_strategy *strategy, struct coplan *coplan,
                            struct weft_arena scratch, struct weft_error *error)
{
    const struct weft_coplan_options *options = coplan->options;
    if (options->given != NULL) {
        *strategy = *options->given;
        return true;
    }
    uint32_t count = coplan->hybrid || coplan->study.cluster->server_count > MANY_SERVERS
                         ? CHOSEN_FEW
                         : CHOSEN_MAX;
    struct strategy_request request = {.network = options->reference, .options = options->search};
    request.options.seconds = options->seconds / 2;
    request.options.keep = coplan_keep(count, coplan);
    struct weft_search_result result;
    if (!coplan_search(&result, coplan, &request, coplan->arena, scratch, error)) {
        return false;
    }
    const struct weft_strategy *chosen[CHOSEN_MAX + BRANCHES_MAX + 1];
    count = coplan_choose(chosen, count, &result, coplan);
    struct weft_strategy branches[BRANCHES_MAX];
    uint32_t branch_count = coplan_branches(branches, coplan, coplan->arena, scratch);
    for (uint32_t i = 0; i < branch_count; i++) {
        chosen[count++] = &branches[i];
    }
    struct weft_strategy plain;
    struct weft_error why_not; // then it is none of them
    if (take_data_parallel(&plain, coplan, scratch, &why_not)) {
        chosen[count++] = &plain;
    }
    double seconds = options->seconds / (2.0 * count);
    double best_s = HUGE_VAL;
    *strategy = *chosen[0];
    for (uint32_t i = 0; i < count && !weft_stopped(options->search.stop); i++) {
        double iteration_s = measure_paper(coplan, chosen[i], seconds, scratch);
        if (iteration_s < best_s) {
            best_s = iteration_s;
            *strategy = *chosen[i];
        }
    }
    return true;
}

bool coplan_plan_one_side(struct weft_plan *plan, struct weft_plan_job *job, struct coplan *coplan,
                          struct weft_arena *arena, struct weft_arena scratch,
                          struct weft_error *error)
{
    const struct weft_coplan_options *options = coplan->options;
    struct weft_strategy strategy;
    bool searched = options->variant == WEFT_COPLAN_STRATEGY;
    if (!(searched ? search_strategy(&strategy, coplan, scratch, error)
                   : take_data_parallel(&strategy, coplan, scratch, error))) {
        return false;
    }
    job->strategy = coplan_copy(&strategy, coplan->study.model->operator_count, arena);
    if (!weft_strategy_taskgraph(&job->graph, &job->strategy, &coplan->study, arena, scratch,
                                 error)) {
        return false;
    }
    const struct weft_plan_options plain = coplan_one_side(coplan);
    struct weft_environment inner = *coplan->environment;
    inner.arena = arena;
    inner.scratch = scratch;
    inner.error = error;
    coplan_turn_to(coplan, &strategy);
    return plan_build(plan, &job->graph, coplan->study.cluster, &plain, coplan->incumbent, &inner);
}

// ---- both ----

void coplan_know_alone(struct coplan *coplan, struct weft_arena scratch)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_strategy strategy;
    struct weft_taskgraph graph;
    struct weft_error why_not; // then it is none of them
    if (!search_strategy(&strategy, coplan, scratch, &why_not) ||
        !weft_strategy_taskgraph(&graph, &strategy, &coplan->study, &kept, scratch, &why_not)) {
        return;
    }
    struct weft_traffic traffic;
    weft_traffic_build(&traffic, &graph, &kept, scratch);
    struct search search = method_open(&graph, &traffic, coplan->study.cluster,
                                       &coplan->options->plan, coplan->environment);
    struct weft_design design;
    if (method_paper_design(&design, &search, &kept, scratch) == 0) {
        return;
    }
    double most = coplan->options->seconds / 2 * WORK_UNITS_PER_S;
    double spent = 0;
    for (uint32_t i = 0; i < PAPER_PATH_COUNTS && paper_affords(i, spent, most); i++) {
        design.finder_paths = paper_path_counts[i];
        spent += coplan_adopt(coplan, &strategy, &design, true, scratch);
    }
}

// Where servers are many, the rounds see few topologies of each strategy: more for the best of
// them.
static void wire_finalists(struct coplan *coplan, struct weft_arena scratch)
{
    struct coplan_candidate *finalists[FINALISTS_MANY];
    uint32_t count = coplan->known_count < FINALISTS_MANY ? coplan->known_count : FINALISTS_MANY;
    memcpy(finalists, coplan->known, count * sizeof *finalists); // the order may change
    for (uint32_t i = 0; i < count && !weft_stopped(coplan->environment->stop); i++) {
        coplan_wire(coplan, finalists[i], coplan->options->seconds * FINALIST_SHARE, scratch);
    }
}

// Evaluates the best known by packets, one design of each strategy. Returns the best of them by
// packets, and its score with what the plan notes of it.
static struct coplan_candidate *evaluate_known(struct score *score, struct weft_plan_finals *finals,
                                               const struct coplan *coplan,
                                               struct weft_arena scratch)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    struct finalist *finalists = WEFT_NEW(&kept, struct finalist, FINALISTS_MAX);
    uint32_t count = coplan->known_count < FINALISTS_MAX ? coplan->known_count : FINALISTS_MAX;
    for (uint32_t i = 0; i < count; i++) {
        const struct coplan_candidate *known = coplan->known[i];
        finalists[i] =
            (struct finalist){.search = packets_open(&known->search, &coplan->options->plan),
                              .design = known->design,
                              .flow = known->score};
        if (coplan->incumbent != NULL) {
            coplan_turn_to(coplan, &known->strategy);
            finalists[i].now = coplan->incumbent->now;
        }
    }
    uint32_t chosen =
        packets_evaluate(finalists, count, coplan->packet_s * WORK_UNITS_PER_S, &finals->count);
    if (chosen == WEFT_NONE) { // stopped: the flow engine has decided
        finals->count = 0;
        return coplan->known[0];
    }
    finals->flow_s = finalists[chosen].flow.iteration_s;
    *score = finalists[chosen].score;
    return coplan->known[chosen];
}

// Rounds, small changes of both, the best one's topology once more; beyond MANY_SERVERS what the
// strategy alone comes to, and new topologies for the best two. Then the best known, or the best of
// those by packets, is the plan.
bool coplan_plan_both(struct weft_plan *plan, struct weft_plan_job *job, struct coplan *coplan,
                      struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    if (!coplan_alternate(coplan, scratch, error)) {
        return false;
    }
    if (!coplan->hybrid && coplan->options->given == NULL && coplan->seconds_left > 0) {
        coplan_refine(coplan, coplan->seconds_left * REFINE_SHARE, scratch);
    }
    // Where designs are screened a second search would find the same.
    if (coplan->seconds_left > 0 && coplan->study.cluster->server_count < SCREENED_SERVERS_MIN) {
        coplan_wire(coplan, coplan->known[0], coplan->seconds_left, scratch);
    }
    if (!coplan->hybrid && coplan->study.cluster->server_count > MANY_SERVERS) {
        if (coplan->options->given == NULL && !weft_stopped(coplan->environment->stop)) {
            coplan_know_alone(coplan, scratch);
        }
        wire_finalists(coplan, scratch);
    }
    struct coplan_candidate *best = coplan->known[0];
    struct score score = best->score;
    struct weft_plan_finals finals = {0};
    if (coplan->packet_s > 0) {
        best = evaluate_known(&score, &finals, coplan, scratch);
    }
    job->strategy = coplan_copy(&best->strategy, coplan->study.model->operator_count, arena);
    if (!weft_strategy_taskgraph(&job->graph, &job->strategy, &coplan->study, arena, scratch,
                                 error)) {
        return false;
    }
    struct search search =
        finals.count > 0 ? packets_open(&best->search, &coplan->options->plan) : best->search;
    search.graph = &job->graph;
    *plan = (struct weft_plan){.cluster = *coplan->study.cluster,
                               .method = WEFT_TOPOLOGY_WEFT,
                               .seed = coplan->environment->seed,
                               .sim = search.sim,
                               .iteration_s = score.iteration_s,
                               .finals = finals};
    bool published = method_publish(plan, &search, &best->design, arena, scratch);
    WEFT_ASSERT(published); // it was simulated
    if (coplan->options->plan.collectives == WEFT_PLAN_BEST) {
        collectives_choose(plan, &search, coplan->options->seconds * WORK_UNITS_PER_S, arena,
                           scratch);
    }
    return collectives_finish(plan, &search, arena, scratch, error);
}
