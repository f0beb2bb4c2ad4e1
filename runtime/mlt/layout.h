// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_MLT_LAYOUT_H
#define WEFT_RUNTIME_MLT_LAYOUT_H

// A vector as the chunks that ranks sum, and chunks as tensors of the state machine.
//
// The vector's tensors are cut into segments, each by itself, so that a segment is of one tensor.
// Chunk c is the segments s of S with floor(s n / S) = c: a run of the vector, since segments are
// counted through it. A piece is what a chunk has of a tensor.
//
// Segments travel in one of two forms: plain, as they lie in the vector, or counted, behind a word
// that says of how many ranks they are the sum. A ring's reduce half is counted.

#include "runtime/mlt/allreduce.h"

enum lab_mlt_half { LAB_MLT_REDUCE, LAB_MLT_GATHER, LAB_MLT_HALVES };

struct lab_mlt_piece {
    uint32_t tensor;
    uint32_t segment_count;
    size_t first;         // in the vector, in floats
    size_t count;         // of floats
    size_t counted_first; // in the chunk's counted form, in words
};

struct lab_mlt_chunk {
    size_t first; // in the vector, in floats
    size_t count;
    size_t counted_count; // words of the counted form
    uint32_t piece_count; // 0: fewer segments than ranks
    uint32_t segment_count;
    size_t bitmap_bytes; // of all pieces, one behind the other
    struct lab_mlt_piece *pieces;
    // The pieces as both ends of a transfer have them, by half.
    struct weft_mlt_tensor *tensors[LAB_MLT_HALVES];
};

struct lab_mlt_layout {
    uint32_t chunk_count;
    uint32_t segment_floats;
    bool counts; // the reduce half is counted
    struct lab_mlt_chunk *chunks;
};

// The share of one transfer of the reduce half that may be missing, so that of the contributions of
// others to any tensor's sum not more than `share` are. A segment that a ring misses at hop t loses
// the t + 1 ranks before, so that n - 1 hops with share q lose q (1 + 2 + ... + n-1) of n - 1 at
// most: q n / 2. weft_mlt_bound_per_hop, which is larger, keeps the bound in the mean of hops that
// lose independently; these do not, as passes of all hops begin at the same places.
double lab_mlt_transfer_bound(const struct lab_mlt_options *options, uint32_t rank_count,
                              double share);
void lab_mlt_layout_build(struct lab_mlt_layout *layout, const struct lab_mlt_options *options,
                          uint32_t rank_count, struct weft_arena *arena);

// Where segments of a chunk lie: in the vector (origin 0), or in memory of their own.
struct lab_mlt_memory {
    float *data;
    size_t origin; // the vector's index of data[0], where plain
    bool counted;
};

// The first word of a segment: its first float, or its count.
static inline float *lab_mlt_segment(const struct lab_mlt_layout *layout,
                                     const struct lab_mlt_memory *memory,
                                     const struct lab_mlt_piece *piece, uint32_t segment)
{
    const size_t floats = layout->segment_floats;
    return memory->counted
               ? memory->data + piece->counted_first + (size_t)segment * (floats + 1)
               : memory->data + (piece->first - memory->origin) + (size_t)segment * floats;
}
static inline size_t lab_mlt_segment_floats(const struct lab_mlt_layout *layout,
                                            const struct lab_mlt_piece *piece, uint32_t segment)
{
    const size_t before = (size_t)segment * layout->segment_floats;
    const size_t left = piece->count - before;
    return left < layout->segment_floats ? left : layout->segment_floats;
}

#endif
