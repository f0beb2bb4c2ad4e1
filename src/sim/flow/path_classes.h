// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_FLOW_PATH_CLASSES_H
#define WEFT_SIM_FLOW_PATH_CLASSES_H

// The active flows over a fabric: paths become their classes, each with the time that a packet
// needs besides its transmission at the slowest link. What stands between the engines and those who
// send messages (../net.h) is one struct, since messages of one run share all of it: routes,
// classes and shares of the flow engine, and where packets are played, the packet engine.

#include "shares.h"
#include "sim/packet/engine/engine.h"

struct sim_circuits;
struct packet_partitions;

struct weft_simnet {
    struct weft_active_flows active;
    struct sim_shares shares;
    const struct weft_fabric *fabric;
    const struct weft_routes *routes;
    const struct weft_sim_options *options;
    struct weft_path_delay *delays; // per class
    uint32_t *links;                // room for one path
    uint32_t *joined;               // of classes on joined links: room for one path
    uint32_t *back;                 // with WEFT_ENGINE_PACKET: room for one path
    struct packet_engine packets;
    struct packet_partitions *partitions; // that play the packets; NULL: the engine does
    struct sim_circuits *circuits;        // NULL: the fabric's links stay as they are
};

// One of the paths that a transfer takes.
struct weft_simnet_path {
    uint32_t class_id; // with circuits that change: a part of a pair (sim/circuit)
    double share_ratio;
};

// Holds the class of these links, for flows of a job (lists of flows: 0). O(hops).
uint32_t weft_simnet_open(struct weft_simnet *net, const uint32_t *links, uint32_t hop_count,
                          uint32_t job);
// The same for flows of a job on links that are joined with their equals (../flows_fold.c):
// joined[link] is what each is part of.
uint32_t weft_simnet_open_joined(struct weft_simnet *net, const uint32_t *links, uint32_t hop_count,
                                 const uint32_t *joined, uint32_t job);
// Bytes that a message puts on each link of its path, headers included.
double weft_simnet_wire_bytes(const struct weft_simnet *net, double size_bytes);
// From the instant when the last byte of a flow leaves the slowest link until the transfer counts
// as done.
double weft_simnet_latency_ps(const struct weft_simnet *net, uint32_t class_id, double wire_bytes);

// The same of any path.
double weft_simnet_delay_ps(const struct weft_simnet *net, const struct weft_path_delay *delay,
                            double wire_bytes);

// Whether the options ask for the packet engine.
static inline bool weft_simnet_is_packet(const struct weft_simnet *net)
{
    return net->options->engine == WEFT_ENGINE_PACKET;
}

// From the end that the transport reports until the transfer counts as done.
double weft_simnet_tail_ps(const struct weft_simnet *net, uint32_t class_id, double wire_bytes);

// Fails with INPUT when `end_ps` is beyond what simulated time can hold.
bool weft_simnet_round_ps(uint64_t *time_ps, double end_ps, struct weft_error *error) WEFT_MUST_USE;

#endif
