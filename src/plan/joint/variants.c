// SPDX-License-Identifier: Apache-2.0
// The variants of a joint search: how one is run and left, what all come to, all beside each other.
//
// The variants that leave out one side say what searching both is worth; one that could have found
// what another found takes it over, so that no variant is behind one that it contains.
// docs/co-optimisation.md.

#include "joint.h"

#include "plan/build.h"
#include "plan/design/packets.h"

#include <math.h>
#include <string.h>

// Effort for each second that is wanted: two cores are done in about that second.
#define EFFORT_RATIO 2.0
// Larger clusters are not simulated while a hybrid strategy is looked for: beyond, n^2 bytes of
// demand, once for each strategy known, take more than 4 GB.
#define HYBRID_SERVERS_MAX 4096u

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

// ---- a variant, and leaving it ----

// A variant that is being searched for, as its guard holds it.
struct undertaking {
    struct weft_plan *plan;
    struct coplan *coplan;
    struct incumbent incumbent;
};

// The search of both sides or of one, then what all come to.
static bool undertake(void *context)
{
    struct undertaking *own = context;
    struct coplan *coplan = own->coplan;
    const struct weft_environment *environment = coplan->environment;
    struct weft_arena *arena = environment->arena;
    struct weft_arena scratch = environment->scratch;
    report_bound(coplan);
    struct weft_plan_job *job = WEFT_NEW(arena, struct weft_plan_job, 1);
    bool planned =
        coplan->options->variant == WEFT_COPLAN_BOTH
            ? coplan_plan_both(own->plan, job, coplan, arena, scratch, environment->error)
            : coplan_plan_one_side(own->plan, job, coplan, arena, scratch, environment->error);
    return planned && fill_job(own->plan, job, coplan, arena, scratch, environment->error) &&
           add_bounds(own->plan, coplan, environment);
}

// The plan of a finding: its strategy's task graph, its network, and what all come to. Nothing
// stops this; it may be done when the search was stopped.
static bool finish(struct weft_plan *plan, const struct incumbent *incumbent,
                   const struct finding *finding, struct weft_arena *arena,
                   struct weft_error *error)
{
    const struct undertaking *own = incumbent->context;
    struct coplan coplan = *own->coplan;
    struct weft_environment inner = *coplan.environment;
    inner.arena = arena;
    inner.scratch = incumbent->scratch;
    inner.stop = NULL;
    inner.error = error;
    coplan.environment = &inner;
    coplan.incumbent = NULL;
    coplan.evaluations = finding->evaluations;
    coplan.round_count = finding->round_count;
    coplan.fixed_point = finding->fixed_point;
    struct weft_plan_job *job = WEFT_NEW(arena, struct weft_plan_job, 1);
    job->strategy = coplan_copy(&finding->strategy, coplan.study.model->operator_count, arena);
    const struct plan_subject subject = {&job->graph, coplan.study.cluster, &coplan.options->plan,
                                         coplan.options->variant == WEFT_COPLAN_BOTH
                                             ? WEFT_TOPOLOGY_WEFT
                                             : coplan_one_side(&coplan).topology.method};
    return weft_strategy_taskgraph(&job->graph, &job->strategy, &coplan.study, arena, inner.scratch,
                                   error) &&
           plan_fill(plan, &subject, finding, &inner) &&
           fill_job(plan, job, &coplan, arena, inner.scratch, error) &&
           add_bounds(plan, &coplan, &inner);
}

// Plans one variant; where its search is left, the plan is the best until then. *published says how
// many there were.
static bool build_variant(struct weft_plan *plan, uint64_t *published,
                          const struct weft_study *study, const struct weft_coplan_options *options,
                          const struct weft_environment *environment)
{
    struct weft_environment inner = *environment;
    struct weft_arena kept = weft_arena_split(&inner.scratch);
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
    weft_tally_begin(own.tally, (uint64_t)(1e3 * own.seconds));
    if (!check_inputs(&coplan, inner.error)) {
        return false;
    }
    struct undertaking undertaking = {.plan = plan, .coplan = &coplan};
    undertaking.incumbent = incumbent_open(&options->plan, options->seconds / EFFORT_RATIO,
                                           inner.stop, inner.arena, &inner.scratch);
    undertaking.incumbent.finish = finish;
    undertaking.incumbent.context = &undertaking;
    coplan.incumbent = &undertaking.incumbent;
    bool built = incumbent_run(plan, &undertaking.incumbent, undertake, &undertaking, inner.error);
    *published = undertaking.incumbent.count;
    return built;
}

// Whether all that `inner` may do, `outer` may do, too.
static bool contains(enum weft_coplan_variant outer, enum weft_coplan_variant inner)
{
    return outer == WEFT_COPLAN_BOTH || inner == WEFT_COPLAN_DATA_PARALLEL || outer == inner;
}

// What measuring all variants works on.
struct comparison {
    struct weft_plan *plan; // of the variant that was requested
    const struct weft_study *study;
    const struct weft_coplan_options *asked;
    const struct weft_environment *environment;
};

// Measures all variants. One that could have found what another one found takes that for its own,
// the plan asked for, too: it is then built anew, and put into its place when it is whole.
static bool measure_variants(void *context)
{
    const struct comparison *comparison = context;
    struct weft_plan *plan = comparison->plan;
    const struct weft_study *study = comparison->study;
    const struct weft_coplan_options *asked = comparison->asked;
    const struct weft_environment *environment = comparison->environment;
    double found_s[WEFT_COPLAN_VARIANT_COUNT] = {0};
    double variant_s[WEFT_COPLAN_VARIANT_COUNT] = {0};
    found_s[asked->variant] = plan->iteration_s;
    enum weft_coplan_variant best = asked->variant;
    struct weft_coplan_options one_sided = *asked;
    uint64_t published;
    for (enum weft_coplan_variant v = 0; v < WEFT_COPLAN_VARIANT_COUNT; v++) {
        struct weft_environment inner = *environment;
        struct weft_arena upper = weft_arena_split(&inner.scratch);
        struct weft_plan *other = WEFT_NEW(&upper, struct weft_plan, 1);
        struct weft_error why_not; // then its time stays 0
        inner.arena = &upper;
        inner.error = &why_not;
        one_sided.variant = v;
        if (v != asked->variant && build_variant(other, &published, study, &one_sided, &inner)) {
            weft_poll(); // what was left is no measure
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
    struct weft_plan *shortest = plan;
    one_sided.variant = best;
    if (best != asked->variant) {
        shortest = WEFT_NEW(environment->arena, struct weft_plan, 1);
        if (!build_variant(shortest, &published, study, &one_sided, environment)) {
            return false;
        }
        weft_poll();
    }
    struct weft_plan_job *job = WEFT_NEW(environment->arena, struct weft_plan_job, 1);
    *job = *shortest->job;
    if (best != asked->variant) {
        job->variant = asked->variant;
        job->evaluations += plan->job->evaluations;
        job->round_count = plan->job->round_count;
        job->round_start = plan->job->round_start;
        job->round_s = plan->job->round_s;
        job->fixed_point = false;
        plan_move(plan, shortest);
    }
    memcpy(job->variant_s, variant_s, sizeof variant_s);
    plan->job = job;
    return true;
}

// The other variants beside a plan; where they are left, it stands as it is. It counts as one more
// publication than its own search made.
static bool add_variants(struct weft_plan *plan, uint64_t published, const struct weft_study *study,
                         const struct weft_coplan_options *asked,
                         const struct weft_environment *environment)
{
    struct weft_coplan_options others = *asked;
    others.plan.published_most = 0;
    struct comparison comparison = {plan, study, &others, environment};
    const struct weft_plan_cut cut = {asked->seconds / EFFORT_RATIO, published + 1};
    if (asked->plan.published_most == cut.published) {
        plan->cut = cut;
        return true;
    }
    if (weft_guard_until(measure_variants, &comparison, environment->stop, environment->error)) {
        return true;
    }
    if (environment->error->code != WEFT_STOPPED) {
        return false;
    }
    *environment->error = (struct weft_error){.code = WEFT_OK};
    plan->cut = cut;
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
    uint64_t published;
    return build_variant(plan, &published, study, &asked, environment) &&
           (!options->all_variants || plan->cut.published > 0 ||
            add_variants(plan, published, study, &asked, environment));
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
