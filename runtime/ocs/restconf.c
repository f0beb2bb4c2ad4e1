// SPDX-License-Identifier: Apache-2.0
// The driver of a switch with RESTCONF (RFC 8040) and the YANG module `optical-switch`.
//
// Circuits are one resource, read and replaced whole: a PUT of all pairs is one transaction, in
// which pairs that stay are the same as before. A change reads and writes: two exchanges, one
// connection each, beside the two reads that ocs.c makes around it; all have one deadline together.

#include "http.h"
#include "ocs.h"
#include "runtime/clock.h"
#include "yang.h"

#include <string.h>

// RESTCONF's usual port where it is not behind TLS (Polatis), and HTTPS's.
#define PORT_HTTP "8008"
#define PORT_HTTPS "443"
#define TIMEOUT_MS 5000u // devices move mirrors for some 25 ms and answer within a second
#define TOTAL_MS 10000u

struct restconf_switch {
    struct weft_ocs_access access;
    const char *host; // as the operator gave it, for messages
    const char *root; // URL of the resources
    uint32_t port_count;
    uint64_t ends_ms;        // of the operation under way
    struct weft_arena arena; // each exchange begins anew in it
};

// Reads a resource (GET), or replaces it by `body` (PUT).
struct operation {
    const char *resource;
    const char *body; // NULL = read
};

static void restconf_begin(void *device)
{
    struct restconf_switch *self = device;
    self->ends_ms = lab_now_ns() / 1000000 + self->access.total_ms;
}

// One exchange; anything but success is a failure that quotes the switch.
static bool exchange(struct weft_http_reply *reply, const struct restconf_switch *self,
                     const struct operation *operation, struct weft_arena *arena,
                     struct weft_error *error)
{
    const char *method = operation->body != NULL ? "PUT" : "GET";
    const char *resource = operation->resource;
    uint64_t now = lab_now_ns() / 1000000;
    uint64_t left_ms = self->ends_ms > now ? self->ends_ms - now : 0;
    if (left_ms == 0) {
        return weft_fail(error, WEFT_IO, "%s: not done in time (%u ms)", self->host,
                         self->access.total_ms);
    }
    const struct weft_http_request request = {
        .url = weft_arena_format(arena, "%s%s", self->root, resource),
        .method = method,
        .user = self->access.user,
        .password = self->access.password,
        .media_type = WEFT_YANG_MEDIA_TYPE,
        .body = operation->body,
        .ca_file = self->access.ca_file,
        .insecure = self->access.insecure,
        .deadline_ms =
            left_ms < self->access.timeout_ms ? (uint32_t)left_ms : self->access.timeout_ms,
    };
    if (!weft_http_ask(reply, &request, arena, error)) {
        return false;
    }
    if (reply->status == 401 || reply->status == 403) {
        weft_fail(error, WEFT_UNSUPPORTED,
                  "%s: %s %s is not permitted (%u); name a file of mode 0600 with NAME:PASSWORD of "
                  "a user that may",
                  self->host, method, resource, reply->status);
        return weft_remedy(error, "credentials", "FILE");
    }
    return reply->status / 100 == 2 ||
           weft_fail(error, WEFT_IO, "%s: %s %s: status %u: %.120s", self->host, method, resource,
                     reply->status, reply->body);
}

// `scratch` must not be where `outputs` are: the answer is still read when they are filled.
static bool read_circuits(uint32_t *outputs, const struct restconf_switch *self,
                          struct weft_arena scratch, struct weft_error *error)
{
    struct weft_arena arena = scratch;
    struct weft_http_reply reply;
    return exchange(&reply, self, &(struct operation){"cross-connects", NULL}, &arena, error) &&
           (weft_yang_read_circuits(outputs, self->port_count, reply.body, reply.body_bytes,
                                    error) ||
            weft_wrap(error, "%s", self->host));
}

static bool restconf_read(void *device, uint32_t *outputs, struct weft_error *error)
{
    const struct restconf_switch *self = device;
    return read_circuits(outputs, self, self->arena, error);
}

static bool restconf_change(void *device, const struct weft_ocs_circuit *changes, uint32_t count,
                            struct weft_error *error)
{
    struct restconf_switch *self = device;
    struct weft_arena arena = self->arena;
    uint32_t *outputs = WEFT_NEW(&arena, uint32_t, self->port_count);
    struct weft_http_reply reply;
    if (!read_circuits(outputs, self, arena, error)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        WEFT_ASSERT(changes[i].input < self->port_count);
        outputs[changes[i].input] = changes[i].output;
    }
    struct weft_arena texts = weft_arena_split(&arena);
    const char *body = weft_yang_write_circuits(outputs, self->port_count, &texts);
    reply.status = 0;
    return exchange(&reply, self, &(struct operation){"cross-connects", body}, &arena, error) ||
           (reply.status == 0 && weft_wrap(error, "circuits may have moved, read them anew"));
}

static bool restconf_statistics(void *device, struct weft_ocs_port *ports, struct weft_error *error)
{
    struct restconf_switch *self = device;
    struct weft_arena arena = self->arena;
    struct weft_http_reply reply;
    return exchange(&reply, self, &(struct operation){"opm-power", NULL}, &arena, error) &&
           (weft_yang_read_power(ports, self->port_count, reply.body, reply.body_bytes, error) ||
            weft_wrap(error, "%s", self->host));
}

static void restconf_close(void *device)
{
    struct restconf_switch *self = device;
    weft_arena_release(&self->arena);
}

static bool count_ports(struct restconf_switch *self, struct weft_error *error)
{
    struct weft_arena arena = self->arena;
    struct weft_http_reply reply;
    return exchange(&reply, self, &(struct operation){"port-config", NULL}, &arena, error) &&
           (weft_yang_read_port_count(&self->port_count, reply.body, reply.body_bytes, error) ||
            weft_wrap(error, "%s", self->host));
}

// The URL of the resources of HOST, HOST:PORT or either after a scheme; [::1]:PORT is a host, too.
static bool find_root(struct restconf_switch *self, struct weft_arena *arena,
                      struct weft_error *error)
{
    const char *address = self->access.address;
    const char *end = strstr(address, "://");
    const char *host = end == NULL ? address : end + 3;
    bool secure = end != NULL && end - address == 5;
    size_t length = strcspn(host, "/");
    const char *bracket = memchr(host, ']', length);
    const char *port = memchr(bracket != NULL ? bracket : host, ':',
                              length - (size_t)(bracket != NULL ? bracket - host : 0));
    const char *rest = host + length;
    if (length == 0 || length > 255 || memchr(host, '@', length) != NULL ||
        strcmp(rest[0] == '/' ? rest + 1 : rest, "") != 0) {
        return weft_fail(error, WEFT_INPUT, "%.100s: no address; write HOST:PORT or https://HOST",
                         address);
    }
    self->host = weft_arena_text(arena, host, length);
    self->root = weft_arena_format(arena, "%s://%s%s%s" WEFT_YANG_ROOT, secure ? "https" : "http",
                                   self->host, port != NULL ? "" : ":",
                                   port != NULL ? ""
                                   : secure     ? PORT_HTTPS
                                                : PORT_HTTP);
    return true;
}

bool weft_ocs_open_restconf(struct weft_ocs *ocs, const struct weft_ocs_access *access,
                            struct weft_arena *arena, struct weft_error *error)
{
    static const struct weft_ocs_driver driver = {
        "RESTCONF",    restconf_begin,      restconf_change,
        restconf_read, restconf_statistics, restconf_close,
    };
    struct restconf_switch *self = WEFT_NEW(arena, struct restconf_switch, 1);
    *self = (struct restconf_switch){.access = *access};
    if (self->access.timeout_ms == 0) {
        self->access.timeout_ms = TIMEOUT_MS;
    }
    if (self->access.total_ms == 0) {
        self->access.total_ms = TOTAL_MS;
    }
    restconf_begin(self);
    if (!find_root(self, arena, error) ||
        !weft_arena_init(&self->arena, 4 * WEFT_HTTP_BYTES_MAX, error)) {
        return false;
    }
    if (!count_ports(self, error)) {
        weft_arena_release(&self->arena);
        return false;
    }
    *ocs = (struct weft_ocs){&driver, self, self->port_count};
    return true;
}
