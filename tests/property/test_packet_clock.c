// SPDX-License-Identifier: Apache-2.0
// The packet engine's clock against a sorted list: random events near, far and at one instant; now
// and then all are taken out and filed again, by a clock that goes on or one that goes back.
//
// Mutations that made this test fail (each was run): a bucket's chunks not reversed; an unstable
// merge; far events filed after the coarse ones of their round; a round left one bucket early;
// drained coarse events before the far ones; a clock that goes back and keeps its round.

#include "sim/packet/engine/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define NODES 512u
#define STEPS 60000u
#define SEEDS 24u

struct expected {
    uint64_t time_ps;
    uint64_t order;
    uint32_t id;
};

static struct weft_arena arena_kept;

static int set_up(void **state)
{
    (void)state;
    struct weft_error error;
    return weft_arena_init(&arena_kept, 0, &error) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    weft_arena_release(&arena_kept);
    return 0;
}

// How far ahead: at once, in the bucket, in the turn, in the coarse wheel, beyond it.
static uint64_t random_delay(struct weft_rng *rng, unsigned shift)
{
    unsigned bits[] = {0, shift, shift + 6, shift + CLOCK_FINE_BITS + 4,
                       shift + CLOCK_FINE_BITS + CLOCK_COARSE_BITS + 3};
    unsigned most = bits[weft_rng_below(rng, 5)];
    return weft_rng_next(rng) & (((uint64_t)1 << most) - 1);
}

static size_t first_of(const struct expected *pending, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
        if (pending[i].time_ps < pending[best].time_ps ||
            (pending[i].time_ps == pending[best].time_ps &&
             pending[i].order < pending[best].order)) {
            best = i;
        }
    }
    return best;
}

// Takes all events out and files them again; half the time the clock goes back before.
static void drain(struct packet_clock *clock, struct weft_rng *rng, size_t count,
                  struct weft_arena scratch)
{
    struct clock_due *events;
    assert_int_equal(clock_drain(clock, &events, &scratch), count);
    if (weft_rng_below(rng, 2) == 0) {
        uint64_t back_ps = random_delay(rng, clock->shift);
        clock_rewind(clock, back_ps < clock->now_ps ? clock->now_ps - back_ps : 0);
    }
    for (size_t i = 0; i < count; i++) {
        clock_file(clock, events[i].id, events[i].time_ps);
    }
}

static void play(uint64_t seed)
{
    struct weft_arena arena = arena_kept;
    struct weft_arena beside = weft_arena_split(&arena);
    struct weft_rng rng;
    weft_rng_init(&rng, seed);
    struct packet_clock clock;
    clock_init(&clock, (uint64_t)1 << weft_rng_below(&rng, 12), &arena);
    struct expected *pending = WEFT_NEW(&arena, struct expected, NODES);
    size_t count = 0;
    uint64_t order = 0;
    uint32_t free_ids[NODES];
    for (uint32_t i = 0; i < NODES; i++) {
        free_ids[i] = i;
    }
    bool filling = true;
    uint64_t meeting_ps = 0;
    uint32_t most = 1 + weft_rng_below(&rng, NODES);
    for (uint32_t step = 0; step < STEPS; step++) {
        if (weft_rng_below(&rng, 1024) == 0) {
            drain(&clock, &rng, count, beside);
            meeting_ps = 0;
        }
        filling = count == 0 || (filling && count < most) ||
                  (count < most && weft_rng_below(&rng, 64) == 0);
        if (filling) {
            uint32_t id = free_ids[NODES - 1 - count];
            uint64_t time_ps = clock.now_ps + random_delay(&rng, clock.shift);
            // Many at one instant, which must keep their order.
            meeting_ps = time_ps > meeting_ps && meeting_ps < clock.now_ps ? time_ps : meeting_ps;
            if (meeting_ps >= clock.now_ps && weft_rng_below(&rng, 2) == 0) {
                time_ps = meeting_ps;
            }
            pending[count++] = (struct expected){time_ps, order++, id};
            clock_file(&clock, (uint32_t)1 << CLOCK_KIND_SHIFT | id, time_ps);
            continue;
        }
        size_t first = first_of(pending, count);
        uint64_t time_ps = pending[first].time_ps;
        if (time_ps > clock.now_ps && weft_rng_below(&rng, 8) == 0) {
            // Time may also be moved from outside, up to the next event.
            uint64_t until_ps = clock.now_ps + (time_ps - clock.now_ps) / 2;
            if (until_ps < time_ps && clock_take(&clock, until_ps) != WEFT_NONE) {
                fail_msg("seed %llu step %u: an event came early", (unsigned long long)seed, step);
            }
            clock.now_ps = until_ps;
            continue;
        }
        uint32_t got = clock_take(&clock, UINT64_MAX);
        if (got != ((uint32_t)1 << CLOCK_KIND_SHIFT | pending[first].id) ||
            clock.now_ps != time_ps) {
            fail_msg("seed %llu step %u: event %u at %llu, expected %u at %llu",
                     (unsigned long long)seed, step, got & CLOCK_INDEX_MASK,
                     (unsigned long long)clock.now_ps, pending[first].id,
                     (unsigned long long)time_ps);
        }
        free_ids[NODES - count] = pending[first].id;
        pending[first] = pending[--count];
    }
}

static void events_come_in_order_of_time_and_filing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play(seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_in_order_of_time_and_filing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
