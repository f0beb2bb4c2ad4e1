// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_SIMULATE_H
#define WEFT_REQUEST_SIMULATE_H

// Jobs, lists of flows or jobs that share links (a snapshot), played on a fabric.

#include "weft/interleave.h"
#include "weft/request.h"
#include "weft/request/packets.h"

WEFT_API_BEGIN

enum { WEFT_SIMULATE_LOADS_MAX = 256 };

// A job's jitter: a ratio of its compute times or, of a snapshot's job, a time of them.
struct weft_request_jitter {
    bool is_time;
    double ratio;
    uint64_t time_ps;
    const char *text; // as it was asked for, for messages
};

// When and how often jobs play, and how they share. Each list has one value for all jobs or one for
// each.
struct weft_request_timing {
    uint32_t iterations; // of each job; 0 = not said
    struct weft_time_list start;
    struct {
        uint32_t count;
        const struct weft_request_jitter *values;
    } jitter;                        // standard deviation of an iteration's compute times
    struct weft_number_list weight;  // of a job's flows on links, or of its windows' growth
    struct weft_count_list priority; // of a job's queues; of flows in turn
};

enum weft_sharing_policy {
    WEFT_SHARING_AS_STATED, // as the snapshot weighs its jobs
    WEFT_SHARING_FAIR,
    WEFT_SHARING_UNFAIR, // by `weights`
    WEFT_SHARING_MLTCP,  // by progress
};

// How the jobs of a snapshot share their links.
struct weft_request_sharing {
    bool given;
    enum weft_sharing_policy policy;
    struct weft_number_list weights; // of unfair shares: one for each job, or two by which
                                     // neighbors share
    const char *text;                // of the weights, for messages
};

// What a run keeps beside its result.
struct weft_request_records {
    bool flows;        // each flow or message
    bool series;       // samples of links
    bool trace;        // both, and a timeline of tasks
    bool snapshot;     // what the one job asks of its links in an iteration
    const char *name;  // of that job; NULL = "job"
    uint64_t every_ps; // between samples; 0 = 10 us
};

// How a collective in words runs between servers.
enum weft_simulate_algorithm {
    WEFT_SIMULATE_BEST,  // the quicker of the others, played as a fluid
    WEFT_SIMULATE_RINGS, // on all ports
    WEFT_SIMULATE_TREES, // AllReduces of three servers and more by double binary trees
};

struct weft_simulate_request {
    const char *const *loads; // files of jobs; or one snapshot; or one pattern of flows
    uint32_t load_count;      // 0: the job that the plan holds
    const char *fabric;       // NULL = ideal; "file": as the job's file has it
    const char *plan_path;
    const char *topology_path;             // tiers of a Fat-tree (htsim)
    struct weft_fabric_options shape;      // radix and oversubscription
    struct weft_request_scale_up scale_up; // of patterns and files of jobs
    bool one_port; // of collectives among patterns: one ring over all ranks in order
    enum weft_simulate_algorithm algorithm; // of collectives among them
    struct weft_request_hardware hardware;
    struct weft_request_trace trace;
    struct weft_request_packets packets;
    struct weft_request_timing timing;
    struct {
        struct weft_request_sharing policy;
        const char *shifts; // a file of time-shifts, or "find"
        struct weft_given_number realign;
        bool mltcp_root;
        uint32_t mltcp_steps; // 0 = not said
    } sharing;                // of a snapshot
    bool acknowledged;        // a transfer ends when its sender knows
    bool all_rounds;          // of every AllReduce
    struct weft_request_records records;
};

// Its parameters by name, in groups; the names of loads and records are the door's.
extern const struct weft_parameter_group weft_simulate_parameters[];
// Those of struct weft_request_timing alone.
enum { WEFT_TIMING_PARAMETERS = 5 };
extern const struct weft_parameter weft_timing_parameters[WEFT_TIMING_PARAMETERS];

enum weft_simulate_kind {
    WEFT_SIMULATE_JOBS,
    WEFT_SIMULATE_FLOWS, // of a pattern
    WEFT_SIMULATE_SHARED // jobs of a snapshot
};

struct weft_simulated_job {
    const char *name;    // its file, or the plan's model
    uint32_t rank_count; // its graph's servers; more than server_count where they are accelerators
    uint32_t server_count; // that it takes
    uint32_t first_server;
    uint64_t dangling_count;          // of a lenient trace: dependencies that were taken for done
    struct weft_chakra_joined joined; // of Kineto's traces
    uint64_t iteration_ps;            // of several: their mean
    uint64_t p99_ps;                  // of several; else 0
};

// How long flows or transfers took; count = 0: there are none.
struct weft_simulated_times {
    uint32_t count;
    double bytes; // of transfers
    double mean_s;
    uint64_t median_ps;
    uint64_t p99_ps;
    uint64_t max_ps;
};

// A link that lost packets.
struct weft_lossy_link {
    uint32_t link;
    const char *from; // "server 3", "switch 0"
    const char *to;
    struct weft_port_counts counts;
};

struct weft_simulated_snapshot {
    struct weft_job_set set;
    const struct weft_job_timing *timings;
    const double *shares; // per job: of links, as asked
    const char *policy;   // "fair", "unfair", "mltcp"
    struct weft_sharing_play play;
    uint64_t mark_count; // on the snapshot's links together
};

// What request.records asked for, to be written by who knows where.
struct weft_simulated_records {
    struct weft_records records;
    struct weft_trace trace;      // with request.records.trace
    struct weft_job_set snapshot; // with request.records.snapshot
};

struct weft_simulate_result {
    enum weft_simulate_kind kind;
    const char *load;                   // the first; NULL where the plan brought the job
    const char *algorithm;              // of a collective in words: "ring", "double-tree"; or NULL
    const char *fabric;                 // its name
    const struct weft_network *network; // NULL for a snapshot
    uint32_t accelerators; // of a server, that are the network's servers; 1: those are servers
    bool lenient;          // with traces that may lack nodes
    struct weft_cluster cluster;
    struct weft_sim_options options; // as played
    struct weft_sim_result sim;
    struct {
        double max_bytes;
        double mean_bytes;
    } link_load;
    uint32_t lossy_count;
    const struct weft_lossy_link *lossy; // those that lost most, at most 5
    uint32_t job_count;                  // of jobs, and of the pattern allreduce
    const struct weft_simulated_job *jobs;
    double iteration_s; // of all jobs together: the last one's end, or the longest mean of several
    struct weft_simulated_times times; // of flows; of transfers of another simulator's load
    struct weft_simulated_snapshot shared;
    struct weft_simulated_records records;
    double wall_s; // how long it took; the door, which has a clock, fills it
};

// Fails with USAGE where nothing is to be played.
bool weft_request_simulate_check(const struct weft_simulate_request *request,
                                 struct weft_error *error) WEFT_MUST_USE;
// Plays it. Fails with USAGE where what is asked does not fit together, with INPUT where a file is
// wrong or the engines cannot play it, with STOPPED.
bool weft_request_simulate(struct weft_simulate_result *result,
                           const struct weft_simulate_request *request,
                           struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.simulation/1"
const char *weft_request_simulate_json(const struct weft_simulate_result *result,
                                       struct weft_arena *arena);

WEFT_API_END

#endif
