// SPDX-License-Identifier: Apache-2.0
// What losses change: runs with and without them, seed by seed, by Student's t of their paired
// differences. The distribution function of whole degrees of freedom is a finite sum (Abramowitz
// and Stegun 26.7.3 and 26.7.4), so that no table and no library of statistics is needed. O(count).

#include "weft/train.h"

#include <math.h>

// The chance that |t| of so many degrees of freedom is at least this.
static double chance_of(double t, uint32_t degrees)
{
    double angle = atan2(fabs(t), sqrt(degrees));
    double cosine = cos(angle);
    bool odd = degrees % 2 == 1;
    double term = odd ? cosine : 1, sum = degrees == 1 ? 0 : term;
    for (uint32_t i = odd ? 2 : 1; i + 2 < degrees; i += 2) {
        term *= cosine * cosine * i / (i + 1);
        sum += term;
    }
    double within = sin(angle) * sum;
    return odd ? 1 - M_2_PI * (angle + within) : 1 - within;
}

static double mean_of(const double *values, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += values[i];
    }
    return sum / count;
}

// Standard error of the mean of values[i] - (others != NULL ? others[i] : 0).
static double error_of(const double *values, const double *others, uint32_t count, double mean)
{
    double squares = 0;
    for (uint32_t i = 0; i < count; i++) {
        double off = values[i] - (others != NULL ? others[i] : 0) - mean;
        squares += off * off;
    }
    return count > 1 ? sqrt(squares / (count - 1) / count) : (double)NAN;
}

void weft_train_compare(struct weft_train_effect *effect, const double *values,
                        const double *others, uint32_t count)
{
    WEFT_ASSERT(count > 0);
    double mean = mean_of(values, count);
    double difference = mean - mean_of(others, count);
    double error = error_of(values, others, count, difference);
    // Differences that are equal but for rounding have no error to be held against.
    bool equal = error <= 1e-12;
    double chance = fabs(difference) <= 1e-12 ? 1 : 0;
    *effect = (struct weft_train_effect){
        .mean = mean,
        .mean_error = error_of(values, NULL, count, mean),
        .difference = difference,
        .difference_error = error,
        .chance = count == 1 ? (double)NAN
                  : equal    ? chance
                             : chance_of(difference / error, count - 1),
    };
}
