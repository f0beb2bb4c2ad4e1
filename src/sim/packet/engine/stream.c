// SPDX-License-Identifier: Apache-2.0
// Persistent connections: messages of one job on one path follow each other in one stream of
// packets, and the congestion control's state lives on from one to the next, as in the connections
// that a training job keeps open. After a pause a connection may begin again (RFC 5681, 4.1).
//
// Here is also what of a job's iteration has been acknowledged, by which MLTCP scales growth
// (arXiv 2402.09589). A message costs O(1) and a look at the connections of its job and path.

#include "engine.h"

#include <math.h>
#include <string.h>

// A stream of more packets is left, and a new one opened.
#define STREAM_PACKETS_MAX ((uint32_t)1 << 31)

void packet_streams_init(struct packet_engine *engine)
{
    engine->streams.due = WEFT_NONE;
    engine->streams.message_ids.free = WEFT_NONE;
    engine->jobs = WEFT_NEW(engine->arena, struct packet_job, 1);
    engine->jobs[0].setting.weight_ratio = 1;
    if (!engine->persistent) {
        return;
    }
    uint32_t heads = 64;
    while (heads < engine->flow_ids.room && heads < (uint32_t)1 << 20) {
        heads *= 2;
    }
    engine->streams.mask = heads - 1;
    engine->streams.heads = WEFT_NEW_RAW(engine->arena, uint32_t, heads);
    memset(engine->streams.heads, 0xff, heads * sizeof(uint32_t)); // WEFT_NONE
}

void packet_engine_jobs(struct packet_engine *engine, const struct weft_job_timing *timings,
                        uint32_t job_count)
{
    engine->ports.priority_by_job = true;
    engine->jobs = WEFT_NEW(engine->arena, struct packet_job, job_count);
    packet_mlt_jobs(engine, job_count);
    for (uint32_t job = 0; job < job_count; job++) {
        engine->jobs[job].setting.weight_ratio = 1;
        if (timings != NULL) {
            double weight = timings[job].weight_ratio;
            engine->jobs[job].setting.weight_ratio = weight > 0 ? weight : 1;
            engine->jobs[job].setting.dcqcn_timer_ps = timings[job].dcqcn_timer_ps;
        }
    }
}

// ---- messages of a stream ----

static uint32_t take_message(struct packet_engine *engine)
{
    uint32_t id = engine->streams.message_ids.free;
    if (id != WEFT_NONE) {
        engine->streams.message_ids.free = engine->streams.messages[id].next;
        return id;
    }
    if (engine->streams.message_ids.count == engine->streams.message_ids.room) {
        uint32_t room =
            engine->streams.message_ids.room == 0 ? 64 : 2 * engine->streams.message_ids.room;
        struct packet_message *wider = WEFT_NEW_RAW(engine->arena, struct packet_message, room);
        if (engine->streams.message_ids.count > 0) {
            memcpy(wider, engine->streams.messages,
                   engine->streams.message_ids.count * sizeof(*wider));
        }
        engine->streams.messages = wider;
        engine->streams.message_ids.room = room;
    }
    return engine->streams.message_ids.count++;
}

// Forgets the messages that are acknowledged and whose end has been reported.
void packet_stream_acknowledged(struct packet_engine *engine, struct packet_flow *flow)
{
    while (flow->stream.first != flow->stream.due &&
           engine->streams.messages[flow->stream.first].end <= flow->acknowledged.low) {
        uint32_t id = flow->stream.first;
        flow->stream.first = engine->streams.messages[id].next;
        engine->streams.messages[id].next = engine->streams.message_ids.free;
        engine->streams.message_ids.free = id;
    }
    if (flow->stream.first == WEFT_NONE) {
        flow->stream.last = WEFT_NONE;
    }
}

static void add_message(struct packet_engine *engine, struct packet_flow *flow,
                        struct packet_end end)
{
    uint32_t id = take_message(engine);
    engine->streams.messages[id] = (struct packet_message){
        .next = WEFT_NONE,
        .end = flow->total,
        .last_bytes = flow->last_bytes,
        .started_ps = engine->clock.now_ps,
        .owner = end.owner,
        .path_id = end.path_id,
    };
    if (flow->stream.last == WEFT_NONE) {
        flow->stream.first = id;
    } else {
        engine->streams.messages[flow->stream.last].next = id;
    }
    if (flow->stream.due == WEFT_NONE) {
        flow->stream.due = id;
    }
    flow->stream.last = id;
}

uint32_t packet_stream_bytes_within(const struct packet_engine *engine,
                                    const struct packet_flow *flow, uint32_t sequence)
{
    if (flow->stream.first != flow->stream.last) {
        for (uint32_t id = flow->stream.first; id != WEFT_NONE;
             id = engine->streams.messages[id].next) {
            if (engine->streams.messages[id].end == sequence + 1) {
                return (uint32_t)engine->streams.messages[id].last_bytes;
            }
        }
    }
    return engine->setting.packet_bytes;
}

// What became of the message since the one before it had come.
static void close_ledger(struct packet_engine *engine, struct packet_flow *flow,
                         const struct packet_message *message)
{
    uint32_t packets = message->end - flow->stream.reported_end;
    engine->ledger = (struct packet_ledger){
        .started_ps = message->started_ps,
        .wire_bytes = message->last_bytes + (double)(packets - 1) * engine->setting.packet_bytes,
        .packets = packets + flow->resent_count,
        .resent = flow->resent_count,
        .marked = flow->marked_count,
        .timeouts = flow->timeout_count,
    };
    flow->stream.reported_end = message->end;
    flow->resent_count = 0;
    flow->marked_count = 0;
    flow->timeout_count = 0;
}

void packet_stream_received(struct packet_engine *engine, uint32_t id)
{
    struct packet_flow *flow = &engine->flows[id];
    engine->streams.due = WEFT_NONE;
    uint32_t due = flow->stream.due;
    if (due == WEFT_NONE || engine->streams.messages[due].end > flow->received.low) {
        return;
    }
    const struct packet_message *message = &engine->streams.messages[due];
    engine->ended = (struct packet_end){message->owner, message->path_id, flow->end.job};
    engine->has_ended = true;
    close_ledger(engine, flow, message);
    flow->stream.due = message->next;
    packet_stream_acknowledged(engine, flow);
    due = flow->stream.due;
    if (due != WEFT_NONE && engine->streams.messages[due].end <= flow->received.low) {
        engine->streams.due = id;
    }
}

// ---- connections ----

static uint32_t *head_of(const struct packet_engine *engine, struct packet_end end)
{
    uint64_t hash = weft_hash(end.path_id ^ (uint64_t)end.job << 32);
    return &engine->streams.heads[hash & engine->streams.mask];
}

void packet_stream_open(struct packet_engine *engine, uint32_t id, struct packet_end end)
{
    struct packet_flow *flow = &engine->flows[id];
    uint32_t *head = head_of(engine, end);
    flow->stream.next = *head;
    *head = id;
    flow->stream.first = WEFT_NONE;
    flow->stream.due = WEFT_NONE;
    flow->stream.last = WEFT_NONE;
    flow->heard_ps = engine->clock.now_ps;
    add_message(engine, flow, end);
}

// Of a job's connections on a path an idle one, else a new one, else that with least to send.
static uint32_t choose_stream(const struct packet_engine *engine, struct packet_end end)
{
    uint32_t best = WEFT_NONE;
    uint32_t best_left = UINT32_MAX;
    uint32_t count = 0;
    for (uint32_t id = *head_of(engine, end); id != WEFT_NONE; id = engine->flows[id].stream.next) {
        const struct packet_flow *flow = &engine->flows[id];
        if (flow->end.path_id != end.path_id || flow->end.job != end.job ||
            flow->total > STREAM_PACKETS_MAX) {
            continue;
        }
        count++;
        uint32_t left = flow->stream.due == WEFT_NONE ? 0 : flow->total - flow->received.low;
        if (left <= best_left) { // the oldest of equals
            best = id;
            best_left = left;
        }
    }
    return best_left == 0 || count >= engine->options->connection_count ? best : WEFT_NONE;
}

// RFC 5681, 4.1: after a pause of more than a timeout nothing is known of the path.
static bool restart_idle(struct packet_engine *engine, struct packet_flow *flow, uint64_t idle_ps)
{
    const struct weft_packet_options *options = engine->options;
    uint64_t timeout_ps = flow->view.srtt_ps + 4 * flow->view.rttvar_ps;
    timeout_ps =
        timeout_ps > options->loss.timeout_min_ps ? timeout_ps : options->loss.timeout_min_ps;
    if (!options->window.idle_restart || idle_ps <= timeout_ps ||
        engine->congestion.on_send != NULL) {
        return false;
    }
    flow->view.cwnd = fmin(flow->view.cwnd, options->window.initial_packets);
    return true;
}

uint32_t packet_stream_join(struct packet_engine *engine, struct packet_end end, double wire_bytes)
{
    uint32_t id = choose_stream(engine, end);
    if (id == WEFT_NONE) {
        return WEFT_NONE;
    }
    struct packet_flow *flow = &engine->flows[id];
    bool idle = flow->acknowledged.low == flow->total;
    packet_stream_acknowledged(engine, flow);
    uint32_t count = (uint32_t)ceil(wire_bytes / engine->setting.packet_bytes);
    flow->last_bytes =
        fmax(1, ceil(wire_bytes - (double)(count - 1) * engine->setting.packet_bytes));
    flow->total += count;
    engine->jobs[end.job].posted += count;
    add_message(engine, flow, end);
    if (idle) {
        uint64_t idle_ps = engine->clock.now_ps - flow->heard_ps;
        bool restarted = restart_idle(engine, flow, idle_ps);
        if (engine->congestion.on_resume != NULL) {
            engine->congestion.on_resume(packet_view(engine, flow), idle_ps, restarted);
        }
        packet_set_timer(engine, id);
    }
    return id;
}

// ---- iterations ----

// Which share of its iteration has been acknowledged to a flow, or to its job. An iteration has as
// many packets as the last one; the first as many as have been posted so far.
static double progress_ratio(const struct packet_engine *engine, const struct packet_flow *flow)
{
    if (engine->options->mltcp.per_job) {
        const struct packet_job *job = &engine->jobs[flow->end.job];
        uint64_t total = job->learned > job->posted ? job->learned : job->posted;
        return total == 0 ? 0 : fmin(1, (double)job->acknowledged / (double)total);
    }
    uint32_t posted = flow->total - flow->stream.iteration_first;
    uint32_t total =
        posted > flow->stream.iteration_learned ? posted : flow->stream.iteration_learned;
    if (total == 0 || flow->acknowledged.low <= flow->stream.iteration_first) {
        return 0;
    }
    return fmin(1, (double)(flow->acknowledged.low - flow->stream.iteration_first) / total);
}

void packet_scale_growth(struct packet_engine *engine, struct packet_flow *flow,
                         uint32_t newly_acked)
{
    const struct weft_mltcp_options *options = &engine->options->mltcp;
    struct packet_job *job = &engine->jobs[flow->end.job];
    if (flow->acknowledged.low > flow->stream.iteration_first) {
        job->acknowledged += newly_acked;
    }
    double growth = packet_mltcp_growth(options, progress_ratio(engine, flow));
    flow->view.growth_ratio = job->setting.weight_ratio * growth;
}

void packet_engine_iteration(struct packet_engine *engine, uint32_t job_id)
{
    struct packet_job *job = &engine->jobs[job_id];
    const struct weft_mltcp_options *mltcp = &engine->options->mltcp;
    packet_mlt_iteration(engine, job_id);
    job->learned = job->posted;
    job->posted = 0;
    job->acknowledged = 0;
    for (uint32_t id = 0; engine->persistent && id < engine->flow_ids.count; id++) {
        struct packet_flow *flow = &engine->flows[id];
        if (flow->end.job != job_id) {
            continue;
        }
        flow->stream.iteration_learned = flow->total - flow->stream.iteration_first;
        flow->stream.iteration_first = flow->total;
        if (engine->scales_growth) {
            packet_scale_growth(engine, flow, 0);
        }
        if (mltcp->restart_packets > 0 && engine->congestion.on_send == NULL) {
            flow->view.cwnd = mltcp->restart_packets;
            flow->view.ssthresh = mltcp->restart_packets;
            if (engine->congestion.on_resume != NULL) {
                engine->congestion.on_resume(packet_view(engine, flow), 0, true);
            }
        }
    }
}
