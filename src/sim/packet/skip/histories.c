// SPDX-License-Identifier: Apache-2.0
// What repeats: messages that share links, from the first of them until all have ended, when which
// of them began, and how long each of them took.
//
// Such a history begins on links where nothing else is, and a message that begins on a link where
// another one is becomes part of that one's. So nothing but its own messages, and the times between
// them, decides how it goes on. Rounds of a collective and the transfers of pipelines
// are the same history over and over: as many bytes on paths of the same links, in the same order,
// sharing the same ones, after the same times. So links are named in the order in which messages
// come to them, and a history's key is a hash of what all its messages and links are by these names
// and of when the messages began (Wormhole's flow conflict graphs, NSDI 2026, made canonical by the
// order of starting, and continued where messages meet others that are on their way).
//
// Each time that messages begin the key becomes another one, which has a memo of its own
// (memos.c): of what ended until messages began again. O(links of the paths) for each message, and
// what uniting histories moves.

#include "skip.h"

#include <string.h>

// Times that messages begin in a history. What lasts longer is never the same.
#define INPUTS_MAX 256u
// A beginning that led to something new in more than half of its uses, and these, is played.
#define BREAKS_MIN 16u

static void mix(struct packet_skip_history *history, uint64_t value)
{
    history->key[0] = weft_hash(history->key[0] ^ value);
    history->key[1] = weft_hash(history->key[1] + weft_hash(value + 1));
}

static void mix_real(struct packet_skip_history *history, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    mix(history, bits);
}

void *packet_skip_grow(struct packet_engine *engine, void *from, uint32_t count, uint32_t *room,
                       size_t bytes)
{
    if (count < *room) {
        return from;
    }
    *room = *room < 4 ? 4 : 2 * *room;
    char *grown = WEFT_NEW_RAW(engine->arena, char, *room *bytes);
    if (count > 0) {
        memcpy(grown, from, count * bytes);
    }
    return grown;
}

// ---- which messages are a history ----

static uint32_t take_history(struct packet_skip *skip)
{
    uint32_t id = skip->history_free;
    if (id != WEFT_NONE) {
        skip->history_free = skip->histories[id].next;
    } else {
        id = skip->history_count++;
    }
    struct packet_skip_history *history = &skip->histories[id];
    *history = (struct packet_skip_history){
        .serial = ++skip->history_serial,
        .first = WEFT_NONE,
        .members = history->members,
        .member_room = history->member_room,
        .ends = history->ends,
        .end_room = history->end_room,
    };
    return id;
}

void packet_skip_release_history(struct packet_skip *skip, uint32_t id)
{
    skip->histories[id].serial = 0;
    skip->histories[id].next = skip->history_free;
    skip->history_free = id;
}

static void list(struct packet_skip *skip, uint32_t id, uint32_t flow)
{
    struct packet_skip_history *history = &skip->histories[id];
    struct packet_skip_flow *part = &skip->flows[flow];
    part->history = id;
    part->behind = history->first;
    part->ahead = WEFT_NONE;
    if (history->first != WEFT_NONE) {
        skip->flows[history->first].ahead = flow;
    }
    history->first = flow;
    history->listed++;
}

void packet_skip_leave(struct packet_skip *skip, uint32_t flow)
{
    struct packet_skip_flow *part = &skip->flows[flow];
    struct packet_skip_history *history = &skip->histories[part->history];
    if (part->ahead == WEFT_NONE) {
        history->first = part->behind;
    } else {
        skip->flows[part->ahead].behind = part->behind;
    }
    if (part->behind != WEFT_NONE) {
        skip->flows[part->behind].ahead = part->ahead;
    }
    history->listed--;
    part->history = WEFT_NONE;
}

static bool is_of(const struct packet_skip *skip, const struct packet_skip_link *link, uint32_t id)
{
    return link->history == id && link->history_serial == skip->histories[id].serial;
}

void packet_skip_vacate(struct packet_engine *engine, uint32_t flow)
{
    struct packet_skip_walk walk = packet_skip_walk(engine, flow);
    for (; walk.link != WEFT_NONE; packet_skip_next(engine, flow, &walk)) {
        engine->skip->links[walk.link].users--;
    }
}

// Links that are a history's already keep their names.
static void label(struct packet_engine *engine, uint32_t flow)
{
    struct packet_skip *skip = engine->skip;
    uint32_t id = skip->flows[flow].history;
    struct packet_skip_walk walk = packet_skip_walk(engine, flow);
    for (; walk.link != WEFT_NONE; packet_skip_next(engine, flow, &walk)) {
        struct packet_skip_link *link = &skip->links[walk.link];
        link->users++;
        if (!is_of(skip, link, id)) {
            link->history = id;
            link->history_serial = skip->histories[id].serial;
            link->name = 0;
        }
    }
}

// Gives those of a message's links that are its history's to another one, under other names.
static void relabel(struct packet_engine *engine, uint32_t flow, uint32_t into)
{
    struct packet_skip *skip = engine->skip;
    uint32_t from = skip->flows[flow].history;
    uint64_t salt = skip->histories[into].key[0];
    struct packet_skip_walk walk = packet_skip_walk(engine, flow);
    for (; walk.link != WEFT_NONE; packet_skip_next(engine, flow, &walk)) {
        struct packet_skip_link *link = &skip->links[walk.link];
        if (is_of(skip, link, from)) {
            link->history = into;
            link->history_serial = skip->histories[into].serial;
            link->name = link->name == 0 ? 0 : weft_hash(link->name ^ salt);
        }
    }
}

// Messages are about to join a history: what was played of it so far is noted.
static void open_history(struct packet_engine *engine, struct packet_skip_history *history)
{
    if (!history->is_open && history->member_count > 0) {
        if (history->repeated == 0) {
            packet_skip_learn(engine, history, engine->clock.now_ps - history->begin_ps);
        }
        history->end_count = 0;
    }
    history->is_open = true;
}

static void add_member(struct packet_engine *engine, struct packet_skip_history *history,
                       struct packet_skip_member member)
{
    history->members = packet_skip_grow(engine, history->members, history->member_count,
                                        &history->member_room, sizeof(member));
    history->members[history->member_count++] = member;
}

// The one with fewer messages becomes part of the other. Which one that is depends on what both are
// known by, so that it is the same for histories that are the same.
static void unite(struct packet_engine *engine, uint32_t own, uint32_t other)
{
    struct packet_skip *skip = engine->skip;
    struct packet_skip_history *a = &skip->histories[own];
    struct packet_skip_history *b = &skip->histories[other];
    open_history(engine, a);
    open_history(engine, b);
    bool keeps_own = a->member_count > b->member_count ||
                     (a->member_count == b->member_count && a->listed > b->listed);
    uint32_t from_id = keeps_own ? other : own;
    uint32_t into_id = keeps_own ? own : other;
    struct packet_skip_history *from = &skip->histories[from_id];
    struct packet_skip_history *into = &skip->histories[into_id];
    if (from->member_count > 0) {
        mix(into, from->key[0]);
        mix(into, from->begin_ps - into->begin_ps);
        into->begin_ps = from->begin_ps < into->begin_ps ? from->begin_ps : into->begin_ps;
    }
    uint32_t first = into->member_count;
    for (uint32_t i = 0; i < from->member_count; i++) {
        add_member(engine, into, from->members[i]);
    }
    while (from->first != WEFT_NONE) {
        uint32_t flow = from->first;
        if (!skip->flows[flow].is_reported) {
            relabel(engine, flow, into_id);
        }
        packet_skip_leave(skip, flow);
        list(skip, into_id, flow);
        skip->flows[flow].member += first;
    }
    into->left += from->left;
    into->repeated += from->repeated;
    into->inputs += from->inputs;
    into->is_vague |= from->is_vague;
    packet_skip_release_history(skip, from_id);
}

void packet_skip_enter(struct packet_engine *engine, uint32_t flow)
{
    struct packet_skip *skip = engine->skip;
    struct packet_skip_flow *part = &skip->flows[flow];
    *part = (struct packet_skip_flow){.group = WEFT_NONE};
    uint32_t id = take_history(skip);
    list(skip, id, flow);
    skip->histories[id].left = 1;
    struct packet_skip_walk walk = packet_skip_walk(engine, flow);
    for (; walk.link != WEFT_NONE; packet_skip_next(engine, flow, &walk)) {
        const struct packet_skip_link *link = &skip->links[walk.link];
        if (link->users == 0) {
            continue;
        }
        if (!is_of(skip, link, link->history)) {
            skip->histories[part->history].is_vague = true;
        } else if (link->history != part->history) {
            unite(engine, part->history, link->history);
        }
    }
    label(engine, flow);
}

// ---- keys ----

void packet_skip_describe(struct packet_engine *engine, uint32_t flow)
{
    struct packet_skip *skip = engine->skip;
    struct packet_skip_flow *part = &skip->flows[flow];
    struct packet_skip_history *history = &skip->histories[part->history];
    const struct packet_flow *message = &engine->flows[flow];
    const struct packet_job *job = &engine->jobs[message->end.job];
    uint64_t now_ps = engine->clock.now_ps;
    if (history->member_count == 0) {
        history->begin_ps = now_ps;
    }
    if (history->member_count == 0 || history->since_ps != now_ps) {
        history->since_ps = now_ps;
        history->inputs++;
        history->is_open = true;
        mix(history, now_ps - history->begin_ps);
    }
    part->member = history->member_count;
    add_member(engine, history, (struct packet_skip_member){.start_ps = now_ps, .flow = flow});
    mix(history, message->total);
    mix_real(history, message->last_bytes);
    mix_real(history, job->setting.weight_ratio);
    mix(history, job->setting.dcqcn_timer_ps);
    struct packet_skip_walk walk = packet_skip_walk(engine, flow);
    for (; walk.link != WEFT_NONE; packet_skip_next(engine, flow, &walk)) {
        struct packet_skip_link *named = &skip->links[walk.link];
        const struct packet_link *link = &engine->links[walk.link];
        bool is_new = named->name == 0;
        if (is_new) {
            named->name = ++history->named;
            const bool *cuts = engine->ports.cuts_through;
            mix_real(history, link->ps_per_byte);
            mix(history, link->latency_ps);
            mix(history, link->limit_ps);
            mix(history, link->mark_ps);
            mix(history, cuts != NULL && cuts[walk.link]);
        }
        mix(history, named->name << 2 | (uint64_t)is_new << 1 | walk.is_back);
    }
    mix(history, UINT64_MAX);
}

// ---- what is known ----

// Whether a history may go on as a memo has it: none of the ends to come has been reported, and no
// other message is left.
static bool fits(const struct packet_skip *skip, const struct packet_skip_history *history,
                 const struct packet_skip_memo *memo)
{
    if (memo->until_ps == WEFT_NEVER && memo->end_count != history->left) {
        return false;
    }
    for (uint32_t i = 0; i < memo->end_count; i++) {
        uint32_t flow = history->members[memo->ends[i].member].flow;
        if (skip->flows[flow].is_reported) {
            return false;
        }
    }
    return true;
}

// A beginning is played now and then, to compare; and where what follows is seldom known.
static bool is_played_again(const struct packet_skip *skip, struct packet_skip_memo *memo)
{
    return packet_skip_is_sampled(skip, memo) ||
           (memo->breaks > BREAKS_MIN && memo->breaks > memo->uses / 2);
}

static bool is_known(struct packet_skip *skip, const struct packet_skip_history *history,
                     struct packet_skip_memo *memo, uint32_t fresh)
{
    bool all_repeat = history->repeated + fresh == history->member_count;
    if (!packet_skip_is_reliable(skip, memo) || !all_repeat ||
        skip->held + history->member_count > skip->held_max || !fits(skip, history, memo)) {
        return false;
    }
    return history->inputs > 1 || !is_played_again(skip, memo);
}

// The next end of what a history repeats is filed, or the end of what is known of it.
void packet_skip_file_end(struct packet_engine *engine, uint32_t id)
{
    struct packet_skip_history *history = &engine->skip->histories[id];
    const struct packet_skip_memo *memo = history->memo;
    uint64_t time_ps = memo->until_ps + 1; // something began there before
    if (history->reported < memo->end_count) {
        const struct packet_skip_end *end = &memo->ends[history->reported];
        time_ps = history->members[end->member].start_ps + end->took_ps;
    } else {
        WEFT_ASSERT(memo->until_ps != WEFT_NEVER);
        time_ps += history->begin_ps;
    }
    history->tick_ps = time_ps > engine->clock.now_ps ? time_ps : engine->clock.now_ps;
    packet_skip_file(engine, 2 * id + 1 + SKIP_EVENT_SLOTS, history->tick_ps);
}

void packet_skip_want_replay(struct packet_engine *engine, uint32_t id)
{
    struct packet_skip *skip = engine->skip;
    struct packet_skip_history *history = &skip->histories[id];
    if (history->repeated == 0) {
        return;
    }
    for (uint32_t i = 0; i < history->member_count; i++) {
        uint32_t flow = history->members[i].flow;
        struct packet_skip_flow *part = &skip->flows[flow];
        // The slot of a message that was played may be another one's by now.
        if (part->history != id || part->member != i || !part->is_repeated) {
            continue;
        }
        part->is_repeated = false;
        history->left += part->is_reported;
        skip->held -= part->is_reported;
        skip->replays[skip->replay_count] = (struct packet_skip_member){
            .start_ps = history->members[i].start_ps, .flow = flow, .order = skip->replay_count};
        skip->replay_count++;
    }
    history->repeated = 0;
    history->tick_ps = 0;
    if (history->root != NULL) {
        history->root->breaks++;
    }
    skip->counts.rewinds++;
}

// What the history is known by is of no use: its messages are in none from now on.
static void forget(struct packet_engine *engine, uint32_t id)
{
    struct packet_skip *skip = engine->skip;
    struct packet_skip_history *history = &skip->histories[id];
    while (history->first != WEFT_NONE) {
        packet_skip_leave(skip, history->first);
    }
    packet_skip_release_history(skip, id);
}

bool packet_skip_recognise(struct packet_engine *engine, uint32_t id)
{
    struct packet_skip *skip = engine->skip;
    struct packet_skip_history *history = &skip->histories[id];
    history->is_open = false;
    history->reported = 0;
    bool is_noted = history->inputs <= INPUTS_MAX && !history->is_vague;
    history->memo = is_noted ? packet_skip_memo(engine, history->key) : NULL;
    if (history->inputs == 1) {
        history->root = history->memo;
    }
    uint32_t fresh = 0;
    for (uint32_t i = 0; i < history->member_count; i++) {
        fresh += history->members[i].start_ps == history->since_ps;
    }
    if (history->memo == NULL || !is_known(skip, history, history->memo, fresh)) {
        packet_skip_want_replay(engine, id);
        if (history->memo == NULL) {
            forget(engine, id);
        }
        return false;
    }
    for (uint32_t i = 0; i < history->member_count; i++) {
        if (history->members[i].start_ps == history->since_ps) {
            uint32_t flow = history->members[i].flow;
            skip->flows[flow].is_repeated = true;
            engine->flows[flow].started_ps = history->since_ps;
        }
    }
    history->repeated = history->member_count;
    packet_skip_file_end(engine, id);
    return true;
}

void packet_skip_ended(struct packet_engine *engine, uint32_t flow)
{
    struct packet_skip *skip = engine->skip;
    const struct packet_skip_flow *part = &skip->flows[flow];
    uint32_t id = part->history;
    if (!part->is_reported) {
        packet_skip_vacate(engine, flow);
    }
    if (id == WEFT_NONE) {
        return;
    }
    struct packet_skip_history *history = &skip->histories[id];
    uint64_t now_ps = engine->clock.now_ps;
    if (now_ps > history->since_ps) {
        history->ends = packet_skip_grow(engine, history->ends, history->end_count,
                                         &history->end_room, sizeof(history->ends[0]));
        history->ends[history->end_count++] =
            (struct packet_skip_end){now_ps - engine->flows[flow].started_ps, part->member};
    }
    packet_skip_leave(skip, flow);
    if (--history->left == 0) {
        packet_skip_learn(engine, history, WEFT_NEVER);
        packet_skip_release_history(skip, id);
    }
}
