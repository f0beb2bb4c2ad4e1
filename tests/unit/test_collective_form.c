// SPDX-License-Identifier: Apache-2.0
// The form of collectives: names, indices, what is well formed, the walk, the text.
//
// Mutations it failed with: a cursor that does not wrap; an index said to fit by its modulus minus
// two; a walk that forgets steps which began rounds ago; "-t" written for a stride of one.

#include "schedule_cases.h"

static void names_are_found_however_they_are_written(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum weft_collective_kind kind;
    } words[] = {
        {"allreduce", WEFT_COLLECTIVE_ALLREDUCE},
        {"all-reduce", WEFT_COLLECTIVE_ALLREDUCE},
        {"AllReduce", WEFT_COLLECTIVE_ALLREDUCE},
        {"reduce_scatter", WEFT_COLLECTIVE_REDUCE_SCATTER},
        {"ReduceScatter", WEFT_COLLECTIVE_REDUCE_SCATTER},
        {"all-gather", WEFT_COLLECTIVE_ALLGATHER},
        {"reduce", WEFT_COLLECTIVE_REDUCE},
        {"broadcast", WEFT_COLLECTIVE_BROADCAST},
        {"all_to_all", WEFT_COLLECTIVE_ALLTOALL},
        {"", WEFT_COLLECTIVE_KIND_COUNT},
        {"all", WEFT_COLLECTIVE_KIND_COUNT},
        {"reduces", WEFT_COLLECTIVE_KIND_COUNT},
        {"allreducescatter", WEFT_COLLECTIVE_KIND_COUNT},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        assert_int_equal(weft_collective_find(words[i].text), words[i].kind);
    }
    for (uint32_t kind = 0; kind < WEFT_COLLECTIVE_KIND_COUNT; kind++) {
        const char *name = weft_collective_name((enum weft_collective_kind)kind);
        assert_int_equal(weft_collective_find(name), kind);
    }
}

enum { RANKS = 7, SLOTS = 5, STEPS = 6 };

static struct weft_index random_index(struct weft_rng *rng, uint32_t limit)
{
    uint32_t base = weft_rng_below(rng, limit);
    return (struct weft_index){base, weft_rng_below(rng, 20), weft_rng_below(rng, 20),
                               weft_rng_below(rng, 20), 1 + weft_rng_below(rng, limit - base)};
}

// Random steps over 7 ranks and 5 slots; returns their rounds.
static uint32_t random_steps(struct weft_step *steps, struct weft_rng *rng)
{
    uint32_t first = 0;
    uint32_t rounds = 0;
    for (uint32_t s = 0; s < STEPS; s++) {
        first += weft_rng_below(rng, 3);
        steps[s] = (struct weft_step){
            .op = WEFT_STEP_COPY,
            .first_round = first,
            .round_count = 1 + weft_rng_below(rng, 4),
            .item_count = 1 + weft_rng_below(rng, 9),
            .slot_count = 1,
            .label = s % 2 == 0 ? 0 : WEFT_NONE,
            .from = random_index(rng, RANKS),
            .to = random_index(rng, RANKS),
            .from_slot = random_index(rng, SLOTS),
            .to_slot = random_index(rng, SLOTS),
        };
        uint32_t end = first + steps[s].round_count;
        rounds = end > rounds ? end : rounds;
    }
    return rounds;
}

// What item i of a step is in a round.
static struct weft_transfer transfer_at(const struct weft_step *step, uint32_t s, uint32_t i,
                                        uint32_t round, const uint32_t *order)
{
    uint32_t t = round - step->first_round;
    uint32_t from = weft_index_at(&step->from, i, t);
    uint32_t to = weft_index_at(&step->to, i, t);
    return (struct weft_transfer){
        .step = s,
        .item = i,
        .op = step->op,
        .from = step->label == 0 ? order[from] : from,
        .to = step->label == 0 ? order[to] : to,
        .from_slot = weft_index_at(&step->from_slot, i, t),
        .to_slot = weft_index_at(&step->to_slot, i, t),
        .slot_count = 1,
    };
}

static void expect_round(const struct weft_round_walk *walk, const uint32_t *order, uint64_t seed)
{
    uint32_t at = 0;
    for (uint32_t s = 0; s < STEPS; s++) {
        const struct weft_step *step = &walk->schedule->steps[s];
        bool runs =
            walk->round >= step->first_round && walk->round - step->first_round < step->round_count;
        for (uint32_t i = 0; runs && i < step->item_count; i++, at++) {
            struct weft_transfer wanted = transfer_at(step, s, i, walk->round, order);
            if (memcmp(&walk->transfers[at], &wanted, sizeof wanted) != 0) {
                fail_msg("seed %llu: round %u, step %u, item %u", (unsigned long long)seed,
                         walk->round, s, i);
            }
        }
    }
    assert_int_equal(walk->transfer_count, at);
}

static void the_walk_gives_what_the_indices_say(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct weft_rng rng;
        weft_rng_init(&rng, seed);
        uint32_t order[RANKS] = {0, 1, 2, 3, 4, 5, 6};
        weft_rng_shuffle(&rng, order, RANKS);
        const uint32_t *labels[] = {order};
        struct weft_step steps[STEPS];
        uint32_t rounds = random_steps(steps, &rng);
        struct weft_schedule schedule = {
            .name = "random",
            .kind = WEFT_COLLECTIVE_ALLREDUCE,
            .rank_count = RANKS,
            .chunk_count = SLOTS,
            .slot_count = SLOTS,
            .round_count = rounds,
            .step_count = STEPS,
            .steps = steps,
            .label_count = 1,
            .labels = labels,
        };
        if (!weft_schedule_well_formed(&schedule, scratch, &error)) {
            fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
        }
        struct weft_arena local = scratch;
        struct weft_round_walk walk;
        weft_round_walk_begin(&walk, &schedule, &local);
        uint64_t walked = 0;
        while (weft_round_walk_next(&walk)) {
            expect_round(&walk, order, seed);
            walked += walk.transfer_count;
        }
        assert_int_equal(walk.round, rounds - 1);
        assert_int_equal(walked, weft_schedule_transfer_count(&schedule));
    }
}

static void indices_that_leave_their_range_are_refused(void **state)
{
    (void)state;
    static const struct {
        struct weft_index slot;
        uint32_t width;
        bool fits; // 8 slots, 4 items, 3 rounds
    } cases[] = {
        {{0, 0, 1, 1, 8}, 1, true},    {{0, 0, 1, 1, 9}, 1, true},
        {{0, 0, 2, 1, 9}, 1, false},   {{0, 0, 2, 0, 8}, 2, true},
        {{0, 0, 2, 4, 8}, 2, true},    {{0, 1, 2, 4, 8}, 2, false},
        {{0, 0, 4, 4, 8}, 4, true},    {{0, 0, 3, 0, 8}, 2, false},
        {{7, 0, 0, 0, 1}, 1, true},    {{7, 0, 0, 0, 1}, 2, false},
        {{8, 0, 0, 0, 1}, 1, false},   {{4, 3, 7, 7, 4}, 1, true},
        {{4, 3, 7, 7, 5}, 1, false},   {{0, 0, 0, 0, 0}, 1, false},
        {{0, 5, 1, 0, 100}, 1, false}, {{0, 4, 1, 0, 100}, 1, true},
        {{2, 2, 1, 0, 100}, 1, true},  {{UINT32_MAX, 1, 1, 1, 8}, 1, false},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct weft_step step = {
            .op = WEFT_STEP_COPY,
            .round_count = 3,
            .item_count = 4,
            .slot_count = cases[c].width,
            .label = WEFT_NONE,
            .from = weft_index_walk(0, 1, 0, 4),
            .to = weft_index_walk(1, 1, 0, 4),
            .from_slot = weft_index_fixed(0),
            .to_slot = cases[c].slot,
        };
        struct weft_schedule schedule = {
            .name = "one step",
            .kind = WEFT_COLLECTIVE_ALLREDUCE,
            .rank_count = 4,
            .chunk_count = 1,
            .slot_count = 8,
            .round_count = 3,
            .step_count = 1,
            .steps = &step,
        };
        if (weft_schedule_well_formed(&schedule, scratch, &error) != cases[c].fits) {
            fail_msg("case %zu: %s", c, cases[c].fits ? error.message : "is let pass");
        }
    }
}

static void what_is_not_well_formed_says_why(void **state)
{
    (void)state;
    struct weft_schedule ring = ring_by_hand(4);
    struct weft_step steps[2] = {ring.steps[1], ring.steps[0]};
    struct weft_schedule bad = ring;
    bad.steps = steps;
    assert_false(weft_schedule_well_formed(&bad, scratch, &error));
    assert_string_equal(error.message, "schedule 'ring by hand': step 1: it begins before the step "
                                       "in front of it");
    bad = ring;
    bad.round_count = 5;
    assert_false(weft_schedule_well_formed(&bad, scratch, &error));
    assert_string_equal(
        error.message,
        "schedule 'ring by hand': step 1: its rounds go beyond the 5 of the schedule");
    static const uint32_t twice[] = {0, 1, 1, 3};
    const uint32_t *labels[] = {twice};
    bad = ring;
    bad.label_count = 1;
    bad.labels = labels;
    assert_false(weft_schedule_well_formed(&bad, scratch, &error));
    assert_string_equal(error.message,
                        "schedule 'ring by hand': label 0 is no permutation of the ranks");
    bad = ring;
    bad.kind = WEFT_COLLECTIVE_ALLTOALL;
    bad.chunk_count = 3;
    assert_false(weft_schedule_well_formed(&bad, scratch, &error));
    assert_string_equal(error.message,
                        "schedule 'ring by hand': 3 chunks are no multiple of the 4 ranks");
}

static void text_says_a_ring_in_two_lines(void **state)
{
    (void)state;
    struct weft_schedule ring = ring_by_hand(3);
    struct weft_arena local = arena;
    struct weft_text text;
    weft_text_init(&text, &local);
    weft_schedule_write(&text, &ring, true, scratch);
    assert_string_equal(text.data,
                        "ring by hand: allreduce of 3 chunks over 3 ranks\n"
                        "4 rounds, 2 steps, 12 transfers, no rank sends or receives more than 1 a "
                        "round\n"
                        "3 slots a rank: input 0-2, output 0-2, in place\n"
                        "rounds 0-1, t = 0-1: i in 0-2: i -> i+1 mod 3, slot i-t mod 3, reduce\n"
                        "rounds 2-3, t = 0-1: i in 0-2: i -> i+1 mod 3, slot i-t+1 mod 3, copy\n"
                        "round 0\n"
                        "  0 -> 1, slot 0, reduce\n"
                        "  1 -> 2, slot 1, reduce\n"
                        "  2 -> 0, slot 2, reduce\n"
                        "round 1\n"
                        "  0 -> 1, slot 2, reduce\n"
                        "  1 -> 2, slot 0, reduce\n"
                        "  2 -> 0, slot 1, reduce\n"
                        "round 2\n"
                        "  0 -> 1, slot 1, copy\n"
                        "  1 -> 2, slot 2, copy\n"
                        "  2 -> 0, slot 0, copy\n"
                        "round 3\n"
                        "  0 -> 1, slot 0, copy\n"
                        "  1 -> 2, slot 1, copy\n"
                        "  2 -> 0, slot 2, copy\n");
}

static void text_says_every_part_of_a_step(void **state)
{
    (void)state;
    static const uint32_t order[] = {3, 1, 0, 2};
    const uint32_t *labels[] = {order};
    static const uint64_t start_ps = 1500000;
    struct weft_step step = {
        .op = WEFT_STEP_COPY,
        .first_round = 2,
        .round_count = 1,
        .item_count = 2,
        .slot_count = 2,
        .label = 0,
        .channel = 5,
        .from = weft_index_walk(0, 2, 0, 4),
        .to = weft_index_fixed(3),
        .from_slot = {.base = 4, .start = 3, .per_item = 3, .per_round = 1, .modulus = 4},
        .to_slot = {.base = 2, .start = 1, .per_item = 4, .modulus = 100},
    };
    struct weft_schedule schedule = {
        .name = "odd",
        .kind = WEFT_COLLECTIVE_BROADCAST,
        .rank_count = 4,
        .chunk_count = 1,
        .slot_count = 9,
        .output_first = 8,
        .root = 2,
        .round_count = 3,
        .step_count = 1,
        .steps = &step,
        .label_count = 1,
        .labels = labels,
        .start_ps = &start_ps,
    };
    assert_true(weft_schedule_well_formed(&schedule, scratch, &error));
    struct weft_arena local = arena;
    struct weft_text text;
    weft_text_init(&text, &local);
    weft_schedule_write(&text, &schedule, false, scratch);
    assert_string_equal(text.data, "odd: broadcast of 1 chunk over 4 ranks, root 2\n"
                                   "3 rounds, 1 step, 2 transfers\n"
                                   "9 slots a rank: input 0-0, output 8-8\n"
                                   "L0 = 3 1 0 2\n"
                                   "round 2: i in 0-1: L0[2i] -> L0[3], 2 slots from 4+(-i-1 mod "
                                   "4) to 4i+3, copy, channel 5, at 1.5 us\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found_however_they_are_written),
        cmocka_unit_test(the_walk_gives_what_the_indices_say),
        cmocka_unit_test(indices_that_leave_their_range_are_refused),
        cmocka_unit_test(what_is_not_well_formed_says_why),
        cmocka_unit_test(text_says_a_ring_in_two_lines),
        cmocka_unit_test(text_says_every_part_of_a_step),
    };
    return cmocka_run_group_tests(tests, open_arenas, tear_down);
}
