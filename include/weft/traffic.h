// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TRAFFIC_H
#define WEFT_TRAFFIC_H

// Traffic: what a task graph asks of the network. Groups of collectives are mutable (any ring over
// the members will do); the transfer matrix is not.
//
//   taskgraph ──► [traffic] ──► topology, plan (bounds), report (heat map)

#include "weft/base.h"
#include "weft/taskgraph.h"

struct weft_traffic_group {
    uint32_t member_count;
    const uint32_t *members; // ascending
    double size_bytes; // of the AllReduce that would put as much on a ring as the group's tasks
    uint32_t task_count;
    double wire_bytes; // 2 (k-1) size_bytes: what all members send together
};

struct weft_traffic {
    uint32_t server_count;
    // Groups with the same set of members are one group here; groups of one member move nothing and
    // are left out. Falling wire_bytes, ties by members.
    uint32_t group_count;
    const struct weft_traffic_group *groups;
    const uint32_t *group_of; // task graph's group index -> group here, WEFT_NONE for one member
    const double *transfer_bytes; // n*n, row = sender; the diagonal is 0
    double transfer_total_bytes;
    double allreduce_wire_bytes;  // of all groups
    double allreduce_share_ratio; // of wire bytes; 0 when there is no traffic
};

// Extracts the traffic of a task graph. O(tasks + n^2 + total members).
void weft_traffic_build(struct weft_traffic *traffic, const struct weft_taskgraph *graph,
                        struct weft_arena *arena, struct weft_arena scratch);
// The whole wire matrix: transfers plus each group's ring neighbors in ascending order; n*n.
double *weft_traffic_matrix(const struct weft_traffic *traffic, struct weft_arena *arena);

#endif
