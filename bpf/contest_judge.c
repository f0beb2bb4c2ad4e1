// SPDX-License-Identifier: Apache-2.0
// What a contest's iterations say.

#include "contest.h"

#include <stdlib.h>

// The mean over jobs counts as converged within this ratio of the ideal.
#define CONVERGED_RATIO 1.05

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

void weft_contest_judge(struct weft_contest_result *result, uint32_t job_count,
                        uint32_t iteration_count, struct weft_arena scratch)
{
    WEFT_ASSERT(job_count > 0 && iteration_count > 0);
    uint32_t half = iteration_count / 2;
    uint32_t counted = job_count * (iteration_count - half);
    double *late_s = WEFT_NEW(&scratch, double, counted);
    uint32_t filled = 0;
    double sum_s = 0;
    uint32_t converged = 0;
    for (uint32_t i = 0; i < iteration_count; i++) {
        double round_s = 0;
        for (uint32_t job = 0; job < job_count; job++) {
            double one_s = result->iterations_s[(size_t)job * iteration_count + i];
            round_s += one_s / job_count;
            if (i >= half) {
                late_s[filled++] = one_s;
                sum_s += one_s;
            }
        }
        if (round_s > CONVERGED_RATIO * result->ideal_s) {
            converged = i + 1;
        }
    }
    WEFT_ASSERT(filled == counted);
    qsort(late_s, filled, sizeof late_s[0], compare);
    result->mean_s = sum_s / filled;
    result->p99_s = late_s[(size_t)(0.99 * (filled - 1) + 0.5)];
    result->converged_after = converged == iteration_count ? WEFT_NONE : converged;
}
