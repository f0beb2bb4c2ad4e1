// SPDX-License-Identifier: Apache-2.0
// Records of flows, progress, and the end of runs that get nowhere.
//
// A packet simulation may go on for ever: every packet is lost and sent again, or ports wait for
// each other. After each slice the watch counts what open flows have received; a run in which
// nothing came while every flow had many timeouts is ended, and the flows that wait are named. A
// slice is as long as some ten thousand events take, so that this costs nothing beside them.

#include "watch.h"

#include <math.h>
#include <string.h>

// A slice of the packet engine has between these numbers of events: enough that looking at all open
// flows costs nothing beside them, few enough that a run which shall stop does so soon.
#define SLICE_EVENTS_MIN ((uint64_t)1 << 15)
#define SLICE_EVENTS_MAX ((uint64_t)1 << 17)
#define SLICE_FIRST_PS 1000000u
#define SLICE_MAX_PS ((uint64_t)1 << 50)
// Nothing has come although every open flow had so many timeouts on average: nothing will.
#define TIMEOUTS_IN_VAIN 24u
#define FLOWS_NAMED 3u

// The watch lives as long as `arena`, which gets the records: as many flows as flow_limit, and as
// many samples as sample_limit, but at least four instants of all links, which joining in pairs
// needs.
void sim_watch_init(struct sim_watch *watch, const struct weft_fabric *fabric,
                    const struct weft_sim_options *options, struct weft_arena *arena)
{
    const struct weft_record_options *records = &options->records;
    *watch = (struct sim_watch){
        .options = options,
        .arena = arena,
        .samples.next_ps = UINT64_MAX,
        .slice.length_ps = SLICE_FIRST_PS,
    };
    if (records->flow_limit > 0) {
        watch->records.list = WEFT_NEW_RAW(arena, struct weft_flow_record, records->flow_limit);
    }
    if (records->sample_ps > 0) {
        struct sim_watch_samples *samples = &watch->samples;
        uint64_t least = 4 * (uint64_t)fabric->link_count;
        uint64_t limit = records->sample_limit > least ? records->sample_limit : least;
        samples->period_ps = records->sample_ps;
        samples->next_ps = records->sample_ps;
        samples->limit = limit;
        samples->link_count = fabric->link_count;
        samples->list = WEFT_NEW_RAW(arena, struct weft_link_sample, limit);
        samples->beside = WEFT_NEW_RAW(arena, struct weft_link_sample, fabric->link_count);
        samples->left_bytes = WEFT_NEW(arena, uint64_t, fabric->link_count);
        samples->drops = WEFT_NEW(arena, uint32_t, fabric->link_count);
    }
}

// ---- how far a run is ----

double sim_watch_work(const struct sim_watch *watch, double count, double wire_bytes)
{
    const struct weft_sim_options *options = watch->options;
    bool packets = options->engine == WEFT_ENGINE_PACKET;
    return packets ? count * ceil(wire_bytes / options->packet_bytes) : count;
}

void sim_watch_expect(const struct sim_watch *watch, double work)
{
    if (watch->options->progress != NULL) {
        weft_tally_begin(&watch->options->progress->tally, (uint64_t)fmin(work, 0x1p62));
    }
}

static void tell(const struct sim_watch *watch, uint64_t at_ps, uint64_t events, uint64_t done)
{
    struct weft_sim_progress *progress = watch->options->progress;
    if (progress != NULL) {
        atomic_store_explicit(&progress->now_ps, at_ps, memory_order_relaxed);
        atomic_store_explicit(&progress->events, events, memory_order_relaxed);
        atomic_store_explicit(&progress->tally.done, done, memory_order_relaxed);
    }
}

// ---- slices ----

// How many packets all open flows together have received, and how many flows those are.
static uint64_t count_received(const struct packet_engine *engine, uint32_t *open_count)
{
    uint64_t received = 0;
    *open_count = 0;
    for (uint32_t i = 0; i < engine->flow_ids.count; i++) {
        if (engine->flows[i].is_open) {
            received += engine->flows[i].received.low + (uint64_t)engine->flows[i].is_connected;
            (*open_count)++;
        }
    }
    return received;
}

static void look_for_news(struct sim_watch *watch, const struct packet_engine *engine)
{
    uint32_t open_count;
    uint64_t received = count_received(engine, &open_count);
    bool news = received != watch->news.received || watch->ended_count != watch->news.ended_count;
    if (!news && engine->counts.timeouts - watch->news.timeouts >
                     (uint64_t)TIMEOUTS_IN_VAIN * (open_count > 0 ? open_count : 1)) {
        watch->is_over = true;
        return;
    }
    if (news) {
        watch->news.received = received;
        watch->news.ended_count = watch->ended_count;
        watch->news.timeouts = engine->counts.timeouts;
    }
}

void sim_watch_end_slice(struct sim_watch *watch, const struct packet_engine *engine,
                         uint64_t at_ps)
{
    uint64_t events = engine->counts.events - watch->slice.events;
    if (events < SLICE_EVENTS_MIN && watch->slice.length_ps < SLICE_MAX_PS) {
        watch->slice.length_ps *= 2;
    } else if (events > SLICE_EVENTS_MAX && watch->slice.length_ps > 2) {
        watch->slice.length_ps /= 2;
    }
    watch->slice.events = engine->counts.events;
    watch->slice.end_ps = at_ps + watch->slice.length_ps;
    tell(watch, at_ps, watch->slice.events, engine->counts.packets - engine->counts.retransmits);
    weft_poll();
    if (weft_stopped(watch->options->stop)) {
        watch->is_stopped = true;
        watch->is_over = true;
    }
    // MLT's senders have a patience of their own, and the run ends when one has lost it.
    if (engine->counts.timeouts != watch->news.timeouts && engine->mlts == NULL) {
        look_for_news(watch, engine);
    }
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

bool sim_watch_run(struct sim_watch *watch, struct packet_engine *engine, uint64_t until_ps,
                   struct packet_end *end)
{
    struct sim_watch_samples *samples = &watch->samples;
    while (!watch->is_over) {
        uint64_t to_ps = least(until_ps, least(samples->next_ps, watch->slice.end_ps));
        if (packet_engine_run(engine, to_ps, end)) {
            watch->ended_count++;
            return true;
        }
        watch->is_over |= engine->clock.overflow || engine->is_stuck;
        bool idle = engine->clock.pending_count == 0;
        if (samples->next_ps == to_ps || (idle && samples->next_ps <= until_ps)) {
            sim_watch_sample(samples, engine);
        }
        if (samples->next_ps <= until_ps && idle && until_ps < WEFT_NEVER) {
            samples->next_ps = (until_ps / samples->period_ps + 1) * samples->period_ps;
        }
        if (idle || to_ps == until_ps) {
            return false;
        }
        if (to_ps >= watch->slice.end_ps) {
            sim_watch_end_slice(watch, engine, to_ps);
        }
    }
    return false;
}

bool sim_watch_fluid(struct sim_watch *watch, const struct weft_active_flows *active,
                     double until_ps, uint64_t events)
{
    struct sim_watch_samples *samples = &watch->samples;
    bool sampled =
        samples->period_ps > 0 && until_ps < 0x1p62; // longer runs are refused in the end
    while (sampled && (double)samples->next_ps <= until_ps && active->ends.count > 0) {
        sim_watch_sample_fluid(samples, active);
    }
    if (sampled && (double)samples->next_ps <= until_ps) {
        samples->next_ps = ((uint64_t)until_ps / samples->period_ps + 1) * samples->period_ps;
    }
    tell(watch, (uint64_t)fmin(until_ps, 0x1p62), events,
         active->started_count - active->ends.count);
    weft_poll();
    watch->is_stopped |= weft_stopped(watch->options->stop);
    watch->is_over |= watch->is_stopped;
    return !watch->is_over;
}

// ---- records ----

static void find_ends(const struct weft_simnet *net, uint32_t path_id, uint32_t *from, uint32_t *to)
{
    const struct weft_maxmin_class *path = weft_maxmin_class_at(&net->active.maxmin, path_id);
    *from = net->fabric->links[path->path[0]].from;
    *to = net->fabric->links[path->path[path->hop_count - 1]].to;
}

void sim_watch_record(struct sim_watch *watch, const struct weft_simnet *net,
                      const struct packet_end *end, double end_ps, uint32_t job, uint32_t task)
{
    if (watch->records.count == watch->options->records.flow_limit) {
        watch->records.left_out++;
        return;
    }
    const struct packet_ledger *ledger = &net->packets.ledger;
    const struct weft_sim_options *options = watch->options;
    double headers_bytes = ceil(ledger->wire_bytes / options->packet_bytes) * options->header_bytes;
    struct weft_flow_record record = {
        .start_ps = ledger->started_ps,
        .end_ps = (uint64_t)(end_ps + 0.5),
        .size_bytes = (uint64_t)fmax(0, ledger->wire_bytes - headers_bytes),
        .job = job,
        .task = task,
        .packets = ledger->packets,
        .retransmits = ledger->resent,
        .ecn_marks = ledger->marked,
        .timeouts = ledger->timeouts,
    };
    find_ends(net, end->path_id, &record.from, &record.to);
    watch->records.list[watch->records.count++] = record;
}

struct weft_records sim_watch_take_records(const struct sim_watch *watch)
{
    return (struct weft_records){
        .flows = watch->records.list,
        .flow_count = watch->records.count,
        .flows_left_out = watch->options->records.flow_limit > 0 ? watch->records.left_out : 0,
        .samples = watch->samples.list,
        .sample_count = watch->samples.count,
        .sample_ps = watch->samples.period_ps,
    };
}

// ---- the end ----

// Whom a flow waits for: the owner of its first message that has not come; where a stream's have
// all come, of the first that is not acknowledged.
static uint32_t owner_waiting(const struct packet_engine *engine, const struct packet_flow *flow)
{
    if (!flow->is_stream) {
        return flow->end.owner;
    }
    uint32_t message = flow->stream.due != WEFT_NONE ? flow->stream.due : flow->stream.first;
    return message != WEFT_NONE ? engine->streams.messages[message].owner : flow->end.owner;
}

// "flow 3 from server 0 to server 5: packet 10 of 112 is not acknowledged after 24 timeouts; ..."
static void name_waiting(char *text, size_t room, const struct weft_simnet *net,
                         sim_name_message *name, const void *input)
{
    const struct packet_engine *engine = &net->packets;
    uint32_t named = 0;
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < engine->flow_ids.count && named < FLOWS_NAMED; i++) {
        const struct packet_flow *flow = &engine->flows[i];
        if (!flow->is_open || flow->acknowledged.low == flow->total) {
            continue;
        }
        uint32_t from;
        uint32_t to;
        find_ends(net, flow->end.path_id, &from, &to);
        char what[64] = "the connection";
        if (flow->is_connected) {
            snprintf(what, sizeof(what), "packet %u of %u", flow->acknowledged.low, flow->total);
        }
        char whose[64];
        name(whose, sizeof(whose), input, owner_waiting(engine, flow));
        int added = snprintf(text + length, room - length,
                             "%s %s from server %u to server %u: %s is not acknowledged after %u "
                             "timeouts",
                             named == 0 ? "" : ";", whose, from, to, what, flow->timeout_count);
        WEFT_ASSERT(added > 0);
        length = least(length + (size_t)added, room - 1);
        named++;
    }
}

bool sim_watch_check(const struct sim_watch *watch, const struct weft_simnet *net,
                     sim_name_message *name, const void *input, struct weft_error *error)
{
    const struct packet_engine *engine = &net->packets;
    char time[WEFT_UNIT_TEXT];
    if (watch->is_stopped) {
        uint64_t at_ps = weft_simnet_is_packet(net) ? engine->clock.now_ps
                                                    : (uint64_t)fmin(net->active.now_ps, 0x1p62);
        return weft_fail(error, WEFT_STOPPED, "stopped at %s of simulated time",
                         weft_show_time(time, at_ps));
    }
    if (!weft_simnet_is_packet(net)) {
        return true;
    }
    if (engine->clock.overflow) {
        return weft_fail(error, WEFT_INPUT,
                         "the simulated time passes 53 days; use smaller sizes or faster links");
    }
    uint64_t waiting = net->active.started_count - watch->ended_count;
    if (waiting == 0) {
        return true;
    }
    char flows[400];
    name_waiting(flows, sizeof(flows), net, name, input);
    return weft_fail(error, WEFT_INFEASIBLE, "nothing comes any more at %s, and %llu flows wait:%s",
                     weft_show_time(time, engine->clock.now_ps), (unsigned long long)waiting,
                     flows);
}
