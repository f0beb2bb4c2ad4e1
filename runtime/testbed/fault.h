// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_TESTBED_FAULT_H
#define WEFT_RUNTIME_TESTBED_FAULT_H

// Faults of a lab, and their repair. Light fails at the switch's end of a cable: the server's port
// loses its carrier at once, what the server sends or should receive there is lost, and its kernel
// takes next hops of that port out of its routes. Servers at the far ends of circuits see nothing
// but silence, as with transmitters that do not wait for light.

#include "testbed.h"

enum weft_lab_fault_kind {
    WEFT_LAB_FAULT_LINK,   // the cable of one port of a server
    WEFT_LAB_FAULT_SERVER, // all cables of a server
    WEFT_LAB_FAULT_OCS,    // all cables of an optical switch
};
struct weft_lab_fault {
    enum weft_lab_fault_kind kind;
    uint32_t server; // LINK, SERVER
    uint32_t port;   // LINK; OCS: the switch
};

// CLOCK_MONOTONIC before the first cable failed (or was mended) and after the last.
struct weft_lab_fault_times {
    uint64_t begun_ns;
    uint64_t ended_ns;
    uint32_t cable_count;
};

// A gray failure: from now on what comes to `node` (a server, or behind the servers a switch that
// forwards by routes) by its port is lost with this probability, 0 to 1, packet by packet; 0 ends
// it, and counts go on until the lab goes. The other direction of the cable is the far port's.
// Fails with UNSUPPORTED without eBPF, with INPUT where there is no such port.
bool weft_lab_lose(const struct weft_lab *lab, uint32_t node, uint32_t port, double probability,
                   struct weft_error *error) WEFT_MUST_USE;
// What came there and was lost since; all 0 where nothing was to be lost.
bool weft_lab_losses(struct classes_loss *loss, const struct weft_lab *lab, uint32_t node,
                     uint32_t port, struct weft_error *error) WEFT_MUST_USE;
// The same by a session of the node's.
bool weft_lab_losses_of(struct classes_loss *loss, struct weft_netlink *netlink, uint32_t port,
                        struct weft_error *error) WEFT_MUST_USE;

struct weft_lab_loss {
    uint32_t node;
    uint32_t port;
    double probability;
};
// "3:1:0.01", "3:1:1%": server, port, probability; "w0:2:1%": of a switch; `mend`: "3:1". INPUT.
bool weft_lab_loss_parse(struct weft_lab_loss *loss, const char *which, bool mend,
                         const struct weft_lab *lab, struct weft_error *error) WEFT_MUST_USE;

// "link" with "3:1" (server and port), "server" with "3", "ocs" with "2". INPUT.
bool weft_lab_fault_parse(struct weft_lab_fault *fault, const char *kind, const char *which,
                          const struct weft_lab *lab, struct weft_error *error) WEFT_MUST_USE;
bool weft_lab_fail(struct weft_lab_fault_times *times, const struct weft_lab *lab,
                   const struct weft_lab_fault *fault, struct weft_error *error) WEFT_MUST_USE;
// Returns when the ports have their carrier again, which the kernel notices up to a second later.
bool weft_lab_mend(struct weft_lab_fault_times *times, const struct weft_lab *lab,
                   const struct weft_lab_fault *fault, struct weft_error *error) WEFT_MUST_USE;

#endif
