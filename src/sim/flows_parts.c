// SPDX-License-Identifier: Apache-2.0
// A list of flows in parts: what happens between windows.

#include "flows.h"

#include <math.h>

// A slot whose flow is over waits until none of its packets can be on their way, and its timers
// have ended: what comes next does not depend on which slots are used again.
struct rest {
    uint64_t until_ps;
    uint32_t flow;
};

struct office {
    struct flows_player *player;
    struct packet_parts *parts;
    uint32_t *record;   // per slot: its flow's; WEFT_NONE: none
    struct rest *rests; // a ring, in order of their beginning
    uint32_t rest_first;
    uint32_t rest_count;
};

bool flows_cut(struct packet_cut *cut, const struct flows_player *player, struct weft_arena *arena,
               struct weft_arena scratch)
{
    const struct weft_simnet *net = &player->net;
    const struct weft_flow_list *flows = player->flows;
    uint32_t wanted = net->options->parts;
    if (wanted < 2 || !packet_parts_can(net->options)) {
        return false;
    }
    for (uint32_t i = 0; i < flows->count; i++) {
        uint32_t from = flows->from[i];
        uint32_t to = flows->to[i];
        if (from != to && weft_routes_path_count(net->routes, to, from) == 0) {
            return false; // acknowledgements are at the sender at once
        }
    }
    uint32_t most = wanted < PACKET_PARTS_MAX ? wanted : PACKET_PARTS_MAX;
    return packet_cut_build(cut, net->fabric, most, arena, scratch);
}

// ---- slots ----

static void rest_slot(struct office *office, uint32_t flow)
{
    const struct packet_engine *engine = office->parts->office;
    uint64_t trip_ps = packet_longest_trip_ps(engine, &engine->flows[flow]);
    WEFT_ASSERT(office->rest_count < engine->flow_room);
    uint32_t place = (office->rest_first + office->rest_count++) % engine->flow_room;
    office->rests[place] = (struct rest){office->parts->until_ps + trip_ps, flow};
}

// Slots that have rested are free for messages that begin from now_ps on.
static void free_slots(struct office *office, uint64_t now_ps)
{
    struct packet_engine *engine = office->parts->office;
    while (office->rest_count > 0 && office->rests[office->rest_first].until_ps < now_ps) {
        uint32_t flow = office->rests[office->rest_first].flow;
        const struct packet_flow *sender = packet_parts_sender(office->parts, flow);
        if (sender->timer_filed || sender->is_paced) {
            return;
        }
        office->rest_first = (office->rest_first + 1) % engine->flow_room;
        office->rest_count--;
        engine->flows[flow].generation++;
        engine->flows[flow].owner = engine->flow_free;
        engine->flow_free = flow;
    }
}

// ---- between windows ----

static void take_end(struct office *office, const struct packet_part_end *end)
{
    struct flows_player *player = office->player;
    struct packet_engine *engine = office->parts->office;
    const struct packet_flow *sender = packet_parts_sender(office->parts, end->flow);
    struct packet_end who = {sender->owner, sender->path_id, sender->job};
    double end_ps = (double)end->end_ps + weft_simnet_tail_ps(&player->net, who.path_id, 0);
    engine->ledger = (struct packet_ledger){
        .started_ps = sender->started_ps,
        .wire_bytes =
            sender->last_bytes + (double)(sender->total - 1) * engine->setting.packet_bytes,
        .packets = sender->total,
        .marked = end->marked,
    };
    player->end_ps[who.owner] = fmax(player->end_ps[who.owner], end_ps);
    uint32_t record = player->watch.flow_count;
    sim_watch_record(&player->watch, &player->net, &who, end_ps, 0, who.owner);
    office->record[end->flow] = player->watch.flow_count > record ? record : WEFT_NONE;
    player->watch.ended_count++;
}

// Ends of the window, in order of time, then of parts.
static void take_ends(struct office *office)
{
    struct packet_parts *parts = office->parts;
    uint32_t taken[PACKET_PARTS_MAX] = {0};
    for (;;) {
        const struct packet_part_end *first = NULL;
        uint32_t of = 0;
        for (uint32_t p = 0; p < parts->cut.part_count; p++) {
            const struct packet_part *part = parts->parts[p];
            if (taken[p] < part->end_count &&
                (first == NULL || part->ends[taken[p]].end_ps < first->end_ps)) {
                first = &part->ends[taken[p]];
                of = p;
            }
        }
        if (first == NULL) {
            return;
        }
        taken[of]++;
        take_end(office, first);
    }
}

// Messages whose senders know that they are over: what they sent is known.
static void take_closed(struct office *office)
{
    struct flows_player *player = office->player;
    for (uint32_t p = 0; p < office->parts->cut.part_count; p++) {
        const struct packet_post *post = &office->parts->parts[p]->post;
        for (uint32_t i = 0; i < post->closed_count; i++) {
            uint32_t flow = post->closed[i];
            const struct packet_flow *sender = packet_parts_sender(office->parts, flow);
            if (office->record[flow] != WEFT_NONE) {
                struct weft_flow_record *record = &player->watch.flows[office->record[flow]];
                record->packets += sender->resent_count;
                record->retransmits = sender->resent_count;
                record->timeouts = sender->timeout_count;
            }
            weft_wire_close(&player->net.wire, sender->path_id);
            rest_slot(office, flow);
        }
    }
}

static void sample(struct office *office)
{
    struct packet_engine *engine = office->parts->office;
    struct sim_watch *watch = &office->player->watch;
    packet_parts_gather_links(office->parts);
    engine->clock.now_ps = watch->next_ps;
    sim_watch_sample(watch, engine);
}

// Samples up to next_ps, when something happens again: one, since nothing changes before.
static void skip_samples(struct office *office, uint64_t next_ps)
{
    struct sim_watch *watch = &office->player->watch;
    if (watch->next_ps >= next_ps) {
        return;
    }
    sample(office);
    if (next_ps < WEFT_NEVER && watch->next_ps < next_ps) {
        watch->next_ps = (next_ps - 1) / watch->sample_ps * watch->sample_ps + watch->sample_ps;
    }
}

// What is looked at between windows.
static void look(struct office *office, uint64_t until_ps)
{
    struct sim_watch *watch = &office->player->watch;
    struct packet_engine *engine = office->parts->office;
    packet_parts_count(office->parts);
    watch->is_over |= engine->clock.overflow;
    if (until_ps == watch->next_ps) {
        sample(office);
    }
    if (until_ps >= watch->slice_end_ps) {
        if (engine->counts.timeouts != watch->timeouts) {
            packet_parts_gather_flows(office->parts);
        }
        sim_watch_turn_slice(watch, engine, until_ps);
    }
}

// When the next flow starts. Packets of one that starts later than time holds are beyond it.
static uint64_t next_start_ps(const struct flows_player *player)
{
    if (player->next == player->flows->count) {
        return WEFT_NEVER;
    }
    uint64_t start_ps = player->flows->start_ps[player->next];
    return start_ps < CLOCK_END_PS ? start_ps : CLOCK_END_PS;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static bool play(void *context)
{
    struct office *office = context;
    struct flows_player *player = office->player;
    struct packet_parts *parts = office->parts;
    while (!player->watch.is_over) {
        uint64_t next_ps = least(packet_parts_next_ps(parts), next_start_ps(player));
        skip_samples(office, next_ps);
        if (next_ps == WEFT_NEVER) {
            break;
        }
        uint64_t until_ps = least(next_ps + parts->cut.lookahead_ps - 1, player->watch.next_ps);
        free_slots(office, next_ps);
        while (next_start_ps(player) <= until_ps) {
            flows_start(player, player->next++);
        }
        packet_parts_play(parts, until_ps);
        take_ends(office);
        take_closed(office);
        look(office, until_ps);
    }
    packet_parts_count(parts);
    packet_parts_gather_links(parts);
    packet_parts_gather_flows(parts);
    return true;
}

bool flows_play_parts(struct flows_player *player, struct packet_parts *parts, uint32_t hop_max,
                      struct weft_sim_result *result, struct weft_arena *arena,
                      struct weft_error *error)
{
    struct packet_engine *engine = &player->net.packets;
    struct office office = {
        .player = player,
        .parts = parts,
        .record = WEFT_NEW_RAW(arena, uint32_t, engine->flow_room),
        .rests = WEFT_NEW_RAW(arena, struct rest, engine->flow_room),
    };
    if (!packet_parts_open(parts, engine, player->net.fabric, player->net.options, hop_max, arena,
                           error)) {
        return false;
    }
    player->parts = parts;
    // The threads of the parts end also where memory is out.
    if (!weft_guard(play, &office, error)) {
        packet_parts_close(parts);
        return false;
    }
    result->part_count = parts->cut.part_count;
    result->window_count = parts->window_count;
    for (uint32_t p = 0; p < parts->cut.part_count; p++) {
        uint64_t events = parts->parts[p]->engine.counts.events;
        result->crossing_count += parts->parts[p]->post.sent_count;
        result->part_events = events > result->part_events ? events : result->part_events;
    }
    packet_parts_close(parts);
    return true;
}
