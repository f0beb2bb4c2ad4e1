// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_HEAL_HOST_H
#define WEFT_RUNTIME_HEAL_HOST_H

// A host's process: plays a member (member.h) over TCP, sends and hears heartbeats, watches the
// light of its ports. One thread, one poll.

#include "network.h"
#include "runtime/heal/core/heartbeat.h"
#include "runtime/heal/core/member.h"

// What all hosts of a job share.
struct lab_heal_job {
    const char *lab;
    uint32_t rank_count, host_count, plane_count;
    uint32_t spare_first, spare_end;
    uint32_t first_plane[LAB_HEAL_RANKS_MAX]; // of each edge, when the job begins
    uint32_t chunk_elements;
    uint64_t compute_ns;
    uint64_t beat_ns; // between two heartbeats
    bool stands_by;   // spares open connections before they are needed
    uint64_t token;
    const char *checkpoint; // its file
};
// Enters the host's namespace and plays it, until it is told to end or the coordinator has gone.
// Returns the exit status of the process.
int lab_heal_host_main(const struct lab_heal_job *job, uint32_t host, int control);

#endif
