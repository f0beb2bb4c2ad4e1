// SPDX-License-Identifier: Apache-2.0
// Random numbers as explicit objects: one seed reproduces everything.
//
// The generator is xoshiro256** (Blackman and Vigna, "Scrambled linear pseudorandom number
// generators", ACM TOMS 47(4), 2021), whose state is filled by splitmix64 (Steele, Lea, Flood:
// "Fast splittable pseudorandom number generators", OOPSLA 2014). Parallel work gets generators
// that are seeded by hashes of the parent's state and the index of the piece, so that the numbers
// of a piece do not depend on which thread draws them. A number costs some ten instructions.

#include "weft/base.h"

#include <math.h>

uint64_t weft_hash(uint64_t value)
{
    value += 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

void weft_rng_init(struct weft_rng *rng, uint64_t seed)
{
    for (uint32_t i = 0; i < 4; i++) {
        rng->state[i] = weft_hash(seed + i * 0x9e3779b97f4a7c15u);
    }
}

struct weft_rng weft_rng_split(const struct weft_rng *rng, uint64_t index)
{
    struct weft_rng child;
    weft_rng_init(&child, weft_hash(rng->state[0] ^ weft_hash(index)) ^ rng->state[2]);
    return child;
}

struct weft_rng weft_rng_stream(uint64_t seed, uint64_t index)
{
    struct weft_rng root;
    weft_rng_init(&root, seed);
    return weft_rng_split(&root, index);
}

static uint64_t rotate(uint64_t value, int bits)
{
    return (value << bits) | (value >> (64 - bits));
}

uint64_t weft_rng_next(struct weft_rng *rng)
{
    uint64_t *s = rng->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate(s[3], 45);
    return result;
}

// Lemire, "Fast random integer generation in an interval", TOMACS 29(1), 2019: the upper half of a
// product is uniform once the few lower halves that would favor some values are drawn again.
uint32_t weft_rng_below(struct weft_rng *rng, uint32_t bound)
{
    WEFT_ASSERT(bound > 0);
    uint64_t product = (weft_rng_next(rng) >> 32) * bound;
    uint32_t low = (uint32_t)product;
    if (low < bound) {
        uint32_t threshold = -bound % bound;
        while (low < threshold) {
            product = (weft_rng_next(rng) >> 32) * bound;
            low = (uint32_t)product;
        }
    }
    return (uint32_t)(product >> 32);
}

double weft_rng_unit(struct weft_rng *rng)
{
    return (double)(weft_rng_next(rng) >> 11) * 0x1p-53;
}

// By inversion of the distribution; log1p keeps the digits of small results.
double weft_rng_exponential(struct weft_rng *rng, double mean)
{
    return -mean * log1p(-weft_rng_unit(rng));
}

// The polar method (Marsaglia and Bray, "A convenient method for generating normal variables", SIAM
// Review 6(3), 1964): a point uniform in the unit disk has an angle and a radius that are
// independent, so the radius, whose square is uniform, may be stretched to that of two normal
// numbers. 4 of pi points of the square are in the disk: 1.27 tries on average.
void weft_rng_normal_pair(struct weft_rng *rng, double *first, double *second)
{
    double x, y, square;
    do {
        x = 2 * weft_rng_unit(rng) - 1;
        y = 2 * weft_rng_unit(rng) - 1;
        square = x * x + y * y;
    } while (square >= 1 || square == 0);
    double stretch = sqrt(-2 * log(square) / square);
    *first = x * stretch;
    *second = y * stretch;
}

// Fisher and Yates, in Durstenfeld's form (CACM 7(7), 1964, algorithm 235).
void weft_rng_shuffle(struct weft_rng *rng, uint32_t *values, uint32_t count)
{
    for (uint32_t i = count; i > 1; i--) {
        uint32_t j = weft_rng_below(rng, i);
        uint32_t swap = values[i - 1];
        values[i - 1] = values[j];
        values[j] = swap;
    }
}
