// SPDX-License-Identifier: Apache-2.0
// From a network to strategies, and from a strategy to its network.

#include "joint.h"

#include <math.h>
#include <string.h>

// A strategy's topology is searched with this share of the effort first, and with the rest only if
// it comes so near to the best known.
#define TRIAL_SHARE 0.3
#define TRIAL_RATIO 1.15
// A trial of fewer true judgements tells nothing: then all is spent at once.
#define TRIAL_JUDGEMENTS 12.0

uint64_t coplan_key(const struct weft_strategy *strategy, const struct weft_model *model)
{
    uint64_t key = weft_hash((uint64_t)strategy->kind + 1);
    if (strategy->kind == WEFT_STRATEGY_HYBRID) {
        const struct weft_hybrid *hybrid = &strategy->hybrid;
        const uint64_t figures[] = {hybrid->dp,
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
                                    (uint64_t)hybrid->recompute};
        for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
            key = weft_hash(key ^ figures[i]);
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

void coplan_tell(const struct coplan *coplan, double iteration_s)
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

void coplan_know(struct coplan *coplan, struct settled *settled)
{
    uint32_t at = coplan->known_count;
    for (uint32_t i = 0; i < coplan->known_count; i++) {
        if (coplan->known[i] == settled) {
            at = i;
        }
    }
    if (at == SETTLED_MAX) { // drop the worst
        at--;
    } else if (at == coplan->known_count) {
        coplan->known_count++;
    }
    for (; at > 0 && coplan->known[at - 1]->verdict.iteration_s > settled->verdict.iteration_s;
         at--) {
        coplan->known[at] = coplan->known[at - 1];
    }
    coplan->known[at] = settled;
    coplan_tell(coplan, settled->verdict.iteration_s);
}

static struct settled *find_known(const struct coplan *coplan, uint64_t key)
{
    for (uint32_t i = 0; i < coplan->known_count; i++) {
        if (coplan->known[i]->key == key) {
            return coplan->known[i];
        }
    }
    return NULL;
}

// The task graph and what hangs on it.
static bool open_settled(struct settled *settled, struct coplan *coplan,
                         const struct weft_strategy *strategy, struct weft_arena scratch,
                         struct weft_error *error)
{
    struct weft_arena *arena = coplan->arena;
    settled->strategy = coplan_copy(strategy, coplan->model->operator_count, arena);
    if (!weft_strategy_taskgraph(&settled->graph, &settled->strategy,
                                 &(struct weft_study){.model = coplan->model,
                                                      .cluster = coplan->cluster,
                                                      .setting = coplan->setting},
                                 arena, scratch, error)) {
        return false;
    }
    weft_traffic_build(&settled->traffic, &settled->graph, arena, scratch);
    settled->search =
        method_open(&settled->graph, &settled->traffic, coplan->cluster, &coplan->options->plan);
    settled->search.seed = coplan->options->search.seed;
    settled->search.threads = coplan->options->search.threads;
    settled->search.stop = coplan->options->search.stop;
    return method_bound(&settled->search, scratch, error);
}

double coplan_adopt(struct coplan *coplan, const struct weft_strategy *strategy,
                    const struct design *design, bool is_own, struct weft_arena scratch)
{
    uint64_t key = coplan_key(strategy, coplan->model);
    struct settled *settled = find_known(coplan, key);
    struct weft_arena before = *coplan->arena;
    bool is_new = settled == NULL;
    coplan->evaluations++;
    if (is_new) {
        settled = WEFT_NEW(coplan->arena, struct settled, 1);
        settled->key = key;
        settled->verdict.iteration_s = HUGE_VAL;
        if (!open_settled(settled, coplan, strategy, scratch, &coplan->why_not)) {
            *coplan->arena = before;
            return 0;
        }
        before = *coplan->arena;
    }
    struct design own = design_copy(design, coplan->arena);
    if (!is_own) {
        design_regroup(&own, &settled->traffic, scratch);
    }
    struct verdict verdict = search_judge(&settled->search, &own, false, scratch);
    if (verdict.iteration_s < settled->verdict.iteration_s) {
        settled->design = own;
        settled->verdict = verdict;
        coplan_know(coplan, settled);
    } else {
        *coplan->arena = before;
    }
    return verdict.work_units;
}

void coplan_wire(struct coplan *coplan, struct settled *settled, double seconds,
                 struct weft_arena scratch)
{
    struct design design;
    struct verdict verdict;
    if (method_search(&design, &verdict, &settled->search, seconds, &settled->design, 1,
                      coplan->arena, scratch) &&
        verdict.iteration_s < settled->verdict.iteration_s) {
        settled->design = design;
        settled->verdict = verdict;
        coplan_know(coplan, settled);
    }
}

// Searches a first topology, `near` among its seeds (may be NULL): the whole effort is for what
// comes near to the best known. False when no design connects the servers.
static bool try_topology(struct settled *settled, struct coplan *coplan, double seconds,
                         const struct design *near, struct weft_arena scratch)
{
    double trial_s = seconds * TRIAL_SHARE;
    double dear_units = coplan->known_count > 0 ? coplan->known[0]->verdict.work_units : 0;
    if (trial_s * WORK_UNITS_PER_S < TRIAL_JUDGEMENTS * dear_units) {
        trial_s = seconds;
    }
    coplan->seconds_left -= trial_s;
    coplan->evaluations++;
    if (!method_search(&settled->design, &settled->verdict, &settled->search, trial_s, near,
                       near != NULL ? 1 : 0, coplan->arena, scratch)) {
        return false;
    }
    if (trial_s >= seconds) {
        return true;
    }
    if (coplan->known_count > 0 &&
        settled->verdict.iteration_s > TRIAL_RATIO * coplan->known[0]->verdict.iteration_s) {
        return true;
    }
    coplan->seconds_left -= seconds - trial_s;
    struct design design;
    struct verdict verdict;
    if (method_search(&design, &verdict, &settled->search, seconds - trial_s, &settled->design, 1,
                      coplan->arena, scratch) &&
        verdict.iteration_s < settled->verdict.iteration_s) {
        settled->design = design;
        settled->verdict = verdict;
    }
    return true;
}

struct settled *coplan_settle(struct coplan *coplan, const struct weft_strategy *strategy,
                              double seconds, const struct design *near, struct weft_arena scratch)
{
    uint64_t key = coplan_key(strategy, coplan->model);
    struct settled *settled = find_known(coplan, key);
    if (settled != NULL) {
        return settled;
    }
    struct weft_arena before = *coplan->arena;
    settled = WEFT_NEW(coplan->arena, struct settled, 1);
    settled->key = key;
    if (!open_settled(settled, coplan, strategy, scratch, &coplan->why_not)) {
        *coplan->arena = before;
        return NULL;
    }
    struct design seed;
    if (near != NULL) {
        seed = design_copy(near, &scratch);
        design_regroup(&seed, &settled->traffic, scratch);
    }
    if (!try_topology(settled, coplan, seconds, near != NULL ? &seed : NULL, scratch)) {
        weft_fail(&coplan->why_not, WEFT_INFEASIBLE,
                  "no fabric of %u %s a server connects %u servers", coplan->cluster->degree,
                  coplan->cluster->degree == 1 ? "port" : "ports", coplan->cluster->server_count);
        *coplan->arena = before;
        return NULL;
    }
    coplan_know(coplan, settled);
    return settled;
}

bool coplan_search(struct weft_search_result *result, struct coplan *coplan,
                   const struct weft_network *network, const struct weft_strategy *start,
                   const struct weft_search_options *search, struct weft_arena *arena,
                   struct weft_arena scratch, struct weft_error *error)
{
    struct weft_search_options options = *search;
    options.start = start;
    bool found = coplan->hybrid
                     ? weft_hybrid_search(result,
                                          &(struct weft_study){.model = coplan->model,
                                                               .cluster = coplan->cluster,
                                                               .network = network,
                                                               .setting = coplan->setting},
                                          &options, arena, scratch, error)
                     : weft_strategy_search(result,
                                            &(struct weft_study){.model = coplan->model,
                                                                 .cluster = coplan->cluster,
                                                                 .network = network,
                                                                 .setting = coplan->setting},
                                            &options, arena, scratch, error);
    coplan->evaluations += found ? result->evaluations : 0;
    return found;
}
