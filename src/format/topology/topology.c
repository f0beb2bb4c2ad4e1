// SPDX-License-Identifier: Apache-2.0
// Topologies of other programs in: what the file is, its family's reader, and the fabric that comes
// of it with all paths of fewest hops. O(bytes); the routes as weft_routes_build_shortest.

#include "draft.h"
#include "weft/format/file.h"
#include "weft/format/htsim.h"

bool weft_topology_file_read(struct weft_topology_file *topology, const char *data, size_t length,
                             struct weft_arena *arena, struct weft_arena scratch,
                             struct weft_error *error)
{
    static bool (*const readers[])(struct weft_topology_file * topology, struct draft * draft,
                                   const char *data, size_t length) = {
        [WEFT_FILE_HOSTS] = topology_read_hosts,
        [WEFT_FILE_SLURM] = topology_read_slurm,
        [WEFT_FILE_INFRAGRAPH] = topology_read_infragraph,
        [WEFT_FILE_GRAPHML] = topology_read_graphml,
        [WEFT_FILE_EDGES] = topology_read_edges,
    };
    enum weft_file_kind kind = weft_file_kind_of(data, length);
    struct draft draft = {.arena = arena, .scratch = &scratch, .error = error};
    if (!weft_file_is_topology(kind)) {
        bool known = kind != WEFT_FILE_UNKNOWN;
        return weft_fail(error, WEFT_INPUT,
                         "%s%s, no topology; give one of htsim, SimAI, HPCC, Slurm, InfraGraph, "
                         "GraphML, or a list of edges",
                         known ? "this is " : "", weft_file_kind_name(kind));
    }
    struct weft_topology_file read = {.kind = kind, .accelerators = 1};
    if (!(read.kind == WEFT_FILE_TIERS ? weft_topo_read(&read.tiers, data, length, error)
                                       : readers[read.kind](&read, &draft, data, length))) {
        return false;
    }
    read.server_count = read.kind == WEFT_FILE_TIERS ? read.tiers.server_count : read.server_count;
    *topology = read;
    return true;
}

bool weft_topology_file_load(struct weft_topology_file *topology, const char *path,
                             struct weft_arena *arena, struct weft_arena scratch,
                             struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    if (!weft_file_load(&data, &length, path, 0, &scratch, error)) {
        return false;
    }
    return weft_topology_file_read(topology, data, length, arena, scratch, error) ||
           weft_wrap(error, "%s", path);
}

void weft_topology_file_fill(struct weft_topology_file *topology, double rate_Bps,
                             uint64_t latency_ps)
{
    for (uint32_t i = 0; i < topology->link_count; i++) {
        struct weft_link *link = &topology->links[i];
        if (!(link->rate_Bps > 0)) {
            link->rate_Bps = rate_Bps * link->width;
        }
        if (link->latency_ps == WEFT_NEVER) {
            link->latency_ps = latency_ps;
        }
    }
    topology->unrated_count = 0;
    topology->undelayed_count = 0;
}
