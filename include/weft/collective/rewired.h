// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_COLLECTIVE_REWIRED_H
#define WEFT_COLLECTIVE_REWIRED_H

// Collectives on optical switches: do circuits that follow the steps of an algorithm beat circuits
// that are set once?
//
//   schedule ──► steps ──► weft_circuit_planes ──► [rewired] ◄── one shot
//
// Every rank has a port of each of some planes, its rate divided among them. Times are by formula:
// a step takes a hop's latency for each hop of its longest path and its bytes over what the most
// loaded circuit leaves to each flow. docs/circuits.md has the method and its limits.

#include "weft/circuit.h"
#include "weft/collective.h"

WEFT_API_BEGIN

struct weft_rewired_options {
    enum weft_collective_kind kind; // ALLREDUCE or ALLTOALL
    uint32_t rank_count;
    uint32_t plane_count; // at most WEFT_PLANES_MAX
    double size_bytes;    // as the kind counts it
    double rate_Bps;      // of a rank, all planes together
    double hop_s;
    double change_s; // of a plane, between two sets of circuits
    weft_stop stop;  // rows are then `cut`
};

// The steps of a schedule: flows of one round that go equally far form a step, where a rank has
// several; else the round is one.
struct weft_rewired_steps {
    uint32_t step_count;
    const struct weft_plane_step *steps;
    uint32_t pattern_count;
    const struct weft_plane_pattern *patterns;
    const uint32_t *const *peers; // of each pattern and rank, WEFT_NONE: it sends nothing
};
// O(transfers + patterns ranks).
void weft_rewired_steps(struct weft_rewired_steps *steps, const struct weft_schedule *schedule,
                        double size_bytes, struct weft_arena *arena, struct weft_arena scratch);

// Circuits that are set once for the collective and stay. ALLREDUCE: a ring both ways, half of the
// data each (all of it one way with one plane). ALLTOALL: circuits to ranks `jumps` ahead, one a
// plane, chosen by coordinate descent for the least time, over paths of fewest hops divided evenly.
struct weft_one_shot {
    double seconds;
    uint32_t hops; // of the longest path; 0: a ring
    uint32_t jumps[WEFT_PLANES_MAX];
};
// O(planes^2 ranks^2) for an all-to-all.
void weft_rewired_one_shot(struct weft_one_shot *shot, const struct weft_rewired_options *options,
                           struct weft_arena scratch);

// An algorithm on planes that begin as a ring.
struct weft_rewired_row {
    enum weft_algorithm algorithm;
    uint32_t step_count;
    double stay_s;   // on the ring, of one plane all one way
    double always_s; // all planes turn at every step that needs other circuits
    double seconds;  // as weft_circuit_planes says
    uint32_t changes;
    bool cut;
};
struct weft_rewired {
    struct weft_one_shot one_shot;
    double bound_s; // no schedule of the kind is quicker on any circuits
    uint32_t row_count;
    struct weft_rewired_row rows[WEFT_ALGORITHM_COUNT];
    uint32_t best; // row
};
// Every algorithm of the kind whose ranks send to one other at a time: ring, halving-doubling and
// recursive doubling; direct and Bruck's. Fails as weft_algorithm_build does.
bool weft_rewired_build(struct weft_rewired *rewired, const struct weft_rewired_options *options,
                        struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// The longest time of a change, within 1 %, with which some algorithm is still quicker than the one
// shot; 0: none is at a nanosecond, INFINITY: some are at any (they stay on the ring).
// options->change_s is not read. Fails as weft_rewired_build.
bool weft_rewired_crossover(double *change_s, const struct weft_rewired_options *options,
                            struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
