// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_STRATEGY_SEARCH_STARTS_H
#define WEFT_STRATEGY_SEARCH_STARTS_H

// Layouts that a search begins with. Private to the strategy room.

#include "search.h"

// As many sample parts as there are of what is not a table; tables whole, dealt out.
void weft_start_parallel(struct layout *layout, struct weft_arena scratch);
// Changes a data parallel layout: branches (chains that end where several meet) go to blocks of so
// many servers, n / parts apart, the longest first to the block with least work. Those that are
// left when every block has as many stay on all servers, as does what follows.
void weft_start_branches(struct layout *layout, uint32_t parts, struct weft_arena scratch);
// The same, but all branches, one after the other, are cut into strips of equal work, one a block.
void weft_start_strips(struct layout *layout, uint32_t parts, struct weft_arena scratch);
// Shelves the layouts in which two strands of the model run on a half of the servers each for a
// while, from a data parallel layout, which it changes: the best of each operator's cone. Makes
// `evaluations` at most and returns how many; none where servers cannot be halved.
uint64_t weft_start_strands(struct shelf *found, struct layout *layout, uint64_t evaluations,
                            struct weft_arena scratch);

#endif
