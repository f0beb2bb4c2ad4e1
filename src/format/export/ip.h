// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_EXPORT_IP_H
#define WEFT_FORMAT_EXPORT_IP_H

// Paths of pairs as steps of nodes: what a forwarding table needs.

#include "weft/format.h"

// One step of one pair's traffic: at `node`, on the way from source to target, this share of the
// pair's bytes goes to the neighbor `next`.
struct weft_ip_step {
    uint32_t node;
    uint32_t source;
    uint32_t target;
    uint32_t next;
    double weight;
};

struct weft_ip_steps {
    size_t count;
    const struct weft_ip_step *steps; // by node, source, target, next; no two alike
};

// All steps of all pairs. A packet knows its source and target but not its path, so paths of a pair
// are taken heaviest first and one that would close a cycle with those before is left out.
// O(paths * hops + steps log steps).
struct weft_ip_steps weft_ip_list_steps(const struct weft_routes *routes, struct weft_arena *arena);

#endif
