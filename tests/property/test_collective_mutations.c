// SPDX-License-Identifier: Apache-2.0
// Every single mutation of a schedule: what the checker says is what real buffers show.
//
// Mutations of the checker it failed with: sums that forget the addends of the source; the end
// looked at for the first rank only; the end that looks at chunks but not at their sets.

#include "../unit/schedule_mutations.h"

#include <stdio.h>
#include <stdlib.h>

struct tally {
    uint64_t caught;     // the checker refuses it and buffers come out wrong
    uint64_t equivalent; // the checker passes it and buffers come out right
    uint64_t unclean;    // the checker refuses it, but what it breaks is read by nobody
};

static void fail_with(const struct weft_schedule *schedule, enum change change, uint32_t s,
                      uint32_t value, const char *says)
{
    struct weft_arena local = scratch;
    struct weft_text text;
    weft_text_init(&text, &local);
    weft_schedule_write(&text, schedule, false, arena);
    fail_msg("%s of step %u, %u: %s\n%s", change_names[change], s, value, says, text.data);
}

static void judge(struct tally *tally, const struct weft_schedule *mutated, enum change change,
                  uint32_t s, uint32_t value)
{
    struct weft_schedule_report report;
    if (!weft_schedule_check(&report, mutated, scratch, &error)) {
        fail_with(mutated, change, s, value, error.message);
    }
    uint64_t words = 2ull * mutated->chunk_count;
    bool right = weft_schedule_try(mutated, words, s * 977ull + value, scratch, &error);
    if (report.valid && !right) {
        fail_with(mutated, change, s, value, error.message);
    }
    bool breaks_a_rule = strstr(report.why, "before it holds anything") != NULL ||
                         strstr(report.why, "in the same round") != NULL;
    if (!report.valid && right && !breaks_a_rule) {
        fail_with(mutated, change, s, value, report.why);
    }
    tally->caught += !report.valid && !right;
    tally->equivalent += report.valid;
    tally->unclean += !report.valid && right;
}

// All single mutations; those that leave a valid schedule go to `equivalent`.
static struct tally mutate_all(const struct weft_schedule *schedule)
{
    struct weft_arena kept = arena;
    struct weft_schedule expanded = expand(schedule);
    struct weft_step *steps = WEFT_NEW(&arena, struct weft_step, expanded.step_count);
    struct tally tally = {0};
    for (uint32_t c = 0; c < CHANGE_COUNT; c++) {
        for (uint32_t s = 0; s < expanded.step_count; s++) {
            uint32_t values = change_values(&expanded, (enum change)c, s);
            for (uint32_t value = 0; value < values; value++) {
                struct weft_schedule mutated;
                if (mutate(&mutated, steps, &expanded, (enum change)c, s, value)) {
                    judge(&tally, &mutated, (enum change)c, s, value);
                }
            }
        }
    }
    arena = kept;
    return tally;
}

// Sets of more than one word: random mutations of larger rings.
static void mutations_of_larger_rings_are_judged_alike(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {33, 64, 65, 130};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct weft_arena kept = arena;
        struct weft_schedule ring = ring_by_hand(sizes[i]);
        struct weft_schedule expanded = expand(&ring);
        struct weft_step *steps = WEFT_NEW(&arena, struct weft_step, expanded.step_count);
        struct weft_rng rng;
        weft_rng_init(&rng, sizes[i]);
        struct tally tally = {0};
        for (uint32_t trial = 0; trial < 30; trial++) {
            enum change change = (enum change)weft_rng_below(&rng, CHANGE_COUNT);
            uint32_t s = weft_rng_below(&rng, expanded.step_count);
            uint32_t values = change_values(&expanded, change, s);
            uint32_t value = values > 0 ? weft_rng_below(&rng, values) : 0;
            struct weft_schedule mutated;
            if (values > 0 && mutate(&mutated, steps, &expanded, change, s, value)) {
                judge(&tally, &mutated, change, s, value);
            }
        }
        assert_true(tally.caught > 10);
        arena = kept;
    }
}

static void tell(const char *name, uint32_t n, const struct tally *tally)
{
    print_message("%-34s n = %-3u %6llu mutations: %6llu caught, %llu equivalent, %llu unclean\n",
                  name, n, (unsigned long long)(tally->caught + tally->equivalent + tally->unclean),
                  (unsigned long long)tally->caught, (unsigned long long)tally->equivalent,
                  (unsigned long long)tally->unclean);
}

static void every_mutation_of_a_ring_is_caught(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 6; n++) {
        struct weft_schedule ring = ring_by_hand(n);
        struct tally tally = mutate_all(&ring);
        tell("ring by hand", n, &tally);
        assert_true(tally.caught > 0);
    }
}

// False: the algorithm cannot do this.
static bool mutate_algorithm(struct tally *tally, enum weft_algorithm algorithm,
                             enum weft_collective_kind kind, uint32_t n)
{
    struct weft_arena kept = arena;
    struct weft_algorithm_options options = {.kind = kind, .rank_count = n, .root = n / 2};
    struct weft_schedule schedule;
    bool built = weft_algorithm_supports(algorithm, kind) &&
                 weft_algorithm_build(&schedule, algorithm, &options, &arena, scratch, &error);
    if (built) {
        *tally = mutate_all(&schedule);
        char name[64];
        snprintf(name, sizeof name, "%s %s", weft_algorithm_name(algorithm),
                 weft_collective_name(kind));
        tell(name, n, tally);
    }
    arena = kept;
    return built;
}

// Every algorithm and kind on few ranks. What is unclean breaks a rule (a slot is read before it
// holds anything, copies collide) in a place that nobody reads afterwards.
static void every_mutation_of_an_algorithm_is_judged_alike(void **state)
{
    (void)state;
    struct tally all = {0};
    for (uint32_t a = 0; a < WEFT_ALGORITHM_COUNT; a++) {
        enum weft_algorithm algorithm = (enum weft_algorithm)a;
        for (uint32_t k = 0; k < WEFT_COLLECTIVE_KIND_COUNT; k++) {
            for (uint32_t n = 3; n <= 5; n++) {
                struct tally tally;
                if (mutate_algorithm(&tally, algorithm, (enum weft_collective_kind)k, n)) {
                    all.caught += tally.caught;
                    all.equivalent += tally.equivalent;
                    all.unclean += tally.unclean;
                }
            }
        }
    }
    tell("all algorithms", 0, &all);
    assert_true(all.caught > 50000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mutation_of_a_ring_is_caught),
        cmocka_unit_test(mutations_of_larger_rings_are_judged_alike),
        cmocka_unit_test(every_mutation_of_an_algorithm_is_judged_alike),
    };
    return cmocka_run_group_tests(tests, open_arenas, tear_down);
}
