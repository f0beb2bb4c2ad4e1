// SPDX-License-Identifier: Apache-2.0
// Strategy and topology together: the variants, their order, and the plan at the end.
//
// The best topology depends on the strategy and the best strategy on the topology. Both are
// searched in rounds that hand the best network back to the search of strategies (as TopoOpt
// alternates, NSDI 2023, section 4.1), then changed together in small steps by the simulated
// iteration, and at last the best known gets what effort is left for its topology. The variants
// that leave out one side say what searching both is worth; one that could have found what another
// found takes it over, so that no variant is behind one that it contains. docs/co-optimisation.md.

#include "joint.h"

#include "plan/collectives/collectives.h"
#include "plan/design/packets.h"
#include "plan/design/paper.h"

#include <math.h>
#include <string.h>

// Effort for each second that is wanted: two cores are done in about that second.
#define EFFORT_RATIO 2.0
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
// Larger clusters are not simulated while a hybrid strategy is looked for.
#define HYBRID_SERVERS_MAX 128u

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

static struct weft_plan_options one_side_options(const struct coplan *coplan)
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
    struct weft_plan_options plain = one_side_options(coplan);
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
    bool built = weft_strategy_taskgraph(&graph, strategy, &coplan->study, &kept, scratch,
                                         &coplan->why_not) &&
                 weft_plan_build(plan, &graph, coplan->study.cluster, &plain, &inner);
    return built ? plan->iteration_s : HUGE_VAL;
}

// The strategy of a search on a full mesh that takes least on the paper's topology, data
// parallelism among them. The estimate alone cannot tell: of CANDLE-16's strategies that it takes
// for equals, the paper's topology makes anything between 140 and 350 ms.
static bool search_strategy(struct weft_strategy *strategy, struct coplan *coplan,
                            struct weft_arena scratch, struct weft_error *error)
{
    const struct weft_coplan_options *options = coplan->options;
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

static bool plan_one_side(struct weft_plan *plan, struct weft_plan_job *job, struct coplan *coplan,
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
    const struct weft_plan_options plain = one_side_options(coplan);
    struct weft_environment inner = *coplan->environment;
    inner.arena = arena;
    inner.scratch = scratch;
    inner.error = error;
    return weft_plan_build(plan, &job->graph, coplan->study.cluster, &plain, &inner);
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
                              .flow_s = known->score.iteration_s};
    }
    uint32_t chosen =
        packets_evaluate(finalists, count, coplan->packet_s * WORK_UNITS_PER_S, &finals->count);
    if (chosen == WEFT_NONE) { // stopped: the flow engine has decided
        finals->count = 0;
        return coplan->known[0];
    }
    finals->flow_s = finalists[chosen].flow_s;
    *score = finalists[chosen].score;
    return coplan->known[chosen];
}

// Rounds, small changes of both, the best one's topology once more; beyond MANY_SERVERS what the
// strategy alone comes to, and new topologies for the best two. Then the best known, or the best of
// those by packets, is the plan.
static bool plan_both(struct weft_plan *plan, struct weft_plan_job *job, struct coplan *coplan,
                      struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    if (!coplan_alternate(coplan, scratch, error)) {
        return false;
    }
    if (!coplan->hybrid && coplan->options->given == NULL && coplan->seconds_left > 0) {
        coplan_refine(coplan, coplan->seconds_left * REFINE_SHARE, scratch);
    }
    if (coplan->seconds_left > 0) {
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

// ---- what all come to ----

static const char *costs_text(const struct weft_cost_options *costs, struct weft_arena *arena)
{
    const char *accelerator = costs->accelerator != NULL ? costs->accelerator->name : "none";
    return costs->profile != NULL ? "profile"
                                  : weft_arena_format(arena, "roofline %s", accelerator);
}

// Share of the accelerators' peak that the model's own FLOPs (backward: twice forward) come to.
static double utilization(const struct coplan *coplan, double iteration_s)
{
    const struct weft_model *model = coplan->study.model;
    const struct weft_cost_options *costs = &coplan->study.setting->cost;
    if (model->transformer == NULL || costs->accelerator == NULL || !(iteration_s > 0)) {
        return 0;
    }
    double peak = costs->accelerator->flops_per_s[model->transformer->dtype];
    double devices = (double)coplan->study.cluster->server_count * costs->accelerators_per_server;
    double flops = 3 * model->forward_flops * (double)model->batch;
    return peak > 0 && devices > 0 ? flops / (peak * devices * iteration_s) : 0;
}

// What the plan was made for, from the model and the search; fails as the memory of the strategy
// does.
static bool fill_job(struct weft_plan *plan, struct weft_plan_job *job, const struct coplan *coplan,
                     struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    const struct weft_model *model = coplan->study.model;
    const struct weft_strategy_setting *setting = coplan->study.setting;
    const char **names = WEFT_NEW(arena, const char *, (size_t)model->operator_count + 1);
    for (uint32_t op = 0; op < model->operator_count; op++) {
        names[op] = model->operators[op].spec.name;
    }
    job->model = model->name;
    job->batch = model->batch;
    job->costs = costs_text(&setting->cost, arena);
    job->optimizer = setting->optimizer;
    job->tables = setting->tables;
    job->inside_Bps = setting->inside_Bps;
    job->memory_limit_bytes = setting->memory_limit_bytes;
    job->operator_count = coplan->hybrid ? 0 : model->operator_count;
    job->operator_names = names;
    job->flops_utilization = utilization(coplan, plan->iteration_s);
    job->variant = coplan->options->variant;
    job->evaluations = coplan->evaluations;
    double *round_s = WEFT_NEW(arena, double, (size_t)coplan->round_count + 1);
    memcpy(round_s, coplan->round_s, coplan->round_count * sizeof *round_s);
    uint32_t *round_start = WEFT_NEW(arena, uint32_t, (size_t)coplan->round_count + 1);
    memcpy(round_start, coplan->round_start, coplan->round_count * sizeof *round_start);
    job->round_start = round_start;
    job->round_s = round_s;
    job->round_count = coplan->round_count;
    job->fixed_point = coplan->fixed_point;
    plan->job = job;
    return weft_strategy_memory(&job->strategy, &coplan->study, arena, scratch, error);
}

// Puts the bounds for any strategy before those of the certificate.
static bool add_bounds(struct weft_plan *plan, const struct coplan *coplan,
                       const struct weft_environment *environment)
{
    struct weft_certificate *certificate = &plan->certificate;
    uint32_t count = coplan->hybrid ? 0 : WEFT_COPLAN_BOUND_COUNT;
    struct weft_bound *bounds =
        WEFT_NEW(environment->arena, struct weft_bound,
                 (size_t)certificate->bound_count + WEFT_COPLAN_BOUND_COUNT);
    if (!coplan->hybrid && !weft_coplan_bounds(bounds, &coplan->study, environment)) {
        return false;
    }
    memcpy(bounds + count, certificate->bounds, certificate->bound_count * sizeof *bounds);
    weft_certificate_conclude(certificate, bounds, certificate->bound_count + count,
                              plan->iteration_s);
    return true;
}

static bool check_inputs(const struct coplan *coplan, struct weft_error *error)
{
    const struct weft_cluster *cluster = coplan->study.cluster;
    if (!weft_cluster_check_direct(cluster, error)) {
        return false;
    }
    if (coplan->hybrid && cluster->server_count > HYBRID_SERVERS_MAX) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "%s on %u servers is too large to simulate (%u at most)",
                         coplan->study.model->name, cluster->server_count, HYBRID_SERVERS_MAX);
    }
    return true;
}

// Gives the progress line the time that no strategy is below.
static void report_bound(const struct coplan *coplan)
{
    struct weft_bound bounds[WEFT_COPLAN_BOUND_COUNT];
    struct weft_environment inner = *coplan->environment;
    struct weft_arena kept = weft_arena_split(&inner.scratch);
    struct weft_error why_not; // then the line goes without
    inner.arena = &kept;
    inner.error = &why_not;
    if (coplan->options->bound_ps == NULL || coplan->hybrid ||
        !weft_coplan_bounds(bounds, &coplan->study, &inner)) {
        return;
    }
    double most_s = fmax(bounds[0].seconds, bounds[1].seconds);
    atomic_store(coplan->options->bound_ps, weft_picoseconds(most_s));
}

// Plans one variant: the search of both sides or of one, then what all come to.
static bool build_variant(struct weft_plan *plan, const struct weft_study *study,
                          const struct weft_coplan_options *options,
                          const struct weft_environment *environment)
{
    struct weft_environment inner = *environment;
    struct weft_arena kept = weft_arena_split(&inner.scratch);
    struct weft_arena *arena = inner.arena;
    struct weft_coplan_options own = *options;
    double packet_s = 0; // one side alone keeps it back itself (weft_plan_build)
    if (options->variant == WEFT_COPLAN_BOTH) {
        packet_s = options->seconds * packets_share(&options->plan);
        own.seconds -= packet_s;
    }
    struct coplan coplan = {
        .study = *study,
        .options = &own,
        .environment = &inner,
        .arena = &kept,
        .hybrid = study->model->transformer != NULL && study->setting->cost.profile == NULL,
        .seconds_left = own.seconds,
        .packet_s = packet_s,
    };
    if (!check_inputs(&coplan, inner.error)) {
        return false;
    }
    report_bound(&coplan);
    struct weft_plan_job *job = WEFT_NEW(arena, struct weft_plan_job, 1);
    bool planned = options->variant == WEFT_COPLAN_BOTH
                       ? plan_both(plan, job, &coplan, arena, inner.scratch, inner.error)
                       : plan_one_side(plan, job, &coplan, arena, inner.scratch, inner.error);
    return planned && fill_job(plan, job, &coplan, arena, inner.scratch, inner.error) &&
           add_bounds(plan, &coplan, &inner);
}

// Whether all that `inner` may do, `outer` may do, too.
static bool contains(enum weft_coplan_variant outer, enum weft_coplan_variant inner)
{
    return outer == WEFT_COPLAN_BOTH || inner == WEFT_COPLAN_DATA_PARALLEL || outer == inner;
}

// Measures all variants. One that could have found what another one found takes that for its own,
// the plan asked for, too: `plan` is then built anew, as networks cannot be moved.
static bool measure_variants(struct weft_plan *plan, const struct weft_study *study,
                             const struct weft_coplan_options *asked,
                             const struct weft_environment *environment)
{
    double found_s[WEFT_COPLAN_VARIANT_COUNT] = {0};
    double variant_s[WEFT_COPLAN_VARIANT_COUNT] = {0};
    found_s[asked->variant] = plan->iteration_s;
    enum weft_coplan_variant best = asked->variant;
    struct weft_coplan_options one_sided = *asked;
    for (enum weft_coplan_variant v = 0; v < WEFT_COPLAN_VARIANT_COUNT; v++) {
        struct weft_environment inner = *environment;
        struct weft_arena upper = weft_arena_split(&inner.scratch);
        struct weft_plan *other = WEFT_NEW(&upper, struct weft_plan, 1);
        struct weft_error why_not; // then its time stays 0
        inner.arena = &upper;
        inner.error = &why_not;
        one_sided.variant = v;
        if (v != asked->variant && build_variant(other, study, &one_sided, &inner)) {
            found_s[v] = other->iteration_s;
            best = contains(asked->variant, v) && found_s[v] < found_s[best] ? v : best;
        }
    }
    for (enum weft_coplan_variant v = 0; v < WEFT_COPLAN_VARIANT_COUNT; v++) {
        variant_s[v] = found_s[v];
        for (enum weft_coplan_variant in = 0; found_s[v] > 0 && in < WEFT_COPLAN_VARIANT_COUNT;
             in++) {
            bool better = found_s[in] > 0 && found_s[in] < variant_s[v];
            variant_s[v] = better && contains(v, in) ? found_s[in] : variant_s[v];
        }
    }
    const struct weft_plan_job *before = plan->job;
    one_sided.variant = best;
    if (best != asked->variant && !build_variant(plan, study, &one_sided, environment)) {
        return false;
    }
    struct weft_plan_job *job = WEFT_NEW(environment->arena, struct weft_plan_job, 1);
    *job = *plan->job;
    if (best != asked->variant) {
        job->variant = asked->variant;
        job->evaluations += before->evaluations;
        job->round_count = before->round_count;
        job->round_start = before->round_start;
        job->round_s = before->round_s;
        job->fixed_point = false;
    }
    memcpy(job->variant_s, variant_s, sizeof variant_s);
    plan->job = job;
    return true;
}

bool weft_coplan_build(struct weft_plan *plan, const struct weft_study *study,
                       const struct weft_coplan_options *options,
                       const struct weft_environment *environment)
{
    struct weft_coplan_options asked = *options;
    asked.seconds = EFFORT_RATIO * (options->seconds > 0 ? options->seconds : WEFT_COPLAN_SECONDS);
    asked.search.seed = environment->seed;
    asked.search.threads = environment->threads;
    asked.search.stop = environment->stop;
    if (!build_variant(plan, study, &asked, environment)) {
        return false;
    }
    return !options->all_variants || measure_variants(plan, study, &asked, environment);
}

const char *weft_coplan_variant_name(enum weft_coplan_variant variant)
{
    static const char *const names[WEFT_COPLAN_VARIANT_COUNT] = {
        [WEFT_COPLAN_BOTH] = "both",
        [WEFT_COPLAN_STRATEGY] = "strategy",
        [WEFT_COPLAN_TOPOLOGY] = "topology",
        [WEFT_COPLAN_DATA_PARALLEL] = "data-parallel",
    };
    WEFT_ASSERT((unsigned)variant < WEFT_COPLAN_VARIANT_COUNT);
    return names[variant];
}
