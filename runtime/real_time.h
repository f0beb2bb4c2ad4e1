// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_REAL_TIME_H
#define WEFT_RUNTIME_REAL_TIME_H

// Real-time priority for a process that has little to do, and at once. It is bounded: one that runs
// for LAB_REAL_TIME_S without a wait (RLIMIT_RTTIME, SIGXCPU) goes back to the ordinary policy, so
// that a mistake in it takes a processor from nobody for longer. What it forks begins as ordinary.

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>

enum { LAB_REAL_TIME_S = 1 };

// What was before, for lab_real_time_end.
struct lab_real_time {
    bool raised;
    int policy;
    struct sched_param param;
    struct rlimit limit;
    struct sigaction action;
};
// Raises the main thread of this process, which calls it, to SCHED_FIFO or SCHED_RR. Where the
// system refuses it, nothing is changed, and lab_real_time_end tells.
void lab_real_time_begin(struct lab_real_time *before, int policy, int priority);
// Puts back what was. False: the priority was refused, or did not last until now.
bool lab_real_time_end(const struct lab_real_time *before);

#endif
