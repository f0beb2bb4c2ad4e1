// SPDX-License-Identifier: Apache-2.0
// The driver of a switch with RESTCONF (RFC 8040), whatever its YANG module (yang.h).
//
// Circuits are one resource, read and replaced whole: a PUT of all circuits is one transaction, in
// which those that stay are the same as before. A batch reads and writes: two exchanges, one
// connection each, beside the reads that change.c makes around it; all have one deadline together.

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
// Bulk changes take up to half a second where the device orders them itself.
#define SETTLE_MS 500u

struct restconf_switch {
    struct weft_ocs_access access;
    const struct weft_yang_vocabulary *words;
    const char *host; // as the operator gave it, for messages
    const char *root; // URL of the resources
    struct weft_yang_ports ports;
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

// Reads one resource.
static bool get(struct weft_yang_text *text, const struct restconf_switch *self,
                const char *resource, struct weft_arena *arena, struct weft_error *error)
{
    struct weft_http_reply reply;
    if (!exchange(&reply, self, &(struct operation){resource, NULL}, arena, error)) {
        return false;
    }
    *text = (struct weft_yang_text){reply.body, reply.body_bytes};
    return true;
}

static bool restconf_read(void *device, uint32_t *outputs, struct weft_error *error)
{
    const struct restconf_switch *self = device;
    struct weft_arena arena = self->arena;
    struct weft_yang_text text;
    return get(&text, self, self->words->circuits, &arena, error) &&
           (self->words->read_circuits(outputs, &self->ports, &text, error) ||
            weft_wrap(error, "%s", self->host));
}

static bool edit(struct restconf_switch *self, const struct weft_yang_edit *wanted,
                 struct weft_error *error)
{
    struct weft_arena arena = self->arena;
    struct weft_yang_text text;
    struct weft_http_reply reply = {0};
    const char *body = NULL;
    if (!get(&text, self, self->words->circuits, &arena, error)) {
        return false;
    }
    struct weft_arena texts = weft_arena_split(&arena);
    if (!self->words->edit(&body, &self->ports, &text, wanted, &texts, error)) {
        return weft_wrap(error, "%s", self->host);
    }
    return exchange(&reply, self, &(struct operation){self->words->circuits, body}, &arena,
                    error) ||
           (reply.status == 0 && weft_wrap(error, "circuits may have moved"));
}

static bool restconf_remove(void *device, const struct weft_ocs_circuit *circuits, uint32_t count,
                            struct weft_error *error)
{
    return edit(device, &(struct weft_yang_edit){circuits, count, false}, error);
}

static bool restconf_make(void *device, const struct weft_ocs_circuit *circuits, uint32_t count,
                          struct weft_error *error)
{
    return edit(device, &(struct weft_yang_edit){circuits, count, true}, error);
}

static bool restconf_statistics(void *device, struct weft_ocs_port *ports, struct weft_error *error)
{
    struct restconf_switch *self = device;
    struct weft_arena arena = self->arena;
    struct weft_yang_text text;
    return get(&text, self, self->words->power, &arena, error) &&
           (self->words->read_power(ports, &self->ports, &text, error) ||
            weft_wrap(error, "%s", self->host));
}

static void restconf_close(void *device)
{
    struct restconf_switch *self = device;
    weft_arena_release(&self->arena);
}

// The names of the ports stay in `arena`.
static bool find_ports(struct restconf_switch *self, struct weft_arena *arena,
                       struct weft_error *error)
{
    struct weft_arena scratch = self->arena;
    struct weft_yang_text text;
    return get(&text, self, self->words->ports, &scratch, error) &&
           (self->words->read_ports(&self->ports, &text, arena, error) ||
            weft_wrap(error, "%s", self->host));
}

// The URL of the resources of HOST, HOST:PORT or either after a scheme; [::1]:PORT is a host, too.
// A path ends with the module's name and a colon and stands for that of the vocabulary.
static bool find_root(struct restconf_switch *self, struct weft_arena *arena,
                      struct weft_error *error)
{
    const char *address = self->access.address;
    const char *end = strstr(address, "://");
    const char *host = end == NULL ? address : end + 3;
    bool secure = end != NULL && end[-1] == 's';
    size_t length = strcspn(host, "/");
    const char *bracket = memchr(host, ']', length);
    const char *port = memchr(bracket != NULL ? bracket : host, ':',
                              length - (size_t)(bracket != NULL ? bracket - host : 0));
    const char *rest = host + length;
    bool has_path = strlen(rest) > 1;
    if (length == 0 || length > 255 || strlen(rest) > 255 || memchr(host, '@', length) != NULL ||
        (has_path && rest[strlen(rest) - 1] != ':') || strpbrk(rest, "?#") != NULL) {
        return weft_fail(error, WEFT_INPUT,
                         "%.100s: no address; write HOST:PORT or https://HOST, and /PATH/MODULE: "
                         "behind it where the resources are elsewhere",
                         address);
    }
    self->host = weft_arena_text(arena, host, length);
    self->root = weft_arena_format(arena, "%s://%s%s%s%s", secure ? "https" : "http", self->host,
                                   port != NULL ? "" : ":",
                                   port != NULL ? ""
                                   : secure     ? PORT_HTTPS
                                                : PORT_HTTP,
                                   has_path ? rest : self->words->root);
    return true;
}

static bool open_switch(struct weft_ocs *ocs, const struct weft_ocs_access *access,
                        const struct weft_yang_vocabulary *words, struct weft_arena *arena,
                        struct weft_error *error)
{
    struct restconf_switch *self = WEFT_NEW(arena, struct restconf_switch, 1);
    struct weft_ocs_driver *driver = WEFT_NEW(arena, struct weft_ocs_driver, 1);
    *driver = (struct weft_ocs_driver){
        .name = words->driver,
        .measures_light = true,
        .settle_ms = SETTLE_MS,
        .begin = restconf_begin,
        .remove = restconf_remove,
        .make = restconf_make,
        .read = restconf_read,
        .statistics = restconf_statistics,
        .close = restconf_close,
    };
    *self = (struct restconf_switch){.words = words, .access = *access};
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
    if (!find_ports(self, arena, error)) {
        weft_arena_release(&self->arena);
        return false;
    }
    *ocs = (struct weft_ocs){
        .driver = driver, .device = self, .port_count = self->ports.count, .address = self->host};
    return true;
}

bool weft_ocs_open_restconf(struct weft_ocs *ocs, const struct weft_ocs_access *access,
                            struct weft_arena *arena, struct weft_error *error)
{
    return open_switch(ocs, access, &weft_yang_polatis, arena, error);
}

bool weft_ocs_open_ocp(struct weft_ocs *ocs, const struct weft_ocs_access *access,
                       struct weft_arena *arena, struct weft_error *error)
{
    return open_switch(ocs, access, &weft_yang_ocp, arena, error);
}
