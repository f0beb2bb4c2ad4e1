// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_JOINT_JOINT_H
#define WEFT_PLAN_JOINT_JOINT_H

// Strategy and topology together (co-optimisation): what the files of the search share. Private to
// the plan room; docs/co-optimisation.md.
//
//   variants.c ─► joint.c    how a search is run and left, and what all variants come to
//   joint.c ─► rounds.c ─► candidates.c ─► design/   alternate between strategies and topologies
//           └► refine.c ─► descents.c ─► descent.c   small changes of both, from the best known
//
// Everything that was ever found is among the known candidates, best first; each step begins at
// them and puts what it finds there, so that no step can make the answer worse. Effort is counted
// in seconds of work units, never by a clock.

#include "plan/design/incumbent.h"
#include "plan/design/method.h"

// A strategy with its task graph and the best network known for it. It must stay where it is:
// `search` points into it.
struct coplan_candidate {
    struct weft_strategy strategy;
    struct weft_taskgraph graph;
    struct weft_traffic traffic;
    struct search search;
    struct weft_design design;
    struct score score; // full
    uint64_t key;       // of the strategy, to know it again
    double descended_s; // what it took when it was last descended from or to; 0 = never
};

#define KNOWN_MAX 64u // candidates at most; the worst are dropped
#define CHOSEN_MAX 8u // strategies of each search that get a topology
#define BRANCHES_MAX 4u

struct coplan {
    struct weft_study study; // without a network
    const struct weft_coplan_options *options;
    const struct weft_environment *environment; // seed, threads, stop
    struct incumbent *incumbent;                // NULL = the search is not left before its end
    struct weft_arena *arena;                   // what stays until the plan is built
    bool hybrid;
    double seconds_left;
    double packet_s; // for packets at the end; 0 = the flow engine decides
    uint64_t evaluations;
    // Known strategies, best first.
    struct coplan_candidate *known[KNOWN_MAX];
    uint32_t known_count;
    uint32_t start_count;
    uint32_t round_start[KNOWN_MAX];
    double round_s[KNOWN_MAX];
    uint32_t round_count;
    bool fixed_point;
    struct weft_error why_not; // of the last strategy that got no network
};

// The searches: of the strategy or the topology alone, and of both. They fill job->strategy and its
// task graph, and the plan but for what hangs on the job.
bool coplan_plan_one_side(struct weft_plan *plan, struct weft_plan_job *job, struct coplan *coplan,
                          struct weft_arena *arena, struct weft_arena scratch,
                          struct weft_error *error) WEFT_MUST_USE;
bool coplan_plan_both(struct weft_plan *plan, struct weft_plan_job *job, struct coplan *coplan,
                      struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
// How the search of one side plans the network of a strategy.
struct weft_plan_options coplan_one_side(const struct coplan *coplan);

// Gives a strategy its task graph and, with `seconds` of effort, its network; the design `near`
// (may be NULL) is tried, too. What is known already is not done again. NULL, and why_not is
// filled, when its task graph cannot be built or no design connects it.
struct coplan_candidate *coplan_evaluate(struct coplan *coplan,
                                         const struct weft_strategy *strategy, double seconds,
                                         const struct weft_design *near, struct weft_arena scratch);
// Puts a candidate among those known, or in its new place there.
void coplan_know(struct coplan *coplan, struct coplan_candidate *candidate);
// Says for which strategy designs are offered from now on, and how far the search is.
void coplan_turn_to(const struct coplan *coplan, const struct weft_strategy *strategy);
// Takes so much from the effort that is left.
void coplan_spend(struct coplan *coplan, double seconds);
// Reports an iteration time to the progress line.
void coplan_report(const struct coplan *coplan, double iteration_s);
// Searches a topology anew for a known strategy, its design among the seeds.
void coplan_wire(struct coplan *coplan, struct coplan_candidate *candidate, double seconds,
                 struct weft_arena scratch);
// Evaluates a strategy in full on a design, which is its own or another one's, and knows it, or
// knows it better. Returns the work units.
double coplan_adopt(struct coplan *coplan, const struct weft_strategy *strategy,
                    const struct weft_design *design, bool is_own, struct weft_arena scratch);
// A number that equal strategies of a model share.
uint64_t coplan_key(const struct weft_strategy *strategy, const struct weft_model *model);
// A copy of a strategy in memory of its own, without its memory metrics.
struct weft_strategy coplan_copy(const struct weft_strategy *strategy, uint32_t operator_count,
                                 struct weft_arena *arena);

// A search of strategies on a given network.
struct strategy_request {
    const struct weft_network *network; // NULL = full mesh
    struct weft_search_options options;
};
// Strategies of the model on a network, best first; counts the evaluations.
bool coplan_search(struct weft_search_result *result, struct coplan *coplan,
                   const struct strategy_request *request, struct weft_arena *arena,
                   struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// Up to `count` of the strategies that a search found, best first. Of strategies of operators it
// takes every third, because neighbors in the list differ little; of hybrid ones that differ in
// chunks alone it takes the one with fewest within half a percent of their best, because every
// evaluation pays for the tasks that chunks add.
uint32_t coplan_choose(const struct weft_strategy **chosen, uint32_t count,
                       const struct weft_search_result *result, const struct coplan *coplan);
// How many a search is to keep, so that there is enough to choose from.
uint32_t coplan_keep(uint32_t count, const struct coplan *coplan);
// The rounds: leaves what it found among those known.
bool coplan_alternate(struct coplan *coplan, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
// Branches of the model on blocks of a half and a quarter of the servers, whole and cut into strips
// of equal work: far from data parallelism, whatever the estimate thinks of them. Returns how many.
uint32_t coplan_branches(struct weft_strategy *found, struct coplan *coplan,
                         struct weft_arena *arena, struct weft_arena scratch);
// The first searches, of the full mesh and the ideal switch, once more with other random choices,
// and the effort that they take at most. False when a search fails.
bool coplan_start_anew(struct coplan *coplan, struct weft_arena scratch) WEFT_MUST_USE;
double coplan_anew_seconds(const struct coplan *coplan);
// Descents (descent.h): quick ones from all candidates near the best, then from where random
// changes of the best lead, then thorough ones from the very best. Returns what is left of
// `seconds`.
double coplan_descend(struct coplan *coplan, double seconds, struct weft_arena scratch);
// Searches the strategy alone as that variant does, with the same effort, and knows it: on the
// paper's topology, with as many paths as the variant tries, so that both are never behind it.
void coplan_know_alone(struct coplan *coplan, struct weft_arena scratch);
// Small changes of strategy and design together, from the best known, with `seconds` of effort.
void coplan_refine(struct coplan *coplan, double seconds, struct weft_arena scratch);

#endif
