// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_OCS_EMULATOR_EMULATOR_H
#define WEFT_RUNTIME_OCS_EMULATOR_EMULATOR_H

// The switch emulator step by step: what weft_ocs_emulate (ocs.h) runs until it is stopped. One
// core, and a face of it for each protocol.

#include "core.h"
#include "lines.h"
#include "server.h"

#include "runtime/ocs/yang.h"

struct weft_ocs_emulation {
    const struct weft_ocs_emulator *options;
    struct weft_ocs_core core;
    struct weft_yang_ports ports; // what OCP calls them
    uint32_t *provisioned;        // Calient: outputs of connections, in service or not
    uint32_t request_count;
    struct weft_http_service service; // one of these two serves
    struct weft_http_server *server;
    struct weft_line_service line_service;
    struct weft_line_server *line_server;
    struct weft_arena all;
};
// Stays where it is; `options` outlive it. The caller has the server listen or adds connections.
bool weft_ocs_emulation_open(struct weft_ocs_emulation *self,
                             const struct weft_ocs_emulator *options, struct weft_error *error)
    WEFT_MUST_USE;
void weft_ocs_emulation_close(struct weft_ocs_emulation *self);

// ---- faces: one whole request each ----

void weft_ocs_face_restconf(struct weft_ocs_emulation *self, struct weft_http_answer *answer,
                            const struct weft_http_call *call, struct weft_arena scratch);
void weft_ocs_face_calient(struct weft_ocs_emulation *self, struct weft_line_answer *answer,
                           const struct weft_tl1_command *command, struct weft_arena *arena);
void weft_ocs_face_polatis(struct weft_ocs_emulation *self, struct weft_line_answer *answer,
                           const struct weft_tl1_command *command, struct weft_arena *arena);

#endif
