// SPDX-License-Identifier: Apache-2.0
// How a running schedule moves bytes: sends, receives, and moves inside the rank.
//
// Slots of memory are divided into segments, and each counts the reads and writes it has had. An
// operation may touch a segment when these counts have reached what the operation needs (ops.h), so
// that data dependencies are held segment by segment, and rounds overlap as far as data allow. What
// arrives before its segment may be written is kept aside, a message a connection at most.
// Zero-copy sends follow the kernel's Documentation/networking/msg_zerocopy.rst: a segment counts
// as read only when the kernel says that it no longer needs the pages.

#include "exec_private.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

// ---- cursors ----

// Messages shorter than the number of lanes leave some lanes nothing to carry; these pass over
// them.
void lab_cursor_settle(const struct lab_exec *exec, const struct lab_queue *queue,
                       struct lab_cursor *cursor, uint32_t lane)
{
    cursor->segment = lane;
    cursor->offset = 0;
    while (cursor->at < queue->count &&
           cursor->segment >= lab_message_segments(exec, &exec->ops->ops[queue->ops[cursor->at]])) {
        cursor->at++;
        cursor->segment = lane;
    }
}

void lab_cursor_advance(const struct lab_exec *exec, const struct lab_queue *queue,
                        struct lab_cursor *cursor, uint32_t lane)
{
    const struct lab_op *op = &exec->ops->ops[queue->ops[cursor->at]];
    cursor->segment += exec->options.lanes;
    cursor->offset = 0;
    if (cursor->segment >= lab_message_segments(exec, op)) {
        cursor->at++;
        lab_cursor_settle(exec, queue, cursor, lane);
    }
}

static bool lost(const struct lab_exec *exec, uint32_t peer, const struct lab_op *op,
                 const char *why, struct weft_error *error)
{
    exec->self->blamed = peer;
    return weft_fail(error, WEFT_IO, "rank %u: peer %u: %s in round %u", exec->self->rank, peer,
                     why, op->round);
}

// ---- sending ----

// Whether as many zero-copy sends are unfinished as can be remembered; the next waits for a notice.
static bool copies_full(const struct lab_outgoing *outgoing)
{
    return outgoing->copies != NULL &&
           outgoing->copies->end - outgoing->copies->begin == LAB_COPIES_ROOM;
}

// After a send of which the segment's last byte was, or was not, part.
static void note_sent(struct lab_exec *exec, struct lab_outgoing *outgoing, size_t place,
                      bool complete)
{
    struct lab_copies *copies = outgoing->copies;
    if (copies != NULL) {
        copies->done[copies->end % LAB_COPIES_ROOM] = false;
        copies->places[copies->end % LAB_COPIES_ROOM] = complete ? (uint32_t)place : WEFT_NONE;
        copies->end++;
    } else if (complete) {
        exec->reads[place]++;
    }
}

// Whether TCP has taken all of earlier rounds and handed it on: what only lies in several sockets
// would share the port. Sends wait for receives of earlier rounds only, so the lowest round under
// way can still always end.
static bool has_turn(const struct lab_exec *exec, const struct lab_outgoing *self, uint32_t round)
{
    for (uint32_t i = 0; i < exec->outgoing_count; i++) {
        const struct lab_outgoing *outgoing = &exec->outgoing[i];
        const struct lab_queue *queue = outgoing->queue;
        uint32_t at = outgoing->cursor.at;
        if ((at < queue->count && exec->ops->ops[queue->ops[at]].round < round) ||
            (outgoing != self && outgoing->drains && outgoing->drain_round < round)) {
            return false;
        }
    }
    return true;
}

// A message is written; its connection tells when nothing of it is unsent (TCP_NOTSENT_LOWAT).
static bool await_drain(struct lab_exec *exec, struct lab_outgoing *outgoing, uint32_t round,
                        struct weft_error *error)
{
    struct epoll_event event = {.events = EPOLLOUT | EPOLLET,
                                .data.u64 = (uint64_t)(outgoing - exec->outgoing)};
    outgoing->drains = true;
    outgoing->drain_round = round;
    return epoll_ctl(exec->poll, EPOLL_CTL_MOD, outgoing->socket, &event) == 0 ||
           weft_fail(error, WEFT_IO, "rank %u: epoll: %s", exec->self->rank, strerror(errno));
}

bool lab_exec_send(struct lab_exec *exec, struct lab_outgoing *outgoing, bool *moved,
                   struct weft_error *error)
{
    const struct lab_queue *queue = outgoing->queue;
    struct lab_cursor *cursor = &outgoing->cursor;
    int flags = MSG_NOSIGNAL | (outgoing->copies != NULL ? MSG_ZEROCOPY : 0);
    while (outgoing->writable && cursor->at < queue->count && !copies_full(outgoing)) {
        const struct lab_op *op = &exec->ops->ops[queue->ops[cursor->at]];
        if (!lab_may(exec, op, cursor->segment) ||
            (exec->options.round_by_round && !has_turn(exec, outgoing, op->round))) {
            return true;
        }
        size_t size = lab_segment_size(exec, cursor->segment);
        const char *from = lab_place_memory(exec, op, cursor->segment) + cursor->offset;
        ssize_t sent = send(outgoing->socket, from, size - cursor->offset, flags);
        exec->counts.sends++;
        if (sent < 0 && (errno == EAGAIN || errno == ENOBUFS)) {
            outgoing->writable = false;
            return true;
        }
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent < 0) {
            return lost(exec, outgoing->peer, op, strerror(errno), error);
        }
        *moved = true;
        exec->counts.sent_bytes += (uint64_t)sent;
        cursor->offset += (size_t)sent;
        bool complete = cursor->offset == size;
        note_sent(exec, outgoing, lab_place(exec, op, cursor->segment), complete);
        if (complete) {
            uint32_t at = cursor->at;
            lab_cursor_advance(exec, queue, cursor, outgoing->lane);
            if (exec->options.round_by_round && cursor->at != at &&
                !await_drain(exec, outgoing, op->round, error)) {
                return false;
            }
        }
    }
    return true;
}

// Sends `low` to `high` are done; places count in order, because the kernel may join notices of
// sends but frees them in order of acknowledgement.
static void finish_range(struct lab_exec *exec, struct lab_copies *copies, uint32_t low,
                         uint32_t high)
{
    for (uint32_t i = low; i != high + 1; i++) {
        copies->done[i % LAB_COPIES_ROOM] = true;
    }
    while (copies->begin != copies->end && copies->done[copies->begin % LAB_COPIES_ROOM]) {
        uint32_t place = copies->places[copies->begin % LAB_COPIES_ROOM];
        if (place != WEFT_NONE) {
            exec->reads[place]++;
        }
        copies->begin++;
    }
}

// Reads the notices of the kernel that it has finished with zero-copy sends, from the socket's
// error queue; a notice is for a range of sends, numbered from 0 by the socket.
bool lab_exec_finish_copies(struct lab_exec *exec, struct lab_outgoing *outgoing, bool *moved,
                            struct weft_error *error)
{
    (void)error;
    while (outgoing->copies != NULL && outgoing->copies->begin != outgoing->copies->end) {
        char control[256];
        struct msghdr message = {.msg_control = control, .msg_controllen = sizeof control};
        if (recvmsg(outgoing->socket, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
            return true;
        }
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        if (head == NULL || head->cmsg_level != SOL_IP || head->cmsg_type != IP_RECVERR) {
            continue;
        }
        struct sock_extended_err notice;
        memcpy(&notice, CMSG_DATA(head), sizeof notice);
        if (notice.ee_origin != SO_EE_ORIGIN_ZEROCOPY) {
            continue;
        }
        uint32_t count = notice.ee_data - notice.ee_info + 1;
        bool copied = (notice.ee_code & SO_EE_CODE_ZEROCOPY_COPIED) != 0;
        *(copied ? &exec->counts.copies : &exec->counts.zero_copies) += count;
        finish_range(exec, outgoing->copies, notice.ee_info, notice.ee_data);
        *moved = true;
    }
    return true;
}

// ---- receiving ----

static bool same_cursor(const struct lab_cursor *a, const struct lab_cursor *b)
{
    return a->at == b->at && a->segment == b->segment;
}

// Brings what was kept into place, as far as it may be.
static void apply_kept(struct lab_exec *exec, struct lab_incoming *incoming, bool *moved)
{
    const struct lab_queue *queue = incoming->queue;
    while (!same_cursor(&incoming->applied, &incoming->received)) {
        const struct lab_op *op = &exec->ops->ops[queue->ops[incoming->applied.at]];
        uint32_t segment = incoming->applied.segment;
        if (!lab_may(exec, op, segment)) {
            return;
        }
        size_t size = lab_segment_size(exec, segment);
        char *into = lab_place_memory(exec, op, segment);
        if (op->adds) {
            lab_add(into, incoming->kept + incoming->kept_begin, size / exec->element_bytes,
                    exec->options.type);
        } else {
            memcpy(into, incoming->kept + incoming->kept_begin, size);
        }
        exec->writes[lab_place(exec, op, segment)]++;
        incoming->kept_begin += size;
        lab_cursor_advance(exec, queue, &incoming->applied, incoming->lane);
        *moved = true;
    }
}

// Where the next bytes go: in place, or behind what is kept. NULL: there is no room for them now.
static char *choose_target(struct lab_exec *exec, struct lab_incoming *incoming,
                           const struct lab_op *op)
{
    struct lab_cursor *cursor = &incoming->received;
    bool empty = same_cursor(&incoming->applied, cursor);
    if (cursor->offset == 0) {
        incoming->direct = empty && !op->adds && lab_may(exec, op, cursor->segment);
        if (empty) {
            incoming->kept_begin = 0;
            incoming->kept_end = 0;
        }
    }
    if (incoming->direct) {
        return lab_place_memory(exec, op, cursor->segment) + cursor->offset;
    }
    size_t size = lab_segment_size(exec, cursor->segment);
    if (incoming->kept_end + size > incoming->kept_room) {
        // Only between segments: once begun, a segment has its room.
        if (incoming->kept_end - incoming->kept_begin + size > incoming->kept_room) {
            return NULL;
        }
        memmove(incoming->kept, incoming->kept + incoming->kept_begin,
                incoming->kept_end - incoming->kept_begin);
        incoming->kept_end -= incoming->kept_begin;
        incoming->kept_begin = 0;
    }
    return incoming->kept + incoming->kept_end + cursor->offset;
}

// A segment has come whole: it counts as written where it went straight into place, and is kept
// else.
static void complete_segment(struct lab_exec *exec, struct lab_incoming *incoming,
                             const struct lab_op *op, size_t size)
{
    struct lab_cursor *cursor = &incoming->received;
    if (incoming->direct) {
        exec->writes[lab_place(exec, op, cursor->segment)]++;
        exec->counts.direct_bytes += size;
        lab_cursor_advance(exec, incoming->queue, &incoming->applied, incoming->lane);
    } else {
        incoming->kept_end += size;
        exec->counts.kept_bytes += lab_may(exec, op, cursor->segment) ? 0 : size;
    }
    incoming->direct = false;
    lab_cursor_advance(exec, incoming->queue, cursor, incoming->lane);
}

// Receives what there is, straight into place where that may be written already, and aside where
// not. Stops where there is no room aside: TCP then holds the sender back.
bool lab_exec_receive(struct lab_exec *exec, struct lab_incoming *incoming, bool *moved,
                      struct weft_error *error)
{
    const struct lab_queue *queue = incoming->queue;
    struct lab_cursor *cursor = &incoming->received;
    apply_kept(exec, incoming, moved);
    while (incoming->readable && cursor->at < queue->count) {
        const struct lab_op *op = &exec->ops->ops[queue->ops[cursor->at]];
        size_t size = lab_segment_size(exec, cursor->segment);
        char *into = choose_target(exec, incoming, op);
        if (into == NULL) {
            return true;
        }
        ssize_t got = recv(incoming->socket, into, size - cursor->offset, 0);
        exec->counts.receives++;
        if (got < 0 && errno == EAGAIN) {
            incoming->readable = false;
            return true;
        }
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return lost(exec, incoming->peer, op,
                        got == 0 ? "closed its connection" : strerror(errno), error);
        }
        *moved = true;
        exec->counts.received_bytes += (uint64_t)got;
        cursor->offset += (size_t)got;
        if (cursor->offset == size) {
            complete_segment(exec, incoming, op, size);
            apply_kept(exec, incoming, moved);
        }
    }
    return true;
}

// ---- moves inside the rank ----

// Whether all segments of an operation may be touched; moves are not divided into segments.
static bool op_may(const struct lab_exec *exec, const struct lab_op *op)
{
    for (uint32_t i = 0; i < lab_message_segments(exec, op); i++) {
        if (!lab_may(exec, op, i)) {
            return false;
        }
    }
    return true;
}

static void count_op(const struct lab_exec *exec, const struct lab_op *op, uint32_t *done)
{
    for (uint32_t i = 0; i < lab_message_segments(exec, op); i++) {
        done[lab_place(exec, op, i)]++;
    }
}

// A move inside the rank is read at once and written later, because what others read and write of
// both places may lie in between.
static void move_out(struct lab_exec *exec, const struct lab_op *op)
{
    size_t bytes = op->slot_count * exec->slot_bytes;
    struct lab_move *move = lab_grow(NULL, 1, sizeof *move + bytes);
    move->next = NULL;
    memcpy(move->data, lab_place_memory(exec, op, 0), bytes);
    *exec->moves.last = move;
    exec->moves.last = &move->next;
    count_op(exec, op, exec->reads);
    exec->moves.out_done++;
}

static void move_in(struct lab_exec *exec, const struct lab_op *op)
{
    struct lab_move *move = exec->moves.first;
    size_t bytes = op->slot_count * exec->slot_bytes;
    char *into = lab_place_memory(exec, op, 0);
    if (op->adds) {
        lab_add(into, move->data, bytes / exec->element_bytes, exec->options.type);
    } else {
        memcpy(into, move->data, bytes);
    }
    count_op(exec, op, exec->writes);
    exec->moves.first = move->next;
    if (exec->moves.first == NULL) {
        exec->moves.last = &exec->moves.first;
    }
    free(move);
    exec->moves.in_done++;
}

void lab_exec_move(struct lab_exec *exec, bool *moved)
{
    const struct lab_op *ops = exec->ops->ops;
    bool more = true;
    while (more) {
        more = false;
        if (exec->moves.out_done < exec->moves.out.count &&
            op_may(exec, &ops[exec->moves.out.ops[exec->moves.out_done]])) {
            move_out(exec, &ops[exec->moves.out.ops[exec->moves.out_done]]);
            more = true;
        }
        if (exec->moves.in_done < exec->moves.out_done &&
            op_may(exec, &ops[exec->moves.in.ops[exec->moves.in_done]])) {
            move_in(exec, &ops[exec->moves.in.ops[exec->moves.in_done]]);
            more = true;
        }
        *moved = *moved || more;
    }
}
