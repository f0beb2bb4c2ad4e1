// SPDX-License-Identifier: Apache-2.0
// A Chakra trace as a task graph: order of the tasks, dependencies, cycles.
//
// Tasks stand in ascending order of node ids, then ranks, so that a graph that Weft wrote comes
// back with its numbers. Every node has the task at which it starts and the one at which it ends
// (chakra_tasks.c); a dependency of a node is an edge from the end of one to the start of the
// other. Nodes that are part of another's task (receives, signals, the time inside the servers
// before a collective) take over its ends once all tasks are there. O(nodes log nodes + tasks +
// edges log edges).

#include "chakra.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// All-to-alls of k members take k^2 tasks: a trace of a few bytes could ask for any number.
#define TASKS_MAX ((uint64_t)1 << 26)

// ---- order ----

struct place {
    uint64_t id;
    uint32_t rank;
    uint32_t node;
};

// A node that stands for the time that a collective takes inside the servers is the one dependency
// of the collective's node. Gives for each such node its collective, for the others WEFT_NONE.
static uint32_t *find_insides(const struct chakra_matches *matches, struct weft_arena *scratch)
{
    const struct weft_chakra_trace *trace = matches->trace;
    uint32_t *inside_of = WEFT_NEW_RAW(scratch, uint32_t, trace->node_count);
    memset(inside_of, 0xff, sizeof *inside_of * trace->node_count);
    for (uint32_t n = 0; n < trace->node_count; n++) {
        const struct weft_chakra_node *node = &trace->nodes[n];
        if (node->type != WEFT_CHAKRA_COLLECTIVE ||
            node->comm.collective == WEFT_CHAKRA_ALL_TO_ALL || node->dep_count != 1) {
            continue;
        }
        const uint32_t before = trace->deps[node->dep_first];
        const struct weft_chakra_node *inside = &trace->nodes[before];
        if (inside->type == WEFT_CHAKRA_COMP && inside->kind == WEFT_CHAKRA_KIND_INSIDE) {
            inside_of[before] = matches->collective[n];
        }
    }
    return inside_of;
}

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a;
    const struct place *y = b;
    if (x->id != y->id) {
        return x->id < y->id ? -1 : 1;
    }
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static struct place *order_nodes(const struct weft_chakra_trace *trace, struct weft_arena *scratch)
{
    struct place *places = WEFT_NEW_RAW(scratch, struct place, trace->node_count);
    for (uint32_t n = 0; n < trace->node_count; n++) {
        places[n] = (struct place){trace->nodes[n].id, trace->nodes[n].rank, n};
    }
    qsort(places, trace->node_count, sizeof *places, compare_places);
    return places;
}

// ---- nodes that are part of another's task ----

// What can only be said once all tasks are there: nodes that are part of another's task.
static void join_insides(struct chakra_lowering *lowering, const uint32_t *inside_of)
{
    const struct weft_chakra_trace *trace = lowering->trace;
    const struct chakra_matches *matches = lowering->matches;
    for (uint32_t n = 0; n < trace->node_count; n++) {
        if (inside_of[n] == WEFT_NONE) {
            continue;
        }
        uint32_t member = matches->collective_nodes[matches->collective_first[inside_of[n]]];
        struct weft_task *task = &lowering->tasks[lowering->start[member]];
        lowering->start[n] = lowering->end[n] = lowering->start[member];
        if (trace->nodes[n].compute.runtime_ps > task->runtime_ps) {
            task->runtime_ps = trace->nodes[n].compute.runtime_ps;
        }
    }
}

// Likewise for receives; signals last, as they stand for what ends elsewhere.
static void join_messages(struct chakra_lowering *lowering)
{
    const struct weft_chakra_trace *trace = lowering->trace;
    const struct chakra_matches *matches = lowering->matches;
    for (uint32_t n = 0; n < trace->node_count; n++) {
        uint32_t send = matches->peer[n];
        if (trace->nodes[n].type != WEFT_CHAKRA_RECV ||
            chakra_signal_source(matches, send) != WEFT_NONE) {
            continue;
        }
        if (lowering->end[n] == WEFT_NONE) {
            lowering->end[n] = lowering->end[send];
        } else {
            chakra_add_edge(lowering, lowering->end[send], lowering->end[n]);
        }
    }
    for (uint32_t n = 0; n < trace->node_count; n++) {
        uint32_t source =
            trace->nodes[n].type == WEFT_CHAKRA_SEND ? chakra_signal_source(matches, n) : WEFT_NONE;
        if (source != WEFT_NONE) {
            lowering->end[n] = lowering->end[source];
            lowering->end[matches->peer[n]] = lowering->end[source];
        }
    }
}

static void add_deps(struct chakra_lowering *lowering)
{
    const struct weft_chakra_trace *trace = lowering->trace;
    for (uint32_t n = 0; n < trace->node_count; n++) {
        const struct weft_chakra_node *node = &trace->nodes[n];
        if (lowering->start[n] == WEFT_NONE) {
            continue; // the end of a message or signal
        }
        for (uint64_t d = node->dep_first; d < node->dep_first + node->dep_count; d++) {
            WEFT_ASSERT(lowering->end[trace->deps[d]] != WEFT_NONE);
            chakra_add_edge(lowering, lowering->end[trace->deps[d]], lowering->start[n]);
        }
    }
}

// ---- edges ----

static int compare_edges(const void *a, const void *b)
{
    const struct chakra_edge *x = a;
    const struct chakra_edge *y = b;
    if (x->from != y->from) {
        return x->from < y->from ? -1 : 1;
    }
    return (x->to > y->to) - (x->to < y->to);
}

// Gives the tasks their successors, ascending and each once; sorts the edges.
static void connect(struct chakra_lowering *lowering)
{
    struct weft_task *tasks = lowering->tasks;
    struct chakra_edge *edges = lowering->edges;
    uint64_t edge_count = lowering->edge_count;
    uint32_t *next = WEFT_NEW_RAW(lowering->scratch, uint32_t, edge_count);
    qsort(edges, edge_count, sizeof *edges, compare_edges);
    uint64_t kept = 0;
    for (uint64_t e = 0; e < edge_count; e++) {
        if (e > 0 && compare_edges(&edges[e - 1], &edges[e]) == 0) {
            continue;
        }
        struct weft_task *task = &tasks[edges[e].from];
        if (task->next_count++ == 0) {
            task->next = next + kept;
        }
        next[kept++] = edges[e].to;
    }
}

// Names two nodes of a cycle. Of the tasks that still wait, each has a predecessor that waits, too:
// after as many steps backwards as there are tasks, the walk is on a cycle.
static bool fail_with_cycle(const struct chakra_lowering *lowering, const uint32_t *waiting,
                            struct weft_arena scratch)
{
    const struct weft_task *tasks = lowering->tasks;
    uint32_t task_count = lowering->task_count;
    uint32_t *before = WEFT_NEW_RAW(&scratch, uint32_t, task_count);
    uint32_t task = WEFT_NONE;
    for (uint32_t t = 0; t < task_count; t++) {
        task = waiting[t] > 0 ? t : task;
        for (uint32_t i = 0; i < tasks[t].next_count && waiting[t] > 0; i++) {
            before[tasks[t].next[i]] = t;
        }
    }
    for (uint32_t step = 0; step < task_count; step++) {
        task = before[task];
    }
    const struct weft_chakra_node *nodes = lowering->trace->nodes;
    const struct weft_chakra_node *node = &nodes[lowering->task_node[task]];
    const struct weft_chakra_node *other = &nodes[lowering->task_node[before[task]]];
    weft_fail(lowering->error, WEFT_INPUT,
              "is on a cycle: it waits for node %" PRIu64 " '%.60s' of rank %u, which waits for it "
              "in turn",
              other->id, other->name, other->rank);
    return weft_chakra_wrap(lowering->error, node);
}

// Kahn's algorithm. weft_taskgraph_build would refuse a cycle, too, but by the numbers of tasks,
// which nobody who has only the trace can find.
static bool check_acyclic(const struct chakra_lowering *lowering, struct weft_arena scratch)
{
    const struct weft_task *tasks = lowering->tasks;
    uint32_t count = lowering->task_count;
    uint32_t *waiting = WEFT_NEW(&scratch, uint32_t, count);
    uint32_t *queue = WEFT_NEW_RAW(&scratch, uint32_t, count);
    uint32_t tail = 0;
    for (uint32_t t = 0; t < count; t++) {
        for (uint32_t i = 0; i < tasks[t].next_count; i++) {
            waiting[tasks[t].next[i]]++;
        }
    }
    for (uint32_t t = 0; t < count; t++) {
        if (waiting[t] == 0) {
            queue[tail++] = t;
        }
    }
    for (uint32_t head = 0; head < tail; head++) {
        const struct weft_task *task = &tasks[queue[head]];
        for (uint32_t i = 0; i < task->next_count; i++) {
            if (--waiting[task->next[i]] == 0) {
                queue[tail++] = task->next[i];
            }
        }
    }
    return tail == count || fail_with_cycle(lowering, waiting, scratch);
}

// ---- the whole ----

// How many tasks and edges there can be, at most.
static bool bound_sizes(uint64_t *tasks, uint64_t *edges, const struct chakra_matches *matches,
                        struct weft_error *error)
{
    const struct weft_chakra_trace *trace = matches->trace;
    *tasks = trace->node_count;
    *edges = trace->dep_count + trace->node_count;
    for (uint32_t c = 0; c < matches->collective_count; c++) {
        uint32_t first = matches->collective_first[c];
        uint64_t k = matches->collective_first[c + 1] - first;
        const struct weft_chakra_node *node = &trace->nodes[matches->collective_nodes[first]];
        if (node->comm.collective == WEFT_CHAKRA_ALL_TO_ALL) {
            *tasks += k * (k + 1);
            *edges += 2 * k * k;
        }
        if (*tasks > TASKS_MAX) {
            weft_fail(error, WEFT_UNSUPPORTED,
                      "with this all-to-all there are more than %" PRIu64 " tasks", TASKS_MAX);
            return weft_chakra_wrap(error, node);
        }
    }
    return true;
}

static void prepare_devices(struct chakra_lowering *lowering)
{
    const struct weft_chakra_trace *trace = lowering->trace;
    uint32_t ranks = trace->rank_count;
    bool stated = trace->device_rank != NULL;
    lowering->device_count = stated ? trace->device_count : ranks;
    lowering->device_server =
        WEFT_NEW_RAW(lowering->scratch, uint32_t, (size_t)lowering->device_count + ranks);
    lowering->host_device = WEFT_NEW_RAW(lowering->scratch, uint32_t, ranks);
    for (uint32_t d = 0; d < lowering->device_count; d++) {
        lowering->device_server[d] = trace->rank_server[stated ? trace->device_rank[d] : d];
    }
    memset(lowering->host_device, 0xff, sizeof *lowering->host_device * ranks);
}

static bool prepare(struct chakra_lowering *lowering)
{
    const struct weft_chakra_trace *trace = lowering->trace;
    struct weft_arena *scratch = lowering->scratch;
    uint64_t task_max = 0;
    uint64_t edge_max = 0;
    if (!bound_sizes(&task_max, &edge_max, lowering->matches, lowering->error)) {
        return false;
    }
    lowering->tasks = WEFT_NEW_RAW(scratch, struct weft_task, task_max);
    lowering->task_node = WEFT_NEW_RAW(scratch, uint32_t, task_max);
    lowering->edges = WEFT_NEW_RAW(scratch, struct chakra_edge, edge_max);
    lowering->start = WEFT_NEW_RAW(scratch, uint32_t, trace->node_count);
    lowering->end = WEFT_NEW_RAW(scratch, uint32_t, trace->node_count);
    lowering->has_next = WEFT_NEW(scratch, bool, trace->node_count);
    memset(lowering->start, 0xff, sizeof *lowering->start * trace->node_count);
    memset(lowering->end, 0xff, sizeof *lowering->end * trace->node_count);
    for (uint64_t d = 0; d < trace->dep_count; d++) {
        lowering->has_next[trace->deps[d]] = true;
    }
    prepare_devices(lowering);
    return true;
}

// Adds the tasks node by node, then what can only be said once all are there, and builds the
// graph.
static bool lower(struct weft_chakra_job *job, struct chakra_lowering *lowering,
                  struct weft_arena *arena)
{
    const struct weft_chakra_trace *trace = lowering->trace;
    if (!prepare(lowering)) {
        return false;
    }
    const uint32_t *inside_of = find_insides(lowering->matches, lowering->scratch);
    const struct place *places = order_nodes(trace, lowering->scratch);
    for (uint32_t i = 0; i < trace->node_count; i++) {
        uint32_t n = places[i].node;
        if (inside_of[n] == WEFT_NONE && !chakra_add_node(lowering, n)) {
            return false;
        }
    }
    join_insides(lowering, inside_of);
    join_messages(lowering);
    add_deps(lowering);
    connect(lowering);
    return check_acyclic(lowering, *lowering->scratch) &&
           weft_taskgraph_build(
               &job->graph,
               &(struct weft_taskgraph_draft){.server_count = trace->server_count,
                                              .device_count = lowering->device_count,
                                              .device_server = lowering->device_server,
                                              .task_count = lowering->task_count,
                                              .tasks = lowering->tasks},
               arena, *lowering->scratch, lowering->error);
}

bool weft_chakra_lower(struct weft_chakra_job *job, const struct weft_chakra_trace *trace,
                       const struct weft_chakra_roofline *roofline, struct weft_arena *arena,
                       struct weft_arena scratch, struct weft_error *error)
{
    struct weft_chakra_job built = {.node_count = trace->node_count,
                                    .dangling_count = trace->dangling_count,
                                    .joined = trace->joined};
    struct chakra_matches matches;
    struct chakra_lowering lowering = {.trace = trace,
                                       .matches = &matches,
                                       .roofline = roofline,
                                       .scratch = &scratch,
                                       .error = error,
                                       .job = &built};
    if (!chakra_match(&matches, trace, &scratch, error) || !lower(&built, &lowering, arena)) {
        return trace->path != NULL ? weft_wrap(error, "%s", trace->path) : false;
    }
    *job = built;
    return true;
}
