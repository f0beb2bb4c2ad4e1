// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_OCS_SERVER_H
#define WEFT_RUNTIME_OCS_SERVER_H

// An HTTP or HTTPS server on the loopback address for one user, by libmicrohttpd.
//
// What clients may do is bounded. A request has a total deadline, from the connection (or from the
// answer before it) to the last byte of its answer as read by the client, so that neither trickled
// requests nor slow readers last. Connections have caps, in all and from one address; at a cap a
// new connection takes the place of the oldest that has not shown the password, so that silent ones
// hold nobody out; with TLS no sooner than a handshake takes, so that nor do many new ones. Bodies
// have a bound and are kept for the user alone. Wrong credentials are compared in constant time,
// answered after a pause, and end the connection.
//
// Nothing waits: all connections are served by turns of the caller's thread.

#include "weft/base.h"

// A whole request of the user.
struct weft_http_call {
    const char *method;
    const char *path;
    const char *body; // body_bytes, NULL = none
    size_t body_bytes;
};
struct weft_http_answer {
    uint32_t status; // 0 = the connection ends without an answer
    const char *body;
    uint32_t wait_ms; // what was asked for takes so long; other calls wait, too
};

struct weft_http_service {
    const char *user;
    const char *password;
    const char *certificate; // PEM, as text; NULL = HTTP
    const char *key;
    const char *media_type; // of answers
    size_t body_bytes_max;
    uint32_t deadline_ms; // of a request
    uint32_t silence_s;   // after which a connection ends
    uint32_t refusal_ms;  // before wrong credentials are answered
    // Answers one call; the body of the answer may be in `scratch`.
    void (*handle)(void *context, struct weft_http_answer *answer,
                   const struct weft_http_call *call, struct weft_arena scratch);
    void *context;
};

enum { WEFT_HTTP_CONNECTIONS_MAX = 512, WEFT_HTTP_ADDRESS_MAX = 192 };

struct weft_http_server;
// `service` and `arena` outlive the server, which makes no port of its own. Fails with INPUT where
// certificate and key are no pair.
struct weft_http_server *weft_http_server_open(const struct weft_http_service *service,
                                               struct weft_arena *arena, struct weft_error *error)
    WEFT_MUST_USE;
// Accepts connections at this port (0 = the kernel's choice) and returns it; 0 with an error of IO.
uint16_t weft_http_server_listen(struct weft_http_server *server, uint16_t port,
                                 struct weft_error *error) WEFT_MUST_USE;
// Serves a connected socket, which is the server's from now on, from that IPv4 address.
void weft_http_server_add(struct weft_http_server *server, int fd, uint32_t address);
// Serves what has come, after waiting for it wait_ms at most. Fails with IO where the kernel does
// not let it wait.
bool weft_http_server_turn(struct weft_http_server *server, uint32_t wait_ms,
                           struct weft_error *error) WEFT_MUST_USE;
// How many connections are open.
uint32_t weft_http_server_count(const struct weft_http_server *server);
void weft_http_server_close(struct weft_http_server *server);

#endif
