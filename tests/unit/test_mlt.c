// SPDX-License-Identifier: Apache-2.0
// MLT's parts one by one: what each kind of message is as bytes and what is none, who is given up
// and when, budgets, classes, and the rate.
//
// Mutations that made this test fail are listed in tests/property/test_mlt.c.

#include "weft/mlt.h"

#include "../mlt_mac.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { EPOCH = 3, COOKIE = 77, SEGMENTS = 20 };

static const struct weft_mlt_step step = {
    .epoch = EPOCH,
    .cookie = COOKIE,
    .limits = {.probe_ps = 10, .probe_max_ps = 40, .patience_ps = 200, .bitmap_bytes = 1}};

struct ends {
    struct weft_mlt_tensor tensor;
    struct weft_mlt_sender sender;
    struct weft_mlt_receiver receiver;
    struct weft_mlt_budget budget;
    uint8_t pending[3], have[3];
};

static void open_ends(struct ends *ends, double bound, uint64_t budget_bytes)
{
    ends->tensor = weft_mlt_tensor_of(0, 1, 10 * SEGMENTS, 10, bound);
    ends->budget = (struct weft_mlt_budget){.limit_bytes = budget_bytes};
    weft_mlt_sender_open(&ends->sender, &step, &ends->tensor, NULL, ends->pending);
    weft_mlt_receiver_open(&ends->receiver, &step, &ends->tensor, &ends->budget, ends->have, 0);
}

static struct weft_mlt_message next(struct ends *ends, uint64_t now_ps)
{
    struct weft_error error;
    struct weft_mlt_message message;
    assert_true(weft_mlt_sender_next(&message, &ends->sender, now_ps, &error));
    return message;
}

static enum weft_mlt_verdict take(struct ends *ends, struct weft_mlt_message *answer,
                                  const struct weft_mlt_message *message)
{
    return weft_mlt_receiver_take(answer, &ends->receiver, message, 1);
}

// ---- messages ----

static const uint8_t data[] = {0xFF, 0x01, 0x80, 3, 4};
static const struct weft_mlt_message messages[] = {
    {.kind = WEFT_MLT_DATA,
     .epoch = 0x01020304,
     .tensor = 9,
     .cookie = 0x1122334455667788,
     .segment = 6,
     .layer = 0x0A0B,
     .important = true,
     .data_bytes = 5,
     .data = data},
    {.kind = WEFT_MLT_PROBE, .epoch = 2, .tensor = 9, .segment = 8, .round = 4},
    {.kind = WEFT_MLT_BITMAP, .segment = 16, .round = 1, .count = 9, .data_bytes = 2, .data = data},
    {.kind = WEFT_MLT_STOP, .epoch = 1, .tensor = 2, .cookie = 3},
    {.kind = WEFT_MLT_REPORT, .epoch = 1, .received = 1ull << 40, .marked = 5},
};

static void messages_are_read_as_written(void **state)
{
    (void)state;
    static const size_t sizes[] = {37, 44, 50, 40, 56};
    for (size_t i = 0; i < 5; i++) {
        uint8_t bytes[64], again[64];
        struct weft_mlt_message message;
        const size_t size = weft_mlt_message_write(bytes, &messages[i], &test_key);
        assert_int_equal(size, sizes[i]);
        assert_int_equal(weft_mlt_message_read(&message, bytes, size, &test_key), WEFT_MLT_READ);
        assert_int_equal(weft_mlt_message_write(again, &message, &test_key), size);
        assert_memory_equal(bytes, again, size);
        for (size_t cut = 0; cut < size; cut++) {
            assert_int_not_equal(weft_mlt_message_read(&message, bytes, cut, &test_key),
                                 WEFT_MLT_READ);
        }
    }
}

static void the_head_is_what_classifiers_read(void **state)
{
    (void)state;
    static const uint8_t expected[] = {
        0x57, 0x4D, 1,    1,    4,    3,    2,    1, 9, 0, 0, 0, 6, 0,    0, 0,    0x88, 0x77, 0x66,
        0x55, 0x44, 0x33, 0x22, 0x11, 0x0B, 0x0A, 1, 0, 5, 0, 0, 0, 0xFF, 1, 0x80, 3,    4};
    uint8_t bytes[64];
    assert_int_equal(weft_mlt_message_write(bytes, &messages[0], &test_key), sizeof expected);
    assert_memory_equal(bytes, expected, sizeof expected);
    assert_int_equal(bytes[WEFT_MLT_LAYER_AT], 0x0B);
    assert_int_equal(bytes[WEFT_MLT_CLASS_AT], 1);
}

// One byte of a message that is none any more. Control has a new MAC, so that the field is looked
// at, but where it is the MAC that is wrong.
static void damaged_messages_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        uint32_t message, at;
        uint8_t value;
        const char *drop;
    } rows[] = {
        {0, 0, 'X', "magic"},   {0, 2, 2, "version"}, {0, 3, 0, "kind"},    {0, 3, 6, "kind"},
        {0, 26, 2, "field"},    {0, 27, 1, "field"},  {0, 28, 4, "length"}, {0, 31, 1, "length"},
        {1, 12, 9, "field"},    {2, 12, 4, "field"},  {2, 28, 0, "length"}, {2, 28, 17, "length"},
        {2, 33, 0x03, "field"}, {3, 12, 8, "field"},  {4, 8, 1, "field"},   {4, 39, 9, "field"},
        {1, 43, 0, "forged"},   {2, 49, 0, "forged"}, {3, 39, 0, "forged"}, {4, 55, 0, "forged"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t bytes[64];
        struct weft_mlt_message message;
        const size_t size = weft_mlt_message_write(bytes, &messages[rows[i].message], &test_key);
        const bool forges = rows[i].message > 0 && rows[i].at >= size - WEFT_MLT_MAC_BYTES;
        bytes[rows[i].at] = (uint8_t)(forges ? bytes[rows[i].at] + 1 : rows[i].value);
        if (rows[i].message > 0 && !forges) {
            test_mac(bytes + size - WEFT_MLT_MAC_BYTES, bytes, size - WEFT_MLT_MAC_BYTES,
                     &test_secret);
        }
        assert_string_equal(
            weft_mlt_drop_name(weft_mlt_message_read(&message, bytes, size, &test_key)),
            rows[i].drop);
    }
}

// ---- trouble ----

static void a_receiver_that_dies_between_stop_and_probe_is_given_up(void **state)
{
    (void)state;
    struct ends ends;
    struct weft_error error;
    struct weft_mlt_message message, answer;
    open_ends(&ends, 0.1, 1000);
    for (uint32_t i = 0; i < SEGMENTS; i++) { // STOP is lost, and then the receiver is gone
        message = next(&ends, 1);
        assert_int_equal(message.kind, WEFT_MLT_DATA);
        take(&ends, &answer, &message);
    }
    assert_int_equal(ends.receiver.state, WEFT_MLT_SATISFIED);
    // PROBEs after 10, 20, 40, 40... from the first one, at 1.
    static const uint64_t probes_ps[] = {1, 11, 31, 71, 111, 151, 191};
    for (size_t i = 0; i < sizeof probes_ps / sizeof *probes_ps; i++) {
        assert_int_equal(weft_mlt_sender_due_ps(&ends.sender), probes_ps[i]);
        if (i > 0) {
            assert_int_equal(next(&ends, probes_ps[i] - 1).kind, WEFT_MLT_NONE);
        }
        assert_int_equal(next(&ends, probes_ps[i]).kind, WEFT_MLT_PROBE);
    }
    assert_int_equal(weft_mlt_sender_due_ps(&ends.sender), 201);
    assert_false(weft_mlt_sender_next(&message, &ends.sender, 201, &error));
    assert_int_equal(error.code, WEFT_IO);
    assert_string_equal(error.message,
                        "tensor 0 of step 3: the receiver has not answered for 200 ps");
}

static void silence_counts_from_the_first_probe(void **state)
{
    (void)state;
    struct ends ends;
    open_ends(&ends, 0.1, 1000);
    for (uint32_t i = 0; i < SEGMENTS; i++) {
        next(&ends, 1);
    }
    assert_int_equal(next(&ends, 5000).kind, WEFT_MLT_PROBE); // the caller was busy meanwhile
}

// A part of the first sweep that comes late says that segments lack which have been sent again.
static void bitmaps_of_former_sweeps_are_dropped(void **state)
{
    (void)state;
    struct ends ends;
    struct weft_mlt_message message, old = {0};
    open_ends(&ends, 0.1, 1000);
    for (uint64_t now_ps = 1; ends.sender.round < 2; now_ps++) {
        message = next(&ends, now_ps);
        if (message.kind == WEFT_MLT_PROBE) {
            take(&ends, &old, &message);
            assert_int_equal(weft_mlt_sender_take(&ends.sender, &old, now_ps), WEFT_MLT_NEW);
        }
    }
    assert_int_equal(ends.sender.resent, SEGMENTS);
    old.segment = 0;
    old.count = 8;
    old.data_bytes = 1;
    assert_int_equal(weft_mlt_sender_take(&ends.sender, &old, 100), WEFT_MLT_DUPLICATE);
    old.round++;
    assert_int_equal(weft_mlt_sender_take(&ends.sender, &old, 100), WEFT_MLT_NEW);
}

// Control comes through, data never do.
static void a_path_that_carries_no_data_is_given_up(void **state)
{
    (void)state;
    struct ends ends;
    struct weft_error error;
    struct weft_mlt_message message, answer;
    uint64_t now_ps = 0;
    open_ends(&ends, 0.1, 1000);
    while (weft_mlt_sender_next(&message, &ends.sender, ++now_ps, &error)) {
        assert_true(now_ps < 1000);
        if (message.kind == WEFT_MLT_PROBE) {
            take(&ends, &answer, &message);
            assert_int_equal(answer.kind, WEFT_MLT_BITMAP);
            weft_mlt_sender_take(&ends.sender, &answer, now_ps);
        }
    }
    assert_string_equal(error.message,
                        "tensor 0 of step 3: 20 of 20 segments are missing, and none of those that "
                        "were sent again in 200 ps arrived");
    assert_false(weft_mlt_receiver_check(&ends.receiver, 200, &error));
    assert_string_equal(error.message, "tensor 0 of step 3: 200 of 200 bytes are missing, 20 may "
                                       "be, and nothing new has come for 200 ps");
    assert_true(weft_mlt_receiver_check(&ends.receiver, 199, &error));
}

static void a_sender_that_never_stops_changes_nothing(void **state)
{
    (void)state;
    struct ends ends;
    struct weft_mlt_message message, answer;
    open_ends(&ends, 0.5, 1000);
    while (ends.receiver.state == WEFT_MLT_OPEN) {
        message = next(&ends, 1);
        take(&ends, &answer, &message);
    }
    const struct weft_mlt_receiver before = ends.receiver;
    for (uint32_t i = 0; i < 1000; i++) {
        message.segment = i % SEGMENTS;
        assert_int_equal(take(&ends, &answer, &message), WEFT_MLT_LATE);
        assert_int_equal(answer.kind, WEFT_MLT_STOP);
    }
    assert_int_equal(ends.receiver.received, before.received);
    assert_int_equal(ends.receiver.missing_bytes, before.missing_bytes);
    assert_int_equal(ends.budget.spent_bytes, 100);
    assert_int_equal(ends.receiver.verdicts[WEFT_MLT_LATE], 1000);
    assert_int_equal(weft_mlt_receiver_due_ps(&ends.receiver), WEFT_NEVER);
}

static void what_does_not_fit_is_not_delivered(void **state)
{
    (void)state;
    struct ends ends;
    struct weft_mlt_message message, answer;
    open_ends(&ends, 0.5, 1000);
    const struct weft_mlt_message good = next(&ends, 1);
    static const struct {
        size_t field;
        uint32_t value;
        enum weft_mlt_verdict verdict;
        enum weft_mlt_kind answer;
    } rows[] = {
        {offsetof(struct weft_mlt_message, epoch), EPOCH - 1, WEFT_MLT_STALE, WEFT_MLT_STOP},
        {offsetof(struct weft_mlt_message, epoch), EPOCH + 1, WEFT_MLT_EARLY, WEFT_MLT_NONE},
        {offsetof(struct weft_mlt_message, cookie), 1, WEFT_MLT_STRANGE, WEFT_MLT_NONE},
        {offsetof(struct weft_mlt_message, tensor), 1, WEFT_MLT_MALFORMED, WEFT_MLT_NONE},
        {offsetof(struct weft_mlt_message, segment), SEGMENTS, WEFT_MLT_MALFORMED, WEFT_MLT_NONE},
        {offsetof(struct weft_mlt_message, layer), 2, WEFT_MLT_MALFORMED, WEFT_MLT_NONE},
        {offsetof(struct weft_mlt_message, data_bytes), 9, WEFT_MLT_MALFORMED, WEFT_MLT_NONE},
        {offsetof(struct weft_mlt_message, kind), WEFT_MLT_STOP, WEFT_MLT_MALFORMED, WEFT_MLT_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        message = good;
        memcpy((char *)&message + rows[i].field, &rows[i].value, sizeof rows[i].value);
        assert_int_equal(take(&ends, &answer, &message), rows[i].verdict);
        assert_int_equal(answer.kind, rows[i].answer);
        assert_int_equal(answer.epoch, answer.kind == WEFT_MLT_STOP ? EPOCH - 1 : 0);
    }
    assert_int_equal(ends.receiver.received, 0);
    assert_int_equal(weft_mlt_receiver_due_ps(&ends.receiver), 200);
    assert_int_equal(take(&ends, &answer, &good), WEFT_MLT_NEW);
    assert_int_equal(take(&ends, &answer, &good), WEFT_MLT_DUPLICATE);
    assert_int_equal(weft_mlt_receiver_due_ps(&ends.receiver), 201);
}

static void senders_believe_their_own_receiver_alone(void **state)
{
    (void)state;
    struct ends ends;
    open_ends(&ends, 0.5, 1000);
    struct weft_mlt_message stop = {.kind = WEFT_MLT_STOP, .epoch = EPOCH, .cookie = COOKIE + 1};
    assert_int_equal(weft_mlt_sender_take(&ends.sender, &stop, 1), WEFT_MLT_STRANGE);
    stop.cookie = COOKIE;
    stop.epoch = EPOCH - 1;
    assert_int_equal(weft_mlt_sender_take(&ends.sender, &stop, 1), WEFT_MLT_STALE);
    stop.epoch = EPOCH;
    stop.tensor = 1;
    assert_int_equal(weft_mlt_sender_take(&ends.sender, &stop, 1), WEFT_MLT_MALFORMED);
    stop.tensor = 0;
    stop.kind = WEFT_MLT_PROBE;
    assert_int_equal(weft_mlt_sender_take(&ends.sender, &stop, 1), WEFT_MLT_MALFORMED);
    assert_int_equal(ends.sender.state, WEFT_MLT_SENDING);
    stop.kind = WEFT_MLT_STOP;
    assert_int_equal(weft_mlt_sender_take(&ends.sender, &stop, 1), WEFT_MLT_NEW);
    assert_int_equal(ends.sender.state, WEFT_MLT_DONE);
    assert_int_equal(weft_mlt_sender_due_ps(&ends.sender), WEFT_NEVER);
}

static void the_budget_holds_a_tensor_back(void **state)
{
    (void)state;
    struct ends ends;
    struct weft_mlt_message message, answer;
    open_ends(&ends, 0.5, 95); // 10 segments may be missing, of which the budget covers 9
    for (uint32_t i = 0; i < 11; i++) {
        message = next(&ends, 1);
        take(&ends, &answer, &message);
        assert_int_equal(answer.kind, i < 10 ? WEFT_MLT_NONE : WEFT_MLT_STOP);
    }
    assert_int_equal(ends.budget.spent_bytes, 90);
}

// ---- classes, bounds, rate ----

static void bounds_are_decimal_numbers(void **state)
{
    (void)state;
    assert_int_equal(weft_mlt_bound_bytes(0.29, 100), 29);
    assert_int_equal(weft_mlt_bound_bytes(0.1, 1999), 199);
    assert_int_equal(weft_mlt_bound_bytes(0, UINT64_MAX), 0);
    assert_int_equal(weft_mlt_bound_bytes(1, UINT64_MAX), UINT64_MAX);
    const struct weft_mlt_tensor tensor = weft_mlt_tensor_of(4, 2, 2001, 1000, 0.1);
    assert_int_equal(tensor.segment_count, 3);
    assert_int_equal(tensor.last_bytes, 1);
    assert_int_equal(tensor.bound_bytes, 200);
    assert_int_equal(weft_mlt_tensor_bytes(&tensor), 2001);
}

static void the_smallest_norms_are_unimportant(void **state)
{
    (void)state;
    static const float values[] = {3, 4, 0, 0, -1, 0, 0, 1, NAN, 0, 2, 0, 30};
    double norms[7];
    uint8_t important[1];
    struct weft_arena scratch;
    struct weft_error error;
    assert_true(weft_arena_init(&scratch, 0, &error));
    weft_mlt_norms(norms, values, 13, 2);
    assert_true(norms[0] == 5 && norms[1] == 0 && norms[3] == 1 && norms[6] == 30);
    // Norms 5 0 1 1 nan 2 30: of equal ones the first.
    static const uint8_t expected[] = {0x7F, 0x7D, 0x79, 0x71, 0x51, 0x50, 0x10, 0};
    for (uint32_t k = 0; k <= 7; k++) {
        weft_mlt_classes(important, norms, 7, k == 7 ? 1 : (k + 0.5) / 7, scratch);
        assert_int_equal(important[0], k == 7 ? 0 : expected[k]);
    }
    assert_int_equal(weft_mlt_queue(4, 0, 10), 0);
    assert_int_equal(weft_mlt_queue(4, 2, 10), 0);
    assert_int_equal(weft_mlt_queue(4, 3, 10), 1);
    assert_int_equal(weft_mlt_queue(4, 9, 10), 3);
    weft_arena_release(&scratch);
}

static void marks_cut_the_rate_and_losses_within_the_bound_do_not(void **state)
{
    (void)state;
    struct weft_mlt_rate rate;
    weft_mlt_rate_open(&rate, 10, 1000, 100);
    struct weft_mlt_message report = {.received = 100, .marked = 100};
    assert_true(weft_mlt_rate_report(&rate, &report)); // all marked: halved
    assert_true(rate.rate_Bps == 500);
    assert_false(weft_mlt_rate_report(&rate, &report)); // doubled on its path
    report.received = 200;
    assert_true(weft_mlt_rate_report(&rate, &report));
    assert_true(rate.rate_Bps == 600 && rate.marked_ratio == 15.0 / 16);
    report.received = 150; // overtaken
    assert_false(weft_mlt_rate_report(&rate, &report));
    report = (struct weft_mlt_message){.epoch = 1, .received = 50}; // counts begin anew
    assert_true(weft_mlt_rate_report(&rate, &report));
    assert_true(rate.rate_Bps == 700);
    weft_mlt_rate_lost(&rate, 0.05, 0.1);
    weft_mlt_rate_lost(&rate, 0.1, 0.1);
    assert_true(rate.rate_Bps == 700);
    weft_mlt_rate_lost(&rate, 0.6, 0.1);
    assert_true(rate.rate_Bps == 525);
    for (int i = 0; i < 20; i++) {
        weft_mlt_rate_silent(&rate);
    }
    assert_true(rate.rate_Bps == 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_read_as_written),
        cmocka_unit_test(the_head_is_what_classifiers_read),
        cmocka_unit_test(damaged_messages_are_refused_by_name),
        cmocka_unit_test(a_receiver_that_dies_between_stop_and_probe_is_given_up),
        cmocka_unit_test(silence_counts_from_the_first_probe),
        cmocka_unit_test(bitmaps_of_former_sweeps_are_dropped),
        cmocka_unit_test(a_path_that_carries_no_data_is_given_up),
        cmocka_unit_test(a_sender_that_never_stops_changes_nothing),
        cmocka_unit_test(what_does_not_fit_is_not_delivered),
        cmocka_unit_test(senders_believe_their_own_receiver_alone),
        cmocka_unit_test(the_budget_holds_a_tensor_back),
        cmocka_unit_test(bounds_are_decimal_numbers),
        cmocka_unit_test(the_smallest_norms_are_unimportant),
        cmocka_unit_test(marks_cut_the_rate_and_losses_within_the_bound_do_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
