// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_STRATEGY_OPERATORS_REGIONS_H
#define WEFT_STRATEGY_OPERATORS_REGIONS_H

// Which elements a part of an operator makes, and which elements of its inputs it reads. Task
// graph, memory and search all ask here, so that they agree on what crosses servers. Private to the
// strategy room.

#include "weft/model.h"

// Elements of one sample, half open on each axis; axes beyond a tensor's rank are 0..1.
struct region {
    uint64_t low[WEFT_SHAPE_MAX];
    uint64_t high[WEFT_SHAPE_MAX];
};

// What part p of `parts` makes. Parts of ATTENTION and EXPERTS make sums that others complete: each
// covers the whole output.
struct region weft_region_output(const struct weft_operator *op, uint32_t p, uint32_t parts);
// What part p of `parts` of operator `op` reads of its input number `slot`.
struct region weft_region_input(const struct weft_model *model, uint32_t op, uint32_t slot,
                                uint32_t p, uint32_t parts);
// Elements that two regions share.
uint64_t weft_region_shared(const struct region *a, const struct region *b);

#endif
