// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_OCS_YANG_H
#define WEFT_RUNTIME_OCS_YANG_H

// Switches with RESTCONF (RFC 8040) as JSON (RFC 7951): the one table of what differs between their
// YANG modules, and the module `optical-switch` of Polatis' switches, whose inputs are ports 1..N
// and outputs N+1..2N. ocp.h has that of the Open Compute Project. No input or output: bytes to
// values and back, so that tests and the fuzzer need no network.

#include "ocs.h"

#define WEFT_YANG_MEDIA_TYPE "application/yang-data+json"

// Bytes of a resource.
struct weft_yang_text {
    const char *data;
    size_t bytes;
};
// A switch's ports: how many inputs and as many outputs, and what they are called where they have
// names instead of numbers.
struct weft_yang_ports {
    uint32_t count;
    const char *const *inputs; // [count]
    const char *const *outputs;
};
// Circuits that a document of circuits is to have, or no longer to have.
struct weft_yang_edit {
    const struct weft_ocs_circuit *circuits;
    uint32_t count;
    bool makes;
};
struct weft_yang_vocabulary {
    const char *driver;
    const char *root;     // path of the resources (RFC 8040, 3.3.1); their names follow at once
    const char *circuits; // the resource that is read, and replaced whole
    const char *ports;
    const char *power;
    // All fail with IO where the document is another one.
    bool (*read_ports)(struct weft_yang_ports *ports, const struct weft_yang_text *text,
                       struct weft_arena *arena, struct weft_error *error);
    // outputs[ports->count]; they hold anything where it fails.
    bool (*read_circuits)(uint32_t *outputs, const struct weft_yang_ports *ports,
                          const struct weft_yang_text *text, struct weft_error *error);
    // The document after the edit; all else in it stays.
    bool (*edit)(const char **edited, const struct weft_yang_ports *ports,
                 const struct weft_yang_text *text, const struct weft_yang_edit *edit,
                 struct weft_arena *arena, struct weft_error *error);
    // levels[ports->count]
    bool (*read_power)(struct weft_ocs_port *levels, const struct weft_yang_ports *ports,
                       const struct weft_yang_text *text, struct weft_error *error);
};
extern const struct weft_yang_vocabulary weft_yang_polatis;
extern const struct weft_yang_vocabulary weft_yang_ocp; // ocp.c

// ---- Polatis ----

#define WEFT_YANG_ROOT "/api/data/optical-switch:"

// outputs[port_count] of a `cross-connects` container; no bytes at all are no circuits. Fails with
// IO where it is none, or joins other ports than inputs to outputs, or a port twice; outputs hold
// anything then.
bool weft_yang_read_circuits(uint32_t *outputs, uint32_t port_count, const char *text, size_t bytes,
                             struct weft_error *error) WEFT_MUST_USE;
// The pairs of a POST, added to outputs[port_count]; fails as above.
bool weft_yang_read_pairs(uint32_t *outputs, uint32_t port_count, const char *text, size_t bytes,
                          struct weft_error *error) WEFT_MUST_USE;
// How many inputs the ports of a `port-config` container make. Fails with IO.
bool weft_yang_read_port_count(uint32_t *port_count, const char *text, size_t bytes,
                               struct weft_error *error) WEFT_MUST_USE;
// Light at inputs and outputs, of an `opm-power` container, into ports[port_count]. Fails with IO.
bool weft_yang_read_power(struct weft_ocs_port *ports, uint32_t port_count, const char *text,
                          size_t bytes, struct weft_error *error) WEFT_MUST_USE;

// The same containers from values; zero-terminated.
const char *weft_yang_write_circuits(const uint32_t *outputs, uint32_t port_count,
                                     struct weft_arena *arena);
const char *weft_yang_write_ports(uint32_t port_count, struct weft_arena *arena);
const char *weft_yang_write_power(const struct weft_ocs_port *ports, uint32_t port_count,
                                  struct weft_arena *arena);

#endif
