// SPDX-License-Identifier: Apache-2.0
// Parallel work whose outcome does not depend on the number of threads.
//
// Workers draw the indices of the work one after the other from a shared counter. Each piece writes
// to its own slot, and callers combine the slots by index, never by the order in which pieces end;
// so the result has the same bytes for one thread and for sixty-four, also where the system refuses
// some of the threads. A worker that gets no memory ends the whole: the others stop drawing, and
// the caller's thread unwinds with that worker's error once all have been joined. Cost: one thread
// and one arena for each worker and call, about 30 us; pieces should take longer than that.

#include "weft/base.h"

#include <pthread.h>

#define THREADS_MAX 64

struct pool {
    void (*work)(void *context, uint32_t index, struct weft_arena scratch);
    void *context;
    uint32_t count;
    atomic_uint next; // the index that is drawn next
};

struct worker {
    struct pool *pool;
    struct weft_arena scratch;
    pthread_t thread;
    bool failed;
    struct weft_error error; // only if it failed
};

static bool draw_pieces(void *context)
{
    struct worker *worker = context;
    struct pool *pool = worker->pool;
    for (;;) {
        uint32_t index = atomic_fetch_add(&pool->next, 1);
        if (index >= pool->count) {
            return true;
        }
        pool->work(pool->context, index, worker->scratch);
    }
}

static void *run_worker(void *context)
{
    struct worker *worker = context;
    if (!weft_guard(draw_pieces, worker, &worker->error)) {
        worker->failed = true;
        // The others end with the piece that they are at.
        atomic_store(&worker->pool->next, worker->pool->count);
    }
    return NULL;
}

// Starts up to `wanted` workers beside the caller's thread. Where the system refuses memory or a
// thread, those that are there do all the work.
static uint32_t start_helpers(struct worker *helpers, uint32_t wanted, struct pool *pool)
{
    uint32_t count = 0;
    struct weft_error ignored;
    while (count < wanted) {
        struct worker *helper = &helpers[count];
        *helper = (struct worker){.pool = pool};
        if (!weft_arena_init(&helper->scratch, 0, &ignored)) {
            break;
        }
        if (pthread_create(&helper->thread, NULL, run_worker, helper) != 0) {
            weft_arena_release(&helper->scratch);
            break;
        }
        count++;
    }
    return count;
}

void weft_parallel_for(uint32_t count, uint32_t threads,
                       void (*work)(void *context, uint32_t index, struct weft_arena scratch),
                       void *context)
{
    struct pool pool = {.work = work, .context = context, .count = count};
    atomic_init(&pool.next, 0);
    struct worker self = {.pool = &pool};
    if (!weft_arena_init(&self.scratch, 0, &self.error)) {
        weft_raise(&self.error);
    }
    struct worker helpers[THREADS_MAX];
    uint32_t wanted = threads < count ? threads : count;
    wanted = wanted > THREADS_MAX ? THREADS_MAX : wanted;
    uint32_t helper_count = start_helpers(helpers, wanted > 0 ? wanted - 1 : 0, &pool);
    run_worker(&self);
    weft_arena_release(&self.scratch);
    struct worker *failed = self.failed ? &self : NULL;
    for (uint32_t i = 0; i < helper_count; i++) {
        pthread_join(helpers[i].thread, NULL);
        weft_arena_release(&helpers[i].scratch);
        failed = failed == NULL && helpers[i].failed ? &helpers[i] : failed;
    }
    if (failed != NULL) {
        weft_raise(&failed->error);
    }
}
