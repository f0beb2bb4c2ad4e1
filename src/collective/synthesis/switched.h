// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_COLLECTIVE_SYNTHESIS_SWITCHED_H
#define WEFT_COLLECTIVE_SYNTHESIS_SWITCHED_H

// Transfers through switches. A transfer takes a whole path of links at the rate of the slowest,
// and each link for as long as its bytes pass: later by the latencies in front of it. A link
// between switches that is as fast as several server links carries as many transfers at once.

#include "synthesize.h"

#define WEFT_SWITCHED_HOPS 16u

struct weft_switched {
    const struct weft_synth *synth;
    const uint16_t *hops;       // [server][node]: links from a node through switches to a server
    const uint32_t *lane_first; // of each link
    uint64_t *lane_ps;          // when each lane is free
    const uint32_t *into_first; // of each server: the links that end there
    const uint32_t *into;
};

struct weft_switched_path {
    uint32_t hop_count;
    uint32_t lanes[WEFT_SWITCHED_HOPS];
    uint64_t before_ps[WEFT_SWITCHED_HOPS]; // latency in front of each link
    uint64_t send_ps;
    uint64_t busy_ps;   // of the first link
    uint64_t arrive_ps; // from the start until the chunk is there
};

// Lives in `arena`; empty where the fabric has no switches.
void weft_switched_init(struct weft_switched *switched, const struct weft_synth *synth,
                        struct weft_arena *arena);
// Links of a path over this link of a server through switches to the server `to`, or WEFT_NONE.
uint32_t weft_switched_hops(const struct weft_switched *switched, uint32_t link, uint32_t to);
// Whether any link into `to` could be free for a transfer that starts now. A quick filter.
bool weft_switched_may_end(const struct weft_switched *switched, uint32_t to, uint64_t now_ps);
// A shortest path that is free for a transfer from now on, or false.
bool weft_switched_find(struct weft_switched_path *path, const struct weft_switched *switched,
                        uint32_t link, uint32_t to, uint64_t now_ps, struct weft_rng *rng);
void weft_switched_take(struct weft_switched *switched, const struct weft_switched_path *path,
                        uint64_t now_ps);

#endif
