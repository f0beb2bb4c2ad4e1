// SPDX-License-Identifier: Apache-2.0
// A worker's outgoing messages: queued for each connection and sent as far as its socket takes
// them.
//
// Peers that acknowledge nothing for stall_ms are found by the bytes that TCP still holds
// (SIOCOUTQ), which also tells of links that fail without a sign. At the end all connections drain:
// both ends learn that everything has arrived before they are closed.

#include "worker_private.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

size_t lab_out_fill_at(const struct lab_worker *worker, uint32_t operation, uint64_t byte)
{
    uint64_t first = weft_hash((uint64_t)worker->iteration << 32 | operation);
    return (size_t)((first + byte) % LAB_FILL_BYTES);
}

// Queues a message; the queue is a ring that doubles when it is full.
void lab_out_add(struct lab_worker *worker, uint32_t stream, const struct lab_frame *frame,
                 const char *data)
{
    uint32_t index = worker->out_of_stream[stream];
    WEFT_ASSERT(index != WEFT_NONE);
    struct lab_out *out = &worker->outs[index];
    if (out->end - out->begin == out->room) {
        uint32_t room = out->room == 0 ? 16 : out->room * 2;
        struct lab_out_item *items = lab_grow(NULL, room, sizeof *items);
        for (uint32_t i = 0; i < out->room; i++) {
            items[i] = out->items[(out->begin + i) % out->room];
        }
        free(out->items);
        out->end = out->end - out->begin;
        out->begin = 0;
        out->items = items;
        out->room = room;
    }
    out->items[out->end % out->room] = (struct lab_out_item){*frame, data};
    out->end++;
    worker->sent_bytes += frame->bytes;
}

bool lab_worker_lost_peer(struct lab_worker *worker, uint32_t peer, const char *why)
{
    worker->self->blamed = peer;
    return weft_fail(worker->error, WEFT_IO, "rank %u: peer %u: %s", worker->self->rank, peer, why);
}

// Frame and bytes go in one call, so that a short message is one packet.
bool lab_out_flush(struct lab_worker *worker, struct lab_out *out, bool *moved)
{
    while (out->writable && out->begin != out->end) {
        const struct lab_out_item *item = &out->items[out->begin % out->room];
        const uint64_t head = sizeof item->frame;
        struct iovec vectors[2];
        int count = 0;
        if (out->sent < head) {
            vectors[count++] = (struct iovec){(char *)(uintptr_t)&item->frame + out->sent,
                                              (size_t)(head - out->sent)};
        }
        uint64_t body = out->sent > head ? out->sent - head : 0;
        uint64_t left = item->frame.bytes - body;
        if (left > 0) {
            size_t at = lab_out_fill_at(worker, item->frame.operation, body);
            const char *data = item->data != NULL ? item->data + body : worker->buffers.fill + at;
            size_t most = item->data != NULL ? SIZE_MAX / 2 : LAB_FILL_BYTES - at;
            vectors[count++] =
                (struct iovec){(char *)(uintptr_t)data, left < most ? (size_t)left : most};
        }
        struct msghdr message = {.msg_iov = vectors, .msg_iovlen = (size_t)count};
        ssize_t sent = sendmsg(out->socket, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent < 0 && errno == EAGAIN) {
            out->writable = false;
            return true;
        }
        if (sent < 0) {
            return lab_worker_lost_peer(worker, worker->connections.streams[out->stream].to,
                                        strerror(errno));
        }
        *moved = true;
        out->sent += (uint64_t)sent;
        if (out->sent == head + item->frame.bytes) {
            out->begin++;
            out->sent = 0;
        }
    }
    return true;
}

// A peer counts as stalled when the bytes that TCP holds for it have not changed for stall_ms,
// which is also so when a link fails without a sign.
bool lab_out_check(struct lab_worker *worker, uint64_t now_ns)
{
    uint64_t limit_ns = (uint64_t)worker->work->options.stall_ms * 1000000u;
    for (uint32_t i = 0; limit_ns > 0 && i < worker->out_count; i++) {
        struct lab_out *out = &worker->outs[i];
        int unacked = 0;
        if (ioctl(out->socket, SIOCOUTQ, &unacked) != 0 || unacked == 0 ||
            unacked != out->unacked_bytes) {
            out->unacked_bytes = unacked;
            out->unacked_ns = now_ns;
        } else if (now_ns - out->unacked_ns > limit_ns) {
            char why[64];
            snprintf(why, sizeof why, "took nothing for %u ms", worker->work->options.stall_ms);
            return lab_worker_lost_peer(worker, worker->connections.streams[out->stream].to, why);
        }
    }
    return true;
}

// ---- the end ----

// Whether the peer has closed its end, after all that it sent.
static bool has_closed(struct lab_worker *worker, int socket)
{
    ssize_t got;
    do {
        got = recv(socket, worker->buffers.read, LAB_READ_BYTES, 0);
    } while (got > 0 || (got < 0 && errno == EINTR));
    return got == 0 || errno != EAGAIN;
}

bool lab_worker_drain(struct lab_worker *worker)
{
    struct lab_connections *connections = &worker->connections;
    uint64_t end_ns = lab_now_ns() + (uint64_t)worker->self->timeout_ms * 1000000u;
    uint32_t left = worker->out_count + worker->in_count;
    for (uint32_t i = 0; i < worker->out_count; i++) {
        shutdown(worker->outs[i].socket, SHUT_WR);
    }
    // A sender says that it ends; the receiver has all then, and ends; that reaches the sender.
    while (left > 0) {
        for (uint32_t i = 0; i < connections->stream_count; i++) {
            if (connections->sockets[i] >= 0 && has_closed(worker, connections->sockets[i])) {
                close(connections->sockets[i]);
                connections->sockets[i] = -1;
                left--;
            }
        }
        if (left > 0 && lab_now_ns() > end_ns) {
            return weft_fail(worker->error, WEFT_IO,
                             "rank %u: %u connections did not drain within %u ms",
                             worker->self->rank, left, worker->self->timeout_ms);
        }
        const struct timespec pause = {0, 200000};
        nanosleep(&pause, NULL);
    }
    return true;
}
