// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_OPTICS_H
#define WEFT_REQUEST_OPTICS_H

// Circuits for a matrix of demand, wavelengths for arcs of a ring, circuits beside packets: the
// core that plans with moving circuits stand on, asked directly.

#include "weft/circuit.h"
#include "weft/collective/recursive.h"
#include "weft/collective/rewired.h"
#include "weft/request.h"

WEFT_API_BEGIN

// ---- max-min circuits ----

struct weft_maxmin_request {
    const char *path; // of the matrix, n lines of n numbers
    uint32_t ports;   // of a node, one on each switch
};
struct weft_maxmin_result {
    uint32_t node_count;
    uint32_t port_count;
    const double *demand;
    double ratio;
    const uint32_t *circuits;     // node_count^2
    const uint32_t *permutations; // port_count * node_count
};
// Fails with INPUT where the file is no matrix, with INFEASIBLE where a node has more peers than
// ports.
bool weft_request_maxmin(struct weft_maxmin_result *result,
                         const struct weft_maxmin_request *request,
                         struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.optics-maxmin/1"
const char *weft_request_maxmin_json(const struct weft_maxmin_result *result,
                                     struct weft_arena *arena);

// ---- wavelengths of a ring ----

struct weft_color_request {
    const char *path;                 // of the arcs, a line `start hops` each
    uint32_t ring;                    // nodes
    struct weft_ring_options options; // seed and stop come from the environment
};
struct weft_color_result {
    uint32_t ring;
    uint32_t arc_count;
    const struct weft_ring_arc *arcs;
    bool both_ways;
    struct weft_ring_coloring coloring;
};
bool weft_request_color(struct weft_color_result *result, const struct weft_color_request *request,
                        struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.optics-color/1"
const char *weft_request_color_json(const struct weft_color_result *result,
                                    struct weft_arena *arena);

// ---- circuits beside packets ----

struct weft_moe_request {
    const char *path;                  // of the matrix
    struct weft_split_options options; // the seed comes from the environment
};
struct weft_moe_result {
    uint32_t node_count;
    const double *bytes;
    struct weft_split_times split;
    const uint32_t *circuits; // node_count^2, symmetric
};
bool weft_request_moe(struct weft_moe_result *result, const struct weft_moe_request *request,
                      struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.optics-moe/1"
const char *weft_request_moe_json(const struct weft_moe_result *result, struct weft_arena *arena);

// ---- circuits that follow the steps of a collective ----

enum { WEFT_REWIRED_LIST_MAX = 16 };
struct weft_rewired_request {
    struct weft_rewired_options options; // change_s and rate_Bps: those of the lists
    uint32_t rate_count;
    double rates_Bps[WEFT_REWIRED_LIST_MAX];
    uint32_t change_count;
    uint64_t changes_ps[WEFT_REWIRED_LIST_MAX];
};
// One rate and one time of a change.
struct weft_rewired_case {
    double rate_Bps;
    double change_s;
    double crossover_s; // of this rate, as weft_rewired_crossover says
    struct weft_rewired rewired;
};
struct weft_rewired_result {
    uint32_t case_count; // by rate, then by change
    const struct weft_rewired_case *cases;
};
// Fails with USAGE where ranks, size, a rate or a time of changes is missing; left early it answers
// what it came to, or fails with STOPPED.
bool weft_request_rewired(struct weft_rewired_result *result,
                          const struct weft_rewired_request *request,
                          struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.optics-collective/1"
const char *weft_request_rewired_json(const struct weft_rewired_result *result,
                                      const struct weft_rewired_request *request,
                                      struct weft_arena *arena);

// ---- the same over a chip's own circuits ----

enum { WEFT_RECURSIVE_SIZE_MAX = 32, WEFT_RECURSIVE_ROW_MAX = 16, WEFT_RECURSIVE_SAVED_COUNT = 3 };
struct weft_recursive_request {
    struct weft_recursive_options options; // rate_Bps and change_s: those of the lists
    uint32_t size_count;
    uint64_t sizes_bytes[WEFT_RECURSIVE_SIZE_MAX];
    uint32_t rate_count;
    double rates_Bps[WEFT_REWIRED_LIST_MAX];
    uint32_t change_count;
    uint64_t changes_ps[WEFT_REWIRED_LIST_MAX];
    bool plays; // in an engine, too
    bool packets;
};
// The ring, each radix of which the chips are a power, as published (every round sets its circuits
// anew), and the best radices with the choice to stay.
struct weft_recursive_row {
    const char *name;                // "ring", "radix-4", "best"
    uint32_t radix;                  // 0: the ring or the best
    struct weft_recursive_plan plan; // of the case's size
    double played_s;                 // negative: it was not
};
struct weft_recursive_case {
    uint64_t size_bytes;
    const struct weft_recursive_row *rows;
};
// One rate and one time of a change.
struct weft_recursive_setting {
    double rate_Bps;
    double change_s;
    uint32_t case_count;
    const struct weft_recursive_case *cases; // by size
    // Per row but the first: the largest sizes at which so much of the ring's time is saved.
    const double (*regimes_bytes)[WEFT_RECURSIVE_SAVED_COUNT];
};
struct weft_recursive_result {
    uint32_t row_count;
    double saved_ratios[WEFT_RECURSIVE_SAVED_COUNT]; // 0.74, the published one; a half; a tenth
    uint32_t setting_count;                          // by rate, then by change
    const struct weft_recursive_setting *settings;
};
// Fails with USAGE where chips, sizes, rates or times are missing or 0, and as engines do.
bool weft_request_recursive(struct weft_recursive_result *result,
                            const struct weft_recursive_request *request,
                            struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.optics-recursive/1"
const char *weft_request_recursive_json(const struct weft_recursive_result *result,
                                        const struct weft_recursive_request *request,
                                        struct weft_arena *arena);

// ---- circuits that change ----

struct weft_change_request {
    const char *from; // matrices of circuits, n lines of n counts
    const char *to;
    uint32_t ports; // of a node, one on each switch
    bool duplex;    // both are symmetric, and circuits carry both ways
    bool stagger;   // one switch after the other
    struct weft_circuit_delays delays;
};
struct weft_change_result {
    uint32_t node_count;
    uint32_t plane_count;
    bool duplex;
    const uint32_t *before; // peers, plane by plane: plane_count * node_count
    const uint32_t *after;
    uint32_t moved; // ports
    uint32_t bound; // no division moves fewer; duplex: not known, 0
    struct weft_circuit_stagger stagger;
    struct weft_circuit_schedule schedule; // of the change, checked
};
// Fails with INFEASIBLE where a node has more circuits than ports, or duplex circuits need more
// switches than there are.
bool weft_request_change(struct weft_change_result *result,
                         const struct weft_change_request *request,
                         struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.optics-change/1"
const char *weft_request_change_json(const struct weft_change_result *result,
                                     struct weft_arena *arena);

// ---- schedules that stand in a file ----

struct weft_circuit_check_result {
    uint32_t node_count, plane_count, change_count, burst_count;
    bool demand, losses; // the file has them, so that they were looked at
    struct weft_circuit_breaches breaches;
};
// Breaches are a result. Fails where the file cannot be read (weft/format/circuits.h).
bool weft_request_circuit_check(struct weft_circuit_check_result *result, const char *path,
                                struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.optics-check/1"
const char *weft_request_circuit_check_json(const struct weft_circuit_check_result *result,
                                            struct weft_arena *arena);

WEFT_API_END

#endif
