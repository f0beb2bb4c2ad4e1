// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_HEAL_HOST_PRIVATE_H
#define WEFT_RUNTIME_HEAL_HOST_PRIVATE_H

// What host.c and beats.c share: a host's process at work.

#include "links.h"

#include <poll.h>

// Two of each host to each spare, with what connects anew; a host with more has gone wrong.
enum { LAB_HEAL_LINKS_MAX = 512 };

struct lab_heal_playing {
    const struct lab_heal_job *job;
    uint32_t host;
    int control;
    int watcher; // of carriers, by netlink
    int beats[LAB_HEAL_PLANES_MAX];
    struct lab_heal_member member;
    struct weft_arena scratch; // for a checkpoint
    struct lab_heal_links links;
    struct lab_heal_reader reader;
    uint32_t edges[LAB_HEAL_SIDES]; // links; WEFT_NONE: not yet
    bool hello_due[LAB_HEAL_SIDES]; // to be said on the edge's link
    struct lab_heal_pulse pulses[LAB_HEAL_SIDES];
    bool doubted[LAB_HEAL_SIDES]; // told, whatever the cause
    bool silent[LAB_HEAL_SIDES];  // told for silence, which may be taken back
    bool held[LAB_HEAL_LINKS_MAX];
    uint64_t feeds; // spares that are to get the parameters, by bits
    uint64_t beat_due_ns;
    uint64_t retry_ns; // when the next rank is connected anew
    bool standing_by, standby_told;
    struct pollfd waits[LAB_HEAL_LINKS_MAX + LAB_HEAL_PLANES_MAX + 3];
    struct weft_error *error;
};

// ---- beats.c ----

// Says that the neighbor on that side is lost, or seems so; once until the next RESUME.
void lab_heal_doubt(struct lab_heal_playing *self, uint32_t side, enum lab_heal_cause cause);

bool lab_heal_open_beats(struct lab_heal_playing *self, struct weft_error *error) WEFT_MUST_USE;
void lab_heal_send_beats(struct lab_heal_playing *self);
void lab_heal_hear_beats(struct lab_heal_playing *self, uint64_t now_ns);
// Reads what the kernel says of ports; one of an edge that lost its light is doubted.
void lab_heal_check_carriers(struct lab_heal_playing *self);

#endif
