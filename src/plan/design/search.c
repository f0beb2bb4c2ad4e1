// SPDX-License-Identifier: Apache-2.0
// The search over designs by the simulated iteration.
//
// First seeds and one design of each template are evaluated; then chains of simulated annealing
// move the best ones (two rounds of eight, the second from the four best of the first). Until then
// evaluations are quick ones, every AllReduce in one round: a tenth of the work, up to 3 % off.
// What both rounds found is then evaluated in full, the quickest first; the paper's topology with
// it, so that no plan is longer than that method's; and chains of full evaluations improve the best
// while effort is left. docs/plan.md, "The loop". Each evaluation costs a routing and a simulation.

#include "search.h"

#include "incumbent.h"
#include "paper.h"
#include "weft/base/anneal.h"

#include <math.h>
#include <string.h>

// Templates at most: all 126 of a degree of 8, both ways, with five families; of larger degrees
// those of most cycles.
#define TEMPLATES_MAX 128u
// Chains of a round, and the candidates that the second round and the last one begin at.
#define CHAINS 8u
#define FINALISTS 4u
// A step that loses 1 % of the iteration is taken one time in e at first, one of 0.01 % at the end.
static const struct weft_anneal_cooling cooling = {0.01, 0.0001, WEFT_ANNEAL_OF_CURRENT, 0};
// Shares of the effort: templates at most, first chains, second chains; the rest is for full
// evaluations. Beyond MANY_SERVERS an evaluation takes so long that a good template is worth more
// than a chain of few steps. Not measured one by one.
#define TEMPLATE_SHARE 0.2
#define TEMPLATE_SHARE_MANY 0.6
#define MANY_SERVERS 64u
#define FIRST_SHARE 0.15
#define SECOND_SHARE 0.15
// What one full evaluation will cost is kept back before anything else, up to this share.
#define RESERVE_SHARE_MOST 0.25
// What the chains have found so far is evaluated in full for the incumbent, where that is less than
// this share of what is left.
#define OFFER_SHARE 0.02
// Designs that are evaluated of those that were screened: on 4,096 servers each takes some ten
// seconds. The one that was best in the end was the second (llama3-70b).
#define SCREENED_KEPT 3u
// Templates that are screened however small the effort: every split of 8 ports between the rings of
// one family and matchings. The paper's topology alone is 230 times behind the best of them there.
#define SCREENED_MIN 5u
// The paper's topology is evaluated in full unless quick evaluations, which err by a few percent,
// see it this far behind.
#define PAPER_RATIO 1.1
// Paths a transfer may be split over at most, and how many times as long twice as many make a
// simulation (DLRM-128, d = 4: 0.8 s, 3.5 s and 5.9 s for 1, 2 and 4 paths; docs/plan.md).
#define PATHS_MOST 8u
#define PATHS_DEARER 3.0
// Work units of a full evaluation before one was made, for each flow of a round; and the least of a
// quick one, for each task. Fitted to times (docs/plan.md, "Effort").
#define UNITS_PER_FLOW 800.0
#define UNITS_PER_TASK 1000.0

struct score search_evaluate(const struct search *search, const struct weft_design *design,
                             bool quick, struct weft_arena scratch)
{
    struct weft_arena results = weft_arena_split(&scratch);
    struct weft_network network;
    double work_units = 0;
    if (!search_network(&network, &work_units, search, design, &results, scratch)) {
        return (struct score){HUGE_VAL, work_units};
    }
    struct score score = search_simulate(search, &network, quick, scratch);
    score.work_units += work_units;
    return score;
}

struct score search_offer(const struct search *search, const struct weft_design *design,
                          struct weft_arena scratch)
{
    struct score score = {HUGE_VAL, 0};
    struct weft_arena results = weft_arena_split(&scratch);
    struct weft_network network;
    struct weft_plan_ties ties;
    if (search->incumbent == NULL ||
        !search_network(&network, &score.work_units, search, design, &results, scratch)) {
        return score;
    }
    double network_units = score.work_units;
    score = search_simulate_ties(&ties, search, &network, &results, scratch);
    score.work_units += network_units;
    incumbent_work(search->incumbent, score.work_units);
    if (score.iteration_s < HUGE_VAL) {
        incumbent_offer(search->incumbent, design, &(struct offer){.score = score, .ties = ties});
    }
    return score;
}

// ---- work that is shared out ----

// Candidates [0, count) are evaluated, or improved with `work_units` each.
struct batch {
    const struct search *search;
    struct scored_design *candidates;
    double work_units; // 0: only evaluated
    bool quick;
    bool screens; // only looked at (search_screen)
    uint64_t round;
};

// ---- annealing by the simulated iteration itself ----

// What a chain walks with; the candidate keeps the best design that it met.
struct walk {
    const struct batch *batch;
    struct scored_design *candidate;
    struct weft_design current;
    struct weft_design next;
    struct weft_arena scratch;
};

// One move, or one time in four two of them.
static enum weft_anneal_proposal propose_design(struct weft_anneal *anneal)
{
    struct walk *walk = anneal->state;
    weft_design_assign(&walk->next, &walk->current);
    uint32_t moves = 1 + (weft_rng_below(anneal->rng, 4) == 0 ? 1 : 0);
    for (uint32_t i = 0; i < moves; i++) {
        if (weft_design_move(&walk->next, WEFT_MOVES_RINGS, NULL, anneal->rng) == WEFT_NONE) {
            return WEFT_ANNEAL_STUCK;
        }
    }
    return WEFT_ANNEAL_MOVED;
}

static double evaluate_design(struct weft_anneal *anneal)
{
    struct walk *walk = anneal->state;
    const struct batch *batch = walk->batch;
    struct score score = search_evaluate(batch->search, &walk->next, batch->quick, walk->scratch);
    anneal->work += score.work_units;
    return score.iteration_s;
}

static void keep_design(struct weft_anneal *anneal)
{
    struct walk *walk = anneal->state;
    weft_design_assign(&walk->current, &walk->next);
}

static void record_design(struct weft_anneal *anneal)
{
    const struct walk *walk = anneal->state;
    weft_design_assign(&walk->candidate->design, &walk->next);
    walk->candidate->score.iteration_s = anneal->best;
}

static const struct weft_anneal_moves design_moves = {
    .propose = propose_design,
    .evaluate = evaluate_design,
    .keep = keep_design,
    .record = record_design,
};

// Anneals a candidate with the effort of the batch; it keeps the best design on the way.
static void improve(const struct batch *batch, struct scored_design *candidate,
                    struct weft_rng *rng, struct weft_arena scratch)
{
    struct walk walk = {.batch = batch, .candidate = candidate};
    walk.current = weft_design_copy(&candidate->design, &scratch);
    walk.next = weft_design_copy(&candidate->design, &scratch);
    walk.scratch = scratch;
    struct weft_anneal anneal = {
        .moves = &design_moves,
        .state = &walk,
        .rng = rng,
        .stop = batch->search->stop,
        .bound = batch->search->good_enough_s,
        .steps_max = UINT64_MAX,
        .work_max = batch->work_units,
        .cooling = cooling,
        .current = candidate->score.iteration_s,
        .best = candidate->score.iteration_s,
    };
    weft_anneal_run(&anneal);
    if (!anneal.stuck) { // else nothing came of the effort
        candidate->score.work_units += anneal.work;
    }
}

static void work_on(void *context, uint32_t index, struct weft_arena scratch)
{
    struct batch *batch = context;
    struct scored_design *candidate = &batch->candidates[index];
    if (batch->screens) {
        candidate->score = search_screen(batch->search, &candidate->design, scratch);
        return;
    }
    if (batch->work_units <= 0) {
        candidate->score =
            search_evaluate(batch->search, &candidate->design, batch->quick, scratch);
        return;
    }
    struct weft_rng rng = weft_rng_stream(batch->search->seed, batch->round * 1000003 + index);
    improve(batch, candidate, &rng, scratch);
}

// Returns the work that was done.
static double run_batch(const struct batch *batch, uint32_t count)
{
    double before = 0;
    double after = 0;
    for (uint32_t i = 0; i < count; i++) {
        before += batch->work_units > 0 ? batch->candidates[i].score.work_units : 0;
    }
    weft_parallel_for(count, batch->search->threads, work_on, (void *)batch);
    for (uint32_t i = 0; i < count; i++) {
        after += batch->candidates[i].score.work_units;
    }
    incumbent_work(batch->search->incumbent, after - before);
    return after - before;
}

// ---- choosing ----

// Moves the `keep` shortest to the front, ties in their order.
static void sort_shortest(struct scored_design *candidates, uint32_t count, uint32_t keep)
{
    for (uint32_t i = 0; i < keep && i < count; i++) {
        uint32_t best = i;
        for (uint32_t j = i + 1; j < count; j++) {
            if (candidates[j].score.iteration_s < candidates[best].score.iteration_s) {
                best = j;
            }
        }
        struct scored_design chosen = candidates[best];
        memmove(candidates + i + 1, candidates + i, (best - i) * sizeof *candidates);
        candidates[i] = chosen;
    }
}

// How many designs are evaluated before it is known what one costs: by the tasks, less than it
// will.
static uint32_t first_step(const struct search *search, double work_units)
{
    double least = UNITS_PER_TASK * search->graph->task_count;
    bool costly = search->cluster->server_count > MANY_SERVERS || CHAINS * least > work_units;
    return costly || weft_stopped(search->stop) ? 1 : CHAINS;
}

// Without the templates that give layers to no group, where designs are screened: the cycles of all
// servers, which every group shares then, take most of a minute to lay out, and what shares links
// with transfers is played hop by hop. Returns how many are left.
static uint32_t drop_shared(struct template *templates, uint32_t count,
                            const struct design_space *space)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t shared = 0;
        for (uint32_t f = 0; f < space->family_count; f++) {
            shared += space->families[f].group_count == 0 ? templates[i].cycles[f] : 0;
        }
        if (shared == 0) {
            templates[kept++] = templates[i];
        }
    }
    return kept;
}

// Evaluates the seeds, and one design of each template in small batches until the effort is spent.
static uint32_t open_candidates(struct scored_design *candidates, const struct search *search,
                                const struct seeds *seeds, double *work_units,
                                struct weft_arena *arena, struct weft_arena scratch)
{
    struct template templates[TEMPLATES_MAX];
    const struct design_space space = design_space_build(search->traffic, search->cluster->degree,
                                                         search->simplex, arena, scratch);
    uint32_t template_count = design_templates(templates, TEMPLATES_MAX, &space);
    bool screens = search->cluster->server_count >= SCREENED_SERVERS_MIN;
    if (screens) {
        template_count = drop_shared(templates, template_count, &space);
    }
    bool many = search->cluster->server_count > MANY_SERVERS;
    double limit = *work_units * (1 - (many ? TEMPLATE_SHARE_MANY : TEMPLATE_SHARE));
    struct weft_rng rng;
    weft_rng_init(&rng, search->seed);
    uint32_t count = 0;
    uint32_t total = seeds->count + template_count;
    uint32_t step = first_step(search, *work_units - limit);
    uint32_t least = seeds->count + (screens ? SCREENED_MIN : 0);
    while (count < total && (count == 0 || (!weft_stopped(search->stop) &&
                                            (count < least || *work_units > limit)))) {
        uint32_t first = count;
        for (; count < total && count < first + step; count++) {
            struct weft_design *design = &candidates[count].design;
            candidates[count].score = (struct score){HUGE_VAL, 0};
            struct weft_rng own = weft_rng_split(&rng, count);
            *design = count < seeds->count ? weft_design_copy(&seeds->designs[count], arena)
                                           : design_build(&templates[count - seeds->count], &space,
                                                          &own, arena, scratch);
        }
        struct batch batch = {search, candidates + first, 0, true, screens, 0};
        *work_units -= run_batch(&batch, count - first);
    }
    return count;
}

// Evaluates those that screened best, quickly, one after the other, while the effort lasts: the
// busiest link does not tell whose bytes wait for whose. The others are dropped. Returns how many
// are left.
static uint32_t evaluate_screened(const struct search *search, struct scored_design *candidates,
                                  uint32_t count, double *work_units)
{
    uint32_t kept = 0;
    sort_shortest(candidates, count, SCREENED_KEPT);
    if (*work_units <= 0) { // what one evaluation costs is kept for a full one
        return 1;
    }
    while (kept < count && kept < SCREENED_KEPT && candidates[kept].score.iteration_s < HUGE_VAL &&
           (kept == 0 || (*work_units > 0 && !weft_stopped(search->stop)))) {
        struct batch batch = {search, candidates + kept++, 0, true, false, 0};
        *work_units -= run_batch(&batch, 1);
    }
    return kept;
}

// Improves as many of the candidates, from the first, as the effort is worth it for; sorts all.
static double run_chains(const struct search *search, struct scored_design *candidates,
                         uint32_t count, double work_units, double quick_units, uint64_t round)
{
    double worth = work_units / (4 * fmax(quick_units, 1));
    uint32_t chains = worth < count ? (uint32_t)fmax(worth, 0) : count;
    double spent = 0;
    if (chains > 0) {
        struct batch batch = {search, candidates, work_units / chains, true, false, round};
        spent = run_batch(&batch, chains);
    }
    sort_shortest(candidates, count, count);
    return spent;
}

// About what one full evaluation will cost: the flows of all rounds.
static double full_units_of(const struct search *search)
{
    const struct weft_taskgraph *graph = search->graph;
    double flows = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (weft_task_is_collective(graph, t)) {
            double passes = weft_task_facts[graph->kind[t]].ring_passes;
            double k = weft_task_member_count(graph, t);
            flows += passes * k * (k - 1) * search->cluster->degree;
        }
    }
    return UNITS_PER_FLOW * flows;
}

// Evaluates the candidates in full, the quickest first, as far as the effort goes; at least one.
// Those that were not evaluated fall behind.
static double evaluate_in_full(const struct search *search, struct scored_design *candidates,
                               uint32_t count, double work_units)
{
    double left = work_units;
    double costliest = 0;
    for (uint32_t i = 0; i < count;) {
        uint32_t step = i > 0 && count - i > 1 ? 2 : 1;
        bool affordable = i == 0 || (left > step * costliest && !weft_stopped(search->stop));
        if (!affordable) {
            candidates[i++].score.iteration_s = HUGE_VAL;
            continue;
        }
        struct batch batch = {search, candidates + i, 0, false, false, 0};
        double spent = run_batch(&batch, step);
        left -= spent;
        costliest = fmax(costliest, spent / step);
        for (uint32_t end = i + step; i < end; i++) {
            incumbent_offer(search->incumbent, &candidates[i].design,
                            &(struct offer){.score = candidates[i].score});
        }
    }
    sort_shortest(candidates, count, count);
    return left;
}

// Sorts and keeps one of those that come to the same time: chains that found nothing better hand
// back the design they were given. Returns how many are left.
static uint32_t drop_equal(struct scored_design *candidates, uint32_t count)
{
    sort_shortest(candidates, count, count);
    uint32_t kept = 1;
    for (uint32_t i = 1; i < count; i++) {
        if (candidates[i].score.iteration_s > candidates[kept - 1].score.iteration_s) {
            candidates[kept++] = candidates[i];
        }
    }
    return kept;
}

// The paper's topology among the candidates, before anything is changed; its time is HUGE_VAL where
// it is not among them.
static struct scored_design find_paper(const struct scored_design *candidates, uint32_t count,
                                       struct weft_arena *arena)
{
    for (uint32_t i = 0; i < count; i++) {
        if (candidates[i].design.finder_paths > 0) {
            struct scored_design paper = candidates[i];
            paper.design = weft_design_copy(&paper.design, arena);
            return paper;
        }
    }
    return (struct scored_design){.score = {HUGE_VAL, 0}};
}

// Whether transfers may be split, and over how many more paths.
static bool more_paths(struct weft_design *design, const struct search *search)
{
    uint32_t *paths = design->finder_paths > 0 ? &design->finder_paths : &design->paths;
    *paths = *paths > 0 ? *paths : search->paths_max;
    *paths *= 2;
    return *paths <= PATHS_MOST && search->traffic->transfer_total_bytes > 0;
}

// Tries the best with more and more paths a transfer while the effort lasts and it gets better.
// Returns the effort left.
static double widen(struct scored_design *best, const struct search *search, double left,
                    struct weft_arena *arena, struct weft_arena scratch)
{
    struct scored_design next = *best;
    next.design = weft_design_copy(&best->design, arena);
    double cost = best->score.work_units;
    while (best->score.iteration_s > search->good_enough_s && !weft_stopped(search->stop) &&
           more_paths(&next.design, search) && left > PATHS_DEARER * cost) {
        next.score = search_evaluate(search, &next.design, false, scratch);
        incumbent_work(search->incumbent, next.score.work_units);
        incumbent_offer(search->incumbent, &next.design, &(struct offer){.score = next.score});
        cost = next.score.work_units;
        left -= cost;
        if (next.score.iteration_s >= best->score.iteration_s) {
            break;
        }
        best->score = next.score;
        weft_design_assign(&best->design, &next.design);
    }
    return left;
}

// Evaluates the paper's topology in full, with one path a pair and with more as long as its own
// method would (build.c), so that what is found is not longer than that plan. Returns the effort
// left.
static double try_paper(struct scored_design *best, struct scored_design *paper,
                        const struct search *search, double left, struct weft_arena scratch)
{
    double spent = 0;
    for (uint32_t i = 0; i < PAPER_PATH_COUNTS; i++) {
        if (!paper_affords(i, spent, search->paper_units) ||
            (i > 0 && search->traffic->transfer_total_bytes <= 0) || weft_stopped(search->stop)) {
            break;
        }
        paper->design.finder_paths = paper_path_counts[i];
        if (best->design.finder_paths == paper_path_counts[i]) {
            paper->score = best->score; // is the very same, evaluated in full
        } else if (i > 0 || !search->paper_known) {
            paper->score = search_evaluate(search, &paper->design, false, scratch);
        } else {
            paper->score = search->paper_score;
        }
        incumbent_work(search->incumbent, paper->score.work_units);
        incumbent_offer(search->incumbent, &paper->design, &(struct offer){.score = paper->score});
        spent += paper->score.work_units;
        if (paper->score.iteration_s < best->score.iteration_s) {
            best->score = paper->score;
            best->design = paper->design;
        }
    }
    return left - spent;
}

// Copies the first `finalists` of the candidates so that there are CHAINS in all.
static void spread_finalists(struct scored_design *last, const struct scored_design *candidates,
                             uint32_t finalists, struct weft_arena *arena)
{
    for (uint32_t i = 0; i < CHAINS; i++) {
        last[i] = candidates[i * finalists / CHAINS];
        last[i].design = weft_design_copy(&last[i].design, arena);
    }
}

// Adds candidates that were evaluated in full to what the search ended with (NULL = nobody asks):
// the shortest of different times stay.
static void note_ends(struct design_ends *ends, const struct scored_design *candidates,
                      uint32_t count, struct weft_arena *arena)
{
    struct scored_design all[DESIGN_ENDS_MAX + 2 * CHAINS];
    if (ends == NULL) {
        return;
    }
    WEFT_ASSERT(count <= 2 * CHAINS);
    uint32_t total = 0;
    for (uint32_t i = 0; i < ends->count; i++) {
        all[total++] = ends->list[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        if (candidates[i].score.iteration_s < HUGE_VAL) {
            all[total] = candidates[i];
            all[total++].design = weft_design_copy(&candidates[i].design, arena);
        }
    }
    total = total > 0 ? drop_equal(all, total) : 0;
    ends->count = total < DESIGN_ENDS_MAX ? total : DESIGN_ENDS_MAX;
    memcpy(ends->list, all, ends->count * sizeof *all);
}

bool search_run(struct scored_design *best, const struct search *search, const struct seeds *seeds,
                double work_units, struct weft_arena *arena, struct weft_arena scratch)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    double reserve = fmin(work_units * RESERVE_SHARE_MOST, full_units_of(search));
    work_units -= reserve;
    double left = work_units;
    uint32_t most = seeds->count + TEMPLATES_MAX;
    struct scored_design *candidates = WEFT_NEW(&kept, struct scored_design, most);
    uint32_t count = open_candidates(candidates, search, seeds, &left, &kept, scratch);
    if (search->cluster->server_count >= SCREENED_SERVERS_MIN) {
        count = evaluate_screened(search, candidates, count, &left);
    }
    struct scored_design paper = find_paper(candidates, count, &kept);
    sort_shortest(candidates, count, CHAINS);
    count = count < CHAINS ? count : CHAINS;
    if (count == 0 || candidates[0].score.iteration_s == HUGE_VAL) {
        return false;
    }
    bool tries_paper = paper.score.iteration_s <= candidates[0].score.iteration_s * PAPER_RATIO;
    double quick_units = candidates[0].score.work_units; // of one quick evaluation
    left -=
        run_chains(search, candidates, count, fmin(left, work_units * FIRST_SHARE), quick_units, 1);
    if (full_units_of(search) < left * OFFER_SHARE) {
        search_offer(search, &candidates[0].design, scratch);
    }
    // The best ones, each from several chains; then both rounds in full.
    struct scored_design pool[2 * CHAINS];
    spread_finalists(pool, candidates, count < FINALISTS ? count : FINALISTS, &kept);
    left -= run_chains(search, pool, CHAINS, fmin(left, work_units * SECOND_SHARE), quick_units, 2);
    if (full_units_of(search) < left * OFFER_SHARE) {
        search_offer(search, &pool[0].design, scratch);
    }
    memcpy(pool + CHAINS, candidates, count * sizeof *pool);
    count = drop_equal(pool, CHAINS + count);
    left = evaluate_in_full(search, pool, count, left + reserve);
    if (tries_paper) {
        left = try_paper(&pool[0], &paper, search, left, scratch);
    }
    left = widen(&pool[0], search, left, &kept, scratch);
    if (left > CHAINS * 4 * pool[0].score.work_units &&
        pool[0].score.iteration_s > search->good_enough_s) {
        struct scored_design last[CHAINS];
        spread_finalists(last, pool, count < FINALISTS ? count : FINALISTS, &kept);
        struct batch third = {search, last, left / CHAINS, false, false, 3};
        run_batch(&third, CHAINS);
        sort_shortest(last, CHAINS, CHAINS);
        // The work of a chain is that of all its steps.
        const struct offer found = {.score = {last[0].score.iteration_s, pool[0].score.work_units}};
        incumbent_offer(search->incumbent, &last[0].design, &found);
        note_ends(search->ends, last, CHAINS, arena);
        pool[0] = last[0];
    }
    note_ends(search->ends, pool, count, arena);
    *best = pool[0];
    best->design = weft_design_copy(&pool[0].design, arena);
    return pool[0].score.iteration_s < HUGE_VAL;
}
