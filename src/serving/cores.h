// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SERVING_CORES_H
#define WEFT_SERVING_CORES_H

// The cores of a processor: when each is free, and which is next.

#include "weft/base.h"

// Cores side by side that become free at one time, up to the begin of the next run or the last
// core.
struct serving_cores_run {
    uint32_t first;
    uint64_t free_tick;
};
struct serving_cores {
    uint32_t core_count;
    uint32_t next; // the core that gets the next task
    uint32_t run_count, run_max;
    struct serving_cores_run *runs;
    struct serving_cores_run *spare; // as many, for the next state
};

void serving_cores_init(struct serving_cores *cores, uint32_t core_count, struct weft_arena *arena);
// Hands out `task_count` > 0 tasks of `ticks` each, one a core in turn, from `next` on; each begins
// when its core is free, but not before `now`. Returns when the last ends. `now` does not go back
// from call to call. O(runs).
uint64_t serving_cores_take(struct serving_cores *cores, uint64_t now, uint64_t task_count,
                            uint64_t ticks);

#endif
