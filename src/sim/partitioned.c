// SPDX-License-Identifier: Apache-2.0
// Between the windows of a run in partitions: ends, records, slots and samples.
//
// All of it is done on one thread, and in every process of a run the same: what comes out must not
// depend on who played which partition. So ends are taken in order of time and then of partitions,
// and a slot is free when its message's last packet must be gone, not when somebody finds it so. An
// end costs O(partitions), a sample O(links).

#include "partitioned.h"

bool sim_partitioned_divide(struct packet_partitioning *partitioning, const struct weft_simnet *net,
                            struct weft_arena *arena, struct weft_arena scratch)
{
    uint32_t wanted = net->options->partitions.count;
    uint32_t most = wanted < PACKET_PARTITIONS_MAX ? wanted : PACKET_PARTITIONS_MAX;
    return wanted >= 2 && packet_partitions_can(net->options) &&
           packet_partitioning_build(partitioning, net->fabric, most, arena, scratch);
}

bool sim_partitioned_open(struct sim_partitioned *run, struct weft_simnet *net,
                          struct sim_watch *watch, uint32_t job_count, struct weft_arena *arena,
                          struct weft_error *error)
{
    struct packet_engine *engine = &net->packets;
    const struct packet_partitions_run what = {
        .fabric = net->fabric,
        .options = net->options,
        .hop_max = engine->sprays.path_stride - 1,
        .job_count = job_count,
        .asks_dues = run->closes_after_ps > 0,
    };
    run->net = net;
    run->watch = watch;
    run->record = WEFT_NEW_RAW(arena, uint32_t, engine->flow_ids.room);
    run->resting = WEFT_NEW_RAW(arena, struct sim_resting_slot, engine->flow_ids.room);
    run->resting_first = 0;
    run->resting_count = 0;
    run->ordered_count = 0;
    if (!packet_partitions_open(&run->partitions, engine, &what, error)) {
        return false;
    }
    net->partitions = &run->partitions;
    return true;
}

void sim_partitioned_close(struct sim_partitioned *run, struct weft_sim_result *result)
{
    const struct packet_partitions *partitions = &run->partitions;
    struct weft_partition_counts *counts = &result->partitions;
    counts->count = partitions->partitioning.partition_count;
    counts->window_count = partitions->window_count;
    for (uint32_t p = 0; p < counts->count; p++) {
        uint64_t events = partitions->partitions[p]->engine.counts.events;
        counts->crossing_count += partitions->partitions[p]->mailbox.sent_count;
        counts->events_max = events > counts->events_max ? events : counts->events_max;
    }
    run->net->partitions = NULL;
    packet_partitions_close(&run->partitions);
}

// ---- slots ----

static struct sim_resting_slot *resting_at(const struct sim_partitioned *run, uint32_t index)
{
    return &run->resting[(run->resting_first + index) % run->net->packets.flow_ids.room];
}

static void rest_slot(struct sim_partitioned *run, uint32_t flow, uint64_t until_ps)
{
    WEFT_ASSERT(run->resting_count < run->net->packets.flow_ids.room);
    *resting_at(run, run->resting_count++) = (struct sim_resting_slot){until_ps, flow};
}

void sim_partitioned_free_slots(struct sim_partitioned *run, uint64_t now_ps)
{
    struct packet_engine *engine = &run->net->packets;
    while (run->resting_count > 0 && resting_at(run, 0)->until_ps < now_ps &&
           (run->closes_after_ps == 0 || run->ordered_count > 0)) {
        packet_free_flow(engine, resting_at(run, 0)->flow);
        run->resting_first = (run->resting_first + 1) % engine->flow_ids.room;
        run->resting_count--;
        run->ordered_count -= run->ordered_count > 0;
    }
}

// Senders' ends that are over in this window.
static void order_closings(struct sim_partitioned *run, uint64_t until_ps)
{
    while (run->ordered_count < run->resting_count) {
        const struct sim_resting_slot *slot = resting_at(run, run->ordered_count);
        if (slot->until_ps > until_ps) {
            return;
        }
        packet_partitions_close_flow(&run->partitions, slot->flow, slot->until_ps);
        run->ordered_count++;
    }
}

// ---- windows ----

void sim_partitioned_play(struct sim_partitioned *run, uint64_t until_ps)
{
    if (run->closes_after_ps > 0) {
        order_closings(run, until_ps);
    }
    packet_partitions_play(&run->partitions, until_ps);
    for (uint32_t p = 0; p < run->partitions.partitioning.partition_count; p++) {
        run->taken[p] = 0;
    }
}

const struct packet_partition_end *sim_partitioned_take(struct sim_partitioned *run)
{
    const struct packet_partition_end *first = NULL;
    uint32_t of = 0;
    for (uint32_t p = 0; p < run->partitions.partitioning.partition_count; p++) {
        const struct packet_partition *partition = run->partitions.partitions[p];
        if (run->taken[p] < partition->end_count &&
            (first == NULL || partition->ends[run->taken[p]].end_ps < first->end_ps)) {
            first = &partition->ends[run->taken[p]];
            of = p;
        }
    }
    run->taken[of] += first != NULL;
    return first;
}

void sim_partitioned_ended(struct sim_partitioned *run, const struct packet_partition_end *end,
                           double end_ps, uint32_t job, uint32_t owner)
{
    struct packet_engine *engine = &run->net->packets;
    const struct packet_flow *flow = &engine->flows[end->flow];
    struct packet_end who = flow->end;
    engine->ledger = (struct packet_ledger){
        .started_ps = flow->started_ps,
        .wire_bytes = flow->last_bytes + (double)(flow->total - 1) * engine->setting.packet_bytes,
        .packets = flow->total,
        .marked = end->marked,
    };
    uint32_t record = run->watch->records.count;
    sim_watch_record(run->watch, run->net, &who, end_ps, job, owner);
    run->record[end->flow] = run->watch->records.count > record ? record : WEFT_NONE;
    run->watch->ended_count++;
    weft_active_close(&run->net->active, who.path_id);
    if (run->closes_after_ps > 0) {
        rest_slot(run, end->flow, end->end_ps + run->closes_after_ps);
    }
}

// Messages whose senders' ends are over: what was sent again is final.
static void take_closed(struct sim_partitioned *run)
{
    const struct packet_engine *engine = &run->net->packets;
    for (uint32_t p = 0; p < run->partitions.partitioning.partition_count; p++) {
        const struct packet_mailbox *mailbox = &run->partitions.partitions[p]->mailbox;
        for (uint32_t i = 0; i < mailbox->closed_count; i++) {
            const struct packet_closed *closed = &mailbox->closed[i];
            if (run->record[closed->flow] != WEFT_NONE) {
                struct weft_flow_record *record =
                    &run->watch->records.list[run->record[closed->flow]];
                record->packets += closed->resent;
                record->retransmits = closed->resent;
                record->timeouts = closed->timeouts;
            }
            if (run->closes_after_ps == 0) {
                uint64_t trip_ps = packet_longest_trip_ps(engine, &engine->flows[closed->flow]);
                rest_slot(run, closed->flow, run->partitions.until_ps + trip_ps);
            }
        }
    }
}

// ---- the watch ----

static void sample(struct sim_partitioned *run)
{
    struct packet_engine *engine = &run->net->packets;
    struct sim_watch_samples *samples = &run->watch->samples;
    packet_partitions_gather_links(&run->partitions);
    engine->clock.now_ps = samples->next_ps;
    sim_watch_sample(samples, engine);
}

// One sample, since nothing changes before.
void sim_partitioned_skip_samples(struct sim_partitioned *run, uint64_t next_ps)
{
    struct sim_watch_samples *samples = &run->watch->samples;
    if (samples->next_ps >= next_ps) {
        return;
    }
    sample(run);
    if (next_ps < WEFT_NEVER && samples->next_ps < next_ps) {
        samples->next_ps = ((next_ps - 1) / samples->period_ps + 1) * samples->period_ps;
    }
}

void sim_partitioned_end_window(struct sim_partitioned *run)
{
    struct sim_watch *watch = run->watch;
    struct packet_engine *engine = &run->net->packets;
    uint64_t until_ps = run->partitions.until_ps;
    take_closed(run);
    packet_partitions_count(&run->partitions);
    watch->is_over |= engine->clock.overflow;
    if (until_ps == watch->samples.next_ps) {
        sample(run);
    }
    if (until_ps >= watch->slice.end_ps) {
        if (engine->counts.timeouts != watch->news.timeouts) {
            packet_partitions_gather_flows(&run->partitions);
        }
        sim_watch_end_slice(watch, engine, until_ps);
    }
}

void sim_partitioned_finish(struct sim_partitioned *run)
{
    if (run->closes_after_ps > 0 && run->resting_count > run->ordered_count &&
        !run->watch->is_over) {
        sim_partitioned_play(run, resting_at(run, run->resting_count - 1)->until_ps);
        take_closed(run);
    }
    packet_partitions_count(&run->partitions);
    packet_partitions_gather_links(&run->partitions);
    packet_partitions_gather_flows(&run->partitions);
}
