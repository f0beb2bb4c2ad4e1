// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_PACKET_TRANSPORT_NSCC_H
#define WEFT_SIM_PACKET_TRANSPORT_NSCC_H

// What NSCC, the sender's congestion control of Ultra Ethernet (Specification 1.0, 3.6), keeps of a
// connection: 80 bytes, the most of all congestion controls. nscc.c uses it; only tests look at it
// from outside.

#include "weft/base.h"

struct nscc {
    uint64_t network_ps;  // a round trip when nothing waits, as the path has it
    uint64_t base_rtt_ps; // the shortest seen
    double delay_ps;      // moving average of the queueing delay
    double growth;        // that is still to be added, times the window
    uint64_t adapt_ps;    // this period of quick adapt ends; 0: none has begun
    uint64_t reduced_ps;  // when the window was last reduced
    uint64_t stepped_ps;  // when the even step was last taken
    uint32_t unadded;     // packets acknowledged since growth was last added
    uint32_t achieved;    // packets acknowledged in this period of quick adapt
    uint32_t ignored;     // packets acknowledged since the last quick adapt
    uint32_t to_ignore;   // those that were in flight then
    uint32_t empty_count; // packets in a row that found no queue
    bool is_fast;
    bool has_trimmed; // a packet was trimmed in this period
};

#endif
