// SPDX-License-Identifier: Apache-2.0
// Simulated annealing of a layout, and the best that was seen on the way.

#include "search.h"

#include "weft/base/anneal.h"

#include <math.h>
#include <string.h>

// What too little memory adds to the time: a fixed share and one that grows with what is missing.
#define MISSING_FIXED 0.2
#define MISSING_SLOPE 4.0

// ---- the shelf ----

struct kept weft_kept_new(const struct problem *problem, struct weft_arena *arena)
{
    return (struct kept){
        .choice = WEFT_NEW_RAW(arena, uint32_t, problem->node_count),
        .servers =
            WEFT_NEW_RAW(arena, uint32_t, (size_t)problem->node_count * problem->server_count),
    };
}

void weft_kept_copy(struct kept *to, const struct kept *from, const struct problem *problem)
{
    memcpy(to->choice, from->choice, sizeof *to->choice * problem->node_count);
    memcpy(to->servers, from->servers,
           sizeof *to->servers * problem->node_count * problem->server_count);
}

void weft_shelf_init(struct shelf *shelf, const struct problem *problem, uint32_t room,
                     struct weft_arena *arena)
{
    // One place more than asked for: a newcomer is written there before the worst leaves.
    *shelf = (struct shelf){.room = room, .kept = WEFT_NEW(arena, struct kept, room + 1)};
    for (uint32_t i = 0; i <= room; i++) {
        shelf->kept[i] = weft_kept_new(problem, arena);
    }
}

// Puts the entry at shelf->kept[at] where its time belongs.
static void sink(struct shelf *shelf, uint32_t at)
{
    for (; at > 0 && shelf->kept[at].seconds < shelf->kept[at - 1].seconds; at--) {
        struct kept kept = shelf->kept[at];
        shelf->kept[at] = shelf->kept[at - 1];
        shelf->kept[at - 1] = kept;
    }
}

static void add_kept(struct shelf *shelf, const struct problem *problem, const struct kept *kept)
{
    uint32_t at = 0;
    while (at < shelf->count && shelf->kept[at].splits != kept->splits) {
        at++;
    }
    if (at < shelf->count && shelf->kept[at].seconds <= kept->seconds) {
        return;
    }
    if (at == shelf->count && shelf->count == shelf->room &&
        shelf->kept[at - 1].seconds <= kept->seconds) {
        return;
    }
    struct kept *place = &shelf->kept[at];
    place->seconds = kept->seconds;
    place->splits = kept->splits;
    weft_kept_copy(place, kept, problem);
    bool grown = at == shelf->count;
    sink(shelf, at);
    shelf->count += grown && shelf->count < shelf->room;
}

void weft_shelf_add(struct shelf *shelf, const struct layout *layout, double seconds)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < layout->problem->node_count; i++) {
        hash = weft_hash(hash ^ layout->choice[i]);
    }
    struct kept kept = {seconds, hash, layout->choice, layout->servers};
    add_kept(shelf, layout->problem, &kept);
}

void weft_shelf_merge(struct shelf *shelf, const struct shelf *other, const struct problem *problem)
{
    for (uint32_t i = 0; i < other->count; i++) {
        add_kept(shelf, problem, &other->kept[i]);
    }
}

void weft_shelf_load(struct layout *layout, const struct kept *kept)
{
    const struct problem *problem = layout->problem;
    for (uint32_t i = 0; i < problem->node_count; i++) {
        weft_layout_set(layout, i, kept->choice[i],
                        kept->servers + (size_t)i * problem->server_count);
    }
    weft_layout_apply(layout);
    weft_layout_keep(layout);
}

// ---- the chain ----

// A layout's worth: its time, made longer by memory that it lacks.
struct worth {
    double seconds;
    bool fits;
};

static struct worth judge(struct chain *chain, struct estimator *estimator, double *server_bytes)
{
    struct worth worth = {weft_estimate(estimator, chain->layout), true};
    double limit_bytes = chain->problem->setting->memory_limit_bytes;
    chain->made++;
    if (limit_bytes > 0) {
        double bytes = weft_layout_memory(chain->layout, server_bytes);
        worth.fits = bytes <= limit_bytes;
        if (bytes < chain->least_bytes) {
            chain->least_bytes = bytes;
            if (!worth.fits) { // told about if none does
                const struct kept here = {0, 0, chain->layout->choice, chain->layout->servers};
                weft_kept_copy(&chain->leanest, &here, chain->problem);
            }
        }
        if (!worth.fits) {
            worth.seconds *= 1 + MISSING_FIXED + MISSING_SLOPE * (bytes / limit_bytes - 1);
        }
    }
    return worth;
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

uint32_t weft_chain_apart(const struct layout *layout)
{
    const struct problem *problem = layout->problem;
    uint32_t apart = 0;
    for (uint32_t i = 0; i < problem->node_count; i++) {
        bool fewer = weft_layout_choice(layout, i)->parts < problem->server_count;
        apart += fewer && !problem->nodes[i].table;
    }
    return apart;
}

// What a chain anneals with.
struct walk {
    struct chain *chain;
    struct estimator *estimator;
    struct mover *mover;
    double *server_bytes;
    struct shelf best; // its own: where to come back to
    bool fits;         // the layout that was evaluated last
};

static double chain_progress(const struct weft_anneal *anneal)
{
    const struct chain *chain = ((const struct walk *)anneal->state)->chain;
    return (double)chain->made / (double)chain->evaluations;
}

static double chain_temperature(const struct weft_anneal *anneal, double progress)
{
    const struct chain *chain = ((const struct walk *)anneal->state)->chain;
    if (chain->flexflow) {
        return chain->hot_ratio;
    }
    return anneal->best * weft_anneal_cool(chain->hot_ratio, chain->cold_ratio, progress);
}

static enum weft_anneal_proposal propose_layout(struct weft_anneal *anneal)
{
    struct walk *walk = anneal->state;
    struct chain *chain = walk->chain;
    struct layout *layout = chain->layout;
    if (chain->reset > 0 && chain->made % chain->reset == 0) {
        weft_shelf_load(layout, &walk->best.kept[0]);
        anneal->current = walk->best.kept[0].seconds;
    }
    if (chain->flexflow) {
        weft_move_flexflow(walk->mover, layout, anneal->rng);
    } else {
        weft_move(walk->mover, layout, anneal->rng);
    }
    if (chain->apart > 0 && weft_chain_apart(layout) < chain->apart) {
        weft_layout_undo(layout);
        chain->made++;
        return WEFT_ANNEAL_NO_MOVE;
    }
    weft_layout_apply(layout);
    return WEFT_ANNEAL_MOVED;
}

static double evaluate_layout(struct weft_anneal *anneal)
{
    struct walk *walk = anneal->state;
    struct worth worth = judge(walk->chain, walk->estimator, walk->server_bytes);
    walk->fits = worth.fits;
    return worth.seconds;
}

static void keep_layout(struct weft_anneal *anneal)
{
    struct walk *walk = anneal->state;
    weft_layout_keep(walk->chain->layout);
    if (walk->fits) {
        weft_shelf_add(walk->chain->shelf, walk->chain->layout, anneal->current);
    }
}

static void undo_layout(struct weft_anneal *anneal)
{
    weft_layout_undo(((const struct walk *)anneal->state)->chain->layout);
}

static void record_layout(struct weft_anneal *anneal)
{
    struct walk *walk = anneal->state;
    weft_shelf_add(&walk->best, walk->chain->layout, anneal->best);
    walk->best.count = 1;
    if (walk->fits) {
        report(walk->chain, anneal->best);
    }
}

static const struct weft_anneal_moves layout_moves = {
    .progress = chain_progress,
    .temperature = chain_temperature,
    .propose = propose_layout,
    .evaluate = evaluate_layout,
    .keep = keep_layout,
    .undo = undo_layout,
    .record = record_layout,
};

void weft_chain_run(struct chain *chain, struct weft_arena scratch)
{
    const struct problem *problem = chain->problem;
    struct walk walk = {
        .chain = chain,
        .estimator = weft_estimator_init(problem, &scratch),
        .mover = weft_mover_init(problem, chain->nested, &scratch),
        .server_bytes = WEFT_NEW(&scratch, double, problem->server_count),
    };
    weft_shelf_init(&walk.best, problem, 1, &scratch);
    chain->least_bytes = HUGE_VAL;
    struct worth first = judge(chain, walk.estimator, walk.server_bytes);
    weft_shelf_add(&walk.best, chain->layout, first.seconds);
    if (first.fits) {
        weft_shelf_add(chain->shelf, chain->layout, first.seconds);
    }
    struct weft_anneal anneal = {
        .moves = &layout_moves,
        .state = &walk,
        .rng = &chain->rng,
        .stop = chain->stop,
        .bound = -HUGE_VAL,
        .steps_max = UINT64_MAX,
        .draws_late = true,
        .current = first.seconds,
        .best = first.seconds,
    };
    weft_anneal_run(&anneal);
}
