// SPDX-License-Identifier: Apache-2.0
// The weft method: unions of Hamiltonian cycles found by search.

#include "weft/topology.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct room {
    struct weft_arena all[2];
    struct weft_arena arena;
    struct weft_arena scratch;
    struct weft_error error;
};

static void open_room(struct room *room)
{
    assert_true(weft_arena_init(&room->arena, 0, &room->error));
    assert_true(weft_arena_init(&room->scratch, 0, &room->error));
    room->all[0] = room->arena;
    room->all[1] = room->scratch;
}

static void close_room(struct room *room)
{
    weft_arena_release(&room->all[0]);
    weft_arena_release(&room->all[1]);
}

static const struct weft_topology_options quick = {.method = WEFT_TOPOLOGY_WEFT, .seconds = 0.02};

// Mean distance by a plain breadth-first search from every server; also checks that every plane is
// a permutation, and an involution of links both ways when duplex.
static double plain_mean_hops(const struct weft_topology *topology, uint32_t *diameter,
                              struct weft_arena scratch)
{
    uint32_t n = topology->server_count;
    uint32_t *distance = WEFT_NEW(&scratch, uint32_t, n);
    uint32_t *queue = WEFT_NEW(&scratch, uint32_t, n);
    double sum = 0;
    *diameter = 0;
    for (uint32_t s = 0; s < n; s++) {
        memset(distance, 0xff, n * sizeof *distance);
        distance[s] = 0;
        uint32_t head = 0;
        uint32_t tail = 1;
        for (queue[0] = s; head < tail; head++) {
            for (uint32_t p = 0; p < topology->degree; p++) {
                uint32_t v = topology->planes[(size_t)p * n + queue[head]];
                if (distance[v] == UINT32_MAX) {
                    distance[v] = distance[queue[head]] + 1;
                    *diameter = distance[v] > *diameter ? distance[v] : *diameter;
                    queue[tail++] = v;
                }
            }
        }
        assert_int_equal(tail, n);
        for (uint32_t v = 0; v < n; v++) {
            sum += distance[v];
        }
    }
    return sum / ((double)n * (n - 1));
}

static bool joins(const struct weft_topology *topology, uint32_t from, uint32_t to)
{
    for (uint32_t p = 0; p < topology->degree; p++) {
        if (topology->planes[(size_t)p * topology->server_count + from] == to) {
            return true;
        }
    }
    return false;
}

static void check_links(const struct weft_topology *topology, struct weft_arena scratch)
{
    uint32_t n = topology->server_count;
    for (uint32_t p = 0; p < topology->degree; p++) {
        uint32_t *hits = WEFT_NEW(&scratch, uint32_t, n);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t to = topology->planes[(size_t)p * n + i];
            assert_true(to < n);
            hits[to]++;
            assert_true(topology->simplex || joins(topology, to, i) || to == i);
        }
        for (uint32_t i = 0; i < n; i++) {
            assert_int_equal(hits[i], 1);
        }
    }
}

// Whether every ring visits all servers once along links; counts the interfaces that rings use.
static void check_rings(const struct weft_topology *topology, struct weft_arena scratch)
{
    uint32_t n = topology->server_count;
    double share = 0;
    for (uint32_t r = 0; r < topology->rings.ring_count; r++) {
        const struct weft_ring *ring = &topology->rings.rings[r];
        bool *seen = WEFT_NEW(&scratch, bool, n);
        assert_int_equal(ring->member_count, n);
        for (uint32_t i = 0; i < n; i++) {
            assert_false(seen[ring->members[i]]);
            seen[ring->members[i]] = true;
            assert_true(joins(topology, ring->members[i], ring->members[(i + 1) % n]));
        }
        share += ring->share_ratio;
    }
    assert_true(fabs(share - 1) < 1e-12);
}

// Fails when repair_shifts takes every sum for a unit: then rings miss servers.
static void every_size_and_degree_gets_hamiltonian_rings(void **state)
{
    (void)state;
    struct room room;
    open_room(&room);
    for (uint32_t n = 2; n <= 25; n++) {
        for (uint32_t d = n == 2 ? 1 : 2; d < n; d += 1 + n / 9) {
            for (int simplex = 0; simplex < 2; simplex++) {
                struct weft_topology_options options = quick;
                options.simplex = simplex == 1;
                options.seconds = 0.001;
                struct weft_topology topology;
                struct weft_arena arena = room.arena;
                options.degree = d;
                assert_true(weft_topology_find(&topology, NULL, n, &options,
                                               &(struct weft_environment){.seed = n,
                                                                          .threads = 1,
                                                                          .arena = &arena,
                                                                          .scratch = room.scratch,
                                                                          .error = &room.error}));
                assert_true(weft_topology_check(&topology, NULL, room.scratch, &room.error));
                check_links(&topology, room.scratch);
                check_rings(&topology, room.scratch);
                uint32_t diameter = 0;
                double mean = plain_mean_hops(&topology, &diameter, room.scratch);
                assert_true(fabs(mean - topology.mean_hops) < 1e-9);
                assert_int_equal(diameter, topology.diameter);
                double moore = 0;
                weft_fabric_moore(n, d, options.simplex, &moore, &diameter);
                assert_true(mean >= moore - 1e-9);
                uint32_t ring_ports = options.simplex || n == 2 ? d : d - d % 2;
                assert_int_equal(topology.rings.ring_count, ring_ports);
            }
        }
    }
    close_room(&room);
}

// Dense wirings start from Walecki's cycles, which share no edge. Fails when the cycles are not
// turned by their index (all the same).
static void dense_degrees_reach_the_bound(void **state)
{
    (void)state;
    static const struct {
        uint32_t n;
        uint32_t d;
        bool simplex;
    } cases[] = {{5, 4, false},   {4, 3, false},   {9, 8, false},   {10, 9, false}, {33, 32, false},
                 {34, 33, false}, {40, 21, false}, {41, 23, false}, {9, 8, true},   {34, 32, true}};
    struct room room;
    open_room(&room);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_topology_options options = quick;
        options.simplex = cases[i].simplex;
        struct weft_topology topology;
        struct weft_arena arena = room.arena;
        options.degree = cases[i].d;
        assert_true(weft_topology_find(&topology, NULL, cases[i].n, &options,
                                       &(struct weft_environment){.seed = 1,
                                                                  .threads = 1,
                                                                  .arena = &arena,
                                                                  .scratch = room.scratch,
                                                                  .error = &room.error}));
        double moore = 0;
        uint32_t diameter = 0;
        weft_fabric_moore(cases[i].n, cases[i].d, cases[i].simplex, &moore, &diameter);
        // An odd number of servers leaves one of them dark on a matching.
        double slack = cases[i].d % 2 == 1 && cases[i].n % 2 == 1 ? 1.0 / cases[i].n : 1e-9;
        assert_true(topology.mean_hops <= moore + slack);
    }
    close_room(&room);
}

static void few_steps_come_near_the_bound(void **state)
{
    (void)state;
    static const struct {
        uint32_t n;
        uint32_t d;
        bool simplex;
        double mean_hops;
    } cases[] = {{16, 4, false, 1.77}, {128, 4, false, 3.57}, {128, 8, false, 2.53},
                 {128, 4, true, 3.30}, {127, 5, false, 3.10}, {100, 3, false, 4.45}};
    struct room room;
    open_room(&room);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_topology_options options = quick;
        options.simplex = cases[i].simplex;
        options.seconds = 0.5;
        struct weft_topology topology;
        struct weft_arena arena = room.arena;
        options.degree = cases[i].d;
        assert_true(weft_topology_find(&topology, NULL, cases[i].n, &options,
                                       &(struct weft_environment){.seed = 1,
                                                                  .threads = 1,
                                                                  .arena = &arena,
                                                                  .scratch = room.scratch,
                                                                  .error = &room.error}));
        print_message("n=%u d=%u: mean hops %.4f\n", cases[i].n, cases[i].d, topology.mean_hops);
        assert_true(topology.mean_hops <= cases[i].mean_hops);
    }
    close_room(&room);
}

// Fails when the effort of a chain is divided by the number of threads.
static void threads_change_nothing_and_seeds_do(void **state)
{
    (void)state;
    struct room room;
    open_room(&room);
    struct weft_topology topologies[4];
    static const uint32_t threads[] = {1, 2, 4, 1};
    for (uint32_t i = 0; i < 4; i++) {
        struct weft_topology_options options = quick;
        options.seconds = 0.1;
        options.degree = 4;
        assert_true(weft_topology_find(&topologies[i], NULL, 48, &options,
                                       &(struct weft_environment){.seed = i < 3 ? 7 : 8,
                                                                  .threads = threads[i],
                                                                  .arena = &room.arena,
                                                                  .scratch = room.scratch,
                                                                  .error = &room.error}));
    }
    size_t size = sizeof(uint32_t) * 48 * 4;
    assert_memory_equal(topologies[0].planes, topologies[1].planes, size);
    assert_memory_equal(topologies[0].planes, topologies[2].planes, size);
    assert_int_not_equal(memcmp(topologies[0].planes, topologies[3].planes, size), 0);
    assert_int_equal(topologies[0].steps, topologies[2].steps);
    close_room(&room);
}

static void a_stopped_search_still_answers(void **state)
{
    (void)state;
    struct room room;
    open_room(&room);
    atomic_bool stop;
    atomic_init(&stop, true);
    struct weft_topology_options options = quick;
    options.seconds = 1e6;
    struct weft_topology topology;
    options.degree = 6;
    assert_true(weft_topology_find(&topology, NULL, 200, &options,
                                   &(struct weft_environment){.seed = 1,
                                                              .threads = 1,
                                                              .stop = &stop,
                                                              .arena = &room.arena,
                                                              .scratch = room.scratch,
                                                              .error = &room.error}));
    assert_true(topology.stopped);
    assert_true(weft_topology_check(&topology, NULL, room.scratch, &room.error));
    close_room(&room);
}

// Transfers between fixed pairs pull those pairs together.
static void demand_brings_its_pairs_together(void **state)
{
    (void)state;
    struct room room;
    open_room(&room);
    enum { N = 24 };
    double *transfers = WEFT_NEW(&room.arena, double, (size_t)N *N);
    for (uint32_t i = 0; i < N; i++) {
        transfers[i * N + (i * 5 + 3) % N] += 1e6;
        transfers[i * N + (i + 7) % N] += 3e6;
        transfers[i * N + i] = 0;
    }
    struct weft_traffic traffic = {
        .server_count = N, .transfer_bytes = transfers, .transfer_total_bytes = 1};
    for (uint32_t i = 0; i < N * N; i++) {
        traffic.transfer_total_bytes += transfers[i];
    }
    struct weft_topology_options options = quick;
    options.seconds = 0.2;
    struct weft_topology topology;
    options.degree = 4;
    assert_true(weft_topology_find(&topology, &traffic, N, &options,
                                   &(struct weft_environment){.seed = 1,
                                                              .threads = 1,
                                                              .arena = &room.arena,
                                                              .scratch = room.scratch,
                                                              .error = &room.error}));
    uint32_t direct = 0;
    for (uint32_t i = 0; i < N; i++) {
        direct += joins(&topology, i, (i + 7) % N);
    }
    assert_true(direct >= N - 2);
    close_room(&room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_and_degree_gets_hamiltonian_rings),
        cmocka_unit_test(dense_degrees_reach_the_bound),
        cmocka_unit_test(few_steps_come_near_the_bound),
        cmocka_unit_test(threads_change_nothing_and_seeds_do),
        cmocka_unit_test(a_stopped_search_still_answers),
        cmocka_unit_test(demand_brings_its_pairs_together),
    };
    return cmocka_run_group_tests_name("weft", tests, NULL, NULL);
}
