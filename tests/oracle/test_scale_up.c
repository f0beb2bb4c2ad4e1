// SPDX-License-Identifier: Apache-2.0
// Collectives of servers with eight accelerators, and of racks with 72, against closed forms,
// within 0.1 %: AllReduce, ReduceScatter, AllGather and all-to-all on 16 and 64 servers, on
// rail-optimised leaf-spines of two and three tiers, whole and oversubscribed, rail-only ones,
// planes, dual ToR, Clos, Fat-trees, dragonflies and tori; AllReduce and all-to-all of 256 on a
// leaf-spine. With `all` as an argument everything up to 1,024 servers: some minutes and 6 GB.
//
// Between accelerators of a server a ring round of S/8 takes S/8/V and the inside latency. Between
// servers a rail is a ring of N with a share of S/8; a round takes its message over the NIC, and
// the latency of as many links as the farthest neighbors are apart. Lanes of a square torus have
// two rails a direction. What is sent to all goes over (N-1) NIC messages of 8 sizes; on a torus
// of even sides k, every link carries N k / 8 server pairs. On a dragonfly of 64 ports a router has
// 16 servers of one rail, and 64 of them fill a group. Within a group, 256 pairs share the one
// cable between two routers of a rail. Of g groups, whose routers have links of their own to all
// others, half of what goes between groups takes such a cable at its beginning and half at its end:
// 256 g pairs. Oversubscribed o times, 32 servers below a leaf send to 32 others over 32 / o
// cables.
//
// Mutations that made it fail (each was run): a lane's share of S / servers; the way back left out
// in add_group; every rail on the first plane in cross(); the inside part of an all-to-all without
// its factor of servers; ends of a leaf-spine by server instead of by rail.

#include "weft/request/simulate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define INSIDE_BPS 450e9
#define NIC_BPS 50e9
#define LINK_S 1e-6
#define INSIDE_S 0.4e-6

static bool all;

// A fabric, and how many links lie between the farthest of two neighbors in a rail's ring, and of
// any two of a rail, by the number of servers.
struct place {
    uint32_t servers; // 0: none
    double neighbor_links;
    double links;
    double pairs; // that the busiest link carries of an all-to-all; 0 = of a NIC
};

struct fabric {
    const char *name;
    bool is_torus;
    uint32_t accelerators; // of a server
    uint32_t radix;
    double oversubscription;
    struct place places[4];
};

static double simulate(const char *flows, const struct fabric *fabric, uint32_t servers)
{
    struct weft_arena arena, scratch;
    struct weft_error error;
    assert_true(weft_arena_init(&arena, 0, &error) && weft_arena_init(&scratch, 0, &error));
    struct weft_request_environment environment = {
        .base = {.arena = &arena, .scratch = scratch, .error = &error, .seed = 1, .threads = 1}};
    const char *const loads[] = {flows};
    const struct weft_simulate_request request = {
        .loads = loads,
        .load_count = 1,
        .fabric = fabric->name,
        .shape = {.radix = fabric->radix, .oversubscription = fabric->oversubscription},
        .hardware = {.server_count = servers,
                     .degree = fabric->is_torus ? 4 : fabric->accelerators,
                     .rate_Bps = NIC_BPS,
                     .rate_given = true,
                     .latency_ps = 1000000,
                     .latency_given = true},
        .scale_up = {.accelerators = fabric->accelerators,
                     .rate = {true, INSIDE_BPS},
                     .latency = {true, 400000}},
        .algorithm =
            strncmp(flows, "allreduce", 9) == 0 ? WEFT_SIMULATE_RINGS : WEFT_SIMULATE_BEST};
    struct weft_simulate_result result;
    if (!weft_request_simulate(&result, &request, &environment)) {
        fail_msg("%s on %s of %u: %s", flows, fabric->name, servers, error.message);
    }
    double end_s = weft_seconds(result.sim.end_ps);
    weft_arena_release(&arena);
    weft_arena_release(&scratch);
    return end_s;
}

// Leaves of 64 ports hold 32 servers a rail with spines above, 64 without; Fat-trees of the
// smallest radix that fits: 8 ports for 128 NICs, 14 for 512, 22 for 2,048, 32 for 8,192. A Clos of
// 64 ports ends at 2,048 NICs, and 128 ports begin. 1,024 servers of eight rails need 128 ports. Of
// 16 ports a group of eight servers is a pod. Four planes are as 256 ports, two as 128.
static const struct fabric fabrics[] = {
    {"ideal", false, 8, 0, 0, {{16, 2, 2, 0}, {64, 2, 2, 0}, {256, 2, 2, 0}, {1024, 2, 2, 0}}},
    {"leaf-spine", false, 8, 0, 0, {{16, 2, 2, 0}, {64, 4, 4, 0}, {256, 4, 4, 0}, {1024, 4, 4, 0}}},
    {"leaf-spine", false, 8, 16, 0, {{16, 4, 4, 0}, {64, 6, 6, 0}}},
    {"leaf-spine", false, 8, 64, 4, {{64, 4, 4, 128}}},
    {"rail-only", false, 8, 0, 0, {{16, 2, 2, 0}, {64, 2, 2, 0}, {256, 4, 4, 0}, {1024, 4, 4, 0}}},
    {"multi-plane",
     false,
     8,
     0,
     0,
     {{16, 2, 2, 0}, {64, 2, 2, 0}, {256, 4, 4, 0}, {1024, 4, 4, 0}}},
    {"dual-plane", false, 8, 0, 0, {{16, 2, 2, 0}, {64, 2, 2, 0}, {256, 4, 4, 0}, {1024, 4, 4, 0}}},
    {"dual-tor", false, 8, 0, 0, {{16, 2, 2, 0}, {64, 2, 2, 0}, {256, 4, 4, 0}, {1024, 4, 4, 0}}},
    {"clos", false, 8, 0, 0, {{16, 4, 4, 0}, {64, 4, 4, 0}, {256, 4, 4, 0}, {1024, 4, 4, 0}}},
    {"fat-tree", false, 8, 0, 0, {{16, 6, 6, 0}, {64, 6, 6, 0}, {256, 6, 6, 0}, {1024, 6, 6, 0}}},
    {"torus-2d", true, 8, 0, 0, {{16, 1, 4, 0}, {64, 1, 8, 0}, {256, 1, 16, 0}, {1024, 1, 32, 0}}},
    {"dragonfly",
     false,
     8,
     0,
     0,
     {{16, 2, 2, 0}, {64, 3, 3, 256}, {256, 4, 4, 1024}, {1024, 4, 4, 4096}}},
    {"leaf-spine", false, 72, 0, 0, {{4, 2, 2, 0}, {16, 2, 2, 0}}},
    {"rail-only", false, 72, 0, 0, {{4, 2, 2, 0}, {16, 2, 2, 0}}},
    {"clos", false, 72, 0, 0, {{4, 4, 4, 0}, {16, 4, 4, 0}}},
};
enum { FABRICS = sizeof fabrics / sizeof fabrics[0] };

// In the minutes of `make check` large networks are played once.
static bool is_played(const struct fabric *fabric, const struct place *place, bool first)
{
    bool once = first && place->servers == 256 &&
                (fabric == &fabrics[1] || strcmp(fabric->name, "dragonfly") == 0);
    return place->servers > 0 && (all || place->servers <= 64 || once);
}

static void hold(double got_s, double exact_s, const char *flows, const struct fabric *fabric,
                 uint32_t servers)
{
    if (!(fabs(got_s - exact_s) <= 1e-3 * exact_s)) {
        fail_msg("%s on %s of %u servers of %u: %.9g s, closed form %.9g s", flows, fabric->name,
                 servers, fabric->accelerators, got_s, exact_s);
    }
}

// A half of an AllReduce of S bytes between servers.
static double rails_s(const struct fabric *fabric, const struct place *place, double size_bytes)
{
    double n = place->servers;
    double share_bytes = size_bytes / fabric->accelerators;
    double hop_s = place->neighbor_links * LINK_S;
    if (!fabric->is_torus) {
        return (n - 1) * (share_bytes / n / NIC_BPS + hop_s);
    }
    double side = sqrt(n);
    double lanes = 2; // on every link
    return (side - 1) * (lanes * share_bytes / side / NIC_BPS + hop_s + INSIDE_S) +
           (side - 1) * (lanes * share_bytes / n / NIC_BPS + hop_s + INSIDE_S);
}

static double half_s(const struct fabric *fabric, const struct place *place, double size_bytes)
{
    double rounds = fabric->accelerators - 1;
    return rounds * (size_bytes / fabric->accelerators / INSIDE_BPS + INSIDE_S) +
           rails_s(fabric, place, size_bytes);
}

static void reductions_have_their_closed_form(void **state)
{
    (void)state;
    static const struct {
        const char *flows;
        double size_bytes;
        double halves;
    } loads[] = {{"allreduce:1GB", 1e9, 2},
                 {"allreduce:64MB", 64e6, 2},
                 {"reducescatter:1GB", 1e9, 1},
                 {"allgather:1GB", 1e9, 1}};
    for (uint32_t f = 0; f < FABRICS; f++) {
        for (uint32_t p = 0; p < 4; p++) {
            const struct place *place = &fabrics[f].places[p];
            for (uint32_t i = 0; i < 4; i++) {
                if (!is_played(&fabrics[f], place, i == 0)) {
                    continue;
                }
                double got_s = simulate(loads[i].flows, &fabrics[f], place->servers);
                double exact_s = loads[i].halves * half_s(&fabrics[f], place, loads[i].size_bytes);
                hold(got_s, exact_s, loads[i].flows, &fabrics[f], place->servers);
            }
        }
    }
}

static void all_to_all_has_its_closed_form(void **state)
{
    (void)state;
    double size_bytes = 1e6;
    for (uint32_t f = 0; f < FABRICS; f++) {
        for (uint32_t p = 0; p < 4; p++) {
            const struct place *place = &fabrics[f].places[p];
            if (!is_played(&fabrics[f], place, true)) {
                continue;
            }
            double n = place->servers;
            double a = fabrics[f].accelerators;
            double inside_s = (a - 1) * n * size_bytes / INSIDE_BPS + INSIDE_S;
            double pairs = fabrics[f].is_torus ? n * sqrt(n) / 8 * a
                           : place->pairs > 0  ? place->pairs
                                               : n - 1;
            double between_s = pairs * a * size_bytes / NIC_BPS + place->links * LINK_S +
                               (fabrics[f].is_torus ? INSIDE_S : 0);
            double got_s = simulate("alltoall:1MB", &fabrics[f], place->servers);
            hold(got_s, inside_s + between_s, "alltoall:1MB", &fabrics[f], place->servers);
        }
    }
}

// A leaf-spine of full rate is the ideal switch but for its latency.
static void leaf_spines_are_as_good_as_one_switch(void **state)
{
    (void)state;
    static const char *const loads[] = {"allreduce:16GB", "alltoall:1MB"};
    for (uint32_t i = 0; i < 2; i++) {
        for (uint32_t servers = 16; servers <= (all ? 256 : 64); servers *= 4) {
            double ideal_s = simulate(loads[i], &fabrics[0], servers);
            double got_s = simulate(loads[i], &fabrics[1], servers);
            assert_true(got_s >= ideal_s && got_s <= 1.01 * ideal_s);
        }
    }
}

int main(int argc, char **argv)
{
    all = argc > 1 && strcmp(argv[1], "all") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions_have_their_closed_form),
        cmocka_unit_test(all_to_all_has_its_closed_form),
        cmocka_unit_test(leaf_spines_are_as_good_as_one_switch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
