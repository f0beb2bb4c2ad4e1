// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_BPF_CONTENTION_INTERNAL_H
#define WEFT_BPF_CONTENTION_INTERNAL_H

// What the processes of a contention experiment share: the network they are in, and a block of
// shared memory in which they meet, begin together and leave their times. Everything in that block
// is written by one process only, or atomic.

#include "bpf/mark/mark.h"
#include "contention.h"

#include <stdatomic.h>
#include <sys/types.h>

enum {
    CONTENTION_PORT = 5001,
    CONTENTION_ETHERNET_BYTES = 14,
    CONTENTION_HEADER_BYTES = 52, // IPv4 20, TCP 20, timestamps 12
    CONTENTION_START_NS = 200000000,
};

// In memory that all processes of the run share.
struct contention_shared {
    _Atomic uint64_t start_ns;    // when iterations begin; 0 = not yet
    _Atomic uint32_t ready;       // senders that are connected
    _Atomic uint32_t done;        // senders that have sent all; they stay connected
    _Atomic uint32_t unscheduled; // processes without real-time priority
    _Atomic uint64_t late_ns;     // the latest waking
    _Atomic uint32_t trouble;     // 1 = `error` is filled
    struct weft_error error;      // the first one's
    struct weft_contention_result result;
    struct weft_contention_job jobs[WEFT_CONTENTION_JOBS_MAX];
    char congestion[MLTCP_NAME_BYTES];
    double iterations_s[];
};

// Addresses: 10.87.0.1 receives, 10.87.1.(1 + job) send.
uint32_t contention_address(uint32_t job);
#define CONTENTION_RECEIVER WEFT_NONE

// Namespaces, links, the shaper and the marker; entered by name, which only this run sees.
struct contention_network {
    struct weft_marker marker;
    uint32_t bottleneck; // interface in the bridge's namespace
};
const char *contention_netns(char name[32], uint32_t job);
bool contention_network_build(struct contention_network *network,
                              const struct weft_contention_options *options,
                              struct weft_error *error) WEFT_MUST_USE;
bool contention_network_count(struct weft_contention_result *result,
                              const struct contention_network *network,
                              const struct weft_contention_options *options,
                              struct weft_error *error) WEFT_MUST_USE;

// One process each: they return on failure only, and else end with the run.
bool contention_receive(const struct weft_contention_options *options,
                        struct contention_shared *shared, struct weft_error *error) WEFT_MUST_USE;
bool contention_send(uint32_t job, const struct weft_contention_options *options,
                     struct contention_shared *shared, struct weft_error *error) WEFT_MUST_USE;

#endif
