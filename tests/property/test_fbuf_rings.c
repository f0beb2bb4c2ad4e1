// SPDX-License-Identifier: Apache-2.0
// Rings from jump descriptors on random circulant fabrics, against a slow walk written from the
// format's description: the same descriptors are taken, and give the same members and relays.
//
// Mutations that made this fail: the check that a ring does not close early left out; landing on
// servers outside the group let through; jumps taken from the group's place instead of the server's
// id; every descriptor of a size given all bytes.

#include "../arenas.h"
#include "weft/format.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define INSTANCES 3000u
#define SERVERS_MAX 24u
#define DESCRIPTORS_MAX 3u
#define JUMPS_MAX 4u

static uint64_t current_seed;

static void check(bool condition, const char *text)
{
    if (!condition) {
        fail_msg("seed %llu: %s", (unsigned long long)current_seed, text);
    }
}
#define CHECK(condition) check((condition), #condition)

struct instance {
    uint32_t n;
    bool linked[SERVERS_MAX][SERVERS_MAX];
    uint32_t members[SERVERS_MAX];
    uint32_t member_count;
    uint32_t descriptor_count;
    uint32_t jump_count[DESCRIPTORS_MAX];
    int32_t jumps[DESCRIPTORS_MAX][JUMPS_MAX];
};

// Groups at a stride, now and then with a stranger; jumps along generators, now and then any.
static struct instance random_instance(struct weft_rng *rng)
{
    struct instance it = {.n = 3 + weft_rng_below(rng, SERVERS_MAX - 2)};
    uint32_t generators[3];
    for (uint32_t g = 0; g < 3; g++) {
        generators[g] = g == 0 ? 1 : 1 + weft_rng_below(rng, it.n - 1);
        for (uint32_t s = 0; s < it.n; s++) {
            it.linked[s][(s + generators[g]) % it.n] = true;
            it.linked[(s + generators[g]) % it.n][s] = true;
        }
    }
    uint32_t stride = 1 + weft_rng_below(rng, it.n / 2);
    uint32_t start = weft_rng_below(rng, it.n);
    for (uint32_t s = start; it.member_count < it.n / stride; s += stride) {
        it.members[it.member_count++] = s % it.n;
    }
    if (weft_rng_below(rng, 8) == 0 && it.member_count < it.n / 2) {
        it.members[it.member_count - 1] = (it.members[it.member_count - 1] + 1) % it.n;
    }
    it.descriptor_count = 1 + weft_rng_below(rng, DESCRIPTORS_MAX);
    for (uint32_t d = 0; d < it.descriptor_count; d++) {
        it.jump_count[d] = 1 + weft_rng_below(rng, JUMPS_MAX);
        for (uint32_t j = 0; j < it.jump_count[d]; j++) {
            uint32_t generator = generators[weft_rng_below(rng, 3)];
            int32_t jump = weft_rng_below(rng, 2) == 0 ? (int32_t)generator : -(int32_t)generator;
            it.jumps[d][j] = weft_rng_below(rng, 40) == 0 ? (int32_t)weft_rng_next(rng) : jump;
        }
        if (stride <= JUMPS_MAX && weft_rng_below(rng, 2) == 0) { // one step a jump: a sure ring
            it.jump_count[d] = stride;
            for (uint32_t j = 0; j < stride; j++) {
                it.jumps[d][j] = 1;
            }
        }
    }
    return it;
}

// The walk as the format describes it. Writes the nodes of the whole tour and returns their number,
// 0 if the descriptor is no ring of the group.
static uint32_t walk(uint32_t *tour, const struct instance *it, uint32_t d)
{
    uint32_t count = 0;
    uint32_t node = it->members[0];
    bool seen[SERVERS_MAX] = {false};
    for (uint32_t step = 0; step < it->member_count; step++) {
        bool member = false;
        for (uint32_t i = 0; i < it->member_count; i++) {
            member = member || it->members[i] == node;
        }
        if (!member || seen[node]) {
            return 0;
        }
        seen[node] = true;
        for (uint32_t j = 0; j < it->jump_count[d]; j++) {
            int64_t next = ((int64_t)node + it->jumps[d][j]) % it->n;
            next = next < 0 ? next + it->n : next;
            if (!it->linked[node][next]) {
                return 0;
            }
            tour[count++] = node;
            node = (uint32_t)next;
        }
    }
    return node == it->members[0] ? count : 0;
}

static struct weft_fbuf as_file(const struct instance *it, struct weft_arena *arena)
{
    struct weft_fbuf fbuf = {.node_count = it->n, .rate_Bps = 1e9, .path_count = 1};
    const struct weft_task task = {.kind = WEFT_TASK_ALLREDUCE,
                                   .size_bytes = 1000,
                                   .members = it->members,
                                   .member_count = it->member_count};
    struct weft_error error;
    CHECK(weft_taskgraph_build(
        &fbuf.graph,
        &(struct weft_taskgraph_draft){.server_count = it->n, .task_count = 1, .tasks = &task},
        arena, scratch_kept, &error));
    struct weft_link *links = WEFT_NEW(arena, struct weft_link, (size_t)it->n * it->n);
    for (uint32_t pair = 0; pair < it->n * it->n; pair++) {
        if (it->linked[pair / it->n][pair % it->n]) {
            links[fbuf.link_count++] =
                (struct weft_link){pair / it->n, pair % it->n, 1e9, 1000000, 1};
        }
    }
    uint32_t *numbers = WEFT_NEW(arena, uint32_t, 8);
    numbers[1] = 2; // path 0: its nodes are numbers[2], numbers[3] = 0, 1
    numbers[3] = 1;
    numbers[5] = it->descriptor_count; // one ring size
    uint64_t *size = WEFT_NEW(arena, uint64_t, 1);
    *size = it->member_count;
    uint32_t *jump_first = WEFT_NEW(arena, uint32_t, DESCRIPTORS_MAX + 1);
    int32_t *jumps = WEFT_NEW(arena, int32_t, DESCRIPTORS_MAX * JUMPS_MAX);
    for (uint32_t d = 0; d < it->descriptor_count; d++) {
        memcpy(jumps + jump_first[d], it->jumps[d], sizeof *jumps * it->jump_count[d]);
        jump_first[d + 1] = jump_first[d] + it->jump_count[d];
    }
    fbuf.links = links;
    fbuf.path_node_first = numbers;
    fbuf.path_nodes = numbers + 2;
    fbuf.ring_size_count = 1;
    fbuf.ring_sizes = size;
    fbuf.ring_first = numbers + 4;
    fbuf.descriptor_count = it->descriptor_count;
    fbuf.jump_first = jump_first;
    fbuf.jumps = jumps;
    return fbuf;
}

static void compare_ring(const struct weft_ring *ring, const struct weft_fabric *fabric,
                         const uint32_t *tour, uint32_t tour_count, uint32_t jump_count)
{
    CHECK(ring->hop_first[ring->member_count] == tour_count);
    for (uint32_t i = 0; i < ring->member_count; i++) {
        CHECK(ring->members[i] == tour[i * jump_count]);
        CHECK(ring->hop_first[i] == i * jump_count);
    }
    for (uint32_t h = 0; h < tour_count; h++) {
        const struct weft_link *link = &fabric->links[ring->hop_links[h]];
        CHECK(link->from == tour[h] && link->to == tour[(h + 1) % tour_count]);
    }
}

static void rings_are_what_a_slow_walk_finds(void **state)
{
    (void)state;
    uint32_t taken = 0;
    uint32_t refused = 0;
    for (current_seed = 0; current_seed < INSTANCES; current_seed++) {
        struct weft_arena arena = arena_kept;
        struct weft_rng rng;
        weft_rng_init(&rng, current_seed);
        struct instance it = random_instance(&rng);
        struct weft_fbuf fbuf = as_file(&it, &arena);
        uint32_t tours[DESCRIPTORS_MAX][SERVERS_MAX * JUMPS_MAX];
        uint32_t counts[DESCRIPTORS_MAX] = {0};
        bool good = true;
        for (uint32_t d = 0; d < it.descriptor_count && it.member_count >= 2; d++) {
            counts[d] = walk(tours[d], &it, d);
            good = good && counts[d] > 0;
        }
        struct weft_network network;
        struct weft_error error;
        CHECK(weft_fbuf_network(&network, &fbuf, 0, &arena, scratch_kept, &error) == good);
        taken += good;
        refused += !good;
        if (!good) {
            continue;
        }
        CHECK(network.rings.ring_count == (it.member_count >= 2 ? it.descriptor_count : 0));
        double share = 0;
        for (uint32_t r = 0; r < network.rings.ring_count; r++) {
            compare_ring(&network.rings.rings[r], &network.fabric, tours[r], counts[r],
                         it.jump_count[r]);
            share += network.rings.rings[r].share_ratio;
        }
        CHECK(network.rings.ring_count == 0 || fabs(share - 1) < 1e-12);
    }
    CHECK(taken > INSTANCES / 10 && refused > INSTANCES / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rings_are_what_a_slow_walk_finds)};
    return cmocka_run_group_tests_name("fbuf_rings", tests, set_up, tear_down);
}
