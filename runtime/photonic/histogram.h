// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_PHOTONIC_HISTOGRAM_H
#define WEFT_RUNTIME_PHOTONIC_HISTOGRAM_H

// Times in nanoseconds as counts in bins whose width grows with the time: 16 bins for each power of
// two, so that a quantile is known to 1/16 of it, in memory that does not grow.

#include "weft/base.h"

enum { WEFT_NIC_BINS = 64 * 16 };

struct weft_nic_histogram {
    uint64_t bins[WEFT_NIC_BINS];
};

static inline void weft_nic_histogram_add(struct weft_nic_histogram *histogram, uint64_t time_ns)
{
    uint32_t bin = (uint32_t)time_ns;
    if (time_ns >= 32) {
        const uint32_t shift = 59u - (uint32_t)__builtin_clzll(time_ns); // leaves 16 to 31
        bin = shift * 16 + (uint32_t)(time_ns >> shift);
    }
    histogram->bins[bin]++;
}

// The middle of the bin with the quantile; 0 of none.
static inline double weft_nic_histogram_quantile_s(const struct weft_nic_histogram *histogram,
                                                   double quantile)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < WEFT_NIC_BINS; i++) {
        total += histogram->bins[i];
    }
    const double wanted = quantile * (double)total;
    uint64_t below = 0;
    for (uint32_t i = 0; i < WEFT_NIC_BINS; i++) {
        below += histogram->bins[i];
        if (below > 0 && (double)below >= wanted) {
            const uint32_t shift = i < 32 ? 0 : i / 16 - 1;
            const double low = i < 32 ? i : (double)(i % 16 + 16) * (double)(1ull << shift);
            return (low + (i < 32 ? 0 : (double)(1ull << shift) / 2)) * 1e-9;
        }
    }
    return 0;
}

#endif
