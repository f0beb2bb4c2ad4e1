// SPDX-License-Identifier: Apache-2.0
// Random task graphs played with packets in several partitions: threads change nothing; processes
// change nothing; where no two packets come to a port at one instant, neither does the cut; and
// iterations end when they end in one partition. Processes are threads here, which gather what they
// say over a barrier; the test mpi has real ones.
//
// The tolerance beside one partition is 1 % of a run and 0.2 % of their mean: acknowledgements of
// messages that are over load links there, and losses fall otherwise.
//
// Mutations that made this test fail (each was run): windows that do not end where a round may; one
// that is longer than a last link; messages counted as due one packet late; packets on their last
// link in the mail that no window waits for; mail for another process that is not sent; links of
// another process that are not gathered; slots that are used again before their sender's end is
// closed.

#include "../seeds.h"
#include "weft/sim.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SEEDS TEST_SEEDS(12u)
#define SERVERS 12u
#define LAYERS 4u
#define SENDS 10u
#define TASKS (LAYERS * (SERVERS + SENDS + 1))
#define EDGES (8u * TASKS)
#define PACKET_BYTES 1000u
#define HEADER_BYTES 60u
#define RATE_BPS 12.5e9
#define LATENCY_PS 500000u
#define FABRICS 4u
#define PROCESSES_MAX 3u
#define RECORDS 4096u

static struct weft_arena arenas[2 + PROCESSES_MAX];

struct setting {
    struct weft_network network; // stays where it is: its routes point to its fabric
    struct weft_taskgraph graph;
    struct weft_packet_options packet;
    struct weft_sim_options options;
    uint64_t seed;
};

struct outcome {
    struct weft_sim_result result;
    struct weft_error error;
    bool played;
};

static int set_up(void **state)
{
    (void)state;
    struct weft_error error;
    for (size_t i = 0; i < sizeof(arenas) / sizeof(arenas[0]); i++) {
        if (!weft_arena_init(&arenas[i], 0, &error)) {
            return -1;
        }
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(arenas) / sizeof(arenas[0]); i++) {
        weft_arena_release(&arenas[i]);
    }
    return 0;
}

// ---- what is played ----

struct builder {
    struct weft_task tasks[TASKS];
    uint32_t before[EDGES];
    uint32_t after[EDGES];
    uint32_t members[LAYERS][SERVERS];
    uint32_t count;
    uint32_t edge_count;
};

static void wait_for(struct builder *builder, uint32_t before, uint32_t after)
{
    builder->before[builder->edge_count] = before;
    builder->after[builder->edge_count++] = after;
}

// A layer computes on every server, sends between some and reduces over some; each of the next
// layer waits for a few of those tasks, anywhere.
static void draw_layer(struct builder *builder, uint32_t layer, struct weft_rng *rng)
{
    uint32_t first = builder->count;
    uint32_t last_layer = layer == 0 ? 0 : first - (SERVERS + SENDS + 1);
    for (uint32_t v = 0; v < SERVERS; v++) {
        uint32_t task = builder->count++;
        builder->tasks[task] = (struct weft_task){
            .kind = WEFT_TASK_FORWARD, .device = v, .runtime_ps = weft_rng_below(rng, 40000000)};
        for (uint32_t i = 0; layer > 0 && i < 3; i++) {
            wait_for(builder, last_layer + SERVERS + weft_rng_below(rng, SENDS + 1), task);
        }
    }
    for (uint32_t i = 0; i < SENDS; i++) {
        uint32_t from = weft_rng_below(rng, SERVERS);
        uint32_t to = (from + 1 + weft_rng_below(rng, SERVERS - 1)) % SERVERS;
        wait_for(builder, first + from, builder->count);
        builder->tasks[builder->count++] =
            (struct weft_task){.kind = WEFT_TASK_TRANSFER,
                               .device = WEFT_NONE,
                               .from = from,
                               .to = to,
                               .size_bytes = 940 + weft_rng_below(rng, 300000)};
    }
    uint32_t members = 2 + weft_rng_below(rng, SERVERS - 1);
    uint32_t offset = weft_rng_below(rng, SERVERS);
    for (uint32_t i = 0; i < members; i++) {
        builder->members[layer][i] = (offset + i * 5) % SERVERS;
        wait_for(builder, first + builder->members[layer][i], builder->count);
    }
    builder->tasks[builder->count++] =
        (struct weft_task){.kind = WEFT_TASK_ALLREDUCE,
                           .device = WEFT_NONE,
                           .size_bytes = 9400 + weft_rng_below(rng, 400000),
                           .members = builder->members[layer],
                           .member_count = members};
}

static void draw_graph(struct setting *setting, struct weft_rng *rng, struct weft_arena *arena)
{
    static struct builder builder;
    uint32_t device_server[SERVERS];
    memset(&builder, 0, sizeof(builder));
    for (uint32_t layer = 0; layer < LAYERS; layer++) {
        draw_layer(&builder, layer, rng);
    }
    for (uint32_t v = 0; v < SERVERS; v++) {
        device_server[v] = v;
    }
    struct weft_error error;
    weft_task_connect(builder.tasks, builder.count, builder.before, builder.after,
                      builder.edge_count, arena);
    const struct weft_taskgraph_draft draft = {SERVERS, SERVERS, device_server, builder.count,
                                               builder.tasks};
    if (!weft_taskgraph_build(&setting->graph, &draft, arena, arenas[1], &error)) {
        fail_msg("seed %llu: %s", (unsigned long long)setting->seed, error.message);
    }
}

static void build_fabric(struct setting *setting, const char *name, struct weft_rng *rng,
                         struct weft_arena *arena)
{
    struct weft_cluster cluster;
    struct weft_error error;
    struct weft_fabric_options shape = {.port_rate_Bps = RATE_BPS,
                                        .radix = strcmp(name, "leaf-spine") == 0 ? 8 : 0};
    bool built =
        weft_cluster_build(&cluster, SERVERS, strcmp(name, "ring") == 0 ? 2 : 1, RATE_BPS, &error);
    cluster.latency_ps = LATENCY_PS;
    if (!built ||
        !weft_fabric_build_named(
            &setting->network, name, &cluster, &shape,
            &(struct weft_environment){.arena = arena, .scratch = arenas[1], .error = &error})) {
        fail_msg("%s: %s", name, error.message);
    }
    struct weft_link *links = (struct weft_link *)(uintptr_t)setting->network.fabric.links;
    for (uint32_t l = 0; rng != NULL && l < setting->network.fabric.link_count; l++) {
        links[l].latency_ps = LATENCY_PS + weft_rng_below(rng, LATENCY_PS);
    }
}

static const char *const fabrics[FABRICS] = {"leaf-spine", "ideal", "fat-tree", "ring"};

// `scatters`: each link has a latency of its own, so that hardly ever two packets come at once.
static void draw(struct setting *setting, uint64_t seed, bool scatters, bool loses,
                 struct weft_arena *arena)
{
    static const enum weft_sim_transport transports[] = {WEFT_TRANSPORT_DCTCP, WEFT_TRANSPORT_RENO,
                                                         WEFT_TRANSPORT_CUBIC, WEFT_TRANSPORT_DCQCN,
                                                         WEFT_TRANSPORT_SWIFT, WEFT_TRANSPORT_NSCC};
    struct weft_rng rng;
    weft_rng_init(&rng, seed);
    setting->seed = seed;
    build_fabric(setting, fabrics[seed % FABRICS], scatters ? &rng : NULL, arena);
    draw_graph(setting, &rng, arena);
    setting->packet = WEFT_PACKET_DEFAULTS;
    setting->packet.buffer_bytes = loses ? 12 * PACKET_BYTES : 1 << 24;
    setting->packet.handshake = weft_rng_below(&rng, 3) == 0;
    setting->packet.port.cut_through_bytes = weft_rng_below(&rng, 4) == 0 ? 100 : 0;
    setting->packet.port.control_first = weft_rng_below(&rng, 4) == 0;
    setting->packet.port.trims = loses && weft_rng_below(&rng, 4) == 0;
    setting->options = (struct weft_sim_options){.packet_bytes = PACKET_BYTES,
                                                 .header_bytes = HEADER_BYTES,
                                                 .seed = seed,
                                                 .timeline = true,
                                                 .engine = WEFT_ENGINE_PACKET,
                                                 .transport = transports[seed % 6],
                                                 .dctcp = WEFT_DCTCP_DEFAULTS,
                                                 .packet = &setting->packet,
                                                 .iterations = 2,
                                                 .records = {RECORDS, RECORDS, 50000000}};
}

// ---- playing ----

static void play(struct outcome *outcome, const struct setting *setting,
                 struct weft_partition_options partitions, struct weft_arena *arena)
{
    const struct weft_sim_job job = {.graph = &setting->graph};
    struct weft_sim_options options = setting->options;
    options.partitions = partitions;
    struct weft_arena scratch = weft_arena_split(arena);
    outcome->played = weft_sim_run_jobs(
        &outcome->result, &setting->network, &job, 1, &options,
        &(struct weft_environment){.arena = arena, .scratch = scratch, .error = &outcome->error});
}

static void play_alone(struct outcome *outcome, const struct setting *setting, uint32_t parts,
                       uint32_t threads, struct weft_arena *arena)
{
    play(outcome, setting, (struct weft_partition_options){parts, threads, NULL}, arena);
    if (!outcome->played) {
        fail_msg("seed %llu, %s, %u parts: %s", (unsigned long long)setting->seed,
                 setting->network.fabric.name, parts, outcome->error.message);
    }
    assert_int_equal(outcome->result.partitions.count, parts);
}

// Processes that are threads: what each says stands here between two barriers.
struct process {
    const struct setting *setting;
    struct weft_partition_peers peers;
    struct outcome outcome;
    uint8_t *said;
    size_t length;
    uint8_t *heard[PROCESSES_MAX];
    uint32_t parts;
};
static struct process processes[PROCESSES_MAX];
static pthread_barrier_t barrier;

static void gather(void *context, const uint8_t *own, size_t length, uint8_t **all, size_t *lengths)
{
    struct process *process = context;
    assert_int_equal(length % 8, 0);
    free(process->said);
    process->said = malloc(length + 1);
    memcpy(process->said, own, length);
    process->length = length;
    pthread_barrier_wait(&barrier);
    for (uint32_t i = 0; i < process->peers.count; i++) {
        free(process->heard[i]);
        process->heard[i] = malloc(processes[i].length + 1);
        memcpy(process->heard[i], processes[i].said, processes[i].length);
        all[i] = process->heard[i];
        lengths[i] = processes[i].length;
    }
    pthread_barrier_wait(&barrier);
}

static void *play_process(void *context)
{
    struct process *process = context;
    struct weft_arena arena = arenas[2 + process->peers.rank];
    play(&process->outcome, process->setting,
         (struct weft_partition_options){process->parts, 1, &process->peers}, &arena);
    return NULL;
}

static void play_together(const struct setting *setting, uint32_t parts, uint32_t count)
{
    pthread_t threads[PROCESSES_MAX];
    assert_int_equal(pthread_barrier_init(&barrier, NULL, count), 0);
    for (uint32_t i = 0; i < count; i++) {
        processes[i] = (struct process){
            .setting = setting, .parts = parts, .peers = {i, count, &processes[i], gather}};
        assert_int_equal(pthread_create(&threads[i], NULL, play_process, &processes[i]), 0);
    }
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        free(processes[i].said);
        for (uint32_t from = 0; from < count; from++) {
            free(processes[i].heard[from]);
        }
        if (!processes[i].outcome.played) {
            fail_msg("seed %llu, process %u: %s", (unsigned long long)setting->seed, i,
                     processes[i].outcome.error.message);
        }
    }
    pthread_barrier_destroy(&barrier);
}

// ---- comparing ----

// What stays where it is however packets of one instant come.
static const char *find_other_times(const struct weft_sim_result *x,
                                    const struct weft_sim_result *y, uint32_t tasks)
{
    if (x->end_ps != y->end_ps || x->iteration_ps[0] != y->iteration_ps[0] ||
        memcmp(x->task_start_ps[0], y->task_start_ps[0], tasks * sizeof(uint64_t)) != 0 ||
        memcmp(x->task_end_ps[0], y->task_end_ps[0], tasks * sizeof(uint64_t)) != 0) {
        return "times";
    }
    return x->records.flow_count != y->records.flow_count ? "flows" : NULL;
}

static const char *find_difference(const struct setting *setting, const struct weft_sim_result *x,
                                   const struct weft_sim_result *y)
{
    size_t links = setting->network.fabric.link_count;
    const struct weft_records *p = &x->records;
    const struct weft_records *q = &y->records;
    if (memcmp(&x->packets, &y->packets, sizeof(x->packets)) != 0 ||
        x->partitions.window_count != y->partitions.window_count ||
        x->partitions.crossing_count != y->partitions.crossing_count ||
        x->event_count != y->event_count) {
        return "counts";
    }
    if (memcmp(x->link_bytes, y->link_bytes, links * sizeof(double)) != 0 ||
        memcmp(x->ports, y->ports, links * sizeof(*x->ports)) != 0) {
        return "links";
    }
    if (p->flow_count != q->flow_count || p->sample_count != q->sample_count ||
        memcmp(p->flows, q->flows, p->flow_count * sizeof(*p->flows)) != 0 ||
        memcmp(p->samples, q->samples, p->sample_count * sizeof(*p->samples)) != 0) {
        return "records";
    }
    return find_other_times(x, y, setting->graph.task_count);
}

static void compare(const struct setting *setting, const struct outcome *a, const struct outcome *b,
                    const char *what)
{
    const char *difference = find_difference(setting, &a->result, &b->result);
    if (difference != NULL) {
        fail_msg("seed %llu, %s: %s gives other %s", (unsigned long long)setting->seed,
                 setting->network.fabric.name, what, difference);
    }
}

static void threads_and_processes_change_nothing(void **state)
{
    (void)state;
    static struct setting setting;
    uint64_t drops = 0;
    uint64_t crossings = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct weft_arena arena = arenas[0];
        struct outcome one, two;
        draw(&setting, seed, seed % 2 == 0, true, &arena);
        uint32_t parts = 2 + (uint32_t)(seed / FABRICS % 3);
        play_alone(&one, &setting, parts, 1, &arena);
        play_alone(&two, &setting, parts, 2, &arena);
        compare(&setting, &one, &two, "a second thread");
        uint32_t count = parts < PROCESSES_MAX ? 2 : PROCESSES_MAX;
        play_together(&setting, parts, count);
        for (uint32_t i = 0; i < count; i++) {
            compare(&setting, &one, &processes[i].outcome, "another process");
        }
        drops += one.result.packets.drops;
        crossings += one.result.partitions.crossing_count;
    }
    print_message("%llu drops, %llu packets cross\n", (unsigned long long)drops,
                  (unsigned long long)crossings);
    assert_true(drops > 1000 / TEST_SEEDS_SHARE && crossings > 10000 / TEST_SEEDS_SHARE);
}

// Without losses and with a latency of its own for each link.
static void cuts_change_little(void **state)
{
    (void)state;
    static struct setting setting;
    double cut_s = 0;
    double whole_s = 0;
    uint32_t others = 0;
    for (uint64_t seed = 101; seed < 101 + SEEDS; seed++) {
        struct weft_arena arena = arenas[0];
        struct outcome whole, two, more;
        draw(&setting, seed, true, false, &arena);
        play_alone(&whole, &setting, 1, 1, &arena);
        play_alone(&two, &setting, 2, 1, &arena);
        play_alone(&more, &setting, 3 + (uint32_t)seed % 2, 1, &arena);
        assert_int_equal(whole.result.records.flow_count, two.result.records.flow_count);
        const char *difference =
            find_other_times(&two.result, &more.result, setting.graph.task_count);
        others += difference != NULL;
        double ratio = (double)two.result.end_ps / (double)whole.result.end_ps;
        if (fabs(ratio - 1) > 0.01) {
            fail_msg("seed %llu, %s: in two parts %.5f of the time in one",
                     (unsigned long long)seed, setting.network.fabric.name, ratio);
        }
        cut_s += weft_seconds(two.result.end_ps);
        whole_s += weft_seconds(whole.result.end_ps);
    }
    print_message("a run takes %.5f of what it takes in one part; %u of %u cuts give other times\n",
                  cut_s / whole_s, others, SEEDS);
    assert_true(fabs(cut_s / whole_s - 1) < 0.002);
    assert_int_equal(others, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_processes_change_nothing),
        cmocka_unit_test(cuts_change_little),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
