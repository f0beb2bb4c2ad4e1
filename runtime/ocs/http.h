// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_OCS_HTTP_H
#define WEFT_RUNTIME_OCS_HTTP_H

// As much of HTTP/1.1 as RESTCONF takes: one request and its answer a connection, JSON bodies,
// Basic authentication. No TLS: boxes are managed on networks of their own.

#include "weft/base.h"

#define WEFT_HTTP_BYTES_MAX (4u << 20)

struct weft_http_request {
    const char *address; // HOST:PORT or HOST; [::1]:PORT
    const char *default_port;
    const char *method;
    const char *path;
    const char *user; // NULL = no authentication
    const char *password;
    const char *body; // NULL = none
    uint32_t timeout_ms;
};
struct weft_http_reply {
    uint32_t status;
    const char *body; // "" = none
    size_t body_bytes;
};
// Sends it and reads the whole answer. Fails with IO where nobody answers in time or what comes is
// no HTTP; any status is an answer.
bool weft_http_ask(struct weft_http_reply *reply, const struct weft_http_request *request,
                   struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;

// The length of the head of a message, its empty line included; 0 = not all there.
size_t weft_http_head(const char *data, size_t length);
// The value of a header in a head, case aside; NULL = none. Not terminated: ends with the line.
const char *weft_http_header(const char *head, size_t head_bytes, const char *name,
                             size_t *value_bytes);
// "Basic ..." for a user and password, for comparison and for sending.
const char *weft_http_basic(const char *user, const char *password, struct weft_arena *arena);

#endif
