// SPDX-License-Identifier: Apache-2.0
// Ranks of an all-reduce over MLT in one process, over a network that loses, doubles, marks, delays
// and so reorders packets; ranks come late to a step, or are a step ahead. Random worlds by a
// printed seed.
//
// Rank r gives 2^r times a number of the step and the place, so that what a sum holds says who is
// in it. Held after every step: all ranks have the same bits; the summing rank itself is in each
// sum, in a ring those between a missing rank's and it, too; no tensor of a rank lacks more than
// its bound, and no rank more than its budget; counts say what was counted here; rescaled sums are
// multiplied by the ranks over those that are in them. Where all must come, all came. And whatever
// dies or loses everything, nothing hangs: an error names a peer.
//
// Mutations that made this test fail (each was run): a sum rescaled by one rank less, or without
// the own; a hop that does not count itself, adds to a missing segment's rest, or has the bound of
// the whole ring; DATA written that came after STOP; a gather half with a bound; budgets that are
// not asked; one memory for two steps; a chunk that begins a segment early; sends of the gather
// half ended by its own data; a step that is over before its sends are; an instant for the next
// packet that the peer's rate forbids.

#include <setjmp.h> // cmocka needs these four first
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/mlt/engine.h"

#include "../seeds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 5, TENSORS_MAX = 4, STEPS = 4, FLIGHT_MAX = 1 << 14, FLOATS_MAX = 4096 };
enum { WORLDS = 150 };

static const uint64_t tick_ps = WEFT_PS_PER_S / 10000;
static const uint64_t ms_ps = WEFT_PS_PER_S / 1000;

struct flying {
    uint64_t due_ps;
    uint32_t to;
    bool marked;
    uint32_t size;
    uint8_t bytes[1600];
};

enum state { COMPUTES, SUMS, ENDED };
struct member {
    struct lab_peer self;
    struct lab_mlt *mlt;
    enum state state;
    uint64_t begin_ps; // of the next step, where it computes
    uint32_t step;
    float vector[FLOATS_MAX];
    float sums[STEPS][FLOATS_MAX];
    struct weft_error error; // why it ended; code OK: it did not
    uint64_t error_ps;
};

struct world {
    struct weft_rng rng;
    struct lab_mlt_options options;
    uint32_t first[TENSORS_MAX + 1];
    uint32_t ranks;
    double lost, doubled, marked;
    uint64_t delay_ps; // at most
    uint64_t late_ps;  // of a rank, at most
    uint32_t dead;     // the rank that does nothing any more,
    uint64_t dead_ps;  // from then on; WEFT_NEVER
    bool dies_full;    // the dead rank goes when it has all that it is due, and owes some
    struct member members[RANKS_MAX];
    uint32_t flying_count;
    struct flying *flying;
    uint64_t now_ps;
};

static uint32_t floats_of(const struct world *world)
{
    return world->first[world->options.tensor_count];
}

static float unit(uint32_t step, uint32_t i)
{
    return (float)(1 + (7 * step + i) % 5);
}

// ---- the network ----

static void launch(struct world *world, const struct lab_mlt_packet *packet)
{
    uint32_t copies = weft_rng_unit(&world->rng) < world->doubled ? 2 : 1;
    copies = weft_rng_unit(&world->rng) < world->lost ? 0 : copies;
    for (uint32_t i = 0; i < copies && world->flying_count < FLIGHT_MAX; i++) {
        struct flying *flying = &world->flying[world->flying_count++];
        *flying = (struct flying){
            .due_ps =
                world->now_ps + (uint64_t)(weft_rng_unit(&world->rng) * (double)world->delay_ps),
            .to = packet->peer,
            .marked = packet->ecn_capable && weft_rng_unit(&world->rng) < world->marked,
            .size = packet->head_bytes + packet->data_bytes,
        };
        assert_true(flying->size <= sizeof flying->bytes);
        memcpy(flying->bytes, packet->head, packet->head_bytes);
        if (packet->data_bytes > 0) {
            memcpy(flying->bytes + packet->head_bytes, packet->data, packet->data_bytes);
        }
    }
}

static bool lives(const struct world *world, uint32_t rank)
{
    return rank != world->dead || world->now_ps < world->dead_ps;
}

static void deliver(struct world *world)
{
    for (uint32_t i = world->flying_count; i-- > 0;) {
        const struct flying *flying = &world->flying[i];
        const struct member *member = &world->members[flying->to];
        if (flying->due_ps > world->now_ps) {
            continue;
        }
        // A rank that computes finds what came in its socket, later.
        if (member->state == COMPUTES && lives(world, flying->to)) {
            continue;
        }
        if (member->state == SUMS && lives(world, flying->to)) {
            lab_mlt_take(member->mlt, flying->bytes, flying->size, flying->marked, world->now_ps);
        } else if (member->state == ENDED && member->mlt != NULL) {
            lab_mlt_take(member->mlt, flying->bytes, flying->size, flying->marked, world->now_ps);
        }
        world->flying[i] = world->flying[--world->flying_count];
    }
}

// ---- ranks ----

static void begin_step(struct world *world, uint32_t rank)
{
    struct member *member = &world->members[rank];
    for (uint32_t i = 0; i < floats_of(world); i++) {
        member->vector[i] = (float)(1u << rank) * unit(member->step, i);
    }
    member->state = SUMS;
    lab_mlt_begin(member->mlt, member->vector, world->now_ps);
}

static void fail_rank(struct member *member, const struct weft_error *error, uint64_t now_ps)
{
    member->error = *error;
    member->error_ps = now_ps;
    member->state = ENDED;
    lab_mlt_release(member->mlt);
    member->mlt = NULL;
}

// A turn of a rank's loop. Where it has nothing to send now, it must say when it has.
static void turn(struct world *world, uint32_t rank)
{
    struct member *member = &world->members[rank];
    struct weft_error error = {.code = WEFT_OK};
    struct lab_mlt_packet packet;
    if (member->state == COMPUTES && world->now_ps >= member->begin_ps) {
        begin_step(world, rank);
    }
    if (member->state == COMPUTES || member->mlt == NULL) {
        return;
    }
    if (member->state == SUMS) {
        lab_mlt_follow(member->mlt);
    }
    lab_mlt_report(member->mlt, world->now_ps);
    while (lab_mlt_next(&packet, member->mlt, world->now_ps, &error)) {
        launch(world, &packet);
    }
    if (error.code != WEFT_OK ||
        (member->state == SUMS && !lab_mlt_check(member->mlt, world->now_ps, &error))) {
        fail_rank(member, &error, world->now_ps);
        return;
    }
    assert_true(lab_mlt_due_ps(member->mlt, world->now_ps) > world->now_ps);
    if (member->state == SUMS && lab_mlt_is_done(member->mlt)) {
        memcpy(member->sums[member->step], member->vector, floats_of(world) * sizeof(float));
        member->step++;
        member->state = member->step == STEPS ? ENDED : COMPUTES;
        member->begin_ps =
            world->now_ps + (uint64_t)(weft_rng_unit(&world->rng) * (double)world->late_ps);
    }
}

static bool all_ended(const struct world *world)
{
    bool ended = true;
    for (uint32_t r = 0; r < world->ranks; r++) {
        ended = ended && (world->members[r].state == ENDED || !lives(world, r));
    }
    return ended;
}

static bool has_all(const struct member *member)
{
    bool all = member->state == SUMS;
    for (uint32_t i = 0; all && i < member->mlt->incoming_count; i++) {
        all = member->mlt->incoming[i].followed;
    }
    return all;
}

static void open_world(struct world *world)
{
    world->flying = malloc(FLIGHT_MAX * sizeof *world->flying);
    assert_non_null(world->flying);
    for (uint32_t r = 0; r < world->ranks; r++) {
        struct member *member = &world->members[r];
        struct weft_error error;
        member->self = (struct lab_peer){.rank = r, .count = world->ranks, .blamed = WEFT_NONE};
        member->begin_ps = (uint64_t)(weft_rng_unit(&world->rng) * (double)world->late_ps);
        if (!lab_mlt_build(&member->mlt, &member->self, &world->options, 0, &error)) {
            fail_msg("%s", error.message);
        }
    }
}

static void close_world(struct world *world)
{
    for (uint32_t r = 0; r < world->ranks; r++) {
        if (world->members[r].mlt != NULL) {
            lab_mlt_release(world->members[r].mlt);
        }
    }
    free(world->flying);
    free(world);
}

static void play(struct world *world)
{
    const uint64_t end_ps = 600 * WEFT_PS_PER_S;
    open_world(world);
    while (!all_ended(world)) {
        deliver(world);
        for (uint32_t r = 0; r < world->ranks; r++) {
            if (lives(world, r)) {
                turn(world, r);
            }
        }
        if (world->dies_full && has_all(&world->members[world->dead])) {
            world->dead_ps = world->now_ps;
        }
        world->now_ps += tick_ps;
        assert_true(world->now_ps < end_ps); // nothing hangs
    }
}

// ---- what must hold ----

struct tally {
    uint64_t due, came; // of floats
};

// Who is in a sum; the number of a subset of ranks that gives exactly this float.
static uint32_t who_is_in(const struct world *world, float sum, float unit_value, uint32_t owner)
{
    for (uint32_t who = 0; who < 1u << world->ranks; who++) {
        const float scale = world->options.rescales && who != 0
                                ? (float)world->ranks / (float)__builtin_popcount(who)
                                : 1;
        if ((who >> owner & 1) != 0 && scale * ((float)who * unit_value) == sum) {
            return who;
        }
    }
    fail_msg("%f is the sum of no ranks", (double)sum);
    return 0;
}

// In a ring a rank is missing with all before it, from where the chunk begins.
static void check_suffix(const struct world *world, uint32_t who, uint32_t owner)
{
    bool gap = false;
    for (uint32_t back = 0; back < world->ranks; back++) {
        const bool is_in = who >> (owner + world->ranks - back) % world->ranks & 1;
        assert_false(is_in && gap);
        gap = gap || !is_in;
    }
}

static uint32_t segments_of(const struct world *world, uint32_t tensor)
{
    const uint32_t floats = world->first[tensor + 1] - world->first[tensor];
    return (floats + world->options.segment_floats - 1) / world->options.segment_floats;
}

// One step's sums: what each owner's lack, tensor by tensor and by contributor.
static void check_step(const struct world *world, uint32_t step, struct tally *all)
{
    const uint32_t n = world->ranks;
    const bool ring = world->options.pattern == LAB_MLT_RING;
    const double share =
        world->options.tensor_bound > 0 ? world->options.tensor_bound : world->options.bound;
    uint64_t segments = 0;
    uint64_t before = 0;
    static uint64_t due[RANKS_MAX][TENSORS_MAX], missing[RANKS_MAX][TENSORS_MAX][RANKS_MAX];
    memset(due, 0, sizeof due);
    memset(missing, 0, sizeof missing);
    for (uint32_t t = 0; t < world->options.tensor_count; t++) {
        segments += segments_of(world, t);
    }
    for (uint32_t t = 0; t < world->options.tensor_count; t++) {
        for (uint32_t i = world->first[t]; i < world->first[t + 1]; i++) {
            const uint64_t s = before + (i - world->first[t]) / world->options.segment_floats;
            const uint32_t owner = (uint32_t)(s * n / segments);
            const float sum = world->members[0].sums[step][i];
            const uint32_t who = who_is_in(world, sum, unit(step, i), owner);
            due[owner][t]++;
            for (uint32_t r = 0; r < n; r++) {
                assert_memory_equal(&world->members[r].sums[step][i], &sum, sizeof sum);
                missing[owner][t][r] += (who >> r & 1) == 0;
            }
            if (ring) {
                check_suffix(world, who, owner);
            }
        }
        before += segments_of(world, t);
    }
    for (uint32_t owner = 0; owner < n; owner++) {
        uint64_t owner_due = 0;
        uint64_t owner_missing = 0;
        for (uint32_t t = 0; t < world->options.tensor_count; t++) {
            uint64_t of_tensor = 0;
            for (uint32_t r = 0; r < n; r++) {
                // Parameter servers: of each rank's tensor. A ring: of all ranks'.
                assert_true(ring || (double)missing[owner][t][r] <= share * (double)due[owner][t]);
                of_tensor += missing[owner][t][r];
            }
            assert_true((double)of_tensor <= share * (double)(due[owner][t] * (n - 1)));
            owner_due += due[owner][t] * (n - 1);
            owner_missing += of_tensor;
        }
        // A ring's budget is of what a rank receives, which is not what is summed there.
        assert_true(ring || (double)owner_missing <= world->options.bound * (double)owner_due);
        all->due += owner_due;
        all->came += owner_due - owner_missing;
    }
}

static void check_world(const struct world *world)
{
    struct tally all = {0};
    uint64_t due = 0;
    uint64_t came = 0;
    for (uint32_t r = 0; r < world->ranks; r++) {
        const struct member *member = &world->members[r];
        if (member->error.code != WEFT_OK) {
            fail_msg("rank %u: %s", r, member->error.message);
        }
        due += lab_mlt_counts(member->mlt)->contributions_due;
        came += lab_mlt_counts(member->mlt)->contributions_came;
    }
    for (uint32_t step = 0; step < STEPS; step++) {
        check_step(world, step, &all);
    }
    assert_int_equal(due, all.due);
    assert_int_equal(came, all.came);
}

// ---- worlds ----

static struct world *make_world(uint64_t seed)
{
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    weft_rng_init(&world->rng, seed);
    struct weft_rng *rng = &world->rng;
    static const double bounds[] = {0, 0, 0.05, 0.1, 0.3, 0.7};
    world->options = (struct lab_mlt_options){
        .pattern = weft_rng_below(rng, 2) == 0 ? LAB_MLT_PS : LAB_MLT_RING,
        .tensor_count = 1 + weft_rng_below(rng, TENSORS_MAX),
        .first = world->first,
        .segment_floats = 1 + weft_rng_below(rng, 40),
        .bound = bounds[weft_rng_below(rng, 6)],
        .unimportant = 0.25 * weft_rng_below(rng, 4),
        .rescales = weft_rng_below(rng, 2) == 0,
        .rate_Bps = 1e6 * (1 + weft_rng_below(rng, 20)),
        .timeout_ms = 60000,
    };
    if (world->options.bound > 0 && weft_rng_below(rng, 2) == 0) {
        world->options.tensor_bound = fmin(0.9, 2 * world->options.bound);
    }
    for (uint32_t t = 0; t < world->options.tensor_count; t++) {
        world->first[t + 1] =
            world->first[t] + 1 + weft_rng_below(rng, FLOATS_MAX / TENSORS_MAX - 1);
    }
    world->ranks = 2 + weft_rng_below(rng, RANKS_MAX - 1);
    world->lost = weft_rng_below(rng, 3) * 0.15 * weft_rng_unit(rng);
    world->doubled = weft_rng_below(rng, 2) * 0.3;
    world->marked = weft_rng_below(rng, 2) * 0.1;
    world->delay_ps = ms_ps * (1 + weft_rng_below(rng, 8));
    world->late_ps = weft_rng_below(rng, 2) * 30 * ms_ps;
    world->dead = WEFT_NONE;
    world->dead_ps = WEFT_NEVER;
    return world;
}

static void sums_are_of_known_ranks_whatever_the_network_does(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < TEST_SEEDS(WORLDS); seed++) {
        print_message("seed %lu\n", (unsigned long)seed);
        struct world *world = make_world(seed);
        play(world);
        check_world(world);
        close_world(world);
    }
}

// A rank dies somewhere in a step: each other one ends, too, with an error that names a peer.
static void a_dead_rank_is_an_error_and_no_hang(void **state)
{
    (void)state;
    uint32_t dead_count = 0;
    for (uint64_t seed = 0; seed < TEST_SEEDS(WORLDS / 3); seed++) {
        print_message("seed %lu\n", (unsigned long)seed);
        struct world *world = make_world(seed);
        world->options.timeout_ms = 500;
        world->lost = 0;
        world->dead = weft_rng_below(&world->rng, world->ranks);
        world->dead_ps = (uint64_t)(weft_rng_unit(&world->rng) * 20e9);
        world->dies_full = seed % 2 == 0;
        world->dead_ps = world->dies_full ? WEFT_NEVER : world->dead_ps;
        play(world);
        // Who fails first names the dead rank; others may name those that failed.
        const struct member *first = NULL;
        for (uint32_t r = 0; r < world->ranks; r++) {
            const struct member *member = &world->members[r];
            if (member->error.code != WEFT_OK) {
                assert_int_equal(member->error.code, WEFT_IO);
                assert_non_null(strstr(member->error.message, "peer"));
                first = first == NULL || member->error_ps < first->error_ps ? member : first;
            }
        }
        assert_true(first == NULL || first->self.blamed == world->dead);
        assert_true(first == NULL || first->error_ps < world->dead_ps + 800 * ms_ps);
        dead_count += first != NULL;
        close_world(world);
    }
    assert_true(dead_count > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_of_known_ranks_whatever_the_network_does),
        cmocka_unit_test(a_dead_rank_is_an_error_and_no_hang),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
