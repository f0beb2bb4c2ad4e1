// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_SIMULATE_SIMULATION_H
#define WEFT_REQUEST_SIMULATE_SIMULATION_H

// A simulation under way, which the steps of the request fill one after the other.
//
//   simulate.c ──► jobs.c, flows.c, shared.c ──► network.c, timing.c, trees.c, records.c ──►
//   outcome.c

#include "weft/plan.h"
#include "weft/request/simulate.h"

struct simulation {
    const struct weft_simulate_request *request;
    struct weft_request_environment *environment;
    struct weft_simulate_result *result;
    const char *const *loads; // the request's, or the plan's model
    uint32_t load_count;
    struct weft_sim_options options;
    struct weft_packet_options packet; // options.packet, once they are chosen
    struct weft_job_timing *timings;   // as a snapshot has them; NULL = all zero
    const uint64_t *compute_ps;        // per job of a snapshot: of an iteration; else NULL
    const char *fabric;
    const struct weft_topology_file *topology; // of {topology}; NULL = none
    struct weft_network *network;
    struct weft_cluster cluster;
    // Of traffic matrices: broken cables, and how urgent connections are. The last that says wins.
    struct weft_loaded_job matrix;
};

// A pattern of flows, or one AllReduce.
struct weft_flows_spec;
bool simulation_play_flows(struct simulation *simulation, const struct weft_flows_spec *spec)
    WEFT_MUST_USE;
// Puts trees in the place of a collective's rings where they are quicker; what a member can send at
// says when that is looked at.
bool simulation_choose_trees(struct weft_taskgraph *graph, struct simulation *simulation,
                             double member_rate_Bps) WEFT_MUST_USE;
bool simulation_play_jobs(struct simulation *simulation) WEFT_MUST_USE;
bool simulation_play_snapshot(struct simulation *simulation) WEFT_MUST_USE;

// ---- afford.c ----

// What all servers send in an iteration.
double simulation_graph_bytes(const struct weft_taskgraph *graph);
// Fails where that many bytes of an iteration are too many packets to be played one by one.
bool simulation_afford(const struct simulation *simulation, double bytes) WEFT_MUST_USE;

// ---- network.c ----

// Reads {topology}, where there is one, before the loads, which may ask how many ranks it has. The
// request from now on has the accelerators of a server that the file says.
bool simulation_load_topology(struct simulation *simulation, struct weft_simulate_request *request)
    WEFT_MUST_USE;
// The fabric that the request names for that many servers (0: as it says).
bool simulation_build_network(struct simulation *simulation, uint32_t server_count) WEFT_MUST_USE;

// ---- timing.c ----

// Iterations, starts, jitter, weights and priorities of jobs, after weft_request_packets.
bool simulation_time_jobs(struct simulation *simulation, uint32_t job_count) WEFT_MUST_USE;
// Priorities of a list of flows; the rest is refused.
bool simulation_time_flows(struct simulation *simulation, uint32_t flow_count) WEFT_MUST_USE;
// 0 where nothing is computed.
double simulation_jitter_ratio(uint64_t jitter_ps, uint64_t compute_ps);

// ---- records.c ----

// Tells the engine what to keep. Fails with USAGE where that is not there.
bool simulation_ask_records(struct simulation *simulation, bool is_job) WEFT_MUST_USE;
bool simulation_ask_snapshot(const struct simulation *simulation) WEFT_MUST_USE;
bool simulation_refuse_snapshot(const struct simulation *simulation) WEFT_MUST_USE;
// What was played: jobs, or flows with their ends.
struct simulation_played {
    const struct weft_sim_job *jobs;
    uint32_t job_count;
    const struct weft_flow_list *flows;
    const uint64_t *ends_ps;
};
void simulation_keep_records(struct simulation *simulation, const struct simulation_played *played);
// Plays one iteration again, sampled, as the job's entry in a snapshot.
bool simulation_keep_snapshot(struct simulation *simulation, const struct weft_sim_job *job)
    WEFT_MUST_USE;

// ---- outcome.c ----

// Links, losses and options of the result, after the run.
void simulation_summarize(struct simulation *simulation);
// The 99th percentile of a job's iterations; 0 of a single one.
uint64_t simulation_p99_ps(const struct simulation *simulation, uint32_t job);
// Sorts durations in place.
struct weft_simulated_times simulation_sort_times(uint64_t *times_ps, uint32_t count);
// Of the transfers of all jobs, where the run kept a timeline.
struct weft_simulated_times simulation_time_transfers(const struct simulation *simulation,
                                                      const struct weft_sim_job *jobs,
                                                      uint32_t job_count);

#endif
