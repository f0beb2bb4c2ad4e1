// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SCHEDULER_H
#define WEFT_SCHEDULER_H

// Many jobs on one cluster: when each begins, on which servers, and how its iterations fare beside
// the others.
//
//   trace + network ──► [scheduler] ──► records of jobs, spans of servers, totals
//                          ▲   calls interleave and sim in a loop
//
// Time goes from event to event: arrivals, ends, failures, repairs, renewals of shares. Between two
// events every running job has a mean iteration time, which a steady state of the jobs that share
// links gives (docs/scheduler.md has the model, its limits and its measured error).

#include "weft/base.h"
#include "weft/cluster.h"
#include "weft/fabric.h"
#include "weft/interleave.h"
#include "weft/sim.h"
#include "weft/workload.h"

WEFT_API_BEGIN

// ---- what is asked ----

// Who sends to whom among a job's servers. share_ratio of the demand's rate goes from the job's
// place `from` to its place `to`.
struct weft_job_flow {
    uint32_t from;
    uint32_t to;
    double share_ratio;
};

enum weft_job_pattern {
    WEFT_JOB_RING,       // place i to i+1, each the whole rate
    WEFT_JOB_ALL_TO_ALL, // each pair 1/(k-1) of the rate
    WEFT_JOB_FLOWS,      // as listed
};

// Jobs that are alike.
struct weft_job_class {
    const char *name;
    uint32_t server_count;
    struct weft_demand demand; // of an iteration alone; rate that the busiest server sends
    enum weft_job_pattern pattern;
    const struct weft_job_flow *flows; // FLOWS
    uint32_t flow_count;
    double jitter_ratio; // standard deviation of an iteration's compute times, all by one factor
    double weight;       // among Poisson arrivals
    // Of its jobs where they do not say: iterations, or (where 0) as many as take so long alone.
    uint64_t iterations;
    uint64_t duration_ps;
    // Sizes that Pollux may choose; both server_count = rigid. FLOWS: rigid.
    uint32_t servers_min;
    uint32_t servers_max;
    double noise_ratio; // gradient noise scale over the batch at server_count
    // On servers of its own with a topology of its own; 0 = demand.iteration_ps.
    uint64_t shard_iteration_ps;
    const struct weft_taskgraph *graph; // flow engine: plays this instead of the demand; or NULL
    const char *job_path;  // where the file of the trace names one, for the caller to load
    const char *plan_path; // the same: of its dedicated shard
};

struct weft_trace_job {
    const char *name;
    uint32_t class_id;
    uint64_t arrival_ps;
    uint64_t iterations; // 0: by duration_ps; both 0: as its class says
    uint64_t duration_ps;
};

// A server, or both directions of the link between two nodes of the fabric, is down for a while.
struct weft_trace_failure {
    uint64_t time_ps;
    uint64_t repair_ps; // it takes so long
    bool is_link;
    uint32_t server; // link: one end
    uint32_t peer;   // link: the other; on dedicated shards ignored: one of the server's ports
};

struct weft_trace_poisson {
    uint32_t count; // 0 = none
    double jobs_per_s;
    uint64_t seed;
};

// Failures by chance, exponential; 0 = never.
struct weft_trace_chance {
    double server_mtbf_s; // of one server
    double link_mtbf_s;   // of one cable
    uint64_t repair_ps;
    uint64_t seed;
};

// Servers of its own for each job, with a topology set before it begins (TopoOpt, NSDI 2023,
// section 3 and appendix): 1x2 switches give each interface an active plane and one that is wired
// ahead.
struct weft_trace_shards {
    bool dedicated;
    bool look_ahead;
    uint64_t wiring_ps; // a patch panel's robots, for one job; one job after the other
    uint64_t switch_ps; // 1x2 switches flip
};

struct weft_job_trace {
    const char *name;
    // The trace's own. Where the trace names a file instead, or says nothing, it has no servers,
    // and the caller reads it.
    struct weft_cluster cluster;
    const char *cluster_path; // NULL = none
    const char *fabric;       // a name of weft_fabric_references, or "shards"
    struct weft_fabric_options shape;
    enum weft_spread spread; // how a pair's bytes take its paths
    bool spread_stated;
    uint32_t class_count;
    const struct weft_job_class *classes;
    uint32_t job_count; // in order of arrival
    const struct weft_trace_job *jobs;
    struct weft_trace_poisson poisson;
    uint32_t failure_count; // in order of time
    const struct weft_trace_failure *failures;
    struct weft_trace_chance chance;
    struct weft_trace_shards shards;
    uint64_t checkpoint_ps; // between checkpoints of a running job; 0 = none are written
    uint64_t restart_ps;    // from a placement after the first to its first iteration
};

// Fails with INPUT, naming class, job or failure: none at all, more servers than the cluster has, a
// demand that weft_snapshot_check would refuse or above what a server sends, times that fall.
bool weft_job_trace_check(const struct weft_job_trace *trace, struct weft_error *error)
    WEFT_MUST_USE;
// The same trace with Poisson arrivals drawn and merged with those that are listed. O(jobs log).
void weft_job_trace_expand(struct weft_job_trace *full, const struct weft_job_trace *trace,
                           struct weft_arena *arena, struct weft_arena scratch);

// ---- how it is answered ----

enum weft_policy {
    WEFT_POLICY_CONSOLIDATED, // the lowest free servers in a row
    WEFT_POLICY_RANDOM,       // any free servers
    WEFT_POLICY_RACK_AWARE,   // as few racks as can be, the tightest that fits first
    WEFT_POLICY_THEMIS,       // like Themis: finish-time fairness with leases; rack-aware
    WEFT_POLICY_POLLUX,       // like Pollux: goodput with elastic sizes; rack-aware
    WEFT_POLICY_COUNT,
};
struct weft_policy_entry {
    const char *name; // "rack-aware"
    const char *summary;
};
// All policies, in the order of the enum.
extern const struct weft_policy_entry weft_policies[WEFT_POLICY_COUNT];
// Fails with INPUT, naming all that there are.
bool weft_policy_find(enum weft_policy *policy, const char *name, struct weft_error *error)
    WEFT_MUST_USE;

enum weft_steady_engine {
    WEFT_STEADY_MODEL,  // phases of demand, coupled max-min shares (docs/scheduler.md)
    WEFT_STEADY_FLOW,   // the flow engine plays all running jobs together
    WEFT_STEADY_PACKET, // the packet engine does, and counts marks; DCTCP, one connection a path
};

enum { WEFT_SCHEDULER_WARM_UP = 10, WEFT_SCHEDULER_WINDOW = 40 };

struct weft_scheduler_options {
    enum weft_policy policy;
    bool interleave;     // rank candidate placements by compatibility, apply time-shifts
    uint32_t candidates; // 0 = 10
    enum weft_steady_engine engine;
    uint32_t window;   // iterations of the longest job that a steady state is measured over; 0 =
                       // WEFT_SCHEDULER_WINDOW
    uint32_t warm_up;  // before them; 0 = WEFT_SCHEDULER_WARM_UP
    uint64_t until_ps; // what is not done by then is cut off there, later jobs do not count; 0 = to
                       // the end of all
    bool snapshot;     // keep what those that run then ask of the links that they could fill
    uint64_t lease_ps; // Themis, Pollux: between renewals; 0 = 10 min
    uint64_t seed;
    struct weft_sim_options sim; // of the engines; packets and threshold of the estimate of marks
    struct weft_tally *tally;    // jobs that have ended, of all; NULL = nobody looks
    weft_stop stop;
};

// A job held servers from start_ps to end_ps. Spans stand in order of their starts.
struct weft_job_span {
    uint32_t job;
    uint64_t start_ps;
    uint64_t begin_ps; // its iterations began: after restart or wiring
    uint64_t end_ps;
    uint32_t server_count;
    const uint32_t *servers; // in the order of its ring
    double score;            // of its placement's compatibility; 1 where it was not asked for
    bool interrupted;        // by a failure
};

struct weft_job_record {
    const char *name;
    uint32_t class_id;
    uint64_t arrival_ps;
    uint64_t start_ps; // first placement
    uint64_t end_ps;
    uint64_t held_ps;       // on servers; the rest of its completion time it waited
    double iterations;      // done and counted; of server_count servers each
    double lost_iterations; // done, lost by failures and done again
    double iteration_mean_s;
    double iteration_p99_s; // within 0.5 %
    double alone_s;         // an iteration on idle links
    double score;           // smallest of its spans
    double ecn_marks;       // estimate
    uint32_t placements;
    uint32_t failures; // that hit it
    bool cut_off;      // by until_ps
};

// What a schedule came to. It stays flat: each field is one row of the report and one key of the
// JSON (docs/scheduler.md), and nothing works on a part of them.
struct weft_timetable {
    uint32_t job_count;
    const struct weft_job_record *jobs; // in the order of the expanded trace
    uint32_t later_count;               // jobs behind them that until_ps does not let come
    uint32_t span_count;
    const struct weft_job_span *spans;
    uint32_t failure_count; // that came to pass
    const struct weft_trace_failure *failures;
    uint64_t end_ps;         // of the last job
    double iteration_mean_s; // over all iterations of all jobs
    double iteration_p99_s;
    double slowdown_mean; // iteration over the same job's alone
    double slowdown_p99;
    double completion_mean_s;
    double completion_p99_s;
    double queueing_mean_s;
    double queueing_p99_s;
    double utilization;            // server time held / servers * end
    double useful_utilization;     // the same of what was not lost, restarted or slowed down
    double lost_server_s;          // servers' time on iterations that failures made void
    double ecn_marks;              // estimate
    uint32_t shared_count;         // steady states with links to share
    uint32_t interleaved_count;    // ... of which time-shifts were better and kept
    uint64_t steady_count;         // steady states computed
    uint64_t event_count;          // of schedule
    struct weft_snapshot snapshot; // as options say; no jobs: none could fill a link with another
};

// Plays the whole trace (expanded) until its last job has ended. `network` joins the cluster's
// servers; NULL where shards are dedicated. Same for any number of threads. Fails with INPUT as the
// check does, with INFEASIBLE where a job waits for ever or failures never let one end, with
// STOPPED when `stop` says so. O(events * (running jobs + work of a steady state)).
bool weft_scheduler_run(struct weft_timetable *schedule, const struct weft_job_trace *trace,
                        const struct weft_network *network,
                        const struct weft_scheduler_options *options,
                        const struct weft_environment *environment) WEFT_MUST_USE;

// ---- profiles ----

// Fills demand, pattern and flows of a class from an iteration of its task graph alone on one
// switch with `rate_Bps` a server: phases of what the servers send, at most phase_max, and the
// shares of each pair. `class->graph` is kept. Fails as weft_sim_run_jobs does.
bool weft_job_class_measure(struct weft_job_class *job_class, const struct weft_taskgraph *graph,
                            double rate_Bps, const struct weft_sim_options *sim, uint32_t phase_max,
                            const struct weft_environment *environment) WEFT_MUST_USE;

WEFT_API_END

#endif
