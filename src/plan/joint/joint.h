// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_JOINT_JOINT_H
#define WEFT_PLAN_JOINT_JOINT_H

// Strategy and topology together: what the files of the loop share. Private to the plan room.

#include "plan/design/method.h"

// A strategy with its task graph and the best network known for it. It must stay where it is:
// `search` points into it.
struct settled {
    struct weft_strategy strategy;
    struct weft_taskgraph graph;
    struct weft_traffic traffic;
    struct search search;
    struct design design;
    struct verdict verdict; // true
    uint64_t key;           // of the strategy, to know it again
    double descended_s;     // what it took when it was last descended from or to; 0 = never
};

#define SETTLED_MAX 64u
#define BOUNDS_OF_ANY_MAX 2u
#define CHOSEN_MAX 8u // strategies of each search that get a topology
#define BRANCHES_MAX 4u

struct coplan {
    const struct weft_model *model;
    const struct weft_cluster *cluster;
    const struct weft_strategy_setting *setting;
    const struct weft_coplan_options *options;
    struct weft_arena *arena; // what stays until the plan is built
    bool hybrid;
    double seconds_left;
    uint64_t evaluations;
    // Known strategies, best first.
    struct settled *known[SETTLED_MAX];
    uint32_t known_count;
    uint32_t start_count;
    uint32_t round_start[SETTLED_MAX];
    double round_s[SETTLED_MAX];
    uint32_t round_count;
    bool fixed_point;
    struct weft_error why_not; // of the last strategy that got no network
};

// Gives a strategy its task graph and, with `seconds` of effort, its network; the design `near`
// (may be NULL) is tried, too. What is known already is not done again. NULL, and why_not is
// filled, when its task graph cannot be built or no design connects it.
struct settled *coplan_settle(struct coplan *coplan, const struct weft_strategy *strategy,
                              double seconds, const struct design *near, struct weft_arena scratch);
// Puts a strategy that was settled among those known.
void coplan_know(struct coplan *coplan, struct settled *settled);
// Tells the progress line.
void coplan_tell(const struct coplan *coplan, double iteration_s);
// Searches a topology anew for a known strategy, its design among the seeds.
void coplan_wire(struct coplan *coplan, struct settled *settled, double seconds,
                 struct weft_arena scratch);
// Judges a strategy truly on a design, which is its own or another one's, and knows it, or knows it
// better. Returns the work units.
double coplan_adopt(struct coplan *coplan, const struct weft_strategy *strategy,
                    const struct design *design, bool is_own, struct weft_arena scratch);
// A number that equal strategies of a model share.
uint64_t coplan_key(const struct weft_strategy *strategy, const struct weft_model *model);
// A copy of a strategy in memory of its own, without its memory figures.
struct weft_strategy coplan_copy(const struct weft_strategy *strategy, uint32_t operator_count,
                                 struct weft_arena *arena);

// Strategies of the model on a network (NULL = full mesh), best first; counts the evaluations.
bool coplan_search(struct weft_search_result *result, struct coplan *coplan,
                   const struct weft_network *network, const struct weft_strategy *start,
                   const struct weft_search_options *search, struct weft_arena *arena,
                   struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// Up to `count` of the strategies that a search found, best first: of operators every so manieth,
// as the nearest ones differ little; of hybrid ones that differ in chunks alone the one with
// fewest, within half a percent of their best, as each chunk adds tasks that every judgement pays
// for.
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
// First searches of the full mesh and the ideal switch once more, with other random choices, and
// the effort that they take at most. False when a search fails.
bool coplan_start_anew(struct coplan *coplan, struct weft_arena scratch) WEFT_MUST_USE;
double coplan_anew_seconds(const struct coplan *coplan);
// Descents (descent.h): quick ones from all known that come near the best, then from where random
// changes of the best lead, then thorough ones from the very best. Returns what is left of
// `seconds`.
double coplan_descend(struct coplan *coplan, double seconds, struct weft_arena scratch);
// Searches the strategy alone as that variant does, with the same effort, and knows it: on the
// paper's topology, with as many paths as the variant tries, so that both are never behind it.
void coplan_know_alone(struct coplan *coplan, struct weft_arena scratch);
// Small changes of strategy and design together, from the best known, with `seconds` of effort.
void coplan_refine(struct coplan *coplan, double seconds, struct weft_arena scratch);

#endif
