// SPDX-License-Identifier: Apache-2.0
// The search of SiP-ML: every global batch, every number of replicas, every rule of splitting and
// placing, by the list schedule's estimate; the best few are played, and the least time to accuracy
// wins. The released code loops so too, with an estimate of 0.

#include "sip.h"
#include "weft/plan/sip.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCREENED 24u // of the candidates, those with the best estimates, on circuits that stay
#define PLAYED 2u    // of these, as asked
#define SCREENED_TASKS (1u << 22)
#define MICRO_BATCHES_MAX 65536u

const char *const weft_sip_shots_words[] = {"best", "single", "together", "staggered", NULL};

struct scored {
    struct sip_choice choice;
    double estimate_s;
    double total_s; // to accuracy
};

struct hunt {
    const struct weft_study *study;
    const struct weft_sip_options *sip;
    const struct weft_strategy *given;
    uint32_t accelerators;
    uint32_t reach; // 0 = the published one and anywhere
    struct sip_target target;
    struct scored *scored;
    uint32_t count, room;
    uint32_t *order; // of the screened, the quickest first
    uint32_t kept;
    struct weft_error last; // why what was tried could not be
    uint32_t last_mp;       // accelerators a replica of the candidate that it is of; 0 = of none
    const struct weft_environment *environment;
    // Plays a candidate; `still`: with circuits that stay.
    bool (*play)(void *context, struct sip_run *run, const struct sip_fold *fold, bool still,
                 const struct weft_environment *environment);
    void *context;
};

// What a hunt ends with.
struct trial {
    struct sip_fold *fold;
    struct sip_run run;
    double estimate_s;
};

static bool check(const struct weft_sip_options *sip, uint32_t accelerators,
                  struct weft_error *error)
{
    if (accelerators < 2) {
        return weft_fail(error, WEFT_INPUT, "one accelerator has nobody to send to; take 2");
    }
    if (sip->switches > sip->wavelengths) {
        weft_fail(error, WEFT_INFEASIBLE,
                  "%u wavelengths for %u switches: a circuit needs one; take as many",
                  sip->wavelengths, sip->switches);
        return weft_remedy(error, "wavelengths", "%u", sip->switches);
    }
    if (sip->dp > 0 && accelerators % sip->dp != 0) {
        return weft_fail(error, WEFT_INPUT, "%u replicas do not divide %u accelerators", sip->dp,
                         accelerators);
    }
    return true;
}

static struct weft_sip_options with_defaults(const struct weft_sip_options *sip)
{
    struct weft_sip_options full = sip != NULL ? *sip : (struct weft_sip_options){0};
    full.wavelengths = full.wavelengths > 0 ? full.wavelengths : WEFT_SIP_WAVELENGTHS;
    full.wave_Bps = full.wave_Bps > 0 ? full.wave_Bps : WEFT_SIP_WAVE_BPS;
    full.switches = full.switches > 0 ? full.switches : WEFT_SIP_SWITCHES;
    full.mp_max = full.mp_max > 0 ? full.mp_max : WEFT_SIP_MP_MAX;
    return full;
}

// ---- candidates ----

// The least divisor of `number` from `from` on; 0 = there is none that a fold may have.
static uint64_t next_divisor(uint64_t number, uint64_t from)
{
    while (from <= number && number % from != 0) {
        from++;
    }
    return from <= number && from <= MICRO_BATCHES_MAX ? from : 0;
}

// A candidate in as few micro-batches as fit into memory; where none do, it is left out. Of these
// it is told why the last one with the most accelerators a replica cannot be, which divides its
// parameters the most.
static void add_choice(struct hunt *hunt, const struct sip_choice *shape)
{
    struct sip_choice choice = *shape;
    struct weft_environment inner = *hunt->environment;
    struct weft_arena before = weft_arena_split(&inner.scratch);
    struct weft_arena kept = before;
    struct weft_error why;
    inner.arena = &kept;
    inner.error = &why;
    struct sip_fold fold;
    uint64_t samples = choice.batch.samples / choice.dp;
    choice.micro_batches = 1;
    while (!sip_fold_build(&fold, &choice, hunt->study, &hunt->target, &inner)) {
        uint64_t more = next_divisor(samples, 2 * choice.micro_batches);
        if (why.code == WEFT_INFEASIBLE && choice.given == NULL && more > 0) {
            choice.micro_batches = (uint32_t)more;
            kept = before;
            continue;
        }
        if (choice.mp >= hunt->last_mp) {
            weft_wrap(&why, "%u accelerators a replica, micro-batches of %llu", choice.mp,
                      (unsigned long long)samples / choice.micro_batches);
            hunt->last = why;
            hunt->last_mp = choice.mp;
        }
        return;
    }
    double estimate_s = sip_schedule(&fold.graph, &hunt->target, inner.scratch);
    WEFT_ASSERT(hunt->count < hunt->room);
    hunt->scored[hunt->count++] =
        (struct scored){choice, estimate_s, estimate_s * choice.batch.iterations};
}

// Every rule; within the reach that is asked for, or the published one and anywhere. Placements of
// one accelerator a replica are all the same.
static void add_placements(struct hunt *hunt, const struct sip_choice *shape)
{
    uint32_t mp = shape->mp;
    uint32_t asked = hunt->reach < mp ? hunt->reach : mp;
    const uint32_t reaches[] = {asked > 0 ? asked : WEFT_SIP_REACH, mp};
    uint32_t reach_count = asked == 0 && mp > WEFT_SIP_REACH ? 2 : 1;
    for (uint32_t i = 0; i < (mp > 1 ? reach_count * SIP_RULE_COUNT * SIP_PICK_COUNT : 1); i++) {
        struct sip_choice choice = *shape;
        choice.pick = (enum sip_pick)(i % SIP_PICK_COUNT);
        choice.rule = (enum sip_rule)(i / SIP_PICK_COUNT % SIP_RULE_COUNT);
        choice.reach = reaches[i / SIP_PICK_COUNT / SIP_RULE_COUNT];
        add_choice(hunt, &choice);
    }
}

static void add_batch(struct hunt *hunt, const struct weft_sip_batch *batch)
{
    for (uint32_t dp = 1; dp <= hunt->accelerators && dp <= batch->samples; dp *= 2) {
        uint32_t mp = hunt->accelerators / dp;
        bool divides = hunt->accelerators % dp == 0 && batch->samples % dp == 0;
        if (!divides || mp > hunt->sip->mp_max || (hunt->sip->dp > 0 && hunt->sip->dp != dp)) {
            continue;
        }
        add_placements(hunt, &(struct sip_choice){.dp = dp, .mp = mp, .batch = *batch});
    }
}

static int by_total(const void *a, const void *b)
{
    const struct scored *x = a;
    const struct scored *y = b;
    if (x->total_s != y->total_s) {
        return x->total_s < y->total_s ? -1 : 1;
    }
    const struct sip_choice *c = &x->choice;
    const struct sip_choice *d = &y->choice;
    if (c->dp != d->dp) {
        return c->dp > d->dp ? -1 : 1;
    }
    if (c->reach != d->reach) {
        return c->reach < d->reach ? -1 : 1;
    }
    int of_x = (int)c->rule * SIP_PICK_COUNT + (int)c->pick;
    int of_y = (int)d->rule * SIP_PICK_COUNT + (int)d->pick;
    return (of_x > of_y) - (of_x < of_y);
}

static void find_candidates(struct hunt *hunt, struct weft_arena *arena)
{
    struct weft_sip_batch own = {hunt->study->model->batch, 1};
    uint32_t batches = hunt->sip->batch_count > 0 ? hunt->sip->batch_count : 1;
    hunt->room = batches * 32 * 2 * SIP_RULE_COUNT * SIP_PICK_COUNT;
    hunt->scored = WEFT_NEW(arena, struct scored, hunt->room);
    weft_fail(&hunt->last, WEFT_INFEASIBLE,
              "no number of replicas divides both %u accelerators and the batch, with at most %u "
              "accelerators each",
              hunt->accelerators, hunt->sip->mp_max);
    if (hunt->given != NULL && hunt->given->kind == WEFT_STRATEGY_OPERATORS) {
        struct sip_choice choice = {
            .dp = 1, .mp = hunt->accelerators, .batch = own, .given = hunt->given};
        add_choice(hunt, &choice);
        return;
    }
    for (uint32_t b = 0; b < batches; b++) {
        add_batch(hunt, hunt->sip->batch_count > 0 ? &hunt->sip->batches[b] : &own);
    }
    qsort(hunt->scored, hunt->count, sizeof *hunt->scored, by_total);
}

// Whether no candidate before has as many replicas and samples, and the same rule or estimate:
// those are most often the same placement.
static bool is_new(const struct hunt *hunt, uint32_t at)
{
    const struct scored *own = &hunt->scored[at];
    for (uint32_t i = 0; i < at; i++) {
        const struct scored *other = &hunt->scored[i];
        if (other->choice.dp == own->choice.dp &&
            other->choice.batch.samples == own->choice.batch.samples &&
            other->choice.reach == own->choice.reach &&
            (other->choice.rule == own->choice.rule || other->estimate_s == own->estimate_s)) {
            return false;
        }
    }
    return true;
}

// Builds and plays candidate `at`, with circuits that stay or as asked. False with INFEASIBLE: it
// cannot be on this fabric.
static bool play_one(struct trial *trial, struct hunt *hunt, uint32_t at, bool still,
                     const struct weft_environment *environment)
{
    trial->fold = WEFT_NEW(environment->arena, struct sip_fold, 1);
    trial->estimate_s = hunt->scored[at].estimate_s;
    return sip_fold_build(trial->fold, &hunt->scored[at].choice, hunt->study, &hunt->target,
                          environment) &&
           hunt->play(hunt->context, &trial->run, trial->fold, still, environment);
}

// Plays the candidates with the best estimates on circuits that stay, which puts them into order;
// what cannot be goes to the end. A list schedule takes at most about twice as long as is needed
// (Graham, 1969), so estimates beyond twice the quickest that was played are not played. False
// where something else fails.
static bool screen(struct hunt *hunt)
{
    uint32_t played = 0;
    uint64_t tasks = 0;
    uint32_t kept = 0;
    double best_s = HUGE_VAL;
    for (uint32_t i = 0; i < hunt->count && played < SCREENED; i++) {
        struct weft_environment inner = *hunt->environment;
        struct weft_arena trial_arena = weft_arena_split(&inner.scratch);
        inner.arena = &trial_arena;
        inner.error = &hunt->last;
        struct trial trial;
        if (hunt->scored[i].total_s > 2 * best_s || (kept > 0 && tasks > SCREENED_TASKS)) {
            break;
        }
        if (!is_new(hunt, i)) {
            continue;
        }
        if (play_one(&trial, hunt, i, true, &inner)) {
            hunt->order[kept++] = i;
            double total_s = trial.run.iteration_s * hunt->scored[i].choice.batch.iterations;
            best_s = total_s < best_s ? total_s : best_s;
            tasks += trial.fold->graph.task_count;
            hunt->scored[i].total_s = total_s;
            played++;
        } else if (hunt->last.code != WEFT_INFEASIBLE) {
            return false;
        }
    }
    for (uint32_t i = 1; i < kept; i++) { // by insertion: few, and equals keep their order
        for (uint32_t at = i; at > 0 && hunt->scored[hunt->order[at]].total_s <
                                            hunt->scored[hunt->order[at - 1]].total_s;
             at--) {
            uint32_t other = hunt->order[at];
            hunt->order[at] = hunt->order[at - 1];
            hunt->order[at - 1] = other;
        }
    }
    hunt->kept = kept;
    return kept > 0;
}

// Plays the quickest of the screened once more as asked, and keeps the best.
static bool play_best(struct trial *best, struct hunt *hunt)
{
    for (uint32_t i = 0; i < hunt->kept && i < PLAYED; i++) {
        struct trial trial;
        if (!play_one(&trial, hunt, hunt->order[i], false, hunt->environment)) {
            return false;
        }
        if (i == 0 || trial.run.iteration_s * trial.fold->choice.batch.iterations <
                          best->run.iteration_s * best->fold->choice.batch.iterations) {
            *best = trial;
        }
    }
    return true;
}

static bool run_hunt(struct trial *best, struct hunt *hunt)
{
    struct weft_environment inner = *hunt->environment;
    struct weft_arena kept = weft_arena_split(&inner.scratch);
    hunt->environment = &inner;
    find_candidates(hunt, &kept);
    hunt->order = WEFT_NEW(&kept, uint32_t, (size_t)hunt->count + 1);
    if (hunt->count == 0 || !screen(hunt)) {
        *inner.error = hunt->last;
        return false;
    }
    return play_best(best, hunt);
}

// ---- light ----

struct light {
    enum weft_moving_fabric fabric;
    const struct weft_sip_options *sip;
    struct weft_circuit_delays delays;
};

static bool play_light(void *context, struct sip_run *run, const struct sip_fold *fold, bool still,
                       const struct weft_environment *environment)
{
    const struct light *light = context;
    struct weft_sip_options sip = *light->sip;
    sip.shots = still ? WEFT_SIP_SINGLE : sip.shots;
    return sip_play_light(run, fold, light->fabric, &sip, &light->delays, environment);
}

// What is bought: each accelerator's ports, on OCS a switch port each.
static void price(struct weft_moving_plan *plan, const struct weft_sip_options *sip,
                  const struct weft_cluster *cluster, uint32_t accelerators)
{
    bool ring = plan->fabric == WEFT_MOVING_SIP_RING;
    uint64_t ports = (uint64_t)accelerators * (ring ? 1 : sip->switches);
    double rate_Bps = sip->wavelengths * sip->wave_Bps / (ring ? 1 : sip->switches);
    plan->parts = (struct weft_parts){
        .transceivers = ports, .ocs_ports = ring ? 0 : ports, .rate_Bps = rate_Bps};
    plan->cost = weft_fabric_cost(&plan->parts, &cluster->prices);
    plan->price_note =
        ring ? "micro-rings and lasers on the accelerators' interposers are not sold: one "
               "transceiver of all wavelengths stands for them; fibers have no price"
             : "combs and lasers on the accelerators' interposers are not sold: transceivers of a "
               "circuit's rate stand for them";
}

static void publish(struct weft_sip_result *result, const struct trial *best,
                    const struct hunt *hunt, struct weft_arena *arena)
{
    const struct sip_fold *fold = best->fold;
    const struct sip_run *run = &best->run;
    struct weft_moving_plan *plan = &result->plan;
    plan->strategy = sip_unfold(fold, hunt->accelerators, arena);
    plan->iteration_s = run->iteration_s;
    plan->still_s = run->still_s;
    plan->dark_share = run->dark_share;
    plan->change_count = run->change_count;
    plan->schedule = run->schedule;
    result->accelerators = hunt->accelerators;
    result->dp = fold->choice.dp;
    result->mp = fold->choice.mp;
    result->micro_batches = fold->choice.micro_batches;
    result->batch = fold->choice.batch.samples;
    result->iterations = fold->choice.batch.iterations;
    result->shots = run->shots;
    result->estimate_s = best->estimate_s;
    result->hop_max = 1;
    result->fold.replicas = fold->replicas;
    result->fold.node_count = fold->node_count;
    result->fold.bytes = sip_fold_bytes(fold, arena);
    result->fold.strategy = fold->strategy;
    result->fold.graph = fold->graph;
    if (run->circuits != NULL) {
        result->hop_max = run->circuits->hop_max;
        result->circuits = run->circuits->circuits;
        result->permutations = run->circuits->permutations;
    }
    if (run->waves != NULL) {
        result->arc_count = run->waves->arc_count;
        result->arcs = run->waves->arcs;
        result->fiber_wavelengths = run->waves->fiber_wavelengths;
    }
}

bool weft_sip_search(struct weft_sip_result *result, const struct weft_study *study,
                     enum weft_moving_fabric fabric, const struct weft_sip_options *sip,
                     const struct weft_moving_options *options,
                     const struct weft_environment *environment)
{
    WEFT_ASSERT(fabric == WEFT_MOVING_SIP_OCS || fabric == WEFT_MOVING_SIP_RING);
    struct weft_sip_options full = with_defaults(sip);
    uint64_t accelerators =
        (uint64_t)study->cluster->server_count * study->cluster->accelerators_per_server;
    if (options->given != NULL && options->given->kind == WEFT_STRATEGY_HYBRID) {
        full.dp = options->given->hybrid.dp;
    }
    if (!check(&full, (uint32_t)accelerators, environment->error)) {
        return false;
    }
    struct light light = {fabric, &full, options->delays};
    struct hunt hunt = {
        .study = study,
        .sip = &full,
        .given = options->given,
        .reach = full.reach,
        .accelerators = (uint32_t)accelerators,
        .target = {.port_Bps = full.wavelengths * full.wave_Bps,
                   .collective_Bps = full.wavelengths * full.wave_Bps,
                   .latency_ps = study->cluster->latency_ps,
                   .gradient_bytes = full.gradient_bytes},
        .environment = environment,
        .play = play_light,
        .context = &light,
    };
    struct trial best = {.fold = NULL};
    struct weft_sip_result found = {.plan = {.fabric = fabric}};
    if (!run_hunt(&best, &hunt)) {
        return false;
    }
    WEFT_ASSERT(best.fold != NULL); // one was played at least
    if (!sip_certify(&found.plan.certificate, best.fold, fabric, &full, best.run.iteration_s,
                     environment)) {
        return false;
    }
    publish(&found, &best, &hunt, environment->arena);
    price(&found.plan, &full, study->cluster, hunt.accelerators);
    *result = found;
    return true;
}

bool weft_sip_plan(struct weft_moving_plan *plan, const struct weft_study *study,
                   enum weft_moving_fabric fabric, const struct weft_sip_options *sip,
                   const struct weft_moving_options *options,
                   const struct weft_environment *environment)
{
    struct weft_sip_result result;
    if (!weft_sip_search(&result, study, fabric, sip, options, environment)) {
        return false;
    }
    *plan = result.plan;
    return true;
}

// ---- electricity ----

static bool play_electric(void *context, struct sip_run *run, const struct sip_fold *fold,
                          bool still, const struct weft_environment *environment)
{
    (void)still;
    const struct weft_sip_electrical *electrical = context;
    struct weft_environment inner = *environment;
    struct weft_arena kept = weft_arena_split(&inner.scratch);
    struct weft_network network;
    *run = (struct sip_run){0};
    return sip_electric_build(&network, fold, electrical, &kept, inner.scratch,
                              environment->error) &&
           sip_play(&run->iteration_s, fold, &network, false, &inner);
}

bool weft_sip_switch(struct weft_sip_switched *result, const struct weft_study *study,
                     const struct weft_sip_electrical *electrical,
                     const struct weft_sip_options *sip, const struct weft_environment *environment)
{
    struct weft_sip_options full = with_defaults(sip);
    full.switches = full.switches < full.wavelengths ? full.switches : full.wavelengths;
    uint64_t accelerators =
        (uint64_t)study->cluster->server_count * study->cluster->accelerators_per_server;
    if (!check(&full, (uint32_t)accelerators, environment->error)) {
        return false;
    }
    double cap_Bps = electrical->cap_Bps > 0 && electrical->cap_Bps < electrical->rate_Bps
                         ? electrical->cap_Bps
                         : electrical->rate_Bps;
    struct weft_sip_electrical context = *electrical;
    struct hunt hunt = {
        .study = study,
        .sip = &full,
        .reach = full.mp_max,
        .accelerators = (uint32_t)accelerators,
        .target = {.port_Bps = electrical->rate_Bps,
                   .collective_Bps = cap_Bps,
                   .latency_ps = study->cluster->latency_ps,
                   .gradient_bytes = full.gradient_bytes},
        .environment = environment,
        .play = play_electric,
        .context = &context,
    };
    struct trial best = {.fold = NULL};
    if (!run_hunt(&best, &hunt)) {
        return false;
    }
    WEFT_ASSERT(best.fold != NULL); // one was played at least
    *result = (struct weft_sip_switched){best.fold->choice.dp, best.fold->choice.mp,
                                         best.fold->choice.batch.samples, best.run.iteration_s,
                                         best.fold->choice.batch.iterations};
    return true;
}
