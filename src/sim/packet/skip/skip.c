// SPDX-License-Identifier: Apache-2.0
// Skipping as the engine sees it: messages begin, and something is due of a group.
//
// All messages of one instant join their groups before the first of them sends. A group of none but
// such messages is an episode (episodes.c), which is repeated if it is known (replay.c) and
// otherwise noted as it is played; every other group is measured in windows (windows.c).

#include "skip.h"

#include <math.h>

void packet_skip_init(struct packet_engine *engine, uint32_t link_count, uint32_t flow_room,
                      struct weft_arena *arena)
{
    struct packet_skip *skip = WEFT_NEW(arena, struct packet_skip, 1);
    *skip = (struct packet_skip){
        .flows = WEFT_NEW_RAW(arena, struct packet_skip_flow, flow_room),
        .groups = WEFT_NEW(arena, struct packet_skip_group, flow_room),
        .links = WEFT_NEW(arena, struct packet_skip_link, link_count),
        .group_free = WEFT_NONE,
        .waiting = WEFT_NEW_RAW(arena, uint32_t, flow_room),
        .parked = WEFT_NEW_RAW(arena, struct packet_skip_parked, (uint32_t)1 << 26),
        .parked_free = WEFT_NONE,
        .late = WEFT_NEW_RAW(arena, struct packet_skip_late, flow_room),
        .scratch = weft_arena_split(arena),
    };
    engine->skip = skip;
}

// What a group of messages that have just begun is: an episode, repeated or noted, or one that
// others were in before.
static void begin_group(struct packet_engine *engine, uint32_t id)
{
    struct packet_skip *skip = engine->skip;
    struct packet_skip_group *group = &skip->groups[id];
    bool repeats = false;
    group->episode = NULL;
    if (group->begun == group->flow_count) {
        group->episode = packet_skip_take_episode(engine, id, &repeats);
    }
    group->has_episode = group->episode != NULL;
    if (repeats) {
        packet_skip_repeat(engine, id);
    }
}

// The messages that begin at this instant: joined to the groups of the links they use, described
// for the group's key, then started, or ended after as long as last time where the episode repeats.
static void begin_messages(struct packet_engine *engine)
{
    struct packet_skip *skip = engine->skip;
    if (packet_skip_rewind(engine)) {
        return; // SKIP_EVENT_RESUME comes back
    }
    uint32_t count = skip->waiting_count;
    skip->waiting_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        packet_skip_join(engine, skip->waiting[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        packet_skip_describe(engine, skip->waiting[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t flow = skip->waiting[i];
        struct packet_skip_flow *part = &skip->flows[flow];
        struct packet_skip_group *group = &skip->groups[part->group];
        if (part->member == 0) {
            begin_group(engine, part->group);
        }
        part->episode = group->episode;
        if (part->episode != NULL) {
            part->episode->flows[part->member] = flow;
        }
        if (group->state == SKIP_REPEATED) {
            engine->flows[flow].started_ps = engine->clock.now_ps;
        } else {
            packet_begin(engine, flow);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id = skip->flows[skip->waiting[i]].group;
        skip->groups[id].begun = 0;
        if (skip->groups[id].tick_ps == 0) {
            packet_skip_begin_measuring(engine, id);
        }
    }
}

// A window of a group has ended, or its skip, or a message of what it repeats.
static void tick(struct packet_engine *engine, uint32_t id)
{
    struct packet_skip_group *group = &engine->skip->groups[id];
    if (group->state == SKIP_FREE || group->tick_ps != engine->clock.now_ps) {
        return; // of a group that was, or filed for another instant since
    }
    if (group->state == SKIP_REPEATED) {
        packet_skip_report(engine, id);
    } else if (group->state == SKIP_FROZEN) {
        packet_skip_thaw(engine, id);
        group->is_sampling = true;
        packet_skip_file_tick(engine, id, engine->clock.now_ps + group->window_ps);
    } else if (group->is_dirty) {
        packet_skip_regroup(engine, id);
    } else if (group->is_paused) {
        packet_skip_begin_measuring(engine, id);
    } else {
        packet_skip_end_window(engine, id);
    }
}

void packet_skip_event(struct packet_engine *engine, uint32_t index)
{
    if (index >= SKIP_EVENT_GROUPS) {
        tick(engine, index - SKIP_EVENT_GROUPS);
    } else if (index == SKIP_EVENT_LATE) {
        packet_skip_report_late(engine);
    } else {
        if (index == SKIP_EVENT_RESUME) {
            packet_skip_resume(engine);
        }
        begin_messages(engine);
    }
}

struct weft_skip_counts packet_skip_counts(const struct packet_engine *engine)
{
    if (engine->skip == NULL) {
        return (struct weft_skip_counts){0};
    }
    struct weft_skip_counts counts = engine->skip->counts;
    counts.error_mean_ratio = engine->skip->error_sum / fmax(1, (double)counts.samples);
    return counts;
}
