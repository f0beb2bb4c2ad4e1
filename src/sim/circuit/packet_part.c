// SPDX-License-Identifier: Apache-2.0
// The packet fabric beside circuits: by which link each node sends on to each server. Shortest
// paths through switches, found breadth first from each server; links between servers are circuits
// and no part of it. O(servers * (nodes + links)), once for a run.

#include "packet_part.h"

#include <string.h>

// Hops to one server by links of switches, breadth first against their direction: `into` lists the
// links that come to a node, `first` where each node's begin.
static void measure_hops(uint32_t *hops, uint32_t *queue, const struct weft_fabric *fabric,
                         const uint32_t *first, const uint32_t *into, uint32_t to)
{
    memset(hops, 0xff, fabric->node_count * sizeof(*hops)); // WEFT_NONE
    hops[to] = 0;
    queue[0] = to;
    for (uint32_t done = 0, count = 1; done < count; done++) {
        uint32_t node = queue[done];
        if (node < fabric->server_count && node != to) {
            continue; // servers do not forward packets of the packet part
        }
        for (uint32_t i = first[node]; i < first[node + 1]; i++) {
            uint32_t from = fabric->links[into[i]].from;
            if (!sim_is_circuit(fabric, into[i]) && hops[from] == WEFT_NONE) {
                hops[from] = hops[node] + 1;
                queue[count++] = from;
            }
        }
    }
}

// Of the links of a node that lead nearer, one by a hash of where it leads, so that flows to
// different servers are spread over equal paths. WEFT_NONE: none does.
static uint32_t choose_nearer(const struct weft_fabric *fabric, const uint32_t *hops, uint32_t at,
                              uint32_t to)
{
    uint32_t count = 0;
    uint32_t chosen = WEFT_NONE;
    uint64_t hash = weft_hash((uint64_t)to << 32 | at);
    for (uint32_t l = fabric->first[at]; l < fabric->first[at + 1]; l++) {
        uint32_t next = fabric->links[l].to;
        bool ends = next >= fabric->server_count || next == to;
        if (!sim_is_circuit(fabric, l) && ends && hops[at] != WEFT_NONE &&
            hops[next] + 1 == hops[at]) {
            count++;
            hash = weft_hash(hash);
            chosen = hash % count == 0 ? l : chosen; // each of them with the same chance
        }
    }
    return chosen;
}

const uint32_t *sim_packet_part_build(const struct weft_fabric *fabric, struct weft_arena *arena)
{
    if (fabric->node_count == fabric->server_count) {
        return NULL;
    }
    size_t nodes = fabric->node_count;
    uint32_t *table = WEFT_NEW_RAW(arena, uint32_t, nodes * fabric->server_count);
    struct weft_arena scratch = *arena; // what follows is gone on return
    uint32_t *hops = WEFT_NEW_RAW(&scratch, uint32_t, nodes);
    uint32_t *queue = WEFT_NEW_RAW(&scratch, uint32_t, nodes);
    uint32_t *first = WEFT_NEW(&scratch, uint32_t, nodes + 2);
    uint32_t *into = WEFT_NEW_RAW(&scratch, uint32_t, fabric->link_count);
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        first[fabric->links[l].to + 2]++;
    }
    for (uint32_t v = 0; v < nodes; v++) {
        first[v + 2] += first[v + 1];
    }
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        into[first[fabric->links[l].to + 1]++] = l;
    }
    for (uint32_t to = 0; to < fabric->server_count; to++) {
        measure_hops(hops, queue, fabric, first, into, to);
        for (uint32_t at = 0; at < nodes; at++) {
            table[at * fabric->server_count + to] =
                at == to ? WEFT_NONE : choose_nearer(fabric, hops, at, to);
        }
    }
    return table;
}
