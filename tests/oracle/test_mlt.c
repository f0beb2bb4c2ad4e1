// SPDX-License-Identifier: Apache-2.0
// MLT against what can be counted by hand: when STOP comes, what is sent again, what a ring keeps,
// and that rescaling is unbiased.
//
// Mutations that made this test fail are listed in tests/property/test_mlt.c.

#include "weft/mlt.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { SEGMENTS = 1000, SEGMENT_BYTES = 1024 };

// A path without delay between one sender and one receiver.
struct path {
    struct weft_mlt_step step;
    struct weft_mlt_tensor tensor;
    struct weft_mlt_sender sender;
    struct weft_mlt_receiver receiver;
    uint8_t important[SEGMENTS / 8];
    uint8_t pending[SEGMENTS / 8];
    uint8_t have[SEGMENTS / 8];
    uint32_t data_sent;   // until DONE
    uint32_t bitmap_size; // of the last BITMAP
    uint32_t stop_after;  // segments that had arrived
    bool stop_in_pass;    // the first
    uint64_t now_ps;
};

static void open_path(struct path *path, double bound)
{
    memset(path, 0, sizeof *path);
    path->step = (struct weft_mlt_step){
        .epoch = 7,
        .cookie = 0x1234,
        .limits = {
            .probe_ps = 100, .probe_max_ps = 800, .patience_ps = 5000, .bitmap_bytes = 1400}};
    path->tensor =
        weft_mlt_tensor_of(0, 3, (uint64_t)SEGMENTS * SEGMENT_BYTES, SEGMENT_BYTES, bound);
    memset(path->important, 0x55, sizeof path->important);
    weft_mlt_sender_open(&path->sender, &path->step, &path->tensor, path->important, path->pending);
    weft_mlt_receiver_open(&path->receiver, &path->step, &path->tensor, NULL, path->have, 0);
}

// Sends until DONE; of the first pass, the segments whose place in the order of sending `lost` has.
static void play(struct path *path, bool (*lost)(uint32_t place))
{
    struct weft_error error;
    struct weft_mlt_message message, answer;
    while (path->sender.state != WEFT_MLT_DONE) {
        path->now_ps += 1;
        assert_true(weft_mlt_sender_next(&message, &path->sender, path->now_ps, &error));
        const bool first_pass = message.kind == WEFT_MLT_DATA && !message.resent;
        path->data_sent += message.kind == WEFT_MLT_DATA;
        if (message.kind == WEFT_MLT_NONE || (first_pass && lost(path->data_sent - 1))) {
            continue;
        }
        weft_mlt_receiver_take(&answer, &path->receiver, &message, path->now_ps);
        if (answer.kind == WEFT_MLT_BITMAP) {
            path->bitmap_size = answer.data_bytes;
        }
        if (answer.kind == WEFT_MLT_STOP) {
            path->stop_after = path->receiver.received;
            path->stop_in_pass = first_pass;
        }
        if (answer.kind != WEFT_MLT_NONE) {
            assert_int_equal(weft_mlt_sender_take(&path->sender, &answer, path->now_ps),
                             WEFT_MLT_NEW);
        }
    }
}

static bool none(uint32_t place)
{
    return place == WEFT_NONE;
}
static bool every_fifteenth(uint32_t place)
{
    return place % 15 == 3 && place < 900;
}
static bool first_120(uint32_t place)
{
    return place < 120;
}

static void stop_comes_at_the_900th_distinct_segment(void **state)
{
    (void)state;
    struct path path;
    open_path(&path, 0.1);
    play(&path, none);
    assert_int_equal(path.stop_after, 900);
    assert_int_equal(path.data_sent, 900);
    assert_int_equal(path.receiver.missing_bytes, 100 * SEGMENT_BYTES);
    assert_int_equal(path.sender.probes, 0);
}

static void sixty_lost_stop_in_the_first_pass(void **state)
{
    (void)state;
    struct path path;
    open_path(&path, 0.1);
    play(&path, every_fifteenth);
    assert_true(path.stop_in_pass);
    assert_int_equal(path.stop_after, 900);
    assert_int_equal(path.data_sent, 960);
    assert_int_equal(path.sender.probes, 0);
    assert_int_equal(path.sender.resent, 0);
}

static void of_120_lost_twenty_are_sent_again(void **state)
{
    (void)state;
    struct path path;
    open_path(&path, 0.1);
    play(&path, first_120);
    assert_false(path.stop_in_pass);
    assert_int_equal(path.sender.sent, 1000);
    assert_int_equal(path.sender.probes, 1);
    assert_int_equal(path.bitmap_size, 125);
    assert_int_equal(path.sender.missing, 120);
    assert_int_equal(path.sender.resent, 20);
    assert_int_equal(path.stop_after, 900);
    // The first 120 were important ones, and twenty of these came in the end.
    uint32_t missing = 0;
    for (uint32_t i = 0; i < SEGMENTS; i++) {
        missing += weft_mlt_bit(path.important, i) && !weft_mlt_bit(path.have, i);
    }
    assert_int_equal(missing, 100);
}

static void a_protected_tensor_loses_nothing(void **state)
{
    (void)state;
    struct path path;
    open_path(&path, 0);
    play(&path, first_120);
    assert_int_equal(path.receiver.missing_bytes, 0);
    assert_int_equal(path.sender.resent, 120);
}

static void rings_keep_the_published_share(void **state)
{
    (void)state;
    static const struct {
        uint32_t n;
        double q, kept;
    } rows[] = {{8, 0.01, 0.9657},  {8, 0.03, 0.9011},  {8, 0.1, 0.7119},
                {64, 0.01, 0.7413}, {64, 0.03, 0.4467}, {64, 0.1, 0.1561}};
    static const struct {
        uint32_t n;
        double q;
    } hops[] = {{4, 0.0699}, {8, 0.0303}, {16, 0.0142}, {64, 0.0034}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(fabs(weft_mlt_ring_kept(rows[i].n, rows[i].q) - rows[i].kept) < 5e-5);
    }
    for (size_t i = 0; i < sizeof hops / sizeof *hops; i++) {
        const double q = weft_mlt_bound_per_hop(hops[i].n, 0.1);
        assert_true(fabs(q - hops[i].q) < 5e-5);
        assert_true(fabs(weft_mlt_ring_kept(hops[i].n, q) - 0.9) < 1e-12);
    }
    assert_true(weft_mlt_ring_kept(5, 0) == 1 && weft_mlt_ring_kept(5, 1) == 0.2);
    assert_true(weft_mlt_bound_per_hop(2, 0.5) == 1 && weft_mlt_bound_per_hop(9, 0) == 0);
}

// The ring itself: a contribution is added at one rank and carried over h hops to the last.
static void the_ring_by_all_patterns(void **state)
{
    (void)state;
    const double q = 0.13;
    for (uint32_t n = 1; n <= 8; n++) {
        double kept = 0;
        for (uint32_t pattern = 0; pattern < 1u << (n - 1); pattern++) { // hops that zero-fill
            double probability = 1;
            uint32_t alive = 1; // contributions in the sum; a hop that loses begins anew
            for (uint32_t h = 0; h + 1 < n; h++) {
                const bool is_lost = (pattern >> h & 1) != 0;
                probability *= is_lost ? q : 1 - q;
                alive = is_lost ? 1 : alive + 1;
            }
            kept += probability * alive / n;
        }
        assert_true(fabs(kept - weft_mlt_ring_kept(n, q)) < 1e-12);
    }
}

// All patterns of loss of a small tensor, each with its probability: zero fill gives (1 - q) g, and
// rescaling by the share that came gives g, where something came. By 1 / (1 - q) the variance is
// q / (1 - q) g^2 of each segment.
static void rescaling_is_unbiased(void **state)
{
    (void)state;
    enum { N = 8 };
    static const double g[N] = {1, -2, 3.5, 0.25, -7, 11, 0, 4};
    const double q = 0.2;
    struct weft_mlt_step step = {.limits = {.probe_ps = 1, .probe_max_ps = 1, .bitmap_bytes = 1}};
    const struct weft_mlt_tensor tensor = weft_mlt_tensor_of(0, 0, 8L * N, 8, 0.5);
    double zero[N] = {0}, scaled[N] = {0}, square[N] = {0}, some = 0;
    for (uint32_t pattern = 0; pattern < 1u << N; pattern++) {
        struct weft_mlt_receiver receiver;
        uint8_t have[1];
        const int came = __builtin_popcount(pattern);
        const double probability = pow(1 - q, came) * pow(q, N - came);
        weft_mlt_receiver_open(&receiver, &step, &tensor, NULL, have, 0);
        receiver.missing_bytes = 8 * (uint64_t)(N - came);
        const double scale = weft_mlt_scale(&receiver);
        some += came > 0 ? probability : 0;
        for (uint32_t i = 0; i < N; i++) {
            const double value = (pattern >> i & 1) != 0 ? g[i] : 0;
            const double error = value / (1 - q) - g[i];
            zero[i] += probability * value;
            scaled[i] += probability * value * scale;
            square[i] += probability * error * error;
        }
    }
    for (uint32_t i = 0; i < N; i++) {
        assert_true(fabs(zero[i] - (1 - q) * g[i]) < 1e-12);
        assert_true(fabs(scaled[i] - some * g[i]) < 1e-12);
        assert_true(fabs(square[i] - q / (1 - q) * g[i] * g[i]) < 1e-12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stop_comes_at_the_900th_distinct_segment),
        cmocka_unit_test(sixty_lost_stop_in_the_first_pass),
        cmocka_unit_test(of_120_lost_twenty_are_sent_again),
        cmocka_unit_test(a_protected_tensor_loses_nothing),
        cmocka_unit_test(rings_keep_the_published_share),
        cmocka_unit_test(the_ring_by_all_patterns),
        cmocka_unit_test(rescaling_is_unbiased),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
