// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_H
#define WEFT_PLAN_H

// Plans: fabric, rings, routes and circuits for a task graph, with their certificate.
//
//   taskgraph + cluster ──► topology ──► routing ──► sim ──► [plan] ──► format, report
//
// weft_plan_build plans for a task graph, weft_coplan_build for a model, whose strategy it chooses
// as well. Both are searches around stages that know nothing of each other; the simulated iteration
// decides. Every plan carries lower bounds on its iteration time (weft_certificate_build) and can
// be checked without trust in what made it (weft/verify.h).

#include "weft/base.h"
#include "weft/cluster.h"
#include "weft/collective.h"
#include "weft/fabric.h"
#include "weft/routing.h"
#include "weft/sim.h"
#include "weft/strategy.h"
#include "weft/topology.h"
#include "weft/workload.h"

WEFT_API_BEGIN

// Which fabrics a bound holds for. Each class contains the one before.
enum weft_bound_scope {
    WEFT_BOUND_THIS_FABRIC,   // the plan's own links and rings, with transfers routed at will
    WEFT_BOUND_DIRECT_FABRIC, // every fabric whose server ports are joined to one another for good
    WEFT_BOUND_ANY_FABRIC,    // every fabric that gives a server d ports of B, switched or direct
};

// A lower bound on the iteration time and why it holds (docs/certificate.md has the proofs). Its
// class is what it holds for; a name has one class (src/plan/bound/classes.c).
struct weft_bound {
    const char *name; // "compute-critical-path", ...
    double seconds;
    const char *reason; // one sentence
    enum weft_bound_scope scope;
    bool any_collectives; // holds for every algorithm that reduces inside servers; else for those
                          // in which each of k members sends and receives 2(k-1)/k of the size of
                          // an AllReduce, as in rings and halving-doubling
    bool any_strategy;    // holds for every strategy of the model's operators space; else for this
                          // one's task graph
    double gap_ratio;     // iteration / seconds - 1; 0 where either is 0
    bool headline;        // the strongest of its kind: no bound that holds for all plans that this
                          // one holds for is as large
    // "fabric-concurrent-flow": the price of a byte on each link of the fabric, from which anybody
    // can compute the bound; NULL for the others.
    const double *prices;
};

struct weft_certificate {
    uint32_t bound_count;
    const struct weft_bound *bounds;
    uint32_t binding;     // the largest of those for this strategy that hold for every direct
                          // fabric
    double lower_bound_s; // its seconds
    double gap_ratio;     // iteration / lower bound - 1
};

// "this-fabric", "direct-fabric", "any-fabric".
const char *weft_bound_scope_name(enum weft_bound_scope scope);
// A bound of that name with its class and nothing else; every bound of the planner begins so.
struct weft_bound weft_bound_named(const char *name);
// Whether a bound may be the one that certificate.gap_ratio is measured against.
bool weft_bound_may_bind(const struct weft_bound *bound);
// What a bound holds for, in words: "this strategy, any collectives, any fabric".
#define WEFT_BOUND_TEXT 64
const char *weft_bound_holds_for(char text[WEFT_BOUND_TEXT], const struct weft_bound *bound);
// The bounds of the headline, largest first: order[bound_count] gets their indices. Returns how
// many there are. The first is the one of the narrowest class, the last holds for the most plans.
// O(bounds^2).
uint32_t weft_certificate_headline(uint32_t *order, const struct weft_certificate *certificate);
// What follows from a list of bounds and the iteration: the gap of each, which are of the headline,
// which one binds and its gap. At least one of them may bind. `bounds` must outlive the
// certificate. O(bounds^2).
void weft_certificate_conclude(struct weft_certificate *certificate, struct weft_bound *bounds,
                               uint32_t bound_count, double iteration_s);

// Fills a certificate for a task graph on n servers with d ports of B. `network` (may be NULL) adds
// the bounds of that fabric with its rings (by task graph group); iteration_s = 0 leaves the gap 0.
// Fails with INPUT when the graph has more servers than the cluster or the network.
// O(edges log edges + n (n + links) log n), and for small n a few linear programs of n * links
// variables by CLP.
bool weft_certificate_build(struct weft_certificate *certificate,
                            const struct weft_taskgraph *graph, const struct weft_cluster *cluster,
                            const struct weft_network *network, double iteration_s,
                            const struct weft_environment *environment) WEFT_MUST_USE;

// One property of a plan that does not hold: one line that names what and where.
struct weft_violation {
    const char *text;
};

// How much of strategy and topology is searched.
enum weft_coplan_variant {
    WEFT_COPLAN_BOTH,          // alternately, each on what the other found
    WEFT_COPLAN_STRATEGY,      // strategy on a given fabric; its topology by the paper's method
    WEFT_COPLAN_TOPOLOGY,      // data parallelism; its topology searched
    WEFT_COPLAN_DATA_PARALLEL, // data parallelism; its topology by the paper's method
    WEFT_COPLAN_VARIANT_COUNT,
};
// "both", "strategy", "topology", "data-parallel".
const char *weft_coplan_variant_name(enum weft_coplan_variant variant);

// What a plan was made for when it began with a model: the strategy, and the task graph that
// follows from it, so that the plan can be played, checked and exported without the model.
struct weft_plan_job {
    const char *model;
    uint64_t batch;    // samples of one iteration
    const char *costs; // where operators' times come from: "profile", "roofline A100", ...
    enum weft_optimizer optimizer;
    enum weft_tables tables;
    double inside_Bps;         // between two accelerators of a server, each way
    double memory_limit_bytes; // of one accelerator; 0 = none
    uint32_t operator_count;
    const char *const *operator_names;
    struct weft_strategy strategy; // with its memory
    double flops_utilization;      // of the accelerators' peak, by the model's FLOPs; 0 = no stack
    enum weft_coplan_variant variant;
    uint64_t evaluations; // strategies looked at, by estimate or by simulation
    uint32_t round_count;
    const uint32_t *round_start; // which start each round belongs to, ascending
    const double *round_s;       // the best iteration that the round found
    bool fixed_point; // the last round found nothing better than its network's own strategy
    // Seconds of each variant, where all were asked for; 0 = not.
    double variant_s[WEFT_COPLAN_VARIANT_COUNT];
    struct weft_taskgraph graph;
};

// What a plan's search ended with where packets decide (docs/plan.md, "Evaluated by packets").
struct weft_plan_finals {
    uint32_t count; // candidates that were played in packets; 0: the flow engine decided
    double flow_s;  // what the flow engine says of the one that is the plan, on rings
};

// A search that was left before its end, by a clock, Ctrl-C or weft_plan_options.published_most:
// the plan is the best that was published until then. The same effort left after as many
// publications gives the same plan.
struct weft_plan_cut {
    double effort_s;    // that the search was to have
    uint64_t published; // plans, each better than the one before; 0: it came to its end
};

// Where several tasks of one device became ready at one instant and did not run in the order of
// their numbers: their order, tie by tie, so that the iteration can be played again by anybody.
struct weft_plan_ties {
    uint32_t count;
    const uint32_t *first; // CSR: count + 1
    const uint32_t *tasks; // of the graph as it is played
};

// What the reader of a file found wrong that a plan cannot even hold: a hop without a link,
// circuits that are not the planes. The checker repeats them. None in a plan that was built.
struct weft_plan_flaws {
    uint32_t count;
    const struct weft_violation *items;
};

// It stays flat at 21 fields: what travels together is nested, and the rest are keys at the top of
// the plan file, each of which the checker derives by itself (docs/plan-format.md).
struct weft_plan {
    struct weft_cluster cluster;
    struct weft_topology topology;
    struct weft_network network; // fabric, routes, rings (by task graph group)
    enum weft_topology_method method;
    uint64_t seed;
    struct weft_sim_options sim; // iteration_s was simulated with these
    double iteration_s;
    struct weft_plan_finals finals;
    struct weft_plan_cut cut;
    struct weft_plan_ties ties;
    double demand_weighted_hops; // of transfers, by shortest paths; 0 without transfers
    double max_link_load_bytes;
    double mean_link_load_bytes; // over all links
    double bandwidth_tax_ratio;  // bytes that leave servers, relayed ones again / bytes demanded
    struct weft_cost cost;
    struct weft_certificate certificate;
    struct weft_plan_flaws flaws;
    uint64_t digest; // that the file states, weft_plan_digest; 0 in a plan that was built
    const struct weft_plan_job *job; // NULL: planned for a task graph alone
    // Collectives that do not run as rings; `seconds` of each is iteration_s. Metrics, times and
    // the certificate are those of weft_plan_played.
    uint32_t collective_count;
    const struct weft_collective_choice *collectives;
};

enum weft_plan_collectives {
    WEFT_PLAN_RINGS, // every collective on the plan's rings
    WEFT_PLAN_BEST,  // whatever makes the simulated iteration shortest, group by group
};

// The rows of a comparison as they are filled, for whoever watches from another thread: it may read
// the first `count`. Names live as long as the program.
#define WEFT_COMPARISON_ROWS_MAX 32u
struct weft_comparison_log {
    weft_atomic_u64 count;
    struct weft_comparison_told {
        const char *name;
        double iteration_s;
    } rows[WEFT_COMPARISON_ROWS_MAX];
};

struct weft_plan_options {
    struct weft_topology_options topology; // the degree is the cluster's
    struct weft_sim_options sim;
    enum weft_plan_collectives collectives;
    // What the last candidates of a search are played with once more, in packets, for a part of the
    // effort; the best of them is then the plan. NULL: `sim` decides. Must outlive the plan.
    const struct weft_sim_options *last_sim;
    uint64_t dark_ps; // of ocs-reconfig in a comparison: how long its switch turns; 0 = 10 ms
    uint64_t published_most; // leave the search after as many plans, weft_plan_cut; 0 = none
    struct weft_comparison_log *log; // of a comparison; NULL = nobody watches
    struct weft_tally *tally;        // of the effort, what is spent; NULL = nobody watches
    weft_atomic_u64 *best_ps;        // the best iteration so far, WEFT_NEVER at first; or NULL
};

// Plans a fabric for one iteration of `graph`: the paper's topology and routes, or a search over
// cycles, matchings and shares by the simulated iteration (docs/plan.md). The effort is
// options->topology.seconds (0 = 2), counted in work and not by a clock: a seed gives one plan for
// any number of threads. Once environment->stop is raised it is left within some milliseconds, and
// the plan is the best until then (plan->cut). `plan` must stay where it is, its routes point into
// it. Fails with INPUT when graph and cluster do not fit or the graph has no tasks, with INFEASIBLE
// when no fabric of that degree connects the servers, with STOPPED when it was left before a plan.
bool weft_plan_build(struct weft_plan *plan, const struct weft_taskgraph *graph,
                     const struct weft_cluster *cluster, const struct weft_plan_options *options,
                     const struct weft_environment *environment) WEFT_MUST_USE;

// The task graph as the plan plays it: `graph` itself, or with the chosen collectives as their
// transfers. Fails with INPUT when the choices do not fit the graph.
bool weft_plan_played(struct weft_taskgraph *played, const struct weft_plan *plan,
                      const struct weft_taskgraph *graph, struct weft_arena *arena,
                      struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// ---- strategy and topology together ----

#define WEFT_COPLAN_SECONDS 10.0 // the default effort
// Effort is about the seconds that two cores take, counted in work and not by a clock; fields of
// `search` and `plan` that say otherwise are ignored.
struct weft_coplan_options {
    enum weft_coplan_variant variant;
    bool all_variants; // measure the others as well, with the same effort each
    // STRATEGY: the network to search on. BOTH: the first network beside a full mesh. NULL = full
    // mesh alone.
    const struct weft_network *reference;
    const struct weft_strategy *given; // BOTH, STRATEGY: this one, not searched; NULL = search
    uint32_t rounds;                   // of each start at most; 0 = the default
    double seconds;                    // 0 = 10
    // Method and evaluations of each strategy search; seed, threads and stop are the environment's.
    struct weft_search_options search;
    // Simplex and packets.
    struct weft_plan_options plan;
    // For a progress line, or NULL: the best simulated iteration so far, WEFT_NEVER at first.
    weft_atomic_u64 *best_ps;
    weft_atomic_u64 *bound_ps; // no strategy is faster; or NULL
    struct weft_tally *tally;  // of the effort, what is spent; or NULL
};

// Plans strategy and fabric of one iteration of a model (docs/co-optimisation.md). BOTH:
// strategies are searched on a network, the best of them get topologies, the shortest simulated
// iteration hands its network back, until a round finds nothing better; this from several
// networks, beyond 64 servers also from an ideal switch; then small changes of strategy and design
// together, by the flow engine; then the topology once more. The other variants leave out
// one side. plan->job has
// the strategy, and the certificate has bounds for any strategy beside those for this one. A seed
// gives one plan for any number of threads. `plan` must stay where it is. Fails as the searches
// and weft_plan_build do; with UNSUPPORTED when the task graphs of this model are too large to
// simulate.
bool weft_coplan_build(struct weft_plan *plan, const struct weft_study *study,
                       const struct weft_coplan_options *options,
                       const struct weft_environment *environment) WEFT_MUST_USE;

// Lower bounds for every strategy that gives operators parts and servers: the work of all operators
// over all devices, and the longest chain of them. Fails as weft_operator_splits does.
// O(operators * splits).
#define WEFT_COPLAN_BOUND_COUNT 2
bool weft_coplan_bounds(struct weft_bound bounds[WEFT_COPLAN_BOUND_COUNT],
                        const struct weft_study *study, const struct weft_environment *environment)
    WEFT_MUST_USE;

// ---- strategies on a fabric that stands ----

struct weft_ranking_options {
    enum weft_search_method method;
    uint64_t evaluations; // of the search; 0 = by effort
    double seconds;       // effort as weft_coplan_options counts it; 0 = 10
    uint32_t keep;        // how many of the best are returned; 0 = 1
    struct weft_sim_options sim;
    weft_atomic_u64 *best_ps; // for a progress line, or NULL
};
struct weft_ranking {
    struct weft_search_result found; // best first
    const uint64_t *simulated_ps;    // of each candidate; 0 = not played, its estimate stands
    bool stopped;                    // the search was left before its end
};
// The strategies of a model on the study's network, in the order of their simulated iterations; a
// network without rings gets those that weft_plan_compare gives it. The search's best are played,
// at least eight, more as the effort affords, and stand before the others; strategies of operators
// then take small changes that the simulation finds better (up to 64 servers). How many are kept
// does not change which is first. Hybrid strategies that differ in chunks and order alone are one,
// as are strategies of operators that differ in servers alone and take the same time within half a
// percent. Without a network nothing is played and the estimates rank, nor are strategies of
// operators beyond 128 servers; hybrid ones are, as weft_plan_play_hybrid can.
// Fails as the searches do. A seed gives one ranking for any number of threads. Where
// environment->stop is raised, what was found and played until then is ranked.
bool weft_plan_rank_strategies(struct weft_ranking *ranking, const struct weft_study *study,
                               const struct weft_ranking_options *options,
                               const struct weft_environment *environment) WEFT_MUST_USE;
// Whether weft_plan_rank_strategies plays what it finds.
bool weft_plan_plays(const struct weft_study *study);
// One iteration of a strategy on the study's network, played as weft_plan_rank_strategies plays it;
// *iteration_ps is 0 where it cannot be. Returns the work units.
double weft_plan_play_strategy(uint64_t *iteration_ps, const struct weft_strategy *strategy,
                               const struct weft_study *study, const struct weft_sim_options *sim,
                               struct weft_arena scratch);

// What one iteration of a hybrid strategy came to.
struct weft_hybrid_run {
    double iteration_s;
    bool folded;              // replicas that are alike were played once
    uint32_t replica_classes; // replicas (ranks of context and data) that were played
    uint64_t event_count;     // of the engine
};
// Messages of one iteration at most, after folding; about a microsecond of one core each. Where a
// message is divided over several paths, their flows count.
#define WEFT_HYBRID_MESSAGES_MAX (1u << 23)
// Plays one iteration of a hybrid strategy on a network, which need not be the study's, in the flow
// engine as weft_sim_run_jobs plays its task graph; replicas that are equal on that network are
// played once, which gives the same time but for rounding (weft_strategy_fold). A network of
// servers that forward, without rings, gets those of weft_plan_compare. Fails with INPUT as
// weft_strategy_taskgraph and weft_sim_run_jobs do, and beyond WEFT_HYBRID_MESSAGES_MAX. Of the
// environment the arenas and the error are used; nothing is kept in `arena`.
bool weft_plan_play_hybrid(struct weft_hybrid_run *run, const struct weft_strategy *strategy,
                           const struct weft_study *study, const struct weft_network *network,
                           const struct weft_sim_options *options,
                           const struct weft_environment *environment) WEFT_MUST_USE;

// ---- which collective ----

struct weft_collective_question {
    // Kind, ranks, root, shapes and rings; chunk_factor is what is looked for. Ranks are the
    // servers of `network`.
    struct weft_algorithm_options options;
    uint32_t chunk_factor_max;
    struct weft_cost_model model; // of closed forms
    // NULL: closed forms. Else schedules are played here, with sim's engine, as data allow;
    // sub-chunk factors are those about the closed form's best. SYNTHESIZE takes part.
    const struct weft_network *network;
    struct weft_sim_options sim;
    uint64_t transfers_max; // larger schedules are not played
    uint64_t seed;          // of synthesis
    uint32_t threads;
    struct weft_tally *tally; // sizes that are ranked, of all; NULL = nobody looks
};

// What an algorithm takes, with the best of its sub-chunk factors. Negative seconds: it cannot run
// the collective, or its schedule is too large to play.
struct weft_collective_time {
    double seconds;
    uint32_t chunk_factor;
};

struct weft_collective_ranking {
    uint64_t size_bytes;
    double bound_s;           // no schedule is quicker; see docs/collectives.md
    enum weft_algorithm best; // COUNT: none can
    enum weft_algorithm second;
    struct weft_collective_time times[WEFT_ALGORITHM_COUNT];
};

// The algorithms by what they take for each of the sizes. Fails with INPUT below 2 ranks. Same for
// any number of threads. O(sizes * algorithms * plays).
bool weft_collective_rank(struct weft_collective_ranking *rankings, const uint64_t *sizes_bytes,
                          uint32_t size_count, const struct weft_collective_question *question,
                          struct weft_error *error) WEFT_MUST_USE;
// What one schedule of S bytes takes on a network, as data allow. Fails as lowering and playing do.
bool weft_collective_play(double *seconds, const struct weft_schedule *schedule,
                          uint64_t size_bytes, const struct weft_network *network,
                          const struct weft_sim_options *sim,
                          const struct weft_environment *environment) WEFT_MUST_USE;
// What the packet engine is played with so that nothing but queues and bytes counts: windows that
// are never full, buffers without end, acknowledgements for nothing.
extern const struct weft_packet_options weft_collective_packets;

// ---- against other fabrics ----

// The OCS-reconfig baseline: a fabric that follows the demand it sees.
struct weft_reconfig {
    double iteration_s;
    uint32_t epoch_count; // topologies used
    double bandwidth_tax_ratio;
    uint32_t max_hops;
    double max_link_load_bytes;  // of any pair of servers that was ever joined
    double mean_link_load_bytes; // over n*d ports
};
// Plays one iteration on servers whose d ports are rewired every 4 * switch_ps: demand not yet
// served is collected, traffic stops for switch_ps, then greedy links serve it (TopoOpt, NSDI 2023,
// section 5). It is a circuit controller of the flow engine (weft/sim.h): max-min rates over one
// shortest path a pair; an AllReduce is a ring in its group's order with all hops at once, without
// rounds. The first links, before there is any demand, are random from sim->seed. Of `sim` it reads
// the packet sizes, seed and stop, and of the environment scratch and error. Fails with INPUT if
// the graph has more servers than the cluster or switch_ps = 0, and with INFEASIBLE if the
// iteration takes more rewirings than are played, between 1000 and a million by n^2 d. An epoch
// costs O(n d (pairs with demand) + n^2 d).
bool weft_plan_reconfigure(struct weft_reconfig *result, const struct weft_taskgraph *graph,
                           const struct weft_cluster *cluster, uint64_t switch_ps,
                           const struct weft_sim_options *sim,
                           const struct weft_environment *environment) WEFT_MUST_USE;

// One row of `weft compare`.
struct weft_comparison {
    const char *name;
    const char *why_not; // NULL, or why this fabric cannot be built here
    double iteration_s;
    double ratio_to_ideal;
    double cost_usd;
    double power_watts;
    double bandwidth_tax_ratio;
    double mean_hops;
    uint32_t max_hops;
    double max_link_load_bytes; // of a cable, of which a link may have several
    double mean_link_load_bytes;
    double port_rate_Bps;
    const char *found_for; // of a model: the fabric whose search found the row's strategy, or
                           // "data-parallel"; NULL where the task graph was given
};
// Simulates the iteration on every reference fabric, the rewired one and both methods' plans, in
// that order; the cost-equivalent Fat-tree may cost what the weft plan does. A fabric that cannot
// be built here says why, and so does one that was not come to when environment->stop was raised.
// Fails only as weft_plan_build does for the weft method.
bool weft_plan_compare(const struct weft_comparison **rows, uint32_t *row_count,
                       const struct weft_taskgraph *graph, const struct weft_cluster *cluster,
                       const struct weft_plan_options *options,
                       const struct weft_environment *environment) WEFT_MUST_USE;

// The same beside a plan of this graph that stands: the row of its method is the plan itself, what
// it says digit for digit.
bool weft_plan_compare_plan(const struct weft_comparison **rows, uint32_t *row_count,
                            const struct weft_plan *plan, const struct weft_taskgraph *graph,
                            const struct weft_plan_options *options,
                            const struct weft_environment *environment) WEFT_MUST_USE;

// One model on one cluster: every fabric with the best strategy that was found for it.
struct weft_model_comparison {
    const char *model;
    uint64_t batch; // samples of one iteration
    uint32_t server_count;
    uint32_t degree;
    double rate_Bps;
    const char *costs;   // as in weft_plan_job
    const char *why_not; // the model has no plan there: without rows; NULL = it was compared
    uint32_t row_count;
    const struct weft_comparison *rows; // ratio_to_ideal as above; the last row is Weft's
    uint64_t seed;
    double effort_s;      // of Weft's plan
    uint64_t evaluations; // of its search
    bool stopped;         // left before its end: rows that were not come to say so
    // Of weft_plan_job: seconds of each variant, where all were asked for; 0 = not.
    double variant_s[WEFT_COPLAN_VARIANT_COUNT];
};

struct weft_compare_options {
    struct weft_coplan_options coplan; // of Weft's plan, strategy and topology both; the search
                                       // of each other fabric gets a quarter of its effort
    const char *const *fabrics;        // reference fabrics, "ocs-reconfig", "topoopt"; Weft's plan
    uint32_t fabric_count;             // always has a row. 0 = all
};
// Ranks strategies on every fabric's own network (weft_plan_rank_strategies) and plays each
// fabric's best; a strategy that was found for one fabric is tried on all of them, so that a row is
// the first of its fabric's ranking or, where found_for says so, a better one of another's. Weft's
// row is what weft_coplan_build answers, digit for digit. The paper's method plans for the
// strategies of Weft's plan, of a full mesh and of data parallelism, and for the two that are
// quickest on any fabric. The rewired fabric plays the first and the third. A fabric that cannot be
// built here says why. Fails only as weft_coplan_build does.
bool weft_plan_compare_model(struct weft_model_comparison *comparison,
                             const struct weft_study *study,
                             const struct weft_compare_options *options,
                             const struct weft_environment *environment) WEFT_MUST_USE;
// The same beside a plan that weft_coplan_build made of this study with options->coplan.
void weft_plan_compare_model_plan(struct weft_model_comparison *comparison,
                                  const struct weft_plan *plan, const struct weft_study *study,
                                  const struct weft_compare_options *options,
                                  const struct weft_environment *environment);

WEFT_API_END

#endif
