// SPDX-License-Identifier: Apache-2.0
// What a layer's loads tell of the next one's: shares P, columns on the simplex, that minimize
// sum |y - P x|^2 over recent loads x of a layer and y of the next (MixNet, SIGCOMM 2025, by
// sequential quadratic programming there). The error is quadratic in P with the Gram matrix
// G = sum x x', so a step down its gradient P G - H, H = sum y x', of length 1 / (largest
// eigenvalue of G) followed by the projection of every column converges; momentum speeds it up
// (Beck and Teboulle, "A fast iterative shrinkage-thresholding algorithm", SIAM J. Imaging Sci. 2,
// 2009).

#include "weft/plan/mixnet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 60u

static int compare_falling(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x > y ? -1 : x < y;
}

// The nearest column of shares: what is above a threshold that makes them sum to 1 (Duchi et al.,
// ICML 2008, figure 1).
static void project(double *column, size_t stride, uint32_t count, double *sorted)
{
    for (uint32_t i = 0; i < count; i++) {
        sorted[i] = column[i * stride];
    }
    qsort(sorted, count, sizeof *sorted, compare_falling);
    double sum = 0;
    double threshold = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += sorted[i];
        double next = (sum - 1) / (i + 1);
        if (sorted[i] > next) {
            threshold = next;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        column[i * stride] = fmax(0, column[i * stride] - threshold);
    }
}

static double sum_of(const double *row, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += row[i];
    }
    return sum;
}

// gram[e][f] += x_e x_f, cross[f][e] += y_f x_e, of loads that sum to 1.
static void add_sample(double *gram, double *cross, const double *x, const double *y, uint32_t n)
{
    double x_sum = sum_of(x, n);
    double y_sum = sum_of(y, n);
    if (x_sum <= 0 || y_sum <= 0) {
        return;
    }
    for (uint32_t e = 0; e < n; e++) {
        for (uint32_t f = 0; f < n; f++) {
            gram[(size_t)e * n + f] += x[e] * x[f] / (x_sum * x_sum);
            cross[(size_t)e * n + f] += y[e] * x[f] / (y_sum * x_sum);
        }
    }
}

// No eigenvalue of a symmetric matrix that has no negative entry is above its largest row's sum.
static double eigenvalue_bound(const double *gram, uint32_t n)
{
    double most = 0;
    for (uint32_t e = 0; e < n; e++) {
        most = fmax(most, sum_of(gram + (size_t)e * n, n));
    }
    return most;
}

void weft_experts_fit(double *matrix, const double *before, const double *after, uint32_t samples,
                      uint32_t experts, struct weft_arena scratch)
{
    uint32_t n = experts;
    size_t cells = (size_t)n * n;
    double *gram = WEFT_NEW(&scratch, double, cells);
    double *cross = WEFT_NEW(&scratch, double, cells);
    double *ahead = WEFT_NEW(&scratch, double, cells);
    double *last = WEFT_NEW(&scratch, double, cells);
    double *sorted = WEFT_NEW(&scratch, double, n);
    for (uint32_t s = 0; s < samples; s++) {
        add_sample(gram, cross, before + (size_t)s * n, after + (size_t)s * n, n);
    }
    double steepest = eigenvalue_bound(gram, n);
    double momentum = 1;
    memcpy(ahead, matrix, cells * sizeof *ahead);
    for (uint32_t round = 0; round < ROUNDS && steepest > 0; round++) {
        memcpy(last, matrix, cells * sizeof *last);
        for (uint32_t f = 0; f < n; f++) {
            for (uint32_t e = 0; e < n; e++) {
                double slope = -cross[(size_t)f * n + e];
                for (uint32_t k = 0; k < n; k++) {
                    slope += ahead[(size_t)f * n + k] * gram[(size_t)k * n + e];
                }
                matrix[(size_t)f * n + e] = ahead[(size_t)f * n + e] - slope / steepest;
            }
        }
        for (uint32_t e = 0; e < n; e++) {
            project(matrix + e, n, n, sorted);
        }
        double next = (1 + sqrt(1 + 4 * momentum * momentum)) / 2;
        for (size_t at = 0; at < cells; at++) {
            ahead[at] = matrix[at] + (momentum - 1) / next * (matrix[at] - last[at]);
        }
        momentum = next;
    }
}

void weft_experts_apply(double *next, const double *matrix, const double *loads, uint32_t experts)
{
    for (uint32_t f = 0; f < experts; f++) {
        next[f] = 0;
        for (uint32_t e = 0; e < experts; e++) {
            next[f] += matrix[(size_t)f * experts + e] * loads[e];
        }
    }
}
