// SPDX-License-Identifier: Apache-2.0
// The heap against a list that is searched: random pushes, pops, changes of key and removals, in
// heaps of two and four children a node, with many equal keys.
//
// Mutations that made this test fail (each was run): the sink compares a node with its last child
// only; the rise stops one level early; remove always sinks; moved is not called where the hole is
// filled; the last of four children is not looked at.

#include "weft/base/heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define ITEMS 300u
#define STEPS 20000u
#define SEEDS 8u

struct item {
    uint32_t key;
    uint32_t id;
};

struct item_heap {
    struct item *entries;
    uint32_t count;
    uint32_t *place; // per id
};

static inline bool item_before(const struct item *a, const struct item *b)
{
    return a->key < b->key || (a->key == b->key && a->id < b->id);
}

static inline void note_place(struct item_heap *heap, uint32_t place)
{
    heap->place[heap->entries[place].id] = place;
}

WEFT_HEAP(two, struct item_heap, struct item, 2, item_before, note_place)
WEFT_HEAP(four, struct item_heap, struct item, 4, item_before, note_place)

// The same calls on either heap.
struct kind {
    uint32_t arity;
    void (*push)(struct item_heap *heap, struct item entry);
    struct item (*pop)(struct item_heap *heap);
    void (*rise)(struct item_heap *heap, uint32_t place, struct item entry);
    void (*sink)(struct item_heap *heap, uint32_t place, struct item entry);
    void (*remove)(struct item_heap *heap, uint32_t place);
};

static const struct kind kinds[] = {
    {2, two_push, two_pop, two_rise, two_sink, two_remove},
    {4, four_push, four_pop, four_rise, four_sink, four_remove},
};

// What should be in the heap: per id its key, WEFT_NONE = absent.
struct model {
    uint32_t key[ITEMS];
    uint32_t count;
};

static uint32_t first_of(const struct model *model)
{
    uint32_t best = WEFT_NONE;
    for (uint32_t id = 0; id < ITEMS; id++) {
        if (model->key[id] != WEFT_NONE &&
            (best == WEFT_NONE || model->key[id] < model->key[best])) {
            best = id;
        }
    }
    return best;
}

static void check_places(const struct item_heap *heap, const struct model *model, uint32_t arity)
{
    assert_int_equal(heap->count, model->count);
    for (uint32_t i = 0; i < heap->count; i++) {
        const struct item *item = &heap->entries[i];
        assert_int_equal(heap->place[item->id], i);
        assert_int_equal(model->key[item->id], item->key);
        assert_true(i == 0 || !item_before(item, &heap->entries[(i - 1) / arity]));
    }
}

// Adds an item, changes its key or takes it out.
static void touch(struct item_heap *heap, struct model *model, const struct kind *kind,
                  struct weft_rng *rng)
{
    struct item item = {weft_rng_below(rng, 40), weft_rng_below(rng, ITEMS)};
    uint32_t before = model->key[item.id];
    uint32_t place = heap->place[item.id];
    if (before == WEFT_NONE) {
        kind->push(heap, item);
        model->count++;
    } else if (weft_rng_below(rng, 3) == 0) {
        kind->remove(heap, place);
        model->key[item.id] = WEFT_NONE;
        model->count--;
        return;
    } else if (item.key < before) {
        kind->rise(heap, place, item);
    } else {
        kind->sink(heap, place, item);
    }
    model->key[item.id] = item.key;
}

static void play(const struct kind *kind, uint64_t seed)
{
    struct item entries[ITEMS];
    uint32_t place[ITEMS];
    struct item_heap heap = {.entries = entries, .place = place};
    struct model model = {.count = 0};
    struct weft_rng rng;
    weft_rng_init(&rng, seed);
    for (uint32_t id = 0; id < ITEMS; id++) {
        model.key[id] = WEFT_NONE;
    }
    for (uint32_t step = 0; step < STEPS; step++) {
        // Phases of growth and of emptying, so that the heap is small and large.
        bool grows = step / 1000 % 2 == 0;
        if (model.count > 0 && weft_rng_below(&rng, 10) < (grows ? 2u : 7u)) {
            uint32_t expected = first_of(&model);
            struct item item = kind->pop(&heap);
            assert_int_equal(item.id, expected);
            assert_int_equal(item.key, model.key[expected]);
            model.key[expected] = WEFT_NONE;
            model.count--;
        } else {
            touch(&heap, &model, kind, &rng);
        }
        if (step % 16 == 0) {
            check_places(&heap, &model, kind->arity);
        }
    }
}

static void entries_come_in_order_however_they_were_changed(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            print_message("arity %u, seed %u\n", kinds[k].arity, (unsigned)seed);
            play(&kinds[k], seed);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_come_in_order_however_they_were_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
