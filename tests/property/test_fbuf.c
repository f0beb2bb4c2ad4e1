// SPDX-License-Identifier: Apache-2.0
// Random task graphs, written and read again, are the same; numbering the tasks otherwise changes
// the traffic in nothing.
//
// Mutations that made these fail: successors written in falling order; ids of network devices off
// by one; runtimes cut instead of rounded; cables not written; paths sorted by their last node
// only; members of traffic groups not sorted; (k-1) S bytes on the wire; an order by index; naming
// the last task that waits instead of walking to the cycle; successors of AllReduces left out;
// half of an odd number of bytes rounded down.

#include "../arenas.h"
#include "../unit/fbuf_same.h"
#include "weft/workload.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define INSTANCES 2000u

static uint64_t current_seed;

static void check(bool condition, const char *text)
{
    if (!condition) {
        fail_msg("seed %llu: %s", (unsigned long long)current_seed, text);
    }
}
#define CHECK(condition) check((condition), #condition)

// Times that a float of milliseconds holds: what a file can have said.
static uint64_t random_runtime(struct weft_rng *rng)
{
    double scale = pow(10, weft_rng_below(rng, 13)); // 1 ps to 10 s
    float runtime_ms = (float)(weft_rng_unit(rng) * scale / 1e9);
    return (uint64_t)llround((double)runtime_ms * 1e9);
}

static void random_task(struct weft_task *task, uint32_t servers, uint32_t devices,
                        struct weft_rng *rng, struct weft_arena *arena)
{
    task->kind = (enum weft_task_kind)weft_rng_below(rng, WEFT_TASK_KIND_COUNT);
    if (task->kind == WEFT_TASK_TRANSFER) {
        task->from = weft_rng_below(rng, servers);
        task->to = weft_rng_below(rng, servers);
        task->size_bytes = weft_rng_next(rng) >> (20 + weft_rng_below(rng, 44));
    } else if (weft_task_facts[task->kind].is_collective) {
        uint32_t *members = WEFT_NEW(arena, uint32_t, servers);
        for (uint32_t s = 0; s < servers; s++) {
            members[s] = s;
        }
        if (weft_rng_below(rng, 2) == 0) {
            weft_rng_shuffle(rng, members, servers);
        }
        task->members = members;
        task->member_count = 1 + weft_rng_below(rng, servers);
        task->size_bytes = weft_rng_next(rng) >> (24 + weft_rng_below(rng, 40));
        task->runtime_ps = random_runtime(rng);
    } else if (task->kind != WEFT_TASK_BARRIER) {
        task->device = weft_rng_below(rng, devices);
        task->runtime_ps = random_runtime(rng);
    }
}

// Edges from a task to tasks after it in a random order, some of them twice.
static void random_edges(struct weft_task *tasks, uint32_t count, struct weft_rng *rng,
                         struct weft_arena *arena)
{
    uint32_t *order = WEFT_NEW(arena, uint32_t, count);
    for (uint32_t t = 0; t < count; t++) {
        order[t] = t;
    }
    weft_rng_shuffle(rng, order, count);
    for (uint32_t i = 0; i + 1 < count; i++) {
        struct weft_task *task = &tasks[order[i]];
        uint32_t wanted = weft_rng_below(rng, 4);
        uint32_t *next = WEFT_NEW(arena, uint32_t, 2 * (size_t)wanted);
        for (uint32_t e = 0; e < wanted; e++) {
            next[task->next_count++] = order[i + 1 + weft_rng_below(rng, count - i - 1)];
            if (weft_rng_below(rng, 4) == 0) {
                next[task->next_count] = next[task->next_count - 1];
                task->next_count++;
            }
        }
        task->next = next;
    }
}

struct instance {
    uint32_t servers;
    uint32_t devices;
    uint32_t *device_server;
    uint32_t task_count;
    struct weft_task *tasks;
};

static struct instance random_instance(struct weft_rng *rng, struct weft_arena *arena)
{
    struct instance instance = {.servers = 1 + weft_rng_below(rng, 9),
                                .task_count = weft_rng_below(rng, 60)};
    instance.devices = instance.servers + weft_rng_below(rng, 5);
    instance.device_server = WEFT_NEW(arena, uint32_t, instance.devices);
    for (uint32_t d = 0; d < instance.devices; d++) {
        instance.device_server[d] = weft_rng_below(rng, instance.servers);
    }
    instance.tasks = WEFT_NEW(arena, struct weft_task, instance.task_count);
    for (uint32_t t = 0; t < instance.task_count; t++) {
        random_task(&instance.tasks[t], instance.servers, instance.devices, rng, arena);
    }
    random_edges(instance.tasks, instance.task_count, rng, arena);
    return instance;
}

static struct weft_taskgraph build(const struct instance *instance, struct weft_arena *arena)
{
    struct weft_taskgraph graph = {0};
    struct weft_error error = {.message = ""};
    if (!weft_taskgraph_build(
            &graph,
            &(struct weft_taskgraph_draft){.server_count = instance->servers,
                                           .device_count = instance->devices,
                                           .device_server = instance->device_server,
                                           .task_count = instance->task_count,
                                           .tasks = instance->tasks},
            arena, scratch_kept, &error)) {
        fail_msg("seed %llu: %s", (unsigned long long)current_seed, error.message);
    }
    return graph;
}

// A ring of the servers both ways, with random widths, one or two paths a pair and random jumps.
static void random_topology(struct weft_fbuf *fbuf, struct weft_rng *rng, struct weft_arena *arena)
{
    uint32_t n = fbuf->graph.server_count;
    struct weft_link *links = WEFT_NEW(arena, struct weft_link, 2 * (size_t)n);
    uint32_t *first = WEFT_NEW(arena, uint32_t, 2 * (size_t)n * n + 1);
    uint32_t *nodes = WEFT_NEW(arena, uint32_t, 2 * (size_t)n * n * n);
    double *weights = WEFT_NEW(arena, double, 2 * (size_t)n * n);
    for (uint32_t s = 0; s < n; s++) {
        uint32_t width = 1 + weft_rng_below(rng, 3);
        double rate_Bps = width * fbuf->rate_Bps;
        uint32_t to = (s + 1) % n;
        links[fbuf->link_count++] = (struct weft_link){s, to, rate_Bps, 1000000, width};
        links[fbuf->link_count++] = (struct weft_link){to, s, rate_Bps, 1000000, width};
    }
    for (uint32_t pair = 0; pair < n * n; pair++) {
        for (uint32_t way = weft_rng_below(rng, 2); way < 2 && pair / n != pair % n; way++) {
            uint32_t at = first[fbuf->path_count];
            uint32_t step = way == 0 ? 1 : n - 1;
            for (uint32_t node = pair / n; node != pair % n; node = (node + step) % n) {
                nodes[at++] = node;
            }
            nodes[at++] = pair % n;
            weights[fbuf->path_count] = 1 + weft_rng_below(rng, 3);
            first[++fbuf->path_count] = at;
        }
    }
    fbuf->links = links;
    fbuf->path_node_first = first;
    fbuf->path_nodes = nodes;
    fbuf->path_weights = weights;
    uint64_t *sizes = WEFT_NEW(arena, uint64_t, 3);
    uint32_t *ring_first = WEFT_NEW(arena, uint32_t, 4);
    uint32_t *jump_first = WEFT_NEW(arena, uint32_t, 10);
    int32_t *jumps = WEFT_NEW(arena, int32_t, 40);
    for (uint32_t r = 0; r < 3; r++) {
        sizes[r] = weft_rng_next(rng) >> weft_rng_below(rng, 64) | (1u << r);
        sizes[r] = sizes[r] * 3 + r; // three different ones
        for (uint32_t d = weft_rng_below(rng, 4); d < 3; d++) {
            uint32_t at = jump_first[fbuf->descriptor_count];
            for (uint32_t j = weft_rng_below(rng, 5); j < 4; j++) {
                jumps[at++] = (int32_t)(uint32_t)weft_rng_next(rng);
            }
            jump_first[++fbuf->descriptor_count] = at;
        }
        ring_first[r + 1] = fbuf->descriptor_count;
    }
    fbuf->ring_size_count = 3;
    fbuf->ring_sizes = sizes;
    fbuf->ring_first = ring_first;
    fbuf->jump_first = jump_first;
    fbuf->jumps = jumps;
}

static void random_graphs_survive_the_round_trip(void **state)
{
    (void)state;
    for (current_seed = 0; current_seed < INSTANCES; current_seed++) {
        struct weft_arena arena = arena_kept;
        struct weft_rng rng;
        weft_rng_init(&rng, current_seed);
        struct instance instance = random_instance(&rng, &arena);
        struct weft_fbuf fbuf = {
            .graph = build(&instance, &arena), .gpus_per_server = 4, .rate_Bps = 12.5e9};
        fbuf.node_count = fbuf.graph.server_count + weft_rng_below(&rng, 3);
        if (fbuf.graph.server_count > 2 && weft_rng_below(&rng, 2) == 0) {
            random_topology(&fbuf, &rng, &arena);
        }
        const char *data = NULL;
        size_t length = 0;
        struct weft_fbuf copy;
        struct weft_error error = {.message = ""};
        if (!weft_fbuf_write(&data, &length, &fbuf, &arena, scratch_kept, &error) ||
            !weft_fbuf_read(&copy, data, length, &arena, scratch_kept, &error)) {
            fail_msg("seed %llu: %s", (unsigned long long)current_seed, error.message);
        }
        const char *difference = fbuf_difference(&fbuf, &copy);
        if (difference != NULL) {
            fail_msg("seed %llu: %s differ", (unsigned long long)current_seed, difference);
        }
    }
}

// The same tasks in another order, their dependencies renumbered.
static struct instance renumber(const struct instance *instance, struct weft_rng *rng,
                                struct weft_arena *arena)
{
    uint32_t count = instance->task_count;
    uint32_t *place = WEFT_NEW(arena, uint32_t, count);
    for (uint32_t t = 0; t < count; t++) {
        place[t] = t;
    }
    weft_rng_shuffle(rng, place, count);
    struct instance other = *instance;
    other.tasks = WEFT_NEW(arena, struct weft_task, count);
    for (uint32_t t = 0; t < count; t++) {
        struct weft_task *task = &other.tasks[place[t]];
        *task = instance->tasks[t];
        uint32_t *next = WEFT_NEW(arena, uint32_t, task->next_count);
        for (uint32_t e = 0; e < task->next_count; e++) {
            next[e] = place[task->next[e]];
        }
        task->next = next;
    }
    return other;
}

static void traffic_does_not_depend_on_the_order_of_tasks(void **state)
{
    (void)state;
    for (current_seed = 0; current_seed < INSTANCES; current_seed++) {
        struct weft_arena arena = arena_kept;
        struct weft_rng rng;
        weft_rng_init(&rng, current_seed);
        struct instance instance = random_instance(&rng, &arena);
        struct instance other = renumber(&instance, &rng, &arena);
        struct weft_taskgraph one_graph = build(&instance, &arena);
        struct weft_taskgraph two_graph = build(&other, &arena);
        struct weft_traffic one;
        struct weft_traffic two;
        weft_traffic_build(&one, &one_graph, &arena, scratch_kept);
        weft_traffic_build(&two, &two_graph, &arena, scratch_kept);
        CHECK(one.group_count == two.group_count);
        CHECK(one.transfer_total_bytes == two.transfer_total_bytes); // whole numbers below 2^53
        size_t pairs = (size_t)instance.servers * instance.servers;
        CHECK(SAME_ARRAY(one.transfer_bytes, two.transfer_bytes, pairs));
        for (uint32_t g = 0; g < one.group_count; g++) {
            CHECK(one.groups[g].member_count == two.groups[g].member_count);
            CHECK(one.groups[g].size_bytes == two.groups[g].size_bytes);
            CHECK(SAME_ARRAY(one.groups[g].members, two.groups[g].members,
                             one.groups[g].member_count));
            for (uint32_t i = 1; i < one.groups[g].member_count; i++) {
                CHECK(one.groups[g].members[i - 1] < one.groups[g].members[i]);
            }
            for (uint32_t h = 0; h < g; h++) { // one group for one set
                CHECK(one.groups[g].member_count != one.groups[h].member_count ||
                      !SAME_ARRAY(one.groups[g].members, one.groups[h].members,
                                  one.groups[g].member_count));
            }
            CHECK(g == 0 || one.groups[g - 1].wire_bytes >= one.groups[g].wire_bytes);
        }
        // The whole wire matrix holds what its parts say, and what a direct count over tasks does.
        double counted = 0;
        for (uint32_t t = 0; t < one_graph.task_count; t++) {
            static const double turns[WEFT_TASK_KIND_COUNT] = {[WEFT_TASK_ALLREDUCE] = 2,
                                                               [WEFT_TASK_REDUCE_SCATTER] = 1,
                                                               [WEFT_TASK_ALL_GATHER] = 1};
            double copies = turns[one_graph.kind[t]];
            copies = copies > 0 ? copies * (weft_task_member_count(&one_graph, t) - 1) : 1;
            counted += copies * (double)one_graph.size_bytes[t];
        }
        double *matrix = weft_traffic_matrix(&one, &arena);
        double sum = 0;
        for (size_t i = 0; i < pairs; i++) {
            sum += matrix[i];
        }
        CHECK(fabs(sum - counted) <= 1e-12 * counted);
        CHECK(fabs(one.allreduce_wire_bytes + one.transfer_total_bytes - counted) <=
              1e-12 * counted);
    }
}

// Kahn's order against its definition, and against a slow count of the tasks before each.
static void orders_put_every_task_after_its_predecessors(void **state)
{
    (void)state;
    for (current_seed = 0; current_seed < INSTANCES; current_seed++) {
        struct weft_arena arena = arena_kept;
        struct weft_rng rng;
        weft_rng_init(&rng, current_seed);
        struct instance instance = random_instance(&rng, &arena);
        struct weft_taskgraph graph = build(&instance, &arena);
        uint32_t *order = WEFT_NEW(&arena, uint32_t, graph.task_count);
        uint32_t *place = WEFT_NEW(&arena, uint32_t, graph.task_count);
        memset(place, 0xff, sizeof *place * graph.task_count);
        weft_taskgraph_order(&graph, order, scratch_kept);
        for (uint32_t i = 0; i < graph.task_count; i++) {
            CHECK(place[order[i]] == WEFT_NONE);
            place[order[i]] = i;
        }
        for (uint32_t t = 0; t < graph.task_count; t++) {
            for (uint32_t e = graph.next_first[t]; e < graph.next_first[t + 1]; e++) {
                CHECK(place[t] < place[graph.next[e]]);
            }
        }
    }
}

// One more edge from the last task of a chain to its first closes it: the error names a task on it.
static void every_closed_chain_is_found(void **state)
{
    (void)state;
    for (current_seed = 0; current_seed < INSTANCES; current_seed++) {
        struct weft_arena arena = arena_kept;
        struct weft_rng rng;
        weft_rng_init(&rng, current_seed);
        struct instance instance = random_instance(&rng, &arena);
        struct weft_taskgraph graph = build(&instance, &arena);
        if (graph.next_first[graph.task_count] == 0) {
            continue;
        }
        uint32_t *reached = WEFT_NEW(&arena, uint32_t, graph.task_count);
        uint32_t *reaches = WEFT_NEW(&arena, uint32_t, graph.task_count);
        uint32_t start = weft_rng_below(&rng, graph.task_count);
        uint32_t end = start;
        while (graph.next_first[end] != graph.next_first[end + 1]) {
            end = graph.next[graph.next_first[end]];
        }
        // Reached from `start` and reaching `end`: these and no others lie on a cycle through the
        // new edge.
        uint32_t *order = WEFT_NEW(&arena, uint32_t, graph.task_count);
        weft_taskgraph_order(&graph, order, scratch_kept);
        reached[start] = 1;
        reaches[end] = 1;
        for (uint32_t i = 0; i < graph.task_count; i++) {
            for (uint32_t e = graph.next_first[order[i]]; e < graph.next_first[order[i] + 1]; e++) {
                reached[graph.next[e]] |= reached[order[i]];
            }
        }
        for (uint32_t i = graph.task_count; i-- > 0;) {
            for (uint32_t e = graph.next_first[order[i]]; e < graph.next_first[order[i] + 1]; e++) {
                reaches[order[i]] |= reaches[graph.next[e]];
            }
        }
        struct weft_task *last = &instance.tasks[end];
        last->kind = WEFT_TASK_BARRIER;
        last->runtime_ps = 0;
        last->next = &start;
        last->next_count = 1;
        struct weft_error error = {.message = ""};
        CHECK(!weft_taskgraph_build(
            &graph,
            &(struct weft_taskgraph_draft){.server_count = instance.servers,
                                           .device_count = instance.devices,
                                           .device_server = instance.device_server,
                                           .task_count = instance.task_count,
                                           .tasks = instance.tasks},
            &arena, scratch_kept, &error));
        CHECK(strncmp(error.message, "task ", 5) == 0);
        unsigned long named = strtoul(error.message + 5, NULL, 10);
        CHECK(named < graph.task_count);
        CHECK(reached[named] == 1 && reaches[named] == 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_survive_the_round_trip),
        cmocka_unit_test(traffic_does_not_depend_on_the_order_of_tasks),
        cmocka_unit_test(orders_put_every_task_after_its_predecessors),
        cmocka_unit_test(every_closed_chain_is_found),
    };
    return cmocka_run_group_tests_name("fbuf", tests, set_up, tear_down);
}
