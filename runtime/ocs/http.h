// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_OCS_HTTP_H
#define WEFT_RUNTIME_OCS_HTTP_H

// One request to a device's management interface, and its answer, by libcurl: HTTP and HTTPS, Basic
// authentication.
//
// What a device may do to its caller is bounded: an answer has a size and the whole exchange, name
// resolution and handshakes included, has a deadline. Redirections are not followed and proxies of
// the environment are not used, because both would carry the credentials elsewhere. Every exchange
// has a connection of its own. One that ends before any byte of an answer is asked for again, up to
// three times, as RFC 9110 (9.2.2) permits for methods that are idempotent: GET and PUT, no others.

#include "weft/base.h"

#define WEFT_HTTP_BYTES_MAX (4u << 20)

struct weft_http_request {
    const char *url;    // http://HOST[:PORT]/PATH or https://HOST[:PORT]/PATH
    const char *method; // GET or PUT
    const char *user;   // NULL = no authentication
    const char *password;
    const char *media_type; // of body and answer
    const char *body;       // NULL = none
    const char *ca_file;    // certificates (PEM) that are trusted; NULL = those of the system
    bool insecure;          // any certificate is taken, which anybody on the way can make use of
    uint32_t deadline_ms;   // for the whole exchange
};
struct weft_http_reply {
    uint32_t status;
    const char *body; // zero-terminated; "" = none
    size_t body_bytes;
};
// Fails with IO where nobody answers in time, where an answer breaks off, is no HTTP or larger than
// WEFT_HTTP_BYTES_MAX, or where the certificate is not trusted; any status is an answer. The
// answer's body lives in `arena`.
bool weft_http_ask(struct weft_http_reply *reply, const struct weft_http_request *request,
                   struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;

#endif
