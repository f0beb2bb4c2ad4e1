// SPDX-License-Identifier: Apache-2.0
// Episodes that are repeated: their messages send nothing, and end when they ended before.
//
// A message that begins on a link of such a group finds it in the middle of what it repeats. Where
// that is, only its packets tell. So the clock goes back to the group's beginning, with all other
// events put aside, and the group is played until now; nobody else is there to notice, since groups
// share no links. Ends that have been reported are not reported again, and those that come earlier
// than the repetition would have had them are reported now. A repetition that is broken off costs
// what playing it would have cost.

#include "skip.h"

static double wire_bytes(const struct packet_engine *engine, const struct packet_flow *flow)
{
    return flow->last_bytes + (double)(flow->total - 1) * engine->setting.packet_bytes;
}

void packet_skip_repeat(struct packet_engine *engine, uint32_t id)
{
    struct packet_skip_group *group = &engine->skip->groups[id];
    const struct packet_skip_episode *episode = group->episode;
    group->state = SKIP_REPEATED;
    group->is_dirty = false;
    group->reported = 0;
    packet_skip_file_tick(engine, id, episode->begin_ps + episode->memo->ends[0].took_ps);
}

// All of an episode is over: links have carried it, and its messages' slots are free.
static void finish(struct packet_engine *engine, uint32_t id)
{
    struct packet_skip *skip = engine->skip;
    struct packet_skip_episode *episode = skip->groups[id].episode;
    for (uint32_t i = 0; i < episode->memo->count; i++) {
        uint32_t flow = episode->flows[i];
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
        skip->flows[flow].episode = NULL;
        packet_skip_remove(skip, flow);
        packet_free_flow(engine, flow);
    }
    packet_skip_release(skip, id);
    packet_skip_release_episode(episode);
}

void packet_skip_report(struct packet_engine *engine, uint32_t id)
{
    struct packet_skip_group *group = &engine->skip->groups[id];
    const struct packet_skip_episode *episode = group->episode;
    const struct packet_skip_memo *memo = episode->memo;
    const struct packet_flow *flow =
        &engine->flows[episode->flows[memo->ends[group->reported++].member]];
    engine->ended = flow->end;
    engine->ledger = (struct packet_ledger){.started_ps = flow->started_ps,
                                            .wire_bytes = wire_bytes(engine, flow),
                                            .packets = flow->total};
    engine->has_ended = true;
    if (group->reported == memo->count) {
        finish(engine, id);
    } else {
        packet_skip_file_tick(engine, id, episode->begin_ps + memo->ends[group->reported].took_ps);
    }
}

// ---- back to the beginning ----

// A group that repeats an episode and has one of the links that messages are about to use;
// WEFT_NONE: there is none.
static uint32_t find_touched(const struct packet_engine *engine)
{
    const struct packet_skip *skip = engine->skip;
    for (uint32_t i = 0; i < skip->waiting_count; i++) {
        struct packet_skip_walk walk = packet_skip_walk(engine, skip->waiting[i]);
        for (; walk.link != WEFT_NONE; packet_skip_next(engine, skip->waiting[i], &walk)) {
            const struct packet_skip_link *link = &skip->links[walk.link];
            const struct packet_skip_group *group = &skip->groups[link->group];
            if (link->serial != 0 && link->serial == group->serial &&
                group->state == SKIP_REPEATED) {
                return link->group;
            }
        }
    }
    return WEFT_NONE;
}

bool packet_skip_rewind(struct packet_engine *engine)
{
    struct packet_skip *skip = engine->skip;
    uint32_t id = find_touched(engine);
    if (id == WEFT_NONE) {
        return false;
    }
    struct packet_skip_group *group = &skip->groups[id];
    struct packet_skip_episode *episode = group->episode;
    uint64_t now_ps = engine->clock.now_ps;
    skip->before_rewind = skip->scratch;
    skip->aside_count = clock_drain(&engine->clock, &skip->aside, &skip->scratch);
    skip->is_rewinding = true;
    clock_rewind(&engine->clock, episode->begin_ps);
    packet_skip_file(engine, SKIP_EVENT_RESUME, now_ps);
    for (uint32_t i = 0; i < group->reported; i++) {
        skip->flows[episode->flows[episode->memo->ends[i].member]].is_reported = true;
    }
    group->state = SKIP_PLAYED;
    for (uint32_t i = 0; i < episode->memo->count; i++) {
        skip->flows[episode->flows[i]].episode = NULL;
        packet_begin(engine, episode->flows[i]);
    }
    packet_skip_begin_measuring(engine, id);
    packet_skip_release_episode(episode);
    skip->counts.rewinds++;
    return true;
}

void packet_skip_resume(struct packet_engine *engine)
{
    struct packet_skip *skip = engine->skip;
    skip->is_rewinding = false;
    for (uint32_t i = 0; i < skip->aside_count; i++) {
        clock_file(&engine->clock, skip->aside[i].id, skip->aside[i].time_ps);
    }
    skip->scratch = skip->before_rewind;
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
