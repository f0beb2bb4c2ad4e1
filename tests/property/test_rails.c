// SPDX-License-Identifier: Apache-2.0
// Photonic rails on random jobs: demand is never quicker than provisioning, nothing quicker than
// the bound or slower than provisioning in the best mode; phases one after the other pay for every
// change; and a replay of another kind, written here, that goes forward in time event by event and
// knows ports as a table of peers, gives the same times.
//
// Mutations it failed with: the change asked for when the first of its ports is free, not the last;
// circuits looked at from their sender alone; provisioning that waits until the operation is ready;
// the dark time twice in the bound; ways that get along left out of it; trials kept that are
// slower; circuits over time that turn back what an operation behind has asked for.

#include "../seeds.h"
#include "weft/plan/rails.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static struct weft_arena arena;
static struct weft_arena scratch;
static struct weft_rng rng;

static uint64_t between(uint32_t low, uint32_t high)
{
    return low + weft_rng_below(&rng, high - low + 1);
}

static struct weft_rail_job random_job(void)
{
    struct weft_rail_job job = {
        .name = "random",
        .dp = (uint32_t)between(1, 4),
        .pp = (uint32_t)between(1, 4),
        .tp = 1,
        .ep = 1,
        .microbatches = (uint32_t)between(1, 6),
        .schedule = (enum weft_rail_schedule)weft_rng_below(&rng, 2),
        .forward_ps = between(1, 50) * 1000000000,
        .backward_ps = between(1, 80) * 1000000000,
        .update_ps = between(0, 2) * 7000000000,
        .gather = (enum weft_rail_repeat)weft_rng_below(&rng, 4),
        .reduce = weft_rng_below(&rng, 2) == 0 ? WEFT_RAIL_STEP : WEFT_RAIL_PASS,
        .overlap = weft_rng_below(&rng, 3) == 0,
        .parameter_bytes = between(1, 1000) * 1000000,
        .gradient_bytes = between(1, 1000) * 1000000,
        .activation_bytes = between(1, 200) * 1000000,
        .norm_bytes = weft_rng_below(&rng, 2) * 8,
        .rate_Bps = 25e9,
        .ports = (uint32_t)between(1, 3),
    };
    if (job.dp * job.pp < 2) {
        job.pp = 2;
    }
    if (job.dp % 2 == 0 && weft_rng_below(&rng, 2) == 0) {
        job.ep = 2;
        job.exchanges = (uint32_t)between(1, 2);
        job.expert_bytes = between(1, 300) * 1000000;
    }
    return job;
}

static struct weft_rail_options options_for(const struct weft_rail_job *job, uint64_t dark_ps)
{
    return (struct weft_rail_options){
        .delays = {.dark_ps = dark_ps},
        .rate_Bps = job->rate_Bps,
        .ports = job->ports,
        .places = 1,
        .replays_max = 60,
    };
}

static struct weft_rail_result run(const struct weft_taskgraph *graph,
                                   struct weft_rail_options options, enum weft_rail_mode mode)
{
    struct weft_error error = {.code = WEFT_OK};
    struct weft_rail_result result = {0};
    const struct weft_environment environment = {
        .arena = &arena, .scratch = scratch, .threads = 1, .error = &error};
    options.mode = mode;
    assert_true(weft_rail_run(&result, graph, &options, &environment));
    return result;
}

static void check_schedule(const struct weft_circuit_schedule *schedule)
{
    uint32_t n = schedule->node_count;
    bool *taken = WEFT_NEW(&scratch, bool, n);
    for (uint32_t c = 0; c <= schedule->change_count; c++) {
        const uint32_t *peers = c == 0 ? schedule->first : schedule->changes[c - 1].peers;
        memset(taken, 0, n);
        for (uint32_t i = 0; i < n; i++) {
            assert_true(peers[i] < n && (peers[i] == i || !taken[peers[i]]));
            taken[peers[i]] |= peers[i] != i;
        }
        assert_true(c < 2 ||
                    schedule->changes[c - 1].start_ps >= schedule->changes[c - 2].start_ps);
        assert_true(c == 0 || schedule->changes[c - 1].start_ps <= schedule->end_ps);
    }
    struct weft_error error;
    if (!weft_circuit_check_schedule(schedule, NULL, scratch, &error)) {
        fail_msg("%s", error.message);
    }
}

static void modes_are_in_order(void **state)
{
    (void)state;
    uint32_t better = 0;
    for (uint32_t round = 0; round < TEST_SEEDS(150); round++) {
        struct weft_rail_job job = random_job();
        struct weft_error error = {.code = WEFT_OK};
        struct weft_arena kept = arena;
        struct weft_taskgraph graph;
        assert_true(weft_rail_job_taskgraph(&graph, &job, &arena, scratch, &error));
        struct weft_rail_options options = options_for(&job, between(0, 100) * 1000000000);
        struct weft_rail_result demand = run(&graph, options, WEFT_RAIL_DEMAND);
        struct weft_rail_result ahead = run(&graph, options, WEFT_RAIL_PROVISION);
        struct weft_rail_result best = run(&graph, options, WEFT_RAIL_BEST);
        options.within = true;
        struct weft_rail_result within = run(&graph, options, WEFT_RAIL_PROVISION);
        assert_true(ahead.iteration_ps <= within.iteration_ps);
        assert_true(within.iteration_ps <= demand.iteration_ps);
        assert_true(best.iteration_ps <= ahead.iteration_ps);
        assert_true(ahead.bound_ps <= best.iteration_ps);
        assert_true(ahead.still_ps <= ahead.iteration_ps);
        better += best.iteration_ps < ahead.iteration_ps;
        check_schedule(&demand.schedule);
        check_schedule(&ahead.schedule);
        check_schedule(&best.schedule);
        arena = kept;
    }
    print_message("best is quicker than provisioning in %u of %u\n", better, TEST_SEEDS(150));
}

// One stage whose experts and gradients alternate: every phase is on the critical path.
static void chains_pay_for_every_change(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < TEST_SEEDS(40); round++) {
        struct weft_rail_job job = random_job();
        struct weft_error error = {.code = WEFT_OK};
        struct weft_taskgraph graph;
        job.dp = 4;
        job.pp = 1;
        job.ep = 2;
        job.exchanges = 1;
        job.expert_bytes = 64000000;
        job.overlap = false;
        job.ports = 1;
        assert_true(weft_rail_job_taskgraph(&graph, &job, &arena, scratch, &error));
        uint64_t dark_ps = between(1, 100) * 1000000000;
        struct weft_rail_result still = run(&graph, options_for(&job, 0), WEFT_RAIL_DEMAND);
        struct weft_rail_result dark = run(&graph, options_for(&job, dark_ps), WEFT_RAIL_DEMAND);
        assert_int_equal(dark.iteration_ps, still.iteration_ps + still.phase_starts * dark_ps);
        assert_int_equal(still.phase_starts, still.boundary_count);
    }
}

// ---- a replay of another kind ----

// Jobs of two stages, or of replicas alone, of one port: every operation wants one permutation, so
// that a port's state is its peer. Tasks begin in the order of a first run without dark time; here
// each waits until everything that is before it at its ports has ended, found by looking at all.
struct slow {
    const struct weft_taskgraph *graph;
    uint64_t *ready;
    bool *done;
    uint32_t *rank; // place in the first run's order
};

// The node that a server sends to in a task; itself = it has no part.
static uint32_t peer_in(const struct weft_taskgraph *graph, uint32_t task, uint32_t server,
                        bool wired)
{
    if (graph->kind[task] == WEFT_TASK_TRANSFER) {
        bool back = wired && graph->to[task] == server;
        return graph->from[task] == server ? graph->to[task] : back ? graph->from[task] : server;
    }
    if (!weft_task_is_collective(graph, task)) {
        return server;
    }
    const uint32_t *members = graph->group_members + graph->group_first[graph->group[task]];
    uint32_t count = weft_task_member_count(graph, task);
    for (uint32_t i = 0; i < count; i++) {
        if (members[i] == server) {
            return members[(i + 1) % count];
        }
    }
    return server;
}

static uint64_t length_of(const struct weft_taskgraph *graph, uint32_t task, double rate_Bps)
{
    if (graph->kind[task] == WEFT_TASK_TRANSFER) {
        return weft_picoseconds((double)graph->size_bytes[task] / rate_Bps);
    }
    if (weft_task_is_collective(graph, task)) {
        return weft_picoseconds(weft_task_ring_bytes(graph, task) / rate_Bps);
    }
    return graph->device[task] == WEFT_NONE ? 0 : graph->runtime_ps[task];
}

// Ports of one rail: whom each server sends to and listens to, and until when.
struct ports {
    uint32_t *peer, *heard;
    uint64_t *send, *receive;
    bool *fresh; // not used in this iteration yet
};

static bool missing(const struct ports *ports, uint32_t from, uint32_t to)
{
    return ports->peer[from] != to || ports->heard[to] != from;
}

// When a task begins, given when it is ready.
static uint64_t slow_start(const struct slow *slow, const struct ports *ports, uint32_t task,
                           uint64_t dark_ps)
{
    uint64_t start = slow->ready[task];
    uint64_t release = 0;
    bool turns = false;
    bool early = true;
    for (uint32_t s = 0; s < slow->graph->server_count; s++) {
        uint32_t used = peer_in(slow->graph, task, s, false);
        uint32_t wired = peer_in(slow->graph, task, s, true);
        if (used != s) {
            start = ports->send[s] > start ? ports->send[s] : start;
            start = ports->receive[used] > start ? ports->receive[used] : start;
        }
        if (wired != s && missing(ports, s, wired)) {
            turns |= ports->peer[s] != WEFT_NONE || ports->heard[wired] != WEFT_NONE;
            release = ports->send[s] > release ? ports->send[s] : release;
            release = ports->receive[wired] > release ? ports->receive[wired] : release;
            early &= ports->fresh[s] && ports->fresh[wired];
        }
    }
    if (turns) {
        start = release > start ? release : start;
        uint64_t asked = early ? start : release;
        start = asked + dark_ps > start ? asked + dark_ps : start;
    }
    return start;
}

static void slow_begin(const struct slow *slow, struct ports *ports, uint32_t task, uint64_t start,
                       uint64_t end)
{
    for (uint32_t s = 0; s < slow->graph->server_count; s++) {
        uint32_t used = peer_in(slow->graph, task, s, false);
        uint32_t wired = peer_in(slow->graph, task, s, true);
        if (wired != s && (missing(ports, s, wired) || used != s)) {
            ports->send[s] = used != s ? end : start;
            ports->receive[wired] = used != s ? end : start;
            ports->peer[s] = wired;
            ports->heard[wired] = s;
            ports->fresh[s] = false;
            ports->fresh[wired] = false;
        }
    }
}

// The iteration by provisioning without early changes, once the wiring of its end is known.
static uint64_t slow_run(struct slow *slow, double rate_Bps, uint64_t dark_ps)
{
    const struct weft_taskgraph *graph = slow->graph;
    uint32_t servers = graph->server_count;
    uint32_t *order = WEFT_NEW(&scratch, uint32_t, graph->task_count);
    struct ports ports = {
        .peer = WEFT_NEW(&scratch, uint32_t, servers),
        .heard = WEFT_NEW(&scratch, uint32_t, servers),
        .send = WEFT_NEW(&scratch, uint64_t, servers),
        .receive = WEFT_NEW(&scratch, uint64_t, servers),
        .fresh = WEFT_NEW(&scratch, bool, servers),
    };
    uint64_t length = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        order[slow->rank[t]] = t;
    }
    memset(ports.peer, 0xff, servers * sizeof *ports.peer);
    memset(ports.heard, 0xff, servers * sizeof *ports.heard);
    for (uint32_t round = 0; round < 2; round++) {
        memset(ports.fresh, 1, servers);
        memset(ports.send, 0, servers * sizeof *ports.send);
        memset(ports.receive, 0, servers * sizeof *ports.receive);
        memset(slow->ready, 0, graph->task_count * sizeof *slow->ready);
        length = 0;
        for (uint32_t i = 0; i < graph->task_count; i++) {
            uint32_t t = order[i];
            uint64_t start = slow_start(slow, &ports, t, dark_ps);
            uint64_t end = start + length_of(graph, t, rate_Bps);
            slow_begin(slow, &ports, t, start, end);
            for (uint32_t e = graph->next_first[t]; e < graph->next_first[t + 1]; e++) {
                uint32_t next = graph->next[e];
                slow->ready[next] = end > slow->ready[next] ? end : slow->ready[next];
            }
            length = end > length ? end : length;
        }
    }
    return length;
}

// Order of the first run: by time without dark time, each port serving who is ready first; an
// operation begins when its ports are free, the lowest index where several could.
static void slow_order(struct slow *slow, double rate_Bps)
{
    const struct weft_taskgraph *graph = slow->graph;
    uint32_t n = graph->task_count;
    uint32_t *waits = WEFT_NEW(&scratch, uint32_t, n);
    uint64_t *free_send = WEFT_NEW(&scratch, uint64_t, graph->server_count);
    uint64_t *free_receive = WEFT_NEW(&scratch, uint64_t, graph->server_count);
    memcpy(waits, graph->prev_count, n * sizeof *waits);
    memset(slow->done, 0, n);
    memset(slow->ready, 0, n * sizeof *slow->ready);
    for (uint32_t place = 0; place < n; place++) {
        uint32_t best = WEFT_NONE;
        uint64_t best_start = WEFT_NEVER;
        for (uint32_t t = 0; t < n; t++) {
            uint64_t start = slow->ready[t];
            for (uint32_t s = 0; s < graph->server_count && waits[t] == 0; s++) {
                uint32_t used = peer_in(graph, t, s, false);
                if (used != s) {
                    start = free_send[s] > start ? free_send[s] : start;
                    start = free_receive[used] > start ? free_receive[used] : start;
                }
            }
            if (waits[t] == 0 && !slow->done[t] && start < best_start) {
                best = t;
                best_start = start;
            }
        }
        uint64_t end = best_start + length_of(graph, best, rate_Bps);
        slow->done[best] = true;
        slow->rank[best] = place;
        for (uint32_t s = 0; s < graph->server_count; s++) {
            uint32_t used = peer_in(graph, best, s, false);
            if (used != s) {
                free_send[s] = end;
                free_receive[used] = end;
            }
        }
        for (uint32_t e = graph->next_first[best]; e < graph->next_first[best + 1]; e++) {
            uint32_t next = graph->next[e];
            waits[next]--;
            slow->ready[next] = end > slow->ready[next] ? end : slow->ready[next];
        }
    }
}

static void a_slow_replay_agrees(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < TEST_SEEDS(60); round++) {
        struct weft_rail_job job = random_job();
        struct weft_error error = {.code = WEFT_OK};
        struct weft_arena kept = arena;
        struct weft_arena kept_scratch = scratch;
        struct weft_taskgraph graph;
        job.pp = 2;
        job.ep = 1;
        job.exchanges = 0;
        job.ports = 1;
        assert_true(weft_rail_job_taskgraph(&graph, &job, &arena, scratch, &error));
        uint64_t dark_ps = between(0, 100) * 1000000000;
        struct weft_rail_options options = options_for(&job, dark_ps);
        options.within = true;
        struct weft_rail_result result = run(&graph, options, WEFT_RAIL_PROVISION);
        struct slow slow = {.graph = &graph};
        slow.ready = WEFT_NEW(&scratch, uint64_t, graph.task_count);
        slow.done = WEFT_NEW(&scratch, bool, graph.task_count);
        slow.rank = WEFT_NEW(&scratch, uint32_t, graph.task_count);
        slow_order(&slow, job.rate_Bps);
        assert_int_equal(slow_run(&slow, job.rate_Bps, dark_ps), result.iteration_ps);
        arena = kept;
        scratch = kept_scratch;
    }
}

// Random jobs in the flow engine, whose controller and messages know the plan's order alone. In the
// best mode two operations between the same servers may go on at once, which the engine has one
// after the other. Seen to fail: circuits that stand beside an operation turned back by it, and
// links that carry what two planes have between two servers.
static void the_flow_engine_agrees_with_the_replay(void **state)
{
    (void)state;
    double worst = 0;
    uint32_t longer = 0;
    for (uint32_t round = 0; round < TEST_SEEDS(60); round++) {
        struct weft_rail_job job = random_job();
        struct weft_error error = {.code = WEFT_OK};
        struct weft_arena kept = arena;
        struct weft_taskgraph graph;
        assert_true(weft_rail_job_taskgraph(&graph, &job, &arena, scratch, &error));
        struct weft_rail_options options = options_for(&job, between(0, 100) * 1000000000);
        options.within = weft_rng_below(&rng, 2) == 0;
        for (uint32_t mode = 0; mode < WEFT_RAIL_MODE_COUNT; mode++) {
            struct weft_rail_result plan = run(&graph, options, (enum weft_rail_mode)mode);
            options.mode = (enum weft_rail_mode)mode;
            const struct weft_rail_play_options flow = {.rails = &options};
            const struct weft_environment environment = {
                .arena = &arena, .scratch = scratch, .threads = 1, .error = &error};
            struct weft_rail_play play;
            if (!weft_rail_play(&play, &plan, &graph, &flow, &environment)) {
                fail_msg("round %u, %s: %s", round, weft_rail_mode_name(options.mode),
                         error.message);
            }
            double off = (double)play.iteration_ps / (double)plan.iteration_ps - 1;
            if (mode == WEFT_RAIL_BEST && off > 1e-6) {
                longer++;
                continue;
            }
            worst = fmax(worst, fabs(off));
            if (fabs(off) > 1e-6) {
                fail_msg("round %u, %s: played %llu, replayed %llu", round,
                         weft_rail_mode_name(options.mode), (unsigned long long)play.iteration_ps,
                         (unsigned long long)plan.iteration_ps);
            }
        }
        arena = kept;
    }
    print_message("the engine is off by at most %.3g; in the best mode longer in %u\n", worst,
                  longer);
    assert_true(longer <= 3);
}

int main(void)
{
    struct weft_error error;
    uint64_t seed = (uint64_t)time(NULL);
    if (!weft_arena_init(&arena, 1u << 29, &error) ||
        !weft_arena_init(&scratch, 1u << 29, &error)) {
        return 1;
    }
    print_message("seed %llu\n", (unsigned long long)seed);
    weft_rng_init(&rng, seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes_are_in_order),
        cmocka_unit_test(chains_pay_for_every_change),
        cmocka_unit_test(a_slow_replay_agrees),
        cmocka_unit_test(the_flow_engine_agrees_with_the_replay),
    };
    return cmocka_run_group_tests_name("rails", tests, NULL, NULL);
}
