// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_INTERLEAVE_H
#define WEFT_INTERLEAVE_H

// Jobs that share links: when each should start so that their bursts meet as little as can be.
//
//   demands + links ──► [interleave] ──► time-shifts, scores, bounds
//
// A job's demand over one iteration is wound on a circle; jobs on a link are compared on the
// unified circle, whose perimeter is the least common multiple of their iteration times
// (Rajasekaran et al., "CASSINI: Network-Aware Job Scheduling in Machine Learning Clusters", NSDI
// 2024, section 3). docs/interleave.md has the equations.

#include "weft/base.h"
#include "weft/fabric.h"
#include "weft/sim.h"

WEFT_API_BEGIN

// A job asks rate_Bps of its links from start_ps on, for duration_ps.
struct weft_demand_phase {
    uint64_t start_ps;
    uint64_t duration_ps;
    double rate_Bps;
};

// One iteration of a job. Phases are in order, do not overlap and end within the iteration; between
// them the job asks nothing.
struct weft_demand {
    uint64_t iteration_ps; // > 0
    const struct weft_demand_phase *phases;
    uint32_t phase_count;
};

struct weft_shared_link {
    const char *name;
    double capacity_Bps; // > 0
};

struct weft_sharing_job {
    const char *name;
    struct weft_demand demand; // of each of its links, unless link_demands says otherwise
    const uint32_t *links;     // ascending
    uint32_t link_count;
    const struct weft_demand
        *link_demands; // per link of the job, with the job's iteration_ps; NULL
};

// What a scheduler knows at one moment: who shares what.
struct weft_snapshot {
    const struct weft_shared_link *links;
    uint32_t link_count;
    const struct weft_sharing_job *jobs;
    uint32_t job_count;
};

// Fails with INPUT, naming the job or link: no jobs, periods of 0, phases that overlap or leave
// their iteration, demand that is negative, not finite or above a link's capacity.
bool weft_snapshot_check(const struct weft_snapshot *snapshot, struct weft_error *error)
    WEFT_MUST_USE;

// What `weft simulate --sharing` plays of a job beside its demand.
struct weft_job_play {
    uint32_t iterations; // 0 = not stated
    uint64_t jitter_ps;  // standard deviation of an iteration's compute time
    uint64_t start_ps;   // of its first iteration
    double weight;       // of its flows; 1 = not stated
};
struct weft_job_set {
    struct weft_snapshot snapshot;     // passes weft_snapshot_check
    const struct weft_job_play *plays; // per job; NULL (for the writer) = nothing stated
};

// Angles of a circle at most, with a proof and without; and what is taken where an option is 0: a
// precision, which is Cassini's (NSDI 2024, section 3), and iterations of the shortest job on a
// circle. All but the precision trade it against time, not measured.
enum { WEFT_ANGLES_MAX = 32768, WEFT_ANGLES_MAX_FAST = 8192 };
enum { WEFT_PRECISION_DEGREES = 5, WEFT_PERIMETER_LIMIT = 120 };

struct weft_interleave_options {
    // Rotations are multiples of an angle, at most this much of the circle of the shortest
    // iteration that a link sees (so never more of the unified circle); 0 =
    // WEFT_PRECISION_DEGREES.
    double precision_degrees;
    // Iteration times are rounded to multiples of this before their least common multiple is taken;
    // 0 = as little as keeps the circle within perimeter_limit iterations of its shortest job.
    uint64_t quantum_ps;
    uint32_t perimeter_limit; // 0 = WEFT_PERIMETER_LIMIT
    bool heuristic;           // no proof: for many jobs in little time
    uint64_t work_limit;      // cells of circles looked at, about 1e9 a second; 0 = 5e8. Then the
                              // best so far, with the bound that is proved
    double slack_loss;        // of score, that a stray may cost a link; 0 = 0.01
    uint64_t seed;
    struct weft_tally *tally; // groups of jobs that share links, of all; NULL = nobody looks
    weft_stop stop;
};

enum weft_compatibility {
    WEFT_COMPATIBLE,        // score 1: no angle asks for more than there is
    WEFT_PARTLY_COMPATIBLE, // better than the mean over all rotations
    WEFT_NOT_COMPATIBLE,    // no rotation helps
};

struct weft_link_score {
    double score;     // with the time-shifts below
    double unshifted; // all shifts 0
    double mean;      // over all rotations, each as likely as another
    // No shifts do better on the quantised circle: by whole angles (raised to the score, where that
    // is of finer shifts), and by any time.
    double upper_bound;
    double all_shifts_bound;
    enum weft_compatibility compatibility;
    uint32_t job_count;
    uint32_t group;            // links of one group lie on loops and are solved together
    uint64_t perimeter_ps;     // of the unified circle
    uint32_t angle_count;      // of the unified circle
    double period_error_ratio; // largest that rounding made in an iteration time
};

struct weft_interleaving {
    double score; // the smallest of the links'
    double upper_bound;
    double all_shifts_bound;
    bool exact;                          // the score agrees with upper_bound: best by whole angles
    bool all_shifts_exact;               // it agrees with all_shifts_bound: best of all shifts
    const struct weft_link_score *links; // per link of the snapshot
    const uint64_t *time_shift_ps;       // per job: start this much later; < its iteration
    const uint64_t *slack_ps;            // per job: may stray so far either way, no link of it
                                         // loses more than slack_loss; at most half its iteration
    uint32_t group_count;
    uint32_t loop_count; // groups of several links
    uint64_t work;       // cells looked at
};

// Shifts that make the smallest score of all links as large as can be, then their sum. Links whose
// jobs form a tree are solved one by one, by any time (the heuristic: by whole angles), and joined
// by traversal of the affinity graph; loops together, by whole angles. A link with one job or none
// scores 1. Fails as weft_snapshot_check does, and with INPUT where a quantum or the perimeter
// leaves no circle.
bool weft_interleave(struct weft_interleaving *result, const struct weft_snapshot *snapshot,
                     const struct weft_interleave_options *options, struct weft_arena *arena,
                     struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// Scores of given shifts, without a search: the bounds are of areas alone. O(sum over links of
// phases on the circle * log of them).
bool weft_interleave_score(struct weft_interleaving *result, const struct weft_snapshot *snapshot,
                           const uint64_t *time_shift_ps,
                           const struct weft_interleave_options *options,
                           const struct weft_environment *environment) WEFT_MUST_USE;

// ---- playing a snapshot ----

// A snapshot as a network and jobs that the engines play. Of each job, or with link_demands of each
// of its links: a phase of rate r and duration d is a message of r * d bytes, headers included,
// from a server whose NIC carries r, over the job's links one behind the other; what lies between
// phases is computed. A job without links computes only.
struct weft_snapshot_jobs {
    struct weft_network network;
    const struct weft_sim_job *jobs;
    const uint32_t *links;      // per link of the snapshot: the fabric's
    const uint64_t *compute_ps; // per job: of an iteration, all that is not a phase with bytes
};
struct weft_snapshot_options {
    uint64_t latency_ps;  // of every link and NIC
    double payload_ratio; // of a packet's bytes; 0 = 1
    bool shaped;          // a phase's rate is a port's behind a fast NIC, where it is below that
                          // of all links: for windows, which see no queue in their own host
};
// `lowered` must stay where it was built. Fails as weft_snapshot_check does, and with INPUT beyond
// 4096 ends of messages. O(ends^2 + phases).
bool weft_snapshot_lower(struct weft_snapshot_jobs *lowered, const struct weft_snapshot *snapshot,
                         const struct weft_snapshot_options *options, struct weft_arena *arena,
                         struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// What became of a job, or of all together.
struct weft_sharing_outcome {
    double ideal_s;  // an iteration alone
    double mean_s;   // of the later half of its iterations
    double p99_s;    // of those; nearest rank
    double slowdown; // mean over ideal
    // Iterations until all stay within 5 % of the ideal one; WEFT_NONE: they do not.
    uint32_t converged_after;
};
struct weft_sharing_play {
    struct weft_sharing_outcome all; // means over the jobs; converged: the mean of their slowdowns
    const struct weft_sharing_outcome *jobs;
    const uint32_t *links; // per link of the snapshot: the fabric's, as the result below counts
    struct weft_sim_result sim;
};
// Plays sim->iterations (2 or more) of each job, with the timings, shares or transport of *sim, and
// a few of each alone. Where a timing's stray_ratio is set its period becomes the iteration alone
// and its group those that share links with it, however indirectly. Fails as the engines do.
bool weft_snapshot_play(struct weft_sharing_play *play, const struct weft_snapshot *snapshot,
                        const struct weft_snapshot_options *options,
                        const struct weft_sim_options *sim,
                        const struct weft_environment *environment) WEFT_MUST_USE;

// ---- demands from measurements ----

// What a link carried: bytes[i] from (i * step_ps) on, for step_ps.
struct weft_series {
    uint64_t step_ps; // > 0
    uint32_t count;   // > 0
    const double *bytes;
};
// Those of several links, as a file has them.
struct weft_series_set {
    uint32_t link_count;
    const struct weft_series *series; // per link, alike in step and count
    const char *const *names;         // "" = not stated
    const double *capacity_Bps;       // from a column utilization_ratio; 0 = not stated
};
struct weft_measured_demand {
    uint64_t iteration_ps;
    const struct weft_demand *link_demands; // per series
    double iterations;                      // in the series
    double period_error_ratio; // half a step over all periods compared; 0 = it was given
    double
        shape_error_ratio; // bytes of an iteration that the phases put elsewhere, of the worst link
};
// The demand of a job from series of all its links, alike in step and count. The iteration is the
// first lag at which the sum of all links is nearly as like itself as at any (autocorrelation; of
// more than 16384 samples some are joined), refined by later peaks. Phases are the times of at
// least half the largest rate of the folded iteration; where that puts more than a twentieth of the
// bytes elsewhere, up to 16 pieces of it. iteration_ps > 0: known, not looked for.
// Fails with INPUT where no iteration shows. O(samples^2 + links * samples).
bool weft_demand_measure(struct weft_measured_demand *result, const struct weft_series *series,
                         uint32_t link_count, uint64_t iteration_ps,
                         const struct weft_environment *environment) WEFT_MUST_USE;
// Cuts an iteration of `count` samples, bytes[i] each, into at most phase_max pieces: joins the two
// neighbours whose union changes the rates least, again and again. bytes[p] becomes those of piece
// p, which ends before sample ends[p]. Returns how many there are. O(count^2).
uint32_t weft_demand_join(double *bytes, uint32_t *ends, uint32_t count, uint32_t phase_max);
// A snapshot of that one job on its links. Their capacity is capacity_Bps, where that is 0 what the
// series state, else the largest rate of a phase. Rates above it by at most a hundredth, as samples
// are, become it. Fails as weft_snapshot_check.
bool weft_snapshot_of_series(struct weft_job_set *set, const struct weft_series_set *series,
                             const struct weft_measured_demand *measured, const char *name,
                             double capacity_Bps, const struct weft_environment *environment)
    WEFT_MUST_USE;
// Several snapshots as one: links of one name are one link. Fails with INPUT where they say
// different capacities of it, or two jobs have one name. O(n log n) in links and jobs.
bool weft_snapshot_join(struct weft_job_set *set, const struct weft_job_set *parts, uint32_t count,
                        struct weft_arena *arena, struct weft_arena scratch,
                        struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
