// SPDX-License-Identifier: Apache-2.0
// The loop of simulated annealing (weft/base/anneal.h): it costs what its moves cost.

#include "weft/base/anneal.h"

#include <math.h>

double weft_anneal_cool(double hot, double cold, double progress)
{
    return hot * pow(cold / hot, progress);
}

static double temperature_now(const struct weft_anneal *anneal)
{
    if (anneal->period > 0) {
        return anneal->temperature;
    }
    const struct weft_anneal_moves *moves = anneal->moves;
    return moves->temperature(anneal, moves->progress(anneal));
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
    const struct weft_anneal_moves *moves = anneal->moves;
    for (; anneal->best > anneal->bound && anneal->steps < anneal->steps_max; anneal->steps++) {
        double progress = moves->progress(anneal);
        anneal->stopped = weft_stopped(anneal->stop);
        if (progress >= 1 || anneal->stopped) {
            return;
        }
        if (anneal->period > 0 && anneal->steps % anneal->period == 0) {
            anneal->temperature = moves->temperature(anneal, progress);
        }
        if (!step(anneal)) {
            anneal->stuck = true;
            return;
        }
    }
}
