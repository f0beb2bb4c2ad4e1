// SPDX-License-Identifier: Apache-2.0
// Partitions of a run: the windows that they play, and the mail between windows.
//
// A window is one round of a team of workers (weft_team_play). A partition stays with its worker,
// so that its queues and its clock stay in the cache of one core; within a window it reads only
// what others sent in the window before. Between windows the coordinator, on the caller's thread,
// has all partitions for itself. A packet takes at least the lookahead to another partition, so
// that all may play that much time without a word of the others (conservative synchronization:
// Chandy and Misra, 1979; windows as in bounded lag, Lubachevsky 1989). The mail is read in a fixed
// order, so that the threads' number changes nothing. A window costs one barrier and a look at each
// pair of partitions.

#include "partitions.h"

#include <string.h>

// ---- mail ----

// What the others sent in the last window: those of one instant in the order of partitions, and of
// sending.
static void take_mail(struct packet_partitions *partitions, struct packet_partition *partition)
{
    struct packet_engine *engine = &partition->engine;
    uint64_t last = (partitions->window_count + 1) % 2;
    for (uint32_t p = 0; p < partitions->partitioning.partition_count; p++) {
        struct packet_mail *mail =
            &partitions->partitions[p]->outgoing[last][partition->mailbox.partition];
        for (uint32_t i = 0; i < mail->count; i++) {
            uint32_t id = packet_take(engine);
            engine->packets[id] = mail->packets[i];
            clock_file(&engine->clock, (uint32_t)PACKET_EVENT_ARRIVAL << CLOCK_KIND_SHIFT | id,
                       mail->packets[i].entered_ps);
        }
        mail->count = 0;
    }
}

// ---- windows ----

static void add_end(struct packet_partition *partition)
{
    if (partition->end_count == partition->end_room) {
        uint32_t room = partition->end_room == 0 ? 64 : 2 * partition->end_room;
        struct packet_partition_end *wider =
            WEFT_NEW_RAW(&partition->arena, struct packet_partition_end, room);
        if (partition->end_count > 0) {
            memcpy(wider, partition->ends, partition->end_count * sizeof(*wider));
        }
        partition->ends = wider;
        partition->end_room = room;
    }
    uint32_t flow = partition->mailbox.ended_flow;
    partition->ends[partition->end_count++] = (struct packet_partition_end){
        partition->engine.clock.now_ps, flow, partition->engine.flows[flow].marked_count};
}

// Plays a window of one partition: it takes the mail, then starts messages and runs its engine in
// the order of time up to the window's end. Only this partition is written.
static void play_partition(void *context, uint32_t index, struct weft_arena scratch)
{
    (void)scratch;
    struct packet_partitions *partitions = context;
    struct packet_partition *partition = partitions->partitions[index];
    struct packet_engine *engine = &partition->engine;
    partition->mailbox.outgoing = partition->outgoing[partitions->window_count % 2];
    partition->mailbox.first_ps = WEFT_NEVER;
    partition->mailbox.closed_count = 0;
    partition->end_count = 0;
    take_mail(partitions, partition);
    for (uint32_t next = 0;;) {
        bool more = next < partition->start_count;
        uint64_t to_ps = more ? partition->starts[next].start_ps : partitions->until_ps;
        struct packet_end end;
        if (packet_engine_run(engine, to_ps, &end)) {
            add_end(partition);
        } else if (more) {
            engine->clock.now_ps = to_ps;
            packet_begin(engine, partition->starts[next++].flow);
        } else {
            break;
        }
    }
    partition->start_count = 0;
    uint64_t next_ps = clock_next_ps(&engine->clock);
    partition->next_ps =
        next_ps < partition->mailbox.first_ps ? next_ps : partition->mailbox.first_ps;
    // Nothing that was sent may come to another partition before the next window.
    WEFT_ASSERT(partition->mailbox.first_ps > partitions->until_ps);
}

void packet_partitions_play(struct packet_partitions *partitions, uint64_t until_ps)
{
    partitions->until_ps = until_ps;
    partitions->window_count++;
    struct weft_team_work window = {
        .play = play_partition,
        .context = partitions,
        .count = partitions->partitioning.partition_count,
        .keeps_workers = true,
    };
    weft_team_play(partitions->team, &window);
}

// ---- messages ----

struct packet_flow *packet_partitions_sender(const struct packet_partitions *partitions,
                                             uint32_t flow)
{
    const struct packet_engine *coordinator = partitions->coordinator;
    uint32_t first = coordinator->hops[coordinator->flows[flow].data_hop];
    return &partitions->partitions[partitions->partitioning.owner[first]]->engine.flows[flow];
}

struct packet_flow *packet_partitions_receiver(const struct packet_partitions *partitions,
                                               uint32_t flow)
{
    const struct packet_engine *coordinator = partitions->coordinator;
    uint32_t first = coordinator->hops[coordinator->flows[flow].ack_hop];
    return &partitions->partitions[partitions->partitioning.owner[first]]->engine.flows[flow];
}

static void lay_half(struct packet_engine *engine, const struct packet_engine *coordinator,
                     uint32_t flow)
{
    while (engine->flow_ids.count <= flow) {
        memset(&engine->flows[engine->flow_ids.count++], 0, sizeof(struct packet_flow));
    }
    struct packet_flow *half = &engine->flows[flow];
    WEFT_ASSERT(!half->is_open && !half->timer_filed && !half->is_paced);
    *half = coordinator->flows[flow];
    if (engine->sprays.flows != NULL) {
        engine->sprays.flows[flow] = coordinator->sprays.flows[flow];
    }
    if (engine->sprays.skips != NULL) {
        memset(&engine->sprays.skips[(size_t)flow * engine->sprays.path_room], 0,
               engine->sprays.path_room);
    }
}

void packet_partitions_start(struct packet_partitions *partitions, uint32_t flow, uint64_t start_ps)
{
    const struct packet_engine *coordinator = partitions->coordinator;
    const struct packet_flow *laid_out = &coordinator->flows[flow];
    WEFT_ASSERT(laid_out->ack_hop != WEFT_NONE && !laid_out->is_open);
    uint32_t from = partitions->partitioning.owner[coordinator->hops[laid_out->data_hop]];
    uint32_t to = partitions->partitioning.owner[coordinator->hops[laid_out->ack_hop]];
    struct packet_partition *partition = partitions->partitions[from];
    lay_half(&partition->engine, coordinator, flow);
    if (to != from) {
        lay_half(&partitions->partitions[to]->engine, coordinator, flow);
    }
    if (partition->start_count == partition->start_room) {
        uint32_t room = partition->start_room == 0 ? 64 : 2 * partition->start_room;
        struct packet_partition_start *wider =
            WEFT_NEW_RAW(&partition->arena, struct packet_partition_start, room);
        if (partition->start_count > 0) {
            memcpy(wider, partition->starts, partition->start_count * sizeof(*wider));
        }
        partition->starts = wider;
        partition->start_room = room;
    }
    partition->starts[partition->start_count++] = (struct packet_partition_start){start_ps, flow};
}

// ---- all partitions ----

bool packet_partitions_can(const struct weft_sim_options *options)
{
    const struct weft_packet_options *packet = options->packet;
    const struct weft_transport_entry *transport = weft_transport_entry(options->transport);
    return options->engine == WEFT_ENGINE_PACKET && !options->persistent && !packet->ack_at_once &&
           !packet->mark_at_departure && !packet->port.lossless &&
           !transport->congestion->is_receiver_driven &&
           !(transport->scales_growth && packet->mltcp.per_job);
}

static void release_partitions(struct packet_partitions *partitions, uint32_t count)
{
    for (uint32_t p = 0; p < count; p++) {
        struct weft_arena whole =
            partitions->partitions[p]->whole_arena; // which holds the partition
        weft_arena_release(&whole);
    }
}

// The team is opened last: until then a partition that gets no memory may unwind.
bool packet_partitions_open(struct packet_partitions *partitions, struct packet_engine *coordinator,
                            const struct weft_fabric *fabric,
                            const struct weft_sim_options *options, uint32_t hop_max,
                            struct weft_error *error)
{
    uint32_t count = partitions->partitioning.partition_count;
    partitions->coordinator = coordinator;
    partitions->window_count = 0;
    coordinator->lays_out_only = true;
    for (uint32_t p = 0; p < count; p++) {
        struct weft_arena whole;
        if (!weft_arena_init(&whole, 0, error)) {
            release_partitions(partitions, p);
            return false;
        }
        struct weft_arena left = whole;
        struct packet_partition *partition = WEFT_NEW(&left, struct packet_partition, 1);
        partition->whole_arena = whole;
        partition->arena = left;
        partitions->partitions[p] = partition;
        packet_engine_init(&partition->engine, fabric, options, coordinator->flow_ids.room, hop_max,
                           &partition->arena);
        partition->mailbox = (struct packet_mailbox){.partition = p,
                                                     .owner = partitions->partitioning.owner,
                                                     .far = partitions->partitioning.far,
                                                     .outgoing = partition->outgoing[0]};
        partition->engine.hops = coordinator->hops;
        partition->engine.mailbox = &partition->mailbox;
        partition->next_ps = WEFT_NEVER;
    }
    uint32_t wanted = options->partitions.threads;
    uint32_t threads = wanted < count ? wanted : count;
    if (!weft_team_open(&partitions->team, threads, error)) {
        release_partitions(partitions, count);
        return false;
    }
    return true;
}

void packet_partitions_close(struct packet_partitions *partitions)
{
    weft_team_close(partitions->team);
    release_partitions(partitions, partitions->partitioning.partition_count);
}

uint64_t packet_partitions_next_ps(const struct packet_partitions *partitions)
{
    uint64_t next_ps = WEFT_NEVER;
    for (uint32_t p = 0; p < partitions->partitioning.partition_count; p++) {
        uint64_t partition_ps = partitions->partitions[p]->next_ps;
        next_ps = partition_ps < next_ps ? partition_ps : next_ps;
    }
    return next_ps;
}

void packet_partitions_count(struct packet_partitions *partitions)
{
    struct packet_engine *coordinator = partitions->coordinator;
    coordinator->counts = (struct weft_packet_counts){0};
    for (uint32_t p = 0; p < partitions->partitioning.partition_count; p++) {
        const struct packet_engine *engine = &partitions->partitions[p]->engine;
        const struct weft_packet_counts *counts = &engine->counts;
        coordinator->counts.packets += counts->packets;
        coordinator->counts.events += counts->events;
        coordinator->counts.drops += counts->drops;
        coordinator->counts.ecn_marks += counts->ecn_marks;
        coordinator->counts.retransmits += counts->retransmits;
        coordinator->counts.timeouts += counts->timeouts;
        coordinator->counts.trims += counts->trims;
        coordinator->counts.pauses += counts->pauses;
        coordinator->clock.overflow |= engine->clock.overflow;
    }
    coordinator->clock.now_ps = partitions->until_ps;
}

void packet_partitions_gather_links(struct packet_partitions *partitions)
{
    struct packet_engine *coordinator = partitions->coordinator;
    for (uint32_t l = 0; l < coordinator->ports.fabric->link_count; l++) {
        const struct packet_engine *engine =
            &partitions->partitions[partitions->partitioning.owner[l]]->engine;
        coordinator->links[l] = engine->links[l];
        if (coordinator->ports.queues != NULL) {
            coordinator->ports.queues[l] = engine->ports.queues[l];
        }
    }
}

void packet_partitions_gather_flows(struct packet_partitions *partitions)
{
    struct packet_engine *coordinator = partitions->coordinator;
    for (uint32_t i = 0; i < coordinator->flow_ids.count; i++) {
        const struct packet_flow *sender = packet_partitions_sender(partitions, i);
        const struct packet_flow *receiver = packet_partitions_receiver(partitions, i);
        struct packet_flow *flow = &coordinator->flows[i];
        flow->is_open = sender->is_open && !receiver->has_come;
        flow->is_connected = sender->is_connected;
        flow->acknowledged.low = sender->acknowledged.low;
        flow->received.low = receiver->received.low;
        flow->timeout_count = sender->timeout_count;
    }
}
