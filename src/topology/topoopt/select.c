// SPDX-License-Identifier: Apache-2.0
// TotientPerms and SelectPermutations (TopoOpt, section 4.3 and appendix): which circulant
// rings a group gets.
//
// i -> i + p is one ring over m members exactly if p is prime to m. Jumps in a geometric sequence
// 1, x, x^2, ... with x = m^(1/d) keep the fewest jumps between any two members near d m^(1/d), so
// that for each term the nearest jump prime to m is taken. internal.h says where both ways differ.

#include "topology/internal.h"

#include <math.h>

// Up to here every number prime to n is a candidate; beyond, primes only (when they suffice).
#define ALL_CANDIDATES_MAX 64u

static bool is_prime(uint32_t value)
{
    for (uint32_t divisor = 2; divisor <= value / divisor; divisor++) {
        if (value % divisor == 0) {
            return false;
        }
    }
    return value > 1;
}

// Lists the jumps of rings over m members, ascending, up to `limit`. Returns their number.
static uint32_t list_candidates(uint32_t *candidates, uint32_t m, uint32_t limit, bool primes)
{
    uint32_t count = 0;
    for (uint32_t jump = 1; jump <= limit; jump++) {
        if (weft_greatest_divisor(m, jump) == 1 && (!primes || jump == 1 || is_prime(jump))) {
            candidates[count++] = jump;
        }
    }
    return count;
}

// The free candidate nearest to `target`, the larger on a tie.
static uint32_t nearest(const uint32_t *candidates, const bool *taken, uint32_t count,
                        double target)
{
    uint32_t best = WEFT_NONE;
    double best_distance = HUGE_VAL;
    for (uint32_t i = 0; i < count; i++) {
        double distance = fabs((double)candidates[i] - target);
        if (!taken[i] && distance < best_distance + 1e-9) {
            best = i;
            best_distance = distance;
        }
    }
    return best;
}

// The first free candidate at or above `target`, counting a jump and its opposite as one: past m/2
// the candidates come back down. Without one, the largest that is free.
static uint32_t first_above(const uint32_t *candidates, const bool *taken, uint32_t count,
                            uint32_t m, double target)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!taken[i] && (double)candidates[i] >= target - 1e-9) {
            return i;
        }
    }
    for (uint32_t i = count; i > 0; i--) {
        if (!taken[i - 1] && (double)(m - candidates[i - 1]) >= target - 1e-9) {
            return i - 1;
        }
    }
    uint32_t last = count;
    while (last > 0 && taken[last - 1]) {
        last--;
    }
    return last - 1;
}

void weft_topology_select(uint32_t *jumps, uint32_t member_count, uint32_t count, bool duplex,
                          struct weft_arena scratch)
{
    uint32_t m = member_count;
    WEFT_ASSERT(m >= 2);
    uint32_t limit = duplex ? m / 2 : m - 1;
    uint32_t *candidates = WEFT_NEW_RAW(&scratch, uint32_t, m);
    bool primes = !duplex && m > ALL_CANDIDATES_MAX;
    uint32_t candidate_count = list_candidates(candidates, m, limit, primes);
    if (primes && candidate_count < count) {
        candidate_count = list_candidates(candidates, m, limit, false);
    }
    bool *taken = WEFT_NEW(&scratch, bool, m);
    uint32_t distinct = count < candidate_count ? count : candidate_count;
    for (uint32_t i = 0; i < distinct; i++) {
        double power = (double)i / distinct;
        uint32_t pick = duplex
                            ? first_above(candidates, taken, candidate_count, m, pow(m - 1, power))
                            : nearest(candidates, taken, candidate_count, pow(m, power));
        WEFT_ASSERT(pick < candidate_count);
        taken[pick] = true;
    }
    uint32_t filled = 0;
    for (uint32_t i = 0; i < candidate_count; i++) {
        if (taken[i]) {
            jumps[filled++] = candidates[i];
        }
    }
    for (uint32_t i = filled; i < count; i++) {
        jumps[i] = jumps[i - filled];
    }
}
