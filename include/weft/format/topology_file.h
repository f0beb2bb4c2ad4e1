// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_TOPOLOGY_FILE_H
#define WEFT_FORMAT_TOPOLOGY_FILE_H

// Topologies that other programs describe, one reader a family (docs/loads.md):
//
//   htsim's tiers (.topo); SimAI, HPCC and ASTRA-sim's ns-3 ("216 8 16 72 768 A100"); Slurm's
//   topology.conf and topology.yaml; InfraGraph; GraphML; lists of edges
//
// What a file is, its first lines say, not its name.

#include "weft/base.h"
#include "weft/fabric.h"
#include "weft/format/file.h"

WEFT_API_BEGIN

// Nodes and cables of a file: servers first, then switches, each in the file's order. A cable that
// works both ways is two links. Where the file has no rate, rate_Bps is 0 and `width` says how many
// cables it stands for; where it has no latency, latency_ps is WEFT_NEVER. weft_topology_file_fill
// gives them.
struct weft_topology_file {
    enum weft_file_kind kind; // a topology
    struct weft_tiers tiers;  // of TIERS, where nothing else is set but the servers
    uint32_t server_count;
    uint32_t node_count;
    const char *const *names; // of nodes
    uint32_t link_count;
    struct weft_link *links;
    uint32_t unrated_count;   // links without a rate
    uint32_t undelayed_count; // links without a latency
    // Servers here are accelerators, so many to a server, in order, joined inside it by a switch of
    // its own: nodes server_count .. server_count + servers - 1. 1 = they are servers.
    uint32_t accelerators;
    bool both_ways;       // of a list of edges: it has each in both directions
    bool assumes_uplinks; // of Slurm's: widths are assumed, every switch passes on all below it
    bool has_blocks;      // of Slurm's: its first switches are blocks
};

// Fails with INPUT naming line and place, or what the bytes are instead. O(bytes).
bool weft_topology_file_read(struct weft_topology_file *topology, const char *data, size_t length,
                             struct weft_arena *arena, struct weft_arena scratch,
                             struct weft_error *error) WEFT_MUST_USE;
bool weft_topology_file_load(struct weft_topology_file *topology, const char *path,
                             struct weft_arena *arena, struct weft_arena scratch,
                             struct weft_error *error) WEFT_MUST_USE;
// Gives cables without a rate or a latency those. O(links).
void weft_topology_file_fill(struct weft_topology_file *topology, double rate_Bps,
                             uint64_t latency_ps);
// The fabric and all its paths of fewest hops; servers forward only where there are no switches, or
// where accelerators pass on inside their server. Rates must be there. Fails as
// weft_fabric_build and weft_routes_build_shortest do. The network must stay where it was built.
bool weft_topology_file_build(struct weft_network *network,
                              const struct weft_topology_file *topology,
                              const struct weft_environment *environment) WEFT_MUST_USE;

// The same without routes, and with servers where the file has accelerators: what is inside them is
// left out. O(links).
bool weft_topology_file_servers(struct weft_fabric *fabric,
                                const struct weft_topology_file *topology,
                                const struct weft_environment *environment) WEFT_MUST_USE;

WEFT_API_END

#endif
