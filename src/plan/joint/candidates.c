// SPDX-License-Identifier: Apache-2.0
// Candidates: from a network to strategies worth a topology, and from a strategy to its network.
//
// A search of strategies knows only an estimate of the iteration (docs/strategies.md), which cannot
// tell near ones apart, so that a few of its best get a topology each and the simulated iteration
// decides. A topology is searched with a part of the effort first; only a candidate that comes near
// the best known gets the rest.

#include "joint.h"

#include <math.h>
#include <string.h>

// A strategy's topology is searched with this share of the effort first, and with the rest only if
// it comes so near to the best known. Not measured one by one: a smaller share drops more
// candidates, and sooner.
#define FIRST_SHARE 0.3
#define FIRST_RATIO 1.15
// A first search of fewer full evaluations says nothing: then all is spent at once.
#define FIRST_EVALUATIONS 12.0
// Of strategies of operators every so manieth of a search's best gets a topology.
#define CANDIDATE_STEP 3u
// Of hybrid strategies a search keeps enough to see past those that differ in chunks alone.
#define HYBRID_KEEP 32u
// Estimates this near to each other do not tell which is better.
#define SAME_RATIO 0.005

uint64_t coplan_key(const struct weft_strategy *strategy, const struct weft_model *model)
{
    uint64_t key = weft_hash((uint64_t)strategy->kind + 1);
    if (strategy->kind == WEFT_STRATEGY_HYBRID) {
        const struct weft_hybrid *hybrid = &strategy->hybrid;
        const uint64_t fields[] = {hybrid->dp,
                                   hybrid->tp,
                                   hybrid->pp,
                                   hybrid->ep,
                                   hybrid->cp,
                                   hybrid->chunks,
                                   hybrid->micro_batch,
                                   hybrid->zero_stage,
                                   hybrid->sequence_parallel ? 1 : 0,
                                   hybrid->overlap_gradients ? 1 : 0,
                                   hybrid->fused_attention ? 1 : 0,
                                   weft_hybrid_overlap(hybrid),
                                   hybrid->fp8 ? 1 : 0,
                                   (uint64_t)hybrid->schedule,
                                   (uint64_t)hybrid->recompute};
        for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
            key = weft_hash(key ^ fields[i]);
        }
        for (size_t i = 0; hybrid->order[i] != '\0'; i++) {
            key = weft_hash(key ^ (unsigned char)hybrid->order[i]);
        }
        return key;
    }
    for (uint32_t op = 0; op < model->operator_count; op++) {
        const struct weft_placement *placement = &strategy->placements[op];
        if (model->operators[op].spec.kind == WEFT_OP_INPUT) {
            continue; // has no tasks, wherever it is
        }
        key = weft_hash(key ^ placement->sample_parts);
        key = weft_hash(key ^ placement->parameter_parts);
        uint32_t parts = placement->sample_parts * placement->parameter_parts;
        for (uint32_t p = 0; p < parts; p++) {
            key = weft_hash(key ^ placement->servers[p]);
        }
    }
    return key;
}

struct weft_strategy coplan_copy(const struct weft_strategy *strategy, uint32_t operator_count,
                                 struct weft_arena *arena)
{
    struct weft_strategy copy = *strategy;
    copy.memory = NULL;
    if (strategy->kind != WEFT_STRATEGY_OPERATORS) {
        return copy;
    }
    struct weft_placement *placements =
        WEFT_NEW_RAW(arena, struct weft_placement, (size_t)operator_count + 1);
    for (uint32_t op = 0; op < operator_count; op++) {
        placements[op] = strategy->placements[op];
        uint32_t parts = placements[op].sample_parts * placements[op].parameter_parts;
        uint32_t *servers = WEFT_NEW_RAW(arena, uint32_t, (size_t)parts + 1);
        memcpy(servers, placements[op].servers, parts * sizeof *servers);
        placements[op].servers = servers;
    }
    copy.placements = placements;
    return copy;
}

void coplan_turn_to(const struct coplan *coplan, const struct weft_strategy *strategy)
{
    if (coplan->incumbent != NULL) {
        coplan->incumbent->now = (struct finding){.strategy = *strategy,
                                                  .evaluations = coplan->evaluations,
                                                  .round_count = coplan->round_count,
                                                  .fixed_point = coplan->fixed_point};
    }
}

void coplan_spend(struct coplan *coplan, double seconds)
{
    coplan->seconds_left -= seconds;
    weft_tally_add(coplan->options->tally, (uint64_t)fmax(1e3 * seconds, 0));
}

void coplan_report(const struct coplan *coplan, double iteration_s)
{
    _Atomic uint64_t *best_ps = coplan->options->best_ps;
    if (best_ps == NULL || !isfinite(iteration_s)) {
        return;
    }
    uint64_t time_ps = weft_picoseconds(iteration_s);
    uint64_t best = atomic_load(best_ps);
    while (time_ps < best && !atomic_compare_exchange_weak(best_ps, &best, time_ps)) {
    }
}

void coplan_know(struct coplan *coplan, struct coplan_candidate *candidate)
{
    uint32_t at = coplan->known_count;
    for (uint32_t i = 0; i < coplan->known_count; i++) {
        if (coplan->known[i] == candidate) {
            at = i;
        }
    }
    if (at == KNOWN_MAX) { // drop the worst
        at--;
    } else if (at == coplan->known_count) {
        coplan->known_count++;
    }
    for (; at > 0 && coplan->known[at - 1]->score.iteration_s > candidate->score.iteration_s;
         at--) {
        coplan->known[at] = coplan->known[at - 1];
    }
    coplan->known[at] = candidate;
    coplan_report(coplan, candidate->score.iteration_s);
    coplan_turn_to(coplan, &candidate->strategy);
    incumbent_offer(coplan->incumbent, &candidate->design,
                    &(struct offer){.score = candidate->score});
}

static struct coplan_candidate *find_known(const struct coplan *coplan, uint64_t key)
{
    for (uint32_t i = 0; i < coplan->known_count; i++) {
        if (coplan->known[i]->key == key) {
            return coplan->known[i];
        }
    }
    return NULL;
}

// The task graph and what hangs on it.
static bool open_candidate(struct coplan_candidate *candidate, struct coplan *coplan,
                           const struct weft_strategy *strategy, struct weft_arena scratch,
                           struct weft_error *error)
{
    struct weft_arena *arena = coplan->arena;
    candidate->strategy = coplan_copy(strategy, coplan->study.model->operator_count, arena);
    if (!weft_strategy_taskgraph(&candidate->graph, &candidate->strategy, &coplan->study, arena,
                                 scratch, error)) {
        return false;
    }
    weft_traffic_build(&candidate->traffic, &candidate->graph, arena, scratch);
    candidate->search = method_open(&candidate->graph, &candidate->traffic, coplan->study.cluster,
                                    &coplan->options->plan, coplan->environment);
    candidate->search.incumbent = coplan->incumbent;
    return true;
}

double coplan_adopt(struct coplan *coplan, const struct weft_strategy *strategy,
                    const struct weft_design *design, bool is_own, struct weft_arena scratch)
{
    uint64_t key = coplan_key(strategy, coplan->study.model);
    struct coplan_candidate *candidate = find_known(coplan, key);
    struct weft_arena before = *coplan->arena;
    bool is_new = candidate == NULL;
    coplan->evaluations++;
    if (is_new) {
        candidate = WEFT_NEW(coplan->arena, struct coplan_candidate, 1);
        candidate->key = key;
        candidate->score.iteration_s = HUGE_VAL;
        if (!open_candidate(candidate, coplan, strategy, scratch, &coplan->why_not) ||
            !method_bound(&candidate->search, scratch, &coplan->why_not)) {
            *coplan->arena = before;
            return 0;
        }
        before = *coplan->arena;
    }
    struct weft_design own = weft_design_copy(design, coplan->arena);
    if (!is_own) {
        weft_design_regroup(&own, &candidate->traffic, scratch);
    }
    struct score score = search_evaluate(&candidate->search, &own, false, scratch);
    incumbent_work(coplan->incumbent, score.work_units);
    if (score.iteration_s < candidate->score.iteration_s) {
        candidate->design = own;
        candidate->score = score;
        coplan_know(coplan, candidate);
    } else {
        *coplan->arena = before;
    }
    return score.work_units;
}

// Searches a topology once more, the candidate's own design among the seeds. Whether it is better.
static bool improve(struct coplan_candidate *candidate, const struct coplan *coplan, double seconds,
                    struct weft_arena scratch)
{
    struct scored_design found;
    const struct seeds own = {&candidate->design, 1};
    coplan_turn_to(coplan, &candidate->strategy);
    if (!method_search(&found, &candidate->search, seconds, &own, coplan->arena, scratch) ||
        found.score.iteration_s >= candidate->score.iteration_s) {
        return false;
    }
    candidate->design = found.design;
    candidate->score = found.score;
    return true;
}

void coplan_wire(struct coplan *coplan, struct coplan_candidate *candidate, double seconds,
                 struct weft_arena scratch)
{
    if (improve(candidate, coplan, seconds, scratch)) {
        coplan_know(coplan, candidate);
    }
}

// Searches a first topology, `near` among its seeds (may be NULL): the whole effort is for what
// comes near to the best known. False when no design connects the servers.
static bool try_topology(struct coplan_candidate *candidate, struct coplan *coplan, double seconds,
                         const struct weft_design *near, struct weft_arena scratch)
{
    double first_s = seconds * FIRST_SHARE;
    double dear_units = coplan->known_count > 0 ? coplan->known[0]->score.work_units : 0;
    if (first_s * WORK_UNITS_PER_S < FIRST_EVALUATIONS * dear_units) {
        first_s = seconds;
    }
    coplan_spend(coplan, first_s);
    struct scored_design found;
    const struct seeds seeds = {near, near != NULL ? 1 : 0};
    coplan_turn_to(coplan, &candidate->strategy);
    if (!method_search(&found, &candidate->search, first_s, &seeds, coplan->arena, scratch)) {
        return false;
    }
    candidate->design = found.design;
    candidate->score = found.score;
    if (first_s >= seconds) {
        return true;
    }
    if (coplan->known_count > 0 &&
        candidate->score.iteration_s > FIRST_RATIO * coplan->known[0]->score.iteration_s) {
        return true;
    }
    coplan_spend(coplan, seconds - first_s);
    improve(candidate, coplan, seconds - first_s, scratch);
    return true;
}

struct coplan_candidate *coplan_evaluate(struct coplan *coplan,
                                         const struct weft_strategy *strategy, double seconds,
                                         const struct weft_design *near, struct weft_arena scratch)
{
    uint64_t key = coplan_key(strategy, coplan->study.model);
    struct coplan_candidate *candidate = find_known(coplan, key);
    if (candidate != NULL) {
        return candidate;
    }
    struct weft_arena before = *coplan->arena;
    candidate = WEFT_NEW(coplan->arena, struct coplan_candidate, 1);
    candidate->key = key;
    if (!open_candidate(candidate, coplan, strategy, scratch, &coplan->why_not)) {
        *coplan->arena = before;
        return NULL;
    }
    coplan->evaluations++;
    coplan_turn_to(coplan, &candidate->strategy);
    method_offer_first(&candidate->search, scratch);
    if (!method_bound(&candidate->search, scratch, &coplan->why_not)) {
        *coplan->arena = before;
        return NULL;
    }
    struct weft_design seed;
    if (near != NULL) {
        seed = weft_design_copy(near, &scratch);
        weft_design_regroup(&seed, &candidate->traffic, scratch);
    }
    if (!try_topology(candidate, coplan, seconds, near != NULL ? &seed : NULL, scratch)) {
        weft_fail(&coplan->why_not, WEFT_INFEASIBLE,
                  "no fabric of %u %s a server connects %u servers", coplan->study.cluster->degree,
                  coplan->study.cluster->degree == 1 ? "port" : "ports",
                  coplan->study.cluster->server_count);
        *coplan->arena = before;
        return NULL;
    }
    coplan_know(coplan, candidate);
    return candidate;
}

// ---- strategies ----

bool coplan_search(struct weft_search_result *result, struct coplan *coplan,
                   const struct strategy_request *request, struct weft_arena *arena,
                   struct weft_arena scratch, struct weft_error *error)
{
    struct weft_study study = coplan->study;
    study.network = request->network;
    bool found =
        coplan->hybrid
            ? weft_hybrid_search(result, &study, &request->options, arena, scratch, error)
            : weft_strategy_search(result, &study, &request->options, arena, scratch, error);
    coplan->evaluations += found ? result->evaluations : 0;
    return found;
}

uint32_t coplan_keep(uint32_t count, const struct coplan *coplan)
{
    return coplan->hybrid ? HYBRID_KEEP : 1 + (count - 1) * CANDIDATE_STEP;
}

static bool differ_in_chunks(const struct weft_strategy *a, const struct weft_strategy *b,
                             const struct coplan *coplan)
{
    struct weft_strategy like_a = *b;
    like_a.hybrid.chunks = a->hybrid.chunks;
    return coplan_key(a, coplan->study.model) == coplan_key(&like_a, coplan->study.model);
}

static uint32_t choose_hybrid(const struct weft_strategy **chosen, uint32_t count,
                              const struct weft_search_result *result, const struct coplan *coplan)
{
    double best_ps[CHOSEN_MAX];
    uint32_t found = 0;
    for (uint32_t i = 0; i < result->count; i++) {
        const struct weft_strategy *strategy = &result->candidates[i].strategy;
        double estimate_ps = (double)result->candidates[i].estimate_ps;
        uint32_t at = 0;
        while (at < found && !differ_in_chunks(chosen[at], strategy, coplan)) {
            at++;
        }
        if (at == found && found < count) {
            best_ps[found] = estimate_ps;
            chosen[found++] = strategy;
        } else if (at < found && estimate_ps <= best_ps[at] * (1 + SAME_RATIO) &&
                   strategy->hybrid.chunks < chosen[at]->hybrid.chunks) {
            chosen[at] = strategy;
        }
    }
    return found;
}

uint32_t coplan_choose(const struct weft_strategy **chosen, uint32_t count,
                       const struct weft_search_result *result, const struct coplan *coplan)
{
    WEFT_ASSERT(count > 0 && count <= CHOSEN_MAX && result->count > 0);
    if (coplan->hybrid) {
        return choose_hybrid(chosen, count, result, coplan);
    }
    uint32_t step = result->count / count;
    step = step < 1 ? 1 : step < CANDIDATE_STEP ? step : CANDIDATE_STEP;
    uint32_t found = 0;
    for (uint32_t i = 0; i < result->count && found < count; i += step) {
        chosen[found++] = &result->candidates[i].strategy;
    }
    return found;
}
