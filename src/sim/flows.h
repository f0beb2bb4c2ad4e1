// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_FLOWS_H
#define WEFT_SIM_FLOWS_H

// Playing a list of flows. flows.c checks it and plays it over either engine, flows_start.c begins
// one flow on each of its paths, and flows_partitions.c plays the list with packets in several
// partitions of the fabric, on several threads.

#include "sim/packet/partition/partitions.h"
#include "watch.h"

struct flows_player {
    struct weft_simnet net;
    struct sim_watch watch;
    const struct weft_flow_list *flows;
    double *end_ps;                       // per flow: the latest of its paths so far
    uint32_t next;                        // flow to start
    uint64_t event_count;                 // instants played
    struct packet_partitions *partitions; // NULL: one
};

// A flow begins on all its paths; in partitions: in the next window.
void flows_start(struct flows_player *player, uint32_t flow);
// Whether the flows can be played in partitions; if so, how the fabric is divided.
bool flows_divide(struct packet_partitioning *partitioning, const struct flows_player *player,
                  struct weft_arena *arena, struct weft_arena scratch);
// Plays all flows in partitions, and counts of these go to `result`. Fails with UNSUPPORTED when
// the OS has no address space for them.
bool flows_play_partitions(struct flows_player *player, struct packet_partitions *partitions,
                           uint32_t hop_max, struct weft_sim_result *result,
                           struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;

#endif
