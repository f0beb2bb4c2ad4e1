// SPDX-License-Identifier: Apache-2.0
// Annealing of wirings by their (weighted) sum of distances.

#include "anneal.h"

#include "weft/base/anneal.h"

#include <math.h>
#include <string.h>

// Temperatures in hops of a mean pair. Answers hardly depend on them (docs/weft-topology.md).
#define HOT 10.0
#define COLD 0.3
#define TEMPERATURE_PERIOD 64u // steps
#define SYMMETRY_MAX 8         // chains of the first round
#define FINALIST_MAX 4         // chains of the second
#define FIRST_ROUND_SHARE 0.3
#define ORBITS_MIN 8 // fewer leave too little to choose
#define STEP_UNITS 300u
#define NODE_UNITS 2u // of a step, for each node of a part

struct chain {
    uint32_t symmetry;
    uint64_t seed_index;
    double work_units;
    struct weft_wiring best; // allocated before the chains start, so that they share nothing
    uint64_t best_sum;       // over all sources: comparable between symmetries
    uint64_t steps;
    bool stopped;
};

struct chains {
    const struct weft_wiring_options *options;
    struct chain *chains;
};

static uint32_t part_count_of(const struct weft_wiring_options *options)
{
    return options->cycle_count + options->ring_count + options->matching_count;
}

void weft_walecki_cycle(uint32_t *nodes, uint32_t node_count, uint32_t index)
{
    WEFT_ASSERT(node_count >= 3 && index < (node_count - 1) / 2);
    uint32_t modulus = node_count - 1;
    nodes[0] = modulus;
    for (uint32_t i = 0; i < modulus; i++) {
        uint32_t zigzag = i % 2 == 1 ? (i + 1) / 2 : (modulus - i / 2) % modulus;
        nodes[1 + i] = (index + zigzag) % modulus;
    }
}

void weft_walecki_matching(uint32_t *nodes, uint32_t node_count, uint32_t index)
{
    if (node_count % 2 == 1) {
        weft_walecki_cycle(nodes, node_count, index % ((node_count - 1) / 2));
        return;
    }
    // What all (n-2)/2 cycles leave: the pairs of Z_(n-1) that add to -1, and the odd one out.
    uint32_t modulus = node_count - 1;
    uint32_t filled = 0;
    for (uint32_t u = 0; u < modulus / 2; u++) {
        nodes[filled++] = u;
        nodes[filled++] = modulus - 1 - u;
    }
    nodes[filled++] = modulus / 2;
    nodes[filled++] = modulus;
    WEFT_ASSERT(filled == node_count);
}

static void init_wiring(struct weft_wiring *wiring, const struct weft_wiring_options *options,
                        uint32_t symmetry, struct weft_arena *arena)
{
    uint32_t count = part_count_of(options);
    uint32_t orbits = options->node_count / symmetry;
    struct weft_part *parts = WEFT_NEW(arena, struct weft_part, count);
    uint32_t slot = 0;
    for (uint32_t p = 0; p < count; p++) {
        enum weft_part_kind kind = p < options->cycle_count ? WEFT_PART_CYCLE
                                   : p < options->cycle_count + options->ring_count
                                       ? WEFT_PART_RING
                                       : WEFT_PART_MATCHING;
        uint32_t *order = WEFT_NEW(arena, uint32_t, orbits);
        for (uint32_t i = 0; i < orbits; i++) {
            order[i] = i;
        }
        parts[p] = (struct weft_part){.kind = kind, .size = orbits, .order = order, .slot = slot};
        slot += weft_part_slots(kind);
    }
    weft_wiring_init(wiring, options->node_count, symmetry, parts, count, arena);
}

// A dense wiring starts from edge-disjoint cycles: with 2d >= n those have diameter 2 and are best
// possible for uniform demand. False where there are not enough of them.
static bool start_dense(struct weft_wiring *wiring, const struct weft_wiring_options *options)
{
    uint32_t n = options->node_count;
    uint32_t cycles = n < 3 ? 0 : (n - 1) / 2;
    uint32_t degree = wiring->slot_count;
    bool fits = options->cycle_count <= cycles && options->ring_count <= 2 * cycles &&
                options->matching_count <= 1 &&
                (options->ring_count == 0 || options->cycle_count == 0);
    if (wiring->symmetry != 1 || n < 3 || 2 * (uint64_t)degree < n || !fits) {
        return false;
    }
    for (uint32_t p = 0; p < wiring->part_count; p++) {
        struct weft_part *part = &wiring->parts[p];
        if (part->kind == WEFT_PART_MATCHING) {
            weft_walecki_matching(part->order, n, options->cycle_count);
        } else if (part->kind == WEFT_PART_CYCLE || p % 2 == 0) {
            weft_walecki_cycle(part->order, n, part->kind == WEFT_PART_CYCLE ? p : p / 2);
        } else {
            for (uint32_t i = 0; i < n; i++) { // the one before, the other way round
                part->order[i] = wiring->parts[p - 1].order[n - 1 - i];
            }
        }
        weft_wiring_light(wiring, part);
    }
    return true;
}

static uint64_t step_units(const struct weft_wiring *wiring)
{
    return STEP_UNITS + (uint64_t)NODE_UNITS * wiring->node_count;
}

// ---- one chain: the state of the annealer, and its moves ----

struct walk {
    struct weft_wiring_chain *chain;
    struct weft_part_copy copy; // of the part that the last move changed
    uint32_t moved;
    double hot;
};

static double wiring_progress(const struct weft_anneal *anneal)
{
    const struct walk *walk = anneal->state;
    double spent = (double)walk->chain->hops->work / walk->chain->work_units;
    double ahead = (double)anneal->steps / (double)anneal->steps_max;
    return spent > ahead ? spent : ahead;
}

static double wiring_temperature(const struct weft_anneal *anneal, double progress)
{
    const struct walk *walk = anneal->state;
    return weft_anneal_cool(walk->hot, COLD * walk->chain->unit, progress);
}

static enum weft_anneal_proposal propose_wiring(struct weft_anneal *anneal)
{
    struct walk *walk = anneal->state;
    walk->moved = weft_wiring_move(walk->chain->wiring, &walk->copy, anneal->rng);
    return walk->moved == WEFT_NONE ? WEFT_ANNEAL_STUCK : WEFT_ANNEAL_MOVED;
}

static double evaluate_wiring(struct weft_anneal *anneal)
{
    const struct weft_wiring_chain *chain = ((const struct walk *)anneal->state)->chain;
    chain->hops->work += step_units(chain->wiring);
    return (double)weft_hops_sum(chain->hops, chain->wiring).sum;
}

static void undo_wiring(struct weft_anneal *anneal)
{
    struct walk *walk = anneal->state;
    weft_wiring_undo(walk->chain->wiring, walk->moved, &walk->copy);
}

static void record_wiring(struct weft_anneal *anneal)
{
    const struct weft_wiring_chain *chain = ((const struct walk *)anneal->state)->chain;
    weft_wiring_copy(chain->best, chain->wiring);
}

static const struct weft_anneal_moves wiring_moves = {
    .progress = wiring_progress,
    .temperature = wiring_temperature,
    .propose = propose_wiring,
    .evaluate = evaluate_wiring,
    .undo = undo_wiring,
    .record = record_wiring,
};

void weft_wiring_chain(struct weft_wiring_chain *chain, struct weft_rng *rng,
                       struct weft_arena scratch)
{
    struct walk walk = {
        .chain = chain,
        .copy = weft_part_copy_init(chain->wiring->orbit_count, &scratch),
        .hot = fmax(HOT * chain->heat, COLD) * chain->unit,
    };
    double sum = (double)weft_hops_sum(chain->hops, chain->wiring).sum; // below 2^53: exact
    weft_wiring_copy(chain->best, chain->wiring);
    struct weft_anneal anneal = {
        .moves = &wiring_moves,
        .state = &walk,
        .rng = rng,
        .stop = chain->stop,
        .bound = (double)chain->bound,
        .steps_max = chain->steps_max,
        .period = TEMPERATURE_PERIOD,
        .current = sum,
        .best = sum,
    };
    weft_anneal_run(&anneal);
    chain->best_sum = (uint64_t)anneal.best;
    chain->steps = anneal.steps;
    chain->stopped = anneal.stopped;
}

static void run_chain(void *context, uint32_t index, struct weft_arena scratch)
{
    struct chains *chains = context;
    const struct weft_wiring_options *options = chains->options;
    struct chain *chain = &chains->chains[index];
    struct weft_wiring wiring;
    init_wiring(&wiring, options, chain->symmetry, &scratch);
    struct weft_rng root;
    struct weft_rng rng;
    weft_rng_init(&root, options->seed);
    rng = weft_rng_split(&root, chain->seed_index);
    if (!start_dense(&wiring, options)) {
        weft_wiring_shuffle(&wiring, &rng);
    }
    struct weft_hops hops;
    weft_hops_init(&hops, options->node_count, wiring.orbit_count, options->weights, &scratch);
    uint64_t bound = hops.weight_total; // every pair one hop apart
    struct weft_wiring_chain run = {
        .wiring = &wiring,
        .best = &chain->best,
        .hops = &hops,
        .unit = weft_hops_mean_weight(&hops),
        .heat = 1,
        .work_units = chain->work_units,
        .steps_max = options->steps_max,
        .bound = options->weights == NULL ? options->sum_bound / chain->symmetry : bound,
        .stop = options->stop,
    };
    weft_wiring_chain(&run, &rng, scratch);
    chain->best_sum = run.best_sum * chain->symmetry;
    chain->steps = run.steps;
    chain->stopped = run.stopped;
}

// Divisors of n that leave enough orbits (an even number of them for matchings), at most
// SYMMETRY_MAX, spread evenly over the list.
static uint32_t list_symmetries(uint32_t *symmetries, const struct weft_wiring_options *options,
                                struct weft_arena scratch)
{
    uint32_t n = options->node_count;
    uint32_t *all = WEFT_NEW(&scratch, uint32_t, n);
    uint32_t count = 0;
    for (uint32_t s = 1; s <= n / ORBITS_MIN && options->weights == NULL; s++) {
        bool pairs = options->matching_count == 0 || (n / s) % 2 == 0;
        if (n % s == 0 && (pairs || s == 1)) {
            all[count++] = s;
        }
    }
    if (count == 0) {
        all[count++] = 1;
    }
    uint32_t kept = count < SYMMETRY_MAX ? count : SYMMETRY_MAX;
    for (uint32_t i = 0; i < kept; i++) {
        symmetries[i] = all[kept == 1 ? 0 : (uint64_t)i * (count - 1) / (kept - 1)];
    }
    return kept;
}

// Runs chains [first, first + count) and adds up their steps.
static void run_round(struct weft_wiring_result *result, struct chains *chains, uint32_t first,
                      uint32_t count, struct weft_arena *arena)
{
    const struct weft_wiring_options *options = chains->options;
    for (uint32_t i = first; i < first + count; i++) {
        struct chain *chain = &chains->chains[i];
        chain->seed_index = i;
        init_wiring(&chain->best, options, chain->symmetry, arena);
    }
    struct chains round = {options, chains->chains + first};
    weft_parallel_for(count, options->threads, run_chain, &round);
    for (uint32_t i = first; i < first + count; i++) {
        result->steps += chains->chains[i].steps;
        result->stopped = result->stopped || chains->chains[i].stopped;
    }
}

void weft_wiring_search(struct weft_wiring_result *result,
                        const struct weft_wiring_options *options, struct weft_arena *arena,
                        struct weft_arena scratch)
{
    WEFT_ASSERT(part_count_of(options) > 0 && options->work_units > 0);
    *result = (struct weft_wiring_result){.stopped = false};
    uint32_t symmetries[SYMMETRY_MAX];
    uint32_t count = list_symmetries(symmetries, options, scratch);
    struct chain *all = WEFT_NEW(&scratch, struct chain, SYMMETRY_MAX + FINALIST_MAX);
    struct chains chains = {options, all};
    double first_units = options->work_units * FIRST_ROUND_SHARE / count;
    for (uint32_t i = 0; i < count; i++) {
        all[i] = (struct chain){.symmetry = symmetries[i], .work_units = first_units};
    }
    run_round(result, &chains, 0, count, &scratch);
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; i++) {
        best = all[i].best_sum < all[best].best_sum ? i : best;
    }
    uint32_t total = count;
    if (all[best].best_sum > options->sum_bound && !result->stopped) {
        uint32_t other = best == 0 && count > 1 ? 1 : 0;
        for (uint32_t i = 0; i < count; i++) {
            other = i != best && all[i].best_sum < all[other].best_sum ? i : other;
        }
        double units = options->work_units * (1 - FIRST_ROUND_SHARE) / FINALIST_MAX;
        for (uint32_t i = 0; i < FINALIST_MAX; i++) {
            uint32_t symmetry = all[i % 2 == 0 ? best : other].symmetry;
            all[total++] = (struct chain){.symmetry = symmetry, .work_units = units};
        }
        run_round(result, &chains, count, FINALIST_MAX, &scratch);
    }
    for (uint32_t i = 1; i < total; i++) {
        best = all[i].best_sum < all[best].best_sum ? i : best;
    }
    init_wiring(&result->wiring, options, all[best].symmetry, arena);
    weft_wiring_copy(&result->wiring, &all[best].best);
    result->sum = all[best].best_sum;
}
