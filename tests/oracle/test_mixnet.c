// SPDX-License-Identifier: Apache-2.0
// Circuits beside packets against integer programming, and two-hop relays against what ports can
// carry: 1,000 random all-to-alls whose least times CBC has computed (mixnet_exact.txt says how).
//
// Seen to fail: with a search of 500 exchanges (worst 1.129, 722 exact), with circuits that are
// given one way only, and with relays that take a circuit's room twice.

#include "weft/circuit.h"
#include "weft/format/numbers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#define N 8u
#define MATRICES 1000u

static struct weft_arena arena;
static struct weft_arena scratch;
static const struct weft_split_options six_and_two = {.circuit_ports = 6, .packet_ports = 2};

static void draw(double *bytes, struct weft_rng *rng)
{
    double law[N];
    double sum = 0;
    for (uint32_t r = 0; r < N; r++) {
        law[r] = pow(r + 1, -1.2);
        sum += law[r];
    }
    for (uint32_t i = 0; i < N; i++) {
        uint32_t place[N];
        for (uint32_t j = 0; j < N; j++) {
            place[j] = j;
        }
        weft_rng_shuffle(rng, place, N);
        for (uint32_t j = 0; j < N; j++) {
            bytes[i * N + j] = law[place[j]] / sum * 32768;
        }
    }
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Ports are not exceeded, and what circuits leave over fits the packet ports; by the definition,
// not by the library's equation.
static void check_circuits(const uint32_t *circuits, const double *bytes, double time)
{
    for (uint32_t i = 0; i < N; i++) {
        uint32_t ports = 0;
        double out = 0;
        double in = 0;
        for (uint32_t j = 0; j < N; j++) {
            ports += circuits[i * N + j];
            assert_int_equal(circuits[i * N + j], circuits[j * N + i]);
            out += i == j ? 0 : fmax(0, bytes[i * N + j] - circuits[i * N + j] * time);
            in += i == j ? 0 : fmax(0, bytes[j * N + i] - circuits[j * N + i] * time);
        }
        assert_true(ports <= 6 && circuits[i * N + i] == 0);
        assert_true(out <= 2 * time * (1 + 1e-9) && in <= 2 * time * (1 + 1e-9));
    }
}

static void circuits_are_as_good_as_integer_programming(void **state)
{
    (void)state;
    struct weft_arena kept = arena;
    struct weft_error error;
    struct weft_numbers exact;
    if (!weft_numbers_load(&exact, SOURCE_ROOT "/tests/oracle/mixnet_exact.txt", 1, &kept, scratch,
                           &error)) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(exact.rows, MATRICES);
    struct weft_rng rng;
    weft_rng_init(&rng, 20);
    double mean = 0;
    double worst = 0;
    double slowest_s = 0;
    uint32_t equal = 0;
    for (uint32_t k = 0; k < MATRICES; k++) {
        double bytes[N * N];
        uint32_t circuits[N * N];
        struct weft_split_times split;
        draw(bytes, &rng);
        double least_s = 1;
        // A machine that is busy with other things gets more tries.
        for (uint32_t run = 0; run < 3 || (run < 50 && least_s >= 1e-3); run++) {
            double begin_s = seconds();
            weft_circuit_split(circuits, &split, bytes, N, &six_and_two, scratch);
            least_s = fmin(least_s, seconds() - begin_s);
        }
        check_circuits(circuits, bytes, split.time);
        assert_true(split.bound <= exact.values[k] * (1 + 1e-6));
        double ratio = split.time / exact.values[k];
        assert_true(ratio > 1 - 1e-6); // CBC's optimum cannot be beaten
        equal += ratio < 1 + 1e-6;
        mean += ratio / MATRICES;
        worst = fmax(worst, ratio);
        slowest_s = fmax(slowest_s, least_s);
    }
    print_message("%u of %u exact, mean %.5f, worst %.4f, slowest %.2f ms\n", equal, MATRICES, mean,
                  worst, slowest_s * 1e3);
    assert_true(worst <= 1.02);
    assert_true(equal >= 990);
    assert_true(slowest_s < 1e-3);
}

// Relays are laid on circuits and packet ports once more, one by one.
static void check_relays(const struct weft_relay_plan *plan, const uint32_t *circuits,
                         const double *bytes)
{
    double used[N * N];
    double left[N * N];
    double out[N] = {0};
    double in[N] = {0};
    for (uint32_t at = 0; at < N * N; at++) {
        used[at] = at / N == at % N ? 0 : fmin(bytes[at], circuits[at] * plan->time);
        left[at] = at / N == at % N ? 0 : bytes[at] - used[at];
    }
    for (uint32_t r = 0; r < plan->relay_count; r++) {
        const struct weft_relay *relay = &plan->relays[r];
        assert_true(relay->via != relay->from && relay->via != relay->to && relay->bytes > 0);
        left[relay->from * N + relay->to] -= relay->bytes;
        if (relay->kind == WEFT_RELAY_PACKETS_FIRST) {
            out[relay->from] += relay->bytes;
            in[relay->via] += relay->bytes;
        } else {
            used[relay->from * N + relay->via] += relay->bytes;
        }
        if (relay->kind == WEFT_RELAY_PACKETS_LAST) {
            out[relay->via] += relay->bytes;
            in[relay->to] += relay->bytes;
        } else {
            used[relay->via * N + relay->to] += relay->bytes;
        }
    }
    double slip = 1e-6 * plan->time;
    for (uint32_t i = 0; i < N; i++) {
        for (uint32_t j = 0; j < N; j++) {
            assert_true(left[i * N + j] >= -slip);
            assert_true(used[i * N + j] <= circuits[i * N + j] * plan->time + slip);
            out[i] += left[i * N + j];
            in[j] += left[i * N + j];
        }
    }
    for (uint32_t i = 0; i < N; i++) {
        assert_true(out[i] <= 2 * plan->time + slip && in[i] <= 2 * plan->time + slip);
    }
}

static void relays_bring_an_all_to_all_near_the_ideal_switch(void **state)
{
    (void)state;
    struct weft_rng rng;
    weft_rng_init(&rng, 21);
    double direct = 0;
    double relayed = 0;
    for (uint32_t k = 0; k < 200; k++) {
        double bytes[N * N];
        uint32_t circuits[N * N];
        struct weft_split_times split;
        struct weft_relay_plan plan;
        struct weft_arena kept = arena;
        draw(bytes, &rng);
        weft_circuit_split(circuits, &split, bytes, N, &six_and_two, scratch);
        weft_circuit_relay(&plan, circuits, bytes, N, &six_and_two, &kept, scratch);
        check_relays(&plan, circuits, bytes);
        assert_true(plan.time <= split.time && plan.time >= split.ideal * (1 - 1e-6));
        direct += split.time / split.ideal / 200;
        relayed += plan.time / split.ideal / 200;
    }
    print_message("against an ideal switch: %.4f, with relays %.4f\n", direct, relayed);
    assert_true(direct > 1.12 && direct < 1.17); // published by others: 1.146
    assert_true(relayed < 1.05);
}

// Ports that failed are not used, and a node without circuits is served by packets.
static void failed_ports_carry_nothing(void **state)
{
    (void)state;
    static const uint32_t ports[N] = {6, 6, 0, 6, 5, 6, 6, 6};
    static const double packets[N] = {2, 2, 2, 1, 2, 2, 2, 2};
    struct weft_split_options failed = six_and_two;
    failed.node_circuits = ports;
    failed.node_packets = packets;
    struct weft_rng rng;
    weft_rng_init(&rng, 22);
    for (uint32_t k = 0; k < 50; k++) {
        double bytes[N * N];
        uint32_t circuits[N * N];
        uint32_t again[N * N];
        struct weft_split_times split;
        draw(bytes, &rng);
        weft_circuit_split(circuits, &split, bytes, N, &failed, scratch);
        double out = 0;
        for (uint32_t i = 0; i < N; i++) {
            uint32_t used = 0;
            for (uint32_t j = 0; j < N; j++) {
                used += circuits[i * N + j];
            }
            assert_true(used <= ports[i]);
            out += i == 2 ? 0 : bytes[2 * N + i];
        }
        assert_true(split.time >= out / 2 * (1 - 1e-9) && split.time >= split.bound * (1 - 1e-9));
        double time = weft_circuit_split_time(circuits, bytes, N, &failed);
        assert_true(fabs(time - split.time) <= 1e-9 * time);
        // From given circuits on nothing gets worse.
        failed.first = circuits;
        failed.work_limit = 1;
        struct weft_split_times later;
        weft_circuit_split(again, &later, bytes, N, &failed, scratch);
        assert_true(later.time <= split.time * (1 + 1e-12));
        failed.first = NULL;
        failed.work_limit = 0;
    }
}

int main(void)
{
    struct weft_error error;
    if (!weft_arena_init(&arena, 1u << 28, &error) ||
        !weft_arena_init(&scratch, 1u << 28, &error)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(circuits_are_as_good_as_integer_programming),
        cmocka_unit_test(relays_bring_an_all_to_all_near_the_ideal_switch),
        cmocka_unit_test(failed_ports_carry_nothing),
    };
    return cmocka_run_group_tests_name("mixnet", tests, NULL, NULL);
}
