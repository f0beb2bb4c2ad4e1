// SPDX-License-Identifier: Apache-2.0
// Both engines against the closed forms of collectives, on fabrics where nothing gets in the way.
// Prints the widest difference of each algorithm, kind and fabric.
//
// Mutations that made these tests fail (each was run): a round that does not wait for the one
// before; receives of one rank side by side; a transport that begins with 8 packets; a closed form
// of rings with 2 % fewer bytes.

#include "../arenas.h"
#include "weft/collective.h"
#include "weft/sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define RATE_BPS 12.5e9 // of a server's ports together
#define LATENCY_PS 1000000u
#define PACKET_BYTES 1025u
#define HEADER_BYTES 1u

static struct weft_network network;

// Fabrics on which an algorithm's messages of a round never meet.
enum ground { GROUND_SWITCH, GROUND_RING, GROUND_ONE_WAY, GROUND_TORUS, GROUND_CIRCULANT };
static const char *const ground_names[] = {"switch", "ring", "one-way ring", "torus", "circulant"};

enum player { PLAYER_FLUID, PLAYER_FLOW, PLAYER_PACKET, PLAYER_COUNT };

static void check(bool fine, const struct weft_error *error)
{
    if (!fine) {
        fail_msg("%s", error->message);
    }
}

// Servers i -> i + 1, ..., i + jumps.
static void build_circulant(const struct weft_cluster *cluster, uint32_t jumps,
                            struct weft_arena *arena)
{
    uint32_t n = cluster->server_count;
    struct weft_link *links = WEFT_NEW(arena, struct weft_link, (size_t)n * jumps);
    uint32_t count = 0;
    for (uint32_t jump = 1; jump <= jumps; jump++) {
        for (uint32_t s = 0; s < n; s++) {
            links[count++] = (struct weft_link){s, (s + jump) % n, RATE_BPS / jumps, LATENCY_PS, 1};
        }
    }
    struct weft_error error;
    network = (struct weft_network){0};
    check(weft_fabric_build(&network.fabric,
                            &(struct weft_fabric_links){"circulant", n, n, links, count}, arena,
                            &error),
          &error);
    check(weft_routes_build_shortest(&network.routes, &network.fabric, arena, scratch_kept, &error),
          &error);
}

static uint32_t sides_of(const uint32_t shape[3])
{
    return shape[2] > 0 ? 3 : 2;
}

static void build_ground(enum ground ground, uint32_t n, const uint32_t shape[3],
                         struct weft_arena *arena)
{
    struct weft_cluster cluster;
    struct weft_error error;
    check(weft_cluster_build(&cluster, n,
                             ground == GROUND_TORUS ? 2 * sides_of(shape) : 1 + (n > 2), RATE_BPS,
                             &error),
          &error);
    cluster.latency_ps = LATENCY_PS;
    struct weft_fabric_options options = {.port_rate_Bps = RATE_BPS};
    switch (ground) {
    case GROUND_SWITCH:
        check(weft_fabric_build_ideal(&network, &cluster, &options, arena, &error), &error);
        break;
    case GROUND_RING:
        options.port_rate_Bps = RATE_BPS / 2;
        check(weft_fabric_build_ring(&network, &cluster, &options, arena, &error), &error);
        break;
    case GROUND_ONE_WAY:
        build_circulant(&cluster, 1, arena);
        break;
    case GROUND_TORUS:
        options.dimensions = sides_of(shape);
        memcpy(options.sides, shape, sizeof options.sides);
        options.port_rate_Bps = RATE_BPS / (2 * sides_of(shape));
        check(weft_fabric_build_torus(&network, &cluster, &options, arena, &error), &error);
        break;
    case GROUND_CIRCULANT:
        build_circulant(&cluster, 2, arena);
        break;
    }
}

static double play(const struct weft_schedule *schedule, uint64_t size_bytes, bool lock_step,
                   enum player player, struct weft_arena arena)
{
    // Nothing that a transport adds: no slow start, no losses, acknowledgements for nothing.
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    packet.window.initial_packets = packet.window.limit_packets = 1u << 16;
    packet.buffer_bytes = packet.mark_bytes = 1ull << 40;
    packet.ack_at_once = true;
    packet.loss.reorder_packets = 1u << 30;
    packet.loss.timeout_min_ps = packet.loss.timeout_first_ps = WEFT_PS_PER_S;
    struct weft_sim_options options = {.seed = 1};
    if (player != PLAYER_FLUID) {
        options.packet_bytes = PACKET_BYTES;
        options.header_bytes = HEADER_BYTES;
    }
    if (player == PLAYER_PACKET) {
        options.engine = WEFT_ENGINE_PACKET;
        options.transport = WEFT_TRANSPORT_RENO;
        options.packet = &packet;
    }
    struct weft_taskgraph graph;
    struct weft_sim_result result;
    struct weft_error error;
    struct weft_sim_job job = {.graph = &graph};
    check(weft_schedule_lower(&graph, schedule,
                              &(struct weft_lower_options){.size_bytes = size_bytes,
                                                           .server_count = schedule->rank_count,
                                                           .lock_step = lock_step},
                              &arena, scratch_kept, &error),
          &error);
    check(weft_sim_run_jobs(&result, &network, &job, 1, &options,
                            &(struct weft_environment){
                                .arena = &arena, .scratch = scratch_kept, .error = &error}),
          &error);
    return weft_seconds(result.iteration_ps[0]);
}

// Alpha is a path's latency and, of packets, one at the switch on top of the bytes' time.
static struct weft_cost_model model_of(enum ground ground, enum player player)
{
    uint32_t hops = ground == GROUND_SWITCH ? 2 : 1;
    struct weft_cost_model model = {.alpha_s = hops * weft_seconds(LATENCY_PS),
                                    .beta_s_per_byte = 1 / RATE_BPS};
    if (player != PLAYER_FLUID) {
        model.alpha_s += (hops - 1) * PACKET_BYTES / RATE_BPS;
        model.beta_s_per_byte *= (double)PACKET_BYTES / (PACKET_BYTES - HEADER_BYTES);
    }
    return model;
}

struct row {
    enum weft_algorithm algorithm;
    enum weft_collective_kind kind;
    enum ground ground;
    uint32_t chunk_factor;
    uint32_t shape[3];
};

// Relative differences from the closed form.
struct difference {
    double lock_step[PLAYER_COUNT]; // the widest
    double free_least[PLAYER_COUNT];
    double free_most[PLAYER_COUNT];
    bool one_port;
    uint32_t count;
};

static void try_size(struct difference *difference, const struct row *row,
                     const struct weft_schedule *schedule,
                     const struct weft_algorithm_options *options, uint32_t packets)
{
    uint64_t size_bytes = (uint64_t)schedule->chunk_count * (PACKET_BYTES - HEADER_BYTES) * packets;
    for (enum player player = 0; player < PLAYER_COUNT; player++) {
        struct weft_cost_model model = model_of(row->ground, player);
        double closed_s =
            weft_algorithm_seconds(row->algorithm, options, (double)size_bytes, &model);
        double step_s = play(schedule, size_bytes, true, player, arena_kept);
        double free_s = play(schedule, size_bytes, false, player, arena_kept);
        double *most = &difference->lock_step[player];
        *most = fmax(*most, fabs(step_s / closed_s - 1));
        most = &difference->free_most[player];
        *most = difference->count == 0 ? free_s / closed_s - 1 : fmax(*most, free_s / closed_s - 1);
        double *least = &difference->free_least[player];
        *least =
            difference->count == 0 ? free_s / closed_s - 1 : fmin(*least, free_s / closed_s - 1);
    }
    difference->count++;
}

static bool try_ranks(struct difference *difference, const struct row *row, uint32_t rank_count)
{
    static const uint32_t packets[] = {1, 7, 64};
    const struct weft_arena whole = arena_kept;
    struct weft_algorithm_options options = {
        .kind = row->kind, .rank_count = rank_count, .chunk_factor = row->chunk_factor};
    options.ring_count = row->ground == GROUND_CIRCULANT ? 2 : 0; // jumps 1 and 2, n is odd
    memcpy(options.shape, row->shape, sizeof options.shape);
    struct weft_error error;
    struct weft_schedule schedule;
    if (!weft_algorithm_build(&schedule, row->algorithm, &options, &arena_kept, scratch_kept,
                              &error)) {
        arena_kept = whole;
        return false;
    }
    build_ground(row->ground, rank_count, row->shape, &arena_kept);
    difference->one_port = schedule.port_count == 1;
    for (size_t p = 0; p < sizeof packets / sizeof packets[0]; p++) {
        try_size(difference, row, &schedule, &options, packets[p]);
    }
    arena_kept = whole;
    return true;
}

// In lock step both engines take the closed form. Free, as data allow, one port is never slower;
// ranks with several sends at once share their port with whom they like, and only what that gives
// is told.
static void hold(const struct row *row, const struct difference *difference)
{
    printf("%-18s %-14s %-12s %2u", weft_algorithm_name(row->algorithm),
           weft_collective_name(row->kind), ground_names[row->ground], difference->count);
    for (enum player player = 0; player < PLAYER_COUNT; player++) {
        printf(" | %6.3f %% %+7.2f %+7.2f %%", 100 * difference->lock_step[player],
               100 * difference->free_least[player], 100 * difference->free_most[player]);
    }
    printf("\n");
    for (enum player player = 0; player < PLAYER_COUNT; player++) {
        assert_true(difference->lock_step[player] < 0.001);
        assert_true(!difference->one_port || difference->free_most[player] < 0.001);
    }
}

static void head(void)
{
    printf("%-49s | %-27s | %-27s | %-27s\n", "algorithm, kind, fabric, sizes", "flow, fluid",
           "flow, packets", "packet engine");
    for (int i = 0; i < 3; i++) {
        printf("%*s%s", i == 0 ? 49 : 0, "", " | lock step, free from, to");
    }
    printf("\n");
}

static void engines_agree_on_a_switch(void **state)
{
    (void)state;
    static const uint32_t rank_counts[] = {2, 3, 5, 8, 12, 16};
    head();
    for (enum weft_algorithm algorithm = 0; algorithm < WEFT_ALGORITHM_SYNTHESIZE; algorithm++) {
        for (enum weft_collective_kind kind = 0; kind < WEFT_COLLECTIVE_KIND_COUNT; kind++) {
            bool pipelined = kind == WEFT_COLLECTIVE_BROADCAST || kind == WEFT_COLLECTIVE_REDUCE ||
                             algorithm == WEFT_ALGORITHM_BINARY_TREE ||
                             algorithm == WEFT_ALGORITHM_DOUBLE_TREE;
            const struct row row = {algorithm, kind, GROUND_SWITCH, pipelined ? 6 : 2, {0}};
            struct difference difference = {.count = 0};
            for (size_t i = 0; weft_algorithm_supports(algorithm, kind) &&
                               i < sizeof rank_counts / sizeof rank_counts[0];
                 i++) {
                bool built = try_ranks(&difference, &row, rank_counts[i]);
                // Gathers on powers of two alone; a straggler takes two others.
                assert_true(built || algorithm == WEFT_ALGORITHM_RECURSIVE_DOUBLING ||
                            (algorithm == WEFT_ALGORITHM_STRAGGLAR && rank_counts[i] == 2));
            }
            if (difference.count > 0) {
                hold(&row, &difference);
            }
        }
    }
}

static void engines_agree_on_direct_fabrics(void **state)
{
    (void)state;
    static const struct {
        struct row row;
        uint32_t rank_counts[3];
    } cases[] = {
        {{WEFT_ALGORITHM_RING, 0, GROUND_ONE_WAY, 1, {0}}, {3, 8, 33}},
        {{WEFT_ALGORITHM_BIDIRECTIONAL, 0, GROUND_RING, 1, {0}}, {3, 8, 33}},
        {{WEFT_ALGORITHM_MULTI_RING, 0, GROUND_CIRCULANT, 1, {0}}, {5, 9, 27}},
        {{WEFT_ALGORITHM_TORUS, 0, GROUND_TORUS, 1, {4, 4, 0}}, {16, 0, 0}},
        {{WEFT_ALGORITHM_TORUS, 0, GROUND_TORUS, 1, {6, 6, 0}}, {36, 0, 0}},
        {{WEFT_ALGORITHM_TORUS, 0, GROUND_TORUS, 1, {3, 3, 3}}, {27, 0, 0}},
    };
    head();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (enum weft_collective_kind kind = 0; kind <= WEFT_COLLECTIVE_ALLGATHER; kind++) {
            struct row row = cases[i].row;
            row.kind = kind;
            struct difference difference = {.count = 0};
            for (uint32_t r = 0; r < 3 && cases[i].rank_counts[r] > 0; r++) {
                assert_true(try_ranks(&difference, &row, cases[i].rank_counts[r]));
            }
            hold(&row, &difference);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engines_agree_on_a_switch),
        cmocka_unit_test(engines_agree_on_direct_fabrics),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
