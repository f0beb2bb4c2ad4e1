// SPDX-License-Identifier: Apache-2.0
// What a layer's loads tell of the next one's: shares P, columns on the simplex, that minimize
// sum |P x - y|^2 over recent loads x of a layer and y of the next (MixNet, SIGCOMM 2025, by
// sequential quadratic programming there). The error is quadratic in P with the Gram matrix
// G = sum x x', so a step down its gradient sum (P x - y) x' of length 1 / (largest eigenvalue of
// G) followed by the projection of every column converges; momentum speeds it up (Beck and
// Teboulle, "A fast iterative shrinkage-thresholding algorithm", SIAM J. Imaging Sci. 2, 2009).
//
// There are fewer samples than experts where experts are many, so that G itself is not built.
// Matrices lie transposed in here: a column of shares is a row of memory.

#include "weft/plan/mixnet.h"

#include <math.h>
#include <string.h>

#define ROUNDS 60u

// The nearest column of shares: what is above a threshold that makes them sum to 1, by leaving out
// what is below the threshold of what is left (Michelot, J. Optim. Theory Appl. 50, 1986).
static void project(double *column, uint32_t count)
{
    double threshold = -(double)INFINITY;
    uint32_t left = count + 1;
    for (uint32_t before = 0; before != left;) {
        before = left;
        left = 0;
        double sum = 0;
        for (uint32_t i = 0; i < count; i++) {
            left += column[i] > threshold;
            sum += column[i] > threshold ? column[i] : 0;
        }
        threshold = (sum - 1) / left;
    }
    for (uint32_t i = 0; i < count; i++) {
        column[i] = fmax(0, column[i] - threshold);
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

// to += factor * from.
static void add_row(double *restrict to, double factor, const double *restrict from, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        to[i] += factor * from[i];
    }
}

// Loads of both layers scaled to sum 1, where there are any. Returns how many samples are left.
static uint32_t scaled(double *x, double *y, const double *before, const double *after,
                       const uint32_t counts[2])
{
    uint32_t n = counts[1];
    uint32_t kept = 0;
    for (uint32_t s = 0; s < counts[0]; s++) {
        double sum[2] = {sum_of(before + (size_t)s * n, n), sum_of(after + (size_t)s * n, n)};
        if (sum[0] > 0 && sum[1] > 0) {
            add_row(x + (size_t)kept * n, 1 / sum[0], before + (size_t)s * n, n);
            add_row(y + (size_t)kept * n, 1 / sum[1], after + (size_t)s * n, n);
            kept++;
        }
    }
    return kept;
}

// No eigenvalue of a symmetric matrix that has no negative entry is above its largest row's sum:
// row e of G sums to the x_e of all samples, since each sample sums to 1.
static double eigenvalue_bound(const double *x, uint32_t samples, uint32_t n)
{
    double most = 0;
    for (uint32_t e = 0; e < n; e++) {
        double sum = 0;
        for (uint32_t s = 0; s < samples; s++) {
            sum += x[(size_t)s * n + e];
        }
        most = fmax(most, sum);
    }
    return most;
}

static void transpose(double *to, const double *from, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            to[(size_t)j * n + i] = from[(size_t)i * n + j];
        }
    }
}

void weft_experts_fit(double *matrix, const double *before, const double *after, uint32_t samples,
                      uint32_t experts, struct weft_arena scratch)
{
    uint32_t n = experts;
    size_t cells = (size_t)n * n;
    double *x = WEFT_NEW(&scratch, double, (size_t)samples *n);
    double *y = WEFT_NEW(&scratch, double, (size_t)samples *n);
    double *off = WEFT_NEW(&scratch, double, (size_t)samples *n);
    double *shares = WEFT_NEW(&scratch, double, cells);
    double *ahead = WEFT_NEW(&scratch, double, cells);
    double *last = WEFT_NEW(&scratch, double, cells);
    uint32_t kept = scaled(x, y, before, after, (uint32_t[]){samples, n});
    double steepest = eigenvalue_bound(x, kept, n);
    double momentum = 1;
    transpose(shares, matrix, n);
    memcpy(ahead, shares, cells * sizeof *ahead);
    for (uint32_t round = 0; round < ROUNDS && steepest > 0; round++) {
        memcpy(last, shares, cells * sizeof *last);
        memcpy(shares, ahead, cells * sizeof *shares);
        memset(off, 0, (size_t)kept * n * sizeof *off);
        for (uint32_t s = 0; s < kept; s++) {
            add_row(off + (size_t)s * n, -1, y + (size_t)s * n, n);
            for (uint32_t e = 0; e < n; e++) {
                add_row(off + (size_t)s * n, x[(size_t)s * n + e], ahead + (size_t)e * n, n);
            }
        }
        for (uint32_t e = 0; e < n; e++) {
            double *column = shares + (size_t)e * n;
            for (uint32_t s = 0; s < kept; s++) {
                add_row(column, -x[(size_t)s * n + e] / steepest, off + (size_t)s * n, n);
            }
            project(column, n);
        }
        double next = (1 + sqrt(1 + 4 * momentum * momentum)) / 2;
        for (size_t at = 0; at < cells; at++) {
            ahead[at] = shares[at] + (momentum - 1) / next * (shares[at] - last[at]);
        }
        momentum = next;
    }
    transpose(matrix, shares, n);
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
