// SPDX-License-Identifier: Apache-2.0
// The switch emulator as a switch with RESTCONF, by either vocabulary.
//
// Semantics are those of RFC 8040 (4.3 to 4.7): GET reads, PUT replaces a container, and where the
// vocabulary is Polatis', POST adds to it and DELETE removes one entry. Requests are handled one
// after the other, as a device with one set of mirrors does: while they move, the next waits.
// server.c bounds what clients may do.

#include "emulator.h"
#include "runtime/ocs/ocp.h"

#include <string.h>

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

// Moves the mirrors and answers when they would have settled.
static void apply(struct weft_ocs_emulation *self, struct weft_http_answer *answer,
                  const uint32_t *outputs, uint32_t status, struct weft_arena *arena)
{
    struct weft_ocs_core_answer made;
    struct weft_error error;
    if (!weft_ocs_core_change(&self->core, &made, outputs, *arena, &error)) {
        refuse(answer, 409, "operation-failed", error.message, arena);
        return;
    }
    *answer = (struct weft_http_answer){made.is_lost ? 0 : status, "", made.wait_ms};
}

// ---- resources ----

// A whole set, or for Polatis' POST what is added to the one that there is.
static bool read_set(const struct weft_ocs_emulation *self, uint32_t *outputs,
                     const struct weft_http_call *call, bool puts)
{
    struct weft_error ignored;
    const struct weft_yang_text text = {call->body, call->body_bytes};
    if (text.bytes == 0) {
        return false;
    }
    if (self->options->protocol == WEFT_OCS_OCP) {
        return puts && weft_ocp_read_config(outputs, &self->ports, &text, &ignored);
    }
    return puts ? weft_yang_read_circuits(outputs, self->ports.count, text.data, text.bytes,
                                          &ignored)
                : weft_yang_read_pairs(outputs, self->ports.count, text.data, text.bytes, &ignored);
}

// The resource of circuits: what each method does to it.
static void serve_circuits(struct weft_ocs_emulation *self, struct weft_http_answer *answer,
                           const struct weft_http_call *call, const char *rest,
                           struct weft_arena *arena)
{
    uint32_t n = self->core.port_count;
    bool is_ocp = self->options->protocol == WEFT_OCS_OCP;
    uint32_t *outputs = WEFT_NEW(arena, uint32_t, n);
    struct weft_error error;
    memcpy(outputs, self->core.reported, n * sizeof *outputs);
    if (!is_ocp && strcmp(call->method, "DELETE") == 0 && strncmp(rest, "/pair=", 6) == 0) {
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
    if (rest[0] == '\0' && (puts || (!is_ocp && strcmp(call->method, "POST") == 0))) {
        if (read_set(self, outputs, call, puts)) {
            apply(self, answer, outputs, puts ? 204 : 201, arena);
        } else {
            refuse(answer, 400, "invalid-value", "circuits of distinct inputs of this switch",
                   arena);
        }
        return;
    }
    if (rest[0] == '\0' && strcmp(call->method, "GET") == 0) {
        answer->status = 200;
        answer->body = is_ocp ? weft_ocp_write_circuits(outputs, &self->ports, arena)
                              : weft_yang_write_circuits(outputs, n, arena);
        return;
    }
    refuse(answer, 405, "operation-not-supported", "GET, PUT, POST or DELETE pair=N", arena);
}

// Which resource.
static void serve_resource(struct weft_ocs_emulation *self, struct weft_http_answer *answer,
                           const struct weft_http_call *call, struct weft_arena *arena)
{
    bool is_ocp = self->options->protocol == WEFT_OCS_OCP;
    const struct weft_yang_vocabulary *words = is_ocp ? &weft_yang_ocp : &weft_yang_polatis;
    size_t root = strlen(words->root);
    size_t circuits = strlen(words->circuits);
    if (strncmp(call->path, words->root, root) != 0) {
        refuse(answer, 404, "invalid-value", "no such resource", arena);
        return;
    }
    const char *name = call->path + root;
    if (strncmp(name, words->circuits, circuits) == 0) {
        serve_circuits(self, answer, call, name + circuits, arena);
        return;
    }
    bool gets = strcmp(call->method, "GET") == 0;
    uint32_t n = self->core.port_count;
    struct weft_ocs_port *levels = WEFT_NEW(arena, struct weft_ocs_port, n);
    weft_ocs_core_measure(&self->core, levels, *arena);
    if (gets && strcmp(name, words->power) == 0) {
        answer->status = 200;
        answer->body = is_ocp
                           ? weft_ocp_write_ports(levels, self->core.reported, &self->ports, arena)
                           : weft_yang_write_power(levels, n, arena);
    } else if (gets && strcmp(name, words->ports) == 0) {
        answer->status = 200;
        answer->body = weft_yang_write_ports(n, arena);
    } else {
        refuse(answer, 404, "invalid-value", "no such resource", arena);
    }
}

void weft_ocs_face_restconf(struct weft_ocs_emulation *self, struct weft_http_answer *answer,
                            const struct weft_http_call *call, struct weft_arena scratch)
{
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
