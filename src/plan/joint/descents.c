// SPDX-License-Identifier: Apache-2.0
// Descents from known candidates, each on the design that it has, and from where random changes
// lead.
//
// A descent (descent.c) ends in a local optimum of the strategy on one design. To leave it,
// candidates are evaluated on each other's designs, the first searches are begun anew with other
// random choices, and the best are perturbed (iterated local search: Lourenco, Martin and Stuetzle,
// 2003): a few random steps of the strategy, moves of the design or both, then a descent. Only
// candidates near the best take part, and a descent that gained gets a new topology.

#include "descent.h"
#include "joint.h"

#include <math.h>
#include <string.h>

// The constants are those of docs/co-optimisation.md ("Both at once"), which has figures of the
// measured ones; the others trade how many candidates descend for how far each does.

// Before and after the first descents, candidates at most so much longer than the best are
// evaluated on the designs of all others, the best of them first, with this share of the effort at
// most.
#define CROSS_RATIO 1.25
#define CROSSED_MAX 24u
#define CROSS_SHARE_MOST 0.15
// Descents begin at candidates at most so much longer than the best, and the first ones end after
// so many steps in a row that gain nothing. A candidate that got so much shorter since its last
// descent descends again.
#define DESCENT_RATIO 1.15
#define PATIENCE_QUICK 96u
#define AGAIN_RATIO 0.003
// A descent that gained and ends at most so much longer than the best is followed by a new
// topology, with this share of the effort and at most so many seconds of it.
#define WIRE_RATIO 1.01
#define WIRE_SHARE 0.03
#define WIRE_S_MOST 0.8
// While the effort left is so many times what first searches cost, beginning anew with other random
// choices is worth more than perturbations: what a descent comes to depends on where it begins, and
// on CANDLE-16 no perturbation led from 133 ms to the 130 ms of other beginnings.
#define ANEW_WORTH 1.3
// Perturbations: their share of what the first descents left, the strategies they begin at (how
// many, and how much longer than the best), random changes of strategy and design at most, and how
// many in a row may gain nothing.
#define PERTURB_SHARE 0.8
#define PERTURBED_FROM 6u
#define PERTURB_RATIO 1.02
#define PERTURBATIONS_MAX 3u
#define DESIGN_MOVES_MAX 2u
#define PERTURB_IDLE_MAX 64u
#define PATIENCE_PERTURBED 64u
#define PERTURB_SEED 0x6b69636bu

// What one descent may cost, and where it begins.
struct attempt {
    double work_units;
    uint32_t patience;
    uint32_t perturbations; // random changes of the strategy first
    bool perturbs_design;   // the design is changed first, too
    struct weft_rng *rng;
};

struct ground {
    const struct coplan *coplan;
    const struct weft_design *design;
};

static struct descent_score evaluate(const void *context, const struct weft_taskgraph *graph,
                                     double limit_s, struct weft_arena scratch)
{
    const struct ground *ground = context;
    const struct coplan *coplan = ground->coplan;
    struct descent_score score = {.quick_s = HUGE_VAL, .iteration_s = HUGE_VAL};
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_traffic traffic;
    weft_traffic_build(&traffic, graph, &kept, scratch);
    struct search search = method_open(graph, &traffic, coplan->study.cluster,
                                       &coplan->options->plan, coplan->environment);
    struct weft_design design = weft_design_copy(ground->design, &kept);
    weft_design_regroup(&design, &traffic, scratch);
    struct weft_network network;
    if (!search_network(&network, &score.work_units, &search, &design, &kept, scratch)) {
        return score;
    }
    return descent_simulate(&search, &network, limit_s, score.work_units, scratch);
}

// Marks the candidate of this key as the end of a descent. Returns it, or NULL.
static struct coplan_candidate *mark(struct coplan *coplan, uint64_t key)
{
    for (uint32_t i = 0; i < coplan->known_count; i++) {
        if (coplan->known[i]->key == key) {
            coplan->known[i]->descended_s = coplan->known[i]->score.iteration_s;
            return coplan->known[i];
        }
    }
    return NULL;
}

static void perturb_design(struct weft_design *design, struct weft_rng *rng)
{
    uint32_t moves = 1 + weft_rng_below(rng, DESIGN_MOVES_MAX);
    for (uint32_t i = 0;
         i < moves && weft_design_move(design, WEFT_MOVES_RINGS, NULL, rng) != WEFT_NONE; i++) {
    }
}

// Changes a known strategy step by step on the design that it has; knows what it comes to if that
// is shorter, and points there. Returns the seconds of effort.
static double descend_from(struct coplan_candidate **candidate_at, struct coplan *coplan,
                           const struct attempt *how, struct weft_arena scratch)
{
    struct coplan_candidate *candidate = *candidate_at;
    candidate->descended_s = candidate->score.iteration_s;
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_strategy_space *space = NULL;
    struct weft_network network;
    struct weft_study study = coplan->study;
    study.network = &network;
    struct weft_error error;
    double units = 0;
    struct weft_design design = weft_design_copy(&candidate->design, &kept);
    if (how->perturbs_design) {
        perturb_design(&design, how->rng);
        weft_design_regroup(&design, &candidate->traffic, scratch);
    }
    if (!search_network(&network, &units, &candidate->search, &design, &kept, scratch) ||
        !weft_strategy_space_build(&space, &study, &kept, scratch, &error)) {
        return units / WORK_UNITS_PER_S;
    }
    const struct ground ground = {coplan, &design};
    const struct descent_job job = {
        .study = &coplan->study,
        .space = space,
        .evaluate = evaluate,
        .context = &ground,
        .threads = coplan->environment->threads,
        .stop = coplan->environment->stop,
        .work_units = how->work_units - units,
        .patience = how->patience,
        .perturbations = how->perturbations,
        .rng = how->rng,
        .goal_s = coplan->known[0]->score.iteration_s,
    };
    struct weft_strategy strategy = candidate->strategy;
    double iteration_s;
    units += descent_run(&strategy, &iteration_s, &job, &kept, scratch);
    if (iteration_s < candidate->score.iteration_s) {
        coplan_adopt(coplan, &strategy, &design, false, scratch);
        struct coplan_candidate *found = mark(coplan, coplan_key(&strategy, coplan->study.model));
        *candidate_at = found != NULL ? found : candidate;
    }
    return units / WORK_UNITS_PER_S;
}

// The shortest of those known from which no descent was made since it got so short.
static struct coplan_candidate *find_undescended(const struct coplan *coplan)
{
    for (uint32_t i = 0; i < coplan->known_count; i++) {
        struct coplan_candidate *known = coplan->known[i];
        if (known->score.iteration_s > coplan->known[0]->score.iteration_s * DESCENT_RATIO) {
            return NULL;
        }
        if (known->descended_s <= 0 ||
            known->score.iteration_s < known->descended_s * (1 - AGAIN_RATIO)) {
            return known;
        }
    }
    return NULL;
}

// Evaluates a strategy on the designs of all others. Returns the seconds of effort.
static double cross(struct coplan *coplan, struct coplan_candidate *candidate,
                    struct weft_arena scratch)
{
    const struct coplan_candidate *others[KNOWN_MAX];
    uint32_t count = coplan->known_count;
    memcpy(others, coplan->known,
           count * sizeof(struct coplan_candidate *)); // the order may change
    double work_units = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (others[i] != candidate) {
            work_units +=
                coplan_adopt(coplan, &candidate->strategy, &others[i]->design, false, scratch);
        }
    }
    return work_units / WORK_UNITS_PER_S;
}

// Evaluates all from which descents may begin on the designs of the others. Returns the seconds of
// effort.
static double cross_all(struct coplan *coplan, double seconds, struct weft_arena scratch)
{
    struct coplan_candidate *all[CROSSED_MAX];
    uint32_t count = coplan->known_count < CROSSED_MAX ? coplan->known_count : CROSSED_MAX;
    memcpy(all, coplan->known, count * sizeof(struct coplan_candidate *)); // the order may change
    double spent = 0;
    double limit_s = coplan->known[0]->score.iteration_s * CROSS_RATIO;
    for (uint32_t i = 0; i < count && spent < seconds; i++) {
        if (all[i]->score.iteration_s <= limit_s) {
            spent += cross(coplan, all[i], scratch);
        }
    }
    return spent;
}

// Descents from the best known, each followed by a new topology where it ended near the best, until
// all have ended or the effort is spent. Returns the effort left of `left`.
static double descend_all(struct coplan *coplan, double left, double wire_s, uint32_t patience,
                          struct weft_arena scratch)
{
    while (left > 0 && !weft_stopped(coplan->environment->stop)) {
        struct coplan_candidate *candidate = find_undescended(coplan);
        if (candidate == NULL) {
            break;
        }
        double before_s = candidate->score.iteration_s;
        const struct attempt how = {.work_units = left * WORK_UNITS_PER_S, .patience = patience};
        left -= descend_from(&candidate, coplan, &how, scratch);
        double after_s = candidate->score.iteration_s;
        if (after_s < before_s && after_s <= coplan->known[0]->score.iteration_s * WIRE_RATIO) {
            coplan_wire(coplan, candidate, wire_s, scratch);
            left -= wire_s;
        }
    }
    return left;
}

static bool is_good_enough(const struct coplan *coplan)
{
    return coplan->known[0]->score.iteration_s <= coplan->known[0]->search.good_enough_s;
}

// First searches once more, and descents from what they find, while the effort is worth it. Returns
// the effort left of `left`.
static double descend_anew(struct coplan *coplan, double left, double wire_s,
                           struct weft_arena scratch)
{
    while (left > coplan_anew_seconds(coplan) * ANEW_WORTH && !is_good_enough(coplan) &&
           !weft_stopped(coplan->environment->stop)) {
        double before_s = coplan->seconds_left;
        bool searched = coplan_start_anew(coplan, scratch);
        left -= before_s - coplan->seconds_left;
        coplan->seconds_left = before_s; // the caller counts `left`
        if (!searched) {
            break;
        }
        left -= cross_all(coplan, left * CROSS_SHARE_MOST, scratch);
        left = descend_all(coplan, left, wire_s, PATIENCE_QUICK, scratch);
    }
    return left;
}

// One of the best known, the better ones more often.
static struct coplan_candidate *draw_known(const struct coplan *coplan, struct weft_rng *rng)
{
    double limit_s = coplan->known[0]->score.iteration_s * PERTURB_RATIO;
    uint32_t near = 1;
    while (near < PERTURBED_FROM && near < coplan->known_count &&
           coplan->known[near]->score.iteration_s <= limit_s) {
        near++;
    }
    uint32_t first = weft_rng_below(rng, near);
    uint32_t second = weft_rng_below(rng, near);
    return coplan->known[first < second ? first : second];
}

// Descents from where random changes of the best lead, with `seconds` of effort. Returns what is
// left of it.
static double perturb_all(struct coplan *coplan, double seconds, double wire_s,
                          struct weft_arena scratch)
{
    struct weft_rng rng;
    weft_rng_init(&rng, weft_hash(coplan->environment->seed ^ PERTURB_SEED));
    double left = seconds;
    for (uint32_t idle = 0;
         left > 0 && idle < PERTURB_IDLE_MAX && !weft_stopped(coplan->environment->stop); idle++) {
        struct coplan_candidate *candidate = draw_known(coplan, &rng);
        double before_s = candidate->score.iteration_s;
        uint32_t kind = weft_rng_below(&rng, 3); // the design, the strategy, both
        const struct attempt how = {.work_units = left * WORK_UNITS_PER_S,
                                    .patience = PATIENCE_PERTURBED,
                                    .perturbations =
                                        kind == 0 ? 0 : 1 + weft_rng_below(&rng, PERTURBATIONS_MAX),
                                    .perturbs_design = kind != 1,
                                    .rng = &rng};
        left -= descend_from(&candidate, coplan, &how, scratch);
        if (candidate->score.iteration_s < before_s && candidate == coplan->known[0]) {
            coplan_wire(coplan, candidate, wire_s, scratch);
            left -= wire_s;
            idle = 0;
        }
    }
    return left;
}

// Quick descents, beginnings anew, perturbations, and at the end thorough descents (without
// patience) from those nearest the best.
double coplan_descend(struct coplan *coplan, double seconds, struct weft_arena scratch)
{
    double wire_s = fmin(WIRE_S_MOST, seconds * WIRE_SHARE);
    double left = seconds - cross_all(coplan, seconds * CROSS_SHARE_MOST, scratch);
    left = descend_all(coplan, left, wire_s, PATIENCE_QUICK, scratch);
    left = descend_anew(coplan, left, wire_s, scratch);
    left -= cross_all(coplan, left * CROSS_SHARE_MOST, scratch);
    double perturb_s = left * PERTURB_SHARE;
    left += perturb_all(coplan, perturb_s, wire_s, scratch) - perturb_s;
    double limit_s = coplan->known[0]->score.iteration_s * WIRE_RATIO;
    for (uint32_t i = 0; i < coplan->known_count; i++) {
        struct coplan_candidate *known = coplan->known[i];
        known->descended_s = known->score.iteration_s <= limit_s ? 0 : known->score.iteration_s;
    }
    return descend_all(coplan, left, wire_s, UINT32_MAX, scratch);
}
