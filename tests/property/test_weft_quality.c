// SPDX-License-Identifier: Apache-2.0
// How near the weft method comes to Moore's bound with the effort that its goals name: 10 s at 128
// servers, 60 s at 432 and 1024 (less than that in CPU time). Distances are counted anew.

#include "weft/topology.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

// Mean distance by a plain breadth-first search from every server.
static double plain_mean_hops(const struct weft_topology *topology, struct weft_arena scratch)
{
    uint32_t n = topology->server_count;
    uint32_t *distance = WEFT_NEW(&scratch, uint32_t, n);
    uint32_t *queue = WEFT_NEW(&scratch, uint32_t, n);
    double sum = 0;
    for (uint32_t s = 0; s < n; s++) {
        memset(distance, 0xff, n * sizeof *distance);
        distance[s] = 0;
        queue[0] = s;
        uint32_t tail = 1;
        for (uint32_t head = 0; head < tail; head++) {
            for (uint32_t p = 0; p < topology->degree; p++) {
                uint32_t to = topology->planes[(size_t)p * n + queue[head]];
                if (distance[to] == UINT32_MAX) {
                    distance[to] = distance[queue[head]] + 1;
                    sum += distance[to];
                    queue[tail++] = to;
                }
            }
        }
        assert_int_equal(tail, n);
    }
    return sum / ((double)n * (n - 1));
}

// Fails when moves may not be refused (temperature without end): mean hops stay near random ones.
static void goals_are_reached(void **state)
{
    (void)state;
    static const struct {
        uint32_t n;
        uint32_t d;
        bool simplex;
        double seconds;
        double ratio; // to Moore's bound
    } cases[] = {{128, 4, false, 10, 1.03},  {128, 8, false, 10, 1.01},  {432, 4, false, 60, 1.05},
                 {432, 8, false, 60, 1.085}, {1024, 4, false, 60, 1.04}, {1024, 8, false, 60, 1.02},
                 {128, 4, true, 10, 1.03},   {128, 8, true, 10, 1.02},   {127, 4, false, 10, 1.04},
                 {96, 5, false, 10, 1.06}};
    struct weft_arena arena;
    struct weft_arena scratch;
    struct weft_error error;
    assert_true(weft_arena_init(&arena, 0, &error) && weft_arena_init(&scratch, 0, &error));
    bool all = true;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_topology_options options = {
            .method = WEFT_TOPOLOGY_WEFT,
            .simplex = cases[i].simplex,
            .seconds = cases[i].seconds,
        };
        struct weft_topology topology;
        struct weft_arena room = arena;
        options.degree = cases[i].d;
        assert_true(weft_topology_find(
            &topology, NULL, cases[i].n, &options,
            &(struct weft_environment){
                .seed = 1, .threads = 2, .arena = &room, .scratch = scratch, .error = &error}));
        assert_true(weft_topology_check(&topology, NULL, scratch, &error));
        double mean = plain_mean_hops(&topology, scratch);
        double moore = 0;
        uint32_t diameter = 0;
        weft_fabric_moore(cases[i].n, cases[i].d, cases[i].simplex, &moore, &diameter);
        bool good = mean <= cases[i].ratio * moore;
        print_message("n=%u d=%u %s: mean hops %.4f, %.2f %% above Moore's %.4f%s\n", cases[i].n,
                      cases[i].d, cases[i].simplex ? "simplex" : "duplex", mean,
                      100 * (mean / moore - 1), moore, good ? "" : "  TOO FAR");
        all = all && good;
    }
    assert_true(all);
    weft_arena_release(&arena);
    weft_arena_release(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(goals_are_reached)};
    return cmocka_run_group_tests_name("weft quality", tests, NULL, NULL);
}
