// SPDX-License-Identifier: Apache-2.0
// Steady states: how long the iterations of jobs that share links take once each job's pattern
// repeats.
//
// A discrete-event simulation with one event for each end of a phase. Between events rates are
// max-min fair between flows, by progressive filling (Bertsekas and Gallager, "Data Networks",
// section 6.5.2); all flows of a job go at one speed. A warm-up is left out, a window is measured;
// bins of slowdowns give the percentiles. ECN marks are estimated by DCTCP's steady state (Alizadeh
// et al., SIGCOMM 2010). O(events * (entries of full links + jobs)), bounded by WORK_MAX;
// docs/scheduler.md has the measured error.

#include "state.h"

#include <math.h>
#include <string.h>

// Bins of half a percent are the stated precision of percentiles; a slowdown of 1 stands in the
// middle of its bin.
#define BIN_RATIO 1.005
#define BIN_ONE 139.5
// What one steady state may cost, in links looked at: some 10 ms. Chosen with bench_schedule day
// (docs/scheduler.md, "A day on 1024 GPUs"), where it keeps random placement within a minute.
#define WORK_MAX 2.5e6
// Segments that end this close to one another end together.
#define TOGETHER_PS 0.5
// Of a period: what jobs may stray from one another (Cassini's agents allow 5 %).
#define STRAY_RATIO 0.05

uint32_t sched_bin(double slowdown)
{
    double bin = floor(log(slowdown) / log(BIN_RATIO) + BIN_ONE);
    return (uint32_t)fmin(fmax(bin, 0), SCHED_BINS - 1);
}

double sched_bin_value(uint32_t bin)
{
    return pow(BIN_RATIO, bin + 0.5 - BIN_ONE);
}

// Per link: progressive filling.
struct filling {
    double *left_Bps;  // of flows not yet fixed
    double *shares;    // flows not yet fixed; 0 where nobody sends
    double *asked_Bps; // by all who send
    double *link_Bps;  // the level that flows not yet fixed reach there
};

// Per link: the flows that mark_ratio was last called with, and its answer.
struct marked {
    double *flows;
    double *ratio;
};

// The links of each job, CSR.
struct job_links {
    uint32_t *first;
    uint32_t *link;
    double *share; // flows of the job on the link, as many as its mean flow makes
};

// What is counted from from_ps on, per job.
struct measured {
    double *began; // iterations, with the part of the one under way, at from_ps
    double *count; // ended since
    double *marks;
};

// A steady state under way. The lists of links and senders stay beside the arrays that they index:
// share_links, the inner loop, walks them together.
struct play {
    struct steady *steady;
    double now_ps;
    double from_ps;    // measured from here on
    double *speed;     // of the segment, 1 = full
    double *ask_Bps;   // of a flow of the job, in its present segment
    double *level_Bps; // what it gets
    double *rate_Bps;  // of the job
    bool *fixed;
    struct filling filling;
    uint32_t *used; // links over which somebody sends
    uint32_t used_count;
    uint32_t *full; // those of them that are asked for all they have: no other holds anybody up
    uint32_t full_count;
    uint32_t *open; // those of them with flows not yet fixed
    uint32_t open_count;
    uint32_t *senders; // jobs, not yet fixed
    uint32_t sender_count;
    struct marked marked;
    struct job_links job;
    struct measured measured;
};

void steady_begin(struct steady_job *job, double wait_ps)
{
    job->segment = 0;
    job->left_ps = job->segments[0].duration_ps;
    job->wait_ps = wait_ps;
    job->started_ps = wait_ps;
    job->compute_ratio = 1;
    job->iteration = 0;
    job->late_ps = 0;
}

// Normal from a hash, by Box and Muller (1958); beyond three deviations: three.
static double draw_ratio(const struct steady_job *job)
{
    if (job->jitter_ratio == 0) {
        return 1;
    }
    uint64_t first = weft_hash(job->seed ^ weft_hash(2 * job->iteration));
    uint64_t second = weft_hash(job->seed ^ weft_hash(2 * job->iteration + 1));
    double radius = sqrt(-2 * log(1 - (double)(first >> 11) * 0x1p-53));
    double normal = radius * cos(2 * M_PI * ((double)(second >> 11) * 0x1p-53));
    return 1 + job->jitter_ratio * fmax(-3, fmin(normal, 3));
}

// When the next iteration of a job begins: one that is ahead of the latest of its company by more
// than a stray waits for the difference, so that their time-shifts stay what they were.
static double next_begin(const struct steady *steady, struct steady_job *job, double now_ps)
{
    if (job->period_ps == 0) {
        return now_ps;
    }
    double due_ps = job->anchor_ps + (double)job->iteration * job->period_ps;
    double latest_ps = now_ps - due_ps;
    job->late_ps = latest_ps;
    for (uint32_t j = 0; j < steady->job_count; j++) {
        latest_ps = fmax(latest_ps, steady->jobs[j].late_ps);
    }
    double ahead_ps = latest_ps - job->late_ps;
    if (ahead_ps <= STRAY_RATIO * job->period_ps) {
        return now_ps;
    }
    job->late_ps = latest_ps;
    return now_ps + ahead_ps;
}

static void enter_segment(struct steady_job *job)
{
    const struct sched_segment *segment = &job->segments[job->segment];
    job->left_ps = segment->duration_ps * (segment->rate_Bps > 0 ? 1 : job->compute_ratio);
}

static void end_iteration(struct play *play, uint32_t j)
{
    struct steady_job *job = &play->steady->jobs[j];
    if (play->now_ps > play->from_ps) {
        play->measured.count[j]++;
        job->bins[sched_bin((play->now_ps - job->started_ps) / job->compared_ps)]++;
    }
    // Waiting to be in step belongs to the iteration that waits: times add up to the whole.
    job->started_ps = play->now_ps;
    job->iteration++;
    job->compute_ratio = draw_ratio(job);
    job->wait_ps = next_begin(play->steady, job, play->now_ps);
    job->segment = 0;
    enter_segment(job);
}

static void end_segment(struct play *play, uint32_t j)
{
    struct steady_job *job = &play->steady->jobs[j];
    if (job->segment + 1 < job->segment_count) {
        job->segment++;
        enter_segment(job);
    } else {
        end_iteration(play, j);
    }
}

static bool is_sending(const struct play *play, uint32_t j)
{
    const struct steady_job *job = &play->steady->jobs[j];
    return job->wait_ps <= play->now_ps && job->segments[job->segment].rate_Bps > 0;
}

// What a flow of a job asks in its present segment.
static double flow_ask(const struct steady_job *job)
{
    return job->segments[job->segment].rate_Bps * job->flow_ratio;
}

// The level that flows not yet fixed reach on a link; INFINITY where there are none.
static void set_level(struct play *play, uint32_t link)
{
    // What subtraction leaves of a sum of shares is no share.
    bool any = play->filling.shares[link] > 1e-9;
    double left_Bps = play->filling.left_Bps[link] > 0 ? play->filling.left_Bps[link] : 0;
    play->filling.link_Bps[link] = any ? left_Bps / play->filling.shares[link] : (double)INFINITY;
}

// Fixes a job's flows at a level: its links have that much less, for fewer.
static void fix_job(struct play *play, uint32_t j, double level_Bps)
{
    play->fixed[j] = true;
    play->level_Bps[j] = level_Bps;
    for (uint32_t e = play->job.first[j]; e < play->job.first[j + 1]; e++) {
        uint32_t link = play->job.link[e];
        play->filling.left_Bps[link] -= play->job.share[e] * level_Bps;
        play->filling.shares[link] -= play->job.share[e];
        set_level(play, link);
    }
}

static void fix_link(struct play *play, const struct steady_link *link, double level_Bps)
{
    for (uint32_t i = 0; i < link->job_count; i++) {
        if (!play->fixed[link->jobs[i]]) {
            fix_job(play, link->jobs[i], level_Bps);
        }
    }
}

// Counts what a job that sends asks of its links.
static void begin_job(struct play *play, uint32_t j)
{
    double ask_Bps = flow_ask(&play->steady->jobs[j]);
    play->ask_Bps[j] = ask_Bps;
    play->senders[play->sender_count++] = j;
    for (uint32_t e = play->job.first[j]; e < play->job.first[j + 1]; e++) {
        uint32_t link = play->job.link[e];
        if (play->filling.shares[link] == 0) {
            play->used[play->used_count++] = link;
            play->filling.asked_Bps[link] = 0;
            play->filling.left_Bps[link] = play->steady->links[link].capacity_Bps;
        }
        play->filling.shares[link] += play->job.share[e];
        play->filling.asked_Bps[link] += play->job.share[e] * ask_Bps;
    }
}

// All who do not send are fixed at 0; what the others ask is counted.
static void begin_sharing(struct play *play)
{
    const struct steady *steady = play->steady;
    while (play->used_count > 0) {
        play->filling.shares[play->used[--play->used_count]] = 0;
    }
    play->sender_count = 0;
    for (uint32_t j = 0; j < steady->job_count; j++) {
        play->fixed[j] = !is_sending(play, j);
        play->level_Bps[j] = 0;
        play->rate_Bps[j] = 0;
        play->speed[j] = 1;
        if (!play->fixed[j]) {
            begin_job(play, j);
        }
    }
    play->full_count = 0;
    for (uint32_t u = 0; u < play->used_count; u++) {
        uint32_t link = play->used[u];
        if (play->filling.asked_Bps[link] >= steady->links[link].capacity_Bps * (1 - 1e-9)) {
            play->full[play->full_count++] = link;
        }
    }
}

// The least level of a link with flows not yet fixed; INFINITY where none is left. Those without
// any leave open[].
static double next_level(struct play *play)
{
    double level_Bps = (double)INFINITY;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < play->open_count; i++) {
        uint32_t link = play->open[i];
        double here_Bps = play->filling.link_Bps[link];
        if (!isinf(here_Bps)) {
            play->open[kept++] = link;
            level_Bps = here_Bps < level_Bps ? here_Bps : level_Bps;
        }
    }
    play->open_count = kept;
    return level_Bps;
}

// Fixes the jobs that ask no more than a level, at what they ask. True if there were any.
static bool fix_modest(struct play *play, double level_Bps)
{
    uint32_t kept = 0;
    uint32_t count = play->sender_count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t j = play->senders[i];
        if (!play->fixed[j] && play->ask_Bps[j] <= level_Bps) {
            fix_job(play, j, play->ask_Bps[j]);
        } else if (!play->fixed[j]) {
            play->senders[kept++] = j;
        }
    }
    play->sender_count = kept;
    return kept < count;
}

// Max-min fair levels of flows by progressive filling (Bertsekas and Gallager, 6.5.2): all flows
// rise together until a link is full or a job asks no more; what is fixed below a level only
// raises those of links. Links that have enough for all that they are asked are never full, so
// that only the others are looked at.
static void share_links(struct play *play)
{
    struct steady *steady = play->steady;
    begin_sharing(play);
    for (uint32_t i = 0; i < play->full_count; i++) {
        play->open[i] = play->full[i];
        set_level(play, play->full[i]);
    }
    play->open_count = play->full_count;
    while (play->sender_count > 0) {
        double near_Bps = next_level(play) * (1 + 1e-12);
        if (fix_modest(play, near_Bps)) {
            continue;
        }
        for (uint32_t i = 0; i < play->open_count; i++) {
            uint32_t link = play->open[i];
            if (play->filling.link_Bps[link] <= near_Bps) {
                fix_link(play, &steady->links[link], play->filling.link_Bps[link]);
            }
        }
    }
    for (uint32_t j = 0; j < steady->job_count; j++) {
        if (is_sending(play, j)) {
            // A standstill would never end: rates are as good as 0 only where shares are huge.
            play->speed[j] = fmax(play->level_Bps[j] / play->ask_Bps[j], 1e-9);
            play->rate_Bps[j] = play->level_Bps[j] / steady->jobs[j].flow_ratio;
        }
    }
}

// Of packets over a full link with `flows` flows DCTCP marks the part a of which a^2 (1 - a/4) =
// (2 w + 1) / (w + 1)^2, w the window at which marking starts (Alizadeh et al., SIGCOMM 2010,
// section 3.3): about sqrt(2 / w).
static double mark_ratio(const struct steady *steady, double capacity_Bps, double flows)
{
    double pipe_bytes = capacity_Bps * steady->round_trip_ps / (double)WEFT_PS_PER_S;
    double window = (pipe_bytes + steady->mark_bytes) / (steady->packet_bytes * fmax(flows, 1));
    double right = (2 * window + 1) / ((window + 1) * (window + 1));
    double ratio = fmin(sqrt(right), 1);
    for (int i = 0; i < 4; i++) {
        ratio = fmin(sqrt(right / (1 - ratio / 4)), 1);
    }
    return ratio;
}

// Adds the marks of a span between events. Only full links with two senders have a queue in the
// model; the ratio of the last number of flows is kept, as it changes seldom.
static void count_marks(struct play *play, double span_ps)
{
    const struct steady *steady = play->steady;
    for (uint32_t f = 0; f < play->full_count; f++) {
        uint32_t l = play->full[f];
        const struct steady_link *link = &steady->links[l];
        double carried_Bps = 0;
        double flows = 0;
        uint32_t senders = 0;
        for (uint32_t i = 0; i < link->job_count; i++) {
            bool sends = play->rate_Bps[link->jobs[i]] > 0;
            carried_Bps += link->shares[i] * play->rate_Bps[link->jobs[i]];
            flows += sends ? link->flows[i] : 0;
            senders += sends;
        }
        if (senders < 2 || carried_Bps < link->capacity_Bps * (1 - 1e-9)) {
            continue; // no queue
        }
        if (flows != play->marked.flows[l]) {
            play->marked.flows[l] = flows;
            play->marked.ratio[l] = mark_ratio(steady, link->capacity_Bps, flows);
        }
        double packets = span_ps / (double)WEFT_PS_PER_S / steady->packet_bytes * link->copies;
        for (uint32_t i = 0; i < link->job_count; i++) {
            uint32_t j = link->jobs[i];
            double carried = link->shares[i] * play->rate_Bps[j] * packets;
            play->measured.marks[j] += play->marked.ratio[l] * carried;
        }
    }
}

// Iterations since the beginning, with the part of the one under way.
static double position(const struct steady_job *job)
{
    double ahead_ps = 0;
    for (uint32_t s = job->segment + 1; s < job->segment_count; s++) {
        ahead_ps += job->segments[s].duration_ps;
    }
    double left_ps = fmin(job->left_ps, job->segments[job->segment].duration_ps);
    return (double)job->iteration + 1 - (ahead_ps + left_ps) / job->alone_ps;
}

static double next_event(const struct play *play)
{
    double next_ps = (double)INFINITY;
    for (uint32_t j = 0; j < play->steady->job_count; j++) {
        const struct steady_job *job = &play->steady->jobs[j];
        bool waits = job->wait_ps > play->now_ps;
        double end_ps = waits ? job->wait_ps : play->now_ps + job->left_ps / play->speed[j];
        next_ps = end_ps < next_ps ? end_ps : next_ps;
    }
    return next_ps;
}

static void move_to(struct play *play, double next_ps)
{
    double span_ps = next_ps - play->now_ps;
    if (play->now_ps >= play->from_ps) {
        count_marks(play, span_ps);
    }
    for (uint32_t j = 0; j < play->steady->job_count; j++) {
        struct steady_job *job = &play->steady->jobs[j];
        if (job->wait_ps <= play->now_ps) {
            job->left_ps -= span_ps * play->speed[j];
        }
    }
    play->now_ps = next_ps;
}

static void play_until(struct play *play, double end_ps)
{
    struct steady *steady = play->steady;
    while (play->now_ps < end_ps) {
        share_links(play);
        double next_ps = fmin(next_event(play), end_ps);
        move_to(play, next_ps);
        for (uint32_t j = 0; j < steady->job_count; j++) {
            struct steady_job *job = &steady->jobs[j];
            if (job->wait_ps <= play->now_ps && job->left_ps <= TOGETHER_PS * play->speed[j]) {
                end_segment(play, j);
            }
        }
    }
}

static void take_results(struct play *play, uint32_t j)
{
    struct steady_job *job = &play->steady->jobs[j];
    double span_ps = play->now_ps - play->from_ps;
    double iterations = position(job) - play->measured.began[j];
    job->mean_ps = span_ps / fmax(iterations, 1e-9);
    job->marks = play->measured.marks[j] / fmax(iterations, 1e-9);
    if (play->measured.count[j] == 0) {
        job->bins[sched_bin(job->mean_ps / job->compared_ps)] = 1;
    }
    for (uint32_t b = 0; b < SCHED_BINS && play->measured.count[j] > 0; b++) {
        job->bins[b] = (float)((double)job->bins[b] / play->measured.count[j]);
    }
    // The next steady state begins at 0.
    job->wait_ps = fmax(job->wait_ps - play->now_ps, 0);
    job->started_ps -= play->now_ps;
}

static void list_links(struct play *play, struct weft_arena *scratch)
{
    const struct steady *steady = play->steady;
    uint32_t *first = WEFT_NEW(scratch, uint32_t, (size_t)steady->job_count + 1);
    for (uint32_t l = 0; l < steady->link_count; l++) {
        for (uint32_t i = 0; i < steady->links[l].job_count; i++) {
            first[steady->links[l].jobs[i] + 1]++;
        }
    }
    for (uint32_t j = 0; j < steady->job_count; j++) {
        first[j + 1] += first[j];
    }
    play->job.first = first;
    play->job.link = WEFT_NEW(scratch, uint32_t, first[steady->job_count]);
    play->job.share = WEFT_NEW(scratch, double, first[steady->job_count]);
    uint32_t *filled = WEFT_NEW(scratch, uint32_t, steady->job_count);
    for (uint32_t l = 0; l < steady->link_count; l++) {
        for (uint32_t i = 0; i < steady->links[l].job_count; i++) {
            uint32_t j = steady->links[l].jobs[i];
            uint32_t at = first[j] + filled[j]++;
            play->job.link[at] = l;
            play->job.share[at] = steady->links[l].shares[i] / steady->jobs[j].flow_ratio;
        }
    }
}

// How many iterations of the longest job are played: all that are asked for, as far as the work
// allows.
static double count_iterations(const struct play *play, double longest_ps)
{
    const struct steady *steady = play->steady;
    double events = 0;
    for (uint32_t j = 0; j < steady->job_count; j++) {
        events += steady->jobs[j].segment_count * longest_ps / steady->jobs[j].alone_ps;
    }
    double work = events * (play->job.first[steady->job_count] + 4.0 * steady->link_count + 50);
    return fmin(steady->warm_up + steady->window, fmax(WORK_MAX / work, 4));
}

void steady_play(struct steady *steady, struct weft_arena scratch)
{
    uint32_t count = steady->job_count;
    struct play play = {
        .steady = steady,
        .filling.left_Bps = WEFT_NEW(&scratch, double, steady->link_count),
        .filling.shares = WEFT_NEW(&scratch, double, steady->link_count),
        .filling.asked_Bps = WEFT_NEW(&scratch, double, steady->link_count),
        .used = WEFT_NEW(&scratch, uint32_t, steady->link_count),
        .full = WEFT_NEW(&scratch, uint32_t, steady->link_count),
        .open = WEFT_NEW(&scratch, uint32_t, steady->link_count),
        .filling.link_Bps = WEFT_NEW(&scratch, double, steady->link_count),
        .marked.flows = WEFT_NEW(&scratch, double, steady->link_count),
        .marked.ratio = WEFT_NEW(&scratch, double, steady->link_count),
        .speed = WEFT_NEW(&scratch, double, count),
        .ask_Bps = WEFT_NEW(&scratch, double, count),
        .level_Bps = WEFT_NEW(&scratch, double, count),
        .rate_Bps = WEFT_NEW(&scratch, double, count),
        .senders = WEFT_NEW(&scratch, uint32_t, count),
        .fixed = WEFT_NEW(&scratch, bool, count),
        .measured.began = WEFT_NEW(&scratch, double, count),
        .measured.count = WEFT_NEW(&scratch, double, count),
        .measured.marks = WEFT_NEW(&scratch, double, count),
    };
    double longest_ps = 0;
    for (uint32_t j = 0; j < count; j++) {
        longest_ps = fmax(longest_ps, fmax(steady->jobs[j].alone_ps, steady->jobs[j].period_ps));
        memset(steady->jobs[j].bins, 0, SCHED_BINS * sizeof(float));
    }
    list_links(&play, &scratch);
    double iterations = count_iterations(&play, longest_ps);
    double warm = iterations * steady->warm_up / (steady->warm_up + steady->window);
    play.from_ps = (double)INFINITY;
    play_until(&play, warm * longest_ps);
    play.from_ps = play.now_ps;
    for (uint32_t j = 0; j < count; j++) {
        play.measured.began[j] = position(&steady->jobs[j]);
    }
    play_until(&play, iterations * longest_ps);
    for (uint32_t j = 0; j < count; j++) {
        take_results(&play, j);
    }
}
