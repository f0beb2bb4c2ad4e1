// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_OCS_EMULATOR_H
#define WEFT_RUNTIME_OCS_EMULATOR_H

// The switch emulator step by step: what weft_ocs_emulate (ocs.h) runs until it is stopped.

#include "ocs.h"
#include "server.h"

struct weft_ocs_emulation {
    const struct weft_ocs_emulator *options;
    struct weft_ocs twin;
    uint32_t request_count;
    struct weft_http_service service;
    struct weft_http_server *server;
    struct weft_arena all;
};
// Stays where it is; `options` outlive it. The caller has the server listen or adds connections.
bool weft_ocs_emulation_open(struct weft_ocs_emulation *self,
                             const struct weft_ocs_emulator *options, struct weft_error *error)
    WEFT_MUST_USE;
// outputs[port_count] as they are.
void weft_ocs_emulation_read(struct weft_ocs_emulation *self, uint32_t *outputs);
void weft_ocs_emulation_close(struct weft_ocs_emulation *self);

#endif
