// SPDX-License-Identifier: Apache-2.0
// Compiles a task graph into a program for each server.
//
// Tasks become operations at the servers that take part in them (program.h), in three passes over
// the graph: operations first, then the streams of rings and transfers along the paths that routes
// prescribe, then the edges: between operations of one server directly, between servers by signals
// over streams that there are. Edges are counted in a first pass and filled in a second one.
// O(tasks * group size + edges).

#include "program.h"

#include <string.h>

static const uint32_t operations_max = 1u << 24;
static const uint32_t streams_max = 1u << 16;

struct compiler {
    const struct weft_taskgraph *graph;
    const struct lab_program_options *options;
    struct weft_arena *arena;
    uint32_t server_count;
    uint32_t operation_count;
    struct lab_operation *operations;
    uint32_t *task_operation;
    bool *barrier_at; // [task * server_count + server], rows of barriers alone
    uint32_t *barrier_row;
    uint32_t stream_count;
    struct lab_stream *streams;
    uint32_t *stream_next; // of the same pair of servers
    uint32_t *pair_stream; // [from * server_count + to]: the first
    uint32_t *links;       // room for a path
    uint32_t width_max;    // parallel cables of a link
};

// ---- streams ----

static bool same_addresses(const struct lab_stream *a, const struct lab_stream *b)
{
    return a->to_ip == b->to_ip && a->from_ip == b->from_ip;
}

// The links that bytes take, and which of parallel cables.
struct path {
    const uint32_t *links;
    uint32_t link_count;
    uint32_t lane; // of parallel cables
};

static bool find_stream(uint32_t *stream, struct compiler *compiler, uint32_t from, uint32_t to,
                        const struct path *path, struct weft_error *error)
{
    struct lab_stream made = {.from = from, .to = to};
    compiler->options->address(compiler->options->context, &made, path->links, path->link_count,
                               path->lane);
    uint32_t *first = &compiler->pair_stream[(size_t)from * compiler->server_count + to];
    for (uint32_t i = *first; i != WEFT_NONE; i = compiler->stream_next[i]) {
        if (same_addresses(&compiler->streams[i], &made)) {
            *stream = i;
            return true;
        }
    }
    if (compiler->stream_count == streams_max) {
        return weft_fail(error, WEFT_UNSUPPORTED, "the task graph needs more than %u connections",
                         streams_max);
    }
    uint32_t index = compiler->stream_count++;
    compiler->streams[index] = made;
    compiler->stream_next[index] = *first;
    *first = index;
    *stream = index;
    return true;
}

// One of the routes' paths from a server to another, and one of its parallel cables.
struct choice {
    uint32_t from;
    uint32_t to;
    uint32_t path;
    uint32_t lane;
};

static bool route_stream(uint32_t *stream, struct compiler *compiler, const struct choice *choice,
                         struct weft_error *error)
{
    const struct weft_routes *routes = &compiler->options->network->routes;
    uint32_t from = choice->from;
    uint32_t to = choice->to;
    if (weft_routes_path_count(routes, from, to) == 0) {
        return weft_fail(error, WEFT_INPUT, "servers %u and %u: no route joins them", from, to);
    }
    uint32_t count = weft_routes_path(routes, from, to, choice->path, compiler->links, NULL);
    const struct path path = {compiler->links, count, choice->lane};
    return find_stream(stream, compiler, from, to, &path, error);
}

// ---- operations ----

static uint32_t add_operation(struct compiler *compiler, enum lab_operation_kind kind,
                              uint32_t task, uint32_t server, uint32_t position)
{
    uint32_t index = compiler->operation_count++;
    if (compiler->operations != NULL) {
        compiler->operations[index] = (struct lab_operation){
            .kind = (uint8_t)kind, .task = task, .server = server, .position = position};
    }
    return index;
}

static bool *barrier_row(const struct compiler *compiler, uint32_t task)
{
    return compiler->barrier_at + (size_t)compiler->barrier_row[task] * compiler->server_count;
}

// The operations of one task, at all servers that take part in it.
static void add_operations(struct compiler *compiler, uint32_t task)
{
    const struct weft_taskgraph *graph = compiler->graph;
    enum weft_task_kind kind = (enum weft_task_kind)graph->kind[task];
    if (weft_task_facts[kind].on_device) {
        add_operation(compiler, LAB_OPERATION_COMPUTE, task,
                      graph->device_server[graph->device[task]], 0);
    } else if (kind == WEFT_TASK_TRANSFER) {
        add_operation(compiler, LAB_OPERATION_SEND, task, graph->from[task], 0);
        add_operation(compiler, LAB_OPERATION_RECEIVE, task, graph->to[task], 0);
    } else if (kind == WEFT_TASK_BARRIER) {
        for (uint32_t s = 0; s < compiler->server_count; s++) {
            if (barrier_row(compiler, task)[s]) {
                add_operation(compiler, LAB_OPERATION_BARRIER, task, s, 0);
            }
        }
    } else {
        const uint32_t *members = graph->group_members + graph->group_first[graph->group[task]];
        for (uint32_t i = 0; i < weft_task_member_count(graph, task); i++) {
            add_operation(compiler, LAB_OPERATION_COLLECTIVE, task, members[i], i);
        }
    }
}

// Parts of a task that begin when its predecessors end, and those whose end is the task's.
struct span {
    uint32_t first;
    uint32_t end;
};

static struct span begins(const struct compiler *compiler, uint32_t task)
{
    bool transfer = compiler->graph->kind[task] == WEFT_TASK_TRANSFER;
    uint32_t first = compiler->task_operation[task];
    return (struct span){first, transfer ? first + 1 : compiler->task_operation[task + 1]};
}

static struct span ends(const struct compiler *compiler, uint32_t task)
{
    bool transfer = compiler->graph->kind[task] == WEFT_TASK_TRANSFER;
    uint32_t first = compiler->task_operation[task];
    return (struct span){transfer ? first + 1 : first, compiler->task_operation[task + 1]};
}

// Servers where a barrier has to be known: those of its successors. From the last task back.
static void place_barriers(struct compiler *compiler, const uint32_t *order)
{
    const struct weft_taskgraph *graph = compiler->graph;
    for (uint32_t i = graph->task_count; i-- > 0;) {
        uint32_t task = order[i];
        if (graph->kind[task] != WEFT_TASK_BARRIER) {
            continue;
        }
        bool *row = barrier_row(compiler, task);
        bool any = false;
        for (uint32_t e = graph->next_first[task]; e < graph->next_first[task + 1]; e++) {
            uint32_t next = graph->next[e];
            enum weft_task_kind kind = (enum weft_task_kind)graph->kind[next];
            any = true;
            if (weft_task_facts[kind].on_device) {
                row[graph->device_server[graph->device[next]]] = true;
            } else if (kind == WEFT_TASK_TRANSFER) {
                row[graph->from[next]] = true;
            } else if (kind == WEFT_TASK_BARRIER) {
                const bool *theirs = barrier_row(compiler, next);
                for (uint32_t s = 0; s < compiler->server_count; s++) {
                    row[s] = row[s] || theirs[s];
                }
            } else {
                const uint32_t group = graph->group[next];
                for (uint32_t m = graph->group_first[group]; m < graph->group_first[group + 1];
                     m++) {
                    row[graph->group_members[m]] = true;
                }
            }
        }
        // One that nobody waits for is known to server 0.
        row[0] = row[0] || !any;
    }
}

// ---- edges ----

struct edges {
    struct lab_operation *operations;
    uint32_t *nexts; // NULL: counts alone
    struct lab_signal *signals;
    uint32_t next_count;
    uint32_t signal_count;
};

// An edge within a server. Without room for edges yet, it is only counted.
static void add_next(struct edges *edges, uint32_t from, uint32_t to)
{
    struct lab_operation *operation = &edges->operations[from];
    if (edges->nexts != NULL) {
        edges->nexts[operation->next_first + operation->next_count] = to;
        edges->operations[to].wait_count++;
    }
    operation->next_count++;
    edges->next_count++;
}

// An edge between servers: a message without bytes, over any stream that joins them.
static bool add_signal(struct edges *edges, struct compiler *compiler, uint32_t from, uint32_t to,
                       struct weft_error *error)
{
    struct lab_operation *operation = &edges->operations[from];
    if (edges->signals != NULL) {
        uint32_t a = operation->server;
        uint32_t b = edges->operations[to].server;
        uint32_t stream = compiler->pair_stream[(size_t)a * compiler->server_count + b];
        const struct choice first = {a, b, 0, 0};
        if (stream == WEFT_NONE && !route_stream(&stream, compiler, &first, error)) {
            return false;
        }
        edges->signals[operation->signal_first + operation->signal_count] =
            (struct lab_signal){to, stream};
        edges->operations[to].wait_count++;
    }
    operation->signal_count++;
    edges->signal_count++;
    return true;
}

// The end of `task` lets `next` begin: at servers that both have operations at by themselves,
// elsewhere by signal. A collective needs no signal where one of its members knows, as its data
// tell the rest.
static bool join_tasks(struct edges *edges, struct compiler *compiler, uint32_t task, uint32_t next,
                       struct weft_error *error)
{
    struct span from = ends(compiler, task);
    struct span to = begins(compiler, next);
    bool collective = weft_task_is_collective(compiler->graph, next);
    bool met = false;
    for (uint32_t b = to.first; b < to.end; b++) {
        uint32_t a = from.first;
        while (a < from.end && edges->operations[a].server != edges->operations[b].server) {
            a++;
        }
        if (a < from.end) {
            add_next(edges, a, b);
            met = true;
        } else if (!collective && !add_signal(edges, compiler, from.first, b, error)) {
            return false;
        }
    }
    return met || !collective || add_signal(edges, compiler, from.first, to.first, error);
}

static bool join_all(struct edges *edges, struct compiler *compiler, struct weft_error *error)
{
    const struct weft_taskgraph *graph = compiler->graph;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        for (uint32_t e = graph->next_first[t]; e < graph->next_first[t + 1]; e++) {
            if (!join_tasks(edges, compiler, t, graph->next[e], error)) {
                return false;
            }
        }
    }
    return true;
}

// All edges, counted first and then filled in, so that each operation has its own in a row.
static bool connect_operations(struct lab_program *program, struct compiler *compiler,
                               struct weft_error *error)
{
    struct edges edges = {.operations = compiler->operations};
    if (!join_all(&edges, compiler, error)) {
        return false;
    }
    uint32_t next_first = 0;
    uint32_t signal_first = 0;
    for (uint32_t i = 0; i < compiler->operation_count; i++) {
        struct lab_operation *operation = &compiler->operations[i];
        operation->next_first = next_first;
        operation->signal_first = signal_first;
        next_first += operation->next_count;
        signal_first += operation->signal_count;
        operation->next_count = 0;
        operation->signal_count = 0;
    }
    edges.nexts = WEFT_NEW(compiler->arena, uint32_t, (size_t)next_first + 1);
    edges.signals = WEFT_NEW(compiler->arena, struct lab_signal, (size_t)signal_first + 1);
    program->nexts = edges.nexts;
    program->signals = edges.signals;
    program->signal_count = signal_first;
    return join_all(&edges, compiler, error);
}

// ---- bytes ----

// Parallel cables of a path of one hop; 1 for all others.
static uint32_t lanes_of(const struct compiler *compiler, const uint32_t *links, uint32_t count)
{
    uint32_t width = count == 1 ? compiler->options->network->fabric.links[links[0]].width : 1;
    return width > 1 && !compiler->options->one_lane ? width : 1;
}

struct chunk_list {
    struct lab_chunk *chunks;
    uint32_t count;
};

// One path's bytes of a transfer.
static bool add_chunks(struct chunk_list *list, struct compiler *compiler, uint32_t task,
                       uint32_t path, uint64_t bytes, struct weft_error *error)
{
    const struct weft_taskgraph *graph = compiler->graph;
    uint32_t from = graph->from[task];
    uint32_t to = graph->to[task];
    uint32_t hops = weft_routes_path(&compiler->options->network->routes, from, to, path,
                                     compiler->links, NULL);
    uint32_t lanes = lanes_of(compiler, compiler->links, hops);
    for (uint32_t lane = 0; lane < lanes; lane++) {
        uint64_t share = bytes * (lane + 1) / lanes - bytes * lane / lanes;
        uint32_t stream = 0;
        const struct choice choice = {from, to, path, lane};
        if (!route_stream(&stream, compiler, &choice, error)) {
            return false;
        }
        if (share > 0) {
            list->chunks[list->count++] = (struct lab_chunk){stream, share};
        }
    }
    return true;
}

// A transfer's bytes over the paths of its pair: all over one where the routes pick one for each
// transfer, by a hash of its number; else by the paths' weights, the last one taking what is left.
static bool divide_transfer(struct chunk_list *list, struct compiler *compiler, uint32_t task,
                            struct weft_error *error)
{
    const struct weft_taskgraph *graph = compiler->graph;
    const struct weft_routes *routes = &compiler->options->network->routes;
    uint32_t from = graph->from[task];
    uint32_t to = graph->to[task];
    uint32_t paths = weft_routes_path_count(routes, from, to);
    if (paths == 0) {
        return weft_fail(error, WEFT_INPUT, "servers %u and %u: no route joins them", from, to);
    }
    uint64_t left = graph->size_bytes[task];
    if (routes->spread == WEFT_SPREAD_PICK && paths > 1) {
        uint64_t hash = weft_hash(compiler->options->seed ^ weft_hash(task));
        uint32_t path = weft_routes_pick(routes, from, to, hash);
        return add_chunks(list, compiler, task, path, left, error);
    }
    for (uint32_t p = 0; p < paths && left > 0; p++) {
        double weight = 1;
        weft_routes_path(routes, from, to, p, compiler->links, &weight);
        uint64_t bytes = (uint64_t)(weight * (double)graph->size_bytes[task] + 0.5);
        bytes = p + 1 == paths || bytes > left ? left : bytes;
        left -= bytes;
        if (bytes > 0 && !add_chunks(list, compiler, task, p, bytes, error)) {
            return false;
        }
    }
    return true;
}

// Chunks of all transfers, in order of tasks; the receiving operation counts as many as the sending
// one sends.
static bool divide_transfers(struct lab_program *program, struct compiler *compiler,
                             struct weft_error *error)
{
    const struct weft_taskgraph *graph = compiler->graph;
    const struct weft_routes *routes = &compiler->options->network->routes;
    size_t room = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (graph->kind[t] == WEFT_TASK_TRANSFER) {
            room += (size_t)weft_routes_path_count(routes, graph->from[t], graph->to[t]) *
                        compiler->width_max +
                    1;
        }
    }
    struct chunk_list list = {WEFT_NEW(compiler->arena, struct lab_chunk, room + 1), 0};
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (graph->kind[t] != WEFT_TASK_TRANSFER) {
            continue;
        }
        struct lab_operation *send = &compiler->operations[compiler->task_operation[t]];
        send->chunk_first = list.count;
        if (!divide_transfer(&list, compiler, t, error)) {
            return false;
        }
        send->chunk_count = list.count - send->chunk_first;
        send[1].chunk_count = send->chunk_count;
    }
    program->chunks = list.chunks;
    return true;
}

// ---- rings ----

// Links from member i of a ring to its next; false: no route.
static bool hop_path(struct path *path, struct compiler *compiler, const struct weft_ring *ring,
                     uint32_t i, struct weft_error *error)
{
    const struct weft_routes *routes = &compiler->options->network->routes;
    uint32_t from = ring->members[i];
    uint32_t to = ring->members[(i + 1) % ring->member_count];
    if (ring->hop_first != NULL) {
        uint32_t first = ring->hop_first[i];
        *path = (struct path){ring->hop_links + first, ring->hop_first[i + 1] - first, 0};
        return true;
    }
    if (weft_routes_path_count(routes, from, to) == 0) {
        return weft_fail(error, WEFT_INPUT, "servers %u and %u: no route joins them", from, to);
    }
    uint32_t count = weft_routes_path(routes, from, to, 0, compiler->links, NULL);
    *path = (struct path){compiler->links, count, 0};
    return true;
}

// The ring's lane-th part; *lane_max becomes the most parallel cables of a hop.
static bool build_ring(struct lab_ring *ring, struct compiler *compiler,
                       const struct weft_ring *given, uint32_t lane, uint32_t *lane_max,
                       struct weft_error *error)
{
    uint32_t *streams = WEFT_NEW(compiler->arena, uint32_t, (size_t)given->member_count + 1);
    for (uint32_t i = 0; i < given->member_count && given->member_count > 1; i++) {
        struct path path = {NULL, 0, 0};
        if (!hop_path(&path, compiler, given, i, error)) {
            return false;
        }
        uint32_t lanes = lanes_of(compiler, path.links, path.link_count);
        *lane_max = lanes > *lane_max ? lanes : *lane_max;
        path.lane = lane % lanes;
        if (!find_stream(&streams[i], compiler, given->members[i],
                         given->members[(i + 1) % given->member_count], &path, error)) {
            return false;
        }
    }
    *ring = (struct lab_ring){given->member_count, given->share_ratio, given->members, streams};
    return true;
}

// A ring with hops of parallel cables becomes as many rings as the widest hop has cables, each with
// an equal part of its share.
static bool add_rings(struct lab_ring *rings, uint32_t *count, struct compiler *compiler,
                      const struct weft_ring *given, struct weft_error *error)
{
    uint32_t first = *count;
    uint32_t lanes = 1;
    for (uint32_t lane = 0; lane < lanes; lane++) {
        if (!build_ring(&rings[(*count)++], compiler, given, lane, &lanes, error)) {
            return false;
        }
    }
    for (uint32_t i = first; i < *count; i++) {
        rings[i].share_ratio /= lanes;
    }
    return true;
}

// Rings of all groups, as the plan has them; a group without one gets the ring in order of its
// members. The plan's rings come sorted by group.
static bool build_rings(struct lab_program *program, struct compiler *compiler,
                        struct weft_error *error)
{
    const struct weft_taskgraph *graph = compiler->graph;
    const struct weft_ring_set *set = compiler->options->rings;
    size_t room = ((size_t)graph->group_count + set->ring_count) * compiler->width_max;
    uint32_t *first = WEFT_NEW(compiler->arena, uint32_t, (size_t)graph->group_count + 1);
    struct lab_ring *rings = WEFT_NEW(compiler->arena, struct lab_ring, room + 1);
    uint32_t count = 0;
    uint32_t next = 0;
    for (uint32_t g = 0; g < graph->group_count; g++) {
        first[g] = count;
        while (next < set->ring_count && set->rings[next].group < g) {
            next++;
        }
        for (; next < set->ring_count && set->rings[next].group == g; next++) {
            if (!add_rings(rings, &count, compiler, &set->rings[next], error)) {
                return false;
            }
        }
        const struct weft_ring own = {
            .member_count = graph->group_first[g + 1] - graph->group_first[g],
            .members = graph->group_members + graph->group_first[g],
            .share_ratio = 1,
        };
        if (first[g] == count && !add_rings(rings, &count, compiler, &own, error)) {
            return false;
        }
    }
    first[graph->group_count] = count;
    program->ring_first = first;
    program->rings = rings;
    return true;
}

// ---- all ----

static bool check(const struct weft_taskgraph *graph, const struct lab_program_options *options,
                  struct weft_error *error)
{
    if (graph->server_count > options->network->fabric.server_count) {
        return weft_fail(error, WEFT_INPUT, "the task graph has %u servers, the fabric %u",
                         graph->server_count, options->network->fabric.server_count);
    }
    for (uint32_t t = 0; graph->need != NULL && t < graph->task_count; t++) {
        if (graph->need[t] < graph->prev_count[t]) {
            return weft_fail(error, WEFT_UNSUPPORTED,
                             "task %u waits for some of its predecessors only; the lab plays "
                             "tasks that wait for all",
                             t);
        }
    }
    return true;
}

// Operations of all tasks in order of tasks, counted first and then made.
static bool make_operations(struct compiler *compiler, struct weft_arena scratch,
                            struct weft_error *error)
{
    const struct weft_taskgraph *graph = compiler->graph;
    uint32_t *order = WEFT_NEW(&scratch, uint32_t, (size_t)graph->task_count + 1);
    weft_taskgraph_order(graph, order, scratch);
    place_barriers(compiler, order);
    for (int pass = 0; pass < 2; pass++) {
        compiler->operation_count = 0;
        for (uint32_t t = 0; t < graph->task_count; t++) {
            compiler->task_operation[t] = compiler->operation_count;
            add_operations(compiler, t);
            if (compiler->operation_count > operations_max) {
                return weft_fail(error, WEFT_UNSUPPORTED,
                                 "the task graph has more than %u operations", operations_max);
            }
        }
        compiler->task_operation[graph->task_count] = compiler->operation_count;
        if (pass == 0) {
            compiler->operations = WEFT_NEW(compiler->arena, struct lab_operation,
                                            (size_t)compiler->operation_count + 1);
        }
    }
    return true;
}

static void number_barriers(struct compiler *compiler, struct weft_arena *scratch)
{
    const struct weft_taskgraph *graph = compiler->graph;
    uint32_t count = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        compiler->barrier_row[t] = count;
        count += graph->kind[t] == WEFT_TASK_BARRIER;
    }
    compiler->barrier_at = WEFT_NEW(scratch, bool, ((size_t)count + 1) * compiler->server_count);
}

bool lab_program_build(struct lab_program *program, const struct weft_taskgraph *graph,
                       const struct lab_program_options *options, struct weft_arena *arena,
                       struct weft_arena scratch, struct weft_error *error)
{
    size_t n = options->network->fabric.server_count;
    struct compiler compiler = {
        .graph = graph, .options = options, .arena = arena, .server_count = (uint32_t)n};
    if (!check(graph, options, error)) {
        return false;
    }
    compiler.task_operation = WEFT_NEW(arena, uint32_t, (size_t)graph->task_count + 1);
    compiler.barrier_row = WEFT_NEW(&scratch, uint32_t, (size_t)graph->task_count + 1);
    compiler.streams = WEFT_NEW(arena, struct lab_stream, streams_max);
    compiler.stream_next = WEFT_NEW(&scratch, uint32_t, streams_max);
    compiler.pair_stream = WEFT_NEW(&scratch, uint32_t, n * n);
    memset(compiler.pair_stream, 0xff, n * n * sizeof *compiler.pair_stream);
    compiler.links = WEFT_NEW(&scratch, uint32_t, (size_t)options->network->routes.hop_max + 1);
    number_barriers(&compiler, &scratch);
    for (uint32_t i = 0; i < options->network->fabric.link_count; i++) {
        uint32_t width = options->network->fabric.links[i].width;
        compiler.width_max = width > compiler.width_max ? width : compiler.width_max;
    }
    *program = (struct lab_program){
        .graph = graph,
        .small_in_one_round = options->small_in_one_round,
        .packet_bytes = options->packet_bytes,
    };
    // Rings and transfers first, so that signals go over connections that there are.
    if (!make_operations(&compiler, scratch, error) || !build_rings(program, &compiler, error) ||
        !divide_transfers(program, &compiler, error) ||
        !connect_operations(program, &compiler, error)) {
        return false;
    }
    program->operations = compiler.operations;
    program->operation_count = compiler.operation_count;
    program->task_operation = compiler.task_operation;
    program->streams = compiler.streams;
    program->stream_count = compiler.stream_count;
    return true;
}
