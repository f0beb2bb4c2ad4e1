// SPDX-License-Identifier: Apache-2.0
// Synthesised schedules on random fabrics: executed by the checker, replayed link by link against
// the model of time, never below a bound, the same for the same seed.

#include "weft/collective.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <string.h>

struct state {
    struct weft_arena arena;
    struct weft_arena scratch;
};

// What a try was, for the message of a failure.
static uint64_t seed_now;
#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fail_msg("seed %llu: %s", (unsigned long long)seed_now, #condition);                   \
        }                                                                                          \
    } while (0)

// ---- the replay ----

struct replay {
    const struct weft_fabric *fabric;
    const struct weft_schedule *schedule;
    bool holds;
    uint64_t chunk_bytes;
    uint64_t *free_ps;    // of each link
    uint64_t *arrived_ps; // [rank][slot]: the last that arrived there
    uint64_t last_ps;
};

// The links of a transfer: one between neighbors, two through the switch of a star, else none to
// be told apart.
static uint32_t links_of(uint32_t *links, const struct weft_fabric *fabric, uint32_t from,
                         uint32_t to)
{
    links[0] = weft_fabric_find_link(fabric, from, to);
    if (links[0] != WEFT_NONE) {
        return 1;
    }
    uint32_t hub = fabric->server_count;
    links[0] = weft_fabric_find_link(fabric, from, hub);
    links[1] = weft_fabric_find_link(fabric, hub, to);
    HOLDS(links[0] != WEFT_NONE && links[1] != WEFT_NONE);
    return 2;
}

static void replay_transfer(struct replay *replay, uint64_t start_ps, uint32_t from, uint32_t to,
                            uint32_t from_slot, uint32_t to_slot)
{
    uint32_t slots = replay->schedule->slot_count;
    uint64_t *source_ps = &replay->arrived_ps[(size_t)from * slots + from_slot];
    uint64_t *target_ps = &replay->arrived_ps[(size_t)to * slots + to_slot];
    HOLDS(start_ps >= *source_ps);
    if (from == to) {
        return;
    }
    uint32_t links[2];
    uint32_t count = links_of(links, replay->fabric, from, to);
    double rate_Bps = replay->fabric->links[links[0]].rate_Bps;
    uint64_t latency_ps = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_link *link = &replay->fabric->links[links[i]];
        rate_Bps = link->rate_Bps < rate_Bps ? link->rate_Bps : rate_Bps;
        latency_ps += link->latency_ps;
    }
    uint64_t send_ps = weft_picoseconds((double)replay->chunk_bytes / rate_Bps);
    uint64_t before_ps = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t taken_ps = start_ps + (replay->holds ? 0 : before_ps);
        HOLDS(taken_ps >= replay->free_ps[links[i]]);
        replay->free_ps[links[i]] = taken_ps + send_ps + (replay->holds ? latency_ps : 0);
        before_ps += replay->fabric->links[links[i]].latency_ps;
    }
    uint64_t end_ps = start_ps + send_ps + latency_ps;
    *target_ps = end_ps > *target_ps ? end_ps : *target_ps;
    replay->last_ps = end_ps > replay->last_ps ? end_ps : replay->last_ps;
}

static void replay_schedule(const struct weft_synthesis *made, const struct weft_fabric *fabric,
                            const struct weft_synthesis_options *options, struct weft_arena scratch)
{
    const struct weft_schedule *schedule = &made->schedule;
    struct replay replay = {
        .fabric = fabric,
        .schedule = schedule,
        .holds = options->holds_links,
        .chunk_bytes = (options->size_bytes + schedule->chunk_count - 1) / schedule->chunk_count,
        .free_ps = WEFT_NEW(&scratch, uint64_t, fabric->link_count),
        .arrived_ps =
            WEFT_NEW(&scratch, uint64_t, (size_t)schedule->rank_count * schedule->slot_count),
    };
    for (uint32_t s = 0; s < schedule->step_count; s++) {
        const struct weft_step *step = &schedule->steps[s];
        HOLDS(step->round_count == 1 && step->slot_count == 1 && step->label == WEFT_NONE);
        HOLDS(s == 0 || schedule->start_ps[s - 1] <= schedule->start_ps[s]);
        for (uint32_t i = 0; i < step->item_count; i++) {
            replay_transfer(&replay, schedule->start_ps[s], weft_index_at(&step->from, i, 0),
                            weft_index_at(&step->to, i, 0), weft_index_at(&step->from_slot, i, 0),
                            weft_index_at(&step->to_slot, i, 0));
        }
    }
    HOLDS(replay.last_ps == made->completion_ps);
}

static void synthesise(const struct weft_fabric *fabric,
                       const struct weft_synthesis_options *options, struct weft_arena arena,
                       struct weft_arena scratch)
{
    struct weft_error error;
    struct weft_synthesis made;
    if (!weft_synthesize(&made, fabric, options, &arena, scratch, &error)) {
        fail_msg("seed %llu: %s", (unsigned long long)seed_now, error.message);
    }
    struct weft_schedule_report report;
    if (!weft_schedule_check(&report, &made.schedule, scratch, &error)) {
        fail_msg("seed %llu: %s", (unsigned long long)seed_now, error.message);
    }
    if (!report.valid) {
        fail_msg("seed %llu: %s of %u ranks, round %u: %s", (unsigned long long)seed_now,
                 weft_collective_name(options->kind), fabric->server_count, report.bad_round,
                 report.why);
    }
    HOLDS(made.bound_ps <= made.chunk_bound_ps);
    HOLDS(made.chunk_bound_ps <= made.completion_ps);
    replay_schedule(&made, fabric, options, scratch);
    HOLDS(weft_schedule_try(&made.schedule, 3, seed_now, scratch, &error));
    struct weft_synthesis again;
    HOLDS(weft_synthesize(&again, fabric, options, &arena, scratch, &error));
    HOLDS(again.completion_ps == made.completion_ps &&
          again.schedule.step_count == made.schedule.step_count);
    for (uint32_t s = 0; s < made.schedule.step_count; s++) {
        HOLDS(memcmp(&again.schedule.steps[s], &made.schedule.steps[s], sizeof(struct weft_step)) ==
              0);
    }
}

// ---- fabrics ----

static void random_options(struct weft_synthesis_options *options, struct weft_rng *rng,
                           uint32_t server_count)
{
    *options = (struct weft_synthesis_options){
        .kind = (enum weft_collective_kind)weft_rng_below(rng, WEFT_COLLECTIVE_KIND_COUNT),
        .size_bytes = 1000 + weft_rng_below(rng, 10000000),
        .chunk_factor = weft_rng_below(rng, 4),
        .root = weft_rng_below(rng, server_count),
        .seed = weft_rng_next(rng),
        .tries = weft_rng_below(rng, 3),
        .holds_links = weft_rng_below(rng, 2) == 1,
    };
}

// A ring of random order and some more links, of three rates and any latency.
static void random_links(struct weft_fabric *fabric, struct weft_rng *rng, uint32_t n,
                         struct weft_arena *arena)
{
    static const double rates[] = {1e9, 2.5e9, 12.5e9};
    uint32_t more = weft_rng_below(rng, 3 * n);
    struct weft_link *links = WEFT_NEW(arena, struct weft_link, n + more);
    uint32_t *order = WEFT_NEW(arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        order[i] = i;
    }
    weft_rng_shuffle(rng, order, n);
    for (uint32_t i = 0; i < n + more; i++) {
        uint32_t from = i < n ? order[i] : weft_rng_below(rng, n);
        uint32_t to = i < n ? order[(i + 1) % n] : (from + 1 + weft_rng_below(rng, n - 1)) % n;
        links[i] = (struct weft_link){from, to, rates[weft_rng_below(rng, 3)],
                                      weft_rng_below(rng, 3) * 700000, 1};
    }
    struct weft_error error;
    assert_true(weft_fabric_build(
        fabric, &(struct weft_fabric_links){"random", n, n, links, n + more}, arena, &error));
}

// Jumps that all servers have, of several rates: alike everywhere. The jump 1 connects.
static void random_circulant(struct weft_fabric *fabric, struct weft_rng *rng, uint32_t n,
                             struct weft_arena *arena)
{
    uint32_t jumps = 1 + weft_rng_below(rng, 4);
    struct weft_link *links = WEFT_NEW(arena, struct weft_link, (size_t)n * jumps);
    for (uint32_t j = 0; j < jumps; j++) {
        uint32_t jump = j == 0 ? 1 : 1 + weft_rng_below(rng, n - 1);
        double rate_Bps = 1e9 * (1 + weft_rng_below(rng, 3));
        uint64_t latency_ps = weft_rng_below(rng, 2000000);
        for (uint32_t v = 0; v < n; v++) {
            links[j * n + v] = (struct weft_link){v, (v + jump) % n, rate_Bps, latency_ps, 1};
        }
    }
    struct weft_error error;
    assert_true(weft_fabric_build(
        fabric, &(struct weft_fabric_links){"circulant", n, n, links, n * jumps}, arena, &error));
}

// Tori and meshes with a rate of its own for each side, all pairs, and one switch.
static void random_shape(struct weft_fabric *fabric, struct weft_rng *rng, struct weft_arena *arena,
                         struct weft_arena scratch)
{
    struct weft_shape shape = {.kind = (enum weft_shape_kind)weft_rng_below(rng, 4)};
    bool grid = shape.kind == WEFT_SHAPE_TORUS || shape.kind == WEFT_SHAPE_MESH;
    shape.side_count = grid ? 1 + weft_rng_below(rng, 3) : 1;
    for (uint32_t i = 0; i < shape.side_count; i++) {
        shape.sides[i] = 2 + weft_rng_below(rng, grid ? 3 : 10);
    }
    struct weft_error error;
    assert_true(weft_fabric_build_shape(
        fabric, &shape, 1e9 * (1 + weft_rng_below(rng, 9)), weft_rng_below(rng, 1000000),
        &(struct weft_environment){.arena = arena, .scratch = scratch, .error = &error}));
}

// Seen to fail when: a link falls free at half of its time or at once (start, in group and greedy:
// the bound for whole chunks is undercut); a chunk may go on when its bytes have left, not when it
// is there (greedy, group); runs are turned round without their times; rounds do not end where a
// chunk arrives; cuts count a link twice, or the bytes of the wrong side.
static void schedules_of_random_fabrics_hold(void **state)
{
    struct state *own = *state;
    for (seed_now = 1; seed_now <= 400; seed_now++) {
        struct weft_arena arena = own->arena;
        struct weft_rng rng;
        weft_rng_init(&rng, seed_now);
        struct weft_fabric fabric;
        uint32_t n = 2 + weft_rng_below(&rng, seed_now % 10 == 0 ? 40 : 14);
        if (seed_now % 3 == 0) {
            random_links(&fabric, &rng, n, &arena);
        } else if (seed_now % 3 == 1) {
            random_circulant(&fabric, &rng, n, &arena);
        } else {
            random_shape(&fabric, &rng, &arena, own->scratch);
        }
        struct weft_synthesis_options options;
        random_options(&options, &rng, fabric.server_count);
        synthesise(&fabric, &options, arena, own->scratch);
    }
}

static int set_up(void **state)
{
    static struct state own;
    struct weft_error error;
    *state = &own;
    return weft_arena_init(&own.arena, 0, &error) && weft_arena_init(&own.scratch, 0, &error) ? 0
                                                                                              : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_of_random_fabrics_hold),
    };
    return cmocka_run_group_tests_name("synthesis", tests, set_up, NULL);
}
