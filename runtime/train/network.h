// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_TRAIN_NETWORK_H
#define WEFT_RUNTIME_TRAIN_NETWORK_H

// The network of a training run: a leaf-spine of workers and of hosts for other traffic, and where
// each stands. Every leaf has about as many workers as any other, neighbors next to each other, as
// a scheduler would place them; hosts fill up what is left, leaf by leaf in turn, so that what goes
// from one host to the next passes a spine.

#include "runtime/testbed/testbed.h"

struct lab_train_network {
    struct weft_lab_wiring wiring;
    uint32_t worker_count, host_count;
    const uint32_t *workers; // the server of each
    const uint32_t *hosts;
    uint32_t leaf_count, spine_count;
    struct weft_lab_cable gray; // from a leaf with a worker, nodes[0], to a spine
};

#define LAB_TRAIN_FABRIC "leaf-spine"

// A leaf has radix / 2 servers. Fails with INPUT, as weft_lab_wire_fabric does.
bool lab_train_network_build(struct lab_train_network *network, uint32_t worker_count,
                             uint32_t host_count, uint32_t radix, struct weft_arena *arena,
                             struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// What ports counted since the lab was raised: bytes with all headers but those of Ethernet.
struct lab_train_ports {
    uint64_t worker_bytes; // sent by workers' ports
    uint64_t worker_packets;
    uint64_t dropped; // packets at full queues of all ports, servers' and switches'
};
bool lab_train_ports_count(struct lab_train_ports *ports, const struct lab_train_network *network,
                           const struct weft_lab *lab, struct weft_error *error) WEFT_MUST_USE;

#endif
