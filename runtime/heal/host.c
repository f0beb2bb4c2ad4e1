// SPDX-License-Identifier: Apache-2.0
// A host's process (host.h).
//
// What it does after a RESUME: the rank before an edge connects it, by the connection to that host
// over that switch that is open, if there is one, else by a new one, and says hello in the new
// epoch; the other end answers on the same connection. So what stands is used again, a spare's
// connections that stand by need one round trip, and what is still on its way from a former epoch
// is read and dropped.

#include "checkpoint.h"
#include "host_private.h"
#include "runtime/clock.h"
#include "runtime/process/coordinator.h"
#include "runtime/real_time.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// A connection that is not up after so long is tried anew: TCP alone would wait for a second.
static const uint64_t retry_ns = 100000000;
static const uint64_t wait_most_ns = 1000000000;

// ---- reports and orders ----

static bool tell(struct lab_heal_playing *self)
{
    struct lab_heal_member *member = &self->member;
    for (uint32_t i = 0; i < member->report_count; i++) {
        member->reports[i].pid = (uint64_t)getpid();
        const char *next = (const char *)&member->reports[i];
        size_t left = sizeof member->reports[i];
        while (left > 0) {
            ssize_t sent = send(self->control, next, left, MSG_NOSIGNAL);
            if (sent < 0 && errno == EINTR) {
                continue;
            }
            if (sent <= 0) {
                return false;
            }
            next += sent;
            left -= (size_t)sent;
        }
    }
    member->report_count = 0;
    return true;
}

static void say(struct lab_heal_playing *self, enum lab_heal_report_kind kind)
{
    const struct lab_heal_report report = lab_heal_report_of(&self->member, kind);
    lab_heal_report(&self->member, &report);
}

static void save(struct lab_heal_playing *self)
{
    struct weft_error error;
    bool saved = !self->member.awaits_state &&
                 lab_heal_checkpoint_save(self->job->checkpoint, &self->member.work, &error);
    say(self, saved ? LAB_HEAL_SAVED : LAB_HEAL_FAILED);
}

static void load(struct lab_heal_playing *self)
{
    struct lab_heal_work *work = &self->member.work;
    struct weft_error error;
    uint32_t step = 0;
    if (!lab_heal_checkpoint_load(work->state, &step, self->job->checkpoint, work, self->scratch,
                                  &error) ||
        !lab_heal_take_state(&self->member, work->state, step)) {
        say(self, LAB_HEAL_FAILED);
    }
}

static void begin_edges(struct lab_heal_playing *self, const struct lab_heal_order *before)
{
    const struct lab_heal_order *order = &self->member.order;
    uint64_t now_ns = lab_now_ns();
    for (uint32_t side = 0; side < LAB_HEAL_SIDES; side++) {
        bool same = before->kind != 0 && before->host[side] == order->host[side] &&
                    before->plane[side] == order->plane[side];
        if (same) {
            lab_heal_pulse_heard(&self->pulses[side], now_ns);
        } else {
            lab_heal_pulse_begin(&self->pulses[side], self->job->beat_ns, now_ns);
        }
        self->doubted[side] = false;
        self->hello_due[side] = false;
        self->edges[side] = WEFT_NONE;
    }
    self->edges[LAB_HEAL_NEXT] =
        lab_heal_link_to(&self->links, order->host[LAB_HEAL_NEXT], order->plane[LAB_HEAL_NEXT]);
    self->hello_due[LAB_HEAL_NEXT] = self->edges[LAB_HEAL_NEXT] != WEFT_NONE;
    self->retry_ns = self->hello_due[LAB_HEAL_NEXT] ? now_ns + retry_ns : now_ns;
}

static bool obey(struct lab_heal_playing *self, const struct lab_heal_order *order)
{
    struct lab_heal_order before = self->member.order;
    struct weft_error error;
    if (!lab_heal_obey(&self->member, order, lab_now_ns(), &error)) {
        say(self, LAB_HEAL_FAILED);
        return tell(self);
    }
    bool current = order->epoch == self->member.epoch;
    if (order->kind == LAB_HEAL_RESUME && current) {
        begin_edges(self, &before);
        if ((order->flags & LAB_HEAL_FROM_FILE) != 0) {
            load(self);
        }
    }
    if (order->kind == LAB_HEAL_COMMIT && current) {
        self->feeds = order->feed; // who has not got the last ones skips them
    }
    if (order->kind == LAB_HEAL_SAVE || (order->flags & LAB_HEAL_AND_SAVE) != 0) {
        save(self);
    }
    return tell(self); // many orders may have come at once, and there is room for few reports
}

static bool hear_orders(struct lab_heal_playing *self)
{
    char buffer[4096];
    struct weft_error error;
    ssize_t got = recv(self->control, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return true;
    }
    for (size_t at = 0; got > 0 && at < (size_t)got;) {
        size_t taken = 0;
        bool whole = false;
        if (!lab_heal_take_order(&self->reader, buffer + at, (size_t)got - at, &taken, &whole,
                                 &error) ||
            (whole && !obey(self, &self->reader.it.order))) {
            return false;
        }
        at += taken;
    }
    return got > 0;
}

// ---- links ----

// Which side a link is the edge of; LAB_HEAL_SIDES: of none.
static uint32_t side_of(const struct lab_heal_playing *self, uint32_t index)
{
    uint32_t side = 0;
    while (side < LAB_HEAL_SIDES && self->edges[side] != index) {
        side++;
    }
    return side;
}

static void drop_link(struct lab_heal_playing *self, uint32_t index)
{
    uint32_t side = side_of(self, index);
    lab_heal_link_close(&self->links.list[index]);
    if (side == LAB_HEAL_SIDES) {
        return;
    }
    self->edges[side] = WEFT_NONE;
    self->hello_due[side] = false;
    if (self->member.up[side]) {
        lab_heal_doubt(self, side, LAB_HEAL_RESET);
    } else {
        self->retry_ns = lab_now_ns() + retry_ns / 4;
    }
}

// Takes the hello that was said on a link for an edge, if it is of this epoch and its other end is
// who is due there.
static void match_hello(struct lab_heal_playing *self, uint32_t index)
{
    struct lab_heal_link *link = &self->links.list[index];
    const struct lab_heal_member *member = &self->member;
    uint32_t side = link->hello_side;
    if (link->fd < 0 || link->hello_epoch != member->epoch || member->frozen ||
        member->work.rank == WEFT_NONE || member->order.epoch != member->epoch ||
        member->up[side] || self->hello_due[side] || member->order.host[side] != link->host ||
        member->order.plane[side] != link->plane) {
        return;
    }
    if (side == LAB_HEAL_NEXT) {
        if (self->edges[side] == index) {
            lab_heal_edge_up(&self->member, side);
            lab_heal_pulse_heard(&self->pulses[side], lab_now_ns());
        }
        return;
    }
    self->edges[side] = index;
    self->hello_due[side] = true;
}

// Connects and says what is due. The rank before the edge asks, the other one answers.
static void join(struct lab_heal_playing *self, uint64_t now_ns)
{
    struct lab_heal_member *member = &self->member;
    const struct lab_heal_order *order = &member->order;
    if (member->frozen || member->work.rank == WEFT_NONE || order->epoch != member->epoch) {
        return;
    }
    uint32_t *next = &self->edges[LAB_HEAL_NEXT];
    if (!member->up[LAB_HEAL_NEXT] && now_ns >= self->retry_ns) {
        self->retry_ns = now_ns + retry_ns;
        // One that stands may have carried frames already: it is given up when it ends.
        if (*next == WEFT_NONE || self->links.list[*next].connecting) {
            if (*next != WEFT_NONE) {
                lab_heal_link_close(&self->links.list[*next]);
            }
            *next = lab_heal_connect(&self->links, order->host[LAB_HEAL_NEXT],
                                     order->plane[LAB_HEAL_NEXT]);
            self->hello_due[LAB_HEAL_NEXT] = *next != WEFT_NONE;
        }
    }
    for (uint32_t i = 0; i < self->links.count; i++) {
        match_hello(self, i);
    }
    for (uint32_t side = 0; side < LAB_HEAL_SIDES; side++) {
        uint32_t index = self->edges[side];
        if (!self->hello_due[side] || !lab_heal_can_write(&self->links.list[index])) {
            continue; // it is being connected, or a frame of a former epoch is still going
        }
        self->hello_due[side] = false;
        lab_heal_hello(&self->links, &self->links.list[index], member->epoch,
                       side == LAB_HEAL_NEXT ? LAB_HEAL_PREV : LAB_HEAL_NEXT);
        if (side == LAB_HEAL_PREV) {
            lab_heal_edge_up(member, side);
            lab_heal_pulse_heard(&self->pulses[side], now_ns);
        }
    }
}

static void take_frame(struct lab_heal_playing *self, struct lab_heal_link *link)
{
    struct lab_heal_member *member = &self->member;
    const struct lab_heal_frame *frame = &link->head;
    const uint32_t *data = (const uint32_t *)(const void *)link->body;
    if (frame->kind == LAB_HEAL_HELLO) {
        link->host = frame->host;
        link->plane = frame->plane;
        link->hello_epoch = frame->epoch;
        link->hello_side = frame->lane;
    } else if (frame->kind == LAB_HEAL_STATE) {
        bool fits = member->work.rank == WEFT_NONE || frame->epoch == member->epoch;
        if (!fits || !lab_heal_take_state(member, data, frame->step)) {
            member->dropped++;
        }
    } else {
        (void)lab_heal_take_chunk(member, frame, data);
    }
}

// Reads what is there and not early. A link whose frame is early is held: it is read again when
// this host has moved on.
static void read_link(struct lab_heal_playing *self, uint32_t index)
{
    struct lab_heal_link *link = &self->links.list[index];
    self->held[index] = false;
    while (link->fd >= 0 && !link->gone && lab_heal_read_head(&self->links, link)) {
        uint32_t side = side_of(self, index);
        if (link->head.kind != LAB_HEAL_HELLO && lab_heal_is_early(&self->member, &link->head)) {
            self->held[index] = true;
            return;
        }
        if (!lab_heal_read_body(link)) {
            break;
        }
        take_frame(self, link);
        if (side != LAB_HEAL_SIDES) {
            lab_heal_pulse_heard(&self->pulses[side], lab_now_ns());
        }
    }
    if (link->fd >= 0 && link->gone) {
        drop_link(self, index);
    }
}

// ---- a round ----

static void write_edges(struct lab_heal_playing *self)
{
    for (uint32_t side = 0; side < LAB_HEAL_SIDES; side++) {
        uint32_t index = self->edges[side];
        struct lab_heal_frame frame;
        const uint32_t *data = NULL;
        while (index != WEFT_NONE && lab_heal_can_write(&self->links.list[index]) &&
               lab_heal_outgoing(&frame, &data, &self->member, side)) {
            lab_heal_write(&self->links.list[index], &frame, data);
        }
    }
}

// Parameters for spares, over the connections that stand by.
static void feed_spares(struct lab_heal_playing *self)
{
    const struct lab_heal_work *work = &self->member.work;
    const struct lab_heal_frame frame = {.magic = LAB_HEAL_MAGIC,
                                         .kind = LAB_HEAL_STATE,
                                         .epoch = self->member.epoch,
                                         .step = work->step,
                                         .host = self->host,
                                         .length = self->links.state_bytes};
    for (uint32_t i = 0; i < self->links.count && self->feeds != 0; i++) {
        struct lab_heal_link *link = &self->links.list[i];
        uint32_t spare = link->host - self->job->spare_first;
        if (link->host != WEFT_NONE && link->host >= self->job->spare_first && spare < 64 &&
            (self->feeds >> spare & 1) != 0 && lab_heal_can_write(link)) {
            self->feeds &= ~(1ull << spare);
            lab_heal_write(link, &frame, work->state);
        }
    }
}

static void check_pulses(struct lab_heal_playing *self, uint64_t now_ns)
{
    struct lab_heal_member *member = &self->member;
    for (uint32_t side = 0; side < LAB_HEAL_SIDES; side++) {
        bool late = now_ns > lab_heal_pulse_due_ns(&self->pulses[side]);
        if (late && self->member.up[side]) {
            lab_heal_doubt(self, side, LAB_HEAL_SILENCE);
            self->silent[side] = self->doubted[side];
        } else if (!late && self->silent[side]) {
            struct lab_heal_report report = lab_heal_report_of(member, LAB_HEAL_TRUST);
            report.side = side;
            self->silent[side] = self->doubted[side] = false;
            lab_heal_report(member, &report);
        }
    }
}

static bool advance(struct lab_heal_playing *self)
{
    uint64_t now_ns = lab_now_ns();
    struct lab_heal_member *member = &self->member;
    member->refused += self->links.refused;
    self->links.refused = 0;
    join(self, now_ns);
    lab_heal_advance(member, now_ns);
    write_edges(self);
    feed_spares(self);
    if (now_ns >= self->beat_due_ns) {
        self->beat_due_ns = now_ns + self->job->beat_ns;
        lab_heal_send_beats(self);
        say(self, LAB_HEAL_BEAT);
    }
    if (self->standing_by && !self->standby_told) {
        uint32_t open = 0;
        for (uint32_t i = 0; i < self->links.count; i++) {
            const struct lab_heal_link *link = &self->links.list[i];
            open += link->fd >= 0 && !link->connecting && link->out_sent == link->out_bytes;
        }
        self->standby_told = open == self->links.count;
        if (self->standby_told) {
            say(self, LAB_HEAL_STANDBY);
        }
    }
    return tell(self);
}

static int timeout_ms(const struct lab_heal_playing *self)
{
    const struct lab_heal_member *member = &self->member;
    uint64_t now_ns = lab_now_ns();
    uint64_t due_ns =
        self->beat_due_ns < now_ns + wait_most_ns ? self->beat_due_ns : now_ns + wait_most_ns;
    bool waits = !member->frozen && member->work.rank != WEFT_NONE;
    if (waits && !member->awaits_state && !member->work.begun && member->begin_ns < due_ns) {
        due_ns = member->begin_ns;
    }
    if (waits && !member->up[LAB_HEAL_NEXT] && self->retry_ns < due_ns) {
        due_ns = self->retry_ns;
    }
    return due_ns > now_ns ? (int)((due_ns - now_ns) / 1000000u + 1) : 0;
}

static bool round_once(struct lab_heal_playing *self)
{
    struct pollfd *waits = self->waits;
    uint32_t fixed = 3 + self->job->plane_count;
    if (!advance(self)) {
        return false;
    }
    uint32_t links =
        self->links.count < LAB_HEAL_LINKS_MAX ? self->links.count : LAB_HEAL_LINKS_MAX;
    waits[0] = (struct pollfd){.fd = self->control, .events = POLLIN};
    waits[1] = (struct pollfd){.fd = self->links.listener, .events = POLLIN};
    waits[2] = (struct pollfd){.fd = self->watcher, .events = POLLIN};
    for (uint32_t p = 0; p < self->job->plane_count; p++) {
        waits[3 + p] = (struct pollfd){.fd = self->beats[p], .events = POLLIN};
    }
    for (uint32_t i = 0; i < links; i++) {
        const struct lab_heal_link *link = &self->links.list[i];
        bool writes = link->connecting || link->out_sent < link->out_bytes;
        waits[fixed + i] = (struct pollfd){
            .fd = link->fd,
            .events = (short)(POLLRDHUP | (self->held[i] ? 0 : POLLIN) | (writes ? POLLOUT : 0))};
    }
    if (poll(waits, fixed + links, timeout_ms(self)) < 0 && errno != EINTR) {
        return false;
    }
    uint64_t now_ns = lab_now_ns();
    lab_heal_hear_beats(self, now_ns);
    if (waits[2].revents != 0) {
        lab_heal_check_carriers(self);
    }
    for (uint32_t i = 0; i < links; i++) {
        struct lab_heal_link *link = &self->links.list[i];
        if ((waits[fixed + i].revents & POLLOUT) != 0 && link->fd >= 0) {
            lab_heal_flush(link);
        }
        bool over = (waits[fixed + i].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
        link->gone = link->gone || (self->held[i] && over);
        if (waits[fixed + i].revents != 0 || self->held[i]) {
            read_link(self, i);
        }
    }
    check_pulses(self, now_ns);
    if (waits[0].revents != 0 && !hear_orders(self)) {
        return false;
    }
    if (waits[1].revents != 0) {
        lab_heal_accept(&self->links);
    }
    return self->links.count < LAB_HEAL_LINKS_MAX;
}

// A spare's connections to all hosts that have a rank when the job begins, over the switches of
// their edges.
static void stand_by(struct lab_heal_playing *self)
{
    const struct lab_heal_job *job = self->job;
    if (!job->stands_by || self->host < job->spare_first || self->host >= job->spare_end) {
        return;
    }
    for (uint32_t r = 0; r < job->rank_count; r++) {
        uint32_t planes[2] = {job->first_plane[(r + job->rank_count - 1) % job->rank_count],
                              job->first_plane[r]};
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t index = lab_heal_connect(&self->links, r, planes[i]);
            if (index != WEFT_NONE) {
                lab_heal_hello(&self->links, &self->links.list[index], 0, LAB_HEAL_PREV);
            }
        }
    }
}

static bool play(void *context)
{
    struct lab_heal_playing *self = context;
    const struct lab_heal_job *job = self->job;
    struct weft_arena arena;
    struct lab_heal_work work;
    char netns[WEFT_NETNS_NAME_MAX];
    size_t elements = (size_t)LAB_HEAL_LANES * job->rank_count * job->chunk_elements;
    struct lab_real_time before;
    if (!weft_arena_init(&arena, elements * 3 * sizeof(uint32_t) + ((size_t)4 << 20),
                         self->error) ||
        !lab_peer_enter(weft_lab_server_netns(netns, job->lab, self->host), self->error) ||
        !lab_heal_links_open(&self->links, job, self->host, self->error) ||
        !lab_heal_open_beats(self, self->error)) {
        return false;
    }
    lab_real_time_begin(&before, SCHED_RR, 1); // in turn, so that all send heartbeats
    lab_heal_work_init(&work, WEFT_NONE, job->rank_count, job->chunk_elements, &arena);
    lab_heal_member_init(&self->member, self->host, WEFT_NONE, &work, job->compute_ns);
    self->scratch = arena;
    self->edges[0] = self->edges[1] = WEFT_NONE;
    self->standing_by = self->host >= job->spare_first;
    stand_by(self);
    while (!self->member.ended && round_once(self)) {
    }
    return true;
}

int lab_heal_host_main(const struct lab_heal_job *job, uint32_t host, int control)
{
    struct weft_error error = {.code = WEFT_OK};
    struct lab_heal_playing *self = lab_zeroed(1, sizeof *self);
    *self = (struct lab_heal_playing){
        .job = job, .host = host, .control = control, .watcher = -1, .error = &error};
    if (!weft_guard(play, self, &error)) {
        say(self, LAB_HEAL_FAILED);
        bool told = tell(self);
        (void)told; // the end of this process says the same
    }
    return self->member.ended ? 0 : 1;
}
