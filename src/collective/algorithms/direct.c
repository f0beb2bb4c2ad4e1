// SPDX-License-Identifier: Apache-2.0
// Everybody to everybody, staggered: in round t rank r sends to rank r + 1 + t, so that each rank
// sends and receives one message a round (pairwise exchange, Thakur et al. 2005). An
// all-to-all, all-gather or reduce-scatter takes n-1 rounds of S/n bytes: (n-1) alpha + (n-1)/n S
// beta, plus gamma for what is added. A broadcast or reduce is a star of n-1 messages of S.
//
// And the all-to-all in two stages, for n = g s ranks in s servers of g (as NCCL's PXN and
// hierarchical all-to-alls of MoE libraries do): first among the ranks of a server, so that each
// block is on its destination's rail, then along the rails. g-1 rounds of S/g bytes and s-1 rounds
// of S/s: (g+s-2) alpha + ((g-1)/g + (s-1)/s) S beta, with s-1 instead of n-g messages that leave a
// server.

#include "writer.h"

static void add_ranks(struct weft_step *step, uint32_t n)
{
    step->from = weft_index_walk(0, 1, 0, n);
    step->to = weft_index_walk(1, 1, 1, n);
}

static void add_alltoall(struct weft_step_writer *writer)
{
    uint32_t n = writer->options.rank_count;
    uint32_t block = writer->options.chunk_factor;
    uint32_t modulus = n * block;
    writer->slot_count = 2 * modulus;
    writer->output_first = modulus;
    struct weft_step *own = weft_writer_add(writer, WEFT_STEP_COPY, 0, 1, n, block);
    own->from = weft_index_walk(0, 1, 0, n);
    own->to = own->from;
    own->from_slot = weft_index_walk(0, block, 0, modulus);
    own->to_slot = own->from_slot;
    own->to_slot.base = modulus; // the output
    struct weft_step *step = weft_writer_add(writer, WEFT_STEP_COPY, 0, n - 1, n, block);
    add_ranks(step, n);
    step->from_slot = weft_index_walk(block, block, block, modulus);
    step->to_slot = own->to_slot;
}

// The root and each other rank in turn.
static void add_star(struct weft_step_writer *writer)
{
    uint32_t n = writer->options.rank_count;
    bool reduce = writer->options.kind == WEFT_COLLECTIVE_REDUCE;
    struct weft_index root = weft_index_fixed(writer->options.root);
    struct weft_index others = weft_index_walk((writer->options.root + 1) % n, 0, 1, n);
    struct weft_step *step = weft_writer_add(writer, reduce ? WEFT_STEP_REDUCE : WEFT_STEP_COPY, 0,
                                             n - 1, 1, writer->chunk_count);
    step->from = reduce ? others : root;
    step->to = reduce ? root : others;
}

// Writes the star of a rooted kind, the all-to-all (into output slots of its own), or a
// reduce-scatter, an all-gather or both.
bool weft_write_direct(struct weft_step_writer *writer, struct weft_error *error)
{
    uint32_t n = writer->options.rank_count;
    uint32_t block = writer->options.chunk_factor;
    enum weft_collective_kind kind = writer->options.kind;
    writer->port_count = 1;
    if (kind == WEFT_COLLECTIVE_BROADCAST || kind == WEFT_COLLECTIVE_REDUCE) {
        if (!weft_writer_chunks(writer, block, error)) {
            return false;
        }
        add_star(writer);
        return true;
    }
    if (!weft_writer_chunks(writer, (uint64_t)n * block, error)) {
        return false;
    }
    if (kind == WEFT_COLLECTIVE_ALLTOALL) {
        add_alltoall(writer);
        return true;
    }
    uint32_t round = 0;
    if (kind != WEFT_COLLECTIVE_ALLGATHER) {
        struct weft_step *step = weft_writer_add(writer, WEFT_STEP_REDUCE, 0, n - 1, n, block);
        add_ranks(step, n);
        weft_step_slots(step, weft_index_walk(block, block, block, n * block));
        round = n - 1;
    }
    if (kind != WEFT_COLLECTIVE_REDUCE_SCATTER) {
        struct weft_step *step = weft_writer_add(writer, WEFT_STEP_COPY, round, n - 1, n, block);
        add_ranks(step, n);
        weft_step_slots(step, weft_index_walk(0, block, 0, n * block));
    }
    return true;
}

// ---- in two stages ----

// Rank (a, l) is the l-th of server a, that is a*g + l. In stage 1 it gives (a, m) all its blocks
// for rail m, which lie g blocks apart, one for each server b. There they wait in the upper slots,
// ordered by b and then l, so that stage 2 takes one run of g blocks to (b, m).
struct stages {
    uint32_t inside; // g, ranks a server
    uint32_t servers;
    uint32_t block;
    uint32_t upper; // the first of the upper slots
};

// From each rank of server a to each other one of it: the block for server b.
static void add_inside(struct weft_step_writer *writer, const struct stages *stages, uint32_t a,
                       uint32_t b)
{
    uint32_t g = stages->inside;
    uint32_t block = stages->block;
    uint32_t modulus = g * block;
    struct weft_step *step = weft_writer_add(writer, WEFT_STEP_COPY, 0, g - 1, g, block);
    add_ranks(step, g);
    step->from.base = a * g;
    step->to.base = a * g;
    step->from_slot = weft_index_walk(block, block, block, modulus);
    step->from_slot.base = b * modulus;
    step->to_slot = weft_index_walk(0, block, 0, modulus);
    step->to_slot.base = stages->upper + b * modulus;
}

// Of each rank the block for its own rail on server b.
static void add_inside_own(struct weft_step_writer *writer, const struct stages *stages, uint32_t b)
{
    uint32_t n = writer->options.rank_count;
    uint32_t modulus = stages->inside * stages->block;
    struct weft_step *step = weft_writer_add(writer, WEFT_STEP_COPY, 0, 1, n, stages->block);
    step->from = weft_index_walk(0, 1, 0, n);
    step->to = step->from;
    step->from_slot = weft_index_walk(0, stages->block, 0, modulus);
    step->from_slot.base = b * modulus;
    step->to_slot = step->from_slot;
    step->to_slot.base += stages->upper;
}

// Stage 2 on one rail: what a rank of server a has waiting for server b is one run of g blocks,
// which goes to the rank of the same rail there; its own run is copied to the output.
static void add_along_rail(struct weft_step_writer *writer, const struct stages *stages,
                           uint32_t rail)
{
    uint32_t n = writer->options.rank_count;
    uint32_t g = stages->inside;
    uint32_t s = stages->servers;
    uint32_t width = g * stages->block;
    struct weft_step *own = weft_writer_add(writer, WEFT_STEP_COPY, g - 1, 1, s, width);
    own->from = weft_index_walk(rail, g, 0, n);
    own->to = own->from;
    own->to_slot = weft_index_walk(0, width, 0, s * width);
    own->from_slot = own->to_slot;
    own->from_slot.base = stages->upper;
    struct weft_step *step = weft_writer_add(writer, WEFT_STEP_COPY, g - 1, s - 1, s, width);
    step->from = weft_index_walk(rail, g, 0, n);
    step->to = weft_index_walk(rail + g, g, g, n);
    step->from_slot = weft_index_walk(width, width, width, s * width);
    step->from_slot.base = stages->upper;
    step->to_slot = own->to_slot;
}

// Writes both stages. With one rank a server, or one server, one stage is all there is.
bool weft_write_staged(struct weft_step_writer *writer, struct weft_error *error)
{
    uint32_t n = writer->options.rank_count;
    uint32_t g = writer->options.shape[0];
    uint32_t s = writer->options.shape[1];
    uint64_t chunk_count = (uint64_t)n * writer->options.chunk_factor;
    if (g == 1 || s == 1) { // one stage is all there is
        return weft_write_direct(writer, error);
    }
    if (!weft_writer_chunks(writer, chunk_count, error) ||
        !weft_writer_expect(writer, (uint64_t)s * s + s + 2 * (uint64_t)g, error)) {
        return false;
    }
    struct stages stages = {g, s, writer->options.chunk_factor, writer->chunk_count};
    writer->slot_count = 2 * writer->chunk_count;
    writer->port_count = s; // in stage 1 a message is s pieces
    for (uint32_t b = 0; b < s; b++) {
        add_inside_own(writer, &stages, b);
        for (uint32_t a = 0; a < s; a++) {
            add_inside(writer, &stages, a, b);
        }
    }
    for (uint32_t rail = 0; rail < g; rail++) {
        add_along_rail(writer, &stages, rail);
    }
    return true;
}
