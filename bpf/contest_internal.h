// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_BPF_CONTEST_INTERNAL_H
#define WEFT_BPF_CONTEST_INTERNAL_H

// What the processes of a contest share.

#include "contest.h"
#include "mark.h"

#include <stdatomic.h>
#include <sys/types.h>

enum {
    CONTEST_PORT = 5001,
    CONTEST_ETHERNET_BYTES = 14,
    CONTEST_HEADER_BYTES = 52, // IPv4 20, TCP 20, timestamps 12
    CONTEST_START_NS = 200000000,
};

// In memory that all processes of the run share.
struct contest_board {
    _Atomic uint64_t start_ns;    // when iterations begin; 0 = not yet
    _Atomic uint32_t ready;       // senders that are connected
    _Atomic uint32_t done;        // senders that have sent all; they stay connected
    _Atomic uint32_t unscheduled; // processes without real-time priority
    _Atomic uint64_t late_ns;     // the latest waking
    _Atomic uint32_t trouble;     // 1 = `error` is filled
    struct weft_error error;      // the first one's
    struct weft_contest_result result;
    struct weft_contest_job jobs[WEFT_CONTEST_JOBS_MAX];
    char congestion[MLTCP_NAME_BYTES];
    double iterations_s[];
};

// Addresses: 10.87.0.1 receives, 10.87.1.(1 + job) send.
uint32_t contest_address(uint32_t job);
#define CONTEST_RECEIVER WEFT_NONE

// Namespaces, links, the shaper and the marker; entered by name, which only this run sees.
struct contest_stage {
    struct weft_marker marker;
    uint32_t bottleneck; // interface in the bridge's namespace
};
const char *contest_netns(char name[32], uint32_t job);
bool contest_build(struct contest_stage *stage, const struct weft_contest_options *options,
                   struct weft_error *error) WEFT_MUST_USE;
bool contest_count(struct weft_contest_result *result, const struct contest_stage *stage,
                   const struct weft_contest_options *options, struct weft_error *error)
    WEFT_MUST_USE;

// One process each: they return on failure only, and else end with the run.
bool contest_receive(const struct weft_contest_options *options, struct contest_board *board,
                     struct weft_error *error) WEFT_MUST_USE;
bool contest_send(uint32_t job, const struct weft_contest_options *options,
                  struct contest_board *board, struct weft_error *error) WEFT_MUST_USE;

#endif
