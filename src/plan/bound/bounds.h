// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_BOUND_BOUNDS_H
#define WEFT_PLAN_BOUND_BOUNDS_H

// What the certificate's bounds share: earliest starts, least remaining times, and the relaxation
// to one machine. Private to the plan room; docs/certificate.md has the proofs.
//
// A machine is scheduling theory's: whatever does one thing at a time, or shares itself without
// doing more (a device, a server's ports one way, all links at prices). Every bound is a set of
// tasks on one machine: none starts before its head, their bodies take it one after the other, and
// their tails must pass after it.
//
//   certificate.c ─► machine.c, moore.c, links.c ─► times.c ─► closure.c

#include "weft/plan.h"

// What the network is assumed to be able to do at best.
struct bound_model {
    const struct weft_taskgraph *graph;
    double port_Bps;  // d * B: what one server can send, and receive
    double latency_s; // of the one link that every byte crosses at least
    bool network;     // false: transfers and collectives take no time at all
    bool balanced;    // members of collectives move what a ring would, after what servers do
                      // inside; else any algorithm, which may do both at once
};

// Least bytes that server `from` of a transfer, or each member of a collective, must send, or
// `to`, or each member, receive. 0 for other tasks and for what stays inside one server.
double bound_port_bytes(const struct bound_model *model, uint32_t task, bool receive);
// Least bytes that all servers together must send for this task.
double bound_wire_bytes(const struct weft_taskgraph *graph, uint32_t task);

// Per task: no schedule on any fabric starts it before head_s, or ends the iteration less than
// tail_s after it ends.
struct bound_times {
    const double *head_s;
    const double *tail_s;
    double longest_s; // the longest head + duration + tail
};
// Longest paths, in which the transfers that meet at one port, and the compute tasks that meet on
// one device, are taken one after the other. Temporaries stay in `arena` too. O(edges log edges).
struct bound_times bound_times_build(const struct bound_model *model, struct weft_arena *arena);
// From when a collective or transfer may use the network: its head, plus, where collectives are
// balanced, what it does inside the servers first.
double bound_network_head(const struct bound_model *model, const struct bound_times *times,
                          uint32_t task);

// One machine, preemption allowed: every item becomes available at head_s, needs body_s of the
// machine, and tail_s must pass after it. Returns the least end, which is max over subsets of
// min head + sum body + min tail. Jackson's preemptive schedule (Carlier, "The one-machine
// sequencing problem", EJOR 1982). Orders `items`. O(n log n).
struct bound_item {
    double head_s;
    double body_s;
    double tail_s;
};
double bound_one_machine(struct bound_item *items, uint32_t count, struct weft_arena scratch);

// The port that takes longest: seconds, and which server's.
struct bound_port {
    double seconds;
    uint32_t server;
    double bytes;
};
struct bound_port bound_ports(const struct bound_model *model, const struct bound_times *times,
                              bool receive, struct weft_arena scratch);
// The device that takes longest.
struct bound_port bound_devices(const struct bound_model *model, const struct bound_times *times,
                                struct weft_arena scratch);
// All servers' ports together as one machine.
double bound_total_bytes(const struct bound_model *model, const struct bound_times *times,
                         uint32_t server_count, struct weft_arena scratch);
// Moore: a server has at most d others at one hop, d^2 at two, ..., so that the bytes of the
// transfers times the least hops they can have must fit n * d * B.
double bound_moore(const struct bound_model *model, const struct bound_times *times,
                   uint32_t server_count, uint32_t degree, struct weft_arena scratch);

// Every link at a price a byte, as one machine: a transfer costs at least its bytes times its
// cheapest path, a collective what its rings cost. Valid for the network's fabric and rings and any
// prices that are not negative (LP duality). prices[link_count]. O(n (n + m) log n).
double bound_priced_links(const struct bound_model *model, const struct bound_times *times,
                          const struct weft_network *network, const double *prices,
                          struct weft_arena scratch);
// The prices of the concurrent-flow LP, by CLP: least largest link time when the transfers that
// cannot start before head_min_s are routed at will beside the rings. False when there are none or
// CLP does not finish.
bool bound_flow_prices(double *prices, const struct bound_model *model,
                       const struct bound_times *times, const struct weft_network *network,
                       double head_min_s, struct weft_arena scratch);
// Variables of that LP: too many and it is left out.
uint64_t bound_flow_variables(const struct weft_network *network);

#endif
