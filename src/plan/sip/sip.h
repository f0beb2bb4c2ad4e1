// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_SIP_SIP_H
#define WEFT_PLAN_SIP_SIP_H

// What the files of this chamber hand to each other. docs/sip-ml.md has the method.
//
//   split ──► place ──► fold ──► schedule (an estimate) ──► circuits, waves, electric ──► play

#include "weft/plan/sip.h"

// Which dimension an operator's parts divide first.
enum sip_rule {
    SIP_RULE_BYTES,      // what moves fewer bytes
    SIP_RULE_SAMPLES,    // samples, then parameters
    SIP_RULE_PARAMETERS, // parameters, then samples
    SIP_RULE_COUNT,
};

// Where a part goes among the accelerators that it may go to.
enum sip_pick {
    SIP_PICK_FREE,  // the one that is free first, as published
    SIP_PICK_START, // the one where it can begin first, its inputs' way counted
    SIP_PICK_COUNT,
};

// What decides a strategy: a candidate.
struct sip_choice {
    uint32_t dp, mp;
    uint32_t micro_batches; // of a replica, one after the other
    struct weft_sip_batch batch;
    enum sip_rule rule;
    enum sip_pick pick;
    uint32_t reach;                    // ids that a part may lie behind what it reads
    const struct weft_strategy *given; // of all accelerators, not chosen here; NULL = none
};

// What candidates are placed and estimated for.
struct sip_target {
    double port_Bps;       // of an accelerator
    double collective_Bps; // of it, between replicas
    uint64_t latency_ps;
    double gradient_bytes; // of a replica; 0 = the parameters'
};

// A candidate in full: two replicas (of one: one) that stand for all.
struct sip_fold {
    struct sip_choice choice;
    uint32_t replicas;
    uint32_t node_count;         // replicas * mp
    struct weft_model model;     // its batch is a micro-batch of all replicas of the fold
    struct weft_cluster cluster; // node_count servers of one accelerator
    struct weft_strategy_setting setting;
    struct weft_strategy strategy;
    struct weft_taskgraph graph; // collectives as large as they are among all replicas
    double *transfer_bytes;      // n*n
    double *ring_bytes;          // n*n, of collectives, each to its next by id
};

static inline struct weft_study sip_study(const struct sip_fold *fold)
{
    return (struct weft_study){&fold->model, &fold->cluster, NULL, &fold->setting};
}

// ---- split.c, place.c ----

// How an operator of the fold is divided inside a replica: at most 2^floor(log2(time / quantum))
// parts and mp. Fails as weft_operator_time does.
bool sip_split(struct weft_split *split, const struct sip_fold *fold, uint32_t op,
               const struct weft_split *splits, struct weft_error *error) WEFT_MUST_USE;
// Fills the fold's strategy. Fails with INFEASIBLE where no accelerator within reach has memory.
bool sip_place(struct sip_fold *fold, const struct sip_target *target, struct weft_arena *arena,
               struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// ---- fold.c ----

// Splits, places and builds the task graph of a candidate. Fails as those do. The fold must stay
// where it is.
bool sip_fold_build(struct sip_fold *fold, const struct sip_choice *choice,
                    const struct weft_study *study, const struct sip_target *target,
                    const struct weft_environment *environment) WEFT_MUST_USE;
// The strategy of all replicas, on as many servers as there are accelerators.
struct weft_strategy sip_unfold(const struct sip_fold *fold, uint32_t accelerators,
                                struct weft_arena *arena);
// What each pair carries in an iteration, n*n.
double *sip_fold_bytes(const struct sip_fold *fold, struct weft_arena *arena);

// ---- schedule.c ----

// The iteration by a list schedule: tasks by the longest way to the end, each as soon as its device
// or its servers' ports are free. O(tasks log tasks).
double sip_schedule(const struct weft_taskgraph *graph, const struct sip_target *target,
                    struct weft_arena scratch);

// ---- circuits.c ----

struct sip_circuits {
    uint32_t node_count;
    uint32_t port_count;
    const double *bytes;    // that they are for, n*n
    double *demand;         // n*n: bytes, and what goes over two hops on both of them
    uint32_t *relay;        // n*n: over which node; WEFT_NONE = direct or nothing to carry
    uint32_t *circuits;     // n*n
    uint32_t *permutations; // port_count * n
    double ratio;           // least circuits for a byte
    uint32_t hop_max;
};
// Max-min circuits; pairs beyond the ports of a node go over two hops. Fails with INFEASIBLE where
// there are no two.
bool sip_circuits_build(struct sip_circuits *circuits, const double *bytes, uint32_t node_count,
                        uint32_t port_count, struct weft_arena *arena, struct weft_arena scratch,
                        struct weft_error *error) WEFT_MUST_USE;
// Waves of a switch, of W that are dealt to all.
static inline uint32_t sip_switch_waves(uint32_t wavelengths, uint32_t switches, uint32_t plane)
{
    return wavelengths / switches + (plane < wavelengths % switches);
}
// A network of links between pairs, rate 0 = none, and routes of one or two hops over `relay` (n*n,
// NULL: all direct).
bool sip_network_build(struct weft_network *network, const double *rate_Bps, const uint32_t *relay,
                       const struct weft_cluster *cluster, struct weft_arena *arena,
                       struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// What playing came to.
struct sip_run {
    double iteration_s;
    double still_s;
    double dark_share;
    uint64_t change_count;
    enum weft_sip_shots shots;
    struct weft_circuit_schedule schedule;
    const struct sip_circuits *circuits; // SiP-OCS
    const struct sip_waves *waves;       // SiP-Ring
};

// ---- waves.c ----

struct sip_waves {
    uint32_t arc_count;
    struct weft_sip_arc *arcs;
    double *rate_Bps; // n*n
    uint32_t fiber_wavelengths;
};
// Whole wavelengths of both fibers for what the fold carries, the worst pair first, so that they
// can be colored. Fails with INFEASIBLE where one for each pair is too much.
bool sip_waves_build(struct sip_waves *waves, const struct sip_fold *fold,
                     const struct weft_sip_options *sip, const struct weft_environment *environment)
    WEFT_MUST_USE;

// ---- shots.c ----

// When circuits change, and how long that takes.
struct sip_timing {
    enum weft_sip_shots shots; // TOGETHER or STAGGERED
    struct weft_circuit_delays delays;
    double single_s; // the iteration without changes: no two are closer than a part of it
};
// Plays the fold with circuits that change. Fails as weft_sim_run_jobs does.
bool sip_shots_play(struct sip_run *run, const struct sip_fold *fold,
                    const struct sip_circuits *circuits, const struct weft_sip_options *sip,
                    const struct sip_timing *timing, const struct weft_environment *environment)
    WEFT_MUST_USE;

// ---- electric.c ----

// Switches of the fold's replicas, and one that joins replicas at the capped rate.
bool sip_electric_build(struct weft_network *network, const struct sip_fold *fold,
                        const struct weft_sip_electrical *electrical, struct weft_arena *arena,
                        struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// ---- play.c ----

// An iteration of the fold on a network that stays. `both_ways`: collectives go round both ways,
// half of each.
bool sip_play(double *iteration_s, const struct sip_fold *fold, const struct weft_network *network,
              bool both_ways, const struct weft_environment *environment) WEFT_MUST_USE;
// The fold on a fabric of light: circuits or wavelengths are chosen, and the iteration is played.
// Fails with INFEASIBLE where they cannot be.
bool sip_play_light(struct sip_run *run, const struct sip_fold *fold,
                    enum weft_moving_fabric fabric, const struct weft_sip_options *sip,
                    const struct weft_circuit_delays *delays,
                    const struct weft_environment *environment) WEFT_MUST_USE;

// ---- certify.c ----

// Bounds on the fold's iteration for any circuits of these ports, on rings also for any
// wavelengths.
bool sip_certify(struct weft_certificate *certificate, const struct sip_fold *fold,
                 enum weft_moving_fabric fabric, const struct weft_sip_options *sip,
                 double iteration_s, const struct weft_environment *environment) WEFT_MUST_USE;

#endif
