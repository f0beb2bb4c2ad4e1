// SPDX-License-Identifier: Apache-2.0
// TopoOpt task graphs: any bytes are either a task graph, which then has a topological order, is
// written and read again without change and whose network holds, or one line of complaint.
//
// Seen to fail on corpus/fbuf/least, cut to 52 bytes, without the bound on a vector's count.

#include "../unit/fbuf_same.h"
#include "fuzz.h"
#include "weft/format.h"
#include "weft/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Routes and rings are tables of the servers squared; small ones keep the fuzzer fast.
#define NETWORK_SERVERS_MAX 64u

static void check_traffic(const struct weft_taskgraph *graph, struct weft_arena arena,
                          struct weft_arena scratch)
{
    struct weft_traffic traffic;
    weft_traffic_build(&traffic, graph, &arena, scratch);
    double *matrix = weft_traffic_matrix(&traffic, &arena);
    double sum = 0;
    for (size_t i = 0; i < (size_t)graph->server_count * graph->server_count; i++) {
        sum += matrix[i];
    }
    double total = traffic.transfer_total_bytes + traffic.allreduce_wire_bytes;
    WEFT_ASSERT(total <= 0x1p63 && fabs(sum - total) <= 1e-9 * total);
    WEFT_ASSERT(traffic.allreduce_share_ratio >= 0 && traffic.allreduce_share_ratio <= 1);
}

static void check_network(const struct weft_fbuf *fbuf, struct weft_arena arena,
                          struct weft_arena scratch)
{
    struct weft_network network;
    struct weft_error error = {.code = WEFT_OK};
    if (!weft_fbuf_network(&network, fbuf, 0, &arena, scratch, &error)) {
        fuzz_check_refusal(&error);
        return;
    }
    for (uint32_t r = 0; r < network.rings.ring_count; r++) {
        const struct weft_ring *ring = &network.rings.rings[r];
        WEFT_ASSERT(ring->share_ratio > 0 && ring->share_ratio <= 1);
        WEFT_ASSERT(ring->hop_first[ring->member_count] >= ring->member_count);
    }
}

static void check_round_trip(const struct weft_fbuf *fbuf, struct weft_arena arena,
                             struct weft_arena scratch)
{
    const char *data = NULL;
    size_t length = 0;
    struct weft_fbuf copy;
    struct weft_error error = {.code = WEFT_OK};
    bool written = weft_fbuf_write(&data, &length, fbuf, &arena, scratch, &error);
    WEFT_ASSERT(written);
    char *exact = malloc(length);
    WEFT_ASSERT(exact != NULL);
    memcpy(exact, data, length);
    bool read = weft_fbuf_read(&copy, exact, length, &arena, scratch, &error);
    WEFT_ASSERT(read);
    WEFT_ASSERT(fbuf_difference(fbuf, &copy) == NULL);
    free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    struct weft_fbuf fbuf = {.node_count = 77};
    if (weft_fbuf_read(&fbuf, data, size, &desk.arena, desk.scratch, &error)) {
        fuzz_check_order(&fbuf.graph, desk.scratch);
        if (fbuf.graph.server_count <= NETWORK_SERVERS_MAX) {
            check_traffic(&fbuf.graph, desk.arena, desk.scratch);
            check_network(&fbuf, desk.arena, desk.scratch);
            check_round_trip(&fbuf, desk.arena, desk.scratch);
        }
    } else {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(fbuf.node_count == 77);
    }
    fuzz_close(&desk);
    return 0;
}
