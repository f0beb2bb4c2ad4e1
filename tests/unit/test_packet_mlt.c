// SPDX-License-Identifier: Apache-2.0
// MLT in packets, in states that a whole run has for moments only: senders of constant rate at one
// port, as a fluid has it.
//
// Each test names the mutations that made it fail; each was run.

#include "../arenas.h"
#include "sim/packet/engine/engine.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define RATE_BPS 1e9
#define LATENCY_PS 1000000u
#define PACKET_BYTES 1500u
#define PACKET_PS 1500000u // at RATE_BPS
#define SENDERS 8u

// ---- packets that come, by class ----

static struct packet_ends_ops ends;
static uint64_t came[2]; // unimportant, important

static void count_what_comes(struct packet_engine *engine, uint32_t id)
{
    const uint32_t flags = engine->packets[id].flags;
    if ((flags & (PACKET_ACK | PACKET_PROBE)) == 0) {
        came[(flags & PACKET_DROPPABLE) == 0]++;
    }
    ends.deliver(engine, id);
}

// Senders 1 to 8 to server 0 over one switch, whose port to server 0 holds 100 packets and loses
// unimportant ones above 20.
static void start_senders(struct packet_engine *engine, double unimportant_ratio, double load_ratio,
                          uint64_t packets, double loss_ratio, struct weft_arena *arena)
{
    static struct weft_packet_options packet;
    struct weft_network network;
    struct weft_cluster cluster;
    struct weft_error error;
    packet = WEFT_PACKET_DEFAULTS;
    packet.port.control_first = true;
    packet.buffer_bytes = 100 * PACKET_BYTES;
    packet.mark_bytes = 20 * PACKET_BYTES;
    packet.mlt.unimportant_ratio = unimportant_ratio;
    packet.port.loss_ratio = loss_ratio;
    packet.port.loss_link = WEFT_NONE;
    const struct weft_sim_options options = {.packet_bytes = PACKET_BYTES,
                                             .header_bytes = 100,
                                             .seed = 7,
                                             .engine = WEFT_ENGINE_PACKET,
                                             .transport = WEFT_TRANSPORT_MLT,
                                             .packet = &packet};
    bool built = weft_cluster_build(&cluster, SENDERS + 1, 1, RATE_BPS, &error);
    cluster.latency_ps = LATENCY_PS;
    if (!built || !weft_fabric_build_ideal(&network, &cluster, NULL, arena, &error)) {
        fail_msg("%s", error.message);
    }
    packet_engine_init(engine, &network.fabric, &options, SENDERS, 2, arena);
    packet_engine_jobs(engine, NULL, 1);
    ends = engine->ends;
    engine->ends.deliver = count_what_comes;
    for (uint32_t i = 0; i < SENDERS; i++) {
        uint32_t path[2], back[2];
        for (uint32_t l = 0; l < network.fabric.link_count; l++) {
            const struct weft_link *link = &network.fabric.links[l];
            *(link->from == i + 1 ? &path[0] : link->to == 0 ? &path[1] : &(uint32_t){0}) = l;
            *(link->from == 0 ? &back[0] : link->to == i + 1 ? &back[1] : &(uint32_t){0}) = l;
        }
        struct packet_route route = {path, 2, back, 2, false};
        packet_engine_start(engine, &route, (double)(packets * PACKET_BYTES),
                            (struct packet_end){.owner = i});
        // No report changes a rate whose bounds are one. The senders' differ, so that they drift.
        struct weft_mlt_rate *rate = &engine->mlts->flows[engine->laid_out].rate;
        rate->rate_Bps = load_ratio * RATE_BPS / SENDERS * (1 + 0.01 * (i - 3.5));
        rate->low_Bps = rate->rate_Bps;
        rate->high_Bps = rate->rate_Bps;
    }
}

// Which share of the important packets the port loses, in 20,000 packets' time from a steady state
// on; `came` has what it carries in that time.
static double important_lost_ratio(double unimportant_ratio, double load_ratio)
{
    struct weft_arena arena = scratch_kept;
    struct packet_engine *engine = WEFT_NEW(&arena, struct packet_engine, 1);
    struct packet_end end;
    start_senders(engine, unimportant_ratio, load_ratio, 1000000, 0, &arena);
    assert_false(packet_engine_run(engine, 2000 * (uint64_t)PACKET_PS, &end));
    const uint64_t lost = engine->counts.important_lost;
    memset(came, 0, sizeof(came));
    assert_false(packet_engine_run(engine, 22000 * (uint64_t)PACKET_PS, &end));
    const uint64_t newly_lost = engine->counts.important_lost - lost;
    return (double)newly_lost / (double)(newly_lost + came[1]);
}

// With a share o of what comes too much and a share u of it unimportant, a port loses no important
// packet while u covers o, and the share (o - u) / (1 - u) of them else: within 0.005, since a hash
// draws the classes. Mutations: unimportant packets are marked, too; they are lost above four times
// the mark; half as many are drawn.
static void important_packets_are_lost_as_the_fluid_has_it(void **state)
{
    (void)state;
    static const double loads[] = {1.25, 1.6, 2, 4, 7.5};
    static const double unimportant[] = {0, 0.1, 0.25, 0.5, 0.7, 0.95};
    for (uint32_t i = 0; i < 5; i++) {
        double over = 1 - 1 / loads[i];
        for (uint32_t k = 0; k < 6; k++) {
            double u = unimportant[k];
            double lost = important_lost_ratio(u, loads[i]);
            double fluid = u > over ? 0 : (over - u) / (1 - u);
            if (u > over ? lost > 0 : fabs(lost - fluid) > 0.005) {
                fail_msg("%.3f too much, %.2f unimportant: %.4f of the important lost, not %.4f",
                         over, u, lost, fluid);
            }
        }
    }
}

// A run's trace against the packets that senders made, ports lost and links lost: each is in one
// kind, and the spans hold all bytes. Mutations: spans are joined without what is in the second;
// what is lost on links is not counted; STOPs are taken for reports.
static void a_trace_has_every_packet_once(void **state)
{
    (void)state;
    struct weft_arena arena = scratch_kept;
    struct packet_engine *engine = WEFT_NEW(&arena, struct packet_engine, 1);
    struct packet_end end;
    uint32_t messages = 0;
    start_senders(engine, 0.5, 2, 3000, 0.001, &arena);
    while (packet_engine_run(engine, WEFT_NEVER, &end)) {
        messages++;
    }
    assert_int_equal(messages, SENDERS);
    const struct weft_step_trace *step = packet_step_trace(engine, &arena);
    uint64_t sent[2] = {0}; // data, and of these again
    uint64_t lost = 0;
    for (uint32_t kind = 0; kind < WEFT_STEP_KINDS; kind++) {
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < step->span_count; i++) {
            bytes += step->spans[i].bytes[kind];
        }
        assert_int_equal(bytes, step->sent[kind].bytes);
        lost += step->sent[kind].lost;
        sent[0] += kind <= WEFT_STEP_RESENT_UNIMPORTANT ? step->sent[kind].packets : 0;
    }
    sent[1] = step->sent[WEFT_STEP_RESENT_IMPORTANT].packets +
              step->sent[WEFT_STEP_RESENT_UNIMPORTANT].packets;
    assert_int_equal(sent[0], engine->counts.packets);
    assert_int_equal(sent[1], engine->counts.retransmits);
    assert_true(sent[1] > 0);
    assert_int_equal(lost, engine->counts.drops + engine->counts.corrupted);
    assert_true(engine->counts.corrupted > 0);
    assert_int_equal(step->sent[WEFT_STEP_IMPORTANT].lost +
                             step->sent[WEFT_STEP_RESENT_IMPORTANT].lost >=
                         engine->counts.important_lost,
                     true);
    // A PROBE that came was answered, and so was what came behind the end of a message.
    uint64_t answers = step->sent[WEFT_STEP_BITMAP].packets + step->sent[WEFT_STEP_STOP].packets;
    uint64_t asked = step->sent[WEFT_STEP_PROBE].packets - step->sent[WEFT_STEP_PROBE].lost;
    assert_true(answers >= asked && step->sent[WEFT_STEP_STOP].packets >= SENDERS);
    assert_int_equal(step->sent[WEFT_STEP_PROBE].bytes, 100 * step->sent[WEFT_STEP_PROBE].packets);
}

// Links lose 15 of 100 packets and a tenth may be missing: of what is missing important packets go
// again first, and the message ends before the others' turn. Mutation: what goes again is in the
// order of the first pass.
static void important_packets_go_again_first(void **state)
{
    (void)state;
    struct weft_arena arena = scratch_kept;
    struct packet_engine *engine = WEFT_NEW(&arena, struct packet_engine, 1);
    struct packet_end end;
    start_senders(engine, 0.5, 0.5, 1000, 0.08, &arena);
    while (packet_engine_run(engine, WEFT_NEVER, &end)) {
    }
    const struct weft_step_trace *step = packet_step_trace(engine, &arena);
    assert_true(step->sent[WEFT_STEP_RESENT_IMPORTANT].packets > SENDERS * 30);
    assert_true(step->sent[WEFT_STEP_RESENT_UNIMPORTANT].packets * 10 <
                step->sent[WEFT_STEP_RESENT_IMPORTANT].packets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_has_every_packet_once),
        cmocka_unit_test(important_packets_go_again_first),
        cmocka_unit_test(important_packets_are_lost_as_the_fluid_has_it),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
