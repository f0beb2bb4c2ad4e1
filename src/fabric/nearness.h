// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FABRIC_NEARNESS_H
#define WEFT_FABRIC_NEARNESS_H

// The sets of weft_fabric_nest without its checks, for fabrics of Weft's own builders, which have
// switches and join all servers: the check walks the fabric once for each server, which costs more
// than all else where there are thousands. Who reads a fabric from a file calls the other.

#include "weft/fabric.h"

// O(levels * links).
void nest_build(struct weft_nest *nest, const struct weft_fabric *fabric, struct weft_arena *arena,
                struct weft_arena scratch);

#endif
