// SPDX-License-Identifier: Apache-2.0
// A region with something failed: fewer ports of its first server, or a spare GPU or server that
// takes the place of one and is reached over packets alone (MixNet, SIGCOMM 2025, section 5). The
// circuits of the others are chosen anew for what is left. A spare serves many regions and stands
// in none, so that all its NICs are on packets; alike is one that is cabled as the others.

#include "plan/mixnet/mixnet.h"

#include <string.h>

const char *weft_mixnet_fault_name(enum weft_mixnet_fault fault)
{
    static const char *const names[] = {"none", "packet-nic", "circuit-nic",
                                        "gpu",  "server",     "server-alike"};
    WEFT_ASSERT(fault < WEFT_FAULT_COUNT);
    return names[fault];
}

// The last node, a server with the spare GPU, takes an even share of the first server's load.
static void spare_gpu(double *bytes, uint32_t n, uint32_t per_server)
{
    double share = 1.0 / per_server;
    double own = bytes[0];
    for (uint32_t j = 1; j + 1 < n; j++) {
        bytes[(size_t)(n - 1) * n + j] = share * bytes[j];
        bytes[(size_t)j * n + n - 1] = share * bytes[(size_t)j * n];
        bytes[j] *= 1 - share;
        bytes[(size_t)j * n] *= 1 - share;
    }
    bytes[n - 1] = share * (1 - share) * own;
    bytes[(size_t)(n - 1) * n] = share * (1 - share) * own;
}

void weft_mixnet_demand(double *bytes, const double *loads, const struct weft_mixnet_region *region,
                        struct weft_arena scratch)
{
    uint32_t servers = region->exchange->servers;
    double copies_bytes = region->exchange->copies_bytes;
    if (region->node_count == servers) {
        weft_experts_demand(bytes, loads, region->trace, servers, copies_bytes);
        return;
    }
    uint32_t n = region->node_count;
    double *healthy = WEFT_NEW(&scratch, double, (size_t)servers *servers);
    weft_experts_demand(healthy, loads, region->trace, servers, copies_bytes);
    memset(bytes, 0, (size_t)n * n * sizeof *bytes);
    for (uint32_t i = 0; i < servers; i++) {
        memcpy(bytes + (size_t)i * n, healthy + (size_t)i * servers, servers * sizeof *bytes);
    }
    spare_gpu(bytes, n, region->per_server);
}

void weft_mixnet_set_ports(struct weft_split_options *split,
                           const struct weft_mixnet_region *region, struct weft_arena *arena)
{
    uint32_t n = region->node_count;
    if (region->fault == WEFT_FAULT_NONE) {
        return;
    }
    uint32_t *circuits = WEFT_NEW(arena, uint32_t, n);
    double *packets = WEFT_NEW(arena, double, n);
    for (uint32_t i = 0; i < n; i++) {
        circuits[i] = split->circuit_ports;
        packets[i] = split->packet_ports;
    }
    if (region->fault == WEFT_FAULT_PACKET_NIC) {
        packets[0] -= 1;
    } else if (region->fault == WEFT_FAULT_CIRCUIT_NIC) {
        circuits[0] -= 1;
    } else {
        uint32_t spare = region->fault == WEFT_FAULT_GPU ? n - 1 : 0;
        circuits[spare] = 0;
        packets[spare] += region->fault == WEFT_FAULT_ALIKE ? 0 : split->circuit_ports;
    }
    split->node_circuits = circuits;
    split->node_packets = packets;
}
