// SPDX-License-Identifier: Apache-2.0
// Connects all peers with each other, all at once.
//
// Every peer listens before it tells the coordinator its port, and hears the table of all ports
// before it connects; so no attempt comes too early, and none needs to be repeated. A connection
// begins with a greeting that names the run and the stream, by which strangers are told from peers.
// At most tries_in_flight attempts are under way at once.

#include "connections.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// As many as all ranks of weft-run on four lanes; the kernel lowers it to somaxconn.
static const int backlog = 4096;
static const uint32_t greeting_magic = 0x57495245u;
// Bounds the descriptors that wait for answers. Not measured.
static const uint32_t tries_in_flight = 64;

// A peer as the table has it.
struct place {
    uint32_t ip; // host order
    uint32_t port;
};

// The first bytes of a stream.
struct greeting {
    uint64_t token;
    uint32_t magic;
    uint32_t stream;
};

// A connection under way.
struct attempt {
    int socket;
    uint32_t stream;
};

struct opening {
    struct lab_connections *connections;
    struct lab_peer *self;
    const struct lab_connection_options *options;
    int listener;
    struct place *table;
    uint32_t outgoing_left;
    uint32_t incoming_left;
    uint32_t next_stream; // to be tried
    uint32_t attempt_count;
    struct attempt *attempts; // connecting
    uint32_t guest_count;
    struct attempt *guests; // accepted, not yet greeted
    struct pollfd *waits;
    uint64_t end_ns;
};

// ---- sockets ----

// What every connection is set to, before it connects or after it was accepted: no delay for small
// messages, and what the run asks for. A kernel that lacks something asked for is UNSUPPORTED.
static bool set_options(int socket, const struct lab_connection_options *options,
                        const struct lab_peer *self, struct weft_error *error)
{
    int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (options->buffer_bytes > 0) {
        int bytes = (int)options->buffer_bytes;
        setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
        setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    }
    if (options->unsent_bytes > 0) {
        int bytes = (int)options->unsent_bytes;
        setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes);
    }
    if (options->zero_copy && setsockopt(socket, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof on) != 0) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "rank %u: the kernel has no MSG_ZEROCOPY: %s; send with copying",
                         self->rank, strerror(errno));
    }
    if (options->congestion != NULL &&
        setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, options->congestion,
                   (socklen_t)strlen(options->congestion)) != 0) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "rank %u: congestion control '%.32s': %s; "
                         "/proc/sys/net/ipv4/tcp_available_congestion_control lists them",
                         self->rank, options->congestion, strerror(errno));
    }
    return true;
}

static struct sockaddr_in address_of(uint32_t ip, uint32_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(ip);
    return address;
}

static bool start_listening(struct opening *opening, struct place *own, struct weft_error *error)
{
    const struct lab_peer *self = opening->self;
    uint32_t ip = opening->options->own_ip;
    // A host of the lab is reached at the addresses of all its ports.
    struct sockaddr_in address = address_of(ip == 0 ? INADDR_LOOPBACK : INADDR_ANY, 0);
    socklen_t length = sizeof address;
    opening->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (opening->listener < 0 ||
        bind(opening->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(opening->listener, backlog) != 0 ||
        getsockname(opening->listener, (struct sockaddr *)&address, &length) != 0) {
        return weft_fail(error, WEFT_IO, "rank %u: cannot listen: %s", self->rank, strerror(errno));
    }
    *own = (struct place){ip == 0 ? INADDR_LOOPBACK : ip, ntohs(address.sin_port)};
    return true;
}

// ---- outgoing ----

static bool unreachable(const struct opening *opening, uint32_t stream, const char *why,
                        struct weft_error *error)
{
    const struct lab_stream *s = &opening->connections->streams[stream];
    const struct place *place = &opening->table[s->to];
    struct in_addr address = {.s_addr = htonl(s->to_ip != 0 ? s->to_ip : place->ip)};
    char text[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &address, text, sizeof text);
    return weft_fail(error, WEFT_IO, "rank %u: peer %u is unreachable at %s port %u: %s", s->from,
                     s->to, text, place->port, why);
}

// Starts a connection without waiting for it.
static bool begin_attempt(struct opening *opening, uint32_t stream, struct weft_error *error)
{
    const struct lab_stream *s = &opening->connections->streams[stream];
    const struct place *place = &opening->table[s->to];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return weft_fail(error, WEFT_IO, "rank %u: socket to peer %u: %s; raise ulimit -n", s->from,
                         s->to, strerror(errno));
    }
    opening->attempts[opening->attempt_count++] = (struct attempt){fd, stream};
    if (!set_options(fd, opening->options, opening->self, error)) {
        return false;
    }
    if (s->from_ip != 0) {
        struct sockaddr_in from = address_of(s->from_ip, 0);
        if (bind(fd, (struct sockaddr *)&from, sizeof from) != 0) {
            return unreachable(opening, stream, strerror(errno), error);
        }
    }
    struct sockaddr_in to = address_of(s->to_ip != 0 ? s->to_ip : place->ip, place->port);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0 && errno != EINPROGRESS) {
        return unreachable(opening, stream, strerror(errno), error);
    }
    return true;
}

// Starts connections as long as fewer than tries_in_flight are under way.
static bool begin_attempts(struct opening *opening, struct weft_error *error)
{
    const struct lab_connections *connections = opening->connections;
    while (opening->attempt_count < tries_in_flight &&
           opening->next_stream < connections->stream_count) {
        uint32_t stream = opening->next_stream++;
        if (connections->streams[stream].from == opening->self->rank &&
            !begin_attempt(opening, stream, error)) {
            return false;
        }
    }
    return true;
}

// A connection stands or has failed: where it stands, the greeting is sent, which always fits into
// an empty socket.
static bool end_attempt(struct opening *opening, uint32_t index, struct weft_error *error)
{
    struct attempt attempt = opening->attempts[index];
    int why = 0;
    socklen_t length = sizeof why;
    getsockopt(attempt.socket, SOL_SOCKET, SO_ERROR, &why, &length);
    if (why != 0) {
        return unreachable(opening, attempt.stream, strerror(why), error);
    }
    const struct greeting greeting = {opening->self->token, greeting_magic, attempt.stream};
    if (send(attempt.socket, &greeting, sizeof greeting, MSG_NOSIGNAL) != sizeof greeting) {
        return unreachable(opening, attempt.stream, strerror(errno), error);
    }
    opening->connections->sockets[attempt.stream] = attempt.socket;
    opening->attempts[index] = opening->attempts[--opening->attempt_count];
    opening->outgoing_left--;
    return true;
}

// ---- incoming ----

static void take_guests(struct opening *opening, uint32_t room)
{
    while (opening->guest_count < room) {
        int guest = accept4(opening->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (guest < 0) {
            return;
        }
        opening->guests[opening->guest_count++] = (struct attempt){guest, WEFT_NONE};
    }
}

// Reads a guest's greeting; strangers are sent away.
static bool greet(struct opening *opening, uint32_t index, struct weft_error *error)
{
    struct lab_connections *connections = opening->connections;
    int guest = opening->guests[index].socket;
    struct greeting greeting;
    ssize_t got = recv(guest, &greeting, sizeof greeting, MSG_PEEK);
    if (got < 0 && errno == EAGAIN) {
        return true;
    }
    if (got > 0 && got < (ssize_t)sizeof greeting) {
        return true;
    }
    opening->guests[index] = opening->guests[--opening->guest_count];
    uint32_t rank = opening->self->rank;
    if (got != (ssize_t)sizeof greeting || recv(guest, &greeting, sizeof greeting, 0) != got ||
        greeting.magic != greeting_magic || greeting.token != opening->self->token ||
        greeting.stream >= connections->stream_count ||
        connections->streams[greeting.stream].to != rank ||
        connections->sockets[greeting.stream] >= 0) {
        close(guest);
        return true;
    }
    connections->sockets[greeting.stream] = guest;
    opening->incoming_left--;
    return set_options(guest, opening->options, opening->self, error);
}

// ---- all together ----

static uint32_t fill_waits(struct opening *opening)
{
    uint32_t count = 0;
    opening->waits[count++] = (struct pollfd){.fd = opening->listener, .events = POLLIN};
    for (uint32_t i = 0; i < opening->attempt_count; i++) {
        opening->waits[count++] =
            (struct pollfd){.fd = opening->attempts[i].socket, .events = POLLOUT};
    }
    for (uint32_t i = 0; i < opening->guest_count; i++) {
        opening->waits[count++] =
            (struct pollfd){.fd = opening->guests[i].socket, .events = POLLIN};
    }
    return count;
}

static bool serve_waits(struct opening *opening, uint32_t room, struct weft_error *error)
{
    // From the last on, because each that ends takes the last one's place.
    const struct pollfd *guests = opening->waits + 1 + opening->attempt_count;
    for (uint32_t i = opening->guest_count; i-- > 0;) {
        if (guests[i].revents != 0 && !greet(opening, i, error)) {
            return false;
        }
    }
    for (uint32_t i = opening->attempt_count; i-- > 0;) {
        if (opening->waits[1 + i].revents != 0 && !end_attempt(opening, i, error)) {
            return false;
        }
    }
    if (opening->waits[0].revents != 0) {
        take_guests(opening, room);
    }
    return true;
}

// Time is up: the error names a peer that did not answer, or else one that did not call.
static bool say_who_is_missing(const struct opening *opening, struct weft_error *error)
{
    const struct lab_connections *connections = opening->connections;
    uint32_t rank = opening->self->rank;
    if (opening->attempt_count > 0) {
        return unreachable(opening, opening->attempts[0].stream, "no answer in time", error);
    }
    uint32_t stream = 0;
    while (connections->streams[stream].to != rank || connections->sockets[stream] >= 0) {
        stream++;
    }
    return weft_fail(error, WEFT_IO, "rank %u: peer %u did not connect within %u ms", rank,
                     connections->streams[stream].from, opening->self->timeout_ms);
}

// Connects and accepts until every stream has its socket or the time is up.
static bool connect_all(struct opening *opening, uint32_t room, struct weft_error *error)
{
    while (opening->outgoing_left + opening->incoming_left > 0) {
        if (!begin_attempts(opening, error)) {
            return false;
        }
        uint64_t now_ns = lab_now_ns();
        if (now_ns >= opening->end_ns) {
            return say_who_is_missing(opening, error);
        }
        int left_ms = (int)((opening->end_ns - now_ns) / 1000000u) + 1;
        if (poll(opening->waits, fill_waits(opening), left_ms) > 0 &&
            !serve_waits(opening, room, error)) {
            return false;
        }
    }
    return true;
}

// The steps that all peers go through with the coordinator: listen, say where, hear where the
// others are, connect, say that all stand.
static bool meet(struct opening *opening, uint32_t room, struct weft_error *error)
{
    struct lab_peer *self = opening->self;
    struct place own;
    return start_listening(opening, &own, error) &&
           lab_peer_send(self, LAB_MESSAGE_HELLO, &own, sizeof own, error) &&
           lab_peer_receive(self, LAB_MESSAGE_TABLE, opening->table,
                            self->count * sizeof *opening->table, error) &&
           connect_all(opening, room, error) &&
           lab_peer_send(self, LAB_MESSAGE_READY, NULL, 0, error);
}

bool lab_connections_open(struct lab_connections *connections, struct lab_peer *self,
                          const struct lab_stream *streams, uint32_t stream_count,
                          const struct lab_connection_options *options, struct weft_error *error)
{
    *connections = (struct lab_connections){.stream_count = stream_count, .streams = streams};
    struct opening opening = {
        .connections = connections, .self = self, .options = options, .listener = -1};
    connections->sockets = malloc((stream_count + 1) * sizeof *connections->sockets);
    WEFT_ASSERT(connections->sockets != NULL);
    for (uint32_t i = 0; i < stream_count; i++) {
        connections->sockets[i] = -1;
        opening.outgoing_left += streams[i].from == self->rank;
        opening.incoming_left += streams[i].to == self->rank;
    }
    uint32_t room = opening.incoming_left + 16;
    opening.table = calloc(self->count, sizeof *opening.table);
    opening.attempts = calloc(tries_in_flight, sizeof *opening.attempts);
    opening.guests = calloc(room, sizeof *opening.guests);
    opening.waits = calloc(1 + tries_in_flight + room, sizeof *opening.waits);
    WEFT_ASSERT(opening.table != NULL && opening.attempts != NULL && opening.guests != NULL &&
                opening.waits != NULL);
    opening.end_ns = lab_now_ns() + (uint64_t)self->timeout_ms * 1000000u;
    bool fine = meet(&opening, room, error);
    for (uint32_t i = 0; i < opening.attempt_count; i++) {
        close(opening.attempts[i].socket);
    }
    for (uint32_t i = 0; i < opening.guest_count; i++) {
        close(opening.guests[i].socket);
    }
    if (opening.listener >= 0) {
        close(opening.listener);
    }
    free(opening.table);
    free(opening.attempts);
    free(opening.guests);
    free(opening.waits);
    if (!fine) {
        lab_connections_close(connections);
    }
    return fine;
}

void lab_connections_close(struct lab_connections *connections)
{
    for (uint32_t i = 0; connections->sockets != NULL && i < connections->stream_count; i++) {
        if (connections->sockets[i] >= 0) {
            close(connections->sockets[i]);
        }
    }
    free(connections->sockets);
    connections->sockets = NULL;
}

void lab_connections_counts(struct lab_tcp_counts *counts,
                            const struct lab_connections *connections, uint32_t rank)
{
    *counts = (struct lab_tcp_counts){0};
    for (uint32_t i = 0; i < connections->stream_count; i++) {
        struct tcp_info info = {0};
        socklen_t length = sizeof info;
        if (connections->streams[i].from == rank && connections->sockets[i] >= 0 &&
            getsockopt(connections->sockets[i], IPPROTO_TCP, TCP_INFO, &info, &length) == 0) {
            counts->segments += info.tcpi_data_segs_out;
            counts->retransmits += info.tcpi_total_retrans;
            counts->ecn_marks += info.tcpi_delivered_ce;
        }
    }
}

bool lab_connections_introduce(struct lab_coordinator *coordinator, struct weft_error *error)
{
    struct place *table = calloc(coordinator->count, sizeof *table);
    WEFT_ASSERT(table != NULL);
    bool fine =
        lab_coordinator_gather(coordinator, LAB_MESSAGE_HELLO, table, sizeof *table, error) &&
        lab_coordinator_send(coordinator, LAB_MESSAGE_TABLE, table,
                             coordinator->count * sizeof *table, error) &&
        lab_coordinator_gather(coordinator, LAB_MESSAGE_READY, NULL, 0, error);
    free(table);
    return fine;
}
