// SPDX-License-Identifier: Apache-2.0
// A job's demand from what its links carried over time: the iteration and the phases of a measured
// series.
//
// The iteration is the period of the signal, found by autocorrelation: the first peak nearly as
// high as the highest is the period rather than a multiple of it; peaks at multiples refine it, as
// an error there is divided by the multiple. The series is folded over the period, and runs above
// half of a link's largest rate are its phases. Where that puts too many bytes elsewhere, the
// iteration becomes pieces of constant rate: neighbors are merged where that adds least to the
// squared error (Ward, Journal of the American Statistical Association 1963). O(samples * lags)
// with 16384 samples at most; merging is quadratic in at most 1024 bins.

#include "weft/interleave.h"

#include <math.h>
#include <string.h>

// Thresholds of the period and of phases. None was measured on a corpus;
// tests/unit/test_interleave_measure.c shows what they recover. Higher likeness refuses noisy
// series, lower ones take noise for a period; more pieces follow a rate closer and make searches
// over them slower.
#define LAGS_MAX 16384u  // samples that are compared with later ones; more are joined before
#define LIKE_MIN 0.3     // correlation of a period that counts as one
#define LIKE_FIRST 0.9   // of the best: the first such lag is the period, not a multiple of it
#define EDGE 0.5         // of a phase's height
#define SHAPE_ERROR 0.05 // of a link, beyond which its phases become pieces
#define PIECES_MAX 16u
#define PIECE_BINS_MAX 1024u // pieces take their square
#define RATE_EQUAL 1e-9      // of the largest rate
#define NOTHING 1e-3         // of the largest rate: no phase

struct signal {
    uint32_t count;
    double *values; // less their mean
    double power;
};

// Correlation of the signal with itself `lag` samples later.
static double likeness(const struct signal *signal, uint32_t lag)
{
    double sum = 0;
    for (uint32_t i = 0; i + lag < signal->count; i++) {
        sum += signal->values[i] * signal->values[i + lag];
    }
    return sum / (signal->count - lag) / signal->power;
}

// The top of the parabola through the correlations beside a lag.
static double refine(const struct signal *signal, uint32_t lag)
{
    double before = likeness(signal, lag - 1);
    double here = likeness(signal, lag);
    double after = likeness(signal, lag + 1);
    double bend = before - 2 * here + after;
    double shift = bend < 0 ? (before - after) / (2 * bend) : 0;
    return lag + fmax(-0.5, fmin(0.5, shift));
}

// The period in samples, or 0. *whole: periods over which it was measured.
static double find_period(const struct signal *signal, uint32_t *whole, struct weft_arena scratch)
{
    uint32_t lags = signal->count / 2;
    double *like = WEFT_NEW(&scratch, double, (size_t)lags + 1);
    uint32_t first = 0; // lag from which the signal is unlike itself
    double best = 0;
    for (uint32_t lag = 1; lag <= lags; lag++) {
        like[lag] = likeness(signal, lag);
        first = first == 0 && like[lag] < 0 ? lag : first;
        best = first > 0 ? fmax(best, like[lag]) : 0;
    }
    if (best < LIKE_MIN) {
        return 0;
    }
    uint32_t lag = first;
    while (like[lag] < LIKE_FIRST * best) {
        lag++;
    }
    while (lag < lags && like[lag + 1] > like[lag]) {
        lag++;
    }
    double period = refine(signal, lag);
    // A peak many periods away says the same, that much finer.
    *whole = 1;
    for (uint32_t k = 2; k * period + 1 < lags; k++) {
        uint32_t near = (uint32_t)llround(k * period);
        uint32_t top = near;
        for (uint32_t at = near - 1; at <= near + 1; at++) {
            top = like[at] > like[top] ? at : top;
        }
        if (like[top] < LIKE_MIN) {
            break;
        }
        period = refine(signal, top) / k;
        *whole = k;
    }
    return period;
}

// Mean rate over the iteration, folded into bins.
static void fold(double *rate_Bps, uint32_t bins, const struct weft_series *series, double period,
                 struct weft_arena scratch)
{
    double *weight = WEFT_NEW(&scratch, double, bins);
    memset(rate_Bps, 0, bins * sizeof rate_Bps[0]);
    double step_s = (double)series->step_ps / (double)WEFT_PS_PER_S;
    uint32_t used = (uint32_t)floor(floor(series->count / period) * period);
    for (uint32_t i = 0; i < used; i++) {
        // A sample lies over two bins, in proportion.
        double at = fmod(i, period) / period * bins;
        uint32_t bin = (uint32_t)at % bins;
        double part = at - floor(at);
        rate_Bps[bin] += (1 - part) * series->bytes[i] / step_s;
        weight[bin] += 1 - part;
        rate_Bps[(bin + 1) % bins] += part * series->bytes[i] / step_s;
        weight[(bin + 1) % bins] += part;
    }
    for (uint32_t b = 0; b < bins; b++) {
        rate_Bps[b] = weight[b] > 0 ? rate_Bps[b] / weight[b] : 0;
    }
}

// A phase as folded: bins, which may go beyond the end.
struct run {
    double from;
    double to;
    double rate_Bps;
};

// Bins of at least half the largest rate that touch; their edges lie where the bins beside them
// say.
static uint32_t find_runs(struct run *runs, const double *rate_Bps, uint32_t bins)
{
    double top_Bps = 0;
    for (uint32_t b = 0; b < bins; b++) {
        top_Bps = fmax(top_Bps, rate_Bps[b]);
    }
    const double edge_Bps = EDGE * top_Bps;
    uint32_t low = 0;
    while (low < bins && rate_Bps[low] >= edge_Bps) {
        low++;
    }
    if (low == bins || top_Bps == 0) {
        runs[0] = (struct run){0, top_Bps == 0 ? 0 : bins, top_Bps};
        return top_Bps == 0 ? 0 : 1;
    }
    uint32_t count = 0;
    for (uint32_t i = 1; i < bins; i++) {
        uint32_t from = low + i;
        if (rate_Bps[from % bins] < edge_Bps) {
            continue;
        }
        double sum_Bps = 0;
        double height_Bps = 0;
        uint32_t to = from;
        for (; to < low + bins && rate_Bps[to % bins] >= edge_Bps; to++) {
            sum_Bps += rate_Bps[to % bins];
            height_Bps = fmax(height_Bps, rate_Bps[to % bins]);
        }
        // What the bins beside hold belongs to the phase: as much time as brings those bytes.
        double mean_Bps =
            to - from > 2
                ? (sum_Bps - rate_Bps[from % bins] - rate_Bps[(to - 1) % bins]) / (to - from - 2)
                : height_Bps;
        double left = (rate_Bps[(from + bins - 1) % bins] + rate_Bps[from % bins]) / mean_Bps;
        double right = (rate_Bps[to % bins] + rate_Bps[(to - 1) % bins]) / mean_Bps;
        double begin = from + 1 - fmin(left, 2);
        double end = to - 1 + fmin(right, 2);
        runs[count++] = (struct run){begin, fmax(end, begin), mean_Bps};
        i = to - low;
    }
    return count;
}

// Runs as phases of the iteration, those over its end cut in two; in order, without overlaps.
static uint32_t lay_out(struct weft_demand_phase *phases, const struct run *runs, uint32_t count,
                        uint32_t bins, uint64_t iteration_ps)
{
    double bin_ps = (double)iteration_ps / bins;
    uint32_t filled = 0;
    for (uint32_t i = 0; i < count; i++) {
        double shift = runs[i].from < 0 ? bins : runs[i].from >= bins ? -(double)bins : 0;
        double from = runs[i].from + shift;
        double to = fmin(runs[i].to + shift, from + bins);
        uint64_t from_ps = (uint64_t)llround(from * bin_ps);
        uint64_t to_ps = (uint64_t)llround(to * bin_ps);
        from_ps = from_ps < iteration_ps ? from_ps : iteration_ps;
        if (to_ps > iteration_ps) {
            phases[filled++] =
                (struct weft_demand_phase){0, to_ps - iteration_ps, runs[i].rate_Bps};
            to_ps = iteration_ps;
        }
        phases[filled++] = (struct weft_demand_phase){from_ps, to_ps - from_ps, runs[i].rate_Bps};
    }
    for (uint32_t i = 1; i < filled; i++) {
        struct weft_demand_phase phase = phases[i];
        uint32_t at = i;
        for (; at > 0 && phases[at - 1].start_ps > phase.start_ps; at--) {
            phases[at] = phases[at - 1];
        }
        phases[at] = phase;
    }
    for (uint32_t i = 1; i < filled; i++) {
        struct weft_demand_phase *before = &phases[i - 1];
        if (before->start_ps + before->duration_ps > phases[i].start_ps) {
            before->duration_ps = phases[i].start_ps - before->start_ps;
        }
    }
    return filled;
}

static double shape_error(const struct weft_demand *demand, const double *rate_Bps, uint32_t bins)
{
    double apart = 0;
    double all = 0;
    double bin_ps = (double)demand->iteration_ps / bins;
    for (uint32_t b = 0; b < bins; b++) {
        double modeled = 0;
        for (uint32_t p = 0; p < demand->phase_count; p++) {
            double from = (double)demand->phases[p].start_ps / bin_ps;
            double to = from + (double)demand->phases[p].duration_ps / bin_ps;
            modeled += demand->phases[p].rate_Bps * fmax(0, fmin(to, b + 1) - fmax(from, b));
        }
        apart += fabs(modeled - rate_Bps[b]);
        all += rate_Bps[b];
    }
    return all > 0 ? apart / all : 0;
}

uint32_t weft_demand_join(double *bytes, uint32_t *ends, uint32_t count, uint32_t phase_max)
{
    for (uint32_t i = 0; i < count; i++) {
        ends[i] = i + 1;
    }
    while (count > phase_max) {
        uint32_t best = 0;
        double best_cost = HUGE_VAL;
        for (uint32_t i = 0; i + 1 < count; i++) {
            double a = ends[i] - (i > 0 ? ends[i - 1] : 0);
            double b = ends[i + 1] - ends[i];
            double apart = bytes[i] / a - bytes[i + 1] / b;
            double cost = apart * apart * a * b / (a + b);
            if (cost < best_cost) {
                best_cost = cost;
                best = i;
            }
        }
        bytes[best] += bytes[best + 1];
        ends[best] = ends[best + 1];
        count--;
        for (uint32_t i = best + 1; i < count; i++) {
            bytes[i] = bytes[i + 1];
            ends[i] = ends[i + 1];
        }
    }
    return count;
}

// The iteration in pieces of one rate each.
static struct weft_demand cut(const double *rate_Bps, uint32_t bins, uint64_t iteration_ps,
                              struct weft_arena *arena, struct weft_arena scratch)
{
    double *sum = WEFT_NEW(&scratch, double, bins);
    uint32_t *ends = WEFT_NEW(&scratch, uint32_t, bins);
    double top_Bps = 0;
    for (uint32_t b = 0; b < bins; b++) {
        sum[b] = rate_Bps[b];
        top_Bps = fmax(top_Bps, rate_Bps[b]);
    }
    uint32_t count = weft_demand_join(sum, ends, bins, PIECES_MAX);
    struct weft_demand_phase *phases = WEFT_NEW(arena, struct weft_demand_phase, count);
    uint32_t filled = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t start = i > 0 ? ends[i - 1] : 0;
        double mean_Bps = sum[i] / (ends[i] - start);
        if (mean_Bps > NOTHING * top_Bps) {
            uint64_t from_ps = (uint64_t)((double)iteration_ps / bins * start);
            uint64_t to_ps =
                ends[i] == bins ? iteration_ps : (uint64_t)((double)iteration_ps / bins * ends[i]);
            struct weft_demand_phase *last = filled > 0 ? &phases[filled - 1] : NULL;
            if (last != NULL && last->start_ps + last->duration_ps == from_ps &&
                fabs(last->rate_Bps - mean_Bps) <= RATE_EQUAL * top_Bps) {
                last->duration_ps += to_ps - from_ps;
            } else {
                phases[filled++] = (struct weft_demand_phase){from_ps, to_ps - from_ps, mean_Bps};
            }
        }
    }
    return (struct weft_demand){iteration_ps, phases, filled};
}

// The demand of one link, and how far its folded samples are from it, as a share.
static double take_link(struct weft_demand *demand, const struct weft_series *series, double period,
                        uint64_t iteration_ps, struct weft_arena *arena, struct weft_arena scratch)
{
    uint32_t bins = (uint32_t)fmax(1, nearbyint(period));
    double *rate_Bps = WEFT_NEW(&scratch, double, bins);
    struct run *runs = WEFT_NEW(&scratch, struct run, (size_t)bins + 1);
    fold(rate_Bps, bins, series, period, scratch);
    uint32_t count = find_runs(runs, rate_Bps, bins);
    struct weft_demand_phase *phases = WEFT_NEW(arena, struct weft_demand_phase, (size_t)2 * count);
    *demand = (struct weft_demand){iteration_ps, phases, 0};
    demand->phase_count = lay_out(phases, runs, count, bins, iteration_ps);
    double apart = shape_error(demand, rate_Bps, bins);
    if (apart > SHAPE_ERROR && bins <= PIECE_BINS_MAX) {
        const struct weft_demand pieces = cut(rate_Bps, bins, iteration_ps, arena, scratch);
        double less = shape_error(&pieces, rate_Bps, bins);
        *demand = less < apart ? pieces : *demand;
        apart = fmin(less, apart);
    }
    return apart;
}

// All links together, so many samples in one, less their mean.
static void sum_links(struct signal *signal, const struct weft_series *series, uint32_t link_count,
                      uint32_t joined, struct weft_arena *arena)
{
    signal->count = series[0].count / joined;
    signal->values = WEFT_NEW(arena, double, signal->count);
    signal->power = 0;
    double mean = 0;
    for (uint32_t i = 0; i < signal->count * joined; i++) {
        for (uint32_t l = 0; l < link_count; l++) {
            signal->values[i / joined] += series[l].bytes[i];
            mean += series[l].bytes[i] / signal->count;
        }
    }
    for (uint32_t i = 0; i < signal->count; i++) {
        signal->values[i] -= mean;
        signal->power += signal->values[i] * signal->values[i] / signal->count;
    }
}

bool weft_demand_measure(struct weft_measured_demand *result, const struct weft_series *series,
                         uint32_t link_count, uint64_t iteration_ps,
                         const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_arena scratch = environment->scratch;
    struct weft_error *error = environment->error;
    const uint32_t count = series[0].count;
    const uint32_t joined = (count + LAGS_MAX - 1) / LAGS_MAX;
    struct signal signal;
    sum_links(&signal, series, link_count, joined, &scratch);
    uint32_t whole = 1;
    double period = (double)iteration_ps / (double)series[0].step_ps;
    if (iteration_ps == 0) {
        period = signal.power > 0 ? find_period(&signal, &whole, scratch) * joined : 0;
        if (period < 2) {
            return weft_fail(error, WEFT_INPUT,
                             "no iteration shows in %u samples; take a longer series or finer "
                             "steps, or say the iteration's time",
                             count);
        }
    }
    if (period < 2 || period > count) {
        return weft_fail(error, WEFT_INPUT,
                         "an iteration of %.3g samples among %u; it takes 2 samples at least and "
                         "one iteration",
                         period, count);
    }
    uint64_t found_ps =
        iteration_ps > 0 ? iteration_ps : (uint64_t)llround(period * (double)series[0].step_ps);
    struct weft_demand *demands = WEFT_NEW(arena, struct weft_demand, link_count);
    double shape = 0;
    for (uint32_t l = 0; l < link_count; l++) {
        double apart = take_link(&demands[l], &series[l], period, found_ps, arena, scratch);
        shape = fmax(shape, apart);
    }
    *result = (struct weft_measured_demand){
        .iteration_ps = found_ps,
        .link_demands = demands,
        .iterations = count / period,
        .period_error_ratio = iteration_ps > 0 ? 0 : 0.5 * joined / (period * whole),
        .shape_error_ratio = shape,
    };
    return true;
}
