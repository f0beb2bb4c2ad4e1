// SPDX-License-Identifier: Apache-2.0
// Hops of rings that stand for others give the times of all of them (src/sim/job/fold.c): random
// collectives on rings with links of their own, on a fabric of cycles and cables between the halves
// and quarters of the servers, beside transfers. Every task begins and ends when it does with all
// hops played, within 1e-9; links carry the same bytes, and as many flows are counted.
//
// Mutations that made this test fail (each was run): links of transfers not marked as shared; a
// link's rate left out of its color; the ring left out of a hop's; the bytes of hops that are not
// played left out.

#include "../arenas.h"
#include "weft/routing.h"
#include "weft/sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define INSTANCES 24u
#define SEED 47u
#define SERVERS_MAX 240u
#define JUMPS 3u
#define BLOCKS_MAX 4u
#define LINKS_MAX (SERVERS_MAX * (2 * JUMPS + 4))
#define RINGS_MAX (BLOCKS_MAX * (2 * JUMPS + 1))
#define TASKS_MAX 64u

static const uint32_t jumps[JUMPS] = {1, 7, 13}; // of cycles in blocks of 32 k + 2 servers and more

struct instance {
    struct weft_network network;
    struct weft_taskgraph graph;
    uint32_t n, size; // of a block
    uint32_t blocks;
    uint32_t jump_count;
    bool shares; // the even members of a block go along its first cycle, as one more group
};

static struct instance own; // its routes point to its fabric
static struct weft_ring rings[RINGS_MAX];

static void build_network(struct weft_rng *rng, struct weft_arena *arena)
{
    static struct weft_link links[LINKS_MAX];
    uint32_t count = 0;
    struct weft_error error;
    double slow = weft_rng_below(rng, 2) == 0 ? 0.5 : 1; // of one link
    for (uint32_t s = 0; s < own.n; s++) {
        uint32_t block = s / own.size;
        for (uint32_t j = 0; j < own.jump_count; j++) {
            uint32_t next = block * own.size + (s % own.size + jumps[j]) % own.size;
            links[count++] = (struct weft_link){s, next, 12.5e9, 1000000, 1};
            links[count++] = (struct weft_link){next, s, 12.5e9, 1000000, 1};
        }
        for (uint32_t part = 2; part <= 4 && own.blocks > 1; part += 2) {
            uint32_t other = (s + own.n / part) % own.n;
            links[count++] = (struct weft_link){s, other, 12.5e9, 1000000, 1};
            if (part == 4) {
                links[count++] = (struct weft_link){other, s, 12.5e9, 1000000, 1};
            }
        }
    }
    links[weft_rng_below(rng, 2 * own.jump_count)].rate_Bps *= slow;
    const struct weft_fabric_links input = {"cycles", own.n, own.n, links, count};
    bool built = weft_fabric_build(&own.network.fabric, &input, arena, &error);
    if (!built || !weft_routing_shortest(
                      &own.network.routes, &own.network.fabric,
                      &(struct weft_environment){
                          .arena = arena, .scratch = scratch_kept, .seed = 1, .error = &error})) {
        fail_msg("%s", error.message);
    }
}

// A ring over every `step`-th server of a block, `jump` servers on by each link.
static void add_ring(uint32_t group, uint32_t block, uint32_t step, uint32_t jump, bool back,
                     double share, struct weft_arena *arena)
{
    uint32_t k = own.size / step;
    uint32_t *members = WEFT_NEW(arena, uint32_t, k);
    uint32_t *first = WEFT_NEW(arena, uint32_t, (size_t)k + 1);
    uint32_t *on = WEFT_NEW(arena, uint32_t, (size_t)k * step);
    uint32_t at = 0;
    uint32_t filled = 0;
    uint32_t move = back ? own.size - jump : jump;
    for (uint32_t i = 0; i < k; i++) {
        members[i] = block * own.size + at;
        for (uint32_t hop = 0; hop < step; hop++) {
            uint32_t next = (at + move) % own.size;
            on[filled++] = weft_fabric_find_link(&own.network.fabric, block * own.size + at,
                                                 block * own.size + next);
            at = next;
        }
        first[i + 1] = filled;
    }
    rings[own.network.rings.ring_count++] =
        (struct weft_ring){group, k, members, share, first, on, NULL};
}

static void build_rings(struct weft_arena *arena)
{
    own.network.rings = (struct weft_ring_set){0, rings};
    for (uint32_t block = 0; block < own.blocks; block++) {
        for (uint32_t j = 0; j < own.jump_count; j++) {
            double share = 0.5 / own.jump_count;
            uint32_t group = own.shares ? 2 * block : block; // in the order of their first tasks
            add_ring(group, block, 1, jumps[j], false, share, arena);
            add_ring(group, block, 1, jumps[j], true, share, arena);
        }
    }
    for (uint32_t block = 0; block < own.blocks && own.shares; block++) {
        add_ring(2 * block + 1, block, 2, 1, false, 1, arena);
    }
}

// In each block something computes, then two collectives come one after the other, and one of every
// second server beside them; transfers cross the blocks, or some pair of servers.
static void build_graph(struct weft_rng *rng, struct weft_arena *arena)
{
    static uint32_t members[BLOCKS_MAX][SERVERS_MAX];
    static uint32_t halves[BLOCKS_MAX][SERVERS_MAX];
    static uint32_t places[BLOCKS_MAX];
    struct weft_task tasks[TASKS_MAX];
    uint32_t before[TASKS_MAX], after[TASKS_MAX];
    uint32_t count = 0;
    uint32_t edges = 0;
    struct weft_error error;
    for (uint32_t i = 0; i < TASKS_MAX; i++) {
        tasks[i] = (struct weft_task){.device = WEFT_NONE, .from = WEFT_NONE, .to = WEFT_NONE};
    }
    for (uint32_t block = 0; block < own.blocks; block++) {
        places[block] = block * own.size;
        for (uint32_t i = 0; i < own.size; i++) {
            members[block][i] = block * own.size + i;
            halves[block][i / 2] = block * own.size + i / 2 * 2;
        }
        tasks[count].kind = WEFT_TASK_FORWARD;
        tasks[count].device = block;
        tasks[count].runtime_ps = 1 + (uint64_t)weft_rng_below(rng, 1000000000);
        for (uint32_t i = 1; i < (own.shares ? 4u : 3u); i++) {
            struct weft_task *task = &tasks[count + i];
            task->kind = WEFT_TASK_ALLREDUCE + weft_rng_below(rng, 3);
            task->members = i == 3 ? halves[block] : members[block];
            task->member_count = i == 3 ? own.size / 2 : own.size;
            task->size_bytes = 1000000 + weft_rng_below(rng, 40000000);
            before[edges] = i == 2 ? count + 1 : count;
            after[edges++] = count + i;
        }
        count += own.shares ? 4 : 3;
    }
    for (uint32_t i = 0; i < 8; i++) {
        bool crosses = own.blocks > 1 && weft_rng_below(rng, 4) > 0;
        tasks[count].kind = WEFT_TASK_TRANSFER;
        tasks[count].from = weft_rng_below(rng, own.n);
        tasks[count].to = (tasks[count].from + (crosses ? own.n / 2 : 1 + i)) % own.n;
        tasks[count].size_bytes = 1 + weft_rng_below(rng, 100000000);
        before[edges] = weft_rng_below(rng, count);
        after[edges++] = count++;
    }
    struct weft_arena scratch = scratch_kept;
    weft_task_connect(tasks, count, before, after, edges, &scratch);
    const struct weft_taskgraph_draft draft = {own.n, own.blocks, places, count, tasks};
    if (!weft_taskgraph_build(&own.graph, &draft, arena, scratch, &error)) {
        fail_msg("%s", error.message);
    }
}

static void check_times(const uint64_t *got_ps, const uint64_t *want_ps, uint32_t instance)
{
    for (uint32_t i = 0; i < own.graph.task_count; i++) {
        if (fabs((double)got_ps[i] - (double)want_ps[i]) > 1e-9 * (double)want_ps[i] + 1) {
            fail_msg("instance %u: task %u at %llu ps, with all hops played at %llu ps", instance,
                     i, (unsigned long long)got_ps[i], (unsigned long long)want_ps[i]);
        }
    }
}

// Plays both ways. Returns how many times as many events all hops are.
static double compare(uint32_t instance, struct weft_arena arena)
{
    struct weft_error error;
    struct weft_sim_result got, want;
    const struct weft_sim_job job = {.graph = &own.graph, .rings = own.network.rings};
    struct weft_sim_options options = {.seed = instance, .timeline = true};
    options.packet_bytes = instance % 3 == 0 ? 0 : 4096;
    options.header_bytes = instance % 3 == 0 ? 0 : 66;
    options.one_round = instance % 4 == 0;
    struct weft_sim_options whole = options;
    whole.unfolded = true;
    const struct weft_environment environment = {
        .arena = &arena, .scratch = scratch_kept, .error = &error};
    if (!weft_sim_run_jobs(&got, &own.network, &job, 1, &options, &environment) ||
        !weft_sim_run_jobs(&want, &own.network, &job, 1, &whole, &environment)) {
        fail_msg("instance %u: %s", instance, error.message);
    }
    assert_true(got.folded);
    assert_false(want.folded);
    check_times(got.task_start_ps[0], want.task_start_ps[0], instance);
    check_times(got.task_end_ps[0], want.task_end_ps[0], instance);
    for (uint32_t l = 0; l < own.network.fabric.link_count; l++) {
        if (fabs(got.link_bytes[l] - want.link_bytes[l]) > 1e-9 * want.link_bytes[l]) {
            fail_msg("instance %u: link %u carries %g bytes, with all hops played %g", instance, l,
                     got.link_bytes[l], want.link_bytes[l]);
        }
    }
    assert_int_equal(got.flow_count, want.flow_count);
    return (double)want.event_count / (double)got.event_count;
}

static void hops_that_stand_for_others_end_as_all_do(void **state)
{
    (void)state;
    struct weft_rng rng;
    weft_rng_init(&rng, SEED);
    print_message("seed %u\n", SEED);
    double fewer = 0;
    for (uint32_t instance = 0; instance < INSTANCES; instance++) {
        struct weft_arena arena = arena_kept;
        own = (struct instance){.blocks = 1u << weft_rng_below(&rng, 3)};
        own.size = 32 * (160 / (32 * own.blocks) + 1 + weft_rng_below(&rng, 2)) + 2;
        own.size = own.size * own.blocks > SERVERS_MAX ? SERVERS_MAX / own.blocks : own.size;
        own.size -= own.size % 2;
        own.n = own.size * own.blocks;
        own.jump_count = own.size % 7 != 0 && own.size % 13 != 0 ? JUMPS : 1;
        own.shares = weft_rng_below(&rng, 3) == 0;
        build_network(&rng, &arena);
        build_rings(&arena);
        build_graph(&rng, &arena);
        fewer = fmax(fewer, compare(instance, arena));
    }
    print_message("up to %.0f times fewer events\n", fewer);
    assert_true(fewer > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hops_that_stand_for_others_end_as_all_do),
    };
    return cmocka_run_group_tests_name("ring_fold", tests, set_up, tear_down);
}
