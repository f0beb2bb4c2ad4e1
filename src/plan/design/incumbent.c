// SPDX-License-Identifier: Apache-2.0
// The best plan so far, as it is offered, published and taken. A search may be left at any time and
// has to have an answer then: a finding that is cheap to finish is finished when the search has
// been left, a dear one as it is published (PUBLISH_RATIO), which adds a tenth to the search at
// most.

#include "incumbent.h"

#include "plan/demand/ties.h"

#include <math.h>

// Evaluations of more work than this, about 20 ms, are dear.
#define CHEAP_UNITS 2e7
// A dear plan is finished when the search has done this many times its evaluation since the last:
// finishing takes about two of them, so that it adds a tenth to a search at most.
#define PUBLISH_RATIO 20.0

static const struct finding nothing = {.offer = {.score = {HUGE_VAL, 0}}};

struct incumbent incumbent_open(const struct weft_plan_options *options, double effort_s,
                                weft_stop stop, struct weft_arena *arena, struct weft_arena *kept)
{
    weft_tally_begin(options->tally, (uint64_t)(effort_s * WORK_UNITS_PER_S));
    struct incumbent incumbent = {
        .stop = stop,
        .tally = options->tally,
        .best_ps = options->best_ps,
        .effort_s = effort_s,
        .count_most = options->published_most,
        .best = nothing,
        .pending = nothing,
    };
    incumbent.kept = weft_arena_split(kept);
    incumbent.scratch = weft_arena_split(kept);
    incumbent.slots[0] = weft_arena_split(arena);
    incumbent.slots[1] = weft_arena_split(arena);
    return incumbent;
}

bool incumbent_is_empty(const struct incumbent *incumbent)
{
    return incumbent != NULL && incumbent->best.offer.score.iteration_s == HUGE_VAL &&
           incumbent->pending.offer.score.iteration_s == HUGE_VAL;
}

static void leave(void)
{
    struct weft_error error;
    weft_fail(&error, WEFT_STOPPED, "stopped after as many plans as it was asked for");
    weft_raise(&error);
}

// Counts what is the answer from now on; leaves the search at the last.
static void publish(struct incumbent *incumbent, const struct finding *finding)
{
    incumbent->best = *finding;
    if (incumbent->best_ps != NULL) {
        atomic_store(incumbent->best_ps, weft_picoseconds(finding->offer.score.iteration_s));
    }
    incumbent->count++;
    if (incumbent->count == incumbent->count_most) {
        leave();
    }
}

static bool finish(struct finding *finding, struct incumbent *incumbent, struct weft_error *error)
{
    struct weft_arena arena = incumbent->slots[incumbent->slot];
    struct weft_plan *plan = WEFT_NEW(&arena, struct weft_plan, 1);
    if (!incumbent->finish(plan, incumbent, finding, &arena, error)) {
        return false;
    }
    incumbent->slot = 1 - incumbent->slot; // the other one is free for the next
    finding->plan = plan;
    return true;
}

// Whoever saw the request to stop may have computed half of what it should.
static void heed_stop(const struct incumbent *incumbent)
{
    if (weft_stopped(incumbent->stop)) {
        leave();
    }
}

// What its plan takes to finish is measured by: an evaluation of the flow engine.
static double finish_units(const struct offer *offer)
{
    return offer->finals.count > 0 ? offer->flow_units : offer->score.work_units;
}

// Times in packets and times of the flow engine are no times of one kind.
static bool is_better(const struct offer *offer, const struct offer *than)
{
    bool judged = offer->finals.count > 0;
    return judged != (than->finals.count > 0) ? judged
                                              : offer->score.iteration_s < than->score.iteration_s;
}

static void publish_due(struct incumbent *incumbent)
{
    struct weft_error error;
    if (incumbent->pending.offer.score.iteration_s == HUGE_VAL ||
        incumbent->work_units < incumbent->due_units) {
        return;
    }
    struct finding finding = incumbent->pending;
    incumbent->pending = nothing;
    if (finish(&finding, incumbent, &error)) { // else the search itself will fail so
        incumbent->due_units = incumbent->work_units + PUBLISH_RATIO * finish_units(&finding.offer);
        publish(incumbent, &finding);
    }
}

void incumbent_work(struct incumbent *incumbent, double work_units)
{
    if (incumbent != NULL) {
        heed_stop(incumbent);
        incumbent->work_units += work_units;
        weft_tally_add(incumbent->tally, (uint64_t)fmax(work_units, 0));
        publish_due(incumbent);
    }
}

void incumbent_offer(struct incumbent *incumbent, const struct weft_design *design,
                     const struct offer *offer)
{
    if (incumbent == NULL) {
        return;
    }
    heed_stop(incumbent);
    if (!is_better(offer, &incumbent->best.offer) || !is_better(offer, &incumbent->pending.offer)) {
        return;
    }
    struct finding found = incumbent->now;
    found.design = weft_design_copy(design, &incumbent->kept);
    found.offer = *offer;
    if (offer->ties.first != NULL) {
        found.offer.ties = ties_copy(&offer->ties, &incumbent->kept);
    }
    if (finish_units(offer) <= CHEAP_UNITS) {
        incumbent->pending = nothing; // worse than this one
        publish(incumbent, &found);
    } else {
        incumbent->pending = found;
        publish_due(incumbent);
    }
}

void plan_move(struct weft_plan *to, const struct weft_plan *from)
{
    *to = *from;
    to->network.routes.fabric = &to->network.fabric;
}

bool incumbent_run(struct weft_plan *plan, struct incumbent *incumbent, bool (*run)(void *context),
                   void *context, struct weft_error *error)
{
    if (weft_guard_until(run, context, incumbent->stop, error)) {
        return true;
    }
    struct finding *best = &incumbent->best;
    if (error->code != WEFT_STOPPED || best->offer.score.iteration_s == HUGE_VAL) {
        return false;
    }
    if (best->plan == NULL && !finish(best, incumbent, error)) {
        return false;
    }
    plan_move(plan, best->plan);
    plan->cut = (struct weft_plan_cut){incumbent->effort_s, incumbent->count};
    *error = (struct weft_error){.code = WEFT_OK};
    return true;
}
