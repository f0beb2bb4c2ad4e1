// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_RACK_TABLES_H
#define WEFT_PLAN_RACK_TABLES_H

// The tables of a rack, built once.

#include "rack.h"

// Fibers of a pair of servers that slices can light at most.
uint64_t rack_fibers_lit(const struct weft_rack *rack);
void rack_tables_build(struct rack_tables *tables, const struct weft_rack *rack,
                       struct weft_arena *arena);

#endif
