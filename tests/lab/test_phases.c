// SPDX-License-Identifier: Apache-2.0
// The state machine of a rail's controller (runtime/rails/phases.h), without sockets or switches:
// announcements in any order, what is stale or strange, members that are gone, a switch that fails,
// is late or silent. Whoever announces gets exactly one order, whatever happens.

#include "runtime/rails/phases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 6, PHASES = 4, ORDERS = 4096 };
static const uint64_t ms = 1000000;

// Pairs, then a ring of all, then two pairs apart.
static const struct lab_circuit pair_a[] = {{0, 1}, {1, 0}};
static const struct lab_circuit pair_b[] = {{2, 3}, {3, 2}};
static const struct lab_circuit ring[] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 0}};
static const struct lab_circuit pair_c[] = {{4, 5}};
static const struct lab_phase_plan plans[PHASES] = {
    {"pp", 2, pair_a}, {"pp", 2, pair_b}, {"dp", 6, ring}, {"pp", 1, pair_c}};
static const uint32_t at_first[RANKS] = {WEFT_NONE, WEFT_NONE, WEFT_NONE,
                                         WEFT_NONE, WEFT_NONE, WEFT_NONE};

struct desk {
    struct weft_arena arena;
    struct lab_phases_options options;
    struct lab_phases_sink sink;
    struct lab_phases *phases;
    uint32_t outputs[RANKS]; // of the switch
    uint32_t asked[RANKS];
    uint32_t apply_count, order_count, notice_count;
    bool pending; // a change was asked for and not answered
    struct lab_order orders[ORDERS];
    struct lab_notice notices[ORDERS];
};

static void take_order(void *context, const struct lab_order *order)
{
    struct desk *desk = context;
    assert_true(desk->order_count < ORDERS);
    desk->orders[desk->order_count++] = *order;
}

static void take_change(void *context, const uint32_t *outputs)
{
    struct desk *desk = context;
    bool entered[RANKS] = {false};
    assert_false(desk->pending); // one at a time
    for (uint32_t i = 0; i < RANKS; i++) {
        if (outputs[i] != WEFT_NONE) {
            assert_false(entered[outputs[i]]); // a matching
            entered[outputs[i]] = true;
        }
    }
    memcpy(desk->asked, outputs, sizeof desk->asked);
    desk->pending = true;
    desk->apply_count++;
}

static void take_notice(void *context, const struct lab_notice *notice)
{
    struct desk *desk = context;
    assert_true(desk->notice_count < ORDERS);
    desk->notices[desk->notice_count++] = *notice;
}

static void set_up(struct desk *desk, uint64_t gather_ns)
{
    struct weft_error error;
    memset(desk, 0, sizeof *desk);
    assert_true(weft_arena_init(&desk->arena, (size_t)16 << 20, &error));
    memcpy(desk->outputs, at_first, sizeof desk->outputs);
    desk->options = (struct lab_phases_options){.rank_count = RANKS,
                                                .phase_count = PHASES,
                                                .phases = plans,
                                                .outputs = at_first,
                                                .absent_ns = 1000 * ms,
                                                .late_ns = 100 * ms,
                                                .gather_ns = gather_ns,
                                                .failures_max = 3};
    desk->sink = (struct lab_phases_sink){take_order, take_change, take_notice, desk};
    desk->phases = lab_phases_open(&desk->options, &desk->sink, &desk->arena);
}

static void answer(struct desk *desk, bool fine, uint64_t now_ns)
{
    assert_true(desk->pending);
    desk->pending = false;
    if (fine) {
        memcpy(desk->outputs, desk->asked, sizeof desk->outputs);
    }
    lab_phases_applied(desk->phases, fine, desk->outputs, now_ns);
}

// Orders of a generation for a rank, by verdict; LAB_VERDICTS: of any.
static uint32_t count_orders(const struct desk *desk, uint32_t rank, uint64_t generation,
                             enum lab_verdict verdict)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < desk->order_count; i++) {
        const struct lab_order *order = &desk->orders[i];
        count += order->rank == rank && order->generation == generation &&
                 (verdict == LAB_VERDICTS || order->verdict == verdict);
    }
    return count;
}

static uint32_t count_notices(const struct desk *desk, enum lab_verdict verdict)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < desk->notice_count; i++) {
        count += desk->notices[i].verdict == verdict;
    }
    return count;
}

static void test_members_wait_for_each_other(void **state)
{
    (void)state;
    static struct desk desk;
    set_up(&desk, 0);
    lab_phases_announce(desk.phases, 1, 0, 1 * ms);
    lab_phases_tick(desk.phases, 2 * ms);
    assert_int_equal(desk.apply_count, 0); // mutation: a change for the first that comes
    lab_phases_announce(desk.phases, 0, 0, 3 * ms);
    lab_phases_tick(desk.phases, 3 * ms);
    assert_int_equal(desk.apply_count, 1);
    assert_int_equal(desk.order_count, 0);
    answer(&desk, true, 4 * ms);
    assert_int_equal(count_orders(&desk, 0, 0, LAB_LIT), 1);
    assert_int_equal(count_orders(&desk, 1, 0, LAB_LIT), 1);
    assert_int_equal(desk.order_count, 2);
    assert_int_equal(desk.notice_count, 0);
    weft_arena_release(&desk.arena);
}

static void test_queues_while_the_switch_turns(void **state)
{
    (void)state;
    static struct desk desk;
    set_up(&desk, 0);
    lab_phases_announce(desk.phases, 0, 0, 0);
    lab_phases_announce(desk.phases, 1, 0, 0);
    lab_phases_tick(desk.phases, 0);
    lab_phases_announce(desk.phases, 2, 1, 1 * ms);
    lab_phases_announce(desk.phases, 3, 1, 1 * ms);
    lab_phases_announce(desk.phases, 4, 3, 1 * ms);
    lab_phases_announce(desk.phases, 5, 3, 1 * ms);
    lab_phases_tick(desk.phases, 2 * ms);
    assert_int_equal(desk.apply_count, 1);
    answer(&desk, true, 3 * ms);
    assert_int_equal(desk.apply_count, 2); // both that were queued in one
    answer(&desk, true, 4 * ms);
    assert_int_equal(desk.order_count, 6);
    // Nobody disturbed the first pair. Mutation: a change begins with no circuits at all.
    assert_int_equal(desk.outputs[0], 1);
    assert_int_equal(desk.outputs[1], 0);
    assert_int_equal(desk.outputs[4], 5);
    assert_int_equal(desk.outputs[5], WEFT_NONE);
    weft_arena_release(&desk.arena);
}

static void test_gathers(void **state)
{
    (void)state;
    static struct desk desk;
    set_up(&desk, 2 * ms);
    lab_phases_announce(desk.phases, 0, 0, 10 * ms);
    lab_phases_announce(desk.phases, 1, 0, 10 * ms);
    assert_int_equal(lab_phases_tick(desk.phases, 10 * ms), 12 * ms);
    lab_phases_announce(desk.phases, 3, 1, 11 * ms);
    lab_phases_announce(desk.phases, 2, 1, 11 * ms);
    lab_phases_tick(desk.phases, 12 * ms);
    assert_int_equal(desk.apply_count, 1);
    answer(&desk, true, 13 * ms);
    assert_int_equal(desk.order_count, 4); // mutation: no gathering, 2
    weft_arena_release(&desk.arena);
}

static void test_stale_and_strange(void **state)
{
    (void)state;
    static struct desk desk;
    set_up(&desk, 0);
    lab_phases_announce(desk.phases, 0, 4, 0); // an iteration ahead
    assert_int_equal(count_orders(&desk, 0, 4, LAB_STALE), 1);
    lab_phases_announce(desk.phases, 4, 0, 0); // no member
    assert_int_equal(count_orders(&desk, 4, 0, LAB_STRANGE), 1);
    lab_phases_announce(desk.phases, 99, 0, 0); // no rank
    lab_phases_announce(desk.phases, 0, UINT64_MAX, 0);
    lab_phases_announce(desk.phases, 0, 0, 0);
    lab_phases_announce(desk.phases, 0, 0, 0); // twice
    assert_int_equal(count_orders(&desk, 0, 0, LAB_STALE), 1);
    lab_phases_announce(desk.phases, 1, 0, 0);
    lab_phases_tick(desk.phases, 0);
    answer(&desk, true, 1 * ms);
    assert_int_equal(count_orders(&desk, 0, 0, LAB_LIT), 1);
    lab_phases_announce(desk.phases, 0, 0, 2 * ms); // over. Mutation: `<` in place of `!=`
    assert_int_equal(count_orders(&desk, 0, 0, LAB_STALE), 2);
    assert_int_equal(count_notices(&desk, LAB_STALE), 3);
    weft_arena_release(&desk.arena);
}

static void test_absent(void **state)
{
    (void)state;
    static struct desk desk;
    set_up(&desk, 0);
    for (uint32_t r = 0; r < RANKS - 1; r++) {
        lab_phases_announce(desk.phases, r, 2, r * ms);
    }
    assert_int_equal(lab_phases_tick(desk.phases, 500 * ms), 1000 * ms);
    assert_int_equal(desk.order_count, 0);
    lab_phases_tick(desk.phases, 1000 * ms); // mutation: no deadline
    assert_int_equal(desk.order_count, RANKS - 1);
    assert_int_equal(count_orders(&desk, 0, 2, LAB_ABSENT), 1);
    assert_int_equal(desk.notices[0].rank, RANKS - 1);
    lab_phases_announce(desk.phases, RANKS - 1, 2, 1001 * ms); // too late
    assert_int_equal(count_orders(&desk, RANKS - 1, 2, LAB_STALE), 1);
    for (uint32_t r = 0; r < RANKS; r++) { // all together in the next iteration
        lab_phases_announce(desk.phases, r, 2 + PHASES, 1100 * ms);
    }
    lab_phases_tick(desk.phases, 1100 * ms);
    answer(&desk, true, 1101 * ms);
    assert_int_equal(count_orders(&desk, 5, 2 + PHASES, LAB_LIT), 1);
    weft_arena_release(&desk.arena);
}

static void test_gone(void **state)
{
    (void)state;
    static struct desk desk;
    set_up(&desk, 0);
    lab_phases_announce(desk.phases, 0, 0, 0);
    lab_phases_lose(desk.phases, 1, 1 * ms);
    assert_int_equal(count_orders(&desk, 0, 0, LAB_GONE), 1);
    lab_phases_announce(desk.phases, 3, 2, 2 * ms); // a ring with the lost one, at once
    assert_int_equal(count_orders(&desk, 3, 2, LAB_GONE), 1);
    lab_phases_announce(desk.phases, 2, 1, 3 * ms); // a pair without it
    lab_phases_announce(desk.phases, 3, 1, 3 * ms);
    lab_phases_tick(desk.phases, 3 * ms);
    answer(&desk, true, 4 * ms);
    assert_int_equal(count_orders(&desk, 3, 1, LAB_LIT), 1);
    lab_phases_announce(desk.phases, 1, 0, 5 * ms); // nobody hears it
    assert_int_equal(count_orders(&desk, 1, 0, LAB_VERDICTS), 0);
    weft_arena_release(&desk.arena);
}

static void announce_pair(struct desk *desk, uint32_t phase, uint32_t iteration, uint64_t now_ns)
{
    for (uint32_t r = 0; r < RANKS; r++) {
        if (lab_phases_is_member(&desk->options, phase, r)) {
            lab_phases_announce(desk->phases, r, (uint64_t)iteration * PHASES + phase, now_ns);
        }
    }
    lab_phases_tick(desk->phases, now_ns);
}

static void test_late_switch(void **state)
{
    (void)state;
    static struct desk desk;
    set_up(&desk, 0);
    announce_pair(&desk, 0, 0, 0);
    assert_int_equal(lab_phases_tick(desk.phases, 1 * ms), 100 * ms);
    announce_pair(&desk, 1, 0, 50 * ms);
    assert_int_equal(desk.order_count, 0);
    lab_phases_tick(desk.phases, 100 * ms); // mutation: waits for the switch for ever
    assert_int_equal(count_orders(&desk, 0, 0, LAB_LATE), 1);
    assert_int_equal(count_orders(&desk, 2, 1, LAB_BUSY), 1);
    announce_pair(&desk, 3, 0, 110 * ms); // it is not asked while it has not answered
    assert_int_equal(count_orders(&desk, 4, 3, LAB_BUSY), 1);
    assert_int_equal(desk.apply_count, 1);
    answer(&desk, true, 200 * ms); // too late for anybody
    assert_int_equal(desk.order_count, 6);
    announce_pair(&desk, 1, 1, 300 * ms);
    answer(&desk, true, 301 * ms);
    assert_int_equal(count_orders(&desk, 2, 1 + PHASES, LAB_LIT), 1);
    weft_arena_release(&desk.arena);
}

static void test_failures_give_the_switch_up(void **state)
{
    (void)state;
    static struct desk desk;
    set_up(&desk, 0);
    for (uint32_t i = 0; i < 3; i++) {
        announce_pair(&desk, 0, i, i * 10 * ms);
        answer(&desk, false, (i * 10 + 1) * ms);
        assert_int_equal(count_orders(&desk, 1, i * PHASES, LAB_FAILED), 1);
    }
    announce_pair(&desk, 0, 3, 50 * ms);
    assert_int_equal(count_orders(&desk, 1, 3 * PHASES, LAB_GIVEN_UP), 1);
    assert_int_equal(desk.apply_count, 3);
    weft_arena_release(&desk.arena);
}

// A circuit that is said to carry is there.
static void check_lit(const struct desk *desk, const struct lab_order *order)
{
    const struct lab_phase_plan *plan = &plans[order->generation % PHASES];
    for (uint32_t c = 0; c < plan->circuit_count && order->verdict == LAB_LIT; c++) {
        if (plan->circuits[c].from == order->rank) {
            assert_int_equal(desk->outputs[order->rank], plan->circuits[c].to);
        }
    }
}

// Ranks go through their phases in order, each when it likes; the switch answers when it likes and
// fails at times. Everybody gets to the end, with one order for each announcement.
static void test_any_order(void **state)
{
    (void)state;
    static struct desk desk;
    enum { ITERATIONS = 8 };
    for (uint32_t seed = 1; seed <= 300; seed++) {
        uint64_t mix = weft_hash(seed);
        uint32_t at[RANKS] = {0}; // how far: a generation
        bool waits[RANKS] = {false};
        uint32_t heard = 0;
        set_up(&desk, (seed % 3) * ms);
        bool fails = seed % 2 == 0;
        uint64_t now_ns = 0;
        uint32_t idle = 0;
        while (idle < 2000) {
            idle++;
            now_ns += 100000;
            mix = weft_hash(mix);
            uint32_t r = (uint32_t)(mix % RANKS);
            while (at[r] < ITERATIONS * PHASES &&
                   !lab_phases_is_member(&desk.options, at[r] % PHASES, r)) {
                at[r]++;
            }
            if (!waits[r] && at[r] < ITERATIONS * PHASES) {
                waits[r] = true;
                idle = 0;
                lab_phases_announce(desk.phases, r, at[r], now_ns);
            }
            if (desk.pending && mix >> 20 & 1) {
                answer(&desk, !fails || (mix >> 24) % 4 != 0, now_ns);
            }
            lab_phases_tick(desk.phases, now_ns);
            for (; heard < desk.order_count; heard++) {
                const struct lab_order *order = &desk.orders[heard];
                assert_true(waits[order->rank]);
                assert_int_equal(order->generation, at[order->rank]);
                assert_true(fails || order->verdict == LAB_LIT);
                check_lit(&desk, order);
                waits[order->rank] = false;
                at[order->rank]++;
            }
        }
        for (uint32_t r = 0; r < RANKS; r++) {
            if (waits[r] || at[r] < ITERATIONS * PHASES - PHASES) {
                fail_msg("seed %u: rank %u stays at generation %u", seed, r, at[r]);
            }
        }
        weft_arena_release(&desk.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members_wait_for_each_other),
        cmocka_unit_test(test_queues_while_the_switch_turns),
        cmocka_unit_test(test_gathers),
        cmocka_unit_test(test_stale_and_strange),
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_gone),
        cmocka_unit_test(test_late_switch),
        cmocka_unit_test(test_failures_give_the_switch_up),
        cmocka_unit_test(test_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
