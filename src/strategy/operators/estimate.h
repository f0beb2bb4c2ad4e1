// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_STRATEGY_OPERATORS_ESTIMATE_H
#define WEFT_STRATEGY_OPERATORS_ESTIMATE_H

// How long one iteration of a placement takes, quickly: what the search scores placements by.
// docs/strategies.md ("The estimate") says what it counts, what it leaves out and how well it
// ranks. Private to the strategy room.

#include "placement.h"

struct estimator *weft_estimator_init(const struct weft_strategy_space *space,
                                      struct weft_arena *arena);
// Seconds of one iteration. Operators are scheduled whole, in the order in which they become ready;
// a server runs one part at a time. The network is its servers' ports, out and in: transfers of an
// edge run together, AllReduces of one group share what their group gets, and all share ports
// max-min, weighted by their flows (docs/strategies.md). Allocates nothing.
double weft_estimate(struct estimator *estimator, const struct placement *placement);

#endif
