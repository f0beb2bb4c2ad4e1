// SPDX-License-Identifier: Apache-2.0
// Traces with the jobs and plans that they name.

#include "schedule.h"
#include "weft/format.h"
#include "weft/plan.h"

#include <string.h>

// Phases of a demand that is measured on a task graph.
#define PHASES 24u

// A file that a trace names stands beside the trace.
static const char *beside(const struct schedule *schedule, const char *path)
{
    const char *slash = strrchr(schedule->path, '/');
    if (path[0] == '/' || slash == NULL) {
        return path;
    }
    return weft_arena_format(&schedule->cli->arena, "%.*s/%s", (int)(slash - schedule->path),
                             schedule->path, path);
}

static bool load_plan(const struct weft_plan **plan, const struct schedule *schedule,
                      const char *path)
{
    struct cli *cli = schedule->cli;
    struct weft_plan *loaded = WEFT_NEW(&cli->arena, struct weft_plan, 1);
    if (!weft_plan_load(loaded, path, &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    if (loaded->flaw_count > 0) {
        return weft_fail(&cli->error, WEFT_INPUT, "%s: %s; see weft check", path,
                         loaded->flaws[0].text);
    }
    *plan = loaded;
    return true;
}

// The best shard that Weft finds for the job: d ports of B a server, a topology of its own.
static bool plan_shard(struct weft_job_class *class, const struct schedule *schedule)
{
    struct cli *cli = schedule->cli;
    struct weft_cluster shard = schedule->trace.cluster;
    struct weft_plan_options options = {.sim = weft_request_task_packets(cli->seed)};
    options.topology.method = WEFT_TOPOLOGY_WEFT;
    shard.server_count = class->server_count;
    struct weft_plan *plan = WEFT_NEW(&cli->arena, struct weft_plan, 1);
    struct weft_arena results = weft_arena_split(&cli->scratch);
    struct weft_environment environment = cli_environment(cli, NULL)->base;
    environment.arena = &results;
    if (!weft_plan_build(plan, class->graph, &shard, &options, &environment)) {
        return false;
    }
    class->shard_iteration_ps = weft_picoseconds(plan->iteration_s);
    return true;
}

static bool load_class(struct weft_job_class *class, const struct schedule *schedule)
{
    struct cli *cli = schedule->cli;
    const struct weft_plan *plan = NULL;
    const struct weft_taskgraph *graph = NULL;
    if (class->plan_path != NULL) {
        const char *path = beside(schedule, class->plan_path);
        if (!load_plan(&plan, schedule, path)) {
            return false;
        }
        class->shard_iteration_ps = weft_picoseconds(plan->iteration_s);
        graph = plan->job == NULL ? NULL : &plan->job->graph;
        if (graph == NULL && class->job_path == NULL) {
            return weft_fail(&cli->error, WEFT_INPUT,
                             "%s: the plan does not hold its job; name that, too, as job", path);
        }
    }
    if (class->job_path != NULL) {
        struct weft_fbuf *fbuf = WEFT_NEW(&cli->arena, struct weft_fbuf, 1);
        if (!cli_load_job(fbuf, cli, beside(schedule, class->job_path))) {
            return false;
        }
        graph = &fbuf->graph;
    }
    const struct weft_cluster *cluster = &schedule->trace.cluster;
    struct weft_sim_options sim = weft_request_task_packets(cli->seed);
    sim.seed = cli->seed;
    if (!weft_job_class_measure(class, graph, cluster->rate_Bps * cluster->degree, &sim, PHASES,
                                &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    bool shard = schedule->trace.shards.dedicated && class->shard_iteration_ps == 0;
    return !shard || plan_shard(class, schedule);
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

static bool load_classes(struct schedule *schedule)
{
    struct cli *cli = schedule->cli;
    uint32_t count = schedule->trace.class_count;
    struct weft_job_class *classes = WEFT_NEW(&cli->arena, struct weft_job_class, count);
    for (uint32_t c = 0; c < count; c++) {
        classes[c] = schedule->trace.classes[c];
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
        } else if (!load_class(&classes[c], schedule)) {
            return weft_wrap(&cli->error, "%s: class %s", schedule->path, classes[c].name);
        }
    }
    schedule->trace.classes = classes;
    return true;
}

bool schedule_load(struct schedule *schedule)
{
    struct cli *cli = schedule->cli;
    struct weft_job_trace *trace = &schedule->trace;
    if (!weft_job_trace_load(trace, schedule->path, &cli->arena, &cli->error)) {
        return false;
    }
    if (schedule->fabric != NULL) {
        trace->fabric = schedule->fabric;
        trace->shards.dedicated = strcmp(trace->fabric, "shards") == 0;
    }
    if (!load_classes(schedule)) {
        return false;
    }
    if (!weft_job_trace_check(trace, &cli->error)) {
        return weft_wrap(&cli->error, "%s", schedule->path);
    }
    weft_job_trace_expand(&schedule->full, trace, &cli->arena, cli->scratch);
    if (trace->shards.dedicated) {
        return true;
    }
    if (!weft_fabric_build_named(&schedule->network, trace->fabric, &trace->cluster, &trace->shape,
                                 &cli->arena, cli->scratch, &cli->error)) {
        return weft_wrap(&cli->error, "%s: fabric", schedule->path);
    }
    schedule->network.routes.spread = trace->spread;
    return true;
}
