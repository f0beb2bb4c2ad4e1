// SPDX-License-Identifier: Apache-2.0
// The search over all splits of the degree: one short chain each, long ones for the best.
//
// Chains have states and generators of their own and are merged by index, so that the outcome is
// the same for any number of threads. The second round goes on from the states of the first: where
// it starts anew with the same splits, the best score is 1.2 % worse on average, and plans take
// 0.45 % longer, 5.9 % at most (dlrm_16, moe_16 and gpt_16 at d = 4 and 25 Gbps, dlrm_16 at d = 3
// and moe_16 at d = 5 at 100 Gbps, --effort 0.4, four seeds). O(work_units) in all.

#include "mix.h"
#include "topology/internal.h"

#include <string.h>

// Splits at most, and the steps that a chain of the first round must at least afford.
#define SPLIT_MAX 48u
#define FIRST_STEPS_MIN 8.0
// Chains of the second round, and how far behind the best score they may begin: worse splits do not
// catch up. The first round's share of the effort. Not measured one by one: they trade breadth over
// splits for depth in the best ones.
#define FINALIST_MAX 4u
#define FINALIST_SCORE 1.3
#define FIRST_ROUND_SHARE 0.4
// More steps of a chain than these no longer help, so that small searches end early.
#define STEPS_BASE 20000u
#define STEPS_PER_SERVER 10000u

struct search {
    const struct weft_mix_space *space;
    const struct weft_environment *environment;
    struct weft_mix_state *states;
    uint32_t *chosen; // states of this round
    uint64_t *steps;  // of each state, all rounds
    bool *stopped;
    bool fresh;
    double work_units; // of a chain of this round
};

static void run_chain(void *context, uint32_t index, struct weft_arena scratch)
{
    struct search *search = context;
    uint32_t at = search->chosen[index];
    uint64_t stream = 2 * (uint64_t)at + (search->fresh ? 0 : 1);
    struct weft_rng rng = weft_rng_stream(search->environment->seed, stream);
    struct weft_mix_chain chain = {
        .space = search->space,
        .state = &search->states[at],
        .fresh = search->fresh,
        .work_units = search->work_units,
        .steps_max = STEPS_BASE + STEPS_PER_SERVER * search->space->n,
        .stop = search->environment->stop,
    };
    weft_mix_anneal(&chain, &rng, scratch);
    search->steps[at] += chain.steps;
    search->stopped[at] = search->stopped[at] || chain.stopped;
}

// Indices of all states by rising score, ties by index.
static void rank_states(uint32_t *order, const struct weft_mix_state *states, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i;
        while (at > 0 && states[order[at - 1]].score > states[i].score) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
}

// As many splits as the first round can give a few steps each.
static uint32_t affordable_splits(const struct weft_mix_space *space, double work_units)
{
    double step = (double)space->n * space->n * (4 + 6.0 * space->degree);
    double count = work_units * FIRST_ROUND_SHARE / (FIRST_STEPS_MIN * step);
    return count < 1 ? 1 : count < SPLIT_MAX ? (uint32_t)count : SPLIT_MAX;
}

void weft_mix_search(struct weft_mix_found *found, uint32_t best_max,
                     const struct weft_mix_space *space, double work_units,
                     const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    struct weft_mix_split splits[SPLIT_MAX];
    uint32_t count = weft_mix_list_splits(splits, affordable_splits(space, work_units), space);
    struct search search = {
        .space = space,
        .environment = environment,
        .states = WEFT_NEW(&scratch, struct weft_mix_state, count),
        .chosen = WEFT_NEW(&scratch, uint32_t, count),
        .steps = WEFT_NEW(&scratch, uint64_t, count),
        .stopped = WEFT_NEW(&scratch, bool, count),
        .fresh = true,
        .work_units = work_units * FIRST_ROUND_SHARE / count,
    };
    for (uint32_t i = 0; i < count; i++) {
        weft_mix_state_init(&search.states[i], space, &splits[i], &scratch);
        search.chosen[i] = i;
    }
    weft_parallel_for(count, environment->threads, run_chain, &search);
    rank_states(search.chosen, search.states, count);
    uint32_t finalists = 1;
    double worst = FINALIST_SCORE * search.states[search.chosen[0]].score;
    while (finalists < count && finalists < FINALIST_MAX &&
           search.states[search.chosen[finalists]].score <= worst) {
        finalists++;
    }
    search.fresh = false;
    search.work_units = work_units * (1 - FIRST_ROUND_SHARE) / finalists;
    weft_parallel_for(finalists, environment->threads, run_chain, &search);
    rank_states(search.chosen, search.states, count);
    uint32_t kept = count < best_max ? count : best_max;
    struct weft_arena *arena = environment->arena;
    *found = (struct weft_mix_found){.count = kept,
                                     .states = WEFT_NEW(arena, struct weft_mix_state, kept)};
    for (uint32_t i = 0; i < kept; i++) {
        weft_mix_state_clone(&found->states[i], &search.states[search.chosen[i]], space, arena);
    }
    for (uint32_t i = 0; i < count; i++) {
        found->steps += search.steps[i];
        found->stopped = found->stopped || search.stopped[i];
    }
}
