// SPDX-License-Identifier: Apache-2.0
// Annealing of designs by their (weighted) sum of distances: the weft method for uniform demand.
//
// Among unions of Hamiltonian cycles many come near Moore's bound on the mean distance, and 2-opt
// finds them from a random start (the annealer is weft/base/anneal.h's). Designs with a symmetry
// cost 1/s a step and reach further (the lifts of weft/topology.h); which s serves best is found by
// a short chain for each, and long chains follow for the best two, each from a random design: going
// on from the best of the short ones, as mix_search.c does, changes the mean hops by -0.18 % on
// average at 0.3 of the heat, by -0.12 % at all of it and by -0.12 % at 0.1 (60, 61, 127 and 128
// servers of 4 ports, 100 of 3, --effort 0.3, four seeds). Dense designs start from cycles that
// share no edge and are done at once. O(work_units), divided over the threads;
// docs/weft-topology.md has the figures.

#include "anneal.h"

#include "weft/base/anneal.h"

#include <math.h>
#include <string.h>

// Temperatures in hops of a mean pair. Between 4 and 100 hot and 0.3 and 4 cold the result changes
// by less than 0.5 % (docs/weft-topology.md, "Annealing").
#define HOT 10.0
#define COLD 0.3
// Steps between two changes of the temperature, each of which costs a power.
#define TEMPERATURE_PERIOD 64u
// Chains of the first round, one a symmetry, and of the second; the first round's share of the
// effort. Not measured one by one: more first chains leave less for the symmetry that wins.
#define SYMMETRY_MAX 8
#define FINALIST_MAX 4
#define FIRST_ROUND_SHARE 0.3
// Fewer orbits leave too little to choose: 8 of them have 5040 directed cycles.
#define ORBITS_MIN 8
// Work units of a step beside its sum of distances: fixed, and for each server of a part. Fitted to
// the times of property_weft_quality (docs/weft-topology.md, "Effort").
#define STEP_UNITS 300.0
#define SERVER_UNITS 2.0

struct chain {
    uint32_t symmetry;
    uint64_t seed_index;
    double work_units;
    struct weft_design best; // allocated before the chains start, so that they share nothing
    uint64_t best_sum;       // over all sources: comparable between symmetries
    uint64_t steps;
    bool stopped;
};

struct chains {
    const struct weft_hops_options *options;
    const struct weft_environment *environment;
    struct chain *chains;
};

static uint32_t part_count_of(const struct weft_hops_options *options)
{
    return options->cycle_count + options->ring_count + options->matching_count;
}

void weft_walecki_cycle(uint32_t *servers, uint32_t server_count, uint32_t index)
{
    WEFT_ASSERT(server_count >= 3 && index < (server_count - 1) / 2);
    uint32_t modulus = server_count - 1;
    servers[0] = modulus;
    for (uint32_t i = 0; i < modulus; i++) {
        uint32_t zigzag = i % 2 == 1 ? (i + 1) / 2 : (modulus - i / 2) % modulus;
        servers[1 + i] = (index + zigzag) % modulus;
    }
}

void weft_walecki_matching(uint32_t *servers, uint32_t server_count, uint32_t index)
{
    if (server_count % 2 == 1) {
        weft_walecki_cycle(servers, server_count, index % ((server_count - 1) / 2));
        return;
    }
    // What all (n-2)/2 cycles leave: the pairs of Z_(n-1) that add to -1, and the odd one out.
    uint32_t modulus = server_count - 1;
    uint32_t filled = 0;
    for (uint32_t u = 0; u < modulus / 2; u++) {
        servers[filled++] = u;
        servers[filled++] = modulus - 1 - u;
    }
    servers[filled++] = modulus / 2;
    servers[filled++] = modulus;
    WEFT_ASSERT(filled == server_count);
}

// A lit design of the parts asked for, each over all orbits.
static struct weft_design open_design(const struct weft_hops_options *options, uint32_t symmetry,
                                      struct weft_arena *arena)
{
    uint32_t count = part_count_of(options);
    uint32_t degree = 2 * options->cycle_count + options->ring_count + options->matching_count;
    uint32_t rings_end = options->cycle_count + options->ring_count;
    struct weft_design design =
        weft_design_open(options->server_count, degree, symmetry, count, arena);
    uint32_t slot = 0;
    for (uint32_t p = 0; p < count; p++) {
        enum weft_part_kind kind = p < options->cycle_count ? WEFT_PART_CYCLE
                                   : p < rings_end          ? WEFT_PART_RING
                                                            : WEFT_PART_MATCHING;
        weft_design_add(&design, kind, slot, NULL, design.orbit_count, arena);
        slot += weft_part_planes(kind);
    }
    weft_design_light(&design, arena);
    return design;
}

// A dense design starts from edge-disjoint cycles: with 2d >= n those have diameter 2 and are best
// possible for uniform demand. False where there are not enough of them.
static bool start_dense(struct weft_design *design, const struct weft_hops_options *options)
{
    uint32_t n = options->server_count;
    uint32_t cycles = n < 3 ? 0 : (n - 1) / 2;
    bool fits = options->cycle_count <= cycles && options->ring_count <= 2 * cycles &&
                options->matching_count <= 1 &&
                (options->ring_count == 0 || options->cycle_count == 0);
    if (design->symmetry != 1 || n < 3 || 2 * (uint64_t)design->degree < n || !fits) {
        return false;
    }
    for (uint32_t p = 0; p < design->part_count; p++) {
        struct weft_part *part = &design->parts[p];
        if (part->kind == WEFT_PART_MATCHING) {
            weft_walecki_matching(part->order, n, options->cycle_count);
        } else if (part->kind == WEFT_PART_CYCLE || p % 2 == 0) {
            weft_walecki_cycle(part->order, n, part->kind == WEFT_PART_CYCLE ? p : p / 2);
        } else {
            for (uint32_t i = 0; i < n; i++) { // the one before, the other way round
                part->order[i] = design->parts[p - 1].order[n - 1 - i];
            }
        }
        weft_design_light_part(design, part);
    }
    return true;
}

// ---- one chain: the state of the annealer, and its moves ----

struct walk {
    struct weft_hops_chain *chain;
    struct weft_part_copy copy; // of the part that the last move changed
    uint32_t moved;
};

static enum weft_anneal_proposal propose_hops(struct weft_anneal *anneal)
{
    struct walk *walk = anneal->state;
    walk->moved = weft_design_move(walk->chain->design, WEFT_MOVES_EDGES, &walk->copy, anneal->rng);
    return walk->moved == WEFT_NONE ? WEFT_ANNEAL_STUCK : WEFT_ANNEAL_MOVED;
}

static double evaluate_hops(struct weft_anneal *anneal)
{
    const struct weft_hops_chain *chain = ((const struct walk *)anneal->state)->chain;
    double sum = (double)weft_hops_sum(chain->hops, chain->design).sum; // below 2^53: exact
    anneal->work = (double)chain->hops->work;
    return sum;
}

static void undo_hops(struct weft_anneal *anneal)
{
    struct walk *walk = anneal->state;
    weft_design_undo(walk->chain->design, walk->moved, &walk->copy);
}

static void record_hops(struct weft_anneal *anneal)
{
    const struct weft_hops_chain *chain = ((const struct walk *)anneal->state)->chain;
    weft_design_assign(chain->best, chain->design);
}

static const struct weft_anneal_moves hops_moves = {
    .propose = propose_hops,
    .evaluate = evaluate_hops,
    .undo = undo_hops,
    .record = record_hops,
};

// The sum of distances of `design` is that of its lit links, so that a chain begins by counting it;
// `best` begins as the design itself, which no chain leaves worse.
void weft_hops_chain(struct weft_hops_chain *chain, struct weft_rng *rng, struct weft_arena scratch)
{
    struct walk walk = {
        .chain = chain,
        .copy = weft_part_copy_init(chain->design->orbit_count, &scratch),
    };
    double sum = (double)weft_hops_sum(chain->hops, chain->design).sum;
    weft_design_assign(chain->best, chain->design);
    struct weft_anneal anneal = {
        .moves = &hops_moves,
        .state = &walk,
        .rng = rng,
        .stop = chain->stop,
        .bound = (double)chain->bound,
        .steps_max = chain->steps_max,
        .work_max = chain->work_units,
        .step_work = STEP_UNITS + SERVER_UNITS * chain->design->server_count,
        .work = (double)chain->hops->work,
        .cooling = {.hot = fmax(HOT * chain->heat, COLD) * chain->unit,
                    .cold = COLD * chain->unit,
                    .period = TEMPERATURE_PERIOD},
        .current = sum,
        .best = sum,
    };
    weft_anneal_run(&anneal);
    chain->best_sum = (uint64_t)anneal.best;
    chain->steps = anneal.steps;
    chain->stopped = anneal.stopped;
}

// One chain of a round, from a random design or from disjoint cycles, with a generator of its own.
static void run_chain(void *context, uint32_t index, struct weft_arena scratch)
{
    struct chains *chains = context;
    const struct weft_hops_options *options = chains->options;
    struct chain *chain = &chains->chains[index];
    struct weft_design design = open_design(options, chain->symmetry, &scratch);
    struct weft_rng rng = weft_rng_stream(chains->environment->seed, chain->seed_index);
    if (!start_dense(&design, options)) {
        weft_design_shuffle(&design, &rng);
    }
    struct weft_hops hops;
    weft_hops_init(&hops, options->server_count, design.orbit_count, options->weights, &scratch);
    uint64_t bound = hops.weight_total; // every pair one hop apart
    struct weft_hops_chain run = {
        .design = &design,
        .best = &chain->best,
        .hops = &hops,
        .unit = weft_hops_mean_weight(&hops),
        .heat = 1,
        .work_units = chain->work_units,
        .steps_max = options->steps_max,
        .bound = options->weights == NULL ? options->sum_bound / chain->symmetry : bound,
        .stop = chains->environment->stop,
    };
    weft_hops_chain(&run, &rng, scratch);
    chain->best_sum = run.best_sum * chain->symmetry;
    chain->steps = run.steps;
    chain->stopped = run.stopped;
}

// Divisors of n that leave enough orbits (an even number of them for matchings), at most
// SYMMETRY_MAX, spread evenly over the list.
static uint32_t list_symmetries(uint32_t *symmetries, const struct weft_hops_options *options,
                                struct weft_arena scratch)
{
    uint32_t n = options->server_count;
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
static void run_round(struct weft_hops_found *result, struct chains *chains, uint32_t first,
                      uint32_t count, struct weft_arena *arena)
{
    const struct weft_hops_options *options = chains->options;
    for (uint32_t i = first; i < first + count; i++) {
        struct chain *chain = &chains->chains[i];
        chain->seed_index = i;
        chain->best = open_design(options, chain->symmetry, arena);
    }
    struct chains round = {options, chains->environment, chains->chains + first};
    weft_parallel_for(count, chains->environment->threads, run_chain, &round);
    for (uint32_t i = first; i < first + count; i++) {
        result->steps += chains->chains[i].steps;
        result->stopped = result->stopped || chains->chains[i].stopped;
    }
}

void weft_hops_search(struct weft_hops_found *result, const struct weft_hops_options *options,
                      const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    WEFT_ASSERT(part_count_of(options) > 0 && options->work_units > 0);
    *result = (struct weft_hops_found){.stopped = false};
    uint32_t symmetries[SYMMETRY_MAX];
    uint32_t count = list_symmetries(symmetries, options, scratch);
    struct chain *all = WEFT_NEW(&scratch, struct chain, SYMMETRY_MAX + FINALIST_MAX);
    struct chains chains = {options, environment, all};
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
    result->design = open_design(options, all[best].symmetry, environment->arena);
    weft_design_assign(&result->design, &all[best].best);
    result->sum = all[best].best_sum;
}
