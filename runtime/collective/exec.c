// SPDX-License-Identifier: Apache-2.0
// Runs one rank of a schedule: opens it on its connections, and drives them by epoll until all its
// operations have ended.
//
// One thread does everything that can be done without waiting (exec_io.c), then waits for events,
// edge-triggered. A run ends when the last byte of each connection is sent, acknowledged by the
// kernel where it was not copied, and applied. Nothing moving for the peer's timeout is a failure
// that names the peer which the lowest round still waits for: all later rounds may only wait for
// that one. Work is linear in the bytes and in segments times connections.

#include "exec_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

// How long a rank waits for events before it looks at its timeout and says that it is alive, which
// it does once a second. Not measured.
static const int wait_ms = 200;
enum { EVENTS_MAX = 64 };

// ---- opening ----

static bool is_kind(const struct lab_op *op, enum lab_op_kind kind, uint32_t stream)
{
    return op->kind == (uint8_t)kind && op->stream == stream;
}

// The operations of one kind and stream, in order.
static void fill_queue(struct lab_queue *queue, const struct lab_ops *ops, enum lab_op_kind kind,
                       uint32_t stream)
{
    for (int pass = 0; pass < 2; pass++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < ops->count; i++) {
            if (is_kind(&ops->ops[i], kind, stream)) {
                if (pass == 1) {
                    queue->ops[count] = i;
                }
                count++;
            }
        }
        if (pass == 0) {
            queue->count = count;
            queue->ops = lab_zeroed(count, sizeof *queue->ops);
        }
    }
}

// Bytes of a message that one lane carries: segments go to the lanes one after the other.
static size_t lane_bytes(const struct lab_exec *exec, const struct lab_op *op, uint32_t lane)
{
    size_t bytes = 0;
    for (uint32_t i = lane; i < lab_message_segments(exec, op); i += exec->options.lanes) {
        bytes += lab_segment_size(exec, i);
    }
    return bytes;
}

// The connections of one stream, one for each lane, with the queue of operations that they share. A
// receiving one gets room for the longest message of its lane, which may come before its place is
// free.
static void add_connections(struct lab_exec *exec, const struct lab_connections *connections,
                            uint32_t stream, bool outgoing)
{
    struct lab_queue *queue = &exec->queues[exec->queue_count++];
    fill_queue(queue, exec->ops, outgoing ? LAB_OP_SEND : LAB_OP_RECEIVE, stream);
    for (uint32_t lane = 0; lane < exec->options.lanes; lane++) {
        const struct lab_stream *s = &connections->streams[stream + lane];
        int fd = connections->sockets[stream + lane];
        WEFT_ASSERT(fd >= 0);
        if (outgoing) {
            exec->outgoing[exec->outgoing_count++] = (struct lab_outgoing){
                .socket = fd,
                .peer = s->to,
                .lane = lane,
                .queue = queue,
                .writable = true,
                .copies = exec->options.zero_copy ? lab_zeroed(1, sizeof(struct lab_copies)) : NULL,
            };
            continue;
        }
        size_t room = 0;
        for (uint32_t i = 0; i < queue->count; i++) {
            size_t bytes = lane_bytes(exec, &exec->ops->ops[queue->ops[i]], lane);
            room = bytes > room ? bytes : room;
        }
        exec->incoming[exec->incoming_count++] = (struct lab_incoming){
            .socket = fd,
            .peer = s->from,
            .lane = lane,
            .queue = queue,
            .readable = true,
            .kept = lab_zeroed(room, 1),
            .kept_room = room,
        };
    }
}

static bool watch(struct lab_exec *exec, int socket, uint64_t index, uint32_t events,
                  struct weft_error *error)
{
    struct epoll_event event = {.events = events | EPOLLET, .data.u64 = index};
    return epoll_ctl(exec->poll, EPOLL_CTL_ADD, socket, &event) == 0 ||
           weft_fail(error, WEFT_IO, "rank %u: epoll: %s", exec->self->rank, strerror(errno));
}

// All sockets of the rank, edge-triggered, and the coordinator's end, whose closing ends the run.
static bool watch_all(struct lab_exec *exec, struct weft_error *error)
{
    exec->poll = epoll_create1(EPOLL_CLOEXEC);
    if (exec->poll < 0) {
        return weft_fail(error, WEFT_IO, "rank %u: epoll: %s", exec->self->rank, strerror(errno));
    }
    for (uint32_t i = 0; i < exec->outgoing_count; i++) {
        if (!watch(exec, exec->outgoing[i].socket, i, EPOLLOUT, error)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < exec->incoming_count; i++) {
        uint64_t index = (uint64_t)exec->outgoing_count + i;
        if (!watch(exec, exec->incoming[i].socket, index, EPOLLIN, error)) {
            return false;
        }
    }
    // The coordinator's end: only that it closes is of interest.
    return watch(exec, exec->self->control, UINT64_MAX, EPOLLRDHUP, error);
}

// Whole units of lab_add's vectors.
static size_t segment_bytes(size_t slot_bytes, const struct lab_exec_options *options)
{
    size_t bytes = options->segment_bytes;
    if (bytes == 0) {
        bytes = slot_bytes / LAB_SEGMENTS_LEAST;
        bytes = bytes < LAB_SEGMENT_BYTES_MIN ? LAB_SEGMENT_BYTES_MIN : bytes;
        bytes = bytes > LAB_SEGMENT_BYTES ? LAB_SEGMENT_BYTES : bytes;
    }
    return bytes - bytes % 64;
}

bool lab_exec_open(struct lab_exec **result, struct lab_peer *self,
                   const struct lab_connections *connections, const struct lab_ops *ops,
                   const struct lab_exec_options *options, struct weft_error *error)
{
    struct lab_exec *exec = lab_zeroed(1, sizeof *exec);
    exec->poll = -1;
    exec->self = self;
    exec->ops = ops;
    exec->options = *options;
    exec->element_bytes = lab_type_bytes(options->type);
    exec->slot_bytes = options->slot_elements * exec->element_bytes;
    exec->segment_bytes = segment_bytes(exec->slot_bytes, options);
    if (exec->slot_bytes < exec->segment_bytes || exec->segment_bytes == 0) {
        exec->segment_bytes = exec->slot_bytes;
    }
    exec->slot_count = options->slot_count;
    exec->segment_count =
        (uint32_t)((exec->slot_bytes + exec->segment_bytes - 1) / exec->segment_bytes);
    size_t places = (size_t)exec->slot_count * exec->segment_count;
    exec->reads = lab_zeroed(places, sizeof *exec->reads);
    exec->writes = lab_zeroed(places, sizeof *exec->writes);
    exec->outgoing = lab_zeroed(connections->stream_count, sizeof *exec->outgoing);
    exec->incoming = lab_zeroed(connections->stream_count, sizeof *exec->incoming);
    exec->queues = lab_zeroed(connections->stream_count, sizeof *exec->queues);
    for (uint32_t i = 0; i < connections->stream_count; i += options->lanes) {
        if (connections->streams[i].from == self->rank ||
            connections->streams[i].to == self->rank) {
            add_connections(exec, connections, i, connections->streams[i].from == self->rank);
        }
    }
    fill_queue(&exec->moves.out, ops, LAB_OP_MOVE_OUT, WEFT_NONE);
    fill_queue(&exec->moves.in, ops, LAB_OP_MOVE_IN, WEFT_NONE);
    exec->moves.last = &exec->moves.first;
    if (!watch_all(exec, error)) {
        lab_exec_close(exec);
        return false;
    }
    *result = exec;
    return true;
}

// Safe for what lab_exec_open has made so far, when that fails.
void lab_exec_close(struct lab_exec *exec)
{
    for (uint32_t i = 0; i < exec->outgoing_count; i++) {
        free(exec->outgoing[i].copies);
    }
    for (uint32_t i = 0; i < exec->incoming_count; i++) {
        free(exec->incoming[i].kept);
    }
    for (uint32_t i = 0; i < exec->queue_count; i++) {
        free(exec->queues[i].ops);
    }
    while (exec->moves.first != NULL) {
        struct lab_move *move = exec->moves.first;
        exec->moves.first = move->next;
        free(move);
    }
    if (exec->poll >= 0) {
        close(exec->poll);
    }
    free(exec->moves.out.ops);
    free(exec->moves.in.ops);
    free(exec->queues);
    free(exec->outgoing);
    free(exec->incoming);
    free(exec->reads);
    free(exec->writes);
    free(exec);
}

const struct lab_exec_counts *lab_exec_counts(const struct lab_exec *exec)
{
    return &exec->counts;
}

// ---- running ----

// Sets all counts and cursors to the begin of the schedule, on another memory. What the sockets had
// to say since the last run has been told already, so all count as readable.
static void begin(struct lab_exec *exec, void *memory)
{
    size_t places = (size_t)exec->slot_count * exec->segment_count;
    exec->memory = memory;
    memset(exec->reads, 0, places * sizeof *exec->reads);
    memset(exec->writes, 0, places * sizeof *exec->writes);
    exec->moves.out_done = 0;
    exec->moves.in_done = 0;
    for (uint32_t i = 0; i < exec->outgoing_count; i++) {
        exec->outgoing[i].cursor = (struct lab_cursor){0};
        exec->outgoing[i].drains = false;
        lab_cursor_settle(exec, exec->outgoing[i].queue, &exec->outgoing[i].cursor,
                          exec->outgoing[i].lane);
    }
    for (uint32_t i = 0; i < exec->incoming_count; i++) {
        struct lab_incoming *incoming = &exec->incoming[i];
        incoming->received = (struct lab_cursor){0};
        lab_cursor_settle(exec, incoming->queue, &incoming->received, incoming->lane);
        incoming->applied = incoming->received;
        incoming->direct = false;
        incoming->kept_begin = 0;
        incoming->kept_end = 0;
        // Edge-triggered: what came since the last run has told already.
        incoming->readable = true;
    }
}

// Everything is sent, and the kernel needs none of it any more.
static bool send_ended(const struct lab_outgoing *outgoing)
{
    return outgoing->cursor.at == outgoing->queue->count &&
           (outgoing->copies == NULL || outgoing->copies->begin == outgoing->copies->end);
}

// Whether all connections and moves have come to the end of their queues.
static bool has_ended(const struct lab_exec *exec)
{
    bool ended = exec->moves.in_done == exec->moves.in.count;
    for (uint32_t i = 0; i < exec->outgoing_count && ended; i++) {
        ended = send_ended(&exec->outgoing[i]);
    }
    for (uint32_t i = 0; i < exec->incoming_count && ended; i++) {
        ended = exec->incoming[i].applied.at == exec->incoming[i].queue->count;
    }
    return ended;
}

// All that can be done without waiting.
static bool progress(struct lab_exec *exec, bool *moved, struct weft_error *error)
{
    bool more = true;
    while (more) {
        more = false;
        for (uint32_t i = 0; i < exec->incoming_count; i++) {
            if (!lab_exec_receive(exec, &exec->incoming[i], &more, error)) {
                return false;
            }
        }
        lab_exec_move(exec, &more);
        for (uint32_t i = 0; i < exec->outgoing_count; i++) {
            if (!lab_exec_send(exec, &exec->outgoing[i], &more, error)) {
                return false;
            }
        }
        *moved = *moved || more;
    }
    return true;
}

static bool take_event(struct lab_exec *exec, const struct epoll_event *event, bool *moved,
                       struct weft_error *error)
{
    uint64_t index = event->data.u64;
    if (index == UINT64_MAX) {
        return (event->events & (EPOLLRDHUP | EPOLLHUP)) == 0 ||
               weft_fail(error, WEFT_IO, "rank %u: the process that started it has gone",
                         exec->self->rank);
    }
    if (index >= exec->outgoing_count) {
        exec->incoming[index - exec->outgoing_count].readable = true;
        return true;
    }
    struct lab_outgoing *outgoing = &exec->outgoing[index];
    outgoing->writable = true;
    outgoing->drains = outgoing->drains && (event->events & EPOLLOUT) == 0;
    return (event->events & EPOLLERR) == 0 || lab_exec_finish_copies(exec, outgoing, moved, error);
}

// Nothing has moved for too long: the peer that the lowest round under way waits for.
static bool stuck(const struct lab_exec *exec, struct weft_error *error)
{
    uint32_t round = WEFT_NONE;
    uint32_t peer = WEFT_NONE;
    bool silent = false;
    for (uint32_t i = 0; i < exec->incoming_count; i++) {
        const struct lab_incoming *incoming = &exec->incoming[i];
        uint32_t at = incoming->received.at;
        if (at < incoming->queue->count && exec->ops->ops[incoming->queue->ops[at]].round < round) {
            round = exec->ops->ops[incoming->queue->ops[at]].round;
            peer = incoming->peer;
            silent = true;
        }
    }
    for (uint32_t i = 0; i < exec->outgoing_count; i++) {
        const struct lab_outgoing *outgoing = &exec->outgoing[i];
        uint32_t at = outgoing->cursor.at;
        if (at < outgoing->queue->count && !outgoing->writable &&
            exec->ops->ops[outgoing->queue->ops[at]].round < round) {
            round = exec->ops->ops[outgoing->queue->ops[at]].round;
            peer = outgoing->peer;
            silent = false;
        }
    }
    exec->self->blamed = peer;
    return weft_fail(error, WEFT_IO, "rank %u: peer %u %s for %u ms, in round %u", exec->self->rank,
                     peer, silent ? "sent nothing" : "took nothing", exec->self->timeout_ms, round);
}

bool lab_exec_run(struct lab_exec *exec, void *memory, struct weft_error *error)
{
    begin(exec, memory);
    uint64_t moved_ns = lab_now_ns();
    for (;;) {
        bool moved = false;
        if (!progress(exec, &moved, error)) {
            return false;
        }
        if (has_ended(exec)) {
            return true;
        }
        struct epoll_event events[EVENTS_MAX];
        int count = epoll_wait(exec->poll, events, EVENTS_MAX, wait_ms);
        exec->counts.waits++;
        for (int i = 0; i < count; i++) {
            if (!take_event(exec, &events[i], &moved, error)) {
                return false;
            }
        }
        uint64_t now_ns = lab_now_ns();
        if (moved) {
            moved_ns = now_ns;
            if (!lab_peer_alive(exec->self, error)) {
                return false;
            }
        } else if (now_ns - moved_ns > (uint64_t)exec->self->timeout_ms * 1000000u) {
            return stuck(exec, error);
        }
    }
}
