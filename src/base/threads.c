// SPDX-License-Identifier: Apache-2.0
// Parallel work whose outcome does not depend on the number of threads.

#include "weft/base.h"

#include <pthread.h>

#define THREADS_MAX 64

struct pool {
    void (*work)(void *context, uint32_t index, struct weft_arena scratch);
    void *context;
    uint32_t count;
    atomic_uint next;
};

static void *run_worker(void *argument)
{
    struct pool *pool = argument;
    struct weft_arena scratch;
    struct weft_error error;
    if (!weft_arena_init(&scratch, 0, &error)) {
        return NULL; // the other workers, and at last the caller, take the work
    }
    for (;;) {
        uint32_t index = atomic_fetch_add(&pool->next, 1);
        if (index >= pool->count) {
            break;
        }
        pool->work(pool->context, index, scratch);
    }
    weft_arena_release(&scratch);
    return NULL;
}

void weft_parallel_for(uint32_t count, uint32_t threads,
                       void (*work)(void *context, uint32_t index, struct weft_arena scratch),
                       void *context)
{
    struct pool pool = {.work = work, .context = context, .count = count};
    atomic_init(&pool.next, 0);
    pthread_t helpers[THREADS_MAX];
    uint32_t helper_count = 0;
    uint32_t wanted = threads < count ? threads : count;
    for (uint32_t i = 1; i < wanted && i <= THREADS_MAX; i++) {
        if (pthread_create(&helpers[helper_count], NULL, run_worker, &pool) == 0) {
            helper_count++;
        }
    }
    run_worker(&pool);
    for (uint32_t i = 0; i < helper_count; i++) {
        pthread_join(helpers[i], NULL);
    }
    WEFT_ASSERT(count == 0 || atomic_load(&pool.next) >= count);
}
