// SPDX-License-Identifier: Apache-2.0
// Trees: binomial ones, which send whole messages, and binary ones, which send chunk behind chunk
// (Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH",
// IJHPCA 2005).
//
// A broadcast takes L rounds of S bytes down a binomial tree, L (alpha + S beta), and R rounds of
// S/k down a binary one, with R = 2(floor(log2 n) + k) - 2, one less where n is a power of two, and
// k for two ranks. A reduce is the broadcast backward in time and adds gamma; an all-reduce is a
// reduce and then a broadcast.

#include "writer.h"

// One edge family of a broadcast in `round`: rank root + first + i sends to root + second + i *
// apart. Backward it happens in the mirrored round of `last_round` + 1, and adds.
struct edges {
    uint32_t first;
    uint32_t second;
    uint32_t apart;
    uint32_t count;
    uint32_t slot;
    uint32_t slot_count;
    uint32_t round;
};

// Rounds of one broadcast are [offset, offset + length).
struct span {
    bool backward;
    uint32_t offset;
    uint32_t length;
};

static void add_edges(struct weft_step_writer *writer, const struct edges *edges,
                      const struct span *span)
{
    uint32_t n = writer->options.rank_count;
    uint32_t root = writer->options.root;
    uint32_t round =
        span->offset + (span->backward ? span->length - 1 - edges->round : edges->round);
    struct weft_step *step =
        weft_writer_add(writer, span->backward ? WEFT_STEP_REDUCE : WEFT_STEP_COPY, round, 1,
                        edges->count, edges->slot_count);
    struct weft_index parents = weft_index_walk((root + edges->first) % n, 1, 0, n);
    struct weft_index children = weft_index_walk((root + edges->second) % n, edges->apart, 0, n);
    step->from = span->backward ? children : parents;
    step->to = span->backward ? parents : children;
    weft_step_slots(step, weft_index_fixed(edges->slot));
}

static void add_binomial(struct weft_step_writer *writer, const struct span *span)
{
    uint32_t n = writer->options.rank_count;
    for (uint32_t t = 0; t < span->length; t++) {
        uint32_t held = 1u << t;
        uint32_t count = held < n - held ? held : n - held;
        add_edges(writer, &(struct edges){0, held, 1, count, 0, writer->chunk_count, t}, span);
    }
}

// Adds the binary tree in heap order: node v sends to 2v+1 and 2v+2. Nodes of depth d send chunk c
// to the left in round 2(d+c) and to the right in the next, so that each sends one message a round
// and receives one every other round. Two ranks are a chain that takes a chunk a round.
static void add_binary(struct weft_step_writer *writer, const struct span *span)
{
    uint32_t n = writer->options.rank_count;
    uint32_t period = n == 2 ? 1 : 2; // rounds from a chunk to the next
    for (uint32_t d = 0; (2u << d) <= n; d++) {
        for (uint32_t side = 0; side < 2; side++) {
            uint32_t first = (2u << d) - 1 + side;
            if (first >= n) {
                continue;
            }
            uint32_t children = (n - 1 - first) / 2 + 1;
            uint32_t count = children < 1u << d ? children : 1u << d;
            for (uint32_t c = 0; c < writer->chunk_count; c++) {
                uint32_t round = period * (d + c) + side;
                add_edges(writer, &(struct edges){(1u << d) - 1, first, 2, count, c, 1, round},
                          span);
            }
        }
    }
}

// Adds what the kind asks for: a broadcast of `length` rounds backward, forward, or both.
static void add_kind(struct weft_step_writer *writer, uint32_t length,
                     void (*add)(struct weft_step_writer *writer, const struct span *span))
{
    enum weft_collective_kind kind = writer->options.kind;
    uint32_t offset = 0;
    if (kind != WEFT_COLLECTIVE_BROADCAST) {
        add(writer, &(struct span){true, 0, length});
        offset = length;
    }
    if (kind != WEFT_COLLECTIVE_REDUCE) {
        add(writer, &(struct span){false, offset, length});
    }
}

bool weft_write_binomial(struct weft_step_writer *writer, struct weft_error *error)
{
    if (!weft_writer_chunks(writer, writer->options.chunk_factor, error)) {
        return false;
    }
    writer->port_count = 1;
    add_kind(writer, weft_log2_ceil(writer->options.rank_count), add_binomial);
    return true;
}

uint32_t weft_binary_rounds(uint32_t n, uint32_t chunk_count)
{
    if (n == 2) {
        return chunk_count;
    }
    uint32_t depth = weft_log2_floor(n);
    bool lone = n == 1u << depth; // the deepest level holds one node, and that is a left child
    return 2 * (depth + chunk_count) - (lone ? 3 : 2);
}

bool weft_write_binary(struct weft_step_writer *writer, struct weft_error *error)
{
    uint32_t n = writer->options.rank_count;
    uint64_t steps = 4 * (uint64_t)weft_log2_ceil(n) * writer->options.chunk_factor;
    if (!weft_writer_chunks(writer, writer->options.chunk_factor, error) ||
        !weft_writer_expect(writer, steps, error)) {
        return false;
    }
    writer->port_count = 1;
    add_kind(writer, weft_binary_rounds(n, writer->chunk_count), add_binary);
    return true;
}
