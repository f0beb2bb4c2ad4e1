// SPDX-License-Identifier: Apache-2.0
// What jobs have done and what it took them: work is added up between events at the present rate,
// and at the end means and percentiles over all iterations. Slowdowns are counted in logarithmic
// bins of half a percent, so that percentiles need no list of iterations. O(running jobs * bins) an
// event, O(jobs * bins log) at the end.

#include "state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// What the last checkpoint holds, when work went on at one rate from updated_ps to now_ps.
static void save_work(struct sched_job *job, uint64_t now_ps, uint64_t checkpoint_ps)
{
    if (checkpoint_ps == 0) {
        return;
    }
    uint64_t last_ps = now_ps - (now_ps - job->begin_ps) % checkpoint_ps;
    if (last_ps > job->updated_ps) {
        job->saved = job->done + job->rate * (double)(last_ps - job->updated_ps);
    }
}

void sched_advance(struct sched *sched)
{
    for (uint32_t i = 0; i < sched->running.count; i++) {
        struct sched_job *job = &sched->jobs[sched->running.jobs[i]];
        if (job->updated_ps == sched->now_ps) {
            continue;
        }
        double span_ps = (double)(sched->now_ps - job->updated_ps);
        double work = fmin(job->rate * span_ps, job->work - job->done);
        // The end falls on a whole picosecond.
        if (job->work - job->done - work <= job->rate) {
            work = job->work - job->done;
        }
        save_work(job, sched->now_ps, sched->trace->checkpoint_ps);
        job->done += work;
        job->saved = fmin(job->saved, job->done);
        job->updated_ps = sched->now_ps;
        double iterations = work / job->step;
        job->iterations += iterations;
        for (uint32_t b = 0; b < SCHED_BINS; b++) {
            job->bins[b] += iterations * (double)job->steady.bins[b];
        }
        job->record->iteration_mean_s += iterations * job->steady.mean_ps; // mended at the end
        job->record->ecn_marks += iterations * job->steady.marks;
    }
}

// ---- at the end ----

struct weighted {
    double value;
    double weight;
};

static int compare_weighted(const void *a, const void *b)
{
    const struct weighted *x = a;
    const struct weighted *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

// The least value that so much of the weight is not above.
static double quantile(struct weighted *values, uint32_t count, double ratio)
{
    double total = 0;
    qsort(values, count, sizeof *values, compare_weighted);
    for (uint32_t i = 0; i < count; i++) {
        total += values[i].weight;
    }
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += values[i].weight;
        if (sum >= ratio * total * (1 - 1e-12)) {
            return values[i].value;
        }
    }
    return 0;
}

struct sums {
    struct weighted *iterations; // [job * SCHED_BINS], those in use
    uint32_t iteration_count;
    struct weighted *values; // room for one a job
    double iteration_total;
    double time_total_s;
    double slowdown_total;
    double useful_server_s;
    double held_server_s;
};

static void tally_job(struct sums *sums, const struct sched_job *job)
{
    struct weft_job_record *record = job->record;
    struct weighted *own = sums->iterations + sums->iteration_count;
    uint32_t count = 0;
    record->alone_s = job->steady.compared_ps / (double)WEFT_PS_PER_S;
    for (uint32_t b = 0; b < SCHED_BINS; b++) {
        if (job->bins[b] > 0) {
            own[count++] = (struct weighted){sched_bin_value(b) * record->alone_s, job->bins[b]};
        }
    }
    record->iterations = job->done;
    double time_s = record->iteration_mean_s / (double)WEFT_PS_PER_S;
    record->iteration_mean_s = job->iterations > 0 ? time_s / job->iterations : 0;
    record->iteration_p99_s = quantile(own, count, 0.99);
    sums->iteration_count += count;
    sums->iteration_total += job->iterations;
    sums->time_total_s += time_s;
    sums->slowdown_total += time_s / record->alone_s;
    sums->useful_server_s += job->done * record->alone_s * job->class->server_count;
}

static void tally_times(struct weft_timetable *schedule, struct sums *sums,
                        const struct sched *sched)
{
    double queueing_s = 0;
    double completion_s = 0;
    for (uint32_t j = 0; j < sched->job_count; j++) {
        const struct weft_job_record *record = sched->jobs[j].record;
        double value_s = weft_seconds(record->end_ps - record->arrival_ps);
        sums->values[j] = (struct weighted){value_s, 1};
        completion_s += value_s;
    }
    schedule->completion_mean_s = completion_s / sched->job_count;
    schedule->completion_p99_s = quantile(sums->values, sched->job_count, 0.99);
    for (uint32_t j = 0; j < sched->job_count; j++) {
        const struct weft_job_record *record = sched->jobs[j].record;
        double value_s = weft_seconds(record->end_ps - record->arrival_ps - record->held_ps);
        sums->values[j] = (struct weighted){value_s, 1};
        queueing_s += value_s;
    }
    schedule->queueing_mean_s = queueing_s / sched->job_count;
    schedule->queueing_p99_s = quantile(sums->values, sched->job_count, 0.99);
}

static void tally_slowdowns(struct weft_timetable *schedule, struct sums *sums,
                            const struct sched *sched)
{
    schedule->iteration_p99_s = quantile(sums->iterations, sums->iteration_count, 0.99);
    double bins[SCHED_BINS] = {0};
    for (uint32_t j = 0; j < sched->job_count; j++) {
        for (uint32_t b = 0; b < SCHED_BINS; b++) {
            bins[b] += sched->jobs[j].bins[b];
        }
    }
    for (uint32_t b = 0; b < SCHED_BINS; b++) {
        sums->iterations[b] = (struct weighted){sched_bin_value(b), bins[b]};
    }
    schedule->slowdown_p99 = quantile(sums->iterations, SCHED_BINS, 0.99);
}

// Publishes the schedule: records of jobs, means weighted by iterations, percentiles from the bins,
// and utilization as server time held over servers times makespan.
void sched_tally(struct weft_timetable *schedule, const struct sched *sched,
                 struct weft_arena *arena, struct weft_arena scratch)
{
    size_t room = (size_t)(sched->job_count + 1) * SCHED_BINS;
    struct sums sums = {
        .iterations = WEFT_NEW_RAW(&scratch, struct weighted, room),
        .values = WEFT_NEW(&scratch, struct weighted, sched->job_count),
    };
    struct weft_job_record *records = WEFT_NEW(arena, struct weft_job_record, sched->job_count);
    *schedule = sched->totals;
    for (uint32_t j = 0; j < sched->job_count; j++) {
        tally_job(&sums, &sched->jobs[j]);
        records[j] = *sched->jobs[j].record;
        schedule->ecn_marks += records[j].ecn_marks;
        schedule->end_ps =
            records[j].end_ps > schedule->end_ps ? records[j].end_ps : schedule->end_ps;
    }
    for (uint32_t s = 0; s < sched->spans.count; s++) {
        const struct weft_job_span *span = &sched->spans.list[s];
        sums.held_server_s += weft_seconds(span->end_ps - span->start_ps) * span->server_count;
    }
    schedule->job_count = sched->job_count;
    schedule->jobs = records;
    schedule->span_count = sched->spans.count;
    schedule->spans = sched->spans.list;
    schedule->failure_count = sched->failures.past_count;
    schedule->failures = sched->failures.past;
    double iterations =
        fmax(sums.iteration_total, 1e-300); // where all were cut off before they began
    schedule->iteration_mean_s = sums.time_total_s / iterations;
    schedule->slowdown_mean = sums.slowdown_total / iterations;
    tally_times(schedule, &sums, sched);
    tally_slowdowns(schedule, &sums, sched);
    double room_s = weft_seconds(schedule->end_ps) * sched->servers.count;
    schedule->utilization = room_s > 0 ? sums.held_server_s / room_s : 0;
    schedule->useful_utilization = room_s > 0 ? sums.useful_server_s / room_s : 0;
}
