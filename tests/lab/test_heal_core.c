// SPDX-License-Identifier: Apache-2.0
// The parts of healing without sockets (runtime/heal/core) and its checkpoints, one by one: the
// ring and where it resumes, spares and switches, the learnt interval of heartbeats, what members
// obey and take. The whole is in test_heal_twin.c.
//
// Mutations that made it fail: a switch for each edge chosen greedily; spares in the order of their
// numbers; spares with which the fewest edges move, however far; an interval that data between two
// heartbeats shorten, or that is learnt from data, too; a checkpoint whose checksum is not looked
// at; a RESUME whose step, or that parameters are awaited, is not looked at; parameters that are
// taken while frozen, not awaited, or of another step; a spare that takes those of its own step
// again; a COMMIT of another step; orders of former epochs that are obeyed; a report of each
// parameters that came to a spare (an assertion then).

#include "runtime/heal/checkpoint.h"
#include "runtime/heal/core/heartbeat.h"
#include "runtime/heal/core/machine.h"
#include "runtime/heal/core/member.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS_MAX = 7, CHUNK = 2 };
static const uint64_t ms = 1000000;

struct ring {
    struct weft_arena arena;
    struct weft_rng rng;
    uint32_t count;
    struct lab_heal_work works[RANKS_MAX];
};

static void open_ring(struct ring *ring, uint32_t count, uint64_t seed)
{
    struct weft_error error;
    ring->count = count;
    weft_rng_init(&ring->rng, seed);
    assert_true(weft_arena_init(&ring->arena, (size_t)16 << 20, &error));
    for (uint32_t r = 0; r < count; r++) {
        lab_heal_work_init(&ring->works[r], r, count, CHUNK, &ring->arena);
        lab_heal_begin(&ring->works[r]);
    }
}

// Sends one message from a rank that is drawn, if it has one; the message arrives at once.
static bool pass_one(struct ring *ring)
{
    uint32_t n = ring->count;
    uint32_t first = weft_rng_below(&ring->rng, 2 * n);
    for (uint32_t i = 0; i < 2 * n; i++) {
        uint32_t rank = (first + i) % (2 * n) / 2;
        uint32_t lane = (first + i) % 2;
        struct lab_heal_message message;
        if (lab_heal_next(&message, &ring->works[rank], lane)) {
            uint32_t to = (lane == 0 ? rank + 1 : rank + n - 1) % n;
            ring->works[rank].lanes[lane].sent++;
            assert_true(lab_heal_take(&ring->works[to], &message));
            return true;
        }
    }
    return false;
}

static void every_moment_can_be_resumed(void **state)
{
    (void)state;
    for (uint32_t n = 3; n <= RANKS_MAX; n++) {
        uint32_t all = 2 * n * lab_heal_messages(n);
        for (uint32_t moment = 0; moment <= all; moment++) {
            struct ring ring;
            bool fresh[RANKS_MAX] = {false};
            struct lab_heal_lane lanes[RANKS_MAX][LAB_HEAL_LANES];
            open_ring(&ring, n, n * 1000 + moment);
            for (uint32_t i = 0; i < moment; i++) {
                assert_true(pass_one(&ring));
            }
            uint32_t lost = weft_rng_below(&ring.rng, n);
            fresh[lost] = true;
            fresh[(lost + 1) % n] = moment % 3 == 0 && n > 3; // two at once
            for (uint32_t r = 0; r < n; r++) {
                memcpy(lanes[r], ring.works[r].lanes, sizeof lanes[r]);
                if (fresh[r]) {
                    lab_heal_begin(&ring.works[r]);
                    memset(lanes[r], 0, sizeof lanes[r]);
                }
            }
            assert_true(lab_heal_resume(lanes, fresh, n)); // nobody was replaced before
            uint32_t again = 0;
            for (uint32_t r = 0; r < n; r++) {
                // Survivors keep what they have.
                assert_true(fresh[r] || lanes[r][0].received == ring.works[r].lanes[0].received);
                memcpy(ring.works[r].lanes, lanes[r], sizeof lanes[r]);
            }
            while (pass_one(&ring)) {
                again++;
            }
            assert_true(again <= all);
            for (uint32_t r = 0; r < n; r++) {
                assert_true(lab_heal_complete(&ring.works[r]));
                assert_int_equal(lab_heal_wrong(&ring.works[r]), 0);
            }
            weft_arena_release(&ring.arena);
        }
    }
}

// ---- spares and switches ----

static struct lab_heal_rack rack_of(uint32_t ranks, uint32_t spares, uint32_t planes)
{
    struct weft_error error;
    struct lab_heal_rack rack = {.rank_count = ranks,
                                 .host_count = ranks + spares,
                                 .plane_count = planes,
                                 .spare_first = ranks,
                                 .spare_end = ranks + spares,
                                 .server_hosts = 2,
                                 .rack_servers = 2};
    assert_true(lab_heal_rack_build(&rack, &error));
    return rack;
}

static void rings_need_enough_switches(void **state)
{
    (void)state;
    struct weft_error error;
    struct lab_heal_rack odd = {
        .rank_count = 5, .host_count = 5, .plane_count = 2, .server_hosts = 1, .rack_servers = 1};
    assert_false(lab_heal_rack_build(&odd, &error));
    assert_int_equal(error.code, WEFT_INPUT);
    odd.plane_count = 3;
    assert_true(lab_heal_rack_build(&odd, &error));
    for (uint32_t e = 0; e < 5; e++) {
        assert_int_not_equal(odd.plane[e], odd.plane[(e + 1) % 5]);
    }
}

// Servers of two, racks of two servers: spare 8 in server 0, 9 in 1, 10 in 2, 11 in 3.
static void the_nearest_spare_comes_first(void **state)
{
    (void)state;
    struct lab_heal_rack rack = rack_of(8, 4, 3);
    struct lab_heal_repair repair;
    rack.host_lost[5] = true; // of server 2
    assert_true(lab_heal_repair(&rack, &repair));
    assert_int_equal(rack.host[5], 10);
    assert_int_equal(repair.farthest, LAB_HEAL_SERVER);
    rack.host_lost[4] = true; // of server 2, too: its spare is taken
    assert_true(lab_heal_repair(&rack, &repair));
    assert_int_equal(rack.host[4], 11);
    assert_int_equal(repair.farthest, LAB_HEAL_RACK);
    rack.host_lost[10] = true;
    assert_true(lab_heal_repair(&rack, &repair));
    assert_int_equal(repair.farthest, LAB_HEAL_AWAY);
    assert_int_equal(repair.moved_count, 0);
    rack.host_lost[0] = true;
    assert_true(lab_heal_repair(&rack, &repair));
    rack.host_lost[1] = true;
    const struct lab_heal_rack before = rack;
    assert_false(lab_heal_repair(&rack, &repair)); // none is left
    assert_memory_equal(&before, &rack, sizeof rack);
}

static void dead_ports_and_switches_move_edges(void **state)
{
    (void)state;
    struct lab_heal_repair repair;
    struct lab_heal_rack rack = rack_of(8, 1, 3);
    uint32_t kept = rack.plane[3];
    rack.port_lost[3][kept] = true;
    assert_true(lab_heal_repair(&rack, &repair));
    assert_int_equal(repair.replaced_count, 0);
    assert_int_equal(repair.moved_count, 1);
    rack.plane_lost[1] = true; // the moved edge has a third switch, so that not all can go there
    bool healed = lab_heal_repair(&rack, &repair);
    assert_true(healed && repair.replaced_count <= 1);
    struct lab_heal_rack tight = rack_of(8, 1, 2);
    tight.port_lost[3][0] = true;
    assert_true(lab_heal_repair(&tight, &repair)); // by another host, as there is no third switch
    assert_int_equal(repair.replaced_count, 1);
    assert_int_equal(tight.host[3], 8);
}

// The fewest edges that change, by trying all.
static uint32_t least_changes(const struct lab_heal_rack *rack)
{
    uint32_t best = WEFT_NONE;
    uint32_t total = 1;
    for (uint32_t e = 0; e < rack->rank_count; e++) {
        total *= rack->plane_count;
    }
    for (uint32_t code = 0; code < total; code++) {
        uint32_t plane[RANKS_MAX];
        uint32_t changes = 0;
        bool fits = true;
        uint32_t left = code;
        for (uint32_t e = 0; e < rack->rank_count; e++, left /= rack->plane_count) {
            plane[e] = left % rack->plane_count;
            changes += plane[e] != rack->plane[e];
            uint32_t next = (e + 1) % rack->rank_count;
            fits = fits && !rack->plane_lost[plane[e]] && !rack->port_lost[e][plane[e]] &&
                   !rack->port_lost[next][plane[e]];
        }
        for (uint32_t e = 0; e < rack->rank_count; e++) {
            fits = fits && plane[e] != plane[(e + 1) % rack->rank_count];
        }
        best = fits && changes < best ? changes : best;
    }
    return best;
}

static void as_few_edges_move_as_can(void **state)
{
    (void)state;
    struct weft_rng rng;
    uint32_t healed = 0;
    weft_rng_init(&rng, 5);
    for (uint32_t trial = 0; trial < 400; trial++) {
        struct lab_heal_rack rack =
            rack_of(3 + weft_rng_below(&rng, 4), 0, 3 + weft_rng_below(&rng, 2));
        struct lab_heal_repair repair;
        for (uint32_t i = 0; i < 1 + trial % 3; i++) {
            rack.port_lost[weft_rng_below(&rng, rack.rank_count)]
                          [weft_rng_below(&rng, rack.plane_count)] = true;
        }
        rack.plane_lost[0] = trial % 5 == 0;
        uint32_t least = least_changes(&rack);
        bool found = lab_heal_repair(&rack, &repair);
        assert_true(found == (least != WEFT_NONE));
        assert_true(!found || repair.moved_count == least);
        healed += found;
    }
    assert_true(healed > 100);
}

// ---- heartbeats ----

static void the_interval_of_heartbeats_is_learnt(void **state)
{
    (void)state;
    struct lab_heal_pulse pulse;
    uint64_t now_ns = 1000 * ms;
    lab_heal_pulse_begin(&pulse, 20 * ms, now_ns);
    for (uint32_t i = 0; i < 200; i++) {
        now_ns += 20 * ms;
        lab_heal_pulse_heard(&pulse, now_ns - 5 * ms); // data between two heartbeats
        assert_true(lab_heal_pulse_due_ns(&pulse) > now_ns);
        lab_heal_pulse_beat(&pulse, now_ns);
    }
    uint64_t calm_ns = lab_heal_pulse_due_ns(&pulse) - now_ns;
    assert_in_range(calm_ns, 100 * ms, 102 * ms);
    for (uint32_t i = 0; i < 200; i++) {
        now_ns += i % 2 == 0 ? 5 * ms : 75 * ms;
        lab_heal_pulse_beat(&pulse, now_ns);
    }
    uint64_t busy_ns = lab_heal_pulse_due_ns(&pulse) - now_ns;
    assert_in_range(busy_ns, 320 * ms, 480 * ms); // 5 * 40 + 6 * 35
    for (uint32_t i = 0; i < 200; i++) {
        now_ns += 60 * ms;
        lab_heal_pulse_heard(&pulse, now_ns - 5 * ms);
        lab_heal_pulse_beat(&pulse, now_ns);
    }
    uint64_t slow_ns = lab_heal_pulse_due_ns(&pulse) - now_ns; // slower than they are sent
    assert_in_range(slow_ns, 299 * ms, 302 * ms);
}

// ---- members ----

enum { RANKS = 3 };

static struct lab_heal_member member_of(struct weft_arena *arena)
{
    struct weft_error error;
    struct lab_heal_work work;
    struct lab_heal_member member;
    assert_true(weft_arena_init(arena, (size_t)1 << 20, &error));
    lab_heal_work_init(&work, WEFT_NONE, RANKS, CHUNK, arena);
    lab_heal_member_init(&member, 0, WEFT_NONE, &work, ms);
    return member;
}

static bool obeys(struct lab_heal_member *member, enum lab_heal_order_kind kind, uint32_t epoch,
                  uint32_t step, uint32_t flags)
{
    struct weft_error error;
    const struct lab_heal_order order = {.magic = LAB_HEAL_MAGIC,
                                         .kind = kind,
                                         .epoch = epoch,
                                         .step = step,
                                         .rank = 1,
                                         .flags = flags};
    bool fine = lab_heal_obey(member, &order, 0, &error);
    assert_true(fine || error.code == WEFT_INFEASIBLE);
    return fine;
}

static void orders_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    struct weft_arena arena;
    struct lab_heal_member member = member_of(&arena);
    // Nobody goes on with parameters of another step, or with none.
    assert_false(obeys(&member, LAB_HEAL_RESUME, 1, 3, 0));
    assert_true(member.epoch == 0 && member.work.rank == WEFT_NONE);
    assert_true(obeys(&member, LAB_HEAL_RESUME, 1, 3, LAB_HEAL_FROM_PREV));
    assert_true(member.awaits_state && member.work.rank == 1);
    assert_true(obeys(&member, LAB_HEAL_FREEZE, 2, 0, 0));
    assert_int_equal(member.reports[0].step, WEFT_NONE);
    assert_false(obeys(&member, LAB_HEAL_RESUME, 2, member.work.step, 0));
    assert_true(obeys(&member, LAB_HEAL_RESUME, 1, 3, LAB_HEAL_FROM_PREV)); // of a former epoch
    assert_true(member.frozen && member.epoch == 2);
    // No step is done that is another, or not complete.
    assert_true(obeys(&member, LAB_HEAL_RESUME, 2, 0, LAB_HEAL_FROM_FILE));
    assert_true(lab_heal_take_state(&member, member.work.state, 0));
    lab_heal_advance(&member, ms);
    assert_true(member.work.begun);
    assert_false(obeys(&member, LAB_HEAL_COMMIT, 2, 0, 0));
    member.work.lanes[0].received = member.work.lanes[1].received = lab_heal_messages(RANKS);
    assert_false(obeys(&member, LAB_HEAL_COMMIT, 2, 1, 0));
    assert_true(obeys(&member, LAB_HEAL_COMMIT, 2, 0, 0));
    assert_int_equal(member.work.step, 1);
    weft_arena_release(&arena);
}

static void parameters_are_taken_where_they_are_due(void **state)
{
    (void)state;
    struct weft_arena arena;
    struct lab_heal_member member = member_of(&arena);
    uint32_t others[LAB_HEAL_LANES * RANKS * CHUNK];
    const uint32_t *own = member.work.state;
    for (uint32_t i = 0; i < sizeof others / sizeof *others; i++) {
        others[i] = ~own[i];
    }
    // A spare takes those of a later step alone, and says once what it has at last.
    for (uint32_t step = 1; step < 40; step++) {
        assert_true(lab_heal_take_state(&member, others, step));
        others[0]++;
        assert_false(lab_heal_take_state(&member, others, step));
        assert_int_equal(own[0], others[0] - 1);
    }
    assert_int_equal(member.report_count, 1);
    assert_true(member.reports[0].kind == LAB_HEAL_KEPT && member.reports[0].step == 39);
    // A rank takes none that are not due, nor while it is frozen, nor of another step.
    assert_true(obeys(&member, LAB_HEAL_RESUME, 1, 39, 0));
    assert_false(lab_heal_take_state(&member, others, 39));
    assert_true(obeys(&member, LAB_HEAL_RESUME, 2, 40, LAB_HEAL_FROM_NEXT));
    assert_true(obeys(&member, LAB_HEAL_FREEZE, 3, 40, 0));
    assert_false(lab_heal_take_state(&member, others, 40));
    assert_true(obeys(&member, LAB_HEAL_RESUME, 3, 40, LAB_HEAL_FROM_NEXT));
    assert_false(lab_heal_take_state(&member, others, 41));
    assert_int_equal(own[0], others[0] - 1);
    lab_heal_advance(&member, ms);
    assert_false(member.work.begun); // not with parameters of another step
    assert_true(lab_heal_take_state(&member, others, 40));
    assert_int_equal(own[0], others[0]);
    lab_heal_advance(&member, ms);
    assert_true(member.work.begun && member.work.step == 40);
    weft_arena_release(&arena);
}

// ---- checkpoints ----

static void damaged_checkpoints_are_refused(void **state)
{
    (void)state;
    struct weft_arena arena;
    struct weft_error error;
    struct lab_heal_work work;
    struct lab_heal_work other;
    char path[] = "heal-checkpoint-XXXXXX";
    uint32_t step = 0;
    char bytes[512];
    int fd = mkstemp(path);
    assert_true(fd >= 0 && weft_arena_init(&arena, (size_t)16 << 20, &error));
    lab_heal_work_init(&work, 0, 4, 3, &arena);
    lab_heal_work_init(&other, 0, 4, 3, &arena);
    work.step = 7;
    work.state[5] = 77;
    assert_true(lab_heal_checkpoint_save(path, &work, &error));
    assert_true(lab_heal_checkpoint_load(other.state, &step, path, &work, arena, &error));
    assert_int_equal(step, 7);
    assert_int_equal(lab_heal_checkpoint_step(path), 7);
    assert_memory_equal(other.state, work.state, lab_heal_elements(&work) * sizeof *work.state);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (size_t i = 0; i < length; i++) {
        bytes[i] ^= 4;
        assert_false(lab_heal_checkpoint_parse(other.state, &step, bytes, length, &work, &error));
        assert_int_equal(error.code, WEFT_INPUT);
        bytes[i] ^= 4;
        assert_false(lab_heal_checkpoint_parse(other.state, &step, bytes, i, &work, &error));
    }
    lab_heal_work_init(&other, 0, 5, 3, &arena);
    assert_false(lab_heal_checkpoint_load(other.state, &step, path, &other, arena, &error));
    remove(path);
    weft_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_moment_can_be_resumed),
        cmocka_unit_test(rings_need_enough_switches),
        cmocka_unit_test(the_nearest_spare_comes_first),
        cmocka_unit_test(dead_ports_and_switches_move_edges),
        cmocka_unit_test(as_few_edges_move_as_can),
        cmocka_unit_test(the_interval_of_heartbeats_is_learnt),
        cmocka_unit_test(orders_that_do_not_fit_are_refused),
        cmocka_unit_test(parameters_are_taken_where_they_are_due),
        cmocka_unit_test(damaged_checkpoints_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
