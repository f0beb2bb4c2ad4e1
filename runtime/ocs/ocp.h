// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_OCS_OCP_H
#define WEFT_RUNTIME_OCS_OCP_H

// The YANG model of optical circuit switches of the Open Compute Project, version 0.8.0 (a
// proposal, August 2026), as JSON: lists `connections/port-connection` with `config` and `state`.
//
// From the model are: those two, `input-port-name`, `output-port-name`, the statuses of connections
// (CONNECTED, PENDING_CONNECTION, PENDING_DELETION, FAILED, INVALID) and of ports (BLOCKED, TUNING,
// TUNED, FAILED, UNKNOWN), and that entries which are INVALID are the controller's to delete. Not
// confirmed are the module's name (`ocp-ocs`; an address may name another, and readers take any),
// the form of `ports`, and the leaf of light levels. Here a port's state has `port-group` (the
// first that is listed has the inputs, the other one the outputs), `status` and `optical-power`.

#include "yang.h"

#define WEFT_OCP_MODULE "ocp-ocs:"
#define WEFT_OCP_ROOT "/restconf/data/" WEFT_OCP_MODULE

// outputs[ports->count] of what a document of connections configures, whatever their status; IO.
bool weft_ocp_read_config(uint32_t *outputs, const struct weft_yang_ports *ports,
                          const struct weft_yang_text *text, struct weft_error *error)
    WEFT_MUST_USE;

// ---- emulator/ocp_writer.c: what a switch says ----

// The names that the switch emulator gives its ports: inputs A1..AN, outputs B1..BN.
struct weft_yang_ports weft_ocp_name_ports(uint32_t count, struct weft_arena *arena);
const char *weft_ocp_write_circuits(const uint32_t *outputs, const struct weft_yang_ports *ports,
                                    struct weft_arena *arena);
const char *weft_ocp_write_ports(const struct weft_ocs_port *levels, const uint32_t *outputs,
                                 const struct weft_yang_ports *ports, struct weft_arena *arena);

#endif
