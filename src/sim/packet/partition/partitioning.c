// SPDX-License-Identifier: Apache-2.0
// Divides a fabric into partitions: servers in order of their numbers, switches with the nodes
// below them. The lookahead is the largest threshold below which all links may stay inside a
// partition, found by bisection over the links' latencies.

#include "partitioning.h"

#include "weft/base/sets.h"

#include <stdlib.h>
#include <string.h>

// A partition may have so many more servers than its share.
#define EXCESS_RATIO 0.25
// Where packets never change partition, partitions meet this often.
#define LOOKAHEAD_MAX_PS ((uint64_t)1 << 40)

struct partitioner {
    const struct weft_fabric *fabric;
    uint32_t partition_count;
    uint32_t *level;         // per node: links to the nearest server
    struct weft_sets joined; // nodes that links below the threshold join
    uint8_t *root_partition;
    bool *is_placed;    // per root
    uint8_t *partition; // per node
    uint64_t *sums; // per root: of the partitions of nodes below its nodes, and how many these are
    uint32_t *counts;
    uint32_t level_count;
};

static void find_levels(struct partitioner *partitioner)
{
    const struct weft_fabric *fabric = partitioner->fabric;
    for (uint32_t v = 0; v < fabric->node_count; v++) {
        partitioner->level[v] = v < fabric->server_count ? 0 : UINT32_MAX;
    }
    bool more = true;
    uint32_t level = 0;
    for (; more; level++) {
        more = false;
        for (uint32_t l = 0; l < fabric->link_count; l++) {
            const struct weft_link *link = &fabric->links[l];
            if (partitioner->level[link->from] == level &&
                partitioner->level[link->to] == UINT32_MAX) {
                partitioner->level[link->to] = level + 1;
                more = true;
            }
        }
    }
    partitioner->level_count = level;
}

static void join_near(struct partitioner *partitioner, uint64_t threshold_ps)
{
    const struct weft_fabric *fabric = partitioner->fabric;
    weft_sets_reset(&partitioner->joined);
    for (uint32_t v = 0; v < fabric->node_count; v++) {
        partitioner->is_placed[v] = false;
        partitioner->sums[v] = 0;
        partitioner->counts[v] = 0;
    }
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        const struct weft_link *link = &fabric->links[l];
        if (link->latency_ps < threshold_ps) {
            weft_sets_join(&partitioner->joined, link->from, link->to);
        }
    }
}

// Servers in order; what is joined goes with its first one. False: a partition has none or too
// many.
static bool place_servers(struct partitioner *partitioner)
{
    uint32_t server_count = partitioner->fabric->server_count;
    uint32_t counts[PACKET_PARTITIONS_MAX] = {0};
    for (uint32_t v = 0; v < server_count; v++) {
        uint32_t root = weft_sets_find(&partitioner->joined, v);
        if (!partitioner->is_placed[root]) {
            partitioner->is_placed[root] = true;
            partitioner->root_partition[root] =
                (uint8_t)((uint64_t)v * partitioner->partition_count / server_count);
        }
        partitioner->partition[v] = partitioner->root_partition[root];
        counts[partitioner->partition[v]]++;
    }
    double most = (double)server_count / partitioner->partition_count * (1 + EXCESS_RATIO) + 1;
    for (uint32_t p = 0; p < partitioner->partition_count; p++) {
        if (counts[p] == 0 || counts[p] > most) {
            return false;
        }
    }
    return true;
}

// Level by level, a switch goes where the nodes below it are on average.
static void place_switches(struct partitioner *partitioner)
{
    const struct weft_fabric *fabric = partitioner->fabric;
    for (uint32_t level = 1; level < partitioner->level_count; level++) {
        for (uint32_t l = 0; l < fabric->link_count; l++) {
            const struct weft_link *link = &fabric->links[l];
            if (partitioner->level[link->to] == level &&
                partitioner->level[link->from] + 1 == level) {
                uint32_t root = weft_sets_find(&partitioner->joined, link->to);
                partitioner->sums[root] += partitioner->partition[link->from];
                partitioner->counts[root]++;
            }
        }
        for (uint32_t v = fabric->server_count; v < fabric->node_count; v++) {
            uint32_t root = weft_sets_find(&partitioner->joined, v);
            if (partitioner->level[v] != level) {
                continue;
            }
            if (!partitioner->is_placed[root]) {
                partitioner->is_placed[root] = true;
                partitioner->root_partition[root] =
                    (uint8_t)((partitioner->sums[root] + partitioner->counts[root] / 2) /
                              partitioner->counts[root]);
            }
            partitioner->partition[v] = partitioner->root_partition[root];
        }
    }
    for (uint32_t v = 0; v < fabric->node_count; v++) { // what no link leads to, too
        uint32_t root = weft_sets_find(&partitioner->joined, v);
        partitioner->partition[v] =
            partitioner->is_placed[root] ? partitioner->root_partition[root] : 0;
    }
}

// Whose the queues are: of a server or what near links lead to, all its own; between switches of
// the one nearer to servers.
static void place_links(const struct partitioner *partitioner, uint64_t threshold_ps,
                        uint8_t *owner, bool *is_anchored)
{
    const struct weft_fabric *fabric = partitioner->fabric;
    for (uint32_t v = 0; v < fabric->node_count; v++) {
        is_anchored[v] = v < fabric->server_count;
    }
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        const struct weft_link *link = &fabric->links[l];
        is_anchored[link->to] |= link->latency_ps < threshold_ps;
    }
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        const struct weft_link *link = &fabric->links[l];
        bool is_from = is_anchored[link->from] ||
                       partitioner->level[link->from] <= partitioner->level[link->to];
        owner[l] = partitioner->partition[is_from ? link->from : link->to];
    }
}

static uint64_t find_lookahead(const struct weft_fabric *fabric, const uint8_t *owner,
                               const uint8_t *far, struct weft_arena scratch)
{
    uint32_t *owners = WEFT_NEW(&scratch, uint32_t, fabric->node_count); // of links from it, a mask
    uint64_t lookahead_ps = LOOKAHEAD_MAX_PS;
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        owners[fabric->links[l].from] |= 1u << owner[l];
    }
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        const struct weft_link *link = &fabric->links[l];
        bool changes = (owners[link->to] & ~(1u << owner[l])) != 0 ||
                       (link->to < fabric->server_count && far[l] != owner[l]);
        if (changes && link->latency_ps < lookahead_ps) {
            lookahead_ps = link->latency_ps;
        }
    }
    return lookahead_ps;
}

static int compare_times(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// The largest latency below which all may stay together; 0: none.
static uint64_t find_threshold(struct partitioner *partitioner, struct weft_arena scratch)
{
    const struct weft_fabric *fabric = partitioner->fabric;
    uint64_t *latency_ps = WEFT_NEW_RAW(&scratch, uint64_t, fabric->link_count);
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        latency_ps[l] = fabric->links[l].latency_ps;
    }
    qsort(latency_ps, fabric->link_count, sizeof *latency_ps, compare_times);
    uint32_t low = 0;
    uint32_t high = fabric->link_count;
    while (low < high) { // those before `low` do, `high` and those behind it do not
        uint32_t middle = low + (high - low) / 2;
        join_near(partitioner, latency_ps[middle]);
        if (place_servers(partitioner)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low == 0 ? 0 : latency_ps[low - 1];
}

bool packet_partitioning_build(struct packet_partitioning *partitioning,
                               const struct weft_fabric *fabric, uint32_t partition_count,
                               struct weft_arena *arena, struct weft_arena scratch)
{
    WEFT_ASSERT(partition_count >= 2 && partition_count <= PACKET_PARTITIONS_MAX);
    uint32_t nodes = fabric->node_count;
    uint8_t *partition = WEFT_NEW(arena, uint8_t, nodes);
    uint8_t *owner = WEFT_NEW_RAW(arena, uint8_t, fabric->link_count);
    uint8_t *far = WEFT_NEW_RAW(arena, uint8_t, fabric->link_count);
    struct partitioner partitioner = {
        .fabric = fabric,
        .partition_count = partition_count,
        .partition = partition,
        .level = WEFT_NEW_RAW(&scratch, uint32_t, nodes),
        .joined = weft_sets_build(nodes, &scratch),
        .root_partition = WEFT_NEW_RAW(&scratch, uint8_t, nodes),
        .is_placed = WEFT_NEW_RAW(&scratch, bool, nodes),
        .sums = WEFT_NEW_RAW(&scratch, uint64_t, nodes),
        .counts = WEFT_NEW_RAW(&scratch, uint32_t, nodes),
    };
    if (fabric->server_count < partition_count) {
        return false;
    }
    uint64_t threshold_ps = find_threshold(&partitioner, scratch);
    if (threshold_ps == 0) {
        return false;
    }
    join_near(&partitioner, threshold_ps);
    WEFT_ASSERT(place_servers(&partitioner));
    find_levels(&partitioner);
    place_switches(&partitioner);
    place_links(&partitioner, threshold_ps, owner, WEFT_NEW_RAW(&scratch, bool, nodes));
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        far[l] = partition[fabric->links[l].to];
    }
    *partitioning = (struct packet_partitioning){
        partition_count, find_lookahead(fabric, owner, far, scratch), owner, far, partition};
    WEFT_ASSERT(partitioning->lookahead_ps >= threshold_ps ||
                partitioning->lookahead_ps == LOOKAHEAD_MAX_PS);
    return true;
}
