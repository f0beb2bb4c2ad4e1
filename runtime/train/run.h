// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_TRAIN_RUN_H
#define WEFT_RUNTIME_TRAIN_RUN_H

// Training by processes over a lab's network: data-parallel workers, a process in a server of its
// own each, that compute the gradients of their shares of a batch, sum them over the network and
// take the same step of descent.
//
//   images + lab ──► [run] = workers (train + all-reduce) beside trouble ──► accuracy over seconds
//
// Every worker holds the whole net. All hold the same bits after every step, whatever was lost on
// the way, which is checked whenever the net is tested. A test is no training: its time does not
// count.

#include "network.h"
#include "trouble.h"

#include "weft/train.h"

enum lab_train_transport {
    LAB_TRAIN_RENO,
    LAB_TRAIN_CUBIC,
    LAB_TRAIN_DCTCP,
    LAB_TRAIN_MLTCP,
    LAB_TRAIN_MLT,
    LAB_TRAIN_TRANSPORTS,
};
extern const char *const lab_train_transport_names[LAB_TRAIN_TRANSPORTS + 1]; // ends with NULL

enum lab_train_collective {
    LAB_TRAIN_PS,   // parameter servers: each rank sums a part of the vector, for all
    LAB_TRAIN_RING, // reduce-scatter and all-gather around a ring
    LAB_TRAIN_COLLECTIVES,
};
extern const char *const lab_train_collective_names[LAB_TRAIN_COLLECTIVES + 1];

// Of MLT, as in runtime/mlt/allreduce.h.
struct lab_train_mlt_options {
    double bound;       // share of a gradient that may be missing
    double unimportant; // share of packets that ports drop before a long queue
    bool rescales;
    uint32_t paths;
};

struct lab_train_options {
    const struct weft_images *images;
    const struct weft_train_split *split;
    const char *net; // as weft_train_net_build reads it
    uint32_t batch;  // images of a step, of all workers together; at least one each
    uint32_t epochs;
    uint32_t steps_max;  // of an epoch; 0 = as many as there are whole batches
    uint32_t test_every; // steps; 0 = at the end of each epoch alone
    double rate, momentum;
    uint64_t seed;
    enum lab_train_transport transport;
    enum lab_train_collective collective;
    uint32_t segment_floats; // of a packet; parts of the vector consist of whole segments
    struct lab_train_mlt_options mlt;
    struct lab_train_trouble_options trouble;
    uint32_t timeout_ms;
    weft_stop stop;
    struct weft_tally *tally; // steps; NULL
};

// What was sent for sums, by all workers together.
struct lab_train_counts {
    // Gradients and sums, sent for the first time: those that ports may drop, and all others. Of
    // MLT with its own heads, of TCP without.
    uint64_t important_bytes, unimportant_bytes;
    uint64_t resent_bytes; // of TCP as if all that was sent again were full packets
    uint64_t control_bytes;
    uint64_t resends; // packets sent again
    uint64_t ecn_marks;
    double cpu_s; // of the processes while they summed, the kernel's work for them included
};

// Workers are not in step to the millisecond: a step ends with its last
// worker, and the next one begins there, or after a test with the first worker that begins. What
// is counted for a step is what its workers sent until they had its sum.
struct lab_train_step {
    double seconds;
    double exchange_s; // from the last gradient that is ready to the last sum
    struct lab_train_counts counts;
};

struct lab_train_times { // of some steps
    double median_s;
    double p99_s;
};

struct lab_train_epoch {
    double accuracy;
    double loss;    // mean of its images before the step that they are part of, in nats
    double seconds; // of training since the beginning
    struct lab_train_times step;
    struct lab_train_times exchange;
    struct lab_train_counts counts;
};

struct lab_train_test {
    uint32_t steps; // done
    double seconds; // of training
    double accuracy;
};

struct lab_train_result {
    uint32_t epoch_count;
    const struct lab_train_epoch *epochs;
    struct lab_train_epoch whole; // the run: its end, and all of its steps
    uint32_t test_count;
    const struct lab_train_test *tests;
    uint32_t step_count;
    const struct lab_train_step *steps;
    uint32_t number_count;      // of the net
    uint64_t hash;              // of the net at the end, the same for all workers
    double delivered_ratio;     // contributions that are in sums, of all
    double delivered_min_ratio; // of the tensor and step with the least
    struct lab_train_trouble_result trouble;
    struct lab_train_ports ports;
};

// How many layers of the net have numbers. Fails with INPUT where the net does not fit the images.
bool lab_train_layers(uint32_t *layer_count, const struct lab_train_options *options,
                      struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// Runs in a lab that is up, wired as `network` says. Fails as lab_train_layers
// does, with IO where a worker fails, dies or has another net than the others; no process is
// left then.
bool lab_train_run(struct lab_train_result *result, const struct lab_train_options *options,
                   const struct lab_train_network *network, const struct weft_lab *lab,
                   struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;

#endif
