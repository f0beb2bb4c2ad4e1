// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_BPF_CLASSES_CLASSES_H
#define WEFT_BPF_CLASSES_CLASSES_H

// Ports that know gradients: strict priority by layer, early drops by importance (MLT, NSDI 2024).
//
//   leaves a port ──► [classifier] ──► HTB: control ► front layers ► ... ► back layers, others
//                      queue, class         a queue each, the more urgent first (weft_qdisc_queues)
//
// The classifier stands on what leaves a link (weft_filter_bpf) and reads the head of MLT's DATA
// (weft/mlt.h) in UDP over IPv4. What a node forwards is dropped or marked before a long queue as
// by RED with one threshold; what it sent itself only finds its queue, since a host's own packets
// wait and hold their socket back. It takes heads at their word, as switches take DSCP.

#include "bpf/classes/classes_types.h"
#include "weft/base.h"

struct weft_classifier {
    void *object;
    int program_fd; // -1 = none
    uint32_t id;    // of the map of counts: by it other processes read them
};

// One program serves many links, and its counts are of all of them. Fails with UNSUPPORTED where
// the kernel refuses it (before 6.2, or another user than root).
bool weft_classifier_load(struct weft_classifier *classifier,
                          const struct classes_settings *settings, struct weft_error *error)
    WEFT_MUST_USE;
// Links keep what stands on them.
void weft_classifier_close(struct weft_classifier *classifier);
// Of the map of this number, [CLASSES_ROWS]. Fails with IO when it is gone.
bool weft_classifier_counts(struct classes_count *counts, uint32_t id, struct weft_error *error)
    WEFT_MUST_USE;

#endif
