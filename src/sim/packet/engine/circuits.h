// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_PACKET_ENGINE_CIRCUITS_H
#define WEFT_SIM_PACKET_ENGINE_CIRCUITS_H

// Circuits that change, in the packet engine: packets go from node to node by a table.

#include "weft/fabric.h"

struct packet_engine;

enum packet_circuit_state {
    PACKET_CIRCUIT_OPEN,
    PACKET_CIRCUIT_CLOSED, // takes no packets, since it drains or is dark
    PACKET_CIRCUIT_FRESH,  // the first packet closes it for first_ps
};

struct packet_circuits {
    const struct weft_fabric *fabric;
    const uint32_t *next_link;   // [at * servers + to], of the controller's present answer
    const uint32_t *packet_link; // the same of the packet part, for all nodes; NULL: there is none
    uint8_t *state;              // per link
    uint64_t *opens_ps;          // per link, after the wait of a first packet; else WEFT_NEVER
    uint64_t first_ps;
    uint32_t hop_base;   // hops[hop_base + 2 * link] is the link, WEFT_NONE behind it
    uint32_t *flow_from; // per slot of flows: the servers at its ends
    uint32_t *flow_to;
    bool *by_packets;    // per slot of flows: it takes the packet part
    uint32_t held_first; // packets that wait for a link, in order, by `behind`; each in `link` has
    uint32_t held_last;  // the server where it waits
};

void packet_circuits_init(struct packet_engine *engine, const struct weft_fabric *fabric,
                          const uint32_t *packet_link, struct weft_arena *arena);
// A link takes no more packets; what is in its queue or on it arrives. Returns when the last such
// packet has.
uint64_t packet_circuits_close(struct packet_engine *engine, uint32_t link);
// A link takes packets again, where it was dark after the wait of the first; those that wait for it
// go on when packet_circuits_release says so.
void packet_circuits_open(struct packet_engine *engine, uint32_t link, bool was_dark);
void packet_circuits_release(struct packet_engine *engine);
// The wait of a link's first packet is over, unless the link has closed.
void packet_circuits_event(struct packet_engine *engine, uint32_t link);
// Adds the bytes of open messages that have not come.
void packet_circuits_demand(const struct packet_engine *engine, double *unserved_bytes);

#endif
