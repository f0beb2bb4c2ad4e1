// SPDX-License-Identifier: Apache-2.0
// The clock by which processes of a run agree on moments: CLOCK_MONOTONIC. O(1).

#include "clock.h"

#include <time.h>

uint64_t lab_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void lab_sleep_until(uint64_t end_ns)
{
    const struct timespec end = {(time_t)(end_ns / 1000000000u), (long)(end_ns % 1000000000u)};
    while (lab_now_ns() < end_ns) {
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
    }
}
