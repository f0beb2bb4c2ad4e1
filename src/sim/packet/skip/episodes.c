// SPDX-License-Identifier: Apache-2.0
// What repeats: messages that begin together on links where nothing else is, and how long each of
// them takes.
//
// Such a group, from its beginning to its last end, is an episode. Rounds of a collective and the
// transfers of a pipeline are the same episode over and over: as many bytes on paths of the same
// links, in the same order, sharing the same ones. So links are numbered in the order in which the
// group's messages come to them, and an episode's key is a hash of what all its messages and links
// are by these numbers (Wormhole's flow conflict graphs, NSDI 2026, made canonical by the order of
// starting). It has 128 bits: that two of 2^32 episodes share one by chance has a probability below
// 2^-65. An episode into which a message comes from outside says nothing.
//
// An episode is repeated only when it was played twice and took as long to 1 %, and it is played
// and compared again after 8, 64, 512 ... uses. O(links of the paths) for each message.

#include "skip.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HASH_ROWS ((uint32_t)1 << 14)
#define MEMOS_MAX ((uint32_t)1 << 16)
// Of all memos together: 36 bytes each, 1.2 GB.
#define MEMO_MESSAGES_MAX ((uint64_t)1 << 25)
#define REPEAT_TOLERANCE_RATIO 0.01
#define FIRST_SAMPLE 8u
#define SAMPLE_GROWTH 8u

struct packet_skip_memos {
    struct packet_skip_memo *rows[HASH_ROWS];
    uint32_t count;
    uint64_t message_count;
};

// ---- keys ----

static void mix(struct packet_skip_group *group, uint64_t value)
{
    group->key[0] = weft_hash(group->key[0] ^ value);
    group->key[1] = weft_hash(group->key[1] + weft_hash(value + 1));
}

static void mix_real(struct packet_skip_group *group, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    mix(group, bits);
}

// Adds a message, which has just joined, to the key of its group.
void packet_skip_describe(struct packet_engine *engine, uint32_t flow)
{
    struct packet_skip *skip = engine->skip;
    struct packet_skip_group *group = &skip->groups[skip->flows[flow].group];
    const struct packet_flow *message = &engine->flows[flow];
    const struct packet_job *job = &engine->jobs[message->end.job];
    skip->flows[flow].member = group->begun++;
    mix(group, message->total);
    mix_real(group, message->last_bytes);
    mix_real(group, job->setting.weight_ratio);
    mix(group, job->setting.dcqcn_timer_ps);
    struct packet_skip_walk walk = packet_skip_walk(engine, flow);
    for (; walk.link != WEFT_NONE; packet_skip_next(engine, flow, &walk)) {
        struct packet_skip_link *named = &skip->links[walk.link];
        const struct packet_link *link = &engine->links[walk.link];
        bool is_new = named->named_serial != group->serial;
        if (is_new) {
            named->named_serial = group->serial;
            named->name = group->named++;
            const bool *cuts = engine->ports.cuts_through;
            mix_real(group, link->ps_per_byte);
            mix(group, link->latency_ps);
            mix(group, link->limit_ps);
            mix(group, link->mark_ps);
            mix(group, cuts != NULL && cuts[walk.link]);
        }
        mix(group, (uint64_t)named->name << 2 | (uint64_t)is_new << 1 | walk.is_back);
    }
    mix(group, UINT64_MAX);
}

// The memo of a group's episode; NULL: there are too many.
static struct packet_skip_memo *find_memo(struct packet_engine *engine,
                                          const struct packet_skip_group *group)
{
    struct packet_skip *skip = engine->skip;
    if (skip->memos == NULL) {
        skip->memos = WEFT_NEW(engine->arena, struct packet_skip_memos, 1);
    }
    struct packet_skip_memo **row = &skip->memos->rows[group->key[0] % HASH_ROWS];
    for (struct packet_skip_memo *memo = *row; memo != NULL; memo = memo->next) {
        if (memo->key[0] == group->key[0] && memo->key[1] == group->key[1] &&
            memo->count == group->begun) {
            return memo;
        }
    }
    if (skip->memos->count == MEMOS_MAX ||
        skip->memos->message_count + group->begun > MEMO_MESSAGES_MAX) {
        return NULL;
    }
    skip->memos->count++;
    skip->memos->message_count += group->begun;
    struct packet_skip_memo *memo = WEFT_NEW(engine->arena, struct packet_skip_memo, 1);
    *memo = (struct packet_skip_memo){
        .key = {group->key[0], group->key[1]},
        .count = group->begun,
        .next_sample = FIRST_SAMPLE,
        .took_ps = WEFT_NEW_RAW(engine->arena, uint64_t, group->begun),
        .ends = WEFT_NEW_RAW(engine->arena, struct packet_skip_end, group->begun),
        .next = *row,
    };
    *row = memo;
    return memo;
}

// ---- episodes ----

struct packet_skip_episode *packet_skip_take_episode(struct packet_engine *engine, uint32_t group,
                                                     bool *repeats)
{
    struct packet_skip_memo *memo = find_memo(engine, &engine->skip->groups[group]);
    if (memo == NULL) {
        return NULL;
    }
    *repeats = memo->agreed > 0 && ++memo->uses != memo->next_sample;
    if (memo->uses == memo->next_sample) {
        memo->next_sample *= SAMPLE_GROWTH;
    }
    struct packet_skip_episode *episode = memo->free;
    if (episode != NULL) {
        memo->free = episode->next;
    } else {
        episode = WEFT_NEW(engine->arena, struct packet_skip_episode, 1);
        episode->flows = WEFT_NEW_RAW(engine->arena, uint32_t, memo->count);
        episode->took_ps = WEFT_NEW_RAW(engine->arena, uint64_t, memo->count);
    }
    episode->memo = memo;
    episode->begin_ps = engine->clock.now_ps;
    episode->left = memo->count;
    episode->is_void = false;
    return episode;
}

void packet_skip_release_episode(struct packet_skip_episode *episode)
{
    episode->next = episode->memo->free;
    episode->memo->free = episode;
}

static int compare_ends(const void *a, const void *b)
{
    const struct packet_skip_end *one = a;
    const struct packet_skip_end *two = b;
    if (one->took_ps != two->took_ps) {
        return one->took_ps < two->took_ps ? -1 : 1;
    }
    return one->member < two->member ? -1 : one->member > two->member;
}

// An episode was played to its end: the memo has it from now on.
static void learn(struct packet_skip *skip, const struct packet_skip_episode *episode)
{
    struct packet_skip_memo *memo = episode->memo;
    double off = 0;
    double off_max = 0;
    for (uint32_t i = 0; i < memo->count; i++) {
        double took_ps = (double)episode->took_ps[i];
        double ratio = memo->is_known ? fabs(took_ps - (double)memo->took_ps[i]) / took_ps : 0;
        off += ratio / memo->count;
        off_max = fmax(off_max, ratio);
        memo->took_ps[i] = episode->took_ps[i];
        memo->ends[i] = (struct packet_skip_end){episode->took_ps[i], i};
    }
    qsort(memo->ends, memo->count, sizeof memo->ends[0], compare_ends);
    if (memo->is_known) {
        skip->counts.samples++;
        skip->error_sum += off;
        skip->counts.error_max_ratio = fmax(skip->counts.error_max_ratio, off_max);
        memo->agreed = off_max <= REPEAT_TOLERANCE_RATIO ? memo->agreed + 1 : 0;
    }
    memo->is_known = true;
}

void packet_skip_episode_ended(struct packet_engine *engine, uint32_t flow)
{
    struct packet_skip_flow *part = &engine->skip->flows[flow];
    struct packet_skip_episode *episode = part->episode;
    if (episode == NULL) {
        return;
    }
    part->episode = NULL;
    episode->took_ps[part->member] = engine->clock.now_ps - episode->begin_ps;
    if (--episode->left == 0) {
        if (!episode->is_void) {
            learn(engine->skip, episode);
        }
        packet_skip_release_episode(episode);
    }
}
