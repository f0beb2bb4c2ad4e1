// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_MLT_ALLREDUCE_H
#define WEFT_RUNTIME_MLT_ALLREDUCE_H

// All-reduce of gradients over UDP, of which a bounded share may be lost on the way to the sum.
//
//   vector of each rank ──reduce half: within the bound──► sums ──gather half: whole──► all ranks
//
// Each rank is one end of the state machines of weft/mlt.h, one for every transfer of a chunk from
// a rank to another. The vector is cut into segments, tensor by tensor; segment s of S is summed at
// rank floor(s n / S). Sums are lost in no place, so that all ranks end with the same bits.
//
// What the caller sees of it:
//   - A step is an epoch of the machines. A rank may be one step ahead of another.
//   - A rank answers its peers only inside of the functions below: while it waits for anything else
//     (the coordinator's word), it does so in lab_mlt_wait. A peer that misses an answer of a rank
//     that computes gets it when the rank comes back.
//   - A peer that is silent for timeout_ms while something is due of it is an error that names it.

#include "runtime/process/coordinator.h"
#include "weft/mlt.h"

enum lab_mlt_pattern {
    LAB_MLT_PS,   // sharded parameter servers: each rank sends each other one its chunk
    LAB_MLT_RING, // n - 1 hops, each of which adds its own
};

struct lab_mlt_options {
    enum lab_mlt_pattern pattern;
    uint32_t tensor_count;
    // [tensor_count + 1]: where each begins in the vector, in floats; ends with the vector's size.
    // Tensors are not empty. Layers are their indices.
    const uint32_t *first;
    uint32_t segment_floats; // 256
    // The share of others' contributions that may be missing, of each tensor's and of all that a
    // rank receives in a step; 0: all must come. Hops of a ring get less each, so that it holds for
    // the sum (lab_mlt_transfer_bound).
    double bound;
    // The share of one tensor; 0: as `bound`. A larger one leaves it to the step's budget, which is
    // `bound` of all, of which tensors the missing bytes are.
    double tensor_bound;
    double unimportant; // share of segments, those of least norm, that ports may drop first
    bool rescales;   // sums over the contributions that came, times the ranks; else what lacks is 0
    uint32_t paths;  // source ports that packets are spread over, for ECMP to hash; 0 = 1
    double rate_Bps; // of the rank's port: what all that it sends may take at most
    uint32_t timeout_ms;       // patience
    const uint32_t *addresses; // of ranks, in host order; NULL = loopback
};

struct lab_mlt_class_counts {
    uint64_t packets;
    uint64_t bytes; // of UDP's payloads
};

// Since lab_mlt_open, of this rank.
struct lab_mlt_counts {
    uint64_t steps;
    // Sent. DATA by class and whether it was sent before; the rest is control.
    struct lab_mlt_class_counts important;
    struct lab_mlt_class_counts unimportant;
    struct lab_mlt_class_counts resent; // of both classes, and not in theirs
    struct lab_mlt_class_counts control;
    uint64_t kinds[WEFT_MLT_KINDS];       // messages by kind, of which STOPs, PROBEs
    uint64_t received_packets;            // DATA, new or not
    uint64_t marked_packets;              // of these, with a congestion mark
    uint64_t verdicts[WEFT_MLT_VERDICTS]; // of messages that came: duplicates, late, stale, ...
    uint64_t drops[WEFT_MLT_DROPS];       // datagrams that are no message: forged, ...
    // Floats that others were to add to the sums that this rank made, and those that came.
    // came / due over all ranks is the delivered ratio.
    uint64_t contributions_due;
    uint64_t contributions_came;
    // The least of a tensor: of one rank's part of it (PS), of all that was summed (ring).
    double delivered_min_ratio;
    uint64_t cpu_ns; // of this process inside of lab_mlt_allreduce
    uint64_t sends;  // calls of the system
    uint64_t receives;
    uint64_t waits;
};

// Adds those of another rank; delivered_min_ratio becomes the least, of counts that are not zero.
void lab_mlt_counts_add(struct lab_mlt_counts *sum, const struct lab_mlt_counts *counts);

struct lab_mlt;

// Opens sockets, tells the coordinator where they are and hears where the others are: on its side
// that is lab_connections_introduce. Options are copied. Fails with IO, and with INPUT where
// segments are too long for a datagram.
bool lab_mlt_open(struct lab_mlt **mlt, struct lab_peer *self,
                  const struct lab_mlt_options *options, struct weft_error *error) WEFT_MUST_USE;
// One step: `vector`, which begins as this rank's gradient, becomes the sum. All ranks call it as
// often. Fails with IO, naming a peer, where nothing moves for timeout_ms.
bool lab_mlt_allreduce(struct lab_mlt *mlt, float *vector, struct weft_error *error) WEFT_MUST_USE;
// Answers peers until `descriptor` can be read; -1: what has come alone.
bool lab_mlt_wait(struct lab_mlt *mlt, int descriptor, struct weft_error *error) WEFT_MUST_USE;
const struct lab_mlt_counts *lab_mlt_counts(const struct lab_mlt *mlt);
// To be called when all ranks have said that they are through, since nobody answers from then on.
void lab_mlt_close(struct lab_mlt *mlt);

#endif
