// SPDX-License-Identifier: Apache-2.0
// Tasks of a layer on cores in turn, without looking at each task or core.
//
// Tasks j and j + cores of a layer fall on the same core. So n tasks give every core n / cores of
// them, and the first n % cores from the pointer on one more: a step function of the core. When
// cores are free is a step function, too, whose number of steps stays small, since cores that are
// free before now are as good as free now: time moves on and makes them equal. A layer is one
// pass over the steps.

#include "cores.h"

void serving_cores_init(struct serving_cores *cores, uint32_t core_count, struct weft_arena *arena)
{
    WEFT_ASSERT(core_count > 0);
    // A step for each core at most; arrays grow only as far as steps do not merge.
    *cores = (struct serving_cores){
        .core_count = core_count,
        .run_count = 1,
        .run_max = core_count,
        .runs = WEFT_NEW(arena, struct serving_cores_run, core_count),
        .spare = WEFT_NEW(arena, struct serving_cores_run, core_count),
    };
}

// What one pass hands out: `share` tasks to every core, one more to cores [from, to), or to those
// outside of [to, from) where the range wraps round.
struct handing {
    uint64_t now, share, ticks;
    uint32_t from, to;
    bool wraps;
    uint64_t end;
    uint32_t count; // runs of the new state
};

static bool gets_more(const struct handing *handing, uint32_t core)
{
    bool behind = core >= handing->from;
    bool before = core < handing->to;
    return handing->wraps ? behind || before : behind && before;
}

// Puts cores from `first` on, free at `free_tick` until now, into the new state.
static void put(struct serving_cores *cores, struct handing *handing, uint32_t first,
                uint64_t free_tick)
{
    uint64_t tasks = handing->share + gets_more(handing, first);
    uint64_t free = free_tick > handing->now ? free_tick : handing->now;
    free += tasks * handing->ticks;
    if (tasks > 0 && free > handing->end) {
        handing->end = free;
    }
    if (handing->count > 0 && cores->spare[handing->count - 1].free_tick == free) {
        return;
    }
    cores->spare[handing->count++] = (struct serving_cores_run){first, free};
}

uint64_t serving_cores_take(struct serving_cores *cores, uint64_t now, uint64_t task_count,
                            uint64_t ticks)
{
    WEFT_ASSERT(task_count > 0);
    uint32_t more = (uint32_t)(task_count % cores->core_count);
    uint32_t to = (uint32_t)(((uint64_t)cores->next + more) % cores->core_count);
    struct handing handing = {.now = now,
                              .share = task_count / cores->core_count,
                              .ticks = ticks,
                              .from = cores->next,
                              .to = more == 0 ? cores->next : to,
                              .wraps = more > 0 && to <= cores->next};
    uint32_t low = handing.from < handing.to ? handing.from : handing.to;
    uint32_t high = handing.from < handing.to ? handing.to : handing.from;
    for (uint32_t r = 0; r < cores->run_count; r++) {
        uint32_t first = cores->runs[r].first;
        uint32_t end = r + 1 < cores->run_count ? cores->runs[r + 1].first : cores->core_count;
        uint64_t free_tick = cores->runs[r].free_tick;
        put(cores, &handing, first, free_tick);
        if (first < low && low < end) {
            put(cores, &handing, low, free_tick);
        }
        if (first < high && high < end && high != low) {
            put(cores, &handing, high, free_tick);
        }
    }
    WEFT_ASSERT(handing.count <= cores->run_max);
    struct serving_cores_run *old = cores->runs;
    cores->runs = cores->spare;
    cores->spare = old;
    cores->run_count = handing.count;
    cores->next = to;
    return handing.end;
}
