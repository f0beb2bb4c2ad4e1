// SPDX-License-Identifier: Apache-2.0
// One port of pFabric against a model of the published rule (Alizadeh et al., SIGCOMM 2013,
// section 4.1), and against starvation.
//
// The model is written from the rule, without what the engine shares with other ports: an arriving
// packet joins the others; while they are more than the port holds, the one with the most left
// goes, the newest of equal ones; the port sends the oldest packet of the message that has the
// packet with the least left. Packets of control go before all of them and are lost only where no
// data wait.
//
// Mutations that made these tests fail (each was run): the packet with the least left goes, not the
// oldest of its message (both tests); of equal ones the oldest is lost; of equal ones the newest is
// sent; the arriving packet is lost without regard to those that wait; packets of control wait for
// data.

#include "../arenas.h"
#include "../seeds.h"
#include "sim/packet/engine/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RATE_BPS 1e9
#define PS_PER_BYTE 1000u // at RATE_BPS
#define LATENCY_PS 1000000u
#define BUFFER_BYTES 9000u
#define MESSAGES 6u
#define ARRIVALS_MAX 400u
#define PORT 1u // the link that packets enter, from the switch to server 1

struct arrival {
    uint64_t at_ps;
    uint32_t message;
    uint32_t left; // of the message, in packets
    uint32_t bytes;
    bool is_control;
};

struct load {
    uint32_t count;
    struct arrival arrivals[ARRIVALS_MAX];
};

// What left the port, in order, and when it was at the other end.
struct departures {
    uint32_t count;
    uint32_t arrival[ARRIVALS_MAX];
    uint64_t end_ps[ARRIVALS_MAX];
};

// ---- the model ----

struct model {
    const struct load *load;
    uint32_t waiting[ARRIVALS_MAX]; // in order of arrival
    uint32_t waiting_count;
    uint64_t busy_ps;
};

static uint32_t take_out(struct model *model, uint32_t place)
{
    uint32_t taken = model->waiting[place];
    model->waiting_count--;
    memmove(&model->waiting[place], &model->waiting[place + 1],
            (model->waiting_count - place) * sizeof(uint32_t));
    return taken;
}

static uint64_t backlog_ps(const struct model *model, uint64_t now_ps)
{
    uint64_t sum_ps = model->busy_ps > now_ps ? model->busy_ps - now_ps : 0;
    for (uint32_t i = 0; i < model->waiting_count; i++) {
        sum_ps += (uint64_t)PS_PER_BYTE * model->load->arrivals[model->waiting[i]].bytes;
    }
    return sum_ps;
}

// The place of the packet to lose: of data, but for the newest one if that is control and alone.
static uint32_t worst_place(const struct model *model)
{
    uint32_t worst = WEFT_NONE;
    for (uint32_t i = 0; i < model->waiting_count; i++) {
        const struct arrival *waiting = &model->load->arrivals[model->waiting[i]];
        if (!waiting->is_control &&
            (worst == WEFT_NONE ||
             waiting->left >= model->load->arrivals[model->waiting[worst]].left)) {
            worst = i;
        }
    }
    return worst == WEFT_NONE ? model->waiting_count - 1 : worst;
}

static uint32_t next_place(const struct model *model)
{
    uint32_t best = WEFT_NONE;
    for (uint32_t i = 0; i < model->waiting_count; i++) {
        const struct arrival *waiting = &model->load->arrivals[model->waiting[i]];
        if (waiting->is_control) {
            return i;
        }
        if (best == WEFT_NONE || waiting->left < model->load->arrivals[model->waiting[best]].left) {
            best = i;
        }
    }
    const uint32_t message = model->load->arrivals[model->waiting[best]].message;
    for (uint32_t i = 0; i < best; i++) {
        if (model->load->arrivals[model->waiting[i]].message == message) {
            return i;
        }
    }
    return best;
}

// Sends what the port may begin before `until_ps`.
static void serve(struct model *model, struct departures *departures, uint64_t until_ps)
{
    while (model->waiting_count > 0 && model->busy_ps < until_ps) {
        uint32_t first = take_out(model, next_place(model));
        model->busy_ps += (uint64_t)PS_PER_BYTE * model->load->arrivals[first].bytes;
        departures->arrival[departures->count] = first;
        departures->end_ps[departures->count++] = model->busy_ps + LATENCY_PS;
    }
}

static void play_model(struct departures *departures, const struct load *load)
{
    struct model model = {.load = load};
    *departures = (struct departures){0};
    for (uint32_t i = 0; i < load->count; i++) {
        uint64_t now_ps = load->arrivals[i].at_ps;
        serve(&model, departures, now_ps);
        model.waiting[model.waiting_count++] = i;
        while (backlog_ps(&model, now_ps) > (uint64_t)PS_PER_BYTE * BUFFER_BYTES) {
            take_out(&model, worst_place(&model));
        }
        model.busy_ps = model.busy_ps > now_ps ? model.busy_ps : now_ps;
        serve(&model, departures, now_ps + 1);
    }
    serve(&model, departures, WEFT_NEVER);
}

// ---- the engine ----

static struct departures *seen;

static void see(struct packet_engine *engine, uint32_t id)
{
    seen->arrival[seen->count] = engine->packets[id].sequence;
    seen->end_ps[seen->count++] = engine->clock.now_ps;
    packet_drop(engine, id);
}

// Server 0 to the switch, and on to server 1.
static void build_path(struct weft_fabric *fabric, struct weft_arena *arena)
{
    struct weft_error error;
    const struct weft_link links[] = {
        {.from = 0, .to = 2, .rate_Bps = RATE_BPS, .latency_ps = LATENCY_PS, .width = 1},
        {.from = 2, .to = 1, .rate_Bps = RATE_BPS, .latency_ps = LATENCY_PS, .width = 1},
    };
    if (!weft_fabric_build(fabric, &(struct weft_fabric_links){"path", 2, 3, links, 2}, arena,
                           &error)) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(fabric->links[PORT].to, 1);
}

static void play_engine(struct departures *departures, const struct load *load,
                        const struct weft_fabric *fabric)
{
    struct weft_arena arena = scratch_kept;
    struct weft_packet_options packet_options = WEFT_PACKET_DEFAULTS;
    packet_options.port.by_remaining = true;
    packet_options.port.control_first = true;
    packet_options.buffer_bytes = BUFFER_BYTES;
    const struct weft_sim_options options = {.packet_bytes = 1500,
                                             .header_bytes = 100,
                                             .engine = WEFT_ENGINE_PACKET,
                                             .transport = WEFT_TRANSPORT_PFABRIC,
                                             .packet = &packet_options};
    struct packet_engine *engine = WEFT_NEW(&arena, struct packet_engine, 1);
    struct packet_end end;
    packet_engine_init(engine, fabric, &options, MESSAGES, 1, &arena);
    engine->ends.deliver = see;
    for (uint32_t i = 0; i < MESSAGES; i++) {
        uint32_t *hops = &engine->hops[(size_t)i * engine->hop_stride];
        hops[0] = 0; // the generation of the message's slot
        hops[1] = PORT;
        hops[2] = WEFT_NONE;
    }
    *departures = (struct departures){0};
    seen = departures;
    for (uint32_t i = 0; i < load->count; i++) {
        const struct arrival *arrival = &load->arrivals[i];
        assert_false(packet_engine_run(engine, arrival->at_ps - 1, &end));
        engine->clock.now_ps = arrival->at_ps;
        uint32_t id = packet_take(engine);
        engine->packets[id] = (struct packet){.flow = arrival->message,
                                              .sequence = i,
                                              .cumulative = arrival->left,
                                              .hop = arrival->message * engine->hop_stride + 1,
                                              .bytes = (uint16_t)arrival->bytes,
                                              .flags = arrival->is_control ? PACKET_ACK : 0};
        packet_queue_enter(engine, id);
    }
    assert_false(packet_engine_run(engine, WEFT_NEVER, &end));
    assert_int_equal(engine->counts.drops, load->count - departures->count);
}

// ---- tests ----

// Loads from half of what the port carries to four times as much. What is left of a message mostly
// falls, as a sender has it, and rises again where a new one takes its place or a lost packet goes
// again. Instants differ below a byte's time, so that nothing happens at the same one.
static void draw(struct load *load, struct weft_rng *rng)
{
    uint32_t left[MESSAGES] = {0};
    uint64_t at_ps = 0;
    uint32_t gap_bytes = 375 + weft_rng_below(rng, 2625);
    load->count = 1 + (uint32_t)weft_rng_below(rng, ARRIVALS_MAX);
    for (uint32_t i = 0; i < load->count; i++) {
        struct arrival *arrival = &load->arrivals[i];
        uint32_t message = (uint32_t)weft_rng_below(rng, MESSAGES);
        at_ps += PS_PER_BYTE * (1 + weft_rng_below(rng, 2 * gap_bytes));
        left[message] =
            left[message] == 0 ? 1 + (uint32_t)weft_rng_below(rng, 30) : left[message] - 1;
        bool again = weft_rng_below(rng, 5) == 0;
        *arrival = (struct arrival){
            .at_ps = at_ps + i,
            .message = message,
            .left = left[message] + (again ? (uint32_t)weft_rng_below(rng, 8) : 0),
            .bytes = weft_rng_below(rng, 4) == 0 ? 64 + (uint32_t)weft_rng_below(rng, 1436) : 1500,
            .is_control = weft_rng_below(rng, 8) == 0,
        };
    }
}

static void a_port_does_what_the_published_rule_says(void **state)
{
    (void)state;
    static struct load load;
    static struct departures engine, model;
    struct weft_fabric fabric;
    const char *given = getenv("WEFT_SEED");
    uint64_t seed = given == NULL ? 23 : strtoull(given, NULL, 0);
    struct weft_rng rng;
    weft_rng_init(&rng, seed);
    build_path(&fabric, &arena_kept);
    print_message("seed %llu\n", (unsigned long long)seed);
    for (uint32_t run = 0; run < TEST_SEEDS(2000); run++) {
        draw(&load, &rng);
        play_engine(&engine, &load, &fabric);
        play_model(&model, &load);
        for (uint32_t i = 0; i < model.count && i < engine.count; i++) {
            if (model.arrival[i] != engine.arrival[i] || model.end_ps[i] != engine.end_ps[i]) {
                fail_msg("run %u, departure %u: arrival %u at %llu ps, by the rule %u at %llu ps",
                         run, i, engine.arrival[i], (unsigned long long)engine.end_ps[i],
                         model.arrival[i], (unsigned long long)model.end_ps[i]);
            }
        }
        assert_int_equal(engine.count, model.count);
    }
}

// A message's packets of which 18, 16, 14... are left wait behind others that come a little faster
// than the port sends and say 7. As soon as the packet that says 6 is there, the oldest goes, and
// the others after it, though they say more than 7: without that rule the receiver would wait for
// the oldest until the others are over.
static void the_oldest_packet_of_the_most_urgent_message_goes_first(void **state)
{
    (void)state;
    static struct load load;
    static struct departures engine;
    struct weft_fabric fabric;
    enum { OTHERS = 100, OWN = 7 };
    build_path(&fabric, &arena_kept);
    load.count = 0;
    for (uint32_t i = 0; i < OTHERS; i++) {
        uint64_t at_ps = 1 + (uint64_t)i * 1499 * PS_PER_BYTE;
        load.arrivals[load.count++] =
            (struct arrival){.at_ps = at_ps, .message = 1 + i % 4, .left = 7, .bytes = 1500};
        if (i % 8 == 0 && i / 8 < OWN) {
            load.arrivals[load.count++] = (struct arrival){
                .at_ps = at_ps + PS_PER_BYTE, .message = 0, .left = 18 - i / 4, .bytes = 600};
        }
    }
    play_engine(&engine, &load, &fabric);
    assert_int_equal(engine.count, load.count);
    uint32_t sent = 0;
    uint32_t last = 0;
    for (uint32_t i = 0; i < engine.count; i++) {
        const struct arrival *arrival = &load.arrivals[engine.arrival[i]];
        if (arrival->message == 0) {
            assert_int_equal(arrival->left, 18 - 2 * sent); // in order
            sent++;
            last = engine.arrival[i];
        } else if (sent > 0 && sent < OWN) {
            fail_msg("packet %u overtakes a message that is more urgent", engine.arrival[i]);
        }
    }
    assert_int_equal(sent, OWN);
    assert_int_equal(load.arrivals[last].left, 6);
    assert_true(engine.arrival[engine.count - 1] != last); // the others go on
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_port_does_what_the_published_rule_says),
        cmocka_unit_test(the_oldest_packet_of_the_most_urgent_message_goes_first),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
