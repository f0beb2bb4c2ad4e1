// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_BPF_MARK_H
#define WEFT_BPF_MARK_H

// The classifier that marks packets (ECN) before a long queue, for kernels without RED.
//
// It stands on what leaves a link (weft_filter_bpf), which holds it until the link goes. Whoever
// attaches it has a session of netlink anyway, so the loader gives a file descriptor and attaches
// nothing.

#include "weft/base.h"

struct weft_marker {
    void *object;
    int program_fd; // -1 = none
    int marks;      // BPF map
    uint32_t id;    // of the map: by it other processes read what was marked
};

// Marks packets that find `packets` others in the queue of the link. One program serves many links;
// its counts are of all of them. Fails with UNSUPPORTED where the kernel refuses it (before 6.2).
bool weft_marker_load(struct weft_marker *marker, uint32_t packets, struct weft_error *error)
    WEFT_MUST_USE;
// [0] the threshold, [1] packets marked, [2] seen, [3] the longest queue. False when they are gone.
bool weft_marker_counts(uint64_t counts[4], const struct weft_marker *marker);
// [1] of the map that has this id. Fails with IO when it is gone.
bool weft_marker_total(uint64_t *marked, uint32_t id, struct weft_error *error) WEFT_MUST_USE;
// Links keep what stands on them.
void weft_marker_close(struct weft_marker *marker);

#endif
