// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REPORT_SVG_CABLES_H
#define WEFT_REPORT_SVG_CABLES_H

// The cables of a plan's fabric and the ring that each belongs to.
//
// A cable is what a picture draws as one line: a link, or one lane of a link that is several
// cables wide.

#include "weft/plan.h"

#define CABLE_LANES_MAX 4u // cables beside each other that are told apart

// A cable between two servers, one way or both.
struct cable {
    uint32_t from; // of a cable that works both ways, the lower server
    uint32_t to;
    uint32_t ring; // the first ring over it, WEFT_NONE = none
    uint32_t lane; // among `lanes` cables between the same servers
    uint32_t lanes;
    bool both;
};

struct cable_list {
    uint32_t count;
    const struct cable *cables;
    uint64_t total; // of all cables, those beyond the lanes too
    // For each ring of the topology: itself where it is the first over some cable, else the ring
    // whose cables it shares (as the ring that runs back does), else WEFT_NONE.
    const uint32_t *owner_of;
};

// Links of width w are w cables. Rings over a link take its cables in turn. O(links + ring hops).
struct cable_list cables_list(const struct weft_plan *plan, struct weft_arena *arena);

#endif
