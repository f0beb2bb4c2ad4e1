// SPDX-License-Identifier: Apache-2.0
// What share of the kernels' speed passes reach, from one measured iteration.
//
// Whoever has run a job knows one iteration of it and asks for others: more accelerators, another
// batch, other overlaps. Of the constants of a stack the share of the kernels' speed bears most on
// time and differs most between fleets; so it alone is solved for, and exchanges, bubbles and the
// rest of a step stay as estimated. That is the calibration of the micro-batch's time on one run by
// which MegaScale's table can be predicted (docs/published-runs.md).
//
// The estimate grows with x = 1 / share, nearly in a straight line. Regula falsi with the Illinois
// rule (Dowell and Jarratt, BIT 11, 1971) keeps the root between two points and takes about five
// estimates; it ends at a millionth of the measured time.

#include "hybrid.h"

#include <math.h>

#define X_LOW 1e-6 // passes take a millionth of what kernels do: what is left are exchanges
#define X_HIGH 1024.0
#define CLOSE_RATIO 1e-6
#define ESTIMATES_MAX 100u

// The iteration with passes that take x times what their kernels do, in seconds beyond the measured
// ones.
struct trial {
    double x, beyond_s;
};

// Fills in what the estimate with trial->x is beyond the measured time.
static bool try(struct trial *trial, double measured_s, const struct weft_hybrid *hybrid,
                const struct weft_study *study, struct weft_arena scratch, struct weft_error *error)
{
    struct weft_strategy_setting setting = *study->setting;
    struct weft_study changed = *study;
    struct weft_stack stack = *weft_hybrid_stack(study->setting);
    struct weft_hybrid_estimate estimate;
    stack.compute_efficiency = 1 / trial->x;
    setting.stack = &stack;
    changed.setting = &setting;
    if (!weft_hybrid_estimate(&estimate, hybrid, &changed, scratch, error)) {
        return false;
    }
    trial->beyond_s = weft_seconds(estimate.iteration_ps) - measured_s;
    return true;
}

bool weft_hybrid_calibrate(double *compute_efficiency, uint64_t measured_ps,
                           const struct weft_hybrid *hybrid, const struct weft_study *study,
                           struct weft_arena scratch, struct weft_error *error)
{
    double measured_s = weft_seconds(measured_ps);
    struct trial low = {.x = X_LOW};
    struct trial high = {.x = X_HIGH};
    if (!try(&low, measured_s, hybrid, study, scratch, error) ||
        !try(&high, measured_s, hybrid, study, scratch, error)) {
        return false;
    }
    if (low.beyond_s >= 0 || high.beyond_s <= 0) {
        char measured[WEFT_UNIT_TEXT];
        char limit[WEFT_UNIT_TEXT];
        const struct trial *missed = low.beyond_s >= 0 ? &low : &high;
        weft_show_time(measured, measured_ps);
        weft_show_time(limit, weft_picoseconds(measured_s + missed->beyond_s));
        return weft_fail(error, WEFT_INPUT,
                         low.beyond_s >= 0
                             ? "%s are less than the %s that exchanges and update alone take"
                             : "%s are more than the %s of passes at a thousandth of the speed",
                         measured, limit);
    }
    struct trial middle = low;
    for (uint32_t i = 0; i < ESTIMATES_MAX && fabs(middle.beyond_s) > CLOSE_RATIO * measured_s;
         i++) {
        double span_s = high.beyond_s - low.beyond_s;
        bool above = middle.beyond_s > 0;
        middle.x = (low.x * high.beyond_s - high.x * low.beyond_s) / span_s;
        if (!try(&middle, measured_s, hybrid, study, scratch, error)) {
            return false;
        }
        struct trial *same = middle.beyond_s > 0 ? &high : &low;
        struct trial *other = middle.beyond_s > 0 ? &low : &high;
        if (i > 0 && above == (middle.beyond_s > 0)) {
            other->beyond_s /= 2; // the Illinois rule: the end that stayed twice counts half
        }
        *same = middle;
    }
    *compute_efficiency = 1 / middle.x;
    return true;
}
