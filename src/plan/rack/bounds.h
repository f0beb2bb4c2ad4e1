// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_RACK_BOUNDS_H
#define WEFT_PLAN_RACK_BOUNDS_H

// Bounds on the hops of a slice, whatever its placement.

#include "rack.h"

// hops: of all routes, WEFT_NONE = the units do not fit; least_distance: of an edge between two
// units, 0 where a server has room for both. room: units of a server. distance: server_count^2,
// RACK_FAR = no path. O(servers * units * room + servers^2 log servers).
void rack_bound_hops(uint32_t *hops, uint32_t *least_distance, const struct rack_shape *shape,
                     const uint32_t *room, const uint8_t *distance, uint32_t server_count,
                     struct weft_arena scratch);

#endif
