// SPDX-License-Identifier: Apache-2.0
// Real-time priority that is bounded (real_time.h).

#include "real_time.h"

#include <errno.h>
#include <unistd.h>

// The signal is the process's and may come to any thread of it.
static void go_back(int signal)
{
    const struct sched_param ordinary = {0};
    int number = errno;
    (void)signal;
    sched_setscheduler(getpid(), SCHED_OTHER, &ordinary);
    errno = number;
}

void lab_real_time_begin(struct lab_real_time *before, int policy, int priority)
{
    const struct sched_param param = {.sched_priority = priority};
    struct sigaction action = {.sa_handler = go_back, .sa_flags = SA_RESTART};
    *before = (struct lab_real_time){.policy = sched_getscheduler(0)};
    if (before->policy < 0 || sched_getparam(0, &before->param) != 0 ||
        getrlimit(RLIMIT_RTTIME, &before->limit) != 0) {
        return;
    }
    const rlim_t most_us = LAB_REAL_TIME_S * 1000000u;
    struct rlimit limit = before->limit;
    limit.rlim_cur = limit.rlim_cur < most_us ? limit.rlim_cur : most_us;
    sigemptyset(&action.sa_mask);
    if (setrlimit(RLIMIT_RTTIME, &limit) != 0) {
        return;
    }
    sigaction(SIGXCPU, &action, &before->action);
    before->raised = sched_setscheduler(0, policy | SCHED_RESET_ON_FORK, &param) == 0;
    if (!before->raised) {
        sigaction(SIGXCPU, &before->action, NULL);
        setrlimit(RLIMIT_RTTIME, &before->limit);
    }
}

bool lab_real_time_end(const struct lab_real_time *before)
{
    if (!before->raised) {
        return false;
    }
    bool lasted = (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) != SCHED_OTHER;
    sched_setscheduler(0, before->policy, &before->param);
    sigaction(SIGXCPU, &before->action, NULL);
    setrlimit(RLIMIT_RTTIME, &before->limit);
    return lasted;
}
