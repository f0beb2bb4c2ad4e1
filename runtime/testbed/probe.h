// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_TESTBED_PROBE_H
#define WEFT_RUNTIME_TESTBED_PROBE_H

// Checks a lab's routes with real packets, before traffic: from every server to every other go UDP
// probes of several flows with 1, 2, 3... hops to live. Whoever they die at answers (ICMP), and the
// sequence of answers has to be a path of the wiring.

#include "testbed.h"

struct weft_lab_report {
    uint32_t pair_count;
    uint32_t reached_count; // pairs of which every flow arrived, as wired
    uint64_t flow_count;
    uint64_t lost_count;    // flows of which a probe or its answer did not come back
    uint64_t strayed_count; // flows that went another way than wired
    double mean_hops;       // of flows that arrived
    uint32_t max_hops;
    uint64_t way_count; // next hops of the wiring, and how many of them a flow took
    uint64_t used_count;
    char first[160]; // the first flow that was lost or strayed, in words; "" = none
};

// flows_per_pair >= 1. False where nothing could be asked; what did not go as wired stands in the
// report. O(pairs * flows * hops).
bool weft_lab_probe(struct weft_lab_report *report, const struct weft_lab *lab,
                    const struct weft_lab_wiring *wiring, uint32_t flows_per_pair,
                    struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

#endif
