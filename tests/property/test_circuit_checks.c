// SPDX-License-Identifier: Apache-2.0
// The checker of schedules against valid ones and against each kind of damage to them; and replays
// of valid schedules in the flow engine, which end when bursts do.
//
// Mutations that made these tests fail (each was run): each of the checker's refusals left out.

#include "../seeds.h"
#include "weft/circuit.h"
#include "weft/sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NODES_MAX 8u

static struct weft_arena arena;
static struct weft_arena scratch;
static struct weft_rng rng;
static uint64_t seed;

static void draw_permutation(uint32_t *peers, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = weft_rng_below(&rng, i + 1);
        peers[i] = peers[j];
        peers[j] = i;
    }
}

// ---- schedules ----

#define CHANGES 6u
#define BURSTS 12u
#define RATE_BPS 1e9

struct instance {
    uint32_t n;
    uint32_t planes;
    uint32_t first[3 * NODES_MAX];
    uint32_t peers[CHANGES][NODES_MAX];
    struct weft_circuit_change changes[CHANGES];
    struct weft_circuit_burst bursts[BURSTS];
    double demand_bytes[NODES_MAX * NODES_MAX];
    double switch_db[3];
    struct weft_circuit_losses losses;
    struct weft_circuit_schedule schedule;
    struct weft_circuit_traffic traffic;
};

// Puts a burst into each time of a circuit that a change ends, and into some after the last.
static void draw_bursts(struct instance *it, uint64_t *lit_ps, uint32_t *now, uint32_t plane,
                        uint64_t until_ps)
{
    for (uint32_t i = 0; i < it->n; i++) {
        uint32_t port = plane * it->n + i;
        uint32_t count = it->traffic.burst_count;
        if (now[port] == i || count == BURSTS || lit_ps[port] >= until_ps ||
            weft_rng_below(&rng, 2) == 0) {
            continue;
        }
        uint64_t length_ps = until_ps - lit_ps[port];
        uint64_t start_ps = lit_ps[port] + weft_rng_below(&rng, (uint32_t)(length_ps / 2 + 1));
        double bytes = (double)(until_ps - start_ps) * RATE_BPS / 1e12;
        it->bursts[count] =
            (struct weft_circuit_burst){plane, i, now[port], start_ps, until_ps, bytes};
        it->demand_bytes[i * it->n + now[port]] += bytes;
        it->traffic.burst_count++;
    }
}

static int by_start(const void *a, const void *b)
{
    const struct weft_circuit_burst *x = a;
    const struct weft_circuit_burst *y = b;
    return (x->start_ps > y->start_ps) - (x->start_ps < y->start_ps);
}

// Changes come one after the other, each when its plane is lit and has carried something; every
// port that does not change with it carries on.
static void draw_schedule(struct instance *it)
{
    memset(it, 0, sizeof *it);
    it->n = 3 + weft_rng_below(&rng, NODES_MAX - 2);
    it->planes = 1 + weft_rng_below(&rng, 3);
    const struct weft_circuit_delays delays = {
        1000 * (uint64_t)weft_rng_below(&rng, 50), 1000 * (uint64_t)weft_rng_below(&rng, 50) + 1000,
        1000 * (uint64_t)weft_rng_below(&rng, 20), 1000 * (uint64_t)weft_rng_below(&rng, 3)};
    uint64_t lit_ps[3 * NODES_MAX] = {0};
    uint32_t now[3 * NODES_MAX];
    for (uint32_t plane = 0; plane < it->planes; plane++) {
        draw_permutation(&it->first[plane * it->n], it->n);
        it->switch_db[plane] = 1 + weft_rng_below(&rng, 3);
    }
    memcpy(now, it->first, sizeof now);
    uint64_t at_ps = 0;
    for (uint32_t c = 0; c < CHANGES; c++) {
        uint32_t plane = weft_rng_below(&rng, it->planes);
        uint32_t *peers = it->peers[c];
        for (uint32_t i = 0; i < it->n; i++) {
            uint64_t steady_ps = lit_ps[plane * it->n + i];
            at_ps = steady_ps > at_ps ? steady_ps : at_ps;
        }
        at_ps += 1000 + 1000 * (uint64_t)weft_rng_below(&rng, 100);
        memcpy(peers, &now[plane * it->n], it->n * sizeof *peers);
        uint32_t a = weft_rng_below(&rng, it->n);
        uint32_t b = (a + 1 + weft_rng_below(&rng, it->n - 1)) % it->n;
        uint32_t swap = peers[a];
        peers[a] = peers[b];
        peers[b] = swap;
        uint64_t turns_ps = at_ps + delays.command_ps;
        uint64_t old_lit_ps[3 * NODES_MAX];
        memcpy(old_lit_ps, lit_ps, sizeof lit_ps);
        for (uint32_t i = 0; i < it->n; i++) { // of the two that turn
            old_lit_ps[plane * it->n + i] =
                i == a || i == b ? lit_ps[plane * it->n + i] : WEFT_NEVER;
        }
        draw_bursts(it, old_lit_ps, now, plane, turns_ps);
        memcpy(&now[plane * it->n], peers, it->n * sizeof *peers);
        lit_ps[plane * it->n + a] = turns_ps + delays.dark_ps + delays.retrain_ps + delays.first_ps;
        lit_ps[plane * it->n + b] = lit_ps[plane * it->n + a];
        it->changes[c] = (struct weft_circuit_change){at_ps, plane, peers};
    }
    qsort(it->bursts, it->traffic.burst_count, sizeof *it->bursts, by_start);
    it->losses = (struct weft_circuit_losses){
        .budget_db = 4.5, .connectors_db = 1.5, .switch_db = it->switch_db};
    it->traffic.rate_Bps = RATE_BPS;
    it->traffic.bursts = it->bursts;
    it->traffic.demand_bytes = it->demand_bytes;
    it->traffic.losses = &it->losses;
    it->schedule = (struct weft_circuit_schedule){it->n,       it->planes, it->first, CHANGES,
                                                  it->changes, delays,     at_ps};
}

// Expects a refusal that says this.
static void refused(struct instance *it, const char *text)
{
    struct weft_error error;
    if (weft_circuit_check_schedule(&it->schedule, &it->traffic, scratch, &error)) {
        fail_msg("seed %llu: damage is not seen: %s", (unsigned long long)seed, text);
    }
    if (strstr(error.message, text) == NULL || strchr(error.message, '\n') != NULL) {
        fail_msg("seed %llu: \"%s\" does not say \"%s\"", (unsigned long long)seed, error.message,
                 text);
    }
}

static void damage_changes(const struct instance *valid, uint32_t c)
{
    struct instance it = *valid;
    struct weft_circuit_change *change = &it.changes[c];
    it.traffic.burst_count = 0;
    it.traffic.demand_bytes = NULL;
    it.traffic.bursts = it.bursts;
    it.schedule.changes = it.changes;
    uint32_t peers[NODES_MAX];
    memcpy(peers, change->peers, it.n * sizeof *peers);
    change->peers = peers;
    uint32_t kept = peers[0];
    for (uint32_t i = 1; i < it.n; i++) {
        if (peers[i] != i && peers[i] != 0) { // neither of both is idle
            peers[0] = peers[i];
            refused(&it, "which another sends to; give a permutation");
        }
    }
    peers[0] = it.n;
    refused(&it, "which does not exist; give a permutation");
    peers[0] = kept;
    change->plane = it.planes;
    refused(&it, "no plane");
    *change = valid->changes[c];
    if (c > 0) {
        change->start_ps = it.changes[c - 1].start_ps - 1;
        refused(&it, "sort by start");
        *change = valid->changes[c];
        // Back to where it was while the ports still turn.
        const struct weft_circuit_change *above = &it.changes[c - 1];
        const uint32_t *before = &it.first[above->plane * it.n];
        for (uint32_t i = 0; i + 1 < c; i++) {
            before = it.changes[i].plane == above->plane ? it.changes[i].peers : before;
        }
        *change = (struct weft_circuit_change){above->start_ps + it.schedule.delays.command_ps +
                                                   it.schedule.delays.dark_ps - 1,
                                               above->plane, before};
        it.schedule.change_count = c + 1;
        bool turns = false; // a port that was only let go does not
        for (uint32_t i = 0; i < it.n; i++) {
            turns |= above->peers[i] != before[i] && above->peers[i] != i;
        }
        if (turns) {
            refused(&it, "still changes until");
        }
    }
}

static void damage_bursts(const struct instance *valid, uint32_t b)
{
    struct instance it = *valid;
    struct weft_circuit_burst *burst = &it.bursts[b];
    it.traffic.bursts = it.bursts;
    it.traffic.demand_bytes = NULL;
    it.traffic.burst_count = 1;
    it.traffic.bursts = burst;
    struct weft_error error;
    assert_true(weft_circuit_check_schedule(&it.schedule, &it.traffic, scratch, &error));
    burst->end_ps++;
    refused(&it, "with bytes in flight");
    *burst = valid->bursts[b];
    burst->bytes *= 1.001;
    refused(&it, "send less or give it longer");
    *burst = valid->bursts[b];
    burst->bytes = -1;
    refused(&it, "and bytes");
    *burst = valid->bursts[b];
    burst->from = it.n;
    refused(&it, "two ports below");
    *burst = valid->bursts[b];
    uint64_t lit_ps = 0;
    for (uint32_t c = 0; c < it.schedule.change_count; c++) {
        const struct weft_circuit_change *change = &it.changes[c];
        const struct weft_circuit_delays *delays = &it.schedule.delays;
        uint32_t before = it.first[burst->plane * it.n + burst->from];
        for (uint32_t i = 0; i < c; i++) {
            before =
                it.changes[i].plane == burst->plane ? it.changes[i].peers[burst->from] : before;
        }
        bool turns = change->plane == burst->plane && change->peers[burst->from] != before;
        if (turns && change->start_ps < burst->start_ps &&
            change->peers[burst->from] == burst->to) {
            lit_ps = change->start_ps + delays->command_ps + delays->dark_ps + delays->retrain_ps +
                     delays->first_ps;
        }
    }
    if (lit_ps > 0) {
        burst->start_ps = lit_ps - 1;
        refused(&it, "start it then");
    }
}

static void the_checker_sees_every_kind_of_damage(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < TEST_SEEDS(150); round++) {
        seed = round;
        weft_rng_init(&rng, seed);
        static struct instance it;
        struct weft_error error;
        draw_schedule(&it);
        if (!weft_circuit_check_schedule(&it.schedule, &it.traffic, scratch, &error)) {
            fail_msg("seed %u: a valid schedule is refused: %s", round, error.message);
        }
        for (uint32_t c = 0; c < CHANGES; c++) {
            damage_changes(&it, c);
        }
        for (uint32_t b = 0; b < it.traffic.burst_count; b++) {
            damage_bursts(&it, b);
        }
        if (it.traffic.burst_count > 0) {
            const struct weft_circuit_burst *burst = &it.bursts[0];
            it.demand_bytes[burst->from * it.n + burst->to] += 1;
            refused(&it, "add bursts for the rest");
            it.demand_bytes[burst->from * it.n + burst->to] -= 1;
        }
        it.losses.budget_db = 2;
        refused(&it, "connectors 1.5");
    }
}

// Two bursts of one port share its rate: neither has to be alone, and both must fit.
static void bursts_of_a_port_share_its_rate(void **state)
{
    (void)state;
    const uint32_t first[] = {1, 0};
    struct weft_circuit_burst bursts[] = {{0, 0, 1, 0, 2000000, 1500},
                                          {0, 0, 1, 500000, 1000000, 500}};
    const struct weft_circuit_schedule schedule = {
        .node_count = 2, .plane_count = 1, .first = first};
    const struct weft_circuit_traffic traffic = {RATE_BPS, bursts, 2, NULL, NULL};
    struct weft_error error;
    assert_true(weft_circuit_check_schedule(&schedule, &traffic, scratch, &error));
    bursts[0].bytes = 1501;
    assert_false(weft_circuit_check_schedule(&schedule, &traffic, scratch, &error));
    assert_non_null(strstr(error.message, "burst 0"));
}

// ---- replays ----

static void build_network(struct weft_network *network, uint32_t n, struct weft_arena *own)
{
    struct weft_error error;
    struct weft_link links[NODES_MAX * NODES_MAX];
    uint32_t count = 0;
    for (uint32_t p = 0; p < n * n; p++) {
        if (p / n != p % n) {
            links[count++] = (struct weft_link){p / n, p % n, RATE_BPS, 0, 1};
        }
    }
    const struct weft_fabric_links input = {"circuits", n, n, links, count};
    assert_true(weft_fabric_build(&network->fabric, &input, own, &error));
    assert_true(
        weft_routes_build_shortest(&network->routes, &network->fabric, own, scratch, &error));
}

// The flow engine plays what the checker accepts: each burst is over when it ends. Of one plane,
// since two planes between two nodes are one link there.
static void valid_schedules_play_as_they_say(void **state)
{
    (void)state;
    uint32_t played = 0;
    for (uint32_t round = 0; round < TEST_SEEDS(100); round++) {
        seed = 1000 + round;
        weft_rng_init(&rng, seed);
        static struct instance it;
        draw_schedule(&it);
        if (it.planes > 1) {
            continue;
        }
        it.schedule.delays.first_ps = 0; // bursts begin later than that already
        struct weft_arena own = arena;
        struct weft_network network;
        build_network(&network, it.n, &own);
        uint32_t from[BURSTS], to[BURSTS];
        uint64_t size_bytes[BURSTS], start_ps[BURSTS], end_ps[BURSTS];
        uint32_t count = it.traffic.burst_count;
        for (uint32_t b = 0; b < count; b++) {
            from[b] = it.bursts[b].from;
            to[b] = it.bursts[b].to;
            start_ps[b] = it.bursts[b].start_ps;
            size_bytes[b] = (uint64_t)it.bursts[b].bytes;
        }
        const struct weft_flow_list flows = {count, from, to, size_bytes, start_ps};
        struct weft_circuit_controller controller;
        struct weft_error error;
        struct weft_sim_result result;
        assert_true(
            weft_planes_replay(&controller, &it.schedule, RATE_BPS, &network.fabric, &own, &error));
        const struct weft_sim_options options = {.circuits = &controller};
        if (!weft_sim_run_flows(
                &result, end_ps, &network, &flows, &options,
                &(struct weft_environment){.arena = &own, .scratch = scratch, .error = &error})) {
            fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
        }
        for (uint32_t b = 0; b < count; b++) {
            double expected_ps = (double)start_ps[b] + (double)size_bytes[b] * 1e12 / RATE_BPS;
            if (fabs((double)end_ps[b] - expected_ps) > 1.5) {
                fail_msg("seed %llu: burst %u ends at %llu instead of %.0f",
                         (unsigned long long)seed, b, (unsigned long long)end_ps[b], expected_ps);
            }
            played++;
        }
    }
    print_message("%u bursts played\n", played);
    assert_true(played > 50);
}

int main(void)
{
    struct weft_error error;
    if (!weft_arena_init(&arena, 0, &error) || !weft_arena_init(&scratch, 0, &error)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_checker_sees_every_kind_of_damage),
        cmocka_unit_test(bursts_of_a_port_share_its_rate),
        cmocka_unit_test(valid_schedules_play_as_they_say),
    };
    int failed = cmocka_run_group_tests_name("circuit_checks", tests, NULL, NULL);
    weft_arena_release(&arena);
    weft_arena_release(&scratch);
    return failed;
}
