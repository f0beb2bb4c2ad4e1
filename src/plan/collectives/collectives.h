// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_COLLECTIVES_COLLECTIVES_H
#define WEFT_PLAN_COLLECTIVES_COLLECTIVES_H

// What collectives run as, and what follows from that for a plan. Private to the plan room.
//
//   choose.c    which algorithm for which groups, by simulation
//   certify.c   the graph as it is played, metrics and certificate
//   rank.c      algorithms of one collective by size (weft_collective_rank)

#include "plan/design/search.h"

// Chooses for a plan whose network and iteration time are known, and puts choices and the shorter
// iteration into it; the rings stay where nothing is better. `work_units` of effort.
void collectives_choose(struct weft_plan *plan, const struct search *search, double work_units,
                        struct weft_arena *arena, struct weft_arena scratch);
// Packed trees for every AllReduce of all servers that a search may choose for. Returns how many
// choices there are, 0 also where there are no transfers that trees could give way to.
uint32_t collectives_pack(struct weft_collective_choice **choices, const struct search *search,
                          struct weft_arena *arena);
// The certificate of a plan: without the bounds that its choices' schedules do not keep to.
bool collectives_certify(struct weft_certificate *certificate, const struct weft_plan *plan,
                         const struct weft_taskgraph *graph, struct weft_arena *arena,
                         struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// Fills in everything that follows from a plan's network, collectives and iteration time: metrics,
// cost, ties and certificate. Ties that the plan has stand; else they cost a simulation.
bool collectives_finish(struct weft_plan *plan, const struct search *search,
                        struct weft_arena *arena, struct weft_arena scratch,
                        struct weft_error *error) WEFT_MUST_USE;
// The kinds of a choice's tasks and the largest of each; 0 = none.
void collectives_list_tasks(uint64_t largest[WEFT_TASK_KIND_COUNT],
                            const struct weft_collective_choice *choice,
                            const struct weft_taskgraph *graph);

#endif
