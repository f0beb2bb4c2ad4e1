// SPDX-License-Identifier: Apache-2.0
// What a task graph file costs: bench_fbuf [FILE...]. CPU milliseconds to read the bytes, to write
// them and to extract the traffic, the least of five; without files, of a made one with 100,000
// tasks.

#include "weft/format.h"
#include "weft/workload.h"

#include <time.h>

#define TASKS 100000u
#define SERVERS 64u
#define ROUNDS 5

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool make_file(const char **data, size_t *length, struct weft_arena *arena,
                      struct weft_arena scratch, struct weft_error *error)
{
    struct weft_task *tasks = WEFT_NEW(arena, struct weft_task, TASKS);
    uint32_t *next = WEFT_NEW(arena, uint32_t, 2 * (size_t)TASKS);
    uint32_t *servers = WEFT_NEW(arena, uint32_t, SERVERS);
    struct weft_rng rng;
    weft_rng_init(&rng, 1);
    for (uint32_t s = 0; s < SERVERS; s++) {
        servers[s] = s;
    }
    for (uint32_t t = 0; t < TASKS; t++) {
        struct weft_task *task = &tasks[t];
        uint32_t draw = weft_rng_below(&rng, 100);
        task->kind = draw < 2    ? WEFT_TASK_ALLREDUCE
                     : draw < 60 ? WEFT_TASK_TRANSFER
                                 : WEFT_TASK_FORWARD;
        task->from = weft_rng_below(&rng, SERVERS);
        task->to = weft_rng_below(&rng, SERVERS);
        task->size_bytes = 1000000;
        task->device = weft_rng_below(&rng, SERVERS);
        task->members = servers;
        task->member_count = 1 + weft_rng_below(&rng, SERVERS);
        task->next = next + 2 * (size_t)t;
        for (uint32_t i = 0; i < 2 && t + 1 < TASKS && task->kind != WEFT_TASK_ALLREDUCE; i++) {
            uint32_t reach = TASKS - t - 1 < 1000 ? TASKS - t - 1 : 1000;
            next[2 * (size_t)t + task->next_count++] = t + 1 + weft_rng_below(&rng, reach);
        }
    }
    struct weft_fbuf fbuf = {.node_count = SERVERS, .rate_Bps = 12.5e9};
    return weft_taskgraph_build(&fbuf.graph,
                                &(struct weft_taskgraph_draft){.server_count = SERVERS,
                                                               .device_count = SERVERS,
                                                               .device_server = servers,
                                                               .task_count = TASKS,
                                                               .tasks = tasks},
                                arena, scratch, error) &&
           weft_fbuf_write(data, length, &fbuf, arena, scratch, error);
}

struct times {
    double read_s;
    double write_s;
    double traffic_s;
};

static double least(double a, double b)
{
    return a == 0 || b < a ? b : a;
}

static bool measure(struct times *times, uint32_t *task_count, const char *data, size_t length,
                    struct weft_arena arena, struct weft_arena scratch, struct weft_error *error)
{
    *times = (struct times){0};
    for (int round = 0; round < ROUNDS; round++) {
        struct weft_arena own = arena;
        struct weft_fbuf fbuf;
        struct weft_traffic traffic;
        const char *written = NULL;
        size_t written_length = 0;
        double start_s = cpu_seconds();
        if (!weft_fbuf_read(&fbuf, data, length, &own, scratch, error)) {
            return false;
        }
        double read_s = cpu_seconds();
        if (!weft_fbuf_write(&written, &written_length, &fbuf, &own, scratch, error)) {
            return false;
        }
        double write_s = cpu_seconds();
        weft_traffic_build(&traffic, &fbuf.graph, &own, scratch);
        times->traffic_s = least(times->traffic_s, cpu_seconds() - write_s);
        times->write_s = least(times->write_s, write_s - read_s);
        times->read_s = least(times->read_s, read_s - start_s);
        *task_count = fbuf.graph.task_count;
    }
    return true;
}

static bool bench(const char *path, struct weft_arena arena, struct weft_arena scratch,
                  struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    struct times times;
    uint32_t task_count = 0;
    bool loaded = path == NULL ? make_file(&data, &length, &arena, scratch, error)
                               : weft_file_load(&data, &length, path, 0, &arena, error);
    if (!loaded || !measure(&times, &task_count, data, length, arena, scratch, error)) {
        return false;
    }
    printf("%-50s %8u tasks %9zu bytes  read %7.2f ms  write %7.2f ms  traffic %6.2f ms\n",
           path == NULL ? "made" : path, task_count, length, times.read_s * 1e3,
           times.write_s * 1e3, times.traffic_s * 1e3);
    return true;
}

int main(int argc, char **argv)
{
    struct weft_error error;
    struct weft_arena arena;
    struct weft_arena scratch;
    bool good = weft_arena_init(&arena, 0, &error) && weft_arena_init(&scratch, 0, &error);
    for (int i = 1; good && (i < argc || i == 1); i++) {
        good = bench(i < argc ? argv[i] : NULL, arena, scratch, &error);
    }
    if (!good) {
        fprintf(stderr, "bench_fbuf: %s\n", error.message);
        return (int)error.code;
    }
    return 0;
}
