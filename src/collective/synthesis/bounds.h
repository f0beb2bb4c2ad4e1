// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_COLLECTIVE_SYNTHESIS_BOUNDS_H
#define WEFT_COLLECTIVE_SYNTHESIS_BOUNDS_H

// What no schedule on a fabric can be quicker than: lower bounds by latency, by bytes over cuts,
// and by whole chunks that are stored before they go on. docs/synthesis.md has the derivations,
// bounds.c the methods. Private to the collective room.

#include "synthesize.h"

struct weft_synth_bounds {
    uint64_t latency_ps; // some rank is that far from what it must hear of
    uint64_t cut_ps;     // so many bytes cross some cut, and the last of them one link's latency
    uint64_t chunk_ps;   // for whole chunks of this size, stored before they are forwarded
};

// Cuts: every server alone, every prefix of the nodes by id and of breadth-first orders from some
// servers, both ways; and all links into, and out of, servers together. chunk_ps only without
// switches and for kinds that send every chunk whole, else 0. O(servers * links).
void weft_synth_bound(struct weft_synth_bounds *bounds, const struct weft_synth *synth,
                      enum weft_collective_kind kind, uint64_t size_bytes, uint32_t root,
                      struct weft_arena scratch);

#endif
