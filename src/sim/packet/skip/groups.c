// SPDX-License-Identifier: Apache-2.0
// Which messages are a group: those that share links, by their packets or acknowledgements, with
// whatever is between.
//
// A message that begins joins the groups of its links, the smaller ones into the larger. One that
// ends leaves its group, whose other messages may then be several groups; which they are is found
// when its window ends (windows.c), by joining them anew. A link knows its group by slot and serial
// number, so that a group that is over leaves nothing to clear. O(links of the path) for a message
// that begins, and what merging moves: each message at most log2(messages) times.

#include "skip.h"

static uint32_t take_group(struct packet_skip *skip)
{
    uint32_t id = skip->group_free;
    if (id != WEFT_NONE) {
        skip->group_free = skip->groups[id].next;
    } else {
        id = skip->group_count++;
    }
    skip->groups[id] = (struct packet_skip_group){
        .state = SKIP_PLAYED,
        .is_dirty = true,
        .serial = ++skip->serial,
        .first = WEFT_NONE,
        .parked_first = WEFT_NONE,
        .parked_last = WEFT_NONE,
    };
    return id;
}

void packet_skip_release(struct packet_skip *skip, uint32_t id)
{
    WEFT_ASSERT(skip->groups[id].flow_count == 0 && skip->groups[id].parked_first == WEFT_NONE);
    skip->groups[id].state = SKIP_FREE;
    skip->groups[id].serial = 0;
    skip->groups[id].next = skip->group_free;
    skip->group_free = id;
}

static void add_flow(struct packet_skip *skip, uint32_t id, uint32_t flow)
{
    struct packet_skip_group *group = &skip->groups[id];
    struct packet_skip_flow *part = &skip->flows[flow];
    part->group = id;
    part->next = group->first;
    part->prev = WEFT_NONE;
    if (group->first != WEFT_NONE) {
        skip->flows[group->first].prev = flow;
    }
    group->first = flow;
    group->flow_count++;
    group->is_dirty = true;
}

void packet_skip_remove(struct packet_skip *skip, uint32_t flow)
{
    struct packet_skip_flow *part = &skip->flows[flow];
    struct packet_skip_group *group = &skip->groups[part->group];
    if (part->prev == WEFT_NONE) {
        group->first = part->next;
    } else {
        skip->flows[part->prev].next = part->next;
    }
    if (part->next != WEFT_NONE) {
        skip->flows[part->next].prev = part->prev;
    }
    group->flow_count--;
    group->is_dirty = true;
    part->group = WEFT_NONE;
}

static void label(struct packet_engine *engine, uint32_t flow)
{
    struct packet_skip *skip = engine->skip;
    uint32_t id = skip->flows[flow].group;
    struct packet_skip_walk walk = packet_skip_walk(engine, flow);
    for (; walk.link != WEFT_NONE; packet_skip_next(engine, flow, &walk)) {
        skip->links[walk.link].group = id;
        skip->links[walk.link].serial = skip->groups[id].serial;
    }
}

// Gives those of a message's links that are its group's to another one. A message that joins has
// others as well, whose groups are still to be found.
static void relabel(struct packet_engine *engine, uint32_t flow, uint32_t into)
{
    struct packet_skip *skip = engine->skip;
    uint32_t from = skip->flows[flow].group;
    struct packet_skip_walk walk = packet_skip_walk(engine, flow);
    for (; walk.link != WEFT_NONE; packet_skip_next(engine, flow, &walk)) {
        struct packet_skip_link *link = &skip->links[walk.link];
        if (link->group == from && link->serial == skip->groups[from].serial) {
            link->group = into;
            link->serial = skip->groups[into].serial;
        }
    }
}

// Moves the messages of the smaller group into the larger one.
static void merge(struct packet_engine *engine, uint32_t a, uint32_t b)
{
    struct packet_skip *skip = engine->skip;
    bool keeps_a = skip->groups[a].flow_count > skip->groups[b].flow_count;
    uint32_t from = keeps_a ? b : a;
    uint32_t into = keeps_a ? a : b;
    while (skip->groups[from].first != WEFT_NONE) {
        uint32_t flow = skip->groups[from].first;
        relabel(engine, flow, into);
        packet_skip_remove(skip, flow);
        add_flow(skip, into, flow);
    }
    packet_skip_release(skip, from);
}

static void wake(struct packet_engine *engine, uint32_t id)
{
    struct packet_skip_group *group = &engine->skip->groups[id];
    if (group->state == SKIP_FROZEN) {
        packet_skip_thaw(engine, id);
        packet_skip_file_tick(engine, id, engine->clock.now_ps + group->window_ps);
    }
}

void packet_skip_meet(struct packet_engine *engine, uint32_t a, uint32_t b)
{
    if (a != b) {
        wake(engine, a);
        wake(engine, b);
        merge(engine, a, b);
    }
}

// A message becomes a group, with the groups of all its links. Those that stand still are thawed
// before, since the message's packets will come to them.
void packet_skip_join(struct packet_engine *engine, uint32_t flow)
{
    struct packet_skip *skip = engine->skip;
    add_flow(skip, take_group(skip), flow);
    struct packet_skip_walk walk = packet_skip_walk(engine, flow);
    for (; walk.link != WEFT_NONE; packet_skip_next(engine, flow, &walk)) {
        const struct packet_skip_link *link = &skip->links[walk.link];
        uint32_t other = link->group;
        if (link->serial == 0 || skip->groups[other].serial != link->serial ||
            other == skip->flows[flow].group) {
            continue;
        }
        wake(engine, other);
        merge(engine, skip->flows[flow].group, other);
    }
    label(engine, flow);
}

// ---- messages ----

void packet_skip_start(struct packet_engine *engine, uint32_t flow)
{
    struct packet_skip *skip = engine->skip;
    if (skip->waiting_count == 0) {
        packet_skip_file(engine, SKIP_EVENT_BEGIN, engine->clock.now_ps + 1);
    }
    skip->waiting[skip->waiting_count++] = flow;
    const struct packet_flow *message = &engine->flows[flow];
    skip->counts.of_bytes +=
        message->last_bytes + (double)(message->total - 1) * engine->setting.packet_bytes;
}

bool packet_skip_closed(struct packet_engine *engine, uint32_t flow)
{
    struct packet_skip *skip = engine->skip;
    uint32_t id = skip->flows[flow].group;
    WEFT_ASSERT(skip->groups[id].state == SKIP_PLAYED);
    packet_skip_remove(skip, flow);
    packet_skip_ended(engine, flow);
    if (skip->groups[id].flow_count == 0) {
        packet_skip_release(skip, id);
    }
    if (skip->flows[flow].is_reported) {
        skip->flows[flow].is_reported = false;
        return false;
    }
    if (skip->is_rewinding) {
        skip->late[skip->late_count++] = (struct packet_skip_late){engine->ended, engine->ledger};
        return false;
    }
    return true;
}
