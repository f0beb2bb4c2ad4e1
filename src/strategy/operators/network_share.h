// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_STRATEGY_OPERATORS_NETWORK_SHARE_H
#define WEFT_STRATEGY_OPERATORS_NETWORK_SHARE_H

// The fluid network of the estimator: streams of transfers and AllReduces that share servers'
// ports, begun and ended by the estimator's events. Private to the strategy room; streams.h has
// what its two halves share.

#include "placement.h"

#include <math.h>

// Something has left the network.
struct share_end {
    double time_s; // with latency
    bool reduce;
    bool backward;
    uint32_t index; // edge, or node of an AllReduce
};

struct share *weft_share_init(const struct weft_strategy_space *space, struct weft_arena *arena);
void weft_share_begin(struct share *share, const struct placement *placement);
// The transfers of an edge start, the AllReduces of a node start. Times never fall.
void weft_share_transfer(struct share *share, const struct placement *placement, uint32_t edge,
                         bool backward, double time_s);
void weft_share_reduce(struct share *share, const struct placement *placement, uint32_t node,
                       double time_s);
// The next end, if one comes before or at `until_s`.
bool weft_share_next(struct share *share, double until_s, struct share_end *end);

#endif
