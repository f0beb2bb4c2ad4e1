// SPDX-License-Identifier: Apache-2.0
// What follows what in a step: contributions become sums, sums go out, hops follow one another. And
// when a step is over, or given up.
//
// Sums are made in the order of ranks (parameter servers) or of hops (ring), so that the bits do
// not depend on what came first. What a sum lacks counts as zero, or the sum is multiplied by the
// ranks over those that are in it, segment by segment: then it is unbiased where loss does not
// depend on what is lost (measurement of arXiv 2507.07114; weft/mlt.h, weft_mlt_scale). In a ring a
// missing segment is replaced by the rank's own, as a sum of one, so that counts stay true.

#include "engine.h"

#include <string.h>

// ---- sums ----

static void note_ratio(struct lab_mlt *mlt, double ratio)
{
    struct lab_mlt_counts *counts = &mlt->counts;
    counts->delivered_min_ratio =
        ratio < counts->delivered_min_ratio ? ratio : counts->delivered_min_ratio;
}

static void note_delivered(struct lab_mlt *mlt, const struct lab_mlt_incoming *incoming)
{
    const struct lab_mlt_slot *slot = lab_mlt_current(mlt, incoming);
    for (uint32_t p = 0; p < slot->all.count; p++) {
        const uint64_t due = incoming->chunk->pieces[p].count;
        const uint64_t came = due - slot->receivers[p].missing_bytes / sizeof(float);
        mlt->counts.contributions_due += due;
        mlt->counts.contributions_came += came;
        note_ratio(mlt, (double)came / (double)due);
    }
}

// What a sum of `count` ranks is multiplied by.
static float scale_of(const struct lab_mlt *mlt, uint32_t count)
{
    return mlt->options.rescales ? (float)mlt->rank_count / (float)count : 1;
}

static void add(float *sum, const float *values, size_t count, bool is_first)
{
    for (size_t i = 0; i < count; i++) {
        sum[i] = is_first ? values[i] : sum[i] + values[i];
    }
}

// One segment of the own chunk: `sum` has room for it.
static void sum_segment(struct lab_mlt *mlt, float *sum, uint32_t piece, uint32_t segment)
{
    const struct lab_mlt_layout *layout = &mlt->layout;
    const struct lab_mlt_piece *what = &layout->chunks[mlt->rank].pieces[piece];
    const struct lab_mlt_memory own = {.data = mlt->vector};
    const size_t floats = lab_mlt_segment_floats(layout, what, segment);
    float *values = lab_mlt_segment(layout, &own, what, segment);
    uint32_t in_sum = 0;
    for (uint32_t rank = 0; rank < mlt->rank_count; rank++) {
        if (rank == mlt->rank) {
            add(sum, values, floats, in_sum++ == 0);
            continue;
        }
        const struct lab_mlt_slot *slot = lab_mlt_current(mlt, &mlt->incoming[mlt->of_rank[rank]]);
        if (weft_mlt_bit(slot->receivers[piece].have, segment)) {
            add(sum, lab_mlt_segment(layout, &slot->memory, what, segment), floats, in_sum++ == 0);
        }
    }
    const float scale = scale_of(mlt, in_sum);
    for (size_t i = 0; i < floats; i++) {
        values[i] = scale * sum[i];
    }
}

static void sum_servers(struct lab_mlt *mlt)
{
    const struct lab_mlt_chunk *chunk = &mlt->layout.chunks[mlt->rank];
    struct weft_arena scratch = mlt->scratch;
    float *sum = WEFT_NEW_RAW(&scratch, float, mlt->layout.segment_floats);
    for (uint32_t p = 0; p < chunk->piece_count; p++) {
        for (uint32_t s = 0; s < chunk->pieces[p].segment_count; s++) {
            sum_segment(mlt, sum, p, s);
        }
    }
}

// ---- a ring's hops ----

// The word before a segment's floats.
static uint32_t count_of(const float *segment)
{
    uint32_t count;
    memcpy(&count, segment, sizeof count);
    return count;
}

static void set_count(float *segment, uint32_t count)
{
    memcpy(segment, &count, sizeof count);
}

// Puts the rank's own chunk into counted form: a sum of one.
static void count_own(struct lab_mlt *mlt, struct lab_mlt_outgoing *outgoing)
{
    const struct lab_mlt_memory own = {.data = mlt->vector};
    outgoing->memory = (struct lab_mlt_memory){.data = mlt->first_hop, .counted = true};
    for (uint32_t p = 0; p < outgoing->chunk->piece_count; p++) {
        const struct lab_mlt_piece *piece = &outgoing->chunk->pieces[p];
        for (uint32_t s = 0; s < piece->segment_count; s++) {
            float *to = lab_mlt_segment(&mlt->layout, &outgoing->memory, piece, s);
            set_count(to, 1);
            memcpy(to + 1, lab_mlt_segment(&mlt->layout, &own, piece, s),
                   lab_mlt_segment_floats(&mlt->layout, piece, s) * sizeof(float));
        }
    }
}

// Adds the rank's own to what came.
static void add_own(struct lab_mlt *mlt, const struct lab_mlt_incoming *incoming,
                    const struct lab_mlt_slot *slot)
{
    const struct lab_mlt_memory own = {.data = mlt->vector};
    for (uint32_t p = 0; p < incoming->chunk->piece_count; p++) {
        const struct lab_mlt_piece *piece = &incoming->chunk->pieces[p];
        for (uint32_t s = 0; s < piece->segment_count; s++) {
            float *sum = lab_mlt_segment(&mlt->layout, &slot->memory, piece, s);
            const bool came = weft_mlt_bit(slot->receivers[p].have, s);
            // A count comes from a peer: more than the ranks before this one are none.
            const uint32_t before = came ? count_of(sum) : 0;
            set_count(sum, (before < incoming->hop + 1 ? before : incoming->hop + 1) + 1);
            add(sum + 1, lab_mlt_segment(&mlt->layout, &own, piece, s),
                lab_mlt_segment_floats(&mlt->layout, piece, s), !came);
        }
    }
}

// The last hop: the sums of this rank's chunk, with the own in them, go into the vector.
static void store_ring(struct lab_mlt *mlt, const struct lab_mlt_chunk *chunk,
                       const struct lab_mlt_slot *slot)
{
    const struct lab_mlt_memory own = {.data = mlt->vector};
    for (uint32_t p = 0; p < chunk->piece_count; p++) {
        const struct lab_mlt_piece *piece = &chunk->pieces[p];
        const uint64_t due = (uint64_t)piece->count * (mlt->rank_count - 1);
        uint64_t came = 0;
        for (uint32_t s = 0; s < piece->segment_count; s++) {
            const float *sum = lab_mlt_segment(&mlt->layout, &slot->memory, piece, s);
            float *values = lab_mlt_segment(&mlt->layout, &own, piece, s);
            const size_t floats = lab_mlt_segment_floats(&mlt->layout, piece, s);
            const float scale = scale_of(mlt, count_of(sum));
            for (size_t i = 0; i < floats; i++) {
                values[i] = scale * sum[1 + i];
            }
            came += (count_of(sum) - 1) * floats;
        }
        mlt->counts.contributions_due += due;
        mlt->counts.contributions_came += came;
        note_ratio(mlt, (double)came / (double)due);
    }
}

// ---- what follows ----

static void pass_on(struct lab_mlt *mlt, struct lab_mlt_incoming *incoming)
{
    const struct lab_mlt_slot *slot = lab_mlt_current(mlt, incoming);
    const bool reduces = incoming->half == LAB_MLT_REDUCE;
    if (reduces) {
        add_own(mlt, incoming, slot);
    }
    if (reduces && incoming->hop + 2 == mlt->rank_count) {
        store_ring(mlt, incoming->chunk, slot);
    }
    if (incoming->then != WEFT_NONE) {
        struct lab_mlt_outgoing *outgoing = &mlt->outgoing[incoming->then];
        if (outgoing->half == LAB_MLT_REDUCE) {
            outgoing->memory = slot->memory;
        }
        lab_mlt_outgoing_open(mlt, outgoing);
    }
}

static void serve(struct lab_mlt *mlt, struct lab_mlt_incoming *incoming)
{
    if (incoming->half == LAB_MLT_GATHER) {
        return;
    }
    note_delivered(mlt, incoming);
    if (--mlt->waiting > 0) {
        return;
    }
    sum_servers(mlt);
    for (uint32_t i = 0; i < mlt->outgoing_count; i++) {
        if (mlt->outgoing[i].half == LAB_MLT_GATHER) {
            lab_mlt_outgoing_open(mlt, &mlt->outgoing[i]);
        }
    }
}

void lab_mlt_follow(struct lab_mlt *mlt)
{
    for (uint32_t i = 0; i < mlt->incoming_count; i++) {
        struct lab_mlt_incoming *incoming = &mlt->incoming[i];
        if (incoming->followed ||
            !weft_mlt_step_receiver_done(&lab_mlt_current(mlt, incoming)->all)) {
            continue;
        }
        incoming->followed = true;
        if (mlt->options.pattern == LAB_MLT_RING) {
            pass_on(mlt, incoming);
        } else {
            serve(mlt, incoming);
        }
    }
}

void lab_mlt_begin(struct lab_mlt *mlt, float *vector, uint64_t now_ps)
{
    mlt->epoch++;
    mlt->vector = vector;
    mlt->begin_ps = now_ps;
    mlt->moved_ps = now_ps;
    mlt->waiting = 0;
    mlt->counts.steps++;
    const uint32_t next = mlt->epoch + 1;
    mlt->budgets[next % 2].spent_bytes = 0;
    for (uint32_t i = 0; i < mlt->incoming_count; i++) {
        struct lab_mlt_incoming *incoming = &mlt->incoming[i];
        const bool reduces = incoming->half == LAB_MLT_REDUCE;
        incoming->followed = false;
        if (!reduces) {
            incoming->slots[0].memory = (struct lab_mlt_memory){.data = vector};
        }
        lab_mlt_slot_open(mlt, incoming, reduces ? next : mlt->epoch, now_ps);
        mlt->waiting += reduces;
    }
    for (uint32_t i = 0; i < mlt->outgoing_count; i++) {
        struct lab_mlt_outgoing *outgoing = &mlt->outgoing[i];
        outgoing->memory = (struct lab_mlt_memory){.data = vector};
        if (outgoing->half != LAB_MLT_REDUCE || outgoing->hop > 0) {
            continue;
        }
        if (mlt->layout.counts) {
            count_own(mlt, outgoing);
        }
        lab_mlt_outgoing_open(mlt, outgoing);
    }
}

// ---- the end ----

static bool is_sent(const struct lab_mlt *mlt, struct lab_mlt_outgoing *outgoing)
{
    return outgoing->opened && outgoing->step.epoch == mlt->epoch &&
           weft_mlt_step_sender_done(&outgoing->all);
}

bool lab_mlt_is_done(struct lab_mlt *mlt)
{
    bool done = true;
    for (uint32_t i = 0; i < mlt->incoming_count && done; i++) {
        done = mlt->incoming[i].followed;
    }
    for (uint32_t i = 0; i < mlt->outgoing_count && done; i++) {
        done = is_sent(mlt, &mlt->outgoing[i]);
    }
    return done;
}

// When a peer of which something is due was heard last, in this step. The step's begin, since it
// may have waited for this rank until then.
static uint64_t heard_ps(const struct lab_mlt *mlt, uint32_t peer)
{
    const uint64_t heard = mlt->peers[peer].heard_ps;
    return heard > mlt->begin_ps ? heard : mlt->begin_ps;
}

// The one of those of which something is due that was silent longest; WEFT_NONE: nothing is due.
static uint32_t find_silent(struct lab_mlt *mlt)
{
    uint32_t silent = WEFT_NONE;
    for (uint32_t i = 0; i < mlt->incoming_count; i++) {
        const uint32_t peer = mlt->incoming[i].peer;
        if (!mlt->incoming[i].followed &&
            (silent == WEFT_NONE || heard_ps(mlt, peer) < heard_ps(mlt, silent))) {
            silent = peer;
        }
    }
    for (uint32_t i = 0; i < mlt->outgoing_count; i++) {
        const uint32_t peer = mlt->outgoing[i].peer;
        if (mlt->outgoing[i].step.epoch == mlt->epoch && !is_sent(mlt, &mlt->outgoing[i]) &&
            (silent == WEFT_NONE || heard_ps(mlt, peer) < heard_ps(mlt, silent))) {
            silent = peer;
        }
    }
    return silent;
}

// Peers are there, and nothing moves: the machine that waits for data says what is missing.
static bool say_stuck(struct lab_mlt *mlt, uint64_t now_ps, struct weft_error *error)
{
    for (uint32_t i = 0; i < mlt->incoming_count; i++) {
        struct lab_mlt_incoming *incoming = &mlt->incoming[i];
        if (!incoming->followed &&
            !weft_mlt_step_receiver_check(&lab_mlt_current(mlt, incoming)->all, now_ps, error)) {
            mlt->self->blamed = incoming->peer;
            return weft_wrap(error, "rank %u: from peer %u", mlt->rank, incoming->peer);
        }
    }
    return true;
}

bool lab_mlt_check(struct lab_mlt *mlt, uint64_t now_ps, struct weft_error *error)
{
    const uint64_t patience_ps = mlt->limits.patience_ps;
    const uint32_t silent = find_silent(mlt);
    if (silent != WEFT_NONE && now_ps - heard_ps(mlt, silent) >= patience_ps) {
        mlt->self->blamed = silent;
        return weft_fail(error, WEFT_IO, "rank %u: peer %u was silent for %u ms in step %u",
                         mlt->rank, silent, mlt->options.timeout_ms, mlt->epoch);
    }
    // Peers that are there may themselves wait for one that is not, and say so first.
    return now_ps - mlt->moved_ps < 2 * patience_ps || say_stuck(mlt, now_ps, error);
}
