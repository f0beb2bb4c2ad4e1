// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_OCS_YANG_H
#define WEFT_RUNTIME_OCS_YANG_H

// The YANG module `optical-switch` of Polatis' switches, as JSON (RFC 7951): what the RESTCONF
// driver reads and the emulator writes. Inputs are ports 1..N, outputs N+1..2N. No input or output:
// bytes to values and back, so that tests and the fuzzer need no network.

#include "ocs.h"

// Resources below the RESTCONF root (RFC 8040, 3.3.1).
#define WEFT_YANG_ROOT "/api/data/optical-switch:"
#define WEFT_YANG_MEDIA_TYPE "application/yang-data+json"

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
// Transmitters have 0 dBm, and 1 dB is lost on the way through.
const char *weft_yang_write_power(const uint32_t *outputs, uint32_t port_count,
                                  struct weft_arena *arena);

#endif
