// SPDX-License-Identifier: Apache-2.0
// Many jobs on one cluster over time: a trace is read with the files that its classes name, each
// class is measured alone on the cluster's ports, and weft_scheduler_run plays the jobs
// (docs/scheduler.md).

#include "weft/request/schedule.h"
#include "weft/format.h"
#include "weft/plan.h"
#include "weft/request/parameter.h"

#include <string.h>

// What is made of a request, step by step.
struct work {
    const struct weft_schedule_request *request;
    struct weft_request_environment *environment;
    struct weft_schedule_result result;
    struct weft_network network; // unless every job has a shard of its own
};

// Phases of a demand that is measured on a task graph: more follow it nearer and cost each steady
// state more. Not measured.
#define PHASES 24u

// A file that a trace names stands beside the trace.
static const char *beside(const struct work *work, const char *path)
{
    const char *slash = strrchr(work->request->path, '/');
    if (path[0] == '/' || slash == NULL) {
        return path;
    }
    return weft_arena_format(work->environment->base.arena, "%.*s/%s",
                             (int)(slash - work->request->path), work->request->path, path);
}

static bool load_plan(const struct weft_plan **plan, const struct work *work, const char *path)
{
    const struct weft_environment *base = &work->environment->base;
    struct weft_plan *loaded = WEFT_NEW(base->arena, struct weft_plan, 1);
    if (!weft_plan_load(loaded, path, base->arena, base->scratch, base->error)) {
        return false;
    }
    if (loaded->flaws.count > 0) {
        return weft_fail(base->error, WEFT_INPUT, "%s: %s; see weft check", path,
                         loaded->flaws.items[0].text);
    }
    *plan = loaded;
    return true;
}

// The best shard that Weft finds for the job: d ports of B a server, a topology of its own.
static bool plan_shard(struct weft_job_class *class, const struct work *work)
{
    const struct weft_environment *base = &work->environment->base;
    struct weft_cluster shard = work->result.trace.cluster;
    struct weft_plan_options options = {.sim = weft_request_task_packets(base->seed)};
    shard.server_count = class->server_count;
    struct weft_plan *plan = WEFT_NEW(base->arena, struct weft_plan, 1);
    struct weft_environment once = *base;
    struct weft_arena results = weft_arena_split(&once.scratch);
    once.arena = &results;
    if (!weft_plan_build(plan, class->graph, &shard, &options, &once)) {
        return false;
    }
    class->shard_iteration_ps = weft_picoseconds(plan->iteration_s);
    return true;
}

// Measures one class of jobs: its demand, from the task graph of its file or of its plan, played
// alone on the cluster's ports; and its iteration on a shard of its own, where the trace gives jobs
// shards.
static bool load_class(struct weft_job_class *class, const struct work *work)
{
    const struct weft_environment *base = &work->environment->base;
    const struct weft_plan *plan = NULL;
    const struct weft_taskgraph *graph = NULL;
    if (class->plan_path != NULL) {
        const char *path = beside(work, class->plan_path);
        if (!load_plan(&plan, work, path)) {
            return false;
        }
        class->shard_iteration_ps = weft_picoseconds(plan->iteration_s);
        graph = plan->job == NULL ? NULL : &plan->job->graph;
        if (graph == NULL && class->job_path == NULL) {
            return weft_fail(base->error, WEFT_INPUT,
                             "%s: the plan does not hold its job; name that, too, as job", path);
        }
    }
    if (class->job_path != NULL) {
        struct weft_loaded_job *job = WEFT_NEW(base->arena, struct weft_loaded_job, 1);
        const struct weft_request_trace nothing = {.groups_path = NULL};
        if (!weft_request_load(job, beside(work, class->job_path), &nothing, work->environment)) {
            return false;
        }
        graph = &job->fbuf.graph;
    }
    const struct weft_cluster *cluster = &work->result.trace.cluster;
    struct weft_sim_options sim = weft_request_task_packets(base->seed);
    sim.seed = base->seed;
    if (!weft_job_class_measure(class, graph, cluster->rate_Bps * cluster->degree, &sim, PHASES,
                                &(struct weft_environment){.arena = base->arena,
                                                           .scratch = base->scratch,
                                                           .error = base->error})) {
        return false;
    }
    bool shard = work->result.trace.shards.dedicated && class->shard_iteration_ps == 0;
    return !shard || plan_shard(class, work);
}

// Classes of one file are measured once.
static const struct weft_job_class *find_like(const struct weft_job_class *classes, uint32_t count,
                                              const struct weft_job_class *class)
{
    for (uint32_t c = 0; c < count; c++) {
        bool plans =
            (classes[c].plan_path == NULL) == (class->plan_path == NULL) &&
            (class->plan_path == NULL || strcmp(classes[c].plan_path, class->plan_path) == 0);
        bool jobs = (classes[c].job_path == NULL) == (class->job_path == NULL) &&
                    (class->job_path == NULL || strcmp(classes[c].job_path, class->job_path) == 0);
        if (plans && jobs) {
            return &classes[c];
        }
    }
    return NULL;
}

// Measures the classes that name files; a class of the same files as an earlier one takes that
// one's measurements and keeps what the trace says of itself.
static bool load_classes(struct work *work)
{
    const struct weft_environment *base = &work->environment->base;
    uint32_t count = work->result.trace.class_count;
    struct weft_job_class *classes = WEFT_NEW(base->arena, struct weft_job_class, count);
    for (uint32_t c = 0; c < count; c++) {
        classes[c] = work->result.trace.classes[c];
        if (classes[c].job_path == NULL && classes[c].plan_path == NULL) {
            continue;
        }
        const struct weft_job_class *like = find_like(classes, c, &classes[c]);
        if (like != NULL) {
            struct weft_job_class own = classes[c];
            classes[c] = *like;
            classes[c].name = own.name;
            classes[c].weight = own.weight;
            classes[c].jitter_ratio = own.jitter_ratio;
            classes[c].iterations = own.iterations;
            classes[c].duration_ps = own.duration_ps;
        } else if (!load_class(&classes[c], work)) {
            return weft_wrap(base->error, "%s: class %s", work->request->path, classes[c].name);
        }
    }
    work->result.trace.classes = classes;
    return true;
}

// The cluster: that of {cluster}, else of the file that the trace names, else the trace's own. What
// else the request says of hardware wins over each.
static bool load_cluster(struct work *work)
{
    struct weft_error *error = work->environment->base.error;
    struct weft_job_trace *trace = &work->result.trace;
    struct weft_request_hardware hardware = work->request->hardware;
    if (hardware.cluster_path == NULL && trace->cluster_path != NULL) {
        hardware.cluster_path = beside(work, trace->cluster_path);
    }
    if (hardware.cluster_path != NULL) {
        const struct weft_request_cluster_need need = {.one_path = true};
        return weft_request_cluster(&trace->cluster, &hardware, &need, work->environment);
    }
    if (trace->cluster.server_count == 0) {
        return weft_fail(error, WEFT_INPUT,
                         "%s: cluster: missing; write its keys or the name of its file, or "
                         "{cluster=FILE}",
                         work->request->path);
    }
    return weft_request_cluster_over(&trace->cluster, &hardware, work->environment);
}

// How a pair's bytes take its paths. {balance} decides, else the trace's spread, else the cluster's
// balance. Where nobody says, a server of one port sends each flow by one path, and one of several
// uses all of them, which one path could not fill.
static void choose_spread(struct work *work)
{
    struct weft_job_trace *trace = &work->result.trace;
    struct weft_cluster *cluster = &trace->cluster;
    bool even =
        cluster->balance_stated ? cluster->balance == WEFT_BALANCE_EVEN : cluster->degree > 1;
    if (trace->spread_stated && !work->request->hardware.balance_given) {
        even = trace->spread == WEFT_SPREAD_SPLIT;
    }
    trace->spread = even ? WEFT_SPREAD_SPLIT : WEFT_SPREAD_PICK;
    cluster->balance = even ? WEFT_BALANCE_EVEN : WEFT_BALANCE_HASH;
}

// Reads the trace and the files that it names, and builds the fabric.
static bool load(struct work *work)
{
    const struct weft_environment *base = &work->environment->base;
    struct weft_job_trace *trace = &work->result.trace;
    if (!weft_job_trace_load(trace, work->request->path, base->arena, base->error)) {
        return false;
    }
    if (work->request->fabric != NULL) {
        trace->fabric = work->request->fabric;
        trace->shards.dedicated = strcmp(trace->fabric, "shards") == 0;
    }
    const struct weft_fabric_options *shape = &work->request->shape;
    const struct weft_request_fabric asked = {.hardware = &work->request->hardware,
                                              .shape = *shape};
    trace->shape.radix = shape->radix > 0 ? shape->radix : trace->shape.radix;
    trace->shape.oversubscription =
        shape->oversubscription > 0 ? shape->oversubscription : trace->shape.oversubscription;
    if (!weft_request_refuse_shape(&asked, trace->fabric, base->error) || !load_cluster(work) ||
        !load_classes(work)) {
        return false;
    }
    choose_spread(work);
    if (!weft_job_trace_check(trace, base->error)) {
        return weft_wrap(base->error, "%s", work->request->path);
    }
    weft_job_trace_expand(&work->result.full, trace, base->arena, base->scratch);
    if (trace->shards.dedicated) {
        return true;
    }
    if (!weft_fabric_build_named(&work->network, trace->fabric, &trace->cluster, &trace->shape,
                                 &(struct weft_environment){.arena = base->arena,
                                                            .scratch = base->scratch,
                                                            .error = base->error})) {
        return weft_wrap(base->error, "%s: fabric", work->request->path);
    }
    work->network.routes.spread = trace->spread;
    return true;
}

// What the policy has no use for, or jobs on shards of their own, which share nothing.
static bool refuse_unused(const struct work *work)
{
    const struct weft_scheduler_options *options = &work->request->options;
    struct weft_error *error = work->environment->base.error;
    bool shards = work->result.trace.shards.dedicated;
    bool leases = options->policy == WEFT_POLICY_THEMIS || options->policy == WEFT_POLICY_POLLUX;
    if (options->snapshot && options->until_ps == 0) {
        return weft_fail(error, WEFT_USAGE,
                         "{snapshot} of which instant? write {until=10min}, too");
    }
    const struct weft_stated of_shards[] = {
        {shards && options->snapshot, "snapshot"},
        {shards && options->interleave, "interleave"},
        {shards && options->candidates > 0, "candidates"},
        {shards && options->engine != WEFT_STEADY_MODEL, "engine"},
        {shards && options->window > 0, "window"},
        {shards && options->warm_up > 0, "warm-up"},
        {NULL},
    };
    const struct weft_stated of_leases[] = {{!leases && options->lease_ps > 0, "lease"}, {NULL}};
    const struct weft_stated of_ranks[] = {
        {!options->interleave && options->candidates > 0, "candidates"}, {NULL}};
    return weft_refuse_stated(of_shards, error,
                              "is for jobs that share links; those on shards share none: leave it "
                              "out") &&
           weft_refuse_stated(of_leases, error,
                              "is for leases; write {policy=themis} or {policy=pollux}, too") &&
           weft_refuse_stated(of_ranks, error, "are ranked to interleave; write {interleave}, too");
}

// Whether memory for all jobs is there, 14.8 kB each (100,000 took 1.48 GB), and, where packets are
// played, whether that can end: every job that shares links is played with them anew whenever one
// begins or ends, which is counted once for each job here.
static bool afford(const struct work *work, const struct weft_scheduler_options *options)
{
    const struct weft_job_trace *trace = &work->result.full;
    double iterations = (options->warm_up > 0 ? options->warm_up : WEFT_SCHEDULER_WARM_UP) +
                        (options->window > 0 ? options->window : WEFT_SCHEDULER_WINDOW);
    double bytes = 0;
    for (uint32_t j = 0; j < trace->job_count; j++) {
        const struct weft_job_class *class = &trace->classes[trace->jobs[j].class_id];
        bool comes = options->until_ps == 0 || trace->jobs[j].arrival_ps < options->until_ps;
        for (uint32_t p = 0; comes && p < class->demand.phase_count; p++) {
            const struct weft_demand_phase *phase = &class->demand.phases[p];
            bytes += class->server_count * phase->rate_Bps * weft_seconds(phase->duration_ps);
        }
    }
    const struct weft_request_cost records = {
        .things = "jobs",
        .count = trace->job_count,
        .bytes = trace->job_count * 14.8e3,
        .remedy = "take fewer jobs",
    };
    const struct weft_request_cost packets = {
        .things = "packets, if each job is played once",
        .count = iterations * bytes / (options->sim.packet_bytes - options->sim.header_bytes),
        .per_s = weft_request_packets_per_s(trace->cluster.server_count),
        .remedy = "take a smaller {window}, fewer jobs or {engine=flow}",
    };
    return weft_request_afford(&records, work->environment) &&
           (options->engine != WEFT_STEADY_PACKET ||
            weft_request_afford(&packets, work->environment));
}

bool weft_request_schedule(struct weft_schedule_result *result,
                           const struct weft_schedule_request *request,
                           struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct work work = {.request = request, .environment = environment};
    if (!load(&work) || !refuse_unused(&work)) {
        return false;
    }
    struct weft_scheduler_options options = request->options;
    options.seed = base->seed;
    options.sim = weft_request_task_packets(base->seed);
    options.sim.seed = base->seed;
    options.stop = base->stop;
    options.tally = &environment->progress.tally;
    if (!afford(&work, &options)) {
        return false;
    }
    weft_request_step_begin(environment, "scheduling", "jobs");
    bool fine = weft_scheduler_run(
        &work.result.timetable, &work.result.full,
        work.result.trace.shards.dedicated ? NULL : &work.network, &options,
        &(struct weft_environment){
            .arena = base->arena, .scratch = base->scratch, .error = base->error});
    weft_request_step_end(environment);
    if (!fine) {
        return weft_wrap(base->error, "%s", request->path);
    }
    if (options.snapshot && work.result.timetable.snapshot.job_count == 0) {
        return weft_fail(base->error, WEFT_INFEASIBLE,
                         "{snapshot}: no two jobs that run at {until} could fill a link together; "
                         "write another instant, or a fabric whose links they share");
    }
    work.result.seed = base->seed;
    *result = work.result;
    return true;
}
