// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SCHEDULER_STATE_H
#define WEFT_SCHEDULER_STATE_H

// What a schedule knows while it is played: jobs, servers, links, failures and totals, in one
// struct that the files of this room share and no other sees. Each part below names the file whose
// functions it declares: run.c calls allocate.c or shards.c for who gets servers (place.c, uses.c,
// share.c and shift.c find and rank placements), rates.c or flow.c for how fast jobs go (steady.c),
// and tally.c for what is recorded; all of them change a job's state through lifecycle.c.

#include "weft/scheduler.h"

// ---- steady states (steady.c) ----

// A piece of an iteration: the job asks rate_Bps of its links, or computes (0).
struct sched_segment {
    double duration_ps; // at full speed
    double rate_Bps;
};

// Slowdowns are counted in bins of half a percent, from half of the time alone.
#define SCHED_BINS 1200u
uint32_t sched_bin(double slowdown);
double sched_bin_value(uint32_t bin);

// Where a job stands in its iteration, and what its iterations took.
struct steady_job {
    const struct sched_segment *segments;
    uint32_t segment_count;
    double flow_ratio;  // of its rate, what one flow has
    double alone_ps;    // of all segments
    double compared_ps; // slowdowns are relative to it
    double jitter_ratio;
    uint64_t seed;
    // Keeps in step: its i-th iteration is due at anchor_ps + i * period_ps. 0 = it does not.
    double anchor_ps;
    double period_ps;
    double late_ps;
    // From one steady state to the next.
    uint32_t segment;
    double left_ps;    // of the segment
    double wait_ps;    // the next iteration begins then
    double started_ps; // of this iteration
    double compute_ratio;
    uint64_t iteration;
    // Results.
    double mean_ps;
    double marks; // an iteration, estimate
    float *bins;  // [SCHED_BINS], adding up to 1
};

// A link, or several that the same jobs load alike.
struct steady_link {
    double capacity_Bps;
    uint32_t copies;
    uint32_t job_count;
    const uint32_t *jobs; // of the steady state
    const double *shares; // of their rates
    const double *flows;  // of each
};

struct steady {
    uint32_t job_count;
    struct steady_job *jobs;
    uint32_t link_count;
    const struct steady_link *links;
    uint32_t warm_up;
    uint32_t window;
    double packet_bytes; // for marks
    double mark_bytes;
    double round_trip_ps;
};

// Plays the jobs side by side: rates are max-min fair between flows, and a job's flows go as fast
// as its slowest. Fills means, bins and marks, and leaves the jobs where they then stand.
// O(iterations * segments * jobs * (jobs + entries of links)).
void steady_play(struct steady *steady, struct weft_arena scratch);
// Puts a job at the start of an iteration that begins `wait_ps` from now.
void steady_begin(struct steady_job *job, double wait_ps);

// ---- jobs ----

enum sched_phase {
    SCHED_FUTURE,
    SCHED_WAITING,
    SCHED_HOLDING, // has servers, waits for restart, wiring or switches
    SCHED_RUNNING,
    SCHED_ENDED,
};

struct sched_use {
    uint32_t link;
    double share; // of the job's rate
    double flows; // that divide it; parts of one where a pair's bytes take several paths
};

// A placement and what it asks of links.
struct sched_place {
    uint32_t server_count;
    uint32_t *servers;
    uint32_t use_count;
    struct sched_use *uses; // ascending links
    uint32_t segment_count;
    struct sched_segment *segments; // no faster than its own links allow
    double alone_ps;
    double peak_Bps;
    double flow_ratio; // of the job's rate, what a flow of its has (mean)
    double score;
};

// A job's dedicated servers.
struct sched_shard {
    double degradation; // of its iterations, by failed ports
    uint64_t wired_ps;  // its topology is wired; WEFT_NEVER = not ordered
};

struct sched_job {
    const struct weft_job_class *class;
    enum sched_phase phase;
    uint32_t size; // servers that it holds or asks for
    double step;   // of its work an iteration does, in iterations of server_count servers
    double work;
    double done;
    double saved; // in the last checkpoint
    double rate;  // of work, a ps
    uint64_t begin_ps;
    uint64_t updated_ps;
    uint64_t lease_end_ps;
    struct sched_place place;
    const struct weft_taskgraph *graph; // what the flow engine plays; or NULL
    struct steady_job steady;
    uint64_t signature; // of the steady state that `rate` came from
    uint32_t span;      // open one
    double iterations;  // those done again too
    double *bins;       // [SCHED_BINS] iterations; they add up to `iterations` but for rounding
    struct sched_shard shard;
    struct weft_job_record *record;
};

// Jobs by their ids.
struct sched_jobs {
    uint32_t *jobs;
    uint32_t count;
};

// Who has which server, and which may be used; arrays by server.
struct sched_servers {
    uint32_t count;
    uint32_t *holder;     // job, or WEFT_NONE
    uint32_t *down;       // reasons why it is not to be used
    uint32_t *ports_down; // dedicated: its ports that failed
    uint32_t *ahead;      // dedicated: job whose plane the look-ahead ports have, or WEFT_NONE
    uint32_t *rack;
    uint32_t rack_count;
};

struct sched_links {
    uint32_t *down;      // per link: its cables that failed; all of them: it is not to be used
    uint32_t down_count; // of all links
};

// Failures to come, by the trace and by chance, under way, and past (failures.c).
struct sched_failures {
    uint32_t next;              // of the trace
    uint64_t next_chance_ps[2]; // a server, a link
    struct weft_rng chance_rng;
    struct weft_trace_failure *open;
    uint32_t open_count;
    uint32_t open_room;
    struct weft_trace_failure *past;
    uint32_t past_count;
    uint32_t past_room;
};

// When jobs held servers, in order of their starts.
struct sched_spans {
    struct weft_job_span *list;
    uint32_t count;
    uint32_t room;
};

// A schedule under way: all files of the room work on the same instant of it.
struct sched {
    const struct weft_job_trace *trace;
    const struct weft_network *network; // NULL: dedicated
    const struct weft_scheduler_options *options;
    uint64_t now_ps;
    uint32_t job_count;
    struct sched_job *jobs;
    uint32_t next_arrival;
    struct sched_jobs waiting; // in order of service
    struct sched_jobs running; // iterate now, ascending
    struct sched_servers servers;
    struct sched_links links;
    struct sched_failures failures;
    struct sched_spans spans;
    uint64_t robots_free_ps;
    uint64_t next_lease_ps; // Pollux
    uint64_t flow_signature;
    struct weft_timetable totals;
    struct weft_arena *arena;
    struct weft_error *error;
};

// Whether all cables of a link have failed; and what the others of them carry.
static inline bool sched_link_is_out(const struct sched *sched, uint32_t link)
{
    return sched->links.down[link] >= sched->network->fabric.links[link].width;
}
static inline double sched_link_Bps(const struct sched *sched, uint32_t link)
{
    const struct weft_link *all = &sched->network->fabric.links[link];
    uint32_t down = sched->links.down[link];
    return down == 0           ? all->rate_Bps
           : down < all->width ? all->rate_Bps * (all->width - down) / all->width
                               : 0;
}

// ---- the parts ----

// racks.c: servers below the same first switch.
void sched_find_racks(struct sched *sched);

// place.c: up to `limit` candidates of different servers for a job of `size`, the policy's favorite
// first. Returns their number: 0 where too few are free.
uint32_t sched_candidates(uint32_t **candidates, uint32_t limit, const struct sched *sched,
                          uint32_t job, uint32_t size, const struct weft_environment *environment);
bool sched_usable(const struct sched *sched, uint32_t server);

// uses.c: what a job on these servers asks of links. False: two of them have no path left.
bool sched_lay(struct sched_place *place, const struct sched *sched, uint32_t job,
               const uint32_t *servers, uint32_t count, const struct weft_environment *environment);

// share.c: which jobs share links that they can fill. `extra` (may be NULL) takes part as job
// extra_job.
struct sched_affinity {
    uint32_t job_count; // running ones, then extra
    const uint32_t *jobs;
    const struct sched_place **places;
    uint32_t *first;     // CSR by link: entries
    uint32_t *entry_job; // index into jobs
    double *entry_share;
    double *entry_flows;
    double *load_Bps; // peaks added up, by link
};
struct sched_component {
    uint32_t job_count;
    uint32_t *jobs; // ids, ascending
    const struct sched_place **places;
    uint32_t link_count;
    struct steady_link *links; // jobs index `jobs`
    uint64_t signature;
};
void sched_affinity_build(struct sched_affinity *affinity, const struct sched *sched,
                          uint32_t extra_job, const struct sched_place *extra,
                          struct weft_arena *arena);
// Whether several jobs use a link and could fill it together.
bool sched_is_contended(const struct sched *sched, const struct sched_affinity *affinity,
                        uint32_t link);
// The jobs that share links with `start` (index of the affinity's jobs), directly or through
// others; visited[] marks them.
void sched_component_build(struct sched_component *component, const struct sched *sched,
                           const struct sched_affinity *affinity, uint32_t start, bool *visited,
                           const struct weft_environment *environment);

// shift.c: the best score that time-shifts give, and the shifts, for jobs of a component with
// periods padded so that their circle is small.
struct sched_shifts {
    double score;
    double *shift_ps;
    double *period_ps;
};
enum sched_care {
    SCHED_RANK,  // coarse: of many candidates only the order of scores counts
    SCHED_SHIFT, // as fine as shifts need
};
// What a job with that share of its rate on a link asks of it.
struct weft_demand sched_demand_on(const struct sched_place *place, double share,
                                   double capacity_Bps, uint64_t period_ps,
                                   struct weft_arena *arena);
// snapshot.c: the jobs that run and could fill links together; none: no jobs, no links.
void sched_take_snapshot(struct weft_snapshot *snapshot, const struct sched *sched);
// No shifts have a higher score: links cannot carry more than all of the time.
double sched_score_bound(const struct sched_component *component, enum sched_care care);
bool sched_shift(struct sched_shifts *shifts, const struct sched *sched,
                 const struct sched_component *component, enum sched_care care,
                 struct weft_arena *arena, struct weft_arena scratch);

// rates.c: iteration times of all running jobs anew, where their company has changed.
bool sched_update_rates(struct sched *sched, struct weft_arena scratch);
// flow.c: the same by the flow or the packet engine, all running jobs together.
bool sched_flow_rates(struct sched *sched, struct weft_arena scratch);

// allocate.c: who gets servers now.
bool sched_allocate(struct sched *sched, struct weft_arena scratch);
// Themis and Pollux take servers back and set sizes, before queues are served.
void sched_themis(struct sched *sched, struct weft_arena scratch);
void sched_pollux(struct sched *sched, struct weft_arena scratch);

// shards.c: dedicated servers with look-ahead wiring.
bool sched_allocate_shards(struct sched *sched, struct weft_arena scratch);

// failures.c
uint64_t sched_next_failure_ps(const struct sched *sched);
void sched_play_failures(struct sched *sched, struct weft_arena scratch);
void sched_begin_chance(struct sched *sched);
// How much longer a dedicated shard's iterations are for ports that failed: its rings go on over
// those that are left of the server that lost most.
double sched_degradation(const struct sched *sched, const struct sched_job *job);

// lifecycle.c: servers are given and taken.
double sched_step(const struct weft_job_class *class, uint32_t size);
// A job that holds servers runs from now on.
void sched_begin_iterations(struct sched *sched, uint32_t job);
void sched_start(struct sched *sched, uint32_t job, const struct sched_place *place,
                 uint64_t ready_ps);
void sched_stop(struct sched *sched, uint32_t job, enum sched_phase next, bool interrupted);
void sched_queue(struct sched *sched, uint32_t job);
void sched_unqueue(struct sched *sched, uint32_t job);
// Room for one more value than `count`.
void *sched_grow(void *values, uint32_t *room, uint32_t count, size_t size,
                 struct weft_arena *arena);

// tally.c
void sched_advance(struct sched *sched);
void sched_tally(struct weft_timetable *schedule, const struct sched *sched,
                 struct weft_arena *arena, struct weft_arena scratch);

#endif
