// SPDX-License-Identifier: Apache-2.0
// A rank of an all-reduce over MLT under any datagrams, those with the right cookie and MAC among
// them: it writes nowhere but into its own memory and vector, misses no more than its budget, sends
// what can be read, and whatever it was told, its step ends, or an error names a peer.
//
// The input: pattern u8 (1: ring), then a row of datagrams: flags u8 (1: with the cookie of a
// transfer, 2: with a MAC made for it, 4: time passes, 8: marked), which transfer u8, length u8,
// bytes.

#include "fuzz.h"

#include "runtime/mlt/engine.h"

enum { RANKS = 3, TENSORS = 3, BYTES_MAX = 256, COOKIE_AT = 16 };
static const uint32_t first[TENSORS + 1] = {0, 1, 40, 60};
static const uint64_t ms_ps = WEFT_PS_PER_S / 1000;

struct rank {
    struct lab_peer self;
    struct lab_mlt *mlt;
    float *vector;
    uint64_t now_ps;
};

static void open_rank(struct rank *rank, bool ring)
{
    struct weft_error error;
    const struct lab_mlt_options options = {
        .pattern = ring ? LAB_MLT_RING : LAB_MLT_PS,
        .tensor_count = TENSORS,
        .first = first,
        .segment_floats = 4,
        .bound = 0.3,
        .unimportant = 0.5,
        .rescales = true,
        .rate_Bps = 1e6,
        .timeout_ms = 100,
    };
    *rank = (struct rank){.self = {.rank = 1, .count = RANKS}, .now_ps = ms_ps};
    rank->vector = calloc(first[TENSORS], sizeof *rank->vector);
    WEFT_ASSERT(rank->vector != NULL);
    WEFT_ASSERT(lab_mlt_build(&rank->mlt, &rank->self, &options, rank->now_ps, &error));
    lab_mlt_begin(rank->mlt, rank->vector, rank->now_ps);
}

// A turn of its loop; false: it gave a peer up.
static bool turn(struct rank *rank)
{
    struct weft_error error = {.code = WEFT_OK};
    struct lab_mlt_packet packet;
    struct weft_mlt_message message;
    struct lab_mlt *mlt = rank->mlt;
    uint8_t bytes[sizeof packet.head + 5 * sizeof(float)];
    lab_mlt_follow(mlt);
    lab_mlt_report(mlt, rank->now_ps);
    while (lab_mlt_next(&packet, mlt, rank->now_ps, &error)) {
        WEFT_ASSERT(packet.peer < RANKS && packet.peer != 1 && packet.data_bytes <= 20);
        memcpy(bytes, packet.head, packet.head_bytes);
        if (packet.data_bytes > 0) {
            memcpy(bytes + packet.head_bytes, packet.data, packet.data_bytes);
        }
        WEFT_ASSERT(weft_mlt_message_read(&message, bytes, packet.head_bytes + packet.data_bytes,
                                          &mlt->key) == WEFT_MLT_READ);
    }
    for (uint32_t i = 0; i < 2; i++) {
        WEFT_ASSERT(mlt->budgets[i].spent_bytes <= mlt->budgets[i].limit_bytes);
    }
    WEFT_ASSERT(mlt->counts.contributions_came <= mlt->counts.contributions_due);
    if (error.code == WEFT_OK && !lab_mlt_is_done(mlt) &&
        lab_mlt_check(mlt, rank->now_ps, &error)) {
        WEFT_ASSERT(lab_mlt_due_ps(mlt, rank->now_ps) > rank->now_ps);
        return true;
    }
    if (error.code != WEFT_OK) {
        fuzz_check_line(&error);
        WEFT_ASSERT(strstr(error.message, "peer") != NULL && rank->self.blamed < RANKS);
    }
    return false;
}

static void take(struct rank *rank, uint8_t flags, uint8_t door, const uint8_t *data, size_t size)
{
    const struct lab_mlt *mlt = rank->mlt;
    uint8_t bytes[BYTES_MAX + WEFT_MLT_MAC_BYTES];
    memcpy(bytes, data, size);
    if ((flags & 1) != 0 && size >= WEFT_MLT_HEAD_BYTES) {
        memcpy(bytes + COOKIE_AT, &mlt->doors[door % mlt->door_count].cookie, sizeof(uint64_t));
    }
    if ((flags & 2) != 0) {
        mlt->key.compute(bytes + size, bytes, size, mlt->key.secret);
        size += WEFT_MLT_MAC_BYTES;
    }
    lab_mlt_take(rank->mlt, bytes, size, (flags & 8) != 0, rank->now_ps);
}

static void play(struct rank *rank, const uint8_t *data, size_t size)
{
    for (size_t at = 1; size - at >= 3;) {
        const uint8_t flags = data[at];
        const uint8_t door = data[at + 1];
        const size_t left = size - at - 3;
        const size_t length = data[at + 2] < left ? data[at + 2] : left;
        take(rank, flags, door, data + at + 3, length);
        at += 3 + length;
        rank->now_ps += (flags & 4) != 0 ? 5 * ms_ps : 0;
        if (!turn(rank)) {
            return;
        }
    }
    // Silence from here on: it gives up.
    const uint64_t end_ps = rank->now_ps + 1000 * ms_ps;
    while (turn(rank)) {
        rank->now_ps += ms_ps;
        WEFT_ASSERT(rank->now_ps < end_ps);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rank rank;
    if (size == 0) {
        return 0;
    }
    open_rank(&rank, (data[0] & 1) != 0);
    play(&rank, data, size);
    lab_mlt_release(rank.mlt);
    free(rank.vector);
    return 0;
}
