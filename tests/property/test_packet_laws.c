// SPDX-License-Identifier: Apache-2.0
// What holds for every transport of the packet engine on random flows: no packet comes from nowhere
// or is gone unseen; the same run twice, beside itself in two threads, or with the servers under
// other names, gives the same times and counts.
//
// Mutations that made this test fail (each was run): drops that are not counted; packets sent again
// that are not; links that are slower by their index; a first timeout that grows from run to run.

#include "../seeds.h"
#include "weft/sim.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define SEEDS TEST_SEEDS(12u)
#define SERVERS 12u
#define FLOWS 60u
#define PACKET_BYTES 1000u
#define HEADER_BYTES 60u
#define RATE_BPS 12.5e9

struct setting {
    uint32_t from[FLOWS];
    uint32_t to[FLOWS];
    uint64_t size_bytes[FLOWS];
    uint64_t start_ps[FLOWS];
    uint32_t name_of[SERVERS];
    struct weft_packet_options packet;
    enum weft_sim_transport transport;
    struct weft_arena arena; // each thread its own
    struct weft_arena scratch;
    struct weft_network network;
    // Out.
    bool played;
    uint64_t end_ps[FLOWS];
    struct weft_packet_counts counts;
    double up_bytes;
    double down_bytes;
    struct weft_error error;
};

static struct setting settings[2];

static int set_up(void **state)
{
    (void)state;
    struct weft_error error;
    for (int i = 0; i < 2; i++) {
        if (!weft_arena_init(&settings[i].arena, 0, &error) ||
            !weft_arena_init(&settings[i].scratch, 0, &error)) {
            return -1;
        }
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        weft_arena_release(&settings[i].arena);
        weft_arena_release(&settings[i].scratch);
    }
    return 0;
}

// Flows of up to 300 packets within 1 ms over a switch whose ports hold few: some are lost.
static void draw(struct setting *setting, uint64_t seed, enum weft_sim_transport transport)
{
    struct weft_rng rng;
    weft_rng_init(&rng, seed);
    setting->transport = transport;
    setting->packet = WEFT_PACKET_DEFAULTS;
    setting->packet.buffer_bytes = PACKET_BYTES * (8 + weft_rng_below(&rng, 60));
    setting->packet.mark_bytes = PACKET_BYTES * weft_rng_below(&rng, 40);
    setting->packet.ack_at_once = weft_rng_below(&rng, 2) == 0;
    setting->packet.handshake = weft_rng_below(&rng, 2) == 0;
    setting->packet.mark_at_departure = weft_rng_below(&rng, 2) == 0;
    if (transport == WEFT_TRANSPORT_NDP) { // by its design
        setting->packet.ack_at_once = false;
        setting->packet.handshake = false;
        setting->packet.mark_at_departure = false;
        setting->packet.port.trims = true;
    }
    if (transport ==
        WEFT_TRANSPORT_MLT) { // its PROBEs are headers; a bound would leave packets out
        setting->packet.ack_at_once = false;
        setting->packet.handshake = false;
        setting->packet.mark_at_departure = false;
        setting->packet.mlt.loss_bound = 0;
    }
    uint64_t start_ps = 0;
    for (uint32_t i = 0; i < FLOWS; i++) {
        setting->from[i] = weft_rng_below(&rng, SERVERS);
        setting->to[i] = (setting->from[i] + 1 + weft_rng_below(&rng, SERVERS - 1)) % SERVERS;
        setting->size_bytes[i] =
            (uint64_t)(PACKET_BYTES - HEADER_BYTES) * (1 + weft_rng_below(&rng, 300));
        start_ps += weft_rng_below(&rng, 3) == 0 ? 0 : weft_rng_below(&rng, 30000000);
        setting->start_ps[i] = start_ps;
    }
    for (uint32_t i = 0; i < SERVERS; i++) {
        setting->name_of[i] = i;
    }
}

static void *play(void *argument)
{
    struct setting *setting = argument;
    struct weft_arena arena = setting->arena;
    struct weft_cluster cluster;
    struct weft_sim_result result;
    uint32_t from[FLOWS], to[FLOWS];
    for (uint32_t i = 0; i < FLOWS; i++) {
        from[i] = setting->name_of[setting->from[i]];
        to[i] = setting->name_of[setting->to[i]];
    }
    struct weft_flow_list list = {FLOWS, from, to, setting->size_bytes, setting->start_ps};
    struct weft_sim_options options = {.packet_bytes = PACKET_BYTES,
                                       .header_bytes = HEADER_BYTES,
                                       .seed = 1,
                                       .engine = WEFT_ENGINE_PACKET,
                                       .transport = setting->transport,
                                       .dctcp = WEFT_DCTCP_DEFAULTS,
                                       .packet = &setting->packet};
    bool built = weft_cluster_build(&cluster, SERVERS, 1, RATE_BPS, &setting->error);
    cluster.latency_ps = 500000;
    setting->played =
        built &&
        weft_fabric_build_ideal(&setting->network, &cluster, NULL, &arena, &setting->error) &&
        weft_sim_run_flows(&result, setting->end_ps, &setting->network, &list, &options,
                           &(struct weft_environment){.arena = &arena,
                                                      .scratch = setting->scratch,
                                                      .error = &setting->error});
    if (!setting->played) {
        return NULL;
    }
    setting->counts = result.packets;
    setting->up_bytes = 0;
    setting->down_bytes = 0;
    for (uint32_t link = 0; link < setting->network.fabric.link_count; link++) {
        bool is_up = setting->network.fabric.links[link].from < SERVERS;
        *(is_up ? &setting->up_bytes : &setting->down_bytes) += result.link_bytes[link];
    }
    return NULL;
}

static void play_well(struct setting *setting, uint64_t seed)
{
    play(setting);
    if (!setting->played) {
        fail_msg("seed %llu, %s: %s", (unsigned long long)seed,
                 weft_transport_name(setting->transport), setting->error.message);
    }
}

static void compare(const struct setting *a, const struct setting *b, const char *what,
                    uint64_t seed)
{
    bool times = memcmp(a->end_ps, b->end_ps, sizeof(a->end_ps)) == 0;
    bool counts = memcmp(&a->counts, &b->counts, sizeof(a->counts)) == 0;
    if (!times || !counts || a->up_bytes != b->up_bytes || a->down_bytes != b->down_bytes) {
        fail_msg("seed %llu, %s: %s gives other %s", (unsigned long long)seed,
                 weft_transport_name(a->transport), what, times ? "counts" : "times");
    }
}

// All that hosts put into the network came out of the switch or was lost there; every message's
// packets were sent once, and again only when counted. Acknowledgements of a message that is over
// may end at the switch.
static void check_conservation(const struct setting *setting, uint64_t seed)
{
    const struct weft_packet_counts *counts = &setting->counts;
    uint64_t fresh = setting->packet.handshake ? FLOWS : 0;
    for (uint32_t i = 0; i < FLOWS; i++) {
        fresh += setting->size_bytes[i] / (PACKET_BYTES - HEADER_BYTES);
    }
    double lost_bytes = setting->up_bytes - setting->down_bytes;
    bool exact = setting->packet.ack_at_once && !setting->packet.handshake;
    bool good = exact ? lost_bytes == (double)counts->drops * PACKET_BYTES
                      : lost_bytes >= (double)counts->drops * HEADER_BYTES;
    // Headers of connections that were lost go again as timeouts.
    good &= counts->packets >= fresh + counts->retransmits &&
            counts->packets <= fresh + counts->retransmits + counts->timeouts;
    if (exact) {
        good &= setting->up_bytes == (double)counts->packets * PACKET_BYTES;
        good &= counts->packets == fresh + counts->retransmits;
    }
    for (uint32_t i = 0; i < FLOWS; i++) {
        double least_ps = (double)(setting->size_bytes[i] + 1) / RATE_BPS * 1e12 + 1e6;
        good &= (double)(setting->end_ps[i] - setting->start_ps[i]) >= least_ps;
    }
    if (!good) {
        fail_msg("seed %llu, %s: %llu packets, %llu again, %llu drops, %.0f bytes in, %.0f out",
                 (unsigned long long)seed, weft_transport_name(setting->transport),
                 (unsigned long long)counts->packets, (unsigned long long)counts->retransmits,
                 (unsigned long long)counts->drops, setting->up_bytes, setting->down_bytes);
    }
}

static void check_repeats(enum weft_sim_transport transport, uint64_t seed)
{
    struct setting *one = &settings[0];
    struct setting *two = &settings[1];
    draw(one, seed, transport);
    draw(two, seed, transport);
    play_well(one, seed);
    check_conservation(one, seed);
    play_well(two, seed);
    compare(one, two, "the same run", seed);
    static struct setting kept;
    kept = *one;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        memset(settings[i].end_ps, 0, sizeof(settings[i].end_ps));
        assert_int_equal(pthread_create(&threads[i], NULL, play, &settings[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        compare(&kept, &settings[i], "a thread of two", seed);
    }
    if (transport == WEFT_TRANSPORT_NDP) {
        return; // which packet a full port cuts is drawn by the port's number
    }
    struct weft_rng rng;
    weft_rng_init(&rng, ~seed);
    weft_rng_shuffle(&rng, two->name_of, SERVERS);
    play_well(two, seed);
    compare(&kept, two, "another numbering", seed);
}

static void every_transport_keeps_the_laws(void **state)
{
    (void)state;
    uint32_t count;
    uint64_t drops = 0;
    const struct weft_transport_entry *entries = weft_transports(&count);
    for (uint32_t i = 0; i < count; i++) {
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            if (entries[i].transport != WEFT_TRANSPORT_IDEAL) {
                check_repeats(entries[i].transport, seed);
                drops += settings[0].counts.drops;
            }
        }
    }
    assert_true(drops > 1000 / TEST_SEEDS_SHARE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_transport_keeps_the_laws, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
