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
    SKIP_PLAYED, // packet by packet
    SKIP_FROZEN, // its events are parked; how far it has come is known when it is thawed
};

// How long a message of a history took.
struct packet_skip_end {
    uint64_t took_ps;
    uint32_t member; // its place among the history's messages
};

// What is known of histories with one key: how they went on (histories.c).
struct packet_skip_memo {
    uint64_t key[2];
    uint32_t agreed; // times in a row that one went on as the one before
    uint32_t uses;   // of a beginning: since it first was to be repeated
    uint32_t next_sample;
    uint32_t breaks; // of a beginning: times that what it led to was played after all
    bool is_known;
    // The ends, in order, from the last messages on that the key knows, as long after the beginning
    // as the memo reaches; WEFT_NEVER: all of them.
    uint64_t until_ps;
    struct packet_skip_end *ends;
    uint32_t end_count;
    uint32_t end_room;
    struct packet_skip_memo *next; // in its row of the hash
};

struct packet_skip_member {
    uint64_t start_ps;
    uint32_t flow;  // whose slot it was
    uint32_t order; // of those that begin again
};

// Messages that meet on links, from the first of them until all have ended.
struct packet_skip_history {
    uint32_t serial; // of the slot's use; 0: free
    uint32_t next;   // free slot
    uint64_t key[2];
    uint32_t named; // links
    bool is_vague;  // some of its messages meet others of which nothing is known
    bool is_open;   // messages of this instant are being described
    uint32_t first; // flow of its list: those that have not ended, and all that are repeated
    uint32_t listed;
    uint32_t left;     // messages that have not ended
    uint32_t repeated; // messages that send nothing
    uint32_t inputs;   // times that messages began
    uint64_t begin_ps;
    uint64_t since_ps; // when messages began last
    uint64_t tick_ps;
    struct packet_skip_memo *root;      // of its beginning
    struct packet_skip_memo *memo;      // NULL: it is not noted
    uint32_t reported;                  // ends of the memo, of those that are repeated
    struct packet_skip_member *members; // in the order of beginning
    uint32_t member_count;
    uint32_t member_room;
    struct packet_skip_end *ends; // that were played, since messages began last
    uint32_t end_count;
    uint32_t end_room;
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
    uint32_t history; // WEFT_NONE: in none
    uint32_t behind;  // of the history's list
    uint32_t ahead;
    uint32_t member;  // its place in its history
    uint32_t stretch; // its windows are 2^stretch times as long
    bool is_repeated; // it sends nothing, and ends when one ended before
    bool is_reported; // its end is known to the caller
    double rate;      // packets a picosecond, of the equal windows
    double carry;     // the part of a packet that the last advance left out
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
    uint32_t stretch;      // windows are 2^stretch times as long as at first
    uint32_t misses;       // windows of this length that were not alike, or not the same
    uint64_t cuts;         // packets that were marked or sent again when the first window began
    double noise;          // squares of how far the message that swings most was off, summed
    uint32_t parked_first; // events, in order
    uint32_t parked_last;
    uint32_t next; // free slot
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
    uint32_t users;  // messages that have not ended
    uint32_t history;
    uint32_t history_serial;
    uint64_t name;    // in its history's key; 0: it has none yet
    uint64_t free_ps; // of a frozen group's link: when it was free
};

// What others have made of a link that a history was on before.
struct packet_skip_lent {
    uint32_t link;
    uint32_t group;
    uint32_t serial;
    uint64_t free_ps;
    uint64_t frozen_free_ps;
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
    struct packet_skip_history *histories;
    uint32_t history_free;
    uint32_t history_count;
    uint32_t history_serial;
    uint32_t held; // messages that have ended, in slots that a history may need again
    uint32_t held_max;
    // While the clock is back at the beginning of histories: those of their messages that are still
    // to begin, all others' events, and ends that are reported afterwards.
    bool is_rewinding;
    bool is_beginning; // messages wait for it
    struct packet_skip_member *replays;
    uint32_t replay_count;
    uint32_t replay_next;
    struct clock_due *aside;
    uint32_t aside_count;
    struct packet_skip_lent *lent;
    uint32_t lent_count;
    uint32_t lent_room;
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
// reported late; messages begin again; or something is due of the group or history in that slot.
#define SKIP_EVENT_BEGIN 0u
#define SKIP_EVENT_RESUME 1u
#define SKIP_EVENT_LATE 2u
#define SKIP_EVENT_REPLAY 3u
#define SKIP_EVENT_SLOTS 4u // even ones are groups, odd ones histories

static inline void packet_skip_file(struct packet_engine *engine, uint32_t index, uint64_t time_ps)
{
    clock_file(&engine->clock, (uint32_t)PACKET_EVENT_SKIP << CLOCK_KIND_SHIFT | index, time_ps);
}

// A group's next window ends, or its skip does.
static inline void packet_skip_file_tick(struct packet_engine *engine, uint32_t group,
                                         uint64_t time_ps)
{
    engine->skip->groups[group].tick_ps = time_ps;
    packet_skip_file(engine, 2 * group + SKIP_EVENT_SLOTS, time_ps);
}

// A message becomes a group, with the groups of all its links. Those that stand still are thawed
// before, since the message's packets will come to them.
void packet_skip_join(struct packet_engine *engine, uint32_t flow);
// Takes a message out of its group; gives back the slot of a group without any.
void packet_skip_remove(struct packet_skip *skip, uint32_t flow);
void packet_skip_release(struct packet_skip *skip, uint32_t group);
// A message, laid out, begins; with all others of this instant, one picosecond later.
void packet_skip_start(struct packet_engine *engine, uint32_t flow);
// A link's two groups, neither of which is WEFT_NONE, become one.
void packet_skip_meet(struct packet_engine *engine, uint32_t a, uint32_t b);
// A message has ended. False: its end is not to be reported now.
bool packet_skip_closed(struct packet_engine *engine, uint32_t flow);

// ---- windows (windows.c) ----

// A run of windows begins now.
void packet_skip_begin_measuring(struct packet_engine *engine, uint32_t group);
// Messages of the group have begun or ended: it is divided into those that there are now.
void packet_skip_regroup(struct packet_engine *engine, uint32_t group);
void packet_skip_end_window(struct packet_engine *engine, uint32_t group);

// ---- what repeats (histories.c, memos.c, replay.c) ----

// A message that begins now is a history, with those of all its links.
void packet_skip_enter(struct packet_engine *engine, uint32_t flow);
// Adds a message that has entered, as all of this instant have, to what its history is known by.
void packet_skip_describe(struct packet_engine *engine, uint32_t flow);
// Whether the history, of which all messages are described, goes on as one that is known.
bool packet_skip_recognise(struct packet_engine *engine, uint32_t history);
// A message that was played has ended.
void packet_skip_ended(struct packet_engine *engine, uint32_t flow);
void packet_skip_leave(struct packet_skip *skip, uint32_t flow);
// A message's links have one user less.
void packet_skip_vacate(struct packet_engine *engine, uint32_t flow);
void packet_skip_release_history(struct packet_skip *skip, uint32_t history);
// Makes room for one more, by powers of two, of elements of so many bytes.
void *packet_skip_grow(struct packet_engine *engine, void *from, uint32_t count, uint32_t *room,
                       size_t bytes);

// The memo of a history's key; NULL: there are too many.
struct packet_skip_memo *packet_skip_memo(struct packet_engine *engine, const uint64_t key[2]);
// Whether a memo may be repeated; and whether this use of it is to be played, to compare.
bool packet_skip_is_reliable(const struct packet_skip *skip, const struct packet_skip_memo *memo);
bool packet_skip_is_sampled(const struct packet_skip *skip, struct packet_skip_memo *memo);
// Notes how a history went on since messages began last, until a time after its beginning.
void packet_skip_learn(struct packet_engine *engine, const struct packet_skip_history *history,
                       uint64_t until_ps);

// The next end of what a history repeats is filed.
void packet_skip_file_end(struct packet_engine *engine, uint32_t history);
// It has come: a message ends, or what is known of the history does.
void packet_skip_report(struct packet_engine *engine, uint32_t history);
// The messages of a history that are repeated are to be played.
void packet_skip_want_replay(struct packet_engine *engine, uint32_t history);
// Messages begin to be played: in the groups of their links, which are measured.
void packet_skip_play(struct packet_engine *engine, const uint32_t *flows, uint32_t count);
// If there are such, the clock goes back to the first of them, to play all until now: true, and
// SKIP_EVENT_RESUME comes at this instant.
bool packet_skip_rewind(struct packet_engine *engine);
void packet_skip_replay(struct packet_engine *engine);
void packet_skip_resume(struct packet_engine *engine);
void packet_skip_report_late(struct packet_engine *engine);

// ---- a group out of time (shift.c) ----

// Takes a group's events out of the clock; it stands still. O(all pending events).
void packet_skip_freeze(struct packet_engine *engine, uint32_t group);
// Puts them back for now: its messages have gone on at their rates meanwhile.
void packet_skip_thaw(struct packet_engine *engine, uint32_t group);

#endif
