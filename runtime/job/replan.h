// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_JOB_REPLAN_H
#define WEFT_RUNTIME_JOB_REPLAN_H

// What is left of a plan after a fault: circuits, rings and routes over the survivors.
//
//   experiment's network + fault ──► [replan] ──► an experiment on what is left
//
// A plan knows places, a lab knows servers: place p is taken by server place[p]. When a server is
// lost, a spare takes its place, and the plan stays as it is; else a place that has no tasks is
// given up for it; else its own, where others hold the same as it (data parallelism), and the
// groups are smaller by one. In an optical switch a circuit to a place that is given up is joined
// to the circuit that left it.
//
// Rings that lost a hop go round by shortest paths, or are given up for the others of their group,
// or are sought anew in the circuits that no ring uses: what the flow engine says is quickest.
// Transfers are routed anew by least link load.

#include "runtime/experiment/experiment.h"

enum lab_ring_choice {
    LAB_RINGS_AROUND, // by shortest paths
    LAB_RINGS_FEWER,  // the other rings of the group carry what the broken ones did
    LAB_RINGS_NEW,    // others in their place, where there are any; else as FEWER
    LAB_RING_CHOICES,
};
const char *lab_ring_choice_name(enum lab_ring_choice choice);

struct lab_replanned {
    const struct weft_network *network; // of places; does not move
    struct weft_lab_wiring wiring;      // of places
    struct weft_lab_wiring servers;     // the same, of the lab's servers
    const uint32_t *place;              // server of each place
    const struct weft_taskgraph *graph;
    uint32_t lost_server;  // WEFT_NONE = none
    uint32_t spare_server; // that took its place; WEFT_NONE = none
    uint32_t circuits_lost;
    uint32_t circuits_new;
    uint32_t rings_broken;
    uint32_t detours; // hops of rings that go round
    enum lab_ring_choice choice;
    double choice_s[LAB_RING_CHOICES]; // by the flow engine, an iteration at the plan's rates
};

// Fails with INFEASIBLE where what is left does not join all places, or where nobody else can do
// what a lost server did: a transfer begins or ends there, or it holds a shard of a collective.
bool lab_replan(struct lab_replanned *replanned, const struct lab_experiment_options *options,
                const struct weft_lab_fault *fault, struct weft_arena *arena,
                struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// The same circuits and next hops between the servers of `place`, of so many; NULL = the first
// ones.
void lab_spread_wiring(struct weft_lab_wiring *servers, const struct weft_lab_wiring *wiring,
                       const uint32_t *place, uint32_t server_count, struct weft_arena *arena);

// A task graph without one of its servers.
struct lab_smaller_graph {
    struct weft_taskgraph graph;
    uint32_t *group_of; // the number in it of each group of the whole graph; WEFT_NONE = gone
};
// Takes a server out: groups are smaller by it, and later servers move up by one. INFEASIBLE as
// above.
bool lab_graph_without(struct lab_smaller_graph *smaller, const struct weft_taskgraph *graph,
                       uint32_t server, struct weft_arena *arena, struct weft_arena scratch,
                       struct weft_error *error) WEFT_MUST_USE;
// Whether some task needs the server.
bool lab_graph_uses(const struct weft_taskgraph *graph, uint32_t server);

// ---- replan_rings.c ----

// Of a re-plan: the network before, and how its places are numbered after.
struct lab_ring_change {
    const struct weft_network *old;
    const struct weft_fabric *fabric;   // what is left
    const struct weft_routes *shortest; // on it
    uint32_t gone;                      // the place that was given up; WEFT_NONE = none
    const uint32_t *group_of;           // NULL = groups are as before
    enum lab_ring_choice choice;
};
struct lab_ring_counts {
    uint32_t broken;
    uint32_t detours;
    uint32_t found; // new rings
};
void lab_change_rings(struct weft_ring_set *rings, struct lab_ring_counts *counts,
                      const struct lab_ring_change *change, struct weft_arena *arena,
                      struct weft_arena scratch);

#endif
