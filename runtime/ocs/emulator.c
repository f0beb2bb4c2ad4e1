// SPDX-License-Identifier: Apache-2.0
// The switch emulator: a twin behind HTTP or HTTPS.
//
// It serves the resources of the YANG module that the RESTCONF driver uses, with the semantics of
// RFC 8040 (4.3 to 4.7): GET reads, PUT replaces a container, POST adds to it, DELETE removes one
// entry. Requests are handled one after the other, as a device with one set of mirrors does: while
// they move, the next waits. server.c bounds what clients may do.

#include "emulator.h"
#include "yang.h"

#include <string.h>

enum {
    BODY_BYTES_MAX = 1 << 20,
    DEADLINE_MS = 5000,
    SILENCE_S = 2,
    REFUSAL_MS = 100,
    WAIT_MS = 50
};

// ---- answers ----

// RFC 8040, 7.1.
static void refuse(struct weft_http_answer *answer, uint32_t status, const char *tag,
                   const char *message, struct weft_arena *arena)
{
    answer->status = status;
    answer->body =
        weft_arena_format(arena,
                          "{\"ietf-restconf:errors\":{\"error\":[{\"error-type\":\"application\","
                          "\"error-tag\":\"%s\",\"error-message\":\"%s\"}]}}",
                          tag, message);
}

// ---- resources ----

// Moves the twin and answers when its mirrors would have settled.
static void apply(struct weft_ocs_emulation *self, struct weft_http_answer *answer,
                  const uint32_t *outputs, uint32_t status, struct weft_arena *arena)
{
    struct weft_ocs_change made;
    struct weft_error error;
    if (!weft_ocs_apply(&made, &self->twin, outputs, *arena, &error)) {
        refuse(answer, 409, "operation-failed", error.message, arena);
        return;
    }
    *answer =
        (struct weft_http_answer){status, "", made.changed > 0 ? self->options->switch_ms : 0};
}

// The resource `cross-connects`: what each method does to it.
static void serve_circuits(struct weft_ocs_emulation *self, struct weft_http_answer *answer,
                           const struct weft_http_call *call, const char *rest,
                           struct weft_arena *arena)
{
    uint32_t n = self->twin.port_count;
    uint32_t *outputs = WEFT_NEW(arena, uint32_t, n);
    struct weft_error error;
    weft_ocs_emulation_read(self, outputs);
    if (strcmp(call->method, "DELETE") == 0 && strncmp(rest, "/pair=", 6) == 0) {
        uint64_t input = 0;
        if (!weft_parse_count(&input, rest + 6, 1, n, &error)) {
            refuse(answer, 404, "invalid-value", "no such pair", arena);
            return;
        }
        outputs[input - 1] = WEFT_NONE;
        apply(self, answer, outputs, 204, arena);
        return;
    }
    bool puts = strcmp(call->method, "PUT") == 0;
    if (rest[0] == '\0' && (puts || strcmp(call->method, "POST") == 0)) {
        bool fine =
            call->body_bytes > 0 &&
            (puts ? weft_yang_read_circuits(outputs, n, call->body, call->body_bytes, &error)
                  : weft_yang_read_pairs(outputs, n, call->body, call->body_bytes, &error));
        if (fine) {
            apply(self, answer, outputs, puts ? 204 : 201, arena);
        } else {
            refuse(answer, 400, "invalid-value",
                   "pairs of distinct ingress and an egress of this switch", arena);
        }
        return;
    }
    if (rest[0] == '\0' && strcmp(call->method, "GET") == 0) {
        *answer = (struct weft_http_answer){200, weft_yang_write_circuits(outputs, n, arena), 0};
        return;
    }
    refuse(answer, 405, "operation-not-supported", "GET, PUT, POST or DELETE pair=N", arena);
}

// Which resource.
static void serve_resource(struct weft_ocs_emulation *self, struct weft_http_answer *answer,
                           const struct weft_http_call *call, struct weft_arena *arena)
{
    static const char circuits[] = WEFT_YANG_ROOT "cross-connects";
    uint32_t n = self->twin.port_count;
    if (strncmp(call->path, circuits, sizeof circuits - 1) == 0) {
        serve_circuits(self, answer, call, call->path + sizeof circuits - 1, arena);
        return;
    }
    bool gets = strcmp(call->method, "GET") == 0;
    if (gets && strcmp(call->path, WEFT_YANG_ROOT "opm-power") == 0) {
        uint32_t *outputs = WEFT_NEW(arena, uint32_t, n);
        weft_ocs_emulation_read(self, outputs);
        *answer = (struct weft_http_answer){200, weft_yang_write_power(outputs, n, arena), 0};
        return;
    }
    if (gets && strcmp(call->path, WEFT_YANG_ROOT "port-config") == 0) {
        *answer = (struct weft_http_answer){200, weft_yang_write_ports(n, arena), 0};
        return;
    }
    refuse(answer, 404, "invalid-value", "no such resource", arena);
}

// One whole request, or the fault that was asked for.
static void serve(void *context, struct weft_http_answer *answer, const struct weft_http_call *call,
                  struct weft_arena scratch)
{
    struct weft_ocs_emulation *self = context;
    self->request_count++;
    bool fails = self->options->fail_at == self->request_count;
    if (fails && self->options->fail_status != 0) {
        refuse(answer, self->options->fail_status, "operation-failed", "out of order", &scratch);
        return;
    }
    serve_resource(self, answer, call, &scratch);
    if (fails) {
        *answer = (struct weft_http_answer){0};
    }
}

// ---- the switch ----

void weft_ocs_emulation_read(struct weft_ocs_emulation *self, uint32_t *outputs)
{
    struct weft_error ignored;
    bool fine = weft_ocs_read(outputs, &self->twin, &ignored);
    WEFT_ASSERT(fine); // a twin can always be read
}

bool weft_ocs_emulation_open(struct weft_ocs_emulation *self,
                             const struct weft_ocs_emulator *options, struct weft_error *error)
{
    *self = (struct weft_ocs_emulation){
        .options = options,
        .service =
            {
                .user = options->user,
                .password = options->password,
                .certificate = options->certificate,
                .key = options->key,
                .media_type = WEFT_YANG_MEDIA_TYPE,
                .body_bytes_max = BODY_BYTES_MAX,
                .deadline_ms = options->deadline_ms > 0 ? options->deadline_ms : DEADLINE_MS,
                .silence_s = SILENCE_S,
                .refusal_ms = REFUSAL_MS,
                .handle = serve,
                .context = self,
            },
    };
    if (!weft_arena_init(&self->all, 256u << 20, error)) {
        return false;
    }
    struct weft_arena arena = self->all;
    if (weft_ocs_open_twin(&self->twin, options->port_count, &arena, error)) {
        self->server = weft_http_server_open(&self->service, &arena, error);
    }
    if (self->server == NULL) {
        weft_arena_release(&self->all);
    }
    return self->server != NULL;
}

void weft_ocs_emulation_close(struct weft_ocs_emulation *self)
{
    weft_http_server_close(self->server);
    weft_arena_release(&self->all);
}

bool weft_ocs_emulate(const struct weft_ocs_emulator *emulator, weft_stop stop,
                      void (*ready)(void *context, uint16_t port), void *context,
                      struct weft_error *error)
{
    struct weft_ocs_emulation self;
    if (!weft_ocs_emulation_open(&self, emulator, error)) {
        return false;
    }
    uint16_t port = weft_http_server_listen(self.server, emulator->port, error);
    bool fine = port != 0;
    if (fine) {
        ready(context, port);
    }
    while (fine && !weft_stopped(stop)) {
        fine = weft_http_server_turn(self.server, WAIT_MS, error);
    }
    weft_ocs_emulation_close(&self);
    return fine;
}
