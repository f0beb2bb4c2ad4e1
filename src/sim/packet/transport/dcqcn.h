// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_PACKET_TRANSPORT_DCQCN_H
#define WEFT_SIM_PACKET_TRANSPORT_DCQCN_H

// What DCQCN keeps of a connection: the reaction point's state of Zhu et al., "Congestion Control
// for Large-Scale RDMA Deployments", SIGCOMM 2015, section 3.1 and figure 7, with the paper's
// symbols beside the fields. dcqcn.c uses it; only tests look at it from outside.

#include "weft/base.h"

struct dcqcn {
    double rate_Bps;   // R_C
    double target_Bps; // R_T
    double alpha;      // how much a notice reduces
    double bytes_left; // until the byte counter runs out
    uint64_t alpha_due_ps;
    uint64_t rate_due_ps;
    uint32_t timer_count; // times that the timer has run out since the last notice
    uint32_t byte_count;  // and the byte counter
};

#endif
