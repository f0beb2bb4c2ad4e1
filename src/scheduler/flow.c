// SPDX-License-Identifier: Apache-2.0
// Steady states by an engine: all running jobs on the fabric together, by the flow or the packet
// engine in place of the model (steady.c). A demand becomes a task graph that alternates
// computation and transfers, a job with a task graph of its own plays that. Iterations count that
// lie in the window in which every job still iterates. The cost is a run of the engine for each set
// of running jobs, two or three with interleaving; the set's hash saves the run when nothing has
// changed.

#include "state.h"

#include <math.h>
#include <string.h>

// ---- a demand as a task graph ----

struct drawing {
    struct weft_task *tasks;
    uint32_t count;
    uint32_t *before;
    uint32_t *after;
    uint32_t edge_count;
};

static uint32_t add_task(struct drawing *drawing, struct weft_task task, uint32_t wait_for)
{
    if (wait_for != WEFT_NONE) {
        drawing->before[drawing->edge_count] = wait_for;
        drawing->after[drawing->edge_count++] = drawing->count;
    }
    drawing->tasks[drawing->count] = task;
    return drawing->count++;
}

// A barrier behind the tasks from `first` on.
static uint32_t join(struct drawing *drawing, uint32_t first)
{
    uint32_t last = drawing->count;
    uint32_t barrier = add_task(drawing, (struct weft_task){.kind = WEFT_TASK_BARRIER}, WEFT_NONE);
    for (uint32_t t = first; t < last; t++) {
        drawing->before[drawing->edge_count] = t;
        drawing->after[drawing->edge_count++] = barrier;
    }
    return barrier;
}

static uint32_t add_compute(struct drawing *drawing, uint32_t servers, uint64_t runtime_ps,
                            uint32_t wait_for)
{
    uint32_t first = drawing->count;
    for (uint32_t v = 0; v < servers; v++) {
        struct weft_task task = {.kind = WEFT_TASK_FORWARD, .device = v, .runtime_ps = runtime_ps};
        add_task(drawing, task, wait_for);
    }
    return join(drawing, first);
}

static uint32_t add_sending(struct drawing *drawing, const struct weft_job_flow *flows,
                            uint32_t flow_count, const struct weft_demand_phase *phase,
                            uint32_t wait_for)
{
    uint32_t first = drawing->count;
    double bytes = phase->rate_Bps * weft_seconds(phase->duration_ps);
    for (uint32_t f = 0; f < flow_count; f++) {
        struct weft_task task = {
            .kind = WEFT_TASK_TRANSFER,
            .size_bytes = (uint64_t)llround(bytes * flows[f].share_ratio),
            .from = flows[f].from,
            .to = flows[f].to,
        };
        add_task(drawing, task, wait_for);
    }
    return join(drawing, first);
}

static uint32_t list_flows(struct weft_job_flow **flows, const struct weft_job_class *class,
                           uint32_t size, struct weft_arena *arena)
{
    uint32_t count = 0;
    if (class->pattern == WEFT_JOB_FLOWS) {
        *flows = WEFT_NEW(arena, struct weft_job_flow, class->flow_count);
        if (class->flow_count > 0) {
            memcpy(*flows, class->flows, class->flow_count * sizeof **flows);
        }
        return class->flow_count;
    }
    *flows = WEFT_NEW(arena, struct weft_job_flow, (size_t)size * size);
    for (uint32_t i = 0; i < size; i++) {
        for (uint32_t step = 1; step < size; step++) {
            bool all = class->pattern == WEFT_JOB_ALL_TO_ALL;
            if (all || step == 1) {
                (*flows)[count++] =
                    (struct weft_job_flow){i, (i + step) % size, all ? 1.0 / (size - 1) : 1};
            }
        }
    }
    return count;
}

// A class's demand as a task graph: all servers compute through each pause, then all flows of a
// phase send its bytes, a barrier after each. Transfers end when they end, so that contention
// delays what follows.
static bool draw_graph(struct weft_taskgraph *graph, const struct weft_job_class *class,
                       uint32_t size, struct weft_arena *arena, struct weft_arena scratch,
                       struct weft_error *error)
{
    const struct weft_demand *demand = &class->demand;
    struct weft_job_flow *flows;
    uint32_t flow_count = list_flows(&flows, class, size, &scratch);
    size_t room = (size_t)(demand->phase_count + 1) * (size + flow_count + 2);
    struct drawing drawing = {
        .tasks = WEFT_NEW(&scratch, struct weft_task, room),
        .before = WEFT_NEW(&scratch, uint32_t, 2 * room),
        .after = WEFT_NEW(&scratch, uint32_t, 2 * room),
    };
    uint32_t last = WEFT_NONE;
    uint64_t at_ps = 0;
    for (uint32_t p = 0; p <= demand->phase_count; p++) {
        bool end = p == demand->phase_count;
        uint64_t start_ps = end ? demand->iteration_ps : demand->phases[p].start_ps;
        if (start_ps > at_ps) {
            last = add_compute(&drawing, size, start_ps - at_ps, last);
        }
        if (!end) {
            last = add_sending(&drawing, flows, flow_count, &demand->phases[p], last);
            at_ps = start_ps + demand->phases[p].duration_ps;
        }
    }
    uint32_t *servers = WEFT_NEW(arena, uint32_t, size);
    for (uint32_t v = 0; v < size; v++) {
        servers[v] = v;
    }
    weft_task_connect(drawing.tasks, drawing.count, drawing.before, drawing.after,
                      drawing.edge_count, &scratch);
    return weft_taskgraph_build(graph,
                                &(struct weft_taskgraph_draft){.server_count = size,
                                                               .device_count = size,
                                                               .device_server = servers,
                                                               .task_count = drawing.count,
                                                               .tasks = drawing.tasks},
                                arena, scratch, error);
}

// ---- a run ----

// Messages of a run whose marks are counted, at most: a bound on memory, not measured.
#define RECORDS_MAX (1u << 20)

struct flow_run {
    uint32_t count; // running jobs
    struct weft_sim_job *jobs;
    struct weft_job_timing *timings;
    struct weft_sim_options options;
    struct weft_sim_result result;
    double speed;
};

// Jobs and options of one run: as many iterations of each job as take the time that warm-up and
// window take for the longest. Graphs are kept with their job until its size changes.
static bool prepare(struct flow_run *run, struct sched *sched, struct weft_arena *arena,
                    struct weft_arena scratch)
{
    *run = (struct flow_run){
        .count = sched->running.count,
        .jobs = WEFT_NEW(arena, struct weft_sim_job, sched->running.count),
        .timings = WEFT_NEW(arena, struct weft_job_timing, sched->running.count),
        .options = sched->options->sim,
    };
    const struct weft_scheduler_options *options = sched->options;
    uint32_t iterations = options->warm_up + options->window;
    double longest_ps = 0;
    for (uint32_t i = 0; i < run->count; i++) {
        longest_ps = fmax(longest_ps, sched->jobs[sched->running.jobs[i]].place.alone_ps);
    }
    for (uint32_t i = 0; i < run->count; i++) {
        struct sched_job *job = &sched->jobs[sched->running.jobs[i]];
        if (job->graph == NULL || job->graph->server_count != job->size) {
            struct weft_taskgraph *graph = WEFT_NEW(sched->arena, struct weft_taskgraph, 1);
            if (!draw_graph(graph, job->class, job->size, sched->arena, scratch, sched->error)) {
                return false;
            }
            job->graph = graph;
        }
        double own = ceil(iterations * longest_ps / job->place.alone_ps);
        run->jobs[i] = (struct weft_sim_job){.graph = job->graph, .servers = job->place.servers};
        run->timings[i] = (struct weft_job_timing){
            .jitter_ratio = job->class->jitter_ratio,
            .iterations = (uint32_t)fmin(own, 1e6),
            .start_ps = (uint64_t)fmax(job->steady.wait_ps, 0),
        };
        run->options.iterations = run->options.iterations > run->timings[i].iterations
                                      ? run->options.iterations
                                      : run->timings[i].iterations;
    }
    run->options.timings = run->timings;
    run->options.engine = WEFT_ENGINE_FLOW;
    if (options->engine == WEFT_STEADY_PACKET) {
        run->options.engine = WEFT_ENGINE_PACKET;
        run->options.transport = WEFT_TRANSPORT_DCTCP;
        run->options.dctcp = WEFT_DCTCP_DEFAULTS;
        run->options.persistent = true;
        run->options.records.flow_limit = RECORDS_MAX;
    }
    run->options.stop = options->stop;
    return true;
}

// The span in which all jobs iterate: after the warm-up of the slowest, before the first ends.
static void measure_window(double *from_ps, double *until_ps, const struct flow_run *run,
                           const struct weft_scheduler_options *options)
{
    double warm = options->warm_up;
    double iterations = warm + options->window;
    *until_ps = (double)INFINITY;
    for (uint32_t i = 0; i < run->count; i++) {
        uint32_t last = run->timings[i].iterations - 1;
        *until_ps = fmin(*until_ps, (double)run->result.iteration_end_ps[i][last]);
    }
    *from_ps = *until_ps * warm / iterations;
}

// The i-th job's results from its iterations within the window, as steady_play would leave them:
// mean, bins and rate. Marks are counted apart (take_marks), since only the packet engine has them.
static void take(struct sched_job *job, const struct flow_run *run, uint32_t i, double from_ps,
                 double until_ps)
{
    const uint64_t *ends = run->result.iteration_end_ps[i];
    struct steady_job *steady = &job->steady;
    double total_ps = 0;
    uint32_t count = 0;
    memset(steady->bins, 0, SCHED_BINS * sizeof(float));
    for (uint32_t k = 1; k < run->timings[i].iterations; k++) {
        if ((double)ends[k - 1] >= from_ps && (double)ends[k] <= until_ps) {
            double span_ps = (double)(ends[k] - ends[k - 1]);
            steady->bins[sched_bin(span_ps / steady->compared_ps)]++;
            total_ps += span_ps;
            count++;
        }
    }
    // Too few fit in the window: all of them count.
    steady->mean_ps = count > 0 ? total_ps / count : (double)run->result.iteration_ps[i];
    for (uint32_t b = 0; b < SCHED_BINS && count > 0; b++) {
        steady->bins[b] /= (float)count;
    }
    if (count == 0) {
        steady->bins[sched_bin(steady->mean_ps / steady->compared_ps)] = 1;
    }
    steady->marks = 0;
    job->rate = job->step / steady->mean_ps;
}

// Packets of each job that came marked, an iteration; messages count where they end in the window.
static void take_marks(struct sched *sched, const struct flow_run *run, double from_ps,
                       double until_ps)
{
    const struct weft_records *records = &run->result.records;
    for (uint32_t f = 0; f < records->flow_count; f++) {
        const struct weft_flow_record *flow = &records->flows[f];
        if ((double)flow->end_ps > from_ps && (double)flow->end_ps <= until_ps) {
            struct steady_job *steady = &sched->jobs[sched->running.jobs[flow->job]].steady;
            steady->marks += flow->ecn_marks * steady->mean_ps / (until_ps - from_ps);
        }
    }
}

static bool run_once(struct flow_run *run, struct sched *sched, struct weft_arena *arena,
                     struct weft_arena scratch)
{
    if (!weft_sim_run_jobs(&run->result, sched->network, run->jobs, run->count, &run->options,
                           &(struct weft_environment){
                               .arena = arena, .scratch = scratch, .error = sched->error})) {
        return weft_wrap(sched->error, "jobs at %.6g s", weft_seconds(sched->now_ps));
    }
    double from_ps;
    double until_ps;
    measure_window(&from_ps, &until_ps, run, sched->options);
    run->speed = 0;
    for (uint32_t i = 0; i < run->count; i++) {
        struct sched_job *job = &sched->jobs[sched->running.jobs[i]];
        take(job, run, i, from_ps, until_ps);
        run->speed += job->place.alone_ps / job->steady.mean_ps;
    }
    take_marks(sched, run, from_ps, until_ps);
    return true;
}

// Starts at the time-shifts of each component.
static bool shift_starts(struct flow_run *run, struct sched *sched, struct weft_arena *arena,
                         struct weft_arena scratch)
{
    struct sched_affinity affinity;
    sched_affinity_build(&affinity, sched, 0, NULL, arena);
    bool *visited = WEFT_NEW(arena, bool, run->count);
    for (uint32_t i = 0; i < run->count; i++) {
        struct sched_component component;
        struct sched_shifts shifts;
        if (visited[i]) {
            continue;
        }
        sched_component_build(&component, sched, &affinity, i, visited,
                              &(struct weft_environment){.arena = arena, .scratch = scratch});
        if (component.link_count == 0) {
            continue;
        }
        if (!sched_shift(&shifts, sched, &component, SCHED_SHIFT, arena, scratch)) {
            return false;
        }
        uint32_t at = 0;
        for (uint32_t m = 0; m < component.job_count; m++) {
            while (sched->running.jobs[at] != component.jobs[m]) {
                at++;
            }
            run->timings[at].start_ps = (uint64_t)shifts.shift_ps[m];
            double *score = &sched->jobs[component.jobs[m]].place.score;
            *score = fmin(*score, shifts.score);
        }
        sched->totals.shared_count++;
    }
    return true;
}

static uint64_t sign(const struct sched *sched)
{
    uint64_t signature = weft_hash(sched->running.count);
    for (uint32_t i = 0; i < sched->running.count; i++) {
        uint32_t id = sched->running.jobs[i];
        signature =
            weft_hash(signature ^ (((uint64_t)id << 32) | sched->jobs[id].record->placements));
    }
    return signature;
}

bool sched_flow_rates(struct sched *sched, struct weft_arena scratch)
{
    uint64_t signature = sign(sched);
    if (sched->running.count == 0 || signature == sched->flow_signature) {
        return true;
    }
    sched->flow_signature = signature;
    sched->totals.steady_count++;
    struct weft_arena results = weft_arena_split(&scratch);
    struct flow_run run;
    if (!prepare(&run, sched, &results, scratch) || !run_once(&run, sched, &results, scratch)) {
        return false;
    }
    if (!sched->options->interleave) {
        return true;
    }
    uint64_t *free_ps = WEFT_NEW(&results, uint64_t, run.count);
    for (uint32_t i = 0; i < run.count; i++) {
        free_ps[i] = run.timings[i].start_ps;
    }
    double free_speed = run.speed;
    if (!shift_starts(&run, sched, &results, scratch) ||
        !run_once(&run, sched, &results, scratch)) {
        return false;
    }
    if (run.speed > free_speed * (1 + 1e-6)) {
        sched->totals.interleaved_count++;
        return true;
    }
    for (uint32_t i = 0; i < run.count; i++) {
        run.timings[i].start_ps = free_ps[i];
    }
    return run_once(&run, sched, &results, scratch);
}
