// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_PACKET_SKIP_SKIP_H
#define WEFT_SIM_PACKET_SKIP_SKIP_H

// Skipping of steady states: time in which nothing changes but how far messages have come is not
// played packet by packet. docs/packet-engine.md, "Skipping what repeats", has the method and what
// it is worth; the idea is that of Wormhole (NSDI 2026, arXiv 2602.10615).
//
// Messages that share a link, by their packets or their acknowledgements, are a group; groups do
// not know of each other. groups.c keeps them, windows.c measures them in windows of time, and
// shift.c takes a group out of time and puts it back later.

#include "sim/packet/engine/engine.h"

enum packet_skip_state {
    SKIP_FREE,
    SKIP_PLAYED,   // packet by packet
    SKIP_REPEATED, // its messages end when they ended before
    SKIP_FROZEN,   // its events are parked; how far it has come is known when it is thawed
};

// How long a message of an episode took.
struct packet_skip_end {
    uint64_t took_ps;
    uint32_t member; // its place among the episode's messages
};

// What is known of episodes with one key (episodes.c).
struct packet_skip_memo {
    uint64_t key[2];
    uint32_t count; // messages
    bool is_known;
    uint32_t agreed; // times in a row that one took as long as the one before
    uint32_t uses;   // since it first was to be repeated
    uint32_t next_sample;
    uint64_t *took_ps;            // per message, in the order of beginning
    struct packet_skip_end *ends; // in the order of ending
    struct packet_skip_episode *free;
    struct packet_skip_memo *next; // in its row of the hash
};

// Messages that began together, until the last of them has ended.
struct packet_skip_episode {
    struct packet_skip_memo *memo;
    uint64_t begin_ps;
    uint32_t left;
    bool is_void;    // others came between
    uint32_t *flows; // in the order of beginning
    uint64_t *took_ps;
    struct packet_skip_episode *next; // free one
};

// The end of a message that was played after its time, to be reported.
struct packet_skip_late {
    struct packet_end end;
    struct packet_ledger ledger;
};

// A message's part in its group, by its slot of the engine's flows.
struct packet_skip_flow {
    uint32_t group; // WEFT_NONE: in none
    uint32_t next;  // of the group's list
    uint32_t prev;
    uint32_t base;    // packets that had come when the present run of equal windows began
    uint32_t mark;    // ... when the present window began
    uint32_t last;    // that came in the window before
    uint32_t advance; // packets that a thaw moves it by
    uint32_t member;  // its place in its episode
    bool is_reported; // its end is known to the caller
    struct packet_skip_episode *episode; // that it is played in; NULL: none
    double rate;                         // packets a picosecond, of the equal windows
    double carry;                        // the part of a packet that the last advance left out
};

struct packet_skip_group {
    enum packet_skip_state state;
    bool is_dirty;    // messages began or ended: what is measured is of others
    bool is_sampling; // the present window checks what was skipped
    bool is_paused;   // nothing is measured until the next tick
    uint32_t serial;  // of the slot's use
    uint32_t first;   // flow
    uint32_t flow_count;
    uint32_t windows;      // in a row that were alike
    uint32_t skip_windows; // the longest that the next skip may take
    uint32_t strikes;      // samples in a row that were not as expected
    uint32_t parked_first; // events, in order
    uint32_t parked_last;
    uint32_t next;     // free slot
    bool has_episode;  // some of its messages are noted
    uint32_t begun;    // messages of this instant
    uint32_t named;    // links of theirs
    uint32_t reported; // ends of an episode that is repeated
    uint64_t key[2];
    struct packet_skip_episode *episode; // of messages that begin, or that are repeated
    uint64_t tick_ps;
    uint64_t base_ps;
    uint64_t window_from_ps;
    uint64_t window_ps;
    uint64_t rtt_ps; // the longest smoothed round trip when the first of the windows ended
    uint64_t frozen_ps;
};

struct packet_skip_link {
    uint32_t group;
    uint32_t serial; // of the group's slot: another one, the link is in no group
    uint32_t name;   // in the key of the group with named_serial
    uint32_t named_serial;
    uint64_t free_ps; // of a frozen group's link: when it was free
};

struct packet_skip_parked {
    uint64_t time_ps;
    uint32_t id;
    uint32_t next;
};

struct packet_skip {
    struct packet_skip_flow *flows;
    struct packet_skip_group *groups;
    struct packet_skip_link *links;
    uint32_t group_free;
    uint32_t group_count;
    uint32_t *waiting; // messages that begin at the next instant
    uint32_t waiting_count;
    struct packet_skip_parked *parked;
    uint32_t parked_free;
    uint32_t parked_count;
    uint32_t serial; // of the group that was taken last
    bool is_regrouping;
    struct packet_skip_memos *memos;
    // While the clock is back at the beginning of an episode: all others' events, and ends that are
    // reported afterwards.
    bool is_rewinding;
    struct clock_due *aside;
    uint32_t aside_count;
    struct weft_arena before_rewind;
    struct packet_skip_late *late;
    uint32_t late_next;
    uint32_t late_filed; // those before have their events
    uint32_t late_count;
    struct weft_skip_counts counts;
    double error_sum;
    struct weft_arena scratch;
};

// Skipping for an engine with room for so many messages. `arena` must live as long.
void packet_skip_init(struct packet_engine *engine, uint32_t link_count, uint32_t flow_room,
                      struct weft_arena *arena);
// An event of PACKET_EVENT_SKIP.
void packet_skip_event(struct packet_engine *engine, uint32_t index);

// ---- the links of a message's packets and of its acknowledgements ----

struct packet_skip_walk {
    uint32_t link; // WEFT_NONE: all have been there
    uint32_t hop;
    bool is_back;
};

static inline void packet_skip_next(const struct packet_engine *engine, uint32_t flow,
                                    struct packet_skip_walk *walk)
{
    walk->link = engine->hops[walk->hop++];
    uint32_t back = engine->flows[flow].ack_hop;
    if (walk->link == WEFT_NONE && !walk->is_back && back != WEFT_NONE) {
        *walk = (struct packet_skip_walk){engine->hops[back], back + 1, true};
    }
}

static inline struct packet_skip_walk packet_skip_walk(const struct packet_engine *engine,
                                                       uint32_t flow)
{
    struct packet_skip_walk walk = {.hop = engine->flows[flow].data_hop};
    packet_skip_next(engine, flow, &walk);
    return walk;
}

// ---- groups (groups.c) ----

// What an event is for: messages begin; the clock is where it was before it went back; an end is
// reported late; or, from SKIP_EVENT_GROUPS on, something is due of the group in that slot.
#define SKIP_EVENT_BEGIN 0u
#define SKIP_EVENT_RESUME 1u
#define SKIP_EVENT_LATE 2u
#define SKIP_EVENT_GROUPS 3u

void packet_skip_file(struct packet_engine *engine, uint32_t index, uint64_t time_ps);
// A group's next window ends, or its skip does.
void packet_skip_file_tick(struct packet_engine *engine, uint32_t group, uint64_t time_ps);
// A message becomes a group, with the groups of all its links. Those that stand still are thawed
// before, since the message's packets will come to them.
void packet_skip_join(struct packet_engine *engine, uint32_t flow);
// Takes a message out of its group; gives back the slot of a group without any.
void packet_skip_remove(struct packet_skip *skip, uint32_t flow);
void packet_skip_release(struct packet_skip *skip, uint32_t group);
// A message, laid out, begins; with all others of this instant, one picosecond later.
void packet_skip_start(struct packet_engine *engine, uint32_t flow);
// A message has ended. False: its end is not to be reported now.
bool packet_skip_closed(struct packet_engine *engine, uint32_t flow);

// ---- windows (windows.c) ----

// A run of windows begins now.
void packet_skip_begin_measuring(struct packet_engine *engine, uint32_t group);
// Messages of the group have begun or ended: it is divided into those that there are now.
void packet_skip_regroup(struct packet_engine *engine, uint32_t group);
void packet_skip_end_window(struct packet_engine *engine, uint32_t group);

// ---- what repeats (episodes.c, replay.c) ----

// Adds a message that has just joined its group to what the group's episode is known by.
void packet_skip_describe(struct packet_engine *engine, uint32_t flow);
// The episode that begins with a group of which all messages are described; `repeats`: it is known,
// and not to be played. NULL: there is no room to note it.
struct packet_skip_episode *packet_skip_take_episode(struct packet_engine *engine, uint32_t group,
                                                     bool *repeats);
void packet_skip_release_episode(struct packet_skip_episode *episode);
// A message that was played has ended.
void packet_skip_episode_ended(struct packet_engine *engine, uint32_t flow);
// A group repeats its episode from now on.
void packet_skip_repeat(struct packet_engine *engine, uint32_t group);
// The next message of what a group repeats ends.
void packet_skip_report(struct packet_engine *engine, uint32_t group);
// If messages that wait to begin come to a group that repeats an episode, the clock goes back to
// its beginning, to play it until now: true, and SKIP_EVENT_RESUME comes at this instant.
bool packet_skip_rewind(struct packet_engine *engine);
void packet_skip_resume(struct packet_engine *engine);
void packet_skip_report_late(struct packet_engine *engine);

// ---- a group out of time (shift.c) ----

// Takes a group's events out of the clock; it stands still. O(all pending events).
void packet_skip_freeze(struct packet_engine *engine, uint32_t group);
// Puts them back for now: its messages have gone on at their rates meanwhile.
void packet_skip_thaw(struct packet_engine *engine, uint32_t group);

#endif
