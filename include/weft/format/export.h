// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_EXPORT_H
#define WEFT_FORMAT_EXPORT_H

// Exports of a plan for other programs: graphviz, optical switches, `ip`, Slurm, TopoOpt's tools,
// InfraGraph, Prometheus (docs/exports.md).

#include "weft/base.h"
#include "weft/fabric.h"
#include "weft/format/fbuf.h"
#include "weft/plan.h"
#include "weft/topology.h"
#include "weft/workload.h"

WEFT_API_BEGIN

// The fabric for graphviz: servers on a circle, a color for each ring, other links dashed.
const char *weft_export_dot(const struct weft_plan *plan, struct weft_arena *arena);
// OCS cross-connects: plane,input_port,output_port,from,to a line; or JSON (weft.circuits/1).
const char *weft_export_circuits_csv(const struct weft_plan *plan, struct weft_arena *arena);
const char *weft_export_circuits_json(const struct weft_plan *plan, struct weft_arena *arena);
// A cabling sheet, a cable a line: label,from_rack,from_device,from_port,to_rack,to_device,to_port,
// length,medium,gbps. Ports that are split are PORT/LANE; the label has both ends.
const char *weft_export_cabling_csv(const struct weft_cabling_sheet *sheet,
                                    struct weft_arena *arena);
// scripts[s] is the `ip` script of server s: addresses, fixed neighbors, and weighted next hops
// for its own traffic and for what passes (weft_routing_next_hops). Fails with UNSUPPORTED beyond
// 65536 servers or 128 ports, and as weft_routing_next_hops does.
bool weft_export_ip_routes(const char *const **scripts, const struct weft_plan *plan,
                           struct weft_arena *arena, struct weft_arena scratch,
                           struct weft_error *error) WEFT_MUST_USE;
// An InfraGraph of a fabric whose servers have so many accelerators (0: one), as YAML. Fails with
// UNSUPPORTED where a link has none like it back. O(links log degree).
bool weft_export_infragraph(const char **text, const struct weft_fabric *fabric,
                            uint32_t accelerators, const struct weft_environment *environment)
    WEFT_MUST_USE;
// The plan's figures as metrics in Prometheus' text format, weft_plan_iteration_seconds and so on.
const char *weft_export_prometheus(const struct weft_plan *plan, struct weft_arena *arena);
// Who is near whom, for Slurm: sets as a tree of switches, or without a nest the blocks.
struct weft_slurm {
    const struct weft_nest *nest;
    const struct weft_blocks *blocks;
    const char *const *names; // of servers; NULL: they count on from
    const char *first_node;   // "node001" (or "node": node0)
    bool conf;                // topology.conf; else topology.yaml of Slurm 25.05 and later
};
// Fails with INPUT where first_node is no name. O(servers).
bool weft_export_slurm(const char **text, const struct weft_slurm *slurm,
                       const struct weft_environment *environment) WEFT_MUST_USE;
// Hosts of a job in the order of their ranks: a hostfile of Open MPI, or names one a line.
struct weft_host {
    const char *name;
    uint32_t slots; // ranks on it; 0 = not said
};
struct weft_hosts {
    uint32_t count; // at least 1
    const struct weft_host *hosts;
};
// Fails with INPUT naming the line. O(length).
bool weft_hosts_read(struct weft_hosts *hosts, const char *data, size_t length,
                     struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
bool weft_hosts_load(struct weft_hosts *hosts, const char *path, struct weft_arena *arena,
                     struct weft_error *error) WEFT_MUST_USE;
// Which servers they are, of server_count that count on from first_node ("node001"). Fails with
// INPUT where a host is none of them or stands there twice.
bool weft_hosts_servers(uint32_t *servers, const struct weft_hosts *hosts, const char *first_node,
                        uint32_t server_count, const struct weft_environment *environment)
    WEFT_MUST_USE;
// The other way round. Fails with INPUT where first_node is no name.
bool weft_hosts_of(struct weft_hosts *hosts, const uint32_t *servers, uint32_t count,
                   const char *first_node, const struct weft_environment *environment)
    WEFT_MUST_USE;
// Text that reads back as the same hosts, with so many slots each (0: as they have), below a
// comment of any number of lines (NULL: none).
const char *weft_hosts_write(const struct weft_hosts *hosts, uint32_t slots, const char *comment,
                             struct weft_arena *arena);
// The task graph with the plan's topology, routes and rings inside. The format has one set of jumps
// for each ring size: where a group's rings are not circulant with equal shares, or differ from
// those of another group of its size, that size is left out and counted in *sizes_left_out; then,
// and where flows divide over paths, all rings stand in ring_words, so that weft_fbuf_network gives
// the plan's network. Fails with INPUT when graph and plan differ in servers or links in rate.
bool weft_export_fbuf(struct weft_fbuf *fbuf, uint32_t *sizes_left_out,
                      const struct weft_plan *plan, const struct weft_taskgraph *graph,
                      const struct weft_environment *environment) WEFT_MUST_USE;
// What TopoOpt's simulator reads of it, and nothing else: rings that are not circulant over all
// servers in their order are left out, so that their groups go round in the order of their members
// by the routes; ReduceScatters and AllGathers are AllReduces of half their bytes. Fails with
// UNSUPPORTED where tasks wait for a collective, and as the function above.
bool weft_export_fbuf_strict(struct weft_fbuf *fbuf, uint32_t *sizes_left_out,
                             const struct weft_plan *plan, const struct weft_taskgraph *graph,
                             const struct weft_environment *environment) WEFT_MUST_USE;

// What launches a strategy of a transformer: words behind torchrun (before the program) and flags
// of Megatron-LM, those of the strategy and those of the model's shape. All NULL for a strategy of
// operators.
struct weft_launch {
    const char *environment; // variables to be set: "NAME=VALUE"; NULL: none
    const char *torchrun;
    const char *megatron;
    const char *model;
    const char *without_flag; // what the strategy has and no flag says, in words; NULL: nothing
};
// O(stages).
struct weft_launch weft_export_launch(const struct weft_strategy *strategy,
                                      const struct weft_model *model,
                                      const struct weft_cluster *cluster, struct weft_arena *arena);

WEFT_API_END

#endif
