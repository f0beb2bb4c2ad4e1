// SPDX-License-Identifier: Apache-2.0
// A plan in the files that other tools take: each kind has its writer in the format room, and here
// is what it needs besides the plan: the job's task graph, found in the plan or in a file and then
// checked to be the same job, or a fabric. What a form cannot say exactly is noted.

#include "weft/request/export.h"
#include "weft/format.h"
#include "weft/plan.h"
#include "weft/report.h"
#include "weft/request/parameter.h"

#include <string.h>

const char *weft_export_kind_name(enum weft_export_kind kind)
{
    static const char *const names[] = {
        [WEFT_EXPORT_DOT] = "dot",
        [WEFT_EXPORT_SVG] = "svg",
        [WEFT_EXPORT_CIRCUITS_CSV] = "circuits-csv",
        [WEFT_EXPORT_CIRCUITS_JSON] = "circuits-json",
        [WEFT_EXPORT_IP_ROUTES] = "ip-routes",
        [WEFT_EXPORT_FBUF] = "fbuf",
        [WEFT_EXPORT_CHAKRA] = "chakra",
        [WEFT_EXPORT_GOAL] = "goal",
        [WEFT_EXPORT_SLURM_TOPOLOGY] = "slurm-topology",
    };
    return names[kind];
}

static bool set_text(struct weft_export_result *result, const char *text)
{
    result->data = text;
    result->length = strlen(text);
    return true;
}

static bool export_routes(struct weft_export_result *result,
                          const struct weft_export_request *request, const struct weft_plan *plan,
                          struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    const char *const *scripts = NULL;
    uint32_t count = plan->cluster.server_count;
    if (request->server != WEFT_NONE && request->server >= count) {
        return weft_fail(base->error, WEFT_INPUT, "{server}: the plan has servers 0 to %u, not %u",
                         count - 1, request->server);
    }
    if (!weft_export_ip_routes(&scripts, plan, base->arena, base->scratch, base->error)) {
        return weft_wrap(base->error, "%s", request->path);
    }
    if (request->server == WEFT_NONE) {
        result->scripts = scripts;
        result->script_count = count;
        return true;
    }
    return set_text(result, scripts[request->server]);
}

// The job that was planned: --job, else the one that the plan carries because it began with a
// model.
static bool find_job(const struct weft_taskgraph **graph, const struct weft_export_request *request,
                     const struct weft_plan *plan, struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    if (request->job_path == NULL && plan->job == NULL) {
        return weft_fail(base->error, WEFT_USAGE, "for which job? write {job=FILE.fbuf}");
    }
    if (request->job_path == NULL) {
        *graph = &plan->job->graph;
        return true;
    }
    struct weft_loaded_job *job = WEFT_NEW(base->arena, struct weft_loaded_job, 1);
    const struct weft_request_trace nothing = {.groups_path = NULL};
    *graph = &job->fbuf.graph;
    if (!weft_request_load(job, request->job_path, &nothing, environment)) {
        return false;
    }
    struct weft_error difference;
    if (plan->job != NULL && !weft_taskgraph_same(*graph, &plan->job->graph, WEFT_TASK_ALL_KINDS,
                                                  base->scratch, &difference)) {
        return weft_fail(base->error, WEFT_INPUT,
                         "{job} %s: not the job that %s was planned for and holds (%s); leave "
                         "{job} out",
                         request->job_path, request->path, difference.message);
    }
    return true;
}

// Writes the job with the plan's topology, routes and rings inside. TopoOpt's form knows circulant
// rings, AllReduces and single paths alone; the rest stands in fields that only Weft reads, and
// each such thing that occurs is noted.
static bool export_fbuf(struct weft_export_result *result,
                        const struct weft_export_request *request, const struct weft_plan *plan,
                        struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    const struct weft_taskgraph *graph = NULL;
    struct weft_fbuf planned;
    uint32_t sizes_left_out = 0;
    if (!find_job(&graph, request, plan, environment)) {
        return false;
    }
    WEFT_ASSERT(graph != NULL);
    if (!weft_export_fbuf(&planned, &sizes_left_out, plan, graph, base)) {
        return weft_wrap(base->error, "%s", request->path);
    }
    if (planned.ring_word_count > 0) {
        weft_request_note(
            environment,
            "rings that are not circulant (%u group size%s) and flows that divide over "
            "paths stand in a field that Weft alone reads",
            sizes_left_out, sizes_left_out == 1 ? "" : "s");
    }
    uint32_t halves = 0;
    uint32_t awaited = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        bool collective = weft_task_is_collective(graph, t);
        halves += collective && graph->kind[t] != WEFT_TASK_ALLREDUCE;
        awaited += collective && graph->next_first[t] < graph->next_first[t + 1];
    }
    if (halves > 0) {
        weft_request_note(
            environment,
            "%u ReduceScatters and AllGathers are AllReduces of half their bytes to all but "
            "Weft",
            halves);
    }
    if (awaited > 0) {
        weft_request_note(environment,
                          "what waits for collectives stands in a field that Weft alone reads; "
                          "others start it too early");
    }
    return weft_fbuf_write(&result->data, &result->length, &planned, base->arena, base->scratch,
                           base->error);
}

// The trace is the job's; the plan has to be of this job.
static bool export_chakra(struct weft_export_result *result,
                          const struct weft_export_request *request, const struct weft_plan *plan,
                          struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    const struct weft_taskgraph *graph = NULL;
    struct weft_chakra_files *trace = WEFT_NEW(base->arena, struct weft_chakra_files, 1);
    if (!find_job(&graph, request, plan, environment)) {
        return false;
    }
    WEFT_ASSERT(graph != NULL);
    if (graph->server_count != plan->cluster.server_count) {
        return weft_fail(base->error, WEFT_INPUT,
                         "%s: the plan has %u servers, the task graph %u; name the job it is for",
                         request->path, plan->cluster.server_count, graph->server_count);
    }
    if (!weft_chakra_write(trace, graph, base->arena, base->scratch, base->error)) {
        return false;
    }
    if (trace->signal_count > 0) {
        weft_request_note(environment, "%u dependencies between ranks became messages of one byte",
                          trace->signal_count);
    }
    result->trace = trace;
    return true;
}

static bool export_goal(struct weft_export_result *result,
                        const struct weft_export_request *request, const struct weft_plan *plan,
                        struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    const struct weft_taskgraph *graph = NULL;
    const char *text = NULL;
    return find_job(&graph, request, plan, environment) &&
           weft_goal_write(&text, graph, base->arena, base->scratch, base->error) &&
           set_text(result, text);
}

// The blocks that Slurm is told of: a server and as many neighbors as make a power of two.
static uint32_t block_size(const struct weft_fabric *fabric)
{
    uint32_t size = 1;
    while (2 * size <= fabric->first[1] + 1 && 2 * size <= fabric->server_count) {
        size *= 2;
    }
    return size;
}

// Writes Slurm's topology of a fabric or of a plan's fabric: a tree of its switches, or blocks of
// near servers where the servers forward themselves.
static bool export_slurm(struct weft_export_result *result,
                         const struct weft_export_request *request,
                         struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    const struct weft_fabric *fabric = NULL;
    struct weft_nest nest;
    struct weft_blocks blocks;
    const char *text = NULL;
    const struct weft_request_fabric wanted = {.specification = request->path,
                                               .hardware = &request->hardware,
                                               .shape = {.seed = base->seed}};
    if (!weft_request_links(&fabric, &wanted, environment)) {
        return false;
    }
    bool switched = fabric->node_count > fabric->server_count;
    if (switched && request->block != 0) {
        return weft_fail(base->error, WEFT_USAGE,
                         "{block}: %s has switches, which say what is near; leave it out",
                         request->path);
    }
    uint32_t size = request->block != 0 ? request->block : block_size(fabric);
    if (!(switched ? weft_fabric_nest(&nest, fabric, base->arena, base->scratch, base->error)
                   : weft_fabric_blocks(&blocks, fabric, size, base->arena, base->scratch,
                                        base->error))) {
        return false;
    }
    const char *first = request->first_node != NULL ? request->first_node : "node0";
    if (!weft_export_slurm(&text, switched ? &nest : NULL, &blocks, first, base)) {
        return weft_wrap(base->error, "{nodes}");
    }
    return set_text(result, text);
}

// What is of other kinds than the one that is written.
static bool refuse_kinds(const struct weft_export_request *request, struct weft_error *error)
{
    const struct weft_request_hardware *hardware = &request->hardware;
    enum weft_export_kind kind = request->kind;
    bool has_job =
        kind == WEFT_EXPORT_FBUF || kind == WEFT_EXPORT_CHAKRA || kind == WEFT_EXPORT_GOAL;
    bool slurm = kind == WEFT_EXPORT_SLURM_TOPOLOGY;
    const struct weft_stated rows[] = {
        {!has_job && request->job_path != NULL, "job"},
        {kind != WEFT_EXPORT_IP_ROUTES && request->server != WEFT_NONE, "server"},
        {!slurm && request->first_node != NULL, "nodes"},
        {!slurm && request->block != 0, "block"},
        {!slurm && hardware->cluster_path != NULL, "cluster"},
        {!slurm && hardware->server_count > 0, "servers"},
        {!slurm && hardware->degree > 0, "degree"},
        {!slurm && hardware->rate_given, "rate"},
        {hardware->latency_given, "latency"}, // who is near, not how near
        {hardware->host_given, "host-rate"},
        {hardware->balance_given, "balance"},
        {NULL},
    };
    return weft_refuse_stated(rows, error, "is nothing that {format=%s} has; leave it out",
                              weft_export_kind_name(kind));
}

bool weft_request_export(struct weft_export_result *result,
                         const struct weft_export_request *request,
                         struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_plan plan;
    *result = (struct weft_export_result){.data = NULL};
    if (!refuse_kinds(request, base->error)) {
        return false;
    }
    if (request->kind == WEFT_EXPORT_SLURM_TOPOLOGY) {
        return export_slurm(result, request, environment);
    }
    if (!weft_plan_load(&plan, request->path, base->arena, base->scratch, base->error)) {
        return false;
    }
    switch (request->kind) {
    case WEFT_EXPORT_DOT:
        return set_text(result, weft_export_dot(&plan, base->arena));
    case WEFT_EXPORT_SVG:
        return set_text(result, weft_report_svg_fabric(&plan, base->arena, base->scratch));
    case WEFT_EXPORT_CIRCUITS_CSV:
        return set_text(result, weft_export_circuits_csv(&plan, base->arena));
    case WEFT_EXPORT_CIRCUITS_JSON:
        return set_text(result, weft_export_circuits_json(&plan, base->arena));
    case WEFT_EXPORT_IP_ROUTES:
        return export_routes(result, request, &plan, environment);
    case WEFT_EXPORT_FBUF:
        return export_fbuf(result, request, &plan, environment);
    case WEFT_EXPORT_CHAKRA:
        return export_chakra(result, request, &plan, environment);
    case WEFT_EXPORT_GOAL:
        return export_goal(result, request, &plan, environment);
    case WEFT_EXPORT_SLURM_TOPOLOGY:
    case WEFT_EXPORT_KIND_COUNT:
        break;
    }
    WEFT_ASSERT(request->kind < WEFT_EXPORT_SLURM_TOPOLOGY);
    return false;
}
