// SPDX-License-Identifier: Apache-2.0
// The rounds: strategies on a network, topologies for the best of them, and the best network back.
//
// A start is a network to search strategies on: the full mesh (each server joined to all, its ports
// shared), the ideal switch, the network of data parallelism's own topology, or one that was given.
// From each, rounds go on until one finds nothing better, which is a fixed point of both searches.
// Several starts, because the fixed point depends on where one begins (docs/co-optimisation.md).

#include "joint.h"

#include <math.h>

// Shares and limits below are those of docs/co-optimisation.md ("The loop", "Effort"), where the
// measured ones have their figures. "Many" servers are more than MANY_SERVERS: there a simulation
// takes so long that descents are left out, and rounds get their effort.

// Rounds of each start at most, unless the caller says otherwise.
#define ROUNDS_MAX 5u
// Rounds that may find nothing better before a start ends.
#define PATIENCE 1u
#define PATIENCE_MANY 2u
// A round that gains less has found nothing.
#define GAIN_RATIO 1e-4
// Shares of the whole effort for the search of strategies and for the topologies of its candidates:
// of a first search on a network, of the ideal switch's, and of each later round. The second entry
// of each is for many servers. A fixed point that comes sooner leaves the rest to what follows.
struct shares {
    double strategy;
    double topology;
};
static const struct shares first_shares[2] = {{0.16, 0.15}, {0.1, 0.15}};
static const struct shares switch_shares[2] = {{0.05, 0.08}, {0.1, 0.15}};
static const struct shares later_shares[2] = {{0.02, 0.04}, {0.04, 0.06}};
// Fewer candidates get a topology where the effort does not afford this many full evaluations of
// each; the second entry is for many servers.
static const double evaluations_least[2] = {8, 4};
// Seconds of one core at most for either, up to 64 servers: a search of strategies of operators
// finds little more after that, and descents do more for candidates than their topologies would.
#define STRATEGY_S_MOST 4.8
#define TOPOLOGY_S_MOST 4.8
// The share for the topology of a strategy that was not searched for: data parallelism, a branch.
#define KNOWN_SHARE 0.02
// Rounds after a first search leave this share of the effort to descents and chains, where those
// run.
#define KEEP_SHARE 0.75
// Candidates of a round at most where servers are many.
#define CHOSEN_MANY 4u
// Branches are tried on blocks of a half and a quarter of the servers.
#define BLOCKS_MAX 4u
// Strategies of an ideal switch that get a topology at least: its estimate says least about what a
// topology can do for them.
#define SWITCH_CHOSEN 3u
// Larger clusters are searched from one network only.
#define MANY_SERVERS 64u

struct start {
    const struct weft_network *network;  // NULL = full mesh
    const struct coplan_candidate *from; // where the network is its own; else NULL
    bool fresh;                          // nothing was searched on it: a first search
    const struct weft_strategy *begin;   // where its first search begins, or NULL
};

// The search of strategies of the next round on `start`; its effort is spent with this.
static struct strategy_request open_round(struct coplan *coplan, const struct start *start,
                                          double seconds, uint32_t keep)
{
    struct strategy_request request = {.network = start->network,
                                       .options = coplan->options->search};
    request.options.start = start->begin;
    request.options.seconds = seconds;
    request.options.keep = keep;
    request.options.seed =
        weft_hash(request.options.seed ^ weft_hash(coplan->round_count + 1)) >> 1;
    coplan_spend(coplan, seconds);
    return request;
}

// How many strategies of a round can be given topologies, when one full evaluation costs
// dear_units.
static uint32_t affordable(const struct coplan *coplan, double seconds, double dear_units)
{
    bool many = coplan->study.cluster->server_count > MANY_SERVERS;
    double each = evaluations_least[many] * dear_units / WORK_UNITS_PER_S;
    double most = many ? CHOSEN_MANY : CHOSEN_MAX;
    double count = each > 0 ? seconds / each : most;
    return (uint32_t)fmin(most, fmax(1, count));
}

// The effort of a round, in seconds.
static struct shares share_out(const struct coplan *coplan, const struct shares *shares)
{
    double seconds = coplan->options->seconds;
    struct shares out = {seconds * shares->strategy, seconds * shares->topology};
    if (coplan->study.cluster->server_count <= MANY_SERVERS && !coplan->hybrid) {
        out.strategy = fmin(out.strategy, STRATEGY_S_MOST);
        out.topology = fmin(out.topology, TOPOLOGY_S_MOST);
    }
    return out;
}

// One round on `start`. The best that it found, or NULL; false only on failure.
static bool run_round(struct coplan_candidate **best, struct coplan *coplan,
                      const struct start *start, struct weft_arena scratch,
                      struct weft_error *error)
{
    bool first = start->fresh;
    double dear_units = coplan->known_count > 0 ? coplan->known[0]->score.work_units : 0;
    bool many = coplan->study.cluster->server_count > MANY_SERVERS;
    const struct shares *shares = !first                   ? &later_shares[many]
                                  : start->network != NULL ? &switch_shares[many]
                                                           : &first_shares[many];
    struct shares round_s = share_out(coplan, shares);
    uint32_t count = affordable(coplan, round_s.topology, dear_units);
    if (many && first && start->network != NULL && count < SWITCH_CHOSEN) {
        count = SWITCH_CHOSEN;
    }
    struct weft_search_result result;
    struct weft_arena kept = weft_arena_split(&scratch);
    const struct strategy_request request =
        open_round(coplan, start, round_s.strategy, coplan_keep(count, coplan));
    if (!coplan_search(&result, coplan, &request, &kept, scratch, error)) {
        return false;
    }
    *best = NULL;
    const struct weft_strategy *chosen[CHOSEN_MAX];
    double evaluate_s = round_s.topology / count;
    count = coplan_choose(chosen, count, &result, coplan);
    for (uint32_t i = 0; i < count && (i == 0 || !weft_stopped(coplan->environment->stop)); i++) {
        struct coplan_candidate *candidate =
            coplan_evaluate(coplan, chosen[i], evaluate_s,
                            start->from != NULL ? &start->from->design : NULL, scratch);
        if (candidate != NULL && coplan->hybrid) { // now it is known what one costs
            uint32_t most = affordable(coplan, round_s.topology, candidate->score.work_units);
            count = most < count ? most : count;
        }
        if (candidate != NULL &&
            (*best == NULL || candidate->score.iteration_s < (*best)->score.iteration_s)) {
            *best = candidate;
        }
    }
    return true;
}

// The network of a strategy as the next round's start.
static bool hand_back(struct start *start, struct coplan *coplan,
                      const struct coplan_candidate *candidate, struct weft_arena scratch)
{
    struct weft_network *network = WEFT_NEW(coplan->arena, struct weft_network, 1);
    double work_units = 0;
    *start = (struct start){network, candidate, false, &candidate->strategy};
    return search_network(network, &work_units, &candidate->search, &candidate->design,
                          coplan->arena, scratch);
}

// Whether a round that is no first search leaves enough for the chains and descents.
static bool affords_round(const struct coplan *coplan)
{
    const struct weft_coplan_options *options = coplan->options;
    if (coplan->study.cluster->server_count >= SCREENED_SERVERS_MIN && coplan->known_count > 0) {
        return coplan->seconds_left * WORK_UNITS_PER_S >
               evaluations_least[1] * coplan->known[0]->score.work_units;
    }
    return coplan->hybrid || coplan->study.cluster->server_count > MANY_SERVERS ||
           options->rounds > 0 || coplan->seconds_left > options->seconds * KEEP_SHARE;
}

// Rounds from one network until PATIENCE of them find nothing better.
static bool run_start(struct coplan *coplan, struct start start, struct weft_arena scratch,
                      struct weft_error *error)
{
    bool many = coplan->study.cluster->server_count > MANY_SERVERS;
    bool screened = coplan->study.cluster->server_count >= SCREENED_SERVERS_MIN;
    uint32_t patience = many && !screened ? PATIENCE_MANY : PATIENCE;
    uint32_t rounds = coplan->options->rounds > 0 ? coplan->options->rounds : ROUNDS_MAX;
    double best_s = start.from != NULL ? start.from->score.iteration_s : HUGE_VAL;
    uint32_t idle = 0;
    for (uint32_t round = 0; round < rounds && coplan->round_count < KNOWN_MAX; round++) {
        if (round > 0 && weft_stopped(coplan->environment->stop)) {
            break;
        }
        if (!start.fresh && !affords_round(coplan)) {
            break;
        }
        struct coplan_candidate *found = NULL;
        if (!run_round(&found, coplan, &start, scratch, error)) {
            return false;
        }
        if (found == NULL) {
            break;
        }
        coplan->round_start[coplan->round_count] = coplan->start_count;
        coplan->round_s[coplan->round_count++] = found->score.iteration_s;
        if (found->score.iteration_s < best_s * (1 - GAIN_RATIO)) {
            best_s = found->score.iteration_s;
            idle = 0;
            if (!hand_back(&start, coplan, found, scratch)) {
                break;
            }
        } else if (++idle == patience) {
            break;
        }
    }
    coplan->fixed_point = coplan->fixed_point || idle == patience;
    coplan->start_count++;
    return true;
}

// Data parallelism is always among those known, if it fits. Returns it, or NULL.
static struct coplan_candidate *know_data_parallel(struct coplan *coplan, struct weft_arena scratch)
{
    struct weft_strategy strategy;
    struct weft_error error;
    if (coplan->hybrid ||
        !weft_strategy_data_parallel(&strategy, &coplan->study, coplan->arena, &error) ||
        !weft_strategy_memory(&strategy, &coplan->study, coplan->arena, scratch, &error)) {
        return NULL;
    }
    double seconds = coplan->options->seconds * KNOWN_SHARE;
    return coplan_evaluate(coplan, &strategy, seconds, NULL, scratch);
}

uint32_t coplan_branches(struct weft_strategy *found, struct coplan *coplan,
                         struct weft_arena *arena, struct weft_arena scratch)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_strategy_space *space = NULL;
    struct weft_error error;
    uint32_t n = coplan->study.cluster->server_count;
    if (coplan->hybrid ||
        !weft_strategy_space_build(&space, &coplan->study, &kept, scratch, &error)) {
        return 0;
    }
    uint32_t count = 0;
    for (uint32_t blocks = 2; blocks <= BLOCKS_MAX && n % blocks == 0; blocks *= 2) {
        for (uint32_t cut = 0; cut < 2; cut++) {
            count +=
                weft_strategy_branches(&found[count], space, n / blocks, cut > 0, arena, scratch);
        }
    }
    WEFT_ASSERT(count <= BRANCHES_MAX);
    return count;
}

static void know_branches(struct coplan *coplan, struct weft_arena scratch)
{
    struct weft_strategy branches[BRANCHES_MAX];
    struct weft_arena kept = weft_arena_split(&scratch);
    uint32_t count = coplan_branches(branches, coplan, &kept, scratch);
    double seconds = coplan->options->seconds * KNOWN_SHARE;
    for (uint32_t i = 0; i < count; i++) {
        coplan_evaluate(coplan, &branches[i], seconds, NULL, scratch);
    }
}

// The strategies of an ideal switch: the estimate of a full mesh undervalues those whose transfers
// fall on few pairs, the switch's overvalues all transfers. Where servers are many, the full mesh
// has links so thin that it hides them, and estimates do not show what a topology can do for them.
static bool run_switch(struct coplan *coplan, struct weft_arena scratch, struct weft_error *error)
{
    if (coplan->hybrid) {
        return true;
    }
    struct weft_network *ideal = WEFT_NEW(coplan->arena, struct weft_network, 1);
    struct weft_error why_not; // then there is no such start
    if (!weft_fabric_build_ideal(ideal, coplan->study.cluster, NULL, coplan->arena, &why_not)) {
        return true;
    }
    bool many = coplan->study.cluster->server_count > MANY_SERVERS;
    const struct weft_strategy *begin =
        many && coplan->known_count > 0 ? &coplan->known[0]->strategy : NULL;
    return run_start(coplan, (struct start){ideal, NULL, true, begin}, scratch, error);
}

bool coplan_start_anew(struct coplan *coplan, struct weft_arena scratch)
{
    struct weft_error error; // then what is known stands
    const struct start mesh = {NULL, NULL, true, NULL};
    return run_start(coplan, mesh, scratch, &error) && run_switch(coplan, scratch, &error);
}

double coplan_anew_seconds(const struct coplan *coplan)
{
    struct shares mesh = share_out(coplan, &first_shares[0]);
    struct shares ideal = share_out(coplan, &switch_shares[0]);
    return mesh.strategy + mesh.topology + ideal.strategy + ideal.topology;
}

bool coplan_alternate(struct coplan *coplan, struct weft_arena scratch, struct weft_error *error)
{
    const struct weft_coplan_options *options = coplan->options;
    if (options->given != NULL) {
        coplan_evaluate(coplan, options->given, coplan->seconds_left / 2, NULL, scratch);
    } else {
        struct coplan_candidate *plain = know_data_parallel(coplan, scratch);
        know_branches(coplan, scratch);
        struct start start = {NULL, NULL, true, NULL};
        if (!run_start(coplan, start, scratch, error)) {
            return false;
        }
        if (!run_switch(coplan, scratch, error)) {
            return false;
        }
        bool affords = plain != NULL && coplan->study.cluster->server_count <= MANY_SERVERS;
        if (affords && hand_back(&start, coplan, plain, scratch) &&
            !run_start(coplan, start, scratch, error)) {
            return false;
        }
        start = (struct start){options->reference, NULL, false, NULL};
        if (options->reference != NULL && !run_start(coplan, start, scratch, error)) {
            return false;
        }
    }
    if (coplan->known_count == 0) {
        *error = coplan->why_not;
        return false;
    }
    return true;
}
