// SPDX-License-Identifier: Apache-2.0
// A plan's rings as NCCL's channels: which NIC each enters and leaves a server by, and the GPUs
// in between.
//
// NCCL visits the servers in one order in all channels, that of the ranks, so only rings that
// go as the chosen one does can be said; the others are counted and left out. O(members of
// rings).

#include "weft/format.h"

#define CHANNELS_MAX 32u

// The largest group with rings, the first of equals; rings of a group stand together.
static uint32_t largest_group(uint32_t *count, const struct weft_ring_set *set)
{
    uint32_t first = 0;
    *count = 0;
    for (uint32_t r = 0; r < set->ring_count; r++) {
        if (*count == 0 || set->rings[r].member_count > set->rings[first].member_count) {
            first = r;
            *count = 1;
        } else if (set->rings[r].group == set->rings[first].group) {
            ++*count;
        }
    }
    return first;
}

static uint32_t position_of(const struct weft_ring *ring, uint32_t server)
{
    for (uint32_t i = 0; i < ring->member_count; i++) {
        if (ring->members[i] == server) {
            return i;
        }
    }
    return WEFT_NONE;
}

static bool same_order(const struct weft_ring *a, const struct weft_ring *b)
{
    uint32_t n = a->member_count;
    uint32_t shift = position_of(b, a->members[0]);
    for (uint32_t i = 0; i < n && shift != WEFT_NONE; i++) {
        if (a->members[i] != b->members[(shift + i) % n]) {
            return false;
        }
    }
    return shift != WEFT_NONE;
}

// The nth interface of `from` that is joined to `to`, in order; WEFT_NONE when there are fewer.
static uint32_t port_to(const struct weft_topology *topology, uint32_t from, uint32_t to,
                        uint32_t nth)
{
    for (uint32_t p = 0; p < topology->degree; p++) {
        if (topology->planes[(size_t)p * topology->server_count + from] == to && nth-- == 0) {
            return p;
        }
    }
    return WEFT_NONE;
}

// How many interfaces join every server of a ring to the next.
static uint32_t lanes_of(const struct weft_topology *topology, const struct weft_ring *ring)
{
    uint32_t least = topology->degree;
    for (uint32_t i = 0; i < ring->member_count; i++) {
        uint32_t next = ring->members[(i + 1) % ring->member_count];
        uint32_t lanes = 0;
        while (port_to(topology, ring->members[i], next, lanes) != WEFT_NONE) {
            lanes++;
        }
        least = lanes < least ? lanes : least;
    }
    return least;
}

// Channel c at position i: the plane that comes in and the one that goes out.
static void find_ports(uint32_t *in, uint32_t *out, const struct weft_topology *topology,
                       const struct weft_ring *ring, uint32_t i, uint32_t c)
{
    uint32_t n = ring->member_count;
    uint32_t here = ring->members[i];
    *in = port_to(topology, ring->members[(i + n - 1) % n], here, c);
    *out = port_to(topology, here, ring->members[(i + 1) % n], c);
    WEFT_ASSERT(*in != WEFT_NONE && *out != WEFT_NONE);
}

static bool is_uniform(const struct weft_topology *topology, const struct weft_ring *ring,
                       uint32_t channel_count)
{
    for (uint32_t c = 0; c < channel_count; c++) {
        uint32_t first_in;
        uint32_t first_out;
        find_ports(&first_in, &first_out, topology, ring, 0, c);
        for (uint32_t i = 1; i < ring->member_count; i++) {
            uint32_t in;
            uint32_t out;
            find_ports(&in, &out, topology, ring, i, c);
            if (in != first_in || out != first_out) {
                return false;
            }
        }
    }
    return true;
}

// GPUs in order from the one whose share of the NICs the channel enters by.
static const uint32_t *order_gpus(uint32_t gpu_count, uint32_t net, uint32_t degree,
                                  struct weft_arena *arena)
{
    uint32_t *gpus = WEFT_NEW_RAW(arena, uint32_t, gpu_count);
    uint32_t first = (uint32_t)((uint64_t)net * gpu_count / degree);
    for (uint32_t g = 0; g < gpu_count; g++) {
        gpus[g] = (first + g) % gpu_count;
    }
    return gpus;
}

bool weft_nccl_rings(struct weft_nccl_rings *rings, const struct weft_plan *plan, uint32_t ring,
                     uint32_t server, struct weft_arena *arena, struct weft_error *error)
{
    const struct weft_ring_set *set = &plan->network.rings;
    const struct weft_topology *topology = &plan->topology;
    uint32_t count;
    uint32_t first = largest_group(&count, set);
    if (ring >= count) {
        return weft_fail(error, WEFT_INPUT, "ring %u: the plan's largest group has %u rings%s",
                         ring, count, count == 0 ? "; plan a job with AllReduces" : "");
    }
    const struct weft_ring *chosen = &set->rings[first + ring];
    uint32_t position = position_of(chosen, server);
    if (position == WEFT_NONE) {
        return weft_fail(error, WEFT_INPUT, "server %u is not in the plan's largest group", server);
    }
    uint32_t lanes = lanes_of(topology, chosen);
    if (lanes == 0) {
        return weft_fail(error, WEFT_INPUT,
                         "ring %u goes over relays, which channels cannot say; choose another ring",
                         ring);
    }
    uint32_t alike = 0;
    for (uint32_t r = 0; r < count; r++) {
        alike += same_order(chosen, &set->rings[first + r]) ? 1 : 0;
    }
    // A ring more in the same order takes a parallel interface where there is one.
    uint32_t channel_count = alike < lanes ? alike : lanes;
    channel_count = channel_count < CHANNELS_MAX ? channel_count : CHANNELS_MAX;
    uint32_t gpu_count =
        plan->cluster.accelerators_per_server > 0 ? plan->cluster.accelerators_per_server : 1;
    struct weft_nccl_channel *channels = WEFT_NEW(arena, struct weft_nccl_channel, channel_count);
    uint32_t crosses = 0;
    for (uint32_t c = 0; c < channel_count; c++) {
        find_ports(&channels[c].net_in, &channels[c].net_out, topology, chosen, position, c);
        channels[c].gpu_count = gpu_count;
        channels[c].gpus = order_gpus(gpu_count, channels[c].net_in, topology->degree, arena);
        crosses |= channels[c].net_in != channels[c].net_out ? 1 : 0;
    }
    struct weft_nccl_graph *graphs = WEFT_NEW(arena, struct weft_nccl_graph, 2);
    graphs[0] = (struct weft_nccl_graph){.id = 0,
                                         .pattern = 4,
                                         .cross_nic = crosses,
                                         .intra_Bps = plan->cluster.rate_Bps,
                                         .inter_Bps = plan->cluster.rate_Bps,
                                         .intra_type = gpu_count > 1 ? "NVL" : "LOC",
                                         .inter_type = "PIX",
                                         .same_channels = channel_count > 1 ? 0 : 1,
                                         .channel_count = channel_count,
                                         .channels = channels};
    graphs[1] = graphs[0];
    graphs[1].id = 1;
    graphs[1].pattern = 3;
    *rings = (struct weft_nccl_rings){
        .graphs = {2, graphs},
        .server_count = chosen->member_count,
        .servers = chosen->members,
        .ring_count = count,
        .channel_count = channel_count,
        .uniform = is_uniform(topology, chosen, channel_count),
    };
    return true;
}
