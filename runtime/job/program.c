// SPDX-License-Identifier: Apache-2.0
// Compiles a task graph into a program for each server.
//
// Tasks become operations at the servers that take part in them (program.h), in three passes over
// the graph: operations first, then the streams of rings and transfers along the paths that routes
// prescribe, then the edges: between operations of one server directly, between servers by signals
// over streams that there are. Edges are counted in a first pass and filled in a second one.
// O(tasks * group size + edges).

#include "program_private.h"

#include <string.h>

static const uint32_t operations_max = 1u << 24;

// ---- operations ----

static uint32_t add_operation(struct lab_compiler *compiler, enum lab_operation_kind kind,
                              uint32_t task, uint32_t server, uint32_t position)
{
    uint32_t index = compiler->operation_count++;
    if (compiler->operations != NULL) {
        compiler->operations[index] = (struct lab_operation){
            .kind = (uint8_t)kind, .task = task, .server = server, .position = position};
    }
    return index;
}

static bool *barrier_row(const struct lab_compiler *compiler, uint32_t task)
{
    return compiler->barrier_at + (size_t)compiler->barrier_row[task] * compiler->server_count;
}

// The operations of one task, at all servers that take part in it.
static void add_operations(struct lab_compiler *compiler, uint32_t task)
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

static struct span begins(const struct lab_compiler *compiler, uint32_t task)
{
    const uint32_t *first = &compiler->task_operation[task];
    bool transfer = compiler->graph->kind[task] == WEFT_TASK_TRANSFER;
    return (struct span){first[0], transfer ? first[0] + 1 : first[1]};
}

static struct span ends(const struct lab_compiler *compiler, uint32_t task)
{
    const uint32_t *first = &compiler->task_operation[task];
    bool transfer = compiler->graph->kind[task] == WEFT_TASK_TRANSFER;
    return (struct span){first[0] + (transfer ? 1 : 0), first[1]};
}

// Servers where a barrier has to be known: those of its successors. From the last task back.
static void place_barriers(struct lab_compiler *compiler, const uint32_t *order)
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
static bool add_signal(struct edges *edges, struct lab_compiler *compiler, uint32_t from,
                       uint32_t to, struct weft_error *error)
{
    struct lab_operation *operation = &edges->operations[from];
    if (edges->signals != NULL) {
        uint32_t a = operation->server;
        uint32_t b = edges->operations[to].server;
        uint32_t stream = compiler->pair_stream[(size_t)a * compiler->server_count + b];
        const struct lab_path_choice first = {a, b, 0, 0};
        if (stream == WEFT_NONE && !lab_compiler_route(&stream, compiler, &first, error)) {
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
static bool join_tasks(struct edges *edges, struct lab_compiler *compiler, uint32_t task,
                       uint32_t next, struct weft_error *error)
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

static bool join_all(struct edges *edges, struct lab_compiler *compiler, struct weft_error *error)
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
static bool connect_operations(struct lab_program *program, struct lab_compiler *compiler,
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
static bool make_operations(struct lab_compiler *compiler, struct weft_arena scratch,
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

static void number_barriers(struct lab_compiler *compiler, struct weft_arena *scratch)
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
    struct lab_compiler compiler = {
        .graph = graph, .options = options, .arena = arena, .server_count = (uint32_t)n};
    if (!check(graph, options, error)) {
        return false;
    }
    compiler.task_operation = WEFT_NEW(arena, uint32_t, (size_t)graph->task_count + 1);
    compiler.barrier_row = WEFT_NEW(&scratch, uint32_t, (size_t)graph->task_count + 1);
    compiler.streams = WEFT_NEW(arena, struct lab_stream, LAB_STREAMS_MAX);
    compiler.stream_next = WEFT_NEW(&scratch, uint32_t, LAB_STREAMS_MAX);
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
    if (!make_operations(&compiler, scratch, error) ||
        !lab_compiler_rings(program, &compiler, error) ||
        !lab_compiler_transfers(program, &compiler, error) ||
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
