// SPDX-License-Identifier: Apache-2.0
// The reference fabrics of a comparison: each with the best strategy that was found for it.
//
// A fabric ranks strategies on its own network (ranking.c), as weft strategy does; descends from
// the quickest ones of others by small changes; and plays the finalists in full, its own best among
// them: where the row's strategy is its own, weft strategy gives the same time, else a longer one.
// Evaluations are quick ones (every AllReduce in one round) until then: a tenth of the work, a few
// percent off.

#include "compare.h"

#include <math.h>
#include <string.h>

// Strategies that a fabric's own search hands over.
#define KEEP 3u
// Descents on a fabric, from the quickest of others by evaluation, share so much of the effort of
// Weft's plan, as much as those of its own ranking; each ends after so many steps that gain
// nothing. Not measured one by one: they give a fabric that one could buy about the search that
// Weft's plan has.
#define DESCENT_SHARE 0.125
#define DESCENTS 3u
// Strategies that are played in full on a fabric, the quickest by evaluation first; fewer where
// a simulation takes long.
#define FINALISTS 4u
#define FINALISTS_MANY 2u

// ---- evaluations ----

static void set_rings(struct fabric_row *fabric, const struct entry *entry,
                      struct weft_arena *arena, struct weft_arena scratch)
{
    if (fabric->tours) {
        fabric->network->rings =
            weft_routing_tours(&entry->graph, NULL, &fabric->network->routes, arena, scratch);
    }
}

// The iteration with every AllReduce in one round: a tenth of the work, a few percent off.
static double evaluate(const struct comparison *run, struct fabric_row *fabric,
                       const struct entry *entry, struct weft_arena scratch)
{
    struct weft_arena results = weft_arena_split(&scratch);
    set_rings(fabric, entry, &results, scratch);
    const struct weft_sim_job job = {.graph = &entry->graph, .rings = fabric->network->rings};
    struct weft_sim_options sim = run->table.options->sim;
    sim.timeline = false;
    sim.one_round = true;
    struct weft_sim_result result;
    struct weft_error error;
    bool played = weft_sim_run_jobs(
        &result, fabric->network, &job, 1, &sim,
        &(struct weft_environment){.arena = &results, .scratch = scratch, .error = &error});
    return played ? weft_seconds(result.iteration_ps[0]) : HUGE_VAL;
}

// Evaluates what came into the pool since the last time. Returns the best entry.
static uint32_t evaluate_new(const struct comparison *run, struct fabric_row *fabric,
                             struct weft_arena scratch)
{
    uint32_t best = 0;
    for (uint32_t i = 0; i < run->entry_count; i++) {
        if (i >= fabric->evaluated) {
            fabric->quick_s[i] = evaluate(run, fabric, run->entries[i], scratch);
        }
        best = fabric->quick_s[i] < fabric->quick_s[best] ? i : best;
    }
    fabric->evaluated = run->entry_count;
    return best;
}

// Plays an entry in full; the row is its own if it is the first or the better one.
static void play_finalist(struct comparison *run, struct fabric_row *fabric, uint32_t entry,
                          struct weft_comparison *best, struct weft_arena scratch)
{
    struct weft_comparison row = {.name = best->name};
    struct weft_arena results = weft_arena_split(&scratch);
    set_rings(fabric, run->entries[entry], &results, scratch);
    run->table.graph = &run->entries[entry]->graph;
    compare_measure(&run->table, &row, fabric->network, scratch);
    row.found_for = run->entries[entry]->found_for;
    bool first = best->found_for == NULL;
    bool better =
        row.why_not == NULL && (best->why_not != NULL || row.iteration_s < best->iteration_s);
    if (first || better) {
        *best = row;
    }
}

// The row until the strategies of other fabrics are known: that of its own search.
static void fill_with_own(struct comparison *run, struct fabric_row *fabric,
                          struct weft_arena scratch)
{
    struct weft_comparison best = {.name = fabric->row->name};
    for (uint32_t i = 0; i < run->entry_count; i++) {
        if (run->entries[i]->key == fabric->best) {
            play_finalist(run, fabric, i, &best, scratch);
            *fabric->row = best;
        }
    }
}

void compare_search_fabric(struct comparison *run, struct fabric_row *fabric,
                           struct weft_arena scratch)
{
    struct weft_environment inner = *run->table.environment;
    inner.scratch = scratch;
    struct weft_arena kept = weft_arena_split(&inner.scratch);
    struct weft_error error; // then the fabric has the strategies of others
    inner.arena = &kept;
    inner.error = &error;
    if (fabric->tours) {
        fabric->network->rings = (struct weft_ring_set){0}; // each strategy's own
    }
    struct weft_study study = run->study;
    study.network = fabric->network;
    const struct weft_ranking_options options = {.method = run->options->search.method,
                                                 .evaluations = run->options->search.evaluations,
                                                 .seconds = run->options->seconds,
                                                 .keep = KEEP,
                                                 .sim = run->options->plan.sim};
    struct weft_ranking ranking;
    if (!weft_plan_rank_strategies(&ranking, &study, &options, &inner)) {
        return;
    }
    for (uint32_t i = 0; i < ranking.found.count; i++) {
        compare_add_entry(run, &ranking.found.candidates[i].strategy, fabric->row->name,
                          inner.scratch);
    }
    fabric->best = coplan_key(&ranking.found.candidates[0].strategy, run->study.model);
    fill_with_own(run, fabric, inner.scratch);
}

// The quickest entry by evaluation that was not taken.
static uint32_t find_quickest(const struct comparison *run, const struct fabric_row *fabric,
                              const bool *taken)
{
    uint32_t best = WEFT_NONE;
    for (uint32_t i = 0; i < run->entry_count; i++) {
        bool better = best == WEFT_NONE || fabric->quick_s[i] < fabric->quick_s[best];
        best = !taken[i] && better ? i : best;
    }
    return best;
}

void compare_descend_fabric(struct comparison *run, struct fabric_row *fabric,
                            struct weft_arena scratch)
{
    if (run->hybrid || run->table.cluster->server_count > COMPARE_MANY_SERVERS) {
        return;
    }
    evaluate_new(run, fabric, scratch);
    const struct compare_ground ground = {.study = &run->study,
                                          .sim = &run->options->plan.sim,
                                          .environment = run->table.environment,
                                          .network = fabric->network,
                                          .tours = fabric->tours};
    double left = run->options->seconds * DESCENT_SHARE * WORK_UNITS_PER_S;
    bool taken[ENTRIES_MAX];
    uint32_t count = run->entry_count;
    for (uint32_t i = 0; i < count; i++) { // from its own ones the ranking descended
        taken[i] = strcmp(run->entries[i]->found_for, fabric->row->name) == 0;
    }
    for (uint32_t i = 0; i < DESCENTS && left > 0; i++) {
        uint32_t best = find_quickest(run, fabric, taken);
        if (best == WEFT_NONE) {
            return;
        }
        const char *found_for = run->entries[best]->found_for;
        taken[best] = true;
        struct weft_strategy strategy = run->entries[best]->strategy;
        struct weft_arena kept = weft_arena_split(&scratch);
        double iteration_s;
        set_rings(fabric, run->entries[best], &kept, scratch);
        left -= compare_descend(&strategy, &iteration_s, &ground, left, &kept, scratch);
        if (iteration_s < HUGE_VAL && run->entry_count < ENTRIES_MAX) {
            taken[run->entry_count] = true; // where a descent ended
            compare_add_entry(run, &strategy, found_for, scratch);
        }
    }
}

void compare_fill_row(struct comparison *run, struct fabric_row *fabric, struct weft_arena scratch)
{
    evaluate_new(run, fabric, scratch);
    struct weft_comparison row = {.name = fabric->row->name};
    bool taken[ENTRIES_MAX] = {false};
    // Its own best first: of two that take the same time the own one is told.
    for (uint32_t i = 0; i < run->entry_count && fabric->best != 0; i++) {
        if (run->entries[i]->key == fabric->best) {
            taken[i] = true;
            play_finalist(run, fabric, i, &row, scratch);
        }
    }
    uint32_t finalists =
        run->table.cluster->server_count > COMPARE_MANY_SERVERS ? FINALISTS_MANY : FINALISTS;
    for (uint32_t f = 0; f < finalists; f++) {
        uint32_t best = find_quickest(run, fabric, taken);
        if (best == WEFT_NONE) {
            break;
        }
        taken[best] = true;
        play_finalist(run, fabric, best, &row, scratch);
    }
    *fabric->row = row;
}

// ---- fabrics ----

void compare_add_fabric(struct comparison *run, const char *name, double budget_usd,
                        struct weft_arena scratch)
{
    struct weft_comparison *row = compare_add_row(&run->table, name);
    struct weft_network *network = WEFT_NEW(run->kept, struct weft_network, 1);
    struct weft_fabric_options options = {.seed = run->table.environment->seed,
                                          .budget_usd = budget_usd};
    struct weft_error error;
    if (!weft_fabric_build_named(
            network, name, run->table.cluster, &options,
            &(struct weft_environment){.arena = run->kept, .scratch = scratch, .error = &error})) {
        compare_refuse(&run->table, row, &error);
        return;
    }
    struct fabric_row *fabric = WEFT_NEW(run->kept, struct fabric_row, 1);
    *fabric =
        (struct fabric_row){.row = row,
                            .network = network,
                            .tours = network->fabric.forwards && network->rings.ring_count == 0};
    run->fabrics[run->fabric_count++] = fabric;
}
