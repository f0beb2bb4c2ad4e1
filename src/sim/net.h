// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_NET_H
#define WEFT_SIM_NET_H

// How a message gets onto the network, the same for jobs and lists of flows: which paths it takes,
// by the routes of its pair or by circuits that change, and what carries it there, active flows of
// the flow engine or packets. A caller opens the paths of a pair, starts messages on them and
// closes them; a path stays as long as somebody holds it or a message is on it.

#include "sim/circuit/circuits.h"
#include "sim/flow/path_classes.h"

// Fails with INPUT when a header leaves no room in its packet, a transport is asked of the flow
// engine, or the packet engine cannot play the options.
bool weft_simnet_check_options(const struct weft_sim_options *options, struct weft_error *error)
    WEFT_MUST_USE;
void weft_simnet_init(struct weft_simnet *net, const struct weft_fabric *fabric,
                      const struct weft_routes *routes, const struct weft_sim_options *options,
                      const struct weft_active_room *room, struct weft_arena *arena);
// The same for a flow engine whose classes stand for many flows each, on links that are joined with
// their equals: these are their capacities. `net` has its fabric, routes and options.
void weft_simnet_init_joined(struct weft_simnet *net, const double *capacity_Bps,
                             uint32_t link_count, const struct weft_active_room *room,
                             struct weft_arena *arena);
// How many paths a transfer of this pair takes (weft_routes_part_count). 0: no route.
uint32_t weft_simnet_path_count(const struct weft_simnet *net, uint32_t from, uint32_t to);
// Holds the index-th (< path_count) of them. `hash` chooses the path under PICK and NICS.
struct weft_simnet_path weft_simnet_open_path(struct weft_simnet *net, uint32_t from, uint32_t to,
                                              uint32_t index, uint64_t hash, uint32_t job);
// Lets go of it.
void weft_simnet_close_path(struct weft_simnet *net, struct weft_simnet_path path);
// What a message of no bytes takes.
double weft_simnet_empty_ps(const struct weft_simnet *net, struct weft_simnet_path path);
// A message of a job begins now, on the transport of the options.
void weft_simnet_start(struct weft_simnet *net, uint32_t class_id, double wire_bytes,
                       uint32_t owner, uint32_t job);
#endif
