// SPDX-License-Identifier: Apache-2.0
// Descent: systematic small changes of a strategy on the network that it has.
//
// A step gives a run of operators, neighbors in the model's order that lie alike, the placement of
// some other operator. All steps from a strategy are listed and ordered by the search's estimate,
// which is cheap and roughly right; the simulated iteration, which is neither cheap nor rough,
// evaluates them in that order in batches of eight and takes the best of a batch if it gains. Where
// no single step gains, pairs of the steps that lost least follow, because an operator can often
// move only if another one makes room. docs/co-optimisation.md, "Both at once". Each pass lists
// O(operators * placements) steps; the effort bounds how many are simulated.

#include "descent.h"

#include "joint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Constants without a figure in docs/co-optimisation.md were not measured one by one.

// Steps evaluated side by side, of which the best is taken. It is not the number of threads, which
// must not change what is found.
#define BATCH 8u
// Distinct placements that steps may hand on, those met first in the model's order.
#define PLACEMENTS_MAX 24u
// A step that gains less counts as none.
#define GAIN_RATIO 1e-5
// A step whose estimate is so much longer than the best of all steps' is not evaluated.
#define WORSE_RATIO 1.15
// Steps considered at most, for each operator: those to the placements met last are left out.
#define STEPS_PER_OPERATOR 64u
// Steps that lost least and are paired.
#define NEAR_MAX 24u
// After a first pass a descent goes on, and after the last one with pairs, if it is no further
// behind its goal.
#define GOAL_RATIO 1.05
#define PAIRS_RATIO 1.01
// Random steps that are tried at most, for all perturbations of one descent.
#define PERTURB_TRIES 32u
// Where a full evaluation costs more than so many quick ones, a quick one comes first, and a step
// that it sees this far behind is not evaluated in full (CANDLE-16: 77 % of the steps, none of
// those that gained).
#define QUICK_WORTH 2.5
#define QUICK_RATIO 1.02
// Work units of an estimate, for each operator, and of a task graph, for each task: fitted to
// times.
#define UNITS_PER_OPERATOR 700.0
#define UNITS_PER_TASK 300.0
// Strategies evaluated on one network at most, a power of two.
#define EVALUATED_MAX 16384u

// The operators [first, end) take one placement.
struct change {
    uint32_t first;
    uint32_t end;
    struct weft_placement place;
};

// One change, or two that the strategy can take only together.
#define CHANGES_MAX 2u

struct step {
    struct change changes[CHANGES_MAX];
    uint32_t change_count;
    uint32_t order; // of the placement among those met, to break ties
    uint64_t estimate_ps;
    struct descent_score score;
};

struct descent {
    const struct descent_job *job;
    struct weft_strategy strategy;
    struct weft_placement *places; // the strategy's own
    double iteration_s;
    double quick_s; // of the strategy; 0 = full evaluations are cheap enough, HUGE_VAL = not known
    struct step *steps;
    uint32_t step_count;
    uint32_t step_max;
    struct step batch[BATCH];
    struct step near[NEAR_MAX]; // single steps from the strategy that lost least, the best first
    uint32_t near_count;
    uint64_t *evaluated; // keys of strategies, open addressing; 0 = empty
    uint32_t evaluated_count;
};

static bool is_input(const struct descent *descent, uint32_t op)
{
    return descent->job->study->model->operators[op].spec.kind == WEFT_OP_INPUT;
}

static bool same_place(const struct weft_placement *a, const struct weft_placement *b)
{
    return a->sample_parts == b->sample_parts && a->parameter_parts == b->parameter_parts &&
           memcmp(a->servers, b->servers,
                  sizeof *a->servers * a->sample_parts * a->parameter_parts) == 0;
}

static void change_places(struct weft_placement *places, const struct descent *descent,
                          const struct step *step)
{
    for (uint32_t c = 0; c < step->change_count; c++) {
        const struct change *change = &step->changes[c];
        for (uint32_t op = change->first; op < change->end; op++) {
            if (!is_input(descent, op)) {
                places[op] = change->place;
            }
        }
    }
}

static struct weft_strategy apply(const struct descent *descent, const struct step *step,
                                  struct weft_arena *arena)
{
    uint32_t count = descent->job->study->model->operator_count;
    struct weft_strategy strategy = descent->strategy;
    struct weft_placement *places = WEFT_NEW_RAW(arena, struct weft_placement, (size_t)count + 1);
    memcpy(places, descent->places, count * sizeof *places);
    change_places(places, descent, step);
    strategy.placements = places;
    strategy.memory = NULL;
    return strategy;
}

// ---- which steps there are ----

static uint32_t find_placements(struct weft_placement *found, const struct descent *descent)
{
    uint32_t count = 0;
    for (uint32_t op = 0; op < descent->job->study->model->operator_count; op++) {
        uint32_t at = 0;
        while (at < count && !same_place(&found[at], &descent->places[op])) {
            at++;
        }
        if (at == count && count < PLACEMENTS_MAX && !is_input(descent, op)) {
            found[count++] = descent->places[op];
        }
    }
    return count;
}

// Runs, in the model's order, of operators that lie alike.
static void list_runs(struct descent *descent, uint32_t first, uint32_t order,
                      const struct weft_placement *place)
{
    static const uint32_t lengths[] = {1, 2, 3, 4, 6, 8, 10, 12, 20};
    uint32_t count = descent->job->study->model->operator_count;
    uint32_t longest = 0;
    while (first + longest < count &&
           same_place(&descent->places[first + longest], &descent->places[first])) {
        longest++;
    }
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        if (lengths[i] <= longest && descent->step_count < descent->step_max) {
            descent->steps[descent->step_count++] =
                (struct step){.changes = {{first, first + lengths[i], *place}},
                              .change_count = 1,
                              .order = order};
        }
    }
}

static void estimate_step(void *context, uint32_t index, struct weft_arena scratch)
{
    struct descent *descent = context;
    struct step *step = &descent->steps[index];
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_strategy strategy = apply(descent, step, &kept);
    step->estimate_ps = weft_strategy_estimate(descent->job->space, &strategy, scratch);
}

static int compare_steps(const void *left, const void *right)
{
    const struct step *a = left;
    const struct step *b = right;
    if (a->estimate_ps != b->estimate_ps) {
        return a->estimate_ps < b->estimate_ps ? -1 : 1;
    }
    const struct change *of_a = &a->changes[0];
    const struct change *of_b = &b->changes[0];
    if (of_a->first != of_b->first) {
        return of_a->first < of_b->first ? -1 : 1;
    }
    if (of_a->end != of_b->end) {
        return of_a->end < of_b->end ? -1 : 1;
    }
    return a->order < b->order ? -1 : a->order > b->order ? 1 : 0;
}

// All steps from the strategy, the shortest estimate first. Returns the work units.
static double list_steps(struct descent *descent)
{
    struct weft_placement found[PLACEMENTS_MAX];
    uint32_t placements = find_placements(found, descent);
    uint32_t operators = descent->job->study->model->operator_count;
    descent->step_count = 0;
    for (uint32_t p = 0; p < placements; p++) {
        for (uint32_t op = 0; op < operators; op++) {
            if (!is_input(descent, op) && !same_place(&descent->places[op], &found[p])) {
                list_runs(descent, op, p, &found[p]);
            }
        }
    }
    weft_parallel_for(descent->step_count, descent->job->threads, estimate_step, descent);
    qsort(descent->steps, descent->step_count, sizeof *descent->steps, compare_steps);
    double units = UNITS_PER_OPERATOR * operators * descent->step_count;
    uint32_t kept = 0;
    while (kept < descent->step_count && descent->steps[kept].estimate_ps != WEFT_NEVER &&
           (double)descent->steps[kept].estimate_ps <=
               WORSE_RATIO * (double)descent->steps[0].estimate_ps) {
        kept++;
    }
    descent->step_count = kept;
    return units;
}

// ---- evaluating ----

// Whether a strategy was not evaluated before on this network; notes it.
static bool is_new(struct descent *descent, uint64_t key)
{
    key = key == 0 ? 1 : key;
    uint32_t at = (uint32_t)key & (EVALUATED_MAX - 1);
    while (descent->evaluated[at] != 0 && descent->evaluated[at] != key) {
        at = (at + 1) & (EVALUATED_MAX - 1);
    }
    if (descent->evaluated[at] == key || descent->evaluated_count >= EVALUATED_MAX / 2) {
        return false;
    }
    descent->evaluated[at] = key;
    descent->evaluated_count++;
    return true;
}

static void evaluate_step(void *context, uint32_t index, struct weft_arena scratch)
{
    struct descent *descent = context;
    const struct descent_job *job = descent->job;
    struct step *step = &descent->batch[index];
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_error error;
    struct weft_taskgraph graph;
    step->score = (struct descent_score){.quick_s = HUGE_VAL, .iteration_s = HUGE_VAL};
    struct weft_strategy strategy = apply(descent, step, &kept);
    if (weft_strategy_memory(&strategy, job->study, &kept, scratch, &error) &&
        weft_strategy_taskgraph(&graph, &strategy, job->study, &kept, scratch, &error)) {
        step->score = job->evaluate(job->context, &graph, descent->quick_s * QUICK_RATIO, scratch);
        step->score.work_units += UNITS_PER_TASK * graph.task_count;
    }
}

struct descent_score descent_simulate(const struct search *search,
                                      const struct weft_network *network, double limit_s,
                                      double work_units, struct weft_arena scratch)
{
    struct descent_score score = {HUGE_VAL, HUGE_VAL, 0, 0, work_units};
    if (limit_s > 0) {
        struct score quick = search_simulate(search, network, true, scratch);
        score.quick_s = quick.iteration_s;
        score.quick_units = quick.work_units;
        score.work_units += quick.work_units;
        if (quick.iteration_s > limit_s) {
            return score;
        }
    }
    struct score whole = search_simulate(search, network, false, scratch);
    score.iteration_s = whole.iteration_s;
    score.full_units = whole.work_units;
    score.work_units += whole.work_units;
    return score;
}

static bool lead_anew(struct descent *descent, const struct step *step, struct weft_arena scratch)
{
    struct weft_strategy strategy = apply(descent, step, &scratch);
    return is_new(descent, coplan_key(&strategy, descent->job->study->model));
}

static void take(struct descent *descent, const struct step *step)
{
    change_places(descent->places, descent, step);
    descent->iteration_s = step->score.iteration_s;
    descent->quick_s = descent->quick_s > 0 ? step->score.quick_s : 0;
    descent->near_count = 0;
}

// Notes a single step that was not taken.
static void note_near(struct descent *descent, const struct step *step)
{
    if (step->change_count > 1 || !(step->score.iteration_s < HUGE_VAL)) {
        return;
    }
    uint32_t at = descent->near_count;
    if (at == NEAR_MAX) {
        at--;
        if (descent->near[at].score.iteration_s <= step->score.iteration_s) {
            return;
        }
    } else {
        descent->near_count++;
    }
    for (; at > 0 && descent->near[at - 1].score.iteration_s > step->score.iteration_s; at--) {
        descent->near[at] = descent->near[at - 1];
    }
    descent->near[at] = *step;
}

// Evaluates a batch of steps and takes the best if it gains.
static bool evaluate_batch(struct descent *descent, uint32_t count, double *left)
{
    weft_parallel_for(count, descent->job->threads, evaluate_step, descent);
    const struct step *best = &descent->batch[0];
    for (uint32_t i = 0; i < count; i++) {
        const struct step *step = &descent->batch[i];
        *left -= step->score.work_units;
        best = step->score.iteration_s < best->score.iteration_s ? step : best;
    }
    if (best->score.iteration_s < descent->iteration_s * (1 - GAIN_RATIO)) {
        take(descent, best);
        return true;
    }
    for (uint32_t i = 0; i < count; i++) {
        note_near(descent, &descent->batch[i]);
    }
    return false;
}

// Goes through steps that were listed, the first ones first, until patience ends. Whether any was
// taken; `once`: ends with the first.
static bool go_through(struct descent *descent, bool once, double *left, struct weft_arena scratch)
{
    const struct descent_job *job = descent->job;
    bool gained = false;
    uint32_t idle = 0;
    uint32_t at = 0;
    while (idle<job->patience && * left> 0 && !weft_stopped(job->stop) && !(once && gained)) {
        uint32_t count = 0;
        for (; at < descent->step_count && count < BATCH; at++) {
            if (lead_anew(descent, &descent->steps[at], scratch)) {
                descent->batch[count++] = descent->steps[at];
            }
        }
        if (count == 0) {
            break;
        }
        idle += count;
        if (evaluate_batch(descent, count, left)) {
            gained = true;
            idle = 0;
        }
    }
    return gained;
}

static int compare_pairs(const void *left, const void *right)
{
    const struct step *a = left;
    const struct step *b = right;
    if (a->score.iteration_s != b->score.iteration_s) {
        return a->score.iteration_s < b->score.iteration_s ? -1 : 1;
    }
    return a->order < b->order ? -1 : a->order > b->order ? 1 : 0;
}

// All pairs of the steps that lost least, the least sum of what they lost first: one makes room for
// what the other one moves.
static void list_pairs(struct descent *descent)
{
    descent->step_count = 0;
    for (uint32_t i = 0; i < descent->near_count; i++) {
        for (uint32_t j = i + 1; j < descent->near_count; j++) {
            const struct change *a = &descent->near[i].changes[0];
            const struct change *b = &descent->near[j].changes[0];
            bool apart = a->end <= b->first || b->end <= a->first;
            if (!apart || descent->step_count == descent->step_max) {
                continue;
            }
            struct step *pair = &descent->steps[descent->step_count];
            *pair =
                (struct step){.changes = {*a, *b}, .change_count = 2, .order = descent->step_count};
            pair->score.iteration_s =
                descent->near[i].score.iteration_s + descent->near[j].score.iteration_s;
            descent->step_count++;
        }
    }
    qsort(descent->steps, descent->step_count, sizeof *descent->steps, compare_pairs);
}

// Goes through all steps once, and through pairs of them where none gains. Whether any was taken
// and more is worth it.
static bool sweep(struct descent *descent, double *left, struct weft_arena scratch)
{
    double goal_s = descent->job->goal_s;
    *left -= list_steps(descent);
    if (go_through(descent, false, left, scratch)) {
        return descent->iteration_s <= goal_s * GOAL_RATIO;
    }
    if (descent->iteration_s > goal_s * PAIRS_RATIO) {
        return false;
    }
    list_pairs(descent);
    return go_through(descent, true, left, scratch);
}

// Moves away from the strategy by a few random steps. False when they lead nowhere.
static bool perturb(struct descent *descent, double *left, struct weft_arena scratch)
{
    const struct descent_job *job = descent->job;
    uint32_t perturbations = 0;
    if (job->perturbations > 0) {
        *left -= list_steps(descent);
    }
    for (uint32_t i = 0;
         i < PERTURB_TRIES && perturbations < job->perturbations && descent->step_count > 0; i++) {
        const struct step *step = &descent->steps[weft_rng_below(job->rng, descent->step_count)];
        if (lead_anew(descent, step, scratch)) { // not the way back
            change_places(descent->places, descent, step);
            perturbations++;
        }
    }
    return perturbations == job->perturbations;
}

// Evaluates the strategy that the descent begins at, and finds out whether quick evaluations are
// worth it. Returns the work units.
static double evaluate_start(struct descent *descent, struct weft_arena scratch)
{
    struct step *start = &descent->batch[0];
    *start = (struct step){0};
    descent->quick_s = HUGE_VAL;
    evaluate_step(descent, 0, scratch);
    const struct descent_score *score = &start->score;
    bool worth = score->full_units > QUICK_WORTH * score->quick_units;
    descent->quick_s = worth ? score->quick_s : 0;
    descent->iteration_s = score->iteration_s;
    return score->work_units;
}

double descent_run(struct weft_strategy *strategy, double *iteration_s,
                   const struct descent_job *job, struct weft_arena *arena,
                   struct weft_arena scratch)
{
    uint32_t operators = job->study->model->operator_count;
    struct descent *descent = WEFT_NEW(&scratch, struct descent, 1);
    *descent = (struct descent){
        .job = job,
        .strategy = *strategy,
        .places = WEFT_NEW_RAW(arena, struct weft_placement, (size_t)operators + 1),
        .step_max = operators * STEPS_PER_OPERATOR,
        .evaluated = WEFT_NEW(&scratch, uint64_t, EVALUATED_MAX),
    };
    descent->steps = WEFT_NEW_RAW(&scratch, struct step, (size_t)descent->step_max + 1);
    memcpy(descent->places, strategy->placements, operators * sizeof *descent->places);
    is_new(descent, coplan_key(strategy, job->study->model));
    *iteration_s = HUGE_VAL;
    double left = job->work_units;
    if (!perturb(descent, &left, scratch)) {
        return job->work_units - left;
    }
    left -= evaluate_start(descent, scratch);
    while (left > 0 && descent->iteration_s < HUGE_VAL && sweep(descent, &left, scratch)) {
    }
    strategy->placements = descent->places;
    strategy->memory = NULL;
    *iteration_s = descent->iteration_s;
    return job->work_units - left;
}
