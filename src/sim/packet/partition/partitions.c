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

// ---- windows ----

// What the others sent in the last window: those of one instant in the order of partitions, and of
// sending.
static void take_mail(struct packet_partitions *partitions, struct packet_partition *partition)
{
    uint64_t last = (partitions->window_count + 1) % 2;
    for (uint32_t p = 0; p < partitions->partitioning.partition_count; p++) {
        struct packet_mail *mail =
            &partitions->partitions[p]->outgoing[last][partition->mailbox.partition];
        for (uint32_t i = 0; i < mail->count; i++) {
            packet_mail_take(&partition->engine, &mail->packets[i]);
        }
        mail->count = 0;
    }
}

static void add_end(struct packet_partition *partition)
{
    partition->ends = packet_mail_room(&partition->arena, partition->ends, partition->end_count,
                                       &partition->end_room, sizeof(*partition->ends));
    uint32_t flow = partition->mailbox.ended_flow;
    partition->ends[partition->end_count++] = (struct packet_partition_end){
        partition->engine.clock.now_ps, flow, partition->engine.flows[flow].marked_count};
}

// The order of a list that is due by to_ps, if it is the next one.
static const struct packet_partition_order *due_order(const struct packet_partition_orders *orders,
                                                      uint32_t next, uint64_t *to_ps)
{
    if (next == orders->count || orders->list[next].time_ps > *to_ps) {
        return NULL;
    }
    *to_ps = orders->list[next].time_ps;
    return &orders->list[next];
}

// Plays a window of one partition: it takes the mail, then begins and closes messages and runs its
// engine in the order of time up to the window's end. Only this partition is written.
static void play_partition(void *context, uint32_t index, struct weft_arena scratch)
{
    (void)scratch;
    struct packet_partitions *partitions = context;
    struct packet_partition *partition = partitions->partitions[index];
    struct packet_mailbox *mailbox = &partition->mailbox;
    if (!packet_partitions_is_here(partitions, index)) {
        return;
    }
    struct packet_engine *engine = &partition->engine;
    mailbox->outgoing = partition->outgoing[partitions->window_count % 2];
    mailbox->first_ps = WEFT_NEVER;
    mailbox->first_last_ps = WEFT_NEVER;
    mailbox->closed_count = 0;
    mailbox->note_count = 0;
    partition->end_count = 0;
    take_mail(partitions, partition);
    for (uint32_t begun = 0, closed = 0;;) {
        uint64_t to_ps = partitions->until_ps;
        const struct packet_partition_order *start = due_order(&partition->starts, begun, &to_ps);
        const struct packet_partition_order *close =
            due_order(&partition->closings, closed, &to_ps);
        struct packet_end end;
        if (packet_engine_run(engine, to_ps, &end)) {
            add_end(partition);
            continue;
        }
        engine->clock.now_ps = to_ps;
        if (close != NULL) {
            packet_window_close(engine, close->flow);
            closed++;
        } else if (start != NULL) {
            packet_begin(engine, start->flow);
            begun++;
        } else {
            break;
        }
    }
    partition->starts.count = 0;
    partition->closings.count = 0;
    uint64_t next_ps = clock_next_ps(&engine->clock);
    partition->next_ps = next_ps < mailbox->first_ps ? next_ps : mailbox->first_ps;
    // Nothing that was sent may come to another partition before the next window.
    WEFT_ASSERT(mailbox->first_ps > partitions->until_ps);
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
    packet_peers_exchange(partitions);
}

// ---- messages ----

static uint32_t sender_partition(const struct packet_partitions *partitions, uint32_t flow)
{
    const struct packet_engine *coordinator = partitions->coordinator;
    return partitions->partitioning.owner[coordinator->hops[coordinator->flows[flow].data_hop]];
}

static uint32_t receiver_partition(const struct packet_partitions *partitions, uint32_t flow)
{
    const struct packet_engine *coordinator = partitions->coordinator;
    return partitions->partitioning.owner[coordinator->hops[coordinator->flows[flow].ack_hop]];
}

// A half of a message that is here; NULL: it is another process's.
static const struct packet_flow *half_of(const struct packet_partitions *partitions, uint32_t p,
                                         uint32_t flow)
{
    return packet_partitions_is_here(partitions, p) ? &partitions->partitions[p]->engine.flows[flow]
                                                    : NULL;
}

// An end of a message begins in a slot whose timers, of a message before, may still be filed: they
// find nothing to do, as in a run in one partition.
static void lay_half(struct packet_engine *engine, const struct packet_engine *coordinator,
                     uint32_t flow)
{
    while (engine->flow_ids.count <= flow) {
        memset(&engine->flows[engine->flow_ids.count++], 0, sizeof(struct packet_flow));
    }
    struct packet_flow *half = &engine->flows[flow];
    WEFT_ASSERT(!half->is_open);
    bool timer_filed = half->timer_filed;
    bool is_paced = half->is_paced;
    *half = coordinator->flows[flow];
    half->timer_filed = timer_filed;
    half->is_paced = is_paced;
    if (engine->mailbox->dues != NULL) {
        engine->mailbox->dues[flow] = (struct packet_due){.missing = half->total};
    }
    if (engine->sprays.flows != NULL) {
        engine->sprays.flows[flow] = coordinator->sprays.flows[flow];
    }
    if (engine->sprays.skips != NULL) {
        memset(&engine->sprays.skips[(size_t)flow * engine->sprays.path_room], 0,
               engine->sprays.path_room);
    }
}

static void give_order(struct packet_partition *partition, struct packet_partition_orders *orders,
                       uint64_t time_ps, uint32_t flow)
{
    orders->list = packet_mail_room(&partition->arena, orders->list, orders->count, &orders->room,
                                    sizeof(*orders->list));
    orders->list[orders->count++] = (struct packet_partition_order){time_ps, flow};
}

void packet_partitions_start(struct packet_partitions *partitions, uint32_t flow, uint64_t start_ps)
{
    struct packet_engine *coordinator = partitions->coordinator;
    struct packet_flow *laid_out = &coordinator->flows[flow];
    WEFT_ASSERT(laid_out->ack_hop != WEFT_NONE && !laid_out->is_open);
    uint32_t from = sender_partition(partitions, flow);
    uint32_t to = receiver_partition(partitions, flow);
    struct packet_partition *partition = partitions->partitions[from];
    laid_out->started_ps = start_ps;
    if (to != from && packet_partitions_is_here(partitions, to)) {
        lay_half(&partitions->partitions[to]->engine, coordinator, flow);
    }
    if (packet_partitions_is_here(partitions, from)) {
        lay_half(&partition->engine, coordinator, flow);
        give_order(partition, &partition->starts, start_ps, flow);
    }
    if (start_ps < partition->next_ps) {
        partition->next_ps = start_ps;
    }
}

void packet_partitions_close_flow(struct packet_partitions *partitions, uint32_t flow,
                                  uint64_t close_ps)
{
    struct packet_partition *partition = partitions->partitions[sender_partition(partitions, flow)];
    if (packet_partitions_is_here(partitions, partition->mailbox.partition)) {
        give_order(partition, &partition->closings, close_ps, flow);
    }
}

// ---- all partitions ----

bool packet_partitions_can(const struct weft_sim_options *options)
{
    const struct weft_packet_options *packet = options->packet;
    const struct weft_transport_entry *transport = weft_transport_entry(options->transport);
    return options->engine == WEFT_ENGINE_PACKET && !options->persistent && !packet->ack_at_once &&
           !packet->mark_at_departure && !packet->port.lossless &&
           transport->congestion->ends == NULL &&
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

static void open_engine(struct packet_partition *partition,
                        const struct packet_partitions *partitions,
                        const struct packet_partitions_run *run)
{
    const struct packet_engine *coordinator = partitions->coordinator;
    struct packet_engine *engine = &partition->engine;
    packet_engine_init(engine, run->fabric, run->options, coordinator->flow_ids.room, run->hop_max,
                       &partition->arena);
    if (run->job_count > 0) {
        packet_engine_jobs(engine, run->options->timings, run->job_count);
    }
    engine->hops = coordinator->hops;
    engine->mailbox = &partition->mailbox;
    if (run->asks_dues) {
        partition->mailbox.dues =
            WEFT_NEW_RAW(&partition->arena, struct packet_due, coordinator->flow_ids.room);
    }
}

// The team is opened last: until then a partition that gets no memory may unwind.
bool packet_partitions_open(struct packet_partitions *partitions, struct packet_engine *coordinator,
                            const struct packet_partitions_run *run, struct weft_error *error)
{
    uint32_t count = partitions->partitioning.partition_count;
    partitions->coordinator = coordinator;
    partitions->window_count = 0;
    partitions->until_ps = 0;
    partitions->peers = run->options->partitions.peers;
    partitions->said = NULL;
    partitions->said_room = 0;
    coordinator->lays_out_only = true;
    uint32_t here = 0;
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
        partition->mailbox = (struct packet_mailbox){.partition = p,
                                                     .owner = partitions->partitioning.owner,
                                                     .far = partitions->partitioning.far,
                                                     .outgoing = partition->outgoing[0],
                                                     .first_ps = WEFT_NEVER,
                                                     .first_last_ps = WEFT_NEVER};
        partition->next_ps = WEFT_NEVER;
        if (packet_partitions_is_here(partitions, p)) {
            open_engine(partition, partitions, run);
            here++;
        }
    }
    uint32_t wanted = run->options->partitions.threads;
    uint32_t threads = wanted < here ? wanted : here;
    if (!weft_team_open(&partitions->team, threads > 0 ? threads : 1, error)) {
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

uint64_t packet_partitions_first_last_ps(const struct packet_partitions *partitions)
{
    uint64_t first_ps = WEFT_NEVER;
    for (uint32_t p = 0; p < partitions->partitioning.partition_count; p++) {
        uint64_t partition_ps = partitions->partitions[p]->mailbox.first_last_ps;
        first_ps = partition_ps < first_ps ? partition_ps : first_ps;
    }
    return first_ps;
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
        coordinator->counts.corrupted += counts->corrupted;
        coordinator->counts.pauses += counts->pauses;
        coordinator->clock.overflow |= engine->clock.overflow;
    }
    coordinator->clock.now_ps = partitions->until_ps;
}

void packet_partitions_gather_links(struct packet_partitions *partitions)
{
    struct packet_engine *coordinator = partitions->coordinator;
    for (uint32_t l = 0; l < coordinator->ports.fabric->link_count; l++) {
        uint32_t p = partitions->partitioning.owner[l];
        if (packet_partitions_is_here(partitions, p)) {
            const struct packet_engine *engine = &partitions->partitions[p]->engine;
            coordinator->links[l] = engine->links[l];
            if (coordinator->ports.queues != NULL) {
                coordinator->ports.queues[l] = engine->ports.queues[l];
            }
        }
    }
    packet_peers_gather_links(partitions);
}

void packet_partitions_gather_flows(struct packet_partitions *partitions)
{
    struct packet_engine *coordinator = partitions->coordinator;
    for (uint32_t i = 0; i < coordinator->flow_ids.count; i++) {
        const struct packet_flow *sender = half_of(partitions, sender_partition(partitions, i), i);
        const struct packet_flow *receiver =
            half_of(partitions, receiver_partition(partitions, i), i);
        struct packet_flow *flow = &coordinator->flows[i];
        flow->is_open = sender != NULL && sender->is_open;
        flow->is_connected = sender != NULL && sender->is_connected;
        flow->acknowledged.low = sender != NULL ? sender->acknowledged.low : 0;
        flow->timeout_count = sender != NULL ? sender->timeout_count : 0;
        flow->has_come = receiver != NULL && receiver->has_come;
        flow->received.low = receiver != NULL ? receiver->received.low : 0;
    }
    packet_peers_gather_flows(partitions);
    for (uint32_t i = 0; i < coordinator->flow_ids.count; i++) {
        coordinator->flows[i].is_open &= !coordinator->flows[i].has_come;
    }
}
