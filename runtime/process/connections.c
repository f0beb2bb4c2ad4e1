// SPDX-License-Identifier: Apache-2.0
// Connects all peers with each other, all at once.
//
// Every peer listens before it tells the coordinator its port, and hears the table of all ports
// before it connects; so no attempt comes too early. A connection begins with a handshake, by which
// strangers are told from peers on both sides; a peer that strangers crowd out calls again. At most
// tries_in_flight attempts are under way at once.

#include "connections.h"
#include "handshake.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// As many as all ranks of weft-run on four lanes; the kernel lowers it to somaxconn.
static const int backlog = 4096;
// Bounds the descriptors that wait for answers. Not measured.
static const uint32_t tries_in_flight = 64;
// Before a peer that closed the connection is called again, so that callers do not spin.
static const uint64_t pause_ns = 5000000;

// A connection under way; without a socket until `begin_ns`.
struct attempt {
    struct lab_knock knock;
    uint32_t stream;
    uint64_t begin_ns;
};

struct opening {
    struct lab_connections *connections;
    struct lab_peer *self;
    const struct lab_connection_options *options;
    struct lab_gate gate;
    struct lab_place *table;
    uint32_t outgoing_left;
    uint32_t incoming_left;
    uint32_t next_stream; // to be tried
    uint32_t attempt_count;
    struct attempt *attempts; // connecting
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

static bool start_listening(struct opening *opening, struct lab_place *own,
                            struct weft_error *error)
{
    const struct lab_peer *self = opening->self;
    uint32_t ip = opening->options->own_ip;
    // A host of the lab is reached at the addresses of all its ports.
    struct sockaddr_in address = address_of(ip == 0 ? INADDR_LOOPBACK : INADDR_ANY, 0);
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, backlog) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) != 0) {
        weft_fail(error, WEFT_IO, "rank %u: cannot listen: %s", self->rank, strerror(errno));
        if (listener >= 0) {
            close(listener);
        }
        return false;
    }
    *own = (struct lab_place){ip == 0 ? INADDR_LOOPBACK : ip, ntohs(address.sin_port)};
    return lab_gate_open(&opening->gate, listener, &self->key, error);
}

// ---- outgoing ----

static bool unreachable(const struct opening *opening, uint32_t stream, const char *why,
                        struct weft_error *error)
{
    const struct lab_stream *s = &opening->connections->streams[stream];
    const struct lab_place *place = &opening->table[s->to];
    struct in_addr address = {.s_addr = htonl(s->to_ip != 0 ? s->to_ip : place->ip)};
    char text[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &address, text, sizeof text);
    return weft_fail(error, WEFT_IO, "rank %u: peer %u is unreachable at %s port %u: %s", s->from,
                     s->to, text, place->port, why);
}

// Starts a connection without waiting for it.
static bool begin_attempt(struct opening *opening, struct attempt *attempt,
                          struct weft_error *error)
{
    const struct lab_stream *s = &opening->connections->streams[attempt->stream];
    const struct lab_place *place = &opening->table[s->to];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return weft_fail(error, WEFT_IO, "rank %u: socket to peer %u: %s; raise ulimit -n", s->from,
                         s->to, strerror(errno));
    }
    attempt->knock.socket = fd;
    if (!set_options(fd, opening->options, opening->self, error)) {
        return false;
    }
    if (s->from_ip != 0) {
        struct sockaddr_in from = address_of(s->from_ip, 0);
        if (bind(fd, (struct sockaddr *)&from, sizeof from) != 0) {
            return unreachable(opening, attempt->stream, strerror(errno), error);
        }
    }
    struct sockaddr_in to = address_of(s->to_ip != 0 ? s->to_ip : place->ip, place->port);
    const struct lab_wish wish = {LAB_WISH_STREAM, attempt->stream,
                                  opening->connections->stream_count};
    return lab_knock_begin(&attempt->knock, fd, (struct sockaddr *)&to, sizeof to, &wish) !=
               LAB_KNOCK_FAILED ||
           unreachable(opening, attempt->stream, strerror(attempt->knock.why), error);
}

// Starts connections as long as fewer than tries_in_flight are under way, and those anew whose
// pause is over.
static bool begin_attempts(struct opening *opening, struct weft_error *error)
{
    const struct lab_connections *connections = opening->connections;
    while (opening->attempt_count < tries_in_flight &&
           opening->next_stream < connections->stream_count) {
        uint32_t stream = opening->next_stream++;
        if (connections->streams[stream].from == opening->self->rank) {
            opening->attempts[opening->attempt_count++] =
                (struct attempt){.knock.socket = -1, .stream = stream};
        }
    }
    for (uint32_t i = 0; i < opening->attempt_count; i++) {
        struct attempt *attempt = &opening->attempts[i];
        if (attempt->knock.socket < 0 && lab_now_ns() >= attempt->begin_ns &&
            !begin_attempt(opening, attempt, error)) {
            return false;
        }
    }
    return true;
}

// Goes on with an attempt, which may end it.
static bool look_at_attempt(struct opening *opening, uint32_t index, struct weft_error *error)
{
    struct attempt *attempt = &opening->attempts[index];
    switch (lab_knock_look(&attempt->knock, &opening->self->key)) {
    case LAB_KNOCK_WAITS:
        return true;
    case LAB_KNOCK_STANDS:
        opening->connections->sockets[attempt->stream] = attempt->knock.socket;
        *attempt = opening->attempts[--opening->attempt_count];
        opening->outgoing_left--;
        return true;
    case LAB_KNOCK_CLOSED:
        close(attempt->knock.socket);
        attempt->knock.socket = -1;
        attempt->begin_ns = lab_now_ns() + pause_ns;
        return true;
    case LAB_KNOCK_FOREIGN:
        return unreachable(opening, attempt->stream, "who answers there is none of this run",
                           error);
    case LAB_KNOCK_FAILED:
        break;
    }
    return unreachable(opening, attempt->stream, strerror(attempt->knock.why), error);
}

// ---- incoming ----

// Takes the streams of peers that have proved themselves.
static bool look_at_guests(struct opening *opening, struct weft_error *error)
{
    static const uint8_t no_nonce[LAB_KEY_BYTES] = {0};
    struct lab_connections *connections = opening->connections;
    struct lab_guest guest;
    while (lab_gate_look(&opening->gate, &guest)) {
        const struct lab_wish *wish = &guest.claim.wish;
        if (wish->kind != LAB_WISH_STREAM || wish->count != connections->stream_count ||
            wish->id >= wish->count || connections->streams[wish->id].to != opening->self->rank ||
            connections->sockets[wish->id] >= 0) {
            lab_gate_refuse(&guest);
        } else if (lab_gate_admit(&opening->gate, &guest, no_nonce)) {
            connections->sockets[wish->id] = guest.socket;
            opening->incoming_left--;
            if (!set_options(guest.socket, opening->options, opening->self, error)) {
                return false;
            }
        }
    }
    return true;
}

// ---- all together ----

// Waits for the sockets of attempts and guests, and goes on with those attempts that can.
static bool wait_and_look(struct opening *opening, int most_ms, struct weft_error *error)
{
    struct pollfd *waits = opening->waits;
    uint32_t count = opening->attempt_count;
    for (uint32_t i = 0; i < count; i++) {
        const struct attempt *attempt = &opening->attempts[i];
        waits[i] = (struct pollfd){.fd = attempt->knock.socket, .events = attempt->knock.events};
        most_ms = attempt->knock.socket < 0 && most_ms > 5 ? 5 : most_ms;
    }
    uint32_t all = count + lab_gate_waits(&opening->gate, waits + count);
    if (poll(waits, all, lab_gate_patience_ms(&opening->gate, most_ms)) < 0) {
        return true;
    }
    // From the last on, because each that ends takes the last one's place.
    for (uint32_t i = count; i-- > 0;) {
        if (waits[i].fd >= 0 && waits[i].revents != 0 && !look_at_attempt(opening, i, error)) {
            return false;
        }
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
static bool connect_all(struct opening *opening, struct weft_error *error)
{
    while (opening->outgoing_left + opening->incoming_left > 0) {
        uint64_t now_ns = lab_now_ns();
        if (now_ns >= opening->end_ns) {
            return say_who_is_missing(opening, error);
        }
        int left_ms = (int)((opening->end_ns - now_ns) / 1000000u) + 1;
        if (!begin_attempts(opening, error) || !wait_and_look(opening, left_ms, error) ||
            !look_at_guests(opening, error)) {
            return false;
        }
    }
    return true;
}

bool lab_connections_exchange(struct lab_place *table, struct lab_peer *self,
                              const struct lab_place *own, struct weft_error *error)
{
    return lab_peer_send(self, LAB_MESSAGE_HELLO, own, sizeof *own, error) &&
           lab_peer_receive(self, LAB_MESSAGE_TABLE, table, self->count * sizeof *table, error);
}

// The steps that all peers go through with the coordinator: listen, say where, hear where the
// others are, connect, say that all stand.
static bool meet(struct opening *opening, struct weft_error *error)
{
    struct lab_peer *self = opening->self;
    struct lab_place own;
    return start_listening(opening, &own, error) &&
           lab_connections_exchange(opening->table, self, &own, error) &&
           connect_all(opening, error) && lab_peer_send(self, LAB_MESSAGE_READY, NULL, 0, error);
}

// What an opening needs beside the gate.
static bool open_tables(struct opening *opening, uint32_t stream_count, struct weft_error *error)
{
    int *sockets = malloc((stream_count + 1) * sizeof *sockets);
    for (uint32_t i = 0; sockets != NULL && i < stream_count; i++) {
        sockets[i] = -1;
    }
    opening->connections->sockets = sockets;
    opening->table = calloc(opening->self->count, sizeof *opening->table);
    opening->attempts = calloc(tries_in_flight, sizeof *opening->attempts);
    opening->waits = calloc(tries_in_flight + 1 + LAB_GUESTS_MAX, sizeof *opening->waits);
    return (sockets != NULL && opening->table != NULL && opening->attempts != NULL &&
            opening->waits != NULL) ||
           weft_fail(error, WEFT_UNSUPPORTED, "rank %u: out of memory", opening->self->rank);
}

bool lab_connections_open(struct lab_connections *connections, struct lab_peer *self,
                          const struct lab_stream *streams, uint32_t stream_count,
                          const struct lab_connection_options *options, struct weft_error *error)
{
    *connections = (struct lab_connections){.stream_count = stream_count, .streams = streams};
    struct opening opening = {
        .connections = connections, .self = self, .options = options, .gate.listener = -1};
    bool fine = open_tables(&opening, stream_count, error);
    for (uint32_t i = 0; fine && i < stream_count; i++) {
        opening.outgoing_left += streams[i].from == self->rank;
        opening.incoming_left += streams[i].to == self->rank;
    }
    opening.end_ns = lab_now_ns() + (uint64_t)self->timeout_ms * 1000000u;
    fine = fine && meet(&opening, error);
    for (uint32_t i = 0; i < opening.attempt_count; i++) {
        if (opening.attempts[i].knock.socket >= 0) {
            close(opening.attempts[i].knock.socket);
        }
    }
    lab_gate_close(&opening.gate);
    free(opening.table);
    free(opening.attempts);
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
    struct lab_place *table = calloc(coordinator->count, sizeof *table);
    if (table == NULL) {
        return weft_fail(error, WEFT_UNSUPPORTED, "out of memory");
    }
    bool fine =
        lab_coordinator_gather(coordinator, LAB_MESSAGE_HELLO, table, sizeof *table, error) &&
        lab_coordinator_send(coordinator, LAB_MESSAGE_TABLE, table,
                             coordinator->count * sizeof *table, error) &&
        lab_coordinator_gather(coordinator, LAB_MESSAGE_READY, NULL, 0, error);
    free(table);
    return fine;
}
