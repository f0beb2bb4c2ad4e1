// SPDX-License-Identifier: Apache-2.0
// The switch emulator: one core (core.h), behind HTTP, HTTPS or lines of TL1.

#include "emulator.h"
#include "runtime/ocs/ocp.h"

#include <string.h>

enum {
    BODY_BYTES_MAX = 1 << 20,
    DEADLINE_MS = 5000,
    SILENCE_S = 2,
    REFUSAL_MS = 100,
    WAIT_MS = 50,
};

const char *const weft_ocs_protocol_names[WEFT_OCS_PROTOCOLS] = {
    "restconf",
    "ocp",
    "tl1-calient",
    "tl1-polatis",
};
const char *const weft_ocs_protocol_schemes[WEFT_OCS_PROTOCOLS] = {
    "http",
    "ocp+http",
    "tl1+calient",
    "tl1+polatis",
};

static void answer_call(void *context, struct weft_http_answer *answer,
                        const struct weft_http_call *call, struct weft_arena scratch)
{
    weft_ocs_face_restconf(context, answer, call, scratch);
}

static void answer_command(void *context, struct weft_line_answer *answer,
                           const struct weft_tl1_command *command, struct weft_arena *arena)
{
    struct weft_ocs_emulation *self = context;
    if (self->options->protocol == WEFT_OCS_TL1_CALIENT) {
        weft_ocs_face_calient(self, answer, command, arena);
    } else {
        weft_ocs_face_polatis(self, answer, command, arena);
    }
}

// Opens the server of the protocol, without a port.
static bool open_server(struct weft_ocs_emulation *self, struct weft_arena *arena,
                        struct weft_error *error)
{
    const struct weft_ocs_emulator *options = self->options;
    uint32_t deadline_ms = options->deadline_ms > 0 ? options->deadline_ms : DEADLINE_MS;
    if (options->protocol == WEFT_OCS_RESTCONF || options->protocol == WEFT_OCS_OCP) {
        self->service = (struct weft_http_service){
            .user = options->user,
            .password = options->password,
            .certificate = options->certificate,
            .key = options->key,
            .media_type = WEFT_YANG_MEDIA_TYPE,
            .body_bytes_max = BODY_BYTES_MAX,
            .deadline_ms = deadline_ms,
            .silence_s = SILENCE_S,
            .refusal_ms = REFUSAL_MS,
            .handle = answer_call,
            .context = self,
        };
        self->server = weft_http_server_open(&self->service, arena, error);
        return self->server != NULL;
    }
    self->line_service = (struct weft_line_service){
        .user = options->user,
        .password = options->password,
        .deadline_ms = deadline_ms,
        .refusal_ms = REFUSAL_MS,
        .handle = answer_command,
        .context = self,
    };
    self->line_server = weft_line_server_open(&self->line_service, arena);
    return true;
}

bool weft_ocs_emulation_open(struct weft_ocs_emulation *self,
                             const struct weft_ocs_emulator *options, struct weft_error *error)
{
    *self = (struct weft_ocs_emulation){.options = options};
    if (!weft_arena_init(&self->all, 256u << 20, error)) {
        return false;
    }
    struct weft_arena arena = self->all;
    if (weft_ocs_core_init(&self->core, options, &arena, error)) {
        uint32_t n = options->port_count;
        self->ports = weft_ocp_name_ports(n, &arena);
        self->provisioned = WEFT_NEW(&arena, uint32_t, n);
        memset(self->provisioned, 0xff, n * sizeof *self->provisioned);
        if (open_server(self, &arena, error)) {
            return true;
        }
    }
    weft_arena_release(&self->all);
    return false;
}

void weft_ocs_emulation_close(struct weft_ocs_emulation *self)
{
    if (self->server != NULL) {
        weft_http_server_close(self->server);
    } else {
        weft_line_server_close(self->line_server);
    }
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
    bool http = self.server != NULL;
    uint16_t port = http ? weft_http_server_listen(self.server, emulator->port, error)
                         : weft_line_server_listen(self.line_server, emulator->port, error);
    bool fine = port != 0;
    if (fine) {
        ready(context, port);
    }
    while (fine && !weft_stopped(stop)) {
        fine = http ? weft_http_server_turn(self.server, WAIT_MS, error)
                    : weft_line_server_turn(self.line_server, WAIT_MS, error);
    }
    weft_ocs_emulation_close(&self);
    return fine;
}
