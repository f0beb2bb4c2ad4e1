// SPDX-License-Identifier: Apache-2.0
// The checker and the executor on schedules written by hand: each kind of collective, each kind of
// violation, and the words for it.
//
// Mutations it failed with: no look for a second addend; a copy beside another write let pass; the
// claim counted in one direction only.

#include "schedule_cases.h"

#define ADD WEFT_STEP_REDUCE
#define COPY WEFT_STEP_COPY

enum { LINES = 12 };

struct hand {
    const char *what;
    enum weft_collective_kind kind;
    uint32_t rank_count, chunk_count, slot_count, output_first;
    bool packed;
    uint32_t root, port_count;
    const char *why; // NULL: valid
    uint32_t line_count;
    struct line lines[LINES];
};

#define ALLREDUCE WEFT_COLLECTIVE_ALLREDUCE
#define SCATTER WEFT_COLLECTIVE_REDUCE_SCATTER
#define GATHER WEFT_COLLECTIVE_ALLGATHER

// A line is: round, from rank and slot, to rank and slot.
static const struct hand hands[] = {
    {"two exchange and add",
     ALLREDUCE,
     2,
     1,
     1,
     0,
     false,
     0,
     1,
     NULL,
     2,
     {{0, 0, 0, 1, 0, ADD}, {0, 1, 0, 0, 0, ADD}}},
    {"three to one and back",
     ALLREDUCE,
     3,
     1,
     1,
     0,
     false,
     0,
     2,
     NULL,
     4,
     {{0, 1, 0, 0, 0, ADD}, {0, 2, 0, 0, 0, ADD}, {1, 0, 0, 1, 0, COPY}, {1, 0, 0, 2, 0, COPY}}},
    {"through scratch slots",
     ALLREDUCE,
     3,
     1,
     3,
     0,
     false,
     0,
     2,
     NULL,
     10,
     {{0, 0, 0, 1, 1, COPY},
      {0, 0, 0, 2, 1, COPY},
      {1, 1, 0, 0, 1, COPY},
      {1, 1, 0, 2, 2, COPY},
      {2, 2, 0, 0, 2, COPY},
      {2, 2, 0, 1, 2, COPY},
      {3, 0, 2, 0, 0, ADD},
      {3, 0, 1, 0, 0, ADD},
      {4, 0, 0, 1, 0, COPY},
      {4, 0, 0, 2, 0, COPY}}},
    {"into another place",
     ALLREDUCE,
     2,
     1,
     2,
     1,
     false,
     0,
     1,
     NULL,
     4,
     {{0, 0, 0, 0, 1, COPY}, {0, 1, 0, 1, 1, COPY}, {1, 0, 0, 1, 1, ADD}, {1, 1, 0, 0, 1, ADD}}},
    {"each its half",
     SCATTER,
     2,
     2,
     2,
     0,
     false,
     0,
     1,
     NULL,
     2,
     {{0, 0, 1, 1, 1, ADD}, {0, 1, 0, 0, 0, ADD}}},
    {"each its half, packed",
     SCATTER,
     2,
     2,
     3,
     2,
     true,
     0,
     1,
     NULL,
     4,
     {{0, 0, 0, 0, 2, COPY}, {0, 1, 1, 1, 2, COPY}, {1, 0, 1, 1, 2, ADD}, {1, 1, 0, 0, 2, ADD}}},
    {"halves to all",
     GATHER,
     2,
     2,
     2,
     0,
     false,
     0,
     1,
     NULL,
     2,
     {{0, 0, 0, 1, 0, COPY}, {0, 1, 1, 0, 1, COPY}}},
    {"packed halves to all",
     GATHER,
     2,
     2,
     4,
     2,
     true,
     0,
     1,
     NULL,
     4,
     {{0, 0, 0, 1, 2, COPY}, {0, 1, 0, 0, 3, COPY}, {0, 0, 0, 0, 2, COPY}, {0, 1, 0, 1, 3, COPY}}},
    {"the root to all",
     WEFT_COLLECTIVE_BROADCAST,
     3,
     1,
     1,
     0,
     false,
     2,
     1,
     NULL,
     2,
     {{0, 2, 0, 0, 0, COPY}, {1, 0, 0, 1, 0, COPY}}},
    {"all to the root",
     WEFT_COLLECTIVE_REDUCE,
     3,
     1,
     1,
     0,
     false,
     1,
     1,
     NULL,
     2,
     {{0, 2, 0, 0, 0, ADD}, {1, 0, 0, 1, 0, ADD}}},
    {"all to all",
     WEFT_COLLECTIVE_ALLTOALL,
     2,
     2,
     4,
     2,
     false,
     0,
     1,
     NULL,
     4,
     {{0, 0, 0, 0, 2, COPY}, {0, 1, 1, 1, 3, COPY}, {0, 0, 1, 1, 2, COPY}, {0, 1, 0, 0, 3, COPY}}},
    {"all to all in place: a swap reads before it writes",
     WEFT_COLLECTIVE_ALLTOALL,
     2,
     2,
     2,
     0,
     false,
     0,
     1,
     NULL,
     2,
     {{0, 0, 1, 1, 0, COPY}, {0, 1, 0, 0, 1, COPY}}},

    {"reads nothing",
     WEFT_COLLECTIVE_BROADCAST,
     3,
     1,
     1,
     0,
     false,
     2,
     0,
     "round 0, step 1: rank 0 copies slot 0 to slot 0 of rank 1 before it holds anything",
     2,
     {{0, 2, 0, 0, 0, COPY}, {0, 0, 0, 1, 0, COPY}}},
    {"adds to nothing",
     ALLREDUCE,
     2,
     1,
     2,
     0,
     false,
     0,
     0,
     "round 0, step 0: rank 0 adds slot 0 to slot 1 of rank 1, which holds nothing yet",
     1,
     {{0, 0, 0, 1, 1, ADD}}},
    {"another chunk",
     ALLREDUCE,
     2,
     2,
     2,
     0,
     false,
     0,
     0,
     "round 0, step 0: rank 0 adds its chunk 0 to chunk 1 in slot 1 of rank 1",
     1,
     {{0, 0, 0, 1, 1, ADD}}},
    {"an addend twice",
     ALLREDUCE,
     3,
     1,
     1,
     0,
     false,
     0,
     0,
     "round 1, step 2: rank 0 sends chunk 0 to slot 0 of rank 1, where the addend of rank 0 is "
     "added a second time",
     3,
     {{0, 0, 0, 1, 0, ADD}, {0, 1, 0, 0, 0, ADD}, {1, 0, 0, 1, 0, ADD}}},
    {"the whole twice",
     ALLREDUCE,
     2,
     1,
     1,
     0,
     false,
     0,
     0,
     "round 1, step 2: rank 0 sends chunk 0 to slot 0 of rank 1, where the addend of rank 0 is "
     "added a second time",
     3,
     {{0, 0, 0, 1, 0, ADD}, {0, 1, 0, 0, 0, ADD}, {1, 0, 0, 1, 0, ADD}}},
    {"two copies",
     GATHER,
     3,
     3,
     3,
     0,
     false,
     0,
     0,
     "round 0, step 1: rank 1 copies slot 1 to slot 0 of rank 2, which another transfer writes in "
     "the same round",
     2,
     {{0, 0, 0, 2, 0, COPY}, {0, 1, 1, 2, 0, COPY}}},
    {"a sum beside a copy",
     ALLREDUCE,
     3,
     1,
     1,
     0,
     false,
     0,
     0,
     "round 0, step 1: rank 1 adds to slot 0 of rank 2, which a copy writes in the same round",
     2,
     {{0, 0, 0, 2, 0, COPY}, {0, 1, 0, 2, 0, ADD}}},
    {"a copy beside a sum",
     ALLREDUCE,
     3,
     1,
     1,
     0,
     false,
     0,
     0,
     "round 0, step 1: rank 1 copies slot 0 to slot 0 of rank 2, which another transfer writes in "
     "the same round",
     2,
     {{0, 0, 0, 2, 0, ADD}, {0, 1, 0, 2, 0, COPY}}},
    {"two sends at one port",
     WEFT_COLLECTIVE_BROADCAST,
     3,
     1,
     1,
     0,
     false,
     0,
     1,
     "round 0, step 1: rank 0 sends more than the 1 transfer a round that the schedule claims",
     2,
     {{0, 0, 0, 1, 0, COPY}, {0, 0, 0, 2, 0, COPY}}},
    {"two receives at one port",
     WEFT_COLLECTIVE_REDUCE,
     3,
     1,
     1,
     0,
     false,
     0,
     1,
     "round 0, step 1: rank 0 receives more than the 1 transfer a round that the schedule claims",
     2,
     {{0, 1, 0, 0, 0, ADD}, {0, 2, 0, 0, 0, ADD}}},
    {"sums in a gather",
     GATHER,
     2,
     2,
     2,
     0,
     false,
     0,
     0,
     "round 0, step 0: rank 0 adds slot 0 to slot 0 of rank 1, but allgather sums nothing",
     1,
     {{0, 0, 0, 1, 0, ADD}}},
    {"ends without",
     GATHER,
     2,
     2,
     2,
     0,
     false,
     0,
     0,
     "rank 0 ends with nothing in slot 1, where chunk 1 belongs",
     1,
     {{0, 0, 0, 1, 0, COPY}}},
    {"ends with another",
     ALLREDUCE,
     2,
     2,
     3,
     0,
     false,
     0,
     0,
     "rank 0 ends with chunk 1 in slot 0, where chunk 0 belongs",
     1,
     {{0, 1, 1, 0, 0, COPY}}},
    {"ends without an addend",
     ALLREDUCE,
     3,
     1,
     1,
     0,
     false,
     0,
     0,
     "rank 2 ends with chunk 0 in slot 0, but without the addend of rank 0",
     3,
     {{0, 1, 0, 0, 0, ADD}, {1, 2, 0, 0, 0, ADD}, {2, 0, 0, 1, 0, COPY}}},
    {"of the wrong rank",
     WEFT_COLLECTIVE_ALLTOALL,
     2,
     2,
     4,
     2,
     false,
     0,
     0,
     "rank 0 ends with chunk 0 of rank 1 in slot 2, where that of rank 0 belongs",
     4,
     {{0, 1, 0, 0, 2, COPY}, {0, 1, 1, 1, 3, COPY}, {0, 0, 1, 1, 2, COPY}, {0, 1, 0, 0, 3, COPY}}},
};

static struct weft_schedule of_hand(const struct hand *hand)
{
    struct weft_schedule schedule = from_lines(hand->kind, hand->rank_count, hand->chunk_count,
                                               hand->slot_count, hand->lines, hand->line_count);
    schedule.output_first = hand->output_first;
    schedule.packed = hand->packed;
    schedule.root = hand->root;
    schedule.port_count = hand->port_count;
    return schedule;
}

static void each_kind_and_each_violation_is_told(void **state)
{
    (void)state;
    for (size_t h = 0; h < sizeof hands / sizeof hands[0]; h++) {
        const struct hand *hand = &hands[h];
        struct weft_schedule schedule = of_hand(hand);
        struct weft_schedule_report report;
        if (!weft_schedule_check(&report, &schedule, scratch, &error)) {
            fail_msg("%s: %s", hand->what, error.message);
        }
        if (report.valid != (hand->why == NULL) ||
            strcmp(report.why, hand->why == NULL ? "" : hand->why) != 0) {
            fail_msg("%s: %s, expected %s", hand->what, report.why, hand->why);
        }
    }
}

static void real_buffers_come_out_as_the_checker_says(void **state)
{
    (void)state;
    for (size_t h = 0; h < sizeof hands / sizeof hands[0]; h++) {
        const struct hand *hand = &hands[h];
        struct weft_schedule schedule = of_hand(hand);
        for (uint64_t elements = 1; elements < 20; elements++) {
            bool fine = weft_schedule_try(&schedule, elements, elements, scratch, &error);
            // With fewer words than chunks the last chunks have nothing that could be wrong.
            bool sees = elements > hand->chunk_count && hand->port_count == 0;
            if (hand->why == NULL ? !fine : fine && sees) {
                fail_msg("%s, %llu words: %s", hand->what, (unsigned long long)elements,
                         fine ? "came out right" : error.message);
            }
        }
    }
}

static void a_report_counts_what_is_sent(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {2, 3, 8, 65, 130};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint32_t n = sizes[i];
        struct weft_schedule ring = ring_by_hand(n);
        struct weft_schedule_report report;
        assert_true(weft_schedule_check(&report, &ring, scratch, &error));
        if (!report.valid) {
            fail_msg("n = %u: %s", n, report.why);
        }
        assert_int_equal(report.round_count, 2 * (n - 1));
        assert_int_equal(report.transfer_count, 2 * (n - 1) * n);
        assert_int_equal(report.slots_sent, 2 * (n - 1) * n);
        assert_int_equal(report.send_slots_max, 2 * (n - 1));
        assert_int_equal(report.send_port_max, 1);
        assert_int_equal(report.receive_port_max, 1);
        assert_int_equal(report.bad_step, WEFT_NONE);
        assert_true(weft_schedule_try(&ring, 3 * n + 1, n, scratch, &error));
    }
}

// 5 million moves: more than a batch holds, and, once every slot is carried to its neighbor's
// number, all in one part.
static void large_parts_are_played_as_they_are_walked(void **state)
{
    (void)state;
    struct weft_arena kept = arena;
    uint32_t n = 160;
    uint32_t chunk_count = n * 100;
    struct weft_schedule ring = ring_by_hand(n);
    struct weft_step steps[3] = {ring.steps[0], ring.steps[1], ring.steps[0]};
    for (uint32_t s = 0; s < 2; s++) {
        steps[s].slot_count = 100;
        steps[s].from_slot = steps[s].to_slot =
            (struct weft_index){0, s * 100, 100, chunk_count - 100, chunk_count};
    }
    steps[2] = line_step((struct line){ring.round_count, 0, 0, 1, chunk_count, COPY});
    steps[2].slot_count = 1;
    ring.chunk_count = chunk_count;
    ring.slot_count = 2 * chunk_count + 1;
    ring.round_count += 1;
    ring.step_count = 3;
    ring.steps = steps;
    struct weft_schedule_report report;
    assert_true(weft_schedule_check(&report, &ring, scratch, &error));
    if (!report.valid) {
        fail_msg("%s", report.why);
    }
    assert_int_equal(report.slots_sent, 2ull * (n - 1) * n * 100 + 1);
    // All slots joined: everything is one part.
    steps[2].slot_count = chunk_count;
    steps[2].from_slot = weft_index_fixed(0);
    steps[2].to_slot = weft_index_fixed(1);
    assert_true(weft_schedule_check(&report, &ring, scratch, &error));
    assert_false(report.valid);
    assert_string_equal(report.why, "rank 1 ends with chunk 0 in slot 1, where chunk 1 belongs");
    arena = kept;
}

static void what_is_not_well_formed_is_refused(void **state)
{
    (void)state;
    struct weft_schedule_report report;
    struct weft_schedule ring = ring_by_hand(4);
    struct weft_schedule bad = ring;
    bad.rank_count = 1;
    assert_false(weft_schedule_check(&report, &bad, scratch, &error));
    assert_int_equal(error.code, WEFT_INPUT);
    bad = ring;
    bad.slot_count = 3;
    assert_false(weft_schedule_check(&report, &bad, scratch, &error));
    assert_false(weft_schedule_try(&bad, 4, 1, scratch, &error));
    struct weft_step steps[2] = {ring.steps[0], ring.steps[1]};
    bad = ring;
    bad.steps = steps;
    steps[1].to = weft_index_walk(1, 1, 0, 5);
    assert_false(weft_schedule_check(&report, &bad, scratch, &error));
    assert_string_equal(error.message,
                        "schedule 'ring by hand': step 1: a rank beyond the last, 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_and_each_violation_is_told),
        cmocka_unit_test(real_buffers_come_out_as_the_checker_says),
        cmocka_unit_test(a_report_counts_what_is_sent),
        cmocka_unit_test(large_parts_are_played_as_they_are_walked),
        cmocka_unit_test(what_is_not_well_formed_is_refused),
    };
    return cmocka_run_group_tests(tests, open_arenas, tear_down);
}
