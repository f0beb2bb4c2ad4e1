// SPDX-License-Identifier: Apache-2.0
// Gradients summed by a collective's schedule over TCP: everybody to everybody (each worker is the
// parameter server of a part) or a ring.
//
// Parts are not of one length, as the slots of a schedule are, so that they are copied into slots
// and back: some hundred microseconds for a million floats.

#include "reduce.h"

#include <string.h>
#include <sys/resource.h>

static double cpu_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void divide(struct lab_train_reduce *reduce, const struct weft_train_segments *segments,
                   struct weft_arena *arena)
{
    uint32_t n = reduce->self->count;
    reduce->part = WEFT_NEW(arena, uint32_t, (size_t)n + 1);
    for (uint32_t p = 0; p <= n; p++) {
        // The first segment s with s n / S >= p.
        uint64_t s = ((uint64_t)p * segments->count + n - 1) / n;
        reduce->part[p] = segments->first[s];
    }
}

static bool open_tcp(struct lab_train_reduce *reduce,
                     const struct lab_train_reduce_setting *setting, struct weft_arena *arena,
                     struct weft_arena scratch, struct weft_error *error)
{
    uint32_t n = reduce->self->count;
    enum weft_algorithm algorithm = setting->options->collective == LAB_TRAIN_RING
                                        ? WEFT_ALGORITHM_RING
                                        : WEFT_ALGORITHM_DIRECT;
    const struct weft_algorithm_options options = {.kind = WEFT_COLLECTIVE_ALLREDUCE,
                                                   .rank_count = n};
    const struct lab_connection_options connections = {.congestion = setting->congestion,
                                                       .own_ip = setting->address};
    if (!weft_algorithm_build(&reduce->schedule, algorithm, &options, arena, scratch, error) ||
        !lab_streams_of(&reduce->streams, &reduce->schedule, 1, arena, scratch, error)) {
        return false;
    }
    WEFT_ASSERT(reduce->schedule.slot_count == n && reduce->schedule.output_first == 0);
    for (uint32_t p = 0; p < n; p++) {
        size_t floats = reduce->part[p + 1] - reduce->part[p];
        reduce->slot_floats = floats > reduce->slot_floats ? floats : reduce->slot_floats;
    }
    reduce->slots = WEFT_NEW(arena, float, reduce->slot_floats *n);
    lab_ops_build(&reduce->ops, &reduce->schedule, reduce->self->rank, &reduce->streams, arena,
                  scratch);
    const struct lab_exec_options exec = {
        .type = LAB_FLOAT32, .slot_elements = reduce->slot_floats, .slot_count = n, .lanes = 1};
    if (!lab_connections_open(&reduce->connections, reduce->self, reduce->streams.list,
                              reduce->streams.count, &connections, error)) {
        return false;
    }
    return lab_exec_open(&reduce->exec, reduce->self, &reduce->connections, &reduce->ops, &exec,
                         error);
}

bool lab_train_reduce_open(struct lab_train_reduce *reduce, struct lab_peer *self,
                           const struct lab_train_reduce_setting *setting, struct weft_arena *arena,
                           struct weft_arena scratch, struct weft_error *error)
{
    *reduce = (struct lab_train_reduce){.options = setting->options, .self = self};
    divide(reduce, setting->segments, arena);
    return open_tcp(reduce, setting, arena, scratch, error);
}

static bool sum_tcp(struct lab_train_reduce *reduce, float *vector, struct weft_error *error)
{
    for (int back = 0; back < 2; back++) {
        for (uint32_t p = 0; p < reduce->self->count; p++) {
            float *part = vector + reduce->part[p], *slot = reduce->slots + reduce->slot_floats * p;
            size_t bytes = (reduce->part[p + 1] - reduce->part[p]) * sizeof *part;
            memcpy(back ? part : slot, back ? slot : part, bytes);
        }
        if (!back && !lab_exec_run(reduce->exec, reduce->slots, error)) {
            return false;
        }
    }
    return true;
}

bool lab_train_reduce_sum(struct lab_train_reduce *reduce, float *vector, struct weft_error *error)
{
    double before_s = cpu_s();
    bool fine = sum_tcp(reduce, vector, error);
    reduce->cpu_s += cpu_s() - before_s;
    return fine;
}

bool lab_train_reduce_wait(struct lab_train_reduce *reduce, struct weft_error *error)
{
    (void)reduce; // the kernel answers for TCP
    (void)error;
    return true;
}

void lab_train_reduce_count(struct lab_train_sums *sums, const struct lab_train_reduce *reduce)
{
    struct lab_tcp_counts tcp;
    lab_connections_counts(&tcp, &reduce->connections, reduce->self->rank);
    *sums = (struct lab_train_sums){
        .counts = {.sent_bytes = lab_exec_counts(reduce->exec)->sent_bytes,
                   .resends = tcp.retransmits,
                   .ecn_marks = tcp.ecn_marks,
                   .cpu_s = reduce->cpu_s},
        .delivered_min_ratio = 1,
    };
}

void lab_train_reduce_close(struct lab_train_reduce *reduce)
{
    if (reduce->exec != NULL) {
        lab_exec_close(reduce->exec);
    }
    lab_connections_close(&reduce->connections);
}
