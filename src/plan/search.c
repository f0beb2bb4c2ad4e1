// SPDX-License-Identifier: Apache-2.0
// The search over designs: templates first, then chains of small moves on the best of them.

#include "search.h"

#include <math.h>
#include <string.h>

#define TEMPLATES_MAX 128u
#define CHAINS 8u
#define FINALISTS 4u
// Temperature, as a share of the iteration time that a move may lose.
#define WARM_RATIO 0.01
#define COLD_RATIO 0.0001
// Shares of the effort: judging templates (at most), first chains; the rest is for the last ones.
#define TEMPLATE_SHARE 0.25
#define FIRST_SHARE 0.35

struct weft_arena arena_split(struct weft_arena *scratch)
{
    size_t half = (size_t)(scratch->end - scratch->next) / 2;
    struct weft_arena upper = {scratch->next + half, scratch->end};
    scratch->end = upper.next;
    return upper;
}

static struct verdict judge(const struct search *search, const struct design *design,
                            struct weft_arena scratch)
{
    struct weft_arena results = arena_split(&scratch);
    struct weft_network network;
    double work_units = 0;
    if (!search_network(&network, &work_units, search, design, &results, scratch)) {
        return (struct verdict){HUGE_VAL, work_units};
    }
    struct verdict verdict = search_simulate(search, &network, scratch);
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
    uint64_t round;
};

// Annealing by the simulated iteration itself; the candidate keeps the best design it met.
static void improve(const struct search *search, struct candidate *candidate, double work_units,
                    struct weft_rng *rng, struct weft_arena scratch)
{
    struct design current = design_copy(&candidate->design, &scratch);
    struct design next = design_copy(&candidate->design, &scratch);
    double current_s = candidate->verdict.iteration_s;
    double done = 0;
    while (done < work_units && candidate->verdict.iteration_s > search->good_enough_s &&
           !weft_stopped(search->stop)) {
        design_assign(&next, &current);
        uint32_t moves = 1 + (weft_rng_below(rng, 4) == 0 ? 1 : 0);
        for (uint32_t i = 0; i < moves; i++) {
            if (!design_move(&next, rng)) {
                return; // nothing can change
            }
        }
        struct verdict verdict = judge(search, &next, scratch);
        done += verdict.work_units;
        double warmth = WARM_RATIO * pow(COLD_RATIO / WARM_RATIO, fmin(1, done / work_units));
        double limit_s = current_s * (1 - warmth * log(1 - weft_rng_unit(rng)));
        if (verdict.iteration_s <= limit_s) {
            design_assign(&current, &next);
            current_s = verdict.iteration_s;
        }
        if (verdict.iteration_s < candidate->verdict.iteration_s) {
            design_assign(&candidate->design, &next);
            candidate->verdict.iteration_s = verdict.iteration_s;
        }
    }
    candidate->verdict.work_units += done;
}

static void work_on(void *context, uint32_t index, struct weft_arena scratch)
{
    struct batch *batch = context;
    struct candidate *candidate = &batch->candidates[index];
    if (batch->work_units <= 0) {
        candidate->verdict = judge(batch->search, &candidate->design, scratch);
        return;
    }
    struct weft_rng rng;
    weft_rng_init(&rng, batch->search->seed);
    rng = weft_rng_split(&rng, batch->round * 1000003 + index);
    improve(batch->search, candidate, batch->work_units, &rng, scratch);
}

static double run_batch(const struct search *search, struct candidate *candidates, uint32_t count,
                        double work_units, uint64_t round)
{
    struct batch batch = {search, candidates, work_units, round};
    double before = 0;
    double after = 0;
    for (uint32_t i = 0; i < count; i++) {
        before += candidates[i].verdict.work_units;
    }
    weft_parallel_for(count, search->threads, work_on, &batch);
    for (uint32_t i = 0; i < count; i++) {
        after += candidates[i].verdict.work_units;
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

// Judges the seeds and one design of each template, in small batches until the effort is spent.
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
    double limit = *work_units * (1 - TEMPLATE_SHARE);
    struct weft_rng rng;
    weft_rng_init(&rng, search->seed);
    uint32_t count = 0;
    uint32_t total = seed_count + template_count;
    while (count < total && (count == 0 || *work_units > limit) && !weft_stopped(search->stop)) {
        uint32_t first = count;
        for (; count < total && count < first + CHAINS; count++) {
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
        *work_units -= run_batch(search, candidates + first, count - first, 0, 0);
    }
    return count;
}

bool search_run(struct design *best, struct verdict *verdict, const struct search *search,
                const struct design *seeds, uint32_t seed_count, double work_units,
                struct weft_arena *arena, struct weft_arena scratch)
{
    struct weft_arena kept = arena_split(&scratch);
    double left = work_units;
    uint32_t most = seed_count + TEMPLATES_MAX;
    struct candidate *candidates = WEFT_NEW(&kept, struct candidate, most);
    uint32_t count = open_candidates(candidates, search, seeds, seed_count, &left, &kept, scratch);
    sort_shortest(candidates, count, CHAINS);
    count = count < CHAINS ? count : CHAINS;
    if (count == 0 || candidates[0].verdict.iteration_s == HUGE_VAL) {
        return false;
    }
    left -= run_batch(search, candidates, count, work_units * FIRST_SHARE / count, 1);
    sort_shortest(candidates, count, count);
    // The best ones, each from several sides, share what is left.
    uint32_t finalists = count < FINALISTS ? count : FINALISTS;
    struct candidate last[CHAINS];
    for (uint32_t i = 0; i < CHAINS; i++) {
        last[i] = candidates[i * finalists / CHAINS];
        last[i].design = design_copy(&last[i].design, &kept);
    }
    if (left > 0) {
        run_batch(search, last, CHAINS, left / CHAINS, 2);
    }
    sort_shortest(last, CHAINS, CHAINS);
    *best = design_copy(&last[0].design, arena);
    *verdict = last[0].verdict;
    return true;
}
