// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_CIRCUIT_CIRCUITS_H
#define WEFT_SIM_CIRCUIT_CIRCUITS_H

// Circuits that change while a run goes on, as a circuit controller says (weft/sim.h).
//
//   players ── messages of pairs ──► [circuits] ── flows on paths ──► flow engine
//                                        ▲ │                     └──► packet engine
//                    answers, dark times │ ▼ demand, events
//                                     controller
//
// Messages are of pairs of servers, not of paths. What may go stands on the path of the present
// answer; what would cross a dark link, or has no path, is held until that changes.

#include "sim/flow/path_classes.h"

// Whether the options' controller, if there is one, can be obeyed on this fabric; fails with INPUT.
bool sim_circuits_check(const struct weft_fabric *fabric, const struct weft_sim_options *options,
                        struct weft_error *error) WEFT_MUST_USE;
// Parts that a message between two servers goes in at most, circuits and packets; `parts` where
// circuits do not change.
uint32_t sim_circuits_part_max(const struct weft_fabric *fabric,
                               const struct weft_sim_options *options, uint32_t parts);
// For so many messages and paths at once. `arena` must live as long.
void sim_circuits_init(struct weft_simnet *net, const struct weft_active_room *room,
                       struct weft_arena *arena);

// ---- all of these do nothing, and succeed, where circuits do not change ----

// When the circuits change next, or are there again; INFINITY: never. `more`: whether messages may
// still begin without it; else there is nothing to change circuits for once all have ended.
double sim_circuits_next_ps(const struct weft_simnet *net, bool more);
// What is due by until_ps, the present instant: links are there again, or the controller answers.
// Settles the flow engine. False: the run ends here, and sim_circuits_finish says why.
bool sim_circuits_step(struct weft_simnet *net, double until_ps);
// A message on the path of this class has ended.
void sim_circuits_ended(struct weft_simnet *net, uint32_t class_id);
// A barrier of a task graph has; `task` counts through all jobs.
void sim_circuits_barrier_ended(struct weft_simnet *net, uint32_t task);
// Fails as the controller has, and with INFEASIBLE where a message still waits for a circuit.
bool sim_circuits_finish(const struct weft_simnet *net, struct weft_error *error) WEFT_MUST_USE;
struct weft_circuit_counts sim_circuits_counts(const struct weft_simnet *net);

// ---- where they do ----

// In how many parts a message of this pair that begins now goes, which each is, and its share.
uint32_t sim_circuits_part_count(const struct weft_simnet *net, uint32_t from, uint32_t to);
struct weft_simnet_path sim_circuits_part(const struct weft_simnet *net, uint32_t from, uint32_t to,
                                          uint32_t index);
// A message of such a part begins now.
void sim_circuits_start(struct weft_simnet *net, uint32_t part, double wire_bytes, uint32_t owner,
                        uint32_t job);

#endif
