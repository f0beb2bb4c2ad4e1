// SPDX-License-Identifier: Apache-2.0
// Systematic small changes of a strategy on the network that it has: runs of operators take
// placements that others have, the most promising first by the search's estimate, and the simulated
// iteration decides.

#include "coplan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Steps judged side by side: the best of them is taken. Not the number of threads, which must not
// change what is found.
#define BATCH 8u
// Distinct placements that steps may hand on, those met first.
#define PLACEMENTS_MAX 24u
// A step that gains less is none.
#define GAIN_RATIO 1e-5
// A step whose estimate is so much longer than the best of all steps' is not judged.
#define WORSE_RATIO 1.15
// Steps considered at most, for each operator: those to the placements met last are left out.
#define STEPS_PER_OPERATOR 64u
// Work units of an estimate, for each operator, and of a task graph, for each task.
#define UNITS_PER_OPERATOR 1500.0
#define UNITS_PER_TASK 300.0
// Strategies judged on one network at most, a power of two.
#define JUDGED_MAX 16384u

// The operators [first, end) take one placement.
struct step {
    uint32_t first;
    uint32_t end;
    uint32_t order; // of the placement among those met, to break ties
    struct weft_placement place;
    uint64_t estimate_ps;
    uint64_t key; // of the strategy that it leads to
    double iteration_s;
    double work_units;
};

struct descent {
    const struct coplan *coplan;
    const struct weft_strategy_space *space;
    const struct design *design;
    struct weft_strategy strategy;
    struct weft_placement *places; // the strategy's own
    double iteration_s;
    struct step *steps;
    uint32_t step_count;
    uint32_t step_max;
    struct step batch[BATCH];
    uint32_t patience; // steps in a row that may gain nothing
    uint64_t *judged;  // keys, open addressing; 0 = empty
    uint32_t judged_count;
};

static bool is_input(const struct descent *descent, uint32_t op)
{
    return descent->coplan->model->operators[op].spec.kind == WEFT_OP_INPUT;
}

static bool same_place(const struct weft_placement *a, const struct weft_placement *b)
{
    return a->sample_parts == b->sample_parts && a->parameter_parts == b->parameter_parts &&
           memcmp(a->servers, b->servers,
                  sizeof *a->servers * a->sample_parts * a->parameter_parts) == 0;
}

static struct weft_strategy apply(const struct descent *descent, const struct step *step,
                                  struct weft_arena *arena)
{
    uint32_t count = descent->coplan->model->operator_count;
    struct weft_strategy strategy = descent->strategy;
    struct weft_placement *places = WEFT_NEW_RAW(arena, struct weft_placement, (size_t)count + 1);
    memcpy(places, descent->places, count * sizeof *places);
    for (uint32_t op = step->first; op < step->end; op++) {
        if (!is_input(descent, op)) {
            places[op] = step->place;
        }
    }
    strategy.placements = places;
    strategy.memory = NULL;
    return strategy;
}

// ---- which steps there are ----

static uint32_t find_placements(struct weft_placement *found, const struct descent *descent)
{
    uint32_t count = 0;
    for (uint32_t op = 0; op < descent->coplan->model->operator_count; op++) {
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
    uint32_t count = descent->coplan->model->operator_count;
    uint32_t longest = 0;
    while (first + longest < count &&
           same_place(&descent->places[first + longest], &descent->places[first])) {
        longest++;
    }
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        if (lengths[i] <= longest && descent->step_count < descent->step_max) {
            descent->steps[descent->step_count++] = (struct step){
                .first = first, .end = first + lengths[i], .order = order, .place = *place};
        }
    }
}

static void estimate_step(void *context, uint32_t index, struct weft_arena scratch)
{
    struct descent *descent = context;
    struct step *step = &descent->steps[index];
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_strategy strategy = apply(descent, step, &kept);
    step->estimate_ps = weft_strategy_estimate(descent->space, &strategy, scratch);
}

static int compare_steps(const void *left, const void *right)
{
    const struct step *a = left;
    const struct step *b = right;
    if (a->estimate_ps != b->estimate_ps) {
        return a->estimate_ps < b->estimate_ps ? -1 : 1;
    }
    if (a->first != b->first) {
        return a->first < b->first ? -1 : 1;
    }
    if (a->end != b->end) {
        return a->end < b->end ? -1 : 1;
    }
    return a->order < b->order ? -1 : a->order > b->order ? 1 : 0;
}

// All steps from the strategy, the shortest estimate first. Returns the work units.
static double list_steps(struct descent *descent)
{
    struct weft_placement found[PLACEMENTS_MAX];
    uint32_t placements = find_placements(found, descent);
    uint32_t operators = descent->coplan->model->operator_count;
    descent->step_count = 0;
    for (uint32_t p = 0; p < placements; p++) {
        for (uint32_t op = 0; op < operators; op++) {
            if (!is_input(descent, op) && !same_place(&descent->places[op], &found[p])) {
                list_runs(descent, op, p, &found[p]);
            }
        }
    }
    weft_parallel_for(descent->step_count, descent->coplan->options->search.threads, estimate_step,
                      descent);
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

// ---- judging ----

// Whether a strategy was not judged before on this network; notes it.
static bool is_new(struct descent *descent, uint64_t key)
{
    key = key == 0 ? 1 : key;
    uint32_t at = (uint32_t)key & (JUDGED_MAX - 1);
    while (descent->judged[at] != 0 && descent->judged[at] != key) {
        at = (at + 1) & (JUDGED_MAX - 1);
    }
    if (descent->judged[at] == key || descent->judged_count >= JUDGED_MAX / 2) {
        return false;
    }
    descent->judged[at] = key;
    descent->judged_count++;
    return true;
}

static void judge_step(void *context, uint32_t index, struct weft_arena scratch)
{
    struct descent *descent = context;
    const struct coplan *coplan = descent->coplan;
    struct step *step = &descent->batch[index];
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_error error;
    struct weft_taskgraph graph;
    struct weft_traffic traffic;
    step->iteration_s = HUGE_VAL;
    step->work_units = 0;
    struct weft_strategy strategy = apply(descent, step, &kept);
    if (!weft_strategy_memory(&strategy, coplan->model, coplan->cluster, coplan->setting, &kept,
                              scratch, &error) ||
        !weft_strategy_taskgraph(&graph, &strategy, coplan->model, coplan->cluster, coplan->setting,
                                 &kept, scratch, &error)) {
        return;
    }
    weft_traffic_build(&traffic, &graph, &kept, scratch);
    struct search search = method_open(&graph, &traffic, coplan->cluster, &coplan->options->plan);
    struct design design = design_copy(descent->design, &kept);
    design_regroup(&design, &traffic, scratch);
    struct verdict verdict = search_judge(&search, &design, false, scratch);
    step->iteration_s = verdict.iteration_s;
    step->work_units = verdict.work_units + UNITS_PER_TASK * graph.task_count;
}

// Fills the batch with the next steps that lead to strategies not judged yet, from *at on.
static uint32_t fill_batch(struct descent *descent, uint32_t *at, struct weft_arena scratch)
{
    uint32_t count = 0;
    for (; *at < descent->step_count && count < BATCH; ++*at) {
        struct weft_arena room = scratch;
        struct weft_strategy strategy = apply(descent, &descent->steps[*at], &room);
        if (is_new(descent, coplan_key(&strategy, descent->coplan->model))) {
            descent->batch[count++] = descent->steps[*at];
        }
    }
    return count;
}

static void take(struct descent *descent, const struct step *step)
{
    for (uint32_t op = step->first; op < step->end; op++) {
        if (!is_input(descent, op)) {
            descent->places[op] = step->place;
        }
    }
    descent->iteration_s = step->iteration_s;
    coplan_tell(descent->coplan, step->iteration_s);
}

// Goes through all steps once. Whether any was taken.
static bool sweep(struct descent *descent, double *work_units, struct weft_arena scratch)
{
    const struct weft_search_options *options = &descent->coplan->options->search;
    bool gained = false;
    uint32_t idle = 0;
    *work_units -= list_steps(descent);
    for (uint32_t at = 0;
         idle<descent->patience && * work_units> 0 && !weft_stopped(options->stop);) {
        uint32_t count = fill_batch(descent, &at, scratch);
        if (count == 0) {
            break;
        }
        weft_parallel_for(count, options->threads, judge_step, descent);
        const struct step *best = &descent->batch[0];
        idle += count;
        for (uint32_t i = 0; i < count; i++) {
            *work_units -= descent->batch[i].work_units;
            best = descent->batch[i].iteration_s < best->iteration_s ? &descent->batch[i] : best;
        }
        if (best->iteration_s < descent->iteration_s * (1 - GAIN_RATIO)) {
            take(descent, best);
            gained = true;
            idle = 0;
        }
    }
    return gained;
}

// Marks the strategy of this key as one that descents lead to.
static struct settled *mark(struct coplan *coplan, uint64_t key)
{
    for (uint32_t i = 0; i < coplan->known_count; i++) {
        if (coplan->known[i]->key == key) {
            coplan->known[i]->descended_s = coplan->known[i]->verdict.iteration_s;
            return coplan->known[i];
        }
    }
    return NULL;
}

double coplan_descend(struct coplan *coplan, struct settled **settled_at, uint32_t patience,
                      double work_units, struct weft_arena scratch)
{
    struct settled *settled = *settled_at;
    settled->descended_s = settled->verdict.iteration_s;
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_strategy_space *space = NULL;
    struct weft_network network;
    struct weft_error error;
    double units = 0;
    uint32_t operators = coplan->model->operator_count;
    if (!search_network(&network, &units, &settled->search, &settled->design, &kept, scratch) ||
        !weft_strategy_space_build(&space, coplan->model, coplan->cluster, &network,
                                   coplan->setting, &kept, scratch, &error)) {
        return units;
    }
    struct descent *descent = WEFT_NEW(&kept, struct descent, 1);
    *descent = (struct descent){
        .coplan = coplan,
        .space = space,
        .design = &settled->design,
        .strategy = settled->strategy,
        .places = WEFT_NEW_RAW(&kept, struct weft_placement, (size_t)operators + 1),
        .iteration_s = settled->verdict.iteration_s,
        .step_max = operators * STEPS_PER_OPERATOR,
        .patience = patience,
        .judged = WEFT_NEW(&kept, uint64_t, JUDGED_MAX),
    };
    descent->steps = WEFT_NEW_RAW(&kept, struct step, (size_t)descent->step_max + 1);
    memcpy(descent->places, settled->strategy.placements, operators * sizeof *descent->places);
    is_new(descent, settled->key);
    double left = work_units - units;
    while (left > 0 && sweep(descent, &left, scratch)) {
    }
    if (descent->iteration_s < settled->verdict.iteration_s) {
        descent->strategy.placements = descent->places;
        descent->strategy.memory = NULL;
        coplan_adopt(coplan, &descent->strategy, descent->design, scratch);
        struct settled *found = mark(coplan, coplan_key(&descent->strategy, coplan->model));
        *settled_at = found != NULL ? found : settled;
    }
    return work_units - left;
}
