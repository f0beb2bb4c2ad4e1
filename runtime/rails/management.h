// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_RAILS_MANAGEMENT_H
#define WEFT_RUNTIME_RAILS_MANAGEMENT_H

// The management network of a rail's lab: a bridge with a port of each server, beside the rail.
//
// It carries acknowledgments and whatever may not go over circuits; the controller's messages have
// a cable of their own to each server. A
// server is reached there by its own address, and over the rail by that of its port: a connection
// from the one to the other sends its bytes over the rail and has them acknowledged over the
// management network, since a circuit leads one way. One route decides which way the bytes take.

#include "runtime/testbed/testbed.h"

// Adds it to a lab of optical switches, as the port behind those of each server. The lab's
// namespaces take it away.
bool lab_management_up(const struct weft_lab *lab, struct weft_error *error) WEFT_MUST_USE;
// A TCP listener of the controller on the bridge, and its address.
bool lab_management_listen(int *listener, uint32_t *address, uint16_t *port,
                           const struct weft_lab *lab, struct weft_error *error) WEFT_MUST_USE;
// Out of which port of their own bytes to a server's port go, from the namespace of `netlink`: the
// same one is the rail, the one behind the lab's ports this network.
bool lab_management_route(struct weft_netlink *netlink, uint32_t server, uint32_t port,
                          uint32_t way, struct weft_error *error) WEFT_MUST_USE;

#endif
