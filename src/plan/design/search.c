// SPDX-License-Identifier: Apache-2.0
// The search over designs: templates first, then chains of small moves on the best of them, judged
// quickly; the outcome is judged truly, and improved truly while effort is left.

#include "search.h"

#include "paper.h"
#include "weft/base/anneal.h"

#include <math.h>
#include <string.h>

#define TEMPLATES_MAX 128u
#define CHAINS 8u
#define FINALISTS 4u
// Temperature, as a share of the iteration time that a move may lose.
#define WARM_RATIO 0.01
#define COLD_RATIO 0.0001
// Shares of the effort: templates at most, first chains, second chains; the rest is for the truth.
#define TEMPLATE_SHARE 0.2
// Where a judgement is dear, a good template is worth more than a chain of few steps.
#define TEMPLATE_SHARE_MANY 0.6
#define MANY_SERVERS 64u
// Of what is for the truth, so much is laid aside before.
#define RESERVE_SHARE_MOST 0.25
#define FIRST_SHARE 0.15
#define SECOND_SHARE 0.15
// The paper's topology is judged truly unless quick judgements, which err by a few percent, see it
// this far behind.
#define PAPER_RATIO 1.1
// Paths a transfer may be split over at most, and how much dearer twice as many make a simulation.
#define PATHS_MOST 8u
#define PATHS_DEARER 3.0
#define UNITS_PER_FLOW 800.0
#define UNITS_PER_TASK 1000.0

struct verdict search_judge(const struct search *search, const struct design *design, bool quick,
                            struct weft_arena scratch)
{
    struct weft_arena results = weft_arena_split(&scratch);
    struct weft_network network;
    double work_units = 0;
    if (!search_network(&network, &work_units, search, design, &results, scratch)) {
        return (struct verdict){HUGE_VAL, work_units};
    }
    struct verdict verdict = search_simulate(search, &network, quick, scratch);
    verdict.work_units += work_units;
    return verdict;
}

// ---- work that is shared out ----

// One candidate: a design and what it came to.
struct candidate {
    struct design design;
    struct verdict verdict;
};

// Candidates [0, count) are judged, or improved with `work_units` each.
struct batch {
    const struct search *search;
    struct candidate *candidates;
    double work_units; // 0: only judged
    bool quick;
    uint64_t round;
};

// ---- annealing by the simulated iteration itself ----

// What a chain walks with; the candidate keeps the best design that it met.
struct walk {
    const struct batch *batch;
    struct candidate *candidate;
    struct design current;
    struct design next;
    double done; // work units
    struct weft_arena scratch;
};

static double walk_progress(const struct weft_anneal *anneal)
{
    const struct walk *walk = anneal->state;
    return walk->done / walk->batch->work_units;
}

static double walk_temperature(const struct weft_anneal *anneal, double progress)
{
    return anneal->current * weft_anneal_cool(WARM_RATIO, COLD_RATIO, fmin(1, progress));
}

// One move, or one time in four two of them.
static enum weft_anneal_proposal propose_design(struct weft_anneal *anneal)
{
    struct walk *walk = anneal->state;
    design_assign(&walk->next, &walk->current);
    uint32_t moves = 1 + (weft_rng_below(anneal->rng, 4) == 0 ? 1 : 0);
    for (uint32_t i = 0; i < moves; i++) {
        if (!design_move(&walk->next, anneal->rng)) {
            return WEFT_ANNEAL_STUCK;
        }
    }
    return WEFT_ANNEAL_MOVED;
}

static double evaluate_design(struct weft_anneal *anneal)
{
    struct walk *walk = anneal->state;
    const struct batch *batch = walk->batch;
    struct verdict verdict = search_judge(batch->search, &walk->next, batch->quick, walk->scratch);
    walk->done += verdict.work_units;
    return verdict.iteration_s;
}

static void keep_design(struct weft_anneal *anneal)
{
    struct walk *walk = anneal->state;
    design_assign(&walk->current, &walk->next);
}

static void record_design(struct weft_anneal *anneal)
{
    const struct walk *walk = anneal->state;
    design_assign(&walk->candidate->design, &walk->next);
    walk->candidate->verdict.iteration_s = anneal->best;
}

static const struct weft_anneal_moves design_moves = {
    .progress = walk_progress,
    .temperature = walk_temperature,
    .propose = propose_design,
    .evaluate = evaluate_design,
    .keep = keep_design,
    .record = record_design,
};

static void improve(const struct batch *batch, struct candidate *candidate, struct weft_rng *rng,
                    struct weft_arena scratch)
{
    struct walk walk = {.batch = batch, .candidate = candidate};
    walk.current = design_copy(&candidate->design, &scratch);
    walk.next = design_copy(&candidate->design, &scratch);
    walk.scratch = scratch;
    struct weft_anneal anneal = {
        .moves = &design_moves,
        .state = &walk,
        .rng = rng,
        .stop = batch->search->stop,
        .bound = batch->search->good_enough_s,
        .steps_max = UINT64_MAX,
        .current = candidate->verdict.iteration_s,
        .best = candidate->verdict.iteration_s,
    };
    weft_anneal_run(&anneal);
    if (!anneal.stuck) { // else nothing came of the effort
        candidate->verdict.work_units += walk.done;
    }
}

static void work_on(void *context, uint32_t index, struct weft_arena scratch)
{
    struct batch *batch = context;
    struct candidate *candidate = &batch->candidates[index];
    if (batch->work_units <= 0) {
        candidate->verdict = search_judge(batch->search, &candidate->design, batch->quick, scratch);
        return;
    }
    struct weft_rng rng;
    weft_rng_init(&rng, batch->search->seed);
    rng = weft_rng_split(&rng, batch->round * 1000003 + index);
    improve(batch, candidate, &rng, scratch);
}

// Returns the work that was done.
static double run_batch(const struct batch *batch, uint32_t count)
{
    double before = 0;
    double after = 0;
    for (uint32_t i = 0; i < count; i++) {
        before += batch->work_units > 0 ? batch->candidates[i].verdict.work_units : 0;
    }
    weft_parallel_for(count, batch->search->threads, work_on, (void *)batch);
    for (uint32_t i = 0; i < count; i++) {
        after += batch->candidates[i].verdict.work_units;
    }
    return after - before;
}

// ---- choosing ----

// Moves the `keep` shortest to the front, ties in their order.
static void sort_shortest(struct candidate *candidates, uint32_t count, uint32_t keep)
{
    for (uint32_t i = 0; i < keep && i < count; i++) {
        uint32_t best = i;
        for (uint32_t j = i + 1; j < count; j++) {
            if (candidates[j].verdict.iteration_s < candidates[best].verdict.iteration_s) {
                best = j;
            }
        }
        struct candidate chosen = candidates[best];
        memmove(candidates + i + 1, candidates + i, (best - i) * sizeof *candidates);
        candidates[i] = chosen;
    }
}

// How many designs are judged before it is known what one costs: by the tasks, less than it will.
static uint32_t first_step(const struct search *search, double work_units)
{
    double least = UNITS_PER_TASK * search->graph->task_count;
    bool dear = search->cluster->server_count > MANY_SERVERS || CHAINS * least > work_units;
    return dear || weft_stopped(search->stop) ? 1 : CHAINS;
}

// Judges the seeds, and one design of each template in small batches until the effort is spent.
static uint32_t open_candidates(struct candidate *candidates, const struct search *search,
                                const struct design *seeds, uint32_t seed_count, double *work_units,
                                struct weft_arena *arena, struct weft_arena scratch)
{
    struct family families[FAMILIES_MAX];
    struct template templates[TEMPLATES_MAX];
    uint32_t family_count = design_families(families, search->traffic, arena, scratch);
    uint32_t degree = search->cluster->degree;
    uint32_t template_count =
        design_templates(templates, TEMPLATES_MAX, family_count, degree, search->simplex);
    bool many = search->cluster->server_count > MANY_SERVERS;
    double limit = *work_units * (1 - (many ? TEMPLATE_SHARE_MANY : TEMPLATE_SHARE));
    struct weft_rng rng;
    weft_rng_init(&rng, search->seed);
    uint32_t count = 0;
    uint32_t total = seed_count + template_count;
    uint32_t step = first_step(search, *work_units - limit);
    while (count < total && (count == 0 || (!weft_stopped(search->stop) &&
                                            (count < seed_count || *work_units > limit)))) {
        uint32_t first = count;
        for (; count < total && count < first + step; count++) {
            struct design *design = &candidates[count].design;
            candidates[count].verdict = (struct verdict){HUGE_VAL, 0};
            struct weft_rng own = weft_rng_split(&rng, count);
            if (count < seed_count) {
                *design = design_copy(&seeds[count], arena);
            } else {
                design_build(design, &templates[count - seed_count], families, search->traffic,
                             degree, search->simplex, &own, arena, scratch);
            }
        }
        struct batch batch = {search, candidates + first, 0, true, 0};
        *work_units -= run_batch(&batch, count - first);
    }
    return count;
}

// Improves as many of the candidates, from the first, as the effort is worth it for; sorts all.
static double run_chains(const struct search *search, struct candidate *candidates, uint32_t count,
                         double work_units, double dear, uint64_t round)
{
    double worth = work_units / (4 * fmax(dear, 1));
    uint32_t chains = worth < count ? (uint32_t)fmax(worth, 0) : count;
    double spent = 0;
    if (chains > 0) {
        struct batch batch = {search, candidates, work_units / chains, true, round};
        spent = run_batch(&batch, chains);
    }
    sort_shortest(candidates, count, count);
    return spent;
}

// About what one true judgement will cost: the flows of all rounds.
static double true_units_of(const struct search *search)
{
    const struct weft_taskgraph *graph = search->graph;
    double flows = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (weft_task_is_collective(graph, t)) {
            double turns = weft_task_facts[graph->kind[t]].ring_turns;
            double k = weft_task_member_count(graph, t);
            flows += turns * k * (k - 1) * search->cluster->degree;
        }
    }
    return UNITS_PER_FLOW * flows;
}

// Judges the candidates truly, the quickest first, as far as the effort goes; at least one. Those
// that were not judged fall behind.
static double judge_truly(const struct search *search, struct candidate *candidates, uint32_t count,
                          double work_units)
{
    double left = work_units;
    double dearest = 0;
    for (uint32_t i = 0; i < count;) {
        uint32_t step = i > 0 && count - i > 1 ? 2 : 1;
        bool affordable = i == 0 || (left > step * dearest && !weft_stopped(search->stop));
        if (!affordable) {
            candidates[i++].verdict.iteration_s = HUGE_VAL;
            continue;
        }
        struct batch batch = {search, candidates + i, 0, false, 0};
        double spent = run_batch(&batch, step);
        left -= spent;
        dearest = fmax(dearest, spent / step);
        i += step;
    }
    sort_shortest(candidates, count, count);
    return left;
}

// Sorts and keeps one of those that come to the same time: chains that found nothing better hand
// back the design they were given. Returns how many are left.
static uint32_t drop_equal(struct candidate *candidates, uint32_t count)
{
    sort_shortest(candidates, count, count);
    uint32_t kept = 1;
    for (uint32_t i = 1; i < count; i++) {
        if (candidates[i].verdict.iteration_s > candidates[kept - 1].verdict.iteration_s) {
            candidates[kept++] = candidates[i];
        }
    }
    return kept;
}

// The paper's topology among the candidates, before anything is changed; its time is HUGE_VAL where
// it is not among them.
static struct candidate find_paper(const struct candidate *candidates, uint32_t count,
                                   struct weft_arena *arena)
{
    for (uint32_t i = 0; i < count; i++) {
        if (candidates[i].design.paper_paths > 0) {
            struct candidate paper = candidates[i];
            paper.design = design_copy(&paper.design, arena);
            return paper;
        }
    }
    return (struct candidate){.verdict = {HUGE_VAL, 0}};
}

// Whether transfers may be split, and over how many more paths.
static bool more_paths(struct design *design, const struct search *search)
{
    uint32_t *paths = design->paper_paths > 0 ? &design->paper_paths : &design->paths;
    *paths = *paths > 0 ? *paths : search->paths_max;
    *paths *= 2;
    return *paths <= PATHS_MOST && search->traffic->transfer_total_bytes > 0;
}

// Tries the best with more and more paths a transfer while the effort lasts and it gets better.
// Returns the effort left.
static double widen(struct candidate *best, const struct search *search, double left,
                    struct weft_arena *arena, struct weft_arena scratch)
{
    struct candidate next = *best;
    next.design = design_copy(&best->design, arena);
    double cost = best->verdict.work_units;
    while (best->verdict.iteration_s > search->good_enough_s && !weft_stopped(search->stop) &&
           more_paths(&next.design, search) && left > PATHS_DEARER * cost) {
        next.verdict = search_judge(search, &next.design, false, scratch);
        cost = next.verdict.work_units;
        left -= cost;
        if (next.verdict.iteration_s >= best->verdict.iteration_s) {
            break;
        }
        best->verdict = next.verdict;
        design_assign(&best->design, &next.design);
    }
    return left;
}

// Judges the paper's topology truly, with one path a pair and with more as long as its own method
// would (build.c), so that what is found is not longer than that plan. Returns the effort left.
static double try_paper(struct candidate *best, struct candidate *paper,
                        const struct search *search, double left, struct weft_arena scratch)
{
    double spent = 0;
    for (uint32_t i = 0; i < PAPER_PATH_COUNTS; i++) {
        if (!paper_affords(i, spent, search->paper_units) ||
            (i > 0 && search->traffic->transfer_total_bytes <= 0) || weft_stopped(search->stop)) {
            break;
        }
        paper->design.paper_paths = paper_path_counts[i];
        paper->verdict = search_judge(search, &paper->design, false, scratch);
        spent += paper->verdict.work_units;
        if (paper->verdict.iteration_s < best->verdict.iteration_s) {
            best->verdict = paper->verdict;
            best->design = paper->design;
        }
    }
    return left - spent;
}

// Copies the first `finalists` of the candidates so that there are CHAINS in all.
static void spread_finalists(struct candidate *last, const struct candidate *candidates,
                             uint32_t finalists, struct weft_arena *arena)
{
    for (uint32_t i = 0; i < CHAINS; i++) {
        last[i] = candidates[i * finalists / CHAINS];
        last[i].design = design_copy(&last[i].design, arena);
    }
}

bool search_run(struct design *best, struct verdict *verdict, const struct search *search,
                const struct design *seeds, uint32_t seed_count, double work_units,
                struct weft_arena *arena, struct weft_arena scratch)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    double reserve = fmin(work_units * RESERVE_SHARE_MOST, true_units_of(search));
    work_units -= reserve;
    double left = work_units;
    uint32_t most = seed_count + TEMPLATES_MAX;
    struct candidate *candidates = WEFT_NEW(&kept, struct candidate, most);
    uint32_t count = open_candidates(candidates, search, seeds, seed_count, &left, &kept, scratch);
    struct candidate paper = find_paper(candidates, count, &kept);
    sort_shortest(candidates, count, CHAINS);
    count = count < CHAINS ? count : CHAINS;
    if (count == 0 || candidates[0].verdict.iteration_s == HUGE_VAL) {
        return false;
    }
    bool tries_paper = paper.verdict.iteration_s <= candidates[0].verdict.iteration_s * PAPER_RATIO;
    double dear = candidates[0].verdict.work_units; // of one quick judgement
    left -= run_chains(search, candidates, count, fmin(left, work_units * FIRST_SHARE), dear, 1);
    // The best ones, each from several sides; then the truth about both rounds.
    struct candidate pool[2 * CHAINS];
    spread_finalists(pool, candidates, count < FINALISTS ? count : FINALISTS, &kept);
    left -= run_chains(search, pool, CHAINS, fmin(left, work_units * SECOND_SHARE), dear, 2);
    memcpy(pool + CHAINS, candidates, count * sizeof *pool);
    count = drop_equal(pool, CHAINS + count);
    left = judge_truly(search, pool, count, left + reserve);
    if (tries_paper) {
        left = try_paper(&pool[0], &paper, search, left, scratch);
    }
    left = widen(&pool[0], search, left, &kept, scratch);
    if (left > CHAINS * 4 * pool[0].verdict.work_units &&
        pool[0].verdict.iteration_s > search->good_enough_s) {
        struct candidate truth[CHAINS];
        spread_finalists(truth, pool, count < FINALISTS ? count : FINALISTS, &kept);
        struct batch third = {search, truth, left / CHAINS, false, 3};
        run_batch(&third, CHAINS);
        sort_shortest(truth, CHAINS, CHAINS);
        pool[0] = truth[0];
    }
    *best = design_copy(&pool[0].design, arena);
    *verdict = pool[0].verdict;
    return pool[0].verdict.iteration_s < HUGE_VAL;
}
