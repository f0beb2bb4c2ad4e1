// SPDX-License-Identifier: Apache-2.0
// Rings and trees that keep to their rails, as NCCL's graphs (docs/nccl.md): channel k comes into a
// server by NIC k, passes all GPUs and leaves by NIC k, so that it meets NIC k of the next server.
//
// A ring's GPUs begin with the last of those next to the NIC and end with the one before it: where
// a NIC has two GPUs or more, both ends are next to it; where each GPU has its own, the last one's
// bytes pass by NVLink to the GPU that has the NIC (PXN), which no ring over all of them can avoid.
// Trees of pattern 3 let one GPU speak to the NIC; where two are next to it, pattern 1 (balanced)
// lets the second serve the second child. Both are the double binary trees of NCCL, which it builds
// from the order of the servers (connectTrees in graph/connect.cc). Patterns as in graph/topo.h,
// what the two NICs of a channel mean as in ncclTopoGetNetDev (graph/search.cc). O(GPUs * NICs).

#include "weft/format.h"

#define PATTERN_BALANCED_TREE 1u
#define PATTERN_TREE 3u
#define PATTERN_RING 4u

// GPUs that are next to NIC `net`: those from *first on, at least one.
static uint32_t near_gpus(uint32_t *first, const struct weft_nccl_rails *rails, uint32_t net)
{
    uint64_t gpus = rails->gpu_count;
    uint64_t nets = rails->net_count;
    uint64_t begin = (net * gpus + nets - 1) / nets;
    uint64_t end = ((net + 1) * gpus + nets - 1) / nets;
    *first = end > begin ? (uint32_t)begin : (uint32_t)(net * gpus / nets);
    return end > begin ? (uint32_t)(end - begin) : 1;
}

// All GPUs in order, from `first` round.
static struct weft_nccl_channel channel_from(const struct weft_nccl_rails *rails, uint32_t net,
                                             uint32_t first, struct weft_arena *arena)
{
    uint32_t *gpus = WEFT_NEW_RAW(arena, uint32_t, rails->gpu_count);
    uint32_t dev = rails->nets != NULL ? rails->nets[net] : net;
    for (uint32_t i = 0; i < rails->gpu_count; i++) {
        uint32_t gpu = (first + i) % rails->gpu_count;
        gpus[i] = rails->gpus != NULL ? rails->gpus[gpu] : gpu;
    }
    return (struct weft_nccl_channel){dev, dev, rails->gpu_count, gpus};
}

static bool check(const struct weft_nccl_rails *rails, struct weft_error *error)
{
    if (rails->net_count > WEFT_NCCL_NETS_MAX) {
        return weft_fail(error, WEFT_INPUT, "%u NICs a server; a graph has at most %u channels",
                         rails->net_count, WEFT_NCCL_NETS_MAX);
    }
    return rails->gpu_count <= WEFT_NCCL_GPUS_MAX ||
           weft_fail(
               error, WEFT_INPUT,
               "%u accelerators a server are several hosts to NCCL, which numbers them itself; "
               "at most %u",
               rails->gpu_count, WEFT_NCCL_GPUS_MAX);
}

bool weft_nccl_rails(struct weft_nccl_graphs *graphs, const struct weft_nccl_rails *rails,
                     struct weft_arena *arena, struct weft_error *error)
{
    WEFT_ASSERT(rails->gpu_count > 0 && rails->net_count > 0);
    if (!check(rails, error)) {
        return false;
    }
    uint32_t nets = rails->net_count;
    struct weft_nccl_channel *rings = WEFT_NEW(arena, struct weft_nccl_channel, nets);
    struct weft_nccl_channel *trees = WEFT_NEW(arena, struct weft_nccl_channel, nets);
    uint32_t least_near = rails->gpu_count;
    for (uint32_t k = 0; k < nets; k++) {
        uint32_t first;
        uint32_t near = near_gpus(&first, rails, k);
        least_near = near < least_near ? near : least_near;
        rings[k] = channel_from(rails, k, first + near - 1, arena);
        trees[k] = channel_from(rails, k, first, arena);
    }
    bool alone = rails->gpu_count == 1;
    bool apart = least_near == 1 && !alone; // a ring's last GPU has another NIC next to it
    const char *inside = rails->linked ? "NVL" : "SYS";
    const struct weft_nccl_graph common = {
        .intra_Bps = rails->rate_Bps,
        .inter_Bps = rails->rate_Bps,
        .intra_type = alone ? "LOC" : inside,
        .same_channels = nets > 1 ? 0 : 1,
        .channel_count = nets,
    };
    struct weft_nccl_graph *both = WEFT_NEW(arena, struct weft_nccl_graph, 2);
    both[0] = common;
    both[0].pattern = PATTERN_RING;
    both[0].inter_type = !apart ? "PIX" : rails->linked ? "PXN" : "SYS";
    both[0].channels = rings;
    both[1] = common;
    both[1].id = 1;
    both[1].pattern = least_near > 1 ? PATTERN_BALANCED_TREE : PATTERN_TREE;
    both[1].inter_type = "PIX";
    both[1].channels = trees;
    *graphs = (struct weft_nccl_graphs){2, both};
    return true;
}
