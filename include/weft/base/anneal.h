// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_BASE_ANNEAL_H
#define WEFT_BASE_ANNEAL_H

// The one annealer: a chain of small changes of a state that accepts every improvement, and what is
// worse with a chance that falls with the loss and, over time, with the temperature (Kirkpatrick,
// Gelatt and Vecchi, "Optimization by simulated annealing", Science 1983).
//
//     propose ──► evaluate ──► cost <= limit ? keep (and record, if it is the best) : undo
//
// A search brings its state and a table of functions; the chain brings the loop, the acceptance and
// the bookkeeping of cost and effort. The chance exp(-loss / temperature) of Metropolis et al. (J.
// Chem. Phys. 1953) is drawn as a limit: current + an exponential variate of mean `temperature`.
// Both are the same distribution, and a limit is known before the evaluation, which may so give up
// early. The effort is counted as work, never as time, so that a seed gives the same chain on every
// machine.

#include "weft/base.h"

WEFT_API_BEGIN

enum weft_anneal_proposal {
    WEFT_ANNEAL_MOVED,   // the state is changed, and can be undone
    WEFT_ANNEAL_NO_MOVE, // this draw came to nothing; the chain goes on
    WEFT_ANNEAL_STUCK,   // nothing can change any more: the chain ends
};

struct weft_anneal;

struct weft_anneal_moves {
    // Changes the state at random.
    enum weft_anneal_proposal (*propose)(struct weft_anneal *anneal);
    // What the changed state costs; adds what that took to `work`. NAN, which is never accepted,
    // where it is no state or, with weft_anneal_limit, is seen to cost more than the limit.
    double (*evaluate)(struct weft_anneal *anneal);
    void (*keep)(struct weft_anneal *anneal);   // the change stands; NULL: nothing to do
    void (*undo)(struct weft_anneal *anneal);   // takes it back; NULL: nothing to do
    void (*record)(struct weft_anneal *anneal); // what was just kept is the best so far
};

// What a temperature is a multiple of.
enum weft_anneal_unit { WEFT_ANNEAL_ABSOLUTE, WEFT_ANNEAL_OF_CURRENT, WEFT_ANNEAL_OF_BEST };

// The temperature falls from `hot` to `cold`, both > 0, by equal factors while the effort is spent.
struct weft_anneal_cooling {
    double hot;
    double cold;
    enum weft_anneal_unit unit;
    uint32_t period; // steps from one temperature to the next; 0 = anew with every draw
};

// One chain. The caller sets the first part, with `current` = `best` = the cost of the state as it
// is, and reads the second.
struct weft_anneal {
    const struct weft_anneal_moves *moves;
    void *state;
    struct weft_rng *rng;
    weft_stop stop;
    double bound; // no state costs less: the chain ends there
    // The effort is spent by steps or by work, whichever is first: what the moves added to `work`
    // and `step_work` for each step.
    uint64_t steps_max;
    double work_max; // > 0; HUGE_VAL: only steps count
    double step_work;
    double work;
    struct weft_anneal_cooling cooling;
    // Draws a chance only for what costs more than the current state, and after its evaluation, as
    // FlexFlow's search does; otherwise one is drawn in every step.
    bool draws_late;
    double current;
    double best;

    uint64_t steps; // proposals that led on
    bool stopped;   // by `stop`
    bool stuck;
    double temperature;
    double limit; // of this step, NAN = not drawn yet
};

// Runs the chain until the effort or the steps are spent, the bound is met, nothing can change or
// it is stopped.
void weft_anneal_run(struct weft_anneal *anneal);

// The most that the state proposed may cost, for an `evaluate` that can give up: draws it if need
// be. Not with draws_late.
double weft_anneal_limit(struct weft_anneal *anneal);

WEFT_API_END

#endif
