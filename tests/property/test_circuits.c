// SPDX-License-Identifier: Apache-2.0
// Circuits that change while a run goes on: nothing crosses a dark link, every byte is carried, and
// both engines agree on a coarse job.
//
// Mutations that made these tests fail (each was run): flows that begin on paths over dark links; a
// dark time of nothing; packets that enter closed links (an assertion of the engine stops those).

#include "weft/sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define SERVERS 8u
#define RATE_BPS 1e9
#define LATENCY_PS 1000000u
#define LIGHT_PS 400000000u
#define DARK_PS 100000000u

// Servers stand on a ring whose step changes at every answer: +1, +3, +1, ... A server sends on by
// its one circuit, so that every pair has a path.
struct steps {
    const struct weft_fabric *fabric;
    bool stops_all;
    uint32_t answer_count;
    double rate_Bps[SERVERS * SERVERS];
    uint32_t next_link[SERVERS * SERVERS];
    double carried_max_bytes; // by any link, between two answers
    double asked_bytes;       // the most that was unserved
};

static bool decide(void *state, struct weft_circuit_answer *answer,
                   const struct weft_circuit_demand *demand, struct weft_arena scratch,
                   struct weft_error *error)
{
    (void)scratch;
    (void)error;
    struct steps *steps = state;
    uint32_t step = steps->answer_count++ % 2 == 0 ? 1 : 3;
    double unserved = 0;
    for (uint32_t l = 0; l < steps->fabric->link_count; l++) {
        steps->rate_Bps[l] = 0;
    }
    for (uint32_t from = 0; from < SERVERS; from++) {
        uint32_t link = weft_fabric_find_link(steps->fabric, from, (from + step) % SERVERS);
        steps->rate_Bps[link] = RATE_BPS;
        for (uint32_t to = 0; to < SERVERS; to++) {
            steps->next_link[from * SERVERS + to] = from == to ? WEFT_NONE : link;
            unserved += demand->unserved_bytes[from * SERVERS + to];
        }
    }
    steps->asked_bytes = fmax(steps->asked_bytes, unserved);
    *answer = (struct weft_circuit_answer){
        .rate_Bps = steps->rate_Bps,
        .next_link = steps->next_link,
        .dark_ps = steps->answer_count > 1 ? DARK_PS : 0,
        .stops_all = steps->stops_all,
        .until_ps = demand->now_ps + (steps->answer_count > 1 ? DARK_PS : 0) + LIGHT_PS,
    };
    return true;
}

static struct weft_arena whole;
static struct weft_arena scratch;
static struct weft_network network;

static int build(void **state)
{
    (void)state;
    struct weft_error error;
    struct weft_link links[SERVERS * SERVERS];
    uint32_t count = 0;
    for (uint32_t from = 0; from < SERVERS; from++) {
        for (uint32_t to = 0; to < SERVERS; to++) {
            if (from != to) {
                links[count++] = (struct weft_link){from, to, RATE_BPS, LATENCY_PS, 1};
            }
        }
    }
    const struct weft_fabric_links input = {"circuits", SERVERS, SERVERS, links, count};
    return weft_arena_init(&whole, 0, &error) && weft_arena_init(&scratch, 0, &error) &&
                   weft_fabric_build(&network.fabric, &input, &whole, &error) &&
                   weft_routes_build_shortest(&network.routes, &network.fabric, &whole, scratch,
                                              &error)
               ? 0
               : -1;
}

static int release(void **state)
{
    (void)state;
    weft_arena_release(&whole);
    weft_arena_release(&scratch);
    return 0;
}

static struct weft_sim_result play(struct steps *steps, enum weft_sim_engine engine,
                                   const struct weft_flow_list *flows, uint64_t *end_ps)
{
    struct weft_arena arena = whole;
    struct weft_error error;
    const struct weft_circuit_controller controller = {.state = steps, .decide = decide};
    const struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    bool packets = engine == WEFT_ENGINE_PACKET;
    const struct weft_sim_options options = {.packet_bytes = 1500,
                                             .header_bytes = 60,
                                             .engine = engine,
                                             .transport = packets ? WEFT_TRANSPORT_DCTCP
                                                                  : WEFT_TRANSPORT_IDEAL,
                                             .dctcp = WEFT_DCTCP_DEFAULTS,
                                             .packet = &packet,
                                             .circuits = &controller};
    struct weft_sim_result result;
    if (!weft_sim_run_flows(
            &result, end_ps, &network, flows, &options,
            &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error})) {
        fail_msg("%s", error.message);
    }
    // The result's arrays are in `whole` behind what the fixture holds: read before the next run.
    return result;
}

#define FLOWS 24u

static void draw_flows(struct weft_flow_list *flows, uint64_t seed, uint32_t *from, uint32_t *to,
                       uint64_t *size_bytes, uint64_t *start_ps)
{
    struct weft_rng rng;
    weft_rng_init(&rng, seed);
    uint64_t at_ps = 0;
    for (uint32_t i = 0; i < FLOWS; i++) {
        from[i] = weft_rng_below(&rng, SERVERS);
        to[i] = (from[i] + 1 + weft_rng_below(&rng, SERVERS - 1)) % SERVERS;
        size_bytes[i] = 1 + weft_rng_below(&rng, 400000);
        at_ps += weft_rng_below(&rng, 200000000);
        start_ps[i] = at_ps;
    }
    *flows = (struct weft_flow_list){FLOWS, from, to, size_bytes, start_ps};
}

// All flows end in both engines, after they began; a link carries no more than its light allows;
// and together links carry what was asked for, each byte at least once.
static void every_byte_is_carried_in_the_light(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        for (uint32_t engine = 0; engine < 2; engine++) {
            uint32_t from[FLOWS], to[FLOWS];
            uint64_t size_bytes[FLOWS], start_ps[FLOWS], end_ps[FLOWS];
            struct weft_flow_list flows;
            draw_flows(&flows, seed, from, to, size_bytes, start_ps);
            struct steps steps = {.fabric = &network.fabric, .stops_all = seed % 2 == 0};
            struct weft_sim_result result =
                play(&steps, (enum weft_sim_engine)engine, &flows, end_ps);
            double asked = 0, carried = 0, largest = 0;
            for (uint32_t i = 0; i < FLOWS; i++) {
                if (end_ps[i] < start_ps[i] + LATENCY_PS) {
                    fail_msg("seed %llu: flow %u ends too soon", (unsigned long long)seed, i);
                }
                asked += (double)size_bytes[i];
            }
            for (uint32_t l = 0; l < network.fabric.link_count; l++) {
                carried += result.link_bytes[l];
                largest = fmax(largest, result.link_bytes[l]);
            }
            assert_true(carried >= asked);
            // A circuit of either step is lit every other period.
            double periods = ceil((double)result.end_ps / (LIGHT_PS + DARK_PS) / 2) + 1;
            assert_true(largest <= periods * LIGHT_PS * 1e-12 * RATE_BPS);
            assert_int_equal(result.circuits.answer_count, steps.answer_count);
        }
    }
}

// One long flow over one hop in each phase: by its bytes and the light that it gets.
// It begins on +1; on +3 it takes three hops for the same pair.
static void both_engines_take_the_light_that_there_is(void **state)
{
    (void)state;
    const uint32_t from = 0, to = 1;
    const uint64_t size_bytes = 4000000, start_ps = 0;
    const struct weft_flow_list flows = {1, &from, &to, &size_bytes, &start_ps};
    uint64_t end_ps[2];
    for (uint32_t engine = 0; engine < 2; engine++) {
        struct steps steps = {.fabric = &network.fabric, .stops_all = true};
        (void)play(&steps, (enum weft_sim_engine)engine, &flows, &end_ps[engine]);
    }
    // 4.17 ms of light with the headers, after each 0.4 ms of which come 0.1 ms of dark.
    double wire_s = 4000000 * (1500.0 / 1440) / RATE_BPS;
    double fluid_s = wire_s + floor(wire_s / 400e-6) * 100e-6;
    print_message("flow %.4f ms, packet %.4f ms, light %.4f ms\n", (double)end_ps[0] * 1e-9,
                  (double)end_ps[1] * 1e-9, fluid_s * 1e3);
    assert_true(fabs((double)end_ps[0] * 1e-12 / fluid_s - 1) < 0.01);
    assert_true((double)end_ps[1] > 0.99 * (double)end_ps[0]);
    assert_true((double)end_ps[1] < 1.25 * (double)end_ps[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_is_carried_in_the_light),
        cmocka_unit_test(both_engines_take_the_light_that_there_is),
    };
    return cmocka_run_group_tests_name("circuits", tests, build, release);
}
