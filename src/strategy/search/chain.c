// SPDX-License-Identifier: Apache-2.0
// Simulated annealing of a placement (Kirkpatrick et al. 1983) by the chain of weft/base/anneal.h,
// the best k placements that were seen on the way, and the leanest for when none fits. FlexFlow's
// chain (Jia et al., SysML 2019, section 6) is the same with its own moves and a fixed temperature.
// O(evaluations * (nodes + what moves change)).

#include "search.h"

#include "weft/base/anneal.h"

#include <math.h>
#include <string.h>

// What too little memory adds to the time: a fixed share and one that grows with what is missing,
// so that chains may cross what does not fit but end where it does. Not tuned.
#define MISSING_FIXED 0.2
#define MISSING_SLOPE 4.0

// ---- the best ----

struct kept weft_kept_new(const struct weft_strategy_space *space, struct weft_arena *arena)
{
    return (struct kept){
        .choice = WEFT_NEW_RAW(arena, uint32_t, space->node_count),
        .servers = WEFT_NEW_RAW(arena, uint32_t, (size_t)space->node_count * space->server_count),
    };
}

void weft_kept_copy(struct kept *to, const struct kept *from,
                    const struct weft_strategy_space *space)
{
    memcpy(to->choice, from->choice, sizeof *to->choice * space->node_count);
    memcpy(to->servers, from->servers,
           sizeof *to->servers * space->node_count * space->server_count);
}

void weft_best_k_init(struct best_k *best, const struct weft_strategy_space *space, uint32_t room,
                      struct weft_arena *arena)
{
    // One place more than asked for: a newcomer is written there before the worst leaves.
    *best = (struct best_k){.room = room, .kept = WEFT_NEW(arena, struct kept, room + 1)};
    for (uint32_t i = 0; i <= room; i++) {
        best->kept[i] = weft_kept_new(space, arena);
    }
}

// Puts the entry at best->kept[at] where its time belongs.
static void sink(struct best_k *best, uint32_t at)
{
    for (; at > 0 && best->kept[at].seconds < best->kept[at - 1].seconds; at--) {
        struct kept kept = best->kept[at];
        best->kept[at] = best->kept[at - 1];
        best->kept[at - 1] = kept;
    }
}

static void add_kept(struct best_k *best, const struct weft_strategy_space *space,
                     const struct kept *kept)
{
    uint32_t at = 0;
    while (at < best->count && best->kept[at].splits != kept->splits) {
        at++;
    }
    if (at < best->count && best->kept[at].seconds <= kept->seconds) {
        return;
    }
    if (at == best->count && best->count == best->room &&
        best->kept[at - 1].seconds <= kept->seconds) {
        return;
    }
    struct kept *place = &best->kept[at];
    place->seconds = kept->seconds;
    place->splits = kept->splits;
    weft_kept_copy(place, kept, space);
    bool grown = at == best->count;
    sink(best, at);
    best->count += grown && best->count < best->room;
}

void weft_best_k_add(struct best_k *best, const struct placement *placement, double seconds)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < placement->space->node_count; i++) {
        hash = weft_hash(hash ^ placement->choice[i]);
    }
    struct kept kept = {seconds, hash, placement->choice, placement->servers};
    add_kept(best, placement->space, &kept);
}

void weft_best_k_merge(struct best_k *best, const struct best_k *other,
                       const struct weft_strategy_space *space)
{
    for (uint32_t i = 0; i < other->count; i++) {
        add_kept(best, space, &other->kept[i]);
    }
}

void weft_kept_load(struct placement *placement, const struct kept *kept)
{
    const struct weft_strategy_space *space = placement->space;
    for (uint32_t i = 0; i < space->node_count; i++) {
        weft_placement_set(placement, i, kept->choice[i],
                           kept->servers + (size_t)i * space->server_count);
    }
    weft_placement_apply(placement);
    weft_placement_keep(placement);
}

// ---- the chain ----

// What a placement scores: its time, made longer by memory that it lacks.
struct score {
    double seconds;
    bool fits;
};

static struct score evaluate(struct chain *chain, struct estimator *estimator, double *server_bytes)
{
    struct score score = {weft_estimate(estimator, chain->placement), true};
    double limit_bytes = chain->space->study.setting->memory_limit_bytes;
    chain->made++;
    if (limit_bytes > 0) {
        double bytes = weft_placement_memory(chain->placement, server_bytes);
        score.fits = bytes <= limit_bytes;
        if (bytes < chain->least_bytes) {
            chain->least_bytes = bytes;
            if (!score.fits) { // told about if none does
                const struct kept here = {0, 0, chain->placement->choice,
                                          chain->placement->servers};
                weft_kept_copy(&chain->leanest, &here, chain->space);
            }
        }
        if (!score.fits) {
            score.seconds *= 1 + MISSING_FIXED + MISSING_SLOPE * (bytes / limit_bytes - 1);
        }
    }
    return score;
}

static void report(const struct chain *chain, double seconds)
{
    if (chain->progress_ps == NULL) {
        return;
    }
    uint64_t time_ps = weft_picoseconds(seconds);
    uint64_t best_ps = atomic_load(chain->progress_ps);
    while ((best_ps == 0 || time_ps < best_ps) && // 0 = none yet
           !atomic_compare_exchange_weak(chain->progress_ps, &best_ps, time_ps)) {
    }
}

uint32_t weft_chain_apart(const struct placement *placement)
{
    const struct weft_strategy_space *space = placement->space;
    uint32_t apart = 0;
    for (uint32_t i = 0; i < space->node_count; i++) {
        bool fewer = weft_placement_choice(placement, i)->parts < space->server_count;
        apart += fewer && !space->nodes[i].table;
    }
    return apart;
}

// What a chain anneals with.
struct walk {
    struct chain *chain;
    struct estimator *estimator;
    struct mover *mover;
    double *server_bytes;
    struct best_k best; // its own: where to come back to
    bool fits;          // the placement that was evaluated last
};

static enum weft_anneal_proposal propose_placement(struct weft_anneal *anneal)
{
    struct walk *walk = anneal->state;
    struct chain *chain = walk->chain;
    struct placement *placement = chain->placement;
    if (chain->reset > 0 && chain->made % chain->reset == 0) {
        weft_kept_load(placement, &walk->best.kept[0]);
        anneal->current = walk->best.kept[0].seconds;
    }
    if (chain->flexflow) {
        weft_move_flexflow(walk->mover, placement, anneal->rng);
    } else {
        weft_move(walk->mover, placement, anneal->rng);
    }
    if (chain->apart > 0 && weft_chain_apart(placement) < chain->apart) {
        weft_placement_undo(placement);
        anneal->work = (double)++chain->made;
        return WEFT_ANNEAL_NO_MOVE;
    }
    weft_placement_apply(placement);
    return WEFT_ANNEAL_MOVED;
}

static double evaluate_placement(struct weft_anneal *anneal)
{
    struct walk *walk = anneal->state;
    struct score score = evaluate(walk->chain, walk->estimator, walk->server_bytes);
    walk->fits = score.fits;
    anneal->work = (double)walk->chain->made;
    return score.seconds;
}

static void keep_placement(struct weft_anneal *anneal)
{
    struct walk *walk = anneal->state;
    weft_placement_keep(walk->chain->placement);
    if (walk->fits) {
        weft_best_k_add(walk->chain->best, walk->chain->placement, anneal->current);
    }
}

static void undo_placement(struct weft_anneal *anneal)
{
    weft_placement_undo(((const struct walk *)anneal->state)->chain->placement);
}

static void record_placement(struct weft_anneal *anneal)
{
    struct walk *walk = anneal->state;
    weft_best_k_add(&walk->best, walk->chain->placement, anneal->best);
    walk->best.count = 1;
    if (walk->fits) {
        report(walk->chain, anneal->best);
    }
}

static const struct weft_anneal_moves placement_moves = {
    .propose = propose_placement,
    .evaluate = evaluate_placement,
    .keep = keep_placement,
    .undo = undo_placement,
    .record = record_placement,
};

// Evaluates the start, keeps it if it fits, and hands the chain to weft_anneal_run. The chain's
// `best` holds only placements that fit; what the chain comes back to is its own best, whether it
// fits or not.
void weft_chain_run(struct chain *chain, struct weft_arena scratch)
{
    const struct weft_strategy_space *space = chain->space;
    struct walk walk = {
        .chain = chain,
        .estimator = weft_estimator_init(space, &scratch),
        .mover = weft_mover_init(space, chain->nested, &scratch),
        .server_bytes = WEFT_NEW(&scratch, double, space->server_count),
    };
    weft_best_k_init(&walk.best, space, 1, &scratch);
    chain->least_bytes = HUGE_VAL;
    struct score first = evaluate(chain, walk.estimator, walk.server_bytes);
    weft_best_k_add(&walk.best, chain->placement, first.seconds);
    if (first.fits) {
        weft_best_k_add(chain->best, chain->placement, first.seconds);
    }
    struct weft_anneal anneal = {
        .moves = &placement_moves,
        .state = &walk,
        .rng = &chain->rng,
        .stop = chain->stop,
        .bound = -HUGE_VAL,
        .steps_max = UINT64_MAX,
        .work_max = (double)chain->evaluations,
        .work = (double)chain->made,
        .cooling = chain->cooling,
        .draws_late = true,
        .current = first.seconds,
        .best = first.seconds,
    };
    weft_anneal_run(&anneal);
}
