// SPDX-License-Identifier: Apache-2.0
// Recursive halving and doubling (Rabenseifner, "Optimization of collective reduction operations",
// ICCS 2004; Thakur, Rabenseifner and Gropp, IJHPCA 2005), and recursive doubling of whole messages
// (Thakur et al.).
//
// Halving and doubling: in round t of a reduce-scatter ranks that differ in one bit exchange half
// of what they still hold. L rounds and (n-1)/n S bytes: L alpha + (n-1)/n S (beta + gamma), an
// all-gather the same backward without gamma. On n that is no power of two the circulant graph of
// bruck.c takes its place, with the same rounds and bytes.
//
// Recursive doubling: all of S in each of L rounds, L (alpha + S (beta + gamma)); for other n the
// ranks beyond the largest power of two fold their input into a partner's first and get the sum
// last, floor(log2 n) + 2 rounds. As an all-gather it doubles what a rank holds, (n-1)/n S bytes in
// L rounds, on powers of two only.
//
// Of 2^L ranks those that differ in bit t form n / 2^(t+1) groups of 2^t pairs: a step a group or a
// step a pair, whichever are fewer, so that a schedule has less than 14 sqrt(n) steps.

#include "writer.h"

// What a rank sends of its half of a group's blocks in an exchange: all slots, the half of the
// other side, or its own.
enum portion {
    EVERYTHING,
    HALF_OF_OTHER,
    OWN_HALF,
};

struct exchange {
    uint32_t bit;
    uint32_t round;
    enum weft_step_op op;
    enum portion portion;
    uint32_t rank_count; // a power of two; the ranks below it take part
};

// Those on one side of the bit send to those on the other.
static void add_side(struct weft_step_writer *writer, const struct exchange *exchange,
                     uint32_t side)
{
    uint32_t ranks = exchange->rank_count;
    uint32_t n = writer->options.rank_count;
    uint32_t half = 1u << exchange->bit;
    uint32_t group_count = ranks / (2 * half);
    uint32_t block = exchange->portion == EVERYTHING ? 0 : writer->options.chunk_factor;
    uint32_t width = exchange->portion == EVERYTHING ? writer->chunk_count : half * block;
    uint32_t sent = exchange->portion == HALF_OF_OTHER ? 1 - side : side;
    bool by_pair = half <= group_count;
    for (uint32_t s = 0; s < (by_pair ? half : group_count); s++) {
        struct weft_step *step = weft_writer_add(writer, exchange->op, exchange->round, 1,
                                                 by_pair ? group_count : half, width);
        uint32_t first = by_pair ? s : s * 2 * half;
        uint32_t apart = by_pair ? 2 * half : 1;
        step->from = weft_index_walk(first + side * half, apart, 0, n);
        step->to = weft_index_walk(first + (1 - side) * half, apart, 0, n);
        if (block == 0) {
            continue;
        }
        uint32_t slot = sent * half * block;
        weft_step_slots(step, by_pair ? weft_index_walk(slot, 2 * half * block, 0, n * block)
                                      : weft_index_fixed(first * block + slot));
    }
}

static void add_exchange(struct weft_step_writer *writer, const struct exchange *exchange)
{
    add_side(writer, exchange, 0);
    add_side(writer, exchange, 1);
}

// ---- halving and doubling ----

// Adds the exchanges for n = 2^L: halving from the highest bit down, so that in the end rank r
// holds block r, then doubling from the lowest bit up.
static void add_pairwise(struct weft_step_writer *writer)
{
    enum weft_collective_kind kind = writer->options.kind;
    uint32_t n = writer->options.rank_count;
    uint32_t bits = weft_log2_floor(n);
    uint32_t round = 0;
    for (uint32_t t = 0; t < bits && kind != WEFT_COLLECTIVE_ALLGATHER; t++) {
        add_exchange(writer,
                     &(struct exchange){bits - 1 - t, round++, WEFT_STEP_REDUCE, HALF_OF_OTHER, n});
    }
    for (uint32_t t = 0; t < bits && kind != WEFT_COLLECTIVE_REDUCE_SCATTER; t++) {
        add_exchange(writer, &(struct exchange){t, round++, WEFT_STEP_COPY, OWN_HALF, n});
    }
}

// The same for other n along the circulant graph: the rounds before and after only move blocks
// inside ranks, into windows in which whatever a rank sends is one run of slots.
static void add_circulant(struct weft_step_writer *writer)
{
    enum weft_collective_kind kind = writer->options.kind;
    uint32_t rounds = weft_log2_ceil(writer->options.rank_count);
    uint32_t round = 0;
    if (kind != WEFT_COLLECTIVE_ALLGATHER) {
        weft_circulant_spread(writer, 0);
        weft_circulant_reduce_scatter(writer, 1);
        round = rounds + 1;
    }
    if (kind != WEFT_COLLECTIVE_REDUCE_SCATTER) {
        weft_circulant_allgather(writer, round);
        weft_circulant_fold(writer, round + rounds);
    }
}

bool weft_write_halving_doubling(struct weft_step_writer *writer, struct weft_error *error)
{
    uint32_t n = writer->options.rank_count;
    bool power = (n & (n - 1)) == 0;
    uint64_t chunk_count = (uint64_t)n * writer->options.chunk_factor;
    if (!weft_writer_chunks(writer, chunk_count, error) ||
        !weft_writer_expect(writer, 2 * (uint64_t)n + 64, error)) {
        return false;
    }
    writer->port_count = 1;
    if (power) {
        add_pairwise(writer);
    } else {
        add_circulant(writer);
    }
    return true;
}

// ---- recursive doubling ----

// The ranks beyond the largest power of two first add their input to that of a partner below it,
// and get the sum from it in the end.
static void add_folded(struct weft_step_writer *writer, uint32_t round, bool in)
{
    uint32_t n = writer->options.rank_count;
    uint32_t power = 1u << weft_log2_floor(n);
    if (power == n) {
        return;
    }
    struct weft_step *step = weft_writer_add(writer, in ? WEFT_STEP_REDUCE : WEFT_STEP_COPY, round,
                                             1, n - power, writer->chunk_count);
    struct weft_index extras = weft_index_walk(power, 1, 0, n);
    struct weft_index partners = weft_index_walk(0, 1, 0, n);
    step->from = in ? extras : partners;
    step->to = in ? partners : extras;
}

// Writes L exchanges of whole messages (all-reduce) or of what a rank has gathered so far
// (all-gather) among the lowest 2^floor(log2 n) ranks, with the folding rounds before and after
// where there are more.
bool weft_write_recursive_doubling(struct weft_step_writer *writer, struct weft_error *error)
{
    uint32_t n = writer->options.rank_count;
    uint32_t factor = writer->options.chunk_factor;
    uint32_t bits = weft_log2_floor(n);
    bool gather = writer->options.kind == WEFT_COLLECTIVE_ALLGATHER;
    bool power = n == 1u << bits;
    if (gather && !power) {
        return weft_fail(error, WEFT_INPUT,
                         "recursive doubling gathers on a power of two ranks, not %u; take bruck, "
                         "which needs as few rounds on any number",
                         n);
    }
    if (!weft_writer_chunks(writer, gather ? (uint64_t)n * factor : factor, error) ||
        !weft_writer_expect(writer, 2 * (uint64_t)n + 64, error)) {
        return false;
    }
    writer->port_count = 1;
    add_folded(writer, 0, true);
    uint32_t round = power ? 0 : 1;
    for (uint32_t t = 0; t < bits; t++) {
        add_exchange(writer,
                     &(struct exchange){t, round++, gather ? WEFT_STEP_COPY : WEFT_STEP_REDUCE,
                                        gather ? OWN_HALF : EVERYTHING, 1u << bits});
    }
    add_folded(writer, round, false);
    return true;
}
