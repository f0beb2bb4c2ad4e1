// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_COLLECTIVE_RANKS_H
#define WEFT_RUNTIME_COLLECTIVE_RANKS_H

// Ranks: as many processes as a schedule has ranks, which run it over sockets, time and check it.
//
//   schedule ──► [ranks] = coordinator + peers (connections, exec) ──► times, counts, checked sums

#include "exec.h"
#include "runtime/mlt/allreduce.h"

struct lab_ranks_options {
    uint64_t size_bytes; // of the collective, S
    enum lab_type type;
    uint32_t iterations; // >= 1
    // Every iteration's sums; whole numbers and reals in turn. Where MLT may lose a share, whether
    // all ranks hold the same bits, and at least what the bound says was delivered.
    bool check;
    uint32_t lanes; // connections from a rank to another; 0 = 1
    uint32_t segment_bytes;
    bool round_by_round; // as in exec.h; sets the connections' unsent_bytes
    uint32_t timeout_ms;
    struct lab_connection_options connections;
    // By MLT over UDP instead of the schedule over TCP: an allreduce of float32. Ranks set its
    // tensors, timeout and addresses.
    bool uses_mlt;
    struct lab_mlt_options mlt;
    uint32_t late_rank; // begins late_ns after the others; WEFT_NONE = nobody
    uint64_t late_ns;
    // A fault, for tests: this rank ends itself, or stops and stays, in the middle of iteration
    // fault_iteration. WEFT_NONE = none.
    uint32_t fault_rank;
    uint32_t fault_iteration;
    bool fault_stops;
    // Network namespace of each rank, and its address for peers that no stream names; NULL = the
    // caller's own, 127.0.0.1.
    const char *const *netns;
    const uint32_t *addresses;
    // Addresses of streams: called for each before they are opened; NULL = none.
    void (*address_stream)(void *context, struct lab_stream *stream);
    void *context;
};

// Of one iteration.
struct lab_ranks_time {
    double seconds;      // from the first rank's begin to the last one's end
    double after_late_s; // from the late rank's begin on
    double worst_ratio;  // of rounding errors to their bound; iterations with reals
};

struct lab_ranks_result {
    uint32_t iteration_count;
    struct lab_ranks_time *times;
    struct lab_exec_counts counts; // of all ranks together
    struct lab_tcp_counts tcp;
    struct lab_mlt_counts mlt; // delivered_min_ratio: the least of all
    // Of all ranks that were forked.
    double cpu_s;
    uint64_t preemptions; // a rank had to leave its processor to somebody else
    size_t slot_elements;
};

// What all ranks share; made once, before they begin.
struct lab_ranks {
    const struct weft_schedule *schedule;
    struct lab_ranks_options options;
    size_t slot_elements;
    struct lab_stream_set streams;
    uint32_t tensors[2]; // of MLT: one, of all elements
    struct weft_arena scratch;
};

// Fails with INPUT where the size gives no whole elements, with UNSUPPORTED where memory lacks.
bool lab_ranks_prepare(struct lab_ranks *ranks, const struct weft_schedule *schedule,
                       const struct lab_ranks_options *options, struct weft_arena *arena,
                       struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// A rank's life; context is the struct lab_ranks.
int lab_rank_main(struct lab_peer *self, void *context);
// The coordinator's part with peers that were forked or have come: the result, with its times in
// `arena`. Fails as peers do. Closes the coordinator.
bool lab_ranks_lead(struct lab_ranks_result *result, struct lab_coordinator *coordinator,
                    const struct lab_ranks *ranks, struct weft_arena *arena,
                    struct weft_error *error) WEFT_MUST_USE;
// All of it with forked peers.
bool lab_ranks_run(struct lab_ranks_result *result, const struct weft_schedule *schedule,
                   const struct lab_ranks_options *options, struct weft_arena *arena,
                   struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

#endif
