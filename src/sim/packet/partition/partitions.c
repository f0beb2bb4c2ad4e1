// SPDX-License-Identifier: Apache-2.0
// Parts of a run: windows, mail between them, and the threads that play them.

#include "partitions.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

// Looks for the others before it lets other work have the core.
#define SPINS 500u

struct packet_helper {
    struct packet_crew *crew;
    uint32_t number;
    pthread_t thread;
    bool failed; // it got no memory, which ends the run
    struct weft_error error;
};

struct packet_crew {
    _Alignas(64) _Atomic uint64_t begun; // windows
    _Alignas(64) _Atomic uint64_t done;  // windows, of all helpers
    atomic_bool is_over;
    uint32_t thread_count; // the caller's among them, which is number 0
    struct packet_parts *parts;
    struct packet_helper helpers[PACKET_PARTS_MAX];
};

// ---- mail ----

// What the others sent in the last window: those of one instant in the order of parts, and of
// sending.
static void take_mail(struct packet_parts *parts, struct packet_part *part)
{
    struct packet_engine *engine = &part->engine;
    uint64_t last = (parts->window_count + 1) % 2;
    for (uint32_t p = 0; p < parts->cut.part_count; p++) {
        struct packet_box *box = &parts->parts[p]->boxes[last][part->post.part];
        for (uint32_t i = 0; i < box->count; i++) {
            uint32_t id = packet_take(engine);
            engine->packets[id] = box->packets[i];
            clock_file(&engine->clock, (uint32_t)PACKET_EVENT_ARRIVAL << CLOCK_KIND_SHIFT | id,
                       box->packets[i].entered_ps);
        }
        box->count = 0;
    }
}

// ---- windows ----

static void add_end(struct packet_part *part)
{
    if (part->end_count == part->end_room) {
        uint32_t room = part->end_room == 0 ? 64 : 2 * part->end_room;
        struct packet_part_end *wider = WEFT_NEW_RAW(&part->arena, struct packet_part_end, room);
        if (part->end_count > 0) {
            memcpy(wider, part->ends, part->end_count * sizeof(*wider));
        }
        part->ends = wider;
        part->end_room = room;
    }
    uint32_t flow = part->post.ended_flow;
    part->ends[part->end_count++] = (struct packet_part_end){part->engine.clock.now_ps, flow,
                                                             part->engine.flows[flow].marked_count};
}

static void play_part(struct packet_parts *parts, struct packet_part *part)
{
    struct packet_engine *engine = &part->engine;
    part->post.boxes = part->boxes[parts->window_count % 2];
    part->post.first_ps = WEFT_NEVER;
    part->post.closed_count = 0;
    part->end_count = 0;
    take_mail(parts, part);
    for (uint32_t next = 0;;) {
        bool more = next < part->start_count;
        uint64_t to_ps = more ? part->starts[next].start_ps : parts->until_ps;
        struct packet_end end;
        if (packet_engine_run(engine, to_ps, &end)) {
            add_end(part);
        } else if (more) {
            engine->clock.now_ps = to_ps;
            packet_begin(engine, part->starts[next++].flow);
        } else {
            break;
        }
    }
    part->start_count = 0;
    uint64_t next_ps = clock_next_ps(&engine->clock);
    part->next_ps = next_ps < part->post.first_ps ? next_ps : part->post.first_ps;
    // Nothing that was sent may come to another part before the next window.
    WEFT_ASSERT(part->post.first_ps > parts->until_ps);
}

// ---- threads ----

static void wait_for(const _Atomic uint64_t *count, uint64_t value)
{
    for (uint32_t spins = 0; atomic_load_explicit(count, memory_order_acquire) < value; spins++) {
        if (spins < SPINS) {
#if defined(__x86_64__) || defined(__i386__)
            __builtin_ia32_pause();
#endif
        } else {
            sched_yield();
        }
    }
}

// Of each thread its share of the parts.
static bool play_parts(void *context)
{
    const struct packet_helper *helper = context;
    const struct packet_crew *crew = helper->crew;
    for (uint32_t p = helper->number; p < crew->parts->cut.part_count; p += crew->thread_count) {
        play_part(crew->parts, crew->parts->parts[p]);
    }
    return true;
}

// A thread that gets no memory stands by until the run is closed, so that no other waits for it.
static void play_share(struct packet_helper *helper)
{
    if (!helper->failed) {
        helper->failed = !weft_guard(play_parts, helper, &helper->error);
    }
}

static void *help(void *argument)
{
    struct packet_helper *helper = argument;
    struct packet_crew *crew = helper->crew;
    for (uint64_t window = 1;; window++) {
        wait_for(&crew->begun, window);
        if (atomic_load_explicit(&crew->is_over, memory_order_relaxed)) {
            return NULL;
        }
        play_share(helper);
        atomic_fetch_add_explicit(&crew->done, 1, memory_order_release);
    }
}

// Without a second thread the first plays all.
static void gather_crew(struct packet_parts *parts, uint32_t threads, struct weft_arena *arena)
{
    struct packet_crew *crew = WEFT_NEW(arena, struct packet_crew, 1);
    crew->parts = parts;
    crew->thread_count = 1;
    crew->helpers[0].crew = crew;
    parts->crew = crew;
    uint32_t wanted = threads < parts->cut.part_count ? threads : parts->cut.part_count;
    for (uint32_t number = 1; number < wanted; number++) {
        struct packet_helper *helper = &crew->helpers[number];
        *helper = (struct packet_helper){.crew = crew, .number = number};
        if (pthread_create(&helper->thread, NULL, help, helper) != 0) {
            break;
        }
        crew->thread_count++;
    }
}

void packet_parts_play(struct packet_parts *parts, uint64_t until_ps)
{
    struct packet_crew *crew = parts->crew;
    parts->until_ps = until_ps;
    parts->window_count++;
    atomic_store_explicit(&crew->begun, parts->window_count, memory_order_release);
    play_share(&crew->helpers[0]);
    wait_for(&crew->done, parts->window_count * (crew->thread_count - 1));
    for (uint32_t i = 0; i < crew->thread_count; i++) {
        if (crew->helpers[i].failed) {
            weft_raise(&crew->helpers[i].error);
        }
    }
}

// ---- messages ----

struct packet_flow *packet_parts_sender(const struct packet_parts *parts, uint32_t flow)
{
    const struct packet_engine *office = parts->office;
    uint32_t first = office->hops[office->flows[flow].data_hop];
    return &parts->parts[parts->cut.owner[first]]->engine.flows[flow];
}

struct packet_flow *packet_parts_receiver(const struct packet_parts *parts, uint32_t flow)
{
    const struct packet_engine *office = parts->office;
    uint32_t first = office->hops[office->flows[flow].ack_hop];
    return &parts->parts[parts->cut.owner[first]]->engine.flows[flow];
}

static void lay_half(struct packet_engine *engine, const struct packet_engine *office,
                     uint32_t flow)
{
    while (engine->flow_count <= flow) {
        memset(&engine->flows[engine->flow_count++], 0, sizeof(struct packet_flow));
    }
    struct packet_flow *half = &engine->flows[flow];
    WEFT_ASSERT(!half->is_open && !half->timer_filed && !half->is_paced);
    *half = office->flows[flow];
    if (engine->sprays != NULL) {
        engine->sprays[flow] = office->sprays[flow];
    }
    if (engine->skips != NULL) {
        memset(&engine->skips[(size_t)flow * engine->way_room], 0, engine->way_room);
    }
}

void packet_parts_start(struct packet_parts *parts, uint32_t flow, uint64_t start_ps)
{
    const struct packet_engine *office = parts->office;
    const struct packet_flow *laid_out = &office->flows[flow];
    WEFT_ASSERT(laid_out->ack_hop != WEFT_NONE && !laid_out->is_open);
    uint32_t from = parts->cut.owner[office->hops[laid_out->data_hop]];
    uint32_t to = parts->cut.owner[office->hops[laid_out->ack_hop]];
    struct packet_part *part = parts->parts[from];
    lay_half(&part->engine, office, flow);
    if (to != from) {
        lay_half(&parts->parts[to]->engine, office, flow);
    }
    if (part->start_count == part->start_room) {
        uint32_t room = part->start_room == 0 ? 64 : 2 * part->start_room;
        struct packet_part_start *wider =
            WEFT_NEW_RAW(&part->arena, struct packet_part_start, room);
        if (part->start_count > 0) {
            memcpy(wider, part->starts, part->start_count * sizeof(*wider));
        }
        part->starts = wider;
        part->start_room = room;
    }
    part->starts[part->start_count++] = (struct packet_part_start){start_ps, flow};
}

// ---- all parts ----

bool packet_parts_can(const struct weft_sim_options *options)
{
    const struct weft_packet_options *packet = options->packet;
    const struct weft_transport_entry *transport = weft_transport_entry(options->transport);
    return options->engine == WEFT_ENGINE_PACKET && !options->persistent && !packet->ack_at_once &&
           !packet->mark_at_departure && !packet->port.lossless &&
           !transport->congestion->is_receiver_driven &&
           !(transport->scales_growth && packet->mltcp.per_job);
}

bool packet_parts_open(struct packet_parts *parts, struct packet_engine *office,
                       const struct weft_fabric *fabric, const struct weft_sim_options *options,
                       uint32_t hop_max, struct weft_arena *arena, struct weft_error *error)
{
    parts->office = office;
    parts->window_count = 0;
    office->lays_out_only = true;
    for (uint32_t p = 0; p < parts->cut.part_count; p++) {
        struct weft_arena whole;
        if (!weft_arena_init(&whole, 0, error)) {
            for (uint32_t i = 0; i < p; i++) {
                weft_arena_release(&parts->parts[i]->whole_arena);
            }
            return false;
        }
        struct weft_arena left = whole;
        struct packet_part *part = WEFT_NEW(&left, struct packet_part, 1);
        part->whole_arena = whole;
        part->arena = left;
        parts->parts[p] = part;
        packet_engine_init(&part->engine, fabric, options, office->flow_room, hop_max,
                           &part->arena);
        part->post = (struct packet_post){
            .part = p, .owner = parts->cut.owner, .far = parts->cut.far, .boxes = part->boxes[0]};
        part->engine.hops = office->hops;
        part->engine.post = &part->post;
        part->next_ps = WEFT_NEVER;
    }
    gather_crew(parts, options->threads, arena);
    return true;
}

void packet_parts_close(struct packet_parts *parts)
{
    struct packet_crew *crew = parts->crew;
    atomic_store_explicit(&crew->is_over, true, memory_order_relaxed);
    atomic_store_explicit(&crew->begun, parts->window_count + 1, memory_order_release);
    for (uint32_t i = 1; i < crew->thread_count; i++) {
        pthread_join(crew->helpers[i].thread, NULL);
    }
    for (uint32_t p = 0; p < parts->cut.part_count; p++) {
        struct weft_arena whole = parts->parts[p]->whole_arena; // which holds the part
        weft_arena_release(&whole);
    }
}

uint64_t packet_parts_next_ps(const struct packet_parts *parts)
{
    uint64_t next_ps = WEFT_NEVER;
    for (uint32_t p = 0; p < parts->cut.part_count; p++) {
        uint64_t part_ps = parts->parts[p]->next_ps;
        next_ps = part_ps < next_ps ? part_ps : next_ps;
    }
    return next_ps;
}

void packet_parts_count(struct packet_parts *parts)
{
    struct packet_engine *office = parts->office;
    office->counts = (struct weft_packet_counts){0};
    for (uint32_t p = 0; p < parts->cut.part_count; p++) {
        const struct packet_engine *engine = &parts->parts[p]->engine;
        const struct weft_packet_counts *counts = &engine->counts;
        office->counts.packets += counts->packets;
        office->counts.events += counts->events;
        office->counts.drops += counts->drops;
        office->counts.ecn_marks += counts->ecn_marks;
        office->counts.retransmits += counts->retransmits;
        office->counts.timeouts += counts->timeouts;
        office->counts.trims += counts->trims;
        office->counts.pauses += counts->pauses;
        office->clock.overflow |= engine->clock.overflow;
    }
    office->clock.now_ps = parts->until_ps;
}

void packet_parts_gather_links(struct packet_parts *parts)
{
    struct packet_engine *office = parts->office;
    for (uint32_t l = 0; l < office->ports.fabric->link_count; l++) {
        const struct packet_engine *engine = &parts->parts[parts->cut.owner[l]]->engine;
        office->links[l] = engine->links[l];
        if (office->ports.queues != NULL) {
            office->ports.queues[l] = engine->ports.queues[l];
        }
    }
}

void packet_parts_gather_flows(struct packet_parts *parts)
{
    struct packet_engine *office = parts->office;
    for (uint32_t i = 0; i < office->flow_count; i++) {
        const struct packet_flow *sender = packet_parts_sender(parts, i);
        const struct packet_flow *receiver = packet_parts_receiver(parts, i);
        struct packet_flow *flow = &office->flows[i];
        flow->is_open = sender->is_open && !receiver->has_come;
        flow->is_connected = sender->is_connected;
        flow->acknowledged.low = sender->acknowledged.low;
        flow->received.low = receiver->received.low;
        flow->timeout_count = sender->timeout_count;
    }
}
