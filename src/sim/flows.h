// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_FLOWS_H
#define WEFT_SIM_FLOWS_H

// Playing a list of flows. flows.c checks it and plays it over either engine, flows_start.c begins
// one flow on each of its paths, and flows_partitions.c plays the list with packets in several
// partitions of the fabric, on several threads. flows_fold.c finds flows that are equal for good,
// which flows_folded.c plays as one.

#include "sim/packet/partition/partitions.h"
#include "watch.h"

// Flows on paths that have equal rates for good, and the first of them.
struct flows_class {
    uint32_t flow;
    uint32_t path;  // which of its pair's
    uint32_t count; // of them
};

// The flows of a list in classes, in order of start, on links that are joined to one where they are
// equal.
struct flows_fold {
    struct flows_class *classes;
    uint32_t class_count;
    uint32_t *class_of;   // flows in order, each with its paths in order
    uint32_t *joined;     // per link: what it is joined to
    double *capacity_Bps; // of what links are joined to
    uint32_t joined_count;
    double *link_bytes; // per link
};

struct flows_player {
    struct weft_simnet net;
    struct sim_watch watch;
    const struct weft_flow_list *flows;
    double *end_ps;       // per flow: the latest of its paths so far
    uint32_t next;        // flow to start
    uint64_t event_count; // instants played
    const struct flows_fold
        *fold; // NULL: flows are played one by one; else `flows` are the classes
};

// By which a flow picks its path.
static inline uint64_t flows_hash(const struct flows_player *player, uint32_t flow)
{
    return weft_hash(player->net.options->seed ^ weft_hash(flow));
}

// A flow begins on all its paths.
void flows_start(struct flows_player *player, uint32_t flow);
// Whether the flows can be played in partitions; if so, how the fabric is divided.
bool flows_divide(struct packet_partitioning *partitioning, const struct flows_player *player,
                  struct weft_arena *arena, struct weft_arena scratch);
// Plays all flows in partitions, and counts of these go to `result`. Fails with UNSUPPORTED when
// the OS has no address space for them.
bool flows_play_partitions(struct flows_player *player,
                           const struct packet_partitioning *partitioning,
                           struct weft_sim_result *result, struct weft_arena *arena,
                           struct weft_error *error) WEFT_MUST_USE;

// The flows in classes, if they come down to a quarter of their number at most. Not under a
// controller of circuits or with samples of links, which are of links one by one. `part_count`:
// flows times their paths. O(part_count * hops) for each of a few rounds.
bool flows_fold(struct flows_fold *fold, const struct flows_player *player, uint64_t part_count,
                struct weft_arena *arena, struct weft_arena scratch);
// The player plays the classes from now on, and its `flows` are those.
void flows_take_classes(struct flows_player *player, const struct flows_fold *fold,
                        struct weft_arena *arena);
// When the classes have been played: each flow's end in whole picoseconds, to completion_ps unless
// NULL, the last one and the number of flows to `result`. Fails with INPUT if one is too late.
bool flows_round_classes(struct weft_sim_result *result, uint64_t *completion_ps,
                         const struct flows_player *player, const struct weft_flow_list *flows,
                         struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

#endif
