// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_COLLECTIVE_RECURSIVE_H
#define WEFT_COLLECTIVE_RECURSIVE_H

// Recursive exchange over a chip's own circuits (LUMORPH, arXiv 2501.18169): which radices, for a
// size, and whether circuits change between rounds.
//
//   chips + size ──► [recursive] ──► radices, rounds ──► weft_algorithm_build, engines
//
// A chip's wavelengths go to any other chips, so that any set of chips will do. In round k, of
// radix r, a chip has r - 1 circuits at once, each of 1 / (r - 1) of its wavelengths (rounded down
// where they are counted). Times are by formula; docs/circuits.md, "Collectives on direct
// circuits", has it.

#include "weft/collective.h"

WEFT_API_BEGIN

#define WEFT_RADICES_MAX 32u

struct weft_recursive_options {
    enum weft_collective_kind kind; // ALLREDUCE, REDUCE_SCATTER or ALLGATHER
    uint32_t chip_count;            // > 1
    uint32_t wavelengths;           // of a chip, all for circuits; 0 = its rate is divided at will
    uint32_t circuits_max;          // of a chip at once: radices are at most one more; 0 = no limit
    double rate_Bps;                // of a chip, all its wavelengths together
    double hop_s;                   // of a message
    double change_s;                // of circuits; all change at once
};

enum weft_recursive_policy {
    WEFT_RECURSIVE_ALWAYS, // published: every round sets its circuits anew
    WEFT_RECURSIVE_KEEP,   // circuits stay where the next round has the same
    WEFT_RECURSIVE_CHOOSE, // as well, and rounds may run over the ring that is there at first
};

// Chips begin as a ring in their order, half of their wavelengths each way (one wavelength: one
// way). Leaving it is a change.
struct weft_recursive_plan {
    double seconds; // INFINITY: no radices are small enough
    bool is_ring;   // the ring algorithm on the ring; no radices
    uint32_t radix_count;
    uint32_t radices[WEFT_RADICES_MAX]; // the outermost first, as weft_algorithm_options has them
    uint32_t round_count;
    uint64_t stays; // bit t: round t runs over the ring
    uint32_t change_count;
};

// The ring algorithm: 2 (n-1) (hop + S / n rate), half of it for a half.
double weft_recursive_ring_seconds(const struct weft_recursive_options *options, double size_bytes);
// Given radices, whose product is the number of chips.
void weft_recursive_follow(struct weft_recursive_plan *plan,
                           const struct weft_recursive_options *options, double size_bytes,
                           enum weft_recursive_policy policy, const uint32_t *radices,
                           uint32_t radix_count, struct weft_arena scratch);
// The least time over all radices in all orders, the ring algorithm among them; with CHOOSE over
// all choices of rounds that stay on the ring, too. Exact: a dynamic program over the divisors that
// are the products of the first radices, and over what is wired at either end of the rounds that
// are left. O(divisors^2 + divisors chips circuits).
void weft_recursive_best(struct weft_recursive_plan *plan,
                         const struct weft_recursive_options *options, double size_bytes,
                         enum weft_recursive_policy policy, struct weft_arena scratch);

// What of the ring algorithm's time is to be saved, and by which radices (none: the best ones).
struct weft_recursive_goal {
    double saved_ratio; // 0 to 1
    enum weft_recursive_policy policy;
    const uint32_t *radices;
    uint32_t radix_count;
};
// The largest size, in whole bytes, at which that is saved; 0: none is small enough, INFINITY: all
// are up to 2^60. What is saved falls as sizes grow, since no collective moves fewer bytes than a
// ring.
double weft_recursive_regime(const struct weft_recursive_goal *goal,
                             const struct weft_recursive_options *options,
                             struct weft_arena scratch);

WEFT_API_END

#endif
