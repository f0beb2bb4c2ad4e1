// SPDX-License-Identifier: Apache-2.0
// A peer's end of the control connection, and the messages of both ends.
//
// A message is a kind, a length and its bytes, over a reliable socket; sender and receiver agree on
// the length, so that ranks of different versions notice each other. A message that has begun has a
// deadline as a whole, so that an end that trickles is one that has gone.

#include "private.h"
#include "runtime/netlink/netlink.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// Far below the coordinator's patience (its timeout and 5 s), and too seldom to disturb.
static const uint64_t alive_every_ns = 1000000000;
// Between attempts at the rendezvous, where rank 0 may not listen yet.
static const uint64_t retry_ns = 20000000;

// Waits until the socket is ready or the time is up; false: it is up.
static bool wait_for(int socket, short events, uint64_t end_ns)
{
    for (;;) {
        uint64_t now_ns = lab_now_ns();
        if (now_ns >= end_ns) {
            return false;
        }
        struct pollfd wait = {.fd = socket, .events = events};
        uint64_t left_ms = (end_ns - now_ns) / 1000000u + 1;
        if (poll(&wait, 1, left_ms < INT_MAX ? (int)left_ms : INT_MAX) > 0) {
            return true;
        }
    }
}

bool lab_send_all(int socket, const void *data, size_t length)
{
    const char *next = data;
    uint64_t end_ns = lab_now_ns() + LAB_MESSAGE_MS * 1000000ull;
    while (length > 0) {
        ssize_t sent = send(socket, next, length, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 &&
            (errno == EINTR || (errno == EAGAIN && wait_for(socket, POLLOUT, end_ns)))) {
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

// The first byte may be long in coming, as others are at work meanwhile; the rest follows at once.
static bool receive_all(int socket, void *data, size_t length, bool begun)
{
    char *next = data;
    uint64_t end_ns = begun ? lab_now_ns() + LAB_MESSAGE_MS * 1000000ull : UINT64_MAX;
    while (length > 0) {
        ssize_t got =
            wait_for(socket, POLLIN, end_ns) ? recv(socket, next, length, MSG_DONTWAIT) : 0;
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        if (!begun) {
            begun = true;
            end_ns = lab_now_ns() + LAB_MESSAGE_MS * 1000000ull;
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
    if (!receive_all(self->control, &head, sizeof head, false)) {
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
    return receive_all(self->control, data, length, true) || hub_gone(self, error);
}

WEFT_NORETURN static void refuse_memory(size_t count, size_t size)
{
    struct weft_error error;
    weft_fail(&error, WEFT_UNSUPPORTED,
              "out of memory: the system refuses %zu KiB; take fewer ranks or less to send",
              (count * size >> 10) + 1);
    weft_raise(&error);
}

void *lab_zeroed(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    if (memory == NULL) {
        refuse_memory(count + 1, size);
    }
    return memory;
}

void *lab_grow(void *old, size_t count, size_t size)
{
    void *memory = reallocarray(old, count, size);
    if (memory == NULL) {
        refuse_memory(count, size);
    }
    return memory;
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

void lab_watch_line(int socket)
{
    int on = 1;
    int idle_s = 10;
    int between_s = 5;
    int probes = 3;
    setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &between_s, sizeof between_s);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

// One call at the rendezvous, with the handshake, until `end_ns`. `why`: of a failure.
static enum lab_knock_state call_once(struct lab_peer *self,
                                      const struct lab_rendezvous *rendezvous, uint64_t end_ns,
                                      const char **why)
{
    const struct lab_wish wish = {LAB_WISH_SEAT, self->rank, self->count};
    struct lab_knock knock;
    int family = rendezvous->address.ss_family;
    int control = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (control < 0) {
        *why = strerrordesc_np(errno);
        return LAB_KNOCK_FAILED;
    }
    enum lab_knock_state state = lab_knock_begin(
        &knock, control, (const struct sockaddr *)&rendezvous->address, rendezvous->length, &wish);
    while (state == LAB_KNOCK_WAITS && wait_for(control, knock.events, end_ns)) {
        state = lab_knock_look(&knock, &rendezvous->key);
    }
    if (state == LAB_KNOCK_STANDS) {
        self->key = lab_key_derive(&rendezvous->key, knock.welcome.nonce);
        self->control = control;
        lab_watch_line(control);
        return state;
    }
    close(control);
    *why = state == LAB_KNOCK_FAILED   ? strerrordesc_np(knock.why)
           : state == LAB_KNOCK_CLOSED ? "it ended the handshake: is the secret the same, and no "
                                         "rank there twice?"
                                       : "no answer in time";
    return state;
}

bool lab_peer_join(struct lab_peer *self, const struct lab_rendezvous *rendezvous,
                   struct weft_error *error)
{
    uint64_t end_ns = lab_now_ns() + (uint64_t)self->timeout_ms * 1000000u;
    const char *why = "no answer in time";
    for (;;) {
        enum lab_knock_state state = call_once(self, rendezvous, end_ns, &why);
        if (state == LAB_KNOCK_STANDS) {
            return true;
        }
        if (state == LAB_KNOCK_FOREIGN) {
            return weft_fail(error, WEFT_IO,
                             "rank %u: who listens at the rendezvous does not know this run's "
                             "secret; is another program there, or another secret?",
                             self->rank);
        }
        if (lab_now_ns() + retry_ns > end_ns) {
            return weft_fail(error, WEFT_IO,
                             "rank %u: peer 0 did not answer at the rendezvous for %u ms: %s",
                             self->rank, self->timeout_ms, why);
        }
        const struct timespec pause = {0, (long)retry_ns};
        nanosleep(&pause, NULL);
    }
}
