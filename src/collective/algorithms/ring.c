// SPDX-License-Identifier: Apache-2.0
// Rings: one ring, one each way, and many (Patarasuk and Yuan, "Bandwidth optimal all-reduce
// algorithms for clusters of workstations", JPDC 2009).
//
// A reduce-scatter sends n-1 rounds of S/n bytes a rank: (n-1) alpha + (n-1)/n S (beta + gamma). An
// all-gather is the same without gamma, an all-reduce one after the other; its 2(n-1)/n S bytes are
// the least that any all-reduce can move. Two rings in opposite directions, or R rings, carry a
// half or an R-th of every block each: the same rounds and bytes a rank, spread over more links.
//
// A broadcast or reduce goes along the ring as a chain of n-1 hops, chunk behind chunk: n-2+k
// rounds of S/k bytes.

#include "writer.h"

#include <string.h>

// One of the rings that share the blocks of all ranks: rank i sends to rank i + jump, `width` slots
// from `offset` on of each block of `block` slots. With a label, ranks are positions.
struct lane {
    uint32_t label;
    uint32_t jump;
    uint32_t block;
    uint32_t offset;
    uint32_t width;
};

// Adds one pass around a ring: n-1 rounds in which every rank hands a block to the next one. In the
// first round it is the block `lag` places behind its own, and then always the block that it
// received in the round before. A reduce-scatter has lag 1, so that in the end rank r holds its own
// block in full; an all-gather has lag 0.
static void add_pass(struct weft_step_writer *writer, const struct lane *lane, enum weft_step_op op,
                     uint32_t first_round, uint32_t lag)
{
    uint32_t n = writer->options.rank_count;
    uint32_t modulus = lane->block * n;
    WEFT_ASSERT(modulus > 0);
    uint32_t back = modulus - lane->jump * lane->block;
    uint32_t start = (lane->offset + lag * back) % modulus;
    struct weft_step *step = weft_writer_add(writer, op, first_round, n - 1, n, lane->width);
    step->label = lane->label;
    step->from = weft_index_walk(0, 1, 0, n);
    step->to = weft_index_walk(lane->jump, 1, 0, n);
    weft_step_slots(step, weft_index_walk(start, lane->block, back, modulus));
}

static void add_lane(struct weft_step_writer *writer, const struct lane *lane)
{
    uint32_t n = writer->options.rank_count;
    enum weft_collective_kind kind = writer->options.kind;
    uint32_t round = 0;
    if (kind != WEFT_COLLECTIVE_ALLGATHER) {
        add_pass(writer, lane, WEFT_STEP_REDUCE, 0, 1);
        round = n - 1;
    }
    if (kind != WEFT_COLLECTIVE_REDUCE_SCATTER) {
        add_pass(writer, lane, WEFT_STEP_COPY, round, 0);
    }
}

// ---- one ring ----

// Chunk c goes from rank `first` on along n-1 hops in rounds c, c+1, ...: a step a chunk or a step
// a hop, whichever are fewer.
static bool add_chain(struct weft_step_writer *writer, enum weft_step_op op, uint32_t first,
                      struct weft_error *error)
{
    uint32_t n = writer->options.rank_count;
    uint32_t chunk_count = writer->chunk_count;
    bool by_chunk = chunk_count < n - 1;
    if (!weft_writer_expect(writer, by_chunk ? chunk_count : n - 1, error)) {
        return false;
    }
    for (uint32_t c = 0; by_chunk && c < chunk_count; c++) {
        struct weft_step *step = weft_writer_add(writer, op, c, n - 1, 1, 1);
        step->from = weft_index_walk(first, 0, 1, n);
        step->to = weft_index_walk((first + 1) % n, 0, 1, n);
        weft_step_slots(step, weft_index_fixed(c));
    }
    for (uint32_t hop = 0; !by_chunk && hop < n - 1; hop++) {
        struct weft_step *step = weft_writer_add(writer, op, hop, chunk_count, 1, 1);
        step->from = weft_index_fixed((first + hop) % n);
        step->to = weft_index_fixed((first + hop + 1) % n);
        weft_step_slots(step, weft_index_walk(0, 0, 1, chunk_count));
    }
    return true;
}

bool weft_write_ring(struct weft_step_writer *writer, struct weft_error *error)
{
    uint32_t n = writer->options.rank_count;
    uint32_t factor = writer->options.chunk_factor;
    uint32_t root = writer->options.root;
    writer->port_count = 1;
    if (writer->options.kind == WEFT_COLLECTIVE_BROADCAST) {
        return weft_writer_chunks(writer, factor, error) &&
               add_chain(writer, WEFT_STEP_COPY, root, error);
    }
    if (writer->options.kind == WEFT_COLLECTIVE_REDUCE) {
        return weft_writer_chunks(writer, factor, error) &&
               add_chain(writer, WEFT_STEP_REDUCE, (root + 1) % n, error);
    }
    if (!weft_writer_chunks(writer, (uint64_t)n * factor, error)) {
        return false;
    }
    add_lane(writer, &(struct lane){WEFT_NONE, 1, factor, 0, factor});
    return true;
}

bool weft_write_bidirectional(struct weft_step_writer *writer, struct weft_error *error)
{
    uint32_t n = writer->options.rank_count;
    uint32_t factor = writer->options.chunk_factor;
    if (!weft_writer_chunks(writer, 2 * (uint64_t)n * factor, error)) {
        return false;
    }
    writer->port_count = 2;
    add_lane(writer, &(struct lane){WEFT_NONE, 1, 2 * factor, 0, factor});
    writer->channel = 1;
    add_lane(writer, &(struct lane){WEFT_NONE, n - 1, 2 * factor, factor, factor});
    return true;
}

// ---- many rings ----

static bool check_ring(const struct weft_ring *ring, uint32_t n, struct weft_arena scratch,
                       struct weft_error *error)
{
    if (ring->member_count != n) {
        return weft_fail(error, WEFT_INPUT, "it has %u members; it needs all of the %u ranks",
                         ring->member_count, n);
    }
    bool *seen = WEFT_NEW(&scratch, bool, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t rank = ring->members[i];
        if (rank >= n || seen[rank]) {
            return weft_fail(error, WEFT_INPUT,
                             "member %u, %u, is %s; it must visit each rank once", i, rank,
                             rank >= n ? "no rank" : "there twice");
        }
        seen[rank] = true;
    }
    return true;
}

static bool copy_labels(struct weft_step_writer *writer, struct weft_error *error)
{
    uint32_t n = writer->options.rank_count;
    uint32_t count = writer->options.ring_count;
    const uint32_t **labels = WEFT_NEW(writer->arena, const uint32_t *, count);
    for (uint32_t r = 0; r < count; r++) {
        const struct weft_ring *ring = &writer->options.rings[r];
        if (!check_ring(ring, n, *writer->scratch, error)) {
            return weft_wrap(error, "ring %u", r);
        }
        uint32_t *label = WEFT_NEW_RAW(writer->arena, uint32_t, n);
        memcpy(label, ring->members, n * sizeof *label);
        labels[r] = label;
    }
    writer->labels = labels;
    writer->label_count = count;
    return true;
}

// Where it matters whose block is whose (not in an all-reduce), a ring through ranks in any order
// is no affine family of slots: a step a block, which goes around from its neighbor to its rank
// (reduce-scatter) or from its rank on (all-gather).
static void add_blocks(struct weft_step_writer *writer, const struct lane *lane)
{
    uint32_t n = writer->options.rank_count;
    bool gather = writer->options.kind == WEFT_COLLECTIVE_ALLGATHER;
    for (uint32_t x = 0; x < n; x++) {
        uint32_t first = gather ? x : (x + 1) % n;
        uint32_t slot = writer->labels[lane->label][x] * lane->block + lane->offset;
        struct weft_step *step = weft_writer_add(writer, gather ? WEFT_STEP_COPY : WEFT_STEP_REDUCE,
                                                 0, n - 1, 1, lane->width);
        step->label = lane->label;
        step->from = weft_index_walk(first, 0, 1, n);
        step->to = weft_index_walk((first + 1) % n, 0, 1, n);
        weft_step_slots(step, weft_index_fixed(slot));
    }
}

// Writes the rings that the caller gives (Hamiltonian cycles of a plan, in any order of ranks), or
// the first circulant rings: rank i sends to rank i + jump for jumps that share no divisor with n,
// four of them unless a number is asked for. Every ring takes `factor` slots of each rank's block.
// Given rings address ranks by their position; in an all-reduce the blocks may be numbered by
// position too, elsewhere the order of blocks is fixed and add_blocks writes a step a block.
bool weft_write_multi_ring(struct weft_step_writer *writer, struct weft_error *error)
{
    uint32_t n = writer->options.rank_count;
    uint32_t factor = writer->options.chunk_factor;
    bool given = writer->options.rings != NULL && writer->options.ring_count > 0;
    uint32_t jump_count = weft_jump_count(n);
    uint32_t count = writer->options.ring_count;
    if (count == 0) {
        count = jump_count < 4 ? jump_count : 4;
    }
    if (!given && count > jump_count) {
        return weft_fail(error, WEFT_INPUT,
                         "%u ranks have %u circulant rings, not %u; ask for fewer or give rings", n,
                         jump_count, count);
    }
    if (!weft_writer_chunks(writer, (uint64_t)n * factor * count, error) ||
        !weft_writer_expect(writer, (uint64_t)count * (given ? n : 2), error) ||
        (given && !copy_labels(writer, error))) {
        return false;
    }
    writer->port_count = count;
    bool by_position = given && writer->options.kind != WEFT_COLLECTIVE_ALLREDUCE;
    for (uint32_t r = 0; r < count; r++) {
        writer->channel = r;
        struct lane lane = {
            .label = given ? r : WEFT_NONE,
            .jump = given ? 1 : weft_jump_at(n, r),
            .block = factor * count,
            .offset = factor * r,
            .width = factor,
        };
        if (by_position) {
            add_blocks(writer, &lane);
        } else {
            add_lane(writer, &lane);
        }
    }
    return true;
}
