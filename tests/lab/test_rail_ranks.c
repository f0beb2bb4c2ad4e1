// SPDX-License-Identifier: Apache-2.0
// A rank of a rail whose schedule is another one than the controller's: its phases go over the
// management network and are told, sums stay right, and nothing waits longer than it may.
//
// Seen to fail: with a controller that takes a generation for its own whatever it is, and with one
// that tells of an absent member as of one that is gone.

#include "lab_test.h"

#include "runtime/rails/management.h"
#include "runtime/rails/run.h"
#include "runtime/testbed/testbed.h"

#include <string.h>

enum { WRONG = 1, ITERATIONS = 1 }; // the rank
#define TARGET_S 0.1

static struct weft_arena arena;
static struct weft_arena scratch;
static struct weft_error error;
static char name[WEFT_LAB_NAME_MAX];

static const struct weft_rail_job job = {
    .name = "four",
    .dp = 2,
    .pp = 2,
    .tp = 8,
    .ep = 1,
    .microbatches = 2,
    .forward_ps = 20000000000,
    .backward_ps = 40000000000,
    .gather = WEFT_RAIL_BACKWARD,
    .reduce = WEFT_RAIL_STEP,
    .parameter_bytes = 1000000000,
    .gradient_bytes = 2000000000,
    .activation_bytes = 50000000,
    .rate_Bps = 50e9,
    .ports = 1,
};

// The first turn from `t` on that has a phase.
static uint32_t next_phase(const struct lab_turns *turns, uint32_t t)
{
    while (t < turns->count && turns->turns[t].phase == WEFT_NONE) {
        t++;
    }
    assert_true(t < turns->count);
    return t;
}

static bool is_member(const struct lab_phase_plan *phase)
{
    bool any = false;
    for (uint32_t c = 0; c < phase->circuit_count; c++) {
        any = any || phase->circuits[c].from == WRONG || phase->circuits[c].to == WRONG;
    }
    return any;
}

static void prepare(struct lab_rail *rail, struct lab_rail_options *options,
                    const struct weft_rail_alone *alone)
{
    const struct weft_environment environment = {
        .arena = &arena, .scratch = scratch, .threads = 1, .error = &error};
    *options = (struct lab_rail_options){
        .job = &job,
        .alone = alone,
        .mode = WEFT_RAIL_PROVISION,
        .dark_ps = 5000000000,
        .rate_Bps = 12.5e6,
        .mtu_bytes = 9000,
        .target_s = TARGET_S,
        .iterations = ITERATIONS,
        .congestion = "cubic",
        .timeout_ms = 20000,
        .stall_ms = 5000,
    };
    must(lab_rail_prepare(rail, options, &environment), &error);
}

static bool came_late(const struct lab_rail_result *result, const struct lab_notice *notice)
{
    bool was_absent = false;
    for (uint32_t i = 0; i < result->notice_count; i++) {
        const struct lab_notice *other = &result->notices[i].notice;
        was_absent |= other->verdict == LAB_ABSENT && other->rank == notice->rank &&
                      other->generation == notice->generation;
    }
    return notice->verdict == LAB_STALE && was_absent;
}

// Runs it; every sum is checked by the run itself. Returns the verdicts that were told, as bits.
static uint32_t run(struct lab_rail_result *result, const struct lab_rail *rail)
{
    struct weft_lab lab;
    struct weft_lab_removed removed;
    const struct weft_lab_options options = {.name = name,
                                             .fabric = "rail",
                                             .rate_Bps = 12.5e6,
                                             .mtu_bytes = 9000,
                                             .buffer_bytes = 256 * 9014,
                                             .dark_ns = 5000000};
    *result = (struct lab_rail_result){0};
    must(weft_lab_up(&lab, &rail->wiring, &options, scratch, &error), &error);
    bool fine = lab_management_up(&lab, &error) &&
                lab_rail_run(result, rail, &lab, &arena, scratch, &error);
    struct weft_error down;
    must(weft_lab_down(&removed, name, scratch, &down), &down);
    must(fine, &error);
    assert_true(result->sent_bytes > 0 && result->sent_bytes == result->received_bytes);
    assert_true(result->checked_count > 0 || rail->graph.group_count == 0);
    uint32_t verdicts = 0;
    for (uint32_t i = 0; i < result->notice_count; i++) {
        const struct lab_notice *notice = &result->notices[i].notice;
        verdicts |= 1u << notice->verdict;
        // It is the wrong rank that is told of; others wait for it, and may tell that bytes do. One
        // that comes when its phase is no longer waited for, on a busy machine, is stale.
        assert_true(notice->verdict == LAB_STALLED || notice->verdict == LAB_ABSENT ||
                    notice->rank == WRONG || came_late(result, notice));
    }
    // A phase waits for a member 1 s and two iterations; no rank has more than a few phases.
    for (uint32_t i = 0; i < result->iteration_count; i++) {
        assert_true(result->measured_s[i] < 4 * (1 + 2 * TARGET_S) + 1);
    }
    return verdicts;
}

static void a_right_schedule_is_lit(void **state)
{
    (void)state;
    struct lab_rail rail;
    struct lab_rail_options options;
    struct lab_rail_result result;
    prepare(&rail, &options, NULL);
    assert_int_equal(run(&result, &rail), 0);
    assert_true(result.lit > 0);
    assert_int_equal(result.fallen, 0);
}

// The rank announces a phase that is not its own.
static void a_strange_phase_falls_back(void **state)
{
    (void)state;
    struct lab_rail rail;
    struct lab_rail_options options;
    struct lab_rail_result result;
    prepare(&rail, &options, NULL);
    struct lab_turns *turns = &rail.schedule.ranks[WRONG];
    uint32_t strange = 0;
    while (is_member(&rail.schedule.phases[strange])) {
        strange++;
        assert_true(strange < rail.schedule.phase_count);
    }
    turns->turns[next_phase(turns, 0)].phase = strange;
    uint32_t verdicts = run(&result, &rail);
    assert_true((verdicts & 1u << LAB_STRANGE) != 0);
    assert_true((verdicts & 1u << LAB_ABSENT) != 0); // others wait for it in vain
    assert_true(result.fallen > 0 && result.lit > 0);
}

// The rank announces a generation that is over, instead of its next one.
static void a_stale_generation_falls_back(void **state)
{
    (void)state;
    struct lab_rail rail;
    struct lab_rail_options options;
    struct lab_rail_result result;
    prepare(&rail, &options, NULL);
    struct lab_turns *turns = &rail.schedule.ranks[WRONG];
    uint32_t first = next_phase(turns, 0);
    turns->turns[next_phase(turns, first + 1)].phase = turns->turns[first].phase;
    uint32_t verdicts = run(&result, &rail);
    assert_true((verdicts & 1u << LAB_STALE) != 0);
    assert_true(result.fallen > 0);
}

// A plan's rail whose first server gets nothing back: its port's circuits are no permutation, and
// those of the lab that is raised have to be one. Seen to fail: ports without a circuit that lead
// to their own server, where another sends to it.
static void one_way_is_a_rail_too(void **state)
{
    (void)state;
    const uint32_t servers[] = {0, 1};
    const uint32_t next[] = {1, 2};
    const struct weft_task tasks[] = {
        {.kind = WEFT_TASK_FORWARD, .runtime_ps = 1000000000, .next = next, .next_count = 1},
        {.kind = WEFT_TASK_TRANSFER,
         .size_bytes = 1000000,
         .to = 1,
         .next = next + 1,
         .next_count = 1},
        {.kind = WEFT_TASK_FORWARD, .device = 1, .runtime_ps = 1000000000},
    };
    const struct weft_taskgraph_draft draft = {3, 2, servers, 3, tasks};
    struct weft_rail_alone alone = {.rail_count = 1, .port_count = 1, .rate_Bps = 1e9};
    struct lab_rail rail;
    struct lab_rail_options options;
    struct lab_rail_result result;
    must(weft_taskgraph_build(&alone.graph, &draft, &arena, scratch, &error), &error);
    prepare(&rail, &options, &alone);
    bool taken[3] = {false};
    for (uint32_t r = 0; r < 3; r++) {
        assert_true(rail.wiring.planes[r] < 3 && !taken[rail.wiring.planes[r]]);
        taken[rail.wiring.planes[r]] = true;
    }
    assert_int_equal(run(&result, &rail), 0);
}

int main(void)
{
    need_namespaces();
    snprintf(name, sizeof name, "k%d", (int)getpid());
    if (!weft_arena_init(&arena, 0, &error) || !weft_arena_init(&scratch, 0, &error)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_schedule_is_lit),
        cmocka_unit_test(a_strange_phase_falls_back),
        cmocka_unit_test(a_stale_generation_falls_back),
        cmocka_unit_test(one_way_is_a_rail_too),
    };
    return cmocka_run_group_tests_name("rail_ranks", tests, NULL, NULL);
}
