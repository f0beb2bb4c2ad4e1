// SPDX-License-Identifier: Apache-2.0
// Gradients summed by a collective's schedule over TCP, everybody to everybody (each worker is the
// parameter server of a part) or a ring, or by runtime/mlt in the same two patterns.
//
// A ring adds in the order of workers that follow a part's own, so that both transports give the
// same bits where nothing is lost. As parameter servers they do not: TCP's schedule adds the
// nearest worker before first, MLT the lowest number first. Of a schedule parts are not of one
// length, as its slots are, so that they are copied into slots and back: some hundred microseconds
// for a million floats.

#include "reduce.h"

#include <string.h>
#include <sys/resource.h>

#define TCP_HEADERS 52u // IPv4, TCP and its timestamps

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
    const struct lab_connection_options connections = {
        .congestion = setting->congestion, .own_ip = setting->addresses[reduce->self->rank]};
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

static bool open_mlt(struct lab_train_reduce *reduce,
                     const struct lab_train_reduce_setting *setting, struct weft_arena scratch,
                     struct weft_error *error)
{
    const struct lab_train_options *options = setting->options;
    const struct weft_train_segments *segments = setting->segments;
    uint32_t *first = WEFT_NEW(&scratch, uint32_t, (size_t)segments->tensor_count + 1);
    for (uint32_t s = segments->count; s-- > 0;) {
        first[segments->tensor[s]] = segments->first[s]; // of its tensor at last the first
    }
    first[segments->tensor_count] = segments->first[segments->count];
    const struct lab_mlt_options wanted = {
        .pattern = options->collective == LAB_TRAIN_RING ? LAB_MLT_RING : LAB_MLT_PS,
        .tensor_count = segments->tensor_count,
        .first = first,
        .segment_floats = options->segment_floats,
        .bound = options->mlt.bound,
        .unimportant = options->mlt.unimportant,
        .rescales = options->mlt.rescales,
        .paths = options->mlt.paths,
        .rate_Bps = setting->lab->rate_Bps,
        .timeout_ms = options->timeout_ms,
        .addresses = setting->addresses,
    };
    return lab_mlt_open(&reduce->mlt, reduce->self, &wanted, error);
}

bool lab_train_reduce_open(struct lab_train_reduce *reduce, struct lab_peer *self,
                           const struct lab_train_reduce_setting *setting, struct weft_arena *arena,
                           struct weft_arena scratch, struct weft_error *error)
{
    *reduce = (struct lab_train_reduce){
        .options = setting->options,
        .self = self,
        .segment_bytes = setting->lab->mtu_bytes - TCP_HEADERS,
    };
    if (setting->options->transport == LAB_TRAIN_MLT) {
        return open_mlt(reduce, setting, scratch, error);
    }
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
    bool fine = reduce->mlt != NULL ? lab_mlt_allreduce(reduce->mlt, vector, error)
                                    : sum_tcp(reduce, vector, error);
    reduce->cpu_s += cpu_s() - before_s;
    return fine;
}

bool lab_train_reduce_wait(struct lab_train_reduce *reduce, struct weft_error *error)
{
    return reduce->mlt == NULL || lab_mlt_wait(reduce->mlt, reduce->self->control, error);
}

void lab_train_reduce_count(struct lab_train_sums *sums, const struct lab_train_reduce *reduce)
{
    *sums = (struct lab_train_sums){.counts.cpu_s = reduce->cpu_s, .delivered_min_ratio = 1};
    struct lab_train_counts *counts = &sums->counts;
    if (reduce->mlt == NULL) {
        struct lab_tcp_counts tcp;
        lab_connections_counts(&tcp, &reduce->connections, reduce->self->rank);
        counts->important_bytes = lab_exec_counts(reduce->exec)->sent_bytes;
        counts->resends = tcp.retransmits;
        counts->resent_bytes = tcp.retransmits * reduce->segment_bytes;
        counts->ecn_marks = tcp.ecn_marks;
        return;
    }
    const struct lab_mlt_counts *mlt = lab_mlt_counts(reduce->mlt);
    counts->important_bytes = mlt->important.bytes;
    counts->unimportant_bytes = mlt->unimportant.bytes;
    counts->resends = mlt->resent.packets;
    counts->resent_bytes = mlt->resent.bytes;
    counts->control_bytes = mlt->control.bytes;
    counts->ecn_marks = mlt->marked_packets;
    sums->contributions_due = mlt->contributions_due;
    sums->contributions_came = mlt->contributions_came;
    sums->delivered_min_ratio = mlt->delivered_min_ratio;
}

void lab_train_reduce_close(struct lab_train_reduce *reduce)
{
    if (reduce->mlt != NULL) {
        lab_mlt_close(reduce->mlt);
    }
    if (reduce->exec != NULL) {
        lab_exec_close(reduce->exec);
    }
    if (reduce->connections.sockets != NULL) {
        lab_connections_close(&reduce->connections);
    }
}
