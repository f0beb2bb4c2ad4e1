// SPDX-License-Identifier: Apache-2.0
// How long does an iteration of data-parallel training take on three fabrics? Every server computes
// for 50 ms, then all of them sum 1 GB of gradients by a ring AllReduce.
//
//   cc iteration.c $(pkg-config --cflags --libs weft) -o iteration && ./iteration 16
//
// The file is C and C++ at the same time. It shows what every program that uses Weft does: it opens
// two arenas, one for results and one for temporaries, and calls Weft inside a guard, so that
// memory that the system refuses is an error like any other.

#include <weft/weft.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPUTE_PS (50 * WEFT_PS_PER_S / 1000)
#define GRADIENT_BYTES 1000000000u
#define PORTS 4u
#define PORT_RATE_BPS 12.5e9 // 100 Gbps

struct study {
    uint32_t server_count;
    struct weft_arena arena;
    struct weft_arena scratch;
    struct weft_error *error;
};

// A forward and backward pass on every server, and the AllReduce that waits for all of them.
static bool build_iteration(struct weft_taskgraph *graph, struct study *study)
{
    uint32_t n = study->server_count;
    struct weft_task *tasks = WEFT_NEW(&study->arena, struct weft_task, n + 1);
    uint32_t *servers = WEFT_NEW(&study->arena, uint32_t, n);
    uint32_t *sum = WEFT_NEW(&study->arena, uint32_t, 1);
    *sum = n; // the index of the last task
    for (uint32_t s = 0; s < n; s++) {
        servers[s] = s;
        tasks[s].kind = WEFT_TASK_BACKWARD;
        tasks[s].device = s;
        tasks[s].runtime_ps = COMPUTE_PS;
        tasks[s].next = sum;
        tasks[s].next_count = 1;
    }
    tasks[n].kind = WEFT_TASK_ALLREDUCE;
    tasks[n].device = WEFT_NONE;
    tasks[n].size_bytes = GRADIENT_BYTES;
    tasks[n].members = servers;
    tasks[n].member_count = n;
    struct weft_taskgraph_draft draft;
    draft.server_count = n;
    draft.device_count = n; // one a server: device s is server s's
    draft.device_server = servers;
    draft.task_count = n + 1;
    draft.tasks = tasks;
    return weft_taskgraph_build(graph, &draft, &study->arena, study->scratch, study->error);
}

static bool play(const char *name, const struct weft_network *network,
                 const struct weft_taskgraph *graph, struct study *study)
{
    struct weft_sim_job job;
    struct weft_sim_options options;
    struct weft_sim_result result;
    struct weft_environment environment;
    char time[WEFT_UNIT_TEXT];
    memset(&environment, 0, sizeof environment);
    environment.arena = &study->arena;
    environment.scratch = study->scratch;
    environment.error = study->error;
    memset(&job, 0, sizeof job);
    memset(&options, 0, sizeof options);
    job.graph = graph;
    if (!weft_sim_run_jobs(&result, network, &job, 1, &options, &environment)) {
        return false;
    }
    printf("%-8s %s\n", name, weft_show_time(time, result.iteration_ps[0]));
    return true;
}

static bool compare(void *context)
{
    struct study *study = (struct study *)context;
    struct weft_cluster cluster;
    struct weft_taskgraph graph;
    struct weft_network ideal, torus, ring;
    return weft_cluster_build(&cluster, study->server_count, PORTS, PORT_RATE_BPS, study->error) &&
           build_iteration(&graph, study) &&
           weft_fabric_build_ideal(&ideal, &cluster, NULL, &study->arena, study->error) &&
           play("ideal", &ideal, &graph, study) &&
           weft_fabric_build_torus(&torus, &cluster, NULL, &study->arena, study->error) &&
           play("torus", &torus, &graph, study) &&
           weft_fabric_build_ring(&ring, &cluster, NULL, &study->arena, study->error) &&
           play("ring", &ring, &graph, study);
}

int main(int argc, char **argv)
{
    struct weft_error error;
    struct study study;
    uint64_t server_count = 16;
    study.error = &error;
    bool fine = (argc < 2 || weft_parse_count(&server_count, argv[1], 2, 100000, &error)) &&
                weft_arena_init(&study.arena, 0, &error);
    if (fine) {
        struct weft_arena arena = study.arena; // as it began, for its release
        fine = weft_arena_init(&study.scratch, 0, &error);
        if (fine) {
            study.server_count = (uint32_t)server_count;
            fine = weft_guard(compare, &study, &error);
            weft_arena_release(&study.scratch);
        }
        weft_arena_release(&arena);
    }
    if (!fine) {
        fprintf(stderr, "iteration: %s\n", error.message);
        return weft_exit_code(error.code);
    }
    return EXIT_SUCCESS;
}
