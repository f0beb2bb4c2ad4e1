// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_STRATEGY_SEARCH_STARTS_H
#define WEFT_STRATEGY_SEARCH_STARTS_H

// Placements that a search begins with: each changes a placement by one big move that a chain of
// small ones would hardly find, since most of its steps would be worse. Private to the strategy
// room.

#include "search.h"

// As many sample parts as there are of what is not a table; tables whole, dealt out.
void weft_start_parallel(struct placement *placement, struct weft_arena scratch);
// Changes a data parallel placement: branches (chains that end where several meet) go to blocks of
// so many servers, n / parts apart, the longest first to the block with least work. Those that are
// left when every block has as many stay on all servers, as does what follows.
void weft_start_branches(struct placement *placement, uint32_t parts, struct weft_arena scratch);
// The same, but all branches, one after the other, are cut into strips of equal work, one a block.
void weft_start_strips(struct placement *placement, uint32_t parts, struct weft_arena scratch);
// Keeps in `found` the best placements in which two branches of the model run on half of the
// servers each for a while (branch_split.c), starting from a data parallel placement, which it
// changes: the best of each operator's cone. Makes `evaluations` estimates at most and returns how
// many; none where servers cannot be halved.
uint64_t weft_start_branch_split(struct best_k *found, struct placement *placement,
                                 uint64_t evaluations, struct weft_arena scratch);

#endif
