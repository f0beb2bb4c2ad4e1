// SPDX-License-Identifier: Apache-2.0
// All-to-alls over circuits that change between them, in both engines, against times by hand.
//
// Four servers with two circuits and one packet port each; a port carries a unit a millisecond. The
// matrix of the published example has 12 units between 0 and 1, and between 2 and 3, and 3 between
// all others: with two circuits for each of the former, these and packets take 6 ms both. Its twin
// has the heavy pairs 0, 2 and 1, 3.
//
// Seen to fail: dark time left out, a change that is commanded before it should be, a circuit that
// is not made, links that are dark where they are only widened, and packets that take no share.

#include "weft/plan/mixnet.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define UNIT 1e6 // bytes, a millisecond's at 1 GB/s
#define MS 1000000000ull

static struct weft_arena arena;
static struct weft_arena scratch;

static const uint32_t pairs_01[16] = {0, 2, 0, 0, 2, 0, 0, 0, 0, 0, 0, 2, 0, 0, 2, 0};
static const uint32_t pairs_02[16] = {0, 0, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 2, 0, 0};
static const uint32_t narrow_23[16] = {0, 2, 0, 0, 2, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0};

static void fill(double *bytes, const uint32_t *heavy)
{
    for (uint32_t at = 0; at < 16; at++) {
        bytes[at] = at % 5 == 0 ? 0 : UNIT * (heavy[at] > 0 ? 12 : 3);
    }
}

// Milliseconds of a sequence from pairs_01 on.
static double play(const struct weft_mixnet_turn *turns, uint32_t count,
                   const struct weft_circuit_delays *delays, enum weft_sim_engine engine)
{
    struct weft_error error;
    struct weft_mixnet_played played;
    bool packets = engine == WEFT_ENGINE_PACKET;
    const struct weft_mixnet_sequence sequence = {
        .node_count = 4,
        .first = pairs_01,
        .turn_count = count,
        .turns = turns,
        .ports = {.circuit_ports = 2, .packet_ports = 1},
        .rate_Bps = 1e9,
        .delays = *delays,
    };
    const struct weft_sim_options sim = {.engine = engine,
                                         .packet_bytes = packets ? 1500 : 0,
                                         .header_bytes = packets ? 20 : 0,
                                         .transport =
                                             packets ? WEFT_TRANSPORT_DCTCP : WEFT_TRANSPORT_IDEAL,
                                         .dctcp = WEFT_DCTCP_DEFAULTS};
    const struct weft_environment environment = {
        .arena = &arena, .scratch = scratch, .seed = 1, .error = &error};
    if (!weft_mixnet_play(&played, &sequence, &sim, &environment)) {
        fail_msg("%s", error.message);
    }
    return 1e3 * played.seconds;
}

// Packets are never early by more than a microsecond, and `slack` of it late.
static void expect(const struct weft_mixnet_turn *turns, uint32_t count,
                   const struct weft_circuit_delays *delays, double ms, double slack)
{
    double flow = play(turns, count, delays, WEFT_ENGINE_FLOW);
    double packet = play(turns, count, delays, WEFT_ENGINE_PACKET);
    if (fabs(flow / ms - 1) > 1e-6) {
        fail_msg("flow engine: %.6f ms, by hand %.6f", flow, ms);
    }
    if (packet < ms * (1 - 1e-3) || packet > ms * (1 + slack)) {
        fail_msg("packet engine: %.6f ms, by hand %.6f", packet, ms);
    }
}

// Both turns take 6 ms; between them servers compute for 10 ms, and the switch changes all pairs.
static void a_change_hides_behind_computation(void **state)
{
    (void)state;
    double bytes[2][16];
    fill(bytes[0], pairs_01);
    fill(bytes[1], pairs_02);
    static const uint64_t dark_ms[] = {0, 4, 9, 12, 40};
    for (uint32_t i = 0; i < 5; i++) {
        for (uint32_t late = 0; late < 2; late++) {
            const struct weft_circuit_delays delays = {MS / 2, dark_ms[i] * MS, MS / 4, 0};
            const struct weft_mixnet_turn turns[] = {
                {.circuits = pairs_01, .bytes = bytes[0], .compute_s = 5e-3, .lead_s = 5e-3},
                {.circuits = pairs_02,
                 .bytes = bytes[1],
                 .compute_s = 10e-3,
                 .lead_s = late == 1 ? 0 : 10e-3}};
            double change_ms = 0.75 + (double)dark_ms[i];
            double between_ms = late == 1 ? 10 + change_ms : fmax(10, change_ms);
            expect(turns, 2, &delays, 5 + 6 + between_ms + 6, 0.08);
        }
    }
}

static void the_first_packet_waits(void **state)
{
    (void)state;
    double bytes[16];
    fill(bytes, pairs_02);
    const struct weft_circuit_delays delays = {0, 2 * MS, 0, MS};
    const struct weft_mixnet_turn turn = {
        .circuits = pairs_02, .bytes = bytes, .compute_s = 1e-3, .lead_s = 1e-3};
    expect(&turn, 1, &delays, 2 + 1 + 6, 0.1);
}

// 2 and 3 lose one of two circuits, which disturbs nobody, and get it back: until there is light
// the other one carries on. 12 units take 12 ms, then d ms at half of the rate and the rest at all.
static void what_keeps_its_peer_carries_on(void **state)
{
    (void)state;
    double bytes[16] = {0};
    bytes[2 * 4 + 3] = 12 * UNIT;
    bytes[3 * 4 + 2] = 12 * UNIT;
    bytes[0 * 4 + 1] = 12 * UNIT;
    struct weft_circuit_delays delays = {0, 4 * MS, 0, 0};
    const struct weft_mixnet_turn turns[] = {
        {.circuits = narrow_23, .bytes = bytes},
        {.circuits = pairs_01, .bytes = bytes},
    };
    // Packets and relays take their part of the narrow turn: what the formula says of it.
    const struct weft_split_options ports = {.circuit_ports = 2, .packet_ports = 1};
    struct weft_relay_plan narrow;
    struct weft_relay_plan wide;
    weft_circuit_relay(&narrow, narrow_23, bytes, 4, &ports, NULL, scratch);
    weft_circuit_relay(&wide, pairs_01, bytes, 4, &ports, NULL, scratch);
    double wide_ms = wide.time / UNIT; // of two circuits
    double narrow_ms = play(turns, 1, &delays, WEFT_ENGINE_FLOW);
    assert_true(narrow_ms >= narrow.time / UNIT * (1 - 1e-6));
    double both_ms = play(turns, 2, &delays, WEFT_ENGINE_FLOW) - narrow_ms;
    // 2 wide_ms units over one circuit for d and two behind it.
    double by_hand = wide_ms * 2 <= 4 ? 2 * wide_ms : (2 * wide_ms + 4) / 2;
    if (fabs(both_ms / by_hand - 1) > 1e-6) {
        fail_msg("%.6f ms, by hand %.6f", both_ms, by_hand);
    }
    double packet_ms = play(turns, 2, &delays, WEFT_ENGINE_PACKET);
    assert_true(packet_ms > narrow_ms + by_hand && packet_ms < (narrow_ms + by_hand) * 1.1);
}

int main(void)
{
    struct weft_error error;
    if (!weft_arena_init(&arena, 0, &error) || !weft_arena_init(&scratch, 0, &error)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_hides_behind_computation),
        cmocka_unit_test(the_first_packet_waits),
        cmocka_unit_test(what_keeps_its_peer_carries_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
