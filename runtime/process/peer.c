// SPDX-License-Identifier: Apache-2.0
// A peer's end of the control connection, and the messages of both ends.
//
// A message is a kind, a length and its bytes, over a reliable socket; sender and receiver agree on
// the length, so that ranks of different versions notice each other.

#include "private.h"
#include "runtime/netlink/netlink.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// Far below the coordinator's patience (its timeout and 5 s), and too seldom to disturb.
static const uint64_t alive_every_ns = 1000000000;
// Between attempts at the rendezvous, where rank 0 may not listen yet.
static const uint64_t retry_ns = 20000000;

uint64_t lab_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void lab_sleep_until(uint64_t end_ns)
{
    const struct timespec end = {(time_t)(end_ns / 1000000000u), (long)(end_ns % 1000000000u)};
    while (lab_now_ns() < end_ns) {
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
    }
}

bool lab_send_all(int socket, const void *data, size_t length)
{
    const char *next = data;
    while (length > 0) {
        ssize_t sent = send(socket, next, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) {
            return false;
        }
        next += sent;
        length -= (size_t)sent;
    }
    return true;
}

static bool receive_all(int socket, void *data, size_t length)
{
    char *next = data;
    while (length > 0) {
        ssize_t got = recv(socket, next, length, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        next += got;
        length -= (size_t)got;
    }
    return true;
}

bool lab_send_message(int socket, enum lab_message kind, const void *data, size_t length)
{
    char buffer[sizeof(struct lab_head) + LAB_MESSAGE_SMALL];
    const struct lab_head head = {(uint32_t)kind, (uint32_t)length};
    memcpy(buffer, &head, sizeof head);
    if (length <= LAB_MESSAGE_SMALL) {
        if (length > 0) {
            memcpy(buffer + sizeof head, data, length);
        }
        return lab_send_all(socket, buffer, sizeof head + length);
    }
    return lab_send_all(socket, &head, sizeof head) && lab_send_all(socket, data, length);
}

static bool hub_gone(const struct lab_peer *self, struct weft_error *error)
{
    return weft_fail(error, WEFT_IO, "rank %u: the process that started it has gone", self->rank);
}

bool lab_peer_send(struct lab_peer *self, enum lab_message kind, const void *data, size_t length,
                   struct weft_error *error)
{
    return lab_send_message(self->control, kind, data, length) || hub_gone(self, error);
}

bool lab_peer_receive(struct lab_peer *self, enum lab_message kind, void *data, size_t length,
                      struct weft_error *error)
{
    struct lab_head head;
    if (!receive_all(self->control, &head, sizeof head)) {
        return hub_gone(self, error);
    }
    if (head.kind == LAB_MESSAGE_END) {
        *error = (struct weft_error){.code = WEFT_OK};
        return false;
    }
    if (head.kind != (uint32_t)kind || head.length != length) {
        return weft_fail(error, WEFT_IO,
                         "rank %u: heard message %u of %u bytes where %u of %zu was due; are all "
                         "ranks of one version?",
                         self->rank, head.kind, head.length, (unsigned)kind, length);
    }
    return receive_all(self->control, data, length) || hub_gone(self, error);
}

void lab_peer_fail(struct lab_peer *self, const struct weft_error *error)
{
    struct lab_failure failure = {
        .code = (uint32_t)error->code, .blamed = self->blamed, .when_ns = lab_now_ns()};
    memcpy(failure.message, error->message, sizeof failure.message);
    bool told = lab_send_message(self->control, LAB_MESSAGE_FAIL, &failure, sizeof failure);
    (void)told; // a coordinator that has gone needs no telling
}

bool lab_peer_enter(const char *netns, struct weft_error *error)
{
    return weft_netns_enter(netns, error);
}

bool lab_peer_alive(struct lab_peer *self, struct weft_error *error)
{
    uint64_t now_ns = lab_now_ns();
    if (now_ns - self->alive_ns < alive_every_ns) {
        return true;
    }
    self->alive_ns = now_ns;
    return lab_peer_send(self, LAB_MESSAGE_ALIVE, NULL, 0, error);
}

bool lab_peer_join(struct lab_peer *self, const struct sockaddr_in *address,
                   struct weft_error *error)
{
    uint64_t end_ns = lab_now_ns() + (uint64_t)self->timeout_ms * 1000000u;
    for (;;) {
        int control = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (control < 0) {
            return weft_fail(error, WEFT_IO, "rank %u: socket: %s", self->rank, strerror(errno));
        }
        if (connect(control, (const struct sockaddr *)address, sizeof *address) == 0) {
            self->control = control;
            break;
        }
        int why = errno;
        close(control);
        if (lab_now_ns() > end_ns) {
            return weft_fail(error, WEFT_IO,
                             "rank %u: peer 0 did not answer at the rendezvous for %u ms: %s",
                             self->rank, self->timeout_ms, strerror(why));
        }
        const struct timespec pause = {0, (long)retry_ns};
        nanosleep(&pause, NULL);
    }
    const struct lab_join join = {LAB_MAGIC, self->rank, self->count};
    if (!lab_send_all(self->control, &join, sizeof join) ||
        !receive_all(self->control, &self->token, sizeof self->token)) {
        return weft_fail(error, WEFT_IO,
                         "rank %u: peer 0 ended the rendezvous; do all ranks belong to one run?",
                         self->rank);
    }
    return true;
}
