// SPDX-License-Identifier: Apache-2.0
// A plan in the files that other tools take: each kind has its writer in the format room, and here
// is what it needs besides the plan: the job's task graph, found in the plan or in a file and then
// checked to be the same job, or a fabric. What a form cannot say exactly is noted.

#include "weft/request/export.h"
#include "weft/format.h"
#include "weft/plan.h"
#include "weft/report.h"
#include "weft/request/collective.h"
#include "weft/request/packets.h"
#include "weft/request/parameter.h"

#include <string.h>

#define ANY_RATE_BPS 12.5e9 // 100 Gbps, where no answer depends on it

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
        [WEFT_EXPORT_TOPOLOGY_CONF] = "topology-conf",
        [WEFT_EXPORT_INFRAGRAPH] = "infragraph",
        [WEFT_EXPORT_PROMETHEUS] = "prometheus",
        [WEFT_EXPORT_ALLREDUCE] = "mscclpp",
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

// What TopoOpt's simulator will see of a strict file, which is read back: its own network and
// rings, played in packets as the recorded runs were.
static bool note_strict(const struct weft_export_result *written, uint32_t sizes_left_out,
                        const struct weft_plan *plan, struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_network *network = WEFT_NEW(base->arena, struct weft_network, 1);
    struct weft_sim_options options = weft_request_task_packets(base->seed);
    struct weft_packet_options packet;
    const struct weft_request_packets asked = {
        .engine = {.given = true, .value = WEFT_ENGINE_PACKET}};
    struct weft_sim_result result;
    char seen[WEFT_UNIT_TEXT];
    char wanted[WEFT_UNIT_TEXT];
    struct weft_fbuf file;
    if (!weft_fbuf_read(&file, written->data, written->length, base->arena, base->scratch,
                        base->error) ||
        !weft_fbuf_network(network, &file, 0, base->arena, base->scratch, base->error) ||
        !weft_request_packets(&options, &packet, &asked, WEFT_LOAD_TASKGRAPH, base)) {
        return false;
    }
    const struct weft_sim_job job = {&file.graph, NULL, network->rings, file.listed};
    weft_request_step_begin(environment, "simulating", NULL);
    bool played = weft_sim_run_jobs(&result, network, &job, 1, &options, base);
    weft_request_step_end(environment);
    if (!played) {
        return false;
    }
    double seen_s = weft_seconds(result.end_ps);
    weft_request_note(environment,
                      "TopoOpt's simulator will take about %s an iteration, %.3g times the plan's "
                      "%s%s",
                      weft_show_time(seen, result.end_ps), seen_s / plan->iteration_s,
                      weft_show_time(wanted, (uint64_t)(plan->iteration_s * 1e12)),
                      sizes_left_out > 0 ? ": some rings have no words there, and their groups go "
                                           "round in the order of their members"
                                         : "");
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
    if (!(request->strict ? weft_export_fbuf_strict(&planned, &sizes_left_out, plan, graph, base)
                          : weft_export_fbuf(&planned, &sizes_left_out, plan, graph, base))) {
        return weft_wrap(base->error, "%s", request->path);
    }
    if (request->strict) {
        return weft_fbuf_write(&result->data, &result->length, &planned, base->arena, base->scratch,
                               base->error) &&
               note_strict(result, sizes_left_out, plan, environment);
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

// The same, of as many servers as the plan has.
static bool find_planned_job(const struct weft_taskgraph **graph,
                             const struct weft_export_request *request,
                             const struct weft_plan *plan,
                             struct weft_request_environment *environment)
{
    if (!find_job(graph, request, plan, environment)) {
        return false;
    }
    return (*graph)->server_count == plan->cluster.server_count ||
           weft_fail(environment->base.error, WEFT_INPUT,
                     "%s: the plan has %u servers, the task graph %u; name the job it is for",
                     request->path, plan->cluster.server_count, (*graph)->server_count);
}

static void note_signals(uint32_t count, struct weft_request_environment *environment)
{
    if (count > 0) {
        weft_request_note(environment, "%u dependencies between ranks became messages of one byte",
                          count);
    }
}

static bool export_chakra(struct weft_export_result *result,
                          const struct weft_export_request *request, const struct weft_plan *plan,
                          struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    const struct weft_taskgraph *graph = NULL;
    struct weft_chakra_files *trace = WEFT_NEW(base->arena, struct weft_chakra_files, 1);
    if (!find_planned_job(&graph, request, plan, environment) ||
        !weft_chakra_write(trace, graph, base->arena, base->scratch, base->error)) {
        return false;
    }
    note_signals(trace->signal_count, environment);
    result->trace = trace;
    return true;
}

// Whether a ring goes round one of the job's groups, each member once.
static bool ring_fits(const struct weft_ring *ring, const struct weft_taskgraph *graph,
                      struct weft_arena scratch)
{
    if (ring->group >= graph->group_count) {
        return false;
    }
    const uint32_t *first = graph->group_first + ring->group;
    bool *waited = WEFT_NEW(&scratch, bool, graph->server_count);
    for (uint32_t m = first[0]; m < first[1]; m++) {
        waited[graph->group_members[m]] = true;
    }
    bool fits = first[1] - first[0] == ring->member_count;
    for (uint32_t m = 0; m < ring->member_count && fits; m++) {
        fits = waited[ring->members[m]];
        waited[ring->members[m]] = false;
    }
    return fits;
}

// Makes a task graph of sends alone: collectives run as the plan has chosen, all others as a ring
// in the order of the plan's, or several where it has such.
static bool expand_rings(struct weft_taskgraph *sends, const struct weft_taskgraph *graph,
                         const struct weft_plan *plan, const struct weft_environment *environment)
{
    uint32_t count = plan->collective_count + graph->group_count;
    const struct weft_ring_set *rings = &plan->network.rings;
    struct weft_collective_choice *choices =
        WEFT_NEW(environment->arena, struct weft_collective_choice, (size_t)count + 1);
    struct weft_collective_choice *as_ring = choices + plan->collective_count;
    for (uint32_t c = 0; c < plan->collective_count; c++) {
        choices[c] = plan->collectives[c];
    }
    for (uint32_t g = 0; g < graph->group_count; g++) {
        as_ring[g] = (struct weft_collective_choice){.group = g,
                                                     .size_max_bytes = UINT64_MAX,
                                                     .algorithm = WEFT_ALGORITHM_RING,
                                                     .chunk_factor = 1};
    }
    for (uint32_t r = 0; r < rings->ring_count; r++) {
        if (!ring_fits(&rings->rings[r], graph, environment->scratch)) {
            return weft_fail(environment->error, WEFT_INPUT,
                             "ring %u goes round none of the job's groups; name the job that was "
                             "planned",
                             r);
        }
        struct weft_collective_choice *choice = &as_ring[rings->rings[r].group];
        choice->algorithm = choice->ring_order ? WEFT_ALGORITHM_MULTI_RING : choice->algorithm;
        choice->ring_order = true;
    }
    return weft_taskgraph_expand(sends, graph, choices, count, &plan->network, environment);
}

static bool export_goal(struct weft_export_result *result,
                        const struct weft_export_request *request, const struct weft_plan *plan,
                        struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    const struct weft_taskgraph *graph = NULL;
    struct weft_taskgraph sends;
    const char *text = NULL;
    uint32_t signal_count = 0;
    if (!find_planned_job(&graph, request, plan, environment)) {
        return false;
    }
    WEFT_ASSERT(graph != NULL);
    if (!expand_rings(&sends, graph, plan, base)) {
        return weft_wrap(base->error, "%s", request->path);
    }
    if (!weft_goal_write(&text, &signal_count, &sends, base->arena, base->scratch, base->error)) {
        return false;
    }
    if (sends.task_count > graph->task_count) {
        weft_request_note(environment,
                          "GOAL has sends alone and no network: collectives became the sends of "
                          "their rings, which share bytes alike; on another network than the "
                          "plan's they take that one's time");
    }
    note_signals(signal_count, environment);
    return set_text(result, text);
}

// The AllReduce of all servers along the plan's rings.
static bool export_allreduce(struct weft_export_result *result,
                             const struct weft_export_request *request,
                             struct weft_request_environment *environment)
{
    const struct weft_collective_export_request wanted = {
        .kind = WEFT_EXPORT_MSCCLPP, .source = request->path, .server = WEFT_NONE};
    struct weft_collective_export_result found;
    return weft_request_collective_export(&found, &wanted, environment) &&
           set_text(result, found.text);
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

// Whether a fabric may stand in the place of the plan.
static bool takes_fabric(enum weft_export_kind kind)
{
    return kind == WEFT_EXPORT_SLURM_TOPOLOGY || kind == WEFT_EXPORT_TOPOLOGY_CONF ||
           kind == WEFT_EXPORT_INFRAGRAPH;
}

// A fabric to be written.
struct exported {
    const struct weft_fabric *fabric;
    const char *const *names; // of servers; NULL = the file has none
    bool has_blocks;          // a Slurm topology's first switches are blocks
    uint32_t accelerators;    // of a server; 0 = nobody says
};

// The fabric of a plan, in words, or of another program's file. Who is near whom does not depend on
// rates, so that none is asked for unless `rated`.
static bool find_fabric(struct exported *exported, const struct weft_export_request *request,
                        bool rated, struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_request_hardware hardware = request->hardware;
    *exported = (struct exported){.names = NULL};
    if (weft_file_is_topology(weft_file_kind(request->path))) {
        struct weft_topology_file topology;
        struct weft_fabric *built = WEFT_NEW(base->arena, struct weft_fabric, 1);
        exported->fabric = built;
        if (!weft_request_topology_file(&topology, request->path, &hardware, rated, environment)) {
            return false;
        }
        bool named = topology.accelerators == 1 && topology.kind != WEFT_FILE_TIERS &&
                     topology.kind != WEFT_FILE_HOSTS && request->first_node == NULL;
        exported->names = named ? topology.names : NULL;
        exported->has_blocks = topology.has_blocks;
        exported->accelerators = topology.accelerators;
        return weft_topology_file_servers(built, &topology, base) ||
               weft_wrap(base->error, "%s", request->path);
    }
    if (!rated && !hardware.rate_given && hardware.cluster_path == NULL &&
        !weft_request_names_plan(request->path)) {
        hardware.rate_given = true;
        hardware.rate_Bps = ANY_RATE_BPS;
    }
    const struct weft_request_fabric wanted = {
        .specification = request->path, .hardware = &hardware, .shape = {.seed = base->seed}};
    return weft_request_links(&exported->fabric, &wanted, environment);
}

// The sets of a nest's first level as blocks, as the file had them.
static struct weft_blocks blocks_of(const struct weft_nest *nest, struct weft_arena *arena)
{
    uint32_t count = nest->set_count[0];
    uint32_t *first = WEFT_NEW(arena, uint32_t, (size_t)count + 2);
    uint32_t *servers = WEFT_NEW(arena, uint32_t, nest->server_count);
    uint32_t size = WEFT_NONE;
    for (uint32_t s = 0; s < nest->server_count; s++) {
        first[nest->set_of[0][s] + 2]++;
    }
    for (uint32_t b = 0; b < count; b++) {
        size = first[b + 2] < size ? first[b + 2] : size;
        first[b + 2] += first[b + 1];
    }
    for (uint32_t s = 0; s < nest->server_count; s++) {
        servers[first[nest->set_of[0][s] + 1]++] = s;
    }
    return (struct weft_blocks){count, size, first, servers, 0, 0};
}

// Writes Slurm's topology: a tree of the fabric's switches, or blocks of near servers where the
// servers forward themselves.
static bool export_slurm(struct weft_export_result *result,
                         const struct weft_export_request *request,
                         struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct exported exported;
    struct weft_nest nest;
    struct weft_blocks blocks;
    const char *text = NULL;
    if (!find_fabric(&exported, request, false, environment)) {
        return false;
    }
    const struct weft_fabric *fabric = exported.fabric;
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
    if (exported.has_blocks) {
        blocks = blocks_of(&nest, base->arena);
    }
    const struct weft_slurm slurm = {
        .nest = switched && !exported.has_blocks ? &nest : NULL,
        .blocks = &blocks,
        .names = exported.names,
        .first_node = request->first_node != NULL ? request->first_node : "node0",
        .conf = request->kind == WEFT_EXPORT_TOPOLOGY_CONF,
    };
    if (!weft_export_slurm(&text, &slurm, base)) {
        return weft_wrap(base->error, "{nodes}");
    }
    return set_text(result, text);
}

static bool export_infragraph(struct weft_export_result *result,
                              const struct weft_export_request *request,
                              struct weft_request_environment *environment)
{
    struct exported exported;
    const char *text = NULL;
    if (!find_fabric(&exported, request, true, environment)) {
        return false;
    }
    if (!weft_export_infragraph(&text, exported.fabric, exported.accelerators,
                                &environment->base)) {
        return weft_wrap(environment->base.error, "%s", request->path);
    }
    if (weft_request_names_plan(request->path)) {
        weft_request_note(environment,
                          "an InfraGraph is links and rates; the plan's routes and rings stay out");
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
    bool slurm = kind == WEFT_EXPORT_SLURM_TOPOLOGY || kind == WEFT_EXPORT_TOPOLOGY_CONF;
    bool fabric = takes_fabric(kind);
    const struct weft_stated rows[] = {
        {!has_job && request->job_path != NULL, "job"},
        {kind != WEFT_EXPORT_FBUF && request->strict, "strict"},
        {kind != WEFT_EXPORT_IP_ROUTES && request->server != WEFT_NONE, "server"},
        {!slurm && request->first_node != NULL, "nodes"},
        {!slurm && request->block != 0, "block"},
        {!fabric && hardware->cluster_path != NULL, "cluster"},
        {!fabric && hardware->server_count > 0, "servers"},
        {!fabric && hardware->degree > 0, "degree"},
        {!fabric && hardware->rate_given, "rate"},
        {(!fabric || slurm) && hardware->latency_given, "latency"}, // who is near, not how near
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
    if (takes_fabric(request->kind)) {
        return request->kind == WEFT_EXPORT_INFRAGRAPH
                   ? export_infragraph(result, request, environment)
                   : export_slurm(result, request, environment);
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
    case WEFT_EXPORT_PROMETHEUS:
        return set_text(result, weft_export_prometheus(&plan, base->arena));
    case WEFT_EXPORT_ALLREDUCE:
        return export_allreduce(result, request, environment);
    case WEFT_EXPORT_SLURM_TOPOLOGY:
    case WEFT_EXPORT_TOPOLOGY_CONF:
    case WEFT_EXPORT_INFRAGRAPH:
    case WEFT_EXPORT_KIND_COUNT:
        break;
    }
    WEFT_ASSERT(!takes_fabric(request->kind) && request->kind < WEFT_EXPORT_KIND_COUNT);
    return false;
}
