// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_VERIFY_RATES_H
#define WEFT_VERIFY_RATES_H

// Flows at max-min fair rates: what is under way, how fast it goes, what ends next.
//
// Time passes by rates_pass alone; who plays takes out what has ended, starts what follows, and has
// the rates filled before time passes again.

#include "weft/plan.h"

// A way through the network. All flows on it go at one rate.
struct rates_path {
    const uint32_t *links;
    uint32_t link_count;
    double propagation_ps;    // of all links
    double store_ps_per_byte; // of all links but the slowest
    uint32_t flow_count;
    bool is_active;      // it stands among the active ones, if only until the next filling
    double rate_Bps;     // of each flow
    double served_bytes; // to each flow, since the path was last empty
};

struct rates_flow {
    uint32_t path;
    uint32_t owner;
    double target_bytes; // of its path's served_bytes, where it ends
};

struct rates {
    const struct weft_fabric *fabric;
    struct rates_path *paths;
    struct rates_flow *flows; // in order of start
    uint32_t flow_count;
    uint32_t flow_room;
    uint32_t *active; // paths with flows
    uint32_t active_count;
    uint64_t started_count;
    // Temporaries of the filling.
    uint32_t *unfrozen;
    bool changed;     // since the last filling
    double *left_Bps; // per link
    double *share_Bps;
    uint32_t *crossing;
    uint32_t *used; // links with flows
    struct weft_arena *arena;
};

// Paths are to be set, links and link_count, before rates_open.
void rates_init(struct rates *rates, const struct weft_fabric *fabric, struct rates_path *paths,
                uint32_t path_count, struct weft_arena *arena);
// A flow of `bytes` begins on a path.
void rates_start(struct rates *rates, uint32_t path, double bytes, uint32_t owner);
// Computes all rates anew, after starts and ends. O(levels * (links + paths * hops)).
void rates_fill(struct rates *rates);
// When the next flow ends, from now on, in ps; HUGE_VAL: none is under way.
double rates_next_ps(const struct rates *rates);
// Lets so many picoseconds pass.
void rates_pass(struct rates *rates, double time_ps);
// Takes out, in order of start, one flow that needs no more than `slack_ps`; false: there is none.
// *at is where to look on, 0 at first.
bool rates_take(struct rates *rates, uint32_t *at, double slack_ps, struct rates_flow *ended);

#endif
