// SPDX-License-Identifier: Apache-2.0
// Searching the operators space. Method weft: three rounds of eight annealing chains, which begin
// at data parallelism, at branches on blocks of servers and at branch splits, and go on from the
// best of the round before; method mcmc: the one chain of the TopoOpt artifact (after FlexFlow,
// SysML 2019). Effort is counted in evaluations, so the same seed gives the same result on any
// machine and any number of threads. docs/strategies.md describes starts and moves and has the
// measured results.

#include "search.h"
#include "starts.h"
#include "strategy/operators/graph.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

// The plan of the search, as docs/strategies.md ("The searches") has it: chains and rounds, how
// many of the best are kept between rounds, and each round's share of the effort, temperatures and
// starts. `bench_strategy` shows what it finds beside the artifact's chain; no other plan is on
// record.
#define CHAINS 8u
#define ROUNDS 3u
#define BEST 32u
#define BEST_OF_CHAIN 1u // so that candidates come from different chains
#define SECONDS_DEFAULT 10.0
// Strands: chains that begin there, their first temperature, which leaves them whole, and the share
// of the evaluations that finding them may take.
#define SPLIT_CHAINS 2u
#define SPLIT_HOT_RATIO 0.01
#define SPLIT_SHARE 0.1
#define MCMC_EVALUATIONS 5000u
#define MCMC_HEAT_S 1e-3 // exp(-alpha dt), alpha 1 per ms

// Rounds: share of the effort, temperatures, and how many of the best chains go on from.
static const struct {
    double share;
    struct weft_anneal_cooling cooling;
    uint32_t from;
} rounds[ROUNDS] = {{0.5, {0.05, 0.001, WEFT_ANNEAL_OF_BEST, 0}, 1},
                    {0.3, {0.01, 0.0003, WEFT_ANNEAL_OF_BEST, 0}, 4},
                    {0.2, {0.002, 0.0001, WEFT_ANNEAL_OF_BEST, 0}, 2}};

struct search {
    const struct weft_strategy_space *space;
    const struct weft_search_options *options;
    uint32_t round;
    uint64_t evaluations; // of a chain of this round
    struct weft_rng rng;
    struct placement placements[CHAINS];
    struct best_k best_of_chain[CHAINS];
    struct chain chains[CHAINS];
    uint32_t apart[CHAINS];      // of chains that begin with a branch split and keep one; else 0
    struct best_k split_best;    // what these chains found
    struct kept leanest[CHAINS]; // of this round
    double least_bytes;          // of all rounds
    struct kept least;
};

// ---- effort ----

// About what an evaluation takes on one core of 2020: fitted, see docs/strategies.md.
static double evaluation_s(const struct weft_strategy_space *space)
{
    double parts = 0;
    for (uint32_t i = 0; i < space->node_count; i++) {
        parts += space->nodes[i].table ? 1 : space->server_count;
    }
    return 3e-6 + 0.4e-6 * space->node_count + 2.5e-9 * parts +
           2e-9 * space->node_count * space->row;
}

static uint64_t effort(const struct weft_strategy_space *space,
                       const struct weft_search_options *options)
{
    if (options->evaluations > 0) {
        return options->evaluations;
    }
    if (options->method == WEFT_SEARCH_MCMC && options->seconds <= 0) {
        return MCMC_EVALUATIONS;
    }
    double seconds = options->seconds > 0 ? options->seconds : SECONDS_DEFAULT;
    return 1 + (uint64_t)fmin(seconds / evaluation_s(space), 1e12);
}

// ---- rounds ----

static void run_chain(void *context, uint32_t index, struct weft_arena scratch)
{
    struct search *search = context;
    weft_chain_run(&search->chains[index], scratch);
}

// Runs the chains of a round on as many threads as there may be and merges what they found in the
// order of their numbers. Chains of branch splits go on from their own best, all others from the
// best of all.
static void run_round(struct search *search, struct best_k *best)
{
    uint32_t from = rounds[search->round].from;
    for (uint32_t c = 0; c < CHAINS; c++) {
        const struct best_k *own = search->apart[c] > 0 ? &search->split_best : best;
        if (search->round > 0 && own->count > 0) {
            weft_kept_load(&search->placements[c], &own->kept[c % from % own->count]);
        }
        search->best_of_chain[c].count = 0;
        search->chains[c] = (struct chain){
            .space = search->space,
            .placement = &search->placements[c],
            .rng = weft_rng_split(&search->rng, search->round * CHAINS + c),
            .evaluations = search->evaluations,
            .cooling = rounds[search->round].cooling,
            .apart = search->apart[c],
            .nested = search->round == 0 || (search->round == 1 && c % 2 == 0),
            .stop = search->options->stop,
            .progress_ps = search->options->progress_ps,
            .best = &search->best_of_chain[c],
            .leanest = search->leanest[c],
        };
        if (search->apart[c] > 0 && search->round == 0) {
            search->chains[c].cooling.hot = SPLIT_HOT_RATIO;
        }
    }
    weft_parallel_for(CHAINS, search->options->threads, run_chain, search);
    for (uint32_t c = 0; c < CHAINS; c++) {
        weft_best_k_merge(best, &search->best_of_chain[c], search->space);
        if (search->apart[c] > 0) {
            weft_best_k_merge(&search->split_best, &search->best_of_chain[c], search->space);
        }
    }
}

// Keeps the leanest placement of all chains for fail_unfit.
static void merge_leanest(struct search *search, const struct chain *chain)
{
    if (chain->least_bytes < search->least_bytes) {
        search->least_bytes = chain->least_bytes;
        weft_kept_copy(&search->least, &chain->leanest, search->space);
    }
}

// Sets the last chains of those that would begin at data parallelism on the best branch splits.
static uint64_t set_splits(struct search *search, uint64_t evaluations, struct weft_arena scratch)
{
    struct best_k found;
    weft_best_k_init(&found, search->space, SPLIT_CHAINS, &scratch);
    struct placement *placement = &search->placements[0];
    uint64_t made = weft_start_branch_split(&found, placement, evaluations, scratch);
    weft_start_parallel(placement, scratch);
    for (uint32_t i = 0; i < found.count; i++) {
        uint32_t c = 4 + 2 * i;
        weft_kept_load(&search->placements[c], &found.kept[i]);
        search->apart[c] = weft_chain_apart(&search->placements[c]) / 2;
    }
    return made;
}

static uint64_t run_weft(struct search *search, struct best_k *best, uint64_t evaluations,
                         struct weft_arena scratch)
{
    uint64_t made = set_splits(search, (uint64_t)(SPLIT_SHARE * (double)evaluations), scratch);
    evaluations -= made < evaluations ? made : evaluations;
    for (search->round = 0; search->round < ROUNDS; search->round++) {
        double share = rounds[search->round].share * (double)evaluations / CHAINS;
        search->evaluations = 1 + (uint64_t)share;
        run_round(search, best);
        for (uint32_t c = 0; c < CHAINS; c++) {
            made += search->chains[c].made;
            merge_leanest(search, &search->chains[c]);
        }
    }
    return made;
}

static uint64_t run_mcmc(struct search *search, struct best_k *best, uint64_t evaluations,
                         struct weft_arena scratch)
{
    struct chain chain = {
        .space = search->space,
        .placement = &search->placements[0],
        .rng = search->rng,
        .evaluations = evaluations,
        .cooling = {MCMC_HEAT_S, MCMC_HEAT_S, WEFT_ANNEAL_ABSOLUTE, 0},
        .flexflow = true,
        .reset = evaluations / 100,
        .stop = search->options->stop,
        .progress_ps = search->options->progress_ps,
        .best = best,
        .leanest = search->leanest[0],
    };
    weft_chain_run(&chain, scratch);
    merge_leanest(search, &chain);
    return chain.made;
}

// ---- results ----

// What is in the way of the leanest placement, by the figures of weft_strategy_memory.
static bool fail_unfit(struct search *search, struct weft_arena scratch, struct weft_error *error)
{
    char limit[WEFT_UNIT_TEXT];
    struct weft_strategy leanest;
    struct weft_arena kept = weft_arena_split(&scratch);
    weft_kept_load(&search->placements[0], &search->least);
    if (weft_placement_store(&leanest, &search->placements[0], &kept, scratch, error)) {
        // Copies of inputs were counted from above, and make the difference.
        weft_fail(error, WEFT_INFEASIBLE,
                  "no strategy was found that fits; search longer or take more memory");
        return weft_remedy(error, "seconds", "%s", "");
    }
    return weft_wrap(error, "no strategy fits into %s an accelerator; of the leanest one tried",
                     weft_show_bytes(limit, search->space->study.setting->memory_limit_bytes));
}

static bool publish(struct weft_search_result *result, struct search *search,
                    const struct best_k *best, struct weft_arena *arena, struct weft_arena scratch,
                    struct weft_error *error)
{
    uint32_t keep = search->options->keep > 0 ? search->options->keep : 1;
    struct weft_candidate *candidates = WEFT_NEW(arena, struct weft_candidate, keep);
    uint32_t count = 0;
    for (uint32_t i = 0; i < best->count && count < keep; i++) {
        weft_kept_load(&search->placements[0], &best->kept[i]);
        if (weft_placement_store(&candidates[count].strategy, &search->placements[0], arena,
                                 scratch, error)) {
            candidates[count++].estimate_ps = weft_picoseconds(best->kept[i].seconds);
        }
    }
    result->count = count;
    result->candidates = candidates;
    return count > 0;
}

// Half of the chains begin at data parallelism or where the caller says, the others with branches
// on blocks of a half, a quarter, an eighth of the servers.
static bool set_starts(struct search *search, const struct weft_strategy *start,
                       struct weft_arena *work, struct weft_arena scratch, struct weft_error *error)
{
    for (uint32_t c = 0; c < CHAINS; c++) {
        struct placement *placement = &search->placements[c];
        weft_placement_init(placement, search->space, work);
        weft_best_k_init(&search->best_of_chain[c], search->space, BEST_OF_CHAIN, work);
        search->leanest[c] = weft_kept_new(search->space, work);
        weft_start_parallel(placement, scratch);
        if (c % 2 == 1) {
            weft_start_branches(placement, search->space->server_count >> (c % 8 / 2 + 1), scratch);
        } else if (start != NULL && c == 2 && !weft_placement_load(placement, start, scratch)) {
            return weft_fail(error, WEFT_INPUT,
                             "the strategy to start from divides operators as the %s does not, or "
                             "puts two parts of one on a server; leave it out",
                             search->space->study.setting->cost.profile != NULL ? "profile"
                                                                                : "search");
        }
    }
    return true;
}

// Checks the start, boils the model down, and searches in one half of the scratch space with
// temporaries in the other. What is published has had its memory computed exactly; the search
// counts it from above.
bool weft_strategy_search(struct weft_search_result *result, const struct weft_study *study,
                          const struct weft_search_options *options, struct weft_arena *arena,
                          struct weft_arena scratch, struct weft_error *error)
{
    struct weft_arena work = weft_arena_split(&scratch);
    struct weft_strategy_space space;
    const struct weft_strategy *start = options->start;
    if (start != NULL && (start->kind != WEFT_STRATEGY_OPERATORS ||
                          !weft_operators_check(start, study->model, study->cluster, error))) {
        return start->kind == WEFT_STRATEGY_OPERATORS
                   ? weft_wrap(error, "the strategy to start from")
                   : weft_fail(error, WEFT_INPUT, "the strategy to start from is hybrid");
    }
    if (!weft_search_space_build(&space, study, &work, scratch, error)) {
        return false;
    }
    struct search *search = WEFT_NEW(&work, struct search, 1);
    struct best_k best;
    search->space = &space;
    search->options = options;
    weft_rng_init(&search->rng, options->seed);
    weft_best_k_init(&best, &space, BEST, &work);
    weft_best_k_init(&search->split_best, &space, BEST, &work);
    search->least_bytes = HUGE_VAL;
    search->least = weft_kept_new(&space, &work);
    if (!set_starts(search, start, &work, scratch, error)) {
        return false;
    }
    uint64_t evaluations = effort(&space, options);
    struct weft_search_result found = {0};
    found.evaluations = options->method == WEFT_SEARCH_MCMC
                            ? run_mcmc(search, &best, evaluations, scratch)
                            : run_weft(search, &best, evaluations, scratch);
    if (best.count == 0) {
        return fail_unfit(search, scratch, error);
    }
    if (!publish(&found, search, &best, arena, scratch, error)) {
        return false;
    }
    *result = found;
    return true;
}
