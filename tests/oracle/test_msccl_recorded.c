// SPDX-License-Identifier: Apache-2.0
// MSCCL programs and NCCL topologies and graphs that others made: programs are proved, topologies
// become clusters.

#include "weft/format.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);
    return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

static bool check_program(const char *path, struct weft_arena arena, struct weft_arena scratch)
{
    struct weft_program program;
    struct weft_program_report report;
    struct weft_error error;
    if (!weft_program_load(&program, path, &arena, scratch, &error) ||
        !weft_program_check(&report, &program, scratch, &error)) {
        printf("%s\n", error.message);
        return false;
    }
    printf("%s: %s %u ranks %u rounds %s\n", path, weft_collective_name(program.kind),
           program.rank_count, report.round_count, report.why);
    return report.valid && report.transfer_count > 0;
}

static bool check_topology(const char *path, struct weft_arena arena, struct weft_arena scratch)
{
    struct weft_error error;
    if (strstr(path, "graph") != NULL) {
        const char *data = NULL;
        size_t length = 0;
        struct weft_nccl_graphs graphs;
        if (!weft_file_load(&data, &length, path, 0, &arena, &error) ||
            !weft_nccl_graphs_read(&graphs, data, length, &arena, scratch, &error)) {
            printf("%s: %s\n", path, error.message);
            return false;
        }
        return graphs.graph_count == 3 && graphs.graphs[0].pattern == 4 &&
               graphs.graphs[0].channel_count == 2 && graphs.graphs[0].channels[1].gpus[1] == 3;
    }
    struct weft_nccl_topology topology;
    struct weft_cluster cluster;
    if (!weft_nccl_topology_load(&topology, path, &arena, scratch, &error)) {
        printf("%s\n", error.message);
        return false;
    }
    weft_nccl_cluster(&cluster, &topology, 32);
    if (!weft_cluster_check(&cluster, &error)) {
        printf("%s: %s\n", path, error.message);
        return false;
    }
    printf("%s: %u x %.0f Gbps, %u %s\n", path, cluster.degree, cluster.rate_Bps / 125e6,
           cluster.accelerators_per_server, cluster.accelerator);
    return cluster.accelerators_per_server >= 3;
}

// The number of files in a folder that pass; -1 when there is no such folder.
static int check_folder(const char *shared, const char *name,
                        bool (*check)(const char *, struct weft_arena, struct weft_arena),
                        int *failed)
{
    struct weft_arena arenas[2];
    struct weft_error error;
    char folder[1024];
    char path[2048];
    int passed = 0;
    snprintf(folder, sizeof folder, "%s/inputs/%s", shared, name);
    DIR *entries = opendir(folder);
    if (entries == NULL) {
        return -1;
    }
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        if (!ends_with(entry->d_name, ".xml")) {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        WEFT_ASSERT(weft_arena_init(&arenas[0], 0, &error));
        WEFT_ASSERT(weft_arena_init(&arenas[1], 0, &error));
        bool fine = check(path, arenas[0], arenas[1]);
        passed += fine ? 1 : 0;
        *failed += fine ? 0 : 1;
        weft_arena_release(&arenas[0]);
        weft_arena_release(&arenas[1]);
    }
    closedir(entries);
    return passed;
}

int main(void)
{
    const char *shared = getenv("WEFT_SHARED");
    int failed = 0;
    shared = shared == NULL ? SOURCE_ROOT "/../shared" : shared;
    int programs = check_folder(shared, "msccl", check_program, &failed);
    int topologies = check_folder(shared, "nccl_topo", check_topology, &failed);
    if (programs < 0 && topologies < 0) {
        printf("skipped: no recorded files in %s/inputs\n", shared);
        return 77;
    }
    printf("%d programs, %d topologies pass, %d fail\n", programs, topologies, failed);
    return failed > 0 || programs == 0 || topologies == 0;
}
