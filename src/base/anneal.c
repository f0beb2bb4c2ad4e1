// SPDX-License-Identifier: Apache-2.0
// The loop of simulated annealing (weft/base/anneal.h) that five searches share: designs by hops
// and by link loads (src/topology/search), designs by the simulated iteration (src/plan/design),
// strategies (src/strategy/search), and both together (src/plan/joint).
//
// They bring moves, costs, and the ends of the temperature; acceptance, cooling, the count of the
// effort and the end of a chain are here. A step costs what its moves cost and one variate, a
// temperature one power.
//
// Rounds of chains stay with the searches: what is common to them is weft_parallel_for over
// generators of their own (weft_rng_stream), and what differs is what the second round goes on
// from, which is no detail: mixed designs whose second round starts anew score 1.2 % worse
// (mix_search.c), and designs by hops start anew (topology/search/anneal.c).

#include "weft/base/anneal.h"

#include <math.h>

// The share of the effort that is spent; the chain ends at 1.
static double progress(const struct weft_anneal *anneal)
{
    double steps = (double)anneal->steps;
    double spent = (anneal->work + steps * anneal->step_work) / anneal->work_max;
    double ahead = steps / (double)anneal->steps_max;
    return spent > ahead ? spent : ahead;
}

static double cool(const struct weft_anneal *anneal)
{
    const struct weft_anneal_cooling *cooling = &anneal->cooling;
    double unit = cooling->unit == WEFT_ANNEAL_OF_CURRENT ? anneal->current
                  : cooling->unit == WEFT_ANNEAL_OF_BEST  ? anneal->best
                                                          : 1;
    double spent = fmin(1, progress(anneal)); // a step's own work may be more than is left
    return unit * (cooling->hot * pow(cooling->cold / cooling->hot, spent));
}

static double temperature_now(const struct weft_anneal *anneal)
{
    return anneal->cooling.period > 0 ? anneal->temperature : cool(anneal);
}

double weft_anneal_limit(struct weft_anneal *anneal)
{
    if (isnan(anneal->limit)) {
        double excess = weft_rng_exponential(anneal->rng, temperature_now(anneal));
        anneal->limit = anneal->current + excess;
    }
    return anneal->limit;
}

static bool accepts(struct weft_anneal *anneal, double cost)
{
    if (!anneal->draws_late) {
        return cost <= weft_anneal_limit(anneal);
    }
    double loss = cost - anneal->current;
    return loss <= 0 || weft_rng_unit(anneal->rng) < exp(-loss / temperature_now(anneal));
}

// One proposal; false when nothing can change.
static bool step(struct weft_anneal *anneal)
{
    const struct weft_anneal_moves *moves = anneal->moves;
    anneal->limit = (double)NAN;
    enum weft_anneal_proposal proposal = moves->propose(anneal);
    if (proposal != WEFT_ANNEAL_MOVED) {
        return proposal == WEFT_ANNEAL_NO_MOVE;
    }
    double cost = moves->evaluate(anneal);
    if (!accepts(anneal, cost)) {
        if (moves->undo != NULL) {
            moves->undo(anneal);
        }
        return true;
    }
    anneal->current = cost;
    if (moves->keep != NULL) {
        moves->keep(anneal);
    }
    if (cost < anneal->best) {
        anneal->best = cost;
        moves->record(anneal);
    }
    return true;
}

void weft_anneal_run(struct weft_anneal *anneal)
{
    uint32_t period = anneal->cooling.period;
    for (; anneal->best > anneal->bound && anneal->steps < anneal->steps_max; anneal->steps++) {
        anneal->stopped = weft_stopped(anneal->stop);
        if (progress(anneal) >= 1 || anneal->stopped) {
            return;
        }
        if (period > 0 && anneal->steps % period == 0) {
            anneal->temperature = cool(anneal);
        }
        if (!step(anneal)) {
            anneal->stuck = true;
            return;
        }
    }
}
