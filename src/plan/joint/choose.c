// SPDX-License-Identifier: Apache-2.0
// Which of the strategies that a search found are worth a topology.

#include "joint.h"

#define CANDIDATE_STEP 3u
// Of hybrid strategies: enough to see past those that differ in chunks alone.
#define HYBRID_KEEP 32u
// Estimates this near to each other tell nothing about which is better.
#define SAME_RATIO 0.005

uint32_t coplan_keep(uint32_t count, const struct coplan *coplan)
{
    return coplan->hybrid ? HYBRID_KEEP : 1 + (count - 1) * CANDIDATE_STEP;
}

static bool differ_in_chunks(const struct weft_strategy *a, const struct weft_strategy *b,
                             const struct coplan *coplan)
{
    struct weft_strategy like_a = *b;
    like_a.hybrid.chunks = a->hybrid.chunks;
    return coplan_key(a, coplan->model) == coplan_key(&like_a, coplan->model);
}

static uint32_t choose_hybrid(const struct weft_strategy **chosen, uint32_t count,
                              const struct weft_search_result *result, const struct coplan *coplan)
{
    double best_ps[CHOSEN_MAX];
    uint32_t found = 0;
    for (uint32_t i = 0; i < result->count; i++) {
        const struct weft_strategy *strategy = &result->candidates[i].strategy;
        double estimate_ps = (double)result->candidates[i].estimate_ps;
        uint32_t at = 0;
        while (at < found && !differ_in_chunks(chosen[at], strategy, coplan)) {
            at++;
        }
        if (at == found && found < count) {
            best_ps[found] = estimate_ps;
            chosen[found++] = strategy;
        } else if (at < found && estimate_ps <= best_ps[at] * (1 + SAME_RATIO) &&
                   strategy->hybrid.chunks < chosen[at]->hybrid.chunks) {
            chosen[at] = strategy;
        }
    }
    return found;
}

uint32_t coplan_choose(const struct weft_strategy **chosen, uint32_t count,
                       const struct weft_search_result *result, const struct coplan *coplan)
{
    WEFT_ASSERT(count > 0 && count <= CHOSEN_MAX && result->count > 0);
    if (coplan->hybrid) {
        return choose_hybrid(chosen, count, result, coplan);
    }
    uint32_t step = result->count / count;
    step = step < 1 ? 1 : step < CANDIDATE_STEP ? step : CANDIDATE_STEP;
    uint32_t found = 0;
    for (uint32_t i = 0; i < result->count && found < count; i += step) {
        chosen[found++] = &result->candidates[i].strategy;
    }
    return found;
}
