// SPDX-License-Identifier: Apache-2.0
// Which waiting job gets servers next, and which ones: placements are drawn as the policy says
// (place.c), laid on the fabric's links (uses.c) and ranked by how well the job's circle fits those
// of the jobs it would share links with (shift.c), as CASSINI does (Rajasekaran, Ghobadi, Kumar and
// Akella, NSDI 2024). Under Themis (Mahajan et al., NSDI 2020) and Pollux (Qiao et al.,
// OSDI 2021) servers are taken back and sizes set before queues are served.

#include "state.h"

#include <math.h>
#include <string.h>

// Scores that are no further apart are equal: rounding of sums, far below what decides.
#define SCORE_EQUAL 1e-9

// A candidate placement, and the company it would have.
struct candidate {
    struct sched_place place;
    struct sched_component component;
    double bound; // no time-shifts have a higher score
    bool scored;
};

static void meet_company(struct candidate *candidate, const struct sched *sched, uint32_t job,
                         struct weft_arena *arena, struct weft_arena scratch)
{
    struct sched_affinity affinity;
    sched_affinity_build(&affinity, sched, job, &candidate->place, arena);
    bool *visited = WEFT_NEW(arena, bool, affinity.job_count);
    sched_component_build(&candidate->component, sched, &affinity, sched->running.count, visited,
                          &(struct weft_environment){.arena = arena, .scratch = scratch});
    candidate->bound = sched_score_bound(&candidate->component, SCHED_RANK);
}

static bool score_place(struct candidate *candidate, const struct sched *sched,
                        struct weft_arena scratch)
{
    struct weft_arena results = weft_arena_split(&scratch);
    struct sched_shifts shifts = {.score = 1};
    if (candidate->component.link_count > 0 &&
        !sched_shift(&shifts, sched, &candidate->component, SCHED_RANK, &results, scratch)) {
        return false;
    }
    candidate->place.score = shifts.score;
    candidate->scored = true;
    return true;
}

// The best of the candidates by score, the first of equal ones. Those whose bound is no better than
// a score that was found are not looked at: highest bounds first.
static bool rank(uint32_t *best, struct candidate *candidates, uint32_t count,
                 const struct sched *sched, struct weft_arena scratch)
{
    double score = -(double)INFINITY;
    for (;;) {
        uint32_t next = WEFT_NONE;
        for (uint32_t c = 0; c < count; c++) {
            const struct candidate *candidate = &candidates[c];
            double least = score + (c < *best ? -SCORE_EQUAL : SCORE_EQUAL);
            if (!candidate->scored && candidate->bound > least &&
                (next == WEFT_NONE || candidate->bound > candidates[next].bound)) {
                next = c;
            }
        }
        if (next == WEFT_NONE) {
            return true;
        }
        if (!score_place(&candidates[next], sched, scratch)) {
            return false;
        }
        double least = score + (next < *best ? -SCORE_EQUAL : SCORE_EQUAL);
        if (candidates[next].place.score > least) {
            score = candidates[next].place.score;
            *best = next;
        }
    }
}

// The best of the candidates that have paths: the first, or with interleaving the most compatible
// one. *found says whether there is any. The place lives in `arena`.
static bool choose_place(struct sched_place *best, bool *found, const struct sched *sched,
                         uint32_t job, struct weft_arena *arena, struct weft_arena scratch)
{
    const struct weft_scheduler_options *options = sched->options;
    uint32_t limit = options->candidates == 0 ? 10 : options->candidates;
    struct weft_arena results = weft_arena_split(&scratch);
    uint32_t **servers = WEFT_NEW(&results, uint32_t *, limit);
    struct candidate *candidates = WEFT_NEW(&results, struct candidate, limit);
    uint32_t size = sched->jobs[job].size;
    uint32_t drawn =
        sched_candidates(servers, limit, sched, job, size,
                         &(struct weft_environment){.arena = &results, .scratch = scratch});
    uint32_t count = 0;
    for (uint32_t c = 0; c < drawn && (count == 0 || options->interleave); c++) {
        struct candidate *candidate = &candidates[count];
        if (!sched_lay(&candidate->place, sched, job, servers[c], size,
                       &(struct weft_environment){.arena = arena, .scratch = scratch})) {
            continue;
        }
        count++;
        if (options->interleave) {
            meet_company(candidate, sched, job, &results, scratch);
        }
    }
    uint32_t chosen = WEFT_NONE;
    if (options->interleave && !rank(&chosen, candidates, count, sched, scratch)) {
        return false;
    }
    *found = count > 0;
    if (*found) {
        *best = candidates[options->interleave ? chosen : 0].place;
    }
    return true;
}

// How much longer a job takes than on servers of its own: Themis' finish-time fairness, with what
// is left at the present speed (Mahajan et al., "Themis", NSDI 2020, section 3.1).
static double unfairness(const struct sched *sched, const struct sched_job *job)
{
    double alone_ps = (double)job->class->demand.iteration_ps;
    double rate = job->phase == SCHED_RUNNING && job->rate > 0 ? job->rate : 1 / alone_ps;
    double passed_ps = (double)(sched->now_ps - job->record->arrival_ps);
    return (passed_ps + (job->work - job->done) / rate) / (job->work * alone_ps);
}

static void order_by_unfairness(uint32_t *order, uint32_t count, const struct sched *sched)
{
    for (uint32_t i = 1; i < count; i++) {
        uint32_t job = order[i];
        double value = unfairness(sched, &sched->jobs[job]);
        uint32_t at = i;
        for (; at > 0 && unfairness(sched, &sched->jobs[order[at - 1]]) < value; at--) {
            order[at] = order[at - 1];
        }
        order[at] = job;
    }
}

bool sched_allocate(struct sched *sched, struct weft_arena scratch)
{
    enum weft_policy policy = sched->options->policy;
    if (sched->network == NULL) {
        return sched_allocate_shards(sched, scratch);
    }
    if (policy == WEFT_POLICY_THEMIS) {
        sched_themis(sched, scratch);
    } else if (policy == WEFT_POLICY_POLLUX) {
        sched_pollux(sched, scratch);
    }
    uint32_t count = sched->waiting.count;
    uint32_t *order = WEFT_NEW(&scratch, uint32_t, count);
    memcpy(order, sched->waiting.jobs, count * sizeof *order);
    if (policy == WEFT_POLICY_THEMIS) {
        order_by_unfairness(order, count, sched);
    }
    bool in_order = policy != WEFT_POLICY_THEMIS && policy != WEFT_POLICY_POLLUX;
    for (uint32_t i = 0; i < count; i++) {
        struct sched_place place;
        bool found = false;
        if (!choose_place(&place, &found, sched, order[i], sched->arena, scratch)) {
            return false;
        }
        if (!found && in_order) {
            return true; // first come, first served: nobody overtakes
        }
        if (found) {
            bool again = sched->jobs[order[i]].record->placements > 0;
            sched_start(sched, order[i], &place,
                        sched->now_ps + (again ? sched->trace->restart_ps : 0));
        }
    }
    return true;
}

// ---- Themis ----

// Leases that have run out are renewed or taken back: jobs that wait and those whose lease is over
// get servers in order of their unfairness while there are enough. (Themis auctions servers among
// the worst-off part of the jobs, in parts of an allocation; here a job bids for all its servers.)
void sched_themis(struct sched *sched, struct weft_arena scratch)
{
    uint32_t *order = WEFT_NEW(&scratch, uint32_t, sched->waiting.count + sched->running.count);
    uint32_t count = 0;
    uint32_t room = 0;
    for (uint32_t v = 0; v < sched->servers.count; v++) {
        room += sched_usable(sched, v);
    }
    for (uint32_t i = 0; i < sched->running.count; i++) {
        struct sched_job *job = &sched->jobs[sched->running.jobs[i]];
        if (job->lease_end_ps <= sched->now_ps) {
            room += job->size;
            order[count++] = sched->running.jobs[i];
        }
    }
    for (uint32_t i = 0; i < sched->waiting.count && count > 0; i++) {
        order[count++] = sched->waiting.jobs[i];
    }
    order_by_unfairness(order, count, sched);
    for (uint32_t i = 0; i < count; i++) {
        struct sched_job *job = &sched->jobs[order[i]];
        bool fits = job->size <= room;
        room -= fits ? job->size : 0;
        if (job->phase == SCHED_RUNNING && fits) {
            job->lease_end_ps = sched->now_ps + sched->options->lease_ps;
        } else if (job->phase == SCHED_RUNNING) {
            sched_stop(sched, order[i], SCHED_WAITING, false);
        }
    }
}

// ---- Pollux ----

// What one more doubling brings for each server it takes; negative: none is possible.
static double gain_of_doubling(const struct weft_job_class *class, uint32_t size, uint32_t room)
{
    if (2 * size > class->servers_max || size > room) {
        return -1;
    }
    return (1 / sched_step(class, size) - 1 / sched_step(class, 2 * size)) / size;
}

struct sizes {
    uint32_t count;
    uint32_t *jobs; // ascending: by arrival
    uint32_t *size; // 0 = none
    uint32_t room;  // servers left
};

// Sizes for all jobs by greedy marginal gain: every job that fits gets its least size, in order of
// arrival, then the doubling with the largest gain a server is taken until none gains or fits.
// O(jobs) a doubling.
static void find_sizes(struct sizes *sizes, const struct sched *sched)
{
    for (uint32_t i = 0; i < sizes->count; i++) {
        uint32_t least = sched->jobs[sizes->jobs[i]].class->servers_min;
        sizes->size[i] = least <= sizes->room ? least : 0;
        sizes->room -= sizes->size[i];
    }
    for (;;) {
        uint32_t best = WEFT_NONE;
        double best_gain = 0;
        for (uint32_t i = 0; i < sizes->count; i++) {
            double gain = sizes->size[i] == 0 ? -1
                                              : gain_of_doubling(sched->jobs[sizes->jobs[i]].class,
                                                                 sizes->size[i], sizes->room);
            if (gain > best_gain) {
                best = i;
                best_gain = gain;
            }
        }
        if (best == WEFT_NONE) {
            return;
        }
        sizes->room -= sizes->size[best];
        sizes->size[best] *= 2;
    }
}

// Sizes of all jobs anew at each renewal: as many jobs as can be, in order of arrival, then
// doublings by what they take off the sum of 1 / speed-up, whose inverse Pollux maximises (power
// mean of exponent -1). A running job moves only for a tenth more. (Pollux searches placements
// genetically and adapts batch size and learning rate within a job's servers, too.)
void sched_pollux(struct sched *sched, struct weft_arena scratch)
{
    if (sched->now_ps < sched->next_lease_ps) {
        return;
    }
    sched->next_lease_ps = sched->now_ps + sched->options->lease_ps;
    struct sizes sizes = {
        .jobs = WEFT_NEW(&scratch, uint32_t, sched->job_count),
        .size = WEFT_NEW(&scratch, uint32_t, sched->job_count),
    };
    for (uint32_t j = 0; j < sched->next_arrival; j++) {
        enum sched_phase phase = sched->jobs[j].phase;
        if (phase == SCHED_WAITING || phase == SCHED_RUNNING) {
            sizes.jobs[sizes.count++] = j;
        }
    }
    for (uint32_t v = 0; v < sched->servers.count; v++) {
        bool runs = sched->servers.holder[v] != WEFT_NONE &&
                    sched->jobs[sched->servers.holder[v]].phase == SCHED_RUNNING;
        sizes.room += sched_usable(sched, v) || (runs && sched->servers.down[v] == 0);
    }
    find_sizes(&sizes, sched);
    for (uint32_t i = 0; i < sizes.count; i++) {
        struct sched_job *job = &sched->jobs[sizes.jobs[i]];
        uint32_t size = sizes.size[i];
        if (job->phase == SCHED_WAITING) {
            job->size = size == 0 ? job->class->servers_min : size;
        } else if (size == 0 || size < job->size ||
                   sched_step(job->class, size) > 1.1 * sched_step(job->class, job->size)) {
            sched_stop(sched, sizes.jobs[i], SCHED_WAITING, false);
            job->size = size == 0 ? job->class->servers_min : size;
        }
    }
}
