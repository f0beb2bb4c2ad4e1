// SPDX-License-Identifier: Apache-2.0
// The strategies of a model on one fabric that stands, ranked by simulation.
//
// The searches of the strategy room estimate; what they take for equals may be far apart where
// flows meet on a link (docs/hybrid.md, docs/strategies.md). So the search's best are played by the
// flow engine with the same rings and packets as in every other answer about that fabric, and stand
// in the order of what they took. Strategies of operators then descend by small changes, also by
// simulation (plan/joint/descent.h). Of strategies that differ in nothing a person would choose one
// is kept. Where the network is none, or too large to play, the order is that of the estimates.
//
// The effort is counted in work, so that a seed gives one ranking on every machine; weft compare
// begins each fabric's row with the same ranking (fabrics.c), so that both give one answer.

#include "compare.h"
#include "plan/joint/descent.h"

#include <math.h>
#include <string.h>

// Strategies of operators are not played on larger clusters: one iteration alone takes minutes
// there. Hybrid ones are as far as their replicas fold.
#define PLAYED_SERVERS_MAX 128u
// Of an event of a folded iteration, and of finding that it cannot be played.
#define UNITS_PER_FOLDED_EVENT 500.0
#define UNITS_PER_REFUSAL 1e8
// What a search hands over to be played, and merged before: of hybrid strategies the best hundreds
// differ in chunks and order alone. How many rows are wanted does not count, so that it does not
// change which is first.
#define HYBRID_HANDED 256u
#define HYBRID_HANDED_UNPLAYED 64u // each has the memory of every server
#define OPERATORS_HANDED 7u
// Strategies that are played whatever they cost, and at most; between them the effort decides, of
// which half a second is there always.
#define PLAYED_LEAST 8u
#define PLAYED_MOST 32u
#define PLAY_S_LEAST 0.5
// Shares of the effort: of each of the two searches of strategies of operators, of playing what
// they found, and of the descents from the best of those.
#define SEARCH_SHARE 0.15
#define PLAY_SHARE 0.25
#define DESCENT_SHARE 0.125
#define DESCENTS 2u
// A descent ends after so many steps that gain nothing; not measured one by one.
#define PATIENCE 96u
// Two times this near to each other are one: a person would not choose by it.
#define SAME_RATIO 0.005

struct ranking {
    const struct weft_study *study;
    const struct weft_ranking_options *options;
    const struct weft_environment *environment;
    struct weft_candidate *candidates;
    uint64_t *simulated_ps; // 0 = not played
    uint32_t count;
    uint32_t handed; // the first ones, which may be played
    double seconds;  // of effort in all
    bool hybrid;
};

static uint64_t time_ps(const struct ranking *ranking, uint32_t at)
{
    return ranking->simulated_ps[at] > 0 ? ranking->simulated_ps[at]
                                         : ranking->candidates[at].estimate_ps;
}

// ---- descents ----

struct stand {
    struct weft_network *network;
    bool tours;
    struct weft_sim_options sim;
};

static struct descent_score evaluate_standing(const void *context,
                                              const struct weft_taskgraph *graph, double limit_s,
                                              struct weft_arena scratch)
{
    const struct stand *stand = context;
    struct weft_arena kept = weft_arena_split(&scratch);
    if (stand->tours) { // one at a time (see threads below)
        stand->network->rings =
            weft_routing_tours(graph, NULL, &stand->network->routes, &kept, scratch);
    }
    const struct search search = {.graph = graph, .sim = stand->sim};
    return descent_simulate(&search, stand->network, limit_s, 0, scratch);
}

double compare_descend(struct weft_strategy *strategy, double *iteration_s,
                       const struct compare_ground *ground, double work_units,
                       struct weft_arena *arena, struct weft_arena scratch)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_strategy_space *space = NULL;
    struct weft_error error;
    *iteration_s = HUGE_VAL;
    struct weft_study study = *ground->study;
    study.network = ground->network;
    if (!weft_strategy_space_build(&space, &study, &kept, scratch, &error)) {
        return 0;
    }
    struct stand stand = {ground->network, ground->tours, *ground->sim};
    stand.sim.timeline = false;
    const struct descent_job job = {
        .study = ground->study,
        .space = space,
        .evaluate = evaluate_standing,
        .context = &stand,
        .threads = ground->tours ? 1 : ground->environment->threads,
        .stop = ground->environment->stop,
        .work_units = work_units,
        .patience = PATIENCE,
        .goal_s = HUGE_VAL,
    };
    return descent_run(strategy, iteration_s, &job, arena, scratch);
}

// ---- what a person would choose ----

// Hybrid strategies that differ in chunks and order alone: what those two should be, the simulation
// answers.
static bool one_choice_hybrid(const struct weft_strategy *a, const struct weft_strategy *b,
                              const struct weft_model *model)
{
    struct weft_strategy like_a = *b;
    like_a.hybrid.chunks = a->hybrid.chunks;
    memcpy(like_a.hybrid.order, a->hybrid.order, sizeof like_a.hybrid.order);
    return coplan_key(a, model) == coplan_key(&like_a, model);
}

// Strategies of operators whose parts are as many, whichever servers have them.
static bool one_choice_operators(const struct weft_strategy *a, const struct weft_strategy *b,
                                 const struct weft_model *model)
{
    for (uint32_t op = 0; op < model->operator_count; op++) {
        if (model->operators[op].spec.kind != WEFT_OP_INPUT &&
            (a->placements[op].sample_parts != b->placements[op].sample_parts ||
             a->placements[op].parameter_parts != b->placements[op].parameter_parts)) {
            return false;
        }
    }
    return true;
}

// Of hybrid strategies that are one choice the search's best stays, of those within half a percent
// of it the one with the fewest chunks: every chunk costs sends that an estimate values least.
static void merge_hybrid(struct ranking *ranking, const struct weft_search_result *found)
{
    const struct weft_model *model = ranking->study->model;
    uint64_t *best_ps = ranking->simulated_ps; // until something is played
    for (uint32_t i = 0; i < found->count; i++) {
        const struct weft_candidate *candidate = &found->candidates[i];
        uint32_t at = 0;
        while (at < ranking->count &&
               !one_choice_hybrid(&ranking->candidates[at].strategy, &candidate->strategy, model)) {
            at++;
        }
        if (at == ranking->count) {
            best_ps[at] = candidate->estimate_ps;
            ranking->candidates[ranking->count++] = *candidate;
        } else if ((double)candidate->estimate_ps <= (double)best_ps[at] * (1 + SAME_RATIO) &&
                   candidate->strategy.hybrid.chunks <
                       ranking->candidates[at].strategy.hybrid.chunks) {
            ranking->candidates[at] = *candidate;
        }
    }
    memset(ranking->simulated_ps, 0, ranking->count * sizeof *ranking->simulated_ps);
}

// Of strategies of operators that are one choice and take the same time, the first stays. Ranked
// before.
static void merge_operators(struct ranking *ranking)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < ranking->count; i++) {
        bool told = false;
        for (uint32_t k = 0; k < kept && !told; k++) {
            double ratio = (double)time_ps(ranking, i) / (double)time_ps(ranking, k);
            told = fabs(ratio - 1) <= SAME_RATIO &&
                   one_choice_operators(&ranking->candidates[k].strategy,
                                        &ranking->candidates[i].strategy, ranking->study->model);
        }
        if (!told) {
            ranking->candidates[kept] = ranking->candidates[i];
            ranking->simulated_ps[kept++] = ranking->simulated_ps[i];
        }
    }
    ranking->count = kept;
}

// ---- playing ----

static bool is_hybrid(const struct weft_study *study)
{
    return study->model->transformer != NULL && study->setting->cost.profile == NULL;
}

// A strategy on a cluster that is too large to play all of its replicas.
static double play_folded(uint64_t *iteration_ps, const struct weft_strategy *strategy,
                          const struct weft_study *study, const struct weft_sim_options *sim,
                          struct weft_arena scratch)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_error error; // then the estimate has to do
    struct weft_hybrid_run run;
    *iteration_ps = 0;
    if (!weft_plan_play_hybrid(
            &run, strategy, study, study->network, sim,
            &(struct weft_environment){.arena = &kept, .scratch = scratch, .error = &error})) {
        return UNITS_PER_REFUSAL;
    }
    *iteration_ps = weft_picoseconds(run.iteration_s);
    return UNITS_PER_FOLDED_EVENT * (double)run.event_count;
}

double weft_plan_play_strategy(uint64_t *iteration_ps, const struct weft_strategy *strategy,
                               const struct weft_study *study, const struct weft_sim_options *sim,
                               struct weft_arena scratch)
{
    if (study->cluster->server_count > PLAYED_SERVERS_MAX) {
        return play_folded(iteration_ps, strategy, study, sim, scratch);
    }
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_network network = *study->network; // with rings of its own
    network.routes.fabric = &network.fabric;
    struct weft_taskgraph graph;
    struct weft_error error; // then the estimate has to do
    *iteration_ps = 0;
    if (!weft_strategy_taskgraph(&graph, strategy, study, &kept, scratch, &error)) {
        return 0;
    }
    if (network.fabric.forwards && network.rings.ring_count == 0) {
        network.rings = weft_routing_tours(&graph, NULL, &network.routes, &kept, scratch);
    }
    const struct search search = {.graph = &graph, .sim = *sim};
    struct score score = search_simulate(&search, &network, false, scratch);
    *iteration_ps = score.iteration_s < HUGE_VAL ? weft_picoseconds(score.iteration_s) : 0;
    return score.work_units;
}

bool weft_plan_plays(const struct weft_study *study)
{
    return study->network != NULL &&
           (study->cluster->server_count <= PLAYED_SERVERS_MAX || is_hybrid(study));
}

// Plays the first ones, as many as the effort affords. The others stand behind them with their
// estimates where so many rows are wanted.
static void play(struct ranking *ranking, struct weft_arena scratch)
{
    double left = fmax(ranking->seconds * PLAY_SHARE, PLAY_S_LEAST) * WORK_UNITS_PER_S;
    uint32_t played = 0;
    while (played < ranking->handed && played < PLAYED_MOST &&
           (played < PLAYED_LEAST || left > 0)) {
        weft_poll();
        left -= weft_plan_play_strategy(&ranking->simulated_ps[played],
                                        &ranking->candidates[played].strategy, ranking->study,
                                        &ranking->options->sim, scratch);
        played++;
    }
}

// Those that were played stand first, by what they took; then the others as they stood.
static void sort(struct ranking *ranking)
{
    for (uint32_t i = 1; i < ranking->count; i++) {
        struct weft_candidate candidate = ranking->candidates[i];
        uint64_t simulated_ps = ranking->simulated_ps[i];
        uint32_t at = i;
        for (; at > 0 && simulated_ps > 0 &&
               (ranking->simulated_ps[at - 1] == 0 || ranking->simulated_ps[at - 1] > simulated_ps);
             at--) {
            ranking->candidates[at] = ranking->candidates[at - 1];
            ranking->simulated_ps[at] = ranking->simulated_ps[at - 1];
        }
        ranking->candidates[at] = candidate;
        ranking->simulated_ps[at] = simulated_ps;
    }
}

// ---- strategies of operators: small changes of the best ----

// Adds what small changes make of the first strategies, while this share of the work lasts. The
// estimate alone misses flows that meet on a link, which these changes are judged by: each is
// simulated. An end is a candidate of its own; its start stays as it was, and a failure leaves the
// ranking without that end, since a strategy that was played needs none.
static void descend(struct ranking *ranking, struct weft_arena scratch)
{
    const struct weft_environment *environment = ranking->environment;
    struct weft_network network = *ranking->study->network;
    network.routes.fabric = &network.fabric;
    struct weft_strategy_space *space = NULL;
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_error error; // then there is nothing to descend by
    if (ranking->study->cluster->server_count > COMPARE_MANY_SERVERS ||
        !weft_strategy_space_build(&space, ranking->study, &kept, scratch, &error)) {
        return;
    }
    struct weft_study bare = *ranking->study;
    bare.network = NULL;
    const struct compare_ground ground = {.study = &bare,
                                          .sim = &ranking->options->sim,
                                          .environment = environment,
                                          .network = &network,
                                          .tours = network.fabric.forwards &&
                                                   network.rings.ring_count == 0};
    double left = ranking->seconds * DESCENT_SHARE * WORK_UNITS_PER_S;
    uint32_t starts = ranking->count < DESCENTS ? ranking->count : DESCENTS;
    uint32_t operators = ranking->study->model->operator_count;
    for (uint32_t i = 0; i < starts && left > 0 && !weft_stopped(environment->stop); i++) {
        struct weft_candidate end = ranking->candidates[i];
        double iteration_s = 0;
        struct weft_taskgraph graph;
        if (ground.tours) { // the last descent left those of its last evaluation
            network.rings = (struct weft_ring_set){0};
            if (!weft_strategy_taskgraph(&graph, &end.strategy, &bare, &kept, scratch, &error)) {
                continue;
            }
            network.rings = weft_routing_tours(&graph, NULL, &network.routes, &kept, scratch);
        }
        left -= compare_descend(&end.strategy, &iteration_s, &ground, left, &kept, scratch);
        if (!(iteration_s < HUGE_VAL)) {
            continue;
        }
        end.strategy = coplan_copy(&end.strategy, operators, environment->arena);
        if (!weft_strategy_memory(&end.strategy, ranking->study, environment->arena, scratch,
                                  &error)) {
            continue;
        }
        end.estimate_ps = weft_strategy_estimate(space, &end.strategy, scratch);
        ranking->candidates[ranking->count] = end;
        ranking->simulated_ps[ranking->count++] = weft_picoseconds(iteration_s);
    }
}

// ---- the door ----

// Strategies of operators from the searches of the fabric and of an ideal switch, and data
// parallelism: where servers forward, the estimate thinks too little of strategies whose transfers
// are few (DLRM-16's best on a torus is a strategy of the switch).
static bool find_operators(struct ranking *ranking, const struct weft_search_options *search,
                           uint64_t *evaluations)
{
    const struct weft_environment *environment = ranking->environment;
    struct weft_arena *arena = environment->arena;
    struct weft_arena scratch = environment->scratch;
    struct weft_study plain = *ranking->study;
    struct weft_search_result own;
    struct weft_search_result on_switch = {0};
    struct weft_error why_not; // then the own search has to do
    if (!weft_strategy_search(&own, ranking->study, search, arena, scratch, environment->error)) {
        return false;
    }
    struct weft_network *ideal = WEFT_NEW(arena, struct weft_network, 1);
    bool another = plain.network != NULL && strcmp(plain.network->fabric.name, "ideal") != 0;
    if (another && weft_fabric_build_ideal(ideal, plain.cluster, NULL, arena, &why_not)) {
        plain.network = ideal;
        if (!weft_strategy_search(&on_switch, &plain, search, arena, scratch, &why_not)) {
            on_switch.count = 0;
        }
    }
    size_t room = (size_t)own.count + on_switch.count + 1 + DESCENTS;
    ranking->candidates = WEFT_NEW(arena, struct weft_candidate, room);
    ranking->simulated_ps = WEFT_NEW(arena, uint64_t, room);
    uint32_t handed = on_switch.count < OPERATORS_HANDED ? on_switch.count : OPERATORS_HANDED;
    for (uint32_t i = 0; i < handed || (i < own.count && i < OPERATORS_HANDED); i++) {
        if (i < own.count) {
            ranking->candidates[ranking->count++] = own.candidates[i];
        }
        if (i < handed) {
            ranking->candidates[ranking->count++] = on_switch.candidates[i];
        }
    }
    struct weft_candidate *data_parallel = &ranking->candidates[ranking->count];
    if (weft_strategy_data_parallel(&data_parallel->strategy, ranking->study, arena, &why_not) &&
        weft_strategy_memory(&data_parallel->strategy, ranking->study, arena, scratch, &why_not)) {
        ranking->count++;
    }
    ranking->handed = ranking->count;
    for (uint32_t i = OPERATORS_HANDED; i < own.count; i++) {
        ranking->candidates[ranking->count++] = own.candidates[i];
    }
    *evaluations = own.evaluations + on_switch.evaluations + 1;
    return true;
}

// Their estimates are those of this fabric, whichever search found them.
static bool estimate_operators(struct ranking *ranking, struct weft_arena scratch)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_strategy_space *space = NULL;
    if (!weft_strategy_space_build(&space, ranking->study, &kept, scratch,
                                   ranking->environment->error)) {
        return false;
    }
    for (uint32_t i = 0; i < ranking->count; i++) {
        ranking->candidates[i].estimate_ps =
            weft_strategy_estimate(space, &ranking->candidates[i].strategy, scratch);
    }
    return true;
}

static bool find_hybrid(struct ranking *ranking, const struct weft_search_options *search,
                        uint64_t *evaluations)
{
    const struct weft_environment *environment = ranking->environment;
    struct weft_search_result found;
    if (!weft_hybrid_search(&found, ranking->study, search, environment->arena,
                            environment->scratch, environment->error)) {
        return false;
    }
    ranking->candidates = WEFT_NEW(environment->arena, struct weft_candidate, found.count);
    ranking->simulated_ps = WEFT_NEW(environment->arena, uint64_t, found.count);
    merge_hybrid(ranking, &found);
    ranking->handed = ranking->count;
    *evaluations = found.evaluations;
    return true;
}

// Without a simulation the estimates rank.
static void rank_estimates(struct ranking *ranking)
{
    for (uint32_t i = 0; i < ranking->count; i++) {
        ranking->simulated_ps[i] = ranking->candidates[i].estimate_ps;
    }
    sort(ranking);
    memset(ranking->simulated_ps, 0, ranking->count * sizeof *ranking->simulated_ps);
}

// Plays what was found, and changes the best of it. Each time stands in its place as soon as it is
// known, so that this can be left at any time.
static bool simulate(void *context)
{
    struct ranking *ranking = context;
    play(ranking, ranking->environment->scratch);
    sort(ranking);
    if (!ranking->hybrid) {
        descend(ranking, ranking->environment->scratch);
        sort(ranking);
    }
    return true;
}

bool weft_plan_rank_strategies(struct weft_ranking *result, const struct weft_study *study,
                               const struct weft_ranking_options *options,
                               const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    struct ranking ranking = {
        .study = study,
        .options = options,
        .environment = environment,
        .seconds = options->seconds > 0 ? options->seconds : WEFT_COPLAN_SECONDS,
        .hybrid = is_hybrid(study),
    };
    bool plays = weft_plan_plays(study);
    uint32_t handed = !ranking.hybrid ? OPERATORS_HANDED
                      : plays         ? HYBRID_HANDED
                                      : HYBRID_HANDED_UNPLAYED;
    const struct weft_search_options search = {
        .method = options->method,
        .seconds = ranking.seconds * SEARCH_SHARE,
        .evaluations = options->evaluations,
        .seed = environment->seed,
        .threads = environment->threads,
        .keep = options->keep > handed && !ranking.hybrid ? options->keep : handed,
        .stop = environment->stop,
        .progress_ps = options->best_ps,
    };
    uint64_t evaluations = 0;
    if (!(ranking.hybrid ? find_hybrid(&ranking, &search, &evaluations)
                         : find_operators(&ranking, &search, &evaluations) &&
                               estimate_operators(&ranking, scratch))) {
        return false;
    }
    bool stopped =
        plays && !weft_guard_until(simulate, &ranking, environment->stop, environment->error);
    if (stopped && environment->error->code != WEFT_STOPPED) {
        return false;
    }
    if (stopped) { // what was played until then stands
        *environment->error = (struct weft_error){.code = WEFT_OK};
        sort(&ranking);
    }
    if (!plays && !ranking.hybrid) {
        rank_estimates(&ranking);
    }
    if (!ranking.hybrid) {
        merge_operators(&ranking);
    }
    uint32_t keep = options->keep > 0 ? options->keep : 1;
    *result = (struct weft_ranking){
        .found = {.count = ranking.count < keep ? ranking.count : keep,
                  .candidates = ranking.candidates,
                  .evaluations = evaluations},
        .simulated_ps = ranking.simulated_ps,
        .stopped = stopped || weft_stopped(environment->stop),
    };
    return true;
}
