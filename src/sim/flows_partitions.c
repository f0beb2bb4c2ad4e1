// SPDX-License-Identifier: Apache-2.0
// A list of flows played in several partitions: what the coordinator does between windows. It
// starts the flows of the next window, takes the ends of the last one in order of time, frees slots
// that no packet can reach any more, and samples links.

#include "flows.h"

#include <math.h>

// A slot whose flow is over waits until none of its packets can be on their way, and its timers
// have ended: what comes next does not depend on which slots are used again.
struct resting_slot {
    uint64_t until_ps;
    uint32_t flow;
};

struct coordinator {
    struct flows_player *player;
    struct packet_partitions *partitions;
    uint32_t *record;             // per slot: its flow's; WEFT_NONE: none
    struct resting_slot *resting; // a ring, in the order in which they ended
    uint32_t resting_first;
    uint32_t resting_count;
};

bool flows_divide(struct packet_partitioning *partitioning, const struct flows_player *player,
                  struct weft_arena *arena, struct weft_arena scratch)
{
    const struct weft_simnet *net = &player->net;
    const struct weft_flow_list *flows = player->flows;
    uint32_t wanted = net->options->partitions.count;
    if (wanted < 2 || !packet_partitions_can(net->options)) {
        return false;
    }
    for (uint32_t i = 0; i < flows->count; i++) {
        uint32_t from = flows->from[i];
        uint32_t to = flows->to[i];
        if (from != to && weft_routes_path_count(net->routes, to, from) == 0) {
            return false; // acknowledgements are at the sender at once
        }
    }
    uint32_t most = wanted < PACKET_PARTITIONS_MAX ? wanted : PACKET_PARTITIONS_MAX;
    return packet_partitioning_build(partitioning, net->fabric, most, arena, scratch);
}

// ---- slots ----

static void rest_slot(struct coordinator *coordinator, uint32_t flow)
{
    const struct packet_engine *engine = coordinator->partitions->coordinator;
    uint64_t trip_ps = packet_longest_trip_ps(engine, &engine->flows[flow]);
    WEFT_ASSERT(coordinator->resting_count < engine->flow_ids.room);
    uint32_t place =
        (coordinator->resting_first + coordinator->resting_count++) % engine->flow_ids.room;
    coordinator->resting[place] =
        (struct resting_slot){coordinator->partitions->until_ps + trip_ps, flow};
}

// Frees the slots whose rest is over, for messages that begin from now_ps on.
static void free_slots(struct coordinator *coordinator, uint64_t now_ps)
{
    struct packet_engine *engine = coordinator->partitions->coordinator;
    while (coordinator->resting_count > 0 &&
           coordinator->resting[coordinator->resting_first].until_ps < now_ps) {
        uint32_t flow = coordinator->resting[coordinator->resting_first].flow;
        const struct packet_flow *sender = packet_partitions_sender(coordinator->partitions, flow);
        if (sender->timer_filed || sender->is_paced) {
            return;
        }
        coordinator->resting_first = (coordinator->resting_first + 1) % engine->flow_ids.room;
        coordinator->resting_count--;
        engine->flows[flow].generation++;
        engine->flows[flow].end.owner = engine->flow_ids.free;
        engine->flow_ids.free = flow;
    }
}

// ---- between windows ----

static void take_end(struct coordinator *coordinator, const struct packet_partition_end *end)
{
    struct flows_player *player = coordinator->player;
    struct packet_engine *engine = coordinator->partitions->coordinator;
    const struct packet_flow *sender = packet_partitions_sender(coordinator->partitions, end->flow);
    struct packet_end who = sender->end;
    double end_ps = (double)end->end_ps + weft_simnet_tail_ps(&player->net, who.path_id, 0);
    engine->ledger = (struct packet_ledger){
        .started_ps = sender->started_ps,
        .wire_bytes =
            sender->last_bytes + (double)(sender->total - 1) * engine->setting.packet_bytes,
        .packets = sender->total,
        .marked = end->marked,
    };
    player->end_ps[who.owner] = fmax(player->end_ps[who.owner], end_ps);
    uint32_t record = player->watch.records.count;
    sim_watch_record(&player->watch, &player->net, &who, end_ps, 0, who.owner);
    coordinator->record[end->flow] = player->watch.records.count > record ? record : WEFT_NONE;
    player->watch.ended_count++;
}

// Ends of the window, in order of time, then of partitions.
static void take_ends(struct coordinator *coordinator)
{
    struct packet_partitions *partitions = coordinator->partitions;
    uint32_t taken[PACKET_PARTITIONS_MAX] = {0};
    for (;;) {
        const struct packet_partition_end *first = NULL;
        uint32_t of = 0;
        for (uint32_t p = 0; p < partitions->partitioning.partition_count; p++) {
            const struct packet_partition *partition = partitions->partitions[p];
            if (taken[p] < partition->end_count &&
                (first == NULL || partition->ends[taken[p]].end_ps < first->end_ps)) {
                first = &partition->ends[taken[p]];
                of = p;
            }
        }
        if (first == NULL) {
            return;
        }
        taken[of]++;
        take_end(coordinator, first);
    }
}

// Messages whose senders know that they are over: what was sent again is final.
static void take_closed(struct coordinator *coordinator)
{
    struct flows_player *player = coordinator->player;
    for (uint32_t p = 0; p < coordinator->partitions->partitioning.partition_count; p++) {
        const struct packet_mailbox *mailbox = &coordinator->partitions->partitions[p]->mailbox;
        for (uint32_t i = 0; i < mailbox->closed_count; i++) {
            uint32_t flow = mailbox->closed[i];
            const struct packet_flow *sender =
                packet_partitions_sender(coordinator->partitions, flow);
            if (coordinator->record[flow] != WEFT_NONE) {
                struct weft_flow_record *record =
                    &player->watch.records.list[coordinator->record[flow]];
                record->packets += sender->resent_count;
                record->retransmits = sender->resent_count;
                record->timeouts = sender->timeout_count;
            }
            weft_active_close(&player->net.active, sender->end.path_id);
            rest_slot(coordinator, flow);
        }
    }
}

static void sample(struct coordinator *coordinator)
{
    struct packet_engine *engine = coordinator->partitions->coordinator;
    struct sim_watch *watch = &coordinator->player->watch;
    packet_partitions_gather_links(coordinator->partitions);
    engine->clock.now_ps = watch->samples.next_ps;
    sim_watch_sample(&watch->samples, engine);
}

// Samples up to next_ps, when something happens again: one, since nothing changes before.
static void skip_samples(struct coordinator *coordinator, uint64_t next_ps)
{
    struct sim_watch_samples *samples = &coordinator->player->watch.samples;
    if (samples->next_ps >= next_ps) {
        return;
    }
    sample(coordinator);
    if (next_ps < WEFT_NEVER && samples->next_ps < next_ps) {
        samples->next_ps = ((next_ps - 1) / samples->period_ps + 1) * samples->period_ps;
    }
}

// What the watch does between windows: samples, and the slices by which it stops runs.
static void watch_window(struct coordinator *coordinator, uint64_t until_ps)
{
    struct sim_watch *watch = &coordinator->player->watch;
    struct packet_engine *engine = coordinator->partitions->coordinator;
    packet_partitions_count(coordinator->partitions);
    watch->is_over |= engine->clock.overflow;
    if (until_ps == watch->samples.next_ps) {
        sample(coordinator);
    }
    if (until_ps >= watch->slice.end_ps) {
        if (engine->counts.timeouts != watch->news.timeouts) {
            packet_partitions_gather_flows(coordinator->partitions);
        }
        sim_watch_end_slice(watch, engine, until_ps);
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

// Plays all flows, window by window. A window begins with the next thing that happens and is as
// long as the lookahead, in which no packet can come from another partition
// (packet/partition/partitions.c); it ends earlier where a sample is due. What partitions share is
// done here, between two windows, on this thread: flows that start, ends, slots, samples.
static bool play(void *context)
{
    struct coordinator *coordinator = context;
    struct flows_player *player = coordinator->player;
    struct packet_partitions *partitions = coordinator->partitions;
    while (!player->watch.is_over) {
        uint64_t next_ps = least(packet_partitions_next_ps(partitions), next_start_ps(player));
        skip_samples(coordinator, next_ps);
        if (next_ps == WEFT_NEVER) {
            break;
        }
        uint64_t until_ps = least(next_ps + partitions->partitioning.lookahead_ps - 1,
                                  player->watch.samples.next_ps);
        free_slots(coordinator, next_ps);
        while (next_start_ps(player) <= until_ps) {
            flows_start(player, player->next++);
        }
        packet_partitions_play(partitions, until_ps);
        take_ends(coordinator);
        take_closed(coordinator);
        watch_window(coordinator, until_ps);
    }
    packet_partitions_count(partitions);
    packet_partitions_gather_links(partitions);
    packet_partitions_gather_flows(partitions);
    return true;
}

bool flows_play_partitions(struct flows_player *player, struct packet_partitions *partitions,
                           uint32_t hop_max, struct weft_sim_result *result,
                           struct weft_arena *arena, struct weft_error *error)
{
    struct packet_engine *engine = &player->net.packets;
    struct coordinator coordinator = {
        .player = player,
        .partitions = partitions,
        .record = WEFT_NEW_RAW(arena, uint32_t, engine->flow_ids.room),
        .resting = WEFT_NEW_RAW(arena, struct resting_slot, engine->flow_ids.room),
    };
    if (!packet_partitions_open(partitions, engine, player->net.fabric, player->net.options,
                                hop_max, error)) {
        return false;
    }
    player->partitions = partitions;
    // The threads of the partitions end also where memory is out.
    if (!weft_guard(play, &coordinator, error)) {
        packet_partitions_close(partitions);
        return false;
    }
    struct weft_partition_counts *counts = &result->partitions;
    counts->count = partitions->partitioning.partition_count;
    counts->window_count = partitions->window_count;
    for (uint32_t p = 0; p < counts->count; p++) {
        uint64_t events = partitions->partitions[p]->engine.counts.events;
        counts->crossing_count += partitions->partitions[p]->mailbox.sent_count;
        counts->events_max = events > counts->events_max ? events : counts->events_max;
    }
    packet_partitions_close(partitions);
    return true;
}
