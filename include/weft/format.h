// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_H
#define WEFT_FORMAT_H

// Formats: every file Weft reads or writes; one file of src/format each. Values in, values out:
// nothing here decides or simulates. Readers take bytes (fuzzable); *_load and *_save add the file.
// Every reader bounds each count by the bytes that are left before it allocates, and fails with one
// line that names the place and the remedy.

#include "weft/base.h"
#include "weft/cluster.h"
#include "weft/collective.h"
#include "weft/fabric.h"
#include "weft/interleave.h"
#include "weft/model.h"
#include "weft/plan.h"
#include "weft/scheduler.h"
#include "weft/sim.h"
#include "weft/workload.h"

// ---- files ----

// Reads a whole file (at most limit_bytes; 0 = 4 GiB). "-" is stdin. IO or INPUT.
bool weft_file_load(const char **data, size_t *length, const char *path, size_t limit_bytes,
                    struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// Writes to a temporary name beside `path`, syncs and renames, so that no half file is ever seen.
bool weft_file_save(const char *path, const void *data, size_t length, struct weft_error *error)
    WEFT_MUST_USE;
struct weft_file {
    const char *path;
    const void *data;
    size_t length;
};
// Several files of one folder, all or none: renamed only when every one is written and synced; on
// failure nothing new is left. IO.
bool weft_files_save(const struct weft_file *files, uint32_t count, struct weft_arena scratch,
                     struct weft_error *error) WEFT_MUST_USE;

// ---- TopoOpt task graphs (.fbuf, FlatBuffers) ----

// What such a file holds. Operators' names are not kept; tasks do not refer to them.
struct weft_fbuf {
    struct weft_taskgraph graph;
    // Kept as the file states them; nothing in Weft uses them. 0 = not stated.
    uint32_t gpus_per_server;
    double inter_gpu_Bps;
    double dram_Bps;
    // The topology in the file: links as counted between nodes 0 .. node_count-1 (servers first),
    // every direction its own entry. link_count 0 = none.
    uint32_t node_count;
    uint32_t link_count;
    const struct weft_link *links; // rate = width * rate_Bps, latency 1 us
    double rate_Bps;               // the file's network rate a link; 0 = not stated
    // Paths as node sequences with weights, as weft_routes_build_table takes them, by first node,
    // then last.
    uint32_t path_count;
    const uint32_t *path_node_first;
    const uint32_t *path_nodes;
    const double *path_weights;
    // Ring descriptors: jump sequences for each ring size (docs/taskgraphs.md).
    uint32_t ring_size_count;
    const uint64_t *ring_sizes;
    const uint32_t *ring_first; // CSR into descriptors
    uint32_t descriptor_count;
    const uint32_t *jump_first; // CSR into jumps
    const int32_t *jumps;
    // Weft's own: rings that jumps cannot say (src/format/fbuf_extra.c). Where there are any, they
    // stand for the descriptors.
    uint32_t ring_word_count;
    const uint32_t *ring_words;
};
// Reads a file's bytes. Tasks keep the file's order; its ids become indices. A file in which no
// connection has its reverse means each for both directions. O(length). docs/taskgraphs.md tells
// what is refused.
bool weft_fbuf_read(struct weft_fbuf *fbuf, const void *data, size_t length,
                    struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
bool weft_fbuf_load(struct weft_fbuf *fbuf, const char *path, struct weft_arena *arena,
                    struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// The bytes of a file that holds `fbuf`, readable by the authors' tools: the same value gives the
// same bytes. Runtimes and rates are rounded to floats (6e-8 of themselves), latencies are not
// kept. ReduceScatters and AllGathers are written as AllReduces of half their bytes; that they are
// none, successors of collectives and ring_words stand in fields of Weft's own, which other readers
// skip. Fails with INPUT where the format has no words for the value: links of which none has its
// reverse, a link whose rate is not width * rate_Bps, 2 GiB or more.
bool weft_fbuf_write(const char **data, size_t *length, const struct weft_fbuf *fbuf,
                     struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
// The file's own network: fabric at rate_Bps a link (0 = the file's), its routes, and its rings for
// the groups of its graph. A group of k members takes the descriptors of ring size k, each an equal
// share of its bytes: from each member the jumps, summed modulo server_count, name the relays and
// at last the next member. A group whose size the file has no rings for, or without bytes and
// without a usable ring, gets none. Where there are ring_words, those rings instead. Fails with
// INPUT: no links, no routes, no rate; a path or ring over a link that is not there; a descriptor
// that does not close into one ring over its group.
bool weft_fbuf_network(struct weft_network *network, const struct weft_fbuf *fbuf, double rate_Bps,
                       struct weft_arena *arena, struct weft_arena scratch,
                       struct weft_error *error) WEFT_MUST_USE;

// ---- Chakra execution traces (MLCommons; .et, protobuf): docs/chakra.md ----

// One file a rank. Rank s is server s with its first device; further devices have ranks of their
// own behind them.
struct weft_chakra_trace {
    uint32_t rank_count;
    const void *const *data; // the bytes of each rank's file
    const size_t *lengths;
    const char *groups;    // process groups, as the JSON that ASTRA-sim takes
    uint32_t signal_count; // one-byte messages that stand for dependencies between ranks
};
// A task graph as a trace that ASTRA-sim reads. Weft's own attributes keep the rest, so that
// weft_chakra_read gives back the same graph. Fails with UNSUPPORTED beyond 5e8 messages. O(tasks +
// edges * log members + members of all collectives).
bool weft_chakra_write(struct weft_chakra_trace *trace, const struct weft_taskgraph *graph,
                       struct weft_arena *arena, struct weft_arena scratch,
                       struct weft_error *error) WEFT_MUST_USE;
// PREFIX.<rank>.et and PREFIX.json, all or none. A folder means the prefix "trace" in it. IO where
// a file of a larger trace stands beside.
bool weft_chakra_save(const char *prefix, const struct weft_chakra_trace *trace,
                      struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

struct weft_chakra_input {
    uint32_t rank_count;
    const void *const *data; // the bytes of each rank's file
    const size_t *lengths;
    const char *groups; // process groups as JSON; NULL = none beside those in the trace
    size_t groups_length;
    // What a rank computes with, for nodes that state operations and bytes but no duration: they
    // take max(operations / flops_per_s, bytes / memory_Bps), as in ASTRA-sim's roofline. 0 = not
    // known: then they take no time.
    double flops_per_s;
    double memory_Bps;
};
struct weft_chakra {
    struct weft_taskgraph graph; // a server for each rank, unless Weft's own files say otherwise
    uint64_t node_count;
    uint64_t untimed_count;      // compute nodes that state operations and took no time
    uint64_t skipped_count;      // nodes of other kinds: they join what they wait for
    uint64_t approximated_count; // broadcasts, reductions: became AllReduces of as many bytes
};
// A task graph from a trace of any producer. Tasks stand in ascending order of node ids, then
// ranks. Fails with INPUT naming rank and node: bytes that are no trace, a dependency on a node
// that is not there, a cycle, a message without its other end, a collective that a member lacks;
// with UNSUPPORTED for a collective with a root that the trace does not state. O(bytes + nodes
// log nodes + tasks).
bool weft_chakra_read(struct weft_chakra *chakra, const struct weft_chakra_input *input,
                      struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
// True where `path` means a trace: a folder, one rank's file PREFIX.<rank>.et, PREFIX.%r.et, or a
// PREFIX for which PREFIX.0.et is there.
bool weft_chakra_is_trace(const char *path);
// Reads such a trace. The groups are those of the file groups_path, else of PREFIX.json if that is
// there; of `input` the figures for compute nodes are taken alone. IO or as weft_chakra_read.
bool weft_chakra_load(struct weft_chakra *chakra, const char *path, const char *groups_path,
                      const struct weft_chakra_input *input, struct weft_arena *arena,
                      struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// ---- htsim's traffic matrices (.cm) and topologies (.topo): docs/loads.md ----

struct weft_matrix {
    // A transfer for each connection, in the file's order; behind them tasks that wait for starts
    // and triggers.
    struct weft_taskgraph graph;
    uint32_t connection_count;
    const uint64_t *start_ps; // of each connection; WEFT_NEVER = by a trigger
    uint32_t trigger_count;
    uint32_t priority_count; // connections that state a `prio`
    // ... of each, the smaller the more urgent; WEFT_NONE = not stated. It is the receiver's, of
    // pulls (weft_packet_options.pull_order), and says nothing to ports.
    const uint32_t *priority;
    uint32_t failure_count;
    const struct weft_tier_failure *failures;
};
// Fails with INPUT naming the line: an unknown word, a host that is not there, a size of 0, a
// trigger that is not there, fires never, or more often than it can; counts that the header says
// otherwise; a cycle of triggers. O(bytes + edges).
bool weft_matrix_read(struct weft_matrix *matrix, const char *data, size_t length,
                      struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
bool weft_matrix_load(struct weft_matrix *matrix, const char *path, struct weft_arena *arena,
                      struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// Fails with INPUT naming the line or tier: an unknown word, something missing or given twice,
// ports that are not oversubscribed as the file says. The rest weft_fabric_build_tiers checks.
bool weft_topo_read(struct weft_tiers *tiers, const char *data, size_t length,
                    struct weft_error *error) WEFT_MUST_USE;
bool weft_topo_load(struct weft_tiers *tiers, const char *path, struct weft_arena scratch,
                    struct weft_error *error) WEFT_MUST_USE;

// ---- GOAL schedules (Hoefler, Siebert, Lumsdaine, ICPP 2009; LogGOPSim's text and binary) ----

enum weft_goal_kind { WEFT_GOAL_SEND, WEFT_GOAL_RECV, WEFT_GOAL_CALC };
struct weft_goal {
    uint32_t rank_count;
    uint32_t op_count;
    const uint32_t *rank_first; // operations of rank r: rank_first[r] .. rank_first[r+1]-1
    const uint8_t *kind;        // enum weft_goal_kind
    const uint64_t *size;       // bytes; of a CALC: ns
    const uint32_t *peer;       // WEFT_NONE = any (RECV)
    const uint32_t *tag;        // the same
    const uint8_t *cpu;
    const uint8_t *nic;        // nothing in Weft uses it
    const uint32_t *line;      // NULL: the file is binary
    const char *const *labels; // "" = none; NULL: the file is binary
    uint32_t edge_count;
    const uint32_t *before; // operation before[e] ends, or starts, ...
    const uint32_t *after;  // ... before operation after[e] of its rank starts
    const bool *at_start;
};
// Reads text, or the binary form, which begins with its magic number. Fails with INPUT naming line,
// or rank and operation. O(bytes log labels of a rank).
bool weft_goal_read(struct weft_goal *goal, const char *data, size_t length,
                    struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;

struct weft_goal_job {
    // A task for each operation, in order; behind them those at which operations start. A rank is
    // a server, each of its CPUs a device. A message begins when its send may, and is never held
    // up by its receive; a send ends when its bytes are there.
    struct weft_taskgraph graph;
    uint32_t open_count; // receives from any source or with any tag: matched without times
    uint32_t void_count; // sends of 0 bytes to ranks that are not there: they join what is before
};
// Matches sends with receives in an order in which the schedule could run, as MPI does: by
// destination, source and tag, first come, first served. Fails with INPUT naming rank and line (or
// operation): a rank that is not there, a send without its receive, the reverse, operations that
// wait for each other. O(operations + edges).
bool weft_goal_lower(struct weft_goal_job *job, const struct weft_goal *goal,
                     struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
bool weft_goal_load(struct weft_goal_job *job, const char *path, struct weft_arena *arena,
                    struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// A task graph as GOAL text: a rank for each server, a CPU for each of its devices, a message of
// one byte for each dependency between servers that no transfer carries. Runtimes are rounded to
// ns. Fails with UNSUPPORTED where there are collectives, more than 256 devices in a server, or
// tasks that need some of their predecessors only. O(tasks + edges).
bool weft_goal_write(const char **text, const struct weft_taskgraph *graph,
                     struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;

// ---- comparisons of models (JSON, weft.comparisons/1): docs/compare.md ----

const char *weft_comparisons_write(const struct weft_model_comparison *comparisons, uint32_t count,
                                   struct weft_arena *arena);
// *comparisons and their texts live in `arena`. Fails with INPUT naming the key at fault. O(bytes).
bool weft_comparisons_read(struct weft_model_comparison **comparisons, uint32_t *count,
                           const char *data, size_t length, struct weft_arena *arena,
                           struct weft_error *error) WEFT_MUST_USE;

// ---- snapshots of jobs that share links (JSON): docs/interleave.md ----

// As docs/interleave.md has them; phases may stand in any order. Keys that are not known pass,
// unless they are within two letters of a known one. Fails with INPUT naming the place, as
// "jobs[2].phases[0].rate_Bps". O(bytes log names).
bool weft_snapshot_read(struct weft_job_set *set, const char *data, size_t length,
                        struct weft_arena *arena, struct weft_arena scratch,
                        struct weft_error *error) WEFT_MUST_USE;
bool weft_snapshot_load(struct weft_job_set *set, const char *path, struct weft_arena *arena,
                        struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// Series of what links carried, as CSV that `weft simulate --series` writes: a line of names, with
// time_s and bytes, then samples in equal steps; bytes since the sample before. With a column link
// there are several; those that are missing carried nothing. INPUT names the line. O(bytes log n).
bool weft_series_read(struct weft_series_set *set, const char *data, size_t length,
                      struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
bool weft_series_load(struct weft_series_set *set, const char *path, struct weft_arena *arena,
                      struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
const char *weft_snapshot_write(const struct weft_job_set *set, struct weft_arena *arena);
// Time-shifts that weft interleave --json wrote, shift_ps[job]. Fails with INPUT naming the place.
bool weft_shifts_load(uint64_t *shift_ps, const struct weft_snapshot *snapshot, const char *path,
                      struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// ---- models (YAML) ----

// Reads a model: operators, a preset, or a network of the zoo with other numbers (docs/models.md).
// Fails with INPUT and the line. O(bytes + keys^2 + operators^2), at most 2048 operators.
bool weft_model_read(struct weft_model *model, const char *data, size_t length,
                     struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
bool weft_model_load(struct weft_model *model, const char *path, struct weft_arena *arena,
                     struct weft_error *error) WEFT_MUST_USE;

// ---- clusters (YAML) ----

bool weft_cluster_read(struct weft_cluster *cluster, const char *data, size_t length,
                       struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
bool weft_cluster_load(struct weft_cluster *cluster, const char *path, struct weft_arena *arena,
                       struct weft_error *error) WEFT_MUST_USE;

// ---- measured operator profiles (JSON, as the TopoOpt artifact has them; docs/costs.md) ----

// {"batch_size": 16384, "ngpus": 16, "measurements": [{"name": "Dense_1024_1024",
// "pc_str": "2-1-8", "fw_time": 0.1, "bw_time": 0.2, "mem_req": 4096}]}: times in ms, pc_str the
// number of dimensions and the parts of each, samples last. Fails with INPUT naming the
// measurement: another or a missing key, a time that is negative or above an hour, a pc_str that is
// none, the same split twice. O(n log n).
bool weft_profile_read(struct weft_profile *profile, const char *data, size_t length,
                       struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
bool weft_profile_load(struct weft_profile *profile, const char *path, struct weft_arena *arena,
                       struct weft_error *error) WEFT_MUST_USE;
// Deterministic text that reads back as the same profile.
const char *weft_profile_write(const struct weft_profile *profile, struct weft_arena *arena);

// ---- flows in words ----

enum weft_flows_kind {
    WEFT_FLOWS_ALLREDUCE,   // allreduce:100MB
    WEFT_FLOWS_PERMUTATION, // permutation:10MB:seed
    WEFT_FLOWS_ALLTOALL,    // alltoall:1MB (each pair)
    WEFT_FLOWS_POISSON,     // poisson:1MB:load=0.3:count=100000:seed
};
// A seed that is left out, or is the word "seed", is 1.
struct weft_flows_spec {
    enum weft_flows_kind kind;
    uint64_t size_bytes;
    double load_ratio;
    uint32_t count;
    uint64_t seed;
};
// True in *matches when the text names one of the kinds (so is not a file's name).
bool weft_flows_parse(struct weft_flows_spec *spec, bool *matches, const char *text,
                      struct weft_error *error) WEFT_MUST_USE;

// ---- sweeps (YAML) ----

// What a key may be: one word; the words of one argument after the other ("job: [a, b]").
struct weft_sweep_value {
    uint32_t word_count;
    const char *const *words; // as written
    uint32_t line;
};
struct weft_sweep_key {
    const char *name;
    uint32_t line;
    uint32_t value_count; // at least 1
    const struct weft_sweep_value *values;
};
// The scenarios that choose one value of each key; the last key runs fastest.
struct weft_sweep_grid {
    uint32_t line;
    uint32_t key_count; // at least 1
    const struct weft_sweep_key *keys;
    uint32_t scenario_count; // the product of the value counts
};
struct weft_sweep {
    const char *verb;   // "simulate" where the file does not say
    uint32_t verb_line; // 0 = it does not
    uint32_t grid_count;
    const struct weft_sweep_grid *grids; // a scenario written out is a grid of one
    uint32_t scenario_count;             // at least 1, at most WEFT_SWEEP_MAX
};
#define WEFT_SWEEP_MAX 1000000u
#define WEFT_SWEEP_KEYS_MAX 64u // of a grid

// Fails with INPUT, "line N: ...; remedy". What keys and words mean is not looked at. O(length +
// keys^2).
bool weft_sweep_read(struct weft_sweep *sweep, const char *data, size_t length,
                     struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
// Scenario `index`: for each key of its grid, which is returned, the value that it chooses.
const struct weft_sweep_grid *
weft_sweep_scenario(const struct weft_sweep_value *values[WEFT_SWEEP_KEYS_MAX],
                    const struct weft_sweep *sweep, uint32_t index);

// ---- traces of many jobs (YAML): docs/scheduler.md ----

// Classes that name files of jobs or plans have no demand yet: the caller loads and measures them
// (weft_job_class_measure), then weft_job_trace_check tells what does not fit. Fails with INPUT,
// "line N: ...; remedy". O(bytes + keys^2).
bool weft_job_trace_read(struct weft_job_trace *trace, const char *data, size_t length,
                         struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
bool weft_job_trace_load(struct weft_job_trace *trace, const char *path, struct weft_arena *arena,
                         struct weft_error *error) WEFT_MUST_USE;

// ---- plans (JSON, schema weft.plan/1) ----

// Deterministic text: the same plan gives the same bytes.
const char *weft_plan_write(const struct weft_plan *plan, struct weft_arena *arena);
bool weft_plan_read(struct weft_plan *plan, const char *data, size_t length,
                    struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
bool weft_plan_load(struct weft_plan *plan, const char *path, struct weft_arena *arena,
                    struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// The value of "strategy" in a plan file, alone; names of operators for the operators space.
const char *weft_strategy_write(const struct weft_strategy *strategy, const char *const *names,
                                uint32_t operator_count, struct weft_arena *arena);

// ---- exports of a plan (docs/exports.md) ----

// The fabric for graphviz: servers on a circle, a color for each ring, other links dashed.
const char *weft_export_dot(const struct weft_plan *plan, struct weft_arena *arena);
// OCS cross-connects: plane,input_port,output_port,from,to a line; or JSON (weft.circuits/1).
const char *weft_export_circuits_csv(const struct weft_plan *plan, struct weft_arena *arena);
const char *weft_export_circuits_json(const struct weft_plan *plan, struct weft_arena *arena);
// One way on of a pair's traffic at a server: out of `port` to `next`.
struct weft_ip_way {
    uint32_t node;
    uint32_t source;
    uint32_t target;
    uint32_t port;
    uint32_t next;
    uint32_t weight; // 1..256, to the others of the same node, source and target
};
struct weft_ip_ways {
    size_t count;
    const struct weft_ip_way *ways; // by node, source, target, next, port
};
// The routes of all pairs as weighted next hops of every server. A packet knows its pair, not its
// path, so paths of a pair are taken heaviest first and one that would close a cycle with those
// before is left out; parallel ports share. Fails as weft_export_ip_routes. O(paths * hops * log).
bool weft_ip_list_ways(struct weft_ip_ways *ways, const struct weft_topology *topology,
                       const struct weft_routes *routes, struct weft_arena *arena,
                       struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// scripts[s] is the `ip` script of server s: addresses, fixed neighbors, and weighted next hops
// for its own traffic and for what passes. Fails with UNSUPPORTED beyond 65536 servers or 128 ports
// or when the fabric has switches, with INPUT when a link is in no plane. O(paths * hops * log).
bool weft_export_ip_routes(const char *const **scripts, const struct weft_plan *plan,
                           struct weft_arena *arena, struct weft_arena scratch,
                           struct weft_error *error) WEFT_MUST_USE;
// topology.yaml of Slurm 25.05 and later: sets as a tree of switches, or without a nest the blocks.
// Servers count on from first_node, "node001" (or "node": node0). INPUT where that is no name.
bool weft_export_slurm(const char **text, const struct weft_nest *nest,
                       const struct weft_blocks *blocks, const char *first_node,
                       struct weft_arena *arena, struct weft_arena scratch,
                       struct weft_error *error) WEFT_MUST_USE;
// The task graph with the plan's topology, routes and rings inside. The format has one set of jumps
// for each ring size: where a group's rings are not circulant with equal shares, or differ from
// those of another group of its size, that size is left out and counted in *sizes_left_out; then,
// and where flows divide over paths, all rings stand in ring_words, so that weft_fbuf_network gives
// the plan's network. Fails with INPUT when graph and plan differ in servers or links in rate.
bool weft_export_fbuf(struct weft_fbuf *fbuf, uint32_t *sizes_left_out,
                      const struct weft_plan *plan, const struct weft_taskgraph *graph,
                      struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;

// ---- MSCCL programs (XML): docs/msccl.md ----

// Reads a program; weft_program_check proves it. Elements and attributes that the runtime does not
// read are skipped. Fails with INPUT naming the line: no XML, a missing attribute that makes the
// runtime refuse or ignore the file (minBytes, maxBytes, inplace, outofplace among them), a number
// out of range, a step twice; with UNSUPPORTED for collectives that Weft does not know. O(length).
bool weft_msccl_read(struct weft_program *program, const char *data, size_t length,
                     struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
bool weft_msccl_load(struct weft_program *program, const char *path, struct weft_arena *arena,
                     struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// Text that reads back as the same program.
const char *weft_msccl_write(const struct weft_program *program, struct weft_arena *arena);

// ---- NCCL: topology and graph XML, tuner CSV: docs/nccl.md ----

struct weft_nccl_gpu {
    const char *busid;
    const char *model; // "A100", "gfx942", or "" = not stated
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

// ---- records of a simulation (docs/simulation-outputs.md) ----

// Records of flows: JSON where the name ends in .json, else CSV. IO.
bool weft_records_save_flows(const char *path, const struct weft_records *records,
                             struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// Samples of links as CSV. IO.
bool weft_records_save_series(const char *path, const struct weft_records *records,
                              const struct weft_fabric *fabric, struct weft_arena scratch,
                              struct weft_error *error) WEFT_MUST_USE;

// A run for a Perfetto trace: jobs with a timeline, or where there are none records of flows; and
// samples of links.
struct weft_trace {
    const struct weft_fabric *fabric;
    const struct weft_sim_job *jobs;
    uint32_t job_count;
    const uint64_t *const *task_start_ps; // per job, per task
    const uint64_t *const *task_end_ps;
    struct weft_records records;
    uint32_t slice_limit; // those that begin later are left out
};
// A native trace (protobuf): servers are processes with tracks of their tasks, links have counters
// of their load in % and their queue in bytes. Times are whole nanoseconds. *left_out: slices that
// slice_limit or too many at once of one server left no place for. Fails with INPUT for too many
// tasks. O(n log n).
bool weft_perfetto_write(const void **data, size_t *length, uint64_t *left_out,
                         const struct weft_trace *trace, struct weft_arena *arena,
                         struct weft_error *error) WEFT_MUST_USE;

#endif
