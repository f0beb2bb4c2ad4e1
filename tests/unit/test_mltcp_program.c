// SPDX-License-Identifier: Apache-2.0
// The kernel's MLTCP as plain C: the test is the kernel, with one connection and its own clock, so
// that what takes long round trips or rare events on a real kernel is exact here.
//
// Mutations of bpf/mltcp/mltcp.bpf.c that these tests caught: SYN's byte counted in an iteration,
// or alone taken for one; CUBIC's elapsed time, its Reno-friendly window or Reno's growth without
// F; half of CUBIC's C, Reno's half in place of its beta, a plateau that is not where the reduction
// began, an epoch that goes on in silence; growth of a window that does not limit; a restart that
// leaves the window or the threshold of before for an undo to bring back; an undo that brings back
// neither.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "../../bpf/mltcp/mltcp.bpf.c" // NOLINT(bugprone-suspicious-include)
#pragma GCC diagnostic pop

// ---- the kernel ----

static const uint64_t ms_ns = 1000000;

static struct {
    uint64_t now_ns;
    struct tcp_sock tp;
    struct mltcp_connection connection;
    struct mltcp_job job;
    bool connection_there;
    bool job_there;
} kernel;

static struct sock *socket_of(void)
{
    return (struct sock *)&kernel.tp;
}

unsigned long long bpf_ktime_get_ns(void)
{
    return kernel.now_ns;
}

void *bpf_map_lookup_elem(void *map, const void *key)
{
    (void)key;
    if (map == &connections) {
        return kernel.connection_there ? &kernel.connection : NULL;
    }
    assert_ptr_equal(map, &jobs);
    return kernel.job_there ? &kernel.job : NULL;
}

long bpf_map_update_elem(void *map, const void *key, const void *value, unsigned long long flags)
{
    (void)key;
    (void)flags;
    if (map == &connections) {
        memcpy(&kernel.connection, value, sizeof kernel.connection);
        kernel.connection_there = true;
    } else {
        memcpy(&kernel.job, value, sizeof kernel.job);
        kernel.job_there = true;
    }
    return 0;
}

long bpf_map_delete_elem(void *map, const void *key)
{
    (void)key;
    if (map == &connections) {
        kernel.connection_there = false;
    } else {
        kernel.job_there = false;
    }
    return 0;
}

// A connection whose SYN is acknowledged, at 1 s.
static void begin(enum mltcp_base base, uint32_t slope, uint32_t intercept, uint32_t restart)
{
    memset(&kernel, 0, sizeof kernel);
    kernel.now_ns = 1000 * ms_ns;
    kernel.tp.snd_cwnd = 10;
    kernel.tp.snd_cwnd_clamp = UINT32_MAX;
    kernel.tp.bytes_acked = 1;
    kernel.tp.is_cwnd_limited = 1;
    parameters = (struct mltcp_parameters){
        .slope = slope, .intercept = intercept, .base = base, .restart = restart, .gap_ms = 20};
    weft_init(socket_of());
}

static void start_sending(void)
{
    weft_event(socket_of(), CA_EVENT_TX_START);
}

// So many segments of 1000 bytes are acknowledged together.
static void acknowledge(uint32_t segments)
{
    kernel.tp.delivered += segments;
    kernel.tp.bytes_acked += (uint64_t)segments * 1000;
    weft_control(socket_of());
}

static void reduce(void)
{
    kernel.tp.snd_ssthresh = weft_ssthresh(socket_of());
    kernel.tp.inet_conn.icsk_ca_state = TCP_CA_Recovery;
    weft_control(socket_of());
    kernel.tp.inet_conn.icsk_ca_state = TCP_CA_Open;
    weft_control(socket_of());
}

// A window of so many segments, reached in slow start.
static void grow_to(uint32_t window)
{
    kernel.tp.max_packets_out = window;
    while (kernel.tp.snd_cwnd < window) {
        acknowledge(1);
    }
}

static void sleep_ms(uint64_t wait_ms)
{
    kernel.now_ns += wait_ms * ms_ns;
}

// ---- bytes of an iteration ----

static void bytes_of_an_iteration_are_exact(void **state)
{
    (void)state;
    begin(MLTCP_RENO, 1792, 256, 10);
    for (uint32_t i = 0; i < 4; i++) {
        sleep_ms(100);
        start_sending();
        assert_int_equal(kernel.job.iterations, i + 1);
        assert_int_equal(kernel.job.bytes, 0);
        assert_int_equal(kernel.job.iteration_bytes, i == 0 ? 0 : 200000);
        for (uint32_t segment = 0; segment < 200; segment++) {
            acknowledge(1);
        }
        assert_int_equal(kernel.job.bytes, 200000);
    }
    assert_int_equal(kernel.connection.factor, 2048);
}

// An acknowledgement of SYN that comes after the connection's begin is no iteration.
static void a_byte_of_syn_teaches_nothing(void **state)
{
    (void)state;
    begin(MLTCP_RENO, 1792, 256, 10);
    kernel.tp.bytes_acked += 1;
    weft_control(socket_of());
    sleep_ms(100);
    start_sending();
    assert_int_equal(kernel.job.iterations, 1);
    assert_int_equal(kernel.job.iteration_bytes, 0);
    assert_int_equal(kernel.job.gap_ns, 0);
}

// ---- growth ----

// W(t) = 0.4 (F t - K)^3 + W_max segments with K = cbrt((W_max - W) / 0.4) (RFC 9438, 4.2), t one
// round trip ahead.
static double cubic_by_rfc(double origin, double begun, double factor, double elapsed_s,
                           double rtt_s)
{
    double k = 0;
    while (0.4 * k * k * k < origin - begun) {
        k += 1e-4;
    }
    double t = factor * elapsed_s + rtt_s - k;
    return origin + 0.4 * t * t * t;
}

// Round trips are so long that the window follows the cubic function, not Reno's.
static void cubic_time_goes_by_the_factor(void **state)
{
    (void)state;
    static const struct {
        uint32_t factor;
        uint32_t round_trips;
    } cases[] = {{1024, 20}, {1024, 40}, {2048, 20}, {512, 40}, {4096, 8}};
    static const uint32_t rtt_ms = 100;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin(MLTCP_CUBIC, 0, cases[i].factor, 0);
        kernel.job.iteration_bytes = 1; // known, so that F counts
        kernel.tp.srtt_us = rtt_ms * 1000 << 3;
        grow_to(200);
        reduce();
        uint32_t begun = kernel.tp.snd_cwnd;
        assert_int_equal(begun, 200 * CUBIC_BETA / 1024);
        for (uint32_t trip = 0; trip < cases[i].round_trips; trip++) {
            uint32_t window = kernel.tp.snd_cwnd;
            for (uint32_t segment = 0; segment < window; segment++) {
                kernel.now_ns += rtt_ms * ms_ns / window;
                acknowledge(1);
            }
        }
        double seconds = 1e-3 * rtt_ms * cases[i].round_trips;
        double due = cubic_by_rfc(200, begun, cases[i].factor / 1024.0, seconds, 1e-3 * rtt_ms);
        print_message("F = %.2f, %.1f s: %u segments, by RFC 9438 %.1f\n", cases[i].factor / 1024.0,
                      seconds, kernel.tp.snd_cwnd, due);
        assert_in_range(kernel.tp.snd_cwnd + 3, (uint32_t)due, (uint32_t)due + 4);
    }
}

// Within a silence CUBIC's time stands still.
static void cubic_time_stands_still_in_a_silence(void **state)
{
    (void)state;
    uint32_t window[2];
    for (uint32_t pause = 0; pause < 2; pause++) {
        begin(MLTCP_CUBIC, 0, 1024, 0);
        parameters.gap_ms = 60000;
        grow_to(200);
        reduce();
        for (uint32_t segment = 0; segment < 2000; segment++) {
            kernel.now_ns += ms_ns / 10;
            if (segment == 1000) {
                sleep_ms(pause * 4000);
                start_sending();
            }
            acknowledge(1);
        }
        window[pause] = kernel.tp.snd_cwnd;
    }
    assert_int_equal(window[0], window[1]);
    assert_in_range(window[0], 140, 160);
}

// A window that is not used proves nothing, so it stays.
static void what_does_not_limit_does_not_grow(void **state)
{
    (void)state;
    for (int base = 0; base < 2; base++) {
        begin((enum mltcp_base)base, 0, 1024, 0);
        grow_to(80);
        reduce();
        uint32_t before = kernel.tp.snd_cwnd;
        kernel.tp.is_cwnd_limited = 0;
        for (uint32_t segment = 0; segment < 1000; segment++) {
            kernel.now_ns += 10 * ms_ns;
            acknowledge(1);
        }
        assert_int_equal(kernel.tp.snd_cwnd, before);
    }
}

// A window w grows by F segments a round trip; CUBIC's, where round trips are short, by
// 3 (1 - 0.7) / (1 + 0.7) = 0.529 of that.
static void windows_grow_by_the_factor(void **state)
{
    (void)state;
    static const uint32_t factors[] = {256, 1024, 2048, 4096};
    static const double shares[] = {1, 0.529};
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t base = i % 2;
        double factor = factors[i / 2] / 1024.0;
        begin((enum mltcp_base)base, 0, factors[i / 2], 0);
        kernel.job.iteration_bytes = 1;
        kernel.tp.srtt_us = 1000 << 3;
        grow_to(200);
        reduce();
        uint32_t before = kernel.tp.snd_cwnd;
        for (uint32_t trip = 0; trip < 16; trip++) {
            uint32_t window = kernel.tp.snd_cwnd;
            for (uint32_t segment = 0; segment < window; segment++) {
                kernel.now_ns += ms_ns / window;
                acknowledge(1);
            }
        }
        uint32_t due = (uint32_t)(16 * factor * shares[base]);
        assert_in_range(kernel.tp.snd_cwnd - before + 1 + due / 6, due, due + 2 + due / 6);
    }
}

// ---- restarts ----

// A loss that turns out to be none, after the next iteration began: the window of before the loss
// was another burst's.
static void an_undo_does_not_bring_back_what_was_before_a_restart(void **state)
{
    (void)state;
    for (int base = 0; base < 2; base++) {
        begin((enum mltcp_base)base, 1792, 256, 10);
        sleep_ms(100);
        parameters.restart = 20;
        start_sending();
        grow_to(80);
        reduce();
        sleep_ms(100);
        parameters.restart = 10;
        start_sending();
        assert_int_equal(kernel.connection.restarts, 2);
        assert_int_equal(kernel.tp.snd_cwnd, 10);
        assert_int_equal(weft_undo_cwnd(socket_of()), 10);
        acknowledge(1);
        assert_in_range(kernel.tp.snd_cwnd, 10, 11);
        assert_int_equal(kernel.tp.snd_ssthresh, 10);
    }
}

// Within an iteration it does.
static void an_undo_brings_back_the_window(void **state)
{
    (void)state;
    begin(MLTCP_RENO, 1792, 256, 0);
    sleep_ms(100);
    start_sending();
    kernel.tp.max_packets_out = 80;
    while (kernel.tp.snd_cwnd < 30) {
        acknowledge(1);
    }
    uint32_t before = kernel.tp.snd_cwnd;
    reduce();
    assert_int_equal(kernel.tp.snd_cwnd, before / 2);
    assert_int_equal(kernel.tp.snd_ssthresh, before / 2);
    assert_int_equal(weft_undo_cwnd(socket_of()), before);
    acknowledge(1);
    assert_int_equal(kernel.tp.snd_cwnd, before + 1); // in slow start, as before the loss
    assert_int_equal(kernel.tp.snd_ssthresh, SSTHRESH_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_an_iteration_are_exact),
        cmocka_unit_test(a_byte_of_syn_teaches_nothing),
        cmocka_unit_test(cubic_time_goes_by_the_factor),
        cmocka_unit_test(cubic_time_stands_still_in_a_silence),
        cmocka_unit_test(what_does_not_limit_does_not_grow),
        cmocka_unit_test(windows_grow_by_the_factor),
        cmocka_unit_test(an_undo_does_not_bring_back_what_was_before_a_restart),
        cmocka_unit_test(an_undo_brings_back_the_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
