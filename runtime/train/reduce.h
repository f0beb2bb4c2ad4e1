// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_TRAIN_REDUCE_H
#define WEFT_RUNTIME_TRAIN_REDUCE_H

// The sum of all workers' gradients over the network, by whichever transport.
//
//   gradient of each worker ──► [reduce] = schedule over TCP, or MLT ──► the sum, everywhere
//
// The vector is divided into parts of whole segments, segment s of S in part floor(s n / S), which
// the worker of that number sums: by parameter servers and by a ring alike.

#include "run.h"

#include "runtime/collective/exec.h"
#include "runtime/mlt/allreduce.h"

// What a worker sent for sums since it began, and what came for those that it made.
struct lab_train_sums {
    struct lab_train_counts counts;
    uint64_t contributions_due, contributions_came; // of others, by segment
    double delivered_min_ratio;                     // of a tensor from one worker; 1 = all came
};

struct lab_train_reduce {
    const struct lab_train_options *options;
    struct lab_peer *self;
    uint32_t *part;         // [workers + 1]: where parts begin in the vector
    double cpu_s;           // of this process in sums
    uint32_t segment_bytes; // of TCP: what a full packet carries
    struct lab_mlt *mlt;    // NULL: TCP
    // TCP. A slot has room for the longest part.
    struct weft_schedule schedule;
    struct lab_stream_set streams;
    struct lab_ops ops;
    struct lab_connections connections;
    struct lab_exec *exec;
    float *slots;
    size_t slot_floats;
};

// Connects all workers; the coordinator's side is lab_connections_introduce. `congestion` is TCP's.
// Everything stays where it is until lab_train_reduce_close.
struct lab_train_reduce_setting {
    const struct lab_train_options *options;
    const struct weft_train_segments *segments;
    const char *congestion;
    const uint32_t *addresses; // of all workers
    const struct weft_lab *lab;
};
bool lab_train_reduce_open(struct lab_train_reduce *reduce, struct lab_peer *self,
                           const struct lab_train_reduce_setting *setting, struct weft_arena *arena,
                           struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// `vector` becomes the sum. Fails with IO, naming a peer.
bool lab_train_reduce_sum(struct lab_train_reduce *reduce, float *vector, struct weft_error *error)
    WEFT_MUST_USE;
// Returns when the coordinator says something, and answers other workers until then.
bool lab_train_reduce_wait(struct lab_train_reduce *reduce, struct weft_error *error) WEFT_MUST_USE;
void lab_train_reduce_count(struct lab_train_sums *sums, const struct lab_train_reduce *reduce);
void lab_train_reduce_close(struct lab_train_reduce *reduce);

#endif
