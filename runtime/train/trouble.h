// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_TRAIN_TROUBLE_H
#define WEFT_RUNTIME_TRAIN_TROUBLE_H

// Trouble in the network while workers train, the same for every transport of theirs.
//
//   hosts ──► [trouble] ──► ports and links that workers share
//
// INCAST: again and again all hosts send a burst to one worker's server at once, of UDP, which
// gives way to nobody. CROSS: long TCP flows from each host to the next, across the spines. GRAY:
// one link between a leaf and a spine loses packets by chance; hosts are silent.

#include "network.h"
#include "runtime/process/coordinator.h"

enum lab_train_trouble_kind {
    LAB_TRAIN_CALM,
    LAB_TRAIN_INCAST,
    LAB_TRAIN_GRAY,
    LAB_TRAIN_CROSS,
    LAB_TRAIN_TROUBLES,
};
extern const char *const lab_train_trouble_names[LAB_TRAIN_TROUBLES + 1]; // ends with NULL

struct lab_train_trouble_options {
    enum lab_train_trouble_kind kind;
    uint64_t seed;        // of bursts: whom they meet, and when they begin
    uint32_t burst_bytes; // of each host
    uint64_t pause_ns;    // mean time from a burst's begin to the next one's (exponential)
    uint32_t flows;       // from each host to the next
    double loss;          // share of packets, each way
};

struct lab_train_trouble_result {
    uint64_t bursts;
    uint64_t sent_bytes; // payload
    uint64_t received_bytes;
    double seconds;
    // GRAY: what came to each end of the link, the leaf's and the spine's, and was lost there.
    struct classes_loss ends[2];
};

struct lab_train_trouble {
    struct lab_train_trouble_options options;
    const struct lab_train_network *network;
    const struct weft_lab *lab;
    uint32_t target; // worker that bursts meet
    struct lab_stream *streams;
    struct lab_coordinator hosts;
    uint64_t begun_ns;
};

// Forks the hosts' processes and returns when they send; the struct must stay where it is until
// lab_train_trouble_close.
bool lab_train_trouble_begin(struct lab_train_trouble *trouble,
                             const struct lab_train_trouble_options *options,
                             const struct lab_train_network *network, const struct weft_lab *lab,
                             struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// Ends what they send and counts it. Fails where a host failed meanwhile.
bool lab_train_trouble_end(struct lab_train_trouble_result *result,
                           struct lab_train_trouble *trouble, struct weft_arena scratch,
                           struct weft_error *error) WEFT_MUST_USE;
// Also after a failure, or without a begin.
void lab_train_trouble_close(struct lab_train_trouble *trouble);

#endif
