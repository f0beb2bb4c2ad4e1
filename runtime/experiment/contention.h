// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_BPF_CONTENTION_H
#define WEFT_BPF_CONTENTION_H

// Jobs that contend for one link, on this machine's kernel with real sockets: each computes for a
// time, sends its bytes and waits until the last is acknowledged, again and again.
//
//   sender namespace --veth-- bridge --TBF, marks--> receiver namespace     (one sender a job)
//
// The namespaces are nameless: they, their links and a congestion control loaded for the run end
// with the processes in them, however these end.

#include "bpf/mltcp/cc.h"

enum { WEFT_CONTENTION_JOBS_MAX = 64, WEFT_CONTENTION_FLOWS_MAX = 64 };

struct weft_contention_options {
    uint32_t job_count;
    uint32_t flow_count; // of a job
    double compute_s;
    uint64_t bytes; // of a job's iteration, over all its flows
    double rate_Bps;
    uint32_t mtu_bytes;
    uint32_t queue_packets; // that wait before the link at most
    uint32_t mark_packets;  // a packet that finds as many waiting is marked; 0 = no ECN
    double jitter_s;        // standard deviation of the compute time; within three of them
    uint32_t iterations;
    uint64_t seed;
    bool idle_restart; // tcp_slow_start_after_idle
    bool loads;        // MLTCP or a twin: registered for this run with `parameters`
    struct weft_cc_parameters parameters;
    const char *congestion; // else this one, which the kernel has
};

struct weft_contention_job {
    double mean_s; // of the second half of its iterations
    double longest_s;
    uint64_t retransmits;
    uint64_t ecn_marks;
    uint64_t timeouts;
    uint32_t peak_cwnd;   // segments, of any flow; 0 = not MLTCP
    double learned_bytes; // mean over its flows; 0 = nothing or not MLTCP
};

struct weft_contention_result {
    double ideal_s; // compute and the time that the link takes for the bytes alone
    double mean_s;  // of the second half of all jobs' iterations
    double p99_s;
    uint32_t converged_after;   // iterations; WEFT_NONE = the run ended before
    uint64_t drops;             // at the link's queue
    uint64_t ecn_marks;         // there
    uint64_t longest_queue;     // packets; 0 without marks
    double late_s;              // the latest that a process woke after its time
    bool scheduled;             // senders ran with real-time priority
    const double *iterations_s; // [job * iterations + i]
    const struct weft_contention_job *jobs;
};

// Seconds that the link takes for the bytes of one iteration, with headers.
double weft_contention_alone_s(const struct weft_contention_options *options);
// Fails with INPUT where options contradict each other.
bool weft_contention_check(const struct weft_contention_options *options, struct weft_error *error)
    WEFT_MUST_USE;
// Runs it; takes iterations * (compute + all jobs' sending) at most, in real time.
bool weft_contention_run(struct weft_contention_result *result,
                         const struct weft_contention_options *options, struct weft_arena *arena,
                         struct weft_error *error) WEFT_MUST_USE;
// The mean over the second half of the iterations of all jobs, and the first iteration from which
// on the mean over jobs stays within 5 % of ideal_s.
void weft_contention_score(struct weft_contention_result *result, uint32_t job_count,
                           uint32_t iteration_count, struct weft_arena scratch);

#endif
