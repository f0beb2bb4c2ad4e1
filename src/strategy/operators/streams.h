// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_STRATEGY_OPERATORS_STREAMS_H
#define WEFT_STRATEGY_OPERATORS_STREAMS_H

// The streams of the estimator's network: what its two halves (network_share.c: rates and time;
// port_plan.c: ports that are still to be planned) know of each other. Private to the strategy
// room.

#include "network_share.h"

struct item {
    double end; // progress at which it is done
    uint32_t next;
    uint32_t index;
    bool backward;
};

struct stream {
    bool reduce;
    uint64_t key; // reduce: its group
    double start_s;
    double progress;
    double rate;     // of progress of all items together, a second
    double crowd;    // flows on a link that its rate was found for
    double rate_max; // what its rings allow
    double weight;   // of one item: flows on a link
    double flows;    // transfers: links crossed by all its flows
    double latency_s;
    double total_bytes; // reduce: of all its AllReduces
    uint32_t members;
    uint32_t count;
    uint32_t first; // item that ends next
};

struct share {
    const struct weft_strategy_space *space;
    double now_s;
    bool stale; // rates have to be found again
    uint32_t stream_count;
    struct stream *streams;
    float *loads; // stream * row
    uint32_t item_count;
    struct item *items;
    uint32_t active_count;
    uint32_t *active;
    uint32_t newest;     // last transfer stream
    float *use;          // row
    uint32_t *stream_of; // per node: the stream of its AllReduces
    float *moved;        // per server: bytes of transfers; then links that a byte of them crosses
    uint8_t *own;        // per server: slots of transfers
    uint8_t *slots;      // per stream: of one server
    uint8_t *cycles;     // per stream
};

static inline float *weft_stream_load(const struct share *share, uint32_t stream)
{
    return share->loads + (size_t)stream * share->space->row;
}

// Where the network is still to be planned: what its planner will be able to give each group's
// stream (rate_max, load) and transfers (share->moved: links that a byte crosses). The streams of
// all AllReduces stand, none is active.
void weft_share_plan_ports(struct share *share, const struct placement *placement);

#endif
