// SPDX-License-Identifier: Apache-2.0
// Arenas against a naive model: a list of all blocks that should be alive, each filled with a
// pattern of its own. Random nests of calls take scratch arenas by value, split them, hand results
// to callers and let text grow, over sizes that cross segments in every way. After each step every
// block that is alive must still hold its pattern.
//
// Mutations of free_behind and weft_arena_split that made it fail: no comparison of ranks (a callee
// frees what its caller split off); no `segment->next = NULL` (a segment in two lists); no mark
// (two splits of one arena share memory). What is freed too late, tests/unit/test_base.c finds.

#include "weft/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define BLOCKS_MAX 4096u
#define DEPTH_MAX 7u
// Enough for what is alive at once, and a fraction of all that is ever taken.
#define LIMIT_BYTES ((size_t)256 << 20)

struct block {
    unsigned char *at;
    size_t bytes;
    unsigned char pattern;
    uint32_t owner; // the depth of the call at whose end it goes
};

struct model {
    struct weft_rng rng;
    struct block blocks[BLOCKS_MAX];
    uint32_t count;
    uint32_t made;
    size_t alive_bytes;
    size_t alive_max_bytes;
    uint32_t steps_left;
    uint64_t seed;
};

static void check(const struct model *model)
{
    for (uint32_t i = 0; i < model->count; i++) {
        const struct block *block = &model->blocks[i];
        size_t stride = block->bytes > 4096 ? block->bytes / 64 : 1;
        for (size_t b = 0; b < block->bytes; b += stride) {
            if (block->at[b] != block->pattern) {
                fail_msg("seed %llu: block %u of %zu bytes is overwritten at %zu",
                         (unsigned long long)model->seed, i, block->bytes, b);
            }
        }
        assert_int_equal(block->at[block->bytes - 1], block->pattern);
    }
}

static void fill(struct model *model, void *at, size_t bytes, uint32_t owner)
{
    assert_true(model->count < BLOCKS_MAX);
    struct block *block = &model->blocks[model->count++];
    *block = (struct block){at, bytes, (unsigned char)(1 + model->made++ % 255), owner};
    memset(at, block->pattern, bytes);
    model->alive_bytes += bytes;
    if (model->alive_bytes > model->alive_max_bytes) {
        model->alive_max_bytes = model->alive_bytes;
    }
}

// Mostly small, at times of the order of a segment, seldom larger than any.
static size_t draw_bytes(struct model *model)
{
    uint32_t kind = weft_rng_below(&model->rng, 40);
    uint32_t most = kind == 0 ? 3u << 20 : kind < 5 ? 300u << 10 : kind < 15 ? 20000 : 200;
    return 1 + weft_rng_below(&model->rng, most);
}

static void take(struct model *model, struct weft_arena *arena, uint32_t owner)
{
    size_t bytes = draw_bytes(model);
    if (weft_rng_below(&model->rng, 2) == 0) {
        unsigned char *zeroed = weft_arena_alloc(arena, bytes, 1);
        assert_int_equal((uintptr_t)zeroed % 64, 0);
        assert_true(zeroed[0] == 0 && zeroed[bytes / 2] == 0 && zeroed[bytes - 1] == 0);
        fill(model, zeroed, bytes, owner);
    } else {
        fill(model, weft_arena_alloc_raw(arena, bytes, 1), bytes, owner);
    }
}

// A block that grows by steps, as text does; some of its bytes may go back at last.
static void grow(struct model *model, struct weft_arena *arena, uint32_t owner)
{
    size_t bytes = draw_bytes(model);
    unsigned char *data = weft_arena_alloc_raw(arena, bytes, 1);
    memset(data, 7, bytes);
    for (uint32_t i = weft_rng_below(&model->rng, 5); i > 0; i--) {
        size_t more = draw_bytes(model);
        data = weft_arena_grow(arena, data, bytes, bytes + more);
        assert_true(data[0] == 7 && data[bytes - 1] == 7);
        memset(data + bytes, 7, more);
        bytes += more;
    }
    size_t kept = 1 + weft_rng_below(&model->rng, (uint32_t)bytes);
    arena->next = (char *)data + kept;
    fill(model, data, kept, owner);
}

static void end_call(struct model *model, uint32_t depth)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < model->count; i++) {
        if (model->blocks[i].owner < depth) {
            model->blocks[kept++] = model->blocks[i];
        } else {
            model->alive_bytes -= model->blocks[i].bytes;
        }
    }
    model->count = kept;
}

// A call that gets `scratch` by value, and `results` of the call at depth `owner`.
// NOLINTNEXTLINE(misc-no-recursion): calls are what is tested
static void call(struct model *model, uint32_t depth, struct weft_arena scratch,
                 struct weft_arena *results, uint32_t owner)
{
    struct weft_arena splits[4];
    uint32_t split_count = 0;
    for (uint32_t i = 1 + weft_rng_below(&model->rng, 8); i > 0 && model->steps_left > 0; i--) {
        model->steps_left--;
        uint32_t what = weft_rng_below(&model->rng, 10);
        uint32_t split = weft_rng_below(&model->rng, split_count + 1);
        if (what < 2) {
            take(model, &scratch, depth);
        } else if (what == 2) {
            take(model, results, owner);
        } else if (what == 3) {
            grow(model, results, owner);
        } else if (what == 4) {
            grow(model, &scratch, depth);
        } else if (what == 5 && split_count < 4) {
            splits[split_count++] = weft_arena_split(&scratch);
        } else if (what == 6 && split < split_count) {
            take(model, &splits[split], depth);
        } else if (what >= 7 && depth < DEPTH_MAX) {
            bool own = split < split_count;
            call(model, depth + 1, scratch, own ? &splits[split] : results, own ? depth : owner);
            end_call(model, depth + 1);
        }
        check(model);
    }
}

static void blocks_that_are_alive_are_never_touched(void **state)
{
    (void)state;
    static struct model model;
    for (uint64_t seed = 1; seed <= 120; seed++) {
        struct weft_arena arena;
        struct weft_error error;
        assert_true(weft_arena_init(&arena, LIMIT_BYTES, &error));
        model = (struct model){.seed = seed, .steps_left = 300};
        weft_rng_init(&model.rng, seed);
        while (model.steps_left > 0) {
            struct weft_arena scratch = arena;
            struct weft_arena results = weft_arena_split(&scratch);
            call(&model, 1, scratch, &results, 0);
            end_call(&model, 0);
        }
        weft_arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_that_are_alive_are_never_touched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
