// SPDX-License-Identifier: Apache-2.0
// By server and by rail: for n = g s ranks in s servers of g, a reduce-scatter inside the servers,
// an all-reduce among the ranks with the same place in their servers (a rail), and an all-gather
// inside (Cho et al., "BlueConnect", SysML 2019; NCCL on several NICs). All phases are rings.
//
// An all-reduce takes 2(g+s-2) rounds instead of a ring's 2(n-1), and moves the same 2(n-1)/n S
// bytes a rank, of which only 2(s-1)/s S/g leave the server.

#include "writer.h"

// A reduce-scatter or all-gather inside the servers and one along the rails. For an all-reduce,
// what is a rail's part does not matter, and the l-th rank of each server takes the l-th run of s
// blocks. Else rank (a, l) owns block a*g + l, and a rail's part is a block of each server.
struct levels {
    uint32_t inside; // g
    uint32_t servers;
    uint32_t block;
    bool runs;
};

static void add_inside(struct weft_step_writer *writer, const struct levels *levels,
                       enum weft_step_op op, uint32_t round)
{
    uint32_t g = levels->inside;
    uint32_t s = levels->servers;
    uint32_t block = levels->block;
    uint32_t pieces = levels->runs ? 1 : s;
    for (uint32_t a = 0; a < s && g > 1; a++) {
        for (uint32_t b = 0; b < pieces; b++) {
            struct weft_line line = {
                .first = a * g,
                .stride = 1,
                .size = g,
                .slot = b * g * block,
                .slot_stride = levels->runs ? s * block : block,
                .width = levels->runs ? s * block : block,
            };
            weft_line_pass(writer, &line, op, round);
        }
    }
}

static void add_along_rails(struct weft_step_writer *writer, const struct levels *levels,
                            enum weft_step_op op, uint32_t round)
{
    uint32_t g = levels->inside;
    uint32_t s = levels->servers;
    uint32_t block = levels->block;
    for (uint32_t l = 0; l < g && s > 1; l++) {
        struct weft_line line = {
            .first = l,
            .stride = g,
            .size = s,
            .slot = levels->runs ? l * s * block : l * block,
            .slot_stride = levels->runs ? block : g * block,
            .width = block,
        };
        weft_line_pass(writer, &line, op, round);
    }
}

// Writes the phases of the kind. The claim of ports is one where a phase's message is one run of
// slots; where rank r must own block r, a message comes in as many pieces as there are servers.
bool weft_write_hierarchical(struct weft_step_writer *writer, struct weft_error *error)
{
    enum weft_collective_kind kind = writer->options.kind;
    struct levels levels = {
        .inside = writer->options.shape[0],
        .servers = writer->options.shape[1],
        .block = writer->options.chunk_factor,
        .runs = kind == WEFT_COLLECTIVE_ALLREDUCE,
    };
    uint64_t servers = levels.servers;
    uint64_t steps = 2 * (levels.inside + servers * (levels.runs ? 1 : servers));
    if (!weft_writer_chunks(writer, (uint64_t)writer->options.rank_count * levels.block, error) ||
        !weft_writer_expect(writer, steps, error)) {
        return false;
    }
    writer->port_count = levels.runs || levels.inside == 1 ? 1 : levels.servers;
    uint32_t round = 0;
    if (kind != WEFT_COLLECTIVE_ALLGATHER) {
        add_inside(writer, &levels, WEFT_STEP_REDUCE, 0);
        add_along_rails(writer, &levels, WEFT_STEP_REDUCE, levels.inside - 1);
        round = levels.inside + levels.servers - 2;
    }
    if (kind != WEFT_COLLECTIVE_REDUCE_SCATTER) {
        add_along_rails(writer, &levels, WEFT_STEP_COPY, round);
        add_inside(writer, &levels, WEFT_STEP_COPY, round + levels.servers - 1);
    }
    return true;
}
