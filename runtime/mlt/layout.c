// SPDX-License-Identifier: Apache-2.0
// The cut of a vector: which segments each rank sums, and what that is of each tensor. O(tensors +
// ranks).

#include "layout.h"

// The first segment of a chunk: the least s with floor(s n / S) >= c.
static uint64_t chunk_begin(uint64_t chunk, uint64_t segments, uint64_t chunks)
{
    return (chunk * segments + chunks - 1) / chunks;
}

static uint64_t segments_of(const struct lab_mlt_options *options, uint32_t tensor)
{
    const uint64_t floats = options->first[tensor + 1] - options->first[tensor];
    return (floats + options->segment_floats - 1) / options->segment_floats;
}

static void add_piece(struct lab_mlt_chunk *chunk, const struct lab_mlt_options *options,
                      uint32_t tensor, uint64_t begin, uint64_t end)
{
    const size_t first = options->first[tensor] + begin * options->segment_floats;
    const size_t last = options->first[tensor] + end * options->segment_floats;
    const size_t tensor_end = options->first[tensor + 1];
    const struct lab_mlt_piece piece = {
        .tensor = tensor,
        .segment_count = (uint32_t)(end - begin),
        .first = first,
        .count = (last < tensor_end ? last : tensor_end) - first,
        .counted_first = chunk->counted_count,
    };
    chunk->first = chunk->piece_count == 0 ? first : chunk->first;
    chunk->count += piece.count;
    chunk->counted_count += piece.count + piece.segment_count;
    chunk->segment_count += piece.segment_count;
    chunk->bitmap_bytes += weft_mlt_bitmap_bytes(piece.segment_count);
    chunk->pieces[chunk->piece_count++] = piece;
}

// Pieces of the segments [begin, end), counted through the vector.
static void cut_chunk(struct lab_mlt_chunk *chunk, const struct lab_mlt_options *options,
                      uint64_t begin, uint64_t end, struct weft_arena *arena)
{
    chunk->pieces = WEFT_NEW(arena, struct lab_mlt_piece, options->tensor_count);
    uint64_t before = 0;
    for (uint32_t t = 0; t < options->tensor_count; t++) {
        const uint64_t count = segments_of(options, t);
        const uint64_t from = begin > before ? begin - before : 0;
        const uint64_t to = end < before + count ? end - (end < before ? end : before) : count;
        if (from < to) {
            add_piece(chunk, options, t, from, to);
        }
        before += count;
    }
}

static void make_tensors(struct lab_mlt_chunk *chunk, const struct lab_mlt_layout *layout,
                         enum lab_mlt_half half, double bound, struct weft_arena *arena)
{
    const bool counted = half == LAB_MLT_REDUCE && layout->counts;
    const uint32_t words = layout->segment_floats + (counted ? 1 : 0);
    chunk->tensors[half] = WEFT_NEW(arena, struct weft_mlt_tensor, chunk->piece_count);
    for (uint32_t p = 0; p < chunk->piece_count; p++) {
        const struct lab_mlt_piece *piece = &chunk->pieces[p];
        const size_t count = piece->count + (counted ? piece->segment_count : 0);
        struct weft_mlt_tensor *tensor = &chunk->tensors[half][p];
        *tensor = weft_mlt_tensor_of(p, piece->tensor, count * sizeof(float),
                                     words * (uint32_t)sizeof(float), 0);
        // Of the floats alone, so that counts allow for no more of them.
        tensor->bound_bytes = weft_mlt_bound_bytes(bound, piece->count * sizeof(float));
    }
}

double lab_mlt_transfer_bound(const struct lab_mlt_options *options, uint32_t rank_count,
                              double share)
{
    return options->pattern == LAB_MLT_RING && rank_count > 2 ? 2 * share / rank_count : share;
}

void lab_mlt_layout_build(struct lab_mlt_layout *layout, const struct lab_mlt_options *options,
                          uint32_t rank_count, struct weft_arena *arena)
{
    const double bound = lab_mlt_transfer_bound(
        options, rank_count, options->tensor_bound > 0 ? options->tensor_bound : options->bound);
    uint64_t segments = 0;
    *layout = (struct lab_mlt_layout){
        .chunk_count = rank_count,
        .segment_floats = options->segment_floats,
        .counts = options->pattern == LAB_MLT_RING,
        .chunks = WEFT_NEW(arena, struct lab_mlt_chunk, rank_count),
    };
    for (uint32_t t = 0; t < options->tensor_count; t++) {
        segments += segments_of(options, t);
    }
    for (uint32_t c = 0; c < rank_count; c++) {
        struct lab_mlt_chunk *chunk = &layout->chunks[c];
        cut_chunk(chunk, options, chunk_begin(c, segments, rank_count),
                  chunk_begin(c + 1, segments, rank_count), arena);
        make_tensors(chunk, layout, LAB_MLT_REDUCE, bound, arena);
        make_tensors(chunk, layout, LAB_MLT_GATHER, 0, arena);
    }
}
