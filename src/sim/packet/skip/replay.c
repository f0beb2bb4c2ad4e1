// SPDX-License-Identifier: Apache-2.0
// Histories that are repeated: their messages send nothing, and end when they ended before.
//
// Where messages begin in the middle of one, and what follows is not known, or where nothing begins
// though it did before, only its packets tell how it goes on. So the clock goes back to the
// history's beginning, with all other events put aside, and its messages are played until now;
// nobody else is there to notice, since histories meet on no link. Where others have come to links
// that its messages had left, those are lent for that time. Ends that have been reported are
// not reported again, and those that come earlier than the repetition would have had them are
// reported now. A repetition that is broken off costs what playing it would have cost.

#include "skip.h"

#include <stdlib.h>

static double wire_bytes(const struct packet_engine *engine, const struct packet_flow *flow)
{
    return flow->last_bytes + (double)(flow->total - 1) * engine->setting.packet_bytes;
}

static uint64_t later(uint64_t a_ps, uint64_t b_ps)
{
    return a_ps > b_ps ? a_ps : b_ps;
}

// All of a history is over: links have carried it, and its messages' slots are free.
static void finish(struct packet_engine *engine, uint32_t id)
{
    struct packet_skip *skip = engine->skip;
    struct packet_skip_history *history = &skip->histories[id];
    for (uint32_t i = 0; i < history->member_count; i++) {
        uint32_t flow = history->members[i].flow;
        const struct packet_flow *message = &engine->flows[flow];
        uint64_t bytes = (uint64_t)wire_bytes(engine, message);
        uint64_t back_bytes = (uint64_t)message->total * engine->setting.ack_bytes;
        struct packet_skip_walk walk = packet_skip_walk(engine, flow);
        for (; walk.link != WEFT_NONE; packet_skip_next(engine, flow, &walk)) {
            engine->links[walk.link].bytes += walk.is_back ? back_bytes : bytes;
        }
        engine->counts.packets += message->total;
        skip->counts.bytes += (double)bytes;
        skip->counts.repeated++;
        packet_skip_leave(skip, flow);
        packet_free_flow(engine, flow);
    }
    skip->held -= history->member_count;
    packet_skip_release_history(skip, id);
}

void packet_skip_report(struct packet_engine *engine, uint32_t id)
{
    struct packet_skip *skip = engine->skip;
    struct packet_skip_history *history = &skip->histories[id];
    if (history->reported == history->memo->end_count) {
        packet_skip_want_replay(engine, id);
        packet_skip_rewind(engine);
        return;
    }
    uint32_t member = history->memo->ends[history->reported++].member;
    uint32_t id_flow = history->members[member].flow;
    const struct packet_flow *flow = &engine->flows[id_flow];
    engine->ended = flow->end;
    engine->ledger = (struct packet_ledger){.started_ps = flow->started_ps,
                                            .wire_bytes = wire_bytes(engine, flow),
                                            .packets = flow->total};
    engine->has_ended = true;
    skip->flows[id_flow].is_reported = true;
    packet_skip_vacate(engine, id_flow);
    skip->held++;
    if (--history->left == 0) {
        finish(engine, id);
    } else {
        packet_skip_file_end(engine, id);
    }
}

// ---- back to the beginning ----

void packet_skip_play(struct packet_engine *engine, const uint32_t *flows, uint32_t count)
{
    struct packet_skip *skip = engine->skip;
    for (uint32_t i = 0; i < count; i++) {
        packet_skip_join(engine, flows[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        packet_begin(engine, flows[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id = skip->flows[flows[i]].group;
        if (skip->groups[id].tick_ps == 0) {
            packet_skip_begin_measuring(engine, id);
        }
    }
}

// Links of the messages that begin again are as they were before these began.
static void lend(struct packet_engine *engine)
{
    struct packet_skip *skip = engine->skip;
    uint64_t begin_ps = skip->replays[0].start_ps;
    skip->lent_count = 0;
    for (uint32_t i = 0; i < skip->replay_count; i++) {
        uint32_t flow = skip->replays[i].flow;
        struct packet_skip_walk walk = packet_skip_walk(engine, flow);
        for (; walk.link != WEFT_NONE; packet_skip_next(engine, flow, &walk)) {
            struct packet_skip_link *link = &skip->links[walk.link];
            uint64_t free_ps = engine->links[walk.link].free_ps;
            bool has_group = link->serial != 0 && link->serial == skip->groups[link->group].serial;
            if (!has_group && free_ps <= begin_ps) {
                continue;
            }
            WEFT_ASSERT(skip->lent_count < skip->lent_room);
            skip->lent[skip->lent_count++] = (struct packet_skip_lent){
                walk.link, link->group, has_group ? link->serial : 0, free_ps, link->free_ps};
            link->serial = 0;
            engine->links[walk.link].free_ps = free_ps < begin_ps ? free_ps : begin_ps;
        }
    }
}

// Gives them back. If some message of before is still on one, it meets those of now.
static void give_back(struct packet_engine *engine)
{
    struct packet_skip *skip = engine->skip;
    for (uint32_t i = 0; i < skip->lent_count; i++) {
        const struct packet_skip_lent *lent = &skip->lent[i];
        struct packet_skip_link *link = &skip->links[lent->link];
        uint64_t *free_ps = &engine->links[lent->link].free_ps;
        *free_ps = later(*free_ps, lent->free_ps);
        link->free_ps = lent->frozen_free_ps;
        if (lent->serial == 0 || lent->serial != skip->groups[lent->group].serial) {
            continue;
        }
        bool has_group = link->serial != 0 && link->serial == skip->groups[link->group].serial;
        uint32_t other = link->group;
        link->group = lent->group;
        link->serial = lent->serial;
        if (has_group) {
            packet_skip_meet(engine, lent->group, other);
        }
    }
}

static int compare_starts(const void *a, const void *b)
{
    const struct packet_skip_member *one = a;
    const struct packet_skip_member *two = b;
    if (one->start_ps != two->start_ps) {
        return one->start_ps < two->start_ps ? -1 : 1;
    }
    return one->order < two->order ? -1 : one->order > two->order;
}

bool packet_skip_rewind(struct packet_engine *engine)
{
    struct packet_skip *skip = engine->skip;
    if (skip->replay_count == 0) {
        return false;
    }
    uint64_t now_ps = engine->clock.now_ps;
    qsort(skip->replays, skip->replay_count, sizeof(skip->replays[0]), compare_starts);
    skip->before_rewind = skip->scratch;
    skip->aside_count = clock_drain(&engine->clock, &skip->aside, &skip->scratch);
    skip->is_rewinding = true;
    lend(engine);
    skip->replay_next = 0;
    clock_rewind(&engine->clock, skip->replays[0].start_ps);
    packet_skip_file(engine, SKIP_EVENT_RESUME, now_ps);
    packet_skip_replay(engine);
    return true;
}

void packet_skip_replay(struct packet_engine *engine)
{
    struct packet_skip *skip = engine->skip;
    struct weft_arena scratch = skip->scratch;
    uint32_t *flows = WEFT_NEW_RAW(&scratch, uint32_t, skip->replay_count);
    uint32_t count = 0;
    while (skip->replay_next < skip->replay_count &&
           skip->replays[skip->replay_next].start_ps == engine->clock.now_ps) {
        flows[count++] = skip->replays[skip->replay_next++].flow;
    }
    if (skip->replay_next < skip->replay_count) {
        packet_skip_file(engine, SKIP_EVENT_REPLAY, skip->replays[skip->replay_next].start_ps);
    }
    packet_skip_play(engine, flows, count);
}

void packet_skip_resume(struct packet_engine *engine)
{
    struct packet_skip *skip = engine->skip;
    skip->is_rewinding = false;
    skip->replay_count = 0;
    for (uint32_t i = 0; i < skip->aside_count; i++) {
        clock_file(&engine->clock, skip->aside[i].id, skip->aside[i].time_ps);
    }
    skip->scratch = skip->before_rewind;
    give_back(engine);
    for (; skip->late_filed < skip->late_count; skip->late_filed++) {
        packet_skip_file(engine, SKIP_EVENT_LATE, engine->clock.now_ps);
    }
}

void packet_skip_report_late(struct packet_engine *engine)
{
    struct packet_skip *skip = engine->skip;
    engine->ended = skip->late[skip->late_next].end;
    engine->ledger = skip->late[skip->late_next].ledger;
    engine->has_ended = true;
    if (++skip->late_next == skip->late_count) {
        skip->late_next = 0;
        skip->late_filed = 0;
        skip->late_count = 0;
    }
}
