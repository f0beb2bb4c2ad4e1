// SPDX-License-Identifier: Apache-2.0
// TopoOpt task graphs: any bytes are either a task graph, which then has a topological order, is
// written and read again without change and whose network holds, or one line of complaint.
//
// Seen to fail on corpus/fbuf/least, cut to 52 bytes, without the bound on a vector's count.

#include "../unit/fbuf_same.h"
#include "fuzz.h"
#include "weft/format.h"
#include "weft/traffic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Routes and rings are tables of the servers squared; small ones keep the fuzzer fast.
#define NETWORK_SERVERS_MAX 64u

static void check_complaint(const struct weft_error *error)
{
    WEFT_ASSERT(error->code == WEFT_INPUT && error->message[0] != '\0');
    WEFT_ASSERT(strpbrk(error->message, "\n\r\x1b") == NULL);
}

static void check_order(const struct weft_taskgraph *graph, struct weft_arena scratch)
{
    uint32_t *order = WEFT_NEW_RAW(&scratch, uint32_t, graph->task_count);
    uint32_t *place = WEFT_NEW_RAW(&scratch, uint32_t, graph->task_count);
    weft_taskgraph_order(graph, order, scratch);
    for (uint32_t i = 0; i < graph->task_count; i++) {
        place[order[i]] = i;
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        for (uint32_t e = graph->next_first[t]; e < graph->next_first[t + 1]; e++) {
            WEFT_ASSERT(place[t] < place[graph->next[e]]);
        }
    }
}

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
        check_complaint(&error);
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
    struct weft_arena arena;
    struct weft_arena scratch;
    struct weft_error error = {.code = WEFT_OK};
    WEFT_ASSERT(weft_arena_init(&arena, (size_t)1 << 30, &error));
    WEFT_ASSERT(weft_arena_init(&scratch, (size_t)1 << 30, &error));
    struct weft_arena all = arena;
    struct weft_arena all_scratch = scratch;
    uint8_t *exact = malloc(size > 0 ? size : 1); // so that the sanitizer sees a byte too far
    WEFT_ASSERT(exact != NULL);
    memcpy(exact, data, size);
    struct weft_fbuf fbuf = {.node_count = 77};
    if (weft_fbuf_read(&fbuf, exact, size, &arena, scratch, &error)) {
        check_order(&fbuf.graph, scratch);
        if (fbuf.graph.server_count <= NETWORK_SERVERS_MAX) {
            check_traffic(&fbuf.graph, arena, scratch);
            check_network(&fbuf, arena, scratch);
            check_round_trip(&fbuf, arena, scratch);
        }
    } else {
        check_complaint(&error);
        WEFT_ASSERT(fbuf.node_count == 77);
    }
    free(exact);
    weft_arena_release(&all);
    weft_arena_release(&all_scratch);
    return 0;
}
