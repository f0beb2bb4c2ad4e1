// SPDX-License-Identifier: Apache-2.0
// A worker's connections: messages out and in.

#include "worker_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>

static const size_t nothing_bytes = (size_t)1 << 20;

void lab_out_add(struct lab_worker *worker, uint32_t stream, const struct lab_frame *frame,
                 const char *data)
{
    uint32_t index = worker->out_of_stream[stream];
    WEFT_ASSERT(index != WEFT_NONE);
    struct lab_out *out = &worker->outs[index];
    if (out->end - out->begin == out->room) {
        uint32_t room = out->room == 0 ? 16 : out->room * 2;
        struct lab_out_item *items = malloc(room * sizeof *items);
        WEFT_ASSERT(items != NULL);
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

static bool lost(struct lab_worker *worker, uint32_t peer, const char *why)
{
    worker->member->blamed = peer;
    return weft_fail(worker->error, WEFT_IO, "rank %u: peer %u: %s", worker->member->rank, peer,
                     why);
}

bool lab_out_flush(struct lab_worker *worker, struct lab_out *out, bool *moved)
{
    while (out->writable && out->begin != out->end) {
        const struct lab_out_item *item = &out->items[out->begin % out->room];
        const uint64_t head = sizeof item->frame;
        struct iovec parts[2];
        int count = 0;
        if (out->sent < head) {
            parts[count++] = (struct iovec){(char *)(uintptr_t)&item->frame + out->sent,
                                            (size_t)(head - out->sent)};
        }
        uint64_t body = out->sent > head ? out->sent - head : 0;
        uint64_t left = item->frame.bytes - body;
        if (left > 0) {
            const char *data = item->data != NULL ? item->data + body : worker->nothing;
            size_t most = item->data != NULL ? SIZE_MAX / 2 : nothing_bytes;
            parts[count++] =
                (struct iovec){(char *)(uintptr_t)data, left < most ? (size_t)left : most};
        }
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count};
        ssize_t sent = sendmsg(out->socket, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent < 0 && errno == EAGAIN) {
            out->writable = false;
            return true;
        }
        if (sent < 0) {
            return lost(worker, worker->wire.streams[out->stream].to, strerror(errno));
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
            return lost(worker, worker->wire.streams[out->stream].to, why);
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
        got = recv(socket, worker->read_buffer, LAB_READ_BYTES, 0);
    } while (got > 0 || (got < 0 && errno == EINTR));
    return got == 0 || errno != EAGAIN;
}

bool lab_connections_drain(struct lab_worker *worker)
{
    struct lab_wire *wire = &worker->wire;
    uint64_t end_ns = lab_now_ns() + (uint64_t)worker->member->timeout_ms * 1000000u;
    uint32_t left = worker->out_count + worker->in_count;
    for (uint32_t i = 0; i < worker->out_count; i++) {
        shutdown(worker->outs[i].socket, SHUT_WR);
    }
    // A sender says that it ends; the receiver has all then, and ends; that reaches the sender.
    while (left > 0) {
        for (uint32_t i = 0; i < wire->stream_count; i++) {
            if (wire->sockets[i] >= 0 && has_closed(worker, wire->sockets[i])) {
                close(wire->sockets[i]);
                wire->sockets[i] = -1;
                left--;
            }
        }
        if (left > 0 && lab_now_ns() > end_ns) {
            return weft_fail(worker->error, WEFT_IO,
                             "rank %u: %u connections did not drain within %u ms",
                             worker->member->rank, left, worker->member->timeout_ms);
        }
        const struct timespec pause = {0, 200000};
        nanosleep(&pause, NULL);
    }
    return true;
}

// ---- ports ----

bool lab_carrier_watch(struct lab_worker *worker)
{
    const struct sockaddr_nl own = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
    worker->watcher = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    return (worker->watcher >= 0 &&
            bind(worker->watcher, (const struct sockaddr *)&own, sizeof own) == 0) ||
           weft_fail(worker->error, WEFT_IO, "rank %u: watching ports: %s", worker->member->rank,
                     strerror(errno));
}

bool lab_carrier_check(struct lab_worker *worker)
{
    _Alignas(struct nlmsghdr) char buffer[16384];
    const uint64_t *all = worker->work->options.dark_interfaces;
    uint64_t dark = all != NULL ? all[worker->member->rank] : 0;
    ssize_t got;
    while ((got = recv(worker->watcher, buffer, sizeof buffer, 0)) > 0) {
        size_t left = (size_t)got;
        for (const struct nlmsghdr *head = (const void *)buffer; NLMSG_OK(head, left);
             head = NLMSG_NEXT(head, left)) {
            const struct ifinfomsg *link = NLMSG_DATA(head);
            bool known = link->ifi_index < 64 && (dark >> link->ifi_index & 1) != 0;
            if (head->nlmsg_type == RTM_NEWLINK && (link->ifi_flags & IFF_UP) != 0 &&
                (link->ifi_flags & IFF_LOWER_UP) == 0 && !known) {
                return weft_fail(worker->error, WEFT_IO, "rank %u: interface %d lost its carrier",
                                 worker->member->rank, link->ifi_index);
            }
        }
    }
    return true;
}

// ---- in ----

// Adds bytes that may end within a float.
static void add_bytes(struct lab_in *in, const char *data, size_t length)
{
    uint64_t at = in->got - sizeof in->frame;
    size_t cut = at % 4;
    while (cut > 0 && length > 0) {
        in->carry[cut++] = *data++;
        at++;
        length--;
        if (cut == 4) {
            lab_add(in->into + at - 4, in->carry, 1, LAB_FLOAT32);
            cut = 0;
        }
    }
    // The buffer may be at any address; the sum wants floats.
    float values[1024];
    while (length >= 4) {
        size_t bytes = length < sizeof values ? length & ~(size_t)3 : sizeof values;
        memcpy(values, data, bytes);
        lab_add(in->into + at, values, bytes / 4, LAB_FLOAT32);
        at += bytes;
        data += bytes;
        length -= bytes;
    }
    memcpy(in->carry, data, length);
}

// One message's bytes, or some of them; what was taken.
static size_t take(struct lab_worker *worker, struct lab_in *in, const char *data, size_t length,
                   uint64_t now_ns, bool *fine)
{
    size_t taken;
    if (in->got < sizeof in->frame) {
        taken = sizeof in->frame - (size_t)in->got;
        taken = taken < length ? taken : length;
        memcpy((char *)&in->frame + in->got, data, taken);
        in->got += taken;
        if (in->got < sizeof in->frame) {
            return taken;
        }
        *fine = lab_message_begin(worker, in);
    } else {
        uint64_t left = sizeof in->frame + in->frame.bytes - in->got;
        taken = left < length ? (size_t)left : length;
        if (in->into != NULL && in->adds) {
            add_bytes(in, data, taken);
        } else if (in->into != NULL) {
            memcpy(in->into + (in->got - sizeof in->frame), data, taken);
        }
        in->got += taken;
    }
    if (*fine && in->got == sizeof in->frame + in->frame.bytes) {
        in->got = 0;
        lab_message_end(worker, &in->frame, now_ns);
    }
    return taken;
}

bool lab_in_drain(struct lab_worker *worker, struct lab_in *in, bool *moved)
{
    while (in->readable) {
        ssize_t got = recv(in->socket, worker->read_buffer, LAB_READ_BYTES, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && errno == EAGAIN) {
            in->readable = false;
            return true;
        }
        if (got <= 0) {
            return lost(worker, worker->wire.streams[in->stream].from,
                        got == 0 ? "closed its connection" : strerror(errno));
        }
        *moved = true;
        in->readable = got == (ssize_t)LAB_READ_BYTES;
        uint64_t now_ns = lab_now_ns();
        bool fine = true;
        for (size_t at = 0; at < (size_t)got && fine;) {
            at += take(worker, in, worker->read_buffer + at, (size_t)got - at, now_ns, &fine);
        }
        if (!fine) {
            return false;
        }
    }
    return true;
}
