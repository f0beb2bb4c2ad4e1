// SPDX-License-Identifier: Apache-2.0
// Tensors as segments, how many of their bytes may be missing, and what a bound of each hop makes
// of a gradient that goes around a ring.
//
// With zero fill at each hop, the contribution that has h hops before it survives them with
// probability (1-q)^h. A gradient has one contribution for each h from 0 to n - 1, so that it keeps
// the mean of these, (1 - (1-q)^n) / (n q).

#include "weft/mlt.h"

#include <math.h>

enum { BILLION = 1000000000 };

uint64_t weft_mlt_bound_bytes(double bound, uint64_t bytes)
{
    WEFT_ASSERT(bound >= 0 && bound <= 1);
    const uint64_t billionths = (uint64_t)llround(bound * BILLION);
    // Neither product passes 64 bits: a share of at most one, and a rest below a billion.
    return bytes / BILLION * billionths + bytes % BILLION * billionths / BILLION;
}

struct weft_mlt_tensor weft_mlt_tensor_of(uint32_t number, uint32_t layer, uint64_t bytes,
                                          uint32_t segment_bytes, double bound)
{
    WEFT_ASSERT(bytes > 0 && segment_bytes > 0 && layer <= UINT16_MAX);
    const uint64_t count = (bytes - 1) / segment_bytes + 1;
    WEFT_ASSERT(count < UINT32_MAX);
    return (struct weft_mlt_tensor){
        .number = number,
        .layer = layer,
        .segment_count = (uint32_t)count,
        .segment_bytes = segment_bytes,
        .last_bytes = (uint32_t)(bytes - (count - 1) * segment_bytes),
        .bound_bytes = weft_mlt_bound_bytes(bound, bytes),
    };
}

uint64_t weft_mlt_tensor_bytes(const struct weft_mlt_tensor *tensor)
{
    return (uint64_t)(tensor->segment_count - 1) * tensor->segment_bytes + tensor->last_bytes;
}

uint32_t weft_mlt_segment_bytes(const struct weft_mlt_tensor *tensor, uint32_t segment)
{
    WEFT_ASSERT(segment < tensor->segment_count);
    return segment + 1 == tensor->segment_count ? tensor->last_bytes : tensor->segment_bytes;
}

double weft_mlt_ring_kept(uint32_t n, double q)
{
    WEFT_ASSERT(n > 0 && q >= 0 && q <= 1);
    if (q == 0) {
        return 1;
    }
    // 1 - (1-q)^n without the cancellation that a small q would bring.
    return -expm1(n * log1p(-q)) / (n * q);
}

double weft_mlt_bound_per_hop(uint32_t n, double total)
{
    WEFT_ASSERT(total >= 0 && total < 1);
    double low = 0;
    double high = 1;
    if (total == 0) {
        return 0; // a q so small that all is kept but for rounding would do, too
    }
    if (weft_mlt_ring_kept(n, high) >= 1 - total) {
        return high;
    }
    // What is kept falls with q. Sixty halvings leave less than the spacing of doubles near 1.
    for (int i = 0; i < 60; i++) {
        const double middle = low + (high - low) / 2;
        if (weft_mlt_ring_kept(n, middle) >= 1 - total) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}
