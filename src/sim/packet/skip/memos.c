// SPDX-License-Identifier: Apache-2.0
// What is known of histories: by the key of all messages up to some of them, how long those took
// that ended after these, until more messages began or all had ended.
//
// A memo's key is 128 bits: that two of 2^32 histories share one by chance has a probability below
// 2^-65. What was noted twice and differed by less than 1 % may be repeated; and once so many in a
// row were the same to a thousandth, seven memos of eight are taken at their first word, until one
// is not.
// O(ends) to note.

#include "skip.h"

#include <math.h>
#include <string.h>

#define HASH_ROWS ((uint32_t)1 << 14)
#define MEMOS_MAX ((uint32_t)1 << 18)
// Of all memos together: 16 bytes each, 0.5 GB.
#define MEMO_ENDS_MAX ((uint64_t)1 << 25)
#define REPEAT_TOLERANCE_RATIO 0.01
#define SAME_TOLERANCE_RATIO 0.001
#define FIRST_SAMPLE 8u
#define SAMPLE_GROWTH 8u
#define TRUST_AGREED 16u
#define TRUST_SAMPLE 8u

struct packet_skip_memos {
    struct packet_skip_memo *rows[HASH_ROWS];
    uint32_t count;
    uint32_t agreed; // times in a row that any was the same as before
    uint64_t end_count;
};

struct packet_skip_memo *packet_skip_memo(struct packet_engine *engine, const uint64_t key[2])
{
    struct packet_skip *skip = engine->skip;
    if (skip->memos == NULL) {
        skip->memos = WEFT_NEW(engine->arena, struct packet_skip_memos, 1);
    }
    struct packet_skip_memo **row = &skip->memos->rows[key[0] % HASH_ROWS];
    for (struct packet_skip_memo *memo = *row; memo != NULL; memo = memo->next) {
        if (memo->key[0] == key[0] && memo->key[1] == key[1]) {
            return memo;
        }
    }
    if (skip->memos->count == MEMOS_MAX || skip->memos->end_count >= MEMO_ENDS_MAX) {
        return NULL;
    }
    skip->memos->count++;
    struct packet_skip_memo *memo = WEFT_NEW(engine->arena, struct packet_skip_memo, 1);
    *memo = (struct packet_skip_memo){
        .key = {key[0], key[1]}, .next_sample = FIRST_SAMPLE, .next = *row};
    *row = memo;
    return memo;
}

static void keep(struct packet_engine *engine, struct packet_skip_memo *memo,
                 const struct packet_skip_history *history, uint64_t until_ps)
{
    uint32_t count = history->end_count;
    if (count > memo->end_room) {
        engine->skip->memos->end_count += count;
        memo->ends = WEFT_NEW_RAW(engine->arena, struct packet_skip_end, count);
        memo->end_room = count;
    }
    if (count > 0) {
        memcpy(memo->ends, history->ends, count * sizeof(memo->ends[0]));
    }
    memo->end_count = count;
    memo->until_ps = until_ps;
    memo->is_known = true;
}

// How far a history is from its memo: the differences of what its messages took, in the mean and at
// most. A message that ended in one of them alone counts whole, if both reach as far.
static double compare(struct packet_engine *engine, const struct packet_skip_memo *memo,
                      const struct packet_skip_history *history, uint64_t until_ps, double *mean)
{
    struct weft_arena scratch = engine->skip->scratch;
    uint64_t *known_ps = WEFT_NEW(&scratch, uint64_t, history->member_count + 1);
    for (uint32_t i = 0; i < memo->end_count; i++) {
        known_ps[memo->ends[i].member] = memo->ends[i].took_ps;
    }
    double off = 0;
    double off_max = 0;
    uint32_t compared = 0;
    for (uint32_t i = 0; i < history->end_count; i++) {
        uint64_t before_ps = known_ps[history->ends[i].member];
        if (before_ps > 0) {
            double took_ps = (double)history->ends[i].took_ps;
            double ratio = fabs(took_ps - (double)before_ps) / took_ps;
            off += ratio;
            off_max = fmax(off_max, ratio);
            compared++;
        }
    }
    bool reaches_as_far = memo->until_ps == until_ps;
    if (reaches_as_far && (compared < memo->end_count || compared < history->end_count)) {
        off_max = 1;
    }
    *mean = off / fmax(compared, 1);
    return off_max;
}

void packet_skip_learn(struct packet_engine *engine, const struct packet_skip_history *history,
                       uint64_t until_ps)
{
    struct packet_skip *skip = engine->skip;
    struct packet_skip_memo *memo = history->memo;
    if (memo == NULL) {
        return;
    }
    if (!memo->is_known) {
        keep(engine, memo, history, until_ps);
        return;
    }
    double mean;
    double off_max = compare(engine, memo, history, until_ps, &mean);
    skip->counts.samples++;
    skip->error_sum += mean;
    skip->counts.error_max_ratio = fmax(skip->counts.error_max_ratio, off_max);
    bool agrees = off_max <= REPEAT_TOLERANCE_RATIO;
    memo->agreed = agrees ? memo->agreed + 1 : 0;
    bool is_same = off_max <= SAME_TOLERANCE_RATIO;
    skip->memos->agreed = is_same ? skip->memos->agreed + 1 : 0;
    // What agrees stays as it is, so that what follows from it recurs to the picosecond.
    if (!agrees || until_ps > memo->until_ps) {
        keep(engine, memo, history, until_ps);
    }
}

// Whether one play is enough for a memo.
static bool is_trusted(const struct packet_skip *skip, const struct packet_skip_memo *memo)
{
    return skip->memos->agreed >= TRUST_AGREED && memo->key[1] % TRUST_SAMPLE != 0;
}

bool packet_skip_is_reliable(const struct packet_skip *skip, const struct packet_skip_memo *memo)
{
    return memo->is_known && (memo->agreed > 0 || is_trusted(skip, memo));
}

bool packet_skip_is_sampled(const struct packet_skip *skip, struct packet_skip_memo *memo)
{
    if (++memo->uses != memo->next_sample) {
        return false;
    }
    memo->next_sample *= SAMPLE_GROWTH;
    return memo->uses > FIRST_SAMPLE || !is_trusted(skip, memo);
}
