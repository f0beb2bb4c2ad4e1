// SPDX-License-Identifier: Apache-2.0
// Small changes of strategy and design together, evaluated by the flow engine.
//
// A fixed point of the rounds can be far from the best pair of both: leaving it takes a strategy
// that is worse on its network and a network that is worse for its strategy. Eight chains of
// simulated annealing therefore change both, a step one of them, by the simulated iteration; half
// of them begin four times as warm. On few servers descents (descents.c) come first and chains get
// what is left.

#include "joint.h"

#include "weft/base/anneal.h"

#include <math.h>
#include <string.h>

// Chains of a round, and rounds. Eight chains keep the machines of today busy and still leave each
// some hundreds of evaluations; not measured.
#define CHAINS 8u
#define ROUNDS 3u
// Every other chain begins so many times warmer, because what lies between two good strategies is
// often worse than both.
#define HOTTER 4.0
// Beyond so many servers a evaluation takes too long for descents.
#define MANY_SERVERS 64u
// Strategies that get new topologies after each round, and the share of the effort for that.
#define REWIRED 2u
#define WIRE_SHARE 0.3
// Where a full evaluation costs less than so many quick ones, all are full ones.
#define QUICK_WORTH 3.0
// A chain of fewer full evaluations is not worth it.
#define EVALUATIONS_LEAST 4.0
// Chains do not begin at candidates that are this much longer than the best.
#define BEHIND_RATIO 2.0
// Of up to so many random moves of the strategy the one of the shortest estimate is evaluated.
#define DRAWS_MAX 8u
// Work units of an estimate, for each operator, and of a task graph, for each task.
#define UNITS_PER_OPERATOR 600.0
#define UNITS_PER_TASK 300.0

// A strategy with what follows from it, in a room of its own that is used again.
struct place {
    struct weft_arena room;
    struct weft_strategy strategy;
    struct weft_taskgraph graph;
    struct weft_traffic traffic;
    struct search search;
};

// One chain, and the best that it met, in memory that outlives it.
struct chain {
    const struct coplan_candidate *from;
    struct weft_strategy best;
    struct weft_design design;
    double best_s;
};

// Rounds: share of the effort, temperatures, and how many of the best known they begin at: from
// broad and warm to few and cold.
static const struct {
    double share;
    struct weft_anneal_cooling cooling;
    uint32_t from;
} rounds[ROUNDS] = {{0.45, {0.01, 0.001, WEFT_ANNEAL_OF_CURRENT, 0}, 8},
                    {0.3, {0.004, 0.0004, WEFT_ANNEAL_OF_CURRENT, 0}, 4},
                    {0.25, {0.001, 0.0001, WEFT_ANNEAL_OF_CURRENT, 0}, 2}};

struct refinement {
    struct coplan *coplan;
    struct weft_strategy_space *space;
    struct chain chains[CHAINS];
    double work_units; // of each chain
    uint32_t round;
};

// What a chain works with.
struct worker {
    struct weft_anneal anneal;
    const struct refinement *refinement;
    const struct weft_strategy_space *space;
    struct place *here;
    struct place *there;
    struct weft_design design;
    struct weft_design next;
    struct chain *chain;
    bool has_designs; // some move changes the design
    bool changes_design;
    double quick_units; // of the last simulation of each sort
    double full_units;
    struct weft_arena scratch;
};

// Parts of one shape take each other's places.
static void assign_strategy(struct weft_strategy *to, const struct weft_strategy *from,
                            uint32_t operator_count)
{
    // The placements are the chain's own (reserve_strategy), so that writing to them is fine.
    struct weft_placement *places = (struct weft_placement *)(uintptr_t)to->placements;
    for (uint32_t op = 0; op < operator_count; op++) {
        const struct weft_placement *place = &from->placements[op];
        uint32_t *servers = (uint32_t *)(uintptr_t)places[op].servers;
        size_t parts = (size_t)place->sample_parts * place->parameter_parts;
        WEFT_ASSERT(parts <= from->server_count);
        memcpy(servers, place->servers, parts * sizeof *servers);
        places[op] = (struct weft_placement){place->sample_parts, place->parameter_parts, servers};
    }
}

static struct weft_strategy reserve_strategy(const struct weft_strategy *from,
                                             uint32_t operator_count, struct weft_arena *arena)
{
    struct weft_strategy strategy = *from;
    struct weft_placement *places =
        WEFT_NEW(arena, struct weft_placement, (size_t)operator_count + 1);
    for (uint32_t op = 0; op < operator_count; op++) {
        places[op].servers = WEFT_NEW(arena, uint32_t, from->server_count);
    }
    strategy.placements = places;
    strategy.memory = NULL;
    assign_strategy(&strategy, from, operator_count);
    return strategy;
}

// Builds what follows from a place's strategy, which lies in `arena`, the rest of its room.
static bool fill_place(struct place *place, struct worker *worker, struct weft_arena arena,
                       struct weft_arena scratch)
{
    const struct coplan *coplan = worker->refinement->coplan;
    struct weft_error error;
    if (!weft_strategy_taskgraph(&place->graph, &place->strategy, &coplan->study, &arena, scratch,
                                 &error)) {
        return false;
    }
    worker->anneal.work += UNITS_PER_TASK * place->graph.task_count;
    weft_traffic_build(&place->traffic, &place->graph, &arena, scratch);
    place->search = method_open(&place->graph, &place->traffic, coplan->study.cluster,
                                &coplan->options->plan, coplan->environment);
    return true;
}

static double simulate(struct worker *worker, const struct search *search,
                       const struct weft_network *network, bool quick, struct weft_arena scratch)
{
    struct score score = search_simulate(search, network, quick, scratch);
    worker->anneal.work += score.work_units;
    *(quick ? &worker->quick_units : &worker->full_units) = score.work_units;
    return score.iteration_s;
}

// The time of a full evaluation if it is within the limit; else NAN. Where that costs much, a quick
// one, which leaves out barriers, comes first.
static double evaluate_within(struct worker *worker, const struct search *search,
                              const struct weft_design *design, double limit_s,
                              struct weft_arena scratch)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_network network;
    if (!search_network(&network, &worker->anneal.work, search, design, &kept, scratch)) {
        return (double)NAN;
    }
    if (worker->full_units > QUICK_WORTH * worker->quick_units &&
        simulate(worker, search, &network, true, scratch) > limit_s) {
        return (double)NAN;
    }
    double iteration_s = simulate(worker, search, &network, false, scratch);
    return iteration_s <= limit_s ? iteration_s : (double)NAN;
}

static void note_best(struct worker *worker, double iteration_s)
{
    struct chain *chain = worker->chain;
    chain->best_s = iteration_s;
    weft_design_assign(&chain->design, &worker->design);
    assign_strategy(&chain->best, &worker->here->strategy,
                    worker->refinement->coplan->study.model->operator_count);
    coplan_report(worker->refinement->coplan, chain->best_s);
}

// ---- moves ----

// A neighbor of the strategy, with the design that it has now; false where there is none.
static bool draw_strategy(struct worker *worker, struct weft_rng *rng)
{
    struct weft_arena scratch = worker->scratch;
    struct place *there = worker->there;
    struct weft_arena arena = there->room;
    uint32_t draws = 1 + weft_rng_below(rng, DRAWS_MAX);
    worker->anneal.work += UNITS_PER_OPERATOR *
                           worker->refinement->coplan->study.model->operator_count *
                           (draws + DRAWS_MAX);
    if (!weft_strategy_neighbor(&there->strategy, worker->space, &worker->here->strategy, draws,
                                rng,
                                &(struct weft_environment){.arena = &arena, .scratch = scratch}) ||
        !fill_place(there, worker, arena, scratch)) {
        return false;
    }
    weft_design_assign(&worker->next, &worker->design);
    weft_design_regroup(&worker->next, &there->traffic, scratch);
    return true;
}

// Half of the moves change the design, while it has any, the others the strategy.
static enum weft_anneal_proposal propose(struct weft_anneal *anneal)
{
    struct worker *worker = anneal->state;
    worker->changes_design = worker->has_designs && weft_rng_below(anneal->rng, 2) == 0;
    if (!worker->changes_design) {
        return draw_strategy(worker, anneal->rng) ? WEFT_ANNEAL_MOVED : WEFT_ANNEAL_NO_MOVE;
    }
    weft_design_assign(&worker->next, &worker->design);
    worker->has_designs =
        weft_design_move(&worker->next, WEFT_MOVES_RINGS, NULL, anneal->rng) != WEFT_NONE;
    return worker->has_designs ? WEFT_ANNEAL_MOVED : WEFT_ANNEAL_NO_MOVE;
}

static double evaluate(struct weft_anneal *anneal)
{
    struct worker *worker = anneal->state;
    const struct place *place = worker->changes_design ? worker->here : worker->there;
    return evaluate_within(worker, &place->search, &worker->next, weft_anneal_limit(anneal),
                           worker->scratch);
}

static void keep(struct weft_anneal *anneal)
{
    struct worker *worker = anneal->state;
    if (!worker->changes_design) {
        struct place *there = worker->there;
        worker->there = worker->here;
        worker->here = there;
    }
    weft_design_assign(&worker->design, &worker->next);
}

static void record(struct weft_anneal *anneal)
{
    note_best(anneal->state, anneal->best);
}

static const struct weft_anneal_moves moves = {
    .propose = propose,
    .evaluate = evaluate,
    .keep = keep,
    .record = record,
};

// Opens a worker where its chain begins; false when there is nothing to walk.
static bool open_worker(struct worker *worker, const struct chain *chain, struct weft_arena *kept,
                        struct weft_arena scratch)
{
    const struct coplan *coplan = worker->refinement->coplan;
    struct place *places = WEFT_NEW(kept, struct place, 2);
    worker->space = worker->refinement->space;
    worker->design = weft_design_copy(&chain->from->design, kept);
    worker->next = weft_design_copy(&chain->from->design, kept);
    worker->here = &places[0];
    worker->there = &places[1];
    places[0].room = weft_arena_split(kept);
    places[1].room = weft_arena_split(&places[0].room);
    struct weft_arena arena = places[0].room;
    places[0].strategy =
        coplan_copy(&chain->from->strategy, coplan->study.model->operator_count, &arena);
    if (!fill_place(worker->here, worker, arena, scratch)) {
        return false;
    }
    weft_design_regroup(&worker->design, &worker->here->traffic, scratch);
    worker->full_units = HUGE_VAL; // so that both are measured
    worker->scratch = scratch;
    return true;
}

// One chain of a round: from a known candidate, evaluated in full, until its effort is spent.
static void run_chain(void *context, uint32_t index, struct weft_arena scratch)
{
    struct refinement *refinement = context;
    const struct coplan *coplan = refinement->coplan;
    struct chain *chain = &refinement->chains[index];
    struct weft_rng rng =
        weft_rng_stream(weft_hash(coplan->environment->seed), refinement->round * 1000003 + index);
    struct worker worker = {
        .anneal = {.moves = &moves,
                   .state = &worker,
                   .rng = &rng,
                   .stop = coplan->environment->stop,
                   .bound = -HUGE_VAL,
                   .steps_max = UINT64_MAX,
                   .work_max = refinement->work_units,
                   .cooling = rounds[refinement->round].cooling},
        .refinement = refinement,
        .chain = chain,
        .has_designs = true,
    };
    worker.anneal.cooling.hot *= index % 2 == 1 ? HOTTER : 1;
    struct weft_arena kept = weft_arena_split(&scratch);
    if (!open_worker(&worker, chain, &kept, scratch)) {
        return;
    }
    double start_s =
        evaluate_within(&worker, &worker.here->search, &worker.design, HUGE_VAL, scratch);
    if (isnan(start_s)) {
        start_s = HUGE_VAL; // no routes: whatever has some is better
    } else {
        note_best(&worker, start_s);
    }
    worker.anneal.current = start_s;
    worker.anneal.best = start_s;
    weft_anneal_run(&worker.anneal);
}

// Sets the chains on the best known.
static void set_chains(struct refinement *refinement)
{
    struct coplan *coplan = refinement->coplan;
    uint32_t from = rounds[refinement->round].from;
    double limit_s = coplan->known[0]->score.iteration_s * BEHIND_RATIO;
    uint32_t finalists = 1;
    while (finalists < from && finalists < coplan->known_count &&
           coplan->known[finalists]->score.iteration_s <= limit_s) {
        finalists++;
    }
    for (uint32_t i = 0; i < CHAINS; i++) {
        const struct coplan_candidate *known = coplan->known[i * finalists / CHAINS];
        refinement->chains[i] = (struct chain){
            .from = known,
            .best = reserve_strategy(&known->strategy, coplan->study.model->operator_count,
                                     coplan->arena),
            .design = weft_design_copy(&known->design, coplan->arena),
            .best_s = HUGE_VAL,
        };
    }
}

// Runs the chains and puts what they found among those known, evaluated in full.
static void run_round(struct refinement *refinement, struct weft_arena scratch)
{
    struct coplan *coplan = refinement->coplan;
    set_chains(refinement);
    weft_parallel_for(CHAINS, coplan->environment->threads, run_chain, refinement);
    for (uint32_t i = 0; i < CHAINS; i++) {
        const struct chain *chain = &refinement->chains[i];
        if (chain->best_s < HUGE_VAL) {
            coplan_adopt(coplan, &chain->best, &chain->design, false, scratch);
        }
    }
}

// New topologies for the best known: the chains keep the kinds of parts that their designs began
// with, the search draws them anew.
static void wire_anew(struct coplan *coplan, double seconds, struct weft_arena scratch)
{
    struct coplan_candidate *best[REWIRED];
    uint32_t count = coplan->known_count < REWIRED ? coplan->known_count : REWIRED;
    for (uint32_t i = 0; i < count; i++) {
        best[i] = coplan->known[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        coplan_wire(coplan, best[i], seconds / count, scratch);
    }
}

// Rounds of chains, where the effort is worth it.
static void run_chains(struct coplan *coplan, double seconds, struct weft_arena scratch)
{
    double dear_units = coplan->known[0]->score.work_units; // of a full evaluation
    for (uint32_t i = 1; i < coplan->known_count; i++) {
        dear_units = fmin(dear_units, coplan->known[i]->score.work_units);
    }
    double work_units = seconds * (1 - WIRE_SHARE) * WORK_UNITS_PER_S;
    if (work_units < CHAINS * EVALUATIONS_LEAST * dear_units) {
        return;
    }
    struct refinement *refinement = WEFT_NEW(coplan->arena, struct refinement, 1);
    struct weft_error error; // then what is known stands
    refinement->coplan = coplan;
    if (!weft_strategy_space_build(&refinement->space, &coplan->study, coplan->arena, scratch,
                                   &error)) {
        return;
    }
    for (refinement->round = 0; refinement->round < ROUNDS; refinement->round++) {
        refinement->work_units = work_units * rounds[refinement->round].share / CHAINS;
        run_round(refinement, scratch);
        wire_anew(coplan, seconds * WIRE_SHARE / ROUNDS, scratch);
    }
    coplan_spend(coplan, seconds);
}

void coplan_refine(struct coplan *coplan, double seconds, struct weft_arena scratch)
{
    bool many = coplan->study.cluster->server_count > MANY_SERVERS;
    double left = many ? seconds : coplan_descend(coplan, seconds, scratch);
    coplan_spend(coplan, seconds - left);
    run_chains(coplan, left, scratch);
}
