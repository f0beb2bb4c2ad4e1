// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_STRATEGY_SEARCH_MOVES_H
#define WEFT_STRATEGY_SEARCH_MOVES_H

// Moves: small random changes of a placement, Weft's own (weft_move) and those of the TopoOpt
// artifact (weft_move_flexflow). A move only proposes; the chain applies, keeps or undoes it.
// Private to the strategy room.

#include "strategy/operators/placement.h"

// `nested`: blocks of servers n / parts apart only, so that any two of them nest or are apart.
struct mover *weft_mover_init(const struct weft_strategy_space *space, bool nested,
                              struct weft_arena *arena);
// Proposes a random change by weft_placement_set; nothing is changed when the dice say so. The
// caller applies it.
void weft_move(struct mover *mover, struct placement *placement, struct weft_rng *rng);
// The move of the TopoOpt artifact (its FlexFlow fork): with probability 0.25 an operator's
// placement is copied along edges, going on with 0.75, edges drawn by tensor size; else a random
// operator gets a random split on servers n / parts apart.
void weft_move_flexflow(struct mover *mover, struct placement *placement, struct weft_rng *rng);

#endif
