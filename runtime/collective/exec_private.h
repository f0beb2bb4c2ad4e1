// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_COLLECTIVE_EXEC_PRIVATE_H
#define WEFT_RUNTIME_COLLECTIVE_EXEC_PRIVATE_H

// What a running schedule consists of, for exec.c and exec_io.c alone: connections with their
// queues of operations, and cursors that say how far each has come. A place is a segment of a slot;
// what has been read and written there is counted, and operations wait for the counts they need.

#include "exec.h"

// Where a connection, or the moves, are in their list of operations.
struct lab_cursor {
    uint32_t at;      // in the queue
    uint32_t segment; // of the message; its own lane's alone
    size_t offset;    // bytes of the segment that are done
};

struct lab_queue {
    uint32_t count;
    uint32_t *ops;
};

// Sends with MSG_ZEROCOPY that the kernel has not finished with. The place (slot * segments +
// segment) that the send completes, or WEFT_NONE, by number of the send.
enum { LAB_COPIES_ROOM = 1024 };
struct lab_copies {
    uint32_t begin; // the first that is not finished
    uint32_t end;
    uint32_t places[LAB_COPIES_ROOM];
    bool done[LAB_COPIES_ROOM];
};

struct lab_outgoing {
    int socket;
    uint32_t peer;
    uint32_t lane;
    const struct lab_queue *queue;
    struct lab_cursor cursor;
    bool writable;
    // Round by round: of drain_round there are bytes that TCP has not yet handed on.
    bool drains;
    uint32_t drain_round;
    struct lab_copies *copies; // NULL: the kernel copies
};

struct lab_incoming {
    int socket;
    uint32_t peer;
    uint32_t lane;
    const struct lab_queue *queue;
    struct lab_cursor received;
    struct lab_cursor applied;
    bool readable;
    bool direct; // the segment under way goes straight into place
    char *kept;  // what was received and not applied: from kept_begin on
    size_t kept_begin;
    size_t kept_end; // where the segment under way begins
    size_t kept_room;
};

// A move inside the rank between its halves.
struct lab_move {
    struct lab_move *next;
    char data[];
};

struct lab_exec {
    struct lab_peer *self;
    const struct lab_ops *ops;
    struct lab_exec_options options;
    size_t element_bytes;
    size_t slot_bytes;
    size_t segment_bytes;
    uint32_t slot_count;
    uint32_t segment_count; // of a slot
    char *memory;
    uint32_t *reads; // done, by place
    uint32_t *writes;
    int poll;
    uint32_t queue_count;
    struct lab_queue *queues;
    uint32_t outgoing_count;
    struct lab_outgoing *outgoing;
    uint32_t incoming_count;
    struct lab_incoming *incoming;
    struct {
        struct lab_queue out;
        struct lab_queue in;
        uint32_t out_done;
        uint32_t in_done;
        struct lab_move *first; // read, not yet written
        struct lab_move **last;
    } moves; // from one slot of the rank to another
    struct lab_exec_counts counts;
};

// ---- places ----

static inline size_t lab_segment_size(const struct lab_exec *exec, uint32_t segment)
{
    size_t before = (size_t)(segment % exec->segment_count) * exec->segment_bytes;
    size_t left = exec->slot_bytes - before;
    return left < exec->segment_bytes ? left : exec->segment_bytes;
}
// The place of a segment of a message, and its memory.
static inline size_t lab_place(const struct lab_exec *exec, const struct lab_op *op,
                               uint32_t segment)
{
    return (size_t)op->slot * exec->segment_count + segment;
}
static inline char *lab_place_memory(const struct lab_exec *exec, const struct lab_op *op,
                                     uint32_t segment)
{
    return exec->memory + (op->slot + (size_t)(segment / exec->segment_count)) * exec->slot_bytes +
           (size_t)(segment % exec->segment_count) * exec->segment_bytes;
}
// Whether an access to a segment of the operation may go ahead.
static inline bool lab_may(const struct lab_exec *exec, const struct lab_op *op, uint32_t segment)
{
    const struct lab_need *need = &exec->ops->needs[op->first_need + segment / exec->segment_count];
    size_t place = lab_place(exec, op, segment);
    return exec->writes[place] >= need->writes && exec->reads[place] >= need->reads;
}
static inline uint32_t lab_message_segments(const struct lab_exec *exec, const struct lab_op *op)
{
    return op->slot_count * exec->segment_count;
}

// Each does what can be done now and sets *moved when it did something. They fail with IO, naming
// the peer.
bool lab_exec_send(struct lab_exec *exec, struct lab_outgoing *outgoing, bool *moved,
                   struct weft_error *error) WEFT_MUST_USE;
bool lab_exec_finish_copies(struct lab_exec *exec, struct lab_outgoing *outgoing, bool *moved,
                            struct weft_error *error) WEFT_MUST_USE;
bool lab_exec_receive(struct lab_exec *exec, struct lab_incoming *incoming, bool *moved,
                      struct weft_error *error) WEFT_MUST_USE;
void lab_exec_move(struct lab_exec *exec, bool *moved);
// Puts a cursor at the first segment of its lane from the operation `at` on.
void lab_cursor_settle(const struct lab_exec *exec, const struct lab_queue *queue,
                       struct lab_cursor *cursor, uint32_t lane);
// The next segment of the cursor's lane.
void lab_cursor_advance(const struct lab_exec *exec, const struct lab_queue *queue,
                        struct lab_cursor *cursor, uint32_t lane);

#endif
