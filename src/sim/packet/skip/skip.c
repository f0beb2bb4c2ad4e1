// SPDX-License-Identifier: Apache-2.0
// Skipping as the engine sees it: messages begin, and something is due of a group.
//
// All messages of one instant join their histories (histories.c) before the first of them sends.
// Those of a history that is known are repeated (replay.c); all others join their groups
// (groups.c), which are measured in windows (windows.c), and what becomes of them is noted.

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
        .histories = WEFT_NEW(arena, struct packet_skip_history, flow_room),
        .replays = WEFT_NEW_RAW(arena, struct packet_skip_member, flow_room),
        .lent = WEFT_NEW_RAW(arena, struct packet_skip_lent, link_count),
        .lent_room = link_count,
        .group_free = WEFT_NONE,
        .history_free = WEFT_NONE,
        .held_max = flow_room / 2,
        .waiting = WEFT_NEW_RAW(arena, uint32_t, flow_room),
        .parked = WEFT_NEW_RAW(arena, struct packet_skip_parked, (uint32_t)1 << 26),
        .parked_free = WEFT_NONE,
        .late = WEFT_NEW_RAW(arena, struct packet_skip_late, flow_room),
        .scratch = weft_arena_split(arena),
    };
    engine->skip = skip;
}

// Those of the messages that wait which are not repeated are played from now on.
static void play_waiting(struct packet_engine *engine)
{
    struct packet_skip *skip = engine->skip;
    uint32_t count = 0;
    for (uint32_t i = 0; i < skip->waiting_count; i++) {
        uint32_t flow = skip->waiting[i];
        if (!skip->flows[flow].is_repeated) {
            skip->waiting[count++] = flow;
        }
    }
    skip->waiting_count = 0;
    skip->is_beginning = false;
    packet_skip_play(engine, skip->waiting, count);
}

// The messages that begin at this instant: each is part of a history, which is repeated if it is
// known. What is to be played, and has been repeated until now, is played until now before.
static void begin_messages(struct packet_engine *engine)
{
    struct packet_skip *skip = engine->skip;
    for (uint32_t i = 0; i < skip->waiting_count; i++) {
        packet_skip_enter(engine, skip->waiting[i]);
    }
    for (uint32_t i = 0; i < skip->waiting_count; i++) {
        packet_skip_describe(engine, skip->waiting[i]);
    }
    for (uint32_t i = 0; i < skip->waiting_count; i++) {
        uint32_t history = skip->flows[skip->waiting[i]].history;
        if (history != WEFT_NONE && skip->histories[history].is_open) {
            packet_skip_recognise(engine, history);
        }
    }
    skip->is_beginning = packet_skip_rewind(engine);
    if (!skip->is_beginning) {
        play_waiting(engine);
    }
}

// A window of a group has ended, or its skip.
static void tick(struct packet_engine *engine, uint32_t id)
{
    struct packet_skip_group *group = &engine->skip->groups[id];
    if (group->state == SKIP_FREE || group->tick_ps != engine->clock.now_ps) {
        return; // of a group that was, or filed for another instant since
    }
    if (group->state == SKIP_FROZEN) {
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

// A slot's group or history.
static void slot_event(struct packet_engine *engine, uint32_t slot)
{
    const struct packet_skip_history *history = &engine->skip->histories[slot / 2];
    if (slot % 2 == 0) {
        tick(engine, slot / 2);
    } else if (history->serial != 0 && history->tick_ps == engine->clock.now_ps) {
        packet_skip_report(engine, slot / 2);
    }
}

void packet_skip_event(struct packet_engine *engine, uint32_t index)
{
    switch (index) {
    case SKIP_EVENT_BEGIN:
        begin_messages(engine);
        break;
    case SKIP_EVENT_RESUME:
        packet_skip_resume(engine);
        if (engine->skip->is_beginning) {
            play_waiting(engine);
        }
        break;
    case SKIP_EVENT_LATE:
        packet_skip_report_late(engine);
        break;
    case SKIP_EVENT_REPLAY:
        packet_skip_replay(engine);
        break;
    default:
        slot_event(engine, index - SKIP_EVENT_SLOTS);
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
