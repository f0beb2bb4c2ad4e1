// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_DCTCP_H
#define WEFT_SIM_DCTCP_H

// Packets under DCTCP (Alizadeh et al., SIGCOMM 2010) instead of a fluid: windows, queues and marks
// on the classes of a wire. docs/flow-engine.md, "Transport", has the equations and what is left
// out.
//
// A packet is one event a link. It enters the link's queue when it comes, and because queues serve
// first come, first served and never lose, its departure is known then; whether it was marked is
// told when it has arrived, from the packets that had come before it left.

#include "weft/sim.h"
#include "wire.h"

struct weft_dctcp_packet {
    double entered_ps; // the queue
    double leaves_ps;
    double bytes;
    uint32_t flow;
    uint32_t hop : 31;
    uint32_t is_marked : 1;
};

// A link: packets in the queue and on the way, in order of arrival.
struct weft_dctcp_link {
    struct weft_dctcp_packet *packets; // a ring of a power of two
    uint32_t room;
    uint32_t first;
    uint32_t count;
    uint32_t entered_count; // from the first: those that had come before the first left
    double entered_bytes;   // of these
    double free_ps;         // when the last one leaves
    double ps_per_byte;
    double latency_ps;
    bool can_mark; // a switch's port; the queue in a server is its own and marks nothing
};

struct weft_dctcp_flow {
    double window_packets;
    double marked_ratio; // alpha
    double turn_packets; // window at the last cut: its packets make one turn
    uint32_t turn_seen;
    uint32_t turn_marked;
    uint32_t owner;
    uint32_t class_id;
    uint64_t sent;
    uint64_t arrived;
    uint64_t total;
    double last_bytes; // of the last packet
    bool is_open;
};

struct weft_dctcp_entry {
    double time_ps;
    uint64_t order;
    uint32_t link;
};

struct weft_dctcp {
    const struct weft_sim_options *options;
    struct weft_dctcp_link *links;
    struct weft_dctcp_flow *flows;
    uint32_t *free_flows;
    uint32_t free_count;
    uint32_t flow_count; // slots ever used
    uint32_t flow_capacity;
    struct weft_dctcp_entry *heap; // links by the arrival of their first packet
    uint32_t heap_count;
    uint64_t order;
    uint64_t event_count;
    struct weft_arena *arena;
};

// Room for flow_capacity flows at once. `wire` below has the classes, the present instant and the
// bytes of links. `arena` must live as long: queues grow in it.
void weft_dctcp_init(struct weft_dctcp *dctcp, const struct weft_fabric *fabric,
                     const struct weft_sim_options *options, uint32_t flow_capacity,
                     struct weft_arena *arena);
// A message of wire_bytes > 0, headers included, asks for its connection now.
void weft_dctcp_start(struct weft_dctcp *dctcp, struct weft_wire *wire, uint32_t class_id,
                      double wire_bytes, uint32_t owner);
// When the next packet arrives somewhere, INFINITY if none is on its way. O(1).
double weft_dctcp_next_ps(const struct weft_dctcp *dctcp);
// Moves to that instant and lets the packet arrive. True if it was the last of its message.
// O(log links), and O(window) at a sender whose window opens.
bool weft_dctcp_step(struct weft_dctcp *dctcp, struct weft_wire *wire, struct weft_wire_end *end);

#endif
