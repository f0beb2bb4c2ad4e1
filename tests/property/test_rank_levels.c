// SPDX-License-Identifier: Apache-2.0
// Ranks of jobs on accelerators (src/request/simulate/levels.c), through the request and a file.
//
// A job of one collective over all ranks takes as long as the same collective in words, on every
// fabric of random clusters. One over some accelerators of some servers, in any order, takes what
// its levels come to on one switch, and one that fills its servers unevenly what a ring does whose
// hops share no NIC. Two jobs stand on servers of their own.
//
// Mutations that made it fail (each was run): a side of the grid one short for a group of some
// servers; ranks that are no members taken for such; what follows a collective waiting for its task
// instead of the end of its levels; the second job behind the last whole server of the first;
// uneven groups by levels; servers of the grid in the order of the group.

#include "../arenas.h"
#include "../seeds.h"
#include "weft/format.h"
#include "weft/request/simulate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define INSTANCES 60u
#define SEED 83u
#define RATE_BPS 50e9
#define INSIDE_BPS 450e9
#define RANKS_MAX 256u

static const char *const fabrics[] = {"ideal",    "fat-tree", "leaf-spine", "rail-only", "clos",
                                      "dual-tor", "torus-2d", "ring",       "dragonfly"};
static const char *const words[] = {"allreduce", "reducescatter", "allgather"};
static const enum weft_task_kind kinds[] = {WEFT_TASK_ALLREDUCE, WEFT_TASK_REDUCE_SCATTER,
                                            WEFT_TASK_ALL_GATHER};

struct instance {
    uint64_t seed;
    uint32_t servers;
    uint32_t accelerators;
    uint32_t kind;
    uint64_t size_bytes;
    const char *fabric;
    uint32_t members[RANKS_MAX];
    uint32_t member_count;
    char path[64];
};

static struct instance own;

// A job of as many ranks as the cluster has, with one collective, behind it a short computation.
static void write_job(struct weft_arena *arena)
{
    uint32_t places[RANKS_MAX];
    uint32_t ranks = own.servers * own.accelerators;
    for (uint32_t i = 0; i < ranks; i++) {
        places[i] = i;
    }
    const uint32_t next = 1;
    const struct weft_task tasks[] = {
        {.kind = kinds[own.kind],
         .device = WEFT_NONE,
         .size_bytes = own.size_bytes,
         .members = own.members,
         .member_count = own.member_count,
         .next = &next,
         .next_count = 1},
        {.kind = WEFT_TASK_FORWARD, .device = 0, .runtime_ps = 1000000},
    };
    struct weft_fbuf fbuf = {.node_count = ranks};
    struct weft_error error = {.message = ""};
    const struct weft_taskgraph_draft draft = {ranks, ranks, places, 2, tasks};
    const char *data = NULL;
    size_t length = 0;
    if (!weft_taskgraph_build(&fbuf.graph, &draft, arena, scratch_kept, &error) ||
        !weft_fbuf_write(&data, &length, &fbuf, arena, scratch_kept, &error)) {
        fail_msg("seed %llu: %s", (unsigned long long)own.seed, error.message);
    }
    FILE *file = fopen(own.path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

// The end of what the loads come to, in seconds.
static double play(struct weft_simulate_result *result, const char *const *loads, uint32_t count,
                   uint64_t latency_ps, struct weft_arena *arena)
{
    struct weft_error error = {.message = ""};
    struct weft_request_environment environment = {
        .base = {.arena = arena, .scratch = scratch_kept, .threads = 1, .error = &error}};
    struct weft_simulate_request request = {
        .loads = loads,
        .load_count = count,
        .fabric = own.fabric,
        .scale_up = {own.accelerators, {true, INSIDE_BPS}, {true, 300000}},
        .hardware = {.server_count = own.servers * count,
                     .rate_Bps = RATE_BPS,
                     .rate_given = true,
                     .latency_ps = latency_ps,
                     .latency_given = true},
        .packets = {.size = {.mtu = {true, 9000}, .header = {true, 64}}},
        .all_rounds = loads[0] == own.path,
        .algorithm = loads[0] == own.path ? WEFT_SIMULATE_BEST : WEFT_SIMULATE_RINGS,
    };
    if (own.kind != 0) {
        request.algorithm = WEFT_SIMULATE_BEST; // it is of AllReduces, others have rings anyway
    }
    if (!weft_request_simulate(result, &request, &environment)) {
        fail_msg("seed %llu, %s of %u x %u: %s", (unsigned long long)own.seed, own.fabric,
                 own.servers, own.accelerators, error.message);
    }
    return weft_seconds(result->sim.end_ps);
}

static void draw(struct weft_rng *rng, uint64_t seed)
{
    static const uint32_t counts[] = {4, 6, 8, 9, 12, 16};
    own.seed = seed;
    weft_rng_init(rng, seed);
    own.servers = counts[weft_rng_below(rng, 6)];
    own.accelerators = 2 + 2 * weft_rng_below(rng, 4);
    own.kind = weft_rng_below(rng, 3);
    own.size_bytes = 4u * (1 + weft_rng_below(rng, 10000000)); // halves of it are whole (fbuf)
    own.fabric = fabrics[weft_rng_below(rng, sizeof fabrics / sizeof fabrics[0])];
    if (strcmp(own.fabric, "torus-2d") == 0 || strcmp(own.fabric, "ring") == 0) {
        own.servers = 16;
        own.accelerators = 4; // as many NICs
    }
    if (strcmp(own.fabric, "ring") == 0) {
        own.accelerators = 2;
    }
}

static void shuffle(struct weft_rng *rng)
{
    for (uint32_t i = own.member_count - 1; i > 0; i--) {
        uint32_t j = weft_rng_below(rng, i + 1);
        uint32_t kept = own.members[i];
        own.members[i] = own.members[j];
        own.members[j] = kept;
    }
}

static void close_to(double found_s, double wanted_s, double slack_ratio, const char *what)
{
    if (!(fabs(found_s - wanted_s) <= slack_ratio * wanted_s)) {
        fail_msg("seed %llu, %s, %s over %u of %u x %u: %.12g s instead of %.12g",
                 (unsigned long long)own.seed, what, own.fabric, own.member_count, own.servers,
                 own.accelerators, found_s, wanted_s);
    }
}

static void all_ranks_take_as_long_as_in_words(void **state)
{
    (void)state;
    for (uint64_t seed = SEED; seed < SEED + TEST_SEEDS(INSTANCES); seed++) {
        struct weft_arena arena = arena_kept;
        struct weft_rng rng;
        draw(&rng, seed);
        own.member_count = own.servers * own.accelerators;
        for (uint32_t i = 0; i < own.member_count; i++) {
            own.members[i] = i;
        }
        shuffle(&rng); // where all are in it, the grid orders the servers
        write_job(&arena);
        char text[64];
        snprintf(text, sizeof text, "%s:%lluB", words[own.kind],
                 (unsigned long long)own.size_bytes);
        const char *const job[] = {own.path};
        const char *const flows[] = {text};
        struct weft_simulate_result of_job;
        struct weft_simulate_result of_flows;
        double job_s = play(&of_job, job, 1, 500000, &arena);
        double flows_s = play(&of_flows, flows, 1, 500000, &arena);
        close_to(job_s - 1e-6, flows_s, 1e-9, "all ranks"); // the computation behind it
        assert_int_equal(of_job.jobs[0].rank_count, own.member_count);
        assert_int_equal(of_job.jobs[0].server_count, own.servers);
    }
}

// Of one switch without latency: rounds of rings of a fluid with packets' headers.
static double levels_s(uint32_t servers, uint32_t each)
{
    double bytes = (double)own.size_bytes;
    double passes = own.kind == 0 ? 2 : 1;
    double inside = (double)(each - 1) / each * bytes / INSIDE_BPS;
    double between = (double)(servers - 1) / servers * bytes / each / RATE_BPS;
    return passes * (inside + between);
}

static void some_ranks_take_what_their_levels_come_to(void **state)
{
    (void)state;
    for (uint64_t seed = SEED; seed < SEED + TEST_SEEDS(INSTANCES); seed++) {
        struct weft_arena arena = arena_kept;
        struct weft_rng rng;
        draw(&rng, seed);
        own.fabric = "ideal";
        own.size_bytes *= 1000; // headers and shares rounded to bytes are little beside it
        uint32_t servers = 2 + weft_rng_below(&rng, own.servers - 1);
        uint32_t each = 2 + weft_rng_below(&rng, own.accelerators - 1);
        uint32_t uneven = weft_rng_below(&rng, 4) == 0;
        own.member_count = 0;
        for (uint32_t s = 0; s < servers; s++) {
            uint32_t from = weft_rng_below(&rng, own.accelerators);
            for (uint32_t i = 0; i < each - (s == 0 ? uneven : 0); i++) {
                own.members[own.member_count++] =
                    s * own.accelerators + (from + i) % own.accelerators;
            }
        }
        if (!uneven) {
            shuffle(&rng);
        }
        write_job(&arena);
        const char *const jobs[] = {own.path, own.path};
        struct weft_simulate_result result;
        double wire = 9000.0 / (9000 - 64);
        double k = own.member_count;
        double want_s =
            uneven ? (own.kind == 0 ? 2 : 1) * (k - 1) / k * (double)own.size_bytes / RATE_BPS
                   : levels_s(servers, each);
        double found_s = play(&result, jobs, 1 + uneven, 0, &arena) - 1e-6;
        close_to(found_s, want_s * wire, 1e-3, uneven ? "uneven" : "even");
        if (uneven) {
            assert_int_equal(result.jobs[1].first_server, own.servers);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ranks_take_as_long_as_in_words),
        cmocka_unit_test(some_ranks_take_what_their_levels_come_to),
    };
    snprintf(own.path, sizeof own.path, "/tmp/weft-ranks-XXXXXX.fbuf");
    int file = mkstemps(own.path, 5);
    if (file < 0) {
        return 1;
    }
    close(file);
    int failed = cmocka_run_group_tests_name("rank_levels", tests, set_up, tear_down);
    unlink(own.path);
    return failed;
}
