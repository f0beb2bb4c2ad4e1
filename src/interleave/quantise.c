// SPDX-License-Identifier: Apache-2.0
// Iteration times as whole numbers of angles.
//
// Times are first whole multiples k of a quantum; the least common multiple of a link's k, over the
// smallest of them, is the iterations of the shortest job on its unified circle. Quanta tried: the
// greatest common divisor, then the shortest time over 1, 2, 3 ...; the one that changes the times
// least and keeps all circles small is taken. Then the quantum is cut into angles.

#include "circle.h"

#include <math.h>

// Divisors of the shortest iteration that are tried; bounds the search, not measured.
#define QUANTA_MAX 240u
#define PERIOD_ERROR_EQUAL 1e-12

struct fit {
    const struct periods *periods;
    uint64_t *multiples; // of the quantum, per job
    uint64_t perimeter_limit;
    uint32_t angles_min; // of an iteration
    uint32_t angles_max; // of a circle
};

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// The angles to cut the quantum into, or 0 where a circle would be too large.
static uint32_t cut(const struct fit *fit)
{
    const struct periods *periods = fit->periods;
    uint64_t most = fit->angles_max;
    uint64_t wanted = 1;
    for (uint32_t l = 0; l < periods->link_count; l++) {
        uint64_t perimeter = 1;
        uint64_t shortest = UINT64_MAX;
        for (uint32_t m = periods->member_first[l]; m < periods->member_first[l + 1]; m++) {
            uint64_t k = fit->multiples[periods->members[m]];
            uint64_t factor = k / common_divisor(perimeter, k);
            if (factor > UINT64_MAX / perimeter) {
                return 0;
            }
            perimeter *= factor;
            shortest = k < shortest ? k : shortest;
        }
        if (perimeter / shortest > fit->perimeter_limit || perimeter > fit->angles_max) {
            return 0;
        }
        uint64_t room = fit->angles_max / perimeter;
        uint64_t need = (fit->angles_min + shortest - 1) / shortest;
        most = room < most ? room : most;
        wanted = need > wanted ? need : wanted;
    }
    return (uint32_t)(wanted < most ? wanted : most);
}

static uint64_t smallest(const uint64_t *values, uint32_t count)
{
    uint64_t found = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        found = values[i] < found ? values[i] : found;
    }
    return found;
}

// Rounds all times to multiples of a quantum; the largest relative change.
static double round_to(struct fit *fit, double quantum_ps)
{
    double worst = 0;
    for (uint32_t j = 0; j < fit->periods->job_count; j++) {
        double period_ps = (double)fit->periods->iteration_ps[j];
        double k = fmax(1, nearbyint(period_ps / quantum_ps));
        fit->multiples[j] = (uint64_t)fmin(k, 1e15);
        worst = fmax(worst, fabs(k * quantum_ps - period_ps) / period_ps);
    }
    return worst;
}

// Where nothing else keeps the circles small: the shortest time doubled as often as comes nearest.
static double round_to_doublings(struct fit *fit, double shortest_ps)
{
    uint64_t largest = 1;
    for (uint32_t j = 0; j < fit->periods->job_count; j++) {
        double period_ps = (double)fit->periods->iteration_ps[j];
        double doublings = fmin(50, nearbyint(log2(period_ps / shortest_ps)));
        fit->multiples[j] = (uint64_t)1 << (uint32_t)doublings;
        largest = fit->multiples[j] > largest ? fit->multiples[j] : largest;
    }
    // One iteration of the longest job has to fit, whatever the limit.
    fit->perimeter_limit = largest > fit->perimeter_limit ? largest : fit->perimeter_limit;
    return shortest_ps;
}

// The quantum among those of the shortest time that changes the times least; 0 = none.
static double choose_quantum(struct fit *fit, double shortest_ps)
{
    double best_ps = 0;
    double best_error = (double)INFINITY;
    for (uint32_t parts = 1; parts <= QUANTA_MAX; parts++) {
        double error = round_to(fit, shortest_ps / parts);
        if (error < best_error - PERIOD_ERROR_EQUAL && cut(fit) > 0) {
            best_error = error;
            best_ps = shortest_ps / parts;
        }
    }
    return best_ps;
}

static double quantum_of(struct fit *fit, const struct weft_interleave_options *options)
{
    const struct periods *periods = fit->periods;
    if (options->quantum_ps > 0) {
        round_to(fit, (double)options->quantum_ps);
        return (double)options->quantum_ps;
    }
    uint64_t divisor_ps = 0;
    for (uint32_t j = 0; j < periods->job_count; j++) {
        divisor_ps = common_divisor(divisor_ps, periods->iteration_ps[j]);
    }
    for (uint32_t j = 0; j < periods->job_count; j++) {
        fit->multiples[j] = periods->iteration_ps[j] / divisor_ps;
    }
    if (cut(fit) > 0) {
        return (double)divisor_ps;
    }
    double shortest_ps = (double)smallest(periods->iteration_ps, periods->job_count);
    double quantum_ps = choose_quantum(fit, shortest_ps);
    if (quantum_ps == 0) {
        return round_to_doublings(fit, shortest_ps);
    }
    round_to(fit, quantum_ps);
    return quantum_ps;
}

// Finds the quantum and the angles of all iterations. First the multiples of the quantum, then how
// many angles a quantum has, at least as fine as the precision asks and no more than a circle may
// hold.
bool interleave_quantise(uint32_t *angles, double *period_error_ratio,
                         const struct periods *periods,
                         const struct weft_interleave_options *options, struct weft_arena scratch,
                         struct weft_error *error)
{
    double degrees =
        options->precision_degrees > 0 ? options->precision_degrees : WEFT_PRECISION_DEGREES;
    struct fit fit = {
        .periods = periods,
        .multiples = WEFT_NEW(&scratch, uint64_t, periods->job_count),
        .perimeter_limit =
            options->perimeter_limit > 0 ? options->perimeter_limit : WEFT_PERIMETER_LIMIT,
        .angles_min = (uint32_t)fmin(WEFT_ANGLES_MAX, ceil(360 / degrees - 1e-9)),
        .angles_max = options->heuristic ? WEFT_ANGLES_MAX_FAST : WEFT_ANGLES_MAX,
    };
    const uint64_t limit = fit.perimeter_limit;
    double quantum_ps = quantum_of(&fit, options);
    uint32_t parts = cut(&fit);
    if (parts == 0) {
        return weft_fail(error, WEFT_INPUT,
                         "the unified circle of these iteration times has more than %llu "
                         "iterations of its shortest job or %u angles; use a coarser quantum, or "
                         "leave out the job whose time is so unlike",
                         (unsigned long long)limit, fit.angles_max);
    }
    for (uint32_t j = 0; j < periods->job_count; j++) {
        double period_ps = (double)periods->iteration_ps[j];
        angles[j] = (uint32_t)fit.multiples[j] * parts;
        period_error_ratio[j] = fabs((double)fit.multiples[j] * quantum_ps - period_ps) / period_ps;
    }
    return true;
}
