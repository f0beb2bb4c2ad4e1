// SPDX-License-Identifier: Apache-2.0
// All-gather and all-to-all in ceil(log2 n) rounds on any number of ranks (Bruck, Ho, Kipnis, Upfal
// and Weathersby, "Efficient algorithms for all-to-all communications in multiport message-passing
// systems", TPDS 1997), and the all-gather backward: a reduce-scatter with as few rounds and bytes
// (Traeff, "Optimal, non-pipelined reduce-scatter and allreduce algorithms", 2024).
//
// All-gather and reduce-scatter: L rounds and (n-1)/n S bytes on any n. All-to-all: L rounds; round
// t carries the blocks whose distance has bit t, L/2 S bytes in all where n = 2^L.
//
// Rank r works in a window of n blocks that begins at slot r*K, so that whatever it sends is one
// run of slots and never wraps: block b lies in slot b*K, or in (b+n)*K if b < r. Moves inside the
// ranks fill the window's part from n*K on before, or empty it afterward.

#include "writer.h"

// Fills (`spread`) or empties the upper part of each rank's window by a move inside the rank; both
// take a round of the schedule and no network time.
static void add_moves(struct weft_step_writer *writer, uint32_t round, bool spread)
{
    uint32_t n = writer->options.rank_count;
    uint32_t block = writer->options.chunk_factor;
    writer->slot_count = 2 * n * block;
    for (uint32_t r = 1; r < n; r++) {
        struct weft_step *step = weft_writer_add(writer, WEFT_STEP_COPY, round, 1, 1, r * block);
        step->from = weft_index_fixed(r);
        step->to = weft_index_fixed(r);
        step->from_slot = weft_index_fixed(spread ? 0 : n * block);
        step->to_slot = weft_index_fixed(spread ? n * block : 0);
    }
}

void weft_circulant_spread(struct weft_step_writer *writer, uint32_t round)
{
    add_moves(writer, round, true);
}

void weft_circulant_fold(struct weft_step_writer *writer, uint32_t round)
{
    add_moves(writer, round, false);
}

// With `held` blocks at each rank's own place or beyond: rank r and the one `held` further on. The
// further one's window begins `held` blocks later, or, across the end, n blocks less than that.
static void add_hop(struct weft_step_writer *writer, uint32_t round, uint32_t held, bool gather)
{
    uint32_t n = writer->options.rank_count;
    uint32_t block = writer->options.chunk_factor;
    uint32_t count = held < n - held ? held : n - held;
    struct weft_step *step = weft_writer_add(writer, gather ? WEFT_STEP_COPY : WEFT_STEP_REDUCE,
                                             round, 1, n, count * block);
    struct weft_index near = weft_index_walk(0, 1, 0, n);
    struct weft_index far = weft_index_walk(held, 1, 0, n);
    struct weft_index near_slot = weft_index_walk(0, block, 0, n * block);
    near_slot.base = held * block;
    struct weft_index far_slot = weft_index_walk(held * block, block, 0, n * block);
    step->from = gather ? far : near;
    step->to = gather ? near : far;
    step->from_slot = gather ? far_slot : near_slot;
    step->to_slot = gather ? near_slot : far_slot;
}

void weft_circulant_allgather(struct weft_step_writer *writer, uint32_t first_round)
{
    for (uint32_t t = 0; t < weft_log2_ceil(writer->options.rank_count); t++) {
        add_hop(writer, first_round + t, 1u << t, true);
    }
}

void weft_circulant_reduce_scatter(struct weft_step_writer *writer, uint32_t first_round)
{
    uint32_t rounds = weft_log2_ceil(writer->options.rank_count);
    for (uint32_t t = 0; t < rounds; t++) {
        add_hop(writer, first_round + t, 1u << (rounds - 1 - t), false);
    }
}

// Round t sends the blocks that still have bit t of their way to go, by 2^t ranks; the block for
// rank r + b lies in place b of r's window. They are runs of 2^t places, one message together.
static void add_alltoall_round(struct weft_step_writer *writer, uint32_t round, uint32_t hop)
{
    uint32_t n = writer->options.rank_count;
    uint32_t block = writer->options.chunk_factor;
    for (uint32_t place = hop; place < n; place += 2 * hop) {
        uint32_t count = hop < n - place ? hop : n - place;
        struct weft_step *step =
            weft_writer_add(writer, WEFT_STEP_COPY, round, 1, n, count * block);
        step->from = weft_index_walk(0, 1, 0, n);
        step->to = weft_index_walk(hop, 1, 0, n);
        step->from_slot = weft_index_walk(0, block, 0, n * block);
        step->from_slot.base = place * block;
        step->to_slot = weft_index_walk(hop * block, block, 0, n * block);
        step->to_slot.base = place * block;
    }
}

static void add_alltoall(struct weft_step_writer *writer)
{
    uint32_t n = writer->options.rank_count;
    uint32_t block = writer->options.chunk_factor;
    uint32_t rounds = weft_log2_ceil(n);
    weft_circulant_spread(writer, 0);
    for (uint32_t t = 0; t < rounds; t++) {
        add_alltoall_round(writer, 1 + t, 1u << t);
    }
    // What now lies in place b of rank r came from rank r - b.
    for (uint32_t place = 0; place < n; place++) {
        struct weft_step *step = weft_writer_add(writer, WEFT_STEP_COPY, 1 + rounds, 1, n, block);
        step->from = weft_index_walk(0, 1, 0, n);
        step->to = step->from;
        step->from_slot = weft_index_walk(0, block, 0, n * block);
        step->from_slot.base = place * block;
        step->to_slot = weft_index_walk((n - place) % n * block, block, 0, n * block);
    }
}

bool weft_write_bruck(struct weft_step_writer *writer, struct weft_error *error)
{
    uint32_t n = writer->options.rank_count;
    uint64_t chunk_count = (uint64_t)n * writer->options.chunk_factor;
    if (!weft_writer_chunks(writer, chunk_count, error) ||
        !weft_writer_expect(writer, 3 * (uint64_t)n + 64, error)) {
        return false;
    }
    if (writer->options.kind == WEFT_COLLECTIVE_ALLTOALL) {
        add_alltoall(writer);
        return true;
    }
    writer->port_count = 1;
    weft_circulant_allgather(writer, 0);
    weft_circulant_fold(writer, weft_log2_ceil(n));
    return true;
}
