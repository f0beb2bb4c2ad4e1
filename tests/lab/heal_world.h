// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TESTS_LAB_HEAL_WORLD_H
#define WEFT_TESTS_LAB_HEAL_WORLD_H

// A network in memory for the twin of healing (test_heal_twin.c): events in the order of their
// times, circuits that may be dark, hosts that play runtime/heal/core/member.h, heartbeats.

#include "runtime/heal/core/machine.h"
#include "runtime/heal/core/member.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t us = 1000;
static const uint64_t ms = 1000000;
enum { HOSTS = 16, EVENTS_MAX = 4096, INBOX = 64, ELEMENTS_MAX = 256 };

enum event_kind {
    ARRIVE, // a frame at a host
    HEARD,  // an event at the machine
    ORDER,  // an order at a host
    WAKE,   // time passes at a host
    LOOK,   // heartbeats are looked for
    FAIL,   // something fails
};

struct parcel {
    struct lab_heal_frame frame;
    uint32_t side; // of the receiver's edge
    uint32_t data[ELEMENTS_MAX];
};

struct event {
    uint64_t at_ns;
    uint64_t order;
    enum event_kind kind;
    uint32_t host;
    struct lab_heal_event heard;
    struct lab_heal_order told;
    struct parcel *parcel;
};

struct host {
    struct lab_heal_member member;
    bool alive, silent;
    uint32_t hello[LAB_HEAL_SIDES]; // epoch that the neighbor said hello in
    uint64_t dark_ns[LAB_HEAL_SIDES];
    bool doubts[LAB_HEAL_SIDES];
    uint64_t patience_ns;
    struct parcel *inbox[INBOX];
    uint32_t inbox_count;
    bool sending[LAB_HEAL_SIDES];
};

struct world {
    struct weft_rng rng;
    struct weft_arena arena;
    uint64_t now_ns;
    uint64_t order;
    uint32_t event_count;
    struct event *events[EVENTS_MAX]; // unordered; few
    struct lab_heal_machine machine;
    struct host hosts[HOSTS];
    bool port_dead[HOSTS][LAB_HEAL_PLANES_MAX];
    bool plane_dead[LAB_HEAL_PLANES_MAX];
    uint32_t far[HOSTS][LAB_HEAL_PLANES_MAX]; // circuits; WEFT_NONE: dark
    uint64_t last_ns[HOSTS];                  // arrivals at a host keep their order
    uint64_t last_order_ns[HOSTS];
    uint64_t last_heard_ns[HOSTS];
    uint64_t saved_digest;
    uint32_t saved_step;
    uint32_t failures_left;
};

// ---- events ----

static struct event *add(struct world *world, uint64_t after_ns, enum event_kind kind,
                         uint32_t host)
{
    assert_true(world->event_count < EVENTS_MAX);
    struct event *event = calloc(1, sizeof *event);
    assert_non_null(event);
    *event = (struct event){
        .at_ns = world->now_ns + after_ns, .order = world->order++, .kind = kind, .host = host};
    world->events[world->event_count++] = event;
    return event;
}

static struct event *take_first(struct world *world)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < world->event_count; i++) {
        const struct event *a = world->events[i];
        const struct event *b = world->events[best];
        if (a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->order < b->order)) {
            best = i;
        }
    }
    struct event *event = world->events[best];
    world->events[best] = world->events[--world->event_count];
    return event;
}

static uint64_t between(struct world *world, uint64_t low_ns, uint64_t high_ns)
{
    return low_ns + weft_rng_next(&world->rng) % (high_ns - low_ns + 1);
}

// Later than what came before, so that a stream keeps its order.
static uint64_t in_order(struct world *world, uint64_t *last_ns, uint64_t delay_ns)
{
    uint64_t at_ns = world->now_ns + delay_ns;
    *last_ns = at_ns > *last_ns ? at_ns : *last_ns + 1;
    return *last_ns - world->now_ns;
}

static void hear(struct world *world, uint64_t after_ns, const struct lab_heal_event *heard)
{
    add(world, after_ns, HEARD, heard->host)->heard = *heard;
}

// ---- the network ----

static bool is_lit(const struct world *world, uint32_t host, uint32_t plane)
{
    uint32_t far = world->far[host][plane];
    return far != WEFT_NONE && !world->plane_dead[plane] && !world->port_dead[host][plane] &&
           !world->port_dead[far][plane];
}

static uint32_t far_of(const struct world *world, uint32_t host, uint32_t side)
{
    const struct lab_heal_order *order = &world->hosts[host].member.order;
    uint32_t plane = order->plane[side];
    return is_lit(world, host, plane) && world->far[host][plane] == order->host[side]
               ? order->host[side]
               : WEFT_NONE;
}

static void send(struct world *world, uint32_t from, uint32_t side,
                 const struct lab_heal_frame *frame, const uint32_t *data)
{
    uint32_t to = far_of(world, from, side);
    if (to == WEFT_NONE) {
        return;
    }
    struct parcel *parcel = calloc(1, sizeof *parcel);
    assert_non_null(parcel);
    assert_true(frame->length <= sizeof parcel->data);
    parcel->frame = *frame;
    parcel->side = side == LAB_HEAL_NEXT ? LAB_HEAL_PREV : LAB_HEAL_NEXT;
    if (frame->length > 0) {
        memcpy(parcel->data, data, frame->length);
    }
    // Some come so late that the epoch is another by then.
    bool late = weft_rng_below(&world->rng, 100) == 0;
    uint64_t delay_ns =
        in_order(world, &world->last_ns[to], between(world, 20 * us, late ? 40 * ms : 1500 * us));
    add(world, delay_ns, ARRIVE, to)->parcel = parcel;
}

static void say_hello(struct world *world, uint32_t host, uint32_t side)
{
    const struct lab_heal_member *member = &world->hosts[host].member;
    const struct lab_heal_frame hello = {
        .magic = LAB_HEAL_MAGIC, .kind = LAB_HEAL_HELLO, .epoch = member->epoch, .host = host};
    send(world, host, side, &hello, NULL);
}

// ---- hosts ----

static void pump(struct world *world, uint32_t index)
{
    struct host *host = &world->hosts[index];
    struct lab_heal_member *member = &host->member;
    for (uint32_t side = 0; side < LAB_HEAL_SIDES; side++) {
        if (!member->frozen && member->work.rank != WEFT_NONE && !member->up[side] &&
            host->hello[side] == member->epoch && member->epoch == member->order.epoch) {
            lab_heal_edge_up(member, side);
        }
    }
    lab_heal_advance(member, world->now_ns);
    for (uint32_t side = 0; side < LAB_HEAL_SIDES; side++) {
        struct lab_heal_frame frame;
        const uint32_t *data = NULL;
        while (lab_heal_outgoing(&frame, &data, member, side)) {
            send(world, index, side, &frame, data);
        }
    }
    lab_heal_advance(member, world->now_ns);
    for (uint32_t i = 0; i < member->report_count; i++) {
        const struct lab_heal_event heard = {
            .kind = LAB_HEAL_REPORT, .host = index, .report = member->reports[i]};
        hear(world,
             in_order(world, &world->last_heard_ns[index], between(world, 10 * us, 900 * us)),
             &heard);
    }
    member->report_count = 0;
}

static void take(struct world *world, uint32_t index, struct parcel *parcel)
{
    struct lab_heal_member *member = &world->hosts[index].member;
    if (parcel->frame.kind == LAB_HEAL_STATE) {
        if (member->work.rank == WEFT_NONE || parcel->frame.epoch == member->epoch) {
            (void)lab_heal_take_state(member, parcel->data, parcel->frame.step);
        }
    } else {
        (void)lab_heal_take_chunk(member, &parcel->frame, parcel->data);
    }
    free(parcel);
}

// What is of this epoch and early waits; what is of a former one goes.
static void open_inbox(struct world *world, uint32_t index)
{
    struct host *host = &world->hosts[index];
    struct lab_heal_member *member = &host->member;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < host->inbox_count; i++) {
        struct parcel *parcel = host->inbox[i];
        if (lab_heal_is_early(member, &parcel->frame)) {
            host->inbox[kept++] = parcel;
        } else {
            take(world, index, parcel);
        }
    }
    host->inbox_count = kept;
}

static void arrive(struct world *world, uint32_t index, struct parcel *parcel)
{
    struct host *host = &world->hosts[index];
    if (!host->alive || host->silent) {
        free(parcel);
        return;
    }
    if (parcel->frame.kind == LAB_HEAL_HELLO) {
        host->hello[parcel->side] = parcel->frame.epoch > host->hello[parcel->side]
                                        ? parcel->frame.epoch
                                        : host->hello[parcel->side];
        free(parcel);
    } else {
        // What is of a former epoch is worth nothing: whoever takes it has wrong sums.
        bool stale =
            parcel->frame.kind == LAB_HEAL_CHUNK && parcel->frame.epoch < host->member.epoch;
        parcel->data[0] ^= stale ? 1 : 0;
        assert_true(host->inbox_count < INBOX);
        host->inbox[host->inbox_count++] = parcel;
    }
    open_inbox(world, index);
    pump(world, index);
    open_inbox(world, index);
    pump(world, index);
}

static void save(struct world *world, uint32_t index)
{
    struct lab_heal_member *member = &world->hosts[index].member;
    struct lab_heal_report report = lab_heal_report_of(member, LAB_HEAL_SAVED);
    if (member->awaits_state) {
        report.kind = LAB_HEAL_FAILED;
    } else {
        world->saved_digest = lab_heal_digest(member->work.state, lab_heal_elements(&member->work));
        world->saved_step = member->work.step;
    }
    lab_heal_report(member, &report);
}

static void feed(struct world *world, uint32_t index, uint64_t spares)
{
    const struct lab_heal_work *work = &world->hosts[index].member.work;
    for (uint32_t s = 0; spares >> s != 0; s++) {
        uint32_t to = world->machine.rack.spare_first + s;
        if ((spares >> s & 1) == 0) {
            continue;
        }
        struct parcel *parcel = calloc(1, sizeof *parcel);
        assert_non_null(parcel);
        parcel->frame = (struct lab_heal_frame){.magic = LAB_HEAL_MAGIC,
                                                .kind = LAB_HEAL_STATE,
                                                .epoch = world->hosts[to].member.epoch,
                                                .step = work->step};
        memcpy(parcel->data, work->state, lab_heal_elements(work) * sizeof *work->state);
        add(world, between(world, 100 * us, 3 * ms), ARRIVE, to)->parcel = parcel;
    }
}

static void obey(struct world *world, uint32_t index, const struct lab_heal_order *order)
{
    struct host *host = &world->hosts[index];
    struct lab_heal_member *member = &host->member;
    struct weft_error error;
    if (!host->alive || host->silent || member->ended) {
        return;
    }
    if (!lab_heal_obey(member, order, world->now_ns, &error)) {
        fail_msg("%s", error.message);
    }
    if (order->kind == LAB_HEAL_RESUME) {
        memset(host->doubts, 0, sizeof host->doubts);
        memset(host->dark_ns, 0, sizeof host->dark_ns);
        say_hello(world, index, LAB_HEAL_PREV);
        say_hello(world, index, LAB_HEAL_NEXT);
        if ((order->flags & LAB_HEAL_FROM_FILE) != 0) {
            assert_int_equal(order->step, world->saved_step);
            lab_heal_expected(member->work.state, lab_heal_elements(&member->work),
                              member->work.count, world->saved_step);
            assert_true(lab_heal_digest(member->work.state, lab_heal_elements(&member->work)) ==
                        world->saved_digest);
            assert_true(lab_heal_take_state(member, member->work.state, order->step));
        }
    }
    if (order->kind == LAB_HEAL_SAVE || (order->flags & LAB_HEAL_AND_SAVE) != 0) {
        save(world, index);
    }
    feed(world, index, order->kind == LAB_HEAL_COMMIT ? order->feed : 0);
    open_inbox(world, index);
    pump(world, index);
    uint64_t begin_ns = member->begin_ns;
    add(world, begin_ns != WEFT_NEVER && begin_ns > world->now_ns ? begin_ns - world->now_ns : 0,
        WAKE, index);
}

// Heartbeats: an edge whose far end is out of reach for long enough is doubted.
static void look(struct world *world, uint32_t index)
{
    struct host *host = &world->hosts[index];
    const struct lab_heal_member *member = &host->member;
    bool listens = host->alive && !host->silent && !member->ended && !member->frozen &&
                   member->work.rank != WEFT_NONE && member->order.epoch == member->epoch;
    for (uint32_t side = 0; side < LAB_HEAL_SIDES && listens; side++) {
        uint32_t far = far_of(world, index, side);
        bool dark = far == WEFT_NONE || world->hosts[far].silent || !world->hosts[far].alive;
        bool early = weft_rng_below(&world->rng, 4000) == 0; // a false alarm
        host->dark_ns[side] = dark ? host->dark_ns[side] + 10 * ms : 0;
        bool doubts = early || host->dark_ns[side] > host->patience_ns;
        if (doubts != host->doubts[side]) {
            struct lab_heal_event heard = {
                .kind = LAB_HEAL_REPORT,
                .host = index,
                .report = lab_heal_report_of(member, doubts ? LAB_HEAL_DOUBT : LAB_HEAL_TRUST)};
            heard.report.side = side;
            heard.report.cause = LAB_HEAL_SILENCE;
            heard.report.at_ns = world->now_ns;
            host->doubts[side] = doubts;
            hear(world,
                 in_order(world, &world->last_heard_ns[index], between(world, 10 * us, 900 * us)),
                 &heard);
        }
    }
    if (world->machine.phase != LAB_HEAL_ENDED) {
        add(world, 10 * ms, LOOK, index);
    }
}

#endif
