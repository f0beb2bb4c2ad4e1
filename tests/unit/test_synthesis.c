// SPDX-License-Identifier: Apache-2.0
// Synthesis: published figures, bounds, compactness, switches, and what is refused.

#include "weft/collective.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <string.h>

static struct weft_arena arena_all;
static struct weft_arena scratch_all;

#define GIB_S 1073741824.0

static struct weft_fabric shape_fabric(struct weft_shape shape, struct weft_arena *arena)
{
    struct weft_error error;
    struct weft_fabric fabric;
    if (!weft_fabric_build_shape(
            &fabric, &shape, 50 * GIB_S, 500000,
            &(struct weft_environment){.arena = arena, .scratch = scratch_all, .error = &error})) {
        fail_msg("%s", error.message);
    }
    return fabric;
}

static struct weft_synthesis synthesise(const struct weft_fabric *fabric,
                                        const struct weft_synthesis_options *options,
                                        struct weft_arena *arena)
{
    struct weft_error error;
    struct weft_synthesis made;
    struct weft_schedule_report report;
    if (!weft_synthesize(&made, fabric, options, arena, scratch_all, &error) ||
        !weft_schedule_check(&report, &made.schedule, scratch_all, &error)) {
        fail_msg("%s: %s", fabric->name, error.message);
    }
    if (!report.valid) {
        fail_msg("%s: %s", fabric->name, report.why);
    }
    assert_true(made.latency_bound_ps <= made.bound_ps && made.cut_bound_ps <= made.bound_ps);
    assert_true(made.bound_ps <= made.chunk_bound_ps);
    assert_true(made.chunk_bound_ps <= made.completion_ps);
    return made;
}

// TACOS' published code (one chunk a rank, links held for their latency): never slower here, and no
// schedule of such chunks is quicker than ours.
static void published_all_gathers_are_matched_or_beaten(void **state)
{
    (void)state;
    static const struct {
        struct weft_shape shape;
        double tacos_us;
    } cases[] = {
        {{WEFT_SHAPE_TORUS, 2, {4, 4}}, 584.6},    {{WEFT_SHAPE_TORUS, 2, {8, 8}}, 503.3},
        {{WEFT_SHAPE_TORUS, 2, {16, 8}}, 496.7},   {{WEFT_SHAPE_TORUS, 2, {16, 16}}, 513.2},
        {{WEFT_SHAPE_TORUS, 3, {4, 4, 4}}, 325.6}, {{WEFT_SHAPE_TORUS, 3, {8, 8, 8}}, 355.9},
        {{WEFT_SHAPE_MESH, 2, {8, 8}}, 947.3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_arena arena = arena_all;
        struct weft_fabric fabric = shape_fabric(cases[i].shape, &arena);
        const struct weft_synthesis_options options = {
            .kind = WEFT_COLLECTIVE_ALLGATHER, .size_bytes = 100000000, .holds_links = true};
        struct weft_synthesis made = synthesise(&fabric, &options, &arena);
        assert_true(weft_seconds(made.completion_ps) * 1e6 <= cases[i].tacos_us + 0.1);
        assert_int_equal(made.completion_ps, made.chunk_bound_ps);
    }
}

// With four chunks a rank, and latency that overlaps: at the bytes that every rank must take in.
static void tori_reach_what_no_schedule_is_below(void **state)
{
    (void)state;
    static const struct weft_shape shapes[] = {
        {WEFT_SHAPE_TORUS, 2, {8, 8}},
        {WEFT_SHAPE_TORUS, 2, {16, 16}},
        {WEFT_SHAPE_TORUS, 3, {4, 4, 4}},
        {WEFT_SHAPE_TORUS, 1, {32}},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        static const enum weft_collective_kind kinds[] = {
            WEFT_COLLECTIVE_ALLGATHER, WEFT_COLLECTIVE_REDUCE_SCATTER, WEFT_COLLECTIVE_ALLREDUCE};
        for (size_t k = 0; k < 3; k++) {
            struct weft_arena arena = arena_all;
            struct weft_fabric fabric = shape_fabric(shapes[i], &arena);
            const struct weft_synthesis_options options = {
                .kind = kinds[k], .size_bytes = 100000000, .chunk_factor = 4};
            struct weft_synthesis made = synthesise(&fabric, &options, &arena);
            double gap = (double)made.completion_ps / (double)made.bound_ps - 1;
            assert_true(gap < 0.005);
        }
    }
}

// The bound itself: 255/256 of the bytes over four links, and one latency.
static void the_cut_bound_is_what_a_rank_takes_in(void **state)
{
    (void)state;
    struct weft_arena arena = arena_all;
    struct weft_shape shape = {WEFT_SHAPE_TORUS, 2, {16, 16}};
    struct weft_fabric fabric = shape_fabric(shape, &arena);
    const struct weft_synthesis_options options = {.kind = WEFT_COLLECTIVE_ALLGATHER,
                                                   .size_bytes = 100000000};
    struct weft_synthesis made = synthesise(&fabric, &options, &arena);
    double expected_ps = 255.0 / 256 * 1e8 / (4 * 50 * GIB_S) * 1e12 + 500000;
    assert_true((double)made.cut_bound_ps <= expected_ps);
    assert_true((double)made.cut_bound_ps > expected_ps - 1000);
    assert_true(made.latency_bound_ps <= 16 * 500000 && made.latency_bound_ps > 16 * 500000 - 10);
}

static void schedules_of_symmetric_fabrics_are_compact(void **state)
{
    (void)state;
    struct weft_arena arena = arena_all;
    struct weft_shape shape = {WEFT_SHAPE_TORUS, 2, {32, 32}};
    struct weft_fabric fabric = shape_fabric(shape, &arena);
    const struct weft_synthesis_options options = {.kind = WEFT_COLLECTIVE_ALLGATHER,
                                                   .size_bytes = 100000000};
    struct weft_synthesis made;
    struct weft_error error;
    assert_true(weft_synthesize(&made, &fabric, &options, &arena, scratch_all, &error));
    assert_int_equal(made.schedule.step_count, 1023 * 32);
    assert_int_equal(weft_schedule_transfer_count(&made.schedule), 1023 * 1024);
}

static void switches_carry_every_kind(void **state)
{
    (void)state;
    static const char *const names[] = {"ideal", "leaf-spine", "fat-tree", "oversubscribed"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct weft_arena arena = arena_all;
        struct weft_cluster cluster;
        struct weft_network *network = WEFT_NEW(&arena, struct weft_network, 1);
        struct weft_error error;
        assert_true(weft_cluster_build(&cluster, 12, 2, 1e9, &error));
        struct weft_fabric_options shape = {.radix = i == 1 ? 8 : 0};
        assert_true(weft_fabric_build_named(
            network, names[i], &cluster, &shape,
            &(struct weft_environment){.arena = &arena, .scratch = scratch_all, .error = &error}));
        for (uint32_t kind = 0; kind < WEFT_COLLECTIVE_KIND_COUNT; kind++) {
            const struct weft_synthesis_options options = {
                .kind = (enum weft_collective_kind)kind,
                .size_bytes = 12000000,
                .chunk_factor = 2,
                .tries = 3,
                .root = 5,
            };
            struct weft_synthesis made = synthesise(&network->fabric, &options, &arena);
            // Pipelines of only two chunks are what makes broadcast and reduce slow here.
            bool rooted = kind == WEFT_COLLECTIVE_BROADCAST || kind == WEFT_COLLECTIVE_REDUCE;
            double times = rooted ? 5 : i == 3 ? 2.2 : 1.2;
            if ((double)made.completion_ps > times * (double)made.bound_ps) {
                fail_msg("%s, %s: %.2f times the bound", names[i],
                         weft_collective_name(options.kind),
                         (double)made.completion_ps / (double)made.bound_ps);
            }
        }
    }
}

// A chunk of a pipelined broadcast takes the least time to all: more chunks, nearer the bound.
static void broadcasts_run_as_pipelines(void **state)
{
    (void)state;
    uint64_t last_ps = WEFT_NEVER;
    for (uint32_t chunks = 1; chunks <= 256; chunks *= 16) {
        struct weft_arena arena = arena_all;
        struct weft_shape shape = {WEFT_SHAPE_MESH, 2, {4, 4}};
        struct weft_fabric fabric = shape_fabric(shape, &arena);
        const struct weft_synthesis_options options = {.kind = WEFT_COLLECTIVE_BROADCAST,
                                                       .size_bytes = 100000000,
                                                       .chunk_factor = chunks,
                                                       .root = 6,
                                                       .tries = 2};
        struct weft_synthesis made = synthesise(&fabric, &options, &arena);
        assert_true(made.completion_ps < last_ps);
        last_ps = made.completion_ps;
        assert_true(chunks < 256 || (double)last_ps < 1.1 * (double)made.bound_ps);
    }
}

static void two_ranks_are_enough(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind < WEFT_COLLECTIVE_KIND_COUNT; kind++) {
        struct weft_arena arena = arena_all;
        struct weft_shape shape = {WEFT_SHAPE_TORUS, 1, {2}};
        struct weft_fabric fabric = shape_fabric(shape, &arena);
        const struct weft_synthesis_options options = {.kind = (enum weft_collective_kind)kind,
                                                       .size_bytes = 7};
        struct weft_synthesis made = synthesise(&fabric, &options, &arena);
        assert_int_equal(made.schedule.rank_count, 2);
    }
}

static void what_cannot_be_synthesised_is_refused(void **state)
{
    (void)state;
    const struct weft_link one_way[] = {{0, 1, 1e9, 0, 1}, {1, 2, 1e9, 0, 1}, {2, 1, 1e9, 0, 1}};
    const struct weft_link slow[] = {{0, 1, 1e-3, 0, 1}, {1, 0, 1e-3, 0, 1}};
    static const struct {
        uint32_t fabric; // 0: a ring of 4; 1: one way only; 2: slow; 3: one server
        struct weft_synthesis_options options;
        enum weft_error_code code;
        const char *text;
    } cases[] = {
        {0, {.size_bytes = 0}, WEFT_INPUT, "0 bytes"},
        {0, {.size_bytes = 3}, WEFT_INPUT, "fewer than the 4 chunks"},
        {0, {.size_bytes = 100, .root = 4}, WEFT_INPUT, "root 4 is no rank"},
        {0, {.size_bytes = 1ull << 40, .chunk_factor = 1u << 22}, WEFT_INPUT, "use fewer chunks"},
        {0, {.size_bytes = 1ull << 40, .chunk_factor = UINT32_MAX}, WEFT_INPUT, "use fewer chunks"},
        {1, {.size_bytes = 100}, WEFT_INFEASIBLE, "no path"},
        {2, {.size_bytes = 1ull << 40}, WEFT_INPUT, "faster links"},
        {3, {.size_bytes = 100}, WEFT_INPUT, "at least 2 ranks"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_arena arena = arena_all;
        struct weft_error error;
        struct weft_fabric fabric;
        struct weft_shape ring = {WEFT_SHAPE_TORUS, 1, {4}};
        switch (cases[i].fabric) {
        case 0:
            fabric = shape_fabric(ring, &arena);
            break;
        case 1:
            assert_true(weft_fabric_build(
                &fabric, &(struct weft_fabric_links){"one-way", 3, 3, one_way, 3}, &arena, &error));
            break;
        case 2:
            assert_true(weft_fabric_build(
                &fabric, &(struct weft_fabric_links){"slow", 2, 2, slow, 2}, &arena, &error));
            break;
        default:
            assert_true(weft_fabric_build(
                &fabric, &(struct weft_fabric_links){"one", 1, 1, NULL, 0}, &arena, &error));
        }
        struct weft_synthesis made;
        assert_false(
            weft_synthesize(&made, &fabric, &cases[i].options, &arena, scratch_all, &error));
        if (error.code != cases[i].code || strstr(error.message, cases[i].text) == NULL) {
            fail_msg("case %zu: %d, %s", i, (int)error.code, error.message);
        }
    }
}

static void shapes_have_their_links(void **state)
{
    (void)state;
    static const struct {
        struct weft_shape shape;
        uint32_t servers;
        uint32_t links;
    } cases[] = {
        {{WEFT_SHAPE_TORUS, 2, {4, 3}}, 12, 48}, {{WEFT_SHAPE_TORUS, 2, {4, 2}}, 8, 24},
        {{WEFT_SHAPE_MESH, 2, {4, 3}}, 12, 34},  {{WEFT_SHAPE_TORUS, 3, {2, 2, 2}}, 8, 24},
        {{WEFT_SHAPE_FULL, 1, {5}}, 5, 20},      {{WEFT_SHAPE_STAR, 1, {5}}, 5, 10},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_arena arena = arena_all;
        struct weft_fabric fabric = shape_fabric(cases[i].shape, &arena);
        assert_int_equal(fabric.server_count, cases[i].servers);
        assert_int_equal(fabric.link_count, cases[i].links);
        struct weft_error error;
        assert_true(weft_fabric_check_connected(&fabric, scratch_all, &error));
    }
    static const struct weft_shape bad[] = {
        {WEFT_SHAPE_TORUS, 0, {0}},
        {WEFT_SHAPE_MESH, 2, {4, 0}},
        {WEFT_SHAPE_FULL, 2, {4, 4}},
        {WEFT_SHAPE_STAR, 1, {1}},
        {WEFT_SHAPE_TORUS, 3, {4096, 4096, 4096}},
        {WEFT_SHAPE_FULL, 1, {1u << 20}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct weft_arena arena = arena_all;
        struct weft_error error;
        struct weft_fabric fabric;
        assert_false(weft_fabric_build_shape(
            &fabric, &bad[i], 1e9, 0,
            &(struct weft_environment){.arena = &arena, .scratch = scratch_all, .error = &error}));
        assert_int_equal(error.code, WEFT_INPUT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_all_gathers_are_matched_or_beaten),
        cmocka_unit_test(tori_reach_what_no_schedule_is_below),
        cmocka_unit_test(the_cut_bound_is_what_a_rank_takes_in),
        cmocka_unit_test(schedules_of_symmetric_fabrics_are_compact),
        cmocka_unit_test(switches_carry_every_kind),
        cmocka_unit_test(broadcasts_run_as_pipelines),
        cmocka_unit_test(two_ranks_are_enough),
        cmocka_unit_test(what_cannot_be_synthesised_is_refused),
        cmocka_unit_test(shapes_have_their_links),
    };
    struct weft_error error;
    if (!weft_arena_init(&arena_all, 0, &error) || !weft_arena_init(&scratch_all, 0, &error)) {
        return 1;
    }
    return cmocka_run_group_tests_name("synthesis", tests, NULL, NULL);
}
