// SPDX-License-Identifier: Apache-2.0
// Algorithms and plans in the files of NCCL, MSCCL and MSCCL++ (docs/nccl.md, docs/msccl.md,
// docs/mscclpp.md). An algorithm or a plan's rings become a schedule first; a program is proved
// before it is written, and what its runtime as published cannot take is noted. Fabrics with
// switches are rails.c's.

#include "rails.h"
#include "weft/format.h"
#include "weft/request/parameter.h"

#include <string.h>

const char *weft_collective_export_name(enum weft_collective_export_kind kind)
{
    static const char *const names[] = {
        [WEFT_EXPORT_MSCCL] = "msccl",           [WEFT_EXPORT_MSCCLPP] = "mscclpp",
        [WEFT_EXPORT_NCCL_GRAPH] = "nccl-graph", [WEFT_EXPORT_NCCL_TOPO] = "nccl-topo",
        [WEFT_EXPORT_NCCL_TUNER] = "nccl-tuner", [WEFT_EXPORT_HOSTFILE] = "hostfile",
    };
    return names[kind];
}

static bool is_plan(const struct weft_collective_export_request *request)
{
    size_t length = strlen(request->source);
    return strchr(request->source, '/') != NULL ||
           (length > 5 && strcmp(request->source + length - 5, ".json") == 0);
}

static bool find_kind(enum weft_collective_kind *kind,
                      const struct weft_collective_export_request *request,
                      const struct weft_environment *base)
{
    *kind = WEFT_COLLECTIVE_ALLREDUCE;
    return request->collective == NULL || weft_request_kind(kind, request->collective, base->error);
}

static bool find_algorithm(enum weft_algorithm *algorithm,
                           const struct weft_collective_export_request *request,
                           struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    if (!weft_request_algorithm(algorithm, request->source, base->error)) {
        return false;
    }
    if (request->ranks == 0) {
        return weft_fail(base->error, WEFT_USAGE, "for how many ranks? write {ranks=8}");
    }
    return true;
}

// The rings of a plan's group of all servers, each with its share of the chunks.
static bool plan_rings(struct weft_algorithm_options *chosen,
                       const struct weft_collective_export_request *request, struct weft_plan *plan,
                       struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    if (!weft_plan_load(plan, request->source, base->arena, base->scratch, base->error)) {
        return false;
    }
    const struct weft_ring_set *set = &plan->network.rings;
    uint32_t first = 0;
    while (first < set->ring_count &&
           set->rings[first].member_count != plan->cluster.server_count) {
        first++;
    }
    uint32_t end = first;
    while (end < set->ring_count && set->rings[end].group == set->rings[first].group) {
        end++;
    }
    if (first == end) {
        return weft_fail(base->error, WEFT_INPUT,
                         "%s: no rings over all servers; plan a job whose AllReduces span them",
                         request->source);
    }
    chosen->rank_count = plan->cluster.server_count;
    chosen->rings = set->rings + first;
    chosen->ring_count = end - first;
    return true;
}

static bool make_schedule(struct weft_schedule *schedule,
                          const struct weft_collective_export_request *request,
                          struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_algorithm_options chosen = {
        .rank_count = request->ranks, .chunk_factor = request->chunks, .root = request->root};
    enum weft_algorithm algorithm = WEFT_ALGORITHM_MULTI_RING;
    struct weft_plan *plan = WEFT_NEW(base->arena, struct weft_plan, 1);
    if (is_plan(request) && request->ranks > 0) {
        return weft_fail(base->error, WEFT_USAGE, "{ranks}: %s says its own; leave it out",
                         request->source);
    }
    if (!find_kind(&chosen.kind, request, base) ||
        (is_plan(request) ? !plan_rings(&chosen, request, plan, environment)
                          : !find_algorithm(&algorithm, request, environment))) {
        return false;
    }
    return weft_request_refuse_root(chosen.kind, chosen.root, base->error) &&
           weft_algorithm_build(schedule, algorithm, &chosen, base->arena, base->scratch,
                                base->error);
}

// What goes beyond MSCCL's interpreter as it is published; it can be built with larger limits.
static void note_limits(const struct weft_program_size *size,
                        struct weft_request_environment *environment)
{
    if (size->step_max > 256 || size->block_max > 216 || size->peer_max > 32 ||
        size->channel_max > 32) {
        weft_request_note(
            environment,
            "%u steps a thread block, %u thread blocks a rank, %u peers a channel, %u "
            "channels: MSCCL as published takes 256, 216, 32 and 32",
            size->step_max, size->block_max, size->peer_max, size->channel_max);
    }
}

static bool prove(const struct weft_program *program, const struct weft_environment *base)
{
    struct weft_program_report report;
    if (!weft_program_check(&report, program, base->scratch, base->error)) {
        return false;
    }
    const char *fault = report.valid ? report.repeats : report.why;
    return fault[0] == '\0' ||
           weft_fail(base->error, WEFT_INFEASIBLE, "as a program it fails: %s", fault);
}

// Writes a plan of MSCCL++ and proves what stands in it. The ranks of a plan of Weft are servers,
// between which ports lead.
static bool export_mscclpp(const char **text, const struct weft_program *program, bool ports,
                           struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_mscclpp_size size;
    struct weft_program again;
    if (!weft_mscclpp_write(text, &size, program, ports, base->arena, base->scratch, base->error) ||
        !weft_mscclpp_read(&again, *text, strlen(*text), base->arena, base->scratch, base->error) ||
        !prove(&again, base)) {
        return false;
    }
    if (size.op_max > 64) {
        weft_request_note(environment,
                          "%u operations a thread block: MSCCL++'s executor as published takes 64",
                          size.op_max);
    }
    return true;
}

// A program is proved transfer by transfer, each beside those it may race with: rings of 64, 128,
// 192 and 256 ranks (130,560 transfers) take 0.05, 0.43, 3.1 and 7.6 s, the last 178 MB. A plan of
// MSCCL++ is proved step by step as it was written: the first three take 1.7, 16 and 35 s and 0.15,
// 0.72 and 1.8 GB, the last 3.6 GB.
static bool afford_program(const struct weft_schedule *schedule,
                           enum weft_collective_export_kind kind,
                           struct weft_request_environment *environment)
{
    double transfers = (double)weft_schedule_transfer_count(schedule);
    struct weft_request_cost cost = {
        .things = "pairs of transfers to prove",
        .count = transfers * transfers,
        .per_s = 1.8e9,
        .bytes = transfers * 1400,
        .remedy = "take fewer ranks or chunks",
    };
    if (kind == WEFT_EXPORT_MSCCLPP) {
        cost.things = "transfers to prove";
        cost.count = transfers;
        cost.per_s = 2100;
        cost.bytes = transfers * 28e3;
    }
    return weft_request_afford(&cost, environment);
}

static bool export_msccl(const char **text, const struct weft_collective_export_request *request,
                         struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_schedule schedule;
    struct weft_program program;
    struct weft_program_size size;
    struct weft_program_options made = {.protocol = request->protocol,
                                        .in_place_only = request->in_place};
    if (!make_schedule(&schedule, request, environment) ||
        !afford_program(&schedule, request->kind, environment)) {
        return false;
    }
    weft_program_build(&program, &size, &schedule, &made, base->arena, base->scratch);
    if (request->kind == WEFT_EXPORT_MSCCLPP) {
        return export_mscclpp(text, &program, is_plan(request), environment);
    }
    if (!prove(&program, base)) {
        return false;
    }
    note_limits(&size, environment);
    *text = weft_msccl_write(&program, base->arena);
    return true;
}

// Writes a plan's rings as channels of NCCL. NCCL goes round the servers in one order, so that
// rings of other orders are left out, with a note; the file is the same on every server where they
// have the same ports.
static bool export_graph(const char **text, const struct weft_collective_export_request *request,
                         const struct weft_plan *plan, struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_nccl_rings rings;
    uint32_t server = request->server == WEFT_NONE ? 0 : request->server;
    if (!weft_nccl_rings(&rings, plan, request->ring, server, base->arena, base->error)) {
        return weft_wrap(base->error, "%s", request->source);
    }
    if (rings.channel_count < rings.ring_count) {
        weft_request_note(
            environment,
            "%u of %u rings: NCCL goes round the servers in one order only; {format=msccl} "
            "has all of them",
            rings.channel_count, rings.ring_count);
    }
    if (!rings.uniform && request->server == WEFT_NONE) {
        weft_request_note(environment,
                          "ports differ from server to server: this is server 0's file, write the "
                          "others with {server}");
    }
    struct weft_text order;
    struct weft_arena arena = base->scratch;
    weft_text_init(&order, &arena);
    weft_text_add(&order, "ranks in this order of servers:");
    for (uint32_t i = 0; i < rings.server_count; i++) {
        weft_text_add(&order, " %u", rings.servers[i]);
    }
    *text = weft_nccl_graphs_write(&rings.graphs, order.data, base->arena);
    return true;
}

// Writes a plan's servers in the order of the ring that its graph file has.
static bool export_hosts(const char **text, const struct weft_collective_export_request *request,
                         const struct weft_plan *plan, struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_nccl_rings rings;
    struct weft_hosts hosts;
    uint32_t first = plan->network.rings.ring_count > 0 ? plan->network.rings.rings->members[0] : 0;
    if (!weft_nccl_rings(&rings, plan, request->ring, first, base->arena, base->error)) {
        return weft_wrap(base->error, "%s", request->source);
    }
    if (!weft_hosts_of(&hosts, rings.servers, rings.server_count, rails_first_node(request),
                       base)) {
        return false;
    }
    uint32_t slots = plan->cluster.accelerators_per_server;
    *text = weft_hosts_write(
        &hosts, slots > 0 ? slots : 1,
        weft_arena_format(base->arena, "in the order of ring %u", request->ring), base->arena);
    return true;
}

// Writes one row for NCCL's tuner plugin: it may choose among NCCL's own algorithms only, which are
// the ring and, for AllReduce, the double tree.
static bool export_tuner(const char **text, const struct weft_collective_export_request *request,
                         struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    enum weft_algorithm algorithm;
    struct weft_nccl_choice choice = {.size_max_bytes = (uint64_t)1 << 40,
                                      .algorithm = "ring",
                                      .protocol = "simple",
                                      .channels = -1,
                                      .node_count = -1,
                                      .pipe_ops = -1,
                                      .registered = -1};
    if (!find_kind(&choice.kind, request, base) ||
        !find_algorithm(&algorithm, request, environment)) {
        return false;
    }
    bool tree = algorithm == WEFT_ALGORITHM_DOUBLE_TREE && choice.kind == WEFT_COLLECTIVE_ALLREDUCE;
    if ((algorithm != WEFT_ALGORITHM_RING && !tree) || choice.kind == WEFT_COLLECTIVE_ALLTOALL) {
        return weft_fail(base->error, WEFT_UNSUPPORTED,
                         "NCCL has no %s for %s; a tuner may choose ring, and double-tree for "
                         "allreduce",
                         weft_algorithm_name(algorithm), weft_collective_name(choice.kind));
    }
    choice.algorithm = tree ? "tree" : "ring";
    choice.rank_count = (int32_t)request->ranks;
    if (request->protocol != NULL) {
        choice.protocol = strcmp(request->protocol, "LL") == 0      ? "ll"
                          : strcmp(request->protocol, "LL128") == 0 ? "ll128"
                                                                    : "simple";
    }
    *text = weft_nccl_tuner_write(&choice, 1, base->arena);
    return true;
}

// What is of other forms than the one that is written, or of algorithms where a plan is named.
static bool refuse_forms(const struct weft_collective_export_request *request,
                         struct weft_error *error)
{
    enum weft_collective_export_kind kind = request->kind;
    const struct weft_request_hardware *hardware = &request->hardware;
    bool msccl = kind == WEFT_EXPORT_MSCCL || kind == WEFT_EXPORT_MSCCLPP;
    bool graph = kind == WEFT_EXPORT_NCCL_GRAPH;
    bool hosts = kind == WEFT_EXPORT_HOSTFILE;
    bool kinds = msccl || kind == WEFT_EXPORT_NCCL_TUNER;
    const struct weft_stated rows[] = {
        {!msccl && request->chunks > 1, "chunks"},
        {!msccl && request->root > 0, "root"},
        {!msccl && request->in_place, "in-place"},
        {!kinds && request->collective != NULL, "kind"},
        {!kinds && request->protocol != NULL, "protocol"},
        {!kinds && request->ranks > 0, "ranks"},
        {!graph && !hosts && request->ring > 0, "ring"},
        {!graph && request->server != WEFT_NONE, "server"},
        {!hosts && request->first_node != NULL, "nodes"},
        {!hosts && request->hosts_path != NULL, "hosts"},
        {hardware->latency_given, "latency"}, // who is near, not how near
        {hardware->host_given, "host-rate"},
        {hardware->balance_given, "balance"},
        {NULL},
    };
    return weft_refuse_stated(rows, error, "is nothing that {format=%s} has; leave it out",
                              weft_collective_export_name(kind));
}

// What is of fabrics in words where an algorithm or a plan is named, or the other way round.
static bool refuse_source(const struct weft_collective_export_request *request, bool fabric,
                          struct weft_error *error)
{
    const struct weft_request_hardware *hardware = &request->hardware;
    const struct weft_fabric_options *shape = &request->shape;
    const struct weft_stated of_fabrics[] = {
        {!fabric && hardware->cluster_path != NULL, "cluster"},
        {!fabric && hardware->server_count > 0, "servers"},
        {!fabric && hardware->degree > 0, "degree"},
        {!fabric && hardware->rate_given, "rate"},
        {!fabric && request->accelerators > 0, "accelerators"},
        {!fabric && shape->radix > 0, "radix"},
        {!fabric && shape->oversubscription > 0, "oversubscription"},
        {!fabric && request->hosts_path != NULL, "hosts"},
        {NULL},
    };
    const struct weft_stated of_plans[] = {
        {fabric && request->ring > 0, "ring"},
        {fabric && request->server != WEFT_NONE, "server"},
        {NULL},
    };
    return weft_refuse_stated(of_fabrics, error,
                              "is of a fabric in words, not of %.60s; leave it out",
                              request->source) &&
           weft_refuse_stated(of_plans, error, "is of a plan, not of %.60s; leave it out",
                              request->source);
}

static bool export_plan(const char **text, const struct weft_collective_export_request *request,
                        struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    if (!is_plan(request)) {
        return weft_fail(base->error, WEFT_USAGE, "%s takes a plan; write PLAN.json",
                         weft_collective_export_name(request->kind));
    }
    struct weft_plan *plan = WEFT_NEW(base->arena, struct weft_plan, 1);
    if (!weft_plan_load(plan, request->source, base->arena, base->scratch, base->error)) {
        return false;
    }
    if (request->kind == WEFT_EXPORT_NCCL_GRAPH) {
        return export_graph(text, request, plan, environment);
    }
    if (request->kind == WEFT_EXPORT_HOSTFILE) {
        return export_hosts(text, request, plan, environment);
    }
    struct weft_nccl_topology topology;
    weft_nccl_server(&topology, &plan->cluster, base->arena);
    *text = weft_nccl_topology_write(&topology, base->arena);
    return true;
}

bool weft_request_collective_export(struct weft_collective_export_result *result,
                                    const struct weft_collective_export_request *request,
                                    struct weft_request_environment *environment)
{
    enum weft_collective_export_kind kind = request->kind;
    bool rails = kind == WEFT_EXPORT_NCCL_GRAPH || kind == WEFT_EXPORT_HOSTFILE;
    bool fabric = rails && !is_plan(request);
    struct weft_error *error = environment->base.error;
    struct weft_collective_export_result found = {.text = NULL};
    if (!refuse_forms(request, error) || !refuse_source(request, fabric, error)) {
        return false;
    }
    bool msccl = kind == WEFT_EXPORT_MSCCL || kind == WEFT_EXPORT_MSCCLPP;
    bool fine = fabric                           ? rails_export(&found, request, environment)
                : msccl                          ? export_msccl(&found.text, request, environment)
                : kind == WEFT_EXPORT_NCCL_TUNER ? export_tuner(&found.text, request, environment)
                                                 : export_plan(&found.text, request, environment);
    if (fine) {
        *result = found;
    }
    return fine;
}
