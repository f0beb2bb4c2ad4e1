// SPDX-License-Identifier: Apache-2.0
// The union-find against numbers that are relabeled one by one.
//
// Mutations that made this test fail (each was run): the greater root wins; set_count falls by a
// join of what is joined already; find leaves every number a root of its own.

#include "weft/base/sets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define NUMBERS 200u
#define SEEDS 20u

static void play(uint64_t seed, struct weft_arena scratch)
{
    struct weft_rng rng;
    weft_rng_init(&rng, seed);
    struct weft_sets sets = weft_sets_build(NUMBERS, &scratch);
    for (uint32_t round = 0; round < 2; round++, weft_sets_reset(&sets)) {
        uint32_t label[NUMBERS]; // the least number of the set
        uint32_t set_count = NUMBERS;
        for (uint32_t i = 0; i < NUMBERS; i++) {
            label[i] = i;
        }
        for (uint32_t step = 0; step < 3 * NUMBERS; step++) {
            uint32_t a = weft_rng_below(&rng, NUMBERS);
            uint32_t b = weft_rng_below(&rng, NUMBERS);
            bool apart = label[a] != label[b];
            uint32_t least = label[a] < label[b] ? label[a] : label[b];
            uint32_t most = label[a] < label[b] ? label[b] : label[a];
            for (uint32_t i = 0; i < NUMBERS; i++) {
                label[i] = label[i] == most ? least : label[i];
            }
            set_count -= apart;
            assert_int_equal(weft_sets_join(&sets, a, b), apart);
            assert_int_equal(sets.set_count, set_count);
            uint32_t any = weft_rng_below(&rng, NUMBERS);
            assert_int_equal(weft_sets_find(&sets, any), label[any]);
        }
        for (uint32_t i = 0; i < NUMBERS; i++) {
            assert_int_equal(weft_sets_find(&sets, i), label[i]);
        }
    }
}

static void sets_are_those_of_relabeling(void **state)
{
    (void)state;
    struct weft_arena arena;
    struct weft_error error;
    assert_true(weft_arena_init(&arena, 0, &error));
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        print_message("seed %u\n", (unsigned)seed);
        play(seed, arena);
    }
    weft_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_are_those_of_relabeling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
