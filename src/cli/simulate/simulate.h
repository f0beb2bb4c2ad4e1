// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_SIMULATE_H
#define WEFT_CLI_SIMULATE_H

// weft simulate: what its files share. simulate.c parses and builds the network, simulate_jobs.c
// plays task graphs, simulate_flows.c flows in words.

#include "cli/cli.h"
#include "weft/format.h"
#include "weft/plan.h"

enum { SIMULATE_JOBS_MAX = 256 };

// What options say of a snapshot; NULL = not given.
struct simulate_sharing {
    const char *way;
    const char *shifts;
    const char *realign;
    bool root;
    uint32_t steps;
};

struct simulate {
    struct cli *cli;
    const char *paths[SIMULATE_JOBS_MAX];
    uint32_t path_count;
    const char *fabric;        // as --fabric names it
    const char *plan_path;     // NULL = a reference fabric
    const char *topology_path; // htsim's .topo; NULL = --fabric says
    struct weft_sim_options packets;
    struct simulate_sharing sharing;
    struct weft_sim_pace *paces; // that options change; NULL = all zero
    const uint64_t *compute_ps;  // per job, of an iteration: so that jitter may be a time; or NULL
    bool fabric_given;
    bool all_rounds; // of every AllReduce
    struct weft_fabric_options shape;
    struct weft_cluster cluster; // rate and latency of the links
    struct weft_network *network;
};

// Builds simulate->cluster and simulate->network for that many servers (0: as options say).
bool simulate_network(struct simulate *simulate, uint32_t server_count) WEFT_MUST_USE;
// Starts the JSON result with what both kinds tell.
json_t *simulate_object(struct simulate *simulate, const struct weft_sim_result *result);
// The first line for people.
void simulate_headline(const struct simulate *simulate);

// The last lines: what packets met, and what the run took.
void simulate_last_line(struct simulate *simulate, const struct weft_sim_result *result);

// What --topology has instead, with the failures of a traffic matrix (simulate_topology.c).
bool simulate_use_topology(struct simulate *simulate, uint32_t server_count) WEFT_MUST_USE;

// Adds how long the transfers of all jobs took, from a result with a timeline: to the JSON, or as a
// line for people where object is NULL. Nothing where there are none.
void simulate_tell_transfers(const struct simulate *simulate, json_t *object,
                             const struct weft_sim_job *jobs, uint32_t job_count,
                             const struct weft_sim_result *result);

// What --flow-records, --series and --trace need of the run, checked before it
// (simulate_outputs.c).
bool simulate_ask_records(struct simulate *simulate, bool is_job) WEFT_MUST_USE;
// Writes them. Of a list of flows: with their ends; of jobs: NULL.
bool simulate_save_records(struct simulate *simulate, const struct weft_sim_result *result,
                           const struct weft_sim_job *jobs, uint32_t job_count,
                           const struct weft_flow_list *flows, const uint64_t *ends_ps)
    WEFT_MUST_USE;
// The links that lost the most packets: into the JSON, or as a table where object is NULL.
void simulate_tell_drops(struct simulate *simulate, json_t *object,
                         const struct weft_sim_result *result);

// --snapshot: refused where no job is played, asked before the run of one, and written behind it,
// from a run of one iteration of that length (simulate_snapshot.c).
bool simulate_refuse_snapshot(const struct simulate *simulate) WEFT_MUST_USE;
bool simulate_ask_snapshot(const struct simulate *simulate) WEFT_MUST_USE;
bool simulate_save_snapshot(const struct simulate *simulate, const struct weft_sim_job *job,
                            uint64_t iteration_ps) WEFT_MUST_USE;

// Iterations, starts, jitter, weights and priorities of jobs, or the priorities of a list of flows:
// what the options say, after cli_packets (simulate_paces.c).
bool simulate_paces(struct simulate *simulate, uint32_t job_count) WEFT_MUST_USE;
// Of a time, 0 where nothing is computed.
double simulate_jitter_ratio(uint64_t jitter_ps, uint64_t compute_ps);
bool simulate_flow_paces(struct simulate *simulate, uint32_t flow_count) WEFT_MUST_USE;
// Whether jobs have several iterations; if so, the 99th percentile of one's.
bool simulate_repeats(const struct simulate *simulate);
uint64_t simulate_p99_ps(const struct simulate *simulate, const struct weft_sim_result *result,
                         uint32_t job);
// The iteration of all jobs together: the last one's end, or the longest mean of several.
double simulate_iteration_s(const struct simulate *simulate, const struct weft_sim_result *result,
                            uint32_t job_count);

bool simulate_jobs(struct simulate *simulate) WEFT_MUST_USE;
// Whether the first path is a JSON document, by its name or its beginning: jobs that share links
// (simulate_sharing.c).
bool simulate_is_snapshot(const struct simulate *simulate);
bool simulate_sharing(struct simulate *simulate) WEFT_MUST_USE;
// What is for snapshots only.
bool simulate_refuse_sharing(struct simulate *simulate) WEFT_MUST_USE;
bool simulate_flows(struct simulate *simulate, const struct weft_flows_spec *spec) WEFT_MUST_USE;

extern const struct cli_runner simulate_runner;

#endif
