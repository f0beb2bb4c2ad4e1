// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_NCCL_H
#define WEFT_FORMAT_NCCL_H

// NCCL's files: topology and graphs (XML), choices of its tuner (CSV): docs/nccl.md.

#include "weft/base.h"
#include "weft/cluster.h"
#include "weft/collective.h"
#include "weft/plan.h"

WEFT_API_BEGIN

struct weft_nccl_gpu {
    const char *busid;
    const char *model; // "A100", "MI300X", "gfx90a" (AMD's others), or "" = not stated
    uint32_t dev;
    uint32_t cpu;        // index of the CPU above it
    double pcie_Bps;     // of its slot, as NCCL counts it
    uint32_t link_count; // NVLink, xGMI or C2C links, all together
};
struct weft_nccl_net {
    const char *name;
    const char *busid; // "" = not stated
    uint32_t dev;
    uint32_t port;
    uint32_t cpu;
    double rate_Bps; // 0 = not stated
    double pcie_Bps; // 0 = not stated
    bool gdr;
};
struct weft_nccl_link {
    uint32_t gpu;       // index
    const char *target; // busid of the other end
    uint32_t count;
    const char *kind; // "nvlink", "xgmi", "c2c"
};
struct weft_nccl_topology {
    uint32_t cpu_count;
    uint32_t gpu_count;
    const struct weft_nccl_gpu *gpus; // PCI devices of the classes where no <gpu> stands
    uint32_t net_count;
    const struct weft_nccl_net *nets; // the same
    uint32_t link_count;
    const struct weft_nccl_link *links;
};
// One server, as NCCL_TOPO_DUMP_FILE writes it or NCCL_TOPO_FILE takes it, of NVIDIA's or AMD's
// library. Fails with INPUT naming the line. O(length).
bool weft_nccl_topology_read(struct weft_nccl_topology *topology, const char *data, size_t length,
                             struct weft_arena *arena, struct weft_arena scratch,
                             struct weft_error *error) WEFT_MUST_USE;
bool weft_nccl_topology_load(struct weft_nccl_topology *topology, const char *path,
                             struct weft_arena *arena, struct weft_arena scratch,
                             struct weft_error *error) WEFT_MUST_USE;
// Text that reads back as the same topology. PCI switches are not kept.
const char *weft_nccl_topology_write(const struct weft_nccl_topology *topology,
                                     struct weft_arena *arena);
// Servers of that kind as a cluster: a port for each net, at the slowest one's rate, or at what its
// PCI slot carries where no rate is stated. degree or rate_Bps 0 where the file tells neither:
// weft_cluster_check refuses it then.
void weft_nccl_cluster(struct weft_cluster *cluster, const struct weft_nccl_topology *topology,
                       uint32_t server_count);
// A server of a cluster, with bus ids made up.
void weft_nccl_server(struct weft_nccl_topology *topology, const struct weft_cluster *cluster,
                      struct weft_arena *arena);

struct weft_nccl_channel {
    uint32_t net_in; // devs; WEFT_NONE = none
    uint32_t net_out;
    uint32_t gpu_count;
    const uint32_t *gpus; // devs, in the order of the ring or chain
};
struct weft_nccl_graph {
    uint32_t id;      // 0 ring, 1 tree, 2 collnet, 3 nvls, 4 collnet direct
    uint32_t pattern; // 1 balanced tree, 2 split tree, 3 tree, 4 ring, 5 nvls, 6 collnet direct
    uint32_t cross_nic;
    double intra_Bps; // of a channel
    double inter_Bps;
    const char *intra_type; // "NVL", "PIX", "SYS", ...
    const char *inter_type;
    uint32_t same_channels;
    uint32_t channel_count;
    const struct weft_nccl_channel *channels;
};
struct weft_nccl_graphs {
    uint32_t graph_count;
    const struct weft_nccl_graph *graphs;
};
// What NCCL_GRAPH_FILE takes. Fails with INPUT naming the line. O(length).
bool weft_nccl_graphs_read(struct weft_nccl_graphs *graphs, const char *data, size_t length,
                           struct weft_arena *arena, struct weft_arena scratch,
                           struct weft_error *error) WEFT_MUST_USE;
bool weft_nccl_graphs_load(struct weft_nccl_graphs *graphs, const char *path,
                           struct weft_arena *arena, struct weft_arena scratch,
                           struct weft_error *error) WEFT_MUST_USE;
// Whether NCCL can go round by them: every channel of every graph passes the same GPUs, each once,
// and comes and goes by a NIC where one of them does. "" = it can, else why not, in `arena`.
// O(channels * GPUs).
const char *weft_nccl_graphs_fault(const struct weft_nccl_graphs *graphs, struct weft_arena *arena);
const char *weft_nccl_graphs_write(const struct weft_nccl_graphs *graphs, const char *comment,
                                   struct weft_arena *arena);

// A plan's rings as NCCL's channels. NCCL goes round the servers in one order in all channels, that
// of the ranks: rings of the plan's largest group that go as ring `ring` does become channels of
// graphs 0 and 1, the others cannot be said.
struct weft_nccl_rings {
    struct weft_nccl_graphs graphs;
    uint32_t server_count;
    const uint32_t *servers; // order in which ranks must be given to servers
    uint32_t ring_count;     // of that group
    uint32_t channel_count;  // of them, as channels
    bool uniform;            // one file serves all servers
};
// For server `server` (its ports). Fails with INPUT: no rings, no such ring, a server that is not
// in the group, a hop that is no single link.
bool weft_nccl_rings(struct weft_nccl_rings *rings, const struct weft_plan *plan, uint32_t ring,
                     uint32_t server, struct weft_arena *arena, struct weft_error *error)
    WEFT_MUST_USE;

// A server whose NICs are rails, as NCCL's channels: one ring for each NIC, which comes and goes by
// it, and one tree. Servers are alike, so that one file serves all.
struct weft_nccl_rails {
    uint32_t gpu_count;
    const uint32_t *gpus; // devs; NULL = 0, 1, ...
    uint32_t net_count;
    const uint32_t
        *nets;       // devs by rail; NULL = 0, 1, ...; NIC k is next to GPU k gpu_count / net_count
    double rate_Bps; // of a NIC
    bool linked;     // GPUs of a server by NVLink or xGMI; else by PCI alone
};
#define WEFT_NCCL_NETS_MAX 32u // NCCL's MAXCHANNELS, which newer versions have doubled
#define WEFT_NCCL_GPUS_MAX 16u // of a host; what has more is several hosts to NCCL
// Graphs 0 and 1. Fails with INPUT beyond these, naming what there is.
bool weft_nccl_rails(struct weft_nccl_graphs *graphs, const struct weft_nccl_rails *rails,
                     struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;

// A row of the CSV that NCCL's example tuner plugin takes (NCCL_TUNER_CONFIG_FILE).
struct weft_nccl_choice {
    enum weft_collective_kind kind; // not ALLTOALL
    uint64_t size_min_bytes;
    uint64_t size_max_bytes;
    const char *algorithm; // tree ring collnet_direct collnet_chain nvls nvls_tree pat
    const char *protocol;  // ll ll128 simple
    int32_t channels;      // -1 = the default
    int32_t node_count;    // -1 = any; the same below
    int32_t rank_count;
    int32_t pipe_ops;
    int32_t registered; // 0, 1
};
// Fails with INPUT naming the line. O(length).
bool weft_nccl_tuner_read(struct weft_nccl_choice **choices, uint32_t *count, const char *data,
                          size_t length, struct weft_arena *arena, struct weft_error *error)
    WEFT_MUST_USE;
const char *weft_nccl_tuner_write(const struct weft_nccl_choice *choices, uint32_t count,
                                  struct weft_arena *arena);

// What the programs of nccl-tests print (all_reduce_perf and others, RCCL's too), or a file of
// NCCL's Inspector (a JSON object a line). Where nccl-tests does not say them, kind is KIND_COUNT
// and rank_count 0. Fails with INPUT naming the line. O(length).
bool weft_nccl_measured_read(struct weft_collective_samples *samples, const char *data,
                             size_t length, struct weft_arena *arena, struct weft_error *error)
    WEFT_MUST_USE;

WEFT_API_END

#endif
