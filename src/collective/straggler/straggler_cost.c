// SPDX-License-Identifier: Apache-2.0
// What a late rank costs under the alpha-beta-gamma model: StragglAR, whose reduce-scatter among
// the others hides behind the delay, against a ring that waits for the late rank; and the delay
// from which on StragglAR is quicker. Derived in docs/stragglar.md. O(1).

#include "stragglar.h"

#include <math.h>

// K - 1 + ceil(log2 n) rounds of S / K; the straggler and its partners add S / K in K of them, with
// three ranks in every other one.
static double finish_seconds(uint32_t rank_count, uint32_t factor, double size_bytes,
                             const struct weft_cost_model *model)
{
    double chunks = (double)(rank_count - 1) * factor;
    double rounds = stragglar_bound(rank_count, (rank_count - 1) * factor);
    double adding = rank_count == 3 ? chunks / 2 : chunks;
    return rounds * (model->alpha_s + size_bytes / chunks * model->beta_s_per_byte) +
           adding * (size_bytes / chunks * model->gamma_s_per_byte);
}

// The healthy ranks' ring: m - 1 rounds of S / m.
static double reduce_seconds(uint32_t rank_count, double size_bytes,
                             const struct weft_cost_model *model)
{
    double m = rank_count - 1;
    return (m - 1) *
           (model->alpha_s + size_bytes / m * (model->beta_s_per_byte + model->gamma_s_per_byte));
}

double stragglar_seconds(uint32_t rank_count, uint32_t factor, double size_bytes,
                         const struct weft_cost_model *model)
{
    WEFT_ASSERT(rank_count >= 3 && factor > 0);
    return reduce_seconds(rank_count, size_bytes, model) +
           finish_seconds(rank_count, factor, size_bytes, model);
}

// The time is K * alpha + (ceil(log2 n) - 1) * S * beta / K and what does not depend on K: convex,
// so that the best whole factor is next to the best real one.
static uint32_t best_factor(uint32_t rank_count, double size_bytes, uint32_t factor_max,
                            const struct weft_cost_model *model)
{
    double m = rank_count - 1;
    double levels = stragglar_bound(rank_count, 1);
    double spread = (levels - 1) * size_bytes * model->beta_s_per_byte;
    double best = model->alpha_s > 0 ? sqrt(spread / model->alpha_s) / m : (double)factor_max;
    uint32_t low = best >= factor_max ? factor_max : best < 1 ? 1 : (uint32_t)best;
    uint32_t high = low < factor_max ? low + 1 : low;
    return finish_seconds(rank_count, high, size_bytes, model) <
                   finish_seconds(rank_count, low, size_bytes, model)
               ? high
               : low;
}

void weft_straggler_cost(struct weft_straggler_cost *cost, uint32_t rank_count, double size_bytes,
                         double delay_s, uint32_t chunk_factor_max,
                         const struct weft_cost_model *model)
{
    WEFT_ASSERT(rank_count >= 1 && size_bytes >= 0 && delay_s >= 0);
    double n = rank_count;
    double adding_s = size_bytes / n * model->gamma_s_per_byte;
    double ring_s = 2 * (n - 1) * (model->alpha_s + size_bytes / n * model->beta_s_per_byte) +
                    (n - 1) * adding_s;
    *cost = (struct weft_straggler_cost){
        .stragglar_s = (double)INFINITY,
        .ring_s = delay_s + ring_s,
        .break_even_delay_s = (double)INFINITY,
    };
    if (rank_count < 3) {
        return;
    }
    uint32_t factor_max = chunk_factor_max > 0 ? chunk_factor_max : 1;
    uint32_t most = STRAGGLAR_CHUNKS_MAX / (rank_count - 1);
    factor_max = factor_max < most ? factor_max : most;
    uint32_t factor = best_factor(rank_count, size_bytes, factor_max, model);
    double reduce_s = reduce_seconds(rank_count, size_bytes, model);
    double finish_s = finish_seconds(rank_count, factor, size_bytes, model);
    cost->chunk_factor = factor;
    cost->round_count = stragglar_bound(rank_count, (rank_count - 1) * factor);
    cost->reduce_s = reduce_s;
    cost->finish_s = finish_s;
    cost->partial_s = fmax(0, reduce_s - delay_s);
    cost->stragglar_s = fmax(delay_s, reduce_s) + finish_s;
    // While the reduce-scatter is not wholly hidden, a later straggler costs a ring time and
    // StragglAR none: they meet once, or never where even a hidden one does not pay.
    if (finish_s < ring_s) {
        cost->break_even_delay_s = fmax(0, reduce_s + finish_s - ring_s);
    }
}
