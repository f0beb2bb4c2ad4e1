// SPDX-License-Identifier: Apache-2.0
// The transfers of a rank: which there are of each pattern, their memory, and the machines' ends
// that are opened for each step.
//
// Parameter servers: rank r sends chunk x to each rank x, which sums it, and then its own sum of
// chunk r to all. The first peer of a rank is the next one, the second the one behind that, so that
// not all begin with rank 0.
//
// Ring: chunk c begins at rank c + 1 and goes n - 1 hops to rank c, where it is whole; from there
// it goes n - 1 hops more. At hop t rank r sends chunk r - 1 - t, and gathering chunk r - t.

#include "engine.h"

#include <string.h>

static struct lab_mlt_outgoing *add_outgoing(struct lab_mlt *mlt, enum lab_mlt_half half,
                                             uint32_t peer, uint32_t chunk)
{
    const struct lab_mlt_chunk *what = &mlt->layout.chunks[chunk];
    struct lab_mlt_outgoing *outgoing = &mlt->outgoing[mlt->outgoing_count];
    if (what->piece_count == 0) {
        return NULL;
    }
    mlt->outgoing_count++;
    *outgoing = (struct lab_mlt_outgoing){
        .peer = peer,
        .half = half,
        .chunk = what,
        .senders = WEFT_NEW(&mlt->memory, struct weft_mlt_sender, what->piece_count),
        .order = WEFT_NEW(&mlt->memory, uint32_t, what->piece_count),
        .pending = WEFT_NEW(&mlt->memory, uint8_t, what->bitmap_bytes),
        .important = WEFT_NEW(&mlt->memory, uint8_t, what->bitmap_bytes),
    };
    mlt->peers[peer].is_partner = true;
    return outgoing;
}

static void give_memory(struct lab_mlt *mlt, struct lab_mlt_incoming *incoming)
{
    const struct lab_mlt_chunk *chunk = incoming->chunk;
    const bool counted = mlt->layout.counts;
    for (uint32_t i = 0; i < 2; i++) {
        struct lab_mlt_slot *slot = &incoming->slots[i];
        slot->receivers = WEFT_NEW(&mlt->memory, struct weft_mlt_receiver, chunk->piece_count);
        slot->have = WEFT_NEW(&mlt->memory, uint8_t, chunk->bitmap_bytes);
        if (incoming->half == LAB_MLT_REDUCE) {
            const size_t words = counted ? chunk->counted_count : chunk->count;
            slot->memory = (struct lab_mlt_memory){WEFT_NEW(&mlt->memory, float, words),
                                                   chunk->first, counted};
        }
    }
}

static struct lab_mlt_incoming *add_incoming(struct lab_mlt *mlt, enum lab_mlt_half half,
                                             uint32_t peer, uint32_t chunk)
{
    const struct lab_mlt_chunk *what = &mlt->layout.chunks[chunk];
    struct lab_mlt_incoming *incoming = &mlt->incoming[mlt->incoming_count];
    if (what->piece_count == 0) {
        return NULL;
    }
    mlt->incoming_count++;
    *incoming =
        (struct lab_mlt_incoming){.peer = peer, .half = half, .chunk = what, .then = WEFT_NONE};
    give_memory(mlt, incoming);
    mlt->peers[peer].is_partner = true;
    return incoming;
}

static void build_servers(struct lab_mlt *mlt)
{
    const uint32_t n = mlt->rank_count;
    mlt->of_rank = WEFT_NEW(&mlt->memory, uint32_t, n);
    for (uint32_t i = 1; i < n; i++) {
        const uint32_t peer = (mlt->rank + i) % n;
        mlt->of_rank[peer] = mlt->incoming_count;
        add_outgoing(mlt, LAB_MLT_REDUCE, peer, peer);
        add_outgoing(mlt, LAB_MLT_GATHER, peer, mlt->rank);
        add_incoming(mlt, LAB_MLT_REDUCE, peer, mlt->rank);
        add_incoming(mlt, LAB_MLT_GATHER, peer, peer);
    }
}

static void build_ring(struct lab_mlt *mlt)
{
    const uint32_t n = mlt->rank_count;
    const uint32_t r = mlt->rank;
    for (uint32_t half = 0; half < LAB_MLT_HALVES; half++) {
        // What rank r sends at hop 0; at each later one the chunk before.
        const uint32_t first = half == LAB_MLT_REDUCE ? r + n - 1 : r + n;
        for (uint32_t hop = 0; hop + 1 < n; hop++) {
            struct lab_mlt_outgoing *outgoing =
                add_outgoing(mlt, (enum lab_mlt_half)half, (r + 1) % n, (first - hop) % n);
            if (outgoing != NULL) {
                outgoing->hop = hop;
            }
            struct lab_mlt_incoming *incoming =
                add_incoming(mlt, (enum lab_mlt_half)half, (r + n - 1) % n, (first - hop - 1) % n);
            if (incoming != NULL) {
                incoming->hop = hop;
            }
        }
    }
    for (uint32_t i = 0; i < mlt->incoming_count; i++) {
        struct lab_mlt_incoming *incoming = &mlt->incoming[i];
        for (uint32_t o = 0; o < mlt->outgoing_count; o++) {
            const struct lab_mlt_outgoing *outgoing = &mlt->outgoing[o];
            const bool passes_on =
                outgoing->half == incoming->half && outgoing->hop == incoming->hop + 1;
            const bool begins_gathering = incoming->half == LAB_MLT_REDUCE &&
                                          incoming->hop + 2 == n &&
                                          outgoing->half == LAB_MLT_GATHER && outgoing->hop == 0;
            incoming->then = passes_on || begins_gathering ? o : incoming->then;
        }
    }
    mlt->first_hop =
        WEFT_NEW(&mlt->memory, float, mlt->layout.chunks[(r + n - 1) % n].counted_count);
}

void lab_mlt_transfers_build(struct lab_mlt *mlt)
{
    const size_t most = 2 * (size_t)mlt->rank_count;
    mlt->outgoing = WEFT_NEW(&mlt->memory, struct lab_mlt_outgoing, most);
    mlt->incoming = WEFT_NEW(&mlt->memory, struct lab_mlt_incoming, most);
    if (mlt->options.pattern == LAB_MLT_RING) {
        build_ring(mlt);
    } else {
        build_servers(mlt);
    }
}

void lab_mlt_slot_open(struct lab_mlt *mlt, struct lab_mlt_incoming *incoming, uint32_t epoch,
                       uint64_t now_ps)
{
    const bool reduces = incoming->half == LAB_MLT_REDUCE;
    const struct lab_mlt_chunk *chunk = incoming->chunk;
    struct lab_mlt_slot *slot = &incoming->slots[reduces ? epoch % 2 : 0];
    slot->step.epoch = epoch;
    size_t at = 0;
    for (uint32_t p = 0; p < chunk->piece_count; p++) {
        weft_mlt_receiver_open(&slot->receivers[p], &slot->step, &chunk->tensors[incoming->half][p],
                               reduces ? &mlt->budgets[epoch % 2] : NULL, slot->have + at, now_ps);
        at += weft_mlt_bitmap_bytes(chunk->pieces[p].segment_count);
    }
    weft_mlt_step_receiver_open(&slot->all, &slot->step, slot->receivers, chunk->piece_count);
}

// Which segments of a piece ports may drop first: those of least norm.
static void choose_classes(uint8_t *important, const struct lab_mlt *mlt,
                           const struct lab_mlt_outgoing *outgoing,
                           const struct lab_mlt_piece *piece)
{
    struct weft_arena scratch = mlt->scratch;
    double *norms = WEFT_NEW_RAW(&scratch, double, piece->segment_count);
    for (uint32_t s = 0; s < piece->segment_count; s++) {
        const float *values = lab_mlt_segment(&mlt->layout, &outgoing->memory, piece, s);
        const size_t count = lab_mlt_segment_floats(&mlt->layout, piece, s);
        weft_mlt_norms(&norms[s], values + outgoing->memory.counted, count, (uint32_t)count);
    }
    weft_mlt_classes(important, norms, piece->segment_count, mlt->options.unimportant, scratch);
}

void lab_mlt_outgoing_open(struct lab_mlt *mlt, struct lab_mlt_outgoing *outgoing)
{
    const struct lab_mlt_chunk *chunk = outgoing->chunk;
    const bool has_classes = outgoing->half == LAB_MLT_REDUCE && mlt->options.unimportant > 0;
    outgoing->step.epoch = mlt->epoch;
    outgoing->opened = true;
    size_t at = 0;
    for (uint32_t p = 0; p < chunk->piece_count; p++) {
        const struct lab_mlt_piece *piece = &chunk->pieces[p];
        uint8_t *important = NULL;
        if (has_classes) {
            important = outgoing->important + at;
            choose_classes(important, mlt, outgoing, piece);
        }
        weft_mlt_sender_open(&outgoing->senders[p], &outgoing->step,
                             &chunk->tensors[outgoing->half][p], important, outgoing->pending + at);
        at += weft_mlt_bitmap_bytes(piece->segment_count);
    }
    weft_mlt_step_sender_open(&outgoing->all, outgoing->senders, outgoing->order,
                              chunk->piece_count);
}
