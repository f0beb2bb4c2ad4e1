// SPDX-License-Identifier: Apache-2.0
// Topologies of other programs: any bytes are either a fabric, or one line of complaint.
//
// Seen to fail when files of less than two servers were taken.

#include "fuzz.h"
#include "weft/format.h"

#define NODES_MAX 2000u // larger ones are read, but their routes are not searched

// The fabric as an InfraGraph, and what is read of that: the same.
static void check_round_trip(const struct weft_fabric *fabric, struct fuzz_desk *desk)
{
    struct weft_error error = {.code = WEFT_OK};
    const struct weft_environment environment = {
        .arena = &desk->arena, .scratch = desk->scratch, .error = &error};
    const char *once = NULL;
    struct weft_topology_file again;
    for (uint32_t v = 0; v < fabric->node_count; v++) {
        if (fabric->first[v] == fabric->first[v + 1]) {
            return; // a node without cables is no part of an InfraGraph
        }
    }
    if (!weft_export_infragraph(&once, fabric, 0, &environment)) {
        fuzz_check_line(&error);
        return;
    }
    WEFT_ASSERT(
        weft_topology_file_read(&again, once, strlen(once), &desk->arena, desk->scratch, &error));
    WEFT_ASSERT(again.kind == WEFT_FILE_INFRAGRAPH);
    WEFT_ASSERT(again.server_count == fabric->server_count);
    WEFT_ASSERT(again.node_count == fabric->node_count);
    uint64_t widths[2] = {0, 0};
    for (uint32_t i = 0; i < fabric->link_count; i++) {
        widths[0] += fabric->links[i].width;
    }
    for (uint32_t i = 0; i < again.link_count; i++) {
        widths[1] += again.links[i].width;
    }
    WEFT_ASSERT(widths[0] == widths[1]);
}

// What was read is a fabric, or its builder says why not; servers alone always are one.
static void check_topology(struct weft_topology_file *topology, struct fuzz_desk *desk)
{
    static struct weft_network network; // stays where it is: its routes point to its fabric
    struct weft_error error = {.code = WEFT_OK};
    struct weft_fabric fabric;
    const struct weft_environment environment = {
        .arena = &desk->arena, .scratch = desk->scratch, .error = &error};
    bool tiers = topology->kind == WEFT_FILE_TIERS;
    WEFT_ASSERT(tiers || topology->server_count >= 2);
    if (topology->server_count > NODES_MAX || topology->node_count > NODES_MAX) {
        return;
    }
    weft_topology_file_fill(topology, 1e9, 1000);
    if (!weft_topology_file_servers(&fabric, topology, &environment)) {
        fuzz_check_line(&error);
    } else {
        check_round_trip(&fabric, desk);
    }
    if (!weft_topology_file_build(&network, topology, &environment)) {
        fuzz_check_line(&error); // INFEASIBLE where it is not joined
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    struct weft_error error = {.code = WEFT_OK};
    struct weft_topology_file topology = {.server_count = 77};
    fuzz_open(&desk);
    WEFT_ASSERT(weft_file_kind_of((const char *)data, size) < WEFT_FILE_KINDS);
    if (weft_topology_file_read(&topology, (const char *)data, size, &desk.arena, desk.scratch,
                                &error)) {
        check_topology(&topology, &desk);
    } else {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(topology.server_count == 77);
    }
    fuzz_close(&desk);
    return 0;
}
