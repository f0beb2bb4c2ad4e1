// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_STRATEGY_STARTS_H
#define WEFT_STRATEGY_STARTS_H

// Layouts that a search begins with. Private to the room.

#include "layout.h"

// As many sample parts as there are of what is not a table; tables whole, dealt out.
void weft_start_parallel(struct layout *layout, struct weft_arena scratch);
// Changes a data parallel layout: branches (chains that end where several meet) go to blocks of so
// many servers, n / parts apart, the longest first to the block with least work. Those that are
// left when every block has as many stay on all servers, as does what follows.
void weft_start_branches(struct layout *layout, uint32_t parts, struct weft_arena scratch);

#endif
