// SPDX-License-Identifier: Apache-2.0
// NCCL's files: any bytes are a topology, graphs or tuner rows that read back as they were written,
// measurements that took time, hosts that read back, or one line of complaint.
//
// Seen to fail on corpus/nccl/graph when devs above 9 were written in decimal.

#include "fuzz.h"
#include "weft/format.h"

#include <string.h>

static void complained(const struct weft_error *error)
{
    WEFT_ASSERT(error->code != WEFT_OK);
    fuzz_check_line(error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    const char *text = (const char *)data;
    struct weft_nccl_topology topology;
    if (weft_nccl_topology_read(&topology, text, size, &desk.arena, desk.scratch, &error)) {
        struct weft_cluster cluster;
        weft_nccl_cluster(&cluster, &topology, 4);
        const char *once = weft_nccl_topology_write(&topology, &desk.arena);
        WEFT_ASSERT(weft_nccl_topology_read(&topology, once, strlen(once), &desk.arena,
                                            desk.scratch, &error));
        WEFT_ASSERT(strcmp(weft_nccl_topology_write(&topology, &desk.arena), once) == 0);
    } else {
        complained(&error);
    }
    struct weft_nccl_graphs graphs;
    if (weft_nccl_graphs_read(&graphs, text, size, &desk.arena, desk.scratch, &error)) {
        const char *once = weft_nccl_graphs_write(&graphs, NULL, &desk.arena);
        WEFT_ASSERT(
            weft_nccl_graphs_read(&graphs, once, strlen(once), &desk.arena, desk.scratch, &error));
        WEFT_ASSERT(strcmp(weft_nccl_graphs_write(&graphs, NULL, &desk.arena), once) == 0);
    } else {
        complained(&error);
    }
    struct weft_nccl_choice *choices = NULL;
    uint32_t count = 0;
    if (weft_nccl_tuner_read(&choices, &count, text, size, &desk.arena, &error)) {
        const char *once = weft_nccl_tuner_write(choices, count, &desk.arena);
        WEFT_ASSERT(
            weft_nccl_tuner_read(&choices, &count, once, strlen(once), &desk.arena, &error));
        WEFT_ASSERT(strcmp(weft_nccl_tuner_write(choices, count, &desk.arena), once) == 0);
    } else {
        complained(&error);
    }
    struct weft_collective_samples samples;
    if (weft_nccl_measured_read(&samples, text, size, &desk.arena, &error)) {
        // A process of Inspector may have had no collective.
        WEFT_ASSERT(samples.count > 0 || memchr(text, '{', size) != NULL);
        for (size_t i = 0; i < samples.count; i++) {
            const struct weft_collective_sample *sample = &samples.samples[i];
            WEFT_ASSERT(sample->seconds > 0 && sample->size_bytes > 0);
            WEFT_ASSERT(sample->server_count <= sample->rank_count || sample->rank_count == 0 ||
                        *text != '#');
        }
    } else {
        complained(&error);
    }
    struct weft_hosts hosts;
    if (weft_hosts_read(&hosts, text, size, &desk.arena, &error)) {
        const char *once = weft_hosts_write(&hosts, 0, NULL, &desk.arena);
        WEFT_ASSERT(weft_hosts_read(&hosts, once, strlen(once), &desk.arena, &error));
        WEFT_ASSERT(strcmp(weft_hosts_write(&hosts, 0, NULL, &desk.arena), once) == 0);
        uint32_t *servers = WEFT_NEW(&desk.arena, uint32_t, hosts.count);
        const struct weft_environment environment = {
            .arena = &desk.arena, .scratch = desk.scratch, .error = &error};
        if (!weft_hosts_servers(servers, &hosts, "gpu001", 64, &environment)) {
            complained(&error);
        }
    } else {
        complained(&error);
    }
    fuzz_close(&desk);
    return 0;
}
