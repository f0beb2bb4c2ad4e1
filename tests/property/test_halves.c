// SPDX-License-Identifier: Apache-2.0
// An AllReduce of S takes as long, and puts as much on every link, as a ReduceScatter of S and then
// an AllGather of S: random jobs on a switch, a ring and a torus, as a fluid and in DCTCP packets.
// And no bound of the certificate is above the time.
//
// Mutations that made this test fail (each was run): an AllGather of two turns; a round too many
// for collectives of one; an AllGather's messages S/(k-1); the time inside the servers left out for
// a ReduceScatter; S certified for what an AllGather's member sends, or a ReduceScatter's receives.

#include "../unit/plan_cases.h"

#include <math.h>
#include <string.h>

#define SEEDS 90
#define SERVERS 27u
#define TORUS_SIDE 3u

static struct case_tasks whole_jobs, halved_jobs;
static struct weft_network network; // stays where it is: its routes point to its fabric

static void build_network(uint32_t which, struct weft_cluster *cluster)
{
    static const char *const names[] = {"ideal", "ring", "torus-3d"};
    static const uint32_t degrees[] = {1, 2, 6};
    struct weft_error error;
    const struct weft_fabric_options options = {.seed = 1};
    if (!weft_cluster_build(cluster, SERVERS, degrees[which], 12.5e9, &error) ||
        !weft_fabric_build_named(&network, names[which], cluster, &options,
                                 &(struct weft_environment){.arena = &case_arena,
                                                            .scratch = case_scratch,
                                                            .error = &error})) {
        fail_msg("%s", error.message);
    }
}

// Members without a choice of paths between neighbors, so that equal messages go equal ways: a line
// of the torus, or any servers in ascending order elsewhere (of an odd ring's).
static uint32_t random_members(uint32_t *members, uint32_t which, struct weft_rng *rng)
{
    uint32_t count = 0;
    if (which == 2) {
        static const uint32_t steps[] = {1, TORUS_SIDE, TORUS_SIDE * TORUS_SIDE};
        uint32_t step = steps[weft_rng_below(rng, 3)];
        uint32_t first = weft_rng_below(rng, SERVERS);
        first -= first / step % TORUS_SIDE * step;
        for (uint32_t i = 0; i < TORUS_SIDE; i++) {
            members[count++] = first + i * step;
        }
        return count;
    }
    uint32_t keep = 1 + weft_rng_below(rng, 4);
    for (uint32_t s = 0; s < SERVERS; s++) {
        if (weft_rng_below(rng, 4) < keep) {
            members[count++] = s;
        }
    }
    members[0] = count == 0 ? 3 : members[0];
    return count == 0 ? 1 : count;
}

// One AllReduce, or its two halves; computing before and behind it.
static void add_sum(struct weft_rng *rng, uint32_t which)
{
    uint32_t *members = WEFT_NEW(&case_arena, uint32_t, SERVERS);
    uint32_t count = random_members(members, which, rng);
    uint64_t size_bytes = 1 + weft_rng_below(rng, 3000000);
    uint64_t inside_ps = weft_rng_below(rng, 2) * (uint64_t)weft_rng_below(rng, 20) * 1000000;
    uint32_t device = members[weft_rng_below(rng, count)];
    uint64_t before_ps = (uint64_t)weft_rng_below(rng, 100) * 1000000;
    struct case_tasks *const lists[] = {&whole_jobs, &halved_jobs};
    for (uint32_t l = 0; l < 2; l++) {
        struct case_tasks *list = lists[l];
        uint32_t before = case_compute(list, device, before_ps);
        uint32_t behind = case_compute(list, device, 7000000);
        uint32_t first = case_allreduce(list, members, count, size_bytes);
        list->tasks[first].runtime_ps = inside_ps;
        uint32_t last = first;
        if (l == 1) {
            list->tasks[first].kind = WEFT_TASK_REDUCE_SCATTER;
            last = case_allreduce(list, members, count, size_bytes);
            list->tasks[last].kind = WEFT_TASK_ALL_GATHER;
            case_after(list, first, last);
        }
        case_after(list, before, first);
        case_after(list, last, behind);
    }
}

static struct weft_sim_result play(const struct weft_taskgraph *graph,
                                   const struct weft_sim_options *options, uint64_t seed)
{
    struct weft_sim_job job = {.graph = graph};
    struct weft_sim_result result;
    struct weft_error error;
    if (!weft_sim_run_jobs(&result, &network, &job, 1, options,
                           &(struct weft_environment){
                               .arena = &case_arena, .scratch = case_scratch, .error = &error})) {
        fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
    }
    return result;
}

static void check_bounds(const struct weft_taskgraph *graph, const struct weft_cluster *cluster,
                         uint64_t iteration_ps, bool direct, uint64_t seed)
{
    struct weft_certificate certificate;
    struct weft_error error;
    double iteration_s = weft_seconds(iteration_ps);
    if (!weft_certificate_build(&certificate, graph, cluster, &network, iteration_s,
                                &(struct weft_environment){.arena = &case_arena,
                                                           .scratch = case_scratch,
                                                           .error = &error})) {
        fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
    }
    for (uint32_t i = 0; i < certificate.bound_count; i++) {
        const struct weft_bound *bound = &certificate.bounds[i];
        if (bound->seconds > iteration_s && (direct || bound->scope != WEFT_BOUND_DIRECT_FABRIC)) {
            fail_msg("seed %llu: %s says %.12g s, but the iteration takes %.12g s",
                     (unsigned long long)seed, bound->name, bound->seconds, iteration_s);
        }
    }
}

static void compare(const struct weft_taskgraph *whole, const struct weft_taskgraph *halved,
                    const struct weft_cluster *cluster, const struct weft_sim_options *options,
                    uint64_t seed)
{
    struct weft_sim_result one = play(whole, options, seed);
    struct weft_sim_result two = play(halved, options, seed);
    double apart_ps = fabs((double)one.iteration_ps[0] - (double)two.iteration_ps[0]);
    if (apart_ps > 2 || one.flow_count != two.flow_count) {
        fail_msg("seed %llu: %llu ps in %llu flows, but in halves %llu ps in %llu",
                 (unsigned long long)seed, (unsigned long long)one.iteration_ps[0],
                 (unsigned long long)one.flow_count, (unsigned long long)two.iteration_ps[0],
                 (unsigned long long)two.flow_count);
    }
    for (uint32_t e = 0; e < network.fabric.link_count; e++) {
        if (fabs(one.link_bytes[e] - two.link_bytes[e]) > 1e-9 * one.link_bytes[e]) {
            fail_msg("seed %llu: link %u carries %.17g bytes, in halves %.17g",
                     (unsigned long long)seed, e, one.link_bytes[e], two.link_bytes[e]);
        }
    }
    bool direct = network.fabric.node_count == network.fabric.server_count;
    check_bounds(whole, cluster, one.iteration_ps[0], direct, seed);
    check_bounds(halved, cluster, two.iteration_ps[0], direct, seed);
}

static void halves_take_what_the_whole_takes(void **state)
{
    (void)state;
    const struct weft_packet_options packets = WEFT_PACKET_TOPOOPT;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct weft_rng rng;
        struct weft_cluster cluster;
        weft_rng_init(&rng, seed);
        case_arena = case_whole;
        uint32_t which = (uint32_t)seed % 3;
        build_network(which, &cluster);
        memset(&whole_jobs, 0, sizeof whole_jobs);
        memset(&halved_jobs, 0, sizeof halved_jobs);
        for (uint32_t sums = 1 + weft_rng_below(&rng, 5); sums > 0; sums--) {
            add_sum(&rng, which);
        }
        struct weft_taskgraph whole = case_graph(&whole_jobs, SERVERS);
        struct weft_taskgraph halved = case_graph(&halved_jobs, SERVERS);
        struct weft_sim_options options = {.seed = seed};
        compare(&whole, &halved, &cluster, &options, seed);
        options = (struct weft_sim_options){.packet_bytes = 9000, .header_bytes = 64};
        compare(&whole, &halved, &cluster, &options, seed);
        options.transport = WEFT_TRANSPORT_DCTCP;
        options.engine = WEFT_ENGINE_PACKET;
        options.dctcp = WEFT_DCTCP_HTSIM;
        options.packet = &packets;
        if (seed % 5 == 0) {
            compare(&whole, &halved, &cluster, &options, seed);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(halves_take_what_the_whole_takes)};
    return cmocka_run_group_tests(tests, case_open, case_close);
}
