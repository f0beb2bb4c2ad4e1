// SPDX-License-Identifier: Apache-2.0
#ifndef REFERENCE_MAXMIN_H
#define REFERENCE_MAXMIN_H

// Max-min fair rates from scratch: raise all rates together; where a link fills, its flows stop.
// (Bertsekas and Gallager, Data Networks, 6.5.2.) No state, no shortcuts: the judge of the engine.

#include "weft/base.h"

#include <math.h>

struct reference {
    uint32_t link_count;
    const double *capacity_Bps;
    uint32_t flow_count;
    uint32_t stride;
    const uint32_t *path; // stride links a flow
    const uint32_t *hop_count;
    const double *weight;
};

static inline void reference_solve(double *rate_Bps, const struct reference *r,
                                   struct weft_arena scratch)
{
    double *room_Bps = WEFT_NEW(&scratch, double, r->link_count);
    double *rising = WEFT_NEW(&scratch, double, r->link_count);
    uint32_t *used = WEFT_NEW(&scratch, uint32_t, r->link_count);
    uint32_t used_count = 0;
    uint32_t left = r->flow_count;
    for (uint32_t i = 0; i < r->flow_count; i++) {
        rate_Bps[i] = -1;
        for (uint32_t hop = 0; hop < r->hop_count[i]; hop++) {
            uint32_t link = r->path[i * r->stride + hop];
            if (rising[link] == 0) {
                used[used_count++] = link;
                room_Bps[link] = r->capacity_Bps[link];
            }
            rising[link] += r->weight[i];
        }
    }
    while (left > 0) {
        double share_Bps = (double)INFINITY;
        uint32_t kept = 0;
        for (uint32_t i = 0; i < used_count; i++) {
            if (rising[used[i]] > 0.5) {
                share_Bps = fmin(share_Bps, room_Bps[used[i]] / rising[used[i]]);
                used[kept++] = used[i];
            }
        }
        used_count = kept;
        // All flows on all links of this share stop; a link of a rounding more counts among them.
        for (uint32_t i = 0; i < r->flow_count; i++) {
            bool stops = false;
            for (uint32_t hop = 0; rate_Bps[i] < 0 && hop < r->hop_count[i]; hop++) {
                uint32_t link = r->path[i * r->stride + hop];
                stops = stops || room_Bps[link] / rising[link] <= share_Bps * (1 + 1e-14);
            }
            if (stops) {
                rate_Bps[i] = share_Bps;
                left--;
            }
        }
        for (uint32_t i = 0; i < used_count; i++) {
            rising[used[i]] = 0;
            room_Bps[used[i]] = r->capacity_Bps[used[i]];
        }
        for (uint32_t i = 0; i < r->flow_count; i++) {
            for (uint32_t hop = 0; hop < r->hop_count[i]; hop++) {
                uint32_t link = r->path[i * r->stride + hop];
                rising[link] += rate_Bps[i] < 0 ? r->weight[i] : 0;
                room_Bps[link] -= rate_Bps[i] < 0 ? 0 : r->weight[i] * rate_Bps[i];
            }
        }
    }
}

#endif
