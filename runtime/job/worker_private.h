// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_JOB_WORKER_PRIVATE_H
#define WEFT_RUNTIME_JOB_WORKER_PRIVATE_H

// A worker's state, for worker.c, operations.c and outgoing.c alone.
//
//   worker ──► operations ──► outgoing

#include "runtime/collective/sums.h"
#include "shim.h"
#include "worker.h"

// Bytes of one read: a few of the largest segments that GRO joins (64 KiB). Not measured.
#define LAB_READ_BYTES ((size_t)256 << 10)
// What is sent where nobody keeps the bytes, over and over.
#define LAB_FILL_BYTES ((size_t)1 << 20)
#define LAB_SIGNAL_RING UINT16_MAX

// Before each message of a stream.
struct lab_frame {
    uint32_t operation; // of the receiver's; what it is for
    uint16_t ring;
    uint16_t round;
    uint64_t bytes;
};

// A message that waits to be sent.
struct lab_out_item {
    struct lab_frame frame;
    const char *data; // NULL: of the fill
};

struct lab_out {
    uint32_t stream;
    int socket;
    bool writable;
    struct lab_out_item *items; // a ring of `room`, a power of two
    uint32_t room;
    uint32_t begin;
    uint32_t end;
    uint64_t sent; // of the first item, its frame included
    // For stalls: bytes that the peer has not acknowledged, and since when.
    int unacked_bytes;
    uint64_t unacked_ns;
};

struct lab_in {
    uint32_t stream;
    int socket;
    bool readable;
    struct lab_frame frame;
    uint64_t got; // of the frame and what follows it
    char *into;   // NULL: nobody keeps the bytes
    bool checks;  // they are held against the fill
    bool adds;
    _Alignas(float) char carry[4]; // a float cut in two
};

struct lab_ring_state {
    uint32_t place; // of this server
    uint32_t sent;  // rounds
    uint32_t received;
    size_t first; // element of the ring's share
    size_t count;
};

// A collective at this server.
struct lab_collective {
    bool started;
    bool one_round;
    uint32_t round_count;
    uint32_t ring_count;
    struct lab_ring_state *rings;
    float *data;
};

struct lab_timer {
    uint64_t due_ns;
    uint32_t operation;
};

// A device: one compute task at a time, first come, first served.
struct lab_device {
    uint32_t *queue;
    uint32_t begin;
    uint32_t end;
    uint32_t room;
    bool busy;
};

struct lab_worker {
    const struct lab_work *work;
    const struct lab_program *program;
    struct lab_peer *self;
    struct lab_connections connections;
    int poll;
    int watcher; // of the server's ports; -1 = none
    uint32_t out_count;
    struct lab_out *outs;
    uint32_t *out_of_stream; // index into outs; WEFT_NONE
    uint32_t in_count;
    struct lab_in *ins;
    struct {
        char *read;
        char *fill; // sent where nobody keeps the bytes: zeros, or what is checked
    } buffers;
    uint32_t *waits;                     // by operation: what it still waits for
    uint32_t *chunks_left;               // by operation: of receives
    struct lab_collective **collectives; // by operation
    struct lab_device *devices;
    struct {
        uint32_t count;
        uint32_t room;
        struct lab_timer *list;
    } timers;
    struct {
        uint32_t count;
        uint32_t *list;
        uint32_t left; // that have not ended in this iteration
    } own;             // this server's operations
    uint32_t iteration;
    uint64_t sent_bytes;
    uint64_t received_bytes;
    uint64_t checked_bytes; // of transfers
    struct lab_shim *shim;  // NULL = operations ask nobody
    struct weft_error *error;
};

// ---- operations.c ----

void lab_operation_ready(struct lab_worker *worker, uint32_t operation, uint64_t now_ns);
// The same for one that the shim held up till now.
void lab_operation_begin(struct lab_worker *worker, uint32_t operation, uint64_t now_ns);
void lab_operation_finish(struct lab_worker *worker, uint32_t operation, uint64_t now_ns);
// A timer has run out.
void lab_operation_timer(struct lab_worker *worker, uint32_t operation, uint64_t due_ns,
                         uint64_t now_ns);
// A message has begun: where its bytes go; and has ended.
bool lab_message_begin(struct lab_worker *worker, struct lab_in *in) WEFT_MUST_USE;
// Bytes of one that nobody keeps, from in->got on. False with worker->error where they are wrong.
bool lab_message_check(struct lab_worker *worker, const struct lab_in *in, const char *data,
                       size_t length) WEFT_MUST_USE;
void lab_message_end(struct lab_worker *worker, const struct lab_frame *frame, uint64_t now_ns);
void lab_collectives_open(struct lab_worker *worker);
void lab_collectives_close(struct lab_worker *worker);
// Before and after the iteration whose sums are checked.
void lab_collectives_fill(struct lab_worker *worker);
bool lab_collectives_check(struct lab_worker *worker, uint64_t *checked_count) WEFT_MUST_USE;

// ---- outgoing.c ----

void lab_out_add(struct lab_worker *worker, uint32_t stream, const struct lab_frame *frame,
                 const char *data);
// Where in the fill a byte of a message stands, which differs from message to message.
size_t lab_out_fill_at(const struct lab_worker *worker, uint32_t operation, uint64_t byte);
// Sends what can be sent without waiting; false with worker->error.
bool lab_out_flush(struct lab_worker *worker, struct lab_out *out, bool *moved) WEFT_MUST_USE;
// Whether every peer has acknowledged something of what it was sent within stall_ms.
bool lab_out_check(struct lab_worker *worker, uint64_t now_ns) WEFT_MUST_USE;
// Ends all connections when their bytes have arrived. False with worker->error.
bool lab_worker_drain(struct lab_worker *worker) WEFT_MUST_USE;
// Blames a peer; false, with worker->error.
bool lab_worker_lost_peer(struct lab_worker *worker, uint32_t peer, const char *why);

#endif
