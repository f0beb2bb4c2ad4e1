// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_TRAIN_RUN_PRIVATE_H
#define WEFT_RUNTIME_TRAIN_RUN_PRIVATE_H

// What the coordinator of a training run and its workers share, for run.c, worker.c and times.c
// alone. The net and its segments are built before the workers are forked, so that all begin with
// the same.

#include "reduce.h"

// A step of one worker.
struct lab_train_instants {
    uint64_t begin_ns;
    uint64_t ready_ns;              // its gradient is
    uint64_t end_ns;                // it has the sum
    struct lab_train_counts counts; // since the run began
};

// What a worker is told to do next.
struct lab_train_order {
    uint32_t first_step; // of the run
    uint32_t end_step;
};

// What it did.
struct lab_train_report {
    uint64_t hash;  // of its net
    double loss;    // sum over its images, since the run began
    uint32_t right; // images of its share of the test
    struct lab_train_sums sums;
};

struct lab_train {
    const struct lab_train_options *options;
    const struct lab_train_network *network;
    const struct weft_lab *lab;
    struct weft_train_net net;
    struct weft_train_segments segments;
    uint32_t epoch_steps;
    uint32_t step_count; // of all epochs
    const char *congestion;
    struct lab_train_trouble trouble;
    // Memory that all processes share: [step * workers + worker].
    struct lab_train_instants *instants;
    struct weft_arena scratch; // of each process by itself, after the fork
};

// A worker's life; the context is the struct lab_train.
int lab_train_worker(struct lab_peer *self, void *context);

// Adds `counts` `sign` times, 1 or -1.
void lab_train_add(struct lab_train_counts *sum, const struct lab_train_counts *counts, int sign);
// Steps [first, end), which all workers have done after one another without a test between them.
void lab_train_list(struct lab_train_step *steps, const struct lab_train *train, uint32_t first,
                    uint32_t end);
void lab_train_time(struct lab_train_epoch *epoch, const struct lab_train_step *steps,
                    uint32_t count, struct weft_arena scratch);
// From the first worker's begin to the last one's end of these steps.
double lab_train_span_s(const struct lab_train *train, uint32_t first, uint32_t end);

#endif
