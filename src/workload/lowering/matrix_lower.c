// SPDX-License-Identifier: Apache-2.0
// A traffic matrix of htsim as a task graph.
//
// Starting times are said by a clock: one device runs a chain of local tasks from start to start,
// and connections that begin at a time wait for the task that ends then. A trigger is a barrier
// behind the connections that activate it. A multishot trigger starts one connection at each
// activation: its i-th target waits for any i of its sources (weft_task.need), so it needs no
// barrier but an edge for each pair of source and target.

#include "weft/workload/matrix.h"

#include <stdlib.h>

// A multishot of n sources and n targets takes n^2 edges; this many take half a GiB.
#define EDGES_MAX ((uint64_t)1 << 26)

// Activations that reach a trigger, and connections that it starts.
struct uses {
    uint32_t sources;
    uint32_t targets;
};

struct lowering {
    const struct weft_matrix *matrix;
    struct uses *uses; // by trigger
    struct weft_task *tasks;
    uint32_t task_count;
    uint32_t *trigger_task; // the barrier; WEFT_NONE = a multishot
    uint32_t *source_first; // CSR: connections that activate trigger t, one for each activation
    uint32_t *sources;
    uint32_t *edge_from;
    uint32_t *edge_to;
    uint64_t edge_count;
};

// ---- checks ----

static bool fail_shots(const struct weft_matrix_trigger *trigger, uint32_t sources,
                       const char *remedy, struct weft_error *error)
{
    return weft_fail(error, WEFT_INPUT,
                     "line %u: trigger %llu is activated by %u connection%s, but %s", trigger->line,
                     (unsigned long long)trigger->id, sources, sources == 1 ? "" : "s", remedy);
}

// Checks that a trigger is described and fires as often as connections wait for it.
static bool check_trigger(const struct weft_matrix_trigger *trigger, const struct uses *uses,
                          struct weft_error *error)
{
    if (trigger->shot == WEFT_MATRIX_UNDESCRIBED) {
        return weft_fail(error, WEFT_INPUT,
                         "line %u: trigger %llu is not described; add trigger id %llu oneshot",
                         trigger->line, (unsigned long long)trigger->id,
                         (unsigned long long)trigger->id);
    }
    uint32_t sources = uses->sources;
    if (uses->targets > 0 && sources == 0) {
        return fail_shots(trigger, sources, "connections wait for it; give one a send_done_trigger",
                          error);
    }
    if (trigger->shot == WEFT_MATRIX_ONESHOT && sources > 1) {
        return fail_shots(trigger, sources, "oneshot fires once; make it a multishot or a barrier",
                          error);
    }
    if (trigger->shot == WEFT_MATRIX_BARRIER && sources != trigger->need && uses->targets > 0) {
        return fail_shots(trigger, sources, "its count is another", error);
    }
    if (trigger->shot == WEFT_MATRIX_MULTISHOT && sources < uses->targets) {
        return fail_shots(trigger, sources, "more connections wait for one activation each", error);
    }
    return true;
}

// Counts who activates and who waits for every trigger, checks that each fires as often as it must,
// and makes room for the edges. Behind it source_first holds the sums of the sources.
static bool count_shots(struct lowering *lowering, struct weft_arena *scratch,
                        struct weft_error *error)
{
    const struct weft_matrix *matrix = lowering->matrix;
    const struct weft_matrix_trigger *triggers = matrix->triggers;
    struct uses *uses = WEFT_NEW(scratch, struct uses, matrix->trigger_count);
    for (uint32_t i = 0; i < matrix->connection_count; i++) {
        const struct weft_matrix_connection *connection = &matrix->connections[i];
        if (connection->fires_when_sent != WEFT_NONE) {
            uses[connection->fires_when_sent].sources++;
        }
        if (connection->fires_on_reception != WEFT_NONE) {
            uses[connection->fires_on_reception].sources++;
        }
        if (connection->started_by != WEFT_NONE) {
            uses[connection->started_by].targets++;
        }
    }
    lowering->uses = uses;
    uint64_t edges = 2 * (uint64_t)matrix->connection_count;
    lowering->source_first = WEFT_NEW(scratch, uint32_t, (size_t)matrix->trigger_count + 1);
    for (uint32_t t = 0; t < matrix->trigger_count; t++) {
        if (!check_trigger(&triggers[t], &uses[t], error)) {
            return false;
        }
        uint64_t sources = uses[t].sources;
        bool multishot = triggers[t].shot == WEFT_MATRIX_MULTISHOT;
        edges += sources + (multishot ? sources * uses[t].targets : uses[t].targets);
        lowering->source_first[t + 1] = lowering->source_first[t] + uses[t].sources;
    }
    if (edges > EDGES_MAX) {
        return weft_fail(error, WEFT_INPUT, "its multishot triggers join %llu pairs; at most %llu",
                         (unsigned long long)edges, (unsigned long long)EDGES_MAX);
    }
    lowering->edge_from = WEFT_NEW_RAW(scratch, uint32_t, edges);
    lowering->edge_to = WEFT_NEW_RAW(scratch, uint32_t, edges);
    return true;
}

static void gather_sources(struct lowering *lowering, struct weft_arena *scratch)
{
    const struct weft_matrix *matrix = lowering->matrix;
    uint32_t count = lowering->source_first[matrix->trigger_count];
    uint32_t *filled = WEFT_NEW(scratch, uint32_t, matrix->trigger_count);
    lowering->sources = WEFT_NEW_RAW(scratch, uint32_t, count);
    for (uint32_t i = 0; i < matrix->connection_count; i++) {
        const uint32_t fires[] = {matrix->connections[i].fires_when_sent,
                                  matrix->connections[i].fires_on_reception};
        for (uint32_t end = 0; end < 2; end++) {
            uint32_t t = fires[end];
            if (t != WEFT_NONE) {
                lowering->sources[lowering->source_first[t] + filled[t]++] = i;
            }
        }
    }
}

// ---- tasks ----

static uint32_t add_task(struct lowering *lowering, enum weft_task_kind kind)
{
    uint32_t task = lowering->task_count++;
    lowering->tasks[task] = (struct weft_task){.kind = kind, .device = WEFT_NONE};
    return task;
}

static void add_edge(struct lowering *lowering, uint32_t from, uint32_t to)
{
    lowering->edge_from[lowering->edge_count] = from;
    lowering->edge_to[lowering->edge_count++] = to;
}

struct start {
    uint64_t ps;
    uint32_t connection;
};

static int compare_starts(const void *a, const void *b)
{
    const struct start *x = a;
    const struct start *y = b;
    if (x->ps != y->ps) {
        return x->ps < y->ps ? -1 : 1;
    }
    return (x->connection > y->connection) - (x->connection < y->connection);
}

// The clock: connections that start at 0 wait for nothing.
static void add_starts(struct lowering *lowering, struct weft_arena scratch)
{
    const struct weft_matrix *matrix = lowering->matrix;
    struct start *starts = WEFT_NEW_RAW(&scratch, struct start, matrix->connection_count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < matrix->connection_count; i++) {
        uint64_t ps = matrix->connections[i].start_ps;
        if (ps > 0 && ps != WEFT_NEVER) {
            starts[count++] = (struct start){ps, i};
        }
    }
    qsort(starts, count, sizeof *starts, compare_starts);
    uint64_t now_ps = 0;
    uint32_t tick = WEFT_NONE;
    for (uint32_t i = 0; i < count; i++) {
        if (starts[i].ps > now_ps) {
            uint32_t next = add_task(lowering, WEFT_TASK_LOCAL);
            lowering->tasks[next].device = 0;
            lowering->tasks[next].runtime_ps = starts[i].ps - now_ps;
            if (tick != WEFT_NONE) {
                add_edge(lowering, tick, next);
            }
            tick = next;
            now_ps = starts[i].ps;
        }
        add_edge(lowering, tick, starts[i].connection);
    }
}

// Adds the barriers of the triggers, and the edges to the connections that they start. The i-th
// connection that a multishot starts waits for any i of its sources.
static void add_triggers(struct lowering *lowering, struct weft_arena *scratch)
{
    const struct weft_matrix *matrix = lowering->matrix;
    lowering->trigger_task = WEFT_NEW_RAW(scratch, uint32_t, matrix->trigger_count);
    for (uint32_t t = 0; t < matrix->trigger_count; t++) {
        lowering->trigger_task[t] = WEFT_NONE;
        if (matrix->triggers[t].shot == WEFT_MATRIX_MULTISHOT || lowering->uses[t].targets == 0) {
            continue;
        }
        lowering->trigger_task[t] = add_task(lowering, WEFT_TASK_BARRIER);
        for (uint32_t s = lowering->source_first[t]; s < lowering->source_first[t + 1]; s++) {
            add_edge(lowering, lowering->sources[s], lowering->trigger_task[t]);
        }
    }
    uint32_t *shot = WEFT_NEW(scratch, uint32_t, matrix->trigger_count);
    for (uint32_t i = 0; i < matrix->connection_count; i++) {
        uint32_t t = matrix->connections[i].started_by;
        if (t == WEFT_NONE) {
            continue;
        }
        if (lowering->trigger_task[t] != WEFT_NONE) {
            add_edge(lowering, lowering->trigger_task[t], i);
            continue;
        }
        lowering->tasks[i].need = ++shot[t];
        for (uint32_t s = lowering->source_first[t]; s < lowering->source_first[t + 1]; s++) {
            add_edge(lowering, lowering->sources[s], i);
        }
    }
}

// Adds a transfer for each connection, the clock, and the triggers; transfers come first, so
// that task i is connection i.
static bool lower(struct weft_taskgraph *graph, const struct weft_matrix *matrix,
                  struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    static const uint32_t clock_server[1] = {0};
    struct lowering lowering = {.matrix = matrix};
    if (!count_shots(&lowering, &scratch, error)) {
        return false;
    }
    gather_sources(&lowering, &scratch);
    uint64_t room = 2 * (uint64_t)matrix->connection_count + matrix->trigger_count;
    lowering.tasks = WEFT_NEW(&scratch, struct weft_task, room);
    for (uint32_t i = 0; i < matrix->connection_count; i++) {
        const struct weft_matrix_connection *connection = &matrix->connections[i];
        uint32_t task = add_task(&lowering, WEFT_TASK_TRANSFER);
        lowering.tasks[task].from = connection->from;
        lowering.tasks[task].to = connection->to;
        lowering.tasks[task].size_bytes = connection->size_bytes;
    }
    add_starts(&lowering, scratch);
    add_triggers(&lowering, &scratch);
    weft_task_connect(lowering.tasks, lowering.task_count, lowering.edge_from, lowering.edge_to,
                      lowering.edge_count, &scratch);
    struct weft_error inner;
    if (weft_taskgraph_build(graph,
                             &(struct weft_taskgraph_draft){.server_count = matrix->node_count,
                                                            .device_count = 1,
                                                            .device_server = clock_server,
                                                            .task_count = lowering.task_count,
                                                            .tasks = lowering.tasks},
                             arena, scratch, &inner)) {
        return true;
    }
    // All that can be wrong by now: too many bytes, or triggers that go round.
    return weft_fail(error, inner.code,
                     "%s (task i is connection i, from 0; triggers stand behind)", inner.message);
}

bool weft_matrix_lower(struct weft_taskgraph *graph, const struct weft_matrix *matrix,
                       struct weft_arena *arena, struct weft_arena scratch,
                       struct weft_error *error)
{
    if (lower(graph, matrix, arena, scratch, error)) {
        return true;
    }
    return matrix->path != NULL ? weft_wrap(error, "%s", matrix->path) : false;
}
