// SPDX-License-Identifier: Apache-2.0
// The rounds: strategies on a network, topologies for the best of them, and the best network back.

#include "coplan.h"

#include <math.h>

// Of each start, unless asked otherwise.
#define ROUNDS_MAX 6u
// Strategies of each search that get a topology.
#define CANDIDATES 4u
// A round that gains less has found nothing.
#define GAIN_RATIO 1e-4
// Rounds that the effort is laid out for; a fixed point that comes sooner leaves the rest to what
// follows.
#define ROUNDS_PLANNED 8.0
#define STRATEGY_SHARE 0.25
#define TOPOLOGY_SHARE 0.25
// A candidate's topology may cost this many true judgements at least.
#define JUDGEMENTS_LEAST 4.0

struct start {
    const struct weft_network *network; // NULL = full mesh
    const struct settled *from;         // where the network is its own; else NULL
};

static bool search_strategies(struct weft_search_result *result, struct coplan *coplan,
                              const struct start *start, uint32_t round, double seconds,
                              uint32_t keep, struct weft_arena *arena, struct weft_arena scratch,
                              struct weft_error *error)
{
    const struct weft_coplan_options *options = coplan->options;
    struct weft_search_options search = options->search;
    search.seconds = seconds;
    search.keep = keep;
    search.seed = weft_hash(search.seed ^ weft_hash(round + 1)) >> 1;
    coplan->seconds_left -= seconds;
    return coplan_search(result, coplan, start->network,
                         start->from != NULL ? &start->from->strategy : NULL, &search, arena,
                         scratch, error);
}

// How many strategies of a round can be given topologies, when one true judgement costs `dear`.
static uint32_t affordable(double seconds, double dear_units)
{
    double each = JUDGEMENTS_LEAST * dear_units / WORK_UNITS_PER_S;
    double count = each > 0 ? seconds / each : CANDIDATES;
    return (uint32_t)fmin(CANDIDATES, fmax(1, count));
}

// One round on `start`. The best that it found, or NULL; false only on failure.
static bool run_round(struct settled **best, struct coplan *coplan, const struct start *start,
                      struct weft_arena scratch, struct weft_error *error)
{
    double seconds = coplan->options->seconds;
    double dear_units = coplan->known_count > 0 ? coplan->known[0]->verdict.work_units : 0;
    double topology_s = seconds * TOPOLOGY_SHARE / ROUNDS_PLANNED;
    uint32_t keep = affordable(topology_s, dear_units);
    struct weft_search_result result;
    struct weft_arena kept = arena_split(&scratch);
    if (!search_strategies(&result, coplan, start, coplan->round_count,
                           seconds * STRATEGY_SHARE / ROUNDS_PLANNED, keep, &kept, scratch,
                           error)) {
        return false;
    }
    *best = NULL;
    for (uint32_t i = 0;
         i < result.count && (i == 0 || !weft_stopped(coplan->options->search.stop)); i++) {
        struct settled *settled =
            coplan_settle(coplan, &result.candidates[i].strategy, topology_s / keep,
                          start->from != NULL ? &start->from->design : NULL, scratch);
        if (settled != NULL &&
            (*best == NULL || settled->verdict.iteration_s < (*best)->verdict.iteration_s)) {
            *best = settled;
        }
    }
    return true;
}

// Rounds from one network until one finds nothing better.
static bool run_start(struct coplan *coplan, struct start start, struct weft_arena scratch,
                      struct weft_error *error)
{
    uint32_t rounds = coplan->options->rounds > 0 ? coplan->options->rounds : ROUNDS_MAX;
    double best_s = start.from != NULL ? start.from->verdict.iteration_s : HUGE_VAL;
    coplan->fixed_point = false;
    for (uint32_t round = 0; round < rounds && coplan->round_count < SETTLED_MAX; round++) {
        if (round > 0 && weft_stopped(coplan->options->search.stop)) {
            return true;
        }
        struct settled *found = NULL;
        if (!run_round(&found, coplan, &start, scratch, error)) {
            return false;
        }
        coplan->round_start[coplan->round_count] = coplan->start_count;
        coplan->round_s[coplan->round_count++] =
            found != NULL ? found->verdict.iteration_s : best_s;
        if (found == NULL || !(found->verdict.iteration_s < best_s * (1 - GAIN_RATIO))) {
            coplan->fixed_point = true;
            return true;
        }
        best_s = found->verdict.iteration_s;
        // Its network stands beside the loop's memory, as its routes point into it.
        struct weft_network *network = WEFT_NEW(coplan->arena, struct weft_network, 1);
        double work_units = 0;
        if (!search_network(network, &work_units, &found->search, &found->design, coplan->arena,
                            scratch)) {
            return true;
        }
        start = (struct start){network, found};
    }
    return true;
}

// Data parallelism is always among those known, if it fits.
static void know_data_parallel(struct coplan *coplan, struct weft_arena scratch)
{
    struct weft_strategy strategy;
    struct weft_error error;
    if (!coplan->hybrid &&
        weft_strategy_data_parallel(&strategy, coplan->model, coplan->cluster, coplan->setting,
                                    coplan->arena, scratch, &error) &&
        weft_strategy_memory(&strategy, coplan->model, coplan->cluster, coplan->setting,
                             coplan->arena, scratch, &error)) {
        double seconds = coplan->options->seconds * TOPOLOGY_SHARE / ROUNDS_PLANNED;
        coplan_settle(coplan, &strategy, seconds, NULL, scratch);
    }
}

bool coplan_alternate(struct coplan *coplan, struct weft_arena scratch, struct weft_error *error)
{
    if (coplan->options->given != NULL) {
        double seconds = coplan->seconds_left / 2;
        if (coplan_settle(coplan, coplan->options->given, seconds, NULL, scratch) == NULL) {
            *error = coplan->why_not;
            return false;
        }
        return true;
    }
    know_data_parallel(coplan, scratch);
    struct start start = {NULL, NULL};
    if (!run_start(coplan, start, scratch, error)) {
        return false;
    }
    coplan->start_count++;
    if (coplan->options->reference != NULL) {
        start.network = coplan->options->reference;
        if (!run_start(coplan, start, scratch, error)) {
            return false;
        }
    }
    if (coplan->known_count == 0) {
        *error = coplan->why_not;
        return false;
    }
    return true;
}
