// SPDX-License-Identifier: Apache-2.0
// Products of matrices in tiles of registers: six rows by two vectors of eight floats, which fill
// the sixteen registers of AVX2 with the two vectors that are read and the one number that is
// spread (Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", TOMS 2008).
//
// Every number is multiplied and added alone and in the order of k, so that a processor with or
// without AVX2 gives the same bits.

#include "train/product.h"

#include <string.h>

#define ROWS 6u
#define LANES 8u

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));

#if defined __x86_64__
#define HAVE_AVX2 1
#else
#define HAVE_AVX2 0
#endif

// Vectors are passed among functions that are inlined, so how they would be passed does not matter.
#pragma GCC diagnostic ignored "-Wpsabi"
#define INLINE static inline __attribute__((always_inline))

INLINE lanes load(const float *from)
{
    lanes value;
    memcpy(&value, from, sizeof value);
    return value;
}

INLINE lanes spread(float value)
{
    return (lanes){value, value, value, value, value, value, value, value};
}

// One tile, at rows [top, top + 6) and columns [left, left + 16). Rows below the last repeat it and
// are not written.
INLINE void tile(const struct product *p, uint32_t top, uint32_t left)
{
    const float *a[ROWS];
    lanes sums[ROWS][2];
    for (uint32_t r = 0; r < ROWS; r++) {
        uint32_t row = top + r < p->height ? top + r : p->height - 1;
        a[r] = p->a + row * p->a_row;
        sums[r][0] = spread(p->start != NULL ? p->start[row] : 0);
        sums[r][1] = sums[r][0];
    }
    size_t step = p->a_step;
    for (uint32_t k = 0; k < p->depth; k++) {
        const float *row = p->rows[k] + left;
        lanes low = load(row), high = load(row + LANES);
#pragma GCC unroll 6
        for (uint32_t r = 0; r < ROWS; r++) {
            lanes factor = spread(a[r][k * step]);
            sums[r][0] += factor * low;
            sums[r][1] += factor * high;
        }
    }
    uint32_t columns = p->width - left < PRODUCT_COLUMNS ? p->width - left : PRODUCT_COLUMNS;
    for (uint32_t r = 0; r < ROWS && top + r < p->height; r++) {
        memcpy(p->c + (top + r) * p->c_row + left, sums[r], columns * sizeof(float));
    }
}

INLINE void run(const struct product *p)
{
    for (uint32_t top = 0; top < p->height; top += ROWS) {
        for (uint32_t left = 0; left < p->width; left += PRODUCT_COLUMNS) {
            tile(p, top, left);
        }
    }
}

// Up to four rows of a at a time.
#define DOTS 4u
INLINE void dots(const struct product_dots *d)
{
    for (uint32_t top = 0; top < d->height; top += DOTS) {
        lanes sums[DOTS] = {{0}, {0}, {0}, {0}};
        const float *a[DOTS];
        for (uint32_t i = 0; i < DOTS; i++) {
            a[i] = d->a + (top + i < d->height ? top + i : d->height - 1) * d->a_row;
        }
        for (uint32_t r = 0; r < d->runs; r++) {
            const float *b = d->b + r * d->b_run;
            for (uint32_t j = 0; j < d->length; j += LANES) {
                lanes factor = load(b + j);
#pragma GCC unroll 4
                for (uint32_t i = 0; i < DOTS; i++) {
                    sums[i] += load(a[i] + r * d->a_run + j) * factor;
                }
            }
        }
        for (uint32_t i = 0; i < DOTS && top + i < d->height; i++) {
            lanes s = sums[i];
            d->c[(top + i) * d->c_row] =
                ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
        }
    }
}

#if HAVE_AVX2
__attribute__((target("avx2"))) static void run_avx2(const struct product *product)
{
    run(product);
}
__attribute__((target("avx2"))) static void dots_avx2(const struct product_dots *product)
{
    dots(product);
}
#endif

void product_run(const struct product *product)
{
#if HAVE_AVX2
    if (__builtin_cpu_supports("avx2")) {
        run_avx2(product);
        return;
    }
#endif
    run(product);
}

void product_dots(const struct product_dots *product)
{
    WEFT_ASSERT(product->length % LANES == 0);
#if HAVE_AVX2
    if (__builtin_cpu_supports("avx2")) {
        dots_avx2(product);
        return;
    }
#endif
    dots(product);
}
