// SPDX-License-Identifier: Apache-2.0
// Which segments matter: those of large L2 norm. The threshold is a quantile of this tensor's norms
// in this step, so that the share of unimportant segments is what was asked for, however gradients
// shrink while training goes on. It is found by quickselect with three-way partitions, since zero
// gradients make many equal norms.

#include "weft/mlt.h"

#include <math.h>
#include <string.h>

void weft_mlt_norms(double *norms, const float *values, size_t value_count, uint32_t per_segment)
{
    WEFT_ASSERT(per_segment > 0);
    for (size_t at = 0; at < value_count; at += per_segment) {
        const size_t end = value_count - at < per_segment ? value_count : at + per_segment;
        double square = 0;
        for (size_t i = at; i < end; i++) {
            square += (double)values[i] * (double)values[i];
        }
        norms[at / per_segment] = sqrt(square);
    }
}

static void swap(double *values, uint32_t i, uint32_t j)
{
    const double kept = values[i];
    values[i] = values[j];
    values[j] = kept;
}

// The value of that rank, 0 the least; `values` are put into another order. The pivot is drawn by a
// hash of the range, so that no common order of norms is a bad one.
static double select_rank(double *values, uint32_t count, uint32_t rank)
{
    uint32_t low = 0;
    uint32_t high = count;
    while (true) {
        const double pivot = values[low + (uint32_t)(weft_hash(low + high) % (high - low))];
        uint32_t less = low;
        uint32_t equal = low;
        uint32_t more = high;
        // [low, less) below the pivot, [less, equal) equal to it, [more, high) above.
        while (equal < more) {
            if (values[equal] < pivot) {
                swap(values, equal++, less++);
            } else if (values[equal] > pivot) {
                swap(values, equal, --more);
            } else {
                equal++;
            }
        }
        if (rank >= less && rank < more) {
            return pivot;
        }
        low = rank < less ? low : more;
        high = rank < less ? less : high;
    }
}

void weft_mlt_classes(uint8_t *important, const double *norms, uint32_t count,
                      double unimportant_share, struct weft_arena scratch)
{
    const uint32_t unimportant = (uint32_t)weft_mlt_bound_bytes(unimportant_share, count);
    memset(important, 0, weft_mlt_bitmap_bytes(count));
    double *sorted = WEFT_NEW_RAW(&scratch, double, count);
    for (uint32_t i = 0; i < count; i++) {
        sorted[i] = isnan(norms[i]) ? (double)INFINITY : norms[i];
    }
    // Norms below the threshold are unimportant, and the first `ties` of those equal to it.
    const double threshold = unimportant < count ? select_rank(sorted, count, unimportant) : 0;
    uint32_t below = 0;
    for (uint32_t i = 0; i < count; i++) {
        below += norms[i] < threshold;
    }
    uint32_t ties = unimportant - below;
    for (uint32_t i = 0; i < count && unimportant < count; i++) {
        bool is_important = !(norms[i] < threshold);
        if (norms[i] == threshold && ties > 0) {
            is_important = false;
            ties--;
        }
        if (is_important) {
            important[i / 8] = (uint8_t)(important[i / 8] | 1u << i % 8);
        }
    }
}

uint32_t weft_mlt_queue(uint32_t queues, uint32_t layer, uint32_t layers)
{
    WEFT_ASSERT(queues > 0 && layer < layers);
    return (uint32_t)((uint64_t)queues * layer / layers);
}
